"""Normalisation over a batch."""
import tenon

from ...._core import ops
from ...._errors import InvalidArgumentError
from ....nn.functional import batch_norm as _batch_norm
from ....nn.module import Module, Parameter
from ..._common import defaults
from .. import functional as F
from ._make import family
from .lazy import LazyModuleMixin, waiting, waiting_buffer


class _NormBase(Module):
    """What normalisations with running statistics have: weight, bias, running_mean, running_var, num_batches_tracked."""

    _version = 2
    _dims = 0
    _ranks = ()  # of accepted inputs

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        dtype, device = defaults.settle(dtype, device)

        def full(value):
            return ops['full']((num_features,), value, dtype, device)
        self.register_parameter('weight', Parameter(full(1.0)) if affine else None)
        self.register_parameter('bias', Parameter(full(0.0)) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer('running_mean', full(0.0) if tracked else None)
        self.register_buffer('running_var', full(1.0) if tracked else None)
        self.register_buffer('num_batches_tracked', ops['full']((), 0, tenon.int64, device) if tracked else None)

    @property
    def _may_be_missing(self):
        return ('num_batches_tracked',) if self.track_running_stats else ()

    def reset_running_stats(self):
        """Resets to mean 0, variance 1 and no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Sets weight to 1 and bias to 0, and resets the running statistics."""
        self.reset_running_stats()
        if self.affine:
            with tenon.no_grad():
                self.weight.fill_(1)
                if self.bias is not None:
                    self.bias.zero_()

    def _check_input_dim(self, input):
        if input.ndim not in self._ranks:
            ranks = ' or '.join(map(str, self._ranks))
            raise InvalidArgumentError(f'[{type(self).__name__}] input has rank {input.ndim}, must be {ranks}')

    def extra_repr(self):
        return (f'{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, '
                f'track_running_stats={self.track_running_stats}')


class _BatchNorm(_NormBase):
    """Zero mean and unit variance over all dimensions but the channels of (N, num_features, …).

    momentum is the weight of a new batch in the running statistics; with None they are the mean over all batches.
    """

    def _count(self):
        """Counts a batch and returns its weight in the running statistics."""
        counted = self.num_batches_tracked
        counted += 1
        return 1.0 / counted.item() if self.momentum is None else self.momentum

    def forward(self, input):
        self._check_input_dim(input)
        mean, variance = self.running_mean, self.running_var
        if not self.training:
            function = F.batch_norm if mean is None or variance is None else _batch_norm  # which checks for the remaining errors
            return function(input, mean, variance, self.weight, self.bias, mean is None and variance is None, 0.0, self.eps)
        if self.track_running_stats:
            return F.batch_norm(input, mean, variance, self.weight, self.bias, True, self._count(), self.eps)
        return F.batch_norm(input, None, None, self.weight, self.bias, True, 0.0, self.eps)


BatchNorm1d, BatchNorm2d, BatchNorm3d = family(__name__, _BatchNorm, _ranks=lambda n: (2, 3) if n == 1 else (n + 2,))


class SyncBatchNorm(_BatchNorm):
    """BatchNorm of any rank over the batches of all processes of a group, which here has one."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.ndim < 2:
            raise InvalidArgumentError(f'[SyncBatchNorm] input has rank {input.ndim}, must be at least 2')

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with a SyncBatchNorm of the same tensors in place of each BatchNorm."""
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            made = cls.__new__(cls)
            made.__dict__.update(module.__dict__, process_group=process_group)
            return made
        for name, part in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(part, process_group))
        return module


class _LazyNormMixin(LazyModuleMixin):
    """A normalisation that infers num_features from its first input."""

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight, self.bias = waiting(True, device, dtype), waiting(bias, device, dtype)
        if track_running_stats:
            self.running_mean, self.running_var = waiting_buffer(device, dtype), waiting_buffer(device, dtype)
            self.num_batches_tracked = ops['full']((), 0, tenon.int64, device)

    def initialize_parameters(self, input):
        self.num_features = input.shape[self._channel_dim(input)]
        self._materialize(dict.fromkeys(('weight', 'bias', 'running_mean', 'running_var'), (self.num_features,)))

    def _channel_dim(self, input):
        return 1

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()  # pyright: ignore[reportAttributeAccessIssue] that of the other base


def lazy_norm(where, base):
    """The class that turns into `base` with its first input."""
    return type('Lazy' + base.__name__, (_LazyNormMixin, base), {
        'cls_to_become': base, '__module__': where, '__doc__': f'{base.__name__} that takes num_features from its first input.'})


LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (lazy_norm(__name__, base) for base in (BatchNorm1d, BatchNorm2d, BatchNorm3d))
