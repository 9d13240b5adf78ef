"""Datasets, samplers, collation and the loader, in this process and in others."""

from __future__ import annotations

import collections
import os
import pickle
import sys
import time
import types
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.utils.data import DataLoader, Dataset, IterableDataset
from tests.same_program import needs_torch, torch

Point = collections.namedtuple("Point", "x y")


class Numbers(Dataset):
    def __init__(self, count: int = 10) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if not -self.count <= index < self.count:
            raise IndexError(index)
        return index, dt.full((2,), float(index)), {"name": str(index)}


class Counting(IterableDataset):
    """Each worker has its own part."""

    def __iter__(self) -> Any:
        info = dt.utils.data.get_worker_info()
        number = 0 if info is None else info.id
        return iter(range(10 * number, 10 * number + 5 + number))

    def __len__(self) -> int:
        return 5


class Failing(Numbers):
    def __getitem__(self, index: int) -> Any:
        if index == 5:
            raise KeyError("five is missing")
        return index


class Slow(Numbers):
    def __getitem__(self, index: int) -> Any:
        time.sleep(0.02 if index else 0.3)
        return index


class Drawn(Numbers):
    def __getitem__(self, index: int) -> Any:
        return dt.rand(1).item(), np.random.rand(), dt.utils.data.get_worker_info().seed  # noqa: NPY002 - what is seeded


def plain(value: Any) -> Any:
    """A batch with lists in the place of tensors, and types beside them."""
    if hasattr(value, "tolist"):
        return (str(value.dtype).split(".")[-1], value.tolist())
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, str):
        return (type(value).__name__, [plain(part) for part in value])
    return value


BATCHES: dict[str, Any] = {
    "tensors": lambda T: [T.ones(2), T.zeros(2)],
    "numbers": lambda T: [1, 2],
    "truth": lambda T: [True, False],
    "floats": lambda T: [1.5, 2.0],
    "strings": lambda T: ["a", "b"],
    "bytes": lambda T: [b"a", b"b"],
    "arrays": lambda T: [np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32)],
    "NumPy's numbers": lambda T: [np.float32(1), np.float32(2)],
    "NumPy's integers": lambda T: [np.int16(1), np.int16(2)],
    "pairs": lambda T: [(1, T.ones(1)), (2, T.zeros(1))],
    "lists": lambda T: [[1, 2.0], [3, 4.0]],
    "names": lambda T: [Point(1, "a"), Point(2, "b")],
    "dicts": lambda T: [{"x": 1, "y": [T.ones(1)]}, {"x": 2, "y": [T.zeros(1)]}],
    "ordered": lambda T: [collections.OrderedDict(a=1, b=2), collections.OrderedDict(a=3, b=4)],
    "complex": lambda T: [T.ones(1) * 1j, T.zeros(1) * 1j],
    "ranges": lambda T: [range(2), range(2)],
}
NOT_BATCHES: dict[str, Any] = {
    "objects": lambda T: [object(), object()],
    "None": lambda T: [None, None],
    "lengths": lambda T: [[1, 2], [1]],
    "shapes": lambda T: [T.ones(2), T.ones(3)],
    "text": lambda T: [np.array(["a"]), np.array(["b"])],
    "sparse": lambda T: [T.eye(2).to_sparse(), T.eye(2).to_sparse()],
    "keys": lambda T: [{"x": 1}, {"y": 1}],
    "nothing": lambda T: [],
}


@needs_torch
@pytest.mark.parametrize("case", BATCHES)
def test_batches_are_collated_as_pytorch_does(case: str) -> None:
    ours, theirs = (plain(T.utils.data.default_collate(BATCHES[case](T))) for T in (dt, torch))
    assert ours == theirs
    ours, theirs = (plain(T.utils.data.default_convert(BATCHES[case](T))) for T in (dt, torch))
    assert ours == theirs


