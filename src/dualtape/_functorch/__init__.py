"""``dualtape._functorch``: helpers around transforms, under the names that libraries take from PyTorch's."""

from __future__ import annotations

from . import eager_transforms as eager_transforms
