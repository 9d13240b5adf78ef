"""``func.vmap``: PyTorch's behaviour where it has one, and what goes beyond it."""

from __future__ import annotations

import functools
import gc
import inspect
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape import modes
from dualtape.arrays.batched.array import Batched
from dualtape.func.vmap import vmap
from same_program import needs_torch, outcome, programs, same

SETUP = """
vmap = torch.func.vmap
x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
w = torch.tensor([2.0, -1.0, 0.5])
i = torch.tensor([2, 0])
"""

# --- against PyTorch ------------------------------------------------------------------------------

VALUES = programs("""
vmap(lambda a: a * 2)(x)
vmap(lambda a: a.sum())(x)
vmap(torch.dot)(x, x)
vmap(torch.dot, in_dims=(0, None))(x, w)
vmap(torch.dot, in_dims=(None, 0))(w, x)
vmap(torch.mul, in_dims=(0, 1))(x, x.T)
vmap(lambda a: a, in_dims=1)(x)
vmap(lambda a: a, in_dims=-1, out_dims=-1)(x)
vmap(lambda a: torch.outer(a, a), out_dims=2)(x)
vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x)
vmap(lambda a: (a, [a.sum(), a * 2]), out_dims=(1, [0, -1]))(x)
vmap(lambda a: {"s": a.sum(), "t": a.tanh()})(x)
vmap(lambda d: d["a"] * d["b"][0], in_dims=({"a": 0, "b": [None]},))({"a": x, "b": [w]})
vmap(lambda d, n: d[0] * n, in_dims=(0, None))([x, x], 3)
vmap(lambda a, k=1: a * k)(x, k=3)
vmap(lambda a, b=None: a + b)(x, b=w)
vmap(lambda a, b=None: a[:, None] + b)(x, b=x.T)
vmap(lambda a: torch.ones(()))(x)
vmap(lambda a: torch.ones(2), out_dims=1)(x)
vmap(lambda a: (a, 3), out_dims=(0, None))(x)
vmap(lambda a: (a, torch.ones(2)), out_dims=(0, None))(x)
vmap(lambda a: a, out_dims=(0,))(x)
vmap(vmap(lambda a: a * a))(x)
vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(x, w)
vmap(vmap(torch.dot, in_dims=(None, 1)), in_dims=(0, None))(x, torch.stack([w, w * 2], 1))
vmap(lambda a: vmap(lambda b: (a * b).sum())(x))(x)
vmap(lambda a: a)(torch.ones(0, 3))
vmap(lambda a: a.mean(0))(torch.ones(0, 3))
# indices
vmap(lambda a, k: a[k])(x, i)
vmap(lambda a: a[w > 0])(x)
vmap(lambda k: w[k], in_dims=0)(i)
vmap(lambda a, k: a[k[None]])(x, i)
vmap(lambda a, k: torch.index_select(a, 0, k[None]))(x, i)
vmap(lambda a, k: torch.gather(a, 0, k[None]))(x, i)
vmap(lambda a, k: torch.gather(w, 0, k[None]))(x, i)
vmap(lambda a, k: torch.zeros_like(a).scatter(0, k[None], 5.0))(x, i)
vmap(lambda a, k: torch.zeros_like(a).scatter_add(0, k[None], a[:1]))(x, i)
vmap(lambda a, k: torch.take(a, k))(x, i)
vmap(lambda a, k: torch.nn.functional.embedding(k, a[:, None]))(x, i)
vmap(lambda a, m: a.masked_fill(m, 0.0))(x, x > 0)
vmap(lambda a: torch.where(a > 0, a, w))(x)
vmap(lambda a: a.sort().values)(x)
vmap(lambda a: a.topk(2).indices)(x)
vmap(lambda a: a.max(0))(x)[1]
vmap(lambda a: a.argmax())(x)
vmap(lambda a: a.cumsum(0))(x)
vmap(lambda a: a.flip(0).roll(1))(x)
vmap(lambda a: torch.cat([a, w, a]))(x)
vmap(lambda a: torch.stack([w, a], 1))(x)
vmap(lambda a: torch.einsum("i,j->ij", a, w))(x)
vmap(lambda a: a.reshape(3, 1) @ w[None])(x)
vmap(lambda a: torch.nn.functional.layer_norm(a, (3,)))(x)
vmap(lambda a: torch.nn.functional.cross_entropy(a, torch.tensor(1)))(x)
vmap(lambda a, k: torch.nn.functional.cross_entropy(a, k))(x, i)
vmap(lambda a: torch.nn.functional.conv1d(a[None, None], w[None, None], padding=1))(x)
vmap(lambda a, k: torch.nn.functional.conv1d(a[None, None], k[None, None]))(x, x)
vmap(lambda a: torch.nn.functional.max_pool1d(a[None, None], 2, 1))(x)
vmap(lambda a: torch.nn.functional.linear(a, torch.stack([w, w])))(x)
vmap(lambda a: torch.linalg.solve(torch.diag(a), w))(x)
vmap(lambda a: torch.linalg.inv(torch.diag(a)))(x)
vmap(lambda a: torch.linalg.det(torch.diag(a) + 1))(x)
vmap(lambda a: torch.linalg.cholesky(torch.outer(a, a) + torch.eye(3)))(x)
vmap(lambda a: torch.linalg.eigvalsh(torch.outer(a, a)))(x)
vmap(lambda a: torch.linalg.norm(a))(x)
vmap(lambda a: a.var())(x)
vmap(lambda a: a.softmax(0))(x)
vmap(lambda a: a.to(torch.float64) * w)(x)
vmap(lambda a: a.long() // 2)(x)
vmap(lambda a: torch.complex(a, a).angle())(x)
vmap(lambda a: torch.stack([row * 2 for row in a]))(x)
vmap(lambda a: torch.stack(a.unbind(0)[::-1]))(x)
vmap(lambda a: a.expand(2, 3).sum(0))(x)
vmap(lambda a: a.view(3, 1).squeeze(1).unsqueeze(0))(x)
# what a sample looks like
shown = []; vmap(lambda a: shown.append((a.shape, a.ndim, a.size(0), a.numel(), a.stride(), a.is_contiguous(), len(a), a.dtype, a.device)) or a)(x); shown
shown = []; vmap(lambda a: shown.append((a.stride(), a.is_contiguous(), a.requires_grad)) or a, in_dims=1)(x); shown
shown = []; vmap(lambda a: shown.append(repr(a)) or a)(x); shown
# made inside
vmap(lambda a: torch.zeros_like(a).add_(a))(x)
vmap(lambda a: torch.ones_like(a).mul_(a))(x)
vmap(lambda a: torch.full_like(a, 3.0).copy_(a))(x)
vmap(lambda a: a.new_zeros(3).add_(a))(x)
vmap(lambda a: a.new_full((3,), 2.0).mul_(a))(x)
vmap(lambda a: a.new_empty(2).fill_(1.0))(x)
vmap(lambda a: torch.empty_like(a).copy_(w))(x)
vmap(lambda a: torch.zeros(3) + a)(x)
# in place
vmap(lambda a: a.clone().add_(w))(x)
vmap(lambda a: a.clone().mul_(2).relu_())(x)
y = x.clone(); (vmap(lambda a: a.mul_(2))(y), y)
y = x.clone(); (vmap(lambda a: a.add_(1), in_dims=1)(y), y)
b = vmap(lambda a: (c := a.clone(), c[1:].mul_(3), c[0].fill_(7.0))[0])(x); b
b = vmap(lambda a, k: (c := a.clone(), c.__setitem__(k, 9.0))[0])(x, i); b
b = vmap(lambda a: (c := a.clone(), c.__setitem__(slice(1, None), a[:2]))[0])(x); b
b = vmap(lambda a: (c := a.clone(), c.view(3, 1).add_(1))[0])(x); b
t = torch.zeros(3); vmap(lambda a: t.add_(1) is t and a)(x); t
vmap(lambda a: a.mul_(2))(w.expand(2, 3))
vmap(lambda a, k: a.mul_(k))(w.expand(2, 3), i)
y = w.expand(2, 3); (vmap(lambda a: a.fill_(4.0))(y), w)
vmap(lambda a: (c := a.clone(), c.flip(0).zero_())[0])(x)
vmap(lambda a: (c := a.clone(), c.amax().zero_())[0])(w)
vmap(lambda a: (c := torch.stack([a, a * 2], -1), c.view(-1).mul_(2))[0], in_dims=1)(x)
vmap(lambda a: torch.cat((a, w)), in_dims=1)(x.T)
# no samples
vmap(lambda a: torch.linalg.solve(torch.eye(3) + torch.outer(a, a), a))(torch.ones(0, 3))
vmap(lambda a: (a[None] @ a[:, None]).softmax(0).view(1))(torch.ones(0, 3))
vmap(lambda a: a.sort().values.cumsum(0)[1:])(torch.ones(0, 3))
# names
torch.vmap is torch.func.vmap
# refused
vmap(lambda a: torch.add(a, 1, out=torch.empty(3)))(x)
vmap(lambda a: torch.where(a > 0)[0])(x.abs())
vmap(lambda a: torch.zeros(3).add_(a))(x)
vmap(lambda a: torch.zeros(3).copy_(a))(x)
vmap(lambda a: w.clone().mul_(a))(x)
vmap(lambda a: (z := torch.zeros(3), z.__setitem__(0, a[0]))[0])(x)
vmap(lambda a: torch.zeros(3)[a.long() % 3].fill_(1))(x) * 0
vmap(lambda a: a if a.sum() > 0 else -a)(x)
vmap(lambda a: a.sum().item())(x)
vmap(lambda a: float(a.sum()))(x)
vmap(lambda a: a.numpy())(x)
vmap(lambda a: a.tolist())(x)
vmap(lambda a: a.nonzero())(x)
vmap(lambda a: a[a > 0])(x)
vmap(lambda a: torch.masked_select(a, a > 0))(x)
vmap(lambda a: torch.equal(a, a))(x)
vmap(lambda a: a.data_ptr())(x)
vmap(lambda a: 3)(x)
vmap(lambda a: None)(x)
vmap(lambda a: (a, 3))(x)
vmap(lambda a: a, out_dims=None)(x)
vmap(lambda a: (a, a), out_dims=(0,))(x)
vmap(lambda a: a, out_dims=(0, 1))(x)
vmap(lambda a: a, out_dims=5)(x)
vmap(lambda a: a, out_dims="x")(x)
vmap(lambda a: a, out_dims={"a": 0})(x)
vmap(lambda a: a, in_dims="x")(x)
vmap(lambda a: a, in_dims=None)(x)
vmap(lambda a: a, in_dims=[0])(x)
vmap(lambda a: a, in_dims=(None,))(x)
vmap(lambda a: a, in_dims=(0, 0))(x)
vmap(lambda a: a, in_dims=5)(x)
vmap(lambda a: a, in_dims=-3)(x)
vmap(lambda a: a, in_dims=(0.5,))(x)
vmap(lambda a: a)(3)
vmap(lambda: w)()
vmap(lambda a, b: a)(x, torch.ones(4))
vmap(lambda a: a)(torch.tensor(1.0))
vmap(lambda a: a, randomness="x")(x)
vmap(lambda a: a, chunk_size=0)(x)
vmap(lambda a: torch.rand(2) * a[0])(x)
vmap(lambda a: torch.nn.functional.dropout(a))(x)
vmap(lambda a: torch.randperm(3))(x)
vmap(lambda a: torch.zeros(3).uniform_() + a, randomness="different")(x)
# chunks
vmap(lambda a: a * 2, chunk_size=1)(x)
vmap(lambda a, b: (a * b, a.sum()), in_dims=(1, 0), out_dims=(1, 0), chunk_size=2)(x, x.T)
vmap(lambda a: a * 2, chunk_size=10)(x)
# derivatives
x.requires_grad_(); w.requires_grad_(); torch.autograd.grad(vmap(lambda a: (a * w).sin().sum())(x).sum(), (x, w))
w.requires_grad_(); torch.autograd.grad(vmap(lambda a: w * 2)(x).sum(), w)
w.requires_grad_(); torch.autograd.grad(vmap(lambda a: a)(x * w).pow(2).sum(), w)
x.requires_grad_(); (g,) = torch.autograd.grad(vmap(lambda a: (a ** 3).sum())(x).sum(), x, create_graph=True); torch.autograd.grad(g.sin().sum(), x)
x.requires_grad_(); y = x * 1; vmap(lambda a: a.mul_(w))(y); torch.autograd.grad(y.pow(2).sum(), x)
x.requires_grad_(); vmap(lambda a: a.mul_(w))(x)
x.requires_grad_(); y = vmap(lambda a: a.exp())(x); y.add_(1); y.sum().backward()
x.requires_grad_(); y = vmap(lambda a: a.sin())(x); y.mul_(2); y[0].add_(w); torch.autograd.grad(y.pow(2).sum(), x)
torch.func.vmap(torch.func.grad(lambda w, a: (a * w).sin().sum()), in_dims=(None, 0))(w, x)
torch.func.vmap(torch.func.grad(lambda a: (a * w).sin().sum()))(x)
torch.func.grad(lambda w: torch.func.vmap(lambda a: (a * w).sin().sum())(x).sum())(w)
torch.func.vmap(torch.func.jacrev(lambda a: a * a.sum()))(x)
torch.func.jacrev(torch.func.vmap(lambda a: a * a.sum()))(x)
torch.func.vmap(torch.func.hessian(lambda a: (a ** 3).sum()))(x)
w.requires_grad_(); y = w * w.sum(); torch.autograd.grad(y, w, torch.eye(3), is_grads_batched=True)
w.requires_grad_(); torch.autograd.grad(w * w.sum(), (w, x.requires_grad_()), torch.eye(3), is_grads_batched=True, allow_unused=True)
w.requires_grad_(); torch.autograd.grad(w * 2, w, torch.eye(2), is_grads_batched=True)
w.requires_grad_(); torch.autograd.grad(vmap(lambda a: (c := w.sum(), c.squeeze().pow_(2))[0])(x).sum(), w)
w.requires_grad_(); y = torch.func.jacrev(lambda v: v[None] @ v[:, None])(w); torch.autograd.grad(y.sum(), w)
y = x.requires_grad_()[:1]; torch.autograd.grad(vmap(lambda a: (torch.stack([w, w]) @ a[:, None]).sum())(y).sum(), x)
w.requires_grad_(); f = vmap(lambda a: torch.linalg.qr(torch.diag(a) + torch.outer(w, a)).R); torch.autograd.grad(torch.func.jacfwd(f)(x).square().sum(), w)
w.requires_grad_(); (g,) = torch.autograd.grad((w ** 3), w, torch.eye(3), is_grads_batched=True, create_graph=True); torch.autograd.grad(g.sum(), w)
""")


