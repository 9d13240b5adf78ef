"""``save`` and ``load``: files of tensors and plain containers, which never run code when they are read.

A file is a ``.safetensors`` file: named arrays, and their structure as JSON. PyTorch's checkpoints are read as well, by
a reader of pickles that supports tensors and containers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .._listing import listing
from .._tensor.device import device as _device
from .._tensor.storage import UntypedStorage as _Storage
from . import safetensors as safetensors
from .allowed import add_safe_globals as add_safe_globals
from .allowed import clear_safe_globals as clear_safe_globals
from .allowed import get_safe_globals as get_safe_globals
from .allowed import get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint
from .allowed import safe_globals as safe_globals
from .files import load as load
from .files import save as save
from .source import FileFormatError as FileFormatError

# What ``map_location`` of :func:`load` may be.
MAP_LOCATION: TypeAlias = "Callable[[_Storage, str], _Storage] | _device | str | dict[str, str] | None"

__dir__ = listing(__name__)
