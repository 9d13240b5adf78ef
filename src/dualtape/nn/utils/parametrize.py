"""Parametrisations: a tensor of a module becomes a function, by other modules, of an original tensor."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..._listing import listing
from ..._tensor.tensor import Tensor
from ...modes import no_grad
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cached = 0  # how many contexts are open
_cache: dict[tuple[int, str], Tensor | None] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Context in which parametrised tensors are computed once, and not at each access.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.parametrizations.weight_norm(dt.nn.Linear(2, 2))
    >>> with dt.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cached
    _cached += 1
    try:
        yield
    finally:
        _cached -= 1
        if not _cached:
            _cache.clear()


def _register(module: Module, name: str, value: Any) -> None:
    (module.register_parameter if isinstance(value, Parameter) else module.register_buffer)(name, value)


def _set(target: Any, source: Tensor) -> None:
    """Give ``target`` the values of ``source``, in place, whatever its shape."""
    if target is not source:
        target.data = source.data


def _same(what: str, name: str, value: Any, shape: Any, dtype: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(value).__name__}.")
    for kind, wanted, found in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
        if wanted != found:
            raise ValueError(
                f"{what} may not change the {kind} of the tensor {name!r}, unless the `unsafe` flag is enabled:"
                f" {wanted} before, {found} after"
            )


class ParametrizationList(ModuleList):
    """The modules that parametrise one tensor, and the original tensors that it is computed from.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.parametrizations.weight_norm(dt.nn.Linear(2, 2))
    >>> type(layer.parametrizations.weight).__name__
    'ParametrizationList'
    """

    original: Any
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("a ParametrizationList needs at least one module, got none")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        made: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    # one that does not implement it leaves the original
                    with suppress(NotImplementedError):
                        made = module.right_inverse(made)
        self.is_tensor = isinstance(made, Tensor)
        self.ntensors = len(_several(made))
        if self.is_tensor:
            if (original.dtype, original.device) != (made.dtype, made.device):
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype or the device:"
                    f" {original.dtype} on {original.device} before, {made.dtype} on {made.device} after"
                )
            _set(original, made)
            _register(self, "original", original)
        else:
            for k, each in enumerate(made):
                if not isinstance(each, Tensor):
                    raise ValueError(
                        "right_inverse must return a tensor, or a list or tuple of tensors, got one whose element"
                        f" {k} is a {type(each).__name__}"
                    )
                if isinstance(original, Parameter):
                    each = Parameter(each, original.requires_grad)
                each.requires_grad_(original.requires_grad)
                _register(self, f"original{k}", each)
        if not unsafe:
            _same("Registering a parametrization", "original", self(), shape, dtype)

    def _names(self) -> list[str]:
        """Return the names of the originals."""
        return ["original"] if self.is_tensor else [f"original{k}" for k in range(self.ntensors)]

    def _originals(self) -> list[Any]:
        return [getattr(self, name) for name in self._names()]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals such that the parametrised tensor becomes ``value``."""
        with no_grad():
            made: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"{type(module).__name__} does not implement right_inverse, by which an assigned value would"
                        " become the original: assign to the originals, or give it one"
                    )
                made = module.right_inverse(made)
            if isinstance(made, Tensor) != self.is_tensor or len(_several(made)) != self.ntensors:
                expected = "a tensor" if self.is_tensor else f"{self.ntensors} tensors in a list or tuple"
                raise ValueError(
                    f"right_inverse must return {expected} here, as it did before; got a {type(made).__name__}"
                )
            pairs = list(zip(self._originals(), _several(made), strict=True))
            for original, each in pairs:
                if not isinstance(each, Tensor) or each.dtype != original.dtype:
                    raise ValueError(
                        f"the tensor returned by `right_inverse` is {getattr(each, 'dtype', type(each).__name__)}, and"
                        f" the original {original.dtype}"
                    )
            for original, each in pairs:
                _set(original, each)

    def forward(self) -> Any:
        first, *others = self
        x = first(*self._originals())
        for module in others:
            x = module(x)
        return x


def _several(made: Any) -> Sequence:
    """Return the results of a ``right_inverse`` as a sequence."""
    if isinstance(made, Tensor):
        return (made,)
    if not isinstance(made, Sequence):
        raise ValueError(
            f"right_inverse must return a tensor, or a list or tuple of tensors, got a {type(made).__name__}"
        )
    return made


# --- the class of a parametrised module -----------------------------------------------------------


