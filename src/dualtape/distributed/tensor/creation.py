"""Creating sharded tensors: each process creates its shard, also of random numbers, which do not depend on the number
of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.device import strided
from ..._tensor.tensor import Tensor, wrap
from ...random import default_generator, randint
from .. import collectives
from ..device_mesh import DeviceMesh
from .api import codes_of
from .array import Sharded
from .placement_types import Placement
from .redistribution import redistribute
from .spec import Spec, chunk, spec_of

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]

_BLOCK = 4096  # numbers that are drawn together, at least
Placements = Sequence[Placement] | None


def _size(size: tuple) -> tuple[int, ...]:
    return tuple(int(n) for n in (size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size))


def _made(
    name: str,
    size: tuple,
    dtype: Any,
    layout: Any,
    requires_grad: bool,
    mesh: DeviceMesh | None,
    placements: Placements,
    make: Any,
) -> Tensor:
    if layout is not strided:
        raise ValueError(f"{name}: a DTensor is dense: leave layout out, got {layout!r}")
    mesh = DeviceMesh("cpu") if mesh is None else mesh
    codes = codes_of(name, mesh, placements, len(size))
    if any(type(code) is str for code in codes):
        raise ValueError(f"{name}: values are not pending: use Shard or Replicate")
    spec = spec_of(mesh, codes, size)
    kind = (dtype or dtypes.get_default_dtype()).numpy
    return wrap(Sharded(make(spec, kind), spec)).requires_grad_(requires_grad)


def zeros(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = strided,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Zeros.

    Examples
    --------
    >>> from dualtape.distributed import destroy_process_group, init_device_mesh
    >>> from dualtape.distributed.tensor import Shard, zeros
    >>> zeros(4, 2, device_mesh=init_device_mesh("cpu", (1,)), placements=[Shard(0)]).to_local().shape
    dualtape.Size([4, 2])
    >>> destroy_process_group()
    """
    return _made(
        "zeros",
        _size(size),
        dtype,
        layout,
        requires_grad,
        device_mesh,
        placements,
        lambda spec, kind: np.zeros(spec.local_shape, kind),
    )


def ones(
    *size: Any,
    dtype: Any = None,
    layout: Any = strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Ones."""
    return _made(
        "ones",
        _size(size),
        dtype,
        layout,
        requires_grad,
        device_mesh,
        placements,
        lambda spec, kind: np.ones(spec.local_shape, kind),
    )


def empty(
    *size: Any,
    dtype: Any = None,
    layout: Any = strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """An uninitialised tensor."""
    return _made(
        "empty",
        _size(size),
        dtype,
        layout,
        requires_grad,
        device_mesh,
        placements,
        lambda spec, kind: np.empty(spec.local_shape, kind),
    )


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """A tensor filled with one value."""
    return _made(
        "full",
        _size((size,)),
        dtype,
        layout,
        requires_grad,
        device_mesh,
        placements,
        lambda spec, kind: np.full(spec.local_shape, fill_value, kind),
    )


def rand(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = strided,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Random numbers from 0 to 1, by the default generator of the mesh's first process."""
    return _made(
        "rand",
        _size(size),
        dtype,
        layout,
        requires_grad,
        device_mesh,
        placements,
        lambda spec, kind: _drawn(spec, kind, lambda draw, n: draw.random(n)),
    )


def randn(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = strided,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Random numbers of the standard normal distribution, by the default generator of the mesh's first process."""
    return _made(
        "randn",
        _size(size),
        dtype,
        layout,
        requires_grad,
        device_mesh,
        placements,
        lambda spec, kind: _drawn(spec, kind, lambda draw, n: draw.standard_normal(n)),
    )


def _drawn(spec: Spec, kind: np.dtype, draw: Any) -> np.ndarray:
    """Return the shard of an array of random numbers: rows are drawn in blocks, each by a generator of its own, and
    only those in the shard of this process.
    """
    seed = wrap(np.array([_next_seed()]))
    for group in spec.mesh._groups:
        collectives.broadcast(seed, group=group, group_src=0)
    rows, row = (spec.shape[0], prod(spec.shape[1:])) if spec.shape else (1, 1)
    start, length = 0, rows
    for code, count, place in zip(spec.codes, spec.sizes, spec.places, strict=True):
        if code == 0:
            offset, length = chunk(length, count, place)
            start += offset
    step = max(_BLOCK // max(row, 1), 1)
    blocks = [
        draw(np.random.Generator(np.random.Philox(key=[int(seed._array[0]), block])), step * row)
        for block in range(start // step, -(-(start + length) // step))
    ]
    values = np.concatenate([*blocks, np.empty(0)])[: len(blocks) * step * row].reshape(-1, max(row, 1))
    mine = values[start % step :][:length].astype(kind).reshape((length, *spec.shape[1:]) if spec.shape else ())
    rest = tuple([None if code == 0 else code for code in spec.codes])
    whole = (length, *spec.shape[1:]) if spec.shape else ()
    return redistribute(mine, spec_of(spec.mesh, (None,) * len(rest), whole), rest)


def _next_seed() -> int:
    return int(randint(2**62, (1,), generator=default_generator).item())
