"""SGD: steps along the gradient, or along an average of gradients."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor
from ..arrays.kernels.fused import momentum_kernel
from ..arrays.lazy import scipy_blas
from ..autograd.versions import UNTRACKED, caller
from ..ops.codegen.source import plain_types
from . import passes
from .elementwise import Elementwise, check_fused
from .optimizer import ParamsT, check_forms, check_lr, check_not_negative

__all__ = ["SGD", "sgd"]

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class SGD(Elementwise):
    """Gradient descent, with momentum.

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr : float or Tensor
        The learning rate.
    momentum : float
        How much of the last step is kept.
    dampening : float
        How much less than all of the gradient goes into the momentum.
    weight_decay : float or Tensor
        How much of a parameter is added to its gradient.
    nesterov : bool
        Look one step of momentum ahead.
    maximize : bool
        Go up, not down.
    foreach : bool, optional
        Parameters of a kind in one pass, or each by itself; default: the small ones in one pass.
    differentiable : bool
        Record the step.
    fused : bool, optional
        As ``foreach``, for floating-point parameters.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.SGD([x], lr=0.25)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.5000, -1.0000], requires_grad=True)
    """

    _dt_since = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}
    _dt_numbers = ()
    _dt_sparse = None

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov=True needs momentum above 0 and dampening=0")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_forms(foreach, fused, differentiable)

    def _dt_states(self, group: dict[str, Any], params: list) -> list[dict]:
        if group["fused"]:
            for p in params:
                check_fused(p)
        return [self.state.get(p) or {} for p in params] if group["momentum"] != 0 else []

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        buffers: list = [state.get("momentum_buffer") for state in states]
        _run(
            params,
            grads,
            buffers,
            group["foreach"],
            group["fused"],
            group["differentiable"],
            group["weight_decay"],
            group["momentum"],
            group["lr"],
            group["dampening"],
            group["nesterov"],
            group["maximize"],
        )
        if group["momentum"] != 0:
            for p, buffer in zip(params, buffers, strict=True):
                self.state[p]["momentum_buffer"] = buffer


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Perform a step of :class:`SGD` on lists of tensors, in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.optim.sgd import sgd
    >>> x, g = dt.ones(2), dt.ones(2)
    >>> sgd([x], [g], [None], weight_decay=0.0, momentum=0.0, lr=0.5, dampening=0.0, nesterov=False, maximize=False)
    >>> x
    tensor([0.5000, 0.5000])
    """
    if foreach and fused:
        raise RuntimeError("pass fused=True or foreach=True, not both")
    grads = passes.unscaled(d_p_list, grad_scale, found_inf, fused)
    if grads is not None:
        _run(
            params,
            grads,
            momentum_buffer_list,
            foreach,
            fused,
            False,
            weight_decay,
            momentum,
            lr,
            dampening,
            nesterov,
            maximize,
        )


