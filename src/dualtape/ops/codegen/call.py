"""The function that users call: run the forward on arrays, wrap the result, record a node.

It handles plain tensors of one dtype with no mode active but grad mode. There are three templates: one or two tensors,
elementwise; one tensor with options (views and reductions); all other ops.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import modes
from ..._tensor.tensor import Tensor
from ...arrays.kernels.memory_order import in_rows
from ...autograd.saved import keep_output
from ...overrides.active_overrides import Declined, active_overrides, silent
from ..dispatch import call, later
from ..saves import OUTPUT
from ..table import ELEMENTWISE, FLOAT, LISTED, MISSING, REDUCTION, Op
from .source import NAMES, Code, edge, is_plain, new_node, new_tensor, new_view, node_kind, saved_values

# What to do with two numbers: NumPy's scalars multiply in an eighth of the time that its arrays of no dimensions take.
POINTS: dict[Any, Callable] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
}


def template(op: Op) -> Callable[[Op], Code]:
    """Return the template for an op."""
    if op.kind == ELEMENTWISE and op.required == 1 and not op.view or op.is_pointwise_pair:
        return pointwise
    if (
        op.tensor_places == (0,)
        and op.listed_place is None
        and (op.outputs is None or op.outputs is LISTED and op.view)
    ):
        return one_tensor
    return general


def keywords(op: Op, values: tuple, kwargs: dict) -> Any:
    """Handle a call with keywords: bind them to positions, and call again."""
    args = op.given(values)
    if active_overrides or "out" in kwargs or not modes.current().plain:
        return call(op, args, kwargs)
    return op.function(*op.bind(args, kwargs))


def operator_call(op: Op, args: tuple, kwargs: dict) -> Any:
    """Run :func:`call` for an operator: if everyone declines, return NotImplemented for the other operand."""
    try:
        return call(op, args, kwargs)
    except Declined:
        return NotImplemented


NAMES.update(
    _call=call,
    _operator_call=operator_call,
    _silent=silent,
    _keywords=keywords,
    _missing=MISSING,
    _dual_way=later("jvp", "run"),
    _batched_first=later("batching", "recorded"),
)


# --- beginnings and endings -------------------------------------------------------------------------


def entry(op: Op, name: str, keywords: str = "_keywords", call: str = "_call") -> tuple[Code, str]:
    """Return the beginning of a function of ``op``, and the statement that calls the reference path.

    Parameters are positional here: keywords are passed on as they were given, since what overrides an op sees them.
    """
    params, required = op.params, op.required
    defaults = {f"_default_{p}": d for p, d in zip(params[required:], op.defaults, strict=True)}
    named = [p for p in params[1:] if p not in (*op.keywords, "y", "z")]  # those two have other names outside
    if op.varargs is None:
        listed = [f"{p}={'_missing' if i < required else f'_default_{p}'}" for i, p in enumerate(params)]
        listed.insert(len(params) - len(op.keywords), "/")
        code = Code(f"def {name}({', '.join(listed)}, **kwargs):", **defaults)
        values = f"({''.join(p + ', ' for p in params if p not in op.keywords)})"
    else:
        code = Code(f"def {name}({params[0]}=_missing, *{params[1]}, **kwargs):", **defaults)
        values, named = f"({params[0]}, *{params[1]})", []
    given = "{}"
    if op.keywords:
        pairs = "".join(f"({p!r}, {p}, _default_{p}), " for p in op.keywords)
        given = f"{{_name: _value for _name, _value, _default in ({pairs}) if _value is not _default}}"
    with code.block("if kwargs:"):
        all_named = f"{{**kwargs, **{given}}}" if op.keywords else "kwargs"
        unusual = f"return {keywords}(_op, {values}, {all_named})"
        if named:
            code.names["_named"] = frozenset(named)
            with code.block("if _active_overrides or not _named.issuperset(kwargs):"):
                code(unusual)
            for p in named:
                with code.block(f"if {p!r} in kwargs:"):
                    with code.block(f"if {p} is not {'_missing' if params.index(p) < required else f'_default_{p}'}:"):
                        code(unusual)  # it was given twice
                    code(f"{p} = kwargs[{p!r}]")
        else:
            code(unusual)
    return code, f"return {call}(_op, _op.given({values}), {given})"


def must_refuse_complex(op: Op) -> bool:
    """Return whether the function must test for complex numbers: the op refuses them, but its forward might not."""
    forward = op.numpy_forward or op.forward
    if op.complex is not False or not op.tensor_places:
        return False
    return not isinstance(forward, np.ufunc) or any("F" in kinds.partition("->")[0] for kinds in forward.types)


def computed(code: Code, op: Op, call_text: str, bail: str) -> None:
    """Write the call of the forward, with floating-point warnings off where needed; if it fails, the reference path
    fails again with the right message.
    """
    with code.block("try:"):
        if op.quiet:
            code("_before = _fp_errors()")
            with code.block("try:"):
                code("_ignore_fp_errors()", f"_r = {call_text}")
            with code.block("finally:"):
                code("_restore_fp_errors(_before)")
        else:
            code(f"_r = {call_text}")
    code("except _FinalError:", "    raise")
    with code.block("except Exception:"):
        code(bail)


def recorded(code: Code, op: Op, saved: str, edges: str, hooks: bool) -> None:
    """Write the lines that record a node for the result ``_out`` over ``_r``."""
    if any(saves[1] == OUTPUT and users for saves, users in zip(op.saves, op.users, strict=True)) and not op.view:
        code("_out._version_counter = _counter = [0, None]")
    code(*new_node(node_kind(code, op), edges, saved, "_r.shape", "_r.dtype"))
    code("_out._edge = (_node, 0)", "_out._requires_grad = True")
    if hooks:
        code("if _mode.saved_hooks:", "    _pack_node(_node, (_out,), _mode.saved_hooks[-1])")


# --- element by element -----------------------------------------------------------------------------


def pointwise(op: Op, as_operator: bool = False, other: Callable | None = None, kind: type | None = None) -> Code:
    """Write an elementwise op of one or two tensors over any kind of array; the second may be a Python number.

    ``kind`` is the class of the results, if not Tensor.
    """
    x, y = op.params[0], op.params[1] if op.required == 2 else ""
    rest = op.params[op.required :]
    if as_operator:
        code = Code(f"def operator({x}, {y}):", _other=other, **_names_of(kind))
        bail = f"return _other({x}, {y})" if other else f"return _operator_call(_op, ({x}, {y}), {{}})"
        code.names.update({f"_default_{p}": d for p, d in zip(rest, op.defaults, strict=True)})
    else:
        code, bail = entry(op, op.name)
    forward = op.numpy_forward or op.forward
    code.names["_forward"] = forward
    conditions = ["_mode.quick", f"({x}._view is None or _history_is_current({x}))"]
    arguments = ["_a", "_b"][: op.required]
    if op.numpy_forward is not None and not as_operator:
        conditions.extend(f"{p} is _default_{p}" for p in rest)  # it is the op of its required arguments alone
    elif op.numpy_forward is None:
        arguments.extend(f"_default_{p}" if as_operator else p for p in rest)
    if must_refuse_complex(op):
        conditions.insert(0, "_dtype.kind != 'c'")
    if kind is not None:  # integers have rules of their own there
        conditions.insert(0, "(_dtype is _double or _dtype is _single)")
    with code.block(f"if {is_plain(x)}:"):
        code("_mode = _current()", f"_a = {x}._array", "_dtype = _a.dtype")
        if y:
            _second_operand(code, op, y)
            conditions.insert(0, "_fits")
        with code.block(f"if {' and '.join(conditions)}:"):
            with code.block("try:"):
                _forward_pair(code, op, y, f"_forward({', '.join(arguments)})", forward)
            with code.block("except _FAILURES:"):
                code(bail)
            with code.block(f"if {_keeps_dtype(op, y)}:"):
                _pointwise_result(code, op, x, y, bail, as_operator)
        if other is None:
            fits = "_fits and " if y else ""
            given = f"({x}, {y})" if as_operator else f"_op.given(({''.join(p + ', ' for p in op.params)}))"
            with code.block(f"if {fits}_mode.levels and not _active_overrides and not _mode.saved_hooks:"):
                code(f"return _dual_way(_op, {given}, _mode)")
    if as_operator and kind is None:
        foreign = f"not isinstance({y}, (_Tensor, int, float, complex)) and not _is_array({y})"
        with code.block(f"if {foreign} and not hasattr(type({y}), '__torch_function__'):"):
            code("return NotImplemented")
    code(bail)
    return code


def _names_of(kind: type | None) -> dict[str, Any]:
    """Return the names that an operator of ``kind``, if it is not Tensor's, has for others: also where the forward
    refuses what NumPy computes, the reference path goes on.
    """
    if kind is None:
        return {}
    return {
        "_Tensor": kind,
        "_Base": Tensor,
        "_keep_output": keep_output,
        "_FAILURES": (*NAMES["_FAILURES"], NotImplementedError),
    }


def _second_operand(code: Code, op: Op, y: str) -> None:
    with code.block(f"if {is_plain(y)}:"):
        code(f"_b = {y}._array", f"_right = {y}._requires_grad")
        code(f"_fits = _b.dtype is _dtype and ({y}._view is None or _history_is_current({y}))")
    with code.block("else:"):
        code(f"_b = {y}", "_right = False")
        number = f"type({y}) is float or type({y}) is int"
        if not isinstance(op.numpy_forward or op.forward, np.ufunc):  # it may keep a dtype that the number lifts
            number = f"({number}) and _dtype.kind in 'fc'"
        code(f"_fits = {number}" if op.scalars else "_fits = False")


def _forward_pair(code: Code, op: Op, y: str, call_text: str, forward: Any) -> None:
    """Write the forward of two operands; a number beside an array becomes an array, which takes half the time, and
    beside a 0-d array a scalar.
    """
    if not y or not op.scalars:
        code(f"_r = {call_text}")
        return
    with code.block(
        f"if _b is not {y} or _dtype is not _single and _dtype is not _double or type(_a) is not _ndarray:"
    ):
        code(f"_r = {call_text}")
    if forward in POINTS:
        code.names["_point"] = POINTS[forward]
        with code.block("elif not _a.ndim:"):
            code(f"_r = _b = _asarray(_point(_a[()], {y}))")
    with code.block("else:"):
        code(f"_b = (_SINGLES if _dtype is _single else _DOUBLES).get({y})")
        with code.block("if _b is None:"):
            code(f"_b = _number_array({y}, _dtype)")
        code(f"_r = {call_text}")


def _keeps_dtype(op: Op, y: str) -> str:
    """Return the condition under which NumPy's result has the dtype of PyTorch's."""
    if op.inputs or op.promote is FLOAT:
        return "_r.dtype is _dtype"
    return f"_r.dtype is _dtype or _b is not {y}" if y else "True"


def _pointwise_result(code: Code, op: Op, x: str, y: str, bail: str, as_operator: bool) -> None:
    flags = {0: f"{x}._requires_grad", 1: "_right"}
    needs = [flags[place] for place in op.input_places]
    with code.block("if type(_r) is not _ndarray:"):
        code("if isinstance(_r, _scalar):", "    _r = _asarray(_r)")
        code("elif isinstance(_r, _Tensor):", f"    {bail}")  # an option was a tensor
        code("elif type(_r) is not _Batched:", "    _r = _as_array(_r)")
        if y and needs:  # one of the two has to be batched first, if it is not
            with code.block(f"elif _mode.grad and ({' or '.join(needs)}) and not _alike(_r, _a, _b):"):
                code(f"return _batched_first(_op, {x}, {y}, _r)" if len(needs) == 2 else bail)
    code(*new_tensor("_r"))
    if needs:
        edges = [
            f"({edge(v)}) if {flags[p]} else None" if len(needs) > 1 else edge(v) for p, v in enumerate((x, y)) if v
        ]
        edges = [e for p, e in enumerate(edges) if p in op.input_places]
        if as_operator and len(op.params) > 2:
            code(*(f"{p} = _default_{p}" for p in op.params[2:]))
        with code.block(f"if _mode.grad and ({' or '.join(needs)}):"):
            saved = saved_values(
                op, needs, op.params.__getitem__, ("_a", "_b").__getitem__, lambda _: "(_r, _counter, 0)"
            )
            if "_Base" in code.names:  # what is saved of arrays of NumPy's kind is copied before a write
                saved = saved.replace(" is _Tensor and", " is _Base and")
            recorded(code, op, saved, f"({', '.join(edges)},)", hooks=True)
            if "_Base" in code.names and any(kind == OUTPUT for _, kind, _ in op.saves):
                code("_keep_output(_out)")
    code("return _out")


# --- one tensor and options -------------------------------------------------------------------------


def one_tensor(op: Op) -> Code:
    """Write an op of one tensor, over any kind of array: views and reductions. The other arguments are passed on
    unchanged.
    """
    x, rest = op.params[0], op.params[1:]
    code, bail = entry(op, op.name)
    # What the wrapper of a reduction does for memory order, the code below does without a call.
    code.names["_forward"] = op.forward.__wrapped__ if op.kind == REDUCTION else op.forward  # type: ignore[attr-defined]
    if op.varargs is not None:
        dims = rest[0]
        with code.block(f"if not {dims} or type({dims}[0]) is not int:"):  # a sequence of integers, or what is unusual
            with code.block(f"if len({dims}) != 1:"):
                code(bail)
            code(f"{dims}, = {dims}")
            bail = f"return _call(_op, _op.given(({x}, {dims})), {{}})"
    conditions = [f"({is_plain(x)})"]
    if op.required > 1 and op.varargs is None:
        conditions.append(f"{op.params[op.required - 1]} is not _missing")
    code("_mode = _current()")
    with code.block(f"if _mode.plain and {' and '.join(conditions)}:"):
        code(f"_a = {x}._array", f"_outer = {x}._view")
        current = f"_history_is_current({x})" + (" and _outer.creation is _DEFAULT" if op.view else "")
        usual = f"(_outer is None or {current})"
        if must_refuse_complex(op):
            usual += " and _a.dtype.kind != 'c'"
        if op.promote is FLOAT:
            usual += " and _a.dtype.kind in 'fc'"
        if op.outputs is LISTED:
            usual += " and type(_a) is _ndarray"
        with code.block(f"if {usual}:"):
            everything = f"_forward({', '.join(['_a', *rest])})"
            if op.numpy_forward is not None:  # all of a tensor in single or double precision
                code.names["_numpy_forward"] = op.numpy_forward
                whole = " and ".join(f"{p} is _default_{p}" for p in rest)
                plain = "type(_a) is _ndarray and (_a.dtype is _single or _a.dtype is _double)"
                code(f"_alone = {whole} and {plain}")
                with code.block("if _alone:"):
                    with code.block("try:"):
                        code("_r = _numpy_forward(_a)")
                    code("except _FinalError:", "    raise")
                    with code.block("except Exception:"):
                        code(bail)
                with code.block("else:"):
                    computed(code, op, everything, bail)
            else:
                computed(code, op, everything, bail)
            _several_views(code, op) if op.outputs is LISTED else _one_result(code, op, bail)
    code(bail)
    return code


def _values(op: Op) -> str:
    return f"({''.join(p + ', ' for p in op.params[1:])})"


def _saved_of_one(op: Op, output: str) -> str:
    return saved_values(op, ["True"], op.params.__getitem__, ("_a",).__getitem__, lambda _: output)


def _refuse_dtypes_of_options(code: Code, op: Op, dtype: str | None, bail: str) -> None:
    """Write the test for options that are NumPy scalars, whose dtype would affect the result."""
    options = [p for place, p in enumerate(op.params) if place not in op.tensor_places]
    defaults = dict(zip(op.params[op.required :], op.defaults, strict=True))
    numbers = [p for p in options if p in _NUMBERS or isinstance(defaults.get(p), float)]
    if numbers:
        changed = "" if dtype is None else f"_r.dtype is not {dtype} and "
        code(f"if {changed}({' or '.join(f'isinstance({p}, _scalar)' for p in numbers)}):", f"    {bail}")


_NUMBERS = frozenset(("alpha", "beta", "value", "p"))


def _one_result(code: Code, op: Op, bail: str) -> None:
    x = op.params[0]
    _refuse_dtypes_of_options(code, op, "_a.dtype", bail)
    with code.block("if type(_r) is not _ndarray:"):
        code("if isinstance(_r, _Tensor):", f"    {bail}")  # an option was a tensor
        code("_r = _asarray(_r) if isinstance(_r, _scalar) else _as_array(_r)")
    if op.kind == REDUCTION:
        code.names["_in_rows"] = in_rows
        with code.block("elif _r.ndim > 1 and not _r.flags.c_contiguous:"):
            code("_r = _in_rows(_r)")
    code(*new_tensor("_r"))
    if op.view:
        code(f"_out._version_counter = _counter = {x}._version_counter or {x}._shared_counter")
        with code.block("if _outer is None:"):
            code(f"_base, _step = {x}, (None, _op, {_values(op)}, None)")
        with code.block("else:"):
            code(f"_base, _step = _outer.base, (_outer.step, _op, {_values(op)}, None)")
        code(*new_view("_base", "_step", "_DEFAULT if _mode.grad else _NO_GRAD", "_counter[0]"))
    if op.inputs:
        with code.block(f"if {x}._requires_grad and _mode.grad and (_r.dtype is _a.dtype or _r.dtype.kind in 'fc'):"):
            saved = _saved_of_one(op, "(_r, _counter, _counter[0])" if op.view else "(_r, _counter, 0)")
            recorded(code, op, saved, f"({edge(x)},)", hooks=False)
    code("return _out")


def _several_views(code: Code, op: Op) -> None:
    x = op.params[0]
    code(f"_counter = {x}._version_counter or {x}._shared_counter", "_node = None")
    with code.block(f"if {x}._requires_grad and _mode.grad:"):
        code(*new_node(node_kind(code, op), f"({edge(x)},)", _saved_of_one(op, "None"), "None", "None"))
        code("_node._outputs = tuple([(_each.shape, _each.dtype) for _each in _r])")
    code(f"_base, _previous = ({x}, None) if _outer is None else (_outer.base, _outer.step)")
    code("_creation, _requires = _MULTI_OUTPUT if _mode.grad else _NO_GRAD, _node is not None", "_outs = []")
    with code.block("for _number, _each in enumerate(_r):"):
        place = {"_edge": "(_node, _number) if _requires else None", "_requires_grad": "_requires"}
        code(*new_tensor("_each", _version_counter="_counter", **place))
        step = f"(_previous, _op, {_values(op)}, _number)"
        code(*new_view("_base", step, "_creation", "_counter[0]"), "_outs.append(_out)")
    code("return tuple(_outs)")


# --- all others -------------------------------------------------------------------------------------


def general(op: Op) -> Code:
    """Write an op of several tensors, lists of tensors, or several results, over NumPy's arrays."""
    code, bail = entry(op, op.name)
    code.names["_forward"] = op.forward
    code("_mode = _current()")
    others = "".join(f"{p}, " for i, p in enumerate(op.params) if i not in op.tensor_places)
    asked = f" or _active_overrides and not _silent.issuperset(map(type, ({others})))" if others else ""
    with code.block(f"if not _mode.plain{asked}:"):
        code(bail)
    together = op.input_places or op.tensor_places  # which are promoted together
    promoted = op.promote is not None
    if promoted:
        code("_dtype = None")
    for place in op.tensor_places:
        _argument(code, op, place, place in together and promoted, bail)
    if promoted:
        floats = "_dtype is not _single and _dtype is not _double" if op.promote is FLOAT else "_dtype is None"
        with code.block(f"if {floats}:"):
            code(bail)
        for place in together:
            if op.scalars:  # a number, of the dtype of what it stands beside
                with code.block(f"if type(_a{place}) is float or type(_a{place}) is int:"):
                    with code.block("if _dtype is not _single and _dtype is not _double:"):
                        code(bail)
                    with code.block("try:"):
                        code(f"_a{place} = _asarray(_a{place}, _dtype)")
                    with code.block("except Exception:"):
                        code(bail)
    if must_refuse_complex(op):
        arrays = [f"getattr(_a{i}, 'dtype', _single).kind == 'c'" for i in op.tensor_places if i != op.listed_place]
        with code.block(f"if {' or '.join(arrays)}:"):
            code(bail)
    raws = [f"_a{i}" if i in op.tensor_places else p for i, p in enumerate(op.params)]
    computed(code, op, f"_forward({', '.join(raws)})", bail)
    if op.outputs is None:
        _refuse_dtypes_of_options(code, op, "_dtype" if promoted else None, bail)
        with code.block("if type(_r) is not _ndarray:"):
            code("if isinstance(_r, _Tensor):", f"    {bail}")  # an option was a tensor
            code("_r = _as_array(_r)")
        code(*new_tensor("_r"))
        outs = "(_out,)"
    else:
        code("_outs = [_wrap(_each if type(_each) is _ndarray else _as_array(_each)) for _each in _r]")
        outs = "_outs"
    if op.view:
        rest = f"({''.join(p + ', ' for p in op.params[1:])})"
        with code.block(f"for _number, _each in enumerate({outs}):"):
            number = "None" if op.outputs is None else "_number"
            several = op.outputs is not None
            code(f"_attach(_each, {op.params[0]}, (None, _op, {rest}, {number}), _mode, {several})")
    if op.inputs:
        needs = [f"_n{place}" for place in op.input_places]
        with code.block(f"if _mode.grad and ({' or '.join(needs)}):"):
            _recorded_generally(code, op, needs)
    if op.outputs is None:
        code("return _out")
    else:
        code("return tuple(_outs)" if op.outputs is LISTED else "return _op.result_type(_outs)")
    return code


