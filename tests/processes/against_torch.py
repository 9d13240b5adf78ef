"""The same programs by PyTorch's Gloo and here, in the same two processes."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from typing import Any

import numpy as np

import dualtape as dt
import dualtape.distributed as dist
from dualtape.distributed.nn import functional as F


def _reductions(T: Any, D: Any, r: int) -> list:
    out = []
    for op in ("SUM", "PRODUCT", "MIN", "MAX"):
        for dtype in ("float32", "float64", "int64", "uint8"):
            x = T.arange(6).reshape(2, 3).to(getattr(T, dtype)) + r
            D.all_reduce(x, getattr(D.ReduceOp, op))
            out.append(x)
    x = T.arange(6, dtype=T.float32).reshape(2, 3).t() * (r + 1)
    D.all_reduce(x, D.ReduceOp.AVG)
    return [*out, x]


def _gathers(T: Any, D: Any, r: int) -> list:
    x = T.arange(4.0) + 10 * r
    rows = [T.zeros(4) for _ in range(2)]
    D.all_gather(rows, x)
    at = [T.zeros(4) for _ in range(2)] if r == 1 else None
    D.gather(x, at, dst=1)
    mine = T.zeros(4)
    D.scatter(mine, [x, x + 1] if r == 0 else None, src=0)
    b = x.clone()
    D.broadcast(b, 1)
    part = T.zeros(2)
    D.reduce_scatter(part, list(x.chunk(2)))
    return [*rows, *(at or []), mine, b, part]


def _exchanges(T: Any, D: Any, r: int) -> list:
    x = T.arange(6.0).reshape(3, 2) + 10 * r
    sizes = [[1, 2], [2, 1]]
    out = T.zeros(sizes[0][r] + sizes[1][r], 2)
    D.all_to_all_single(out, x, [sizes[0][r], sizes[1][r]], sizes[r])
    y = T.zeros(3, 2)
    works = D.batch_isend_irecv([D.P2POp(D.isend, x, 1 - r), D.P2POp(D.irecv, y, 1 - r)])
    for work in works:
        work.wait()
    return [out, y]


def _gradients(T: Any, D: Any, F: Any, r: int) -> list:
    found = []
    for function in (
        lambda x: F.all_reduce(x * x),
        lambda x: T.cat(F.all_gather(x.sin())),
        lambda x: F.broadcast(x * 2, 0),
        lambda x: F.all_to_all_single(T.zeros(4), x * x),
        lambda x: F.reduce_scatter(T.zeros(2), [x[:2] * 1, x[2:] * 3]),
    ):
        x = (T.arange(4.0) + r + 1).requires_grad_()
        (function(x) * (r + 2)).sum().backward()
        found.append(x.grad)
    return found


def _filled(T: Any, net: Any) -> Any:
    """The same parameters in both libraries."""
    with T.no_grad():
        for k, p in enumerate(net.parameters()):
            p.copy_(T.linspace(-1, 1, p.numel(), dtype=T.float64).reshape(p.shape) * (0.3 + 0.1 * k))
    return net


def _trained(T: Any, D: Any, net: Any, x: Any) -> list:
    """Three steps: the losses, and after them what this process has of each parameter, of its gradient and state."""
    optimizer = T.optim.Adam(net.parameters(), lr=0.05)
    out = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(x).sin().square().mean()
        loss.backward()
        optimizer.step()
        out.append(loss.detach())
    local = lambda t: t.to_local() if hasattr(t, "to_local") else t
    for p in net.parameters():
        out += [local(t.detach()) for t in (p, p.grad, optimizer.state[p]["exp_avg"])]
        out.append(
            T.tensor(
                [len(getattr(p, "placements", ())), *[getattr(q, "dim", -1) for q in getattr(p, "placements", ())]]
            )
        )
    return out


def _net(T: Any) -> Any:
    return _filled(T, T.nn.Sequential(T.nn.Linear(6, 10), T.nn.Tanh(), T.nn.Linear(10, 5)).double())


def _batch(T: Any, rows: int) -> Any:
    return T.arange(rows * 6, dtype=T.float64).reshape(rows, 6).cos()


def _planned(T: Any, D: Any, r: int) -> list:
    parallel = importlib.import_module(f"{D.__name__}.tensor.parallel")
    mesh = D.device_mesh.init_device_mesh("cpu", (2,))
    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    return _trained(T, D, parallel.parallelize_module(_net(T), mesh, plan), _batch(T, 4))


def _fully_sharded(T: Any, D: Any, r: int) -> list:
    fully_shard = importlib.import_module(f"{D.__name__}.fsdp").fully_shard
    net = _net(T)
    fully_shard(net[0], mesh=D.device_mesh.init_device_mesh("cpu", (2,)))
    fully_shard(net, mesh=D.device_mesh.init_device_mesh("cpu", (2,)))
    return _trained(T, D, net, _batch(T, 4)[2 * r : 2 * r + 2])


def _piped(T: Any, D: Any, r: int) -> list:
    pipelining = importlib.import_module(f"{D.__name__}.pipelining")
    out = []
    for schedule in (pipelining.ScheduleGPipe, pipelining.Schedule1F1B):
        net = _net(T)
        part = net[:2] if r == 0 else net[2:]
        stage = pipelining.PipelineStage(part, r, 2, T.device("cpu"))
        losses: list = []
        run = schedule(stage, 2, T.nn.functional.mse_loss)
        result = run.step(_batch(T, 6)) if r == 0 else run.step(target=T.ones(6, 5, dtype=T.float64), losses=losses)
        out += [p.grad for p in part.parameters()] + [loss.detach() for loss in losses]
        out += [] if result is None else [result.detach()]
    return out


def check_the_same_programs_give_the_same(rank, size):
    if size != 2 or importlib.util.find_spec("torch") is None:
        return
    import torch
    import torch.distributed as theirs
    import torch.distributed.nn.functional as their_F

    where = [tempfile.mktemp()]
    dist.broadcast_object_list(where, 0)
    torch.set_num_threads(1)
    theirs.init_process_group("gloo", init_method=f"file://{where[0]}", rank=rank, world_size=2)
    try:
        for program in (_reductions, _gathers, _exchanges, _planned, _fully_sharded, _piped):
            for k, (a, b) in enumerate(zip(program(dt, dist, rank), program(torch, theirs, rank), strict=True)):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, err_msg=f"{program.__name__} {k}")
                assert str(a.numpy().dtype) == str(b.numpy().dtype)
        pairs = zip(_gradients(dt, dist, F, rank), _gradients(torch, theirs, their_F, rank), strict=True)
        for k, (a, b) in enumerate(pairs):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, err_msg=f"gradient {k}")
    finally:
        theirs.destroy_process_group()
        if rank == 0 and os.path.exists(where[0]):
            os.remove(where[0])
