"""Running an op: from the user's arguments to tensors with history.

:func:`call` is the whole way, for every op: bind, unwrap, promote, compute, wrap, record; :func:`call_inplace`
writes the result into the first argument. The short cuts for what nearly every call is are next door. An op that
raises has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .. import errors, modes
from .._tensor import dtypes
from .._tensor.device import of as device_of
from .._tensor.tensor import Tensor, wrap
from ..arrays import Batched, as_array, is_array, module_of
from ..arrays.batched.array import DYNAMIC, DynamicShape, NotBatchable, any_batched, holds, newest, per_sample
from ..arrays.bfloat16_dtype import cast, number
from ..arrays.fp_errors import fp_errors, ignore_fp_errors, restore_fp_errors
from ..autograd.node import edge_of, next_sequence
from ..autograd.saved import output_entry
from ..autograd.tangents import active, tangent
from ..autograd.versions import bump
from ..autograd.views import attach, check_write, rebase, twin, untrack
from ..errors import warn
from ..overrides.active_overrides import MISS, activate_for, active_overrides
from .op_node import as_a_whole, pack_node
from .saves import INPUT, OUTPUT
from .table import CONTRACTION, FLOAT, LISTED, Op, Registry

_new = object.__new__
FUNCTIONS: dict[str, Callable] = Registry()  # the package's namespace
NAMESPACES: dict[str, dict[str, Callable]] = {}  # those below it: "linalg", "nn.functional", a user's own

# --- the whole way --------------------------------------------------------------------------------


def call(op: Op, args: tuple, kwargs: dict) -> Any:
    """Run ``op`` on a user's arguments."""
    if active_overrides:
        # the name that users know
        answer = _asked(FUNCTIONS["div"] if op.name == "true_divide" else op.function, args, kwargs)
        if answer is not MISS:
            return answer
    mode = modes.current()
    if mode.profiler is not None:
        return mode.profiler.op(op, op.function, args, kwargs, mode, op.name)
    if mode.tracing is not None:
        args, kwargs = mode.tracing.operands(op, args, kwargs)
    if mode.saved_hooks:
        unhooked = mode.unhooked or modes.without_hooks(mode)
        if unhooked.plain and _usual(args) and (not kwargs or "out" not in kwargs and _usual(kwargs.values())):
            return _packing(op, args, kwargs, mode, unhooked)
    try:
        if mode.levels and not kwargs and not active_overrides:
            return _forward_args(op, args, mode)
        if kwargs and "out" in kwargs:
            rest = dict(kwargs)
            out = rest.pop("out")
            if out is not None:
                return _into(op, op.bind(args, rest), out)
            kwargs = rest
        return execute(op, op.bind(args, kwargs))
    except Exception:  # an op that users do not know leaves it to the function that they called
        public = op.function is FUNCTIONS.get(op.name) or op.function is vars(Tensor).get(op.name)
        if active_overrides or not public or not activate_for(args, kwargs):
            raise
        return call(op, args, kwargs)


def _asked(function: Callable, args: tuple, kwargs: dict) -> Any:
    """What a subclass or a mode answers in the place of ``function``."""
    from ..overrides.subclass import intercept

    return intercept(function, args, kwargs)


def _usual(values: Any) -> bool:
    """Whether all of ``values`` are plain tensors over NumPy's arrays, or options that hold none."""
    for value in values:
        kind = type(value)
        if kind is Tensor or isinstance(value, Tensor) and not active_overrides:
            if type(value._array) is not np.ndarray:
                return False
        elif kind not in _OPTIONS and not (
            (kind is tuple or kind is list) and all(type(each) is int for each in value)
        ):
            return False
    return True


_OPTIONS = {int, float, bool, str, type(None), dtypes.dtype}