@needs_torch
@pytest.mark.parametrize("program", VALUES)
def test_vmap_behaves_as_pytorchs(program: str) -> None:
    same(SETUP + "\n".join(program.split("; ")))


PHRASES = """
# the searchable phrase that PyTorch's error has too
data-dependent control flow: vmap(lambda a: a if a.sum() > 0 else -a)(x)
It looks like you're calling .item() on a Tensor: vmap(lambda a: a.sum().item())(x)
We do not support batching operators that can output dynamic shape: vmap(lambda a: a.nonzero())(x)
inplace arithmetic(self, *extra_args) is not possible: vmap(lambda a: torch.zeros(3).copy_(a))(x)
while in randomness error mode: vmap(lambda a: torch.rand(2))(x)
Cannot ask for different inplace randomness on an unbatched tensor: vmap(lambda a: torch.zeros(3).uniform_(), randomness="different")(x)
must only return Tensors, got type: vmap(lambda a: 3)(x)
can not return a BatchedTensor when out_dim is None: vmap(lambda a: a, out_dims=None)(x)
out_dims is not compatible with the structure of `outputs`: vmap(lambda a: a, out_dims=(0, 1))(x)
`out_dims` must be an int, None or a python collection of ints: vmap(lambda a: a, out_dims="x")(x)
in_dims is not compatible with the structure of `inputs`: vmap(lambda a: a, in_dims=(0, 0))(x)
expected `in_dims` to be int or a (potentially nested) tuple: vmap(lambda a: a, in_dims=None)(x)
Expected at least one Tensor to vmap over: vmap(lambda a: a, in_dims=(None,))(x)
but in_dim must be either an integer dimension or None: vmap(lambda a: a, in_dims=(0.5,))(x)
We cannot vmap over non-Tensor arguments: vmap(lambda a: a)(3)
Expected all tensors to have the same size in the mapped dimension, got sizes [2, 4]: vmap(lambda a, b: a)(x, torch.ones(4))
so expected in_dim to satisfy -2 <= in_dim < 2: vmap(lambda a: a, in_dims=5)(x)
got no inputs: vmap(lambda: 1)()
Only allowed values for randomness are: vmap(lambda a: a, randomness="x")(x)
chunk_size should be None or greater than 0: vmap(lambda a: a, chunk_size=0)(x)
interpret the first dimension of each grad_output as the batch dimension: w.requires_grad_(); torch.autograd.grad(w * 2, w, torch.eye(2), is_grads_batched=True)
"""


