"""Saved variables: values that a node keeps for its backward.

A node stores an *entry* for each saved tensor. A plain input that was never written is its own entry; otherwise the
entry is ``(value, counter, version)``. For an input the value is the tensor itself; for the node's own output it is the
bare array, so that node and tensor form no cycle; in forward mode its tangents follow. If hooks are registered, a
:class:`SavedVariable` replaces the entry. Unpacking checks the version: a value written since raises.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .. import errors, modes
from .._tensor.tensor import Tensor, alias, wrap
from ..arrays import Absent
from .node import AccumulateGrad, Freed, edge_of, leaf_edge
from .tangents import kept_tangents, tangents_of
from .versions import UNTRACKED, KeepingCounter, describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._typing import SavedEntry
    from .node import Node


def entry_of(tensor: object) -> Any:
    """Return the entry of an input; a Python number in place of a tensor is its own entry."""
    if not isinstance(tensor, Tensor):
        return tensor
    counter = tensor._version_counter
    if counter is None:
        if type(tensor) is Tensor:
            return tensor
        counter = tensor._shared_counter
    if type(counter) is KeepingCounter and not _may_move(tensor):
        return _kept(tensor, counter)
    return (tensor, counter, counter[0])


def _may_move(tensor: Tensor) -> bool:
    """Return whether ``tensor`` may have tangents, which a write changes in place, too."""
    return tensor._extra is not None or tensor._view is not None and tensor._view.base._extra is not None


class KeptInput:
    """What is saved of an input until its memory is written: a tensor over that memory with a counter of its own."""

    __slots__ = ("tensor", "own")

    def __init__(self, tensor: Tensor, own: list) -> None:
        self.tensor, self.own = weakref.ref(tensor), own

    def release(self) -> None:
        """Give it memory of its own, since that of the input is about to be written."""
        tensor = self.tensor()
        if tensor is not None:
            tensor._array = tensor._array.copy()

    def alive(self) -> bool:
        return self.tensor() is not None


class KeptOutput:
    """What a node saves of its own output until that is written."""

    __slots__ = ("node", "place", "own")

    def __init__(self, node: Node, place: int, own: list) -> None:
        self.node, self.place, self.own = weakref.ref(node), place, own

    def release(self) -> None:
        """Give it memory of its own, since that of the output is about to be written."""
        node = self.node()
        if node is None or type(node._saved) is not tuple:
            return
        entry = node._saved[self.place]
        if type(entry) is tuple and entry[1] is self.own:
            kept = (entry[0].copy(), *entry[1:])
            node._saved = (*node._saved[: self.place], kept, *node._saved[self.place + 1 :])

    def alive(self) -> bool:
        return self.node() is not None


def _kept(tensor: Tensor, counter: list) -> tuple:
    """Return an entry that a write to ``tensor`` copies first."""
    edge = edge_of(tensor) if tensor._view is not None else tensor._edge
    recorded = tensor._requires_grad or edge is not None
    new = wrap(tensor._array)
    new._edge = edge or leaf_edge(tensor) if recorded else None
    new._requires_grad = recorded
    own = new._version_counter = [0, None]
    _keep(counter, KeptInput(new, own))
    return (new, own, 0)


def keep_output(tensor: Tensor) -> None:
    """Let a write to ``tensor``, a new result, copy first what its node has saved of it."""
    counter, edge = tensor._version_counter, tensor._edge
    if type(counter) is not list or edge is None or tensor._view is not None or tensor._extra is not None:
        return
    node = edge[0]
    saved = node._saved if type(node) is not AccumulateGrad else None
    if type(saved) is not tuple:
        return
    new = KeepingCounter(counter)
    for place, entry in enumerate(saved):
        if type(entry) is tuple and len(entry) > 2 and entry[1] is counter:
            if len(entry) > 3:
                return
            own = [entry[2], None]
            node._saved = (*saved[:place], (entry[0], own, entry[2]), *saved[place + 1 :])
            _keep(new, KeptOutput(node, place, own))
            break
    tensor._version_counter = new


def _keep(counter: list, kept: KeptInput | KeptOutput) -> None:
    if len(counter) >= 32 and not len(counter) & (len(counter) - 1):  # what is gone is dropped now and then
        counter[2:] = [one for one in counter[2:] if one.alive()]
    counter.append(kept)


def output_entry(tensor: Tensor) -> tuple:
    """Return the entry of a node's own result: its array without history."""
    counter = tensor._version_counter or tensor._shared_counter
    return (tensor._array, counter, counter[0])


