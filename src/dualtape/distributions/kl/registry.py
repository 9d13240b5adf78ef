"""The table of divergences; two classes use the entry of their nearest ancestors."""

from __future__ import annotations

from collections.abc import Callable

from ..._tensor.tensor import Tensor
from ...errors import warn
from ..distribution import Distribution

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Return a decorator for the function of ``p`` and ``q`` that computes the divergence between these classes.

    For subclasses of both, the entry of the nearest ancestors is used; if that of ``p`` and that of ``q`` are nearest
    in different entries, the one of ``p`` is, with a warning.

    Examples
    --------
    >>> from dualtape.distributions import Normal, kl_divergence, register_kl
    >>> class Mine(Normal):
    ...     pass
    >>> @register_kl(Mine, Mine)
    ... def zero(p, q):
    ...     return 0.0
    >>> kl_divergence(Mine(0.0, 1.0), Mine(5.0, 1.0))
    0.0
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type):
            raise TypeError(f"register_kl: expected {name} to be isinstance of type or subclass, got {given!r}")

    def decorator(function: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()  # what was found may not be nearest any more
        return function

    return decorator


def _dispatch_kl(type_p: type, type_q: type) -> Callable | None:
    found = [
        (i, j, function)
        for i, p in enumerate(type_p.__mro__)
        for j, q in enumerate(type_q.__mro__)
        if (function := _KL_REGISTRY.get((p, q))) is not None
    ]
    if not found:
        return None
    left = min(found, key=lambda entry: entry[:2])
    right = min(found, key=lambda entry: entry[1::-1])
    if left[2] is not right[2]:
        warn(
            f"Ambiguous kl_divergence of {type_p.__name__} and {type_q.__name__}: two entries are nearest: settle it by"
            f" register_kl({type_p.__mro__[left[0]].__name__}, {type_q.__mro__[right[1]].__name__})",
            RuntimeWarning,
        )
    return left[2]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence: the mean, over ``p``, of ``log p(x) - log q(x)``.

    Parameters
    ----------
    p, q : Distribution
        Of classes that :func:`register_kl` knows together.

    Examples
    --------
    >>> from dualtape.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    tensor(0.5000)
    """
    classes = type(p), type(q)
    try:
        function = _KL_MEMOIZE[classes]
    except KeyError:
        function = _KL_MEMOIZE[classes] = _dispatch_kl(*classes)
    if function is None:
        raise NotImplementedError(
            f"kl_divergence is not known of {type(p).__name__} and {type(q).__name__}: register_kl() adds it"
        )
    return function(p, q)
