"""The name under which things show themselves: programs that came through the doorway compare words like
``torch.float32``.
"""

from __future__ import annotations

package = "dualtape"
