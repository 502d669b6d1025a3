"""Normalisation of each channel of each example."""
from ...._core import ops
from ...._errors import InvalidArgumentError
from .. import functional as F
from ._make import family
from .batchnorm import _NormBase, lazy_norm


class _InstanceNorm(_NormBase):
    """Zero mean and unit variance for each channel of each example of (N, num_features, …) or (num_features, …)."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _channel_dim(self, input):
        return input.ndim - self._dims - 1

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Running statistics that a state has but this module does not keep are an error."""
        if not self.track_running_stats:
            given = [prefix + name for name in ('running_mean', 'running_var') if prefix + name in state_dict]
            if given and local_metadata.get('version') is None:
                error_msgs.append(f'{", ".join(given)}: {type(self).__name__} keeps no running statistics, unless made with '
                                  'track_running_stats=True; leave them out of the state')
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def forward(self, input):
        if input.ndim not in (self._dims + 1, self._dims + 2):
            raise InvalidArgumentError(f'[{type(self).__name__}] input has rank {input.ndim}, must be {self._dims + 1} or {self._dims + 2}')
        channels = input.shape[self._channel_dim(input)]
        if channels != self.num_features and self.affine:
            raise InvalidArgumentError(f'[{type(self).__name__}] input has {channels} channels, must be {self.num_features}')
        single = input.ndim == self._dims + 1
        x = ops['unsqueeze'](input, 0) if single else input
        own = self.training or not self.track_running_stats
        found = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, self.momentum or 0.0, self.eps)
        return ops['squeeze'](found, 0) if single else found


InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = family(__name__, _InstanceNorm)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    lazy_norm(__name__, base) for base in (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d))
