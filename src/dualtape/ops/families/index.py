"""Which family has which names, of those read on demand. Written by ``python -m dualtape.ops.reindex``."""

# fmt: off
from __future__ import annotations

NAMES = {
    "activations": (
        " celu celu_ elu gelu glu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh leaky_relu"
        " logsigmoid mish nn_rrelu prelu prelu_kernel relu6 selu selu_ silu softplus softshrink softsign"
        " tanhshrink threshold threshold_"
    ),
    "adaptive_pooling": (
        " adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool2d_spread adaptive_avg_pool2d_window"
        " adaptive_avg_pool3d nn_adaptive_max_pool1d nn_adaptive_max_pool1d_with_indices"
        " nn_adaptive_max_pool2d nn_adaptive_max_pool2d_with_indices nn_adaptive_max_pool3d"
        " nn_adaptive_max_pool3d_with_indices nn_fractional_max_pool2d nn_fractional_max_pool2d_with_indices"
        " nn_fractional_max_pool3d nn_fractional_max_pool3d_with_indices"
    ),
    "alignments": (
        " ctc_loss"
    ),
    "angles_and_exponentials": (
        " arctan2 atan2 deg2rad deg2rad_ float_power hypot logaddexp logaddexp2 rad2deg rad2deg_"
    ),
    "arrangements": (
        " block_diag broadcast_tensors cartesian_prod column_stack combinations diagflat dsplit dstack fliplr"
        " flipud hsplit rot90 split_with_sizes sum_to_size unravel_index unsafe_chunk unsafe_split"
        " unsafe_split_with_sizes vander vsplit"
    ),
    "attention": (
        " dropout_ multi_head_attention_forward scaled_dot_product_attention"
    ),
    "bessel": (
        " airy_ai_slope bessel_in bessel_ine bessel_jn bessel_kn bessel_kne bessel_yn i0 i0_ special_airy_ai"
        " special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_i0e special_i1"
        " special_i1e special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0"
        " special_scaled_modified_bessel_k1 special_spherical_bessel_j0"
    ),
    "channels": (
        " channel_shuffle local_response_norm native_channel_shuffle pixel_shuffle pixel_unshuffle"
    ),
    "contractions": (
        " addbmm chain_matmul cross einsum einsum_pair inner kron linalg_cross linalg_multi_dot tensordot"
    ),
    "convolution": (
        " col2im conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution"
        " convolution_transposed convolution_weight im2col nn_fold nn_unfold"
    ),
    "copies": (
        " alias_copy as_strided_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy slice_copy"
        " split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy"
        " unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy"
    ),
    "cumulative": (
        " cummax cummin cumprod cumsum cumulative_trapezoid diff logcumsumexp scan trapezoid trapz"
    ),
    "determinants": (
        " cofactor_change cofactors det logdet slogdet"
    ),
    "diagonals": (
        " as_strided diag diag_embed diagonal diagonal_zero strided_sum strided_view tril triu unfold"
        " unfold_sum"
    ),
    "distances": (
        " cdist cdist_euclidean gradient histogram histogramdd pdist"
    ),
    "dropout": (
        " alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout feature_dropout"
    ),
    "eigenpairs": (
        " lobpcg"
    ),
    "embedding": (
        " embedding embedding_renorm_ embedding_sum nn_embedding nn_embedding_bag one_hot"
    ),
    "factorisations": (
        " geqrf geqrf_plain ldl_plain ldl_solve_plain linalg_cholesky_ex linalg_householder_product"
        " linalg_info linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lu"
        " linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_solve_ex lu lu_permutation lu_solve"
        " lu_unpack orgqr ormqr"
    ),
    "fft": (
        " fft_c2c fft_c2r fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft"
        " fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn"
        " fft_r2c fft_rfft fft_rfft2 fft_rfftn into"
    ),
    "gamma": (
        " digamma igamma igammac lgamma mvlgamma polygamma polygamma_op special_zeta"
    ),
    "gathering": (
        " gather index_select take take_along_dim"
    ),
    "inplace_comparisons": (
        " set_eq set_ge set_gt set_le set_logical_and set_logical_not set_logical_or set_logical_xor set_lt"
        " set_ne"
    ),
    "inplace_views": (
        " as_strided_"
    ),
    "layouts": (
        " empty_permuted empty_strided from_file range to_dlpack"
    ),
    "linalg": (
        " cholesky cholesky_solve inverse inverse_anyway linalg_cholesky linalg_solve linalg_solve_adjoint"
        " linalg_solve_triangular solve_triangular"
    ),
    "linear": (
        " bilinear linear linear_affine linear_product"
    ),
    "losses": (
        " binary_cross_entropy binary_cross_entropy_with_logits cross_entropy huber_loss kl_div l1_loss"
        " mse_loss nll_loss nll_loss_spread smooth_l1_loss"
    ),
    "margins": (
        " cosine_embedding_loss gaussian_nll_loss hinge_embedding_loss linear_cross_entropy"
        " margin_ranking_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss"
        " poisson_nll_loss soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss"
    ),
    "matrices": (
        " cholesky_inverse linalg_diagonal linalg_eig linalg_eigvals linalg_matrix_rank linalg_tensorinv"
        " linalg_tensorsolve linalg_vander linalg_vecdot pca_lowrank qr svd_lowrank triangular_solve"
    ),
    "matrix_functions": (
        " linalg_lstsq linalg_pinv matrix_exp matrix_power pinverse"
    ),
    "matrix_norms": (
        " linalg_cond linalg_matrix_norm linalg_norm"
    ),
    "memory": (
        " resize_as_"
    ),
    "multiply_add": (
        " addcdiv addcmul lerp"
    ),
    "normalisation": (
        " batch_norm batch_norm_eval cosine_similarity group_norm instance_norm layer_norm native_norm"
        " normalize pairwise_distance rms_norm"
    ),
    "norms": (
        " dist frobenius_norm linalg_vector_norm norm norm_except_dim nuclear_norm renorm"
    ),
    "orthogonal": (
        " linalg_eigh linalg_eigvalsh linalg_qr linalg_svd linalg_svdvals qr_complete qr_right qr_tall svd"
    ),
    "padding": (
        " constant_pad_nd pad take_axes take_axes_sum"
    ),
    "polynomials": (
        " orthogonal_polynomial special_chebyshev_polynomial_t special_chebyshev_polynomial_u"
        " special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_hermite_polynomial_h"
        " special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p"
        " special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u"
        " special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w"
    ),
    "pooling": (
        " avg_pool1d avg_pool2d avg_pool2d_spread avg_pool2d_window avg_pool3d lp_pool1d lp_pool2d lp_pool3d"
        " max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d"
        " max_pool3d_with_indices max_pool_scatter nn_max_pool2d_with_indices"
    ),
    "recurrences": (
        " recurrence"
    ),
    "recurrent": (
        " gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell"
    ),
    "representation": (
        " copysign fmax fmin frexp gcd gcd_ heaviside isin isneginf isposinf isreal lcm lcm_ ldexp ldexp_"
        " nextafter sgn"
    ),
    "resampling": (
        " affine_grid grid_sample grid_sampler grid_sampler_2d grid_sampler_3d interpolate taps upsample"
        " upsample_bilinear upsample_nearest"
    ),
    "scatter_reductions": (
        " index_reduce scatter_from_layers scatter_layers scatter_reduce segment_reduce"
    ),
    "scattering": (
        " index_add index_copy index_fill put scatter scatter_add scatter_set"
    ),
    "scipy_functions": (
        " scipy_beta scipy_betainc scipy_betaincinv scipy_betaln scipy_ci scipy_dawsn scipy_erfcinv scipy_erfi"
        " scipy_exp1 scipy_expi scipy_fresnel_c scipy_fresnel_s scipy_gamma scipy_gammainccinv"
        " scipy_gammaincinv scipy_logm scipy_rgamma scipy_si scipy_solve_sylvester scipy_sqrtm scipy_stdtr"
        " scipy_stdtrit"
    ),
    "searching": (
        " bucketize nonzero_static searchsorted unique unique_consecutive"
    ),
    "sorting": (
        " argsort kthvalue median median_all median_dim mode msort nanmedian nanmedian_all nanmedian_dim"
        " nanquantile quantile sort topk"
    ),
    "special": (
        " acosh acosh_ arccosh arccosh_ arcsinh arcsinh_ arctanh arctanh_ asinh asinh_ atanh atanh_ cbrt erf"
        " erf_ erfc erfc_ erfinv logit logit_ nan_to_num nan_to_num_ sinc sinc_ special_entr special_erfcx"
        " special_log_ndtr special_ndtr special_ndtri special_xlog1py xlogy xlogy_"
    ),
    "spectrograms": (
        " istft stft"
    ),
    "statistics": (
        " bincount corrcoef cov histc std std_mean std_mean_op std_op var var_mean var_mean_op var_op"
    ),
    "unpooling": (
        " max_unpool1d max_unpool2d max_unpool3d"
    ),
    "view_scatters": (
        " as_strided_scatter diagonal_scatter select_scatter slice_scatter strided_scatter"
    ),
    "random": (
        ""
    ),
}

