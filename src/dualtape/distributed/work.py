"""``Work``: a collective or a message in progress."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .failure import DistBackendError, wait_for
from .futures import Future

if TYPE_CHECKING:
    from .groups import ProcessGroup

__all__ = ["Work"]


class Work:
    """The result of ``async_op=True``. The tensors must not be used before :meth:`wait`.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.distributed as dist
    >>> dist.init_process_group()
    >>> x = dt.ones(2)
    >>> dist.all_reduce(x, async_op=True).wait()
    True
    >>> dist.destroy_process_group()
    """

    __slots__ = ("_name", "_request", "_finish", "_group", "_result", "_buffers", "_error", "_source")

    def __init__(
        self, name: str, request: Any, group: ProcessGroup, finish: Callable | None, result: list, buffers: Any
    ) -> None:
        self._name = name
        self._request = request  # None when it is done
        self._group = group
        self._finish = finish
        self._result = result
        self._buffers = buffers  # which must live until then
        self._error: Exception | None = None
        self._source = -1

    def _done(self) -> None:
        source = getattr(self._request, "source", None)
        if source is not None:
            self._source = self._group.ranks[source]
        finish, self._request, self._finish, self._buffers = self._finish, None, None, None
        if finish is not None:
            finish()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done: then tensors hold the received values.

        Parameters
        ----------
        timeout : timedelta, optional
            How long; that of the group by default. Afterwards the group is of no more use.
        """
        if self._error is not None:
            raise self._error
        if self._request is not None:
            group = self._group
            seconds = (timeout or group.timeout).total_seconds()
            why = wait_for(self._test, seconds, group.missing)
            if why is not None:
                self._error = group.break_off(f"{self._name}: {why}", self._request, self._buffers)
                raise self._error
            self._done()
        return True

    def _test(self) -> bool:
        try:
            return self._request.Test()
        except DistBackendError as error:  # of a header, which says it all
            self._error = error
            raise
        except Exception as error:  # MPI's own, which is of no common class without it
            self._error = DistBackendError(
                f"{self._name}: rank {self._group.rank()} of {self._group.size()}: {error}. Do all ranks give tensors"
                " of one shape and dtype? Unless DUALTAPE_DISTRIBUTED_DEBUG=off is set, they are compared before"
            )
            raise self._error from error

    def is_completed(self) -> bool:
        """Return whether it is done, without waiting."""
        if self._request is not None and self._error is None and self._test():
            self._done()
        return self._request is None

    def is_success(self) -> bool:
        """Return whether it is done without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """Return the error, or None."""
        return self._error

    def result(self) -> list:
        """Return the tensors that it fills."""
        self.wait()
        return self._result

    def get_future(self) -> Future:
        """Return a future of the tensors that it fills; waiting for it waits for the work."""
        future: Future[Any] = Future()

        def drive() -> None:
            try:
                self.wait()
            except Exception as error:
                future._finish(None, error)
            else:
                future._finish(self._result, None)

        future._drive = drive
        return future

    def synchronize(self) -> None:
        """Do the same as :meth:`wait`."""
        self.wait()

    def source_rank(self) -> int:
        """Return the rank that a message came from."""
        self.wait()
        return self._source
