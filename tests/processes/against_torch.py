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
        for program in (_reductions, _gathers, _exchanges):
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
