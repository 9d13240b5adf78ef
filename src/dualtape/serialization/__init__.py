"""``save`` and ``load``: files of tensors and plain containers, which never run code when they are read.

A file is a ``.safetensors`` file: named arrays, and their structure as JSON. PyTorch's checkpoints are read as well, by
a reader of pickles that supports tensors and containers alone.
"""

from __future__ import annotations

from .._listing import listing
from . import safetensors as safetensors
from .files import load as load
from .files import save as save
from .source import FileFormatError as FileFormatError

__dir__ = listing(__name__)
