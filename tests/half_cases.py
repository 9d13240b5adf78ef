"""Runs of the op table in half precision, by this library and by PyTorch, for the generated tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import dualtape as dt
from op_cases import arrays, cases, converted, first_samples, leaves, oracle

try:
    import torch
except ImportError:
    torch = None

KINDS = ("bfloat16", "float16")


def half_cases(most: int) -> list:
    """The first samples of each op that PyTorch has and computes with real numbers."""
    found = [c for c in cases() if c[2].torch and c[1].complex != "only" and c[1].torch_name != "-"]
    return [c for c in first_samples(found, most) if torch is not None and oracle(c[1]) is not None]


class Made:
    """The arguments of a sample as a library's tensors of a half type, and those that are differentiable."""

    def __init__(self, library: Any, sample: Any, kind: str, grad: bool = True, wide: bool = False) -> None:
        self.library, self.kind = library, kind
        args, kwargs, inputs = arrays(sample, "float32")
        target = getattr(library, kind)
        self.leaves = {}
        for each in inputs:
            tensor = library.tensor(each.copy())
            if tensor.dtype == library.float32:
                tensor = tensor.to(target)
                tensor = tensor.float() if wide else tensor
            self.leaves[id(each)] = tensor.requires_grad_(grad and tensor.is_floating_point())
        self._keep = inputs
        self._args, self._kwargs = args, kwargs
        self.arguments()

    def arguments(self, change: Any = None) -> tuple[tuple, dict]:
        """The positional and keyword arguments, their differentiable tensors changed by ``change``."""
        target = getattr(self.library, self.kind)

        def convert(array: np.ndarray) -> Any:
            known = self.leaves.get(id(array))
            if known is not None:
                return known if change is None else change(known)
            made = self.library.tensor(array.copy())
            return made.to(target) if made.dtype == self.library.float32 else made

        return (
            tuple(converted(a, convert) for a in self._args),
            {k: converted(v, convert) for k, v in self._kwargs.items()},
        )

    def tensors(self, result: Any) -> list:
        return [t for t in leaves(result) if isinstance(t, self.library.Tensor)]


def numbers(tensor: Any) -> np.ndarray:
    """The numbers of a tensor of either library in double precision, or as they are."""
    plain = tensor.detach()
    if plain.layout != (torch.strided if torch is not None and torch.is_tensor(tensor) else dt.strided):
        plain = plain.to_dense()
    if plain.is_complex():
        return plain.resolve_conj().numpy()
    return plain.double().numpy() if plain.is_floating_point() else plain.numpy()


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).split(".")[-1]


def difference(ours: Any, theirs: Any, kind: str, steps: float = 4, floor: float = 0) -> str | None:
    """In what two results of the libraries differ, allowing for some roundings of numbers as large as the largest, or
    as ``floor``; None if in nothing.
    """
    if (ours is None) != (theirs is None):
        given = theirs if ours is None else ours
        return None if not numbers(given).any() else f"{ours} where PyTorch has {theirs}"
    if ours is None:
        return None
    if tuple(ours.shape) != tuple(theirs.shape):
        return f"shape {tuple(ours.shape)} where PyTorch has {tuple(theirs.shape)}"
    if dtype_name(ours) != dtype_name(theirs):
        return f"dtype {dtype_name(ours)} where PyTorch has {dtype_name(theirs)}"
    a, b = numbers(ours), numbers(theirs)
    eps = 2.0**-7 if kind == "bfloat16" else 2.0**-10
    size = np.abs(b[np.isfinite(b)]).max(initial=floor) if b.dtype.kind == "f" else 0
    if np.allclose(a, b, rtol=steps * eps, atol=steps * eps * size + 1e-7, equal_nan=True):
        return None
    return f"{a.ravel()[:8]} where PyTorch has {b.ravel()[:8]}"


def outcome(run: Any, *args: Any) -> Any:
    """What a run gives, or the exception that it raises."""
    try:
        return run(*args)
    except Exception as error:
        return error


def difference_from_pytorch(
    run: Any, row: Any, sample: Any, kind: str, steps: float = 4, floor: float = 0
) -> str | None:
    """In what a run by this library differs from PyTorch's; None if in nothing.

    ``run`` takes a library, a function, a sample and the name of a half type, and gives a list of tensors. Where
    PyTorch refuses, there is nothing to compare.
    """
    torch.manual_seed(0)
    theirs = outcome(run, torch, oracle(row), sample, kind)
    if isinstance(theirs, Exception):
        return None
    dt.manual_seed(0)
    ours = outcome(run, dt, row.function, sample, kind)
    if isinstance(ours, Exception):
        return f"{type(ours).__name__}: {ours}"
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors where PyTorch has {len(theirs)}"
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        found = difference(a, b, kind, steps, floor)
        if found:
            return f"{number}: {found}"
    return None
