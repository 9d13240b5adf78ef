"""``scipy.fft`` for tensors: Fourier transforms, and those of cosines and sines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.lazy import scipy_fft as _fft
from ._like import like, names_of, scipys
from ._maps import linear
from ._tensors import floating, op
from ._tensors import tensor as _tensor

_ONE = "fft ifft rfft irfft hfft ihfft".split()
_TWO = "fft2 ifft2 rfft2 irfft2 hfft2 ihfft2".split()
_SEVERAL = "fftn ifftn rfftn irfftn hfftn ihfftn".split()

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "fht",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ifht",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]


def __getattr__(name: str) -> Any:
    return scipys(_fft, name, __name__)


__dir__ = names_of(_fft, __name__)

_DOC = """The transform of SciPy's name, {what}.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.fft.{name}(dt.ones({shape})).shape
    {result}
    """


def _ready(name: str, x: Any) -> Any:
    """Return the argument as a tensor of floating-point numbers, real where the transform is of real numbers."""
    x = floating(x)
    if name.startswith(("rfft", "ihfft")) and x.is_complex():
        raise TypeError("x must be a real sequence")
    return x


def _along_one(name: str) -> Callable:
    def transform(
        x: Any,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Any:
        return op(f"fft.{name}")(_ready(name, x), n, axis, norm)

    return _named(transform, name, "along one axis", "4", 1)


def _along_several(name: str, axes: Any) -> Callable:
    def transform(
        x: Any,
        s: Any = None,
        axes: Any = axes,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Any:
        x = _ready(name, x)
        given = None if axes is None else tuple(np.atleast_1d(axes).tolist())
        size = None if s is None else tuple(np.atleast_1d(s).tolist())
        return op(f"fft.{name.rstrip('2n')}n")(x, size, given, norm)

    return _named(transform, name, "along two axes" if axes else "along several axes", "4, 4", 2)


def _named(transform: Callable, name: str, what: str, shape: str, ndim: int) -> Callable:
    transform.__name__ = transform.__qualname__ = name
    last = {"rfft": 3, "ihfft": 3, "irfft": 6, "hfft": 6}.get(name.rstrip("2n"), 4)
    result = f"dualtape.Size([{', '.join(['4'] * (ndim - 1) + [str(last)])}])"
    transform.__doc__ = _DOC.format(name=name, what=what, shape=shape, result=result)
    return like(_fft)(transform)


fft, ifft, rfft, irfft, hfft, ihfft = map(_along_one, _ONE)
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (_along_several(name, (-2, -1)) for name in _TWO)
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = (_along_several(name, None) for name in _SEVERAL)


@like(_fft)
def fftshift(x: Any, axes: Any = None) -> Any:
    """The array with the frequency zero moved to its middle.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.fft.fftshift(dt.tensor([0.0, 1.0, -1.0]))
    tensor([-1.,  0.,  1.])
    """
    return np.fft.fftshift(_tensor(x), axes)


@like(_fft)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of :func:`fftshift`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.fft.ifftshift(dt.tensor([-1.0, 0.0, 1.0]))
    tensor([ 0.,  1., -1.])
    """
    return np.fft.ifftshift(_tensor(x), axes)


# --- cosines and sines ----------------------------------------------------------------------------


def _on(axis: int, ndim: int, vector: np.ndarray) -> np.ndarray:
    return vector.reshape([-1 if d == axis % ndim else 1 for d in range(ndim)])


def _base(kind: str, type: int, x: Any, axis: int) -> Any:
    """Return the transform without a norm.

    The transpose of type 2 is type 3 but for the weight of one end, and the other way round; that of the cosines of
    type 1 has the weights of its ends exchanged; the others are symmetric.
    """
    run = getattr(_fft, kind)
    size, end = x.shape[axis], 0 if kind == "dct" else -1
    weights = np.ones(size)
    if type in (2, 3):
        weights[end] = 2.0
    elif type == 1 and kind == "dct":
        weights[1:-1] = 2.0
    weights = _on(axis, x.ndim, weights)

    def forward(a: np.ndarray) -> np.ndarray:
        return run(a, type, axis=axis)

    def back(g: np.ndarray) -> np.ndarray:
        if type == 2:
            return run(g * weights, 3, axis=axis)
        if type == 3:
            return run(g, 2, axis=axis) / weights
        if type == 1 and kind == "dct":
            return run(g / weights, 1, axis=axis) * weights
        return run(g, type, axis=axis)

    return linear(x, forward, back)


