"""Loops through the same rows in one: the same results, and only where a row needs nothing of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt

pytest.importorskip("llvmlite")
from dualtape.arrays.traced.array import Traced  # noqa: E402
from dualtape.arrays.traced.tape import Memory, Tape, Value  # noqa: E402
from dualtape.compiler import replay  # noqa: E402
from dualtape.compiler.native.program import Program  # noqa: E402

ROWS, LONG = 150, 301


def softmax(x: Any, y: Any, w: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def centred(x: Any, y: Any, w: Any) -> Any:
    d = x - x.sum(axis=1, keepdims=True) / LONG
    return d / np.sqrt((d * d).sum(axis=1, keepdims=True) / LONG + 1e-5) * w + y


def with_columns(x: Any, y: Any, w: Any) -> Any:
    """Sums of rows, which are used again, and of columns, which are not."""
    level = (x * w).sum(axis=1, keepdims=True)
    return x * w - level, (x * y).sum(axis=0), y.sum(axis=0)


def total(x: Any, y: Any, w: Any) -> Any:
    top = x.max(axis=1)
    return (np.log(np.exp(x - top[:, None]).sum(axis=1)) + top).sum(), x - top[:, None]


def halves(x: Any, y: Any, w: Any) -> Any:
    """A row is read from its middle, too."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e[:, 150:300] / e.sum(axis=1, keepdims=True), e[:, :150] * e[:, 150:300]


def turned_within(x: Any, y: Any, w: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e[:, ::-1] / e.sum(axis=1, keepdims=True)


def blocks(x: Any, y: Any, w: Any) -> Any:
    """Sums of rows that are added up in blocks of rows."""
    x = x[:, :300]
    level = x.sum(axis=1, keepdims=True)
    d = x - level
    return d, d.reshape(15, 10, 300).sum(axis=1) * 2, d.reshape(15, 10, 300).sum(axis=(1, 2))


def neighbours(x: Any, y: Any, w: Any) -> Any:
    """A row reads of the row before it."""
    level = x.sum(axis=1, keepdims=True)
    return x[1:] - level[:-1]


def last_first(x: Any, y: Any, w: Any) -> Any:
    level = x.sum(axis=1, keepdims=True)
    return x - level[::-1]


def across(x: Any, y: Any, w: Any) -> Any:
    """Columns, whose sums are used again."""
    return x - x.sum(axis=0), (x - x.sum(axis=0)).sum(axis=1)


def in_between(x: Any, y: Any, w: Any) -> Any:
    """What needs all rows stands between two loops through them."""
    level = x.sum(axis=1, keepdims=True)
    d = x - level
    middle = (d * w).sum(axis=0)
    return d * y.max(axis=1, keepdims=True), middle * 2, (d + middle).sum(axis=1)


def written(x: Any, y: Any, w: Any) -> Any:
    level = x.sum(axis=1, keepdims=True)
    d = x - level
    e = d * y
    d[3:5] = 1.0
    return d * 2, e, (d * y).sum(axis=1)


def read_before_it_is_written(x: Any, y: Any, w: Any) -> Any:
    """What a loop reads again is not what it was any more."""
    level = x.sum(axis=1, keepdims=True)
    d = x - level
    below = d.sum(axis=0)
    level[:100] = 7.0
    return d * y + below, level


def cheap_again(x: Any, y: Any, w: Any) -> Any:
    d = (x - x.sum(axis=0)) * w
    e = d + y.sum(axis=0)
    return (d * y).sum(axis=0), e * (e * e).sum(axis=0)


NESTED = (softmax, centred, with_columns, total, halves, turned_within, blocks, in_between)
ALONE = (neighbours, last_first, across)
OTHERS = (written, read_before_it_is_written, cheap_again)


def program_of(function: Any, arrays: list[np.ndarray]) -> Program:
    tape = Tape(keep=False)
    inputs = [Value(a, Memory(a.__array_interface__["data"][0], external=True)) for a in arrays]
    result = function(*[Traced(a, v, tape) for a, v in zip(arrays, inputs, strict=True)])
    tape.close()
    outputs = [r.value for r in (result if isinstance(result, tuple) else (result,))]
    return Program(replay.live(tape.instructions, outputs), inputs, outputs)


def kinds(program: Program) -> list[str]:
    return [cluster.kind for cluster in program.schedule.clusters]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [*NESTED, *ALONE, *OTHERS], ids=lambda f: f.__name__)
def test_rows_one_after_the_other_give_what_numpy_gives(function: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s).astype(dtype) for s in ((ROWS, LONG), (ROWS, LONG), (LONG,))]
    program = program_of(function, arrays)
    if function not in OTHERS:
        assert ("nest" in kinds(program)) == (function in NESTED)
    expected = function(*[a.astype("f8") for a in arrays])
    expected = expected if isinstance(expected, tuple) else (expected,)
    for _ in range(2):
        for ours, theirs in zip(program(*arrays), expected, strict=True):
            scale = max(1.0, np.abs(theirs).max())
            np.testing.assert_allclose(
                ours, theirs, 1e-5 if dtype == "f4" else 1e-12, scale * (4e-6 if dtype == "f4" else 1e-13)
            )


