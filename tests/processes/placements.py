"""Every op over sharded arrays, under all placements of its samples, against one process: values, first and second
derivatives.

In the suite a part of them; all of them, with the functions that have no rule, by
``mpiexec -n 2 python -m tests.processes.placements`` (on 4 processes the mesh is 2x2).
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import dualtape as dt
import dualtape.distributed as dist
from dualtape.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from dualtape.distributed.tensor.array import unruled
from dualtape.errors import MixedPlacements
from tests.op_cases import UP_TO_SIGN, arrays, cases, converted, leaves

# what is not about the values of its argument, or makes another kind of tensor
LEFT_OUT = {
    "to_device",
    "to_sparse",
    "empty_like",
    "rand_like",
    "randn_like",
    "randint_like",
    "as_strided",
    "view_as_real",
    "view_as_complex",
}


def mesh() -> Any:
    size = dist.get_world_size()
    return dist.init_device_mesh("cpu", (2, 2) if size == 4 else (size,))


def options(array: np.ndarray, mesh: Any) -> list[tuple]:
    """Placements of an array, one for each dimension of the mesh."""
    each = [Replicate(), *[Shard(d) for d in range(array.ndim)]]
    if array.dtype.kind in "fc" and np.isfinite(array).all() and not (array == 0).any():
        each.append(Partial())
    return list(itertools.product(each, repeat=mesh.ndim))


def ways(result: list, mesh: Any, most: int) -> Iterator[list]:
    """Placements of several arrays: each one's against each other's, as far as ``most`` allows."""
    lists = [options(a, mesh) for a in result]
    if not lists:
        return
    every = list(itertools.islice(itertools.product(*lists), 4096))
    step = max(len(every) // most, 1)
    yield from every[::-step][:most]


def place(array: np.ndarray, mesh: Any, placements: Any) -> Any:
    if all(not isinstance(p, Partial) for p in placements):
        return distribute_tensor(dt.as_tensor(array.copy(order="K")), mesh, placements, src_data_rank=None)
    # pending: each process has a share, which is exact
    settled = [Replicate() if isinstance(p, Partial) else p for p in placements]
    local = distribute_tensor(dt.as_tensor(array.copy()), mesh, settled, src_data_rank=None).to_local()
    for k, p in enumerate(placements):
        if isinstance(p, Partial):
            local = local * (2.0 if mesh.get_local_rank(k) == 0 else -1.0 / (mesh.shape[k] - 1))
    return DTensor.from_local(local, mesh, placements, shape=array.shape)


def beside(array: np.ndarray, mesh: Any) -> Any:
    """Another operand: what is no index has to have a placement beside a DTensor."""
    if array.dtype.kind in "iu" or array.size <= 1:
        return dt.as_tensor(array)
    return place(array, mesh, [Replicate()] * mesh.ndim)


def replicated(array: np.ndarray, mesh: Any) -> Any:
    return place(array, mesh, [Replicate()] * mesh.ndim) if array.ndim else dt.as_tensor(array)


def whole(x: Any) -> np.ndarray:
    x = x.detach()
    return np.asarray(x._array) if isinstance(x, DTensor) else x.numpy()


def outcome(row: Any, args: tuple, kwargs: dict, known: dict, other: Any) -> list:
    """Results, gradients and gradients of those."""
    dt.manual_seed(5)
    convert = lambda a: known[id(a)] if id(a) in known else other(a)
    outs = leaves(
        row.function(*(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()})
    )
    outs = [o.abs() if row.name in UP_TO_SIGN else o for o in outs if isinstance(o, dt.Tensor)]
    floats = [o for o in outs if o.requires_grad]
    grads: list = []
    second: list = []
    if floats:
        inputs = list(known.values())
        found = dt.autograd.grad([(o.abs() ** 2).sum() for o in floats], inputs, allow_unused=True, create_graph=True)
        grads = [g for g in found if g is not None]
        again = [g.abs().sum() for g in grads if g.requires_grad]
        if again:
            second = [g for g in dt.autograd.grad(again, inputs, allow_unused=True) if g is not None]
    return [whole(x) for x in (*outs, *grads, *second)]


def wrong(row: Any, sample: Any, mesh: Any, most: int) -> list[str]:
    """What differs from one process."""
    args, kwargs, result = arrays(sample, "complex128" if row.complex == "only" else "float64")
    try:
        want = outcome(
            row, args, kwargs, {id(a): dt.as_tensor(a.copy(order="K")).requires_grad_() for a in result}, dt.as_tensor
        )
    except Exception:
        return []
    problems = []
    finite = all(np.isfinite(a).all() for a in want)
    for placements in ways(result, mesh, most):
        if not finite and any(isinstance(p, Partial) for each in placements for p in each):
            continue  # infinities of both signs are no sum
        try:
            known = {id(a): place(a, mesh, p).requires_grad_() for a, p in zip(result, placements, strict=True)}
            try:
                found = outcome(row, args, kwargs, known, lambda a: beside(a, mesh))
            except MixedPlacements:  # numbers were made of whole ones, which then need a placement, too
                known = {id(a): place(a, mesh, p).requires_grad_() for a, p in zip(result, placements, strict=True)}
                found = outcome(row, args, kwargs, known, lambda a: replicated(a, mesh))
            assert len(found) == len(want), f"{len(found)} results for {len(want)}"
            for a, b in zip(found, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True)
        except Exception as error:
            text = str(error).strip().replace("\n", " ")[:160]
            problems.append(f"{row.name} {sample!r} under {placements}: {type(error).__name__}: {text}")
            break
    return problems


def chosen(rank_of: int, every: int) -> list:
    return [case for k, case in enumerate(cases()) if case[1].name not in LEFT_OUT and k % every == rank_of]


def check_ops_under_placements(rank, size):
    grid = mesh()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [problem for _, row, sample in chosen(3, 23) for problem in wrong(row, sample, grid, 3)]
    assert not found, "\n".join(found[:20])


def main(most: int) -> int:
    dist.init_process_group()
    warnings.simplefilter("ignore")
    grid, found, count = mesh(), [], 0
    for _, row, sample in chosen(0, 1):
        count += 1
        problems = wrong(row, sample, grid, most)
        found += problems
        if dist.get_rank() == 0:
            for problem in problems:
                print(problem, flush=True)
    if dist.get_rank() == 0:
        print(f"{len(found)} of {count} samples are wrong; without a rule:")
        for name, size in sorted(unruled.items(), key=lambda item: -item[1]):
            print(f"  {name}: {size} bytes gathered")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 10))