def _transformed(kind: str, inverse: bool, x: Any, type: int, n: Any, axis: int, norm: Any, orthogonalize: Any) -> Any:
    if type not in (1, 2, 3, 4):
        raise ValueError(f"Invalid DCT type ({type})" if kind == "dct" else f"Invalid DST type ({type})")
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm!r}; should be "backward", "ortho" or "forward".')
    orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    if inverse:
        type = {1: 1, 2: 3, 3: 2, 4: 4}[type]
    x = floating(x)
    if n is not None and n != x.shape[axis]:
        if n < x.shape[axis]:
            x = np.take(x, np.arange(n), axis=axis)
        else:
            pads = [(0, n - x.shape[axis]) if d == axis % x.ndim else (0, 0) for d in range(x.ndim)]
            x = np.pad(x, pads)
    size = x.shape[axis]
    length = 2 * (size + {"dct": -1, "dst": 1}[kind] if type == 1 else size)
    before, after = np.ones(size), np.ones(size)
    root = np.sqrt(2.0)
    if orthogonal:
        end = 0 if kind == "dct" else -1
        if type == 2:
            after[end] = 1 / root
        elif type == 3:
            before[end] = root
        elif type == 1 and kind == "dct":
            before[[0, -1]], after[[0, -1]] = root, 1 / root
    scaled = (norm == "forward") != inverse if norm != "ortho" else False
    after = after * (1 / np.sqrt(length) if norm == "ortho" else 1 / length if scaled else 1.0)
    dtype = x.real._array.dtype if x.is_complex() else x._array.dtype
    found = _base(kind, type, x * _on(axis, x.ndim, before.astype(dtype)), axis)
    return found * _on(axis, x.ndim, after.astype(dtype))


def _of_one(name: str) -> Callable:
    inverse, kind = name.startswith("i"), name.removeprefix("i")

    def transform(
        x: Any,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        return _transformed(kind, inverse, x, type, n, axis, norm, orthogonalize)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _DOC.format(name=name, what="along one axis", shape="4", result="dualtape.Size([4])")
    return like(_fft)(transform)


def _of_several(name: str) -> Callable:
    inverse, kind = name.startswith("i"), name.removeprefix("i").removesuffix("n")

    def transform(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Any:
        x = floating(x)
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(np.atleast_1d(s)), x.ndim)
        axes = np.atleast_1d(np.array(axes)).tolist()
        sizes = [None] * len(axes) if s is None else np.atleast_1d(np.array(s)).tolist()
        for axis, size in zip(axes, sizes, strict=True):
            x = _transformed(kind, inverse, x, type, size, axis, norm, orthogonalize)
        return x

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _DOC.format(name=name, what="along several axes", shape="4, 4", result="dualtape.Size([4, 4])")
    return like(_fft)(transform)


dct, idct, dst, idst = map(_of_one, ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = map(_of_several, ("dctn", "idctn", "dstn", "idstn"))


def _hankel(name: str) -> Callable:
    def transform(a: Any, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Any:
        a = floating(a)
        matrix = getattr(_fft, name)(np.eye(a.shape[-1]), dln, mu, offset, bias)
        return a @ floating(matrix).to(a.dtype)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"""The fast Hankel transform{" inverted" if name[0] == "i" else ""}, by its matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.fft.{name}(dt.ones(4), 0.1, 0.5).shape
    dualtape.Size([4])
    """
    return like(_fft)(transform)


fht, ifht = _hankel("fht"), _hankel("ifht")
