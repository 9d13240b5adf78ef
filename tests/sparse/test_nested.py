"""Ragged batches: the jagged layout against PyTorch's, and against the samples one by one."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
F = torch.nn.functional
N = torch.nested
def show(t):
    if isinstance(t, (tuple, list)):
        return [show(part) for part in t]
    if not isinstance(t, torch.Tensor) or not t.is_nested:
        return t
    sizes = ["j" if str(n).startswith("j") else n for n in t.shape]
    return "nested", sizes, [part.detach() for part in t.unbind()], t.offsets(), t.requires_grad, t.dtype
def ragged(*shapes, grad=True, dtype=torch.float64):
    shapes = shapes or ((2, 3), (3, 3))
    parts = [(torch.arange(1. * math.prod(s), dtype=torch.float64).reshape(s) / 7 + k).sin().to(dtype) for k, s in enumerate(shapes)]
    return N.nested_tensor(parts, layout=torch.jagged, requires_grad=grad)
def dense(*shape):
    return ((torch.arange(1. * math.prod(shape), dtype=torch.float64) + 2) / 3).cos().reshape(shape).requires_grad_()
def derive(y, *leaves):
    y = y.values() if y.is_nested else y
    (y * y * y).sum().backward()
    return [show(leaf.grad) for leaf in leaves]
x = ragged()
"""

