"""Saved tensors: packing and unpacking, versions, freeing. Every program runs on dualtape and on PyTorch."""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
grad = torch.autograd.grad
hooks = torch.autograd.graph.saved_tensors_hooks
graph = torch.autograd.graph
same = lambda t: t
def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype or torch.float64, requires_grad=True)
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__
def enter():
    with hooks(same, same):
        pass
def said(function, phrase):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__, phrase in str(error)
"""

PROGRAMS = """
# default hooks see what is saved
log = []
x, w = leaf(2.), leaf(3.)
with hooks(lambda t: (log.append(("pack", t.tolist())), t)[1], lambda t: (log.append(("unpack", t.tolist())), t)[1]):
    y = x * w
    z = y.exp()
z.backward()
log, x.grad, w.grad

# what is saved is packed and unpacked by name
log = []
a, b, c = torch.full((2, 2), 1.5).requires_grad_(), torch.full((2, 2), 2.5).requires_grad_(), torch.full((2, 2), 0.5).requires_grad_()
seen = lambda what: lambda t: (log.append((what, t.flatten()[0].item())), t)[1]
with hooks(seen("pack"), seen("unpack")):
    results = [a * b, a / b, a @ b, a**b, torch.atan2(a, b), torch.lerp(a, b, c), torch.addmm(a, b, c), torch.hypot(a, b), torch.addcmul(a, b, c)]
for result in results:
    torch.autograd.grad(result.sum(), (a, b, c), allow_unused=True)
[(what, round(value, 4)) for what, value in log]

# hooks see only what the gradient needs
log = []
with hooks(lambda t: (log.append(t.tolist()), t)[1], same):
    y = leaf(2.) * torch.ones(1, dtype=torch.float64)
    y = y + 1
    y = y.sum()
log

# what a pack hook gets of a leaf
log = []
x = leaf(2.)
def pack(t):
    log.append((t is x, t.requires_grad, t.is_leaf, t._version))
    return t
with hooks(pack, same):
    y = x.sin()
log

# what a pack hook gets of a result
log = []
x = leaf(2.)
def pack(t):
    log.append((t.requires_grad, t.is_leaf, t.grad_fn is None))
    return t
with hooks(pack, same):
    y = x.exp()
log

# what a pack hook gets of a non-leaf
log = []
x = leaf(2.) * 2
def pack(t):
    log.append((t is x, t.requires_grad, t.is_leaf, t.grad_fn is None))
    return t
with hooks(pack, same):
    y = x.sin()
log

# grad mode in hooks
log = []
def pack(t):
    log.append(torch.is_grad_enabled())
    return t
def unpack(t):
    log.append(torch.is_grad_enabled())
    return t
x = leaf(2.)
with hooks(pack, unpack):
    y = x.sin()
grad(y, x, retain_graph=True)
grad(y, x, create_graph=True)
log

# packing to another type
x = leaf(2., 3.)
with hooks(lambda t: t.detach().numpy().copy(), lambda a: torch.from_numpy(a)):
    y = (x * x).exp().sum()
y.backward()
x.grad

# packing to another dtype
x = leaf(2., 3.)
with hooks(lambda t: t.detach().float(), lambda t: t.double()):
    y = (x * x).exp().sum()
(g,) = grad(y, x, create_graph=True)
(h,) = grad(g.sum(), x)
g, h

# double backward through hooks
x = leaf(2., 3.)
with hooks(lambda t: t.detach().clone(), same):
    y = (x ** 3).sum()
(g,) = grad(y, x, create_graph=True)
(h,) = grad(g.sum(), x)
g, h

# double backward under hooks
log = []
x = leaf(2.)
with hooks(lambda t: (log.append("p"), t)[1], lambda t: (log.append("u"), t)[1]):
    (g,) = grad((x ** 3).sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x)
g, h

# the innermost pair counts
log = []
x = leaf(2.)
with hooks(lambda t: (log.append("outer"), t)[1], same):
    with hooks(lambda t: (log.append("inner"), t)[1], same):
        y = x.sin()
    y = y.sin()
y = y.sin()
log

