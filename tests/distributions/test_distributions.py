"""Distributions: what they answer beside PyTorch's and SciPy's, their contract, bad input, copies."""

from __future__ import annotations

import copy
import doctest
import itertools
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import dualtape as dt
from same_program import needs_torch, programs, same


@pytest.fixture(autouse=True)
def checks() -> None:
    """PyTorch's compiler, where another test has used it, has switched checks off for the whole process."""
    library = sys.modules.get("torch")
    if library is not None:
        library.distributions.Distribution.set_default_validate_args(True)


D = dt.distributions

# name: (how it is made, values, some of them at the edge of the support, and outside of it)
CASES = {
    "Bernoulli": ("D.Bernoulli(T([0.0, 0.3, 0.5, 1.0]))", "T([[0.0], [1.0]])", "T(2.0)"),
    "Bernoulli logits": ("D.Bernoulli(logits=T([-40.0, 0.3, 40.0]))", "T([[0.0], [1.0]])", "T(0.5)"),
    "Beta": ("D.Beta(T([0.5, 1.0, 3.0, 0.3]), T([0.5, 1.0, 2.0, 2.0]))", "T([0.1, 0.0, 1.0, 0.7])", "T(1.5)"),
    "Binomial": ("D.Binomial(4, T([0.0, 0.3, 1.0]))", "T([[0.0], [2.0], [4.0]])", "T(5.0)"),
    "Binomial logits": ("D.Binomial(T([4.0, 2.0]), logits=T([-1.0, 2.0]))", "T([1.0, 2.0])", "T(0.5)"),
    "Categorical": ("D.Categorical(T([[1.0, 2.0, 0.0], [1.0, 1.0, 3.0]]))", "T([0, 2])", "T(3)"),
    "Categorical logits": ("D.Categorical(logits=T([1.0, -2.0, 0.0]))", "T([0, 1, 2])", "T(-1)"),
    "Cauchy": ("D.Cauchy(T([0.0, 1.0]), T([1.0, 3.0]))", "T([-1e6, 0.3])", "T(nan)"),
    "Chi2": ("D.Chi2(T([1.0, 2.0, 5.5]))", "T([0.5, 0.0, 3.0])", "T(-1.0)"),
    "ContinuousBernoulli": (
        "D.ContinuousBernoulli(T([0.0, 0.3, 0.4995, 0.5, 0.502, 0.9]))",
        "T([[0.0], [0.4], [1.0]])",
        "T(1.5)",
    ),
    "ContinuousBernoulli logits": (
        "D.ContinuousBernoulli(logits=T([-3.0, 0.001, 2.0]))",
        "T([[0.2], [0.4]])",
        "T(-0.5)",
    ),
    "Dirichlet": (
        "D.Dirichlet(T([[0.5, 0.7, 0.2], [1.0, 2.0, 5.0]]))",
        "T([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6]])",
        "T([0.2, 0.2, 0.2])",
    ),
    "Exponential": ("D.Exponential(T([0.5, 2.0]))", "T([0.0, 3.0])", "T(-1.0)"),
    "FisherSnedecor": ("D.FisherSnedecor(T([1.0, 3.0, 5.0]), T([1.0, 3.0, 9.0]))", "T([0.1, 1.0, 4.0])", "T(0.0)"),
    "Gamma": ("D.Gamma(T([0.2, 1.0, 5.0]), T([1.0, 2.0, 0.5]))", "T([0.1, 0.0, 4.0])", "T(-1.0)"),
    "GeneralizedPareto": (
        "D.GeneralizedPareto(T(1.0), T([1.0, 2.0, 1.0, 1.0]), T([-0.5, 0.0, 0.3, 1.5]))",
        "T([1.5, 1.0, 2.0, 9.0])",
        "T(0.5)",
    ),
    "Geometric": ("D.Geometric(T([0.1, 0.5, 1.0]))", "T([3.0, 1.0, 0.0])", "T(0.5)"),
    "Geometric logits": ("D.Geometric(logits=T([-1.0, 2.0]))", "T([3.0, 0.0])", "T(-1.0)"),
    "Gumbel": ("D.Gumbel(T([0.0, 2.0]), T([1.0, 3.0]))", "T([-1.0, 10.0])", "T(nan)"),
    "HalfCauchy": ("D.HalfCauchy(T([1.0, 3.0]))", "T([0.0, 10.0])", "T(-1.0)"),
    "HalfNormal": ("D.HalfNormal(T([1.0, 3.0]))", "T([0.0, 10.0])", "T(-1.0)"),
    "Independent": (
        "D.Independent(D.Normal(T([[0.0, 1.0], [2.0, 3.0]]), 1.0), 1)",
        "T([[0.5, 1.5], [0.0, 0.0]])",
        "T([nan, 0.0])",
    ),
    "Independent of none": ("D.Independent(D.Bernoulli(T([0.3, 0.6])), 0)", "T([0.0, 1.0])", "T(0.5)"),
    "InverseGamma": ("D.InverseGamma(T([0.5, 1.5, 5.0]), T([1.0, 2.0, 0.5]))", "T([0.1, 1.0, 4.0])", "T(-1.0)"),
    "Kumaraswamy": ("D.Kumaraswamy(T([0.5, 1.0, 3.0]), T([2.0, 1.0, 2.5]))", "T([0.1, 0.5, 0.9])", "T(1.5)"),
    "LKJCholesky": (
        "D.LKJCholesky(3, T([0.5, 1.0, 4.0]))",
        "T([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]])",
        "T([[1.0, 0.0, 0.0], [0.6, 0.9, 0.0], [0.0, 0.6, 0.8]])",
    ),
    "Laplace": ("D.Laplace(T([0.0, 2.0]), T([1.0, 3.0]))", "T([-1.0, 10.0])", "T(nan)"),
    "LogNormal": ("D.LogNormal(T([0.0, 2.0]), T([1.0, 0.5]))", "T([0.5, 10.0])", "T(-1.0)"),
    "LogisticNormal": (
        "D.LogisticNormal(T([[0.0, 1.0], [1.0, 2.0]]), T([1.0, 2.0]))",
        "T([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])",
        "T([0.2, 0.2, 0.2])",
    ),
    "LowRankMultivariateNormal": (
        "D.LowRankMultivariateNormal(T([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), T([[1.0, 0.5], [0.2, 2.0], [0.3, 0.3]]), T([1.0, 2.0, 0.5]))",
        "T([[0.5, 1.5, 1.0], [0.0, 0.0, 2.0]])",
        "T([nan, 0.0, 0.0])",
    ),
    "MixtureSameFamily": (
        "D.MixtureSameFamily(D.Categorical(T([[1.0, 2.0], [0.5, 0.5]])), D.Normal(T([0.0, 3.0]), T([1.0, 2.0])).expand((2, 2)))",
        "T([0.5, 2.0])",
        "T(nan)",
    ),
    "MixtureSameFamily of vectors": (
        "D.MixtureSameFamily(D.Categorical(T([1.0, 2.0])), D.Independent(D.Normal(T([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), 1.0), 1))",
        "T([[0.5, 2.0, 1.0], [0.0, 3.0, 1.0]])",
        "T([nan, 0.0, 0.0])",
    ),
    "Multinomial": (
        "D.Multinomial(5, T([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6]]))",
        "T([[1.0, 2.0, 2.0], [0.0, 5.0, 0.0]])",
        "T([3.0, 3.0, 3.0])",
    ),
    "MultivariateNormal": (
        "D.MultivariateNormal(T([0.0, 1.0]), T([[2.0, 0.5], [0.5, 1.0]]))",
        "T([[0.5, 1.5], [0.0, 0.0]])",
        "T([nan, 0.0])",
    ),
    "MultivariateNormal precision": (
        "D.MultivariateNormal(T([[0.0, 1.0], [2.0, 3.0]]), precision_matrix=T([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 3.0]]]))",
        "T([0.5, 1.5])",
        "T([nan, 0.0])",
    ),
    "MultivariateNormal scale": (
        "D.MultivariateNormal(T([0.0, 1.0]), scale_tril=T([[2.0, 0.0], [0.5, 1.0]]))",
        "T([[[0.5, 1.5]], [[0.0, 0.0]]])",
        "T([1.0])",
    ),
    "NegativeBinomial": (
        "D.NegativeBinomial(T([0.0, 3.0, 5.0]), T([0.3, 0.5, 0.9]))",
        "T([0.0, 2.0, 30.0])",
        "T(-1.0)",
    ),
    "NegativeBinomial logits": ("D.NegativeBinomial(3, logits=T([-1.0, 0.5]))", "T([0.0, 2.0])", "T(0.5)"),
    "Normal": ("D.Normal(T([0.0, 2.0]), T([1.0, 0.5]))", "T([-1.0, 10.0])", "T(nan)"),
    "Normal of numbers": ("D.Normal(0, 2)", "torch.tensor([-1.0, 0.5])", "T(nan)"),
    "OneHotCategorical": (
        "D.OneHotCategorical(T([[1.0, 2.0, 0.0], [1.0, 1.0, 3.0]]))",
        "T([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])",
        "T([1.0, 1.0, 0.0])",
    ),
    "OneHotCategoricalStraightThrough": (
        "D.OneHotCategoricalStraightThrough(logits=T([1.0, 2.0, 0.0]))",
        "T([0.0, 1.0, 0.0])",
        "T([0.0, 0.0, 0.0])",
    ),
    "Pareto": ("D.Pareto(T([1.0, 2.0, 3.0]), T([0.5, 1.5, 3.0]))", "T([1.5, 2.0, 10.0])", "T(0.5)"),
    "Poisson": ("D.Poisson(T([0.0, 1.5, 30.0]))", "T([0.0, 2.0, 30.0])", "T(0.5)"),
    "RelaxedBernoulli": ("D.RelaxedBernoulli(T(0.7), T([0.2, 0.8]))", "T([0.3, 0.9])", "T(1.5)"),
    "RelaxedOneHotCategorical": (
        "D.RelaxedOneHotCategorical(T(0.7), logits=T([[0.2, 0.8, -1.0], [0.0, 0.0, 1.0]]))",
        "T([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])",
        "T([0.2, 0.2, 0.2])",
    ),
    "StudentT": ("D.StudentT(T([0.5, 1.5, 3.0, 100.0]), T(1.0), T(2.0))", "T([-1.0, 10.0, 0.0, 1.0])", "T(nan)"),
    "TransformedDistribution": (
        "D.TransformedDistribution(D.Uniform(T([0.0, 0.5]), T([1.0, 2.0])), [D.AffineTransform(1.0, -2.0), D.ExpTransform()])",
        "T([1.0, 0.5])",
        "T(-1.0)",
    ),
    "Uniform": ("D.Uniform(T([0.0, 2.0]), T([1.0, 3.5]))", "T([0.0, 3.5])", "T(4.0)"),
    "VonMises": ("D.VonMises(T([0.0, 1.0, 2.0]), T([0.1, 3.0, 800.0]))", "T([0.5, -3.0, 2.1])", "T(nan)"),
    "Weibull": ("D.Weibull(T([1.0, 2.0, 0.7]), T([0.5, 1.0, 3.0]))", "T([0.5, 1.0, 2.0])", "T(-1.0)"),
    "Wishart": (
        "D.Wishart(T([3.0, 4.5]), T([[2.0, 0.5], [0.5, 1.0]]))",
        "T([[[2.0, 0.3], [0.3, 1.0]], [[1.0, 0.0], [0.0, 3.0]]])",
        "T([[1.0, 2.0], [2.0, 1.0]])",
    ),
    "Wishart scale": (
        "D.Wishart(4, scale_tril=T([[2.0, 0.0], [0.5, 1.0]]))",
        "T([[2.0, 0.3], [0.3, 1.0]])",
        "T([[1.0, 2.0], [0.0, 1.0]])",
    ),
}
PROGRAM = """D = torch.distributions
def T(x): return torch.tensor(x, dtype=None if np.asarray(x).dtype.kind == "i" else torch.{dtype})
"""
WORDS = "def plain(x): return repr(x).replace('dualtape.', '').replace('torch.', '')\n"


