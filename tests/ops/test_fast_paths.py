"""Fast paths: formulas for NumPy's arrays give the same as the general ones, unrolled nodes keep every check,
sums by BLAS are sums.
"""

from __future__ import annotations

import traceback
import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from dualtape.arrays.kernels.basics import add_at, added_up
from dualtape.arrays.kernels.sums import WIDTH, sum_all, sum_axes, sum_axis
from dualtape.ops.op_node import OpNode
from dualtape.ops.table import TABLE
from op_cases import arrays, cases, converted, leaves

QUICK = [pytest.param(row, sample, id=name) for name, row, sample in cases() if getattr(row, "numpy_vjp", None)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize(("row", "sample"), QUICK)
def test_a_quick_formula_gives_what_the_general_one_gives(row: Any, sample: Any, dtype: str) -> None:
    if dtype == "complex128" and not row.complex:
        pytest.skip("the op has no complex numbers")
    args, kwargs, result = arrays(sample, dtype)
    known = {id(a): dt.tensor(a, requires_grad=True) for a in result}
    convert = lambda a: known[id(a)] if id(a) in known else dt.from_numpy(a)
    found = []
    for record in (False, True):  # a backward that is recorded runs the general formulas
        outs = [
            o
            for o in leaves(
                row.function(
                    *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
                )
            )
            if o.requires_grad
        ]
        starts = [dt.from_numpy(np.linspace(0.5, 1.5, o.numel()).reshape(tuple(o.shape)).astype(dtype)) for o in outs]
        found.append(
            dt.autograd.grad(outs, list(known.values()), starts, create_graph=record, allow_unused=True) if outs else ()
        )
    for quick, general in zip(*found, strict=True):
        assert (quick is None) == (general is None)
        if quick is not None:
            np.testing.assert_allclose(
                quick.numpy(), general.detach().numpy(), rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-6
            )
            assert quick.dtype == general.dtype


def test_a_quick_formula_leaves_the_gradient_that_it_was_given() -> None:
    x = dt.tensor([0.5, 1.0], requires_grad=True)
    start = dt.tensor([1.0, 2.0])
    for name in ("tanh", "sigmoid", "relu", "square"):
        getattr(x, name)().backward(start)
    (1 / x).backward(start)
    (x**3).backward(start)
    x.softmax(0).backward(start)
    x.log_softmax(0).backward(start)
    x.cumsum(0).backward(start)
    assert start.tolist() == [1.0, 2.0]


def test_the_unrolled_node_notices_a_write() -> None:
    x = dt.ones(2, requires_grad=True)
    y = dt.ones(2)
    z = x * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward(dt.ones(2))


def test_the_unrolled_node_notices_that_its_values_were_released() -> None:
    z = dt.ones(2, requires_grad=True).exp()
    z.backward(dt.ones(2))
    with pytest.raises(RuntimeError, match="second time"):
        z.backward(dt.ones(2))


def test_generated_source_shows_in_a_traceback() -> None:
    z = dt.ones(2, requires_grad=True).exp()
    z.sum().backward()
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    assert "_check_not_freed(node)" in "".join(traceback.format_exception(caught.value))


# --- gradients that meet, and leaves that take them over ------------------------------------------


def test_a_leaf_takes_an_array_over_that_nobody_else_holds() -> None:
    x = dt.ones(3, requires_grad=True)
    seen: list = []
    y = x * 2
    y.grad_fn.register_hook(lambda grads, _: seen.append(grads[0]))
    y.backward(dt.ones(3))
    assert x.grad.data_ptr() != seen[0].data_ptr()  # the hook's tensor holds it
    (x * 2).backward(dt.ones(3))
    assert x.grad.tolist() == [4.0, 4.0, 4.0]


def test_the_users_gradient_is_never_taken_over_nor_added_to() -> None:
    x = dt.ones(3, requires_grad=True)
    start = dt.ones(3)
    x.backward(start)
    assert x.grad.data_ptr() != start.data_ptr()
    x.grad = None
    (x + x + x).backward(start)
    assert start.tolist() == [1.0] * 3 and x.grad.tolist() == [3.0] * 3


def test_gradients_that_meet_do_not_change_what_a_hook_has_seen() -> None:
    x = dt.ones(2, requires_grad=True)
    seen: list = []
    y = x.clone()
    y.register_hook(seen.append)
    parts = [y * k for k in (1.0, 2.0, 3.0)]
    for part in parts:
        part.retain_grad()
    (parts[0] + parts[1] + parts[2]).backward(dt.ones(2))
    assert [part.grad.tolist() for part in parts] == [[1.0, 1.0]] * 3 and seen[0].tolist() == [6.0, 6.0]


# --- sums and indices -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int64])
@pytest.mark.parametrize(
    "shape", [(), (0,), (0, 3), (5,), (WIDTH,), (WIDTH + 1,), (3, WIDTH + 7), (2 * WIDTH + 3, 3), (70, 80)]
)
def test_sums_by_products_are_sums(shape: tuple, dtype: Any) -> None:
    x = (np.random.default_rng(0).normal(size=shape) * 4).astype(dtype)
    for each in (x, np.asfortranarray(x)):
        close = lambda found, wanted: np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-2)
        close(sum_all(each), np.add.reduce(x, None))
        assert sum_all(each).dtype == np.add.reduce(x, None).dtype
        for axis in range(x.ndim):
            close(sum_axis(each, axis), np.add.reduce(x, axis))
            for keep in (False, True):
                close(sum_axes(each, axis, keep), np.add.reduce(x, axis, keepdims=keep))
                assert sum_axes(each, axis, keep).shape == np.add.reduce(x, axis, keepdims=keep).shape


