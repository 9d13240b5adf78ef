"""Derivatives compared with finite differences, under HIPS autograd's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tensor.creation import as_tensor
from ..autograd.gradcheck import gradcheck, gradgradcheck
from ..func import scope

__all__ = ["check_grads"]


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
