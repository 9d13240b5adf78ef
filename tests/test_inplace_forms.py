"""In-place forms: as functions, of comparisons, of view ops."""

from __future__ import annotations

import pytest

import dualtape as dt
from same_program import needs_torch, same

FUNCTIONS = """
torch.exp_(y), torch.clamp_(y, 0.5), torch.neg_(y), y._version
torch.zero_(y), torch.fill_(y, 2.0), y.requires_grad
torch.index_put_(y, (torch.tensor([0]),), torch.tensor(7.0))
torch.nn.functional.elu_(y), torch.nn.functional.leaky_relu_(y, 0.5), torch.nn.functional.threshold_(y, 0.1, 3.0), y._version
torch.addmv_(y, torch.eye(3), torch.ones(3)), torch.xlogy_(y, 2.0)
torch.selu_(y), torch.celu_(y, alpha=2.0), torch.relu_(y)
torch.dropout_(y, 1.0, True), torch.dropout_(x, 0.5, False)
torch.exp_(x)
torch.nn.functional.celu_(x)
torch.clamp_min_(torch.tensor([1, 2]), 1.5)
y.renorm_(2, 0, 1.0)
(y.reshape(3, 1) * 1).renorm_(2, 0, 1.0)
torch.ones(2, 2, dtype=torch.int64).renorm_(2, 0, 1.0)
"""
COMPARISONS = """
y.eq_(1.0), y.grad_fn.name(), torch.autograd.grad(y.sum(), x)
y.ge_(x), y.grad_fn.name(), torch.autograd.grad(y.sum(), x)
y.not_equal_(2.0), y.greater_(0), y.less_equal_(torch.tensor(1)), y._version
torch.tensor([1, 2]).lt_(1.5), torch.tensor([1, 2]).eq_(torch.tensor([1.0, 2.5]))
torch.tensor([1.0, 2.0, 0.0]).gt_(x)
torch.tensor([True, False]).logical_and_(torch.tensor([2.0, 0.0])), torch.tensor([2, 0]).logical_not_()
torch.tensor([1j]).eq_(1j), torch.tensor([0j]).logical_not_()
torch.ones(2).logical_or_(1)
torch.ones(2).eq_(torch.ones(3, 2))
x.eq_(1)
"""


@needs_torch
@pytest.mark.parametrize("program", (FUNCTIONS + COMPARISONS).strip().splitlines())
def test_in_place_forms_do_what_pytorchs_do(program: str) -> None:
    same("x = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)\ny = x * 1\n" + program)


def test_the_gradient_of_logic_in_place_is_zero() -> None:
    x = dt.ones(2, requires_grad=True)
    y = (x * 3).logical_not_()
    assert dt.autograd.grad(y.sum(), x)[0].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="logical_xor_: a leaf"):
        x.logical_xor_(dt.ones(2))
