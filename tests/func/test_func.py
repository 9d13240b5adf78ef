"""The transforms of ``dualtape.func``: PyTorch's behaviour where it has one, and what goes beyond it."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import dualtape as dt
from blocks import blocks
from dualtape.arrays.batched.array import Batched
from dualtape.func import (
    chunk_vmap,
    debug_unwrap,
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    value_and_grad,
    vjp,
    vmap,
)
from same_program import needs_torch, same

# --- against PyTorch ------------------------------------------------------------------------------

PROGRAMS = """
# a vjp made under no_grad, called outside, of what a closure holds
w = x.clone().requires_grad_()
with torch.no_grad():
    out, back = F.vjp(lambda t: t * t * w, x)
found, = back(x)
[out, found.detach(), found.requires_grad, torch.autograd.grad(found.sum(), w)[0]]
# a vjp made under no_grad, called outside, of what requires grad
w = x.clone().requires_grad_()
with torch.no_grad():
    out, back = F.vjp(lambda t: t * t, w)
    inside, = back(x)
found, = back(x)
[out.requires_grad, inside.requires_grad, torch.autograd.grad(found.sum(), w)[0]]
# a vjp made outside, called under no_grad and then outside
w = x.clone().requires_grad_()
out, back = F.vjp(lambda t: t * t, w)
with torch.no_grad():
    inside, = back(x)
found, = back(x)
[out.requires_grad, inside.requires_grad, torch.autograd.grad(found.sum(), w)[0]]
# functionalize
w = x.clone()
[F.functionalize(lambda t, k=1: t.clone().add_(k) * 2)(x, k=3), F.functionalize(lambda t: t.add_(1))(w), w, F.functionalize(torch.sin).__name__]
# functionalize without views
[F.functionalize(lambda t: t.view(-1), remove=r)(x.clone())._is_view() for r in ("mutations", "mutations_and_views")]
# functionalize differentiated
F.grad(F.functionalize(lambda t: t.clone().mul_(t).sum()))(x)
# functionalize of something else
F.functionalize(lambda t: t, remove="x")
# debug_unwrap
seen = [F.debug_unwrap(x)]
F.vmap(lambda t: seen.append(F.debug_unwrap(t * 2)) or t)(x)
m = torch.ones(2, 3)
F.vmap(F.vmap(lambda t: seen.append(F.debug_unwrap(t + 1)) or seen.append(F.debug_unwrap(t, recurse=False).shape) or t))(m)
[seen, F.debug_unwrap(x) is x]
# debug_unwrap of something else
F.debug_unwrap(3)
# jacrev of complex arguments
F.jacrev(lambda z: 1j * z)(x * 1j)
# jacfwd of complex arguments
F.jacfwd(lambda z: 1j * z)(x * 1j)
# jacrev with complex results
F.jacrev(lambda x: (x, x * (1 + 1j)))(x)
# jacfwd with complex results
F.jacfwd(lambda x: (x, x * (1 + 1j)))(x)
# hessian with complex results
F.hessian(lambda x: (1j * x * x).sum())(x)
# hessian of complex arguments
F.hessian(lambda z: (z.abs() ** 2).sum())(x * 1j)
# gradient of a scalar function
F.grad(lambda x: (x ** 3).sum())(x)
# of a function that is no scalar
F.grad(lambda x: x)(x)
# of one that returns a tuple
F.grad(lambda x: (x,))(x)
# of one that returns a number
F.grad(lambda x: 1.0)(x)
# argnums out of range
F.grad(lambda x: x.sum(), argnums=1)(x)
# argnums of the wrong type
F.grad(lambda x: x.sum(), argnums="a")(x)
# argnums twice
F.grad(lambda x: x.sum(), argnums=(0, 0))(x)
# argnums empty
F.grad(lambda x: x.sum(), argnums=())(x)
# negative argnums
F.grad(lambda x, y: (x * y ** 2).sum(), argnums=-1)(x, x + 1)
# several argnums
F.grad(lambda x, y: (x * y ** 2).sum(), argnums=(1, 0))(x, x + 1)
# a dict in
F.grad(lambda d: (d["a"] * d["b"].sin()).sum())({"a": x, "b": x, "c": x})
# nested containers in
F.grad(lambda d: (d[0][0] * d[1]["k"]).sum())([(x, x), {"k": x * 2}])
# aux
F.grad(lambda x: (x.sum(), x * 2), has_aux=True)(x)
# aux that is not there
F.grad(lambda x: x.sum(), has_aux=True)(x)
# gradient and value
F.grad_and_value(lambda x: (x ** 2).sum())(x)
# gradient and value and aux
F.grad_and_value(lambda x: ((x ** 2).sum(), {"k": x * 2}), has_aux=True)(x)
# keyword arguments are not differentiated
F.grad(lambda x, y: (x * y).sum())(x, y=x)
# an integer
F.grad(lambda x: (x * 2).sum())(torch.arange(3))
# a complex result
F.grad(lambda x: x.sum().to(torch.complex64))(x)
# a complex argument
F.grad(lambda z: (z * z.conj()).real.sum())(torch.complex(x, x + 1))
# a constant function
F.grad(lambda x: torch.ones(()))(x)
# third derivatives
F.grad(F.grad(F.grad(lambda x: x.sin())))(x[0])
# closures over tensors that are differentiated outside
w = torch.tensor(2.0, requires_grad=True)
g = F.grad(lambda x: (w * x ** 2).sum())(x)
g.sum().backward()
(g.requires_grad, w.grad)
# arguments that require grad outside
y = x.clone().requires_grad_()
g = F.grad(lambda x: (x ** 3).sum())(y)
g.sum().backward()
(g.requires_grad, y.grad)
# nothing outside requires grad
F.grad(lambda x: (x ** 3).sum())(x).requires_grad
# no_grad outside does not matter
with torch.no_grad():
    g = F.grad(lambda x: (x ** 3).sum())(x)
