"""Jacobians and Hessians as SciPy's linear operators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, lsmr

import dualtape as dt
from dualtape.scipy.sparse.linalg import hessian_operator, jacobian_operator

POINT = np.random.default_rng(0).standard_normal((2, 3))


def equations(x):
    return (x @ x.T).sin() + x.sum()


@pytest.mark.parametrize("point", [POINT, dt.tensor(POINT, requires_grad=True), POINT.astype(np.float32)])
def test_products_are_those_of_the_jacobian(point):
    operator = jacobian_operator(equations, point)
    matrix = np.asarray(dt.func.jacrev(equations)(np.asarray(dt.as_tensor(point).detach()))).reshape(4, 6)
    rng = np.random.default_rng(1)
    v, w, several = rng.standard_normal(6), rng.standard_normal(4), rng.standard_normal((6, 3))
    tolerance = 1e-12 if operator.dtype == np.float64 else 1e-4
    assert isinstance(operator, LinearOperator) and operator.shape == (4, 6)
    np.testing.assert_allclose(operator @ v, matrix @ v, tolerance, tolerance)
    np.testing.assert_allclose(operator.T @ w, matrix.T @ w, tolerance, tolerance)
    np.testing.assert_allclose(operator @ several, matrix @ several, tolerance, tolerance)
    np.testing.assert_allclose(operator.T @ matrix, matrix.T @ matrix, tolerance, tolerance)


def test_products_are_those_of_the_hessian():
    f = lambda x: (x**3).sum() + x.prod()
    operator = hessian_operator(f, POINT)
    matrix = np.asarray(dt.func.hessian(f)(POINT)).reshape(6, 6)
    np.testing.assert_allclose(operator @ np.eye(6), matrix, 1e-12, 1e-12)
    np.testing.assert_allclose(operator.T @ np.ones(6), matrix @ np.ones(6), 1e-12)


def test_scipys_solvers_take_them():
    matrix = np.random.default_rng(2).standard_normal((5, 3))
    operator = jacobian_operator(lambda x: dt.tensor(matrix) @ x, np.zeros(3))
    b = matrix @ np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(lsmr(operator, b)[0], [1.0, 2.0, 3.0], 1e-4)


def test_what_is_no_point_or_gives_no_number_is_refused():
    with pytest.raises(TypeError, match="real numbers"):
        jacobian_operator(equations, np.arange(3))
    with pytest.raises(RuntimeError, match="scalar|0-d|single"):
        hessian_operator(equations, POINT)
