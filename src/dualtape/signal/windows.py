"""Windows for short pieces of signals: ``torch.signal.windows``, and the older ``torch.hann_window`` and so on.

Each is a function of the steps 0, 1, ... of a window and of the step that is its end; the rest is the same for all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from operator import index as _index
from typing import Any

import numpy as np

from .._listing import listing
from .._tensor import dtypes as _dtypes
from .._tensor import shaped as _shaped
from .._tensor.tensor import wrap as _wrap
from ..arrays.bfloat16_dtype import cast as _cast
from ..ops.formulas import is_whole as _is_whole
from ..overrides.active_overrides import overridable as _overridable

_OPTIONS = {"dtype": None, "layout": None, "device": None, "requires_grad": False}
_PARAMETER = inspect.Parameter
_Array = np.ndarray


def _made(values: _Array, options: dict) -> Any:
    options = {**_OPTIONS, **options}
    if options.keys() != _OPTIONS.keys():
        raise TypeError(f"got an unexpected keyword argument {min(options.keys() - _OPTIONS.keys())!r}")
    dtype = _dtypes.default_float() if options["dtype"] is None else options["dtype"].numpy
    made = _shaped.empty(len(values), **{k: v for k, v in options.items() if k != "requires_grad"})
    made.copy_(_wrap(_cast(values, dtype)))
    return made.requires_grad_() if options["requires_grad"] else made


def _shown(function: Callable, name: str, doc: str | None, own: Iterable[inspect.Parameter]) -> Callable:
    options = [_PARAMETER(k, _PARAMETER.KEYWORD_ONLY, default=v) for k, v in _OPTIONS.items()]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    return _overridable(function, leaf=True)


def _window(shape: Callable) -> Callable:
    """The public function of a window, from its shape: a function of steps and the end, with settings of its own."""
    own = list(inspect.signature(shape).parameters.values())[2:]
    name = shape.__name__

    def function(M: int, *, sym: bool = True, **given: Any) -> Any:
        settings = {p.name: given.pop(p.name) for p in own if p.name in given}
        if not _is_whole(M):
            raise TypeError(f"{name}(): argument 'M' must be int, not {type(M).__name__}")
        M = _index(M)
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        dtype = given.get("dtype")
        if dtype is not None and dtype not in (_dtypes.float32, _dtypes.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype!r}")
        if name == "exponential" and sym and settings.get("center") is not None:
            raise ValueError("exponential: Center must be None for symmetric windows")
        return _made(_values(shape, M, sym, settings), given)

    symmetric = _PARAMETER("sym", _PARAMETER.KEYWORD_ONLY, default=True)
    return _shown(function, name, shape.__doc__, [_PARAMETER("M", _PARAMETER.POSITIONAL_OR_KEYWORD), *own, symmetric])


def _values(shape: Callable, count: int, symmetric: bool, settings: dict) -> _Array:
    if count > 2**60:  # near 2**63 NumPy makes an array without elements
        raise RuntimeError(f"there is no memory for a window of {count} numbers")
    values = shape(np.arange(count, dtype=np.float64), max(count - symmetric, 1), **settings)
    return values if count != 1 else np.ones(1)


def _cosines(steps: _Array, end: int, weights: Iterable[float]) -> _Array:
    return sum(
        ((-1) ** i * a * np.cos(2 * np.pi * i / end * steps) for i, a in enumerate(weights)), np.zeros_like(steps)
    )


@_window
def bartlett(steps: _Array, end: int) -> _Array:
    """A triangle from 0 to 1 and back.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return 1 - np.abs(2 * steps / end - 1)


@_window
def blackman(steps: _Array, end: int) -> _Array:
    """Blackman's sum of three cosines.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.blackman(5).round(decimals=2)
    tensor([-0.0000,  0.3400,  1.0000,  0.3400, -0.0000])
    """
    return _cosines(steps, end, (0.42, 0.5, 0.08))


@_window
def cosine(steps: _Array, end: int) -> _Array:
    """Half a wave of the sine, between its zeros.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return np.sin(np.pi * (steps + 0.5) / (end + 1))


@_window
def exponential(steps: _Array, end: int, *, center: float | None = None, tau: float = 1.0) -> _Array:
    """What decays on both sides of the center, by e in ``tau`` steps.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"exponential: Tau must be positive, got: {tau} instead.")
    return np.exp(-np.abs(steps - (end / 2 if center is None else center)) / tau)


