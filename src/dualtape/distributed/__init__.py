"""Several processes: collectives, groups, and what is built on them, in PyTorch's names, over MPI or NCCL.

A program joins with :func:`init_process_group`. ``dualtape launch -n 4 script.py`` or ``mpiexec -n 4 python script.py``
starts its processes; without either there is a world of one, and everything works.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._listing import listing
from .collectives import *  # noqa: F403
from .collectives import __all__ as _collectives
from .failure import DistBackendError, DistError, DistNetworkError, DistStoreError
from .groups import *  # noqa: F403
from .groups import __all__ as _groups
from .objects import *  # noqa: F403
from .objects import __all__ as _objects
from .point_to_point import *  # noqa: F403
from .point_to_point import __all__ as _point_to_point
from .reduce_op import ReduceOp, _make_nccl_premul_sum
from .work import Work

_PARTS = ("nn", "device_mesh", "tensor", "checkpoint", "fsdp", "rpc", "autograd", "optim", "algorithms", "pipelining")
_NAMES = {"DeviceMesh": "device_mesh", "init_device_mesh": "device_mesh", "GradBucket": "reducer"}

__all__ = [
    *_collectives,
    *_groups,
    *_objects,
    *_point_to_point,
    *_NAMES,
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "ReduceOp",
    "Work",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module(f".{_NAMES[name]}", __name__), name)
    if name in _PARTS:
        return import_module(f".{name}", __name__)
    raise AttributeError(
        f"module 'dualtape.distributed' has no attribute {name!r}; docs/left-out.md lists what is not here"
    )


__dir__ = listing(__name__)
