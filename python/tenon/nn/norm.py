"""Normalisations."""
from __future__ import annotations

import tenon
from .._core import Tensor, ops
from .._errors import InvalidArgumentError
from . import functional as F
from ._check import check_groups, check_size, check_sizes, check_tensor
from .module import Module, Parameter


def _ones(shape):
    return ops['full'](shape, 1.0)


def _zeros(shape):
    return ops['full'](shape, 0.0)


class BatchNorm(Module):
    """Over all dimensions but the channels of (N, num_features, …); one class serves every rank.

    `momentum` is the weight of a new batch in the running statistics. Parameters: weight, bias; buffers: running_mean,
    running_var, num_batches_tracked.

    >>> tenon.nn.BatchNorm(3)(tenon.ones((4, 3, 2, 2))).shape
    (4, 3, 2, 2)
    """

    running_mean: Tensor | None
    running_var: Tensor | None

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        check_size('BatchNorm', 'num_features', num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape = (num_features,)
        self.weight = Parameter(_ones(shape)) if affine else None
        self.bias = Parameter(_zeros(shape)) if affine else None
        self.register_buffer('running_mean', _zeros(shape) if track_running_stats else None)
        self.register_buffer('running_var', _ones(shape) if track_running_stats else None)
        self.register_buffer('num_batches_tracked', tenon.tensor(0, dtype=tenon.int64) if track_running_stats else None)

    # Files from before it was counted lack it.
    _may_be_missing = ('num_batches_tracked',)

    def forward(self, x):
        check_tensor('BatchNorm', x)
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise InvalidArgumentError(f'[BatchNorm] x has shape {x.shape}, must be (N, {self.num_features}, …)')
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked += 1
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum,
                            self.eps)

    def extra_repr(self):
        return (f'{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, '
                f'track_running_stats={self.track_running_stats}')


BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm


def _check_shape(where, shape):
    """(4,) for 4."""
    shape = check_sizes(where, 'normalized_shape', shape)
    return shape if isinstance(shape, tuple) else (shape,)


class LayerNorm(Module):
    """Over the last dimensions, those of `normalized_shape`. Parameters: weight, bias of that shape.

    >>> tenon.nn.LayerNorm(4)(tenon.ones((2, 4))).tolist()[0]
    [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        super().__init__()
        shape = _check_shape('LayerNorm', normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.weight = Parameter(_ones(shape)) if elementwise_affine else None
        self.bias = Parameter(_zeros(shape)) if elementwise_affine and bias else None

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f'{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}'


class RMSNorm(Module):
    """By the root of the mean square, over the dimensions of `normalized_shape`. Parameter: weight of that shape.

    `eps` defaults to that of x's dtype.
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        shape = _check_shape('RMSNorm', normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.weight = Parameter(_ones(shape)) if elementwise_affine else None

    def forward(self, input):
        check_tensor('RMSNorm', input)
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f'{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}'


class GroupNorm(Module):
    """Over groups of channels of (N, num_channels, …). Parameters: weight, bias (num_channels)."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        check_size('GroupNorm', 'num_groups', num_groups, 1)
        check_size('GroupNorm', 'num_channels', num_channels)
        check_groups('GroupNorm', (num_channels,), num_groups)
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = Parameter(_ones((num_channels,))) if affine else None
        self.bias = Parameter(_zeros((num_channels,))) if affine else None

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f'{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}'
