"""Sparse Jacobians and Hessians: values against dense ones, few products, colourings that can be read, errors that
say what is wrong.
"""

from __future__ import annotations

import doctest
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg

import dualtape as dt
from dualtape.func import colouring, sparse
from dualtape.func.colouring import colour_columns, star_colouring
from dualtape.func.sparse import _Plan, _structure, hessian_pattern, jacobian_pattern, sparse_hessian, sparse_jacobian


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def arrow(x: Any) -> Any:
    return (x[0] * x[1:] ** 2).sum() + x[0].exp()


def poisson(u: Any) -> Any:
    """The residual of -laplace(u) + exp(u) = 1 on a square grid with zeros around."""
    inside = dt.nn.functional.pad(u, (1, 1, 1, 1))
    return 4 * u - inside[2:, 1:-1] - inside[:-2, 1:-1] - inside[1:-1, 2:] - inside[1:-1, :-2] + u.exp() - 1


def dense(function: Any, x: np.ndarray) -> np.ndarray:
    point = dt.tensor(x, requires_grad=True)
    out = function(point).reshape(-1)
    return np.stack([dt.autograd.grad(o, point, retain_graph=True)[0].numpy().ravel() for o in out])


def gradient_of(function: Any) -> Any:
    return lambda v: dt.autograd.grad(function(v), v, create_graph=True)[0]


# --- Jacobians ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "forward", "reverse"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[1:] * x[:-1].sin(),
        lambda x: x.cumsum(0),
        lambda x: x[:1] * x,
        lambda x: x.sum() * dt.ones(2, dtype=dt.float64),
        poisson,
    ],
    ids=["band", "triangle", "column", "row", "grid"],
)
def test_jacobians_equal_dense_ones(function: Any, mode: str | None) -> None:
    x = np.random.default_rng(0).standard_normal((4, 5) if function is poisson else 7)
    jacobian = sparse_jacobian(function, mode=mode, check=True)
    found = jacobian(x)
    assert isinstance(found, scipy.sparse.csr_array) and found.dtype == np.float64
    np.testing.assert_allclose(found.toarray(), dense(function, x), rtol=1e-13, atol=1e-13)
    assert mode is None or jacobian.mode == mode


def test_the_cheaper_way_is_chosen() -> None:
    wide, tall = sparse_jacobian(lambda x: x.sum()[None]), sparse_jacobian(lambda x: x[0] * dt.arange(1.0, 50.0))
    wide(np.ones(50)), tall(np.ones(3))
    assert (wide.mode, wide.passes) == ("reverse", 1) and (tall.mode, tall.passes) == ("forward", 1)


def test_tensors_and_arrays_of_any_shape_and_float_type_go_in() -> None:
    x = dt.rand(3, 2, dtype=dt.float32, requires_grad=True)
    found = sparse_jacobian(lambda v, c: (c * v**2).T)(x * 1, dt.tensor(3.0))
    assert found.dtype == np.float32 and found.shape == (6, 6) and x.grad is None
    np.testing.assert_allclose(found.toarray(), dense(lambda v: (3 * v**2).T, x.detach().numpy()), rtol=1e-6)


def test_other_arguments_and_aux_pass_through() -> None:
    jacobian = sparse_jacobian(
        lambda a, x, *, power: (a * x**power, {"norm": float(x.detach().norm())}), argnums=1, has_aux=True
    )
    found, aux = jacobian(dt.tensor(2.0), np.array([3.0, 4.0]), power=2)
    assert found.toarray().tolist() == [[12, 0], [0, 16]] and aux == {"norm": 5.0}
    found, aux = sparse_hessian(lambda x: ((x**3).sum(), "aux"), has_aux=True)(np.array([1.0, 2.0]))
    assert found.toarray().tolist() == [[6, 0], [0, 12]] and aux == "aux"


def test_results_that_depend_on_nothing_are_zero() -> None:
    assert sparse_jacobian(lambda x: dt.ones(3))(np.ones(2)).toarray().tolist() == [[0, 0]] * 3
    for function in (lambda x: dt.tensor(1.0), lambda x: x.sum(), lambda x: (x > 0).to(dt.float64).sum()):
        found = sparse_hessian(function, check=True)(np.ones(2))
        assert found.shape == (2, 2) and found.nnz == 0


