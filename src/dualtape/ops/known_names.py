"""The names under which profiles and pictures show ops: those of PyTorch.

A row that users never call by its name (the product inside ``linear``, the two forms of ``max``) is shown by the name
of its node: ``AddmmBackward0`` is the backward of ``addmm``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .table import Op

_SHORT = {"true_divide": "div"}  # public here, and not what PyTorch calls it
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9][A-Z])(?=[A-Z][a-z])")


def known_name(op: Op, node: str = "") -> str:
    """Return the name to show for ``op``; ``node`` is the name of its node, where known.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(2, 2, requires_grad=True)
    >>> [known_name(y.grad_fn.op) for y in (x / 2, x.max(), x.view(4), x @ x, dt.nn.functional.linear(x, x))]
    ['div', 'max', 'view', 'mm', 'mm']
    """
    if op.name in _SHORT:
        return _SHORT[op.name]
    if op.torch_name.rpartition(".")[2] == op.name or op.torch_name.replace(".", "_") == op.name:
        return op.name
    if not node:
        if len({words_of(name) for name in op.node_names}) > 1:
            return op.name  # one row for several functions: which it was is not known
        node = op.node_names[0]
    if node.lower().startswith(op.name.replace("_", "") + "backward"):
        return op.name  # the node has the row's name, which knows where its words end
    return words_of(node)


def words_of(node: str) -> str:
    """Return the name of a node without the suffix that all nodes share.

    Examples
    --------
    >>> words_of("NativeLayerNormBackward0"), words_of("NllLoss2DBackward0"), words_of("CopyBackwards")
    ('native_layer_norm', 'nll_loss2d', 'copy')
    """
    return _WORDS.sub("_", re.sub(r"Backwards?\d*$", "", node)).lower()
