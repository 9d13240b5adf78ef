"""Products of matrices, vectors and batches.

``mm``, ``mv``, ``dot`` and the batched product are ops; all others are composed of them, here and in ``contractions``,
so that the gradient of a product is two products, at every order.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import errors
from ..._tensor.tensor import Tensor, wrap
from ...arrays import as_array, is_array
from ...arrays.kernels import blas
from ...arrays.kernels.blas import FEW
from ..dispatch import written_out
from ..formulas import adjoint, times, times_checked, use
from ..samples import real, sample
from ..table import BILINEAR, COMMON, CONTRACTION, GENERAL, UFUNCS, composite, op


def as_tensor(name: str, param: str, value: Any) -> Tensor:
    """Return ``value`` as a tensor; raise TypeError unless it is one, or an array."""
    if isinstance(value, Tensor):
        return value
    if is_array(value):
        return wrap(as_array(value))
    raise errors.not_a_tensor(name, param, value)


def mismatch(name: str, what: str, x: Any, y: Any) -> RuntimeError:
    return RuntimeError(f"{name}: {what}, got {list(x.shape)} and {list(y.shape)}")


def same_dtype(name: str, x: Any, y: Any) -> None:
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"{name}: expected both tensors to have the same dtype, but got: {x.dtype} != {y.dtype}; convert one with"
            " .to(...)"
        )


def _checked(name: str, x: Any, y: Any, dims: tuple[int, int]) -> None:
    if x.ndim != dims[0] or y.ndim != dims[1]:
        raise mismatch(name, f"expected tensors of {dims[0]} and {dims[1]} dimensions", x, y)
    if x.dtype is not y.dtype:
        same_dtype(name, x, y)


# --- matrices and vectors -------------------------------------------------------------------------


def _mm(x: Any, mat2: Any) -> Any:
    _checked("mm", x, mat2, (2, 2))
    if x.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mm: mat1 and mat2 shapes cannot be multiplied ({x.shape[0]}x{x.shape[1]} and"
            f" {mat2.shape[0]}x{mat2.shape[1]}): the columns of one must be the rows of the other"
        )
    return blas.dot(x, mat2)


def _mm_arrays(x: Any, mat2: Any) -> Any:
    if x.ndim != 2 or mat2.ndim != 2:
        raise ValueError  # the other one says what is wrong
    if x.size >= FEW or mat2.size >= FEW:
        return blas.dot(x, mat2)
    return x.dot(mat2)


mm = op("mm", _mm, kind=CONTRACTION, jvp=BILINEAR,
   numpy_forward=_mm_arrays, numpy_vjp=dict(x=lambda g, mat2: blas.dot(g, mat2.T.conj()), mat2=lambda g, x: blas.dot(x.T.conj(), g)),
   vjp=dict(x=lambda g, mat2: np.dot(g, mat2.T.conj()), mat2=lambda g, x: np.dot(x.T.conj(), g)),
   samples=(sample(real(3, 4), real(4, 2)), sample(real(3, 4, layout="F"), real(4, 2, layout="strided")),
       sample(real(0, 3), real(3, 2)),
            sample(real(2, 0), real(0, 3)), sample(real(1, 3), real(3, 1))),
   doc="""The product of two matrices.

   >>> import dualtape as dt
   >>> dt.mm(dt.tensor([[1.0, 2.0]]), dt.tensor([[3.0], [4.0]]))
   tensor([[11.]])
   """)  # fmt: skip


def _mv(x: Any, vec: Any) -> Any:
    _checked("mv", x, vec, (2, 1))
    if x.shape[1] != vec.shape[0]:
        raise mismatch("mv", "size mismatch: the matrix must have as many columns as the vector has entries", x, vec)
    return blas.dot(x, vec)


mv = op("mv", _mv, kind=CONTRACTION, jvp=BILINEAR,
   vjp=dict(x=lambda g, vec: np.multiply(g.reshape(-1, 1), vec.conj()), vec=lambda g, x: np.dot(x.T.conj(), g)),
   samples=(sample(real(3, 4), real(4)), sample(real(3, 4, layout="F"), real(4)), sample(real(3, 0), real(0))),
   doc="""The product of a matrix and a vector.

   >>> import dualtape as dt
   >>> dt.mv(dt.tensor([[1.0, 2.0], [0.0, 1.0]]), dt.tensor([3.0, 4.0]))
   tensor([11.,  4.])
   """)  # fmt: skip


def _dot(x: Any, tensor: Any) -> Any:
    _checked("dot", x, tensor, (1, 1))
    if x.shape != tensor.shape:
        raise mismatch("dot", "inconsistent tensor size, expected vectors of the same length", x, tensor)
    return blas.dot(x, tensor)


dot = op("dot", _dot, kind=CONTRACTION, jvp=BILINEAR,
   vjp=dict(x=lambda g, tensor: np.multiply(g, tensor.conj()), tensor=lambda g, x: np.multiply(g, x.conj())),
   samples=(sample(real(4), real(4)), sample(real(0), real(0)), sample(real(4, layout="strided"), real(4))),
   doc="""The sum of the products of two vectors' entries, without conjugation.

   >>> import dualtape as dt
   >>> dt.dot(dt.tensor([1.0, 2.0]), dt.tensor([3.0, 4.0]))
   tensor(11.)
   """)  # fmt: skip


def _vdot(x: Any, y: Any) -> Any:
    _checked("vdot", x, y, (1, 1))
    if x.shape != y.shape:
        raise mismatch("vdot", "inconsistent tensor size, expected vectors of the same length", x, y)
    return blas.dot(x.conj(), y)


op("vdot", _vdot, kind=CONTRACTION, node="VdotBackward0",
   vjp=dict(x=lambda g, y: np.multiply(g.conj(), y), y=lambda g, x: np.multiply(g, x)),
   jvp=dict(x=lambda t, y: use("vdot")(t, y), y=lambda t, x: use("vdot")(x, t)),
   samples=(sample(real(4), real(4)), sample(real(0), real(0))),
   doc="""The inner product of two vectors, the first conjugated.

   >>> import dualtape as dt
   >>> dt.vdot(dt.tensor([1j]), dt.tensor([1j]))
   tensor(1.+0.j)
   """)  # fmt: skip


def _bmm(x: Any, mat2: Any) -> Any:
    _checked("bmm", x, mat2, (3, 3))
    if x.shape[0] != mat2.shape[0] or x.shape[2] != mat2.shape[1]:
        raise mismatch("bmm", "expected batches of the same size whose matrices can be multiplied", x, mat2)
    return blas.matmul(x, mat2)


bmm = op("bmm", _bmm, kind=CONTRACTION, jvp=BILINEAR,
   vjp=dict(x=lambda g, mat2: np.matmul(g, adjoint(mat2)), mat2=lambda g, x: np.matmul(adjoint(x), g)),
   numpy_vjp=dict(x=lambda g, mat2: blas.matmul(g, adjoint(mat2)), mat2=lambda g, x: blas.matmul(adjoint(x), g)),
   samples=(sample(real(2, 3, 4), real(2, 4, 2)), sample(real(0, 3, 4), real(0, 4, 2)),
       sample(real(2, 3, 4, layout="F"), real(2, 4, 1))),
   doc="""The products of two batches of matrices.

   >>> import dualtape as dt
   >>> dt.bmm(dt.ones(2, 1, 3), dt.ones(2, 3, 1)).shape
   dualtape.Size([2, 1, 1])
   """)  # fmt: skip


def _batched(x: Any, y: Any) -> Any:
    same_dtype("matmul", x, y)
    if x.shape[-1] != y.shape[-2]:
        raise mismatch("matmul", "expected the last dimension of the first to be the last but one of the second", x, y)
    # One product of a tall matrix, where NumPy would compute one for each matrix of the batch.
    if y.ndim == 2 and y.size:
        return blas.dot(x.reshape(-1, x.shape[-1]), y).reshape(*x.shape[:-1], y.shape[-1])
    return blas.matmul(x, y)


def _batched_right(g: Any, x: Any, y_shape: tuple) -> Any:
    if len(y_shape) == 2 and prod(x.shape) and prod(y_shape):
        return np.dot(x.reshape(-1, y_shape[0]).T.conj(), g.reshape(-1, y_shape[1]))
    return np.matmul(adjoint(x), g)


def _batched_right_arrays(g: Any, x: Any, y_shape: tuple) -> Any:
    if len(y_shape) == 2 and prod(x.shape) and prod(y_shape):
        return blas.dot(x.reshape(-1, y_shape[0]).T.conj(), g.reshape(-1, y_shape[1]))
    return blas.matmul(adjoint(x), g)


_batched_matmul = op("matmul_batched", _batched, kind=GENERAL, jvp=BILINEAR, public=False, method=False,
    node="BmmBackward0", torch_name="matmul",
   vjp=dict(x=lambda g, y: np.matmul(g, adjoint(y)), y=_batched_right),
   numpy_vjp=dict(x=lambda g, y: blas.matmul(g, adjoint(y)), y=_batched_right_arrays),
   samples=(sample(real(2, 3, 4), real(2, 4, 2)), sample(real(2, 3, 4), real(4, 2)), sample(real(3, 4), real(2, 4, 2)),
            sample(real(3, 1, 2, 4), real(2, 4, 2)), sample(real(2, 0, 4), real(4, 3)),
            sample(real(2, 3, 0), real(0, 2))),
   doc="""The products of batches of matrices, the batches broadcast together.""")  # fmt: skip


@composite("matmul", also=("linalg.matmul",), samples=(
    sample(real(3, 4), real(4, 2)), sample(real(4), real(4)), sample(real(3, 4), real(4)), sample(real(3), real(3, 4)),
    sample(real(2, 3, 4), real(4)),
    sample(real(3), real(2, 3, 4)), sample(real(2, 3, 4), real(2, 4, 3)), sample(real(2, 1, 3, 4), real(3, 4, 2)),
    sample(real(2, 3, 4), real(4, 5)),
    sample(real(5, 3), real(2, 3, 4)), sample(real(2, 3, 4, layout="F"), real(4, 5)), sample(real(0, 3), real(3, 2)),
))  # fmt: skip
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """The matrix product: of two matrices, of vectors with either, of batches broadcast together.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.matmul(dt.eye(2), dt.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if not isinstance(input, Tensor):
        input = as_tensor("matmul", "input", input)
    if not isinstance(other, Tensor):
        other = as_tensor("matmul", "other", other)
    if out is not None:
        return _matmul_into(input, other, out)
    dims = (input._array.ndim, other._array.ndim)
    if dims == (2, 2):
        return mm(input, other)
    if 0 in dims:
        raise RuntimeError(
            f"matmul: both arguments need to be at least 1D, but they are {dims[0]}D and {dims[1]}D; use * for a scalar"
        )
    if dims == (1, 1):
        return dot(input, other)
    if dims == (2, 1):
        return mv(input, other)
    if dims[0] == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2)
    if dims[1] == 1:
        return _batched_matmul(input, other.unsqueeze(-1)).squeeze(-1)
    return _batched_matmul(input, other)


