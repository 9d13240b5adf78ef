"""Values, layouts and gradients of what is computed with sparse tensors: of dense leaves that became sparse, and of
sparse leaves, against PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

A = np.array([[1.0, 0, 3], [0, 2, 0]])
W = np.arange(1.0, 7).reshape(3, 2)
B = np.array([[0.0, 4, 1], [5, 0, 0]])
LAYOUTS: dict[str, Callable] = {
    "coo": lambda x: x.to_sparse(),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((1, 1)),
    "hybrid": lambda x: x.to_sparse(1),
}
FUNCTIONS: dict[str, Callable] = {  # of the namespace, a sparse tensor, and two dense ones
    "matmul": lambda m, s, w, b: s @ w,
    "mm": lambda m, s, w, b: m.mm(s, w),
    "sparse.mm": lambda m, s, w, b: m.sparse.mm(s, w),
    "mv": lambda m, s, w, b: m.mv(s, w[:, 0]),
    "addmm": lambda m, s, w, b: m.addmm(b[:, :2], s, w),
    "sparse.addmm": lambda m, s, w, b: m.sparse.addmm(b[:, :2], s, w),
    "sum": lambda m, s, w, b: s.sum(),
    "sum over a dimension": lambda m, s, w, b: s.sum(0),
    "sparse.sum": lambda m, s, w, b: m.sparse.sum(s),
    "sparse.sum over a dimension": lambda m, s, w, b: m.sparse.sum(s, 0),
    "to_dense": lambda m, s, w, b: s.to_dense(),
    "to_dense, whole gradient": lambda m, s, w, b: s.to_dense(masked_grad=False),
    "mul by a number": lambda m, s, w, b: s * 3,
    "div": lambda m, s, w, b: s / 2,
    "pow": lambda m, s, w, b: s**2,
    "neg": lambda m, s, w, b: -s,
    "add": lambda m, s, w, b: s + s,
    "sub": lambda m, s, w, b: s - b.to_sparse(),
    "mul": lambda m, s, w, b: s * b.to_sparse(),
    "mul by a dense one": lambda m, s, w, b: s * b,
    "add to a dense one": lambda m, s, w, b: b + s,
    "t": lambda m, s, w, b: s.t(),
    "transpose": lambda m, s, w, b: s.transpose(0, 1),
    "values": lambda m, s, w, b: s.coalesce().values() if s.is_sparse else s.values(),
    "norm": lambda m, s, w, b: s.norm(),
    "sin": lambda m, s, w, b: s.sin(),
    "sqrt": lambda m, s, w, b: s.sqrt(),
    "abs": lambda m, s, w, b: s.abs(),
    "sparse.softmax": lambda m, s, w, b: m.sparse.softmax(s, 1),
    "sparse.log_softmax": lambda m, s, w, b: m.sparse.log_softmax(s, 1),
    "sparse_mask": lambda m, s, w, b: b.sparse_mask(s.detach()),
    "clone": lambda m, s, w, b: s.clone(),
    "sparse.mm of two": lambda m, s, w, b: m.sparse.mm(s, w.to_sparse()),
    "matmul of two": lambda m, s, w, b: s @ w.to_sparse(),
    "a dense one times": lambda m, s, w, b: w @ s,
    "to_sparse": lambda m, s, w, b: s.to_sparse(),
    "to_sparse_csr": lambda m, s, w, b: s.to_sparse_csr(),
    "hspmm": lambda m, s, w, b: m.hspmm(s, w),
}


def plain(x: Any) -> np.ndarray:
    return (x if x.layout in (dt.strided, torch.strided) else x.to_dense()).detach().numpy()


def named(layout: Any) -> str:
    return str(layout).rpartition(".")[2]


def ran(m: Any, function: Callable, layout: str, dense_leaf: bool) -> list | str:
    """The result, and the layout and values of the gradients of three leaves; or why there are none."""
    a, w, b = (m.tensor(array, requires_grad=True) for array in (A, W, B))
    make = LAYOUTS[layout]
    leaf = a if dense_leaf else make(a.detach()).requires_grad_()
    try:
        result = function(m, make(a) if dense_leaf else leaf, w, b)
        dense = result if result.layout is m.strided else result.to_dense()
        (dense * m.tensor(np.cos(np.arange(dense.numel()) + 1.0).reshape(tuple(dense.shape)))).sum().backward()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    gradients = [None if t.grad is None else (named(t.grad.layout), plain(t.grad)) for t in (leaf, w, b)]
    return [("", plain(result)), *gradients]


@pytest.mark.parametrize("dense_leaf", [True, False], ids=["dense leaf", "sparse leaf"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_through_sparse_tensors_have_pytorchs_values_and_layouts(layout: str, dense_leaf: bool) -> None:
    compared = 0
    for name, function in FUNCTIONS.items():
        theirs = ran(torch, function, layout, dense_leaf)
        if isinstance(theirs, str):
            continue  # what PyTorch refuses is computed here, or refused too
        ours = ran(dt, function, layout, dense_leaf)
        assert not isinstance(ours, str), (name, ours)
        compared += 1
        for mine, other in zip(ours, theirs, strict=True):
            assert (mine is None) == (other is None), name
            if mine is not None:
                assert mine[0] == other[0], name
                np.testing.assert_allclose(mine[1], other[1], rtol=1e-12, atol=1e-12, err_msg=name)
    assert compared


@pytest.mark.parametrize("first", ["coo", "csr", "csc"])
@pytest.mark.parametrize("second", ["coo", "csr", "csc"])
def test_products_and_sums_have_pytorchs_layout(first: str, second: str) -> None:
    square = np.array([[1.0, 0, 3], [0, 2, 0], [0, 0, 4]])
    for name, function in {
        "matmul": lambda m, x, y: x @ y,
        "mm": lambda m, x, y: m.mm(x, y),
        "sparse.mm": lambda m, x, y: m.sparse.mm(x, y),
        "mul": lambda m, x, y: x * y,
        "add": lambda m, x, y: x + y,
    }.items():
        if (name, first, second) == ("sparse.mm", "csc", "csc"):
            continue  # PyTorch's is a matrix of zeros
        try:
            theirs = function(torch, *(LAYOUTS[k](torch.tensor(square + n)) for n, k in enumerate((first, second))))
        except (RuntimeError, NotImplementedError):
            continue
        ours = function(dt, *(LAYOUTS[k](dt.tensor(square + n)) for n, k in enumerate((first, second))))
        assert named(ours.layout) == named(theirs.layout), name
        np.testing.assert_allclose(plain(ours), plain(theirs), err_msg=name)


SHAPED = {
    "three": lambda x: x.to_sparse(),
    "two": lambda x: x[0].to_sparse(),
    "hybrid": lambda x: x.to_sparse(2),
    "csr": lambda x: x[0].to_sparse_csr(),
}
TURNS = {
    "t_": lambda s: s.t_(),
    "transpose_": lambda s: s.transpose_(0, 1),
    "transpose_ from the end": lambda s: s.transpose_(-1, 0),
    "transpose_ of the last": lambda s: s.transpose_(1, 2),
    "transpose_ of one": lambda s: s.transpose_(0, 0),
    "swapaxes_": lambda s: s.swapaxes_(0, 1),
    "swapdims_": lambda s: s.swapdims_(0, 1),
    "transpose_ out of range": lambda s: s.transpose_(0, 5),
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("kind", SHAPED)
def test_transposing_a_sparse_tensor_in_place_moves_its_entries(kind: str, turn: str) -> None:
    def run(m: Any) -> Any:
        x = SHAPED[kind](m.tensor([[[1.0, 0, 3], [0, 2, 0]], [[0, 0, 0], [4, 0, 5]]]))
        try:
            same = TURNS[turn](x) is x
        except (RuntimeError, IndexError) as error:
            return type(error)
        leaf = SHAPED[kind](m.tensor([[[1.0, 0, 3], [0, 2, 0]], [[0, 0, 0], [4, 0, 5]]])).requires_grad_()
        turned = leaf * 1
        TURNS[turn](turned)
        (turned.to_dense() * m.arange(float(turned.numel())).reshape(turned.shape)).sum().backward()
        return same, tuple(x.shape), x.is_coalesced(), plain(x).tolist(), plain(leaf.grad).tolist()

    assert run(dt) == run(torch)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "hybrid"])
def test_zeros_for_an_unused_sparse_input_are_sparse(layout: str) -> None:
    def run(m: Any) -> list:
        sparse, dense = LAYOUTS[layout](m.eye(2)).requires_grad_(), m.ones(2, requires_grad=True)
        zeros = m.autograd.grad(dense.sum(), [dense, sparse], allow_unused=True, materialize_grads=True)[1]
        seen = []

        class Both(m.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone(), x.to_dense().sum()

            @staticmethod
            def backward(ctx: Any, g: Any, h: Any) -> Any:
                seen.append(g)
                return None

        Both.apply(sparse)[1].backward()
        return [(named(z.layout), z._nnz(), plain(z).tolist()) for z in (zeros, *seen)]

    assert run(dt) == run(torch)


def test_the_norm_of_a_complex_sparse_tensor_is_real() -> None:
    for m in (dt, torch):
        x = m.sparse_coo_tensor([[0, 1], [0, 1]], m.tensor([3 + 4j, 0]), (2, 2))
        assert x.norm().dtype is m.float32 and x.norm().item() == 5.0
