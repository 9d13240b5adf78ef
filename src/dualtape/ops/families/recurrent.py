"""Recurrent networks: one step of a cell, and layers of cells over whole sequences, in both directions if asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._tensor.tensor import raw
from ...arrays.kernels.basics import host
from ..dispatch import FUNCTIONS
from ..samples import real, sample
from ..table import composite
from .dropout import dropout as _dropout
from .linear import linear
from .recurrences import recurrence

# --- one step -------------------------------------------------------------------------------------


def _check_cell(name: str, input: Any, hidden: Any, w_ih: Any, w_hh: Any, size: int | None = None) -> None:
    if input.shape[-1] != w_ih.shape[1] or hidden.shape[-1] != w_hh.shape[1]:
        raise RuntimeError(
            f"{name}: input has {input.shape[-1]} features and the state {hidden.shape[-1]}, but the weights are of"
            f" {w_ih.shape[1]} and {w_hh.shape[1]}"
        )
    rows = _STEPS[name.removesuffix("_cell")][1] * (size or hidden.shape[-1])
    if w_ih.shape[0] != rows or w_hh.shape[0] != rows:
        raise RuntimeError(f"{name}: expected weights of {rows} rows, got {w_ih.shape[0]} and {w_hh.shape[0]}")


def _simple(activation: str) -> Callable:
    def cell(name: str, x: Any, state: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        _check_cell(name, x, state, w_ih, w_hh)
        return FUNCTIONS[activation](linear(x, w_ih, b_ih) + linear(state, w_hh, b_hh))

    return cell


def _gru_step(name: str, x: Any, state: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    _check_cell(name, x, state, w_ih, w_hh)
    reset_x, update_x, new_x = linear(x, w_ih, b_ih).chunk(3, -1)
    reset_h, update_h, new_h = linear(state, w_hh, b_hh).chunk(3, -1)
    update = (update_x + update_h).sigmoid()
    new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
    return new + update * (state - new)


def _lstm_step(name: str, x: Any, state: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    hidden, memory = state
    _check_cell(name, x, hidden, w_ih, w_hh, memory.shape[-1])
    into, forget, content, out = (linear(x, w_ih, b_ih) + linear(hidden, w_hh, b_hh)).chunk(4, -1)
    memory = forget.sigmoid() * memory + into.sigmoid() * content.tanh()
    return out.sigmoid() * memory.tanh(), memory


_STEPS: dict[str, tuple[Callable, int]] = {  # and how many gates each has
    "rnn_tanh": (_simple("tanh"), 1), "rnn_relu": (_simple("relu"), 1), "gru": (_gru_step, 3), "lstm": (_lstm_step, 4),
}  # fmt: skip


def _cell(kind: str, what: str, example: str) -> None:
    step, gates = _STEPS[kind]
    name = f"{kind}_cell"

    def function(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        return step(name, input, hx, w_ih, w_hh, b_ih, b_hh)

    pair = kind == "lstm"
    state = (real(2, 3), real(2, 3)) if pair else real(2, 3)
    shown = "(dt.zeros(1, 3), dt.zeros(1, 3))" if pair else "dt.zeros(1, 3)"
    function.__name__ = name
    function.__doc__ = f"""One step of {what}: the state after an input, given the state before.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.{name}(dt.ones(1, 2), {shown}, dt.ones({3 * gates}, 2), dt.ones({3 * gates}, 3))
    {example}
    """
    composite(name, method=False, complex=False, samples=(
        sample(real(2, 4), state, real(3 * gates, 4), real(3 * gates, 3), real(3 * gates), real(3 * gates)),
        sample(real(2, 4), state, real(3 * gates, 4), real(3 * gates, 3)),
    ))(function)  # fmt: skip


_cell("rnn_tanh", "a network with tanh", "tensor([[0.9640, 0.9640, 0.9640]])")
_cell("rnn_relu", "a network with relu", "tensor([[2., 2., 2.]])")
_cell("gru", "gated recurrent units", "tensor([[0.1149, 0.1149, 0.1149]])")
_cell("lstm", "long short-term memory, whose state is a pair",
    "(tensor([[0.6083, 0.6083, 0.6083]]), tensor([[0.8491, 0.8491, 0.8491]]))")  # fmt: skip

# --- sequences ------------------------------------------------------------------------------------


def _each(state: Any, function: Callable) -> Any:
    return tuple(function(s) for s in state) if isinstance(state, tuple) else function(state)


def _joined(states: Sequence[Any], join: Callable) -> Any:
    return tuple(join(part) for part in zip(*states, strict=True)) if isinstance(states[0], tuple) else join(states)


def _whole(kind: str, x: Any, state: Any, weights: tuple, backward: bool) -> tuple[Any, Any]:
    """Return the outputs of one layer in one direction over sequences of one length, (T, N, features), and its last
    state.
    """
    w_ih, w_hh, b_ih, b_hh, _ = weights
    hidden, memory = state if kind == "lstm" else (state, None)
    _check_cell(kind, x, hidden, w_ih, w_hh)
    apart = kind == "gru"  # where the gates are more than a sum
    bias = b_ih if apart or b_ih is None else b_ih + b_hh
    gates = linear(x.flip(0) if backward else x, w_ih, bias)
    out, cells, _ = recurrence(gates, hidden, memory, w_hh, b_hh if apart else None, kind)
    last = (out[-1], cells[-1]) if kind == "lstm" else out[-1]
    return (out.flip(0) if backward else out), last


def _projected(step: Callable, projection: Any) -> Callable:
    """Return a step whose hidden state is projected."""

    def both(name: str, x: Any, state: Any, *weights: Any) -> Any:
        hidden, memory = step(name, x, state, *weights)
        return linear(hidden, projection), memory

    return step if projection is None else both


def _one_way(kind: str, steps: list, state: Any, weights: tuple, sizes: list[int], backward: bool) -> tuple[list, Any]:
    """Return the same, step by step; step t is of the first ``sizes[t]`` sequences."""
    *weights, projection = weights  # type: ignore[assignment]
    step = _projected(_STEPS[kind][0], projection)
    outputs: list = [None] * len(steps)
    order = range(len(steps) - 1, -1, -1) if backward else range(len(steps))
    first = state
    ended: list = []
    now = _each(first, lambda s: s[: sizes[order[0]]]) if steps else first
    for t in order:
        have, count = (now[0] if isinstance(now, tuple) else now).shape[0], sizes[t]
        if count > have:  # going backward, sequences join in where they end
            now = _joined(
                [now, _each(first, lambda s, a=have, b=count: s[a:b])], lambda p: FUNCTIONS["cat"](list(p), 0)
            )
        elif count < have:
            ended.append(_each(now, lambda s, a=count: s[a:]))
            now = _each(now, lambda s, a=count: s[:a])
        now = step(kind, steps[t], now, *weights)
        outputs[t] = now[0] if isinstance(now, tuple) else now
    return outputs, _joined([now, *reversed(ended)], lambda p: FUNCTIONS["cat"](list(p), 0)) if ended else now


def _layers(
    kind: str, x: Any, sizes: list[int] | None, hx: Any, params: Sequence[Any], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the outputs of the last layer and the last states of all; ``x`` is (T, N, features), or, with the
    ``sizes`` of its steps, a list of them.
    """
    projects = kind == "lstm" and hx[0].shape[-1] != hx[1].shape[-1]
    each, ways = (4 if has_biases else 2) + projects, (2 if bidirectional else 1)
    if len(params) != each * ways * num_layers:
        raise RuntimeError(f"{kind}: expected {each * ways * num_layers} weights, got {len(params)}")
    first = hx[0] if kind == "lstm" else hx
    samples = x.shape[1] if sizes is None else sizes[0]
    if first.ndim != 3 or first.shape[0] != ways * num_layers:
        raise RuntimeError(f"{kind}: expected states of {ways * num_layers} layers, got {list(first.shape)}")
    if first.shape[1] != samples:
        raise RuntimeError(f"{kind}: expected states of {samples} samples, got {list(first.shape)}")
    last = []
    for layer in range(num_layers):
        found = []
        for way in range(ways):
            k = layer * ways + way
            own = list(params[k * each : (k + 1) * each])
            projection = own.pop() if projects else None
            weights = (*own, *(None,) * (4 - len(own)), projection)
            state = (hx[0][k], hx[1][k]) if kind == "lstm" else hx[k]
            if sizes is None:
                outputs, final = _whole(kind, x, state, weights, way == 1)
            else:
                outputs, final = _one_way(kind, x, state, weights, sizes, way == 1)
            found.append(outputs)
            last.append(final)
        drops = bool(dropout and train and layer < num_layers - 1)
        if sizes is None:
            x = found[0] if ways == 1 else FUNCTIONS["cat"](found, -1)
            x = _dropout(x, dropout, True) if drops else x
        else:
            x = found[0] if ways == 1 else [FUNCTIONS["cat"]([a, b], -1) for a, b in zip(*found, strict=True)]
            x = [_dropout(step, dropout, True) for step in x] if drops else x
    return x, _joined(last, lambda p: FUNCTIONS["stack"](list(p), 0))