def program(name: str, dtype: str = "", *, validate: bool = True) -> str:
    dtype = dtype or dtypes(name)[0]
    made = CASES[name][0] if validate else f"{CASES[name][0][:-1]}, validate_args=False)"
    return PROGRAM.format(dtype=dtype) + WORDS + f"d = {made}\n"


ANSWERS = [
    "mean",
    "mode",
    "variance",
    "stddev",
    "entropy()",
    "perplexity()",
    "enumerate_support()",
    "enumerate_support(expand=False)",
]
FACTS = ["batch_shape", "event_shape", "has_rsample", "has_enumerate_support"]


# where PyTorch is not exact: a constant in float32, Bessel functions by short series
INEXACT = {"Normal of numbers": 1e-6, "Multinomial": 1e-6, "VonMises": 1e-3}
DIFFERENT = {("Kumaraswamy", "mode")}  # tests of their own have them
# PyTorch compares its concentration with a zero of float32
FLOAT32_ONLY = {"GeneralizedPareto"}


def dtypes(name: str) -> list[str]:
    return ["float32"] if name in FLOAT32_ONLY else ["float64", "float32"]


@needs_torch
@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in CASES for dtype in dtypes(name)])
def test_a_distribution_answers_as_pytorchs_does(name: str, dtype: str) -> None:
    tolerance = max(1e-9 if dtype == "float64" else 2e-4, INEXACT.get(name, 0))
    for answer in ANSWERS:
        if (name, answer) not in DIFFERENT:
            same(program(name, dtype) + f"d.{answer}", tolerance)
    for question in ("log_prob", "cdf"):
        same(program(name, dtype) + f"d.{question}({CASES[name][1]})", tolerance)
    same(program(name, dtype) + "d.icdf(T([0.25]))", tolerance)


