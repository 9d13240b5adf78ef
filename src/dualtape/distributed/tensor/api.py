"""DTensor: the public functions of tensors over sharded arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...modes import current
from ...nn import Module, Parameter
from .. import collectives, objects
from ..device_mesh import DeviceMesh
from . import maker, rules  # noqa: F401 - fill the rules
from .array import Sharded, placed
from .borders import gathered, moved_to, settled, sharded
from .placement_types import Placement, Replicate
from .spec import Code, chunk, code_of, spec_of

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]


def codes_of(name: str, mesh: DeviceMesh, placements: Any, ndim: int) -> tuple[Code, ...]:
    """Return placements as codes; replicated if none are given."""
    if not isinstance(mesh, DeviceMesh):
        raise TypeError(f"{name}: device_mesh must be a DeviceMesh, got {type(mesh).__name__}")
    chosen = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(chosen) != mesh.ndim:
        raise ValueError(
            f"{name}: placements must have one for each dimension of the mesh, {mesh.ndim}, got {len(chosen)}: {chosen}"
        )
    return tuple([code_of(placement, ndim) for placement in chosen])


class _Kind(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and type(instance._array) is Sharded


class DTensor(metaclass=_Kind):
    """A tensor of which each process of a mesh has a shard: any Tensor whose array is sharded is one.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed import destroy_process_group, init_device_mesh
    >>> from dualtape.distributed.tensor import DTensor, Shard, distribute_tensor
    >>> mesh = init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(dt.arange(4.0), mesh, [Shard(0)])
    >>> (x * x).sum().full_tensor()
    tensor(14.)
    >>> isinstance(x, DTensor), x.placements
    (True, (Shard(dim=0),))
    >>> destroy_process_group()
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("DTensor: use DTensor.from_local, or distribute_tensor")

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> Tensor:
        """Return the tensor whose shards are the processes' tensors.

        Parameters
        ----------
        local_tensor : Tensor
            What this process has.
        device_mesh : DeviceMesh, optional
            The processes; all by default.
        placements : sequence of Placement, optional
            How it lies on them; replicated by default.
        run_check : bool
            Whether to check that all processes mean the same, and to send rank 0's values where they are replicated.
        shape : sequence of int, optional
            The shape of the whole; without it the processes ask each other, which is a collective.
        stride : sequence of int, optional
            Goes with ``shape``; the whole lies in no memory, and has the order of its parts.
        grad_placements : sequence of Placement, optional
            How the gradient of the local tensor lies; as the tensor, where pending sums are replicated.
        """
        mesh = DeviceMesh("cpu") if device_mesh is None else device_mesh
        if stride is not None and shape is None:
            raise RuntimeError("from_local: stride goes with shape: give both, or neither")
        codes = codes_of("from_local", mesh, placements, local_tensor.ndim)
        whole = tuple(local_tensor.shape) if shape is None else tuple(int(n) for n in shape)
        if shape is None and any(type(code) is int for code in codes):
            whole = _whole_shape(tuple(local_tensor.shape), mesh, codes)
        spec = spec_of(mesh, codes, whole)
        if spec.local_shape != tuple(local_tensor.shape):
            raise ValueError(
                f"from_local: of a tensor of shape {list(whole)} as {spec.placements}, this process has a part of shape"
                f" {list(spec.local_shape)} (parts are equal, the last may be shorter), got {list(local_tensor.shape)}"
            )
        if run_check:
            local_tensor = _checked(local_tensor, spec)
        back = settled(codes) if grad_placements is None else codes_of("from_local", mesh, grad_placements, len(whole))
        return sharded(local_tensor, spec, back)


def _whole_shape(local: tuple, mesh: DeviceMesh, codes: tuple[Code, ...]) -> tuple:
    shape = list(local)
    for k in reversed(range(mesh.ndim)):
        code = codes[k]
        if type(code) is int and mesh.shape[k] > 1:
            lengths = wrap(np.zeros(mesh.shape[k], np.int64))
            collectives.all_gather_into_tensor(lengths, wrap(np.array([shape[code]])), mesh._groups[k])
            shape[code] = int(lengths._array.sum())
            found, count = lengths.tolist(), mesh.shape[k]
            if found != [chunk(shape[code], count, j)[1] for j in range(count)]:  # which all of them see
                raise ValueError(
                    f"from_local: the parts along dimension {code} have the lengths {found}: parts are equal, the last"
                    " may be shorter"
                )
    return tuple(shape)


def _checked(local: Tensor, spec: Any) -> Tensor:
    for k, group in enumerate(spec.mesh._groups):
        found: list = [None] * group.size()
        objects.all_gather_object(found, (list(spec.shape), str(local.dtype)), group)
        if any(each != found[0] for each in found):
            raise RuntimeError(f"from_local: the processes mean different tensors: {found}")
        if spec.codes[k] is None:
            local = local.clone()
            collectives.broadcast(local.detach(), group=group, group_src=0)
    return local


def _sharded(tensor: Tensor, name: str) -> Sharded:
    array = tensor._array
    if type(array) is not Sharded:
        raise AttributeError(f"'Tensor' object has no attribute {name!r}: it is no DTensor")
    return array


