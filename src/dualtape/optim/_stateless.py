"""A context that gives an optimizer other parameters and another state."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .._tensor.tensor import Tensor
from .optimizer import Optimizer


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Context in which ``optimizer`` has other parameters, options and state; its own are restored afterwards.

    Parameters
    ----------
    optimizer : Optimizer
        One that has made a step.
    swapin_parameters : dict of Tensor
        In the order of the optimizer's own.
    swapin_optim_state : dict
        As :meth:`Optimizer.state_dict` gives it, for those parameters.

    Examples
    --------
    >>> import dualtape as dt
    >>> x, y = dt.ones(1, requires_grad=True), dt.zeros(1, requires_grad=True)
    >>> optimizer = dt.optim.SGD([x], lr=0.5, momentum=0.5)
    >>> x.sum().backward(); y.sum().backward(); optimizer.step()
    >>> with dt.optim.swap_in_optimizer_params_and_state(optimizer, {"y": y}, optimizer.state_dict()):
    ...     optimizer.step()
    >>> x, y
    (tensor([0.5000], requires_grad=True), tensor([-0.7500], requires_grad=True))
    """
    state, groups, params = _checked(optimizer, swapin_parameters, swapin_optim_state)
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        swapped: defaultdict[Any, Any] = defaultdict(dict)
        for mine, theirs, tensors in zip(optimizer.param_groups, groups, params, strict=True):
            mine.update(theirs, params=tensors)
            for p, number in zip(tensors, theirs["params"], strict=True):
                swapped[p] = dict(state.get(number, {}))
        optimizer.state = swapped
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _checked(optimizer: Optimizer, parameters: dict[str, Tensor], given: Any) -> tuple[dict, list[dict], list[list]]:
    """Return the state, the groups, and the tensors of each group, checked."""
    if not optimizer.state:
        raise _refused("requires initialized optimizer state: make a step first")
    if not isinstance(given, dict):
        raise _refused(f"requires an optimizer's state_dict, got {type(given).__name__}")
    state, groups = given.get("state"), given.get("param_groups")
    if not isinstance(state, dict):
        raise _refused(f"expects a dict under 'state', got {type(state).__name__}")
    if any(isinstance(key, Tensor) for key in state):
        raise _refused("requires a state that is keyed by the numbers of parameters, not by tensors")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise _refused("requires the state of each parameter to be a dict")
    if not isinstance(groups, list):
        raise _refused(f"expects a list under 'param_groups', got {type(groups).__name__}")
    if len(groups) != len(optimizer.param_groups):
        raise _refused(f"got {len(groups)} parameter groups where the optimizer has {len(optimizer.param_groups)}")
    tensors, start, params = list(parameters.values()), 0, []
    for k, (mine, theirs) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        numbers = theirs.get("params") if isinstance(theirs, dict) else None
        if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
            raise _refused("requires each param group to be a dict with a list of numbers as its 'params'")
        if len(numbers) != len(mine["params"]):
            raise _refused(f"got {len(numbers)} params in group {k} where the optimizer has {len(mine['params'])}")
        if set(mine) != set(theirs):
            raise _refused(f"requires the same options; in group {k} they differ by {sorted(set(mine) ^ set(theirs))}")
        params.append(tensors[start : start + len(numbers)])
        start += len(numbers)
        if len(params[-1]) != len(numbers):
            raise _refused("requires as many parameters as the optimizer has")
    extra = set(state).difference(*[group["params"] for group in groups])
    if extra:
        raise _refused(f"got a state for {sorted(extra, key=repr)}, which no group has")
    return state, groups, params


def _refused(what: str) -> RuntimeError:
    return RuntimeError(f"swap_in_optimizer_params_and_state {what}")
