"""First-order optimizers over trees of parameters. ``grad`` is called with parameters and the number of the step,
``callback`` with both and the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]


def _gradients(grad: Callable, x: np.ndarray, unflatten: Callable, callback: Any, steps: int) -> Iterator[tuple]:
    """(number, gradient) of each step; ``x`` is changed in between."""
    for step in range(steps):
        gradient = flatten(grad(unflatten(x.copy()), step))[0]
        if callback is not None:
            callback(unflatten(x.copy()), step, unflatten(gradient))
        yield step, gradient


def sgd(
    grad: Callable,
    x0: Any,
    callback: Callable | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Gradient descent with momentum.

    Examples
    --------
    >>> from dualtape.hips.misc.optimizers import sgd
    >>> round(float(sgd(lambda x, step: 2 * (x - 3), 0.0)), 3)
    3.0
    """
    x, unflatten = flatten(x0)
    velocity = np.zeros(len(x))
    for _, gradient in _gradients(grad, x, unflatten, callback, num_iters):
        velocity = mass * velocity - (1 - mass) * gradient
        x += step_size * velocity
    return unflatten(x)


def rmsprop(
    grad: Callable,
    x0: Any,
    callback: Callable | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Steps divided by the recent magnitude of the gradient, elementwise.

    Examples
    --------
    >>> from dualtape.hips.misc.optimizers import rmsprop
    >>> round(float(rmsprop(lambda x, step: 2 * (x - 3), 0.0, num_iters=300, step_size=0.02)), 1)
    3.0
    """
    x, unflatten = flatten(x0)
    size = np.ones(len(x))
    for _, gradient in _gradients(grad, x, unflatten, callback, num_iters):
        size = gamma * size + (1 - gamma) * gradient**2
        x -= step_size * gradient / (np.sqrt(size) + eps)
    return unflatten(x)


def adam(
    grad: Callable,
    x0: Any,
    callback: Callable | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam: momentum and magnitude of the gradient, with bias correction.

    Examples
    --------
    >>> from dualtape.hips.misc.optimizers import adam
    >>> round(float(adam(lambda x, step: 2 * (x - 3), 0.0, num_iters=500, step_size=0.1)), 2)
    3.0
    """
    x, unflatten = flatten(x0)
    momentum, size = np.zeros(len(x)), np.zeros(len(x))
    for step, gradient in _gradients(grad, x, unflatten, callback, num_iters):
        momentum = b1 * momentum + (1 - b1) * gradient
        size = b2 * size + (1 - b2) * gradient**2
        unbiased = momentum / (1 - b1 ** (step + 1)), size / (1 - b2 ** (step + 1))
        x -= step_size * unbiased[0] / (np.sqrt(unbiased[1]) + eps)
    return unflatten(x)
