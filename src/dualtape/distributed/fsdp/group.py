"""The sharded parameters of one module: gathered together before it computes, freed afterwards; their gradients
averaged together, each process keeping its shard.

The graph does not keep gathered parameters for the backward but notes of their position (:func:`note_of`): so the
memory can be freed after the forward, and the backward gathers it again. A shard that was written in between would give
other values: that is refused, as writes to saved tensors are.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy

from ..._tensor.tensor import Tensor, wrap
from ...arrays import Absent, module_of
from ...arrays.bfloat16_dtype import BFLOAT16, cast
from ...modes import no_grad
from ...nn import Module, Parameter
from .. import collectives
from ..device_mesh import DeviceMesh
from ..reduce_op import ReduceOp
from ..tensor.array import Sharded, placed
from ..tensor.spec import Code, chunk, spec_of
from .policies import MixedPrecisionPolicy

np: Any = numpy

__all__ = ["Group", "note_of", "tensor_of"]

_gathered: dict[int, tuple[Slot, ref]] = {}  # whose array it is, by the array's id, as long as it lives


def _bare(array: Any) -> Any:
    """Return the memory of an array: of bfloat16, its float32 values."""
    return array.values if array.dtype is BFLOAT16 else array


def _dressed(values: Any, dtype: Any) -> Any:
    if dtype is not BFLOAT16:
        return values
    from ...arrays.bfloat16 import BFloat16Array

    return BFloat16Array(values, True)


class Slot:
    """One parameter: its shard, which optimizers update, and the whole, which the module has while it computes."""

    def __init__(self, name: str, owners: list[tuple[Module, str]], dim: int, group: Group) -> None:
        self.name = name
        self.owners = owners  # of a shared parameter several
        self.dim = dim
        self.group = group
        whole = owners[0][0]._parameters[owners[0][1]]
        assert whole is not None
        array = whole._array
        self.inner = array.spec if type(array) is Sharded else None  # of a parameter that is in parts already
        local = array.local if self.inner is not None else array
        self.shape: tuple[int, ...] = local.shape  # of what is gathered
        mesh, codes = group.placement_of(self)
        count, place = group.shards.size(), group.shards.rank()
        start, length = chunk(self.shape[dim], count, place)
        part = local[(slice(None),) * dim + (slice(start, start + length),)].copy()
        shape = self.inner.shape if self.inner is not None else self.shape
        self.part = Parameter(wrap(Sharded(part, spec_of(mesh, codes, shape))), whole.requires_grad)
        self.seen = 0  # the version of the part when it was gathered
        self.whole: Any = None

    def install(self, parameter: Any) -> None:
        """Set ``parameter`` on the modules."""
        for module, name in self.owners:
            module._parameters[name] = parameter

    def refresh(self) -> None:
        """Take over a shard that replaced the old one."""
        module, name = self.owners[0]
        found = module._parameters[name]
        if found is self.part or found is self.whole:
            return
        if not isinstance(found, Parameter) or getattr(found._array, "spec", None) is not self.part._array.spec:
            raise RuntimeError(
                f"fully_shard: {self.name} was replaced by something that does not lie as its part did"
                f" ({self.part._array.spec}): copy values into the parameter instead"
            )
        self.part, self.whole = found, None

    @property
    def room(self) -> tuple[int, ...]:
        """The shape of the longest shard."""
        full = chunk(self.shape[self.dim], self.group.shards.size(), 0)[1]
        return (*self.shape[: self.dim], full, *self.shape[self.dim + 1 :])

    def padded(self, array: Any) -> Any:
        """Return a shard, padded to the length of the longest."""
        room = self.room
        if array.shape == room:
            return array
        out = module_of(array).zeros(room, array.dtype)
        out[tuple([slice(n) for n in array.shape])] = array
        return out

    def trimmed(self, array: Any, place: int) -> Any:
        """Strip a shard's padding."""
        length = chunk(self.shape[self.dim], self.group.shards.size(), place)[1]
        return array[(slice(None),) * self.dim + (slice(0, length),)]

    def fill(self, array: Any) -> None:
        """Give the whole parameter its memory, or take it away (None)."""
        if self.whole is None:
            self.whole = Parameter(wrap(np.empty(0)), False)
        dtype = self.group.computed(self.part._array.dtype)
        if array is None:
            local: Any = Absent(self.shape, dtype)
        else:
            local = _dressed(array, dtype)
            key = id(array)
            _gathered[key] = (self, ref(array, lambda _: _gathered.pop(key, None)))
        self.whole._array = Sharded(local, self.inner) if self.inner is not None else local
        self.whole.requires_grad_(self.part.requires_grad)


