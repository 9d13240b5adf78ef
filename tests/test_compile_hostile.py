"""Programs that are hard on a compiler: each is run as it is and compiled, and everything that can be seen is compared.

A program is a generator that is given what compiles a function (or leaves it alone), and yields what is to be the same.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
import pickle
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.nn import functional

PROGRAMS: list[Callable] = []


def program(function: Callable) -> Callable:
    PROGRAMS.append(function)
    return function


def seen(thing: Any) -> Any:
    """What can be seen of a result, in a form that is compared."""
    if isinstance(thing, dt.Tensor):
        about = (tuple(thing.shape), str(thing.dtype), thing.requires_grad, thing.is_leaf, thing._version)
        return (*about, thing.detach().double().tolist())
    if isinstance(thing, (list, tuple)):
        return [seen(part) for part in thing]
    return type(thing).__name__ if isinstance(thing, Exception) else thing


def tried(function: Callable, *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        return error


def run(function: Callable, compiled: Callable) -> list:
    dt.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [seen(thing) for thing in function(compiled)]


def changed(c: Callable, function: Callable, *changes: Callable) -> Iterator[Any]:
    """What ``function`` gives, before and after each change."""
    f = c(function)
    x = dt.ones(2)
    yield f(x), f(x)
    for change in changes:
        change()
        yield f(x), f(x)


# --- what a function depends on -------------------------------------------------------------------


@program
def tensors_that_are_only_asked_about(c: Callable) -> Iterator[Any]:
    f = c(lambda x, y: x.to(y.dtype) * y.shape[0] * (1 if y.is_contiguous() else 2) * (1 if y.grad is None else 3))
    x, y = dt.ones(3), dt.ones(2, requires_grad=True)
    for other in (dt.ones(2), dt.ones(4), dt.ones(2, dtype=dt.float64), dt.ones(2, 3), dt.ones(3, 2).t(), y):
        yield f(x, other)
    y.grad = dt.ones(2)
    yield f(x, y)


@program
def what_is_not_there_yet(c: Callable) -> Iterator[Any]:
    class Base:
        def scale(self) -> float:
            return 2.0

    class Thing(Base):
        __slots__ = ("slot",)

    def f(x: Any) -> Any:
        return x * thing.scale() * (5 if hasattr(thing, "slot") else 1) * (7 if hasattr(thing, "flag") else 1)

    def asks(x: Any) -> Any:
        try:
            return x * x.flag
        except AttributeError:
            return x

    thing = Thing()
    Derived: Any = Thing
    yield from changed(
        c, f, lambda: setattr(thing, "slot", 1), lambda: setattr(Derived, "flag", 1),
        lambda: setattr(Derived, "scale", lambda self: 11.0),
    )  # fmt: skip
    asked, x = c(asks), dt.ones(2)
    yield asked(x)
    x.flag = 3.0  # type: ignore[attr-defined]
    yield asked(x)


@program
def names_that_appear_later(c: Callable) -> Iterator[Any]:
    space: dict[str, Any] = {}
    exec("def f(x):\n    try: return x * LATER\n    except NameError: return x * abs(-2.0)", space)
    yield from changed(
        c, space["f"], lambda: space.update(abs=lambda x: 9.0), lambda: space.update(LATER=5.0)
    )  # fmt: skip

    def filled_later() -> tuple[Callable, Callable]:
        def f(x: Any) -> Any:
            try:
                return x * scale
            except NameError:
                return x

        def fill() -> None:
            nonlocal scale
            scale = 3.0

        if c is None:
            scale = 1.0
        return f, fill

    yield from changed(c, *filled_later())


@program
def modules_that_are_imported_inside(c: Callable) -> Iterator[Any]:
    home: Any = types.ModuleType("hostile_home")
    home.scale = 2.0
    sys.modules["hostile_home"] = home

    def f(x: Any) -> Any:
        from hostile_home import scale  # type: ignore[import-not-found]

        return x * scale

    yield from changed(c, f, lambda: setattr(home, "scale", 5.0))


@program
def objects_that_stand_in_two_places(c: Callable) -> Iterator[Any]:
    def times(k: float) -> Callable:
        return lambda x: x * k

    two, three = times(2.0), times(3.0)
    f = c(lambda x, a, b: a(x) + 10 * b(x))
    for pair in ((two, two), (two, three), (three, two), (three, three)):
        yield f(dt.ones(2), *pair)


@program
def the_order_of_a_dictionary(c: Callable) -> Iterator[Any]:
    numbers = {"a": 1.0, "b": 2.0}
    yield from changed(
        c, lambda x: functools.reduce(lambda r, k: r * 2 + k, numbers.values(), x),
        lambda: numbers.update(a=numbers.pop("a")),
    )  # fmt: skip


@program
def attributes_without_their_names(c: Callable) -> Iterator[Any]:
    @dataclasses.dataclass
    class Thing:
        scale: float = 2.0

    by_format = "{0.scale}".format
    for how in (operator.attrgetter("scale"), lambda t: float(by_format(t)), lambda t: sum(dataclasses.astuple(t))):
        thing = Thing()
        yield from changed(c, lambda x, t=thing, how=how: x * how(t), lambda t=thing: setattr(t, "scale", 4.0))


@program
def what_changes_in_place(c: Callable) -> Iterator[Any]:
    array, numbers, data = np.zeros(1), {1}, bytearray(b"\1")

    def count(x: Any) -> Any:
        array[0] += 1
        return x

    def swap(x: Any) -> Any:
        k = numbers.pop()
        numbers.add(k + 1)
        return x * k

    def write(x: Any) -> Any:
        data[0] += 1
        return x * data[0]

    for f in map(c, (count, swap, write)):
        for _ in range(5):
            yield f(dt.ones(2)), array.tolist(), sorted(numbers), bytes(data)


@program
def the_sign_of_zero(c: Callable) -> Iterator[Any]:
    f = c(lambda x, k: x / k)
    yield [f(dt.ones(1), k).item() for k in (0.0, -0.0, np.float64(0.0), np.float64(-0.0))]
    g = c(lambda x, k: (x * k).sqrt().imag)
    yield [g(dt.full((1,), -1.0, dtype=dt.complex64), k).item() for k in (complex(1, 0.0), complex(1, -0.0))]


@program
def what_lies_behind_a_tensor(c: Callable) -> Iterator[Any]:
    base, larger, w = dt.arange(4.0), dt.arange(6.0), dt.ones(2, requires_grad=True)
    views = (base[:2], base[2:], larger[:2], dt.ones(2))
    for about in (
        lambda x: x * x.storage_offset(),
        lambda x: x * (0 if x._base is None else x._base.shape[0]),
        lambda x: x * x.untyped_storage().nbytes(),
    ):
        f = c(about)
        yield [f(view) for view in views]
    f = c(lambda x: x * (2 if "Mul" in type(x.grad_fn).__name__ else 3))
    yield f(w * 2).detach(), f(w + 2).detach(), f(w).detach()
    kept: list = []
    f = c(lambda x: (kept.append((x * 2).numpy()), x * 2)[1])
    yield [f(dt.ones(2)) for _ in range(4)]
    yield [type(array) is np.ndarray for array in kept]


@program
def bfloat16(c: Callable) -> Iterator[Any]:
    weights = dt.full((2, 2), 1.2345678).bfloat16()
    for f in (lambda x: (x.bfloat16() @ weights).float(), lambda x: x * x.to(dt.bfloat16)):
        f = c(f)
        for _ in range(3):
            x = dt.ones(2, 2, requires_grad=True)
            y = f(x)
            y.sum().backward()
            yield y, x.grad


@program
def modules_whose_parts_change(c: Callable) -> Iterator[Any]:
    model: Any = dt.nn.Sequential(dt.nn.Linear(2, 2), dt.nn.BatchNorm1d(2), dt.nn.ReLU())
    f, x, handles = c(model), dt.rand(3, 2), []
    for change in (
        lambda: None,
        lambda: handles.append(model[0].register_forward_hook(lambda module, args, out: out * 2)),
        lambda: handles.append(model[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,))),
        lambda: handles.pop().remove(),
        lambda: setattr(model[1], "momentum", None),
        model.eval,
        lambda: setattr(model[0], "bias", None),
        lambda: model.append(dt.nn.Tanh()),
        lambda: setattr(model[2], "forward", lambda x: x * 3),
    ):
        change()
        yield f(x), f(x), model[1].running_mean, model[1].num_batches_tracked


# --- what calls leave behind ----------------------------------------------------------------------


@program
def random_numbers_that_lead_elsewhere(c: Callable) -> Iterator[Any]:
    def f(x: Any) -> Any:
        drawn = dt.rand(2)
        return x * drawn if drawn.sum() > 1 else x * drawn * 100

    f = c(f)
    yield [f(dt.ones(2)) for _ in range(12)]
    yield dt.rand(2)


@program
def an_error_in_the_middle(c: Callable) -> Iterator[Any]:
    def f(x: Any, total: Any) -> Any:
        total.add_(dt.rand(1) * 0 + 1)
        return dt.linalg.cholesky(x) * total

    f, total = c(f), dt.zeros(2, 2)
    for k in (1.0, -1.0, 2.0, -2.0, 1.0):
        yield tried(f, dt.eye(2) * k, total), total.clone(), dt.rand(1)


@program
def versions_of_views_and_results(c: Callable) -> Iterator[Any]:
    def f(x: Any, y: Any) -> Any:
        x.add_(1)
        return (x * y).mul_(2)

    f, m, w = c(f), dt.ones(4), dt.ones(2, requires_grad=True)
    for _ in range(3):
        yield f(m[:3], m[:3]), m, m._version

    def step(x: Any) -> Any:
        (w * x).sum().backward()
        w.grad.mul_(0.5)  # type: ignore[union-attr]
        return w.grad

    step = c(step)
    for k in range(5):
        yield step(dt.ones(2) * k), w.grad
        w.grad = None if k == 2 else w.grad


@program
def gradients_that_a_step_sets_and_drops(c: Callable) -> Iterator[Any]:
    w = dt.ones(2, requires_grad=True)

    def step(x: Any, last: bool) -> Any:
        loss = (w * x).pow(2).sum()
        loss.backward()
        if last:
            with dt.no_grad():
                w.sub_(w.grad * 0.1)
            w.grad = None
        return loss.detach()

    step = c(step)
    for k in range(9):
        yield step(dt.ones(2) * k, k % 3 == 2), w.detach().clone(), w.grad


# --- derivatives ----------------------------------------------------------------------------------


@program
def gradients_that_do_not_come(c: Callable) -> Iterator[Any]:
    f = c(lambda x, y: (x * 2, y * 3, (x * y).sqrt()))
    for used in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2), (0, 2), (0,)):
        x, y = dt.tensor([0.0, 1.0], requires_grad=True), dt.tensor([1.0, 4.0], requires_grad=True)
        sum(f(x, y)[k].sum() for k in used).backward()  # type: ignore[union-attr]
        yield x.grad, y.grad
        yield dt.autograd.grad(sum(f(x, y)[k].sum() for k in used), [x, y], create_graph=True, allow_unused=True)


@program
def second_derivatives_of_what_draws_and_writes(c: Callable) -> Iterator[Any]:
    norm, total = dt.nn.BatchNorm1d(3), dt.zeros(1)

    def f(x: Any) -> Any:
        total.add_(1)
        return (functional.dropout(norm(x), 0.5) ** 3 * x).sum()

    f = c(f)
    for _ in range(3):
        x = dt.rand(4, 3, dtype=dt.float64).float().requires_grad_()
        (g,) = dt.autograd.grad(f(x), x, create_graph=True)
        (h,) = dt.autograd.grad(g.sum(), x)
        yield [t.detach().mul(1e3).round() for t in (g, h, norm.running_mean)], total.clone(), dt.rand(1)


@program
def hooks_that_are_noticed(c: Callable) -> Iterator[Any]:
    layer, log = dt.nn.Linear(2, 2), []
    layer.register_full_backward_hook(lambda module, given, came: log.append(1))

    def f(x: Any) -> Any:
        y = layer(x).exp()
        y.register_hook(lambda g: log.append(2))
        z = y * y
        z.register_hook(lambda g: g * 3)
        return z.sum()

    f = c(f)
    for _ in range(3):
        x = dt.ones(2, 2, requires_grad=True)
        f(x).backward()
        yield x.grad, list(log)


@program
def copies(c: Callable) -> Iterator[Any]:
    layer = dt.nn.Linear(2, 2)
    f = c(layer)
    f(dt.ones(2))
    apart = copy.deepcopy(f)
    with dt.no_grad():
        layer.weight.zero_()
    yield f(dt.ones(2)), apart(dt.ones(2)), copy.copy(f)(dt.ones(2)), f.weight, f.training
    yield pickle.loads(pickle.dumps(c(operator.neg)))(dt.ones(2))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_what_can_be_seen_is_the_same(function: Callable, backend: str) -> None:
    def same(a: Any, b: Any) -> bool:
        if isinstance(a, list):
            return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, tuple):
            return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
        return a == b or isinstance(a, float) and bool(np.isclose(a, b, 1e-5, 1e-6, equal_nan=True))

    expected = run(function, lambda f: f)
    given = run(function, lambda f: dt.compile(f, backend=backend))
    assert len(given) == len(expected) > 0
    for k, (mine, plain) in enumerate(zip(given, expected, strict=True)):
        assert same(mine, plain), f"number {k}: {mine} instead of {plain}"


def test_a_function_whose_surroundings_have_changed_is_not_run_again() -> None:
    scale = [2.0]
    f = dt.compile(lambda x: (x**3 * scale[0]).sum())
    for k in (2.0, 3.0):
        scale[0] = k
        x = dt.ones(2, requires_grad=True)
        y = f(x)
        scale[0] = 100.0
        with pytest.raises(RuntimeError, match=r"has changed since the call.*is 100\.0"):
            dt.autograd.grad(y, x, create_graph=True)
        assert dt.autograd.grad(y, x)[0].tolist() == [3 * k, 3 * k]
