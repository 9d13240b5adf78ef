"""Why some NumPy functions have no entry for tensors, and what to use instead: the texts of their errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_TEXT = "works on text: tensors hold numbers"
_DATES = "works on dates: tensors hold numbers"
_FIELDS = "works on structured arrays: tensors have no fields; keep a tensor for each field"
_COUNTS = (
    "counts: the numbers do not move with the elements. Use np.histogram, whose edges have a derivative, or call it on"
    " x.detach()"
)

REASONS: dict[str, str] = {
    **dict.fromkeys(
        """
        _center _expandtabs _expandtabs_length _ljust _lstrip_chars _lstrip_whitespace _partition _partition_index
        _replace _rjust _rpartition _rpartition_index _rstrip_chars _rstrip_whitespace _slice _strip_chars
        _strip_whitespace _zfill count endswith find index isalnum isalpha isdecimal isdigit islower isnumeric isspace
        istitle isupper rfind rindex startswith str_len
        """.split(),
        _TEXT,
    ),
    **dict.fromkeys(
        "busday_count busday_offset datetime_as_string is_busday isnat".split(),
        _DATES,
    ),
    **dict.fromkeys(
        """
        append_fields apply_along_fields assign_fields_by_name drop_fields find_duplicates join_by merge_arrays
        rec_append_fields rec_drop_fields rec_join recursive_fill_fields rename_fields repack_fields require_fields
        stack_arrays structured_to_unstructured unstructured_to_structured
        """.split(),
        _FIELDS,
    ),
    **dict.fromkeys("histogram2d histogramdd".split(), _COUNTS),
    "spacing": "jumps from one power of two to the next: call it on x.detach(), or use dualtape.finfo",
    "_ones_like": "is NumPy's own: use np.ones_like",
}


def full_name(func: Callable) -> str:
    """Return a function's name as users write it."""
    module = (getattr(func, "__module__", None) or "numpy").removeprefix("numpy").removeprefix(".")
    return ".".join(filter(None, ("np", module, getattr(func, "__name__", str(func)))))


def advice(func: Callable) -> str:
    """Return what to use in place of a function without an entry."""
    name = func.__name__
    if name in REASONS and (isinstance(func, np.ufunc) or func.__module__.startswith("numpy")):
        return f"It {REASONS[name]}"
    return "Use the dualtape function for it, or call it on tensor.detach().numpy()"
