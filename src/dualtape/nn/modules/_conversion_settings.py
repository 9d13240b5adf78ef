"""How conversions of modules change parameters: the two flags of ``dualtape.__future__``."""

from __future__ import annotations

# New parameters are made, in place of writing to ``.data``.
overwrite: bool = False
# Parameters are swapped with new ones; their gradients too.
swap: bool = False
