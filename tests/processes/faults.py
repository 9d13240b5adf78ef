"""Functions of several collectives that fail on one rank: all ranks raise, and the next collective is the same on all.

Each is run with a fault on one rank at its first fallible step, its second, and so on, until there is none left.
"""

from __future__ import annotations

import shutil
import tempfile
import types
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import dualtape as dt
import dualtape.distributed as dist
from dualtape.distributed import checkpoint, groups, objects, rpc
from dualtape.distributed.rpc import api
from dualtape.distributed.tensor import DTensor, Shard, distribute_tensor
from dualtape.nn.parallel import distributed as ddp


class Fault(Exception):
    """What is raised on one rank."""


class Faults:
    """Raises at the ``at``-th call of any of the functions that it watches."""

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def around(self, function: Callable) -> Callable:
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self.at:
                raise Fault(f"at step {self.at}")
            return function(*args, **kwargs)

        return watched


@contextmanager
def faults(points: list[tuple[Any, str]], at: int):
    found = Faults(at)
    with ExitStack() as stack:
        for owner, name in points:
            stack.enter_context(mock.patch.object(owner, name, found.around(getattr(owner, name))))
        yield found


def state(rank: int, size: int) -> dict:
    mesh = dist.init_device_mesh("cpu", (size,))
    return {"x": distribute_tensor(dt.arange(8.0), mesh, [Shard(0)]), "plain": dt.ones(2), "step": 3}


def saved(rank: int, size: int, folder: Path) -> None:
    checkpoint.save(state(rank, size), checkpoint_id=folder)


def loaded(rank: int, size: int, folder: Path) -> None:
    into = state(rank, size)
    into["x"].mul_(0)
    try:
        checkpoint.load(into, checkpoint_id=folder.with_name("whole"))
    except Exception:
        assert not into["x"].to_local().any()  # on no rank
        raise
    assert into["x"].full_tensor().tolist() == list(range(8))


def objects_sent(rank: int, size: int, folder: Path) -> None:
    dist.all_gather_object([None] * size, rank)
    dist.gather_object(rank, [None] * size if rank == 0 else None, 0)
    dist.scatter_object_list([None], list(range(size)) if rank == 0 else None, 0)
    dist.broadcast_object_list([rank], 0)


def wrapped(rank: int, size: int, folder: Path) -> None:
    model = dt.nn.parallel.DistributedDataParallel(dt.nn.Sequential(dt.nn.Linear(3, 2), dt.nn.BatchNorm1d(2)))
    model(dt.ones(4, 3)).sum().backward()


def grouped(rank: int, size: int, folder: Path) -> None:
    for ranks in ([0], list(range(size)), [size - 1, 0]):
        group = dist.new_group(ranks)
        dist.all_reduce(dt.ones(1), group=group) if rank in ranks else None
        dist.destroy_process_group(group)


def called(rank: int, size: int, folder: Path) -> None:
    rpc.init_rpc(f"worker{rank}")
    rpc.shutdown()


PICKLES = (objects, "_bytes")
# what is run, and what may fail in it
SEQUENCES: dict[str, tuple[Callable, list[tuple[Any, str]]]] = {
    "checkpoint.save": (
        saved,
        [
            (checkpoint, "_described"),
            (checkpoint, "save_file"),
            (checkpoint, "_to_disk"),
            (checkpoint, "_own"),
            (checkpoint, "_merged"),
            (checkpoint, "_put_in_place"),
            (checkpoint.shutil, "rmtree"),
            PICKLES,
        ],
    ),
    "checkpoint.load": (
        loaded,
        [(checkpoint, "read_index"), (checkpoint, "_check_wanted"), (checkpoint, "_Load"), (checkpoint, "load_file")],
    ),
    "objects": (objects_sent, [PICKLES, (objects, "_check_list")]),
    "DistributedDataParallel": (wrapped, [PICKLES, (ddp, "_check_arguments"), (ddp, "Reducer")]),
    "new_group": (grouped, [(groups, "_refuse"), (groups, "_chosen")]),
    "init_rpc": (called, [(api, "_check_threads"), PICKLES]),
}


