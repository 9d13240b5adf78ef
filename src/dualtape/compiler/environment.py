"""What a function depends on beside its arguments: what its closure, its globals and its objects lead to.

A program that was traced holds as long as all of it is as it was. So the function is followed, without running it: the
global names that its code uses, the cells of its closure, its defaults, the attributes of objects that go by a name
in the code, the functions that it calls and theirs. What is found is either an input (a tensor, an array), or
something that is to be the same at the next call, and becomes a line of the guard (:mod:`.guards`).
"""

from __future__ import annotations

import array
import builtins
import contextvars
import ctypes
import datetime
import decimal
import dis
import enum
import fractions
import functools
import importlib.util
import inspect
import io
import logging
import operator
import os
import pathlib
import random
import re
import secrets
import sys
import threading
import time
import types
import typing
import uuid
import weakref
from abc import ABC
from collections import defaultdict, deque, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import modes
from .._tensor import dtypes
from .._tensor.device import device, layout, memory_format
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from ..ops.table import Op
from ..pytree import TreeSpec, is_registered
from ..random import Generator

PLAIN = (
    int, float, complex, str, bytes, bool, type(None), type(Ellipsis), Size, dtypes.dtype, np.dtype, np.generic,
    device, layout, memory_format, range, slice,
)  # fmt: skip
# objects of libraries that nothing a program computes hangs on, or that do not change
FIXED: tuple[Any, ...] = (
    logging.Logger, logging.Handler, re.Pattern, io.IOBase, type(threading.Lock()), type(threading.RLock()), np.ufunc,
    np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random, np.finfo, np.iinfo,
    type, type(type[int]), types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType, types.UnionType, types.CodeType, property,
    staticmethod, classmethod,
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction,
    pathlib.PurePath, enum.Enum, enum.EnumMeta, frozenset, operator.attrgetter, operator.itemgetter,
    operator.methodcaller, type(np.sum), modes.ModeContext, Generator, Op, types.NotImplementedType,
    typing.TypeVar,
    type(vars(namedtuple("_Pair", "field"))["field"]),
)  # fmt: skip
# what gives something else at each call, or what lies outside of the process
CHANGING: frozenset[Any] = frozenset({
    time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns,
    time.process_time, time.process_time_ns, time.thread_time, time.localtime, time.gmtime, time.ctime,
    os.path.exists, os.path.isfile, os.path.isdir, os.path.getmtime, os.path.getsize,
    os.urandom, os.getpid, os.getcwd, os.listdir, os.scandir, os.stat, uuid.uuid1, uuid.uuid4, secrets.token_bytes,
    secrets.token_hex, secrets.randbelow, threading.current_thread, threading.get_ident, open, input, np.load,
    np.fromfile, np.loadtxt, np.genfromtxt, id, eval, exec, globals, __import__, sys._getframe, inspect.currentframe,
    inspect.stack, importlib.import_module, importlib.reload,
})  # fmt: skip
# what makes sources of random numbers, which begin anywhere unless they are told where
_SOURCES = (
    random.Random, random.SystemRandom, np.random.RandomState, np.random.SeedSequence, np.random.default_rng,
    np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64,
)  # fmt: skip
_CLOCKS = (datetime.datetime, datetime.date)
_NOW = frozenset({"now", "utcnow", "today"})
_READING = frozenset({"read_text", "read_bytes", "iterdir", "exists"})
COMPARED = (np.ndarray, set, bytearray)  # by guards, or inputs
IN_BYTES = (array.array, memoryview, ctypes._SimpleCData, ctypes.Array, ctypes.Structure)  # what their memory holds
# with which code reaches attributes that it does not name
_ALL_NAMES = frozenset({
    "getattr", "setattr", "hasattr", "vars", "__dict__", "__getattribute__", "dir", "attrgetter", "methodcaller",
    "format", "format_map", "astuple", "asdict", "deepcopy", "getmembers", "getattr_static", "__getstate__",
    "__reduce__", "__reduce_ex__", "dumps",
})  # fmt: skip
_OF_HOOKS = frozenset({"_backward_hooks", "_post_accumulate_grad_hooks"})
_OF_GRAPHS = frozenset({"grad_fn", "output_nr", "retains_grad"})
_LIBRARIES = frozenset(sys.stdlib_module_names) | {"numpy", "scipy", "dualtape", "torch", "jax", "llvmlite", "builtins"}
_SPELLED = frozenset({int, float, complex, bool, str, bytes, type(None)})
_OF_FUNCTIONS = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__annotations__"})
_WITHOUT_CODE = (object, ABC, typing.Generic, typing.Protocol)  # bases that read no attribute of an instance
_LIMIT = 20_000


