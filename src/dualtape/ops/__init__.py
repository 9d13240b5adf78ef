"""The ops: ``families`` declares them, ``table`` reads the rows, ``codegen`` writes their functions, ``dispatch`` runs
what is unusual.

The families that nearly every program uses are read at import; the others when a name is asked for that is not there
yet: ``families/index.py``, which ``make test`` keeps up to date, knows who has which.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from . import publish, table
from .dispatch import FUNCTIONS as FUNCTIONS
from .dispatch import NAMESPACES as NAMESPACES
from .families import index

# NumPy reports division by zero and the like as warnings of whoever called it; PyTorch's users expect inf and NaN
# in silence. np.errstate(all="raise") still raises.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"dualtape\.")

AT_IMPORT = (
    "elementwise",
    "arithmetic",
    "shapes",
    "parts",
    "joins",
    "indexing",
    "conversion",
    "products",
    "reductions",
    "softmax",
)


def home(family: str) -> str:
    """The module of a family, relative to this package."""
    return "..random" if family == "random" else f".families.{family}"


for _family in AT_IMPORT:
    import_module(home(_family), __name__)

publish.operators()

for _family, _methods in index.METHODS.items():
    for _name in _methods.split():
        publish.later(_name, home(_family), __name__)


def load_all() -> None:
    """Read the families that are read on demand."""
    for family in index.NAMES:
        import_module(home(family), __name__)


def load(name: str) -> None:
    """Read the family that has an op or a function of this name; all, if none is known to."""
    family = index.family_of(name)
    if family is None:
        load_all()
    else:
        import_module(home(family), __name__)


def namespace(name: str) -> dict[str, Callable]:
    """The functions of a namespace below the package's, once the families that have them were read."""
    for family in index.SPACES.get(name, "").split():
        import_module(home(family), __name__)
    return NAMESPACES.get(name, {})


table.Registry.load = staticmethod(load)


def __getattr__(name: str) -> Any:
    """``dualtape.ops.mine``: ops that a user has declared in a namespace; ``aten``: ours by PyTorch's names beneath."""
    if name == "aten":
        return import_module(".aten", __name__)
    functions = NAMESPACES.get(f"ops.{name}")
    if functions is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no op was declared in such a namespace")
    return SimpleNamespace(**functions)
