"""Process groups: the participants of collectives.

``init_process_group`` creates the group of all processes; others are subgroups. MPI launches the processes and connects
them; without a launcher there is a world of one process, which needs nothing to be installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any

from .._tensor.device import device as as_device
from . import detail
from .failure import DistBackendError, Vigil
from .transports import mpi, nccl
from .transports.alone import Alone

__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
]

default_pg_timeout = timedelta(minutes=30)


class Backend(str):
    """The name of a transport between processes, in lower case.

    Examples
    --------
    >>> from dualtape.distributed import Backend
    >>> Backend("MPI")
    'mpi'
    """

    MPI = "mpi"
    NCCL = "nccl"
    UNDEFINED = "undefined"
    # Names of PyTorch's other transports, which programs compare with; there is none of them here.
    GLOO = "gloo"
    UCC = "ucc"
    XCCL = "xccl"
    FAKE = "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError(f"Backend name must be a string, but got: {name!r}")
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """Processes that take part in collectives together. :func:`new_group` makes one."""

    def __init__(
        self, transport: Any, ranks: list[int], backend: str, timeout: timedelta, name: str, desc: str
    ) -> None:
        self.transport = transport
        self.ranks = ranks  # of its processes, in the world
        self.backend = backend
        self.timeout = timeout
        self.group_name = name
        self.group_desc = desc
        self.vigil: Vigil | None = None
        self.checks = detail.level()  # how much of each call is compared with those of the others
        self.numbers_to: dict[int, Iterator[int]] = {}  # of the messages to each rank
        self._broken: DistBackendError | None = None  # the error of who gave up waiting

    def rank(self) -> int:
        """Return the rank of this process in the group."""
        return self.transport.rank

    def size(self) -> int:
        """The number of processes."""
        return self.transport.size

    def name(self) -> str:
        """The name of the backend."""
        return self.backend

    @property
    def notes(self) -> Any:
        """The MPI communicator for headers."""
        return getattr(self.transport, "below", self.transport).notes

    def check_usable(self, name: str) -> None:
        """Raise if a collective was aborted: the state of the other processes is then unknown."""
        if self._broken is not None:
            raise DistBackendError(f"{name}: this group is of no more use since {self._broken}") from self._broken

    def missing(self) -> str | None:
        """Return the reason if a process of the group has left, else None."""
        gone = self.vigil.gone(self.ranks) if self.vigil is not None else []
        return f"rank {', '.join(map(str, gone))} has left without it" if gone else None

    def break_off(self, why: str, request: Any = None, buffers: Any = None) -> DistBackendError:
        """Return the error of a process that gave up waiting, and mark the group as unusable."""
        if self.vigil is not None and request is not None:
            self.vigil.keep(request, buffers)
        self._broken = DistBackendError(
            f"{why} (rank {self.rank()} of {self.size()}). Did every rank of the group call it?"
            " DUALTAPE_DISTRIBUTED_DEBUG=detail tells who called what"
        )
        return self._broken


_world: ProcessGroup | None = None
_groups: list[ProcessGroup] = []
_count = 0


class GroupMember:
    """Placeholders for groups: the world's, and those of other processes."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _Group(type):
    WORLD = property(lambda self: _world)


class group(metaclass=_Group):
    """``group.WORLD`` is the group of all processes."""


def is_available() -> bool:
    """Return whether the package can be used: always, at least in a world of one process."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed, and finds an MPI library."""
    return mpi.available()


def is_nccl_available() -> bool:
    """Whether CuPy is installed with NCCL, and sees a GPU."""
    return nccl.available()


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be used here."""
    return {"mpi": is_mpi_available, "nccl": is_nccl_available}.get(backend.lower(), lambda: False)()


def is_gloo_available() -> bool:
    """Return False: MPI takes Gloo's place."""
    return False


is_ucc_available = is_xccl_available = is_gloo_available


def is_torchelastic_launched() -> bool:
    """Return False: PyTorch's launcher, which restarts failed processes, is not used."""
    return False


def get_default_backend_for_device(device: Any) -> str:
    """The backend for tensors of a device: ``nccl`` for a GPU's, else ``mpi``."""
    return Backend.NCCL if as_device(device).type == "cuda" else Backend.MPI


def is_initialized() -> bool:
    """Whether :func:`init_process_group` was called."""
    return _world is not None


def _timeout(value: Any) -> timedelta:
    if value is None:
        return default_pg_timeout
    if not isinstance(value, timedelta):
        raise TypeError(f"timeout must be a datetime.timedelta, got {type(value).__name__}")
    return value


