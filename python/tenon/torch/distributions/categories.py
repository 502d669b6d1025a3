"""Distributions over classes, and mixtures."""
import math

import tenon.torch as torch

from . import constraints
from .discrete import Bernoulli, Binomial
from .continuous import uniform_like
from .distribution import Distribution, broadcast_all, lazy_property, logits_to_probs, probs_to_logits
from .transformed import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform

__all__ = ['Categorical', 'MixtureSameFamily', 'Multinomial', 'OneHotCategorical', 'OneHotCategoricalStraightThrough', 'RelaxedBernoulli',
           'RelaxedOneHotCategorical']


class Categorical(Distribution):
    """The numbers 0, 1, … with probabilities, or logits, along the last dimension."""

    arg_constraints = {'probs': constraints.simplex, 'logits': constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError(f'[{type(self).__name__}] give either probs or logits')
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f'[{type(self).__name__}] probs or logits need at least one dimension')
        if probs is None:
            self.logits = given - given.logsumexp(-1, True)
        else:
            self.probs = given / given.sum(-1, True)
        self._given, self._num_events = given, given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def logits(self):
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits)

    param_shape = property(lambda self: self._given.shape)

    @constraints.dependent_property(is_discrete=True)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        return torch.full(self._extended_shape(), math.nan, dtype=self._given.dtype, device=self._given.device)

    variance = mean
    mode = property(lambda self: self.probs.argmax(-1))

    @torch.no_grad()
    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        rows = self.probs.detach().reshape((-1, self._num_events))
        count = math.prod(sample_shape if isinstance(sample_shape, (tuple, list)) else (sample_shape,))
        return torch.multinomial(rows, count, True).t().reshape(shape) if count else torch.zeros(shape, dtype=torch.int64)

    def log_prob(self, value):
        self._check(value)
        value = value.long().unsqueeze(-1)
        shape = torch.broadcast_shapes(value.shape[:-1], self.logits.shape[:-1])
        return self.logits.expand((*shape, self._num_events)).gather(-1, value.expand((*shape, 1))).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerated(self._num_events, torch.int64, self._given.device, expand)


