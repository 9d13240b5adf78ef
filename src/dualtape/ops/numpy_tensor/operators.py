"""The operators of NumPy's kind of tensors, and its ufuncs: NumPy's dtypes, PyTorch's derivatives.

Where both operands have one floating-point dtype, or one is a Python number, NumPy and PyTorch agree on the result's
dtype, and the op of the table runs at once. Everything else is cast as ``numpy.ufunc.resolve_dtypes`` says first.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import modes
from ..._tensor.tensor import Tensor, raw, wrap
from ...arrays import is_array
from ...arrays.bfloat16_dtype import BFLOAT16
from ...autograd.saved import keep_output
from ...overrides.active_overrides import overrides
from ..codegen.functions import operator_of
from ..dispatch import FUNCTIONS
from ..families.conversion import cast_to
from ..numpy_entries import call_ufunc as call_plain
from ..numpy_entries.registry import tensor
from ..numpy_entries.vocabulary import UFUNCS
from ..table import TABLE

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
_WEAK = {int: int, float: float, complex: complex}  # Python's numbers, whose kind alone counts
_BINARY: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "matmul": np.matmul,
}
_COMPARING = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_NOT_AT_ONCE = {np.floor_divide, np.float_power, np.ldexp}  # whose values or dtypes are others than PyTorch's
# Those whose op takes a Python number beside a tensor; others take an array of the same dtype.
_WITH_NUMBERS = {
    np.add,
    np.subtract,
    np.multiply,
    np.true_divide,
    np.power,
    np.maximum,
    np.minimum,
    np.arctan2,
    *_COMPARING.values(),
}
_kind: Any = None  # NumpyTensor, which is built on this module


# --- ufuncs ---------------------------------------------------------------------------------------


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """Run ``ufunc`` on arguments of which one is of NumPy's kind, with NumPy's dtypes."""
    if method == "__call__" and not kwargs:
        x = inputs[0]
        if type(x) is _kind:
            dtype = x._array.dtype
            if dtype is _DOUBLE or dtype is _SINGLE:
                function = UFUNCS.get(ufunc)
                if function is not None and (
                    len(inputs) == 1
                    or len(inputs) == 2
                    and ufunc not in _NOT_AT_ONCE
                    and isinstance(inputs[1], Tensor)
                    and inputs[1]._array.dtype is dtype
                ):
                    result = function(*inputs)
                    if type(result) is Tensor and result is not inputs[-1]:
                        result.__class__ = _kind
                        if result._version_counter is not None:
                            keep_output(result)
                        return result
                    return _of_kind(result, inputs)
        return _resolved(ufunc, inputs)
    if method == "__call__":
        return _called(ufunc, inputs, **kwargs)
    if method == "at":
        call_plain(ufunc, method, inputs, kwargs)
        return None
    from .tensor import marked_tree

    return marked_tree(call_plain(ufunc, method, inputs, kwargs), inputs)


def _of_kind(value: Any, given: tuple) -> Any:
    """Return a new result as one of NumPy's kind, and an argument that came back as a copy: ufuncs make new arrays."""
    if isinstance(value, tuple):
        return tuple([_of_kind(one, given) for one in value])
    if any([value is one for one in given]):
        value = FUNCTIONS["clone"](value)
    if type(value) is Tensor:
        value.__class__ = _kind
        if value._version_counter is not None:
            keep_output(value)
    return value


def _called(ufunc: np.ufunc, inputs: tuple, out: Any = None, dtype: Any = None, **options: Any) -> Any:
    """Run a ufunc with options: ``out=``, ``where=``, ``dtype=``."""
    given = _operands(inputs)
    if given is None:
        return NotImplemented
    if dtype is not None:
        result = np.dtype(dtype)
        options["dtype"] = dtype
        wanted: list = [result] * len(given)
    else:
        wanted = _dtypes(ufunc, given)[: len(given)]
    cast = tuple([_cast(value, want) for value, want in zip(given, wanted, strict=True)])
    targets = out if isinstance(out, tuple) else (out,)
    # the write goes to the tensor itself, also where an argument had to be cast
    for number, (value, before) in enumerate(zip(inputs, cast, strict=True)):
        if any(value is target for target in targets) and isinstance(value, Tensor) and before is not value:
            cast = (*cast[:number], before, *cast[number + 1 :])
    if out is not None:
        options["out"] = out
    result = call_plain(ufunc, "__call__", cast, options)
    from .tensor import marked_tree

    return marked_tree(result, (*inputs, *targets))


