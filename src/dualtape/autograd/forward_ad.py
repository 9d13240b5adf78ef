"""The public interface of forward mode: levels and dual tensors.

A dual tensor is a tensor with a tangent at a level. Levels nest: a value computed under two of them has the mixed
second derivative as the tangent of its tangent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import modes
from .._listing import listing
from .._tensor.shaped import zeros_like
from .._tensor.tensor import Tensor
from ..modes import ModeContext, Switch
from .tangents import STILL, ForwardLevel, set_tangent, tangent

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "is_fwd_grad_enabled",
    "make_dual",
    "set_fwd_grad_enabled",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """The primal and tangent of a dual tensor; the tangent is None if there is none.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.autograd.forward_ad as fwAD
    >>> fwAD.unpack_dual(dt.tensor(1.0))
    UnpackedDualTensor(primal=tensor(1.), tangent=None)
    """

    primal: Tensor
    tangent: Tensor | None


# --- levels ---------------------------------------------------------------------------------------


def _open_levels() -> tuple:
    return tuple([level for level in modes.current().levels if level.open])


def enter_dual_level() -> int:
    """Open a level and return its number. :func:`exit_dual_level` closes it; prefer ``with dual_level():``.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> fwAD.unpack_dual(fwAD.make_dual(dt.tensor(2.0), dt.tensor(1.0)) ** 3).tangent
    tensor(12.)
    >>> fwAD.exit_dual_level(level=level)
    """
    mode, levels = modes.current(), _open_levels()
    number = len(levels)
    modes.enter(mode.replace(levels=(*levels, ForwardLevel(loose=True))), mode)
    return number


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the newest level and remove its tangents from all tensors.

    Parameters
    ----------
    level : int, optional
        The number that :func:`enter_dual_level` gave; it must be the newest.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> x = fwAD.make_dual(dt.tensor(2.0), dt.tensor(1.0))
    >>> fwAD.exit_dual_level(); fwAD.unpack_dual(x).tangent is None
    True
    """
    levels = _open_levels()
    if not levels:
        raise RuntimeError("exit_dual_level: no level is open: each call must follow an enter_dual_level()")
    if level is not None and level not in (-1, len(levels) - 1):
        raise RuntimeError(
            f"Trying to exit a forward AD level that was not the last one that was created: level {level}, the newest"
            f" is {len(levels) - 1}."
            " Close the levels in the reverse of the order in which they were opened"
        )
    try:
        modes._set(modes.current().replace(levels=levels[:-1]))
    finally:
        levels[-1].close()


class dual_level(ModeContext):
    """Context that opens a level; its tangents are removed when the block ends, also by an exception.

    Levels nest to any depth. ``with dual_level() as level`` gives the level's number.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(dt.tensor(2.0), dt.tensor(1.0))
    ...     fwAD.unpack_dual(x.exp()).tangent
    tensor(7.3891)
    """

    def change(self, mode: modes.Mode) -> modes.Mode:
        return mode.replace(levels=(*(level for level in mode.levels if level.open), ForwardLevel()))

    def restored(self, now: modes.Mode, inside: modes.Mode | None, outside: modes.Mode) -> modes.Mode:
        return now.replace(levels=tuple(level for level in now.levels if level.open))

    def __enter__(self) -> int:
        number = len(_open_levels())
        super().__enter__()
        return number

    def __exit__(self, *error: object) -> None:
        assert self._entered, "a level is left that was not entered"
        inside, outside = self._entered[-1]
        del self._entered[-1]
        # As in ModeContext, the modes are restored first: an interrupt could keep a later statement from running.
        now = modes._set(outside).old_value
        assert inside is not None
        mine = inside.levels[-1]
        try:
            if now is not inside and modes.was_changed(now, outside):
                for level in now.levels[now.levels.index(mine) :] if mine in now.levels else ():
                    if level.loose:
                        level.close()
        finally:
            mine.close()
            if now is not inside and modes.was_changed(now, outside):
                modes._set(self.restored(now, inside, outside))


