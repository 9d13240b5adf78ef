"""The ops: one module for each family, declarations and nothing else; ``table`` reads them, ``dispatch`` runs them."""

from __future__ import annotations

import importlib
import warnings

from .dispatch import FUNCTIONS
from .publish import operators

# NumPy reports division by zero and the like as warnings of whoever called it; PyTorch's users expect inf and NaN in silence.
# np.errstate(all="raise") still raises.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"dualtape\.")

for _family in ("elementwise", "arithmetic", "shapes", "indexing", "conversion", "products", "reductions", "norms", "softmax", "cumulative", "sorting", "statistics", "activations", "convolution", "pooling", "normalisation", "losses", "nn", "linalg"):
    importlib.import_module(f".{_family}", __name__)

operators()