def full(entry: Any) -> tuple:
    """Return an entry in the form ``(value, counter, version, ...)``."""
    # whose class may have been changed since
    return (entry, entry._shared_counter, 0) if isinstance(entry, Tensor) else entry


def stale(entry: SavedEntry, node: Node, name: str) -> RuntimeError:
    """Return the error for an entry whose value was written since it was saved."""
    value, counter, version = full(entry)[:3]
    is_tensor = isinstance(value, Tensor)
    edge = value._edge if is_tensor else (node, 0)
    dtype = value._array.dtype if is_tensor else value.dtype
    return errors.overwritten(
        node._title(), name, tuple(value.shape), dtype, edge, version, counter[0], describe(counter[1])
    )


def saved_entry(tensor: object) -> Any:
    """Return the entry of an input; an inference tensor has none."""
    if isinstance(tensor, Tensor) and tensor._version_counter is UNTRACKED:
        raise errors.inference_saved("save")
    return entry_of(tensor)


def save(tensor: Tensor) -> Any:
    """Return the entry of an input, packed by the default hooks if there are any."""
    entry = saved_entry(tensor)
    hooks = modes.current().saved_hooks
    if hooks and type(hooks[-1]) is tuple:
        saved = SavedVariable(entry, False, 0)
        saved.pack(tensor, *hooks[-1])
        return saved
    return entry


def save_output(tensor: Tensor, node: Node, number: int) -> Any:
    """Return the entry of an output: the array without its history."""
    mode = modes.current()
    entry = output_entry(tensor)
    if mode.levels:
        entry = (*entry, tangents_of(tensor))
    hooks = mode.saved_hooks
    if hooks and type(hooks[-1]) is tuple:
        saved = SavedVariable(entry, True, number, node)
        saved.pack(tensor, *hooks[-1])
        return saved
    return entry


def unpack_raw(entry: SavedEntry, node: Node, name: str, is_output: bool) -> Any:
    """Return the raw array of an entry."""
    if type(entry) is SavedVariable:
        return entry.unpack(node, name)._array
    entry = full(entry)
    if entry[1][0] != entry[2]:
        raise stale(entry, node, name)
    return entry[0] if is_output else entry[0]._array


def unpack(entry: SavedEntry, node: Node, name: str, is_output: bool, number: int = 0) -> Tensor:
    """Return the tensor of an entry, with its history."""
    if type(entry) is SavedVariable:
        return entry.unpack(node, name)
    entry = full(entry)
    if entry[1][0] != entry[2]:
        raise stale(entry, node, name)
    if not is_output:
        return entry[0]
    return output_tensor(entry, node, number)


def output_tensor(entry: tuple, node: Node, number: int) -> Tensor:
    """Return an output's array as a tensor again, attached to the node that made it."""
    tensor = _over(entry[0])
    tensor._version_counter = entry[1]
    if len(entry) > 3:
        tensor._more().tangents = entry[3]
    if entry[0].dtype.kind in "fc":  # indices are outputs too, and have no history
        tensor._edge = (node, number)
        tensor._requires_grad = True
    return tensor


