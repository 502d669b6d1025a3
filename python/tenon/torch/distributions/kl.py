"""kl_divergence(p, q): the expectation under p of the log-ratio of two distributions, by pairs of types."""
import math

import tenon.torch as torch

from .._common import somewhere
from .categories import Categorical, OneHotCategorical
from .continuous import Cauchy, Exponential, Gumbel, HalfCauchy, HalfNormal, Laplace, Normal, Uniform
from .discrete import Bernoulli, Binomial, ContinuousBernoulli, Geometric, Poisson
from .distribution import Independent, sum_last
from .gammas import Beta, Dirichlet, Gamma, InverseGamma
from .multivariate import LowRankMultivariateNormal, MultivariateNormal, Wishart, half_log_det
from .transformed import LogNormal, Pareto, TransformedDistribution

__all__ = ['kl_divergence', 'register_kl']

_EULER = 0.57721566490153286060
_PAIRS, _FOUND = {}, {}


def register_kl(type_p, type_q):
    """A decorator: the function becomes kl_divergence() for these types and types derived from them."""
    def register(function):
        _PAIRS[type_p, type_q] = function
        _FOUND.clear()
        return function
    return register


def _function_of(type_p, type_q):
    """The function for the nearest types; the first type takes precedence."""
    if (type_p, type_q) not in _FOUND:
        near = [(type_p.__mro__.index(p), type_q.__mro__.index(q), function) for (p, q), function in _PAIRS.items()
                if p in type_p.__mro__ and q in type_q.__mro__]
        _FOUND[type_p, type_q] = min(near, key=lambda each: each[:2])[2] if near else None
    return _FOUND[type_p, type_q]


def kl_divergence(p, q):
    """KL(p ‖ q) of each distribution of a batch."""
    function = _function_of(type(p), type(q))
    if function is None:
        raise NotImplementedError(f'[kl_divergence] of {type(p).__name__} and {type(q).__name__} is not offered: register_kl() adds one')
    return function(p, q)


def _inf_where(condition, x):
    return torch.where(condition, math.inf, x)


@register_kl(Bernoulli, Bernoulli)
def _(p, q):
    softplus = torch.nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t1, t2 = torch.where(p.probs == 0, 0.0, _inf_where(q.probs == 0, t1)), torch.where(p.probs == 1, 0.0, _inf_where(q.probs == 1, t2))
    return t1 + t2


@register_kl(Beta, Beta)
def _(p, q):
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    return (q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
            - p.concentration1.lgamma() - p.concentration0.lgamma() - total_q.lgamma()
            + (p.concentration1 - q.concentration1) * p.concentration1.digamma()
            + (p.concentration0 - q.concentration0) * p.concentration0.digamma() + (total_q - total_p) * total_p.digamma())


@register_kl(Binomial, Binomial)
def _(p, q):
    if somewhere(p.total_count < q.total_count):
        raise NotImplementedError('[kl_divergence] of Binomials is not offered where the second has a larger total_count')
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return _inf_where(p.total_count > q.total_count, found)


