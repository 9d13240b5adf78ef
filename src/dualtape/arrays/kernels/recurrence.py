"""Recurrent layers on NumPy's arrays, forward and backward, in preallocated memory; one backward sweep gives all
gradients.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .blas import one_thread


def walked(backs: dict[str, Callable]) -> Callable:
    """Return ``backs`` of a node's formulas cached: they run one after another, each for one input, and share the
    sweep.
    """
    latest: list = [None, (), None]

    def walk(
        g_out: Any,
        g_cells: Any,
        g_acts: Any,
        hidden: Any,
        memory: Any,
        weight: Any,
        out: Any,
        cells: Any,
        acts: Any,
        kind: str,
    ) -> tuple:
        asked = (g_out, g_cells, g_acts, weight)
        kept, key, found = latest
        if kept is not None and kept() is acts and all([a is b for a, b in zip(key, asked, strict=True)]):
            return found
        g = np.zeros_like(out) if g_out is None else g_out
        found = backs[kind](g, g_cells, g_acts, hidden, memory, weight, out, cells, acts)

        def forget(reference: Any) -> None:
            if latest[0] is reference:
                latest[:] = None, (), None

        latest[:] = weakref.ref(acts, forget), asked, found
        return found

    return walk


@one_thread
def lstm_forward(gates: Any, hidden: Any, memory: Any, weight: Any) -> tuple:
    """Return the states after each step, the memories, and the gates."""
    steps, count, rows = gates.shape
    size = rows // 4
    # sigmoid(x) is tanh(x / 2) / 2 + 1 / 2: so one tanh is enough for all gates, of which the third is none
    scale, offset = np.full((2, rows), 0.5, gates.dtype)
    scale[2 * size : 3 * size], offset[2 * size : 3 * size] = 1, 0
    acts, across = gates * scale, np.ascontiguousarray(weight.T) * scale
    out, cells = np.empty((steps, count, size), gates.dtype), np.empty((steps, count, size), gates.dtype)
    inner = np.empty((count, rows), gates.dtype)
    product = np.empty((count, size), gates.dtype)
    for t in range(steps):
        a, cell = acts[t], cells[t]
        a += np.dot(hidden, across, out=inner)
        np.tanh(a, out=a)
        a *= scale
        a += offset
        np.multiply(a[:, size : 2 * size], memory, out=cell)
        cell += np.multiply(a[:, :size], a[:, 2 * size : 3 * size], out=product)
        hidden, memory = np.multiply(a[:, 3 * size :], np.tanh(cell, out=product), out=out[t]), cell
    return out, cells, acts


def lstm_back(
    g_out: Any, g_cells: Any, g_acts: Any, hidden: Any, memory: Any, weight: Any, out: Any, cells: Any, acts: Any
) -> tuple:
    """Return the gradients of the gates, of both first states, and of the states' part of the gates."""
    steps, count, size = out.shape
    gates = acts.reshape(steps, count, 4, size)
    tanh = np.tanh(cells)
    gate = gates[:, :, 3]
    # the slopes of the gates, times what each of them is multiplied by
    factors = 1 - gates
    factors *= gates
    factors[:, :, 2] = 1 - gates[:, :, 2] ** 2
    if g_acts is not None:
        own = factors * g_acts.reshape(gates.shape)
    factors[:, :, 0] *= gates[:, :, 2]
    factors[0, :, 1] *= memory
    factors[1:, :, 1] *= cells[:-1]
    factors[:, :, 2] *= gates[:, :, 0]
    factors[:, :, 3] *= tanh
    tanh *= tanh
    np.subtract(1, tanh, out=tanh)
    tanh *= gate  # the slope of the output by the memory
    rows = factors  # each step is read once, and then written over
    g, g_cell = np.zeros_like(out[0]), np.zeros_like(out[0])
    for t in range(steps - 1, -1, -1):
        g = g + g_out[t]
        g_cell += g * tanh[t]
        if g_cells is not None:
            g_cell += g_cells[t]
        row = rows[t]
        row[:, :3] *= g_cell[:, None]
        row[:, 3] *= g
        if g_acts is not None:
            row += own[t]
        g = row.reshape(count, 4 * size).dot(weight)
        g_cell *= gates[t, :, 1]
    flat = rows.reshape(steps, count, 4 * size)
    return flat, g, g_cell, flat
