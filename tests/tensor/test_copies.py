"""View ops that copy: memory of their own, whatever the view would share."""

from __future__ import annotations

import pytest

import dualtape as dt
from same_program import needs_torch, same

PROGRAMS = """
torch.permute_copy(x, (1, 0)).stride(), torch.t_copy(x).stride(), torch.expand_copy(x, (2, 2, 3)).stride(), torch.diagonal_copy(x)
torch.split_copy(x, 1), torch.split_with_sizes_copy(x, split_sizes=[1, 1]), torch.unbind_copy(x, dim=1)
torch.alias_copy(x)._is_view(), torch.slice_copy(x, 0, 1), torch.select_copy(x, 1, -1), torch.unfold_copy(x, 1, 2, 1)
torch.view_copy(x.t(), (6,)), torch.view_copy(x.detach(), torch.int32), torch.view_copy(x.detach(), dtype=torch.int32)
torch.view_as_complex_copy(torch.ones(1, 2)), torch.view_as_real_copy(torch.tensor([1j])), torch.squeeze_copy(x[None], (0, 1))
torch.as_strided_copy(x, (2,), (1,), 1), torch.narrow_copy(x, 1, 0, 2), x.narrow_copy(0, 1, 1), torch.unsqueeze_copy(x, 0)
torch.view_copy(x, (7,))
torch.transpose_copy(x, 0, 5)
torch.select_copy(x, 0, 9)
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_copies_of_views_are_pytorchs(program: str) -> None:
    same("x = torch.arange(6.0).reshape(2, 3).requires_grad_()\n" + program)


def test_a_detached_copy_has_no_history() -> None:
    x = dt.ones(2, requires_grad=True)
    copy = dt.detach_copy(x)
    assert not copy.requires_grad and copy.data_ptr() != x.data_ptr()


def test_copies_have_the_gradients_of_the_views() -> None:
    x = dt.ones(2, 2, requires_grad=True)
    (g,) = dt.autograd.grad(dt.view_as_complex_copy(x).real.sum() + dt.narrow_copy(x, 1, -1, 1).sum(), x)
    assert g.tolist() == [[1.0, 1.0], [1.0, 1.0]]