class OneHotCategorical(Distribution):
    """Categorical with values as one-hot vectors."""

    arg_constraints = {'probs': constraints.simplex, 'logits': constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    probs, logits = property(lambda self: self._categorical.probs), property(lambda self: self._categorical.logits)
    mean = property(lambda self: self._categorical.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    param_shape = property(lambda self: self._categorical.param_shape)

    @property
    def mode(self):
        return self._hot(self._categorical.mode)

    def _hot(self, index):
        return torch.nn.functional.one_hot(index, self._event_shape[0]).to(self.probs.dtype)

    @torch.no_grad()
    def sample(self, sample_shape=()):
        return self._hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        self._check(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self._event_shape[0]
        values = torch.eye(n, dtype=self.probs.dtype, device=self.probs.device).reshape((n, *[1] * len(self._batch_shape), n))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose samples have the gradient of the probabilities (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())


class Multinomial(Distribution):
    """How often each class occurs among total_count draws."""

    arg_constraints = {'probs': constraints.simplex, 'logits': constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError('[Multinomial] total_count must be one int for all')
        self.total_count, self._categorical = total_count, Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    probs, logits = property(lambda self: self._categorical.probs), property(lambda self: self._categorical.logits)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    param_shape = property(lambda self: self._categorical.param_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @torch.no_grad()
    def sample(self, sample_shape=()):
        sample_shape = tuple(sample_shape) if isinstance(sample_shape, (tuple, list)) else (sample_shape,)
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        return torch.nn.functional.one_hot(drawn, self._event_shape[0]).sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = torch.where((value == 0) & (logits == -math.inf), 0.0, logits)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        n = torch.tensor(float(self.total_count), dtype=self.probs.dtype)
        counts = Binomial(self.total_count, self.probs, validate_args=False)
        support = counts.enumerate_support(False)[1:]
        terms = (counts.log_prob(support).exp() * (support + 1).lgamma()).sum((0, -1))
        return self.total_count * self._categorical.entropy() - (n + 1).lgamma() + terms


class MixtureSameFamily(Distribution):
    """Values of the components in a distribution's last batch dimension, chosen by a Categorical."""

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError('[MixtureSameFamily] the mixture must be a Categorical')
        if not isinstance(component_distribution, Distribution):
            raise ValueError('[MixtureSameFamily] the components must be a Distribution')
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        shape = component_distribution.batch_shape
        if not shape or shape[-1] != mixture_distribution._num_events:
            raise ValueError(f'[MixtureSameFamily] {mixture_distribution._num_events} weights for components of batch shape {tuple(shape)}')
        torch.broadcast_shapes(mixture_distribution.batch_shape, shape[:-1])
        super().__init__(shape[:-1], component_distribution.event_shape, validate_args)

    def __repr__(self):
        return f'MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})'

    def _expanded(self, batch_shape):
        component = self._component_distribution
        return MixtureSameFamily(self._mixture_distribution.expand(batch_shape), component.expand((*batch_shape, component.batch_shape[-1])), False)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self):
        probs = self._mixture_distribution.probs
        return probs.reshape((*probs.shape, *[1] * len(self._event_shape)))

    _dim = property(lambda self: -1 - len(self._event_shape))

    @property
    def mean(self):
        return (self._weights() * self._component_distribution.mean).sum(self._dim)

    @property
    def variance(self):
        weights, inner = self._weights(), self._component_distribution
        return (weights * inner.variance).sum(self._dim) + (weights * (inner.mean - self.mean.unsqueeze(self._dim)) ** 2).sum(self._dim)

    def cdf(self, value):
        return (self._component_distribution.cdf(value.unsqueeze(self._dim)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        self._check(value)
        log_prob = self._component_distribution.log_prob(value.unsqueeze(self._dim))
        return (log_prob + torch.log_softmax(self._mixture_distribution.logits, -1)).logsumexp(-1)

    @torch.no_grad()
    def sample(self, sample_shape=()):
        drawn, chosen = self._component_distribution.sample(sample_shape), self._mixture_distribution.sample(sample_shape)
        events = len(self._event_shape)
        index = chosen.reshape((*chosen.shape, *[1] * (events + 1)))
        dim = drawn.dim() - events - 1
        index = index.expand((*drawn.shape[:dim], 1, *drawn.shape[dim + 1:]))
        return drawn.gather(dim, index).squeeze(dim)


class _LogitRelaxedBernoulli(Distribution):
    """The log-odds of RelaxedBernoulli."""

    arg_constraints = {'probs': constraints.unit_interval, 'logits': constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature, self._bernoulli = torch.as_tensor(temperature), Bernoulli(probs, logits, validate_args)
        super().__init__(self._bernoulli.batch_shape, validate_args=validate_args)

    def _expanded(self, batch_shape):
        return _LogitRelaxedBernoulli(self.temperature, logits=self.logits.expand(batch_shape), validate_args=False)

    probs, logits = property(lambda self: self._bernoulli.probs), property(lambda self: self._bernoulli.logits)

    def rsample(self, sample_shape=()):
        u = uniform_like(self.logits, self._extended_shape(sample_shape))
        return (u.log() - (-u).log1p() + self.logits) / self.temperature

    def log_prob(self, value):
        self._check(value)
        difference = self.logits - value * self.temperature
        return self.temperature.log() + difference - 2 * torch.nn.functional.softplus(difference)


class RelaxedBernoulli(TransformedDistribution):
    """A Bernoulli variable with a temperature, between 0 and 1, and with gradients (Maddison et al. 2017)."""

    arg_constraints = {'probs': constraints.unit_interval, 'logits': constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(_LogitRelaxedBernoulli(temperature, probs, logits, validate_args), SigmoidTransform(), validate_args)

    temperature, logits, probs = (property(lambda self, name=name: getattr(self.base_dist, name)) for name in ('temperature', 'logits', 'probs'))


class _ExpRelaxedCategorical(Distribution):
    """The logarithms of RelaxedOneHotCategorical."""

    arg_constraints = {'probs': constraints.simplex, 'logits': constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature, self._categorical = torch.as_tensor(temperature), Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def _expanded(self, batch_shape):
        logits = self.logits.expand((*batch_shape, *self._event_shape))
        return _ExpRelaxedCategorical(self.temperature, logits=logits, validate_args=False)

    probs, logits = property(lambda self: self._categorical.probs), property(lambda self: self._categorical.logits)

    def rsample(self, sample_shape=()):
        u = uniform_like(self.logits, self._extended_shape(sample_shape))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value):
        self._check(value)
        k = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        scale = math.lgamma(k) + (k - 1) * self.temperature.log()
        score = logits - value * self.temperature
        return (score - score.logsumexp(-1, True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A OneHotCategorical variable with a temperature, within the simplex, and with gradients (Maddison et al. 2017; Jang et al. 2017)."""

    arg_constraints = {'probs': constraints.simplex, 'logits': constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(_ExpRelaxedCategorical(temperature, probs, logits, validate_args), ExpTransform(), validate_args)

    temperature, logits, probs = (property(lambda self, name=name: getattr(self.base_dist, name)) for name in ('temperature', 'logits', 'probs'))
