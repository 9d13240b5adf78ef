"""Neural networks: modules and layers, parameters, and the functions as ``dualtape.nn.functional``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import errors
from .._listing import listing
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


def __getattr__(name: str) -> Any:
    if name == "grad":  # which needs the transforms
        return import_module(".grad", __name__)
    if name in ("parallel", "DataParallel"):  # which need the processes' collectives
        parallel = import_module(".parallel", __name__)
        return parallel if name == "parallel" else parallel.DataParallel
    raise errors.missing(__name__, name, globals())


__dir__ = listing(__name__)
