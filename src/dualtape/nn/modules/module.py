"""``Module``: an object with parameters, buffers and other modules as attributes, and a forward.

This file has the registration of attributes. Calls are in ``_calls.py``, the tree of modules in ``_walk.py``, state
dicts in ``_state.py``, conversions in ``_convert.py``.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._tensor.tensor import Tensor
from ...autograd.hooks import RemovableHandle
from ...settings import typename
from ..parameter import Buffer, Parameter
from . import _state, _walk
from ._backward_hooks import BackwardHook as BackwardHook
from ._calls import Calls
from ._calls import _global_backward_hooks as _global_backward_hooks
from ._calls import _global_backward_pre_hooks as _global_backward_pre_hooks
from ._calls import _global_forward_hooks as _global_forward_hooks
from ._calls import _global_forward_hooks_always_called as _global_forward_hooks_always_called
from ._calls import _global_forward_hooks_with_kwargs as _global_forward_hooks_with_kwargs
from ._calls import _global_forward_pre_hooks as _global_forward_pre_hooks
from ._calls import register_module_backward_hook as register_module_backward_hook
from ._calls import register_module_forward_hook as register_module_forward_hook
from ._calls import register_module_forward_pre_hook as register_module_forward_pre_hook
from ._calls import register_module_full_backward_hook as register_module_full_backward_hook
from ._calls import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from ._convert import Conversions
from ._state import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from ._state import State
from ._state import _IncompatibleKeys as _IncompatibleKeys
from ._walk import Tree

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_global_buffer_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Callable] = OrderedDict()

# what an instance has from the beginning, and one that was pickled without it gets back
_OF_EACH: dict[str, Callable[[], Any]] = {
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_is_full_backward_hook": lambda: None,
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
    "_modules": dict,
}


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """The forward of a module, which a subclass defines."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function: define forward(self, ...)'
    )


