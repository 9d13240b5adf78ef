"""Custom Functions: every program runs on dualtape and on PyTorch, and ends the same way."""

from __future__ import annotations

import gc
import weakref

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
Function = torch.autograd.Function
grad = torch.autograd.grad
def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype or torch.float64, requires_grad=True)
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__
def made(forward, backward=lambda ctx, *g: g[0], **more):
    return type("Mine", (Function,), dict(forward=staticmethod(forward), backward=staticmethod(backward), **{k: staticmethod(v) for k, v in more.items()}))
"""

PROGRAMS = """
# forward may compute with the arrays of what requires grad
def f(ctx, x):
    ctx.out = torch.from_numpy(np.exp(x.numpy()))
    return ctx.out
x = leaf(1., 2.)
y = made(f, lambda ctx, g: torch.from_numpy(g.numpy()) * ctx.out).apply(x)
y.sum().backward()
y, x.grad, kind(lambda: x.numpy())

# setup_context sees the arguments that were left out
seen = []
def setup(ctx, inputs, output):
    seen.append(len(inputs))
    ctx.k = inputs[1]
def b(ctx, g):
    seen.append(len(ctx.needs_input_grad))
    return g * ctx.k, None, None
x = leaf(1., 2.)
y = made(lambda x, k=3, m=2: x * k, b, setup_context=setup).apply(x)
y.sum().backward()
z = made(lambda x, k=3, m=2: x * k, b, setup_context=setup).apply(x, 4)
y, z.detach(), x.grad, list(seen), torch.func.grad(lambda x: made(lambda x, k=3, m=2: x * k, b, setup_context=setup).apply(x).sum())(x.detach())

# a default that is a tensor, and parameters that only have a name
def setup(ctx, inputs, output):
    ctx.k = inputs[1]
x = leaf(1., 2.)
made(lambda x, k=torch.ones(2): x * k, lambda ctx, g: (g * ctx.k, g), setup_context=setup).apply(x).sum().backward()
x.grad, kind(lambda: made(lambda x, *, k=2: x * k, setup_context=lambda *a: None).apply(x))

# the gradient of a number may be written to
log = []
def b(ctx, g):
    log.append((g.shape, g.dtype, g.numpy().shape))
    g.mul_(3)
    g[...] = g * 2
    return g
x = torch.tensor(2., requires_grad=True)
y = made(lambda ctx, x: x * 2, b).apply(x.sin())
(y * y).exp().backward()
x.grad, log

# save and use
def f(ctx, x):
    ctx.save_for_backward(x)
    return x ** 3
def b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * 3 * x ** 2
x = leaf(2., 3.)
y = made(f, b).apply(x)
y.sum().backward()
x.grad, y.grad_fn.name(), y.requires_grad, type(y.grad_fn).__name__, y.output_nr

# double backward
def f(ctx, x):
    ctx.save_for_backward(x)
    return x ** 3
def b(ctx, g):
    (x,) = ctx.saved_tensors
    return g * 3 * x ** 2
x = leaf(2., 3.)
(g,) = grad(made(f, b).apply(x).sum(), x, create_graph=True)
(h,) = grad(g.sum(), x, create_graph=True)
(k,) = grad(h.sum(), x)
g, h, k

# double backward through a saved output
def f(ctx, x):
    y = x.exp()
    ctx.save_for_backward(y)
    return y
def b(ctx, g):
    (y,) = ctx.saved_tensors
    return g * y
x = leaf(2., 3.)
(g,) = grad(made(f, b).apply(x).sum(), x, create_graph=True)
(h,) = grad(g.sum(), x)
g, h

# a saved intermediate is constant
def f(ctx, x):
    y = x.exp()
    ctx.save_for_backward(y)
    return y * 2
def b(ctx, g):
    (y,) = ctx.saved_tensors
    return g * y * 2, y.requires_grad
seen = []
def b(ctx, g):
    (y,) = ctx.saved_tensors
    seen.append((y.requires_grad, y.is_leaf))
    return g * y * 2
x = leaf(2., 3.)
(g,) = grad(made(f, b).apply(x).sum(), x, create_graph=True)
g, seen, kind(lambda: grad(g.sum(), x))

# None among saved
def f(ctx, x):
    ctx.save_for_backward(None, x, None)
    return x * 2
seen = []
def b(ctx, g):
    seen.append([t is None for t in ctx.saved_tensors])
    return g * 2
x = leaf(1.)
made(f, b).apply(x).backward()
seen, x.grad

# saving what is no tensor
def f(ctx, x):
    ctx.save_for_backward(3)
    return x * 2
made(f).apply(leaf(1.))

# saving twice keeps the last
def f(ctx, x, y):
    ctx.save_for_backward(x)
    ctx.save_for_backward(y)
    return x * 2
seen = []
def b(ctx, g):
    seen.append([t.tolist() for t in ctx.saved_tensors])
    return g, g
made(f, b).apply(leaf(1.), leaf(2.)).backward()
seen

# nothing saved
def f(ctx, x):
    return x * 2
seen = []
def b(ctx, g):
    seen.append(ctx.saved_tensors)
    return g
made(f, b).apply(leaf(1.)).backward()
seen

# the input as it is
def f(ctx, x):
    return x
