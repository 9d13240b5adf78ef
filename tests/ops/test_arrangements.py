"""Tensors turned, cut, laid side by side and combined: shapes, dtypes and errors."""

from __future__ import annotations

import pytest

import dualtape as dt
from same_program import needs_torch, same

PROGRAMS = """
torch.diagflat(x, 1).shape, torch.diagflat(T(2.0)), torch.diagflat(T([1.0]), offset=-1), x.diagflat()
torch.block_diag(T([1, 2]), T(3.0), x), torch.block_diag().shape, torch.block_diag(T([[1]]), T(1.5, dtype=torch.float64)).dtype
torch.block_diag(torch.zeros(2, 2, 2))
torch.block_diag([x, x])
torch.broadcast_tensors(x, T([1.0])), torch.broadcast_tensors(x, T([1.0]))[1]._is_view(), torch.broadcast_tensors()
torch.broadcast_tensors(x, torch.ones(4))
torch.broadcast_shapes((2, 1), (3,)) == (2, 3), torch.broadcast_shapes() == (), torch.broadcast_shapes(2, (1,)) == (2,), torch.broadcast_shapes((0,), (1,)) == (0,)
torch.broadcast_shapes((2,), (3,))
torch.broadcast_shapes((-1,))
torch.cartesian_prod(T([1, 2])), torch.cartesian_prod(T([1, 2]), T([3, 4]), T([5])), torch.cartesian_prod(T([1, 2]), T([3]))._is_view()
torch.cartesian_prod(T([[1]]), T([1]))
torch.cartesian_prod(T([1]), T([1.5]))
torch.cartesian_prod()
torch.combinations(T([1, 2, 3])), torch.combinations(T([1, 2]), 2, True), torch.combinations(T([1, 2]), 0), torch.combinations(T([1, 2]), 3)
torch.combinations(x)
torch.combinations(T([1]), -1)
torch.column_stack((T([1, 2]), T([[3, 4], [5, 6]]))), torch.column_stack((T(1), T(2))), torch.dstack((T([1, 2]), T([3, 4]))), torch.dstack((T(1),))
torch.column_stack(())
torch.hsplit(x, 3), torch.hsplit(T([1, 2]), 2), torch.hsplit(x, [1, 2]), x.hsplit(1, 2), torch.vsplit(x, (1,)), torch.dsplit(torch.ones(1, 2, 4), 2)
torch.hsplit(x, 2)
torch.hsplit(x, 0)
torch.hsplit(T(1), 1)
torch.vsplit(T([1]), 1)
torch.dsplit(x, 1)
torch.fliplr(x), torch.flipud(x), x.fliplr()
torch.fliplr(T([1]))
torch.flipud(T(1))
torch.rot90(x), torch.rot90(x, -1, (1, 0)), x.rot90(2), torch.rot90(x, 4)._is_view(), torch.rot90(x, 1, [0, -1])
torch.rot90(x, 1, [0, 0])
torch.rot90(x, 1, [1, -1])
torch.rot90(T([1]))
torch.rot90(x, 1, [0])
torch.rot90(x, 1, [0, 5])
torch.vander(T([1, 2, 3])), torch.vander(T([1.0, 2.0]), N=4, increasing=True), torch.vander(T([True, False])), torch.vander(T([2j]), 3)
torch.vander(x)
torch.vander(T([1]), -1)
torch.unravel_index(T(5), (2, 3)), torch.unravel_index(T([6, -1]), (2, 3)), torch.unravel_index(T([3]), 4), torch.unravel_index(T([0]), ())
torch.unravel_index(T([1.0]), (2,))
torch.unravel_index(T([0]), (-1, 2))
torch.split_with_sizes(x, [1, 2], 1), x.split_with_sizes([2]), torch.unsafe_chunk(x, 2), x.unsafe_split(1), torch.unsafe_split_with_sizes(x, [1, 1])
torch.split_with_sizes(x, [1, 1], 1)
y = (x * 1).requires_grad_(); p = torch.unsafe_split(y * 1, 1)[0].mul_(2); p, p._is_view(), torch.autograd.grad(p.sum(), y)
x.sum_to_size(1, 3), x.sum_to_size(3), x.sum_to_size((2, 1)), x.sum_to_size(2, 3) is x, x.sum_to_size(())
x.sum_to_size(2)
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_arrangements_are_pytorchs(program: str) -> None:
    same("T = torch.tensor\nx = torch.arange(6.0).reshape(2, 3)\n" + program)


def test_unsafe_pieces_have_memory_of_their_own() -> None:
    x = dt.zeros(4)
    dt.unsafe_split(x, 2)[0].fill_(1)
    assert x.tolist() == [0.0] * 4


@needs_torch
def test_what_has_the_broadcast_shape_is_itself() -> None:
    same("x, y = torch.ones(2, 3), torch.ones(3); a, b = torch.broadcast_tensors(x, y); (a is x, b is y)")