PROGRAMS = """
# what it says of itself
x.size(0), x.size(-1), x.dim(), x.ndim, x.numel(), len(x), x.is_leaf, x.requires_grad, x.is_nested, str(x.layout)[-6:], x.is_contiguous(), x.dtype, x.lengths()

# its parts
show(x), x.offsets(), x.values().detach(), [p.detach() for p in x], x[1].detach(), x[-1].detach()

# a ragged size equals itself
x.size(1) == x.size(1), x.size(1) == (x * 2).size(1), x.size(1) == 3, x.shape == x.sin().shape

# one that is not there
x[2]

# elementwise
[show(y) for y in (x.sin(), -x, x.exp(), F.relu(x), F.gelu(x), F.silu(x), x > 0, x.abs(), x.clamp(0, 1), x.isnan(), x ** 2, 2 - x, x / 3, F.softplus(x), F.leaky_relu(x))]

# elementwise, derived
derive((x.sin() * x + F.gelu(x)) / 2, x)

# with another of the same structure
y = x.detach() * 2
derive(x * y + x, x)

# beside dense ones
w, b = dense(3), dense(2, 1, 1)
show(x * w), derive((w - x) * b.detach() + dense(1, 1, 3).detach(), x, w)

# beside a padded one
show(x + dense(2, 3, 3))

# dense ones that do not fit
x + dense(2, 3)

# dense ones of too many dimensions
x + dense(1, 1, 1, 3)

# other lengths
x + ragged((3, 3), (2, 3))

# where and masks
derive(torch.where(x > 0, x * x, -x).masked_fill(x > 0.5, 2.), x)

# sums
x.sum().detach(), x.sum(1).detach(), x.sum(1, keepdim=True).detach(), show(x.sum(2)), show(x.sum(-1, keepdim=True)), x.sum((0, 1)).detach(), x.sum(dtype=torch.float32).detach()

# the batch cannot be summed over alone
x.sum(0)

# nor the ragged dimension with another
x.sum((1, 2))

# means
x.mean().detach(), x.mean(1).detach(), show(x.mean(2)), derive(x.mean(), x)

# extremes
x.amax(1).detach(), x.amin(1).detach(), show(x.amax(2)), x.max().detach(), x.min().detach(), x.argmax(1), derive(x.amax(1), x)

# of integers
i = ragged(dtype=torch.int64, grad=False)
i.amax(1), i.sum(1), i.prod(1)

# products, all, any
x.prod(1).detach(), (x > 0).any(1), (x > 0).all(1), (x > 0).all()

# variances are not there
x.var(1)

# softmax
show(x.softmax(1)), show(x.softmax(-1)), show(F.log_softmax(x, -1))

# softmax over the batch
x.softmax(0)

# products with matrices
w, u = dense(3, 4), dense(2, 3, 4)
show(x @ w), derive(x @ w + torch.bmm(x, u), x, w, u)

# linear
w, b = dense(4, 3), dense(4)
derive(F.linear(x, w, b), x, w, b)

# linear, as a dense batch
w, b = dense(4, 3), dense(4)
derive(F.linear(x.detach().requires_grad_().to_padded_tensor(0.), w, b), w)

# layer_norm and rms_norm
w, b = dense(3), dense(3)
derive(F.layer_norm(x, (3,), w, b) + F.rms_norm(x, (3,), w), x, w, b)

# embedding
w = dense(4, 2)
i = N.nested_tensor([torch.tensor([0, 1]), torch.tensor([3])], layout=torch.jagged)
show(F.embedding(i, w)), derive(F.embedding(i, w), w)

# dropout that drops nothing, or everything
show(F.dropout(x, 0.0)), show(F.dropout(x, 0.5, training=False)), show(F.dropout(x.detach(), 1.0))

# padded
x.to_padded_tensor(0.).detach(), N.to_padded_tensor(x, -1., (2, 4, 3)).detach(), derive(x.to_padded_tensor(5.), x)

# shapes
[show(y) for y in (x.transpose(1, 2), x.unsqueeze(-1), x.unsqueeze(1), x.view(2, -1, 3, 1), x.reshape(2, -1, 1, 3), x.unsqueeze(-1).flatten(2), x.unflatten(-1, (3, 1)), x.permute(0, 2, 1), x.unsqueeze(-1).squeeze(-1), x.select(2, 0), x.unsqueeze(-1).expand(-1, -1, -1, 4), x.view(2, x.size(1), 3, 1))]

# shapes, derived
derive(x.unflatten(-1, (3, 1)).transpose(1, 2).transpose(1, 3).sin().permute(0, 3, 2, 1), x)

# parts of the last dimension
[show(y) for y in (*x.chunk(3, -1), *x.split([1, 2], -1), *x.split(2, 2))], derive(x.chunk(3, -1)[1] * 2, x)

# joined along the last dimension
show(torch.cat([x, x * 2], -1)), show(torch.stack([x, x * 2], -1)), derive(torch.cat([x, x.sin()], 2), x)

# joined along the batch
torch.cat([x, x], 0)

# turned along the batch
x.transpose(0, 1)

# flat
x.flatten()

# made flat along the ragged dimension
x.flatten(1)

# types, copies, others of the same structure
[show(y) for y in (x.float(), x.to(torch.float32), x.double(), x.clone(), x.detach(), torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 3.), torch.empty_like(x).fill_(2.))], torch.randn_like(x).offsets()

# in place
y = ragged(grad=False)
y.mul_(2).add_(1)
show(y)

# gradients
y = (x * x).sum()
g, = torch.autograd.grad(y, x)
show(g), g.is_nested

# a gradient to start from
(x * 2).backward(torch.ones_like(x))
show(x.grad)

# none to start from
(x * 2).backward()

# second derivatives
g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
(g * g).sum().backward()
show(x.grad)

# hooks
seen = []
x.register_hook(lambda g: seen.append(show(g)))
(x * 2).sum().backward()
seen

# of packed values
v = dense(5, 3)
y = N.nested_tensor_from_jagged(v, torch.tensor([0, 2, 5]))
show(y), derive(y.sin(), v), y.is_leaf

# of lengths
show(N.nested_tensor_from_jagged(dense(5), lengths=torch.tensor([2, 3])))

# with gaps
v = dense(5)
y = N.nested_tensor_from_jagged(v, torch.tensor([0, 2, 5]), torch.tensor([1, 2]))
[p.detach() for p in y.unbind()], y.lengths(), y.is_contiguous(), y.values().detach()

# of neither
N.nested_tensor_from_jagged(dense(5))

# of samples with history
a, b = dense(2, 3), dense(1, 3)
y = N.as_nested_tensor([a, b], layout=torch.jagged)
show(y), derive(y * 2, a, b), y.is_leaf

# of the rows of a dense tensor
show(N.as_nested_tensor(torch.ones(2, 3), layout=torch.jagged))

# without history
N.nested_tensor([dense(2), dense(3)], layout=torch.jagged).requires_grad

# ragged in the last dimension
show(N.nested_tensor([torch.ones(2, 3), torch.ones(2, 4)], layout=torch.jagged))

# narrowed
y = N.narrow(dense(2, 6), 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
[p.detach() for p in y.unbind()], y.offsets(), y.lengths(), y.is_contiguous()

# selected by a mask
d = dense(2, 3)
y = N.masked_select(d, torch.tensor([[True, False, True], [True, True, True]]))
show(y), derive(y, d)

# of numbers
N.nested_tensor([torch.tensor(1.)], layout=torch.jagged)

# of nothing
N.nested_tensor([], layout=torch.jagged)

# of different dimensions
N.nested_tensor([torch.ones(2, 3), torch.ones(2)], layout=torch.jagged)

# of different types
N.nested_tensor([torch.ones(2), torch.ones(2, dtype=torch.int64)], layout=torch.jagged)

# arrays
x.detach().numpy()

# lists
x.tolist()

# attention
q, k, v = (ragged((2, 4), (5, 4), (1, 4)) for _ in range(3))
heads = lambda t: t.unflatten(-1, (2, 2)).transpose(1, 2)
y = F.scaled_dot_product_attention(heads(q), heads(k) * 2, heads(v)).transpose(1, 2).flatten(-2)
show(y), derive(y, q, k, v)

# attention with a scale
q = ragged((2, 4), (5, 4))
heads = lambda t: t.unflatten(-1, (2, 2)).transpose(1, 2)
show(F.scaled_dot_product_attention(heads(q), heads(q), heads(q), scale=0.1))
"""


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program):
    same(PRELUDE + program)


