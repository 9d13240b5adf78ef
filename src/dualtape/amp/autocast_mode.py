"""Autocast: matrix products run in a narrower dtype, and precision-critical functions in float32.

It is a function mode: arguments are cast before the function runs, by ordinary recorded conversions, so that gradients
have the dtype of the original. Functions composed of others are cast inside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

from .. import modes
from .._tensor import dtypes
from .._tensor.device import device as Device
from .._tensor.tensor import Tensor
from ..errors import warn
from ..overrides.subclass import activate_overrides
from .lists import NARROW, SINGLE, WHOLE, WIDEST

_NARROW_TYPES = (dtypes.bfloat16, dtypes.float16)
_settings: dict[str, Any] = {"dtype": dtypes.bfloat16, "cache": True}


class Casting:
    """The entry of autocast among the function modes."""

    def __init__(self, dtype: Any, cache: dict | None) -> None:
        self.dtype = dtype
        self.cache = cache  # what leaves were cast to: (version, tensor), by leaf

    def for_second_run(self) -> Casting:
        """Return the same casts for the recomputation of a checkpoint, which has a graph of its own and shares no
        cache.
        """
        return Casting(self.dtype, None if self.cache is None else {})

    def __torch_function__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").removeprefix("linalg_").removeprefix("fft_").removeprefix("nn_")
        if kwargs.get("out") is not None:
            return func(*args, **kwargs)
        if name in NARROW and not (name == "einsum_pair" and _sums_nothing(args[2])):
            return self._on(func, args, kwargs, self.dtype)
        if name in SINGLE or name == "pad" and _mode_of_pad(args, kwargs) not in ("constant", "circular"):
            return self._on(func, args, kwargs, dtypes.float32)
        if name in WIDEST:
            return self._on(func, args, kwargs, _widest((*args, *kwargs.values())))
        body = getattr(func, "__wrapped__", None)
        if name in WHOLE or not isinstance(body, FunctionType):
            return func(*args, **kwargs)
        mode = modes.current()  # what a function is made of is seen in its turn
        inside = mode.replace(functions=(*mode.functions, self))
        try:
            modes._set(inside)
            return body(*args, **kwargs)
        finally:
            now = modes._set(mode).old_value
            if now is not inside:
                modes._set(now.replace(functions=modes.without_last(now.functions, self)))

    def _on(self, func: Callable, args: tuple, kwargs: dict, dtype: Any) -> Any:
        if dtype is None:
            return func(*args, **kwargs)
        return func(*(self._cast(a, dtype) for a in args), **{k: self._cast(v, dtype) for k, v in kwargs.items()})

    def _cast(self, value: Any, dtype: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
            return type(value)(self._cast(part, dtype) for part in value)
        if not isinstance(value, Tensor) or not value.is_floating_point() or value.dtype in (dtype, dtypes.float64):
            return value
        if self.cache is None or not (value.is_leaf and value.requires_grad and modes.current().grad):
            return value.to(dtype)
        key, version = (id(value), dtype), value._version
        known = self.cache.get(key)
        if known is None or known[0] != version:
            known = self.cache[key] = (version, value.to(dtype), value)
        return known[1]


def _sums_nothing(equation: str) -> bool:
    """Return whether an equation of two operands is an elementwise product, which keeps its dtype."""
    operands, _, result = equation.partition("->")
    return set(operands) - {","} <= set(result)


def _mode_of_pad(args: tuple, kwargs: dict) -> Any:
    return args[2] if len(args) > 2 else kwargs.get("mode", "constant")


def _widest(values: Any) -> Any:
    found: Any = None
    for value in values:
        for part in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(part, Tensor) and part.is_floating_point():
                found = part.dtype if found is None else dtypes.promote_types(found, part.dtype)
    return found


def _active() -> Casting | None:
    return next((mode for mode in reversed(modes.current().functions) if isinstance(mode, Casting)), None)


def _with(mode: modes.Mode, casting: Casting | None) -> modes.Mode:
    others = tuple(each for each in mode.functions if not isinstance(each, Casting))
    return mode.replace(functions=others if casting is None else (*others, casting))


class autocast(modes.ModeContext):
    """Context, or decorator, in which matrix products run in ``dtype``, and losses and other precision-critical
    functions in float32.

    Parameters
    ----------
    device_type : str
        ``"cpu"``; for others nothing is cast.
    dtype : dtype, optional
        ``bfloat16`` (the default) or ``float16``.
    enabled : bool
        If False: inside, nothing is cast, whatever is outside.
    cache_enabled : bool, optional
        Keep what leaves were cast to until autocast is left.

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.ones(2, 2, requires_grad=True)
    >>> with dt.autocast("cpu"):
    ...     y = (w @ w).exp()
    >>> y.dtype
    dualtape.bfloat16
    >>> y.sum().backward(); w.grad.dtype
    dualtape.float32
    """

    fields = ("functions",)

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        self.device = _checked(device_type)
        wanted = _settings["dtype"] if dtype is None else dtypes.of(dtypes.to_numpy(dtype))
        on = enabled and self.device == "cpu"
        if enabled and not on:
            warn(f"autocast casts nothing on the device {self.device!r}: pass 'cpu', or enabled=False")
        if on and wanted not in _NARROW_TYPES:
            warn(
                f"In CPU autocast, but the target dtype {wanted!r} is not supported. Disabling autocast: use one of"
                f" {', '.join(map(repr, _NARROW_TYPES))}",
                UserWarning,
            )
            on = False
        self.fast_dtype = wanted
        self._enabled = on
        self._given = (device_type, dtype, enabled, cache_enabled)
        self._cache = _settings["cache"] if cache_enabled is None else cache_enabled
        activate_overrides()

    def clone(self) -> autocast:
        return type(self)(*self._given)

    def change(self, mode: modes.Mode) -> modes.Mode:
        if self.device != "cpu":
            return mode
        if not self._enabled:
            return _with(mode, None)
        outer = _active()
        cache = None if not self._cache else {} if outer is None or outer.cache is None else outer.cache
        return _with(mode, Casting(self.fast_dtype, cache))

    def __enter__(self) -> autocast:
        super().__enter__()
        return self


def _checked(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return Device(device_type).type


def _check_bool(enabled: Any) -> None:
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast casts anything for this kind of device.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.amp.is_autocast_available("cpu")
    True
    """
    return _checked(device_type) == "cpu"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for this kind of device.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.autocast("cpu"):
    ...     dt.is_autocast_enabled("cpu")
    True
    """
    return _checked(device_type) == "cpu" and _active() is not None


def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_autocast_cpu_enabled()
    False
    """
    return _active() is not None


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that autocast casts to.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_autocast_dtype("cpu")
    dualtape.bfloat16
    """
    if _checked(device_type) != "cpu":
        return dtypes.float16
    casting = _active()
    return _settings["dtype"] if casting is None else casting.dtype


def get_autocast_cpu_dtype() -> Any:
    """``get_autocast_dtype("cpu")``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_autocast_cpu_dtype()
    dualtape.bfloat16
    """
    return get_autocast_dtype("cpu")


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off from now on.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_autocast_enabled("cpu", True); (dt.ones(1, 1) @ dt.ones(1, 1)).dtype
    dualtape.bfloat16
    >>> dt.set_autocast_enabled("cpu", False)
    """
    if _checked(device_type) != "cpu":
        raise RuntimeError(f"autocast is for the CPU here, got {device_type!r}")
    _check_bool(enabled)
    activate_overrides()
    casting = Casting(get_autocast_dtype("cpu"), {} if _settings["cache"] else None) if enabled else None
    modes._set(_with(modes.current(), casting))


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """``set_autocast_enabled("cpu", enabled)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the default dtype of autocast.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_autocast_dtype("cpu", dt.bfloat16)
    """
    if _checked(device_type) != "cpu":
        raise RuntimeError(f"autocast is for the CPU here, got {device_type!r}")
    _settings["dtype"] = dtypes.of(dtypes.to_numpy(dtype))
    casting = _active()
    if casting is not None:
        modes._set(_with(modes.current(), Casting(_settings["dtype"], casting.cache)))


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """``set_autocast_dtype("cpu", dtype)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_autocast_cpu_dtype(dt.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether autocast caches casts of leaves.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_autocast_cache_enabled()
    True
    """
    casting = _active()
    return _settings["cache"] if casting is None else casting.cache is not None


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether autocast caches casts of leaves.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_autocast_cache_enabled(True)
    """
    _check_bool(enabled)
    _settings["cache"] = enabled


def clear_autocast_cache() -> None:
    """Clear the cached casts of leaves.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.clear_autocast_cache()
    """
    casting = _active()
    if casting is not None and casting.cache is not None:
        casting.cache.clear()


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: Any = None) -> Callable:
    """Decorator for ``forward`` of a Function: it runs in the surrounding autocast, or, with ``cast_inputs``, without
    autocast on inputs of that dtype.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Square(dt.autograd.Function):
    ...     @staticmethod
    ...     @dt.amp.custom_fwd(device_type="cpu", cast_inputs=dt.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x @ x
    ...     @staticmethod
    ...     @dt.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return g @ x.t() + x.t() @ g
    >>> with dt.autocast("cpu"):
    ...     Square.apply(dt.ones(2, 2)).dtype
    dualtape.float32
    """
    if _checked(device_type) != "cpu":
        raise RuntimeError(f"autocast is for the CPU here, got {device_type!r}")
    if fwd is None:
        return lambda function: custom_fwd(function, device_type=device_type, cast_inputs=cast_inputs)

    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(ctx, *args, **kwargs)
        target = dtypes.of(dtypes.to_numpy(cast_inputs))
        plain = Casting(target, None)
        with autocast(device_type, enabled=False):
            return fwd(
                ctx,
                *(plain._cast(a, target) for a in args),
                **{name: plain._cast(value, target) for name, value in kwargs.items()},
            )

    return wraps(fwd)(forward)


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorator for ``backward`` of a Function: it runs in autocast if ``forward`` did; see :func:`custom_fwd`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.amp.custom_bwd(lambda ctx, g: g, device_type="cpu").__name__
    '<lambda>'
    """
    if _checked(device_type) != "cpu":
        raise RuntimeError(f"autocast is for the CPU here, got {device_type!r}")
    if bwd is None:
        return lambda function: custom_bwd(function, device_type=device_type)

    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return wraps(bwd)(backward)