@needs_torch
@pytest.mark.filterwarnings("ignore:Sparse invariant")
@pytest.mark.parametrize("case", NOT_BATCHES)
def test_what_cannot_be_collated_is_refused_with_pytorchs_type(case: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever it is
        torch.utils.data.default_collate(NOT_BATCHES[case](torch))
    with pytest.raises(theirs.type):
        dt.utils.data.default_collate(NOT_BATCHES[case](dt))


LOADERS: dict[str, Any] = {
    "one by one": dict(),
    "batches": dict(batch_size=4),
    "full batches": dict(batch_size=4, drop_last=True),
    "as they are": dict(batch_size=None),
    "a sampler": dict(batch_size=3, sampler=[3, 1, 4, 1, 5]),
    "a batch sampler": dict(batch_sampler=[[0, 5], [3], [9, 8, 7]]),
    "collated": dict(batch_size=4, collate_fn=len),
}


@needs_torch
@pytest.mark.parametrize("case", LOADERS)
def test_the_loader_gives_pytorchs_batches(case: str) -> None:
    class Theirs(torch.utils.data.Dataset):
        __len__ = Numbers.__len__
        count = 10

        def __getitem__(self, index: int) -> Any:
            return index, torch.full((2,), float(index)), {"name": str(index)}

    ours, theirs = DataLoader(Numbers(), **LOADERS[case]), torch.utils.data.DataLoader(Theirs(), **LOADERS[case])
    assert [plain(batch) for batch in ours] == [plain(batch) for batch in theirs]
    assert len(ours) == len(theirs) and ours.batch_size == theirs.batch_size


@pytest.mark.parametrize("case", LOADERS)
def test_workers_give_the_same_batches_in_the_same_order(case: str) -> None:
    here = [plain(batch) for batch in DataLoader(Numbers(), **LOADERS[case])]
    assert [plain(batch) for batch in DataLoader(Numbers(), num_workers=2, **LOADERS[case])] == here


@needs_torch
@pytest.mark.filterwarnings("ignore:.*(Length of IterableDataset|whose length is)")
def test_iterable_datasets_end_when_each_worker_has_ended() -> None:
    class Theirs(torch.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            info = torch.utils.data.get_worker_info()
            number = 0 if info is None else info.id
            return iter(range(10 * number, 10 * number + 5 + number))

    for options in (dict(batch_size=2), dict(batch_size=4, drop_last=True), dict(batch_size=None)):
        for workers in (0, 2):
            ours, theirs = (
                [plain(b) for b in T.utils.data.DataLoader(kind(), num_workers=workers, **options)]
                for T, kind in ((dt, Counting), (torch, Theirs))
            )
            assert ours == theirs
    assert len(DataLoader(Counting(), batch_size=2)) == 3 and len(DataLoader(Counting(), 2, drop_last=True)) == 2


BAD: dict[str, Any] = {
    "workers": lambda D, T: D.DataLoader([1], num_workers=-1),
    "timeout": lambda D, T: D.DataLoader([1], timeout=-1),
    "prefetch": lambda D, T: D.DataLoader([1], prefetch_factor=2),
    "negative prefetch": lambda D, T: D.DataLoader([1], num_workers=1, prefetch_factor=-2),
    "persistent": lambda D, T: D.DataLoader([1], persistent_workers=True),
    "sampler and shuffle": lambda D, T: D.DataLoader([1], sampler=[0], shuffle=True),
    "two samplers": lambda D, T: D.DataLoader([1], sampler=[0], batch_sampler=[[0]]),
    "dropped samples": lambda D, T: D.DataLoader([1], batch_size=None, drop_last=True),
    "context": lambda D, T: D.DataLoader([1], num_workers=1, multiprocessing_context="mine"),
    "no context": lambda D, T: D.DataLoader([1], num_workers=1, multiprocessing_context=3),
    "context without workers": lambda D, T: D.DataLoader([1], multiprocessing_context="spawn"),
    "batch size": lambda D, T: D.DataLoader([1], batch_size=0),
    "changed": lambda D, T: setattr(D.DataLoader([1]), "batch_size", 3),
    "nothing to shuffle": lambda D, T: D.DataLoader([], shuffle=True),
    "iterable and shuffle": lambda D, T: D.DataLoader(D.ChainDataset([]), shuffle=True),
    "iterable and sampler": lambda D, T: D.DataLoader(D.ChainDataset([]), sampler=[0]),
    "sizes": lambda D, T: D.TensorDataset(T.ones(2), T.ones(3)),
    "stacked sizes": lambda D, T: D.StackDataset([1], [1, 2]),
    "stack of both": lambda D, T: D.StackDataset([1], x=[1]),
    "empty stack": lambda D, T: D.StackDataset(),
    "nothing joined": lambda D, T: D.ConcatDataset([]),
    "iterables joined": lambda D, T: D.ConcatDataset([D.ChainDataset([])]),
    "too far back": lambda D, T: D.ConcatDataset([[1]])[-2],
    "chain of lists": lambda D, T: list(D.ChainDataset([[1]])),
    "split": lambda D, T: D.random_split(range(3), [1, 1]),
    "parts": lambda D, T: D.random_split(range(3), [1.5, -0.5]),
    "samples": lambda D, T: D.RandomSampler([1], num_samples=0),
    "replacement": lambda D, T: D.RandomSampler([1], replacement=3),
    "weights": lambda D, T: D.WeightedRandomSampler([[1.0]], 1),
    "weighted samples": lambda D, T: D.WeightedRandomSampler([1.0], 0),
    "dropped": lambda D, T: D.BatchSampler([1], 1, 3),
    "rank": lambda D, T: D.DistributedSampler([1], num_replicas=2, rank=2),
    "no item": lambda D, T: D.Dataset()[0],
    "no order": lambda D, T: iter(D.Sampler()),
    "half a subset": lambda D, T: type("S", (D.Subset,), {"__getitem__": lambda self, k: 0})([1], [0]),
}


@needs_torch
@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_is_refused_with_pytorchs_type(case: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever it is
        BAD[case](torch.utils.data, torch)
    with pytest.raises(theirs.type):
        BAD[case](dt.utils.data, dt)


def test_datasets_of_datasets() -> None:
    data = dt.utils.data
    both = data.StackDataset(range(4), data.Subset("abcdef", [5, 4, 3, 2]))
    assert both[1] == (1, "e") and both.__getitems__([0, 3]) == [(0, "f"), (3, "c")]
    assert data.StackDataset(x=range(2)).__getitems__([1]) == [{"x": 1}]
    joined = Numbers(2) + Numbers(3)
    assert [joined[k][0] for k in range(-5, 5)] == [0, 1, 0, 1, 2] * 2
    parts = data.random_split(range(7), [3, 4], generator=dt.Generator().manual_seed(0))
    assert sorted(k for part in parts for k in part) == list(range(7))
    assert [len(part) for part in data.random_split(range(10), [0.34, 0.33, 0.33])] == [4, 3, 3]
    with pytest.warns(UserWarning, match="no samples"):
        data.random_split(range(1), [0.5, 0.5])
    assert data.Subset(data.TensorDataset(dt.arange(5)), [4, 2])[[0, 1]][0].tolist() == [4, 2]


def test_samplers_draw_what_they_say() -> None:
    data = dt.utils.data
    generator = dt.Generator().manual_seed(0)
    often = collections.Counter(data.RandomSampler(range(40), num_samples=100))
    assert len(often) == 40 and set(often.values()) == {2, 3}
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=70, generator=generator))
    assert len(drawn) == 70 and set(drawn) == {0, 1, 2}
    assert list(data.WeightedRandomSampler([0, 0, 1, 0], 3)) == [2, 2, 2]
    assert sorted(data.SubsetRandomSampler([7, 9])) == [7, 9]
    for shuffle in (True, False):
        for drop in (True, False):
            samplers = [data.DistributedSampler(range(7), 3, k, shuffle, drop_last=drop) for k in range(3)]
            orders = [list(sampler) for sampler in samplers]
            assert {len(order) for order in orders} == {len(samplers[0])} == {2 if drop else 3}
            assert drop or set(sum(orders, [])) == set(range(7))
    samplers[0].shuffle = True
    before = list(samplers[0])
    samplers[0].set_epoch(3)
    assert list(samplers[0]) != before


@pytest.mark.parametrize("workers", [0, 2])
def test_a_seed_makes_the_order_the_same(workers: int) -> None:
    def order(seed: int) -> list:
        loader = DataLoader(Numbers(), 3, shuffle=True, generator=dt.Generator().manual_seed(seed), num_workers=workers)
        return [k for _ in range(2) for batch in loader for k in batch[0].tolist()]

    first = order(0)
    assert sorted(first[:10]) == list(range(10)) and first[:10] != first[10:]
    assert order(0) == first != order(1)


def test_workers_are_seeded_each_with_its_own() -> None:
    def draw() -> list:
        return list(DataLoader(Drawn(4), None, num_workers=2, generator=dt.Generator().manual_seed(1)))

    (a, x, first), (b, y, second), *_ = drawn = draw()
    assert second == first + 1 and a != b and x != y and draw() == drawn


def test_an_error_in_a_worker_is_raised_here_with_its_traceback() -> None:
    loader = DataLoader(Failing(), 2, num_workers=2)
    batches = iter(loader)
    assert next(batches).tolist() == [0, 1] and next(batches).tolist() == [2, 3]
    with pytest.raises(KeyError, match="(?s)KeyError, raised in worker 0.*__getitem__.*five is missing"):
        next(batches)
    assert next(batches).tolist() == [6, 7]


def _fail(worker: int) -> None:
    raise ValueError(f"worker {worker} will not begin")


def test_an_error_of_the_init_function_is_raised_here() -> None:
    with pytest.raises(ValueError, match="will not begin"):
        next(iter(DataLoader(Numbers(), num_workers=1, worker_init_fn=_fail)))


def _lambda(samples: list) -> Any:
    return lambda: samples


def test_a_batch_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError, RuntimeError), match="raised in worker"):
        next(iter(DataLoader(Numbers(), num_workers=1, collate_fn=_lambda)))


