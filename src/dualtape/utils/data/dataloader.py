"""The DataLoader: batches of a dataset, made here or by worker processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from multiprocessing import connection as pipes
from multiprocessing import context as contexts
from multiprocessing import get_all_start_methods, get_context
from time import monotonic
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

from ..._tensor.tensor import Tensor
from ...errors import warn
from ...random import Generator
from ._utils import fetch, worker
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info as get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
B_co = TypeVar("B_co", covariant=True)  # of batches
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _DatasetKind:
    """Whether samples are taken by index, or in sequence."""

    Map = 0
    Iterable = 1


class _InfiniteConstantSampler(Sampler):
    """The indices of samples that have none."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield None


class _Options(TypedDict, total=False):
    """Options of a loader that do not decide what its batches are."""

    pin_memory: bool
    drop_last: bool
    timeout: float
    worker_init_fn: Callable[[int], None] | None
    multiprocessing_context: Any
    generator: Generator | None
    prefetch_factor: int | None
    persistent_workers: bool
    pin_memory_device: str
    in_order: bool


class DataLoader(Generic[B_co]):
    """An iterable over batches of a dataset.

    Parameters
    ----------
    dataset : Dataset
        By number, or iterable.
    batch_size : int, optional
        Samples of a batch; None: samples come as they are.
    shuffle : bool, optional
        A random order, a new one each time.
    sampler, batch_sampler : iterable, optional
        The numbers of samples, or lists of them, instead.
    num_workers : int
        How many processes make batches; 0: this one does.
    collate_fn : callable, optional
        Makes a batch of a list of samples; default: :func:`default_collate`.
    pin_memory : bool
        Memory is never pinned here: a warning says so.
    drop_last : bool
        Whether a last batch that is not full is left out.
    timeout : float
        Seconds to wait for a worker; 0: for ever.
    worker_init_fn : callable, optional
        Called with its number in each worker, after seeding.
    multiprocessing_context : str or context, optional
        How processes are started.
    generator : Generator, optional
        For orders and seeds.
    prefetch_factor : int, optional
        How many batches ahead each worker is; default: 2.
    persistent_workers : bool
        Whether workers live as long as the loader.
    pin_memory_device : str
        Deprecated; see ``pin_memory``.
    in_order : bool
        Whether batches of workers come in the order of the sampler, or as they are ready.

    Examples
    --------
    >>> import dualtape as dt
    >>> data = dt.utils.data.TensorDataset(dt.arange(4), dt.arange(4.0) ** 2)
    >>> for x, y in dt.utils.data.DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([0., 1.])
    tensor([2, 3]) tensor([4., 9.])
    """

    _initialized = False
    _iterator: Any = None

    @overload
    def __init__(
        self: DataLoader[B_co],
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        *,
        collate_fn: Callable[[list], B_co],
        **options: Unpack[_Options],
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[Tensor],
        dataset: Dataset[Tensor],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        *,
        collate_fn: None = None,
        **options: Unpack[_Options],
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[list[Tensor]],
        dataset: Dataset[tuple[Tensor, ...]],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        *,
        collate_fn: None = None,
        **options: Unpack[_Options],
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[Any],
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        *,
        collate_fn: None = None,
        **options: Unpack[_Options],
    ) -> None: ...

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        streams = isinstance(dataset, IterableDataset)
        _check_order(streams, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            sampler = _usual_order(dataset, streams, shuffle, generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if prefetch_factor is None and num_workers > 0:
            prefetch_factor = 2
        self.dataset, self._dataset_kind = dataset, _DatasetKind.Iterable if streams else _DatasetKind.Map
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.batch_size, self.drop_last = batch_size, drop_last
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.num_workers, self.timeout, self.in_order = num_workers, timeout, in_order
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self._IterableDataset_len_called: int | None = None
        self._initialized = True
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """The start method of worker processes; None: the platform's default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        if value is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context says how workers are started, and num_workers is 0: leave it out"
                )
            if isinstance(value, str):
                if value not in get_all_start_methods():
                    raise ValueError(
                        f"unknown multiprocessing_context {value!r}: this system starts processes by"
                        f" {', '.join(get_all_start_methods())}"
                    )
                value = get_context(value)
            if not isinstance(value, contexts.BaseContext):
                raise TypeError(
                    "multiprocessing_context is a context of multiprocessing's, or the name of one; got a"
                    f" {type(value).__name__}"
                )
        self._context = value

    def __setattr__(self, attr: str, val: Any) -> None:
        if self._initialized and attr in _FIXED:
            raise ValueError(f"{attr} of a {type(self).__name__} cannot be changed: make another")
        super().__setattr__(attr, val)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> _BaseDataLoaderIter[B_co]:
        return _MultiProcessingDataLoaderIter(self) if self.num_workers else _SingleProcessDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter[B_co]:
        lasting = self._iterator if self.persistent_workers and self.num_workers else None
        if lasting is not None and lasting._ended is None:
            lasting._reset(self)
            return lasting
        made = self._get_iterator()
        if self.persistent_workers and self.num_workers:
            self._iterator = made
        return made

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else ceil(length / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and (count is None or self.num_workers > count):
            warn(
                f"{self.num_workers} workers are more than the {count} processors here: with fewer it may be quicker",
            )


def _check_workers(count: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    if count < 0:
        raise ValueError(f"num_workers must be 0 or more, got {count}; 0 loads in this process")
    if timeout < 0:
        raise ValueError(f"timeout must be 0 or more seconds, got {timeout}")
    if prefetch is not None and count == 0:
        raise ValueError("prefetch_factor says how far workers are ahead, and num_workers is 0: leave it out")
    if prefetch is not None and prefetch < 0:
        raise ValueError(f"prefetch_factor must be 0 or more, got {prefetch}")
    if persistent and count == 0:
        raise ValueError("persistent_workers=True, and num_workers is 0: there are no workers to keep")


def _check_order(
    streams: bool, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Raise if several arguments decide the order of the samples, or their batches."""
    if streams:
        for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                raise ValueError(f"an IterableDataset has its own order: leave out {name}, got {name}={value}")
    if shuffle and sampler is not None:
        raise ValueError("a sampler decides the order: leave out shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("a batch_sampler decides order and batches: leave out batch_size, shuffle, sampler, drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("without batches (batch_size=None) there is no last one to drop: leave out drop_last")


def _usual_order(dataset: Any, streams: bool, shuffle: bool | None, generator: Generator | None) -> Sampler:
    if streams:
        return _InfiniteConstantSampler()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


class _BaseDataLoaderIter(Generic[B_co]):
    """One iteration over the batches."""

    def __init__(self, loader: DataLoader) -> None:
        if loader.pin_memory:
            warn(
                "pin_memory=True, but memory is not pinned here: batches are in ordinary memory",
            )
        self._loader_kind = loader._dataset_kind
        self._dataset = loader.dataset
        self._index_sampler = loader._index_sampler
        self._auto_collation = loader._auto_collation
        self._collate_fn = loader.collate_fn
        self._drop_last = loader.drop_last
        self._base_seed = drawn_seed(loader.generator)
        self._dt_begin(loader)

    def _dt_begin(self, loader: DataLoader) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._expected = loader._IterableDataset_len_called

    def __iter__(self) -> Self:
        return self

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> B_co:
        data = self._next_data()
        self._num_yielded += 1
        if self._expected is not None and self._num_yielded > self._expected:
            warn(
                f"{self._num_yielded} samples have come of {type(self._dataset).__name__}, whose length is"
                f" {self._expected}: each worker may have loaded all of it",
            )
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter[B_co]):
    """Batches made in this process."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        iterable = self._loader_kind == _DatasetKind.Iterable
        kind = fetch._IterableDatasetFetcher if iterable else fetch._MapDatasetFetcher
        self._fetcher = kind(self._dataset, self._auto_collation, self._collate_fn, self._drop_last)

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter[B_co]):
    """Batches made by worker processes: tasks are assigned in turn, and batches are returned in the order of the
    tasks.
    """

    def __init__(self, loader: DataLoader) -> None:
        self._workers: list[Any] = []
        self._pipes: list[Any] = []
        self._ended: str | None = None  # what is said of workers that have died
        super().__init__(loader)
        self._dt_persistent = loader.persistent_workers
        self._timeout = loader.timeout
        self._ahead = max(1, loader.prefetch_factor or 1) * loader.num_workers
        self._in_order = loader.in_order
        try:
            self._start_workers(loader)
            self._start()
        except BaseException:
            self._shutdown(0)
            raise

    def _start_workers(self, loader: DataLoader) -> None:
        context = loader.multiprocessing_context or get_context()
        for number in range(loader.num_workers):
            ours, theirs = context.Pipe()
            self._pipes.append(ours)  # first of all: a worker whose pipe is closed ends
            process = context.Process(
                target=worker.run,
                args=(
                    self._loader_kind == _DatasetKind.Iterable,
                    self._dataset,
                    theirs,
                    self._auto_collation,
                    self._collate_fn,
                    self._drop_last,
                    self._base_seed,
                    loader.worker_init_fn,
                    number,
                    loader.num_workers,
                    list(self._pipes) if context.get_start_method() == "fork" else [],
                ),
                daemon=True,
            )
            self._workers.append(process)
            try:
                process.start()
            finally:
                theirs.close()

    def _start(self) -> None:
        self._active = set(range(len(self._workers)))  # that may have more
        self._turn = 0  # whose turn it is
        self._dt_given = 0  # tasks given out
        self._wanted = 0  # the task whose batch comes next
        self._owner: dict[int, int] = {}  # tasks under way, and their workers
        self._ready: dict[int, Any] = {}  # batches that came before their turn
        for _ in range(self._ahead):
            self._give_task()

    def _reset(self, loader: DataLoader) -> None:
        """Start again with the same workers; batches of the previous iteration are dropped."""
        try:
            self._start_again(loader)
        except Exception:
            raise
        except BaseException:
            self._stop()
            raise

    def _start_again(self, loader: DataLoader) -> None:
        for number in range(len(self._pipes)):
            self._send(number, worker.Resume())
        waiting = len(self._pipes)
        while waiting:
            number, _ = self._receive()[1]
            waiting -= isinstance(number, worker.Resume)
        self._dt_begin(loader)
        self._start()

    def _give_task(self) -> None:
        if not self._active:
            return
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        turn = min(self._active, key=lambda k: (k - self._turn) % len(self._workers))
        self._turn = turn + 1
        self._send(turn, worker.Task(self._dt_given, index))
        self._owner[self._dt_given] = turn
        self._dt_given += 1

    def _send(self, number: int, message: object) -> None:
        try:
            self._pipes[number].send(message)
        except OSError:  # a broken pipe: nobody reads from it
            raise self._died(number) from None

    def _receive(self) -> tuple[int, tuple]:
        """Return the number of a worker, and its message."""
        by_pipe = {self._pipes[k]: k for k in range(len(self._pipes)) if not self._pipes[k].closed}
        sentinels = {self._workers[k].sentinel: k for k in by_pipe.values()}
        found = pipes.wait([*by_pipe, *sentinels], self._timeout or None)
        if not found:
            raise RuntimeError(f"no worker has sent a batch for {self._timeout} seconds (timeout)")
        gone = 0
        for each in found:
            gone = by_pipe[each] if each in by_pipe else sentinels[each]
            if each in by_pipe:
                try:
                    return gone, worker.receive(each)
                except (EOFError, OSError):  # also in the middle of a message
                    break
        raise self._died(gone)

    def _died(self, number: int) -> RuntimeError:
        """Stop all workers, and return the error that says which of them died, and how."""
        self._workers[number].join(1)  # its pipe may be closed a moment before its status is known
        gone = [(k, process) for k, process in enumerate(self._workers) if process.exitcode is not None]
        gone = gone or [(number, self._workers[number])]
        pids = ", ".join([str(process.pid) for _, process in gone])
        how = "; ".join([f"worker {k} {_ending(process.exitcode)}" for k, process in gone])
        self._ended = (
            f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {how}. Nothing more comes of this iterator; what"
            " ended it may stand in its output above, or is found with num_workers=0"
        )
        self._shutdown()
        return RuntimeError(self._ended)

    def _stop(self) -> None:
        """End the workers after an interrupt: a message may be read in part, and a traceback that is kept would keep
        them.
        """
        self._ended = "this iterator of a DataLoader was interrupted, and its workers have ended: make another"
        self._shutdown(0)

    def _next_data(self) -> Any:
        if self._ended is not None:
            raise RuntimeError(self._ended)
        try:
            return self._next_batch()
        except Exception:
            raise
        except BaseException:
            self._stop()
            raise

    def _next_batch(self) -> Any:
        while True:
            if self._wanted in self._ready:
                return self._finished(self._ready.pop(self._wanted))
            if not self._owner and not self._ready:
                if not self._dt_persistent:
                    self._shutdown()
                raise StopIteration
            if self._wanted not in self._owner:  # its worker had no more
                self._wanted += 1
                continue
            number, data = self._receive()[1]
            owner = self._owner.pop(number)
            if isinstance(data, worker.Ended):
                self._active.discard(owner)
                self._give_task()
            elif self._in_order and number != self._wanted:
                self._ready[number] = data
            else:
                return self._finished(data)

    def _finished(self, data: Any) -> Any:
        if self._in_order:
            self._wanted += 1
        else:
            self._wanted = min(self._owner, default=self._dt_given)
        self._give_task()
        if isinstance(data, worker.Failure):
            raise data.raised()
        return data

    def _shutdown(self, patience: float = 5) -> None:
        """End the workers: those that are busy for more than ``patience`` seconds are terminated."""
        for pipe in self._pipes:
            try:
                if patience and not pipe.closed:
                    pipe.send(None)
            except OSError:
                pass
            pipe.close()
        begun = [process for process in self._workers if process.pid is not None]
        end = monotonic() + patience
        for process in begun:
            process.join(max(0, end - monotonic()))
            if process.is_alive():
                process.terminate()
        for process in begun:
            process.join()
        self._workers, self._pipes = [], []

    def __del__(self) -> None:
        self._shutdown()


def _ending(status: int | None) -> str:
    """Return a description of how a process ended."""
    if status is None:
        return "closed its pipe"
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
