"""Elementwise functions of numbers as such: the dtypes they take and give, and what they refuse."""

from __future__ import annotations

import pytest

import dualtape as dt
from same_program import needs_torch, same

PROGRAMS = """
torch.frexp(T([1e-45, 3.0])), torch.frexp(T([0.3], dtype=torch.float16)), T([2.0]).frexp().exponent
torch.frexp(T([1, 2]))
torch.ldexp(T([1, 2]), T([1, 3])), torch.ldexp(T([1.0], dtype=torch.float16), T([1])), torch.ldexp(T([2.0**-100]), T([200]))
T([1.0, 2.0]).ldexp_(T([1, 1])), torch.ldexp_(T([1.0]), T([2]))
T([1, 2]).ldexp_(T([1, 1]))
torch.ldexp(T([1.0]), 2)
torch.nextafter(T([1.0]), T([2.0], dtype=torch.float64)), T([1.0]).nextafter_(T([0.0]))
torch.nextafter(T([1]), T([2]))
torch.gcd(T([4, -6, 0]), T([6, 9, 0])), torch.lcm(T([4, -6, 0]), T([6, 9, 0])), torch.gcd(T([4]), T([6], dtype=torch.int8))
torch.gcd_(T([4]), T([6])), T([4], dtype=torch.uint8).lcm_(T([6], dtype=torch.uint8))
torch.gcd(T([4.0]), T([6.0]))
torch.lcm(T([True]), T([True]))
torch.gcd(T([4]), 2)
torch.heaviside(T([1, 0]), T([3])), torch.heaviside(T([True]), T([False])), T([0.0]).heaviside_(T([2.0]))
torch.heaviside(T([1.0]), T([1]))
torch.heaviside(T([1j]), T([1j]))
torch.sgn(T([3 + 4j, 0j])), torch.sgn(T([-2, 1])), torch.sgn(T([True])), torch.sign(T([nan])), T([-2.0]).sgn_()
torch.float_power(T([2, 3]), 2), torch.float_power(2, T([1, 2])), torch.float_power(T([2j]), 2), torch.float_power(T([2.0]), 2j)
T([2.0]).float_power_(2)
T([2.0], dtype=torch.float64).float_power_(T([3]))
torch.float_power(2, 3)
torch.deg2rad(T([180, 90])), torch.rad2deg(T([True])), torch.deg2rad(T([180.0], dtype=torch.float16)), torch.deg2rad_(T([180.0]))
torch.deg2rad(T([1j]))
T([180]).deg2rad_()
torch.isin(T([1, 2, 3]), 2), torch.isin(2, T([1, 2])), torch.isin(T(1), T([[1, 2]])), torch.isin(T([1, 2]), 1.5), torch.isin(elements=T([1]), test_element=1)
torch.isin(T([1, 2]), T([2]), assume_unique=True, invert=True), torch.isin(T([nan]), T([nan]))
torch.isin(T([1j]), T([1j]))
torch.isin(T([True]), T([True]))
torch.isposinf(T([inf, -inf, nan])), torch.isneginf(T([1])), torch.isposinf(T([True])), torch.isreal(T([1j, 2 + 0j])), torch.isreal(T([nan]))
torch.isposinf(T([1j]))
torch.logaddexp2(T([1.0, inf, -inf]), T([1.0, inf, -inf])), torch.logaddexp2(T([1.0]), T([2.0], dtype=torch.float64))
torch.logaddexp2(T([1]), T([2]))
torch.logaddexp2(T([1j]), T([2j]))
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_elements_are_what_pytorchs_are(program: str) -> None:
    same("T = torch.tensor\n" + program)


def test_the_gradient_of_ldexp_is_right_for_negative_integers() -> None:
    x = dt.tensor([8.0], requires_grad=True)
    assert dt.autograd.grad(dt.ldexp(x, dt.tensor([-2])), x)[0].tolist() == [0.25]


def test_heaviside_has_the_derivative_that_it_has_away_from_zero() -> None:
    x, values = dt.tensor([0.0, 3.0], requires_grad=True), dt.tensor([5.0], requires_grad=True)
    gradients = dt.autograd.grad(dt.heaviside(x, values).sum(), (x, values))
    assert [g.tolist() for g in gradients] == [[0.0, 0.0], [1.0]]