ENDINGS = {
    "killed": (lambda: os.kill(os.getpid(), 9), "was killed by SIGKILL"),
    "exits": (lambda: os._exit(3), "ended with status 3"),
    "sys.exit": (lambda: sys.exit(4), "ended with status 4"),
}


class Ending(Dataset):
    """Its worker ends in the way named, at one sample or already when it begins."""

    def __init__(self, how: str, at: int, pause: float = 0.0) -> None:
        self.how, self.at, self.pause = how, at, pause

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        if index == self.at:
            ENDINGS[self.how][0]()
        time.sleep(self.pause)
        return dt.full((3,), float(index))


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("how", ENDINGS)
def test_a_worker_that_dies_is_said_to_have(how: str, persistent: bool) -> None:
    # the loader may be reading, or giving a task to a pipe that nobody reads
    for at, pause in ((0, 0.0), (1, 0.01), (9, 0.0), (40, 0.0)):
        loader = DataLoader(Ending(how, at), 2, num_workers=2, persistent_workers=persistent, prefetch_factor=1)
        batches = iter(loader)
        with pytest.raises(RuntimeError, match=rf"(?s)DataLoader worker \(pid\(s\) .*{ENDINGS[how][1]}"):
            for _ in batches:
                time.sleep(pause)
        with pytest.raises(RuntimeError, match="exited unexpectedly"):
            next(batches)
        assert not batches._workers
    if persistent:
        loader.dataset.at = -1
        assert len(list(loader)) == 32  # with workers of its own


