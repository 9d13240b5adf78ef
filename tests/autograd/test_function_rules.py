"""What a Function may return and mark, all combinations: dualtape and PyTorch agree on every one.

For each kind of argument, each set of results (among them the argument, a view of it, the argument written in
place, duplicates) and each mark, the outcome, the state of every tensor, and what can be done with the results
afterwards are compared.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

import dualtape as dt
from tests.same_program import needs_torch, torch

RESULTS = ["x", "x[:1]", "x*2", "t", "t[:1]", "x.detach()", "w", "x.long()", "None"]
MARKS = ["nothing", "dirty x", "dirty x unwritten", "non-differentiable first", "dirty t"]
SAVES = ["nothing", "x", "first"]
ARGUMENTS = [
    "leaf",
    "non-leaf",
    "view",
    "constant",
    "view of constant",
    "no_grad leaf",
    "no_grad non-leaf",
    "view made under no_grad",
]


def argument(library: Any, kind: str) -> Any:
    leaf = library.tensor([1.0, 2.0], dtype=library.float64, requires_grad=True)
    constant = library.tensor([1.0, 2.0], dtype=library.float64)
    if kind == "view made under no_grad":
        base = leaf * 3
        with library.no_grad():
            return base[:]
    kind = kind.removeprefix("no_grad ")
    return {
        "leaf": leaf,
        "non-leaf": leaf * 3,
        "view": (leaf * 3)[:],
        "constant": constant,
        "view of constant": constant[:],
    }[kind]


def make(library: Any, results: tuple[str, ...], mark: str, save: str) -> Any:
    class Mine(library.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            if mark == "dirty x":
                x.mul_(2)
            t = x * 5
            names = {"x": x, "w": w, "t": t}
            outs = tuple(eval(r, {}, names) for r in results)
            if mark.startswith("dirty x"):
                ctx.mark_dirty(x)
            if mark == "dirty t":
                ctx.mark_dirty(t)
            if mark == "non-differentiable first" and outs[0] is not None:
                ctx.mark_non_differentiable(outs[0])
            if save == "x":
                ctx.save_for_backward(x)
            elif save == "first":
                ctx.save_for_backward(outs[0])
            return outs if len(outs) > 1 else outs[0]

        @staticmethod
        def backward(ctx, *grads):
            saved = ctx.saved_tensors
            total = sum(g.sum() * (k + 2) for k, g in enumerate(grads) if g is not None)
            if saved and saved[0] is not None:
                total = total + saved[0].detach().double().sum()
            return library.ones(2, dtype=library.float64) * total, library.ones(2, dtype=library.float64) * total * 10

    return Mine


def state(tensor: Any) -> Any:
    if tensor is None:
        return None

    def name() -> str | None:
        return None if tensor.grad_fn is None else (tensor.grad_fn.name().rsplit("::")[-1], tensor.output_nr)

    return (
        attempt(lambda: tensor.tolist()),
        attempt(lambda: tensor.requires_grad),
        attempt(lambda: tensor.is_leaf),
        attempt(name),
        tensor._is_view(),
        tensor._version,
    )


def attempt(read: Any) -> Any:
    try:
        return read()
    except Exception as error:
        return type(error).__name__


def story(library: Any, kind: str, results: tuple[str, ...], mark: str, save: str, after: str) -> list:
    """All that can be seen of one call."""
    x, w = argument(library, kind), library.tensor([3.0, 4.0], dtype=library.float64, requires_grad=True)
    told: list = []
    function = make(library, results, mark, save)
    try:
        if kind.startswith("no_grad"):
            with library.no_grad():
                outs = function.apply(x, w)
        else:
            outs = function.apply(x, w)
    except Exception as error:
        return [type(error).__name__]
    outs = outs if isinstance(outs, tuple) else (outs,)
    told.append([state(t) for t in (*outs, x, w)])
    told.append([[a is b for b in (*outs, x, w)] for a in outs])
    if after == "write":
        told.append([attempt(lambda t=t: t is not None and t.mul_(2) is t) for t in outs])
        told.append([state(t) for t in (*outs, x, w)])
    if after == "write to argument":
        told.append(attempt(lambda: x.mul_(2) is x))
        told.append([state(t) for t in (*outs, x, w)])

    def backward() -> Any:
        total = sum(t.sum() * (k + 1) for k, t in enumerate(outs) if t is not None and t.requires_grad)
        total.backward()
        return None if w.grad is None else w.grad.tolist()

    told.append(attempt(backward))
    return told


def combinations() -> list:
    """(results, mark, saved) for single results, and for pairs that save the first."""
    single = itertools.product([(r,) for r in RESULTS], MARKS, SAVES)
    pairs = itertools.product(itertools.product(RESULTS[:6], repeat=2), MARKS, SAVES[2:])
    return [c for c in (*single, *pairs) if not (c[1] == "non-differentiable first" and c[0][0] == "None")]


@needs_torch
@pytest.mark.parametrize("after", ["backward", "write", "write to argument"])
@pytest.mark.parametrize("kind", ARGUMENTS)
def test_every_rule_about_results_is_pytorchs(kind: str, after: str) -> None:
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for results, mark, save in combinations():
            ours, theirs = (story(library, kind, results, mark, save, after) for library in (dt, torch))
            if ours != theirs:
                wrong.append(f"{results}, {mark}, saves {save}:\n  {ours}\n  {theirs}")
    assert not wrong, f"{len(wrong)} of {len(combinations())}\n" + "\n".join(wrong[:6])
