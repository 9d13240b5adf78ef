"""``RRef``: a value that stays on its process, referenced by others by a number.

The owner keeps a value as long as a reference to it exists. The sender of a reference announces it to the owner before
it can drop its own; if the message about the end of a reference arrives before that about its beginning, it is kept
until then.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

from ..futures import Future
from . import agent as agents
from .agent import WorkerInfo

__all__ = ["RRef", "remote"]

_numbers = count()
_lock = threading.Lock()


class _Owned:
    """A value that other processes reference, or will."""

    __slots__ = ("future", "forks", "ended")

    def __init__(self) -> None:
        self.future: Future[Any] = Future()
        self.forks: set[tuple] = set()
        self.ended: set[tuple] = set()  # references whose end was heard of before their beginning


_owned: dict[tuple, _Owned] = {}


def _owned_by(key: tuple) -> _Owned:
    with _lock:
        return _owned.setdefault(key, _Owned())


def _begin(key: tuple, fork: tuple) -> None:
    with _lock:
        owned = _owned.setdefault(key, _Owned())
        if fork in owned.ended:
            owned.ended.discard(fork)
            _drop(key, owned)
        else:
            owned.forks.add(fork)


def _end(key: tuple, fork: tuple) -> None:
    with _lock:
        owned = _owned.setdefault(key, _Owned())
        if fork in owned.forks:
            owned.forks.discard(fork)
            _drop(key, owned)
        else:
            owned.ended.add(fork)


def _drop(key: tuple, owned: _Owned) -> None:
    if not owned.forks and not owned.ended:
        _owned.pop(key, None)


def _create(key: tuple, fork: tuple, function: Callable, args: tuple, kwargs: dict) -> None:
    owned = _owned_by(key)
    _begin(key, fork)
    try:
        result = function(*args, **kwargs)
        if isinstance(result, Future) and getattr(function, "answers_later", False):
            result = result.wait()
        owned.future.set_result(result)
    except BaseException as error:
        kind, text = agents.here()._described(error)
        owned.future.set_exception(agents._as_raised(kind, text))


def _fetch(key: tuple) -> Any:
    return _owned_by(key).future.wait()


def _let_go(key: tuple, fork: tuple, owner: int, agent: Any) -> None:
    """Announce the end of a reference, by the agent's thread, since finalizers may run anywhere."""
    if not agent._stopping:
        agent.later(owner, _end, (key, fork))


