"""``functional_call``: call a module, or any object with parameters as attributes, with other values for them; and
stack the parameters of several objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import starmap
from operator import setitem
from typing import TYPE_CHECKING, Any

from .._tensor.tensor import Tensor
from .._tracebacks import shortened
from ..ops import FUNCTIONS

if TYPE_CHECKING:
    from .._typing import Tree
    from ..nn import Module

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


@shortened
def functional_call(
    module: Callable,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Tree = None,
    kwargs: dict | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call ``module`` with other tensors in place of its own, which are restored afterwards.

    Parameters
    ----------
    module : nn.Module or callable object
        An object keeps tensors as attributes, its own or those of objects that are its attributes: ``"layer.weight"``
        is ``module.layer.weight``.
    parameter_and_buffer_dicts : dict or sequence of dict
        By dotted name, the tensors to call it with. What is not named keeps its own.
    args : tuple or any
        Arguments of the call; one that is no tuple is the only one.
    kwargs : dict, optional
        Keyword arguments of the call.
    tie_weights : bool
        A tensor that has several names in the module is replaced under all of them.
    strict : bool
        Raise if a tensor of the module is not replaced, or a name is not the module's; else such names are passed over.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Line:
    ...     def __init__(self):
    ...         self.slope, self.offset = dt.tensor(2.0), dt.tensor(1.0)
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> loss = lambda params, x: dt.func.functional_call(Line(), params, x)
    >>> dt.func.grad(loss)({"slope": dt.tensor(3.0), "offset": dt.tensor(0.0)}, dt.tensor(5.0))
    {'slope': tensor(5.), 'offset': tensor(1.)}
    """
    given = _merged(parameter_and_buffer_dicts)
    own = dict(_tensors(module))
    unexpected = [name for name in given if name not in own]
    missing = [name for name in own if name not in given]
    if tie_weights:
        missing = [name for name in missing if not any(own[name] is own[other] for other in given if other in own)]
    if strict and (unexpected or missing):
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}: Unexpected key(s): {unexpected}. Missing key(s):"
            f" {missing}. It has {sorted(own)}"
        )
    given = {name: value for name, value in given.items() if name in own}
    if tie_weights:
        given = _tied(given, own)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given):
        return module(*arguments, **(kwargs or {}))


