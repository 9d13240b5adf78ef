"""Distances, slopes and counts: what they take, refuse and differentiate."""

from __future__ import annotations

import pytest

import dualtape as dt
from dualtape.autograd import gradgradcheck
from same_program import needs_torch, same

PROGRAMS = """
torch.cdist(x, x), torch.cdist(x, x, 1), torch.cdist(x[None].expand(2, 3, 2), x).shape, torch.cdist(x, x, 0.5), torch.cdist(x, x, p=inf)
torch.cdist(big, big), torch.cdist(big, big, compute_mode="donot_use_mm_for_euclid_dist"), torch.cdist(x[:, :0], x[:, :0], inf)
torch.cdist(x, torch.ones(2, 3))
torch.cdist(x, x, -1)
torch.cdist(x[0], x)
torch.cdist(x.long(), x.long())
torch.cdist(x.double(), x)
torch.cdist(x, x, compute_mode="x")
torch.pdist(x), torch.pdist(x, 1.5), torch.nn.functional.pdist(x[:1])
torch.pdist(x[0])
torch.pdist(x, -1.0)
torch.gradient(f), torch.gradient(f, spacing=2.0), torch.gradient(f, spacing=(T([0.0, 1.0, 3.0, 4.0, 7.0]),)), torch.gradient(f, edge_order=2)
torch.gradient(x), torch.gradient(x, dim=1), torch.gradient(x, spacing=[2.0, 3.0]), torch.gradient(x, dim=(0,), spacing=2), torch.gradient(T([1, 4, 9]))
torch.gradient(T([1j, 2, 3])), torch.gradient(f[:2])
torch.gradient(x, spacing=[2.0])
torch.gradient(T([1.0]))
torch.gradient(f[:2], edge_order=2)
torch.gradient(f, edge_order=3)
torch.gradient(f, spacing=[T([0.0, 1.0])])
torch.gradient(x, dim=(0, 0))
torch.gradient(T([1, 4, 9], dtype=torch.uint8))
torch.histogram(T([1.0, 2.0, 1.0]), 4, range=(0.0, 3.0), weight=T([1.0, 2.0, 4.0])), torch.histogram(T([1.0, 2.0, 1.0]), T([0.0, 1.5, 3.0]))
torch.histogram(T([1.0, 2.0, 1.0]), 2, density=True), torch.histogram(T([]), 3), T([2.0, 2.0]).histogram(2), torch.histogram(x, 2).hist
torch.histogram(T([1.0, nan]), 2, range=(0.0, 2.0)), torch.histogram(T([1.0, 5.0]), 2, range=(0.0, 2.0)), torch.histogram(T([1.0]), 2, range=(1.0, 1.0))
torch.histogram(T([1]), 2)
torch.histogram(T([1.0]), 0)
torch.histogram(T([1.0]), 2, range=(2.0, 1.0))
torch.histogram(T([1.0, nan]), 2)
torch.histogram(T([1.0, 2.0]), 2, weight=T([1.0]))
torch.histogram(T([1.0, 2.0]), 2, weight=T([1, 2]))
tuple(torch.histogramdd(x, [2, 3])), tuple(torch.histogramdd(x, 2, range=[0.0, 4.0, 0.0, 6.0], density=True)), tuple(torch.histogramdd(x, [T([0.0, 2.0, 5.0]), T([0.0, 6.0])]))
torch.histogramdd(x, 2, weight=T([1.0, 2.0, 4.0])).hist
torch.histogramdd(x, [2])
torch.histogramdd(x, 2, range=[0.0, 1.0])
torch.histogramdd(T([1.0]), 2)
torch.addbmm(torch.ones(3, 5), b, c, beta=2, alpha=0.5), torch.ones(3, 5).addbmm_(b, c), torch.addbmm(torch.full((3, 5), nan), b, c, beta=0)
torch.addbmm(torch.ones(3, 5), b, torch.ones(3, 4, 5))
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_distances_slopes_and_counts_are_pytorchs(program: str) -> None:
    same(
        "T = torch.tensor\nx = torch.arange(6.0).reshape(3, 2)\nf = T([1.0, 4.0, 9.0, 16.0, 30.0])\n"
        "big = torch.arange(60.0).reshape(30, 2) % 7\nb, c = torch.ones(2, 3, 4), torch.ones(2, 4, 5)\n" + program,
        tolerance=1e-3,
    )


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_distances_can_be_differentiated_twice(p: float) -> None:
    x, y = (dt.tensor(v, dtype=dt.float64, requires_grad=True) for v in ([[1.0, 2.5], [0.3, 1.0]], [[3.0, 0.7]]))
    assert gradgradcheck(lambda x, y: dt.cdist(x, y, p), (x, y))


def test_those_that_tie_share_the_gradient_of_the_largest_difference() -> None:
    x = dt.tensor([[0.0, 0.0], [2.0, 2.0]], requires_grad=True)
    assert dt.autograd.grad(dt.pdist(x, float("inf")).sum(), x)[0].tolist() == [[-0.5, -0.5], [0.5, 0.5]]


def test_counts_have_no_gradient_and_edges_have_that_of_the_data() -> None:
    x = dt.tensor([1.0, 3.0, 2.0], requires_grad=True)
    hist, edges = dt.histogram(x, 2)
    assert not hist.requires_grad
    assert dt.autograd.grad(edges[1], x)[0].tolist() == [0.5, 0.5, 0.0]
    with pytest.raises(RuntimeError, match="'weight'"):
        dt.histogram(dt.ones(3), 2, weight=x)


@needs_torch
@pytest.mark.parametrize("numbers", ["[1.0, -2.0, 7.0]", "[nan, 1.0, 1.0]", "[inf, 1.0, -inf]"])
def test_counts_of_entries_that_differ_have_a_gradient_of_zero(numbers: str) -> None:
    same(
        f"x = torch.tensor({numbers}, requires_grad=True)[:, None]\nx.retain_grad()\n"
        "torch.cdist(x, x, 0).sum().backward()\nfirst = x.grad\nx.grad = None\n"
        "torch.pdist(x, 0).sum().backward()\ntorch.cdist(x, x + 1, 0), torch.pdist(x, 0), first, x.grad"
    )
