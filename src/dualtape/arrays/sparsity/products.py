"""How dependences propagate through sums of products: matrix products, ``tensordot``, ``einsum``; and helpers of all
rules.

Each axis of each factor has a label; labels that the result lacks are summed over, and the union is taken along them. A
constant zero among the factors propagates nothing, so that a banded matrix of constants gives a banded pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dependence import CONSTANT, Sets
from .dependent import Dependent, current, make_dependent, plain, sets_of

_EXPANDED = 20_000_000  # products of a contraction that are looked at one by one


# --- what all rules share -------------------------------------------------------------------------


def always_zero(x: Any) -> np.ndarray:
    """Return where an operand is zero, whatever the inputs are."""
    return (np.asarray(plain(x)) == 0) & (sets_of(x) == CONSTANT)


def plain_keywords(kwargs: dict, *without: str) -> dict:
    return {key: plain(value) for key, value in kwargs.items() if key not in without}


def placed(result: Any, out: Any) -> Any:
    """Return a result, written to ``out`` if there is one."""
    if isinstance(out, tuple):
        out = out[0]
    if out is None:
        return result
    out[...] = result
    return out


def conservative(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Apply a function without a rule: all results depend on everything that the arguments depend on."""
    return spread_all(function(*plain(args), **plain_keywords(kwargs)), args, kwargs)


def spread_all(result: Any, args: Any, kwargs: dict) -> Any:
    found: list[Sets] = []
    stack = [*args, *kwargs.values()]
    while stack:
        value = stack.pop()
        if isinstance(value, Dependent):
            found.append(sets_of(value))
        elif type(value) in (list, tuple):
            stack.extend(value)
    everything = current().everything(*found) if found else CONSTANT

    def spread(result: Any) -> Any:
        if isinstance(result, (np.ndarray, np.generic)):
            return make_dependent(result, np.asarray(everything))
        if isinstance(result, (list, tuple)):
            parts = [spread(r) for r in result]
            return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
        return result

    return spread(result)


# --- contractions ---------------------------------------------------------------------------------


def _contracted(operands: Sequence[Any], labels: Sequence[Sequence[int]], out: Sequence[int]) -> Sets:
    """Return the sets of a sum of products: each axis of each operand has a label, and labels that the result lacks are
    summed over.
    """
    table = current()
    sizes: dict[int, int] = {}
    for x, names in zip(operands, labels, strict=True):
        for name, n in zip(names, np.shape(plain(x)), strict=True):
            sizes[name] = max(sizes.get(name, 1), n) if n else 0
    total = np.zeros(tuple(sizes[name] for name in out), np.int64)
    for k, (x, names) in enumerate(zip(operands, labels, strict=True)):
        sets = sets_of(x)
        if not sets.any() or not total.size:
            continue
        kept = list(dict.fromkeys(names))
        if len(kept) < len(names):
            sets = np.einsum(sets, list(names), kept)
        sets = (
            np.broadcast_to(sets, tuple(sizes[name] for name in kept))
            if sets.shape != tuple(sizes[name] for name in kept)
            else sets
        )
        found = _through_zeros(sets, kept, operands[1 - k], labels[1 - k], out, sizes) if len(operands) == 2 else None
        if found is None:
            summed = table.along(sets, tuple(i for i, name in enumerate(kept) if name not in out))
            left = [name for name in kept if name in out]
            summed = summed.transpose([left.index(name) for name in out if name in left])
            found = summed.reshape([sizes[name] if name in left else 1 for name in out])
        total = table.pairs(total, found)
    return total


def _through_zeros(
    sets: Sets, names: list[int], other: Any, others: Sequence[int], out: Sequence[int], sizes: dict[int, int]
) -> Sets | None:
    """Return the contribution of one operand where the other factor is not always zero; None where that does not
    help.
    """
    passing = ~always_zero(other)
    if (
        passing.all()
        or len(set(others)) < len(others)
        or any(sizes[name] != n for name, n in zip(others, passing.shape, strict=True))
    ):
        return None
    extra = [name for name in names if name not in others]
    grid = int(np.prod([sizes[name] for name in extra], dtype=np.int64))
    places = np.nonzero(passing)
    count = places[0].size if places else 1
    if count * grid > _EXPANDED:
        return None
    inner = np.unravel_index(np.arange(grid), tuple(sizes[name] for name in extra)) if extra else ()
    where = {name: np.repeat(place, grid) for name, place in zip(others, places, strict=True)}
    where.update({name: np.tile(place, count) for name, place in zip(extra, inner, strict=True)})
    shape = tuple(sizes[name] for name in out)
    if out and not all(name in where for name in out):
        return None
    groups = (
        np.ravel_multi_index(tuple(where[name] for name in out), shape) if out else np.zeros(count * grid, np.int64)
    )
    chosen = sets[tuple(where[name] for name in names)]
    return (
        current()
        .unite(groups, np.broadcast_to(chosen, groups.shape), int(np.prod(shape, dtype=np.int64)))
        .reshape(shape)
    )


