"""Hooks: the same program writes the same log on dualtape and on PyTorch."""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same, torch

PRELUDE = """
grad = torch.autograd.grad
log = []
def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype or torch.float64, requires_grad=True)
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__
def shown(value):
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        return [shown(v) for v in value]
    return value.tolist() if isinstance(value, torch.Tensor) else value
def note(*what):
    log.append([shown(w) for w in what])
def tells(*what):
    return lambda *args: note(*what, *args)
one = torch.ones(1, dtype=torch.float64)
"""

PROGRAMS = """
# the order around one node
x = leaf(2.)
y = x.exp()
y.register_hook(tells("tensor"))
y.grad_fn.register_hook(tells("post"))
y.grad_fn.register_prehook(tells("pre"))
y.retain_grad()
y.register_hook(lambda g: note("retained", y.grad))
x.register_hook(tells("leaf"))
x.register_post_accumulate_grad_hook(lambda t: note("accumulated", t.grad))
y.backward()
log

# a node's hooks see gradients as the next nodes get them
x, y, z = torch.tensor([[1.], [2.]], requires_grad=True), leaf(3., 4.), torch.tensor([1j, 2.], requires_grad=True)
for graph in (False, True):
    for v in (x * y, y + z):
        def hook(inputs, outputs):
            log.append([(g.shape, g.dtype) for g in inputs])
            return tuple(g * 2 for g in inputs)
        v.grad_fn.register_hook(hook)
        v.real.sum().backward(create_graph=graph)
log, [t.grad.detach() for t in (x, y, z)]

# the node of a tensor among the inputs of backward runs
x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
h = x * w
h.grad_fn.register_hook(tells("after"))
h.grad_fn.register_prehook(tells("before"))
(h.sin() * h).sum().backward(inputs=[h])
log, shown(h.grad), shown(x.grad), kind(lambda: h.sum().backward())

# the node of a tensor among the inputs of backward beside a leaf runs for the leaf
x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
h = x * w
h.grad_fn.register_hook(tells("after"))
(h.sin() * h).sum().backward(inputs=[h, w])
log, shown(h.grad), shown(x.grad), shown(w.grad)

# a hook of what leads nowhere is not called
x = leaf(1.0, 2.0)
with torch.no_grad():
    v = x.view(2)
w = v.view(2)
y = (x + w).sum()
w.register_hook(tells("w"))
grad(y, x), log

# hooks run in the order in which they were registered
y = leaf(2.) * 1
for k in range(3):
    y.register_hook(tells(k))
y.backward()
log

# hooks of a leaf used twice run once
x = leaf(2.)
x.register_hook(tells("leaf"))
(x * 3 + x * 4).backward()
log, x.grad

# replacement passes along
x = leaf(2.)
y = x * 3
y.register_hook(lambda g: g * 2)
y.register_hook(tells("second"))
y.register_hook(lambda g: g * 5)
y.backward()
log, x.grad

# a replaced gradient is what is retained if registered first
x = leaf(2.)
y = x * 3
y.register_hook(lambda g: g * 2)
y.retain_grad()
y.backward()
y.grad, x.grad

# a gradient replaced after retain_grad
x = leaf(2.)
y = x * 3
y.retain_grad()
y.register_hook(lambda g: g * 2)
y.backward()
y.grad, x.grad

# retain_grad twice
x = leaf(2.)
y = x * 3
y.retain_grad()
y.retain_grad()
y.backward()
y.grad, y.retains_grad, x.retains_grad

# retain_grad on a leaf and on a constant
x = leaf(2.)
x.retain_grad()
x.retains_grad, kind(lambda: torch.ones(1).retain_grad())

# a leaf hook replaces what is accumulated
x = leaf(2.)
x.register_hook(lambda g: g * 10)
(x * 3).backward()
x.grad

# a hook that returns something else
y = leaf(2.) * 3
y.register_hook(lambda g: 3)
kind(lambda: y.backward())

# a hook that returns another shape
y = leaf(2.) * 3
y.register_hook(lambda g: torch.ones(2, dtype=torch.float64))
kind(lambda: y.backward())

# a hook that returns another dtype
y = leaf(2.) * 3
y.register_hook(lambda g: g.float())
kind(lambda: y.backward())

# a hook on a constant
kind(lambda: torch.ones(1).register_hook(tells("no"))), kind(lambda: torch.ones(1).register_post_accumulate_grad_hook(tells("no")))

# a post-accumulate hook on a non-leaf
kind(lambda: (leaf(2.) * 3).register_post_accumulate_grad_hook(tells("no")))

# a post-accumulate hook's result is ignored or not
x = leaf(2.)
x.register_post_accumulate_grad_hook(lambda t: 3)
kind(lambda: (x * 3).backward())

# a post-accumulate hook that returns a tensor
x = leaf(2.)
x.register_post_accumulate_grad_hook(lambda t: t.grad * 2)
kind(lambda: (x * 3).backward())

# a post-accumulate hook may reset the gradient
x = leaf(2.)
def step(t):
    with torch.no_grad():
        t -= t.grad
    t.grad = None
x.register_post_accumulate_grad_hook(step)
(x * 3).backward()
x, x.grad

# post-accumulate hooks in order and removed
x = leaf(2.)
h = x.register_post_accumulate_grad_hook(tells("a"))
x.register_post_accumulate_grad_hook(tells("b"))
(x * 3).backward()
h.remove()
(x * 3).backward()
log

# post-accumulate hooks do not run for grad
x = leaf(2.)
x.register_post_accumulate_grad_hook(tells("post"))
x.register_hook(tells("pre"))
grad(x * 3, x)
log

# removing a hook
y = leaf(2.) * 3
h = y.register_hook(tells("hook"))
y.backward(retain_graph=True)
h.remove()
h.remove()
y.backward()
log

# a handle as a context
y = leaf(2.) * 3
with y.register_hook(tells("hook")):
    y.backward(retain_graph=True)
y.backward()
log

# a hook that removes itself
y = leaf(2.) * 3
handles = []
def hook(g):
    note("once")
    handles[0].remove()
handles.append(y.register_hook(hook))
y.register_hook(tells("other"))
y.backward(retain_graph=True)
y.backward()
log

# a hook that removes a later one
y = leaf(2.) * 3
handles = []
def hook(g):
    note("first")
    handles[0].remove()
y.register_hook(hook)
handles.append(y.register_hook(tells("second")))
y.backward(retain_graph=True)
y.backward()
log

# a hook that registers another
y = leaf(2.) * 3
def hook(g):
    note("first")
    if len(log) == 1:
        y.register_hook(tells("later"))
y.register_hook(hook)
y.backward(retain_graph=True)
n = len(log)
y.backward()
log[n:]

# a hook that raises
x = leaf(2.)
y = x * 3
calls = []
def hook(g):
    calls.append(1)
    if len(calls) == 1:
        raise KeyError("no")
y.register_hook(hook)
kind(lambda: y.backward(retain_graph=True)), kind(lambda: y.backward()), x.grad, torch.is_grad_enabled()

# a leaf hook that raises
x = leaf(2.)
def hook(g):
    raise KeyError("no")
h = x.register_hook(hook)
y = x * 3
a = kind(lambda: y.backward(retain_graph=True))
b = x.grad
h.remove()
y.backward()
a, b, x.grad

# hooks with grad to a leaf
x, w = leaf(2.), leaf(3.)
y = x * w
y.register_hook(tells("y"))
x.register_hook(lambda g: (note("x", g), g * 10)[1])
w.register_hook(tells("w"))
r = grad(y, x)
log, r

# hooks with grad to a non-leaf
x = leaf(2.)
y = x * 3
z = y * y
y.register_hook(lambda g: (note("y", g), g * 10)[1])
y.grad_fn.register_prehook(tells("pre"))
y.grad_fn.register_hook(tells("post"))
x.register_hook(tells("x"))
r = grad(z, y)
log, r

# retain_grad with grad
x = leaf(2.)
y = x * 3
z = y * y
y.retain_grad()
r = grad(z, x)
y.grad, r

# retain_grad with grad to itself
x = leaf(2.)
y = x * 3
z = y * y
y.retain_grad()
r = grad(z, y)
y.grad, r

# retain_grad accumulates
x = leaf(2.)
y = x * 3
y.retain_grad()
y.backward(retain_graph=True)
y.backward()
y.grad, x.grad

# hooks with backward(inputs)
x, w = leaf(2.), leaf(3.)
x.register_hook(tells("x"))
w.register_hook(tells("w"))
x.register_post_accumulate_grad_hook(lambda t: note("post x"))
w.register_post_accumulate_grad_hook(lambda t: note("post w"))
y = x * w
y.register_hook(tells("y"))
y.backward(inputs=[x])
log, x.grad, w.grad

# hooks and create_graph
x = leaf(2.)
y = x * x
y.register_hook(lambda g: (note(g.requires_grad, torch.is_grad_enabled()), g * x)[1])
(g,) = grad(y * 3, x, create_graph=True)
(h,) = grad(g, x)
log, g, h

# grad mode in hooks
x = leaf(2.)
y = x * x
y.register_hook(lambda g: note(torch.is_grad_enabled(), g.requires_grad))
y.backward()
log

# a hook stays with the old node after an in-place write
x = leaf(2.)
y = x * 3
y.register_hook(tells("before"))
y.mul_(5)
y.register_hook(tells("after"))
y.backward()
log, x.grad

# retain_grad moves after an in-place write
x = leaf(2.)
y = x * 3
y.retain_grad()
y.mul_(5)
y.backward()
y.grad, x.grad, y.retains_grad

# hooks and retain_grad around an in-place write
x = leaf(2.)
y = x * 3
y.register_hook(tells("one"))
y.retain_grad()
y.register_hook(tells("two"))
y.mul_(5)
y.register_hook(tells("three"))
(y * 7).backward()
log, y.grad

# hooks of a base whose view is written
x = leaf(2., 3.)
y = x * 3
y.register_hook(tells("before"))
y.retain_grad()
y[0].mul_(5)
y.register_hook(tells("after"))
y.sum().backward()
log, y.grad, x.grad

# hooks of a view that is written
x = leaf(2., 3.)
y = x * 3
v = y[:1]
v.register_hook(tells("before"))
v.retain_grad()
v.mul_(5)
v.register_hook(tells("after"))
(y.sum() + v.sum()).backward()
log, v.grad, x.grad

# retain_grad of a view whose base is written
x = leaf(2., 3.)
y = x * 3
v = y[:1]
v.retain_grad()
y.mul_(5)
(y.sum() + v.sum() * 10).backward()
v.grad, x.grad

# a leaf that becomes a non-leaf
x = torch.ones(2, dtype=torch.float64)
w = leaf(2., 3.)
x.mul_(w)
x.register_hook(tells("x"))
x.sum().backward()
log

# a leaf with hooks that is written to
x = torch.ones(2, dtype=torch.float64, requires_grad=True)
x.register_hook(tells("leaf"))
with torch.no_grad():
    x.mul_(3)
(x * 2).sum().backward()
log

# a detached leaf with hooks
x = leaf(2.)
x.register_hook(tells("hook"))
kind(lambda: (x.detach_() * 2).backward())

# several outputs
x = leaf(2., 3.)
a, b = x.unbind(0)
a.register_hook(tells("a"))
b.register_hook(tells("b"))
(a * 2 + b * 5).backward()
log, x.grad

# several outputs, one unused
x = leaf(2., 3.)
a, b = x.unbind(0)
a.register_hook(tells("a"))
b.register_hook(tells("b"))
a.grad_fn.register_prehook(tells("pre"))
a.grad_fn.register_hook(tells("post"))
(a * 2).backward()
log, x.grad

# several roots, hooks on one that does not lead to what is asked for
x, y = leaf(2.), leaf(3.)
a, b = x * 2, y * 5
a.register_hook(tells("a"))
a.retain_grad()
x.register_hook(tells("x"))
b.register_hook(tells("b"))
grads = grad([a, b, x], y, [one, one, one])
log, grads, a.grad

# several outputs, hooks in another order
x = leaf(2., 3.)
a, b = x.unbind(0)
b.register_hook(tells("b"))
a.register_hook(tells("a"))
(a * 2 + b * 5).backward()
log

# an unused output replaced
x = leaf(2., 3.)
a, b = x.unbind(0)
b.register_hook(lambda g: one[0] * 7)
(a * 2).backward()
x.grad

# several outputs retained
x = leaf(2., 3.)
a, b = x.unbind(0)
a.retain_grad()
b.retain_grad()
(a * 2).backward()
a.grad, b.grad, x.grad

# node prehook replaces
x = leaf(2.)
y = x * 3
y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
y.grad_fn.register_prehook(tells("second"))
y.register_hook(tells("tensor"))
y.backward()
log, x.grad

# node prehook of the wrong kind
y = leaf(2.) * 3
y.grad_fn.register_prehook(lambda gs: 3)
kind(lambda: y.backward())

# node prehook that returns a bare tensor
x = leaf(2.)
y = x * 3
y.grad_fn.register_prehook(lambda gs: gs[0] * 2)
kind(lambda: y.backward()), x.grad

# node prehook of the wrong number
y = leaf(2.) * 3
y.grad_fn.register_prehook(lambda gs: (gs[0], gs[0]))
kind(lambda: y.backward())

# node prehook that returns None for a gradient
x = leaf(2.)
y = x * 3
y.grad_fn.register_prehook(lambda gs: (None,))
kind(lambda: y.backward()), x.grad

# node posthook replaces
x, w = leaf(2.), leaf(3.)
y = x * w
y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, gi[1]))
y.grad_fn.register_hook(tells("second"))
y.backward()
log, x.grad, w.grad

# node posthook of a node with one input
x = leaf(2.)
y = x.exp()
y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10,))
y.backward()
x.grad

# node posthook that returns a bare tensor
x = leaf(2.)
y = x.exp()
y.grad_fn.register_hook(lambda gi, go: gi[0] * 10)
kind(lambda: y.backward()), x.grad

# node posthook with a constant input
x = leaf(2.)
y = x * one
y.grad_fn.register_hook(tells("post"))
y.backward()
log

# node posthook that replaces by None
x = leaf(2.)
y = x.exp()
y.grad_fn.register_hook(lambda gi, go: (None,))
y.backward()
x.grad

# node posthook of the wrong number
y = leaf(2.).exp()
y.grad_fn.register_hook(lambda gi, go: (gi[0], gi[0]))
kind(lambda: y.backward())

# node posthook of the wrong kind
y = leaf(2.).exp()
y.grad_fn.register_hook(lambda gi, go: (3,))
kind(lambda: y.backward())

# hooks on an accumulator
x = leaf(2.)
y = x * 3
a = y.grad_fn.next_functions[0][0]
a.register_hook(lambda gi, go: note("post", gi, go, x.grad))
a.register_prehook(lambda go: (note("pre", go, x.grad), (go[0] * 2,))[1])
x.register_hook(lambda g: note("tensor", g, x.grad))
x.register_post_accumulate_grad_hook(lambda t: note("accumulated", t.grad))
y.backward()
log, x.grad

# hooks on an accumulator under grad
x = leaf(2.)
y = x * 3
a = y.grad_fn.next_functions[0][0]
a.register_hook(lambda gi, go: note("post", gi, go))
a.register_prehook(lambda go: note("pre", go))
x.register_hook(lambda g: note("tensor", g))
grad(y, x)
log

# hooks of two leaves, in which order they run
x, w = leaf(2.), leaf(3.)
x.register_hook(tells("x"))
w.register_hook(tells("w"))
(x * w).backward()
log

# hooks along a chain
x = leaf(2.)
a = x * 2
b = a.exp()
c = a.sin()
d = b * c
for name, t in dict(x=x, a=a, b=b, c=c, d=d).items():
    t.register_hook(lambda g, name=name: note(name))
    if t.grad_fn is not None:
        t.grad_fn.register_prehook(lambda g, name=name: note("pre " + name))
        t.grad_fn.register_hook(lambda gi, go, name=name: note("post " + name))
    else:
        t.register_post_accumulate_grad_hook(lambda t, name=name: note("accumulated " + name))
d.backward()
log

# backward inside a hook
x, w = leaf(2.), leaf(5.)
y = x * 3
def hook(g):
    with torch.enable_grad():
        (w * g.detach() * 2).backward()
    note(w.grad)
y.register_hook(hook)
y.backward()
log, x.grad, w.grad

# grad inside a hook of the same graph
x = leaf(2.)
a = x * 3
b = a.exp()
def hook(g):
    note(grad(a, x, retain_graph=True)[0])
b.register_hook(hook)
b.backward()
log, x.grad

# a hook that writes to the gradient
x = leaf(2.)
y = x * 3
def hook(g):
    g.mul_(2)
y.register_hook(hook)
y.backward()
x.grad

# hooks on a result of a custom Function
class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3
    @staticmethod
    def backward(ctx, g, h):
        note("backward", g, h)
        return g * 2 + h * 3
x = leaf(2.)
a, b = Mine.apply(x)
b.register_hook(tells("b"))
a.register_hook(tells("a"))
a.grad_fn.register_prehook(tells("pre"))
a.grad_fn.register_hook(tells("post"))
a.backward()
log, x.grad

# hooks survive a second backward
x = leaf(2.)
y = x * 3
y.register_hook(tells("y"))
y.backward(retain_graph=True)
y.backward()
log, x.grad

# a hook on a tensor that another graph uses
x = leaf(2.)
y = x * 3
y.register_hook(tells("y"))
(y * 2).backward()
(y * 5).backward()
log, x.grad

# hooks of an expanded gradient
x = leaf(2., 3.)
x.register_hook(tells("x"))
x.sum().backward()
log

# hooks of a gradient that must be summed
x = leaf(2.)
x.register_hook(tells("x"))
(x * torch.ones(3, dtype=torch.float64)).sum().backward()
log

# requires_grad switched off after a hook was registered
x = leaf(2.)
x.register_hook(tells("x"))
y = x * 3
x.requires_grad_(False)
kind(lambda: y.backward()), log, x.grad

# a non-leaf in backward(inputs)
x = leaf(2.)
y = x * 3
z = y * y
y.register_hook(tells("y"))
x.register_hook(tells("x"))
z.backward(inputs=[y])
log, y.grad, x.grad
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_same_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


def test_a_captured_gradient_is_what_the_hooks_made_of_it() -> None:
    """PyTorch captures it before the hooks if the node also runs, and after them if it does not."""
    x = dt.tensor([2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    z = y * y
    assert dt.autograd.grad(z, [y], retain_graph=True)[0].item() == 120.0
    assert [g.item() for g in dt.autograd.grad(z, [y, x])] == [120.0, 360.0]


def test_a_hook_registered_after_the_base_was_written_runs() -> None:
    """PyTorch puts it on the view's old node, where it never runs, if the view had a hook before."""
    seen = []
    x = dt.tensor([2.0, 3.0], requires_grad=True)
    y = x * 3
    v = y[:1]
    v.register_hook(lambda g: seen.append("before"))
    y.mul_(5)
    v.register_hook(lambda g: seen.append("after"))
    v.sum().backward()
    assert seen == ["after"]


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_hook_that_cannot_be_called_is_refused_at_once(register: str) -> None:
    with pytest.raises(TypeError, match="callable"):
        getattr(dt.ones(1, requires_grad=True), register)(3)


