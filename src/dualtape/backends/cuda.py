"""PyTorch's own code for GPUs: not used, CuPy's is."""

from __future__ import annotations

from types import SimpleNamespace

from ..cuda.devices import is_available as _is_available

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=False, allow_bf16_reduced_precision_reduction=False
)


def is_built() -> bool:
    """Whether GPUs can be used: through CuPy.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.cuda.is_built() == dt.cuda.is_available()
    True
    """
    return _is_available()


def flash_sdp_enabled() -> bool:
    """False: attention is a product, a softmax and a product.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.cuda.flash_sdp_enabled()
    False
    """
    return False


def math_sdp_enabled() -> bool:
    """True: attention is a product, a softmax and a product.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.cuda.math_sdp_enabled()
    True
    """
    return True


def mem_efficient_sdp_enabled() -> bool:
    """False: attention is a product, a softmax and a product.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.cuda.mem_efficient_sdp_enabled()
    False
    """
    return False
