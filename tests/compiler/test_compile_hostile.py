"""Programs that are hard on a compiler: each is run as it is and compiled, and everything that can be seen is compared.

A program is a generator that is given what compiles a function (or leaves it alone), and yields what is to be the same.
"""

from __future__ import annotations

import collections
import contextvars
import copy
import dataclasses
import enum
import functools
import operator
import pickle
import random
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import dualtape as dt
from dualtape import pytree
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
        c,
        f,
        lambda: setattr(thing, "slot", 1),
        lambda: setattr(Derived, "flag", 1),
        lambda: setattr(Derived, "scale", lambda self: 11.0),
    )
    asked, x = c(asks), dt.ones(2)
    yield asked(x)
    x.flag = 3.0  # type: ignore[attr-defined]
    yield asked(x)


@program
def names_that_appear_later(c: Callable) -> Iterator[Any]:
    space: dict[str, Any] = {}
    exec("def f(x):\n    try: return x * LATER\n    except NameError: return x * abs(-2.0)", space)
    yield from changed(c, space["f"], lambda: space.update(abs=lambda x: 9.0), lambda: space.update(LATER=5.0))

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
        c,
        lambda x: functools.reduce(lambda r, k: r * 2 + k, numbers.values(), x),
        lambda: numbers.update(a=numbers.pop("a")),
    )


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


@program
def attributes_of_classes_with_two_underscores(c: Callable) -> Iterator[Any]:
    class Inner:
        factor = 2.0

        def __call__(self, x: Any) -> Any:
            return x * self.factor

    class Thing:
        __scale__ = 3.0
        __call__ = Inner()

    thing = Thing()
    yield from changed(
        c,
        lambda x: thing(x) * thing.__scale__,
        lambda: setattr(Thing, "__scale__", 5.0),
        lambda: setattr(Inner, "factor", 7.0),
    )


