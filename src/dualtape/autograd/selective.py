"""Selective checkpointing: keep the results of chosen ops of a checkpointed function, and recompute the others.

Two dispatch modes share one store. The first run stores the results that the policy wants saved, in order; the second
run reads them instead of computing them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from .._tensor.tensor import Tensor, alias
from ..overrides.dispatch_modes import TorchDispatchMode
from .versions import caller, describe

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """A policy's decision about an op: keep its results, or recompute them.

    Examples
    --------
    >>> from dualtape.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE.name
    'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


_SAVING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """Information that a policy receives beside the op: whether this is the recomputation.

    Examples
    --------
    >>> from dualtape.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=True).is_recompute
    True
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


_RECOMPUTE = object()  # in the place of results that are not kept


class _Store:
    """The results of each op that the first run kept, in order of execution."""

    def __init__(self, policy: Callable, mutable: bool) -> None:
        self.policy = policy
        self.mutable = mutable
        self.kept: dict[Any, list] = {}

    def wants(self, func: Callable, args: tuple, kwargs: dict) -> bool:
        answer = self.policy(SelectiveCheckpointContext(is_recompute=False), func, *args, **kwargs)
        if isinstance(answer, bool):
            return answer
        if not isinstance(answer, CheckpointPolicy):
            raise TypeError(
                f"a checkpoint policy must return a CheckpointPolicy or a bool, got {type(answer).__name__}"
            )
        return answer in _SAVING


def _held(value: Any) -> Any:
    """Return a result as it is stored: without history, with its current version."""
    if isinstance(value, Tensor):
        return (alias(value), value._version)
    return type(value)(_held(v) for v in value) if type(value) in (list, tuple) else value


class _Keeping(TorchDispatchMode):
    def __init__(self, store: _Store) -> None:
        self.store = store

    def __torch_dispatch__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        held = _held(out) if self.store.wants(func, args, kwargs) else _RECOMPUTE
        self.store.kept.setdefault(func, []).append(held)
        return out


class _Taking(TorchDispatchMode):
    def __init__(self, store: _Store) -> None:
        self.store = store
        self.at: dict[Any, int] = {}

    def __enter__(self) -> Any:
        self.at.clear()  # with retain_graph, there is a run for each backward
        return super().__enter__()

    def __torch_dispatch__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        place = self.at.get(func, 0)
        held = self.store.kept.get(func, [])
        if place >= len(held):
            raise RuntimeError(
                f"{getattr(func, '__name__', func)} is asked for more often in the second run than in the first: the"
                " checkpointed function"
                " must do the same both times"
            )
        self.at[func] = place + 1
        if held[place] is _RECOMPUTE:
            return func(*args, **kwargs)
        return self._taken(held[place], func)

    def _taken(self, held: Any, func: Callable) -> Any:
        if type(held) is tuple and len(held) == 2 and isinstance(held[0], Tensor) and isinstance(held[1], int):
            tensor, version = held
            if tensor._version != version and not self.store.mutable:
                raise RuntimeError(
                    f"a result of {getattr(func, '__name__', func)} that was kept for the second run has been modified"
                    " in place since: pass"
                    " allow_cache_entry_mutation=True if that is meant"
                )
            return alias(tensor)
        return type(held)(self._taken(h, func) for h in held) if type(held) in (list, tuple) else held


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple:
    """Return the two contexts for ``checkpoint(..., context_fn=...)`` that keep the results chosen by a policy.

    Parameters
    ----------
    policy_fn_or_list : callable or list
        ``policy(ctx, op, *args, **kwargs)``, which gives a :class:`CheckpointPolicy`; or the list of ops whose
        results are kept.
    allow_cache_entry_mutation : bool
        Whether a kept result may have been written in place when the second run takes it.

    Examples
    --------
    >>> import functools
    >>> import dualtape as dt
    >>> from dualtape.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [dt.exp])
    >>> x = dt.tensor([1.0], requires_grad=True)
    >>> y = checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False, context_fn=contexts)
    >>> y.backward(); x.grad
    tensor([-2.4783])
    """
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    elif isinstance(policy_fn_or_list, list):
        chosen = list(policy_fn_or_list)
        for op in chosen:
            if not callable(op):
                raise ValueError(f"expected a list of ops, such as [dualtape.mm], and {op!r} is none")

        def policy(ctx: Any, op: Callable, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if any(op is c for c in chosen) else CheckpointPolicy.PREFER_RECOMPUTE
    else:
        raise TypeError(
            f"policy_fn_or_list must be a function or a list of ops, got {type(policy_fn_or_list).__name__}"
        )
    store = _Store(policy, allow_cache_entry_mutation)
    return _Keeping(store), _Taking(store)


class Log:
    """The ops of both runs of a checkpointed function, for an error that compares them."""

    def __init__(self) -> None:
        self.runs: tuple[list[str], list[str]] = ([], [])

    def contexts(self) -> tuple:
        return _Noting(self.runs[0]), _Noting(self.runs[1])

    def __str__(self) -> str:
        titles = ("the original forward", "the recomputation")
        return "\n".join(
            f"\nOps that ran in {title}, {len(lines)} of them:\n" + "\n".join(f"  {line}" for line in lines)
            for title, lines in zip(titles, self.runs, strict=True)
        )


class _Noting(TorchDispatchMode):
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __enter__(self) -> Any:
        self.lines.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        said = ", ".join(f"{a.dtype}{list(a.shape)}" if isinstance(a, Tensor) else repr(a) for a in args)
        self.lines.append(f"{getattr(func, '__name__', func)}({said})  # {describe(caller())}")
        return func(*args, **(kwargs or {}))
