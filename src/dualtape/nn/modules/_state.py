"""The state dict of a module: ``state_dict``, ``load_state_dict``, their hooks and reports."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..._tensor.tensor import Tensor
from ...autograd.hooks import RemovableHandle
from ...errors import warn
from ...modes import no_grad
from ..parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from .module import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The names that a module has and a state dict lacks, and vice versa."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class State:
    """Saving a module's tensors into a dict, and loading them."""

    _version: int = 1
    _modules: dict[str, Module | None]
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict
    _state_dict_pre_hooks: OrderedDict
    _load_state_dict_pre_hooks: OrderedDict
    _load_state_dict_post_hooks: OrderedDict

    def get_extra_state(self) -> Any:
        """Return additional state for the state dict; a subclass defines it."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: a class that defines"
            " set_extra_state defines get_extra_state too"
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of :meth:`get_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: a class that defines"
            " get_extra_state defines set_extra_state too"
        )

    def _dt_overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(State, name)

    def _dt_persistent(self) -> dict[str, Tensor]:
        """Return the existing parameters and persistent buffers of this module alone."""
        kept = {k: b for k, b in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {name: tensor for name, tensor in {**self._parameters, **kept}.items() if tensor is not None}

    # --- out --------------------------------------------------------------------------------------

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._dt_persistent().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._dt_overrides("get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The parameters and persistent buffers of this module and those below it, by dotted name.

        Parameters
        ----------
        destination : dict, optional
            Where they are put; default: a new OrderedDict.
        prefix : str
            Stands before each name.
        keep_vars : bool
            The tensors themselves, and not what ``detach()`` gives of them.
        """
        if len(args) > 3:
            raise TypeError(f"state_dict() takes destination, prefix and keep_vars, got {len(args)} arguments")
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead: state_dict(destination=..., prefix=...)",
                FutureWarning,
            )
            # What was also given by keyword counts.
            defaults: list[Any] = [None, "", False]
            first, second, third = [*args, *defaults[len(args) :]]
            destination = first if destination is None else destination
            prefix, keep_vars = prefix or second, keep_vars or third
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        of_this = getattr(destination, "_metadata", {})[prefix[:-1]] = {"version": self._version}
        for before in self._state_dict_pre_hooks.values():
            before(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for below, child in self._dt_below(prefix):
            child.state_dict(destination=destination, prefix=below, keep_vars=keep_vars)
        for after in self._state_dict_hooks.values():
            replaced = after(self, destination, prefix, of_this)
            if replaced is not None:
                if getattr(after, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None: change the dict that it is given")
                destination = replaced
        return destination

    def _dt_below(self, prefix: str) -> Iterator[tuple[str, Module]]:
        """Yield the existing children, each with the beginning of its names."""
        for name, child in self._modules.items():
            if child is not None:
                yield f"{prefix}{name}.", child

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before :meth:`state_dict`."""
        return RemovableHandle.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after :meth:`state_dict`, to change it."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return RemovableHandle.add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """Register a hook whose result replaces the dict; the public form ignores it."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was registered with"
                " register_state_dict_post_hook: there it may return nothing, here it may"
            )
        return RemovableHandle.add(self._state_dict_hooks, hook)

    # --- in ---------------------------------------------------------------------------------------

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        before the module loads; it may change the dict and the lists.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        return RemovableHandle.add(self._load_state_dict_pre_hooks, ModuleHook(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the module has loaded; it may change the two lists."""
        return RemovableHandle.add(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module alone; problems are appended to the lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._dt_persistent()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            if prefix + name in state_dict:
                wrong = self._dt_load_one(name, prefix + name, tensor, state_dict[prefix + name], assign)
                error_msgs.extend([wrong] if wrong else [])
        extra = _EXTRA_STATE_KEY_SUFFIX
        takes_extra, has_extra = self._dt_overrides("set_extra_state"), prefix + extra in state_dict
        if takes_extra and has_extra:
            self.set_extra_state(state_dict[prefix + extra])
        if strict:
            names = [*own, extra] if takes_extra else list(own)
            missing_keys.extend([prefix + name for name in names if prefix + name not in state_dict])
            unexpected_keys.extend([prefix + extra] if has_extra and not takes_extra else [])
            unexpected_keys.extend(
                [key for key in state_dict if key.startswith(prefix) and not self._dt_knows(key, prefix, own)]
            )

    def _dt_knows(self, key: str, prefix: str, own: dict[str, Tensor]) -> bool:
        """Return whether a key is that of a tensor here, of one below a child, or of extra state."""
        name, *below = key.removeprefix(prefix).split(".", 1)
        return name in self._modules if below else name in own or name == _EXTRA_STATE_KEY_SUFFIX

    def _dt_load_one(self, name: str, key: str, tensor: Tensor, new: Any, assign: bool) -> str | None:
        """Copy or assign one tensor; return a description of the problem if there is one."""
        if not isinstance(new, Tensor) and not hasattr(type(new), "__torch_function__"):
            return f"{key}: expected a Tensor or Tensor-like object from the checkpoint, got a {type(new).__name__}"
        lazy = is_lazy(tensor)
        if not lazy and not tensor.shape and tuple(new.shape) == (1,):
            new = new[0]  # of old checkpoints, where a number was a row of one
        if not lazy and new.shape != tensor.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {new.shape} from checkpoint, the shape in current"
                f" model is {tensor.shape}."
            )
        try:
            with no_grad():
                if not assign:
                    tensor.copy_(new)
                    return None
                if isinstance(tensor, Parameter):
                    if isinstance(new, Parameter):
                        new.requires_grad_(tensor.requires_grad)
                    else:
                        new = Parameter(new, requires_grad=tensor.requires_grad)
                setattr(self, name, new)
        except Exception as error:
            return (
                f"{key}, of shape {tuple(tensor.shape)}, could not be copied from one of shape {tuple(new.shape)}: an"
                f" exception occurred: {error}"
            )
        return None

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of a state dict into this module and those below it.

        Parameters
        ----------
        state_dict : mapping
            By dotted name, as :meth:`state_dict` gives it.
        strict : bool
            The names must be those of the module; else the answer says which were not.
        assign : bool
            The given tensors become the module's, and are not copied; only ``requires_grad`` stays as it was.

        Returns
        -------
        missing_keys, unexpected_keys : list of str
            Names of the module that were not given; given names that are not the module's.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"expected a state_dict, a mapping from names to tensors, got a {type(state_dict).__name__}"
            )
        found = _IncompatibleKeys([], [])
        wrong: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        given: Any = OrderedDict(state_dict)
        if metadata is not None:
            given._metadata = metadata
        _load(cast("Module", self), given, "", metadata, assign, found, wrong)
        if strict:
            for keys, what in ((found.unexpected_keys, "Unexpected"), (found.missing_keys, "Missing")):
                if keys:
                    quoted = ", ".join(f'"{key}"' for key in keys)
                    wrong.insert(0, f"{what} key(s) in state_dict: {quoted}. ")
        if wrong:
            listed = "\n\t".join(wrong)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return found


def _load(
    module: Module, given: Any, prefix: str, metadata: Any, assign: bool, found: _IncompatibleKeys, wrong: list[str]
) -> None:
    """Load a module and its children; problems are appended to the lists, so that all are reported at once."""
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata = {**local_metadata, "assign_to_params_buffers": True}
    module._load_from_state_dict(given, prefix, local_metadata, True, found.missing_keys, found.unexpected_keys, wrong)
    for below, child in module._dt_below(prefix):
        part = {key: value for key, value in given.items() if key.startswith(below)}
        _load(child, part, below, metadata, assign, found, wrong)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, found) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values:"
                " change incompatible_keys in place"
            )


class ModuleHook:
    """A hook that gets its module first. The module owns the hook, which therefore refers to it weakly."""

    def __init__(self, hook: Callable, module: Any) -> None:
        self.hook = hook
        self._module = weakref.ref(module)

    @property
    def module(self) -> Any:
        """The module."""
        module = self._module()
        if module is None:
            raise RuntimeError("this hook belongs to a module that is gone: keep a reference to the module")
        return module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.hook(self.module, *args, **kwargs)

    def __reduce__(self) -> Any:
        return type(self), (self.hook, self.module)
