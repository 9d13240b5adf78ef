"""dualtape: PyTorch's autograd as a small Python library, over the arrays you already have.

Values are NumPy's, gradients behave as PyTorch's do: ``import dualtape as torch`` runs PyTorch autograd code.
"""

from __future__ import annotations

from . import autograd as autograd
from . import creation as _creation
from . import properties as _properties
from . import queries as _queries
from ._lazy_modules import __dir__ as __dir__
from ._lazy_modules import __getattr__ as __getattr__
from .creation import *  # noqa: F403 - what its __all__ names
from .device import channels_last as channels_last
from .device import contiguous_format as contiguous_format
from .device import device as device
from .device import preserve_format as preserve_format
from .device import sparse_coo as sparse_coo
from .device import strided as strided
from .dtypes import NAMED as _NAMED
from .dtypes import can_cast as can_cast
from .dtypes import dtype as dtype
from .dtypes import finfo as finfo
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import iinfo as iinfo
from .dtypes import promote_types as promote_types
from .dtypes import set_default_dtype as set_default_dtype
from .modes import enable_grad as enable_grad
from .modes import inference_mode as inference_mode
from .modes import is_grad_enabled as is_grad_enabled
from .modes import is_inference_mode_enabled as is_inference_mode_enabled
from .modes import no_grad as no_grad
from .modes import set_grad_enabled as set_grad_enabled
from .ops import FUNCTIONS as _FUNCTIONS
from .overriding import overridable as _overridable
from .queries import *  # noqa: F403 - as above
from .size import Size as Size
from .tensor import Tensor as Tensor

__version__ = "0.1.0"

pi, e, inf, nan, newaxis = 3.141592653589793, 2.718281828459045, float("inf"), float("nan"), None

for _name in {*_creation.__all__, *_queries.__all__} - {"is_tensor"}:  # which nothing overrides
    globals()[_name] = _overridable(globals()[_name], leaf=True)
globals().update(_NAMED)
globals().update(_FUNCTIONS)
