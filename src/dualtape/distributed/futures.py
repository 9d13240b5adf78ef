"""``Future``: the result of an asynchronous call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value, or an error, that may not be available yet.

    Examples
    --------
    >>> from dualtape.distributed.rpc import Future
    >>> future = Future()
    >>> double = future.then(lambda f: f.value() * 2)
    >>> future.set_result(4)
    >>> double.wait()
    8
    """

    def __init__(self) -> None:
        self._come = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable] = []
        self._drive: Callable[[], None] | None = None  # what must be done for the value to come, if nobody else does

    def done(self) -> bool:
        """Return whether the value, or an error, is available."""
        return self._come.is_set()

    def wait(self) -> Any:
        """Wait for the value and return it; an error is raised."""
        if self._drive is not None and not self._come.is_set():
            self._drive()
        self._come.wait()
        return self.value()

    def value(self) -> Any:
        """Return the value, which must be available; an error is raised."""
        if not self.done():
            raise RuntimeError("Future: there is no value yet: wait() for it")
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, value: Any, error: BaseException | None) -> bool:
        with self._lock:
            if self._come.is_set():
                return False
            self._value, self._error = value, error
            callbacks, self._callbacks = self._callbacks, []
            self._come.set()
        for callback in callbacks:
            callback(self)
        return True

    def set_result(self, result: Any) -> None:
        """Set the value, once."""
        if not self._finish(result, None):
            raise RuntimeError("Future: it has a value already")

    def set_exception(self, result: BaseException) -> None:
        """Set an error instead of a value."""
        if not isinstance(result, BaseException):
            raise TypeError(f"Future: set_exception takes an exception, got {type(result).__name__}")
        if not self._finish(None, result):
            raise RuntimeError("Future: it has a value already")

    def add_done_callback(self, callback: Callable) -> None:
        """Call ``callback(future)`` when the value is available."""
        with self._lock:
            if not self._come.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable) -> Future:
        """Return a future of the result of ``callback(future)``."""
        result: Future[Any] = Future()
        result._drive = self._drive

        def run(found: Future) -> None:
            try:
                result.set_result(callback(found))
            except Exception as error:
                result.set_exception(error)

        self.add_done_callback(run)
        return result
