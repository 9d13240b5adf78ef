"""``scipy.signal`` for tensors: convolutions, filters, spectra, windows.

Coefficients of filters, windows and parameters may be tensors with history, as well as signals.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...arrays.lazy import scipy_signal as _signal
from .._like import names_of, scipys
from . import convolution, filters, spectra, waveforms

_PARTS = (convolution, filters, spectra, waveforms)
__all__ = sorted({"windows", *(name for module in _PARTS for name in module.__all__)})  # noqa: PLE0605

globals().update({name: getattr(module, name) for module in _PARTS for name in module.__all__})


def __getattr__(name: str) -> Any:
    if name == "windows":
        return import_module(f".{name}", __name__)
    return scipys(_signal, name, __name__)


__dir__ = names_of(_signal, __name__)