g
# no_grad inside does
def f(x):
    with torch.no_grad():
        c = x ** 2
    return (x - c).sum()
F.grad(f)(x)
# detach inside
F.grad(lambda x: (x.detach() * x).sum())(x)
# inner gradient inside no_grad is a constant outside
def f(x):
    with torch.no_grad():
        c = F.grad(lambda y: (y ** 3).sum())(x)
    return (x * c).sum()
F.grad(f)(x)
# perturbations are told apart, reverse
F.grad(lambda x: x * F.grad(lambda y: x + y)(torch.tensor(1.0)))(torch.tensor(1.0))
# vjp
out, back = F.vjp(lambda x, y: (x * y, {"s": y.sin()}), x, x + 1)
(out, back((x, {"s": x})), back((x, {"s": x})))
# vjp of one that returns no tensor
F.vjp(lambda x: 2.0, x)
# cotangents of the wrong structure
F.vjp(lambda x: (x, x), x)[1](x)
# cotangents of the wrong shape
F.vjp(lambda x: x, x)[1](x[:2])
# vjp with aux
out, back, aux = F.vjp(lambda x: (x * 2, x + 1), x, has_aux=True)
(out, back(x), aux)
# vjp of an independent output
out, back = F.vjp(lambda x: (x * 2, torch.ones(2)), x)
back((x, torch.ones(2)))
# vjp without retaining
out, back = F.vjp(lambda x: x ** 2, x)
back(x, retain_graph=False)
back(x)
# cotangents that require grad
out, back = F.vjp(lambda x: x ** 2, x)
u = x.clone().requires_grad_()
(g,) = back(u)
g.sum().backward()
u.grad
# jvp
F.jvp(lambda x, y: (x * y, {"s": y.sin()}), (x, x + 1), (x, x))
# jvp of trees
F.jvp(lambda d: d["a"] * 2, ({"a": x},), ({"a": x},))
# primals that are no tuple
F.jvp(lambda x: x, x, x)
# tangents of another structure
F.jvp(lambda x: x, (x,), (x, x))
# no primals
F.jvp(lambda: x, (), ())
# tangents of another shape
F.jvp(lambda x: x, (x,), (x[:2],))
# jvp of one that returns no tensor
F.jvp(lambda x: 2.0, (x,), (x,))
# an independent output
F.jvp(lambda x: torch.ones(2), (x,), (x,))
# an independent output, strictly
F.jvp(lambda x: torch.ones(2), (x,), (x,), strict=True)
# jvp with aux
F.jvp(lambda x: (x * 2, x + 1), (x,), (x,), has_aux=True)
# jvp of a reverse gradient
F.jvp(F.grad(lambda x: (x ** 3).sum()), (x,), (torch.ones(3),))
# reverse gradient of jvp
F.grad(lambda x: F.jvp(lambda y: y ** 3, (x,), (torch.ones(3),))[1].sum())(x)
# closures over tensors that are differentiated outside, forward
w = x.clone().requires_grad_()
out = F.jvp(lambda y: (w * y).sin(), (x,), (torch.ones(3),))[1]
out.sum().backward()
w.grad
# jacobian by rows
F.jacrev(lambda x: x.sin() * x.sum())(x)
# by columns
F.jacfwd(lambda x: x.sin() * x.sum())(x)
# jacobians of trees
F.jacrev(lambda x, y: {"p": x * y, "s": x.sum()}, argnums=(0, 1))(x, x + 1)
# jacobians of trees by columns
F.jacfwd(lambda x, y: {"p": x * y, "s": x.sum()}, argnums=(0, 1))(x, x + 1)
# argnums of one in a tuple
F.jacrev(lambda x, y: x * y, argnums=(1,))(x, x)
# jacobians with trees as arguments
F.jacrev(lambda d: d["a"] * d["b"].sum())({"a": x, "b": x})
# jacobian and aux
(F.jacrev(lambda x: (x ** 2, x), has_aux=True)(x), F.jacfwd(lambda x: (x ** 2, x), has_aux=True)(x))
# chunks of rows
F.jacrev(lambda x: x ** 2 * x.sum(), chunk_size=2)(x)
# one row at a time
F.jacrev(lambda x, y: (x ** 2 * y.sum(), y[:1], x.sum()), argnums=(0, 1), chunk_size=1)(x, x + 1)
# Hessian of a tree of which one output has one element
F.hessian(lambda x: {"a": (x ** 3).sum(), "b": x[:1] ** 2, "c": x ** 2})(x)
# chunks of nothing
F.jacrev(lambda x: x, chunk_size=0)(x)
# shapes of more dimensions
(F.jacrev(lambda m: m @ m)(x.outer(x)).shape, F.jacfwd(lambda m: m @ m)(x.outer(x)))
# jacobian of an independent output
(F.jacrev(lambda x: torch.ones(2))(x), F.jacfwd(lambda x: torch.ones(2))(x))
# hessian
F.hessian(lambda x: (x ** 3).sum() * x[0])(x)
# hessian of several arguments
F.hessian(lambda x, y: (x * y).sum() ** 2, argnums=(0, 1))(x, x + 1)
# every way to a hessian
f = lambda x: (x.exp() * x.sum()).sin().sum()
[a(b(f))(x) for a in (F.jacrev, F.jacfwd) for b in (F.jacrev, F.jacfwd)]
# linearize
out, along = F.linearize(lambda x: x ** 2, x)
(out, along(torch.ones(3)), along(x))
# linearize with a direction of another shape
F.linearize(lambda x: x ** 2, x)[1](x[:2])
# forward mode through tensors given as a tuple
F.jvp(lambda x: (torch.cat((x, x * 2)), torch.stack(x.unbind(0)), torch.hstack((x, x))), (x,), (x + 1,))
# forward mode through views that a tangent must have too
F.jacfwd(lambda x: (torch.outer(x, x).T * 2).T.view(-1) ** 2)(x), F.jacfwd(lambda x: x.unfold(0, 2, 1)[torch.tensor([1, 0, 1])].flatten() ** 2)(x)
# reverse over forward through a write to a view by an op that saves its result
w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
def f(x):
    b = x * w
    b.view(-1).tanh_()
    return b