def test_a_sum_by_a_product_keeps_infinities_and_nans_to_their_row() -> None:
    x = np.ones((70, 80), np.float32)
    x[3, 4], x[5, 6] = np.inf, np.nan
    found = sum_axis(x, 1)
    assert np.isinf(found[3]) and np.isnan(found[5]) and np.isfinite(np.delete(found, (3, 5))).all()


@pytest.mark.parametrize("width", [1, 3, 300])
def test_adding_at_places_counts_each_as_often_as_it_is_named(width: int) -> None:
    rng = np.random.default_rng(0)
    rows, values = rng.integers(-50, 50, 400), rng.normal(size=(400, width))
    wanted = np.zeros((50, width))
    np.add.at(wanted, (rows,), values)
    out = np.zeros((50, width))
    add_at(out, (rows,), values)
    np.testing.assert_allclose(out, wanted)
    columns = rng.integers(-width, width, 400)
    wanted, out = np.zeros((50, 40 * width)), np.zeros((50, 40 * width))
    np.add.at(wanted, (rows, columns), values[:, 0])
    add_at(out, (rows, columns), values[:, 0])
    np.testing.assert_allclose(out, wanted)


def test_values_added_up_by_place() -> None:
    rng = np.random.default_rng(0)
    places, values = rng.integers(0, 7, 3000), rng.normal(size=3000)
    np.testing.assert_allclose(added_up(places, values, 7), np.bincount(places, values, 7))


# --- in place -------------------------------------------------------------------------------------


