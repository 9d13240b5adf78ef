"""Every op of the table in bfloat16 and float16, as PyTorch computes it: values, gradients, second gradients, in place,
into ``out=``, under autocast, in forward mode; and over batches and compiled, as it is run one by one and eagerly.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from half_cases import KINDS, Made, difference, difference_from_pytorch, half_cases, numbers, torch
from op_cases import cases, first_samples, leaves

pytestmark = pytest.mark.filterwarnings("ignore")
needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")

# Why an op is not compared with PyTorch at all; each name is checked to be one of an op.
EXCEPT = {
    "complex": "PyTorch has a complex type of two float16, which NumPy has not",
    "view_as_complex": "PyTorch has a complex type of two float16, which NumPy has not",
    "polar": "PyTorch has a complex type of two float16, which NumPy has not",
    "det": "of empty matrices only; all others PyTorch refuses in half precision, too",
    "matrix_exp": "PyTorch's result of half precision is NaN or infinite, now and then",
    "polygamma_op": "next to a pole, which rounding moves the argument onto",
}
# Why gradients and tangents of an op are not compared.
NO_GRADIENT = {
    "logcumsumexp": "of infinities PyTorch's gradient is 0",
    "special_i0e": "differences of nearly equal numbers, far below those that are computed with",
    "grid_sample": "PyTorch rounds the positions of the cubic kernel",
    "multi_head_attention_forward": "gradients that cancel out, since weights add up to 1",
    "gelu": "near the zero of the derivative what is rounded is larger than the result",
}
# Why second gradients of an op are not compared.
NO_SECOND = {
    "linalg_vector_norm": "PyTorch's second gradient is made of roundings where it is 0",
    "norm": "PyTorch's second gradient is made of roundings where it is 0",
    "linalg_norm": "PyTorch's second gradient is made of roundings where it is 0",
    "prod": "PyTorch divides the product by each element",
    "cumprod": "PyTorch divides the products by each element",
    "sinc": "PyTorch subtracts nearly equal quotients next to 0",
    "atan2": "PyTorch squares a sum of squares, which is 0 in float16",
    "dist": "PyTorch's second gradient is made of roundings where it is 0",
}
Run = Callable[[Any, Any, Any, str], list]


def cotangents(library: Any, tensors: list, seed: int) -> list:
    rng = np.random.default_rng(seed)
    return [library.tensor(np.asarray(rng.normal(size=tuple(t.shape)), "f4")).to(t.dtype) for t in tensors]


def value(library: Any, function: Any, sample: Any, kind: str) -> list:
    made = Made(library, sample, kind, grad=False)
    args, kwargs = made.arguments()
    return made.tensors(function(*args, **kwargs))


def _first(library: Any, function: Any, sample: Any, kind: str, create_graph: bool) -> tuple[list, list]:
    """The first gradients, and the tensors that they are those of."""
    made = Made(library, sample, kind)
    args, kwargs = made.arguments()
    outs = [t for t in made.tensors(function(*args, **kwargs)) if t.requires_grad]
    asked = [t for t in made.leaves.values() if t.requires_grad]
    if not outs:
        return [], asked
    starts = cotangents(library, outs, 3)
    return list(library.autograd.grad(outs, asked, starts, allow_unused=True, create_graph=create_graph)), asked


def gradient(library: Any, function: Any, sample: Any, kind: str) -> list:
    return _first(library, function, sample, kind, create_graph=False)[0]


def second_gradient(library: Any, function: Any, sample: Any, kind: str) -> list:
    first, asked = _first(library, function, sample, kind, create_graph=True)
    roots = [g for g in first if g is not None and g.requires_grad]
    if not roots:
        return [None] * len(asked)
    found = library.autograd.grad(roots, asked, cotangents(library, roots, 5), allow_unused=True)
    # a zero may be undefined, or not
    return [library.zeros_like(x) if g is None else g for g, x in zip(found, asked, strict=True)]


def into_out(library: Any, function: Any, sample: Any, kind: str) -> list:
    made = Made(library, sample, kind, grad=False)
    args, kwargs = made.arguments()
    wanted = function(*args, **kwargs)
    given = [library.full_like(t, 1) for t in leaves(wanted)]
    function(*args, **kwargs, out=tuple(given) if isinstance(wanted, (tuple, list)) else given[0])
    return given


def in_place(name: str, library: Any, function: Any, sample: Any, kind: str) -> list:
    made = Made(library, sample, kind, grad=False)
    (first, *args), kwargs = made.arguments()
    return [getattr(first, name)(*args, **kwargs), first]


def tangent(library: Any, function: Any, sample: Any, kind: str) -> list:
    made = Made(library, sample, kind, grad=False)
    forward_ad = library.autograd.forward_ad
    floats = [t for t in made.leaves.values() if t.is_floating_point()]
    with forward_ad.dual_level():
        directions = cotangents(library, floats, 7)
        dual = {id(t): forward_ad.make_dual(t, d) for t, d in zip(floats, directions, strict=True)}
        args, kwargs = made.arguments(lambda t: dual.get(id(t), t))
        pairs = [forward_ad.unpack_dual(out) for out in made.tensors(function(*args, **kwargs))]
        # PyTorch's tangents are of single precision here and there
        return [None if p.tangent is None else p.tangent.to(p.primal.dtype) for p in pairs]


def under_autocast(library: Any, function: Any, sample: Any, kind: str) -> list:
    made = Made(library, sample, kind, wide=True)
    with library.autocast("cpu", dtype=getattr(library, kind)):
        args, kwargs = made.arguments()
        found = made.tensors(function(*args, **kwargs))
    roots = [t for t in found if t.requires_grad]
    asked = [t for t in made.leaves.values() if t.requires_grad]
    if not roots:
        return found
    return [*found, *library.autograd.grad(roots, asked, cotangents(library, roots, 3), allow_unused=True)]


def differences(run: Run, chosen: list, kind: str, **allowed: float) -> tuple[int, list[str]]:
    """How many cases were run, and in what they differ from PyTorch's."""
    found = [(ident, difference_from_pytorch(run, row, sample, kind, **allowed)) for ident, row, sample in chosen]
    return len(found), [f"{ident}: {text}" for ident, text in found if text]


