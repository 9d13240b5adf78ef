"""Functions and modules as graphs: traced, read, changed and run again.

:func:`symbolic_trace` runs a module once on proxies; the :class:`Graph` that it leaves is a list of nodes, which
:class:`GraphModule` turns into Python source. :class:`Interpreter` and :class:`Transformer` go through it node by node.
Names and generated source are PyTorch's.
"""

from __future__ import annotations

from .._listing import listing
from . import experimental as experimental
from . import immutable_collections as immutable_collections
from . import operator_schemas as operator_schemas
from . import passes as passes
from . import traceback as traceback
from ._symbolic_trace import PH as PH
from ._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from ._symbolic_trace import Tracer, symbolic_trace, wrap
from .graph import CodeGen as CodeGen
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

__dir__ = listing(__name__)
