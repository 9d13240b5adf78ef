"""Inference mode: every program runs on dualtape and on PyTorch."""

from __future__ import annotations

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
grad = torch.autograd.grad
def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype or torch.float64, requires_grad=True)
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__
def said(function, phrase):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__, phrase in str(error)
def about(t):
    return t.is_inference(), t.requires_grad, t._is_view(), t.is_leaf
n = leaf(1., 2.)
c = torch.ones(2, dtype=torch.float64)
with torch.inference_mode():
    i = torch.ones(2, dtype=torch.float64) * 3
"""

PROGRAMS = """
# a view, made outside, of an inference tensor that requires grad
with torch.inference_mode():
    x = torch.ones(2, 2, requires_grad=True)
[about(v) for v in (x.view(4), x[0], x.t(), *x.unbind(), x.expand(3, 2, 2), x.detach(), x[:, 0])]

# the mode
a = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
with torch.inference_mode():
    b = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    with torch.inference_mode(False):
        d = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    with torch.enable_grad():
        e = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
a, b, d, e, torch.is_inference_mode_enabled()

# no_grad around inference_mode(False)
with torch.no_grad():
    with torch.inference_mode(False):
        a = torch.is_grad_enabled()
    with torch.inference_mode():
        b = torch.is_grad_enabled()
    d = torch.is_grad_enabled()
a, b, d

# as a decorator
@torch.inference_mode()
def f(x):
    return x * 2
@torch.inference_mode
def g(x):
    return x * 2
about(f(n)), about(g(c)), torch.is_inference_mode_enabled()

# results and creations inside
with torch.inference_mode():
    results = n * 2, c * 2, c.clone(), n.sum(), c.long(), c.float(), torch.stack([c, c])
    creations = torch.ones(2), torch.zeros(2), torch.tensor([1.]), torch.arange(3), torch.full((2,), 1.), torch.eye(2), torch.empty(1)
    others = torch.rand(2), torch.randn(2), torch.from_numpy(np.ones(2)), torch.ones_like(c), torch.zeros_like(n), torch.linspace(0, 1, 3)
[about(t) for t in (*results, *creations, *others)]

# normal tensors outside
about(n), about(c), about(i), about(n * 2), about(c * 2)

# a tensor that requires grad made inside
with torch.inference_mode():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
about(x), about(y)

# views inside of a normal tensor
with torch.inference_mode():
    v = n[0]
    w = c.view(-1)
    u = c[0]
about(v), about(w), about(u), w._base is c

# views inside of an inference tensor
with torch.inference_mode():
    v = i[0]
    w = i.view(-1)
about(v), about(w)

# views outside of an inference tensor
about(i[0]), about(i.view(-1)), about(i.T), about(i[:1][:1])

# detach
with torch.inference_mode():
    a = n.detach()
    b = i.detach()
about(a), about(b), about(i.detach()), about(n.detach())

# data
with torch.inference_mode():
    a = n.data
about(a), about(i.data)

# the version of an inference tensor
said(lambda: i._version, "version")

# the version of normal tensors inside
with torch.inference_mode():
    c.mul_(2)
    a = c._version
    v = c[0]
    v.mul_(2)
a, c._version, c

# in place outside
said(lambda: i.mul_(2), "Inplace update to inference tensor outside InferenceMode")

# in place outside under no_grad
with torch.no_grad():
    r = kind(lambda: i.mul_(2))
r

# in place outside with a tensor that requires grad
kind(lambda: i.mul_(n))

# setitem outside
kind(lambda: i.__setitem__(0, 5.))

# in place outside on a view
v = i[0]
kind(lambda: v.mul_(2))

# in place inside
with torch.inference_mode():
    i.mul_(2)
    i[0] = 7
    v = i[1:]
    v.add_(1)
i

# copy_ from an inference tensor
c.copy_(i)
c, c._version

# copy_ to a normal tensor with grad
x = leaf(1., 2.).clone()
x.copy_(i)
x.requires_grad, x._version

# add_ of an inference tensor
x = leaf(1., 2.).clone()
x.add_(i)
x.sum().backward()
x

# mul_ by an inference tensor
x = leaf(1., 2.).clone()
said(lambda: x.mul_(i), "Inference tensors cannot be saved for backward"), x._version, x

# out=
with torch.inference_mode():
    torch.add(c, 1, out=c)
    torch.add(c, 1, out=i)
kind(lambda: torch.add(c, 1, out=i)), c, i

# using an inference tensor outside, not saved
y = n + i
y.sum().backward()
about(y), n.grad

# using an inference tensor outside, saved
said(lambda: n * i, "Inference tensors cannot be saved for backward")

# using an inference tensor outside, not needing it
y = i * 2
z = i * i
about(y), about(z)

# a function of an inference tensor and a number, with grad
y = (n * 2) + i.sum()
y.requires_grad

# using a view of an inference tensor, saved
said(lambda: n[0] * i[0], "Inference tensors cannot be saved for backward")

