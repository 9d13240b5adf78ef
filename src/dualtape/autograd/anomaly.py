"""Anomaly mode: an error or NaN in backward is reported with the forward line that caused it.

While it is on, every node remembers the stack on which it was made, and the node whose backward made it, if one
did. The engine then asks about each node it runs: what to say of its failure, and whether its gradients have NaN.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from ..arrays import Absent
from ..arrays.kernels.basics import all_samples
from ..errors import warn
from .versions import _PACKAGE, describe

if TYPE_CHECKING:
    from .._typing import Array, Gradients
    from .node import Node

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


class Anomaly:
    """The state and the checks of anomaly mode, called by the engine and where nodes are created."""

    __slots__ = ("check_nan", "stacks", "check_forward")

    def __init__(self, check_nan: bool, stacks: bool = True, check_forward: bool = False) -> None:
        self.check_nan = check_nan
        self.stacks = stacks
        self.check_forward = check_forward

    def remember(self, node: Node) -> None:
        """Store the current stack on ``node``, and the node whose backward is running."""
        if not self.stacks:
            return
        from .engine import current_task

        stack = []
        frame = sys._getframe(1)
        while frame is not None:
            if not frame.f_globals.get("__name__", "").startswith(_PACKAGE):
                stack.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back  # type: ignore[assignment]
        extra = node._more()
        extra.stack = stack[::-1]
        task = current_task()
        extra.parent = None if task is None else task.node

    def look_forward(self, op: Any, arguments: list, results: list) -> None:
        """Raise if a result of ``op`` has NaN or infinities."""
        if not self.check_forward:
            return
        for i, result in enumerate(results):
            count = _bad(result)
            if count:
                given = any(_bad(a) for value in arguments for a in (value if isinstance(value, list) else (value,)))
                whence = "passed on from its arguments" if given else "which had none in its arguments"
                raise RuntimeError(
                    f"{op.name} computed NaN or infinity in its {i}th result: {count} of {result.size} entries,"
                    f" {whence}."
                )

    def explain(self, node: Node, error: Exception) -> None:
        """Report where ``node`` was created, in a warning and in a note on ``error``."""
        lines: list[str] = []
        extra = _extra(node)
        if extra is None or extra.stack is None:
            lines.append(
                f"Error detected in {node._title()}. No forward pass information available: turn anomaly detection on"
                " in the forward"
                " pass too"
            )
        else:
            lines.append(
                f"Error detected in {node._title()}. Traceback of forward call that caused the"
                f" error:\n{_shown(extra.stack)}"
            )
        seen = {node}
        parent = None if extra is None else extra.parent
        while parent is not None and parent not in seen:
            seen.add(parent)
            extra = _extra(parent)
            where = (
                "no forward pass information available" if extra is None or extra.stack is None else _shown(extra.stack)
            )
            lines.append(
                f"Previous calculation was induced by {parent._title()}. Traceback of forward call that induced the"
                " previous"
                f" calculation:\n{where}"
            )
            parent = None if extra is None else extra.parent
        text = "\n\n".join(lines)
        error.add_note(text)
        # Where warnings are errors, this one must not replace the error that it belongs to.
        with contextlib.suppress(UserWarning):
            warn(text, UserWarning)

    def look(self, node: Node, arrived: list, grads: Gradients) -> None:
        """Raise if a gradient computed by ``node`` has NaN."""
        if not self.check_nan:
            return
        for i, (edge, grad) in enumerate(zip(node._edges, grads, strict=True)):
            if edge is None or grad is None:
                continue
            count = _nans(grad)
            if count:
                given = [_nans(g) for g in arrived]
                whence = (
                    "passed on from the gradient it was given"
                    if any(given)
                    else "which had none in the gradient it was given"
                )
                size = int(np.prod(grad.shape))
                error = RuntimeError(
                    f"Function '{node._title()}' returned nan values in its {i}th output: {count} of {size} entries,"
                    f" {whence}."
                )
                self.explain(node, error)
                raise error


def _extra(node: Node) -> Any:
    """Return the record of rare attributes of a node; for a view that was written, that of the operation that
    wrote it.
    """
    inner = getattr(node, "fn", None) if node._extra is None or node._extra.stack is None else None
    return node._extra if inner is None else inner._extra


def _nans(grad: Any) -> int:
    array = getattr(grad, "_array", grad)
    if type(array) is Absent:
        return 0 if array.dtype.kind not in "fc" else int(grad.isnan().sum())
    return 0 if array is None or array.dtype.kind not in "fc" else int(np.isnan(all_samples(array)).sum())


def _bad(value: Array) -> int:
    """Return the number of NaN or infinite entries of an array."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return int((~np.isfinite(value)).sum()) if kind and kind in "fc" else 0


