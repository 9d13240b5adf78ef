"""Compiled functions and what they were traced with are freed with the last reference: there is no cycle."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dualtape as dt


@pytest.fixture(autouse=True)
def without_the_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def with_gradient() -> list[Any]:
    x = dt.randn(30, requires_grad=True) * 1
    compiled = dt.compile(lambda x: (x.sin() * x).sum())
    result = compiled(x)
    result.backward()
    return [x, result, compiled]


def gradient_inside() -> list[Any]:
    x, compiled = dt.randn(30), dt.compile(dt.func.grad(lambda x: (x.sin() * x).sum()))
    return [x, compiled, compiled(x), compiled(x)]


def training_step() -> list[Any]:
    model = dt.nn.Linear(3, 3)
    optimizer = dt.optim.Adam(model.parameters())

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = dt.compile(step)
    return [model, model.weight, optimizer, compiled, *(compiled(dt.randn(3, 3)) for _ in range(4))]


def value_that_is_read() -> list[Any]:
    x, compiled = dt.randn(30), dt.compile(lambda x: x * float(x.sum()))
    return [x, compiled, compiled(x), compiled(x)]


def given_up() -> list[Any]:
    seen: list = []
    x, compiled = dt.randn(30), dt.compile(lambda x: seen.append(1) or x * 2)
    return [x, compiled, *(compiled(x) for _ in range(4))]


class Square(dt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


def custom_function() -> list[Any]:
    x, compiled = dt.randn(30, requires_grad=True), dt.compile(lambda x: Square.apply(x).sum())
    for _ in range(2):
        compiled(x).backward()
    return [x, compiled]


def loop() -> list[Any]:
    body = lambda h, a: (h + a, h * a)
    x, compiled = dt.randn(30), dt.compile(lambda x: dt.control_flow.scan(body, dt.zeros(()), x)[1].sum())
    return [x, compiled, compiled(x), compiled(x)]


@pytest.mark.parametrize(
    "make", [with_gradient, gradient_inside, training_step, value_that_is_read, given_up, custom_function, loop]
)
@pytest.mark.parametrize("backend", ["numpy", None])
def test_nothing_outlives_the_last_reference(
    make: Callable, backend: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend is not None:
        monkeypatch.setattr("dualtape.compiler.compiled.chosen_backend", lambda given: backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        held = [weakref.ref(thing) for thing in make()]
    assert [ref() for ref in held] == [None] * len(held)
