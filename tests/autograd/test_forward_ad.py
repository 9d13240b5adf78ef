"""Forward mode for the user: levels and duals, views and writes, mixtures with reverse mode, custom Functions; as
PyTorch has it, and beyond.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from blocks import blocks
from dualtape import modes
from dualtape.autograd.function import once_differentiable
from dualtape.autograd.tangents import ForwardLevel
from dualtape.ops import jvp
from same_program import needs_torch, same

BEGIN = """
fwAD = torch.autograd.forward_ad
P = lambda x: fwAD.unpack_dual(x).primal
T = lambda x: fwAD.unpack_dual(x).tangent
level = fwAD.enter_dual_level()
x = fwAD.make_dual(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.1, 0.2, 0.3]))
m = fwAD.make_dual(torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3) + 1)
try:
"""
END = """
finally:
    fwAD.exit_dual_level(level=level)
result
"""


def inside(source: str) -> str:
    """``source`` inside a level, where ``x`` and ``m`` are duals; its last line is an expression."""
    lines = source.strip().splitlines()
    body = [*lines[:-1], f"result = {lines[-1]}"]
    return BEGIN + "\n".join(f"    {line}" for line in body) + END


# --- duals ----------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize(
    "source",
    blocks("""
# a tensor and its tangent come out again
p, t = fwAD.unpack_dual(x)
[p, t, p.requires_grad, T(p)]
# unpack_dual of a plain tensor
y = torch.ones(2)
[P(y), T(y)]
# the tangent is kept itself
t = torch.ones(3)
y = fwAD.make_dual(torch.zeros(3), t)
t.add_(1)
T(y)
# the primal shares memory
p = torch.zeros(3)
y = fwAD.make_dual(p, torch.ones(3))
p.add_(5)
y
# the primal's own tangent stays none
p = torch.zeros(3)
y = fwAD.make_dual(p, torch.ones(3))
T(p)
# a tangent that lies otherwise in memory is copied
t = torch.ones(3, 2).t()
y = fwAD.make_dual(torch.zeros(2, 3), t)
t.add_(1)
[T(y), T(y).is_contiguous()]
# other shape
fwAD.make_dual(torch.zeros(3), torch.zeros(2))
# a shape that would broadcast
fwAD.make_dual(torch.zeros(3), torch.zeros(1))
# integer primal
fwAD.make_dual(torch.tensor([1, 2]), torch.ones(2))
# integer tangent
fwAD.make_dual(torch.ones(2), torch.tensor([1, 2]))
# a dual of a dual at the same level
fwAD.make_dual(x, torch.ones(3))
# a tangent that is a dual at the same level
fwAD.make_dual(torch.ones(3), x)
# a level that is not open
fwAD.make_dual(torch.ones(3), torch.ones(3), level=3)
# the level by its number
y = fwAD.make_dual(torch.ones(3), torch.ones(3), level=0)
[fwAD.unpack_dual(y, level=0).tangent, fwAD.unpack_dual(y, level=-1).tangent]
# the result is a named tuple
[type(fwAD.unpack_dual(x)).__name__, list(fwAD.unpack_dual(x)._fields)]
# make_dual of a leaf that requires grad
p = torch.ones(3, requires_grad=True)
y = fwAD.make_dual(p, torch.ones(3))
[y.requires_grad, y.is_leaf, y.grad_fn is None, T(y).requires_grad]
# a tangent that requires grad
t = torch.ones(3, requires_grad=True)
y = fwAD.make_dual(torch.ones(3), t)
[y.requires_grad, T(y).requires_grad, (y * 3).requires_grad, T(y * 3).requires_grad, torch.autograd.grad(T(y * y).sum(), t)[0]]
# both require grad
p = torch.ones(3, requires_grad=True)
t = torch.full((3,), 2.0, requires_grad=True)
y = fwAD.make_dual(p, t)
list(torch.autograd.grad(T(y * y * y).sum(), (p, t)))
# primal of unpack is differentiable
p = torch.ones(3, requires_grad=True)
y = fwAD.make_dual(p, torch.ones(3))
q = P(y * 2)
[q.requires_grad, torch.autograd.grad(q.sum(), p)[0]]
# clone keeps
T(x.clone())
# detach drops
[T(x.detach()), T(x)]
# data drops
[T(x.data), T(x)]
# a copy by tensor() and by as_tensor
[T(torch.as_tensor(x)), T(x)]
# contiguous, to, float
[T(x.contiguous()), T(x.to(torch.float64)), T(x.to(torch.float64)).dtype, T(m.t().contiguous())]
# to an integer
T(x.to(torch.int64))
# operations with constants
[T(x * 2), T(2 / x), T(x + torch.ones(3)), T(x ** 2), T(torch.exp(x))]
# tangents of two
y = fwAD.make_dual(torch.ones(3), torch.ones(3))
[T(x * y), T(torch.where(x > 1.5, x, y)), T(torch.maximum(x, y)), T(torch.stack([x, y])), T(torch.cat([x, torch.ones(1), y]))]
# comparisons and indices have none
[T(x > 1), T(x.argmax()), T(x.sort()[1])]
# several results
values, indices = x.sort(descending=True)
[T(values), T(indices)]
# a function of nothing
[T(torch.zeros_like(x)), T(torch.ones_like(x)), T(torch.empty_like(x)), T(x.new_ones(3))]
# no_grad keeps forward mode
with torch.no_grad():
    y = x * x
[T(y), y.requires_grad]
# switched off
with fwAD._set_fwd_grad_enabled(False):
    y = x * x
    seen = T(x)
[T(y), T(x), seen]
# switched off and on
with fwAD._set_fwd_grad_enabled(False):
    with fwAD._set_fwd_grad_enabled(True):
        y = x * x
T(y)
# inference mode computes no tangents
with torch.inference_mode():
    y = x * 2
[y.is_inference(), T(y), T(x)]
# numpy refuses nothing
x.numpy()
# tolist and item
[x.tolist(), x[0].item()]
# float of a dual
float(x[0])
# requires_grad_ of a dual
y = x.requires_grad_()
[y.requires_grad, T(y), torch.autograd.grad((y * y).sum(), y)[0]]
# expand and broadcast
[T(x.expand(2, 3)), T(x[:1].expand(4)), T(x[:1] + torch.zeros(3)), T(x.unsqueeze(1) * x)]
# a tangent that is expanded
y = fwAD.make_dual(torch.ones(3), torch.ones(1).expand(3))
[T(y), T(y * 2)]
# complex
z = fwAD.make_dual(torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([1j, 2 + 1j]))
[T(z * z), T(z.conj()), T(z.real), T(z.imag), T(z.abs()), T(torch.view_as_real(z)), T(z.angle()), T((z * z.conj()).real)]
# real to complex
[T(x * 1j), T(torch.complex(x, 2 * x)), T(torch.polar(x, x))]
# views of parts of a complex dual
z = fwAD.make_dual(torch.tensor([1 + 2j]), torch.tensor([3 + 4j]))
z.real.mul_(2)
[z, T(z)]
# empty
y = fwAD.make_dual(torch.ones(0), torch.ones(0))
[T(y * 2), T(y.sum())]
# zero-dimensional
y = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
[T(y ** 3), T(y.expand(3).sum())]
# retain_grad and hooks beside tangents
p = torch.ones(3, requires_grad=True)
y = fwAD.make_dual(p, torch.ones(3)) * 2
seen = []
y.register_hook(lambda g: seen.append(g) or g * 10)
y.retain_grad()
(y * y).sum().backward()
[p.grad, y.grad, seen, T(y.grad)]
"""),
)
def test_duals_are_pytorchs(source: str) -> None:
    same(inside(source))


# --- views and writes -----------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize(
    "source",
    blocks("""
