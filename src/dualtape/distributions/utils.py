"""Helpers of distributions: parameters of one shape, probabilities and logits, triangles as vectors, lazy
parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from operator import attrgetter
from typing import Any

import numpy as np

import dualtape as dt

from .._tensor.tensor import Tensor, raw
from ..arrays.kernels.basics import all_samples

__all__ = [
    "broadcast_all",
    "logits_to_probs",
    "clamp_probs",
    "probs_to_logits",
    "lazy_property",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of their common shape; a number takes the dtype of the tensors.

    Examples
    --------
    >>> from dualtape.distributions.utils import broadcast_all
    >>> import dualtape as dt
    >>> broadcast_all(1, dt.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    example = None
    for value in values:
        if isinstance(value, Tensor):
            example = value if example is None else example
        elif not isinstance(value, Number) and not hasattr(value, "__torch_function__"):
            raise ValueError(f"broadcast_all takes numbers and tensors, got {type(value).__name__}")
    dtype = dt.get_default_dtype() if example is None else example.dtype
    device = None if example is None else example.device
    return dt.broadcast_tensors(
        *[v if isinstance(v, Tensor) else dt.tensor(v, dtype=dtype, device=device) for v in values]
    )


def holds_everywhere(condition: Tensor) -> bool:
    """Return whether all elements are true, of every sample of a batch."""
    return bool(all_samples(raw(condition)).all())


def away_from_zero(value: Tensor) -> Tensor:
    """Return a new sample with 0, which has no logarithm, replaced in place; its gradient is unchanged."""
    array = value._array
    np.maximum(array, np.finfo(array.dtype).tiny, out=array)
    return value


def shown(value: Any) -> str:
    """Return a parameter as messages show it: a single number as a number, unless it is a batch."""
    array = raw(value)
    return f"{value}" if all_samples(array) is array else repr(value)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return dt.randn(tuple(shape), dtype=dtype, device=device)


def _sum_rightmost(value: Any, dim: int) -> Any:
    """Return the sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.sum(tuple(range(-dim, 0)))


def open_uniform(shape: Any, like: Tensor) -> Tensor:
    """Return numbers between 0 and 1, both excluded, so that logarithms are finite."""
    limits = dt.finfo(like.dtype)
    return dt.rand(tuple(shape), dtype=like.dtype, device=like.device).clamp(limits.tiny, 1 - limits.eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The probabilities of log-odds (``is_binary``), or of unnormalised log-probabilities along the last dimension.

    Examples
    --------
    >>> from dualtape.distributions.utils import logits_to_probs
    >>> import dualtape as dt
    >>> logits_to_probs(dt.zeros(2)), logits_to_probs(dt.zeros(1), is_binary=True)
    (tensor([0.5000, 0.5000]), tensor([0.5000]))
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities, bounded away from 0 and 1 by the resolution of their dtype.

    Examples
    --------
    >>> from dualtape.distributions.utils import clamp_probs
    >>> import dualtape as dt
    >>> clamp_probs(dt.tensor([0.0, 0.5]))
    tensor([1.1921e-07, 5.0000e-01])
    """
    eps = dt.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The log-odds of probabilities (``is_binary``), or their logarithms.

    Examples
    --------
    >>> from dualtape.distributions.utils import probs_to_logits
    >>> import dualtape as dt
    >>> probs_to_logits(dt.tensor([0.5])), probs_to_logits(dt.tensor([0.5]), is_binary=True)
    (tensor([-0.6931]), tensor([0.]))
    """
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


def attribute(path: str, doc: str | None = None) -> Any:
    """Return a property that is another attribute, or one of a part: ``"base_dist.loc"``."""
    return property(attrgetter(path), doc=doc)


class lazy_property:
    """A property that is computed on first use, with gradients, and then an attribute.

    Examples
    --------
    >>> from dualtape.distributions.utils import lazy_property
    >>> class Circle:
    ...     radius = 2
    ...     @lazy_property
    ...     def area(self):
    ...         return 3 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12, {'area': 12})
    """

    def __init__(self, wrapped: Callable) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return property(self.wrapped)
        with dt.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The lower triangles of matrices, up to the diagonal ``diag``, as vectors, row by row.

    Examples
    --------
    >>> from dualtape.distributions.utils import tril_matrix_to_vec
    >>> import dualtape as dt
    >>> tril_matrix_to_vec(dt.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 3., 4.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(
            f"tril_matrix_to_vec: a matrix of size {n} has diagonals from {-n} to {n - 1}, got diag={diag}"
        )
    rows, columns = dt.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The inverse of :func:`tril_matrix_to_vec`: square matrices with the vectors in their lower triangles.

    Examples
    --------
    >>> from dualtape.distributions.utils import vec_to_tril_matrix
    >>> import dualtape as dt
    >>> vec_to_tril_matrix(dt.tensor([1.0, 3.0, 4.0]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    # of n rows, the triangle has n (n + 1 + 2 diag) / 2 elements, and as many less above the first row as diag > 0
    length, edge = vec.shape[-1], 2 * diag + 1
    missing = diag * (diag + 1) if diag > 0 else 0
    n = round(((edge**2 + 8 * length + 4 * missing) ** 0.5 - edge) / 2)
    rows, columns = dt.tril_indices(n, n, diag)
    if len(rows) != length:
        raise RuntimeError(f"vec_to_tril_matrix: shape mismatch: {length} elements fill no triangle with diag={diag}")
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., rows, columns] = vec
    return mat


def softplus(x: Any) -> Any:
    """Return ``log(1 + exp(x))``, accurate also for large ``|x|``."""
    return -dt.nn.functional.logsigmoid(-x)
