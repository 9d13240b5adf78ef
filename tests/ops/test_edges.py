"""The edges of ops: integers, booleans, NaN, infinities, and numbers near the ends of their range, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, programs, same

VALUES = programs(
    r"""
    torch.erf(torch.tensor([1,2]))
    torch.erfc(torch.tensor([1,2]))
    torch.xlogy(torch.tensor([1,2]),torch.tensor([1,2]))
    torch.xlogy(torch.tensor([1,2]),2)
    torch.sigmoid(torch.tensor([1,2]))
    torch.exp2(torch.tensor([1,2]))
    torch.sinc(torch.tensor([1,2]))
    torch.hypot(torch.tensor([1,2]),torch.tensor([1,2]))
    torch.logaddexp(torch.tensor([1,2]),torch.tensor([1,2]))
    torch.rsqrt(torch.tensor([1,2]))
    torch.reciprocal(torch.tensor([1,2]))
    torch.tensor(complex(1.,nan))
    torch.tensor(complex(0.,inf))
    torch.complex(torch.tensor(1.),torch.tensor(nan))
    torch.complex(torch.tensor(0.),torch.tensor(inf))
    torch.complex(torch.tensor([0.,1.]),torch.tensor([inf,-inf]))
    torch.full((2,),complex(0,inf))
    torch.tensor([1,2],dtype=torch.uint8) ** -1
    torch.tensor([1,2],dtype=torch.int64) ** -1
    torch.tensor([1,2,0]) ** torch.tensor([-1,-1,-1])
    torch.pow(2,torch.tensor([-1,1]))
    torch.tensor([True,False]) ** 2
    torch.tensor([True,False]) ** -1
    torch.nn.functional.threshold(torch.tensor([nan,1.]),0.,5.)
    torch.nn.functional.relu(torch.tensor([nan,1.]))
    torch.nn.functional.hardtanh(torch.tensor([nan,1.]))
    torch.nn.functional.leaky_relu(torch.tensor([nan,1.]))
    torch.nn.functional.hardshrink(torch.tensor([nan,1.]))
    torch.nn.functional.softshrink(torch.tensor([nan,1.]))
    torch.nn.functional.hardswish(torch.tensor([nan,inf,-inf]))
    torch.nn.functional.relu6(torch.tensor([nan,inf,-inf]))
    torch.nn.functional.elu(torch.tensor([nan,inf,-inf]))
    torch.nn.functional.hardsigmoid(torch.tensor([nan,inf,-inf]))
    torch.nn.functional.softplus(torch.tensor([nan,inf,-inf]))
    torch.nn.functional.softsign(torch.tensor([nan,inf,-inf]))
    torch.nn.functional.silu(torch.tensor([nan,inf,-inf]))
    torch.nn.functional.mish(torch.tensor([nan,inf,-inf]))
    torch.nn.functional.adaptive_avg_pool2d(torch.tensor([[[1.,nan,3.,4.]]]).expand(1,4,4).unsqueeze(0), 2)
    torch.nn.functional.adaptive_avg_pool2d(torch.tensor([[[1.,inf,3.,4.]]]).expand(1,4,4).unsqueeze(0), 2)
    torch.nn.functional.avg_pool2d(torch.tensor([[[1.,nan,3.,4.]]]).expand(1,4,4).unsqueeze(0), 2)
    x=torch.tensor([0.,1.],requires_grad=True); x.abs().backward(torch.tensor([nan,1.])); x.grad
    x=torch.tensor([0.,1.],requires_grad=True); x.abs().backward(torch.tensor([inf,1.])); x.grad
    x=torch.tensor([0.,-1.],requires_grad=True); torch.relu(x).backward(torch.tensor([nan,inf])); x.grad
    x=torch.tensor([0.,-1.],requires_grad=True); x.clamp(0,1).backward(torch.tensor([nan,inf])); x.grad
    x=torch.tensor([0.,-1.],requires_grad=True); x.sign().backward(torch.tensor([nan,inf])); x.grad
    x=torch.tensor([0j,-1.],requires_grad=True); x.abs().backward(torch.tensor([nan,inf])); x.grad
    x=torch.tensor([-20.,-30.,-100.],requires_grad=True); torch.nn.functional.elu(x).sum().backward(); x.grad
    x=torch.tensor([-20.,-30.,-100.],requires_grad=True); torch.nn.functional.selu(x).sum().backward(); x.grad
    x=torch.tensor([-20.,-30.,-100.],requires_grad=True); torch.nn.functional.celu(x).sum().backward(); x.grad
    x=torch.tensor([-20.,-30.,-100.],requires_grad=True); torch.sigmoid(x).sum().backward(); x.grad
    x=torch.tensor([20.,30.],requires_grad=True); torch.sigmoid(x).sum().backward(); x.grad
    x=torch.tensor([20.,30.],requires_grad=True); torch.tanh(x).sum().backward(); x.grad
    x=torch.tensor([-20.,-30.,-100.],requires_grad=True); torch.expm1(x).sum().backward(); x.grad
    x=torch.tensor([20.,30.],requires_grad=True); torch.nn.functional.logsigmoid(x).sum().backward(); x.grad
    x=torch.tensor([-20.,-30.],requires_grad=True); torch.nn.functional.softplus(x).sum().backward(); x.grad
    torch.tensor([1e20,3e20,-1e20]).std()
    torch.tensor([1e20,3e20,-1e20]).var()
    torch.tensor([1e20,3e20,-1e20]).norm()
    torch.tensor([[1e20,3e20,-1e20]]).std(1)
    x=torch.tensor([1e20,3e20],requires_grad=True); x.std().backward(); x.grad
    x=torch.tensor([1e-38,3e-38],requires_grad=True); x.std().backward(); x.grad
    x=torch.tensor([1e-30,3e-30],requires_grad=True); x.std().backward(); x.grad
    x=torch.tensor([1e-30,3e-30],requires_grad=True); x.norm().backward(); x.grad
    x=torch.tensor([1e30,3e30],requires_grad=True); x.norm().backward(); x.grad
    torch.round(torch.tensor([1,2]))
    torch.round(torch.tensor([15,25]),decimals=-1)
    torch.floor(torch.tensor([1,2]))
    torch.ceil(torch.tensor([1,2]))
    torch.trunc(torch.tensor([1,2]))
    torch.square(torch.tensor([True,False]))
    torch.round(torch.tensor([True,False]))
    torch.neg(torch.tensor([True,False]))
    torch.sign(torch.tensor([True,False]))
    torch.addmm(torch.ones(2,2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64))
    torch.addmm(torch.ones(2,2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64),alpha=2)
    torch.addmm(torch.ones(2,2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64),alpha=2.5)
    torch.addmv(torch.ones(2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64),torch.ones(2,dtype=torch.int64))
    torch.addr(torch.ones(2,2,dtype=torch.int64),torch.ones(2,dtype=torch.int64),torch.ones(2,dtype=torch.int64))
    torch.addcmul(torch.ones(2,dtype=torch.int64),torch.ones(2,dtype=torch.int64),torch.ones(2,dtype=torch.int64))
    torch.addcdiv(torch.ones(2,dtype=torch.int64),torch.ones(2,dtype=torch.int64),torch.ones(2,dtype=torch.int64))
    torch.prod(torch.tensor([True,True]))
    torch.sum(torch.tensor([True,True]))
    torch.cumsum(torch.tensor([True,True]),0)
    torch.cumprod(torch.tensor([True,True]),0)
    torch.mean(torch.tensor([True,True]))
    torch.diff(torch.tensor([True,True]))
    torch.dot(torch.tensor([1,2]),torch.tensor([1,2]))
    torch.clamp(torch.tensor([1,2]),0.5,1.5)
    torch.fmod(torch.tensor([1,2]),0.7)
    torch.lerp(torch.tensor([1,2]),torch.tensor([1,2]),0.5)
    torch.frac(torch.tensor([1,2]))
    torch.nan_to_num(torch.tensor([1,2]))
    torch.logsumexp(torch.tensor([1,2]),0)
    torch.softmax(torch.tensor([1,2]),0)
    torch.norm(torch.tensor([1,2]))
    torch.dist(torch.tensor([1,2]),torch.tensor([1,3]))
    torch.var(torch.tensor([1,2]))
    torch.median(torch.tensor([1,2]))
    torch.quantile(torch.tensor([1,2]),0.5)
    torch.logical_xor(torch.tensor([1,2]),torch.tensor([0.,1.]))
    torch.nn.functional.relu(torch.tensor([1,-2]))
    torch.nn.functional.pad(torch.tensor([1,-2]),(1,1))
    x=torch.tensor([1.]); [+x is x, x.positive() is x, torch.positive(x) is x]
    x=torch.tensor([True]); +x
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.int64); b.copy_(x); b.requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.bool); b[0]=x[0]; b.requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.int64); b[:]=x; b.requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.bool); b|=(x>0); b.requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.int64); b+=x; b.requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.bool); torch.gt(x,0,out=b).requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.int64); b.index_copy_(0,torch.tensor([0]),x[:1]); b.requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.int64); b.scatter_(0,torch.tensor([0]),x); b.requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.int64); b.masked_scatter_(torch.tensor([True,False]),x); b.requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); b=torch.zeros(2,dtype=torch.int64); v=b[:1]; v.copy_(x[:1]); [v.requires_grad,b.requires_grad]
    x=torch.tensor([1.,2.],requires_grad=True); x.to(torch.int64).requires_grad
    x=torch.tensor([1.,2.],requires_grad=True); x.type_as(torch.tensor([1])).requires_grad
    x=torch.tensor([1.]); [x.conj() is x, x.resolve_conj() is x]
    """
)


@needs_torch
@pytest.mark.parametrize("line", VALUES)
def test_edges_are_as_in_pytorch(line: str) -> None:
    same(line)


def test_integers_never_come_to_require_grad() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    for write in (
        lambda b: b.copy_(x),
        lambda b: b.fill_(x[0]),
        lambda b: b.masked_fill_(dt.tensor([True, False]), x[0]),
        lambda b: b.index_fill_(0, dt.tensor([0]), x[0]),
        lambda b: b.__setitem__(0, x[0]),
        lambda b: b[:1].copy_(x[:1]),
    ):
        b = dt.zeros(2, dtype=dt.int64)
        write(b)
        assert not b.requires_grad
        assert b[0].item() == 1


def test_the_gradient_of_elu_in_place_is_that_of_elu() -> None:
    x = dt.tensor([-20.0], requires_grad=True)
    dt.nn.functional.elu(x.clone(), inplace=True).backward(dt.ones(1))
    assert x.grad.item() == pytest.approx(2.0611537e-09)


def test_a_conjugate_is_a_copy_and_nothing_is_pending() -> None:
    x = dt.tensor([1j])
    y = x.conj()
    assert not y.is_conj() and y.resolve_conj() is y and not y._is_view()
    y.mul_(0)
    assert x.item() == 1j


def test_one_nan_stays_in_its_bin() -> None:
    x = dt.arange(16.0).reshape(1, 1, 4, 4)
    x[0, 0, 0, 0] = float("nan")
    assert dt.nn.functional.adaptive_avg_pool2d(x, 2).isnan().tolist() == [[[[True, False], [False, False]]]]


def test_logaddexp_of_complex_numbers() -> None:
    x, y = dt.tensor([1 + 2j, 300.0 + 1j]), dt.tensor([0.5 - 1j, 300.0 + 1j])
    assert dt.logaddexp(x, y)[0].item() == pytest.approx(complex((x[0].exp() + y[0].exp()).log().item()), rel=1e-6)
    assert dt.logaddexp(x, y)[1].item() == pytest.approx(complex(300 + 0.69314718, 1), rel=1e-6)


REFUSED = programs(
    r"""
    torch.tensor([1j]).clamp(0, 1)
    torch.clamp_min(torch.tensor([1j]), 0)
    torch.tril(torch.ones(3))
    torch.triu(torch.ones(3))
    torch.ones(3).tril_()
    torch.tensor([True]) - torch.tensor([False])
    torch.scatter_add(torch.zeros(3), 0, torch.tensor([0]), torch.ones(1, dtype=torch.float64))
    torch.lerp(torch.ones(2), torch.ones(2, dtype=torch.float64), 0.5)
    torch.lerp(torch.ones(2), torch.ones(2), torch.tensor(0.5, dtype=torch.float64))
    """
)
LAYOUTS = programs(
    r"""
    torch.ones(2, 3, 4).permute(2, 0, 1).clone().stride()
    torch.ones(2, 3, 4, 5).permute(3, 0, 2, 1).clone().stride()
    torch.zeros_like(torch.ones(2, 3, 4).permute(2, 0, 1)).stride()
    torch.ones(4, 6).t()[:, ::2].clone().stride()
    torch.ones(4, 6)[:, ::2].clone().stride()
    torch.ones(2, 3, 4).permute(2, 0, 1).double().stride()
    torch.ones(2, 3, 4).permute(2, 0, 1).contiguous().stride()
    torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last).stride()
    torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).stride()
    torch.ones(2, 3, 4, 5).clone(memory_format=torch.channels_last).stride()
    torch.ones(2, 3, 4, 5).double().to(torch.float32, memory_format=torch.channels_last).stride()
    torch.ones(2, 3, 4, 5).is_contiguous(memory_format=torch.channels_last)
    x = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last); [x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last), (x * 2).stride(), torch.relu(x).stride()]
    torch.ones(2, 3, 4).contiguous(memory_format=torch.channels_last)
    x = torch.ones(2, 3, 4, 5, requires_grad=True); x.contiguous(memory_format=torch.channels_last).sum().backward(); x.grad.stride()
    """
)


@needs_torch
@pytest.mark.parametrize("line", REFUSED)
def test_doubtful_answers_are_refused_as_in_pytorch(line: str) -> None:
    same(line)


@needs_torch
@pytest.mark.parametrize("line", LAYOUTS)
def test_copies_lie_in_memory_as_in_pytorch(line: str) -> None:
    same(line)


def test_what_dir_lists_can_be_asked_for() -> None:
    x = dt.ones(2, 2, dtype=dt.complex64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert all(hasattr(x, name) for name in dir(x))


def test_several_elements_in_one_place_are_not_written_by_a_mask() -> None:
    with pytest.raises(RuntimeError, match="single memory location"):
        dt.zeros(1).expand(3).masked_fill_(dt.tensor([True, False, False]), 1.0)


@needs_torch
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1)])
@pytest.mark.parametrize("place", range(4))
def test_a_copy_of_an_expanded_tensor_lies_as_pytorchs_does(order: tuple, place: int) -> None:
    same(
        f"x = torch.ones(2, 3, 4).permute{order}.unsqueeze({place})\nsizes = list(x.shape)\nsizes[{place}] = 5\n"
        "x.expand(sizes).clone().stride()"
    )


@needs_torch
@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize(
    "call",
    [
        "torch.nn.functional.leaky_relu(x, a)",
        "torch.add(x, x, alpha=a)",
        "x.clone().add_(x, alpha=a)",
        "torch.nn.functional.elu(x, a)",
        "torch.nn.functional.softplus(x, a)",
        "torch.addcmul(x, x, x, value=a)",
    ],
)
def test_a_tensor_in_the_place_of_a_number_is_one_or_is_refused(call: str, requires: bool) -> None:
    same(f"x, a = torch.tensor([-1.0, 3.0], requires_grad=True), torch.tensor(2.0, requires_grad={requires})\n{call}")


@pytest.mark.parametrize("name", ["cat", "stack", "hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("given", [dt.ones(2, 3), dt.ones(()), 5, None])
def test_what_joins_tensors_takes_a_list_of_them(name: str, given: Any) -> None:
    with pytest.raises(TypeError, match="must be tuple of Tensors"):
        getattr(dt, name)(given)


def test_scattered_factors_have_gradients_and_tangents() -> None:
    x, src = dt.tensor([1.0, 2.0, 3.0], dtype=dt.float64), dt.tensor([2.0, 5.0], dtype=dt.float64)
    scattered = lambda x, src: dt.scatter(x, 0, dt.tensor([1, 1]), src, reduce="multiply")
    assert scattered(x, src).tolist() == [1, 20, 3]
    assert dt.autograd.gradcheck(scattered, (x.requires_grad_(), src.requires_grad_()), check_forward_ad=True)


def test_a_number_of_numpys_that_does_not_fit_is_refused() -> None:
    x = dt.ones(2)
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_(np.float64(1e300))
    assert x.tolist() == [1, 1] and x._version == 0


def test_the_conjugate_of_a_truth_value_is_one() -> None:
    assert dt.conj_physical(dt.tensor([True])).dtype == dt.bool


def test_a_truth_value_is_no_dimension() -> None:
    x = dt.ones(2, 3)
    for call in (x.sum, x.mean, x.amax, x.unbind, x.cumsum):
        with pytest.raises(TypeError, match="did you mean keepdim=True"):
            call(True)
    assert x.sum(1, True).shape == (2, 1)


@needs_torch
def test_the_divisors_gradient_of_a_remainder_counts_as_the_remainder_does() -> None:
    import torch

    found = []
    for library in (dt, torch):
        x = library.tensor([1.0, 0.3, -0.7, 0.75], dtype=library.float64)
        y = library.tensor([0.1, 0.1, 0.1, -np.inf], dtype=library.float64, requires_grad=True)
        library.remainder(x, y).sum().backward()
        found.append(y.grad.tolist())
    assert found[0] == found[1] == [-9.0, -2.0, 7.0, 1.0]


def test_points_of_an_integral_have_no_more_dimensions_than_its_values() -> None:
    y = dt.ones(2, 3)
    assert dt.trapezoid(dt.ones(2, 2, 3), dt.ones(2, 3).cumsum(1)).shape == (2, 2)
    for x in (dt.ones(2, 2, 3), dt.ones(())):
        with pytest.raises(RuntimeError, match="trapezoid: x must have one dimension, or those of y"):
            dt.trapezoid(y, x)
