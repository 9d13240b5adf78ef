"""User-defined ops: declared like the library's own (:func:`op`), or as PyTorch has them (:func:`custom_op`,
:class:`Library`).

``op`` takes a forward on arrays and formulas, and gives gradients of any order, forward mode and ``vmap``. What
``custom_op`` and ``Library`` make takes tensors, and has what is registered for it. Both are found as
``dualtape.ops.namespace.name``.
"""

from __future__ import annotations

from .._listing import listing
from .checking import OpCheckError as OpCheckError
from .checking import opcheck
from .custom import CustomOpDef as CustomOpDef
from .custom import custom_op
from .declared import (
    apart,
    check,
    exact,
    ints,
    invertible,
    mask,
    op,
    positive,
    probability,
    real,
    sample,
    spd,
    unit,
)
from .fake import get_ctx
from .inference import infer_schema
from .overloads import OpOverload as OpOverload
from .overloads import fallthrough_kernel
from .registration import (
    Library,
    define,
    get_kernel,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    triton_op,
    wrap_triton,
)
from .registration import _scoped_library as _scoped_library

__all__ = [
    "Library",
    "apart",
    "check",
    "custom_op",
    "define",
    "exact",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "ints",
    "invertible",
    "mask",
    "op",
    "opcheck",
    "positive",
    "probability",
    "real",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "sample",
    "spd",
    "triton_op",
    "unit",
    "wrap_triton",
]

__dir__ = listing(__name__)
