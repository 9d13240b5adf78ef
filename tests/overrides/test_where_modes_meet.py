"""Checkpoints under autocast, memory inside vmap, and operations as handlers of ``__torch_dispatch__`` see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.utils.checkpoint
from dualtape.utils._python_dispatch import TorchDispatchMode


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_second_run_of_a_checkpoint_casts_as_the_first(reentrant: bool) -> None:
    layer, seen = dt.nn.Linear(3, 3), []

    def function(x: Any) -> Any:
        seen.append(((x @ x.mT).dtype, dt.is_autocast_enabled("cpu")))
        return layer(x)

    x = dt.ones(2, 3, requires_grad=True)
    with dt.autocast("cpu", dtype=dt.bfloat16):
        y = dt.utils.checkpoint.checkpoint(function, x, use_reentrant=reentrant)
    y.float().sum().backward()
    assert seen == [(dt.bfloat16, True)] * 2
    assert layer.weight.grad.dtype is dt.float32
    seen.clear()
    y = dt.utils.checkpoint.checkpoint(function, x, use_reentrant=reentrant)
    with dt.autocast("cpu", dtype=dt.bfloat16):
        y.sum().backward()
        assert dt.is_autocast_enabled("cpu")
    assert seen == [(dt.float32, False)] * 2


def test_as_strided_inside_vmap_shows_each_sample_its_own_elements() -> None:
    grid = dt.arange(12.0).reshape(3, 4)
    columns = dt.func.vmap(lambda column: column.as_strided([3], [4], 0), 1)(grid)
    np.testing.assert_array_equal(columns.numpy(), grid.numpy().T)
    rows = dt.func.vmap(lambda row: row.as_strided([2, 2], [1, 2]))(grid)
    np.testing.assert_array_equal(rows[1].numpy(), [[4, 6], [5, 7]])
    weights = dt.arange(1.0, 4.0)
    slopes = dt.func.vmap(dt.func.grad(lambda column: (column.as_strided([3], [4], 0) * weights).sum()), 1, 1)(grid)
    np.testing.assert_array_equal(slopes.numpy(), np.repeat([[1.0], [2.0], [3.0]], 4, 1))


@pytest.mark.parametrize(("size", "stride", "offset"), [([3], [4], 0), ([5], [1], 0), ([4], [1], 1), ([1], [1], 9)])
def test_as_strided_inside_vmap_does_not_leave_the_sample(size: list, stride: list, offset: int) -> None:
    with pytest.raises(RuntimeError, match="outside"):
        dt.func.vmap(lambda row: row.as_strided(size, stride, offset))(dt.arange(12.0).reshape(3, 4))


def test_data_of_a_batched_tensor_cannot_be_exchanged() -> None:
    def exchanged(row: Any) -> Any:
        v = row * 2
        v.data = row * 3
        return v

    with pytest.raises(RuntimeError, match="not allowed"):
        dt.func.vmap(exchanged)(dt.ones(2, 3))


def test_handlers_see_the_operations_that_aten_names() -> None:
    x = dt.arange(12.0).reshape(3, 4) + 0.5
    aten, square = dt.ops.aten, dt.eye(2)
    calls = {
        aten.std.correction: [lambda: x.std(), lambda: x.std(1)],
        aten.var.correction: [lambda: x.var(), lambda: x.var(0)],
        aten.var_mean.correction: [lambda: dt.var_mean(x), lambda: dt.var_mean(x, 1)],
        aten.std_mean.correction: [lambda: dt.std_mean(x, 1)],
        aten.median.default: [lambda: x.median()],
        aten.median.dim: [lambda: x.median(1)],
        aten.nanmedian.default: [lambda: x.nanmedian()],
        aten.nanmedian.dim: [lambda: x.nanmedian(1)],
        aten.max.default: [lambda: x.max()],
        aten.max.dim: [lambda: x.max(1)],
        aten.mode.default: [lambda: x.mode(1)],
        aten.sort.default: [lambda: x.sort()],
        aten.topk.default: [lambda: x.topk(2)],
        aten._linalg_slogdet.default: [lambda: dt.linalg.slogdet(square)],
    }
    for expected, functions in calls.items():
        for function in functions:
            seen = []

            class Seeing(TorchDispatchMode):
                def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                    seen.append(func)  # noqa: B023 - used at once
                    return func(*args, **(kwargs or {}))

            with Seeing():
                function()
            assert seen == [expected], (expected, seen)
    assert aten.std.correction._schema.name == "aten::std"
    assert aten.median.dim.overloadpacket is aten.median


def test_a_selective_checkpoint_may_keep_a_deviation() -> None:
    from dualtape.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

    asked = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(op)
        kept = op in (dt.ops.aten.std.correction, dt.ops.aten.var_mean.correction)
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    x = dt.rand(3, 4, requires_grad=True)
    y = checkpoint(
        lambda x: x.std(1).exp(),
        x,
        use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts(policy),
    )
    y.sum().backward()
    assert dt.ops.aten.std.correction in asked and x.grad is not None


# --- forward mode over tensors whose class computes --------------------------------------------------


class Wrapped(dt.Tensor):
    """A wrapper subclass: its values are a tensor that it keeps."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        new = dt.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, device=inner.device)
        new.inner = inner
        return new

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inner = lambda x: x.inner if isinstance(x, Wrapped) else x
        found = func(*dt.utils._pytree.tree_map(inner, args), **dt.utils._pytree.tree_map(inner, kwargs or {}))
        return dt.utils._pytree.tree_map(lambda x: Wrapped(x) if isinstance(x, dt.Tensor) else x, found)


