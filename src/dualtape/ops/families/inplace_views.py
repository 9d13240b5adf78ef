"""View ops in place: the tensor shows the same memory in another shape from now on.

The op runs out of place, with all its rules, and the tensor takes over array and history of the resulting view. Other
tensors over the memory remain as they are. Views of the tensor get a first step that restores the shape they were made
from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import errors, modes
from ..._tensor.tensor import Tensor
from ...autograd.tangents import active, set_tangent, tangent
from ...autograd.versions import bump
from ...autograd.views import Step, check_change, steps_by, views_of
from ...overrides.active_overrides import overridable
from ..dispatch import FUNCTIONS
from ..table import TABLE


def turned(x: Any, name: str, view_of: Callable, back: Callable[[], Step | None]) -> Any:
    """Replace ``x`` by the view of it that ``view_of`` returns; ``back`` gives the step from there to the old x."""
    if not isinstance(x, Tensor):
        raise errors.not_a_tensor(name, "input", x)
    mode = modes.current()
    recording = mode.grad and x.requires_grad
    check_change(x, name, recording)
    if getattr(x, "_never_turned", False):
        raise RuntimeError(f"{name}: in-place transposition is not supported for {x.layout!r} tensors: use the result")
    views = views_of(x)
    new, step = view_of(), back()
    if views and step is None:
        raise RuntimeError(f"{name}: the tensor has views, which would lose their way to it: clone() it first")
    tangents = [(level, tangent(new, level)) for level in active(mode)]
    turns = [(view, steps_by(step, view.step)) for view in views]
    relation = x._view if x._is_view() else None
    node = new._edge[0] if recording else None
    kind = _in_place_kind(node) if recording else None
    parts = {part: getattr(new, part) for part in getattr(x, "_parts_turned", ())}
    counter = x._shared_counter
    bump(counter)
    # no call among these: an interrupt finds all of them done, or none
    for view, turned_step in turns:
        view.step = turned_step
    if relation is not None:
        relation.step = new._view.step
    if x._array.shape != new._array.shape:
        x._grad_accumulator = None  # else graphs that lead to this leaf still do
    x._array = new._array
    if parts:
        x.__dict__.update(parts)
    if node is not None:
        node.__class__ = kind
        x._edge = new._edge
        if relation is not None:
            relation.seen = counter[0]
    for level, value in tangents:
        if value is not None:
            set_tangent(x, level, value)
    return x


def _in_place_kind(node: Any) -> type:
    """Return the class of a node's in-place form: the row names those after the others."""
    op = node.op
    names = op.node_names
    return op.node_class(names.index(type(node).__name__) + len(names) // 2)


def _turning(name: str, op: str, back: Callable) -> None:
    row = TABLE[op]

    def inplace(self: Any, *args: Any, **kwargs: Any) -> Any:
        return turned(self, f"{name}_", lambda: row.function(self, *args, **kwargs), lambda: back(self, args, kwargs))

    inplace.__name__ = inplace.__qualname__ = f"{name}_"
    inplace.__doc__ = row.doc
    inplace.__wrapped__ = row.function  # type: ignore[attr-defined] # whose signature is what inspect shows
    setattr(Tensor, f"{name}_", overridable(inplace))


def _again(op: str) -> Callable:
    """Return the step back from an exchange of dimensions: the same exchange."""
    row = TABLE[op]
    return lambda x, args, kwargs: (None, row, tuple(row.bind((x, *args), kwargs)[1:]), None)


def _in_old_shape(x: Any, args: tuple, kwargs: dict) -> Step:
    return (None, TABLE["view_shape"], (x._array.shape,), None)


_turning("t", "t", _again("t"))
for _name in ("transpose", "swapaxes", "swapdims"):
    _turning(_name, "transpose", _again("transpose"))
_turning("squeeze", "squeeze", _in_old_shape)
_turning("unsqueeze", "unsqueeze", _in_old_shape)


def as_strided_(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """In-place form of :func:`as_strided`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(4).as_strided_((2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    return turned(
        input, "as_strided_", lambda: FUNCTIONS["as_strided"](input, size, stride, storage_offset), lambda: None
    )


FUNCTIONS["as_strided_"] = Tensor.as_strided_ = overridable(as_strided_)  # type: ignore[method-assign]
