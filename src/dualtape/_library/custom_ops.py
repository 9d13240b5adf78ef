"""``torch._library.custom_ops``: the class of ops made by ``library.custom_op``."""

from ..library import CustomOpDef as CustomOpDef
from ..library import custom_op as custom_op

__all__ = ["CustomOpDef", "custom_op"]
