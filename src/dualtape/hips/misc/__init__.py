"""HIPS autograd's extras: vectors of parameters, optimizers, fixed points."""

from .flatten import flatten as flatten

__all__ = ["flatten"]
