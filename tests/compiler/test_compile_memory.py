"""Memory of compiled programs: loops that work in place, and arenas that programs share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dualtape as dt

pytest.importorskip("llvmlite")

from dualtape.compiler.native import executable, memory  # noqa: E402


@pytest.fixture
def inherited(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict]]:
    """What was made in the place of something else, of each program; arrays of all sizes count."""
    found: list[dict] = []
    place = memory._place

    def seen(schedule: Any, spans: dict, inherited: dict) -> None:
        found.append(inherited)
        place(schedule, spans, inherited)

    monkeypatch.setattr(memory, "_place", seen)
    monkeypatch.setattr(memory, "_IN_PLACE", 1)
    yield found


def step(q: Any) -> Any:
    """Something that no loop may take twice, and that takes the place of a product."""
    return (q * 3 + 1).tanh()


def chain(x: Any, w: Any) -> Any:
    for _ in range(3):
        x = step(x @ w)
    return x


def made_before_it_reads(x: Any, w: Any) -> Any:
    q, r = x @ w, x.exp()
    return (r + q) @ w + r @ w


def turned(x: Any, w: Any) -> Any:
    q = x @ w
    return (q.T + x.exp()) @ w


def shifted(x: Any, w: Any) -> Any:
    q = (x @ w).flatten()
    return step(dt.cat([q[1:], q[:1]])).reshape(x.shape) @ w


def spread(x: Any, w: Any) -> Any:
    q = x @ w
    return (q[:1] * x.exp() + step(q)) @ w


def rows(x: Any, w: Any) -> Any:
    q = x @ w
    e = (q - q.max(-1, keepdim=True).values).exp()
    return (e / e.sum(-1, keepdim=True)) @ w


def read_again_later_in_a_row(x: Any, w: Any) -> Any:
    q = x @ w
    e = (q - q.max(-1, keepdim=True).values).exp()
    return (e / e.sum(-1, keepdim=True) * q) @ w + e @ w


def of_another_type(x: Any, w: Any) -> Any:
    q = x @ w
    return q.to(dt.int64).to(x.dtype) @ w + (q > 0).to(x.dtype) @ w


def written_to(x: Any, w: Any) -> Any:
    q = x @ w
    r = step(q)
    r[:2] = q[1:3] * 2
    return r @ w


def trained(x: Any, w: Any) -> Any:
    return dt.func.grad(lambda w: (chain(x, w) ** 2).sum())(w)


PROGRAMS = [
    chain,
    made_before_it_reads,
    turned,
    shifted,
    spread,
    rows,
    read_again_later_in_a_row,
    of_another_type,
    written_to,
    trained,
]


@pytest.mark.parametrize("size", [64, 96, 65, 256])
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_loops_in_place_compute_what_others_do(program: Callable, dtype: Any, size: int, inherited: list[dict]) -> None:
    rng = np.random.default_rng(0)
    compiled = dt.compile(program, fullgraph=True)
    for _ in range(3):
        x, w = (dt.tensor(rng.standard_normal((size, size)) / size**0.5, dtype=dtype) for _ in range(2))
        close = 1e-3 if dtype is dt.float32 else 1e-12
        np.testing.assert_allclose(compiled(x, w).numpy(), program(x, w).numpy(), close, close)
    if program in (chain, trained, rows) and size % 32 == 0:
        assert any(inherited)


LARGE = 512


def large(k: int) -> Callable:
    return dt.compile(lambda x: sum((step(x @ x + i) @ x).sum() for i in range(k)), fullgraph=True)


@pytest.fixture
def square() -> Iterator[dt.Tensor]:
    dt.compiler.reset()
    yield dt.tensor(np.random.default_rng(0).standard_normal((LARGE, LARGE)) / LARGE, dtype=dt.float64)
    dt.compiler.reset()


def idle() -> list[int]:
    return [len(block) for block in executable.blocks._free]


def test_programs_that_do_not_run_at_once_share_their_memory(square: dt.Tensor) -> None:
    first, second = large(2), large(3)
    wanted = [pytest.approx(f(square).item()) for f in (first, second)]
    for _ in range(3):
        assert [f(square).item() for f in (first, second)] == wanted
        assert len(idle()) == 1
    dt.compiler.reset()
    assert not idle()


def test_programs_that_run_at_once_have_memory_of_their_own(square: dt.Tensor) -> None:
    compiled = large(3)
    compiled(square)
    wanted = [compiled(square * k).item() for k in range(4)]
    wrong: list[int] = []

    def run(k: int) -> None:
        wrong.extend([k for _ in range(8) if compiled(square * k).item() != wanted[k]])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and 1 <= len(idle()) <= 4


def test_memory_comes_back_from_a_program_that_stops_in_the_middle(square: dt.Tensor) -> None:
    @dt.compile(fullgraph=True)
    def either(x: Any) -> Any:
        y = step(x @ x) @ x
        return step(y @ x).sum() if y.sum() > 0 else y.sum()

    for sign in (1, -1, 1, -1):
        x = square.abs() * sign
        y = step(x @ x) @ x
        assert either(x).item() == pytest.approx((step(y @ x).sum() if y.sum() > 0 else y.sum()).item())
    assert len(idle()) == 1


def test_calls_of_libraries_between_kernels_find_memory_that_has_moved(square: dt.Tensor) -> None:
    program = lambda x: (step(dt.linalg.inv(step(x @ x) + dt.eye(LARGE, dtype=x.dtype) * 9) @ x) @ x).sum()
    compiled, other = dt.compile(program, fullgraph=True), large(5)
    for k in range(1, 4):
        assert compiled(square * k).item() == pytest.approx(program(square * k).item())
        other(square)
