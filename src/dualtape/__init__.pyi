"""The names of the package. Written by ``python -m tools.stubs``."""

# ruff: noqa - written by a tool, one signature a line
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from typing import Any, NamedTuple

from . import autograd as autograd
from . import errors as errors
from . import modes as modes
from ._tensor.creation import as_tensor as as_tensor
from ._tensor.creation import asarray as asarray
from ._tensor.creation import from_dlpack as from_dlpack
from ._tensor.creation import from_numpy as from_numpy
from ._tensor.creation import frombuffer as frombuffer
from ._tensor.creation import tensor as tensor
from ._tensor.device import channels_last as channels_last
from ._tensor.device import channels_last_3d as channels_last_3d
from ._tensor.device import contiguous_format as contiguous_format
from ._tensor.device import device as device
from ._tensor.device import preserve_format as preserve_format
from ._tensor.device import sparse_coo as sparse_coo
from ._tensor.device import strided as strided
from ._tensor.dtypes import can_cast as can_cast
from ._tensor.dtypes import dtype as dtype
from ._tensor.dtypes import finfo as finfo
from ._tensor.dtypes import get_default_dtype as get_default_dtype
from ._tensor.dtypes import iinfo as iinfo
from ._tensor.dtypes import promote_types as promote_types
from ._tensor.dtypes import set_default_dtype as set_default_dtype
from ._tensor.queries import broadcast_shapes as broadcast_shapes
from ._tensor.queries import detach as detach
from ._tensor.queries import detach_ as detach_
from ._tensor.queries import detach_copy as detach_copy
from ._tensor.queries import is_complex as is_complex
from ._tensor.queries import is_conj as is_conj
from ._tensor.queries import is_floating_point as is_floating_point
from ._tensor.queries import is_inference as is_inference
from ._tensor.queries import is_neg as is_neg
from ._tensor.queries import is_nonzero as is_nonzero
from ._tensor.queries import is_same_size as is_same_size
from ._tensor.queries import is_signed as is_signed
from ._tensor.queries import is_tensor as is_tensor
from ._tensor.queries import numel as numel
from ._tensor.queries import result_type as result_type
from ._tensor.shaped import arange as arange
from ._tensor.shaped import empty as empty
from ._tensor.shaped import empty_like as empty_like
from ._tensor.shaped import eye as eye
from ._tensor.shaped import full as full
from ._tensor.shaped import full_like as full_like
from ._tensor.shaped import linspace as linspace
from ._tensor.shaped import logspace as logspace
from ._tensor.shaped import ones as ones
from ._tensor.shaped import ones_like as ones_like
from ._tensor.shaped import scalar_tensor as scalar_tensor
from ._tensor.shaped import tril_indices as tril_indices
from ._tensor.shaped import triu_indices as triu_indices
from ._tensor.shaped import zeros as zeros
from ._tensor.shaped import zeros_like as zeros_like
from ._tensor.size import Size as Size
from ._tensor.tensor import Tensor as Tensor
from .modes import enable_grad as enable_grad
from .modes import inference_mode as inference_mode
from .modes import is_grad_enabled as is_grad_enabled
from .modes import is_inference_mode_enabled as is_inference_mode_enabled
from .modes import no_grad as no_grad
from .modes import set_grad_enabled as set_grad_enabled
from . import _C as _C
from . import __config__ as __config__
from . import __future__ as __future__
from . import _dynamo as _dynamo
from . import _functorch as _functorch
from . import _jit_internal as _jit_internal
from . import _library as _library
from . import _ops as _ops
from . import accelerator as accelerator
from . import amp as amp
from . import array_api as array_api
from . import as_torch as as_torch
from . import backends as backends
from . import compiler as compiler
from . import control_flow as control_flow
from . import cpu as cpu
from . import cuda as cuda
from . import data as data
from . import distributed as distributed
from . import distributions as distributions
from .draw import Drawing as _Drawing
draw: _Drawing
from . import fft as fft
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from . import hips as hips
from . import hub as hub
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import multiprocessing as multiprocessing
from . import nested as nested
from . import nn as nn
from . import numpy as numpy
from . import onnx as onnx
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import quasirandom as quasirandom
from . import random as random
from . import return_types as return_types
from . import scipy as scipy
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import testing as testing
from . import tour as tour
from . import types as types
from . import utils as utils
from . import version as version
from .amp import GradScaler as GradScaler
from ._tensor.storage import TypedStorage as TypedStorage
from ._tensor.storage import UntypedStorage as UntypedStorage
from .fx.asserts import _assert as _assert
from .random.distributions import _sample_dirichlet as _sample_dirichlet
from .random.distributions import _standard_gamma as _standard_gamma
from .nn.native import adaptive_max_pool1d as adaptive_max_pool1d
from .nn.native import affine_grid_generator as affine_grid_generator
from .nn.native import alpha_dropout as alpha_dropout
from .nn.native import alpha_dropout_ as alpha_dropout_
from .settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from .amp.autocast_mode import autocast as autocast
from .signal.windows import bartlett_window as bartlett_window
from .random import bernoulli as bernoulli
from .nn.native import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .random.distributions import binomial as binomial
from .signal.windows import blackman_window as blackman_window
from .amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from .compiler import compile as compile
from .control_flow import cond as cond
from .nn.native import convolution as convolution
from .nn.native import cosine_embedding_loss as cosine_embedding_loss
from .nn.native import ctc_loss as ctc_loss
from .nn.native import dropout_ as dropout_
from .nn.native import feature_alpha_dropout as feature_alpha_dropout
from .nn.native import feature_alpha_dropout_ as feature_alpha_dropout_
from .nn.native import feature_dropout_ as feature_dropout_
from .amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from .settings import get_default_device as get_default_device
from .settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from .settings import get_device as get_device
from .settings import get_float32_matmul_precision as get_float32_matmul_precision
from .settings import get_num_interop_threads as get_num_interop_threads
from .settings import get_num_threads as get_num_threads
from .signal.windows import hamming_window as hamming_window
from .signal.windows import hann_window as hann_window
from .nn.native import hinge_embedding_loss as hinge_embedding_loss
from .sparse import hspmm as hspmm
from .nn.native import instance_norm as instance_norm
from .autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from .amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from .settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from ._tensor.storage import is_storage as is_storage
from .settings import is_warn_always_enabled as is_warn_always_enabled
from ._tensor.device import jagged as jagged
from .signal.windows import kaiser_window as kaiser_window
from ._tensor.device import layout as layout
from .serialization import load as load
from .nn.native import margin_ranking_loss as margin_ranking_loss
from ._tensor.device import memory_format as memory_format
from .profiler.memory import memory_summary as memory_summary
from .random import multinomial as multinomial
from .nn.native import native_batch_norm as native_batch_norm
from .nn.native import native_dropout as native_dropout
from .nn.native import native_group_norm as native_group_norm
from .nn.native import native_layer_norm as native_layer_norm
from .random import normal as normal
from .random.distributions import poisson as poisson
from .nn.native import poisson_nll_loss as poisson_nll_loss
from .random import rand as rand
from .random import rand_like as rand_like
from .random import randint as randint
from .random import randint_like as randint_like
from .random import randn as randn
from .random import randn_like as randn_like
from .random import randperm as randperm
from .nn.native import rrelu as rrelu
from .nn.functional import rrelu_ as rrelu_
from .serialization import save as save
from .autograd.anomaly import set_anomaly_enabled as set_anomaly_enabled
from .amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from .amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from .settings import set_default_device as set_default_device
from .settings import set_default_tensor_type as set_default_tensor_type
from .settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from .settings import set_float32_matmul_precision as set_float32_matmul_precision
from .settings import set_flush_denormal as set_flush_denormal
from .settings import set_num_interop_threads as set_num_interop_threads
from .settings import set_num_threads as set_num_threads
from ._tensor.printing import set_printoptions as set_printoptions
from .settings import set_warn_always as set_warn_always
from .sparse import smm as smm
from .sparse import sparse_bsc_tensor as sparse_bsc_tensor
from ._tensor.device import sparse_bsr as sparse_bsr
from .sparse import sparse_bsr_tensor as sparse_bsr_tensor
from .sparse import sparse_compressed_tensor as sparse_compressed_tensor
from .sparse import sparse_coo_tensor as sparse_coo_tensor
from .sparse import sparse_csc_tensor as sparse_csc_tensor
from ._tensor.device import sparse_csr as sparse_csr
from .sparse import sparse_csr_tensor as sparse_csr_tensor
from .sparse import sspaddmm as sspaddmm
from .nn.native import triplet_margin_loss as triplet_margin_loss
from .settings import typename as typename
from .settings import use_deterministic_algorithms as use_deterministic_algorithms
from .func import vmap as vmap
from .control_flow import while_loop as while_loop

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

