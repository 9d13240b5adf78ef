"""``dualtape.nested``: batches of samples of different lengths, concatenated."""

from __future__ import annotations

from .._listing import listing
from .construction import as_nested_tensor as as_nested_tensor
from .construction import masked_select as masked_select
from .construction import narrow as narrow
from .construction import nested_tensor as nested_tensor
from .construction import nested_tensor_from_jagged as nested_tensor_from_jagged
from .construction import to_padded_tensor as to_padded_tensor
from .ragged import NestedTensor as NestedTensor

__dir__ = listing(__name__)
