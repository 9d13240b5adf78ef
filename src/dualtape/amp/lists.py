"""Which functions autocast runs in the narrower type, which in float32, and which in the widest of their arguments:
PyTorch's lists for the CPU, by the names that functions have here, without their namespaces. The others run in the
type that they get.
"""

from __future__ import annotations

NARROW = frozenset(
    """
    addbmm addmm affine_grid baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d convolution einsum_pair linear lstm matmul matmul_batched mm prelu scaled_dot_product_attention
    rnn_relu rnn_tanh vecdot
    """.split()
)
SINGLE = frozenset(
    """
    adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool3d binary_cross_entropy
    binary_cross_entropy_with_logits cdist cholesky cholesky_ex cholesky_inverse cholesky_solve cond
    cosine_embedding_loss cross_entropy ctc_loss eigvals eigvalsh fft fft2 fftn grid_sample grid_sampler
    grid_sampler_2d grid_sampler_3d hfft hfft2 hfftn hinge_embedding_loss householder_product huber_loss ifft ifft2
    ifftn ihfft ihfft2 ihfftn inv inv_ex inverse irfft irfft2 irfftn kl_div l1_loss lstsq lu_solve
    margin_ranking_loss matrix_rank max_pool3d max_unpool1d max_unpool2d max_unpool3d mse_loss multi_margin_loss
    multilabel_margin_loss nanquantile nll_loss orgqr ormqr poisson_nll_loss polar prod qr quantile rfft rfft2
    rfftn smooth_l1_loss soft_margin_loss solve stft svd svdvals tensorinv tensorsolve trace triangular_solve
    triplet_margin_loss view_as_complex
    """.split()
)
WIDEST = frozenset({"cat", "index_copy", "stack"})
WHOLE = frozenset({"bilinear", "div"})  # made of others, but not looked into
