"""Python's containers: HIPS autograd has types of its own for them, tensors need none."""

from builtins import dict, isinstance, list, tuple, type  # noqa: UP029 - whose names this module has

__all__ = ["dict", "isinstance", "list", "tuple", "type"]
