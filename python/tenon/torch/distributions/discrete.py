"""Distributions of counts, and ContinuousBernoulli, which has the parameters of a Bernoulli distribution."""
import math

import tenon.torch as torch

from .._common import broken, somewhere
from . import constraints
from .continuous import uniform_like
from .distribution import Distribution, ExponentialFamily, broadcast_all, lazy_property, logits_to_probs, probs_to_logits
from .gammas import Gamma

__all__ = ['Bernoulli', 'Binomial', 'ContinuousBernoulli', 'Geometric', 'NegativeBinomial', 'Poisson']

_F = torch.nn.functional


class _OfOdds(Distribution):
    """Distributions with a probability of success, given directly or as log-odds."""

    def _take(self, probs, logits, *others):
        if (probs is None) == (logits is None):
            raise ValueError(f'[{type(self).__name__}] give either probs or logits')
        *others, given = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, 'logits' if probs is None else 'probs', given)
        self._given = given
        return others

    @lazy_property
    def logits(self):
        """The log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probability."""
        return logits_to_probs(self.logits, is_binary=True)

    param_shape = property(lambda self: self._given.shape)


class Bernoulli(_OfOdds, ExponentialFamily):
    """1 with a probability, otherwise 0."""

    arg_constraints = {'probs': constraints.unit_interval, 'logits': constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(self._given.shape, validate_args=validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        return torch.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    @torch.no_grad()
    def sample(self, sample_shape=()):
        return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -_F.binary_cross_entropy_with_logits(logits, value, reduction='none')

    def entropy(self):
        return _F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction='none')

    def enumerate_support(self, expand=True):
        return self._enumerated(2, self._given.dtype, self._given.device, expand)


class Geometric(_OfOdds):
    """The number of failures before the first success."""

    arg_constraints = {'probs': constraints.unit_interval, 'logits': constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(self._given.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and broken(~(self.probs > 0)):
            raise ValueError('[Geometric] probs must be above 0')

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    @torch.no_grad()
    def sample(self, sample_shape=()):
        u = uniform_like(self.probs, self._extended_shape(sample_shape))
        return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        return value * torch.where((probs == 1) & (value == 0), 0.0, (-probs).log1p()) + probs.log()

    def entropy(self):
        return _F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction='none') / self.probs


class Binomial(_OfOdds):
    """The number of successes among total_count draws."""

    arg_constraints = {'total_count': constraints.nonnegative_integer, 'probs': constraints.unit_interval, 'logits': constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        count, = self._take(probs, logits, total_count)
        self.total_count = count.to(self._given.dtype)
        super().__init__(self._given.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @torch.no_grad()
    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check(value)
        n, logits = self.total_count, self.logits
        choose = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return choose + value * logits - n * _F.softplus(logits)

    def entropy(self):
        count = int(self.total_count.max().item())
        if somewhere(self.total_count != count):
            raise NotImplementedError('[Binomial] the entropy of different total_count is not offered')
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        count = int(self.total_count.max().item())
        if somewhere(self.total_count != count):
            raise NotImplementedError('[Binomial] values of different total_count are not enumerated')
        return self._enumerated(1 + count, self._given.dtype, self._given.device, expand)


class NegativeBinomial(_OfOdds):
    """The number of successes before total_count failures."""

    arg_constraints = {'total_count': constraints.greater_than_eq(0), 'probs': constraints.half_open_interval(0.0, 1.0),
                       'logits': constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        count, = self._take(probs, logits, total_count)
        self.total_count = count.to(self._given.dtype)
        super().__init__(self._given.shape, validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    @torch.no_grad()
    def sample(self, sample_shape=()):
        return torch.poisson(Gamma(self.total_count, (-self.logits).exp(), False).sample(sample_shape))

    def log_prob(self, value):
        self._check(value)
        n = self.total_count
        found = n * _F.logsigmoid(-self.logits) + value * _F.logsigmoid(self.logits)
        norm = (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()
        return found + torch.where(n + value == 0, 0.0, norm)


class Poisson(ExponentialFamily):
    """The number of events at a rate."""

    arg_constraints = {'rate': constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    @torch.no_grad()
    def sample(self, sample_shape=()):
        return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        rate, value = broadcast_all(self.rate, value)
        return torch.xlogy(value, rate) - rate - (value + 1).lgamma()


class ContinuousBernoulli(_OfOdds, ExponentialFamily):
    """Density proportional to probs^x (1 - probs)^(1 - x) on the unit interval (Loaiza-Ganem & Cunningham 2019)."""

    arg_constraints = {'probs': constraints.unit_interval, 'logits': constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._take(probs, logits)
        super().__init__(self._given.shape, validate_args=validate_args)
        if probs is not None:
            eps = torch.finfo(self.probs.dtype).eps
            self.probs = self.probs.clamp(eps, 1 - eps)
        self._lims = lims

    def _outside(self):
        """Whether probs is far enough from 1/2 for the formulas; the others use their series."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self):
        return torch.where(self._outside(), self.probs, self._lims[0])

    def _log_norm(self):
        p = self._cut()
        left = torch.where(p <= 0.5, p, 0.0)
        right = torch.where(p >= 0.5, p, 1.0)
        found = ((-p).log1p() - p.log()).abs().log() - torch.where(p <= 0.5, (-2 * left).log1p(), (2 * right - 1).log())
        x = (self.probs - 0.5) ** 2
        return torch.where(self._outside(), found, math.log(2.0) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self):
        p = self._cut()
        found = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        return torch.where(self._outside(), found, 0.5 + (1 / 3 + 16 / 45 * x ** 2) * x)

    @property
    def variance(self):
        p = self._cut()
        found = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2
        x = (self.probs - 0.5) ** 2
        return torch.where(self._outside(), found, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape=()):
        return self.icdf(uniform_like(self.probs, self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -_F.binary_cross_entropy_with_logits(logits, value, reduction='none') + self._log_norm()

    def cdf(self, value):
        self._check(value)
        p = self._cut()
        found = (p ** value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        found = torch.where(self._outside(), found, value)
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, found))

    def icdf(self, value):
        p = self._cut()
        found = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return torch.where(self._outside(), found, value)

    def entropy(self):
        first = (-self.probs).log1p()
        return self.mean * (first - self.probs.log()) - self._log_norm() - first