@needs_torch
def test_printing_is_as_pytorchs():
    import re

    import torch

    shown = []
    for lib in (dt, torch):
        x = lib.nested.nested_tensor([lib.ones(2, 3), lib.ones(1, 3)], layout=lib.jagged, requires_grad=True)
        turned = x.detach().transpose(1, 2)
        shown.append([re.sub(r"j\d+", "j", repr(each)) for each in (x, x.detach().double(), turned)])
    assert shown[0] == shown[1]


def _samples(lengths=(3, 1, 4), width=4, seed=0):
    rng = np.random.default_rng(seed)
    return [dt.tensor(rng.standard_normal((n, width))) for n in lengths]


class Attention:
    """A small attention block: embedding, attention, a residual, a norm and a layer, written once for samples and for
    ragged batches.
    """

    def __init__(self, lib=dt):
        rng = np.random.default_rng(1)
        make = lambda *shape: lib.tensor(rng.standard_normal(shape) / 2, requires_grad=True)
        self.table, self.joint, self.out = make(7, 4), make(12, 4), make(4, 4)
        self.gain, self.head = make(4), make(2, 4)
        self.functional = lib.nn.functional

    @property
    def parameters(self):
        return self.table, self.joint, self.out, self.gain, self.head

    def __call__(self, tokens, causal):
        F = self.functional
        x = F.embedding(tokens, self.table)
        q, k, v = (t.contiguous() for t in F.linear(x, self.joint).chunk(3, -1))
        q, k, v = (t.unflatten(-1, (2, 2)).transpose(-3, -2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(-3, -2).flatten(-2)
        x = F.layer_norm(x + F.linear(y, self.out), (4,), self.gain)
        return F.gelu(F.linear(x, self.head))


TOKENS = [[1, 2, 3], [6], [0, 5, 4, 1]]


@pytest.mark.parametrize("causal", [False, True])
def test_an_attention_model_on_a_ragged_batch_is_the_model_on_each_sample(causal):
    model, other = Attention(), Attention()
    batch = model(dt.nested.nested_tensor([dt.tensor(t) for t in TOKENS]), causal)
    single = [other(dt.tensor(t), causal) for t in TOKENS]
    for one, two in zip(batch.unbind(), single, strict=True):
        assert np.allclose(one.detach(), two.detach())
    batch.values().pow(2).sum().backward()
    sum(y.pow(2).sum() for y in single).backward()
    for one, two in zip(model.parameters, other.parameters, strict=True):
        assert np.allclose(one.grad, two.grad)


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_an_attention_model_on_a_ragged_batch_is_pytorchs():
    import torch

    found = []
    for lib in (dt, torch):
        model = Attention(lib)
        batch = lib.nested.nested_tensor([lib.tensor(t) for t in TOKENS], layout=lib.jagged)
        y = model(batch, False).values()
        y.pow(2).sum().backward()
        found.append([y.detach().numpy(), *(p.grad.numpy() for p in model.parameters)])
    for ours, theirs in zip(*found, strict=True):
        assert np.allclose(ours, theirs)


WEIGHT = dt.tensor([[0.5, -1.0, 2.0, 1.5]], dtype=dt.float64)
ON_SAMPLES = {
    "dense beside": (lambda x, w: x * w + w, lambda s, w, k: s * w + w),
    "one for each": (
        lambda x, w: x * w[0, :3].reshape(3, 1, 1),
        lambda s, w, k: s * w[0, k],
    ),
    "mean": (lambda x, w: x.mean(1) * w, lambda s, w, k: s.mean(0) * w[0]),
    "amax": (lambda x, w: x.amax(1) * w, lambda s, w, k: s.amax(0) * w[0]),
    "prod": (lambda x, w: x.prod(1) * w, lambda s, w, k: s.prod(0) * w[0]),
    "softmax": (lambda x, w: x.softmax(1) * x.softmax(2), lambda s, w, k: s.softmax(0) * s.softmax(1)),
    "product": (lambda x, w: x @ w.t(), lambda s, w, k: s @ w.t()),
    "joined": (lambda x, w: dt.cat([x, x.sin()], -1), lambda s, w, k: dt.cat([s, s.sin()], -1)),
    "padded": (lambda x, w: x.to_padded_tensor(0.0).sum(1), lambda s, w, k: s.sum(0)),
    "picked": (lambda x, w: x.select(2, 1) * x.chunk(2, -1)[1].sum(-1), lambda s, w, k: s[:, 1] * s[:, 2:].sum(-1)),
}


@pytest.mark.parametrize("name", ON_SAMPLES)
def test_values_and_derivatives_are_those_of_the_samples(name):
    """PyTorch has no derivative of some of them."""
    on_batch, on_sample = ON_SAMPLES[name]
    x = dt.nested.nested_tensor(_samples(), requires_grad=True)
    samples = [s.requires_grad_() for s in _samples()]
    weights = [WEIGHT.clone().requires_grad_() for _ in range(2)]
    found = on_batch(x, weights[0])
    single = [on_sample(s, weights[1], k) for k, s in enumerate(samples)]
    for one, two in zip(found.unbind(), single, strict=True):
        assert np.allclose(one.detach(), two.detach())
    (found.values() if found.is_nested else found).pow(3).sum().backward()
    sum(y.pow(3).sum() for y in single).backward()
    for one, two in zip(x.grad.unbind(), samples, strict=True):
        assert np.allclose(one, two.grad)
    assert (weights[0].grad is None) == (weights[1].grad is None)
    assert weights[0].grad is None or np.allclose(weights[0].grad, weights[1].grad)


def test_gradients_add_up():
    x = dt.nested.nested_tensor(_samples(), requires_grad=True)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert np.allclose(x.grad.values(), 2 * x.detach().values() + 3)


def test_second_derivatives_are_right():
    def f(values):
        x = dt.nested.nested_tensor_from_jagged(values, [0, 3, 4, 8])
        return (x.softmax(1) * x.sin()).sum(1)

    values = dt.cat(_samples()).requires_grad_()
    assert dt.autograd.gradcheck(f, values)
    assert dt.autograd.gradgradcheck(f, values)


def test_gaps_between_samples_have_no_gradient():
    values = dt.arange(5.0, requires_grad=True)
    x = dt.nested.nested_tensor_from_jagged(values, [0, 2, 5], [1, 2])
    assert [part.tolist() for part in (x * 2).detach().unbind()] == [[0.0], [4.0, 6.0]]
    (x * x).sum().backward()
    assert values.grad.tolist() == [0.0, 0.0, 4.0, 6.0, 0.0]


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "prod", "logsumexp"])
def test_reductions_along_the_ragged_dimension_are_those_of_the_samples(name):
    samples = _samples()
    found = getattr(dt.nested.nested_tensor(samples), name)(1)
    assert np.allclose(found, dt.stack([getattr(s, name)(0) for s in samples]))


