"""Neural networks: modules and layers, parameters, and the functions as ``dualtape.nn.functional``."""

from __future__ import annotations

from . import attention as attention
from . import functional as functional
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .modules import *  # noqa: F403 - the layers
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter
from .parameter import factory_kwargs as factory_kwargs


def __getattr__(name: str) -> object:
    if name == "parallel":  # which needs the processes' collectives
        from . import parallel

        return parallel
    raise AttributeError(f"module 'dualtape.nn' has no attribute {name!r}")
