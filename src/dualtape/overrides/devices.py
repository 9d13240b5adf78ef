"""The device of new tensors: ``with device(...)`` and ``set_default_device``, as a mode over what makes tensors."""

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
    """Inside ``with``, tensors that are made without ``device=`` are on this one."""

    def __init__(self, device: device) -> None:
        self.device = device

    def __torch_function__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", None) in _MAKERS and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


def enter(where: device) -> None:
    """Begin a context in which tensors are made on a device."""
    DeviceContext(where).__enter__()


def leave(where: device) -> None:
    """End the last such context of this device."""
    for context in reversed(modes.current().functions):
        if isinstance(context, DeviceContext) and context.device == where:
            return context.__exit__(None, None, None)
    raise RuntimeError(f"{where!r} is left, but was not entered here")


def default() -> device:
    """Where tensors are made unless ``device=`` says otherwise."""
    found = [context for context in modes.current().functions if isinstance(context, DeviceContext)]
    return found[-1].device if found else CPU


class _Default(DeviceContext):
    """That of ``set_default_device``, beneath all others."""


def set_default(where: device | None) -> None:
    """Make tensors on a device from now on; None and the CPU: as in the beginning."""
    mode = modes.current()
    others = tuple(context for context in mode.functions if not isinstance(context, _Default))
    if where is None or where.type == "cpu":
        modes._set(mode.replace(functions=others))
    else:
        activate_overrides()
        modes._set(mode.replace(functions=(_Default(where), *others)))
