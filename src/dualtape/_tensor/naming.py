"""The name under which the package appears to programs: as_torch programs compare strings such as ``torch.float32``."""

from __future__ import annotations

package = "dualtape"
