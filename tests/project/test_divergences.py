"""Divergences: every pair of families beside PyTorch's and beside sums over samples; which entry two classes get."""

from __future__ import annotations

import pytest

import dualtape as dt
from same_program import needs_torch, programs, same, torch

D = dt.distributions
K = D.kl._KL_REGISTRY
OURS = {(p.__name__, q.__name__) for p, q in K if p.__module__.startswith("dualtape.")}  # others may have added theirs

# of each family two that cover each other, and one (or none) that reaches beyond
MADE = {
    "Bernoulli": ["T([0.0, 0.3, 1.0])", "T([0.2, 0.6, 0.9])", "T([0.0, 1.0, 0.5])"],
    "Beta": ["T([0.5, 2.0]), T([3.0, 1.0])", "T([2.0, 0.7]), T([1.0, 2.0])"],
    "Binomial": ["5, T([0.0, 0.3, 0.9])", "5, T([0.2, 0.6, 0.9])", "3, T(0.5)"],
    "Categorical": ["T([[0.0, 1.0, 2.0]])", "T([1.0, 1.0, 1.0])", "T([1.0, 0.0, 1.0])"],
    "Cauchy": ["T([0.0, 1.0]), T([1.0, 2.0])", "T([2.0, -1.0]), T([0.5, 2.0])"],
    "ContinuousBernoulli": ["T([0.2, 0.5])", "T([0.7, 0.499])"],
    "Dirichlet": ["T([[0.5, 2.0, 1.0]])", "T([1.0, 1.0, 3.0])"],
    "Exponential": ["T([0.5, 2.0])", "T([1.0, 3.0])"],
    "Gamma": ["T([0.5, 2.0]), T([1.0, 3.0])", "T([2.0, 0.7]), T([1.0, 2.0])"],
    "Geometric": ["T([0.2, 0.9])", "T([0.5, 0.6])"],
    "Gumbel": ["T([0.0, 1.0]), T([1.0, 2.0])", "T([2.0, -1.0]), T([0.5, 2.0])"],
    "HalfNormal": ["T([0.5, 2.0])", "T([1.0, 3.0])"],
    "Laplace": ["T([0.0, 1.0]), T([1.0, 2.0])", "T([2.0, -1.0]), T([0.5, 2.0])"],
    "LowRankMultivariateNormal": [
        "T([0.0, 1.0, 2.0]), T([[1.0], [0.5], [2.0]]), T([1.0, 2.0, 0.5])",
        "T([[1.0, 1.0, 1.0]]), T([[1.0, 0.2], [0.5, 0.3], [2.0, 1.0]]), T([1.0, 1.0, 0.5])",
    ],
    "MultivariateNormal": [
        "T([0.0, 1.0, 2.0]), T([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 1.5]])",
        "T([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), T([[1.0, 0.0, 0.3], [0.0, 1.0, 0.1], [0.3, 0.1, 2.0]])",
    ],
    "Normal": ["T([0.0, 1.0]), T([1.0, 2.0])", "T([2.0, -1.0]), T([0.5, 2.0])"],
    "OneHotCategorical": ["T([[0.0, 1.0, 2.0]])", "T([1.0, 1.0, 1.0])"],
    "Pareto": ["T([1.0, 2.0]), T([5.5, 6.0])", "T([0.5, 1.0]), T([1.0, 2.0])", "T([3.0, 3.0]), T([0.5, 1.5])"],
    "Poisson": ["T([0.5, 2.0, 1.0])", "T([1.0, 3.0, 2.0])"],
    "Uniform": [
        "T([0.2, 0.6]), T([0.5, 0.9])",
        "T([0.0, 0.1]), T([1.0, 0.95])",
        "T([-1.0, -2.0]), T([3.0, 2.0])",
        "T([1.5, 2.5]), T([3.0, 3.5])",
    ],
    "Wishart": ["T(4.0), T([[2.0, 0.5], [0.5, 1.0]])", "T(3.0), T([[1.0, 0.1], [0.1, 1.0]])"],
}
HEAD = "D = torch.distributions\ndef T(x): return torch.tensor(x, dtype=torch.float64)\n"
PAIRS = sorted(OURS & {(p, q) for p in MADE for q in MADE})


def test_every_pair_of_the_table_is_tried() -> None:
    rest = OURS - set(PAIRS)
    assert rest == {(n, n) for n in ("ExponentialFamily", "Independent", "TransformedDistribution")}


