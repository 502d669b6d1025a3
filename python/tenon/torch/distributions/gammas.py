"""Gamma variables and distributions derived from them."""
import math

import tenon.torch as torch

from ..gamma_integrals import igamma
from .._common import somewhere
from . import constraints
from .distribution import Distribution, ExponentialFamily, broadcast_all

__all__ = ['Beta', 'Chi2', 'Dirichlet', 'FisherSnedecor', 'Gamma', 'InverseGamma', 'StudentT']


def _draw_gamma(concentration):
    """Marsaglia & Tsang 2000, section 3, repeated until all are accepted; below 1 with a power of a uniform number (section 6)."""
    drawn = (concentration > 0) & (concentration < math.inf)  # of infinity nothing would be accepted
    a = torch.where(drawn, concentration + (concentration < 1), 1.0)
    d = a - 1 / 3
    c = 1 / (9 * d).sqrt()
    found, waiting = torch.zeros_like(a), torch.ones(a.shape, dtype=torch.bool, device=a.device)
    while somewhere(waiting):
        x, u = torch.randn_like(a), torch.rand_like(a)
        v = (1 + c * x) ** 3
        accepted = (v > 0) & (u.log() < 0.5 * x ** 2 + d - d * v + d * v.clamp(min=1e-300).log())
        found = torch.where(waiting & accepted, d * v, found)
        waiting = waiting & ~accepted
    boost = torch.where(concentration < 1, torch.rand_like(a).clamp(min=1e-300).log() / concentration, 0.0)
    return torch.where(drawn, found * boost.exp(), torch.where(concentration >= 0, concentration, math.nan))


class _StandardGamma(torch.autograd.Function):
    """Gamma variables of rate 1; gradients by implicit reparameterisation (Figurnov et al. 2018, eq. 5)."""

    @staticmethod
    def forward(ctx, concentration):
        tiny = torch.finfo(concentration.dtype).tiny
        found = _draw_gamma(concentration.detach().to(torch.float64)).clamp(min=tiny).to(concentration.dtype)
        ctx.save_for_backward(concentration.detach(), found)
        return found

    @staticmethod
    def backward(ctx, gradient):
        a, z = (x.to(torch.float64) for x in ctx.saved_tensors)
        # dP/da by differences of order 4; P is known to 15 digits.
        h = 1e-3 * a
        slope = (8 * (igamma(a + h, z) - igamma(a - h, z)) - (igamma(a + 2 * h, z) - igamma(a - 2 * h, z))) / (12 * h)
        density = ((a - 1) * z.log() - z - a.lgamma()).exp()
        return gradient * (-slope / density).to(gradient.dtype)


def standard_gamma(concentration):
    """A gamma variable of rate 1 for each concentration, with gradients."""
    return _StandardGamma.apply(concentration)


class Gamma(ExponentialFamily):
    """The gamma distribution of a shape (concentration) and a rate."""

    arg_constraints = {'concentration': constraints.positive, 'rate': constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate ** 2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        found = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return found.clamp(min=torch.finfo(found.dtype).tiny)

    def log_prob(self, value):
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check(value)
        a, rate = self.concentration, self.rate
        return torch.xlogy(a, rate) + torch.xlogy(a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value):
        self._check(value)
        return igamma(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """The sum of df squares of normal variables."""

    arg_constraints = {'df': constraints.positive}

    def __init__(self, df, validate_args=None):
        df = df if isinstance(df, torch.Tensor) else torch.tensor(float(df))
        super().__init__(0.5 * df, torch.full_like(df, 0.5), validate_args)

    df = property(lambda self: self.concentration * 2)


class InverseGamma(Distribution):
    """1 / x of a gamma variable x."""

    arg_constraints = {'concentration': constraints.positive, 'rate': constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        self._gamma = Gamma(concentration, rate, validate_args)
        super().__init__(self._gamma.batch_shape, validate_args=validate_args)

    concentration, rate = property(lambda self: self._gamma.concentration), property(lambda self: self._gamma.rate)

    @property
    def mean(self):
        a = self.concentration
        return torch.where(a > 1, self.rate / (a - 1), math.inf)

    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self):
        a = self.concentration
        return torch.where(a > 2, self.rate ** 2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def rsample(self, sample_shape=()):
        return 1 / self._gamma.rsample(sample_shape)

    def log_prob(self, value):
        self._check(value)
        return self._gamma.log_prob(1 / value) - 2 * value.log()

    def cdf(self, value):
        self._check(value)
        return 1 - self._gamma.cdf(1 / value)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Dirichlet(ExponentialFamily):
    """Points of the simplex: gamma variables divided by their sum."""

    arg_constraints = {'concentration': constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError('[Dirichlet] concentration needs at least one dimension')
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        less = (self.concentration - 1).clamp(min=0)
        found = less / less.sum(-1, True)
        # No interior maximum: the corner of the largest entry.
        corner = torch.nn.functional.one_hot(self.concentration.argmax(-1), self.concentration.shape[-1]).to(found.dtype)
        return torch.where((self.concentration < 1).all(-1, True), corner, found)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total ** 2 * (total + 1))

    def rsample(self, sample_shape=()):
        x = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        found = x / x.sum(-1, True)
        tiny = torch.finfo(found.dtype).tiny
        return found.clamp(tiny, 1)

    def log_prob(self, value):
        self._check(value)
        a = self.concentration
        return torch.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)


class Beta(ExponentialFamily):
    """The beta distribution on the unit interval, with two concentrations."""

    arg_constraints = {'concentration1': constraints.positive, 'concentration0': constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self._dirichlet = Dirichlet(torch.stack(broadcast_all(concentration1, concentration0), -1), validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total ** 2 * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        self._check(value)
        return self._dirichlet.log_prob(torch.stack([value, 1 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()


class StudentT(Distribution):
    """A normal variable divided by the root of a mean of df squares."""

    arg_constraints = {'df': constraints.positive, 'loc': constraints.real, 'scale': constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, False)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = property(lambda self: torch.where(self.df > 1, self.loc, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        found = torch.where(self.df > 2, self.scale ** 2 * self.df / (self.df - 2), math.inf)
        return torch.where(self.df > 1, found, math.nan)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x = torch.randn(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * x * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value):
        self._check(value)
        y, df = (value - self.loc) / self.scale, self.df
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma() - (0.5 * (df + 1)).lgamma()
        return -0.5 * (df + 1) * (y ** 2 / df).log1p() - norm

    def entropy(self):
        df, half = self.df, 0.5 * (self.df + 1)
        beta = (0.5 * df).lgamma() + math.lgamma(0.5) - half.lgamma()
        return self.scale.log() + half * (half.digamma() - (0.5 * df).digamma()) + 0.5 * df.log() + beta


class FisherSnedecor(Distribution):
    """The ratio of two means of df1 and df2 squares."""

    arg_constraints = {'df1': constraints.positive, 'df2': constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1, False), Gamma(self.df2 * 0.5, self.df2, False)
        super().__init__(self.df1.shape, validate_args=validate_args)

    mean = property(lambda self: torch.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan))

    @property
    def mode(self):
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return torch.where(self.df1 > 2, found, math.nan)

    @property
    def variance(self):
        a, b = self.df1, self.df2
        return torch.where(b > 4, 2 * b ** 2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4)), math.nan)

    def rsample(self, sample_shape=()):
        found = self._gamma1.rsample(sample_shape) / self._gamma2.rsample(sample_shape)
        return found.clamp(min=torch.finfo(found.dtype).tiny)

    def log_prob(self, value):
        self._check(value)
        a, b = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        return ((a + b).lgamma() - a.lgamma() - b.lgamma() + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p())
