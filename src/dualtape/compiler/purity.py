"""The callables of the standard library, NumPy and SciPy that are pure: their result depends on their arguments alone.

A traced program keeps the results of such calls. Any other callable may depend on a clock, a file, another process or a
setting, so a function that refers to it is not compiled. The lists name modules that were reviewed, and the exceptions
in each; what is not listed is not pure.
"""

from __future__ import annotations

import builtins
import datetime
import functools
import pathlib
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import numpy as np

# The code of these packages does not change while a process runs; that of others is followed like the user's own.
LIBRARIES = frozenset(sys.stdlib_module_names) | {"numpy", "scipy", "dualtape", "torch", "jax", "llvmlite", "builtins"}

# Names of builtins whose result depends on more than their arguments, or that reach objects by a name put together.
_IMPURE_BUILTINS = frozenset(
    {
        "open",
        "input",
        "id",
        "eval",
        "exec",
        "compile",
        "globals",
        "locals",
        "__import__",
        "breakpoint",
        "help",
    }
)

# Modules of the standard library, as functions and classes name them in ``__module__``, and what is not pure in each.
_PURE: dict[str, frozenset[str]] = {
    name: frozenset(exceptions.split())
    for name, exceptions in {
        "_abc": "",
        "_bisect": "",
        "_codecs": "lookup lookup_error encode decode register register_error",
        "_collections": "",
        "_collections_abc": "",
        "_decimal": "",
        "_functools": "",
        "_heapq": "",
        "_json": "",
        "_operator": "",
        "_sre": "",
        "_statistics": "",
        "_struct": "",
        "_thread": "*",
        "_weakref": "getweakrefcount getweakrefs",
        "abc": "",
        "argparse": "FileType",
        "array": "",
        "ast": "",
        "base64": "",
        "binascii": "",
        "bisect": "",
        "builtins": "",
        "calendar": "",
        "cmath": "",
        "codecs": "open getencoder getdecoder getincrementalencoder getincrementaldecoder getreader getwriter",
        "collections": "",
        "collections.abc": "",
        "colorsys": "",
        "contextlib": "",
        "contextvars": "",
        "copy": "",
        "copyreg": "",
        "dataclasses": "",
        "datetime": "",
        "decimal": "",
        "difflib": "",
        "enum": "",
        "fnmatch": "",
        "fractions": "",
        "functools": "",
        "genericpath": "exists isfile isdir getsize getmtime getatime getctime samefile sameopenfile",
        "graphlib": "",
        "hashlib": "file_digest",
        "_hashlib": "",
        "heapq": "",
        "html": "",
        "ipaddress": "",
        "itertools": "",
        "json": "load dump",
        "json.decoder": "",
        "json.encoder": "",
        "keyword": "",
        "logging": "getLevelName getLevelNamesMapping getLoggerClass getLogRecordFactory getHandlerByName"
        " getHandlerNames",
        "math": "",
        "numbers": "",
        "operator": "",
        "pathlib": "",
        "posixpath": "abspath realpath expanduser expandvars ismount lexists islink relpath",
        "ntpath": "abspath realpath expanduser expandvars ismount lexists islink relpath isdir isfile exists",
        "pprint": "",
        "re": "",
        "re._compiler": "",
        "re._parser": "",
        "reprlib": "",
        "statistics": "",
        "string": "",
        "struct": "",
        "textwrap": "",
        "traceback": "print_exc format_exc print_stack extract_stack format_stack",
        "types": "",
        "typing": "get_type_hints",
        "unicodedata": "",
        "uuid": "uuid1 uuid4 getnode",
        "warnings": "",
        "weakref": "WeakKeyDictionary WeakValueDictionary WeakSet finalize getweakrefcount getweakrefs",
        "zlib": "",
        "inspect": "get_annotations stack trace currentframe getframeinfo getouterframes getinnerframes getsource"
        " getsourcelines getsourcefile getfile findsource getcomments getmodule",
        "posix": "*",
        "nt": "*",
        "os": "*",
        "time": "*",
        "sys": "*",
    }.items()
}
_PURE_OF = {
    "posix": frozenset({"fspath"}),
    "nt": frozenset({"fspath"}),
    "sys": frozenset({"intern"}),
    "os": frozenset({"fspath", "fsencode", "fsdecode", "getenv", "PathLike"}),  # os.environ is looked at itself
}