@needs_torch
@pytest.mark.parametrize("name", CASES)
def test_a_distribution_has_pytorchs_shapes_and_words(name: str) -> None:
    same(program(name) + f"[{', '.join(f'd.{fact}' for fact in FACTS)}]")
    same(
        program(name)
        + "[plain(d), plain(d.support), plain(d.arg_constraints), d.support.is_discrete, d.support.event_dim]"
    )
    same(program(name) + "(lambda x: [x.shape, x.dtype, x.requires_grad])(d.sample())")
    same(program(name) + "(lambda x: [x.shape, x.dtype, x.requires_grad])(d.sample((3, 2)))")
    same(program(name) + "d.rsample((2,)).shape")
    same(
        program(name) + "e = d.expand((4, *d.batch_shape)); [e.batch_shape, e.event_shape, e.sample().shape, plain(e)]"
    )
    same(program(name) + f"d.expand((4, *d.batch_shape)).log_prob({CASES[name][1]})")


@needs_torch
@pytest.mark.parametrize("name", CASES)
def test_values_outside_of_the_support_are_refused_or_answered_as_in_pytorch(name: str) -> None:
    for question in ("log_prob", "cdf"):
        same(program(name) + f"d.{question}({CASES[name][2]})")
        if "of none" not in name:
            same(program(name, validate=False) + f"d.{question}({CASES[name][2]})", INEXACT.get(name, 1e-5))
    same(program(name) + "d.log_prob(torch.zeros(7, 7, 7))")
    same(program(name) + "d.log_prob(0.5)")


# --- without PyTorch ------------------------------------------------------------------------------

# ours, SciPy's, whether it is discrete
F = dt.float64


def t(x) -> dt.Tensor:
    return dt.tensor(x, dtype=F)


S = scipy.stats
KNOWN = {
    "Bernoulli": (D.Bernoulli(t(0.3)), S.bernoulli(0.3)),
    "Beta": (D.Beta(t(0.7), t(2.0)), S.beta(0.7, 2.0)),
    "Beta of small concentrations": (D.Beta(t(0.1), t(0.3)), S.beta(0.1, 0.3)),
    "Binomial": (D.Binomial(7, t(0.3)), S.binom(7, 0.3)),
    "Cauchy": (D.Cauchy(t(1.0), t(2.0)), S.cauchy(1, 2)),
    "Chi2": (D.Chi2(t(3.0)), S.chi2(3)),
    "Exponential": (D.Exponential(t(2.0)), S.expon(scale=0.5)),
    "FisherSnedecor": (D.FisherSnedecor(t(3.0), t(9.0)), S.f(3, 9)),
    "Gamma": (D.Gamma(t(0.3), t(2.0)), S.gamma(0.3, scale=0.5)),
    "GeneralizedPareto heavy": (D.GeneralizedPareto(t(1.0), t(2.0), t(0.2)), S.genpareto(0.2, 1, 2)),
    "GeneralizedPareto exponential": (D.GeneralizedPareto(t(1.0), t(2.0), t(0.0)), S.genpareto(0.0, 1, 2)),
    "GeneralizedPareto bounded": (D.GeneralizedPareto(t(1.0), t(2.0), t(-0.5)), S.genpareto(-0.5, 1, 2)),
    "Geometric": (D.Geometric(t(0.3)), S.geom(0.3, loc=-1)),
    "Gumbel": (D.Gumbel(t(1.0), t(2.0)), S.gumbel_r(1, 2)),
    "HalfCauchy": (D.HalfCauchy(t(2.0)), S.halfcauchy(scale=2)),
    "HalfNormal": (D.HalfNormal(t(2.0)), S.halfnorm(scale=2)),
    "InverseGamma": (D.InverseGamma(t(5.0), t(2.0)), S.invgamma(5, scale=2)),
    "Laplace": (D.Laplace(t(1.0), t(2.0)), S.laplace(1, 2)),
    "LogNormal": (D.LogNormal(t(0.3), t(0.5)), S.lognorm(0.5, scale=math.exp(0.3))),
    "NegativeBinomial": (D.NegativeBinomial(t(3.0), t(0.4)), S.nbinom(3, 0.6)),
    "Normal": (D.Normal(t(1.0), t(2.0)), S.norm(1, 2)),
    "Pareto": (D.Pareto(t(2.0), t(5.0)), S.pareto(5, scale=2)),
    "Poisson": (D.Poisson(t(3.5)), S.poisson(3.5)),
    "StudentT": (D.StudentT(t(5.0), t(1.0), t(2.0)), S.t(5, 1, 2)),
    "Uniform": (D.Uniform(t(1.0), t(3.0)), S.uniform(1, 2)),
    "VonMises": (D.VonMises(t(0.5), t(2.0)), S.vonmises(2, loc=0.5)),
    "Weibull": (D.Weibull(t(2.0), t(1.5)), S.weibull_min(1.5, scale=2)),
}
CIRCULAR = {"VonMises"}