def by_signature(signature: str, operands: tuple) -> Sets:
    """Apply a ufunc over batches of small matrices or vectors, such as matmul."""
    ins, out = signature.replace(" ", "").split("->")
    cores = [part.strip("()").split(",") for part in ins.split("),(")]
    result = [name for name in out.strip("()").split(",") if name]
    if "),(" in out or len(operands) != len(cores):
        sets = current().everything(*(sets_of(x) for x in operands))
        return np.asarray(sets)
    fitted: list[list[str]] = []
    for x, core in zip(operands, cores, strict=True):
        lacking = len(core) - np.ndim(plain(x))
        for name in [c for c in core if c.endswith("?")][: max(lacking, 0)]:
            core = [c for c in core if c != name]
            result = [c for c in result if c != name]
        fitted.append(core)
    batches = [np.shape(plain(x))[: np.ndim(plain(x)) - len(core)] for x, core in zip(operands, fitted, strict=True)]
    batch = np.broadcast_shapes(*batches)
    numbers = {name: len(batch) + i for i, name in enumerate(dict.fromkeys(c for core in fitted for c in core))}
    if any(name not in numbers for name in result):
        return np.asarray(current().everything(*(sets_of(x) for x in operands)))
    labels, expanded = [], []
    for x, core, own in zip(operands, fitted, batches, strict=True):
        if own != batch:
            x = _broadcast(x, (*batch, *np.shape(plain(x))[len(own) :]))
        expanded.append(x)
        labels.append([*range(len(batch)), *(numbers[c] for c in core)])
    return _contracted(expanded, labels, [*range(len(batch)), *(numbers[c] for c in result)])


def _broadcast(x: Any, shape: tuple) -> Any:
    return np.broadcast_to(x, shape)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    if not np.ndim(plain(a)) or not np.ndim(plain(b)):
        return placed(np.multiply(a, b), out)
    values = np.dot(plain(a), plain(b))
    first, second = list(range(np.ndim(plain(a)))), list(range(50, 50 + np.ndim(plain(b))))
    second[-2 if len(second) > 1 else -1] = first[-1]
    return placed(make_dependent(values, _contracted((a, b), (first, second), _left(first, second))), out)


def _left(first: list[int], second: list[int]) -> list[int]:
    return [n for n in first if n not in second] + [n for n in second if n not in first]


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    values = np.tensordot(plain(a), plain(b), axes)
    first, second = list(range(np.ndim(plain(a)))), list(range(50, 50 + np.ndim(plain(b))))
    if isinstance(axes, int):
        pairs = list(zip(range(len(first) - axes, len(first)), range(axes), strict=True))
    else:
        pairs = list(zip(np.atleast_1d(axes[0]).tolist(), np.atleast_1d(axes[1]).tolist(), strict=True))
    for i, j in pairs:
        second[j] = first[i]
    return make_dependent(values, _contracted((a, b), (first, second), _left(first, second)))


def inner(a: Any, b: Any) -> Any:
    if not np.ndim(plain(a)) or not np.ndim(plain(b)):
        return np.multiply(a, b)
    return tensordot(a, b, (-1, -1))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    return placed(np.multiply(np.ravel(a)[:, None], np.ravel(b)), out)


def vdot(a: Any, b: Any) -> Any:
    return dot(np.ravel(np.conjugate(a)), np.ravel(b))


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    values = np.einsum(*plain(operands), optimize=optimize, **kwargs)
    if not isinstance(operands[0], str):
        return placed(conservative(np.einsum, operands, kwargs), out)
    text, arrays = operands[0].replace(" ", ""), operands[1:]
    ins, arrow, result = text.partition("->")
    terms = ins.split(",")
    widest = max(
        (np.ndim(plain(x)) - len(t.replace("...", "")) for x, t in zip(arrays, terms, strict=True) if "..." in t),
        default=0,
    )
    if not arrow:
        letters = ins.replace(",", "").replace("...", "")
        result = "..." * ("..." in ins) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))

    def numbered(term: str, depth: int) -> list[int]:
        before, dots, after = term.partition("...")
        batch = [1000 + widest - depth + i for i in range(depth)] if dots else []
        return [*map(ord, before), *batch, *map(ord, after)]

    labels = [numbered(t, np.ndim(plain(x)) - len(t.replace("...", ""))) for x, t in zip(arrays, terms, strict=True)]
    small = {name: i for i, name in enumerate(dict.fromkeys(name for names in labels for name in names))}
    return placed(
        make_dependent(
            values,
            _contracted(
                arrays, [[small[n] for n in names] for names in labels], [small[n] for n in numbered(result, widest)]
            ),
        ),
        out,
    )
