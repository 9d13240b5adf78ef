"""Remote calls under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import groups
from ..agreement import together
from ..futures import Future
from ..transports import mpi
from . import agent as agents
from . import history, rref
from .agent import Agent, WorkerInfo

__all__ = [
    "RpcBackendOptions",
    "get_rpc_timeout",
    "get_worker_info",
    "init_rpc",
    "is_available",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

_made_world = False


@dataclass
class RpcBackendOptions:
    """Options of remote calls.

    Parameters
    ----------
    rpc_timeout : float
        Seconds that a call may take, if it does not say; 0 for ever.
    """

    rpc_timeout: float = 60.0


def is_available() -> bool:
    """Return whether calls can be made: always, at least on this process."""
    return True


def init_rpc(
    name: str,
    backend: Any = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: Any = None,
) -> None:
    """Begin to take calls of other processes, and to make calls; all processes call it.

    Parameters
    ----------
    name : str
        The name of this process, which no other has.
    backend
        MPI; there is no other.
    rank, world_size : int, optional
        Checked against what the launcher says.
    rpc_backend_options : RpcBackendOptions, optional
        How long a call may take; 60 seconds by default.

    Examples
    --------
    >>> import dualtape.distributed.rpc as rpc
    >>> rpc.init_rpc("alone")
    >>> rpc.rpc_sync("alone", max, args=(1, 2))
    2
    >>> rpc.shutdown()
    """
    global _made_world
    made = not groups.is_initialized()
    if made:
        groups.init_process_group()
    try:
        group = groups.default_group()
        prepared = lambda: _checked(group, name, backend, rank, world_size, rpc_backend_options)
        options = together(group, "init_rpc", prepared)
        Agent(name, group, float(options.rpc_timeout)).start()
    except BaseException:
        if made:
            groups.destroy_process_group()
        raise
    _made_world = made


def _checked(
    group: groups.ProcessGroup, name: object, backend: object, rank: int, world_size: int | None, options: object
) -> RpcBackendOptions:
    """Return the options of :func:`init_rpc`; raise if its arguments are invalid."""
    if agents._agent is not None:
        raise RuntimeError("init_rpc: RPC is already initialized: shutdown() comes first")
    if not isinstance(name, str) or not name:
        raise ValueError(f"init_rpc: name must be a string that is not empty, got {name!r}")
    if backend is not None:
        raise ValueError(f"init_rpc: calls go by MPI; leave backend out, got {backend!r}")
    found = RpcBackendOptions() if options is None else options
    if not isinstance(found, RpcBackendOptions):
        raise TypeError(f"init_rpc: rpc_backend_options must be RpcBackendOptions, got {type(found).__name__}")
    for what, given, here in (("rank", rank, group.rank()), ("world_size", world_size, group.size())):
        if given not in (-1, None, here):
            raise ValueError(f"init_rpc: {what} is {here} by what the launcher says, got {given}")
    _check_threads(group)
    return found


def _check_threads(group: Any) -> None:
    if group.size() == 1:
        return
    if not isinstance(group.transport, mpi.Mpi):
        raise RuntimeError("init_rpc: calls go by the backend mpi: init_process_group('mpi')")
    from mpi4py import MPI

    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise RuntimeError(
            "init_rpc: this MPI does not let several threads use it (MPI_THREAD_MULTIPLE), which calls need"
        )


def shutdown(graceful: bool = True, timeout: float = 0) -> None:
    """Stop taking calls. All processes call it.

    Parameters
    ----------
    graceful : bool
        Whether to wait until all processes are here and none has calls under way.
    timeout : float
        Seconds to wait for that; 0 for ever.
    """
    global _made_world
    agent = agents.here()
    try:
        agent.finish(graceful, timeout)
    finally:
        agents._agent = None
        rref._owned.clear()
        history._contexts.clear()
        made, _made_world = _made_world, False
        if made:
            groups.destroy_process_group()


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """Return the name and number of a worker; of this one by default."""
    agent = agents.here()
    return agent.workers[agent.rank] if worker_name is None else agent.worker(worker_name)


def get_rpc_timeout() -> float:
    """Return the default time limit of a call, in seconds."""
    return agents.here().timeout


def rpc_async(to: Any, func: Callable, args: Any = None, kwargs: Any = None, timeout: float = -1.0) -> Future:
    """Begin a call of a function on a worker.

    Parameters
    ----------
    to : str, int or WorkerInfo
        The worker.
    func : callable
        One that the worker can import.
    args : tuple, optional
    kwargs : dict, optional
    timeout : float
        Seconds until the call fails; by default as long as for any call, 0 for ever.

    Returns
    -------
    Future
    """
    agent = agents.here()
    worker = agent.worker(to)
    if not callable(func):
        raise TypeError(f"rpc: function should be callable, got {type(func).__name__}")
    seconds = agent.timeout if timeout < 0 else timeout
    return agent.call(worker.id, func, tuple(args or ()), dict(kwargs or {}), seconds)


def rpc_sync(to: Any, func: Callable, args: Any = None, kwargs: Any = None, timeout: float = -1.0) -> Any:
    """Call a function on a worker, and wait for the result; an error there is raised here, with its traceback.

    Parameters
    ----------
    to, func, args, kwargs, timeout
        As for :func:`rpc_async`.
    """
    return rpc_async(to, func, args, kwargs, timeout).wait()
