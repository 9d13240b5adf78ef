"""The dependencies of a function beside its arguments: objects reachable from its closure, globals and attributes.

A traced program is valid as long as these are unchanged. The function is therefore searched without running it: the
global names that its code uses, the cells of its closure, its defaults, the attributes of objects that a name in the
code may refer to, the functions that it calls and theirs. Each dependency is either an input (a tensor, an array), or
must be the same at the next call, and becomes a line of the guard (:mod:`.guards`).
"""

from __future__ import annotations

import array
import contextvars
import ctypes
import datetime
import decimal
import dis
import enum
import fractions
import functools
import io
import logging
import operator
import os
import pathlib
import random
import re
import sys
import threading
import types
import typing
import weakref
from abc import ABC, ABCMeta, get_cache_token
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
from .code import GLOBALS, LOADS, STORES, STORES_NAMED, VARIABLE, Chain, chains_of, imports_of, names_of, writes_text
from .purity import (
    described,
    entropy_can_be_watched,
    has_pointers,
    impure_methods,
    is_callable_of_library,
    is_compiled,
    is_followed,
    is_library,
    is_numpys_generator,
    is_pure,
    is_pure_module,
    is_source,
    may_be_set,
)
from .states import decimal_settings, level_of, numpys_printing, parts_of, stream_of

PLAIN = (
    int,
    float,
    complex,
    str,
    bytes,
    bool,
    type(None),
    type(Ellipsis),
    Size,
    dtypes.dtype,
    np.dtype,
    np.generic,
    device,
    layout,
    memory_format,
    range,
    slice,
)
# objects of libraries that nothing a program computes hangs on, or that do not change
FIXED: tuple[Any, ...] = (
    logging.Handler,
    re.Pattern,
    np.ufunc,
    np.finfo,
    np.iinfo,
    type,
    type(type[int]),
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.UnionType,
    types.CodeType,
    property,
    staticmethod,
    classmethod,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    decimal.Decimal,
    fractions.Fraction,
    pathlib.PurePath,
    enum.Enum,
    enum.EnumMeta,
    frozenset,
    operator.attrgetter,
    operator.itemgetter,
    operator.methodcaller,
    type(np.sum),
    modes.ModeContext,
    Generator,
    Op,
    types.NotImplementedType,
    typing.TypeVar,
    type(vars(namedtuple("_Pair", "field"))["field"]),
)
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Semaphore, threading.Event)
COMPARED = (np.ndarray, set, bytearray)  # by guards, or inputs
_OF_C = (ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union, ctypes._Pointer, ctypes._CFuncPtr)  # type: ignore[attr-defined]
IN_BYTES = (array.array, memoryview, *_OF_C)  # what their memory holds
# with which code reaches attributes that it does not name
_ALL_NAMES = frozenset(
    {
        "getattr",
        "setattr",
        "hasattr",
        "vars",
        "__dict__",
        "__getattribute__",
        "dir",
        "attrgetter",
        "methodcaller",
        "format",
        "format_map",
        "astuple",
        "asdict",
        "deepcopy",
        "getmembers",
        "getattr_static",
        "__getstate__",
        "__reduce__",
        "__reduce_ex__",
        "dumps",
    }
)
_OF_HOOKS = frozenset({"_backward_hooks", "_post_accumulate_grad_hooks"})
_OF_LOGGERS = frozenset({"level", "propagate", "handlers", "filters", "hasHandlers"})
_OF_GRAPHS = frozenset({"grad_fn", "output_nr", "retains_grad"})
_SPELLED = frozenset({int, float, complex, bool, str, bytes, type(None)})
_OF_FUNCTIONS = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__annotations__"})
_WITHOUT_CODE = (object, ABC, typing.Generic, typing.Protocol)  # bases that read no attribute of an instance
_LIMIT = 20_000
# An attribute of functions that mypy finds or not, depending on what its cache holds.
_builtins_of = operator.attrgetter("__builtins__")


