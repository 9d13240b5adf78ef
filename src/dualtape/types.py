"""``dualtape.types``: PyTorch's names for types in annotations."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

from . import Tensor as Tensor
from . import device as _device_class
from . import dtype as _dtype_class
from ._listing import listing
from ._tensor.device import layout as _layout_class
from ._tensor.size import Size as Size
from ._tensor.storage import TypedStorage, UntypedStorage

_int, _float, _complex, _bool, _bytes = builtins.int, builtins.float, builtins.complex, builtins.bool, builtins.bytes
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_dtype: TypeAlias = _dtype_class
_device: TypeAlias = _device_class
_layout: TypeAlias = _layout_class
_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
_symsize: TypeAlias = _size
_dispatchkey: TypeAlias = str
IntLikeType: TypeAlias = builtins.int
FloatLikeType: TypeAlias = builtins.float
BoolLikeType: TypeAlias = builtins.bool
py_sym_types = ()
Number: TypeAlias = builtins.int | builtins.float | builtins.bool
_Number = (builtins.int, builtins.float, builtins.bool)
Device: TypeAlias = _device_class | str | builtins.int | None
FileLike: TypeAlias = Any
Storage: TypeAlias = TypedStorage | UntypedStorage

__dir__ = listing(__name__)