# leaving by an exception
log = []
x = leaf(2.)
try:
    with hooks(lambda t: (log.append("hook"), t)[1], same):
        raise KeyError
except KeyError:
    pass
x.sin()
log

# a pack hook that raises
def pack(t):
    raise KeyError("no")
x = leaf(2.)
with hooks(pack, same):
    a = kind(lambda: x.sin())
a, torch.is_grad_enabled(), kind(lambda: x.sin())

# an unpack hook that raises
def unpack(t):
    raise KeyError("no")
x = leaf(2.)
with hooks(same, unpack):
    y = x.sin()
kind(lambda: y.backward()), x.grad, torch.is_grad_enabled()

# a pack hook that writes
def pack(t):
    with torch.no_grad():
        t.mul_(2)
    return t
x = leaf(2.)
with hooks(pack, same):
    r = said(lambda: x.sin(), "modifying its input in place")
r

# a pack hook that writes to a result
def pack(t):
    with torch.no_grad():
        t.mul_(2)
    return t
x = leaf(2.)
with hooks(pack, same):
    r = said(lambda: x.exp(), "modifying its input in place")
r

# an unpack hook that returns a number
x = leaf(2.)
with hooks(same, lambda t: 3):
    y = x.sin()
kind(lambda: y.backward())

# an unpack hook that returns None
x = leaf(2.)
with hooks(same, lambda t: None):
    y = x.sin()
kind(lambda: y.backward())

# an unpack hook that returns another shape
x = leaf(2.)
with hooks(same, lambda t: torch.ones(3, dtype=torch.float64)):
    y = x.sin()
kind(lambda: y.backward())

# hooks of the wrong kind
kind(lambda: hooks(3, 4).__enter__())

# hooks take two arguments
kind(lambda: hooks(same))

# unpacked values are packed once and unpacked each time
log = []
x = leaf(2.)
with hooks(lambda t: (log.append("p"), t)[1], lambda t: (log.append("u"), t)[1]):
    y = x.sin()
y.backward(retain_graph=True)
y.backward()
log, x.grad

# hooks and in-place after packing a clone
x = leaf(2.)
t = x * 2
with hooks(lambda t: t.clone(), same):
    y = t.sin()
t.mul_(5)
y.backward()
x.grad

# hooks and in-place after packing the tensor itself
x = leaf(2.)
t = x * 2
with hooks(same, same):
    y = t.sin()
t.mul_(5)
r = kind(lambda: y.backward())
r, x.grad

# hooks and an in-place op
log = []
x = leaf(2.)
t = x * 2
with hooks(lambda t: (log.append(t.tolist()), t)[1], same):
    t.exp_()
    t.mul_(3)
t.backward()
log, x.grad

# register_hooks on an input
log = []
x = leaf(2.)
y = x.sin()
y.grad_fn._raw_saved_self.register_hooks(lambda t: (log.append(t is x), t * 2)[1], lambda t: (log.append(t.tolist()), t)[1])
y.backward()
log, x.grad

# register_hooks on an output
log = []
x = leaf(2.)
y = x.exp()
y.grad_fn._raw_saved_result.register_hooks(lambda t: (log.append((t.requires_grad, t.grad_fn is None)), t * 2)[1], lambda t: (log.append(t.tolist()), t)[1])
y.backward()
log, x.grad

# register_hooks twice
x = leaf(2.)
y = x.exp()
y.grad_fn._raw_saved_result.register_hooks(same, same)
kind(lambda: y.grad_fn._raw_saved_result.register_hooks(same, same))

# register_hooks after default hooks
x = leaf(2.)
with hooks(same, same):
    y = x.exp()
kind(lambda: y.grad_fn._raw_saved_result.register_hooks(same, same))

# register_hooks on a freed value
x = leaf(2.)
y = x.exp()
raw = y.grad_fn._raw_saved_result
y.backward()
kind(lambda: raw.register_hooks(same, same))

# register_hooks with a pack hook that writes
x = leaf(2.)
y = x.exp()
kind(lambda: y.grad_fn._raw_saved_result.register_hooks(lambda t: t.mul_(2), same))

