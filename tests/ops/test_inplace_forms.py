"""In-place forms: as functions, of comparisons, of view ops."""

from __future__ import annotations

from typing import Any

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


TURNS = r"""
y.t_(), y.grad_fn.name(), y._version, y._is_view(), torch.autograd.grad((y * torch.arange(6.0).reshape(3, 2)).sum(), x)
y.transpose_(0, 1), y.swapaxes_(0, 1), y.swapdims_(-1, 0), y.grad_fn.name(), y._version
y.unsqueeze_(0), y.grad_fn.name(), y.squeeze_(), y.grad_fn.name(), torch.autograd.grad(y.sum(), x)
y.unsqueeze_(1), y.squeeze_(1), y.grad_fn.name(), y.unsqueeze_(0), y.squeeze_((0, 1)), y.grad_fn.name()
y.as_strided_((2, 2), (1, 1), 1), y.grad_fn.name(), torch.autograd.grad(y.sum(), x)
torch.as_strided_(y, (2,), (3,)), y.stride(), y.storage_offset()
z = y * y; y.t_(); torch.autograd.grad(z.sum(), x)
z = y.exp(); z.t_(); torch.autograd.grad(z.sum(), x)
v = y[1:]; v.t_(); v.shape, v.grad_fn.name(), v._base is y, y.shape, y.grad_fn.name(), torch.autograd.grad((v * torch.arange(3.0)[:, None]).sum(), x)
v = y[:, 1:]; v.t_(); v.mul_(2); v.grad_fn.name(), torch.autograd.grad((y * y).sum(), x)
v = y[1]; y.t_(); v.mul_(3); y, v, torch.autograd.grad((y * y).sum(), x)
v = y[1]; y.unsqueeze_(0); y.mul_(2); v.grad_fn.name(), torch.autograd.grad((v * v).sum(), x)
v = y[1]; w = v[1:]; y.t_(); y.mul_(2); torch.autograd.grad((w * w).sum() + v.sum(), x)
with torch.no_grad():\n    v = y[1:]\nv.t_()
a, b = y.split(1); a.t_()
x.t_()
x[1:].t_()
del y\nwith torch.no_grad():\n    x.t_()\nx.is_leaf, x.shape, x.requires_grad, torch.autograd.grad((x * 2).sum(), x)
with torch.no_grad():\n    v = y[1:].t_()\nv.shape
v = y[1:]\nwith torch.no_grad():\n    v.t_()\nv.shape, v.grad_fn.name(), torch.autograd.grad((v * v).sum(), x)
d = torch.zeros(2, 3); e = d.detach(); e.t_(); d.shape, e.shape, d._version, e._version, d.expand(4, 2, 3).squeeze_().shape
torch.zeros(2, 2, 2).t_()
torch.zeros(2).transpose_(0, 3)
torch.zeros(3).as_strided_((5,), (1,))
with torch.inference_mode():\n    i = torch.zeros(2, 3)\ni.t_()
with torch.inference_mode():\n    i = torch.zeros(2, 3)\n    i.t_()\ni.shape
y.retain_grad(); y.t_(); (y * torch.arange(6.0).reshape(3, 2)).sum().backward(); x.grad
from torch.autograd import forward_ad as fw\nwith fw.dual_level():\n    d = fw.make_dual(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3)).t_()\n    r = tuple(fw.unpack_dual(d * d))\nr
torch.func.vmap(lambda r: (r * 1).unsqueeze_(0))(y)
"""


@needs_torch
@pytest.mark.parametrize("program", TURNS.strip().splitlines())
def test_view_ops_in_place_do_what_pytorchs_do(program: str) -> None:
    program = program.replace("\\n", "\n").replace(
        "from torch.autograd import forward_ad as fw", "fw = torch.autograd.forward_ad"
    )
    same("x = torch.arange(6.0).reshape(2, 3).requires_grad_()\ny = x * 1\n" + program)


def test_a_tensor_that_has_views_does_not_forget_where_they_are() -> None:
    x = dt.arange(6.0)
    row = x[1:3]
    with pytest.raises(RuntimeError, match="as_strided_: the tensor has views"):
        x.as_strided_((2,), (1,))
    del row
    assert x.as_strided_((2,), (1,)).tolist() == [0.0, 1.0]


def test_a_subclass_sees_in_place_forms_by_their_names() -> None:
    seen = []

    class Seen(dt.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = dt.ones(2, 2).as_subclass(Seen)
    memory = x.data_ptr()
    seen.clear()
    x.renorm_(2, 0, 1.0)
    dt.nn.functional.elu_(x)
    x.eq_(3.0)
    x.t_()
    assert seen == ["renorm_", "elu_", "eq_", "t_"]
    assert x.data_ptr() == memory and x.tolist() == [[0.0, 0.0], [0.0, 0.0]]