BFloat16Tensor: Any
BoolStorage: Any
BoolTensor: Any
ByteStorage: Any
ByteTensor: Any
CharStorage: Any
CharTensor: Any
ComplexDoubleStorage: Any
ComplexFloatStorage: Any
DoubleStorage: Any
DoubleTensor: Any
FloatStorage: Any
FloatTensor: Any
Generator: Any
HalfStorage: Any
HalfTensor: Any
IntStorage: Any
IntTensor: Any
LongStorage: Any
LongTensor: Any
ShortStorage: Any
ShortTensor: Any
__version__: str
def abs(input: Any, *, out: Any = ...) -> Tensor:
    """The absolute value of each element; the gradient at 0 is 0."""
def abs_(input: Any) -> Tensor:
    """The absolute value of each element; the gradient at 0 is 0."""
def absolute(input: Any, *, out: Any = ...) -> Tensor:
    """The absolute value of each element; the gradient at 0 is 0."""
def acos(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse cosine."""
def acos_(input: Any) -> Tensor:
    """The inverse cosine."""
def acosh(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic cosine."""
def acosh_(input: Any) -> Tensor:
    """The inverse hyperbolic cosine."""
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """The averages of signals (N, C, L) over a given number of bins."""
def add(input: Any, other: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
    """x + alpha * y."""
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
    """beta * input + alpha * the sum of the products of the matrices of two batches."""
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = ..., out: Any = ...) -> Tensor:
    """x + value * tensor1 / tensor2."""
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = ..., out: Any = ...) -> Tensor:
    """x + value * tensor1 * tensor2."""
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
    """beta * x + alpha * (mat1 @ mat2)."""
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
    """beta * x + alpha * (mat @ vec)."""
