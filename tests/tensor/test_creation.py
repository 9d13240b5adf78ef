"""Making tensors: the same program makes the same tensor, of the same dtype, over the same memory, as in PyTorch,
or is refused alike.
"""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, programs, same, torch

FROM_DATA = programs(
    r"""
    torch.tensor(1)
    torch.tensor(1.5)
    torch.tensor(True)
    torch.tensor(1j)
    torch.tensor([])
    torch.tensor([[]])
    torch.tensor([[], []])
    torch.tensor(())
    torch.tensor([1, 2])
    torch.tensor([1, 2.5])
    torch.tensor([True, 2])
    torch.tensor([True, 2.5])
    torch.tensor([True, False])
    torch.tensor([1, 2j])
    torch.tensor([1.5, 2j, True])
    torch.tensor((1, (2)))
    torch.tensor(((1, 2), [3, 4]))
    torch.tensor([[1, 2.0], [True, 4]])
    torch.tensor(range(3))
    torch.tensor([range(3), range(3)])
    torch.tensor(np.float64(1.5))
    torch.tensor(np.float32(1.5))
    torch.tensor(np.int32(3))
    torch.tensor(np.bool_(True))
    torch.tensor(np.complex64(1j))
    torch.tensor([np.float64(1.5), np.float64(2)])
    torch.tensor([np.float32(1.5), np.float32(2)])
    torch.tensor([np.int32(1), np.int32(2)])
    torch.tensor([np.float16(1), 2])
    torch.tensor([1, np.float64(2)])
    torch.tensor([np.int8(1), np.int64(2)])
    torch.tensor([np.float32(1.5), np.float64(2)])
    torch.tensor([np.int64(1), 2.5])
    torch.tensor(np.arange(3))
    torch.tensor(np.arange(3, dtype=np.int8))
    torch.tensor(np.arange(3.0))
    torch.tensor([np.arange(3.0), np.arange(3.0)])
    torch.tensor([np.arange(3), np.arange(3.0)])
    torch.tensor(np.array(3.0))
    torch.tensor([torch.tensor(1), torch.tensor(2)])
    torch.tensor([torch.tensor(1.0), torch.tensor(2.0, dtype=torch.float64)])
    torch.tensor([torch.tensor(1.0), 2])
    torch.tensor([torch.tensor([1.0]), torch.tensor([2.0])])
    torch.tensor([torch.tensor([1.0, 2.0]), torch.tensor([2.0, 3.0])])
    torch.tensor([1, torch.tensor(2.5)])
    torch.tensor(torch.tensor([1.5, 2]))
    torch.tensor(torch.tensor([1.5, 2], requires_grad=True))
    torch.tensor(torch.tensor([1.5, 2]), dtype=torch.int64)
    torch.tensor([1.5, 2], dtype=torch.int32)
    torch.tensor([1.5, 0], dtype=torch.bool)
    torch.tensor([True, 0], dtype=torch.float64)
    torch.tensor([1, 2], dtype=torch.complex64)
    torch.tensor([1j, 2], dtype=torch.float32)
    torch.tensor(1j, dtype=torch.float32)
    torch.tensor(1j, dtype=torch.int64)
    torch.tensor(0.1, dtype=torch.float64)
    torch.tensor([0.1, 0.2], dtype=torch.float64) * 10**9
    torch.tensor(300, dtype=torch.uint8)
    torch.tensor([300], dtype=torch.uint8)
    torch.tensor(-1, dtype=torch.uint8)
    torch.tensor([-1], dtype=torch.uint8)
    torch.tensor(-300, dtype=torch.uint8)
    torch.tensor(300, dtype=torch.int8)
    torch.tensor(200, dtype=torch.int8)
    torch.tensor(1e10, dtype=torch.int32)
    torch.tensor(1e10, dtype=torch.int64)
    torch.tensor(2**40, dtype=torch.int32)
    torch.tensor(1e300)
    torch.tensor(1e300, dtype=torch.float16)
    torch.tensor([1e300])
    torch.tensor(2**63)
    torch.tensor(2**63 - 1)
    torch.tensor([2**63])
    torch.tensor(-2**63)
    torch.tensor(2**64)
    torch.tensor(2**63, dtype=torch.uint64)
    torch.tensor(2**63, dtype=torch.float32)
    torch.tensor(nan)
    torch.tensor([inf, nan, -inf])
    torch.tensor(nan, dtype=torch.int64)
    torch.tensor(2.7, dtype=torch.int64)
    torch.tensor(-2.7, dtype=torch.int64)
    torch.tensor(2.7, dtype=torch.uint8)
    torch.tensor([1e10], dtype=torch.int32)
    torch.tensor([1.5, True, 2], dtype=torch.int32)
    torch.tensor([nan], dtype=torch.int32)
    torch.tensor([inf], dtype=torch.uint8)
    torch.tensor([1e300], dtype=torch.float16)
    torch.tensor([65536], dtype=torch.float16)
    torch.tensor([2**63], dtype=torch.uint64)
    torch.tensor([2**63], dtype=torch.float64)
    torch.tensor([2**70], dtype=torch.float64)
    torch.tensor([2**70, 1.0])
    torch.tensor(2**70, dtype=torch.float32)
    torch.tensor([2**70], dtype=torch.float32)
    torch.tensor([-200], dtype=torch.uint8)
    torch.tensor([-2.5], dtype=torch.uint8)
    torch.tensor([[1, 2], [3, 300]], dtype=torch.uint8)
    torch.tensor([300.0], dtype=torch.uint8)
    torch.tensor([np.int64(300)], dtype=torch.uint8)
    torch.tensor(np.array([300]), dtype=torch.uint8)
    torch.tensor(np.array([1.5]), dtype=torch.int64)
    torch.tensor(np.array([1 + 1j]), dtype=torch.float32)
    torch.tensor([np.float64(1.5)], dtype=torch.float32)
    torch.tensor([torch.tensor(1.5, requires_grad=True)])
    torch.tensor([np.array([1.0]), np.array([2.0])])
    torch.tensor([np.array([1.0]), 2.0])
    torch.tensor([np.array([1.0, 2.0]), [3.0, 4.0]])
    torch.tensor([[torch.tensor(1), 2], [3, 4]])
    torch.tensor(bytearray(b'ab'))
    torch.tensor(b'ab')
    torch.tensor([True], dtype=torch.uint8)
    torch.tensor(True, dtype=torch.float32)
    torch.tensor(3, dtype=torch.bool)
    torch.tensor([1, 2], dtype=bool)
    torch.tensor([1j], dtype=torch.int64)
    torch.tensor([1j], dtype=torch.bool)
    torch.tensor(1j, dtype=torch.bool)
    torch.Tensor([1j])
    torch.tensor(np.float128(1))
    torch.tensor(1.0, dtype=torch.complex128)
    torch.tensor([1.0, 2], dtype=torch.complex128)
    torch.full((2,), 1e300)
    torch.full((2,), inf, dtype=torch.int64)
    torch.full((2,), 2.5, dtype=torch.uint8)
    torch.full((2,), 300.0, dtype=torch.uint8)
    torch.full((2,), 1j, dtype=torch.float32)
    torch.full((2,), 1j, dtype=torch.complex128)
    torch.full((2,), 2**63)
    """
)