# --- Hessians -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [rosenbrock, arrow, lambda x: x.prod(), lambda x: (x[::2] * x[1::2]).sum(), lambda x: x.norm()],
    ids=["chain", "arrow", "dense", "pairs", "norm"],
)
def test_hessians_equal_dense_ones(function: Any) -> None:
    x = np.random.default_rng(1).standard_normal(8)
    found = sparse_hessian(function, check=True)(x)
    np.testing.assert_allclose(found.toarray(), dense(gradient_of(function), x), rtol=1e-12, atol=1e-12)
    assert (found != found.T).nnz == 0


def test_a_large_chain_takes_three_products() -> None:
    x = np.random.default_rng(0).standard_normal(100_000)
    hessian = sparse_hessian(rosenbrock)
    found = hessian(x)
    assert hessian.passes == 3 and found.nnz == 3 * x.size - 2
    diagonal = np.full(x.size, 202.0)
    diagonal[-1] = 200
    diagonal[0] = 2
    diagonal[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:]
    expected = scipy.sparse.diags_array([-400 * x[:-1], diagonal, -400 * x[:-1]], offsets=[-1, 0, 1])
    assert abs(found - expected).max() <= 1e-12 * abs(expected.tocsr()).max()


def test_a_large_arrowhead_takes_two_products() -> None:
    hessian = sparse_hessian(arrow, check=True)
    assert hessian(np.linspace(0, 1, 50_000)).nnz == 3 * 50_000 - 2 and hessian.passes == 2


def test_a_grid_takes_few_products_whatever_its_size() -> None:
    passes = []
    for n in (20, 100):
        jacobian = sparse_jacobian(poisson)
        jacobian(np.zeros((n, n)))
        passes.append(jacobian.passes)
    assert max(passes) <= 8


# --- patterns -------------------------------------------------------------------------------------


def test_a_pattern_is_coloured_once_and_the_function_run_over_no_other_arrays() -> None:
    kinds = []

    def function(x: Any) -> Any:
        kinds.append(type(x._array))
        return rosenbrock(x)

    pattern = hessian_pattern(rosenbrock)(np.ones(6))
    hessian = sparse_hessian(function, pattern=pattern)
    assert hessian.passes is None
    first, plan = hessian(np.zeros(6)), hessian._plan
    second = hessian(np.ones(6))
    assert hessian._plan is plan and kinds == [np.ndarray] * 2
    np.testing.assert_array_equal(second.toarray(), sparse_hessian(rosenbrock)(np.ones(6)).toarray())
    assert abs(first - second).max() > 0 and hessian.pattern.nnz == pattern.nnz


def test_without_a_pattern_each_call_looks_at_the_branches_taken() -> None:
    jacobian = sparse_jacobian(lambda x: x * x[0] if x[0] > 0 else x)
    assert jacobian(np.array([1.0, 1.0])).nnz == 3 and jacobian(np.array([-1.0, 1.0])).nnz == 2


def test_patterns_of_any_format_stand_for_their_stored_entries() -> None:
    pattern = jacobian_pattern(lambda x: x[1:] * x[:-1])(np.ones(4))
    stored = sparse_jacobian(lambda x: x[1:] * x[:-1])(np.array([0.0, 0, 0, 0]))
    assert stored.nnz == 6 and not stored.toarray().any()
    for given in (pattern.tocoo(), pattern.toarray(), stored, scipy.sparse.csc_matrix(pattern)):
        found = sparse_jacobian(lambda x: x[1:] * x[:-1], pattern=given, check=True)(np.arange(4.0))
        assert found.toarray().tolist() == [[1, 0, 0, 0], [0, 2, 1, 0], [0, 0, 3, 2]]
    half = scipy.sparse.triu(hessian_pattern(rosenbrock)(np.ones(5)))
    assert sparse_hessian(rosenbrock, pattern=half, check=True)(np.ones(5)).nnz == 13


