"""Subclasses of Tensor, function modes, dispatch modes, wrappers, parameters.

Every program runs on dualtape and on PyTorch.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
T = torch.Tensor
log = []
class Plain(T):
    pass
class Logged(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})
class Deaf(T):
    __torch_function__ = torch._C._disabled_torch_function_impl
def names(*values):
    return [type(v).__name__ for v in values]
def plain(*values):
    return torch.tensor(list(values)).as_subclass(Plain)
def logged(*values):
    return torch.tensor(list(values)).as_subclass(Logged)
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
def unwrapped(value):
    if isinstance(value, (list, tuple)):
        return type(value)(unwrapped(v) for v in value)
    return value.inner if isinstance(value, Wrapper) else value
class Wrapper(T):
    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        return T._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=requires_grad)
    def __init__(self, inner, requires_grad=False):
        self.inner = inner
    def __repr__(self):
        return f"Wrapper({self.inner})"
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        log.append(func.__name__.partition(".")[0])
        result = func(*unwrapped(args), **(kwargs or {}))
        if log[-1].endswith("_") and isinstance(args[0], Wrapper):
            return args[0]
        if isinstance(result, (tuple, list)):
            return type(result)(Wrapper(r) for r in result)
        return Wrapper(result) if isinstance(result, T) else result
class FunctionMode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        log.append(func.__name__)
        return func(*args, **(kwargs or {}))
"""