@needs_torch
@pytest.mark.parametrize("line", programs(PHRASES))
def test_errors_can_be_searched_for(line: str) -> None:
    import torch

    phrase, program = line.split(": ", 1)
    for library in (dt, torch):
        assert phrase in str(outcome(SETUP + "\n".join(program.split("; ")), library).error)


# --- arrays ---------------------------------------------------------------------------------------

X = dt.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])


def test_arrays_in_arrays_out() -> None:
    x = np.arange(6.0).reshape(2, 3)
    result = vmap(lambda a: (isinstance(a, dt.Tensor) and a * 2, {"s": a.sum()}))(x)
    assert type(result[0]) is np.ndarray and type(result[1]["s"]) is np.ndarray
    np.testing.assert_array_equal(result[0], x * 2)
    assert isinstance(vmap(lambda a, b: a * b, in_dims=(0, None))(x, dt.tensor(2.0)), dt.Tensor)


def test_as_a_decorator() -> None:
    @vmap
    def squared(a: Any) -> Any:
        """Each number squared."""
        return a * a

    assert squared.__name__ == "squared" and squared.__doc__ == "Each number squared."
    assert squared(dt.tensor([1.0, 3.0])).tolist() == [1.0, 9.0]


@pytest.mark.parametrize("transform", [vmap, dt.func.grad, dt.func.jacfwd, dt.func.jacrev])
def test_a_transformed_function_has_its_functions_name_signature_and_attributes(transform: Any) -> None:
    def squared(a: dt.Tensor, *, sign: int = 1) -> dt.Tensor:
        """Each number squared."""
        return sign * a * a

    plain = transform(squared)
    squared.unit = "m2"  # type: ignore[attr-defined]
    marked = transform(squared)
    for result in (plain, marked):
        assert (result.__name__, result.__doc__, result.__module__) == ("squared", "Each number squared.", __name__)
        assert result.__wrapped__ is squared and inspect.signature(result) == inspect.signature(squared)
    assert marked.unit == "m2" and not hasattr(plain, "unit")
    assert (
        transform(functools.partial(squared, sign=-1))(dt.tensor(3.0) if transform is not vmap else dt.tensor([3.0]))
        is not None
    )


