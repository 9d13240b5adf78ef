"""Modules that hold others, or parameters: in a sequence, a list, a dict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import index as as_index
from typing import TYPE_CHECKING, Any

from ...errors import warn
from ._parameter_containers import ParameterDict, ParameterList, pairs
from .module import Module, _addindent

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """Modules by keyword: a deprecated form of :class:`ModuleDict`.

    Examples
    --------
    >>> import warnings, dualtape as dt
    >>> with warnings.catch_warnings(action="ignore"):
    ...     dt.nn.Container(act=dt.nn.ReLU())
    Container(
      (act): ReLU()
    )
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()

        warn("nn.Container is deprecated: use nn.Module or nn.ModuleDict", FutureWarning)
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Row(Module):
    """Modules with the numbers from zero as their names."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _dt_name_at(self, idx: Any) -> str:
        count, place = len(self._modules), as_index(idx)
        if not -count <= place < count:
            raise IndexError(f"index {place} is out of range: there are {count} modules")
        return list(self._modules)[place]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._dt_name_at(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [self._dt_name_at(idx)]:
            delattr(self, name)
        self._dt_renumber(list(self._modules.values()))

    def _dt_renumber(self, modules: list) -> None:
        self._modules = {str(k): module for k, module in enumerate(modules)}

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Self:
        """Put a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove a module and return it."""
        module = self[key]  # type: ignore[index]
        del self[key]
        return module


class Sequential(_Row):
    """Modules in sequence: each gets the output of the one before it.

    Parameters
    ----------
    *args : Module
        The modules; or one OrderedDict of them, by name.

    Examples
    --------
    >>> import dualtape as dt
    >>> net = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.ReLU())
    >>> net
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    >>> net(dt.ones(4, 2)).shape
    dualtape.Size([4, 3])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(name if isinstance(name, str) else str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._dt_name_at(idx)]

    def __add__(self, other: Any) -> Sequential:
        self._dt_check_sequential(other)
        return _numbered(chain(self, other))

    def __iadd__(self, other: Any) -> Self:
        self._dt_check_sequential(other)
        return self.extend(list(other))

    def _dt_check_sequential(self, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"a Sequential is added to another one, got a {type(other).__name__}: wrap it in Sequential(...)"
            )

    def __mul__(self, other: int) -> Sequential:
        self._dt_check_times(other)
        return _numbered(module for _ in range(other) for module in self)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._dt_check_times(other)
        return self.extend(list(self) * (other - 1))

    def _dt_check_times(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"a Sequential is repeated a whole number of times, got * {other!r}")
        if other <= 0:
            raise ValueError(f"a Sequential is repeated 1 time or more, got * {other}")

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before the one at ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}, got {type(module)}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._dt_renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Put modules at the end."""
        for module in sequential:
            self.append(module)
        return self


def _numbered(modules: Iterable[Module]) -> Sequential:
    return Sequential(*modules)


class ModuleList(_Row):
    """A list of modules.

    Examples
    --------
    >>> import dualtape as dt
    >>> layers = dt.nn.ModuleList(dt.nn.Linear(2, 2) for _ in range(3))
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    >>> len(list(layers.parameters()))
    6
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[self._dt_name_at(idx)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before the one at ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._dt_renumber(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Put modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend takes an iterable of modules, got a {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        blocks: list[tuple[int, int, str]] = []  # first, last, text: equal neighbours are shown once
        for k, text in enumerate(repr(module) for module in self):
            if blocks and blocks[-1][2] == text:
                blocks[-1] = (blocks[-1][0], k, text)
            else:
                blocks.append((k, k, text))
        if not blocks:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in blocks:
            shown = f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            lines.append("  " + _addindent(shown, 2))
        return f"{self._get_name()}(\n" + "\n".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules.

    Examples
    --------
    >>> import dualtape as dt
    >>> choices = dt.nn.ModuleDict({"relu": dt.nn.ReLU(), "tanh": dt.nn.Tanh()})
    >>> choices["tanh"](dt.zeros(1))
    tensor([0.])
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of pairs of name and module."""
        for name, module in pairs("ModuleDict", modules):
            self[name] = module
