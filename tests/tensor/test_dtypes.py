"""Dtypes: names, limits and questions, promotion over every pair of types, and conversions, against PyTorch."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import dualtape as dt
from same_program import Refused, differences, needs_torch, outcome, programs, same

try:
    import torch
except ImportError:
    torch = None

NAMES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
SCALARS = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}
OPERATIONS = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "div": "a / b",
    "eq": "a == b",
    "lt": "a < b",
    "pow": "a ** b",
    "where": "torch.where(torch.tensor([True, False]), a, b)",
    "maximum": "torch.maximum(a, b)",
    "result_type": "torch.result_type(a, b)",
}

QUESTIONS = programs(
    r"""
    torch.result_type(torch.ones(1), 1)
    torch.result_type(1, 2.0)
    torch.result_type(torch.ones(1, dtype=torch.int64), torch.tensor(1.0))
    torch.is_floating_point(torch.ones(1))
    torch.is_complex(torch.ones(1))
    torch.is_nonzero(torch.ones(1))
    torch.is_nonzero(torch.ones(2))
    torch.numel(torch.ones(2, 3))
    torch.is_grad_enabled()
    torch.is_signed(torch.ones(1))
    torch.is_same_size(torch.ones(1), torch.ones(1))
    torch.is_inference(torch.ones(1))
    torch.is_conj(torch.ones(1))
    torch.is_neg(torch.ones(1))
    torch.ones(1).is_conj()
    torch.ones(1).is_same_size(torch.ones(1))
    torch.ones(1).is_nonzero()
    torch.ones(1).is_neg()
    torch.ones(1).is_shared()
    torch.ones(1).is_pinned()
    torch.ones(1).is_quantized
    torch.ones(1).is_meta
    torch.ones(1).is_mps
    torch.ones(1).is_sparse_csr
    torch.ones(1).is_nested
    torch.ones(1).is_mkldnn
    torch.ones(1).is_xpu
    torch.ones(2,3).nbytes
    torch.ones(2,3).itemsize
    torch.ones(2,3).element_size()
    torch.ones(2,3).nelement()
    torch.ones(2,3).numel()
    torch.ones(2,3).size()
    torch.ones(2,3).size(0)
    torch.ones(2,3).size(-1)
    torch.ones(2,3).size(2)
    torch.ones(2,3).size(dim=1)
    torch.ones(2,3).dim()
    torch.ones(2,3).ndimension()
    torch.ones(2,3).get_device()
    torch.ones(2,3).names
    torch.float32.is_floating_point, torch.float32.is_complex, torch.float32.is_signed, torch.float32.itemsize
    torch.uint8.is_signed, torch.bool.is_signed, torch.int8.is_signed, torch.complex64.is_signed
    torch.int64.to_complex()
    torch.float is torch.float32, torch.double is torch.float64, torch.half is torch.float16
    torch.int is torch.int32, torch.long is torch.int64, torch.short is torch.int16, torch.cfloat is torch.complex64
    str(torch.float32).split('.')[1]
    torch.float32 == torch.float64, torch.float32 == torch.float, torch.float32 == 'float32'
    {torch.float32: 1}[torch.float]
    torch.promote_types(torch.float32, torch.int64)
    torch.promote_types(torch.float32, 3)
    torch.promote_types(torch.uint16, torch.int16)
    torch.promote_types(torch.uint8, torch.int8)
    torch.can_cast(torch.float32, torch.int64)
    torch.can_cast(torch.int64, torch.float32)
    torch.can_cast(torch.uint8, torch.bool)
    torch.finfo(torch.float32).eps
    torch.finfo(torch.float64).max
    torch.finfo(torch.float16).min
    torch.finfo(torch.float32).tiny
    torch.finfo(torch.float32).smallest_normal
    torch.finfo(torch.float32).resolution
    torch.finfo(torch.float32).bits
    torch.finfo(torch.float32).dtype
    torch.finfo(torch.complex64).bits
    torch.finfo().dtype
    torch.finfo(torch.int64)
    str(torch.finfo(torch.float32))
    repr(torch.iinfo(torch.int8))
    torch.iinfo(torch.int64).max, torch.iinfo(torch.uint8).min, torch.iinfo(torch.int16).bits, torch.iinfo(torch.int32).dtype
    torch.iinfo(torch.float32)
    torch.iinfo(torch.bool)
    torch.iinfo()
    """
)

CONVERSIONS = programs(
    r"""
    t = torch.ones(2); t.to(torch.float32) is t
    t = torch.ones(2); t.to(torch.float64)
    t = torch.ones(2); t.to(torch.float32, copy=True) is t
    t = torch.ones(2); t.to('cpu') is t
    t = torch.ones(2); t.to('cpu', torch.float64)
    t = torch.ones(2); t.to(device='cpu', dtype=torch.int64)
    t = torch.ones(2); t.to(torch.ones(1, dtype=torch.int64))
    t = torch.ones(2); t.to(other=torch.ones(1, dtype=torch.int64))
    t = torch.ones(2); t.to(dtype=None) is t
    t = torch.ones(2); t.to() is t
    t = torch.ones(2); t.to(None) is t
    t = torch.ones(2); t.to('nowhere')
    t = torch.ones(2); t.to(torch.float32, False, True) is t
    t = torch.ones(2); t.to('cpu', torch.float32, False, True) is t
    t = torch.ones(2); t.to(torch.float32, True, False) is t
    t = torch.ones(2); t.to(torch.ones(2), False, True) is t
    t = torch.ones(2); t.to([1])
    t = torch.ones(2); t.to(nonsense=3)
    t = torch.ones(2, requires_grad=True); t.to(torch.float64)
    t = torch.ones(2, requires_grad=True); t.to(torch.float64).sum().backward(); t.grad
    t = torch.ones(2, requires_grad=True); t.to(torch.complex64).abs().sum().backward(); t.grad
    t = torch.ones(2, requires_grad=True); t.to(torch.int64)
    t = torch.ones(2, requires_grad=True); t.to(torch.float64).grad_fn.name()
    t = torch.ones(2, requires_grad=True); t.to(torch.float32, copy=True).grad_fn.name()
    t = torch.tensor([1+2j]); t.to(torch.float32)
    t = torch.tensor([1.7, -1.7, 300]); t.to(torch.int64), t.to(torch.uint8)[:1], t.to(torch.bool)
    t = torch.tensor([300, -1, 2**40]); t.to(torch.uint8), t.to(torch.int8), t.to(torch.int32)
    t = torch.ones(2, 3).t(); t.to(torch.float64).stride()
    t = torch.ones(4)[::2]; t.to(torch.float64).stride()
    t = torch.ones(2,3).t(); t.to(torch.float64, memory_format=torch.contiguous_format).stride()
    t = torch.ones(2,3).t(); t.float() is t
    [getattr(torch.tensor([1.7, -0.5, 0]), n)() for n in 'float double half int long short char bool cfloat cdouble'.split()]
    torch.tensor([1.7]).byte()
    torch.ones(2).type(torch.float64)
    torch.ones(2).type().split('.')[1]
    torch.ones(2).type(torch.float32)
    torch.ones(2).type('torch.DoubleTensor')
    torch.ones(2).type(torch.DoubleTensor)
    torch.ones(2).type_as(torch.ones(1, dtype=torch.int64))
    t = torch.ones(2); t.type_as(torch.ones(1)) is t
    torch.ones(2).type(3)
    t = torch.ones(2); t.cpu() is t
    torch.ones(2).float(3)
    """
)

IN_PLACE = programs(
    r"""
    x = torch.ones(2, dtype=torch.int64); x += 1.5
    x = torch.ones(2, dtype=torch.int64); x += torch.tensor(1.5)
    x = torch.ones(2, dtype=torch.int64); x *= 2; x
    x = torch.ones(2, dtype=torch.int64); x /= 2; x
    x = torch.ones(2, dtype=torch.int64); x //= 2; x
    x = torch.ones(2, dtype=torch.int64); x.add_(torch.ones(2)); x
    x = torch.ones(2, dtype=torch.bool); x += 1; x
    x = torch.ones(2, dtype=torch.bool); x += True; x
    x = torch.ones(2, dtype=torch.bool); x *= 2; x
    x = torch.ones(2, dtype=torch.bool); x &= True; x
    x = torch.ones(2); x += 1j; x
    x = torch.ones(2); x += torch.ones(2, dtype=torch.float64); x
    x = torch.ones(2, dtype=torch.uint8); x += torch.tensor([300, 2]); x
    x = torch.ones(2, dtype=torch.int8); x -= 1; x
    x = torch.ones(2, dtype=torch.int8); x **= 2; x
    x = torch.ones(2, dtype=torch.int64); x **= 2.0; x
    x = torch.ones(2, dtype=torch.int64); x.sin_(); x
    x = torch.ones(2, dtype=torch.int64); x.exp_()
    x = torch.ones(2, dtype=torch.int64); x.copy_(torch.tensor([1.7, 2.2])); x
    x = torch.ones(2, dtype=torch.int64); x.fill_(1.7); x
    x = torch.ones(2, dtype=torch.int64); x.fill_(1j); x
    x = torch.ones(2, dtype=torch.int64); x[0] = 1.7; x
    x = torch.ones(2, dtype=torch.bool); x[0] = 0.0; x
    x = torch.ones(2, dtype=torch.int64); x.clamp_(0.5); x
    x = torch.ones(2, dtype=torch.int64); torch.add(x, 1.5, out=x)
    x = torch.ones(2, dtype=torch.int64); torch.add(x, 1.5, out=torch.empty(2));
    x = torch.ones(2); torch.mul(x, 2, out=torch.empty(2, dtype=torch.float64))
    x = torch.ones(2); torch.mul(x, 2, out=torch.empty(2, dtype=torch.int64))
    x = torch.ones(2); torch.gt(x, 2, out=torch.empty(2))
    """
)

RESULTS = programs(
    r"""
    torch.ones(2, dtype=torch.bool) + True
    torch.ones(2, dtype=torch.bool) + torch.ones(2, dtype=torch.bool)
    torch.ones(2, dtype=torch.bool) * torch.ones(2, dtype=torch.bool)
    torch.ones(2, dtype=torch.bool) / torch.ones(2, dtype=torch.bool)
    torch.ones(2, dtype=torch.bool) ** 2
    ~torch.ones(2, dtype=torch.bool)
    ~torch.ones(2, dtype=torch.int64)
    ~torch.ones(2)
    torch.ones(2, dtype=torch.int8) & 3
    torch.ones(2, dtype=torch.int8) << 3
    torch.ones(2, dtype=torch.int8) >> 1
    torch.ones(2, dtype=torch.uint8) + 300
    torch.ones(2, dtype=torch.uint8) - 2
    torch.ones(2, dtype=torch.uint8) * 1.5
    torch.ones(2, dtype=torch.uint8) * -1
    torch.ones(2, dtype=torch.int8) * 1j
    torch.ones(2, dtype=torch.float64) * 1j
    torch.tensor(1, dtype=torch.int8) + torch.tensor(1, dtype=torch.int64)
    torch.tensor([1], dtype=torch.int8) + torch.tensor(1, dtype=torch.int64)
    torch.tensor([1], dtype=torch.float16) + torch.tensor(1.0, dtype=torch.float64)
    torch.tensor([1], dtype=torch.int8) + torch.tensor(1.0, dtype=torch.float64)
    torch.tensor([1]) + torch.tensor(1.0, dtype=torch.float16)
    torch.tensor(1) + 1.5
    torch.tensor(1.0, dtype=torch.float16) + 1
    torch.tensor(1.0, dtype=torch.float64) + torch.tensor([1.0])
    torch.tensor(1) / 2
    torch.tensor([1, 2]) ** 2
    torch.tensor([1, 2]) ** -1
    torch.tensor([1, 2]) ** 0.5
    2 ** torch.tensor([1, 2])
    2.0 ** torch.tensor([1, 2])
    (-2) ** torch.tensor([1.0, 2.0])
    torch.tensor([1, 2]).sum()
    torch.tensor([True, True]).sum()
    torch.tensor([1, 2], dtype=torch.uint8).sum()
    torch.tensor([1, 2]).mean()
    torch.tensor([1, 2]).prod(), torch.tensor([True]).prod()
    torch.tensor([1, 2], dtype=torch.int8).cumsum(0)
    torch.tensor([1, 2]).sqrt()
    torch.tensor([1, 2]).abs(), torch.tensor([1+1j]).abs()
    torch.tensor([1, 2]).floor()
    torch.tensor([True]).exp()
    torch.tensor([1.0, 2.0]).sum(dtype=torch.float64)
    torch.where(torch.tensor([True]), torch.tensor([1]), torch.tensor([1.5]))
    torch.where(torch.tensor([True]), 1, 1.5)
    torch.where(torch.tensor([True]), 1.0, 2.0)
    torch.where(torch.tensor([True]), torch.tensor([1], dtype=torch.int8), 2)
    torch.where(torch.tensor([True]), torch.tensor([1.0], dtype=torch.float64), 2.0)
    torch.cat([torch.tensor([1]), torch.tensor([1.5])])
    torch.stack([torch.tensor([1]), torch.tensor([1.5])])
    torch.maximum(torch.tensor([1]), torch.tensor([1.5]))
    torch.atan2(torch.tensor([1]), torch.tensor([2]))
    torch.mm(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64))
    torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.int64)
    torch.clamp(torch.tensor([1, 5]), 2.5)
    torch.clamp(torch.tensor([1, 5]), min=2)
    torch.clamp(torch.tensor([1.0, 5]), max=torch.tensor([2, 3]))
    torch.tensor([3]) // torch.tensor([2.0]), torch.tensor([-3]) // 2, torch.tensor([-3]) % 2
    torch.tensor([3]) / 0, torch.tensor([0]) / 0
    torch.tensor([3]) // 0
    torch.tensor([3]) % 0
    torch.tensor([3.0]) // 0, torch.tensor([3.0]) % 0
    torch.tensor([1], dtype=torch.uint16) + torch.tensor([1], dtype=torch.int16)
    """
)

COMPLEX = programs(
    r"""
    x = torch.tensor([1+2j, 3]); x.real[0] = 5; x
    x = torch.tensor([1+2j, 3]); x.imag = torch.tensor([7., 8.]); x
    x = torch.tensor([1+2j, 3]); x.real = 0; x
    x = torch.tensor([1+2j], requires_grad=True); y = x * 1; y.real.mul_(3); y.abs().sum().backward(); x.grad
    torch.view_as_real(torch.tensor([1+2j])), torch.view_as_complex(torch.tensor([[1., 2.]]))
    torch.view_as_real(torch.ones(2))
    torch.view_as_complex(torch.ones(3))
    torch.polar(torch.ones(2), torch.zeros(2))
    torch.real(torch.ones(2)), torch.conj(torch.tensor([1j])), torch.angle(torch.tensor([1j, -1])), torch.angle(torch.tensor([-1.0, 1.0]))
    torch.ones(2).is_complex(), torch.tensor([1j]).conj().is_conj() in (True, False)
    torch.tensor([1+1j]).to(torch.complex128).dtype
    """
)


def value_of(name: str, shape: tuple) -> np.ndarray:
    return np.ones(shape, name)


@needs_torch
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("first", NAMES)
def test_two_tensors_give_pytorchs_dtype_whatever_their_types_and_ranks(operation: str, first: str) -> None:
    wrong = []
    for second, (s, t) in itertools.product(NAMES, itertools.product(((2,), ()), repeat=2)):
        if {first[:4], second[:4]} == {"floa", "comp"} and "float16" in (first, second):
            continue  # PyTorch gives complex32, which NumPy does not have
        program = f"a = torch.tensor(x); b = torch.tensor(y); {OPERATIONS[operation]}"
        names = dict(x=value_of(first, s), y=value_of(second, t))
        theirs = outcome(program, torch, **names)
        if isinstance(theirs, Refused):
            continue
        found = differences(outcome(program, dt, **names), theirs)
        if found:
            wrong.append((first, s, second, t, found))
    assert not wrong


@needs_torch
@pytest.mark.parametrize("operation", [o for o in OPERATIONS if o != "maximum"])
@pytest.mark.parametrize("number", SCALARS)
def test_a_tensor_and_a_python_number_give_pytorchs_dtype_in_both_orders(operation: str, number: str) -> None:
    wrong = []
    for name, shape, flipped in itertools.product(NAMES, ((2,), ()), (False, True)):
        if name == "float16" and number == "1j":
            continue  # PyTorch gives complex32, which NumPy does not have
        if (name, number, operation) == ("bool", "True", "pow"):
            continue  # NumPy's power of booleans is an int8
        left, right = ("b", "a") if flipped else ("a", "b")
        program = f"{left} = torch.tensor(x); {right} = {number}; {OPERATIONS[operation]}"
        theirs = outcome(program, torch, x=value_of(name, shape))
        if isinstance(theirs, Refused):
            continue
        found = differences(outcome(program, dt, x=value_of(name, shape)), theirs)
        if found:
            wrong.append((name, shape, flipped, found))
    assert not wrong


@needs_torch
@pytest.mark.parametrize("first", [*NAMES, "uint16", "uint32", "uint64"])
def test_promote_types_and_can_cast_are_pytorchs_for_every_pair(first: str) -> None:
    wrong = []
    for second in [*NAMES, "uint16", "uint32", "uint64"]:
        if {first[:4], second[:4]} == {"floa", "comp"} and "float16" in (first, second):
            continue
        for program in (
            f"torch.promote_types(torch.{first}, torch.{second})",
            f"torch.can_cast(torch.{first}, torch.{second})",
        ):
            theirs = outcome(program, torch)
            if isinstance(theirs, Refused) and {first, second} & {"uint16", "uint32", "uint64"}:
                continue  # PyTorch promotes large unsigned types with floating-point types only
            found = differences(outcome(program, dt), theirs)
            if found:
                wrong.append((program, found))
    assert not wrong


@needs_torch
@pytest.mark.parametrize("first", NAMES)
def test_an_in_place_result_is_written_or_refused_as_in_pytorch(first: str) -> None:
    wrong = []
    for second, shape in itertools.product(NAMES, ((2,), ())):
        program = "a = torch.tensor(x); b = torch.tensor(y); a *= b; a"
        names = dict(x=value_of(first, (2,)), y=value_of(second, shape))
        found = differences(outcome(program, dt, **names), outcome(program, torch, **names))
        if found:
            wrong.append((second, shape, found))
    assert not wrong


def test_the_refusal_of_an_in_place_result_says_what_cannot_be_cast_and_leaves_the_tensor_alone() -> None:
    x = dt.ones(2, dtype=dt.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        x += 1.5
    assert x.tolist() == [1, 1]
    assert x._version == 0


@needs_torch
@pytest.mark.parametrize("program", QUESTIONS)
def test_questions_about_dtypes_and_tensors_are_answered_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", CONVERSIONS)
def test_conversions_return_what_pytorch_returns_and_the_tensor_itself_where_it_does(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", IN_PLACE)
def test_in_place_operations_keep_their_dtype_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", RESULTS)
def test_results_have_pytorchs_dtype(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", COMPLEX)
def test_parts_and_views_of_complex_numbers_are_pytorchs(program: str) -> None:
    same(program)


def test_half_precision_and_complex_give_complex64_since_numpy_has_no_smaller() -> None:
    assert (dt.ones(2, dtype=dt.float16) * 1j).dtype is dt.complex64
    assert dt.float16.to_complex() is dt.complex64


def test_large_unsigned_types_compute() -> None:
    x = dt.tensor([1, 2], dtype=dt.uint16)
    assert (x + x).tolist() == [2, 4]
    assert (x + 1).dtype is dt.uint16
    with pytest.raises(RuntimeError, match="promotion"):
        x + dt.tensor([1, 2], dtype=dt.int16)


def test_a_dtype_is_accepted_by_numpy_and_equal_to_numpys() -> None:
    assert np.zeros(2, dtype=dt.float32).dtype == np.float32
    assert dt.float32 == np.float32 and dt.float32 == np.dtype("float32")
    assert dt.float32 != np.float64 and dt.float32 != dt.float64
    assert hash(dt.float32) == hash(np.dtype("float32"))


@pytest.mark.parametrize("name", [*NAMES, "uint16", "uint32", "uint64"])
def test_a_dtype_survives_pickling_as_itself(name: str) -> None:
    dtype = getattr(dt, name)
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert repr(dtype) == f"dualtape.{name}"


def test_arrays_of_foreign_types_are_refused_with_the_types_that_are_possible() -> None:
    with pytest.raises(TypeError, match="float32"):
        dt.tensor(np.zeros(2, "U3"))
    with pytest.raises(TypeError, match="cannot be tensors"):
        dt.from_numpy(np.zeros(2, np.longdouble))


def test_a_conversion_is_recorded_and_its_gradient_comes_back_in_the_tensors_dtype() -> None:
    x = dt.ones(2, requires_grad=True)
    y = x.double()
    assert y.grad_fn.name() == "ToCopyBackward0"
    (y * 3).sum().backward()
    assert x.grad.dtype is dt.float32
    assert x.grad.tolist() == [3, 3]


def test_the_type_of_tensors_itself_is_the_default_dtype():
    assert dt.ones(2, dtype=dt.int64).type(dt.Tensor).dtype == dt.float32
    assert dt.ones(2, dtype=dt.int64).type(dt.HalfTensor).dtype == dt.float16