# a clone outside is normal
k = i.clone()
k.mul_(2)
about(k)

# requires_grad_ outside
said(lambda: i.requires_grad_(), "inference tensor"), i.requires_grad

# requires_grad_ inside
with torch.inference_mode():
    i.requires_grad_()
i.requires_grad

# requires_grad_(False) outside
kind(lambda: i.requires_grad_(False))

# requires_grad_ of a normal tensor inside
with torch.inference_mode():
    c.requires_grad_()
c.requires_grad, about(c)

# a view of a normal tensor made inside, written outside
with torch.inference_mode():
    v = c[0]
kind(lambda: v.mul_(2)), c

# a view of a normal tensor with grad made inside, written outside
x = n.clone()
with torch.inference_mode():
    v = x[0]
said(lambda: v.mul_(2), "inference mode"), kind(lambda: x.mul_(2))

# a view made inside, used outside
x = n.clone()
with torch.inference_mode():
    v = x[:]
y = v * 2
about(v), about(y)

# a view of a view made inside
x = n.clone()
with torch.inference_mode():
    v = x[:]
w = v[0]
about(w), kind(lambda: w.mul_(2))

# several views
with torch.inference_mode():
    a, b = c.unbind(0)
    d, e = i.split(1)
about(a), about(d), kind(lambda: a.mul_(2)), kind(lambda: d.mul_(2))

# a normal tensor written inside that was saved
x = n.clone()
y = x.sin()
with torch.inference_mode():
    x.mul_(2)
kind(lambda: y.sum().backward())

# a leaf written inside
with torch.inference_mode():
    n.mul_(2)
n, n._version

# backward inside
y = (n * n).sum()
with torch.inference_mode():
    r = kind(lambda: y.backward())
r, n.grad is None

# grad inside
y = (n * n).sum()
with torch.inference_mode():
    r = kind(lambda: grad(y, n))
r

# backward of something computed inside
with torch.inference_mode():
    y = (n * n).sum()
kind(lambda: y.backward())

# inference_mode(False) inside makes normal tensors
with torch.inference_mode():
    with torch.inference_mode(False):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
about(x), about(y)

# enable_grad inside
with torch.inference_mode():
    with torch.enable_grad():
        y = n * 2
about(y)

# a Function inside
class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
with torch.inference_mode():
    y = Mine.apply(n)
about(y), kind(lambda: Mine.apply(i))

# a Function that saves an inference tensor
class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(y)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2, None
said(lambda: Mine.apply(n, i), "Inference tensors cannot be saved for backward")

# comparison, indexing and shape of an inference tensor
(i == 3).all().item(), i[0].item(), i.shape, i.numpy(), i.tolist(), len(i), i.sum().item()

# an inference tensor as .grad
kind(lambda: setattr(n, "grad", i))

# deepcopy of an inference tensor
kind(lambda: copy.deepcopy(i))

# the dtype and the device
about(i.double()), about(i.float()), about(i.to(torch.float64))

# contiguous and reshape
about(i.contiguous()), about(i.reshape(-1)), about(i.reshape(2, 1))

# left by an exception
try:
    with torch.inference_mode():
        raise KeyError
except KeyError:
    pass
torch.is_inference_mode_enabled(), torch.is_grad_enabled()

# zero_ and fill_
kind(lambda: i.zero_()), kind(lambda: i.fill_(1.)), kind(lambda: i.detach_())

# random in place
kind(lambda: i.uniform_()), kind(lambda: i.normal_())

# hooks
kind(lambda: i.register_hook(lambda g: g)), kind(lambda: i.retain_grad())
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_same_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


@pytest.fixture
def made_inside():
    with dt.inference_mode():
        tensor = dt.ones(2) * 3
    return tensor


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.mul_(2),
        lambda t: t[0].mul_(2),
        lambda t: t.__setitem__(0, 5.0),
        lambda t: t.zero_(),
        lambda t: t.uniform_(),
        lambda t: dt.add(t, 1, out=t),
    ],
)
def test_a_refused_write_changes_nothing(made_inside, write) -> None:
    """PyTorch refuses too, after it has written."""
    with pytest.raises(RuntimeError, match="outside InferenceMode"):
        write(made_inside)
    assert made_inside.tolist() == [3.0, 3.0]


def test_an_op_that_must_save_an_inference_tensor_leaves_nothing_behind(made_inside) -> None:
    x = dt.ones(2, requires_grad=True).clone()
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        x.mul_(made_inside)
    assert (x.tolist(), x._version, x.grad_fn.name()) == ([1.0, 1.0], 0, "CloneBackward0")


def test_an_inference_tensor_may_be_an_index() -> None:
    with dt.inference_mode():
        index = dt.tensor([1, 0, 1])
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    x[index].sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_an_inference_tensor_keeps_to_itself(made_inside) -> None:
    other = made_inside.detach()
    assert other.is_inference()
    assert other._base is None
    assert made_inside.storage_offset() == 0
    assert dt.ones(2).is_inference() is False
