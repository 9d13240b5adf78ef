"""``save`` and ``load``: files of tensors and plain containers, which never run code when they are read.

A file is a ``.safetensors`` file: named arrays, and beside them the structure they stand in, as JSON. Checkpoints of
PyTorch's are read as well, by a reader of pickles that knows tensors and containers and nothing else.
"""

from __future__ import annotations

from . import safetensors as safetensors
from .files import load as load
from .files import save as save
from .source import FileFormatError as FileFormatError
