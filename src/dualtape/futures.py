"""``dualtape.futures``: results that come later, and waiting for several of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._listing import listing
from .distributed.futures import Future

__all__ = ["Future", "collect_all", "wait_all"]


def collect_all(futures: Sequence[Future]) -> Future:
    """Return a future of the list of ``futures``, which is done when all of them are.

    Parameters
    ----------
    futures : sequence of Future
        Some of them may have failed: the list contains them all the same.

    Examples
    --------
    >>> import dualtape.futures as futures
    >>> first, second = futures.Future(), futures.Future()
    >>> both = futures.collect_all([first, second])
    >>> first.set_result(1); second.set_result(2)
    >>> [each.value() for each in both.wait()]
    [1, 2]
    """
    expected = list(futures)
    for each in expected:
        if not isinstance(each, Future):
            raise TypeError(f"collect_all(): expected Futures, got {type(each).__name__}")
    result: Future[list[Future[Any]]] = Future()
    waiting = {id(each) for each in expected}

    def drive() -> None:
        for each in expected:
            if each._drive is not None and not each.done():
                each._drive()

    result._drive = drive

    def done(future: Future) -> None:
        waiting.discard(id(future))
        if not waiting:
            result._finish(expected, None)

    if not expected:
        result.set_result([])
    for each in expected:
        each.add_done_callback(done)
    return result


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """Wait for ``futures`` and return their values; the first error among them is raised.

    Examples
    --------
    >>> import dualtape.futures as futures
    >>> future = futures.Future()
    >>> future.set_result(3)
    >>> futures.wait_all([future])
    [3]
    """
    return [each.wait() for each in collect_all(futures).wait()]


__dir__ = listing(__name__)