REFUSED_DATA = programs(
    r"""
    torch.tensor(None)
    torch.tensor("a")
    torch.tensor(["a"])
    torch.tensor([None])
    torch.tensor([1, None])
    torch.tensor({})
    torch.tensor({1: 2})
    torch.tensor(set())
    torch.tensor(object())
    torch.tensor([1, [2]])
    torch.tensor([[1], 2])
    torch.tensor([[1, 2], [3]])
    torch.tensor([[1, 2], []])
    torch.tensor([1], dtype=3)
    torch.tensor()
    torch.tensor([1], [2])
    torch.tensor([1], requires_grad=True)
    torch.tensor([True], requires_grad=True)
    torch.tensor([1.0], requires_grad=True)
    torch.tensor([1j], requires_grad=True)
    torch.tensor([1], dtype=torch.float64, requires_grad=True)
    torch.tensor(np.array(["a"]))
    torch.tensor(np.array([object()]))
    torch.tensor(np.zeros(2, dtype='M8[s]'))
    torch.tensor(np.arange(6.0)[::2])
    torch.tensor([1.0], device='cpu').device
    torch.tensor([1.0], device=torch.device('cpu')).device
    torch.tensor([1.0], device='nowhere')
    torch.tensor([1.0], device='cpu:0').device
    """
)

