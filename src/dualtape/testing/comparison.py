"""``assert_close``: whether tensors, numbers, and containers of them are equal up to rounding; if not, where."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.creation import as_tensor
from .._tensor.device import strided
from .._tensor.tensor import Tensor
from ..errors import warn

_RTOL = {
    "float16": 1e-3,
    "bfloat16": 1.6e-2,
    "float32": 1.3e-6,
    "complex64": 1.3e-6,
    "float64": 1e-7,
    "complex128": 1e-7,
}
_ATOL = {"float16": 1e-5, "bfloat16": 1e-5, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-7, "complex128": 1e-7}
_NUMBERS = {bool: dtypes.bool_, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}


class _Comparison:
    """What is compared, and how strictly."""

    def __init__(self, rtol: Any, atol: Any, equal_nan: bool, checks: Mapping[str, bool], subclasses: bool) -> None:
        self.rtol, self.atol, self.equal_nan, self.checks, self.subclasses = rtol, atol, equal_nan, checks, subclasses

    def compare(self, actual: Any, expected: Any, place: str) -> None:
        """Raise an AssertionError for the first difference."""
        if actual is None and expected is None:
            return
        if isinstance(actual, (Tensor, np.ndarray)) and isinstance(expected, (Tensor, np.ndarray)):
            related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
            if related and (self.subclasses or type(actual) is type(expected)):
                return self._tensors(_tensor(actual), _tensor(expected), place)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            return self._mappings(actual, expected, place)
        elif _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                _differ(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place)
            for k, (a, b) in enumerate(zip(actual, expected, strict=True)):
                self.compare(a, b, f"{place}[{k}]")
            return None
        elif _is_number(actual) and _is_number(expected):
            return self._numbers(actual, expected, place)
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}:"
            " tensors, arrays, numbers, None, and sequences and mappings of them can be compared, like with like"
        )

    def _mappings(self, actual: Mapping, expected: Mapping, place: str) -> None:
        if actual.keys() != expected.keys():
            missing = [key for key in expected if key not in actual]
            added = [key for key in actual if key not in expected]
            text = "The keys of the mappings do not match:"
            text += f"\nMissing keys in the actual mapping: {missing}" if missing else ""
            _differ(text + (f"\nAdditional keys in the actual mapping: {added}" if added else ""), place)
        for key in actual:
            self.compare(actual[key], expected[key], f"{place}[{key!r}]")

    def _numbers(self, actual: Any, expected: Any, place: str) -> None:
        if self.checks["dtype"] and type(actual) is not type(expected):
            _differ(f"The (d)types do not match: {type(actual)} != {type(expected)}.", place)
        rtol, atol = self._tolerances([_NUMBERS[_kind(actual)], _NUMBERS[_kind(expected)]])
        actual, expected = (complex(n) if _kind(n) is complex else n for n in (actual, expected))
        if actual == expected or self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return
        gap = abs(int(actual) - int(expected)) if isinstance(actual, bool) else abs(actual - expected)
        if cmath.isfinite(gap) and gap <= atol + rtol * abs(expected):
            return
        relative = gap / abs(expected) if expected else float("inf")
        _differ(_scalars(actual, expected, gap, relative, rtol, atol), place)

    def _tensors(self, actual: Tensor, expected: Tensor, place: str) -> None:
        self._attributes(actual, expected, place)
        rtol, atol = self._tolerances([actual.dtype, expected.dtype])
        if actual.layout is not strided and actual.layout is expected.layout:
            for what in _parts(actual):
                a, b = getattr(actual, what)(), getattr(expected, what)()
                kind = f"{str(actual.layout).rpartition('.')[2].replace('_', ' ').title()} {what.strip('_')}"
                self._values(a, b, rtol, atol, place, kind)
        else:
            self._values(actual.to_dense(), expected.to_dense(), rtol, atol, place, "Tensor-likes")

    def _attributes(self, actual: Tensor, expected: Tensor, place: str) -> None:
        checked = {"shape": True, **self.checks}
        for name in ("shape", "layout", "device", "dtype"):
            if checked[name] and getattr(actual, name) != getattr(expected, name):
                a, b = getattr(actual, name), getattr(expected, name)
                _differ(f"The values for attribute '{name}' do not match: {a} != {b}.", place)
        if self.checks["stride"] and actual.stride() != expected.stride():
            a, b = actual.stride(), expected.stride()
            _differ(f"The values for attribute 'stride()' do not match: {a} != {b}.", place)

    def _values(self, actual: Any, expected: Any, rtol: float, atol: float, place: str, what: str) -> None:
        a, b = (_wide(x) for x in (actual, expected))
        with np.errstate(all="ignore"):
            gap = np.abs(a - b)
            close = (a == b) | np.isfinite(gap) & (gap <= atol + rtol * np.abs(b))
            if self.equal_nan:
                close = close | (np.isnan(a) & np.isnan(b))
            if close.all():
                return
            relative = np.where(close, 0, np.abs(gap / np.abs(b)))
            gap = np.where(close, 0, gap)
        if actual.ndim == 0:
            _differ(_scalars(a[()], b[()], gap[()], relative[()], rtol, atol), place)
        wrong = int(close.size - np.count_nonzero(close))
        exact = rtol == atol == 0
        lines = [f"{what} are not {'equal' if exact else 'close'}!", ""]
        lines.append(f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})")
        for name, found, allowed in (("absolute", gap, atol), ("relative", relative, rtol)):
            at = tuple(int(k) for k in np.unravel_index(np.argmax(found), found.shape))
            limit = "" if exact else f" (up to {allowed} allowed)"
            worst = int(found[at]) if exact and name == "absolute" and np.isfinite(found[at]) else float(found[at])
            lines.append(f"Greatest {name} difference: {worst} at index {at}{limit}")
        _differ("\n".join(lines), place)

    def _tolerances(self, kinds: list) -> tuple[float, float]:
        if self.rtol is not None:
            return self.rtol, self.atol
        return max(_RTOL.get(k.name, 0.0) for k in kinds), max(_ATOL.get(k.name, 0.0) for k in kinds)


def _parts(tensor: Any) -> tuple[str, ...]:
    name = str(tensor.layout).rpartition(".")[2]
    if name == "sparse_coo":
        return "_indices", "_values"
    return (
        ("crow_indices", "col_indices", "values")
        if name in ("sparse_csr", "sparse_bsr")
        else (("ccol_indices", "row_indices", "values") if name.startswith("sparse") else ("offsets", "values"))
    )


def _tensor(value: Any) -> Tensor:
    return as_tensor(value).detach()


def _wide(x: Any) -> np.ndarray:
    """The values in a type in which they can be subtracted."""
    if x.dtype is dtypes.bfloat16 or x.dtype is dtypes.float16:
        x = x.float()
    array = x.detach().cpu().resolve_conj().numpy()
    return array if array.dtype.kind in "fc" else array.astype(object if array.dtype == np.uint64 else np.int64)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _kind(value: Any) -> type:
    if isinstance(value, (bool, np.bool_)):
        return bool
    if isinstance(value, (int, np.integer)):
        return int
    return complex if isinstance(value, (complex, np.complexfloating)) else float


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.number, np.bool_))


def _scalars(actual: Any, expected: Any, gap: Any, relative: Any, rtol: float, atol: float) -> str:
    exact = rtol == atol == 0
    limits = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {gap}{limits[0]}\nRelative difference: {relative}{limits[1]}"
    )


def _differ(text: str, place: str) -> None:
    raise AssertionError(text + (f"\n\nThe failure occurred for item {place}" if place else ""))


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise an AssertionError unless ``actual`` is ``expected`` up to rounding, and say where it is not.

    Parameters
    ----------
    actual, expected : Tensor, array, number, None, or sequences and mappings of them
        Like is compared with like.
    allow_subclasses : bool
        Whether a tensor of a subclass is compared with one of its base.
    rtol, atol : float, optional
        A difference of ``atol + rtol * abs(expected)`` is allowed; both or none. Default: by dtype, 1.3e-6 and 1e-5 for
        float32, 1e-7 and 1e-7 for float64, none for integers.
    equal_nan : bool
        Whether NaN equals NaN.
    check_device, check_dtype, check_layout, check_stride : bool
        What must be equal beside the values.
    msg : str or callable, optional
        In place of the message, or a function of it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.testing.assert_close(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 2.0 + 1e-6]))
    """
    if (rtol is None) != (atol is None):
        absent = "rtol" if rtol is None else "atol"
        raise ValueError(f"rtol and atol are given together or not at all: {absent} is missing")
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    try:
        _Comparison(rtol, atol, equal_nan, checks, allow_subclasses).compare(actual, expected, "")
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg(str(error)) if callable(msg) else msg) from None


# Differences that assert_allclose allows, by dtype.
_OLDER_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of :func:`assert_close`, deprecated: larger differences are allowed, dtypes are not compared, and
    NaN equals NaN.

    Parameters
    ----------
    actual, expected : Tensor, array or number
        What is compared.
    rtol, atol : float, optional
        A difference of ``atol + rtol * abs(expected)`` is allowed; both or none. Default: by dtype.
    equal_nan : bool
        Whether NaN equals NaN.
    msg : str
        In place of the message.

    Examples
    --------
    >>> import dualtape as dt, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     dt.testing.assert_allclose(dt.tensor([1.0]), [1.00001])
    """
    warn(
        "testing.assert_allclose() is deprecated since 1.12 and will be removed in a future release: use"
        " testing.assert_close()",
        FutureWarning,
    )
    left = as_tensor(actual)
    right = as_tensor(expected) if isinstance(expected, Tensor) else as_tensor(expected, dtype=left.dtype)
    if rtol is None and atol is None:
        names = [str(each.dtype).rpartition(".")[2] for each in (left, right)]
        rtol, atol = [max(pair) for pair in zip(*[_OLDER_TOLERANCES.get(n, (0.0, 0.0)) for n in names], strict=True)]
    assert_close(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
