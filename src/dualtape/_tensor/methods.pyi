"""The methods of tensors that the op table declares. Written by ``python -m tools.stubs``."""

# ruff: noqa - written by a tool, one signature a line
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from typing import Any, NamedTuple

from .tensor import Tensor

class _aminmax_result(NamedTuple):
    min: Tensor
    max: Tensor

class _frexp_result(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class _cummax_result(NamedTuple):
    values: Tensor
    indices: Tensor

class _cummin_result(NamedTuple):
    values: Tensor
    indices: Tensor

class _slogdet_result(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _sort_result(NamedTuple):
    values: Tensor
    indices: Tensor

class _topk_result(NamedTuple):
    values: Tensor
    indices: Tensor

class _kthvalue_result(NamedTuple):
    values: Tensor
    indices: Tensor

class _mode_result(NamedTuple):
    values: Tensor
    indices: Tensor

class Methods:
    @property
    def H(self) -> Any: ...
    @property
    def T(self) -> Any: ...
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Any, /) -> Tensor: ...
    def __and__(self, other: Any, /) -> Tensor: ...
    @property
    def __cuda_array_interface__(self) -> Any: ...
    def __eq__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]  # of object: a bool
    def __floordiv__(self, other: Any, /) -> Tensor: ...
    def __ge__(self, other: Any, /) -> Tensor: ...
    def __getitem__(self, key: Any, /) -> Tensor: ...
    def __gt__(self, other: Any, /) -> Tensor: ...
    def __iadd__(self, other: Any, /) -> Tensor: ...
    def __iand__(self, other: Any, /) -> Tensor: ...
    def __ifloordiv__(self, other: Any, /) -> Tensor: ...
    def __ilshift__(self, other: Any, /) -> Tensor: ...
    def __imod__(self, other: Any, /) -> Tensor: ...
    def __imul__(self, other: Any, /) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Any, /) -> Tensor: ...
    def __ipow__(self, other: Any, /) -> Tensor: ...
    def __irshift__(self, other: Any, /) -> Tensor: ...
    def __isub__(self, other: Any, /) -> Tensor: ...
    def __itruediv__(self, other: Any, /) -> Tensor: ...
    def __ixor__(self, other: Any, /) -> Tensor: ...
    def __le__(self, other: Any, /) -> Tensor: ...
    def __lshift__(self, other: Any, /) -> Tensor: ...
    def __lt__(self, other: Any, /) -> Tensor: ...
    def __matmul__(self, other: Any, /) -> Tensor: ...
    def __mod__(self, other: Any, /) -> Tensor: ...
    def __mul__(self, other: Any, /) -> Tensor: ...
    def __ne__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]  # of object: a bool
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Any, /) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Any, /) -> Tensor: ...
    def __radd__(self, other: Any, /) -> Tensor: ...
    def __rand__(self, other: Any, /) -> Tensor: ...
    def __rfloordiv__(self, other: Any, /) -> Tensor: ...
    def __rlshift__(self, other: Any, /) -> Tensor: ...
    def __rmatmul__(self, other: Any, /) -> Tensor: ...
    def __rmod__(self, other: Any, /) -> Tensor: ...
    def __rmul__(self, other: Any, /) -> Tensor: ...
    def __ror__(self, other: Any, /) -> Tensor: ...
    def __rpow__(self, other: Any, /) -> Tensor: ...
    def __rrshift__(self, other: Any, /) -> Tensor: ...
    def __rshift__(self, other: Any, /) -> Tensor: ...
    def __rsub__(self, other: Any, /) -> Tensor: ...
    def __rtruediv__(self, other: Any, /) -> Tensor: ...
    def __rxor__(self, other: Any, /) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __sub__(self, other: Any, /) -> Tensor: ...
    def __truediv__(self, other: Any, /) -> Tensor: ...
    def __xor__(self, other: Any, /) -> Tensor: ...
    @property
    def _backward_hooks(self) -> Any: ...
    @property
    def _grad_fn(self) -> Any: ...
    @property
    def _has_symbolic_sizes_strides(self) -> Any: ...
    @property
    def _post_accumulate_grad_hooks(self) -> Any: ...
    def abs(self, *, out: Any = ...) -> Tensor:
        """The absolute value of each element; the gradient at 0 is 0."""
    def abs_(self) -> Tensor:
        """The absolute value of each element; the gradient at 0 is 0."""
    def absolute(self, *, out: Any = ...) -> Tensor:
        """The absolute value of each element; the gradient at 0 is 0."""
    def absolute_(self) -> Tensor:
        """The absolute value of each element; the gradient at 0 is 0."""
    def acos(self, *, out: Any = ...) -> Tensor:
        """The inverse cosine."""
    def acos_(self) -> Tensor:
        """The inverse cosine."""
    def acosh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic cosine."""
    def acosh_(self) -> Tensor:
        """The inverse hyperbolic cosine."""
    def add(self, other: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
        """x + alpha * y."""
    def add_(self, other: Any, *, alpha: Any = ...) -> Tensor:
        """x + alpha * y."""
    def addbmm(self, batch1: Any, batch2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
        """beta * input + alpha * the sum of the products of the matrices of two batches."""
    def addbmm_(self, batch1: Any, batch2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
        """beta * input + alpha * the sum of the products of the matrices of two batches."""
    def addcdiv(self, tensor1: Any, tensor2: Any, *, value: Any = ..., out: Any = ...) -> Tensor:
        """x + value * tensor1 / tensor2."""
    def addcdiv_(self, tensor1: Any, tensor2: Any, *, value: Any = ...) -> Tensor:
        """x + value * tensor1 / tensor2."""
    def addcmul(self, tensor1: Any, tensor2: Any, *, value: Any = ..., out: Any = ...) -> Tensor:
        """x + value * tensor1 * tensor2."""
    def addcmul_(self, tensor1: Any, tensor2: Any, *, value: Any = ...) -> Tensor:
        """x + value * tensor1 * tensor2."""
    def addmm(self, mat1: Any, mat2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
        """beta * x + alpha * (mat1 @ mat2)."""
    def addmm_(self, mat1: Any, mat2: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """beta * x + alpha * (mat1 @ mat2)."""
    def addmv(self, mat: Any, vec: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
        """beta * x + alpha * (mat @ vec)."""
    def addmv_(self, mat: Any, vec: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """beta * x + alpha * (mat @ vec)."""
    def addr(self, vec1: Any, vec2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
        """beta * x + alpha * outer(vec1, vec2)."""
    def addr_(self, vec1: Any, vec2: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """beta * x + alpha * outer(vec1, vec2)."""
    def adjoint(self) -> Tensor:
        """The conjugate transpose of the last two dimensions."""
    def all(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
        """Whether all elements over ``dim`` are true (not zero)."""
    def allclose(self, other: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
        """Whether all elements are close."""
    def amax(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
        """The largest element over ``dim``; those that tie share the gradient evenly."""
    def amin(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
        """The smallest element over ``dim``; those that tie share the gradient evenly."""
    def aminmax(self, *, dim: Any = ..., keepdim: _bool = ..., out: Any = ...) -> _aminmax_result:
        """The smallest and the largest element over ``dim``."""
    def angle(self, *, out: Any = ...) -> Tensor:
        """The angle of each complex number."""
    def any(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
        """Whether any element over ``dim`` is true (not zero)."""
    def apply_(self, callable: Any) -> Tensor:
        """Replace each element by a Python function of it: slow, and without history."""
    def arccos(self, *, out: Any = ...) -> Tensor:
        """The inverse cosine."""
    def arccos_(self) -> Tensor:
        """The inverse cosine."""
    def arccosh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic cosine."""
    def arccosh_(self) -> Tensor:
        """The inverse hyperbolic cosine."""
    def arcsin(self, *, out: Any = ...) -> Tensor:
        """The inverse sine."""
    def arcsin_(self) -> Tensor:
        """The inverse sine."""
    def arcsinh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(self) -> Tensor:
        """The inverse hyperbolic sine."""
    def arctan(self, *, out: Any = ...) -> Tensor:
        """The inverse tangent."""
    def arctan2(self, other: Any, *, out: Any = ...) -> Tensor:
        """The angle of the point (y, x) as seen from the origin."""
    def arctan2_(self, other: Any) -> Tensor:
        """The angle of the point (y, x) as seen from the origin."""
    def arctan_(self) -> Tensor:
        """The inverse tangent."""
    def arctanh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic tangent."""
    def arctanh_(self) -> Tensor:
        """The inverse hyperbolic tangent."""
    def argmax(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
        """The index of the largest element: along ``dim``, or of all in row-major order; the first of those that tie."""
    def argmin(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
        """The index of the smallest element: along ``dim``, or of all in row-major order; the first of those that tie."""
    def argsort(self, dim: Any = ..., descending: _bool = ..., stable: _bool = ..., *, out: Any = ...) -> Tensor:
        """The indices that sort the elements along ``dim``."""
    def argwhere(self) -> Tensor:
        """The indices of the entries that are not zero, as rows."""
    def as_strided(self, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
        """A view by size, stride and offset in elements of the memory that the tensor, or the base it views, lives in."""
    def as_strided_(self, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
        """In-place form of :func:`as_strided`."""
    def as_strided_scatter(self, src: Any, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
        """The tensor with ``src`` over what :func:`as_strided` shows of it."""
    def asin(self, *, out: Any = ...) -> Tensor:
        """The inverse sine."""
    def asin_(self) -> Tensor:
        """The inverse sine."""
    def asinh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(self) -> Tensor:
        """The inverse hyperbolic sine."""
    def astype(self, dtype: Any, copy: _bool = ...) -> Tensor:
        """The tensor in another dtype, by NumPy's name for :meth:`to`."""
    def atan(self, *, out: Any = ...) -> Tensor:
        """The inverse tangent."""
    def atan2(self, other: Any, *, out: Any = ...) -> Tensor:
        """The angle of the point (y, x) as seen from the origin."""
    def atan2_(self, other: Any) -> Tensor:
        """The angle of the point (y, x) as seen from the origin."""
    def atan_(self) -> Tensor:
        """The inverse tangent."""
    def atanh(self, *, out: Any = ...) -> Tensor:
        """The inverse hyperbolic tangent."""
    def atanh_(self) -> Tensor:
        """The inverse hyperbolic tangent."""
    def baddbmm(self, batch1: Any, batch2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
        """beta * x + alpha * (batch1 @ batch2)."""
    def baddbmm_(self, batch1: Any, batch2: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
        """beta * x + alpha * (batch1 @ batch2)."""
    def bernoulli(self, p: _float | None = ..., *, generator: Any = ..., out: Any = ...) -> Tensor:
        """Return zeros and ones, each a one with the probability in ``input`` (or with ``p``)."""
    def bernoulli_(self, p: Any = ..., *, generator: Any = ...) -> Tensor:
        """Fill with zeros and ones, each one with probability ``p``."""
    def bfloat16(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.bfloat16."""
    def bincount(self, weights: Any = ..., minlength: _int = ...) -> Tensor:
        """How often each non-negative integer occurs, or the sum of its weights."""
    def bitwise_and(self, other: Any, *, out: Any = ...) -> Tensor:
        """The bitwise and of integers, or of booleans."""
    def bitwise_and_(self, other: Any) -> Tensor:
        """The bitwise and of integers, or of booleans."""
    def bitwise_left_shift(self, other: Any, *, out: Any = ...) -> Tensor:
        """The left shift of integers, or of booleans."""
    def bitwise_left_shift_(self, other: Any) -> Tensor:
        """The left shift of integers, or of booleans."""
    def bitwise_not(self, *, out: Any = ...) -> Tensor:
        """The bitwise complement of integers, or of booleans."""
    def bitwise_not_(self) -> Tensor:
        """The bitwise complement of integers, or of booleans."""
    def bitwise_or(self, other: Any, *, out: Any = ...) -> Tensor:
        """The bitwise or of integers, or of booleans."""
    def bitwise_or_(self, other: Any) -> Tensor:
        """The bitwise or of integers, or of booleans."""
    def bitwise_right_shift(self, other: Any, *, out: Any = ...) -> Tensor:
        """The right shift of integers, or of booleans."""
    def bitwise_right_shift_(self, other: Any) -> Tensor:
        """The right shift of integers, or of booleans."""
    def bitwise_xor(self, other: Any, *, out: Any = ...) -> Tensor:
        """The bitwise exclusive or of integers, or of booleans."""
    def bitwise_xor_(self, other: Any) -> Tensor:
        """The bitwise exclusive or of integers, or of booleans."""
    def bmm(self, mat2: Any, *, out: Any = ...) -> Tensor:
        """The products of two batches of matrices."""
    def bool(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.bool."""
    def broadcast_to(self, *size: Any) -> Tensor:
        """The tensor broadcast to a shape, without copying."""
    def byte(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.uint8."""
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with Cauchy distributed random numbers."""
    def ccol_indices(self) -> Any:
        """``ccol_indices`` of a sparse column compressed tensor."""
    def cdouble(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.complex128."""
    def ceil(self, *, out: Any = ...) -> Tensor:
        """The smallest integer not below each element."""
    def ceil_(self) -> Tensor:
        """The smallest integer not below each element."""
    def cfloat(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.complex64."""
    def char(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.int8."""
    def cholesky(self, upper: _bool = ..., *, out: Any = ...) -> Tensor:
        """The triangular matrix L with ``L @ L.mH`` equal to a positive definite matrix, of which only the lower triangle is read; with ``upper=True``, its upper triangle is read and the result is U with ``U.mH @ U``."""
    def cholesky_inverse(self, upper: _bool = ..., *, out: Any = ...) -> Tensor:
        """The inverse of the matrix that has ``input`` as its Cholesky triangle."""
    def cholesky_solve(self, input2: Any, upper: _bool = ..., *, out: Any = ...) -> Tensor:
        """The X with ``A @ X == input``, from the Cholesky factor of A."""
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """The tensor cut into at most ``chunks`` equal pieces."""
    def clamp(self, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor:
        """Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds included."""
    def clamp_(self, min: Any = ..., max: Any = ...) -> Tensor:
        """Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds included."""
    def clamp_max(self, max: Any, *, out: Any = ...) -> Tensor:
        """Each element, but at most ``max``."""
    def clamp_max_(self, max: Any) -> Tensor:
        """Each element, but at most ``max``."""
    def clamp_min(self, min: Any, *, out: Any = ...) -> Tensor:
        """Each element, but at least ``min``."""
    def clamp_min_(self, min: Any) -> Tensor:
        """Each element, but at least ``min``."""
    def clip(self, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor:
        """Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds included."""
    def clip_(self, min: Any = ..., max: Any = ...) -> Tensor:
        """Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds included."""
    def clone(self, *, memory_format: Any = ..., out: Any = ...) -> Tensor:
        """A copy in memory of its own."""
    def coalesce(self) -> Any:
        """``coalesce`` of a sparse coordinate tensor."""
    def col_indices(self) -> Any:
        """``col_indices`` of a sparse row compressed tensor."""
    def combinations(self, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
        """All choices of ``r`` entries of a vector, as rows; with replacement, an entry may be chosen again."""
    def conj(self) -> Tensor:
        """The complex conjugate of each element; a real tensor is its own."""
    def conj_physical(self, *, out: Any = ...) -> Tensor:
        """The complex conjugate of each element, as a copy."""
    def conj_physical_(self) -> Tensor:
        """The complex conjugate of each element, as a copy."""
    def conjugate(self) -> Tensor:
        """The complex conjugate of each element; a real tensor is its own."""
    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """The tensor itself if its memory is in row-major order without gaps, else a copy that is."""
    def copy_(self, src: Any, non_blocking: _bool = ...) -> Tensor:
        """Write another tensor over this one, broadcast and converted to its dtype."""
    def copysign(self, other: Any, *, out: Any = ...) -> Tensor:
        """The size of x with the sign of y."""
    def copysign_(self, other: Any) -> Tensor:
        """The size of x with the sign of y."""
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables in rows, observations in columns."""
    def cos(self, *, out: Any = ...) -> Tensor:
        """The cosine."""
    def cos_(self) -> Tensor:
        """The cosine."""
    def cosh(self, *, out: Any = ...) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """The hyperbolic cosine."""
    def count_nonzero(self, dim: Any = ..., *, out: Any = ...) -> Tensor:
        """How many elements over ``dim`` are not zero."""
    def cov(self, *, correction: _int = ..., fweights: Any = ..., aweights: Any = ...) -> Tensor:
        """The covariance matrix of variables in rows, observations in columns."""
    def cpu(self, memory_format: Any = ...) -> Tensor:
        """The tensor in the computer's main memory."""
    def cross(self, other: Any, dim: _int | None = ..., *, out: Any = ...) -> Tensor:
        """The vector product along a dimension of size 3; without ``dim``, along the first such."""
    def crow_indices(self) -> Any:
        """``crow_indices`` of a sparse row compressed tensor."""
    def cuda(self, device: Any = ..., non_blocking: _bool = ...) -> Tensor:
        """The tensor on the GPU."""
    def cummax(self, dim: Any, *, out: Any = ...) -> _cummax_result:
        """The largest of the elements so far along ``dim``, and its index: the last of those that tie."""
    def cummin(self, dim: Any, *, out: Any = ...) -> _cummin_result:
        """The smallest of the elements so far along ``dim``, and its index: the last of those that tie."""
    def cumprod(self, dim: Any, *, dtype: Any = ..., out: Any = ...) -> Tensor:
        """The products of the elements so far along ``dim``; derivatives of every order are right where factors are 0."""
    def cumprod_(self, dim: Any, *, dtype: Any = ...) -> Tensor:
        """The products of the elements so far along ``dim``; derivatives of every order are right where factors are 0."""
    def cumsum(self, dim: Any, *, dtype: Any = ..., out: Any = ...) -> Tensor:
        """The sums of the elements so far along ``dim``."""
    def cumsum_(self, dim: Any, *, dtype: Any = ...) -> Tensor:
        """The sums of the elements so far along ``dim``."""
    def deg2rad(self, *, out: Any = ...) -> Tensor:
        """Angles in degrees, in radians."""
    def deg2rad_(self) -> Tensor:
        """Angles in degrees, in radians."""
    def det(self, *, out: Any = ...) -> Tensor:
        """The determinant of a matrix; the gradient is right for singular matrices, too."""
    def diag(self, diagonal: _int = ..., *, out: Any = ...) -> Tensor:
        """The matrix that has a vector on its diagonal, or the diagonal of a matrix."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Matrices that have the last dimension on their diagonal, zeros elsewhere."""
    def diagflat(self, offset: _int = ...) -> Tensor:
        """The matrix that has all entries of a tensor on its diagonal."""
    def diagonal(self, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
        """The diagonal of two dimensions, as a view."""
    def diagonal_scatter(self, src: Any, offset: Any = ..., dim1: Any = ..., dim2: Any = ..., *, out: Any = ...) -> Tensor:
        """The tensor with ``src`` over its diagonal."""
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Any = ..., append: Any = ..., *, out: Any = ...) -> Tensor:
        """Differences of neighbours along ``dim``, ``n`` times over."""
    def digamma(self, *, out: Any = ...) -> Tensor:
        """The derivative of :func:`lgamma`."""
    def digamma_(self) -> Tensor:
        """The derivative of :func:`lgamma`."""
    def dist(self, other: Any, p: Any = ..., *, out: Any = ...) -> Tensor:
        """The norm of order ``p`` of x - y."""
    def div(self, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor:
        """``input / other``; with ``rounding_mode`` 'floor' or 'trunc', rounded down or towards zero."""
    def div_(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor:
        """In-place form of :func:`div`."""
    def divide(self, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor:
        """``input / other``; with ``rounding_mode`` 'floor' or 'trunc', rounded down or towards zero."""
    def divide_(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor:
        """In-place form of :func:`div`."""
    def dot(self, tensor: Any, *, out: Any = ...) -> Tensor:
        """The sum of the products of two vectors' entries, without conjugation."""
    def double(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.float64."""
    def dsplit(self, *indices_or_sections: Any) -> tuple[Tensor, ...]:
        """The tensor cut along its third dimension (a vector along its only one, where that is allowed): into as many equal pieces, or at indices."""
    def eq(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x == y, as booleans."""
    def eq_(self, other: Any) -> Tensor:
        """Where x == y, as booleans."""
    def equal(self, other: Any) -> _bool:
        """Whether two tensors have the same shape and values."""
    def erf(self, *, out: Any = ...) -> Tensor:
        """The error function."""
    def erf_(self) -> Tensor:
        """The error function."""
    def erfc(self, *, out: Any = ...) -> Tensor:
        """1 - erf(x), exact for large x."""
    def erfc_(self) -> Tensor:
        """1 - erf(x), exact for large x."""
    def erfinv(self, *, out: Any = ...) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""
    def erfinv_(self) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""
    def exp(self, *, out: Any = ...) -> Tensor:
        """e to the power of each element."""
    def exp2(self, *, out: Any = ...) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> Tensor:
        """2 to the power of each element."""
    def exp_(self) -> Tensor:
        """e to the power of each element."""
    def expand(self, *size: Any) -> Tensor:
        """Dimensions of size 1 repeated without copying."""
    def expand_as(self, other: Any) -> Tensor:
        """Dimensions of size 1 repeated to the shape of another tensor."""
    def expm1(self, *, out: Any = ...) -> Tensor:
        """exp(x) - 1, exact for small x."""
    def expm1_(self) -> Tensor:
        """exp(x) - 1, exact for small x."""
    def exponential_(self, lambd: _float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with exponentially distributed random numbers of rate ``lambd``."""
    def fill(self, value: Any, *, out: Any = ...) -> Tensor:
        """One value everywhere."""
    def fill_(self, value: Any) -> Tensor:
        """One value everywhere."""
    def fill_diagonal_(self, fill_value: _float, wrap: _bool = ...) -> Tensor:
        """Write one value on the main diagonal."""
    def fix(self, *, out: Any = ...) -> Tensor:
        """Each element without its fraction."""
    def fix_(self) -> Tensor:
        """Each element without its fraction."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """A range of dimensions made one."""
    def flip(self, *dims: Any, out: Any = ...) -> Tensor:
        """The order along dimensions reversed, as a copy."""
    def fliplr(self) -> Tensor:
        """The second dimension in reverse order."""
    def flipud(self) -> Tensor:
        """The first dimension in reverse order."""
    def float(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.float32."""
    def float_power(self, exponent: Any, *, out: Any = ...) -> Tensor:
        """Each element to a power, in double precision whatever was given."""
    def float_power_(self, exponent: Any) -> Tensor:
        """In-place form of :func:`float_power`, for tensors of double precision."""
    def floor(self, *, out: Any = ...) -> Tensor:
        """The largest integer not above each element."""
    def floor_(self) -> Tensor:
        """The largest integer not above each element."""
    def floor_divide(self, other: Any, *, out: Any = ...) -> Tensor:
        """The quotient rounded down; its gradient is zero."""
    def floor_divide_(self, other: Any) -> Tensor:
        """The quotient rounded down; its gradient is zero."""
    def fmax(self, other: Any, *, out: Any = ...) -> Tensor:
        """The larger of each pair, the other one if one is NaN."""
    def fmin(self, other: Any, *, out: Any = ...) -> Tensor:
        """The smaller of each pair, the other one if one is NaN."""
    def fmod(self, other: Any, *, out: Any = ...) -> Tensor:
        """What division towards zero leaves, with the dividend's sign."""
    def fmod_(self, other: Any) -> Tensor:
        """What division towards zero leaves, with the dividend's sign."""
    def frac(self, *, out: Any = ...) -> Tensor:
        """The fraction of each element, with its sign."""
    def frac_(self) -> Tensor:
        """The fraction of each element, with its sign."""
    def frexp(self, *, out: Any = ...) -> _frexp_result:
        """Mantissas, between 0.5 and 1 in size, and exponents: ``x = mantissa * 2 ** exponent``."""
    def gather(self, dim: Any, index: Any, *, sparse_grad: _bool = ..., out: Any = ...) -> Tensor:
        """Entries picked along a dimension by an index tensor."""
    def gcd(self, other: Any, *, out: Any = ...) -> Tensor:
        """The greatest common divisor of each pair of integers, never negative."""
    def gcd_(self, other: Any) -> Tensor:
        """The greatest common divisor of each pair of integers, never negative."""
    def ge(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x >= y, as booleans."""
    def ge_(self, other: Any) -> Tensor:
        """Where x >= y, as booleans."""
    def geometric_(self, p: _float, *, generator: Any = ...) -> Tensor:
        """Fill with the number of trials up to the first success, which has probability ``p``."""
    def geqrf(self, *, out: Any = ...) -> Any:
        """The QR factorisation as LAPACK leaves it: R above, the reflections that make Q below, and their scales; no derivative."""
    def ger(self, vec2: Any, *, out: Any = ...) -> Tensor:
        """The products of each entry of one vector with each of another."""
    def get_device(self) -> _int:
        """The number of the GPU the tensor is on, -1 for the CPU."""
    @property
    def grad_dtype(self) -> Any: ...
    def greater(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x > y, as booleans."""
    def greater_(self, other: Any) -> Tensor:
        """Where x > y, as booleans."""
    def greater_equal(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x >= y, as booleans."""
    def greater_equal_(self, other: Any) -> Tensor:
        """Where x >= y, as booleans."""
    def gt(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x > y, as booleans."""
    def gt_(self, other: Any) -> Tensor:
        """Where x > y, as booleans."""
    def half(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.float16."""
    def hardshrink(self, lambd: Any = ..., *, out: Any = ...) -> Tensor:
        """x, but 0 between -lambd and lambd."""
    def heaviside(self, values: Any, *, out: Any = ...) -> Tensor:
        """0 below zero, 1 above, and ``values`` at zero."""
    def heaviside_(self, values: Any) -> Tensor:
        """0 below zero, 1 above, and ``values`` at zero."""
    def histc(self, bins: _int = ..., min: _float = ..., max: _float = ..., *, out: Any = ...) -> Tensor:
        """How many elements fall into each of ``bins`` equal intervals from ``min`` to ``max``; by default, of the data."""
    def histogram(self, bins: Any = ..., *, range: Any = ..., weight: Any = ..., density: _bool = ..., out: Any = ...) -> Any:
        """How many elements, or how much weight, fall into each of ``bins`` equal intervals, or between edges given."""
    def hsplit(self, *indices_or_sections: Any) -> tuple[Tensor, ...]:
        """The tensor cut along its second dimension (a vector along its only one, where that is allowed): into as many equal pieces, or at indices."""
    def hypot(self, other: Any, *, out: Any = ...) -> Tensor:
        """The length of the hypotenuse, sqrt(x*x + y*y), without overflow."""
    def hypot_(self, other: Any) -> Tensor:
        """The length of the hypotenuse, sqrt(x*x + y*y), without overflow."""
    def i0(self, *, out: Any = ...) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def i0_(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""
    def igamma(self, other: Any, *, out: Any = ...) -> Tensor:
        """The regularised lower incomplete gamma function of an order and a bound; it has no derivative with respect to the order."""
    def igamma_(self, other: Any) -> Tensor:
        """The regularised lower incomplete gamma function of an order and a bound; it has no derivative with respect to the order."""
    def igammac(self, other: Any, *, out: Any = ...) -> Tensor:
        """1 - igamma, exact where that is near 1."""
    def igammac_(self, other: Any) -> Tensor:
        """1 - igamma, exact where that is near 1."""
    @property
    def imag(self) -> Any: ...
    def index_add(self, dim: Any, index: Any, source: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
        """The tensor with entries of ``source`` added at indices along a dimension."""
    def index_add_(self, dim: Any, index: Any, source: Any, *, alpha: Any = ...) -> Tensor:
        """The tensor with entries of ``source`` added at indices along a dimension."""
    def index_copy(self, dim: Any, index: Any, source: Any, *, out: Any = ...) -> Tensor:
        """The tensor with entries of ``source`` written at indices along a dimension."""
    def index_copy_(self, dim: Any, index: Any, source: Any) -> Tensor:
        """The tensor with entries of ``source`` written at indices along a dimension."""
    def index_fill(self, dim: Any, index: Any, value: Any, *, out: Any = ...) -> Tensor:
        """The tensor with one value at indices along a dimension."""
    def index_fill_(self, dim: Any, index: Any, value: Any) -> Tensor:
        """The tensor with one value at indices along a dimension."""
    def index_put(self, indices: Any, values: Any, accumulate: _bool = ..., *, out: Any = ...) -> Tensor:
        """A copy with values put (or added) at index tensors."""
    def index_put_(self, indices: Any, values: Any, accumulate: _bool = ...) -> Tensor:
        """A copy with values put (or added) at index tensors."""
    def index_reduce(self, dim: Any, index: Any, source: Any, reduce: Any, *, include_self: _bool = ..., out: Any = ...) -> Tensor:
        """Slices combined with those at indices along a dimension: ``reduce`` is 'prod', 'mean', 'amax' or 'amin'; with ``include_self=False`` what was there does not count."""
    def index_reduce_(self, dim: Any, index: Any, source: Any, reduce: Any, *, include_self: _bool = ...) -> Tensor:
        """Slices combined with those at indices along a dimension: ``reduce`` is 'prod', 'mean', 'amax' or 'amin'; with ``include_self=False`` what was there does not count."""
    def index_select(self, dim: Any, index: Any, *, out: Any = ...) -> Tensor:
        """Entries along a dimension, by a vector of indices."""
    def indices(self) -> Any:
        """``indices`` of a sparse coordinate tensor."""
    def inner(self, other: Any, *, out: Any = ...) -> Tensor:
        """The sums of products over the last dimension of both."""
    def int(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.int32."""
    def inverse(self, *, out: Any = ...) -> Tensor:
        """The inverse of a matrix."""
    def is_coalesced(self) -> Any:
        """``is_coalesced`` of a sparse coordinate tensor."""
    def is_conj(self) -> _bool:
        """False: conjugation is never pending here, it is carried out at once."""
    @property
    def is_ipu(self) -> Any: ...
    @property
    def is_maia(self) -> Any: ...
    @property
    def is_meta(self) -> Any: ...
    @property
    def is_mkldnn(self) -> Any: ...
    @property
    def is_mps(self) -> Any: ...
    @property
    def is_mtia(self) -> Any: ...
    def is_neg(self) -> _bool:
        """False: negation is never pending here, it is carried out at once."""
    @property
    def is_nested(self) -> Any: ...
    def is_nonzero(self) -> _bool:
        """Whether a tensor of one element is not zero."""
    def is_pinned(self) -> _bool:
        """Return False: tensors of this library have no such memory."""
    @property
    def is_quantized(self) -> Any: ...
    def is_same_size(self, other: Any) -> _bool:
        """Whether two tensors have the same shape."""
    def is_shared(self) -> _bool:
        """Return False: tensors of this library have no such memory."""
    @property
    def is_sparse_csr(self) -> Any: ...
    @property
    def is_vulkan(self) -> Any: ...
    @property
    def is_xla(self) -> Any: ...
    @property
    def is_xpu(self) -> Any: ...
    def isclose(self, other: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
        """Where ``|input - other| <= atol + rtol * |other|``."""
    def isfinite(self, *, out: Any = ...) -> Tensor:
        """Where an element is finite."""
    def isinf(self, *, out: Any = ...) -> Tensor:
        """Where an element is infinite."""
    def isnan(self, *, out: Any = ...) -> Tensor:
        """Where an element is not a number."""
    def isneginf(self, *, out: Any = ...) -> Tensor:
        """Where an element is infinite and negative."""
    def isposinf(self, *, out: Any = ...) -> Tensor:
        """Where an element is infinite and positive."""
    def isreal(self, *, out: Any = ...) -> Tensor:
        """Where an element is a real number."""
    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Any = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
        """The signals of which :func:`stft` gives these spectra, as nearly as there are any: pieces added up, divided by their windows' squares."""
    def kron(self, other: Any, *, out: Any = ...) -> Tensor:
        """The Kronecker product: each entry of the one times the whole other."""
    def kthvalue(self, k: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> _kthvalue_result:
        """The ``k``-th smallest element along ``dim``, and its index."""
    def lcm(self, other: Any, *, out: Any = ...) -> Tensor:
        """The least common multiple of each pair of integers, never negative."""
    def lcm_(self, other: Any) -> Tensor:
        """The least common multiple of each pair of integers, never negative."""
    def ldexp(self, other: Any, *, out: Any = ...) -> Tensor:
        """x times 2 to the power of y."""
    def ldexp_(self, other: Any) -> Tensor:
        """x times 2 to the power of y."""
    def le(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x <= y, as booleans."""
    def le_(self, other: Any) -> Tensor:
        """Where x <= y, as booleans."""
    def lerp(self, end: Any, weight: Any, *, out: Any = ...) -> Tensor:
        """x + weight * (end - x)."""
    def lerp_(self, end: Any, weight: Any) -> Tensor:
        """x + weight * (end - x)."""
    def less(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x < y, as booleans."""
    def less_(self, other: Any) -> Tensor:
        """Where x < y, as booleans."""
    def less_equal(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x <= y, as booleans."""
    def less_equal_(self, other: Any) -> Tensor:
        """Where x <= y, as booleans."""
    def lgamma(self, *, out: Any = ...) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def log(self, *, out: Any = ...) -> Tensor:
        """The natural logarithm."""
    def log10(self, *, out: Any = ...) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Tensor:
        """The logarithm to base 10."""
    def log1p(self, *, out: Any = ...) -> Tensor:
        """log(1 + x), exact for small x."""
    def log1p_(self) -> Tensor:
        """log(1 + x), exact for small x."""
    def log2(self, *, out: Any = ...) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Tensor:
        """The logarithm to base 2."""
    def log_(self) -> Tensor:
        """The natural logarithm."""
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with numbers whose logarithms are normally distributed."""
    def log_softmax(self, dim: Any, dtype: Any = ..., *, out: Any = ...) -> Tensor:
        """The logarithm of :func:`softmax`, exact where that underflows."""
    def logaddexp(self, other: Any, *, out: Any = ...) -> Tensor:
        """log(exp(x) + exp(y)), without overflow."""
    def logaddexp2(self, other: Any, *, out: Any = ...) -> Tensor:
        """log2(2**x + 2**y), without overflow."""
    def logcumsumexp(self, dim: Any, *, out: Any = ...) -> Tensor:
        """log(sum(exp(x))) of the elements so far along ``dim``, without overflow."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; NaN where it is negative."""
    def logical_and(self, other: Any, *, out: Any = ...) -> Tensor:
        """The conjunction of the elements' truth."""
    def logical_and_(self, other: Any) -> Tensor:
        """The conjunction of the elements' truth."""
    def logical_not(self, *, out: Any = ...) -> Tensor:
        """The negation of the elements' truth."""
    def logical_not_(self) -> Tensor:
        """The negation of the elements' truth."""
    def logical_or(self, other: Any, *, out: Any = ...) -> Tensor:
        """The disjunction of the elements' truth."""
    def logical_or_(self, other: Any) -> Tensor:
        """The disjunction of the elements' truth."""
    def logical_xor(self, other: Any, *, out: Any = ...) -> Tensor:
        """The exclusive disjunction of the elements' truth."""
    def logical_xor_(self, other: Any) -> Tensor:
        """The exclusive disjunction of the elements' truth."""
    def logit(self, eps: Any = ..., *, out: Any = ...) -> Tensor:
        """log(x / (1 - x)); with ``eps``, of x kept between eps and 1 - eps."""
    def logit_(self, eps: Any = ...) -> Tensor:
        """log(x / (1 - x)); with ``eps``, of x kept between eps and 1 - eps."""
    def logsumexp(self, dim: Any, keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
        """log(sum(exp(x))) over ``dim``, without overflow."""
    def long(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.int64."""
    def lt(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x < y, as booleans."""
    def lt_(self, other: Any) -> Tensor:
        """Where x < y, as booleans."""
    def lu(self, pivot: _bool = ..., get_infos: _bool = ...) -> tuple[Tensor, ...]:
        """The factors, the exchanges and for ``get_infos`` the failures of :func:`dualtape.linalg.lu_factor_ex`."""
    def lu_solve(self, LU_data: Any, LU_pivots: Any, *, out: Any = ...) -> Tensor:
        """:func:`dualtape.linalg.lu_solve` with the right side first."""
    @property
    def mH(self) -> Any: ...
    @property
    def mT(self) -> Any: ...
    def map2_(self, x: Any, y: Any, callable: Any) -> Tensor:
        """:meth:`map_` with two other tensors."""
    def map_(self, tensor: Any, callable: Any) -> Tensor:
        """Replace each element by a Python function of it and the element of another tensor: slow, and without history."""
    def masked_fill(self, mask: Any, value: Any, *, out: Any = ...) -> Tensor:
        """One value where the mask holds."""
    def masked_fill_(self, mask: Any, value: Any) -> Tensor:
        """One value where the mask holds."""
    def masked_scatter(self, mask: Any, source: Any) -> Tensor:
        """The tensor with the first entries of ``source`` where the mask holds."""
    def masked_scatter_(self, mask: Any, source: Any) -> Tensor:
        """In-place form of :func:`masked_scatter`."""
    def masked_select(self, mask: Any, *, out: Any = ...) -> Tensor:
        """The entries where the mask holds, in one dimension."""
    def matmul(self, other: Any, *, out: Any = ...) -> Tensor:
        """The matrix product: of two matrices, of vectors with either, of batches broadcast together."""
    def matrix_exp(self, *, out: Any = ...) -> Tensor:
        """The exponential of a matrix."""
    def matrix_power(self, n: _int, *, out: Any = ...) -> Tensor:
        """A square matrix multiplied with itself; a negative power is that of the inverse."""
    def max(self, dim: Any = ..., keepdim: _bool = ..., *, other: Any = ..., **out: Any) -> Any:
        """The largest element; along ``dim`` also its index; with a tensor, the larger of each pair (:func:`maximum`)."""
    def maximum(self, other: Any, *, out: Any = ...) -> Tensor:
        """The larger of each pair; NaN if either is."""
    def mean(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
        """The mean over ``dim``."""
    def median(self, dim: _int | None = ..., keepdim: _bool = ..., **out: Any) -> Any:
        """The middle element in order, the lower of two; along ``dim`` also its index. NaN if there is one."""
    def min(self, dim: Any = ..., keepdim: _bool = ..., *, other: Any = ..., **out: Any) -> Any:
        """The smallest element; along ``dim`` also its index; with a tensor, the smaller of each pair (:func:`minimum`)."""
    def minimum(self, other: Any, *, out: Any = ...) -> Tensor:
        """The smaller of each pair; NaN if either is."""
    def mm(self, mat2: Any, *, out: Any = ...) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> _mode_result:
        """The most common element along ``dim``, the smallest of several, and its last index."""
    def module_load(self, other: Any, assign: _bool = ...) -> Tensor:
        """Return the value of a parameter when a module loads ``other`` into it: itself with the new values, or ``other``."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """Dimensions moved to other positions, the rest kept in order."""
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """Dimensions moved to other positions, the rest kept in order."""
    def msort(self, *, out: Any = ...) -> Tensor:
        """The elements in order along the first dimension."""
    def mul(self, other: Any, *, out: Any = ...) -> Tensor:
        """x * y."""
    def mul_(self, other: Any) -> Tensor:
        """x * y."""
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Any = ..., out: Any = ...) -> Tensor:
        """Return indices drawn with probabilities proportional to the entries of each row."""
    def multiply(self, other: Any, *, out: Any = ...) -> Tensor:
        """x * y."""
    def multiply_(self, other: Any) -> Tensor:
        """x * y."""
    def mv(self, vec: Any, *, out: Any = ...) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: Any, *, out: Any = ...) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``."""
    def mvlgamma_(self, p: Any) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``."""
    @property
    def name(self) -> Any: ...
    def nan_to_num(self, nan: Any = ..., posinf: Any = ..., neginf: Any = ..., *, out: Any = ...) -> Tensor:
        """NaN and infinities replaced: by 0 and by the largest numbers of the dtype, or by what is given; no gradient flows there."""
    def nan_to_num_(self, nan: Any = ..., posinf: Any = ..., neginf: Any = ...) -> Tensor:
        """NaN and infinities replaced: by 0 and by the largest numbers of the dtype, or by what is given; no gradient flows there."""
    def nanmean(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
        """The mean over ``dim`` of what is a number."""
    def nanmedian(self, dim: _int | None = ..., keepdim: _bool = ..., **out: Any) -> Any:
        """The median of what is a number; along ``dim`` also its index."""
    def nanquantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Any = ...) -> Tensor:
        """The ``q``-th quantiles along ``dim`` of what is a number."""
    def nansum(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
        """The sum over ``dim`` of what is a number."""
    def narrow(self, dim: _int, start: Any, length: _int) -> Tensor:
        """``length`` entries along a dimension, from ``start``."""
    def narrow_copy(self, dim: _int, start: Any, length: _int, *, out: Any = ...) -> Tensor:
        """What :func:`narrow` shows, in memory of its own."""
    def ne(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x != y, as booleans."""
    def ne_(self, other: Any) -> Tensor:
        """Where x != y, as booleans."""
    def neg(self, *, out: Any = ...) -> Tensor:
        """The negative of each element."""
    def neg_(self) -> Tensor:
        """The negative of each element."""
    def negative(self, *, out: Any = ...) -> Tensor:
        """The negative of each element."""
    def negative_(self) -> Tensor:
        """The negative of each element."""
    def new(self, *data: Any) -> Tensor:
        """An old way to make a tensor of this one's dtype: of a shape, not initialised, or from data."""
    def new_empty(self, *args: Any, dtype: Any = ..., device: Any = ..., **kwargs: Any) -> Tensor:
        """Like :func:`empty`, with this tensor's dtype and device by default."""
    def new_empty_strided(self, size: Any, stride: Any, *, dtype: Any = ..., **more: Any) -> Tensor:
        """Like :func:`empty_strided`, with this tensor's dtype and device by default."""
    def new_full(self, *args: Any, dtype: Any = ..., device: Any = ..., **kwargs: Any) -> Tensor:
        """Like :func:`full`, with this tensor's dtype and device by default."""
    def new_ones(self, *args: Any, dtype: Any = ..., device: Any = ..., **kwargs: Any) -> Tensor:
        """Like :func:`ones`, with this tensor's dtype and device by default."""
    def new_tensor(self, *args: Any, dtype: Any = ..., device: Any = ..., **kwargs: Any) -> Tensor:
        """Like :func:`tensor`, with this tensor's dtype and device by default."""
    def new_zeros(self, *args: Any, dtype: Any = ..., device: Any = ..., **kwargs: Any) -> Tensor:
        """Like :func:`zeros`, with this tensor's dtype and device by default."""
    def nextafter(self, other: Any, *, out: Any = ...) -> Tensor:
        """The floating-point number after x, towards y."""
    def nextafter_(self, other: Any) -> Tensor:
        """The floating-point number after x, towards y."""
    def nonzero(self, *, as_tuple: _bool = ..., out: Any = ...) -> Any:
        """The indices of the entries that are not zero: rows of a matrix, or one tensor for each dimension."""
    def nonzero_static(self, *, size: _int, fill_value: _int = ..., out: Any = ...) -> Tensor:
        """The indices of the entries that are not zero, as rows: the first ``size``, or filled up with ``fill_value``."""
    def norm(self, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., out: Any = ..., dtype: Any = ...) -> Tensor:
        """The vector norm of order ``p`` over ``dim``; 'fro' is 2, 'nuc' the sum of a matrix's singular values."""
    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: Any = ...) -> Tensor:
        """Fill with normally distributed random numbers."""
    def not_equal(self, other: Any, *, out: Any = ...) -> Tensor:
        """Where x != y, as booleans."""
    def not_equal_(self, other: Any) -> Tensor:
        """Where x != y, as booleans."""
    def orgqr(self, input2: Any, *, out: Any = ...) -> Tensor:
        """:func:`dualtape.linalg.householder_product`."""
    def ormqr(self, input2: Any, input3: Any, left: _bool = ..., transpose: _bool = ..., *, out: Any = ...) -> Tensor:
        """The product of all reflections of :func:`geqrf`, or its adjoint, with a matrix; or, if not ``left``, the matrix with it."""
    def outer(self, vec2: Any, *, out: Any = ...) -> Tensor:
        """The products of each entry of one vector with each of another."""
    def permute(self, *dims: Any) -> Tensor:
        """The dimensions in another order."""
    def pin_memory(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: nothing is copied to a device behind the program's back."""
    def pinverse(self, rcond: Any = ..., hermitian: _bool = ..., *, out: Any = ...) -> Tensor:
        """The Moore-Penrose pseudo-inverse."""
    def polygamma(self, n: Any, *, out: Any = ...) -> Tensor:
        """The n-th derivative of :func:`digamma`, as a method: ``x.polygamma(n)``."""
    def polygamma_(self, n: Any) -> Tensor:
        """The n-th derivative of :func:`digamma`, as a method: ``x.polygamma(n)``."""
    def polygamma_op(self, n: Any, *, out: Any = ...) -> Tensor:
        """The n-th derivative of :func:`digamma`, as a method: ``x.polygamma(n)``."""
    def polygamma_op_(self, n: Any) -> Tensor:
        """The n-th derivative of :func:`digamma`, as a method: ``x.polygamma(n)``."""
    def positive(self) -> Tensor:
        """The tensor itself."""
    def pow(self, exponent: Any, *, out: Any = ...) -> Tensor:
        """Each element to a power."""
    def pow_(self, exponent: Any) -> Tensor:
        """Each element to a power."""
    def prelu(self, weight: Any) -> Tensor:
        """``input`` above 0, ``input`` times a weight (one, or one for each channel) below."""
    def prod(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
        """The product over ``dim``; derivatives of every order are right where factors are 0."""
    def put(self, index: Any, source: Any, accumulate: _bool = ..., *, out: Any = ...) -> Tensor:
        """The tensor with values written (or added) at places of the flattened tensor."""
    def put_(self, index: Any, source: Any, accumulate: _bool = ...) -> Tensor:
        """The tensor with values written (or added) at places of the flattened tensor."""
    def qr(self, some: _bool = ..., *, out: Any = ...) -> Any:
        """The factors of ``input = Q @ R``; :func:`dualtape.linalg.qr` is its successor."""
    def quantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Any = ...) -> Tensor:
        """The ``q``-th quantiles along ``dim``; several ``q`` make the first dimension of the result."""
    def rad2deg(self, *, out: Any = ...) -> Tensor:
        """Angles in radians, in degrees."""
    def rad2deg_(self) -> Tensor:
        """Angles in radians, in degrees."""
    def random_(self, from_: _int | None = ..., to: _int | None = ..., *, generator: Any = ..., **kwargs: Any) -> Tensor:
        """Fill with random integers: below ``to``, between two bounds, or over the dtype's range."""
    def ravel(self) -> Tensor:
        """The tensor in one dimension."""
    @property
    def real(self) -> Any: ...
    def reciprocal(self, *, out: Any = ...) -> Tensor:
        """One over each element."""
    def reciprocal_(self) -> Tensor:
        """One over each element."""
    def record_stream(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: memory is freed when nothing refers to it."""
    def refill_(self, value: Any) -> Tensor:
        """One value everywhere."""
    def relu(self, *, out: Any = ...) -> Tensor:
        """The positive part of each element; the gradient at 0 is 0."""
    def relu_(self) -> Tensor:
        """The positive part of each element; the gradient at 0 is 0."""
    def remainder(self, other: Any, *, out: Any = ...) -> Tensor:
        """What floor division leaves, with the divisor's sign."""
    def remainder_(self, other: Any) -> Tensor:
        """What floor division leaves, with the divisor's sign."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float, *, out: Any = ...) -> Tensor:
        """Each part along ``dim`` scaled so that its norm of order ``p`` is at most ``maxnorm``."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float, *, out: Any = ...) -> Tensor:
        """Each part along ``dim`` scaled so that its norm of order ``p`` is at most ``maxnorm``."""
    def repeat(self, *repeats: Any, out: Any = ...) -> Tensor:
        """The tensor repeated along each dimension."""
    def repeat_interleave(self, repeats: Any = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
        """Each entry repeated in order; given the counts alone, the indices of the entries."""
    def reshape(self, *shape: Any) -> Tensor:
        """The tensor in another shape: a view where the memory allows it, else a copy."""
    def reshape_as(self, other: Any) -> Tensor:
        """The tensor in the shape of another."""
    def resize(self, *sizes: Any) -> Tensor:
        """The tensor in another shape with as many elements: PyTorch's old name for what :func:`reshape` does."""
    def resize_(self, *size: Any, memory_format: Any = ...) -> Tensor:
        """Give a tensor another shape: elements keep their order, additional ones are not initialised."""
    def resize_as(self, tensor: Any) -> Tensor:
        """The tensor in the shape of another with as many elements: PyTorch's old name for :meth:`reshape_as`."""
    def resize_as_(self, the_template: Any, *, memory_format: Any = ...) -> Tensor:
        """Give a tensor the shape of another, as :meth:`resize_` does."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugation is never pending here."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself: negation is never pending here."""
    def roll(self, shifts: Any, dims: Any = ..., *, out: Any = ...) -> Tensor:
        """The entries moved along a dimension, those that fall off put in at the other end."""
    def rot90(self, k: Any = ..., dims: Any = ..., *, out: Any = ...) -> Tensor:
        """The tensor turned by ``k`` quarters, from the first of ``dims`` towards the second."""
    def round(self, *, decimals: Any = ..., out: Any = ...) -> Tensor:
        """The nearest integer (the even one of two), or the nearest number of ``decimals`` digits."""
    def round_(self, *, decimals: Any = ...) -> Tensor:
        """The nearest integer (the even one of two), or the nearest number of ``decimals`` digits."""
    def row_indices(self) -> Any:
        """``row_indices`` of a sparse column compressed tensor."""
    def rsqrt(self, *, out: Any = ...) -> Tensor:
        """One over the square root."""
    def rsqrt_(self) -> Tensor:
        """One over the square root."""
    def scatter(self, dim: _int, index: Any, src: Any = ..., *, value: Any = ..., reduce: str | None = ..., out: Any = ...) -> Tensor:
        """The tensor with values written (or added, or multiplied) at an index along a dimension."""
    def scatter_(self, dim: _int, index: Any, src: Any = ..., *, value: Any = ..., reduce: str | None = ...) -> Tensor:
        """In-place form of :func:`scatter`."""
    def scatter_add(self, dim: Any, index: Any, src: Any, *, out: Any = ...) -> Tensor:
        """The tensor with values added at an index along a dimension."""
    def scatter_add_(self, dim: Any, index: Any, src: Any) -> Tensor:
        """The tensor with values added at an index along a dimension."""
    def scatter_reduce(self, dim: Any, index: Any, src: Any, reduce: Any, *, include_self: _bool = ..., out: Any = ...) -> Tensor:
        """Values combined with what is at an index along a dimension: ``reduce`` is 'sum', 'prod', 'mean', 'amax' or 'amin'; with ``include_self=False`` what was there does not count."""
    def scatter_reduce_(self, dim: Any, index: Any, src: Any, reduce: Any, *, include_self: _bool = ...) -> Tensor:
        """Values combined with what is at an index along a dimension: ``reduce`` is 'sum', 'prod', 'mean', 'amax' or 'amin'; with ``include_self=False`` what was there does not count."""
    def scatter_set_(self, dim: Any, index: Any, src: Any) -> Tensor:
        """The tensor with values written at an index along a dimension."""
    def select(self, dim: Any, index: Any) -> Tensor:
        """One entry along a dimension, which goes away."""
    def select_scatter(self, src: Any, dim: Any, index: Any, *, out: Any = ...) -> Tensor:
        """The tensor with ``src`` as one entry along a dimension."""
    def set_(self, source: Any = ..., storage_offset: _int = ..., size: Any = ..., stride: Any = ...) -> Tensor:
        """Make a tensor use the memory of another one, or of a storage; without a source, none."""
    def set_eq_(self, other: Any) -> Tensor:
        """Where x == y, as booleans."""
    def set_ge_(self, other: Any) -> Tensor:
        """Where x >= y, as booleans."""
    def set_gt_(self, other: Any) -> Tensor:
        """Where x > y, as booleans."""
    def set_le_(self, other: Any) -> Tensor:
        """Where x <= y, as booleans."""
    def set_logical_and_(self, other: Any) -> Tensor:
        """The conjunction of the elements' truth."""
    def set_logical_not_(self) -> Tensor:
        """The negation of the elements' truth."""
    def set_logical_or_(self, other: Any) -> Tensor:
        """The disjunction of the elements' truth."""
    def set_logical_xor_(self, other: Any) -> Tensor:
        """The exclusive disjunction of the elements' truth."""
    def set_lt_(self, other: Any) -> Tensor:
        """Where x < y, as booleans."""
    def set_ne_(self, other: Any) -> Tensor:
        """Where x != y, as booleans."""
    def sgn(self, *, out: Any = ...) -> Tensor:
        """The sign of each element; of a complex one, its direction: itself divided by its size."""
    def sgn_(self) -> Tensor:
        """The sign of each element; of a complex one, its direction: itself divided by its size."""
    def share_memory_(self, *args: Any, **kwargs: Any) -> Tensor:
        """Refused: tensors are copied when they are sent to another process."""
    def short(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor as dualtape.int16."""
    def sigmoid(self, *, out: Any = ...) -> Tensor:
        """1 / (1 + exp(-x))."""
    def sigmoid_(self) -> Tensor:
        """1 / (1 + exp(-x))."""
    def sign(self, *, out: Any = ...) -> Tensor:
        """The sign of each element: -1, 0 or 1."""
    def sign_(self) -> Tensor:
        """The sign of each element: -1, 0 or 1."""
    def signbit(self, *, out: Any = ...) -> Tensor:
        """Where the sign bit is set, that of -0 included."""
    def sin(self, *, out: Any = ...) -> Tensor:
        """The sine."""
    def sin_(self) -> Tensor:
        """The sine."""
    def sinc(self, *, out: Any = ...) -> Tensor:
        """sin(pi x) / (pi x), and 1 at 0."""
    def sinc_(self) -> Tensor:
        """sin(pi x) / (pi x), and 1 at 0."""
    def sinh(self, *, out: Any = ...) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """The hyperbolic sine."""
    def slice_scatter(self, src: Any, dim: Any = ..., start: Any = ..., end: Any = ..., step: Any = ..., *, out: Any = ...) -> Tensor:
        """The tensor with ``src`` over a range along a dimension."""
    def slogdet(self, *, out: Any = ...) -> _slogdet_result:
        """The sign (or direction) of the determinant, and the logarithm of its absolute value."""
    def softmax(self, dim: Any, dtype: Any = ..., *, out: Any = ...) -> Tensor:
        """Exponentials along ``dim``, scaled so that they sum to 1."""
    def sort(self, dim: Any = ..., descending: _bool = ..., stable: Any = ..., *, out: Any = ...) -> _sort_result:
        """The elements in order along ``dim``, and where they came from."""
    def split(self, split_size: Any, dim: Any = ...) -> tuple[Tensor, ...]:
        """The tensor cut into pieces along a dimension: of one size, or of the sizes given."""
    def split_with_sizes(self, split_sizes: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """The tensor cut into pieces of the sizes given."""
    def sqrt(self, *, out: Any = ...) -> Tensor:
        """The square root; the gradient at 0 is infinite, as PyTorch's."""
    def sqrt_(self) -> Tensor:
        """The square root; the gradient at 0 is infinite, as PyTorch's."""
    def square(self, *, out: Any = ...) -> Tensor:
        """The square of each element."""
    def square_(self) -> Tensor:
        """The square of each element."""
    def squeeze(self, dim: Any = ...) -> Tensor:
        """The tensor without its dimensions of size 1, or without those named."""
    def squeeze_(self, dim: Any = ...) -> Tensor:
        """The tensor without its dimensions of size 1, or without those named."""
    def std(self, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., **out: Any) -> Tensor:
        """The standard deviation over ``dim``, the root of the variance; where it is 0, so is its gradient."""
    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Any = ..., center: _bool = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
        """The spectra of pieces of ``n_fft`` entries of signals, ``hop_length`` apart, each times a window: (frequencies, pieces)."""
    def storage(self) -> Any:
        """The memory of the tensor, or of the base that it views, as elements; deprecated in favour of :meth:`untyped_storage`."""
    def storage_type(self) -> Any:
        """The class of storages of the tensor's dtype."""
    def sub(self, other: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
        """x - alpha * y."""
    def sub_(self, other: Any, *, alpha: Any = ...) -> Tensor:
        """x - alpha * y."""
    def subtract(self, other: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
        """x - alpha * y."""
    def subtract_(self, other: Any, *, alpha: Any = ...) -> Tensor:
        """x - alpha * y."""
    def sum(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
        """The sum over ``dim``; integers and booleans are summed as int64."""
    def sum_to_size(self, *size: Any) -> Tensor:
        """The tensor summed to a shape that can be broadcast to its own."""
    def svd(self, some: _bool = ..., compute_uv: _bool = ..., *, out: Any = ...) -> tuple[Tensor, ...]:
        """The singular value decomposition as (U, S, V), V not transposed; see :func:`dualtape.linalg.svd`."""
    def swapaxes(self, dim0: Any, dim1: Any) -> Tensor:
        """Two dimensions exchanged."""
    def swapaxes_(self, dim0: Any, dim1: Any) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims(self, dim0: Any, dim1: Any) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims_(self, dim0: Any, dim1: Any) -> Tensor:
        """Two dimensions exchanged."""
    def t(self) -> Tensor:
        """The transpose of a matrix; vectors and scalars stay as they are."""
    def t_(self) -> Tensor:
        """The transpose of a matrix; vectors and scalars stay as they are."""
    def take(self, index: Any, *, out: Any = ...) -> Tensor:
        """Entries by their index in the flattened tensor."""
    def take_along_dim(self, indices: Any, dim: _int | None = ..., *, out: Any = ...) -> Tensor:
        """Entries picked along a dimension, input and indices broadcast against each other."""
    def tan(self, *, out: Any = ...) -> Tensor:
        """The tangent."""
    def tan_(self) -> Tensor:
        """The tangent."""
    def tanh(self, *, out: Any = ...) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """The hyperbolic tangent."""
    def tensor_split(self, indices_or_sections: Any = ..., dim: _int = ..., *, sections: Any = ..., indices: Any = ..., axis: _int = ...) -> tuple[Tensor, ...]:
        """The tensor cut into nearly equal sections, or at the indices given."""
    def tile(self, *dims: Any) -> Tensor:
        """The tensor repeated, as :func:`numpy.tile` does."""
    def to(self, *args: Any, dtype: Any = ..., device: Any = ..., non_blocking: _bool = ..., copy: _bool = ..., memory_format: Any = ...) -> Tensor:
        """The tensor in another dtype or on another device: ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``."""
    def topk(self, k: Any, dim: Any = ..., largest: _bool = ..., sorted: _bool = ..., *, out: Any = ...) -> _topk_result:
        """The ``k`` largest elements along ``dim``, or the smallest, in order, and their indices."""
    def trace(self, *, out: Any = ...) -> Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: Any, dim1: Any) -> Tensor:
        """Two dimensions exchanged."""
    def transpose_(self, dim0: Any, dim1: Any) -> Tensor:
        """Two dimensions exchanged."""
    def triangular_solve(self, A: Any, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Any = ...) -> Any:
        """The X with ``A @ X == input`` for a triangular A, or its transpose, and a copy of A; :func:`dualtape.linalg.solve_triangular` is its successor."""
    def tril(self, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
        """The lower triangle of the last two dimensions, zeros elsewhere."""
    def tril_(self, diagonal: Any = ...) -> Tensor:
        """The lower triangle of the last two dimensions, zeros elsewhere."""
    def triu(self, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
        """The upper triangle of the last two dimensions, zeros elsewhere."""
    def triu_(self, diagonal: Any = ...) -> Tensor:
        """The upper triangle of the last two dimensions, zeros elsewhere."""
    def true_divide(self, other: Any, *, out: Any = ...) -> Tensor:
        """x / y."""
    def true_divide_(self, other: Any) -> Tensor:
        """x / y."""
    def trunc(self, *, out: Any = ...) -> Tensor:
        """Each element without its fraction."""
    def trunc_(self) -> Tensor:
        """Each element without its fraction."""
    def type(self, dtype: Any = ..., non_blocking: _bool = ...) -> Any:
        """The tensor in another dtype; without one, the name of its type."""
    def type_as(self, other: Any) -> Tensor:
        """The tensor in the dtype of another."""
    def unbind(self, dim: Any = ...) -> tuple[Tensor, ...]:
        """The entries along a dimension."""
    def unflatten(self, dim: _int, sizes: Any) -> Tensor:
        """One dimension made several."""
    def unfold(self, dimension: Any, size: Any, step: Any) -> Tensor:
        """Windows along a dimension, as a view with the window last."""
    def uniform_(self, from_: _float = ..., to: _float = ..., *, generator: Any = ..., **kwargs: Any) -> Tensor:
        """Fill with uniform random numbers between two bounds."""
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """The different elements (or, with ``dim``, slices) in order; also where each came from, and how many there are of each."""
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """The elements in row-major order (or, with ``dim``, the slices), each run of equal ones once."""
    def unsafe_chunk(self, chunks: Any, dim: Any = ...) -> tuple[Tensor, ...]:
        """The pieces of :func:`chunk`, in memory of their own."""
    def unsafe_split(self, split_size: Any, dim: Any = ...) -> tuple[Tensor, ...]:
        """The pieces of :func:`split`, in memory of their own."""
    def unsafe_split_with_sizes(self, split_sizes: Any, dim: Any = ...) -> tuple[Tensor, ...]:
        """The pieces of :func:`split_with_sizes`, in memory of their own."""
    def unsqueeze(self, dim: Any) -> Tensor:
        """The tensor with a new dimension of size 1."""
    def unsqueeze_(self, dim: Any) -> Tensor:
        """The tensor with a new dimension of size 1."""
    def untyped_storage(self) -> Any:
        """The memory of the tensor, or of the base that it views, as bytes."""
    def values(self) -> Any:
        """``values`` of a sparse tensor."""
    def var(self, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., **out: Any) -> Tensor:
        """The variance over ``dim``: squared deviations from the mean, over the count less ``correction`` (1)."""
    def vdot(self, other: Any, *, out: Any = ...) -> Tensor:
        """The inner product of two vectors, the first conjugated."""
    def view(self, *shape: Any) -> Tensor:
        """The same memory in another shape, or (given a dtype) read as another type of the same size."""
    def view_as(self, other: Any) -> Tensor:
        """The same memory in the shape of another tensor."""
    @property
    def volatile(self) -> Any: ...
    def vsplit(self, *indices_or_sections: Any) -> tuple[Tensor, ...]:
        """The tensor cut along its first dimension (a vector along its only one, where that is allowed): into as many equal pieces, or at indices."""
    def where(self, condition: Any, other: Any) -> Tensor:
        """``self`` where the condition holds, else ``other``."""
    def xlogy(self, other: Any, *, out: Any = ...) -> Tensor:
        """x * log(y), and 0 where x is 0."""
    def xlogy_(self, other: Any) -> Tensor:
        """x * log(y), and 0 where x is 0."""
    def zero_(self) -> Tensor:
        """Zeros in the shape of x."""