x = leaf(1., 2.)
y = made(f, lambda ctx, g: g * 7).apply(x)
y.sum().backward()
y is x, y._is_view(), y._base is x, y.is_leaf, y.grad_fn.name(), x.is_leaf, x.grad, y._version

# writing in place to an input returned as it is
def f(ctx, x):
    return x
x = leaf(1., 2.).clone()
y = made(f).apply(x)
kind(lambda: y.mul_(2)), y._version, x._version

# an input returned as it is without grad
def f(ctx, x):
    return x
x = torch.tensor([1., 2.])
y = made(f).apply(x)
y is x, y._is_view(), y.requires_grad

# an input returned as it is under no_grad
def f(ctx, x):
    return x
x = leaf(1., 2.)
with torch.no_grad():
    y = made(f).apply(x)
y is x, y._is_view(), y.requires_grad, y.is_leaf

# a view of the input
def f(ctx, x):
    return x.view(-1)
x = leaf(1., 2.)
y = made(f).apply(x)
y.sum().backward()
y._is_view(), y._base is x, y.requires_grad, y.grad_fn.name(), x.grad, kind(lambda: y.mul_(2))

# a view of a non-leaf written in place
def f(ctx, x):
    return x[:1]
x = leaf(1., 2.).clone()
y = made(f, lambda ctx, g: torch.cat([g, g])).apply(x)
kind(lambda: y.mul_(2)), kind(lambda: x.mul_(2)), kind(lambda: y.grad_fn)

# a view of the input under no_grad written with grad
def f(ctx, x):
    return x[:1]
x = leaf(1., 2.).clone()
with torch.no_grad():
    y = made(f).apply(x)
y._is_view(), y.requires_grad, kind(lambda: y.mul_(2))

# a view of an input without grad
def f(ctx, x):
    return x[:1]
x = torch.tensor([1., 2.])
y = made(f).apply(x)
y._is_view(), y.requires_grad, kind(lambda: y.mul_(2)), x

# a view of one input while the other needs grad
def f(ctx, x, w):
    return x[:1]
x, w = torch.tensor([1., 2.]), leaf(3.)
y = made(f, lambda ctx, g: (None, g)).apply(x, w)
y._is_view(), y.requires_grad, kind(lambda: y.mul_(2))

# two outputs one of them a view
def f(ctx, x):
    return x[:1], x * 2
x = leaf(1., 2.).clone()
y, z = made(f, lambda ctx, g, h: h).apply(x)
y._is_view(), z._is_view(), kind(lambda: y.mul_(2)), kind(lambda: z.mul_(2))

# two outputs written in place
def f(ctx, x):
    return x * 3, x * 2
x = leaf(1., 2.).clone()
y, z = made(f, lambda ctx, g, h: g * 3 + h * 2).apply(x)
z.mul_(5)
(y + z).sum().backward()
y.output_nr, z.output_nr, z.grad_fn.name()

