"""Derivatives that are divided over a mesh: those of one process."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape.autograd import gradcheck
from dualtape.autograd.gradcheck import GradcheckError
from dualtape.func import hessian, jacfwd, jacrev, vmap
from tests.processes.placements import mesh


def values(*shape: int) -> dt.Tensor:
    return dt.rand(*shape, dtype=dt.float64, generator=dt.Generator().manual_seed(2))


def same(a, b) -> None:
    a, b = dt.utils._pytree.tree_leaves(a), dt.utils._pytree.tree_leaves(b)
    for x, y in zip(a, b, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-12)


FUNCTIONS = {
    "a matrix": lambda x: (x.sin() @ x.t()).exp(),
    "one number": lambda x: (x**3).sum(),
    "a tree": lambda x: {"a": x[0] * x, "b": (x.sum(), x.mean(0))},
    "nothing of it": lambda x: dt.ones(2, dtype=dt.float64) + 0 * x.sum(),
}


def check_jacobians(rank, size):
    grid = mesh()
    for f in FUNCTIONS.values():
        for shape in ((3, 2), (5, 1), (1, 1)):
            x = values(*shape)
            for chunk in (None, 1, 2):
                same(jacrev(f, mesh=grid, chunk_size=chunk)(x), jacrev(f)(x))
                same(jacfwd(f, mesh=grid, chunk_size=chunk)(x), jacfwd(f)(x))
    g = lambda x, y: (x * y).sin().sum(0)
    x, y = values(4, 3), values(4, 3) + 1
    same(jacrev(g, argnums=(0, 1), mesh=grid)(x, y), jacrev(g, argnums=(0, 1))(x, y))
    same(jacfwd(lambda x: (x * 2, x), has_aux=True, mesh=grid)(x)[1], x)
    same(jacrev(lambda x: x**2, mesh=grid)(x.numpy()), jacrev(lambda x: x**2)(x.numpy()))


def check_second_derivatives(rank, size):
    grid, x = mesh(), values(3, 2)
    f = lambda x: (x.sin() * x[:, :1]).sum().exp()
    want = hessian(f)(x)
    same(hessian(f, mesh=grid)(x), want)
    same(jacfwd(jacrev(f, mesh=grid))(x), want)
    same(jacfwd(jacfwd(f), mesh=grid)(x), want)
    same(dt.func.jvp(jacrev(f, mesh=grid), (x,), (x,))[1], dt.func.jvp(jacrev(f), (x,), (x,))[1])
    with pytest.raises(NotImplementedError, match="not differentiated in reverse"):
        jacrev(jacrev(f, mesh=grid))(x)
    calls = []
    jacrev(lambda x: (calls.append(1), x * x)[1], mesh=grid, chunk_size=1)(x)
    assert len(calls) == 1  # the forward once; of the rows each process its own


def check_samples(rank, size):
    grid = mesh()
    for count in (1, 3, 7):
        x, y = values(count, 4), values(4, count)
        f = lambda row, column, scale: {"a": (row * column).sin(), "b": row.sum() * scale}
        options = {"in_dims": (0, 1, None), "out_dims": {"a": 1, "b": 0}}
        for chunk in (None, 2):
            same(vmap(f, mesh=grid, chunk_size=chunk, **options)(x, y, 2.0), vmap(f, **options)(x, y, 2.0))
    seen = []
    vmap(lambda row: (seen.append(dt.func.debug_unwrap(row).shape[0]), row)[1], mesh=grid)(values(2 * size, 1))
    assert seen == [2]
    with pytest.raises(ValueError, match="randomness"):
        vmap(lambda row: row, randomness="different", mesh=grid)(values(2, 1))


class Wrong(dt.autograd.Function):
    """A derivative that is wrong in one place, which is one process's."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = 2 * x * g
        out[-1] *= 1.5
        return out


def check_gradients_are_checked(rank, size):
    grid = mesh()
    x = values(7).requires_grad_()
    z = (values(3) + 1j * values(3)).requires_grad_()
    assert gradcheck(lambda x, z: (x.sin(), z * x[:3]), (x, z), mesh=grid, check_forward_ad=True)
    assert gradcheck(dt.sin, (x,), mesh=grid, fast_mode=True)
    assert dt.autograd.gradgradcheck(dt.sin, (x,), mesh=grid)
    for options in ({}, {"fast_mode": True}):
        with pytest.raises(GradcheckError, match=r"d output\[6\] / d input\[6\]"):
            gradcheck(Wrong.apply, (x,), mesh=grid, **options)
    calls = []
    gradcheck(lambda x: (calls.append(1), x * 2)[1], (x,), mesh=grid)
    alone = []
    gradcheck(lambda x: (alone.append(1), x * 2)[1], (x,))
    assert len(calls) < len(alone) - 14 + 2 * -(-7 // size) + 1

    def sometimes(x: dt.Tensor) -> dt.Tensor:
        calls.append(1)
        if rank == size - 1 and len(calls) == 3:
            raise ValueError("on one rank")
        return x * 2

    calls.clear()
    with pytest.raises(ValueError, match="on one rank"):
        gradcheck(sometimes, (values(4 * size).requires_grad_(),), mesh=grid)
    dist.barrier()
