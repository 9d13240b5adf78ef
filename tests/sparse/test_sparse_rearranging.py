"""Sparse tensors indexed, joined and multiplied: PyTorch's results, and derivatives, which PyTorch has for few of them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from outcomes import outcome, same, torch

pytestmark = pytest.mark.filterwarnings("ignore")

VALUES = [[0.0, 1.0, 2.0], [0.0, 0.0, 3.0], [4.0, 0.0, 0.0]]


def tensors(m: Any) -> dict[str, Any]:
    """Sparse tensors in coordinates: coalesced and not, with dense dimensions, without entries."""
    return {
        "matrix": m.tensor(VALUES).to_sparse(),
        "twice at one index": m.sparse_coo_tensor([[0, 0, 2], [1, 1, 0]], m.tensor([1.0, 2.0, 3.0]), (3, 3)),
        "rows": m.sparse_coo_tensor([[0, 2]], m.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (3, 3)),
        "nothing": m.sparse_coo_tensor(m.zeros(2, 0, dtype=m.int64), m.zeros(0), (3, 3)),
        "volume": m.arange(27.0).reshape(3, 3, 3).to_sparse(),
        "csr": m.tensor(VALUES).to_sparse_csr(),
        "csc": m.tensor(VALUES).to_sparse_csc(),
    }


FUNCTIONS: dict[str, Any] = {
    **{f"x[{i}]": lambda m, x, i=i: x[i] for i in (0, 1, -1, 5)},
    "x[0, 1]": lambda m, x: x[0, 1],
    "x[:, 1]": lambda m, x: x[:, 1],
    "x[None]": lambda m, x: x[None],
    "select": lambda m, x: x.select(1, 2),
    "unbind": lambda m, x: x.unbind(1),
    "iteration": lambda m, x: list(x),
    "index_select": lambda m, x: x.index_select(0, m.tensor([2, 0, 0])),
    "index_select of columns": lambda m, x: x.index_select(1, m.tensor([1, 2])),
    "index_select of nothing": lambda m, x: x.index_select(1, m.zeros(0, dtype=m.int64)),
    "index_select outside": lambda m, x: x.index_select(0, m.tensor([3])),
    "narrow_copy": lambda m, x: x.narrow_copy(0, 1, 2),
    "narrow_copy of columns": lambda m, x: x.narrow_copy(1, 0, 2),
    "unsqueeze": lambda m, x: x.unsqueeze(0),
    "unsqueeze inside": lambda m, x: x.unsqueeze(1),
    "unsqueeze at the end": lambda m, x: x.unsqueeze(-1),
    "cat": lambda m, x: m.cat([x, x]),
    "cat of columns": lambda m, x: m.cat([x, x * 2], 1),
    "cat of one": lambda m, x: m.cat([x], 1),
    "cat with a dense one": lambda m, x: m.cat([x, m.ones(3, 3)]),
    "cat of two dtypes": lambda m, x: m.cat([x, x.to(m.float64)]),
    "stack": lambda m, x: m.stack([x, x * 2]),
    "stack inside": lambda m, x: m.stack([x, x * 2], 1),
    "stack at the end": lambda m, x: m.stack([x, x * 2], -1),
    "vstack": lambda m, x: m.vstack([x, x]),
    "hstack": lambda m, x: m.hstack([x, x]),
    "bmm": lambda m, x: m.bmm(x, m.arange(18.0).reshape(3, 3, 2)),
    "linear": lambda m, x: m.nn.functional.linear(m.arange(6.0).reshape(2, 3), x),
    "linear of it": lambda m, x: m.nn.functional.linear(x, m.arange(6.0).reshape(2, 3), m.ones(2)),
    "floor division": lambda m, x: x // 2,
    "division in place": lambda m, x: x.clone().floor_divide_(2),
    "truncated division": lambda m, x: x.div(-2, rounding_mode="trunc"),
    "get_device": lambda m, x: x.get_device(),
    "new_zeros": lambda m, x: x.new_zeros(2, 2),
    "new_ones": lambda m, x: x.new_ones(2, 2),
    "zeros_like": lambda m, x: m.zeros_like(x, dtype=m.float64),
    "ones_like": lambda m, x: m.ones_like(x),
    "full_like": lambda m, x: m.full_like(x, 2.5),
    "empty_like": lambda m, x: m.empty_like(x) * 0,
    "dense zeros_like": lambda m, x: m.zeros_like(x, layout=m.strided),
    "dense ones_like": lambda m, x: m.ones_like(x, layout=m.strided),
    "dense full_like": lambda m, x: m.full_like(x, 2.5, layout=m.strided),
}
# PyTorch has fewer functions of compressed tensors, and refuses dense dimensions in some of them
MORE_HERE = {"csr", "csc"}
ONLY_HERE = {("new_zeros", "rows"): "PyTorch asks for the dense dimension, too"}


# of compressed tensors PyTorch gives one without entries, which is zero
REFUSED_HERE = {("new_ones", "csr"), ("new_ones", "csc")}


def dense(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return [dense(part) for part in result]
    if hasattr(result, "to_dense"):
        return str(result.layout).partition(".")[2], result.to_dense()
    return result


@pytest.mark.parametrize("which", tensors(dt))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_layouts_are_pytorchs(name: str, which: str) -> None:
    def computed(m: Any) -> Any:
        return dense(FUNCTIONS[name](m, tensors(m)[which]))

    ours, theirs = outcome(computed, dt), outcome(computed, torch)
    if isinstance(theirs, type):
        assert which in MORE_HERE or isinstance(ours, type) or (name, which) in ONLY_HERE or name.startswith("linear")
    elif (name, which) in REFUSED_HERE:
        assert ours is NotImplementedError
    else:
        assert not isinstance(ours, type), ours
        same(ours, theirs, 1e-6)


DIFFERENTIABLE = [
    name
    for name in FUNCTIONS
    if name not in ("x[5]", "index_select outside", "cat with a dense one", "get_device", "bmm")
    and not name.startswith(("new_", "dense", "zeros", "ones", "full", "empty"))
]


def total(result: Any) -> Any:
    """A sum over results, in which each entry counts differently."""
    if isinstance(result, (list, tuple)):
        return sum(total(part) * (k + 1) for k, part in enumerate(result))
    result = result.to_dense()
    return (result * dt.arange(1.0, result.numel() + 1, dtype=result.dtype).reshape(result.shape)).sum()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_those_of_the_dense_function(name: str) -> None:
    where = dt.tensor(VALUES) != 0

    def gradient(convert: Any) -> Any:
        x = dt.tensor(VALUES, requires_grad=True)
        return dt.autograd.grad(total(FUNCTIONS[name](dt, convert(x))), x)[0] * where

    if name == "narrow_copy" or name.startswith("narrow"):
        start = (slice(None), slice(0, 2)) if "columns" in name else (slice(1, 3),)
        x = dt.tensor(VALUES, requires_grad=True)
        expected = dt.autograd.grad(total(x[start]), x)[0] * where
    else:
        expected = gradient(lambda x: x)
    same_values = gradient(lambda x: x.to_sparse())
    np.testing.assert_allclose(same_values.numpy(), expected.numpy())


def test_gradients_of_batched_products_are_whole() -> None:
    x = dt.tensor(np.random.default_rng(0).standard_normal((2, 3, 4)))
    x[0, 1] = 0
    y = dt.tensor(np.random.default_rng(1).standard_normal((2, 4, 5)), requires_grad=True)
    leaf = x.clone().requires_grad_()
    weight = dt.tensor(np.random.default_rng(2).standard_normal((2, 3, 5)))
    mine = dt.autograd.grad((dt.bmm(leaf.to_sparse(), y) * weight).sum(), (leaf, y), create_graph=True)
    plain = dt.autograd.grad((dt.bmm(leaf, y) * weight).sum(), (leaf, y), create_graph=True)
    for a, b in zip(mine, plain, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)
    second, expected = (dt.autograd.grad(g[0].square().sum(), y)[0] for g in (mine, plain))
    np.testing.assert_allclose(second.numpy(), expected.numpy(), rtol=1e-12)


def test_what_cannot_be_joined_says_why() -> None:
    s, rows = tensors(dt)["matrix"], tensors(dt)["rows"]
    with pytest.raises(RuntimeError, match="same sparse_dim and dense_dim: 2, 0, but tensor at position 1 has 1, 1"):
        dt.cat([s, rows])
    with pytest.raises(RuntimeError, match=r"same shape: \[3, 3\] .* found shape: \[4, 4\] at position 1"):
        dt.cat([s, dt.eye(4).to_sparse()])
    with pytest.raises(RuntimeError, match=r"got \[3, 3\] at entry 0 and \[4, 4\] at entry 1"):
        dt.stack([s, dt.eye(4).to_sparse()])
    with pytest.raises(RuntimeError, match="'mat2' must be dense"):
        dt.bmm(tensors(dt)["volume"], tensors(dt)["volume"])
    with pytest.raises(IndexError, match="index contains 7 that is out of range"):
        s.index_select(0, dt.tensor([7]))


def test_keys_are_answered_whether_or_not_something_else_overrides_functions() -> None:
    program = """if True:
        import sys, dualtape as dt
        if sys.argv[1] == "autocast":
            with dt.autocast("cpu"):
                dt.ones(2, 2) @ dt.ones(2, 2)
        s = dt.eye(3).to_sparse()
        print(s[1].to_dense().tolist(), s[0, 0].item(), s[None].shape[0], s[:, 1].shape[0], len(list(s)), s[..., 1].ndim)
        for key in (slice(1), dt.tensor([0]), ...):
            try:
                s[key]
            except NotImplementedError as error:
                print("refused")
    """
    for first in ("nothing", "autocast"):
        done = subprocess.run([sys.executable, "-c", program, first], capture_output=True, text=True, check=False)
        assert done.stdout == "[0.0, 1.0, 0.0] 1.0 1 3 3 1\n" + "refused\n" * 3, done.stderr


WITH_MEMBERS_ASKING = """
import json, sys, warnings
import dualtape as dt
from dualtape.overrides.subclass import activate_overrides

