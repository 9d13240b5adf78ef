"""Views: tensors that share memory and history with a base.

A view has a reference to its base and the steps that lead from there to it. Writing to a view in place gives its *base*
a new node (``CopySlices``); every view of that base, the written one included, renews its own history when it is next
asked for it. ``seen`` is the version at which a view's history was last current.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors, modes
from .._tensor.device import contiguous_format
from ..arrays import Batched, as_array, zeros
from ..arrays.batched.array import room_for, samples_overlap
from .node import Freed, Node, check_not_freed, edge_of, next_sequence
from .unbroadcast import fit, fit_recorded
from .versions import UNTRACKED

if TYPE_CHECKING:
    from .._tensor.tensor import Tensor
    from .._typing import Array, Gradient, Gradients, Wanted
    from .engine import GraphTask

DEFAULT = "DEFAULT"
IN_CUSTOM_FUNCTION = "IN_CUSTOM_FUNCTION"
MULTI_OUTPUT = "MULTI_OUTPUT_NODE"
NO_GRAD = "NO_GRAD_MODE"
INFERENCE = "INFERENCE_MODE"

_REASONS = {
    IN_CUSTOM_FUNCTION: "This view was created inside a custom Function (or because an input was returned as-is) and"
    " the autograd logic to handle view+inplace would override the custom backward: clone() the output of the custom"
    " Function",
    MULTI_OUTPUT: "This view is the output of a function that returns multiple views. Such functions do not allow the"
    " output views to be modified inplace: replace the write by an out-of-place one, or index the base instead",
    NO_GRAD: "Its history is unknown: make the view with grad mode on, or clone() it",
    INFERENCE: "Make the view outside of inference mode, or clone() it",
}


def _refused(tensor: Tensor, creation: str, what: str) -> str:
    """Return the error for a view that may not be used or written: its origin, ``what`` happened, and the rule."""
    edge = tensor._edge
    if edge is not None and creation in (IN_CUSTOM_FUNCTION, MULTI_OUTPUT):
        return f"Output {edge[1]} of {edge[0]._title()} is a view and {what}. {_REASONS[creation]}"
    mode, now = ("inference", "in normal mode") if creation == INFERENCE else ("no_grad", "with grad mode enabled")
    return f"A view was created in {mode} mode and {what} {now}. {_REASONS[creation]}"


# one view op on the way from base to view: (the step before, toward the base; the op; its arguments after the
# tensor; which of several outputs)
Step = tuple


def replay(array: Array | Tensor, step: Step | None, raw: bool) -> Any:
    """Return the view that the steps give on a new base, an array or (``raw=False``) a tensor."""
    for _, op, values, number in _from_base(step):
        array = (op.forward if raw else op.function)(array, *values)
        if number is not None:
            array = array[number]
    return array


def _from_base(step: Step | None) -> list[Step]:
    """Return the steps from the base to a view, in the order of application."""
    steps: list[Step] = []
    while step is not None:
        steps.append(step)
        step = step[0]
    steps.reverse()
    return steps


class KeyStep:
    """The step of an assignment ``x[key] = value``, which stores the key in place of a view op."""

    view = True

    @staticmethod
    def forward(x: Array | Tensor, key: object) -> Any:
        return x[key]

    function = forward


KEY_STEP = KeyStep()
_orders: dict[tuple, tuple[list[int], list[int]] | None] = {}  # by strides: worked out once


def _order(strides: tuple) -> tuple[list[int], list[int]] | None:
    """Return the axes of an array from outermost to innermost in memory, and the inverse permutation; None if they are
    in that order already.

    A gradient lies anyhow, and a view of the base need not be one of an array that lies otherwise.
    """
    try:
        return _orders[strides]
    except KeyError:
        axes = sorted(range(len(strides)), key=lambda d: -abs(strides[d]))
        if len(_orders) > 4096:
            _orders.clear()
        found = _orders[strides] = (
            None if axes == list(range(len(axes))) else (axes, sorted(range(len(axes)), key=axes.__getitem__))
        )
        return found


def _copied(g: Any, strides: tuple, record: bool) -> Any:
    """Return a copy of a gradient in the memory order of the base."""
    order = _order(strides)
    if order is not None:
        g = np.transpose(g, order[0])
    # not a number: that could not be written to
    g = g.clone(memory_format=contiguous_format) if record else as_array(g).copy()
    return g if order is None else np.transpose(g, order[1])


def _made(make: Callable, shape: tuple, strides: tuple) -> Any:
    """Return a new array of a shape in the memory order of ``strides``."""
    order = _order(strides)
    return make(shape) if order is None else np.transpose(make(tuple(shape[d] for d in order[0])), order[1])


def unview(g: Gradient, shape: tuple, dtype: np.dtype, strides: tuple, step: Step | None, record: bool) -> Any:
    """Return the gradient of a base, zero outside the view, given the gradient of the view."""
    steps = _from_base(step)
    if any([op.view == "overlapping" for _, op, _, _ in steps]):
        return _unview_by_steps(g, _made(lambda sizes: np.empty(sizes, dtype), shape, strides), steps)
    full = _made(lambda sizes: zeros(sizes, dtype, g), shape, strides)
    if record:
        replay(full, step, raw=False).copy_(g)
    else:
        replay(full, step, raw=True)[...] = g
    return full


def _unview_by_steps(g: Gradient, like: Gradient, steps: list[Step]) -> Any:
    """Return the gradient of a base whose elements occur several times in the view: each op's own formula adds
    them up.
    """
    inputs = []
    for _, op, values, number in steps:
        inputs.append(like.shape)
        like = op.forward(like, *values)
        outputs = like
        if number is not None:
            inputs[-1] = (inputs[-1], [part.shape for part in outputs])
            like = outputs[number]
    for (_, op, values, number), shapes in zip(reversed(steps), reversed(inputs), strict=True):
        if number is None:
            grads = [g]
        else:
            shapes, parts = shapes
            grads = [zeros(part, like.dtype, g) for part in parts]
            grads[number] = g
        g = op.vjp_of_view(grads, shapes, like.dtype, values)
    return g


class View:
    """The relation of a view to its base."""

    __slots__ = ("base", "step", "creation", "seen")

    def __init__(self, base: Tensor, step: Step | None, creation: str, seen: int) -> None:
        self.base = base
        self.step = step
        self.creation = creation
        self.seen = seen

    def refresh(self, tensor: Tensor) -> None:
        """Renew the history of ``tensor`` (whose view relation this is) after its memory was written."""
        base = self.base
        if tensor._edge is None and not base.requires_grad:
            return
        node = self.renewed(tensor, edge_of(base))
        # no call among these: an interrupt finds all of them done, or none
        tensor._edge = (node, 0)
        tensor._requires_grad = True
        self.seen = tensor._version_counter[0]

    def renewed(self, tensor: Tensor, edge: tuple | None) -> Node:
        """Return a new history for ``tensor`` (whose view relation this is), given the edge of its base."""
        if self.creation is not DEFAULT:
            what = "its base or another view of its base has been modified inplace"
            raise errors.view_write("view", _refused(tensor, self.creation, what))
        node = AsStridedBackward0(edge, self.base._array, self.step, tensor._array)
        _move_retained(tensor, node)
        return node


class _Nothing:
    """Placeholder for the base of an inference tensor."""

    __slots__ = ()

    _requires_grad = requires_grad = False
    _extra = None


class UntrackedView(View):
    """The view relation shared by all inference tensors; it keeps them off the fast paths of ops."""

    __slots__ = ()

    base = _Nothing()  # type: ignore[assignment]
    step = None
    creation = INFERENCE
    seen = 0

    def __init__(self) -> None:
        pass


UNTRACKED_VIEW = UntrackedView()


def untrack(tensor: Tensor) -> Tensor:
    """Make a new ``tensor`` an inference tensor."""
    tensor._version_counter = UNTRACKED
    tensor._view = UNTRACKED_VIEW
    return tensor


def attach(view: Tensor, source: Tensor, step: Step, mode: modes.Mode, several: bool = False) -> None:
    """Make ``view``, a new tensor over memory of ``source``, a view of ``source``'s base."""
    if mode.inference:
        creation = INFERENCE
    elif not mode.grad:
        creation = NO_GRAD
    else:
        creation = MULTI_OUTPUT if several else DEFAULT
    if source._version_counter is UNTRACKED:
        untrack(view)
        return
    outer = source._view
    counter = view._version_counter = source._shared_counter
    if outer is None:
        view._view = View(source, step, creation, counter[0])
    else:
        step = (outer.step, *step[1:])
        if outer.creation is not DEFAULT and (creation is DEFAULT or outer.creation is INFERENCE):
            creation = outer.creation
        view._view = View(outer.base, step, creation, counter[0])


