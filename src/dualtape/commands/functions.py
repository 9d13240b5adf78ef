"""User functions by name, ``module:function``, and arguments to run them on."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import dualtape as dt


def found(name: str) -> Any:
    """Return the function that ``module:function`` or ``file.py:function`` names."""
    place, _, path = name.rpartition(":")
    if not place or not path:
        raise ValueError(f"expected module:function or file.py:function, got {name!r}")
    target: Any = _module(place)
    for part in path.split("."):
        if not hasattr(target, part):
            raise ValueError(f"{place} has no {path}")
        target = getattr(target, part)
    if isinstance(target, type) and issubclass(target, dt.nn.Module):
        try:
            target = target()
        except TypeError as error:
            raise ValueError(f"{name} is a class of modules that takes arguments: name a module ({error})") from None
    if not callable(target):
        raise ValueError(f"{name} is a {type(target).__name__}, not a function")
    return target


def _module(place: str) -> ModuleType:
    """Return the module of a name or a file path; a ValueError says why it cannot be imported."""
    try:
        if place.endswith(".py"):
            return _of_file(place)
        if not all(part.isidentifier() for part in place.split(".")):
            raise ValueError(f"{place!r} is neither the name of a module nor a file.py")
        sys.path.insert(0, "")
        return importlib.import_module(place)
    except ImportError as error:
        raise ValueError(f"{place} cannot be imported: {error}") from None
    except SystemExit as error:
        raise ValueError(f"{place} cannot be imported: it ended the program, with status {error.code}") from None
    except ValueError as error:
        raise ValueError(f"{place} cannot be imported: {error}") from error
    except Exception as error:
        raise ValueError(f"{place} cannot be imported: {type(error).__name__}: {error}") from error


def _of_file(place: str) -> ModuleType:
    """Return the module in a file, whatever its name: ``numpy.py`` is this file, and not the package."""
    file = Path(place).resolve()
    if not file.is_file():
        raise ValueError(f"there is no file {place}")
    sys.path.insert(0, str(file.parent))  # for what stands beside it
    name = str(file)  # no name that anything else is imported by
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{place} is no file of Python's")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and others look for their module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def exact(function: Any) -> Any:
    """Return the function; for a module a copy in float64, which finite differences need."""
    return copy.deepcopy(function).double() if isinstance(function, dt.nn.Module) else function


def told(function: Callable, inputs: list[dt.Tensor]) -> Callable:
    """Return the function such that its errors say on which arguments it was called."""

    def tried(*args: Any) -> Any:
        try:
            return function(*args)
        except (RuntimeError, TypeError, IndexError) as error:
            shapes = ", ".join(str(list(x.shape)) for x in inputs) or "none"
            raise ValueError(
                f"it raised {type(error).__name__} on arguments of shapes {shapes} (--shape names others): {error}"
                f"{_frames(error)}"
            ) from error

    return tried


def _frames(error: BaseException) -> str:
    """Return the lines of the user's program that an error came through, as a traceback shows them."""
    own = str(Path(dt.__file__).parent) + os.sep
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((own, "<dualtape"))
    ]
    return "\n" + "".join(traceback.format_list(frames)).rstrip() if frames else ""


def arguments(function: Any, shapes: list[str], seed: int = 0) -> list[dt.Tensor]:
    """Return random tensors for a function: of the given shapes ("3,4", "scalar"), or a vector of 3 for each
    parameter.
    """
    if not shapes:
        try:
            called = function.forward if isinstance(function, dt.nn.Module) else function
            parameters = inspect.signature(called).parameters.values()
        except (TypeError, ValueError):
            raise ValueError("its parameters are not known: name the shapes of its arguments with --shape") from None
        needed = [
            p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        shapes = ["3"] * len(needed)
    rng = np.random.default_rng(seed)
    weights = next(iter(function.parameters()), None) if isinstance(function, dt.nn.Module) else None
    dtype = dt.float64 if weights is None else weights.dtype
    made = []
    for shape in shapes:
        words = [] if shape in ("scalar", "") else shape.replace("x", ",").split(",")
        if not all(word.strip().isdigit() for word in words):
            raise ValueError(f"expected a shape like 3,4 or scalar, got {shape!r}")
        values = rng.standard_normal([int(word) for word in words])
        made.append(dt.tensor(values, dtype=dtype, requires_grad=True))
    return made