# --- gradients inside -----------------------------------------------------------------------------


def test_a_gradient_inside_is_each_samples_own() -> None:
    w = dt.tensor([2.0, -1.0, 0.5], requires_grad=True)
    inside = vmap(lambda a: dt.autograd.grad((a * w).sin().sum(), w)[0])(X)
    computed = vmap(lambda a: dt.autograd.grad((a * (v := w * 1)).sin().sum(), v)[0])(X)
    expected = dt.stack([dt.autograd.grad((a * w).sin().sum(), w)[0] for a in X])
    np.testing.assert_allclose(inside, expected, rtol=1e-6)
    np.testing.assert_allclose(computed, expected, rtol=1e-6)


def test_nested_levels_have_their_own_gradients() -> None:
    w = dt.tensor([2.0, -1.0, 0.5], requires_grad=True)
    inner = lambda a, b: dt.autograd.grad((a * b * w).sin().sum(), w)[0]
    result = vmap(lambda a: vmap(lambda b: inner(a, b))(X))(X)
    expected = dt.stack([dt.stack([inner(a, b) for b in X]) for a in X])
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_a_leaf_outside_takes_no_gradients_of_single_samples() -> None:
    w = dt.tensor([2.0, -1.0, 0.5], requires_grad=True)
    for held in (None, dt.zeros(3)):
        w.grad = held
        with pytest.raises(RuntimeError, match="Use func.grad inside"):
            vmap(lambda a: (a * w).sum().backward() or a)(X)
        assert w.grad is held and (held is None or not held.any())