@needs_torch
def test_the_table_has_pytorchs_pairs() -> None:
    theirs = {(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}
    assert OURS == theirs


# PyTorch has infinity where both end at the same place
SAME_ENDS = {("ContinuousBernoulli", "Uniform"), ("Uniform", "ContinuousBernoulli")}


@needs_torch
@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergences_are_pytorchs(p: str, q: str) -> None:
    for mine in MADE[p]:
        for other in MADE[q]:
            if (p, q) in SAME_ENDS and MADE["Uniform"][1] in (mine, other):
                continue
            same(HEAD + f"D.kl_divergence(D.{p}({mine}), D.{q}({other}))", 1e-8)


@pytest.mark.parametrize(("p", "q"), [*PAIRS, ("Wishart", "Wishart")])
def test_a_divergence_is_the_mean_of_the_difference_of_log_probs(p: str, q: str) -> None:
    scope = {"T": lambda x: dt.tensor(x, dtype=dt.float64)}
    mine, other = (eval(f"({MADE[name][i]},)", scope) for i, name in enumerate((p, q)))
    mine, other = getattr(D, p)(*mine), getattr(D, q)(*other, validate_args=False)
    kl = D.kl_divergence(mine, other)
    mine = mine.expand(kl.shape)
    if not bool(kl.isfinite().all()):
        pytest.skip("the divergence is infinite")
    dt.manual_seed(0)
    if mine.has_enumerate_support:
        x = mine.enumerate_support()
        log_p = mine.log_prob(x)
        terms = log_p.exp() * (log_p - other.log_prob(x))
        dt.testing.assert_close(terms.nan_to_num(0).sum(0).expand(kl.shape), kl, rtol=1e-5, atol=1e-5)
    else:
        x = mine.sample((20000,))
        terms = mine.log_prob(x) - other.log_prob(x)
        error = 6 * terms.std(0) / len(x) ** 0.5 + 1e-9
        assert bool(((terms.mean(0) - kl).abs() < error).all())


@needs_torch
@pytest.mark.parametrize(
    "program",
    programs("""
    D.kl_divergence(D.Independent(D.Normal(torch.zeros(2, 3), 1.0), 1), D.Independent(D.Normal(torch.ones(3), 1.0), 1))
    D.kl_divergence(D.Independent(D.Normal(torch.zeros(2, 3), 1.0), 1), D.Independent(D.Normal(torch.ones(2, 3), 1.0), 2))
    D.kl_divergence(D.LogNormal(0.0, 1.0), D.LogNormal(1.0, 2.0))
    D.kl_divergence(D.HalfCauchy(1.0), D.HalfCauchy(2.0))
    D.kl_divergence(D.LogNormal(0.0, 1.0), D.HalfNormal(1.0))
    D.kl_divergence(D.Weibull(1.0, 2.0), D.Weibull(2.0, 2.0))
    D.kl_divergence(D.Chi2(3.0), D.Gamma(2.0, 1.0))
    D.kl_divergence(D.Normal(0.0, 1.0), D.StudentT(3.0))
    D.kl_divergence(D.Bernoulli(0.3), D.Normal(0.0, 1.0))
    D.kl_divergence(D.MultivariateNormal(torch.zeros(2), torch.eye(2)), D.MultivariateNormal(torch.zeros(3), torch.eye(3)))
    D.kl_divergence(D.Binomial(3, torch.tensor(0.5)), D.Binomial(5, torch.tensor(0.5)))
    D.kl_divergence(D.Wishart(3.0, torch.eye(2)), D.Wishart(4.0, torch.eye(2))).detach()
    D.register_kl(3, D.Normal)
    D.kl_divergence(D.RelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5)), D.RelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5)))
    """),
)
def test_pairs_that_are_made_of_others_or_refused_are_so_as_in_pytorch(program: str) -> None:
    same(f"D = torch.distributions\n{program}")


def test_what_is_no_class_is_not_registered() -> None:
    for pair in ((D.Normal, 3), (3, D.Normal)):
        with pytest.raises(TypeError, match="to be isinstance of type or subclass"):
            D.register_kl(*pair)


def test_the_entry_for_the_nearest_ancestors_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(D.kl.registry, "_KL_REGISTRY", dict(K))
    monkeypatch.setattr(D.kl.registry, "_KL_MEMOIZE", {})
    base = type("Base", (D.Normal,), {})
    left = type("Left", (base,), {})
    right = type("Right", (base,), {})
    p, q = left(0.0, 1.0), right(2.0, 1.0)
    assert D.kl_divergence(p, q) == 2
    D.register_kl(base, base)(lambda p, q: "both")
    assert D.kl_divergence(p, q) == "both"
    D.register_kl(left, base)(lambda p, q: "left")
    assert D.kl_divergence(p, q) == "left" and D.kl_divergence(q, p) == "both"
    D.register_kl(base, right)(lambda p, q: "right")
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence of Left and Right.*register_kl\(Left, Right\)"):
        assert D.kl_divergence(p, q) == "left"
    D.register_kl(left, right)(lambda p, q: "these")
    assert D.kl_divergence(p, q) == "these"


@pytest.mark.parametrize(
    ("family", "arguments"),
    [
        (D.Dirichlet, (dt.tensor([1.5, 2.0, 0.7], dtype=dt.float64),)),
        (D.Gamma, (dt.tensor(2.0, dtype=dt.float64), dt.tensor(1.5, dtype=dt.float64))),
        (D.Normal, (dt.tensor(0.5, dtype=dt.float64), dt.tensor(1.5, dtype=dt.float64))),
        (D.Exponential, (dt.tensor(0.7, dtype=dt.float64),)),
        (D.Poisson, (dt.tensor(0.7, dtype=dt.float64),)),
        (D.Bernoulli, (dt.tensor(0.7, dtype=dt.float64),)),
        (D.Beta, (dt.tensor(0.7, dtype=dt.float64), dt.tensor(1.7, dtype=dt.float64))),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_follows_from_a_log_normaliser_agrees_with_the_formulas_and_reaches_the_parameters(
    family, arguments
) -> None:
    q = family(*[1.3 * a if family is not D.Bernoulli else a * 0.5 for a in arguments])
    general, special = K[D.ExponentialFamily, D.ExponentialFamily], K[family, family]
    leaves = [a.clone().requires_grad_() for a in arguments]
    mine, exact = general(family(*leaves), q), special(family(*leaves), q)
    dt.testing.assert_close(mine, exact)
    dt.testing.assert_close(dt.autograd.grad(mine, leaves), dt.autograd.grad(exact, leaves))
    if family(*arguments)._dt_canonical().mean_carrier == 0:
        p = family(*leaves)
        mine, exact = D.ExponentialFamily.entropy(p), p.entropy()
        slopes = [dt.autograd.grad(e, leaves, materialize_grads=True) for e in (mine, exact)]
        dt.testing.assert_close(*slopes)
        assert not D.ExponentialFamily.entropy(q).requires_grad