SHARED = programs(
    r"""
    a = np.zeros(2); t = torch.as_tensor(a); t += 1; a
    a = np.zeros(2); t = torch.as_tensor(a, dtype=torch.float32); t += 1; a
    a = np.zeros(2); t = torch.tensor(a); t += 1; a
    a = np.zeros(2); t = torch.from_numpy(a); a[0] = 3; t
    a = np.zeros(2); t = torch.from_numpy(a); t.requires_grad
    t = torch.ones(2); torch.as_tensor(t) is t
    t = torch.ones(2); torch.as_tensor(t, dtype=torch.float32) is t
    t = torch.ones(2); torch.as_tensor(t, dtype=torch.float64)
    t = torch.ones(2, requires_grad=True); torch.as_tensor(t, dtype=torch.float64)
    torch.as_tensor([1, 2.0])
    torch.as_tensor(3)
    torch.as_tensor(np.float64(3))
    torch.as_tensor(None)
    torch.from_numpy([1, 2])
    torch.from_numpy(np.float64(2))
    torch.from_numpy(np.array(2.0))
    torch.from_numpy(np.array(["a"]))
    torch.from_numpy(np.zeros(2, dtype=np.float128))
    torch.from_numpy(np.zeros(2, dtype='>f4'))
    torch.from_numpy(np.arange(6).reshape(2, 3).T)
    torch.from_numpy(np.arange(6).reshape(2, 3).T).stride()
    torch.from_numpy(np.zeros(2, dtype=np.uint16)).dtype
    torch.asarray([1, 2.0])
    torch.asarray([1.0], dtype=torch.float64)
    a = np.zeros(2); t = torch.asarray(a); t += 1; a
    a = np.zeros(2); t = torch.asarray(a, copy=True); t += 1; a
    a = np.zeros(2); t = torch.asarray(a, copy=False); t += 1; a
    torch.asarray([1.0], copy=False)
    torch.asarray(np.zeros(2), dtype=torch.float32, copy=False)
    t = torch.ones(2); torch.asarray(t) is t
    torch.asarray([1.0], requires_grad=True)
    torch.asarray([1], requires_grad=True)
    t = torch.ones(2, requires_grad=True); torch.asarray(t)
    t = torch.ones(2, requires_grad=True); torch.asarray(t, requires_grad=True) is t
    t = torch.ones(2); torch.asarray(t, copy=True) is t
    torch.asarray(None)
    torch.asarray(np.float64(2))
    """
)

