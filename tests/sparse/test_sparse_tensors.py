"""Sparse tensors: coordinates and compressed layouts, their ops and their gradients.

The programs run on dualtape and on PyTorch.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
def show(t):
    if t is None or not isinstance(t, torch.Tensor):
        return t
    kind = str(t.layout).rpartition(".")[2]
    if kind == "strided":
        return kind, t
    if kind == "sparse_coo":
        c = t.detach().coalesce()
        return kind, c.indices(), c.values(), t.shape, t.dtype, t.requires_grad
    names = ("crow_indices", "col_indices") if kind in ("sparse_csr", "sparse_bsr") else ("ccol_indices", "row_indices")
    return kind, *(getattr(t, name)() for name in names), t.detach().values(), t.shape, t.dtype, t.requires_grad
def dense(*shape):
    return (torch.arange(1. * math.prod(shape), dtype=torch.float64) + 1).reshape(shape).requires_grad_()
def coo(grad=True):
    v = torch.tensor([3., 4., 5.], dtype=torch.float64)
    return torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 0]]), v, (2, 3)).requires_grad_(grad)
def csr(grad=True):
    return coo(False).to_sparse_csr().requires_grad_(grad)
def other():
    return torch.tensor([[0., 2., 7.], [1., 0., 0.]], dtype=torch.float64).to_sparse()
def derive(y, *leaves):
    y = y.to_dense()
    (y * y).sum().backward()
    return tuple(show(leaf.grad) for leaf in leaves)
"""

