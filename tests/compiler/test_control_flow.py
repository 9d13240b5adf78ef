"""Branches and loops as functions of functions: values, derivatives, errors; eager and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.control_flow import associative_scan, cond, map, scan, while_loop
from same_program import needs_torch, same


def test_a_branch_has_the_derivative_of_the_way_that_was_taken() -> None:
    for value, slope in ((2.0, 4.0), (-2.0, 3.0)):
        x = dt.tensor(value, dtype=dt.float64, requires_grad=True)
        y = cond(x > 0, lambda x: x * x, lambda x: 3 * x, (x,))
        assert dt.autograd.grad(y, x)[0].item() == slope


def newton(a: Any, x: Any) -> Any:
    return while_loop(lambda x, a: (x * x - a).abs() > 1e-12, lambda x, a: ((x + a / x) / 2, a), (x, a))[0]


def recurrence(w: Any, xs: Any, **how: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h = (carry["h"] @ w + x["in"]).tanh()
        return {"h": h, "n": carry["n"] + 1}, (h * x["scale"], h.sum())

    n = len(xs["in"])
    return scan(step, {"h": dt.zeros(3, dtype=dt.float64), "n": dt.tensor(0)}, xs, **how), n


def inputs(n: int = 7) -> tuple[Any, Any]:
    dt.manual_seed(0)
    w = dt.randn(3, 3, dtype=dt.float64, requires_grad=True)
    xs = {"in": dt.randn(n, 3, dtype=dt.float64, requires_grad=True), "scale": dt.arange(float(n), dtype=dt.float64)}
    return w, xs


def loss_of(result: Any) -> Any:
    (carry, (ys, sums)), _ = result
    return (ys * ys).sum() + sums.exp().sum() + carry["h"].sum()


@pytest.mark.parametrize("how", [{}, {"checkpoint": 2}, {"checkpoint": True}, {"reverse": True}])
def test_a_scan_is_the_loop_it_stands_for(how: dict) -> None:
    w, xs = inputs()
    found = recurrence(w, xs, **how)
    h, ys, sums = dt.zeros(3, dtype=dt.float64), [], []
    order = range(7)[:: -1 if how.get("reverse") else 1]
    for k in order:
        h = (h @ w + xs["in"][k]).tanh()
        ys.append(h * xs["scale"][k])
        sums.append(h.sum())
    if how.get("reverse"):
        ys.reverse()
        sums.reverse()
    assert found[0][0]["n"] == 7 and dt.equal(found[0][1][0], dt.stack(ys)) and dt.equal(found[0][1][1], dt.stack(sums))
    expected = (dt.stack(ys) ** 2).sum() + dt.stack(sums).exp().sum() + h.sum()
    for mine, theirs in zip(
        dt.autograd.grad(loss_of(found), (w, xs["in"])), dt.autograd.grad(expected, (w, xs["in"])), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 1e-12)


def test_checkpoints_keep_less() -> None:
    kept: list[int] = []

    def bytes_kept(**how: Any) -> int:
        kept.clear()
        w, xs = inputs(64)
        with dt.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.nbytes) or t, lambda t: t):
            recurrence(w, xs, **how)
        return len(kept)

    assert bytes_kept(checkpoint=8) < bytes_kept() / 4


def test_second_derivatives_forward_mode_and_batches_go_through() -> None:
    w, xs = inputs(4)
    f = lambda w: loss_of(recurrence(w, {k: v.detach() for k, v in xs.items()}))
    assert dt.autograd.gradcheck(f, w.detach().requires_grad_())
    assert dt.autograd.gradgradcheck(f, w.detach().requires_grad_())
    direction = dt.ones(3, 3, dtype=dt.float64)
    tangent = dt.func.jvp(f, (w.detach(),), (direction,))[1]
    np.testing.assert_allclose(tangent.item(), (dt.func.grad(f)(w.detach()) * direction).sum().item(), 1e-10)
    batch = dt.stack([w.detach(), w.detach() * 2])
    np.testing.assert_allclose(dt.vmap(f)(batch).numpy(), [f(batch[0]).item(), f(batch[1]).item()], 1e-12)


def test_a_loop_until_a_value_is_differentiated() -> None:
    a = dt.tensor(2.0, dtype=dt.float64, requires_grad=True)
    root = newton(a, dt.tensor(1.0, dtype=dt.float64))
    assert abs(root.item() - 2**0.5) < 1e-12
    assert abs(dt.autograd.grad(root, a)[0].item() - 0.5 / 2**0.5) < 1e-6


@pytest.mark.filterwarnings("error")
def test_compiled_they_give_the_same() -> None:
    compiled = dt.compile(lambda w, a, b: loss_of(recurrence(w, {"in": a, "scale": b})))
    w, xs = inputs()
    for k in range(1, 4):
        for mine, theirs in zip(
            dt.autograd.grad(compiled(w * k, xs["in"], xs["scale"]), w),
            dt.autograd.grad(loss_of(recurrence(w * k, xs)), w),
            strict=True,
        ):
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 1e-9)
    root = dt.compile(newton)
    for value in (2.0, 2.1, 9.0):
        a = dt.tensor(value, dtype=dt.float64)
        assert abs(root(a, dt.tensor(1.0, dtype=dt.float64)).item() - value**0.5) < 1e-10


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("mode", ["pointwise", "generic"])
@pytest.mark.parametrize("reverse", [False, True])
def test_an_associative_scan_is_all_running_results(n: int, mode: str, reverse: bool) -> None:
    dt.manual_seed(n)
    a, b = (dt.rand(2, n, dtype=dt.float64, requires_grad=True) for _ in range(2))
    linear = lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])  # x -> a x + b, one after the other
    found = associative_scan(linear, (a, b), dim=1, reverse=reverse, combine_mode=mode)
    order = range(n)[:: -1 if reverse else 1]
    running, expected = None, {}
    for k in order:
        running = (a[:, k], b[:, k]) if running is None else linear(running, (a[:, k], b[:, k]))
        expected[k] = running
    for part in range(2):
        stacked = dt.stack([expected[k][part] for k in range(n)], 1)
        np.testing.assert_allclose(found[part].detach().numpy(), stacked.detach().numpy(), 1e-12)
        for mine, theirs in zip(
            dt.autograd.grad(found[part].sum(), (a, b), retain_graph=True, allow_unused=True),
            dt.autograd.grad(stacked.sum(), (a, b), retain_graph=True, allow_unused=True),
            strict=True,
        ):
            assert (mine is None) == (theirs is None)
            if mine is not None:
                np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 1e-10)


def test_map_stacks_what_a_function_gives() -> None:
    xs = (dt.randn(3, 2), dt.arange(3.0))
    found = map(lambda x, k: {"y": x[0] * x[1] + k}, xs, 1.0)
    assert dt.equal(found["y"], xs[0] * xs[1][:, None] + 1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: cond(dt.ones(2) > 0, lambda: 1, lambda: 2), RuntimeError, "single-element tensor"),
        (lambda: cond(True, 1, lambda: 2), RuntimeError, "callable"),
        (lambda: while_loop(lambda x: x < 3, lambda x: x[None], (dt.tensor(0),)), RuntimeError, "shapes and dtypes"),
        (lambda: while_loop(lambda x: x < 3, lambda x: (x, x), (dt.tensor(0),)), RuntimeError, "a state like"),
        (lambda: scan(lambda c, x: (c, x), dt.zeros(1), 3.0), RuntimeError, "xs must be tensors"),
        (lambda: scan(lambda c, x: (c, x), dt.zeros(1), (dt.ones(2), dt.ones(3))), RuntimeError, "one length"),
        (lambda: scan(lambda c, x: (c, x), dt.zeros(1), dt.ones(0)), ValueError, "no elements"),
        (lambda: scan(lambda c, x: (c, x), dt.zeros(1), dt.ones(3), checkpoint=0), ValueError, "number of steps"),
        (lambda: associative_scan(lambda a, b: a, dt.ones(3), combine_mode="tree"), ValueError, "combine_mode"),
    ],
)
def test_what_is_wrong_is_said(call: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "program",
    [
        "torch.cond(torch.tensor(True), lambda x: x.sin(), lambda x: x.cos(), (torch.ones(2),))",
        "torch.cond(torch.tensor(False), lambda x: x.sin(), lambda x: x.cos(), (torch.ones(2),))",
    ],
)
def test_branches_as_pytorch_has_them(program: str) -> None:
    same(program)


def test_samples_of_a_batch_may_take_different_branches() -> None:
    def f(x: dt.Tensor) -> Any:
        return dt.cond(x.sum() > 0, lambda x: {"a": x * 2, "b": x.sum()}, lambda x: {"a": x**2, "b": x[0]}, (x,))

    batch = dt.tensor([[1.0, 2.0], [-1.0, -3.0]])
    found = dt.vmap(f)(batch)
    assert found["a"].tolist() == [[2.0, 4.0], [1.0, 9.0]] and found["b"].tolist() == [3.0, -1.0]
    slopes = dt.vmap(dt.func.grad(lambda x: f(x)["a"].sum()))(batch)
    assert slopes.tolist() == [[2.0, 2.0], [-2.0, -6.0]]
    with pytest.raises(RuntimeError, match="false_fn"):
        dt.vmap(lambda x: dt.cond(x > 0, lambda x: x, lambda x: x[None], (x,)))(dt.tensor([1.0, -1.0]))
