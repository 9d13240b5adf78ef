"""A module as a tree: its children, parameters and buffers by dotted name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..._tensor.tensor import Tensor
from ..parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


class Tree:
    """The methods of a module that traverse its tree."""

    _modules: dict[str, Module | None]
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]

    def _get_name(self) -> str:
        return type(self).__name__

    # --- walking ----------------------------------------------------------------------------------

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield this module and all descendants, by dotted name; one with several names by its first alone."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all descendants."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct children, by name; each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the direct children; each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, get_members_fn: Callable, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        for path, module in (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        ):
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters of this module and, with ``recurse``, of its descendants, by dotted name."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters of this module and, with ``recurse``, of its descendants; each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers of this module and, with ``recurse``, of its descendants, by dotted name."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers of this module and, with ``recurse``, of its descendants; each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # --- by name ----------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Any:
        """The module at a dotted name; ``""`` is this one."""
        from .module import Module

        found: Any = self
        for name in target.split(".") if target else ():
            found = _attribute(found, name)
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` of {target!r} is not an nn.Module, but {type(found).__name__}")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Set the module at a dotted name, whose parent must exist; with ``strict`` it must replace an existing one."""
        from .module import Module

        if target == "":
            raise ValueError("Cannot set the submodule without a target name: give the dotted name of its place")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            there = _attribute(parent, name)
            if not isinstance(there, Module):
                raise AttributeError(f"`{name}` is not an nn.Module, but {type(there).__name__}: it is not replaced")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted name."""
        path, _, name = target.rpartition(".")
        found = _attribute(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter, but {type(found).__name__}")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted name."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer, but {type(found).__name__}")
        return found


def _attribute(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)