def _operands(inputs: tuple) -> list | None:
    """Return the operands of a ufunc as tensors, arrays and Python's numbers; None if one is of a class that answers
    itself.
    """
    given = []
    for value in inputs:
        kind = type(value)
        if isinstance(value, Tensor) or kind in _WEAK:
            given.append(value)
        elif is_array(value) or isinstance(value, (np.generic, bool, list, tuple)):
            given.append(_as_operand(value))
        elif isinstance(value, (int, float, complex)):
            given.append(value)
        elif value is None or overrides(value) or getattr(kind, "__array_ufunc__", False) is None:
            return None
        elif hasattr(value, "__array__") or hasattr(value, "__float__"):
            given.append(_as_operand(np.asarray(value)))
        else:
            return None
    return given


def _as_operand(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        value = tensor(value)
        if isinstance(value, Tensor):
            return value
    if not is_array(value):
        value = np.asarray(value)
    if value.dtype.kind not in "biufc":
        raise TypeError(
            f"an operand of dtype {value.dtype} beside an array that is differentiated: expected numbers, convert it"
            " with astype(float)"
        )
    return value


def _weak_kind(value: Any) -> type:
    return next(kind for kind in (int, float, complex) if isinstance(value, kind))


def _dtypes(ufunc: np.ufunc, given: list) -> list:
    """Return the dtypes of a ufunc's arguments and results, by NumPy's rules."""
    asked = [raw(value).dtype if hasattr(raw(value), "dtype") else _weak_kind(value) for value in given]
    if not all(isinstance(one, (np.dtype, type)) for one in asked):  # bfloat16, which NumPy does not know
        return [None] * (len(given) + ufunc.nout)
    if ufunc.signature is not None and any(type(one) is type for one in asked):
        asked = [np.result_type(one) if type(one) is type else one for one in asked]
    return list(ufunc.resolve_dtypes((*asked, *(None,) * ufunc.nout)))


def _cast(value: Any, dtype: Any) -> Any:
    """Return an operand in the dtype in which NumPy computes; a Python number as it is, if it fits."""
    if dtype is None:
        return value
    if isinstance(value, Tensor):
        return value if value._array.dtype == dtype else cast_to(value, dtype)
    if is_array(value):
        if value.dtype == dtype:
            return value
        tracing = modes.current().tracing
        return (value if tracing is None else tracing.array(value)).astype(dtype)
    if dtype.kind in "iu" and isinstance(value, int):
        np.asarray(value, dtype)  # raises OverflowError if it does not fit
    return value


def _resolved(ufunc: np.ufunc, inputs: tuple, by_value: Callable | None = None) -> Any:
    """Run a ufunc on arguments cast as NumPy casts them; ``by_value`` computes what has no derivative."""
    given = _operands(inputs)
    if given is None:
        return NotImplemented
    dtypes = _dtypes(ufunc, given)
    if _is_constant(given, dtypes[len(given) :]):
        found = _by_value(by_value or ufunc, given)
        if found is not None:
            return found
    wanted, results = dtypes[: len(given)], dtypes[len(given) :]
    if results[0] is not None and results[0].kind in "fc":
        # quotients of integers: NumPy's loop computes them in floating point
        wanted = [results[0] if one.kind in "biu" and ufunc is not np.ldexp else one for one in wanted]
    cast = [_cast(value, want) for value, want in zip(given, wanted, strict=True)]
    if ufunc not in _WITH_NUMBERS:
        cast = [np.asarray(v, w) if type(v) in _WEAK else v for v, w in zip(cast, wanted, strict=True)]
    _check_power(ufunc, given, cast)
    result = call_plain(ufunc, "__call__", tuple(cast), {})
    if ufunc in _OWN_VALUES and results[0] is not None and results[0].kind == "f":
        result = _OWN_VALUES[ufunc](result, *cast)
    if type(result) is tuple:
        result = tuple([_result(one, want) for one, want in zip(result, results, strict=True)])
    else:
        result = _result(result, results[0])
    return _of_kind(result, tuple(given))


def _is_constant(given: list, results: list) -> bool:
    """Return whether the result of a ufunc has no derivative: it is an integer, or computed from integers."""
    if all([dtype is not None and dtype.kind in "biu" for dtype in results]):
        return True
    return not any([raw(v).dtype is BFLOAT16 or raw(v).dtype.kind in "fc" for v in given if isinstance(v, Tensor)])


def _by_value(ufunc: Callable, given: list) -> Any:
    """Return the result of what has no derivative, by NumPy; None if the arrays are not NumPy's."""
    values = [raw(value) for value in given]
    if any([isinstance(v, Tensor) and type(v._array) is not np.ndarray for v in given]):
        return None
    with np.errstate(all="ignore"):
        result = ufunc(*values)
    wrapped = [wrap(np.asarray(one)) for one in (result if type(result) is tuple else (result,))]
    return _of_kind(tuple(wrapped) if type(result) is tuple else wrapped[0], ())


def _result(value: Any, dtype: Any) -> Any:
    """Return a result in the dtype that NumPy gives it."""
    if not isinstance(value, Tensor) or dtype is None or value._array.dtype == dtype:
        return value
    return cast_to(value, dtype)


def _check_power(ufunc: np.ufunc, given: list, cast: list) -> None:
    """Raise for negative powers of integers."""
    if ufunc is np.power and all(np.result_type(raw(one)).kind in "iu" for one in cast):
        if np.any(raw(given[1]) < 0):
            raise ValueError("Integers to negative integer powers are not allowed.")


def _floor_divided(result: Any, x: Any, y: Any) -> Any:
    """Return the quotient rounded down where a value is not finite: NumPy has NaN where PyTorch has an infinity."""
    values = np.floor_divide(raw(x), raw(y))
    return FUNCTIONS["where"](wrap(np.isnan(values)), np.nan, result) if bool(np.any(np.isnan(values))) else result


_OWN_VALUES: dict[np.ufunc, Callable] = {np.floor_divide: _floor_divided}


# --- operators ------------------------------------------------------------------------------------


def _other(name: str, ufunc: np.ufunc, reflected: bool = False) -> Callable:
    """Return the operator of ``ufunc`` on its reference path."""

    def operator(x: Any, y: Any) -> Any:
        if type(y) is str or type(y) is bytes or y is None:
            return NotImplemented
        return _resolved(ufunc, (y, x) if reflected else (x, y), by_value)

    by_value = getattr(python, f"__{name}__")  # NumPy's operators know cases that its ufuncs do not: squares
    return operator


def _in_place(name: str, ufunc: np.ufunc) -> Callable:
    """Return ``__iname__``: the result is cast to the tensor's dtype, if that is of the same kind or a wider one."""
    plain = getattr(Tensor, f"__i{name}__", None) if name in ("add", "sub", "mul", "truediv") else None

    def operator(x: Any, y: Any) -> Any:
        kind, dtype = type(y), x._array.dtype
        if plain is not None and (dtype is _DOUBLE or dtype is _SINGLE):
            if kind is float or kind is int or isinstance(y, Tensor) and y._array.dtype is dtype:
                return plain(x, y)
        result = _resolved(ufunc, (x, y))
        if result is NotImplemented:
            return result
        before, after = result._array.dtype, x._array.dtype
        if not np.can_cast(before, after, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc {ufunc.__name__!r} output from {before!r} to {after!r} with casting rule"
                " 'same_kind': write x = x + y, or convert x first"
            )
        if result.shape != x.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {x.shape} doesn't match the broadcast shape"
                f" {result.shape}"
            )
        x.copy_(result)
        return x

    operator.__name__ = operator.__qualname__ = f"__i{name}__"
    return operator