# register_hooks with what is not callable
x = leaf(2.)
y = x.exp()
kind(lambda: y.grad_fn._raw_saved_result.register_hooks(3, same))

# register_hooks with an unpack hook of no argument
x = leaf(2.)
y = x.exp()
y.grad_fn._raw_saved_result.register_hooks(same, lambda: 1)
kind(lambda: y.backward())

# register_hooks keeps the version check
x = leaf(2.)
t = x * 1
y = t.sin()
y.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), same)
t.mul_(2)
kind(lambda: y.backward()), x.grad

# _saved_self through hooks
x = leaf(2.)
y = x.sin()
y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 10, lambda t: t)
y.grad_fn._saved_self

# _saved_result is attached again
x = leaf(2.)
y = x.exp()
s = y.grad_fn._saved_result
s is y, s.requires_grad, s.grad_fn is y.grad_fn, s

# _saved_self is the object itself
x = leaf(2.)
y = x.sin()
y.grad_fn._saved_self is x

# _saved_self of a non-leaf
x = leaf(2.) * 2
y = x.sin()
y.grad_fn._saved_self is x, y.grad_fn._saved_self.grad_fn is x.grad_fn

# saved attributes after the graph is freed
x = leaf(2.)
y = x.sin()
y.backward()
kind(lambda: y.grad_fn._saved_self), kind(lambda: y.grad_fn._raw_saved_self)

# saved attributes of plain values
x = leaf(2., 3.)
y = x.sum(0)
kind(lambda: y.grad_fn._saved_dim), kind(lambda: y.grad_fn._saved_nothing)

# a saved value that is not needed
x = leaf(2.)
y = x * 3
y.grad_fn._saved_self, y.grad_fn._saved_other is None

# a second backward
x = leaf(2.)
y = x.sin()
y.backward()
said(lambda: y.backward(), "second time")

# a second backward through what saves nothing
x = leaf(2.)
y = x + 1
y.backward()
y.backward()
x.grad

# written since it was saved
x = leaf(2.)
t = x * 1
y = t.sin()
t.add_(1)
said(lambda: y.backward(), "modified by an inplace operation"), said(lambda: y.grad_fn._saved_self, "modified by an inplace operation")

# a result written since it was saved
x = leaf(2.)
y = x.exp()
y.add_(1)
said(lambda: y.backward(), "modified by an inplace operation")

# a view written since its base was saved
x = leaf(2., 3.)
t = x * 1
y = t.sin()
t[0].add_(1)
said(lambda: y.sum().backward(), "modified by an inplace operation")

# data written is not noticed
x = leaf(2.)
t = x * 1
y = t.sin()
t.data.add_(1)
y.backward()
x.grad

# disabled hooks
with graph.disable_saved_tensors_hooks("not here"):
    r = said(enter, "not here")
r, kind(enter)

# disabled hooks nest
with graph.disable_saved_tensors_hooks("outer"):
    with graph.disable_saved_tensors_hooks("inner"):
        a = said(enter, "inner")
    b = said(enter, "outer")
a, b

# disabling while hooks are active
def f():
    with hooks(same, same):
        with graph.disable_saved_tensors_hooks("not here"):
            pass
said(f, "not here")

# disabled hooks as a decorator
@graph.disable_saved_tensors_hooks("not here")
def f():
    with hooks(same, same):
        pass
said(f, "not here")

# register_hooks while disabled
x = leaf(2.)
y = x.exp()
with graph.disable_saved_tensors_hooks("not here"):
    r = kind(lambda: y.grad_fn._raw_saved_result.register_hooks(same, same))
r

# save_on_cpu
x = leaf(2., 3.)
with graph.save_on_cpu():
    y = (x * x.exp()).sum()
y.backward()
x.grad

# save_on_cpu as a decorator
x = leaf(2., 3.)
with graph.save_on_cpu(pin_memory=False):
    y = (x * x.exp()).sum()
(g,) = grad(y, x, create_graph=True)
(h,) = grad(g.sum(), x)
g, h

# allow_mutation_on_saved_tensors
x = leaf(2., 3.)
with graph.allow_mutation_on_saved_tensors():
    t = x * 1
    y = t.sin()
    t.mul_(5)
    y.sum().backward()
