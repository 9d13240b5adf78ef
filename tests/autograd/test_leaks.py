"""Memory: what is freed at once, what by the garbage collector, and that what the graph shows is what the user holds.

Every program runs on both libraries with the collector off; it ends in what is still alive after the last reference
has gone, and after a collection.
"""

from __future__ import annotations

import gc
import weakref

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, outcome, same, torch

PRELUDE = """
import gc, weakref
grad = torch.autograd.grad
class Watched:
    def __init__(self):
        self.refs = []
    def add(self, *things):
        self.refs.extend(weakref.ref(thing) for thing in things)
        return things[0]
    def alive(self):
        return [ref() is not None for ref in self.refs]
watched = Watched()
def leaf(n=2):
    return watched.add(torch.ones(n, requires_grad=True))
def freed(build):
    gc.collect()
    kept = build()
    at_once = watched.alive()
    del kept
    dropped = watched.alive()
    gc.collect()
    return at_once, dropped, watched.alive()
"""

PROGRAMS = """
# a graph that is dropped
def build():
    x = leaf()
    y = watched.add((x * x).sin())
    return None
freed(build)

# a result keeps its leaves
def build():
    x = leaf()
    return watched.add((x * x).sin().sum())
freed(build)

# after backward the saved tensors are gone
def build():
    x = leaf()
    w = watched.add(torch.ones(2))
    y = (x * w).sum()
    y.backward()
    return y
freed(build)

# backward that keeps the graph
def build():
    x = leaf()
    y = watched.add((x * x).exp())
    z = y.sum()
    z.backward(retain_graph=True)
    return z
freed(build)

# a hook that closes over another tensor
def build():
    x = leaf()
    other = watched.add(torch.ones(1))
    y = x * 2
    y.register_hook(lambda g: g * other)
    return y
freed(build)

# a hook on a leaf that closes over the leaf
def build():
    x = leaf()
    x.register_hook(lambda g: g * x)
    return None
freed(build)

# a hook on a result that closes over the result
def build():
    x = leaf()
    y = watched.add(x * 2)
    y.register_hook(lambda g: g * y)
    return None
freed(build)

# a hook removed by its handle
def build():
    x = leaf()
    handle = x.register_hook(lambda g: g * x)
    handle.remove()
    return None
freed(build)

# a post-accumulate hook that closes over its leaf
def build():
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda p: None if x is p else None)
    (x * 2).sum().backward()
    return None
freed(build)

# a Function that saves its output the right way
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
def build():
    x = leaf()
    y = watched.add(Exp.apply(x))
    return None
freed(build)

# a Function that keeps its input as an attribute
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
def build():
    x = leaf()
    y = watched.add(Keep.apply(x))
    return None
freed(build)

# a tensor whose attribute is its loss
def build():
    x = leaf()
    x.loss = watched.add((x * 2).sum())
    return None
freed(build)

# a result whose attribute is a result of it
def build():
    x = leaf()
    y = watched.add(x * 2)
    y.next = watched.add(y.sin())
    return None
freed(build)

# in place on a view
def build():
    x = leaf()
    base = watched.add(x * 1)
    view = watched.add(base[0:1])
    view.mul_(3)
    return None
freed(build)

# in place on a view, the base kept
def build():
    x = leaf()
    base = watched.add(x * 1)
    view = watched.add(base[0:1])
    view.mul_(3)
    return base
freed(build)

# in place on a view, the view kept
def build():
    x = leaf()
    base = watched.add(x * 1)
    view = watched.add(base[0:1])
    view.mul_(3)
    return view
freed(build)

# in place on a result that is saved
def build():
    x = leaf()
    y = watched.add(x.exp())
    y.add_(1)
    return None
freed(build)

# retain_grad
def build():
    x = leaf()
    y = watched.add(x * 2)
    y.retain_grad()
    z = y.sum()
    z.backward()
    return z
freed(build)

# retain_grad, the result kept
def build():
    x = leaf()
    y = watched.add(x * 2)
    y.retain_grad()
    y.sum().backward()
    return y
freed(build)

# create_graph through grad
def build():
    x = leaf()
    g, = grad((x ** 3).sum(), x, create_graph=True)
    watched.add(g)
    return None
freed(build)

# create_graph through .grad is the cycle that the warning speaks of
def build():
    x = leaf()
    (x ** 3).sum().backward(create_graph=True)
    watched.add(x.grad)
    return None
freed(build)

# .grad set to None breaks that cycle
def build():
    x = leaf()
    (x ** 3).sum().backward(create_graph=True)
    watched.add(x.grad)
    x.grad = None
    return None
freed(build)

# a traceback that holds a graph
def build():
    x = leaf()
    try:
        y = watched.add(x * 2)
        raise KeyError
    except KeyError as error:
        kept = error.with_traceback(None)
    return kept
freed(build)

# an error in backward
def build():
    x = leaf()
    y = watched.add(x * 2)
    def hook(g):
        raise KeyError
    y.register_hook(hook)
    try:
        y.sum().backward()
    except KeyError:
        pass
    return None
freed(build)

# saved tensor hooks
def build():
    x = leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = watched.add((x * x).exp())
    return None
freed(build)

# detached aliases do not keep the graph
def build():
    x = leaf()
    y = watched.add(x * 2)
    return y.detach()
freed(build)

# a node keeps what it saved
def build():
    x = leaf()
    y = watched.add(x * 2)
    return y.sin().grad_fn
freed(build)

# multi-grad hooks
def build():
    x, y = leaf(), leaf()
    handle = torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: None)
    (x * y).sum().backward()
    return None
freed(build)

# identity of leaves
x = leaf()
y = x * 2
a, b = y.grad_fn.next_functions[0][0].variable, (x * 3).grad_fn.next_functions[0][0].variable
a is x, b is x

# identity of saved inputs
x = leaf()
w = torch.ones(2)
y = x * w
z = (y * x)
y.grad_fn._saved_other is w, z.grad_fn._saved_self is y, z.grad_fn._saved_other is x

# identity in a Function
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        found.append((a is x, b is w))
        return g * b, None
found = []
x, w = leaf(), torch.ones(2)
Mul.apply(x, w).sum().backward()
found

# a saved output is not the object, but shows the same history
x = leaf()
y = x.exp()
s = y.grad_fn._saved_result
s is y, s.grad_fn is y.grad_fn, s.data_ptr() == y.data_ptr()

# attributes of a tensor reached through the graph
class Named(torch.Tensor):
    pass
x = torch.ones(2).as_subclass(Named).requires_grad_()
x.tag = "x"
y = torch.ones(2) * x
node = y.grad_fn
while node.next_functions:
    node = [n for n, _ in node.next_functions if n is not None][0]
node.variable is x, type(node.variable).__name__, node.variable.tag

# a finaliser that brings its tensor back
saved = []
class Phoenix(torch.Tensor):
    def __del__(self):
        saved.append(self)
x = torch.ones(2).as_subclass(Phoenix)
x.tag = "still here"
del x
gc.collect()
y = saved.pop()
y.tag, y.tolist(), type(y).__name__

# a leaf brought back still works in the graph
saved = []
class Phoenix(torch.Tensor):
    def __del__(self):
        if not saved:
            saved.append(self)
x = torch.Tensor._make_subclass(Phoenix, torch.ones(2), True)
del x
gc.collect()
x = saved[0]
(x * 3).sum().backward()
x.grad.tolist(), x.requires_grad, x.is_leaf
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program):
    """Freed when PyTorch frees it, or earlier; and by the collector at the latest, which PyTorch's cycles through
    C++ are not.
    """
    gc.disable()
    try:
        if not program.endswith("freed(build)"):
            same(PRELUDE + program)
            return
        ours, theirs = outcome(PRELUDE + program, dt), outcome(PRELUDE + program, torch)
    finally:
        gc.enable()
    assert isinstance(ours, tuple) and isinstance(theirs, tuple), (ours, theirs)
    for stage, mine, other in zip(
        ("while something is kept", "after the last reference", "after a collection"), ours, theirs, strict=True
    ):
        assert all(not a or b for a, b in zip(mine, other, strict=True)), (
            f"{program}\n{stage}: {mine} is alive, where PyTorch has {other}"
        )
    assert not any(ours[-1]), f"{program}\nstill alive after a collection: {ours[-1]}"


def test_a_long_chain_is_freed_without_recursion():
    """Many nodes go at once, and not one inside another."""
    x = dt.ones(1, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + 1
    ref = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert ref() is None
    finally:
        gc.enable()


def test_the_collector_sees_the_graph():
    """What a node saved is found by gc.get_referents."""
    x = dt.ones(2, requires_grad=True)
    y = x * x
    seen, stack = set(), [y]
    while stack:
        item = stack.pop()
        if id(item) not in seen and not isinstance(item, type):
            seen.add(id(item))
            stack.extend(gc.get_referents(item))
    assert id(x) in seen
