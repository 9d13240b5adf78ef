"""One small program, run on dualtape and on PyTorch: the outcomes must be the same.

A program is source text in which ``torch`` is the library under test and ``np`` is NumPy; its last expression is
what is compared: values, shapes, dtypes, requires_grad, and the type of an exception instead of a value.
"""

from __future__ import annotations

import ast
import copy
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="torch, the oracle, is not installed")


class Refused:
    """The outcome of a program that raised."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"{type(self.error).__name__}: {str(self.error).splitlines()[0] if str(self.error) else ''}"


def outcome(source: str, library: Any, **names: Any) -> Any:
    """The value of the program's last expression, or the exception it raised."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    names = {
        "torch": library,
        "np": np,
        "copy": copy,
        "pickle": pickle,
        "math": math,
        "inf": math.inf,
        "nan": math.nan,
        **names,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(tree, source, "exec"), names)
            return eval(compile(ast.Expression(last.value), source, "eval"), names) if last is not None else None
        except Exception as error:
            return Refused(error)


def differences(ours: Any, theirs: Any, tolerance: float = 1e-5, where: str = "") -> str | None:
    """What is different between two outcomes, in words; None if nothing."""
    if isinstance(theirs, Refused) or isinstance(ours, Refused):
        if not (isinstance(theirs, Refused) and isinstance(ours, Refused)):
            return f"{where}: {ours!r} where PyTorch has {theirs!r}"
        mine, other = type(ours.error), type(theirs.error)
        if issubclass(other, (NameError, SyntaxError, ImportError)):
            return f"{where}: the program itself is wrong: {theirs!r}"
        return (
            None
            if issubclass(mine, other) or issubclass(other, mine) and mine is not Exception
            else f"{ours!r} where PyTorch has {theirs!r}"
        )
    if torch is not None and isinstance(theirs, torch.Tensor):
        if not isinstance(ours, dt.Tensor):
            return f"{where}: {type(ours).__name__} where PyTorch has a tensor"
        for what in ("shape", "requires_grad", "is_leaf"):
            a, b = getattr(ours, what), getattr(theirs, what)
            if a != b:
                return f"{where}: {what} {a} where PyTorch has {b}"
        if ours.dtype.name != str(theirs.dtype).removeprefix("torch."):
            return f"{where}: {ours.dtype} where PyTorch has {theirs.dtype}"
        return _arrays(ours._array, theirs.detach().resolve_conj().resolve_neg().numpy(), tolerance, where)
    if torch is not None and isinstance(theirs, torch.dtype):
        return (
            None
            if isinstance(ours, dt.dtype) and ours.name == str(theirs).removeprefix("torch.")
            else f"{where}: {ours} where PyTorch has {theirs}"
        )
    if torch is not None and isinstance(theirs, torch.device):
        return (
            None
            if isinstance(ours, dt.device) and str(ours) == str(theirs)
            else f"{where}: {ours} where PyTorch has {theirs}"
        )
    if isinstance(theirs, dict):
        if not isinstance(ours, dict) or list(ours) != list(theirs):
            return f"{where}: {ours!r} where PyTorch has {theirs!r}"
        return differences(list(ours.values()), list(theirs.values()), tolerance, where)
    if isinstance(theirs, (list, tuple)):
        if isinstance(ours, dt.Size) != (torch is not None and isinstance(theirs, torch.Size)) or not isinstance(
            ours, (list, tuple)
        ):
            return f"{where}: {type(ours).__name__} where PyTorch has {type(theirs).__name__}"
        if len(ours) != len(theirs):
            return f"{where}: {len(ours)} entries where PyTorch has {len(theirs)}"
        parts = (
            differences(a, b, tolerance, f"{where}[{i}]") for i, (a, b) in enumerate(zip(ours, theirs, strict=True))
        )
        return next((p for p in parts if p), None)
    if isinstance(theirs, (np.ndarray, np.generic)):
        if type(ours) is not type(theirs) or ours.dtype != theirs.dtype:
            return f"{where}: {ours!r} where PyTorch has {theirs!r}"
        return _arrays(np.asarray(ours), np.asarray(theirs), tolerance, where)
    if isinstance(theirs, (bool, int, float, complex, str, type(None))):
        if type(ours) is not type(theirs):
            return f"{where}: {ours!r} where PyTorch has {theirs!r}"
        same = (
            ours == theirs
            or isinstance(theirs, (float, complex))
            and np.allclose(ours, theirs, rtol=tolerance, atol=0, equal_nan=True)
        )
        return None if same else f"{where}: {ours!r} where PyTorch has {theirs!r}"
    return f"{where}: cannot compare {type(theirs).__name__}: make the program end in tensors, numbers or strings"


def _arrays(ours: Any, theirs: Any, tolerance: float, where: str) -> str | None:
    if ours.shape != theirs.shape:
        return f"{where}: shape {ours.shape} where PyTorch has {theirs.shape}"
    if np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None
    return f"{where}: {ours!r} where PyTorch has {theirs!r}"


def same(source: str, tolerance: float = 1e-5, **names: Any) -> None:
    """Run ``source`` on both libraries and fail if anything visible differs."""
    found = differences(outcome(source, dt, **names), outcome(source, torch, **names), tolerance)
    assert found is None, f"\n{source}\n{found}"


def programs(text: str) -> list[str]:
    """The programs of a table: one to a line, without comments and blank lines."""
    lines = (line.strip() for line in text.strip().splitlines())
    return [line for line in lines if line and not line.startswith("#")]
