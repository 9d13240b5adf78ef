"""The spec of a sharded array: mesh, placements, global shape; one object for each combination that occurs.

Internally a placement is a code: an int for the dimension it shards, None for replicated, a string for a pending
reduction ("sum", "max", ...).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..device_mesh import DeviceMesh
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Code", "Spec", "chunk", "code_of", "spec_of"]

Code = int | str | None

_specs: dict[tuple, Spec] = {}


def chunk(n: int, count: int, place: int) -> tuple[int, int]:
    """Return offset and length of the ``place``-th of ``count`` chunks of ``n``: equal, but for the last ones."""
    full = -(-n // count)
    start = min(place * full, n)
    return start, min(full, n - start)


class Spec:
    """How an array of some shape is distributed over a mesh."""

    __slots__ = ("mesh", "codes", "shape", "local_shape", "whole", "partial", "sizes", "places", "starts")

    def __init__(self, mesh: DeviceMesh, codes: tuple[Code, ...], shape: tuple[int, ...]) -> None:
        if mesh._coordinate is None:
            raise RuntimeError(f"this process is not in {mesh!r}, and has no part of its tensors")
        self.mesh = mesh
        self.codes = codes
        self.shape = shape
        self.sizes = mesh.shape
        self.places = tuple(mesh._coordinate)
        self.whole = all(code is None for code in codes)  # on each process
        self.partial = any(type(code) is str for code in codes)
        self.local_shape = self.lengths(range(len(codes)))
        starts, lengths = [0] * len(shape), list(shape)
        for code, count, place in zip(codes, self.sizes, self.places, strict=True):
            if type(code) is int:
                start, lengths[code] = chunk(lengths[code], count, place)
                starts[code] += start
        self.starts = tuple(starts)  # where the part of this process begins, in each dimension

    def lengths(self, dims: Sequence[int]) -> tuple[int, ...]:
        """Return the local shape if only some dimensions of the mesh shard the array."""
        shape = list(self.shape)
        for k in dims:
            code = self.codes[k]
            if type(code) is int:
                shape[code] = chunk(shape[code], self.sizes[k], self.places[k])[1]
        return tuple(shape)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """The public form of the codes."""
        return tuple(
            [Replicate() if c is None else Shard(c) if type(c) is int else Partial(str(c)) for c in self.codes]
        )

    def __repr__(self) -> str:
        return f"{list(self.shape)} on {self.sizes} as {', '.join(map(str, self.placements))}"


def spec_of(mesh: DeviceMesh, codes: tuple[Code, ...], shape: tuple[int, ...]) -> Spec:
    """Return the spec of that mesh, those codes and that shape."""
    key = (id(mesh), codes, shape)
    found = _specs.get(key)
    if found is None:
        if len(_specs) > 10000:
            _specs.clear()
        found = _specs[key] = Spec(mesh, codes, shape)  # which keeps the mesh, so that its id is no other's
    return found


def code_of(placement: Any, ndim: int) -> Code:
    """Return a placement as a code."""
    if isinstance(placement, Shard):
        if not -ndim <= placement.dim < ndim:
            raise ValueError(f"{placement!r} is for a tensor of more dimensions: this has {ndim}")
        return placement.dim % ndim
    if isinstance(placement, Partial):
        if placement.reduce_op not in REDUCTIONS:
            raise ValueError(f"Partial: reduce_op must be one of {', '.join(REDUCTIONS)}, got {placement.reduce_op!r}")
        return placement.reduce_op
    if isinstance(placement, Replicate):
        return None
    raise TypeError(f"a placement is Shard(dim), Replicate() or Partial(), got {placement!r}")


REDUCTIONS = ("sum", "avg", "product", "max", "min")