def _packing(op: Op, args: tuple, kwargs: dict, mode: modes.Mode, unhooked: modes.Mode) -> Any:
    """The op where hooks on saved tensors are all that is unusual: by its short cut, and then what its node saved
    goes through the hooks.
    """
    try:
        modes._set(unhooked)
        result = op.function(*args, **kwargs)
    finally:
        modes._set(mode)
    if mode.grad and op.saves_tensors:
        results = (result,) if op.outputs is None else result
        edge = (
            results[0]._edge
            if len(results) == 1
            else next((each._edge for each in results if each._edge is not None), None)
        )
        if edge is not None:
            pack_node(edge[0], results, mode.saved_hooks[-1])
    return result


def execute(op: Op, values: list) -> Any:
    """Run ``op`` on bound arguments, out of place."""
    if active_overrides:
        from ..overrides.dispatch import execute as dispatched

        answer = dispatched(op, values)
        if answer is not MISS:
            return answer
    mode = modes.current()
    if mode.levels and not active_overrides:
        return _forward(op, values, mode)
    if not active_overrides:
        for value in values[:2]:
            if type(value) is Tensor and type(value._array) is Batched:
                answer = _pointwise(op, values, mode, value._array)
                if answer is not MISS:
                    return answer
                break
    raws = unwrap(op, values)
    arrays = compute(op, raws)
    several = op.outputs is not None
    results = [wrap(as_array(a)) for a in arrays] if several else [wrap(as_array(arrays))]
    if mode.anomaly is not None:
        mode.anomaly.look_forward(op, raws, [r._array for r in results])
    needs = mode.grad and _needs(op, values)
    if mode.inference:
        for result in results:
            untrack(result)
    if op.view:
        for number, result in enumerate(results):
            attach(result, values[0], (None, op, tuple(values[1:]), number if several else None), mode, several)
        needs = needs and not values[0].is_inference()  # of which a view is one too, and has no history
    if needs:
        record(op, values, raws, results)
    if mode.levels:  # where subclasses are about
        from .jvp import levels_for, propagate

        propagate(op, values, results, levels_for(op, mode))
    if not several:
        return results[0]
    return tuple(results) if op.outputs is LISTED else op.result_type(results)  # type: ignore[misc]


