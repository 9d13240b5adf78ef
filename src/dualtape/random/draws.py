"""The functions and methods that draw random numbers from a generator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import modes
from .._tensor import dtypes
from .._tensor.creation import _finished, _numpy_dtype, in_dtype_of, in_memory_format, plain_memory
from .._tensor.shaped import _size_of, _sizes
from .._tensor.tensor import Tensor, wrap
from ..arrays import Batched, as_array
from ..arrays.batched.array import holds
from ..arrays.bfloat16_dtype import BFLOAT16, cast, limits
from ..arrays.kernels.basics import all_samples, in_parts
from ..autograd.versions import bump
from ..autograd.views import check_write
from ..errors import warn
from ..overrides.active_overrides import explaining
from .generator import Generator, source

__all__ = [
    "bernoulli",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
]

# --- drawing raw arrays ---------------------------------------------------------------------------


def _uniform(rng: np.random.Generator, shape: tuple, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "c":
        part = dtypes.real_of(dtype)
        return (_uniform(rng, shape, part) + 1j * _uniform(rng, shape, part)).astype(dtype)
    _float_only("rand", dtype)
    if dtype.itemsize < 4:
        digits = 2 ** (8 if dtype is BFLOAT16 else 11)  # rounding a finer draw could give 1
        return cast(rng.integers(0, digits, shape) / digits, dtype)
    return as_array(rng.random(shape, dtype))


def _gaussian(rng: np.random.Generator, shape: tuple, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "c":
        part = dtypes.real_of(dtype)
        return ((_gaussian(rng, shape, part) + 1j * _gaussian(rng, shape, part)) * np.sqrt(0.5)).astype(dtype)
    _float_only("randn", dtype)
    drawn = as_array(rng.standard_normal(shape, dtype if dtype.itemsize >= 4 else np.float32))
    return drawn if drawn.dtype == dtype else cast(drawn, dtype)


def _float_only(name: str, dtype: np.dtype) -> None:
    if dtype.kind != "f":
        raise NotImplementedError(
            f"{name} is not implemented for {dtypes.of(dtype)!r}: ask for a floating-point dtype, or use randint"
        )


def _drawn(
    draw: Callable, size: tuple, kwargs: dict, generator: Any, out: Any, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    wanted = _numpy_dtype(dtype, dtypes.default_float())
    return _finished(draw(source(generator), _sizes(_size_of(size, kwargs)), wanted), device, requires_grad, out)


def rand(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Return uniform random numbers, at least 0 and below 1.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.rand(100); bool((x >= 0).all() and (x < 1).all())
    True
    """
    plain_memory(layout)
    return _drawn(_uniform, size, ignored, generator, out, dtype, device, requires_grad)


def randn(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Return normally distributed random numbers of mean 0 and variance 1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.randn(2, 3).shape
    dualtape.Size([2, 3])
    """
    plain_memory(layout)
    return _drawn(_gaussian, size, ignored, generator, out, dtype, device, requires_grad)


def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return random integers, at least ``low`` (0 if left out) and below ``high``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.randint(5, (3,)).dtype
    dualtape.int64
    """
    plain_memory(layout)
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            "randint() takes (high, size) or (low, high, size), the size a tuple of integers: got"
            f" {type(size).__name__}"
        )
    return _finished(
        _whole_numbers(source(generator), low or 0, high, _sizes((size,)), _numpy_dtype(dtype, dtypes.int64.numpy)),
        device,
        requires_grad,
        out,
    )


