"""Running an op: from the user's arguments to tensors with history.

:func:`call` is the whole way, for every op: bind, unwrap, promote, compute, wrap, record. The functions made by
:func:`_unary` and :func:`_binary` begin with a short cut for what nearly every call is: plain tensors of one dtype, no mode but
grad mode; anything else goes the whole way. An op that raises has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors, modes
from ..arrays import is_array, settle
from ..autograd import saved as saving
from ..autograd.node import edge_of, leaf_edge, next_sequence
from ..autograd.op_node import ATTRIBUTE, INPUTS, OUTPUT
from ..autograd.versions import bump
from ..autograd.views import DEFAULT, Step, attach, check_write, rebase
from ..tensor import Tensor, wrap
from . import table
from .table import BROADCASTING, CONTRACTION, ELEMENTWISE, FLOAT, LISTED, UFUNCS, Op

_new = object.__new__
_ndarray = np.ndarray
FUNCTIONS: dict[str, Callable] = {}  # the package's namespace

# --- the whole way -----------------------------------------------------------------------------------------------------------


def call(op: Op, args: tuple, kwargs: dict) -> Any:
    """Run ``op`` on a user's arguments."""
    out = kwargs.pop("out", None) if kwargs else None
    values = op.bind(args, kwargs)
    if out is not None:
        return _into(op, values, out)
    return execute(op, values)


def execute(op: Op, values: list) -> Any:
    """Run ``op`` on bound arguments, out of place."""
    mode = modes.current()
    raws = unwrap(op, values)
    arrays = compute(op, raws)
    several = op.outputs is not None
    results = [wrap(settle(a)) for a in arrays] if several else [wrap(settle(arrays))]
    needs = mode.grad and _needs(op, values)
    if op.view and results:
        source = values[0]
        for number, result in enumerate(results):
            if _shares(result._array, source._array):
                step = Step(None, op, tuple(values[1:]), number if several else None)
                attach(result, source, step, mode, several)
    if needs:
        record(op, values, raws, results)
    if not several:
        return results[0]
    return tuple(results) if op.outputs is LISTED else op.result_type(results)  # type: ignore[misc]


def unwrap(op: Op, values: list) -> list:
    """The raw arguments of the forward; arrays in ``values`` become tensors on the way."""
    raws = list(values)
    for place in op.tensor_places:
        value = values[place]
        if isinstance(value, Tensor):
            if value._view is not None and modes.current().grad:
                edge_of(value)  # a view that may not be used says so before anything is computed
            raws[place] = value._array
        elif value is None or isinstance(value, (bool, int, float, complex)):
            if value is not None and not op.scalars:
                raise errors.not_a_tensor(op.name, op.params[place], value)
        elif isinstance(value, (list, tuple)) and op.params[place] not in ("x", "y"):
            values[place] = [_as_tensor(op, place, v) for v in value]
            raws[place] = [v._array for v in values[place]]
        else:
            values[place] = _as_tensor(op, place, value)
            raws[place] = values[place]._array
    if op.promote is not None:
        _promote(op, raws)
    return raws


