"""The error of a matrix factorisation that does not exist: a subclass of PyTorch's and of NumPy's."""

from __future__ import annotations

import numpy as np


class LinAlgError(RuntimeError, np.linalg.LinAlgError):
    """Raised for a matrix that is singular or not positive definite, or an iteration that did not converge."""
