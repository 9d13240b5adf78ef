"""The loss of sequences that are not aligned (CTC): a sum over all alignments, by a forward and a backward recursion.

A sequence of labels, with blanks around and between them, is a row of states; an alignment moves from state to state,
by none, one or two at a time, once for each step. ``reached[t, s]`` is the logarithm of the probability of being in a
state after a step, ``remaining[t, s]`` of getting from there to an end; their combination says how often a state is
passed through, which is the derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import modes
from ..._tensor.tensor import Tensor, new_tensor, raw
from ...arrays.bfloat16_dtype import cast
from ...arrays.kernels.basics import asarray_like, host
from ...autograd.api import grad
from ...autograd.function import Function
from ...modes import is_grad_enabled
from ..dispatch import FUNCTIONS
from ..samples import exact_index, ours, real
from ..table import composite
from .losses import reduce_tensor
from .margins import _F, _REDUCTIONS, _in_range

# --- on arrays ------------------------------------------------------------------------------------


def _skipped(skips: np.ndarray, dtype: Any) -> np.ndarray:
    """Return the summand for the state two before: zero, or -inf where it may not be skipped to."""
    return np.where(skips, 0.0, -np.inf).astype(dtype)


def _reached(emitted: np.ndarray, skips: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return (T, N, S): the log-probabilities of being in each state after each step."""
    time, batch, states = emitted.shape
    room = np.full((time, batch, states + 2), -np.inf, emitted.dtype)  # two states in front that nothing comes from
    if not time:
        return room[:, :, 2:]
    mask, two = _skipped(skips, emitted.dtype), np.empty((batch, states), emitted.dtype)
    room[0, :, 2] = emitted[0, :, 0]
    if states > 1:
        room[0, :, 3] = np.where(sizes > 0, emitted[0, :, 1], -np.inf)
    for t in range(1, time):
        before, now = room[t - 1], room[t, :, 2:]
        np.logaddexp(before[:, 2:], before[:, 1:-1], out=now)
        np.add(before[:, :-2], mask, out=two)
        np.logaddexp(now, two, out=now)
        np.add(now, emitted[t], out=now)
    return room[:, :, 2:]