def test_a_task_for_a_worker_that_died_says_so() -> None:
    loader = DataLoader(Numbers(64), 2, num_workers=1, persistent_workers=True)
    batches = iter(loader)
    next(batches)
    batches._workers[0].kill()
    batches._workers[0].join()
    with pytest.raises(RuntimeError, match="exited unexpectedly: worker 0 was killed by SIGKILL"):
        batches._give_task()
    batches = iter(loader)
    assert len(list(batches)) == 32
    batches._workers[0].kill()
    batches._workers[0].join()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        iter(loader)  # which lets the workers begin again
    assert len(list(loader)) == 32


def _local() -> type[Exception]:
    class Local(Exception):
        pass

    return Local


class _Demanding(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"first is {first}")


class _NoError(Exception):
    def __new__(cls, *args: Any) -> Any:
        return object() if args and "worker" in str(args[0]) else super().__new__(cls, *args)


class _Unloadable(Exception):
    """Its class is pickled as a reference that only its worker resolves."""


def _unloadable() -> Exception:
    module = types.ModuleType("of_one_worker")
    sys.modules["of_one_worker"] = module
    module.Here = type("Here", (_Unloadable,), {"__module__": "of_one_worker"})  # type: ignore[attr-defined]
    return module.Here("of a worker's module")