class TooMuch(Exception):
    """Raised when there are too many dependencies to check in every call."""


class Dependency:
    """One object that a function depends on.

    Attributes
    ----------
    source : str
        A Python expression for it; ``f`` is the function, ``leaves`` what its arguments hold.
    value : object
        What stood there when it was looked at.
    """

    __slots__ = ("source", "value")

    def __init__(self, source: str, value: Any) -> None:
        self.source = source
        self.value = value


class Dependencies:
    """The dependencies of ``function``, arguments included."""

    def __init__(self, function: Any, leaves: list, spec: TreeSpec | None = None) -> None:
        self.names: set[str] = set()
        self._attributes: set[str] = set()  # those among them that are attributes
        self._codes: set[types.CodeType] = set()
        self.keys: dict[str, Any] = {}  # what names in paths stand for
        self._key_names: dict[int, str] = {}
        self._chains: dict[types.CodeType, list[Chain]] = {}
        # Libraries' modules that are more than the beginning of a name with dots: code may ask them for any name.
        self._escaped: set[str] = set()
        # Set by a generator whose seed is known only at run time.
        self.may_ask_for_entropy = False
        self._asks_classes = False  # whether a class is met that others can be registered with
        self._decimals = False
        # Objects of libraries that functions read without being given them.
        self._behind_functions: dict[int, Any] = {}
        self._writes_text = False  # whether there is code that may ask for the text of an array
        self._builtins: dict[int, tuple[dict, set[str]]] = {}  # by dictionary: those that are used
        self._stored: set[str] = set()  # attributes that are set
        self.every_name = False
        # Whether there is code that continues where an attribute is missing.
        self._catches = False
        self.compares = False  # whether there is code that asks whether two things are one
        # Repeated until no new code is found: the names in new code lead to more.
        while True:
            known = len(self._codes), self.every_name, len(self._escaped)
            self.found: list[Dependency] = []
            self._seen: dict[int, Any] = {}
            self._unmade: dict[int, type] = {}  # classes of which only instances were met
            self._missing: dict[int, tuple[str, set[str]]] = {}  # of globals: how they are reached, names not in them
            for k, leaf in enumerate(leaves):
                self._follow(f"leaves[{k}]", leaf)
            for thing in {id(thing): thing for thing in _beside_leaves(spec)}.values():
                self._follow(self._key(thing), thing)
            self._follow("f", function)
            for thing in list(self._behind_functions.values()):
                self._follow(self._key(thing), thing)
            if (len(self._codes), self.every_name, len(self._escaped)) == known:
                break
        self._add_states()
        for path, names in self._missing.values():
            self.found.append(Dependency(f"{path}.keys().isdisjoint({self._key(frozenset(names))})", True))

    def _add_states(self) -> None:
        """Add the states compared by value: builtins, the context of decimal numbers, class registrations."""
        for space, names in self._builtins.values():
            if not names:
                continue
            held = self._key(space)
            same = " and ".join(f"{held}[{name!r}] is {self._key(space[name])}" for name in sorted(names))
            self.found.append(Dependency(f"({same})", True))
        if self._decimals and "flags" in self._attributes:
            raise TooMuch("it may look at the flags of a decimal context, which every computation sets")
        if self._decimals:
            self.found.append(Dependency(f"{self._key(decimal_settings)}()", decimal_settings()))
        if self._writes_text:
            printing = self._key(numpys_printing)
            self.found.append(Dependency(f"({printing}() is {self._key(numpys_printing())})", True))
        if self._asks_classes:
            self.found.append(Dependency(f"{self._key(get_cache_token)}()", get_cache_token()))

    def _follow(self, path: str, value: Any) -> None:
        waiting = [(path, value)]
        while waiting:
            path, value = waiting.pop()
            if len(self.found) > _LIMIT:
                raise TooMuch(f"it depends on more than {_LIMIT} Python objects")
            if isinstance(value, PLAIN):
                self.found.append(Dependency(path, value))
                if isinstance(value, np.dtype) and value.metadata and "metadata" in self._attributes:
                    raise TooMuch("it may look at the metadata of a dtype, which equal ones do not share")
                if type(value) is slice and not all(map(_is_end, (value.start, value.stop, value.step))):
                    raise TooMuch("it refers to a slice whose ends are no numbers")
                if not is_library(type(value)) and id(value) not in self._seen:
                    self._seen[id(value)] = value
                    waiting.extend(self._of_object(path, value))
                continue
            if id(value) in self._seen and not isinstance(value, (Tensor, np.ndarray)):
                self.found.append(Dependency(path, value))
                if id(value) in self._unmade and not path.startswith("type("):
                    waiting.extend(self._makers_of(path, self._unmade.pop(id(value))))
                continue
            self._seen[id(value)] = value
            self.found.append(Dependency(path, value))
            waiting.extend(self._behind(path, value))
            if isinstance(value, _BUILTIN) and not is_library(type(value)):
                waiting.extend(self._of_object(path, value))

    def _behind(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield the dependencies that ``value`` leads to, with their sources."""
        if isinstance(value, io.IOBase):
            if value.closed or value.readable():
                raise TooMuch(f"it refers to a file that can be read ({type(value).__name__}): where it is changes")
            return
        if hasattr(type(value), "__next__"):
            raise TooMuch(f"it refers to a {type(value).__name__}, which is another at each call")
        if self._is_used(path) and _DIRECT.search(path) is None and is_callable_of_library(value):
            self._check_callable(value)
        if is_compiled(value):
            return
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            raise TooMuch("it refers to an array of Python objects")
        if isinstance(value, np.ndarray) and "flags" in self._attributes:
            yield f"{path}.flags.writeable", value.flags.writeable
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
            if not is_library(value):
                yield from self._of_function(path, value)
            elif value.__closure__:
                for cell in value.__closure__:  # a transform of a user's function
                    if cell != _EMPTY and is_callable_of_library(cell.cell_contents) and not _is_own(value):
                        self._check_callable(cell.cell_contents)
                yield from self._of_cells(path, value)
        elif isinstance(value, types.ModuleType):
            yield from self._of_module(path, value)
        elif isinstance(value, type):
            if not is_library(value):
                yield from self._of_class(path, value)
            self._asks_classes |= isinstance(value, ABCMeta)
        elif not is_library(type(value)):
            yield from self._of_object(path, value)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            if not isinstance(value.__self__, (types.ModuleType, type, type(None))):
                yield f"{path}.__self__", value.__self__  # a method of an object
        elif isinstance(value, logging.Logger):
            yield f"({path}.getEffectiveLevel(), {path}.disabled, {path}.manager.disable).__repr__()", level_of(value)
            if not self._attributes.isdisjoint(_OF_LOGGERS):
                yield f"{self._key(parts_of)}({path})", parts_of(value)
        elif isinstance(value, random.SystemRandom) and self._is_used(path):
            raise TooMuch("it refers to a SystemRandom, whose numbers are others at each call")
        elif isinstance(value, random.Random) or is_numpys_generator(value):
            yield f"{self._key(stream_of)}({path})", stream_of(value)
        elif isinstance(value, _LOCKS):
            if self._is_used(path):
                raise TooMuch(f"it refers to a {type(value).__name__}, which a program would not wait for")
        elif isinstance(value, (operator.attrgetter, operator.methodcaller)):
            self.every_name = True
        else:
            cls: Any = type(value)
            if self._is_used(path) and (called := self._attributes & impure_methods(cls)):
                raise TooMuch(_impure(f"{cls.__module__}.{cls.__name__}.{min(called)}"))
            self._decimals |= isinstance(value, decimal.Decimal)
            yield from self._of_library(path, value)
            if _is_module(value):
                yield from self._hooks_of_all()

    def _is_used(self, path: str) -> bool:
        """Return whether code may read the object at ``path``: an attribute that no code names is never read."""
        attribute = _LAST_ATTRIBUTE.search(path)
        return attribute is None or attribute[1] in self.names or self.every_name

    def _check_callable(self, value: Any, name: str | None = None, argument: Any = None) -> None:
        """Raise for a library's callable that is not known to be pure, called by ``name`` with the single
        ``argument``.
        """
        if is_source(value):
            if argument is VARIABLE and entropy_can_be_watched() and value is not random.Random:
                self.may_ask_for_entropy = True
            elif not isinstance(argument, int):
                raise TooMuch(f"it makes a {value.__name__} of its own: draw from dualtape's generators")
            return
        if not is_pure(value):
            raise TooMuch(_impure(name or described(value)))
        if value is os.getenv:
            self._behind_functions[id(os.environ)] = os.environ
        elif getattr(value, "__module__", None) == "logging" and isinstance(value, types.FunctionType):
            if value is logging.getLogger and not (argument is None or isinstance(argument, str)):
                raise TooMuch("it asks for a logger by a name that only a run knows")
            logger = logging.getLogger(argument if value is logging.getLogger else None)
            self._behind_functions[id(logger)] = logger
        if isinstance(value, type):
            called = self._attributes & impure_methods(value)
            if called:
                raise TooMuch(_impure(f"{described(value)}.{min(called)}"))

    def _check_chains(self, function: types.FunctionType) -> None:
        """Check every dotted name in a function's code that begins with a global or a closure's variable."""
        free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

        def root(chain: Chain) -> Any:
            name = chain.names[0]
            if chain.is_global:
                return function.__globals__.get(name, _builtins_of(function).get(name, _MISSING))
            return free[name].cell_contents if name in free and free[name] != _EMPTY else _MISSING

        for chain in self._chains_of(function.__code__):
            given = root(chain.argument) if isinstance(chain.argument, Chain) else chain.argument
            self._check_chain(root(chain), chain.names[0], list(chain.names[1:]), given)

    def _check_chain(self, value: Any, name: str, attributes: list[str], argument: Any) -> None:
        parent: Any = None
        for attribute in attributes:
            if not isinstance(value, (types.ModuleType, type)) or _is_own(value):
                return  # attributes of objects are looked at where the objects are
            if isinstance(value, type) and is_library(value) and attribute in impure_methods(value):
                raise TooMuch(_impure(f"{described(value)}.{attribute}"))
            parent, name = value, f"{name}.{attribute}"
            if isinstance(value, types.ModuleType) and not is_library(value):
                value = vars(value).get(attribute, _MISSING)
            else:
                value = getattr(value, attribute, _MISSING)
        if isinstance(value, types.ModuleType):
            if is_library(value) and not _is_own(value):
                self._escaped.add(value.__name__)
        elif isinstance(parent, types.ModuleType) and is_library(parent) and _is_method(value):
            if not is_numpys_generator(value.__self__) and not isinstance(value.__self__, random.Random):
                if not is_followed(value.__self__):
                    raise TooMuch(_impure(name))
                self._behind_functions[id(value.__self__)] = value.__self__
                return
            raise TooMuch(f"it calls {name}, which asks a generator of Python's or NumPy's: use dualtape's")
        elif is_callable_of_library(value):
            self._asks_classes |= isinstance(value, ABCMeta)
            self._decimals |= getattr(value, "__module__", None) in ("decimal", "_decimal")
            self._check_callable(value, None if parent is None else name, argument)

    def _chains_of(self, code: types.CodeType) -> list[Chain]:
        if code not in self._chains:
            self._chains[code] = list(chains_of(code))
        return self._chains[code]

    def _of_library(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield everything that an object of a library's class holds, since the library's code is not searched."""
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
        elif isinstance(value, IN_BYTES):
            if isinstance(value, _OF_C) and has_pointers(type(value)):
                raise TooMuch(f"it refers to a {type(value).__name__}, which holds addresses")
        elif not is_followed(value) and self._is_used(path):
            cls = type(value)
            raise TooMuch(
                f"it refers to a {cls.__module__}.{cls.__name__}, and what that depends on cannot be followed"
            )
        else:
            slots = [name for cls in type(value).__mro__ for name in _slots(cls) if hasattr(value, name)]
            own = getattr(value, "__dict__", None)
            if own is None and not slots and not all("__slots__" in vars(cls) for cls in type(value).__mro__[:-1]):
                raise TooMuch(f"it refers to a {type(value).__name__}, and what that holds cannot be followed")
            held = [(f"{path}.{name}", getattr(value, name)) for name in slots]
            held += [(f"{path}.__dict__[{name!r}]", item) for name, item in (own or {}).items()]
            # a clock that a library keeps is the library's concern
            yield from (each for each in held if not (is_callable_of_library(each[1]) and not is_pure(each[1])))
            if own is not None:
                yield f"len({path}.__dict__)", len(own)

    def _hooks_of_all(self) -> Iterator[tuple[str, Any]]:
        """Yield the hooks that are called with every module."""
        calls = sys.modules["dualtape.nn.modules._calls"]
        named = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")
        return ((self._key(hooks), hooks) for hooks in (getattr(calls, f"_global_{name}") for name in named))

    def _of_module(self, path: str, module: types.ModuleType) -> Iterator[tuple[str, Any]]:
        own = module.__name__.partition(".")[0] == "dualtape"
        users = not is_library(module)
        escaped = module.__name__ in self._escaped or not _is_global(path)
        if not (users or own) and escaped and self.every_name and not is_pure_module(module):
            raise TooMuch(
                f"it may look up any name in {module.__name__}, where some depend on more than their arguments"
            )
        for name, value in list(vars(module).items()):
            if name not in self._attributes and not (users and (self.every_name or name == "__getattr__")):
                continue
            if users and not isinstance(value, types.FunctionType) and name in _OF_MODULES:
                continue
            if not (users or own) and escaped:
                if is_callable_of_library(value):
                    self._check_callable(value, f"{module.__name__}.{name}")
                elif isinstance(value, types.ModuleType):
                    self._escaped.add(value.__name__)
            if users or not own and _is_looked_at(value):
                yield f"{path}.{name}", value
            elif not own and may_be_set(module) and not _is_special(name):
                self.found.append(Dependency(f"({path}.{name} is {self._key([value])}[0])", True))
        if not (users or own) and may_be_set(module) and "__getattr__" in vars(module):
            for name in self._attributes.difference(vars(module)):
                if hasattr(module, name):
                    raise TooMuch(_impure(f"the code behind {module.__name__}.{name}"))
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
        used = names_of(function.__code__, GLOBALS)
        space = function.__globals__
        self._check_chains(function)
        own: dict = _builtins_of(function)
        self._builtins.setdefault(id(own), (own, set()))[1].update(
            name for name in used if name not in space and name in own
        )
        yield from ((f"{path}.__globals__[{name!r}]", space[name]) for name in used if name in space)
        self._missing.setdefault(id(space), (f"{path}.__globals__", set()))[1].update(used.difference(space))
        for name in imports_of(function.__code__, space):
            if name in sys.modules:
                if is_library(sys.modules[name]) and not _is_own(sys.modules[name]):
                    self._escaped.add(name)
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
        only_type = path.startswith("type(") and not self._makes_types
        for name, value in vars(cls).items():
            special = _is_special(name)
            if only_type and name in _MAKERS:
                self._unmade[id(cls)] = cls
                continue
            if special and not (callable(value) or hasattr(value, "__get__") or name in self.names):
                continue
            if special and isinstance(value, type) and name not in self.names:
                continue  # descriptors of every class, such as __class__
            if special or name in self.names or every:
                for part, behind in _parts(value):
                    if not isinstance(behind, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                        yield f"vars({path})[{name!r}]{part}", behind
        if not is_library(type(cls)):
            yield f"type({path})", type(cls)
        for k, base in enumerate(cls.__bases__):
            if not is_library(base):
                yield f"{path}.__bases__[{k}]", base

    def _makers_of(self, path: str, cls: type) -> Iterator[tuple[str, Any]]:
        """Yield the methods that make instances of a class, if code may call it."""
        for name, value in vars(cls).items():
            if name in _MAKERS:
                yield from ((f"vars({path})[{name!r}]{part}", behind) for part, behind in _parts(value))

    @property
    def may_ask_for_types(self) -> bool:
        """Return whether code may read the exact type of an object, which ``isinstance`` does not."""
        return self.every_name or any("type" in names for _, names in self._builtins.values())

    @property
    def _makes_types(self) -> bool:
        """Return whether code may call the class of an object."""
        return "__class__" in self.names or any("type" in names for _, names in self._builtins.values())

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
        """Yield the dependencies of a member of a set or a key of a dictionary, whose identity is checked with the
        container.
        """
        if not is_spelled(member):
            yield self._key(member), member

    def _no_others(self, path: str, own: Any, every: bool = False, counted: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the check that a dictionary of attributes has no further ones: code may ask for one that is missing.

        With their number, those that are looked at must be there; of the others, it is said here.
        """
        if counted:
            yield f"len({path})", len(own)
        others = frozenset() if every or self.every_name else frozenset(own).difference(self.names)
        if others:
            yield f"({path}.keys() >= {self._key(others)})", True

    def _of_dict(self, path: str, own: dict, also: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
        """Yield the attributes that a name in the code may refer to."""
        for name, item in own.items():
            if name in self.names or self.every_name or name in also:
                yield f"{path}.__dict__[{name!r}]", item

    def _key(self, key: Any) -> str:
        """Return the expression for a key of a dictionary in a source."""
        if type(key) in (str, int, bool, type(None)):
            return repr(key)
        name = self._key_names.setdefault(id(key), f"_key{len(self._key_names)}")
        self.keys[name] = key
        return name

    def _read(self, code: types.CodeType) -> None:
        """Collect the names in ``code``, and in the functions inside it."""
        if code in self._codes:
            return
        self._codes.add(code)
        self.names.update(code.co_names)
        self._writes_text |= writes_text(code)
        before: str = ""
        constant: Any = None
        for i in dis.get_instructions(code):
            if i.opname == "MATCH_CLASS":  # the names of keyword patterns are a constant
                self.names.update(constant or ())
                self._attributes.update(constant or ())
                if i.arg:  # and those of positional ones are the class's to say
                    self.every_name = True
                    self.names.add("__match_args__")
            elif i.opname in ("MATCH_SEQUENCE", "MATCH_MAPPING"):
                self._asks_classes = True  # which classes are registered as sequences and mappings decides
            elif i.opname == "LOAD_CONST":
                constant = i.argval
            if i.opname in LOADS:
                self._attributes.add(i.argval)
            elif i.opname in STORES_NAMED:
                self._attributes.add(i.argval)
                self._stored.add(i.argval)
            elif i.opname == "IS_OP":
                self.compares |= before != "LOAD_CONST"  # comparisons with constants, such as None
            before = i.opname
        if "__subclasses__" in self._attributes:
            raise TooMuch("it asks a class for its subclasses, of which there may be others at the next call")
        self.every_name |= not _ALL_NAMES.isdisjoint(code.co_names)
        self._catches |= bool(code.co_exceptiontable)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._read(inner)


def _beside_leaves(spec: TreeSpec | None) -> list[Any]:
    """Yield the dependencies of argument containers beside their contents: their classes, whose methods may run, keys
    that are objects, factories of missing items.
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
    """Return whether a function cannot change anything that it reaches: numbers, tensors, functions like itself."""
    try:
        around = Dependencies(function, [])
    except Exception:
        # Anything that cannot be followed, for whatever reason, may change something.
        return False
    stores = any([i.opname in STORES for code in around._codes for i in dis.get_instructions(code)])
    return not stores and all(
        [isinstance(dependency.value, _STILL) or dependency.value is function for dependency in around.found]
    )


def _depends_on_nothing(function: Any) -> bool:
    """Return whether a function's results depend on its arguments alone: it reaches only functions like itself."""
    places = Dependencies(function, []).found
    return all([isinstance(d.value, _CODE) or d.value is None or "isdisjoint(" in d.source for d in places])


def _is_module(value: Any) -> bool:
    """Return whether ``value`` is an ``nn`` module, without importing ``nn``."""
    home = sys.modules.get("dualtape.nn.modules.module")
    return home is not None and isinstance(value, home.Module)


_STILL = (*PLAIN, Tensor, tuple, type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.CellType)
_CODE = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc)
_BUILTIN = (list, tuple, dict, deque, set, frozenset, bytearray)
_OF_MODULES = frozenset({"__builtins__", "__spec__", "__loader__", "__cached__", "__annotations__"})
_MISSING = object()
_MAKERS = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__del__"})
_LAST_ATTRIBUTE = re.compile(r"\.__dict__\['(\w+)'\]$")
_DIRECT = re.compile(r"\.(__globals__\['\w+'\]|cell_contents)$")
_GLOBAL_MODULE = re.compile(r"\.(__globals__\['\w+'\]|cell_contents)(\.\w+)*$")


def _is_looked_at(value: Any) -> bool:
    """Return whether an object in a library's module is searched."""
    return isinstance(value, types.ModuleType) or _has_state(value)


def _impure(name: str) -> str:
    return f"it may call {name}, whose result may depend on more than its arguments"


def _is_own(value: Any) -> bool:
    """Return whether a module or class belongs to dualtape, which handles tracing itself."""
    name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    return str(name).partition(".")[0] == "dualtape"


def _is_global(path: str) -> bool:
    """Return whether a path is that of a function's global, or of a module in one, whose uses are checked by dotted
    names.
    """
    return _GLOBAL_MODULE.search(path) is not None


def _is_method(value: Any) -> bool:
    """Return whether ``value`` is a bound method, as modules expose some of a hidden instance."""
    owner = getattr(value, "__self__", None)
    return callable(value) and owner is not None and not isinstance(owner, (types.ModuleType, type))


def _has_state(value: Any) -> bool:
    """Return whether an object in a library's module is other than a function, a class or a number."""
    return not (callable(value) or isinstance(value, (*PLAIN, types.ModuleType, *FIXED)))


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    hidden = [f"_{cls.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n for n in names]
    return tuple(name for name in hidden if name not in ("__dict__", "__weakref__"))


_EMPTY = types.CellType()


def _parts(attribute: Any) -> list[tuple[str, Any]]:
    """Yield the functions of an attribute of a class, and how each is reached from the attribute."""
    if isinstance(attribute, property):
        parts = (attribute.fget, attribute.fset, attribute.fdel)
        return [(f".{name}", part) for name, part in zip(("fget", "fset", "fdel"), parts, strict=True)]
    if isinstance(attribute, (staticmethod, classmethod)):
        return [(".__func__", attribute.__func__)]
    return [("", attribute)]


def is_spelled(key: Any) -> bool:
    """Return whether the representation of ``key`` identifies it."""
    return all(map(is_spelled, key)) if type(key) is tuple else type(key) in _SPELLED


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_end(end: Any) -> bool:
    return end is None or isinstance(end, (int, np.integer))


def _is_read_by_libraries(cls: type) -> bool:
    """Return whether library code may read attributes of an instance: code of a base, or code that traverses trees."""
    if is_registered(cls):
        return True
    bases = [base for base in cls.__mro__ if base not in _WITHOUT_CODE and is_library(base)]
    return any([base.__module__ != "builtins" for base in bases])
