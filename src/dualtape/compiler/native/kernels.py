"""Kernels: the LLVM IR of a plan."""

from __future__ import annotations

from .llvm_builder import Kernel
from .loop_kernels import Loop, write_nest
from .maths import Library
from .products import write_product
from .register_kernels import Straight


def written(plan: tuple, name: str, library: Library) -> str:
    """Return the LLVM IR of the kernel of ``plan``."""
    kernel = Kernel(library)
    kind, what, *rest = plan
    if kind == "product":
        write_product(kernel, what)
        return kernel.text(name)
    kernel.slots, kernel.numbers = rest[0]
    if kind == "tiny":
        Straight(kernel, what).write()
    elif kind == "loop":
        Loop(kernel, what).write()
    else:
        write_nest(kernel, what, rest[1])
    return kernel.text(name)
