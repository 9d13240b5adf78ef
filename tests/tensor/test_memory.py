"""Memory: no argument, however wrong, makes an operation read or write outside of its arrays."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
from dualtape.arrays.kernels.basics import add_at
from same_program import needs_torch, programs, same

WINDOWS = programs(
    r"""
    torch.zeros(0).as_strided((1,), (1,))
    torch.zeros(0).as_strided((0,), (1,)).shape
    torch.zeros(0).as_strided((), ())
    torch.zeros(3).as_strided((2,), (1,), 2)
    torch.zeros(3).as_strided((2,), (1,), -1)
    torch.zeros(3).as_strided((2,), (-1,), 1)
    torch.zeros(3).as_strided((2,), (2**62,), 0)
    torch.zeros(3).as_strided((-1,), (1,), 0)
    torch.zeros(3).as_strided((2, 2), (1,), 0)
    torch.zeros(3).as_strided((0,), (1,), 50).shape
    torch.zeros(3).unfold(0, 4, 1)
    torch.zeros(3).unfold(0, -1, 1)
    torch.zeros(3).unfold(0, 2, 0)
    torch.zeros(3).unfold(0, 2, -1)
    torch.zeros(()).unfold(0, 2, 1)
    torch.zeros(1).expand(-2)
    torch.zeros(1).expand(2, -3, 1)
    torch.zeros(1, 0).expand(5, 0)
    torch.frombuffer(bytearray(8), dtype=torch.float32, offset=3, count=5)
    torch.frombuffer(bytearray(8), dtype=torch.float32, offset=-4)
    torch.frombuffer(bytearray(7), dtype=torch.float32)
    torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 0, 2))
    torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), padding=-1)
    torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), dilation=0)
    torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), stride=0)
    torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), padding=5)
    torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), output_padding=-1)
    torch.nn.functional.conv_transpose1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2), dilation=-1)
    torch.nn.functional.unfold(torch.ones(1, 1, 3, 3), 2, stride=0)
    torch.nn.functional.unfold(torch.ones(1, 1, 3, 3), 2, dilation=0)
    torch.nn.functional.unfold(torch.ones(1, 1, 3, 3), 2, padding=-1)
    torch.nn.functional.unfold(torch.ones(1, 1, 3, 3), 0)
    torch.nn.functional.fold(torch.ones(1, 4, 4), (3, 3), 2, stride=0)
    torch.nn.functional.fold(torch.ones(1, 4, 4), (3, 3), 2, dilation=0)
    """
)
PLACES = programs(
    r"""
    torch.zeros(2, 3).index_add_(1, torch.tensor([0]), torch.ones(2, 1, 1, 3))
    torch.zeros(2, 3).index_add(1, torch.tensor([0]), torch.ones(1, 1))
    torch.zeros(2, 3).index_add(1, torch.tensor([[0]]), torch.ones(2, 1))
    torch.zeros(2, 3).index_add(1, torch.tensor([0]), torch.tensor(1.0))
    torch.zeros(3).index_add(0, torch.tensor(0), torch.tensor(1.0))
    torch.tensor(0.0).index_add(0, torch.tensor([0]), torch.tensor([1.0]))
    torch.tensor(0.0).index_add(0, torch.tensor(0), torch.tensor(1.0))
    torch.tensor(0.0).index_copy(0, torch.tensor(0), torch.tensor(1.0))
    torch.zeros(3).index_copy(0, torch.tensor(0), torch.tensor([1.0]))
    torch.zeros(3).index_copy(0, torch.tensor([0, 1]), torch.tensor([1.0]))
    torch.zeros(3).index_copy(0, torch.tensor([[0, 1]]), torch.ones(2))
    torch.zeros(2, 3).index_copy(1, torch.tensor([0]), torch.ones(2, 1, 1, 3))
    torch.zeros(2, 3).index_copy(1, torch.tensor([0]), torch.ones(1))
    torch.zeros(2, 3).index_copy(1, torch.tensor([0]), torch.ones(1, 1))
    torch.zeros(2, 3).index_put((torch.tensor([0]),), torch.ones(1, 1, 1, 3), accumulate=True)
    torch.zeros(2, 3).index_put((torch.tensor([0]),), torch.ones(1, 1, 1, 3))
    torch.zeros(2, 3).index_fill(1, torch.tensor([[0]]), 2.0)
    torch.zeros(2, 3).index_fill(1, torch.tensor([True, False, True]), 2.0)
    torch.zeros(2, 3).scatter_add(1, torch.tensor([[0]]), torch.ones(2, 1, 1, 3))
    torch.zeros(2, 3).scatter_add(1, torch.tensor([[0]]), torch.tensor(2.0))
    torch.zeros(2, 3).scatter(1, torch.tensor([[0]]), torch.ones(2, 1, 1, 3))
    torch.zeros(2, 3).scatter(1, torch.tensor([[0]]), torch.ones(2, 1, 1, 3), reduce="multiply")
    """
)
STORAGE = programs(
    r"""
    torch.arange(16.0).reshape(4, 4)[1:3, 1:3].as_strided((2, 2), (4, 1))
    torch.arange(16.0).reshape(4, 4)[1:3, 1:3].as_strided((2, 2), (4, 1), 0)
    torch.arange(16.0).reshape(4, 4)[1:3, 1:3].as_strided((2, 2), (4, 1), 15)
    torch.arange(16.0).reshape(4, 4)[:, 1].as_strided((2, 2), (4, 1))
    torch.arange(16.0).reshape(4, 4).t().as_strided((2, 2), (4, 1), 1)
    torch.arange(4.0)[1:].as_strided((2,), (1,), 0)
    torch.arange(4.0)[1:].as_strided((2,), (1,))
    torch.arange(4.0)[1:].as_strided((2,), (1,), 1)
    torch.arange(4.0).unsqueeze(1).expand(4, 3).as_strided((2, 2), (1, 1))
    x = torch.arange(6.0, requires_grad=True); (x.reshape(2, 3).t().as_strided((2, 2), (1, 2)) ** 2).sum().backward(); x.grad
    x = torch.arange(6.0, requires_grad=True); (x[2:].as_strided((2, 2), (1, 1)) ** 2).sum().backward(); x.grad
    x = torch.arange(6.0, requires_grad=True).clone(); x.reshape(2, 3).t().as_strided((2,), (3,)).mul_(10); x
    x = torch.from_numpy(np.asfortranarray(np.arange(6.0).reshape(2, 3))); x.as_strided((3,), (1,), 1)
    """
)


@needs_torch
@pytest.mark.parametrize("line", WINDOWS)
def test_windows_stay_inside_of_the_memory(line: str) -> None:
    same(line)


@needs_torch
@pytest.mark.parametrize("line", PLACES)
def test_values_must_fit_the_places_they_are_written_to(line: str) -> None:
    same(line)


@needs_torch
@pytest.mark.parametrize("line", STORAGE)
def test_as_strided_reads_the_storage_behind_a_view(line: str) -> None:
    same(line)


def test_values_of_more_dimensions_than_the_places_are_refused_not_added() -> None:
    with pytest.raises(RuntimeError, match="source tensor shape must match self tensor shape"):
        dt.zeros(2, 3).index_add_(1, dt.tensor([0]), dt.ones(2, 1, 1, 3))
    with pytest.raises(RuntimeError, match="shape mismatch"):
        dt.zeros(2, 3).index_put((None, dt.tensor([0])), dt.ones(2, 1, 1, 3), accumulate=True)
    with pytest.raises(ValueError, match="cannot be broadcast"):
        add_at(np.zeros((2, 3)), (slice(None), np.array([0])), np.ones((2, 1, 1, 3)))


def test_as_strided_never_reads_outside_of_the_memory() -> None:
    for size, stride, offset in (((1,), (1,), 0), ((2,), (1,), 2), ((2,), (-1,), 1), ((1,), (1,), -1)):
        with pytest.raises(RuntimeError, match="as_strided"):
            dt.zeros(0 if offset == 0 else 3).as_strided(size, stride, offset)


def test_as_strided_refuses_memory_with_gaps_and_views_whose_base_has_no_history() -> None:
    with pytest.raises(RuntimeError, match="has gaps"):
        dt.from_numpy(np.zeros((4, 4))[:, ::2]).as_strided((2,), (1,))
    view = dt.zeros(2, 2).t().requires_grad_()
    with pytest.raises(RuntimeError, match="its base does not"):
        view.as_strided((2,), (1,))


def test_the_gradient_of_as_strided_reaches_what_lies_beside_the_view() -> None:
    x = dt.arange(4.0, requires_grad=True)
    x[1:3].as_strided((4,), (1,), 0).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0, 1.0]
