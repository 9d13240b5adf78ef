"""The libraries that are compared, as the programs see them.

dualtape and PyTorch run the very same program: it is a function of the library. HIPS autograd and JAX differentiate
functions, so a program may have a second form for them: a function of a :class:`Functional`, their NumPy and their
`grad` under one name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy

from benchmarks import THREADS

__all__ = ["Functional", "Peer", "find_peers"]


@dataclass(frozen=True)
class Functional:
    """A library that differentiates functions.

    Attributes
    ----------
    np : module
        Its NumPy.
    grad : callable
        ``grad(f, argnums)``: the function that gives the gradient (a tuple, if ``argnums`` is one).
    compiled : callable
        What to do once with a function that is run again and again: ``jit``, or nothing.
    ready : callable
        Waits for a result.
    """

    np: Any
    grad: Callable
    compiled: Callable = staticmethod(lambda function: function)
    ready: Callable = staticmethod(lambda result: result)

    def array(self, values: numpy.ndarray) -> Any:
        """A constant or an argument for this library's functions."""
        return self.np.array(values)


@dataclass(frozen=True)
class Peer:
    """One column of the table."""

    name: str
    version: str
    library: Any = None  # dualtape or torch
    wrapped: Callable | None = None  # what is done with a program: its step is compiled; None leaves it out
    functional: Functional | None = None
    traces: bool = False  # unrolls the program and compiles it


def _dualtape() -> Peer:
    module = import_module("dualtape")
    return Peer("dualtape", module.__version__, module)


def _compiled() -> Peer:
    module = import_module("dualtape")
    import_module("llvmlite")

    def wrapped(program: Callable) -> Callable | None:
        """The step of a workload, compiled, if all of it can be."""
        try:
            module.compile(program(module), fullgraph=True)()
        except RuntimeError:
            return None
        return module.compile(program(module))  # a step may change what it begins with: this one has not run

    return Peer("compiled", module.__version__, module, wrapped=wrapped)


def _torch() -> Peer:
    module = import_module("torch")
    module.set_num_threads(THREADS)
    return Peer("torch", module.__version__, module)


def _hips() -> Peer:
    package = import_module("autograd")
    version = import_module("importlib.metadata").version("autograd")
    return Peer("autograd", version, functional=Functional(import_module("autograd.numpy"), package.grad))


def _jax(compile_it: bool) -> Peer:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    extra = {"compiled": jax.jit} if compile_it else {}
    functional = Functional(import_module("jax.numpy"), jax.grad, ready=jax.block_until_ready, **extra)
    return Peer("jax jit" if compile_it else "jax", jax.__version__, functional=functional, traces=True)


PEERS: dict[str, Callable[[], Peer]] = {
    "dualtape": _dualtape,
    "compiled": _compiled,
    "torch": _torch,
    "autograd": _hips,
    "jax": lambda: _jax(False),
    "jax jit": lambda: _jax(True),
}


def find_peers(names: tuple[str, ...] = ()) -> tuple[list[Peer], list[str]]:
    """The peers that are installed, and the names of those that are not; ``names`` asks for some of them."""
    found, missing = [], []
    for name, load in PEERS.items():
        if names and name != "dualtape" and name not in names:
            continue
        try:
            found.append(load())
        except ImportError:
            missing.append(name)
    return found, missing
