"""Sparse gradients: made by embedding and gather, added to sparse and dense ones.

Every program runs on dualtape and on PyTorch.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
F = torch.nn.functional
def show(t):
    if t is None:
        return None
    if not t.is_sparse:
        return "dense", t.detach().tolist()
    c = t.coalesce()
    return "sparse", c.indices(), c.values(), t.shape, t.dtype, t.sparse_dim(), t.dense_dim()
def table(rows=4, width=2):
    return torch.arange(1. * rows * width).reshape(rows, width).requires_grad_()
def coo():
    return torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 0]]), torch.tensor([3., 4., 5.]), (2, 3))
i = torch.tensor([1, 1, 3])
"""

PROGRAMS = """
# embedding gives a sparse gradient
w = table()
(F.embedding(i, w, sparse=True) * torch.tensor([1., 2.])).sum().backward()
show(w.grad), w.grad._nnz(), w.grad.is_coalesced(), w.grad._indices(), w.grad._values(), w.grad.requires_grad, w.grad.is_leaf

# the same numbers as the dense one
w, v = table(), table()
F.embedding(i, w, sparse=True).pow(2).sum().backward()
F.embedding(i, v).pow(2).sum().backward()
w.grad.to_dense(), v.grad

# embedding with indices of two dimensions
w = table()
F.embedding(torch.tensor([[0, 1], [3, 0]]), w, sparse=True).exp().sum().backward()
show(w.grad)

# a padding index
w = table()
F.embedding(i, w, padding_idx=1, sparse=True).sum().backward()
show(w.grad)

# no indices at all
w = table()
F.embedding(torch.zeros(0, dtype=torch.int64), w, sparse=True).sum().backward()
w.grad.to_dense(), w.grad._nnz()

# sparse and sparse
w = table()
F.embedding(i, w, sparse=True).sum().backward()
first = w.grad
F.embedding(torch.tensor([0, 3]), w, sparse=True).sum().backward()
show(w.grad), w.grad is first, w.grad._nnz()

# sparse, then dense
w = table()
F.embedding(i, w, sparse=True).sum().backward()
(w * 2).sum().backward()
show(w.grad)

# dense, then sparse
w = table()
(w * 2).sum().backward()
first = w.grad
F.embedding(i, w, sparse=True).sum().backward()
show(w.grad), w.grad is first

# both in one backward
w = table()
(F.embedding(i, w, sparse=True).sum() + (w * w).sum()).backward()
show(w.grad)

# both in one backward, the other way round
w = table()
((w * w).sum() + F.embedding(i, w, sparse=True).sum()).backward()
show(w.grad)

# two sparse ones in one backward
w = table()
(F.embedding(i, w, sparse=True).sum() + F.embedding(i, w, sparse=True).exp().sum()).backward()
show(w.grad)

# autograd.grad
w = table()
g, = torch.autograd.grad(F.embedding(i, w, sparse=True).sum(), w)
show(g), w.grad is None

# gather
x = torch.ones(3, 2, requires_grad=True)
torch.gather(x, 0, torch.tensor([[0, 2], [0, 1]]), sparse_grad=True).exp().sum().backward()
show(x.grad)

# gather along the last dimension
x = torch.arange(6.).reshape(3, 2).requires_grad_()
x.gather(-1, torch.tensor([[0], [1], [1]]), sparse_grad=True).pow(2).sum().backward()
show(x.grad)

# gather of a vector, twice the same
x = torch.ones(4, requires_grad=True)
y = x.gather(0, torch.tensor([1, 1, 2]), sparse_grad=True)
(y * torch.tensor([1., 2., 3.])).sum().backward()
show(x.grad)

# hooks see a sparse gradient
w = table()
seen = []
w.register_hook(lambda g: seen.append(show(g)))
F.embedding(i, w, sparse=True).sum().backward()
seen, show(w.grad)

# a hook may replace it
w = table()
w.register_hook(lambda g: g * 2)
F.embedding(i, w, sparse=True).sum().backward()
show(w.grad)

# through a node that needs a dense one
x = table()
w = x * 1
F.embedding(i, w, sparse=True).sum().backward()
show(x.grad)

# a step of gradient descent
w = table()
F.embedding(i, w, sparse=True).sum().backward()
with torch.no_grad():
    w.add_(w.grad, alpha=-0.5)
w, w._version

# setting and deleting a sparse gradient
w = table()
w.grad = torch.sparse_coo_tensor([[1]], [[1., 2.]], (4, 2))
before = show(w.grad)
del w.grad
before, w.grad

# history through to_sparse and to_dense
x = torch.tensor([[0.,2.],[3.,0.]], requires_grad=True)
y = x.to_sparse()
z = y.to_dense()
z.pow(2).sum().backward()
y.requires_grad, y.is_leaf, z.requires_grad, x.grad

# history through to_sparse of some dimensions
x = torch.tensor([[0.,2.],[0.,0.]], requires_grad=True)
x.to_sparse(1).to_dense().pow(2).sum().backward()
x.grad

# history of the values of a sparse tensor
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
s.to_dense().pow(2).sum().backward()
s.requires_grad, s._values().requires_grad, v.grad

# history through coalesce and values
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
c = s.coalesce()
(c.values() ** 2).sum().backward()
c.requires_grad, v.grad

# history through a multiple
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
(s * 3).sum().backward()
v.grad

# history through a quotient
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
(s / 4).to_dense().sum().backward()
v.grad

# history through a product of sparse and dense
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
d = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
(s @ d).pow(2).sum().backward()
v.grad, d.grad

# history through sparse.mm
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
d = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
torch.sparse.mm(s, d).pow(2).sum().backward()
v.grad, d.grad

# history through a sum of sparse tensors
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
(s + s).to_dense().pow(2).sum().backward()
v.grad

# history through dense plus sparse
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
d = torch.ones(2, 2, requires_grad=True)
(d + s).pow(2).sum().backward()
v.grad, d.grad

# history through dense times sparse
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
d = torch.tensor([[1.,2.],[3.,4.]], requires_grad=True)
(d * s).sum().backward()
v.grad, show(d.grad)

# history through sparse.sum over a dimension
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
torch.sparse.sum(s, 0).to_dense().pow(2).sum().backward()
v.grad

# history through sparse.sum over all
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
torch.sparse.sum(s).backward()
v.grad

# history through the negative, a clone and a conversion
v = torch.tensor([1.,2.,3.], requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), v, (2,2))
((-s).to_dense().sum() + s.clone().to_dense().pow(2).sum() + s.double().to_dense().sum()).backward()
v.grad

# a sparse leaf
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), torch.tensor([1.,2.,3.]), (2,2)).requires_grad_()
s.to_dense().pow(2).sum().backward()
s.is_leaf, s.requires_grad, show(s.grad)

# a sparse leaf that is scaled
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), torch.tensor([1.,2.,3.]), (2,2)).requires_grad_()
(s * 2).to_dense().sum().backward()
show(s.grad)

# a sparse leaf that is summed
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), torch.tensor([1.,2.,3.]), (2,2)).requires_grad_()
s.sum().backward()
show(s.grad)

# the values of a sparse leaf
s = torch.sparse_coo_tensor(torch.tensor([[0,1,1],[0,1,1]]), torch.tensor([1.,2.,3.]), (2,2)).requires_grad_()
(s.coalesce().values() ** 2).sum().backward()
show(s.grad)

# a sparse leaf made so
s = torch.sparse_coo_tensor([[0, 1]], [1., 2.], (3,), requires_grad=True)
g, = torch.autograd.grad(s.to_dense().pow(2).sum(), s)
s.is_leaf, show(g)

# sparse and dense meet, recorded
w = table()
y = F.embedding(i, w, sparse=True).pow(2).sum() + (w ** 2).sum()
y.backward(create_graph=True)
w.grad

# a dense gradient after a sparse one, recorded
w = table()
F.embedding(i, w, sparse=True).pow(2).sum().backward(create_graph=True)
(w ** 2).sum().backward(create_graph=True)
w.grad

# a sparse gradient after a dense one, recorded
w = table()
(w ** 2).sum().backward(create_graph=True)
F.embedding(i, w, sparse=True).pow(2).sum().backward(create_graph=True)
w.grad

# the second derivative of a sparse gradient
x = torch.arange(4.).requires_grad_()
y = x.gather(0, torch.tensor([1, 1]), sparse_grad=True).pow(2).sum() + (x ** 3).sum()
g, = torch.autograd.grad(y, x, create_graph=True)
g, torch.autograd.grad(g.sum(), x)

# a gradient of another size
w = table()
w.grad = torch.sparse_coo_tensor([[1]], [[1., 2.]], (5, 2))

# what a sparse tensor says of itself
s = coo()
s.shape, s.dtype, s.ndim, s.numel(), s.is_sparse, s.is_coalesced(), s._nnz(), s.sparse_dim(), s.dense_dim(), s.requires_grad, s.is_leaf, s.stride()

# layouts
[str(t.layout).rpartition(".")[2] for t in (coo(), torch.ones(2))], torch.ones(2).is_sparse

# coalescing adds up
s = coo().coalesce()
s.indices(), s.values(), s.is_coalesced(), s.coalesce() is s

# indices of an uncoalesced tensor
coo().indices()

# values of an uncoalesced tensor
coo().values()

# dense again
coo().to_dense(), coo().coalesce().to_dense()

# to sparse
s = torch.tensor([[0., 1.], [2., 0.]]).to_sparse()
s.indices(), s.values(), s.is_coalesced(), s.to_dense()

# to sparse in the first dimension only
s = torch.tensor([[0., 1.], [0., 0.], [2., 0.]]).to_sparse(1)
s.indices(), s.values(), s.to_dense(), s.dense_dim()

# a size that is inferred
s = torch.sparse_coo_tensor([[0, 3]], [[1., 2.], [3., 4.]])
s.shape, s.to_dense()

# empty
s = torch.sparse_coo_tensor(size=(2, 3))
s.to_dense(), s._nnz(), s._indices().shape

# a dtype
torch.sparse_coo_tensor([[0, 1]], [1, 2], (3,), dtype=torch.float64).to_dense()

# adding sparse and sparse
s = coo() + torch.sparse_coo_tensor([[0], [0]], [1.], (2, 3))
show(s), (coo().coalesce() + coo().coalesce()).is_coalesced()

# adding dense and sparse
torch.ones(2, 3) + coo(), torch.add(torch.ones(2, 3), coo(), alpha=2), torch.ones(2, 3).add_(coo()), torch.zeros(2, 3).sub_(coo())

# adding sparse and dense
coo() + torch.ones(2, 3)

# adding different sizes
coo() + torch.sparse_coo_tensor([[0]], [1.], (2,))

# scaling
show(coo() * 2), show(coo() / 2), show(-coo()), show(2 * coo()), show(coo() * coo()), show(torch.full((2, 3), 3.) * coo())

# in place
s = coo()
t = s.mul_(2)
s.add_(coo())
a = show(s)
s.zero_()
a, t is s, s._nnz(), s.to_dense()

# reductions and functions that keep zero
coo().sum(), coo().norm(), show(coo().abs()), show(coo().sqrt()), show(coo().neg())

# a matrix product
coo() @ torch.ones(3, 1), coo().mm(torch.ones(3, 2))

# what is not there
coo() == coo()

# numpy refuses
coo().numpy()

# lists refuse
coo().tolist()

# another dtype
coo().to(torch.float64).to_dense()

# copies
s = coo()
c, d, e = s.clone(), s.detach(), copy.deepcopy(s)
s.mul_(0)
show(c), show(e), d._nnz()

# wrong numbers of entries
torch.sparse_coo_tensor([[0, 1]], [1., 2., 3.], (3,))

# wrong dimensions
torch.sparse_coo_tensor([[0, 1]], [1., 2.], (3, 3))
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program):
    """Sparse gradients behave as PyTorch's."""
    same(PRELUDE + program)


