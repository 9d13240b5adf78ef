"""``gradcheck`` and ``gradgradcheck``: which checks are made, and in which order.

The checks themselves are in ``finite_differences``. This module uses the public API alone and knows no ops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

# While the package is being imported this name is still being filled; it is only read when a check runs.
import dualtape as dt

from .._listing import listing
from .finite_differences import GradcheckError, _as_tuple, _Check, _named_inputs, _random_like, _requiring_grad

if TYPE_CHECKING:
    from .._typing import Tensors, Tree
    from ..distributed.device_mesh import DeviceMesh

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Tensor = Any  # whatever the public API calls a tensor


def gradcheck(
    func: Callable[..., Any],
    inputs: Tree,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    progress: bool | None = None,
    mesh: Any = None,
) -> bool:
    """Check the gradients of a function against finite differences.

    Every tensor among the inputs that requires grad (also inside nested tuples and lists) is checked against
    every output that requires grad. If no output does, the function has to be constant.

    Parameters
    ----------
    func : callable
        Takes the inputs; returns a tensor, or a tuple or list of tensors.
    inputs : tensor, or tuple or list of anything
        The arguments. Use float64 or complex128: in lower precision finite differences are too coarse.
    eps : float
        How far an input is moved to either side.
    atol, rtol : float
        Entries may differ by ``atol + rtol * abs(numerical)``.
    raise_exception : bool
        If False, a failed check returns False instead of raising :class:`GradcheckError`.
    nondet_tol : float
        How far two backward passes over the same graph may differ.
    check_undefined_grad : bool
        Also check that output gradients (in forward mode: tangents) that are undefined count as zeros.
    check_grad_dtypes : bool
        Also check that a gradient has the dtype of its input.
    check_batched_grad : bool
        Also check ``autograd.grad(..., is_grads_batched=True)`` against a loop.
    check_batched_forward_grad : bool
        Also check ``vmap`` over forward mode against a loop.
    check_forward_ad, check_backward_ad : bool
        Which modes to check.
    fast_mode : bool
        Compare along random directions instead of entry by entry: much cheaper for large inputs.
    masked : bool, optional
        Of a sparse input, move the values that are there, instead of all elements.
    progress : bool, optional
        Show how many differences are computed; by default on a terminal, once it has taken a second.
    mesh : DeviceMesh, optional
        Processes that each check some of the directions; all of them call this, and get one answer.

    Returns
    -------
    bool
        True if all checks passed, False if one failed and `raise_exception` is False.

    Raises
    ------
    GradcheckError
        If a check failed.
    ValueError
        If no input requires grad.

    See Also
    --------
    gradgradcheck : The same for second derivatives.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([0.1, 0.2, 0.3], dtype=dt.float64, requires_grad=True)
    >>> dt.autograd.gradcheck(lambda x: (x * x).sum(), (x,))
    True
    >>> dt.autograd.gradcheck(lambda x: x.detach() * 2, (x,), raise_exception=False)
    False
    """
    _require(check_forward_ad or check_backward_ad, "check_forward_ad or check_backward_ad", "gradcheck")
    _require(check_backward_ad or not check_batched_grad, "check_backward_ad", "check_batched_grad")
    _require(check_forward_ad or not check_batched_forward_grad, "check_forward_ad", "check_batched_forward_grad")
    func, inputs = _dense_check(*_from_arrays(func, inputs), bool(masked))
    try:
        check = _Check(func, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode, mesh)
        check.progress = progress
        if not check.outputs:
            check.constancy()
            return True
        if check_forward_ad:
            check.jacobians("forward mode")
            if check_undefined_grad:
                check.undefined_tangents()
            if check_batched_forward_grad:
                check.batched_tangents()
        if check_backward_ad:
            check.jacobians("reverse mode")
            if check_batched_grad:
                check.batched_gradients()
            check.zero_gradients()
            if check_undefined_grad:
                check.undefined_gradients()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _from_arrays(func: Callable, inputs: Tensors) -> tuple[Callable, Any]:
    """Return ``func`` and ``inputs`` with leaves for NumPy's floating-point arrays and numbers, if there is no tensor
    among them: the function then gets tensors whose methods are NumPy's.
    """
    given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    places = [k for k, x in enumerate(given) if isinstance(x, (np.ndarray, np.floating, np.complexfloating, float))]
    places = [k for k in places if np.asarray(given[k]).dtype.kind in "fc"]
    if not places or any(isinstance(x, dt.Tensor) for x in given):
        return func, inputs
    from ..ops.numpy_tensor import entering

    def of_arrays(*args: Any) -> Any:
        return func(*[entering(x) if k in places else x for k, x in enumerate(args)])

    leaves = [dt.tensor(np.asarray(x)).requires_grad_() if k in places else x for k, x in enumerate(given)]
    return of_arrays, tuple(leaves)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tree,
    grad_outputs: Tensors | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
    progress: bool | None = None,
    mesh: DeviceMesh | None = None,
) -> bool:
    """Check second derivatives: the gradients of the function that computes the gradients of `func`.

    The first derivatives themselves are taken for granted; check them with :func:`gradcheck`, which also
    describes the parameters that are not listed here.

    Parameters
    ----------
    func, inputs
        As for :func:`gradcheck`.
    grad_outputs : tensor, or tuple or list of tensors, optional
        The gradients of the outputs that require grad; random ones that require grad by default.
    gen_non_contig_grad_outputs : bool
        Make the random ones non-contiguous.
    check_fwd_over_rev, check_rev_over_rev : bool
        Differentiate the gradient in forward mode, in reverse mode.

    Returns
    -------
    bool
        True if all checks passed, False if one failed and `raise_exception` is False.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([0.1, 0.2, 0.3], dtype=dt.float64, requires_grad=True)
    >>> dt.autograd.gradgradcheck(lambda x: x * x * x, (x,))
    True
    """
    _require(check_fwd_over_rev or check_rev_over_rev, "check_fwd_over_rev or check_rev_over_rev", "gradgradcheck")
    _require(check_rev_over_rev or not check_undefined_grad, "check_rev_over_rev", "check_undefined_grad")
    _require(check_rev_over_rev or not check_batched_grad, "check_rev_over_rev", "check_batched_grad")
    func, inputs = _from_arrays(func, _as_tuple(inputs))
    func, inputs = _dense_check(func, inputs, masked)
    outputs = _requiring_grad(func(*inputs))
    # Without outputs there are no gradients: the function has to be constant.
    if not outputs:
        return gradcheck(
            func, inputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, progress=progress
        )
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        grad_outputs = [_random_like(output, rng, gen_non_contig_grad_outputs) for output in outputs]

    def gradients(*args: object) -> tuple[Tensor, ...]:
        func_args, given = args[: len(inputs)], args[len(inputs) :]
        outputs = _requiring_grad(func(*func_args))
        targets = [tensor for _, tensor in _named_inputs(func_args)]
        found = dt.autograd.grad(outputs, targets, given, create_graph=True, allow_unused=True)
        return tuple(gradient for gradient in found if gradient is not None)

    return gradcheck(
        gradients,
        inputs + _as_tuple(grad_outputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
        progress=progress,
        mesh=mesh,
    )


def _dense_check(func: Callable[..., Any], inputs: Tensors, masked: bool) -> tuple[Callable[..., Any], Any]:
    """Return the same function on dense tensors, if some inputs are sparse."""
    given = _as_tuple(inputs)
    if all(not isinstance(x, dt.Tensor) or not x.layout.name.startswith("sparse") for x in given):
        return func, inputs
    from ..sparse import checks

    return checks.strided(func, given, masked)


def _require(condition: bool, option: str, wanted_by: str) -> None:
    if not condition:
        raise AssertionError(f"{wanted_by} requires {option} to be True")


class _CallableModule(ModuleType):
    """A module with the name of its function, which can be called like the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule

__dir__ = listing(__name__)