def _matmul_into(x: Tensor, y: Tensor, out: Any) -> Any:
    if x.ndim == 1 or y.ndim == 1 or 0 in (x.ndim, y.ndim):
        return written_out("matmul", out, matmul(x, y))
    return (mm if x.ndim == y.ndim == 2 else _batched_matmul)(x, y, out=out)


UFUNCS[np.matmul] = matmul


@composite("outer", also=("ger",), samples=(sample(real(3), real(4)), sample(real(0), real(2))))
def outer(input: Any, vec2: Any) -> Any:
    """The products of each entry of one vector with each of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.outer(dt.tensor([1.0, 2.0]), dt.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    if input.ndim != 1 or vec2.ndim != 1:
        raise mismatch("outer", "expected two 1-D tensors", input, vec2)
    return input.view(-1, 1) * vec2


# --- a product added to a tensor ------------------------------------------------------------------


def _turned(factor: Any, value: Any) -> Any:
    """Return ``value`` times the conjugate of a number."""
    return value if factor == 1 else value * np.conj(factor)


def _plus(name: str, x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    same_dtype(name, x, product)
    shape = product.shape
    if x.ndim > len(shape) or any(n not in (1, m) for n, m in zip(x.shape[::-1], shape[::-1], strict=False)):
        raise RuntimeError(
            f"{name}: the tensor to add of shape {list(x.shape)} cannot be expanded to the product's {list(shape)}"
        )
    product = times(alpha, product)
    if beta == 0:  # not a product: 0 * NaN must not reach the result
        return product if alpha != 1 else product + 0
    return np.add(times(beta, x), product)


op("addmm", lambda x, mat1, mat2, beta=1, alpha=1: _plus("addmm", x, _mm(mat1, mat2), beta, alpha), kind=GENERAL, keywords=("beta", "alpha"),
   vjp=dict(x=lambda g, beta: _turned(beta, g), mat1=lambda g, mat2, alpha: _turned(alpha, np.dot(g, mat2.T.conj())),
            mat2=lambda g, mat1, alpha: _turned(alpha, np.dot(mat1.T.conj(), g))),
   numpy_vjp=dict(mat1=lambda g, mat2, alpha: _turned(alpha, blas.dot(g, mat2.T.conj())),
            mat2=lambda g, mat1, alpha: _turned(alpha, blas.dot(mat1.T.conj(), g))),
   jvp=dict(x=lambda t, beta, out: np.broadcast_to(times(beta, t), out.shape), mat1=lambda t, mat2,
       alpha: times(alpha, np.dot(t, mat2)),
            mat2=lambda t, mat1, alpha: times(alpha, np.dot(mat1, t))),
   samples=(sample(real(3, 2), real(3, 4), real(4, 2)), sample(real(2), real(3, 4), real(4, 2), beta=0.5, alpha=2),
   sample(real(1, 2), real(3, 4), real(4, 2), beta=0)),
   inplace=True,
   doc="""beta * x + alpha * (mat1 @ mat2).

   >>> import dualtape as dt
   >>> dt.addmm(dt.ones(1, 1), dt.tensor([[1.0, 2.0]]), dt.tensor([[3.0], [4.0]]))
   tensor([[12.]])
   """)  # fmt: skip
op("addmv", lambda x, mat, vec, beta=1, alpha=1: _plus("addmv", x, _mv(mat, vec), beta, alpha), kind=GENERAL, keywords=("beta", "alpha"),
   vjp=dict(x=lambda g, beta: _turned(beta, g), mat=lambda g, vec,
       alpha: np.multiply(_turned(alpha, g).reshape(-1, 1), vec.conj()),
            vec=lambda g, mat, alpha: _turned(alpha, np.dot(mat.T.conj(), g))),
   jvp=dict(x=lambda t, beta, out: np.broadcast_to(times(beta, t), out.shape), mat=lambda t, vec,
       alpha: times(alpha, np.dot(t, vec)),
            vec=lambda t, mat, alpha: times(alpha, np.dot(mat, t))),
   samples=(sample(real(3), real(3, 4), real(4)), sample(real(1), real(3, 4), real(4), beta=0.5, alpha=2)),
   inplace=True,
   doc="""beta * x + alpha * (mat @ vec).

   >>> import dualtape as dt
   >>> dt.addmv(dt.ones(1), dt.tensor([[1.0, 2.0]]), dt.tensor([3.0, 4.0]))
   tensor([12.])
   """)  # fmt: skip
op("baddbmm", lambda x, batch1, batch2, beta=1, alpha=1: _plus("baddbmm", x, _bmm(batch1, batch2), beta, alpha),
    kind=GENERAL, keywords=("beta", "alpha"),
   vjp=dict(x=lambda g, beta: _turned(beta, g), batch1=lambda g, batch2,
       alpha: _turned(alpha, np.matmul(g, adjoint(batch2))),
            batch2=lambda g, batch1, alpha: _turned(alpha, np.matmul(adjoint(batch1), g))),
   numpy_vjp=dict(batch1=lambda g, batch2, alpha: _turned(alpha, blas.matmul(g, adjoint(batch2))),
            batch2=lambda g, batch1, alpha: _turned(alpha, blas.matmul(adjoint(batch1), g))),
   jvp=dict(x=lambda t, beta, out: np.broadcast_to(times(beta, t), out.shape), batch1=lambda t, batch2,
       alpha: times(alpha, np.matmul(t, batch2)),
            batch2=lambda t, batch1, alpha: times(alpha, np.matmul(batch1, t))),
   samples=(sample(real(2, 3, 2), real(2, 3, 4), real(2, 4, 2)),
       sample(real(2), real(2, 3, 4), real(2, 4, 2), beta=0.5, alpha=2)), inplace=True,
   doc="""beta * x + alpha * (batch1 @ batch2).

   >>> import dualtape as dt
   >>> dt.baddbmm(dt.ones(1, 1, 1), dt.ones(1, 1, 3), dt.ones(1, 3, 1))
   tensor([[[4.]]])
   """)  # fmt: skip


def _plus_outer(x: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    if vec1.ndim != 1 or vec2.ndim != 1:
        raise mismatch("addr", "expected vec1 and vec2 to be 1-D", vec1, vec2)
    product = times_checked("alpha", alpha, np.multiply(vec1.reshape(-1, 1), vec2))
    return _plus("addr", times_checked("beta", beta, x) if beta != 0 else x, product, 1 if beta != 0 else 0, 1)


op("addr", lambda x, vec1, vec2, beta=1, alpha=1: _plus_outer(x, vec1, vec2, beta, alpha), kind=GENERAL, keywords=("beta", "alpha"), promote=COMMON,
   vjp=dict(x=lambda g, beta: _turned(beta, g), vec1=lambda g, vec2, alpha: _turned(alpha, np.dot(g, vec2.conj())),
            vec2=lambda g, vec1, alpha: _turned(alpha, np.dot(g.T, vec1.conj()))),
   jvp=dict(x=lambda t, beta, out: np.broadcast_to(times(beta, t), out.shape), vec1=lambda t, vec2,
       alpha: times(alpha, t.reshape(-1, 1) * vec2),
            vec2=lambda t, vec1, alpha: times(alpha, vec1.reshape(-1, 1) * t)),
   samples=(sample(real(3, 4), real(3), real(4)), sample(real(4), real(3), real(4), beta=0.5, alpha=2)), inplace=True,
   doc="""beta * x + alpha * outer(vec1, vec2).

   >>> import dualtape as dt
   >>> dt.addr(dt.ones(1, 2), dt.tensor([2.0]), dt.tensor([3.0, 4.0]))
   tensor([[7., 9.]])
   """)  # fmt: skip
