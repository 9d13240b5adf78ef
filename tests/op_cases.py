"""Cases for the generated tests: every op of the table with every one of its samples, made into arguments."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from dualtape.ops import load_all
from dualtape.ops.samples import Array, Sample
from dualtape.ops.table import COMPOSITES, TABLE

try:
    import torch
except ImportError:
    torch = None

DEEP = os.environ.get("DUALTAPE_DEEP") == "1"  # everything, however long that takes


def first_samples(chosen: list, most: int) -> list:
    """Of ``(id, row, sample)`` the first few of each row: what costs much is not done for every sample."""
    seen: Counter[str] = Counter()
    kept = []
    for case in chosen:
        seen[case[1].name] += 1
        if DEEP or seen[case[1].name] <= most:
            kept.append(case)
    return kept


def rows() -> list[Any]:
    load_all()
    return [*TABLE.values(), *COMPOSITES.values()]


def cases() -> Iterator[tuple[str, Any, Sample]]:
    """(id, row, sample) for each sample of each op."""
    for row in rows():
        for i, sample in enumerate(row.samples):
            yield f"{row.name}-{i}{sample!r}".replace(" ", ""), row, sample


def mapped(value: Any, function: Any) -> Any:
    """``value`` with ``function`` applied to the described arrays in it, also inside lists and tuples."""
    if isinstance(value, Array):
        return function(value)
    if type(value) in (list, tuple):
        return type(value)(mapped(item, function) for item in value)
    return value


def arrays(sample: Sample, dtype: Any) -> tuple[tuple, dict, list[np.ndarray]]:
    """The sample's arguments with arrays made; and the list of those that are differentiable."""
    rng = np.random.default_rng(20240)
    result: list[np.ndarray] = []

    def make(described: Array) -> np.ndarray:
        array = described.make(rng, dtype)
        if described.differentiable:
            result.append(array)
        return array

    args = tuple(mapped(a, make) for a in sample.args)
    kwargs = {k: mapped(v, make) for k, v in sample.kwargs.items()}
    return args, kwargs, result


def converted(value: Any, convert: Any) -> Any:
    """``value`` with its ndarrays converted, also inside lists and tuples."""
    if isinstance(value, np.ndarray):
        return convert(value)
    if type(value) in (list, tuple):
        return type(value)(converted(item, convert) for item in value)
    return value


def leaves(value: Any) -> list:
    """The tensors of a result, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def oracle(row: Any) -> Any:
    """PyTorch's function for a row, or None if it has none."""
    if row.torch_name == "-":
        return None
    found: Any = torch
    for part in row.torch_name.split("."):
        found = getattr(found, part)
    return found


def cotangents(outputs: list, seed: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    result = []
    for out in outputs:
        g = rng.normal(size=tuple(out.shape))
        if out.is_complex():
            g = g + 1j * rng.normal(size=tuple(out.shape))
        result.append(np.asarray(g).astype(out.detach().numpy().dtype))
    return result


UP_TO_SIGN = {"linalg_eigh", "linalg_svd", "svd"}  # the sign (phase) of their vectors is the library's choice


def compared(row: Any, sample: Sample, here: Any, there: Any) -> list[tuple]:
    """Results and first gradients of an op with tensors made by ``here``, as arrays, each beside the tensor made by
    way of ``there``.
    """
    args, kwargs, result = arrays(sample, "complex128" if row.complex == "only" else "float64")

    def run(place: Any) -> tuple[list, list]:
        known = {id(a): place(a).requires_grad_() for a in result}
        convert = lambda a: known[id(a)] if id(a) in known else place(a)
        outs = leaves(
            row.function(
                *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
            )
        )
        floats = [o for o in outs if isinstance(o, dt.Tensor) and o.requires_grad]
        grads = (
            dt.autograd.grad([o.abs().sum() for o in floats], list(known.values()), allow_unused=True) if floats else ()
        )
        if row.name in UP_TO_SIGN:
            outs = [o.abs() for o in outs]
        return [o for o in outs if isinstance(o, dt.Tensor)], [g for g in grads if g is not None]

    ours, theirs = run(here), run(there)
    assert [len(part) for part in ours] == [len(part) for part in theirs]
    return [(a.detach().numpy(), b.detach()) for a, b in zip(ours[0] + ours[1], theirs[0] + theirs[1], strict=True)]


def pushed(row: Any, sample: Sample, here: Any, there: Any) -> list[tuple]:
    """The tangents of an op's results with tensors made by ``here``, as arrays, each beside the tensor made by way
    of ``there``.
    """
    args, kwargs, result = arrays(sample, "complex128" if row.complex == "only" else "float64")
    rng = np.random.default_rng(7)
    directions = {id(a): np.asarray(rng.normal(size=a.shape)).astype(a.dtype) for a in result}

    def run(place: Any) -> list:
        with fwAD.dual_level():
            convert = lambda a: fwAD.make_dual(place(a), place(directions[id(a)])) if id(a) in directions else place(a)
            outs = leaves(
                row.function(
                    *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
                )
            )
            found = [fwAD.unpack_dual(o).tangent for o in outs if isinstance(o, dt.Tensor)]
        return [t.abs() if row.name in UP_TO_SIGN else t for t in found if t is not None]

    return [(a.numpy(), b) for a, b in zip(run(here), run(there), strict=True)]


def over_a_batch(row: Any, sample: Sample, place: Any) -> list | str:
    """The results of an op over a batch of two samples of its differentiable arguments; or why there are none."""
    args, kwargs, result = arrays(sample, "complex128" if row.complex == "only" else "float64")

    def run(*tensors: Any) -> Any:
        known = {id(a): t for a, t in zip(result, tensors, strict=True)}
        convert = lambda a: known[id(a)] if id(a) in known else place(a)
        outs = leaves(
            row.function(
                *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
            )
        )
        outs = [o for o in outs if isinstance(o, dt.Tensor)]
        return tuple(o.abs() if row.name in UP_TO_SIGN else o for o in outs)

    try:
        return list(dt.func.vmap(run, randomness="same")(*(place(np.stack([a, a])) for a in result))) if result else []
    except RuntimeError as error:
        return str(error)


def prepared(sample: Sample, dtype: Any) -> tuple[Any, list]:
    """A function of the differentiable tensors, and those tensors, for gradient checks."""
    args, kwargs, result = arrays(sample, dtype)
    inputs = [dt.tensor(a, requires_grad=True) for a in result]

    def bind(tensors: tuple) -> tuple[tuple, dict]:
        by_id = {id(a): t for a, t in zip(result, tensors, strict=True)}
        convert = lambda a: by_id.get(id(a), dt.from_numpy(a) if id(a) not in by_id else None)
        return tuple(converted(a, convert) for a in args), {k: converted(v, convert) for k, v in kwargs.items()}

    return bind, inputs
