"""Fourier transforms: sizes, norms, dtypes, refusals, where results go."""

from __future__ import annotations

import pytest

from same_program import needs_torch, programs, same

SETUP = "x = torch.arange(6.0).reshape(2, 3); c = torch.complex(x, x.flip(0))\n"
PROGRAMS = programs(
    r"""
    torch.fft.fft(x.half())
    torch.fft.fft(torch.tensor([1, 2])), torch.fft.rfft(torch.tensor([True, False])), torch.fft.irfft(torch.tensor([1, 2]))
    torch.fft.fft(x.double()), torch.fft.fft(c), torch.fft.ifft(c.to(torch.complex128)), torch.fft.hfft(x)
    torch.fft.rfft(c)
    torch.fft.ihfft(c)
    torch.fft.fft(torch.tensor(1.0))
    torch.fft.fft(x, n=0)
    torch.fft.fft(x, dim=2)
    torch.fft.fft(x, norm="bad")
    torch.fft.fft(torch.ones(0))
    torch.fft.irfft(torch.ones(1))
    torch.fft.irfft(torch.ones(3), n=1), torch.fft.irfft(torch.ones(3), n=2), torch.fft.irfft(torch.ones(3), n=9)
    torch.fft.fftn(x, s=(2,), dim=(0, 1))
    torch.fft.fftn(x, s=(2, 2, 2))
    torch.fft.fftn(x, s=(4,)), torch.fft.fftn(x, s=(-1, 2)), torch.fft.fftn(x, dim=()), torch.fft.fftn(torch.tensor(1.0))
    torch.fft.fftn(x, dim=(0, 0))
    torch.fft.rfftn(x, dim=())
    torch.fft.rfftn(torch.tensor(1.0))
    torch.fft.fft2(torch.ones(3))
    torch.fft.fft2(x, s=(2, 2), dim=(0,))
    torch.fft.fft2(torch.ones(2, 2, 2), dim=(0, 1, 2)), torch.fft.fftn(x, s=3, dim=0)
    torch.fft.fft(x, n=2.0)
    torch.fft.hfftn(c), torch.fft.hfft2(c, s=(2, 3)), torch.fft.ihfft2(x), torch.fft.ihfftn(x, norm="ortho")
    torch.fft.ihfftn(c)
    torch.fft.irfftn(torch.ones(2, 1))
    torch.fft.fftshift(x), torch.fft.fftshift(x, 1), torch.fft.ifftshift(x, dim=(0, 1)), torch.fft.ifftshift(torch.arange(5))
    torch.fft.fftshift(torch.tensor(1))
    torch.fft.fftshift(x, dim=())
    torch.fft.fftfreq(5), torch.fft.fftfreq(4, 0.5), torch.fft.rfftfreq(5), torch.fft.rfftfreq(4, d=0.1, dtype=torch.float64)
    torch.fft.fftfreq(0), torch.fft.rfftfreq(0), torch.fft.fftfreq(1), torch.fft.rfftfreq(2), torch.fft.fftfreq(2, 0.0)
    torch.fft.fftfreq(4, dtype=torch.int64)
    torch.fft.fftfreq(4, requires_grad=True), torch.fft.rfftfreq(4, out=torch.empty(0))
    torch.fft.fftfreq(-2)
    torch.fft.fftfreq(4.5)
    out = torch.empty(2, 3, dtype=torch.complex64); [torch.fft.fft(x, out=out) is out, out, torch.fft.fft(x.double(), out=out)]
    torch.fft.fft(x, out=torch.empty(2, 3))
    torch.fft.fft(x.requires_grad_(), out=torch.empty(2, 3, dtype=torch.complex64))
    """
)


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_mean_what_they_mean_in_pytorch(program: str) -> None:
    same(SETUP + program)


GRADIENTS = programs(
    r"""
    torch.fft.irfft(c, n=4)
    torch.fft.irfft(c, n=5)
    torch.fft.hfft(c, n=4, norm="ortho")
    torch.fft.hfft(c, n=3)
    torch.fft.rfft(c.real, n=4)
    torch.fft.irfftn(c, s=(3, 4))
    torch.fft.hfftn(c, s=(2, 5))
    torch.fft.ihfftn(c.imag, s=(2, 5))
    """
)


@needs_torch
@pytest.mark.parametrize("line", GRADIENTS)
def test_first_and_second_gradients_are_pytorchs(line: str) -> None:
    same(
        SETUP
        + f"c = (c * (1 + 0.3j)).requires_grad_(); y = {line}\n"
        + "g, = torch.autograd.grad((y.abs() ** 4).sum(), c, create_graph=True)\n"
        + "[g.detach(), torch.autograd.grad((g.abs() ** 2).sum(), c)[0]]",
        1e-4,
    )
