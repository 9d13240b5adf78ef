"""``SyncBatchNorm`` on several processes against a batch norm of one process with the whole batch."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape import nn

LAYERS = {
    "plain": {},
    "no affine": {"affine": False},
    "no bias": {"bias": False},
    "mean of all": {"momentum": None},
    "large momentum": {"momentum": 0.7},
    "large eps": {"eps": 0.5},
    "no statistics": {"track_running_stats": False},
}
KINDS = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}


def sizes_of(case: str, size: int) -> list[int]:
    """How many samples each process has."""
    return {
        "alike": [3] * size,
        "different": [1 + 2 * r for r in range(size)],
        "one empty": [0] + [2] * (size - 1),
        "one each": [1] * size,
        "all but one empty": [0] * (size - 1) + [4],
    }[case]


def data(shape: tuple, seed: int, dtype: str = "float64") -> dt.Tensor:
    return dt.tensor(np.random.default_rng(seed).standard_normal(shape) * 2 + 1).to(getattr(dt, dtype))


def pair(kind: type, options: dict, dtype: str = "float64") -> tuple[nn.Module, nn.Module]:
    """A batch norm, and what is made of another one that is like it."""
    made = []
    for _ in range(2):
        layer = kind(3, dtype=getattr(dt, dtype), **options)
        for k, p in enumerate(layer.parameters()):
            p.data.copy_(data((3,), 90 + k, dtype))
        made.append(layer)
    return made[0], nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(made[1]))[0]


def compare(whole: nn.Module, part: nn.Module, shape: tuple, counts: list, rank: int, group, mine: slice, tol: float):
    dtype = str(part.eps.__class__.__name__) and ("float64" if tol < 1e-8 else "float32")
    for step in range(2):
        x, g = data((sum(counts), *shape), 10 + step, dtype), data((sum(counts), *shape), 20 + step, dtype)
        x_whole, x_part = x.clone().requires_grad_(), x[mine].clone().requires_grad_()
        for p in (*whole.parameters(), *part.parameters()):
            p.grad = None
        want, got = whole(x_whole), part(x_part)
        (want * g).sum().backward()
        (got * g[mine]).sum().backward()
        np.testing.assert_allclose(got.detach().numpy(), want.detach()[mine].numpy(), tol, tol)
        np.testing.assert_allclose(x_part.grad.numpy(), x_whole.grad[mine].numpy(), 10 * tol, 10 * tol)
        for p, q in zip(whole.parameters(), part.parameters(), strict=True):
            total = q.grad.clone()
            dist.all_reduce(total, group=group)  # as DistributedDataParallel does
            np.testing.assert_allclose(total.numpy(), p.grad.numpy(), 10 * tol, 10 * tol)
        for (name, a), b in zip(whole.named_buffers(), part.buffers(), strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), tol, tol, err_msg=name)
    whole.eval(), part.eval()
    x = data((2, *shape), 5, dtype)
    if part.track_running_stats:  # no process need be there
        np.testing.assert_allclose(part(x).detach().numpy(), whole(x).detach().numpy(), tol, tol)


def check_it_is_the_batch_norm_of_the_whole_batch(rank, size):
    for case in ("alike", "different", "one empty", "one each", "all but one empty"):
        counts = sizes_of(case, size)
        mine = slice(sum(counts[:rank]), sum(counts[: rank + 1]))
        for name, options in LAYERS.items():
            for ndim, kind in KINDS.items():
                if name != "plain" and (ndim != 4 or case in ("alike", "one each")):
                    continue
                whole, part = pair(kind, options)
                compare(whole, part, (3, *[2] * (ndim - 2)), counts, rank, None, mine, 1e-10)
    counts = sizes_of("different", size)
    whole, part = pair(nn.BatchNorm2d, {}, "float32")
    compare(whole, part, (3, 2, 2), counts, rank, None, slice(sum(counts[:rank]), sum(counts[: rank + 1])), 1e-4)


def check_a_group_of_its_own(rank, size):
    half = size // 2
    mine, _ = dist.new_subgroups(half)
    counts = [2 + r for r in range(half)]
    place = rank % half
    whole, _ = pair(nn.BatchNorm1d, {})
    part = nn.SyncBatchNorm.convert_sync_batchnorm(pair(nn.BatchNorm1d, {})[0], process_group=mine)
    assert part.process_group is mine
    compare(whole, part, (3,), counts, rank, mine, slice(sum(counts[:place]), sum(counts[: place + 1])), 1e-10)
    dist.barrier()


def check_gradients_of_second_order_and_half_precision(rank, size):
    whole, part = pair(nn.BatchNorm1d, {})
    x = data((2 * size, 3), 1)
    mine = slice(2 * rank, 2 * rank + 2)
    a, b = x.clone().requires_grad_(), x[mine].clone().requires_grad_()
    found = []
    for layer, value in ((whole, a), (part, b)):
        (g,) = dt.autograd.grad((layer(value) ** 3).sum(), value, create_graph=True)
        found.append(dt.autograd.grad((g * g).sum(), value)[0])
    np.testing.assert_allclose(found[1].numpy(), found[0][mine].numpy(), 1e-8, 1e-8)
    for name in ("bfloat16", "float16"):
        part = nn.SyncBatchNorm(3)
        out = part(data((4, 3), rank, name))
        assert out.dtype == getattr(dt, name) and part.running_mean.dtype == dt.float32


def check_what_is_refused(rank, size):
    layer = nn.SyncBatchNorm(3)
    with pytest.raises(ValueError, match="at least 2D input"):
        layer(dt.ones(3))
    with pytest.raises(ValueError, match="3 channels"):
        layer(dt.ones(2, 4))
    with pytest.raises(ValueError, match="more than 1 value per channel.*got 1 on all"):
        layer(dt.ones(1 if rank == 0 else 0, 3))
    assert not layer.running_mean.any()
    with dt.no_grad():
        layer.eval()(dt.ones(1, 3)) if rank == 0 else None  # alone
    dist.barrier()


def check_it_is_trained_beside_distributed_data_parallel(rank, size):
    dt.manual_seed(0)
    make = lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1)).double()
    single = make()
    many = make()
    many.load_state_dict(single.state_dict())
    many = dt.nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(many))
    steps = [dt.optim.SGD(net.parameters(), lr=0.1) for net in (single, many)]
    for k in range(3):
        x = data((4 * size, 4), k)
        for net, optimizer, batch in ((single, steps[0], x), (many, steps[1], x[4 * rank : 4 * rank + 4])):
            optimizer.zero_grad()
            net(batch).square().mean().backward()
            optimizer.step()
    for (name, a), b in zip(single.state_dict().items(), many.module.state_dict().values(), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-9, 1e-9, err_msg=name)
