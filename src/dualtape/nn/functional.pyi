"""The names of ``dualtape.nn.functional``. Written by ``python -m tools.stubs``."""

# ruff: noqa - written by a tool, one signature a line
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from typing import Any, NamedTuple

from .. import Tensor

class _max_pool2d_with_indices_result(NamedTuple):
    values: Tensor
    indices: Tensor

def _described(function: Any, name: str, doc: str | None, parameters: Any) -> Any: ...
def _implicit(name: str, dim: _int | None, ndim: _int) -> _int: ...
def _loss(name: str, order: Any) -> Any:
    """Return the function of a loss with PyTorch's arguments: the deprecated ones of a reduction, and weights of each element."""
def _shape(x: Any) -> tuple: ...
def _weighted(name: str, inner: Any, input: Any, target: Any, weight: Any, reduction: str = ..., **settings: Any) -> Any: ...
def _with_inplace(name: str) -> Any:
    """Return the function of an activation that takes ``inplace=`` as its last argument, as PyTorch's does."""
def _written(name: str) -> Any:
    """Return the function that writes an activation into its argument, as ``relu_``."""
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """The averages of signals (N, C, L) over a given number of bins."""
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """The averages of images (N, C, H, W) over a given number of bins; None keeps a dimension's size."""
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """The averages of volumes (N, C, D, H, W) over a given number of bins; None keeps a dimension's size."""
def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: _bool = ...) -> Any:
    """The largest entries of signals (N, C, L) in as many bins as asked for."""
def adaptive_max_pool1d_with_indices(input: Any, output_size: Any, return_indices: _bool = ...) -> Any:
    """The largest entries of signals (N, C, L) in as many bins as asked for, and where they are."""
def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: _bool = ...) -> Any:
    """The largest entries of images (N, C, H, W) in as many bins as asked for."""
def adaptive_max_pool2d_with_indices(input: Any, output_size: Any, return_indices: _bool = ...) -> Any:
    """The largest entries of images (N, C, H, W) in as many bins as asked for, and where they are."""
def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: _bool = ...) -> Any:
    """The largest entries of volumes (N, C, D, H, W) in as many bins as asked for."""
def adaptive_max_pool3d_with_indices(input: Any, output_size: Any, return_indices: _bool = ...) -> Any:
    """The largest entries of volumes (N, C, D, H, W) in as many bins as asked for, and where they are."""
def affine_grid(theta: Any, size: Any, align_corners: _bool | None = ...) -> Tensor:
    """The points to which affine maps (N, 2, 3) take those of images of a size (N, C, H, W), for :func:`grid_sample`; or of volumes."""
def alpha_dropout(input: Any, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """In training, entries set to selu's lowest value with probability ``p``, all scaled so that mean and variance stay."""
def avg_pool1d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """The average of each window of signals (N, C, L)."""
def avg_pool2d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Any = ...) -> Tensor:
    """The average of each window of images (N, C, H, W)."""
def avg_pool3d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Any = ...) -> Tensor:
    """The average of each window of volumes (N, C, D, H, W)."""
def batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any = ..., bias: Any = ..., training: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Each channel brought to mean 0 and variance 1, then scaled and shifted."""
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = ...) -> Tensor:
    """``input1 @ weight[k] @ input2`` for each k, plus a bias."""
def binary_cross_entropy(input: Any, target: Any, weight: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ...) -> Tensor:
    """-(target * log(x) + (1 - target) * log(1 - x)), the logarithms at least -100."""
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = ..., size_average: Any = ..., reduce: Any = ..., reduction: Any = ..., pos_weight: Any = ...) -> Tensor:
    """The binary cross entropy of the sigmoid of x, without overflow."""
def celu(input: Any, alpha: Any = ..., inplace: _bool = ...) -> Tensor:
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
def celu_(input: Any, alpha: Any = ...) -> Tensor:
    """Write :func:`celu` into its argument."""
def channel_shuffle(input: Any, groups: _int) -> Tensor:
    """Channels (N, C, ...) of each group in turn."""
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
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """1 minus the cosine of the angle between vectors; where the target is -1, the excess of the cosine over ``margin``."""
def cosine_similarity(x1: Any, x2: Any, dim: _int = ..., eps: _float = ...) -> Tensor:
    """The cosines of the angles between vectors along ``dim``."""
def cross_entropy(input: Any, target: Any, weight: Any = ..., size_average: Any = ..., ignore_index: Any = ..., reduce: Any = ..., reduction: Any = ..., label_smoothing: Any = ...) -> Tensor:
    """The cross entropy of the softmax of ``input`` with target classes (integers) or target probabilities."""
def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: _int = ..., reduction: str = ..., zero_infinity: _bool = ...) -> Tensor:
    """Minus the log-probability of a sequence of labels, over all its alignments with a longer sequence of steps, in which labels repeat and blanks come between; given the log-probabilities of each step (T, N, C)."""
def dropout(input: Any, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """In training, entries set to zero with probability ``p``, the others divided by ``1 - p``."""
def dropout1d(input: Any, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """In training, whole channels of signals (N, C, L) or (C, L) set to zero with probability ``p``, the others divided by ``1 - p``."""
def dropout2d(input: Any, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """In training, whole channels of images (N, C, H, W) set to zero with probability ``p``, the others divided by ``1 - p``."""
def dropout3d(input: Any, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """In training, whole channels of volumes (N, C, D, H, W) or (C, D, H, W) set to zero with probability ``p``, the others divided by ``1 - p``."""
def elu(input: Any, alpha: Any = ..., inplace: _bool = ...) -> Tensor:
    """x above 0, alpha * (exp(x) - 1) below."""
def elu_(input: Any, alpha: Any = ...) -> Tensor:
    """Write :func:`elu` into its argument."""
def embedding(input: Any, weight: Any, padding_idx: _int | None = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """The rows of ``weight`` that the indices in ``input`` name; the row ``padding_idx`` gets no gradient."""
def embedding_bag(input: Any, weight: Any, offsets: Any = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., mode: str = ..., sparse: _bool = ..., per_sample_weights: Any = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ...) -> Any:
    """The mean, sum or maximum of the rows of ``weight`` that each bag of indices names: a row of ``input``, or the indices between two offsets."""
def feature_alpha_dropout(input: Any, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """:func:`alpha_dropout` of whole channels (N, C, ...)."""
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> Tensor:
    """Columns added back as windows of images: the transpose of :func:`unfold`."""
def fractional_max_pool2d(input: Any, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ..., _random_samples: Any = ...) -> Any:
    """The largest entries of windows that lie at random distances; their number is given, or its ratio to the input's."""
def fractional_max_pool2d_with_indices(input: Any, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ..., _random_samples: Any = ...) -> Any:
    """The largest entries of windows that lie at random distances, and where they are; their number is given, or its ratio to the input's."""
def fractional_max_pool3d(input: Any, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ..., _random_samples: Any = ...) -> Any:
    """The largest entries of windows that lie at random distances; their number is given, or its ratio to the input's."""
def fractional_max_pool3d_with_indices(input: Any, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ..., _random_samples: Any = ...) -> Any:
    """The largest entries of windows that lie at random distances, and where they are; their number is given, or its ratio to the input's."""
def gaussian_nll_loss(input: Any, target: Any, var: Any, full: _bool = ..., eps: _float = ..., reduction: str = ...) -> Tensor:
    """Minus the logarithm of a normal distribution's density, of mean ``input`` and variance ``var``, at ``target``; ``full`` adds the constant."""
def gelu(input: Any, approximate: Any = ..., *, out: Any = ...) -> Tensor:
    """x times the normal distribution's probability of less than x; ``approximate='tanh'`` for the formula without erf."""
def glu(input: Any, dim: Any = ..., *, out: Any = ...) -> Tensor:
    """The first half along a dimension times the sigmoid of the second."""
def grid_sample(input: Any, grid: Any, mode: str = ..., padding_mode: str = ..., align_corners: _bool | None = ...) -> Tensor:
    """Images (N, C, H, W) at points (N, H', W', 2), whose coordinates (x, y) go from -1 to 1; or volumes."""
def group_norm(input: Any, num_groups: _int, weight: Any = ..., bias: Any = ..., eps: _float = ...) -> Tensor:
    """Groups of channels brought to mean 0 and variance 1, then each channel scaled and shifted."""
