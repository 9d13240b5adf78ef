"""The error of a factorisation that does not exist, catchable as PyTorch's and as NumPy's."""

from __future__ import annotations

import numpy as np


class LinAlgError(RuntimeError, np.linalg.LinAlgError):
    """A matrix is singular, not positive definite, or an iteration did not converge."""
