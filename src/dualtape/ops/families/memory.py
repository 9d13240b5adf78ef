"""Changes of a tensor's memory: resized, replaced by another's, filled by a Python function."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import index
from typing import Any

import numpy as np

from ... import errors, modes
from ..._tensor import dtypes, storage
from ..._tensor.device import contiguous_format, preserve_format
from ..._tensor.storage import TypedStorage, UntypedStorage
from ..._tensor.tensor import Tensor, new_tensor
from ...autograd.node import Node
from ...autograd.underived import RefusingNode
from ...autograd.versions import UNTRACKED, bump
from ...autograd.views import check_change, check_write, rebase, views_of
from ...errors import warn
from ...overrides.active_overrides import explaining, overridable
from ..dispatch import FUNCTIONS
from .inplace_views import turned

# --- another size ---------------------------------------------------------------------------------


def _alone(x: Any, name: str) -> None:
    """Raise if other tensors share the memory that ``x`` is about to leave."""
    if x._is_view() or views_of(x):
        raise RuntimeError(f"{name}: the tensor is a view or has views, which would not follow it: clone() it first")


def sizes_of(size: tuple) -> tuple[int, ...]:
    given = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    try:
        return tuple([index(n) for n in given])
    except TypeError:
        raise TypeError(f"the sizes must be integers, got {given!r}") from None


def _resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give a tensor another shape: elements keep their order, additional ones are not initialised.

    Where it needs no more memory it shows the beginning of what it has, else it gets new memory, which is refused if it
    is a view or has views.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    sizes = sizes_of(size)
    if memory_format not in (None, contiguous_format, preserve_format):
        raise RuntimeError(f"resize_: memory format {memory_format} is not supported")
    if self.requires_grad and modes.current().grad:
        raise RuntimeError("cannot resize variables that require grad: detach() the tensor first")
    if min(sizes, default=0) < 0:
        raise RuntimeError(f"resize_: negative sizes are not supported, got {list(sizes)}")
    array = self._array
    if array.shape == sizes:
        return self
    check_change(self, "resize_", False)
    count = prod(sizes)
    if count <= array.size and array.flags.c_contiguous:
        shown = lambda: FUNCTIONS["as_strided"](self, sizes, _row_by_row(sizes), self.storage_offset())
        return turned(self, "resize_", shown, lambda: None)
    _alone(self, "resize_")
    new = np.empty(count, array.dtype)
    kept = min(count, array.size)
    new[:kept] = array.reshape(-1)[:kept]
    bump(self._shared_counter)
    self._array = new.reshape(sizes)
    return self


def _row_by_row(sizes: tuple) -> tuple[int, ...]:
    return tuple([prod(sizes[d + 1 :]) for d in range(len(sizes))])


def _resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give a tensor the shape of another, as :meth:`resize_` does.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(6).resize_as_(dt.ones(2, 2)).shape
    dualtape.Size([2, 2])
    """
    if not isinstance(the_template, Tensor):
        raise errors.not_a_tensor("resize_as_", "the_template", the_template)
    return _resize_(input, tuple(the_template.shape), memory_format=memory_format)


def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """The tensor in another shape with as many elements: PyTorch's old name for what :func:`reshape` does.

    Examples
    --------
    >>> import dualtape as dt, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     dt.arange(4).resize(2, 2).shape
    dualtape.Size([2, 2])
    """
    warn("non-inplace resize is deprecated: use reshape", UserWarning)
    wanted = sizes_of(sizes)
    if prod(wanted) != self._array.size:
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, wanted))} ({prod(wanted)} elements in total), but the given tensor"
            f" has a size of {'x'.join(map(str, self.shape))} ({self._array.size} elements)"
        )
    return self.contiguous().view(wanted)


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The tensor in the shape of another with as many elements: PyTorch's old name for :meth:`reshape_as`.

    Examples
    --------
    >>> import dualtape as dt, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     dt.arange(4).resize_as(dt.ones(2, 2)).shape
    dualtape.Size([2, 2])
    """
    if not isinstance(tensor, Tensor):
        raise errors.not_a_tensor("resize_as", "tensor", tensor)
    return _resize(self, tuple(tensor.shape))


# --- another memory -------------------------------------------------------------------------------


def _set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make a tensor use the memory of another one, or of a storage; without a source, none.

    Both count writes together: what was saved of one knows when the other is written. The result has a history if one
    of the two requires grad, but no derivative: a backward through it raises.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.arange(4)
    >>> dt.tensor([], dtype=dt.int64).set_(x, 1, (2,), (2,))
    tensor([1, 3])
    """
    inputs = (self, source) if isinstance(source, Tensor) and size is None else (self,)
    recording = modes.current().grad and any([x.requires_grad for x in inputs]) and self._array.dtype.kind in "fc"
    check_change(self, "set_", recording)
    _alone(self, "set_")
    dtype, counter = self._array.dtype, None
    if source is None:
        array = np.empty(0, dtype)
    elif isinstance(source, Tensor) and size is None:
        array, counter = source._array, source._shared_counter
    else:
        if isinstance(source, Tensor):
            counter, memory = source._shared_counter, storage.untyped_storage(source)
        elif isinstance(source, (UntypedStorage, TypedStorage)):
            memory = source if isinstance(source, UntypedStorage) else source.untyped()
        else:
            raise TypeError(f"set_(): argument 'source' must be a Tensor or a storage, not {type(source).__name__}")
        kind = dtype if isinstance(source, UntypedStorage) else getattr(source.dtype, "numpy", dtype)
        flat = memory._bytes.view(kind)
        sizes = (flat.size,) if size is None else sizes_of((size,))
        strides = _row_by_row(sizes) if stride is None or not len(stride) and sizes else sizes_of((stride,))
        array = new_tensor(flat).as_strided(sizes, strides, storage_offset)._array
    if array.dtype != dtype:
        raise RuntimeError(f"Could not set tensor of type {array.dtype} to a tensor of type {dtype}")
    node = RefusingNode("set_", array, *inputs) if recording else None
    own = self._version_counter
    if counter is None or counter is UNTRACKED:
        bump(self._shared_counter)
        counter = self._shared_counter
    elif own is not None:
        bump(own)
    elif not counter[0] and _saved_as_it_is(self):
        bump(counter)  # the nodes that saved it take a count above 0 for a write, and look at nothing else
    if node is not None:
        rebase(self, node)
    self._array, self._version_counter = array, counter
    return self


