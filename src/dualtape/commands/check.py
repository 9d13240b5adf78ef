"""``dualtape check``: compare the gradients of a user's function with finite differences, and guess the mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dualtape as dt


def checked(function: Callable, inputs: list[dt.Tensor], eps: float = 1e-6, tolerance: float = 1e-5) -> dict[str, Any]:
    """Return a report: whether the gradients are right, and for each that is not, its position and the likely
    mistake.
    """
    total = _summed(function, inputs)
    with dt.no_grad():
        weights = [dt.tensor(np.random.default_rng(1).standard_normal(o.shape)) for o in total]
    value: Any = lambda *x: sum((o * w).sum() for o, w in zip(_summed(function, x), weights, strict=True))
    loss = value(*inputs)
    report: dict[str, Any] = {"inputs": [list(x.shape) for x in inputs], "problems": []}
    if not loss.requires_grad:
        report["problems"].append(
            {
                "input": None,
                "guess": "no result has a history: the function detaches its arguments, computes with NumPy,"
                " or runs under no_grad()",
            }
        )
        report["right"] = False
        return report
    gradients = dt.autograd.grad(loss, inputs, allow_unused=True)
    for k, g in enumerate(gradients):
        numeric = _differences(value, inputs, k, eps)
        analytic = np.zeros_like(numeric) if g is None else g.detach().numpy()
        wrong = np.abs(analytic - numeric) > tolerance + 1e-3 * np.abs(numeric)
        if not wrong.any():
            continue
        place = tuple(int(i) for i in np.unravel_index(np.argmax(np.abs(analytic - numeric)), numeric.shape))
        report["problems"].append(
            {
                "input": k,
                "entry": list(place),
                "analytic": float(analytic[place]),
                "numerical": float(numeric[place]),
                "wrong entries": int(wrong.sum()),
                "entries": int(wrong.size),
                "guess": _guess(analytic, numeric, g is None),
            }
        )
    report["right"] = not report["problems"]
    return report


def _summed(function: Callable, inputs: Any) -> list[dt.Tensor]:
    result = function(*inputs)
    results = result if isinstance(result, (list, tuple)) else [result]
    tensors = [r for r in results if isinstance(r, dt.Tensor) and r.is_floating_point()]
    if not tensors:
        raise ValueError(f"the function gives {type(result).__name__}, and no tensor of floating point")
    return tensors


def _differences(value: Callable, inputs: list[dt.Tensor], k: int, eps: float) -> np.ndarray:
    base = [x.detach().clone() for x in inputs]
    numeric = np.zeros(base[k].shape)
    for place in np.ndindex(*base[k].shape):
        ends = []
        for step in (eps, -eps):
            moved = [x.clone() for x in base]
            moved[k][place] += step
            with dt.no_grad():
                ends.append(float(value(*moved)))
        numeric[place] = (ends[0] - ends[1]) / (2 * eps)
    return numeric


def _guess(analytic: np.ndarray, numeric: np.ndarray, unused: bool) -> str:
    """Return the likely mistake, from the relation of the two values."""
    close = lambda a, b: np.allclose(a, b, 1e-3, 1e-6)
    if unused or close(analytic, 0):
        return "nothing arrives: this input is detached on its way, or a backward returns None or zeros for it"
    if close(analytic, -numeric):
        return "the sign is turned"
    with np.errstate(all="ignore"):
        ratios = (analytic / numeric)[np.abs(numeric) > 1e-6]
    if ratios.size and np.allclose(ratios, ratios[0], 1e-3):
        factor = ratios[0]
        return f"a factor of {factor:.4g} too much" if abs(factor) >= 1 else f"a factor of {1 / factor:.4g} is missing"
    if analytic.ndim == 2 and analytic.shape[0] == analytic.shape[1] and close(analytic.T, numeric):
        return "it is transposed"
    if analytic.size > 1 and close(np.sort(analytic, axis=None), np.sort(numeric, axis=None)):
        return "the entries are right and in another order"
    with np.errstate(all="ignore"):
        same = np.isclose(analytic, numeric, 1e-3, 1e-6)
    if same.any():
        return f"{same.sum()} of {same.size} entries are right: look at what is special about the others"
    return "neither a factor, a sign, nor a transposition: the formula is another one"


def shown(report: dict[str, Any], name: str) -> str:
    """Return a report as text."""
    if report["right"]:
        return f"{name}: the gradients of {len(report['inputs'])} inputs are right"
    lines = [f"{name}: wrong"]
    for problem in report["problems"]:
        if problem["input"] is None:
            lines.append(f"  {problem['guess']}")
            continue
        wrong, entries = problem["wrong entries"], problem["entries"]
        lines += [
            f"  input {problem['input']}, entry {problem['entry']}: the backward says {problem['analytic']:.6g},"
            f" differences say {problem['numerical']:.6g} ({wrong} of {entries} are wrong)",
            f"    {problem['guess']}",
        ]
    return "\n".join(lines)