class _OfAWorker:
    """A value that cannot be unpickled where it arrives."""

    def __reduce__(self) -> Any:
        return _refuse_to_load, ()


def _refuse_to_load() -> None:
    raise ValueError("it will not load")


RAISED = {
    "a local class": (lambda: _local()("of a local class"), RuntimeError, "Local, raised in worker.*of a local class"),
    "a class of the worker alone": (_unloadable, RuntimeError, "Here, raised in worker.*of a worker's module"),
    "a class with other arguments": (lambda: _Demanding(1, 2), RuntimeError, "_Demanding, raised.*first is 1"),
    "a class that gives something else": (lambda: _NoError("no error"), RuntimeError, "_NoError, raised.*no error"),
    "a class with arguments that are not pickled": (lambda: ValueError(lambda: 1), ValueError, "raised in worker"),
}


class Raising(Dataset):
    def __init__(self, how: str) -> None:
        self.how = how

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        if index == 2:
            raise RAISED[self.how][0]()
        return index


@pytest.mark.parametrize("how", RAISED)
def test_any_exception_of_a_worker_arrives_with_its_name_and_text(how: str) -> None:
    _, kind, words = RAISED[how]
    batches = iter(DataLoader(Raising(how), None, num_workers=1))
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(Exception, match=f"(?s){words}") as caught:
        next(batches)
    assert type(caught.value) is kind
    assert list(batches) == [3, 4, 5]  # the worker goes on


class Loading(Numbers):
    def __getitem__(self, index: int) -> Any:
        return _OfAWorker() if index == 1 else index


def test_a_batch_that_cannot_be_unpickled_is_an_error_of_that_batch() -> None:
    batches = iter(DataLoader(Loading(4), None, num_workers=2))
    assert next(batches) == 0
    with pytest.raises(RuntimeError, match="(?s)cannot unpickle the batch of a worker.*it will not load"):
        next(batches)
    assert list(batches) == [2, 3]


class Restarting(IterableDataset):
    """Begins once in each worker."""

    begun = 0

    def __iter__(self) -> Any:
        type(self).begun += 1
        if type(self).begun > 1:
            raise ValueError("it has begun already")
        return iter(range(3))


def test_a_dataset_that_does_not_begin_again_says_so() -> None:
    loader = DataLoader(Restarting(), num_workers=1, persistent_workers=True)
    assert len(list(loader)) == 3
    with pytest.raises(ValueError, match="it has begun already"):
        list(loader)


def test_a_worker_that_takes_too_long_is_noticed() -> None:
    with pytest.raises(RuntimeError, match="for 0.05 seconds"):
        next(iter(DataLoader(Slow(), num_workers=1, timeout=0.05)))


def test_batches_may_come_as_they_are_ready() -> None:
    found = [batch.item() for batch in DataLoader(Slow(8), num_workers=2, in_order=False)]
    assert sorted(found) == list(range(8)) and found[0] != 0