def _remaining(emitted: np.ndarray, skips: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return (T, N, S): the log-probabilities of getting from each state after each step to an end; -inf after the last
    step.
    """
    time, batch, states = emitted.shape
    room = np.full((time + 1, batch, states + 2), -np.inf, emitted.dtype)
    mask = np.full((batch, states), -np.inf, emitted.dtype)
    mask[:, :-2] = _skipped(skips, emitted.dtype)[:, 2:]
    last = np.where(_ends(states, sizes), 0.0, -np.inf).astype(emitted.dtype)
    ahead, two = np.full((batch, states + 2), -np.inf, emitted.dtype), np.empty((batch, states), emitted.dtype)
    ending = set(lengths.tolist())
    for t in reversed(range(time)):
        now = room[t, :, :-2]
        if t + 1 < time:
            np.add(room[t + 1, :, :-2], emitted[t + 1], out=ahead[:, :-2])
            np.logaddexp(ahead[:, :-2], ahead[:, 1:-1], out=now)
            np.add(ahead[:, 2:], mask, out=two)
            np.logaddexp(now, two, out=now)
        if t + 1 in ending:
            here = lengths == t + 1
            now[here] = last[here]
    return room[:time, :, :-2]


def _ends(states: int, sizes: np.ndarray) -> np.ndarray:
    """Return the states in which an alignment may end: the last label, and the blank after it."""
    ends = np.zeros((len(sizes), states), bool)
    rows = np.arange(len(sizes))
    ends[rows, 2 * sizes] = True
    ends[rows, np.maximum(2 * sizes - 1, 0)] = True
    return ends


def _summed(reached: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return (N,): the log-probabilities of being at an end after the last step."""
    found = np.where((lengths == 0) & (sizes == 0), 0.0, -np.inf).astype(reached.dtype)
    if len(reached):
        last = reached[np.maximum(lengths - 1, 0), np.arange(len(lengths))]
        total = np.logaddexp.reduce(np.where(_ends(reached.shape[2], sizes), last, -np.inf), 1)
        found = np.where(lengths > 0, total, found).astype(reached.dtype, copy=False)
    return found


def _passed(g: np.ndarray, reached: np.ndarray, remaining: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return how often each state is passed through, times the gradient of the row; 0 where that is 0, whatever the
    sum.
    """
    often = reached + remaining
    with np.errstate(invalid="ignore"):
        np.subtract(often, out[:, None], out=often)
    np.exp(often, out=often)
    often[:, g == 0] = 0
    often *= g[:, None]
    return often


# --- on tensors, for what is recorded -------------------------------------------------------------


def _recorded(emitted: Any, skips: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> Any:
    """Return the same sum computed by ops, step by step."""
    time, batch, states = emitted.shape
    like = raw(emitted)
    beside = lambda array: new_tensor(asarray_like(array, like))
    where, inf = FUNCTIONS["where"], -np.inf
    first = np.zeros((batch, states), bool)
    first[:, 0] = True
    first[:, 1:2] = (sizes > 0)[:, None]
    nothing = beside(cast(np.full((batch, 2), inf), like.dtype))
    paths = beside(cast(np.where(first, 0.0, inf), like.dtype))
    final = where(beside((lengths == 0) & (sizes == 0)), 0.0, beside(cast(np.full(batch, inf), like.dtype)))
    for t in range(time):
        if t:
            shifted = FUNCTIONS["cat"]([nothing, paths], 1)
            paths = _log_sum([paths, shifted[:, 1:-1], where(beside(skips), shifted[:, :-2], inf)])
        paths = paths + emitted[t]
        if (lengths == t + 1).any():
            found = _log_sum(list(where(beside(_ends(states, sizes)), paths, inf).unbind(1)))
            final = where(beside(lengths == t + 1), found, final)
    return final


class _Alignments(Function):
    """The logarithm of the sum over all alignments, computed on NumPy's arrays."""

    @staticmethod
    def forward(ctx: Any, emitted: Tensor, skips: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> Tensor:
        ctx.reached = _reached(emitted._array, skips, sizes)
        out = new_tensor(_summed(ctx.reached, lengths, sizes))
        ctx.save_for_backward(emitted, out)
        ctx.constants = (skips, lengths, sizes)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        emitted, out = ctx.saved_tensors
        if is_grad_enabled() or not modes.current().plain or type(g._array) is not np.ndarray:
            with modes.enable_grad():  # step by step, recorded
                return grad(_recorded(emitted, *ctx.constants), emitted, g, create_graph=True)[0], None, None, None
        remaining = _remaining(emitted._array, *ctx.constants)
        return new_tensor(_passed(g._array, ctx.reached, remaining, out._array)), None, None, None


def _total(emitted: Tensor, skips: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> Any:
    """Return the logarithm of the sum over all alignments: computed directly unless more than its gradient is
    needed.
    """
    mode = modes.current()
    usual = mode.plain and not mode.batches and type(emitted) is Tensor and type(emitted._array) is np.ndarray
    if usual and emitted._array.dtype.char in "fd":
        return _Alignments.apply(emitted, skips, lengths, sizes)
    return _recorded(emitted, skips, lengths, sizes)


# --- the loss ---------------------------------------------------------------------------------------


def _lengths(name: str, what: str, lengths: Any, count: int) -> np.ndarray:
    numbers = (
        np.atleast_1d(np.asarray(host(raw(lengths)))) if not isinstance(lengths, (tuple, list)) else np.array(lengths)
    )
    if numbers.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: {what} must be integral")
    if numbers.shape != (count,):
        raise RuntimeError(f"{name}: {what} must be of size batch_size {count}, got {list(numbers.shape)}")
    return numbers.astype(np.int64)


def _padded_targets(name: str, targets: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return targets as (N, longest), given in that shape or concatenated."""
    longest = int(lengths.max(initial=0))
    if targets.ndim == 2:
        if targets.shape[0] != len(lengths) or targets.shape[1] < longest:
            raise RuntimeError(
                f"{name}: Expected targets to have at least {longest} columns, got {list(targets.shape)}"
            )
        return targets[:, :longest]
    if targets.ndim != 1 or targets.size != lengths.sum():
        raise RuntimeError(f"{name}: expected {lengths.sum()} targets, got {list(targets.shape)}")
    rows = np.zeros((len(lengths), longest), targets.dtype)
    ends = np.cumsum(lengths)
    for row, length, end in zip(rows, lengths, ends, strict=True):
        row[:length] = targets[end - length : end]
    return rows


def _log_sum(terms: list) -> Any:
    """Return the logarithm of a sum of exponentials that may all be zero: gradients are then 0, not NaN."""
    together = FUNCTIONS["stack"](terms, 0)
    top = together.detach().amax(0)
    top = FUNCTIONS["where"](top == -np.inf, 0.0, top)
    total = (together - top).exp().sum(0)
    return FUNCTIONS["where"](total == 0, -np.inf, FUNCTIONS["where"](total == 0, 1.0, total).log() + top)


_LOG_PROBS = ours(real(5, 2, 4), exact_index([[1, 2, 1], [3, 3, 0]]), (5, 4), (3, 2))


@composite("ctc_loss", complex=False, namespace=_F, samples=(
    _LOG_PROBS, *(ours(real(5, 2, 4), exact_index([1, 2, 1, 3, 3]), (5, 5), (3, 2), reduction=r) for r in _REDUCTIONS),
    ours(real(5, 4), exact_index([1, 2]), (5,), (2,)), ours(real(3, 1, 3), exact_index([[2, 0]]), (3,), (2,), 1),
    ours(real(2, 1, 3), exact_index([[1, 1, 2]]), (2,), (3,), zero_infinity=True),
))  # fmt: skip
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Minus the log-probability of a sequence of labels, over all its alignments with a longer sequence of steps, in
    which labels repeat and blanks come between; given the log-probabilities of each step (T, N, C).

    Examples
    --------
    >>> import dualtape as dt
    >>> steps = dt.full((2, 1, 2), 0.5).log()
    >>> dt.nn.functional.ctc_loss(steps, dt.tensor([[1]]), (2,), (1,))
    tensor(0.2877)
    """
    name = "ctc_loss"
    if log_probs.ndim not in (2, 3) or not log_probs.is_floating_point():
        raise RuntimeError(f"{name}: expected log-probabilities (T, N, C) or (T, C), got {list(log_probs.shape)}")
    steps = log_probs if log_probs.ndim == 3 else log_probs.unsqueeze(1)
    time, batch, classes = steps.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"{name}: blank must be in label range, from 0 to {classes - 1}, got {blank}")
    lengths = _lengths(name, "input_lengths", input_lengths, batch)
    sizes = _lengths(name, "target_lengths", target_lengths, batch)
    if (lengths > time).any() or (lengths < 0).any() or (sizes < 0).any():
        raise RuntimeError(f"{name}: Expected input_lengths to have values from 0 to {time}, got {lengths.tolist()}")
    labels = _padded_targets(
        name, host(raw(targets)).reshape(host(raw(targets)).shape if log_probs.ndim == 3 else (-1,)), sizes
    )
    _in_range(name, new_tensor(labels), classes)
    # blanks around and between the labels: a state for each
    states = np.full((batch, 2 * labels.shape[1] + 1), blank, np.int64)
    states[:, 1::2] = labels
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    like = raw(steps)
    beside = lambda array: new_tensor(asarray_like(array, like))
    where = FUNCTIONS["where"]
    emitted = steps.gather(2, beside(states).unsqueeze(0).expand((time, *states.shape)))
    losses = -_total(emitted, skips, lengths, sizes)
    if zero_infinity:
        losses = where(losses == np.inf, 0.0, losses)
    if reduction == "mean":
        return (losses / beside(cast(np.maximum(sizes, 1), like.dtype))).mean()
    losses = losses if log_probs.ndim == 3 else losses.squeeze(0)
    return reduce_tensor(name, losses, reduction)