@pytest.mark.parametrize("count", [1, 2])
def test_a_function_that_writes_to_what_is_one_for_all_samples_is_refused(count: int) -> None:
    class Scale(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.mark_dirty(x)
            ctx.save_for_backward(y)
            return x.mul_(y)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0], dt.zeros(3)

    w = dt.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        vmap(lambda a: Scale.apply(w * 1, a))(X[:count])
    # a gradient that is no batch meets a write
    result = vmap(lambda a: (b := a * w, Scale.apply(b[:], a[:]))[0])(X[:count])
    assert dt.autograd.grad(result.sum(), w)[0].tolist() == (X[:count] ** 2).sum(0).tolist()


def test_backward_inside_reaches_batched_leaves() -> None:
    def step(a: Any) -> Any:
        b = a.detach().clone().requires_grad_()
        (b**2).sum().backward()
        return b.grad

    assert vmap(step)(X).tolist() == (2 * X).tolist()


def test_hooks_see_all_samples() -> None:
    x = X.clone().requires_grad_()
    seen = []

    def f(a: Any) -> Any:
        b = a * 2
        b.register_hook(lambda g: seen.append(tuple(g.shape)) or g * 10)
        return b.sum()

    vmap(f)(x).sum().backward()
    assert seen == [(3,)] and x.grad.tolist() == [[20.0] * 3] * 2


def test_saved_values_are_watched_across_the_border() -> None:
    x = X.clone().requires_grad_()
    y = vmap(lambda a: a.exp())(x)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_forward_mode_inside_and_outside() -> None:
    tangent = dt.ones(2, 3)
    inside = vmap(lambda a, t: dt.func.jvp(lambda b: b.sin() * b.sum(), (a,), (t,))[1])(X, tangent)
    outside = dt.func.jvp(vmap(lambda b: b.sin() * b.sum()), (X,), (tangent,))[1]
    expected = X.cos() * X.sum(1, keepdim=True) + 3 * X.sin()
    np.testing.assert_allclose(inside, expected, rtol=1e-5)
    np.testing.assert_allclose(outside, expected, rtol=1e-5)


# --- custom functions -----------------------------------------------------------------------------

BODY = """
class Scaled(torch.autograd.Function):
    generate_vmap_rule = {generate}

    @staticmethod
    def forward(a, b, n):
        return a * b * n, a + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.n = inputs[2]

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * b * ctx.n + h, g * a * ctx.n, None
{rule}

vmap, x = torch.func.vmap, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
w = torch.tensor([2.0, -1.0], requires_grad=True)
def f(x, w):
    p, q = vmap(lambda a, b: Scaled.apply(a, b, 3), in_dims=(0, None))(x, w)
    return p, q, *torch.autograd.grad(p.pow(2).sum() + q.sum(), (x, w), create_graph=True)
made = f(x, w)
[m.detach() for m in (*made, *torch.autograd.grad(made[2].pow(2).sum(), (x, w)))]
"""
RULE = """
    @staticmethod
    def vmap(info, in_dims, a, b, n):
        assert (info.batch_size, info.randomness, in_dims[2]) == (3, "error", None) and in_dims[0] == 0
        assert a.shape == (3, 2)
        p, q = Scaled.apply(a, b, n)
        return (p, q.movedim(0, 1)), (0, 1)
"""


@needs_torch
@pytest.mark.parametrize(("generate", "rule"), [(True, ""), (False, RULE), (True, RULE)])
def test_a_custom_function_in_a_batch(generate: bool, rule: str) -> None:
    same(BODY.format(generate=generate, rule=rule))


def test_a_custom_function_without_a_rule_runs_on_batched_tensors() -> None:
    result = outcome(BODY.format(generate=False, rule=""), dt)
    expected = outcome(BODY.format(generate=True, rule=""), dt)
    assert [m.tolist() for m in result] == [m.tolist() for m in expected]


@pytest.mark.parametrize(
    ("rule", "phrase"),
    [
        (lambda info, dims, a: a, "to have two returns"),
        (lambda info, dims, a: (a, (0, 0)), "incompatible \\(output, out_dims\\) tuple"),
    ],
)
def test_a_rule_that_returns_something_else(rule: Any, phrase: str) -> None:
    class Odd(dt.autograd.Function):
        forward = staticmethod(lambda a: a * 2)
        setup_context = staticmethod(lambda ctx, inputs, output: None)
        vmap = staticmethod(rule)

    with pytest.raises(RuntimeError, match=phrase):
        vmap(Odd.apply)(X)

    class Old(dt.autograd.Function):
        forward = staticmethod(lambda ctx, a: a * 2)
        vmap = staticmethod(lambda info, dims, a: (a * 2, 0))

    with pytest.raises(RuntimeError, match="must override the setup_context"):
        vmap(Old.apply)(X)


