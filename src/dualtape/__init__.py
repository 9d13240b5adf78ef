"""dualtape: PyTorch's autograd, and its CPU API, in Python over NumPy arrays.

Values are NumPy's, gradients behave as PyTorch's do: ``import dualtape as torch`` runs PyTorch autograd code.
"""

from __future__ import annotations

from . import autograd as autograd
from . import errors as errors
from . import modes as modes
from ._lazy import __dir__ as __dir__
from ._lazy import __getattr__ as __getattr__
from ._tensor import creation as _creation
from ._tensor import properties as _properties
from ._tensor import queries as _queries
from ._tensor import shaped as _shaped
from ._tensor.creation import *  # noqa: F403 - what its __all__ names
from ._tensor.device import channels_last as channels_last
from ._tensor.device import channels_last_3d as channels_last_3d
from ._tensor.device import contiguous_format as contiguous_format
from ._tensor.device import device as device
from ._tensor.device import preserve_format as preserve_format
from ._tensor.device import sparse_coo as sparse_coo
from ._tensor.device import strided as strided
from ._tensor.dtypes import NAMED as _NAMED
from ._tensor.dtypes import can_cast as can_cast
from ._tensor.dtypes import dtype as dtype
from ._tensor.dtypes import finfo as finfo
from ._tensor.dtypes import get_default_dtype as get_default_dtype
from ._tensor.dtypes import iinfo as iinfo
from ._tensor.dtypes import promote_types as promote_types
from ._tensor.dtypes import set_default_dtype as set_default_dtype
from ._tensor.queries import *  # noqa: F403 - as above
from ._tensor.shaped import *  # noqa: F403 - as above
from ._tensor.size import Size as Size
from ._tensor.tensor import Tensor as Tensor
from .modes import enable_grad as enable_grad
from .modes import inference_mode as inference_mode
from .modes import is_grad_enabled as is_grad_enabled
from .modes import is_inference_mode_enabled as is_inference_mode_enabled
from .modes import no_grad as no_grad
from .modes import set_grad_enabled as set_grad_enabled
from .ops import FUNCTIONS as _FUNCTIONS
from .overrides.active_overrides import overridable as _overridable

__version__ = "0.1.0"

pi, e, inf, nan, newaxis = 3.141592653589793, 2.718281828459045, float("inf"), float("nan"), None

for _name in {*_creation.__all__, *_shaped.__all__, *_queries.__all__} - {"is_tensor"}:  # which nothing overrides
    globals()[_name] = _overridable(globals()[_name], leaf=True)
globals().update(_NAMED)
globals().update(_FUNCTIONS)
