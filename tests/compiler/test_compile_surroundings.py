"""What a compiled function depends on beside its arguments: followed, compared by value, or a reason not to compile."""

from __future__ import annotations

import abc
import calendar
import codecs
import ctypes
import datetime
import decimal
import enum
import functools
import gc
import glob
import gzip
import inspect
import io
import itertools
import json
import logging
import math
import multiprocessing
import operator
import os
import pathlib
import random
import re
import reprlib
import secrets
import string
import subprocess
import sys
import tempfile
import threading
import time
import typing
import uuid
import warnings
import weakref
import zoneinfo
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import getenv as from_environment
from os.path import exists
from pathlib import Path
from time import perf_counter as clock
from typing import Any

import numpy as np
import pytest
import scipy.fft
from numpy.random import default_rng

import dualtape as dt
from dualtape.compiler import purity

X = dt.tensor([1.5], dtype=dt.float64)


def kept(function: Callable, *args: Any) -> tuple[Any, list[str]]:
    """A compiled function that was called twice, and the reasons why it runs as it is."""
    compiled = dt.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(2):
            compiled(*(args or (X,)))
    inside = compiled._compiled if isinstance(function, dt.nn.Module) else compiled
    return compiled, list(inside._eager.values())


# --- what may give something else at each call ----------------------------------------------------

draw = functools.partial(default_rng)
standard_input = io.StringIO("1\n2\n3\n")
lock = threading.Lock()
of_the_system = random.SystemRandom()
noted = np.dtype("f8", metadata={"number": 1})  # type: ignore[call-overload]


class Holder:
    tick = time.perf_counter


holder = Holder()


class Parent:
    pass


def locked(x: Any) -> Any:
    with lock:
        return x * 2


def imported(x: Any) -> Any:
    import time as t

    return x * t.time()


def imported_name(x: Any) -> Any:
    from os import getpid as number

    return x * number()


def aliased(x: Any) -> Any:
    m = os
    return x * len(m.listdir("."))


def put_together(x: Any) -> Any:
    return x * getattr(time, "ti" + "me")()


def seeded_by(x: Any, seed: int | None) -> Any:
    return x * np.random.default_rng(seed).normal()