# a view's tangent is the view of the tangent
[T(x[1]), T(x[::2]), T(m.t()), T(m.reshape(-1)), T(m[0]), T(m.unsqueeze(0)), T(m.diagonal()), [T(v) for v in m.unbind()], [T(v) for v in m.split(2, 1)]]
# the view shares the tangent's memory
v = x[:2]
T(x).mul_(10)
[T(v), T(x)]
# write to a base that has a tangent
v = x[:2]
x.mul_(3)
[x, T(x), v, T(v)]
# write to a view of what has a tangent
x[:2].mul_(3)
[x, T(x)]
# write to a view that exists already
v = x[1:]
v.mul_(x[:2].clone())
[x, T(x), T(v)]
# write a moving value to a view of a still base
b = torch.zeros(4)
v = b[1:3]
v.copy_(x[:2])
[b, T(b), T(v)]
# write a moving value to a still base that has a view
b = torch.zeros(3)
v = b[1:]
b.copy_(x)
[b, T(b), T(v)]
# then another view of it
b = torch.zeros(4)
b[1:3] = x[:2]
w = b[::2]
[T(b), T(w)]
# setitem with a dual
b = torch.zeros(4)
b[1] = x[2]
[b, T(b)]
# setitem with a constant
x[1] = 7.0
[x, T(x)]
# setitem of a constant into a moving row
m[0] = torch.ones(3)
[m, T(m)]
# setitem with a mask and a dual
x[torch.tensor([True, False, True])] = x[:2].clone()
[x, T(x)]
# setitem with a mask and a constant
x[x > 1.5] = 0.0
[x, T(x)]
# setitem by indices
m[torch.tensor([0, 1]), torch.tensor([2, 0])] = x[:2]
[m, T(m)]
# setitem by indices of a still tensor
b = torch.zeros(2, 3)
b[torch.tensor([1])] = x
[b, T(b)]
# copy_ from a still tensor clears
x.copy_(torch.zeros(3))
[x, T(x)]
# copy_ from a dual to a dual
y = fwAD.make_dual(torch.zeros(3), torch.ones(3))
y.copy_(x)
[y, T(y)]
# copy_ of itself
x.copy_(x)
[x, T(x)]
# copy_ that broadcasts
m.copy_(x)
[m, T(m)]
# copy_ into integers
b = torch.zeros(3, dtype=torch.int64)
b.copy_(x)
[b, T(b)]
# zero_ and fill_
y = x.clone()
y.zero_()
z = x.clone()
z.fill_(3.0)
w = x.clone()
w.fill_(x[1])
[T(y), T(z), T(w)]
# zero_ of a view
x[:2].zero_()
[x, T(x)]
# fill_ of a still tensor by a moving number
b = torch.zeros(2)
b.fill_(x[1])
[b, T(b)]
# masked_fill_
x.masked_fill_(torch.tensor([True, False, False]), 5.0)
[x, T(x)]
# masked_fill_ with a moving number
b = torch.zeros(3)
b.masked_fill_(torch.tensor([True, False, True]), x[2])
[b, T(b)]
# index_put_
b = torch.zeros(3)
b.index_put_((torch.tensor([2, 0]),), x[:2])
x.index_put_((torch.tensor([1, 1]),), x[:2].clone(), accumulate=True)
[b, T(b), x, T(x)]
# scatter_, index_add_, index_copy_, index_fill_
b = torch.zeros(3).scatter_(0, torch.tensor([1, 2]), x[:2])
c = torch.zeros(3).index_add_(0, torch.tensor([1, 1]), x[:2])
d = x.clone().index_copy_(0, torch.tensor([1]), torch.ones(1))
e = x.clone().index_fill_(0, torch.tensor([1]), 3.0)
[T(b), T(c), T(d), T(e)]
# add_ of a moving to a still
b = torch.zeros(3)
b.add_(x, alpha=2)
[b, T(b)]
# add_ of a still to a moving
x.add_(torch.ones(3))
[x, T(x)]
# addcmul_, lerp_, clamp_, sub_, div_, pow_, exp_
a = x.clone().addcmul_(x, x, value=2)
b = x.clone().lerp_(torch.zeros(3), 0.25)
c = x.clone().clamp_(1.5, 2.5)
d = x.clone().sub_(x * 2)
e = x.clone().div_(x * x)
f = x.clone().pow_(3)
g = x.clone().exp_()
[T(y) for y in (a, b, c, d, e, f, g)]
# relu_ and neg_
y = x.clone().sub_(2)
[T(y.clone().relu_()), T(y.clone().neg_())]
# detach_
y = x * 2
y.detach_()
[y, T(y)]
# a write under no_grad moves the tangent
with torch.no_grad():
    x.mul_(2)
[x, T(x)]
# a write while switched off
with fwAD._set_fwd_grad_enabled(False):
    x.mul_(2)
[x, T(x)]
# a view made while switched off
with fwAD._set_fwd_grad_enabled(False):
    v = x[:2]
T(v * 1)
# detach shares memory and no tangent
d = x.detach()
d.mul_(3)
[x, T(x), T(d)]
# write of a moving value to a detached alias
b = torch.zeros(3)
d = b.detach()
d.copy_(x)
[b, T(b), T(d)]
# write of a moving value to a view of a detached alias
b = torch.zeros(3)
d = b.detach()[:2]
d.copy_(x[:2])
[b, T(b), T(d)]
# write to the primal of unpack_dual
p = P(x)
p.mul_(3)
[x, T(x), T(p)]
# write of a moving value to the primal of unpack_dual
p = P(x)
y = fwAD.make_dual(torch.ones(3), torch.ones(3))
p.mul_(y)
[x, T(x), p, T(p)]
# write to what make_dual was given
b = torch.zeros(3)
y = fwAD.make_dual(b, torch.ones(3))
b.copy_(x)
[y, T(y), T(b)]
# write to the dual shows in what make_dual was given
b = torch.ones(3)
y = fwAD.make_dual(b, torch.ones(3))
y.mul_(x)
[b, T(b), T(y)]
# make_dual of a view
b = torch.zeros(4)
y = fwAD.make_dual(b[:2], torch.ones(2))
[T(b), T(y)]
# a write to a dual of a view
b = torch.zeros(4)
y = fwAD.make_dual(b[:2], torch.ones(2))
y.add_(x[:2])
[b, T(b), T(y)]
# as_strided
[T(m.as_strided((2, 2), (3, 1), 1)), T(x.as_strided((2, 2), (1, 1)))]
# write through as_strided
m.as_strided((2,), (3,), 1).mul_(10)
[m, T(m)]
# expand cannot be written
x[:1].expand(3).mul_(2)
# out= is refused for a moving argument
torch.mul(x, 2, out=torch.zeros(3))
# out= is refused for a moving target
torch.mul(torch.ones(3), 2, out=x)
# a chain of views
v = m[1][1:]
v.mul_(2)
w = m.t()[1:]
[T(m), T(w), T(v)]
# two views, one written
a, b = m[0], m[1]
a.mul_(b)
[m, T(m), T(a), T(b)]
# unbind and write
a, b = m.clone().unbind()
[T(a), T(b)]
# a view of a still base, then the base moves
b = torch.ones(3)
v = b[1:]
b.mul_(x)
v.mul_(2)
[T(b), T(v)]
# a write in place with history
p = torch.ones(3, requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 2.0, 3.0])) * 1
y[:2].mul_(y[1:])
[y, T(y), torch.autograd.grad(y.sum(), p, retain_graph=True)[0], torch.autograd.grad(T(y).sum(), p, allow_unused=True)[0]]
# a write in place to a dual leaf that requires grad
p = torch.ones(3, requires_grad=True)
y = fwAD.make_dual(p, torch.ones(3))
y.mul_(2)
# a dual keeps its tangent when its memory is written elsewhere
b = torch.zeros(4)
y = fwAD.make_dual(b[:2], torch.ones(2))
b[3] = x[0]
b[1:] = x
[T(y), T(b), T(y * 2), T(y[0])]
# a view made in inference mode
with torch.inference_mode():
    v = x[:2]
    seen = T(v)
[T(v), seen]
# a view of what is detached in place
y = x * 1
v = y[:2]
y.detach_()
[T(v), T(y)]
# random writes leave no tangent
found = []
for draw in ("normal_", "uniform_", "random_", "bernoulli_", "exponential_"):
    y = x.clone()
    getattr(y, draw)()
    found.append(T(y))
