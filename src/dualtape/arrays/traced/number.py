"""The traced number: a Python number, or a scalar of NumPy's, that a program is given at each call.

Sums, differences, products and quotients are recorded as operations on 0-d arrays, and so are comparisons, whose
outcome a replay checks. Whatever else is asked of the number reads its value: the tape then notes which arguments were
read, and the program is traced again with those as constants.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .array import Traced

# Integer arguments lie within this, so that float64 holds the products of two of them exactly.
INTEGER_BOUND = 1 << 26
_EXACT = 1 << 53  # integers up to here are exact in float64
_LARGEST = 1 << 62
_WEAK: dict[type, Any] = {float: np.float64, int: np.int64}
NUMBERS = (float, int, np.float64, np.float32, np.int64, np.int32)
_ARITHMETIC = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
}
_COMPARISONS = {
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
}
# Ops that compute the same with a number as with a 0-d tensor of their result's dtype.
OPERAND_OPS = frozenset({"add", "sub", "mul", "true_divide", "rsub", "eq", "ne", "lt", "le", "gt", "ge"})
_UFUNCS = {*_ARITHMETIC.values(), *_COMPARISONS.values()}


def array_of_number(number: Any) -> np.ndarray:
    """Return a number of one of the types in ``NUMBERS`` as the 0-d array that a program takes."""
    return np.array(number, _WEAK.get(type(number)))


def number_in(array: np.ndarray, kind: type) -> Any:
    """Return the number of the given type that a 0-d array holds."""
    return array.item() if kind in _WEAK else array[()]


def can_vary(number: Any) -> bool:
    """Return whether a program can be given ``number`` at each call."""
    kind = type(number)
    return kind in NUMBERS and (kind is not int or -INTEGER_BOUND <= number <= INTEGER_BOUND)


class TracedNumber:
    """A number and the 0-d traced array that holds it.

    Each type in ``NUMBERS`` has a subclass in ``TRACED``, with the special methods that numbers of this type have.

    Attributes
    ----------
    kind : type
        The type of the number: one of ``NUMBERS``.
    sources : frozenset of int
        The indices of the arguments that it was computed from.
    bound : int
        An upper bound of its magnitude, if it is a Python integer.
    """

    __slots__ = ("_array", "sources", "bound")

    kind: type

    def __init__(self, array: Any, sources: frozenset[int], bound: int = INTEGER_BOUND) -> None:
        self._array = array
        self.sources = sources
        self.bound = bound

    __class__ = property(lambda self: self.kind)

    @property
    def weak(self) -> bool:
        """Whether it is a Python number, which takes the dtype of the arrays beside it."""
        return self.kind in _WEAK

    @property
    def array(self) -> Any:
        """The 0-d traced array."""
        return self._array

    def plain(self) -> Any:
        """Return the number itself, for code that the program does not depend on."""
        return number_in(self._array.values, self.kind)

    def read(self) -> Any:
        """Return the number itself, and note that the trace depends on its value."""
        tape = self._array.tape
        if tape.open:
            tape.numbers_read |= self.sources
        return self.plain()

    def as_dtype(self, dtype: Any) -> Any:
        """Return the 0-d traced array in another dtype."""
        return self._array if self._array.dtype == dtype else self._array.astype(dtype)

    # --- operations -------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc not in _UFUNCS or not self._array.tape.open:
            return getattr(ufunc, method)(*map(_read, inputs), **{name: _read(value) for name, value in kwargs.items()})
        beside = [i for i in inputs if not is_traced(i)]
        if not all([type(i) is Traced for i in beside]):
            return ufunc(*map(_read, inputs))
        dtype = np.result_type(*[i.dtype for i in beside], *[_exemplar(i) for i in inputs if i is not beside[0]])
        if dtype.kind not in "fc":
            return ufunc(*map(_read, inputs))
        return ufunc(*[i if type(i) is Traced else i.as_dtype(dtype) if i.weak else i.array for i in inputs])

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return function(*map(_read, args), **{name: _read(value) for name, value in kwargs.items()})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.read(), dtype)

    def __neg__(self) -> Any:
        if not self._array.tape.open:
            return -self.plain()
        return type(self)(np.negative(self._array), self.sources, self.bound)

    def __pos__(self) -> Any:
        return self if self._array.tape.open else self.plain()

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        return _power(self, exponent) if modulus is None else pow(self.read(), _read(exponent), _read(modulus))

    def __rpow__(self, base: Any, modulus: Any = None) -> Any:
        return _power(base, self)

    def __bool__(self) -> bool:
        return bool(_compare(operator.ne, self, 0))

    def __complex__(self) -> complex:
        return complex(self.read())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in dir(self.kind):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")
        return getattr(self.read(), name)

    def __reduce__(self) -> Any:
        return self.read().__reduce__() if not self.weak else (self.kind, (self.read(),))


def _exemplar(value: Any) -> Any:
    """Return a placeholder from which NumPy computes the dtype of a result."""
    if type(value) is Traced:
        return value.dtype
    return (0.0 if value.kind is float else 0) if value.weak else value.array.dtype


def is_traced(value: Any) -> bool:
    """Return whether ``value`` is a traced number."""
    return issubclass(type(value), TracedNumber)


def _read(value: Any) -> Any:
    """Return a value, or each of a list or tuple, with plain numbers in place of traced ones."""
    if issubclass(type(value), TracedNumber):
        return value.read()
    return type(value)(map(_read, value)) if type(value) in (list, tuple) else value


read_numbers = _read


def _together(a: TracedNumber, other: Any) -> tuple[Any, type, frozenset[int], int] | None:
    """Return ``other`` for use beside a number: its NumPy form, its type, its sources, its bound.

    None for what an operation has to be computed with plain numbers.
    """
    if is_traced(other):
        if other.array.tape is not a.array.tape or not (a.weak and other.weak or not (a.weak or other.weak)):
            return None
        return other.array, other.kind, other.sources, other.bound
    if type(other) in (float, int) and a.weak:
        if type(other) is int and abs(other) > _LARGEST:
            return None
        return other, type(other), frozenset(), abs(other) if type(other) is int else 0
    return (other, type(other), frozenset(), 0) if type(other) in (float, int, *NUMBERS) else None


def _compute(operation: Callable, a: TracedNumber, other: Any, swapped: bool) -> Any:
    """Return ``a`` and ``other`` combined, recorded if it can be."""
    if not isinstance(other, (int, float, np.generic)):
        return NotImplemented
    found = _together(a, other) if a.array.tape.open else None
    if found is None:
        return _plainly(operation, a, other, swapped)
    beside, kind, sources, bound = found
    sources |= a.sources
    if not a.weak or kind not in _WEAK:
        pair = (beside, a.array) if swapped else (a.array, beside)
        result = _ARITHMETIC[operation](*pair)
        return TRACED[result.dtype.type](result, sources)
    if a.kind is kind is int and operation is not operator.truediv:
        bound = a.bound * bound if operation is operator.mul else a.bound + bound
        if bound > _LARGEST:
            return _plainly(operation, a, other, swapped)
        pair = (beside, a.array) if swapped else (a.array, beside)
        return TRACED[int](_ARITHMETIC[operation](*pair), sources, bound)
    if a.kind is int and a.bound > _EXACT or kind is int and bound > _EXACT:
        return _plainly(operation, a, other, swapped)
    own = a.as_dtype(np.float64)
    their = beside.astype(np.float64) if type(beside) is Traced and kind is int else beside
    their = float(their) if type(their) is int else their
    if operation is operator.truediv:
        divisor = own if swapped else their
        if bool(divisor == 0):
            raise ZeroDivisionError("float division by zero")
    pair = (their, own) if swapped else (own, their)
    return TRACED[float](_ARITHMETIC[operation](*pair), sources)


def _compare(operation: Callable, a: TracedNumber, other: Any) -> Any:
    """Return a comparison's outcome, which a replay checks."""
    if not isinstance(other, (int, float, np.generic)):
        return NotImplemented
    found = _together(a, other) if a.array.tape.open else None
    if found is None or a.kind is int and a.bound > _EXACT or found[1] is int and found[3] > _EXACT:
        return _plainly(operation, a, other, False)
    answer = bool(_COMPARISONS[operation](a.array, found[0]))
    return answer if a.weak and found[1] in _WEAK else np.bool_(answer)