class Group:
    """The parameters that one call of ``fully_shard`` shards together."""

    def __init__(
        self,
        modules: list[Module],
        slots: list[tuple[str, list[tuple[Module, str]], int]],
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
    ) -> None:
        self.modules = modules
        self.mesh = mesh
        self.policy = policy
        self.shards = mesh._groups[-1]
        self.replicas = mesh._groups[0] if mesh.ndim == 2 else None
        self.syncing = True  # whether gradients are reduced
        self.reducing_replicas = True
        self.divisor: float | None = None
        self.unsharded = False
        self._arriving: list | None = None
        self.slots = [Slot(*each, self) for each in slots]
        for slot in self.slots:  # once nothing can fail
            slot.install(slot.part)

    def placement_of(self, slot: Slot) -> tuple[DeviceMesh, tuple[Code, ...]]:
        """Return the mesh and the placements of a parameter's shard."""
        own: tuple[Code, ...] = (slot.dim,) if self.mesh.ndim == 1 else (None, slot.dim)
        if slot.inner is None:
            return self.mesh, own
        # parts of parts: what is in parts already comes first, as the outer
        return _joined(slot.inner.mesh, self.mesh), (*slot.inner.codes, *own)

    def computed(self, dtype: Any) -> Any:
        """Return the dtype of the gathered parameter, given that of its shard."""
        wanted = self.policy.param_dtype
        return dtype if wanted is None or dtype.kind != "f" else wanted.numpy

    # --- gathering --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin to gather."""
        if self.unsharded or self._arriving is not None:
            return
        arriving: list = []
        buckets: dict[str, list[tuple[Slot, Any]]] = {}
        for slot in self.slots:
            slot.refresh()
            local = slot.part._array.local
            dtype = self.computed(local.dtype)
            local = local if local.dtype == dtype else cast(local, dtype)
            buckets.setdefault(dtype.name, []).append((slot, _bare(local)))
        for pairs in buckets.values():
            module, like = module_of(pairs[0][1]), pairs[0][1]
            flat = module.concatenate([slot.padded(local).reshape(-1) for slot, local in pairs])
            every = module.empty((self.shards.size(), flat.size), like.dtype)
            work = collectives.all_gather_into_tensor(wrap(every), wrap(flat), self.shards, async_op=True)
            arriving.append((work, every, [slot for slot, _ in pairs]))
        self._arriving = arriving

    def unshard(self) -> None:
        """Give the modules whole parameters."""
        if self.unsharded:
            if all([slot.part._version == slot.seen for slot in self.slots]):
                return
            self.reshard()  # what was gathered is no longer what the parts say
        self.begin()
        for work, every, slots in self._arriving or ():
            if work is not None:
                work.wait()
            start = 0
            for slot in slots:
                size = int(np.prod(slot.room, dtype=np.int64))
                pieces = every[:, start : start + size].reshape((-1, *slot.room))
                start += size
                parts = [slot.trimmed(piece, k) for k, piece in enumerate(pieces)]
                slot.fill(module_of(every).concatenate(parts, slot.dim))
                slot.seen = slot.part._version
        self._arriving = None
        self.unsharded = True
        for slot in self.slots:
            slot.install(slot.whole)

    def reshard(self) -> None:
        """Give the modules their shards back, and free the memory of the whole."""
        if not self.unsharded:
            return
        self.unsharded = False
        for slot in self.slots:
            array = slot.whole._array
            _gathered.pop(id(_bare(array.local if slot.inner is not None else array)), None)
            slot.fill(None)
            slot.install(slot.part)

    # --- reducing ---------------------------------------------------------------------------------

    def reduce(self) -> None:
        """Average the gradients that have arrived, and add them to those of the shards."""
        if not self.syncing:
            return
        buckets: dict[str, list[tuple[Slot, Any]]] = {}
        for slot in self.slots:
            grad = None if slot.whole is None else slot.whole._grad
            if grad is None:
                continue
            array = grad._array
            if isinstance(array, Absent):
                raise NotImplementedError(f"fully_shard: {slot.name} has a sparse gradient, which is not reduced")
            if slot.inner is not None:
                array = placed(array, slot.inner.mesh, slot.inner.codes)
            wanted = self.policy.reduce_dtype
            array = array if wanted is None else cast(array, wanted.numpy)
            buckets.setdefault(array.dtype.name, []).append((slot, array))
            slot.whole._grad = None
        for pairs in buckets.values():
            dtype = pairs[0][1].dtype
            self._reduce_bucket([(slot, _bare(array)) for slot, array in pairs], dtype)

    def _reduce_bucket(self, pairs: list[tuple[Slot, Any]], dtype: Any) -> None:
        count = self.shards.size()
        module, like = module_of(pairs[0][1]), pairs[0][1]
        sizes = [int(np.prod(slot.room, dtype=np.int64)) for slot, _ in pairs]
        rows = module.zeros((count, sum(sizes)), like.dtype)
        for k in range(count):
            offset = 0
            for (slot, array), size in zip(pairs, sizes, strict=True):
                start, length = chunk(slot.shape[slot.dim], count, k)
                piece = array[(slice(None),) * slot.dim + (slice(start, start + length),)]
                rows[k, offset : offset + size] = slot.padded(piece).reshape(-1)
                offset += size
        mine = module.empty(rows.shape[1:], like.dtype)
        everyone = count * (self.replicas.size() if self.replicas is not None else 1)
        collectives.reduce_scatter_tensor(wrap(mine), wrap(rows), ReduceOp.SUM, self.shards)
        if self.replicas is not None and self.reducing_replicas:
            collectives.all_reduce(wrap(mine), ReduceOp.SUM, self.replicas)
        mine /= like.dtype.type(self.divisor or everyone)
        mine = _bare(cast(mine, dtype)) if dtype is BFLOAT16 else mine
        offset = 0
        for (slot, _), size in zip(pairs, sizes, strict=True):
            piece = slot.trimmed(mine[offset : offset + size].reshape(slot.room), self.shards.rank())
            offset += size
            target = slot.part
            local = cast(piece, target._array.dtype)  # in memory of its own
            grad = wrap(Sharded(local, target._array.spec))
            if target._grad is None:
                target._grad = grad
            else:
                with no_grad():
                    target._grad.add_(grad)