def gumbel_softmax(logits: Any, tau: _float = ..., hard: _bool = ..., eps: _float = ..., dim: _int = ...) -> Tensor:
    """A random choice among classes, smoothed by a temperature ``tau`` so that it has a gradient; ``hard`` gives the choice itself, with that gradient."""
def hardshrink(input: Any, lambd: Any = ..., *, out: Any = ...) -> Tensor:
    """x, but 0 between -lambd and lambd."""
def hardsigmoid(input: Any, inplace: _bool = ...) -> Tensor:
    """A sigmoid of three lines: 0 below -3, 1 above 3."""
def hardswish(input: Any, inplace: _bool = ...) -> Tensor:
    """x times its hardsigmoid."""
def hardtanh(input: Any, min_val: Any = ..., max_val: Any = ..., inplace: _bool = ...) -> Tensor:
    """x, but at least ``min_val`` and at most ``max_val``; no gradient on the bounds."""
def hardtanh_(input: Any, min_val: Any = ..., max_val: Any = ...) -> Tensor:
    """Write :func:`hardtanh` into its argument."""
def hinge_embedding_loss(input: Any, target: Any, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """The input where the target is 1; its shortfall below ``margin`` where that is -1."""
def huber_loss(input: Any, target: Any, reduction: Any = ..., delta: Any = ..., weight: Any = ...) -> Tensor:
    """Half the squared difference near 0, linear from ``delta`` on."""
def instance_norm(input: Any, running_mean: Any = ..., running_var: Any = ..., weight: Any = ..., bias: Any = ..., use_input_stats: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Each channel of each sample brought to mean 0 and variance 1, then scaled and shifted."""
def interpolate(input: Any, size: Any = ..., scale_factor: Any = ..., mode: str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
    """Images (N, C, ...) at another resolution."""
def kl_div(input: Any, target: Any, size_average: Any = ..., reduce: Any = ..., reduction: Any = ..., log_target: _bool = ...) -> Tensor:
    """The Kullback-Leibler divergence of probabilities ``target`` from log-probabilities ``input``."""
def l1_loss(input: Any, target: Any, size_average: Any = ..., reduce: Any = ..., reduction: Any = ..., weight: Any = ...) -> Tensor:
    """The absolute difference."""
def layer_norm(input: Any, normalized_shape: Any, weight: Any = ..., bias: Any = ..., eps: _float = ...) -> Tensor:
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted."""
def leaky_relu(input: Any, negative_slope: Any = ..., inplace: _bool = ...) -> Tensor:
    """x above 0, a fraction of it below."""
def leaky_relu_(input: Any, negative_slope: Any = ...) -> Tensor:
    """Write :func:`leaky_relu` into its argument."""
def linear(input: Any, weight: Any, bias: Any = ...) -> Tensor:
    """``input @ weight.T + bias``."""
def linear_cross_entropy(input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = ..., weight: Any = ..., reduction: str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., options: Any = ...) -> Tensor:
    """The cross entropy of a linear layer's results."""
def local_response_norm(input: Any, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...) -> Tensor:
    """Channels (N, C, ...) divided by a power of the mean square of ``size`` channels around each."""
def log_softmax(input: Any, dim: _int | None = ..., _stacklevel: _int = ..., dtype: Any = ...) -> Tensor:
    """The logarithm of the softmax along ``dim``, without overflow."""
def logsigmoid(input: Any, *, out: Any = ...) -> Tensor:
    """The logarithm of the sigmoid, without overflow."""
def lp_pool1d(input: Any, norm_type: _float, kernel_size: Any, stride: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of order ``norm_type`` of each window of signals (N, C, L): of powers, which keep their sign."""
def lp_pool2d(input: Any, norm_type: _float, kernel_size: Any, stride: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of order ``norm_type`` of each window of images (N, C, H, W): of powers, which keep their sign."""
def lp_pool3d(input: Any, norm_type: _float, kernel_size: Any, stride: Any = ..., ceil_mode: _bool = ...) -> Tensor:
    """The norm of order ``norm_type`` of each window of volumes (N, C, D, H, W): of powers, which keep their sign."""
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """The shortfall of the first input below the second plus ``margin``; exchanged where the target is -1."""
def max_pool1d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """The largest entry of each window of signals (N, C, L)."""
def max_pool1d_with_indices(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> tuple[Tensor, ...]:
    """The largest entry of each window of signals, and its index in the signal."""
def max_pool2d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """The largest entry of each window of images (N, C, H, W)."""
def max_pool2d_with_indices(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> _max_pool2d_with_indices_result:
    """The largest entry of each window of images, and its index in the image."""
def max_pool3d(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """The largest entry of each window of volumes (N, C, D, H, W)."""
def max_pool3d_with_indices(input: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> tuple[Tensor, ...]:
    """The largest entry of each window of volumes, and its index in the volume."""
def max_unpool1d(input: Any, indices: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """What :func:`max_pool1d` took back in its places, zeros elsewhere."""
def max_unpool2d(input: Any, indices: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """What :func:`max_pool2d` took back in its places, zeros elsewhere."""
def max_unpool3d(input: Any, indices: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """What :func:`max_pool3d` took back in its places, zeros elsewhere."""
def mish(input: Any, inplace: _bool = ...) -> Tensor:
    """x * tanh(softplus(x))."""
def mse_loss(input: Any, target: Any, size_average: Any = ..., reduce: Any = ..., reduction: Any = ..., weight: Any = ...) -> Tensor:
    """The squared difference."""
def multi_head_attention_forward(query: Any, key: Any, value: Any, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Any, out_proj_bias: Any, training: _bool = ..., key_padding_mask: Any = ..., need_weights: _bool = ..., attn_mask: Any = ..., use_separate_proj_weight: _bool = ..., q_proj_weight: Any = ..., k_proj_weight: Any = ..., v_proj_weight: Any = ..., static_k: Any = ..., static_v: Any = ..., average_attn_weights: _bool = ..., is_causal: _bool = ...) -> tuple[Tensor, ...]:
    """Attention of several heads on sequences (L, N, E): projected, attended to, joined and projected again; and the weights of attention, averaged over heads, or None."""
def multi_margin_loss(input: Any, target: Any, p: _int = ..., margin: _float = ..., weight: Any = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """The mean over classes of the shortfall of the target's score below each other score plus ``margin``, to the power ``p``."""
def multilabel_margin_loss(input: Any, target: Any, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """The shortfall of each class of the target, listed up to the first -1, below each other class plus 1, over their number."""
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """The mean over classes of the logistic loss of each, for targets of 0 and 1."""
def native_channel_shuffle(input: Any, groups: _int) -> Tensor:
    """Channels (N, C, ...) of each group in turn."""
def nll_loss(input: Any, target: Any, weight: Any = ..., size_average: Any = ..., ignore_index: Any = ..., reduce: Any = ..., reduction: Any = ...) -> Tensor:
    """The negative of each row's entry at its target class: the loss of log-probabilities."""
def normalize(input: Any, p: _float = ..., dim: Any = ..., eps: _float = ..., *, out: Any = ...) -> Tensor:
    """Vectors along ``dim`` divided by their norm, or by ``eps`` if that is larger."""
def one_hot(tensor: Any, num_classes: _int = ...) -> Tensor:
    """Integers as rows of zeros with a single 1."""
def pad(input: Any, pad: Any, mode: str = ..., value: _float | None = ...) -> Tensor:
    """A tensor with a border: constant, or of its own entries ('reflect', 'replicate', 'circular')."""
def pairwise_distance(x1: Any, x2: Any, p: _float = ..., eps: _float = ..., keepdim: _bool = ...) -> Tensor:
    """The norm of the difference of vectors along the last dimension."""
def pdist(input: Any, p: _float = ...) -> Tensor:
    """The distances, in the norm of order ``p``, of each two rows."""
def pixel_shuffle(input: Any, upscale_factor: Any, *, out: Any = ...) -> Tensor:
    """Channels (C * r * r, H, W) rearranged into a finer image (C, H * r, W * r)."""
def pixel_unshuffle(input: Any, downscale_factor: _int) -> Tensor:
    """Images (C, H * r, W * r) rearranged into coarser ones of more channels (C * r * r, H, W)."""
def poisson_nll_loss(input: Any, target: Any, log_input: _bool = ..., full: _bool = ..., size_average: _bool | None = ..., eps: _float = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """Minus the log-probability of ``target`` under a Poisson distribution, without terms that do not depend on the rate; ``full`` adds Stirling's approximation of those. The rate is exp(input), or the input."""
def prelu(input: Any, weight: Any) -> Tensor:
    """``input`` above 0, ``input`` times a weight (one, or one for each channel) below."""
def relu(input: Any, inplace: _bool = ...) -> Tensor:
    """The positive part of each element; the gradient at 0 is 0."""
def relu6(input: Any, inplace: _bool = ...) -> Tensor:
    """x between 0 and 6, cut there."""
def relu_(input: Any) -> Tensor:
    """Write :func:`relu` into its argument."""
def rms_norm(input: Any, normalized_shape: Any, weight: Any = ..., eps: _float | None = ...) -> Tensor:
    """The last dimensions divided by the root of their mean square, then scaled."""
def rrelu(input: Any, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Any:
    """x above 0, below a fraction of it: in training a random one between two bounds for each entry, else their mean."""
def rrelu_(input: Any, lower: _float = ..., upper: _float = ..., training: _bool = ...) -> Tensor:
    """Write :func:`rrelu` into its argument."""
def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = ..., dropout_p: _float = ..., is_causal: _bool = ..., scale: _float | None = ..., enable_gqa: _bool = ...) -> Tensor:
    """``softmax(query @ key.mT * scale + mask) @ value``; queries whose keys are all masked give zeros."""
def selu(input: Any, inplace: _bool = ...) -> Tensor:
    """elu with the two constants that keep mean and variance."""
def selu_(input: Any) -> Tensor:
    """Write :func:`selu` into its argument."""
def sigmoid(input: Any, *, out: Any = ...) -> Tensor:
    """1 / (1 + exp(-x))."""
def silu(input: Any, inplace: _bool = ...) -> Tensor:
    """x times its sigmoid."""
def smooth_l1_loss(input: Any, target: Any, size_average: Any = ..., reduce: Any = ..., reduction: Any = ..., beta: Any = ...) -> Tensor:
    """The squared difference near 0, the absolute difference from ``beta`` on."""
def soft_margin_loss(input: Any, target: Any, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """log(1 + exp(-target * input)), for targets of 1 and -1."""
def softmax(input: Any, dim: _int | None = ..., _stacklevel: _int = ..., dtype: Any = ...) -> Tensor:
    """Exponentials along ``dim``, divided by their sum."""
def softmin(input: Any, dim: _int | None = ..., _stacklevel: _int = ..., dtype: Any = ...) -> Any:
    """The softmax of ``-input``."""
def softplus(input: Any, beta: Any = ..., threshold: Any = ..., *, out: Any = ...) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""
def softshrink(input: Any, lambd: Any = ..., *, out: Any = ...) -> Tensor:
    """x moved towards 0 by lambd."""
def softsign(input: Any) -> Tensor:
    """x / (1 + abs(x))."""
def tanh(input: Any, *, out: Any = ...) -> Tensor:
    """The hyperbolic tangent."""
def tanhshrink(input: Any) -> Tensor:
    """x - tanh(x)."""
def threshold(input: Any, threshold: Any, value: Any, inplace: _bool = ...) -> Tensor:
    """x above a threshold, a fixed value elsewhere."""
def threshold_(input: Any, threshold: Any, value: Any) -> Tensor:
    """Write :func:`threshold` into its argument."""
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ...) -> Tensor:
    """The shortfall of the negative's distance from the anchor below the positive's plus ``margin``; with ``swap``, of the smaller distance from either."""
def triplet_margin_with_distance_loss(anchor: Any, positive: Any, negative: Any, *, distance_function: Any = ..., margin: _float = ..., swap: _bool = ..., reduction: str = ...) -> Tensor:
    """:func:`triplet_margin_loss` with a user-defined distance."""
def unfold(input: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> Tensor:
    """The sliding windows of images (N, C, H, W) as columns (N, C * KH * KW, windows)."""
def upsample(input: Any, size: Any = ..., scale_factor: Any = ..., mode: str = ..., align_corners: _bool | None = ...) -> Tensor:
    """:func:`interpolate` by its older name."""
def upsample_bilinear(input: Any, size: Any = ..., scale_factor: Any = ...) -> Tensor:
    """:func:`interpolate` between four entries, corners on corners."""
def upsample_nearest(input: Any, size: Any = ..., scale_factor: Any = ...) -> Tensor:
    """:func:`interpolate` with each entry the nearest one's."""
