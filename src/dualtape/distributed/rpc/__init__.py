"""Remote calls of functions on other processes, and references to values that stay there."""

from __future__ import annotations

from ..futures import Future
from . import functions as functions
from .agent import WorkerInfo
from .api import (
    RpcBackendOptions,
    get_rpc_timeout,
    get_worker_info,
    init_rpc,
    is_available,
    rpc_async,
    rpc_sync,
    shutdown,
)
from .rref import RRef, remote

__all__ = [
    "Future",
    "RRef",
    "RpcBackendOptions",
    "WorkerInfo",
    "get_rpc_timeout",
    "get_worker_info",
    "init_rpc",
    "is_available",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]