def test_log_softmax_goes_along_the_ragged_dimension():
    """PyTorch refuses it."""
    samples = _samples()
    found = dt.nested.nested_tensor(samples).log_softmax(1)
    for one, sample in zip(found.unbind(), samples, strict=True):
        assert np.allclose(one, sample.log_softmax(0))


def test_samples_of_the_same_lengths_go_together_wherever_they_come_from():
    """PyTorch knows only those of one origin to have the same lengths."""
    x, y = (dt.nested.nested_tensor(_samples(seed=k)) for k in range(2))
    assert np.allclose((x + y).values(), x.values() + y.values())


def test_vmap_goes_over_the_samples():
    samples = _samples()
    weight = dt.ones(4, dtype=dt.float64, requires_grad=True)
    x = dt.nested.nested_tensor(samples, requires_grad=True)
    found = dt.vmap(lambda s, w: (s @ w).exp().sum(), in_dims=(0, None))(x, weight)
    assert np.allclose(found.detach(), [np.exp(s.numpy().sum(1)).sum() for s in samples])
    found.sum().backward()
    assert np.allclose(x.grad.values(), np.exp(x.detach().values().numpy().sum(1))[:, None] * np.ones(4))
    assert np.allclose(weight.grad, sum((np.exp(s.numpy().sum(1))[:, None] * s.numpy()).sum(0) for s in samples))
    ragged = dt.vmap(lambda s, k: s.cumsum(0) * k)(x, dt.arange(3.0))
    assert ragged.is_nested
    assert np.allclose(ragged[2].detach(), 2 * samples[2].numpy().cumsum(0))
    with pytest.raises(ValueError, match="dimension 0"):
        dt.vmap(lambda s: s, in_dims=2)(x)
    with pytest.raises(NotImplementedError, match="draws"):
        dt.vmap(lambda s: s, randomness="same")(x)


