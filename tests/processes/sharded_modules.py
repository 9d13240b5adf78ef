"""fully_shard: training as one process trains, with a part of the memory."""

from __future__ import annotations

import gc
import tempfile
import tracemalloc

import numpy as np
import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape import nn
from dualtape.distributed import checkpoint
from dualtape.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from dualtape.distributed.tensor import DTensor, Replicate, Shard
from dualtape.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from dualtape.nn import functional as F
from tests.processes.placements import whole


class Net(nn.Module):
    """Blocks, a parameter of the model's own, one that is used twice, and lengths that no number divides."""

    def __init__(self) -> None:
        super().__init__()
        dt.manual_seed(6)
        self.scale = nn.Parameter(dt.ones(7))
        self.shift = nn.Parameter(dt.ones(1))  # of which most processes have nothing
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(7, 11), nn.Tanh(), nn.Linear(11, 7)) for _ in range(3)])
        self.last = nn.Linear(7, 7)

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        for block in self.blocks:
            x = block(x) * self.scale + x * self.shift
        return self.last(self.last(x))

    def other(self, x: dt.Tensor) -> dt.Tensor:
        return self.last(x) * self.scale


def net(**options) -> Net:
    found = Net().double()
    for block in found.blocks:
        fully_shard(block, **options)
    fully_shard(found.last, **options)
    return fully_shard(found, **options)


def batch(size: int) -> tuple[dt.Tensor, dt.Tensor]:
    draw = dt.Generator().manual_seed(1)
    return tuple(dt.rand(2 * size, 7, dtype=dt.float64, generator=draw) for _ in range(2))


def part(x: dt.Tensor, rank: int) -> dt.Tensor:
    return x[2 * rank : 2 * rank + 2]


def same(many: nn.Module, one: nn.Module, rtol: float = 1e-9, what=lambda p: p) -> None:
    for (name, p), q in zip(one.named_parameters(), many.parameters(), strict=True):
        np.testing.assert_allclose(whole(what(q)), what(p).detach().numpy(), rtol=rtol, atol=1e-12, err_msg=name)


