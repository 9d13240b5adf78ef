"""Placement rules of functions that need some axes whole: sorting, running sums, matrices, transforms."""

from __future__ import annotations

from typing import Any

import numpy

from ..array import RULES, apply
from .ways import Ways, along, axes_of, axis_of, reduction, rule, shape_of, whole, write_into

np: Any = numpy

for _function in (np.sort, np.argsort, np.cumsum, np.cumprod, np.partition, np.argpartition):

    def _ordered(x: Any, *args: Any, _function: Any = _function, **kwargs: Any) -> Any:
        kth = args[:1] if _function in (np.partition, np.argpartition) else ()
        rest = args[len(kth) :]
        default = None if _function in (np.cumsum, np.cumprod) else -1
        axis = rest[0] if rest else kwargs.pop("axis", default)
        if axis is None:
            x, axis = np.ravel(x), 0
        axis = axis_of(axis, x.ndim)
        return along(
            _function.__name__,
            [x],
            (axis,),
            lambda a: _function(a, *kth, axis=axis, **kwargs),
            str(kth),
            str(kwargs),
            linear=_function is np.cumsum,
        )

    RULES[_function] = _ordered


for _function in (np.argmax, np.argmin):

    def _place(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False, _function: Any = _function) -> Any:
        axes = axes_of(axis, x.ndim)
        found = apply(
            (_function, axis, keepdims),
            [x],
            lambda: reduction(x.ndim, axes, keepdims, None),
            lambda parts, plan: _function(parts[0], axis=axis, keepdims=keepdims),
        )
        if out is None:
            return found
        write_into(out, found)
        return out

    RULES[_function] = _place


@rule(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    order = whole(sorter)

    def ways() -> Ways:
        yield None, (None, None)
        for d in range(len(shape_of(v))):
            yield d, (None, d)

    call = lambda parts, plan: np.searchsorted(parts[0], parts[1], side, order)
    return apply(("searchsorted", side, sorter is None), [a, v], ways, call)


for _function in (np.tril, np.triu):

    def _triangle(m: Any, k: int = 0, _function: Any = _function) -> Any:
        return along(_function.__name__, [m], (m.ndim - 2, m.ndim - 1), lambda a: _function(a, k), k, linear=True)

    RULES[_function] = _triangle


for _name, _count in (("cholesky", 1), ("det", 1), ("eigh", 2), ("inv", 1), ("pinv", 1), ("qr", 2), ("slogdet", 2)):

    def _matrices(a: Any, *args: Any, _name: str = _name, _count: int = _count, **kwargs: Any) -> Any:
        outputs = 1 if "r" in (args[:1] or (kwargs.get("mode"),)) else _count
        return along(
            f"linalg.{_name}",
            [a],
            (a.ndim - 2, a.ndim - 1),
            lambda m: getattr(np.linalg, _name)(m, *args, **kwargs),
            str(args),
            str(kwargs),
            outputs=outputs,
        )

    RULES[getattr(np.linalg, _name)] = _matrices


@rule(np.linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, **kwargs: Any) -> Any:
    return along(
        "linalg.svd",
        [a],
        (a.ndim - 2, a.ndim - 1),
        lambda m: np.linalg.svd(m, full_matrices, compute_uv, **kwargs),
        full_matrices,
        compute_uv,
        str(kwargs),
        outputs=3 if compute_uv else 1,
    )


@rule(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    def rule() -> Ways:
        yield None, (None, None)
        yield "sum", (None, "sum")
        if b.ndim > 1:
            yield b.ndim - 1 if b.ndim >= a.ndim else a.ndim - 1, (None, b.ndim - 1)
        for d in range(a.ndim - 2):
            if b.ndim == a.ndim and b.shape[d] == a.shape[d]:
                yield d, (d, d)

    return apply("linalg.solve", [a, b], rule, lambda parts, plan: np.linalg.solve(*parts))


for _name in ("fftn", "ifftn", "rfft", "irfft", "fft", "ifft", "rfftn", "irfftn"):

    def _transformed(a: Any, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        several = _name.endswith("n")
        names = ("s", "axes", "norm") if several else ("n", "axis", "norm")
        options = dict(zip(names, args, strict=False), **kwargs)
        axes = axes_of(options.get(names[1], None if several else -1), a.ndim)
        return along(
            f"fft.{_name}", [a], axes, lambda x: getattr(np.fft, _name)(x, **options), str(options), linear=True
        )

    RULES[getattr(np.fft, _name)] = _transformed