@pytest.mark.parametrize("name", KNOWN)
def test_a_distribution_agrees_with_scipys(name: str) -> None:
    ours, theirs = KNOWN[name]
    x = theirs.ppf([0.01, 0.3, 0.6, 0.99])
    log_prob = theirs.logpmf if ours.support.is_discrete else theirs.logpdf
    np.testing.assert_allclose(ours.log_prob(t(x)), log_prob(x), rtol=1e-10)
    if name not in CIRCULAR:
        np.testing.assert_allclose(ours.mean, theirs.mean() if "Cauchy" not in name else ours.mean, rtol=1e-10)
        np.testing.assert_allclose(ours.variance, theirs.var() if "Cauchy" not in name else math.inf, rtol=1e-10)
    for question, answer in (("cdf", theirs.cdf(x)), ("entropy", theirs.entropy())):
        try:
            mine = ours.cdf(t(x)) if question == "cdf" else ours.entropy()
        except NotImplementedError:
            continue
        np.testing.assert_allclose(mine, answer, rtol=1e-9)
    try:
        np.testing.assert_allclose(ours.icdf(t([0.01, 0.3, 0.99])), theirs.ppf([0.01, 0.3, 0.99]), rtol=1e-9)
    except NotImplementedError:
        pass


@pytest.mark.parametrize("name", KNOWN)
def test_samples_are_distributed_as_scipy_says(name: str) -> None:
    ours, theirs = KNOWN[name]
    dt.manual_seed(3)
    x = ours.sample((4000,)).numpy()
    assert np.all(ours.support.check(t(x)).numpy())
    if ours.support.is_discrete:
        values = np.arange(x.max() + 1)
        expected = theirs.pmf(values) * len(x)
        often = expected > 5
        counts = np.bincount(x.astype(int), minlength=len(values))[often]
        statistic = float(((counts - expected[often]) ** 2 / expected[often]).sum())
        assert S.chi2(often.sum()).sf(statistic) > 1e-4
    else:
        cdf = theirs.cdf if name not in CIRCULAR else lambda x: theirs.cdf(x) - theirs.cdf(-math.pi)
        assert S.kstest(x, cdf).pvalue > 1e-4


def correlation(x: dt.Tensor) -> dt.Tensor:
    return x @ x.mT


MANY = {
    "Categorical": (D.Categorical(t([[1.0, 3.0], [1.0, 1.0]])), lambda x: x, t([0.75, 0.5])),
    "OneHotCategorical": (D.OneHotCategorical(t([1.0, 3.0])), lambda x: x, t([0.25, 0.75])),
    "Multinomial": (D.Multinomial(6, t([1.0, 3.0, 2.0])), lambda x: x, t([1.0, 3.0, 2.0])),
    "Dirichlet": (D.Dirichlet(t([0.02, 0.06, 2.0])), lambda x: x, t([0.02, 0.06, 2.0]) / 2.08),
    "MultivariateNormal": (
        D.MultivariateNormal(t([1.0, -1.0]), t([[2.0, 0.5], [0.5, 1.0]])),
        lambda x: (x - t([1.0, -1.0])).unsqueeze(-1) @ (x - t([1.0, -1.0])).unsqueeze(-2),
        t([[2.0, 0.5], [0.5, 1.0]]),
    ),
    "LowRankMultivariateNormal": (
        D.LowRankMultivariateNormal(t([0.0, 0.0]), t([[1.0], [2.0]]), t([1.0, 0.5])),
        lambda x: x.unsqueeze(-1) @ x.unsqueeze(-2),
        t([[2.0, 2.0], [2.0, 4.5]]),
    ),
    "Wishart": (D.Wishart(t(5.0), t([[2.0, 0.5], [0.5, 1.0]])), lambda x: x, 5 * t([[2.0, 0.5], [0.5, 1.0]])),
    "LKJCholesky": (
        D.LKJCholesky(3, t(2.0)),
        lambda x: correlation(x) ** 2,
        t([[1.0, 1 / 6, 1 / 6], [1 / 6, 1.0, 1 / 6], [1 / 6, 1 / 6, 1.0]]),
    ),
    "MixtureSameFamily": (
        D.MixtureSameFamily(D.Categorical(t([1.0, 3.0])), D.Normal(t([0.0, 4.0]), 1.0)),
        lambda x: x,
        t(3.0),
    ),
    "ContinuousBernoulli": (D.ContinuousBernoulli(t([0.2, 0.5, 0.9])), lambda x: x, None),
    "Kumaraswamy": (D.Kumaraswamy(t([0.5, 3.0]), t([2.0, 1.5])), lambda x: x, None),
    "RelaxedBernoulli": (D.RelaxedBernoulli(t(0.5), t(0.3)), lambda x: (x > 0.5).double(), t(0.3)),
    "RelaxedOneHotCategorical": (
        D.RelaxedOneHotCategorical(t(0.5), t([1.0, 3.0])),
        lambda x: (x > 0.5).double(),
        t([0.25, 0.75]),
    ),
    "LogisticNormal": (
        D.LogisticNormal(t([0.0, 0.0]), t([1.0, 1.0])),
        lambda x: D.StickBreakingTransform().inv(x),
        t([0.0, 0.0]),
    ),
}


@pytest.mark.parametrize("name", MANY)
def test_means_over_samples_are_what_they_should_be(name: str) -> None:
    distribution, f, expected = MANY[name]
    dt.manual_seed(4)
    x = distribution.sample((20000,))
    assert bool(distribution.support.check(x).all())
    values = f(x).double()
    error = 5 * values.std(0) / len(values) ** 0.5 + 1e-9
    assert bool(((values.mean(0) - (distribution.mean if expected is None else expected)).abs() < error).all())