def _whole_numbers(rng: np.random.Generator, low: int, high: int, shape: tuple, dtype: Any) -> np.ndarray:
    """Return random integers of ``[low, high)``; raise unless ``dtype`` can hold them."""
    for bound in (low, high):
        if not hasattr(bound, "__index__"):
            raise TypeError(f"the bounds of random integers are integers, got {bound!r} ({type(bound).__name__})")
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind in "iu" and not (np.iinfo(dtype).min <= low and high - 1 <= np.iinfo(dtype).max):
        raise RuntimeError(f"from or to - 1 is out of bounds for {dtypes.of(dtype)!r}: got from={low} and to={high}")
    return cast(as_array(rng.integers(low, high, shape, np.uint64 if high > 2**63 else np.int64)), dtype)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the integers below ``n`` in random order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    plain_memory(layout)
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    if not hasattr(n, "__index__"):
        raise TypeError(f"randperm(): argument 'n' must be int, got {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"randperm: n must be non-negative, got {n}")
    if n > 2**60:  # near 2**63 NumPy makes an array without elements
        raise RuntimeError(f"randperm: there is no memory for {n} numbers")
    return _finished(
        source(generator).permutation(n).astype(_numpy_dtype(dtype, dtypes.int64.numpy)), device, requires_grad, out
    )


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return normally distributed random numbers of the given means and standard deviations (numbers or tensors).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.normal(dt.zeros(3), 1.0).shape
    dualtape.Size([3])
    """
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    arrays = [a._array for a in (mean, std) if isinstance(a, Tensor)]
    if (all_samples(std._array if isinstance(std, Tensor) else np.asarray(std)) < 0).any():
        raise RuntimeError(f"normal: std must be 0 or more, got {std}")
    if not arrays and size is None:
        raise TypeError("normal() of numbers needs a size, a tuple")
    shape = _sizes((size,)) if size is not None else np.broadcast_shapes(*(a.shape for a in arrays))
    wanted = _numpy_dtype(dtype, arrays[0].dtype if arrays else dtypes.default_float())
    assert wanted is not None
    drawn = _gaussian(source(generator), shape, wanted)
    for array in arrays:
        drawn = _beside(array, drawn)
    values = [_settled(a._array) if isinstance(a, Tensor) else a for a in (mean, std)]
    return _finished(cast(drawn * values[1] + values[0], wanted), device, requires_grad, out)


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Return zeros and ones, each a one with the probability in ``input`` (or with ``p``).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.bernoulli(dt.ones(3))
    tensor([1., 1., 1.])
    """
    if p is None:
        _float_only("bernoulli", input._array.dtype)
    chance = input._array if p is None else np.full(input._array.shape, float(p))
    _check_chance(chance)
    drawn = _beside(input._array, source(generator).random(chance.shape))
    result = cast(as_array(drawn < _settled(_beside(input._array, chance))), input._array.dtype)
    return _finished(result, None, False, out)


def _check_chance(chance: Any) -> None:
    seen = all_samples(chance)
    if not np.all((seen >= 0) & (seen <= 1)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1: probabilities lie between 0 and 1")


def _beside(array: Any, drawn: Any, dims: int | None = None) -> Any:
    """Return a draw distributed like ``array`` if that is distributed over processes.

    Each process draws all of it and keeps its part, so that the numbers do not depend on how many processes there are.
    """
    return array.sharing(drawn, dims) if in_parts(array) and not in_parts(drawn) else drawn


def _settled(array: Any) -> Any:
    """Return the array without pending sums."""
    return array.sharing(np.asarray(array)) if in_parts(array) and array.spec.partial else array


def _like(input: Tensor, drawn: Tensor) -> Tensor:
    drawn._array = _beside(input._array, drawn._array)
    return drawn


# The most comparisons that multinomial makes in one call; beyond, each row is searched.
_AT_ONCE = 100_000


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return indices drawn with probabilities proportional to the entries of each row.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.multinomial(dt.tensor([0.0, 1.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    if out is not None:
        in_dtype_of(out, dtypes.int64)
    if input._array.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype!r}")
    if input._array.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {input._array.ndim}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    weights = np.asarray(input._array) if in_parts(input._array) else input._array
    weights = weights.astype(np.float64)
    weights = weights[None] if weights.ndim == 1 else weights
    seen = all_samples(weights)
    if (seen < 0).any() or not np.isfinite(seen).all() or (seen.sum(-1) <= 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0, or a row that sums to 0")
    if not replacement and num_samples > (seen > 0).sum(-1).min():
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples} from"
            f" {weights.shape[-1]}"
        )
    rng = source(generator)
    if replacement and type(weights) is np.ndarray and weights.size * num_samples < _AT_ONCE:
        shares = weights.cumsum(-1)
        shares /= shares[:, -1:]
        result = (rng.random((len(weights), num_samples, 1)) >= shares[:, None]).sum(-1)
    else:
        rows = [rng.choice(w.size, num_samples, replacement, w / w.sum()) for w in weights]
        result = np.stack(rows).astype(np.int64)
    result = result[0] if input._array.ndim == 1 else result
    return _finished(_beside(input._array, result, input._array.ndim - 1), None, False, out)


def _in_order_of(drawn: Tensor, name: str, memory_format: Any, input: Tensor) -> Tensor:
    """Return a new tensor in a memory format, or in the memory order of ``input``."""
    if in_parts(input._array):
        return drawn
    if memory_format is not None or not input._array.flags.c_contiguous:
        drawn._array = in_memory_format(drawn._array, name, memory_format, input._array)
    return drawn


def _drawn_like(
    draw: Callable, name: str, input: Tensor, dtype: Any, layout: Any, device: Any, requires_grad: bool, order: Any
) -> Tensor:
    """Return what ``draw`` gives with the settings of ``input`` where none are given, in its memory order."""
    plain_memory(layout)
    drawn = draw(dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)
    return _like(input, _in_order_of(drawn, name, order, input))


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return uniform random numbers in the shape and dtype of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.rand_like(dt.ones(2)).shape
    dualtape.Size([2])
    """
    draw = partial(rand, input.shape, generator=generator)
    return _drawn_like(draw, "rand_like", input, dtype, layout, device, requires_grad, memory_format)


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return normally distributed random numbers in the shape and dtype of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.randn_like(dt.ones(2)).shape
    dualtape.Size([2])
    """
    draw = partial(randn, input.shape, generator=generator)
    return _drawn_like(draw, "randn_like", input, dtype, layout, device, requires_grad, memory_format)


def randint_like(
    input: Tensor,
    low: int | None = None,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return random integers in the shape and dtype of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.randint_like(dt.ones(2), 5).dtype
    dualtape.float32
    """
    if low is None and high is None:
        raise TypeError("randint_like() is missing its argument 'high'")
    low, high = (0, low) if high is None else (low or 0, high)
    draw = partial(randint, low, high, input.shape, generator=generator)
    return _drawn_like(draw, "randint_like", input, dtype, layout, device, requires_grad, memory_format)


# --- filling in place -----------------------------------------------------------------------------


def _fill(self: Tensor, name: str, draw: Callable[[tuple, np.dtype], Any]) -> Tensor:
    """Return an in-place method that writes random values over a tensor, with the checks of every in-place write."""
    mode = modes.current()
    recording = mode.grad and self.requires_grad
    check_write(self, name, recording)
    values = draw(self._array.shape, self._array.dtype)
    if type(values) is Batched and not holds(self._array, values):
        if values.level.randomness == "same":
            raise RuntimeError(
                f"Vmap does not currently support same randomness with a batched tensor input: {name} would write what"
                " differs from sample to sample into a tensor that is one for all of them. Draw out of place, or fill a"
                " batched tensor (zeros_like, clone)"
            )
        raise RuntimeError(
            f"vmap: Cannot ask for different inplace randomness on an unbatched tensor in {name}: it has one place for"
            " all samples. Draw out of place,"
            " or fill a batched tensor (zeros_like, clone)"
        )
    if recording:
        return self.copy_(wrap(cast(as_array(values), self._array.dtype)))
    array, counter = self._array, self._shared_counter
    bump(counter)  # before the write: an interrupt may come in between
    try:
        array[...] = values
    except ValueError:  # they do not fit
        counter[0] -= 1
        raise
    if mode.levels:
        from ..ops.jvp import written

        written(self, None, mode)
    return self


def _uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None, **kwargs: Any
) -> Tensor:
    """Fill with uniform random numbers between two bounds.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.zeros(3).uniform_(2, 5); bool((x >= 2).all() and (x < 5).all())
    True
    """
    low, to = float(kwargs.pop("from", from_)), float(to)
    if low > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    if self._array.dtype.kind == "f":
        largest = float(limits(self._array.dtype).max)
        for name, bound in (("from", low), ("to", to)):
            if not abs(bound) <= largest:  # NaN is refused, too
                raise RuntimeError(f"uniform_: {name} is out of bounds for {self.dtype!r}: {bound}")
        if to - low > largest:
            raise RuntimeError(
                f"uniform_ expects to-from <= {largest}, the largest number of {self.dtype!r}, but found from={low} and"
                f" to={to}"
            )
    draw = _uniform_half if self._array.dtype.itemsize == 2 else _uniform_between
    return _fill(self, "uniform_", lambda shape, dtype: draw(source(generator), low, to, shape, dtype))


def _uniform_between(rng: np.random.Generator, low: float, high: float, shape: tuple, dtype: np.dtype) -> Any:
    return _uniform(rng, shape, dtype) * (high - low) + low


def _uniform_half(rng: np.random.Generator, low: float, high: float, shape: tuple, dtype: np.dtype) -> Any:
    """Return uniform numbers of ``[low, high)`` in a half type, drawn in single precision: near 0 the type has finer
    steps than a draw of its own few digits.
    """
    _float_only("uniform_", dtype)
    drawn = cast(_uniform_between(rng, low, high, shape, np.dtype(np.float32)), dtype)
    end = cast(np.asarray(high, np.float32), dtype)
    if high > low and float(end) >= high:
        # what rounding took to the end, which is excluded, becomes the largest number below it
        drawn[drawn >= end] = np.nextafter(end, cast(np.asarray(-np.inf, np.float32), dtype))
    return drawn


def _normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with normally distributed random numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(3).normal_(4.0, 0.0)
    tensor([4., 4., 4.])
    """
    mean, std = float(mean), float(std)
    if std < 0:
        raise RuntimeError(f"normal: std must be 0 or more, got {std}")
    return _fill(self, "normal_", lambda shape, dtype: _gaussian(source(generator), shape, dtype) * std + mean)


def _random_(
    self: Tensor, from_: int | None = None, to: int | None = None, *, generator: Generator | None = None, **kwargs: Any
) -> Tensor:
    """Fill with random integers: below ``to``, between two bounds, or over the dtype's range.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(3).random_(1)
    tensor([0., 0., 0.])
    """
    first = kwargs.pop("from", from_)
    low, high = (0, first) if to is None else (first or 0, to)
    if high is None:
        high = _beyond(self._array.dtype)
    if self._array.dtype.kind == "f":
        exact = _beyond(self._array.dtype) - 1
        if low < -exact or high - 1 > exact:
            warn(
                f"random_: from or to - 1 is out of bounds [-{exact}, {exact}], within which {self.dtype!r} has all"
                " integers: beyond them some are never drawn"
            )
    return _fill(self, "random_", lambda shape, dtype: _whole_numbers(source(generator), low, high, shape, dtype))


def _beyond(dtype: np.dtype) -> int:
    """Return the first integer that a dtype cannot hold exactly."""
    if dtype.kind == "b":
        return 2
    return 2 ** (limits(dtype).nmant + 1) + 1 if dtype.kind == "f" else int(np.iinfo(dtype).max) + 1


def _bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with zeros and ones, each one with probability ``p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(3).bernoulli_(1.0)
    tensor([1., 1., 1.])
    """
    chance = p._array if isinstance(p, Tensor) else p
    _check_chance(chance)
    return _fill(self, "bernoulli_", lambda shape, dtype: source(generator).random(shape) < chance)


def _exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentially distributed random numbers of rate ``lambd``.

    Examples
    --------
    >>> import dualtape as dt
    >>> bool((dt.zeros(3).exponential_() >= 0).all())
    True
    """
    if self.is_complex():
        raise RuntimeError(f"exponential_: expected a tensor of real numbers, got {self.dtype}")
    if lambd <= 0:
        raise RuntimeError(f"exponential_: lambd must be greater than 0, got {lambd}")
    return _fill(self, "exponential_", lambda shape, dtype: source(generator).exponential(1 / lambd, shape))


def _cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with Cauchy distributed random numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(3).cauchy_().shape
    dualtape.Size([3])
    """
    if sigma <= 0:
        raise RuntimeError(f"cauchy_: sigma must be greater than 0, got {sigma}")
    return _fill(self, "cauchy_", lambda shape, dtype: source(generator).standard_cauchy(shape) * sigma + median)


def _log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers whose logarithms are normally distributed.

    Examples
    --------
    >>> import dualtape as dt
    >>> bool((dt.zeros(3).log_normal_() > 0).all())
    True
    """
    if std <= 0:
        raise RuntimeError(f"log_normal_: std must be greater than 0, got {std}")
    return _fill(self, "log_normal_", lambda shape, dtype: source(generator).lognormal(mean, std, shape))


def _geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success, which has probability ``p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> bool((dt.zeros(3).geometric_(0.5) >= 1).all())
    True
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _fill(self, "geometric_", lambda shape, dtype: source(generator).geometric(p, shape))


for _name, _method in (
    ("cauchy_", _cauchy_),
    ("log_normal_", _log_normal_),
    ("geometric_", _geometric_),
    ("uniform_", _uniform_),
    ("normal_", _normal_),
    ("random_", _random_),
    ("bernoulli_", _bernoulli_),
    ("exponential_", _exponential_),
    ("bernoulli", bernoulli),
    ("multinomial", multinomial),
):
    setattr(Tensor, _name, explaining(_method, _name))