def one_sequence(name: str, rank: int, size: int) -> None:
    run, points = SEQUENCES[name]
    folder: list = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    path = Path(folder[0])
    checkpoint.save(state(rank, size), checkpoint_id=path / "whole")
    for odd in (0, size - 1)[size > 2 :]:
        steps = 0
        for at in range(1, 40):
            error: Exception | None = None
            with faults(points, at if rank == odd else 0) as found:
                try:
                    run(rank, size, path / "step")
                except Exception as caught:
                    error = caught
            injected = rank == odd and found.calls >= at
            every: list = [None] * size
            dist.all_gather_object(every, (name, odd, at, injected, error is not None, repr(error)))
            assert len({each[:3] for each in every}) == 1, every  # all are here
            if not any(each[3] for each in every):
                assert not any(each[4] for each in every), every
                break
            steps += 1
            assert all(each[4] for each in every), every
            assert isinstance(error, Fault) if rank == odd else f"rank {odd}: Fault: at step {at}" in str(error), every
        assert steps >= 2, (name, steps)
    dist.barrier()
    if rank == 0:
        shutil.rmtree(path)


def _check(name: str) -> Callable:
    return lambda rank, size: one_sequence(name, rank, size)


for _name in SEQUENCES:
    globals()[f"check_a_fault_on_one_rank_in_{_name.replace('.', '_')}"] = _check(_name)


def check_real_failures_of_one_rank(rank, size):
    """What the faults stand for: a value that is no state, one that cannot be pickled, arguments that are wrong."""
    mesh = dist.init_device_mesh("cpu", (size,))
    nowhere = Path("/proc/no/such/folder") if rank == 1 else Path(tempfile.gettempdir()) / "dualtape-fault"
    calls: list[Callable] = [
        lambda: checkpoint.save({"x": dt.ones(1), "bad": {1} if rank == 0 else 1}, checkpoint_id=nowhere),
        lambda: checkpoint.save({"x": dt.ones(1)} if rank else {"x.y": 1, "x": {"y": 2}}, checkpoint_id=nowhere),
        lambda: checkpoint.load({"x": dt.ones(1)}, checkpoint_id=nowhere if rank else "nowhere"),
        lambda: dist.all_gather_object([None] * size, (lambda: 1) if rank == 1 else 1),
        lambda: dist.all_gather_object([None] * (size - (rank == 1)), 1),
        lambda: dist.broadcast_object_list([types.SimpleNamespace(f=lambda: 1)], 0),
        lambda: dist.scatter_object_list([None], [1] * (size - 1) if rank == 0 else None, 0),
        lambda: dist.new_group([0, 0] if rank else [0, 1]),
        lambda: dist.new_group([0] if rank else [0, 1]),
        lambda: rpc.init_rpc("" if rank else "a"),
        lambda: rpc.init_rpc("the same"),
        lambda: dt.nn.parallel.DistributedDataParallel(dt.nn.ReLU() if rank == 0 else dt.nn.Linear(1, 1)),
        lambda: dt.nn.parallel.DistributedDataParallel(dt.nn.Linear(1 + (rank == 0), 1)),
        lambda: dt.nn.parallel.DistributedDataParallel(dt.nn.Linear(1, 1), dim=rank),
        lambda: DTensor.from_local(dt.ones(3 + 2 * (rank == 1)), mesh, [Shard(0)]),
    ]
    for k, call in enumerate(calls):
        raised = False
        try:
            call()
        except Exception:
            raised = True
        every: list = [None] * size
        dist.all_gather_object(every, (k, raised))
        assert every == [(k, True)] * size, every


def check_objects_that_cannot_be_sent_are_known_to_who_waits_for_them(rank, size):
    if rank == 0:
        try:
            dist.send_object_list([lambda: 1], 1)
        except Exception as error:
            assert "pickle" in str(error)
        else:
            raise AssertionError("nothing was raised")
        dist.send_object_list(["next"], 1)
    elif rank == 1:
        into = [None]
        try:
            dist.recv_object_list(into, 0)
        except dist.DistBackendError as error:
            assert "send_object_list failed on rank 0" in str(error) and "pickle" in str(error)
        else:
            raise AssertionError("nothing was raised")
        dist.recv_object_list(into, 0)
        assert into == ["next"]
    dist.barrier()
