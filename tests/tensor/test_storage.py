"""Storages, and the ways in which a tensor's memory is changed: sizes, sources, layouts, functions of Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, same

PRELUDE = """
x = torch.arange(6.0).reshape(2, 3)
leaf = lambda: torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
a = leaf()
def history(x):
    behind = [type(node).__name__ for node, _ in x.grad_fn.next_functions] if x.grad_fn is not None else None
    return x.tolist(), x.requires_grad, x.is_leaf, type(x.grad_fn).__name__, behind
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return isinstance(error, RuntimeError)
"""
PROGRAMS = """
s = x.untyped_storage(); s is x.untyped_storage(), s.nbytes(), len(s), s[7], s[-1], s.data_ptr() == x[1].untyped_storage().data_ptr(), s.tolist()
s = x.t().untyped_storage(); s is x.untyped_storage(), s[1:3].tolist(), s.clone().tolist() == s.tolist(), s.element_size()
s = x.untyped_storage(); s[0] = 1; s.__setitem__(slice(1, 3), 2); x, s.fill_(0).tolist(), x
x.untyped_storage()[100]
u = torch.UntypedStorage([1, 2, 3, 300 % 256]); u.resize_(2).tolist(), u.resize_(4).nbytes(), torch.UntypedStorage(3).fill_(7).tolist()
torch.UntypedStorage(2).copy_(torch.UntypedStorage([5, 6])).tolist(), torch.is_storage(torch.UntypedStorage(1)), torch.is_storage(x)
torch.UntypedStorage(2.5)
torch.UntypedStorage(-1)
t = x.storage(); t.tolist(), t[1], t.size(), t.nbytes(), t.element_size(), t.data_ptr() == x.data_ptr(), t.pickle_storage_type()
t = x.storage(); t[1] = 9.0; x, isinstance(t, torch.FloatStorage), isinstance(t, torch.LongStorage), x.storage_type() is torch.FloatStorage
x.storage()[1:3]
torch.FloatStorage([1.0, 2.0]).tolist(), torch.LongStorage(3).size(), torch.TypedStorage([1, 2], dtype=torch.int8).untyped().tolist()
torch.FloatStorage(2).copy_(torch.LongStorage([1, 2])).tolist(), torch.FloatStorage([1.0, 2.0]).clone().resize_(1).tolist()
y = torch.zeros(0); y.set_(x), y.data_ptr() == x.data_ptr(), y.shape, y.mul_(2), x
y = torch.zeros(0).set_(x.storage(), 1, (2,), (2,)); y, y.set_(), torch.zeros(0).set_(x, 0, (3,)), torch.zeros(0).set_(x.untyped_storage(), 1, (2,), (2,))
torch.zeros(0).set_(x.storage())
torch.zeros(0).set_(torch.tensor([1]))
torch.zeros(1, requires_grad=True).set_(x)
y = a * 2; y.set_(); history(y)
y = a * 2; y.set_(x); history(y), history(x)
y = a * 2; y.set_(leaf()); history(y)
y = a * 2; y.set_(leaf() * 3); history(y)
y = a * 2; y.set_(torch.ones(4).untyped_storage(), 1, (2,)); history(y)
y = a * 2; y.set_(torch.ones(4), 1, (2,), (1,)); history(y)
y = a * 2; y.set_(y); history(y)
y = a * 2; y.retain_grad(); y.set_(x); history(y)
y = torch.ones(3); y.set_(leaf()); history(y)
y = torch.ones(3); y.set_(leaf()[:2]); history(y)
y = (a * 2).detach(); y.set_(leaf() * 2); history(y)
y = torch.tensor([1, 2]); y.set_(torch.tensor([3])); history(y)
a.set_(leaf())
y = a * 2; torch.no_grad()(lambda: y.set_(x))(); history(y)
torch.no_grad()(lambda: a.set_(x))(); history(a)
y = a * 2; y.set_(torch.ones(4, dtype=torch.float64))
y = a * 2; y.set_(x); kind(lambda: y.sum().backward())
y = torch.ones(3); z = a * y; y.set_(x); kind(lambda: z.sum().backward())
y = torch.ones(3).add_(1); z = a * y; y.set_(x.add_(1)); kind(lambda: z.sum().backward())
y = a * 2; z = y * y; y.set_(x); kind(lambda: z.sum().backward())
y = a * 2; z = torch.cat([y * y, y]); y.set_(x); kind(lambda: z.sum().backward())
z = a * x; torch.zeros(0).set_(x); z.sum().backward(); a.grad
w = torch.arange(6.0); w.resize_(2, 2), w._version, w.resize_as_(torch.zeros(3)), torch.resize_as_(w, torch.zeros(1, 2))
w = torch.arange(4.0); w.resize_(3, 3)[0].tolist(), w.resize_((1,)), torch.arange(4.0)[1:].resize_(2)
torch.zeros(1, requires_grad=True).resize_(2)
torch.zeros(1).resize_(-1)
x.resize(3, 2), x.resize_as(torch.zeros(6))
x.resize(7)
torch.tensor([1.0, 2.0]).apply_(lambda v: v * 2 + 1), torch.tensor([1, 2]).apply_(lambda v: int(v + 0.7)), x.apply_(lambda v: -v)
torch.tensor([1.0, 2.0]).map_(torch.tensor([10.0, 20.0]), lambda p, q: p + q), torch.tensor([1.0, 2.0]).map_(torch.tensor([1.0]), lambda p, q: p + q)
torch.tensor([1.0, 2.0]).map2_(torch.ones(2), torch.ones(2), lambda p, q, r: p + q * r)
torch.tensor([1.0], requires_grad=True).apply_(lambda v: v)
torch.tensor([1.0]).map_(torch.tensor([1]), lambda p, q: p)
x.const_data_ptr() == x.data_ptr(), torch.zeros(2).module_load(torch.ones(2)), torch.zeros(2).module_load(torch.ones(2), assign=True)
x.pin_memory()
x.record_stream(None)
x.dim_order(), x.t().dim_order(), torch.zeros(2, 3, 4).permute(2, 0, 1).dim_order()
x.is_set_to(x), x.is_set_to(x.detach()), x.is_set_to(x[:]), x.is_set_to(x.clone()), x.is_set_to(x.view(6))
x.new(2, 3).shape, x.new([1, 2]), x.new().shape, torch.tensor([1]).new([1.5]), x.new_empty_strided((2,), (3,), dtype=torch.int32).stride()
torch.empty_strided((2, 3), (1, 2)).stride(), torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride(), torch.empty_strided((2, 2), (0, 1), dtype=torch.int8).stride()
torch.empty_strided((2,), (1, 1))
torch.empty_strided((2,), (-1,))
torch.empty_permuted((2, 3), (0, 0))
torch.range(1, 4), torch.range(0, 1, 0.3), torch.range(0, 3, dtype=torch.int64), torch.range(3, 1, -1), torch.range(1, 1)
torch.range(3, 1)
torch.range(1, 2, 0)
torch.range(3)
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_memory_is_changed_as_pytorch_changes_it(program: str) -> None:
    same(PRELUDE + program)


