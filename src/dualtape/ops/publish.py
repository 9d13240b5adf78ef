"""Publishing: put an op's function into the package's namespace, its methods and operators on Tensor, and register its
NumPy entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from .. import errors, modes
from .._tensor.tensor import Tensor
from ..arrays import is_array
from ..autograd.views import check_write
from ..overrides.active_overrides import MISS, Declined, overridable, overrides
from . import table
from .codegen import functions
from .dispatch import FUNCTIONS, NAMESPACES, check_store, written_out
from .table import UFUNCS, Op

# In-place forms are methods; PyTorch has these as functions, too.
_INPLACE_FUNCTIONS = frozenset(
    """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_ celu_
    clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fix_ floor_
    frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_
    reciprocal_ relu_ round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ trunc_
    xlogy_ zero_
    nn.functional.celu_ nn.functional.elu_ nn.functional.hardtanh_ nn.functional.leaky_relu_ nn.functional.relu_
    nn.functional.rrelu_ nn.functional.selu_ nn.functional.threshold_
    """.split()
)


def _named(function: Callable, name: str, op: Any, module: str = "dualtape") -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = op.doc
    return function


def publish(op: Op, *, method: bool | str, public: bool, also: Sequence[str]) -> None:
    """Publish an op's function, methods and NumPy entry."""
    function = op.function = _named(functions.call(op), op.name, op)
    function.__wrapped__ = op  # type: ignore[attr-defined] # whose signature is what inspect shows
    if isinstance(op.forward, np.ufunc):
        UFUNCS.setdefault(op.forward, function)
    _place(function, op.name, public, method, also)
    if op.inplace:
        for name in (*also, op.name):  # op.name last: its form is the op's
            _place_inplace(op, f"{name}_", method or not any("." in each for each in also))


def _place(function: Callable, name: str, public: bool, method: bool | str, also: Sequence[str]) -> None:
    """Put a function under its public name; a name with dots leads to a namespace."""
    for each in (name, *also):
        space, _, short = each.rpartition(".")
        if space:
            NAMESPACES.setdefault(space, {})[short] = function
            continue
        if public:
            FUNCTIONS[each] = function
        if method:
            add_method(method if isinstance(method, str) else each, function)


def _place_inplace(op: Op, name: str, method: Any) -> None:
    """Publish an op's in-place form under this name; in a namespace it is not a method."""
    space, _, short = name.rpartition(".")
    if space and name not in _INPLACE_FUNCTIONS:
        return
    function = op.inplace_function = _named(functions.inplace(op, short), short, op)
    function.__wrapped__ = _InPlace(op)  # type: ignore[attr-defined]
    if space:
        NAMESPACES.setdefault(space, {})[short] = function
        return
    if name in _INPLACE_FUNCTIONS:
        FUNCTIONS[name] = function
    if method:
        add_method(name, function)


class _InPlace:
    """Signature of an op's in-place form: without ``out=``."""

    def __init__(self, op: Op) -> None:
        self._op = op

    @property
    def __signature__(self) -> Any:
        return self._op.signature(out=False)


# functions made of other ops that PyTorch has with out=, and whose own code has it not
_TAKING_OUT = frozenset(
    """
    alias_copy as_strided_copy avg_pool2d avg_pool3d bucketize chain_matmul cholesky_inverse cholesky_solve cross diag
    diagonal_copy diff expand_copy geqrf histc histogram hstack inner isin kron linalg_cholesky_ex linalg_cond
    linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex
    linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_solve linalg_matrix_norm linalg_matrix_rank
    linalg_multi_dot linalg_norm linalg_pinv linalg_qr linalg_solve_ex linalg_svdvals linalg_tensorinv
    linalg_tensorsolve linalg_vecdot lu_solve lu_unpack masked_select matrix_power msort nanmean nanquantile
    narrow_copy nonzero nonzero_static normalize nuclear_norm orgqr ormqr outer permute_copy polar polygamma qr
    quantile renorm scatter searchsorted select_copy slice_copy solve_triangular special_ndtr split_copy
    split_with_sizes_copy squeeze_copy std_mean svd t_copy take take_along_dim tensordot transpose_copy
    triangular_solve unbind_copy unfold_copy unsqueeze_copy var_mean view_as_complex_copy view_as_real_copy view_copy
    vstack
""".split()
)


