"""Functions that PyTorch has removed: their errors say what to call instead, as PyTorch's do."""

from __future__ import annotations

from typing import Any, NoReturn

from ._listing import listing

_SUCCESSORS = {
    "eig": "linalg.eig, whose results are complex",
    "symeig": "linalg.eigh, which reads the lower triangle and gives (eigenvalues, eigenvectors)",
    "lstsq": "linalg.lstsq, which takes (A, B)",
    "solve": "linalg.solve, which takes (A, B)",
    "matrix_rank": "linalg.matrix_rank",
}


def _removed(name: str, successor: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"{name}: This function was deprecated since version 1.9 and is now removed: use {successor}."
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Removed: use {successor}.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.{name}(dt.eye(2))
    Traceback (most recent call last):
    ...
    RuntimeError: {name}: This function was deprecated since version 1.9 and is now removed: use {successor}.
    """
    return function


__all__ = sorted(_SUCCESSORS)
globals().update({name: _removed(name, successor) for name, successor in _SUCCESSORS.items()})

__dir__ = listing(__name__)
