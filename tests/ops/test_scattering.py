"""Entries combined at an index, and parts written over: dtypes, errors, and derivatives where PyTorch refuses."""

from __future__ import annotations

import pytest

import dualtape as dt
from dualtape.autograd import gradcheck, gradgradcheck
from same_program import needs_torch, same

PROGRAMS = """
torch.scatter_reduce(T([1, 2]), 0, T([0, 0]), T([3, 4]), "mean"), torch.scatter_reduce(T([-1, 2]), 0, T([0, 0]), T([-3, -4]), "mean")
torch.scatter_reduce(T([1, 2]), 0, T([0]), T([3]), "amax", include_self=False), T([1.0, 2.0]).scatter_reduce_(0, T([1]), T([5.0]), "prod")
torch.scatter_reduce(T([True, True]), 0, T([0]), T([False]), "prod"), torch.scatter_reduce(T([True]), 0, T([0]), T([False]), "amin")
torch.scatter_reduce(T([1j, 2]), 0, T([0]), T([1j]), "prod")
torch.scatter_reduce(T([1, 2]), 0, T([0]), T([3.0]), "sum")
torch.scatter_reduce(T([1, 2]), 0, T([0]), T([3]), "most")
torch.scatter_reduce(T([1j, 2]), 0, T([0]), T([1j]), "amax")
torch.scatter_reduce(T([1.0, 2.0]), 0, T([5]), T([2.0]), "sum")
x.index_reduce(0, T([1, 1]), x * 2, "mean"), (x * 1).index_reduce_(1, T([0]), x[:, :1], "prod", include_self=False)
x.index_reduce(0, T([1, 1]), x, "sum")
x.index_reduce(0, T([[1]]), x, "prod")
x.index_reduce(0, T([1]), x, "prod")
torch.put(x, T([0, -1]), T([7.0, 8.0])), x.detach().clone().put_(T([[1, 1]]), T([[1.0], [2.0]]), accumulate=True)
x.put(T([0, 1, 2]), T([7.0]))
x.put(T([9]), T([7.0]))
x.put(T([0.5]), T([7.0]))
x.put(T([0]), T([7]))
torch.select_scatter(x, torch.ones(3, dtype=torch.float64), 0, 1), x.slice_scatter(torch.ones(1, 3), end=1), x.diagonal_scatter(T([5.0, 6.0]), 1)
torch.select_scatter(x, torch.ones(2), 0, 1)
torch.select_scatter(x, torch.ones(()), 0, 1)
torch.select_scatter(x, torch.ones(3), 0, 7)
torch.slice_scatter(x, torch.ones(3), 0, 1, 2)
torch.diagonal_scatter(x, torch.ones(3))
torch.as_strided_scatter(x, torch.ones(2, 2), (2, 2), (1, 3), 1), x[1].as_strided_scatter(torch.ones(2), (2,), (1,), 4)
torch.as_strided_scatter(x, torch.ones(3), (2,), (1,))
torch.nonzero_static(T([[1, 0], [3, 4]]), size=5), T([1, 0, 1]).nonzero_static(size=1, fill_value=9), torch.nonzero_static(T(3), size=2)
torch.nonzero_static(T([1]), size=-1)
torch.segment_reduce(d, "sum", lengths=T([2, 1]), unsafe=True), torch.segment_reduce(d, "mean", lengths=T([2, 0, 2]))
torch.segment_reduce(d, "max", lengths=T([2, 0, 2]), initial=2.5), torch.segment_reduce(d, "sum", offsets=T([0, 2, 2, 4]))
torch.segment_reduce(d, "sum", lengths=T([2, 1]))
torch.segment_reduce(d, "sum", indices=T([0, 0, 1, 1]))
torch.segment_reduce(d, "sum")
torch.segment_reduce(T([1, 2]), "sum", lengths=T([2]))
torch.segment_reduce(x, "sum", lengths=T([2, 2]), axis=1)
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_places_are_written_as_pytorch_writes_them(program: str) -> None:
    same(
        "T = torch.tensor\nx = torch.arange(6.0).reshape(2, 3).requires_grad_()\nd = T([1.0, 2.0, 3.0, 4.0])\n"
        + program
    )


def test_what_does_not_count_takes_no_share_of_the_gradient() -> None:
    x, src = dt.tensor([2.0], requires_grad=True), dt.tensor([2.0, 2.0], requires_grad=True)
    out = dt.scatter_reduce(x, 0, dt.tensor([0, 0]), src, "amax", include_self=False)
    assert [g.tolist() for g in dt.autograd.grad(out.sum(), (x, src))] == [[0.0], [0.5, 0.5]]


def test_complex_products_have_complex_gradients() -> None:
    x, src = (dt.tensor(v, dtype=dt.complex128, requires_grad=True) for v in ([1 + 2j, 0j], [3j, 1 - 1j, 0j]))
    product = lambda x, src: dt.scatter_reduce(x, 0, dt.tensor([0, 1, 0]), src, "prod")
    assert gradcheck(product, (x, src)) and gradgradcheck(product, (x, src))


def test_as_strided_scatter_gives_its_input_the_gradient_of_what_was_not_written() -> None:
    x = dt.zeros(3, requires_grad=True)
    out = dt.as_strided_scatter(x, dt.ones(2), (2,), (1,))
    with pytest.raises(RuntimeError, match="single memory location"):
        dt.as_strided_scatter(x, dt.ones(2, 2), (2, 2), (1, 1))
    assert dt.autograd.grad(out.sum(), x)[0].tolist() == [0.0, 0.0, 1.0]


def test_segments_can_be_differentiated_twice() -> None:
    x = dt.tensor([1.0, 2.0, 5.0], dtype=dt.float64, requires_grad=True)
    assert gradgradcheck(lambda x: dt.segment_reduce(x, "prod", lengths=dt.tensor([2, 1])), (x,))