def test_empty_samples_are_samples():
    x = dt.nested.nested_tensor([dt.ones(2, 3), dt.ones(0, 3)], requires_grad=True)
    assert x.sum(1).detach().tolist() == [[2.0] * 3, [0.0] * 3]
    (x.softmax(1) * 2).sum().backward()
    assert [part.tolist() for part in x.grad.unbind()] == [[[0.0] * 3] * 2, []]


def test_wrong_structures_are_refused():
    make = dt.nested.nested_tensor_from_jagged
    for wrong in (
        {"offsets": [0, 3, 2]},
        {"offsets": [0, 2, 9]},
        {"lengths": [1, 1]},
        {"offsets": [0, 2, 4], "lengths": [3]},
        {"offsets": [0, 2, 4], "max_seqlen": 3},
        {"offsets": [0.0, 4.0]},
        {"offsets": [0, 4], "jagged_dim": 2},
    ):
        with pytest.raises(RuntimeError):
            make(dt.arange(4), **wrong)
    with pytest.raises(NotImplementedError, match="jagged"):
        dt.nested.nested_tensor([dt.ones(2)], layout=dt.strided)
    with pytest.raises(RuntimeError, match="less than"):
        dt.nested.nested_tensor([dt.ones(3)]).to_padded_tensor(0.0, (1, 2))
    with pytest.raises(RuntimeError, match="beyond|start"):
        dt.nested.narrow(dt.ones(2, 3), 1, 1, 3)