def _refuse(name: str, why: str, **given: Any) -> None:
    for argument, value in given.items():
        if value is not None:
            raise ValueError(f"{name}: {argument} is not for this: {why}; leave it out, got {value!r}")


def _backend(name: str, backend: str | None) -> Backend:
    found = Backend(backend or Backend.MPI)
    if found not in (Backend.MPI, Backend.NCCL):
        raise ValueError(f"{name}: the backends are 'mpi' (for arrays of NumPy's) and 'nccl' (CuPy's), got {found!r}")
    if found == Backend.NCCL and not nccl.available():
        raise RuntimeError(f"{name}: the backend nccl needs CuPy with NCCL and a GPU, which are not here; use 'mpi'")
    return found


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Join the group of all processes that ``mpiexec`` (or ``dualtape launch``) has started; without a launcher, a
    group of this one.

    Parameters
    ----------
    backend : {"mpi", "nccl"}, optional
        What carries the values; "mpi" by default.
    init_method : str, optional
        "env://" or nothing: MPI's launcher has told the processes where they are.
    timeout : timedelta, optional
        How long a collective may take before it raises; 30 minutes by default.
    world_size, rank : int, optional
        Checked against what the launcher says.
    group_name : str, optional
        A name for the group.
    device_id : device or int, optional
        The GPU of this process, for "nccl"; by default its number on this machine.

    Examples
    --------
    >>> import dualtape.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    global _world, _count
    name = "init_process_group"
    if _world is not None:
        raise ValueError("trying to initialize the default process group twice! destroy_process_group() comes first")
    _refuse(name, "MPI does the rendezvous", store=store, pg_options=pg_options)
    if init_method not in (None, "env://"):
        _refuse(name, "MPI does the rendezvous", init_method=init_method)
    kind, limit = _backend(name, backend), _timeout(timeout)
    if kind == Backend.MPI and device_id is not None and as_device(device_id).type != "cpu":
        raise ValueError(f"{name}: the backend mpi works on the CPU; device_id={device_id!r} is for 'nccl'")
    started = mpi.processes()
    if started > 1 and not mpi.available():
        raise RuntimeError(
            f"{name}: a launcher started {started} processes, but mpi4py is not installed: each would be alone. Install"
            " it with pip install 'dualtape[distributed]'"
        )
    alone = not mpi.available() or mpi.world().size == 1
    transport: Any = Alone() if alone else mpi.Mpi(mpi.world().Dup())
    for argument, given, found in (("world_size", world_size, transport.size), ("rank", rank, transport.rank)):
        if given not in (-1, found):
            raise ValueError(
                f"{name}: {argument} is {found} by what the launcher says, got {given}; start the processes with"
                " `dualtape launch -n N script.py`, and leave it out"
            )
    if kind == Backend.NCCL:
        import cupy

        cupy.cuda.Device(get_node_local_rank(0) if device_id is None else as_device(device_id).index or 0).use()
        transport = nccl.Nccl(transport)
    _count += 1
    _world = ProcessGroup(transport, list(range(transport.size)), kind, limit, group_name or "default_pg", "default_pg")
    if not alone:
        _world.vigil = Vigil(mpi.world().Dup())
    GroupMember.WORLD = _world
    _groups.append(_world)
    if not alone:
        # nn.SyncBatchNorm looks for it among the imported modules: nn is beneath this package
        import_module(".synchronised", __package__)


def destroy_process_group(group: Any = None) -> None:
    """Leave a group; without an argument, all of them."""
    global _world
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    found: Any = group or _world
    if found is None:
        raise AssertionError("Process group cannot be None: there is none to leave; init_process_group() comes first")
    if found not in _groups:
        raise ValueError("Invalid process group specified: it was left already")
    vigil: Vigil | None = found.vigil
    if found is not _world:
        _groups.remove(found)
        found.transport.free()
        return
    if vigil is not None:
        vigil.leave()
    for each in _groups:
        if each._broken is None:
            each.transport.free()
    _groups.clear()
    _world = GroupMember.WORLD = None


def default_group() -> ProcessGroup:
    """Return the group of all processes."""
    if _world is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group first"
        )
    return _world


