"""Shared set-up: the deep setting, and a clean default dtype for every test."""

from __future__ import annotations

import pytest

import dualtape as dt


@pytest.fixture(autouse=True)
def default_dtype():
    """Every test starts and ends with PyTorch's default."""
    dt.set_default_dtype(dt.float32)
    yield
    dt.set_default_dtype(dt.float32)
