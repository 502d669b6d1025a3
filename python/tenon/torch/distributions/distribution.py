"""The base of all distributions."""
import copy
import warnings

import tenon.torch as torch

from .._common import broken
from . import constraints


def broadcast_all(*values):
    """Tensors and numbers in one shape; numbers get the dtype and device of the tensors."""
    like = next((x for x in values if isinstance(x, torch.Tensor)), None)
    dtype, device = (torch.get_default_dtype(), None) if like is None else (like.dtype, like.device)
    return torch.broadcast_tensors(*(x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=dtype, device=device) for x in values))


def probs_to_logits(probs, is_binary=False):
    """Log-probabilities, or log-odds if is_binary; probabilities are kept away from 0 and 1."""
    eps = torch.finfo(probs.dtype).eps
    probs = probs.clamp(eps, 1 - eps)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


def logits_to_probs(logits, is_binary=False):
    """The inverse of probs_to_logits()."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


class lazy_property:
    """Computed on first use and kept in the object."""

    def __init__(self, function):
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.function(instance)
        instance.__dict__[self.name] = value
        return value


def refusal(distribution, name, value):
    """The text of the error for a parameter outside of its constraint."""
    return (f'[{type(distribution).__name__}] Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of distribution {distribution!r} to '
            f'satisfy the constraint {distribution.arg_constraints[name]!r}, but found invalid values:\n{value}')


class Distribution:
    """A batch of distributions: values have shape sample_shape + batch_shape + event_shape."""

    has_rsample = False
    has_enumerate_support = False
    arg_constraints = {}
    support = constraints.dependent
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Sets whether parameters and values are checked by default."""
        if value not in (True, False):
            raise ValueError(f'[Distribution] validate_args must be True or False, not {value!r}')
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self):
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint) or name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue
            value = getattr(self, name)
            if broken(~constraint.check(value)):
                raise ValueError(refusal(self, name, value))

    def expand(self, batch_shape, _instance=None):
        """The same distributions, repeated to a batch shape; expand() of a subclass may give an instance that lacks what is set here."""
        made = self._expanded(torch.Size(batch_shape))
        if _instance is None:
            return made
        _instance.__dict__.update({**made.__dict__, **_instance.__dict__})
        return _instance

    def _get_checked_instance(self, cls, _instance=None):
        """What expand() of the class cls fills: the instance that it was given, or a new one without contents."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:
            raise NotImplementedError(f'[expand] {type(self).__name__} has an __init__ of its own, and needs an expand() of its own')
        return self.__new__(type(self))

    def _expanded(self, batch_shape):
        made = copy.copy(self)
        rank = len(self._batch_shape)
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                made.__dict__[name] = value.expand((*batch_shape, *value.batch_shape[rank:]))
            elif isinstance(value, torch.Tensor):
                made.__dict__[name] = value.expand((*batch_shape, *value.shape[rank:]))
        made._batch_shape = batch_shape
        return made

    @property
    def batch_shape(self):
        """The shape of the parameters, without that of the event."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one value."""
        return self._event_shape

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError(f'[{type(self).__name__}] has no mean')

    @property
    def mode(self):
        """The most likely value."""
        raise NotImplementedError(f'[{type(self).__name__}] has no mode')

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError(f'[{type(self).__name__}] has no variance')

    @property
    def stddev(self):
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Random values, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Random values with gradients with respect to the parameters, if has_rsample."""
        raise NotImplementedError(f'[{type(self).__name__}] draws no samples with gradients: use sample() and log_prob()')

    def sample_n(self, n):
        """sample((n,))."""
        warnings.warn('[sample_n] is deprecated: use sample((n,))', UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density or probability at value."""
        raise NotImplementedError(f'[{type(self).__name__}] has no log_prob')

    def cdf(self, value):
        """The probability of values up to this one."""
        raise NotImplementedError(f'[{type(self).__name__}] has no cdf')

    def icdf(self, value):
        """The inverse of cdf()."""
        raise NotImplementedError(f'[{type(self).__name__}] has no icdf')

    def enumerate_support(self, expand=True):
        """All possible values, along a first dimension."""
        raise NotImplementedError(f'[{type(self).__name__}] has infinitely many values, or too many to list')

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError(f'[{type(self).__name__}] has no entropy')

    def perplexity(self):
        """exp of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=()):
        sample_shape = sample_shape if isinstance(sample_shape, (tuple, list)) else (sample_shape,)
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check(self, value):
        """If values are checked, refuses those with a wrong shape or outside the support."""
        if not self._validate_args:
            return
        name = type(self).__name__
        if not isinstance(value, torch.Tensor):
            raise ValueError(f'[{name}] the value must be a Tensor, not {type(value).__name__}')
        first = value.dim() - len(self._event_shape)
        if tuple(value.shape[max(first, 0):]) != tuple(self._event_shape):
            raise ValueError(f'[{name}] the value has shape {tuple(value.shape)}, must end with {tuple(self._event_shape)}')
        expected = (*self._batch_shape, *self._event_shape)
        for a, b in zip(reversed(value.shape), reversed(expected)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f'[{name}] the value has shape {tuple(value.shape)}, which does not fit {tuple(expected)}')
        try:
            support = self.support
        except NotImplementedError:
            return
        if broken(~support.check(value)):
            raise ValueError(f'[{name}] the value must be within the support ({support!r}), but found invalid values:\n{value}')

    def _enumerated(self, count, dtype, device, expand):
        values = torch.arange(count, dtype=dtype, device=device).reshape((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def __repr__(self):
        told = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if isinstance(value, torch.Tensor):
                told.append(f'{name}: {value if value.numel() == 1 else f"torch.Size({list(value.shape)})"}')
        return f'{type(self).__name__}({", ".join(told)})'


class ExponentialFamily(Distribution):
    """Distributions whose density is the exponential of a product of statistics and parameters."""


class Independent(Distribution):
    """A distribution whose last batch dimensions count as one event."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        shape, rank = (*base_distribution.batch_shape, *base_distribution.event_shape), len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > rank:
            raise ValueError(f'[Independent] reinterpreted_batch_ndims {reinterpreted_batch_ndims} is above the batch\'s rank, {rank}')
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[:rank - reinterpreted_batch_ndims], shape[rank - reinterpreted_batch_ndims:], validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(
        lambda self: self.base_dist.has_enumerate_support and not self.reinterpreted_batch_ndims)
    mean, mode, variance = (property(lambda self, name=name: getattr(self.base_dist, name)) for name in ('mean', 'mode', 'variance'))

    @constraints.dependent_property
    def support(self):
        base = self.base_dist.support
        return constraints.independent(base, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else base

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError('[Independent] the values of several dimensions together are not enumerated')
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f'Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})'


def sum_last(x, count):
    """The sum over the last `count` dimensions."""
    return x.sum(tuple(range(-count, 0))) if count else x
