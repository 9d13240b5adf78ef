"""The standard's extension for linear algebra: each function is PyTorch's, with the standard's arguments."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import types
from .reductions import _of_sums

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of a positive definite matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.cholesky(4 * dt.eye(1))
    tensor([[2.]])
    """
    return dt.linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of three elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.cross(dt.eye(3)[0], dt.eye(3)[1])
    tensor([0., 0., 1.])
    """
    x1, x2 = types.of_one_type(x1, x2)
    if axis >= 0 and x1.ndim != x2.ndim:
        raise ValueError(f"cross of arrays of {x1.ndim} and {x2.ndim} dimensions: axis is negative, got {axis}")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross takes vectors of three elements, got {x1.shape[axis]} and {x2.shape[axis]}")
    return dt.linalg.cross(*dt.broadcast_tensors(x1, x2), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinant.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.det(2 * dt.eye(2))
    tensor(4.)
    """
    return dt.linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of the matrices in the last two axes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.diagonal(dt.eye(3), offset=1)
    tensor([0., 0.])
    """
    return dt.diagonal(x, offset, -2, -1)


def eigh(x: Tensor, /) -> Any:
    """The eigenvalues of a Hermitian matrix, and its eigenvectors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.eigh(dt.eye(2)).eigenvalues
    tensor([1., 1.])
    """
    return dt.linalg.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of a Hermitian matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.eigvalsh(dt.eye(2))
    tensor([1., 1.])
    """
    return dt.linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverse.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.inv(2 * dt.eye(1))
    tensor([[0.5000]])
    """
    return dt.linalg.inv(x)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix product.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.matmul(dt.eye(2), dt.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return dt.matmul(*types.of_one_type(x1, x2))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices; ``ord=None`` is the Frobenius norm.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.matrix_norm(dt.ones(2, 2))
    tensor(2.)
    """
    return dt.linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The ``n``-th power of a square matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.matrix_power(2 * dt.eye(1), 3)
    tensor([[8.]])
    """
    return dt.linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are larger than ``rtol`` times the largest.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.matrix_rank(dt.ones(2, 2))
    tensor(1)
    """
    return dt.linalg.matrix_rank(x) if rtol is None else dt.linalg.matrix_rank(x, rtol=rtol)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view with the last two axes exchanged.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.matrix_transpose(dt.ones(2, 3)).shape
    dualtape.Size([3, 2])
    """
    return x.mT


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of an element of each of two vectors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.outer(dt.ones(1), dt.arange(2.0))
    tensor([[0., 1.]])
    """
    return dt.outer(*types.of_one_type(x1, x2))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse; singular values below ``rtol`` times the largest count as zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.pinv(dt.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return dt.linalg.pinv(x) if rtol is None else dt.linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """Orthogonal columns and a triangular matrix whose product is ``x``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.qr(dt.ones(3, 2)).R.shape
    dualtape.Size([2, 2])
    """
    return dt.linalg.qr(x, mode)


def slogdet(x: Tensor, /) -> Any:
    """The sign of the determinant, and the logarithm of its size.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.slogdet(-dt.eye(1)).sign
    tensor(-1.)
    """
    return dt.linalg.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution of linear equations; ``x2`` is a vector if it has one axis, else matrices.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.solve(2 * dt.eye(2), dt.ones(2))
    tensor([0.5000, 0.5000])
    """
    x1, x2 = types.of_one_type(x1, x2)
    # PyTorch takes matrices for a batch of vectors if their shape is that of one: not if they have all dimensions
    batch = dt.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return dt.linalg.solve(x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:]))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """Singular vectors, singular values, and the other singular vectors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.svd(2 * dt.eye(2)).S
    tensor([2., 2.])
    """
    return dt.linalg.svd(x, full_matrices=full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.svdvals(2 * dt.eye(2))
    tensor([2., 2.])
    """
    return dt.linalg.svdvals(x)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """The product summed over axes: the last of one and the first of the other, or those given for each.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.tensordot(dt.ones(2, 3), dt.ones(3, 4), axes=1).shape
    dualtape.Size([2, 4])
    """
    x1, x2 = types.of_one_type(x1, x2)
    return dt.tensordot(x1, x2, axes if isinstance(axes, int) else [list(a) for a in axes])


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of the matrices in the last two axes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.trace(dt.eye(3))
    tensor(3.)
    """
    return dt.sum(diagonal(x, offset=offset), -1, dtype=_of_sums(x, dtype))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The products of vectors along an axis, the first conjugated.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.vecdot(dt.ones(2, 3), dt.ones(3))
    tensor([3., 3.])
    """
    x1, x2 = types.of_one_type(x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot takes vectors of one length, got {x1.shape[axis]} and {x2.shape[axis]}")
    return dt.linalg.vecdot(*dt.broadcast_tensors(x1, x2), dim=axis)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norm of vectors along axes, or of all elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linalg.vector_norm(dt.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return dt.linalg.vector_norm(x, ord, axis, keepdims)