# --- which tensors come back ----------------------------------------------------------------------

KINSHIP = (
    SETUP
    + """
r = x.clone().requires_grad_()
kin = lambda y, of: (y is of, y._is_view(), y._base is of, y.data_ptr() == of.data_ptr(), y.is_leaf, y.requires_grad)
"""
)


@needs_torch
@pytest.mark.parametrize(
    "program",
    programs("""
kin(vmap(lambda a: a)(r), r)
kin(vmap(lambda a: a, 1, 1)(r), r)
kin(vmap(lambda a: a, 1, -1)(r), r)
kin(vmap(lambda a: a, 0, 1)(r), r)
kin(vmap(vmap(lambda a: a))(r), r)
(lambda a, b: (a is b, kin(a, r)))(*vmap(lambda a: (a, a))(r))
(lambda a, b: (a is b, kin(a, r)))(*vmap(lambda a: (a * 2,) * 2)(r))
kin(vmap(lambda a: a * 2)(r), r)
kin(vmap(lambda a: a.sum())(r), r)
kin(vmap(lambda a: a[0])(r), r)
kin(vmap(lambda a: a.detach())(r), r)
kin(vmap(lambda a: w)(r), w)
kin(vmap(lambda a: r, out_dims=1)(x), r)
kin(vmap(lambda a: r, out_dims=None)(x), r)
kin(vmap(lambda a: r[0].expand_as(a))(x), r)
(lambda c: (kin(vmap(lambda a: a.mul_(2))(c), c), c))(r.clone())
(lambda c: (kin(vmap(lambda a: a.mul_(2), 1, 1)(c), c), c))(r.clone())
(lambda c: (kin(vmap(lambda a: a.mul_(2), 1, 0)(c), c), c))(r.clone())
vmap(lambda a: a * 2)(r).detach_()
vmap(lambda a: a[0])(r).detach_()
vmap(lambda a: w)(r).mul_(2)
"""),
)
def test_the_same_tensors_and_views_come_back_as_from_pytorch(program: str) -> None:
    same(KINSHIP + program)


@needs_torch
@pytest.mark.parametrize(
    "program",
    [
        "y = vmap(lambda a: a.sin())(r); y.register_hook(lambda g: seen.append(g)); y.mul_(2); y.sum().backward(); seen, r.grad",
        "y = vmap(lambda a: a.exp())(r); y.mul_(2); y.sum().backward()",
        "y, z = vmap(lambda a: (a.exp(), a.exp() * 2))(r); y.mul_(2); (y + z).sum().backward(); r.grad",
        "c = r * 1; y = vmap(lambda a: a)(c); y.mul_(3); c.sum().backward(); r.grad",
        "c = r * 1; y = vmap(lambda a: a[0])(c); y.mul_(3); c.sum().backward(); r.grad",
        "c = r * 1; y = vmap(lambda a: a.mul_(a))(c); y.sin().sum().backward(); r.grad",
    ],
)
def test_results_are_written_to_and_hooked_as_pytorchs(program: str) -> None:
    same(KINSHIP + "seen = []\n" + "\n".join(program.split("; ")))


def test_a_write_to_a_result_is_in_the_history_of_its_views_that_came_back_too() -> None:
    r = X.clone().requires_grad_()

    def f(row: Any) -> Any:
        y = row.sin()
        return y, y[0]

    whole, first = vmap(f)(r)
    assert whole._base is first._base is not None
    whole.mul_(3)
    first.sum().backward()
    np.testing.assert_allclose(r.grad[:, 0], 3 * X[:, 0].cos())
    assert not r.grad[:, 1:].any()


# --- randomness -----------------------------------------------------------------------------------

