"""What runs a program: native code, or NumPy where there is no LLVM or nothing to gain."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from ..arrays.traced.tape import Instruction, Value
from . import replay

NATIVE, NUMPY = "native", "numpy"
# where programs are written down as they are made: name, instructions, inputs, outputs, and what runs them
shown: ContextVar[list[tuple] | None] = ContextVar("shown", default=None)
_NAMES = {"native": NATIVE, "inductor": NATIVE, "numpy": NUMPY, "eager": NUMPY, "aot_eager": NUMPY}


@functools.cache
def _has_llvm() -> bool:
    return importlib.util.find_spec("llvmlite") is not None


def chosen(backend: str | None) -> str:
    """The backend of a name; native code needs llvmlite."""
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
    name: str, backend: str, instructions: Sequence[Instruction], inputs: Sequence[Value], outputs: Sequence[Value],
    facts: dict[str, Any],
) -> Callable[..., tuple]:  # fmt: skip
    """A function of arrays that does what ``instructions`` do; what was made goes into ``facts``."""
    made = _program(name, backend, instructions, inputs, outputs, facts)
    if (watched := shown.get()) is not None:
        watched.append((name, instructions, inputs, outputs, made))
    return made


def _program(
    name: str, backend: str, instructions: Sequence[Instruction], inputs: Sequence[Value], outputs: Sequence[Value],
    facts: dict[str, Any],
) -> Callable[..., tuple]:  # fmt: skip
    if backend == NATIVE:
        from .native.lower import NotNative
        from .native.program import Program

        try:
            made = Program(instructions, inputs, outputs)
            facts[f"native {name}"] = made.facts
            return made
        except NotNative as reason:
            facts[f"native {name}"] = str(reason)
    return functools.partial(replay.quietly, replay.function(name, instructions, inputs, outputs))
