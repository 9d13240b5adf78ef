"""Calling a module: its forward, between the hooks of the module and those of all modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from ..._tensor.tensor import Tensor
from ..._tracebacks import shorten
from ...autograd.hooks import RemovableHandle
from ...errors import warn
from ...overrides.active_overrides import enclosing, numpy_kind, profiling
from ._backward_hooks import BackwardHook
from ._state import ModuleHook

# of all modules, before those of each
_global_backward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
# Whether the global backward hooks are full ones; None before the first.
_global_full: list[bool | None] = [None]


P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _Forwarding(Protocol[P, R_co]):
    """What has a forward: a call takes its arguments, and returns what it returns."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class Calls:
    """How a module is called, and the hooks around its forward."""

    forward: Callable[..., Any]
    _backward_pre_hooks: OrderedDict
    _backward_hooks: OrderedDict
    _is_full_backward_hook: bool | None
    _forward_hooks: OrderedDict
    _forward_hooks_with_kwargs: OrderedDict
    _forward_hooks_always_called: OrderedDict
    _forward_pre_hooks: OrderedDict
    _forward_pre_hooks_with_kwargs: OrderedDict
    _compiled_call_impl: Callable | None = None

    if TYPE_CHECKING:

        def __call__(self: _Forwarding[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    else:

        def __call__(self, *args, **kwargs):
            # the dict is read by name: a class that has __getattr__ looks each attribute up the slow way
            own = self.__dict__
            if numpy_kind:
                args, kwargs = numpy_kind[0](args, kwargs)
            try:
                hooked = (
                    own["_forward_hooks"]
                    or own["_forward_pre_hooks"]
                    or own["_backward_hooks"]
                    or own["_backward_pre_hooks"]
                    or _global_forward_hooks
                    or _global_forward_pre_hooks
                    or _global_backward_hooks
                    or _global_backward_pre_hooks
                    or "_compiled_call_impl" in own
                    or profiling
                )
            except KeyError as error:
                raise AttributeError(
                    f"'{type(self).__name__}' object has no attribute {error}: call super().__init__() in its __init__"
                ) from None
            try:
                if hooked:
                    run = self._compiled_call_impl or self._call_impl
                    if profiling and (around := enclosing(f"nn.Module: {type(self).__name__}", "module")):
                        return around(run, *args, **kwargs)
                    return run(*args, **kwargs)
                return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
            except Exception as error:
                shorten(error)
                raise

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """Run the call with its hooks."""
        call = _Call(self, args, kwargs)
        try:
            return call.run()
        except Exception:
            call.call_always()
            raise

    # --- forward ----------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before the forward; a result that is not None replaces the arguments.

        With ``with_kwargs``, ``hook(module, args, kwargs)`` returns a pair.
        """
        marks = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return RemovableHandle.add(self._forward_pre_hooks, hook, marks, prepend)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after the forward; a result that is not None replaces the output.

        With ``with_kwargs``, ``hook(module, args, kwargs, output)``; with ``always_call``, also after an exception.
        """
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return RemovableHandle.add(self._forward_hooks, hook, marks, prepend)

    # --- backward ---------------------------------------------------------------------------------

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the module's backward; a result that is not None replaces the
        gradient of the outputs.
        """
        return RemovableHandle.add(self._backward_pre_hooks, hook, (), prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the module's backward; a result that is not None
        replaces the gradient of the inputs.
        """
        self._dt_set_full(True)
        return RemovableHandle.add(self._backward_hooks, hook, (), prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """The deprecated form, which sees the last operation of the module alone: use the full one."""
        self._dt_set_full(False)
        return RemovableHandle.add(self._backward_hooks, hook)

    def _dt_set_full(self, full: bool) -> None:
        if self._is_full_backward_hook is not None and self._is_full_backward_hook is not full:
            raise RuntimeError(_BOTH.format("a single Module"))
        self._is_full_backward_hook = full

    def _get_backward_hooks(self) -> tuple[list, list]:
        """Return the full hooks and the others, global ones first."""
        lists: tuple[list, list] = ([], [])
        for hooks, full in (
            (_global_backward_hooks, _global_full[0]),
            (self._backward_hooks, self._is_full_backward_hook),
        ):
            lists[full is False].extend(hooks.values())
        return lists

    def _get_backward_pre_hooks(self) -> list:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


class _Call:
    """One call of a module that has hooks, or of any while there are global ones."""

    def __init__(self, module: Any, args: tuple, kwargs: dict) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()  # the hooks among those to be called always that were

    def run(self) -> Any:
        module = self.module
        full, others = module._get_backward_hooks()
        before = module._get_backward_pre_hooks()
        self._prepare()
        backward = BackwardHook(module, full, before) if full or before else None
        if backward is not None:
            self.args = backward.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for number, hook, with_kwargs, always in self._forward_hooks():
            if always:
                self.called.add(number)
            self._follow(hook, with_kwargs)
        if backward is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warn(
                    "backward hooks are called for a module whose output is a tensor or a tuple of tensors; they are"
                    f" not for this one, which gave a {type(self.result).__name__}",
                )
            self.result = backward.setup_output_hook(self.result)
        if others:
            self._attach(others)
        return self.result

    def call_always(self) -> None:
        """Call the hooks with ``always_call`` that were not called, after an exception."""
        for number, hook, with_kwargs, always in self._forward_hooks():
            if always and number not in self.called:
                try:
                    self._follow(hook, with_kwargs)
                except Exception as error:
                    warn(
                        "a forward hook with always_call=True failed after forward had: its exception was silenced, and"
                        f" forward's is raised; it was: {error}",
                    )

    def _prepare(self) -> None:
        module = self.module
        for number, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if number in module._forward_pre_hooks_with_kwargs:
                answer = hook(module, self.args, self.kwargs)
                if answer is None:
                    continue
                if not (isinstance(answer, tuple) and len(answer) == 2):
                    raise RuntimeError(
                        f"a forward pre-hook with_kwargs=True must return None or a pair (args, kwargs), got {answer!r}"
                    )
                self.args, self.kwargs = answer
            else:
                answer = hook(module, self.args)
                if answer is not None:
                    self.args = answer if isinstance(answer, tuple) else (answer,)

    def _forward_hooks(self) -> list[tuple[int, Callable, bool, bool]]:
        """Yield (number, hook, whether it gets keywords, whether it is always called), global ones first."""
        found = []
        for hooks, with_kwargs, always in (
            (_global_forward_hooks, _global_forward_hooks_with_kwargs, _global_forward_hooks_always_called),
            (
                self.module._forward_hooks,
                self.module._forward_hooks_with_kwargs,
                self.module._forward_hooks_always_called,
            ),
        ):
            found += [(number, hook, number in with_kwargs, number in always) for number, hook in hooks.items()]
        return found

    def _follow(self, hook: Callable, with_kwargs: bool) -> None:
        given = (self.args, self.kwargs) if with_kwargs else (self.args,)
        answer = hook(self.module, *given, self.result)
        if answer is not None:
            self.result = answer

    def _attach(self, hooks: list) -> None:
        """Register hooks of the deprecated form on the node of the first tensor of the result."""
        tensor = self.result
        while not isinstance(tensor, Tensor):
            if isinstance(tensor, dict):
                tensor = next(value for value in tensor.values() if isinstance(value, Tensor))
            else:
                tensor = tensor[0]
        node = tensor.grad_fn
        if node is None:
            return
        for hook in hooks:
            node.register_hook(ModuleHook(hook, self.module))
        warn(
            "Using a non-full backward hook: it sees the gradients of the module's last operation alone, which may not"
            " be those of its inputs. Please use register_full_backward_hook",
            FutureWarning,
        )


_BOTH = "Cannot use both regular backward hooks and full backward hooks on {}. Please use only one of them."


# --- of all modules -------------------------------------------------------------------------------


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.module import register_module_forward_pre_hook
    >>> with register_module_forward_pre_hook(lambda module, args: print(type(module).__name__)):
    ...     y = dt.nn.Sequential(dt.nn.Linear(2, 1))(dt.ones(2))
    Sequential
    Linear
    """
    return RemovableHandle.add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module, before the hooks of its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: output * 0):
    ...     dt.nn.Identity()(dt.ones(2))
    tensor([0., 0.])
    """
    marks = [_global_forward_hooks_with_kwargs] if with_kwargs else []
    marks += [_global_forward_hooks_always_called] if always_call else []
    return RemovableHandle.add(_global_forward_hooks, hook, marks)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.module import register_module_full_backward_pre_hook
    >>> with register_module_full_backward_pre_hook(lambda module, grads: print(grads)):
    ...     dt.nn.Identity()(dt.ones(1, requires_grad=True)).backward()
    (tensor([1.]),)
    """
    return RemovableHandle.add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward of every module.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.module import register_module_full_backward_hook
    >>> with register_module_full_backward_hook(lambda module, grads, _: print(grads)):
    ...     dt.nn.Identity()(dt.ones(1, requires_grad=True)).backward()
    (tensor([1.]),)
    """
    _set_global(True)
    return RemovableHandle.add(_global_backward_hooks, hook)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """The deprecated form of :func:`register_module_full_backward_hook`, which sees a module's last operation alone.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.module import register_module_backward_hook  # doctest: +SKIP
    >>> handle = register_module_backward_hook(lambda module, grads, _: None)  # doctest: +SKIP
    """
    _set_global(False)
    return RemovableHandle.add(_global_backward_hooks, hook)


def _set_global(full: bool) -> None:
    if _global_full[0] is not None and _global_full[0] is not full:
        raise RuntimeError(_BOTH.format("all modules, as global Module hooks"))
    _global_full[0] = full