x.grad

# allow_mutation clones a tensor once, however often it was saved
x = leaf(2., 3.)
with graph.allow_mutation_on_saved_tensors() as context:
    t = x * 1
    y = t * t + t.sin()
    t.mul_(5)
    first = len(context.cloned)
    y = y + t * t + t[:1].cos() + t.cos()
    t.mul_(7)
    second = len(context.cloned)
    y.sum().backward()
first, second, x.grad

# allow_mutation twice
x = leaf(2., 3.)
with graph.allow_mutation_on_saved_tensors():
    t = x * 1
    y = t.sin()
    t.mul_(5)
    z = t.cos()
    t.mul_(7)
    (y + z).sum().backward()
x.grad, t

# allow_mutation of a view
x = leaf(2., 3.)
with graph.allow_mutation_on_saved_tensors():
    t = x * 1
    y = t[0].sin()
    t.mul_(5)
    y.backward()
x.grad

# allow_mutation of a result
x = leaf(2., 3.)
with graph.allow_mutation_on_saved_tensors():
    y = x.exp()
    z = y * 1
    y.mul_(5)
    z.sum().backward()
x.grad

# allow_mutation without any
x = leaf(2., 3.)
with graph.allow_mutation_on_saved_tensors():
    (x * x).exp().sum().backward()
x.grad

# backward after allow_mutation has ended
x = leaf(2., 3.)
with graph.allow_mutation_on_saved_tensors():
    y = (x * 1).sin()
said(lambda: y.sum().backward(), "allow_mutation_on_saved_tensors")

# allow_mutation nested
def f():
    with graph.allow_mutation_on_saved_tensors():
        with graph.allow_mutation_on_saved_tensors():
            pass
kind(f)

# allow_mutation and clear
x = leaf(2., 3.)
with graph.allow_mutation_on_saved_tensors() as ctx:
    t = x * 1
    y = t.sin()
    t.mul_(5)
    n = len(ctx.cloned)
    y.sum().backward()
    m = len(ctx.cloned)
n, m

# increment_version
x = leaf(2.).detach()
graph.increment_version(x)
graph.increment_version([x, x])
x._version

# hooks on what was saved as None
class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g
x = leaf(2., 3.)
raws = [(x * 2.0).grad_fn._raw_saved_self, Keeps.apply(x).grad_fn._raw_saved_tensors[1]]
[(raw.data, said(lambda: raw.register_hooks(same, same), "with value None is forbidden")) for raw in raws]

# increment_version of an inference tensor, among others
with torch.inference_mode():
    i = torch.ones(2)
x = torch.ones(2)
graph.increment_version(i)
graph.increment_version([x, i])
x._version, kind(lambda: graph.increment_version(3)), kind(lambda: graph.increment_version([3]))

# increment_version of a saved tensor
x = leaf(2.)
t = x * 1
y = t.sin()
graph.increment_version(t)
kind(lambda: y.backward())

# unsafe_preserve_version_counter
x = leaf(2.)
t = x * 1
y = t.sin()
with torch.autograd._unsafe_preserve_version_counter(t):
    t.mul_(2)
v = t._version
y.backward()
v, x.grad

# unsafe_preserve_version_counter of several
a, b = torch.ones(1), torch.ones(1)
with torch.autograd._unsafe_preserve_version_counter((a, b)):
    a.mul_(2)
    b.mul_(2)
    v = a._version
v, a._version, b._version

# the raw object
x = leaf(2.)
y = x.sin()
raw = y.grad_fn._raw_saved_self
raw.unpack() is x, raw.data, raw.unpack_hook is None

# the raw object with hooks
x = leaf(2.)
with hooks(lambda t: "packed", lambda p: torch.ones(1, dtype=torch.float64) * 7):
    y = x.sin()
raw = y.grad_fn._raw_saved_self
raw.data, raw.unpack(), raw.unpack_hook is None

# lists of saved tensors
x, w = leaf(2.), leaf(3.)
log = []
with hooks(lambda t: (log.append(t.tolist()), t)[1], same):
    y = torch.stack([x, w]).prod()
