"""Values and derivatives that differ from PyTorch's because PyTorch's are not those of the function: compared with what
they are by definition, and with PyTorch's, so that a change there is noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from outcomes import torch

pytestmark = pytest.mark.filterwarnings("ignore")


def differs(ours: Any, theirs: Any) -> bool:
    return not np.allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-3)


def test_cosine_similarity_below_its_eps_is_linear() -> None:
    """A vector shorter than ``eps`` is divided by ``eps``, a constant."""

    def gradient(m: Any) -> Any:
        x = m.full((1, 3), 0.1, dtype=m.float64, requires_grad=True)
        y = m.tensor([[2.0, 1.0, 0.0]], dtype=m.float64)
        (g,) = m.autograd.grad(m.nn.functional.cosine_similarity(x, y, eps=1.0).sum(), x)
        return g

    expected = np.array([[2.0, 1.0, 0.0]]) / np.sqrt(5)
    np.testing.assert_allclose(gradient(dt).numpy(), expected)
    assert differs(gradient(dt), gradient(torch))


def test_polar_of_a_negative_modulus_has_its_own_gradient() -> None:
    def gradient(m: Any) -> Any:
        r, angle = m.tensor([-1.0], requires_grad=True), m.tensor([0.5])
        (g,) = m.autograd.grad(m.polar(r, angle).real.sum(), r)
        return g

    np.testing.assert_allclose(gradient(dt).numpy(), [np.cos(0.5)], rtol=1e-6)
    assert differs(gradient(dt), gradient(torch))


def test_the_divergence_of_wishart_distributions_with_a_batch_is_that_of_each() -> None:
    def divergence(m: Any, df: Any) -> Any:
        A, B = m.tensor([[2.0, 0.5], [0.5, 1.0]]), m.tensor([[1.0, 0.0], [0.0, 3.0]])
        D = m.distributions
        return D.kl_divergence(D.Wishart(m.tensor(df), A), D.Wishart(m.tensor(5.0), B))

    alone = divergence(dt, 4.0)
    np.testing.assert_allclose(alone.item(), divergence(torch, 4.0).item(), rtol=1e-5)
    np.testing.assert_allclose(divergence(dt, [4.0, 4.0]).numpy(), [alone.item()] * 2, rtol=1e-6)
    assert differs(divergence(dt, [4.0, 4.0]), divergence(torch, [4.0, 4.0]))


FUNCTIONS = {
    "layer_norm": (lambda m, x: m.nn.functional.layer_norm(x, (3,)), [1.0, 2.0, 4.0], True),
    "cumprod": (lambda m, x: x.cumprod(-1), [0.0, 2.0, 3.0], True),
    "prod": (lambda m, x: x.prod(-1, keepdim=True), [0.0, 2.0, 3.0], False),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_over_forward_is_reverse_over_reverse(name: str) -> None:
    function, values, wrong = FUNCTIONS[name]

    def second(m: Any) -> Any:
        x, v, w = (m.tensor(a, dtype=m.float64) for a in (values, [1.0, -1.0, 0.5], [0.3, 2.0, 1.0]))
        inner = lambda x: m.func.jvp(lambda x: function(m, x), (x,), (v,))[1]
        return m.func.jvp(inner, (x,), (w,))[1]

    x, v, w = (dt.tensor(a, dtype=dt.float64) for a in (values, [1.0, -1.0, 0.5], [0.3, 2.0, 1.0]))
    expected = []
    for k in range(function(dt, x).shape[0]):
        hessian = dt.func.jacrev(dt.func.jacrev(lambda x, k=k: function(dt, x)[k]))(x)
        expected.append((v @ hessian @ w).item())
    np.testing.assert_allclose(second(dt).numpy(), expected, rtol=1e-9, atol=1e-12)
    if wrong:
        assert differs(second(dt), second(torch))


def test_out_inside_vmap_is_written_for_each_sample() -> None:
    x, out = dt.arange(6.0).reshape(2, 3), dt.zeros(2, 3)
    result = dt.vmap(lambda x, out: dt.sin(x, out=out))(x, out)
    assert dt.equal(result, x.sin())
    assert dt.equal(out, x.sin())
    with pytest.raises(RuntimeError, match="what is written differs from sample to sample"):
        dt.vmap(lambda x: dt.sin(x, out=dt.empty(3)))(x)
    with pytest.raises(RuntimeError):
        torch.vmap(lambda x, out: torch.sin(x, out=out))(torch.ones(2, 3), torch.ones(2, 3))


def test_a_function_sees_batches_in_front() -> None:
    seen: list = []

    class Product(dt.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def vmap(info: Any, in_dims: tuple, x: Any, y: Any) -> Any:
            seen.append((in_dims, tuple(x.shape), tuple(y.shape)))
            return Product.apply(x, y), 0

    out = dt.vmap(Product.apply, in_dims=(1, None))(dt.ones(3, 2), dt.ones(3))
    assert out.shape == (2, 3)
    assert seen == [((0, None), (2, 3), (3,))]


def test_vmap_goes_over_the_samples_of_a_nested_tensor() -> None:
    nested = dt.nested.nested_tensor([dt.ones(2, 3), dt.ones(4, 3)], layout=dt.jagged)
    doubled = dt.vmap(lambda sample: sample.cumsum(0) * 2)(nested)
    assert [s.shape for s in doubled.unbind()] == [(2, 3), (4, 3)]
    assert doubled.unbind()[1][-1].tolist() == [8.0, 8.0, 8.0]