PROGRAMS = """
# sparse.mm keeps the pattern
s, d = coo(), dense(3, 2)
torch.sparse.mm(s, d).detach(), derive(torch.sparse.mm(s, d), s, d)

# sparse.mm by rows
s, d = csr(), dense(3, 2)
torch.sparse.mm(s, d).detach(), derive(torch.sparse.mm(s, d), s, d)

# mm and matmul give the whole gradient
s, t, d = coo(), csr(), dense(3, 2)
derive(s @ d + t.mm(d), s, t, d)

# a vector
s, t, v = coo(), csr(), dense(3)
derive(s.mv(v) + t @ v, s, t, v)

# dense times sparse
s, d = coo(), dense(4, 2)
derive(d @ s, s, d)

# sparse times sparse
s, t = coo(), other().t().requires_grad_()
y = torch.sparse.mm(s, t)
(y.to_dense() ** 2).sum().backward()
show(y), s.grad.to_dense(), t.grad.to_dense()

# addmm
s, d, m = coo(), dense(3, 2), dense(2, 2)
y = torch.sparse.addmm(m, s, d, beta=2, alpha=3)
y.detach(), derive(y, s, d, m)

# torch.addmm
s, d, m = csr(), dense(3, 2), dense(2, 2)
derive(torch.addmm(m, s, d), s, d, m)

# two types of numbers
coo() @ dense(3, 2).float()

# sizes that do not fit
coo() @ dense(4, 2)

# hspmm and smm
show(torch.hspmm(coo(False), dense(3, 2).detach())), show(torch.smm(coo(False), dense(3, 2).detach()))

# sspaddmm
e = torch.eye(2, dtype=torch.float64).to_sparse()
show(torch.sspaddmm(e, coo(False), dense(3, 2).detach(), beta=2, alpha=3))

# other names of mm
torch.dsmm(coo(), dense(3, 2)).detach(), torch.spmm(coo(), dense(3, 2)).detach()

# means by rows
torch.sparse.mm(csr(False), dense(3, 2).detach(), "mean"), torch.sparse.mm(csr(False), dense(3, 2).detach(), reduce="sum")

# softmax over each dimension
s = other().requires_grad_()
weights = torch.tensor([[1., 2., 3.], [4., 5., 6.]], dtype=torch.float64)
y = torch.sparse.softmax(s, 1)
(y.to_dense() * weights).sum().backward()
show(y), show(torch.sparse.softmax(s, 0)), show(torch.sparse.log_softmax(s, -1)), show(s.grad)

# log_softmax of rows that are dense
s = torch.tensor([[0., 2., 7.], [0., 0., 0.], [1., 0., 0.]]).to_sparse(1).requires_grad_()
y = torch.sparse.log_softmax(s, 1)
y.to_dense()[:, 1].sum().backward()
show(y), show(s.grad)

# softmax in another type
show(torch.sparse.softmax(other(), 1, dtype=torch.float32))

# softmax of integers
torch.sparse.softmax(torch.tensor([[0, 1]]).to_sparse(), 1)

# softmax over a dimension that is not there
torch.sparse.softmax(other(), 2)

# sums
s = coo()
y = torch.sparse.sum(s, 0)
show(y), derive(y, s), torch.sparse.sum(s, (0, 1)).detach(), torch.sparse.sum(s, dtype=torch.float32).detach()

# sampled_addmm
s, a, b = csr(), dense(2, 4), dense(4, 3)
y = torch.sparse.sampled_addmm(s, a, b, beta=0.5, alpha=2)
show(y), derive(y, s, a, b)

# sampled_addmm in coordinates
torch.sparse.sampled_addmm(coo(), dense(2, 4), dense(4, 3))

# spdiags
d = torch.arange(9.).reshape(3, 3)
show(torch.sparse.spdiags(d, torch.tensor([0, -1, 2]), (3, 4))), show(torch.sparse.spdiags(d, torch.tensor([0, -1, 2]), (3, 4), torch.sparse_csr))

# the same diagonal twice
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 0]), (3, 3))

# between layouts
s = coo(False)
[show(s.to_sparse_csr()), show(s.to_sparse_csc()), show(s.to_sparse_bsr((2, 1))), show(s.to_sparse_bsc((1, 3))), show(s.to_sparse_csc().to_sparse_coo()), show(s.to_sparse_csr().to_sparse_csc())]

# gradients through layouts
s, t, u = coo(), csr(), csr()
derive(s.to_sparse_csr(), s), derive(t.to_sparse_coo(), t), derive(u.to_sparse_csc(), u), derive(coo().to_sparse_bsr((1, 1)))

# dense to compressed
d = torch.tensor([[0., 2.], [3., 0.]], requires_grad=True)
show(d.to_sparse_csr()), derive(d.to_sparse_csr(), d)

# to_sparse with a layout
d = torch.tensor([[0., 2.], [3., 0.]])
[show(d.to_sparse(layout=torch.sparse_csr)), show(d.to_sparse(layout=torch.sparse_bsr, blocksize=(1, 2)))]

# blocks that do not fit
torch.ones(2, 3).to_sparse_bsr((2, 2))

# the values of a compressed tensor
t = csr()
derive(t.values(), t), t._nnz(), t.sparse_dim(), t.dense_dim(), t.is_sparse, t.is_sparse_csr, t.is_leaf

# made of values with history
v = torch.tensor([1., 2.], requires_grad=True)
t = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), v, (2, 2))
derive(t, v), t.requires_grad

# made as leaves
[torch.sparse_csr_tensor([0, 1, 2], [1, 0], [1., 2.], requires_grad=True).is_leaf, show(torch.sparse_csc_tensor([0, 1, 2], [1, 0], [1., 2.], dtype=torch.float64))]

# sizes that are inferred
[show(torch.sparse_csr_tensor([0, 1, 2], [1, 0], [1., 2.])), show(torch.sparse_bsr_tensor([0, 1, 2], [1, 0], [[[1., 2.]], [[3., 4.]]])), show(torch.sparse_bsc_tensor([0, 1, 2], [1, 0], [[[1., 2.]], [[3., 4.]]])), show(torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [1., 2.], layout=torch.sparse_csc))]

# no layout
torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [1., 2.])

# compressed tensors have no strides
csr().stride()

# nor are they contiguous
csr().is_contiguous()

# nor coalesced
csr().coalesce()

# nor have they the other indices
csr().ccol_indices()

# nor has a dense one any
torch.ones(2).indices()

# dense dimensions of dense tensors
torch.ones(2, 3).sparse_dim(), torch.ones(2, 3).dense_dim(), torch.ones(2).to_dense()

# sums and multiples by rows
t, u = csr(), csr()
show(t + u), show(t * 2), show(t * u), show(-t), derive(t * u + t, t, u)

# by rows plus dense
t, d = csr(), dense(2, 3)
derive(t + d, t, d), derive(d + t, t)

# products of different patterns
s, t = coo(), other().requires_grad_()
show(s * t), derive(s * t, s, t)

# products with dense
s, d = coo(), dense(2, 3)
show(s * d), derive(s * d, s), show(s * 0.5), show(s * torch.tensor(2))

# types of products
(torch.tensor([[0, 2]]).to_sparse() * 2.5).dtype, (torch.tensor([[0, 2]]).to_sparse() + torch.tensor([[0., 2.]]).to_sparse()).dtype, (other().float() * torch.ones(2, 3, dtype=torch.float64)).dtype

# quotients
show(coo() / 2), show(torch.tensor([[0, 2]]).to_sparse() / 4)

# quotients by matrices
coo() / torch.ones(2, 3)

# powers
s = coo()
show(s ** 2), derive(s ** 2, s)

# the power zero
coo() ** 0

# plus a number
coo() + 1

# functions that keep zero
s = coo()
[show(getattr(s.detach(), f)()) for f in ("abs", "sin", "relu", "expm1", "trunc", "isnan", "erf")], derive(s.relu(), s)

# functions that do not
coo().exp()

# transposes
s, t = coo(), csr()
show(s.t()), show(t.t()), derive(t.transpose(0, 1), t), derive(s.permute(1, 0), s)

# sparse_mask
d = dense(2, 3)
show(d.sparse_mask(coo(False).coalesce())), derive(d.sparse_mask(coo(False)), d), show(d.detach().sparse_mask(csr(False)))

# sparse_mask of a sparse tensor
s = coo()
show(s.sparse_mask(other())), derive(s.sparse_mask(coo(False)), s)

# sparse_mask of another size
dense(2, 2).sparse_mask(other())

# zeros_like
show(torch.zeros_like(coo(False)))

# conversions
t = csr()
show(t.float()), derive(t.float(), t), show(t.clone()), t.detach().requires_grad, show(t.to(torch.float32))

# in place
t = csr(False)
t.mul_(2)
t.add_(csr(False))
show(t)

# invariants
states = [torch.sparse.check_sparse_tensor_invariants.is_enabled()]
with torch.sparse.check_sparse_tensor_invariants():
    states.append(torch.sparse.check_sparse_tensor_invariants.is_enabled())
    with torch.sparse.check_sparse_tensor_invariants(False):
        states.append(torch.sparse.check_sparse_tensor_invariants.is_enabled())
@torch.sparse.check_sparse_tensor_invariants()
def inside():
    return torch.sparse.check_sparse_tensor_invariants.is_enabled()
states, inside(), torch.sparse.check_sparse_tensor_invariants.is_enabled()

# indices that are out of order
torch.sparse_csr_tensor([0, 2, 2], [1, 0], [1., 2.], (2, 2), check_invariants=True)

# a new row may begin with a lower index
show(torch.sparse_csr_tensor([0, 0, 1, 2, 2], [1, 0], [1., 2.], (4, 2), check_invariants=True))

# coordinates that are said to be coalesced and are not
torch.sparse_coo_tensor([[1, 0]], [1., 2.], (2,), check_invariants=True, is_coalesced=True)

# coordinates that are coalesced
torch.sparse_coo_tensor([[0, 1]], [1., 2.], (2,), check_invariants=True, is_coalesced=True).is_coalesced()

# gradcheck of what is there
[torch.autograd.gradcheck(f, (coo(), dense(3, 2)), masked=True) for f in (torch.sparse.mm, lambda s, d: s.to_dense() @ d)]

# gradcheck by rows
gradcheck = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
gradcheck(lambda t: t.to_sparse_csc(), csr(), masked=True)

# complex numbers
v = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), v, (2, 2))
d = torch.tensor([[1j], [2 - 1j]], dtype=torch.complex128, requires_grad=True)
(torch.sparse.mm(s, d).abs() ** 2).sum().backward()
v.grad, d.grad
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program):
    same(PRELUDE + program)


@needs_torch
@pytest.mark.parametrize(
    "made",
    [
        "x.to_sparse()",
        "x.to_sparse_csr()",
        "x.to_sparse_csc().requires_grad_()",
        "x.to_sparse_bsr((2, 1)) * 2",
        "x.double().to_sparse()",
        "x.double().to_sparse_csr().requires_grad_()",
        "x.long().to_sparse_csc()",
        "(x * 0).to_sparse_csr()",
        "(x * 0).to_sparse()",
    ],
)
def test_printing_is_as_pytorchs(made):
    import torch

    shown = [repr(eval(made, {"x": lib.tensor([[0.0, 1.0], [2.0, 0.0]])})) for lib in (dt, torch)]
    assert shown[0].replace("dualtape", "torch") == shown[1]


def _leaf(layout, dtype=dt.float64):
    x = dt.tensor([[0.0, 2.0, 1.5], [3.0, 0.0, 0.0], [0.0, 4.0, 0.5]], dtype=dtype)
    return getattr(x, f"to_sparse_{layout}")().requires_grad_()


FUNCTIONS = {
    "mm": lambda s, d: dt.sparse.mm(s, d),
    "mm turned": lambda s, d: dt.sparse.mm(d.t(), s),
    "addmm": lambda s, d: dt.sparse.addmm(d, s, d, beta=0.5, alpha=2),
    "mean": lambda s, d: dt.sparse.mm(s.to_sparse_csr(), d, "mean"),
    "matmul": lambda s, d: s @ d,
    "product of two": lambda s, d: dt.sparse.mm(s, s.t()),
    "hspmm": lambda s, d: dt.hspmm(s.to_sparse_coo(), d),
    "smm": lambda s, d: dt.smm(s.to_sparse_coo(), d),
    "softmax": lambda s, d: dt.sparse.softmax(s.to_sparse_coo(), 1),
    "log_softmax": lambda s, d: dt.sparse.log_softmax(s.to_sparse_coo(), 0),
    "sampled_addmm": lambda s, d: dt.sparse.sampled_addmm(s.to_sparse_csr(), d, d.t(), beta=2),
    "spsolve": lambda s, d: dt.sparse.spsolve(s, d),
    "spsolve of a vector from the right": lambda s, d: dt.sparse.spsolve(s, d[:, 0], left=False),
    "function": lambda s, d: s.sin(),
    "sum": lambda s, d: dt.sparse.sum(s.to_sparse_coo(), 0),
    "product": lambda s, d: (s * s) * 0.5 + s,
}


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives_are_right(name, layout):
    d = dt.tensor([[1.0, -0.5], [0.25, 2.0], [-1.5, 1.0]], dtype=dt.float64, requires_grad=True)
    inputs = (_leaf(layout), d)
    assert dt.autograd.gradcheck(FUNCTIONS[name], inputs, masked=True)
    assert dt.autograd.gradgradcheck(FUNCTIONS[name], inputs, masked=True)


def test_a_check_that_is_not_masked_moves_all_elements():
    """The gradient of a product is the whole one; that of sparse.mm has the pattern of the matrix."""
    d = dt.ones(3, 2, dtype=dt.float64)
    assert dt.autograd.gradcheck(lambda s: s @ d, _leaf("coo"), masked=False)
    leaf = _leaf("csr")
    (whole,) = dt.autograd.grad((leaf @ d).sum(), leaf)
    (kept,) = dt.autograd.grad(dt.sparse.mm(leaf, d).sum(), leaf)
    assert whole.tolist() == [[2.0] * 3] * 3
    assert (kept.layout, kept.values().tolist()) == (dt.sparse_csr, [2.0] * 5)


def test_spsolve_solves():
    """PyTorch has it for GPUs only."""
    a, b = _leaf("csr"), dt.tensor([1.0, 2.0, 3.0], dtype=dt.float64)
    assert np.allclose(a.detach().to_dense() @ dt.sparse.spsolve(a, b).detach(), b)
    assert np.allclose(dt.sparse.spsolve(a, b, left=False).detach() @ a.detach().to_dense(), b)
    with pytest.raises(RuntimeError, match="singular"):
        dt.sparse.spsolve(dt.tensor([[1.0, 1.0], [1.0, 1.0]]).to_sparse(), dt.ones(2))
    with pytest.raises(RuntimeError, match="square"):
        dt.sparse.spsolve(dt.ones(2, 3).to_sparse(), dt.ones(2))


def test_functions_that_keep_zero_have_derivatives():
    """PyTorch has the derivative of few of them."""
    s = dt.sparse_coo_tensor([[0, 1, 1]], [1.0, 2.0, 3.0], (3,), requires_grad=True)
    s.sin().to_dense().sum().backward()
    assert np.allclose(s.grad.to_dense(), [np.cos(1.0), np.cos(5.0), 0.0])


def test_products_cost_what_is_there():
    """A product with a matrix of a hundred thousand rows and columns, and its gradients, fit in memory."""
    n = 100_000
    place = np.arange(n)
    s = dt.sparse_csr_tensor(np.arange(n + 1), place[::-1].copy(), np.ones(n), (n, n), requires_grad=True)
    x = dt.ones(n, 2, dtype=dt.float64, requires_grad=True)
    dt.sparse.mm(s, x).sum().backward()
    assert s.grad.values().tolist() == [2.0] * n
    assert x.grad.sum() == 2 * n


def test_indices_out_of_range_are_refused_in_every_layout():
    """PyTorch leaves the check out unless asked, and reads elsewhere."""
    for compressed, plain in (([0, 1, 5], [1, 0]), ([0, 1, 2], [1, 7]), ([0, 2, 1], [0, 1]), ([0, 2], [0, 1])):
        with pytest.raises(RuntimeError, match="indices"):
            dt.sparse_csr_tensor(compressed, plain, [1.0, 2.0], (2, 2))
    with pytest.raises(RuntimeError, match="2 indices for 1 values"):
        dt.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0])


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="matrices"):
        dt.ones(2, 2, 2).to_sparse_csr()
    with pytest.raises(NotImplementedError, match="'sum' or 'mean'"):
        dt.sparse.mm(_leaf("csr"), dt.ones(3, 2, dtype=dt.float64), "amax")
    with pytest.raises(NotImplementedError, match="to_sparse_coo"):
        dt.sparse.softmax(_leaf("csr"), 1)
    with pytest.raises(NotImplementedError, match="CPU"):
        dt.sparse_coo_tensor([[0]], [1.0], (1,), device="cuda")
    with pytest.raises(NotImplementedError, match="dense_dim"):
        dt.ones(2, 2).to_sparse_csr(dense_dim=1)
    with pytest.raises(NotImplementedError, match="cat"):
        dt.cat([_leaf("csr"), _leaf("csr")])


@pytest.mark.parametrize("layout", ["coo", "csc"])
def test_copies_and_pickles_keep_the_layout(layout):
    leaf = _leaf(layout)
    for found in (pickle.loads(pickle.dumps(leaf)), copy.deepcopy(leaf)):
        assert (found.layout, found.requires_grad) == (leaf.layout, True)
        assert found.detach().to_dense().tolist() == leaf.detach().to_dense().tolist()


@pytest.mark.parametrize("masked", [True, False])
def test_gradcheck_sees_a_gradient_of_other_dimensions(masked):
    def copying(backward):
        class Copy(dt.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.to_dense() * 1.0

            @staticmethod
            def backward(ctx, g):
                return backward(g)

        return Copy.apply

    x = dt.rand(3, 3, dtype=dt.float64).to_sparse().requires_grad_()
    assert dt.autograd.gradcheck(copying(lambda g: g), (x,), masked=masked)
    assert dt.autograd.gradcheck(copying(lambda g: g.to_sparse()), (x,), masked=masked)
    with pytest.raises(RuntimeError, match="incorrect sparse_dim 1, expected 2"):
        dt.autograd.gradcheck(copying(lambda g: g.to_sparse(1)), (x,), masked=masked)


def test_zeros_like_a_dense_tensor_are_sparse_where_that_is_asked_for() -> None:
    x = dt.ones(2, 3, dtype=dt.float64)
    for layout in (dt.sparse_coo, dt.sparse_csr):
        made = dt.zeros_like(x, layout=layout, requires_grad=True)
        assert made.layout is layout and made._nnz() == 0 and made.dtype is x.dtype and made.requires_grad
        assert made.to_dense().tolist() == [[0.0] * 3] * 2
