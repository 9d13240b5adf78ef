"""Saved-tensor hooks: contexts that pack, move, forbid packing of, or allow overwriting saved tensors.

The mode keeps a stack of (pack, unpack) pairs; a text instead of a pair means that hooks are disabled, and says why.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import modes
from .saved import check_hooks

if TYPE_CHECKING:
    from .._tensor.tensor import Tensor

__all__ = ["allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks(modes.ModeContext):
    """Context that packs every tensor saved for backward, and unpacks it when backward needs it.

    Parameters
    ----------
    pack_hook : callable
        Takes the tensor that is to be saved; gives anything.
    unpack_hook : callable
        Takes what ``pack_hook`` gave; gives a tensor with the same content.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, 2.0], requires_grad=True)
    >>> with dt.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
    ...     y = x.exp()
    >>> y.grad_fn._raw_saved_result.data.dtype
    dualtape.float16
    """

    stack = "saved_hooks"

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def change(self, mode: modes.Mode) -> modes.Mode:
        check_hooks(self.pack_hook, self.unpack_hook)
        if mode.saved_hooks and type(mode.saved_hooks[-1]) is str:
            raise RuntimeError(mode.saved_hooks[-1])
        return mode.replace(saved_hooks=(*mode.saved_hooks, (self.pack_hook, self.unpack_hook)))

    def clone(self) -> modes.ModeContext:
        return saved_tensors_hooks(self.pack_hook, self.unpack_hook)


class save_on_cpu(saved_tensors_hooks):
    """Context that keeps saved tensors in the CPU's memory, and copies them back to their device for backward.

    Parameters
    ----------
    pin_memory : bool
        Accepted for compatibility: the memory is NumPy's.
    device_type : str
        Accepted for compatibility.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, 2.0], requires_grad=True)
    >>> with dt.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward(); x.grad
    tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        self.settings = (pin_memory, device_type)
        super().__init__(lambda tensor: (tensor.device, tensor.detach().cpu()), lambda packed: packed[1].to(packed[0]))

    def clone(self) -> modes.ModeContext:
        return save_on_cpu(*self.settings)


class disable_saved_tensors_hooks(modes.ModeContext):
    """Context that refuses saved-tensor hooks, with a message given by the user.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.autograd.graph.disable_saved_tensors_hooks("no packing here"):
    ...     with dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         pass
    Traceback (most recent call last):
    RuntimeError: no packing here
    """

    stack = "saved_hooks"

    def __init__(self, error_message: str) -> None:
        self.message = str(error_message)

    def change(self, mode: modes.Mode) -> modes.Mode:
        if mode.saved_hooks and type(mode.saved_hooks[-1]) is not str:
            raise RuntimeError(self.message)
        return mode.replace(saved_hooks=(*mode.saved_hooks, self.message))

    def clone(self) -> modes.ModeContext:
        return disable_saved_tensors_hooks(self.message)


class allow_mutation_on_saved_tensors(modes.ModeContext):
    """Context in which saved tensors may be written in place: their old content is copied just before the write.

    Backward must run inside too.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, 2.0], requires_grad=True)
    >>> with dt.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = y * y
    ...     y.zero_()
    ...     z.sum().backward()
    tensor([0., 0.], grad_fn=<ZeroBackward0>)
    >>> x.grad
    tensor([2., 4.])
    """

    stack = "saved_hooks"

    def __enter__(self) -> SavedCopies:
        self.copies = SavedCopies()
        super().__enter__()
        return self.copies

    def change(self, mode: modes.Mode) -> modes.Mode:
        if any(
            type(pair) is tuple and isinstance(getattr(pair[0], "__self__", None), SavedCopies)
            for pair in mode.saved_hooks
        ):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested: one is open already")
        hooks = saved_tensors_hooks(self.copies.pack, self.copies.unpack)
        return hooks.change(mode)

    def left(self) -> None:
        self.copies.clear()


class _Kept:
    """One saved tensor, or its copy once it was written."""

    __slots__ = ("tensor", "__weakref__")

    def __init__(self, tensor: Tensor | None) -> None:
        self.tensor = tensor


class SavedCopies:
    """The tensors saved inside one :class:`allow_mutation_on_saved_tensors`, by the memory that they use.

    Attributes
    ----------
    cloned : mapping
        The saved values that had to be copied and are still needed.
    """

    def __init__(self) -> None:
        self.cloned: weakref.WeakKeyDictionary[_Kept, Any] = weakref.WeakKeyDictionary()
        self._by_counter: dict[int, weakref.WeakValueDictionary[int, _Kept]] = {}  # by array, while it is not written

    def pack(self, tensor: Tensor) -> _Kept:
        """Register a tensor that is being saved; the same tensor is registered once."""
        group = self._by_counter.setdefault(id(tensor._shared_counter), weakref.WeakValueDictionary())
        kept = group.get(id(tensor._array))
        if kept is None or kept.tensor is None or kept.tensor._array is not tensor._array:
            kept = group[id(tensor._array)] = _Kept(tensor.detach())
        return kept

    def unpack(self, kept: _Kept) -> Tensor:
        """Return the tensor with the values that it had when it was saved."""
        if kept.tensor is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was"
                " originally"
                " recorded: run backward inside it"
            )
        return kept.tensor

    def before_write(self, tensor: Tensor) -> None:
        """Copy saved values of the memory that is about to be written."""
        for kept in list(self._by_counter.pop(id(tensor._shared_counter), {}).values()):
            if kept.tensor is not None and kept.tensor._shared_counter is tensor._shared_counter:
                kept.tensor = kept.tensor.clone()
                self.cloned[kept] = kept.tensor

    def clear(self) -> None:
        """Discard all copies, when the context ends."""
        for group in self._by_counter.values():
            for kept in list(group.values()):
                kept.tensor = None
        for kept in list(self.cloned):
            kept.tensor = None
        self._by_counter.clear()
        self.cloned.clear()


def before_write(tensor: Tensor, hooks: tuple) -> None:
    """Notify the contexts among ``hooks`` that allow overwriting saved tensors of a coming write."""
    for pair in hooks:
        if type(pair) is tuple:
            owner = getattr(pair[0], "__self__", None)
            if isinstance(owner, SavedCopies):
                with modes.no_grad():
                    owner.before_write(tensor)
