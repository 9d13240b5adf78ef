"""``dualtape.version``: version information under PyTorch's names."""

from __future__ import annotations

from . import __version__ as __version__

cuda = None
hip = None
xpu = None
git_version = None
debug = False
