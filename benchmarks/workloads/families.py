"""One program for each of the larger families of ops: Fourier transforms, scattering, sparse and ragged tensors, ..."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from . import LARGE, Step, numbers, workload


def _leaf(L: Any, array: np.ndarray) -> Any:
    return L.tensor(array, requires_grad=True)


def _gradients(L: Any, function: Any, *leaves: Any) -> Step:
    def step() -> Any:
        out = function()
        return (out.detach(), *L.autograd.grad((out * out).abs().sum(), leaves))

    return step


for _name, _kind, _size in (("fft of 64", "small", (8, 64)), ("fft of 4096", LARGE, (64, 4096))):

    @workload(_name, _kind)
    def fft(L: Any, size: tuple = _size) -> Step:
        x = _leaf(L, numbers(*size))
        return _gradients(L, lambda: L.fft.irfft(L.fft.rfft(x) * 2), x)


for _name, _kind, _size in (("scatter_reduce, 200", "small", 200), ("scatter_reduce, 10^6", LARGE, 1_000_000)):

    @workload(_name, _kind)
    def scatter_reduce(L: Any, size: int = _size) -> Step:
        x = _leaf(L, numbers(size))
        index = L.tensor(np.random.default_rng(1).integers(0, max(10, size // 100), size))
        base = L.zeros(max(10, size // 100))
        return _gradients(L, lambda: base.scatter_reduce(0, index, x, "sum"), x)


for _name, _kind, _size in (
    ("conv3d, 4x6x6x6", "small", (1, 4, 6, 6, 6)),
    ("conv3d, 8x16x16x16", LARGE, (4, 8, 16, 16, 16)),
):

    @workload(_name, _kind)
    def conv3d(L: Any, size: tuple = _size) -> Step:
        x, w = _leaf(L, numbers(*size)), _leaf(L, numbers(8, size[1], 3, 3, 3, seed=1, scale=0.1))
        return _gradients(L, lambda: L.nn.functional.conv3d(x, w, padding=1), x, w)


for _name, _kind, _size in (
    ("interpolate, 8x8", "small", (1, 3, 8, 8)),
    ("interpolate, 128x128", LARGE, (4, 8, 128, 128)),
):

    @workload(_name, _kind)
    def interpolate(L: Any, size: tuple = _size) -> Step:
        x = _leaf(L, numbers(*size))
        how = {"scale_factor": 2, "mode": "bilinear", "align_corners": False}
        return _gradients(L, lambda: L.nn.functional.interpolate(x, **how), x)


for _name, _kind, _size in (
    ("ctc_loss, 20 steps", "small", (20, 2, 10, 5)),
    ("ctc_loss, 200 steps", LARGE, (200, 32, 40, 30)),
):

    @workload(_name, _kind)
    def ctc_loss(L: Any, size: tuple = _size) -> Step:
        steps, batch, classes, length = size
        x = _leaf(L, numbers(steps, batch, classes))
        targets = L.tensor(np.random.default_rng(1).integers(1, classes, (batch, length)))
        lengths = L.full((batch,), steps, dtype=L.int64), L.full((batch,), length, dtype=L.int64)
        return _gradients(L, lambda: L.nn.functional.ctc_loss(L.log_softmax(x, -1), targets, *lengths), x)


for _name, _kind, _size in (
    ("sparse mm, 50x50", "small", (50, 100, 4)),
    ("sparse mm, 10^4", LARGE, (10_000, 100_000, 32)),
):

    @workload(_name, _kind)
    def sparse_mm(L: Any, size: tuple = _size) -> Step:
        rows, count, columns = size
        places = np.unique(np.random.default_rng(1).integers(0, rows * rows, count))
        index = L.tensor(np.stack([places // rows, places % rows]))
        values, dense = _leaf(L, numbers(len(places))), _leaf(L, numbers(rows, columns, seed=2))

        def product() -> Any:
            return L.sparse.mm(
                L.sparse_coo_tensor(index, values, (rows, rows), is_coalesced=True, check_invariants=False), dense
            )

        return _gradients(L, product, values, dense)


for _name, _kind, _size in (
    ("ragged attention, 3 sentences", "small", (3, 5, 2, 4)),
    ("ragged attention, 32 sentences", LARGE, (32, 60, 4, 16)),
):

    @workload(_name, _kind)
    def ragged_attention(L: Any, size: tuple = _size) -> Step:
        batch, longest, heads, width = size
        lengths = np.random.default_rng(1).integers(1, longest + 1, batch)
        offsets = L.tensor(np.concatenate([[0], np.cumsum(lengths)]))
        parts = [_leaf(L, numbers(int(lengths.sum()), heads, width, seed=k)) for k in range(3)]

        def attend() -> Any:
            q, k, v = (L.nested.nested_tensor_from_jagged(part, offsets).transpose(1, 2) for part in parts)
            return L.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).values()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch says once that this is a prototype
            attend()
        return _gradients(L, attend, *parts)
