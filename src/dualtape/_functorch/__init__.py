"""``dualtape._functorch``: helpers around transforms, under the names that libraries take from PyTorch's."""

from __future__ import annotations

from . import batch_norm_replacement as batch_norm_replacement
from . import eager_transforms as eager_transforms
from . import functional_call as functional_call
