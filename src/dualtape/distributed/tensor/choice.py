"""The choice of placements for a call: of those its rule allows, the cheapest to reach.

Each dimension of the mesh is treated separately: the shards along one of them are ordinary arrays.
"""

from __future__ import annotations

from math import prod
from typing import Any

from .redistribution import cost
from .spec import Code

__all__ = ["chosen"]


def chosen(arrays: list, allowed: list) -> tuple[Any, list, list, bool, bool]:
    """Return the mesh, the codes of each array and of each result, whether an array must be moved, and whether a
    replicated one must be sliced.

    ``allowed`` lists, for one dimension of the mesh, the codes of the results (one, or a tuple) and of the arrays.
    """
    mesh = next(x.spec.mesh for x in arrays if hasattr(x, "spec"))
    for x in arrays:
        if hasattr(x, "spec") and x.spec.mesh is not mesh:
            if x.spec.mesh != mesh:
                raise RuntimeError(f"tensors on different meshes meet: {mesh!r} and {x.spec.mesh!r}; redistribute one")
    shapes = [getattr(x, "shape", ()) for x in arrays]
    count = len(mesh.shape)
    codes: list[list[Code]] = [[] for _ in arrays]
    outs: list[tuple[list, list]] = []
    for k in range(count):
        ways = mesh.shape[k]
        best, least = None, float("inf")
        for out, ins in allowed:
            price = 0.0
            for x, shape, code in zip(arrays, shapes, ins, strict=True):
                now = x.spec.codes[k] if hasattr(x, "spec") else None
                # Of two that cost the same, as on one process, the one that moves less is chosen.
                if now != code:
                    price += cost(now, code, _bytes(x, shape), ways) + 1e-9
            if price < least:
                best, least = (out, ins), price
        if best is None:
            raise AssertionError("no placement is allowed")
        out, ins = best
        length = next((shape[code] for shape, code in zip(shapes, ins, strict=True) if type(code) is int), 0)
        results = out if type(out) is tuple else (out,)
        outs = outs or [([], []) for _ in results]
        for (found, lengths), code in zip(outs, results, strict=True):
            found.append(code)
            lengths.append(length)
        for own, code in zip(codes, ins, strict=True):
            own.append(code)
    moves = any(hasattr(x, "spec") and x.spec.codes != tuple(own) for x, own in zip(arrays, codes, strict=True))
    cuts = any(
        not hasattr(x, "spec") and any(code is not None for code in own) for x, own in zip(arrays, codes, strict=True)
    )
    return mesh, [tuple(own) for own in codes], [(tuple(found), tuple(lengths)) for found, lengths in outs], moves, cuts


def _bytes(x: Any, shape: tuple) -> float:
    """Return the average size of a process's shard: all processes must come to the same choice."""
    parts = 1
    if hasattr(x, "spec"):
        parts = prod([n for n, code in zip(x.spec.sizes, x.spec.codes, strict=True) if type(code) is int])
    dtype = getattr(x, "dtype", None)
    return prod(shape) * (dtype.itemsize if dtype is not None else 0) / parts + 1
