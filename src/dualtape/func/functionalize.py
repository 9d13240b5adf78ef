"""``functionalize``: transforms handle in-place writes themselves, so that there are none to remove."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._tensor.tensor import Tensor
from ..pytree import tree_map
from .scope import named_as

if TYPE_CHECKING:
    from .._typing import Tree

__all__ = ["functionalize"]


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """Return ``func`` as a function of the same arguments with the same results and effects.

    PyTorch's gives compilers a program without writes in place; here functions run as they are.

    Parameters
    ----------
    func : callable
    remove : {"mutations", "mutations_and_views"}
        With the latter, results that are views are copied.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.func.functionalize(lambda x: x.clone().add_(1))(dt.ones(2))
    tensor([2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:"
            " 'mutations', 'mutations_and_views'"
        )

    @named_as(func)
    def wrapper(*args: Tree, **kwargs: object) -> Any:
        result = func(*args, **kwargs)
        return result if remove == "mutations" else tree_map(_own, result)

    return wrapper


def _own(leaf: object) -> Any:
    return leaf.clone() if isinstance(leaf, Tensor) and leaf._is_view() else leaf
