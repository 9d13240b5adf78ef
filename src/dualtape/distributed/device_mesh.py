"""Meshes: processes in an n-dimensional arrangement, with a group for each line of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from . import groups
from .groups import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]

_known: dict[tuple[int, tuple[int, ...]], Any] = {}  # groups of this world, by their ranks


def _group(ranks: list[int]) -> Any:
    """Return the group of some ranks, created once: communicators are a limited resource."""
    world = groups.default_group()
    if ranks == world.ranks:
        return world
    key = (id(world), tuple(ranks))
    found = _known.get(key)
    if found is None or isinstance(found, ProcessGroup) and found not in groups._groups:
        found = _known[key] = groups.new_group(ranks, sort_ranks=False)
    return found


class DeviceMesh:
    """Processes in an n-dimensional arrangement.

    Parameters
    ----------
    device_type : str
        "cpu", or "cuda" with the backend nccl.
    mesh : array of int
        The ranks.
    mesh_dim_names : sequence of str, optional
        A name for each dimension.

    Examples
    --------
    >>> import dualtape.distributed as dist
    >>> dist.init_process_group()
    >>> mesh = dist.DeviceMesh("cpu", [[0]], mesh_dim_names=("data", "model"))
    >>> mesh.shape, mesh["model"].ndim
    ((1, 1), 1)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None, _parent: Any = None
    ) -> None:
        if not groups.is_initialized():
            groups.init_process_group()
        world = groups.default_group()
        ranks = mesh.numpy() if isinstance(mesh, Tensor) else np.asarray(range(world.size()) if mesh is None else mesh)
        if ranks.dtype.kind not in "iu" or len(set(ranks.ravel().tolist())) != ranks.size:
            raise ValueError(f"DeviceMesh: mesh must be an array of different ranks, got {ranks.tolist()}")
        if ranks.size and not 0 <= ranks.min() <= ranks.max() < world.size():
            raise RuntimeError(f"DeviceMesh: the world has the ranks 0 to {world.size() - 1}, got {ranks.tolist()}")
        if mesh_dim_names is not None and (
            len(mesh_dim_names) != ranks.ndim or len(set(mesh_dim_names)) != len(mesh_dim_names)
        ):
            raise RuntimeError(
                f"DeviceMesh: mesh_dim_names must be {ranks.ndim} different names, got {list(mesh_dim_names)}"
            )
        self.device_type = device_type
        self._ranks = ranks
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._root = _parent
        self.shape: tuple[int, ...] = ranks.shape
        self.ndim: int = ranks.ndim
        here = np.argwhere(ranks == world.rank())
        self._coordinate = here[0].tolist() if len(here) else None
        self._groups: list[Any] = []
        for dim in range(ranks.ndim):
            lines = np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist()
            mine = [group for line in lines if isinstance(group := _group(line), ProcessGroup) and world.rank() in line]
            self._groups.append(mine[0] if mine else None)

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return wrap(self._ranks.copy())

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of processes, along one dimension or in all."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def _dim(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim != 1:
                raise RuntimeError(f"the mesh has {self.ndim} dimensions, which need a `mesh_dim` to tell them apart")
            return 0
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(f"Invalid mesh_dim_name {mesh_dim!r}: the mesh has {self.mesh_dim_names}")
            return (self.mesh_dim_names or ()).index(mesh_dim)
        return range(self.ndim)[mesh_dim]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this process along a dimension."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this process along all dimensions."""
        return list(self._groups)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return the position of this process along a dimension."""
        dim = self._dim(mesh_dim)
        if self._coordinate is None:
            raise RuntimeError("get_local_rank: this process is not in the mesh")
        return self._coordinate[dim]

    def get_rank(self) -> int:
        """The rank of this process in the world."""
        return groups.get_rank()

    def get_coordinate(self) -> list[int] | None:
        """Return the position of this process along all dimensions; None if it is not in the mesh."""
        return None if self._coordinate is None else list(self._coordinate)

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the submesh of the processes that differ from this one in the named dimensions only."""
        wanted = [self._dim(name) for name in ((names,) if isinstance(names, str) else names)]
        if self._coordinate is None:
            raise RuntimeError("this process is not in the mesh, and in none of its parts")
        if wanted == list(range(self.ndim)):
            return self
        others = [dim for dim in range(self.ndim) if dim not in wanted]
        lines = np.transpose(self._ranks, (*others, *wanted)).reshape(-1, *[self.shape[dim] for dim in wanted])
        labels = [(self.mesh_dim_names or ())[dim] for dim in wanted]
        rank = groups.get_rank()
        # every process makes all of them, so that groups are made in one order
        parts = [DeviceMesh(self.device_type, line, mesh_dim_names=labels, _parent=self) for line in lines]
        return next(part for part in parts if rank in part._ranks)

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None
    ) -> DeviceMesh:
        """The mesh of a group's processes; of several groups with the ranks of all of them in ``mesh``."""
        if isinstance(group, ProcessGroup):
            # its members alone may call this: the group is at hand, and need not be made by all processes
            _known.setdefault((id(groups.default_group()), tuple(group.ranks)), group)
            return DeviceMesh(device_type, group.ranks if mesh is None else mesh, mesh_dim_names=mesh_dim_names)
        if mesh is None:
            raise ValueError("from_group: several groups need the ranks of all their processes: give mesh")
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names)

    # what derivatives that are divided over a mesh ask of it (:mod:`spread`)

    def _share(self, n: int) -> tuple[int, int]:
        from .spread import share

        return share(self, n)

    def _together(self, x: Any, n: int) -> Any:
        from .spread import together

        return together(x, self, n)

    def _divided(self, function: Any, items: Any, n: int) -> list:
        from .spread import divided

        return divided(self, function, items, n)

    def _key(self) -> tuple:
        return (self.device_type, self.shape, tuple(self._ranks.ravel().tolist()), self.mesh_dim_names)

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        names = f", mesh_dim_names={self.mesh_dim_names}" if self.mesh_dim_names else ""
        return f"DeviceMesh({self.device_type!r}, {self._ranks.tolist()}{names})"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None
) -> DeviceMesh:
    """Arrange all processes in a mesh of ``mesh_shape``.

    Examples
    --------
    >>> import dualtape.distributed as dist
    >>> dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    DeviceMesh('cpu', [[0]], mesh_dim_names=('data', 'model'))
    >>> dist.destroy_process_group()
    """
    if not groups.is_initialized():
        groups.init_process_group()
    size = groups.get_world_size()
    if math.prod(mesh_shape) > size:
        raise RuntimeError(
            f"init_device_mesh: a mesh of {mesh_shape} has more places than the {size} processes there are"
        )
    ranks = np.arange(math.prod(mesh_shape)).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