y.backward()
x.grad, w.grad

# an op with several outputs
log = []
x = leaf(2., 5., 3.)
with hooks(lambda t: (log.append(t.tolist()), t)[1], same):
    v, i = x.max(0)
v.backward()
x.grad

# hooks and a hook's own operations
log = []
x = leaf(2.)
def pack(t):
    log.append("p")
    return t * 2
with hooks(pack, lambda t: t / 2):
    y = x.sin()
y.backward()
log, x.grad

# what is saved beside tensors is shown as it is
x = torch.ones(2, 3, requires_grad=True)
x.sum((0, 1)).grad_fn._saved_dim, x.permute(1, 0).grad_fn._saved_dims, x.max(0)[0].grad_fn._saved_dim, x.clamp(max=1.0).grad_fn._saved_min

# only one pair of hooks may be registered
x = leaf(2.); y = x.exp(); saved = y.grad_fn._raw_saved_result; saved.register_hooks(same, same)
said(lambda: saved.register_hooks(same, same), "already been set")

# indices that hooks unpack have no history
log = []
x = torch.tensor([[1., 3.], [2., 0.]], requires_grad=True)
with hooks(same, lambda t: (log.append((t.dtype, t.requires_grad)), t.clone())[1]):
    y, places = x.max(1)
node = y.grad_fn; shown = node._saved_indices
grad(y.sum(), x), str(shown.dtype)[-5:], shown.requires_grad, [r for _, r in log]

# hooks may be registered for what was saved before it is gone back through with a graph
x = leaf(0.5, 2.); b = x.clone()
with hooks(same, lambda t: t):
    b[:1].exp_(); b[1:].tanh_()
first, = grad((b * b).sum(), x, create_graph=True); second, = grad(first.sum(), x, retain_graph=True)
again, = grad(first.sum(), x, retain_graph=True); third = grad((b * b).sum(), x)
first, second, again, third

# hooks inside a level of forward mode keep tangents
fwAD = torch.autograd.forward_ad; log = []
with fwAD.dual_level():
    x = fwAD.make_dual(leaf(0.5, 2.), torch.ones(2, dtype=torch.float64))
    with hooks(lambda t: (log.append(t.tolist()), t)[1], same):
        y = (x * x).exp()
    first, = grad(y.sum(), x, create_graph=True); found = fwAD.unpack_dual(first).tangent
found, first, log[:2]
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_same_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


def test_packing_a_result_as_it_is_makes_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = dt.tensor([1.0], requires_grad=True)
        with dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = x.exp()
        refs = [weakref.ref(y), weakref.ref(y.grad_fn)]
        del y
        assert [ref() for ref in refs] == [None, None]
    finally:
        gc.enable()


def test_what_was_packed_goes_when_backward_has_used_it() -> None:
    class Packed:
        def __init__(self, tensor):
            self.tensor = tensor.detach().clone()

    refs = []

    def pack(tensor):
        packed = Packed(tensor)
        refs.append(weakref.ref(packed))
        return packed

    x = dt.tensor([1.0], requires_grad=True)
    with dt.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed.tensor):
        y = x.exp().sin()
    y.backward()
    assert len(refs) == 2
    assert [ref() for ref in refs] == [None, None]


def test_a_leaf_reached_through_unpacking_gets_its_gradient() -> None:
    x = dt.tensor([3.0], requires_grad=True)
    with dt.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x * x * x
    (g,) = dt.autograd.grad(y, x, create_graph=True)
    g.backward()
    assert x.grad.item() == 18.0


def test_hooks_work_as_a_decorator() -> None:
    seen = []

    @dt.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t)
    def f(x):
        return x.sin()

    f(dt.ones(1, requires_grad=True))
    dt.ones(1, requires_grad=True).sin()
    assert len(seen) == 1


def test_an_error_says_who_saved_what_and_who_wrote() -> None:
    x = dt.tensor([1.0], requires_grad=True)
    t = x * 1
    y = t.sin()
    t.add_(1)
    with pytest.raises(
        RuntimeError, match=r"is at version 1; expected version 0 .* saved as 'x' by SinBackward0.*test_saved\.py"
    ):
        y.backward()


