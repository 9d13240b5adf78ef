"""Ranks that do not agree: noticed by default, before any memory is touched, and the group goes on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

import dualtape as dt
import dualtape.distributed as dist

Op = dist.ReduceOp
Call = Callable[[dt.Tensor, dt.Tensor, int, int], object]  # of what is read, what may be written, the rank, the size


def listed(x: dt.Tensor, n: int) -> list[dt.Tensor]:
    return [x.new_zeros(x.shape) for _ in range(n)]


# every collective of tensors, with arguments of which no two agree
CALLS: dict[str, Call] = {
    "all_reduce": lambda x, y, r, n: dist.all_reduce(y),
    "all_reduce, another reduction": lambda x, y, r, n: dist.all_reduce(y, Op.MAX),
    "all_reduce, an average": lambda x, y, r, n: dist.all_reduce(y, Op.AVG),
    "all_reduce, other shape": lambda x, y, r, n: dist.all_reduce(y[1:]),
    "all_reduce, empty": lambda x, y, r, n: dist.all_reduce(y[:0]),
    "all_reduce, large": lambda x, y, r, n: dist.all_reduce(dt.zeros(100_000)),
    "all_reduce, other dtype": lambda x, y, r, n: dist.all_reduce(y.double()),
    "all_reduce, another of as many bytes": lambda x, y, r, n: dist.all_reduce(y.to(dt.int32)),
    "reduce": lambda x, y, r, n: dist.reduce(y, 0),
    "reduce to another": lambda x, y, r, n: dist.reduce(y, 1),
    "broadcast": lambda x, y, r, n: dist.broadcast(y, 0),
    "broadcast of another": lambda x, y, r, n: dist.broadcast(y, 1),
    "all_gather": lambda x, y, r, n: dist.all_gather(listed(x, n), x),
    "all_gather_into_tensor": lambda x, y, r, n: dist.all_gather_into_tensor(dt.zeros(n * len(x)), x),
    "reduce_scatter": lambda x, y, r, n: dist.reduce_scatter(y, [x] * n),
    "reduce_scatter_tensor": lambda x, y, r, n: dist.reduce_scatter_tensor(y, dt.ones(n * len(y))),
    "all_to_all": lambda x, y, r, n: dist.all_to_all(listed(x, n), [x] * n),
    "all_to_all_single": lambda x, y, r, n: dist.all_to_all_single(dt.zeros(4 * n), dt.ones(4 * n)),
    "all_to_all_single, other sizes": lambda x, y, r, n: dist.all_to_all_single(
        dt.zeros(4 * n), dt.ones(4 * n), [4] * n, [3, 5] + [4] * (n - 2)
    ),
    "scatter": lambda x, y, r, n: dist.scatter(y, [x] * n if r == 0 else None, 0),
    "gather": lambda x, y, r, n: dist.gather(x, listed(x, n) if r == 0 else None, 0),
    "barrier": lambda x, y, r, n: dist.barrier(),
    "begun": lambda x, y, r, n: dist.all_reduce(y[:3], async_op=True).wait(),
}


def check_every_pair_of_calls_that_differ_is_noticed_on_all_ranks(rank, size):
    for (one, first), (other, second) in combinations(CALLS.items(), 2):
        for odd in (0, size - 1)[size > 2 :]:
            x, y = dt.full((6,), float(rank)), dt.full((6,), 7.0)
            version = y._version
            with pytest.raises(dist.DistBackendError, match="called different collectives") as caught:
                (first if rank == odd else second)(x, y, rank, size)
            assert y.eq(7.0).all() and y._version == version, (one, other)
            assert f"rank {odd}: {one.partition(',')[0].split()[0]}".replace("begun", "all_reduce") in str(caught.value)
            assert "mismatches.py:" in str(caught.value)
    x = dt.tensor([float(rank)])
    dist.all_reduce(x)  # they are in step
    assert x.item() == sum(range(size))


def check_calls_that_agree_pass(rank, size):
    for call in [call for name, call in CALLS.items() if name != "all_to_all_single, other sizes"]:
        call(dt.ones(6), dt.ones(6), rank, size)
    dist.all_reduce(dt.ones(2, 3) if rank else dt.ones(6))  # of one count


def check_a_mismatch_among_calls_that_were_begun(rank, size):
    works = [dist.all_reduce(dt.full((2 + (k == 2 and rank == 1),), 1.0), async_op=True) for k in range(5)]
    for k, work in reversed(list(enumerate(works))):
        if k == 2:
            with pytest.raises(dist.DistBackendError, match="different collectives"):
                work.wait()
        else:
            assert work.wait() and work.result()[0].eq(size).all()


def check_groups_whose_calls_are_begun_in_another_order(rank, size):
    halves = [dist.new_group(list(range(size))) for _ in range(2)]
    order = halves if rank % 2 else halves[::-1]
    works = {id(group): (x := dt.ones(3), dist.all_reduce(x, group=group, async_op=True)) for group in order}
    for group in halves:
        x, work = works[id(group)]
        assert work.wait() and x.eq(size).all()
    for group in halves:
        dist.destroy_process_group(group)


def check_messages_that_do_not_fit_are_refused_by_who_receives_them(rank, size):
    sent = [dt.ones(4), dt.ones(2), dt.ones(3).double(), dt.ones(3).to(dt.int32), dt.ones(100_000), dt.ones(0)] * 10
    for each in sent:
        if rank == 0:
            dist.send(each, 1)
        elif rank == 1:
            into = dt.full((3,), 7.0)
            with pytest.raises(dist.DistBackendError, match=rf"rank 0 sent {each.numel()} elements of .* expects 3 of"):
                dist.recv(into, 0)
            assert into.eq(7.0).all() and into._version == 0
    if rank == 0:
        dist.send(dt.arange(3.0), 1)
    elif rank == 1:
        into = dt.zeros(3)
        assert dist.recv(into) == 0 and into.tolist() == [0.0, 1.0, 2.0]
    dist.barrier()


def check_large_messages_cross_and_overtake(rank, size):
    right, left, n = (rank + 1) % size, (rank - 1) % size, 200_000
    into = [dt.zeros(n) for _ in range(4)]
    # sends are waited for first, receives in another order than they were begun, one of them from anybody
    sends = [dist.isend(dt.full((n,), 10.0 * rank + k), right, tag=k % 2) for k in range(4)]
    receives = [dist.irecv(into[k], left if k else None, tag=k % 2) for k in range(4)]
    for work in (*sends, *reversed(receives)):
        assert work.wait()
    assert [x[0].item() for x in into] == [10.0 * left + k for k in range(4)]
    assert receives[0].source_rank() == left
    dist.barrier()


def check_an_op_that_is_refused_is_not_tried_again(rank, size):
    from dualtape.distributed.nn import functional

    with pytest.raises(dist.DistBackendError, match="different collectives"):
        # the one by an op, which has a fast path and a reference path, the others directly
        functional.all_reduce(dt.ones(2, requires_grad=True)) if rank == 0 else dist.all_reduce(dt.ones(3))
    x = dt.ones(1)
    dist.all_reduce(x)
    assert x.item() == size
