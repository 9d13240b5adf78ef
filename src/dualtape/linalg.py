"""Linear algebra under PyTorch's names: ``dualtape.linalg.solve`` and so on."""

from __future__ import annotations

from .ops.families.contractions import linalg_cross as cross
from .ops.families.contractions import multi_dot as multi_dot
from .ops.families.linalg import cond as cond
from .ops.families.linalg import eigvalsh as eigvalsh
from .ops.families.linalg import inverse as inv
from .ops.families.linalg import lstsq as lstsq
from .ops.families.linalg import matrix_norm as matrix_norm
from .ops.families.linalg import matrix_power as matrix_power
from .ops.families.linalg import norm as norm
from .ops.families.linalg import pinv as pinv
from .ops.families.linalg import qr as qr
from .ops.families.linalg import solve_triangular as solve_triangular
from .ops.families.linalg import svdvals as svdvals
from .ops.families.products import matmul as matmul
from .ops.linalg_error import LinAlgError as LinAlgError
from .ops.table import TABLE as _TABLE

cholesky = _TABLE["linalg_cholesky"].function
solve = _TABLE["linalg_solve"].function
det = _TABLE["det"].function
slogdet = _TABLE["slogdet"].function
eigh = _TABLE["linalg_eigh"].function
svd = _TABLE["linalg_svd"].function
matrix_exp = _TABLE["matrix_exp"].function
vector_norm = _TABLE["linalg_vector_norm"].function

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "eigh", "eigvalsh", "inv", "lstsq", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power",
    "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "vector_norm",
]  # fmt: skip
