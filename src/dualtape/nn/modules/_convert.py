"""Conversion of a module's tensors to another dtype, device or memory: in place, so that references to parameters stay
valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..._tensor.device import device as Device
from ..._tensor.device import memory_format as MemoryFormat
from ..._tensor.dtypes import dtype as Dtype
from ..._tensor.shaped import empty_like
from ..._tensor.swapping import swap_tensors
from ..._tensor.tensor import Tensor
from ...errors import warn
from ...modes import no_grad
from ..parameter import Parameter
from . import _conversion_settings

if TYPE_CHECKING:
    from typing import Self


class Conversions:
    """Methods that change all tensors of a module and its children."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    if TYPE_CHECKING:

        def children(self) -> Iterator[Any]: ...

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of each parameter, gradient and buffer by ``fn`` of it; parameters remain the same
        objects.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in list(self._parameters.items()):
            if parameter is None:
                continue
            grad = parameter.grad
            with no_grad():
                new, new_grad = fn(parameter), None if grad is None else fn(grad)
            if _conversion_settings.overwrite or _conversion_settings.swap:
                self._dt_replace_parameter(name, parameter, new, new_grad)
                continue
            parameter.data = new
            if grad is not None and new_grad is not None:
                grad.data = new_grad
                parameter.grad = grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _dt_replace_parameter(self, name: str, old: Parameter, new: Tensor, grad: Tensor | None) -> None:
        """Put a new parameter in the place of ``old``; with ``dualtape.__future__``'s swap, the object remains."""
        replacement = Parameter(new, old.requires_grad)
        if grad is not None:
            replacement.grad = grad.requires_grad_(old.grad.requires_grad)  # type: ignore[union-attr]
        if _conversion_settings.swap:
            swap_tensors(old, replacement)
        else:
            self._parameters[name] = replacement

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert to a device and/or a dtype, or to those of a tensor: ``to(dtype)``, ``to(device, dtype)``,
        ``to(tensor)``, ``to(memory_format=...)``. Integers keep their dtype.
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got dtype={dtype!r}")
        if dtype is not None and dtype.is_complex:
            warn("Complex modules are new: some layers may not work with complex parameters")

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            layout = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
            return tensor.to(device, wanted, non_blocking, **layout)

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Convert every parameter and buffer to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating-point tensors to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Convert floating-point tensors to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Convert floating-point tensors to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Convert floating-point tensors to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying the values."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)

    def share_memory(self) -> Self:
        """Move the tensors into memory that other processes may share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether the parameters require grad."""
        for parameter in self.parameters():  # type: ignore[attr-defined]
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the parameters; or, if not ``set_to_none``, fill them with zeros."""
        for parameter in self.parameters():  # type: ignore[attr-defined]
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if parameter.grad.grad_fn is not None:
                parameter.grad.detach_()
            else:
                parameter.grad.requires_grad_(False)
            parameter.grad.zero_()


_DEFAULTS = {"device": None, "dtype": None, "non_blocking": False, "copy": False, "memory_format": None}


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return (device, dtype, non_blocking, memory_format) from the arguments of ``to``, in any of its three forms."""
    if isinstance(kwargs.get("tensor"), Tensor):
        args = (kwargs.pop("tensor"), *args)
    if args and isinstance(args[0], Tensor):
        names, found = ("non_blocking", "copy"), {"device": args[0].device, "dtype": args[0].dtype}
        args = args[1:]
    elif args and isinstance(args[0], Dtype):
        names, found = ("dtype", "non_blocking", "copy"), {}  # type: ignore[assignment]
    else:
        names, found = ("device", "dtype", "non_blocking", "copy"), {}  # type: ignore[assignment]
    if len(args) > len(names) or kwargs.keys() - _DEFAULTS.keys() or kwargs.keys() & set(names[: len(args)]):
        raise TypeError(
            "to() received an invalid combination of arguments: it takes (device, dtype, non_blocking), (dtype,"
            f" non_blocking) or (tensor, non_blocking), and memory_format by keyword; got {len(args)} and {[*kwargs]}"
        )
    given: dict[str, Any] = {**_DEFAULTS, **found, **dict(zip(names, args, strict=False)), **kwargs}
    for name, kind in (("dtype", Dtype), ("memory_format", MemoryFormat)):
        if given[name] is not None and not isinstance(given[name], kind):
            raise TypeError(f"to(): argument '{name}' must be {kind.__name__}, got {given[name]!r}")
    if given["device"] is not None:
        given["device"] = Device(given["device"])
    return given["device"], given["dtype"], given["non_blocking"], given["memory_format"]
