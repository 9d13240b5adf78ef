"""The vocabulary: the NumPy functions that derivative formulas may use, beside operators, indexing and array methods.

A formula written in it runs on every kind of array: on NumPy's and CuPy's directly, on tensors through their
protocols. The list is closed: each name here has an entry for tensors, and a test holds formulas to the list.
"""

from __future__ import annotations

VOCABULARY: frozenset[str] = frozenset(
    """
    add subtract multiply divide true_divide negative positive power float_power square sqrt reciprocal absolute abs
    sign exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh
    arctanh maximum minimum fmax fmin clip where conj conjugate real imag angle floor ceil rint trunc logical_and
    logical_or logical_not logical_xor isnan isinf isfinite equal not_equal less less_equal greater greater_equal
    signbit copysign hypot logaddexp remainder floor_divide sum prod mean max min amax amin cumsum cumprod any all
    count_nonzero matmul dot tensordot einsum transpose swapaxes moveaxis expand_dims squeeze broadcast_to reshape
    ravel concatenate stack flip roll diagonal tril triu take_along_axis zeros ones full eye arange empty zeros_like
    ones_like full_like empty_like ndim shape size result_type
    """.split()
)
ATTRIBUTES: frozenset[str] = frozenset("pi e inf nan newaxis linalg dtype bool_ float32 float64 int64".split())
LINALG: frozenset[str] = frozenset("inv solve cholesky".split())