def addmv_(input: Any, mat: Any, vec: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor:
    """beta * x + alpha * (mat @ vec)."""
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
    """beta * x + alpha * outer(vec1, vec2)."""
def adjoint(input: Any) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
def alias_copy(input: Any, *, out: Any = ...) -> Tensor:
    """What :func:`alias` shows, in memory of its own."""
def all(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """Whether all elements over ``dim`` are true (not zero)."""
def allclose(input: Any, other: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
    """Whether all elements are close."""
def amax(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """The largest element over ``dim``; those that tie share the gradient evenly."""
def amin(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """The smallest element over ``dim``; those that tie share the gradient evenly."""
def aminmax(input: Any, *, dim: Any = ..., keepdim: _bool = ..., out: Any = ...) -> _aminmax_result:
    """The smallest and the largest element over ``dim``."""
def angle(input: Any, *, out: Any = ...) -> Tensor:
    """The angle of each complex number."""
annotations: Any
def any(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """Whether any element over ``dim`` is true (not zero)."""
def arccos(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse cosine."""
def arccos_(input: Any) -> Tensor:
    """The inverse cosine."""
def arccosh(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic cosine."""
def arccosh_(input: Any) -> Tensor:
    """The inverse hyperbolic cosine."""
def arcsin(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse sine."""
def arcsin_(input: Any) -> Tensor:
    """The inverse sine."""
def arcsinh(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic sine."""
def arcsinh_(input: Any) -> Tensor:
    """The inverse hyperbolic sine."""
def arctan(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse tangent."""
def arctan2(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The angle of the point (y, x) as seen from the origin."""
def arctan_(input: Any) -> Tensor:
    """The inverse tangent."""
def arctanh(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic tangent."""
def arctanh_(input: Any) -> Tensor:
    """The inverse hyperbolic tangent."""
def argmax(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """The index of the largest element: along ``dim``, or of all in row-major order; the first of those that tie."""
def argmin(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """The index of the smallest element: along ``dim``, or of all in row-major order; the first of those that tie."""
def argsort(input: Any, dim: Any = ..., descending: _bool = ..., stable: _bool = ..., *, out: Any = ...) -> Tensor:
    """The indices that sort the elements along ``dim``."""
def argwhere(input: Any) -> Tensor:
    """The indices of the entries that are not zero, as rows."""
def as_strided(input: Any, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
    """A view by size, stride and offset in elements of the memory that the tensor, or the base it views, lives in."""
def as_strided_(input: Any, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
    """In-place form of :func:`as_strided`."""
def as_strided_copy(input: Any, size: Any, stride: Any, storage_offset: _int | None = ..., *, out: Any = ...) -> Tensor:
    """What :func:`as_strided` shows, in memory of its own."""
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor:
    """The tensor with ``src`` over what :func:`as_strided` shows of it."""
def asin(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse sine."""
def asin_(input: Any) -> Tensor:
    """The inverse sine."""
def asinh(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic sine."""
def asinh_(input: Any) -> Tensor:
    """The inverse hyperbolic sine."""
def atan(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse tangent."""
def atan2(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The angle of the point (y, x) as seen from the origin."""
def atan_(input: Any) -> Tensor:
    """The inverse tangent."""
def atanh(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse hyperbolic tangent."""
def atanh_(input: Any) -> Tensor:
    """The inverse hyperbolic tangent."""
def atleast_1d(*tensors: Any) -> Tensor:
    """The tensor with at least 1 dimension."""
def atleast_2d(*tensors: Any) -> Tensor:
    """The tensor with at least 2 dimensions."""
def atleast_3d(*tensors: Any) -> Tensor:
    """The tensor with at least 3 dimensions."""
def avg_pool1d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """The average of each window of signals (N, C, L)."""
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor:
    """beta * x + alpha * (batch1 @ batch2)."""
def batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any = ..., bias: Any = ..., training: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Each channel brought to mean 0 and variance 1, then scaled and shifted."""
bfloat16: dtype
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = ...) -> Tensor:
    """``input1 @ weight[k] @ input2`` for each k, plus a bias."""
def bincount(input: Any, weights: Any = ..., minlength: _int = ...) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
def bitwise_and(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The bitwise and of integers, or of booleans."""
def bitwise_left_shift(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The left shift of integers, or of booleans."""
def bitwise_not(input: Any, *, out: Any = ...) -> Tensor:
    """The bitwise complement of integers, or of booleans."""
def bitwise_or(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The bitwise or of integers, or of booleans."""
def bitwise_right_shift(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The right shift of integers, or of booleans."""
def bitwise_xor(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The bitwise exclusive or of integers, or of booleans."""
def block_diag(*tensors: Any) -> Tensor:
    """The matrix that has these matrices on its diagonal; vectors are rows."""
def bmm(input: Any, mat2: Any, *, out: Any = ...) -> Tensor:
    """The products of two batches of matrices."""
bool: dtype
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, each broadcast to their common shape, without copying; one that has it is returned itself."""
def broadcast_to(input: Any, *size: Any) -> Tensor:
    """The tensor broadcast to a shape, without copying."""
def bucketize(input: Any, boundaries: Any, *, out_int32: _bool = ..., right: _bool = ..., out: Any = ...) -> Tensor:
    """The index of the bucket, between sorted ``boundaries``, that each value falls into."""
def cartesian_prod(*tensors: Any) -> Tensor:
    """All tuples of one entry of each vector, as rows; of one vector, itself."""
def cat(tensors: Any, dim: Any = ..., *, out: Any = ...) -> Tensor:
    """Tensors joined along a dimension they have."""
def cdist(x1: Any, x2: Any, p: _float = ..., compute_mode: str = ...) -> Tensor:
    """The distances, in the norm of order ``p``, of each row of ``x1`` and each of ``x2``; batches are broadcast."""
cdouble: dtype
def ceil(input: Any, *, out: Any = ...) -> Tensor:
    """The smallest integer not below each element."""
def ceil_(input: Any) -> Tensor:
    """The smallest integer not below each element."""
def celu(input: Any, alpha: Any = ..., *, out: Any = ...) -> Tensor:
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
def celu_(input: Any, alpha: Any = ...) -> Tensor:
    """Write :func:`celu` into its argument."""
cfloat: dtype
def chain_matmul(*matrices: Any, out: Any = ...) -> Tensor:
    """The product of matrices; see :func:`dualtape.linalg.multi_dot`."""
def channel_shuffle(input: Any, groups: _int) -> Tensor:
    """Channels (N, C, ...) of each group in turn."""
def cholesky(input: Any, upper: _bool = ..., *, out: Any = ...) -> Tensor:
    """The triangular matrix L with ``L @ L.mH`` equal to a positive definite matrix, of which only the lower triangle is read; with ``upper=True``, its upper triangle is read and the result is U with ``U.mH @ U``."""
def cholesky_inverse(input: Any, upper: _bool = ..., *, out: Any = ...) -> Tensor:
    """The inverse of the matrix that has ``input`` as its Cholesky triangle."""
def cholesky_solve(input: Any, input2: Any, upper: _bool = ..., *, out: Any = ...) -> Tensor:
    """The X with ``A @ X == input``, from the Cholesky factor of A."""
def chunk(input: Any, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """The tensor cut into at most ``chunks`` equal pieces."""
def clamp(input: Any, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor:
    """Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds included."""
def clamp_(input: Any, min: Any = ..., max: Any = ...) -> Tensor:
    """Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds included."""
def clamp_max(input: Any, max: Any, *, out: Any = ...) -> Tensor:
    """Each element, but at most ``max``."""
def clamp_max_(input: Any, max: Any) -> Tensor:
    """Each element, but at most ``max``."""
def clamp_min(input: Any, min: Any, *, out: Any = ...) -> Tensor:
    """Each element, but at least ``min``."""
def clamp_min_(input: Any, min: Any) -> Tensor:
    """Each element, but at least ``min``."""
def clip(input: Any, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor:
    """Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds included."""
def clip_(input: Any, min: Any = ..., max: Any = ...) -> Tensor:
    """Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds included."""
def clone(input: Any, *, memory_format: Any = ..., out: Any = ...) -> Tensor:
    """A copy in memory of its own."""
def column_stack(tensors: Any, *, out: Any = ...) -> Tensor:
    """The tensors side by side; vectors are columns."""
def combinations(input: Any, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
    """All choices of ``r`` entries of a vector, as rows; with replacement, an entry may be chosen again."""
def complex(real: Any, imag: Any, *, out: Any = ...) -> Tensor:
    """Complex numbers from real and imaginary parts."""
complex128: dtype
complex64: dtype
def concat(tensors: Any, dim: Any = ..., *, out: Any = ...) -> Tensor:
    """Tensors joined along a dimension they have."""
def concatenate(tensors: Any, dim: Any = ..., *, out: Any = ...) -> Tensor:
    """Tensors joined along a dimension they have."""
def conj(input: Any) -> Tensor:
    """The complex conjugate of each element; a real tensor is its own."""
def conj_physical(input: Any, *, out: Any = ...) -> Tensor:
    """The complex conjugate of each element, as a copy."""
def conj_physical_(input: Any) -> Tensor:
    """The complex conjugate of each element, as a copy."""
def conjugate(input: Any) -> Tensor:
    """The complex conjugate of each element; a real tensor is its own."""
def constant_pad_nd(input: Any, pad: Any, value: Any = ..., *, out: Any = ...) -> Tensor:
    """A tensor with a constant around it; negative widths cut off. Pairs (before, after) go from the last dimension to the first."""
def conv1d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ...) -> Tensor:
    """The convolution of signals (N, C, L) with weights (O, C / groups, K)."""
def conv2d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ...) -> Tensor:
    """The convolution of images (N, C, H, W) with weights (O, C / groups, KH, KW)."""
def conv3d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ...) -> Tensor:
    """The convolution of volumes (N, C, D, H, W) with weights (O, C / groups, KD, KH, KW)."""
def conv_tbc(input: Any, weight: Any, bias: Any, pad: _int = ...) -> Tensor:
    """A convolution over time of sequences (T, N, C), weights (K, C, O)."""
def conv_transpose1d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ...) -> Tensor:
    """The transpose of :func:`conv1d`, weights (C, O / groups, K)."""
def conv_transpose2d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ...) -> Tensor:
    """The transpose of :func:`conv2d`, weights (C, O / groups, KH, KW)."""
def conv_transpose3d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ...) -> Tensor:
    """The transpose of :func:`conv3d`, weights (C, O / groups, KD, KH, KW)."""
def copysign(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The size of x with the sign of y."""
def corrcoef(input: Any) -> Tensor:
    """The correlation coefficients of variables in rows, observations in columns."""
def cos(input: Any, *, out: Any = ...) -> Tensor:
    """The cosine."""
def cos_(input: Any) -> Tensor:
    """The cosine."""
def cosh(input: Any, *, out: Any = ...) -> Tensor:
    """The hyperbolic cosine."""
def cosh_(input: Any) -> Tensor:
    """The hyperbolic cosine."""
def cosine_similarity(x1: Any, x2: Any, dim: _int = ..., eps: _float = ...) -> Tensor:
    """The cosines of the angles between vectors along ``dim``."""
def count_nonzero(input: Any, dim: Any = ..., *, out: Any = ...) -> Tensor:
    """How many elements over ``dim`` are not zero."""
def cov(input: Any, *, correction: _int = ..., fweights: Any = ..., aweights: Any = ...) -> Tensor:
    """The covariance matrix of variables in rows, observations in columns."""
def cross(input: Any, other: Any, dim: _int | None = ..., *, out: Any = ...) -> Tensor:
    """The vector product along a dimension of size 3; without ``dim``, along the first such."""
def cummax(input: Any, dim: Any, *, out: Any = ...) -> _cummax_result:
    """The largest of the elements so far along ``dim``, and its index: the last of those that tie."""
def cummin(input: Any, dim: Any, *, out: Any = ...) -> _cummin_result:
    """The smallest of the elements so far along ``dim``, and its index: the last of those that tie."""
def cumprod(input: Any, dim: Any, *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The products of the elements so far along ``dim``; derivatives of every order are right where factors are 0."""
def cumsum(input: Any, dim: Any, *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The sums of the elements so far along ``dim``."""
def cumulative_trapezoid(y: Any, x: Any = ..., *, dx: _float = ..., dim: _int = ...) -> Tensor:
    """The integrals up to each point along ``dim`` by the trapezoidal rule."""
default_generator: Any
def deg2rad(input: Any, *, out: Any = ...) -> Tensor:
    """Angles in degrees, in radians."""
def deg2rad_(input: Any) -> Tensor:
    """Angles in degrees, in radians."""
def det(input: Any, *, out: Any = ...) -> Tensor:
    """The determinant of a matrix; the gradient is right for singular matrices, too."""
def diag(input: Any, diagonal: _int = ..., *, out: Any = ...) -> Tensor:
    """The matrix that has a vector on its diagonal, or the diagonal of a matrix."""
def diag_embed(input: Any, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Matrices that have the last dimension on their diagonal, zeros elsewhere."""
def diagflat(input: Any, offset: _int = ...) -> Tensor:
    """The matrix that has all entries of a tensor on its diagonal."""
def diagonal(input: Any, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
    """The diagonal of two dimensions, as a view."""
def diagonal_copy(input: Any, offset: Any = ..., dim1: Any = ..., dim2: Any = ..., *, out: Any = ...) -> Tensor:
    """What :func:`diagonal` shows, in memory of its own."""
def diagonal_scatter(input: Any, src: Any, offset: Any = ..., dim1: Any = ..., dim2: Any = ..., *, out: Any = ...) -> Tensor:
    """The tensor with ``src`` over its diagonal."""
def diff(input: Any, n: _int = ..., dim: _int = ..., prepend: Any = ..., append: Any = ..., *, out: Any = ...) -> Tensor:
    """Differences of neighbours along ``dim``, ``n`` times over."""
def digamma(input: Any, *, out: Any = ...) -> Tensor:
    """The derivative of :func:`lgamma`."""
def dist(input: Any, other: Any, p: Any = ..., *, out: Any = ...) -> Tensor:
    """The norm of order ``p`` of x - y."""
def div(input: Any, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor:
    """``input / other``; with ``rounding_mode`` 'floor' or 'trunc', rounded down or towards zero."""
def divide(input: Any, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor:
    """``input / other``; with ``rounding_mode`` 'floor' or 'trunc', rounded down or towards zero."""
def dot(input: Any, tensor: Any, *, out: Any = ...) -> Tensor:
    """The sum of the products of two vectors' entries, without conjugation."""
double: dtype
def dropout(input: Any, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """In training, entries set to zero with probability ``p``, the others divided by ``1 - p``."""
def dsmm(input: Any, mat2: Any, *, out: Any = ...) -> Tensor:
    """The product of two matrices."""
def dsplit(input: Any, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    """The tensor cut along its third dimension (a vector along its only one, where that is allowed): into as many equal pieces, or at indices."""
def dstack(tensors: Any, *, out: Any = ...) -> Tensor:
    """The tensors one behind the other, along a third dimension."""
e: _float
def eig(*args: Any, **kwargs: Any) -> Any:
    """Removed: use linalg.eig, whose results are complex."""
def einsum(equation: str, *operands: Any) -> Tensor:
    """Products of tensors summed over named dimensions, in Einstein's notation."""
def embedding(weight: Any, indices: Any, padding_idx: Any = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ..., *, out: Any = ...) -> Tensor:
    """The rows of a table that indices name."""
def embedding_renorm_(input: Any, indices: Any, max_norm: _float, norm_type: _float) -> Tensor:
    """Scale the rows that the indices name and that are longer than ``max_norm``, in place."""
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of a shape whose dimensions lie in memory in the order given, the outermost first."""
def empty_strided(size: Any, stride: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of a shape and strides, its values whatever is in memory."""
def eq(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x == y, as booleans."""
def equal(input: Any, other: Any) -> _bool:
    """Whether two tensors have the same shape and values."""
def erf(input: Any, *, out: Any = ...) -> Tensor:
    """The error function."""
def erf_(input: Any) -> Tensor:
    """The error function."""
def erfc(input: Any, *, out: Any = ...) -> Tensor:
    """1 - erf(x), exact for large x."""
def erfc_(input: Any) -> Tensor:
    """1 - erf(x), exact for large x."""
def erfinv(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse of the error function; NaN outside of [-1, 1]."""
def exp(input: Any, *, out: Any = ...) -> Tensor:
    """e to the power of each element."""
def exp2(input: Any, *, out: Any = ...) -> Tensor:
    """2 to the power of each element."""
def exp2_(input: Any) -> Tensor:
    """2 to the power of each element."""
def exp_(input: Any) -> Tensor:
    """e to the power of each element."""
def expand_copy(input: Any, size: Any, *, out: Any = ...) -> Tensor:
    """What :func:`expand` shows, in memory of its own."""
def expm1(input: Any, *, out: Any = ...) -> Tensor:
    """exp(x) - 1, exact for small x."""
def expm1_(input: Any) -> Tensor:
    """exp(x) - 1, exact for small x."""
def feature_dropout(input: Any, p: _float, train: _bool) -> Tensor:
    """In training, whole channels (N, C, ...) set to zero with probability ``p``, the others divided by ``1 - p``."""
def fill(input: Any, value: Any, *, out: Any = ...) -> Tensor:
    """One value everywhere."""
def fill_(input: Any, value: Any) -> Tensor:
    """One value everywhere."""
def fix(input: Any, *, out: Any = ...) -> Tensor:
    """Each element without its fraction."""
def fix_(input: Any) -> Tensor:
    """Each element without its fraction."""
def flatten(input: Any, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """A range of dimensions made one."""
def flip(input: Any, dims: Any, *, out: Any = ...) -> Tensor:
    """The order along dimensions reversed, as a copy."""
def fliplr(input: Any) -> Tensor:
    """The second dimension in reverse order."""
def flipud(input: Any) -> Tensor:
    """The first dimension in reverse order."""
float: dtype
float16: dtype
float32: dtype
float64: dtype
def float_power(input: Any, exponent: Any, *, out: Any = ...) -> Tensor:
    """Each element to a power, in double precision whatever was given."""
def floor(input: Any, *, out: Any = ...) -> Tensor:
    """The largest integer not above each element."""
def floor_(input: Any) -> Tensor:
    """The largest integer not above each element."""
def floor_divide(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The quotient rounded down; its gradient is zero."""
def fmax(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The larger of each pair, the other one if one is NaN."""
def fmin(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The smaller of each pair, the other one if one is NaN."""
def fmod(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """What division towards zero leaves, with the dividend's sign."""
def frac(input: Any, *, out: Any = ...) -> Tensor:
    """The fraction of each element, with its sign."""
def frac_(input: Any) -> Tensor:
    """The fraction of each element, with its sign."""
def frexp(input: Any, *, out: Any = ...) -> _frexp_result:
    """Mantissas, between 0.5 and 1 in size, and exponents: ``x = mantissa * 2 ** exponent``."""
def frobenius_norm(input: Any, dim: Any, keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """The root of the sum of squares over ``dim``."""
def from_file(filename: Any, shared: _bool | None = ..., size: _int = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor:
    """The first ``size`` elements of a file as a tensor; with ``shared``, what is written to it goes to the file, which is made, or made longer, where it must be."""
def gather(input: Any, dim: Any, index: Any, *, sparse_grad: _bool = ..., out: Any = ...) -> Tensor:
    """Entries picked along a dimension by an index tensor."""
def gcd(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The greatest common divisor of each pair of integers, never negative."""
def gcd_(input: Any, other: Any) -> Tensor:
    """The greatest common divisor of each pair of integers, never negative."""
def ge(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x >= y, as booleans."""
def geqrf(input: Any, *, out: Any = ...) -> Any:
    """The QR factorisation as LAPACK leaves it: R above, the reflections that make Q below, and their scales; no derivative."""
def ger(input: Any, vec2: Any, *, out: Any = ...) -> Tensor:
    """The products of each entry of one vector with each of another."""
def get_rng_state() -> Tensor:
    """Return the state of the default generator."""
def gradient(input: Any, *, spacing: Any = ..., dim: Any = ..., edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The derivatives of a sampled function along each dimension: by differences to both sides inside, of ``edge_order`` at the edges."""
def greater(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x > y, as booleans."""
def greater_equal(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x >= y, as booleans."""
def grid_sampler(input: Any, grid: Any, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """:func:`dualtape.nn.functional.grid_sample` of images or volumes, its modes as numbers."""
def grid_sampler_2d(input: Any, grid: Any, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """:func:`dualtape.nn.functional.grid_sample` of images, its modes as numbers."""
def grid_sampler_3d(input: Any, grid: Any, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """:func:`dualtape.nn.functional.grid_sample` of volumes, its modes as numbers."""
def group_norm(input: Any, num_groups: _int, weight: Any = ..., bias: Any = ..., eps: _float = ...) -> Tensor:
    """Groups of channels brought to mean 0 and variance 1, then each channel scaled and shifted."""
def gru(input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any, batch_first: _bool = ...) -> tuple[Tensor, ...]:
    """Layers of gated recurrent units over sequences (T, N, features): the outputs of each step, and the last states."""
def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = ..., b_hh: Any = ...) -> Tensor:
    """One step of gated recurrent units: the state after an input, given the state before."""
def gt(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x > y, as booleans."""
half: dtype
def hardshrink(input: Any, lambd: Any = ..., *, out: Any = ...) -> Tensor:
    """x, but 0 between -lambd and lambd."""
def heaviside(input: Any, values: Any, *, out: Any = ...) -> Tensor:
    """0 below zero, 1 above, and ``values`` at zero."""
def histc(input: Any, bins: _int = ..., min: _float = ..., max: _float = ..., *, out: Any = ...) -> Tensor:
    """How many elements fall into each of ``bins`` equal intervals from ``min`` to ``max``; by default, of the data."""
def histogram(input: Any, bins: Any = ..., *, range: Any = ..., weight: Any = ..., density: _bool = ..., out: Any = ...) -> Any:
    """How many elements, or how much weight, fall into each of ``bins`` equal intervals, or between edges given."""
def histogramdd(input: Any, bins: Any, range: Any = ..., weight: Any = ..., density: _bool = ...) -> Any:
    """How many points, the rows of ``input``, fall into each box of a grid: of ``bins`` equal intervals along each dimension (a number, or one for each), or between edges given. ``range`` holds two limits for each dimension."""
def hsmm(mat1: Any, mat2: Any) -> Any:
    """A sparse matrix times a dense one, as a sparse tensor of dense rows: those where ``mat1`` has entries."""
def hsplit(input: Any, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    """The tensor cut along its second dimension (a vector along its only one, where that is allowed): into as many equal pieces, or at indices."""
def hstack(tensors: Any, *, out: Any = ...) -> Tensor:
    """Tensors joined side by side: along the second dimension, or the first of vectors."""
def hypot(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The length of the hypotenuse, sqrt(x*x + y*y), without overflow."""
def i0(input: Any, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def i0_(input: Any) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def igamma(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The regularised lower incomplete gamma function of an order and a bound; it has no derivative with respect to the order."""
def igammac(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """1 - igamma, exact where that is near 1."""
def imag(input: Any) -> Tensor:
    """The imaginary part of each element, sharing memory."""
def index_add(input: Any, dim: Any, index: Any, source: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
    """The tensor with entries of ``source`` added at indices along a dimension."""
def index_copy(input: Any, dim: Any, index: Any, source: Any, *, out: Any = ...) -> Tensor:
    """The tensor with entries of ``source`` written at indices along a dimension."""
def index_fill(input: Any, dim: Any, index: Any, value: Any, *, out: Any = ...) -> Tensor:
    """The tensor with one value at indices along a dimension."""
def index_put(input: Any, indices: Any, values: Any, accumulate: _bool = ..., *, out: Any = ...) -> Tensor:
    """A copy with values put (or added) at index tensors."""
def index_put_(input: Any, indices: Any, values: Any, accumulate: _bool = ...) -> Tensor:
    """A copy with values put (or added) at index tensors."""
def index_reduce(input: Any, dim: Any, index: Any, source: Any, reduce: Any, *, include_self: _bool = ..., out: Any = ...) -> Tensor:
    """Slices combined with those at indices along a dimension: ``reduce`` is 'prod', 'mean', 'amax' or 'amin'; with ``include_self=False`` what was there does not count."""
def index_select(input: Any, dim: Any, index: Any, *, out: Any = ...) -> Tensor:
    """Entries along a dimension, by a vector of indices."""
inf: _float
def initial_seed() -> _int:
    """Return the seed of the default generator."""
def inner(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The sums of products over the last dimension of both."""
int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
def inverse(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse of a matrix."""
def isclose(input: Any, other: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``."""
def isfinite(input: Any, *, out: Any = ...) -> Tensor:
    """Where an element is finite."""
def isin(elements: Any = ..., test_elements: Any = ..., *, assume_unique: _bool = ..., invert: _bool = ..., element: Any = ..., test_element: Any = ..., out: Any = ...) -> Tensor:
    """Where an element is one of ``test_elements``; with ``invert``, where it is none of them."""
def isinf(input: Any, *, out: Any = ...) -> Tensor:
    """Where an element is infinite."""
def isnan(input: Any, *, out: Any = ...) -> Tensor:
    """Where an element is not a number."""
def isneginf(input: Any, *, out: Any = ...) -> Tensor:
    """Where an element is infinite and negative."""
def isposinf(input: Any, *, out: Any = ...) -> Tensor:
    """Where an element is infinite and positive."""
def isreal(input: Any, *, out: Any = ...) -> Tensor:
    """Where an element is a real number."""
def istft(input: Any, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Any = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
    """The signals of which :func:`stft` gives these spectra, as nearly as there are any: pieces added up, divided by their windows' squares."""
def kl_div(input: Any, target: Any, reduction: str = ..., log_target: _bool = ...) -> Tensor:
    """The Kullback-Leibler divergence of probabilities ``target`` from log-probabilities ``input``."""
def kron(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The Kronecker product: each entry of the one times the whole other."""
def kthvalue(input: Any, k: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> _kthvalue_result:
    """The ``k``-th smallest element along ``dim``, and its index."""
def layer_norm(input: Any, normalized_shape: Any, weight: Any = ..., bias: Any = ..., eps: _float = ...) -> Tensor:
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted."""
def lcm(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The least common multiple of each pair of integers, never negative."""
def lcm_(input: Any, other: Any) -> Tensor:
    """The least common multiple of each pair of integers, never negative."""
def ldexp(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """x times 2 to the power of y."""
def ldexp_(input: Any, other: Any) -> Tensor:
    """x times 2 to the power of y."""
def le(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x <= y, as booleans."""
def lerp(input: Any, end: Any, weight: Any, *, out: Any = ...) -> Tensor:
    """x + weight * (end - x)."""
def less(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x < y, as booleans."""
def less_equal(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x <= y, as booleans."""
def lgamma(input: Any, *, out: Any = ...) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def lobpcg(A: Any, k: _int | None = ..., B: Any = ..., X: Any = ..., n: _int | None = ..., iK: Any = ..., niter: _int | None = ..., tol: _float | None = ..., largest: _bool | None = ..., method: str | None = ..., tracker: Any = ..., ortho_iparams: Any = ..., ortho_fparams: Any = ..., ortho_bparams: Any = ...) -> tuple[Tensor, ...]:
    """The ``k`` largest (or smallest) eigenvalues of ``A x = lambda B x`` and their vectors, found by SciPy's iteration."""
def log(input: Any, *, out: Any = ...) -> Tensor:
    """The natural logarithm."""
def log10(input: Any, *, out: Any = ...) -> Tensor:
    """The logarithm to base 10."""
def log10_(input: Any) -> Tensor:
    """The logarithm to base 10."""
def log1p(input: Any, *, out: Any = ...) -> Tensor:
    """log(1 + x), exact for small x."""
def log1p_(input: Any) -> Tensor:
    """log(1 + x), exact for small x."""
def log2(input: Any, *, out: Any = ...) -> Tensor:
    """The logarithm to base 2."""
def log2_(input: Any) -> Tensor:
    """The logarithm to base 2."""
def log_(input: Any) -> Tensor:
    """The natural logarithm."""
def log_softmax(input: Any, dim: Any, dtype: Any = ..., *, out: Any = ...) -> Tensor:
    """The logarithm of :func:`softmax`, exact where that underflows."""
def logaddexp(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""
def logaddexp2(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """log2(2**x + 2**y), without overflow."""
def logcumsumexp(input: Any, dim: Any, *, out: Any = ...) -> Tensor:
    """log(sum(exp(x))) of the elements so far along ``dim``, without overflow."""
def logdet(input: Any) -> Tensor:
    """The logarithm of the determinant; NaN where it is negative."""
def logical_and(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The conjunction of the elements' truth."""
def logical_not(input: Any, *, out: Any = ...) -> Tensor:
    """The negation of the elements' truth."""
def logical_or(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The disjunction of the elements' truth."""
def logical_xor(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The exclusive disjunction of the elements' truth."""
def logit(input: Any, eps: Any = ..., *, out: Any = ...) -> Tensor:
    """log(x / (1 - x)); with ``eps``, of x kept between eps and 1 - eps."""
def logit_(input: Any, eps: Any = ...) -> Tensor:
    """log(x / (1 - x)); with ``eps``, of x kept between eps and 1 - eps."""
def logsumexp(input: Any, dim: Any, keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """log(sum(exp(x))) over ``dim``, without overflow."""
long: dtype
def lstm(input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any, batch_first: _bool = ...) -> tuple[Tensor, ...]:
    """Layers of long short-term memory over sequences (T, N, features): the outputs of each step, and the last states."""
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = ..., b_hh: Any = ...) -> tuple[Tensor, ...]:
    """One step of long short-term memory, whose state is a pair: the state after an input, given the state before."""
def lstsq(*args: Any, **kwargs: Any) -> Any:
    """Removed: use linalg.lstsq, which takes (A, B)."""
def lt(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x < y, as booleans."""
def lu(A: Any, pivot: _bool = ..., get_infos: _bool = ...) -> tuple[Tensor, ...]:
    """The factors, the exchanges and for ``get_infos`` the failures of :func:`dualtape.linalg.lu_factor_ex`."""
def lu_solve(input: Any, LU_data: Any, LU_pivots: Any, *, out: Any = ...) -> Tensor:
    """:func:`dualtape.linalg.lu_solve` with the right side first."""
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: Any = ...) -> Any:
    """P, L and U from the result of :func:`dualtape.linalg.lu_factor`; empty tensors for those not requested."""
def manual_seed(seed: _int) -> Any:
    """Seed the default generator."""
def masked_fill(input: Any, mask: Any, value: Any, *, out: Any = ...) -> Tensor:
    """One value where the mask holds."""
def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """The tensor with the first entries of ``source`` where the mask holds."""
def masked_select(input: Any, mask: Any, *, out: Any = ...) -> Tensor:
    """The entries where the mask holds, in one dimension."""
def matmul(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The matrix product: of two matrices, of vectors with either, of batches broadcast together."""
def matrix_exp(input: Any, *, out: Any = ...) -> Tensor:
    """The exponential of a matrix."""
def matrix_power(input: Any, n: _int, *, out: Any = ...) -> Tensor:
    """A square matrix multiplied with itself; a negative power is that of the inverse."""
def matrix_rank(*args: Any, **kwargs: Any) -> Any:
    """Removed: use linalg.matrix_rank."""
def max(input: Any, dim: Any = ..., keepdim: _bool = ..., *, other: Any = ..., **out: Any) -> Any:
    """The largest element; along ``dim`` also its index; with a tensor, the larger of each pair (:func:`maximum`)."""
def max_pool1d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """The largest entry of each window of signals (N, C, L)."""
def max_pool1d_with_indices(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> tuple[Tensor, ...]:
    """The largest entry of each window of signals, and its index in the signal."""
def max_pool2d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """The largest entry of each window of images (N, C, H, W)."""
def max_pool3d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """The largest entry of each window of volumes (N, C, D, H, W)."""
def maximum(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The larger of each pair; NaN if either is."""
def mean(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The mean over ``dim``."""
def median(input: Any, dim: _int | None = ..., keepdim: _bool = ..., **out: Any) -> Any:
    """The middle element in order, the lower of two; along ``dim`` also its index. NaN if there is one."""
def meshgrid(*tensors: Any, indexing: str | None = ...) -> tuple[Tensor, ...]:
    """Coordinates of a grid, one tensor for each axis."""
def min(input: Any, dim: Any = ..., keepdim: _bool = ..., *, other: Any = ..., **out: Any) -> Any:
    """The smallest element; along ``dim`` also its index; with a tensor, the smaller of each pair (:func:`minimum`)."""
def minimum(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The smaller of each pair; NaN if either is."""
def mm(input: Any, mat2: Any, *, out: Any = ...) -> Tensor:
    """The product of two matrices."""
def mode(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> _mode_result:
    """The most common element along ``dim``, the smallest of several, and its last index."""
def moveaxis(input: Any, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other positions, the rest kept in order."""
def movedim(input: Any, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other positions, the rest kept in order."""
def msort(input: Any, *, out: Any = ...) -> Tensor:
    """The elements in order along the first dimension."""
def mul(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """x * y."""
def multiply(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """x * y."""
def mv(input: Any, vec: Any, *, out: Any = ...) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Any, p: Any, *, out: Any = ...) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""
nan: _float
def nan_to_num(input: Any, nan: Any = ..., posinf: Any = ..., neginf: Any = ..., *, out: Any = ...) -> Tensor:
    """NaN and infinities replaced: by 0 and by the largest numbers of the dtype, or by what is given; no gradient flows there."""
def nan_to_num_(input: Any, nan: Any = ..., posinf: Any = ..., neginf: Any = ...) -> Tensor:
    """NaN and infinities replaced: by 0 and by the largest numbers of the dtype, or by what is given; no gradient flows there."""
def nanmean(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The mean over ``dim`` of what is a number."""
def nanmedian(input: Any, dim: _int | None = ..., keepdim: _bool = ..., **out: Any) -> Any:
    """The median of what is a number; along ``dim`` also its index."""
def nanquantile(input: Any, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Any = ...) -> Tensor:
    """The ``q``-th quantiles along ``dim`` of what is a number."""
def nansum(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The sum over ``dim`` of what is a number."""
def narrow(input: Any, dim: _int, start: Any, length: _int) -> Tensor:
    """``length`` entries along a dimension, from ``start``."""
def narrow_copy(input: Any, dim: _int, start: Any, length: _int, *, out: Any = ...) -> Tensor:
    """What :func:`narrow` shows, in memory of its own."""
def native_channel_shuffle(input: Any, groups: _int) -> Tensor:
    """Channels (N, C, ...) of each group in turn."""
def ne(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x != y, as booleans."""
def neg(input: Any, *, out: Any = ...) -> Tensor:
    """The negative of each element."""
def neg_(input: Any) -> Tensor:
    """The negative of each element."""
def negative(input: Any, *, out: Any = ...) -> Tensor:
    """The negative of each element."""
def negative_(input: Any) -> Tensor:
    """The negative of each element."""
newaxis: Any
def nextafter(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The floating-point number after x, towards y."""
def nonzero(input: Any, *, as_tuple: _bool = ..., out: Any = ...) -> Any:
    """The indices of the entries that are not zero: rows of a matrix, or one tensor for each dimension."""
def nonzero_static(input: Any, *, size: _int, fill_value: _int = ..., out: Any = ...) -> Tensor:
    """The indices of the entries that are not zero, as rows: the first ``size``, or filled up with ``fill_value``."""
def norm(input: Any, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., out: Any = ..., dtype: Any = ...) -> Tensor:
    """The vector norm of order ``p`` over ``dim``; 'fro' is 2, 'nuc' the sum of a matrix's singular values."""
def norm_except_dim(v: Any, pow: _int = ..., dim: _int = ...) -> Tensor:
    """The norm of order ``pow`` of each part along ``dim``, in a shape that broadcasts; with -1, of the whole."""
def not_equal(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """Where x != y, as booleans."""
def nuclear_norm(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """The sum of the singular values of the matrices in two dimensions."""
def orgqr(input: Any, input2: Any, *, out: Any = ...) -> Tensor:
    """:func:`dualtape.linalg.householder_product`."""
def ormqr(input: Any, input2: Any, input3: Any, left: _bool = ..., transpose: _bool = ..., *, out: Any = ...) -> Tensor:
    """The product of all reflections of :func:`geqrf`, or its adjoint, with a matrix; or, if not ``left``, the matrix with it."""
def outer(input: Any, vec2: Any, *, out: Any = ...) -> Tensor:
    """The products of each entry of one vector with each of another."""
def pairwise_distance(x1: Any, x2: Any, p: _float = ..., eps: _float = ..., keepdim: _bool = ...) -> Tensor:
    """The norm of the difference of vectors along the last dimension."""
def pca_lowrank(A: Any, q: _int | None = ..., center: _bool = ..., niter: _int = ...) -> tuple[Tensor, ...]:
    """The first ``q`` principal components of rows of data: :func:`svd_lowrank` after their mean is subtracted."""
def pdist(input: Any, p: _float = ...) -> Tensor:
    """The distances, in the norm of order ``p``, of each two rows."""
def permute(input: Any, dims: Any) -> Tensor:
    """The dimensions in another order."""
def permute_copy(input: Any, dims: Any, *, out: Any = ...) -> Tensor:
    """What :func:`permute` shows, in memory of its own."""
pi: _float
def pinverse(input: Any, rcond: Any = ..., hermitian: _bool = ..., *, out: Any = ...) -> Tensor:
    """The Moore-Penrose pseudo-inverse."""
def pixel_shuffle(input: Any, upscale_factor: Any, *, out: Any = ...) -> Tensor:
    """Channels (C * r * r, H, W) rearranged into a finer image (C, H * r, W * r)."""
def pixel_unshuffle(input: Any, downscale_factor: _int) -> Tensor:
    """Images (C, H * r, W * r) rearranged into coarser ones of more channels (C * r * r, H, W)."""
def polar(abs: Any, angle: Any, *, out: Any = ...) -> Tensor:
    """Complex numbers from absolute values and angles."""
def polygamma(n: _int, input: Any, *, out: Any = ...) -> Tensor:
    """The n-th derivative of :func:`digamma`."""
def positive(input: Any) -> Tensor:
    """The tensor itself."""
def pow(input: Any, exponent: Any, *, out: Any = ...) -> Tensor:
    """Each element to a power."""
def prelu(input: Any, weight: Any) -> Tensor:
    """``input`` above 0, ``input`` times a weight (one, or one for each channel) below."""
def prod(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The product over ``dim``; derivatives of every order are right where factors are 0."""
def put(input: Any, index: Any, source: Any, accumulate: _bool = ..., *, out: Any = ...) -> Tensor:
    """The tensor with values written (or added) at places of the flattened tensor."""
def qr(input: Any, some: _bool = ..., *, out: Any = ...) -> Any:
    """The factors of ``input = Q @ R``; :func:`dualtape.linalg.qr` is its successor."""
def quantile(input: Any, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Any = ...) -> Tensor:
    """The ``q``-th quantiles along ``dim``; several ``q`` make the first dimension of the result."""
def rad2deg(input: Any, *, out: Any = ...) -> Tensor:
    """Angles in radians, in degrees."""
def rad2deg_(input: Any) -> Tensor:
    """Angles in radians, in degrees."""
def range(start: Any = ..., end: Any = ..., step: Any = ..., *, out: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor:
    """Numbers from ``start`` to ``end``, which is included, unlike in :func:`arange`; it is to go from PyTorch."""
def ravel(input: Any) -> Tensor:
    """The tensor in one dimension."""
def real(input: Any) -> Tensor:
    """The real part of each element, sharing memory; a real tensor is its own."""
def reciprocal(input: Any, *, out: Any = ...) -> Tensor:
    """One over each element."""
def reciprocal_(input: Any) -> Tensor:
    """One over each element."""
def relu(input: Any, *, out: Any = ...) -> Tensor:
    """The positive part of each element; the gradient at 0 is 0."""
def relu_(input: Any) -> Tensor:
    """The positive part of each element; the gradient at 0 is 0."""
def remainder(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """What floor division leaves, with the divisor's sign."""
def renorm(input: Any, p: _float, dim: _int, maxnorm: _float, *, out: Any = ...) -> Tensor:
    """Each part along ``dim`` scaled so that its norm of order ``p`` is at most ``maxnorm``."""
def repeat_interleave(input: Any = ..., repeats: Any = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
    """Each entry repeated in order; given the counts alone, the indices of the entries."""
def reshape(input: Any, *shape: Any) -> Tensor:
    """The tensor in another shape: a view where the memory allows it, else a copy."""
def resize_as_(input: Any, the_template: Any, *, memory_format: Any = ...) -> Tensor:
    """Give a tensor the shape of another, as :meth:`resize_` does."""
def resolve_conj(input: Any) -> Tensor:
    """The tensor itself: conjugation is never pending here."""
def resolve_neg(input: Any) -> Tensor:
    """The tensor itself: negation is never pending here."""
def rms_norm(input: Any, normalized_shape: Any, weight: Any = ..., eps: _float | None = ...) -> Tensor:
    """The last dimensions divided by the root of their mean square, then scaled."""
def rnn_relu(input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any, batch_first: _bool = ...) -> tuple[Tensor, ...]:
    """Layers of a network with relu over sequences (T, N, features): the outputs of each step, and the last states."""
def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = ..., b_hh: Any = ...) -> Tensor:
    """One step of a network with relu: the state after an input, given the state before."""
def rnn_tanh(input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any, batch_first: _bool = ...) -> tuple[Tensor, ...]:
    """Layers of a network with tanh over sequences (T, N, features): the outputs of each step, and the last states."""
def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = ..., b_hh: Any = ...) -> Tensor:
    """One step of a network with tanh: the state after an input, given the state before."""
def roll(input: Any, shifts: Any, dims: Any = ..., *, out: Any = ...) -> Tensor:
    """The entries moved along a dimension, those that fall off put in at the other end."""
def rot90(input: Any, k: Any = ..., dims: Any = ..., *, out: Any = ...) -> Tensor:
    """The tensor turned by ``k`` quarters, from the first of ``dims`` towards the second."""
def round(input: Any, *, decimals: Any = ..., out: Any = ...) -> Tensor:
    """The nearest integer (the even one of two), or the nearest number of ``decimals`` digits."""
def round_(input: Any, *, decimals: Any = ...) -> Tensor:
    """The nearest integer (the even one of two), or the nearest number of ``decimals`` digits."""
def row_stack(tensors: Any, *, out: Any = ...) -> Tensor:
    """Tensors joined one below the other."""
def rsqrt(input: Any, *, out: Any = ...) -> Tensor:
    """One over the square root."""
def rsqrt_(input: Any) -> Tensor:
    """One over the square root."""
def rsub(input: Any, other: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
    """y - alpha * x."""
def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = ..., alpha: Any = ...) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)``, where ``input``, ``mat1`` and the result are sparse."""
def scatter(input: Any, dim: _int, index: Any, src: Any = ..., *, value: Any = ..., reduce: str | None = ..., out: Any = ...) -> Tensor:
    """The tensor with values written (or added, or multiplied) at an index along a dimension."""
def scatter_add(input: Any, dim: Any, index: Any, src: Any, *, out: Any = ...) -> Tensor:
    """The tensor with values added at an index along a dimension."""
def scatter_reduce(input: Any, dim: Any, index: Any, src: Any, reduce: Any, *, include_self: _bool = ..., out: Any = ...) -> Tensor:
    """Values combined with what is at an index along a dimension: ``reduce`` is 'sum', 'prod', 'mean', 'amax' or 'amin'; with ``include_self=False`` what was there does not count."""
def searchsorted(sorted_sequence: Any, input: Any, *, out_int32: _bool = ..., right: _bool = ..., side: str | None = ..., sorter: Any = ..., out: Any = ...) -> Tensor:
    """The index in the last dimension of ``sorted_sequence`` at which each value can be inserted in order."""
def seed() -> _int:
    """Seed the default generator from the operating system's randomness."""
def segment_reduce(data: Any, reduce: str, *, lengths: Any = ..., indices: Any = ..., offsets: Any = ..., axis: _int = ..., unsafe: _bool = ..., initial: _float | None = ...) -> Tensor:
    """Runs of entries along ``axis`` combined: ``reduce`` is 'sum', 'mean', 'prod', 'max' or 'min'."""
def select(input: Any, dim: Any, index: Any) -> Tensor:
    """One entry along a dimension, which goes away."""
def select_copy(input: Any, dim: Any, index: Any, *, out: Any = ...) -> Tensor:
    """What :func:`select` shows, in memory of its own."""
def select_scatter(input: Any, src: Any, dim: Any, index: Any, *, out: Any = ...) -> Tensor:
    """The tensor with ``src`` as one entry along a dimension."""
def selu(input: Any, *, out: Any = ...) -> Tensor:
    """elu with the two constants that keep mean and variance."""
def selu_(input: Any) -> Tensor:
    """Write :func:`selu` into its argument."""
def set_rng_state(new_state: Any) -> Any:
    """Set the state of the default generator."""
def sgn(input: Any, *, out: Any = ...) -> Tensor:
    """The sign of each element; of a complex one, its direction: itself divided by its size."""
short: dtype
def sigmoid(input: Any, *, out: Any = ...) -> Tensor:
    """1 / (1 + exp(-x))."""
def sigmoid_(input: Any) -> Tensor:
    """1 / (1 + exp(-x))."""
def sign(input: Any, *, out: Any = ...) -> Tensor:
    """The sign of each element: -1, 0 or 1."""
def signbit(input: Any, *, out: Any = ...) -> Tensor:
    """Where the sign bit is set, that of -0 included."""
def sin(input: Any, *, out: Any = ...) -> Tensor:
    """The sine."""
def sin_(input: Any) -> Tensor:
    """The sine."""
def sinc(input: Any, *, out: Any = ...) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def sinc_(input: Any) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def sinh(input: Any, *, out: Any = ...) -> Tensor:
    """The hyperbolic sine."""
def sinh_(input: Any) -> Tensor:
    """The hyperbolic sine."""
def slice_copy(input: Any, dim: Any = ..., start: Any = ..., end: Any = ..., step: Any = ..., *, out: Any = ...) -> Tensor:
    """What :func:`slice` shows, in memory of its own."""
def slice_scatter(input: Any, src: Any, dim: Any = ..., start: Any = ..., end: Any = ..., step: Any = ..., *, out: Any = ...) -> Tensor:
    """The tensor with ``src`` over a range along a dimension."""
def slogdet(input: Any, *, out: Any = ...) -> _slogdet_result:
    """The sign (or direction) of the determinant, and the logarithm of its absolute value."""
def softmax(input: Any, dim: Any, dtype: Any = ..., *, out: Any = ...) -> Tensor:
    """Exponentials along ``dim``, scaled so that they sum to 1."""
def solve(*args: Any, **kwargs: Any) -> Any:
    """Removed: use linalg.solve, which takes (A, B)."""
def sort(input: Any, dim: Any = ..., descending: _bool = ..., stable: Any = ..., *, out: Any = ...) -> _sort_result:
    """The elements in order along ``dim``, and where they came from."""
sparse_bsc: Any
sparse_csc: Any
def split(input: Any, split_size: Any, dim: Any = ...) -> tuple[Tensor, ...]:
    """The tensor cut into pieces along a dimension: of one size, or of the sizes given."""
def split_copy(input: Any, split_size: Any, dim: Any = ..., *, out: Any = ...) -> tuple[Tensor, ...]:
    """What :func:`split` shows, in memory of its own."""
def split_with_sizes(input: Any, split_sizes: Any, dim: _int = ...) -> tuple[Tensor, ...]:
    """The tensor cut into pieces of the sizes given."""
def split_with_sizes_copy(input: Any, split_sizes: Any, dim: Any = ..., *, out: Any = ...) -> tuple[Tensor, ...]:
    """What :func:`split_with_sizes` shows, in memory of its own."""
def spmm(input: Any, mat2: Any, *, out: Any = ...) -> Tensor:
    """The product of two matrices."""
def sqrt(input: Any, *, out: Any = ...) -> Tensor:
    """The square root; the gradient at 0 is infinite, as PyTorch's."""
def sqrt_(input: Any) -> Tensor:
    """The square root; the gradient at 0 is infinite, as PyTorch's."""
def square(input: Any, *, out: Any = ...) -> Tensor:
    """The square of each element."""
def square_(input: Any) -> Tensor:
    """The square of each element."""
def squeeze(input: Any, dim: Any = ...) -> Tensor:
    """The tensor without its dimensions of size 1, or without those named."""
def squeeze_copy(input: Any, dim: Any = ..., *, out: Any = ...) -> Tensor:
    """What :func:`squeeze` shows, in memory of its own."""
def stack(tensors: Any, dim: Any = ..., *, out: Any = ...) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
def std(input: Any, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., **out: Any) -> Tensor:
    """The standard deviation over ``dim``, the root of the variance; where it is 0, so is its gradient."""
def std_mean(input: Any, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., out: Any = ...) -> tuple[Tensor, ...]:
    """The standard deviation and the mean over ``dim``."""
def stft(input: Any, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Any = ..., center: _bool = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
    """The spectra of pieces of ``n_fft`` entries of signals, ``hop_length`` apart, each times a window: (frequencies, pieces)."""
def sub(input: Any, other: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
    """x - alpha * y."""
def subtract(input: Any, other: Any, *, alpha: Any = ..., out: Any = ...) -> Tensor:
    """x - alpha * y."""
def sum(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The sum over ``dim``; integers and booleans are summed as int64."""
def svd(input: Any, some: _bool = ..., compute_uv: _bool = ..., *, out: Any = ...) -> tuple[Tensor, ...]:
    """The singular value decomposition as (U, S, V), V not transposed; see :func:`dualtape.linalg.svd`."""
def svd_lowrank(A: Any, q: _int | None = ..., niter: _int | None = ..., M: Any = ...) -> tuple[Tensor, ...]:
    """The largest ``q`` singular values of ``A - M`` and their vectors, as (U, S, V), found by random combinations of its columns."""
def swapaxes(input: Any, dim0: Any, dim1: Any) -> Tensor:
    """Two dimensions exchanged."""
def swapdims(input: Any, dim0: Any, dim1: Any) -> Tensor:
    """Two dimensions exchanged."""
def symeig(*args: Any, **kwargs: Any) -> Any:
    """Removed: use linalg.eigh, which reads the lower triangle and gives (eigenvalues, eigenvectors)."""
def t(input: Any) -> Tensor:
    """The transpose of a matrix; vectors and scalars stay as they are."""
def t_copy(input: Any, *, out: Any = ...) -> Tensor:
    """What :func:`t` shows, in memory of its own."""
def take(input: Any, index: Any, *, out: Any = ...) -> Tensor:
    """Entries by their index in the flattened tensor."""
def take_along_dim(input: Any, indices: Any, dim: _int | None = ..., *, out: Any = ...) -> Tensor:
    """Entries picked along a dimension, input and indices broadcast against each other."""
def tan(input: Any, *, out: Any = ...) -> Tensor:
    """The tangent."""
def tan_(input: Any) -> Tensor:
    """The tangent."""
def tanh(input: Any, *, out: Any = ...) -> Tensor:
    """The hyperbolic tangent."""
def tanh_(input: Any) -> Tensor:
    """The hyperbolic tangent."""
def tensor_split(input: Any, indices_or_sections: Any = ..., dim: _int = ..., *, sections: Any = ..., indices: Any = ..., axis: _int = ...) -> tuple[Tensor, ...]:
    """The tensor cut into nearly equal sections, or at the indices given."""
def tensordot(a: Any, b: Any, dims: Any = ..., *, axes: Any = ..., out: Any = ...) -> Tensor:
    """The product of two tensors summed over the last ``dims`` of one and the first of the other, or over the dimensions listed; ``axes`` is NumPy's name for them."""
def threshold(input: Any, threshold: Any, value: Any, *, out: Any = ...) -> Tensor:
    """x above a threshold, a fixed value elsewhere."""
def threshold_(input: Any, threshold: Any, value: Any) -> Tensor:
    """Write :func:`threshold` into its argument."""
def tile(input: Any, *dims: Any) -> Tensor:
    """The tensor repeated, as :func:`numpy.tile` does."""
def to_dlpack(tensor: Any) -> Any:
    """A capsule that other libraries' ``from_dlpack`` takes: the same memory."""
def topk(input: Any, k: Any, dim: Any = ..., largest: _bool = ..., sorted: _bool = ..., *, out: Any = ...) -> _topk_result:
    """The ``k`` largest elements along ``dim``, or the smallest, in order, and their indices."""
def trace(input: Any, *, out: Any = ...) -> Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: Any, dim0: Any, dim1: Any) -> Tensor:
    """Two dimensions exchanged."""
def transpose_copy(input: Any, dim0: Any, dim1: Any, *, out: Any = ...) -> Tensor:
    """What :func:`transpose` shows, in memory of its own."""
def trapezoid(y: Any, x: Any = ..., *, dx: _float = ..., dim: _int = ...) -> Tensor:
    """The integral along ``dim`` by the trapezoidal rule, at points ``x`` or ``dx`` apart."""
def trapz(y: Any, x: Any = ..., *, dx: _float = ..., dim: _int = ...) -> Tensor:
    """The integral along ``dim`` by the trapezoidal rule, at points ``x`` or ``dx`` apart."""
def triangular_solve(input: Any, A: Any, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Any = ...) -> Any:
    """The X with ``A @ X == input`` for a triangular A, or its transpose, and a copy of A; :func:`dualtape.linalg.solve_triangular` is its successor."""
def tril(input: Any, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
    """The lower triangle of the last two dimensions, zeros elsewhere."""
def triu(input: Any, diagonal: Any = ..., *, out: Any = ...) -> Tensor:
    """The upper triangle of the last two dimensions, zeros elsewhere."""
def true_divide(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """x / y."""
def trunc(input: Any, *, out: Any = ...) -> Tensor:
    """Each element without its fraction."""
def trunc_(input: Any) -> Tensor:
    """Each element without its fraction."""
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
def unbind(input: Any, dim: Any = ...) -> tuple[Tensor, ...]:
    """The entries along a dimension."""
def unbind_copy(input: Any, dim: Any = ..., *, out: Any = ...) -> tuple[Tensor, ...]:
    """What :func:`unbind` shows, in memory of its own."""
def unflatten(input: Any, dim: _int, sizes: Any) -> Tensor:
    """One dimension made several."""
def unfold_copy(input: Any, dimension: Any, size: Any, step: Any, *, out: Any = ...) -> Tensor:
    """What :func:`unfold` shows, in memory of its own."""
def unique(input: Any, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """The different elements (or, with ``dim``, slices) in order; also where each came from, and how many there are of each."""
def unique_consecutive(input: Any, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """The elements in row-major order (or, with ``dim``, the slices), each run of equal ones once."""
def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, in a tensor of ``shape``, of flat indices in row-major order."""
def unsafe_chunk(input: Any, chunks: Any, dim: Any = ...) -> tuple[Tensor, ...]:
    """The pieces of :func:`chunk`, in memory of their own."""
def unsafe_split(input: Any, split_size: Any, dim: Any = ...) -> tuple[Tensor, ...]:
    """The pieces of :func:`split`, in memory of their own."""
def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: Any = ...) -> tuple[Tensor, ...]:
    """The pieces of :func:`split_with_sizes`, in memory of their own."""
def unsqueeze(input: Any, dim: Any) -> Tensor:
    """The tensor with a new dimension of size 1."""
def unsqueeze_copy(input: Any, dim: Any, *, out: Any = ...) -> Tensor:
    """What :func:`unsqueeze` shows, in memory of its own."""
def vander(x: Any, N: _int | None = ..., increasing: _bool = ...) -> Tensor:
    """The powers of each entry, from N - 1 down to 0, or up."""
def var(input: Any, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., **out: Any) -> Tensor:
    """The variance over ``dim``: squared deviations from the mean, over the count less ``correction`` (1)."""
def var_mean(input: Any, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., out: Any = ...) -> tuple[Tensor, ...]:
    """The variance and the mean over ``dim``."""
def vdot(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The inner product of two vectors, the first conjugated."""
def view_as_complex(input: Any) -> Tensor:
    """Pairs of reals in the last dimension as complex numbers, sharing memory."""
def view_as_complex_copy(input: Any, *, out: Any = ...) -> Tensor:
    """What :func:`view_as_complex` shows, in memory of its own."""
def view_as_real(input: Any) -> Tensor:
    """Complex numbers as pairs of reals in a last dimension, sharing memory."""
def view_as_real_copy(input: Any, *, out: Any = ...) -> Tensor:
    """What :func:`view_as_real` shows, in memory of its own."""
def view_copy(input: Any, size: Any = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The tensor in another shape, or its bytes read as another dtype, in memory of its own."""
def vsplit(input: Any, *indices_or_sections: Any) -> tuple[Tensor, ...]:
    """The tensor cut along its first dimension (a vector along its only one, where that is allowed): into as many equal pieces, or at indices."""
def vstack(tensors: Any, *, out: Any = ...) -> Tensor:
    """Tensors joined one below the other."""
def where(condition: Any, input: Any = ..., other: Any = ..., *, out: Any = ...) -> Tensor:
    """``input`` where the condition holds, else ``other``; with the condition alone, the indices where it holds."""
def xlogy(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """x * log(y), and 0 where x is 0."""
def xlogy_(input: Any, other: Any) -> Tensor:
    """x * log(y), and 0 where x is 0."""
def zero_(input: Any) -> Tensor:
    """Zeros in the shape of x."""
