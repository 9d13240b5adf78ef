"""The default device of new tensors: ``with device(...)`` and ``set_default_device``, as a function mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import modes
from .._tensor.device import CPU, device
from .function_modes import TorchFunctionMode
from .subclass import activate_overrides

_MAKERS = frozenset(
    """
    arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye fftfreq rfftfreq
    from_file full hamming_window hann_window kaiser_window linspace logspace nested_tensor normal ones rand randint
    randn randperm range scalar_tensor sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor
    sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros
""".split()
)


class DeviceContext(TorchFunctionMode):
    """Context in which tensors created without ``device=`` are on this device."""

    def __init__(self, device: device) -> None:
        self.device = device

    def __torch_function__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", None) in _MAKERS and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


def enter(where: device) -> None:
    """Begin a context in which tensors are created on a device."""
    DeviceContext(where).__enter__()


def leave(where: device) -> None:
    """End the last such context of this device."""
    for context in reversed(modes.current().functions):
        if isinstance(context, DeviceContext) and context.device == where:
            return context.__exit__(None, None, None)
    raise RuntimeError(f"{where!r} is left, but was not entered here")


def default() -> device:
    """Return the device on which tensors are created without ``device=``."""
    found = [context for context in modes.current().functions if isinstance(context, DeviceContext)]
    return found[-1].device if found else CPU


class _Default(DeviceContext):
    """The context of ``set_default_device``, below all others."""


def set_default(where: device | None) -> None:
    """Create tensors on a device from now on; None and the CPU restore the initial state."""
    mode = modes.current()
    others = tuple(context for context in mode.functions if not isinstance(context, _Default))
    if where is None or where.type == "cpu":
        modes._set(mode.replace(functions=others))
    else:
        activate_overrides()
        modes._set(mode.replace(functions=(_Default(where), *others)))