SHAPES = programs(
    r"""
    torch.zeros(2, 3)
    torch.zeros((2, 3))
    torch.zeros([2, 3])
    torch.zeros(torch.Size([2]))
    torch.zeros(size=(2,))
    torch.zeros(())
    torch.zeros(0)
    torch.zeros(2, 0)
    torch.zeros()
    torch.zeros(-1)
    torch.zeros(2.0)
    torch.zeros(2, 2.0)
    torch.zeros("a")
    torch.zeros(None)
    torch.zeros(torch.tensor(2))
    torch.zeros(2, torch.tensor(3))
    torch.zeros(torch.tensor(2.0))
    torch.zeros(torch.tensor([2, 3]))
    torch.zeros(np.int64(2))
    torch.zeros((np.int64(2), 1))
    torch.zeros(True)
    torch.zeros((2, (3,)))
    torch.zeros(2, dtype=torch.int64)
    torch.zeros(2, dtype=torch.int64, requires_grad=True)
    torch.zeros(2, requires_grad=True)
    torch.zeros(2, dtype=None)
    torch.zeros(2, dtype=torch.bool)
    torch.zeros(2, dtype=torch.complex64)
    torch.zeros(2, layout=torch.strided)
    torch.zeros(2, device='cpu')
    torch.zeros(2, pin_memory=False)
    torch.zeros(2, nonsense=1)
    torch.zeros(2, dtype=float)
    torch.zeros(2, dtype=int)
    torch.zeros(2, dtype=bool)
    torch.zeros(2, dtype=complex)
    torch.ones(2, dtype=torch.int8)
    torch.ones(2, 3, requires_grad=True)
    torch.ones((), dtype=torch.float64)
    torch.empty(2, 3).shape
    torch.empty(2, dtype=torch.float16).dtype
    torch.empty((0,), requires_grad=True)
    torch.empty(2, requires_grad=True, dtype=torch.int32)
    torch.full((2,), 3)
    torch.full((2,), 3.0)
    torch.full((2,), True)
    torch.full((2,), 1j)
    torch.full((), 3)
    torch.full((2,), 3, dtype=torch.float64)
    torch.full((2,), 3.7, dtype=torch.int64)
    torch.full((2,), torch.tensor(3))
    torch.full((2,), torch.tensor(3.0))
    torch.full((2,), np.float64(3))
    torch.full([2, 1], 7)
    torch.full(2, 7)
    torch.full(size=(2,), fill_value=7)
    torch.full((2,), 3, requires_grad=True)
    torch.full((2,), 3.0, requires_grad=True)
    torch.full((2,), 300, dtype=torch.uint8)
    torch.full((2,), -1, dtype=torch.uint8)
    torch.full((2,), "a")
    torch.full((2,), None)
    torch.full((2,), torch.tensor([1, 2]))
    torch.full((-1,), 2.0)
    """
)

LIKE = programs(
    r"""
    torch.zeros_like(torch.ones(2, dtype=torch.int8))
    torch.zeros_like(torch.ones(2, requires_grad=True))
    torch.zeros_like(torch.ones(2), requires_grad=True)
    torch.zeros_like(torch.ones(2, dtype=torch.int64), requires_grad=True)
    torch.zeros_like(torch.ones(2), dtype=torch.int64)
    torch.zeros_like([1, 2])
    torch.zeros_like(3)
    torch.zeros_like(torch.ones(2, 3).t()).stride()
    torch.zeros_like(torch.ones(4)[::2]).stride()
    torch.zeros_like(torch.ones(2, 1).expand(2, 3)).stride()
    torch.zeros_like(torch.ones(2, 3, 4).permute(2, 0, 1)).stride()
    torch.zeros_like(torch.ones(2, 3).t(), memory_format=torch.contiguous_format).stride()
    torch.ones_like(torch.zeros(()))
    torch.ones_like(torch.zeros(2, dtype=torch.bool))
    torch.ones_like(torch.zeros(2, dtype=torch.complex128))
    torch.empty_like(torch.zeros(2, 3)).shape
    torch.full_like(torch.zeros(2), 3)
    torch.full_like(torch.zeros(2, dtype=torch.int64), 3.7)
    torch.full_like(torch.zeros(2, dtype=torch.uint8), 300)
    torch.full_like(torch.zeros(2), 3, dtype=torch.int64)
    torch.full_like(torch.zeros(2), 1j)
    torch.full_like(torch.zeros(2), torch.tensor(2))
    """
)

NEW = programs(
    r"""
    torch.ones(1, dtype=torch.float64).new_zeros(2)
    torch.ones(1, dtype=torch.float64).new_zeros((2, 3))
    torch.ones(1, dtype=torch.int64).new_ones(2, 3)
    torch.ones(1, dtype=torch.int64).new_ones(2, dtype=torch.float32)
    torch.ones(1, dtype=torch.int64).new_ones(2, requires_grad=True)
    torch.ones(1, requires_grad=True).new_ones(2)
    torch.ones(1).new_ones(2, requires_grad=True)
    torch.ones(1, dtype=torch.float64).new_full((2,), 3)
    torch.ones(1, dtype=torch.float64).new_tensor([1, 2])
    torch.ones(1, dtype=torch.int64).new_tensor([1.5, 2])
    torch.ones(1, dtype=torch.int64).new_empty(2).dtype
    torch.ones(1).new_empty((2, 3)).shape
    torch.ones(1).new_empty(()).shape
    torch.ones(1).new_tensor(3)
    torch.ones(1).new_tensor(torch.tensor([1, 2]))
    torch.ones(1).new_tensor([1.0], requires_grad=True)
    """
)