# Names in NumPy's and SciPy's public modules that read files, settings, the machine or random numbers.
_IMPURE_NUMPY = frozenset(
    {
        "load",
        "save",
        "savez",
        "savez_compressed",
        "savetxt",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "memmap",
        "open_memmap",
        "fromregex",
        "DataSource",
        "geterr",
        "geterrcall",
        "getbufsize",
        "get_printoptions",
        "info",
        "show_config",
        "show_runtime",
        "get_include",
        "test",
        "array2string",
        "array_repr",
        "array_str",
        "errstate",
        "printoptions",
        "get_state",
        "get_workers",
    }
)
_IMPURE_PACKAGES = ("numpy.random", "numpy.testing", "numpy.f2py", "scipy.io", "scipy.datasets", "numpy.ctypeslib")

# Methods of pure classes that are not pure.
_CLOCKS = frozenset({"now", "utcnow", "today", "fromtimestamp", "timestamp", "astimezone"})
_OF_FILES = frozenset(dir(pathlib.Path)) - frozenset(dir(pathlib.PurePath))
# Generators draw from where they are, and begin anywhere unless they are told where.
_SOURCES: tuple[str, ...] = (
    "default_rng",
    "RandomState",
    "SeedSequence",
    "PCG64",
    "PCG64DXSM",
    "MT19937",
    "Philox",
    "SFC64",
)


def is_library(value: Any) -> bool:
    """Return whether a module, class or function belongs to a package whose code does not change while a program
    runs.
    """
    if isinstance(value, types.FunctionType):  # __module__ may be that of another function, which it wraps
        name = value.__globals__.get("__name__")
    else:
        name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in LIBRARIES


def is_source(value: Any) -> bool:
    """Return whether ``value`` makes random generators with an unpredictable state unless they are given a seed."""
    if not (isinstance(value, (type, types.BuiltinFunctionType)) or is_compiled(value)):
        return False
    module = str(getattr(value, "__module__", None) or "")
    return (
        value.__name__ in _SOURCES
        and module.startswith("numpy.random")
        or (module, value.__name__)
        == (
            "random",
            "Random",
        )
    )


def is_callable_of_library(value: Any) -> bool:
    """Return whether ``value`` is a function or class whose code is not searched: a library's, or one written in C."""
    if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
        return True
    if is_compiled(value):
        return True
    if not isinstance(value, (types.FunctionType, type)):
        return False
    return is_library(value)


def is_compiled(value: Any) -> bool:
    """Return whether ``value`` is a function compiled by Cython, as some of NumPy's and SciPy's are."""
    return "cython" in type(value).__name__ and callable(value)


def is_pure(value: Any) -> bool:
    """Return whether a library's function is known to be pure; of a class, whether calling it only makes a value."""
    if isinstance(value, type) and issubclass(value, BaseException):
        return True
    owner = getattr(value, "__self__", None)
    if isinstance(owner, type):  # a class method
        return is_pure(owner) and value.__name__ not in impure_methods(owner)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return True  # a method of an object, which is looked at by itself
    if isinstance(value, types.FunctionType):
        module = value.__globals__.get("__name__")
    else:
        module = getattr(value, "__module__", None)
        if module is None and isinstance(owner, types.ModuleType):
            module = owner.__name__
        if module is None:  # of a class written in C
            module = getattr(getattr(value, "__objclass__", None), "__module__", None)
    name = getattr(value, "__name__", "")
    if not isinstance(module, str):
        return False
    root = module.partition(".")[0]
    if root in ("dualtape", "torch", "jax", "llvmlite"):
        # These know of tracing, or are not what a traced function computes with.
        return True
    if root in ("numpy", "scipy"):
        return name not in _IMPURE_NUMPY and not module.startswith(_IMPURE_PACKAGES) and name != "rvs"
    if module == "builtins":
        return name not in _IMPURE_BUILTINS
    exceptions = _PURE.get(module)
    if exceptions is None:
        return False
    return name in _PURE_OF.get(module, ()) if "*" in exceptions else name not in exceptions


def is_pure_module(module: types.ModuleType) -> bool:
    """Return whether all functions of a library's module are pure, or all public ones."""
    name = module.__name__
    if name.startswith(_IMPURE_PACKAGES):
        return False
    return name.partition(".")[0] in ("numpy", "scipy", "torch", "jax", "llvmlite") or _PURE.get(name) == frozenset()


# Modules whose names are constants and functions that nobody sets; those of other modules may be settings.
_NEVER_SET = frozenset(
    {
        "abc",
        "array",
        "bisect",
        "cmath",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "jax",
        "json",
        "llvmlite",
        "math",
        "numbers",
        "numpy",
        "operator",
        "re",
        "scipy",
        "string",
        "struct",
        "torch",
        "types",
        "typing",
    }
)