class _Computed:
    """An attribute of a module that its parametrization computes, and that sets the originals."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return self
        compute = module.parametrizations[self.name]
        if not _cached:
            return compute()
        key = (id(module), self.name)
        if key not in _cache:
            _cache[key] = compute()
        return _cache[key]

    def __set__(self, module: Any, value: Tensor) -> None:
        module.parametrizations[self.name].right_inverse(value)


def _computing(cls: type) -> type:
    """Return a subclass for one module, to which the attributes are added that it computes."""

    def no_state(self: Any) -> Any:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict()")

    def copied(self: Any, memo: dict) -> Any:
        # by way of __reduce_ex__, copy would ask for the state
        memo[id(self)] = made = object.__new__(type(self))
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(cls):  # type: ignore[attr-defined]
            if hasattr(self, slot):
                setattr(made, slot, copy.deepcopy(getattr(self, slot), memo))
        return made

    members: dict[str, Any] = {"__getstate__": no_state}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = copied
    return type(f"Parametrized{cls.__name__}", (cls,), members)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer of a module the result of another module.

    Parameters
    ----------
    module : Module
    tensor_name : str
        If it is parametrised already, the new one comes after those that are there.
    parametrization : Module
        Its forward gives the tensor from the original; a method ``right_inverse``, if it has one, gives the original,
        or several, from a tensor, and makes the attribute assignable.
    unsafe : bool
        It may change shape and dtype.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Symmetric(dt.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = dt.nn.utils.parametrize.register_parametrization(dt.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all()), [name for name, _ in layer.named_parameters()]
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrized = is_parametrized(module, tensor_name)
    if not parametrized and tensor_name not in (*module._parameters, *module._buffers):
        raise ValueError(
            f"{type(module).__name__} does not have a parameter, a buffer or a parametrized tensor named"
            f" {tensor_name!r}"
        )
    parametrization.train(module.training)
    if parametrized:
        if not unsafe:
            _check_fits(parametrization, tensor_name, getattr(module, tensor_name))
        steps: Any = _listed(module)[tensor_name]
        steps.append(parametrization)
        steps.unsafe |= unsafe
        return module
    steps = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _computing(type(module))
        setattr(module, "parametrizations", ModuleDict())  # noqa: B010 - not every module has them
    _listed(module)[tensor_name] = steps
    setattr(type(module), tensor_name, _Computed(tensor_name))
    return module


def _check_fits(step: Module, name: str, value: Any) -> None:
    """Raise unless a further step preserves the tensor's shape and dtype, forward and, if it has one, in its
    inverse.
    """
    after = step(value)
    _same("Registering a parametrization", name, after, value.shape, value.dtype)
    if hasattr(step, "right_inverse"):
        with suppress(NotImplementedError):
            _same("parametrization.right_inverse", name, step.right_inverse(after), value.shape, value.dtype)


def _listed(module: Module) -> ModuleDict:
    """Return the parametrizations of a module, by the tensors' names."""
    return module.__dict__["_modules"]["parametrizations"]


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has parametrised tensors, or the named one is.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.parametrize.is_parametrized(dt.nn.Linear(2, 2))
    False
    """
    there = getattr(module, "parametrizations", None)
    if not isinstance(there, ModuleDict):
        return False
    return len(there) > 0 if tensor_name is None else tensor_name in there


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrised tensor an ordinary one: its present value, or the original if not ``leave_parametrized``.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.parametrizations.weight_norm(dt.nn.Linear(2, 2))
    >>> dt.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{tensor_name!r} of {type(module).__name__} has no parametrization to remove")
    listed: Any = _listed(module)[tensor_name]
    if listed.is_tensor:
        original = listed.original
        if leave_parametrized:
            with no_grad():
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        now = getattr(module, tensor_name)
        original = Parameter(now.detach()) if now.requires_grad else now
    else:
        raise ValueError(
            "leave_parametrized=False would put the original back, and this tensor is made of several: pass"
            " leave_parametrized=True"
        )
    delattr(type(module), tensor_name)
    del _listed(module)[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrised.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.parametrizations.weight_norm(dt.nn.Linear(2, 2))
    >>> dt.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrisations of another, with their originals; of one tensor, or of all.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.parametrizations.weight_norm(dt.nn.Linear(2, 2))
    >>> other = dt.nn.utils.parametrize.transfer_parametrizations_and_params(layer, dt.nn.Linear(2, 2))
    >>> bool((other.weight == layer.weight).all())
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(_listed(from_module)) if tensor_name is None else [tensor_name]
    for name in names:
        source: Any = _listed(from_module)[name]
        if not hasattr(to_module, name):
            _register(to_module, name, source._originals()[0])
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target = _listed(to_module)[name]
        for each in source._names():
            setattr(target, each, getattr(source, each))
    return to_module


__dir__ = listing(__name__)