class set_fwd_grad_enabled(Switch):
    """Switch the propagation of tangents on or off: immediately, and until the end of a ``with`` block.

    While it is off tangents are not seen either.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(dt.tensor(2.0), dt.tensor(1.0))
    ...     with fwAD.set_fwd_grad_enabled(False):
    ...         y = x * 3
    ...     fwAD.unpack_dual(y).tangent is None
    True
    """

    fields = ("forward",)

    def change(self, mode: modes.Mode) -> modes.Mode:
        return mode if mode.forward == self.enabled else mode.replace(forward=self.enabled)


_set_fwd_grad_enabled = set_fwd_grad_enabled  # PyTorch's name


def is_fwd_grad_enabled() -> bool:
    """Return whether tangents are propagated.

    Examples
    --------
    >>> import dualtape.autograd.forward_ad as fwAD
    >>> fwAD.is_fwd_grad_enabled()
    True
    """
    return modes.current().forward


_is_fwd_grad_enabled = is_fwd_grad_enabled

# --- dual tensors ---------------------------------------------------------------------------------


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of ``tensor`` whose tangent is ``tangent``.

    Parameters
    ----------
    tensor, tangent : Tensor
        Of the same shape, floating point or complex. The tangent is kept itself, not copied, if it lies in memory
        as the tensor does.
    level : int, optional
        Default: the newest.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 0.0]))
    ...     x * x
    tensor([1., 4.], tangent=tensor([2., 0.]))
    """
    alike = _alike(tensor, tangent)
    for name, value in () if alike else (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual(): expected {name} to be a Tensor, got {type(value).__name__}")
        if value._array.dtype.kind not in "fc":
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype!r}")
    levels = _open_levels()
    if not levels or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if level is not None and level >= len(levels):
        raise RuntimeError(f"Invalid level given to make_dual: {level}; {len(levels)} are open, numbered from 0")
    if not alike:
        _check(tensor, tangent)
    return dual(tensor, tangent, levels, levels[-1 if level is None else level])


def _alike(tensor: Tensor, t: Tensor) -> bool:
    """Return whether both are plain tensors of one shape and floating-point dtype, which need no further checks."""
    if type(tensor) is not Tensor or type(t) is not Tensor:
        return False
    a, b = tensor._array, t._array
    return (
        type(a) is np.ndarray
        and type(b) is np.ndarray
        and a.dtype is b.dtype
        and a.shape == b.shape
        and a.dtype.kind in "fc"
    )


def _check(tensor: Tensor, t: Tensor) -> None:
    if t._array.shape != tensor._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not"
            " supported."
            f" Tensor is of size {list(tensor._array.shape)} while the given forward gradient is of size"
            f" {list(t._array.shape)}."
        )
    if t.device != tensor.device:
        raise RuntimeError(
            f"make_dual(): the tangent must be on its tensor's device, {tensor.device}, got {t.device}: move it with"
            " .to(...)"
        )
    if t.layout != tensor.layout:
        raise RuntimeError(f"make_dual(): the tangent must have its tensor's layout, {tensor.layout}, got {t.layout}")
    if (t._array.dtype.kind == "c") != (tensor._array.dtype.kind == "c"):
        raise RuntimeError(
            f"make_dual(): a {tensor.dtype!r} tensor cannot have a {t.dtype!r} tangent: both are real or both are"
            " complex"
        )


def dual(tensor: Tensor, t: Tensor, levels: tuple, level: ForwardLevel) -> Tensor:
    """Return a view of ``tensor`` with the tangent ``t`` at one of the open ``levels``; both may have tangents at the
    others.
    """
    if tangent(tensor, level) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level"
            f" {levels.index(level)} is not supported:"
            " unpack_dual() it first, or open another level"
        )
    if tangent(t, level) is not None:
        raise RuntimeError(
            f"Setting a forward grad that itself has a forward gradient at the same level {levels.index(level)} is not"
            " supported: unpack_dual() it first"
        )
    place = levels.index(level)
    with _only(levels[:place]):
        new = tensor.view(tensor._array.shape)
        inner = _laid_out(t, tensor)
    set_tangent(new, level, inner)
    for number, newer in enumerate(levels[place + 1 :], place + 1):
        outer, mixed = tangent(tensor, newer), tangent(t, newer)
        if outer is None and mixed is None:
            continue
        with _only(levels[:number]):  # a newer level's tangent is a dual itself
            outer = _zeros(tensor) if outer is None else outer
            set_tangent(new, newer, outer if mixed is None else dual(outer, mixed, levels[:number], level))
    return new


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a view of ``tensor`` without its tangent, and the tangent (None if it has none).

    Parameters
    ----------
    tensor : Tensor
    level : int, optional
        Default: the newest.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 1.0]))
    ...     primal, tangent = fwAD.unpack_dual(x.sin())
    >>> tangent
    tensor([ 0.5403, -0.4161])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual(): expected a Tensor, got {type(tensor).__name__}")
    levels = _open_levels()
    if not levels or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    if level is not None and level >= len(levels):
        raise RuntimeError(f"Invalid level given to unpack_dual: {level}; {len(levels)} are open, numbered from 0")
    chosen = levels[-1 if level is None else level]
    primal, found = unpacked(tensor, levels, chosen) if modes.current().forward else (tensor, None)
    # The primal has no tangent here, and a tangent that is written to it must not become its own.
    if primal is tensor:
        with _only(tuple(other for other in levels if other is not chosen)):
            primal = tensor.view_as(tensor)
        set_tangent(primal, chosen, STILL)
    return UnpackedDualTensor(primal, found)


def unpacked(tensor: Tensor, levels: tuple, level: ForwardLevel) -> tuple[Tensor, Tensor | None]:
    """Return primal and tangent of ``tensor`` at one of the open ``levels``; both keep their tangents at the others."""
    place = levels.index(level)
    found = tangent(tensor, level)
    newer = []
    if len(levels) > place + 1:
        looked_up = [(n, one, tangent(tensor, one)) for n, one in enumerate(levels[place + 1 :], place + 1)]
        newer = [(n, one, t) for n, one, t in looked_up if t is not None]
    if found is None and not any(tangent(t, level) is not None for _, _, t in newer):
        return tensor, None
    with _only(levels[:place]):
        primal = tensor.view(tensor._array.shape)
        set_tangent(primal, level, STILL)
        inner = _zeros(tensor) if found is None else found.view_as(found) if newer else found
    for number, one, t in newer:
        with _only(levels[:number]):
            still, mixed = unpacked(t, levels[:number], level)
            set_tangent(primal, one, still)
            if mixed is not None:
                set_tangent(inner, one, mixed)
    return primal, inner


class _only:
    """Context in which only the given levels are active."""

    __slots__ = ("levels", "mode", "inside")

    def __init__(self, levels: tuple) -> None:
        self.levels = levels

    def __enter__(self) -> None:
        self.mode = mode = modes.current()
        newer = (
            mode.levels[len(self.levels)]
            if len(mode.levels) > len(self.levels) and mode.levels[: len(self.levels)] == self.levels
            else None
        )
        if newer is not None and not mode.functions and mode.anomaly is None:
            self.inside = newer.beneath(mode)  # which is remembered
        else:
            self.inside = mode.replace(levels=self.levels)
        modes.enter(self.inside, self.mode)

    def __exit__(self, *error: object) -> None:
        now = modes._set(self.mode).old_value
        if now is not self.inside:
            modes.keep(now, self.mode, "levels")


def _zeros(tensor: Tensor) -> Tensor:
    return zeros_like(tensor, requires_grad=False)


def _laid_out(t: Tensor, tensor: Tensor) -> Tensor:
    """Return the tangent in the memory order of its tensor: itself if it has that order, else a copy."""
    if type(t._array) is np.ndarray and type(tensor._array) is np.ndarray and t._array.strides == tensor._array.strides:
        return t
    from ..ops.jvp import laid_out_like, lies_like

    return t if lies_like(t, tensor) or t._array.itemsize != tensor._array.itemsize else laid_out_like(t, tensor)


__dir__ = listing(__name__)
