"""How far long loops have come: shown on terminals and where it is asked for, and nowhere else."""

from __future__ import annotations

import inspect
import io

import numpy as np
import pytest

import dualtape as dt
from dualtape import _progress
from dualtape.func.sparse import sparse_hessian, sparse_jacobian

X = dt.arange(1.0, 7.0, dtype=dt.float64)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    monkeypatch.setattr(_progress, "_stream", lambda: found)
    monkeypatch.setattr(_progress, "_rich", lambda *_: None)
    monkeypatch.setattr(_progress, "_OFTEN", 0.0)
    return found


LOOPS = {
    "jacobian: rows": lambda **k: dt.autograd.functional.jacobian(lambda x: x * x, X, **k),
    "jacobian: columns": lambda **k: dt.autograd.functional.jacobian(lambda x: x * x, X, strategy="forward-mode", **k),
    "jacrev": lambda **k: dt.func.jacrev(lambda x: x * x, chunk_size=2, **k)(X),
    "jacfwd": lambda **k: dt.func.jacfwd(lambda x: x * x, chunk_size=2, **k)(X),
    "hessian": lambda **k: dt.func.hessian(lambda x: (x**3).sum(), chunk_size=2, **k)(X),
    "hessian: rows": lambda **k: dt.autograd.functional.hessian(lambda x: (x**3).sum(), X, **k),
    "hessian: columns": lambda **k: dt.autograd.functional.hessian(
        lambda x: (x**3).sum(), X, outer_jacobian_strategy="forward-mode", **k
    ),
    "sparse_jacobian": lambda **k: sparse_jacobian(lambda x: x[1:] * x[:-1], **k)(X),
    "sparse_hessian": lambda **k: sparse_hessian(lambda x: (x[1:] * x[:-1] ** 2).sum(), **k)(X),
    "gradcheck: input 0": lambda **k: dt.autograd.gradcheck(lambda x: x * x, X.clone().requires_grad_(), **k),
    "minimize: iterations": lambda **k: (
        dt.scipy.optimize.minimize(lambda x, a: ((x - a) ** 2).sum(), np.zeros(6), args=(X,), **k).x
    ),
    "root: evaluations": lambda **k: dt.scipy.optimize.root(lambda x, a: x * x - a, np.ones(6), args=(X,), **k).x,
    "fsolve: evaluations": lambda **k: dt.scipy.optimize.fsolve(lambda x, a: x * x - a, np.ones(6), args=(X,), **k),
    "brentq: evaluations": lambda **k: dt.scipy.optimize.brentq(lambda x, a: x * x - a, 0.0, 9.0, args=(X[3],), **k),
    "fixed_point: evaluations": lambda **k: dt.scipy.optimize.fixed_point(
        lambda x, a: (x + a / x) / 2, 1.0, args=(X[3],), **k
    ),
    "least_squares: evaluations": lambda **k: (
        dt.scipy.optimize.least_squares(lambda x, a: x * x - a, np.ones(6), args=(X,), **k).x
    ),
    "odeint: evaluations": lambda **k: dt.scipy.integrate.odeint(lambda y, t: -y, X, [0.0, 1.0], **k),
    "solve_ivp: evaluations": lambda **k: dt.scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), X, **k).y,
}


@pytest.mark.parametrize("words", LOOPS)
def test_a_loop_tells_how_far_it_is_where_that_is_wanted(words: str, terminal: Terminal) -> None:
    silent = LOOPS[words](progress=False)
    assert terminal.getvalue() == ""
    told = LOOPS[words](progress=True)
    assert f"{words}: 1" in terminal.getvalue() and terminal.getvalue().endswith("\r")
    assert np.allclose(
        *(r.toarray() if hasattr(r, "toarray") else np.asarray(dt.as_tensor(r).detach()) for r in (silent, told))
    )
    with pytest.raises(TypeError, match="progress must be"):
        LOOPS[words](progress="yes")


def test_by_default_a_terminal_sees_what_takes_long_and_nobody_else(terminal: Terminal, monkeypatch) -> None:
    LOOPS["jacrev"]()
    assert terminal.getvalue() == ""  # it took no second
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    LOOPS["jacrev"]()
    assert "jacrev: 1 of 3" in terminal.getvalue()
    file = io.StringIO()
    monkeypatch.setattr(_progress, "_stream", lambda: file)
    LOOPS["jacrev"]()
    assert file.getvalue() == ""
    items = [1, 2]
    assert _progress.steps(items, "", None, 2) is items


def test_a_loop_that_fails_leaves_the_terminal_clean(terminal: Terminal) -> None:
    with pytest.raises(ZeroDivisionError):
        for k in _progress.steps([0, 0, 1], "loop", True, 3):
            1 / k
            raise AssertionError
    loop = iter(_progress.steps([1, 2, 3], "loop", True, 3))
    next(loop), next(loop)
    loop.close()
    assert terminal.getvalue().endswith("\r") and "loop: 1 of 3" in terminal.getvalue()


def test_a_callback_of_scipys_is_still_called_as_it_asks_to_be(terminal: Terminal) -> None:
    seen: list = []
    dt.scipy.optimize.minimize(
        lambda x: (x**2).sum(),
        [1.0, 2.0],
        callback=lambda intermediate_result: seen.append(intermediate_result.fun),
        progress=True,
    )
    assert seen and isinstance(seen[0], float)


def test_rich_draws_the_bar_where_it_is_installed() -> None:
    pytest.importorskip("rich")
    bar = _progress._rich("loop", 3)
    bar.update(2)
    assert bar.bars.tasks[0].completed == 2
    bar.close()


def test_solvers_count_without_tensors_too_and_no_longer_when_they_are_done(terminal: Terminal) -> None:
    found = dt.scipy.optimize.root(fun=lambda x: x * x - 4, x0=[1.0], progress=True)
    assert "root: evaluations: 1" in terminal.getvalue() and abs(found.x[0] - 2) < 1e-8
    a = dt.tensor([4.0], dtype=dt.float64, requires_grad=True)
    found = dt.scipy.optimize.root(lambda x, a: x * x - a, [1.0], args=(a,), progress=True)
    told = terminal.getvalue()
    found.x.sum().backward()  # which evaluates the function again
    assert terminal.getvalue() == told and a.grad.item() == pytest.approx(0.25)
    names = list(inspect.signature(dt.scipy.integrate.solve_ivp).parameters)
    assert names[-2:] == ["progress", "options"]


def test_the_gradient_inside_of_a_hessian_is_silent(terminal: Terminal) -> None:
    dt.func.hessian(lambda x: (x**3).sum(), progress=True)(X)
    assert "jacrev" not in terminal.getvalue() and "hessian: 1 of 1" in terminal.getvalue()
    with pytest.raises(ValueError, match="chunk_size"):
        dt.func.hessian(lambda x: x.sum(), chunk_size=0)
    dt.autograd.functional.hessian(lambda x: (x[1:] * x[:-1] ** 2).sum(), X, sparse=True, progress=True)
    assert "sparse_hessian: 1" in terminal.getvalue()