torch.autograd.grad(sum(F.jvp(f, (x,), (x,))).sum(), w)
# in inference mode
with torch.inference_mode():
    y = F.grad(lambda x: (x ** 3).sum())(torch.ones(2)), F.jacfwd(lambda x: x ** 2)(torch.ones(2))
y[0].tolist(), y[1].tolist()
# linearize, trees
F.linearize(lambda x, y: {"a": x * y}, x, x + 1)[1](x, x)
"""


@needs_torch
@pytest.mark.parametrize("source", blocks(PROGRAMS))
def test_transforms_behave_as_pytorchs(source: str) -> None:
    same("F = torch.func\nx = torch.tensor([0.5, -1.2, 2.0])\n" + source, tolerance=2e-5)


# --- beyond it ------------------------------------------------------------------------------------


def along(f: Any) -> Any:
    """The derivative of a function of one number, forward."""
    return lambda x: jvp(f, (x,), (dt.ones_like(x),))[1]


def test_a_gradient_whose_point_stands_still_is_differentiated_along_its_direction() -> None:
    point, direction = dt.tensor([3.0, 4.0]), dt.tensor([1.0, 2.0])
    along = lambda v: jvp(grad(lambda t: (t**3).sum()), (point,), (v,))[1]
    assert grad(lambda v: along(v).sum())(direction).tolist() == [18.0, 24.0]
    assert vjp(along, direction)[1](direction)[0].tolist() == [18.0, 48.0]


@pytest.mark.parametrize("transform", [lambda f, x: jvp(f, (x,), (x,)), lambda f, x: jacfwd(f)(x)])
@pytest.mark.parametrize(
    "convert", [np.asarray, np.array, dt.Tensor.numpy, dt.Tensor.__array__, np.from_dlpack, lambda t: t[:1].numpy()]
)
def test_an_array_that_would_lose_a_tangent_is_refused(transform: Any, convert: Any) -> None:
    with pytest.raises(RuntimeError, match=r"doesn't have storage.*detach\(\)\.numpy\(\)"):
        transform(lambda t: t * dt.from_numpy(convert(t * 2)).sum(), dt.ones(2))


def test_arrays_of_what_stands_still_are_given_inside_transforms() -> None:
    constant = dt.ones(2)
    f = lambda t: t * t.detach().numpy() + np.asarray(constant) + t.numpy(force=True)
    assert jvp(f, (dt.ones(2),), (dt.ones(2),))[1].tolist() == [1.0, 1.0]
    with dt.autograd.forward_ad.dual_level():  # as in PyTorch
        assert dt.autograd.forward_ad.make_dual(constant, constant).numpy().tolist() == [1.0, 1.0]


def test_forward_levels_nest_without_confusion() -> None:
    x = dt.tensor(3.0, dtype=dt.float64)
    assert along(lambda x: x * along(lambda y: x + y)(dt.tensor(1.0)))(x).item() == 1
    assert along(lambda x: x * along(lambda y: x * y)(dt.tensor(2.0, dtype=dt.float64)))(x).item() == 6
    assert along(along(along(along(lambda x: x**6))))(x).item() == pytest.approx(360 * 9)
    for outer, middle, inner in [(grad, along, along), (along, grad, along), (along, along, grad), (grad, grad, along)]:
        assert outer(middle(inner(lambda x: x**5)))(x).item() == pytest.approx(60 * 9)


def test_a_function_without_jvp_may_leave_it_to_the_engine_to_sum_over_broadcast_dimensions() -> None:
    class Times(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x

    x, y = dt.arange(3.0), dt.tensor([[1.0], [2.0]])
    assert jvp(Times.apply, (x, y), (x + 1, y))[1].tolist() == jvp(dt.mul, (x, y), (x + 1, y))[1].tolist()


def test_autograd_functional_inside_forward_mode_sees_tangents_if_it_creates_a_graph() -> None:
    from dualtape.autograd import functional

    x = dt.tensor([1.0, 2.0])
    moved = lambda f, **kwargs: jvp(lambda x: f(lambda y: (y**3).sum(), x, x, **kwargs)[1], (x,), (x,))[1].tolist()
    assert moved(functional.hvp, create_graph=True) == [12.0, 48.0]
    assert moved(functional.hvp) == [0.0, 0.0]


def test_numpy_in_numpy_out() -> None:
    x = np.array([1.0, 2.0])
    value, gradient = value_and_grad(lambda x: (x**2).sum())(x)
    assert type(value) is np.ndarray and type(gradient) is np.ndarray and gradient.dtype == np.float64
    np.testing.assert_array_equal(gradient, 2 * x)
    assert type(grad(lambda x, y: np.sum(x * y), argnums=1)(x, x)) is np.ndarray
    outputs = [
        jacrev(np.sin)(x),
        jacfwd(np.sin)(x),
        hessian(lambda x: (x**3).sum())(x),
        *jvp(np.exp, (x,), (x,)),
        vjp(np.exp, x)[1](x)[0],
    ]
    assert all(type(out) is np.ndarray for out in outputs)
    along_x = linearize(np.exp, x)[1](x)
    np.testing.assert_allclose(along_x, np.exp(x) * x)
    assert type(grad(lambda x: x.sum())(dt.tensor(x))) is dt.Tensor
    assert grad(lambda x: x**2)(3.0) == 6 and grad(grad(lambda x: x**3))(np.float64(2)) == 12


def test_scipy_minimizes_with_the_transforms() -> None:
    optimize = pytest.importorskip("scipy.optimize")

    def rosenbrock(x: Any) -> Any:
        return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()

    start = np.array([-1.2, 1.0, 0.5])
    found = optimize.minimize(value_and_grad(rosenbrock), start, jac=True, method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(found.x, 1, atol=1e-6)
    found = optimize.minimize(rosenbrock, start, jac=grad(rosenbrock), hess=hessian(rosenbrock), method="Newton-CG")
    np.testing.assert_allclose(found.x, 1, atol=1e-4)
    root = optimize.root(
        lambda x: (x**2).numpy() - 2 if isinstance(x, dt.Tensor) else x**2 - 2,
        np.ones(2),
        jac=jacfwd(lambda x: x**2 - 2),
    )
    np.testing.assert_allclose(root.x, 2**0.5)


class Pair(NamedTuple):
    left: Any
    right: Any


def test_named_tuples_and_none_pass_through() -> None:
    pair = Pair(dt.tensor(2.0), dt.tensor(3.0))
    gradient = grad(lambda p: p.left * p.right)(pair)
    assert isinstance(gradient, Pair) and (gradient.left.item(), gradient.right.item()) == (3, 2)
    with pytest.raises(ValueError, match="must be Tensor"):
        grad(lambda p: p[0])((dt.tensor(1.0), None))
    assert grad(lambda x: (x**2, None), has_aux=True)(dt.tensor(3.0))[1] is None


@pytest.mark.parametrize("transform", [grad, along, lambda f: lambda x: jacrev(f)(x), lambda f: lambda x: jacfwd(f)(x)])
def test_an_exception_leaves_nothing_behind(transform: Any) -> None:
    from dualtape import modes

    before = modes.current()

    def fails(x: Any) -> Any:
        raise KeyError("inside")

    with pytest.raises(KeyError):
        transform(fails)(dt.tensor(1.0))
    with pytest.raises(KeyError):
        transform(lambda x: transform(fails)(x))(dt.tensor(1.0))
    assert modes.current() is before


def test_nothing_is_kept_alive() -> None:
    gc.disable()
    try:
        seen = []

        def f(x: Any) -> Any:
            y = x.sin() * x
            seen.append(weakref.ref(y))
            return y.sum()

        for transform in (grad, hessian, lambda f: lambda x: jvp(f, (x,), (x,))):
            transform(f)(dt.ones(3))
        assert seen and all(ref() is None for ref in seen)
    finally:
        gc.enable()


def test_hooks_and_checkpoint_inside() -> None:
    from dualtape.utils.checkpoint import checkpoint

    calls = []

    def f(x: Any) -> Any:
        y = x**2
        y.register_hook(lambda g: calls.append(1) or g * 2)
        return checkpoint(dt.sin, y, use_reentrant=False)

    x = dt.tensor(0.7, dtype=dt.float64)
    assert grad(f)(x).item() == pytest.approx(2 * 2 * 0.7 * np.cos(0.49)) and calls
    plain = lambda x: checkpoint(lambda y: (y**3).sin(), x, use_reentrant=False)
    for outer, inner in [(grad, grad), (along, grad), (grad, along)]:
        expected = outer(inner(lambda x: (x**3).sin()))(x).item()
        assert outer(inner(plain))(x).item() == pytest.approx(expected)


def test_saved_tensor_hooks_at_every_level() -> None:
    packed = []

    def f(x: Any) -> Any:
        with dt.autograd.graph.saved_tensors_hooks(
            lambda t: packed.append(1) or t.detach().numpy().copy(), lambda a: dt.from_numpy(a)
        ):
            return x.exp() * x

    x = dt.tensor(0.3, dtype=dt.float64)
    assert grad(f)(x).item() == pytest.approx(1.3 * np.exp(0.3))
    assert grad(grad(f))(x).item() == pytest.approx(2.3 * np.exp(0.3)) and packed


def test_threads_do_not_see_each_other() -> None:
    results: list = [None] * 8

    def work(k: int) -> None:
        x = dt.tensor(float(k), dtype=dt.float64)
        results[k] = along(grad(along(lambda x: x**4)))(x).item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == pytest.approx([24.0 * k for k in range(8)])


def test_deep_nesting() -> None:
    f = lambda x: x.exp()
    for k in range(8):
        f = along(f) if k % 2 else grad(f)
    assert f(dt.tensor(0.5, dtype=dt.float64)).item() == pytest.approx(np.exp(0.5))


def test_a_function_may_write_in_place() -> None:
    def f(x: Any) -> Any:
        buffer = dt.zeros(3, dtype=dt.float64)
        buffer[0] = x[0] * x[1]
        buffer[1:].copy_(x[:2].sin())
        buffer.mul_(x)
        return buffer.sum()

    x = dt.tensor([0.3, 1.2, -0.7], dtype=dt.float64)
    plain = lambda x: (dt.stack([x[0] * x[1], x[0].sin(), x[1].sin()]) * x).sum()
    for transform in (grad, hessian, along, lambda f: along(grad(f)), lambda f: grad(along(f))):
        np.testing.assert_allclose(transform(f)(x).numpy(), transform(plain)(x).numpy(), rtol=1e-12)


def test_per_sample_gradients() -> None:
    weights = dt.randn(3, dtype=dt.float64)
    data = dt.randn(5, 3, dtype=dt.float64)
    loss = lambda w, x: (w @ x).tanh() ** 2
    found = vmap(grad(loss), in_dims=(None, 0))(weights, data)
    np.testing.assert_allclose(found.numpy(), np.stack([grad(loss)(weights, row).numpy() for row in data]))
    found = vmap(lambda x: jvp(lambda w: loss(w, x), (weights,), (x,))[1])(data)
    np.testing.assert_allclose(
        found.numpy(), [jvp(lambda w, row=row: loss(w, row), (weights,), (row,))[1].item() for row in data]
    )
    total = grad(lambda w: vmap(loss, in_dims=(None, 0))(w, data).sum())(weights)
    np.testing.assert_allclose(total.numpy(), sum(grad(loss)(weights, row).numpy() for row in data))


# --- functional_call ------------------------------------------------------------------------------


class Layer:
    def __init__(self, n: int) -> None:
        self.weight = dt.eye(n)
        self.bias = dt.zeros(n)

    def __call__(self, x: Any) -> Any:
        return (self.weight @ x + self.bias).tanh()


class Net:
    def __init__(self) -> None:
        self.first, self.layers = Layer(2), [Layer(2), Layer(2)]
        self.scale = self.first.bias  # tied

    def __call__(self, x: Any, twice: bool = False) -> Any:
        for layer in (self.first, *self.layers):
            x = layer(x)
        x = x + self.scale
        return x * 2 if twice else x


def test_states_of_several_models_are_stacked() -> None:
    nets = [Net(), Net()]
    nets[1].first.bias = nets[1].scale = dt.ones(2)
    params, buffers = stack_module_state(nets)
    x = dt.tensor([0.1, 0.2])
    found = vmap(lambda *state: functional_call(nets[0], state, x))(params, buffers)
    np.testing.assert_allclose(found.detach(), dt.stack([net(x) for net in nets]).detach())
    assert all(p.is_leaf and p.requires_grad for p in params.values())
    nets[0].first.bias.requires_grad_(not nets[0].first.bias.requires_grad)
    for models, said in (([], "at least one"), ([nets[0], print], "same class"), (nets, "same .requires_grad")):
        with pytest.raises(RuntimeError, match=said):
            stack_module_state(models)
    nets[0].training = True
    with pytest.raises(RuntimeError, match="in training mode and some are not"):
        stack_module_state(nets)


def test_chunks_are_as_many_as_asked_for() -> None:
    sizes: list = []
    f = lambda row: sizes.append(debug_unwrap(row).shape[0]) or row * 2
    x = dt.arange(7.0)
    assert chunk_vmap(f, chunks=3)(x).tolist() == (2 * x).tolist() and sizes == [3, 3, 1]
    assert chunk_vmap(lambda a, b: a + b, in_dims=(0, None), out_dims=1, chunks=9)(dt.eye(2), dt.ones(2)).tolist() == [
        [2.0, 1.0],
        [1.0, 2.0],
    ]
    with pytest.raises(RuntimeError, match="greater than 0"):
        chunk_vmap(f, chunks=0)(x)


def test_functional_call_replaces_and_restores() -> None:
    net = Net()
    own = net.layers[1].weight
    params = {"layers.1.weight": 2 * dt.eye(2), "first.bias": dt.ones(2)}
    x = dt.tensor([0.1, 0.2])
    once = functional_call(net, params, x)
    np.testing.assert_allclose(functional_call(net, params, (x,), {"twice": True}).numpy(), 2 * once.numpy())
    assert net.layers[1].weight is own and net.scale is net.first.bias and float(net.scale.sum()) == 0
    untied = functional_call(net, params, x, tie_weights=False)
    np.testing.assert_allclose((once - untied).numpy(), 1)
    gradients = grad(lambda p: functional_call(net, p, x).sum())(params)
    assert set(gradients) == set(params) and gradients["first.bias"].shape == (2,)
    with pytest.raises(RuntimeError, match="Missing"):
        functional_call(net, params, x, strict=True)
    with pytest.raises(ValueError, match="multiple dictionaries"):
        functional_call(net, [params, params], x)
    with pytest.raises(ValueError, match="list/tuple of dicts"):
        functional_call(net, 5, x)
    with pytest.raises(RuntimeError):
        functional_call(net, {"first.weight": dt.eye(3)}, x)
    assert net.first.weight.shape == (2, 2)
    functional_call(net, {"nowhere": x}, x)


def test_functional_call_and_grad_and_value() -> None:
    net = Net()
    params = {"first.weight": dt.eye(2), "first.bias": dt.zeros(2)}
    gradients, value = grad_and_value(lambda p, x: functional_call(net, p, x).sum())(params, dt.ones(2))
    assert value.shape == () and gradients["first.weight"].shape == (2, 2)


def test_a_jacobian_of_one_row_is_pulled_back_without_a_batch() -> None:
    kinds: list = []

    def function(x: dt.Tensor, rows: int) -> dt.Tensor:
        y = x * 2
        y.register_hook(lambda g: kinds.append(type(g._array)))
        return y.sum().expand(rows)

    for rows, chunk_size in ((1, None), (2, None), (2, 1)):
        assert jacrev(function, chunk_size=chunk_size)(dt.ones(3), rows).tolist() == [[2.0] * 3] * rows
    assert kinds == [np.ndarray, Batched, np.ndarray, np.ndarray]


def test_a_hessian_of_one_element_through_a_gather() -> None:
    index = dt.zeros(1, dtype=dt.int64)
    found = hessian(lambda x: (x.gather(0, index).sum() * x.sin()).sum())(dt.tensor([1.0]))
    np.testing.assert_allclose(found.numpy(), [[2 * np.cos(1) - np.sin(1)]], rtol=1e-5)


def test_functions_and_hooks_that_pytorch_refuses_inside_transforms_work():
    """Functions without setup_context, saved arguments that are returned, hooks on saved tensors, requires_grad_,
    retain_grad and backward are on the same tape as everything else.
    """

    class Twice(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Same(dt.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    kept = []

    def hooked(x):
        with dt.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
            return (x * x).sum()

    def retaining(x):
        y = x * 2
        y.retain_grad()
        kept.append(y)
        return y.sin().sum()

    def through(x):
        leaf = dt.ones(2).requires_grad_()
        (leaf * 3).sum().backward()
        return (x * leaf.grad).sum()

    x = dt.tensor([1.0, 2.0])
    assert dt.func.grad(lambda x: Twice.apply(x).sum())(x).tolist() == [2.0, 2.0]
    assert dt.vmap(Twice.apply)(x).tolist() == [2.0, 4.0]
    assert dt.func.grad(lambda x: Same.apply(x).sum())(x).tolist() == [1.0, 2.0]
    assert dt.func.grad(hooked)(x).tolist() == [2.0, 4.0]
    assert len(kept) == 2
    assert dt.allclose(dt.func.grad(retaining)(x), 2 * (2 * x).cos())
    assert dt.allclose(kept[-1].grad, (2 * x).cos())
    assert dt.func.grad(through)(x).tolist() == [3.0, 3.0]
    assert dt.func.grad(lambda x: (x.requires_grad_() ** 2).sum())(x).tolist() == [2.0, 4.0]


PATTERNS = """
(2, 3, 4)   | a b c -> c a b
(2, 3, 4)   | a b c -> a (b c)
(2, 3, 4)   | a b c -> (c a) b
(2, 12)     | a (b c) -> a c b               | b=3
(2, 12)     | a (b c) -> b (c a)             | c=3
(2, 3, 4)   | ... c -> c ...
(2, 3, 4)   | a ... -> (a ...)
(2, 3, 4)   | a ... -> a (...)
(2, 1, 4)   | a 1 c -> 1 c a
(2, 3)      | a b -> b 1 a 1
(6,)        | (a b) -> a b                   | a=2 b=3
(0, 3)      | a b -> b a
(5, 2, 3)   | b h w -> b (h w)
"""


@pytest.mark.parametrize("line", PATTERNS.strip().splitlines())
def test_rearrange_moves_splits_and_joins_dimensions(line):
    shape, pattern, *lengths = (part.strip() for part in line.split("|"))
    x = dt.randn(eval(shape), requires_grad=True)
    sizes = {k: int(v) for k, v in (item.split("=") for item in (lengths[0].split() if lengths else ()))}
    y = dt.func.rearrange(x, pattern, **sizes)
    back = " -> ".join(reversed(pattern.split(" -> ")))
    left = pattern.split(" -> ")[0].split()
    if not set(pattern) & set("(.") or "(" not in pattern.split("->")[0] and "." not in pattern:
        named = {name: size for name, size in zip(left, x.shape, strict=True) if name != "1"}
        assert dt.equal(dt.func.rearrange(y, back, **named), x)
    y.sum().backward()
    assert x.grad.shape == x.shape


@needs_torch
@pytest.mark.parametrize("line", PATTERNS.strip().splitlines())
def test_rearrange_is_that_of_functorch(line):
    import torch
    from functorch.einops.rearrange import rearrange

    shape, pattern, *lengths = (part.strip() for part in line.split("|"))
    if shape in ("(2, 1, 4)", "(6,)"):
        pytest.skip("functorch's own fails here")
    a = np.arange(int(np.prod(eval(shape)))).reshape(eval(shape))
    sizes = {k: int(v) for k, v in (item.split("=") for item in (lengths[0].split() if lengths else ()))}
    theirs = rearrange(torch.tensor(a), pattern, **sizes).numpy()
    ours = dt.func.rearrange(dt.tensor(a), pattern, **sizes).numpy()
    assert ours.shape == theirs.shape and (ours == theirs).all()


@pytest.mark.parametrize(
    "pattern",
    [
        "a b",
        "a b -> a",
        "a a -> a",
        "a (b -> a b",
        "a b) -> a b",
        "a ((b)) -> a b",
        "a b c -> a b c",
        "a + b -> a b",
        "... a ... -> a ...",
        "(a b) c -> a b c",
        "a b -> a b -> a b",
        "a (... b) -> a ... b",
    ],
)
def test_rearrange_refuses_patterns_that_do_not_fit(pattern):
    with pytest.raises(ValueError, match="rearrange"):
        dt.func.rearrange(dt.ones(4, 3), pattern)
    with pytest.raises(ValueError, match="rearrange"):
        dt.func.rearrange(dt.ones(4, 3), "(a c) b -> a b c", a=3)
    with pytest.raises(ValueError, match="rearrange"):
        dt.func.rearrange(dt.ones(4, 3), "a b -> b a", z=3)


def test_names_of_other_libraries_say_what_they_are_called_here():
    for name, words in {
        "jit": "dualtape.compile",
        "custom_vjp": "autograd.Function",
        "jacrevv": "did you mean jacrev",
    }.items():
        with pytest.raises(AttributeError, match=words):
            getattr(dt.func, name)
    with pytest.raises(AttributeError, match=r"dualtape\.func\.grad"):
        dt.grad
    assert not hasattr(dt.func, "__wrapped__")