class SavedKey:
    """A saved key: for each of its parts, the entry of an index tensor, or what else stands there."""

    __slots__ = ("parts", "packed")

    def __init__(self, parts: list, packed: bool = False) -> None:
        self.parts, self.packed = parts, packed

    def pack(self, hooks: tuple) -> SavedKey:
        """Return the key with its index tensors packed by a pair of hooks."""
        parts = list(self.parts)
        for k, part in enumerate(parts):
            if isinstance(part, (tuple, Tensor)):
                parts[k] = SavedVariable(part, False, 0)
                parts[k].pack(full(part)[0], *hooks)
        return SavedKey(parts, True)

    def unpack(self, node: Node, name: str) -> tuple:
        """Return the key with the tensors of its entries."""
        is_entry = lambda part: isinstance(part, (tuple, Tensor, SavedVariable))
        return tuple([unpack(part, node, name, False) if is_entry(part) else part for part in self.parts])

    def check(self, node: Node, name: str) -> None:
        """Raise if an index tensor was written since it was saved."""
        for part in self.parts:
            if isinstance(part, (tuple, Tensor)) and full(part)[1][0] != full(part)[2]:
                raise stale(part, node, name)


def key_entry(key: object) -> Any:
    """Return what is saved of a key: the entries of its index tensors, if it has any; inference tensors are as good as
    arrays, since nothing counts their writes.
    """
    if not isinstance(key, (tuple, list)) or not any([isinstance(part, Tensor) for part in key]):
        return key
    plain = lambda part: isinstance(part, Tensor) and part._version_counter is UNTRACKED
    return SavedKey([part._array if plain(part) else entry_of(part) for part in key])


def raw_key(key: object) -> Any:
    """Return a key with arrays in place of its index tensors."""
    if not isinstance(key, (tuple, list)):
        return key
    for part in key:
        if isinstance(part, Tensor):
            return tuple([part._array if isinstance(part, Tensor) else part for part in key])
    return key


def same_values(tensor: Tensor) -> Tensor:
    """Return a tensor over the same memory without history; of the same class if that has no array."""
    if type(tensor._array) is not Absent:
        return alias(tensor)
    from ..overrides.subclass import same_class

    return same_class(tensor)


def _over(value: object) -> Tensor:
    """Return the value in an output's entry as a tensor: it is an array, or a tensor of a class without one."""
    return same_values(value) if isinstance(value, Tensor) else wrap(value)


