"""DistributedDataParallel: the same parameters as one process that sees the whole batch."""

from __future__ import annotations

import copy

import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape import nn
from dualtape.distributed.algorithms.ddp_comm_hooks import default_hooks
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


def check_hooks_take_the_place_of_averages(rank, size):
    x, y = batch(size)
    seen = []

    def thrice(state, bucket):
        seen.append((state, bucket.index(), bucket.is_last(), [tuple(p.shape) for p in bucket.parameters()]))
        assert sum(g.numel() for g in bucket.gradients()) == bucket.buffer().numel()
        return default_hooks.allreduce_hook(None, bucket).then(lambda future: future.value() * 3)

    for hook, factor, near in [
        (default_hooks.allreduce_hook, 1, 1e-12),
        (default_hooks.fp16_compress_hook, 1, 2e-2),
        (default_hooks.bf16_compress_hook, 1, 5e-2),
        (thrice, 3, 1e-12),
        (default_hooks.fp16_compress_wrapper(thrice), 3, 2e-2),
        (default_hooks.bf16_compress_wrapper(thrice), 3, 5e-2),
    ]:
        single, net = model(), Parallel(model(), bucket_cap_mb=0.001)
        net.register_comm_hook(None, hook)
        for _ in range(2):
            single.zero_grad(), net.zero_grad()
            nn.functional.mse_loss(single(x), y).backward()
            nn.functional.mse_loss(net(part(x, rank)), part(y, rank)).backward()
            for p, q in zip(single.parameters(), net.parameters(), strict=True):
                assert (q.grad - factor * p.grad).abs().max() <= near * (factor * p.grad).abs().max()
    assert seen[0][1:3] == (0, False) and seen[len(net.reducer.buckets) - 1][2]
    with pytest.raises(RuntimeError, match="only be called once"):
        net.register_comm_hook(None, thrice)
    with pytest.raises(TypeError, match="callable"):
        Parallel(model()).register_comm_hook(None, 3)
    net = Parallel(model())
    net.register_comm_hook(None, lambda state, bucket: bucket.buffer())
    with pytest.raises(RuntimeError, match="must return a Future"):
        net(x).sum().backward()


def check_ranks_may_have_other_numbers_of_batches(rank, size):
    x, y = batch(size)
    counts = [2 + (k * 2) % 3 for k in range(size)]  # 2, 4, 3, 2: the first is done early
    for divides in (True, False):
        many = Parallel(nn.Sequential(model(seed=rank), nn.BatchNorm1d(2).double()), find_unused_parameters=True)
        many.eval()
        single = copy.deepcopy(many.module)
        first, second = (dt.optim.SGD(m.parameters(), lr=0.1) for m in (single, many))
        with many.join(divide_by_initial_world_size=divides):
            for step in range(counts[rank]):
                second.zero_grad()
                nn.functional.mse_loss(many(part(x, rank) + step), part(y, rank)).backward()
                second.step()
        for step in range(max(counts)):
            first.zero_grad()
            there = [k for k in range(size) if step < counts[k]]
            losses = [nn.functional.mse_loss(single(part(x, k) + step), part(y, k)) for k in there]
            (sum(losses) / (size if divides else len(there))).backward()
            first.step()
        for p, q in zip(single.parameters(), many.parameters(), strict=True):
            dt.testing.assert_close(q, p)
    many = Parallel(model())
    with pytest.raises(RuntimeError, match="exhausted"), many.join(throw_on_early_termination=True):
        for _ in range(1 + (rank > 0)):
            many(part(x, rank)).sum().backward()
    many = Parallel(model())
    with many.join(enable=False):
        many(part(x, rank)).sum().backward()
