"""What a call gives here and in PyTorch: the same values, shapes and dtypes, or the same kind of error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt

torch = pytest.importorskip("torch")


def same(ours: Any, theirs: Any, tolerance: float = 0.0) -> None:
    """Assert that two results, or trees of results, are equal with their shapes and dtypes."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, tolerance)
    elif torch.is_tensor(theirs):
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
        np.testing.assert_allclose(
            ours.detach().resolve_conj().numpy(),
            theirs.detach().resolve_conj().numpy(),
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
        )
    else:
        assert ours == theirs


def outcome(function: Any, *args: Any) -> Any:
    """What a call gives: its result, or the class of error that it raises."""
    try:
        return function(*args)
    except Exception as error:
        return type(error)


def same_outcome(function: Any, tolerance: float = 0.0) -> None:
    """Assert that ``function(dualtape)`` is ``function(torch)``, or that both raise the same kind of error."""
    ours, theirs = outcome(function, dt), outcome(function, torch)
    if isinstance(theirs, type):
        assert ours is theirs, (ours, theirs)
    else:
        assert not isinstance(ours, type), ours
        same(ours, theirs, tolerance)
