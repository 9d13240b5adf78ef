"""Norms of matrices, and condition numbers by them: of singular values, of sums of rows or of columns.

Those of vectors, which Frobenius' norm and the sums lead to, are in ``norms``.
"""

from __future__ import annotations

from typing import Any

from ..formulas import normal_dim
from ..samples import invertible, ours, real, sample
from ..table import TABLE, composite
from .linalg import inverse
from .orthogonal import svdvals
from .products import as_tensor
from .reductions import numpy_names

_ORDERS = (1, -1, 2, -2, float("inf"), -float("inf"))


@composite("linalg_matrix_norm", namespace="linalg", samples=(
    sample(real(3, 4)), *(sample(real(3, 4), p) for p in ("nuc", *_ORDERS)), sample(real(2, 3, 4), "fro", (0, 1)),
    sample(real(2, 3, 4), 2, (0, 2), True),
    sample(real(2, 3, 4), "nuc", (2, 0), True), sample(real(2, 3, 4), 1, (-1, -2)),
    sample(real(2, 3, 4), 1, (-2, -1), True),
))  # fmt: skip
@numpy_names
def matrix_norm(input: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A norm of matrices: "fro", "nuc", or of order 1, 2, inf or their negatives.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.matrix_norm(dt.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """
    input = as_tensor("linalg.matrix_norm", "input", input) if dtype is None else input.to(dtype)
    if input.ndim < 2 or input._array.dtype.kind not in "fc":
        raise RuntimeError(
            f"linalg.matrix_norm: expected floating point or complex matrices, got {list(input.shape)} of {input.dtype}"
        )
    rows, columns = (normal_dim(d, input.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    vector_norm = TABLE["linalg_vector_norm"].function
    if ord == "fro":
        return vector_norm(input, 2, (rows, columns), keepdim)
    if ord == "nuc" or (isinstance(ord, (int, float)) and abs(ord) == 2):
        values = svdvals(input.movedim((rows, columns), (-2, -1)))
        out = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord > 0 else values.amin(-1)
        if keepdim:
            for d in sorted((rows, columns)):
                out = out.unsqueeze(d)
        return out
    if not isinstance(ord, (int, float)) or abs(ord) not in (1, float("inf")):
        raise RuntimeError(
            f"linalg.matrix_norm: order {ord!r} not supported; expected 'fro', 'nuc', or plus or minus 1, 2, inf"
        )
    first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
    if not keepdim and second > first:
        second -= 1
    sums = vector_norm(input, 1, first, keepdim)
    return sums.amax(second, keepdim) if ord > 0 else sums.amin(second, keepdim)


@composite("linalg_norm", namespace="linalg", samples=(
    sample(real(3, 4)), sample(real(4), 3), sample(real(3, 4), 2), sample(real(3, 4), "fro"), sample(real(3, 4), "nuc"),
    sample(real(2, 3, 4), dim=1),
    sample(real(2, 3, 4), 1, (0, 2), True),
    sample(real(2, 3, 4), keepdim=True), sample(real(3, 4), 1.5, 0),
))  # fmt: skip
@numpy_names
def norm(input: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A norm of vectors or matrices: of the whole tensor without ``ord``, else as its dimensions or ``dim`` say.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.norm(dt.tensor([3.0, 4.0]))
    tensor(5.)
    """
    input = as_tensor("linalg.norm", "input", input) if dtype is None else input.to(dtype)
    if ord is None:
        return TABLE["linalg_vector_norm"].function(input, 2, dim, keepdim)
    if dim is None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: if dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) == 1:
        if isinstance(ord, str):
            raise RuntimeError(f"linalg.norm: order {ord!r} is for matrices, the input is a vector along dim {dims[0]}")
        return TABLE["linalg_vector_norm"].function(input, ord, dims[0], keepdim)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.norm: if specified, dim must be of length 1 or 2. Got {dims}")
    return matrix_norm(input, ord, dims, keepdim)


@composite(
    "linalg_cond",
    namespace="linalg",
    samples=(sample(invertible(3, 3)), ours(invertible(2, 3, 3), "fro"), sample(invertible(3, 3), -2)),
)
def cond(input: Any, p: Any = None) -> Any:
    """The condition number of a matrix, by the norm of order ``p`` (2 by default).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.cond(dt.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(1.3333)
    """
    if p is None or p in (2, -2):
        values = svdvals(input)
        if not values.shape[-1]:
            return values.sum(-1)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return matrix_norm(input, p) * matrix_norm(inverse(input), p)
