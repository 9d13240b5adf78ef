"""The HTML of a tensor in notebooks: its values, and the graph behind it, folded."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import Any

from ..profiler.memory import nodes_of
from . import graphs, page

_MOST = 2000  # nodes of a graph that is drawn unasked


def of_tensor(tensor: Any) -> str:
    """Return the HTML of a tensor."""
    values = f"<pre>{escape(repr(tensor))}</pre>"
    root = tensor.grad_fn
    if root is None or len(list(islice(nodes_of([root]), _MOST + 1))) > _MOST:
        return values
    picture = graphs.of_tensors([root], "the graph of a tensor", {})
    return f"{values}<details><summary>its graph: {picture.facts}</summary>{page.embedded(picture)}</details>"