RANGES = programs(
    r"""
    torch.arange(3)
    torch.arange(3.0)
    torch.arange(2.5)
    torch.arange(1, 4)
    torch.arange(1, 4.0)
    torch.arange(4, 1, -1)
    torch.arange(0, 1, 0.25)
    torch.arange(0, 1, 0.1)
    torch.arange(1, 0)
    torch.arange(0, 5, -1)
    torch.arange(0, 5, 0)
    torch.arange(0)
    torch.arange(5, 5)
    torch.arange(3, dtype=torch.float64)
    torch.arange(3.7, dtype=torch.int64)
    torch.arange(0.5, 3.7, dtype=torch.int64)
    torch.arange(3, dtype=torch.uint8)
    torch.arange(torch.tensor(3))
    torch.arange(torch.tensor(3.0))
    torch.arange(torch.tensor(1), torch.tensor(4))
    torch.arange(3, requires_grad=True)
    torch.arange(3.0, requires_grad=True)
    torch.arange(end=3)
    torch.arange(start=1, end=3)
    torch.arange(1, 10, 3)
    torch.arange(1, 10, step=3)
    torch.arange(np.int64(3))
    torch.arange(np.float64(3))
    torch.arange(nan)
    torch.arange(inf)
    torch.arange(0, 3, 1.0)
    torch.arange(True)
    torch.arange(2**62, 2**62 + 3)
    torch.arange()
    torch.arange('3')
    torch.linspace(0, 1, 5)
    torch.linspace(0, 1, 1)
    torch.linspace(0, 1, 0)
    torch.linspace(1, 0, 3)
    torch.linspace(0, 10, 4, dtype=torch.int64)
    torch.linspace(0, 10, 5, dtype=torch.int64)
    torch.linspace(-5, 5, 4, dtype=torch.int64)
    torch.linspace(0, 1, 3, dtype=torch.float64)
    torch.linspace(0, 1j, 3)
    torch.linspace(0, 1, -1)
    torch.linspace(0, 1, 2.5)
    torch.linspace(0, 1)
    torch.linspace(torch.tensor(0.0), torch.tensor(1.0), 3)
    torch.linspace(start=0, end=1, steps=3)
    torch.linspace(0, 1, 3, requires_grad=True)
    torch.logspace(0, 2, 3)
    torch.logspace(0, 2, 3, base=2)
    torch.logspace(0, 2, 1)
    torch.logspace(0, 2, 0)
    torch.logspace(0, 2, -1)
    torch.logspace(0, 2, 3, dtype=torch.float64)
    torch.logspace(0, 2, 3, dtype=torch.int64)
    torch.eye(2)
    torch.eye(2, 3)
    torch.eye(3, 2)
    torch.eye(0)
    torch.eye(2, dtype=torch.int64)
    torch.eye(2, dtype=torch.bool)
    torch.eye(-1)
    torch.eye(2, -1)
    torch.eye(2.0)
    torch.eye(2, requires_grad=True)
    torch.scalar_tensor(3)
    torch.scalar_tensor(3, dtype=torch.int64)
    torch.scalar_tensor(True)
    torch.scalar_tensor(1j)
    torch.tril_indices(3, 3)
    torch.tril_indices(3, 4, 1)
    torch.tril_indices(3, 2, -1)
    torch.triu_indices(3, 3)
    torch.triu_indices(3, 4, 1)
    torch.triu_indices(3, 3, -1)
    torch.triu_indices(0, 0)
    torch.tril_indices(-1, 2)
    torch.tril_indices(2, 2, dtype=torch.int32)
    """
)

