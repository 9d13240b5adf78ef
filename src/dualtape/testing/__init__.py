"""``dualtape.testing``: comparing results with what was expected, and making tensors to try things on."""

from __future__ import annotations

from .._listing import listing
from .comparison import assert_allclose as assert_allclose
from .comparison import assert_close as assert_close
from .creation import make_tensor as make_tensor

__dir__ = listing(__name__)