def _saved_as_it_is(x: Tensor) -> bool:
    """Return whether a node holds a tensor that was never written, without its version."""
    from gc import get_referrers

    held = [each for each in get_referrers(x) if type(each) in (tuple, list)]
    return any([isinstance(node, Node) for each in held for node in get_referrers(each)])


# --- functions of Python --------------------------------------------------------------------------


def _filled(name: str, self: Tensor, function: Callable, *others: Any) -> Tensor:
    if not callable(function):
        raise TypeError(f"{name}(): argument 'callable' must be a function, not {type(function).__name__}")
    for each in (self, *others):
        if not isinstance(each, Tensor):
            raise errors.not_a_tensor(name, "tensor", each)
        if each.requires_grad:
            raise RuntimeError(f"Can't call {name}() on Variable that requires grad: use x.detach().{name}() instead")
        if each.dtype != self.dtype:
            raise TypeError(f"{name}: expected tensors of dtype {self.dtype!r}, got {each.dtype!r}")
    arrays = [np.broadcast_to(each._array, self._array.shape) for each in (self, *others)]
    check_write(self, name, False)
    values = [function(*some) for some in zip(*[a.reshape(-1).tolist() for a in arrays], strict=True)]
    result = np.array([dtypes.number_as(v, self._array.dtype) for v in values], self._array.dtype)
    bump(self._shared_counter)
    self._array[...] = result.reshape(self._array.shape)
    return self


def _apply_(self: Tensor, callable: Callable) -> Tensor:
    """Replace each element by a Python function of it: slow, and without history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor([1.0, 2.0]).apply_(lambda v: 10 * v)
    tensor([10., 20.])
    """
    return _filled("apply_", self, callable)


def _map_(self: Tensor, tensor: Tensor, callable: Callable) -> Tensor:
    """Replace each element by a Python function of it and the element of another tensor: slow, and without history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor([1.0, 2.0]).map_(dt.tensor([10.0, 20.0]), lambda a, b: a + b)
    tensor([11., 22.])
    """
    return _filled("map_", self, callable, tensor)


def _map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable) -> Tensor:
    """:meth:`map_` with two other tensors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor([1.0]).map2_(dt.tensor([10.0]), dt.tensor([5.0]), lambda a, b, c: a + b * c)
    tensor([51.])
    """
    return _filled("map2_", self, callable, x, y)


# --- other memories -------------------------------------------------------------------------------


def _module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Return the value of a parameter when a module loads ``other`` into it: itself with the new values, or ``other``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(2).module_load(dt.ones(2))
    tensor([1., 1.])
    """
    if not isinstance(other, Tensor):
        raise errors.not_a_tensor("module_load", "other", other)
    return other.detach() if assign else self.copy_(other).detach()


def _refusing(name: str, error: type[Exception], why: str, doc: str) -> Callable:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise error(f"{name}: {why}")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""{doc}

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1).{name}({"None" if name == "record_stream" else ""})
    Traceback (most recent call last):
    {error.__name__}: {name}: {why}
    """
    return method


_METHODS: dict[str, Callable] = {
    "resize_": _resize_, "resize_as_": _resize_as_, "resize": _resize, "resize_as": _resize_as, "set_": _set_,
    "apply_": _apply_, "map_": _map_, "map2_": _map2_, "module_load": _module_load, "storage": storage.storage,
    "untyped_storage": storage.untyped_storage, "storage_type": storage.storage_type,
    "pin_memory": _refusing("pin_memory", RuntimeError, "there is no accelerator that memory could be pinned for",
                            "Refused: nothing is copied to a device behind the program's back."),
    "record_stream": _refusing("record_stream", NotImplementedError, "arrays are not allocated by stream",
                               "Refused: memory is freed when nothing refers to it."),
    "share_memory_": _refusing("share_memory_", NotImplementedError, "tensors are not shared among processes",
                               "Refused: tensors are copied when they are sent to another process."),
}  # fmt: skip
for _name, _method in _METHODS.items():
    _method.__name__ = _method.__qualname__ = _name
    setattr(Tensor, _name, overridable(explaining(_method, _name)))
FUNCTIONS["resize_as_"] = Tensor.resize_as_
