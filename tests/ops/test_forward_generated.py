"""Generated from the table: forward mode of every op, for each of its samples, against reverse mode and in every
mixture with it.

Reverse mode itself and its second derivative are checked by finite differences in ``test_ops_generated``. Here each
other way to the same numbers must give them: J t forward and by the double-vjp trick; H t forward over reverse,
reverse over forward and reverse over reverse; t H t forward over forward.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_ops_generated import DIFFERENTIABLE, check_dtypes, checked

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from op_cases import cotangents


def drawn(tensors: Any, seed: int) -> list:
    return [dt.tensor(a) for a in cotangents(list(tensors), seed)]


def inner(pairs: Any) -> Any:
    """The real inner product."""
    total: Any = 0.0
    for a, b in pairs:
        if a is not None and b is not None:
            part = (a.conj() * b).sum()
            total = total + (part.real if part.is_complex() else part)
    return total


def grads(output: Any, inputs: Any, **more: Any) -> list:
    if not isinstance(output, dt.Tensor) or not output.requires_grad:
        return [dt.zeros_like(x, requires_grad=False) for x in inputs]
    found = dt.autograd.grad(output, inputs, allow_unused=True, **more)
    return [dt.zeros_like(x, requires_grad=False) if g is None else g for g, x in zip(found, inputs, strict=True)]


def close(ours: Any, theirs: Any, what: str) -> None:
    for a, b in zip(ours, theirs, strict=True):
        a = np.zeros(b.shape) if a is None else a.detach().numpy()
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-7, atol=1e-8, equal_nan=True, err_msg=what)


def tangent(x: Any) -> Any:
    return fwAD.unpack_dual(x).tangent


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in DIFFERENTIABLE], ids=[c[0] for c in DIFFERENTIABLE])
def test_every_way_to_first_and_second_derivatives_agrees(row: Any, sample: Any) -> None:
    for dtype in check_dtypes(row):
        function, inputs = checked(row, sample, dtype)
        outputs = [o for o in function(*inputs) if o.requires_grad]
        if not outputs or not any(x.numel() for x in inputs):
            continue  # a mean of nothing is NaN, and so is its tangent
        ts, gs = drawn(inputs, 1), [g.requires_grad_() for g in drawn(outputs, 2)]
        pulled = grads(inner(zip(gs, outputs, strict=True)), inputs, create_graph=True)
        expected = grads(inner(zip(pulled, ts, strict=True)), gs, retain_graph=True)
        hessian = grads(inner(zip(pulled, ts, strict=True)), inputs)
        gs = [g.detach() for g in gs]

        plain = [x.detach() for x in inputs]
        with fwAD.dual_level():
            outs = function(*(fwAD.make_dual(x, t) for x, t in zip(plain, ts, strict=True)))
            found = [tangent(o) for o, like in zip(outs, function(*inputs), strict=True) if like.requires_grad]
            close(found, expected, "forward")
            for t, out in zip(found, expected, strict=True):
                assert t is None or (t.shape == out.shape and t.dtype == out.dtype)

            duals = [fwAD.make_dual(x, t) for x, t in zip(inputs, ts, strict=True)]
            outs = [o for o in function(*duals) if o.requires_grad]
            mixed = inner((g, tangent(o)) for g, o in zip(gs, outs, strict=True))
            close(grads(mixed, inputs, retain_graph=True), hessian, "reverse over forward")
            close(
                [tangent(g) for g in grads(inner(zip(gs, outs, strict=True)), duals)], hessian, "forward over reverse"
            )

        with fwAD.dual_level(), fwAD.dual_level():
            twice = [fwAD.make_dual(fwAD.make_dual(x, t, level=0), t) for x, t in zip(plain, ts, strict=True)]
            outs = [o for o, like in zip(function(*twice), function(*inputs), strict=True) if like.requires_grad]
            seconds = [None if tangent(o) is None else fwAD.unpack_dual(tangent(o), level=0).tangent for o in outs]
            close(
                [dt.as_tensor(inner(zip(gs, seconds, strict=True)))],
                [dt.as_tensor(inner(zip(ts, hessian, strict=True)))],
                "forward over forward",
            )


@pytest.mark.filterwarnings("ignore:vmap")
@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in DIFFERENTIABLE], ids=[c[0] for c in DIFFERENTIABLE])
def test_forward_mode_over_a_batch_is_a_loop(row: Any, sample: Any) -> None:
    dtype = check_dtypes(row)[0]
    function, inputs = checked(row, sample, dtype)
    if not [o for o in function(*inputs) if o.requires_grad]:
        pytest.skip("no result is differentiable")
    points = [x.detach() for x in inputs]
    directions = [drawn(points, seed) for seed in (1, 2)]
    along = lambda xs, ts: dt.func.jvp(function, tuple(xs), tuple(ts))[1]
    expected = [along(points, ts) for ts in directions]
    stacked = [dt.stack(pair) for pair in zip(*directions, strict=True)]
    # the directions differ, the point is one for all; then both are in the batch
    found = dt.func.vmap(lambda *ts: along(points, ts))(*stacked)
    twice = dt.func.vmap(lambda xs, ts: along(xs, ts))([dt.stack([x, x]) for x in points], stacked)
    for k in range(2):
        close([f[k] for f in found], expected[k], "directions in a batch")
        close([f[k] for f in twice], expected[k], "points and directions in a batch")