def test_a_storage_that_a_tensor_lives_in_keeps_its_size() -> None:
    storage = dt.ones(2).untyped_storage()
    with pytest.raises(RuntimeError, match="a tensor lives in this storage"):
        storage.resize_(0)


def test_memory_with_gaps_is_no_storage() -> None:
    with pytest.raises(RuntimeError, match="gaps"):
        dt.from_numpy(np.ones((2, 4))[:, ::2]).untyped_storage()


@pytest.mark.parametrize("write", [lambda x: x.resize_(9), lambda x: x.set_(dt.ones(9))])
def test_a_tensor_whose_memory_others_see_does_not_leave_it(write: object) -> None:
    x = dt.arange(4.0)
    view = x[1:]
    for tensor in (x, view):
        with pytest.raises(RuntimeError, match="clone"):
            write(tensor)  # type: ignore[operator]
    del view, tensor
    assert write(x).numel() == 9  # type: ignore[operator]


def test_what_was_set_to_a_tensor_counts_its_writes_too() -> None:
    x = dt.ones(2, requires_grad=True) * 1
    y = x * x
    dt.zeros(0).set_(x.detach()).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_shared_file_gets_what_is_written_and_another_does_not(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    dt.from_file(path, shared=True, size=3).fill_(2)
    dt.from_file(str(path), size=3).fill_(5)
    assert dt.from_file(path, size=3).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="12 bytes"):
        dt.from_file(path, size=4)


def test_writes_by_functions_of_python_are_counted() -> None:
    x = dt.ones(2)
    assert x.apply_(lambda v: 2 * v).map_(x, lambda a, b: a + b)._version == 2


def test_tensors_are_not_shared_among_processes() -> None:
    with pytest.raises(NotImplementedError):
        dt.ones(1).share_memory_()


def test_an_ambiguous_order_of_dimensions_is_refused_where_that_is_asked_for() -> None:
    with pytest.raises(RuntimeError, match="open"):
        dt.zeros(2, 2)[:, :1].expand(2, 2).dim_order(ambiguity_check=True) and dt.ones(1).expand(2, 2).dim_order(True)