def _run(
    params: list,
    grads: list,
    buffers: list,
    foreach: bool | None,
    fused: bool | None,
    differentiable: bool,
    weight_decay: Any,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    lr, decay = passes.number(lr, differentiable), passes.number(weight_decay, differentiable)
    options = (float(momentum), 1.0 - dampening, decay, nesterov, maximize)
    directly = not (foreach or fused or differentiable) and modes.current().plain
    where = caller(3)
    if directly and momentum == 0 and decay == 0:
        params, grads = _descended(params, grads, -lr if maximize else lr, where)
    dense = []
    for k, (p, gradient) in enumerate(zip(params, grads, strict=True)):
        buffer = buffers[k] if momentum != 0 else None
        if directly and _in_place(p, gradient, buffer, where, lr, options):
            continue
        if type(gradient) is not Tensor and gradient.is_sparse:
            buffer = _sparse_step(p, gradient, buffer, lr, *options)
            if momentum != 0:
                buffers[k] = buffer
        else:
            dense.append(k)
    if not dense:
        return
    kept: Any = [buffers[k] for k in dense] if momentum != 0 else None
    passes.run(
        _update,
        lambda: ((), (lr,)),
        options,
        [params[k] for k in dense],
        [grads[k] for k in dense],
        [kept],
        foreach=True if fused else foreach,
        differentiable=differentiable,
    )
    for k, buffer in zip(dense, kept or (), strict=momentum != 0):
        buffers[k] = buffer


@passes.kernel
def _update(
    p: Any, g: Any, buffer: Any, lr: Any, momentum: float, intake: float, decay: Any, nesterov: bool, maximize: bool
) -> tuple:
    if maximize:
        g = -g
    if isinstance(decay, Tensor) or decay != 0:
        g = g + p * decay
    if momentum == 0:
        return (p - g * lr,)
    if buffer is None:
        buffer = g.detach().clone() if isinstance(g, Tensor) else g
    else:
        buffer = buffer * momentum + (g if intake == 1 else g * intake)
    return p - (g + buffer * momentum if nesterov else buffer) * lr, buffer


def _descended(params: list, grads: list, lr: float, where: Any) -> tuple[list, list]:
    """Update small parameters along the gradient alone; return those that were not updated.

    Written out, as calls would take longer than the two operations.
    """
    others: tuple[list, list] = ([], [])
    ndarray, multiply, subtract = np.ndarray, np.multiply, np.subtract
    kinds = {Tensor, *plain_types}
    rates = {dtype: np.array(lr, dtype) for dtype in (_SINGLE, _DOUBLE)}
    for p, gradient in zip(params, grads, strict=True):
        array, g = p._array, gradient._array
        counter = p._version_counter or p._shared_counter
        if (
            type(array) is ndarray
            and type(g) is ndarray
            and (dtype := array.dtype) is g.dtype
            and dtype in rates
            and array.shape == g.shape
            and array.size < passes.BLOCK
            and array.flags.carray
            and type(p) in kinds
            and type(gradient) in kinds
            and counter is not UNTRACKED
        ):
            counter[0] += 1
            counter[1] = where
            subtract(array, multiply(g, rates[dtype]), array)
        else:
            others[0].append(p)
            others[1].append(gradient)
    return others


def _in_place(p: Tensor, gradient: Tensor, kept: Tensor | None, where: Any, lr: float, options: tuple) -> bool:
    """Update in the parameter's own memory, where it is ordinary: there are too few operations to gather parameters
    for. Return whether it was done.
    """
    momentum, intake, decay, nesterov, maximize = options
    array: Any = p._array
    g: Any = gradient._array
    code = array.dtype.char
    if type(array) is not np.ndarray or code not in "fdFD" or not passes.is_plain(p, array, True):
        return False
    if not passes.is_plain(gradient, array, False) or (momentum != 0 and kept is None):
        return False
    if kept is not None and not passes.is_plain(kept, array, True):
        return False
    passes.count((p,) if kept is None else (p, kept), where)
    buffer: Any = None if kept is None else kept._array
    if array.size >= passes.BLOCK and code in "fd":
        if all([a is None or a.flags.c_contiguous for a in (array, g, buffer)]):
            array, g, buffer = [a if a is None else a.reshape(-1) for a in (array, g, buffer)]
            made = None if buffer is None else momentum_kernel(array, decay != 0, nesterov)
            if made is not None:
                run, most = made
                run(array, g, buffer, _numbers(code, momentum, intake, -lr, -1.0 if maximize else 1.0, decay))
                if most == array.size:
                    return True
                array, g, buffer = array[most:], g[most:], buffer[most:]
            if decay == 0:
                _by_blas(array, g, buffer, lr, momentum, -intake if maximize else intake, nesterov)
                return True
    if maximize:
        g = -g
    if decay != 0:
        g = g + array * _constant(decay, code)
    if buffer is not None:
        np.multiply(buffer, _constant(momentum, code), buffer)
        np.add(buffer, g if intake == 1 else g * _constant(intake, code), buffer)
        g = g + buffer * _constant(momentum, code) if nesterov else buffer
    np.subtract(array, g * _constant(lr, code), array)
    return True


@lru_cache(64)
def _numbers(code: str, *values: float) -> Any:
    return np.array(values, code)


@lru_cache(64)
def _constant(value: float, code: str) -> Any:
    """Return a number as an array, with which NumPy computes in half the time."""
    return np.array(value, code.lower())


def _by_blas(p: Any, g: Any, buffer: Any, lr: float, momentum: float, intake: float, nesterov: bool) -> None:
    """Update large parameters without decay as vectors, which BLAS changes as fast as memory is read."""
    single = p.dtype.char == "f"
    axpy = scipy_blas.saxpy if single else scipy_blas.daxpy
    scale = scipy_blas.sscal if single else scipy_blas.dscal
    if buffer is None:
        axpy(g, p, a=-lr * intake)
        return
    for start in range(0, p.size, passes.BLOCK):
        block = slice(start, start + passes.BLOCK)
        scale(momentum, buffer[block])
        axpy(g[block], buffer[block], a=intake)
        if nesterov:
            axpy(g[block], p[block], a=-lr * intake)
        axpy(buffer[block], p[block], a=-lr * (momentum if nesterov else 1.0))


def _sparse_step(
    p: Tensor,
    g: Tensor,
    buffer: Tensor | None,
    lr: Any,
    momentum: float,
    intake: float,
    decay: Any,
    nesterov: bool,
    maximize: bool,
) -> Tensor | None:
    if maximize:
        g = -g
    if decay != 0:
        g = g.add(p, alpha=decay)
    if momentum != 0:
        buffer = g.detach().clone() if buffer is None else buffer.mul_(momentum).add_(g, alpha=intake)
        g = g.add(buffer, alpha=momentum) if nesterov else buffer
    p.add_(g, alpha=-lr)
    return buffer