PROGRAMS = """
# results have the class of the argument
x = plain(1., 2.)
names(x + 1, 1 + x, -x, x.sin(), torch.sin(x), x[0], x.sum(), torch.cat([x, x]), x.detach(), x.clone(), x.to(torch.float64), x.reshape(2, 1))

# also from a plain tensor and a subclass
x = plain(1., 2.)
names(torch.ones(2) + x, torch.ones(2) @ x, torch.where(x > 1, x, torch.zeros(2)), x == x, torch.stack([torch.ones(2), x]))

# several results
x = plain(1., 2.)
names(*x.max(0)), names(*x.unbind()), names(*torch.split(x, 1)), names(*x)

# creation like a subclass
x = plain(1., 2.)
names(torch.zeros_like(x), torch.ones_like(x), torch.empty_like(x), torch.full_like(x, 3.), torch.rand_like(x), x.new_zeros(2), x.new_tensor([1.]))

# values and properties of a subclass
x = plain(1., 2.)
x.shape, x.dtype, x.ndim, x.requires_grad, x.is_leaf, x.tolist(), x.sum().item(), len(x), x.size(0), x.numel()

# the class survives data and properties
x = plain(1., 2.)
names(x.data, x.T, x.mT if x.ndim > 1 else x, x.real)

# in place on a subclass
x = plain(1., 2.)
y = x.add_(1)
x += 1
x[0] = 7
y is x, names(x, y), x.tolist(), x._version

# gradients through a subclass
x = plain(1., 2.).requires_grad_()
y = (x * x).sin().sum()
y.backward()
x.grad, names(x, y, x.grad)

# second derivatives through a subclass
x = plain(1., 2.).requires_grad_()
g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
gg, = torch.autograd.grad(g.sum(), x)
g.tolist(), gg.tolist(), names(gg)

# the history of a result goes through an alias
x = plain(1., 2.).requires_grad_()
y = x * 2
y.grad_fn.name(), y.grad_fn.next_functions[0][0].name(), y._is_view()

# as_subclass is a view with history
x = torch.tensor([1., 2.], requires_grad=True)
y = x.as_subclass(Plain)
y.sum().backward()
names(y), y.grad_fn.name(), y._base is x, y.data_ptr() == x.data_ptr(), x.grad

# as_subclass refuses other classes
kind(lambda: torch.ones(1).as_subclass(int))

# _make_subclass makes a leaf over the same memory
x = torch.ones(2)
y = T._make_subclass(Plain, x, True)
with torch.no_grad():
    y.add_(1)
names(y), y.requires_grad, y.is_leaf, x.tolist(), x._version, y._version

# _make_subclass of what requires grad forgets the history
x = torch.ones(2, requires_grad=True)
y = T._make_subclass(Plain, x * 2)
y.requires_grad, y.is_leaf

# _make_subclass of integers cannot require grad
kind(lambda: T._make_subclass(Plain, torch.ones(2, dtype=torch.int64), True))

# attributes stay with the object
x = plain(1., 2.)
x.tag = "metres"
y = x.add_(1)
z = copy.copy(x)
hasattr(x + 1, "tag"), y.tag, z.tag, names(z)

# attributes survive the graph
x = plain(1., 2.).requires_grad_()
x.tag = "metres"
y = x * x
y.grad_fn.next_functions[0][0]._saved_self is x, y.grad_fn.next_functions[0][0].next_functions[0][0].variable.tag

# the default function
x = plain(1., 2.)
names(T.__torch_function__(torch.add, (T,), (torch.ones(1), 1)), Plain.__torch_function__(torch.add, (Plain,), (torch.ones(1), 1)))

# the default function refuses unrelated classes
Plain.__torch_function__(torch.add, (Plain, Deaf), (torch.ones(1), 1)) is NotImplemented

# two unrelated subclasses
class Other(T):
    pass
kind(lambda: plain(1.) + torch.ones(1).as_subclass(Other))

# a subclass of a subclass wins
class Derived(Plain):
    pass
x, y = plain(1.), torch.ones(1).as_subclass(Derived)
names(x + y, y + x)

# a deaf class gives plain tensors
x = torch.ones(2).as_subclass(Deaf)
names(x, x + 1, torch.sin(x), x.detach(), x[0], x.add_(1))

# every call is seen
x = logged(1., 2.)
log.clear()
x + 1; 1 + x; x - 1; x * 2; x / 2; x % 2; x ** 2; x < 1
x @ x; -x; abs(x); x.sin(); torch.sin(x); x.sum(); x.add_(1); x[0]; x.clone(); x.detach()
torch.relu(x)
log

# writing is seen
x = logged(1., 2.)
log.clear()
x[0] = 1
x += 1
x.zero_(); x.div_(2); x.requires_grad_(); x.retain_grad()
log

# composite functions are seen once
x = logged(1., 2.)
log.clear()
torch.diff(x); torch.stack([x, x]); torch.nn.functional.softmax(x, dim=0); torch.nn.functional.mse_loss(x, x); torch.var(x)
log

# properties are seen, as their getters and setters
x = logged(1., 2.)
log.clear()
x.shape; x.dtype; x.requires_grad; x.grad; x.is_leaf; x.ndim; x.data
x.grad = None
x.requires_grad = True
log

# a property's function can be recognised
seen = []
class Shaped(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func == T.shape.__get__)
        return super().__torch_function__(func, types, args, kwargs or {})
x = torch.ones(2).as_subclass(Shaped)
x.shape, x.dtype
seen

# functions of the protocol are the public ones
seen = []
class Recognises(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func in (torch.add, T.add))
        return super().__torch_function__(func, types, args, kwargs or {})
x = torch.ones(2).as_subclass(Recognises)
torch.add(x, 1), x.add(1), x + 1, x - 1
seen

# replacing a function
class Fixed(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return 42 if func is torch.sin else super().__torch_function__(func, types, args, kwargs or {})
x = torch.ones(2).as_subclass(Fixed)
torch.sin(x), torch.cos(x).tolist()

# NotImplemented everywhere is a TypeError
class Refuses(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
x = torch.ones(2).as_subclass(Refuses)
kind(lambda: x + 1), kind(lambda: torch.sin(x)), kind(lambda: x.shape)

# the other argument is asked next
class Refuses(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
class Takes(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return [t.__name__ for t in types]
a, b = torch.ones(1).as_subclass(Refuses), torch.ones(1).as_subclass(Takes)
a + b, torch.add(b, a)

# objects that are no tensors may have the protocol
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, [t.__name__ for t in types], len(args)
torch.add(Duck(), 1), torch.sin(Duck()), torch.add(torch.ones(1), Duck()), torch.ones(1) + Duck(), torch.stack([torch.ones(1), Duck()])

# the protocol switched off
x = logged(1., 2.)
log.clear()
with torch._C.DisableTorchFunctionSubclass():
    y = x + 1
log, names(y)

# an error inside leaves the protocol on
x = logged(1., 2.)
kind(lambda: x + torch.ones(3))
log.clear()
x + 1
log

# a function mode sees calls on plain tensors
with FunctionMode():
    x = torch.ones(2)
    y = x * 2
    y.sum()
    torch.tensor([1.])
    torch.zeros_like(x)
    y.add_(1)
    x[0]
torch.ones(1)
log

# a function mode may replace results
class Doubles(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.ones else result
with Doubles():
    x = torch.ones(2)
x, torch.ones(2)

# function modes nest, the inner first
order = []
class Named(torch.overrides.TorchFunctionMode):
    def __init__(self, name):
        self.name = name
    def __torch_function__(self, func, types, args=(), kwargs=None):
        order.append((self.name, func.__name__))
        return func(*args, **(kwargs or {}))
with Named("outer"), Named("inner"):
    torch.ones(1).sin()
order

# a function mode does not see what backward does
x = torch.ones(2, requires_grad=True)
y = (x * x).sum()
with FunctionMode():
    y.backward()
log, x.grad

# a function mode that raises is left
class Raises(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise KeyError(func.__name__)
def enter():
    with Raises():
        torch.ones(1)
kind(enter), torch.ones(1)

# a function mode over a subclass
x = logged(1.)
log.clear()
with FunctionMode():
    y = x + 1
log, names(y)

# a function mode entered again in its own handler
class Again(torch.overrides.TorchFunctionMode):
    depth = 0
    def __torch_function__(self, func, types, args=(), kwargs=None):
        log.append(func.__name__)
        if func is torch.add and self.depth == 0:
            self.depth += 1
            with self:
                return torch.mul(*args)
        return func(*args, **(kwargs or {}))
with Again():
    y = torch.add(torch.ones(1), 3)
log, y

# has_torch_function and handle_torch_function
from_user = []
def twice(x):
    if torch.overrides.has_torch_function((x,)):
        return torch.overrides.handle_torch_function(twice, (x,), x)
    from_user.append(type(x).__name__)
    return x * 2
x = plain(1.)
names(twice(x)), twice(torch.ones(1)), torch.overrides.has_torch_function((torch.ones(1), 3)), torch.overrides.is_tensor_like(x)

# a wrapper has shape and dtype
w = Wrapper(torch.ones(2, 3, dtype=torch.float64))
w.shape, w.dtype, w.ndim, w.numel(), w.requires_grad, w.is_leaf, w.stride(), w.device

# a wrapper computes with what it wraps
w = Wrapper(torch.tensor([1., 2.]))
r = (w * 2 + 1).sin()
names(r), r.inner, log

# wrappers and plain tensors
w = Wrapper(torch.tensor([1., 2.]))
names(torch.ones(2) + w, w @ torch.ones(2), torch.cat([torch.ones(2), w])), (torch.ones(2) + w).inner

# several results of a wrapper
w = Wrapper(torch.tensor([[1., 2.], [3., 4.]]))
a, b = torch.max(w, 0)
names(a, b), a.inner, b.inner

# autograd above a wrapper
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
y = (w * w).sin().sum()
y.backward()
names(y, w.grad), w.grad.inner, y.grad_fn.name(), y.requires_grad, w.inner.requires_grad

# a wrapper accumulates
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
(w * 3).sum().backward()
(w * w).sum().backward()
names(w.grad), w.grad.inner

# gradients of plain leaves through a wrapper
x = torch.tensor([1., 2.], requires_grad=True)
w = Wrapper(torch.tensor([3., 4.]))
y = (x * w).exp().sum()
g, = torch.autograd.grad(y, x)
names(g), g.inner

# a plain gradient comes to what a wrapper computed
class Opened(Wrapper):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        result = func(*unwrapped(args), **(kwargs or {}))
        return Opened(result) if result.ndim else result
w = Opened(torch.tensor([1., 2.]), requires_grad=True)
y = (w * w).sum()
y.backward()
names(y, w.grad), w.grad.inner

# what a node saves of a wrapper
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
y = w.exp()
z = w.sin()
y.backward(torch.ones(2))
names(z.grad_fn._saved_self), z.grad_fn._saved_self is w, w.grad.inner

# second derivatives of a wrapper
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
g, = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
gg, = torch.autograd.grad(g.sum(), w)
names(g, gg), g.inner.detach(), gg.inner

# a tanh whose result is saved
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
g, = torch.autograd.grad(w.tanh().sum(), w, create_graph=True)
gg, = torch.autograd.grad(g.sum(), w)
g.inner.detach(), gg.inner

# in place on a wrapper
w = Wrapper(torch.tensor([1., 2.]))
r = w.add_(1)
w *= 2
r is w, w.inner, w._version

# in place on a wrapper with history
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
y = w * 1
y.mul_(3)
y.sum().backward()
y.inner, w.grad.inner, y.grad_fn.name()

# detach of a wrapper
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
d = w.detach()
names(d), d.requires_grad, d.inner, "detach" in log

# creation like a wrapper
w = Wrapper(torch.tensor([1., 2.]))
names(torch.zeros_like(w), torch.ones_like(w)), torch.ones_like(w).inner

# a wrapper needs its class to dispatch
kind(lambda: T._make_wrapper_subclass(Plain, (2,)))

# a scaled tensor
class Scaled(T):
    @staticmethod
    def __new__(cls, inner, scale):
        return T._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)
    def __init__(self, inner, scale):
        self.inner, self.scale = inner.detach(), scale
    def dense(self):
        return self.inner * self.scale
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        name = func.__name__.partition(".")[0]
        if name == "mul" and isinstance(args[0], Scaled) and not isinstance(args[1], T):
            return Scaled(args[0].inner, args[0].scale * args[1])
        if name == "detach":
            return Scaled(args[0].inner, args[0].scale)
        return func(*[a.dense() if isinstance(a, Scaled) else a for a in args], **(kwargs or {}))
x = Scaled(torch.tensor([1., 2.], requires_grad=True), 3.)
y = x * 2
z = (y + 1).sum()
z.backward()
names(y, z), y.scale, z.detach(), x.grad

# a mode below autograd sees forward and backward
from_backward = []
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
with Dispatch():
    z = y.sin()
    forward = list(log)
    z.sum().backward()
forward, "cos" in log, "mul" in log, x.grad, names(z)

# a dispatch mode may replace results
class Zeroes(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 0 if func.__name__.startswith("sin") else result
with Zeroes():
    y = torch.ones(2).sin()
y, torch.ones(2).sin()

# a dispatch mode and views
x = torch.ones(2, 2, requires_grad=True)
with Dispatch():
    y = x * 1
    y[0].mul_(3)
    v = y[1]
v.mul_(5)
y.sum().backward()
y, x.grad, v._is_view()

# dispatch modes nest
order = []
class Named(TorchDispatchMode):
    def __init__(self, name):
        super().__init__()
        self.name = name
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        order.append(self.name)
        return func(*args, **(kwargs or {}))
with Named("outer"), Named("inner"):
    torch.sin(torch.tensor(1.)) if False else None
    y = torch.zeros(1)
order

# a class that logs below autograd, with real memory
class Quiet(T):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        log.append(func.__name__.partition(".")[0])
        return super().__torch_dispatch__(func, types, args, kwargs or {})
x = T._make_subclass(Quiet, torch.ones(2), True)
y = (x * 2).sum()
log.clear() if False else None
y.backward()
log[0], x.grad

# a class with __torch_dispatch__ is not asked above autograd
Wrapper.__torch_function__ is torch._C._disabled_torch_function_impl

# parameters
p = torch.nn.Parameter(torch.ones(2))
y = (p * 2).sum()
y.backward()
names(p, p * 2, p.detach(), p.data, p.grad, p[0]), p.requires_grad, p.is_leaf, p.grad, repr(p)

# what a parameter is made of
p, q = torch.nn.Parameter(), torch.nn.Parameter(torch.ones(1), requires_grad=False)
repr(p), repr(q), q.requires_grad, kind(lambda: torch.nn.Parameter(torch.ones(2, dtype=torch.int64)))

# parameters share memory with their data
x = torch.ones(2)
p = torch.nn.Parameter(x)
with torch.no_grad():
    p.add_(1)
x, p._version, x._version, isinstance(x, torch.nn.Parameter), isinstance(p, torch.nn.Parameter)

# copying parameters
p = torch.nn.Parameter(torch.ones(2))
p.sum().backward()
q = copy.deepcopy(p)
q2 = copy.deepcopy([p, p])
names(q), q.requires_grad, q.grad, q2[0] is q2[1], q.data_ptr() == p.data_ptr(), copy.copy(p).requires_grad

# pickling parameters
p = torch.nn.Parameter(torch.ones(2))
p.tag = 3
q = pickle.loads(pickle.dumps(p))
names(q), q.requires_grad, q.tolist(), q.tag, q.grad

# a parameter of a subclass keeps its class
p = torch.nn.Parameter(plain(1., 2.))
names(p, p * 2), isinstance(p, torch.nn.Parameter), p.requires_grad, p.is_leaf

# a subclass of Parameter
class Named(torch.nn.Parameter):
    pass
p = Named(torch.ones(1))
names(p, p + 1), isinstance(p, torch.nn.Parameter), isinstance(torch.nn.Parameter(torch.ones(1)), Named)

# backward and grad of a subclass are seen, with tuples
seen = []
class Sees(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in (torch.autograd.grad, torch.autograd.backward):
            seen.append(([type(a).__name__ for a in args], sorted(kwargs), kwargs.get("allow_unused")))
        return super().__torch_function__(func, types, args, kwargs or {})
w = torch.ones(2).as_subclass(Sees).requires_grad_()
by_name = torch.autograd.grad((w * 2).sum(), {"a": w})
torch.autograd.grad([(w * 2).sum()], [w], create_graph=True, materialize_grads=True)
torch.autograd.backward((w * 2).sum(), inputs=[w])
torch.autograd.backward([(w * 2).sum()], [torch.tensor(1.)])
sorted(by_name), seen

# backward asks what is differentiated and its inputs, not the gradients
x, g, w = torch.ones(2, requires_grad=True), plain(1., 1.), logged(1., 2.).requires_grad_()
def asked(function):
    log.clear()
    function()
    return [name for name in log if name in ("grad", "backward")]
(asked(lambda: torch.autograd.grad(x * 2, x, logged(1., 1.))),
 asked(lambda: torch.autograd.grad((x * 2).sum(), w, allow_unused=True)),
 asked(lambda: torch.autograd.backward((x * 2).sum(), inputs=[w])),
 asked(lambda: torch.autograd.backward([(x * 2).sum(), w.sum()])), asked(lambda: w.sum().backward()))

# function modes see backward and grad
x = torch.ones(2, requires_grad=True)
y, z, u = (x * 2).sum(), (x * 3).sum(), (x * 4).sum()
with FunctionMode():
    torch.autograd.backward(y); torch.autograd.grad(z, x); u.backward()
log

# __torch_function__ as a method of the instance
class Named:
    def __init__(self, name):
        self.name = name
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__, self.name
class Instance(T):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__
x = T._make_subclass(Instance, torch.ones(2))
torch.add(Named("a"), 1), torch.sin(Named("b")), torch.ones(1) + Named("c"), torch.add(x, 1), x.sin(), x.shape

# objects with the protocol in sizes and indices
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append(func.__name__)
        return func.__name__
d, x = Duck(), torch.ones(2, 2)
torch.ones(2, d), torch.zeros((2, d)), x.reshape(d, 2), x.reshape((d, 2)), torch.full((d,), 3.), torch.arange(d), x.repeat(d)
x[d], x[0, d], x[[d]], x[0, [d]]
x[0] = d
x[d] = 0
x[0, d] = 0
log

# an operator that the class declines is left to the other operand
class Declines(T):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
class Takes(T):
    def __radd__(self, other): return "radd"
    def __rmatmul__(self, other): return "rmatmul"
    def __rpow__(self, other): return "rpow"
    __torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: NotImplemented)
class Duck:
    __torch_function__ = Takes.__torch_function__
    def __radd__(self, other): return "radd"
    def __rsub__(self, other): return "rsub"
    def __gt__(self, other): return "gt"
    def __rfloordiv__(self, other): return "rfloordiv"
a, b, d, x = torch.ones(1).as_subclass(Declines), torch.ones(1).as_subclass(Takes), Duck(), torch.ones(1)
y = torch.ones(1)
y += d
z = torch.ones(1)
z -= d
a + b, a @ b, a ** b, kind(lambda: a - b), x + d, x - d, x < d, x // d, kind(lambda: x * d), kind(lambda: torch.add(x, d)), y, z

# an in-place operator leaves foreign operands to their reflected one
class Other:
    def __radd__(self, other): return "radd"
x = torch.ones(1)
x += Other()
x

# an operator that a mode declines
class Silent(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        log.append(func.__name__)
        return NotImplemented
x, p = torch.ones(2), logged(1.)
log.clear()
with Silent():
    r = kind(lambda: x + 1), kind(lambda: torch.add(x, 1)), names(p + 1)
r, log

# a mode sees sparse tensors being made
i, v = torch.tensor([[0]]), torch.tensor([1.])
with FunctionMode():
    torch.sparse_coo_tensor(i, v, (2,))
log

# a Function that returns its argument keeps the class
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g
class Constant(Same):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x
x, p, w = plain(1., 2.).requires_grad_(), torch.nn.Parameter(torch.ones(2)), Wrapper(torch.ones(2), requires_grad=True)
d = torch.ones(2).as_subclass(Deaf).requires_grad_()
y = Same.apply(x)
y.sum().backward()
z = Same.apply(w)
z.sum().backward()
([names(f.apply(x), f.apply(p), f.apply(w), f.apply(d), f.apply(x.detach()), f.apply(w.detach())) for f in (Same, Constant)],
 y.grad_fn.name(), x.grad.tolist(), z.grad_fn.name(), w.grad.inner, y._is_view())

# a Function that returns its argument asks the class for a view
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g
x = logged(1.).requires_grad_()
log.clear()
y = Same.apply(x)
[name for name in log if name != "__get__"], names(y)

# functional over a wrapper
functional = torch.autograd.functional
w, ones = Wrapper(torch.tensor([1., 2.])), torch.ones(2)
square, cube = lambda a: a * a, lambda a: (a * a * a).sum()
found = [functional.jacobian(square, w), functional.jacobian(square, w, vectorize=True), functional.jacobian(lambda a: torch.ones(2), w), functional.hessian(cube, w)]
found += [*functional.jvp(square, w, ones), *functional.hvp(cube, w, ones), *functional.vhp(lambda a: (a * 2).sum(), w, Wrapper(ones))]
names(*found), unwrapped(found)

# a batch of gradients for a wrapper
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
v = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
g, = torch.autograd.grad(w * w, w, torch.eye(2), is_grads_batched=True)
h, = torch.autograd.grad(w * w, w, Wrapper(torch.eye(2)), is_grads_batched=True)
n = torch.autograd.grad(w * w, (w, v), torch.eye(2), is_grads_batched=True, allow_unused=True)[1]
names(g, h, n), unwrapped([g, h])

# materialised gradients of wrappers
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
v = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
g = torch.autograd.grad((w * w).sum(), (w, v), materialize_grads=True)
names(*g), unwrapped(g)

# several results of a wrapper, of which some are not used
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
a, b = w.unbind()
a.backward()
v = Wrapper(torch.tensor([1., 2., 3.]), requires_grad=True)
a, b, c = v.split(1)
((a * c).sum() + v.sort()[0].sum() + v.cumprod(0).sum()).backward()
unwrapped([w.grad, v.grad])

# comparing wrappers
w, x = Wrapper(torch.tensor([1., 2.])), torch.tensor([1., 3.])
r = torch.isclose(w, w)
names(r), r.inner, torch.allclose(w, w), torch.allclose(w, x), torch.allclose(x, w), torch.equal(w, w), w.equal(x), torch.equal(x, w), 1. in w, 3. in w

# numbers from wrappers
w = Wrapper(torch.tensor([2.]))
bool(w), float(w), int(w), w.item(), complex(w)

# gradcheck of a wrapper
w = Wrapper(torch.tensor([1., 2.], dtype=torch.float64), requires_grad=True)
torch.autograd.gradcheck(lambda a: a * a, (w,)), kind(lambda: torch.autograd.gradcheck(lambda a: a.detach() * a, (w,)))

# transforms of wrappers
w = Wrapper(torch.tensor([1., 2.]))
g = torch.func.grad(lambda a: (a * a).sum())(w)
value, pull = torch.func.vjp(lambda a: a * a, w)
h, = pull(torch.ones(2))
names(g, h), unwrapped([g, h])

# anomaly mode looks for NaN in a wrapper
with torch.autograd.detect_anomaly():
    w = Wrapper(torch.tensor([0., 1.]), requires_grad=True)
    (w * w).sum().backward()
    r = kind(lambda: (w.sqrt() * 0).sum().backward())
w.grad.inner, r

# hooks on what a wrapper saves, and checkpoints
checkpoint = importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    (w * w).exp().sum().backward()
with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
    (w * w).exp().sum().backward()
checkpoint(lambda a: (a * a).tanh().sum(), w, use_reentrant=False).backward()
w.grad.inner

# the memory of a wrapper
w = Wrapper(torch.tensor([1., 2.]), requires_grad=True)
names(w.data), w.data.inner, w.data.requires_grad, w.storage_offset(), kind(lambda: w.detach().numpy()), kind(lambda: np.asarray(w.detach()))

# handlers recognise operations by the names of ATen
aten = torch.ops.aten
seen = []
class Handles(T):
    @staticmethod
    def __new__(cls, inner):
        return T._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
    def __init__(self, inner):
        self.inner = inner
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append((func._schema.name, func.overloadpacket.__name__, func.namespace, func in table, func.overloadpacket == aten.mul))
        return Handles(func(*[a.inner if isinstance(a, Handles) else a for a in args], **(kwargs or {})))
table = {aten.add.Tensor: "sum", aten.sin.default: "sine", aten.detach.default: "detach", aten.max.dim: 1, aten._softmax.default: 2}
x = Handles(torch.ones(2, 2))
x + x, x.sin(), x * x, x.detach(), x.view(4), x / x, x.to(torch.float64), x.sum(0), torch.nn.functional.relu(x)
seen

# in-place operations have names of ATen too
aten = torch.ops.aten
seen = []
class Sees(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen.append((func._schema.name, func in (aten.add_.Tensor, aten.mul_.Tensor, aten.zero_.default)))
        return func(*args, **(kwargs or {}))
x = torch.ones(2)
with Sees():
    x.add_(x); x.mul_(2); x.zero_(); x.copy_(torch.ones(2)) if False else None
seen, str(aten.add), aten.add.__name__, kind(lambda: aten.nothing_like_it), kind(lambda: aten.add.nothing), aten.sin(torch.zeros(1)), "default" in aten.sin.overloads()

# asking whether functions are overridden
o = torch.overrides
p, x = plain(1.), torch.ones(1)
o.has_torch_function_unary(p), o.has_torch_function_unary(x), o.has_torch_function_variadic(x, 3, p), o.has_torch_function_variadic(x, None)

# the lists of functions
o = torch.overrides
functions, stand_ins = o.get_overridable_functions(), o.get_testing_overrides()
([f in functions[torch] for f in (torch.add, torch.stack, torch.is_tensor)], T.add_ in functions[T], T.numel in functions[T],
 [f in stand_ins for f in (torch.sin, T.add_, torch.is_tensor)], stand_ins[torch.sin](1), stand_ins[torch.add](1, 2),
 [f in o.get_ignored_functions() for f in (torch.is_tensor, torch.manual_seed, torch.add)],
 [o.is_tensor_method_or_property(f) for f in (T.add_, T.shape.__get__, torch.ones, torch.cat)],
 [(o.resolve_name(f) or "none").partition(".")[2] for f in (torch.add, T.add_, T.shape.__get__, T.grad.__set__, torch.nn.functional.mse_loss, len)])

# functions of the user's own
@torch.overrides.wrap_torch_function(lambda x, y: (x, y))
def both(x, y):
    "Both."
    return x + y
p = logged(1.)
log.clear()
r = both(torch.ones(1), p)
both.__name__, both.__doc__, names(r, both(torch.ones(1), torch.ones(1))), log

# hooks on saved tensors, pushed by hand
A = torch._C._autograd
def pack(x):
    log.append("pack")
    return x
A._push_saved_tensors_default_hooks(pack, lambda x: x)
x = torch.ones(2, requires_grad=True)
y = (x * x).sum()
top = A._top_saved_tensors_default_hooks(False)[0] is pack
A._pop_saved_tensors_default_hooks()
y.backward()
A._saved_tensors_hooks_disable("not now")
states = [(A._saved_tensors_hooks_is_enabled(), A._saved_tensors_hooks_get_disabled_error_message())]
refused = kind(lambda: A._push_saved_tensors_default_hooks(pack, pack))
A._saved_tensors_hooks_enable()
x.grad, log, top, states, refused, A._saved_tensors_hooks_is_enabled(), A._top_saved_tensors_default_hooks(False)

# names under _C
functions, x = torch._C._functions, torch.ones(2, requires_grad=True)
z = torch.ones(1).add_(1)
torch._C._autograd._unsafe_set_version_counter((z,), (0,))
ref = torch._C._WeakTensorRef(z)
before, version = ref.expired(), z._version
del z
(isinstance((x * x).grad_fn, functions.MulBackward0), isinstance(x.sin().grad_fn, functions.CosBackward0), kind(lambda: functions.NoBackward0),
 isinstance((x * x).grad_fn.next_functions[0][0], functions.AccumulateGrad), version, before, ref.expired())

# helpers for arguments and unit vectors
e = importlib.import_module(torch.__name__ + "._functorch.eager_transforms")
x, y = torch.ones(2, dtype=torch.float64), torch.ones(1, 3)
(e._construct_standard_basis_for([x, y], [2, 3]), list(e._chunked_standard_basis_for_([x, y], [2, 3], chunk_size=2)),
 e._slice_argnums((1, 2, 3), (0, -1)), e._slice_argnums((1, 2, 3), -1), e._slice_argnums((1, 2, 3), 1, as_tuple=False),
 e._validate_and_wrap_argnum(-1, 3), e._validate_and_wrap_argnums((0, -1), 3), kind(lambda: e._validate_and_wrap_argnum(3, 3)))
"""

