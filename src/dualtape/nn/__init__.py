"""Neural networks: parameters, and the functions as ``dualtape.nn.functional``."""

from __future__ import annotations

from . import functional as functional
from .parameter import Parameter as Parameter
