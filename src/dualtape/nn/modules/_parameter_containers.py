"""Lists and dicts of parameters, and of other values, as modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import index as as_index
from typing import TYPE_CHECKING, Any

from ..._tensor.tensor import Tensor
from ...settings import typename
from ..parameter import Parameter
from .module import Module

if TYPE_CHECKING:
    from typing import Self


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    where = "" if value.device.type == "cpu" else f" ({value.device})"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{typename(value)} of size {size}{where}]"


def pairs(what: str, values: Any) -> Iterable[tuple[str, Any]]:
    """Return names and values, of an object with ``items()``, or of pairs."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{what}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}"
        )
    if hasattr(values, "items"):
        yield from values.items()
        return
    for k, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what} update sequence element #{k} should be Iterable; is {type(pair).__name__}")
        both = tuple(pair)
        if len(both) != 2:
            raise ValueError(f"{what} update sequence element #{k} has length {len(both)}; 2 is required")
        yield both


class ParameterList(Module):
    """A list whose tensors are parameters; other values are kept unchanged.

    Examples
    --------
    >>> import dualtape as dt
    >>> weights = dt.nn.ParameterList([dt.ones(2), dt.ones(3)])
    >>> [tuple(w.shape) for w in weights.parameters()]
    [(2,), (3,)]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def _dt_name_at(self, idx: Any) -> str:
        place = as_index(idx)
        if not -self._size <= place < self._size:
            raise IndexError(f"index {place} is out of range: there are {self._size} values")
        return str(place % self._size)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[k] for k in range(self._size)[idx])
        return getattr(self, self._dt_name_at(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._dt_name_at(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(self._size)])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Put a value at the end."""
        name = str(self._size)
        self._size += 1
        setattr(self, name, _as_parameter(value))
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Put values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend takes an iterable of parameters, got a {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({k}): {_described(value)}" for k, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called: it is a list")


class ParameterDict(Module):
    """A dict whose tensors are parameters; other values are kept unchanged.

    Examples
    --------
    >>> import dualtape as dt
    >>> weights = dt.nn.ParameterDict({"left": dt.ones(2), "name": "a pair"})
    >>> list(weights.state_dict()), weights["name"]
    (['left'], 'a pair')
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update(() if parameters is None else parameters)

    def _dt_key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string, got {key!r}")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._dt_key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._dt_key(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[self._dt_key(key)]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return self._dt_merged(self)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of that name; store ``default`` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last pair of name and value and return it."""
        if not self._keys:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of that name, or ``default``."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict of these names with one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping, or of pairs of name and value."""
        for key, value in pairs("ParameterDict", parameters):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_described(value)}" for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called: it is a dict")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return self._dt_merged(self, other)

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return self._dt_merged(other, self)

    @staticmethod
    def _dt_merged(*parts: Any) -> ParameterDict:
        return ParameterDict(chain.from_iterable(pairs("ParameterDict", part) for part in parts))

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