IMPURE: dict[str, Callable] = {
    "numpy.random.normal": lambda x: x * np.random.normal(),
    "default_rng": lambda x: x * np.random.default_rng().normal(),
    "default_rng ": lambda x: x * np.random.default_rng(None).normal(),
    "default_rng  ": lambda x: x * default_rng(None).normal(),
    "default_rng   ": lambda x: x * draw().normal(),
    "without a seed": lambda x: seeded_by(x, None),
    "Random": lambda x: x * random.Random(None).random(),
    "Random ": lambda x: x * random.Random().random(),
    "random.SystemRandom": lambda x: x * random.SystemRandom().random(),
    "random.random": lambda x: x * random.random(),
    "random.getstate": lambda x: x * len(random.getstate()[1]),
    "secrets.randbits": lambda x: x * secrets.randbits(8),
    "uuid.uuid4": lambda x: x * (uuid.uuid4().int % 7),
    "os.urandom": lambda x: x * os.urandom(1)[0],
    "Path.stat": lambda x: x * Path(__file__).stat().st_size,
    "Path.open": lambda x: x * len(pathlib.Path(__file__).open().name),
    "Path.cwd": lambda x: x * len(str(Path.cwd())),
    "os.access": lambda x: x * os.access(".", os.R_OK),
    "os.path.exists": lambda x: x * exists("."),
    "os.listdir": aliased,
    "os.getpid": imported_name,
    "glob.glob": lambda x: x * len(glob.glob("*")),
    "gzip": lambda x: x * len(gzip.open(__file__).name),
    "memmap": lambda x: x * len(np.memmap(__file__, "u1")),
    "numpy.loadtxt": lambda x: x * len(np.loadtxt(["1"], ndmin=1)),
    "open": lambda x: x * len(open(__file__).name),
    "open ": functools.partial(lambda f, x: x * f.__name__.count("o"), open),
    "subprocess": lambda x: x * len(subprocess.check_output(["true"])),
    "file that can be read": lambda x: x * int(standard_input.readline() or 1),
    "time.strftime": lambda x: x * int(time.strftime("%S")),
    "time.clock_gettime": lambda x: x * time.clock_gettime(time.CLOCK_MONOTONIC),
    "time.perf_counter": lambda x: x * clock(),
    "time.perf_counter ": lambda x: x * holder.tick(),
    "time.time": imported,
    "any name in time": put_together,
    "datetime.now": lambda x: x * datetime.datetime.now().second,
    "date.today": lambda x: x * datetime.date.today().day,
    "sys.getrecursionlimit": lambda x: x * sys.getrecursionlimit(),
    "numpy.get_printoptions": lambda x: x * np.get_printoptions()["precision"],
    "numpy.geterr": lambda x: x * len(np.geterr()),
    "gc.isenabled": lambda x: x * gc.isenabled(),
    "threading.active_count": lambda x: x * threading.active_count(),
    "lock": locked,
    "lock ": lambda x: x * (2 if lock.locked() else 3),
    "subclasses": lambda x: x * len(Parent.__subclasses__()),
    "typing.get_type_hints": lambda x: x * len(typing.get_type_hints(Parent)),
    "SystemRandom": lambda x: x * of_the_system.random(),
    "logging.getLevelName": lambda x: x * len(logging.getLevelName(17)),
    "inspect.get_annotations": lambda x: x * len(inspect.get_annotations(Parent)),
    "weakref.getweakrefcount": lambda x: x * weakref.getweakrefcount(Parent),
    "multiprocessing.get_start_method": lambda x: x * len(multiprocessing.get_start_method(allow_none=True) or ""),
    "calendar.monthcalendar": lambda x: x * calendar.monthcalendar(2020, 1)[0][2],
    "reprlib.repr": lambda x: x * len(reprlib.repr("a" * 100)),
    "codecs.lookup": lambda x: x * len(codecs.lookup("utf-8").name),
    "zoneinfo.TZPATH": lambda x: x * len(zoneinfo.TZPATH),
    "scipy.fft.get_workers": lambda x: x * scipy.fft.get_workers(),
    "flags": lambda x: x * len(decimal.getcontext().flags),
    "metadata": lambda x: x * noted.metadata["number"],  # type: ignore[index]
    "id": lambda x: x * (id(x) % 7),
    "eval": lambda x: x * eval("2"),
    "__import__": lambda x: x * len(__import__("time").__name__),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", IMPURE)
def test_a_function_that_may_give_something_else_is_not_compiled_and_told_by_name(name: str) -> None:
    _, reasons = kept(IMPURE[name])
    assert reasons and name.split(".")[-1].strip().lower() in reasons[0].lower(), reasons


# --- pure callables -------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = 2.0


@dataclass
class Point:
    x: float


PURE: list[Callable] = [
    lambda x: x * math.sqrt(4.0) * math.pi,
    lambda x: np.tanh(x) * np.linalg.norm([3.0, 4.0]) * np.arange(2)[1],
    lambda x: x * operator.add(1, 2) * sum(itertools.accumulate([1, 2])),
    lambda x: x * functools.reduce(max, [1, 2, 3]),
    lambda x: seeded_by(x, 3),
    lambda x: x * default_rng(0).normal() * random.Random(3).random(),
    lambda x: x * len(os.path.join("a", "b")) * len(os.sep),
    lambda x: x * Path("a/b").name.count("b"),
    lambda x: x * len(json.dumps([1, 2])) * len(string.digits),
    lambda x: x * len(re.sub("a", "b", "aaa")) * float(decimal.Decimal("1.5")),
    lambda x: x * datetime.timedelta(seconds=2).total_seconds() * datetime.date(2020, 1, 2).day,
    lambda x: x * Colour.RED.value * Point(2.0).x,
    lambda x: x * len(sorted({2, 1})) * isinstance(x, Sequence | dt.Tensor) * next(iter([2])),
    lambda x: x * len(str(uuid.UUID(int=3))) * len(typing.cast(str, "ab")),
    lambda x: x * (3 if isinstance(x, (OSError, subprocess.SubprocessError)) else 2),
    lambda x: x * len(" ".join(map(str, range(3)))) * bool(all([True])),
    lambda x: x * np.float32(2) * np.array([2.0]) * dt.nn.functional.relu(x),
]


@pytest.mark.parametrize("number", range(len(PURE)))
def test_a_function_that_calls_pure_functions_is_compiled(number: int) -> None:
    compiled, reasons = kept(PURE[number])
    assert not reasons
    assert dt.allclose(compiled(X), PURE[number](X), 1e-12)


@pytest.mark.parametrize("module", [math, operator, itertools, np, np.linalg, np.fft, re, string])
def test_public_functions_of_reviewed_modules_are_pure_but_for_those_that_are_listed(module: Any) -> None:
    functions = [f for n, f in vars(module).items() if not n.startswith("_") and purity.is_callable_of_library(f)]
    impure = {f.__name__ for f in functions if not purity.is_pure(f)}
    assert functions
    assert impure <= purity._IMPURE_NUMPY, impure


@pytest.mark.parametrize("module", [time, os, sys, gc, secrets, subprocess, threading, glob, gzip])
def test_functions_of_other_modules_are_not(module: Any) -> None:
    functions = [
        f
        for n, f in vars(module).items()
        if not n.startswith("_") and callable(f) and getattr(f, "__module__", None) in (module.__name__, "posix", "nt")
        if not (isinstance(f, type) and issubclass(f, BaseException))
    ]
    allowed = set().union(*purity._PURE_OF.values())
    assert [f.__name__ for f in functions if purity.is_pure(f) and f.__name__ not in allowed] == []


# --- what is compared by value --------------------------------------------------------------------

TEXT = "%s"
stream = np.random.default_rng(0)
legacy = random.Random(0)
logger = logging.getLogger("dualtape.tests.surroundings")
handler = logging.NullHandler()
table = np.ones(2)
number = ctypes.c_int(1)


class Base(abc.ABC):  # noqa: B024
    pass


class Registered:
    pass


class Restored:
    """Put back what a test has changed."""

    def __init__(self, change: Callable[[], Any], back: Callable[[], Any] = lambda: None) -> None:
        self.change, self.back = change, back


COMPARED: dict[str, tuple[Callable, Restored]] = {
    "the position of a generator": (
        lambda x: x * (stream.bit_generator.state["state"]["state"] % 1000),
        Restored(lambda: stream.normal()),
    ),
    "the position of a generator of Python's": (
        lambda x: x * (hash(legacy.getstate()) % 1000),
        Restored(lambda: legacy.random()),
    ),
    "the level of a logger": (
        lambda x: x * (2 if logger.isEnabledFor(logging.DEBUG) else 3),
        Restored(lambda: logger.setLevel(logging.DEBUG), lambda: logger.setLevel(logging.NOTSET)),
    ),
    "the level of the root logger": (
        lambda x: x * logging.getLogger().level,
        Restored(lambda: logging.getLogger().setLevel(13), lambda: logging.getLogger().setLevel(logging.WARNING)),
    ),
    "the handlers of a logger": (
        lambda x: x * (1 + len(logger.handlers)),
        Restored(lambda: logger.addHandler(handler), lambda: logger.removeHandler(handler)),
    ),
    "whether a logger has a handler": (
        lambda x: x * (2 if logger.hasHandlers() else 3),
        Restored(lambda: setattr(logger, "propagate", False), lambda: setattr(logger, "propagate", True)),
    ),
    "a setting of a module": (
        lambda x: x * (2 if logging.raiseExceptions else 3),
        Restored(lambda: setattr(logging, "raiseExceptions", False), lambda: setattr(logging, "raiseExceptions", True)),
    ),
    "a text that a module holds": (
        lambda x: x * len(tempfile.tempdir or ""),
        Restored(lambda: setattr(tempfile, "tempdir", "/elsewhere"), lambda: setattr(tempfile, "tempdir", None)),
    ),
    "a function that a module holds": (
        lambda x: x * (2 if warnings.showwarning is kept else 3),
        Restored(
            lambda: setattr(warnings, "showwarning", kept),
            lambda shown=warnings.showwarning: setattr(warnings, "showwarning", shown),  # type: ignore[misc]
        ),
    ),
    "the environment, by a function": (
        lambda x: x * float(from_environment("DUALTAPE_TEST_VALUE", "1")),
        Restored(lambda: os.environ.update(DUALTAPE_TEST_VALUE="4"), lambda: os.environ.pop("DUALTAPE_TEST_VALUE")),
    ),
    "whether an array may be written": (
        lambda x: x * (2 if table.flags.writeable else 3),
        Restored(lambda: table.setflags(write=False), lambda: table.setflags(write=True)),
    ),
    "how NumPy prints arrays": (
        lambda x: x * len(str(np.arange(3) / 7)),
        Restored(lambda: np.set_printoptions(precision=3), lambda: np.set_printoptions(precision=8)),
    ),
    "how NumPy prints arrays, in an f-string": (
        lambda x: x * len(f"{np.arange(3) / 7}"),
        Restored(lambda: np.set_printoptions(precision=3), lambda: np.set_printoptions(precision=8)),
    ),
    "how NumPy prints arrays, by %": (
        lambda x: x * len(TEXT % (np.arange(3) / 7,)),
        Restored(lambda: np.set_printoptions(precision=3), lambda: np.set_printoptions(precision=8)),
    ),
    "the precision of decimal numbers": (
        lambda x: x * float(decimal.Decimal(1) / 3),
        Restored(lambda: setattr(decimal.getcontext(), "prec", 3), lambda: setattr(decimal.getcontext(), "prec", 28)),
    ),
    "classes that are registered": (
        lambda x: x * (2 if isinstance(Registered(), Base) else 3),
        Restored(lambda: Base.register(Registered)),
    ),
    "the environment": (
        lambda x: x * float(os.environ.get("DUALTAPE_TEST_VALUE", "1")),
        Restored(lambda: os.environ.update(DUALTAPE_TEST_VALUE="4"), lambda: os.environ.pop("DUALTAPE_TEST_VALUE")),
    ),
    "what ctypes holds": (
        lambda x: x * number.value,
        Restored(lambda: setattr(number, "value", 7), lambda: setattr(number, "value", 1)),
    ),
    "how tensors are printed": (
        lambda x: x * len(repr(x)),
        Restored(
            lambda: dt.set_printoptions(precision=9, sci_mode=True), lambda: dt.set_printoptions(profile="default")
        ),
    ),
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_state_that_is_cheap_to_read_is_compared_at_each_call(name: str) -> None:
    function, change = COMPARED[name]
    compiled, reasons = kept(function)
    assert not reasons
    before = compiled(X)
    try:
        change.change()
        after = compiled(X)
        assert dt.equal(after, function(X))
        assert not dt.equal(before, after)
    finally:
        change.back()


def test_a_builtin_that_is_replaced_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    function = lambda x: x * max(2, 3)
    compiled, reasons = kept(function)
    assert not reasons
    monkeypatch.setattr("builtins.max", min)
    assert compiled(X).item() == function(X).item() == 3.0


POINTERS: dict[str, Callable[[], Any]] = {
    "a pointer": lambda: ctypes.pointer(number),
    "a structure with a pointer": lambda: type(
        "Link", (ctypes.Structure,), {"_fields_": [("next", ctypes.POINTER(ctypes.c_int))]}
    )(ctypes.pointer(number)),
    "a weak dictionary": lambda: weakref.WeakValueDictionary(),
    "a weak set": lambda: weakref.WeakSet(),
    "a condition": threading.Condition,
    "a connection": lambda: __import__("sqlite3").connect(":memory:"),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", POINTERS)
def test_objects_whose_content_cannot_be_followed_are_refused(name: str) -> None:
    held = POINTERS[name]()
    _, reasons = kept(lambda x: x * (2 if held is not None else 3))
    assert reasons and "refers to" in reasons[0]


def test_an_object_that_no_code_names_is_no_reason() -> None:
    class Model(dt.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.guarded_by = threading.Lock()
            self.since = time.time

        def forward(self, x: Any) -> Any:
            return x * 2

    _, reasons = kept(Model())
    assert not reasons


# --- patterns ---------------------------------------------------------------------------------------


class Scale:
    __match_args__ = ("factor",)

    def __init__(self, factor: float, shift: float = 0.0) -> None:
        self.factor, self.shift = factor, shift


scale = Scale(2.0, 1.0)


def by_keyword(x: Any) -> Any:
    match scale:
        case Scale(shift=s):
            return x + s


def by_place(x: Any) -> Any:
    match scale:
        case Scale(f):
            return x * f


def by_value(x: Any) -> Any:
    match scale:
        case Scale(shift=1.0, factor=2.0):
            return x * 3
        case Scale():
            return x * 5


@pytest.mark.parametrize("function", [by_keyword, by_place, by_value])
def test_attributes_that_a_pattern_names_are_looked_at(function: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, reasons = kept(function)
    assert not reasons
    before = compiled(X)
    monkeypatch.setattr(scale, "factor", 7.0)
    monkeypatch.setattr(scale, "shift", 9.0)
    assert dt.equal(compiled(X), function(X))
    assert not dt.equal(compiled(X), before)


CAPTURED = np.arange(3.0)
OF_CAPTURED_ARRAYS: dict[str, Any] = {
    "from_numpy": lambda x: x * dt.from_numpy(CAPTURED),
    "as_tensor": lambda x: x * dt.as_tensor(CAPTURED, dtype=dt.float32),
    "asarray": lambda x: x * dt.asarray(CAPTURED),
    "asarray, copied": lambda x: dt.asarray(CAPTURED, copy=True).add_(x),
    "tensor": lambda x: x * dt.tensor(CAPTURED),
    "new_tensor": lambda x: x.new_tensor(CAPTURED) * x,
    "written to": lambda x: dt.from_numpy(CAPTURED).mul_(2) + x,
}


@pytest.mark.parametrize("name", OF_CAPTURED_ARRAYS)
def test_that_an_array_from_outside_is_an_input_as_a_tensor_too(name: str) -> None:
    function = OF_CAPTURED_ARRAYS[name]
    compiled = dt.compile(function, fullgraph=True)
    for k in range(4):
        outcomes = []
        for f in (function, compiled):
            CAPTURED[:] = np.arange(3) + k
            outcomes.append((f(dt.arange(3.0)), CAPTURED.copy()))
        (right, memory), (ours, own) = outcomes
        assert ours.dtype is right.dtype and ours.tolist() == right.tolist() and own.tolist() == memory.tolist()
    assert sum(map(len, compiled._specializations.values())) == 1


def test_a_generator_that_was_spawned_from_is_another() -> None:
    source = np.random.default_rng(3)
    function = lambda x: x * source.spawn(1)[0].normal()
    compiled = dt.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len({compiled(X).item() for _ in range(4)}) == 4


def test_the_order_of_positional_patterns_is_looked_at() -> None:
    class Pair:
        __match_args__ = ("first", "second")
        first, second = 2.0, 5.0

    pair = Pair()

    def function(x: Any) -> Any:
        match pair:
            case Pair(value):
                return x * value

    compiled, reasons = kept(function)
    assert not reasons and dt.equal(compiled(X), X * 2)
    Pair.__match_args__ = ("second", "first")
    assert dt.equal(compiled(X), X * 5)


def test_a_class_that_becomes_a_sequence_matches_as_one() -> None:
    class Row:
        def __len__(self) -> int:
            return 1

        def __getitem__(self, k: int) -> float:
            if k:
                raise IndexError(k)
            return 5.0

    row = Row()

    def function(x: Any) -> Any:
        match row:
            case [value]:
                return x * value
        return x

    compiled, reasons = kept(function)
    assert not reasons and dt.equal(compiled(X), X)
    Sequence.register(Row)
    assert dt.equal(compiled(X), X * 5)
