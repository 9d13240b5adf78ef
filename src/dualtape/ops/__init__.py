"""The ops: ``families`` declares them, ``table`` reads the rows, ``codegen`` generates their functions, ``dispatch`` is
the reference path.

The families in ``AT_IMPORT`` are imported with the package, the others when a missing name is asked for:
``families/index.py``, written by ``make generate``, maps names to families.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from . import publish, table
from .dispatch import FUNCTIONS as FUNCTIONS
from .dispatch import NAMESPACES as NAMESPACES
from .families import index
from .user_ops import namespace_of

# NumPy warns at its caller of floating-point errors, such as a division by zero; PyTorch's users expect inf and NaN
# without a warning. np.errstate(all="raise") still raises.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"dualtape\.")

AT_IMPORT = (
    "elementwise",
    "arithmetic",
    "comparisons",
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
    """Return the module of a family, relative to this package."""
    return "..random" if family == "random" else f".families.{family}"


for _family in AT_IMPORT:
    import_module(home(_family), __name__)

publish.operators()

for _family, _methods in index.METHODS.items():
    for _name in _methods.split():
        publish.later(_name, home(_family), __name__)


def load_all() -> None:
    """Import all families."""
    for family in index.NAMES:
        import_module(home(family), __name__)


def load(name: str) -> None:
    """Import the family that has an op or a function of this name; all families if none is known to have it."""
    family = index.family_of(name)
    if family is None:
        load_all()
    else:
        import_module(home(family), __name__)


def namespace(name: str) -> dict[str, Callable]:
    """Return the functions of a namespace such as ``linalg``, after importing its families."""
    for family in index.SPACES.get(name, "").split():
        import_module(home(family), __name__)
    return NAMESPACES.get(name, {})


table.Registry.load = staticmethod(load)


def _load_library(path: str) -> None:
    """Refuse a library of ops in C++, which is made for PyTorch's own."""
    raise OSError(f"ops.load_library: {path} cannot be loaded: ops are declared in Python, by dualtape.library")


def __getattr__(name: str) -> Any:
    """``dualtape.ops.mine``: user-defined ops of a namespace; ``aten``: ops under ATen's names."""
    if name == "aten":
        return import_module(".aten", __name__)
    if name == "load_library":
        return _load_library
    # ``from dualtape.ops import jvp`` asks here before it looks for the module.
    reserved = name.startswith("__") or find_spec(f"{__name__}.{name}") is not None
    found = None if reserved else namespace_of(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no op was declared in such a namespace")
    return found