DRAWS: dict[str, Any] = {
    "rand": lambda a: dt.rand(3),
    "randn": lambda a: dt.randn(3, dtype=dt.complex128).real,
    "randint": lambda a: dt.randint(0, 1000, (3,)),
    "a number": lambda a: dt.rand(()),
    "half": lambda a: dt.rand(3, dtype=dt.float16),
    "randperm": lambda a: dt.randperm(50),
    "normal": lambda a: dt.normal(dt.zeros(3), 1.0),
    "rand_like": lambda a: dt.rand_like(a),
    "bernoulli": lambda a: dt.bernoulli(dt.full((60,), 0.5)),
    "multinomial": lambda a: dt.multinomial(dt.ones(50), 20),
    "dropout": lambda a: dt.nn.functional.dropout(dt.ones(60), 0.5),
    "in place": lambda a: a.new_zeros(3).uniform_(),
    "normal_": lambda a: dt.zeros_like(a).normal_(),
    "exponential_": lambda a: dt.zeros_like(a).exponential_(),
    "random_": lambda a: dt.zeros_like(a).random_(0, 1000),
    "bernoulli_": lambda a: a.new_zeros(60).bernoulli_(0.5),
    "cauchy_": lambda a: dt.zeros_like(a).cauchy_(),
    "log_normal_": lambda a: dt.zeros_like(a).log_normal_(),
    "geometric_": lambda a: a.new_zeros(60).geometric_(0.1),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers(name: str) -> None:
    draw = DRAWS[name]
    rows = vmap(draw, randomness="different")(dt.zeros(4, 3))
    assert len({str(row.tolist()) for row in rows}) == 4
    same_for_all = vmap(draw, randomness="same")(dt.zeros(4, 3))
    assert (
        len({str(row.tolist()) for row in same_for_all}) == 1
        and same_for_all.shape == rows.shape
        and same_for_all.dtype == rows.dtype
    )
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(draw)(dt.zeros(4, 3))
    dt.manual_seed(1)
    flat = vmap(draw, randomness="different")(dt.zeros(4, 3))
    dt.manual_seed(1)
    nested = vmap(vmap(draw, randomness="different"), randomness="different")(dt.zeros(2, 2, 3))
    np.testing.assert_array_equal(nested.reshape(flat.shape), flat)  # in the order of one draw
    nested = vmap(vmap(draw, randomness="different"), randomness="same")(dt.zeros(2, 2, 3))
    assert str(nested[0].tolist()) == str(nested[1].tolist()) and str(nested[0, 0].tolist()) != str(
        nested[0, 1].tolist()
    )
    chunked = vmap(draw, randomness="same", chunk_size=2)(dt.zeros(4, 3))
    assert len({str(row.tolist()) for row in chunked}) == 1
    assert draw(dt.zeros(3)).shape == rows.shape[1:]  # outside, as ever


def test_what_is_drawn_may_depend_on_the_sample() -> None:
    chances = dt.tensor([[0.0, 0.0], [1.0, 1.0]])
    for randomness in ("same", "different"):
        assert vmap(dt.bernoulli, randomness=randomness)(chances).tolist() == chances.tolist()
        assert vmap(lambda m: dt.normal(m, 1e-9), randomness=randomness)(chances).round().tolist() == chances.tolist()
        weights = dt.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
        assert vmap(lambda p: dt.multinomial(p, 1), randomness=randomness)(weights).tolist() == [[1], [2]]
    with pytest.raises(RuntimeError, match="p_in >= 0"):
        vmap(dt.bernoulli, randomness="same")(chances - 1)
    same_noise = vmap(lambda p: dt.multinomial(p, 5, True), randomness="same")(dt.ones(3, 8))
    assert len({str(row.tolist()) for row in same_noise}) == 1


# --- nothing is left behind -----------------------------------------------------------------------


def test_an_exception_leaves_no_level_open() -> None:
    kept = []

    def f(a: Any) -> Any:
        kept.append(a)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        vmap(vmap(f))(X)
    assert modes.current().batches == () and modes.current().plain and not kept[0]._array.level.open
    with pytest.raises(ValueError):
        vmap(lambda a: a, out_dims=None)(X)
    assert modes.current().batches == ()


def test_grad_mode_inside_stays_inside() -> None:
    x = X.clone().requires_grad_()
    with dt.no_grad():
        assert not vmap(lambda a: a * 2)(x).requires_grad
    assert not vmap(dt.no_grad()(lambda a: a * 2))(x).requires_grad
    assert vmap(lambda a: a * 2)(x).requires_grad


def test_what_vmap_made_is_freed_at_once() -> None:
    x, w = X.clone().requires_grad_(), dt.ones(3, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        y = vmap(lambda a: (a * w).sin().sum())(x)
        level = weakref.ref(y.grad_fn)
        array = weakref.ref(y)
        y.sum().backward()
        del y
        assert level() is None and array() is None
        assert gc.collect() == 0
    finally:
        gc.enable()


# --- a batched tensor after its time --------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t * 2,
        lambda t: 2 - t,
        lambda t: t.sin(),
        lambda t: t.sum(),
        lambda t: t @ t,
        lambda t: t[0],
        lambda t: t[None],
        lambda t: t.view(-1),
        lambda t: t.detach().zero_(),
        lambda t: t.detach().mul_(2),
        lambda t: t.add(dt.ones(3)),
        lambda t: dt.stack([t, t]),
        lambda t: dt.zeros_like(t),
        lambda t: t.new_zeros(2),
        lambda t: t.detach().numpy(),
        lambda t: t[0].item(),
        lambda t: bool((t > 0).all()),
        lambda t: vmap(lambda row: row * t)(X),
        lambda t: t.backward(dt.ones(3)),
        lambda t: dt.autograd.grad(t, t, dt.ones(3)),
        lambda t: dt.autograd.forward_ad.make_dual(t, t),
        lambda t: np.sin(t),
    ],
)
def test_a_tensor_that_escaped_is_refused_by_name(use: Any) -> None:
    kept: list = []

    def keeping(row: Any) -> Any:
        kept.append(row * 2)
        return row

    x = X.clone().requires_grad_()
    vmap(keeping)(x)
    assert kept[0].shape == (3,) and "BatchedTensor" in repr(kept[0])
    with (
        dt.autograd.forward_ad.dual_level(),
        pytest.raises(RuntimeError, match=r"escaped from inside a function being vmapped.* vmap\(keeping\)"),
    ):
        use(kept[0])


