"""Batched arrays: NumPy's functions, indexing and writing on them, against the same on one sample after the other."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

from dualtape.arrays.batched import array as batched
from dualtape.arrays.batched.array import (
    Batched,
    BatchLevel,
    DynamicShape,
    NotBatchable,
    batch,
    holds,
    levels_of,
    lift,
    newest,
    per_sample,
    unbatch,
    unlift,
)
from dualtape.arrays.kernels.basics import all_samples, on_host
from dualtape.arrays.protocol import is_array, module_of, zeros

N = 3
RNG = np.random.default_rng(5)


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


FUNCTIONS: dict[str, tuple[Any, tuple[tuple, ...]]] = {
    "broadcasting": (lambda a, b: np.add(a, b) * 2 - a / 3 + (a < b), ((2, 4), (4,))),
    "ranks differ": (lambda a, b: np.hypot(a, b), ((4,), (2, 4))),
    "several results": (lambda a: np.modf(a), ((2, 4),)),
    "operators": (
        lambda a, b: (a + b, a - b, a * b, a / b, abs(a) ** 2, -a, 2 * a, a * 3, a * np.float64(3), a > b),
        ((2, 4), (2, 4)),
    ),
    "more dimensions outside": (lambda a, b: (a * b, b - a, np.add(a, 1), np.add(1.5, b)), ((4,), (3, 2, 4))),
    "matrix times vector": (lambda a, b: (a @ b, np.dot(a, b), np.dot(b, a.T)), ((2, 4), (4,))),
    "vector times matrix": (lambda a, b: (a @ b, np.dot(a, b)), ((4,), (4, 3))),
    "matrix times matrix": (lambda a, b: a @ b, ((2, 4), (4, 3))),
    "vector times matrices": (lambda a, b: a @ b, ((4,), (2, 4, 3))),
    "matrices times vector": (lambda a, b: a @ b, ((2, 3, 4), (4,))),
    "vector times vector": (lambda a, b: a @ b, ((4,), (4,))),
    "batches of matrices": (lambda a, b: np.matmul(a, b), ((2, 1, 3, 4), (5, 4, 2))),
    "dot": (lambda a, b: np.dot(a, b), ((2, 4), (3, 4, 2))),
    "inner": (lambda a, b: np.inner(a, b), ((2, 4), (3, 4))),
    "outer": (lambda a, b: np.outer(a, b), ((2,), (3,))),
    "ufunc outer": (lambda a, b: np.multiply.outer(a, b), ((2,), (3,))),
    "tensordot": (lambda a, b: np.tensordot(a, b, ((1, 0), (0, -1))), ((2, 4, 3), (4, 5, 2))),
    "tensordot by count": (lambda a, b: np.tensordot(a, b, 1), ((2, 4), (4, 3))),
    "einsum": (lambda a, b: np.einsum("ij,kj->ik", a, b), ((2, 4), (3, 4))),
    "einsum implicit": (lambda a, b: np.einsum("ij,jk", a, b), ((2, 4), (4, 3))),
    "einsum ellipsis": (lambda a, b: np.einsum("...i,i->...", a, b), ((2, 3, 4), (4,))),
    "reductions": (
        lambda a: (a.sum(), a.mean(0), a.max((0, 1)), np.min(a, -1, keepdims=True), np.prod(a, 1), a.var(), a.std(1)),
        ((2, 4),),
    ),
    "truth": (lambda a: (np.any(a > 0, 0), (a > 0).all(), np.count_nonzero(a > 0, axis=1)), ((2, 4),)),
    "reduce": (
        lambda a: (np.add.reduce(a, 1), np.maximum.reduce(a, axis=None), np.multiply.accumulate(a, 1)),
        ((2, 4),),
    ),
    "arg": (lambda a: (a.argmax(), np.argmin(a, 1), np.argmax(a, 0, keepdims=True)), ((2, 4),)),
    "running": (lambda a: (np.cumsum(a), a.cumprod(1)), ((2, 4),)),
    "order": (lambda a: (np.sort(a), a.argsort(0, kind="stable"), np.partition(a, 1, 1)[:, 1]), ((2, 4),)),
    "flip and roll": (lambda a: (np.flip(a), np.flip(a, 1), np.roll(a, 1), np.roll(a, (1, 2), (0, 1))), ((2, 4),)),
    "shapes": (
        lambda a: (
            a.reshape(4, 2),
            a.reshape((-1,)),
            a.T,
            a.ravel(),
            a.flatten(),
            np.swapaxes(a, 0, 1),
            np.expand_dims(a, (0, 2)),
        ),
        ((2, 4),),
    ),
    "axes": (
        lambda a: (
            np.moveaxis(a, 0, -1),
            np.transpose(a, (2, 0, 1)),
            np.squeeze(a[:1]),
            np.moveaxis(a, (0, 1), (1, 0)),
        ),
        ((2, 3, 4),),
    ),
    "repetition": (
        lambda a: (
            np.tile(a, (2, 1)),
            np.tile(a, 2),
            np.repeat(a, 2, 1),
            np.repeat(a, 2),
            np.broadcast_to(a, (3, 2, 4)),
        ),
        ((2, 4),),
    ),
    "diagonals": (
        lambda a: (np.diagonal(a), a.diagonal(1, 1, 2), np.trace(a), np.tril(a), np.triu(a, 1)),
        ((3, 3, 3),),
    ),
    "joins": (
        lambda a, b: (
            np.concatenate([a, b]),
            np.concatenate([a, b], axis=None),
            np.stack([a, b], -1),
            np.stack((a, b), 1),
        ),
        ((2, 4), (2, 4)),
    ),
    "choice": (
        lambda a, b: (np.where(a > 0, b, 0.0), np.clip(a, -0.5, b), np.isclose(a, b), np.round(a, 1)),
        ((2, 4), (4,)),
    ),
    "like": (
        lambda a: (
            np.zeros_like(a),
            np.ones_like(a, dtype=int),
            np.full_like(a, 3),
            np.full_like(a, a[0, 0]),
            np.zeros((2,), like=a),
        ),
        ((2, 4),),
    ),
    "made like": (
        lambda a: (np.full((2,), 7.0, like=a), np.eye(2, like=a) * a[0, 0], np.arange(4, like=a) + a),
        ((2, 4),),
    ),
    "solve": (
        lambda a, b: (np.linalg.solve(a + 3 * np.eye(3), b), np.linalg.solve(a + 3 * np.eye(3), b[:, 0])),
        ((3, 3), (3, 2)),
    ),
    "linalg": (
        lambda a: (np.linalg.inv(a), np.linalg.det(a), np.linalg.slogdet(a), np.linalg.svd(a)[1], np.linalg.qr(a)[1]),
        ((3, 3),),
    ),
    "symmetric": (lambda a: (np.linalg.cholesky(a @ a.T + np.eye(3)), np.linalg.eigh(a @ a.T).eigenvalues), ((3, 3),)),
    "places": (
        lambda a: (np.take(a, [1, 0]), np.take(a, np.array([[3, 0]]), axis=1), np.take_along_axis(a, a.argsort(1), 1)),
        ((2, 4),),
    ),
    "search": (lambda a, b: np.searchsorted(np.sort(a), b), ((5,), (2, 3))),
    "counts": (
        lambda a: (np.bincount((a > 0).astype(int), minlength=3), np.bincount((a > 0).astype(int), np.abs(a), 2)),
        ((5,),),
    ),
    "questions": (
        lambda a: np.asarray([np.ndim(a), np.size(a), *np.shape(a), len(a), a.nbytes, a.itemsize]),
        ((2, 4),),
    ),
    "dtypes": (
        lambda a: (
            a.astype("f4"),
            (a > 0).astype(int),
            a.view("i8"),
            np.conj(a + 2j),
            (a + 1j).imag,
            np.real(a),
            np.angle(a),
        ),
        ((2, 4),),
    ),
    "iteration": (lambda a: [row * 2 for row in a], ((2, 4),)),
    "without a rule": (lambda a: np.histogram(a, 3, (-2, 2))[0], ((5,),)),
}


def samples_of(array: Any) -> list:
    return list(array.samples()) if isinstance(array, Batched) else [array] * N


def flat(value: Any) -> list:
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, (tuple, list)) else [value]


def check(function: Any, arguments: list) -> None:
    """The function on batched arguments against the function on each sample."""
    result = flat(function(*arguments))
    columns = [samples_of(a) for a in arguments]
    expected = [flat(function(*(c[i] for c in columns))) for i in range(N)]
    assert len(result) == len(expected[0])
    for k, one in enumerate(result):
        for i, sample in enumerate(samples_of(one)):
            while isinstance(sample, Batched):
                pytest.fail("compare one level at a time")
            np.testing.assert_allclose(sample, expected[i][k], atol=1e-12)
            assert (
                np.shape(sample) == np.shape(expected[i][k])
                and np.asarray(sample).dtype == np.asarray(expected[i][k]).dtype
            )


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "vmap: there is a performance drop")
        yield


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_functions_do_for_all_samples_what_they_do_for_one(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    level = BatchLevel(N)
    for hidden in itertools.product((N, 1, None), repeat=len(shapes)):  # a batch, the same for all, not batched
        if hidden == (None,) * len(shapes):
            continue
        check(
            function,
            [numbers(*s) if n is None else Batched(numbers(n, *s), level) for s, n in zip(shapes, hidden, strict=True)],
        )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_levels_inside_levels(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    old, new = BatchLevel(2), BatchLevel(N)
    arguments = [Batched(Batched(numbers(2, N, *s), old), new) for s in shapes]
    result = flat(function(*arguments))
    for i, j in itertools.product(range(2), range(N)):
        expected = flat(function(*(a.values.values[i, j] for a in arguments)))
        for ours, one in zip(result, expected, strict=True):
            if isinstance(ours, Batched):
                assert ours.level is new
                ours = unbatch(unbatch(ours, old, 0), new, 0)[j, i]
            np.testing.assert_allclose(ours, one, atol=1e-12)


def test_old_and_new_levels_mix() -> None:
    old, new = BatchLevel(2), BatchLevel(N)
    a, b = numbers(2, 4), numbers(N, 4)
    result = Batched(a, old) * Batched(b, new)
    assert result.level is new and result.values.level is old and result.shape == (4,)
    np.testing.assert_allclose(unbatch(unbatch(result, new, 0), old, 0), a[:, None] * b)
    np.testing.assert_allclose(unbatch(unbatch(result, old, 0), new, 0), (a[:, None] * b).transpose(1, 0, 2))


KEYS: list[Any] = [
    0,
    -1,
    slice(1, None),
    (slice(None), 1),
    ...,
    (..., 0),
    None,
    (None, 0, ...),
    (slice(None), None, [1, 0]),
    np.array([1, 0, 1]),
    (np.array([[1], [0]]), np.array([2, 0])),
    (np.array([1, 0]), slice(None), np.array([3, 3])),
    (0, slice(None), np.array([1, 2])),
    (slice(None), np.array([0, 1, 2]), np.array([0, 1, 2])),
    (slice(None), slice(None), np.array([[0, 3]])),
    (np.array(1), np.array([0, 2])),
    (slice(None), np.array([2, 0]), None),
    (np.array([0, 1]), None, np.array([2, 2])),
]


def spread(key: Any, level: BatchLevel, hidden: int | None) -> Any:
    """A key with its index arrays batched, in each sample others: or (1) the same."""
    if isinstance(key, tuple):
        return tuple(spread(k, level, hidden) for k in key)
    if not isinstance(key, (np.ndarray, list)) or hidden is None:
        return key
    first = np.asarray(key)
    return Batched(np.stack([np.roll(first, i) for i in range(hidden)]), level)


def key_of(key: Any, i: int) -> Any:
    if isinstance(key, tuple):
        return tuple(key_of(k, i) for k in key)
    return key.sample(i) if isinstance(key, Batched) else key


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("hidden", [None, 1, N])
def test_reading_and_writing_by_index(key: Any, hidden: int | None) -> None:
    level = BatchLevel(N)
    key = spread(key, level, hidden)
    for length in (N, 1):
        x = Batched(numbers(length, 2, 3, 4), level)
        result = x[key]
        for i in range(N):
            np.testing.assert_array_equal(result.sample(i), x.sample(i)[key_of(key, i)])
    x = Batched(numbers(N, 2, 3, 4), level)
    part = x[key].shape
    for value in (
        5.0,
        numbers(*part),
        Batched(numbers(N, *part), level),
        Batched(numbers(1, *part), level),
        Batched(numbers(N), level),
    ):
        for write in (lambda a, k, v: a.__setitem__(k, v), lambda a, k, v: module_of(a).add.at(a, k, v)):
            ours, loop = x.copy(), x.copy()
            write(ours, key, value)
            for i in range(N):
                write(loop.values[i], key_of(key, i), value.sample(i) if isinstance(value, Batched) else value)
            np.testing.assert_allclose(ours.values, loop.values)


def test_masks() -> None:
    level = BatchLevel(N)
    x = Batched(numbers(N, 2, 4), level)
    fixed = np.array([[True, False, True, False], [False, True, True, False]])
    check(lambda a: a[fixed], [x])
    check(lambda a: a[fixed[0, :2]], [x])
    y = x.copy()
    y[y < 0] = 0
    np.testing.assert_array_equal(y.values, np.where(x.values < 0, 0, x.values))
    y[y[:, 0] >= 0] = y[0, 1]  # whole rows
    assert np.array_equal(y.values[:, 0], np.repeat(np.where(x.values < 0, 0, x.values)[:, 0, 1:2], 4, 1))
    for refused in (
        lambda: x[x > 0],
        lambda: np.nonzero(x),
        lambda: np.unique(x),
        lambda: np.where(x > 0),
        lambda: np.argwhere(x),
    ):
        with pytest.raises(DynamicShape, match="dynamic shape"):
            refused()


def test_a_mask_takes_as_many_values_as_it_has_places() -> None:
    level = BatchLevel(2)
    mask = Batched(np.array([[True, False, True], [False, True, True]]), level)
    x = Batched(np.zeros((2, 3)), level)
    x[mask] = Batched(np.array([[1.0, 2.0], [3.0, 4.0]]), level)
    assert x.values.tolist() == [[1, 0, 2], [0, 3, 4]]


def test_what_is_the_same_for_all_samples_cannot_hold_what_differs() -> None:
    level = BatchLevel(N)
    one, many, plain = Batched(numbers(1, 4), level), Batched(numbers(N, 4), level), numbers(4)
    before = one.values.copy(), plain.copy()
    for write in (
        lambda: one.__setitem__(0, many[0]),
        lambda: one.__setitem__(many.astype(int) % 4, 0.0),
        lambda: np.add(one, many, out=one),
        lambda: np.add(plain, many, out=plain),
        lambda: np.copyto(one, many),
        lambda: module_of(one).add.at(one, [0], many[:1]),
        lambda: plain.__setitem__(0, many[0]),
    ):
        with pytest.raises((NotBatchable, ValueError)):
            write()
    np.testing.assert_array_equal(one.values, before[0])
    np.testing.assert_array_equal(plain, before[1])
    assert holds(many, one) and not holds(one, many) and not holds(plain, many)
    copy = one.copy()
    copy[...] = many
    np.testing.assert_array_equal(copy.values, many.values)


def test_values_are_read_only_where_there_is_one() -> None:
    level = BatchLevel(N)
    one, many = Batched(np.ones((1,)), level), Batched(np.ones((N,)), level)
    assert bool(one) and float(one) == 1 and one.item() == 1 and one.tolist() == 1.0
    for read in (bool, float, int, complex, np.asarray, lambda a: a.item(), lambda a: a.tolist(), lambda a: a.get()):
        with pytest.raises(NotBatchable, match="vmap: It looks like"):
            read(many)
    with pytest.raises(RuntimeError, match="data pointer"):
        many.data


def test_into_a_level_and_out_of_it() -> None:
    level, newer = BatchLevel(N), BatchLevel(2)
    x = numbers(4, N)
    np.testing.assert_array_equal(unbatch(batch(x, level, 1), level, 1), x)
    np.testing.assert_array_equal(unbatch(x, level, 1), np.repeat(x[:, None], N, 1))
    np.testing.assert_array_equal(unbatch(lift(x, level), level, 0), np.repeat(x[None], N, 0))
    inside = batch(x, level, 1)
    assert lift(inside, level) is inside
    np.testing.assert_array_equal(unlift(batch(x, level, 1), level), x.sum(1))
    np.testing.assert_array_equal(unlift(lift(x, level), level), x * N)
    np.testing.assert_array_equal(unlift(x, level), x * N)
    deep = lift(Batched(numbers(2, 4), newer), level)
    assert levels_of(deep) == [level, newer] and deep.level is newer and lift(deep, level) is deep
    assert unlift(deep, level).values.shape == (2, 4)
    assert newest([1, {"a": (deep,)}]) is newer and newest(1) is None


def test_modules_make_room_for_every_sample() -> None:
    level = BatchLevel(N)
    x = Batched(numbers(N, 2), level)
    made_by = module_of(x)
    assert is_array(x) and made_by == module_of(x + 1) and made_by != module_of(Batched(x.values, BatchLevel(N)))
    for result in (
        made_by.zeros((2,)),
        made_by.ones(2),
        made_by.empty((2, 1)),
        made_by.full((2,), 3.0),
        made_by.full((2,), x[0]),
        zeros((2,), "f8", x),
    ):
        assert result.values.shape[0] == N
    for same in (made_by.asarray([1.0, 2.0]), made_by.arange(4), made_by.eye(2), made_by.asarray(np.ones(2), "f4")):
        assert same.values.shape[0] == 1
    assert made_by.asarray(x) is x and made_by.asarray(x, "f4").dtype == "f4"
    strided = made_by.lib.stride_tricks.as_strided(x, (2, 2), (0, 8))
    np.testing.assert_array_equal(strided.values, np.repeat(x.values[:, None], 2, 1))
    assert all_samples(Batched(lift(x.values, BatchLevel(1)), BatchLevel(2))).shape == (1, N, 2)
    np.testing.assert_allclose(on_host(lambda a: np.cumsum(a), x).values, np.cumsum(x.values, 1))


def test_flags_and_strides_are_a_samples() -> None:
    level = BatchLevel(N)
    x = Batched(np.moveaxis(numbers(2, 4, N), 2, 0), level)
    assert x.strides == (4 * N * 8, N * 8) and not x.flags.c_contiguous
    dense = module_of(x).ascontiguousarray(x)
    assert dense.flags.c_contiguous and not dense.T.flags.c_contiguous and dense.T.flags.f_contiguous
    assert dense.T.copy(order="K").strides == dense.T.strides and dense.T.copy().flags.c_contiguous
    np.testing.assert_array_equal(dense.T.copy(order="K").values, dense.T.values)
    assert np.may_share_memory(dense, dense[0]) and not np.may_share_memory(dense, dense.copy())


def test_a_function_without_a_rule_warns_once() -> None:
    level = BatchLevel(N)
    batched._warned.discard("numpy.interp")
    x = Batched(numbers(N, 4), level)
    with pytest.warns(UserWarning, match="performance drop because numpy.interp"):
        result = np.interp(x, [0.0, 1.0], [0.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = np.interp(x, [0.0, 1.0], [0.0, 2.0])
    np.testing.assert_array_equal(result.values, again.values)
    np.testing.assert_array_equal(result.values, np.interp(x.values, [0.0, 1.0], [0.0, 2.0]))
    with pytest.raises(DynamicShape):
        per_sample(
            lambda a: np.zeros(int(a[0] > 0) + 1),
            level,
            (Batched(np.array([[1.0], [-1.0], [1.0]]), level),),
            {},
            "numpy.interp",
        )


def test_no_samples() -> None:
    level = BatchLevel(0)
    x = Batched(np.zeros((0, 2)), level)
    assert (
        (x + 1).values.shape == (0, 2)
        and x.sum().values.shape == (0,)
        and np.interp(x, [0.0, 1.0], [0.0, 1.0]).values.shape == (0, 2)
    )


def test_a_batched_array_shows_and_copies() -> None:
    import copy

    x = Batched(np.ones((2, 1)), BatchLevel(2))
    assert repr(x).startswith("Batched(lvl=") and format(x) == repr(x)
    assert copy.deepcopy(x).values is not x.values
    assert pickle.loads(pickle.dumps(x.values)).shape == (2, 1)
