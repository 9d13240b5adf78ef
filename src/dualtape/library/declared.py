"""User-defined ops, declared like the library's own: a forward on arrays, and its derivative.

The declaration gives the function, gradients of any order, forward mode, ``vmap``, batched and sparse derivatives, and,
if the forward is a ufunc, NumPy's entry: ``np.cbrt(x)`` on a tensor then calls the op. :func:`check` tests them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from .._tensor.creation import tensor
from .._tensor.tensor import Tensor
from ..autograd.gradcheck import gradcheck, gradgradcheck
from ..errors import DeclarationError
from ..func import vmap
from ..ops.dispatch import FUNCTIONS
from ..ops.families import index
from ..ops.formulas import in_dtype_of
from ..ops.samples import (
    Array,
    Sample,
    apart,
    exact,
    ints,
    invertible,
    mask,
    positive,
    probability,
    real,
    sample,
    spd,
    unit,
)
from ..ops.table import BROADCASTING, ELEMENTWISE, GENERAL, TABLE, Op, formula_names, named
from ..ops.table import op as declare

__all__ = [
    "apart",
    "check",
    "exact",
    "ints",
    "invertible",
    "mask",
    "op",
    "positive",
    "probability",
    "real",
    "sample",
    "spd",
    "unit",
]


def op(
    name: str,
    forward: Callable,
    *,
    derivative: Callable | None = None,
    vjp: dict[str, Callable] | None = None,
    jvp: Any = None,
    kind: str | None = None,
    samples: Sequence[Sample] = (),
    complex: bool = False,
    doc: str = "",
    **row: Any,
) -> Callable:
    """Declare an op, and return its function.

    Parameters
    ----------
    name : str
        ``"namespace::name"``; the function is also ``dualtape.ops.namespace.name``. A name that is declared again
        replaces the old one.
    forward : callable
        The op on arrays: a ufunc, or a function whose parameter names are the op's.
    derivative : callable
        Of an elementwise op of one argument: its derivative, as a function of ``x``, of ``out`` (the result), or both.
    vjp : dict
        Instead, for each differentiable parameter, the formula of its gradient. The names of the formula's parameters
        say what it needs: ``g`` (the gradient of the result), a parameter, ``out``, or ``x_shape``.
    jvp : dict, optional
        For each differentiable parameter, what its tangent ``t`` adds to the result's. Default: ``vjp``, transposed.
    kind : {"elementwise", "broadcasting", "reduction", "general"}, optional
        What ``vmap`` and other readers may rely on. Default: elementwise with a ``derivative``, broadcasting for a
        ufunc of two arguments, else general.
    samples : sequence, optional
        Arguments that :func:`check` uses: ``sample(real(3, 4), dim=0)``.
    complex : bool
        Whether the formulas hold for complex numbers, too.
    doc : str
        The docstring.
    **row
        Anything else that a row of the op table takes: ``constants``, ``outputs``, ``promote``, ``view``, ``method``...

    Examples
    --------
    >>> import dualtape as dt
    >>> cube = dt.library.op("mine::cube", lambda x: x * x * x, derivative=lambda x: 3 * x * x)
    >>> dt.library.check(cube)
    True
    >>> x = dt.tensor([2.0], requires_grad=True)
    >>> cube(x).sum().backward(); x.grad
    tensor([12.])
    """
    space, _, short = name.rpartition("::")
    if not short.isidentifier() or space and not space.isidentifier():
        raise DeclarationError(f"an op's name is 'name' or 'namespace::name', both identifiers; got {name!r}")
    full = f"{space}_{short}" if space else short
    if full not in _DECLARED and (index.family_of(full) or full in TABLE or full in FUNCTIONS):
        raise DeclarationError(f"there is an op named {full!r} already: give yours a namespace, as in 'mine::{short}'")
    if kind is None:
        pair = isinstance(forward, np.ufunc) and forward.nin == 2
        kind = ELEMENTWISE if derivative is not None else BROADCASTING if pair else GENERAL
    if not isinstance(forward, np.ufunc):
        forward = _giving_arrays(full, forward)
    if row.get("promote") is not None:
        vjp, jvp = _brought_together(vjp), _brought_together(jvp)
    given = {"public": False, "method": False, "torch_name": "-", "also": (f"ops.{space}.{short}",) if space else ()}
    old = TABLE.pop(full, None)
    try:
        function = declare(
            full,
            forward,
            derivative=derivative,
            vjp=vjp,
            jvp=jvp,
            kind=kind,
            complex=complex,
            doc=doc,
            samples=tuple(samples) or (sample(real(3, 4)), sample(real())),
            **{**given, **row},
        )
    except BaseException:
        if old is not None:
            TABLE[full] = old
        raise
    _DECLARED.add(full)
    return function


_DECLARED: set[str] = set()  # names of users' ops


def _giving_arrays(name: str, forward: Callable) -> Callable:
    """Return the forward such that it raises if it is given tensors: arguments not declared as tensors are passed
    unchanged.
    """

    @wraps(forward)
    def run(*args: Any) -> Any:
        for place, arg in enumerate(args):
            if isinstance(arg, Tensor) and place not in TABLE[name].tensor_places:
                raise TypeError(
                    f"{name}: {TABLE[name].params[place]!r} is a tensor, but the declaration takes it for an option:"
                    " give it a formula in vjp, or name it in constants"
                )
        return forward(*args)

    return run


def _brought_together(formulas: Any) -> Any:
    """Return formulas whose arguments have the dtype that the forward saw: without this those of an int8 argument
    overflow.
    """
    if not isinstance(formulas, dict):
        return formulas
    return {name: formula if formula is None else _in_one_dtype(formula) for name, formula in formulas.items()}


def _in_one_dtype(formula: Callable) -> Callable:
    names = formula_names(formula)
    lead = next((k for k, name in enumerate(names) if name in ("g", "t") or name.startswith("g_")), None)
    if lead is None:
        return formula

    return named(lambda *args: formula(*[in_dtype_of(arg, args[lead]) for arg in args]), names)


def check(function: Callable, *args: Any, **kwargs: Any) -> bool:
    """Compare an op's derivatives with finite differences, to second order and in both modes, and ``vmap`` with a loop.

    Parameters
    ----------
    function : callable
        What :func:`op` returned.
    *args, **kwargs
        What to check it with: double-precision tensors, those that require grad are looked at. Default: its samples.

    Returns
    -------
    bool
        True; what is wrong raises, with the input, its numerical and its analytical derivative.

    Examples
    --------
    >>> import dualtape as dt
    >>> wrong = dt.library.op("mine::wrong", lambda x: x * x, derivative=lambda x: x)
    >>> dt.library.check(wrong)
    Traceback (most recent call last):
    ...
    dualtape.autograd.gradcheck.GradcheckError: ...
    """
    row = getattr(function, "__wrapped__", None)
    if not isinstance(row, Op):
        raise TypeError(f"check expects the function that library.op returned, got {function!r}")
    if args or kwargs:
        _check_call(row, args, kwargs)
        return True
    for one in row.samples:
        for dtype in ("float64", "complex128") if row.complex else ("float64",):
            rng = np.random.default_rng(0)
            made = lambda value, rng=rng, dtype=dtype: _made(value, rng, dtype)
            _check_call(row, tuple(map(made, one.args)), {name: made(value) for name, value in one.kwargs.items()})
    return True


def _made(value: Any, rng: np.random.Generator, dtype: str) -> Any:
    """Return a described array as a tensor."""
    if isinstance(value, (list, tuple)):
        return type(value)(_made(item, rng, dtype) for item in value)
    if not isinstance(value, Array):
        return value
    return tensor(value.make(rng, dtype), requires_grad=value.differentiable)


def _check_call(row: Op, args: tuple, kwargs: dict) -> None:
    places = [k for k, value in enumerate(args) if getattr(value, "requires_grad", False)]

    def run(*given: Any) -> Any:
        new = list(args)
        for place, value in zip(places, given, strict=True):
            new[place] = value
        return row.function(*new, **kwargs)

    inputs = tuple(args[place] for place in places)
    if not inputs:
        raise ValueError(f"check of {row.name}: no argument requires grad, so that there is nothing to differentiate")
    gradcheck(run, inputs, check_forward_ad=True, check_batched_grad=True)
    gradgradcheck(run, inputs)
    stacked = [np.stack([t.detach().numpy(), t.detach().numpy() * 0.5]) for t in inputs]
    batched = vmap(run)(*(tensor(a) for a in stacked))
    for k in range(2):
        single = run(*(tensor(a[k]) for a in stacked))
        for one, many in zip(_several(single), _several(batched), strict=True):
            np.testing.assert_allclose(many[k].numpy(), one.numpy(), rtol=1e-10, err_msg=f"{row.name} under vmap")


def _several(value: Any) -> tuple:
    return tuple(value) if isinstance(value, tuple) else (value,)
