"""Collectives with derivatives, against the same map of all ranks' values in one process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape.distributed.nn import functional as F

Op = dist.ReduceOp


def _reduced(kind: str) -> Callable:
    return lambda xs: {"mean": xs.mean(0), "sum": xs.sum(0), "max": xs.amax(0), "prod": xs.prod(0)}[kind]


def _everywhere(function: Callable) -> Callable:
    return lambda xs: [function(xs)] * len(xs)


def _only(root: int, function: Callable) -> Callable:
    return lambda xs: [function(xs) * (r == root) for r in range(len(xs))]


def _swapped(xs: dt.Tensor) -> list:
    return [dt.cat([x.chunk(len(xs))[r] for x in xs]) for r in range(len(xs))]


# a collective on one rank's tensor; the same on the stack of all ranks' tensors, giving a list of all ranks' results
MAPS = {
    "all_reduce": (F.all_reduce, _everywhere(_reduced("sum"))),
    "all_reduce, mean": (lambda x: F.all_reduce(x, Op.AVG), _everywhere(_reduced("mean"))),
    "all_reduce, max": (lambda x: F.all_reduce(x, Op.MAX), _everywhere(_reduced("max"))),
    "all_reduce, product": (lambda x: F.all_reduce(x, Op.PRODUCT), _everywhere(_reduced("prod"))),
    "all_gather": (lambda x: dt.cat(F.all_gather(x)), _everywhere(lambda xs: dt.cat(list(xs)))),
    "broadcast": (lambda x: F.broadcast(x, 1), _everywhere(lambda xs: xs[1])),
    "reduce": (lambda x: F.reduce(x, 1), _only(1, _reduced("sum"))),
    "gather": (lambda x: dt.cat(F.gather(x, 1)), _only(1, lambda xs: dt.cat(list(xs)))),
    "scatter": (lambda x: F.scatter(x.chunk(size()), 1), lambda xs: list(xs[1].chunk(len(xs)))),
    "reduce_scatter": (
        lambda x: F.reduce_scatter(dt.zeros(8 // size(), 3, dtype=dt.float64), x.chunk(size())),
        lambda xs: list(xs.sum(0).chunk(len(xs))),
    ),
    "all_to_all": (
        lambda x: dt.cat(
            F.all_to_all([dt.zeros(8 // size(), 3, dtype=dt.float64) for _ in range(size())], x.chunk(size()))
        ),
        _swapped,
    ),
    "all_to_all_single": (lambda x: F.all_to_all_single(dt.zeros(8, 3, dtype=dt.float64), x), _swapped),
}
BATCHED = [name for name in MAPS if name not in ("reduce_scatter", "all_to_all", "all_to_all_single")]


def size() -> int:
    return dist.get_world_size()


def values(count: int, *shape: int) -> dt.Tensor:
    return dt.rand(count, *shape, dtype=dt.float64, generator=dt.Generator().manual_seed(3)) + 0.5


def check_first_and_second_derivatives(rank, size):
    xs, vs = values(size, 8, 3), values(size, 8, 3) - 1
    for name, (collective, whole) in MAPS.items():
        stack = xs.clone().requires_grad_()
        outs = whole(stack)
        loss = sum((out**3).sum() * (r + 1) for r, out in enumerate(outs))
        (want,) = dt.autograd.grad(loss, stack, create_graph=True)
        (want2,) = dt.autograd.grad((want * vs).sum(), stack)
        x = xs[rank].clone().requires_grad_()
        out = collective(x)
        dt.testing.assert_close(out, outs[rank], msg=name)
        (g,) = dt.autograd.grad((out**3).sum() * (rank + 1), x, create_graph=True)
        dt.testing.assert_close(g, want[rank], msg=name)
        (g2,) = dt.autograd.grad((g * vs[rank]).sum(), x)
        dt.testing.assert_close(g2, want2[rank], msg=f"second derivative of {name}")


def check_forward_mode(rank, size):
    xs, ts = values(size, 8, 3), values(size, 8, 3) - 1
    for name, (collective, whole) in MAPS.items():
        want = dt.func.jvp(lambda x, whole=whole: tuple(whole(x)), (xs,), (ts,))[1][rank]
        dt.testing.assert_close(dt.func.jvp(collective, (xs[rank],), (ts[rank],))[1], want, msg=name)


def check_vmap(rank, size):
    xs = values(size, 5, 8, 3)
    for name in BATCHED:
        collective = MAPS[name][0]
        want = dt.stack([collective(x) for x in xs[rank]])
        dt.testing.assert_close(dt.vmap(collective)(xs[rank]), want, msg=name)
        grads = dt.vmap(dt.func.grad(lambda x, f=collective: (f(x) ** 2).sum()))(xs[rank])
        loop = dt.stack([dt.func.grad(lambda x, f=collective: (f(x) ** 2).sum())(x) for x in xs[rank]])
        dt.testing.assert_close(grads, loop, msg=f"gradients of {name}")


def check_messages_carry_gradients_back(rank, size):
    x = dt.full((3,), rank + 1.0, dtype=dt.float64, requires_grad=True)
    if rank == 0:
        (x**2 * 0 + F.send(x**2, 1)).sum().backward()
        assert x.grad.tolist() == [2 * 12.0] * 3  # of y**3 = x**6, times what the ones are
    elif rank == 1:
        y = F.recv(dt.zeros(3, dtype=dt.float64, requires_grad=True), 0)
        (y**3).sum().mul(4).backward()
    dist.barrier()


def check_what_has_no_derivative_says_so(rank, size):
    with pytest.raises(ValueError, match="has no derivative"):
        F.all_reduce(dt.ones(2, dtype=dt.int64), Op.BAND)