def _power(base: Any, exponent: Any) -> Any:
    """Return ``base ** exponent``, recorded if it is a finite power of a positive number in double precision."""
    number = base if is_traced(base) else exponent
    if not all(isinstance(x, (int, float, np.generic)) for x in (base, exponent)):
        return NotImplemented
    kinds = {x.kind if is_traced(x) else type(x) for x in (base, exponent)}
    if number.array.tape.open and kinds <= {float, int} and float in kinds and _is_exact(base) and _is_exact(exponent):
        if base > 0:
            pair: Any = [x.as_dtype(np.dtype(float)) if is_traced(x) else float(x) for x in (base, exponent)]
            power = np.power(*pair)
            if np.isfinite(power):
                sources = [x.sources for x in (base, exponent) if is_traced(x)]
                return TRACED[float](power, frozenset().union(*sources))
    return pow(_read(base), _read(exponent))


def _is_exact(value: Any) -> bool:
    """Return whether a Python number is exact in double precision for every value of the traced number."""
    if is_traced(value):
        return value.kind is not int or value.bound <= _EXACT
    return type(value) is not int or abs(value) <= _EXACT


def _plainly(operation: Callable, a: TracedNumber, other: Any, swapped: bool) -> Any:
    own, their = a.read(), _read(other)
    return operation(their, own) if swapped else operation(own, their)


def _operator(operation: Callable, swapped: bool) -> Callable:
    return lambda self, other: _compute(operation, self, other, swapped)


def _comparison(operation: Callable) -> Callable:
    return lambda self, other: _compare(operation, self, other)


def _reading(name: str) -> Callable:
    """Return a method that reads the number and delegates to it."""

    def method(self: TracedNumber, *args: Any) -> Any:
        return getattr(self.read(), name)(*map(_read, args))

    method.__name__ = name
    return method


for _operation in _ARITHMETIC:
    setattr(TracedNumber, f"__{_operation.__name__}__", _operator(_operation, False))
    setattr(TracedNumber, f"__r{_operation.__name__}__", _operator(_operation, True))
for _operation in _COMPARISONS:
    setattr(TracedNumber, f"__{_operation.__name__}__", _comparison(_operation))
_READING = [
    f"__{name}__"
    for name in (
        "int",
        "float",
        "index",
        "hash",
        "str",
        "repr",
        "format",
        "round",
        "trunc",
        "floor",
        "ceil",
        "abs",
        "floordiv",
        "rfloordiv",
        "mod",
        "rmod",
        "divmod",
        "rdivmod",
        "lshift",
        "rlshift",
        "rshift",
        "rrshift",
        "and",
        "rand",
        "or",
        "ror",
        "xor",
        "rxor",
        "invert",
    )
]


def _traced_class(kind: type) -> type[TracedNumber]:
    """Return the class of traced numbers of a type."""
    names = {name: _reading(name) for name in _READING if hasattr(kind, name)}
    return type(f"Traced_{kind.__name__}", (TracedNumber,), {"__slots__": (), "kind": kind, **names})


TRACED: dict[type, type[TracedNumber]] = {kind: _traced_class(kind) for kind in NUMBERS}