def test_a_pattern_that_lacks_entries_is_found_out() -> None:
    diagonal = scipy.sparse.eye_array(6)
    with pytest.raises(RuntimeError, match="lacks entries"):
        sparse_hessian(rosenbrock, pattern=diagonal, check=True)(np.ones(6))
    with pytest.raises(RuntimeError, match="lacks entries"):
        sparse_jacobian(lambda x: x * x[0], pattern=diagonal, check=True)(np.ones(6))


def test_bad_input_is_refused_in_words() -> None:
    square = lambda x: x**2
    eye = scipy.sparse.eye_array(3)
    for kind, match, wrong in (
        (TypeError, "real floating point, got int64", lambda: sparse_jacobian(square)(np.arange(3))),
        (TypeError, "real floating point, got complex128", lambda: jacobian_pattern(square)(np.ones(3, complex))),
        (TypeError, "Tensor or a NumPy array, got list", lambda: sparse_jacobian(square)([1.0])),
        (TypeError, "must return a real Tensor", lambda: sparse_jacobian(lambda x: x * 1j)(np.ones(3))),
        (TypeError, "must return a Tensor, got float", lambda: sparse_jacobian(lambda x: 1.0)(np.ones(3))),
        (TypeError, "return a pair", lambda: sparse_jacobian(square, has_aux=True)(np.ones(3))),
        (TypeError, "argnums must be an int", lambda: sparse_jacobian(square, argnums=(0, 1))(np.ones(3))),
        (TypeError, "pattern must be", lambda: sparse_jacobian(square, pattern="dense")),
        (ValueError, "argnums is 1", lambda: sparse_jacobian(square, argnums=1)(np.ones(3))),
        (ValueError, "mode must be", lambda: sparse_jacobian(square, mode="sideways")),
        (ValueError, "one number, got shape", lambda: sparse_hessian(square)(np.ones(3))),
        (ValueError, "one number, got shape", lambda: sparse_hessian(square, pattern=eye)(np.ones(3))),
        (ValueError, "has 2 elements", lambda: sparse_hessian(rosenbrock, pattern=eye)(np.ones(2))),
        (ValueError, "result has 3 elements", lambda: sparse_jacobian(square, pattern=np.ones((4, 3)))(np.ones(3))),
        (ValueError, "must be square", lambda: sparse_hessian(rosenbrock, pattern=np.ones((2, 3)))),
    ):
        with pytest.raises(kind, match=match):
            wrong()


def test_a_detection_that_fails_leaves_nothing_behind() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        jacobian_pattern(fails)(np.ones(2))
    assert isinstance(dt.zeros(2)._array, np.ndarray)


def test_grad_mode_around_makes_no_difference() -> None:
    with dt.no_grad():
        assert sparse_hessian(rosenbrock, check=True)(np.ones(4)).nnz == 10


# --- colourings -----------------------------------------------------------------------------------


def random_pattern(rng: np.random.Generator, rows: int, columns: int, symmetric: bool = False) -> Any:
    found = scipy.sparse.csr_array(rng.random((rows, columns)) < rng.choice([0.05, 0.2, 0.5]))
    return _structure(found.indptr, found.indices, found.shape, symmetric)


