"""Divergences within a family."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from ..bernoulli import Bernoulli
from ..beta import Beta
from ..binomial import Binomial
from ..categorical import Categorical
from ..cauchy import Cauchy
from ..continuous_bernoulli import ContinuousBernoulli
from ..dirichlet import Dirichlet, log_multivariate_beta
from ..exp_family import ExponentialFamily, normalizer_slopes
from ..exponential import Exponential
from ..gamma import Gamma
from ..geometric import Geometric
from ..gumbel import Gumbel
from ..half_normal import HalfNormal
from ..independent import Independent
from ..laplace import Laplace
from ..lowrank_multivariate_normal import LowRankMultivariateNormal, low_rank_distance, low_rank_log_det
from ..multivariate_normal import MultivariateNormal, log_diagonal, squared_length
from ..normal import Normal
from ..one_hot_categorical import OneHotCategorical
from ..pareto import Pareto
from ..poisson import Poisson
from ..transformed_distribution import TransformedDistribution
from ..uniform import Uniform
from ..utils import _sum_rightmost, euler_constant, holds_everywhere, softplus
from .registry import kl_divergence, register_kl


def _where_possible(term: Any, p: Any, q: Any) -> Any:
    """Return the contribution of an outcome: zero if ``p`` is 0; infinity if only ``q`` is."""
    return term.masked_fill(q == 0, math.inf).masked_fill(p == 0, 0)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return _where_possible(one, p.probs, q.probs) + _where_possible(zero, 1 - p.probs, 1 - q.probs)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if not holds_everywhere(p.total_count >= q.total_count):
        raise NotImplementedError("kl_divergence of Binomials: not where q has the larger total_count")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + softplus(q.logits) - softplus(p.logits))
    return kl.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    return _where_possible(p.probs * (p.logits - q.logits), p.probs, q.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    normalizers = p._dt_log_norm() + (-p.probs).log1p() - q._dt_log_norm() - (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + normalizers


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    logs = a.digamma() - a.sum(-1, True).digamma()  # the means of log x
    return log_multivariate_beta(b) - log_multivariate_beta(a) + ((a - b) * logs).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError(
            f"kl_divergence is not known of {type(p).__name__} and {type(q).__name__}: register_kl() adds it"
        )
    of_p, of_q = p._dt_canonical(), q._dt_canonical()
    normalizer, slopes = normalizer_slopes(of_p)
    kl = of_q.log_normalizer(*of_q.parameters) - normalizer
    for mine, other, slope in zip(of_p.parameters, of_q.parameters, slopes, strict=True):
        term = (other - mine) * slope
        kl = kl - _sum_rightmost(term, term.dim() - kl.dim())
    return kl


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return shift - ratio.log() + ratio * euler_constant + ((1 + ratio).lgamma() - shift).exp() - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * (-distance / p.scale).exp() - ratio.log() - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio, shift = (p.scale / q.scale) ** 2, ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + shift - 1 - ratio.log())


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    _same_event(p, q)
    mine, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    log_ratio = log_diagonal(other) - log_diagonal(mine)
    return log_ratio + 0.5 * (_spread(other, mine) + squared_length(other, q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_and_low_rank(p: Any, q: Any) -> Any:
    _same_event(p, q)
    spread = _low_rank_spread(q, p._unbroadcasted_scale_tril)
    return _low_rank_kl(p, q, spread, 2 * log_diagonal(p._unbroadcasted_scale_tril))


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Any:
    _same_event(p, q)
    factor, diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    spread = _low_rank_spread(q, factor) + _low_rank_spread(q, diagonal.sqrt().diag_embed())
    return _low_rank_kl(p, q, spread, low_rank_log_det(diagonal, p._capacitance_tril))


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_and_full(p: Any, q: Any) -> Any:
    _same_event(p, q)
    other, diagonal = q._unbroadcasted_scale_tril, p._unbroadcasted_cov_diag
    log_ratio = 2 * log_diagonal(other) - low_rank_log_det(diagonal, p._capacitance_tril)
    spread = _spread(other, p._unbroadcasted_cov_factor) + _spread(other, diagonal.sqrt().diag_embed())
    return 0.5 * (log_ratio + spread + squared_length(other, q.loc - p.loc) - p.event_shape[0])


def _same_event(p: Any, q: Any) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"kl_divergence: vectors of {p.event_shape[0]} and {q.event_shape[0]} elements cannot be compared"
        )


def _spread(factor: Any, columns: Any) -> Any:
    """Return the trace of ``C' (F F')^-1 C`` for a triangular factor F."""
    return dt.linalg.solve_triangular(factor, columns, upper=False).square().sum((-2, -1))


def _low_rank_spread(q: Any, columns: Any) -> Any:
    """Return the same for a low-rank covariance."""
    distances = low_rank_distance(
        q._unbroadcasted_cov_factor.unsqueeze(-3),
        q._unbroadcasted_cov_diag.unsqueeze(-2),
        columns.mT,
        q._capacitance_tril.unsqueeze(-3),
    )
    return distances.sum(-1)


def _low_rank_kl(p: Any, q: Any, spread: Any, log_det: Any) -> Any:
    factor, diagonal, capacitance = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
    distance = low_rank_distance(factor, diagonal, q.loc - p.loc, capacitance)
    return 0.5 * (low_rank_log_det(diagonal, capacitance) - log_det + spread + distance - p.event_shape[0])


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return kl.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence of transformed distributions: only where the transforms are equal")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return kl.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    taken = p.reinterpreted_batch_ndims
    if taken != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"kl_divergence of Independents: {taken} and {q.reinterpreted_batch_ndims} reinterpreted dimensions"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), taken)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()
