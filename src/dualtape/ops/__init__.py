"""The ops: one module for each family, declarations and nothing else; ``table`` reads them, ``dispatch`` runs them.

The families that nearly every program uses are read at import; the others when a name is asked for that is not there yet.
"""

from __future__ import annotations

import warnings
from importlib import import_module

from . import publish, table
from .dispatch import FUNCTIONS as FUNCTIONS

# NumPy reports division by zero and the like as warnings of whoever called it; PyTorch's users expect inf and NaN in silence.
# np.errstate(all="raise") still raises.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"dualtape\.")

AT_IMPORT = ("elementwise", "arithmetic", "shapes", "joins", "indexing", "conversion", "products", "reductions", "softmax")
ON_DEMAND = (
    "diagonals", "norms", "cumulative", "sorting", "statistics", "linalg", "activations", "convolution", "pooling", "normalisation", "losses", "nn",
)  # fmt: skip

for _family in AT_IMPORT:
    import_module(f".{_family}", __name__)

publish.operators()


def load_all() -> None:
    """Read the families that are read on demand."""
    for family in ON_DEMAND:
        import_module(f".{family}", __name__)
    import_module("..random", __name__)  # its in-place fills are methods too
    publish.complete()


table.Registry.load = staticmethod(load_all)