def check_training_is_that_of_one_process(rank, size):
    x, y = batch(size)
    meshes = [None, dist.init_device_mesh("cpu", (2, size // 2))] if size % 2 == 0 else [None]
    for options in [
        *({"mesh": mesh, "reshard_after_forward": again} for mesh in meshes for again in (None, True, False)),
        {"shard_placement_fn": lambda p: Shard(p.ndim - 1)},
    ]:
        one, many = Net().double(), net(**options)
        first, second = (dt.optim.Adam(m.parameters(), lr=0.01) for m in (one, many))
        for _ in range(4):
            first.zero_grad(), second.zero_grad()
            F.mse_loss(one(x), y).backward()
            F.mse_loss(many(part(x, rank)), part(y, rank)).backward()
            same(many, one, what=lambda p: p.grad)
            assert all(isinstance(p, DTensor) and isinstance(p.grad, DTensor) for p in many.parameters())
            first.step(), second.step()
        same(many, one)


def check_every_optimizer_steps_on_parts(rank, size):
    x, y = batch(size)
    for name in (
        "SGD",
        "Adam",
        "AdamW",
        "RMSprop",
        "Adagrad",
        "Adadelta",
        "NAdam",
        "RAdam",
        "Adamax",
        "ASGD",
        "Rprop",
        "Adafactor",
        "LBFGS",
    ):
        one, many = Net().double(), net()
        optimizers = [getattr(dt.optim, name)(m.parameters(), lr=0.01) for m in (one, many)]
        for _ in range(2):
            for model, optimizer in zip((one, many), optimizers, strict=True):

                def closure(model: nn.Module = model, optimizer: dt.optim.Optimizer = optimizer) -> dt.Tensor:
                    optimizer.zero_grad()
                    loss = F.mse_loss(model(x), y)
                    loss.backward()
                    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                    return loss

                optimizer.step(closure)
        same(many, one, 1e-7)


def check_the_memory_is_a_part(rank, size):
    dt.manual_seed(0)
    width = 240
    model = nn.Sequential(*[nn.Linear(width, width, bias=False) for _ in range(4)]).double()
    total = 4 * width * width * 8
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = dt.optim.Adam(model.parameters())
    x = dt.ones(2, width, dtype=dt.float64)
    model(x).sum().backward()
    optimizer.step()
    kept = 0
    for p in model.parameters():
        state = [v for v in optimizer.state[p].values() if isinstance(v, DTensor)]
        assert len(state) == 2  # both averages are in parts
        kept += sum(t._array.local.nbytes for t in (p, p.grad, *state))
    assert kept == 4 * total / size
    optimizer.zero_grad()
    gc.collect()
    tracemalloc.start()
    try:
        loss = model(x).sum()
        held, most = tracemalloc.get_traced_memory()
        assert held < total / 8 and most < total / 1.5, (held, most, total)  # never more than two layers at a time
        tracemalloc.reset_peak()
        loss.backward()
        held, most = tracemalloc.get_traced_memory()
        assert held < total / size + total / 8 and most < total / size + total, (held, most, total)
    finally:
        tracemalloc.stop()


def check_gradients_add_up_until_they_are_reduced(rank, size):
    x, y = batch(size)
    one, many = Net().double(), net()
    F.mse_loss(one(x), y).backward()
    many.set_requires_gradient_sync(False)
    (F.mse_loss(many(part(x, rank)[:1]), part(y, rank)[:1]) / 2).backward()
    assert all(p.grad is None for p in many.parameters())
    many.set_requires_gradient_sync(True)
    (F.mse_loss(many(part(x, rank)[1:]), part(y, rank)[1:]) / 2).backward()
    same(many, one, what=lambda p: p.grad)
    F.mse_loss(many(part(x, rank)), part(y, rank)).backward()  # and onto what is there
    F.mse_loss(one(x), y).backward()
    same(many, one, what=lambda p: p.grad)


def check_what_the_module_has(rank, size):
    x, _ = batch(size)
    seen = []
    many = net()
    many.blocks[0].register_forward_pre_hook(lambda m, args: seen.append(type(m[0].weight._array)))
    assert (
        isinstance(many, FSDPModule) and type(many).__name__ == "FSDPNet" and type(many.last).__name__ == "FSDPLinear"
    )
    y = many(x)
    assert seen == [np.ndarray] and isinstance(many.blocks[0][0].weight, DTensor)
    assert not isinstance(many.scale, DTensor)  # the outermost stays whole until its backward
    assert all(isinstance(v, DTensor) for v in many.state_dict().values()) and isinstance(many.scale, DTensor)
    y.sum().backward()
    many.unshard()
    assert not isinstance(many.scale, DTensor) and dt.equal(many.scale, dt.ones(7).double())
    many.reshard()
    handle = many.last.unshard(async_op=True)
    handle.wait()
    assert not isinstance(many.last.weight, DTensor)
    many.last.reshard()
    register_fsdp_forward_method(many, "other")
    one = Net().double()
    dt.testing.assert_close(many.other(x), one.other(x))
    many.float()
    assert many(x.float()).dtype is dt.float32 and many.scale.dtype is dt.float32
    many.blocks[0].set_modules_to_forward_prefetch([many.blocks[1]])
    many.blocks[1].set_modules_to_backward_prefetch([many.blocks[0]])
    many.zero_grad()
    many(x.float()).sum().backward()
    one(x).sum().backward()
    same(many, one, 1e-4, what=lambda p: p.grad.double())


def check_mixed_precision(rank, size):
    x, y = batch(size)
    for dtype, reduced in (
        (dt.bfloat16, dt.float32),
        (dt.float16, None),
        (dt.bfloat16, None),
        (dt.float32, dt.float64),
    ):
        policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=reduced, output_dtype=dt.float64)
        one, many = Net().double(), net(mp_policy=policy)
        seen = []
        many.last.register_forward_pre_hook(lambda m, args, seen=seen: seen.append((m.weight.dtype, args[0].dtype)))
        F.mse_loss(many(part(x, rank)), part(y, rank)).backward()
        F.mse_loss(one(x), y).backward()
        assert seen[0] == (dtype, dtype) and all(p.grad.dtype is p.dtype is dt.float64 for p in many.parameters())
        for p, q in zip(one.parameters(), many.parameters(), strict=True):
            assert np.abs(whole(q.grad) - p.grad.numpy()).max() < 0.05 * max(1, np.abs(p.grad.numpy()).max())


def check_a_step_between_forward_and_backward_is_refused(rank, size):
    x, _ = batch(size)
    many = net()
    loss = many(x).sum()
    with dt.no_grad():
        for p in many.blocks.parameters():
            p.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*version 0 when"):
        loss.backward()


def check_a_whole_parameter_is_never_older_than_its_part(rank, size):
    x, _ = batch(size)
    one, many = Net().double(), net()
    with dt.no_grad():
        many(x)  # the outermost stays whole
    optimizer = dt.optim.SGD([s.part for s in many._fsdp.group.slots], lr=1.0)
    for slot in many._fsdp.group.slots:
        slot.part.grad = dt.ones_like(slot.part)
    optimizer.step()
    with dt.no_grad():
        one.scale -= 1
        one.shift -= 1
    dt.testing.assert_close(many(x), one(x))


def check_checkpoints_load_on_other_processes(rank, size):
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    place = f"{folder[0]}/step"
    x, y = batch(size)
    many = net()
    optimizer = dt.optim.Adam(many.parameters(), lr=0.01)
    F.mse_loss(many(part(x, rank)), part(y, rank)).backward()
    optimizer.step()
    states = lambda o: {str(k): dict(v) for k, v in o.state_dict()["state"].items()}
    checkpoint.save({"model": many.state_dict(), "optimizer": states(optimizer)}, checkpoint_id=place)
    first = dist.DeviceMesh("cpu", [0])
    if rank == 0:  # in one process
        other = net(mesh=first)
        again = dt.optim.Adam(other.parameters(), lr=0.01)
        other(x).sum().backward(), again.step()
        state = {"model": other.state_dict(), "optimizer": states(again)}
        checkpoint.load(state, checkpoint_id=place, no_dist=True)
        want = Net().double()
        third = dt.optim.Adam(want.parameters(), lr=0.01)
        F.mse_loss(want(x), y).backward()
        third.step()
        same(other, want)
        for mine, theirs in zip(state["optimizer"].values(), states(third).values(), strict=True):
            np.testing.assert_allclose(whole(mine["exp_avg_sq"]), theirs["exp_avg_sq"].numpy(), rtol=1e-9)


def check_parts_of_parts(rank, size):
    grid = dist.init_device_mesh("cpu", (size // 2, 2) if size % 2 == 0 else (size, 1), mesh_dim_names=("dp", "tp"))
    x, y = batch(grid.size(0))
    group = grid.get_local_rank("dp")

    def model() -> nn.Module:
        dt.manual_seed(2)
        return nn.Sequential(nn.Linear(7, 12), nn.Tanh(), nn.Linear(12, 7)).double()

    one = model()
    many = parallelize_module(model(), grid["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    for layer in (many[0], many[2]):
        fully_shard(layer, mesh=grid["dp"])
    fully_shard(many, mesh=grid["dp"])
    assert many[0].weight.placements == (Shard(0), Shard(0)) and many[2].bias.placements == (Replicate(), Shard(0))
    first, second = (dt.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (one, many))
    for _ in range(3):
        first.zero_grad(), second.zero_grad()
        F.mse_loss(one(x), y).backward()
        F.mse_loss(many(part(x, group)), part(y, group)).backward()
        same(many, one, what=lambda p: p.grad)
        first.step(), second.step()
    same(many, one)


def check_activations_may_be_recomputed(rank, size):
    from dualtape.utils.checkpoint import checkpoint as recomputed

    x, y = batch(size)
    one, many = Net().double(), net()

    def run(model: Net, x: dt.Tensor) -> dt.Tensor:
        for block in model.blocks:
            x = recomputed(block, x, use_reentrant=False)
        return model.last(x)

    F.mse_loss(run(one, x), y).backward()
    F.mse_loss(run(many, part(x, rank)), part(y, rank)).backward()
    for p, q in zip(one.blocks.parameters(), many.blocks.parameters(), strict=True):
        np.testing.assert_allclose(whole(q.grad), p.grad.numpy(), rtol=1e-9)


def check_wrong_arguments(rank, size):
    lone = nn.Module()
    lone.p = nn.Parameter(dt.ones(()))
    for kind, words, call in [
        (AssertionError, "already been applied", lambda: fully_shard(fully_shard(nn.Linear(2, 2)))),
        (ValueError, "do not implement forward", lambda: fully_shard(nn.ModuleList([nn.Linear(2, 2)]))),
        (ValueError, "p has no dimension", lambda: fully_shard(lone)),
        (
            ValueError,
            r"Shard\(dim\) or None",
            lambda: fully_shard(nn.Linear(2, 2), shard_placement_fn=lambda p: Replicate()),
        ),
        (ValueError, "factor of", lambda: fully_shard(nn.Linear(2, 2), reshard_after_forward=size + 1)),
        (
            NotImplementedError,
            "offload_policy",
            lambda: fully_shard(nn.Linear(2, 2), offload_policy=CPUOffloadPolicy()),
        ),
        (NotImplementedError, "dp_mesh_dims", lambda: fully_shard(nn.Linear(2, 2), dp_mesh_dims=1)),
    ]:
        with pytest.raises(kind, match=words):
            call()
    layer = fully_shard(nn.Linear(2, 2))
    layer.weight = nn.Parameter(dt.ones(2, 2))
    with pytest.raises(RuntimeError, match="weight was replaced"):
        layer(dt.ones(1, 2))
    mesh = dist.DeviceMesh("cpu", list(range(size)))
    layer = parallelize_module(nn.Linear(4, 4), mesh, ColwiseParallel())
    kept = layer.weight
    with pytest.raises(ValueError, match="must be on a part of the mesh"):
        fully_shard(layer, mesh=mesh)
    assert layer.weight is kept and not isinstance(layer, FSDPModule)
