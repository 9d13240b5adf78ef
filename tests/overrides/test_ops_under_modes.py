"""Every op, for each of its samples, under every mode: packed saved tensors, checkpointing, anomaly and inference
mode change nothing.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from tests.op_cases import cases, leaves, prepared

CASES = [
    c
    for c in cases()
    if c[1].name not in ("dropout", "bernoulli") and c[1].complex != "only" and c[1].name != "view_dtype"
]


def outcome(run: Any, bind: Any, row: Any, inputs: list) -> list[np.ndarray | None]:
    """The results and gradients of one op, as arrays."""

    def call(*tensors: Any) -> tuple:
        args, kwargs = bind(tensors)
        return tuple(leaves(row.function(*args, **kwargs)))

    outputs = run(call, inputs)
    shown: list = [o.detach().numpy() if isinstance(o, dt.Tensor) else o for o in outputs]
    wanted = [o for o in outputs if isinstance(o, dt.Tensor) and o.grad_fn is not None]
    if wanted:
        rng = np.random.default_rng(1)
        starts = [dt.tensor(rng.normal(size=tuple(o.shape)).astype(o.detach().numpy().dtype)) for o in wanted]
        grads = dt.autograd.grad(wanted, inputs, starts, allow_unused=True)
        shown.extend(None if g is None else g.numpy() for g in grads)
    return shown


def plainly(call: Any, inputs: list) -> tuple:
    return call(*inputs)


def packed(call: Any, inputs: list) -> tuple:
    def pack(tensor: Any) -> Any:
        array = tensor.detach().numpy()
        return array.tobytes(), array.shape, array.dtype

    def unpack(kept: Any) -> Any:
        return dt.from_numpy(np.frombuffer(kept[0], kept[2]).reshape(kept[1]).copy())

    with dt.autograd.graph.saved_tensors_hooks(pack, unpack):
        return call(*inputs)


def again(call: Any, inputs: list) -> tuple:
    return dt.utils.checkpoint.checkpoint(call, *inputs, use_reentrant=False)


def watched(call: Any, inputs: list) -> tuple:
    with dt.autograd.set_detect_anomaly(True, check_nan=False):
        return call(*inputs)


def without_history(call: Any, inputs: list) -> tuple:
    with dt.inference_mode():
        return call(*inputs)


def close(a: Any, b: Any) -> bool:
    """The same but for rounding: what was packed comes back in another order of memory, and sums run along it."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("run", [packed, again, watched, without_history], ids=lambda run: run.__name__)
def test_a_mode_changes_no_result_and_no_gradient(run: Any) -> None:
    wrong = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, row, sample in CASES:
            bind, inputs = prepared(sample, "float64")
            expected = outcome(plainly, bind, row, inputs)
            try:
                found = outcome(run, bind, row, inputs)
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}")
                continue
            if run is not without_history and len(found) != len(expected):
                wrong.append(f"{name}: {len(found)} results and gradients in place of {len(expected)}")
            for a, b in zip(found, expected, strict=False):
                if (a is None) != (b is None) or a is not None and not close(a, b):
                    wrong.append(f"{name}: {a} where it is {b} without the mode")
                    break
    assert not wrong, f"{len(wrong)} of {len(CASES)}:\n" + "\n".join(wrong[:20])


def test_in_inference_mode_every_result_is_an_inference_tensor_or_a_view() -> None:
    wrong = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, row, sample in CASES:
            bind, inputs = prepared(sample, "float64")
            args, kwargs = bind(tuple(inputs))
            with dt.inference_mode():
                outputs = leaves(row.function(*args, **kwargs))
            given = [leaf for leaf in leaves(list(args)) if isinstance(leaf, dt.Tensor)]
            for o in outputs:
                if (
                    isinstance(o, dt.Tensor)
                    and not o.is_inference()
                    and not o._is_view()
                    and not any(o is t for t in given)
                ):
                    wrong.append(name)
                    break
    assert not wrong, wrong