_meshes: dict[tuple, DeviceMesh] = {}


def _joined(outer: DeviceMesh, inner: DeviceMesh) -> DeviceMesh:
    """Return the mesh of two submeshes of one mesh: the dimensions of ``outer``, then those of ``inner``."""
    parent = outer._root
    if parent is None or parent is not inner._root or parent.mesh_dim_names is None:
        raise ValueError(
            "fully_shard: a parameter that is in parts already must be on a part of the mesh that `mesh` is a part of:"
            ' mesh_2d["tp"] and mesh_2d["dp"]'
        )
    names = (*(outer.mesh_dim_names or ()), *(inner.mesh_dim_names or ()))
    key = (id(parent), names)
    if key not in _meshes:
        order = [parent.mesh_dim_names.index(name) for name in names]
        if len(order) != parent.ndim:
            raise ValueError(f"fully_shard: the dimensions {names} must be all of {parent!r}")
        _meshes[key] = DeviceMesh(
            parent.device_type, parent._ranks.transpose(order), mesh_dim_names=names, _parent=parent
        )
    return _meshes[key]


# --- what a backward needs of gathered parameters -------------------------------------------------


class Note:
    """The position in a gathered parameter of a tensor that a backward will need."""

    __slots__ = ("slot", "offset", "shape", "strides", "spec", "seen", "dtype")

    def __init__(self, slot: Slot, of: Any, array: Any, dtype: Any, spec: Any) -> None:
        address = lambda a: a.__array_interface__["data"][0]
        self.slot = slot
        self.offset = address(array) - address(of)
        self.shape = array.shape
        self.strides = array.strides
        self.dtype = dtype
        self.spec = spec
        self.seen = slot.seen


def note_of(tensor: Tensor) -> Any:
    """Return the note of a saved tensor that lies in a gathered parameter; other tensors unchanged."""
    array = tensor._array
    spec = None
    if type(array) is Sharded:
        spec, array = array.spec, array.local
    dtype, array = array.dtype, _bare(array)
    if type(array) is not numpy.ndarray:
        return tensor
    found = _gathered.get(id(array)) or _gathered.get(id(array.base))
    of = None if found is None else found[1]()
    return tensor if found is None or of is None or array.dtype != of.dtype else Note(found[0], of, array, dtype, spec)


def tensor_of(note: Any) -> Tensor:
    """Return the tensor of a note, gathered again if necessary."""
    if type(note) is not Note:
        return note
    slot = note.slot
    if slot.part._version != note.seen:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: the"
            f" parameter {slot.name} was at version {note.seen} when its module computed, and is at"
            f" {slot.part._version}; run the backward before the optimizer's step"
        )
    slot.group.unshard()
    array = slot.whole._array
    local = _bare(array.local if slot.inner is not None else array)
    if note.shape != local.shape or note.strides != local.strides:
        flat = local.reshape(-1)[note.offset // local.itemsize :]
        local = numpy.lib.stride_tricks.as_strided(flat, note.shape, note.strides)
    local = _dressed(local, note.dtype)
    return wrap(local if note.spec is None else Sharded(local, note.spec))