def _as_tensor(op: Op, place: int, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if is_array(value):
        array = settle(value)
        dtypes.of(array.dtype)
        return wrap(array)
    raise errors.not_a_tensor(op.name, op.params[place], value)


def _promote(op: Op, raws: list) -> None:
    operands: list = []
    places = op.input_places or op.tensor_places
    for place in places:
        value = raws[place]
        operands.extend(value if isinstance(value, list) else () if value is None else (value,))
    dtype = dtypes.result_dtype(operands)
    if op.promote is FLOAT and dtype.kind in "biu":
        dtype = dtypes.default_float()
    for place in places:
        value = raws[place]
        if isinstance(value, list):
            raws[place] = [v if v.dtype == dtype else v.astype(dtype) for v in value]
        elif value is not None:
            raws[place] = _cast(value, dtype)


def _cast(value: Any, dtype: np.dtype) -> Any:
    if hasattr(value, "astype"):
        return value if value.dtype == dtype else value.astype(dtype)
    return np.asarray(value).astype(dtype)


def compute(op: Op, raws: list) -> Any:
    """The forward, its failures in the library's words."""
    try:
        with np.errstate(all="ignore"):
            return op.forward(*raws)
    except np.exceptions.AxisError as error:
        raise IndexError(f"{op.name}: Dimension out of range: {error}") from None
    except np.linalg.LinAlgError as error:
        from .linalg_error import LinAlgError

        raise LinAlgError(f"{op.name}: {error}") from None
    except ValueError as error:
        raise errors.forward_failed(op.name, [raws[p] for p in op.tensor_places], error) from None


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
    kept = keep_inputs(op, node, values, raws)
    for k, result in enumerate(results):
        if result._array.dtype.kind in "fc":
            result._edge = (node, k)
            result._requires_grad = True
    finish_node(op, node, kept, results)


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
    node.edges = tuple(edges)
    node.extra = None
    node.seq = next_sequence()
    mode = modes.current()
    if mode.anomaly:
        mode.anomaly.remember(node)
    return node


def keep_inputs(op: Op, node: Any, values: list, raws: list) -> list:
    """What the formulas need of the arguments; places of outputs stay empty."""
    kept: list = [None] * len(op.saves)
    if not kept:
        return kept
    for k in op.plan((True,) if op.listed_input else tuple(edge is not None for edge in node.edges)):
        kind = op.saves[k][1]
        if kind == OUTPUT:
            kept[k] = _LATER
            continue
        _, place, what = op.sources[k]
        value = values[place]
        if what == "shape":
            kept[k] = [v.shape for v in raws[place]] if isinstance(value, list) else getattr(raws[place], "shape", ())
        elif what == "dtype":
            kept[k] = [v.dtype for v in raws[place]] if isinstance(value, list) else raws[place].dtype
        elif kind == INPUTS:
            kept[k] = [saving.save(v) for v in value]
        elif kind == ATTRIBUTE or not isinstance(value, Tensor):
            kept[k] = value
        else:
            kept[k] = saving.save(value)
    return kept


def finish_node(op: Op, node: Any, kept: list, results: list) -> None:
    """Complete a node with its results."""
    node.outputs = tuple((r._array.shape, r._array.dtype) for r in results)
    for k, value in enumerate(kept):
        if value is _LATER:
            number = op.saves[k][2]
            kept[k] = saving.save_output(results[number], node, number)
    node.saved = tuple(kept)


_LATER = object()  # stands in a node's saved values for an output not computed yet


def _shares(a: Any, b: Any) -> bool:
    return a.size == 0 or type(a) is not _ndarray or np.may_share_memory(a, b)


# --- in place ------------------------------------------------------------------------------------------------------------------


def call_inplace(op: Op, args: tuple, kwargs: dict) -> Tensor:
    """Run ``op`` and write its result into its first argument."""
    values = op.bind(args, kwargs)
    target = values[0]
    name = f"{op.name}_"
    if not isinstance(target, Tensor):
        raise errors.not_a_tensor(name, op.params[0], target)
    raws = unwrap(op, values)
    needs = modes.current().grad and _needs(op, values)
    check_write(target, name, needs, overlap=op.name in ("refill", "zero"))
    result = settle(compute(op, raws))
    if not needs:
        store(target, result, name)
        return target
    check_store(target, result, name)
    node = begin_node(op, values)
    kept = keep_inputs(op, node, [_before(op, node, target), *values[1:]], raws)
    store(target, result, name)
    finish_node(op, node, kept, [target])
    rebase(target, node)
    return target


def _before(op: Op, node: Any, target: Tensor) -> Tensor:
    """The target as it is before the write: a copy, if a formula needs the old value, else only its place."""
    if not any(
        op.saves[k][0] == op.params[0] for k in op.plan(tuple(edge is not None for edge in node.edges)) if op.saves
    ):
        return target
    old = wrap(target._array.copy())
    old._edge = edge_of(target)
    old._requires_grad = old._edge is not None
    return old


def check_store(target: Tensor, result: Any, name: str) -> None:
    """Raise if ``result`` cannot be written into ``target``."""
    array = target._array
    if result.shape != array.shape:
        raise errors.shape_write(name, result.shape, array.shape)
    if not dtypes.writes_to(result.dtype, array.dtype):
        raise errors.dtype_write(name, result.dtype, array.dtype)


def store(target: Tensor, result: Any, name: str) -> None:
    """Write ``result`` into the memory of ``target``, if shape and dtype allow, and count the write."""
    check_store(target, result, name)
    target._array[...] = result
    bump(target._counter)


def _into(op: Op, values: list, out: Any) -> Any:
    """The form with ``out=``: write the result there, without history."""
    outs = (out,) if isinstance(out, Tensor) else tuple(out)
    if any(not isinstance(o, Tensor) for o in outs):
        raise TypeError(f"{op.name}(): argument 'out' must be a Tensor, got {type(out).__name__}")
    raws = unwrap(op, values)
    if modes.current().grad and (_needs(op, values) or any(o.requires_grad for o in outs)):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments"
            " requires grad: drop out=, or compute under no_grad()"
        )
    for o in outs:
        check_write(o, op.name, False)
    arrays = compute(op, raws)
    results = [settle(a) for a in arrays] if op.outputs is not None else [settle(arrays)]
    for o, result in zip(outs, results, strict=True):
        if not dtypes.writes_to(result.dtype, o._array.dtype):
            raise errors.dtype_write(op.name, result.dtype, o._array.dtype)
        if o._array.shape != result.shape:
            if o._array.size:
                raise errors.shape_write(op.name, result.shape, o._array.shape)
            o._array = np.empty_like(result, dtype=o._array.dtype)
    for o, result in zip(outs, results, strict=True):
        o._array[...] = result
        bump(o._counter)
    return out


