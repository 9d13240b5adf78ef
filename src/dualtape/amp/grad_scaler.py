"""GradScaler: multiply a loss before backward, so that small gradients of narrow dtypes do not underflow, and divide
the gradients before the step; steps with infinite or NaN gradients are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

from .. import modes
from .._tensor import dtypes
from .._tensor.device import device as Device
from .._tensor.tensor import Tensor, wrap
from ..errors import warn
from ..sparse import layouts


class OptState(Enum):
    """What was done with an optimizer's gradients since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, and skips steps whose gradients are not finite.

    Parameters
    ----------
    device : str
        ``"cpu"``; for another the scaler does nothing, and says so.
    init_scale : float
        What losses are multiplied with at first.
    growth_factor, growth_interval : float, int
        After so many steps in a row with finite gradients the scale grows by the factor.
    backoff_factor : float
        After a step that was left out the scale shrinks by it.
    enabled : bool
        If False: losses and steps are as they are without it.

    Examples
    --------
    >>> import dualtape as dt
    >>> scaler = dt.amp.GradScaler("cpu", init_scale=8.0)
    >>> x = dt.tensor(3.0, requires_grad=True)
    >>> scaler.scale(x * x).backward(); x.grad
    tensor(48.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = Device(device).type
        self._enabled = enabled
        if enabled and self._device != "cpu":
            warn(
                f"GradScaler is enabled, but {self._device} is not available here. Disabling: pass device='cpu'",
                UserWarning,
            )
            self._enabled = False
        if self._enabled and not growth_factor > 1.0:
            raise AssertionError(f"The growth factor must be > 1.0, got {growth_factor}")
        if self._enabled and not backoff_factor < 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0, got {backoff_factor}")
        self._scale = float(init_scale)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._used = False
        self._optimizers: dict[int, tuple[OptState, bool]] = {}  # by id: what was done, whether all was finite

    def scale(self, outputs: Any) -> Any:
        """A loss, or several in a container, times the scale.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.amp.GradScaler("cpu", init_scale=4.0).scale([dt.ones(1), dt.ones(1)])
        [tensor([4.]), tensor([4.])]
        """
        if not self._enabled:
            return outputs
        self._used = True
        if isinstance(outputs, Tensor):
            return outputs * wrap(np.asarray(self._scale, np.float32))
        if isinstance(outputs, Iterable):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, to inspect or clip them before the step.

        Examples
        --------
        >>> import dualtape as dt
        >>> from types import SimpleNamespace
        >>> scaler, x = dt.amp.GradScaler("cpu"), dt.tensor(3.0, requires_grad=True)
        >>> scaler.scale(x * x).backward()
        >>> scaler.unscale_(SimpleNamespace(param_groups=[{"params": [x]}])); x.grad
        tensor(6.)
        """
        if not self._enabled:
            return
        state, _ = self._state(optimizer)
        if state is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        if not self._used:
            raise AssertionError("Attempted unscale_ but scale() was not called: scale the loss first")
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not gradients:
            self._optimizers[id(optimizer)] = (OptState.UNSCALED, True)
            return
        if any(g.dtype == dtypes.float16 for g in gradients):
            raise ValueError("Attempting to unscale FP16 gradients: keep the parameters in float32")
        finite = True
        with modes.no_grad():
            for gradient in gradients:
                values = gradient.coalesce()._values() if isinstance(gradient, layouts.SparseLayout) else gradient
                finite = finite and bool(values.isfinite().all())
                gradient.mul_(1.0 / self._scale)
        self._optimizers[id(optimizer)] = (OptState.UNSCALED, finite)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Run ``optimizer.step()`` if all gradients are finite; they are divided by the scale first, unless they were.

        Examples
        --------
        >>> import dualtape as dt
        >>> from types import SimpleNamespace
        >>> x = dt.tensor(1.0, requires_grad=True)
        >>> optimizer = SimpleNamespace(param_groups=[{"params": [x]}], step=lambda: print("step", x.grad))
        >>> scaler = dt.amp.GradScaler("cpu")
        >>> scaler.scale(x * 2).backward(); scaler.step(optimizer)
        step tensor(2.)
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if self._state(optimizer)[0] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if self._state(optimizer)[0] is OptState.READY:
            self.unscale_(optimizer)
        finite = self._state(optimizer)[1]
        result = optimizer.step(*args, **kwargs) if finite else None
        self._optimizers[id(optimizer)] = (OptState.STEPPED, finite)
        return result

    def update(self, new_scale: Any = None) -> None:
        """Increase or decrease the scale, or set it, at the end of a step.

        Examples
        --------
        >>> import dualtape as dt
        >>> scaler = dt.amp.GradScaler("cpu")
        >>> loss = scaler.scale(dt.ones(()))
        >>> scaler.update(2.0); scaler.get_scale()
        2.0
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._optimizers:
            raise AssertionError("No inf checks were recorded prior to update: call step() or unscale_() first")
        elif all(finite for _, finite in self._optimizers.values()):
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = np.float32(self._scale * self._growth_factor)
                self._scale = float(grown) if np.isfinite(grown) else self._scale
                self._growth_tracker = 0
        else:
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        self._optimizers.clear()

    def _state(self, optimizer: Any) -> tuple[OptState, bool]:
        return self._optimizers.get(id(optimizer), (OptState.READY, True))

    def get_scale(self) -> float:
        """The scale; 1.0 if the scaler is disabled.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.amp.GradScaler("cpu", enabled=False).get_scale()
        1.0
        """
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Return whether it is enabled."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps after which the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the scaler.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.amp.GradScaler("cpu").state_dict()["scale"]
        65536.0
        """
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`.

        Examples
        --------
        >>> import dualtape as dt
        >>> scaler = dt.amp.GradScaler("cpu")
        >>> scaler.load_state_dict(dt.amp.GradScaler("cpu", init_scale=2.0).state_dict()); scaler.get_scale()
        2.0
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled scaler.")
        self._scale = float(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
