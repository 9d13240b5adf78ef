"""Derivatives compared with finite differences, under HIPS autograd's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from .._tensor.creation import as_tensor
from .._tensor.tensor import Tensor
from ..autograd.gradcheck import gradcheck, gradgradcheck
from ..func import scope
from ..pytree import tree_flatten

__all__ = ["check_equivalent", "check_grads", "combo_check"]


def check_grads(f: Callable, argnum: Any = 0, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> Callable:
    """Return a function of ``f``'s arguments that checks the derivatives of ``f`` there, and raises if they are wrong.

    Examples
    --------
    >>> import dualtape.numpy as np
    >>> from dualtape.hips.test_util import check_grads
    >>> check_grads(np.sin)(1.5)
    """
    if order not in (1, 2) or not set(modes) <= {"fwd", "rev"}:
        raise ValueError(f"check_grads checks orders 1 and 2 and modes 'fwd' and 'rev', got {order} and {modes}")
    places = (argnum,) if isinstance(argnum, int) else tuple(argnum)

    def check(*args: Any, **kwargs: Any) -> None:
        points = [as_tensor(np.array(args[place])).requires_grad_() for place in places]

        def of_chosen(*values: Any) -> Any:
            given = list(args)
            for place, value in zip(places, values, strict=True):
                given[place] = scope.entered(value)
            return f(*given, **kwargs)

        forward = "fwd" in modes
        gradcheck(of_chosen, points, check_forward_ad=forward, check_backward_ad="rev" in modes)
        if order == 2 and "rev" in modes:
            gradgradcheck(of_chosen, points, check_fwd_over_rev=forward)

    return check


def combo_check(f: Callable, argnum: int | Sequence[int] = 0, **options: Any) -> Callable:
    """Return a function that checks ``f`` by :func:`check_grads` for each combination of the arguments it is given:
    one sequence of values for each argument.

    Parameters
    ----------
    f : callable
    argnum : int or sequence of int
        Which arguments are differentiated.
    **options
        Those of :func:`check_grads`: ``modes``, ``order``.

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.hips.test_util import combo_check
    >>> combo_check(np.multiply, [0, 1])([2.0, 3.0], [np.ones(2), 5.0])
    """
    check = check_grads(f, argnum, **options)

    def check_all(*args: Any, **kwargs: Any) -> None:
        for values in product(*args):
            for named in product(*kwargs.values()):
                check(*values, **dict(zip(kwargs, named, strict=True)))

    return check_all


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two results have the same structure, shapes and dtypes, and nearly the same values.

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.hips.test_util import check_equivalent
    >>> check_equivalent({"a": np.ones(2)}, {"a": np.ones(2) + 1e-9})
    """
    (ours, spec), (theirs, other) = tree_flatten(x), tree_flatten(y)
    if spec != other:
        raise AssertionError(f"the structures differ: {spec} and {other}")
    for a, b in zip(ours, theirs, strict=True):
        a, b = (np.asarray(one.detach() if isinstance(one, Tensor) else one) for one in (a, b))
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            raise AssertionError(f"an array of {a.shape} and {a.dtype} where the other has {b.shape} and {b.dtype}")
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
