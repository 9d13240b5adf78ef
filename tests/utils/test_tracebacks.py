"""Tracebacks point at the user's program: frames of the library, and NumPy's errors behind an error, are left out."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dualtape as dt
from dualtape import _tracebacks, nn

HERE = Path(__file__).name
X = dt.ones(2, 3, requires_grad=True)


@pytest.fixture(autouse=True)
def shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests themselves show all frames."""
    monkeypatch.setattr(_tracebacks, "_FULL", False)


def wrong(x: dt.Tensor) -> dt.Tensor:
    return (x @ dt.ones(4, 5)).sum()


class Wrong(dt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g @ dt.ones(7, 8)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(5, 2))

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        return self.layers(x)


# What raises, and the functions of this file that the traceback must go through.
CALLS: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "operator": (lambda: X + dt.ones(7), ()),
    "product": (lambda: wrong(X), ("wrong",)),
    "function": (lambda: dt.add(X, dt.ones(7)), ()),
    "in place": (lambda: X.detach().mul_(dt.ones(7)), ()),
    "composite": (lambda: nn.functional.cross_entropy(X, dt.ones(9).long()), ()),
    "numpy": (lambda: np.add(X, dt.ones(7)), ()),
    "index": (lambda: X[5], ()),
    "view": (lambda: X.view(7), ()),
    "module": (lambda: Network()(X), ("forward",)),
    "grad": (lambda: dt.func.grad(wrong)(X.detach()), ("wrong",)),
    "hessian": (lambda: dt.func.hessian(wrong)(X.detach()), ("wrong",)),
    "vmap": (lambda: dt.vmap(wrong)(dt.ones(4, 2, 3)), ("wrong",)),
    "jvp": (lambda: dt.func.jvp(wrong, (X.detach(),), (X.detach(),)), ("wrong",)),
    "backward": (lambda: Wrong.apply(X).sum().backward(), ("backward",)),
    "array of NumPy's": (lambda: dt.func.grad(lambda a: (a + np.ones(7)).sum())(np.ones(3)), ()),
    "sparse": (lambda: dt.eye(3).to_sparse() @ dt.ones(5, 5), ()),
    "compile": (lambda: dt.compile(wrong)(X.detach()), ("wrong",)),
}


def raised(call: Callable[[], object]) -> Exception:
    for _ in range(2):  # the first call of an op makes its function
        with pytest.raises(Exception) as info:
            call()
    return info.value


@pytest.mark.parametrize("name", CALLS)
def test_a_traceback_has_the_users_frames_and_at_most_three_of_the_library(name: str) -> None:
    call, through = CALLS[name]
    error = raised(call)
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame.name for frame in frames if frame.filename.endswith(HERE)]
    assert set(through) <= set(mine)
    assert len(frames) - len(mine) <= 3, [(frame.filename, frame.name) for frame in frames]


@pytest.mark.parametrize("name", CALLS)
def test_no_error_of_numpys_stands_before_the_error(name: str) -> None:
    error = raised(CALLS[name][0])
    assert error.__context__ is None or error.__suppress_context__


def test_an_error_of_the_users_function_keeps_its_context_and_cause() -> None:
    def f(x: dt.Tensor) -> dt.Tensor:
        try:
            return x[10]
        except IndexError as error:
            raise ValueError("no such entry") from error

    def g(x: dt.Tensor) -> dt.Tensor:
        try:
            raise KeyError("mine")
        except KeyError:
            return x[10]

    error = raised(lambda: dt.func.grad(f)(dt.ones(3)))
    assert isinstance(error, ValueError) and isinstance(error.__cause__, IndexError)
    error = raised(lambda: dt.func.grad(g)(dt.ones(3)))
    assert isinstance(error, IndexError) and isinstance(error.__context__, KeyError)


def test_full_tracebacks_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tracebacks, "_FULL", True)
    assert len(traceback.extract_tb(raised(CALLS["product"][0]).__traceback__)) > 8


@pytest.mark.parametrize(("setting", "short"), [("", True), ("full", False)])
def test_a_program_prints_a_short_traceback_unless_it_is_told_otherwise(setting: str, short: bool) -> None:
    program = "import dualtape as dt\ndef f(x):\n    return x @ dt.ones(4, 5)\nf(dt.ones(2, 3))\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "DUALTAPE_TRACEBACKS": setting},
    )
    assert "(2x3 and 4x5)" in done.stderr
    assert ("During handling" not in done.stderr) is short
    assert (done.stderr.count("File ") <= 6) is short


def test_endless_recursion_is_left_as_it_is() -> None:
    def endless(x: dt.Tensor) -> dt.Tensor:
        return dt.func.grad(endless)(x)

    with pytest.raises(RecursionError):
        endless(dt.tensor(1.0))