def fresh(tensor: Tensor) -> bool:
    """Whether a view's own fields tell its history: it was not written behind its back, and made where history is known."""
    view = tensor._view
    known = tensor._requires_grad or not view.base._requires_grad
    return known and view.seen == tensor._counter[0] and view.creation is DEFAULT


# --- the short cuts ---------------------------------------------------------------------------------------------------------------


def _unary(op: Op) -> Callable:
    """The function of an elementwise op of one argument."""
    forward = op.forward
    current, settled = modes.current, settle
    differentiable = bool(op.inputs)
    saves = bool(op.saves)
    plan = op.plan((True,)) if differentiable else frozenset()
    keep_x, keep_out = saves and 0 in plan, saves and 1 in plan
    rest = tuple(op.defaults[op.params.index(n) - op.required] for n, kind, _ in op.saves[2:]) if saves else ()
    new, sequence, tensor_type = _new, next_sequence, Tensor

    def function(x: Any = None, *args: Any, **kwargs: Any) -> Tensor:
        if type(x) is tensor_type and not args and not kwargs:
            mode = current()
            if mode.plain and (x._view is None or fresh(x)):
                a = x._array
                try:
                    r = forward(a)
                except (RuntimeWarning, ValueError, TypeError):
                    return call(op, (x,), {})
                if r.dtype is a.dtype:
                    out = new(tensor_type)
                    out._array = r if type(r) is _ndarray else settled(r)
                    out._edge = out._view = out._grad = out._accumulator = out._extra = None
                    out._requires_grad = False
                    version = out._counter = [0, None]
                    if x._requires_grad and mode.grad and differentiable:
                        node = new(op.node_class())
                        node.edges = (x._edge or leaf_edge(x),)
                        node.outputs = ((r.shape, r.dtype),)
                        node.extra = None
                        node.seq = sequence()
                        if saves:
                            node.saved = (
                                (x, x._counter, x._counter[0]) if keep_x else None,
                                (out._array, version, 0) if keep_out else None,
                                *rest,
                            )
                        else:
                            node.saved = ()
                        out._edge = (node, 0)
                        out._requires_grad = True
                    return out
        if x is None and "input" in kwargs:
            x = kwargs.pop("input")
        return call(op, (x, *args), kwargs)

    return function


def _binary(op: Op, operator: bool = False) -> Callable:
    """The function of a broadcasting op of two arguments; as an operator, it leaves foreign types to Python."""
    forward = op.forward
    current, settled = modes.current, settle
    differentiable = bool(op.inputs)
    saves = bool(op.saves)
    plans: dict[tuple[bool, bool], tuple] = {}
    if differentiable:
        for needs in ((True, False), (False, True), (True, True)):
            flags = tuple(needs[i] for i, p in enumerate(op.params[:2]) if p in op.inputs)
            plan = op.plan(flags)
            plans[needs] = (saves and 0 in plan, saves and 1 in plan, saves and 2 in plan)
    rest = tuple(op.defaults[op.params.index(n) - op.required] for n, kind, _ in op.saves[3:]) if saves else ()
    new, sequence, tensor_type = _new, next_sequence, Tensor
    both = len(op.inputs) == 2
    numbers = op.scalars
    missing = table._MISSING

    def function(x: Any = missing, y: Any = missing, *args: Any, **kwargs: Any) -> Any:
        if type(x) is tensor_type and not kwargs and not args:
            mode = current()
            a = x._array
            kind = type(y)
            if kind is tensor_type:
                b = y._array
                fits = b.dtype is a.dtype and (y._view is None or fresh(y))
            else:
                b = y
                fits = numbers and (kind is float or kind is int)
            if fits and mode.plain and (x._view is None or fresh(x)):
                try:
                    r = forward(a, b)
                except (RuntimeWarning, ValueError, TypeError, OverflowError):
                    return call(op, (x, y), {})
                if r.dtype is a.dtype or not differentiable and kind is tensor_type:
                    out = new(tensor_type)
                    out._array = r if type(r) is _ndarray else settled(r)
                    out._edge = out._view = out._grad = out._accumulator = out._extra = None
                    out._requires_grad = False
                    version = out._counter = [0, None]
                    if differentiable and mode.grad:
                        left = x._requires_grad
                        right = kind is tensor_type and y._requires_grad
                        if (left or right) and both:
                            node = new(op.node_class())
                            node.edges = (
                                (x._edge or leaf_edge(x)) if left else None,
                                (y._edge or leaf_edge(y)) if right else None,
                            )
                            node.outputs = ((r.shape, r.dtype),)
                            node.extra = None
                            node.seq = sequence()
                            if saves:
                                keep_x, keep_y, keep_out = plans[left, right]
                                node.saved = (
                                    (x, x._counter, x._counter[0]) if keep_x else None,
                                    ((y, y._counter, y._counter[0]) if kind is tensor_type else y) if keep_y else None,
                                    (out._array, version, 0) if keep_out else None,
                                    *rest,
                                )
                            else:
                                node.saved = ()
                            out._edge = (node, 0)
                            out._requires_grad = True
                    return out
        given = (x,) if y is missing else (x, y, *args)
        if operator and not isinstance(y, (Tensor, int, float, complex)) and not is_array(y):
            return NotImplemented
        return call(op, () if x is missing else given, kwargs)

    return function