def test_hooks_that_raise_leave_the_graph_usable() -> None:
    x = dt.tensor([2.0], requires_grad=True)
    y = x.exp()
    handle = y.grad_fn.register_prehook(lambda grads: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert dt.is_grad_enabled()
    handle.remove()
    y.backward()
    assert x.grad is not None


class World:
    """A random graph with random hooks, in one library; the same seed makes the same in the other."""

    def __init__(self, library: Any, seed: int) -> None:
        self.torch, self.random, self.log = library, random.Random(seed), []
        make = lambda: library.tensor(
            [self.random.uniform(-1, 1) for _ in range(2)], dtype=library.float64, requires_grad=True
        )
        self.leaves = [make() for _ in range(3)]
        self.tensors = list(self.leaves)
        self.handles: list = []
        self.nodes: list = []

        class Two(library.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                return x * y, x + y

            @staticmethod
            def backward(ctx, g, h):
                x, y = ctx.saved_tensors
                return g * y + h, g * x + h

        self.two = Two
        self.subclass = type("Sub", (library.Tensor,), {})
        self.checkpoint = library.utils.checkpoint.checkpoint

    def grow(self) -> None:
        x, y = self.random.choice(self.tensors), self.random.choice(self.tensors)
        kind = self.random.choice(
            [
                "unary",
                "unary",
                "binary",
                "binary",
                "stack",
                "two",
                "in place",
                "through a view",
                "checkpoint",
                "subclass",
                "saved",
                "complex",
            ]
        )
        if kind == "unary":
            result = [
                self.random.choice(
                    [lambda: x.sin(), lambda: x * 2, lambda: x.clone(), lambda: x.view(-1), lambda: x + 1]
                )()
            ]
        elif kind == "binary":
            result = [self.random.choice([lambda: x * y, lambda: x + y, lambda: x - y])()]
        elif kind == "stack":
            result = [part * 1 for part in self.torch.stack([x, y]).unbind(0)]
        elif kind == "two":
            result = list(self.two.apply(x, y))
        elif kind == "through a view":
            result = [x * 1]
            part = result[0][:1]
            self.hook(part)
            part.mul_(y[1:])
        elif kind == "checkpoint":
            result = [self.checkpoint(lambda a, b: (a * b).sin() + a, x, y, use_reentrant=False)]
        elif kind == "subclass":
            result = [((x * 1).as_subclass(self.subclass) * y).as_subclass(self.torch.Tensor)]
        elif kind == "saved":
            with self.torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t * 1):
                result = [x.tanh() * y]
        elif kind == "complex":
            result = [(self.torch.complex(x, y) * (1 + 2j)).abs()]
        else:
            result = [x * 1]
            self.hook(result[0])
            result[0].mul_(3)
        self.tensors.extend(result)

    def note(self, *what: Any) -> None:
        shown = lambda v: (
            v
            if isinstance(v, (str, int, type(None)))
            else [shown(i) for i in v]
            if isinstance(v, (tuple, list))
            else v.tolist()
        )
        self.log.append([shown(w) for w in what])

    def hook(self, x: Any = None) -> None:
        x = self.random.choice(self.tensors) if x is None else x
        tag, note = len(self.handles), self.note
        kind = self.random.choice(
            ["tell", "double", "retain", "pre", "post", "accumulated", "all", "any", "once", "remove"]
        )
        if kind == "tell":
            handle = x.register_hook(lambda g: note(tag, "tensor", g))
        elif kind == "double":
            handle = x.register_hook(lambda g: None if g is None else g * 2)
        elif kind == "once":
            handle = x.register_hook(lambda g: (note(tag, "once", g), self.handles[tag].remove())[1])
        elif kind == "retain":
            handle = x.retain_grad()
        elif kind in ("pre", "post"):
            node = self.torch.autograd.graph.get_gradient_edge(x).node
            self.nodes.append(node)  # PyTorch forgets a leaf's node, with its hooks, when nothing holds it
            register = node.register_prehook if kind == "pre" else node.register_hook
            handle = register(lambda *g: note(tag, kind, *g))
        elif kind == "accumulated":
            handle = self.random.choice(self.leaves).register_post_accumulate_grad_hook(
                lambda t: note(tag, "accumulated", t.grad)
            )
        elif kind in ("all", "any"):
            # no leaves: PyTorch refuses them under grad()
            several = list({id(t): t for t in self.random.choices(self.tensors[3:] or [x * 1], k=2)}.values())
            handle = self.torch.autograd.graph.register_multi_grad_hook(
                several, lambda g: note(tag, kind, g), mode=kind
            )
        else:
            handle = None
            known = [h for h in self.handles if h is not None]
            if known:
                self.random.choice(known).remove()
        self.handles.append(handle)

    def differentiate(self) -> None:
        outputs = self.random.sample(self.tensors[3:], min(2, len(self.tensors) - 3))
        total = sum((k + 1) * t.sum() for k, t in enumerate(outputs))
        how = self.random.choice(["backward", "backward", "grad", "inputs"])
        try:
            if how == "backward":
                total.backward(retain_graph=True)
            elif how == "grad":
                self.note("grads", self.torch.autograd.grad(total, self.leaves, retain_graph=True, allow_unused=True))
            else:
                total.backward(inputs=self.random.sample(self.leaves, 2), retain_graph=True)
        except RuntimeError as error:
            self.note("failed", type(error).__name__)
        self.note("state", [t.grad for t in self.tensors])

    def run(self) -> list:
        for _ in range(4):
            self.grow()
        for _ in range(3):
            for _ in range(3):
                self.grow()
                self.hook()
            self.differentiate()
        return self.log


@needs_torch
@pytest.mark.parametrize("start", range(4))
def test_random_graphs_with_random_hooks_write_the_same_log(start: int) -> None:
    """A deep run: ``DUALTAPE_EXAMPLES=20000 python -m pytest tests/autograd/test_hooks.py``."""
    count = int(os.environ.get("DUALTAPE_EXAMPLES", "200")) // 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(start * count, (start + 1) * count):
            ours, theirs = World(dt, seed).run(), World(torch, seed).run()
            for k, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
                assert _near(mine, other), f"seed {seed}: entry {k}: {mine} where PyTorch has {other}"
            assert len(ours) == len(theirs), f"seed {seed}"


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_near, a, b))
    numbers = isinstance(a, (float, complex)) and isinstance(b, (float, complex))
    return a == pytest.approx(b, rel=1e-9) if numbers else a == b


def test_hooks_on_a_leafs_node_last_as_long_as_the_leaf() -> None:
    seen = []
    x = dt.ones(1, requires_grad=True)
    dt.autograd.graph.get_gradient_edge(x).node.register_prehook(lambda grads: seen.append("pre"))
    (x * 2).backward()
    assert seen == ["pre"]


def test_a_hook_may_register_another_on_another_output_of_its_node() -> None:
    x = dt.tensor([3.0, 1.0, 2.0], requires_grad=True)
    parts = x.unbind()
    seen = []
    parts[0].register_hook(lambda g: seen.append(parts[1].register_hook(lambda g: None)))
    sum(parts).backward()
    assert len(seen) == 1 and x.grad.tolist() == [1.0, 1.0, 1.0]