def chosen(most: int, *without: dict[str, str], edges: bool = True) -> list:
    """Cases of the ops that no table of exceptions has."""
    names = {name for table in (EXCEPT, *without) for name in table}
    return [c for c in half_cases(most) if c[1].name not in names and (edges or c[2].check and c[2].second)]


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_dtypes_are_pytorchs(kind: str) -> None:
    count, wrong = differences(value, chosen(3), kind)
    assert not wrong, "\n".join(wrong)
    assert count > 1000


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_pytorchs(kind: str) -> None:
    count, wrong = differences(gradient, chosen(2, NO_GRADIENT), kind, floor=1)
    assert not wrong, "\n".join(wrong)
    assert count > 700


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
def test_second_gradients_are_pytorchs(kind: str) -> None:
    cases_of = chosen(2, NO_GRADIENT, NO_SECOND, edges=False)
    # what is rounded between two backwards differs, since PyTorch's have other steps
    count, wrong = differences(second_gradient, cases_of, kind, steps=32, floor=1)
    assert not wrong, "\n".join(wrong)
    assert count > 500


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
def test_writes_in_place_are_pytorchs(kind: str) -> None:
    count, wrong = 0, []
    for ident, row, sample in chosen(3):
        name = f"{row.name}_"
        if row.name != "addbmm" and hasattr(torch.Tensor, name) and hasattr(dt.Tensor, name):
            count += 1
            found = difference_from_pytorch(functools.partial(in_place, name), row, sample, kind)
            wrong += [f"{ident}: {found}"] if found else []
    assert not wrong, "\n".join(wrong)
    assert count > 200


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
def test_results_in_out_are_pytorchs(kind: str) -> None:
    count, wrong = differences(into_out, [c for c in chosen(2) if c[1].name != "linear"], kind)
    assert not wrong, "\n".join(wrong)
    assert count > 700


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
def test_tangents_are_pytorchs(kind: str) -> None:
    count, wrong = differences(tangent, chosen(2, NO_GRADIENT, edges=False), kind, steps=8, floor=1)
    assert not wrong, "\n".join(wrong)
    assert count > 500


# What PyTorch multiplies elementwise, or runs in single precision, in the reference form of an op.
OTHERWISE_CAST = {
    "tensordot": "PyTorch multiplies elementwise if nothing but numbers are left",
    "lstm": "PyTorch gives the results of packed sequences in single precision",
}


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
def test_results_under_autocast_are_pytorchs(kind: str) -> None:
    cases_of = chosen(2, NO_GRADIENT, OTHERWISE_CAST, edges=False)
    count, wrong = differences(under_autocast, cases_of, kind, floor=1)
    assert not wrong, "\n".join(wrong)
    assert count > 500


def own_cases(most: int) -> list:
    return [c for c in first_samples(list(cases()), most) if c[1].complex != "only"]


def eagerly(row: Any, sample: Any, kind: str) -> list | None:
    """The results of an op, or None if it is not there in half precision."""
    dt.manual_seed(0)
    try:
        return value(dt, row.function, sample, kind)
    except (RuntimeError, TypeError, NotImplementedError):
        return None


