"""``dualtape.sparse``: tensors that store only nonzero entries."""

from __future__ import annotations

from .._listing import listing
from .._tensor import legacy as _legacy
from .checks import as_sparse_gradcheck as as_sparse_gradcheck
from .compressed import CompressedTensor as CompressedTensor
from .compressed import sparse_bsc_tensor as sparse_bsc_tensor
from .compressed import sparse_bsr_tensor as sparse_bsr_tensor
from .compressed import sparse_compressed_tensor as sparse_compressed_tensor
from .compressed import sparse_csc_tensor as sparse_csc_tensor
from .compressed import sparse_csr_tensor as sparse_csr_tensor
from .coo import SparseTensor as SparseTensor
from .coo import sparse_coo_tensor as sparse_coo_tensor
from .functions import addmm as addmm
from .functions import hspmm as hspmm
from .functions import log_softmax as log_softmax
from .functions import mm as mm
from .functions import sampled_addmm as sampled_addmm
from .functions import smm as smm
from .functions import softmax as softmax
from .functions import spdiags as spdiags
from .functions import spsolve as spsolve
from .functions import sspaddmm as sspaddmm
from .functions import sum as sum
from .invariants import check_sparse_tensor_invariants as check_sparse_tensor_invariants

globals().update(
    _legacy.types_of(
        "sparse", lambda dtype, *data: sparse_coo_tensor(*data, dtype=dtype), lambda t: t.layout.name == "sparse_coo"
    )
)

__dir__ = listing(__name__)