class RRef:
    """A reference to a value, here or on another worker.

    Parameters
    ----------
    value : object
        What is here, and may be known elsewhere.
    type_hint : type, optional
        Its type, for the reader.

    Examples
    --------
    >>> import dualtape.distributed.rpc as rpc
    >>> rpc.init_rpc("alone")
    >>> ref = rpc.remote("alone", list, args=("abc",))
    >>> ref.to_here(), ref.rpc_sync().index("c")
    (['a', 'b', 'c'], 2)
    >>> rpc.shutdown()
    """

    def __init__(self, value: Any, type_hint: Any = None) -> None:
        agent = agents.here()
        self._key = (agent.rank, next(_numbers))
        self._owner = agent.rank
        self._confirmed: Future | None = None
        self._owned: _Owned | None = _Owned()  # known to others once it is sent
        self._owned.future.set_result(value)

    @classmethod
    def _of(cls, key: tuple, owner: int, fork: tuple | None, confirmed: Future | None) -> RRef:
        """Return a reference to a value on a worker; ``fork`` identifies the reference."""
        self = cls.__new__(cls)
        agent = agents.here()
        self._key, self._owner, self._confirmed, self._owned = key, owner, confirmed, None
        if owner == agent.rank:
            self._owned = _owned_by(key)
        if fork is not None:
            weakref.finalize(self, _let_go, key, fork, owner, agent).atexit = False
        return self

    def owner(self) -> WorkerInfo:
        """Return the worker that has the value."""
        return agents.here().workers[self._owner]

    def owner_name(self) -> str:
        """Return the name of the worker that has the value."""
        return self.owner().name

    def is_owner(self) -> bool:
        """Return whether the value is on this process."""
        return self._owner == agents.here().rank

    def confirmed_by_owner(self) -> bool:
        """Return whether the owner is known to have registered this reference."""
        return self._confirmed is None or self._confirmed.done()

    def local_value(self) -> Any:
        """Wait for the value, which must be on this process, and return it."""
        if self._owned is None:
            raise RuntimeError(
                f"RRef: can't call local_value() on {agents.here().workers[agents.here().rank]!r}: the value is on"
                f" {self.owner()!r}; to_here() brings a copy"
            )
        return self._owned.future.wait()

    def to_here(self, timeout: float = -1.0) -> Any:
        """Return the value, or a copy of it if it is on another worker.

        Parameters
        ----------
        timeout : float
            Seconds to wait; by default as long as for any call, 0 for ever.
        """
        if self._owned is not None:
            return self._owned.future.wait()
        agent = agents.here()
        seconds = agent.timeout if timeout < 0 else timeout
        return agent.call(self._owner, _fetch, (self._key,), {}, seconds).wait()

    def rpc_sync(self, timeout: float = -1.0) -> Any:
        """Return a proxy that calls the value's methods on its worker: ``ref.rpc_sync().method(argument)``."""
        return _Proxy(lambda *call: _begun(self, timeout, *call).wait())

    def rpc_async(self, timeout: float = -1.0) -> Any:
        """Return a proxy whose methods return futures."""
        return _Proxy(lambda *call: _begun(self, timeout, *call))

    def remote(self, timeout: float = -1.0) -> Any:
        """Return a proxy whose methods return references to their results, which stay there."""
        return _Proxy(lambda *call: remote(self._owner, _invoke, (self, *call), None, timeout))

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:
        """Run the backward of the value on its worker: across processes in a context, otherwise there alone."""
        if self._owned is not None:
            _backward(self, dist_autograd_ctx_id, retain_graph)
        else:
            agent = agents.here()
            call = agent.call(self._owner, _backward, (self, dist_autograd_ctx_id, retain_graph), {}, agent.timeout)
            call.wait()

    def __reduce__(self) -> Any:
        agent = agents.here()
        if self._owned is not None:
            with _lock:
                self._owned = _owned.setdefault(self._key, self._owned)
        fork = (agent.rank, next(_numbers))
        if self._owner == agent.rank:
            _begin(self._key, fork)
        else:
            agent.post(self._owner, _begin, (self._key, fork))
        return RRef._of, (self._key, self._owner, fork, None)

    def __repr__(self) -> str:
        return f"{'Owner' if self.is_owner() else 'User'}RRef(created_on={self._key[0]}, local_id={self._key[1]})"


class _Proxy:
    """A proxy for the value of a reference: its methods are called on the value's worker."""

    def __init__(self, call: Callable) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self._call(name, args, kwargs)


def _invoke(ref: RRef, name: str, args: tuple, kwargs: dict) -> Any:
    return getattr(ref.local_value(), name)(*args, **kwargs)


def _begun(ref: RRef, timeout: float, *call: Any) -> Future:
    agent = agents.here()
    return agent.call(ref._owner, _invoke, (ref, *call), {}, agent.timeout if timeout < 0 else timeout)


def _backward(ref: RRef, context: int, retain_graph: bool) -> None:
    from ..autograd import backward

    root = ref.local_value()
    if context == -1:
        root.backward(retain_graph=retain_graph)
    else:
        backward(context, [root], retain_graph)


def remote(to: Any, func: Callable, args: Any = None, kwargs: Any = None, timeout: float = -1.0) -> RRef:
    """Call a function on a worker, and return a reference to its result.

    Parameters
    ----------
    to, func, args, kwargs, timeout
        As for :func:`rpc_async`.

    Returns
    -------
    RRef
    """
    agent = agents.here()
    worker = agent.worker(to)
    if not callable(func):
        raise TypeError(f"remote: function should be callable, got {type(func).__name__}")
    key, fork = (agent.rank, next(_numbers)), (agent.rank, next(_numbers))
    begun = agent.call(
        worker.id,
        _create,
        (key, fork, func, tuple(args or ()), dict(kwargs or {})),
        {},
        agent.timeout if timeout < 0 else timeout,
    )
    return RRef._of(key, worker.id, fork, begun)