class AsStridedBackward0(Node):
    """The node of a view whose base was written since the view was made: one edge, to the base."""

    __slots__ = ("step", "shape", "dtype", "strides")

    def __init__(self, edge: tuple | None, base: Array, step: Step | None, view: Array) -> None:
        self._edges = (edge,)
        self._shape, self._dtype = view.shape, view.dtype
        self.shape, self.dtype, self.strides = base.shape, base.dtype, getattr(base, "strides", ())
        self.step = step
        self._saved = ()
        self._extra = None
        self._seq = next_sequence()

    def _pull_general(self, grads: list, record: bool, wanted: Wanted = None) -> Any:
        g = grads[0]
        if g is None:
            return (None,)
        return (unview(g, self.shape, self.dtype, self.strides, self.step, record),)

    def _vjp(self, g: Any, wanted: Wanted, freed: Freed | None) -> Any:
        edge = self._edges[0]
        return () if edge is None else ((edge, unview(g, self.shape, self.dtype, self.strides, self.step, False)),)


def twin(node: Node) -> Node:
    """Return a node that computes the same: a node inside ``CopySlices`` must not be in the graph itself, where running
    it would release it.
    """
    from copy import copy  # few programs come here

    new = copy(node)
    new._seq = next_sequence()
    return new


class CopySlices(Node):
    """The node of a base after an in-place write to one of its views by ``fn``; without ``fn``, after an assignment of
    the value that the second edge leads to.
    """

    __slots__ = ("fn", "step", "strides")

    def __init__(self, base: Tensor, step: Step | None, fn: Node | None, value: tuple | None = None) -> None:
        array = base._array
        edge = base._edge or edge_of(base)
        self.fn = fn
        self.step = step
        self.strides = getattr(array, "strides", ())
        self._edges = (edge, value) if fn is None else (edge, *fn._edges[1:])
        self._shape, self._dtype = array.shape, array.dtype
        self._saved = ()
        self._extra = None
        self._seq = next_sequence()

    def _pull_general(self, grads: list, record: bool, wanted: Wanted = None) -> Any:
        g = grads[0]
        if g is None:
            return (None,) * len(self._edges)
        check_not_freed(self)
        full = _copied(g, self.strides, record)
        part = replay(full, self.step, raw=not record)
        fn = self.fn
        mine = None
        inner: Any = (None, None)
        if fn is None:
            if self._edges[1] is not None:
                inner = (None, part.clone() if record else as_array(part).copy())
        else:
            # A twin, since results that fn saved lead to it when they are differentiated.
            inner = (twin(fn) if record else fn)._pull_general([part.clone() if record else part.copy()], record)
            mine = None if fn._edges[0] is None else inner[0]
        if mine is not None:
            mine = (fit_recorded if record else fit)(mine, fn._outputs[0], self)  # type: ignore[union-attr]
            if type(part) is not np.ndarray or type(mine) is not np.ndarray:
                room = room_for(*((part._array, mine._array) if record else (part, mine)))
                if room is not None:
                    full = _copied(g + room, self.strides, record)
                    part = replay(full, self.step, raw=not record)
        if record:
            part.zero_() if mine is None else part.copy_(mine)
        else:
            part[...] = 0 if mine is None else mine
        return (full, *inner[1:])

    def _vjp(self, g: Gradient | Gradients, wanted: Wanted, freed: Freed | None) -> Any:
        """Return pairs of edge and gradient for NumPy's arrays, if ``fn`` has a fast path."""
        if type(g) is not np.ndarray or type(self._saved) is Freed:
            return None
        full = g.copy() if _order(self.strides) is None else _copied(g, self.strides, False)
        part = replay(full, self.step, True)
        fn = self.fn
        edge = self._edges[0]
        mine = None
        if fn is None:
            value = self._edges[1]
            pairs = () if value is None else ((value, part.copy()),)
        else:
            pairs = fn._vjp(part.copy(), None, None)
            if pairs is None:
                return None
            if fn._edges[0] is not None:
                mine, pairs = pairs[0][1], pairs[1:]
                meta = fn._outputs[0]
                if mine is not None and (mine.shape != meta[0] or mine.dtype is not meta[1]):
                    mine = fit(mine, meta, self)
            if type(mine) is Batched:
                return None
            if freed is not None and fn._holds and fn._saved:
                fn._saved = freed
        if freed is not None:
            self._saved = freed
        part[...] = 0 if mine is None else mine
        pairs = ((edge, full), *pairs) if edge is not None else pairs
        return pairs if wanted is None else [pair for pair in pairs if pair[0][0] in wanted]

    def _release(self, task: GraphTask) -> None:
        self._saved = task.freed or task.free()  # whatever fn saved: it runs once, as PyTorch's does
        if self.fn is not None:
            self.fn._release(task)


