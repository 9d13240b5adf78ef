"""The ops: one module for each family, declarations and nothing else; ``table`` reads them, ``dispatch`` runs them.

The families that nearly every program uses are read at import; the others when a name is asked for that is not
there yet.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from . import publish, table
from .dispatch import FUNCTIONS as FUNCTIONS

# NumPy reports division by zero and the like as warnings of whoever called it; PyTorch's users expect inf and NaN
# in silence. np.errstate(all="raise") still raises.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"dualtape\.")

AT_IMPORT = (
    "elementwise",
    "arithmetic",
    "shapes",
    "joins",
    "indexing",
    "conversion",
    "products",
    "reductions",
    "softmax",
)
ON_DEMAND = {  # with the methods of Tensor that each brings: reading one of them reads its family
    "special": "acosh acosh_ arccosh arccosh_ arcsinh arcsinh_ arctanh arctanh_ asinh asinh_ atanh atanh_ erf erf_ erfc"
    " erfc_"
    " nan_to_num nan_to_num_ sinc sinc_",
    "pairs": "addcdiv addcdiv_ addcmul addcmul_ arctan2 arctan2_ atan2 atan2_ copysign copysign_ fmax fmin hypot hypot_"
    " lerp lerp_ logaddexp",
    "contractions": "cross inner kron",
    "gathering": "gather index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_select"
    " scatter scatter_ scatter_add scatter_add_ scatter_set_ take take_along_dim",
    "diagonals": "as_strided diag diag_embed diagonal tril tril_ triu triu_ unfold",
    "norms": "dist norm renorm",
    "cumulative": "cummax cummin cumprod cumprod_ cumsum cumsum_ diff logcumsumexp",
    "sorting": "argsort kthvalue median mode msort nanmedian nanquantile quantile sort topk unique unique_consecutive",
    "statistics": "bincount corrcoef cov histc std var",
    "linalg": "cholesky cholesky_solve det inverse logdet matrix_exp matrix_power pinverse slogdet svd",
    "activations": "prelu",
    "convolution": "",
    "pooling": "",
    "normalisation": "",
    "losses": "xlogy xlogy_",
    "nn": "",
    "..random": "bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ uniform_",
}


def _home(family: str) -> str:
    return family if family.startswith(".") else f".families.{family}"


for _family in AT_IMPORT:
    import_module(_home(_family), __name__)

publish.operators()

for _family, _methods in ON_DEMAND.items():
    for _name in _methods.split():
        publish.later(_name, _home(_family), __name__)


def __getattr__(name: str) -> Any:
    if name != "aten":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(".aten", __name__)


def load_all() -> None:
    """Read the families that are read on demand."""
    for family in ON_DEMAND:
        import_module(_home(family), __name__)


table.Registry.load = staticmethod(load_all)