@pytest.mark.parametrize("seed", range(20))
def test_every_entry_of_a_coloured_matrix_can_be_read(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for mode in ("forward", "reverse", "symmetric"):
        n, m = rng.integers(1, 30, 2)
        pattern = random_pattern(rng, n, n if mode == "symmetric" else m, mode == "symmetric")
        matrix = pattern.toarray() * rng.random(pattern.shape)
        if mode == "symmetric":
            matrix = matrix + matrix.T
        plan = _Plan(pattern, mode)
        read = np.zeros(pattern.nnz)
        for vector, entries, places in plan.products():
            read[entries] = ((matrix.T if mode == "reverse" else matrix) @ vector)[places]
        if plan.twins is not None:
            read = read[plan.twins]
        found = scipy.sparse.csr_array((read, pattern.indices, pattern.indptr), pattern.shape)
        np.testing.assert_allclose(found.toarray(), matrix, rtol=1e-12, atol=1e-14)


def test_colours_of_known_matrices() -> None:
    band = scipy.sparse.diags_array([np.ones(99), np.ones(100), np.ones(99)], offsets=[-1, 0, 1]).tocsr()
    assert colour_columns(band).max() == star_colouring(band).max() == 2
    hub = band.tolil()
    hub[50] = 1
    hub[:, 50] = 1
    assert star_colouring(hub.tocsr()).max() <= 4 and colour_columns(hub.tocsr()).max() == 99
    empty = scipy.sparse.csr_array((3, 4))
    assert (
        colour_columns(empty).tolist() == [-1] * 4
        and star_colouring(scipy.sparse.csr_array((3, 3))).tolist() == [-1] * 3
    )


# --- with other parts of the library --------------------------------------------------------------


class Squared(dt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * g


@pytest.mark.parametrize(
    ("function", "entries"),
    [
        (lambda x: dt.autograd.grad(rosenbrock(x), x, create_graph=True)[0], 16),
        (lambda x: dt.func.grad(rosenbrock)(x), 16),
        (lambda x: dt.func.jvp(lambda v: v[1:] * v[:-1], (x,), (dt.ones_like(x),))[1], 10),
        (lambda x: dt.func.vmap(lambda v: v * v.sum())(x.reshape(3, 2)), 12),
        (lambda x: Squared.apply(x), 6),
        (lambda x: dt.stack([x[i] * x[i - 1] for i in range(6)]), 12),
        (lambda x: np.sin(x) * np.cumsum(x), 21),
        (lambda x: dt.nn.functional.conv1d(x.reshape(1, 1, 6), dt.ones(1, 1, 3, dtype=x.dtype), padding=1), 16),
        (lambda x: x.to("cpu") + dt.zeros(6, device=x.device) + x.new_zeros(6), 6),
    ],
    ids=["autograd.grad", "func.grad", "jvp", "vmap", "Function", "loop", "numpy", "conv", "device"],
)
def test_whatever_the_library_differentiates_is_seen_through(function: Any, entries: int) -> None:
    assert sparse_jacobian(function, check=True)(np.linspace(0.1, 1, 6)).nnz == entries


# --- uses -----------------------------------------------------------------------------------------


def test_newtons_method_solves_a_long_chain() -> None:
    x = np.tile([0.8, 1.3], 2500)
    hessian = sparse_hessian(rosenbrock, pattern=hessian_pattern(rosenbrock)(x))
    value = lambda v: float(rosenbrock(dt.tensor(v)))
    for _ in range(200):
        point = dt.tensor(x, requires_grad=True)
        slope = dt.autograd.grad(rosenbrock(point), point)[0].numpy()
        if np.abs(slope).max() < 1e-9:
            break
        matrix, shift = hessian(x), 0.0
        step = scipy.sparse.linalg.spsolve(matrix.tocsc(), -slope)
        while step @ slope >= 0:  # not downhill: bend the matrix
            shift = max(10.0, 4 * shift)
            step = scipy.sparse.linalg.spsolve((matrix + shift * scipy.sparse.eye_array(x.size)).tocsc(), -slope)
        scale = 1.0
        while value(x + scale * step) > value(x) + 1e-4 * scale * (step @ slope):
            scale /= 2
        x = x + scale * step
    np.testing.assert_allclose(x, 1, rtol=1e-8)


def test_scipys_optimiser_takes_gradient_and_sparse_hessian() -> None:
    def value_and_slope(v: np.ndarray) -> tuple[float, np.ndarray]:
        point = dt.tensor(v, requires_grad=True)
        out = rosenbrock(point)
        return float(out), dt.autograd.grad(out, point)[0].numpy()

    x = np.full(60, 0.9)
    found = scipy.optimize.minimize(
        value_and_slope, x, jac=True, hess=sparse_hessian(rosenbrock), method="trust-constr", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(found.x, 1, rtol=1e-6)


def test_the_examples_do_what_they_show() -> None:
    for module in (colouring, sparse):
        result = doctest.testmod(module)
        assert result.attempted and not result.failed


def test_importing_the_library_loads_no_scipy() -> None:
    code = "import sys, dualtape.func.sparse; assert not any(name.split('.')[0] == 'scipy' for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