FORWARD = {
    "sin": lambda x: x.sin(),
    "product": lambda x: x @ x.t(),
    "sum": lambda x: x.sum(0),
    "in place": lambda x: (x * 1).mul_(2).add_(x),
    "view": lambda x: x.view(3, 2),
    "index": lambda x: x[0],
    "cat": lambda x: dt.cat([x, x]),
    "division": lambda x: x / (x + 1),
    "power": lambda x: x**3,
    "largest": lambda x: x.max(1)[0],
    "softmax": lambda x: x.softmax(1),
    "std": lambda x: x.std(),
}


@pytest.mark.parametrize("name", FORWARD)
def test_wrapper_subclasses_keep_their_tangents(name: str) -> None:
    point, direction = dt.arange(1.0, 7.0).reshape(2, 3), dt.arange(6.0).reshape(2, 3).cos()
    expected = dt.func.jvp(FORWARD[name], (point,), (direction,))
    found = dt.func.jvp(FORWARD[name], (Wrapped(point),), (Wrapped(direction),))
    for ours, plain in zip(found, expected, strict=True):
        assert type(ours) is Wrapped
        np.testing.assert_allclose(ours.inner.numpy(), plain.numpy(), rtol=1e-5, atol=1e-6)
    beside = dt.func.jvp(lambda x: FORWARD[name](x * Wrapped(dt.full((2, 3), 2.0))), (point,), (direction,))[1]
    np.testing.assert_allclose(
        beside.inner.numpy(),
        dt.func.jvp(lambda x: FORWARD[name](x * 2), (point,), (direction,))[1].numpy(),
        rtol=1e-5,
        atol=1e-6,
    )


def test_jacobians_and_hessians_of_wrapper_subclasses() -> None:
    point = dt.tensor([1.0, 2.0])
    cube = lambda x: (x * x * x).sum()
    jacobian = dt.autograd.functional.jacobian
    for found in (
        dt.func.jacfwd(lambda x: x * x)(Wrapped(point)),
        dt.func.jacrev(lambda x: x * x)(Wrapped(point)),
        jacobian(lambda x: x * x, Wrapped(point), vectorize=True, strategy="forward-mode"),
        jacobian(lambda x: x * x, Wrapped(point), vectorize=True),
    ):
        np.testing.assert_allclose(found.inner.numpy(), [[2, 0], [0, 4]])
    for found in (dt.func.hessian(cube)(Wrapped(point)), dt.func.jacfwd(dt.func.jacfwd(cube))(Wrapped(point))):
        np.testing.assert_allclose(found.inner.numpy(), [[6, 0], [0, 12]])
