"""A recurrent layer over a whole sequence as one op: the states of all steps, from the inputs' part of the gates.

Everything that does not depend on the step before is computed for all steps at once; a step is then a product and a few
lines, forward and backward. The gates are an output too, because the gradient is made of them; so a gradient may arrive
there, when the backward is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.kernels.recurrence import lstm_back, lstm_forward, walked
from ..samples import real, sample
from ..table import GENERAL, op


def _sigmoid(x: Any) -> Any:
    return np.tanh(x * 0.5) * 0.5 + 0.5


def _before(hidden: Any, out: Any) -> Any:
    """Return the state before each step."""
    return np.concatenate([hidden[None], out[:-1]], 0)


# --- forward: one step, given the inputs' part of its gates and the state before it ---------------


def _lstm(x: Any, hidden: Any, memory: Any, weight: Any, bias: Any) -> tuple:
    size = hidden.shape[-1]
    a = x + np.matmul(hidden, weight)
    content = np.tanh(a[:, 2 * size : 3 * size])
    gates = _sigmoid(a)
    gates = np.concatenate([gates[:, : 2 * size], content, gates[:, 3 * size :]], 1)
    memory = gates[:, size : 2 * size] * memory + gates[:, :size] * content
    return gates[:, 3 * size :] * np.tanh(memory), memory, gates


def _gru(x: Any, hidden: Any, memory: Any, weight: Any, bias: Any) -> tuple:
    size = hidden.shape[-1]
    h = np.matmul(hidden, weight)
    h = h if bias is None else h + bias
    both = _sigmoid(x[:, : 2 * size] + h[:, : 2 * size])
    inner = h[:, 2 * size :]
    new = np.tanh(x[:, 2 * size :] + both[:, :size] * inner)
    return new + both[:, size:] * (hidden - new), memory, np.concatenate([both, new, inner], 1)


def _simple(activation: Callable) -> Callable:
    def step(x: Any, hidden: Any, memory: Any, weight: Any, bias: Any) -> tuple:
        return activation(x + np.matmul(hidden, weight)), memory, x[:, :0]

    return step


_STEPS = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn_tanh": _simple(np.tanh),
    "rnn_relu": _simple(lambda a: np.maximum(a, a.dtype.type(0))),
}


def _forward(gates: Any, hidden: Any, memory: Any, weight: Any, bias: Any, kind: str) -> tuple:
    if kind == "lstm" and all(
        type(a) is np.ndarray and a.dtype == gates.dtype for a in (gates, hidden, memory, weight)
    ):
        return lstm_forward(gates, hidden, memory, weight)
    step, across = _STEPS[kind], weight.T
    outputs, cells, acts = [], [], []
    now, cell = hidden, memory
    for t in range(gates.shape[0]):
        now, cell, act = step(gates[t], now, cell, across, bias)
        outputs.append(now)
        cells.append(cell)
        acts.append(act)
    kept = np.stack(cells) if memory is not None else gates[:0, :, :0]
    return np.stack(outputs), kept, np.stack(acts)


# --- backward: what a step passes on to the one before it -----------------------------------------
# Each gives the gradients of the gates, of the first states, and of the states' part of the gates.


def _lstm_back(
    g_out: Any, g_cells: Any, g_acts: Any, hidden: Any, memory: Any, weight: Any, out: Any, cells: Any, acts: Any
) -> tuple:
    size = hidden.shape[-1]
    into, forget, content, gate = (acts[..., k * size : (k + 1) * size] for k in range(4))
    tanh = np.tanh(cells)
    to_cell = gate * (1 - tanh * tanh)
    slopes = [into * (1 - into), forget * (1 - forget), 1 - content * content, gate * (1 - gate)]
    factors = [content * slopes[0], _before(memory, cells) * slopes[1], into * slopes[2]]
    by_hidden, own = tanh * slopes[3], g_acts * np.concatenate(slopes, -1)
    rows: list = []
    g, g_cell = out[0] * 0, out[0] * 0
    for t in range(len(out) - 1, -1, -1):
        g = g + g_out[t]
        g_cell = g_cell + g_cells[t] + g * to_cell[t]
        row = np.concatenate([g_cell * factor[t] for factor in factors] + [g * by_hidden[t]], 1) + own[t]
        rows.insert(0, row)
        g, g_cell = np.matmul(row, weight), g_cell * forget[t]
    joined = np.stack(rows)
    return joined, g, g_cell, joined


def _gru_back(
    g_out: Any, g_cells: Any, g_acts: Any, hidden: Any, memory: Any, weight: Any, out: Any, cells: Any, acts: Any
) -> tuple:
    size = hidden.shape[-1]
    reset, update, new, inner = (acts[..., k * size : (k + 1) * size] for k in range(4))
    slopes = [reset * (1 - reset), update * (1 - update), 1 - new * new]
    to_new, to_update = (1 - update) * slopes[2], (_before(hidden, out) - new) * slopes[1]
    to_reset = inner * slopes[0]
    own = None  # what arrived at the gates themselves
    if g_acts is not None:
        parts = [g_acts[..., k * size : (k + 1) * size] for k in range(4)]
        own = [part * slope for part, slope in zip(parts, slopes, strict=False)] + [parts[3]]
    rows: list = []
    steps: list = []
    g = out[0] * 0
    for t in range(len(out) - 1, -1, -1):
        g = g + g_out[t]
        n, z = g * to_new[t], g * to_update[t]
        if own is not None:
            n, z = n + own[2][t], z + own[1][t]
        r, h = n * to_reset[t], n * reset[t]
        if own is not None:
            r, h = r + own[0][t], h + own[3][t]
        rows.insert(0, np.concatenate([r, z, n], 1))
        steps.insert(0, np.concatenate([r, z, h], 1))
        g = g * update[t] + np.matmul(steps[0], weight)
    return np.stack(rows), g, None, np.stack(steps)


def _simple_back(slope: Callable, times: Callable) -> Callable:
    """Return the backward sweep of a network of one state: ``times`` is the gradient times the slopes of its
    function.
    """

    def back(
        g_out: Any, g_cells: Any, g_acts: Any, hidden: Any, memory: Any, weight: Any, out: Any, cells: Any, acts: Any
    ) -> tuple:
        slopes = slope(out)
        rows: list = []
        g = np.zeros_like(out[0])
        for t in range(len(out) - 1, -1, -1):
            rows.insert(0, times(g + g_out[t], slopes[t]))
            g = np.matmul(rows[0], weight)
        joined = np.stack(rows)
        return joined, g, None, joined

    return back


_BACK = {
    "lstm": _lstm_back,
    "gru": _gru_back,
    "rnn_tanh": _simple_back(lambda out: 1 - out * out, np.multiply),
    "rnn_relu": _simple_back(lambda out: out <= 0, lambda g, stops: np.where(stops, 0, g)),
}


def _formulas(walk: Callable) -> dict[str, Callable]:
    """Return the formula of each input, by the results of a sweep from the last step to the first."""

    def gates(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind):
        return walk(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind)[0]

    def first(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind):
        return walk(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind)[1]

    def cell(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind):
        return walk(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind)[2]

    def across(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind):
        steps = walk(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind)[3]
        states = _before(hidden, out)
        return np.matmul(steps.reshape((-1, steps.shape[-1])).T, states.reshape((-1, states.shape[-1])))

    def offset(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind):
        return np.sum(walk(g_out, g_cells, g_acts, hidden, memory, weight, out, cells, acts, kind)[3], (0, 1))

    return {"gates": gates, "hidden": first, "memory": cell, "weight": across, "bias": offset}


def _walk(*arguments: Any) -> tuple:
    *values, kind = arguments
    return _BACK[kind](*values)


recurrence = op("recurrence", _forward, kind=GENERAL, public=False, method=False, outputs=("out", "cells", "acts"),
    torch_name="-", complex=None, vjp=_formulas(_walk), numpy_vjp=_formulas(walked({**_BACK, "lstm": lstm_back})),
    samples=(
        sample(real(3, 2, 8), real(2, 2), real(2, 2), real(8, 2), None, "lstm"),
        sample(real(3, 2, 6), real(2, 2), None, real(6, 2), real(6), "gru"),
        sample(real(3, 2, 6), real(2, 2), None, real(6, 2), None, "gru"),
        sample(real(3, 2, 3), real(2, 3), None, real(3, 3), None, "rnn_tanh"),
        sample(real(3, 2, 3), real(2, 3), None, real(3, 3), None, "rnn_relu"),
    ),
    doc="""The states of a recurrent layer after each step, and its gates.""")  # fmt: skip