@register_kl(Categorical, Categorical)
def _(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where((q.probs == 0).expand(t.shape), math.inf, t)
    return torch.where((p.probs == 0).expand(t.shape), 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p, q):
    return kl_divergence(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p, q):
    return p.mean * (p.logits - q.logits) + p._log_norm() + (-p.probs).log1p() - q._log_norm() - (-q.probs).log1p()


@register_kl(Cauchy, Cauchy)
def _(p, q):
    return (((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log())


@register_kl(Dirichlet, Dirichlet)
def _(p, q):
    total = p.concentration.sum(-1)
    first = total.lgamma() - q.concentration.sum(-1).lgamma()
    second = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    return first - second + ((p.concentration - q.concentration) * (p.concentration.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _(p, q):
    return (q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
            + (p.concentration - q.concentration) * p.concentration.digamma() + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(Geometric, Geometric)
def _(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _(p, q):
    ratio, place, other = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return -ratio.log() - place + other + ratio * _EULER + (place + (1 + ratio).lgamma() - other).exp() - (1 + _EULER)


@register_kl(HalfCauchy, HalfCauchy)
@register_kl(HalfNormal, HalfNormal)
def _(p, q):
    return kl_divergence(p._whole, q._whole)


@register_kl(InverseGamma, InverseGamma)
def _(p, q):
    return kl_divergence(p._gamma, q._gamma)


@register_kl(Laplace, Laplace)
def _(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def _of_normals(p, q):
    n = p.event_shape[0]
    if q.event_shape[0] != n:
        raise ValueError(f'[kl_divergence] vectors of {n} and of {q.event_shape[0]} elements')
    shape = torch.broadcast_shapes(p.scale_tril.shape, q.scale_tril.shape)
    ratio = torch.linalg.solve_triangular(q.scale_tril.expand(shape), p.scale_tril.expand(shape), upper=False)
    difference = (q.loc - p.loc).expand(shape[:-1]).unsqueeze(-1)
    distance = (torch.linalg.solve_triangular(q.scale_tril.expand(shape), difference, upper=False) ** 2).sum((-2, -1))
    return half_log_det(q.scale_tril) - half_log_det(p.scale_tril) + 0.5 * ((ratio ** 2).sum((-2, -1)) + distance - n)


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_of_normals)


@register_kl(Wishart, Wishart)
def _(p, q):
    n = p.event_shape[-1]
    shape = torch.broadcast_shapes(p.scale_tril.shape, q.scale_tril.shape)
    trace = (torch.linalg.solve_triangular(q.scale_tril.expand(shape), p.scale_tril.expand(shape), upper=False) ** 2).sum((-2, -1))
    steps = torch.arange(n, dtype=p.df.dtype, device=p.df.device) / 2
    digammas = (p.df.unsqueeze(-1) / 2 - steps).digamma().sum(-1)
    return (q.df * (half_log_det(q.scale_tril) - half_log_det(p.scale_tril)) + p.df / 2 * (trace - n) + torch.mvlgamma(q.df / 2, n)
            - torch.mvlgamma(p.df / 2, n) + (p.df - q.df) / 2 * digammas)


@register_kl(Pareto, Pareto)
def _(p, q):
    ratio = p.scale / q.scale
    found = (p.alpha / q.alpha).log() + q.alpha * ratio.log() + q.alpha / p.alpha - 1
    return _inf_where(p.scale < q.scale, found)


@register_kl(Poisson, Poisson)
def _(p, q):
    return torch.xlogy(p.rate, p.rate) - torch.xlogy(p.rate, q.rate) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError('[kl_divergence] of different transforms is not offered')
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(LogNormal, LogNormal)
def _(p, q):
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _(p, q):
    return _inf_where((q.low > p.low) | (q.high < p.high), ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _(p, q):
    return _inf_where((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log())


@register_kl(Independent, Independent)
def _(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError('[kl_divergence] of Independents with different reinterpreted_batch_ndims is not offered')
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# Pairs of different types ------------------------------------------------------------------------------------------------------------

def _from_moments(q_log_prob_of):
    """-H(p) - E[log q], if that needs only moments of p."""
    return lambda p, q: -p.entropy() - q_log_prob_of(p, q)


def _normal_q(p, q):
    return -(q.scale.log() + 0.5 * math.log(2 * math.pi)) - 0.5 * (p.variance + (p.mean - q.loc) ** 2) / q.scale ** 2


for _p in (Beta, Exponential, Gamma, Gumbel, Laplace, Uniform, ContinuousBernoulli):
    register_kl(_p, Normal)(_from_moments(_normal_q))


def _log_mean(p):
    """E[log x] of a positive variable."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -_EULER - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + 1 / p.alpha
    return p.concentration.digamma() - p.rate.log()


def _gamma_q(p, q):
    return q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * _log_mean(p) - q.rate * p.mean


def _exponential_q(p, q):
    return q.rate.log() - q.rate * p.mean


for _p in (Beta, Exponential, Pareto):
    register_kl(_p, Gamma)(_from_moments(_gamma_q))
for _p in (Beta, Gamma, Pareto):
    register_kl(_p, Exponential)(_from_moments(_exponential_q))


@register_kl(Pareto, Exponential)
@register_kl(Pareto, Gamma)
def _(p, q):
    found = -p.entropy() - (_gamma_q(p, q) if isinstance(q, Gamma) else _exponential_q(p, q))
    return _inf_where(p.alpha <= 1, found)


@register_kl(Pareto, Normal)
def _(p, q):
    return _inf_where(p.alpha <= 2, -p.entropy() - _normal_q(p, q))


@register_kl(Beta, ContinuousBernoulli)
def _(p, q):
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_norm()


@register_kl(ContinuousBernoulli, Exponential)
def _(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Uniform, Beta)
def _(p, q):
    width = p.high - p.low
    t1 = width.log()
    t2 = (q.concentration1 - 1) * (torch.xlogy(p.high, p.high) - torch.xlogy(p.low, p.low) - width) / width
    low, high = 1 - p.high, 1 - p.low
    t3 = (q.concentration0 - 1) * (torch.xlogy(high, high) - torch.xlogy(low, low) - width) / width
    t4 = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    return _inf_where((p.high > 1) | (p.low < 0), t4 - t1 - t2 - t3)


@register_kl(Uniform, Exponential)
def _(p, q):
    return _inf_where(p.low < 0, q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log())


@register_kl(Uniform, Gamma)
def _(p, q):
    width = p.high - p.low
    mean_log = (torch.xlogy(p.high, p.high) - torch.xlogy(p.low, p.low) - width) / width
    found = -width.log() + q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * mean_log + q.rate * p.mean
    return _inf_where(p.low < 0, found)


@register_kl(Uniform, Gumbel)
def _(p, q):
    width = p.high - p.low
    mean_exp = q.scale * ((-(p.low - q.loc) / q.scale).exp() - (-(p.high - q.loc) / q.scale).exp()) / width
    return q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp - width.log()


@register_kl(Uniform, ContinuousBernoulli)
def _(p, q):
    found = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_norm()
    return _inf_where((p.high > 1) | (p.low < 0), found)


@register_kl(Uniform, Pareto)
def _(p, q):
    width = p.high - p.low
    mean_log = (torch.xlogy(p.high, p.high) - torch.xlogy(p.low, p.low) - width) / width
    return _inf_where(p.low < q.scale, -width.log() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * mean_log)


@register_kl(Exponential, Gumbel)
def _(p, q):
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + (q.loc / q.scale).exp() * p.rate / (p.rate + 1 / q.scale)


@register_kl(Gamma, Gumbel)
def _(p, q):
    mean_exp = (q.loc / q.scale).exp() * (1 + 1 / (p.rate * q.scale)) ** -p.concentration
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp


@register_kl(Normal, Gumbel)
def _(p, q):
    mean_exp = ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale) ** 2).exp()
    return -p.entropy() + q.scale.log() + (p.loc - q.loc) / q.scale + mean_exp


@register_kl(Normal, Laplace)
def _(p, q):
    distance = p.loc - q.loc
    ratio = distance / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio ** 2).exp() + distance * torch.erf(math.sqrt(0.5) * ratio)
    return -p.entropy() + (2 * q.scale).log() + mean / q.scale


# The first has values where the second has none.
_NEVER = [
    (Poisson, Bernoulli), (Poisson, Binomial), (Beta, Pareto),
    (ContinuousBernoulli, Pareto), (Exponential, Beta),
    (Exponential, ContinuousBernoulli), (Exponential, Pareto), (Exponential, Uniform), (Gamma, Beta),
    (Gamma, ContinuousBernoulli), (Gamma, Pareto), (Gamma, Uniform), (Gumbel, Beta),
    (Gumbel, ContinuousBernoulli), (Gumbel, Exponential), (Gumbel, Gamma), (Gumbel, Pareto), (Gumbel, Uniform),
    (Laplace, Beta), (Laplace, ContinuousBernoulli), (Laplace, Exponential), (Laplace, Gamma), (Laplace, Pareto),
    (Laplace, Uniform), (Normal, Beta), (Normal, ContinuousBernoulli), (Normal, Exponential), (Normal, Gamma),
    (Normal, Pareto), (Normal, Uniform), (Pareto, Beta), (Pareto, ContinuousBernoulli), (Pareto, Uniform)]


def _infinite(p, q):
    return torch.full(p.batch_shape, math.inf, dtype=p.mean.dtype)


for _p, _q in _NEVER:
    register_kl(_p, _q)(_infinite)


@register_kl(Bernoulli, Poisson)
def _(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
