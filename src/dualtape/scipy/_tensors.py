"""Conversions to tensors, typed for NumPy's functions: their stubs do not know that they take tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.numpy_entries import registry

floating: Callable[..., Any] = registry.floating
tensor: Callable[..., Any] = registry.tensor
alike = registry.alike
axes_of = registry.axes_of
op = registry.op
