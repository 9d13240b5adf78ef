"""The in-place form of an op: written directly into memory where views and leaves allow it.

Every check comes before any change. Then the write is counted, the history attached, and the memory written last, in
one call, so that an interrupt leaves nothing partly written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import modes
from ..._tensor.tensor import Tensor
from ...arrays import is_array
from ...arrays.kernels.numbers import LONG, element, fits_into
from ...overrides.active_overrides import Declined, active_overrides, overrides
from ..dispatch import call_inplace
from ..saves import INPUT
from ..table import BROADCASTING, ELEMENTWISE, Op
from .call import entry
from .source import NAMES, Code, edge, is_plain, new_node, node_kind, saved_values

_PLAIN = {int, float, bool, type(None), str}


def operator_inplace(op: Op, args: tuple, kwargs: dict) -> Any:
    """:func:`call_inplace` for an operator."""
    if not isinstance(args[1], (Tensor, int, float, complex)) and not is_array(args[1]) and not overrides(args[1]):
        return NotImplemented
    try:
        return call_inplace(op, args, kwargs)
    except Declined:
        return NotImplemented


def keywords(op: Op, values: tuple, kwargs: dict) -> Any:
    """Handle a call with keywords: bind them to positions, and call again."""
    args = op.given(values)
    if active_overrides or not modes.current().plain:
        return call_inplace(op, args, kwargs)
    return op.inplace_function(*op.bind(args, kwargs))


def holds_nothing(value: Any) -> bool:
    """Return whether an argument that is not a tensor (an option, a tuple of indices) contains plain values only."""
    if type(value) is tuple:
        return all(type(i._array if type(i) is Tensor else i) in (np.ndarray, slice) for i in value)
    return type(value) in _PLAIN


NAMES.update(
    _call_inplace=call_inplace,
    _operator_inplace=operator_inplace,
    _keywords_inplace=keywords,
    _element=element,
    _fits_into=fits_into,
    _long=LONG,
    _holds_nothing=holds_nothing,
    _multiply=np.multiply,
)


def _is_ufunc(op: Op) -> bool:
    """Return whether NumPy computes the op with ``out=``."""
    pointwise = op.kind in (ELEMENTWISE, BROADCASTING) and len(op.tensor_places) == op.required <= 2
    return pointwise and isinstance(_of_reals(op), np.ufunc) and len(op.inputs) == op.required and op.variant is None


def _of_reals(op: Op) -> Any:
    """Return the function that computes the op in single and double precision: a forward may declare a ufunc for
    these.
    """
    forward = op.numpy_forward or op.forward
    return getattr(forward, "of_reals", forward)


def write(op: Op, call: str = "_call_inplace") -> Code:
    """Return the source of the in-place form."""
    x = op.params[0]
    code, bail = entry(op, f"{op.name}_", "_keywords_inplace", call)
    ufunc = _is_ufunc(op)
    conditions = ["_mode.plain", f"({is_plain(x)})"]
    if op.required > 1:
        conditions.append(f"{op.params[op.required - 1]} is not _missing")
    code("_mode = _current()")
    with code.block(f"if {' and '.join(conditions)}:"):
        code(f"_a0 = {x}._array", "_dtype = _a0.dtype", f"_counter = {x}._version_counter or {x}._shared_counter")
        dtypes = "_dtype is _single or _dtype is _double" + (" or _dtype is _long" if op.overwrites else "")
        usual = f"type(_a0) is _ndarray and ({dtypes}) and _counter is not _UNTRACKED"
        with code.block(f"if {usual}:"):
            code("_flags = _a0.flags")
            with code.block("if not _flags.writeable or not _flags.c_contiguous and not _disjoint(_a0):"):
                code(bail)
            code(f"_n0 = _mode.grad and ({x}._requires_grad if {x}._view is None else {x}.requires_grad)")
            for place in op.tensor_places[1:]:
                _argument(code, op, place, bail)
            for place, p in enumerate(op.params):
                if place not in op.tensor_places and not (ufunc and p == "alpha") and op.numpy_change is None:
                    with code.block(f"if not _holds_nothing({p}):"):
                        code(bail)
            if ufunc and op.params[-1] == "alpha":
                _scaled(code, bail)
            flags = {place: f"_n{place}" if place in op.input_places else "False" for place in op.tensor_places}
            needs = [flags[place] for place in op.input_places]
            _prepared(code, op, flags, needs, ufunc, bail)
            code("_bump(_counter)")
            if needs and op.numpy_change is None:
                with code.block(f"if {' or '.join(needs)}:"):
                    _attached(code, op, needs)
            _written(code, op, ufunc)
            code(f"return {x}")
    code(bail)
    return code


def _argument(code: Code, op: Op, place: int, bail: str) -> None:
    """Write the lines that take an argument after the first: its array, and whether it needs a gradient."""
    p, a, n = op.params[place], f"_a{place}", f"_n{place}"
    joins = place in op.input_places or not op.inputs
    code(f"{n} = False")
    with code.block(f"if {is_plain(p)}:"):
        code(f"{a} = {p}._array")
        with code.block(f"if type({a}) is not _ndarray{f' or {a}.dtype is not _dtype' if joins else ''}:"):
            code(bail)
        if place in op.input_places:
            code(f"{n} = _mode.grad and ({p}._requires_grad if {p}._view is None else {p}.requires_grad)")
    if op.overwrites:
        with code.block("else:"):
            code(f"{a} = _element({p}, _dtype)", f"if {a} is None:", f"    {bail}")
        return
    if op.scalars:
        with code.block(f"elif type({p}) is float or type({p}) is int:"):
            with code.block("try:"):
                code(f"{a} = _number_array({p}, _dtype)" if op.promote is not None else f"{a} = {p}")
            with code.block("except (RuntimeWarning, FloatingPointError, OverflowError):"):
                code(bail)
    with code.block("else:"):
        code(bail)


def _scaled(code: Code, bail: str) -> None:
    """Write the product of the second operand with ``alpha``."""
    with code.block("if alpha is not _default_alpha:"):
        with code.block("if type(alpha) is not float:"):
            code(bail)
        with code.block("try:"):
            code("_a1 = _multiply(_a1, _number_array(alpha, _dtype))")
        with code.block("except (RuntimeWarning, FloatingPointError, OverflowError):"):
            code(bail)


def _prepared(code: Code, op: Op, flags: dict[int, str], needs: list[str], ufunc: bool, bail: str) -> None:
    """Write all checks that may refuse: rules of histories, and the shape of the result."""
    x, others = op.params[0], [op.params[place] for place in op.tensor_places[1:]]
    if needs:
        with code.block(f"if {' or '.join(needs)}:"):
            if op.numpy_change is not None:  # which records nothing
                code(bail)
            else:
                refused = [f"not _may_record_write({x}, _n0)"]
                for p in others:  # an alias of x beside it; a history that is to be renewed
                    stale = f"{p}._view is not None and not _history_is_current({p})"
                    refused.append(f"isinstance({p}, _Tensor) and ({p}._version_counter is _counter or {stale})")
                with code.block(f"if {' or '.join(refused)}:"):
                    code(bail)
    if ufunc:
        if others:
            with code.block("if _a1.ndim and _a1.shape != _a0.shape and not _fits_into(_a1, _a0):"):
                code(bail)
            # Where they overlap, NumPy writes to a copy of a, which it drops if it then complains about a value.
            alias = f"type({others[0]}) is _Tensor and {others[0]}._version_counter is _counter and _a1 is not _a0"
            code(f"if {alias}:", "    _a1 = _a1.copy()")
    elif op.overwrites:
        for place in op.tensor_places[1:]:
            limit = "0" if op.overwrites == "value" else "_a0.ndim"
            differs = f"_a{place}.ndim and _a{place}.shape != _a0.shape and not _fits_into(_a{place}, _a0)"
            with code.block(f"if _a{place}.ndim > {limit} or {differs}:"):
                code(bail)
    else:
        _computed(code, op, bail)


def _computed(code: Code, op: Op, bail: str) -> None:
    """Write the lines that compute the result, or the summand for x, in memory of its own."""
    raws = ", ".join(f"_a{i}" if i in op.tensor_places else p for i, p in enumerate(op.params))
    if op.numpy_change is not None:
        code.names["_change"] = op.numpy_change
        code("try:", f"    _r = _change({raws})")
        code("except _FinalError:", "    raise", "except Exception:", f"    {bail}")
    else:
        code.names["_forward"] = op.forward
        code("_before = _fp_errors()", "try:", "    _ignore_fp_errors()", f"    _r = _forward({raws})")
        code(
            "except _FinalError:",
            "    raise",
            "except Exception:",
            f"    {bail}",
            "finally:",
            "    _restore_fp_errors(_before)",
        )
    with code.block("if _r.shape != _a0.shape or _r.dtype is not _dtype:"):
        code(bail)


def _attached(code: Code, op: Op, needs: list[str]) -> None:
    x = op.params[0]
    users = {
        i
        for (name, kind, _), users in zip(op.saves, op.users, strict=True)
        if kind == INPUT and name == x
        for i in users
    }
    if users:
        with code.block(f"if {' or '.join(needs[i] for i in sorted(users))}:"):
            code("_old = _wrap(_a0.copy())", f"_old._edge, _old._requires_grad = {x}._edge, _n0")
    tensor = lambda place: "_old" if place == 0 else op.params[place]
    saved = saved_values(op, needs, tensor, "_a{}".format, lambda _: "(_a0, _counter, _counter[0])")
    edges = "".join(
        f"{x}._edge if _n0 else None, " if place == 0 else f"({edge(op.params[place])}) if _n{place} else None, "
        for place in op.input_places
    )
    code(*new_node(node_kind(code, op), f"({edges})", saved, "_a0.shape", "_dtype"))
    with code.block(f"if {x}._view is None and ({x}._edge is None or {x}._edge[0]._extra is None):"):
        code(f"{x}._edge = (_node, 0)", f"{x}._requires_grad = True")
    with code.block("else:"):
        code(f"_rebase({x}, _node)")


def _written(code: Code, op: Op, ufunc: bool) -> None:
    if op.overwrites:
        code(f"_a0[...] = {'_a1' if len(op.tensor_places) > 1 else '0'}")
    elif not ufunc and op.numpy_change is None:
        code("_a0[...] = _r")
    else:
        code.names["_ufunc"] = np.add if op.numpy_change is not None else _of_reals(op)
        other = "_r, " if op.numpy_change is not None else "_a1, " if op.required == 2 else ""
        # NumPy 2.4 skips elements of negative in place, at some strides.
        if op.forward is np.negative:
            code("if not _flags.c_contiguous:", "    _a0[...] = _ufunc(_a0)", f"    return {op.params[0]}")
        code("try:", f"    _ufunc(_a0, {other}_a0)")
        code("except (RuntimeWarning, FloatingPointError):", "    pass  # raised when all is written")