def later(module: str, name: str) -> Callable:
    """A function of a module that is read when it is first called; an import statement in the caller would cost
    each call what a small op does.
    """
    found: Any = None

    def function(*args: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(import_module(f".{module}", __package__), name)
        return found(*args)

    return function


_forward_args, _forward = later("jvp", "run"), later("jvp", "execute")
_pointwise, _lift_arguments = later("batching", "pointwise"), later("batching", "lift_arguments")


def unwrap(op: Op, values: list) -> list:
    """The raw arguments of the forward; arrays in ``values`` become tensors on the way."""
    for place, value in enumerate(values):
        if isinstance(value, Tensor) and place not in op.tensor_places:
            values[place] = _number(op, place, value)
        elif isinstance(value, np.generic) and place not in op.tensor_places:
            values[place] = value.item()  # a number, which has no dtype to bring along
    raws = list(values)
    for place in op.tensor_places:
        value = values[place]
        if place == op.listed_place and not isinstance(value, (list, tuple)):
            raise errors.not_a_list(op.name, op.params[place], value)
        if isinstance(value, Tensor):
            if value._view is not None and modes.current().grad:
                edge_of(value)  # a view that may not be used says so before anything is computed
            raws[place] = value._array
        elif value is None:
            if (op.scalars or op.kind == CONTRACTION) and not (
                place >= op.required and op.defaults[place - op.required] is None
            ):
                raise errors.not_a_tensor(op.name, op.params[place], value)
        elif isinstance(value, (bool, int, float, complex)):
            if not op.scalars:
                raise errors.not_a_tensor(op.name, op.params[place], value)
        elif isinstance(value, (list, tuple)) and op.params[place] not in ("x", "y"):
            values[place] = [_as_tensor(op, place, v) for v in value]
            raws[place] = [v._array for v in values[place]]
        else:
            values[place] = _as_tensor(op, place, value)
            raws[place] = values[place]._array
    if any_batched(raws):
        _lift_arguments(op, values, raws)
    for place in op.tensor_places:
        if type(raws[place]) is not np.ndarray and module_of(raws[place]) is not np:
            _gather_numbers(op, values, raws, raws[place])
            break
    if op.promote is not None:
        _promote(op, raws)
    return raws


def _number(op: Op, place: int, value: Tensor) -> Any:
    """A tensor in the place of an option: the number it holds, if nothing is lost by that."""
    if value.requires_grad:
        raise TypeError(
            f"{op.name}(): argument {op.params[place]!r} must be a number, got a Tensor that requires grad, whose"
            " history would be lost: pass x.item(), or write the formula out"
        )
    # an array that can be settled is one of bfloat16 in memory, which has a number as NumPy's arrays have
    known = type(value._array) is np.ndarray or hasattr(value._array, "settle")
    return value.item() if not value.ndim and known else value


def _gather_numbers(op: Op, values: list, raws: list, other: Any) -> None:
    """Bring 0-d arrays of NumPy's to the device of ``other``: unlike larger ones they may stand beside another
    library's arrays.
    """
    module = module_of(other)
    # NumPy's arrays of any size may stand beside this kind, and become it
    takes_in = getattr(module, "takes_in", False)
    for place in op.tensor_places:
        value = values[place]
        if takes_in and type(raws[place]) is np.ndarray:
            raws[place] = module.asarray(raws[place])
        elif type(raws[place]) is np.ndarray and not raws[place].ndim:
            values[place] = (
                value.to(device_of(other)) if value.requires_grad else wrap(module_of(other).asarray(raws[place]))
            )
            raws[place] = values[place]._array


def _as_tensor(op: Op, place: int, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if is_array(value):
        array = as_array(value)
        dtypes.of(array.dtype)
        tracing = modes.current().tracing
        return wrap(array if tracing is None else tracing.array(array))
    raise errors.not_a_tensor(op.name, op.params[place], value)


def _promote(op: Op, raws: list) -> None:
    places = op.input_places or op.tensor_places
    kinds: set[Any] = {getattr(raws[place], "dtype", None) for place in places}
    if len(kinds) == 1 and None not in kinds and (op.promote is not FLOAT or kinds.pop().kind in "fc"):
        return  # nothing to bring together
    operands: list = []
    for place in places:
        value = raws[place]
        operands.extend(value if isinstance(value, list) else () if value is None else (value,))
    if not operands:
        return  # an empty list: the forward says so
    dtype = dtypes.result_dtype(operands)
    if op.promote is FLOAT and dtype.kind in "biu":
        dtype = dtypes.default_float()
    beside = (raws[place] for place in op.tensor_places if place not in places and raws[place] is not None)
    plain = all(isinstance(o, (np.ndarray, bool, int, float, complex)) for o in (*operands, *beside))
    before = fp_errors()
    try:
        ignore_fp_errors()
        for place in places:
            value = raws[place]
            if isinstance(value, list):
                raws[place] = [v if v.dtype == dtype else cast(v, dtype) for v in value]
            elif value is not None:
                raws[place] = in_dtype(value, dtype, plain)
    finally:
        restore_fp_errors(before)


def in_dtype(value: Any, dtype: np.dtype, plain: bool) -> Any:
    """An array or a number as an array of a dtype; ``plain`` says that all others are NumPy's."""
    if hasattr(value, "astype"):
        return value if value.dtype == dtype else cast(value, dtype)
    found = number(value, dtype)
    return found if plain else found[()]  # beside another library's arrays a number must not be an array of NumPy's


def _refuse_complex(op: Op, raws: list) -> None:
    for raw in raws:
        if getattr(getattr(raw, "dtype", None), "kind", "") == "c":
            raise NotImplementedError(
                f"{op.name}: not implemented for {raw.dtype}, 'Complex' numbers: take abs(), real or imag first"
            )


def compute(op: Op, raws: list) -> Any:
    """The forward, its failures in the library's words."""
    if op.complex is False:
        _refuse_complex(op, raws)
    before = fp_errors()
    try:
        ignore_fp_errors()
        if op.whole and modes.current().tracing is not None:
            return as_a_whole(op.forward, raws)
        return op.forward(*raws)
    except NotBatchable as error:
        if type(error) is DynamicShape and op.name in DYNAMIC:
            raise
        return per_sample(lambda *each: compute(op, list(each)), newest(raws), raws, {}, op.name)
    except (AttributeError, ZeroDivisionError, LookupError, AssertionError, OverflowError) as error:
        if isinstance(error, np.exceptions.AxisError):
            raise IndexError(f"{op.name}: Dimension out of range: {error}") from None
        raise errors.explained(op.name, error, op.params, raws) from None
    except TypeError as error:
        if "ufunc" not in str(error) and "numpy boolean" not in str(error):
            raise errors.explained(op.name, error, op.params, raws) from None
        kinds = ", ".join(str(getattr(raws[p], "dtype", raws[p])) for p in op.tensor_places)
        raise NotImplementedError(
            f"{op.name} is not implemented for {kinds}: convert the tensor with .to(...) first"
        ) from None
    except np.linalg.LinAlgError as error:
        from .linalg_error import LinAlgError

        raise error if isinstance(error, LinAlgError) else LinAlgError(f"{op.name}: {error}") from None
    except errors.ArgumentError:
        raise
    except ValueError as error:
        raise errors.forward_failed(op.name, [raws[p] for p in op.tensor_places], error) from None
    finally:
        restore_fp_errors(before)


def _needs(op: Op, values: list) -> bool:
    for place in op.input_places:
        value = values[place]
        if isinstance(value, list):
            if any(v.requires_grad for v in value):
                return True
        elif isinstance(value, Tensor) and value.requires_grad:
            return True
    return False


def record(op: Op, values: list, raws: list, results: list) -> None:
    """Leave a node for a computed op, and attach its results to it."""
    if not any(r._array.dtype.kind in "fc" for r in results):
        return
    node = begin_node(op, values)
    needed = {number for (_, kind, number), users in zip(op.saves, op.users, strict=True) if kind == OUTPUT and users}
    entries = [output_entry(r) if k in needed else None for k, r in enumerate(results)]
    node._saved = op.save(values, raws, entries, needs_of(op, node))
    node._outputs = tuple([(r._array.shape, r._array.dtype) for r in results])
    for k, result in enumerate(results):
        if result._array.dtype.kind in "fc":
            result._edge = (node, k)
            result._requires_grad = True
    hooks = modes.current().saved_hooks
    if hooks:
        pack_node(node, tuple(results), hooks[-1])


def begin_node(op: Op, values: list) -> Any:
    """A node with its edges; what it saves and gives comes after."""
    edges: list = []
    for place in op.input_places:
        value = values[place]
        if isinstance(value, list):
            edges.extend(edge_of(v) for v in value)
        else:
            edges.append(edge_of(value) if isinstance(value, Tensor) else None)
    node = _new(op.node_class(0 if op.variant is None else op.variant(*values)))
    node._edges = tuple(edges)
    node._extra = None
    node._seq = next_sequence()
    mode = modes.current()
    if mode.anomaly:
        mode.anomaly.remember(node)
    return node


def needs_of(op: Op, node: Any) -> tuple:
    """Which inputs of a node's op need a gradient."""
    if op.listed_place is not None:
        return (any([edge is not None for edge in node._edges]),)
    return tuple([edge is not None for edge in node._edges])


# --- in place -------------------------------------------------------------------------------------


def _inplace_method(op: Op) -> Callable:
    return getattr(Tensor, _inplace_name(op), getattr(op, "inplace_function", op.function))


INPLACE_NAMES = {"refill": "fill_", "true_divide": "div_"}


def _inplace_name(op: Op) -> str:
    """The name that users know."""
    return INPLACE_NAMES.get(op.name) or f"{op.name}_"


def call_inplace(op: Op, args: tuple, kwargs: dict) -> Tensor:
    """Run ``op`` and write its result into its first argument."""
    if active_overrides:
        answer = _asked(_inplace_method(op), args, kwargs)
        if answer is not MISS:
            return answer
    mode = modes.current()
    if mode.profiler is not None:
        return mode.profiler.op(op, _inplace_method(op), args, kwargs, mode, _inplace_name(op))
    if mode.tracing is not None:
        args, kwargs = mode.tracing.operands(op, args, kwargs)
    try:
        return _write(op, op.bind(args, kwargs))
    except Exception:
        if active_overrides or not activate_for(args, kwargs):
            raise
        return call_inplace(op, args, kwargs)


def _write(op: Op, values: list) -> Tensor:
    """Run ``op`` on bound arguments, in place."""
    target = values[0]
    name = _inplace_name(op)
    if not isinstance(target, Tensor):
        raise errors.not_a_tensor(name, op.params[0], target)
    if active_overrides:
        from ..overrides.dispatch import execute_inplace

        answer = execute_inplace(op, values)
        if answer is not MISS:
            return answer
    raws = unwrap(op, values)
    if values[0] is not target:
        raise errors.batched_write(name)
    mode = modes.current()
    needs = mode.grad and _needs(op, values)
    check_write(target, name, needs, overlap=op.name in ("refill", "zero"))
    if mode.levels and _moving(op, values, mode):
        return _write_moving(op, values, name, mode)
    result = as_array(compute(op, raws))
    if mode.anomaly is not None:
        mode.anomaly.look_forward(op, raws, [result])
    if not needs:
        store(target, result, name)
        return target
    check_store(target, result, name)
    node = begin_write(op, values, raws, _before(op, values, target))
    store(target, result, name, node)
    pack_written(node, target)
    return target


def begin_write(op: Op, values: list, raws: list, old: Tensor) -> Any:
    """The node of a write to the first argument, whose value before it is ``old``; the write is to come."""
    node = begin_node(op, values)
    target = values[0]
    counter = target._shared_counter
    results = [(target._array, counter, counter[0] + 1)]
    node._saved = op.save([old, *values[1:]], raws, results, needs_of(op, node))
    node._outputs = ((target._array.shape, target._array.dtype),)
    hooks = modes.current().saved_hooks
    if hooks:  # before the write: they see what was there, and may fail
        pack_node(node, None, hooks[-1])
    return node


def pack_written(node: Any, target: Tensor) -> None:
    """What a node saved of what was written goes through the hooks."""
    hooks = modes.current().saved_hooks
    if hooks:
        pack_node(node, (target,), hooks[-1])


def _moving(op: Op, values: list, mode: modes.Mode) -> bool:
    """Whether an argument has a tangent."""
    from .jvp import moving

    return moving(op, values, mode)


def _has_tangent(tensor: Tensor, mode: modes.Mode) -> bool:
    return any(tangent(tensor, level) is not None for level in active(mode))


def _write_moving(op: Op, values: list, name: str, mode: modes.Mode) -> Tensor:
    """An op in place on what has tangents: computed beside, with its tangents, then written into the target and
    into the target's.
    """
    from .jvp import written

    target = values[0]
    # nodes keep the old values, tangents included
    old = FUNCTIONS["clone"](target) if target._array.dtype.kind in "fc" else target
    result = execute(op, [old, *values[1:]])
    node = None if result._edge is None else result._edge[0]
    # it is behind the result's tangent too
    store(target, result._array, name, node if node is None or target._view is None else twin(node))
    written(target, result, mode)
    return target


def _before(op: Op, values: list, target: Tensor) -> Tensor:
    """The target as it is before the write: a copy, if a formula needs the old value, else only its place."""
    inputs = [v if not isinstance(v, list) else None for v in (values[place] for place in op.input_places)]
    needs = [isinstance(v, Tensor) and v.requires_grad for v in inputs]
    for (name, kind, _), users in zip(op.saves, op.users, strict=True):
        if kind == INPUT and name == op.params[0] and any([needs[i] for i in users]):
            old = wrap(target._array.copy())
            old._edge = edge_of(target)
            old._requires_grad = old._edge is not None
            return old
    return target


def check_store(target: Tensor, result: Any, name: str) -> None:
    """Raise if ``result`` cannot be written into ``target``."""
    array = target._array
    if result.shape != array.shape:
        raise errors.shape_write(name, result.shape, array.shape)
    if type(result) is Batched and not holds(array, result):
        raise errors.batched_write(name)
    if not dtypes.writes_to(result.dtype, array.dtype):
        raise errors.dtype_write(name, result.dtype, array.dtype)


def store(target: Tensor, result: Any, name: str, node: Any = None) -> None:
    """Write ``result`` into the memory of ``target``, if shape and dtype allow; ``node`` is its history, if it has one.

    It is counted and recorded first, and written last: whatever interrupts the program finds nothing half done.
    """
    check_store(target, result, name)
    array = target._array
    bump(target._shared_counter)
    if node is not None:
        rebase(target, node)
    array[...] = result


def _into(op: Op, values: list, out: Any) -> Any:
    """The form with ``out=``: write the result there, without history."""
    outs = _outs(op.name, out)
    raws = unwrap(op, values)
    mode = modes.current()
    if (mode.grad and (_needs(op, values) or any(o.requires_grad for o in outs))) or (
        mode.levels and (_moving(op, values, mode) or any(_has_tangent(o, mode) for o in outs))
    ):
        raise errors.no_history_for_out(op.name)
    for o in outs:
        check_write(o, op.name, False)
    arrays = compute(op, raws)
    _fill(op.name, outs, [as_array(a) for a in arrays] if op.outputs is not None else [as_array(arrays)])
    return out


def written_out(name: str, out: Any, result: Any) -> Any:
    """``out``, into which the result of a function made of other ops is written."""
    outs, results = _outs(name, out), (result,) if isinstance(result, Tensor) else tuple(result)
    if len(outs) != len(results):
        raise TypeError(f"{name}(): argument 'out' must be {len(results)} tensors, got {len(outs)}")
    mode = modes.current()
    moving = mode.levels and any(_has_tangent(t, mode) for t in (*outs, *results))
    if moving or mode.grad and any(t.requires_grad for t in (*outs, *results)):
        raise errors.no_history_for_out(name)
    for o in outs:
        check_write(o, name, False)
    _fill(name, outs, [r._array for r in results])
    return out


def _outs(name: str, out: Any) -> tuple:
    outs = (out,) if isinstance(out, Tensor) else tuple(out) if isinstance(out, (tuple, list)) else (None,)
    if any(not isinstance(o, Tensor) for o in outs):
        raise TypeError(f"{name}(): argument 'out' must be a Tensor, got {type(out).__name__}")
    return outs


def _fill(name: str, outs: tuple, results: list) -> None:
    """Write results into tensors, all or none of them."""
    for o, result in zip(outs, results, strict=True):
        if not dtypes.writes_to(result.dtype, o._array.dtype):
            raise errors.dtype_write(name, result.dtype, o._array.dtype)
        if o._array.shape != result.shape:
            if o._array.size:
                warn(
                    f"{name}: an output with one or more elements was resized since it had shape"
                    f" {list(o._array.shape)}, which does not"
                    f" match the required output shape {list(result.shape)}: pass an empty tensor, or one of the right"
                    " shape",
                    UserWarning,
                )
        elif type(result) is Batched and not holds(o._array, result):
            raise errors.batched_write(name)
    for o, result in zip(outs, results, strict=True):
        bump(o._shared_counter)
        if o._array.shape == result.shape:
            o._array[...] = result
        else:
            o._array = cast(result, o._array.dtype)
