"""Common parts of all sparse layouts: their repr, and what they refuse."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.device import device as Device
from .._tensor.printing import _append_suffixes, _dtype_is_implied, _history, tensor_str
from .._tensor.tensor import Tensor, wrap
from ..arrays.bfloat16_dtype import made as made_array
from ..overrides.subclass import disabled_function


class SparseLayout(Tensor):
    """A tensor that stores its nonzero entries, in any order."""

    _parts_held: tuple[str, ...]  # the attributes that hold the entries
    _overrides_members = False  # operations ask this class; properties need not

    @property
    def data(self) -> Any:
        return self.detach()

    @data.setter
    def data(self, source: Any) -> None:
        if not isinstance(source, SparseLayout) or source.layout is not self.layout:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor"
                f" type: expected layout {self.layout!r}, got {getattr(source, 'layout', type(source).__name__)!r}"
            )
        if self.requires_grad and source._array.dtype.kind not in "fc":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._array = source._array
        for name in self._parts_held:
            setattr(self, name, getattr(source, name))

    def numpy(self, *, force: bool = False) -> np.ndarray:
        raise TypeError(f"can't convert {self.layout!r} layout tensor to numpy. Use Tensor.to_dense() first.")

    def tolist(self) -> Any:
        raise RuntimeError("a sparse tensor has no list of values: use to_dense().tolist()")

    def get_device(self) -> int:
        return -1

    def new_zeros(self, *size: Any, dtype: Any = None, device: Any = None, **more: Any) -> Any:
        """Zeros of this layout: no entries."""
        from .compressed import to_layout
        from .coo import sparse_coo_tensor

        no_other_memory(device, bool(more.pop("pin_memory", False)))
        shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
        dtype = self.dtype if dtype is None else dtype
        requires_grad = more.pop("requires_grad", False)
        layout = more.pop("layout", None)
        if more:
            raise TypeError(f"new_zeros() got an unexpected keyword argument {next(iter(more))!r}")
        if layout is not None and layout.name == "strided":
            return wrap(made_array(np.zeros, shape, dtypes.to_numpy(dtype))).requires_grad_(requires_grad)
        made = sparse_coo_tensor(size=shape, dtype=dtype)
        if not self.is_sparse:
            made = to_layout(made, self.layout, self._blocksize() or None)  # type: ignore[attr-defined]
        return made.requires_grad_(requires_grad)

    new_empty = new_zeros

    def new_ones(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"a {self.layout!r} tensor of other values than zeros is dense: make a strided one")

    new_full = new_ones

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None) -> Any:
        from .compressed import to_layout

        if sparse_dim not in (None, self.sparse_dim()):
            raise RuntimeError(
                f"to_sparse: a sparse tensor of {self.sparse_dim()} sparse dimensions cannot get {sparse_dim}: call"
                " to_dense() first"
            )
        return self if layout is None and self.is_sparse else to_layout(self, layout, blocksize)


def without_asking(func: Callable, types: tuple, args: tuple, kwargs: dict | None) -> Any:
    """Run a function that sparse tensors do not override.

    A method that is made of others, such as ``x[key]``, runs such that those ask: with ``select``, which sparse tensors
    override, they have ``x[key]``. Any other function runs without asking ``__torch_function__`` again.
    """
    # ``div_`` is asked for by the name of what it is made of, and would ask for that again.
    if getattr(func, "is_made_of_others", False) and func.__name__.strip("_") != "div":
        return func.__wrapped__(*args, **(kwargs or {}))  # type: ignore[attr-defined]
    return disabled_function(func, types, args, kwargs)


def sparse_repr(tensor: Any, parts: dict[str, np.ndarray], count: int) -> str:
    """Return the ``repr`` of a sparse tensor that consists of these arrays."""
    shown = []
    for name, array in parts.items():
        text = tensor_str(array, suffixes=() if array.size else (f"size={array.shape}",))
        shown.append(f"{name}=" + textwrap.indent(text, " " * (len(name) + 8)).lstrip(" "))
    suffixes = [f"size={tuple(tensor.shape)}", f"nnz={count}"]
    if not _dtype_is_implied(tensor, not count):
        suffixes.append(f"dtype={tensor.dtype}")
    suffixes.append(f"layout={tensor.layout!r}")
    history = _history(tensor)
    if history is not None:
        suffixes.append(history)
    text = "tensor(" + ",\n       ".join(shown)
    if tensor.is_sparse:  # whose size always begins a line
        text += ",\n       " + suffixes.pop(0)
    return _append_suffixes(text, suffixes, 7)


def no_other_memory(device: Any, pin_memory: bool) -> None:
    """Raise for memory that a sparse tensor cannot be in, rather than ignore it."""
    if device is not None and Device(device).type != "cpu":
        raise NotImplementedError(f"sparse tensors are in the memory of the CPU, got device={device!r}")
    if pin_memory:
        raise NotImplementedError("there is no pinned memory for sparse tensors: leave out pin_memory")
