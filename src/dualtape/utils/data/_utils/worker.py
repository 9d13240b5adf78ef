"""The loop of a worker process: it receives indices of samples, and sends batches back.

A worker has two threads beside the one that computes: one receives messages and one sends batches, so that neither end
of a full pipe waits for the other. Arrays are sent without a copy, after the pickle that refers to them.
"""

from __future__ import annotations

import os
import pickle
import queue
import random
import threading
import traceback
import warnings
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import Any

import numpy as np

from .... import settings
from ....random import manual_seed
from . import fetch


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's number, the number of workers, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process, its :class:`WorkerInfo`; None elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> print(dt.utils.data.get_worker_info())
    None
    """
    return _worker_info


@dataclass(frozen=True)
class Task:
    """Indices to fetch; ``number`` orders the batches."""

    number: int
    index: Any


@dataclass(frozen=True)
class Resume:
    """A request to start again; sent back when everything before it is."""


@dataclass(frozen=True)
class Ended:
    """Sent instead of a batch: the worker's iterable dataset is exhausted."""


@dataclass(frozen=True)
class Failure:
    """Sent instead of a batch: an error with its traceback.

    The class of the exception is kept as a pickle of its own: one that cannot be pickled there, or loaded here (a
    local class, a module that only the worker has imported), leaves its name and text.
    """

    kind: bytes | None
    text: str

    @staticmethod
    def of(error: BaseException, worker: int) -> Failure:
        """Describe an exception; called where it was caught."""
        text = f"{type(error).__name__}, raised in worker {worker} of a DataLoader. There:\n{traceback.format_exc()}"
        try:
            kind = pickle.dumps(type(error))
        except Exception:
            kind = None
        return Failure(kind, text)

    def raised(self) -> BaseException:
        """Return the exception: of its own class if that is found here and takes a message, else a RuntimeError."""
        try:
            made = pickle.loads(self.kind or b"")(_Text(self.text))
        except Exception:
            return RuntimeError(self.text)
        return made if isinstance(made, BaseException) else RuntimeError(self.text)


class _Text(str):
    """A message that a KeyError, which shows the repr of its argument, shows unchanged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def send(connection: Any, message: Any) -> None:
    """Send a packed message."""
    head, buffers = message
    connection.send_bytes(head)
    for buffer in buffers:
        connection.send_bytes(buffer)


def packed(number: Any, data: Any) -> tuple[bytes, list]:
    """Return a message: a pickle, and the memory of the arrays it refers to."""
    buffers: list[Any] = []
    body = pickle.dumps(data, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    return pickle.dumps((number, body, [part.nbytes for part in raw])), raw


def receive(connection: Any) -> Any:
    """(number, data) of a message; arrays get memory of their own, which may be written. Data that cannot be unpickled
    here become a :class:`Failure`, so that the loader still knows which batch it was.
    """
    number, body, sizes = pickle.loads(connection.recv_bytes())
    buffers = []
    for size in sizes:
        buffer = np.empty(size, np.uint8)
        connection.recv_bytes_into(buffer) if size else connection.recv_bytes()
        buffers.append(buffer)
    try:
        return number, pickle.loads(body, buffers=buffers)
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        return number, Failure(None, f"a DataLoader cannot unpickle the batch of a worker. Here:\n{text}")


def _take_in(connection: Any, messages: queue.SimpleQueue) -> None:
    parent: Any = parent_process()
    try:
        while True:
            if connection not in wait([connection, parent.sentinel]):
                os._exit(1)  # who would take the batches is gone
            messages.put(connection.recv())
    except (EOFError, OSError):  # the loader wants no more
        messages.put(None)


def _send_out(connection: Any, messages: queue.SimpleQueue) -> None:
    try:
        while (message := messages.get()) is not None:
            send(connection, message)
    except OSError:  # who receives is gone
        pass


def run(
    iterable: bool,
    dataset: Any,
    connection: Any,
    auto_collation: bool,
    collate_fn: Any,
    drop_last: bool,
    base_seed: int,
    init_fn: Any,
    worker: int,
    workers: int,
    inherited: list,
) -> None:
    """Run a worker from start to end."""
    global _worker_info
    # The loader's ends: while a copy is open, a closed pipe is not noticed.
    for pipe in inherited:
        pipe.close()
    incoming: queue.SimpleQueue = queue.SimpleQueue()
    outgoing: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_take_in, args=(connection, incoming), daemon=True).start()
    sender = threading.Thread(target=_send_out, args=(connection, outgoing), daemon=True)
    sender.start()
    try:
        # Where threads cannot be set, workers have as many as NumPy gives them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            settings.set_num_threads(1)
        seed = base_seed + worker
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(np.random.SeedSequence([worker, base_seed]).generate_state(4))  # noqa: NPY002 - users draw from it
        _worker_info = WorkerInfo(worker, workers, seed, dataset)
        kind = fetch._IterableDatasetFetcher if iterable else fetch._MapDatasetFetcher
        init_failure = failure = None
        fetcher: Any = None

        def begin() -> Failure | None:
            nonlocal fetcher
            try:
                fetcher = kind(dataset, auto_collation, collate_fn, drop_last)
            except Exception as error:
                return Failure.of(error, worker)
            return None

        try:
            if init_fn is not None:
                init_fn(worker)
        except Exception as error:
            init_failure = Failure.of(error, worker)
        failure = init_failure or begin()
        while (message := incoming.get()) is not None:
            if isinstance(message, Resume):
                failure = init_failure or begin()
                outgoing.put(packed(message, None))
                continue
            try:
                answer = packed(message.number, fetcher.fetch(message.index) if failure is None else failure)
            except StopIteration as end:
                answer = packed(message.number, Ended() if iterable else Failure.of(end, worker))
            except Exception as error:
                answer = packed(message.number, Failure.of(error, worker))
            outgoing.put(answer)
        outgoing.put(None)
        sender.join()
    except KeyboardInterrupt:  # the parent has it, too, and says so
        pass
