"""Which family has which names, of those read on demand. Written by ``python -m dualtape.ops.reindex``."""

# fmt: off
from __future__ import annotations

NAMES = {
    "activations": (
        " acosh acosh_ arccosh arccosh_ arcsinh arcsinh_ arctanh arctanh_ asinh asinh_ atanh atanh_ celu celu_"
        " elu erf erf_ erfc erfc_ gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid"
        " mish prelu prelu_kernel relu6 selu selu_ silu sinc sinc_ softplus softshrink softsign tanhshrink"
        " threshold threshold_"
    ),
    "arrangements": (
        " block_diag broadcast_tensors cartesian_prod column_stack combinations diagflat dsplit dstack fliplr"
        " flipud hsplit rot90 split_with_sizes sum_to_size unravel_index unsafe_chunk unsafe_split"
        " unsafe_split_with_sizes vander vsplit"
    ),
    "contractions": (
        " addbmm chain_matmul cross einsum einsum_pair inner kron linalg_cross linalg_multi_dot tensordot"
    ),
    "convolution": (
        " col2im conv1d conv2d conv3d conv_transpose1d conv_transpose2d convolution convolution_transposed"
        " convolution_weight im2col nn_fold nn_unfold"
    ),
    "copies": (
        " alias_copy as_strided_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy slice_copy"
        " split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy"
        " unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy"
    ),
    "cumulative": (
        " cummax cummin cumprod cumsum cumulative_trapezoid diff logcumsumexp scan trapezoid trapz"
    ),
    "diagonals": (
        " as_strided diag diag_embed diagonal diagonal_zero strided_sum strided_view tril triu unfold"
        " unfold_sum"
    ),
    "distances": (
        " cdist cdist_euclidean gradient histogram histogramdd pdist"
    ),
    "elements": (
        " deg2rad deg2rad_ float_power frexp gcd gcd_ heaviside isin isneginf isposinf isreal lcm lcm_ ldexp"
        " ldexp_ logaddexp2 nextafter rad2deg rad2deg_ sgn"
    ),
    "gathering": (
        " gather index_add index_copy index_fill index_select scatter scatter_add scatter_set take"
        " take_along_dim"
    ),
    "layouts": (
        " empty_permuted empty_strided from_file range to_dlpack"
    ),
    "linalg": (
        " cholesky cholesky_solve cofactor_change cofactors det inverse linalg_cholesky linalg_cond"
        " linalg_eigh linalg_eigvalsh linalg_lstsq linalg_matrix_norm linalg_norm linalg_pinv linalg_qr"
        " linalg_solve linalg_solve_adjoint linalg_solve_triangular linalg_svd linalg_svdvals logdet"
        " matrix_exp matrix_power pinverse qr_plain qr_tall slogdet solve_triangular svd"
    ),
    "losses": (
        " binary_cross_entropy binary_cross_entropy_with_logits cross_entropy huber_loss kl_div l1_loss"
        " mse_loss nll_loss nll_loss_spread smooth_l1_loss xlogy xlogy_"
    ),
    "memory": (
        " as_strided_ resize_as_"
    ),
    "nn": (
        " bilinear constant_pad_nd dropout dropout2d dropout_ embedding embedding_sum interpolate linear"
        " linear_affine linear_product nn_embedding one_hot pad pixel_shuffle scaled_dot_product_attention"
        " take_axes take_axes_sum"
    ),
    "normalisation": (
        " batch_norm batch_norm_eval cosine_similarity group_norm instance_norm layer_norm native_norm"
        " normalize pairwise_distance rms_norm"
    ),
    "norms": (
        " dist frobenius_norm linalg_vector_norm norm norm_except_dim nuclear_norm renorm"
    ),
    "pairs": (
        " addcdiv addcmul arctan2 atan2 copysign fmax fmin hypot lerp logaddexp"
    ),
    "pooling": (
        " adaptive_avg_pool2d adaptive_avg_pool2d_spread adaptive_avg_pool2d_window avg_pool1d avg_pool2d"
        " avg_pool2d_spread avg_pool2d_window max_pool1d max_pool2d max_pool2d_with_indices max_pool_scatter"
    ),
    "scattering": (
        " as_strided_scatter diagonal_scatter index_reduce nonzero_static put scatter_from_layers"
        " scatter_layers scatter_reduce segment_reduce select_scatter slice_scatter strided_scatter"
    ),
    "sorting": (
        " argsort bucketize kthvalue median median_all median_dim mode msort nanmedian nanmedian_all"
        " nanmedian_dim nanquantile quantile searchsorted sort topk unique unique_consecutive"
    ),
    "special": (
        " nan_to_num nan_to_num_"
    ),
    "statistics": (
        " bincount corrcoef cov histc std std_mean std_mean_op std_op var var_mean var_mean_op var_op"
    ),
    "turning": (
        ""
    ),
    "verdicts": (
        " set_eq set_ge set_gt set_le set_logical_and set_logical_not set_logical_or set_logical_xor set_lt"
        " set_ne"
    ),
    "random": (
        ""
    ),
}

