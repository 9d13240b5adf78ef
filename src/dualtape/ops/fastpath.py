"""Short cuts: the functions users call, which begin with the way that nearly every call takes.

Plain tensors of one dtype, no mode but grad mode: then the forward runs on the arrays, and result and node are
filled in slot by slot, in one function without calls that could be saved. Whatever is unusual (another type, a
keyword, a mode, a view whose history must be renewed, a failure) goes the whole way through :func:`dispatch.call`,
which alone words errors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor, wrap
from ..arrays import Batched, as_array, is_array
from ..arrays.batched.array import NotBatchable, alike
from ..arrays.fp_errors import ignore_fp_errors, restore_fp_errors
from ..arrays.kernels.numbers import DOUBLES, SINGLES, number_array
from ..autograd.node import leaf_edge, next_sequence
from ..autograd.saved import entry_of, output_entry, pack_node
from ..autograd.views import DEFAULT, INFERENCE, MULTI_OUTPUT, NO_GRAD, View, attach
from ..overrides.watching import watching
from . import table
from .dispatch import call, later
from .op_node import ATTRIBUTE, OUTPUT
from .table import BROADCASTING, CONTRACTION, ELEMENTWISE, FLOAT, LISTED, Op

_new = object.__new__
_ndarray = np.ndarray
_scalar = np.generic  # what NumPy gives for a 0-d result
asarray = np.asarray
current = modes.current
missing = table._MISSING
recorded, dual_way = later("batching", "recorded"), later("jvp", "run")
single, double = np.dtype(np.float32), np.dtype(np.float64)
# subclasses of Tensor to which operations do what they do to a Tensor: nn.Parameter, once it is loaded
plain_types: set[type] = set()


def maker(op: Op) -> Callable[[Op], Callable]:
    """The short cut that fits an op."""
    if op.outputs is None and op.tensor_places == (0,) and not op.listed:
        if op.kind == ELEMENTWISE and op.required == 1 and not op.view:
            return unary
        return whole if "forward" in op.quick else first_tensor
    if op.outputs is LISTED and op.view and op.tensor_places == (0,) and op.varargs is None:
        return parts
    if (
        op.listed_input
        and op.tensor_places == (0,)
        and op.outputs is None
        and op.required == 1
        and not op.saves_tensors
        and not op.view
    ):
        return joining
    if op.kind in (BROADCASTING, CONTRACTION) and op.tensor_places == (0, 1) and op.required == 2:
        return binary
    return general


def history_is_current(tensor: Tensor) -> bool:
    """Whether a view's own fields tell its history: it was not written behind its back, and made where history is
    known.
    """
    view = tensor._view
    return (
        view.seen == tensor._version_counter[0]
        and (tensor._requires_grad or not view.base._requires_grad)
        and view.creation is not INFERENCE
    )


def own_code(function: Any) -> None:
    """Give a short cut a copy of its code: CPython then learns where the slots of this op's nodes are, and not of
    all nodes in turn.
    """
    function.__code__ = function.__code__.replace()


# --- the short cuts -------------------------------------------------------------------------------


def unary(op: Op) -> Callable:
    """The function of an elementwise op of one argument."""
    forward = op.quick.get("forward", op.forward)
    differentiable = bool(op.inputs)
    saves = bool(op.saves)
    plan = op.plan((True,)) if saves and differentiable else frozenset()
    keep_x, keep_out = 0 in plan, 1 in plan
    rest = tuple(op.defaults[op.params.index(n) - op.required] for n, _, _ in op.saves[2:])

    node_type: Any = None

    def function(x: Any = None, *args: Any, **kwargs: Any) -> Tensor:
        nonlocal node_type
        if (type(x) is Tensor or type(x) in plain_types) and not args and not kwargs:
            mode = current()
            if mode.quick and (x._view is None or history_is_current(x)):
                a = x._array
                try:
                    r = forward(a)
                except (RuntimeWarning, ValueError, TypeError, NotBatchable):
                    return call(op, (x,), {})
                dtype = r.dtype
                if dtype is a.dtype:
                    if type(r) is not _ndarray:
                        r = asarray(r) if isinstance(r, _scalar) else as_array(r)
                    out = _new(Tensor)
                    out._array = r
                    out._edge = out._version_counter = out._view = out._grad = out._grad_accumulator = out._extra = None
                    if x._requires_grad and mode.grad and differentiable:
                        if node_type is None:
                            node_type = op.node_class()
                            own_code(function)
                        node = _new(node_type)
                        node._edges = (x._edge or leaf_edge(x),)
                        node._shape = r.shape
                        node._dtype = dtype
                        node._extra = None
                        node._seq = next_sequence()
                        if keep_out:
                            out._version_counter = counter = [0, None]
                            node._saved = (entry_of(x) if keep_x else None, (r, counter, 0))
                        else:
                            node._saved = (
                                (
                                    (x if x._version_counter is None and type(x) is Tensor else entry_of(x))
                                    if keep_x
                                    else None,
                                    None,
                                )
                                if saves
                                else ()
                            )
                        if rest:
                            node._saved += rest
                        out._edge = (node, 0)
                        out._requires_grad = True
                        if mode.saved_hooks:
                            pack_node(node, (out,), mode.saved_hooks[-1])
                    else:
                        out._requires_grad = False
                    return out
            if mode.levels and not watching and not mode.saved_hooks:
                return dual_way(op, (x,), mode)
        if x is None and "input" in kwargs:
            x = kwargs.pop("input")
        return call(op, (x, *args), kwargs)

    return function


# What to do with two numbers: NumPy's scalars multiply in an eighth of the time that its arrays of no dimensions take.
POINTS: dict[Any, Callable] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
}


def binary(op: Op, as_operator: bool = False, other: Callable | None = None) -> Callable:
    """The function of a broadcasting op of two arguments; as an operator, it leaves foreign types to Python.

    ``other`` takes what is unusual.
    """
    forward = op.quick.get("forward", op.forward)
    unusual = other or (lambda x, y: call(op, (x, y), {}))
    differentiable = bool(op.inputs)
    saves = bool(op.saves)
    of_x = of_y = of_both = (
        None  # what to keep (x, y, the result) where x, y or both need a gradient; known when the first node is made
    )
    rest = tuple(op.defaults[op.params.index(n) - op.required] for n, _, _ in op.saves[3:])
    both = len(op.inputs) == 2
    numbers, variant, point = op.scalars, op.variant, POINTS.get(forward)
    node_type: Any = None  # made when the first node is

    def pair(x: Any, y: Any) -> Any:
        nonlocal node_type, of_x, of_y, of_both
        if type(x) is Tensor or type(x) in plain_types:
            mode = current()
            a = x._array
            dtype = a.dtype
            if type(y) is Tensor or type(y) in plain_types:
                b = y._array
                fits = b.dtype is dtype and (y._view is None or history_is_current(y))
                right = y._requires_grad
            else:
                b = y
                fits = numbers and (type(y) is float or type(y) is int)
                right = False
            if fits and mode.quick and (x._view is None or history_is_current(x)):
                try:
                    if b is not y or dtype is not single and dtype is not double or type(a) is not _ndarray:
                        r = forward(a, b)
                    elif a.ndim or point is None:
                        b = (SINGLES if dtype is single else DOUBLES).get(y)
                        if b is None:
                            b = number_array(y, dtype)
                        r = forward(a, b)
                    else:
                        r = b = asarray(point(a[()], y))
                except (RuntimeWarning, ValueError, TypeError, AttributeError, OverflowError, NotBatchable):
                    return unusual(x, y)
                if r.dtype is dtype or not differentiable and b is not y:
                    if type(r) is not _ndarray:
                        if isinstance(r, _scalar):
                            r = asarray(r)
                        elif type(r) is not Batched:
                            r = as_array(r)
                        elif mode.grad and (right or x._requires_grad) and not alike(r, a, b):
                            # one of the two has to be batched first
                            return recorded(op, x, y, r) if both else unusual(x, y)
                    out = _new(Tensor)
                    out._array = r
                    out._edge = out._version_counter = out._view = out._grad = out._grad_accumulator = out._extra = None
                    left = x._requires_grad
                    if (left or right) and both and mode.grad:
                        if node_type is None:
                            node_type = op.node_class()
                            of_x, of_y, of_both = _pair_plans(op)
                            own_code(pair)
                        node = _new(node_type if variant is None else op.node_class(variant(x, y)))
                        if left:
                            node._edges = (x._edge or leaf_edge(x), (y._edge or leaf_edge(y)) if right else None)
                        else:
                            node._edges = (None, y._edge or leaf_edge(y))
                        node._shape = r.shape
                        node._dtype = dtype
                        node._extra = None
                        node._seq = next_sequence()
                        if saves:
                            keep_x, keep_y, keep_out = of_both if left and right else of_x if left else of_y  # type: ignore[misc]
                            if keep_out:
                                out._version_counter = [0, None]
                            kept = (
                                (x if x._version_counter is None and type(x) is Tensor else entry_of(x))
                                if keep_x
                                else None,
                                (entry_of(y) if type(y) is not Tensor or y._version_counter is not None else y)
                                if keep_y
                                else None,
                                (r, out._version_counter, 0) if keep_out else None,
                            )
                            node._saved = kept + rest if rest else kept
                        else:
                            node._saved = ()
                        out._edge = (node, 0)
                        out._requires_grad = True
                        if mode.saved_hooks:
                            pack_node(node, (out,), mode.saved_hooks[-1])
                    else:
                        out._requires_grad = False
                    return out
            if fits and mode.levels and other is None and not watching and not mode.saved_hooks:
                return dual_way(op, (x, y), mode)
        if (
            as_operator
            and not isinstance(y, (Tensor, int, float, complex))
            and not is_array(y)
            and not hasattr(type(y), "__torch_function__")
        ):
            return NotImplemented
        return unusual(x, y)

    def function(x: Any = missing, y: Any = missing, *args: Any, **kwargs: Any) -> Any:
        if y is missing or args or kwargs:
            return call(op, () if x is missing else (x,) if y is missing else (x, y, *args), kwargs)
        return pair(x, y)

    return pair if as_operator else function


def _pair_plans(op: Op) -> list:
    """What the formulas of a binary op need (x, y, the result) where x, y or both need a gradient."""
    plans = [op.plan(needs) if op.saves else () for needs in ((True, False), (False, True), (True, True))]
    return [tuple(k in plan for k in range(3)) for plan in plans]


def _keeper(op: Op) -> Callable:
    """The function that makes the saved values of an op of one tensor: of its tensor, array, other arguments, and
    result.
    """
    result = []
    plan = op.plan((True,)) if op.inputs else frozenset()
    for k, ((_, kind, _), (_, place, what)) in enumerate(zip(op.saves, op.sources, strict=True)):
        if k not in plan:
            result.append("None")
        elif kind == OUTPUT:
            result.append("output_entry(out)")
        elif what == "shape" or what == "dtype":
            result.append(f"a.{what}")
        else:
            result.append(f"values[{place - 1}]" if kind == ATTRIBUTE else "entry_of(x)")
    return eval(
        f"lambda x, a, values, out: ({''.join(part + ', ' for part in result)})",
        {"entry_of": entry_of, "output_entry": output_entry},
    )


def whole(op: Op) -> Callable:
    """The function of a reduction that has a quick form for all of a tensor in single or double precision."""
    forward, other, alone, variant = op.quick["forward"], first_tensor(op), op.defaults, op.variant
    keep: Any = None  # makes a node's saved values; written when the first node is
    node_type: Any = None

    def function(x: Any = missing, *args: Any, **kwargs: Any) -> Any:
        nonlocal keep, node_type
        if type(x) is Tensor and not args and not kwargs:
            mode = current()
            a = x._array
            dtype = a.dtype
            if (
                (dtype is single or dtype is double)
                and type(a) is _ndarray
                and mode.plain
                and (x._view is None or history_is_current(x))
            ):
                try:
                    r = forward(a)
                except Exception:
                    return other(x)  # fails again, in the right words
                out = _new(Tensor)
                out._array = r
                out._edge = out._version_counter = out._view = out._grad = out._grad_accumulator = out._extra = None
                if x._requires_grad and mode.grad:
                    if keep is None:
                        keep, node_type = _keeper(op), op.node_class(0 if variant is None else variant(None, *alone))
                        own_code(function)
                    node = _new(node_type)
                    node._edges = (x._edge or leaf_edge(x),)
                    node._shape = ()
                    node._dtype = dtype
                    node._extra = None
                    node._seq = next_sequence()
                    node._saved = keep(x, a, alone, out)
                    out._edge = (node, 0)
                    out._requires_grad = True
                else:
                    out._requires_grad = False
                return out
        return other(*args, **kwargs) if x is missing else other(x, *args, **kwargs)

    return function


def first_tensor(op: Op) -> Callable:
    """The function of an op of one tensor and plain arguments: views, reductions and the like."""
    forward, bind, varargs = op.forward, op.bind, op.varargs
    differentiable, is_view, variant = bool(op.inputs), bool(op.view), op.variant
    floats_only = op.promote is FLOAT
    # by the number of arguments after x
    tails = [op.defaults[k - op.required :] if k >= op.required else None for k in range(1, len(op.params) + 1)]
    most, alone = len(tails), tails[0]
    quiet = op.quiet
    keeps_out = not op.view and any([kind == OUTPUT for _, kind, _ in op.saves])
    keep: Any = None  # makes a node's saved values; written when the first node is
    node_type: Any = None  # if x comes alone; which of several an op has depends on the other arguments

    def function(x: Any = missing, *args: Any, **kwargs: Any) -> Any:
        nonlocal keep, node_type
        mode = current()
        if (type(x) is not Tensor and type(x) not in plain_types) or not mode.plain or (kwargs and "out" in kwargs):
            return call(op, args if x is missing else (x, *args), kwargs)
        a = x._array
        outer = x._view
        if (outer is not None and (not history_is_current(x) or is_view and outer.creation is not DEFAULT)) or (
            floats_only and a.dtype.kind not in "fc"
        ):
            return call(op, (x, *args), kwargs)
        values: Any = alone
        if args or kwargs:
            if varargs is not None and len(args) >= varargs and args and type(args[varargs - 1]) is int:
                args = (*args[: varargs - 1], args[varargs - 1 :])
            tail = None if kwargs or len(args) >= most else tails[len(args)]
            values = tuple(bind((x, *args), kwargs)[1:]) if tail is None else args + tail
        try:
            if values is None:
                return call(op, (x,), {})
            if quiet:
                silenced = ignore_fp_errors()
                try:
                    r = forward(a, *values)
                finally:
                    restore_fp_errors(silenced)
            else:
                r = forward(a, *values)
        except Exception:
            return call(op, (x, *args), kwargs)  # fails again, in the right words
        if type(r) is not _ndarray:
            r = asarray(r) if isinstance(r, _scalar) else as_array(r)
        out = _new(Tensor)
        out._array = r
        out._edge = out._version_counter = out._view = out._grad = out._grad_accumulator = out._extra = None
        out._requires_grad = False
        if is_view:
            counter = out._version_counter = x._version_counter or x._shared_counter
            view = out._view = _new(View)
            if outer is None:
                view.base = x
                view.step = (None, op, values, None)
            else:
                view.base = outer.base
                view.step = (outer.step, op, values, None)
            view.creation = DEFAULT if mode.grad else NO_GRAD
            view.seen = counter[0]
        if x._requires_grad and mode.grad and differentiable and (r.dtype is a.dtype or r.dtype.kind in "fc"):
            if keep is None:
                keep, node_type = (
                    _keeper(op),
                    op.node_class(0 if variant is None or alone is None else variant(None, *alone)),
                )
                own_code(function)
            node = _new(node_type if variant is None or values is alone else op.node_class(variant(x, *values)))
            node._edges = (x._edge or leaf_edge(x),)
            node._shape = r.shape
            node._dtype = r.dtype
            node._extra = None
            node._seq = next_sequence()
            if keeps_out:
                out._version_counter = [0, None]
            node._saved = keep(x, a, values, out)
            out._edge = (node, 0)
            out._requires_grad = True
        return out

    return function


def parts(op: Op) -> Callable:
    """The function of an op that gives several views of one tensor."""
    forward, bind, variant = op.forward, op.bind, op.variant
    # as in first_tensor
    tails = [op.defaults[k - op.required :] if k >= op.required else None for k in range(1, len(op.params) + 1)]
    most = len(tails)
    keep: Any = None

    def function(x: Any = missing, *args: Any, **kwargs: Any) -> Any:
        nonlocal keep
        mode = current()
        if (type(x) is not Tensor and type(x) not in plain_types) or not mode.plain:
            return call(op, args if x is missing else (x, *args), kwargs)
        a, outer, counter = x._array, x._view, x._version_counter or x._shared_counter
        if type(a) is not _ndarray or (
            outer is not None and (not history_is_current(x) or outer.creation is not DEFAULT)
        ):
            return call(op, (x, *args), kwargs)
        try:
            tail = None if kwargs or len(args) >= most else tails[len(args)]
            values = tuple(bind((x, *args), kwargs)[1:]) if tail is None else args + tail
            arrays = forward(a, *values)
        except Exception:
            return call(op, (x, *args), kwargs)  # fails again, in the right words
        node: Any = None
        if x._requires_grad and mode.grad:
            if keep is None:
                keep = _keeper(op)
            node = _new(op.node_class(0 if variant is None else variant(x, *values)))
            node._edges = (x._edge or leaf_edge(x),)
            node._outputs = tuple([(r.shape, r.dtype) for r in arrays])
            node._extra = None
            node._seq = next_sequence()
            node._saved = keep(x, a, values, None)
        base, previous = (x, None) if outer is None else (outer.base, outer.step)
        creation, seen, requires = MULTI_OUTPUT if mode.grad else NO_GRAD, counter[0], node is not None
        results = []
        for number, r in enumerate(arrays):
            out = _new(Tensor)
            out._array = r
            out._edge = None if node is None else (node, number)
            out._requires_grad = requires
            out._version_counter = counter
            out._grad = out._grad_accumulator = out._extra = None
            view = out._view = _new(View)
            view.base = base
            view.step = (previous, op, values, number)
            view.creation = creation
            view.seen = seen
            results.append(out)
        return tuple(results)

    return function


def joining(op: Op) -> Callable:
    """The function of an op that makes one tensor of a list of them."""
    forward, other, defaults, second = op.forward, general(op), op.defaults, op.params[1]
    node_type: Any = None  # made when the first node is
    shapes = tuple(what == "shape" for _, _, what in op.sources)  # its other saved values are arguments
    places = tuple(place - 1 for _, place, _ in op.sources)

    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal node_type
        mode = current()
        if len(kwargs) == 1 and len(args) == 1 and second in kwargs:
            args, kwargs = (args[0], kwargs[second]), {}
        if (
            not mode.plain
            or kwargs
            or not args
            or type(args[0]) is not list
            and type(args[0]) is not tuple
            or not args[0]
            or watching
        ):
            return other(*args, **kwargs)
        arrays: list = []
        edges: list = []
        needs = False
        dtype = None
        for each in args[0]:
            if type(each) is not Tensor and type(each) not in plain_types:
                return other(*args)
            array = each._array
            if (
                type(array) is not _ndarray
                or dtype is not None
                and array.dtype is not dtype
                or each._view is not None
                and not history_is_current(each)
            ):
                return other(*args)
            dtype = array.dtype
            arrays.append(array)
            if each._requires_grad:
                needs = True
                edges.append(each._edge or leaf_edge(each))
            else:
                edges.append(None)
        values = args[1:] + defaults[len(args) - 1 :]
        try:
            r = forward(arrays, *values)
        except Exception:
            return other(*args)  # fails again, in the right words
        out = wrap(r)
        if needs and mode.grad:
            if node_type is None:
                node_type = op.node_class()
                own_code(function)
            node = _new(node_type)
            node._edges = tuple(edges)
            node._shape = r.shape
            node._dtype = dtype
            node._extra = None
            node._seq = next_sequence()
            node._saved = tuple(
                [
                    [array.shape for array in arrays] if is_shape else values[place]
                    for is_shape, place in zip(shapes, places, strict=True)
                ]
            )
            out._edge = (node, 0)
            out._requires_grad = True
        return out

    return function


def general(op: Op) -> Callable:
    """The function of any other op: several tensors, lists of them, several results."""
    forward, bind, variant, promote = op.forward, op.bind, op.variant, op.promote
    several, is_view, differentiable, numbers = op.outputs is not None, bool(op.view), bool(op.inputs), op.scalars
    together = op.input_places or op.tensor_places  # which are promoted together
    layout = tuple((place, place in together, op.params[place] not in ("x", "y")) for place in op.tensor_places)
    inputs = op.input_places
    recipes: dict[tuple, Callable] = {}  # what makes saved values, by which inputs need a gradient

    def function(*args: Any, **kwargs: Any) -> Any:
        mode = current()
        if not mode.plain or watching or (kwargs and "out" in kwargs):
            return call(op, args, kwargs)
        values = bind(args, kwargs)
        raws = values.copy()
        needs = False
        dtype = None
        scalars = None
        for place, joins, may_list in layout:
            value = values[place]
            kind = type(value)
            if kind is Tensor or kind in plain_types:
                array = raws[place] = value._array
                if type(array) is not _ndarray or (value._view is not None and not history_is_current(value)):
                    return call(op, args, kwargs)
                if joins:
                    if value._requires_grad:
                        needs = True
                    if dtype is None:
                        dtype = array.dtype
                    elif promote is not None and array.dtype is not dtype:
                        return call(op, args, kwargs)
            elif value is None:
                continue
            elif (kind is list or kind is tuple) and may_list:
                arrays = []
                for each in value:
                    if type(each) is not Tensor and type(each) not in plain_types:
                        return call(op, args, kwargs)
                    array = each._array
                    if type(array) is not _ndarray or (each._view is not None and not history_is_current(each)):
                        return call(op, args, kwargs)
                    if dtype is None:
                        dtype = array.dtype
                    elif promote is not None and array.dtype is not dtype:
                        return call(op, args, kwargs)
                    if each._requires_grad and joins:
                        needs = True
                    arrays.append(array)
                values[place], raws[place] = list(value), arrays
            elif numbers and (kind is float or kind is int):
                if joins and promote is not None:
                    scalars = [place] if scalars is None else [*scalars, place]
            else:
                return call(op, args, kwargs)
        if promote is not None and (
            dtype is None or (promote is FLOAT or scalars) and dtype is not single and dtype is not double
        ):
            return call(op, args, kwargs)
        silenced = ignore_fp_errors()
        try:
            for place in scalars or ():
                raws[place] = asarray(values[place], dtype)
            arrays = forward(*raws)
        except Exception:
            return call(op, args, kwargs)  # fails again, in the right words
        finally:
            restore_fp_errors(silenced)
        if several:
            results = [wrap(r if type(r) is _ndarray else as_array(r)) for r in arrays]
        else:
            results = [wrap(arrays if type(arrays) is _ndarray else as_array(arrays))]
        if is_view:
            for number, result in enumerate(results):
                attach(result, values[0], (None, op, tuple(values[1:]), number if several else None), mode, several)
        if needs and mode.grad and differentiable:
            record(values, raws, results)
        if not several:
            return results[0]
        return tuple(results) if op.outputs is LISTED else op.result_type(results)  # type: ignore[misc]

    def record(values: list, raws: list, results: list) -> None:
        edges: list = []
        for place in inputs:
            value: Any = values[place]
            if type(value) is list:
                edges.extend([v._edge or (leaf_edge(v) if v._requires_grad else None) for v in value])
            elif isinstance(value, Tensor):
                edges.append(value._edge or (leaf_edge(value) if value._requires_grad else None))
            else:
                edges.append(None)
        node: Any = None
        for number, result in enumerate(results):
            if result._array.dtype.kind in "fc":
                if node is None:
                    node = _new(op.node_class(0 if variant is None else variant(*values)))
                result._edge = (node, number)
                result._requires_grad = True
        if node is None:
            return
        if several:
            node._outputs = tuple([(result._array.shape, result._array.dtype) for result in results])
        else:
            array = results[0]._array
            node._shape, node._dtype = array.shape, array.dtype
        node._edges, node._extra, node._seq = tuple(edges), None, next_sequence()
        wanted = (True,) if op.listed_input else tuple([edge is not None for edge in edges])
        recipe = recipes.get(wanted)
        if recipe is None:
            recipe = recipes[wanted] = _recipe(op, wanted)
        node._saved = recipe(values, raws, results)

    return function


def _recipe(op: Op, needs: tuple) -> Callable:
    """The function that makes a node's saved values, of an op's arguments, their arrays, and its results."""
    result = []
    plan = op.plan(needs) if op.saves else ()
    for k, ((_, kind, number), (_, place, what)) in enumerate(zip(op.saves, op.sources, strict=True)):
        if k not in plan:
            result.append("None")
        elif kind == OUTPUT:
            result.append(f"output_entry(results[{number}])")
        elif what == "shape" or what == "dtype":
            result.append(
                f"[v.{what} for v in raws[{place}]] if type(raws[{place}]) is list else getattr(raws[{place}],"
                f" {what!r}, ())"
            )
        elif kind == ATTRIBUTE:
            result.append(f"values[{place}]")
        else:
            result.append(
                f"[entry_of(v) for v in values[{place}]] if type(values[{place}]) is list else"
                f" entry_of(values[{place}])"
            )
    names = {"entry_of": entry_of, "output_entry": output_entry}
    return eval(f"lambda values, raws, results: ({''.join(part + ', ' for part in result)})", names)