def test_a_recorded_write_beside_an_alias_of_itself_is_noticed() -> None:
    x = dt.ones(2, requires_grad=True) * 2
    x.mul_(x.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()


def test_a_write_that_does_not_fit_leaves_the_tensor_as_it_was() -> None:
    for x in (dt.ones(2), dt.ones(2, requires_grad=True) * 1):
        version = x._version
        with pytest.raises(RuntimeError):
            x.add_(dt.ones(3, 2))
        assert x.tolist() == [1.0, 1.0] and x._version == version


def test_parameters_take_the_quick_way_and_give_plain_tensors() -> None:
    weight = dt.nn.Parameter(dt.ones(2, 2))
    out = dt.tanh(dt.ones(2, 2) @ weight) * weight
    assert type(out) is dt.Tensor and type(weight.t()) is dt.Tensor
    out.sum().backward()
    with dt.no_grad():
        weight -= weight.grad
    assert type(weight) is dt.nn.Parameter and weight._version == 1


# --- small arrays ---------------------------------------------------------------------------------


@pytest.mark.parametrize("filled", [None, np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize("settings", [(2,), (3, 1), (3, 2, 1), ((2, 3), (1, 2), (1, 0)), (1, 2), (4, 4, 2)])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_a_small_pool_gives_what_a_large_one_gives(
    name: str, settings: tuple, ceil_mode: bool, filled: float | None
) -> None:
    x = np.random.default_rng(0).integers(-3, 4, (2, 2, 5, 6)).astype(np.float64)
    if filled is not None:
        x[0, 0, 1, 1:3] = x[1, 1, :, :] = filled
    pool = getattr(dt.nn.functional, name)
    found = []
    for copies in (1, 600):
        batch = dt.from_numpy(np.concatenate([x] * copies)).requires_grad_()
        outs = pool(
            batch, *settings, ceil_mode=ceil_mode, **(dict(return_indices=True) if name == "max_pool2d" else {})
        )
        out, *indices = outs if isinstance(outs, tuple) else (outs,)
        (gradient,) = dt.autograd.grad(out.sum(), batch)
        found.append([out.detach().numpy(), gradient.numpy(), *(i.numpy() for i in indices)])
    for small, large in zip(*found, strict=True):
        np.testing.assert_allclose(small, large[:2], rtol=1e-12)
        assert small.dtype == large.dtype


@pytest.mark.parametrize("dim", [0, 1])
def test_the_mode_of_a_short_row_is_that_of_a_long_one(dim: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, (20, 9)).astype(np.float32)
    rows[3, 2:], rows[4, :4], rows[5] = np.nan, np.nan, np.nan
    # each NaN counts as another element, and is larger than all
    long = np.concatenate([rows, np.full((20, 200), np.nan, np.float32)], 1)
    short, other = (dt.mode(dt.from_numpy(np.ascontiguousarray(v if dim else v.T)), dim) for v in (rows, long))
    np.testing.assert_array_equal(short.values.numpy(), other.values.numpy())
    np.testing.assert_array_equal(short.indices.numpy(), other.indices.numpy())


def test_a_small_histogram_is_numpys() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        for bins, low, high in ((7, -1.0, 1.0), (10, 0.1, 0.7), (3, 0.0, 0.3), (1, 0.0, 1.0)):
            x = np.concatenate(
                [rng.uniform(-1, 1, 50), np.linspace(low, high, bins + 1), [np.nan, np.inf, low, high]]
            ).astype(dtype)
            wanted = np.histogram(x[~np.isnan(x)], bins, (low, high))[0]
            np.testing.assert_array_equal(dt.histc(dt.from_numpy(x), bins, low, high).numpy(), wanted)


def test_what_a_small_op_gives_is_its_own() -> None:
    x = dt.arange(12.0).reshape(1, 3, 2, 2)
    for result in (
        dt.pixel_shuffle(x, 1),
        x.tril(5),
        dt.nn.functional.unfold(x, 1),
        dt.nn.functional.max_pool2d(x, 1),
        dt.nn.functional.avg_pool2d(x, 1),
    ):
        result.add_(1)
    assert x.sum().item() == 66
    x.diagonal(0, 2, 3).zero_()  # this one is a view
    assert x[0, 0].tolist() == [[0.0, 1.0], [2.0, 0.0]]


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_triangular_system_in_every_layout(dtype: str, upper: bool) -> None:
    rng = np.random.default_rng(0)
    a = (rng.normal(size=(6, 6)) + 5 * np.eye(6)).astype(dtype)
    if dtype[0] == "c":
        a += (1j * rng.normal(size=(6, 6))).astype(dtype)
    b = rng.normal(size=(3, 4)).astype(dtype)
    for matrix in (a[:3, :3].copy(), np.asfortranarray(a[:3, :3]), a[::2, ::2], a[:3, :3].T):
        for unit in (False, True):
            triangle = np.triu(matrix) if upper else np.tril(matrix)
            if unit:
                np.fill_diagonal(triangle, 1)
            found = dt.linalg.solve_triangular(dt.from_numpy(matrix), dt.from_numpy(b), upper=upper, unitriangular=unit)
            np.testing.assert_allclose(found.numpy(), np.linalg.solve(triangle, b), rtol=1e-3, atol=1e-4)


def test_one_number_from_a_function_of_several_tensors_is_in_an_array() -> None:
    x, y = dt.tensor([0.25, 0.5]), dt.tensor([0.5, 1.0])
    for out in (dt.dist(x, y), dt.nn.functional.binary_cross_entropy(x, y), dt.nn.functional.mse_loss(x, y)):
        before = out.item()
        assert type(out._array) is np.ndarray and out.add_(1).item() == pytest.approx(before + 1)


# --- which way is taken ---------------------------------------------------------------------------


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("the whole way was taken")


CALLS = {
    "mul(x, x)": ("mul", lambda x: dt.mul(x, x)),
    "mul(x, 2.0)": ("mul", lambda x: dt.mul(x, 2.0)),
    "maximum(x, x)": ("maximum", lambda x: dt.maximum(x, x)),
    "gelu(x)": ("gelu", lambda x: dt.nn.functional.gelu(x)),
    "transpose(x, 0, 1)": ("transpose", lambda x: dt.transpose(x, 0, 1)),
    "unsqueeze(x, 0)": ("unsqueeze", lambda x: dt.unsqueeze(x, 0)),
    "unbind(x)": ("unbind", lambda x: dt.unbind(x)),
    "amax(x)": ("amax", lambda x: dt.amax(x)),
    "softmax(x, 0)": ("softmax", lambda x: dt.softmax(x, 0)),
    "logsumexp(x, 0)": ("logsumexp", lambda x: dt.logsumexp(x, 0)),
    "max(x, 0)": ("max_dim", lambda x: dt.max(x, 0)),
    "cat of a list": ("cat", lambda x: dt.cat([x, x])),
    "cat of a tuple": ("cat", lambda x: dt.cat((x, x), 1)),
    "gather": ("gather", lambda x: dt.gather(x, 0, dt.zeros(2, 2, dtype=dt.int64))),
    "where(x > 1, x, x)": ("where_op", lambda x: dt.where(x > 1, x, x)),
    "where(x > 1, x, 2.0)": ("where_op", lambda x: dt.where(x > 1, x, 2.0)),
    "where(x > 1, 2, x)": ("where_op", lambda x: dt.where(x > 1, 2, x)),
    "clamp(x, 0.0, 1.0)": ("clamp", lambda x: dt.clamp(x, 0.0, 1.0)),
    "clamp(x, None, x)": ("clamp", lambda x: dt.clamp(x, None, x)),
    "lerp(x, x, x)": ("lerp", lambda x: dt.lerp(x, x, x)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_a_usual_call_takes_the_quick_way(
    call: str, history: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, run = CALLS[call]
    x = dt.ones(2, 3, dtype=getattr(dt, dtype), requires_grad=history)
    run(x)  # its function is written
    monkeypatch.setitem(TABLE[name].function.__globals__, "_call", _refuse)
    assert all(out.requires_grad is history for out in leaves(run(x)) if out.is_floating_point())


def test_integers_take_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    x = dt.tensor([[1, 2], [3, 4]])
    for name, run in (("sum", dt.sum), ("mul", lambda t: dt.mul(t, t)), ("cat", lambda t: dt.cat([t, t]))):
        run(x)
        monkeypatch.setitem(TABLE[name].function.__globals__, "_call", _refuse)
        assert run(x).dtype is dt.int64


@pytest.mark.parametrize("call", ["mul(x, x)", "mul(x, 2.0)", "gelu(x)"])
def test_forward_mode_goes_its_own_way_at_once(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, run = CALLS[call]
    names = TABLE[name].function.__globals__
    with fwAD.dual_level():
        x = fwAD.make_dual(dt.ones(2), dt.ones(2))
        run(x)
        monkeypatch.setitem(names, "_call", _refuse)
        assert fwAD.unpack_dual(run(x)).tangent is not None


BACKWARDS = {
    **{name: run for name, (_, run) in CALLS.items()},
    "exp": dt.exp,
    "split": lambda x: x.split(1),
    "one part of a split": lambda x: x.split([2]),
    "sum": lambda x: x.sum(0),
    "a product": lambda x: x @ x.t(),
}


SEVERAL = ("unbind(x)", "max(x, 0)", "split", "one part of a split")  # whose backward is recorded on the reference path


@pytest.mark.parametrize(
    ("call", "create_graph"),
    [(call, record) for call in BACKWARDS for record in (False, True) if not (record and call in SEVERAL)],
)
def test_a_usual_backward_takes_the_quick_way(call: str, create_graph: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = dt.ones(2, 3, requires_grad=True)
    outs = [out for out in leaves(BACKWARDS[call](x)) if out.requires_grad]
    monkeypatch.setattr(OpNode, "_pull_general", _refuse)
    found = dt.autograd.grad(outs, x, [dt.ones_like(out) for out in outs], create_graph=create_graph)
    assert found[0].shape == x.shape


# --- cases that the fast path must leave ------------------------------------------------------------


def test_a_number_is_rounded_to_each_dtype_that_it_stands_beside() -> None:
    for number in (0.1, 0.7):  # whichever comes first
        kinds = (dt.float32, dt.float64) if number == 0.1 else (dt.float64, dt.float32)
        for kind in (*kinds, *kinds):
            found = dt.ones(2, dtype=kind) * number
            wanted = np.ones(2, found.numpy().dtype) * found.numpy().dtype.type(number)
            assert found.dtype is kind and found.numpy().tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x: dt.nn.functional.hardtanh(x, -1.0, 0.5), [1.0, 0.0, 0.0]),
        (lambda x: dt.nn.functional.softplus(x, 1.0, 0.5), [0.5621765, 1.0, 1.0]),
        (lambda x: dt.rsub(x, x.detach(), alpha=3), [-3.0, -3.0, -3.0]),
    ],
)
def test_options_reach_the_backward(call: Any, wanted: list) -> None:
    x = dt.tensor([0.25, 0.75, 2.0], requires_grad=True)
    np.testing.assert_allclose(dt.autograd.grad(call(x).sum(), x)[0].numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["amax", "softmax", "logsumexp", "argsort", "median", "sum", "exp", "mul", "t", "cat"])
def test_a_view_that_was_written_behind_its_back_has_its_new_history(name: str) -> None:
    w = dt.tensor([1.0, 2.0, 4.0], requires_grad=True)
    b = dt.ones(2, 3)
    v = b[1:]
    b.mul_(w)
    run = {
        "softmax": lambda: dt.softmax(v, 1)[0, 0],
        "logsumexp": lambda: dt.logsumexp(v, 1),
        "mul": lambda: v * v,
        "argsort": lambda: v.gather(1, dt.argsort(v)),
        "cat": lambda: dt.cat([v, v]),
    }
    out = run[name]() if name in run else getattr(v, name)()
    assert out.requires_grad and bool(dt.autograd.grad(out.sum(), w)[0].any())


def test_integers_become_single_precision_where_the_op_has_no_meaning_for_them() -> None:
    x = dt.tensor([1, 2, 3])
    for out in (
        dt.logsumexp(x, 0),
        dt.special.polygamma(1, x),
        dt.mvlgamma(x, 1),
        dt.special.chebyshev_polynomial_t(x, x),
        dt.special.hermite_polynomial_h(x, 2),
        dt.sigmoid(x),
        dt.true_divide(x, x),
    ):
        assert out.dtype is dt.float32


def test_real_and_imaginary_parts_are_views() -> None:
    z = dt.tensor([1 + 2j, 3 - 1j])
    z.real.mul_(2)
    z.imag.fill_(5.0)
    assert z.tolist() == [2 + 5j, 6 + 5j] and z._version == 2


def test_one_number_among_several_results_is_in_an_array() -> None:
    x, m = dt.tensor([3.0, 1.0, 2.0]), dt.eye(2)
    for outs in (
        x.max(0),
        x.min(0),
        dt.aminmax(x),
        dt.var_mean(x),
        dt.std_mean(x),
        x.median(0),
        x.mode(0),
        x.kthvalue(1),
        dt.linalg.slogdet(m),
        x.nanmedian(0),
    ):
        assert all(type(out._array) is np.ndarray for out in outs)


def test_a_bound_that_is_not_given_bounds_nothing() -> None:
    x = dt.tensor([-1.0, 0.5, 2.0])
    assert dt.clamp(x, None, 1.0).tolist() == [-1.0, 0.5, 1.0] and dt.clamp(x, 0, None).tolist() == [0.0, 0.5, 2.0]
    assert dt.clamp(x, None, x * 0).tolist() == [-1.0, 0.0, 0.0]


@pytest.mark.parametrize("x", [dt.ones(1, 3, 2), dt.ones(1, 1), dt.ones(1)])
@pytest.mark.parametrize("create_graph", [False, True])
def test_one_view_of_several_has_the_whole_gradient(x: dt.Tensor, create_graph: bool) -> None:
    for parts in (lambda t: t.unbind(0), lambda t: t.split(1), lambda t: t.chunk(1), lambda t: t.split([1])):
        x = x.detach().requires_grad_()
        (part,) = parts(x)
        start = dt.arange(1.0, 1.0 + part.numel()).reshape(part.shape)
        (found,) = dt.autograd.grad(part, x, start, create_graph=create_graph)
        assert found.shape == x.shape and found.flatten().tolist() == start.flatten().tolist()


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "sqrt", "reciprocal"])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_second_derivatives_go_through_results_that_were_saved(name: str, shape: tuple) -> None:
    x = dt.full(shape, 0.6, dtype=dt.float64, requires_grad=True)
    assert dt.autograd.gradgradcheck(getattr(dt, name), x)


class Stop(dt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *args: dt.Tensor) -> Any:
        return tuple(x * 1 for x in args)

    @staticmethod
    def backward(ctx: Any, *grads: dt.Tensor) -> Any:
        return (None,) * len(grads)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "call",
    [
        dt.exp,
        lambda x: x * x,
        lambda x: x.max(0),
        lambda x: x.unbind(0),
        lambda x: dt.cat([x, x]),
        lambda x: x.softmax(0),
        lambda x: x.sort(0)[0],
        lambda x: dt.matrix_exp(x),
        lambda x: x.clone()[0].mul_(2.0),
    ],
)
def test_a_gradient_that_does_not_come_is_none(call: Any, create_graph: bool) -> None:
    x = dt.ones(2, 2, requires_grad=True)
    outs = Stop.apply(*(out for out in leaves(call(x)) if out.requires_grad))
    found = dt.autograd.grad(outs, x, [dt.ones_like(o) for o in outs], allow_unused=True, create_graph=create_graph)
    assert found == (None,)


@pytest.mark.parametrize("level", [False, True])
def test_forwards_say_nothing_of_values_that_are_not_finite(level: bool) -> None:
    with warnings.catch_warnings(record=True) as seen, fwAD.dual_level():
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"dualtape\.")  # as the package has it
        for number, run in ((np.inf, dt.linalg.slogdet), (3e38, dt.linalg.pinv), (3e38, dt.matrix_exp)):
            x = dt.full((2, 2), number)
            run(fwAD.make_dual(x, dt.ones(2, 2)) if level else x)
    assert not [str(each.message) for each in seen]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dt.nn.functional.layer_norm(x, (3,)),
        lambda x: dt.nn.functional.group_norm(x, 1),
        lambda x: x.max(1)[0],
        lambda x: x.sort(1)[0],
        lambda x: x.cummax(1)[0],
        lambda x: dt.var_mean(x, 1)[0],
    ],
)
def test_second_derivatives_where_some_results_have_no_gradient(call: Any) -> None:
    x = dt.tensor([[0.5, 2.0, 1.0], [3.0, 0.25, 1.5]], dtype=dt.float64, requires_grad=True)
    assert dt.autograd.gradgradcheck(lambda x: call(x) * call(x), x)