DIFFERENTIABLE = [name for name in CASES if name not in ("Categorical", "Independent of none")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_log_probs_are_those_of_differences(name: str) -> None:
    """With respect to every parameter, inside of the support."""
    made, values, _ = CASES[name]
    leaves: list[dt.Tensor] = []

    def collect(x):
        y = t(x)
        if y.is_floating_point() and np.asarray(x).dtype.kind == "f":
            leaves.append(y.requires_grad_())
        return y

    scope = {"D": D, "torch": dt, "nan": math.nan, "T": collect}
    built = eval(made, scope)
    parameters = list(leaves)
    if not parameters:
        pytest.skip("it has no differentiable parameters")
    # away from parameters and values that have no neighbours on one side
    if name in (
        "Bernoulli",
        "Binomial",
        "Geometric",
        "ContinuousBernoulli",
        "Multinomial",
        "OneHotCategorical",
        "Poisson",
        "NegativeBinomial",
    ):
        parameters = [(0.1 + 0.8 * p.detach()).requires_grad_() for p in parameters]
    dt.manual_seed(7)
    value = t(0.4) if name.startswith("ContinuousBernoulli") else built.sample()

    def log_prob(*given: dt.Tensor) -> dt.Tensor:
        pending = iter(given)

        def parameter(x):
            y = next(pending) if np.asarray(x).dtype.kind == "f" else t(x)
            symmetric = (
                "scale" not in name
                and y.dim() >= 2
                and y.shape[-1] == y.shape[-2]
                and "Normal" in name
                or name == "Wishart"
                and y.dim() == 2
            )
            return (y + y.mT) / 2 if symmetric and "LowRank" not in name and "Logistic" not in name else y

        unchecked = made if "Independent" in made else f"{made[:-1]}, validate_args=False)"
        return eval(unchecked, {**scope, "T": parameter}).log_prob(value)

    assert dt.autograd.gradcheck(log_prob, parameters, atol=1e-4)


QUANTILES = {
    "Gamma": (lambda a, b: D.Gamma(a, b), lambda x, a, b: S.gamma(a, scale=1 / b).cdf(x), (0.3, 2.0)),
    "Gamma of a large concentration": (
        lambda a, b: D.Gamma(a, b),
        lambda x, a, b: S.gamma(a, scale=1 / b).cdf(x),
        (3000.0, 2.0),
    ),
    "Chi2": (lambda a: D.Chi2(a), lambda x, a: S.chi2(a).cdf(x), (3.0,)),
    "InverseGamma": (lambda a, b: D.InverseGamma(a, b), lambda x, a, b: S.invgamma(a, scale=b).cdf(x), (3.0, 2.0)),
    "Beta": (lambda a, b: D.Beta(a, b), lambda x, a, b: S.beta(a, b).cdf(x), (0.6, 2.0)),
    "Normal": (lambda a, b: D.Normal(a, b), lambda x, a, b: S.norm(a, b).cdf(x), (0.6, 2.0)),
    "Exponential": (lambda a: D.Exponential(a), lambda x, a: S.expon(scale=1 / a).cdf(x), (0.6,)),
    "Laplace": (lambda a, b: D.Laplace(a, b), lambda x, a, b: S.laplace(a, b).cdf(x), (0.6, 2.0)),
    "Cauchy": (lambda a, b: D.Cauchy(a, b), lambda x, a, b: S.cauchy(a, b).cdf(x), (0.6, 2.0)),
    "Uniform": (lambda a, b: D.Uniform(a, b), lambda x, a, b: S.uniform(a, b - a).cdf(x), (0.6, 2.0)),
    "LogNormal": (lambda a, b: D.LogNormal(a, b), lambda x, a, b: S.lognorm(b, scale=np.exp(a)).cdf(x), (0.6, 1.5)),
    "Gumbel": (lambda a, b: D.Gumbel(a, b), lambda x, a, b: S.gumbel_r(a, b).cdf(x), (0.6, 1.5)),
    "Weibull": (lambda a, b: D.Weibull(a, b), lambda x, a, b: S.weibull_min(b, scale=a).cdf(x), (0.6, 1.5)),
    "Pareto": (lambda a, b: D.Pareto(a, b), lambda x, a, b: S.pareto(b, scale=a).cdf(x), (0.6, 1.5)),
    "HalfNormal": (lambda a: D.HalfNormal(a), lambda x, a: S.halfnorm(scale=a).cdf(x), (0.6,)),
    "GeneralizedPareto": (
        lambda a, b, c: D.GeneralizedPareto(a, b, c),
        lambda x, a, b, c: S.genpareto(c, a, b).cdf(x),
        (0.6, 1.5, 0.3),
    ),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_samples_move_with_each_parameter_along_their_quantiles(name: str) -> None:
    """d sample / d parameter is -(dF / d parameter) / (dF / dx), of distributions of one number."""
    build, cdf, arguments = QUANTILES[name]
    dt.manual_seed(5)
    leaves = [t(np.full(20, a)).requires_grad_() for a in arguments]
    x = build(*leaves).rsample()
    slopes = dt.autograd.grad(x.sum(), leaves, materialize_grads=True)
    x = x.detach().numpy()
    step = 1e-5
    density = (cdf(x * (1 + step), *arguments) - cdf(x * (1 - step), *arguments)) / (2 * step * x)
    for i, slope in enumerate(slopes):
        up, down = ([*arguments[:i], arguments[i] * (1 + side * step), *arguments[i + 1 :]] for side in (1, -1))
        expected = -(cdf(x, *up) - cdf(x, *down)) / (2 * step * arguments[i]) / density
        np.testing.assert_allclose(slope, expected, rtol=1e-3, atol=1e-5)


MEANS = {
    "StudentT": (
        lambda a: D.StudentT(a, 0.0, 1.0),
        lambda x: x.abs(),
        lambda a: 2 * a**0.5 * ((a + 1) / 2).lgamma().exp() / ((a - 1) * (a / 2).lgamma().exp() * math.pi**0.5),
        6.0,
    ),
    "FisherSnedecor": (lambda a: D.FisherSnedecor(t(4.0), a), lambda x: x, lambda a: a / (a - 2), 12.0),
    "Dirichlet": (
        lambda a: D.Dirichlet(dt.stack([a, dt.ones_like(a), 2 * dt.ones_like(a)], -1)),
        lambda x: x[..., 0] ** 2,
        lambda a: a * (a + 1) / ((a + 3) * (a + 4)),
        1.5,
    ),
    "Wishart": (lambda a: D.Wishart(a, t([[2.0, 0.5], [0.5, 1.0]])), lambda x: x[..., 0, 0], lambda a: 2 * a, 5.0),
    "MultivariateNormal": (
        lambda a: D.MultivariateNormal(a.unsqueeze(-1) * t([1.0, 1.0]), t([[2.0, 0.5], [0.5, 1.0]])),
        lambda x: x[..., 0] ** 2,
        lambda a: a**2 + 2,
        1.5,
    ),
    "LowRankMultivariateNormal": (
        lambda a: D.LowRankMultivariateNormal(t([0.0, 0.0]), a.reshape(-1, 1, 1) * t([[1.0], [1.0]]), t([1.0, 1.0])),
        lambda x: x[..., 0] ** 2,
        lambda a: a**2 + 1,
        1.5,
    ),
    "Kumaraswamy": (lambda a: D.Kumaraswamy(a, t(2.0)), lambda x: x, lambda a: D.Kumaraswamy(a, t(2.0)).mean, 1.5),
    "ContinuousBernoulli": (
        lambda a: D.ContinuousBernoulli(a),
        lambda x: x,
        lambda a: D.ContinuousBernoulli(a).mean,
        0.3,
    ),
}


@pytest.mark.parametrize("name", MEANS)
def test_gradients_of_means_over_samples_are_those_of_the_means(name: str) -> None:
    build, f, mean, value = MEANS[name]
    dt.manual_seed(6)
    a = t(np.full(20000, value)).requires_grad_()
    (slopes,) = dt.autograd.grad(f(build(a).rsample()).sum(), a)
    one = t(value).requires_grad_()
    (expected,) = dt.autograd.grad(mean(one), one)
    assert abs(float(slopes.mean() - expected)) < 5 * float(slopes.std()) / len(slopes) ** 0.5


@pytest.mark.parametrize("name", [name for name in CASES if "of none" not in name])
def test_a_distribution_can_be_copied_and_pickled(name: str) -> None:
    scope = {"D": D, "torch": dt, "nan": math.nan, "T": lambda x: dt.tensor(x)}
    made, values = eval(CASES[name][0], scope), eval(CASES[name][1], scope)
    expected = made.log_prob(values)
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert repr(copied) == repr(made) and copied._validate_args == made._validate_args
        dt.testing.assert_close(copied.log_prob(values), expected, equal_nan=True)


def test_the_mode_of_kumaraswamys_distribution_is_where_its_density_is_largest() -> None:
    d = D.Kumaraswamy(t(3.0), t(2.5))
    x = dt.linspace(0.01, 0.99, 9801, dtype=F)
    assert abs(float(x[d.log_prob(x).argmax()] - d.mode)) < 1e-4


def test_where_no_check_is_asked_for_none_is_made() -> None:
    assert bool(D.Normal(0.0, -1.0, validate_args=False).scale < 0)
    try:
        D.Distribution.set_default_validate_args(False)
        D.Normal(0.0, -1.0)
        with pytest.raises(ValueError, match="parameter scale .* has to satisfy the constraint"):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="takes True or False"):
        D.Distribution.set_default_validate_args(3)


@needs_torch
@pytest.mark.parametrize(
    "program",
    programs("""
    D.Normal(0.0, -1.0)
    D.Normal(torch.zeros(2), torch.tensor([1.0, -1.0]))
    D.Normal(torch.zeros(2), torch.zeros(3))
    D.Normal("a", 1.0)
    D.Bernoulli()
    D.Bernoulli(0.1, 0.2)
    D.Bernoulli(1.5)
    D.Bernoulli(logits=nan)
    D.Categorical(torch.tensor(1.0))
    D.Categorical(torch.tensor([-1.0, 2.0]))
    D.Categorical(torch.ones(2), torch.ones(2))
    D.Dirichlet(torch.tensor(1.0))
    D.Geometric(0.0)
    D.Independent(D.Normal(torch.zeros(2), 1.0), 2)
    D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(torch.zeros(2), 1.0))
    D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(torch.zeros(2), 1.0))
    D.MixtureSameFamily(D.Categorical(torch.ones(2)), 3)
    D.MixtureSameFamily(D.Categorical(torch.ones(3, 2)), D.Normal(torch.zeros(4, 2), 1.0))
    D.Multinomial(torch.tensor(3.0), torch.ones(2))
    D.MultivariateNormal(torch.zeros(2))
    D.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2))
    D.MultivariateNormal(torch.tensor(0.0), torch.eye(2))
    D.MultivariateNormal(torch.zeros(2), torch.ones(2))
    D.MultivariateNormal(torch.zeros(2), -torch.eye(2))
    D.LowRankMultivariateNormal(torch.zeros(3), torch.ones(2, 1), torch.ones(3))
    D.LowRankMultivariateNormal(torch.zeros(3), torch.ones(3, 1), torch.ones(2))
    D.LowRankMultivariateNormal(torch.zeros(2, 3), torch.ones(4, 3, 1), torch.ones(3))
    D.LKJCholesky(1, 1.0)
    D.Uniform(1.0, 0.0)
    D.Wishart(torch.tensor(0.5), torch.eye(2))
    D.Binomial(torch.tensor([2.0, 3.0]), torch.tensor(0.5)).enumerate_support()
    D.Binomial(torch.tensor([2.0, 3.0]), torch.tensor(0.5)).entropy()
    D.Binomial(-1, torch.tensor(0.5))
    D.Independent(D.Bernoulli(torch.ones(2)), 1).enumerate_support()
    D.Normal(0.0, 1.0).enumerate_support()
    D.Normal(0.0, 1.0).sample(3)
    D.Normal(0.0, 1.0).sample_n(2).shape
    D.Normal(0.0, 1.0).expand((2,)).expand((3, 2)).loc
    D.Normal(torch.zeros(2), 1.0).expand((3,))
    D.Poisson(2.0).entropy()
    D.VonMises(torch.tensor(1.0), torch.tensor(1.0)).entropy()
    repr(D.Distribution())
    [D.Distribution.has_rsample, D.Distribution(validate_args=False).batch_shape, D.Distribution(validate_args=False)._extended_shape((2, 3))]
    D.Distribution(validate_args=False).sample()
    D.Distribution(validate_args=False).mean
    D.Distribution(validate_args=False).expand((2,))
    D.Distribution(validate_args=False).support
    D.Normal(torch.tensor(2), torch.tensor(1)).log_prob(torch.tensor(1))
    D.Normal(0.0, 1.0, validate_args=False).log_prob(1.0)
    D.Gamma(1, 1).rsample((2,)).dtype
    D.Bernoulli(0.3).sample((2,)).dtype
    d = D.Bernoulli(torch.tensor(0.3)); d.logits; [sorted(k for k in vars(d) if k in ("probs", "logits")), repr(d)]
    type("Mine", (D.Normal,), {"__init__": lambda self: D.Normal.__init__(self, 0.0, 1.0)})().expand((2,))
    type("Mine", (D.Normal,), {})(0.0, 1.0).expand((2,)).loc
    D.OneHotCategorical(torch.ones(3)).enumerate_support(False).shape
    x = torch.tensor([0.2, 0.8], requires_grad=True); D.OneHotCategoricalStraightThrough(x).rsample().sum().backward(); x.grad
    x = torch.tensor(0.3, requires_grad=True); D.Bernoulli(x).entropy().backward(); x.grad
    x = torch.tensor(0.3, requires_grad=True); [D.Normal(x, 1.0).rsample().requires_grad, D.Normal(x, 1.0).sample().requires_grad, D.Gamma(x, 1.0).rsample().requires_grad]
    [D.normal.Normal is D.Normal, D.studentT.StudentT is D.StudentT, D.exp_family.ExponentialFamily is D.ExponentialFamily, D.relaxed_bernoulli.LogitRelaxedBernoulli.__name__]
    """),
)
def test_edges_and_refusals_are_pytorchs(program: str) -> None:
    same(f"D = torch.distributions\n{program}")


@needs_torch
def test_every_module_of_pytorchs_is_here() -> None:
    import importlib
    import pkgutil

    import torch

    for module in pkgutil.iter_modules(torch.distributions.__path__):
        theirs = importlib.import_module(f"torch.distributions.{module.name}")
        ours = importlib.import_module(f"dualtape.distributions.{module.name}")
        assert not [name for name in theirs.__all__ if not hasattr(ours, name)], module.name


@needs_torch
def test_every_signature_is_pytorchs() -> None:
    import inspect

    import torch

    for name in D.__all__:
        ours, theirs = getattr(D, name), getattr(torch.distributions, name)
        if not inspect.isclass(theirs):
            continue
        for method, function in inspect.getmembers(theirs, inspect.isfunction):
            if method in (
                "__init__",
                "expand",
                "sample",
                "rsample",
                "log_prob",
                "cdf",
                "icdf",
                "enumerate_support",
                "with_cache",
                "log_abs_det_jacobian",
                "forward_shape",
            ):
                mine, other = (inspect.signature(f).parameters for f in (getattr(ours, method), function))
                other = {key: p for key, p in other.items() if key != "intermediates"}  # which PyTorch ignores
                assert list(mine) == list(other), f"{name}.{method}"
                assert [p.default is p.empty for p in mine.values()] == [p.default is p.empty for p in other.values()]


def test_distributions_are_batched_by_vmap_and_differentiated_by_transforms() -> None:
    loc, scale, x = dt.tensor([0.0, 1.0]), dt.tensor([1.0, 2.0]), dt.tensor([0.3, 0.4])
    batched = dt.vmap(lambda m, s, x: D.Normal(m, s).log_prob(x))(loc, scale, x)
    dt.testing.assert_close(batched, D.Normal(loc, scale).log_prob(x))
    with pytest.raises(ValueError, match="has to satisfy the constraint"):
        dt.vmap(lambda m, s: D.Normal(m, s).mean)(loc, -scale)
    slope = dt.func.grad(lambda m: D.Normal(m, 1.0).log_prob(dt.tensor(2.0)))(dt.tensor(0.5))
    dt.testing.assert_close(slope, dt.tensor(1.5))


def test_the_programs_of_the_documentation_do_what_they_show() -> None:
    page = Path(__file__).parents[2] / "docs" / "distributions.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_nothing_is_drawn_where_nothing_is_asked_for() -> None:
    for d in (
        D.Categorical(dt.ones(2, 3)),
        D.OneHotCategorical(dt.ones(2, 3)),
        D.Multinomial(4, dt.ones(2, 3)),
        D.Wishart(3.0, dt.eye(2)),
        D.Normal(dt.zeros(2), 1.0),
    ):
        assert d.sample((0,)).shape == (0, *d.batch_shape, *d.event_shape)


def test_probabilities_beyond_one_are_refused_before_they_are_clamped() -> None:
    with pytest.raises(ValueError, match="probs has to be between 0 and 1"):
        D.ContinuousBernoulli(1.5)
    assert 0.99 < float(D.ContinuousBernoulli(1.5, validate_args=False).probs) < 1


# --- edges of parameters and values: against PyTorch ------------------------------------------------

_POSITIVE = [0.0, 1e-30, 1e-8, 0.5, 1.0, 1.5, 2.0, 3.0, 1e3, 1e30, math.inf]
_REAL = [-math.inf, -1e3, -1.0, 0.0, 1e-8, 0.5, 1.0, 88.0, 1e3, math.inf]
_UNIT = [0.0, 1e-30, 1e-8, 0.3, 0.4995, 0.5, 0.5005, 1 - 1e-7, 1.0]
_EDGES: dict[str, list[tuple[str, list[float]]]] = {
    "Bernoulli": [("probs", _UNIT), ("logits", _REAL)],
    "Beta": [("concentration1,concentration0", _POSITIVE)],
    "Cauchy": [("loc,scale", _REAL)],
    "ContinuousBernoulli": [("probs", _UNIT), ("logits", [*_REAL, 1e-3, -1e-3, 20.0])],
    "Exponential": [("rate", _POSITIVE)],
    "Gamma": [("concentration,rate", _POSITIVE[1:-2])],
    "GeneralizedPareto": [("loc,scale,concentration", [-1.0, -0.5, 0.0, 0.3, 0.5, 1.0, 2.0])],
    "Geometric": [("probs", _UNIT[1:]), ("logits", _REAL)],
    "Gumbel": [("loc,scale", _REAL)],
    "HalfCauchy": [("scale", _POSITIVE)],
    "HalfNormal": [("scale", _POSITIVE)],
    "InverseGamma": [("concentration,rate", _POSITIVE[1:-2])],
    "Kumaraswamy": [("concentration1,concentration0", [0.3, 0.5, 1.0, 1.5, 2.0, 3.0])],
    "Laplace": [("loc,scale", [0.0, 0.5, 1.0, 88.0, math.inf])],
    "LogNormal": [("loc,scale", _REAL)],
    "NegativeBinomial": [("total_count,probs", [0.0, 0.3, 0.5, 1.0])],
    "Normal": [("loc,scale", _REAL)],
    "Pareto": [("scale,alpha", _POSITIVE[3:])],
    "Poisson": [("rate", _POSITIVE)],
    "StudentT": [("df", _POSITIVE[3:])],
    "Uniform": [("low,high", _REAL)],
    "Weibull": [("scale,concentration", _POSITIVE[3:])],
}
_AT = [0.0, 1e-8, 0.3, 0.5, 1.0, 1 - 1e-7, 2.0, 100.0, -1.0, math.inf]


@pytest.mark.parametrize("name", _EDGES)
def test_at_the_edges_nothing_is_nan_that_pytorch_knows(name: str) -> None:
    torch = pytest.importorskip("torch")
    missing = []
    for parameters, grid in _EDGES[name]:
        names = parameters.split(",")
        points = list(itertools.product(grid, repeat=len(names)))
        points = [points[k] for k in np.random.default_rng(0).permutation(len(points))[:40]]
        for what in ("mean", "variance", "mode", "entropy", "log_prob", "cdf", "icdf"):
            for value in _AT if what in ("log_prob", "cdf", "icdf") else [None]:
                if what == "icdf" and not 0 <= value <= 1:
                    continue
                found = [_at_edges(m, name, names, points, what, value) for m in (dt, torch)]
                if found[1] is None:
                    continue
                assert found[0] is not None, (name, what, value)
                for part, (ours, theirs) in enumerate(zip(*found, strict=True)):
                    ours, theirs = np.broadcast_arrays(ours, theirs)
                    missing += [
                        (what, value, part, points[k % len(points)])
                        for k in np.flatnonzero(np.isnan(ours) & ~np.isnan(theirs))
                    ]
                if what != "log_prob":
                    np.testing.assert_array_equal(np.isinf(found[0][0]), np.isinf(found[1][0]), (name, what, value))
    assert not missing, missing[:10]


def _at_edges(m: Any, name: str, names: list, points: list, what: str, value: float | None) -> list | None:
    """The value of a property or method, and its gradients to the parameters; None where it is not there."""
    given = [m.tensor(column, dtype=m.float64, requires_grad=True) for column in zip(*points, strict=True)]
    try:
        found = getattr(
            getattr(m.distributions, name)(validate_args=False, **dict(zip(names, given, strict=True))), what
        )
        result = found() if what == "entropy" else found if value is None else found(m.tensor(value, dtype=m.float64))
        if not result.requires_grad:
            return [result.numpy()]
        gradients = m.autograd.grad(result.sum(), given, allow_unused=True)
    except (NotImplementedError, ValueError, RuntimeError):
        return None
    return [result.detach().numpy(), *(np.zeros(1) if g is None else g.numpy() for g in gradients)]


def test_continuous_bernoulli_with_large_logits() -> None:
    torch = pytest.importorskip("torch")
    results = []
    for m in (dt, torch):
        d = m.distributions.ContinuousBernoulli(logits=m.tensor([1e3, -1e3, 0.0, 20.0, 100.0]))
        half = m.tensor(0.3)
        results.append([d.mean, d.variance, d.entropy(), d.log_prob(half), d.icdf(half), d.cdf(half)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)


def test_generalized_pareto_at_its_end_has_finite_gradients() -> None:
    concentration = dt.tensor([-0.5, -1.0, 0.0, 0.5], dtype=dt.float64, requires_grad=True)
    end = dt.distributions.GeneralizedPareto(0.0, 1.0, concentration).icdf(dt.tensor(1.0, dtype=dt.float64))
    assert end.tolist() == [2.0, 1.0, math.inf, math.inf]
    (slope,) = dt.autograd.grad(end.sum(), concentration)
    assert slope.tolist() == [4.0, 1.0, 0.0, 0.0]  # of -1 / concentration, which is where the support ends


def test_a_family_written_for_pytorch_has_its_entropy_and_divergence_from_its_log_normaliser() -> None:
    class Coin(D.ExponentialFamily):
        _mean_carrier_measure = 0

        def __init__(self, logit) -> None:
            self.logit = dt.tensor(logit)
            super().__init__(validate_args=False)

        @property
        def _natural_params(self):
            return (self.logit,)

        def _log_normalizer(self, x):
            return dt.nn.functional.softplus(x)

    p, q = (D.Bernoulli(logits=dt.tensor(x)) for x in (0.3, -1.0))
    dt.testing.assert_close(Coin(0.3).entropy(), p.entropy())
    dt.testing.assert_close(D.kl_divergence(Coin(0.3), Coin(-1.0)), D.kl_divergence(p, q))


def test_a_subclass_with_another_constructor_says_that_it_needs_its_own_expand() -> None:
    class Shifted(D.Normal):
        def __init__(self, by) -> None:
            super().__init__(by, 1.0)

    with pytest.raises(NotImplementedError, match="expand of its own"):
        Shifted(2.0).expand((3,))
