"""Tracebacks without the library's own frames, so that an error points at the line of the user's program.

Errors pass through :func:`shorten` where they leave a public function. It changes nothing else of them, and does
nothing if the environment variable ``DUALTAPE_TRACEBACKS`` is ``full``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

import numpy as np

__all__ = ["shorten", "shortened"]

P = ParamSpec("P")
R = TypeVar("R")

_OWN = (str(Path(__file__).parent) + os.sep, "<dualtape")  # the package's files, and what it generates
# What the package is built on. Its frames are left out where the package called it.
_FOUNDATIONS = (
    str(Path(np.__file__).parent) + os.sep,
    str(Path(np.__file__).parents[1] / "scipy") + os.sep,
    "<__array_function__",
)
_MOST_FRAMES = 2000  # of an error that has more, nothing is left out: it is one of endless recursion
_FULL = os.environ.get("DUALTAPE_TRACEBACKS", "").strip().lower() == "full"


def shorten(error: BaseException) -> None:
    """Remove the library's frames from the traceback of ``error``, and errors of NumPy's that led to it from its
    context.
    """
    if _FULL:
        return
    trace = error.__traceback__
    # An error whose frames were removed already has the frames from there up to here alone: one pass is short.
    frames: list[TracebackType] = []
    inside = changed = False
    count = 0
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        inside = filename.startswith(_OWN) or inside and filename.startswith(_FOUNDATIONS)
        if inside:
            changed = True
        else:
            frames.append(trace)
        count += 1
        if count > _MOST_FRAMES:
            return
        trace = trace.tb_next
    if changed:
        kept: TracebackType | None = None
        for each in reversed(frames):
            kept = TracebackType(kept, each.tb_frame, each.tb_lasti, each.tb_lineno)
        error.__traceback__ = kept
    _drop_contexts(error)


def _drop_contexts(error: BaseException) -> None:
    """Drop from the context of ``error`` those that no frame of the user's program took part in."""
    seen = {id(error)}
    while (context := error.__context__) is not None and id(context) not in seen:
        seen.add(id(context))
        if context is not error.__cause__ and context.__cause__ is None and _of_the_library(context.__traceback__):
            error.__context__ = context.__context__
        else:
            error = context


def _of_the_library(trace: TracebackType | None) -> bool:
    """Return whether all frames are the library's, or of what it is built on."""
    if trace is None:
        return False
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OWN + _FOUNDATIONS):
            return False
        trace = trace.tb_next
    return True


def shortened(function: Callable[P, R]) -> Callable[P, R]:
    """Return ``function`` such that errors leave it without the library's frames."""

    @wraps(function)
    def public(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return public