class TooMuch(Exception):
    """More than can be looked at in every call."""


class Place:
    """Something that a function depends on.

    Attributes
    ----------
    path : str
        A Python expression for it; ``f`` is the function, ``leaves`` what its arguments hold.
    value : object
        What stood there when it was looked at.
    """

    __slots__ = ("path", "value")

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.value = value


def is_library(value: Any) -> bool:
    """Whether a module, class or function belongs to what does not change while a program runs."""
    if isinstance(value, types.FunctionType):  # __module__ may be that of another function, which it wraps
        name = value.__globals__.get("__name__")
    else:
        name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in _LIBRARIES


class Environment:
    """The places that ``function`` depends on, arguments included."""

    def __init__(self, function: Any, leaves: list, spec: TreeSpec | None = None) -> None:
        self.names: set[str] = set()
        self._attributes: set[str] = set()  # those among them that are attributes
        self._codes: set[types.CodeType] = set()
        self.keys: dict[str, Any] = {}  # what names in paths stand for
        self._key_names: dict[int, str] = {}
        self._bare_calls: set[str] = set()  # what is called without arguments
        self._stored: set[str] = set()  # attributes that are set
        self.every_name = False
        self._catches = False  # whether there is code that goes on where an attribute is missing
        self.compares = False  # whether there is code that asks whether two things are one
        while True:  # until no code is found that was not known: its names lead to more
            known = len(self._codes), self.every_name
            self.places: list[Place] = []
            self._seen: dict[int, Any] = {}
            self._missing: dict[int, tuple[str, set[str]]] = {}  # of globals: how they are reached, names not in them
            for k, leaf in enumerate(leaves):
                self._follow(f"leaves[{k}]", leaf)
            for thing in {id(thing): thing for thing in _beside_leaves(spec)}.values():
                self._follow(self._key(thing), thing)
            self._follow("f", function)
            if (len(self._codes), self.every_name) == known:
                break
        for path, names in self._missing.values():
            self.places.append(Place(f"{path}.keys().isdisjoint({self._key(frozenset(names))})", True))

    def _follow(self, path: str, value: Any) -> None:
        waiting = [(path, value)]
        while waiting:
            path, value = waiting.pop()
            if len(self.places) > _LIMIT:
                raise TooMuch(f"it depends on more than {_LIMIT} Python objects")
            if isinstance(value, PLAIN):
                self.places.append(Place(path, value))
                if type(value) is slice and not all(map(_is_end, (value.start, value.stop, value.step))):
                    raise TooMuch("it refers to a slice whose ends are no numbers")
                if not is_library(type(value)) and id(value) not in self._seen:
                    self._seen[id(value)] = value
                    waiting.extend(self._of_object(path, value))
                continue
            if id(value) in self._seen and not isinstance(value, (Tensor, np.ndarray)):
                self.places.append(Place(path, value))
                continue
            self._seen[id(value)] = value
            self.places.append(Place(path, value))
            waiting.extend(self._behind(path, value))
            if isinstance(value, _BUILTIN) and not is_library(type(value)):
                waiting.extend(self._of_object(path, value))

    def _behind(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        """What ``value`` leads to."""
        if hasattr(type(value), "__next__"):
            raise TooMuch(f"it refers to a {type(value).__name__}, which is another at each call")
        if _is_source(value) and (value.__name__ in self._bare_calls or value is random.SystemRandom):
            raise TooMuch(f"it makes a {value.__name__} of its own: draw from dualtape's generators")
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            raise TooMuch("it refers to an array of Python objects")
        if isinstance(value, np.ufunc) and all([set(kinds) <= set("O->") for kinds in value.types]):
            raise TooMuch("it refers to a ufunc that calls Python")
        if isinstance(value, Tensor):
            asked = self.names & (_OF_HOOKS if value._edge is None else _OF_HOOKS | _OF_GRAPHS)
            if asked:
                raise TooMuch(f"it asks tensors for their {min(asked)}")
            if value._grad is not None:
                yield f"{path}._grad", value._grad
            yield from self._of_dict(path, value.__dict__)
            if self.every_name or self._catches:
                yield from self._no_others(f"{path}.__dict__", value.__dict__)
        elif isinstance(value, (list, tuple, deque)):
            yield from ((f"{path}[{k}]", item) for k, item in enumerate(value))
            if isinstance(value, deque):
                yield f"{path}.maxlen", value.maxlen
        elif isinstance(value, (dict, types.MappingProxyType)):
            for key, item in value.items():
                yield from self._of_member(key)
                yield f"{path}[{self._key(key)}]", item
            if isinstance(value, defaultdict):
                yield f"{path}.default_factory", value.default_factory
        elif isinstance(value, (set, frozenset)):
            for member in value:
                yield from self._of_member(member)
        elif isinstance(value, types.MethodType):
            yield f"{path}.__self__", value.__self__
            yield f"{path}.__func__", value.__func__
        elif isinstance(value, types.FunctionType):
            if value in CHANGING:
                raise TooMuch(_changing(value))
            if not is_library(value):
                yield from self._of_function(path, value)
            elif value.__closure__:
                yield from self._of_cells(path, value)  # a transform of a user's function
        elif isinstance(value, types.ModuleType):
            yield from self._of_module(path, value)
        elif isinstance(value, type):
            if not is_library(value):
                yield from self._of_class(path, value)
            elif value in _CLOCKS and self._attributes & _NOW:
                raise TooMuch("it asks for the time, which is another at each call")
            elif issubclass(value, pathlib.PurePath) and self._attributes & _READING:
                raise TooMuch("it reads files, which may be others at the next call")
        elif not is_library(type(value)):
            yield from self._of_object(path, value)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            if _is_changing(value):
                raise TooMuch(_changing(value))
            if not isinstance(value.__self__, (types.ModuleType, type, type(None))):
                yield f"{path}.__self__", value.__self__  # a method of an object
        elif isinstance(value, pathlib.PurePath) and self._attributes & _READING:
            raise TooMuch("it reads files, which may be others at the next call")
        elif isinstance(value, (operator.attrgetter, operator.methodcaller)):
            self.every_name = True
        else:
            yield from _of_library(path, value)
            if _is_module(value):
                yield from self._hooks_of_all()

    def _hooks_of_all(self) -> Iterator[tuple[str, Any]]:
        """The hooks that are called with every module."""
        calls = sys.modules["dualtape.nn.modules._calls"]
        named = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")
        return ((self._key(hooks), hooks) for hooks in (getattr(calls, f"_global_{name}") for name in named))

    def _of_module(self, path: str, module: types.ModuleType) -> Iterator[tuple[str, Any]]:
        own = module.__name__.partition(".")[0] == "dualtape"
        users = not is_library(module)
        for name, value in list(vars(module).items()):
            if name not in self._attributes and not (users and (self.every_name or name == "__getattr__")):
                continue
            if users and not isinstance(value, types.FunctionType) and name in _OF_MODULES:
                continue
            if _is_changing(value):
                raise TooMuch(_changing(value))
            if users or not own and _is_looked_at(value):
                yield f"{path}.{name}", value
        if users and self.every_name:
            yield f"len({path}.__dict__)", len(vars(module))
        elif users:
            asked = self._attributes if self._catches else self._stored
            absent = self._key(frozenset(asked.difference(vars(module))))
            yield f"{path}.__dict__.keys().isdisjoint({absent})", True
        if module is os and "getenv" in self._attributes:
            yield f"{path}.environ", os.environ

    def _of_function(self, path: str, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
        self._read(function.__code__)
        used = _names_of(function.__code__, _GLOBALS)
        space = function.__globals__
        for name in used:
            if name not in space and _is_changing(getattr(builtins, name, None)):
                raise TooMuch(_changing(getattr(builtins, name)))
        yield from ((f"{path}.__globals__[{name!r}]", space[name]) for name in used if name in space)
        self._missing.setdefault(id(space), (f"{path}.__globals__", set()))[1].update(used.difference(space))
        for name in _imports_of(function.__code__, space):
            if name in sys.modules:
                yield f"{self._key(sys.modules)}[{name!r}]", sys.modules[name]
            else:  # what it holds is known when it is there
                yield f"({name!r} in {self._key(sys.modules)})", False
        yield from self._of_cells(path, function)
        if function.__defaults__:
            yield f"{path}.__defaults__", function.__defaults__
        if function.__kwdefaults__:
            yield f"{path}.__kwdefaults__", function.__kwdefaults__
        yield from ((f"{path}.{name}", getattr(function, name)) for name in _OF_FUNCTIONS & self.names)
        yield from self._of_dict(path, function.__dict__, ("__wrapped__",))

    def _of_cells(self, path: str, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
        for k, cell in enumerate(function.__closure__ or ()):
            if cell == _EMPTY:
                yield f"({path}.__closure__[{k}] == {self._key(_EMPTY)})", True
            else:
                yield f"{path}.__closure__[{k}].cell_contents", cell.cell_contents

    def _of_class(self, path: str, cls: type) -> Iterator[tuple[str, Any]]:
        named = {name: value for name, value in vars(cls).items() if not _is_special(name)}
        yield f"len(vars({path}))", len(vars(cls))  # what is not there may come, and hide what a base has
        every = self.every_name or _is_read_by_libraries(cls)
        yield from self._no_others(f"vars({path})", named, every, counted=False)
        for name, value in vars(cls).items():
            special = _is_special(name)
            if special and not (callable(value) or hasattr(value, "__get__") or name in self.names):
                continue
            if special and isinstance(value, type) and name not in self.names:
                continue  # __class__ and the like
            if special or name in self.names or every:
                for part, behind in _parts(value):
                    if not isinstance(behind, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                        yield f"vars({path})[{name!r}]{part}", behind
        if not is_library(type(cls)):
            yield f"type({path})", type(cls)
        for k, base in enumerate(cls.__bases__):
            if not is_library(base):
                yield f"{path}.__bases__[{k}]", base

    def _of_object(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        yield f"type({path})", type(value)
        module = _is_module(value)
        if module:
            yield from self._hooks_of_all()
        own = getattr(value, "__dict__", None)
        every = module or self.every_name or _is_read_by_libraries(type(value))
        if isinstance(own, dict):
            yield from self._no_others(f"{path}.__dict__", own, every)
            for name, item in own.items():
                if name in self.names or every:
                    yield f"{path}.__dict__[{name!r}]", item
        for cls in type(value).__mro__:
            for name in _slots(cls):
                if name in self.names or every:
                    if hasattr(value, name):
                        yield f"{path}.{name}", getattr(value, name)
                    else:
                        yield f"hasattr({path}, {name!r})", False

    def _of_member(self, member: Any) -> Iterator[tuple[str, Any]]:
        """What is found in a set, or as the key of a dictionary: that it is the same one is checked there."""
        if not is_spelled(member):
            yield self._key(member), member

    def _no_others(self, path: str, own: Any, every: bool = False, counted: bool = True) -> Iterator[tuple[str, Any]]:
        """That a dictionary of attributes has no others than before: code may ask for one that is not there.

        With their number, those that are looked at must be there; of the others, it is said here.
        """
        if counted:
            yield f"len({path})", len(own)
        others = frozenset() if every or self.every_name else frozenset(own).difference(self.names)
        if others:
            yield f"({path}.keys() >= {self._key(others)})", True

    def _of_dict(self, path: str, own: dict, also: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
        """Attributes that go by a name in the code."""
        for name, item in own.items():
            if name in self.names or self.every_name or name in also:
                yield f"{path}.__dict__[{name!r}]", item

    def _key(self, key: Any) -> str:
        """A key of a dictionary, as it stands in a path."""
        if type(key) in (str, int, bool, type(None)):
            return repr(key)
        name = self._key_names.setdefault(id(key), f"_key{len(self._key_names)}")
        self.keys[name] = key
        return name

    def _read(self, code: types.CodeType) -> None:
        """Take the names in ``code``, and in the functions inside it."""
        if code in self._codes:
            return
        self._codes.add(code)
        self.names.update(code.co_names)
        before, loaded = "", ""
        for i in dis.get_instructions(code):
            if i.opname == "CALL" and not i.arg:
                self._bare_calls.add(loaded)
            elif i.opname not in ("PRECALL", "PUSH_NULL"):
                loaded = i.argval if i.opname in _LOADS or i.opname in _GLOBALS else ""
            if i.opname in _LOADS:
                self._attributes.add(i.argval)
            elif i.opname in _STORES_NAMED:
                self._attributes.add(i.argval)
                self._stored.add(i.argval)
            elif i.opname == "IS_OP":
                self.compares |= before != "LOAD_CONST"  # is None, and the like
            before = i.opname
        self.every_name |= not _ALL_NAMES.isdisjoint(code.co_names)
        self._catches |= bool(code.co_exceptiontable)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._read(constant)


def _beside_leaves(spec: TreeSpec | None) -> list[Any]:
    """What containers of the arguments lead to beside what they hold: their classes, whose methods are code that may
    run, keys that are objects, what makes missing items.
    """
    found: list[Any] = []
    waiting = [] if spec is None else [spec]
    while waiting:
        spec = waiting.pop()
        cls = spec.context if isinstance(spec.context, type) else spec.kind
        if isinstance(cls, type) and not is_library(cls):
            found.append(cls)
        if type(spec.context) is list:
            keys = [key for part in spec.context for key in (part if type(part) is list else (part,))]
            found.extend([key for key in keys if not is_spelled(key)])
        waiting.extend(spec.children)
    return found


def only_computes(function: Any) -> bool:
    """Whether what a function reaches cannot be changed by it: numbers, tensors, functions like itself."""
    try:
        around = Environment(function, [])
    except Exception:  # whatever cannot be followed, for whatever reason, may change something
        return False
    stores = any([i.opname in _STORES for code in around._codes for i in dis.get_instructions(code)])
    return not stores and all([isinstance(place.value, _STILL) or place.value is function for place in around.places])


def _depends_on_nothing(function: Any) -> bool:
    """Whether a function's results are those of its arguments: what it reaches are functions like itself."""
    places = Environment(function, []).places
    return all([isinstance(p.value, _CODE) or p.value is None or "isdisjoint(" in p.path for p in places])


def _is_module(value: Any) -> bool:
    """Whether something is a module of ``nn``, without reading that."""
    home = sys.modules.get("dualtape.nn.modules.module")
    return home is not None and isinstance(value, home.Module)


_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"})
_STORES = frozenset({"STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE_GLOBAL", "DELETE_SUBSCR"})
_STILL = (*PLAIN, Tensor, tuple, type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.CellType)
_CODE = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc)
_STORES_NAMED = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_BUILTIN = (list, tuple, dict, deque, set, frozenset, bytearray)
_OF_MODULES = frozenset({"__builtins__", "__spec__", "__loader__", "__cached__", "__annotations__"})
_LOADS = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"})


def _is_changing(function: Any) -> bool:
    return isinstance(function, (types.FunctionType, types.BuiltinFunctionType)) and function in CHANGING


def _is_looked_at(value: Any) -> bool:
    """Whether something in a library's module is followed."""
    if isinstance(value, types.ModuleType) or _has_state(value) or _is_source(value):
        return True
    return isinstance(value, type) and value in _CLOCKS


def _is_source(value: Any) -> bool:
    return any([value is source for source in _SOURCES])


def _changing(function: Any) -> str:
    return f"it calls {function.__module__}.{function.__name__}, which may give something else at each call"


def _has_state(value: Any) -> bool:
    """Whether something in a library's module is more than a function, a class or a number."""
    return not (callable(value) or isinstance(value, (*PLAIN, types.ModuleType, *FIXED)))


def _of_library(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What an object of a library's class leads to: all that it holds, since the library's code is not read."""
    if isinstance(value, (*FIXED, *COMPARED)):
        return
    if type(value).__module__.startswith("dualtape.compiler") and not _is_module(value):
        if hasattr(value, "_function"):
            yield f"{path}._function", value._function
    elif isinstance(value, functools.partial):
        yield from ((f"{path}.{name}", getattr(value, name)) for name in ("func", "args", "keywords"))
    elif isinstance(value, weakref.ref):
        yield f"{path}()", value()
    elif isinstance(value, contextvars.ContextVar):
        yield f"{path}.get(...)", value.get(...)  # None is a value like any other
    elif isinstance(value, functools._lru_cache_wrapper):
        if not _depends_on_nothing(value.__wrapped__):
            raise TooMuch("it calls a function that keeps its results, which may be older than what they depend on")
        yield f"{path}.__wrapped__", value.__wrapped__
        yield f"{path}.cache_info().misses", value.cache_info().misses
    elif not isinstance(value, IN_BYTES):
        slots = [name for cls in type(value).__mro__ for name in _slots(cls) if hasattr(value, name)]
        own = getattr(value, "__dict__", None)
        if own is None and not slots and not all("__slots__" in vars(cls) for cls in type(value).__mro__[:-1]):
            raise TooMuch(f"it refers to a {type(value).__name__}, and what that holds cannot be followed")
        held = [(f"{path}.{name}", getattr(value, name)) for name in slots]
        held += [(f"{path}.__dict__[{name!r}]", item) for name, item in (own or {}).items()]
        # a clock that a library keeps is the library's concern
        yield from (each for each in held if not (callable(each[1]) and _is_changing(each[1])))
        if own is not None:
            yield f"len({path}.__dict__)", len(own)


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    hidden = [f"_{cls.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n for n in names]
    return tuple(name for name in hidden if name not in ("__dict__", "__weakref__"))


_EMPTY = types.CellType()


def _parts(attribute: Any) -> list[tuple[str, Any]]:
    """What an attribute of a class does: how it is reached from the attribute, and what it is."""
    if isinstance(attribute, property):
        parts = (attribute.fget, attribute.fset, attribute.fdel)
        return [(f".{name}", part) for name, part in zip(("fget", "fset", "fdel"), parts, strict=True)]
    if isinstance(attribute, (staticmethod, classmethod)):
        return [(".__func__", attribute.__func__)]
    return [("", attribute)]


def is_spelled(key: Any) -> bool:
    """Whether the representation of ``key`` tells it from everything else."""
    return all(map(is_spelled, key)) if type(key) is tuple else type(key) in _SPELLED


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_end(end: Any) -> bool:
    return end is None or isinstance(end, (int, np.integer))


def _is_read_by_libraries(cls: type) -> bool:
    """Whether code of a library's may look at attributes of an instance: a base's, or that takes trees apart."""
    if is_registered(cls):
        return True
    bases = [base for base in cls.__mro__ if base not in _WITHOUT_CODE and is_library(base)]
    return any([base.__module__ != "builtins" for base in bases])


def _imports_of(code: types.CodeType, space: dict) -> set[str]:
    """The modules that ``code`` imports, and the functions inside it, by their whole names."""
    names: set[str] = set()
    before: list[Any] = [0, 0]
    for i in dis.get_instructions(code):
        if i.opname == "IMPORT_NAME":
            level, name = before[0], i.argval
            if level:
                name = importlib.util.resolve_name("." * level + name, space.get("__package__") or space["__name__"])
            names |= {name, name.partition(".")[0]}
        before = [before[1], i.argval]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _imports_of(constant, space)
    return names


def _names_of(code: types.CodeType, kinds: frozenset[str]) -> set[str]:
    """The names in instructions of these kinds, of ``code`` and of the functions inside it."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in kinds}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant, kinds)
    return names
