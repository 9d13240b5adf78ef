"""``dualtape.ops.aten``: ATen's names for the operations that ``__torch_dispatch__`` receives.

``aten.add`` is a packet; its overloads are the function that handlers receive: ``func is aten.add.Tensor``, tables with
``aten.mul.Tensor`` as a key and ``func.overloadpacket`` work as in PyTorch. One function stands for all overloads of a
name, unless they are different operations (``aten.max.dim``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from .._tensor.tensor import Tensor
from ..overrides.subclass import activate_overrides
from .dispatch import FUNCTIONS, _inplace_name
from .table import TABLE

_ROWS = {  # names of ATen's for which the table has others
    "_to_copy": "to_dtype",
    "view": "view_shape",
    "_unsafe_view": "view_shape",
    "div": "true_divide",
    "where": "where_op",
    "var": "var_op",
    "as_strided": "strided_view",
    "_softmax": "softmax",
    "_log_softmax": "log_softmax",
    "max": "max_all",
    "min": "min_all",
    "max.dim": "max_dim",
    "min.dim": "min_dim",
    "std": "std_op",
    "var_mean": "var_mean_op",
    "std_mean": "std_mean_op",
    "median": "median_all",
    "median.dim": "median_dim",
    "nanmedian": "nanmedian_all",
    "nanmedian.dim": "nanmedian_dim",
    "_linalg_det": "det",
    "_linalg_slogdet": "slogdet",
    "_linalg_svd": "linalg_svd",
    "_linalg_eigh": "linalg_eigh",
}
_METHODS = {"_local_scalar_dense": "item"}
_KNOWN = {row: name.partition(".")[0] for name, row in reversed(_ROWS.items())}
_OVERLOADS = (
    "default",
    "Tensor",
    "Scalar",
    "int",
    "self",
    "dim",
    "dim_IntList",
    "out",
    "Tensor_Scalar",
    "Tensor_Tensor",
    "correction",
    "stable",
    "sizes",
    "dims",
    "dtype",
    "source_Tensor",
    "names",
    "size",
    "start",
    "Tensor_mode",
    "Scalar_mode",
)


class Schema(NamedTuple):
    """The schema of a function: ``func._schema.name``."""

    name: str


class OpOverloadPacket:
    """All overloads of one name.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ops.aten.add.Tensor is dt.add, dt.ops.aten.add
    (True, aten.add)
    >>> dt.ops.aten.add.Tensor.overloadpacket is dt.ops.aten.add
    True
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._qualified_op_name = f"aten::{name}"
        self._schema = Schema(self._qualified_op_name)

    def overloads(self) -> list[str]:
        """Return the names of the overloads; every operation has the same."""
        return list(_OVERLOADS)

    def __getattr__(self, overload: str) -> Callable:
        if overload not in _OVERLOADS:
            raise AttributeError(f"The underlying op of 'aten.{self.__name__}' has no overload name '{overload}'")
        function = _found(f"{self.__name__}.{overload}") or _found(self.__name__)
        assert function is not None
        setattr(self, overload, described(function))
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.default(*args, **kwargs)

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"


def described(function: Any) -> Callable:
    """Return ``function`` with the attributes that PyTorch's overloads have."""
    if not hasattr(function, "_schema"):
        name = _KNOWN.get(function.__name__, function.__name__)
        if function.__name__ == "refill_":
            name = "fill_"
        function._schema = Schema(f"aten::{name}")
        function.namespace = "aten"
        function.overloadpacket = _packet(name)
    return function


def _found(name: str) -> Callable | None:
    """Return the function that a handler receives for an operation; None if there is none of this name."""
    if name.endswith("_"):
        row: Any = next((row for row in TABLE.values() if row.inplace and _inplace_name(row) == name), None)
        return None if row is None else getattr(Tensor, name)
    row = TABLE.get(_ROWS.get(name, name))
    if row is not None:
        return row.function
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    # From now on methods are those that dispatch, which are what a handler gets.
    activate_overrides()
    method = getattr(Tensor, _METHODS.get(name, name), None)
    return method if callable(method) else getattr(sys.modules["dualtape"], name, None)


def _packet(name: str) -> OpOverloadPacket:
    found = globals().get(name)
    if type(found) is not OpOverloadPacket:
        found = globals()[name] = OpOverloadPacket(name)
    return found


def __getattr__(name: str) -> Any:
    if name.startswith("__") or _found(name) is None:
        raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}': dualtape has no such operation")
    return _packet(name)
