"""TransformedDistribution and the distributions that are defined as one."""
import math

import tenon.torch as torch

from . import constraints
from .continuous import Exponential, Normal, Uniform
from .distribution import Distribution, Independent, broadcast_all, sum_last
from .transforms import AffineTransform, ComposeTransform, ExpTransform, PowerTransform, StickBreakingTransform, Transform

__all__ = ['Kumaraswamy', 'LogNormal', 'LogisticNormal', 'Pareto', 'TransformedDistribution', 'Weibull']


class TransformedDistribution(Distribution):
    """Values of a distribution after one or more transforms."""

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(each, Transform) for each in self.transforms):
            raise ValueError('[TransformedDistribution] transforms must be a Transform, or a list of them')
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        event_dim = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(f'[TransformedDistribution] the base has rank {len(shape)}, the transforms need {whole.domain.event_dim}')
        wanted = whole.inverse_shape(whole.forward_shape(shape))
        if tuple(wanted) != shape:
            base_distribution = base_distribution.expand(wanted[:len(wanted) - event_dim])
        more = whole.domain.event_dim - event_dim
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        shape = whole.forward_shape(wanted)
        events = whole.codomain.event_dim + max(event_dim - whole.domain.event_dim, 0)
        super().__init__(shape[:len(shape) - events], shape[len(shape) - events:], validate_args)

    def _expanded(self, batch_shape):
        import copy
        made = copy.copy(self)
        base = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self.event_shape))
        made.base_dist = self.base_dist.expand(base[:len(base) - len(self.base_dist.event_shape)])
        made._batch_shape = batch_shape
        return made

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def sample(self, sample_shape=()):
        with torch.no_grad():
            x = self.base_dist.sample(sample_shape)
            for each in self.transforms:
                x = each(x)
            return x

    def rsample(self, sample_shape=()):
        x = self.base_dist.rsample(sample_shape)
        for each in self.transforms:
            x = each(x)
        return x

    def log_prob(self, value):
        self._check(value)
        event_dim, total, y = len(self.event_shape), 0.0, value
        for each in reversed(self.transforms):
            x = each.inv(y)
            event_dim += each.domain.event_dim - each.codomain.event_dim
            total = total - sum_last(each.log_abs_det_jacobian(x, y), event_dim - each.domain.event_dim)
            y = x
        return total + sum_last(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _direction(self, value):
        """A probability, or its complement if the transforms reverse the order."""
        sign = 1
        for each in self.transforms:
            sign = sign * each.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for each in reversed(self.transforms):
            value = each.inv(value)
        self.base_dist._check(value)
        return self._direction(self.base_dist.cdf(value))

    def icdf(self, value):
        value = self.base_dist.icdf(self._direction(value))
        for each in self.transforms:
            value = each(value)
        return value


class LogNormal(TransformedDistribution):
    """exp of a normal variable."""

    arg_constraints = {'loc': constraints.real, 'scale': constraints.positive}
    support = constraints.positive

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    loc, scale = property(lambda self: self.base_dist.loc), property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale ** 2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale ** 2).exp())
    variance = property(lambda self: (self.scale ** 2).expm1() * (2 * self.loc + self.scale ** 2).exp())

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """A normal vector as a point of the simplex."""

    arg_constraints = {'loc': constraints.real, 'scale': constraints.positive}
    support = constraints.simplex

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args)
        super().__init__(base if base.batch_shape else base.expand((1,)), StickBreakingTransform(), validate_args)

    loc, scale = property(lambda self: self.base_dist.base_dist.loc), property(lambda self: self.base_dist.base_dist.scale)


class Pareto(TransformedDistribution):
    """A density that falls with the power alpha + 1, from scale on."""

    arg_constraints = {'alpha': constraints.positive, 'scale': constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(Exponential(self.alpha, validate_args), [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    def _expanded(self, batch_shape):
        return Pareto(self.scale.expand(batch_shape), self.alpha.expand(batch_shape), False)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale)

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale ** 2 * a / ((a - 1) ** 2 * (a - 2))

    @constraints.dependent_property
    def support(self):
        return constraints.greater_than_eq(self.scale)

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + 1 / self.alpha)


_EULER = 0.57721566490153286060


class Weibull(TransformedDistribution):
    """scale · E^(1 / concentration) of an exponential variable E."""

    arg_constraints = {'scale': constraints.positive, 'concentration': constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(Exponential(torch.ones_like(self.scale), validate_args),
                         [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)], validate_args)

    def _expanded(self, batch_shape):
        return Weibull(self.scale.expand(batch_shape), self.concentration.expand(batch_shape), False)

    mean = property(lambda self: self.scale * (1 + 1 / self.concentration).lgamma().exp())

    @property
    def mode(self):
        k = self.concentration
        return torch.where(k > 1, self.scale * ((k - 1).clamp(min=0) / k) ** (1 / k), 0.0)

    @property
    def variance(self):
        k = 1 / self.concentration
        return self.scale ** 2 * ((1 + 2 * k).lgamma().exp() - (2 * (1 + k).lgamma()).exp())

    def entropy(self):
        k = 1 / self.concentration
        return _EULER * (1 - k) + (self.scale * k).log() + 1


def _beta_moment(a, b, n):
    """E[xⁿ] of Kumaraswamy's distribution."""
    first = 1 + n / a
    return (b.log() + first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()


class Kumaraswamy(TransformedDistribution):
    """A distribution on the unit interval with a closed cumulative distribution function (Kumaraswamy 1980)."""

    arg_constraints = {'concentration1': constraints.positive, 'concentration0': constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(torch.zeros_like(self.concentration0), torch.ones_like(self.concentration0), False)
        super().__init__(base, [PowerTransform(1 / self.concentration0), AffineTransform(1.0, -1.0),
                                PowerTransform(1 / self.concentration1)], validate_args)

    def _expanded(self, batch_shape):
        return Kumaraswamy(self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape), False)

    mean = property(lambda self: _beta_moment(self.concentration1, self.concentration0, 1))
    variance = property(lambda self: _beta_moment(self.concentration1, self.concentration0, 2) - self.mean ** 2)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        found = ((1 - a) / (1 - a * b)).pow(1 / a)
        return torch.where((a < 1) | (b < 1), math.nan, found)

    def entropy(self):
        a, b = 1 / self.concentration1, 1 / self.concentration0
        harmonic = (self.concentration0 + 1).digamma() + _EULER
        return (1 - b) + (1 - a) * harmonic + a.log() + b.log()

