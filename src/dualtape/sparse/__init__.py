"""``dualtape.sparse``: tensors that keep only what is not zero."""

from __future__ import annotations

from .coo import SparseTensor as SparseTensor
from .coo import sparse_coo_tensor as sparse_coo_tensor
