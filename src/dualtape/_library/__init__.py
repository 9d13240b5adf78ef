"""``torch._library``: names that programs import from beneath ``library``."""

from . import custom_ops as custom_ops
from . import infer_schema as infer_schema