found
# a random write to a view
x[:2].normal_()
T(x)
# a random write to a base that has a view
v = x[1:]
x.uniform_()
[T(x), T(v)]
# the tangent written by hand
T(x).copy_(torch.zeros(3))
T(x * 2)
# setting .data
y = x.clone()
y.data = torch.zeros(3)
[y, T(y)]
# writing through .data
x.data.mul_(5)
[x, T(x)]
# flip, roll, gather, index_select and take are no views
[T(x.flip(0)), T(x.roll(1)), T(x.gather(0, torch.tensor([2, 2]))), T(x.index_select(0, torch.tensor([1, 0]))), T(m.take(torch.tensor([5, 0])))]
# a part of an unpacked primal written
p = P(x)
p[0] = x[1]
[p, T(p), x, T(x)]
# a view of an unpacked primal written
p = P(x)
v, u = p[1:], p[:2]
v.mul_(x[0])
[T(v), T(p), T(u), T(x)]
# a part of the primal of what has no tangent written
q = torch.ones(3)
p = P(q)
early = p.view(3, 1)[1:]
p[1] = x[0]
[T(p), T(early), T(early[0]), T(q)]
# swapaxes, movedim, narrow, unfold, select
[T(m.movedim(0, 1)), T(x.narrow(0, 1, 2)), T(x.unfold(0, 2, 1)), T(m.select(1, 2))]
# write to an unfolded view's base
v = x.unfold(0, 2, 1)
x.mul_(2)
T(v)
"""),
)
def test_views_and_writes_are_pytorchs(source: str) -> None:
    same(inside(source))


# --- with reverse mode ----------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize(
    "source",
    blocks("""
