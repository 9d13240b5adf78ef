"""The backends that run a program: native code, or NumPy where llvmlite is missing or native code gains nothing."""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident
from typing import Any

from ..arrays.traced.tape import Instruction, Value
from . import replay

NATIVE, NUMPY = "native", "numpy"
# where programs are written down as they are made: name, instructions, inputs, outputs, and what runs them
shown: ContextVar[list[tuple] | None] = ContextVar("shown", default=None)
_NAMES = {"native": NATIVE, "inductor": NATIVE, "numpy": NUMPY, "eager": NUMPY, "aot_eager": NUMPY}


_DEBUG = ("eager", "aot_eager")


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """Return the names of the backends of :func:`dualtape.compile`, without those for debugging unless they are asked
    for by ``exclude_tags=()``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.compiler.list_backends()
    ['inductor', 'native', 'numpy']
    """
    return sorted(name for name in _NAMES if "debug" not in (exclude_tags or ()) or name not in _DEBUG)


@functools.cache
def _has_llvm() -> bool:
    return importlib.util.find_spec("llvmlite") is not None


def chosen(backend: str | None) -> str:
    """Return the backend of a name; native code needs llvmlite."""
    if backend is None:
        return NATIVE if _has_llvm() else NUMPY
    if not isinstance(backend, str):
        raise TypeError(f"compile: backend must be a name ({', '.join(_NAMES)}), got a {type(backend).__name__}")
    if backend not in _NAMES:
        raise ValueError(f"compile: backend must be one of {', '.join(_NAMES)}, got {backend!r}")
    if _NAMES[backend] == NATIVE and not _has_llvm():
        warnings.warn(
            f"compile: backend={backend!r} needs llvmlite (pip install dualtape[compile]); programs run over NumPy",
            stacklevel=3,
        )
        return NUMPY
    return _NAMES[backend]


def program(
    name: str,
    backend: str,
    instructions: Sequence[Instruction],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    facts: dict[str, Any],
) -> Callable[..., tuple]:
    """Return a function of arrays that runs ``instructions``; facts about it are stored in ``facts``."""
    made = _program(name, backend, instructions, inputs, outputs, facts)
    if (watched := shown.get()) is not None:
        watched.append((name, instructions, inputs, outputs, made))
    return made


def _program(
    name: str,
    backend: str,
    instructions: Sequence[Instruction],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    facts: dict[str, Any],
) -> Callable[..., tuple]:
    if backend == NATIVE:
        from .native.lower import NotNative
        from .native.program import Program

        try:
            made = Program(instructions, inputs, outputs)
            facts[f"native {name}"] = made.facts
            return made
        except NotNative as reason:
            facts[f"native {name}"] = str(reason)
        except Exception as error:
            facts[f"native {name}"] = f"{type(error).__name__}: {error}"
            warnings.warn(
                f"compile: no native code could be made of a {name} program, which runs over NumPy instead: an internal"
                f" error, {type(error).__name__}: {error}. Please report it",
                stacklevel=2,
            )
    return functools.partial(replay.quietly, replay.function(name, instructions, inputs, outputs))


def forget_memory() -> None:
    """Free the memory that native programs share between their calls."""
    if (executable := sys.modules.get(f"{__package__}.native.executable")) is not None:
        executable.blocks.clear()


@contextmanager
def watched(recorder: Any) -> Iterator[None]:
    """Context in which the kernels of native programs run by this thread appear in a profile."""
    native = sys.modules.get(f"{__package__}.native.program")
    if native is None or recorder is None:
        yield
        return
    thread = get_ident()
    before = native.watching.get(thread)
    native.watching[thread] = recorder
    try:
        yield
    finally:
        if before is None:
            del native.watching[thread]
        else:
            native.watching[thread] = before


def can_iterate(run: Callable) -> bool:
    """Return whether a program can run many iterations natively."""
    if isinstance(run, functools.partial):  # it runs over NumPy
        return False
    from .native.program import Iterations

    return Iterations.takes(run)


def iterations(run: Any, moves: list[tuple[int, int, int]], flag: int) -> Callable[[Sequence, int, int], int]:
    """Return a function that runs a program natively for many iterations, on arrays whose position advances."""
    from .native.program import Iterations

    return Iterations(run, moves, flag)