def may_be_set(module: types.ModuleType) -> bool:
    """Return whether names in a library's module are settings, as ``logging.raiseExceptions`` is."""
    return module.__name__.partition(".")[0] not in _NEVER_SET


@functools.cache
def impure_methods(cls: type) -> frozenset[str]:
    """Return the names of methods of a library's class whose result depends on more than the object and their
    arguments.
    """
    if issubclass(cls, (datetime.date, datetime.time)):
        return _CLOCKS
    if issubclass(cls, pathlib.Path):
        return _OF_FILES
    if issubclass(cls, type) or cls is object:
        return frozenset({"__subclasses__"})
    if cls.__module__.startswith("scipy.stats"):
        return frozenset({"rvs"})
    return frozenset()


def described(value: Any) -> str:
    """Return the name of a library's callable for messages."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, type):
        return f"{owner.__module__}.{owner.__qualname__}.{value.__name__}"
    module = getattr(value, "__module__", None) or getattr(owner, "__name__", None)
    name = getattr(value, "__qualname__", None) or repr(value)
    module = {"posix": "os", "nt": "os", "posixpath": "os.path", "ntpath": "os.path", "genericpath": "os.path"}.get(
        str(module), module
    )
    return name if module in (None, "builtins") else f"{module}.{name}"


def unknown_builtins(names: Iterable[str]) -> list[str]:
    """Return those of some names of builtins that are not pure, in order."""
    return sorted(name for name in names if name in _IMPURE_BUILTINS and hasattr(builtins, name))


# --- objects of libraries' classes ----------------------------------------------------------------

# Packages whose objects are values, or hold all that they depend on in attributes that can be looked at.
_FOLLOWED = frozenset(
    {
        "_collections_abc",
        "_weakrefset",
        "abc",
        "argparse",
        "ast",
        "collections",
        "contextlib",
        "dataclasses",
        "dualtape",
        "enum",
        "fractions",
        "functools",
        "inspect",
        "ipaddress",
        "jax",
        "json",
        "llvmlite",
        "numbers",
        "numpy",
        "operator",
        "os",
        "pathlib",
        "scipy",
        "statistics",
        "string",
        "torch",
        "types",
        "typing",
        "uuid",
        "warnings",
        "builtins",
        "contextvars",
        "weakref",
        "copyreg",
        "copy",
        "textwrap",
        "difflib",
        "graphlib",
        "importlib",
        "zipimport",
        "_frozen_importlib",
        "_frozen_importlib_external",
    }
)
_NOT_FOLLOWED = frozenset({"WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "finalize", "memmap", "DirEntry"})


def is_followed(value: Any) -> bool:
    """Return whether the dependencies of an object of a library's class are all in its attributes."""
    cls = type(value)
    return cls.__module__.partition(".")[0] in _FOLLOWED and cls.__name__ not in _NOT_FOLLOWED


def has_pointers(cls: Any) -> bool:
    """Return whether a ctypes type contains addresses: its bytes do not determine its value."""
    import ctypes

    if issubclass(cls, ctypes.Array):
        return has_pointers(cls._type_)
    if issubclass(cls, (ctypes.Structure, ctypes.Union)):
        return any([has_pointers(field[1]) for base in cls.__mro__ for field in vars(base).get("_fields_", ())])
    if issubclass(cls, ctypes._SimpleCData):
        return cls._type_ in "zZPO"
    return True


def is_numpys_generator(value: Any) -> bool:
    """Return whether ``value`` is a NumPy random generator, without importing ``numpy.random``."""
    random = sys.modules.get("numpy.random")
    return random is not None and isinstance(
        value, (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    )


def entropy_can_be_watched() -> bool:
    """Return whether :func:`entropy_watched` detects NumPy generators made without a seed."""
    return hasattr(sys.modules.get("numpy.random.bit_generator"), "randbits")


@contextmanager
def entropy_watched(tell: Callable[[str], None]) -> Iterator[None]:
    """Context that calls ``tell`` with a reason when this thread makes a NumPy generator without a seed."""
    module: Any = sys.modules["numpy.random.bit_generator"]
    thread, randbits = get_ident(), module.randbits

    def watched(count: int) -> int:
        if get_ident() == thread:
            tell("it makes a generator of its own without a seed: draw from dualtape's generators")
        return randbits(count)

    module.randbits = watched
    try:
        yield
    finally:
        module.randbits = randbits
