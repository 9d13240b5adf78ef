"""Arguments that PyTorch refuses are refused, and what it takes is taken: numbers that do not fit, devices, bounds of draws,
and draws inside ``vmap``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import arrays, cases, first_samples
from outcomes import outcome, same_outcome, torch

pytestmark = pytest.mark.filterwarnings("ignore")

# --- numbers beside integers ----------------------------------------------------------------------

NUMBERS = (-300, -1, 0.5, 5, 300, 70000, 2**40)
BESIDE = {
    "clamp": lambda m, x, n: x.clamp(n, 2**62) if n == 2**40 else x.clamp(n),
    "clamp to the most": lambda m, x, n: x.clamp(max=n),
    "clamp_": lambda m, x, n: x.clamp_(n),
    "clamp_min": lambda m, x, n: x.clamp_min(n),
    "clamp_max": lambda m, x, n: x.clamp_max(n),
    "clip": lambda m, x, n: m.clip(x, n),
    "where": lambda m, x, n: m.where(m.tensor([True, False]), x, n),
    "where before it": lambda m, x, n: m.where(m.tensor([True, False]), n, x),
    "masked_fill": lambda m, x, n: x.masked_fill(m.tensor([True, False]), n),
    "fill_": lambda m, x, n: x.fill_(n),
    "full_like": lambda m, x, n: m.full_like(x, n),
    "addition": lambda m, x, n: x + n,
    "comparison": lambda m, x, n: x < n,
    "alpha": lambda m, x, n: m.add(x, x, alpha=n),
    "alpha of a difference": lambda m, x, n: m.sub(x, x, alpha=n),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("name", BESIDE)
def test_numbers_that_do_not_fit_are_refused_where_pytorch_refuses_them(name: str, dtype: str) -> None:
    for number in NUMBERS:
        same_outcome(lambda m, n=number: BESIDE[name](m, m.tensor([1, 2], dtype=getattr(m, dtype)), n))


RANGES = [
    (2**63,),
    (2**70,),
    (2**63 - 2, 2**63 - 1),
    (-(2**63), 2 - 2**63),
    (0, 2**63, 2**62),
    (-(2**64), 0),
    (3,),
]


@pytest.mark.parametrize("bounds", RANGES, ids=repr)
def test_ranges_beyond_the_integers_are_refused(bounds: tuple[int, ...]) -> None:
    ours, theirs = outcome(lambda: dt.arange(*bounds).tolist()), outcome(lambda: torch.arange(*bounds).tolist())
    if isinstance(theirs, type):
        assert ours is RuntimeError
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", ["addcmul", "add", "pad", "threshold"])
def test_options_that_do_not_fit_are_refused_in_words(name: str) -> None:
    x = dt.tensor([1, 2], dtype=dt.uint8)
    calls = {
        "addcmul": lambda: dt.addcmul(x, x, x, value=300),
        "add": lambda: dt.add(x, x, alpha=300),
        "pad": lambda: dt.nn.functional.pad(x, (1, 1), value=300),
        "threshold": lambda: dt.threshold(x, 1, 300),
    }
    with pytest.raises(RuntimeError, match="without overflow"):
        calls[name]()


# --- bounds of draws ------------------------------------------------------------------------------

BOUNDS = [
    (-4e38, 4e38),
    (-3e38, 3e38),
    (0, math.inf),
    (math.nan, 1),
    (0, math.nan),
    (1, 0),
    (-7e4, 7e4),
    (-6e4, 6e4),
    (-1, 1),
    (-1e308, 1e308),
    (2, 2),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("bounds", BOUNDS, ids=repr)
def test_uniform_draws_between_bounds_that_the_dtype_has(bounds: tuple[float, float], dtype: str) -> None:
    def drawn(m: Any) -> Any:
        x = m.zeros(100, dtype=getattr(m, dtype)).uniform_(*bounds).double()
        size = max(abs(bounds[0]), abs(bounds[1])) / 100  # bfloat16 rounds the bounds themselves
        return bool(((x >= bounds[0] - size) & (x <= bounds[1] + size)).all())

    same_outcome(drawn)


# --- other arguments ------------------------------------------------------------------------------

CALLS = {
    "narrow from a vector": lambda m: m.arange(6).narrow(0, m.tensor([0]), 1),
    "narrow from a fraction": lambda m: m.arange(6).narrow(0, m.tensor(0.0), 1),
    "narrow from a tensor": lambda m: m.arange(6).narrow(0, m.tensor(2), 1),
    "Tensor on no device": lambda m: m.Tensor([1.0], device="nope"),
    "Tensor on another device": lambda m: m.Tensor([1.0], device="cuda"),
    "Tensor of sizes on no device": lambda m: m.Tensor(2, device="nope"),
    "Tensor": lambda m: m.Tensor([1.0], device="cpu"),
    "FloatTensor on no device": lambda m: m.FloatTensor([1.0], device="nope"),
    "abs_ of complex numbers": lambda m: m.ones(2, dtype=m.complex64).abs_(),
    "abs_": lambda m: m.tensor([-1.0, 2.0]).abs_(),
    "silu of complex numbers": lambda m: m.nn.functional.silu(m.tensor([1 + 2j, -3j, 0j])),
    "silu of complex numbers in place": lambda m: m.nn.functional.silu(m.tensor([1 + 2j, -3j]), inplace=True),
    "silu of integers": lambda m: m.nn.functional.silu(m.tensor([1, 2])),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_arguments(name: str) -> None:
    same_outcome(CALLS[name], 1e-5)


def function(m: Any, boxed: Any, saved: Any) -> Any:
    class Twice(m.autograd.Function):
        boxed_grads_call = boxed

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_forward(saved)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return (g[0] if isinstance(g, list) else g) * 2

    x = m.ones(2, requires_grad=True)
    Twice.apply(x).sum().backward()
    return x.grad


def test_a_function_says_what_its_settings_are() -> None:
    with pytest.raises(TypeError, match="save_for_forward can only save tensors, but argument 0 is of type int"):
        function(dt, False, 3)
    same_outcome(lambda m: function(m, "x", None))
    same_outcome(lambda m: function(m, True, m.ones(2)))


# --- gradients within bounds ----------------------------------------------------------------------


@pytest.mark.parametrize("foreach", [True, False, None])
def test_clipping_takes_foreach(foreach: bool | None) -> None:
    def clipped(m: Any) -> Any:
        parameters = [m.nn.Parameter(m.ones(3)), m.nn.Parameter(m.ones(2, dtype=m.float64)), m.nn.Parameter(m.ones(1))]
        found = []
        for clip in (
            lambda: m.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=foreach),
            lambda: m.nn.utils.clip_grad_value_(parameters, 2.5, foreach=foreach),
            lambda: m.nn.utils.clip_grads_with_norm_(parameters, 1.0, m.tensor(8.0), foreach=foreach),
            lambda: m.nn.utils.get_total_norm([p.grad for p in parameters[:2]], math.inf, foreach=foreach),
        ):
            for k, parameter in enumerate(parameters[:2]):
                parameter.grad = (parameter * (k + 2)).detach()
            found.append((clip(), [p.grad.clone() for p in parameters[:2]]))
        return found

    same_outcome(clipped, 1e-6)


# --- draws inside vmap ----------------------------------------------------------------------------

DRAWS = {
    "poisson": lambda p: dt.poisson(p),
    "binomial": lambda p: dt.binomial(dt.full((3,), 5.0), p.clamp(max=1)),
    "_standard_gamma": lambda p: dt._standard_gamma(p),
    "_sample_dirichlet": lambda p: dt._sample_dirichlet(p),
    "Gamma": lambda p: dt.distributions.Gamma(p, p, validate_args=False).rsample(),
    "Beta": lambda p: dt.distributions.Beta(p, p, validate_args=False).rsample(),
    "Dirichlet": lambda p: dt.distributions.Dirichlet(p, validate_args=False).rsample(),
    "Poisson": lambda p: dt.distributions.Poisson(p, validate_args=False).sample(),
    "Binomial": lambda p: dt.distributions.Binomial(5, p.clamp(max=1), validate_args=False).sample(),
    "of a constant": lambda p: dt.poisson(dt.full((3,), 50.0)) + p * 0,
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_inside_vmap(name: str) -> None:
    rates = dt.tensor([[0.5, 1.0, 1.0], [0.5, 1.0, 1.0], [0.25, 1.0, 2.0], [9.0, 9.0, 9.0]]).repeat(5, 1)
    different = dt.vmap(DRAWS[name], randomness="different")(rates)
    assert different.shape == (20, 3)
    assert len({tuple(row) for row in different[::4].tolist()}) > 1
    same = dt.vmap(DRAWS[name], randomness="same")(rates)
    assert dt.equal(same[0], same[1])
    assert dt.equal(same[0], same[4])
    with pytest.raises(RuntimeError, match="randomness error mode"):
        dt.vmap(DRAWS[name])(rates)


def test_draws_inside_vmap_follow_their_parameters() -> None:
    rates = dt.tensor([1.0, 100.0, 10_000.0])
    drawn = dt.vmap(lambda rate: dt.poisson(rate.expand(1000)).mean(), randomness="different")(rates)
    np.testing.assert_allclose(drawn.numpy(), rates.numpy(), rtol=0.2)
    nested = dt.vmap(
        lambda a: dt.vmap(lambda b: dt._standard_gamma((a + b).expand(2000)).mean(), randomness="different")(rates),
        randomness="different",
    )(rates)
    np.testing.assert_allclose(nested.numpy(), (rates[:, None] + rates).numpy(), rtol=0.2)


@pytest.mark.parametrize("name", ["Gamma", "Beta", "Dirichlet"])
def test_gradients_of_draws_inside_vmap_are_those_of_each_sample(name: str) -> None:
    rates = dt.tensor([[0.5, 1.0, 2.0]]).repeat(2, 1)
    weight = dt.tensor([1.0, 2.0, -1.0])

    def one(p: Any) -> Any:
        return (DRAWS[name](p) * weight).sum()

    dt.manual_seed(3)
    mapped = dt.vmap(dt.func.grad(one), randomness="same")(rates)
    dt.manual_seed(3)
    alone = dt.func.grad(one)(rates[0])
    np.testing.assert_allclose(mapped.numpy(), alone.expand(2, 3).numpy(), rtol=1e-4)


def test_second_derivatives_of_draws_are_refused_in_forward_mode_too() -> None:
    def gradient(p: Any) -> Any:
        return dt.func.grad(lambda p: DRAWS["Gamma"](p).sum())(p)

    with pytest.raises(NotImplementedError, match="_standard_gamma_grad"):
        dt.func.jvp(gradient, (dt.ones(3),), (dt.ones(3),))


def test_no_tensor_is_made_of_a_tuple_of_tensors() -> None:
    refused = 0
    for _, row, sample in first_samples(list(cases()), 1):
        for place in getattr(row, "tensor_places", ()):
            args, kwargs, _ = arrays(sample, "complex64" if row.complex == "only" else "float32")
            if place == row.listed_place or place >= len(args) or not isinstance(args[place], np.ndarray):
                continue
            given: list = [dt.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
            given[place] = (given[place], given[place])
            with pytest.raises(TypeError):
                row.function(*given, **kwargs)
            refused += 1
    assert refused > 500


def test_no_tensor_lies_in_a_tensor_after_a_number_was_given_as_one() -> None:
    refused = 0
    for _, row, sample in first_samples(list(cases()), 1):
        params = getattr(row, "params", ())
        for place, name in enumerate(params):
            default = row.defaults[place - row.required] if place >= row.required else None
            if place in row.tensor_places or name == row.key or type(default) not in (int, float):
                continue
            args, kwargs, _ = arrays(sample, "complex64" if row.complex == "only" else "float32")
            given: list = [dt.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args[:place]]
            rest = {k: v for k, v in kwargs.items() if k not in (name, *params[: len(given)])}
            rest = {k: dt.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in rest.items()}
            try:
                found = row.function(*given, **rest, **{name: dt.ones(1)})
            except (TypeError, RuntimeError):
                refused += 1
            else:
                assert isinstance(found._array, np.ndarray), (row.name, name)
    assert refused > 30


def test_a_factor_that_is_a_tensor_with_dimensions_is_refused_in_place_too() -> None:
    x = dt.ones(3)
    with pytest.raises(TypeError, match="'alpha' must be a number, got a Tensor of shape"):
        x.add_(x, alpha=dt.ones(3, requires_grad=True).detach())
    for value in (x, dt.ones(1, requires_grad=True), dt.tensor(1.0, requires_grad=True)):
        with pytest.raises(TypeError, match="'value' must be a number"):
            x.addcmul_(x, x, value=value)
        with pytest.raises(TypeError, match="'alpha' must be a number"):
            dt.add(x, x, alpha=value)
    assert dt.equal(dt.add(x, x, alpha=dt.tensor(2.0)), dt.full((3,), 3.0))