# forward over reverse through autograd.grad
p = torch.tensor([1.0, 2.0], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
g, = torch.autograd.grad((y ** 3).sum(), y, create_graph=True)
[g, T(g)]
# with respect to the leaf
p = torch.tensor([1.0, 2.0], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
g, = torch.autograd.grad((y.sin() * y).sum(), p, create_graph=True)
[g, T(g)]
# of several inputs
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
u, v = fwAD.make_dual(a, torch.tensor(1.0)), fwAD.make_dual(b, torch.tensor(10.0))
g = torch.autograd.grad(u ** 2 * v ** 3, (u, v), create_graph=True)
[T(one) for one in g]
# the gradient that is given moves
p = torch.tensor([1.0, 2.0], requires_grad=True)
g = fwAD.make_dual(torch.ones(2), torch.tensor([1.0, 10.0]))
found, = torch.autograd.grad(p ** 2, p, g, create_graph=True)
[found, T(found)]
# the gradient that is given moves, and nothing is recorded
p = torch.tensor([1.0, 2.0], requires_grad=True)
g = fwAD.make_dual(torch.ones(2), torch.tensor([1.0, 10.0]))
found, = torch.autograd.grad(p ** 2, p, g)
[found, T(found)]
# of several outputs, one gradient moves
p = torch.tensor([1.0, 2.0], requires_grad=True)
g = fwAD.make_dual(torch.ones(2), torch.tensor([1.0, 10.0]))
found, = torch.autograd.grad([p ** 2, p ** 3], p, [torch.ones(2), g])
[found, T(found)]
# a batch of gradients moves
p = torch.tensor([1.0, 2.0], requires_grad=True)
g = fwAD.make_dual(torch.eye(2), torch.tensor([[1.0, 10.0], [100.0, 1000.0]]))
found, = torch.autograd.grad(p ** 2, p, g, is_grads_batched=True)
[found, T(found)]
# a node called by hand, its gradient moves
p = torch.tensor([1.0, 2.0], requires_grad=True)
g = fwAD.make_dual(torch.ones(2), torch.tensor([1.0, 10.0]))
y = p * p
with torch.no_grad():
    found = y.grad_fn(g)[0]
[found, T(found)]
# reverse over forward
p = torch.tensor([1.0, 2.0], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
torch.autograd.grad(T((y ** 3).sum()), p)[0]
# reverse over forward over reverse
p = torch.tensor([1.0, 2.0], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
g, = torch.autograd.grad((y ** 4).sum(), y, create_graph=True)
torch.autograd.grad(T(g).sum(), p)[0]
# with respect to a parameter that does not move
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
out = (w * y * y).sum()
g, = torch.autograd.grad(out, w, create_graph=True)
[g, T(g)]
# tangent of a gradient through saved results
p = torch.tensor([0.1, 0.2], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
g, = torch.autograd.grad(y.exp().tanh().sum(), y, create_graph=True)
T(g)
# through a view and a write in place
p = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0, 100.0])) * 1
y[:2].mul_(y[1:] ** 2)
g, = torch.autograd.grad((y * y).sum(), p, create_graph=True)
[g, T(g)]
# matrix products, indexing, reductions
p = torch.arange(6.0).reshape(2, 3).requires_grad_()
y = fwAD.make_dual(p, torch.ones(2, 3) * 0.5)
out = (y @ y.t()).prod() + y[:, [0, 2]].logsumexp(0).sum() + y.var()
g, = torch.autograd.grad(out, y, create_graph=True)
[T(out), g, T(g)]
# checkpoint under forward mode
from importlib import import_module
checkpoint = torch.utils.checkpoint.checkpoint
p = torch.tensor([0.1, 0.2], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
out = checkpoint(lambda t: t.sin() * t, y, use_reentrant=False)
[out, T(out)]
# gradients through a checkpoint under forward mode
checkpoint = torch.utils.checkpoint.checkpoint
p = torch.tensor([0.1, 0.2], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
out = checkpoint(lambda t: t.sin() * t, y, use_reentrant=False)
g, = torch.autograd.grad(out.sum(), p)
g
# the gradient of a tangent through a checkpoint
checkpoint = torch.utils.checkpoint.checkpoint
p = torch.tensor([0.1, 0.2], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
out = checkpoint(lambda t: t.sin() * t, y, use_reentrant=False)
torch.autograd.grad(T(out).sum(), p)[0]
# saved-tensor hooks
packed = []
p = torch.tensor([0.1, 0.2], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
    out = (y.exp() * y).sum()
g, = torch.autograd.grad(out, y, create_graph=True)
[len(packed) > 0, g]
# save_on_cpu
p = torch.tensor([0.1, 0.2], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
with torch.autograd.graph.save_on_cpu():
    out = (y * y).sum()
torch.autograd.grad(out, p)[0]
# a hook on a tensor with a tangent sees the gradient's
p = torch.tensor([1.0, 2.0], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
seen = []
y.register_hook(lambda g: seen.append((g, T(g))) or None)
torch.autograd.grad((y ** 3).sum(), p, create_graph=True)
seen
# backward with create_graph
p = torch.tensor([1.0, 2.0], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
(y ** 3).sum().backward(create_graph=True)
[p.grad, T(p.grad)]
# double backward beside tangents
p = torch.tensor([1.0, 2.0], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
g, = torch.autograd.grad((y ** 3).sum(), y, create_graph=True)
h, = torch.autograd.grad(g.sum(), y, create_graph=True)
[h, T(h)]
# complex, forward over reverse
p = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
z = fwAD.make_dual(p, torch.tensor([1j, 2 + 1j]))
g, = torch.autograd.grad((z * z.conj() * z).abs().sum(), z, create_graph=True)
[g, T(g)]
# functional.jacobian inside a level does not see the tangent
torch.autograd.functional.jacobian(lambda t: t * t, P(x))
"""),
)
def test_mixtures_with_reverse_mode_are_pytorchs(source: str) -> None:
    same(inside(source))


# --- custom Functions -----------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize(
    "source",
    blocks("""
# a jvp with save_for_forward
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g
    @staticmethod
    def jvp(ctx, t):
        return 3 * ctx.saved_tensors[0] ** 2 * t
y = Cube.apply(x)
[y, T(y)]
# both modes through one Function
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g
    @staticmethod
    def jvp(ctx, t):
        return 3 * ctx.saved_tensors[0] ** 2 * t
p = torch.tensor([1.0, 2.0], requires_grad=True)
y = fwAD.make_dual(p, torch.tensor([1.0, 10.0]))
out = Cube.apply(y)
g, = torch.autograd.grad(out.sum(), y, create_graph=True)
[T(out), g, T(g), torch.autograd.grad(T(out).sum(), p)[0]]
# setup_context
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(x, k):
        return x * k
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]
    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None
    @staticmethod
    def jvp(ctx, t, nothing):
        assert nothing is None
        return t * ctx.k
T(Twice.apply(x, 5.0))
# arguments without tangents are materialised
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y
    @staticmethod
    def jvp(ctx, t, u):
        return t + u * 10
T(Sum.apply(x, torch.ones(3)))
# and not, if they need not be
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x + y
    @staticmethod
    def jvp(ctx, t, u):
        assert u is None
        return t
T(Sum.apply(x, torch.ones(3)))
# no tangent, no jvp
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def jvp(ctx, t):
        raise KeyError("called")
y = Broken.apply(torch.ones(3))
[y, T(y)]
# an error in jvp comes through
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def jvp(ctx, t):
        raise KeyError("called")
Broken.apply(x)
# too many results of jvp
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def jvp(ctx, t):
        return t, t
Broken.apply(x)
# jvp returns no tensor
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def jvp(ctx, t):
        return 3.0
Broken.apply(x)
# jvp returns another shape
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def jvp(ctx, t):
        return t[:2].clone()
Broken.apply(x)
# several results, one not differentiable
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        a, b = x * 2, (x > 1).to(torch.float32)
        ctx.mark_non_differentiable(b)
        return a, b
    @staticmethod
    def jvp(ctx, t):
        return t * 2, None
[T(one) for one in Two.apply(x)]
# a tangent for what is not differentiable
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b
    @staticmethod
    def jvp(ctx, t):
        return t * 2, t * 3
Two.apply(x)
# a written argument
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 2
    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2)
y = Double.apply(x)
[y is x, x, T(x)]
# a written view
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 2
    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2)
v = x[:2]
Double.apply(v)
[x, T(x), T(v)]
# a view is returned
class First(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.narrow(0, 0, 2)
    @staticmethod
    def jvp(ctx, t):
        return t.narrow(0, 0, 2)
y = First.apply(x)
[y, T(y)]
# a view is returned, and a tangent that is none
class First(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.narrow(0, 0, 2)
    @staticmethod
    def jvp(ctx, t):
        return t.narrow(0, 0, 2).clone()
First.apply(x)
# the argument itself is returned
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def jvp(ctx, t):
        return t.view_as(t)
y = Same.apply(x)
[y, T(y)]
# no tangents inside forward
class Look(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.seen = T(x)
        return x * 2
    @staticmethod
    def jvp(ctx, t):
        assert ctx.seen is None
        return t * 2
T(Look.apply(x))
# an attribute on ctx from forward is there in jvp
class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        ctx.x = x.detach()
        return x ** n
    @staticmethod
    def jvp(ctx, t, _):
        return ctx.n * ctx.x ** (ctx.n - 1) * t
T(Power.apply(x, 3))
# complex
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_forward(z)
        return z * z
    @staticmethod
    def jvp(ctx, t):
        return 2 * ctx.saved_tensors[0] * t
z = fwAD.make_dual(torch.tensor([1 + 2j]), torch.tensor([3 + 4j]))
T(Square.apply(z))
# needs_input_grad
class Ask(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.asked = ctx.needs_input_grad
        return x + y
    @staticmethod
    def jvp(ctx, t, u):
        return t + u
y = Ask.apply(x, torch.ones(3, requires_grad=True))
[T(y), y.requires_grad]
"""),
)
def test_custom_functions_are_pytorchs(source: str) -> None:
    same(inside(source))


def tangent(x: Any, level: int | None = None) -> Any:
    return fwAD.unpack_dual(x, level=level).tangent


def dual(value: Any, t: Any, level: int | None = None, **options: Any) -> Any:
    return fwAD.make_dual(dt.tensor(value, **options), dt.tensor(t, dtype=options.get("dtype")), level=level)


class TestFunctionsBeyondPyTorch:
    def test_a_tangent_that_jvp_returns_as_it_came_is_copied(self) -> None:
        class Scale(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1

            @staticmethod
            def jvp(ctx: Any, t: Any) -> Any:
                return t

        with fwAD.dual_level():
            x = dual([1.0, 2.0], [0.5, 0.25])
            y = Scale.apply(x)
            y.mul_(4)
            assert tangent(y).tolist() == [2.0, 1.0] and tangent(x).tolist() == [0.5, 0.25]

    def test_a_jvp_that_returns_none_gives_no_tangent(self) -> None:
        class Still(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1

            @staticmethod
            def jvp(ctx: Any, t: Any) -> Any:
                return None

        with fwAD.dual_level():
            assert tangent(Still.apply(dual([1.0], [1.0]))) is None

    def test_the_tangent_of_a_written_argument_may_be_made_anew(self) -> None:
        class Double(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def jvp(ctx: Any, t: Any) -> Any:
                return t * 2

        with fwAD.dual_level():
            x = dual([1.0, 2.0], [0.5, 0.25])
            view = x[1:]
            Double.apply(x)
            assert tangent(x).tolist() == [1.0, 0.5] and tangent(view).tolist() == [0.5]

    def test_a_jvp_runs_at_every_level(self) -> None:
        class Cube(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_forward(x)
                return x**3

            @staticmethod
            def jvp(ctx: Any, t: Any) -> Any:
                (x,) = ctx.saved_tensors
                return 3 * x**2 * t

        with fwAD.dual_level(), fwAD.dual_level():
            x = fwAD.make_dual(dual(2.0, 1.0, level=0), dt.tensor(1.0))
            y = Cube.apply(x)
            assert tangent(y).item() == 12 and tangent(y, 0).item() == 12 and tangent(tangent(y), 0).item() == 12  # 6 x


class Cube(dt.autograd.Function):
    """No jvp: its tangent comes from its backward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


class TestFunctionsWithoutJvp:
    def test_the_tangent_is_derived_from_backward(self) -> None:
        with fwAD.dual_level():
            assert tangent(Cube.apply(dual([1.0, 2.0], [1.0, 10.0]))).tolist() == [3.0, 120.0]

    def test_the_second_derivative_too(self) -> None:
        with fwAD.dual_level(), fwAD.dual_level():
            x = fwAD.make_dual(dual([1.0, 2.0], [1.0, 10.0], level=0), dt.tensor([1.0, 1.0]))
            y = Cube.apply(x)
            assert tangent(tangent(y), 0).tolist() == [6.0, 120.0]

    def test_forward_over_reverse_and_reverse_over_forward(self) -> None:
        p = dt.tensor([1.0, 2.0], requires_grad=True)
        with fwAD.dual_level():
            x = fwAD.make_dual(p, dt.tensor([1.0, 10.0]))
            y = Cube.apply(x)
            (g,) = dt.autograd.grad(y.sum(), x, retain_graph=True)
            assert tangent(g).tolist() == [6.0, 120.0]
            assert dt.autograd.grad(tangent(y).sum(), p)[0].tolist() == [6.0, 120.0]

    def test_several_arguments_and_results(self) -> None:
        class Polar(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, r: Any, phi: Any, label: str) -> Any:
                assert label == "polar"
                ctx.save_for_backward(r, phi)
                return r * phi.cos(), r * phi.sin()

            @staticmethod
            def backward(ctx: Any, gx: Any, gy: Any) -> Any:
                r, phi = ctx.saved_tensors
                return gx * phi.cos() + gy * phi.sin(), r * (gy * phi.cos() - gx * phi.sin()), None

        r, phi = 2.0, 0.3
        with fwAD.dual_level():
            x, y = Polar.apply(dual(r, 1.0, dtype=dt.float64), dual(phi, 10.0, dtype=dt.float64), "polar")
            np.testing.assert_allclose(tangent(x).item(), np.cos(phi) - 10 * r * np.sin(phi), rtol=1e-12)
            np.testing.assert_allclose(tangent(y).item(), np.sin(phi) + 10 * r * np.cos(phi), rtol=1e-12)
            x, y = Polar.apply(dt.tensor(r, dtype=dt.float64), dual(phi, 10.0, dtype=dt.float64), "polar")
            np.testing.assert_allclose(tangent(x).item(), -10 * r * np.sin(phi), rtol=1e-12)

    def test_complex(self) -> None:
        class Times(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, z: Any) -> Any:
                ctx.save_for_backward(z)
                return z * z.conj() * z

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (z,) = ctx.saved_tensors
                return 2 * g * z * z.conj() + g.conj() * z * z

        with fwAD.dual_level():
            z = dual([1 + 2j, 0.5 - 1j], [1j, 2 + 1j])
            np.testing.assert_allclose(tangent(Times.apply(z)).numpy(), tangent(z * z.conj() * z).numpy(), rtol=1e-6)

    def test_a_backward_that_may_run_once_is_refused(self) -> None:
        class Once(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            @once_differentiable
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        with (
            fwAD.dual_level(),
            pytest.raises(NotImplementedError, match="You must implement the jvp function.*Once.*once_differentiable"),
        ):
            Once.apply(dual([1.0], [1.0]))

    def test_a_backward_in_numpy_is_refused(self) -> None:
        class Foreign(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return dt.tensor(g.detach().numpy() * 2)

        with (
            fwAD.dual_level(),
            pytest.raises(
                NotImplementedError, match="You must implement the jvp function.*Foreign.*differentiable operations"
            ),
        ):
            Foreign.apply(dual([1.0], [1.0]))

    def test_a_function_without_either_is_refused(self) -> None:
        class Nothing(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

        with fwAD.dual_level(), pytest.raises(NotImplementedError, match="implement"):
            Nothing.apply(dual([1.0], [1.0]))

    def test_a_backward_of_none_gives_no_tangent(self) -> None:
        class Floor(dt.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.floor()

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return None

        with fwAD.dual_level():
            assert tangent(Floor.apply(dual([1.5], [1.0]))) is None


# --- levels ---------------------------------------------------------------------------------------


class TestLevels:
    def test_tangents_are_gone_at_the_end(self) -> None:
        with fwAD.dual_level():
            x = dual([1.0], [1.0])
            y, view = x * 2, x[:]
        with fwAD.dual_level():
            for one in (x, y, view, y * 2):
                assert tangent(one) is None

    def test_also_if_the_block_raises(self) -> None:
        with pytest.raises(KeyError), fwAD.dual_level():
            x = dual([1.0], [1.0])
            raise KeyError
        with fwAD.dual_level() as level:
            assert level == 0 and tangent(x) is None

    def test_no_level_no_dual(self) -> None:
        with pytest.raises(RuntimeError, match="no level exists"):
            fwAD.make_dual(dt.ones(1), dt.ones(1))
        x = dt.ones(1)
        assert fwAD.unpack_dual(x).tangent is None and fwAD.unpack_dual(x).primal is x

    def test_numbers_and_order(self) -> None:
        with pytest.raises(RuntimeError, match="no level is open"):
            fwAD.exit_dual_level()
        first = fwAD.enter_dual_level()
        second = fwAD.enter_dual_level()
        assert (first, second) == (0, 1)
        with pytest.raises(RuntimeError, match="not the last one that was created"):
            fwAD.exit_dual_level(level=first)
        fwAD.exit_dual_level(level=second)
        fwAD.exit_dual_level()
        with pytest.raises(RuntimeError, match="no level is open"):
            fwAD.exit_dual_level()

    def test_invalid_levels_are_refused(self) -> None:
        with fwAD.dual_level():
            with pytest.raises(RuntimeError, match="Invalid level"):
                fwAD.make_dual(dt.ones(1), dt.ones(1), level=1)
            with pytest.raises(RuntimeError, match="Invalid level"):
                fwAD.unpack_dual(dt.ones(1), level=1)

    def test_a_level_left_open_inside_a_block_ends_with_it(self) -> None:
        with fwAD.dual_level():
            x = dual(2.0, 1.0)
            fwAD.enter_dual_level()
            y = fwAD.make_dual(x, dt.tensor(1.0)) ** 2
        with fwAD.dual_level() as level:
            assert level == 0 and tangent(y) is None and tangent(x) is None

    def test_a_block_s_level_closed_early_is_closed(self) -> None:
        with fwAD.dual_level():
            x = dual(2.0, 1.0)
            fwAD.exit_dual_level()
            assert tangent(x) is None
            assert tangent(x * 3) is None
        with fwAD.dual_level() as level:
            assert level == 0

    def test_one_manager_may_be_entered_twice(self) -> None:
        manager = fwAD.dual_level()
        for _ in range(2):
            with manager:
                x = dual(2.0, 1.0)
                with manager:
                    assert tangent(fwAD.make_dual(x, dt.tensor(1.0)) ** 2).item() == 4
                assert tangent(x**2).item() == 4
            with fwAD.dual_level():
                assert tangent(x) is None

    def test_wrong_arguments_are_refused(self) -> None:
        with fwAD.dual_level():
            with pytest.raises(TypeError, match="expected primal to be a Tensor"):
                fwAD.make_dual(3.0, dt.ones(1))  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="expected tangent to be a Tensor"):
                fwAD.make_dual(dt.ones(1), None)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="expected a Tensor"):
                fwAD.unpack_dual(3.0)  # type: ignore[arg-type]
            with pytest.raises(RuntimeError, match="both are real or both are complex"):
                fwAD.make_dual(dt.ones(1), dt.ones(1, dtype=dt.complex64))
            with pytest.raises(ValueError, match="floating point or complex"):
                fwAD.make_dual(dt.tensor([1]), dt.ones(1))

    def test_a_refused_dual_changes_nothing(self) -> None:
        with fwAD.dual_level():
            x, t = dt.ones(2), dt.ones(3)
            with pytest.raises(RuntimeError, match="different size"):
                fwAD.make_dual(x, t)
            assert tangent(x) is None and x._version == 0
            y = fwAD.make_dual(x, dt.ones(2))
            with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
                fwAD.make_dual(y, dt.ones(2))
            assert tangent(y).tolist() == [1.0, 1.0]

    def test_a_failing_op_leaves_the_tangents_as_they_were(self) -> None:
        with fwAD.dual_level():
            x = dual([1.0, 2.0], [1.0, 2.0])
            for bad in (
                lambda: x.add_(dt.ones(3)),
                lambda: x.copy_(dt.ones(3)),
                lambda: x[:1].mul_(dt.ones(2)),
                lambda: x.__setitem__(5, 1.0),
            ):
                with pytest.raises((RuntimeError, IndexError)):
                    bad()
            assert x.tolist() == [1.0, 2.0] and tangent(x).tolist() == [1.0, 2.0]

    def test_levels_belong_to_a_thread(self) -> None:
        seen: list = []

        def elsewhere(x: Any) -> None:
            seen.append(fwAD.unpack_dual(x).tangent)
            with fwAD.dual_level() as level:
                seen.append((level, tangent(x), tangent(dual(3.0, 1.0) ** 2).item()))

        with fwAD.dual_level():
            x = dual(2.0, 1.0)
            thread = threading.Thread(target=elsewhere, args=(x,))
            thread.start()
            thread.join()
            assert tangent(x).item() == 1
        assert seen == [None, (0, None, 6.0)]

    def test_many_threads_at_once(self) -> None:
        wrong: list = []

        def work(k: int) -> None:
            for _ in range(50):
                with fwAD.dual_level():
                    x = dual(float(k), 1.0)
                    if tangent(x * x * x).item() != 3.0 * k * k:
                        wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    def test_a_decorated_generator_has_a_level_from_one_yield_to_the_next(self) -> None:
        @fwAD.dual_level()
        def slopes() -> Iterator[Any]:
            x = dual(2.0, 1.0)
            yield tangent(x**2).item()
            assert tangent(x) is None  # the caller's code ran outside
            yield tangent(dual(2.0, 1.0) ** 3).item()

        generator = slopes()
        assert next(generator) == 4
        assert not dt.modes.current().levels
        with fwAD.dual_level():
            assert tangent(dual(1.0, 5.0)).item() == 5
            assert next(generator) == 12
            assert len(dt.modes.current().levels) == 1
        assert list(generator) == []

    def test_a_decorated_function_and_coroutine(self) -> None:
        @fwAD.dual_level()
        def slope(x: float) -> float:
            return tangent(dual(x, 1.0) ** 2).item()

        @fwAD.dual_level()
        async def later(x: float) -> float:
            y = dual(x, 1.0)
            await asyncio.sleep(0)
            return tangent(y**2).item()

        async def both() -> list:
            return list(await asyncio.gather(later(3.0), later(5.0)))

        assert slope(4.0) == 8
        assert asyncio.run(both()) == [6.0, 10.0]
        assert not dt.modes.current().levels

    def test_printing(self) -> None:
        p = dt.tensor([1.0, 2.0], requires_grad=True)
        with fwAD.dual_level():
            x = fwAD.make_dual(p, dt.tensor([3.0, 4.0]))
            assert repr(x * 2).startswith("tensor([2., 4.], ") and repr(x * 2).endswith("tangent=tensor([6., 8.]))")
            with fwAD.set_fwd_grad_enabled(False):
                assert "tangent" not in repr(x)
        assert "tangent" not in repr(x)

    def test_the_switch(self) -> None:
        assert fwAD.is_fwd_grad_enabled()
        with fwAD.set_fwd_grad_enabled(False):
            assert not fwAD.is_fwd_grad_enabled()
            with fwAD.dual_level():
                x = dual(2.0, 1.0)
                assert tangent(x) is None
        with dt.inference_mode():
            assert not fwAD.is_fwd_grad_enabled()
        with dt.no_grad():
            assert fwAD.is_fwd_grad_enabled()
        assert fwAD.is_fwd_grad_enabled()


# --- nested levels --------------------------------------------------------------------------------


class TestNestedLevels:
    def test_the_mixed_second_derivative(self) -> None:
        with fwAD.dual_level():
            x, y = dual(2.0, 1.0), dt.tensor(3.0)
            with fwAD.dual_level():
                u = fwAD.make_dual(y, dt.tensor(1.0))
                z = x**2 * u**3
                assert tangent(z, 0).item() == 2 * 2 * 27 and tangent(z).item() == 4 * 27
                assert tangent(tangent(z), 0).item() == 2 * 2 * 27
                assert tangent(tangent(z, 0), 1).item() == 2 * 2 * 27
            assert tangent(z).item() == 2 * 2 * 27  # of the older level

    def test_three_levels_give_the_third_derivative(self) -> None:
        with fwAD.dual_level(), fwAD.dual_level(), fwAD.dual_level():
            x = dual(2.0, 1.0, level=0)
            x = fwAD.make_dual(fwAD.make_dual(x, dt.tensor(1.0), level=1), dt.tensor(1.0), level=2)
            y = x**5
            found = y
            for level in (2, 1, 0):
                found = tangent(found, level)
            assert found.item() == 60 * 4
            found = y
            for level in (0, 1, 2):
                found = tangent(found, level)
            assert found.item() == 60 * 4

    def test_an_older_level_may_be_given_a_tangent_after_a_newer(self) -> None:
        with fwAD.dual_level(), fwAD.dual_level():
            x = fwAD.make_dual(dual(2.0, 1.0, level=1), dt.tensor(10.0), level=0)
            y = x**3
            assert (
                tangent(y, 0).item() == 120 and tangent(y, 1).item() == 12 and tangent(tangent(y, 1), 0).item() == 120
            )

    def test_unpacking_an_older_level_keeps_the_newer(self) -> None:
        with fwAD.dual_level(), fwAD.dual_level():
            y = fwAD.make_dual(dual(2.0, 1.0, level=0), dt.tensor(1.0), level=1) ** 3
            primal, slope = fwAD.unpack_dual(y, level=0)
            assert tangent(primal, 0) is None and tangent(primal, 1).item() == 12 and tangent(slope, 1).item() == 12

    def test_perturbations_are_not_confused(self) -> None:
        def derivative(f: Any, x: Any) -> Any:
            with fwAD.dual_level():
                found = tangent(f(fwAD.make_dual(x, dt.ones_like(x))))
                return dt.zeros_like(x) if found is None else found.clone()

        x = dt.tensor(3.0)
        # d/dx (x * d/dy (x + y)) = 1, and not 2
        assert derivative(lambda x: x * derivative(lambda y: x + y, dt.tensor(1.0)), x).item() == 1
        # d/dx (x * d/dy (x y)) = 2 x
        assert derivative(lambda x: x * derivative(lambda y: x * y, dt.tensor(1.0)), x).item() == 6
        # d/dx d/dy (x^2 y^3) at y = x
        assert derivative(lambda x: derivative(lambda y: x**2 * y**3, x), x).item() == 2 * 3 * 3 * 9 + 9 * 6 * 3
        # a constant inside
        assert derivative(lambda x: derivative(lambda y: x * 1.0, dt.tensor(1.0)) + x, x).item() == 1

    def test_a_tangent_that_moves_itself(self) -> None:
        with fwAD.dual_level():
            direction = dual(1.0, 1.0)
            with fwAD.dual_level():
                y = fwAD.make_dual(dt.tensor(2.0), direction) ** 2
                assert tangent(y).item() == 4 and tangent(tangent(y), 0).item() == 4 and tangent(y, 0).item() == 0

    def test_writes_in_place_at_both_levels(self) -> None:
        with fwAD.dual_level(), fwAD.dual_level():
            x = fwAD.make_dual(dual([2.0, 3.0], [1.0, 1.0], level=0), dt.tensor([1.0, 1.0]), level=1)
            y = x * 1
            y[:1].mul_(x[1:])
            y.mul_(y)
            expected = (dt.stack([x[0] * x[1], x[1]])) ** 2
            for route in ((0,), (1,), (1, 0), (0, 1)):
                ours, theirs = y, expected
                for level in route:
                    ours, theirs = tangent(ours, level), tangent(theirs, level)
                assert ours.tolist() == theirs.tolist(), route

    def test_forward_over_forward_over_reverse(self) -> None:
        p = dt.tensor([1.0, 2.0], requires_grad=True)
        with fwAD.dual_level(), fwAD.dual_level():
            x = fwAD.make_dual(fwAD.make_dual(p, dt.ones(2), level=0), dt.ones(2), level=1)
            (g,) = dt.autograd.grad((x**4).sum(), x)
            assert tangent(tangent(g), 0).tolist() == [24.0, 48.0]


# --- tangents beside graphs -----------------------------------------------------------------------


class TestBesideGraphs:
    def test_gradients_have_tangents_without_create_graph_too(self) -> None:
        p = dt.tensor([1.0, 2.0], requires_grad=True)
        with fwAD.dual_level():
            x = fwAD.make_dual(p, dt.tensor([1.0, 10.0]))
            (g,) = dt.autograd.grad((x**3).sum(), p)
            assert tangent(g).tolist() == [6.0, 120.0] and not g.requires_grad

    def test_backward_leaves_them_in_grad_until_the_level_ends(self) -> None:
        p = dt.tensor([1.0, 2.0], requires_grad=True)
        with fwAD.dual_level():
            x = fwAD.make_dual(p, dt.tensor([1.0, 10.0]))
            (x**3).sum().backward()
            (x**2).sum().backward()
            assert p.grad.tolist() == [5.0, 16.0] and tangent(p.grad).tolist() == [8.0, 140.0]
        with fwAD.dual_level():
            assert tangent(p.grad) is None

    def test_saved_tensors_lose_theirs_when_the_level_ends(self) -> None:
        p = dt.tensor([1.0, 2.0], requires_grad=True)
        with fwAD.dual_level():
            y = (fwAD.make_dual(p, dt.tensor([1.0, 10.0])).exp() ** 2).sum()
        with fwAD.dual_level():
            (g,) = dt.autograd.grad(y, p)
            assert tangent(g) is None

    def test_saved_tensors_keep_theirs_through_hooks(self) -> None:
        def hessian_product(context: Any) -> list:
            p = dt.tensor([0.1, 0.2], requires_grad=True)
            with fwAD.dual_level():
                x = fwAD.make_dual(p, dt.tensor([1.0, 10.0]))
                with context:
                    y = (x.exp() * x.sin()).tanh().sum()
                return tangent(dt.autograd.grad(y, p)[0]).tolist()

        import contextlib

        expected = hessian_product(contextlib.nullcontext())
        for context in (
            dt.autograd.graph.save_on_cpu(),
            dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
            dt.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), dt.tensor),
        ):
            assert hessian_product(context) == expected

    def test_a_checkpoint_gives_first_and_second_derivatives(self) -> None:
        checkpoint = dt.utils.checkpoint.checkpoint

        def found(run: Any) -> list:
            p = dt.tensor([0.3, 0.7], dtype=dt.float64, requires_grad=True)
            with fwAD.dual_level():
                x = fwAD.make_dual(p, dt.tensor([1.0, 10.0], dtype=dt.float64))
                y = run(lambda x: x.sin() * x.exp(), x)
                (g,) = dt.autograd.grad(y.sum(), p, retain_graph=True)
                (h,) = dt.autograd.grad(tangent(y).sum(), p, retain_graph=True)
                return [y.tolist(), tangent(y).tolist(), g.tolist(), tangent(g).tolist(), h.tolist()]

        plain = found(lambda f, x: f(x))
        np.testing.assert_allclose(found(lambda f, x: checkpoint(f, x, use_reentrant=False)), plain, rtol=1e-12)

    def test_a_checkpointed_backward_after_the_level_has_ended(self) -> None:
        p = dt.tensor([0.3, 0.7], requires_grad=True)
        with fwAD.dual_level():
            y = dt.utils.checkpoint.checkpoint(
                lambda x: x.sin() * x, fwAD.make_dual(p, dt.ones(2)), use_reentrant=False
            )
        y.sum().backward()
        np.testing.assert_allclose(
            p.grad.numpy(), np.sin(p.detach().numpy()) + p.detach().numpy() * np.cos(p.detach().numpy()), rtol=1e-6
        )

    def test_a_hook_may_change_a_gradient_and_its_tangent(self) -> None:
        p = dt.tensor([1.0, 2.0], requires_grad=True)
        with fwAD.dual_level():
            x = fwAD.make_dual(p, dt.tensor([1.0, 10.0]))
            x.register_hook(lambda g: g * 2)
            (g,) = dt.autograd.grad((x**3).sum(), p)
            assert g.tolist() == [6.0, 24.0] and tangent(g).tolist() == [12.0, 240.0]

    def test_tangents_have_the_dtype_of_what_they_belong_to(self) -> None:
        with fwAD.dual_level():
            x = fwAD.make_dual(dt.ones(2), dt.ones(2, dtype=dt.float64))
            assert tangent(x * 2).dtype is dt.float32
            target = dt.zeros(2, dtype=dt.float64)
            target.copy_(x * 2)
            assert tangent(target).dtype is dt.float64

    def test_an_expanded_primal_has_a_tangent_of_its_own_for_each_element(self) -> None:
        with fwAD.dual_level():
            x = fwAD.make_dual(dt.ones(1).expand(3), dt.tensor([1.0, 2.0, 3.0]))
            assert tangent(x).tolist() == [1.0, 2.0, 3.0] and tangent(x * 2).tolist() == [2.0, 4.0, 6.0]

    def test_a_write_to_an_overlapping_part_of_the_same_tensor(self) -> None:
        with fwAD.dual_level():
            x = dual([1.0, 2.0, 3.0], [0.5, 1.0, 1.5])
            x[1:].mul_(x[:2])
            assert x.tolist() == [1.0, 2.0, 6.0] and tangent(x).tolist() == [0.5, 2.0, 6.0]

    def test_out_of_a_moving_tensor_is_refused_and_changes_nothing(self) -> None:
        with fwAD.dual_level():
            x, target = dual([1.0], [1.0]), dt.zeros(1)
            for bad in (
                lambda: dt.mul(x, 2, out=target),
                lambda: dt.mul(target, 2, out=x),
                lambda: dt.sin(target, out=x),
            ):
                with pytest.raises(RuntimeError, match="out="):
                    bad()
            assert target.tolist() == [0.0] and tangent(x).tolist() == [1.0] and tangent(target) is None


# --- nothing is kept alive ------------------------------------------------------------------------


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Without the garbage collector: what is alive is held by somebody."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
class TestNothingIsKeptAlive:
    def test_a_level_forgets_what_is_gone_and_finds_all_that_is_not(self) -> None:
        with fwAD.dual_level():
            (level,) = modes.current().levels
            y = dual([1.0], [1.0])
            kept = []
            for k in range(3000):
                y = y * 1.0
                if k % 20 == 0:
                    kept.append(y)
            assert len(level._held) < 1000
            assert all(tangent(one) is not None for one in kept)
        with fwAD.dual_level():
            assert all(tangent(one) is None for one in kept)
        assert not any(one._extra.tangents for one in kept)

    def test_a_tangent_goes_with_its_tensor(self) -> None:
        with fwAD.dual_level():
            x = dual([1.0], [1.0])
            y = x * 2
            ref = weakref.ref(tangent(y))
            assert ref() is not None
            del y
            assert ref() is None

    def test_all_go_with_the_level(self) -> None:
        refs = []
        p = dt.tensor([1.0], requires_grad=True)
        with fwAD.dual_level():
            x = fwAD.make_dual(p, dt.ones(1))
            y = (x.exp() * x)[:]
            (g,) = dt.autograd.grad(y.sum(), p, create_graph=True)
            refs = [weakref.ref(tangent(one)) for one in (x, y, g)]
        assert [ref() for ref in refs] == [None] * 3
        del x, y, g
        assert not any(type(thing) is ForwardLevel for thing in gc.get_objects())

    def test_a_level_that_is_left_by_an_exception_too(self) -> None:
        def fail() -> weakref.ref:
            with fwAD.dual_level():
                nonlocal ref
                x = dual([1.0], [1.0])
                ref = weakref.ref(tangent(x * x))
                raise KeyError

        ref: Any = None
        with pytest.raises(KeyError):
            fail()
        gc.collect()  # the traceback is a cycle of Python's
        assert ref() is None

    def test_a_custom_function_goes_too(self) -> None:
        p = dt.tensor([1.0], requires_grad=True)
        with fwAD.dual_level():
            y = Cube.apply(fwAD.make_dual(p, dt.ones(1)))
            refs = [weakref.ref(y), weakref.ref(tangent(y)), weakref.ref(y.grad_fn)]
            del y
            assert [ref() for ref in refs] == [None] * 3

    def test_views_do_not_keep_their_tangents(self) -> None:
        with fwAD.dual_level():
            x = dual([1.0, 2.0], [1.0, 2.0])
            view = x[:1]
            ref = weakref.ref(tangent(view))
            del view
            assert ref() is None


def test_a_gradient_that_moves_leaves_a_tangent_in_grad() -> None:
    p = dt.tensor([1.0, 2.0], requires_grad=True)
    with fwAD.dual_level():
        (p**2).backward(dual([1.0, 1.0], [1.0, 10.0]))
        assert tangent(p.grad).tolist() == [2.0, 40.0]


def test_the_tangent_of_a_row_beside_a_matrix_has_the_shape_of_the_matrix() -> None:
    with fwAD.dual_level():
        row = fwAD.make_dual(dt.ones(1, 3), dt.tensor([[1.0, 2.0, 3.0]]))
        for out in (row + dt.ones(2, 3), row * dt.ones(2, 3), dt.ones(2, 3) - row, row % dt.full((2, 3), 4.0)):
            tangent = fwAD.unpack_dual(out).tangent
            assert tangent.shape == out.shape and tangent.abs().tolist() == [[1.0, 2.0, 3.0]] * 2


# --- the fast path, and the cases it must leave to the reference path -------------------------------


def _directions(f: Any, x: dt.Tensor, directions: dt.Tensor, batched: bool) -> dt.Tensor:
    """The derivatives of ``f`` in several directions, one after the other or all at once."""
    one = lambda t: dt.func.jvp(f, (x,), (t,))[1]
    return dt.vmap(one)(directions) if batched else dt.stack([one(t) for t in directions])


QUICK = {
    "exp": dt.exp,
    "mul": lambda x: x * x,
    "a number": lambda x: 2.0 * x + 1,
    "a number to a power": lambda x: dt.pow(2.0, x),
    "matmul": lambda x: x @ x.t(),
    "sum": lambda x: x.sum(0),
    "softmax": lambda x: x.softmax(0),
    "a view": lambda x: x.t()[0],
}


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", QUICK)
def test_usual_calls_take_the_quick_way(name: str, dtype: str, batched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError("the whole way was taken")

    x = dt.ones(2, 2, dtype=getattr(dt, dtype))
    directions = dt.ones(3, 2, 2, dtype=x.dtype)
    monkeypatch.setattr(jvp, "_execute", refuse)
    monkeypatch.setattr(jvp, "propagate", refuse)
    found = _directions(QUICK[name], x, directions, batched)
    assert found.dtype is x.dtype


@pytest.mark.parametrize("f", [dt.exp, lambda x: x * dt.ones(2), lambda x: dt.dot(x, dt.ones(2))])
def test_a_tangent_that_is_a_view_of_what_came_to_require_grad_has_its_history(f: Any) -> None:
    w, base = dt.tensor([2.0, 3.0], requires_grad=True), dt.ones(2, 2)
    t = base[0]
    base.mul_(w)
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(f(fwAD.make_dual(dt.ones(2), t))).tangent
        (g,) = dt.autograd.grad(tangent.sum(), w)
    wanted = dt.func.grad(lambda w: dt.func.jvp(f, (dt.ones(2),), (w,))[1].sum())(w.detach())
    assert g.tolist() == wanted.tolist()


def test_a_profile_sees_ops_that_have_tangents_and_those_of_the_tangents() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(dt.ones(2), dt.ones(2))
        with dt.autograd.profiler.profile() as profile:
            x.exp()
    assert [event.name for event in profile.events()] == ["aten::exp", "aten::mul"]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    "copied",
    [
        dt.clone,
        lambda x: x + 1.0,
        lambda x: x - dt.ones(2, 2),
        lambda x: dt.ones(2, 2) + x,
        lambda x: x * 1,
        lambda x: dt.where(dt.ones(2, 2) > 0, x, x),
        lambda x: x.contiguous() + 0.0,
        lambda x: dt.cat([x]),
        lambda x: x.t().contiguous().t(),
        lambda x: dt.zeros(2, 2) + x[0],
        lambda x: dt.add(x[:, :1], dt.zeros(2, 2)),
        lambda x: dt.nn.functional.relu(x),
        lambda x: x.repeat(1, 1),
        lambda x: x.to(dt.float64).to(dt.float32),
        lambda x: dt.roll(x, 0),
        lambda x: x.mean(0) + dt.zeros(2, 2),
    ],
)
def test_the_tangent_of_a_result_is_in_memory_of_its_own(copied: Any, batched: bool) -> None:
    x = dt.ones(2, 2)
    directions = dt.arange(1.0, 13.0).reshape(3, 2, 2)

    def after_a_write(x: dt.Tensor) -> dt.Tensor:
        y = copied(x)
        y.mul_(3.0)
        y[0].mul_(2.0)
        return dt.stack([x, y])

    factor = dt.tensor([[6.0], [3.0]])
    wanted = _directions(lambda x: dt.stack([x, copied(x) * factor]), x, directions, False)
    assert _directions(after_a_write, x, directions, batched).tolist() == wanted.tolist()


@pytest.mark.parametrize("batched", [False, True])
def test_a_tangent_lies_as_its_value_does(batched: bool) -> None:
    x, c = dt.arange(6.0).reshape(2, 3), dt.ones(3, 2)
    for call in (lambda x: c + x.t(), lambda x: x.t() * c, lambda x: dt.where(c > 0, x.t(), c), lambda x: x.t().exp()):
        with fwAD.dual_level():

            def one(t: dt.Tensor, call: Any = call) -> dt.Tensor:
                out = call(fwAD.make_dual(x, t))
                value, tangent = fwAD.unpack_dual(out)
                assert value.stride() == tangent.stride()
                flat = out.view(6) if value.is_contiguous() else out.t().view(6)
                return fwAD.unpack_dual(flat).tangent

            found = dt.vmap(one)(dt.ones(2, 2, 3)) if batched else one(dt.ones(2, 3))
        assert found.shape[-1] == 6


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    "name", ["erf", "erfinv", "sinc", "log2", "log10", "exp2", "deg2rad", "lgamma", "digamma", "logit", "i0"]
)
def test_a_tangent_has_the_dtype_of_its_value(name: str, batched: bool) -> None:
    for call in (getattr(dt, name), lambda x: dt.special.ndtr(x), lambda x: dt.nn.functional.gelu(x)):
        found = _directions(call, dt.tensor([0.25, 0.5]), dt.ones(2, 2), batched)
        assert found.dtype is dt.float32


def test_complex_numbers_are_refused_inside_a_level_too() -> None:
    z = dt.tensor([1 + 2j, 0j])
    with fwAD.dual_level():
        for call in (lambda: dt.maximum(z, z), lambda: dt.minimum(z, z), lambda: z.sign(), lambda: dt.amax(z)):
            with pytest.raises((RuntimeError, TypeError)):
                call()


@pytest.mark.parametrize("recorded", [False, True])
def test_a_view_has_the_tangent_that_was_written_into_its_base(recorded: bool) -> None:
    b = dt.ones(2, 3)
    u, v = b[1], b[1]
    w = dt.tensor([1.0, 2.0, 3.0], requires_grad=recorded)
    with fwAD.dual_level():
        b.mul_(fwAD.make_dual(w, dt.tensor([4.0, 5.0, 6.0])))
        assert fwAD.unpack_dual(v * 2).tangent.tolist() == [8.0, 10.0, 12.0]
        assert fwAD.unpack_dual(u[1:]).tangent.tolist() == [5.0, 6.0]
        assert fwAD.unpack_dual(v.exp()).tangent is not None
        if recorded:
            assert dt.autograd.grad((v * v).sum(), w)[0].tolist() == [2.0, 4.0, 6.0]


def test_a_view_that_was_written_behind_its_back_has_its_history_inside_a_level() -> None:
    w = dt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = dt.ones(2, 3)
    v = b[1]
    b.mul_(w)
    with fwAD.dual_level():
        x = fwAD.make_dual(dt.ones(3), dt.ones(3))
        out = v * x
        assert out.requires_grad and fwAD.unpack_dual(out).tangent.tolist() == [1.0, 2.0, 3.0]
        assert dt.autograd.grad(fwAD.unpack_dual(out).tangent.sum(), w)[0].tolist() == [1.0, 1.0, 1.0]


def test_bits_that_are_read_as_another_dtype_have_no_tangent() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(dt.ones(2, dtype=dt.float64), dt.ones(2, dtype=dt.float64))
        assert fwAD.unpack_dual(x.view(dt.float32)).tangent is None


def test_a_mode_that_overrides_functions_is_asked_inside_a_level() -> None:
    asked: list = []

    class Mode(dt.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
            asked.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with fwAD.dual_level(), Mode():
        x = fwAD.make_dual(dt.ones(2), dt.ones(2))
        dt.mul(x, x)
        dt.exp(x)
    assert {"mul", "exp"} <= set(asked)


def test_hooks_see_what_is_saved_inside_a_level() -> None:
    seen: list = []
    x = dt.tensor([0.5, 2.0], requires_grad=True)
    with fwAD.dual_level():
        y = fwAD.make_dual(x, dt.ones(2))
        with dt.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
            z = (y * y).exp()
            dt.mul(y, 2.0)
        assert [0.5, 2.0] in seen and z.detach().tolist() in seen


def test_a_tangent_that_is_a_view_has_the_history_that_its_base_was_given() -> None:
    w = dt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = dt.ones(2, 3)
    t = b[0]
    with fwAD.dual_level():
        x = fwAD.make_dual(dt.ones(3), t)
        b.mul_(w)
        found = fwAD.unpack_dual(x * 2.0).tangent
        assert dt.autograd.grad(found.sum(), w)[0].tolist() == [2.0, 2.0, 2.0]