@needs_torch
def test_printing():
    """A sparse tensor prints as in PyTorch, under the library's name."""
    import torch

    program = "w = {0}.arange(8.0).reshape(4, 2).requires_grad_(); {0}.nn.functional.embedding({0}.tensor([1, 3]), w, sparse=True).sum().backward()"
    texts = []
    for library in (dt, torch):
        names = {library.__name__: library}
        exec(program.format(library.__name__), names)
        texts.append(repr(names["w"].grad).replace("dualtape", "torch"))
    assert texts[0] == texts[1]


def test_indices_out_of_range_are_refused():
    """PyTorch leaves the check out unless asked, and fails later."""
    with pytest.raises(RuntimeError, match="inconsistent with indices"):
        dt.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (2,))


def test_indices_that_are_no_integers_are_refused():
    """PyTorch cuts the fraction off."""
    with pytest.raises(RuntimeError, match="integer"):
        dt.sparse_coo_tensor([[0.5]], [1.0], (3,))


def test_a_hook_may_make_a_gradient_dense():
    """PyTorch refuses a hook that changes the layout."""
    weight = dt.zeros(3, 1, requires_grad=True)
    weight.register_hook(lambda g: g.to_dense())
    dt.nn.functional.embedding(dt.tensor([2, 2]), weight, sparse=True).sum().backward()
    assert weight.grad.tolist() == [[0.0], [0.0], [2.0]]


def test_pickling():
    """A sparse tensor survives."""
    s = pickle.loads(pickle.dumps(dt.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))))
    assert s.is_sparse
    assert s.to_dense().tolist() == [1.0, 2.0, 0.0]


def test_large_tables_cost_what_is_used():
    """The gradient of two rows of a large table holds two rows."""
    weight = dt.zeros(100_000, 8, requires_grad=True)
    dt.nn.functional.embedding(dt.tensor([3, 99_999]), weight, sparse=True).sum().backward()
    assert weight.grad._values().shape == (2, 8)
    assert np.array_equal(weight.grad._indices().numpy(), [[3, 99_999]])


def test_the_second_derivative_goes_through_sparse_tensors():
    """PyTorch's masked gradient of to_dense has no history."""
    v = dt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    s = dt.sparse_coo_tensor([[0, 1, 1], [0, 1, 1]], v, (2, 2))
    (g,) = dt.autograd.grad((s.to_dense() ** 3).sum(), v, create_graph=True)
    g.sum().backward()
    assert v.grad.tolist() == [6.0, 60.0, 60.0]
