"""Public signatures: PyTorch's, or listed with the reason why not; what they show is what is taken."""

from __future__ import annotations

import inspect

import pytest

import dualtape as dt
from same_program import needs_torch, same
from tools import signatures


@needs_torch
def test_every_difference_from_pytorch_is_listed_and_every_listed_one_is_there() -> None:
    assert signatures.found().keys() == signatures.listed().keys()


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (dt.mul, "(input, other, *, out=None)"),
        (dt.add, "(input, other, *, alpha=1, out=None)"),
        (dt.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
        (dt.Tensor.add_, "(input, other, *, alpha=1)"),
        (dt.nn.functional.relu, "(input, inplace=False)"),
    ],
)
def test_inspect_shows_the_parameters_that_users_know(function: object, shown: str) -> None:
    assert str(inspect.signature(function)) == shown  # type: ignore[arg-type]


PROGRAMS = """
torch.nn.functional.mse_loss(x, y, None, None, "sum")
torch.nn.functional.mse_loss(x, y, weight=x + 1), torch.nn.functional.mse_loss(x, y, reduction="none", weight=x)
torch.nn.functional.l1_loss(x, y, weight=x, reduction="sum"), torch.nn.functional.huber_loss(x, y, weight=x + 2, delta=0.5)
torch.nn.functional.mse_loss(x, y, size_average=False), torch.nn.functional.mse_loss(x, y, reduce=False)
torch.nn.functional.cross_entropy(x[None], torch.tensor([1]), None, None, -100, None, "sum")
torch.nn.functional.mse_loss(x, y, weight=x[:1])
torch.nn.functional.mse_loss(x, y, None, reduction="sum", size_average=True)
torch.linalg.det(A=torch.eye(2)), torch.linalg.inv(A=torch.eye(2)), torch.linalg.svdvals(A=torch.eye(2))
torch.split(tensor=x, split_size_or_sections=2), torch.swapaxes(torch.ones(2, 3), axis0=0, axis1=1).shape
torch.complex(real=x, imag=y)
torch.linalg.svdvals(torch.eye(2), driver="gesvd")
torch.sum(x, 0, dim=0)
"""


@needs_torch
@pytest.mark.filterwarnings("ignore:size_average and reduce:UserWarning")
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_calls_mean_what_they_mean_in_pytorch(program: str) -> None:
    same("x, y = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([2.0, 0.5, 3.5])\n" + program)