def test_what_is_not_there_says_so():
    x = dt.nested.nested_tensor(_samples())
    with pytest.raises(RuntimeError, match="across the ragged"):
        x.view(3, 2, x.size(1), 2)
    with pytest.raises(NotImplementedError, match="cumsum"):
        x.cumsum(1)
    with pytest.raises(RuntimeError, match="attn_mask"):
        heads = x.unflatten(-1, (2, 2)).transpose(1, 2)
        dt.nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=dt.ones(4, 4))
    with pytest.raises(RuntimeError, match="in place"):
        dt.nested.nested_tensor(_samples(), requires_grad=True).mul_(2)


def test_copies_and_pickles():
    x = dt.nested.nested_tensor(_samples(), requires_grad=True)
    for found in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert found.requires_grad
        assert found.offsets().tolist() == x.offsets().tolist()
        assert np.allclose(found.detach().values(), x.detach().values())


# --- keys, narrowed, repeated ---------------------------------------------------------------------

INSIDE = {
    "x[..., 1]": lambda x: x[..., 1],
    "x[..., 0:2]": lambda x: x[..., 0:2],
    "x[:, :, ::2]": lambda x: x[:, :, ::2],
    "x[..., None]": lambda x: x[..., None],
    "x[...]": lambda x: x[...],
    "narrow": lambda x: x.narrow(-1, 1, 2),
    "repeat_interleave": lambda x: x.repeat_interleave(2, -1),
    "max": lambda x: x.max(-1)[0],
    "min": lambda x: x.min(-1)[0],
    "amax": lambda x: x.amax(-1),
}
OF_ONE = {**INSIDE, "x[:, :, ::2]": lambda x: x[:, ::2]}


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_done_to_other_dimensions_is_done_to_each_sample(name):
    samples = [dt.tensor(np.random.default_rng(k).standard_normal((n, 3))) for k, n in enumerate((2, 4))]
    nested = dt.nested.nested_tensor(samples, layout=dt.jagged, requires_grad=True)
    found = INSIDE[name](nested)
    leaves = [s.clone().requires_grad_() for s in samples]
    expected = [OF_ONE[name](s) for s in leaves]
    for a, b in zip(found.unbind(), expected, strict=True):
        assert dt.equal(a.detach(), b.detach())
    found.values().square().sum().backward()
    sum(e.square().sum() for e in expected).backward()
    assert nested.grad.is_nested
    for a, b in zip(nested.grad.unbind(), leaves, strict=True):
        assert dt.equal(a, b.grad)


def test_the_gradient_of_the_largest_of_all_and_of_each_sample_is_nested():
    samples = [dt.tensor([[1.0, 5.0], [2.0, 3.0]]), dt.tensor([[4.0, 0.0]])]
    for of, expected in (
        (lambda n: n.max(), [[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0]]]),
        (lambda n: n.max(1)[0].sum(), [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0]]]),
    ):
        nested = dt.nested.nested_tensor(samples, layout=dt.jagged, requires_grad=True)
        of(nested).backward()
        assert [g.tolist() for g in nested.grad.unbind()] == expected


def test_keys_take_one_sample_apart():
    nested = dt.nested.nested_tensor([dt.ones(2, 3), dt.arange(12.0).reshape(4, 3)], layout=dt.jagged)
    assert nested[1, 2].tolist() == [6.0, 7.0, 8.0]
    assert nested[1, 2, 0].item() == 6.0
    assert nested[-1, ..., 1].tolist() == [1.0, 4.0, 7.0, 10.0]


@pytest.mark.parametrize("key", [(slice(1),), (None,), (slice(None), slice(1)), (..., [0])], ids=repr)
def test_keys_that_would_mix_samples_are_refused(key):
    with pytest.raises(NotImplementedError, match="nested"):
        dt.nested.nested_tensor([dt.ones(2, 3), dt.ones(4, 3)], layout=dt.jagged)[key]


def test_a_key_has_at_most_the_dimensions_of_the_tensor():
    with pytest.raises(IndexError, match="3 dimensions"):
        dt.nested.nested_tensor([dt.ones(2, 3)], layout=dt.jagged)[0, 0, 0, 0]
