"""Loops of compiled programs: `scan`, `map` and `while_loop` are one instruction each, and give what Python's give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.compiler import explain
from dualtape.control_flow import cond, map, scan, while_loop

N = 20
pytestmark = pytest.mark.filterwarnings("error")


def normal(*shape: int, **how: Any) -> dt.Tensor:
    return dt.randn(*shape, dtype=how.pop("dtype", dt.float64), **how)


def rnn(w: Any, xs: Any, h: Any, **how: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = (h @ w + x).tanh()
        return h, (h * 2, h.sum())

    return scan(step, h, xs, **how)


def closed_over_what_has_a_history(w: Any, xs: Any, h: Any) -> Any:
    v = w * 2  # and w itself, and a state that comes of it
    return scan(lambda h, x: ((h @ v @ w + x).sin(), h * x), (w * w).sum(0) + h, xs)


def two_states_one_of_them_whole_numbers(w: Any, xs: Any, h: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, n = carry["h"], carry["n"]
        return {"h": (h @ w + x) / (n + 1), "n": n + 1}, (n * 2, h)

    return scan(step, {"h": h, "n": dt.tensor(0)}, xs)


def what_a_step_gives_is_what_it_gets(w: Any, xs: Any, h: Any) -> Any:
    return scan(lambda h, x: (h, (x, h, dt.ones(2, dtype=dt.float64), w[0])), h, xs)


def a_state_that_nothing_goes_back_through(w: Any, xs: Any, h: Any) -> Any:
    return scan(lambda h, x: (x.detach() * 1, h * x), h, xs)


def writes_to_what_a_step_makes(w: Any, xs: Any, h: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        new = dt.zeros(3, dtype=dt.float64)
        new[0] = (h * x).sum()
        new[1:] = (h @ w)[:2]
        new.mul_(0.5)
        return new, new[::2]

    return scan(step, h, xs)


def a_loop_in_a_loop(w: Any, xs: Any, h: Any) -> Any:
    def outer(h: Any, x: Any) -> Any:
        inner = scan(lambda g, z: ((g * z + w.sum(0)).tanh(), g), h, xs * x)
        return inner[0], inner[1].mean(0)

    return scan(outer, h, xs)


def a_derivative_in_a_loop(w: Any, xs: Any, h: Any) -> Any:
    slope = dt.func.grad(lambda h, x: ((h @ w * x) ** 3).sum())
    return scan(lambda h, x: (h - 0.01 * slope(h, x), x), h, xs)


def a_derivative_around_a_loop(w: Any, xs: Any, h: Any) -> Any:
    return dt.func.grad(lambda h: (rnn(w, xs, h)[1][0] ** 2).sum())(h)


def backward_inside(w: Any, xs: Any, h: Any) -> Any:
    g = h.detach().requires_grad_()
    with dt.enable_grad():
        rnn(w.detach(), xs.detach(), g)[0].sum().backward()
    return g.grad * h


def a_map(w: Any, xs: Any, h: Any) -> Any:
    return map(lambda x, k: (x.cumsum(0) * k, x @ w), xs, 3)


def along_another_dimension(w: Any, xs: Any, h: Any) -> Any:
    return scan(lambda h, x: ((h @ w + x).tanh(), h.outer(x)), h, xs.T, dim=1)


def columns(w: Any, xs: Any, h: Any) -> Any:
    return scan(lambda m, x: (m.T @ w + x, m.T), w, xs)


def until_small(w: Any, xs: Any, h: Any) -> Any:
    step = lambda n, h: (n + 1, (h @ w).sin() * 0.3 + h * 0.5)
    return while_loop(lambda n, h: (h * h).sum() > 1e-3, step, (dt.tensor(0), h + xs[0]))


def until_within_a_loop(w: Any, xs: Any, h: Any) -> Any:
    return scan(lambda h, x: (until_small(w, x[None], h)[1] + 1, x), h, xs)


SAME = [
    rnn,
    closed_over_what_has_a_history,
    two_states_one_of_them_whole_numbers,
    what_a_step_gives_is_what_it_gets,
    a_state_that_nothing_goes_back_through,
    writes_to_what_a_step_makes,
    a_loop_in_a_loop,
    a_derivative_in_a_loop,
    a_derivative_around_a_loop,
    backward_inside,
    a_map,
    along_another_dimension,
    columns,
    until_small,
    until_within_a_loop,
    *[
        lambda w, xs, h, how=how: rnn(w, xs, h, **how)  # type: ignore[misc]
        for how in ({"reverse": True}, {"checkpoint": 6}, {"checkpoint": True, "reverse": True}, {"checkpoint": 50})
    ],
]


def gradients(function: Callable, inputs: list, power: int = 2) -> tuple[list, list]:
    found = [y for y in dt.utils._pytree.tree_leaves(function(*inputs))]
    loss = sum((y**power).sum() for y in found if y.requires_grad)
    return found, list(dt.autograd.grad(loss, inputs, allow_unused=True)) if isinstance(loss, dt.Tensor) else []


def compare(mine: list, theirs: list, tolerance: float = 1e-9) -> None:
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        assert (a is None) == (b is None) or not dt.any(a if b is None else b)
        if a is not None and b is not None:
            assert a.dtype == b.dtype and a.requires_grad == b.requires_grad
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), tolerance, tolerance)


def drawn(records: bool = True) -> list:
    return [
        normal(3, 3).mul_(0.5).requires_grad_(records),
        normal(N, 3, requires_grad=records),
        normal(3, requires_grad=records),
    ]


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("function", SAME, ids=lambda f: f.__name__)
def test_a_compiled_loop_gives_what_the_loop_gives(function: Callable, backend: str) -> None:
    if backend == "native":
        pytest.importorskip("llvmlite")
    dt.manual_seed(0)
    compiled = dt.compile(function, backend=backend, fullgraph=True)
    for _ in range(3):
        inputs = drawn()
        for mine, theirs in zip(gradients(compiled, inputs), gradients(function, inputs), strict=True):
            compare(mine, theirs)
    with dt.no_grad():
        compare(*[dt.utils._pytree.tree_leaves(f(*inputs)) for f in (compiled, function)])
    assert len(compiled._specializations) == 2 and all(len(found) == 1 for found in compiled._specializations.values())


@pytest.mark.parametrize("function", SAME[:1] + SAME[-6:], ids=lambda f: f.__name__)
def test_a_loop_of_a_thousand_rounds_is_as_long_a_program_as_one_of_twenty(function: Callable) -> None:
    w, _, h = drawn()
    short, long = (explain(function)(w * 0.1, normal(n, 3), h).kept for n in (N, 50 * N))
    assert short == long < 40


@pytest.mark.parametrize("function", [rnn, closed_over_what_has_a_history, until_small])
def test_second_derivatives_of_compiled_loops(function: Callable) -> None:
    dt.manual_seed(1)
    first = lambda w, xs, h: sum((y**3).sum() for y in dt.utils._pytree.tree_leaves(function(w, xs, h)))
    inputs = drawn(False)
    for transform in (dt.func.hessian, lambda f: dt.func.grad(lambda *a: (dt.func.grad(f)(*a) ** 2).sum())):
        expected = transform(first)(*inputs)
        compare([dt.compile(transform(first))(*inputs)], [expected])
        compare([transform(dt.compile(first))(*inputs)], [expected])


def test_the_number_of_rounds_is_found_anew_at_each_call() -> None:
    newton = lambda a: while_loop(
        lambda n, x: (x * x - a).abs() > 1e-12, lambda n, x: (n + 1, (x + a / x) / 2), (dt.tensor(0), a * 0 + 1)
    )
    compiled = dt.compile(newton)
    counts = set()
    for value in (2.0, 1e-3, 1e6, 9.0, 1.0, 3.0):
        a = dt.tensor(value, dtype=dt.float64, requires_grad=True)
        n, root = compiled(a)
        assert n == newton(a)[0]
        counts.add(n.item())
        if n:
            slope = dt.autograd.grad(root, a)[0].item()
            assert abs(root.item() ** 2 / value - 1) < 1e-9 and abs(slope * 2 * root.item() - 1) < 1e-6
    assert len(counts) > 4
    assert [len(found) for found in compiled._specializations.values()] == [1]
    compiled = dt.compile(newton)
    for value in (1.0, 2.0, 3.0, 1.0):  # the body is unknown before the first iteration
        compiled(dt.tensor(value, dtype=dt.float64))
    assert [len(found) for found in compiled._specializations.values()] == [2]


def test_what_is_carried_on_as_it_is_is_what_went_in() -> None:
    compiled = dt.compile(lambda h, a, xs: scan(lambda c, x: ((c[0] * x + c[1], c[1]), c[1] * x), (h, a), xs))
    h, a = normal(3), normal(3, requires_grad=True)
    for _ in range(2):
        assert compiled(h, a, normal(N, 3))[0][1] is a


def test_hooks_outside_of_a_loop_run_once() -> None:
    w, xs, h = drawn()
    seen: list = []
    w.register_hook(lambda g: seen.append(g.clone()))
    for function in (rnn, dt.compile(rnn)):
        function(w, xs, h)[0].sum().backward()
    assert len(seen) == 2
    np.testing.assert_allclose(seen[0].numpy(), seen[1].numpy(), 1e-9)


def test_a_write_in_between_is_noticed() -> None:
    def written(w: Any, xs: Any, h: Any) -> Any:
        v = w * 1
        found = rnn(v, xs, h)[0].sum()
        v.add_(1)
        return dt.autograd.grad(found, h)[0]

    for function in (written, dt.compile(written)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            function(*drawn())


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("draws", [False, True])
def test_what_is_not_the_same_in_every_round_is_traced_round_by_round(draws: bool) -> None:
    scales = [1.0, 3.0] * N

    def counted(h: Any, xs: Any) -> Any:
        rounds = iter(scales)
        return scan(lambda h, x: (h * next(rounds) + x, h), h, xs)

    def branches(h: Any, xs: Any) -> Any:
        return scan(lambda h, x: (cond(x.sum() > 0, lambda h: h * 2, lambda h: h - x, (h,)), h), h, xs)

    def drops(h: Any, xs: Any) -> Any:
        return scan(lambda h, x: (dt.nn.functional.dropout(h) + x, h), h, xs)

    def in_place(h: Any, xs: Any) -> Any:
        return scan(lambda h, x: (h.mul_(0.5) + x, h * 1), h * 1, xs)

    for function in [drops] if draws else [counted, branches, in_place]:
        compiled = dt.compile(function)
        _, xs, h = drawn(False)
        for _ in range(3):
            dt.manual_seed(3)
            mine = compiled(h, xs)
            dt.manual_seed(3)
            compare(dt.utils._pytree.tree_leaves(mine), dt.utils._pytree.tree_leaves(function(h, xs)))


def test_other_lengths_and_dtypes_are_other_programs() -> None:
    compiled = dt.compile(rnn)
    for n, dtype in ((N, dt.float64), (N + 3, dt.float64), (N, dt.float32), (3, dt.float64), (N, dt.complex128)):
        inputs = [normal(*shape, dtype=dtype, requires_grad=True) for shape in ((3, 3), (n, 3), (3,))]
        inputs = [x.detach().mul_(0.3).requires_grad_() for x in inputs]
        mine, theirs = (dt.autograd.grad(f(*inputs)[0].abs().sum(), inputs) for f in (compiled, rnn))
        compare(list(mine), list(theirs), 1e-4 if dtype is dt.float32 else 1e-9)


def test_bad_bodies_are_told_as_without_a_program() -> None:
    for step, words in (
        (lambda h, x: (h[:1], x), "shapes and dtypes"),
        (lambda h, x: ((h, h), x), "like the one it gets"),
        (lambda h, x: (h.double().float(), x), "shapes and dtypes"),
    ):
        for wrap in (lambda f: f, dt.compile):
            with pytest.raises(RuntimeError, match=words):
                wrap(lambda h, xs, step=step: scan(step, h, xs))(normal(3), normal(N, 3))


def test_threads_may_run_one_loop_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    compiled = dt.compile(rnn)
    cases = [drawn() for _ in range(8)]
    compiled(*cases[0])
    expected = [gradients(rnn, case)[1] for case in cases]
    with ThreadPoolExecutor(4) as pool:
        for mine, theirs in zip(pool.map(lambda case: gradients(compiled, case)[1], cases), expected, strict=True):
            compare(mine, theirs)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_loop_of_loops_that_carry_numbers(backend: str) -> None:
    w = dt.tensor(0.5, requires_grad=True)

    def f(xs: Any) -> Any:
        return dt.control_flow.map(
            lambda x: dt.control_flow.scan(lambda h, z: (h + z * w, h * z), dt.zeros(()), x)[0], xs
        ).sum()

    g = dt.compile(f, backend=backend)
    for n in (3, 12, 12):
        xs = (dt.arange(n * 10.0).reshape(n, 10) / 50).requires_grad_()
        for mine, plain in zip(dt.autograd.grad(g(xs), [xs, w]), dt.autograd.grad(f(xs), [xs, w]), strict=True):
            assert np.allclose(mine.numpy(), plain.numpy())
