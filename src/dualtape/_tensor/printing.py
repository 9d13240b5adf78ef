"""Tensors as text, character for character as PyTorch prints them (but for dtypes: ``dualtape.float64``).

An array is printed in three steps: choose one number style that suits all the entries that will be shown,
lay the rows out inside the line width, and append suffixes such as ``grad_fn=<MulBackward0>``.
Nothing here reads or records a graph; a tensor is only asked for its array and its metadata.
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Batched
from ..autograd.tangents import active, tangent
from ..modes import current
from .dtypes import get_default_dtype
from .tensor import Tensor, wrap

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["get_printoptions", "printoptions", "set_printoptions", "tensor_repr", "tensor_str"]

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options: dict[str, Any] = {**_PROFILES["default"], "sci_mode": None}

# Beyond these a column of fixed-point numbers is too wide, or loses its small entries.
_LARGEST_FIXED = 1e8
_SMALLEST_FIXED = 1e-4
_LARGEST_FIXED_RATIO = 1000.0


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed, for the whole process.

    Parameters
    ----------
    precision : int, optional
        Digits after the decimal point (4).
    threshold : float, optional
        Tensors with more elements than this are summarised (1000); ``math.inf`` prints everything.
    edgeitems : int, optional
        Entries shown at either end of a summarised dimension (3).
    linewidth : float, optional
        Characters per line before a row is wrapped (80); ``math.inf`` never wraps.
    profile : {'default', 'short', 'full'}, optional
        A set of values for the four options above; the ones passed explicitly win.
    sci_mode : bool, optional
        Always (True) or never (False) use scientific notation. None, which is also what leaving it out means,
        decides for each tensor.

    See Also
    --------
    printoptions : The same for the length of a ``with`` block.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_printoptions(precision=2)
    >>> dt.tensor([0.123456, 2.0])
    tensor([0.12, 2.00])
    >>> dt.set_printoptions(profile='default')
    >>> dt.tensor([0.123456, 2.0])
    tensor([0.1235, 2.0000])
    """
    if profile is not None:
        _options.update(_PROFILES.get(profile, {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the print options in force, as a new dict that :func:`set_printoptions` accepts.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.printing import get_printoptions
    >>> get_printoptions()['linewidth']
    80
    """
    if (tracing := current().tracing) is not None:
        tracing.depends_on(_settings)
    return dict(_options)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set print options for the length of a ``with`` block; takes what :func:`set_printoptions` takes.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.printing import printoptions
    >>> with printoptions(sci_mode=True):
    ...     print(dt.tensor([1.0, 2.5]))
    tensor([1.0000e+00, 2.5000e+00])
    """
    before = get_printoptions()
    try:
        set_printoptions(**options)
        yield
    finally:
        _options.update(before)


def tensor_str(array: np.ndarray, *, suffixes: Sequence[str] = (), prefix: str = "tensor(") -> str:
    """Print an array the way PyTorch prints a tensor with these values.

    Parameters
    ----------
    array : numpy.ndarray
        Real, complex, integer or boolean values of any shape.
    suffixes : sequence of str
        What follows the values, in order: ``dtype=dualtape.float64``, ``requires_grad=True``, ...
    prefix : str
        What precedes the values, with the opening parenthesis; rows are aligned after it.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.printing import tensor_str
    >>> print(tensor_str(np.array([[1., -0.], [np.nan, 2.]]), suffixes=['requires_grad=True']))
    tensor([[1., -0.],
            [nan, 2.]], requires_grad=True)
    """
    return _append_suffixes(prefix + _contents(array, len(prefix)), suffixes, len(prefix))


def tensor_repr(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return what ``repr(tensor)`` shows: values, and every suffix that is not the default.

    Parameters
    ----------
    tensor : Tensor
        Also an instance of a subclass, which is printed under its own name.
    tensor_contents : str, optional
        Stands in for the values.

    Returns
    -------
    str

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.printing import tensor_repr
    >>> x = dt.tensor([1., 2.], requires_grad=True)
    >>> tensor_repr(x)
    'tensor([1., 2.], requires_grad=True)'
    >>> tensor_repr(x * 2)
    'tensor([2., 4.], grad_fn=<MulBackward0>)'
    """
    shown = getattr(type(tensor._array), "tensor_repr", None)  # of a kind of array that no one process has all of
    if shown is not None:
        return shown(tensor._array, tensor)
    if type(tensor._array) is Batched:
        return _batched_repr(tensor)
    prefix = _prefix(tensor)
    contents = _contents(_host_array(tensor), len(prefix)) if tensor_contents is None else tensor_contents
    return _append_suffixes(prefix + contents, _suffixes(tensor), len(prefix))


# ------------------------------------------------------------------------------------------------------------
# Metadata
# ------------------------------------------------------------------------------------------------------------


def _prefix(tensor: Tensor) -> str:
    # A parameter announces itself on a line of its own; there is none before its module has been imported.
    parameter = getattr(sys.modules.get("dualtape.nn"), "Parameter", None)
    return "tensor(" if type(tensor) in (Tensor, parameter) else f"{type(tensor).__name__}("


def _batched_repr(tensor: Tensor) -> str:
    """Return the text of a batched tensor: the ``vmap`` that it belongs to, and all samples."""
    array = tensor._array
    batches = current().batches
    number = batches.index(array.level) + 1 if array.level in batches else array.level.number
    history = _history(tensor)
    inner = textwrap.indent(tensor_repr(wrap(array.values)), "    ")
    return f"BatchedTensor(lvl={number}, bdim=0, value=\n{inner}\n{'' if history is None else f', {history}'})"


def _host_array(tensor: Tensor) -> np.ndarray:
    array: Any = tensor._array
    if isinstance(array, np.ndarray):
        return array
    # Arrays on a device refuse an implicit copy; their own method makes an explicit one.
    return array.get() if hasattr(array, "get") else np.asarray(array)


def _suffixes(tensor: Tensor) -> list[str]:
    device = str(getattr(tensor, "device", "cpu"))
    suffixes = [] if device == "cpu" else [f"device='{device}'"]
    shape = tuple(tensor.shape)
    empty = 0 in shape
    # Without edge items nothing of the tensor may be visible, so its size is always told.
    if (empty and len(shape) != 1) or (not empty and _options["edgeitems"] == 0):
        suffixes.append(f"size={shape}")
    if not _dtype_is_implied(tensor, empty):
        suffixes.append(f"dtype={tensor.dtype}")
    history = _history(tensor)
    if history is not None:
        suffixes.append(history)
    tangent = _tangent(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={tangent!r}")
    return suffixes


def _dtype_is_implied(tensor: Tensor, empty: bool) -> bool:
    """Return whether the printed values alone, passed to ``tensor()``, would give this dtype."""
    numpy_dtype, default = tensor.dtype.numpy, get_default_dtype().numpy
    if numpy_dtype == default:
        return True
    if empty:
        return False
    return numpy_dtype in (np.int64, np.bool_) or numpy_dtype == np.result_type(default, np.complex64)


def _history(tensor: Tensor) -> str | None:
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:
        # A view whose history can no longer be computed must still print: this is how one finds out.
        return "grad_fn=<Invalid>"
    if grad_fn is not None:
        return f"grad_fn=<{grad_fn.name()}>"
    return "requires_grad=True" if tensor.requires_grad else None


def _tangent(tensor: Tensor) -> Tensor | None:
    levels = current().levels
    if not levels:
        return None
    found = (tangent(tensor, level) for level in reversed(active(current())))
    return next((t for t in found if t is not None), None)


def _append_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    """Add the suffixes and the closing parenthesis, on a new line wherever the line would become too long."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > _options["linewidth"]:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


# ------------------------------------------------------------------------------------------------------------
# Values
# ------------------------------------------------------------------------------------------------------------


def _settings() -> str:
    """Return the settings as text: what a compiled program that prints compares."""
    return repr(_options)


def _contents(array: np.ndarray, indent: int) -> str:
    if (tracing := current().tracing) is not None:
        tracing.depends_on(_settings)
    if array.size == 0:
        return "[]"
    summarize = array.size > _options["threshold"]
    edge = _options["edgeitems"] if summarize else array.size  # the size: no dimension is longer
    if summarize and edge == 0 and array.ndim:
        return "[...]"
    show, width = _entry_style(_corners(array, edge))
    return show(array.item()) if array.ndim == 0 else _rows(array, indent, edge, show, width)


def _kept(length: int, edge: int) -> Sequence[int]:
    """Return the indices of one dimension that a summary shows."""
    return [*range(edge), *range(length - edge, length)] if length > 2 * edge else range(length)


def _corners(array: np.ndarray, edge: int) -> np.ndarray:
    """Return the entries that a summary shows: hidden ones do not influence the number style."""
    if max(array.shape, default=0) <= 2 * edge:
        return array
    return array[np.ix_(*[_kept(length, edge) for length in array.shape])]  # at once: what is hidden is not copied


def _rows(array: np.ndarray, indent: int, edge: int, show: Callable[[Any], str], width: int) -> str:
    # The recursion is over the dimensions of one array, of which NumPy allows 64.
    kept = _kept(len(array), edge)
    if array.ndim == 1:
        parts = [show(value) for value in array[list(kept)].tolist()]
    else:
        parts = [_rows(array[k], indent + 1, edge, show, width) for k in kept]
    if len(kept) < len(array):
        parts.insert(edge, " ..." if array.ndim == 1 else "...")
    line_start = " " * (indent + 1)
    if array.ndim > 1:
        return "[" + ("," + "\n" * (array.ndim - 1) + line_start).join(parts) + "]"
    room = _options["linewidth"] - indent
    per_line = len(parts) if room == math.inf else max(1, math.floor(room / (width + 2)))
    lines = [", ".join(parts[k : k + per_line]) for k in range(0, len(parts), per_line)]
    return "[" + (",\n" + line_start).join(lines) + "]"


def _entry_style(shown: np.ndarray) -> tuple[Callable[[Any], str], int]:
    """Choose one style for all entries: the function that prints one of them, and the width to reserve."""
    if shown.dtype.kind == "c":
        return _complex_style(shown)
    if shown.dtype.kind == "f":
        return _float_style(shown)
    width = max(len(str(value)) for value in shown.ravel().tolist())
    return lambda value: str(value).rjust(width), width


def _complex_style(shown: np.ndarray) -> tuple[Callable[[Any], str], int]:
    show_real, real_width = _float_style(shown.real)
    show_imag, imag_width = _float_style(shown.imag)

    def show(value: complex) -> str:
        imag = show_imag(value.imag).lstrip() + "j"
        return show_real(value.real) + ("" if imag.startswith("-") else "+") + imag

    return show, real_width + imag_width + 1


def _float_style(shown: np.ndarray) -> tuple[Callable[[float], str], int]:
    values = shown.ravel().astype(np.float64)
    # Zeros and non-finite values fit any style, so they have no say in it (nor in the width).
    deciding = values[np.isfinite(values) & (values != 0)]
    integral = bool((deciding == np.ceil(deciding)).all())
    scientific = deciding.size > 0 and _options["sci_mode"]
    if scientific is None:
        scientific = _needs_scientific(np.abs(deciding), integral)
    pointed = integral and not scientific
    spec = ".0f" if pointed else f".{_options['precision']}{'e' if scientific else 'f'}"

    def text(value: float) -> str:
        digits = format(value, spec)
        return digits + "." if pointed and math.isfinite(value) else digits

    width = max((len(text(value)) for value in deciding.tolist()), default=1)
    return lambda value: text(value).rjust(width), width


def _needs_scientific(magnitudes: np.ndarray, integral: bool) -> bool:
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    return (
        largest / smallest > _LARGEST_FIXED_RATIO
        or largest > _LARGEST_FIXED
        or (not integral and smallest < _SMALLEST_FIXED)
    )