def _argument(code: Code, op: Op, place: int, joins: bool, bail: str) -> None:
    """Write the lines that take an argument: its array ``_a``, and ``_n``, whether it needs a gradient."""
    p, a, n = op.params[place], f"_a{place}", f"_n{place}"
    is_input = place in op.input_places
    if is_input:
        code(f"{n} = False")
    if place == op.listed_place:
        with code.block(f"if (type({p}) is not list and type({p}) is not tuple) or not {p}:"):
            code(bail)
        code(f"{a} = []")
        with code.block(f"for _each in {p}:"):
            with code.block(f"if not ({is_plain('_each')}):"):
                code(bail)
            _array(code, "_each", "_array", joins, bail)
            code(f"{a}.append(_array)")
            if is_input:
                code("if _each._requires_grad:", f"    {n} = True")
        return
    with code.block(f"if {is_plain(p)}:"):
        _array(code, p, a, joins, bail)
        if is_input:
            code(f"{n} = {p}._requires_grad")
    with code.block(f"elif {p} is None{f' or type({p}) is float or type({p}) is int' if op.scalars else ''}:"):
        code(f"{a} = {p}")
    with code.block("else:"):
        code(bail)


def _array(code: Code, tensor: str, array: str, joins: bool, bail: str) -> None:
    code(f"{array} = {tensor}._array")
    stale = f"{tensor}._view is not None and not _history_is_current({tensor})"
    with code.block(f"if type({array}) is not _ndarray or {stale}:"):
        code(bail)
    if joins:
        with code.block("if _dtype is None:"):
            code(f"_dtype = {array}.dtype")
        with code.block(f"elif {array}.dtype is not _dtype:"):
            code(bail)


def _recorded_generally(code: Code, op: Op, needs: list[str]) -> None:
    one = op.outputs is None
    output = (lambda _: "(_r, _counter, 0)") if one else "_output_entry(_outs[{}])".format
    saved = saved_values(op, needs, op.params.__getitem__, "_a{}".format, output)
    if op.listed_place is not None:
        p = op.params[op.listed_place]
        edges = f"tuple([_t._edge or (_leaf_edge(_t) if _t._requires_grad else None) for _t in {p}])"
    else:
        sides = [f"({edge(op.params[place])}) if _n{place} else None" for place in op.input_places]
        edges = f"({''.join(side + ', ' for side in sides)})"
    if one:
        with code.block("if _r.dtype.kind in 'fc':"):
            recorded(code, op, saved, edges, hooks=False)
        return
    code("_floats = [_k for _k, _each in enumerate(_outs) if _each._array.dtype.kind in 'fc']")
    with code.block("if _floats:"):
        code(*new_node(node_kind(code, op), edges, saved, "None", "None"))
        code("_node._outputs = tuple([(_each._array.shape, _each._array.dtype) for _each in _outs])")
        with code.block("for _k in _floats:"):
            code("_outs[_k]._edge = (_node, _k)", "_outs[_k]._requires_grad = True")