def to_local(self: Tensor, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
    """Return the shard of this process; its gradient is a shard of the tensor's (with pending sums: the same on each
    process), unless ``grad_placements`` says otherwise.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed import destroy_process_group, init_device_mesh
    >>> from dualtape.distributed.tensor import Replicate, Shard, distribute_tensor
    >>> x = distribute_tensor(dt.arange(3), init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> x.to_local()
    tensor([0, 1, 2])
    >>> destroy_process_group()
    """
    spec = _sharded(self, "to_local").spec
    if not (self.requires_grad and current().grad) and not current().levels:
        local = wrap(self._array.local)
        local._version_counter = self._shared_counter
        return local
    back = settled(spec.codes)
    if grad_placements is not None:
        back = codes_of("to_local", spec.mesh, grad_placements, self.ndim)
    return gathered(self, spec, spec.codes, back)


def full_tensor(self: Tensor, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
    """Return the whole tensor, on each process.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed import destroy_process_group, init_device_mesh
    >>> from dualtape.distributed.tensor import Replicate, Shard, distribute_tensor
    >>> x = distribute_tensor(dt.arange(3), init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> (x * 2).full_tensor()
    tensor([0, 2, 4])
    >>> destroy_process_group()
    """
    spec = _sharded(self, "full_tensor").spec
    whole: tuple[Code, ...] = (None,) * len(spec.codes)
    back = whole if grad_placements is None else codes_of("full_tensor", spec.mesh, grad_placements, self.ndim)
    return gathered(self, spec, whole, back)


def redistribute(
    self: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    async_op: bool = False,
    forward_dtype: Any = None,
    backward_dtype: Any = None,
) -> Tensor:
    """Return the same tensor under other placements; its gradient gets the original ones.

    Parameters
    ----------
    device_mesh : DeviceMesh, optional
        Its own; to go to another mesh, take ``full_tensor()``.
    placements : sequence of Placement
        The new ones.
    async_op, forward_dtype, backward_dtype
        Not here: the steps depend on one another; convert with ``to()``.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed import destroy_process_group, init_device_mesh
    >>> from dualtape.distributed.tensor import Replicate, Shard, distribute_tensor
    >>> x = distribute_tensor(dt.arange(3), init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> x.redistribute(placements=[Replicate()]).placements
    (Replicate(),)
    >>> destroy_process_group()
    """
    spec = _sharded(self, "redistribute").spec
    if device_mesh is not None and device_mesh != spec.mesh:
        raise NotImplementedError("redistribute: to another mesh go by full_tensor() and distribute_tensor")
    if placements is None:
        raise RuntimeError("redistribute: say to which placements")
    if async_op or forward_dtype is not None or backward_dtype is not None:
        raise NotImplementedError(
            "redistribute: async_op, forward_dtype and backward_dtype are not here: convert with to(dtype) before or"
            " after"
        )
    codes = codes_of("redistribute", spec.mesh, placements, self.ndim)
    for now, then in zip(spec.codes, codes, strict=True):
        if type(then) is str and now != then:
            raise RuntimeError(f"redistribute from {spec.placements} to {list(placements)}: nothing becomes pending")
    return moved_to(self, spec, codes)


def _placements(self: Tensor) -> tuple[Placement, ...]:
    """Return the placements of the tensor."""
    return _sharded(self, "placements").spec.placements


def _device_mesh(self: Tensor) -> DeviceMesh:
    """Return the mesh of the tensor."""
    return _sharded(self, "device_mesh").spec.mesh


for _function in (to_local, full_tensor, redistribute):
    setattr(Tensor, _function.__name__, _function)
    setattr(DTensor, _function.__name__, _function)
for _name, _getter in (("placements", _placements), ("device_mesh", _device_mesh)):
    setattr(Tensor, _name, property(_getter))
    setattr(DTensor, _name, property(_getter))


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """Return a tensor that all processes have as a sharded one: a leaf.

    Parameters
    ----------
    tensor : Tensor
        The whole.
    device_mesh : DeviceMesh, optional
        The processes; all by default.
    placements : sequence of Placement, optional
        How it is to lie on them; replicated by default.
    src_data_rank : int, optional
        Whose values it has, by the place along each dimension of the mesh; None for each process's own.
    """
    mesh = DeviceMesh("cpu") if device_mesh is None else device_mesh
    if type(tensor._array) is Sharded:
        raise ValueError("distribute_tensor: this is a DTensor already: use redistribute")
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors: use from_local, or detach() it"
        )
    codes = codes_of("distribute_tensor", mesh, placements, tensor.ndim)
    if any(type(code) is str for code in codes):
        raise ValueError("distribute_tensor: values are not pending: use Shard or Replicate, or from_local")
    array = tensor._array.copy()
    if src_data_rank is not None:
        for group in mesh._groups:
            collectives.broadcast(wrap(array), group=group, group_src=src_data_rank)
    local = placed(array, mesh, codes)
    result = wrap(Sharded(local, spec_of(mesh, codes, tuple(tensor.shape))))
    return result.requires_grad_(tensor.requires_grad)


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable | None = None,
    input_fn: Callable | None = None,
    output_fn: Callable | None = None,
) -> Module:
    """Shard the parameters and buffers of a module.

    Parameters
    ----------
    module : Module
        Changed in place.
    device_mesh : DeviceMesh, optional
        The processes; all by default.
    partition_fn : callable, optional
        ``partition_fn(name, submodule, mesh)`` distributes the parameters it wants to; the others are replicated.
    input_fn, output_fn : callable, optional
        ``input_fn(module, inputs, mesh)`` and ``output_fn(module, outputs, mesh)`` change what goes in and comes out.
    """
    mesh = DeviceMesh("cpu") if device_mesh is None else device_mesh
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        for key, parameter in list(each._parameters.items()):
            if parameter is not None and type(parameter._array) is not Sharded:
                placed_parameter = Parameter(distribute_tensor(parameter.detach(), mesh), parameter.requires_grad)
                each.register_parameter(key, placed_parameter)
        for key, buffer in list(each._buffers.items()):
            if buffer is not None and type(buffer._array) is not Sharded:
                each._buffers[key] = distribute_tensor(buffer, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, outputs: output_fn(m, outputs, mesh))
    return module