warnings.simplefilter("ignore")
x = dt.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0], [4.0, 0.0, 0.0]], requires_grad=True)
calls = ["x[1]", "x[0, 1]", "x[:, 1]", "x[None]", "x[..., 0]", "x.unsqueeze(0)", "x.select(0, 1)", "x.T", "x.mT", "x.t()",
         "list(x)", "x.unbind()", "x + x", "x * 2", "2 * x", "-x", "abs(x)", "x @ x", "x.sum()", "x.abs()", "len(x)", "x.size()",
         "x.chunk(3)", "x.split(1)", "x.flatten()", "x.reshape(9)", "x.narrow(0, 0, 1)", "x.index_select(0, dt.tensor([1]))",
         "x.norm()", "x.to(dt.float64)", "x.double()", "x.clone()", "x.detach()", "x.is_sparse", "x / 2", "x.new_zeros(2, 2)"]


def told(call, space):
    try:
        result = eval(call, {"dt": dt, "x": space})
    except Exception as error:
        return type(error).__name__
    return repr(result)


def all_told():
    return {f"{layout} {call}": told(call, x.to_sparse(layout=layout)) for layout in (dt.sparse_coo, dt.sparse_csr) for call in calls}


before = all_told()
activate_overrides(members=True)
after = all_told()
print(json.dumps({k: [before[k], after[k]] for k in before if before[k] != after[k]}))
"""


def test_methods_do_the_same_once_methods_can_be_overridden() -> None:
    told = subprocess.run([sys.executable, "-c", WITH_MEMBERS_ASKING], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == {}
