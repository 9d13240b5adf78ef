"""Passes over graphs: ``shape_prop``."""

from . import shape_prop as shape_prop
