"""``torch._library.infer_schema``: the schema of a function."""

from ..library import infer_schema as infer_schema

__all__ = ["infer_schema"]
