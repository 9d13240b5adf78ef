"""The Optimizer: groups of parameters with their options, the state of each, hooks, and checkpoints.

Subclasses define how parameters change.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

from .. import modes
from .._listing import listing
from .._tensor import dtypes
from .._tensor.tensor import Tensor
from ..autograd.hooks import RemovableHandle
from ..errors import warn
from ..ops import FUNCTIONS, load
from ..settings import typename

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
params_t = ParamsT
StateDict: TypeAlias = dict[str, Any]

_global_optimizer_pre_hooks: dict[int, Callable] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Callable] = OrderedDict()
_HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


class _RequiredParameter:
    """The default of an option that every group must set itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer; a result that is not None replaces the
    (args, kwargs) of the step.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__))
    >>> dt.optim.SGD([dt.ones(1, requires_grad=True)]).step()
    SGD
    >>> handle.remove()
    """
    return _registered(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("done"))
    >>> dt.optim.SGD([dt.ones(1, requires_grad=True)]).step()
    done
    >>> handle.remove()
    """
    return _registered(_global_optimizer_post_hooks, hook)


def _registered(hooks: Any, hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle.add(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class Optimizer:
    """Base of optimizers: parameters in groups, with options, and a state for each parameter.

    Parameters
    ----------
    params : iterable
        Of tensors, of (name, tensor) pairs, or of dicts: groups, whose ``"params"`` are such an iterable and whose
        other entries are options.
    defaults : dict
        The options of groups that do not have their own.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Descent(dt.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @dt.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad
    >>> x = dt.tensor([1.0], requires_grad=True)
    >>> optimizer = Descent([x], lr=0.5)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([0.], requires_grad=True)
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._dt_add_hooks()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "an optimizer takes a list of tensors, pairs or groups; wrap it in a list, got a single "
                + typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list = list(params)
        if not groups:
            raise ValueError("there are no parameters: pass the tensors that are to be changed")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _dt_add_hooks(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._dt_add_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # --- the step -----------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients, and returns the loss.
        """
        raise NotImplementedError(f"{type(self).__name__} has no step(): write one")

    @staticmethod
    def profile_hook_step(func: Callable) -> Callable:
        """Return a step that calls the hooks before and after it."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                given = hook(self, args, kwargs)
                if given is not None:
                    if not isinstance(given, tuple) or len(given) != 2:
                        raise RuntimeError(
                            f"a hook before {func.__name__} gave {given!r}: expected None or a pair (args, kwargs)"
                        )
                    args, kwargs = given
            result = func(*args, **kwargs)
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
            return result

        return wrapper

    def _patch_step_function(self) -> None:
        kind: Any = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{kind.__name__}.zero_grad"
        if not getattr(kind.step, "hooked", False):
            kind.step = self.profile_hook_step(kind.step)
            kind.step.hooked = True

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters.

        Parameters
        ----------
        set_to_none : bool
            Set them to None; if False, to zeros, in their memory.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.ones(2, requires_grad=True)
        >>> x.sum().backward()
        >>> dt.optim.SGD([x]).zero_grad(); print(x.grad)
        None
        """
        for group in self.param_groups:
            for p in group["params"]:
                gradient = p.grad
                if gradient is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if gradient.grad_fn is not None:
                    gradient.detach_()
                else:
                    gradient.requires_grad_(False)
                gradient.zero_()

    # --- groups -------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, with options of their own.

        Parameters
        ----------
        param_group : dict
            ``"params"`` and options; it becomes an entry of ``param_groups``.

        Examples
        --------
        >>> import dualtape as dt
        >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=0.1)
        >>> optimizer.add_param_group({"params": dt.ones(2, requires_grad=True), "lr": 0.5})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.5]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"a group of parameters is a dict, got {type(param_group).__name__}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError("the parameters of a group must have an order, which a set has not: pass a list")
        members = [given] if isinstance(given, Tensor) else list(given)
        names = [member[0] for member in members if isinstance(member, tuple)]
        params = [member[1] if isinstance(member, tuple) else member for member in members]
        if names and len(names) != len(params):
            raise ValueError("some parameters have names and some have none: name all of them or none")
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"a parameter must be a Tensor, got {typename(p)}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("a parameter was computed from others: pass the leaf, or retain_grad() it")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"a group has no {name!r}, which this optimizer has no default for")
        named = bool(names) or "param_names" in param_group
        if any(("param_names" in group) != named for group in self.param_groups):
            raise ValueError(
                f"the new group has {'names' if named else 'no names'} and the others have"
                f" {'none' if named else 'some'}: name all parameters or none"
            )
        if len(set(params)) != len(params):
            warn(
                "a parameter is in its group more than once, and each step changes it as often",
            )
        if not {p for group in self.param_groups for p in group["params"]}.isdisjoint(params):
            raise ValueError("a parameter of the new group is in another group already")
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    # --- checkpoints --------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """Return state and options, with indices in place of parameters; the tensors are not copied.

        Examples
        --------
        >>> import dualtape as dt
        >>> state = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=0.1).state_dict()
        >>> state["state"], state["param_groups"][0]["lr"], state["param_groups"][0]["params"]
        ({}, 0.1, [0])
        """
        for hook in self._dt_hooks("state_dict_pre"):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for number, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), number)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            start += len(packed["params"])
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._dt_hooks("state_dict_post"):
            result = _given(hook(self, result), result)
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Restore the result of :meth:`state_dict`: parameters are matched by their order, and the tensors of their
        state get their dtype and device.

        Examples
        --------
        >>> import dualtape as dt
        >>> make = lambda lr: dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=lr)
        >>> optimizer = make(0.1)
        >>> optimizer.load_state_dict(make(0.5).state_dict()); optimizer.param_groups[0]["lr"]
        0.5
        """
        state_dict = state_dict.copy()
        for hook in self._dt_hooks("load_state_dict_pre"):
            state_dict = _given(hook(self, state_dict), state_dict)
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError(
                f"the state has {len(saved)} groups of parameters, and the optimizer {len(self.param_groups)}"
            )
        for mine, theirs in zip(self.param_groups, saved, strict=True):
            if len(mine["params"]) != len(theirs["params"]):
                raise ValueError(
                    f"a group of the state has {len(theirs['params'])} parameters, and the optimizer's"
                    f" {len(mine['params'])}"
                )
        params = dict(
            zip(
                chain.from_iterable(group["params"] for group in saved),
                chain.from_iterable(group["params"] for group in self.param_groups),
                strict=True,
            )
        )
        on_device = {
            number
            for group in state_dict["param_groups"]
            if group.get("fused") or group.get("capturable")
            for number in group["params"]
        }

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _cast(params[key], value, key in on_device)
            else:
                state[key] = value
        for mine, theirs in zip(self.param_groups, saved, strict=True):
            theirs["params"] = mine["params"]
            if "param_names" in mine:
                theirs.setdefault("param_names", mine["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._dt_hooks("load_state_dict_post"):
            hook(self)

    # --- hooks --------------------------------------------------------------------------------------

    def _dt_hooks(self, name: str) -> list[Callable]:
        return list(self.__dict__[f"_optimizer_{name}_hooks"].values())

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; a result that is not None replaces the step's (args,
        kwargs).

        Examples
        --------
        >>> import dualtape as dt
        >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optimizer.step()
        before
        """
        return _registered(self.__dict__["_optimizer_step_pre_hooks"], hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _registered(self.__dict__["_optimizer_step_post_hooks"], hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict`; with ``prepend`` before the other hooks."""
        return _registered(self.__dict__["_optimizer_state_dict_pre_hooks"], hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after :meth:`state_dict`, whose result it may replace."""
        return _registered(self.__dict__["_optimizer_state_dict_post_hooks"], hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before :meth:`load_state_dict`, whose argument it may replace."""
        return _registered(self.__dict__["_optimizer_load_state_dict_pre_hooks"], hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after :meth:`load_state_dict`."""
        return _registered(self.__dict__["_optimizer_load_state_dict_post_hooks"], hook, prepend)


def _given(replacement: Any, otherwise: Any) -> Any:
    return otherwise if replacement is None else replacement


def _cast(param: Tensor, value: Any, on_device: bool, key: Any = None) -> Any:
    """A value of a loaded state as the state of ``param``; ``step`` counts keep their type, as far as they may."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.to(dtype=dtypes.float32, device=param.device) if on_device else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _cast(param, v, on_device, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        return type(value)(_cast(param, v, on_device) for v in value)  # type: ignore[call-arg]
    return value


# --- what optimizers are written with -------------------------------------------------------------


def _use_grad_for_differentiable(func: Callable) -> Callable:
    """Return a step that is recorded if the optimizer is differentiable, and not otherwise."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        # not set_grad_enabled: that acts before the block begins, and an interrupt in between would leave it on
        with modes.enable_grad() if self.defaults.get("differentiable") else modes.no_grad():
            return func(self, *args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """Return the number in a tensor of one element; numbers, and tensors of a program being traced, are returned
    unchanged.
    """
    return x.item() if isinstance(x, Tensor) and not modes.current().tracing else x


def _to_scalar(x: Any) -> Any:
    """Return a tensor of one element without its axes; numbers are returned unchanged."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> dtypes.dtype:
    """Return the dtype of step counts."""
    default = dtypes.get_default_dtype()
    return dtypes.float64 if default == dtypes.float64 and not is_fused else dtypes.float32


def op(name: str) -> Callable:
    """Return the function of an op."""
    if name not in FUNCTIONS:
        load(name)
    return FUNCTIONS[name]


def as_real(tensor: Tensor) -> Tensor:
    """Return complex numbers as pairs of real ones over the same memory; real ones unchanged."""
    return op("view_as_real")(tensor) if tensor.is_complex() else tensor


def _view_as_real(params: list, *state_and_grads: list) -> None:
    """Replace complex parameters, and their state, in the lists by views of real numbers."""
    for k, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[k] = as_real(tensors[k])


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return (fused, foreach) of an optimizer without these options: neither, as there are no kernels for lists."""
    return False, False


def check_lr(lr: Any) -> None:
    """Raise unless ``lr`` is a nonnegative number, or such a tensor of one element."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"lr is one number, got a Tensor of {lr.numel()} elements")
    check_not_negative("learning rate", lr)


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless ``value`` is 0 or more."""
    if not 0.0 <= value:
        raise ValueError(f"Invalid {name}: {value}; it must be 0 or more")


def check_betas(betas: Any) -> None:
    """Raise unless both numbers of ``betas`` are in [0, 1)."""
    for k in (0, 1):
        if not 0.0 <= betas[k] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {k}: {betas[k]}; it must be at least 0 and less than 1")


def check_forms(foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """Raise for forms of a step that exclude each other."""
    if fused and differentiable:
        raise RuntimeError("fused steps are not recorded: pass fused=False with differentiable=True")
    if fused and foreach:
        raise RuntimeError("pass fused=True or foreach=True, not both")


__dir__ = listing(__name__)