@pytest.mark.parametrize("shape", [(300, 128), (33, 1000), (2, 20000), (40, 3, 400), (5000, 7), (150, 301)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "layer_norm"])
def test_rows_of_many_shapes_and_layouts(name: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    whole = rng.standard_normal((*shape[:-1], 2 * shape[-1])).astype("f4")
    rest = (-1,) if "softmax" in name else ((shape[-1],),)
    function = lambda x: getattr(dt.nn.functional, name)(x * 2, *rest) + 1
    compiled = dt.compile(function)
    layouts = [whole[..., ::2], whole[..., : shape[-1]], np.ascontiguousarray(whole[..., ::2])[::-1]]
    layouts.append(np.asfortranarray(whole[..., ::2]))
    for array in layouts:
        x = dt.from_numpy(np.ascontiguousarray(array)) if array.strides[0] < 0 else dt.from_numpy(array)
        for _ in range(2):
            found = compiled(x)
        np.testing.assert_allclose(found.numpy(), function(x).numpy(), 2e-5, 2e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_with_infinities_and_nothing_but_them(dtype: str) -> None:
    x = np.random.default_rng(2).standard_normal((200, 300)).astype(dtype)
    x[0], x[1, 5], x[2, 7], x[3, 0], x[4, -1] = -np.inf, -np.inf, np.inf, np.nan, np.nan
    for name in ("softmax", "log_softmax"):
        function = lambda t: getattr(dt.nn.functional, name)(t, -1) * 1  # noqa: B023 - used at once
        compiled = dt.compile(function)
        compiled(dt.tensor(x))
        found, expected = compiled(dt.tensor(x)).numpy(), function(dt.tensor(x)).numpy()
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_allclose(found, expected, 1e-5, 1e-6)


def test_what_only_a_nest_reads_takes_a_row_of_memory() -> None:
    x = np.random.default_rng(3).standard_normal((1000, 500)).astype("f4")
    program = program_of(lambda x: softmax(x, None, None), [x])
    assert kinds(program) == ["nest"] and program.schedule.bytes < 20_000
    long = np.random.default_rng(3).standard_normal((4, 30000)).astype("f4")
    program = program_of(lambda x: softmax(x, None, None), [long])
    np.testing.assert_allclose(program(long)[0], softmax(long, None, None), 1e-5)


def test_what_is_cheap_is_computed_where_it_is_read() -> None:
    x = np.random.default_rng(5).standard_normal((300, 200)).astype("f4")
    program = program_of(lambda x: (x - x.sum(axis=0)) * (x - x.sum(axis=0)).max(axis=0), [x])
    assert program.schedule.bytes < x.nbytes // 2  # there is no place for the difference


def test_threads_that_share_a_nest_change_no_result() -> None:
    from dualtape.compiler.native import threads

    x = np.random.default_rng(4).standard_normal((700, 500)).astype("f4")
    program = program_of(lambda x: softmax(x, None, None), [x])
    before = threads.wanted()
    try:
        threads.set_threads(1)
        alone = program(x)[0]
        threads.set_threads(3)
        assert np.array_equal(program(x)[0], alone)
    finally:
        threads.set_threads(before)


SHAPES = [(5, 40), (40, 5), (7, 33), (64, 64), (33, 129), (2, 7, 33), (3, 40, 11)]


def random_rows(seed: int, shape: tuple, x: dt.Tensor, y: dt.Tensor, w: dt.Tensor) -> list:
    """A program of row sums, what they are used for, and other things between."""
    rng = np.random.default_rng(seed)
    pool, sums = [x, y], [x.sum(-1, keepdim=True)]
    for _ in range(int(rng.integers(4, 14))):
        a, b = pool[int(rng.integers(len(pool)))], pool[int(rng.integers(len(pool)))]
        axis = -1 if rng.random() < 0.75 else int(rng.integers(len(shape)))
        kind = int(rng.integers(13))
        if kind < 3:
            sums.append([a.amax, a.sum, a.mean][kind](axis, keepdim=True))
            pool.append(b - sums[-1] * 0.1)
        elif kind == 3:  # a write into a part of each row
            z = a.clone()
            z[..., 1:3] = b[..., 0:2]
            pool.append(z)
        else:
            combine = [
                lambda a, b, s: (a * 0.1).exp(),
                lambda a, b, s: a.tanh() * b,
                lambda a, b, s: a * w + b,
                lambda a, b, s: a.softmax(-1),
                lambda a, b, s: a * s * 0.1,
                lambda a, b, s: dt.where(a > b, a, b * 0.5),
                lambda a, b, s: a.flip(-1) * 1.5,
                lambda a, b, s: a.flip(0) + b * s,
                lambda a, b, s: b - a[:1] * 0.1,  # of another row
            ][kind - 4]
            pool.append(combine(a, b, sums[-1]))
    return [*pool[-3:], pool[-1].sum(0), sums[-1]]


@pytest.mark.parametrize("seed", range(36))
def test_random_programs_of_rows_and_their_gradients(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SHORT", "_MANY"):
        monkeypatch.setattr(f"dualtape.compiler.native.row_fusion.{name}", 2)
    monkeypatch.setattr("dualtape.compiler.native.rematerialize._LARGE", [1, 1 << 30][seed % 2])
    shape, dtype = SHAPES[seed % len(SHAPES)], ["f4", "f8"][seed // 2 % 2]

    def step(*given: dt.Tensor) -> list:
        own = [x.detach().requires_grad_() for x in given]
        out = random_rows(seed, shape, *own)
        grads = dt.autograd.grad(sum([(o * o).mean() for o in out]), own, allow_unused=True)
        return [t.detach() * 0.75 for t in (*out, *grads) if t is not None]

    compiled = dt.compile(step, fullgraph=True)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        given = [dt.tensor(rng.standard_normal(s).astype(dtype)) for s in (shape, shape, shape[-1:])]
        for got, true in zip(compiled(*given), step(*given), strict=True):
            tolerance = 2e-3 if dtype == "f4" else 1e-9
            assert got.shape == true.shape
            assert np.allclose(got.numpy(), true.numpy(), tolerance, tolerance * max(1, float(true.abs().max())))