@_window
def gaussian(steps: _Array, end: int, *, std: float = 1.0) -> _Array:
    """Gauss's bell of a standard deviation of ``std`` steps.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"gaussian: Standard deviation must be positive, got: {std} instead.")
    return np.exp(-0.5 * ((steps - end / 2) / std) ** 2)


@_window
def general_cosine(steps: _Array, end: int, *, a: Iterable) -> _Array:
    """The sum of cosines of 0, 1, ... waves with the weights ``a``, their signs in turn.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"general_cosine: Coefficients must be a list/tuple, got {type(a).__name__}")
    if not a:
        raise ValueError("general_cosine: Coefficients cannot be empty")
    return _cosines(steps, end, a)


@_window
def general_hamming(steps: _Array, end: int, *, alpha: float = 0.54) -> _Array:
    """Hamming's window with another share of its constant.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.general_hamming(3, alpha=0.75)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _cosines(steps, end, (alpha, 1 - alpha))


@_window
def hamming(steps: _Array, end: int) -> _Array:
    """Hamming's raised cosine, which does not reach 0.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines(steps, end, (0.54, 0.46))


@_window
def hann(steps: _Array, end: int) -> _Array:
    """Von Hann's raised cosine.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _cosines(steps, end, (0.5, 0.5))


@_window
def kaiser(steps: _Array, end: int, *, beta: float = 12.0) -> _Array:
    """Kaiser's window: the larger ``beta``, the narrower.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.kaiser(3, beta=1.0)
    tensor([0.7898, 1.0000, 0.7898])
    """
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got: {beta} instead.")
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * steps / end - 1) ** 2, 0))) / np.i0(beta)


@_window
def nuttall(steps: _Array, end: int) -> _Array:
    """Nuttall's sum of four cosines.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    return _cosines(steps, end, (0.3635819, 0.4891775, 0.1365995, 0.0106411))


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

# --- the older functions --------------------------------------------------------------------------


def _older(name: str, shape: Callable, doc: str, **settings: float) -> Callable:
    """The form that is periodic unless told otherwise, with its settings in order."""

    def function(window_length: int, periodic: bool = True, *given: Any, **options: Any) -> Any:
        if not _is_whole(window_length):
            raise TypeError(
                f"{name}(): argument 'window_length' (position 1) must be int, not {type(window_length).__name__}"
            )
        if len(given) > len(settings):
            raise TypeError(f"{name}() takes at most {2 + len(settings)} positional arguments")
        used = {**settings, **dict(zip(settings, given, strict=False))}
        used.update({k: options.pop(k) for k in settings if k in options})
        dtype = options.get("dtype")
        if dtype is not None and not dtype.is_floating_point:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype!r}")
        window_length = _index(window_length)
        if window_length < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
        return _made(_values(shape, window_length, not periodic, used), options)

    parameters = [_PARAMETER("window_length", _PARAMETER.POSITIONAL_OR_KEYWORD)]
    for key, default in {"periodic": True, **settings}.items():
        parameters.append(_PARAMETER(key, _PARAMETER.POSITIONAL_OR_KEYWORD, default=default))
    return _shown(function, name, doc, parameters)


bartlett_window = _older(
    "bartlett_window",
    lambda k, n: 1 - np.abs(2 * k / n - 1),
    """A triangle from 0 to 1 and back.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """,
)
blackman_window = _older(
    "blackman_window",
    lambda k, n: _cosines(k, n, (0.42, 0.5, 0.08)),
    """Blackman's sum of three
    cosines.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.blackman_window(4).round(decimals=2)
    tensor([-0.0000,  0.3400,  1.0000,  0.3400])
    """,
)
hamming_window = _older(
    "hamming_window",
    lambda k, n, alpha, beta: _cosines(k, n, (alpha, beta)),
    alpha=0.54,
    beta=0.46,
    doc="""Hamming's raised cosine: ``alpha`` less a cosine of ``beta``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """,
)
hann_window = _older(
    "hann_window",
    lambda k, n: _cosines(k, n, (0.5, 0.5)),
    """Von Hann's raised cosine.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """,
)
kaiser_window = _older(
    "kaiser_window",
    lambda k, n, beta: np.i0(beta * np.sqrt(np.maximum(1 - (2 * k / n - 1) ** 2, 0))) / np.i0(beta),
    beta=12.0,
    doc="""Kaiser's window: the larger ``beta``, the narrower.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.kaiser_window(4, beta=1.0)
    tensor([0.7898, 0.9450, 1.0000, 0.9450])
    """,
)

__dir__ = listing(__name__)
