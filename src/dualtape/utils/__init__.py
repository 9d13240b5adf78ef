"""``dualtape.utils``: helpers around training code."""

from __future__ import annotations

from . import _pytree as _pytree
from . import checkpoint as checkpoint
from . import dlpack as dlpack
from . import hooks as hooks