class SavedVariable:
    """A saved tensor that is packed and unpacked by a pair of hooks.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([2.0], requires_grad=True)
    >>> y = x.exp()
    >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), lambda values: dt.tensor(values))
    >>> y.backward(); x.grad
    tensor([7.3891])
    """

    __slots__ = ("entry", "is_output", "number", "hooks", "packed", "_node", "_origin", "_own", "_tangents")

    def __init__(self, entry: SavedEntry, is_output: bool, number: int, node: Node | None = None) -> None:
        self.entry: tuple | None = None if entry is None else full(entry)
        self.is_output = is_output
        self.number = number
        self.hooks: tuple[Callable, Callable] | None = None
        self.packed: Any = None
        self._node = None if node is None else weakref.ref(node)
        # Of a packed input: where the gradient of the unpacked value goes. A leaf is kept itself.
        self._origin: Any = None
        self._tangents: Any = None  # once packed, in forward mode
        # Whether an output was packed unchanged: its entry is then kept without history, so that there is no cycle.
        self._own = False

    def is_none(self) -> bool:
        """Return whether nothing is saved here: the node was given None."""
        return self.entry is None and self.hooks is None

    def _freed(self) -> bool:
        node = self._node() if self._node is not None else None
        return node is not None and type(node._saved) is Freed

    @property
    def data(self) -> Any:
        """The stored object: the packed one, or the tensor."""
        if self.hooks is not None and not self._own:
            return self.packed
        return None if self.entry is None else self._shown(self.entry)

    @property
    def unpack_hook(self) -> Callable | None:
        """The hook that unpacks, or None."""
        return None if self.hooks is None else self.hooks[1]

    def _shown(self, entry: tuple) -> Tensor:
        if not self.is_output:
            return entry[0]
        shown = _over(entry[0])
        shown._version_counter = entry[1]
        return shown

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack the saved tensor now with ``pack_hook``; unpack it with ``unpack_hook`` when backward needs it.

        Examples
        --------
        >>> import dualtape as dt
        >>> y = dt.tensor([2.0], requires_grad=True).sin()
        >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 10, lambda t: t / 10)
        >>> y.grad_fn._raw_saved_self.data
        tensor([20.])
        """
        check_hooks(pack_hook, unpack_hook)
        if self._freed():
            raise errors.freed("the node")
        if self.is_none():
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden: nothing is saved here to pack"
            )
        if self.hooks is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set: only one pair of hooks is"
                " allowed at a time"
            )
        assert self.entry is not None
        self.pack(same_values(self._shown(self.entry)), pack_hook, unpack_hook, own=False)

    def pack(self, shown: Tensor, pack_hook: Callable, unpack_hook: Callable, own: bool = True) -> None:
        """Replace the entry by the result of ``pack_hook(shown)``; ``shown`` is the tensor's ``own`` object or an alias
        of it.
        """
        entry = self.entry
        assert entry is not None
        outside = modes.current()
        if outside.levels:
            self._tangents = entry[3] if self.is_output else kept_tangents(entry[0])
        inside = outside.no_grad or modes.without_grad(outside)
        try:
            modes._set(inside)
            packed = pack_hook(shown)
        finally:
            now = modes._set(outside).old_value
            if now is not inside:
                modes.keep(now, outside, "grad")
        if entry[1][0] != entry[2]:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook"
                " cannot be modified by in-place operations as this can lead to unexpected side-effects: work on a"
                " clone()"
            )
        if self.is_output:
            if packed is shown:
                self._own = own
                packed = None if own else self._shown(entry)
        elif entry[0].requires_grad:
            edge = edge_of(entry[0])
            self._origin = entry[0] if entry[0]._edge is None else edge
        self.hooks = (pack_hook, unpack_hook)
        self.packed = packed
        if not self._own:
            self.entry = None

    def unpack(self, node: Node | None = None, name: str = "data") -> Tensor:
        """Return the tensor, through the unpack hook if there is one; of a result, ``node`` is the node that made
        it.
        """
        if node is None and self._node is not None:
            node = self._node()
        if self.hooks is None:
            if self.entry is None or self._freed():
                raise errors.freed("the node" if node is None else node._title())
            return unpack(self.entry, node, name, self.is_output, self.number)  # type: ignore[arg-type]
        packed = self.packed
        if self._own:
            assert self.entry is not None
            packed = self._shown(self.entry) if node is None else output_tensor(self.entry, node, self.number)
        value = self.hooks[1](packed)
        if self._own and value is packed:
            return value  # as it was packed: a new tensor already
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type"
                f" {type(value).__name__}"
            )
        if self._origin is None and self._tangents is None and not self.is_output and not value.requires_grad:
            return value  # as PyTorch, where there is no history to drop or to attach
        result = same_values(value)
        self._attach(result, node)
        return result

    def _attach(self, tensor: Tensor, node: Node | None) -> None:
        """Give an unpacked tensor the history of the packed one."""
        if self._tangents is not None:
            tensor._more().tangents = self._tangents
        origin = self._origin
        if self.is_output:
            if tensor._array.dtype.kind not in "fc" or node is None:
                return
            tensor._edge = (node, self.number)
        elif isinstance(origin, Tensor):
            tensor._grad_accumulator = leaf_edge(origin)[0]
            tensor.__dict__["_origin"] = origin  # the accumulator knows its leaf weakly
        elif origin is not None:
            tensor._edge = origin
        else:
            return
        tensor._requires_grad = True


def check_hooks(pack_hook: object, unpack_hook: object) -> None:
    """Raise unless both hooks can be called."""
    for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
        if not callable(hook):
            raise TypeError(f"{name} must be callable, got {type(hook).__name__}")