def stack_module_state(models: Sequence[Callable]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The tensors of several objects of one class, stacked by name, for :func:`vmap` over :func:`functional_call`.

    Parameters
    ----------
    models : sequence of nn.Module or callable objects
        As :func:`functional_call` takes them.

    Returns
    -------
    params, buffers : dict
        The parameters, as new leaves; and the other tensors. A parameter of an object that is no module is an
        ``nn.Parameter``, or requires grad.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Line:
    ...     def __init__(self, slope):
    ...         self.slope, self.offset = dt.nn.Parameter(dt.tensor(slope)), dt.tensor(1.0)
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> lines = [Line(2.0), Line(3.0)]
    >>> state = dt.func.stack_module_state(lines)
    >>> dt.func.vmap(lambda *state: dt.func.functional_call(lines[0], state, dt.tensor(10.0)))(*state).detach()
    tensor([21., 31.])
    """
    from ..nn import Parameter

    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got an empty list")
    if any(getattr(m, "training", None) != getattr(models[0], "training", None) for m in models):
        raise RuntimeError(
            "stack_module_state: some models are in training mode and some are not: call train() or eval() on all"
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: the models must be of the same class")
    states = [_untied(dict(_tensors(m))) for m in models]
    if any(state.keys() != states[0].keys() for state in states):
        raise RuntimeError(
            f"stack_module_state: Expected all models to have tensors of the same names, got {list(map(list, states))}"
        )
    params: dict[str, Tensor] = {}
    buffers: dict[str, Tensor] = {}
    for name, first in states[0].items():
        each = [state[name] for state in states]
        if any(one.requires_grad != first.requires_grad for one in each):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = FUNCTIONS["stack"]([one.detach() for one in each])
        is_parameter = isinstance(first, Parameter) or (first.requires_grad and not _is_module(models[0]))
        (params if is_parameter else buffers)[name] = stacked.requires_grad_(first.requires_grad)
    return params, buffers


def replace_all_batch_norm_modules_(root: Module) -> Any:
    """Make the batch norms of a module use the statistics of their batch alone: running statistics cannot be written
    inside a transform.

    Examples
    --------
    >>> import dualtape as dt
    >>> net = dt.nn.Sequential(dt.nn.BatchNorm1d(2))
    >>> dt.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
    True
    """
    from ..nn import modules

    for module in root.modules():
        if isinstance(module, modules.batchnorm._BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def _merged(dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]]) -> dict[str, Any]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(d, Mapping) for d in dicts):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    merged: dict[str, Any] = {}
    for one in dicts:
        for name, value in one.items():
            if name in merged:
                raise ValueError(f"{name} appears in multiple dictionaries; behavior of functional call is ambiguous")
            merged[name] = value
    return merged


def _tensors(module: Any, prefix: str = "", seen: frozenset = frozenset()) -> Iterator[tuple[str, Tensor]]:
    """Return the tensors among an object's attributes, and those of its attributes, by dotted name; of a module its
    parameters and buffers.
    """
    if _is_module(module):
        yield from module.named_parameters(prefix.removesuffix("."), remove_duplicate=False)
        yield from module.named_buffers(prefix.removesuffix("."), remove_duplicate=False)
        return
    for name, value in list(getattr(module, "__dict__", {}).items()):
        if isinstance(value, Tensor):
            yield prefix + name, value
        elif isinstance(value, (list, tuple)):
            for k, item in enumerate(value):
                if _is_part(item) and id(item) not in seen:
                    yield from _tensors(item, f"{prefix}{name}.{k}.", seen | {id(module)})
        elif _is_part(value) and id(value) not in seen:
            yield from _tensors(value, f"{prefix}{name}.", seen | {id(module)})


def _is_module(value: object) -> bool:
    return {"_parameters", "_buffers", "_modules"} <= getattr(value, "__dict__", {}).keys()


def _is_part(value: object) -> bool:
    return (
        callable(value)
        and hasattr(value, "__dict__")
        and not isinstance(value, type)
        and not hasattr(value, "__code__")
    )


def _tied(given: dict[str, Any], own: dict[str, Tensor]) -> dict[str, Any]:
    """Return ``given`` extended by the other names of the tensors that it replaces."""
    tied = dict(given)
    for name, value in given.items():
        for other, tensor in own.items():
            if tensor is own[name] and other not in given:
                tied[other] = value
            elif tensor is own[name] and other in given and given[other] is not value:
                raise ValueError(
                    f"functional_call: {name} and {other} are one tensor in the module, and two different ones were"
                    " given for them"
                )
    return tied


def _untied(own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return ``own`` with the first name of each tensor only."""
    names = {id(tensor): name for name, tensor in reversed(own.items())}
    return {name: tensor for name, tensor in own.items() if names[id(tensor)] == name}


def _owner(module: Module, name: str) -> tuple[Any, str]:
    *path, last = name.split(".")
    for part in path:
        module = module[int(part)] if isinstance(module, (list, tuple)) else getattr(module, part)
    return module, last


@contextmanager
def _replaced(module: Any, given: dict[str, Any]) -> Iterator[None]:
    """Context in which attributes have other values; they are restored however the block ends."""
    before: list[tuple[dict, str, Any]] = []  # the latest first: one attribute may have two names
    restored = starmap(setitem, before)
    try:
        for name, value in given.items():
            owner, attribute = _owner(module, name)
            place = owner.__dict__
            if _is_module(owner):
                place = place["_parameters" if attribute in place["_parameters"] else "_buffers"]
            before.insert(0, (place, attribute, place[attribute]))
            place[attribute] = value
        yield
    finally:
        deque(restored, 0)  # all in one call: an interrupt finds all of them put back
