"""Special functions: values that PyTorch has without derivatives, edges, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, programs, same

POLYNOMIALS = [name for name in dt.special.__all__ if "polynomial" in name]
BESSEL = [name for name in dt.special.__all__ if "bessel" in name or name == "airy_ai"]
PLACES = "[0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 9.0, -9.0, 30.0, 1e-20, inf, nan]"


@needs_torch
@pytest.mark.parametrize("name", BESSEL)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_bessel_functions_have_pytorchs_values(name: str, dtype: str) -> None:
    places = PLACES if dtype != "int64" else "[0, 1, -1, 5]"
    if name == "airy_ai":
        places = places.replace("inf, ", "")
    same(f"torch.special.{name}(torch.tensor({places}, dtype=torch.{dtype}))", 1e-5)


@needs_torch
@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("degree", [-1, 0, 1, 2, 3, 7, 12])
def test_polynomials_have_pytorchs_values(name: str, degree: int) -> None:
    same(f"torch.special.{name}(torch.tensor([0.0, 1.0, -1.0, 0.5, -0.3, 1.7], dtype=torch.float64), {degree})", 1e-9)
    same(f"torch.special.{name}(torch.tensor([0.0, 1.0, 0.4]), torch.tensor({degree}))")


@needs_torch
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_a_number_or_of_several_degrees_have_pytorchs_values(name: str) -> None:
    same(f"torch.special.{name}(0.3, torch.tensor([0, 1, 4]))")
    same(f"torch.special.{name}(torch.tensor([[0.1], [0.2]]), torch.tensor([0.0, 1.0, 4.9]))")


PROGRAMS = programs(
    r"""
    torch.lgamma(torch.tensor([5e-324, 1e-310, -1e-310, -inf, -3.0], dtype=torch.float64))
    torch.lgamma(torch.tensor([1e-45, 1e30])), torch.lgamma(torch.tensor([1, 5])), torch.tensor([2.0]).lgamma_()
    torch.polygamma(1, torch.tensor([0.1, -3.7, 1e4])), torch.polygamma(0, torch.tensor([2]))
    torch.polygamma(-1, torch.ones(2))
    torch.polygamma(1.5, torch.ones(2))
    torch.ones(2).polygamma(2), torch.ones(2).polygamma_(1), torch.special.polygamma(n=1, input=torch.ones(1))
    torch.mvlgamma(torch.ones(2), 0)
    torch.tensor([3.0]).mvlgamma_(2), torch.special.multigammaln(torch.tensor([3]), 2)
    torch.igamma(torch.tensor([1, 2]), torch.tensor([1, 2]))
    torch.igamma(torch.ones(1), 2.0)
    torch.igamma(torch.ones(1, requires_grad=True), torch.ones(1)).backward()
    torch.special.zeta(torch.ones(1, requires_grad=True) * 2, 2.0).backward()
    torch.special.zeta(torch.tensor([2, 3]), 2), torch.special.zeta(3, torch.tensor([1.0, 2.0]))
    torch.tensor([0.3]).igammac_(torch.tensor([0.4])), torch.tensor([0.3]).igamma(torch.tensor([0.4]))
    torch.tensor([0.3]).logit_(0.4), torch.tensor([0.3]).erfinv_(), torch.tensor([0.3]).digamma_(), torch.tensor([0.3]).i0_()
    torch.special.i0(torch.ones(1, dtype=torch.complex64))
    torch.special.round(torch.tensor([1.26]), decimals=1), torch.special.softmax(torch.ones(2), 0)
    torch.special.entr(torch.tensor([1, 0, -1])), torch.special.ndtr(torch.tensor([1, 0]))
    torch.special.gammaln(torch.ones(2), out=torch.empty(2)), torch.special.xlog1py(2, torch.tensor([1.0]))
    torch.special.i0(torch.ones(2, dtype=torch.float16)), torch.special.digamma(torch.ones(2, dtype=torch.float16))
    """
)


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_mean_what_they_mean_in_pytorch(program: str) -> None:
    same(program)


def test_bessel_functions_and_polynomials_have_derivatives_of_every_order_also_at_zero() -> None:
    def third(function: object) -> float:
        return dt.func.grad(dt.func.grad(dt.func.grad(function)))(dt.tensor(0.0, dtype=dt.float64)).item()

    assert third(dt.special.bessel_j1) == pytest.approx(-3 / 8)
    assert third(dt.special.i1) == pytest.approx(3 / 8)
    assert third(lambda x: dt.special.legendre_polynomial_p(x, 3)) == pytest.approx(15)
    assert third(lambda x: dt.special.shifted_chebyshev_polynomial_t(x, 3)) == pytest.approx(4 * 8 * 6)


def test_what_vanishes_at_infinity_is_zero_there() -> None:
    assert dt.special.airy_ai(dt.tensor([1e10, np.inf])).tolist() == [0, 0]
    assert dt.special.zeta(dt.tensor([2.0]), np.inf).tolist() == [0]
    assert dt.special.ndtr(dt.tensor([-10.0], dtype=dt.float64)).item() == pytest.approx(7.6e-24, rel=0.01)


def test_a_degree_that_is_not_finite_gives_nan() -> None:
    x = dt.tensor([0.5, 0.5])
    assert dt.special.hermite_polynomial_h(x, dt.tensor([np.inf, np.nan])).isnan().all()


@pytest.mark.parametrize(
    "name", [n for n in dir(dt.special) if "chebyshev" in n or n.startswith(("legendre", "laguerre"))]
)
def test_polynomials_of_huge_degrees_are_refused(name: str) -> None:
    function = getattr(dt.special, name)
    for degree in (10**7, 2**62):
        with pytest.raises(RuntimeError, match="are not computed"):
            function(dt.tensor([0.5]), degree)
    assert function(dt.tensor([0.5]), 200).isfinite().all()