def test_keywords_arrive_whatever_the_others_are_called() -> None:
    x = dt.tensor([[1.0, 5.0], [3.0, 2.0]])
    assert dt.aminmax(input=x, dim=1).max.tolist() == [5.0, 3.0]
    assert dt.add(input=x, other=x, alpha=3).tolist() == (x * 4).tolist()
    assert dt.add(x, x, alpha=3, out=dt.empty(2, 2)).tolist() == (x * 4).tolist()


def test_numbers_beside_integers_are_not_rounded() -> None:
    x = dt.tensor([1, 2])
    assert (x * 0.37).dtype is dt.float32 and dt.allclose(x * 0.37, dt.tensor([0.37, 0.74]))
    large = dt.tensor([2**53 + 1])
    assert (large > 2**53).item() and (large * 3).item() == 3 * 2**53 + 3


# --- nodes that take the reference path ---------------------------------------------------------------

SEVERAL = {
    "svd": lambda x: dt.linalg.svd(x, full_matrices=False),
    "qr": lambda x: dt.linalg.qr(x),
    "slogdet": lambda x: dt.linalg.slogdet(x),
    "var_mean": lambda x: dt.var_mean(x, 0),
    "frexp": lambda x: dt.frexp(x),
    "norm": lambda x: dt.nn.functional.layer_norm(x, (3,)).unbind(),
    "eigh": lambda x: dt.linalg.eigh(x + x.t()),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", SEVERAL)
def test_one_of_several_results_has_its_gradient_also_if_it_is_not_the_first(name: str, create_graph: bool) -> None:
    x = dt.tensor([[3.0, 1.0, 0.2], [0.4, 5.0, 0.3], [0.1, 0.6, 7.0]], dtype=dt.float64, requires_grad=True)
    count = sum(out.requires_grad for out in SEVERAL[name](x))
    for k in range(count):
        outs = [out for out in SEVERAL[name](x) if out.requires_grad]
        start = dt.linspace(0.5, 1.5, outs[k].numel(), dtype=dt.float64).reshape(outs[k].shape)
        (alone,) = dt.autograd.grad(outs[k], x, start, create_graph=create_graph)
        others = [out for out in SEVERAL[name](x) if out.requires_grad]
        starts = [start if n == k else dt.zeros_like(out) for n, out in enumerate(others)]
        (beside,) = dt.autograd.grad(others, x, starts)
        np.testing.assert_allclose(alone.detach().numpy(), beside.numpy(), rtol=1e-10, atol=1e-12)
        assert alone.abs().max() > 1e-3 or name == "slogdet"


@pytest.mark.parametrize("name", [name for name in SEVERAL if name != "frexp"])
def test_what_a_node_of_several_results_saved_is_let_go(name: str) -> None:
    x = dt.tensor([[3.0, 1.0, 0.2], [0.4, 5.0, 0.3], [0.1, 0.6, 7.0]], dtype=dt.float64, requires_grad=True)
    out = next(out for out in SEVERAL[name](x) if out.requires_grad and out.grad_fn.name() != "SelectBackward0")
    total = out.sum()
    total.backward()
    with pytest.raises(RuntimeError, match="second time"):
        total.backward()


@pytest.mark.parametrize("batched", [False, True])
def test_a_joint_formula_is_for_arrays_that_are_not_recorded(batched: bool) -> None:
    norm = lambda x, weight, bias: dt.nn.functional.layer_norm(x, (3,), weight, bias)
    inputs = [
        dt.tensor(v, dtype=dt.float64, requires_grad=True)
        for v in ([[1.0, 2.0, 4.0]], [1.0, 0.5, 2.0], [0.0, 1.0, 2.0])
    ]
    start = dt.tensor([[1.0, -2.0, 0.5]], dtype=dt.float64)
    starts = dt.stack([start, 2 * start]) if batched else start
    plain = dt.autograd.grad(norm(*inputs), inputs, starts, is_grads_batched=batched)
    recorded = dt.autograd.grad(norm(*inputs), inputs, starts, is_grads_batched=batched, create_graph=True)
    for one, other in zip(plain, recorded, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-10, atol=1e-12)
    assert dt.autograd.gradgradcheck(norm, inputs)
    for k, x in enumerate(inputs):  # one of them alone
        (alone,) = dt.autograd.grad(norm(*inputs), x, starts, is_grads_batched=batched)
        np.testing.assert_allclose(alone.numpy(), plain[k].numpy(), rtol=1e-12)


def test_a_tensor_that_counts_its_writes_and_was_not_written_may_be_used() -> None:
    x, y = dt.ones(2, requires_grad=True), dt.full((2,), 3.0, requires_grad=True)
    out = x * y
    x.detach(), y.detach()  # from here on writes are counted
    assert dt.autograd.grad(out.sum(), x)[0].tolist() == [3.0, 3.0]
    out = x * y
    y.detach().add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        dt.autograd.grad(out.sum(), x)


@pytest.mark.parametrize("write", [lambda x: x.mul_(x[:1] * 2.0), lambda x: x.exp_(), lambda x: x.pow_(3)])
def test_hooks_see_what_a_write_saves_before_and_after_it(write: Any) -> None:
    seen: list = []
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    with dt.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
        y = write(x * 1.5)
    (hooked,) = dt.autograd.grad(y.sum(), x)
    (plain,) = dt.autograd.grad(write(x * 1.5).sum(), x)
    assert seen and hooked.tolist() == plain.tolist()


def test_a_hook_that_fails_leaves_what_was_to_be_written_alone() -> None:
    def refuse(t: dt.Tensor) -> Any:
        raise KeyError("not this one")

    y = dt.tensor([1.0, 2.0], requires_grad=True) * 1.5
    with dt.autograd.graph.saved_tensors_hooks(refuse, lambda t: t), pytest.raises(KeyError):
        y.pow_(3)
    assert y.tolist() == [1.5, 3.0] and y._version == 0 and y.grad_fn.name() == "MulBackward0"


def test_results_that_hooks_packed_keep_their_tangents() -> None:
    with dt.autograd.forward_ad.dual_level():
        x = dt.autograd.forward_ad.make_dual(dt.tensor([0.5], requires_grad=True), dt.tensor([2.0]))
        with dt.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), dt.from_numpy):
            y = x.exp()
        (g,) = dt.autograd.grad(y, x, dt.ones(1), create_graph=True)
        tangent = dt.autograd.forward_ad.unpack_dual(g).tangent
        assert tangent.item() == pytest.approx(2.0 * np.exp(0.5))


def test_sizes_may_be_numpys_integers_one_by_one_or_all_at_once() -> None:
    x, two, three = dt.arange(6.0).reshape(2, 3), np.int64(2), np.int32(3)
    for sizes in ((three, two), (three, 2), ((three, 2),), ([3, two],)):
        assert x.reshape(*sizes).tolist() == x.view(*sizes).tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert x.permute(np.int64(1), np.int64(0)).tolist() == x.t().tolist()
    assert dt.ones(1, 3).expand(two, three).shape == (2, 3) and dt.tensor(5.0).expand(two).tolist() == [5.0, 5.0]
    assert dt.tensor(5.0).permute(()).item() == 5.0
    with pytest.raises(TypeError, match="dims"):
        dt.tensor(5.0).permute()
