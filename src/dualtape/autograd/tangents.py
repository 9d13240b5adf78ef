"""Tangents of forward mode: a tensor has one for each open level.

A value under the levels a, b (b the newer) is ``(x + x_a a) + (x_b + x_ba a) b``: the tangent at a level is a
tensor that may itself have tangents at *older* levels, and only there. So the newest level is always the outermost,
and no perturbation is taken for another. A tangent is computed by ordinary ops while only the older levels are in
force (:func:`beneath`).

A view without a tangent of its own has what its base has: its tangent is the same view of the base's tangent, in
shared memory. So a write to either reaches the other. The primal that ``unpack_dual`` gives is cut off from that
(:data:`STILL`): views of it have it for their base.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from .. import modes
from ..arrays import Absent
from .node import edge_of
from .views import Step, replay

if TYPE_CHECKING:
    from .._tensor.tensor import Tensor

ref = weakref.ref
STILL = None  # the tangent of a view that is cut off from its base's: none


class ForwardLevel:
    """A scope in which tangents live; closing it removes its tangents from all tensors.

    A ``loose`` one was opened by hand, and ends at the latest with the block around it; one of a ``transform`` gives
    no array away that would leave its tangent behind.
    """

    __slots__ = ("open", "loose", "transform", "_held", "_room", "_inside")

    def __init__(self, loose: bool = False, transform: bool = False) -> None:
        self.open = True
        self.loose = loose
        self.transform = transform
        self._held: deque[weakref.ref] = deque()  # what has tangents here
        # With more tangents than this, those whose tensors are gone are removed.
        self._room = 100
        self._inside: tuple[modes.Mode, modes.Mode] | None = None

    def hold(self, tangents: Tangents) -> None:
        self._held.append(ref(tangents))
        if len(self._held) > self._room:
            self._sort_out()

    def _sort_out(self) -> None:
        """Drop references to tensors that no longer exist, one by one, so that other threads may continue."""
        held = self._held
        self._room = 2 * len(held)
        for _ in range(len(held)):
            if held:
                one = held.popleft()
                if one() is not None:
                    held.append(one)
        self._room = 2 * len(held) + 100

    def close(self) -> None:
        """Drop every tangent of this level."""
        self.open = False
        self._inside = None
        while self._held:
            tangents = self._held.pop()()
            if tangents is not None:
                tangents.pop(self, None)
                if tangents.apart:
                    tangents.apart -= {self}
                if tangents.roots is not None:
                    tangents.roots.pop(self, None)

    def beneath(self, mode: modes.Mode) -> modes.Mode:
        """Return ``mode`` with only the older levels active: tangents of this level are computed in it."""
        known = self._inside
        if known is None or known[0] is not mode:
            older = mode.levels[: mode.levels.index(self)]
            known = self._inside = (mode, mode.replace(levels=older, functions=(), anomaly=None))
        return known[1]


class Tangents(dict):
    """The tangents of a tensor by level; shared with the saved entries of the tensor."""

    # where the tangent of a view is no view of its base's: it was given by make_dual
    apart: frozenset[ForwardLevel] = frozenset()
    # The tensor without a tangent that this is a view of, and the view steps from there.
    roots: dict[ForwardLevel, tuple[Tensor, Step]] | None = None

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__  # it is the set of one tensor, whatever is in it


def active(mode: modes.Mode) -> tuple:
    """Return the levels whose tangents propagate now, the oldest first."""
    return tuple(level for level in mode.levels if level.open) if mode.forward else ()


def tangents_of(tensor: Tensor) -> Tangents:
    """Return the tangents of ``tensor``, creating an empty set if there was none."""
    extra = tensor._more()
    if extra.tangents is None:
        extra.tangents = Tangents()
    return extra.tangents


def tangent(tensor: Any, level: ForwardLevel) -> Tensor | None:
    """Return the tangent of ``tensor`` at ``level``, or None."""
    extra, view = tensor._extra, tensor._view
    own = None
    if extra is not None and extra.tangents is not None and level in extra.tangents:
        own = extra.tangents[level]
        root = None if extra.tangents.roots is None else extra.tangents.roots.get(level)
        if root is not None:
            return _of_root(tensor, level, own, *root)
        if own is STILL or view is None or level in extra.tangents.apart:
            return own
    if view is None:
        return None
    base = view.base._extra
    whole = None if base is None or base.tangents is None else base.tangents.get(level)
    if whole is None or (own is not None and own._shared_counter is whole._shared_counter):
        return own
    with _Beneath(level):
        own = replay(whole, view.step, raw=False)
    set_tangent(tensor, level, own)
    return own


def _of_root(tensor: Tensor, level: ForwardLevel, own: Tensor | None, root: Tensor, step: Step) -> Tensor | None:
    """Return the tangent of a view whose base had none when the view was made, if the base got one since."""
    whole = tangent(root, level)
    if whole is None or (own is not None and own._shared_counter is whole._shared_counter):
        return own
    with _Beneath(level):
        own = replay(whole, step, raw=False)
    set_tangent(tensor, level, own)
    return own


def set_root(view: Tensor, source: Tensor, level: ForwardLevel, step: Step) -> None:
    """Register ``view`` as a view, by ``step``, of ``source``, which does not take part in its base's tangent: neither
    does the view, and ``source`` acts as its base.
    """
    set_tangent(view, level, STILL)
    before = root_of(source, level)
    if before is not None:
        source, step = before[0], (before[1], *step[1:])
    tangents = tangents_of(view)
    tangents.roots = {**(tangents.roots or {}), level: (source, step)}


def root_of(tensor: Tensor, level: ForwardLevel) -> tuple[Tensor, Step] | None:
    """Return the tensor without tangent that ``tensor`` is a view of, and the steps from there."""
    extra = tensor._extra
    return (
        None
        if extra is None or extra.tangents is None or extra.tangents.roots is None
        else extra.tangents.roots.get(level)
    )


def is_still(tensor: Tensor, level: ForwardLevel) -> bool:
    """Return whether ``tensor`` does not take part in its base's tangent."""
    extra = tensor._extra
    return (
        extra is not None and extra.tangents is not None and level in extra.tangents and extra.tangents[level] is STILL
    )


