"""The Tensor: Python's and NumPy's protocols, copies, flags, layout and operators, program by program against
PyTorch.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from same_program import needs_torch, programs, same

VALUES = programs(
    r"""
    torch.tensor(3).item(), torch.tensor(3.5).item(), torch.tensor(True).item(), torch.tensor(1j).item(), torch.tensor([[2]]).item()
    torch.ones(2).item()
    torch.ones(0).item()
    torch.ones(2, 2).tolist(), torch.tensor(3).tolist(), torch.tensor([]).tolist(), torch.tensor([True]).tolist(), torch.zeros(2, 0).tolist()
    torch.ones(1, requires_grad=True).item(), torch.ones(1, requires_grad=True).tolist()
    """
)

PROTOCOLS = programs(
    r"""
    len(torch.ones(2, 3)), len(torch.ones(0))
    len(torch.tensor(1))
    list(torch.arange(3))
    list(torch.arange(4).reshape(2, 2))
    [a.grad_fn.name() for a in torch.ones(2, requires_grad=True)]
    iter(torch.tensor(1))
    a, b = torch.tensor([1, 2]); (a, b)
    x = torch.ones(2); [v.add_(1) for v in x]; x
    list(reversed(torch.arange(3)))
    2 in torch.arange(3), 5 in torch.arange(3), torch.tensor(1) in torch.arange(3), 1.0 in torch.arange(3)
    'a' in torch.arange(3)
    None in torch.arange(3)
    [1] in torch.arange(3)
    torch.tensor([1, 2]) in torch.arange(2)
    bool(torch.tensor(1)), bool(torch.tensor([0.0])), bool(torch.tensor([[False]]))
    bool(torch.ones(2))
    bool(torch.ones(0))
    not torch.tensor(1)
    int(torch.tensor(3.7)), float(torch.tensor(3)), complex(torch.tensor(2)), int(torch.tensor([3]))
    int(torch.ones(2))
    float(torch.tensor(1j))
    int(torch.tensor(1j))
    [10, 20][torch.tensor(1)]
    [10, 20][torch.tensor([1])]
    [10, 20][torch.tensor(1.0)]
    [10, 20][torch.tensor(True)]
    list(range(torch.tensor(2)))
    torch.tensor([1]).__index__()
    torch.tensor([1, 2]).__index__()
    f"{torch.tensor(3.14159):.2f}", f"{torch.tensor(3):d}", f"{torch.tensor(3.5)}"
    f"{torch.ones(2):.2f}"
    "%.2f" % torch.tensor(3.14159)
    "%d" % torch.tensor(3)
    round(torch.tensor(2.567), 1)
    round(torch.tensor(2.567))
    math.floor(torch.tensor(2.5)), math.ceil(torch.tensor(2.5)), math.trunc(torch.tensor(2.5))
    math.sqrt(torch.tensor(4.0)), math.sin(torch.tensor(0.0))
    abs(torch.tensor(-2.0)), -torch.tensor(2.0), +torch.tensor(2.0)
    divmod(torch.tensor(7), 2)
    """
)

COMPARISONS = programs(
    r"""
    x = torch.ones(2); y = torch.ones(2); hash(x) == hash(y)
    x = torch.ones(2); x == torch.ones(2)
    x = torch.ones(2); (x == None, x != None)
    x = torch.ones(2); (x == 'a')
    x = torch.ones(2); (x != 'a')
    x = torch.ones(2); (x == [1, 1])
    x = torch.ones(2); (x == object())
    x = torch.ones(2); x < None
    x = torch.ones(2); x < 'a'
    x = torch.ones(2); x + 'a'
    x = torch.ones(2); 'a' + x
    x = torch.ones(2); x + None
    x = torch.ones(2); None + x
    x = torch.ones(2); x + [1, 2]
    x = torch.ones(2); [1, 2] + x
    x = torch.ones(2); x * [1, 2]
    x = torch.ones(2); x @ 2
    x = torch.ones(2); x - object()
    x = torch.ones(2); x += 'a'
    x = torch.ones(2); x.add_([1, 2])
    x = torch.ones(2); x.add('a')
    x = torch.ones(2); torch.add(x, None)
    x = torch.ones(2); torch.add(2, x)
    x = torch.ones(2); torch.mul(2, 3)
    torch.sin(2)
    torch.sin([1])
    x = torch.ones(2); x in [1, x]
    x = torch.ones(2); [1, x].index(x)
    torch.equal(torch.ones(2), torch.ones(2)), torch.equal(torch.ones(2), torch.ones(3))
    torch.equal(torch.ones(2), torch.ones(2, dtype=torch.float64))
    torch.allclose(torch.ones(2), torch.ones(2)), torch.isclose(torch.ones(2), torch.ones(2))
    torch.ones(2).equal(torch.ones(2))
    x = torch.ones(2); len({x, x}), hash(x) == hash(x)
    """
)

NUMPY = programs(
    r"""
    torch.ones(2).numpy()
    torch.ones(2, requires_grad=True).numpy()
    torch.ones(2, requires_grad=True).numpy(force=True)
    torch.ones(2, requires_grad=True).detach().numpy()
    x = torch.ones(2); a = x.numpy(); a[0] = 5; x
    np.asarray(torch.ones(2))
    np.array(torch.ones(2))
    np.asarray(torch.ones(2, requires_grad=True))
    np.array(torch.ones(2, requires_grad=True))
    np.asarray(torch.ones(2), dtype=np.float64)
    np.array(torch.ones(2), dtype=np.int64)
    x = torch.ones(2); a = np.asarray(x); a[0] = 5; x
    x = torch.ones(2); a = np.array(x); a[0] = 5; x
    np.array([torch.tensor(1.0), torch.tensor(2.0)])
    np.zeros(3)[torch.tensor(1)]
    np.arange(3)[torch.tensor([0, 2])]
    torch.ones(2).__array__()
    torch.ones(2).__array__(np.float64)
    x = torch.ones(2); x * np.ones(2)
    x = torch.ones(2); x + np.ones(2)
    x = torch.ones(2); x * np.float64(2)
    x = torch.ones(2); x + np.float32(2)
    x = torch.ones(2); x + np.int64(2)
    x = torch.ones(2, dtype=torch.int64); x + np.float64(2)
    x = torch.ones(2, dtype=torch.int64); x * np.float32(2)
    x = torch.ones(2); x == np.ones(2)
    """
)

COPIES = programs(
    r"""
    x = torch.ones(2, requires_grad=True); y = copy.copy(x); (y is x, y, y.data_ptr() == x.data_ptr())
    x = torch.ones(2, requires_grad=True); y = copy.deepcopy(x); (y, y.data_ptr() == x.data_ptr())
    x = torch.ones(2, requires_grad=True); copy.deepcopy(x * 2)
    x = torch.ones(2, requires_grad=True); (x * x).sum().backward(); y = copy.deepcopy(x); (y, y.grad, y.grad.data_ptr() == x.grad.data_ptr())
    x = torch.ones(2); x.foo = [1]; y = copy.deepcopy(x); (y.foo, y.foo is x.foo)
    x = torch.ones(2); x.foo = [1]; y = copy.copy(x); (y.foo, y.foo is x.foo)
    x = torch.ones(2); a, b = copy.deepcopy([x, x]); a is b
    x = torch.ones(4); a, b = copy.deepcopy([x, x[:2]]); a[0] = 9; b
    x = torch.ones(4); a, b = copy.deepcopy([x, x.view(2, 2)]); a.data_ptr() == b.data_ptr()
    x = torch.ones(2, 3).t(); copy.deepcopy(x).stride()
    x = torch.ones(4)[::2]; copy.deepcopy(x).stride()
    x = torch.ones(2, requires_grad=True); copy.deepcopy(x.detach())
    x = torch.ones(2, requires_grad=True); copy.deepcopy(x[0])
    x = torch.ones(2); copy.deepcopy(x[:1])._is_view()
    x = torch.ones(2, requires_grad=True); h = x.register_hook(lambda g: g * 2); y = copy.deepcopy(x); y.sum().backward(); y.grad
    x = torch.tensor([1, 2]); copy.deepcopy(x)
    x = torch.ones(2, requires_grad=True); y = x * 2; z = copy.copy(y); (z, z.grad_fn is not None)
    pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True)))
    pickle.loads(pickle.dumps(torch.ones(2, dtype=torch.int8)))
    pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True) * 2))
    x = torch.ones(2); x.foo = 3; pickle.loads(pickle.dumps(x)).foo
    x = torch.ones(2, requires_grad=True); x.sum().backward(); pickle.loads(pickle.dumps(x)).grad
    pickle.loads(pickle.dumps(torch.arange(6).reshape(2, 3).t())).stride()
    pickle.loads(pickle.dumps(torch.float32))
    pickle.loads(pickle.dumps(torch.ones(2).shape))
    pickle.loads(pickle.dumps(torch.device('cpu')))
    x = torch.arange(4); a, b = pickle.loads(pickle.dumps([x, x[:2]])); a[0] = 9; b
    x = torch.arange(4); a, b = pickle.loads(pickle.dumps([x, x])); a is b
    """
)

ATTRIBUTES = programs(
    r"""
    'sin' in dir(torch.ones(1)), 'requires_grad' in dir(torch.ones(1))
    x = torch.ones(1); x.foo = 3; ('foo' in dir(x), x.foo)
    torch.ones(1).nonsense
    x = torch.ones(1); del x.foo
    x = torch.ones(1); x.shape = (1, 1)
    x = torch.ones(1); x.dtype = torch.float64
    x = torch.ones(1); x.grad_fn = None
    x = torch.ones(1); x.is_leaf = False
    x = torch.ones(1); x.device = 'cpu'
    """
)

DETACHING = programs(
    r"""
    x = torch.ones(2, requires_grad=True); y = x.detach(); y[0] = 5; (x, x._version, y._version, y.requires_grad)
    x = torch.ones(2, requires_grad=True); y = x.data; y[0] = 5; (x, x._version, y._version)
    x = torch.ones(2, requires_grad=True); x.data = torch.zeros(2); x
    x = torch.ones(2, requires_grad=True); x.data = torch.zeros(3); x
    x = torch.ones(2, requires_grad=True); x.data = torch.zeros(2, dtype=torch.float64); x
    x = torch.ones(2, requires_grad=True); x.data = torch.zeros(2, dtype=torch.int64); x
    x = torch.ones(2); x.data = [1, 2]
    x = torch.ones(2); x.data = None
    x = torch.ones(2); x.data += 1; (x, x._version)
    x = torch.ones(2, requires_grad=True); (x * x).sum().backward(); x.data -= x.grad; (x, x._version)
    x = torch.ones(2, requires_grad=True); y = x * 1; y.data.zero_(); y
    x = torch.ones(2, requires_grad=True); y = (x * 2).detach(); (y, y.is_leaf, y._is_view(), y._base is None)
    x = torch.ones(2, requires_grad=True); (x[:1]).detach()._is_view()
    x = torch.ones(2); x.detach() is x, x.detach()._is_view()
    x = torch.ones(2, requires_grad=True); y = x * 2; y.detach_(); (y, y.is_leaf)
    x = torch.ones(2, requires_grad=True); y = x[:1]; y.detach_()
    x = torch.ones(2, requires_grad=True); x.detach_(); x
    x = torch.ones(2); x[:1].detach_()
    x = torch.ones(2, requires_grad=True).clone(); y = x.exp(); x.detach().zero_(); y.sum().backward()
    x = torch.ones(2, requires_grad=True).clone(); y = x.sin(); x.detach().zero_(); y.sum().backward()
    x = torch.ones(2, requires_grad=True).clone(); y = x.sin(); x.data.zero_(); y.sum().backward()
    """
)

GRAD = programs(
    r"""
    x = torch.ones(2); x.grad = torch.ones(2); x.grad
    x = torch.ones(2); x.grad = torch.ones(3)
    x = torch.ones(2); x.grad = torch.ones(2, dtype=torch.float64)
    x = torch.ones(2); x.grad = [1, 2]
    x = torch.ones(2); x.grad = 3
    x = torch.ones(2); x.grad = x
    x = torch.ones(2); x.grad = None; x.grad
    x = torch.ones(2); x.grad = torch.ones(2); del x.grad; x.grad
    x = torch.tensor([1]); x.grad = torch.tensor([1]); x.grad
    x = torch.ones(2, requires_grad=True); g = torch.ones(2); x.grad = g; x.grad is g
    x = torch.ones(2, requires_grad=True); y = x * 2; y.grad
    x = torch.ones(2, requires_grad=True); y = x * 2; y.grad = torch.ones(2); y.grad
    x = torch.ones(2, requires_grad=True); x.grad = torch.ones(2, requires_grad=True); x.grad
    x = torch.ones(2, requires_grad=True); g = torch.ones(2); x.grad = g; x.sum().backward(); (x.grad, g, x.grad is g)
    x = torch.ones(2, requires_grad=True); x.sum().backward(); g = x.grad; x.sum().backward(); (g, x.grad is g)
    x = torch.ones(2, requires_grad=True); x.sum().backward(); x.grad.zero_(); x.grad
    """
)

FLAGS = programs(
    r"""
    x = torch.ones(2); x.requires_grad_() is x
    x = torch.ones(2); x.requires_grad = True; x
    x = torch.tensor([1]); x.requires_grad = True
    x = torch.tensor([1]); x.requires_grad_()
    x = torch.tensor([1]); x.requires_grad_(False)
    x = torch.tensor([1]); x.requires_grad = False; x.requires_grad
    x = torch.ones(2, requires_grad=True); x.requires_grad_(False); x
    x = torch.ones(2, requires_grad=True) * 2; x.requires_grad_(False)
    x = torch.ones(2, requires_grad=True) * 2; x.requires_grad = False
    x = torch.ones(2, requires_grad=True) * 2; x.requires_grad_(True).requires_grad
    x = torch.ones(2); x.requires_grad_(1)
    x = torch.ones(2); x.requires_grad = 1
    x = torch.ones(2); x.requires_grad_('a')
    x = torch.ones(2); x[:1].requires_grad_().requires_grad, x.requires_grad
    x = torch.ones(2); y = x[:1]; x.requires_grad_(); (y.requires_grad, x.requires_grad)
    x = torch.ones(2); y = x[:1].requires_grad_(); y.sum().backward(); (y.grad, x.grad)
    x = torch.ones(2); x.is_leaf, (x * 2).is_leaf, (x.requires_grad_() * 2).is_leaf
    x = torch.ones(2); x.retain_grad()
    x = torch.ones(2, requires_grad=True); x.retain_grad(); x.retains_grad
    x = torch.ones(2, requires_grad=True); y = x * 2; y.retain_grad(); y.sum().backward(); (y.retains_grad, y.grad, x.grad)
    x = torch.ones(2, requires_grad=True); y = x * 2; y.retain_grad(); y.retain_grad(); (y * 3).sum().backward(); y.grad
    x = torch.ones(2, requires_grad=True); y = x * 2; (y.retains_grad, x.retains_grad)
    x = torch.ones(2, requires_grad=True); y = x * 2; y.retains_grad = True
    x = torch.ones(2); x.register_hook(print)
    x = torch.ones(2, requires_grad=True); x.register_hook(lambda g: g * 2); x.sum().backward(); x.grad
    x = torch.ones(2, requires_grad=True); h = x.register_hook(lambda g: g * 2); h.remove(); x.sum().backward(); x.grad
    x = torch.ones(2, requires_grad=True); y = x * 1; y.register_hook(lambda g: g * 2); y.register_hook(lambda g: g + 1); y.sum().backward(); x.grad
    x = torch.ones(2, requires_grad=True); x.register_hook(lambda g: 3); x.sum().backward()
    x = torch.ones(2, requires_grad=True); x.register_hook(lambda g: torch.ones(3)); x.sum().backward()
    x = torch.ones(2, requires_grad=True); x.backward()
    x = torch.ones(2, requires_grad=True); x.backward(torch.ones(2)); x.grad
    x = torch.ones(2); x.sum().backward()
    x = torch.ones(1, requires_grad=True); (x * 2).backward(); x.grad
    x = torch.ones(2, requires_grad=True); (x * 2).backward(torch.ones(3))
    x = torch.ones(2, requires_grad=True); (x * 2).backward(2)
    x = torch.ones((), dtype=torch.complex64, requires_grad=True); (x * 2).backward()
    x = torch.ones(2, requires_grad=True); y = (x * x).sum(); y.backward(); y.backward()
    """
)

LAYOUT = programs(
    r"""
    x = torch.arange(24.).reshape(2, 3, 4); y = x[:, 1:, ::2]; (y.stride(), y.storage_offset(), y.is_contiguous())
    x = torch.arange(24.).reshape(2, 3, 4); y = x.permute(2, 0, 1); (y.stride(), y.storage_offset(), y.is_contiguous())
    x = torch.arange(24.).reshape(2, 3, 4); y = x.transpose(0, 1)[1]; (y.stride(), y.storage_offset(), y.is_contiguous(), y.data_ptr() - x.data_ptr())
    x = torch.arange(24.).reshape(2, 3, 4); (x.stride(), x.stride(0), x.stride(-1), x.stride(dim=1))
    torch.ones(2).stride(1)
    torch.ones(2, 1).expand(2, 3).stride()
    torch.tensor(1).stride(), torch.tensor(1).is_contiguous()
    x = torch.arange(24.).reshape(2, 3, 4); y = x[1][1]; (y.storage_offset(), y[2:].storage_offset(), x.storage_offset())
    x = torch.ones(2, 3).t().contiguous(); x.stride(), x.is_contiguous()
    x = torch.ones(2, 3); x.contiguous() is x
    torch.ones(2, 3).t().clone().stride()
    x = torch.ones(6).view(2, 3); x._is_view(), x._base is not None, x._base.shape
    x = torch.ones(6); y = x.view(2, 3)[0]; y._base is x
    x = torch.ones(2, 3); (x.T.shape, x.mT.shape, x.H.shape, x.mH.shape)
    x = torch.ones(2, 3, 4); x.mT.shape, x.mH.shape
    torch.ones(2, 3, 4).T.shape
    torch.ones(3).T.shape
    torch.ones(3).mT
    torch.ones(3).H
    torch.ones(2, 3, 4).H
    torch.ones(2, 3).t().clone(memory_format=torch.contiguous_format).stride()
    torch.tensor(1.0).T
    torch.tensor(1.0).mT
    torch.tensor(1.0).H
    x = torch.tensor([[1 + 2j, 3]]); x.H, x.mH
    x = torch.ones(2, 3); x.size(0), x.size(-1), x.shape[0]
    x = torch.ones(2, requires_grad=True); x._version, (x * 2)._version
    x = torch.ones(2); y = x.view(2, 1); y += 1; (x._version, y._version)
    torch.ones(2, requires_grad=True).__dlpack_device__()[1]
    torch.from_dlpack(torch.ones(2))
    torch.from_dlpack(np.ones(2))
    torch.ones(2).real, torch.ones(2).conj()
    torch.ones(2).imag
    """
)

SIZE = programs(
    r"""
    s = torch.ones(2, 3).shape; (s, s[0], s[:1], s[-1], s.numel(), len(s), list(s), s == (2, 3), s == torch.Size([2, 3]))
    torch.Size([2, 3]) + (4,)
    torch.Size([2, 3]) + torch.Size([4])
    (4,) + torch.Size([2, 3])
    torch.Size([2, 3]) * 2
    2 * torch.Size([2, 3])
    torch.Size()
    torch.Size([2.5])
    torch.Size(['a'])
    torch.Size(3)
    torch.Size((2, torch.tensor(3)))
    torch.Size([2]) + [3]
    repr(torch.Size([2, 3])).split('.')[1]
    torch.Size([2, 3]).count(2), torch.Size([2, 3]).index(3), 3 in torch.Size([2, 3])
    hash(torch.Size([2, 3])) == hash((2, 3))
    a, b = torch.ones(2, 3).shape; (a, b)
    isinstance(torch.ones(2).shape, tuple), type(torch.ones(2).size()) is torch.Size
    torch.Size([]).numel()
    """
)

OPERATORS = programs(
    r"""
    x = torch.tensor([1.0, 2.0, -3.0]); (2 - x, 2 / x, 2 ** x, 7 // x, 7 % x, 2 + x, 2 * x)
    x = torch.tensor([1, 2, -3]); (2 - x, 2 / x, 7 // x, 7 % x, 2 + x, 2 * x)
    x = torch.tensor([1, 2, 3]); (2 & x, 2 | x, 2 ^ x, 1 << x, 8 >> x)
    x = torch.tensor([1.0, 2.0]); (1 < x, 1 <= x, 1 == x, 1 != x, 2 > x, 2 >= x)
    x = torch.tensor([1.0, 2.0]); 0 < x < 3
    x = torch.tensor([1.0]); 0 < x < 3
    x = torch.tensor([True, False]); (x & True, x | False, x ^ True, ~x, True & x)
    x = torch.tensor([1.0, 2.0]); y = x; x += 1; (y, y is x)
    x = torch.tensor([1.0, 2.0]); y = x; x = x + 1; y
    x = torch.tensor([1.0, 2.0]); y = x; x -= 1; x *= 3; x /= 2; x **= 2; (y, y is x, x._version)
    x = torch.tensor([5.0, 7.0]); x //= 2; x %= 2; x
    x = torch.tensor([5, 7]); x &= 3; x |= 8; x ^= 1; x <<= 1; x >>= 1; x
    x = torch.ones(2, 2); x @= torch.ones(2, 2); x
    x = torch.ones(2); x += torch.ones(2, 2)
    x = torch.ones(2, 1); x += torch.ones(2, 2)
    x = torch.ones(2, 2); x += torch.ones(2); x
    x = torch.ones(2, requires_grad=True); x += 1
    x = torch.ones(2, requires_grad=True); y = x * 1; y += x; y.sum().backward(); (x.grad, y.grad_fn.name())
    x = 5; x += torch.ones(2); x
    x = torch.ones(2); x **= x; x
    """
)

OUT = programs(
    r"""
    x = torch.ones(2); o = torch.empty(2); (torch.add(x, x, out=o) is o, o)
    x = torch.ones(2); o = torch.empty(0); torch.add(x, x, out=o); o
    x = torch.ones(2); o = torch.empty(2, dtype=torch.int64); torch.add(x, x, out=o)
    x = torch.ones(2, requires_grad=True); o = torch.empty(2); torch.add(x, x, out=o)
    x = torch.ones(2); o = torch.empty(2, requires_grad=True); torch.add(x, x, out=o)
    x = torch.ones(2); torch.add(x, x, out=x); x
    x = torch.ones(2); torch.sin(x, out=[1])
    x = torch.ones(2, requires_grad=True); o = torch.empty(2); c = torch.no_grad(); c.__enter__(); r = torch.add(x, x, out=o); c.__exit__(None, None, None); r
    x = torch.tensor([3., 1.]); v, i = torch.empty(0), torch.empty(0, dtype=torch.int64); torch.sort(x, out=(v, i)); (v, i)
    x = torch.tensor([3., 1.]); o = torch.empty(2); torch.sin(x, out=o); o._version
    x = torch.ones(2); o = torch.empty(2); torch.mm(torch.eye(2), torch.ones(2, 2), out=torch.empty(2, 2))
    torch.cat([torch.ones(1), torch.ones(1)], out=torch.empty(2))
    """
)


@needs_torch
@pytest.mark.parametrize("program", VALUES)
def test_values_come_out_as_python_numbers_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", PROTOCOLS)
def test_python_protocols_work_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", COMPARISONS)
def test_operands_of_any_type_are_compared_combined_or_refused_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", NUMPY)
def test_arrays_and_tensors_meet_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", COPIES)
def test_copies_and_pickles_are_pytorchs(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", ATTRIBUTES)
def test_attributes_can_be_added_and_read_only_ones_not_written(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", DETACHING)
def test_data_and_detach_share_memory_and_versions_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", GRAD)
def test_grad_is_assigned_and_accumulated_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", FLAGS)
def test_requires_grad_hooks_and_backward_follow_pytorchs_rules(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", LAYOUT)
def test_strides_offsets_and_transposes_are_pytorchs(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", SIZE)
def test_a_size_is_a_tuple_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", OPERATORS)
def test_operators_work_in_both_orders_and_in_place(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", OUT)
def test_out_is_written_resized_or_refused_as_in_pytorch(program: str) -> None:
    same(program)


# --- NumPy's functions on tensors, which PyTorch does not have ------------------------------------


def leaf() -> dt.Tensor:
    return dt.tensor([1.0, 2.0], requires_grad=True)


def test_a_ufunc_of_a_tensor_is_a_tensor_with_history() -> None:
    x = leaf()
    y = np.tanh(x)
    assert y.grad_fn.name() == "TanhBackward0"
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 - np.tanh([1.0, 2.0]) ** 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("operation", "gradient"),
    [
        (lambda a, x: a * x, [3, 4]),
        (lambda a, x: x * a, [3, 4]),
        (lambda a, x: a - x, [-1, -1]),
        (lambda a, x: a / x, [-3, -1]),
        (lambda a, x: a @ x, [3, 4]),
        (lambda a, x: x @ a, [3, 4]),
        (lambda a, x: np.add(a, x), [1, 1]),
    ],
)
def test_an_array_and_a_tensor_give_a_tensor_with_history_in_both_orders(operation, gradient) -> None:
    x = leaf()
    y = operation(np.array([3.0, 4.0], np.float32), x)
    assert type(y) is dt.Tensor
    y.sum().backward()
    assert x.grad.tolist() == gradient


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.bool_(True)])
def test_a_numpy_scalar_on_the_left_leaves_the_tensors_dtype(number) -> None:
    for y in (number * leaf(), number + leaf(), leaf() * number):
        assert y.dtype is dt.float32
        assert y.requires_grad


def test_comparisons_of_arrays_and_tensors_are_tensors() -> None:
    for mask in (np.array([1.5, 1.5]) < leaf(), leaf() > np.array([1.5, 1.5])):
        assert type(mask) is dt.Tensor
        assert mask.tolist() == [False, True]


def test_a_ufunc_writes_into_a_tensor_given_as_out_and_counts_the_write() -> None:
    target = dt.zeros(2)
    assert np.add(dt.ones(2), 1, out=target) is target
    assert target.tolist() == [2, 2]
    assert target._version == 1
    np.add(np.ones(2), np.ones(2), out=target)
    assert target._version == 2
    np.multiply(target, 3, out=target)
    assert (target.tolist(), target._version) == ([6, 6], 3)


def test_a_ufunc_with_out_is_recorded_on_that_tensor() -> None:
    x, target = leaf(), dt.zeros(2)
    np.multiply(x, 3, out=target)
    target.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_an_array_as_out_takes_values_but_no_history() -> None:
    target = np.zeros(2, np.float32)
    np.add(dt.ones(2), 1, out=target)
    assert target.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="history"):
        np.add(leaf(), 1, out=target)
    assert target.tolist() == [2, 2]


def test_an_array_is_added_to_in_place_by_a_tensor_without_history() -> None:
    a = np.zeros(2)
    a += dt.ones(2)
    assert type(a) is np.ndarray
    assert a.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="history"):
        a += leaf()


def test_a_numpy_function_without_an_entry_says_so() -> None:
    with pytest.raises(RuntimeError, match="np.histogram2d has no derivative here. It counts"):
        np.histogram2d(leaf(), leaf())
    with pytest.raises(RuntimeError, match="np.spacing has no derivative here. It jumps"):
        np.spacing(leaf())


def test_an_array_of_a_tensor_that_requires_grad_is_refused_with_what_to_do() -> None:
    for convert in (np.asarray, np.array, lambda x: x.numpy(), lambda x: x.__array__()):
        with pytest.raises(RuntimeError, match=r"detach\(\)"):
            convert(leaf())


def test_functions_take_arrays_for_tensors() -> None:
    assert dt.sin(np.zeros(2)).dtype is dt.float64
    assert dt.zeros(2).copy_(np.ones(2)).tolist() == [1, 1]


# --- copies ---------------------------------------------------------------------------------------


def test_a_deep_copy_keeps_shared_memory_shared_and_the_original_apart() -> None:
    x = dt.arange(6.0).reshape(2, 3)
    state = {"x": x, "row": x[1], "column": x[:, 1], "flat": x.detach().view(-1), "again": x}
    new = copy.deepcopy(state)
    assert new["again"] is new["x"]
    new["x"][1, 1] = 40
    assert (new["row"][1].item(), new["column"][1].item(), new["flat"][4].item()) == (40, 40, 40)
    assert x[1, 1].item() == 4


def test_a_deep_copy_of_an_array_and_the_tensor_over_it_share_memory() -> None:
    array = np.zeros(2)
    new_array, new_tensor = copy.deepcopy([array, dt.from_numpy(array)])
    new_array[0] = 3
    assert new_tensor[0].item() == 3
    assert array[0] == 0


def test_a_deep_copy_of_expanded_and_empty_tensors_has_their_shape() -> None:
    for x in (dt.ones(2, 1).expand(2, 3), dt.zeros(0, 3), dt.tensor(4.0), dt.arange(4)[::2], dt.arange(4)[3:]):
        assert copy.deepcopy(x).tolist() == x.tolist()


def test_a_deep_copy_of_a_tensor_with_history_names_what_computed_it() -> None:
    with pytest.raises(RuntimeError, match="MulBackward0"):
        copy.deepcopy(leaf() * 2)


def test_pickling_a_tensor_with_hooks_warns() -> None:
    x = leaf()
    x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="hooks"):
        data = pickle.dumps(x)
    assert pickle.loads(data).requires_grad


class Labelled(dt.Tensor):
    pass


def test_a_subclass_survives_copy_deepcopy_and_pickle() -> None:
    x = Labelled([1.0, 2.0])
    x.label = "a"
    for new in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(new) is Labelled
        assert new.label == "a"
        assert new.tolist() == [1, 2]


# --- differences ----------------------------------------------------------------------------------


def test_a_shallow_copy_shares_the_version_counter_so_that_its_writes_are_noticed() -> None:
    x = dt.ones(2, requires_grad=True)
    y = x * 1
    z = y.sin()
    copy.copy(y).detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_hook_that_cannot_be_called_is_refused_when_it_is_registered() -> None:
    with pytest.raises(TypeError, match="callable"):
        leaf().register_hook(3)


def test_the_gradient_of_a_remainder_is_known_for_both_arguments() -> None:
    x = dt.tensor([2.0, 3.0], requires_grad=True)
    (7 % x).sum().backward()
    assert x.grad.tolist() == [-3, -2]


def test_dir_names_methods_of_every_family_and_own_attributes() -> None:
    x = leaf()
    x.note = 1
    assert {"sin", "sort", "svd", "note", "backward", "new_zeros"} <= set(dir(x))


def test_an_unknown_attribute_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        leaf().nonsense
    assert not hasattr(leaf(), "nonsense")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.eq(None),
        lambda x: dt.add(x, None),
        lambda x: x.add_(None),
        lambda x: x.copy_(None),
        lambda x: x.masked_fill_(x > 0, None),
        lambda x: dt.maximum(x, None),
        lambda x: dt.lerp(x, x, None),
        lambda x: x.fill_(None),
        lambda x: dt.mm(x, None),
    ],
)
def test_none_is_no_tensor(call: Callable) -> None:
    x = dt.arange(6.0).reshape(2, 3)
    with pytest.raises(TypeError, match="must be a Tensor"):
        call(x)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and x._version == 0
    assert (x == None) is False  # noqa: E711 - which is what Python asks
    assert dt.clamp(x, None, 1.0).max() == 1


AS_ARRAYS = programs(
    r"""
    np.allclose(torch.ones(2), torch.ones(2))
    np.array_equal(torch.ones(2), torch.ones(2))
    np.histogramdd(torch.ones(2, 2), 2)[0]
    x=torch.ones(2,requires_grad=True); np.histogramdd(x)
    import io; f = io.BytesIO(); np.save(f, torch.ones(2)); f.seek(0); np.load(f)
    """
)


@needs_torch
@pytest.mark.parametrize("line", AS_ARRAYS)
def test_functions_of_numpy_without_a_derivative_take_tensors_as_arrays(line: str) -> None:
    same(line)


def test_functions_of_numpy_without_a_derivative_drop_no_tangent() -> None:
    with fwAD.dual_level(), pytest.raises(TypeError, match="tangents"):
        np.spacing(fwAD.make_dual(dt.ones(2), dt.ones(2)))


def test_numpys_solve_works_before_linalg_is_imported() -> None:
    program = "import numpy as np, dualtape as dt; print(np.linalg.solve(dt.eye(2), dt.ones(2)).tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1.0, 1.0]"


OLD_ORDER = {
    "x.add(2, y)": "x.add(y, alpha=2)",
    "dt.add(x, 2.5, y)": "dt.add(x, y, alpha=2.5)",
    "x.clone().sub_(2, y)": "x.sub(y, alpha=2)",
    "x.clone().addcmul_(3, x, y)": "x.addcmul(x, y, value=3)",
    "x.addcdiv(3, x, y)": "x.addcdiv(x, y, value=3)",
    "x.addmm(2, 3, x, y)": "x.addmm(x, y, beta=2, alpha=3)",
    "x.clone().addmm_(2, x, y)": "x.addmm(x, y, beta=2)",
    "x.addr(2, 3, x[0], y[0])": "x.addr(x[0], y[0], beta=2, alpha=3)",
    "x[0].addmv(2, x, y[0])": "x[0].addmv(x, y[0], beta=2)",
    "x[None].baddbmm(2, 3, x[None], y[None])": "x[None].baddbmm(x[None], y[None], beta=2, alpha=3)",
}


@pytest.mark.parametrize("old", OLD_ORDER)
def test_factors_before_tensors_are_taken_with_a_warning(old):
    space = {"dt": dt, "x": dt.tensor([[1.0, 2.0], [3.0, 4.0]]), "y": dt.tensor([[5.0, 6.0], [7.0, 8.0]])}
    with pytest.warns(UserWarning, match="factors before tensors are deprecated"):
        found = eval(old, space)
    assert dt.equal(found, eval(OLD_ORDER[old], space))
    assert dt.equal(space["x"].add(2), space["x"] + 2)


def test_functions_made_of_others_write_into_out():
    x, o = dt.tensor([[2.0, 0.0], [0.0, 3.0]]), dt.empty(0)
    assert dt.hstack([x, x], out=o) is o and o.shape == (2, 4)
    level, info = dt.empty(2, 2), dt.empty((), dtype=dt.int32)
    assert dt.linalg.cholesky_ex(x, out=(level, info))[0] is level and level[1, 1] == 3**0.5
    before = o._version
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        dt.outer(x[0].requires_grad_(), x[1], out=o)
    with pytest.raises(RuntimeError, match="can't be cast"):
        dt.inner(x.detach(), x.detach(), out=dt.empty(2, 2, dtype=dt.int64))
    with pytest.raises(TypeError, match="2 tensors"):
        dt.var_mean(x.detach(), out=o)
    with pytest.raises(TypeError, match="'out' must be a Tensor"):
        dt.kron(x.detach(), x.detach(), out=3)
    assert o._version == before
