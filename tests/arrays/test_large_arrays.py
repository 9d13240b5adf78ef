"""The ways for large arrays (blocks in a cache, flat images, candidates, bits): the same results as NumPy and SciPy
give in one pass.

The samples of the op table are small and never take them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import dualtape as dt
from benchmarks import rounding
from dualtape.arrays.kernels import approximations, convolutions, updates
from dualtape.arrays.kernels.approximations import erf_single
from dualtape.arrays.kernels.basics import add_at, added_along_rows, taken_along_rows
from dualtape.arrays.kernels.masks import either, kept
from dualtape.arrays.kernels.sums import sum_all
from dualtape.ops.families import activations, convolution, cumulative, normalisation, softmax, sorting

functional = dt.nn.functional


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(found: Any, expected: np.ndarray) -> None:
    tolerance = 1e-5 if found.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(expected).max()))
    )


@pytest.mark.parametrize("dim", [0, 1, (0, 2), None])
@pytest.mark.parametrize("mean", [0.0, 1e4, 1e6])
def test_the_variance_of_many_numbers_far_from_zero_is_that_of_double_precision(mean: float, dim: Any) -> None:
    x = numbers(60, 700, 50, dtype=np.float64).astype(np.float32) + np.float32(mean)
    np.testing.assert_allclose(dt.tensor(x).var(dim), x.astype(np.float64).var(dim, ddof=1), rtol=1e-5)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("shape", [(20, 300, 70), (9, 5, 8000), (600, 1, 512)])
def test_running_sums_side_by_side_are_those_of_double_precision_to_the_bit(shape: tuple, dim: int) -> None:
    x = numbers(*shape)
    summed = lambda x: np.cumsum(x, dim, np.float64).astype(np.float32)
    np.testing.assert_array_equal(cumulative._abreast(np.add, x, dim), summed(x))
    np.testing.assert_array_equal(cumulative._abreast(np.add, x, dim, True), np.flip(summed(np.flip(x, dim)), dim))


@pytest.mark.parametrize("name", rounding.SUMS)
def test_sums_are_as_exact_as_pairwise_ones(name: str) -> None:
    assert rounding.rounding_errors(dt, name) < (10 if "(10^6, 10)" in name else 3)  # PyTorch: 4.7 and less


def backwards(x: np.ndarray) -> np.ndarray:
    return x[..., ::-1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(9000, 3), (900, 40), (400, 41), (60, 7, 99), (30, 1000), (3, 12_345), (500_000,)])
def test_running_sums_by_triangles_are_running_sums(shape: tuple, dtype: Any) -> None:
    x = numbers(*shape, dtype=dtype)
    wide = x.astype(np.longdouble)
    for back, expected in ((False, np.cumsum(wide, -1)), (True, backwards(np.cumsum(backwards(wide), -1)))):
        found = cumulative._by_triangles(x, back)
        assert found is not None and found.dtype == dtype and found.flags.c_contiguous
        # no worse than adding one after the other
        one_by_one = np.cumsum(x, -1) if not back else backwards(np.cumsum(backwards(x), -1))
        assert np.abs(found - expected).max() <= np.abs(one_by_one - expected).max() + np.finfo(dtype).eps * float(
            np.abs(expected).max()
        )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_running_sums_before_what_is_not_finite_stay_as_they_are(value: float) -> None:
    values = numbers(50, 1000)
    values[3, 500] = values[20, 999] = values[30, 0] = value
    x = dt.tensor(values, requires_grad=True)
    out = x.cumsum(1)
    np.testing.assert_allclose(out.detach().numpy(), np.cumsum(values, 1), rtol=1e-4, atol=1e-4)
    out.backward(dt.tensor(values))
    np.testing.assert_allclose(x.grad.numpy(), backwards(np.cumsum(backwards(values), 1)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_updates_in_place_are_products_and_multiples_of_rows(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left, right, factors, rows = (
        numbers(7, 2, dtype=dtype),
        numbers(2, 9, dtype=dtype),
        numbers(7, dtype=dtype),
        numbers(7, 9, dtype=dtype),
    )
    out = np.full((7, 9), np.nan, dtype)
    close(updates.product(out, left, right), left @ right)
    close(updates.product(out, left, right, add=True), 2 * left @ right)
    close(updates.add_rows(out, factors, rows), 2 * left @ right + factors[:, None] * rows)
    close(updates.add_outer(rows.copy(), factors, rows[0]), rows + factors[:, None] * rows[0])
    scaled = factors[:, None] * rows
    close(updates.scale_rows(rows.copy(), factors), scaled)
    monkeypatch.setattr(updates, "_kernels", lambda dtype: (None,) * 4)  # a SciPy that hides its kernels
    close(updates.add_rows(out, factors, rows), 2 * left @ right + 2 * scaled)
    close(updates.scale_rows(rows.copy(), factors), scaled)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [16_384, 16_385, 20_000, 1_000_003, 25_000_001])
def test_the_sum_of_many_numbers_is_as_exact_as_numpys(size: int, dtype: Any) -> None:
    x = np.random.default_rng(size).random(size, dtype)
    exact = x.sum(dtype=np.longdouble)
    assert abs(sum_all(x) - exact) <= 8 * np.finfo(dtype).eps * exact
    assert sum_all(x).dtype == dtype
    x[size // 2] = np.inf
    assert sum_all(x) == np.inf
    x[-1] = np.nan
    assert np.isnan(sum_all(x))


@pytest.mark.parametrize("mean", [0.0, 1.0, 300.0])
@pytest.mark.parametrize("scaled, shifted", [(True, True), (True, False), (False, True), (False, False)])
def test_layer_norm_by_rows_is_that_of_double_precision(mean: float, scaled: bool, shifted: bool) -> None:
    shape = (9, 40, 128)
    values = numbers(*shape) + np.float32(mean)
    found: list = []
    for dtype in (np.float32, np.float64):
        x, w, b = (
            dt.tensor(v.astype(dtype), requires_grad=True) for v in (values, numbers(128, seed=1), numbers(128, seed=2))
        )
        out = functional.layer_norm(x, (128,), w if scaled else None, b if shifted else None)
        out.backward(dt.tensor(numbers(*shape, seed=3).astype(dtype)))
        found.append(
            [
                out.detach().numpy(),
                x.grad.numpy(),
                *(p.grad.numpy() for p, given in ((w, scaled), (b, shifted)) if given),
            ]
        )
    for single, double in zip(*found, strict=True):
        assert single.shape == double.shape
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=2e-6 * max(1.0, mean) * float(np.abs(double).max()))


def test_batch_norm_of_as_many_rows_as_columns_goes_by_columns() -> None:
    found: list = []
    for dtype in (np.float32, np.float64):
        x, w = (dt.tensor(v.astype(dtype), requires_grad=True) for v in (numbers(150, 150) + 1, numbers(150, seed=1)))
        functional.batch_norm(x, None, None, w, training=True).backward(
            dt.tensor(numbers(150, 150, seed=2).astype(dtype))
        )
        found.append((x.grad.numpy(), w.grad.numpy()))
    for single, double in zip(*found, strict=True):
        np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-4)
    with_torch = pytest.importorskip("torch")
    x, w = (
        with_torch.tensor(v.astype(np.float64), requires_grad=True)
        for v in (numbers(150, 150) + 1, numbers(150, seed=1))
    )
    with_torch.nn.functional.batch_norm(x, None, None, w, training=True).backward(
        with_torch.tensor(numbers(150, 150, seed=2).astype(np.float64))
    )
    close(found[1][0], x.grad.numpy())
    close(found[1][1], w.grad.numpy())


def test_layer_norm_by_rows_of_constants_is_its_bias() -> None:
    x = np.repeat(np.array([0.0, 1e25, -3.0], np.float32), 100)[:, None] * np.ones(128, np.float32)
    bias = numbers(128)
    found = functional.layer_norm(dt.tensor(x), (128,), None, dt.tensor(bias)).numpy()
    np.testing.assert_allclose(found, np.broadcast_to(bias, x.shape), rtol=1e-6)


def test_layer_norm_by_rows_keeps_what_is_not_finite_to_its_row_or_column() -> None:
    x, w, g = numbers(300, 128), numbers(128, seed=1), numbers(300, 128, seed=2)
    x[5, 7], w[9], g[11, 13] = np.nan, np.inf, np.inf
    leaves = [dt.tensor(v, requires_grad=True) for v in (x, w)]
    out = functional.layer_norm(leaves[0], (128,), leaves[1])
    finite = np.isfinite(out.detach().numpy())
    assert not finite[5].any() and not finite[:, 9].any() and np.delete(np.delete(finite, 5, 0), 9, 1).all()
    assert np.isinf(np.delete(out.detach().numpy()[:, 9], 5)).all()  # and not NaN
    x[5, 7] = 0.0
    leaf = dt.tensor(w, requires_grad=True)
    functional.layer_norm(dt.tensor(x), (128,), leaf).backward(dt.tensor(g))
    grad = leaf.grad.numpy()
    assert np.isinf(grad[13]) and np.isfinite(np.delete(grad, 13)).all()


@pytest.mark.parametrize("shape, count", [((400, 90), 50), ((20, 40, 33), 70), ((30_000, 3), 1), ((3, 20_000), 30_000)])
def test_entries_taken_along_rows_are_numpys_and_add_up_on_the_way_back(shape: tuple, count: int) -> None:
    x, index = numbers(*shape, dtype=np.float64), np.random.default_rng(1).integers(0, shape[-1], (*shape[:-1], count))
    np.testing.assert_array_equal(taken_along_rows(x, index), np.take_along_axis(x, index, -1))
    values = numbers(*index.shape, dtype=np.float64, seed=2)
    expected = np.zeros(shape)
    np.add.at(expected, (*np.indices(index.shape)[:-1], index), values)
    close(added_along_rows(index, values, shape[-1]), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("rows", [10, 200])
def test_gather_of_few_and_many_entries_gives_what_numpy_gives(rows: int, dim: int, dtype: Any) -> None:
    x = numbers(200, 90).astype(dtype)
    index = np.random.default_rng(1).integers(0, x.shape[dim], (rows, 5 if rows == 10 else 80))
    leaf = dt.tensor(x, requires_grad=True)
    out = leaf.gather(dim, dt.tensor(index))
    np.testing.assert_array_equal(
        out.detach().numpy(),
        np.take_along_axis(x[: rows if dim else None, : None if dim else index.shape[1]], index, dim),
    )
    out.backward(dt.tensor(np.ones(index.shape, dtype)))
    places = np.indices(index.shape)
    expected = np.zeros(x.shape, dtype)
    np.add.at(expected, (places[0], index) if dim else (index, places[1]), 1)
    np.testing.assert_array_equal(leaf.grad.numpy(), expected)


@pytest.mark.parametrize("place", [-1, 90])
def test_gather_of_many_entries_refuses_one_that_is_not_there(place: int) -> None:
    index = np.zeros((200, 80), np.int64)
    index[100, 3] = place
    with pytest.raises(IndexError):
        dt.ones(200, 90).gather(1, dt.tensor(index))


@pytest.mark.parametrize("shape", [(1600, 200), (80, 30, 128), (5, 50_000)])
def test_layer_norm_in_blocks_has_the_gradients_of_the_formulas(shape: tuple) -> None:
    x, g, w = (
        numbers(*shape, dtype=np.float64),
        numbers(*shape, dtype=np.float64, seed=1),
        numbers(shape[-1], dtype=np.float64, seed=2),
    )
    axes = (len(shape) - 1,)
    _, mean, variance = normalisation._norm(x, w, None, shape, w.shape, axes, 1e-5, "layer")
    given = (g, 0.1 * mean, 0.2 * variance, x, w, mean, variance, shape, w.shape, axes, 1e-5, shape)
    close(normalisation._norm_gradient_arrays(*given), normalisation._norm_gradient(*given))
    given = (g, x, mean, variance, shape, w.shape, 1e-5, w.shape)
    close(normalisation._weight_gradient_arrays(*given), normalisation._weight_gradient(*given))


@pytest.mark.parametrize("k", [1, 7, 40])
@pytest.mark.parametrize("kind", ["numbers", "ties", "integers", "minus infinity", "infinity"])
def test_the_k_largest_among_candidates_are_those_of_a_stable_sort(kind: str, k: int) -> None:
    x = numbers(30, 4, 999)
    x = {
        "numbers": x,
        "ties": np.round(x, 1),
        "integers": (x * 1000).astype(np.int64),
        "minus infinity": np.where(x < 1, -np.inf, x).astype(np.float32),
        "infinity": np.where(x > 2.5, np.inf, x).astype(np.float32),
    }[kind]
    assert sorting._candidates(x.reshape(-1, 999), k) is not None
    values, indices = sorting._topk(x, k)
    expected = np.argsort(-x.astype(np.float64), axis=-1, kind="stable")[..., :k]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))
    assert values.dtype == x.dtype


def test_candidates_are_refused_where_nan_counts_or_most_elements_tie() -> None:
    x = numbers(30, 999)
    x[4, 998] = np.nan
    assert sorting._candidates(x, 3) is None
    assert np.isnan(sorting._topk(x, 3)[0][4, 0])
    assert sorting._candidates(np.zeros((30, 999), np.float32), 3) is None


@pytest.mark.parametrize("rows", [1500, 20])
def test_rows_added_at_an_index_are_added_as_often_as_they_are_named(rows: int) -> None:
    index = np.random.default_rng(0).integers(0, 400, rows)
    values, start = numbers(rows, 300, dtype=np.float64), numbers(400, 300, dtype=np.float64, seed=1)
    found, expected = start.copy(), start.copy()
    add_at(found, (index,), values)
    np.add.at(expected, index, values)
    close(found, expected)


def test_rows_are_not_added_outside_of_an_array() -> None:
    with pytest.raises(IndexError):
        add_at(np.zeros((400, 300)), (np.full(500, 400),), np.ones((500, 300)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_choices_by_bits_are_those_of_where(dtype: Any) -> None:
    x, y = (100 * numbers(100, 2000)).astype(dtype), (100 * numbers(100, 2000, seed=1)).astype(dtype)
    if dtype is not np.int64:
        x[0, :3] = y[1, :3] = np.nan, np.inf, -0.0
    condition = numbers(100, 2000, seed=2) > 0
    for mask, a, b in (
        (condition, x, y),
        (condition.T, x.T, y.T),
        (condition[:, ::2], x[:, ::2], y[:, ::2]),
        (condition[0], x, y),
    ):
        np.testing.assert_array_equal(either(mask, a, b), np.where(mask, a, b))
        np.testing.assert_array_equal(kept(a, mask), np.where(mask, a, 0))
        np.testing.assert_array_equal(kept(a, mask, False), np.where(mask, 0, a))


def test_relu_passes_nan_and_stops_an_infinite_gradient() -> None:
    values = numbers(200_000)
    values[:2] = np.nan, -1.0
    x = dt.tensor(values, requires_grad=True)
    g = np.full(200_000, np.inf, np.float32)
    dt.relu(x).backward(dt.tensor(g))
    np.testing.assert_array_equal(x.grad.numpy(), np.where(values <= 0, 0, g))


def test_erf_of_single_precision_is_within_four_units_in_the_last_place() -> None:
    x = np.concatenate(
        [np.linspace(-7, 7, 200_001), 10.0 ** np.linspace(-30, 0, 1001), [np.inf, -np.inf, 0.0, -0.0]]
    ).astype(np.float32)
    exact = scipy.special.erf(x.astype(np.float64))
    assert (np.abs(erf_single(x) - exact) <= 4 * np.spacing(np.abs(exact).astype(np.float32))).all()
    assert np.isnan(erf_single(np.array([np.nan], np.float32))).all()
    exact = scipy.special.erf(0.5 * x.astype(np.float64))
    assert (np.abs(erf_single(x, 0.5) - exact) <= 4 * np.spacing(np.abs(exact).astype(np.float32))).all()


BASES = {
    "exp": lambda: (np.exp, np.asarray(1, np.float32)),
    "exp2": lambda: (np.exp2, np.asarray(np.log2(np.e), np.float32)),
}


@pytest.mark.parametrize("base", BASES)
def test_exponentials_of_any_base_are_exponentials(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert approximations.exponential()[0] in (np.exp, np.exp2)
    monkeypatch.setattr(approximations, "exponential", BASES[base])
    x = np.concatenate([np.linspace(-87, 0, 100_001), [0.0, -np.inf, np.nan, -1000.0]])
    for dtype in (np.float32, np.float64):
        given = x.astype(dtype)
        exact = np.exp(given.astype(np.longdouble))
        # the rounding of exponent and factor, beside the function's own
        error = np.finfo(dtype).eps * (2 + 0.75 * np.abs(given[:-4]))
        found = approximations.exponentials(given, np.empty_like(given))
        assert (np.abs(found[:-4] - exact[:-4]) <= error * exact[:-4]).all()
        np.testing.assert_array_equal(found[-4:], [1.0, 0.0, np.nan, 0.0])


def both_ways(given: np.ndarray, start: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """A log_softmax and its gradient."""
    x = dt.tensor(given, requires_grad=True)
    out = x.log_softmax(dim)
    out.backward(dt.tensor(start))
    return out.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(300, 700), (7, 50, 100), (3, 20_000), (20_000,)])
def test_log_softmax_by_rows_is_that_of_double_precision(
    shape: tuple, dtype: Any, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approximations, "exponential", BASES[base])
    for scale, shift in ((1, 0), (30, 0), (1, 1e4)):
        x, g = (numbers(*shape, dtype=dtype) * scale + shift).astype(dtype), numbers(*shape, dtype=dtype, seed=1)
        assert softmax._by_rows(x, -1)
        wide = x.astype(np.longdouble)
        wide -= wide.max(-1, keepdims=True)
        wide -= np.log(np.exp(wide).sum(-1, keepdims=True))
        out, change = both_ways(x, g, -1)
        error = 16 * np.finfo(dtype).eps
        np.testing.assert_allclose(out, wide, rtol=error, atol=error)
        np.testing.assert_allclose(
            change, g - np.exp(wide) * g.sum(-1, keepdims=True, dtype=np.longdouble), rtol=8 * error, atol=8 * error
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_softmax_by_rows_keeps_what_is_not_finite_to_its_row(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, g = numbers(100, 300, dtype=dtype), numbers(100, 300, dtype=dtype, seed=1)
    x[0], x[1, 5], x[2, 7], x[3, :299], x[4, 8] = -np.inf, np.inf, np.nan, -np.inf, 1e30
    g[5, 3], g[6, 4], g[4, 7] = np.inf, np.nan, np.inf
    found = both_ways(x, g, 1)
    monkeypatch.setattr(softmax, "_by_rows", lambda *given: False)
    for row, expected in zip(found, both_ways(x, g, 1), strict=True):
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-5)


def test_gelu_of_what_is_large_or_not_finite_is_pytorchs() -> None:
    x = np.resize(np.array([-np.inf, -1e30, -100.0, -20.0, 0.0, 20.0, 1e30, np.nan], np.float32), 8000)
    np.testing.assert_array_equal(
        functional.gelu(dt.tensor(x)).numpy()[:8], [np.nan, 0, 0, 0, 0, 20.0, np.float32(1e30), np.nan]
    )


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_in_blocks_is_that_of_double_precision(
    approximate: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (approximations, activations):
        monkeypatch.setattr(module, "exponential", BASES[base])
    x, g = numbers(200, 300), numbers(200, 300, seed=1)
    single, double = dt.tensor(x, requires_grad=True), dt.tensor(x.astype(np.float64), requires_grad=True)
    for tensor in (single, double):
        out = functional.gelu(tensor, approximate=approximate)
        out.backward(dt.tensor(g.astype(out.detach().numpy().dtype)))
        tensor.out = out.detach().numpy()
    close(single.out, double.out)
    close(single.grad.numpy(), double.grad.numpy())


CONVOLUTIONS = [
    ((3, 8, 40, 30), (6, 4, 3, 3), (1, 1), (1, 1), 2),
    ((5, 16, 32, 32), (32, 16, 3, 3), (1, 1), (1, 1), 1),
    ((2, 6, 64, 64), (4, 6, 5, 3), (0, 2), (2, 1), 1),
    ((9, 16, 900), (8, 16, 3), (1,), (1,), 1),
    ((2, 4, 12, 12, 14), (6, 4, 2, 3, 2), (1, 0, 1), (1, 1, 1), 1),
    ((2, 9, 30, 40), (4, 9, 3, 2), (1, 3), (1, 1), 1),
    ((2, 9, 40, 40), (4, 9, 3, 3), (2, 2), (1, 2), 1),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("x_shape, weight_shape, padding, dilation, groups", CONVOLUTIONS)
def test_a_convolution_of_flat_images_is_that_of_windows(
    x_shape: tuple,
    weight_shape: tuple,
    padding: tuple,
    dilation: tuple,
    groups: int,
    dtype: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, weight, bias = (
        numbers(*x_shape, dtype=dtype),
        numbers(*weight_shape, dtype=dtype, seed=1),
        numbers(weight_shape[0], dtype=dtype, seed=2),
    )
    attributes = ((1,) * len(padding), padding, dilation, groups)

    def products() -> list[np.ndarray]:
        out = convolutions._convolution(x, weight, bias, *attributes)
        g = np.cos(np.arange(out.size)).reshape(out.shape).astype(dtype)
        return [
            out,
            convolutions._transposed(g, weight, None, x_shape[2:], *attributes),
            convolutions._weight(g, x, weight_shape, *attributes),
            convolution._channel_sum_arrays(g),
        ]

    flat = products()
    monkeypatch.setattr(convolutions, "_flat", lambda *given: None)
    monkeypatch.setattr(convolutions, "BLOCK", 10**12)
    for found, expected in zip(flat, products(), strict=True):
        assert found.shape == expected.shape and found.dtype == expected.dtype
        tolerance = 2e-5 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * float(np.abs(expected).max()))


@pytest.mark.parametrize(
    "result, inner, length", [(32, 144, 1086), (3, 70, 64), (8, 72, 50), (64, 576, 600), (1, 2, 3000)]
)
def test_products_in_small_parts_are_products(result: int, inner: int, length: int) -> None:
    matrix, columns = (
        numbers(2, result, inner, dtype=np.float64),
        numbers(3, 2, inner, length, dtype=np.float64, seed=1),
    )
    out = np.empty((3, 2, result, length + 5))
    convolutions._thin_product(matrix, columns, out[..., :length])
    close(out[..., :length], matrix @ columns)
    close(convolutions._long_product(columns, out[..., :length]), columns @ out[..., :length].swapaxes(-1, -2))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_at_the_edge_of_an_image_reaches_only_the_weights_that_see_it(value: float) -> None:
    images = numbers(2, 8, 30, 30)
    images[1, 2, 4, 29] = value  # seen by the middle and the right column of the kernel
    weight = dt.tensor(numbers(6, 8, 3, 3, seed=1), requires_grad=True)
    out = functional.conv2d(dt.tensor(images), weight, padding=1)
    out.backward(dt.tensor(numbers(*out.shape, seed=2)))
    finite = np.isfinite(weight.grad.numpy())
    assert not finite[:, 2, :, 1:].any() and finite[:, 2, :, 0].all() and np.delete(finite, 2, 1).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_weight_that_is_not_finite_reaches_only_the_inputs_that_it_saw(value: float) -> None:
    weight = numbers(6, 8, 3, 3)
    weight[1, 2, 0, 0] = value  # with no padding it sees neither the last two rows nor the last two columns
    images = dt.tensor(numbers(2, 8, 32, 32, seed=1), requires_grad=True)
    out = functional.conv2d(images, dt.tensor(weight))
    out.backward(dt.tensor(numbers(*out.shape, seed=2)))
    finite = np.isfinite(images.grad.numpy())
    assert (
        not finite[:, 2, :-2, :-2].any()
        and finite[:, 2, -2:].all()
        and finite[:, 2, :, -2:].all()
        and np.delete(finite, 2, 1).all()
    )


def test_a_large_convolution_over_a_batch_of_weights_is_that_of_a_loop() -> None:
    x, weights, bias = (
        numbers(2, 8, 32, 32, dtype=np.float64),
        numbers(3, 4, 8, 3, 3, dtype=np.float64, seed=1),
        numbers(3, 4, dtype=np.float64, seed=2),
    )

    def loss(w: Any, b: Any) -> Any:
        return functional.conv2d(dt.tensor(x), w, b, padding=1).sin().sum()

    found = dt.func.vmap(dt.func.grad(loss, (0, 1)))(dt.tensor(weights), dt.tensor(bias))
    each = [dt.func.grad(loss, (0, 1))(dt.tensor(w), dt.tensor(b)) for w, b in zip(weights, bias, strict=True)]
    for k in range(2):
        close(found[k].numpy(), np.stack([pair[k].numpy() for pair in each]))