METHODS = {
    "activations": (
        " hardshrink prelu"
    ),
    "adaptive_pooling": (
        ""
    ),
    "alignments": (
        ""
    ),
    "angles_and_exponentials": (
        " arctan2 arctan2_ atan2 atan2_ deg2rad deg2rad_ float_power float_power_ hypot hypot_ logaddexp"
        " logaddexp2 rad2deg rad2deg_"
    ),
    "arrangements": (
        " combinations diagflat dsplit fliplr flipud hsplit rot90 split_with_sizes sum_to_size unsafe_chunk"
        " unsafe_split unsafe_split_with_sizes vsplit"
    ),
    "attention": (
        ""
    ),
    "bessel": (
        " i0 i0_"
    ),
    "channels": (
        ""
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
    "determinants": (
        " det logdet slogdet"
    ),
    "diagonals": (
        " as_strided diag diag_embed diagonal tril tril_ triu triu_ unfold"
    ),
    "distances": (
        " histogram renorm_"
    ),
    "dropout": (
        ""
    ),
    "eigenpairs": (
        " bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_"
        " uniform_"
    ),
    "embedding": (
        ""
    ),
    "factorisations": (
        " geqrf lu lu_solve orgqr ormqr"
    ),
    "fft": (
        ""
    ),
    "gamma": (
        " digamma digamma_ igamma igamma_ igammac igammac_ lgamma lgamma_ mvlgamma mvlgamma_ polygamma"
        " polygamma_ polygamma_op polygamma_op_"
    ),
    "gathering": (
        " gather index_select take take_along_dim"
    ),
    "inplace_comparisons": (
        " eq_ ge_ greater_ greater_equal_ gt_ le_ less_ less_equal_ logical_and_ logical_not_ logical_or_"
        " logical_xor_ lt_ ne_ not_equal_ set_eq_ set_ge_ set_gt_ set_le_ set_logical_and_ set_logical_not_"
        " set_logical_or_ set_logical_xor_ set_lt_ set_ne_"
    ),
    "inplace_views": (
        " as_strided_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_"
    ),
    "layouts": (
        " new new_empty_strided"
    ),
    "linalg": (
        " cholesky cholesky_solve inverse"
    ),
    "linear": (
        ""
    ),
    "losses": (
        ""
    ),
    "margins": (
        ""
    ),
    "matrices": (
        " cholesky_inverse qr triangular_solve"
    ),
    "matrix_functions": (
        " matrix_exp matrix_power pinverse"
    ),
    "matrix_norms": (
        ""
    ),
    "memory": (
        " apply_ map2_ map_ module_load pin_memory record_stream resize resize_ resize_as resize_as_ set_"
        " share_memory_ storage storage_type untyped_storage"
    ),
    "multiply_add": (
        " addcdiv addcdiv_ addcmul addcmul_ lerp lerp_"
    ),
    "normalisation": (
        ""
    ),
    "norms": (
        " dist norm renorm"
    ),
    "orthogonal": (
        " svd"
    ),
    "padding": (
        ""
    ),
    "polynomials": (
        ""
    ),
    "pooling": (
        ""
    ),
    "recurrences": (
        ""
    ),
    "recurrent": (
        ""
    ),
    "representation": (
        " copysign copysign_ fmax fmin frexp gcd gcd_ heaviside heaviside_ isneginf isposinf isreal lcm lcm_"
        " ldexp ldexp_ nextafter nextafter_ sgn sgn_"
    ),
    "resampling": (
        ""
    ),
    "scatter_reductions": (
        " index_reduce index_reduce_ scatter_ scatter_reduce scatter_reduce_"
    ),
    "scattering": (
        " index_add index_add_ index_copy index_copy_ index_fill index_fill_ put put_ scatter scatter_add"
        " scatter_add_ scatter_set_"
    ),
    "scipy_functions": (
        ""
    ),
    "searching": (
        " nonzero_static unique unique_consecutive"
    ),
    "sorting": (
        " argsort kthvalue median mode msort nanmedian nanquantile quantile sort topk"
    ),
    "special": (
        " acosh acosh_ arccosh arccosh_ arcsinh arcsinh_ arctanh arctanh_ asinh asinh_ atanh atanh_ erf erf_"
        " erfc erfc_ erfinv erfinv_ logit logit_ nan_to_num nan_to_num_ sinc sinc_ xlogy xlogy_"
    ),
    "spectrograms": (
        " istft stft"
    ),
    "statistics": (
        " bincount corrcoef cov histc std var"
    ),
    "unpooling": (
        ""
    ),
    "view_scatters": (
        " as_strided_scatter diagonal_scatter select_scatter slice_scatter"
    ),
    "random": (
        ""
    ),
}

SPACES = {
    "special": (
        " bessel gamma polynomials special"
    ),
    "nn.functional": (
        " activations adaptive_pooling alignments attention channels convolution distances dropout embedding"
        " linear losses margins normalisation padding pooling resampling unpooling"
    ),
    "linalg": (
        " contractions determinants factorisations linalg matrices matrix_functions matrix_norms norms"
        " orthogonal"
    ),
    "fft": (
        " fft"
    ),
}

_FAMILIES: dict[str, str] = {}  # of each name


def family_of(name: str) -> str | None:
    """The family that has a name; None if no family is known to."""
    if not _FAMILIES:
        for family, names in NAMES.items():
            _FAMILIES.update(dict.fromkeys(names.split(), family))
    return _FAMILIES.get(name)