@program
def attributes_that_only_a_librarys_code_names(c: Callable) -> Iterator[Any]:
    class Settings(collections.UserDict):
        pass

    class Descent(dt.optim.SGD):
        pass

    settings = Settings(scale=2.0)
    yield from changed(c, lambda x: x * settings["scale"], lambda: settings.update(scale=3.0))
    w = dt.ones(2, requires_grad=True)
    optimizer = Descent([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
        return w.detach().clone()

    step = c(step)
    for k in range(8):
        optimizer.param_groups[0]["lr"] = 0.1 if k < 4 else 1.0
        yield step(dt.ones(2))


@program
def functions_that_differ_in_nothing_but_who_they_are(c: Callable) -> Iterator[Any]:
    def times(name: str) -> Callable:
        def act(x: Any) -> Any:
            return x * 1.0

        act.__name__ = name
        return act

    one, other = times("one"), times("other")
    table = {one: 2.0, other: 5.0}
    for how in (
        lambda x, g: x * (2 if g.__name__ == "one" else 3),
        lambda x, g: x * (2 if g is one else 3),
        lambda x, g: x * table[g],
    ):
        f = c(how)
        yield f(dt.ones(2), one), f(dt.ones(2), other), f(dt.ones(2), one)


@program
def numbers_and_words_with_more_to_them(c: Callable) -> Iterator[Any]:
    scales = [2.0]

    class Number(float):
        factor = 1.0

    class Word(enum.StrEnum):
        A = "a"

        def scale(self) -> float:
            return scales[0]

    number = Number(2.0)
    yield from changed(c, lambda x: x * number.factor, lambda: setattr(number, "factor", 5.0))
    f = c(lambda x, word: x * word.scale())
    yield f(dt.ones(2), Word.A)
    scales[0] = 4.0
    yield f(dt.ones(2), Word.A)
    f = c(lambda x, k: x * k.imag)
    yield [f(dt.ones(2), complex(float("nan"), k)) for k in (1.0, 2.0)]
    end = dt.tensor(1)
    f = c(lambda x, part: x[part] * 2)
    yield f(dt.ones(4), slice(0, end))
    end.fill_(3)
    yield f(dt.ones(4), slice(0, end))


@program
def keys_and_members(c: Callable) -> Iterator[Any]:
    class Thing:
        scale = 2.0

    thing = Thing()
    for things in ({thing}, frozenset([thing]), {thing: 1}):
        thing.scale = 2.0
        yield from changed(
            c,
            lambda x, all=things: functools.reduce(lambda r, t: r * t.scale, all, x),
            lambda: setattr(thing, "scale", 5.0),
        )
    by_pair = {(1,): 1.0, (2,): 2.0}
    yield from changed(
        c,
        lambda x: functools.reduce(lambda r, k: r * 2 + k, by_pair.values(), x),
        lambda: by_pair.update({(1,): by_pair.pop((1,))}),
    )
    whole = dt.ones(2, dtype=dt.int64)
    f = c(lambda x, d: functools.reduce(lambda r, k: r * k, d, x))
    yield [f(whole, d) for d in ({1: 2.0}, {1.0: 2.0}, {True: 2.0})]
    numbers: Any = {1}
    f = c(lambda x: functools.reduce(lambda r, k: r * k, numbers, x))
    for key in (1, 1.0):
        numbers.clear()
        numbers.add(key)
        yield f(whole)
    f = c(lambda x: functools.reduce(lambda r, k: r * 2 + k, numbers, x))
    for pair in ((0, 8), (8, 0)):
        numbers.clear()
        numbers.update(pair[:1])
        numbers.update(pair[1:])
        yield f(whole)


@program
def what_containers_are_beside_what_they_hold(c: Callable) -> Iterator[Any]:
    held: list[Any] = [collections.deque([1.0], maxlen=3), collections.defaultdict(lambda: 2.0)]
    yield from changed(
        c,
        lambda x: x * held[0].maxlen * held[1].default_factory(),
        lambda: held.__setitem__(0, collections.deque([1.0], maxlen=5)),
        lambda: setattr(held[1], "default_factory", lambda: 7.0),
    )


@program
def variables_of_a_context(c: Callable) -> Iterator[Any]:
    scale: contextvars.ContextVar = contextvars.ContextVar("scale")

    def f(x: Any) -> Any:
        try:
            return x * (7.0 if scale.get() is None else scale.get())
        except LookupError:
            return x

    yield from changed(c, f, lambda: scale.set(None), lambda: scale.set(5.0))


@program
def names_that_are_put_together(c: Callable) -> Iterator[Any]:
    space: dict[str, Any] = {"SCALE": 2.0}
    exec("def f(x): return eval('x * SCALE')\ndef g(x): return x * globals()['SCALE']", space)
    home: Any = types.ModuleType("hostile_names")
    exec("scale, state = 2.0, [2.0]\ndef __getattr__(name): return state[0]", home.__dict__)

    def asks(x: Any) -> Any:
        try:
            return x * home.__dict__["flag"]
        except KeyError:
            return x

    for name in "fg":
        space["SCALE"] = 2.0
        yield from changed(c, space[name], lambda: space.update(SCALE=5.0))
    yield from changed(c, lambda x: x * getattr(home, "sca" + "le"), lambda: setattr(home, "scale", 5.0))
    yield from changed(c, lambda x: x * home.anything, lambda: home.state.__setitem__(0, 5.0))
    yield from changed(c, asks, lambda: setattr(home, "flag", 7.0))

    def sets(x: Any) -> Any:
        home.count = 5
        return x

    f = c(sets)
    for _ in range(4):
        home.count = 0
        yield f(dt.ones(2)), home.count


@program
def modules_that_are_imported_by_where_they_stand(c: Callable) -> Iterator[Any]:
    package: Any = types.ModuleType("hostile_package")
    package.__path__ = []
    inside: Any = types.ModuleType("hostile_package.settings")
    inside.scale = 2.0
    package.settings = inside
    sys.modules.update({"hostile_package": package, "hostile_package.settings": inside})
    space: dict[str, Any] = {"__name__": "hostile_package.work", "__package__": "hostile_package"}
    exec("def f(x):\n    from .settings import scale\n    return x * scale", space)
    exec("def g(x):\n    from . import settings\n    return x * settings.scale", space)
    for name in "fg":
        inside.scale = 2.0
        yield from changed(c, space[name], lambda: setattr(inside, "scale", 5.0))


@program
def attributes_that_take_the_place_of_others(c: Callable) -> Iterator[Any]:
    class Thing:
        scale = 2.0

    first, second = Thing(), Thing()
    first.other = second.other = 1  # type: ignore[attr-defined]

    def asks(x: Any) -> Any:
        try:
            return x * first.flag  # type: ignore[attr-defined]
        except AttributeError:
            return x

    def exchange(thing: Any, name: str) -> None:
        del thing.other
        setattr(thing, name, 5.0)

    yield from changed(c, asks, lambda: exchange(first, "flag"))
    yield from changed(c, lambda x: x * second.scale, lambda: exchange(second, "scale"))


@program
def methods_of_objects_that_are_held_alone(c: Callable) -> Iterator[Any]:
    numbers, log = {"k": 2.0}, []
    get, note, draw = numbers.get, log.append, random.Random(0).random
    yield from changed(c, lambda x: x * get("k"), lambda: numbers.update(k=5.0))
    f = c(lambda x: (note(1), x * draw())[1])
    yield [f(dt.ones(2)) for _ in range(5)], list(log)


@program
def the_same_thing_in_two_places(c: Callable) -> Iterator[Any]:
    a, b = dt.ones(2), dt.ones(2)
    f = c(lambda x, y: x * (2 if x is y else 3))
    yield f(a, b), f(a, a), f(b, a), f(b, b)
    lists = [[1.0], [1.0]]
    yield from changed(c, lambda x: x * (2 if lists[0] is lists[1] else 3), lambda: lists.__setitem__(1, lists[0]))

    def back(x: Any, y: Any) -> Any:
        (x * 2 + y * 3 * x).sum().backward()
        return x.grad.clone(), y.grad.clone()

    f = c(back)
    for k in range(4):
        x, y = dt.ones(2, requires_grad=True), dt.ones(2, requires_grad=True)
        yield f(x, x if k % 2 else y)


@program
def what_kind_of_tensor_it_is(c: Callable) -> Iterator[Any]:
    f = c(lambda x: x.detach() * (2 if isinstance(x, dt.nn.Parameter) else 3))
    for x in (dt.ones(2, requires_grad=True), dt.nn.Parameter(dt.ones(2)), dt.ones(2, requires_grad=True)):
        yield f(x)
    f = c(lambda x: x.detach() * (2 if getattr(x, "gr" + "ad") is None else 3))
    w = dt.ones(2, requires_grad=True)
    yield f(w)
    w.grad = dt.ones(2)
    yield f(w)
    weights = [dt.ones(2, requires_grad=True) for _ in range(2)]
    clip = dt.nn.utils.clip_grad_norm_
    f = c(lambda: clip(weights, 1.0))
    for k in range(3):
        yield f(), [w.grad for w in weights]
        weights[k % 2].grad = dt.ones(2) * 3


class Scaled(NamedTuple):
    x: Any

    def scaled(self) -> Any:
        return self.x * _scales[0]


_scales = [2.0]


@program
def methods_of_containers(c: Callable) -> Iterator[Any]:
    f = c(lambda pair: pair.scaled())
    for scale in (2.0, 5.0):
        _scales[0] = scale
        yield f(Scaled(dt.ones(2)))


class Tagged:
    """A node of trees that holds more than its children."""

    def __init__(self, x: Any, tag: float = 1.0) -> None:
        self.x, self.tag = x, tag


pytree.register_pytree_node(Tagged, lambda t: ([t.x], None), lambda children, _: Tagged(*children))


@program
def what_containers_lead_to(c: Callable) -> Iterator[Any]:
    class Key:
        scale = 2.0

    key, f, g = Key(), c(lambda t: t.x * t.tag), c(lambda x: Tagged(x * 2, 7.0))
    for tag in (1.0, 2.0):
        yield f(Tagged(dt.ones(2), tag)), g(dt.ones(2)).tag
    f, g = c(lambda d: sum(x * k.scale for k, x in d.items())), c(lambda d: d["x"] * d.default_factory())
    made = collections.defaultdict(lambda: key.scale, x=dt.ones(2))
    for scale in (2.0, 5.0):
        key.scale = scale
        yield f({key: dt.ones(2)}), g(made)
    f = c(lambda d: sum(d.values()))
    yield [f({w: dt.ones(2)}) for w in (dt.ones(2), dt.zeros(2))]


@program
def strides_that_lead_nowhere(c: Callable) -> Iterator[Any]:
    f = c(lambda x: list(x.stride()))
    yield [f(x) for x in (dt.ones(1, 1), dt.ones(5, 1)[::5], dt.ones(1, 5)[:, ::5])]


@program
def arrays_of_python_objects(c: Callable) -> Iterator[Any]:
    inside, by = [2.0], [3.0]
    array = np.empty(1, object)
    array[0] = inside
    times = np.frompyfunc(lambda v: v * by[0], 1, 1)
    yield from changed(
        c,
        lambda x: x * array[0][0] * float(times(1.0)),
        lambda: inside.__setitem__(0, 7.0),
        lambda: by.__setitem__(0, 5.0),
    )


@program
def settings_of_the_process(c: Callable) -> Iterator[Any]:
    asks = [lambda x: x * (2 if dt.are_deterministic_algorithms_enabled() else 3), lambda x: x * dt.initial_seed()]
    f, g = map(c, asks)
    for k in range(2):
        dt.manual_seed(k + 3)
        dt.use_deterministic_algorithms(bool(k))
        yield f(dt.ones(2)), g(dt.ones(2))
    dt.use_deterministic_algorithms(False)
    f = c(lambda x: 1 / x)
    yield f(dt.ones(2)), f(dt.zeros(2))
    with np.errstate(all="raise"):
        yield tried(f, dt.zeros(2))


@program
def generators_that_begin_anywhere(c: Callable) -> Iterator[Any]:
    for draw in (
        lambda x: x * np.random.default_rng().normal(),
        lambda x: x * random.Random().random(),
        lambda x: x * random.SystemRandom().random(),
    ):
        f = c(draw)
        yield len({f(dt.ones(1)).item() for _ in range(4)})


@program
def code_that_only_a_library_calls(c: Callable) -> Iterator[Any]:
    scales = [2.0]

    class Square(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x**2 * scales[0]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * scales[0]

    class Layer(dt.nn.Module):
        def forward(self, x: Any) -> Any:
            return self.scaled(x)

        def scaled(self, x: Any) -> Any:
            return x * scales[0]

    layer = Layer()
    f, g, h = c(lambda x: Square.apply(x).sum()), c(layer), c(dt.nn.Sequential(layer))
    for scale in (2.0, 3.0, 2.0):
        scales[0] = scale
        x = dt.ones(2, requires_grad=True)
        f(x).backward()
        yield x.grad, f(x).detach(), g(dt.ones(2)), h(dt.ones(2))


@program
def results_that_a_function_keeps(c: Callable) -> Iterator[Any]:
    scales = [2.0]

    @functools.lru_cache
    def scaled(k: float) -> float:
        return k * scales[0]

    def change() -> None:
        scales[0] = 5.0

    yield from changed(c, lambda x: x * scaled(3.0), change, scaled.cache_clear)


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


@program
def containers_that_are_given_and_returned(c: Callable) -> Iterator[Any]:
    def appends(x: Any, all: list) -> Any:
        all.append(x * 2)
        return x

    def sets(x: Any, all: dict) -> Any:
        all["y"] = x * 3
        return x

    def array(all: list) -> Any:
        all[0] = all[0] * 2
        return all[0]

    f, g, h = map(c, (appends, sets, array))
    all: list = []
    for _ in range(5):
        named: dict = {"y": dt.ones(1)}
        arrays = [np.ones(2)]
        yield f(dt.ones(2), all), all, g(dt.ones(2), named), named["y"], h(arrays).tolist(), arrays[0].tolist()
    kept = [dt.ones(2)]
    f, g, h = map(c, (lambda x: kept, lambda all: all, lambda x: [[x * 2]] * 2))
    for _ in range(3):
        pair = h(dt.ones(2))
        yield f(dt.ones(2)) is kept, g(kept) is kept, pair[0] is pair[1]


@program
def what_hangs_on_tensors(c: Callable) -> Iterator[Any]:
    def tags(x: Any) -> Any:
        x.tag = 5
        y = x * 2
        y.tag = 7
        return y

    def retains(x: Any) -> Any:
        y = x * 2
        y.retain_grad()
        return y

    def leaf(x: Any) -> Any:
        w = dt.ones(2, requires_grad=True)
        (w * x).sum().backward()
        return w

    f, g, h = map(c, (tags, retains, leaf))
    for k in range(4):
        x = dt.ones(2, requires_grad=True)
        yield f(x).tag, x.tag  # type: ignore[attr-defined]
        y = g(x)
        (y * 3).sum().backward()
        yield y.grad, x.grad, h(dt.ones(2) * k).grad


@program
def results_that_are_the_same_in_every_call(c: Callable) -> Iterator[Any]:
    w = dt.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        made = dt.ones(2) * 3
        return made, made, made[1:], x * made, np.arange(2.0) * 2

    def back(x: Any) -> Any:
        (w * 3).sum().backward()
        return x

    f, g = c(f), c(back)
    for _ in range(3):
        made, same, part, other, array = f(dt.ones(2))
        yield made, same is made, part, other, array.tolist()
        made.add_(1)
        array[0] = 9
        g(dt.ones(2))
        yield w.grad, made, part
        w.grad.add_(5)  # type: ignore[union-attr]
        w.grad = None


@program
def errors_that_hang_on_values(c: Callable) -> Iterator[Any]:
    def caught(x: Any) -> Any:
        try:
            return dt.linalg.cholesky(x)
        except RuntimeError:
            return x * 100

    def unused(x: Any) -> Any:
        dt.linalg.cholesky(x)
        return x * 2

    def beyond(x: Any, k: Any) -> Any:
        try:
            return x[k]
        except IndexError:
            return x * 100

    for f in map(c, (caught, unused)):
        for order in ((-1.0, 1.0, -2.0), (1.0, -1.0, 2.0)):
            yield [tried(f, dt.eye(2) * k) for k in order]
    f = c(beyond)
    yield [f(dt.arange(3.0), dt.tensor([k, 0])) for k in (7, 1, 8)]
    f = c(lambda x, k: (x[k], x * 2)[1])
    yield [tried(f, dt.arange(3.0), dt.tensor([k, 0])) for k in (1, 7, 1)]


@program
def classes_that_are_not_there(c: Callable) -> Iterator[Any]:
    f = c(lambda x, y: functional.cross_entropy(x, y))
    yield [tried(f, dt.ones(2, 3), dt.tensor(y)) for y in ([0, 2], [5, 0], [1, 1], [7, 0])]


@program
def memory_that_may_not_be_written_or_is_anothers(c: Callable) -> Iterator[Any]:
    def f(x: Any, y: Any) -> Any:
        x.add_(1)
        return y * 2

    f, array = c(f), np.ones(3, np.float32)
    yield f(dt.ones(3), dt.ones(3))
    array.flags.writeable = False
    yield tried(f, dt.from_numpy(array), dt.ones(3)), array.tolist()
    for _ in range(3):
        data = bytearray(np.ones(3, np.float32).tobytes())
        x, y = (dt.from_numpy(np.frombuffer(data, np.float32)) for _ in range(2))
        yield f(x, y), x


@program
def streams_that_are_forked(c: Callable) -> Iterator[Any]:
    def f(x: Any) -> Any:
        with dt.random.fork_rng():
            inside = dt.rand(2)
        return x * inside + dt.rand(2)

    f = c(f)
    yield [f(dt.ones(2)) for _ in range(3)], dt.rand(1)


@program
def draws_whose_shapes_vary(c: Callable) -> Iterator[Any]:
    for make in (lambda a: dt.distributions.Gamma(a, a), dt.distributions.Dirichlet, dt.distributions.Poisson):

        def f(a: Any, make: Any = make) -> Any:
            made = make(a)
            return made.rsample() if made.has_rsample else made.sample()

        f = c(f)
        for _ in range(2):
            a = dt.tensor([0.7, 1.3], requires_grad=True)
            drawn = f(a)
            yield drawn.detach(), dt.autograd.grad(drawn[0], a) if drawn.requires_grad else None


@program
def how_results_lie_in_memory(c: Callable) -> Iterator[Any]:
    base = dt.arange(24.0).reshape(2, 3, 4)
    for function in (
        lambda x: x.clone(),
        lambda x: dt.zeros_like(x),
        lambda x: dt.empty_like(x).fill_(2.0),
        lambda x: x * 2,
        lambda x: x.contiguous(),
    ):
        f = c(function)
        for x in (base, base.permute(2, 0, 1), base[:1].expand(3, 3, 4), base[:, ::2], base.permute(2, 0, 1)):
            yield f(x), f(x).stride()


@program
def arrays_that_become_tensors(c: Callable) -> Iterator[Any]:
    def f(a: Any) -> Any:
        a[0] = 5
        return dt.from_numpy(a) * 2

    f = c(f)
    for _ in range(3):
        array = np.ones(3)
        yield f(array), array.tolist()


@program
def zeros_with_signs_and_infinities(c: Callable) -> Iterator[Any]:
    x = dt.tensor([-0.0, 0.0, float("-inf"), float("inf"), -1.0])
    for function in (lambda x: x.relu(), lambda x: x**0.5, lambda x: dt.maximum(x, x.flip(0)), functional.elu):
        f = c(function)
        yield [(f(x), f(x).signbit()) for _ in range(2)]


@program
def numbers_of_every_size(c: Callable) -> Iterator[Any]:
    for dtype in (dt.float16, dt.float32, dt.float64, dt.int16, dt.uint8, dt.bool):
        for function in (lambda x: x.expand(3, 4).clone(), lambda x: x[2:].clone(), lambda x: x.flip(0)):
            f = c(function)
            yield [f((dt.arange(4) + k).to(dtype)) for k in range(2)]
    for dtype in (dt.float16, dt.float32, dt.float64):
        for function in (lambda x: x.sum(), lambda x: x[2:].sum(), lambda x: x.reshape(2, 2).t()):
            f = c(function)
            for _ in range(2):
                x = dt.arange(4).to(dtype).requires_grad_()
                (f(x) * 2).sum().backward()
                yield x.grad


@program
def rounds_that_are_counted(c: Callable) -> Iterator[Any]:
    total = [0]

    def counts(h: Any, x: Any) -> Any:
        total[0] += 1
        return h + x, h

    def turns(xs: Any) -> Any:
        done = [0]

        def body(h: Any, x: Any) -> Any:
            done[0] += 1
            return h + x * (2 if done[0] > 5 else 1), h

        return dt.control_flow.scan(body, dt.zeros(2), xs)[0]

    f, g = c(lambda xs: dt.control_flow.scan(counts, dt.zeros(2), xs)[0]), c(turns)
    for _ in range(4):
        yield f(dt.ones(20, 2)), total[0], g(dt.ones(20, 2))


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
def functions_whose_backward_changes_something(c: Callable) -> Iterator[Any]:
    log: list[int] = []

    class Logs(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            log.append(1)
            return g * 2

    class Counts(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.count = [0]
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ctx.count[0] += 1
            return g * ctx.count[0]

    f, g = c(lambda x: Logs.apply(x).sum()), c(lambda x: Counts.apply(x).sum())
    for _ in range(3):
        x = dt.ones(2, requires_grad=True)
        for y in (f(x), g(x)):
            y.backward(retain_graph=True)
            y.backward(retain_graph=True)
        yield x.grad, len(log)


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


def test_a_derivative_is_not_taken_of_a_call_whose_inputs_were_written_since() -> None:
    f = dt.compile(lambda x, y: (x * (y * 2) * x).sum())
    for _ in range(2):
        x, y = dt.ones(2, requires_grad=True), dt.ones(2)
        result = f(x, y)
        y.add_(1)
        with pytest.raises(RuntimeError, match=r"has changed since the call: a tensor that it uses was written to"):
            dt.autograd.grad(result, x, create_graph=True)
        assert dt.autograd.grad(result, x)[0].tolist() == [4.0, 4.0]


def test_what_the_backward_of_a_function_depends_on_has_not_changed_since_the_call() -> None:
    scales = [2.0]

    class Twice(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * scales[0]

    f = dt.compile(lambda x: Twice.apply(x).sum())
    for _ in range(2):
        scales[0] = 2.0
        x = dt.ones(2, requires_grad=True)
        y = f(x)
        scales[0] = 5.0
        with pytest.raises(RuntimeError, match=r"has changed since the call.*is 5\.0"):
            y.backward()
        scales[0] = 2.0
        y.backward()
        assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_a_result_that_is_always_the_same_may_not_be_written_before_the_way_back_reads_it() -> None:
    def f(x: Any) -> Any:
        scale = dt.ones(2) * 3
        return (x * scale).sum(), scale

    f = dt.compile(f)
    for _ in range(3):
        x = dt.ones(2, requires_grad=True)
        y, scale = f(x)
        assert scale.tolist() == [3.0, 3.0]
        scale.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