def _with_out(function: Callable, name: str) -> Callable:
    """Return the function with an ``out=`` argument into which its result is written."""

    @wraps(function)
    def public(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if out is None else written_out(name, out, result)

    vars(public).pop("__signature__", None)
    vars(public)["__wrapped__"] = _Out(function)
    return public


class _Out:
    """Signature of a function that was given ``out=``, made when it is asked for."""

    def __init__(self, function: Callable) -> None:
        self.__wrapped__ = function

    @property
    def __signature__(self) -> Any:
        import inspect

        out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
        return inspect.Signature([*inspect.signature(self.__wrapped__).parameters.values(), out])


def publish_composite(row: Any, *, method: bool, public: bool, also: Sequence[str]) -> Callable:
    """Publish a composite under its names."""
    function = _with_out(row.function, row.name) if row.name in _TAKING_OUT else row.function
    row.function = overridable(function, composite=row.name)
    _place(row.function, row.name, public, method, also)
    return row.function


def publish_inplace(function: Callable) -> None:
    """Publish the in-place form of a composite: its result is computed, then written over the first argument."""
    name = f"{function.__name__}_"

    def inplace(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self, Tensor):
            raise errors.not_a_tensor(name, "self", self)
        result = function(self, *args, **kwargs)
        check_write(self, name, modes.current().grad and (self.requires_grad or result.requires_grad))
        check_store(self, result._array, name)
        return self.copy_(result)

    inplace.__name__ = inplace.__qualname__ = name
    inplace.__doc__ = function.__doc__
    inplace.__wrapped__ = function  # type: ignore[attr-defined] # whose signature is what inspect shows
    public = overridable(inplace)
    add_method(name, public)
    if name in _INPLACE_FUNCTIONS:
        FUNCTIONS[name] = public


def add_method(name: str, function: Callable) -> None:
    if name not in Tensor.__dict__ or type(Tensor.__dict__[name]) is Later:
        setattr(Tensor, name, function)


def operators() -> None:
    """Define the Python operators on Tensor, from the table's rows."""
    symbols = {
        "add": "add",
        "sub": "sub",
        "mul": "mul",
        "truediv": "true_divide",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "pow": "pow",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
        "matmul": "matmul",
        "lshift": "bitwise_left_shift",
        "rshift": "bitwise_right_shift",
    }
    for dunder, name in symbols.items():
        row = table.TABLE.get(name)
        if row is not None and row.is_pointwise_pair:
            forward = functions.operator_of(row, f"__{dunder}__")
        elif dunder == "matmul":
            forward = _matmul(FUNCTIONS[name])
        else:
            forward = _operator(FUNCTIONS[name])
        setattr(Tensor, f"__{dunder}__", forward)
        # which commute: the tensor comes first
        reflected = forward if dunder in ("add", "mul") else _reflected(FUNCTIONS[name])
        setattr(Tensor, f"__r{dunder}__", reflected)
        if f"{name}_" in Tensor.__dict__:
            setattr(Tensor, f"__i{dunder}__", functions.inplace(table.TABLE[name], f"__i{dunder}__", as_operator=True))
    setattr(Tensor, "__rsub__", functions.operator_of(table.TABLE["rsub"], "__rsub__"))  # noqa: B010 - mypy knows another one
    setattr(Tensor, "__rtruediv__", _rtruediv)  # noqa: B010
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__{name}__", functions.operator_of(table.TABLE[name], f"__{name}__"))
    for dunder, name in {"neg": "neg", "pos": "positive", "abs": "abs"}.items():
        setattr(Tensor, f"__{dunder}__", FUNCTIONS[name])
    setattr(Tensor, "__invert__", _invert)  # noqa: B010 - mypy knows another one


def _matmul(function: Callable) -> Callable:
    """Return the operator ``@``: matrices take the fast path of :func:`mm`, everything else the general product."""
    return functions.operator_of(table.TABLE["mm"], "__matmul__", _operator(function))


def _rtruediv(x: Tensor, y: Any) -> Any:
    """Return ``y / x`` for a ``y`` that is not a tensor, as PyTorch computes it."""
    if not isinstance(y, (int, float, complex)) and not is_array(y):
        # A tensor, or an object with ``__torch_function__`` that has no division of its own: that is asked.
        return FUNCTIONS["true_divide"](y, x) if overrides(y) else NotImplemented
    if type(x) is not Tensor and overrides(x):
        from ..overrides.subclass import intercept

        try:
            answer = intercept(Tensor.__rtruediv__, (x, y), {})
        except Declined:
            return NotImplemented
        if answer is not MISS:
            return answer
    return FUNCTIONS["mul"](FUNCTIONS["reciprocal"](x), y)


def _invert(x: Tensor) -> Tensor:
    if x._array.dtype.kind in "fc":
        raise TypeError(f"~ (operator.invert) is only implemented on integer and Boolean-type tensors, got {x.dtype!r}")
    return FUNCTIONS["bitwise_not"](x)


def _operator(function: Callable) -> Callable:
    def operator(x: Any, y: Any) -> Any:
        if not isinstance(y, (Tensor, int, float, complex)) and not is_array(y) and not overrides(y):
            return NotImplemented
        try:
            return function(x, y)
        except Declined:
            return NotImplemented

    return operator


def _reflected(function: Callable) -> Callable:
    def operator(y: Any, x: Any) -> Any:
        if not isinstance(x, (Tensor, int, float, complex)) and not is_array(x) and not overrides(x):
            return NotImplemented
        try:
            return function(x, y)
        except Declined:
            return NotImplemented

    return operator


class Later:
    """Placeholder on Tensor for a method whose family has not been imported.

    (A ``__getattr__`` would slow down every read of every attribute.)
    """

    __slots__ = ("name", "family", "package")

    def __init__(self, name: str, family: str, package: str) -> None:
        self.name, self.family, self.package = name, family, package

    def __get__(self, tensor: Any, owner: Any) -> Any:
        import_module(self.family, self.package)
        # not a subclass's own, which may be what asks here by super()
        return Tensor.__dict__[self.name].__get__(tensor, owner)


def later(name: str, family: str, package: str) -> None:
    """Define a method that imports its family on first use."""
    setattr(Tensor, name, Later(name, family, package))
