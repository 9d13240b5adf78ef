"""Arguments that are unusual but plausible, against PyTorch: NumPy's integers and numbers, 0-d tensors as dimensions, no
dimensions, small integers, empty tensors, arguments by place that are mostly given by name.
"""

from __future__ import annotations

import pytest

import dualtape as dt
from same_program import needs_torch, programs, same

pytestmark = needs_torch
SET_UP = """
f = torch.arange(6.0).reshape(2, 3); v = torch.tensor([0.5, -1.5, 2.0]); x = torch.ones(2)
one, half = np.int64(1), np.float64(0.5); F = torch.nn.functional
"""

NUMBERS_OF_NUMPY = programs(
    r"""
    F.leaky_relu(v, half)
    F.elu(v, half)
    F.celu(v, half)
    F.softplus(v, half)
    F.softshrink(v, half)
    F.huber_loss(v, v * 2, delta=half)
    v.add(v, alpha=half)
    v.addcmul(v, v, value=half)
    v.addcdiv(v, v, value=half)
    torch.addmm(f[:, :2], f[:, :2], f[:, :2], alpha=half, beta=half)
    torch.mvlgamma(v + 3, one)
    F.leaky_relu(v.clone().requires_grad_(), half)
    """
)
INTEGERS_OF_NUMPY = programs(
    r"""
    f.all(one)
    f.any(dim=one)
    torch.empty(0, 3).amax(one)
    torch.empty(0, 3).argmax(one)
    f.chunk(one)
    f.hsplit(one)
    f.tensor_split(one)
    F.avg_pool1d(f, one)
    F.max_pool1d(f, one)
    F.adaptive_avg_pool1d(f, one)
    F.adaptive_max_pool1d(f, one)
    F.interpolate(f[None], size=one)
    F.conv1d(f[None], torch.ones(1, 2, 2), stride=one, padding=one)
    torch.hann_window(np.int64(3))
    torch.fft.fftfreq(np.int64(3))
    torch.polygamma(one, v)
    torch.pdist(f, one)
    torch.histogramdd(f, one).hist
    """
)
TENSORS_AS_INTEGERS = programs(
    r"""
    torch.max(f, dim=torch.tensor(0))
    torch.min(f, dim=torch.tensor(1), keepdim=True)
    torch.max(f, torch.tensor(0))
    f.sum(dim=torch.tensor(0))
    torch.hann_window(torch.tensor(3))
    F.max_pool2d(f[None], torch.tensor(2))
    torch.hsplit(f, torch.tensor(3))
    torch.polygamma(torch.tensor(1), v)
    """
)
OTHERS = programs(
    r"""
    torch.flip(f, ())
    torch.flip(f, [])
    f.flip([])
    torch.gradient(f, dim=())
    torch.gradient(torch.tensor([1.0, inf, 2.0, 3.0]))
    torch.gradient(f, spacing=0.5, dim=1, edge_order=2)
    torch.trapezoid(torch.tensor([3, 250, 7], dtype=torch.uint8))
    torch.unique_consecutive(torch.tensor([[1, 1], [1, 1], [2, 1]]), dim=0)
    torch.unique_consecutive(torch.tensor([[1, 1], [1, 1], [2, 1]]), dim=1, return_inverse=True)
    torch.unique_consecutive(torch.tensor([[1, 1], [1, 1], [2, 1]]), return_inverse=True, return_counts=True, dim=-2)
    torch.unique_consecutive(torch.empty(0, 3), dim=0, return_counts=True)
    torch.unique_consecutive(torch.empty(0, 3), dim=1)
    torch.unique_consecutive(torch.tensor(3), dim=0)
    torch.repeat_interleave(torch.tensor([1, 0, 2]))
    torch.repeat_interleave(repeats=torch.tensor([1, 0, 2]), output_size=3)
    torch.repeat_interleave(torch.tensor([1, 0, 2]), output_size=4)
    torch.repeat_interleave(torch.tensor([[1, 2]]))
    torch.repeat_interleave(torch.tensor([-1, 2]))
    torch.repeat_interleave(v, torch.tensor([1, -1, 1]))
    torch.repeat_interleave(v, torch.tensor([1, 1]))
    torch.repeat_interleave(v, 2, output_size=5)
    torch.repeat_interleave(v, 2, output_size=6)
    torch.histogram(f).hist
    f.copy_(f + 1, True)
    f.copy_(f + 1, non_blocking=True)
    torch.meshgrid(f, indexing="ij")
    torch.roll(f, [0, 1])
    torch.roll(f, (1, 2), (0, 1))
    torch.roll(f, 1, (0, 1))
    torch.matrix_power(torch.tensor([[1, 1], [0, 1]]), 3)
    torch.matrix_power(torch.tensor([[1, 1], [0, 1]]), -1)
    F.avg_pool2d(-torch.arange(1, 17).reshape(1, 1, 4, 4), 2)
    F.avg_pool1d(torch.tensor([[1, 2, 4]]), 2, 1)
    torch.block_diag(torch.tensor(1.0), torch.tensor([2.0]).half())
    torch.block_diag(torch.tensor(1), torch.tensor([2], dtype=torch.uint8))
    F.cross_entropy(torch.empty(0, 3), torch.empty(0, 3))
    F.cross_entropy(torch.empty(0, 3), torch.empty(0, 3), reduction="sum")
    F.mse_loss(f, f + 1, 0, 1)
    F.mse_loss(f, f + 1, 1, 0)
    F.l1_loss(f, f * 2, size_average=0)
    F.soft_margin_loss(f, f, 0)
    F.celu(v, 0.0)
    F.dropout2d(torch.empty(0))
    F.dropout3d(torch.tensor(1.0), training=False)
    torch.unravel_index(torch.tensor([5], dtype=torch.uint8), (2, 3))
    torch.adjoint(torch.tensor(1j))
    torch.linalg.lstsq(torch.eye(2) * 1j, torch.eye(2) * 1j).residuals
    """
)
GRADIENTS = programs(
    r"""
    y = v.clone().requires_grad_(); torch.autograd.grad(torch.special.xlog1py(y, True).sum(), y)
    y = v.clone().requires_grad_(); torch.autograd.grad(F.leaky_relu(y, half).sum(), y)
    y = f.clone().requires_grad_(); torch.autograd.grad((y.flip(()) * f).sum(), y)
    y = v.clone().requires_grad_(); torch.autograd.grad((torch.gradient(y)[0] * v).sum(), y)
    """
)


