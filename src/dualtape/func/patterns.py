"""``rearrange``: name, move, split and join dimensions by a pattern, in the notation of the package einops."""

from __future__ import annotations

import re
from typing import Any

from .._tensor.tensor import Tensor
from ..ops.dispatch import FUNCTIONS

_TOKENS = re.compile(r"\s*(\.\.\.|…|[A-Za-z_]\w*|\d+|[()]|\S)")


def _side(text: str, pattern: str) -> list[Any]:
    """Return one side of a pattern: the names of each dimension, in a list if they are in brackets, else in a tuple."""
    dims: list[Any] = []
    group: list[str] | None = None
    for token in _TOKENS.findall(text):
        if token == "(":
            if group is not None:
                raise ValueError(f"rearrange: brackets within brackets in {pattern!r}")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError(f"rearrange: a closing bracket without its opening one in {pattern!r}")
            dims.append(group)
            group = None
        elif token in ("...", "…") or token.isidentifier() or token == "1":
            name = "..." if token == "…" else token
            if group is None:
                dims.append(() if name == "1" else (name,))
            elif name != "1":
                group.append(name)
        else:
            raise ValueError(f"rearrange: {token!r} in {pattern!r} is no name of a dimension, bracket, 1 or ellipsis")
    if group is not None:
        raise ValueError(f"rearrange: a bracket is not closed in {pattern!r}")
    return dims


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor with its dimensions in another order, split or joined.

    Parameters
    ----------
    tensor : Tensor, or sequence of Tensor
        A sequence is stacked: it is the first dimension.
    pattern : str
        The dimensions as they are and as they are to be: ``"b (h w) c -> b c h w"``; brackets join, ``...`` stands for
        any others, ``1`` for one of size 1.
    **axes_lengths : int
        Sizes that cannot be worked out.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.func.rearrange(dt.arange(6), "(h w) -> w h", h=2).shape
    dualtape.Size([3, 2])
    """
    x: Any = FUNCTIONS["stack"](tensor) if isinstance(tensor, (list, tuple)) else tensor
    if pattern.count("->") != 1:
        raise ValueError(f"rearrange: expected a pattern with one '->', got {pattern!r}")
    left, right = (_side(part, pattern) for part in pattern.split("->"))
    left, right = _spelled_out(left, right, x.ndim, pattern)
    names = [name for group in left for name in group]
    wanted = [name for group in right for name in group]
    for side in (names, wanted):
        if len(set(side)) != len(side):
            raise ValueError(f"rearrange: a dimension stands twice on one side of {pattern!r}")
    if set(names) != set(wanted):
        raise ValueError(f"rearrange: {sorted(set(names) ^ set(wanted))} stand on one side only of {pattern!r}")
    unknown = set(axes_lengths) - set(names)
    if unknown:
        raise ValueError(f"rearrange: {sorted(unknown)} are given a length, but do not stand in {pattern!r}")
    if len(left) != x.ndim:
        raise ValueError(f"rearrange: {pattern!r} is for {len(left)} dimensions, the tensor has {x.ndim}")
    sizes: dict[str, int] = dict(axes_lengths)
    for group, size in zip(left, x.shape, strict=True):
        _sized(group, size, sizes, pattern)
    x = x.reshape([sizes[name] for name in names])
    x = x.permute([names.index(name) for name in wanted])
    joined = []
    for group in right:
        size = 1
        for name in group:
            size *= sizes[name]
        joined.append(size)
    return x.reshape(joined)


def _spelled_out(left: list, right: list, ndim: int, pattern: str) -> tuple[list, list]:
    """Return both sides with names for the dimensions of an ellipsis."""
    dots = [sum(group.count("...") for group in side) for side in (left, right)]
    if dots[0] != dots[1] or dots[0] > 1 or any("..." in group for group in left if type(group) is list):
        raise ValueError(f"rearrange: an ellipsis stands once, on both sides, and on the left by itself: {pattern!r}")
    if not dots[0]:
        return left, right
    count = ndim - (len(left) - 1)
    if count < 0:
        raise ValueError(f"rearrange: {pattern!r} is for at least {len(left) - 1} dimensions, the tensor has {ndim}")
    others = [f"... {k}" for k in range(count)]
    sides = []
    for side in (left, right):
        new: list[list[str]] = []
        for group in side:
            if group == ("...",):
                new.extend([other] for other in others)
            else:
                new.append([name for part in group for name in (others if part == "..." else [part])])
        sides.append(new)
    return sides[0], sides[1]


def _sized(group: list[str], size: int, sizes: dict[str, int], pattern: str) -> None:
    """Compute the one unknown size in a group."""
    known, open_names = 1, []
    for name in group:
        if name in sizes:
            known *= sizes[name]
        else:
            open_names.append(name)
    if len(open_names) > 1:
        raise ValueError(f"rearrange: the sizes of {open_names} in {pattern!r} cannot be told apart: give all but one")
    if not open_names and known != size or open_names and (known == 0 or size % known):
        raise ValueError(f"rearrange: a dimension of size {size} is not {' * '.join(group) or 1} in {pattern!r}")
    if open_names:
        sizes[open_names[0]] = size // known