METHODS = {
    "activations": (
        " acosh acosh_ arccosh arccosh_ arcsinh arcsinh_ arctanh arctanh_ asinh asinh_ atanh atanh_ erf erf_"
        " erfc erfc_ prelu sinc sinc_"
    ),
    "arrangements": (
        " combinations diagflat dsplit fliplr flipud hsplit rot90 split_with_sizes sum_to_size unsafe_chunk"
        " unsafe_split unsafe_split_with_sizes vsplit"
    ),
    "contractions": (
        " addbmm addbmm_ cross inner kron"
    ),
    "convolution": (
        ""
    ),
    "copies": (
        " narrow_copy"
    ),
    "cumulative": (
        " cummax cummin cumprod cumprod_ cumsum cumsum_ diff logcumsumexp"
    ),
    "diagonals": (
        " as_strided diag diag_embed diagonal tril tril_ triu triu_ unfold"
    ),
    "distances": (
        " histogram renorm_"
    ),
    "elements": (
        " deg2rad deg2rad_ float_power float_power_ frexp gcd gcd_ heaviside heaviside_ isneginf isposinf"
        " isreal lcm lcm_ ldexp ldexp_ logaddexp2 nextafter nextafter_ rad2deg rad2deg_ sgn sgn_"
    ),
    "gathering": (
        " gather index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_select scatter"
        " scatter_ scatter_add scatter_add_ scatter_set_ take take_along_dim"
    ),
    "layouts": (
        " new new_empty_strided"
    ),
    "linalg": (
        " cholesky cholesky_solve det inverse logdet matrix_exp matrix_power pinverse slogdet svd"
    ),
    "losses": (
        " xlogy xlogy_"
    ),
    "memory": (
        " apply_ as_strided_ map2_ map_ module_load pin_memory record_stream resize resize_ resize_as"
        " resize_as_ set_ share_memory_ squeeze_ storage storage_type swapaxes_ swapdims_ t_ transpose_"
        " unsqueeze_ untyped_storage"
    ),
    "nn": (
        ""
    ),
    "normalisation": (
        ""
    ),
    "norms": (
        " dist norm renorm"
    ),
    "pairs": (
        " addcdiv addcdiv_ addcmul addcmul_ arctan2 arctan2_ atan2 atan2_ copysign copysign_ fmax fmin hypot"
        " hypot_ lerp lerp_ logaddexp"
    ),
    "pooling": (
        ""
    ),
    "scattering": (
        " as_strided_scatter diagonal_scatter index_reduce index_reduce_ nonzero_static put put_"
        " scatter_reduce scatter_reduce_ select_scatter slice_scatter"
    ),
    "sorting": (
        " argsort kthvalue median mode msort nanmedian nanquantile quantile sort topk unique"
        " unique_consecutive"
    ),
    "special": (
        " nan_to_num nan_to_num_"
    ),
    "statistics": (
        " bincount corrcoef cov histc std var"
    ),
    "turning": (
        ""
    ),
    "verdicts": (
        " eq_ ge_ greater_ greater_equal_ gt_ le_ less_ less_equal_ logical_and_ logical_not_ logical_or_"
        " logical_xor_ lt_ ne_ not_equal_ set_eq_ set_ge_ set_gt_ set_le_ set_logical_and_ set_logical_not_"
        " set_logical_or_ set_logical_xor_ set_lt_ set_ne_"
    ),
    "random": (
        " bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_"
        " uniform_"
    ),
}

SPACES = {
    "nn.functional": (
        " activations convolution distances losses nn normalisation pooling"
    ),
    "linalg": (
        " contractions linalg norms"
    ),
}

_FAMILIES: dict[str, str] = {}  # of each name


def family_of(name: str) -> str | None:
    """The family that has a name; None if no family is known to."""
    if not _FAMILIES:
        for family, names in NAMES.items():
            _FAMILIES.update(dict.fromkeys(names.split(), family))
    return _FAMILIES.get(name)
