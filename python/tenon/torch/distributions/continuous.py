"""Distributions of real numbers with closed formulas."""
import math

import tenon.torch as torch

from .._common import somewhere
from . import constraints
from .distribution import Distribution, ExponentialFamily, broadcast_all

__all__ = ['Cauchy', 'Exponential', 'GeneralizedPareto', 'Gumbel', 'HalfCauchy', 'HalfNormal', 'Laplace', 'Normal', 'Uniform', 'VonMises']

_EULER = 0.57721566490153286060


def uniform_like(x, shape):
    """Uniform numbers above 0 and below 1, with the dtype and device of x."""
    limits = torch.finfo(x.dtype)
    return torch.rand(shape, dtype=x.dtype, device=x.device).clamp(limits.tiny, 1 - limits.eps)


class _LocScale(Distribution):
    """Distributions with a location and a scale."""

    arg_constraints = {'loc': constraints.real, 'scale': constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)

    def _standard(self, value):
        return (value - self.loc) / self.scale

    def rsample(self, sample_shape=()):
        return self.loc + self.scale * self._draw(self._extended_shape(sample_shape))

    def _draw(self, shape):
        """Values with loc 0 and scale 1."""
        raise NotImplementedError


class Normal(_LocScale, ExponentialFamily):
    """The normal distribution of a mean and a standard deviation."""

    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale ** 2)

    def _draw(self, shape):
        return torch.randn(shape, dtype=self.loc.dtype, device=self.loc.device)

    def log_prob(self, value):
        self._check(value)
        return -0.5 * self._standard(value) ** 2 - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value):
        self._check(value)
        return 0.5 * (1 + torch.erf(self._standard(value) / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Laplace(_LocScale):
    """The double exponential distribution."""

    variance = property(lambda self: 2 * self.scale ** 2)
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def _draw(self, shape):
        u = 2 * uniform_like(self.loc, shape) - 1
        return -u.sign() * (-u.abs()).log1p()

    def log_prob(self, value):
        self._check(value)
        return -(2 * self.scale).log() - self._standard(value).abs()

    def cdf(self, value):
        self._check(value)
        x = self._standard(value)
        return 0.5 - 0.5 * x.sign() * (-x.abs()).expm1()

    def icdf(self, value):
        x = value - 0.5
        return self.loc - self.scale * x.sign() * (-2 * x.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Cauchy(_LocScale):
    """The ratio of two normal variables; it has no mean."""

    @property
    def mean(self):
        return torch.full(self._extended_shape(), math.nan, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def variance(self):
        return torch.full(self._extended_shape(), math.inf, dtype=self.loc.dtype, device=self.loc.device)

    def _draw(self, shape):
        return ((uniform_like(self.loc, shape) - 0.5) * math.pi).tan()

    def log_prob(self, value):
        self._check(value)
        return -math.log(math.pi) - self.scale.log() - (self._standard(value) ** 2).log1p()

    def cdf(self, value):
        self._check(value)
        return torch.atan(self._standard(value)) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(_LocScale):
    """The distribution of the largest of many values."""

    mean = property(lambda self: self.loc + self.scale * _EULER)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self.stddev ** 2)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)

    def _draw(self, shape):
        return -(-uniform_like(self.loc, shape).log()).log()

    def log_prob(self, value):
        self._check(value)
        y = -self._standard(value)
        return y - y.exp() - self.scale.log()

    def cdf(self, value):
        self._check(value)
        return (-(-self._standard(value)).exp()).exp()

    def icdf(self, value):
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self):
        return self.scale.log() + (1 + _EULER)


class Uniform(Distribution):
    """Equal density from low (included) to high (excluded)."""

    has_rsample = True

    @property
    def arg_constraints(self):
        return {'low': constraints.less_than(self.high), 'high': constraints.greater_than(self.low)}

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)


    @constraints.dependent_property
    def support(self):
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.low + torch.rand(shape, dtype=self.low.dtype, device=self.low.device) * (self.high - self.low)

    def log_prob(self, value):
        self._check(value)
        inside = (self.low <= value) & (value < self.high)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value):
        self._check(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """The time until an event that occurs at a rate."""

    arg_constraints = {'rate': constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = stddev = property(lambda self: 1 / self.rate)
    mode = property(lambda self: torch.zeros_like(self.rate))
    variance = property(lambda self: self.rate ** -2)

    def rsample(self, sample_shape=()):
        return -(-uniform_like(self.rate, self._extended_shape(sample_shape))).log1p() / self.rate

    def log_prob(self, value):
        self._check(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        self._check(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1 - self.rate.log()


class _Half(Distribution):
    """The absolute value of a distribution around 0."""

    arg_constraints = {'scale': constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _base: type

    def __init__(self, scale, validate_args=None):
        self._whole = self._base(0, scale, False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    scale = property(lambda self: self._whole.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    def rsample(self, sample_shape=()):
        return self._whole.rsample(sample_shape).abs()

    def log_prob(self, value):
        self._check(value)
        return torch.where(torch.as_tensor(value) >= 0, self._whole.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._check(value)
        return 2 * self._whole.cdf(value) - 1

    def icdf(self, value):
        return self._whole.icdf((value + 1) / 2)

    def entropy(self):
        return self._whole.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal variable around 0."""

    _base = Normal
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale ** 2 * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The absolute value of a Cauchy variable around 0."""

    _base = Cauchy
    mean = property(lambda self: torch.full_like(self.scale, math.inf))
    variance = property(lambda self: self._whole.variance)


class GeneralizedPareto(Distribution):
    """Excesses over a high threshold: by the sign of concentration the tail is a power, an exponential, or finite."""

    arg_constraints = {'loc': constraints.real, 'scale': constraints.positive, 'concentration': constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        high = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, high)

    def _near(self):
        """(whether concentration counts as 0, concentration without zeros)."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape=()):
        return self.icdf(uniform_like(self.loc, self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        zero, k = self._near()
        y = (value - self.loc) / self.scale
        return torch.where(zero, -y, -(1 + 1 / k) * (k * y).log1p()) - self.scale.log()

    def _log_survival(self, value):
        zero, k = self._near()
        y = (value - self.loc) / self.scale
        return torch.where(zero, -y, -(k * y).log1p() / k)

    def cdf(self, value):
        self._check(value)
        return -self._log_survival(value).expm1()

    def icdf(self, value):
        zero, k = self._near()
        log_rest = (-value).log1p()
        return self.loc + self.scale * torch.where(zero, -log_rest, (-k * log_rest).expm1() / k)

    @property
    def mean(self):
        k = self.concentration
        return torch.where(k < 1, self.loc + self.scale / (1 - torch.where(k < 1, k, 0.0)), math.inf)

    @property
    def variance(self):
        k = torch.where(self.concentration < 0.5, self.concentration, 0.0)
        return torch.where(self.concentration < 0.5, self.scale ** 2 / ((1 - k) ** 2 * (1 - 2 * k)), math.inf)

    mode = property(lambda self: self.loc)

    def entropy(self):
        return self.scale.log() + self.concentration + 1


class VonMises(Distribution):
    """A normal distribution on the circle, with density proportional to exp(concentration · cos(value - loc))."""

    arg_constraints = {'loc': constraints.real, 'concentration': constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self):
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)

    def log_prob(self, value):
        self._check(value)
        k = self.concentration
        return k * (torch.cos(value - self.loc) - 1) - math.log(2 * math.pi) - torch.special.i0e(k).log()

    @torch.no_grad()
    def sample(self, sample_shape=()):
        """Best & Fisher 1979: wrapped Cauchy variables, repeated until all are accepted."""
        shape = self._extended_shape(sample_shape)
        k = self.concentration.to(torch.float64)
        tau = 1 + (1 + 4 * k ** 2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        # For small k the difference above loses precision; this is its limit.
        r = torch.where(k < 1e-5, 1 / k + k, (1 + rho ** 2) / (2 * rho)).expand(shape)
        found = torch.where(k == math.inf, 0.0, math.nan).expand(shape)
        waiting = ((k > 0) & (k < math.inf)).expand(shape)
        while somewhere(waiting):
            u1, u2, u3 = (torch.rand(shape, dtype=torch.float64, device=k.device) for _ in range(3))
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            found = torch.where(waiting & accepted, (u3 - 0.5).sign() * f.clamp(-1, 1).acos(), found)
            waiting = waiting & ~accepted
        return torch.remainder(found.to(self.loc.dtype) + math.pi + self.loc, 2 * math.pi) - math.pi
