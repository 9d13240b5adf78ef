"""Saved variables: what a node keeps for its backward.

In a node a saved tensor is an *entry*: ``(value, counter, version)``. For an input the value is the tensor itself; for
the node's own output it is the bare array, so that node and tensor form no cycle. When hooks are asked for, a
:class:`SavedVariable` takes the entry's place. Unpacking checks the version: a value written since is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import errors, modes
from .versions import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..tensor import Tensor
    from .node import Node


def stale(entry: tuple, node: Node, name: str) -> RuntimeError:
    """The error for an entry whose value was written since it was saved."""
    value, counter, version = entry
    return errors.overwritten(
        node.name(), name, tuple(value.shape), value.dtype, version, counter[0], describe(counter[1])
    )


def save(tensor: Tensor) -> Any:
    """An input's entry, under the default hooks if there are any."""
    hooks = modes.current().saved_hooks
    if hooks and hooks[-1] is not None:
        saved = SavedVariable((tensor, tensor._counter, tensor._counter[0]), False, 0)
        saved.pack(*hooks[-1])
        return saved
    if tensor._counter is None:
        raise errors.inference_saved("save")
    return (tensor, tensor._counter, tensor._counter[0])


def save_output(tensor: Tensor, node: Node, number: int) -> Any:
    """An output's entry: the array without its history."""
    entry = (tensor._array, tensor._counter, tensor._counter[0])
    hooks = modes.current().saved_hooks
    if hooks and hooks[-1] is not None:
        saved = SavedVariable(entry, True, number)
        saved.pack(*hooks[-1])
        return saved
    return entry


def unpack_raw(entry: Any, node: Node, name: str, is_output: bool) -> Any:
    """The raw array of an entry."""
    if type(entry) is SavedVariable:
        return entry.unpack(node, name)._array
    if entry[1][0] != entry[2]:
        raise stale(entry, node, name)
    return entry[0] if is_output else entry[0]._array


def unpack(entry: Any, node: Node, name: str, is_output: bool, number: int = 0) -> Tensor:
    """The tensor of an entry, with its history."""
    if type(entry) is SavedVariable:
        return entry.unpack(node, name)
    if entry[1][0] != entry[2]:
        raise stale(entry, node, name)
    if not is_output:
        return entry[0]
    return output_tensor(entry, node, number)


def output_tensor(entry: tuple, node: Node, number: int) -> Tensor:
    """An output's array as a tensor again, attached to the node that made it."""
    from ..tensor import wrap

    tensor = wrap(entry[0])
    tensor._counter = entry[1]
    if entry[0].dtype.kind in "fc":  # indices are outputs too, and have no history
        tensor._edge = (node, number)
        tensor._requires_grad = True
    return tensor


class SavedVariable:
    """A saved tensor that packs and unpacks through a pair of hooks.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([2.0], requires_grad=True)
    >>> y = x.exp()
    >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.numpy().tobytes(), lambda b: dt.tensor(np.frombuffer(b, 'f4')))
    >>> y.backward(); x.grad
    tensor([7.3891])
    """

    __slots__ = ("entry", "is_output", "number", "_node", "hooks", "packed")

    def __init__(self, entry: tuple | None, is_output: bool, number: int) -> None:
        self.entry = entry
        self.is_output = is_output
        self.number = number
        self.hooks: tuple[Callable, Callable] | None = None
        self.packed: Any = None

    def is_none(self) -> bool:
        """Whether nothing is saved here: the node was given None."""
        return self.entry is None and self.hooks is None

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack the saved tensor now with ``pack_hook``; unpack it with ``unpack_hook`` when backward needs it."""
        if self.entry is None and self.hooks is None:
            raise errors.freed("the node")
        if self.hooks is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with previously registered hooks is not supported: a saved value"
                " has one pair"
            )
        self.pack(pack_hook, unpack_hook)

    def pack(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Replace the entry by what ``pack_hook`` makes of it."""
        assert self.entry is not None
        value, counter, version = self.entry
        from ..tensor import Tensor, wrap

        if self.is_output:
            shown = wrap(value)
            shown._counter = counter
        else:
            shown = value
        with modes.no_grad():
            packed = pack_hook(shown)
        if counter[0] != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be"
                " modified by in-place operations as this can lead to unexpected side-effects: work on a clone()"
            )
        edge = None if self.is_output or not isinstance(value, Tensor) else (value._edge, value._requires_grad, value)
        self.hooks = (pack_hook, unpack_hook)
        self.packed = packed
        if edge is not None and edge[0] is None and edge[1]:
            self._node = value  # a leaf is kept: unpacked values must lead to its sink
        else:
            self._node = edge[0] if edge else None
        self.entry = None

    def unpack(self, node: Node, name: str) -> Tensor:
        """The tensor, through the unpack hook if there is one."""
        if self.hooks is None:
            if self.entry is None:
                raise errors.freed(node.name())
            return unpack(self.entry, node, name, self.is_output, self.number)
        from ..tensor import Tensor, alias

        value = self.hooks[1](self.packed)
        if not isinstance(value, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(value).__name__}"
            )
        result = alias(value)
        origin = self._node
        if self.is_output and result._array.dtype.kind in "fc":
            result._edge, result._requires_grad = (node, self.number), True
        elif isinstance(origin, Tensor):
            from .node import leaf_edge

            result._edge, result._requires_grad = leaf_edge(origin), True
        elif origin is not None:
            result._edge, result._requires_grad = origin, True
        return result


