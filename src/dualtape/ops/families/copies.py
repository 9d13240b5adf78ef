"""View ops that copy: ``permute_copy`` returns the values of ``permute`` in memory of its own.

Each is its view op and a copy; arguments and samples are the view op's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.device import contiguous_format
from ..dispatch import FUNCTIONS
from ..samples import ours, real, sample
from ..table import COMPOSITES, TABLE, composite
from . import diagonals as _diagonals  # noqa: F401 - whose rows are used here


def _copied(view: Any) -> Any:
    if isinstance(view, tuple):
        return tuple([_copied(each) for each in view])
    return FUNCTIONS["clone"](view, memory_format=contiguous_format)


def _declare(name: str, example: str, op: str | None = None, renamed: dict[str, str] | None = None, **row: Any) -> None:
    """Declare the copying form of a view op, the one of the same name or ``op``; ``renamed`` maps parameters with other
    names.
    """
    source = TABLE[op or name] if (op or name) in TABLE else COMPOSITES[op or name]
    view: Callable = source.function

    def function(*args: Any, **kwargs: Any) -> Any:
        return _copied(view(*args, **kwargs))

    shown = [p for p in inspect.signature(view).parameters.values() if p.name != "out"]
    names = renamed or {}
    function.__signature__ = inspect.Signature([p.replace(name=names.get(p.name, p.name)) for p in shown])  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__doc__ = f"""What :func:`{name}` shows, in memory of its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(2, 2)
    >>> dt.{name}_copy({example})._is_view()
    False
    """
    row = {"samples": source.samples, "complex": source.complex, "method": False, **row}
    composite(f"{name}_copy", **row)(function)


for _name, _example in {
    "as_strided": "x, (2,), (1,)", "diagonal": "x", "permute": "x, (1, 0)", "select": "x, 0, 1", "slice": "x, 0, 1",
    "squeeze": "x", "t": "x", "transpose": "x, 0, 1", "unfold": "x, 0, 2, 1", "unsqueeze": "x, 0",
    "expand": "x, (3, 2, 2)", "alias": "x", "view_as_real": "x + 0j",
}.items():  # fmt: skip
    _declare(_name, _example)
_declare("narrow", "x, 0, 0, 1", method=True, samples=(sample(real(5, 3), 0, 1, 2), ours(real(5, 3), 1, -2, 2)))
_declare("view_as_complex", "x", samples=(ours(real(3, 2)),))
_declare("unbind", "x)[0].add_(1", samples=TABLE["unbind"].samples)
_declare("split", "x, 1)[0].add_(1", samples=[s for s in TABLE["split"].samples if not isinstance(s.args[1], list)])
_declare("split_with_sizes", "x, [1, 1])[0].add_(1", op="split", renamed={"split_size": "split_sizes"},
         samples=[s for s in TABLE["split"].samples if isinstance(s.args[1], list)])  # fmt: skip


@composite("view_copy", method=False, samples=(sample(real(3, 4), (2, 6)), sample(real(3, 4, layout="F"), (12,))))
def view_copy(input: Any, size: Any = None, *, dtype: Any = None) -> Any:
    """The tensor in another shape, or its bytes read as another dtype, in memory of its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.view_copy(dt.ones(2, 2), (4,))
    tensor([1., 1., 1., 1.])
    """
    if (size is None) == (dtype is None):
        raise TypeError("view_copy() takes a size or a dtype")
    if dtype is not None or isinstance(size, (dtypes.dtype, np.dtype, type)):
        return _copied(input.view(size if dtype is None else dtype))
    return _copied(input.reshape(size))
