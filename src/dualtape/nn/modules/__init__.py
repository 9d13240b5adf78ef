"""The layers of ``dualtape.nn``, a module for each kind."""

from .container import *  # noqa: F403 - what its __all__ names, here and below
from .linear import *  # noqa: F403
from .module import Module as Module
