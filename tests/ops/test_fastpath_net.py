"""The net under the fast paths: every op, with an argument in every state for each of its tensors, in every mode.

The truth is the reference path: ``dispatch.execute`` forward, the formulas read
from the declaration backward. Values, dtypes, history, views, versions, tangents, gradients and errors must agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from dualtape.nn import Parameter
from dualtape.ops import dispatch, jvp, load_all
from dualtape.ops.table import TABLE
from dualtape.overrides.active_overrides import active_overrides
from dualtape.overrides.function_modes import BaseTorchFunctionMode
from op_cases import DEEP, arrays, converted, leaves

load_all()
FLOATS = "fc"


class Tagged(dt.Tensor):
    """A subclass whose operations give the subclass."""


# --- states of an argument --------------------------------------------------------------------------
# Each makes, of an array, the argument and the tensors whose gradients are looked at.


def stacked(a: np.ndarray) -> np.ndarray:
    return np.stack([a, a])


def leaf(a: np.ndarray) -> tuple:
    x = dt.tensor(a, requires_grad=a.dtype.kind in FLOATS)
    return x, [x]


def constant(a: np.ndarray) -> tuple:
    return dt.tensor(a), []


def result(a: np.ndarray) -> tuple:
    x, seen = leaf(a)
    return (x * 1 if seen[0].requires_grad else x), seen


def current_view(a: np.ndarray) -> tuple:
    x, seen = leaf(stacked(a))
    return (x * 1 if x.requires_grad else x)[0], seen


def stale_view(a: np.ndarray) -> tuple:
    x, seen = leaf(stacked(a))
    base = x * 1 if x.requires_grad else x
    view = base[0]
    base.mul_(3) if x.requires_grad else base.copy_(base.clone())
    return view, seen


def view_of_what_came_to_require_grad(a: np.ndarray) -> tuple:
    base = dt.tensor(stacked(a))
    view = base[0]
    if a.dtype.kind not in FLOATS:
        return view, []
    factor = dt.tensor(2.0, dtype=base.dtype, requires_grad=True)
    base.mul_(factor)
    return view, [factor]


def view_without_grad(a: np.ndarray) -> tuple:
    x, seen = leaf(stacked(a))
    base = x * 1 if x.requires_grad else x
    with dt.no_grad():
        view = base[0]
    return view, seen


def view_without_grad_written(a: np.ndarray) -> tuple:
    view, seen = view_without_grad(a)
    base = view._base
    base.mul_(2) if base.requires_grad else base.copy_(base.clone())
    return view, seen


def part_of_several(a: np.ndarray) -> tuple:
    x, seen = leaf(stacked(a))
    return (x * 1 if x.requires_grad else x).unbind(0)[0], seen


def inference(a: np.ndarray) -> tuple:
    with dt.inference_mode():
        return dt.tensor(a), []


def parameter(a: np.ndarray) -> tuple:
    if a.dtype.kind not in FLOATS:
        return constant(a)
    x = Parameter(dt.tensor(a))
    return x, [x]


def detached_alias(a: np.ndarray) -> tuple:
    x, seen = leaf(a)
    return x.detach(), seen


def written(a: np.ndarray) -> tuple:
    x, seen = leaf(a)
    y = x * 1 if x.requires_grad else x.clone()
    return y.copy_(y.detach().clone() if not x.requires_grad else y.clone()), seen


def transposed(a: np.ndarray) -> tuple:
    x = dt.from_numpy(np.asfortranarray(a))
    x.requires_grad_(a.dtype.kind in FLOATS)
    return x, [x]


def strided(a: np.ndarray) -> tuple:
    wide = np.repeat(a, 2, -1)[..., ::2] if a.ndim else a
    x = dt.from_numpy(wide).requires_grad_(a.dtype.kind in FLOATS)
    return x, [x]


def expanded(a: np.ndarray) -> tuple:
    if not a.ndim:
        return leaf(a)
    x, seen = leaf(a[:1].copy())
    return x.expand(a.shape), seen


def no_dimensions(a: np.ndarray) -> tuple:
    return leaf(np.asarray(a.reshape(-1)[0])) if a.size else leaf(a)


def empty(a: np.ndarray) -> tuple:
    return leaf(a[:0]) if a.ndim else leaf(a)


def subclass(a: np.ndarray) -> tuple:
    x = dt.tensor(a).as_subclass(Tagged)
    if a.dtype.kind in FLOATS:
        x.requires_grad_()
    return x, [x]


def bare_array(a: np.ndarray) -> tuple:
    return a.copy(), []


def half(a: np.ndarray) -> tuple:
    return leaf(a.astype(np.float32) if a.dtype == np.float64 else a)


def number(a: np.ndarray) -> tuple:
    return (float(a.reshape(-1)[0]) if a.size and a.dtype.kind == "f" else 2), []


STATES: list[Callable] = [
    leaf,
    constant,
    result,
    current_view,
    stale_view,
    view_of_what_came_to_require_grad,
    view_without_grad,
    view_without_grad_written,
    part_of_several,
    inference,
    parameter,
    detached_alias,
    written,
    transposed,
    strided,
    expanded,
    no_dimensions,
    empty,
    subclass,
    bare_array,
    half,
    number,
]


def hooked() -> Any:
    return dt.autograd.graph.saved_tensors_hooks(lambda t: (t,), lambda packed: packed[0])


MODES: dict[str, Callable] = {
    "no grad": dt.no_grad,
    "inference": dt.inference_mode,
    "hooks": hooked,
    "anomaly": dt.autograd.detect_anomaly,
    "function mode": BaseTorchFunctionMode,
}


# --- the two ways -----------------------------------------------------------------------------------


def general(op: Any, args: tuple, kwargs: dict) -> Any:
    """Run the op on the reference path; subclasses and modes are asked as usual."""
    mode = dt.modes.current()
    if mode.functions or any(type(t) is Tagged for t in leaves([*args, *kwargs.values()])):
        return dispatch.call(op, args, kwargs)
    return dispatch.execute(op, op.bind(args, kwargs))


def quick(op: Any, args: tuple, kwargs: dict) -> Any:
    return op.function(*args, **kwargs)


def general_inplace(op: Any, args: tuple, kwargs: dict) -> Any:
    return dispatch.call_inplace(op, args, kwargs)


def quick_inplace(op: Any, args: tuple, kwargs: dict) -> Any:
    kind = type(args[0]) if isinstance(args[0], dt.Tensor) else dt.Tensor
    return getattr(kind, f"{op.name}_", op.inplace_function)(*args, **kwargs)


@contextmanager
def formulas_from_the_declaration() -> Iterator[None]:
    """Context in which no node and no tangent has a fast path."""
    kinds = [kind for op in TABLE.values() for kind in op._node_classes if kind is not None]
    known = [
        (kind, name, vars(kind)[name]) for kind in kinds for name in ("_vjp", "_vjp_recorded") if name in vars(kind)
    ]
    views = dt.autograd.graph.__class__ and __import__("dualtape.autograd.views", fromlist=["views"])
    known += [(kind, "_vjp", kind._vjp) for kind in (views.CopySlices, views.AsStridedBackward0)]
    ways = jvp.duals.execute, jvp.duals.push
    for kind, name, _ in known:
        setattr(kind, name, lambda *given: None)
    jvp.duals.execute, jvp.duals.push = lambda *given: dispatch.MISS, lambda *given: False
    try:
        yield
    finally:
        for kind, name, value in known:
            setattr(kind, name, value)
        jvp.duals.execute, jvp.duals.push = ways


# --- what is compared -------------------------------------------------------------------------------


@contextmanager
def nothing_overriding() -> Iterator[None]:
    """Context without active overrides, in which all fast paths are on."""
    before = active_overrides.copy()
    active_overrides.clear()
    try:
        yield
    finally:
        active_overrides[:] = before


def described(t: Any) -> Any:
    """All that can be seen of a result but its numbers."""
    if not isinstance(t, dt.Tensor):
        return type(t).__name__, repr(t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        node = t.grad_fn
        names = (
            None if node is None else (node.name(), [None if n is None else n.name() for n, _ in node.next_functions])
        )
        version = None if t.is_inference() else t._version
        creation = None if t._view is None else t._view.creation
    base = None if t._base is None else tuple(t._base.shape)
    return (
        type(t).__name__,
        type(t._array).__name__,
        tuple(t.shape),
        t.dtype,
        t.requires_grad,
        t.output_nr,
        names,
        version,
        base,
        creation,
        t.is_inference(),
    )


def values_of(t: Any) -> Any:
    return np.array(t._array) if isinstance(t, dt.Tensor) else None


def outcome(
    way: Callable, op: Any, sample: Any, place: int, state: Callable, others: Callable, mode: Callable
) -> tuple:
    """What an op does: descriptions and numbers of its results, gradients (twice), versions; or its error."""
    dtype = "complex128" if op.complex == "only" else "float64"
    args, kwargs, _ = arrays(sample, dtype)
    seen: list = []
    count = 0

    def convert(a: np.ndarray) -> Any:
        nonlocal count
        made, watched = (state if count == place else others)(a)
        seen.extend(watched)
        count += 1
        return made

    numbers: list = []
    try:
        args = tuple(converted(a, convert) for a in args)
        kwargs = {k: converted(v, convert) for k, v in kwargs.items()}
        with mode():
            outs = leaves(way(op, args, kwargs))
    except Exception as error:
        return ("error", type(error).__name__), []
    inputs = [t for t in leaves([*args, *kwargs.values()]) if isinstance(t, dt.Tensor)]
    facts = [[described(t) for t in outs], [described(t) for t in inputs]]
    numbers.extend(values_of(t) for t in outs)
    roots = [
        t for t in outs if isinstance(t, dt.Tensor) and t.requires_grad and t.dtype.is_floating_point | t.is_complex()
    ]
    targets = [t for t in seen if t.requires_grad]
    if roots and targets and op.name not in ("linalg_eigh", "linalg_svd", "svd"):
        starts = [dt.tensor(np.linspace(0.5, 1.5, t.numel()).reshape(tuple(t.shape)), dtype=t.dtype) for t in roots]
        for create in (False, True):
            try:
                found = dt.autograd.grad(
                    roots, targets, starts, retain_graph=True, create_graph=create, allow_unused=True
                )
                facts.append([g is None for g in found])
                numbers.extend(values_of(g) for g in found if g is not None)
            except Exception as error:
                facts.append(type(error).__name__)
        dt.autograd.grad(roots, targets, starts, allow_unused=True) if facts[-1] and isinstance(
            facts[-1], list
        ) else None
    return tuple(map(repr, facts)), numbers


def compare(ways: tuple, op: Any, sample: Any, place: int, state: Callable, others: Callable, mode: Callable) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with formulas_from_the_declaration():
            expected, wanted = outcome(ways[0], op, sample, place, state, others, mode)
        with nullcontext() if subclass in (state, others) or mode is BaseTorchFunctionMode else nothing_overriding():
            found, got = outcome(ways[1], op, sample, place, state, others, mode)
    where = f"{op.name}{sample!r}, place {place}: {state.__name__} beside {others.__name__}, mode {mode}"
    assert found == expected, f"{where}\nfast:    {found}\ngeneral: {expected}"
    for a, b in zip(got, wanted, strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype.itemsize <= 4 else 1e-9, atol=1e-9, err_msg=where)


def tensor_count(sample: Any) -> int:
    return sum(isinstance(a, np.ndarray) for part in arrays(sample, "float64")[:1] for a in leaves(list(part)))


def states_for(op: Any) -> list:
    """An op that only others call gets tensors, and nobody asks their classes a second time."""
    return STATES if op.name in dispatch.FUNCTIONS else [s for s in STATES if s is not number and s is not subclass]


RANDOM = {"bernoulli", "dropout"}  # whose results differ from call to call
OPS = [pytest.param(op, id=op.name) for op in TABLE.values() if op.name not in RANDOM]
INPLACE = [pytest.param(op, id=op.name) for op in TABLE.values() if op.inplace]


def some_samples(op: Any, most: int) -> list:
    usable = [s for s in op.samples if tensor_count(s)]
    return usable[:most]


@pytest.mark.parametrize("op", OPS)
def test_the_fast_path_does_what_the_general_way_does(op: Any) -> None:
    for number_of, sample in enumerate(some_samples(op, 2)):
        for place in range(min(tensor_count(sample), 3)):
            for state in states_for(op):
                for others in (leaf, constant) if DEEP or not number_of else (leaf,):
                    compare((general, quick), op, sample, place, state, others, nullcontext)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", OPS)
def test_the_fast_path_does_in_every_mode_what_the_general_way_does(op: Any, mode: str) -> None:
    for sample in some_samples(op, 1):
        for place in range(min(tensor_count(sample), 2)):
            for state in (leaf, stale_view, written, parameter):
                compare((general, quick), op, sample, place, state, leaf, MODES[mode])


@pytest.mark.parametrize("op", INPLACE)
def test_the_fast_path_in_place_does_what_the_general_way_does(op: Any) -> None:
    for sample in some_samples(op, 2 if DEEP else 1):
        for place in range(min(tensor_count(sample), 3)):
            for state in STATES:
                for first in (result, constant, current_view):
                    others = lambda a, first=first: first(a)
                    others.__name__ = first.__name__
                    compare((general_inplace, quick_inplace), op, sample, place, state, others, nullcontext)
        for mode in MODES.values():
            for state in (result, constant, current_view, stale_view):
                compare((general_inplace, quick_inplace), op, sample, 0, state, leaf, mode)


# --- forward mode -----------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [p for p in OPS if p.values[0].inputs])
def test_the_quick_way_of_forward_mode_does_what_the_general_way_does(op: Any) -> None:
    for sample in some_samples(op, 2):
        for place in range(min(tensor_count(sample), 3)):
            some = {constant, leaf, stale_view, transposed, expanded, no_dimensions, half, number}
            for state in states_for(op):
                if state not in some:
                    continue
                for others in (constant, leaf):
                    compare_tangents(op, sample, place, state, others)


def compare_tangents(op: Any, sample: Any, place: int, state: Callable, others: Callable) -> None:
    where = f"{op.name}{sample!r}, place {place}: {state.__name__} beside {others.__name__}"

    def run() -> tuple:
        args, kwargs, _ = arrays(sample, "complex128" if op.complex == "only" else "float64")
        count = 0

        def convert(a: np.ndarray) -> Any:
            nonlocal count
            made, _ = (state if count == place else others)(a)
            moves = count == place or place == 0
            count += 1
            if not moves or not isinstance(made, dt.Tensor) or made._array.dtype.kind not in FLOATS:
                return made
            t = dt.tensor(np.linspace(0.5, 1.5, made.numel()).reshape(tuple(made.shape)), dtype=made.dtype)
            return fwAD.make_dual(made, t)

        try:
            with fwAD.dual_level():
                args = tuple(converted(a, convert) for a in args)
                kwargs = {k: converted(v, convert) for k, v in kwargs.items()}
                outs = leaves(op.function(*args, **kwargs))
                tangents = [fwAD.unpack_dual(o).tangent if isinstance(o, dt.Tensor) else None for o in outs]
                facts = (
                    [described(o) for o in outs],
                    [None if t is None else (tuple(t.shape), t.dtype, t.requires_grad) for t in tangents],
                )
                return repr(facts), [values_of(t) for t in tangents if t is not None]
        except Exception as error:
            return type(error).__name__, []

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with formulas_from_the_declaration():
            expected, wanted = run()
        with nothing_overriding():
            found, got = run()
    assert found == expected, f"{where}\nfast:    {found}\ngeneral: {expected}"
    if op.name not in ("linalg_eigh", "linalg_svd", "svd"):
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype.itemsize <= 4 else 1e-9, atol=1e-9, err_msg=where)
