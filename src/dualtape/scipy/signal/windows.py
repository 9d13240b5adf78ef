"""``scipy.signal.windows`` for tensors: windows as functions of a parameter with history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.lazy import scipy_windows as _windows
from ...ops.numpy_entries.special import SPECIAL
from .._arguments import plain
from .._like import like, names_of, scipys
from .._tensors import floating, op

__all__ = ["exponential", "gaussian", "general_cosine", "general_gaussian", "general_hamming", "kaiser", "tukey"]


def __getattr__(name: str) -> Any:
    return scipys(_windows, name, __name__)


__dir__ = names_of(_windows, __name__)


def _sized(M: int, sym: bool) -> tuple[int, int]:
    """Return the size of the symmetric window, and the number of its values that are kept."""
    if int(M) != M or M < 0:
        raise ValueError("Window length M must be a non-negative integer")
    return (int(M), int(M)) if sym or M <= 1 else (int(M) + 1, int(M))


def _window(name: str, formula: Callable, what: str, example: str, *parameters: str) -> Callable:
    def window(M: int, *given: Any, sym: bool = True, **named: Any) -> Any:
        if len(given) > len(parameters):
            *given, sym = given  # type: ignore[assignment]
        values = [floating(v) for v in (*given, *(named.pop(p) for p in parameters[len(given) :] if p in named))]
        if named.keys() - {"xp", "device"}:
            raise TypeError(f"{name} got unexpected arguments {sorted(named)}")
        size, kept = _sized(M, sym)
        if M <= 1:
            return np.ones(kept) + 0 * values[0].sum()
        return formula(size, *values)[:kept]

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"""{what}

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.windows.{name}(3, {example}).shape
    dualtape.Size([3])
    """
    return like(_windows)(window)


def _cosines(size: int, a: Any) -> Any:
    angles = np.linspace(-np.pi, np.pi, size)
    return np.cos(np.arange(a.shape[0])[:, None] * angles).T @ a.to(np.float64)


def _centered(size: int) -> np.ndarray:
    return np.arange(size) - (size - 1) / 2.0


def _tukey(size: int, alpha: Any) -> Any:
    if float(plain(alpha)) <= 0:
        return np.ones(size) + 0 * alpha
    n = np.arange(size)
    width = int(np.floor(min(float(plain(alpha)), 1.0) * (size - 1) / 2.0))
    alpha = np.minimum(alpha, 1.0)
    first = 0.5 * (1 + np.cos(np.pi * (-1 + 2.0 * n / alpha / (size - 1))))
    last = 0.5 * (1 + np.cos(np.pi * (-2.0 / alpha + 1 + 2.0 * n / alpha / (size - 1))))
    return np.where(n <= width, first, np.where(n >= size - width - 1, last, 1.0))


gaussian = _window(
    "gaussian", lambda m, std: np.exp(-(_centered(m) ** 2) / (2 * std * std)), "Gauss' window.", "dt.tensor(1.0)", "std"
)
general_gaussian = _window(
    "general_gaussian",
    lambda m, p, sig: np.exp(
        -0.5 * np.where(_centered(m) == 0, 0.0, np.abs(np.where(_centered(m) == 0, 1.0, _centered(m)) / sig) ** (2 * p))
    ),
    "Gauss' window with another power.",
    "dt.tensor(1.5), 2.0",
    "p",
    "sig",
)
kaiser = _window(
    "kaiser",
    lambda m, beta: (
        SPECIAL["i0"](beta * np.sqrt(np.maximum(1 - (_centered(m) / ((m - 1) / 2.0)) ** 2, 0.0))) / SPECIAL["i0"](beta)
    ),
    "Kaiser's window.",
    "dt.tensor(3.0)",
    "beta",
)
general_cosine = _window("general_cosine", _cosines, "A sum of cosines.", "dt.tensor([0.5, 0.5])", "a")
general_hamming = _window(
    "general_hamming",
    lambda m, alpha: _cosines(m, op("stack")([alpha, 1.0 - alpha])),
    "Hamming's window with another weight.",
    "dt.tensor(0.7)",
    "alpha",
)
tukey = _window("tukey", _tukey, "Tukey's window, with cosines at the ends.", "dt.tensor(0.5)", "alpha")


@like(_windows)
def exponential(
    M: int, center: Any = None, tau: Any = 1.0, sym: bool = True, *, xp: Any = None, device: Any = None
) -> Any:
    """The window that decreases exponentially from its centre.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.windows.exponential(3, tau=dt.tensor(1.0)).round(decimals=4)
    tensor([0.3679, 1.0000, 0.3679], dtype=dualtape.float64)
    """
    if sym and center is not None:
        raise ValueError("If sym==True, center must be None.")
    size, kept = _sized(M, sym)
    middle = (size - 1) / 2 if center is None else center
    return np.exp(-np.abs(np.arange(size) - middle) / floating(tau))[:kept]