def set_tangent(tensor: Tensor, level: ForwardLevel, value: Tensor | None) -> None:
    """Set the tangent of ``tensor`` at ``level``."""
    extra = tensor._extra or tensor._more()
    tangents = extra.tangents
    if tangents is None:
        tangents = extra.tangents = Tangents()
    if level not in tangents:
        level.hold(tangents)
    tangents[level] = value
    if tensor._view is not None and value is not None:
        base = tensor._view.base._extra
        whole = None if base is None or base.tangents is None else base.tangents.get(level)
        if whole is None or whole._shared_counter is not value._shared_counter:
            tangents.apart |= {level}
        elif tangents.apart:
            tangents.apart -= {level}


def kept_tangents(tensor: Tensor) -> Tangents:
    """Return the tangents of ``tensor``, including those that it has through its base."""
    for level in active(modes.current()):
        tangent(tensor, level)
    return tangents_of(tensor)


class _Beneath:
    """Context in which a level's tangents are computed."""

    __slots__ = ("level", "mode", "inside")

    def __init__(self, level: ForwardLevel) -> None:
        self.level = level

    def __enter__(self) -> None:
        self.mode = self.inside = modes.current()
        if self.level in self.mode.levels:
            self.inside = self.level.beneath(self.mode)
            modes.enter(self.inside, self.mode)

    def __exit__(self, *error: object) -> None:
        if self.inside is not self.mode:
            now = modes._set(self.mode).old_value
            if now is not self.inside:
                modes.keep(now, self.mode, "levels", "functions", "anomaly")


beneath = _Beneath


def bare(tensor: Tensor, level: ForwardLevel, older: tuple) -> Tensor:
    """Return ``tensor`` as seen beneath ``level``: without its tangents there and at newer levels.

    Beneath a level nobody looks at those, except a backward that later runs over what was recorded: only then a
    tensor of its own is needed.
    """
    extra = tensor._extra
    if extra is None or extra.tangents is None or not (tensor.requires_grad and modes.current().grad):
        return tensor
    new = without(tensor)
    for one in older:
        found = tangent(tensor, one)
        if found is not None:
            set_tangent(new, one, found)
    return new


def without(tensor: Tensor) -> Tensor:
    """Return a tensor of the same values and history, without tangents."""
    from .._tensor.tensor import alias

    if type(tensor._array) is Absent:  # whose class computes with what it keeps
        from ..overrides.subclass import same_class

        new = same_class(tensor)
    else:
        new = alias(tensor)
    if tensor.requires_grad:
        new._edge = edge_of(tensor)
        new._requires_grad = True
    return new


def check_exportable(tensor: object) -> None:
    """Raise if a transform differentiates with respect to ``tensor``: an array made of it would lose the derivative."""
    for level in active(modes.current()):
        if level.transform and tangent(tensor, level) is not None:
            raise RuntimeError(
                "Cannot access data pointer of Tensor that doesn't have storage: jvp or jacfwd differentiates with"
                " respect to it, and an array would lose its tangent. Use tensor operations, or, for a constant,"
                " tensor.detach().numpy()"
            )


# --- for later ------------------------------------------------------------------------------------


def snapshot(tensor: Tensor) -> dict[ForwardLevel, tuple]:
    """Return the tangents of ``tensor``, recursively, in a form that outlives their levels."""
    found = {level: tangent(tensor, level) for level in active(modes.current())}
    return {level: (t, snapshot(t)) for level, t in found.items() if t is not None}


def moved(tensor: Tensor, kept: dict[ForwardLevel, tuple], levels: dict[ForwardLevel, ForwardLevel]) -> Tensor:
    """Return ``tensor`` with the tangents of a snapshot, each at the level that replaces the one it was taken at."""
    if not kept:
        return tensor
    new = without(tensor)
    for level, (t, inner) in kept.items():
        set_tangent(new, levels[level], moved(t, inner, levels))
    return new


class reopened(modes.ModeContext):
    """Context in which ``levels`` are active again: those still open themselves, the others replaced by new ones.

    Gives which stands for which.
    """

    fields = ("levels",)

    def __init__(self, levels: tuple) -> None:
        self.levels = {level: level if level.open else ForwardLevel() for level in levels}

    def change(self, mode: modes.Mode) -> modes.Mode:
        return mode.replace(levels=tuple(self.levels.values()))

    def __enter__(self) -> dict[ForwardLevel, ForwardLevel]:
        super().__enter__()
        return self.levels

    def left(self) -> None:
        for level, fresh in self.levels.items():
            if fresh is not level:
                fresh.close()