def test_persistent_workers_are_the_same_and_begin_again() -> None:
    loader = DataLoader(Numbers(), 2, num_workers=2, persistent_workers=True)
    batches = iter(loader)
    next(batches)  # and the rest is left
    pids = [process.pid for process in batches._workers]
    for _ in range(2):
        again = iter(loader)
        assert [batch[0].tolist() for batch in again] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
        assert [process.pid for process in again._workers] == pids


def test_workers_end_with_their_iterator() -> None:
    batches = iter(DataLoader(Numbers(), num_workers=2))
    next(batches)
    processes = batches._workers
    del batches
    assert not any(process.is_alive() for process in processes)


def test_other_ways_to_start_processes() -> None:
    loader = DataLoader(Numbers(), 5, num_workers=1, multiprocessing_context="spawn")
    assert [batch[0].tolist() for batch in loader] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_large_batches_are_of_ones_own_memory() -> None:
    data = [np.full(300_000, k, np.float32) for k in range(8)]
    batches = list(DataLoader(data, 2, num_workers=2, prefetch_factor=4))
    for k, batch in enumerate(batches):
        assert batch.shape == (2, 300_000) and batch[1, -1] == 2 * k + 1
        batch.add_(1)


def test_rows_of_tensors_are_taken_at_once_or_one_by_one() -> None:
    rows = dt.utils.data.TensorDataset(dt.arange(6.0).reshape(3, 2), dt.arange(3))
    (x, y), (z, _) = DataLoader(rows, 2)
    assert x.tolist() == [[0, 1], [2, 3]] and y.tolist() == [0, 1] and z.tolist() == [[4, 5]]
    x.zero_()
    assert rows.tensors[0][0, 1] == 1
    learned = dt.ones(3, requires_grad=True)
    (batch,) = next(iter(DataLoader(dt.utils.data.TensorDataset(learned), 3)))
    batch.sum().backward()
    assert learned.grad.tolist() == [1, 1, 1]

    class Doubled(dt.utils.data.TensorDataset):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)[0] * 2

    assert next(iter(DataLoader(Doubled(dt.arange(3)), 3))).tolist() == [0, 2, 4]
    with pytest.raises(IndexError):
        list(DataLoader(rows, sampler=[5]))


def test_what_is_not_done_is_said() -> None:
    with pytest.warns(UserWarning, match="not pinned"):
        list(DataLoader([1], pin_memory=True))
    with pytest.warns(UserWarning, match="more than the"):
        DataLoader([1], num_workers=1000)
    loader = DataLoader(Counting(), batch_size=None, num_workers=2)
    assert len(loader) == 5
    with pytest.warns(UserWarning, match="whose length is 5"):
        list(loader)


def test_an_iterator_is_not_pickled_but_a_loader_is() -> None:
    loader = DataLoader(Numbers(), 5)
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(loader))
    assert len(list(pickle.loads(pickle.dumps(loader)))) == 2


@pytest.mark.parametrize(
    "path, name",
    [
        ("dataloader", "default_collate"),
        ("_utils.collate", "default_collate_fn_map"),
        ("_utils.worker", "WorkerInfo"),
        ("_utils.fetch", "_MapDatasetFetcher"),
        ("sampler", "Sampler"),
        ("dataset", "random_split"),
        ("distributed", "DistributedSampler"),
        ("dataloader", "_MultiProcessingDataLoaderIter"),
    ],
)
def test_the_modules_that_libraries_import_are_there(path: str, name: str) -> None:
    assert hasattr(import_module(f"dualtape.utils.data.{path}"), name)


def test_nothing_of_this_is_loaded_with_the_package() -> None:
    import subprocess
    import sys

    program = "import dualtape, sys; dualtape.utils; print('multiprocessing' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_warnings_are_not_hidden_from_users() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(DataLoader(Numbers(), 5, num_workers=1))) == 2


class Stops(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return next(iter([index] if index < 5 else []))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_sample_that_raises_stop_iteration_does_not_end_the_epoch_silently(num_workers: int) -> None:
    with pytest.raises(RuntimeError, match="raised StopIteration for index"):
        list(DataLoader(Stops(), batch_size=2, num_workers=num_workers))
