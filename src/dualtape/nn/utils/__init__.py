"""What is done with modules and parameters: clipping, packing, norms of weights, parametrisations, fusion."""

from __future__ import annotations

from . import rnn as rnn
