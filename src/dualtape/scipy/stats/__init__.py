"""``scipy.stats`` for tensors: densities, distribution functions and their inverses, where they have a closed form.

A distribution is used as in SciPy: ``norm.logpdf(x, loc, scale)``, or frozen, ``norm(loc, scale).logpdf(x)``. Methods
without a derivative (``rvs``, ``fit``, ``mean`` and so on) are SciPy's own.
"""

from __future__ import annotations

import sys
from typing import Any

from ...arrays.lazy import scipy_stats as _scipy_stats
from .._like import names_of, scipys
from . import continuous, descriptive, discrete, further, hypotheses, multivariate
from .distribution import Distribution

_DISTRIBUTIONS: dict[str, Any] = {
    name: value
    for module in (continuous, discrete, further, multivariate)
    for name, value in vars(module).items()
    if isinstance(value, Distribution) and not name.startswith("_")
}
globals().update(_DISTRIBUTIONS)
# so that ``import dualtape.scipy.stats.norm as norm`` finds it
sys.modules.update({f"{__name__}.{name}": value for name, value in _DISTRIBUTIONS.items()})

_FUNCTIONS = {name: getattr(module, name) for module in (descriptive, hypotheses) for name in module.__all__}
globals().update(_FUNCTIONS)

__all__ = sorted({*_DISTRIBUTIONS, *_FUNCTIONS})  # noqa: PLE0605 - those that are declared


def __getattr__(name: str) -> Any:
    return scipys(_scipy_stats, name, __name__)


__dir__ = names_of(_scipy_stats, __name__)