DISPATCH = """
import importlib
TorchDispatchMode = importlib.import_module(torch.__name__ + ".utils._python_dispatch").TorchDispatchMode
class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        log.append(func.__name__.partition(".")[0])
        return func(*args, **(kwargs or {}))
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program):
    """Subclasses and modes behave as PyTorch's."""
    same(PRELUDE + DISPATCH + program)


def test_a_deep_copy_of_a_subclass_keeps_class_and_attributes():
    """PyTorch refuses unless the class has a new_empty of its own; here the class needs nothing."""

    class Metres(dt.Tensor):
        pass

    x = dt.ones(2).as_subclass(Metres)
    x.tag = ["a"]
    with dt.no_grad():
        y = copy.deepcopy(x)
    assert type(y) is Metres
    assert y.tag == ["a"]
    assert y.tag is not x.tag


def test_numpy_functions_ask_the_class():
    """np.sin of a subclass goes the way of dt.sin."""
    seen = []

    class Logged(dt.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = dt.ones(2).as_subclass(Logged)
    y = np.sin(x) * np.ones(2, np.float32)
    assert seen == [dt.sin, dt.mul]
    assert type(y) is Logged
    assert type(np.ones(2, np.float32) * x) is Logged


def test_a_wrapper_without_memory_says_so():
    """What reaches for the values of a wrapper is told that there are none."""

    class Hollow(dt.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    w = dt.Tensor._make_wrapper_subclass(Hollow, (2,))
    with pytest.raises(TypeError, match="NotImplemented"):
        w + 1
    with pytest.raises((TypeError, RuntimeError), match="dispatch|convert"):
        w.numpy()


def test_one_function_is_function_method_and_overload():
    """A handler has one name to compare with, whichever of PyTorch's it takes."""
    assert dt.ops.aten.add.Tensor is dt.ops.aten.add.Scalar is dt.add is dt.Tensor.add
    assert dt.overrides.is_tensor_method_or_property(dt.add)
    assert dt.ops.aten.max.dim is not dt.ops.aten.max.default


FIRST = {
    "dt.ones(2, Duck())": "ones",
    "x.reshape(Duck(), 1)": "reshape",
    "x[Duck()]": "__getitem__",
    "x.add_(Duck())": "add_",
    "dt.where(x > 1, Duck(), x)": "where",
    "x + Duck()": "add",
    "dt.autograd.grad([Duck()], [x])": "grad",
    "x.sum(Duck())": "sum",
    "dt.nn.functional.linear(x, Duck())": "linear",
    "dt.autograd.backward(Duck())": "backward",
    "x.__setitem__(Duck(), 0) or seen[-1]": "__setitem__",
    "x.repeat(Duck())": "repeat",
    "dt.zeros_like(Duck())": "zeros_like",
}


def test_the_first_object_with_the_protocol_is_asked():
    """Until something overrides operations nobody looks at arguments; the first that has the protocol is found all
    the same, by the name of what was called.
    """
    import subprocess
    import sys

    program = """
import sys, dualtape as dt, dualtape.overrides.active_overrides as o
seen = []
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func.__name__)
        return func.__name__
x = dt.ones(2)
for call in sys.argv[1:]:
    print(eval(call))
    o.active_overrides.clear()
"""
    done = subprocess.run([sys.executable, "-c", program, *FIRST], capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(FIRST.values())


def test_a_function_that_reads_values_loses_no_gradient_in_silence():
    """What its class computes of a whole function has no history: where a gradient would be lost, that is refused."""
    from dualtape.arrays.absent import NoMemory
    from dualtape.overrides.active_overrides import overridable

    class Wrapper(dt.Tensor):
        @staticmethod
        def __new__(cls, inner, requires_grad=False):
            return dt.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=requires_grad)

        def __init__(self, inner, requires_grad=False):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return cls(func(*[a.inner if isinstance(a, Wrapper) else a for a in args], **(kwargs or {})))

    doubled = overridable(lambda x: dt.from_numpy(x._array + x._array), composite="doubled")
    assert doubled(Wrapper(dt.ones(2))).inner.tolist() == [2.0, 2.0]
    with pytest.raises(NoMemory, match="no memory of its own"):
        doubled(Wrapper(dt.ones(2), requires_grad=True))


def test_programs_without_subclasses_pay_nothing():
    """Importing the package, and parameters, leave the watch off."""
    import subprocess
    import sys

    program = "import dualtape as dt, dualtape.overrides.active_overrides as o; p = dt.nn.Parameter(dt.ones(2)); (p * 2).sum().backward(); print(o.active_overrides)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_keywords_come_to_an_override_as_they_were_given() -> None:
    seen: list = []

    class Noting(dt.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            seen.append((len(args), dict(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs)

    x = dt.ones(2, 2).as_subclass(Noting)
    seen.clear()
    dt.sum(x, dim=0)
    dt.sum(x, dim=0, keepdim=True)
    dt.sum(input=x, dim=1)
    dt.mul(x, other=2.0)
    dt.addmm(dt.ones(2, 2), x, x, beta=0.5)
    assert [s for s in seen if s[0] < 2 or s[1]][:5] == [
        (1, {"dim": 0}),
        (1, {"dim": 0, "keepdim": True}),
        (0, {"input": x, "dim": 1}),
        (1, {"other": 2.0}),
        (3, {"beta": 0.5}),
    ]
    noted: list = []

    class Mode(dt.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            noted.append((len(args), dict(kwargs or {})))
            return func(*args, **(kwargs or {}))

    plain = dt.ones(2, 2)
    with Mode():
        dt.sum(plain, dim=0)
        dt.mul(plain, other=2.0)
    assert noted == [(1, {"dim": 0}), (1, {"other": 2.0})]


@needs_torch
def test_objects_that_are_asked_but_have_no_operators_stand_on_either_side() -> None:
    same("""
class Asked:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return "asked"

import operator
names = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge".split()
x = torch.ones(2)
[(n, getattr(operator, n)(Asked(), x), getattr(operator, n)(x, Asked())) for n in names]
""")
