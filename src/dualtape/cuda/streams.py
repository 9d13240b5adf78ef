"""Streams and events of GPUs: CuPy's, under PyTorch's names."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .devices import is_available, module, number


class Stream:
    """A queue of work for a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> s = dt.cuda.Stream()  # doctest: +SKIP
    """

    def __init__(self, device: Any = None, priority: int = 0, *, stream: Any = None) -> None:
        cupy = module("cuda.Stream")
        if priority:
            raise NotImplementedError("cuda.Stream: streams of CuPy's have one priority, 0")
        if device is not None:
            with cupy.cuda.Device(number(device)):
                stream = cupy.cuda.Stream(non_blocking=True)
        self.cupy = cupy.cuda.Stream(non_blocking=True) if stream is None else stream

    @property
    def cuda_stream(self) -> int:
        """CUDA's handle."""
        return self.cupy.ptr

    def synchronize(self) -> None:
        """Wait until all of it is done."""
        self.cupy.synchronize()

    def query(self) -> bool:
        """Whether all of it is done."""
        return self.cupy.done

    def record_event(self, event: Any = None) -> Any:
        """Mark this place."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Begin what comes when an event has been reached."""
        self.cupy.wait_event(event.cupy)

    def wait_stream(self, stream: Any) -> None:
        """Begin what comes when all of another stream is done."""
        self.wait_event(stream.record_event())


class Event:
    """A place in a stream.

    Examples
    --------
    >>> import dualtape as dt
    >>> e = dt.cuda.Event(enable_timing=True)  # doctest: +SKIP
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("cuda.Event: events are seen by one process")
        self.cupy = module("cuda.Event").cuda.Event(block=blocking, disable_timing=not enable_timing)

    def record(self, stream: Any = None) -> None:
        """Mark the place where a stream is."""
        self.cupy.record(None if stream is None else stream.cupy)

    def query(self) -> bool:
        """Whether it has been reached."""
        return self.cupy.done

    def synchronize(self) -> None:
        """Wait until it has been reached."""
        self.cupy.synchronize()

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait for it."""
        (current_stream() if stream is None else stream).wait_event(self)

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds to another."""
        return module("cuda.Event").cuda.get_elapsed_time(self.cupy, end_event.cupy)


def current_stream(device: Any = None) -> Stream:
    """The stream that work goes to.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.current_stream()  # doctest: +SKIP
    """
    return Stream(stream=module("cuda.current_stream").cuda.get_current_stream())


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes to unless another was chosen.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.default_stream()  # doctest: +SKIP
    """
    return Stream(stream=module("cuda.default_stream").cuda.Stream.null)


def stream(stream: Stream | None) -> AbstractContextManager:
    """Inside ``with``, work goes to this stream; None: no change.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.cuda.stream(None):
    ...     pass
    """
    return nullcontext() if stream is None else stream.cupy


def is_current_stream_capturing() -> bool:
    """Whether work is being written down in place of being done.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.is_current_stream_capturing()
    False
    """
    return is_available() and bool(module("a stream").cuda.get_current_stream().is_capturing())