def check_write(tensor: Tensor, op: str, recording: bool, overlap: bool = False) -> None:
    """Raise, before anything is written, if ``tensor`` may not be written in place.

    ``overlap`` allows elements that share memory: one value written to all of them is no conflict.
    """
    check_change(tensor, op, recording)
    array = tensor._array
    if not getattr(getattr(array, "flags", None), "writeable", True):  # also of an array that is traced
        raise errors.read_only(op)
    if not overlap and 0 in getattr(array, "strides", ()) and array.size > 1:
        if any(stride == 0 and n > 1 for stride, n in zip(array.strides, array.shape, strict=True)):
            raise errors.internal_overlap(op)
    if type(array) is Batched and not overlap and samples_overlap(array):
        raise errors.internal_overlap(op)
    hooks = modes.current().saved_hooks
    if hooks:
        from .saved_hooks import before_write

        before_write(tensor, hooks)


def check_change(tensor: Tensor, op: str, recording: bool) -> None:
    """Raise if the rules of histories forbid an in-place op on ``tensor``, whether it writes memory or not."""
    view = tensor._view
    if tensor._version_counter is UNTRACKED and not modes.current().inference:
        raise errors.inference_write(op)
    if recording:
        if view is not None:
            if view.seen != tensor._version_counter[0]:
                view.refresh(tensor)
            if view.creation is not DEFAULT:
                raise errors.view_write(op, _refused(tensor, view.creation, "is being modified inplace"))
            if tensor.requires_grad and view.base._edge is None:
                raise errors.leaf_view_write(op)
        if tensor._requires_grad and tensor._edge is None:
            raise errors.leaf_write(op)


