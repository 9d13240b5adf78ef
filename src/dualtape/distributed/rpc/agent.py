"""The agent: the thread of a process that receives calls for it, and the calls that wait for answers.

Messages use MPI, which all threads may call (MPI_THREAD_MULTIPLE), over a communicator of their own. One thread polls
for messages, and calls run in a pool of threads that grows as they wait for one another. It polls without a pause just
after a message, then with pauses, shorter ones while a call waits here: MPI's own waiting would keep a core busy.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import pickle
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from .. import groups, objects
from ..failure import DistBackendError, wait_for
from ..futures import Future
from . import history
from .messages import Message, pack

__all__ = ["Agent", "WorkerInfo", "here"]

_MOST = 256  # threads for calls that wait for one another
# For so many seconds after a message it polls without a pause.
_EAGER = 1e-3
# The seconds between two polls while somebody waits, and while nobody does.
_SHORTEST, _LONGEST = 1e-4, 1e-3
# The seconds between checks for deadlines and for processes that have left.
_LOOK_AROUND = 0.5


class WorkerInfo(NamedTuple):
    """A process that takes calls."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


class _Waiting:
    __slots__ = ("future", "to", "deadline", "seconds")

    def __init__(self, future: Future, to: int, seconds: float) -> None:
        self.future = future
        self.to = to
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds if seconds else float("inf")