def test_writing_under_allow_mutation_copies_nothing_that_is_gone() -> None:
    x = dt.tensor([1.0], requires_grad=True)
    with dt.autograd.graph.allow_mutation_on_saved_tensors() as copies:
        t = x * 1
        y = t.sin()
        del y
        t.mul_(2)
        assert len(copies.cloned) == 0


def test_a_failure_inside_allow_mutation_leaves_nothing_behind() -> None:
    with pytest.raises(KeyError), dt.autograd.graph.allow_mutation_on_saved_tensors():
        raise KeyError
    x = dt.tensor([1.0], requires_grad=True)
    x.sin().backward()
    assert x.grad is not None


def test_packing_what_is_written_in_place_as_it_is_makes_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        w = dt.tensor([2.0], requires_grad=True)
        with dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = dt.tensor([3.0])
            y.pow_(w)
        refs = [weakref.ref(y), weakref.ref(y.grad_fn)]
        del y
        assert [ref() for ref in refs] == [None, None]
    finally:
        gc.enable()


def test_a_saved_tensor_that_was_detached_in_place_gives_values_and_no_history() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    c = x.clone()
    y = (x * c).sum()
    c.detach_()
    with pytest.raises(RuntimeError, match="detached in-place"):
        dt.autograd.grad(y, x, create_graph=True)
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("wanted", ["both", "the first"])
@pytest.mark.parametrize("function", ["true_divide", "pow", "atan2", "hypot", "mul"])
def test_hooks_unpack_each_saved_value_once_whatever_is_asked_for(function: str, wanted: str) -> None:
    x, y = dt.tensor([1.0, 2.0], requires_grad=True), dt.tensor([3.0, 4.0], requires_grad=True)
    log: list[str] = []
    with dt.autograd.graph.saved_tensors_hooks(
        lambda t: (log.append("pack"), t)[1], lambda t: (log.append("unpack"), t)[1]
    ):
        out = getattr(dt, function)(x, y).sum()
    dt.autograd.grad(out, (x, y) if wanted == "both" else x)
    count = 3 if function in ("pow", "hypot") else 2  # these save their result, too
    assert log == ["pack"] * count + ["unpack"] * count


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_value_written_over_is_an_error_even_if_the_gradient_asked_for_needs_another(create_graph: bool) -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    y = x.clone()
    z = x * y
    with dt.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        dt.autograd.grad(z.sum(), y, create_graph=create_graph)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "function", [lambda x: x * x, lambda x: x.sin(), lambda x: x @ x, lambda x: dt.einsum("i,i->i", x, x)]
)
def test_a_saved_tensor_whose_class_was_changed_is_still_checked(function, create_graph: bool) -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    y = function(x).sum()
    x.__class__ = dt.nn.Parameter
    dt.autograd.grad(y, x, retain_graph=True, create_graph=create_graph)
    with dt.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        dt.autograd.grad(y, x, create_graph=create_graph)


def test_a_value_that_was_released_names_its_node() -> None:
    y = dt.ones(2, requires_grad=True).exp()
    kept = y.grad_fn._raw_saved_result
    y.sum().backward()
    with pytest.raises(RuntimeError, match="ExpBackward0"):
        kept.unpack()


def test_what_was_packed_as_it_is_can_be_looked_at() -> None:
    x = dt.tensor(0.5, requires_grad=True)
    with dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
    saved = y.grad_fn._raw_saved_result
    assert saved.data.item() == y.item()
    del y
    left = saved.unpack()  # its node is gone
    assert left.grad_fn is None and not left.requires_grad


def test_what_was_packed_as_a_copy_has_no_history_when_its_node_is_gone() -> None:
    x = dt.tensor(0.5, requires_grad=True)
    with dt.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x.exp()
    saved, value = y.grad_fn._raw_saved_result, y.item()
    del y
    left = saved.unpack()
    assert left.item() == value and left.grad_fn is None and not left.requires_grad