def member(group: Any) -> ProcessGroup | None:
    """Return the given group, or the world; None if this process is not in it."""
    if group is None:
        return default_group()
    if group == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"group must be a ProcessGroup, as new_group() gives, got {type(group).__name__}")
    if group not in _groups:
        raise ValueError("Invalid process group specified: it was left with destroy_process_group()")
    return group


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return the rank of this process in a group, or in the world; -1 if it is not in it."""
    found = member(group)
    return -1 if found is None else found.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes in a group, or in the world; -1 if this is not one of them."""
    found = member(group)
    return -1 if found is None else found.size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name of a group's backend."""
    found = member(group)
    if found is None:
        raise ValueError("Invalid process group specified: this process is not in it")
    return Backend(found.backend)


def get_pg_count() -> int:
    """The number of groups this process is in."""
    return len(_groups)


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks, in the world, of a group's processes."""
    return list((group or default_group()).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the group rank of the process that has ``global_rank`` in the world."""
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group, whose ranks are {group.ranks}")
    return group.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the rank in the world of a group's process."""
    if not 0 <= group_rank < len(group.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group, which has {len(group.ranks)} processes")
    return group.ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the number of this process on its machine, as reported by its launcher."""
    for name in ("LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"):
        if name in os.environ:
            return int(os.environ[name])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment: no launcher has set it; pass fallback_rank")
    return int(fallback_rank)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Create a group of some processes.

    All processes of the world call it, in the same order; with ``use_local_synchronization`` its members alone.

    Parameters
    ----------
    ranks : sequence of int, optional
        Whose; all by default.
    timeout : timedelta, optional
        How long a collective may take; as in the world by default.
    backend : {"mpi", "nccl"}, optional
        As in the world by default.
    group_desc : str, optional
        What the group is for.
    sort_ranks : bool
        Whether they are put into order; otherwise the group's ranks are as given.

    Returns
    -------
    ProcessGroup
        Or ``GroupMember.NON_GROUP_MEMBER`` for processes that are not in it.

    Examples
    --------
    >>> import dualtape.distributed as dist
    >>> dist.init_process_group()
    >>> dist.new_group([0]).size()
    1
    >>> dist.destroy_process_group()
    """
    global _count
    # breaks a cycle: both use groups
    from .agreement import together
    from .collectives import start

    world = default_group()
    world.check_usable("new_group")

    def prepared() -> tuple[list[int], timedelta]:
        limit = world.timeout if timeout is None else _timeout(timeout)
        return _chosen(world, ranks, sort_ranks, backend, pg_options, device_id), limit

    if use_local_synchronization:
        chosen, limit = prepared()
    else:
        # The members alone make it: they would wait for one that finds fault with its arguments.
        chosen, limit = together(world, "new_group", prepared)
        start("new_group", world, world.transport.barrier, [], None, None, False, {"ranks": tuple(chosen)})
    _count += 1
    if world.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    group = ProcessGroup(
        world.transport.split(chosen), chosen, world.backend, limit, str(_count), group_desc or "undefined"
    )
    group.vigil = world.vigil
    _groups.append(group)
    return group


def _chosen(
    world: ProcessGroup,
    ranks: Sequence[int] | None,
    sort_ranks: bool,
    backend: str | None,
    pg_options: Any,
    device_id: Any,
) -> list[int]:
    """Return the ranks of a new group; raise if the arguments are invalid."""
    _refuse("new_group", "a group has the device of its world", pg_options=pg_options, device_id=device_id)
    if backend is not None and Backend(backend) != world.backend:
        raise ValueError(
            f"new_group: the world's backend is {world.backend!r}, and that of its groups; got {backend!r}"
        )
    chosen = list(range(world.size())) if ranks is None else [int(rank) for rank in ranks]
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    if len(chosen) > world.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group:"
            f" {world.size()}, got {len(chosen)} ranks"
        )
    if any(not 0 <= rank < world.size() for rank in chosen):
        raise ValueError(f"The new group's rank should be within the world_size set by init_process_group: {chosen}")
    if sort_ranks:
        chosen.sort()
    return chosen


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list]:
    """Create groups of the listed ranks, which must be disjoint; return the one of this process (or None), and all of
    them.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    flat = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(flat)) != len(flat):
        raise ValueError(f"a rank is in two subgroups: {[list(ranks) for ranks in ranks_per_subgroup_list]}")
    groups = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list
    ]
    mine = [each for each in groups if each != GroupMember.NON_GROUP_MEMBER]
    return (mine[0] if mine else None), groups


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list]:
    """Create groups of ``group_size`` neighbouring ranks each; return the one of this process, and all of them."""
    ranks = get_process_group_ranks(group)
    if group_size is None or group_size < 1 or len(ranks) % group_size:
        raise ValueError(f"the world size {len(ranks)} must be divisible by group_size, got {group_size}: give one")
    parts = [ranks[k : k + group_size] for k in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)