class _Threads:
    """Threads that run calls, started where none is idle. A process that ends does not wait for them: whoever called is
    told that it has left.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable, tuple] | None] = SimpleQueue()  # None ends a thread
        self._idle = threading.Semaphore(0)
        self._started = 0

    def submit(self, function: Callable, *args: Any) -> None:
        """Run ``function(*args)`` soon; called by one thread."""
        self._calls.put((function, args))
        if not self._idle.acquire(blocking=False) and self._started < _MOST:
            self._started += 1
            name = f"dualtape-rpc_{self._started}"
            threading.Thread(target=self._run, name=name, daemon=True).start()

    def shut_down(self) -> None:
        """End the threads when they are idle."""
        for _ in range(self._started):
            self._calls.put(None)

    def _run(self) -> None:
        while True:
            call = self._calls.get()
            if call is None:
                return
            try:
                call[0](*call[1])
            except BaseException:
                traceback.print_exc()
            call = None  # nothing of it is kept alive until the next call
            self._idle.release()


class Agent:
    """The agent of this process."""

    def __init__(self, name: str, group: groups.ProcessGroup, timeout: float) -> None:
        self.group = group
        self.rank = group.rank()
        self.timeout = timeout
        names: list = [None] * group.size()
        objects.all_gather_object(names, name, group)
        if len(set(names)) != len(names):
            raise RuntimeError(f"init_rpc: RPC worker name {name!r} is not unique: the names are {names}")
        self.workers = [WorkerInfo(each, k) for k, each in enumerate(names)]
        self.communicator: Any = None
        if group.size() > 1:
            self.communicator = group.transport.communicator.Dup()
        self._numbers = count()
        self._waiting: dict[int, _Waiting] = {}
        self._lock = threading.Lock()
        self._posts: deque = deque()  # what is to be sent, and to whom; nobody waits for it
        self._sent: deque = deque()  # requests that are under way, with their memory
        self._loop: deque[np.ndarray] = deque()  # messages to itself
        self._wake = threading.Event()
        self._stopping = False
        self._pool = _Threads()
        self._thread = threading.Thread(target=self._serve, name="dualtape-rpc", daemon=True)

    def start(self) -> None:
        """Begin to take calls."""
        global _agent
        _agent = self
        self._thread.start()
        atexit.register(self._stop)  # before MPI ends, which the thread calls

    def worker(self, to: Any) -> WorkerInfo:
        """Return the worker of that name or number."""
        if isinstance(to, WorkerInfo):
            return to
        found = [w for w in self.workers if to == w.name or type(to) is int and to == w.id]
        if not found:
            raise RuntimeError(
                f"{self.workers[self.rank].name} could not find destination {to!r}; the workers are"
                f" {', '.join(w.name for w in self.workers)}"
            )
        return found[0]

    # --- calls ------------------------------------------------------------------------------------

    def call(self, to: int, function: Callable, args: tuple, kwargs: dict, seconds: float) -> Future:
        """Begin a call on another worker, or on this one."""
        if self._stopping:
            raise RuntimeError("rpc: this process has shut down; init_rpc comes first")
        number = next(self._numbers)
        future: Future[Any] = Future()
        data = pack("call", number, (function, args, kwargs), self, to)
        with self._lock:
            self._waiting[number] = _Waiting(future, to, seconds)
        self._send(to, data)
        return future

    def post(self, to: int, function: Callable, args: tuple) -> None:
        """Send a worker a notification, which is handled at once: those of one worker are handled in order."""
        self._send(to, pack("note", None, (function, args), self, to))

    def later(self, to: int, function: Callable, args: tuple) -> None:
        """Do :meth:`post` from any thread and context: the agent's thread sends it."""
        self._posts.append((to, function, args))
        self._wake.set()

    def _send(self, to: int, data: np.ndarray) -> None:
        if to == self.rank:
            self._loop.append(data)
        else:
            self._sent.append((self.communicator.Isend(data, to), data))
        self._wake.set()

    # --- the thread -------------------------------------------------------------------------------

    def _serve(self) -> None:
        pause, active, looked = 0.0, 0.0, time.monotonic()
        while not self._stopping:
            busy = self._step()
            now = time.monotonic()
            if busy:
                pause, active = 0.0, now
                continue
            if now - looked > _LOOK_AROUND or now - looked > 0.01 and self._waiting:
                looked = now
                self._look_around(now)
            if self.communicator is None:
                self._wake.wait(_LOOK_AROUND)
            elif now - active < _EAGER:
                os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)
                continue
            else:
                pause = min(2 * pause + 1e-5, _SHORTEST if self._waiting else _LONGEST)
                self._wake.wait(pause)
            self._wake.clear()

    def _step(self) -> bool:
        """Send and receive pending messages; return whether there were any."""
        busy = False
        while self._posts and not self._stopping:
            self.post(*self._posts.popleft())
            busy = True
        while self._sent and self._sent[0][0].Test():
            self._sent.popleft()
        data = self._received()
        while data is not None:
            busy = True
            message = Message(data)
            if message.kind == "note":
                self._note(message)  # in the order in which they were sent
            else:
                self._pool.submit(self._take, message)
            data = self._received()
        return busy

    def _received(self) -> np.ndarray | None:
        if self._loop:
            return self._loop.popleft()
        if self.communicator is None:
            return None
        from mpi4py import MPI

        status = MPI.Status()
        message = self.communicator.Improbe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        if message is None:
            return None
        data = np.empty(status.Get_count(MPI.BYTE), np.uint8)
        message.Recv([data, MPI.BYTE])
        return data

    def _look_around(self, now: float) -> None:
        gone: list[int] = []
        vigil = self.group.vigil
        if vigil is not None and self._waiting:
            gone = vigil.gone(self.group.ranks)
        with self._lock:
            late = [(k, w) for k, w in self._waiting.items() if now > w.deadline or w.to in gone]
            for k, _ in late:
                del self._waiting[k]
        for _, w in late:
            if w.to in gone:
                error: Exception = DistBackendError(f"rpc: {self.workers[w.to]!r} has left without an answer")
            else:
                error = RuntimeError(
                    f"rpc: the call on {self.workers[w.to]!r} ran for more than set timeout ({w.seconds * 1000:g} ms)"
                )
            w.future._finish(None, error)

    # --- what comes -------------------------------------------------------------------------------

    def _note(self, message: Message) -> None:
        try:
            function, args = message.load(self)
            function(*args)
        except Exception:  # nobody waits for it, and the thread must live
            traceback.print_exc()

    def _take(self, message: Message) -> None:
        if message.kind == "call":
            contextvars.copy_context().run(self._answer, message)
            return
        with self._lock:
            waiting = self._waiting.pop(message.number, None)  # type: ignore[arg-type]
        if waiting is None:
            return  # it came too late
        try:
            value = message.load(self)
        except Exception as error:
            waiting.future._finish(None, error)
            return
        if message.kind == "done":
            waiting.future._finish(value, None)
        else:
            waiting.future._finish(None, _as_raised(*value))

    def _answer(self, message: Message) -> None:
        """Run a call, and send its result."""
        history.current_context.set(message.context)
        if message.context is not None:
            history.context_of(message.context, make=True).workers.add(message.source)
        try:
            function, args, kwargs = message.load(self)
            result = function(*args, **kwargs)
            if isinstance(result, Future) and getattr(function, "answers_later", False):
                result = result.wait()
            kind = "done"
        except BaseException as error:
            kind, result = "failed", self._described(error)
        try:
            data = pack(kind, message.number, result, self, message.source)
        except Exception as error:  # what cannot be sent
            data = pack("failed", message.number, self._described(error), self, message.source)
        if not self._stopping:
            self._send(message.source, data)

    def _described(self, error: BaseException) -> tuple[type, str]:
        """Return the class of an error, if other processes can import it, and its text.

        An error that came from another worker is passed on as it was described where it happened.
        """
        described = getattr(error, "_described", None)
        if described is not None:
            return described
        kind: type = type(error)
        try:
            pickle.dumps(kind)
        except Exception:
            kind = RuntimeError
        text = "".join(traceback.format_exception(error))
        return kind, f"On {self.workers[self.rank]!r}:\n{error!r}\n{text}"

    # --- the end ----------------------------------------------------------------------------------

    def finish(self, graceful: bool, seconds: float) -> None:
        """With ``graceful``, wait until no process has running calls; then stop."""
        if graceful:
            limit = time.monotonic() + seconds if seconds else float("inf")
            while self._waiting and time.monotonic() < limit:
                time.sleep(1e-3)
            if self.communicator is not None:
                why = wait_for(self.communicator.Ibarrier().Test, seconds or 1e9, self.group.missing)
                if why is not None:
                    self._stop()
                    raise RuntimeError(f"shutdown: not all workers came to it: {why}")
        self._stop()
        if self.communicator is not None and graceful:
            self.communicator.Free()

    def _stop(self) -> None:
        atexit.unregister(self._stop)
        self._stopping = True
        self._wake.set()
        self._thread.join()
        self._pool.shut_down()
        with self._lock:
            left, self._waiting = list(self._waiting.values()), {}
        for waiting in left:
            waiting.future._finish(None, RuntimeError("rpc: this process has shut down before the answer came"))


def _as_raised(kind: type, text: str) -> BaseException:
    """Return the error of another process, in its class if that takes a text."""
    error: Any = None
    if issubclass(kind, Exception):
        try:
            error = kind(text)
        except Exception:  # a class with other arguments
            error = None
    if not isinstance(error, Exception):
        error = RuntimeError(text)
    try:
        error._described = (kind, text)
    except AttributeError:  # a class with slots
        pass
    return error


_agent: Agent | None = None


def here() -> Agent:
    """Return the agent of this process."""
    if _agent is None:
        raise RuntimeError("rpc: init_rpc has not been called in this process, or it has shut down")
    return _agent
