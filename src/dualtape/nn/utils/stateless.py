"""PyTorch's deprecated location of ``functional_call``."""

from __future__ import annotations

from typing import Any

from ..._listing import listing
from ...errors import warn
from ...func import functional_call as _call

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameters_and_buffers: dict,
    args: Any = None,
    kwargs: dict | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """:func:`dualtape.func.functional_call` under its deprecated name.

    Examples
    --------
    >>> import warnings, dualtape as dt
    >>> layer = dt.nn.Linear(1, 1, bias=False)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     dt.nn.utils.stateless.functional_call(layer, {"weight": dt.tensor([[3.0]])}, dt.ones(1))
    tensor([3.])
    """
    warn(
        "This API is deprecated as of PyTorch 2.0: use dualtape.func.functional_call instead",
        FutureWarning,
    )
    return _call(  # type: ignore[operator]
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


__dir__ = listing(__name__)