# a dirty input
def f(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x
w = leaf(1., 2.)
x = w.clone()
y = made(f, lambda ctx, g: g * 2).apply(x)
y.sum().backward()
y is x, x._version, x.grad_fn.name(), w.grad, x.is_leaf

# gradients in one list
log = []
def b(ctx, grads):
    log.append((type(grads).__name__, [None if g is None else g.tolist() for g in grads]))
    return grads.pop(0) * 2
x = leaf(1., 2.)
boxed = {"boxed_grads_call": True}
one = type("One", (made(lambda ctx, x: x * 2, b),), boxed)
two = type("Two", (made(lambda ctx, x: (x * 2, x * 3), b),), boxed)
def f(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2, x * 3
undefined = type("Undefined", (made(f, b),), boxed)
once = type("Once", (made(lambda ctx, x: x * 2, torch.autograd.function.once_differentiable(b)),), boxed)
for y in (one.apply(x), two.apply(x)[0], undefined.apply(x)[0], once.apply(x)):
    y.sum().backward()
(g,) = grad(one.apply(x * x).sum(), x, create_graph=True)
(h,) = grad(g.sum(), x)
log, x.grad, h

# gradients in one list, beside hooks
log = []
x = leaf(1., 2.)
y = type("One", (made(lambda ctx, x: x * 2, lambda ctx, grads: grads.pop() * 2),), {"boxed_grads_call": True}).apply(x)
y.grad_fn.register_hook(lambda inputs, outputs: log.append((inputs, outputs)))
y.sum().backward()
log, x.grad

# saved tensors that are given away
log = []
def f(ctx, x):
    ctx.save_for_backward(x.sin(), x)
    return x * 2
def b(ctx, g):
    s, x = ctx.saved_tensors
    log.append(kind(lambda: ctx.saved_tensors))
    return s * g
Clears = type("Clears", (made(f, b),), {"clear_saved_tensors_on_access": True})
x = leaf(1., 2.)
y = Clears.apply(x)
y.sum().backward(retain_graph=True)
z = Clears.apply(x)
read = z.grad_fn.saved_tensors
log, x.grad, kind(lambda: y.sum().backward()), kind(lambda: z.sum().backward()), read

# a tensor marked dirty that is no input
import warnings
def f(ctx, x):
    y = x * 2
    ctx.mark_dirty(y)
    return y
x = leaf(1., 2.)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = made(f, lambda ctx, g: g * 2).apply(x)
y.sum().backward()
[(w.category.__name__, "not an input" in str(w.message)) for w in caught], y, x.grad

# a dirty leaf
def f(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x
made(f).apply(leaf(1., 2.))

# a dirty leaf without grad
def f(ctx, x, w):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x
x, w = torch.ones(2, dtype=torch.float64), leaf(1., 2.)
y = made(f, lambda ctx, g: (g, g * 5)).apply(x, w)
y.sum().backward()
y is x, x.requires_grad, w.grad, x.grad_fn.name(), x._version

# a dirty input without any grad
def f(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x
x = torch.ones(2)
y = made(f).apply(x)
y is x, x._version, x.requires_grad, x

# a dirty view
def f(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x
w = leaf(1., 2., 3.)
base = w.clone()
x = base[1:]
y = made(f, lambda ctx, g: g * 2).apply(x)
base.sum().backward()
y is x, base._version, base.grad_fn.name().rsplit("::")[-1], w.grad, y.grad_fn.name(), base

# a dirty view of a leaf
def f(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x
w = leaf(1., 2., 3.)
made(f).apply(w[1:])

# a dirty view with two outputs
def f(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x, x.clone()
w = leaf(1., 2., 3.).clone()
made(f, lambda ctx, g, h: g).apply(w[1:])

# a dirty input not returned
def f(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x.clone()
made(f).apply(leaf(1., 2.).clone())

# marked dirty but no input
def f(ctx, x):
    y = x.clone()
    ctx.mark_dirty(y)
    return y
y = made(f).apply(leaf(1., 2.).clone())
y.requires_grad, y._version, y.grad_fn.name()

# written but not marked
def f(ctx, x):
    x.mul_(2)
    return x
x = leaf(1., 2.).clone()
y = made(f).apply(x)
y is x, x._version, x.grad_fn.name(), y.grad_fn.name()

# dirty, saved and returned
def f(ctx, x):
    x.exp_()
    ctx.mark_dirty(x)
    ctx.save_for_backward(x)
    return x
def b(ctx, g):
    (y,) = ctx.saved_tensors
    return g * y
w = leaf(1., 2.)
y = made(f, b).apply(w.clone())
(g,) = grad(y.sum(), w, create_graph=True)
(h,) = grad(g.sum(), w)
g, h

# the same output twice
def f(ctx, x):
    y = x * 2
    return y, y
x = leaf(1., 2.)
a, b_ = made(f, lambda ctx, g, h: g * 2 + h * 100).apply(x)
(a + 10 * b_).sum().backward()
a is b_, a.output_nr, b_.output_nr, x.grad

# the input twice
def f(ctx, x):
    return x, x
x = leaf(1., 2.)
a, b_ = made(f, lambda ctx, g, h: g * 2 + h * 100).apply(x)
(a + 10 * b_).sum().backward()
a is b_, a.output_nr, b_.output_nr, x.grad

# a dirty input twice
def f(ctx, x):
    ctx.mark_dirty(x.mul_(2))
    return x, x
x = leaf(1., 2.)
a, b_ = made(f, lambda ctx, g, h: g * 2 + h * 100).apply(x.clone())
(a + 10 * b_).sum().backward()
a is b_, a.output_nr, b_.output_nr, x.grad

# None as an output
def f(ctx, x):
    return x * 2, None
x = leaf(1., 2.)
seen = []
def b(ctx, g, h):
    seen.append(h is None)
    return g * 2
y, n = made(f, b).apply(x)
y.sum().backward()
n, x.grad, seen

# only None as an output
def f(ctx, x):
    return None
made(f).apply(leaf(1.))

# other things as outputs
def f(ctx, x):
    return x * 2, 3, "word", (1, 2)
x = leaf(1., 2.)
seen = []
def b(ctx, *g):
    seen.append([h is None for h in g])
    return g[0] * 2
out = made(f, b).apply(x)
out[0].sum().backward()
out[1:], x.grad, seen, out[0].output_nr

# a number between two tensors
def f(ctx, x):
    return x * 2, 3, x * 5
x = leaf(1., 2.)
seen = []
def b(ctx, *g):
    seen.append([h is None for h in g])
    return g[0] * 2 + g[2] * 5
out = made(f, b).apply(x)
(out[0] + out[2]).sum().backward()
out[1], x.grad, seen, out[2].output_nr

# an empty tuple of outputs
def f(ctx, x):
    return ()
made(f).apply(leaf(1.))

# a list of outputs
def f(ctx, x):
    return [x * 2, x]
kind(lambda: made(f).apply(torch.ones(1)))

# an integer output
def f(ctx, x):
    return x * 2, x.long()
x = leaf(1., 2.)
seen = []
def b(ctx, g, h):
    seen.append((h.dtype, h.tolist()))
    return g * 2
y, n = made(f, b).apply(x)
y.sum().backward()
n, n.requires_grad, n.is_leaf, seen, n.grad_fn is None

# only an integer output
def f(ctx, x):
    return x.long()
y = made(f).apply(leaf(1., 2.))
y.requires_grad, y.is_leaf

# non-differentiable
def f(ctx, x):
    a, b = x * 2, x * 3
    ctx.mark_non_differentiable(b)
    return a, b
x = leaf(1., 2.)
seen = []
def b(ctx, g, h):
    seen.append((h.dtype, h.tolist()))
    return g * 2
y, n = made(f, b).apply(x)
y.sum().backward()
n, n.requires_grad, n.is_leaf, seen

# a non-differentiable input returned
def f(ctx, x):
    ctx.mark_non_differentiable(x)
    return x
x = leaf(1., 2.)
y = made(f).apply(x)
y is x, y.requires_grad, y._is_view(), x.requires_grad

# a non-differentiable non-leaf input returned
def f(ctx, x):
    ctx.mark_non_differentiable(x)
    return x
x = leaf(1., 2.).clone()
y = made(f).apply(x)
y is x, y.requires_grad, y._is_view(), x.requires_grad

# non-differentiable and dirty
def f(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    ctx.mark_non_differentiable(x)
    return x
x = leaf(1., 2.).clone()
y = made(f).apply(x)
y is x, y.requires_grad

# materialised gradients
def f(ctx, x):
    return x * 2, x.sum()
x = leaf(1., 2.)
seen = []
def b(ctx, g, h):
    seen.append((g.tolist(), h.tolist()))
    return g * 2
y, n = made(f, b).apply(x)
n.backward()
seen, x.grad

# gradients not materialised
def f(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2, x.sum()
x = leaf(1., 2.)
seen = []
def b(ctx, g, h):
    seen.append((g is None, h.tolist()))
    return h.expand(2)
y, n = made(f, b).apply(x)
n.backward()
seen, x.grad

# all gradients undefined
def f(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2
seen = []
def b(ctx, g):
    seen.append(g is None)
    return None
def f2(ctx, x):
    return x * 2
x = leaf(1., 2.)
y = made(f2, lambda ctx, g: None).apply(made(f, b).apply(x))
y.sum().backward()
seen, x.grad

# needs_input_grad
seen = []
def f(ctx, x, n, y, z):
    seen.append(ctx.needs_input_grad)
    return x * y * z
def b(ctx, g):
    seen.append(ctx.needs_input_grad)
    return g, None, None, g
made(f, b).apply(leaf(1.), 3, torch.ones(1), leaf(2.)).backward()
seen

# needs_input_grad under no_grad
seen = []
def f(ctx, x, y):
    seen.append(ctx.needs_input_grad)
    return x * y
with torch.no_grad():
    z = made(f).apply(leaf(1.), torch.ones(1))
seen, z.requires_grad

# needs_input_grad at backward with inputs
seen = []
def f(ctx, x, y):
    return x * y
def b(ctx, g):
    seen.append(ctx.needs_input_grad)
    return g, g
x, y = leaf(1.), leaf(2.)
z = made(f, b).apply(x, y)
g = grad(z, x)
seen, g

# setup_context
def f(x, n):
    return x * n, x.sum()
seen = []
def s(ctx, inputs, output):
    x, n = inputs
    seen.append((type(inputs).__name__, type(output).__name__, x is w, ctx.needs_input_grad))
    ctx.save_for_backward(x, output[0])
    ctx.n = n
def b(ctx, g, h):
    x, y = ctx.saved_tensors
    return g * ctx.n + h, None
w = leaf(1., 2.)
y, z = made(f, b, setup_context=s).apply(w, 3)
(y.sum() + z).backward()
w.grad, seen

# setup_context that returns something
def f(x):
    return x * 2
made(f, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: 3).apply(leaf(1.)).requires_grad

# vjp in place of backward
M = type("M", (Function,), dict(forward=staticmethod(lambda ctx, x: x * 2), vjp=staticmethod(lambda ctx, g: g * 2)))
x = leaf(1.)
M.apply(x).backward()
x.grad

# both vjp and backward
M = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2, vjp=lambda ctx, g: g * 2)
x = leaf(1.)
y = M.apply(x)
kind(lambda: y.backward())

# no backward
M = type("M", (Function,), dict(forward=staticmethod(lambda ctx, x: x * 2)))
x = leaf(1.)
y = M.apply(x)
y.requires_grad, kind(lambda: y.backward())

# no forward
M = type("M", (Function,), dict())
M.apply(leaf(1.))

# an instance
M = made(lambda ctx, x: x)
kind(lambda: M()(leaf(1.)))

# too few gradients
y = made(lambda ctx, x, y: x * y, lambda ctx, g: g).apply(leaf(1.), leaf(2.))
y.backward()

# too many gradients
y = made(lambda ctx, x: x * 2, lambda ctx, g: (g, g)).apply(leaf(1.))
y.backward()

# trailing None gradients
x = leaf(1.)
made(lambda ctx, x: x * 2, lambda ctx, g: (g, None, g)).apply(x).backward()
x.grad

# no gradient at all
x = leaf(1.)
made(lambda ctx, x: x * 2, lambda ctx, g: None).apply(x).backward()
x.grad

# a gradient of the wrong shape
x = leaf(1., 2.)
made(lambda ctx, x: x.sum(), lambda ctx, g: torch.ones(3)).apply(x).backward()

# a gradient that must be expanded
x = leaf(1., 2.)
made(lambda ctx, x: x.sum(), lambda ctx, g: g).apply(x).backward()
x.grad

# a gradient that must be summed
x = leaf(1., 2.)
made(lambda ctx, x: x.sum(), lambda ctx, g: g.expand(3, 2)).apply(x).backward()
x.grad

# a gradient of another dtype
x = leaf(1., 2.)
made(lambda ctx, x: x.sum(), lambda ctx, g: g.expand(2).float()).apply(x).backward()
x.grad

# a complex gradient of a real argument
x = leaf(1., 2.)
made(lambda ctx, x: x * 2, lambda ctx, g: g * (2 + 1j)).apply(x).sum().backward()
x.grad

# a gradient that is a number
made(lambda ctx, x: x.sum(), lambda ctx, g: 3.0).apply(leaf(1., 2.)).backward()

# a gradient for what is no tensor
made(lambda ctx, x, n: x * n, lambda ctx, g: (g, g)).apply(leaf(1.), 3).backward()

# a gradient for a tensor that needs none
x = leaf(1.)
made(lambda ctx, x, y: x * y, lambda ctx, g: (g, g)).apply(x, torch.ones(1)).backward()
x.grad

# a list of gradients
x, y = leaf(1.), leaf(2.)
kind(lambda: made(lambda ctx, x, y: x * y, lambda ctx, g: [g, g]).apply(x, y).backward())

# once differentiable
from_library = torch.autograd.function.once_differentiable
x = leaf(2., 3.)
M = made(lambda ctx, x: x * 2, from_library(lambda ctx, g: g * 2))
(g,) = grad(M.apply(x).sum(), x, create_graph=True)
g.requires_grad, g

# once differentiable, twice
from_library = torch.autograd.function.once_differentiable
x, w = leaf(2., 3.), leaf(1., 1.)
M = made(lambda ctx, x: x * 2, from_library(lambda ctx, g: g * 2))
(g,) = grad((M.apply(x) * w).sum(), x, create_graph=True)
g.requires_grad, kind(lambda: grad(g.sum(), w))

# saved tensors after the graph is freed
def f(ctx, x):
    ctx.save_for_backward(x)
    return x * 2
x = leaf(1.)
y = made(f, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
n = y.grad_fn
seen = n.saved_tensors[0] is x
y.backward()
seen, kind(lambda: n.saved_tensors), kind(lambda: y.backward())

# a second backward when nothing was saved
x = leaf(1.)
y = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
y.backward()
y.backward()
x.grad

# a second backward without using what was saved
def f(ctx, x):
    ctx.save_for_backward(x)
    return x * 2
x = leaf(1.)
y = made(f, lambda ctx, g: g * 2).apply(x)
y.backward()
kind(lambda: y.backward())

# a retained graph
def f(ctx, x):
    ctx.save_for_backward(x)
    return x * 2
x = leaf(3.)
y = made(f, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
y.backward(retain_graph=True)
y.backward()
x.grad

# a saved input is the object itself
def f(ctx, x):
    ctx.save_for_backward(x)
    return x * 2
seen = []
def b(ctx, g):
    seen.append(ctx.saved_tensors[0] is x)
    return g
x = leaf(3.)
made(f, b).apply(x).backward()
seen

# a saved input written in place
def f(ctx, x):
    ctx.save_for_backward(x)
    return x * 2
x = leaf(3.).clone()
y = made(f, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
x.mul_(2)
kind(lambda: y.backward())

# a saved output written in place
def f(ctx, x):
    y = x * 2
    ctx.save_for_backward(y)
    return y
x = leaf(3.)
y = made(f, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
y.mul_(2)
kind(lambda: y.backward())

# a saved intermediate written in forward
def f(ctx, x):
    t = x * 2
    ctx.save_for_backward(t)
    t.mul_(2)
    return x * 2
x = leaf(3.)
made(f, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x).backward()
x.grad

# saved_tensors in forward
def f(ctx, x):
    ctx.save_for_backward(x)
    ctx.saved_tensors
    return x * 2
kind(lambda: made(f).apply(leaf(1.)))

# attributes of ctx
def f(ctx, x):
    ctx.factor = 5
    ctx.note = "kept"
    return x * 5
x = leaf(1.)
y = made(f, lambda ctx, g: g * ctx.factor).apply(x)
y.backward()
x.grad, y.grad_fn.note, y.grad_fn.factor, hasattr(y.grad_fn, "other")

# an exception in forward
def f(ctx, x):
    raise KeyError("no")
x = leaf(1.)
kind(lambda: made(f).apply(x)), torch.is_grad_enabled(), x.requires_grad, x._version

# an exception in backward
def b(ctx, g):
    raise KeyError("no")
x = leaf(1.)
y = made(lambda ctx, x: x * 2, b).apply(x)
kind(lambda: y.backward()), torch.is_grad_enabled(), x.grad

# an exception in backward, then again
calls = []
def b(ctx, g):
    calls.append(1)
    if len(calls) == 1:
        raise KeyError("no")
    return g
x = leaf(1.)
y = made(lambda ctx, x: x * 2, b).apply(x)
kind(lambda: y.backward()), kind(lambda: y.backward()), x.grad

# grad mode inside forward and backward
seen = []
def f(ctx, x):
    seen.append(torch.is_grad_enabled())
    return x * 2
def b(ctx, g):
    seen.append(torch.is_grad_enabled())
    return g
x = leaf(1.)
grad(made(f, b).apply(x), x)
grad(made(f, b).apply(x), x, create_graph=True)
seen

# enable_grad inside forward
def f(ctx, x):
    with torch.enable_grad():
        t = x.detach().requires_grad_()
        u = t * t
    ctx.t, ctx.u = t, u
    return u.detach()
def b(ctx, g):
    return torch.autograd.grad(ctx.u, ctx.t, g)
x = leaf(3.)
made(f, b).apply(x).backward()
x.grad

# forward returns a tensor with history
def f(ctx, x):
    with torch.enable_grad():
        y = x * 2
    return y
x = leaf(3.)
y = made(f, lambda ctx, g: g * 10).apply(x)
y.backward()
x.grad, y.grad_fn.name().rsplit("::")[-1]

# forward returns a leaf that requires grad
w = leaf(5.)
y = made(lambda ctx, x: w, lambda ctx, g: g * 10).apply(leaf(3.))
y is w, kind(lambda: y.backward())

# forward returns a leaf that requires grad, without recording
w = leaf(5.)
y = made(lambda ctx, x: w, lambda ctx, g: g * 10).apply(torch.ones(1))
y.requires_grad

# forward makes a tensor that requires grad
y = made(lambda ctx, x: torch.ones(2, requires_grad=True), lambda ctx, g: g * 10).apply(torch.ones(1))
y.requires_grad, y.is_leaf

# forward returns a detached input
x = leaf(3.)
y = made(lambda ctx, x: x.detach(), lambda ctx, g: g * 10).apply(x)
y.backward()
y.requires_grad, y._is_view(), y.grad_fn.name(), x.grad

# inputs seen in forward are the objects themselves
seen = []
x = leaf(3.)
def f(ctx, y):
    seen.append((y is x, y.requires_grad))
    return y * 2
made(f).apply(x)
seen

# hooks on a custom node
log = []
x = leaf(3.)
y = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
y.grad_fn.register_hook(lambda gi, go: log.append((gi[0].tolist(), go[0].tolist())))
y.grad_fn.register_prehook(lambda go: (go[0] * 3,))
y.backward()
log, x.grad

# metadata and sequence number
y = made(lambda ctx, x: x * 2).apply(leaf(3.))
y.grad_fn.metadata["k"] = 1
list(y.grad_fn.metadata.items()), isinstance(y.grad_fn, torch.autograd.graph.Node), len(y.grad_fn.next_functions), y.grad_fn._sequence_nr() >= 0

# next_functions of mixed arguments
y = made(lambda ctx, x, n, t, z: x * z).apply(leaf(3.), 3, torch.ones(1), leaf(2.).exp())
[None if n is None else n.name().rsplit("::")[-1] for n, _ in y.grad_fn.next_functions]

# _input_metadata
y = made(lambda ctx, x: (x * 2, x.sum())).apply(leaf(3., 1.))[0]
[(tuple(m.shape), m.dtype) for m in y.grad_fn._input_metadata]

# a subclass of a Function
class A(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
class B(A):
    @staticmethod
    def backward(ctx, g):
        return g * 3
x = leaf(1.)
y = B.apply(x)
y.backward()
x.grad, y.grad_fn.name().rsplit("::")[-1]

# a Function inside a Function
class A(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
class B(Function):
    @staticmethod
    def forward(ctx, x):
        return A.apply(x)
    @staticmethod
    def backward(ctx, g):
        return A.apply(g)
x = leaf(1.)
y = B.apply(x)
(g,) = grad(y, x, create_graph=True)
y.grad_fn.name(), g

# a backward inside a backward
def b(ctx, g):
    with torch.enable_grad():
        t = torch.ones(1, dtype=torch.float64, requires_grad=True)
        (t * 3).backward()
    return g * t.grad
x = leaf(2.)
made(lambda ctx, x: x * 2, b).apply(x).backward()
x.grad

# no tensors at all
y = made(lambda ctx, n: torch.ones(n)).apply(3)
y, y.requires_grad

# no arguments
y = made(lambda ctx: torch.ones(2)).apply()
y.requires_grad

# an integer argument
x = leaf(1., 2.)
i = torch.tensor([0])
y = made(lambda ctx, x, i: x[i], lambda ctx, g: (torch.cat([g, g]), None)).apply(x, i)
y.sum().backward()
x.grad, [n is None for n, _ in y.grad_fn.next_functions]

# a tensor inside a list argument does not count
x = leaf(1., 2.)
y = made(lambda ctx, n, l: l[0] * n, lambda ctx, g: (None, None)).apply(3, (2, 4))
y

# the same tensor as two arguments
x = leaf(3.)
made(lambda ctx, x, y: x * y, lambda ctx, g: (g * 1, g * 10)).apply(x, x).backward()
x.grad

# the output is used twice
x = leaf(3.)
y = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
(y * y).backward()
x.grad

# retain_grad on an output
x = leaf(3.)
y = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
y.retain_grad()
(y * y).backward()
y.grad, x.grad

# a different dtype out
x = leaf(3.)
y = made(lambda ctx, x: x.float(), lambda ctx, g: g * 2).apply(x)
y.backward()
y.dtype, x.grad

# is_leaf and detach of an output
y = made(lambda ctx, x: x * 2).apply(leaf(3.))
y.is_leaf, y.detach().is_leaf, y.detach().requires_grad

# in place on the output
x = leaf(3.)
y = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
y.mul_(5)
y.backward()
x.grad, y.grad_fn.name(), y._version

# a view of the output written in place
x = leaf(3., 4.)
y = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
y[0].mul_(5)
y.sum().backward()
x.grad, y.grad_fn.name().rsplit("::")[-1]

# the forward output is a view of a fresh tensor
x = leaf(3., 4.)
y = made(lambda ctx, x: (x * 2)[:1], lambda ctx, g: torch.cat([g, g])).apply(x)
y._is_view(), kind(lambda: y.mul_(5)), y.requires_grad

# two views of one fresh tensor
x = leaf(3., 4.)
def f(ctx, x):
    t = x * 2
    return t[:1], t[1:]
y, z = made(f, lambda ctx, g, h: torch.cat([g, h])).apply(x)
y._is_view(), kind(lambda: y.mul_(5)), kind(lambda: z.requires_grad)

# the whole and a part
x = leaf(3., 4.)
def f(ctx, x):
    t = x * 2
    return t, t[1:]
y, z = made(f, lambda ctx, g, h: g).apply(x)
y._is_view(), z._is_view(), kind(lambda: y.mul_(5)), kind(lambda: z.mul_(5))

# clear_saved
def f(ctx, x):
    ctx.save_for_backward(x)
    return x * 2
y = made(f).apply(leaf(1.))
len(y.grad_fn._raw_saved_tensors), len(y.grad_fn.saved_tensors)

# raw saved tensors with hooks
def f(ctx, x):
    y = x.exp()
    ctx.save_for_backward(x, y, None)
    return y
log = []
x = leaf(1.)
y = made(f, lambda ctx, g: g * ctx.saved_tensors[0] * ctx.saved_tensors[1]).apply(x)
raw = y.grad_fn._raw_saved_tensors
raw[0].register_hooks(lambda t: (log.append("pack"), t.detach() * 2)[1], lambda t: (log.append("unpack"), t)[1])
y.backward()
log, x.grad, len(raw)

# an output saved in saved tensors hooks
def f(ctx, x):
    y = x.exp()
    ctx.save_for_backward(x, y)
    return y
x = leaf(1.)
log = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append(t.tolist()), t)[1], lambda t: (log.append("u"), t)[1]):
    y = made(f, lambda ctx, g: g * ctx.saved_tensors[0] * ctx.saved_tensors[1]).apply(x)
y.backward()
log, x.grad

# save_for_forward in forward
def f(ctx, x):
    ctx.save_for_forward(x)
    return x * 2
x = leaf(1.)
made(f).apply(x).backward()
x.grad

# apply as a function
x = leaf(2.)
mine = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply
mine(mine(x)).backward()
x.grad

# mark_dirty of something that is no tensor
def f(ctx, x):
    ctx.mark_dirty(3)
    return x * 2
kind(lambda: made(f).apply(leaf(1.)))

# mark_non_differentiable of something that is no tensor
def f(ctx, x):
    ctx.mark_non_differentiable(3)
    return x * 2
kind(lambda: made(f).apply(leaf(1.)))

# mark_non_differentiable of what is not returned
def f(ctx, x):
    ctx.mark_non_differentiable(x)
    return x * 2
kind(lambda: made(f).apply(leaf(1.)))

# set_materialize_grads with a bad value
def f(ctx, x):
    ctx.set_materialize_grads("no")
    return x * 2
kind(lambda: made(f).apply(leaf(1.)))

# gradcheck of a right and a wrong Function
right = made(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply
wrong = made(lambda ctx, x: x * 2, lambda ctx, g: g * 3).apply
torch.autograd.gradcheck(right, (leaf(1., 2.),)), torch.autograd.gradcheck(wrong, (leaf(1., 2.),), raise_exception=False)

# a forward that is no static method
class M(Function):
    def forward(self, x):
        return x
    def backward(self, g):
        return g
kind(lambda: M.apply(leaf(1.)).sum().backward())

# a 0-d numpy-like return
x = leaf(2.)
y = made(lambda ctx, x: x.sum(), lambda ctx, g: g.reshape(1)).apply(x)
y.backward()
y.shape, x.grad
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_same_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


class Scale(dt.autograd.Function):
    """Nested arguments, keyword arguments and nested results: all beyond PyTorch."""

    @staticmethod
    def forward(ctx, parts, by=2.0, name=None):
        ctx.by = by
        return {"all": [part * by for part in parts], "name": name}

    @staticmethod
    def backward(ctx, grads):
        assert grads["name"] is None
        return [g * ctx.by for g in grads["all"]], None, None


def test_keyword_arguments_find_their_places() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    out = Scale.apply([x], name="mine", by=3.0)
    out["all"][0].sum().backward()
    assert out["name"] == "mine"
    assert x.grad.tolist() == [3.0, 3.0]


def test_unknown_keyword_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        Scale.apply([dt.ones(1)], factor=3.0)


def test_tensors_nested_in_arguments_and_results_get_gradients() -> None:
    x, y = dt.tensor([1.0], requires_grad=True), dt.tensor([2.0], requires_grad=True)
    out = Scale.apply([x, y])
    assert [part.output_nr for part in out["all"]] == [0, 1]
    (out["all"][0] + 10 * out["all"][1]).backward()
    assert (x.grad.item(), y.grad.item()) == (2.0, 20.0)


def test_needs_input_grad_is_nested_as_the_arguments_are() -> None:
    seen = []

    class Look(dt.autograd.Function):
        @staticmethod
        def forward(ctx, pair, n):
            seen.append(ctx.needs_input_grad)
            return pair["a"] * n

        @staticmethod
        def backward(ctx, g):
            return {"a": g * 2, "b": None}, None

    a = dt.tensor([1.0], requires_grad=True)
    Look.apply({"a": a, "b": dt.ones(1)}, (1, 2)[1]).backward()
    assert seen == [({"a": True, "b": False}, False)]
    assert a.grad.item() == 2.0


def test_a_gradient_nested_otherwise_than_its_argument_is_refused() -> None:
    class Wrong(dt.autograd.Function):
        @staticmethod
        def forward(ctx, parts):
            return parts[0] * 2

        @staticmethod
        def backward(ctx, g):
            return ([g, g, g],)

    parts = [dt.ones(1, requires_grad=True), dt.ones(1)]
    with pytest.raises(RuntimeError, match="nested as the argument"):
        Wrong.apply(parts).backward()


def test_a_custom_node_can_be_called_by_hand() -> None:
    x = dt.tensor([0.0], requires_grad=True)
    assert Keeps.apply(x).grad_fn(dt.ones(1)).item() == 2.0


class Keeps(dt.autograd.Function):
    """Saves its argument, its result and an intermediate."""

    @staticmethod
    def forward(ctx, x):
        t = x.sin()
        y = t * 2
        ctx.save_for_backward(x, t, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, _, _ = ctx.saved_tensors
        return g * 2 * x.cos()


class Writes(dt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class Returns(dt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(unused := x * 2)
        ctx.save_for_backward(unused)
        return x, unused

    @staticmethod
    def backward(ctx, g, h):
        return g


@pytest.mark.parametrize(
    "use",
    [
        Keeps.apply,
        lambda x: Writes.apply(x.clone()),
        lambda x: Returns.apply(x)[0],
        lambda x: Writes.apply(x.clone()[:1]),
    ],
)
@pytest.mark.parametrize("run", [False, True])
def test_dropping_the_result_frees_everything_at_once(use, run: bool) -> None:
    gc.collect()
    gc.disable()
    try:
        x = dt.tensor([1.0, 2.0], requires_grad=True)
        y = use(x)
        refs = [weakref.ref(y), weakref.ref(y.grad_fn)]
        if run:
            y.sum().backward(retain_graph=True)
        del y
        assert [ref() for ref in refs] == [None, None]
    finally:
        gc.enable()


def test_the_class_of_a_node_is_the_functions_own() -> None:
    y = Keeps.apply(dt.ones(1, requires_grad=True))
    assert type(y.grad_fn) is Keeps._backward_cls
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "KeepsBackward"


def test_forward_may_return_a_named_tuple() -> None:
    from collections import namedtuple

    Pair = namedtuple("Pair", "a b")

    class Two(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return Pair(x * 2, x * 3)

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 3

    x = dt.ones(1, requires_grad=True)
    out = Two.apply(x)
    assert isinstance(out, Pair)
    (out.a + out.b).backward()
    assert x.grad.item() == 5.0


@pytest.mark.parametrize(
    "name",
    [
        "edges",
        "saved",
        "outputs",
        "extra",
        "seq",
        "pull",
        "apply",
        "release",
        "holds",
        "selective",
        "cls",
        "name",
        "shape",
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_context_takes_attributes_of_any_name(name: str, recorded: bool) -> None:
    class Scaled(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            setattr(ctx, name, factor)
            ctx.save_for_backward(x)
            return x * x * factor

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g * getattr(ctx, name), None

    x = dt.tensor([1.0, 2.0], requires_grad=True)
    y = Scaled.apply(x, 3.0)
    handle = y.register_hook(lambda g: g * 1)
    (grad,) = dt.autograd.grad(y.sum(), x, create_graph=recorded)
    assert grad.tolist() == [6.0, 12.0]
    handle.remove()
    Scaled.backward = staticmethod(lambda ctx, g: (g, None, g))
    with pytest.raises(RuntimeError, match="ScaledBackward returned an incorrect number of gradients"):
        dt.autograd.grad(Scaled.apply(x, 3.0).sum(), x, create_graph=recorded)


@pytest.mark.parametrize("several", [False, True])
def test_gradients_in_one_list_and_saved_tensors_given_away_go_as_soon_as_backward_drops_them(several: bool) -> None:
    class Boxed(dt.autograd.Function):
        boxed_grads_call = clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.sin())
            return (x * 2, x * 3) if several else x * 2

        @staticmethod
        def backward(ctx, grads):
            (saved,) = ctx.saved_tensors
            refs = [weakref.ref(tensor._array) for tensor in (saved, *grads)]
            result = saved * grads[0]
            del saved
            grads.clear()
            gone.extend(ref() is None for ref in refs)
            return result

    gone: list = []
    x = dt.ones(2, requires_grad=True)
    y = Boxed.apply(x * 1)
    (sum(part * x.detach() for part in y) if several else y * x.detach()).sum().backward()
    assert gone == [True] * (3 if several else 2)


def test_a_once_differentiable_backward_of_gradients_in_one_list_is_not_differentiated_twice() -> None:
    class Once(dt.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @dt.autograd.function.once_differentiable
        def backward(ctx, grads):
            return grads.pop() * 2

    x = dt.ones(2, requires_grad=True)
    (g,) = dt.autograd.grad(Once.apply(x), x, dt.ones(2, requires_grad=True), create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()