def unlike(ours: list, wanted: list, kind: str) -> str | None:
    if len(ours) != len(wanted):
        return f"{len(ours)} tensors for {len(wanted)}"
    for a, b in zip(ours, wanted, strict=True):
        if a.dtype != b.dtype or tuple(a.shape) != tuple(b.shape):
            return f"{a.dtype} {tuple(a.shape)} for {b.dtype} {tuple(b.shape)}"
        x, y = numbers(a), numbers(b)
        step = 2.0**-7 if kind == "bfloat16" else 2.0**-10
        size = np.abs(y[np.isfinite(y)]).max(initial=1) if y.dtype.kind in "fc" else 0
        if not np.allclose(x, y, rtol=2 * step, atol=2 * step * size, equal_nan=True):
            return f"{x.ravel()[:5]} for {y.ravel()[:5]}"
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_results_are_eager_ones(kind: str) -> None:
    compared, wrong = 0, []
    for ident, row, sample in own_cases(1):
        wanted = eagerly(row, sample, kind)
        if wanted is None:
            continue
        compared += 1
        compiled = dt.compile(functools.partial(row.function), backend="numpy")
        made = Made(dt, sample, kind, grad=False)
        args, kwargs = made.arguments()
        for call in ("traced", "replayed"):
            dt.manual_seed(0)
            found = unlike(made.tensors(compiled(*args, **kwargs)), wanted, kind)
            wrong += [f"{ident}, {call}: {found}"] if found else []
    assert not wrong, "\n".join(wrong)
    assert compared > 500


DATA_DEPENDENT = {"allclose", "equal", "nonzero", "argwhere"}  # refused inside of vmap, in any type


@pytest.mark.parametrize("kind", KINDS)
def test_batches_give_what_samples_give(kind: str) -> None:
    compared, wrong = 0, []
    for ident, row, sample in own_cases(1):
        wanted = None if row.name in DATA_DEPENDENT else eagerly(row, sample, kind)
        made = Made(dt, sample, kind, grad=False)
        inputs = list(made.leaves.values())
        if wanted is None or not inputs:
            continue

        def run(*tensors: Any, made: Any = made, inputs: list = inputs, row: Any = row) -> tuple:
            inside = {id(x): t for x, t in zip(inputs, tensors, strict=True)}
            args, kwargs = made.arguments(lambda t: inside[id(t)])
            return tuple(made.tensors(row.function(*args, **kwargs)))

        compared += 1
        dt.manual_seed(0)
        found = dt.func.vmap(run, randomness="same")(*[dt.stack([x, x]) for x in inputs])
        text = unlike(list(found), [dt.stack([t, t]) for t in wanted], kind)
        wrong += [f"{ident}: {text}"] if text else []
    assert not wrong, "\n".join(wrong)
    assert compared > 400


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "scalar", "empty", "sparse", "compressed"])
def test_saved_tensors_are_loaded_as_they_were(kind: str, layout: str) -> None:
    plain = dt.tensor([[0.1, 0.0, -2.0], [0.0, 3e-3, 77.0]]).to(getattr(dt, kind))
    made = {
        "contiguous": lambda: plain,
        "transposed": lambda: plain.t(),
        "scalar": lambda: plain[0, 0],
        "empty": lambda: plain[:0],
        "sparse": lambda: plain.to_sparse(),
        "compressed": lambda: plain.to_sparse_csr(),
    }[layout]()
    file = io.BytesIO()
    dt.save({"x": made, "leaf": plain.clone().requires_grad_()}, file)
    file.seek(0)
    found = dt.load(file)
    assert found["leaf"].requires_grad
    for a, b in ((found["x"], made), (found["leaf"], plain)):
        assert a.dtype == b.dtype and a.layout == b.layout and tuple(a.shape) == tuple(b.shape)
        np.testing.assert_array_equal(numbers(a), numbers(b))


def test_the_exceptions_are_ops() -> None:
    names = {row.name for _, row, _ in cases()}
    tables = (EXCEPT, NO_GRADIENT, NO_SECOND, OTHERWISE_CAST, DATA_DEPENDENT)
    assert not {name for table in tables for name in table} - names


def test_an_exception_has_a_difference_to_show() -> None:
    """The comparison finds what differs: a value, a shape, a dtype."""
    x = dt.ones(2, dtype=dt.bfloat16)
    pytest.importorskip("torch")
    same = torch.ones(2, dtype=torch.bfloat16)
    assert difference(x, same, "bfloat16") is None
    for other in (same * 1.1, same.float(), same[:1]):
        assert difference(x, other, "bfloat16")