def rebase(tensor: Tensor, node: Node) -> None:
    """Set the history of ``tensor`` to ``node`` after a write in place, its version already counted; integers have
    none.
    """
    if tensor._array.dtype.kind not in "fc":
        return
    view = tensor._view
    if view is None:
        _move_retained(tensor, node)
        tensor._edge = (node, 0)
        tensor._requires_grad = True
        return
    base = view.base
    edge = (CopySlices(base, view.step, node), 0)
    _move_retained(base, edge[0])
    own = view.renewed(tensor, edge)
    # no call among these, nor between here and the write: an interrupt finds all of it done, or nothing
    base._edge, base._requires_grad = edge, True
    tensor._edge, tensor._requires_grad = (own, 0), True
    view.seen = tensor._version_counter[0]


def views_of(base: Tensor) -> list[View]:
    """Return the view relations of a base's views, found among the objects that refer to its version counter."""
    if base._view is not None or base._version_counter is None:
        return []
    from gc import get_referrers

    return [each for each in get_referrers(base) if type(each) is View and each.base is base]


def steps_by(back: Step | None, step: Step | None) -> Step | None:
    """Return the steps to a view whose base got another shape; ``back`` leads from that to the shape they were made
    from.
    """
    for _, *rest in _from_base(step):
        back = (back, *rest)
    return back


def rebase_base(base: Tensor, slices: CopySlices) -> None:
    """Set the history of a base to ``slices`` after one of its views was written."""
    if base._edge is not None and base._edge[0]._extra is not None:
        _move_retained(base, slices)
    base._edge = (slices, 0)
    base._requires_grad = True


def history_is_current(tensor: Tensor) -> bool:
    """Return whether a view's own fields hold its current history: its base was not written since."""
    view = tensor._view
    return (
        view.seen == tensor._version_counter[0]
        and (tensor._requires_grad or not view.base._requires_grad)
        and view.creation is not INFERENCE
    )


def may_record_write(tensor: Tensor, tracked: bool) -> bool:
    """Return whether a write can be recorded without further checks: not to a leaf, nor to a view with restrictions.

    ``tracked`` says whether the tensor requires grad.
    """
    view = tensor._view
    if view is None:
        return not tracked or tensor._edge is not None
    if view.seen != tensor._version_counter[0]:
        view.refresh(tensor)
    return view.creation is DEFAULT and (not tracked or (tensor._edge is not None and view.base._edge is not None))


def disjoint(array: Array) -> bool:
    """Return whether no two elements of a NumPy array share memory, as far as the strides tell without a search."""
    if array.flags.forc or array.ndim == 1 and array.strides[0]:
        return True
    room = array.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < room:
            return False
        room += stride * (n - 1)
    return True


def _move_retained(tensor: Tensor, node: Node) -> None:
    """Move ``retain_grad`` to the tensor's new node; other hooks stay with the old one."""
    if tensor._edge is not None and tensor._edge[0]._extra is not None:
        ref = tensor._edge[0]._extra.retained.pop(tensor._edge[1], None)
        if ref is not None:
            node._more().retained[0] = ref
