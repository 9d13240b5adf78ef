"""``_C._autograd``: the stack of hooks on saved tensors, pushed and popped by hand, and version counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import modes
from .._tensor.tensor import Tensor
from ..autograd.saved import SavedVariable as SavedTensor
from ..autograd.saved_hooks import saved_tensors_hooks

__all__ = ["SavedTensor"]


def _push_saved_tensors_default_hooks(pack_hook: Callable, unpack_hook: Callable) -> None:
    """Pack what is saved from now on, until the pair is popped."""
    modes._set(saved_tensors_hooks(pack_hook, unpack_hook).change(modes.current()))


def _pop_saved_tensors_default_hooks() -> None:
    """Take the newest pair away."""
    mode = modes.current()
    if not mode.saved_hooks or type(mode.saved_hooks[-1]) is str:
        raise RuntimeError("there are no saved tensors hooks to pop: each pop takes what one push has put there")
    modes._set(mode.replace(saved_hooks=mode.saved_hooks[:-1]))


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool = False) -> tuple[Callable, Callable] | None:
    """The newest pair; None if there is none, or hooks are disabled."""
    hooks = modes.current().saved_hooks
    return hooks[-1] if hooks and type(hooks[-1]) is tuple else None


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """What whoever uses hooks now is told; None if they are enabled."""
    hooks = modes.current().saved_hooks
    return hooks[-1] if hooks and type(hooks[-1]) is str else None


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether hooks on saved tensors may be used."""
    return _saved_tensors_hooks_get_disabled_error_message() is None


def _saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None:
    """Refuse hooks from now on, with a message."""
    mode = modes.current()
    if fail_if_non_empty and any(type(pair) is tuple for pair in mode.saved_hooks):
        raise RuntimeError(error_message)
    modes._set(mode.replace(saved_hooks=(*mode.saved_hooks, str(error_message))))


def _saved_tensors_hooks_enable() -> None:
    """Allow hooks again."""
    mode = modes.current()
    if not _saved_tensors_hooks_is_enabled():
        modes._set(mode.replace(saved_hooks=mode.saved_hooks[:-1]))


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Say how often the memory of each tensor was written: what was written unnoticed stays so."""
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        tensor._shared_counter[0] = version


def _get_data_attr(tensor: Any) -> Any:
    """``tensor.data``."""
    return tensor.data
