"""Discrete Fourier transforms: complex to complex, real to half a spectrum and back, in one or several dimensions.

Three linear ops compute them without scaling; the adjoint of each is made of the others. Public functions resize their
input and choose the scale of the norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from operator import index
from typing import Any

import numpy as np

from ...arrays.lazy import scipy_fft
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, normal_dims, use
from ..samples import Sample, edge, exact, real, sample
from ..table import ELEMENTWISE, FLOAT, GENERAL, LINEAR, composite, op

# --- the three ------------------------------------------------------------------------------------


def _check_precision(x: Any) -> None:
    if x.dtype.kind == "f" and x.dtype.itemsize == 2:
        raise RuntimeError(f"fft: Unsupported dtype {x.dtype}: convert the tensor with .to(...)")


def _scaled(x: Any, scale: float, like: Any) -> Any:
    """Return ``x`` times a number, in the precision of ``like``."""
    single = like.dtype.char in "fF"
    dtype = np.dtype((np.complex64 if single else np.complex128) if x.dtype.kind == "c" else like.real.dtype)
    return (x if scale == 1 else x * scale).astype(dtype, copy=False)


def _library(x: Any) -> Any:
    """Return the module whose transforms to use: SciPy's are faster than NumPy's, other kinds of arrays implement
    NumPy's.
    """
    return scipy_fft if type(x) is np.ndarray else np.fft


def _c2c(x: Any, dims: tuple, scale: float, forward: bool) -> Any:
    _check_precision(x)
    if not dims:
        return _scaled(x * x.dtype.type(1) + 0j, scale, x)
    library = _library(x)
    if library is scipy_fft and x.dtype.kind == "f":  # of real numbers SciPy gives -0 where the imaginary part is 0
        x = x.astype(np.complex64 if x.dtype.char == "f" else np.complex128)
    out = library.fftn(x, axes=dims) if forward else library.ifftn(x, axes=dims, norm="forward")
    return _scaled(out, scale, x)


def _r2c(x: Any, dims: tuple, scale: float, forward: bool) -> Any:
    """Return half of the spectrum of a real ``x``: in the last of ``dims`` the nonnegative frequencies."""
    _check_precision(x)
    library = _library(x)
    half = library.rfft(x, axis=dims[-1])
    full = library.fftn(half, axes=dims[:-1]) if dims[1:] else half
    return _scaled(full if forward else full.conj(), scale, x)


def _c2r(x: Any, dims: tuple, scale: float, forward: bool, n: int) -> Any:
    """Return the real array with ``x`` as its half spectrum, with ``n`` entries in the last of ``dims``."""
    _check_precision(x)
    half = x.conj() if forward else x
    library = _library(x)
    half = library.ifftn(half, axes=dims[:-1], norm="forward") if dims[1:] else half
    return _scaled(library.irfft(half, n=n, axis=dims[-1], norm="forward"), scale, x)


def _from_half(g: Any, x_shape: tuple, dims: tuple, scale: float, forward: bool) -> Any:
    """Return the adjoint of :func:`_r2c`: a half spectrum represents the other half, too, which has no gradient."""
    n = x_shape[dims[-1]]
    return use("fft_c2r")(_weighted(g, dims[-1], n, 0.5), dims, scale, not forward, n)


def _to_half(g: Any, dims: tuple, scale: float, forward: bool, n: int) -> Any:
    """Return the adjoint of :func:`_c2r`: a frequency represents its negative, too, unless it is its own."""
    return _weighted(use("fft_r2c")(g, dims, scale, not forward), dims[-1], n, 2)


def _weighted(half: Any, dim: int, n: int, weight: float) -> Any:
    """Return half a spectrum with a weight on the frequencies that are not their own negative."""
    before = (slice(None),) * dim
    zero, both, last = (half[(*before, slice(*v))] for v in ((0, 1), (1, (n + 1) // 2), ((n + 1) // 2, None)))
    return np.concatenate([zero, both * weight, last] if n > 1 else [zero], axis=dim)


_c2c_op = op("fft_c2c", _c2c, kind=GENERAL, whole=True, promote=FLOAT, public=False, method=False, jvp=LINEAR, torch_name="-",
    node="FftC2CBackward0",
    vjp=dict(x=lambda g, dims, scale, forward: use("fft_c2c")(g, dims, scale, not forward)),
    samples=(sample(real(2, 3), (1,), 1.0, True), sample(real(2, 3), (0, 1), 0.5, False), sample(real(3), (), 2.0, True)),
    doc="The discrete Fourier transform along axes, or its conjugate, times a number.")  # fmt: skip
_r2c_op = op("fft_r2c", _r2c, kind=GENERAL, whole=True, frees=True, promote=FLOAT, public=False, method=False, jvp=LINEAR, torch_name="-",
    node="FftR2CBackward0", complex=False, vjp=dict(x=_from_half),
    samples=(sample(real(2, 4), (1,), 1.0, True), sample(real(2, 5), (0, 1), 0.5, False)),
    doc="Half of the discrete Fourier transform of real numbers, times a number.")  # fmt: skip
_c2r_op = op("fft_c2r", _c2r, kind=GENERAL, whole=True, promote=FLOAT, public=False, method=False, jvp=LINEAR, torch_name="-",
    node="FftC2RBackward0", vjp=dict(x=_to_half),
    samples=(sample(real(2, 3), (1,), 1.0, True, 4), sample(real(2, 3), (0, 1), 0.5, False, 5)),
    doc="The real numbers that have a given half as their discrete Fourier transform, times a number.")  # fmt: skip
_into = op("into", lambda x: np.positive(x), kind=ELEMENTWISE, public=False, method=False, jvp=LINEAR, torch_name="-",
    inplace=False, vjp=dict(x=lambda g: g), samples=(sample(real(3)),),
    doc="What a function of several ops has made, to be written where its out= says.")  # fmt: skip

# --- what users call ------------------------------------------------------------------------------

_FULL, _HALF, _REAL = "complex to complex", "real to half", "half to real"


def _norm_scale(norm: str | None, n: int, forward: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(f"fft: Invalid normalization mode: {norm!r}; it is 'backward', 'ortho' or 'forward'")
    if norm == "ortho":
        return 1 / sqrt(n)
    return 1 / n if forward == (norm == "forward") else 1.0


def _resized(x: Any, sizes: Sequence[int], dims: Sequence[int]) -> Any:
    """Return ``x`` cut or filled with zeros at the end of axes."""
    for d, n in zip(dims, sizes, strict=True):
        if n < x.shape[d]:
            x = x.narrow(d, 0, n)
        elif n > x.shape[d]:
            more = [0] * (2 * (x.ndim - d))
            more[-1] = n - x.shape[d]
            x = FUNCTIONS["constant_pad_nd"](x, more, 0)
    return x


def _axes(name: str, x: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int | None]]:
    """Return the axes of a transform, and the sizes given for them: None, or -1, for the present size."""
    s = None if s is None else list(s) if isinstance(s, (tuple, list)) else [s]
    if dim is None:
        if s is not None and len(s) > x.ndim:
            raise RuntimeError(f"{name}: Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
        dims = tuple(range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim))
    else:
        dims = tuple(normal_dim(index(d), x.ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"{name}: FFT dims must be unique, got {dim}")
        if s is not None and len(s) != len(dims):
            raise RuntimeError(
                f"{name}: When given, dim and shape arguments must have the same length, got {dim} and {s}"
            )
    return dims, [None if n is None or n == -1 else index(n) for n in s or [None] * len(dims)]


def _run(name: str, kind: str, forward: bool, x: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
    if kind == _HALF and x.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype!r}")
    dims, sizes = _axes(name, x, s, dim)
    if not dims and kind != _FULL:
        raise RuntimeError(f"{name} must transform at least one axis")
    there = [x.shape[d] for d in dims]
    if kind == _REAL:
        there[-1] = 2 * (there[-1] - 1)
    points = [m if n is None else n for n, m in zip(sizes, there, strict=True)]
    if min(points, default=1) < 1:
        raise RuntimeError(f"{name}: Invalid number of data points ({min(points)}) specified")
    inside = points if kind != _REAL else [*points[:-1], points[-1] // 2 + 1]
    x, scale = _resized(x, inside, dims), _norm_scale(norm, prod(points), forward)
    if kind == _FULL:
        result = _c2c_op(x, dims, scale, forward)
    elif kind == _HALF:
        result = _r2c_op(x, dims, scale, forward)
    else:
        result = _c2r_op(x, dims, scale, forward, points[-1])
    return result if out is None else _into(result, out=out)


def _one(name: str, kind: str, forward: bool, samples: tuple[Sample, ...], doc: str) -> None:
    def function(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
        if input.ndim == 0:
            raise IndexError(f"{name}: Dimension specified as {dim} but tensor has no dimensions")
        if n is not None and (n := index(n)) < 1:
            raise RuntimeError(f"{name}: Invalid number of data points ({n}) specified")
        return _run(name, kind, forward, input, n, index(dim), norm, out)

    function.__name__, function.__doc__ = name, doc
    composite(f"fft_{name}", namespace="fft", complex=kind != _HALF, samples=samples)(function)


def _several(name: str, kind: str, forward: bool, samples: tuple[Sample, ...], doc: str) -> None:
    """Declare the forms over the last two dimensions, and over any."""

    def two(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
        return _run(f"{name}2", kind, forward, input, s, dim, norm, out)

    def any_number(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
        return _run(f"{name}n", kind, forward, input, s, dim, norm, out)

    for letter, function, where in (("2", two, "the last two dimensions"), ("n", any_number, "all dimensions")):
        function.__name__, function.__doc__ = name + letter, doc.format(where=where, letter=letter)
        own = tuple(v for v in samples if letter == "n" or "dim" in v.kwargs or len(v.args[0].shape) > 1)
        composite(f"fft_{name}{letter}", namespace="fft", complex=kind != _HALF, samples=own)(function)


_ROWS = (
    sample(real(2, 5)), sample(real(2, 4)), sample(real(3, 2), dim=0), sample(real(2, 5), 3), sample(real(2, 3), n=6),
    sample(real(2, 4), norm="ortho"), sample(real(2, 3), norm="forward"), sample(real(2, 3), norm="backward"),
    sample(real(2, 4, layout="F")), edge(exact([1.0, 2.0, 4.0])),
)  # fmt: skip
_SPECTRA = (*_ROWS, sample(real(2, 4), 7), sample(real(2, 2), 1), sample(real(3, 2), n=3, dim=0))
_PLANES = (
    sample(real(3, 4)), sample(real(2, 3, 4), dim=(0, 2)), sample(real(2, 3), (3, 2)), sample(real(2, 3), s=(-1, 5)),
    sample(real(3, 2), norm="ortho"), sample(real(2, 3), norm="forward"), sample(real(2, 3), dim=(1, 0)),
    sample(real(2, 3), dim=(-1,)),
)  # fmt: skip

_one("fft", _FULL, True, _ROWS, """The discrete Fourier transform along a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.fft(dt.tensor([1.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j])
    """)  # fmt: skip
_one("ifft", _FULL, False, _ROWS, """The inverse of :func:`fft`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.ifft(dt.tensor([2.0, 0.0]))
    tensor([1.+0.j, 1.+0.j])
    """)  # fmt: skip
_one("rfft", _HALF, True, _ROWS, """:func:`fft` of real numbers: the frequencies that are not negative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.rfft(dt.tensor([1.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j])
    """)  # fmt: skip
_one("irfft", _REAL, False, _SPECTRA, """The inverse of :func:`rfft`; ``n`` says whether the result is even or odd in length.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.irfft(dt.tensor([1.0, 1.0, 1.0]))
    tensor([1., 0., 0., 0.])
    """)  # fmt: skip
_one("hfft", _REAL, True, _SPECTRA, """:func:`fft` of the numbers of which half are given, the rest their conjugates.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.hfft(dt.tensor([1.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """)  # fmt: skip
_one("ihfft", _HALF, False, _ROWS, """The inverse of :func:`hfft`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.ihfft(dt.tensor([1.0, 1.0]))
    tensor([1.+0.j, 0.+0.j])
    """)  # fmt: skip
_several("fft", _FULL, True, _PLANES, """The discrete Fourier transform of {where}.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.fft{letter}(dt.tensor([[1.0, 0.0]]))
    tensor([[1.+0.j, 1.+0.j]])
    """)  # fmt: skip
_several("ifft", _FULL, False, _PLANES, """The inverse discrete Fourier transform of {where}.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.ifft{letter}(dt.tensor([[2.0, 0.0]]))
    tensor([[1.+0.j, 1.+0.j]])
    """)  # fmt: skip
_several("rfft", _HALF, True, _PLANES, """The discrete Fourier transform of {where} of real numbers: in the last of them
    the frequencies that are not negative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.rfft{letter}(dt.tensor([[1.0, 0.0, 0.0]]))
    tensor([[1.+0.j, 1.+0.j]])
    """)  # fmt: skip
_several("irfft", _REAL, False, _PLANES, """The real numbers whose transform of {where} has a given half.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.irfft{letter}(dt.tensor([[1.0, 1.0, 1.0]]))
    tensor([[1., 0., 0., 0.]])
    """)  # fmt: skip
_several("hfft", _REAL, True, _PLANES, """The discrete Fourier transform of {where} of what is half given, the rest being
    its conjugate.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.hfft{letter}(dt.tensor([[1.0, 0.0, 0.0]]))
    tensor([[1., 1., 1., 1.]])
    """)  # fmt: skip
_several("ihfft", _HALF, False, _PLANES, """Half of the inverse discrete Fourier transform of {where} of real numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.ihfft{letter}(dt.tensor([[1.0, 1.0]])).abs()
    tensor([[1., 0.]])
    """)  # fmt: skip

# --- the order of frequencies ---------------------------------------------------------------------

_SHIFTED = (sample(real(2, 3)), sample(real(5), 0), sample(real(2, 3, 4), dim=(0, 2)))


def _shifted(name: str, input: Any, dim: Any, inverse: bool) -> Any:
    dims = (
        tuple(range(input.ndim))
        if dim is None
        else ()
        if isinstance(dim, tuple) and not dim
        else normal_dims(dim, input.ndim)
    )
    if not dims:
        raise RuntimeError(f"{name}: `shifts` required: the tensor has no dimension to shift, or none was asked for")
    return FUNCTIONS["roll"](input, tuple((input.shape[d] + inverse) // 2 for d in dims), dims)


@composite("fft_fftshift", namespace="fft", samples=_SHIFTED)
def fftshift(input: Any, dim: Any = None) -> Any:
    """The frequencies in ascending order, with zero in the middle.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.fftshift(dt.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted("fftshift", input, dim, False)


@composite("fft_ifftshift", namespace="fft", samples=_SHIFTED)
def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of :func:`fftshift`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.ifftshift(dt.tensor([-1, 0, 1]))
    tensor([ 0,  1, -1])
    """
    return _shifted("ifftshift", input, dim, True)