def _unary(name: str, ufunc: np.ufunc) -> Callable:
    def operator(x: Any) -> Any:
        return call_ufunc(ufunc, "__call__", (x,), {})

    operator.__name__ = operator.__qualname__ = f"__{name}__"
    return operator


def define(kind: type) -> None:
    """Define the operators of ``kind``, the class of tensors of NumPy's kind."""
    global _kind
    _kind = kind
    rows = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "true_divide", "pow": "pow", "matmul": "mm"}
    for name, ufunc in _BINARY.items():
        other, reflected = _other(name, ufunc), _other(name, ufunc, reflected=True)
        if name in rows:  # what NumPy and PyTorch compute alike
            forward = operator_of(TABLE[rows[name]], f"__{name}__", other, kind)
        else:
            forward = other
        setattr(kind, f"__{name}__", forward)
        if name in ("add", "mul"):  # which commute: the tensor comes first
            reflected = operator_of(TABLE[rows[name]], f"__r{name}__", reflected, kind)
        elif name == "sub":
            reflected = operator_of(TABLE["rsub"], "__rsub__", reflected, kind)
        setattr(kind, f"__r{name}__", reflected)
        setattr(kind, f"__i{name}__", _in_place(name, ufunc))
    for name, ufunc in _COMPARING.items():
        setattr(kind, f"__{name}__", operator_of(TABLE[name], f"__{name}__", _other(name, ufunc), kind))
    for name, ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
        setattr(kind, f"__{name}__", _unary(name, ufunc))


class Operators:
    """The operators of :class:`~dualtape.ops.numpy_tensor.NumpyTensor` that are not generated."""

    __slots__ = ()

    def __divmod__(self, other: Any) -> Any:
        return _resolved(np.divmod, (self, other))

    def __rdivmod__(self, other: Any) -> Any:
        return _resolved(np.divmod, (other, self))

    def __bool__(self: Any) -> bool:
        if self._array.size > 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        if not self._array.size:
            raise ValueError(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not"
                " empty."
            )
        return Tensor.__bool__(self)
