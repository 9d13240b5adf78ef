"""Views and in-place writes: which are allowed, what they do to history, and what the errors say."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
grad = torch.autograd.grad
def leaf(*shape):
    values = torch.arange(1., 1. + math.prod(shape), dtype=torch.float64).reshape(shape)
    return values.requires_grad_()
def names(t, n=4):
    node, found = t.grad_fn, []
    while node is not None and len(found) < n:
        found.append(node.name().rsplit("::", 1)[-1])
        following = [f for f, _ in node.next_functions if f is not None]
        node = following[0] if following else None
    return found
def about(*tensors):
    return [(t.detach().tolist(), t.requires_grad, t.is_leaf, t._is_view(), t._version, names(t)) for t in tensors]
"""

PROGRAMS = """
# a write to a view gives the base its history
x = leaf(4); b = x.clone(); v = b[1:3]; v.mul_(10)
about(b, v), grad(b.sum(), x)

# a write to the base renews the views
x = leaf(4); b = x * 1; v = b.view(2, 2); w = v[0]; b.mul_(3)
about(b, v, w), grad((w * w).sum(), x)

# a write to one view renews the others
x = leaf(2, 3); b = x * 1; r, c = b[0], b[:, 1]; c.mul_(5)
about(b, r, c), grad(r.sum(), x)

# views of views point to the root
b = leaf(2, 3).clone(); v = b.view(3, 2).t()[0]
v._base is b, v[0]._base is b

# many writes through many views
x = leaf(6); b = x.clone(); v = b.view(2, 3)
v[0].mul_(2); v[:, 1].add_(v[:, 0].detach()); b[5] = 7.; v.t()[2].neg_()
about(b), grad((b * b).sum(), x)

# an expanded view cannot be written
b = leaf(3).clone(); b.unsqueeze(0).expand(2, 3).mul_(2)

# an expanded view can be filled
b = torch.zeros(3); b.unsqueeze(0).expand(2, 3).fill_(2.)
b

# a leaf cannot be written
leaf(2).add_(1)

# a view of a leaf cannot be written
leaf(2)[0].add_(1)

# a leaf is written under no_grad
x = leaf(2)
with torch.no_grad():
    x.add_(1)
about(x)

# a view made under no_grad is not written with grad mode on
b = leaf(2).clone()
with torch.no_grad():
    v = b[0]
v.mul_(2)

# a view made under no_grad is written under no_grad
b = leaf(2).clone()
with torch.no_grad():
    v = b[0]
    v.mul_(2)
b.detach()

# one of several views cannot be written
leaf(2, 2).clone().unbind()[0].mul_(2)

# several views go stale when the base is written
b = leaf(2, 2).clone(); v = b.unbind()[0]; b.mul_(2)
v * 1

# a split is read after its base was written under no_grad
b = torch.ones(4); v = b.split(2)[0]; b.mul_(2)
v

# writing with what needs a gradient into what does not
w = leaf(2); b = torch.zeros(4, dtype=torch.float64); b[1:3] = w * 2
about(b), grad((b * b).sum(), w)

# writing a view with itself
x = leaf(3); b = x.clone(); b.mul_(b)
about(b)

# backward after writing a value with itself
x = leaf(3); b = x.clone(); b.mul_(b); b.sum().backward()

# as_strided, diagonal and unfold are views
b = leaf(3, 3).clone()
[t._is_view() for t in (b.as_strided((2,), (4,)), b.diagonal(), b.unfold(0, 2, 1), b.real, b.T, b.expand(2, 3, 3), b.squeeze(), b[None])]

# a diagonal is written
x = leaf(3, 3); b = x.clone(); b.diagonal().mul_(10)
about(b), grad((b * b).sum(), x)

# overlapping windows read a base that was written
x = leaf(5); b = x * 1; v = b.unfold(0, 3, 1); b.mul_(2)
grad((v * v).sum(), x)

# real and imaginary parts are written
x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True); b = x.clone(); b.real.mul_(3); b.imag.add_(1)
b.detach(), grad(b.abs().sum(), x)

# view_as_real and back
x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
v = torch.view_as_real(x * 1); w = torch.view_as_complex(v * 2)
v._is_view(), grad(w.abs().sum(), x)

# detach shares the version, data does not
x = torch.ones(2); d = x.detach(); e = x.data
d.add_(1); e.add_(1)
x._version, d._version, e._version, x

# a detached alias that was written spoils what was saved
x = leaf(2); y = x.exp(); y.detach().add_(1); y.sum().backward()

# data written behind the back is not noticed
x = leaf(2); y = x.exp(); y.data.zero_(); y.sum().backward()
x.grad

# detach_ of a view
leaf(2).clone()[0].detach_()

# detach_ forgets
x = leaf(2); y = x * 2; y.detach_()
about(y)

# views are replayed on another base
b = torch.arange(6.); v = b.view(2, 3)[:, 1]
v._view_func(torch.arange(6.) * 10)

# double backward through a write to a view
x = leaf(4); b = x * x; b[1:3] = b[1:3].clone() * x[:2]
g, = grad((b * b).sum(), x, create_graph=True)
grad(g.sum(), x)

# retain_grad follows a written tensor
x = leaf(2); y = x * 2; y.retain_grad(); y.mul_(3); y.sum().backward()
y.grad

# setitem with a mask
x = leaf(4); b = x.clone(); b[b.detach() > 2] = 0.
about(b), grad(b.sum(), x)

# a gradient that lies otherwise than the base that was written
x = leaf(6); b = (x * 1).view(2, 3).clone(); b.view(-1).mul_(x); w = torch.arange(6.).view(3, 2)
grad((b.T * w).sum(), x), grad((b.T * w).sum(), x, create_graph=True)

# a base that lies column by column, and a view that only such a one has
x = leaf(6); b = x.view(2, 3).T * 2; v = b.T.view(-1); v.mul_(3); b.mul_(2); w = torch.arange(6.)
grad((b * w.view(3, 2)).sum(), x), grad((v * w).sum(), x), grad((v * w).sum(), x, create_graph=True)

# a write to a view of a number
x = torch.tensor(2., requires_grad=True); b = x * 1; b.squeeze().pow_(2)
grad(b * b, x)

# double backward through a write to a view by an op that saves its result
x = leaf(4); b = x.view(2, 2) * 1; b.T.tanh_()
g, = grad((b * b).sum(), x, create_graph=True)
grad(g.sum(), x)

# flip copies, also for nothing to flip
x = torch.ones(2, 2); [x.flip(*dims).zero_() for dims in ((0,), (0, 1), ((),))]
x

# what is joined is contiguous
x = torch.ones(2, 3).T
torch.cat([x, x]).stride(), torch.cat((x, x), 1).stride(), torch.stack([x, x], -1).stride(), torch.cat([x.expand(2, 3, 2)]).stride()

# views of a base that is turned in place stay where they were
x = leaf(2, 2); b = x.clone(); v = b[0]; b.t_(); v.mul_(3.); w = leaf(2, 2).detach()
about(b, v), grad((b * w).sum(), x)

# views of a base that loses a dimension in place stay where they were
x = leaf(1, 3); b = x.clone(); v = b[0, 1:]; b.squeeze_(); v.mul_(3.); b.mul_(2.)
about(b, v), grad((b * b).sum(), x, retain_graph=True), grad((v * v).sum(), x)

# a view of a base that was detached has a history that leads nowhere
x = leaf(3); b = x * 1; v = b[:2]; b.detach_(); b.mul_(2.)
b.requires_grad, v.requires_grad, v.grad_fn.name(), [f for f, _ in v.grad_fn.next_functions]
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program: str) -> None:
    """Each program ends on dualtape as on PyTorch."""
    same(PRELUDE + program)


def test_the_in_place_error_names_the_op_that_saved_and_the_line_that_wrote() -> None:
    x = dt.ones(3, requires_grad=True)
    y = x.exp()
    z = (y * 2).sum()
    y.add_(1)  # this line
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        z.backward()
    message = str(caught.value)
    line = next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "y.add_(1)  # this line" in text
    )
    assert (
        "ExpBackward0" in message and f"test_views.py:{line}" in message and "version 1; expected version 0" in message
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.mul_(2),
        lambda y: y.__setitem__(0, 5.0),
        lambda y: np.add(y, 1, out=y),
        lambda y: dt.add(y.detach(), 1, out=y.detach()),
        lambda y: y.detach().zero_(),
        lambda y: y[1:].fill_(0.0),
        lambda y: y.uniform_(),
        lambda y: y.copy_(dt.zeros(3)),
        lambda y: y.__iadd__(1),
        lambda y: y.clamp_(0, 1),
    ],
    ids=["op", "setitem", "numpy out", "out=", "alias", "view", "random", "copy", "operator", "clamp"],
)
def test_every_kind_of_write_is_noticed(write) -> None:
    x = dt.ones(3, requires_grad=True)
    y = x.exp()
    z = y.sum()
    write(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation|test_views"):
        z.backward() if y.grad_fn.name() == "ExpBackward0" else dt.autograd.grad(y.sum() + z, x)


def test_views_of_numpys_negative_strides_work() -> None:
    array = np.arange(4.0)
    x = dt.from_numpy(array[::-1])
    y = x.clone().requires_grad_()
    x[0] = 9.0
    assert array.tolist() == [0.0, 1.0, 2.0, 9.0]
    (y * x).sum().backward()
    assert y.grad.tolist() == [9.0, 2.0, 1.0, 0.0]


def test_a_written_view_leaves_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = dt.ones(4, requires_grad=True)
        b = x * 1
        v = b[1:3]
        v.mul_(2)
        refs = [weakref.ref(t) for t in (b, v)] + [weakref.ref(b.grad_fn), weakref.ref(v.grad_fn)]
        del b, v
        assert all(r() is None for r in refs)
    finally:
        gc.enable()


def test_a_chain_of_very_many_views_is_built_written_and_freed() -> None:
    x = dt.ones(2, requires_grad=True)
    b = x * 1
    v = b
    for _ in range(20_000):
        v = v.view(2)
    v.mul_(3)
    assert dt.autograd.grad(b.sum(), x)[0].tolist() == [3.0, 3.0]


def test_a_result_of_operands_that_lie_differently_lies_row_by_row() -> None:
    x = dt.arange(6.0).reshape(2, 3)
    assert (x.t() + dt.ones(3, 2)).stride() == (2, 1)  # in PyTorch (1, 3): see docs/differences.md
    assert (x.t() * x.t()).stride() == (1, 3)


@pytest.mark.parametrize(
    ("part", "later"), [(lambda x: x.chunk(2)[0], False), (lambda x: x.chunk(2)[0], True), (lambda x: x[0], False)]
)
def test_a_view_that_was_a_leaf_is_none_once_its_written_base_requires_grad(part, later):
    x = dt.zeros(2, 3)
    leaf = part(x)
    leaf.requires_grad_(True)
    x.add_(1)
    y = leaf * 2
    x.requires_grad_(True)
    with pytest.raises(RuntimeError, match="modified inplace|moved into the graph interior"):
        (leaf * 2 if later else y).sum().backward()


def test_a_view_that_was_a_leaf_and_is_used_afterwards_is_a_view():
    x = dt.zeros(2, 3)
    leaf = x[0]
    leaf.requires_grad_(True)
    x.add_(1)
    x.requires_grad_(True)
    (leaf * 2).sum().backward()
    assert not leaf.is_leaf and x.grad.tolist() == [[2.0] * 3, [0.0] * 3]


def test_a_gradient_that_is_the_same_for_all_samples_goes_through_a_write_by_a_batch() -> None:
    def back(w: dt.Tensor) -> dt.Tensor:
        x = dt.ones(2, requires_grad=True)
        b = x * w
        b[:1].mul_(w[:1])
        return dt.autograd.grad(b, x, dt.ones(2))[0]

    assert dt.vmap(back)(dt.tensor([[2.0, 3.0], [4.0, 5.0]])).tolist() == [[4.0, 3.0], [16.0, 5.0]]
