"""``dualtape.autograd.profiler``: the profiler under its older PyTorch names."""

from __future__ import annotations

from typing import Any

from .._listing import listing
from ..profiler import record_function as record_function
from ..profiler.events import EventList as EventList
from ..profiler.events import FunctionEvent as FunctionEvent
from ..profiler.events import FunctionEventAvg as FunctionEventAvg
from ..profiler.session import profile as _profile


class profile(_profile):
    """Context that records the ops and nodes of a program.

    Parameters
    ----------
    enabled : bool
        False: nothing is watched.
    record_shapes, profile_memory, with_stack : bool
        Whether shapes of arguments, bytes of results, and lines of the program are noted.
    use_cuda, use_device, with_flops, with_modules
        There is no clock on the GPU, and nothing is counted: refused.
    use_cpu, use_kineto : bool
        The CPU is watched by a recorder of our own, whatever they say.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.autograd.profiler.profile() as p:
    ...     y = dt.ones(2).exp()
    >>> [event.name for event in p]
    ['aten::exp']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        acc_events: bool = False,
    ) -> None:
        if use_cuda or use_device not in (None, "cpu"):
            raise NotImplementedError("profile: events on a GPU have no time of their own here; leave out use_cuda")
        super().__init__(
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            acc_events=acc_events,
        )
        self.enabled = enabled

    def __enter__(self) -> Any:
        if self.enabled:
            self.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self.stop()

    def __iter__(self) -> Any:
        return iter(self.events())

    def __len__(self) -> int:
        return len(self._recorded)

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as a table (:meth:`EventList.table`)."""
        return self.events().table(*args, **kwargs)

    def total_average(self) -> Any:
        """Return the sum of all events as one event."""
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all events in microseconds."""
        return self.events().self_cpu_time_total


class _Elsewhere:
    """Base of the ranges for hardware profilers, which dualtape does not support."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> Any:
        if self.enabled:
            raise NotImplementedError(
                f"{type(self).__name__}: no ranges are given to that profiler; use profile() and export_chrome_trace()"
            )
        return self

    def __exit__(self, *error: object) -> None:
        pass


class emit_nvtx(_Elsewhere):
    """Ranges for NVIDIA's profiler: refused, unless ``enabled`` is False.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.autograd.profiler.emit_nvtx(enabled=False):
    ...     pass
    """


class emit_itt(_Elsewhere):
    """Ranges for Intel's profiler: refused, unless ``enabled`` is False.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.autograd.profiler.emit_itt(enabled=False):
    ...     pass
    """


__dir__ = listing(__name__)