def test_hooks_and_second_derivatives_compute_with_samples_of_a_vmap_that_has_ended() -> None:
    seen: list = []

    def f(row: Any) -> Any:
        y = row.sin()
        y.register_hook(lambda g: seen.append(g * 2) or g * 3)
        return (y * row).sum()

    x = X.clone().requires_grad_()
    (g,) = dt.autograd.grad(vmap(f)(x).sum(), x, create_graph=True)
    dt.autograd.grad(g.sum(), x)
    assert seen
    np.testing.assert_allclose(g.detach(), X.sin() + 3 * X.cos() * X)


def test_a_slow_function_says_so_once() -> None:
    from dualtape.arrays.batched import array as batched

    batched._warned.clear()
    with pytest.warns(UserWarning, match="performance drop"):
        result = vmap(dt.linalg.matrix_exp)(dt.zeros(2, 2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            vmap(dt.linalg.matrix_exp)(dt.zeros(2, 2, 2)).tolist()
            == result.tolist()
            == dt.eye(2).expand(2, 2, 2).tolist()
        )


def test_anomaly_mode_looks_at_all_samples() -> None:
    x = dt.tensor([[2.0, 3.0], [1.0, 4.0]], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with dt.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="returned nan values"):
            dt.autograd.grad(vmap(lambda a: ((a - 1).sqrt() * 0).sum())(x).sum(), x)


def test_chunks_give_back_what_is_no_tensor() -> None:
    result = vmap(lambda a: (a, 3), out_dims=(0, None), chunk_size=1)(X)
    assert result[0].tolist() == X.tolist() and result[1] == 3


def test_a_batch_of_gradients_of_what_is_not_used() -> None:
    w, unused = dt.ones(3, requires_grad=True), dt.ones(2, requires_grad=True)
    result = dt.autograd.grad(w * 2, (w, unused), dt.eye(3), is_grads_batched=True, materialize_grads=True)
    assert result[0].tolist() == (2 * dt.eye(3)).tolist() and result[1].tolist() == [[0.0, 0.0]] * 3


def test_where_a_sample_lies_in_memory() -> None:
    seen: list = []
    vmap(lambda a: seen.append(a[1:].storage_offset() - a.storage_offset()) or a)(X)
    assert seen == [1]


def test_repr_shows_the_samples_and_the_level() -> None:
    shown: list = []
    vmap(vmap(lambda a: shown.append(repr(a)) or a))(X)
    assert shown[0].startswith(
        "BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([["
    )


def test_functions_that_read_values_go_sample_by_sample_with_history() -> None:
    x = dt.tensor([[1.0, float("nan"), 3.0], [0.5, 4.0, -1.0]], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = vmap(dt.nanmedian)(x)
        (g,) = dt.autograd.grad(result.sum(), x)
    assert result.tolist() == [1.0, 0.5] and g.tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_batched_values_in_attributes_of_ops_are_found() -> None:
    w = dt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index = dt.tensor([[0, 1], [2, 2]])
    result = vmap(lambda i: w[i])(index)
    assert result.tolist() == [[1.0, 2.0], [3.0, 3.0]]
    assert dt.autograd.grad(result.sum(), w)[0].tolist() == [1.0, 1.0, 2.0]
    assert isinstance(index._array, np.ndarray) and not isinstance(w._array, Batched)


@pytest.mark.parametrize("times", ["mul_", "copy_"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_one_gradient_for_all_samples_makes_room_for_each_behind_a_write_to_a_view(
    create_graph: bool, times: str
) -> None:
    def gradient(s: dt.Tensor) -> dt.Tensor:
        x = dt.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = x * s
        getattr(b[:2], times)(s * x[1:])
        start = dt.tensor([1.0, 10.0, 100.0])  # not of the batch
        (g,) = dt.autograd.grad(b, x, start, create_graph=create_graph)
        return dt.stack([g, dt.autograd.grad(g.sum(), x)[0]]) if create_graph and times == "mul_" else g

    factors = dt.tensor([2.0, 3.0])
    assert dt.vmap(gradient)(factors).tolist() == [gradient(s).tolist() for s in factors]


@pytest.mark.parametrize("strides", [(3, 1), (1, 2)])
def test_memory_with_strides_is_made_for_each_sample(strides: tuple[int, int]) -> None:
    x = dt.arange(8.0).reshape(4, 2)
    made = dt.vmap(lambda p: p.new_empty_strided((2, 3), strides).fill_(2.0) + p.sum())(x)
    assert dt.equal(made, (x.sum(1) + 2).reshape(4, 1, 1).expand(4, 2, 3))
    written = dt.vmap(lambda p: p.new_empty_strided((2, 3), strides).copy_(p[:, None].expand(2, 3)))(x)
    assert dt.equal(written, x[:, :, None].expand(4, 2, 3))
    nested = dt.vmap(lambda p: dt.vmap(lambda q: q.new_empty_strided((2, 3), strides).copy_(q.expand(2, 3)))(p))(x)
    assert dt.equal(nested, x[:, :, None, None].expand(4, 2, 2, 3))
    assert dt.vmap(lambda p: p.new_empty_strided((0, 3), (3, 1)))(x).shape == (4, 0, 3)
    with_gradient = dt.func.vmap(dt.func.grad(lambda p: (p.new_empty_strided((2,), (1,)).copy_(p) * p).sum()))(x)
    assert dt.equal(with_gradient, 2 * x)