def test_a_backward_that_is_not_recorded_needs_no_history_of_what_was_saved() -> None:
    x = dt.ones(2, requires_grad=True)
    b = x * 3
    y = b * b
    b.detach_()
    y.grad_fn.register_hook(lambda *_: None)  # which makes it take the reference path
    assert dt.autograd.grad(y.sum(), x)[0].tolist() == [18.0, 18.0]


def test_a_function_saves_where_hooks_are_disabled() -> None:
    class Square(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = dt.tensor([3.0], requires_grad=True)
    for context in (
        dt.autograd.graph.disable_saved_tensors_hooks("no hooks here"),
        dt.autograd.graph.allow_mutation_on_saved_tensors(),
    ):
        with context:
            assert dt.autograd.grad(Square.apply(x), x)[0].item() == 6.0


# Ways to read and write by index tensors. Each packs its indices; some of PyTorch's ops keep a float tensor as well, of
# which only the shape is used.
INDEXED = {
    "index": "x[i]",
    "mask": "x[m]",
    "list": "x[[0, 2]]",
    "truth": "x[torch.tensor(True)]",
    "two": "x.reshape(2, 2)[i[:1], i[:1]]",
    "part": "x.reshape(2, 2)[:, i[:1]]",
    "take": "x.take(i)",
    "take_along_dim": "x.take_along_dim(i, 0)",
    "index_select": "x.index_select(0, i)",
    "gather": "x.gather(0, i)",
    "index_put": "x.index_put((i,), torch.ones(2))",
    "values": "torch.zeros(4).index_put((i,), x[:2])",
    "setitem": "put(x * 1, i, torch.ones(2))",
    "setitem of values": "put(torch.zeros(4), i, x[:2])",
    "setitem of a view": "put((x * 1)[:], i, x[:2])",
    "masked_select": "x.masked_select(m)",
    "masked_scatter": "torch.zeros(4).masked_scatter(m, x)",
    "index_add": "x.index_add(0, i, torch.ones(2))",
    "index_copy": "x.index_copy(0, i, torch.ones(2))",
    "scatter": "x.scatter(0, i, torch.ones(2))",
}
INDEX_PRELUDE = """
checkpoints = torch.utils.checkpoint
log, runs = [], []
def noted(what):
    return lambda t: (t.dtype.is_floating_point or log.append((what, tuple(t.shape), str(t.dtype).split(".")[1])), t)[1]
def put(target, key, value):
    target[key] = value
    return target
i, m, x = torch.tensor([0, 2]), torch.tensor([True, False, True, True]), torch.arange(4.0).requires_grad_()
def function(x):
    runs.append(1)
    return {}
"""


@needs_torch
@pytest.mark.parametrize("name", INDEXED)
def test_index_tensors_are_saved_as_all_tensors_are(name: str) -> None:
    prelude = PRELUDE + INDEX_PRELUDE.replace("{}", INDEXED[name])
    same(prelude + "with hooks(noted('pack'), noted('unpack')):\n y = function(x)\ny.sum().backward(); log, x.grad")
    same(prelude + "checkpoints.checkpoint(function, x, use_reentrant=False).sum().backward(); len(runs), x.grad")
    if name == "take_along_dim":
        pytest.skip("PyTorch keeps a copy of the indices")
    same(prelude + "y = function(x); i.add_(1); m.logical_not_(); kind(lambda: y.sum().backward()), x.grad")
    same(
        prelude + "y = function(x)\nwith torch.no_grad(): i.add_(1)\nkind(lambda: grad(y.sum(), x, create_graph=True))"
    )


def test_an_inference_tensor_as_an_index_is_taken_as_it_is() -> None:
    with dt.inference_mode():
        i = dt.tensor([0, 2])
    x = dt.arange(4.0).requires_grad_()
    x[i].sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_indices_of_a_batch_are_put_sample_by_sample() -> None:
    x = dt.arange(4.0).requires_grad_()
    one = lambda i: x.index_put((i,), dt.ones(2)).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dt.func.vmap(one)(dt.tensor([[0, 2], [1, 3]]))
    assert found.tolist() == [6.0, 4.0]
    found.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0, 1.0]