class Module(Calls, Tree, State, Conversions):
    """The base of all layers and networks.

    Parameters, buffers and modules that are assigned to attributes are the module's: :meth:`parameters` finds them,
    :meth:`state_dict` keeps them, :meth:`to` converts them. A call of the module calls its :meth:`forward`.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Line(dt.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = dt.nn.Parameter(dt.tensor(2.0))
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> line(dt.tensor(3.0)).backward()
    >>> line.slope.grad, list(line.state_dict())
    (tensor(3.), ['slope'])
    """

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        own = self.__dict__
        own["training"] = True
        for attribute, make in _OF_EACH.items():
            own[attribute] = make()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- what becomes part of it ------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register ``param`` as the parameter of that name; None reserves the name for one."""
        self._dt_check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' (nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}': a parameter is a leaf; compute what depends"
                    " on others in forward()"
                )
            param = _asked(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register ``tensor`` as the buffer of that name: a tensor that is not learned, in the state dict if
        persistent.
        """
        self._dt_check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor) and not hasattr(tensor, "__torch_function__"):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (Tensor or None required)")
        self._buffers[name] = _asked(_global_buffer_registration_hooks, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register ``module`` as the child of that name; None reserves the name for one."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._dt_check_name("module", name, "_modules")
        self._modules[name] = _asked(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """:meth:`add_module`."""
        self.add_module(name, module)

    def _dt_check_name(self, what: str, name: Any, where: str) -> None:
        if where not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call: call super().__init__() first")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self.__dict__[where]:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f"""{what} name can't contain ".", got: {name}""")
        if name == "":
            raise KeyError(f"""{what} name can't be empty string \"\"""")

    # --- attributes -------------------------------------------------------------------------------

    if not TYPE_CHECKING:  # checkers would believe every name; buffers are declared by ``scale: Tensor``

        def __getattr__(self, name: str) -> Any:
            own = self.__dict__
            for where in ("_parameters", "_modules", "_buffers"):
                try:
                    return own[where][name]
                except KeyError:
                    pass
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters, modules, buffers = own.get("_parameters"), own.get("_modules"), own.get("_buffers")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call: call super().__init__()")
            self._dt_forget(name, own, buffers, modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise _cannot_assign(value, "parameter", name, "nn.Parameter or None")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call: call super().__init__()")
            self._dt_forget(name, own, parameters, buffers)
            modules[name] = _asked(_global_module_registration_hooks, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise _cannot_assign(value, "child module", name, "nn.Module or None")
            modules[name] = _asked(_global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or buffers is not None and name in buffers:
            if value is not None and not isinstance(value, Tensor) and not hasattr(value, "__torch_function__"):
                raise _cannot_assign(value, "buffer", name, "nn.Buffer, Tensor or None")
            self._dt_assign_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _dt_forget(self, name: str, *places: Any) -> None:
        for place in places:
            place.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _dt_assign_buffer(self, name: str, value: Any) -> None:
        persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        takes = inspect.signature(self.register_buffer).parameters
        if type(self).register_buffer is Module.register_buffer or "persistent" in takes:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                f"{type(self).__name__}.register_buffer() has no argument 'persistent': '{name}' cannot be registered"
                " as a non-persistent buffer"
            )

    def __delattr__(self, name: str) -> None:
        registered = next((known for known in (self._parameters, self._buffers, self._modules) if name in known), None)
        if registered is None:
            super().__delattr__(name)
            return
        del registered[name]
        if registered is self._buffers:
            self._non_persistent_buffers_set.discard(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    # --- training, and functions of all modules ---------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set whether layers such as dropout and batch normalisation behave as in training."""
        if not isinstance(mode, bool):
            raise ValueError(f"train() takes True or False, got {mode!r}")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """``train(False)``."""
        return self.train(False)

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` with each descendant, and then with this module."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the forward: later calls run the result of :func:`dualtape.compile`."""
        from ...compiler import compile

        self._compiled_call_impl = compile(self._call_impl, *args, **kwargs)

    # --- text and copies --------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Return the settings that a subclass shows in its repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _addindent(repr(module), 2) for name, module in self._modules.items()]
        inside = "\n  ".join(lines + children)
        if len(lines) == 1 and not children:
            inside = extra
        elif lines or children:
            inside = f"\n  {inside}\n"
        return f"{self._get_name()}({inside})"

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for attribute, make in _OF_EACH.items():
            self.__dict__.setdefault(attribute, make())


def _asked(hooks: dict, module: Module, name: str, value: Any) -> Any:
    """Return ``value``, or the replacement returned by registration hooks."""
    for hook in hooks.values():
        answer = hook(module, name, value)
        if answer is not None:
            value = answer
    return value


def _cannot_assign(value: Any, what: str, name: str, expected: str) -> TypeError:
    return TypeError(f"cannot assign '{typename(value)}' as {what} '{name}' ({expected} expected)")


def _addindent(s_: str, numSpaces: int) -> str:
    return s_.replace("\n", "\n" + " " * numSpaces)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a module registers a buffer; a result that is not None replaces it.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.module import register_module_buffer_registration_hook
    >>> with register_module_buffer_registration_hook(lambda module, name, buffer: print(name)):
    ...     norm = dt.nn.BatchNorm1d(2, affine=False)
    running_mean
    running_var
    num_batches_tracked
    """
    return RemovableHandle.add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when a module registers a child; a result that is not None replaces it.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.module import register_module_module_registration_hook
    >>> with register_module_module_registration_hook(lambda module, name, child: print(name, child)):
    ...     net = dt.nn.Sequential(dt.nn.ReLU())
    0 ReLU()
    """
    return RemovableHandle.add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, param)`` when a module registers a parameter; a result that is not None replaces it.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.module import register_module_parameter_registration_hook
    >>> with register_module_parameter_registration_hook(lambda module, name, param: print(name)):
    ...     layer = dt.nn.Linear(2, 1)
    weight
    bias
    """
    return RemovableHandle.add(_global_parameter_registration_hooks, hook)


# Programs evaluate the annotations of a class in the modules of its bases: typing.get_type_hints.
vars(_state)["Module"] = vars(_walk)["Module"] = Module