def told(stack: list) -> list[str]:
    """Return a stack as text, one entry for each frame."""
    import linecache

    lines = []
    for place in stack:
        where = describe(place)
        assert where is not None
        file, _, rest = where.rpartition(":")
        number, _, function = rest.partition(", in ")
        source = linecache.getline(file, int(number), None).strip()
        shown = f"    {source}\n" if source else ""
        lines.append(f'  File "{file}", line {number}, in {function}\n{shown}')
    return lines


def _shown(stack: list) -> str:
    return "".join(told(stack)).rstrip()


def _changed(mode: modes.Mode, enabled: bool, settings: tuple) -> modes.Mode:
    return mode.replace(anomaly=Anomaly(*settings) if enabled else None)


class detect_anomaly(modes.ModeContext):
    """Context in which errors in backward show the forward call that caused them, and NaN in backward raises.

    Forward and backward must both run inside. It costs time: use it to find a mistake.

    Parameters
    ----------
    check_nan : bool
        Whether NaN in a gradient is an error.
    stacks : bool
        Whether nodes remember the stack on which they were made: what costs most.
    check_forward : bool
        Whether NaN or an infinity in the result of an op is an error, at once.

    Examples
    --------
    >>> import warnings
    >>> import dualtape as dt
    >>> x = dt.tensor([0.0, 1.0], requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"), dt.autograd.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).sum().backward()
    ...     except RuntimeError as error:
    ...         print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output: 1 of 2 entries, which had none in the gradient
    it was given.
    """

    fields = ("anomaly",)

    def __init__(self, check_nan: bool = True, *, stacks: bool = True, check_forward: bool = False) -> None:
        self.settings = (bool(check_nan), bool(stacks), bool(check_forward))
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for"
            " debugging.",
            UserWarning,
        )

    def change(self, mode: modes.Mode) -> modes.Mode:
        return _changed(mode, True, self.settings)

    def clone(self) -> modes.ModeContext:
        fresh = object.__new__(detect_anomaly)
        fresh.settings = self.settings
        return fresh


class set_detect_anomaly(modes.Switch):
    """Switch anomaly detection on or off: immediately as a function, or until the end of a ``with`` block.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.autograd.set_detect_anomaly(True):
    ...     dt.is_anomaly_enabled()
    True
    """

    fields = ("anomaly",)

    def __init__(self, mode: bool, check_nan: bool = True, *, stacks: bool = True, check_forward: bool = False) -> None:
        self.settings = (bool(check_nan), bool(stacks), bool(check_forward))
        super().__init__(mode)

    def change(self, mode: modes.Mode) -> modes.Mode:
        return _changed(mode, self.enabled, self.settings)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_anomaly_enabled(False); dt.is_anomaly_enabled()
    False
    """
    if not isinstance(mode, bool) or not isinstance(check_nan, bool):
        raise TypeError("set_anomaly_enabled(): mode and check_nan must be bools")
    set_detect_anomaly(mode, check_nan)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_anomaly_enabled()
    False
    """
    return modes.current().anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection checks for NaN.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_anomaly_check_nan_enabled()
    True
    """
    anomaly = modes.current().anomaly
    return anomaly is None or anomaly.check_nan