def _network(kind: str, what: str) -> None:
    gates = _STEPS[kind][1]

    def function(
        input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any,
        batch_first: Any = False,
    ) -> Any:  # fmt: skip
        # (data, batch_sizes, hx, params, ...): sequences packed step by step.
        if not isinstance(has_biases, bool):
            return _packed(kind, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
        if input.ndim not in (2, 3):
            raise RuntimeError(f"{kind}: expected input of 2 or 3 dimensions, got {list(input.shape)}")
        x = input if input.ndim == 3 else input.unsqueeze(0 if batch_first else 1)
        x = x.transpose(0, 1) if batch_first else x
        state = tuple(hx) if kind == "lstm" else hx
        state = state if input.ndim == 3 else _each(state, lambda s: s.unsqueeze(1))
        if not x.shape[0]:
            raise RuntimeError(f"{kind}: Expected sequence length to be larger than 0")
        settings = (state, params, has_biases, num_layers, dropout, train, bidirectional)
        if kind == "lstm" and state[0].shape[-1] != state[1].shape[-1]:  # projected, step by step
            steps, last = _layers(kind, list(x.unbind(0)), [x.shape[1]] * x.shape[0], *settings)
            out = FUNCTIONS["stack"](steps, 0)
        else:
            out, last = _layers(kind, x, None, *settings)
        out = out.transpose(0, 1) if batch_first else out
        if input.ndim == 2:
            out, last = out.squeeze(0 if batch_first else 1), _each(last, lambda s: s.squeeze(1))
        return (out, *last) if kind == "lstm" else (out, last)

    weights = [real(3 * gates, 4), real(3 * gates, 3), real(3 * gates), real(3 * gates)]
    deeper = [real(3 * gates, 6), real(3 * gates, 3), real(3 * gates), real(3 * gates)]
    state = lambda n, b: [real(n, b, 3), real(n, b, 3)] if kind == "lstm" else real(n, b, 3)
    shown = "[dt.zeros(1, 1, 3), dt.zeros(1, 1, 3)]" if kind == "lstm" else "dt.zeros(1, 1, 3)"
    function.__name__ = kind
    function.__doc__ = f"""Layers of {what} over sequences (T, N, features): the outputs of each step, and the last states.

    Of sequences packed step by step it takes (data, batch_sizes, hx, params, ...), without ``batch_first``.

    Examples
    --------
    >>> import dualtape as dt
    >>> weights = [dt.ones({3 * gates}, 2), dt.ones({3 * gates}, 3)]
    >>> dt.{kind}(dt.ones(5, 1, 2), {shown}, weights, False, 1, 0.0, False, False, False)[0].shape
    dualtape.Size([5, 1, 3])
    """
    composite(kind, method=False, complex=False, samples=(
        sample(real(3, 2, 4), state(1, 2), weights, True, 1, 0.0, False, False, False),
        sample(real(2, 3, 4), state(1, 2), weights[:2], False, 1, 0.0, False, False, True),
        sample(real(3, 2, 4), state(4, 2), weights + weights + deeper + deeper, True, 2, 0.0, False, True, False),
        sample(real(6, 4), np.array([3, 2, 1]), state(2, 3), weights + weights, True, 1, 0.0, False, True),
    ))(function)  # fmt: skip


def _packed(
    kind: str, data: Any, batch_sizes: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool,
) -> Any:  # fmt: skip
    sizes = np.asarray(host(raw(batch_sizes))).tolist()
    steps = list(FUNCTIONS["split"](data, sizes, 0))
    state = tuple(hx) if kind == "lstm" else hx
    outputs, last = _layers(kind, steps, sizes, state, params, has_biases, num_layers, dropout, train, bidirectional)
    out = FUNCTIONS["cat"](outputs, 0)
    return (out, *last) if kind == "lstm" else (out, last)


_network("rnn_tanh", "a network with tanh")
_network("rnn_relu", "a network with relu")
_network("gru", "gated recurrent units")
_network("lstm", "long short-term memory")