def _general(op: Op) -> Callable:
    def function(*args: Any, **kwargs: Any) -> Any:
        return call(op, args, kwargs)

    return function


def _inplace(op: Op) -> Callable:
    def function(*args: Any, **kwargs: Any) -> Tensor:
        return call_inplace(op, args, kwargs)

    return function


# --- publishing ---------------------------------------------------------------------------------------------------------------------


def _maker(op: Op) -> Callable:
    if op.kind == ELEMENTWISE and op.required == 1 and op.outputs is None and op.tensor_places == (0,):
        return _unary
    if op.kind in (BROADCASTING, CONTRACTION) and op.tensor_places == (0, 1) and op.required == 2 and op.variant is None:
        return _binary
    return _general


def _named(function: Callable, name: str, op: Any, module: str = "dualtape") -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = op.doc
    return function


def publish(op: Op, *, method: bool | str, public: bool, also: Sequence[str]) -> None:
    """Give an op its function, its methods and its NumPy entry."""
    function = op.function = _named(_maker(op)(op), op.name, op)
    if hasattr(op.forward, "__code__"):
        function.__wrapped__ = op.forward  # type: ignore[attr-defined]
    if isinstance(op.forward, np.ufunc):
        UFUNCS[op.forward] = function
    for name in (op.name, *also):
        if public:
            FUNCTIONS[name] = function
        if method:
            _add_method(method if isinstance(method, str) else name, function)
        if op.inplace:
            _add_method(f"{name}_", _named(_inplace(op), f"{name}_", op))


def publish_composite(row: Any, *, method: bool, public: bool, also: Sequence[str]) -> Callable:
    for name in (row.name, *also):
        if public:
            FUNCTIONS[name] = row.function
        if method:
            _add_method(name, row.function)
    return row.function


def _add_method(name: str, function: Callable) -> None:
    if name not in Tensor.__dict__:
        setattr(Tensor, name, function)


def operators() -> None:
    """Put the Python operators on Tensor, from the table's rows."""
    binary = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "true_divide", "floordiv": "floor_divide", "mod": "remainder",
        "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "matmul": "matmul",
        "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    }  # fmt: skip
    for dunder, name in binary.items():
        if name not in FUNCTIONS: continue  # TEMPORARY
        row = table.TABLE.get(name)
        if row is not None and _maker(row) is _binary:
            forward = _binary(row, operator=True)
        else:
            forward = _operator(FUNCTIONS[name])
        setattr(Tensor, f"__{dunder}__", forward)
        setattr(Tensor, f"__r{dunder}__", _reflected(FUNCTIONS[name]))
        if f"{name}_" in Tensor.__dict__:
            setattr(Tensor, f"__i{dunder}__", Tensor.__dict__[f"{name}_"])
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__{name}__", _binary(table.TABLE[name], operator=True))
    for dunder, name in {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}.items():
        setattr(Tensor, f"__{dunder}__", FUNCTIONS[name])


def _operator(function: Callable) -> Callable:
    def operator(x: Any, y: Any) -> Any:
        if not isinstance(y, (Tensor, int, float, complex)) and not is_array(y):
            return NotImplemented
        return function(x, y)

    return operator


def _reflected(function: Callable) -> Callable:
    def operator(y: Any, x: Any) -> Any:
        if not isinstance(x, (Tensor, int, float, complex)) and not is_array(x):
            return NotImplemented
        return function(x, y)

    return operator


