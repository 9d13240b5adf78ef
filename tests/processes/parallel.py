"""DistributedDataParallel: the same parameters as one process that sees the whole batch."""

from __future__ import annotations

import copy

import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape import nn
from dualtape.nn.parallel import DistributedDataParallel as Parallel


def model(seed: int = 0) -> nn.Module:
    dt.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 2)).double()


def batch(size: int) -> tuple[dt.Tensor, dt.Tensor]:
    draw = dt.Generator().manual_seed(1)
    return dt.rand(4 * size, 6, generator=draw).double(), dt.rand(4 * size, 2, generator=draw).double()


def part(x: dt.Tensor, rank: int) -> dt.Tensor:
    return x[4 * rank : 4 * rank + 4]


def check_training_is_that_of_one_process(rank, size):
    x, y = batch(size)
    for options in ({}, {"bucket_cap_mb": 0.001}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}):
        single, net = model(), Parallel(model(seed=rank), **options)  # rank 0's are sent to all
        first, second = (dt.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (single, net))
        for _ in range(3):
            first.zero_grad(), second.zero_grad()
            nn.functional.mse_loss(single(x), y).backward()
            nn.functional.mse_loss(net(part(x, rank)), part(y, rank)).backward()
            for p, q in zip(single.parameters(), net.parameters(), strict=True):
                dt.testing.assert_close(q.grad, p.grad, msg=str(options))
            first.step(), second.step()
        for p, q in zip(single.parameters(), net.parameters(), strict=True):
            dt.testing.assert_close(q, p)


def check_no_sync_adds_up_until_it_ends(rank, size):
    x, y = batch(size)
    single, net = model(), Parallel(model())
    nn.functional.mse_loss(single(x), y).backward()
    with net.no_sync():
        (nn.functional.mse_loss(net(part(x, rank)[:2]), part(y, rank)[:2]) / 2).backward()
    (nn.functional.mse_loss(net(part(x, rank)[2:]), part(y, rank)[2:]) / 2).backward()
    for p, q in zip(single.parameters(), net.parameters(), strict=True):
        dt.testing.assert_close(q.grad, p.grad)


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.never = (nn.Linear(3, 1).double() for _ in range(3))

    def forward(self, x: dt.Tensor, first: bool) -> dt.Tensor:
        return (self.a if first else self.b)(x)


def check_unused_parameters(rank, size):
    x = dt.ones(2, 3, dtype=dt.float64)
    net = Parallel(Branches(), find_unused_parameters=True)
    net(x, rank == 0).mean().backward()
    assert dt.allclose(net.module.a.weight.grad, dt.full((1, 3), 1 / size, dtype=dt.float64))
    assert dt.allclose(net.module.b.weight.grad, dt.full((1, 3), 1 - 1 / size, dtype=dt.float64))
    assert net.module.never.weight.grad is None
    net = Parallel(Branches())
    net(x, True).mean().backward()
    with pytest.raises(RuntimeError, match="Expected to have finished reduction.*b.weight"):
        net(x, True)


def check_buffers_are_those_of_rank_0(rank, size):
    net = Parallel(nn.BatchNorm1d(2))
    net(dt.rand(5, 2) + rank)
    mine = copy.deepcopy(net.module.running_mean)
    net.eval()
    net(dt.rand(5, 2))
    others = [dt.zeros(2) for _ in range(size)]
    dist.all_gather(others, net.module.running_mean)
    assert all(dt.equal(o, others[0]) for o in others) and (rank or dt.equal(mine, others[0]))


def check_models_that_differ_are_refused(rank, size):
    with pytest.raises(RuntimeError, match="same model on every rank"):
        Parallel(nn.Linear(2 + rank, 1))
