"""``dualtape.nn.grad``: gradients of convolutions with respect to their input and weight, as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import func as _func
from .._listing import listing
from .._tensor.shaped import zeros
from .._tensor.tensor import Tensor
from . import functional as _functional

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Sizes = int | Sequence[int]


def _gradient(function: Callable[[Tensor], Tensor], shape: Sequence[int], like: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient of a linear function at any point of that shape."""
    _, pull = _func.vjp(function, zeros(tuple(shape), dtype=like.dtype))
    return pull(gradient)[0]


def _pair(dims: int) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    convolve = getattr(_functional, f"conv{dims}d")

    def of_input(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        options = (None, stride, padding, dilation, groups)
        return _gradient(lambda x: convolve(x, weight, *options), input_size, weight, grad_output)

    def of_weight(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        options = (None, stride, padding, dilation, groups)
        return _gradient(lambda weight: convolve(input, weight, *options), weight_size, input, grad_output)

    for function, what, size in ((of_input, "input", "input_size"), (of_weight, "weight", "weight_size")):
        function.__name__ = function.__qualname__ = f"conv{dims}d_{what}"
        function.__doc__ = f"""Return the gradient of :func:`dualtape.nn.functional.conv{dims}d` for its {what}.

        Parameters
        ----------
        {size} : sequence of int
            The shape of the {what}.
        grad_output : Tensor
            The gradient of the result.
        stride, padding, dilation, groups
            Those of the convolution.

        Examples
        --------
        >>> import dualtape as dt
        >>> x, weight = dt.ones(1, 1, {", ".join(["3"] * dims)}), dt.ones(1, 1, {", ".join(["2"] * dims)})
        >>> g = dt.ones(1, 1, {", ".join(["2"] * dims)})
        >>> dt.nn.grad.conv{dims}d_{what}({"x.shape, weight" if what == "input" else "x, weight.shape"}, g).sum()
        tensor({4.0**dims:g}.)
        """
    return of_input, of_weight


conv1d_input, conv1d_weight = _pair(1)
conv2d_input, conv2d_weight = _pair(2)
conv3d_input, conv3d_weight = _pair(3)

__dir__ = listing(__name__)
