"""The quick ways: formulas for NumPy's arrays give what the general ones give, unrolled nodes keep every check,
sums by BLAS are sums.
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.arrays.kernels.basics import add_at, added_up
from dualtape.arrays.kernels.sums import WIDTH, sum_all, sum_axes, sum_axis
from op_cases import arrays, cases, converted, leaves

QUICK = [pytest.param(row, sample, id=name) for name, row, sample in cases() if getattr(row, "numpy_vjp", None)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize(("row", "sample"), QUICK)
def test_a_quick_formula_gives_what_the_general_one_gives(row: Any, sample: Any, dtype: str) -> None:
    if dtype == "complex128" and not row.complex:
        return
    args, kwargs, result = arrays(sample, dtype)
    known = {id(a): dt.tensor(a, requires_grad=True) for a in result}
    convert = lambda a: known[id(a)] if id(a) in known else dt.from_numpy(a)
    found = []
    for record in (False, True):  # a backward that is recorded runs the general formulas
        outs = [o for o in leaves(row.function(*(converted(a, convert) for a in args),
            **{k: converted(v, convert) for k, v in kwargs.items()}))
                if o.requires_grad]  # fmt: skip
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


# --- sums and places ------------------------------------------------------------------------------


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
