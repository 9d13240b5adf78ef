"""``dualtape.sparse``: tensors that keep only what is not zero."""

from __future__ import annotations

from .coo import SparseTensor as SparseTensor
from .coo import mm as mm
from .coo import sparse_coo_tensor as sparse_coo_tensor
from .coo import sum as sum