OUT = programs(
    r"""
    o = torch.empty(0); r = torch.zeros(2, out=o); (r is o, o)
    o = torch.empty(2); r = torch.ones(2, out=o); (r is o, o, o._version)
    o = torch.empty(2); torch.arange(2, out=o); o
    o = torch.empty(3, dtype=torch.int64); torch.arange(3, out=o); o
    o = torch.empty(2, 2); torch.eye(2, out=o); o
    o = torch.empty(3, dtype=torch.float64); torch.linspace(0, 1, 3, out=o); o
    o = torch.empty(2, dtype=torch.float64); torch.full((2,), 3, out=o); o
    """
)

LEGACY = programs(
    r"""
    torch.Tensor([1, 2])
    torch.Tensor([[1, 2], [3, 4]])
    torch.Tensor(2, 3).shape
    torch.Tensor(0)
    torch.Tensor()
    torch.Tensor(torch.Size([2])).shape
    torch.Tensor((2, 3))
    torch.Tensor(np.arange(3))
    torch.Tensor(np.arange(3, dtype=np.float32))
    torch.Tensor(range(3))
    torch.Tensor(2.5)
    torch.Tensor("a")
    torch.Tensor([1.0], dtype=torch.float64)
    torch.Tensor([1.0], requires_grad=True)
    torch.Tensor(torch.ones(2))
    torch.Tensor(torch.ones(2, requires_grad=True))
    t = torch.ones(2); u = torch.Tensor(t); u[0] = 5; t
    torch.Tensor(None)
    torch.Tensor([1, [2]])
    torch.Tensor(device='cpu')
    torch.Tensor([True, False])
    torch.FloatTensor([1, 2])
    torch.DoubleTensor([1, 2])
    torch.LongTensor([1, 2])
    torch.IntTensor([1, 2])
    torch.BoolTensor([1, 0])
    torch.ByteTensor([1, 2])
    torch.LongTensor(2).dtype
    torch.LongTensor([1.5])
    torch.LongTensor()
    isinstance(torch.ones(2), torch.FloatTensor)
    isinstance(torch.ones(2).double(), torch.FloatTensor)
    """
)

DEFAULT_DTYPE = programs(
    r"""
    torch.tensor(1.5)
    torch.tensor([1, 2.0])
    torch.tensor(1)
    torch.tensor([])
    torch.zeros(2)
    torch.eye(2)
    torch.arange(2.0)
    torch.linspace(0, 1, 2)
    torch.full((1,), 2.0)
    torch.scalar_tensor(2)
    torch.Tensor([1])
    torch.tensor([1]) / 2
    torch.tensor(1).exp()
    torch.tensor([1]) * 1.5
    torch.rand(2).dtype
    torch.get_default_dtype()
    """
)
REFUSED_DEFAULTS = programs(
    r"""
    torch.set_default_dtype(torch.int64)
    torch.set_default_dtype(float)
    torch.set_default_dtype(3)
    torch.set_default_dtype(torch.complex64)
    """
)


