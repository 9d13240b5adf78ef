"""Programs for HIPS autograd run with only their import lines changed, and give what they gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape import hips
from tools.hips_examples import rewritten

PROGRAMS = {
    "logistic regression by gradient descent": """
import autograd.numpy as np
from autograd import grad
inputs = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
targets = np.array([True, True, False, True])
def loss(w):
    p = 0.5 * (np.tanh(np.dot(inputs, w)) + 1)
    chosen = p * targets + (1 - p) * (1 - targets)
    return -np.sum(np.log(chosen))
slope = grad(loss)
w = np.array([0.0, 0.0, 0.0])
first = loss(w)
for _ in range(100):
    w = w - slope(w) * 0.1
assert loss(w) < first
result = w
""",
    "a network over a list of layers, by adam": """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam
rs = npr.RandomState(0)
params = [(rs.randn(m, n) * 0.3, rs.randn(n) * 0.1) for m, n in ((1, 5), (5, 1))]
x = np.linspace(-2, 2, 20)[:, None]
y = np.sin(x)
def predict(params, x):
    for w, b in params:
        out = np.dot(x, w) + b
        x = np.tanh(out)
    return out
def loss(params, step):
    return np.mean((predict(params, x) - y) ** 2)
seen = []
params = adam(grad(loss), params, step_size=0.05, num_iters=60, callback=lambda p, i, g: seen.append(loss(p, i)))
assert seen[-1] < seen[0] / 3
result = params[0][0]
""",
    "Newton's method with a Hessian": """
import autograd.numpy as np
from autograd import grad, hessian
from autograd.numpy.linalg import solve
def f(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
x = np.array([1.2, 1.3, 1.4])
for _ in range(12):
    x = x - solve(hessian(f)(x), grad(f)(x))
assert np.allclose(x, 1)
result = x
""",
    "derivatives of derivatives, of numbers": """
import autograd.numpy as np
from autograd import grad, elementwise_grad as egrad
def tanh(x):
    return (1.0 - np.exp(-2.0 * x)) / (1.0 + np.exp(-2.0 * x))
result = np.array([grad(tanh)(1.0), grad(grad(tanh))(1.0), egrad(egrad(egrad(tanh)))(np.array([0.5]))[0]])
""",
    "loops, indices and lists of numbers": """
import autograd.numpy as np
from autograd import jacobian, value_and_grad
def path(x):
    points = [x[0]]
    for k in range(4):
        points.append(points[-1] * np.cos(x[k % 2]) if points[-1] > 0.3 else points[-1] + 0.7)
    return np.array(points)
def total(x):
    return np.sum([p ** 2 for p in path(x)]) + np.max(path(x))
value, slope = value_and_grad(total)(np.array([0.9, 0.4]))
result = np.concatenate([[value], slope, np.ravel(jacobian(path)(np.array([0.9, 0.4])))])
""",
    "a product with the Hessian; a primitive": """
import autograd.numpy as np
from autograd import hessian_vector_product, grad, make_vjp, deriv
from autograd.extend import primitive, defvjp
@primitive
def logsumexp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))
defvjp(logsumexp, lambda ans, x: lambda g: np.full(x.shape, g) * np.exp(x - np.full(x.shape, ans)))
x, v = np.array([1.5, 2.7, 0.3]), np.array([1.0, -1.0, 0.5])
def f(y):
    return logsumexp(y ** 2)
vjp, value = make_vjp(np.sinh)(x)
result = np.stack([grad(f)(x), hessian_vector_product(f)(x, v), vjp(v), value, deriv(np.sinh)(x)])
""",
}


def run(program: str) -> Any:
    space: dict[str, Any] = {}
    exec(program, space)
    return space["result"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_for_hips_autograd_gives_arrays(name: str) -> None:
    result = run(rewritten(PROGRAMS[name]))
    assert type(result) is np.ndarray and np.isfinite(result).all()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_a_program_for_hips_autograd_gives_what_it_gave(name: str) -> None:
    pytest.importorskip("autograd.numpy", exc_type=ImportError)
    np.testing.assert_allclose(run(rewritten(PROGRAMS[name])), run(PROGRAMS[name]), rtol=1e-9, atol=1e-12)


def test_numbers_in_numbers_out() -> None:
    for found in (hips.grad(lambda x: x**2)(3.0), hips.value_and_grad(lambda x: x**2)(3.0)[0], hips.deriv(np.sin)(1.0)):
        assert isinstance(found, float)


def test_several_arguments_give_a_tuple_and_containers_their_own_kind() -> None:
    assert hips.grad(lambda x, y: x * y, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    found = hips.grad(lambda p: p["a"] * p["b"][0])({"a": 2.0, "b": [5.0]})
    assert found == {"a": 5.0, "b": [2.0]}


def test_what_does_not_depend_on_the_argument_has_the_gradient_zero() -> None:
    assert hips.grad(lambda x: 3.0)(1.0) == 0
    assert hips.jacobian(lambda x: np.ones(2))(np.ones(3)).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_integers_and_results_that_are_no_scalars_are_refused() -> None:
    with pytest.raises(TypeError, match="Can't differentiate w.r.t. type"):
        hips.grad(lambda x: x**2)(3)
    with pytest.raises(TypeError, match="scalar-output"):
        hips.grad(lambda x: x**2)(np.ones(2))
    with pytest.raises(TypeError, match="real-output"):
        hips.elementwise_grad(lambda x: x * 1j)(np.ones(2))


def test_gradients_of_complex_arguments_follow_hips_autograd() -> None:
    z = np.array([1 + 2j, -0.5j])
    np.testing.assert_allclose(hips.holomorphic_grad(lambda z: np.sum(z**3))(z), 3 * z**2)
    np.testing.assert_allclose(hips.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z.conj())


def test_a_gradient_inside_of_a_tape_is_a_tensor_with_history() -> None:
    x = dt.tensor(2.0, dtype=dt.float64, requires_grad=True)
    slope = hips.grad(lambda x: x**3)(x)
    slope.backward()
    assert (float(slope), float(x.grad)) == (12, 12)


def test_a_wrong_derivative_of_a_primitive_is_found() -> None:
    from dualtape.hips.extend import defvjp, primitive
    from dualtape.hips.test_util import check_grads

    wrong = primitive(lambda x: x**2)
    with pytest.raises(NotImplementedError, match="argnum 0"):
        hips.grad(wrong)(1.0)
    defvjp(wrong, lambda ans, x: lambda g: g * x)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        check_grads(wrong, modes=["rev"])(1.5)
