"""The lists and dicts in a node's arguments, which refuse to be changed: the node would not know."""

from __future__ import annotations

from typing import Any, NoReturn

from ..pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. If you are attempting to modify the kwargs or args"
        " of a torch.fx.Node object, instead create a new copy of it and assign the copy to the node:"
        " new_args = ..., node.args = new_args"
    )


class immutable_list(list):
    """A list that refuses to be changed.

    Examples
    --------
    >>> from dualtape.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2])
    [1, 2]
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that refuses to be changed.

    Examples
    --------
    >>> from dualtape.fx.immutable_collections import immutable_dict
    >>> immutable_dict(a=1)
    {'a': 1}
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple:
        return immutable_dict, (tuple(self.items()),)


register_pytree_node(immutable_list, lambda x: (list(x), None), lambda items, _: immutable_list(items))
register_pytree_node(
    immutable_dict,
    lambda x: (list(x.values()), tuple(x)),
    lambda items, keys: immutable_dict(zip(keys, items, strict=True)),
)

for _name in "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort".split():
    setattr(immutable_list, _name, _refuse)
for _name in "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update".split():
    setattr(immutable_dict, _name, _refuse)