@needs_torch
@pytest.mark.parametrize("program", FROM_DATA)
def test_data_becomes_a_tensor_of_pytorchs_dtype_and_shape(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", REFUSED_DATA)
def test_what_is_not_data_is_refused_with_pytorchs_error_type(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", SHARED)
def test_memory_is_shared_or_copied_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", SHAPES)
def test_sizes_make_tensors_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", LIKE)
def test_like_functions_keep_shape_dtype_and_layout(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", NEW)
def test_new_methods_take_the_tensors_dtype(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", RANGES)
def test_ranges_and_grids_are_pytorchs(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", OUT)
def test_creation_writes_into_out(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", LEGACY)
def test_old_constructors_work_as_in_pytorch(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("program", DEFAULT_DTYPE)
def test_the_default_dtype_decides_what_python_floats_become(program: str, dtype: str) -> None:
    try:
        same(f"torch.set_default_dtype(torch.{dtype}); {program}", tolerance=1e-3)
    finally:
        torch.set_default_dtype(torch.float32)


@needs_torch
@pytest.mark.parametrize("program", REFUSED_DEFAULTS)
def test_a_default_dtype_that_is_no_floating_point_type_is_refused(program: str) -> None:
    same(program)
    assert dt.get_default_dtype() is dt.float32


# --- where dualtape goes its own way --------------------------------------------------------------


def test_arrays_with_negative_strides_are_taken_as_they_are() -> None:
    array = np.arange(6.0)[::-1]
    t = dt.from_numpy(array)
    t[0] = 50
    assert array[0] == 50
    assert dt.tensor(np.arange(6).reshape(2, 3)[:, ::-1]).tolist() == [[2, 1, 0], [5, 4, 3]]


def test_arrays_of_foreign_byte_order_are_converted_but_never_shared() -> None:
    array = np.array([1, 2], dtype=">i4")
    assert dt.tensor(array).tolist() == [1, 2]
    assert dt.tensor(array).dtype == dt.int32
    with pytest.raises(ValueError, match="byte order"):
        dt.from_numpy(array)


def test_a_dtype_may_be_numpys_or_its_name() -> None:
    for dtype in (np.float16, np.dtype("float16"), "float16", dt.float16):
        assert dt.zeros(1, dtype=dtype).dtype is dt.float16
    with pytest.raises(TypeError, match="dtype"):
        dt.zeros(1, dtype="no such type")
    with pytest.raises(TypeError, match="cannot be tensors|dtype"):
        dt.zeros(1, dtype="M8[s]")


def test_like_functions_take_arrays() -> None:
    assert dt.zeros_like(np.ones(2)).dtype is dt.float64
    with pytest.raises(TypeError, match="must be a Tensor or an array"):
        dt.zeros_like([1, 2])


def test_nested_sequences_of_any_kind_make_a_tensor() -> None:
    assert dt.tensor([range(2), (2, 3), [4, 5.0], np.array([6, 7])]).tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_a_long_list_is_read_at_the_speed_of_numpy() -> None:
    values = [0.5] * 200_000
    assert dt.tensor(values).shape == (200_000,)


def test_from_dlpack_shares_memory() -> None:
    array = np.zeros(2)
    dt.from_dlpack(array)[0] = 3
    assert array[0] == 3
    t = dt.zeros(2)
    np.from_dlpack(t)
    assert dt.from_dlpack(t).data_ptr() == t.data_ptr()
    with pytest.raises(BufferError):
        np.from_dlpack(dt.zeros(2, requires_grad=True))


def test_a_refused_creation_with_out_leaves_out_alone() -> None:
    out = dt.full((2,), 7.0)
    with pytest.raises(RuntimeError):
        dt.arange(0, 2, 0, out=out)
    assert out.tolist() == [7, 7]
    assert out._version == 0


def test_tensor_of_a_tensor_warns_and_copies() -> None:
    x = dt.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="clone"):
        y = dt.tensor(x)
    assert not y.requires_grad
    assert y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("make", [dt.zeros, dt.ones, dt.empty, dt.rand, dt.randn])
def test_a_layout_that_new_tensors_cannot_have_is_refused_not_ignored(make) -> None:
    from dualtape._tensor.device import sparse_coo

    assert make(2, layout=dt.strided).shape == (2,)
    with pytest.raises(NotImplementedError, match="sparse_coo"):
        make(2, layout=sparse_coo)
    with pytest.raises((NotImplementedError, RuntimeError), match="channels_last"):
        make(2, memory_format=dt.channels_last)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use .*channels_last"):
        dt.zeros_like(dt.ones(2), memory_format=dt.channels_last)
    assert dt.ones_like(dt.ones(2), memory_format=dt.preserve_format).shape == (2,)


@needs_torch
@pytest.mark.parametrize("name", ["cat", "stack", "hstack", "vstack"])
def test_an_empty_list_cannot_be_joined(name: str) -> None:
    same(f"torch.{name}([])")


@needs_torch
def test_what_topk_gives_lies_row_by_row() -> None:
    same(
        "x = torch.tensor([[2.0, 1.0, 3.0], [0.0, 5.0, 4.0]]); values, indices = x.topk(2); values.stride(),"
        " indices.stride(), indices"
    )