@pytest.mark.parametrize("program", NUMBERS_OF_NUMPY)
def test_a_number_of_numpy_brings_no_dtype_along(program: str) -> None:
    same(f"{SET_UP}{program}")


@pytest.mark.parametrize("program", INTEGERS_OF_NUMPY)
def test_integers_of_numpy_are_sizes_and_dimensions(program: str) -> None:
    same(f"{SET_UP}{program}")


@pytest.mark.parametrize("program", TENSORS_AS_INTEGERS)
def test_integer_tensors_without_dimensions_are_sizes_and_dimensions(program: str) -> None:
    same(f"{SET_UP}{program}")


@pytest.mark.parametrize("program", OTHERS)
def test_unusual_arguments_mean_what_they_mean_in_pytorch(program: str) -> None:
    same(f"{SET_UP}{program}")


@pytest.mark.parametrize("program", GRADIENTS)
def test_gradients_of_unusual_arguments_are_pytorchs(program: str) -> None:
    same(f"{SET_UP}{program}")


def test_sums_of_small_integers_do_not_overflow_in_integrals() -> None:
    y = dt.tensor([100, 100, 100], dtype=dt.int8)
    assert dt.trapezoid(y).item() == 200
    assert dt.cumulative_trapezoid(y).tolist() == [100, 200]


@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_gradients_of_eigenvectors_are_symmetric_as_the_matrix_is(kind: str) -> None:
    same(
        f"""
a = torch.tensor([[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]], dtype=torch.{kind})
a = (a + (1j * (a.tril(-1) - a.triu(1)) if a.is_complex() else 0)).requires_grad_()
values, vectors = torch.linalg.eigh(a)
weights = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
torch.autograd.grad((vectors.abs() ** 2 * weights).sum() + (values**2).sum(), a)
"""
    )
