"""Rarely used properties of Tensor, each with the rules of its setter and deleter; and constant flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.hooks import NoHooks, shown_hooks
from ..errors import warn
from . import dtypes
from .tensor import SAME, Tensor

if TYPE_CHECKING:
    from .._typing import DTypeLike

_NEVER = (
    "is_quantized",
    "is_meta",
    "is_mps",
    "is_xpu",
    "is_mkldnn",
    "is_sparse_csr",
    "is_nested",
    "is_vulkan",
    "is_mtia",
    "is_ipu",
    "is_xla",
    "is_maia",
    "_has_symbolic_sizes_strides",
)


def _hooks(tensor: Tensor) -> Any:
    """Return the hooks on a tensor's gradient, None if there never were any."""
    if tensor.grad_fn is None:
        return None if tensor._extra is None else shown_hooks(tensor._extra.hooks)
    node, number = tensor._edge[:2]  # type: ignore[index]
    return None if node._extra is None else shown_hooks(node._extra.tensor_hooks.get(number))


def _as_hooks(hooks: object) -> dict:
    if hooks is not None and not isinstance(hooks, dict):
        raise TypeError(f"hooks are kept in a dictionary, got {type(hooks).__name__}")
    return NoHooks() if hooks is None else hooks


def _set_hooks(tensor: Tensor, hooks: object) -> None:
    hooks = _as_hooks(hooks)
    if tensor.grad_fn is None:
        tensor._more().hooks = hooks
        return
    node, number = tensor._edge[:2]  # type: ignore[index]
    node._more().tensor_hooks[number] = hooks


def _delete_hooks(tensor: Tensor) -> None:
    raise RuntimeError("Deletion of _backwards_hooks not allowed! Remove them by their handles, or assign None")


def _post_hooks(tensor: Tensor) -> Any:
    return None if tensor._extra is None else shown_hooks(tensor._extra.post_hooks)


def _set_post_hooks(tensor: Tensor, hooks: object) -> None:
    tensor._more().post_hooks = _as_hooks(hooks)


def _delete_post_hooks(tensor: Tensor) -> None:
    raise RuntimeError(
        "Deletion of _post_accumulate_grad_hooks not allowed! Remove them by their handles, or assign None"
    )


def _grad_dtype(tensor: Tensor) -> Any:
    """Return the dtype to which a leaf's gradients are cast; None: they are not."""
    if tensor.grad_fn is not None:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    extra = tensor._extra
    return tensor.dtype if extra is None or extra.grad_dtype is SAME else extra.grad_dtype


def _set_grad_dtype(tensor: Tensor, value: DTypeLike | None) -> None:
    if value is not None and not isinstance(value, dtypes.dtype):
        raise RuntimeError(f"grad_dtype must be a dualtape.dtype or None, but got {type(value).__name__}")
    if tensor.grad_fn is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if value is not None and tensor._grad is not None and tensor._grad.dtype != value:
        raise RuntimeError(
            f"Cannot set grad_dtype to {value!r}: there is already a gradient of {tensor._grad.dtype!r}; clear it first"
            " (.grad = None)"
        )
    tensor._more().grad_dtype = value
    if tensor._grad_accumulator is not None:
        tensor._grad_accumulator._dtype = tensor._more().gradient_dtype(tensor._array.dtype)


def _volatile(tensor: Tensor) -> bool:
    warn("volatile was removed (Variable.volatile is always False)", UserWarning)
    return False


def _set_volatile(tensor: Tensor, value: object) -> None:
    warn("volatile was removed and now has no effect. Use `with dualtape.no_grad():` instead.", UserWarning)


def _delete_volatile(tensor: Tensor) -> None:
    _set_volatile(tensor, None)


def _set_grad_fn(tensor: Tensor, value: object) -> None:
    if value is not None:
        raise RuntimeError("_grad_fn can be only set to None")
    tensor.detach_()


def _delete_grad_fn(tensor: Tensor) -> None:
    raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")


def _cuda_array_interface(tensor: Tensor) -> Any:
    """CUDA's array protocol, for tensors on a GPU."""
    array: Any = tensor._array
    if not tensor.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {tensor.type()}; move it with .cuda() first"
        )
    if tensor.requires_grad:
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad: use tensor.detach()")
    return array.__cuda_array_interface__


def _false(tensor: Tensor) -> bool:
    return False


def _none(tensor: Tensor) -> None:
    return None


for _name, _property in {
    "_backward_hooks": property(_hooks, _set_hooks, _delete_hooks),
    "_post_accumulate_grad_hooks": property(_post_hooks, _set_post_hooks, _delete_post_hooks),
    "grad_dtype": property(_grad_dtype, _set_grad_dtype),
    "volatile": property(_volatile, _set_volatile, _delete_volatile),
    "_grad_fn": property(lambda tensor: tensor.grad_fn, _set_grad_fn, _delete_grad_fn),
    "name": property(_none),
    "__cuda_array_interface__": property(_cuda_array_interface),
    **{name: property(_false) for name in _NEVER},
}.items():
    setattr(Tensor, _name, _property)
