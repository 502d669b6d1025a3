"""Modules with PyTorch's arguments. Those without parameters are functions of nn.functional that keep their options."""
import inspect
import math
from typing import Any

import tenon

from ... import nn as _nn
from ..._core import Tensor, ops
from ...nn import Module, Parameter
from . import functional as F


def _module(name, function, inputs=1, skip=(), order=None):
    """A module that keeps the options of a function, those behind its inputs, and calls it."""
    taken = {each.name: each for each in list(inspect.signature(function).parameters.values())[inputs:]
             if each.name not in (*skip, '_stacklevel', 'dtype')}
    in_training = 'training' in taken
    taken.pop('training', None)
    names = order.split() if order else list(taken)
    signature = inspect.Signature([taken[each] for each in names])

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f'[{name}] {error}: its arguments are {", ".join(names)}') from None
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            if key in ('weight', 'pos_weight'):
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    def forward(self, *inputs):
        options = {key: getattr(self, key) for key in names}
        if in_training:
            options['training'] = self.training
        return function(*inputs, **options)

    def extra_repr(self):
        return ', '.join(f'{key}={getattr(self, key)!r}' for key in names
                         if not isinstance(getattr(self, key), Tensor) and getattr(self, key) != taken[key].default)
    return type(name, (Module,), {'__init__': __init__, 'forward': forward, 'extra_repr': extra_repr, '__module__': __name__,
                                  '__doc__': f'{function.__doc__} See nn.functional.{function.__name__}.',
                                  '__signature__': signature})


ReLU, ReLU6, ELU, CELU, SELU, SiLU, Mish, GELU = (_module(name, getattr(F, name.lower())) for name in (
    'ReLU', 'ReLU6', 'ELU', 'CELU', 'SELU', 'SiLU', 'Mish', 'GELU'))
Hardtanh, Hardshrink, Softshrink, Tanhshrink, Softsign, Hardsigmoid, Hardswish, Softplus, Threshold, GLU = (
    _module(name, getattr(F, name.lower())) for name in (
        'Hardtanh', 'Hardshrink', 'Softshrink', 'Tanhshrink', 'Softsign', 'Hardsigmoid', 'Hardswish', 'Softplus', 'Threshold', 'GLU'))
LeakyReLU, RReLU, LogSigmoid = _module('LeakyReLU', F.leaky_relu), _module('RReLU', F.rrelu), _module('LogSigmoid', F.logsigmoid)
Softmax, LogSoftmax, Softmin = _module('Softmax', F.softmax), _module('LogSoftmax', F.log_softmax), _module('Softmin', F.softmin)
Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout = (_module(name, function) for name, function in (
    ('Dropout', F.dropout), ('Dropout1d', F.dropout1d), ('Dropout2d', F.dropout2d), ('Dropout3d', F.dropout3d),
    ('AlphaDropout', F.alpha_dropout), ('FeatureAlphaDropout', F.feature_alpha_dropout)))

_MAX = 'kernel_size stride padding dilation return_indices ceil_mode'
MaxPool1d, MaxPool2d, MaxPool3d = (_module(f'MaxPool{n}d', getattr(F, f'max_pool{n}d'), order=_MAX) for n in (1, 2, 3))
AvgPool1d, AvgPool2d, AvgPool3d = (_module(f'AvgPool{n}d', getattr(F, f'avg_pool{n}d')) for n in (1, 2, 3))
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = (_module(f'AdaptiveAvgPool{n}d', getattr(F, f'adaptive_avg_pool{n}d')) for n in (1, 2, 3))
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = (_module(f'AdaptiveMaxPool{n}d', getattr(F, f'adaptive_max_pool{n}d')) for n in (1, 2, 3))
FractionalMaxPool2d, FractionalMaxPool3d = (_module(f'FractionalMaxPool{n}d', getattr(F, f'fractional_max_pool{n}d')) for n in (2, 3))
LPPool1d, LPPool2d, LPPool3d = (_module(f'LPPool{n}d', getattr(F, f'lp_pool{n}d')) for n in (1, 2, 3))
Upsample, PixelShuffle, PixelUnshuffle, ChannelShuffle = (_module(name, function, skip=('antialias',)) for name, function in (
    ('Upsample', F.interpolate), ('PixelShuffle', F.pixel_shuffle), ('PixelUnshuffle', F.pixel_unshuffle), ('ChannelShuffle', F.channel_shuffle)))
Fold, Unfold, LocalResponseNorm = _module('Fold', F.fold), _module('Unfold', F.unfold), _module('LocalResponseNorm', F.local_response_norm)
CosineSimilarity, PairwiseDistance = _module('CosineSimilarity', F.cosine_similarity, 2), _module('PairwiseDistance', F.pairwise_distance, 2)

L1Loss, MSELoss, SmoothL1Loss, HuberLoss = (_module(name, function, 2, ('weight',)) for name, function in (
    ('L1Loss', F.l1_loss), ('MSELoss', F.mse_loss), ('SmoothL1Loss', F.smooth_l1_loss), ('HuberLoss', F.huber_loss)))
CrossEntropyLoss, NLLLoss, BCELoss, BCEWithLogitsLoss, KLDivLoss, PoissonNLLLoss = (_module(name, function, 2) for name, function in (
    ('CrossEntropyLoss', F.cross_entropy), ('NLLLoss', F.nll_loss), ('BCELoss', F.binary_cross_entropy),
    ('BCEWithLogitsLoss', F.binary_cross_entropy_with_logits), ('KLDivLoss', F.kl_div), ('PoissonNLLLoss', F.poisson_nll_loss)))
HingeEmbeddingLoss, SoftMarginLoss, MultiMarginLoss, MultiLabelMarginLoss, MultiLabelSoftMarginLoss = (_module(name, function, 2) for name, function in (
    ('HingeEmbeddingLoss', F.hinge_embedding_loss), ('SoftMarginLoss', F.soft_margin_loss), ('MultiMarginLoss', F.multi_margin_loss),
    ('MultiLabelMarginLoss', F.multilabel_margin_loss), ('MultiLabelSoftMarginLoss', F.multilabel_soft_margin_loss)))
GaussianNLLLoss, MarginRankingLoss, CosineEmbeddingLoss, TripletMarginLoss, TripletMarginWithDistanceLoss = (
    _module(name, function, 3) for name, function in (
        ('GaussianNLLLoss', F.gaussian_nll_loss), ('MarginRankingLoss', F.margin_ranking_loss), ('CosineEmbeddingLoss', F.cosine_embedding_loss),
        ('TripletMarginLoss', F.triplet_margin_loss), ('TripletMarginWithDistanceLoss', F.triplet_margin_with_distance_loss)))


NLLLoss2d = NLLLoss


class UpsamplingNearest2d(Upsample):
    """Upsample by the nearest pixel."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, 'nearest')


class UpsamplingBilinear2d(Upsample):
    """Upsample by straight lines between the corners' pixels."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, 'bilinear', True)


class CTCLoss(Module):
    """See nn.functional.ctc_loss."""

    def __init__(self, blank=0, reduction='mean', zero_infinity=False):
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


class Softmax2d(Module):
    """softmax() over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.ndim not in (3, 4):
            raise ValueError(f'[Softmax2d] input has rank {input.ndim}, must be 3 or 4')
        return F.softmax(input, -3)


class Identity(_nn.Identity):
    """Gives back its input; takes any arguments."""

    def __init__(self, *args, **kwargs):
        super().__init__()


def _unpooling(n):
    function = getattr(F, f'max_unpool{n}d')

    def __init__(self, kernel_size, stride=None, padding=0):
        Module.__init__(self)
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, input, indices, output_size=None):
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)
    return type(f'MaxUnpool{n}d', (Module,), {'__init__': __init__, 'forward': forward, '__module__': __name__, '__doc__': function.__doc__})


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = map(_unpooling, (1, 2, 3))


def _padding(name, n, mode):
    """Padding of the last n dimensions: a number for all sides, or one for each."""
    def __init__(self, padding, *value):
        Module.__init__(self)
        if len(value) != (name.startswith('Constant')):
            raise TypeError(f'[{name}] takes padding' + (' and a value' if name.startswith('Constant') else ''))
        self.padding = (padding,) * (2 * n) if isinstance(padding, int) else tuple(padding)
        self.value = value[0] if value else 0.0

    def forward(self, input):
        return F.pad(input, self.padding, mode, self.value if mode == 'constant' else None)

    def extra_repr(self):
        return f'padding={self.padding}'
    return type(name, (Module,), {'__init__': __init__, 'forward': forward, 'extra_repr': extra_repr, '__module__': __name__, '__doc__': _padding.__doc__})


ZeroPad1d, ZeroPad2d, ZeroPad3d = (_padding(f'ZeroPad{n}d', n, 'constant') for n in (1, 2, 3))
ConstantPad1d, ConstantPad2d, ConstantPad3d = (_padding(f'ConstantPad{n}d', n, 'constant') for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_padding(f'ReflectionPad{n}d', n, 'reflect') for n in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (_padding(f'ReplicationPad{n}d', n, 'replicate') for n in (1, 2, 3))
CircularPad1d, CircularPad2d, CircularPad3d = (_padding(f'CircularPad{n}d', n, 'circular') for n in (1, 2, 3))


# Modules with parameters: tenon's, on a device and with a dtype from the start ------------------------------------------------------

def _place(module, device, dtype):
    if device is not None or dtype is not None:
        module.to(device=device, dtype=dtype)


def _placed(base, name=None):
    """A module of tenon that also takes device= and dtype=."""
    def __init__(self, *args, device=None, dtype=None, **kwargs):
        base.__init__(self, *args, **kwargs)
        _place(self, device, dtype)
    return type(name or base.__name__, (base,), {'__init__': __init__, '__module__': __name__, '__doc__': base.__doc__})


Linear, LayerNorm, RMSNorm, GroupNorm = (_placed(base) for base in (_nn.Linear, _nn.LayerNorm, _nn.RMSNorm, _nn.GroupNorm))
BatchNorm1d, BatchNorm2d, BatchNorm3d = (_placed(_nn.BatchNorm1d, f'BatchNorm{n}d') for n in (1, 2, 3))


def _conv(n):
    base, function = getattr(_nn, f'Conv{n}d'), getattr(F, f'conv{n}d')

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode='zeros', device=None, dtype=None):
        if padding_mode not in ('zeros', 'reflect', 'replicate', 'circular'):
            raise ValueError(f"[Conv{n}d] padding_mode is 'zeros', 'reflect', 'replicate' or 'circular', not {padding_mode!r}")
        named = isinstance(padding, str)
        base.__init__(self, in_channels, out_channels, kernel_size, stride, 0 if named else padding, dilation, groups, bias)
        if named:
            self.padding = padding
        self.padding_mode = padding_mode
        _place(self, device, dtype)

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != 'zeros':
            kernel, dilation = self.weight.shape[2:], (self.dilation if isinstance(self.dilation, tuple) else (self.dilation,) * n)
            whole = [d * (k - 1) for d, k in zip(dilation, kernel)] if padding == 'same' else None
            each = padding if isinstance(padding, tuple) else (padding,) * n
            sides = [(w // 2, w - w // 2) for w in whole] if whole else [(p, p) for p in each] if padding != 'valid' else [(0, 0)] * n
            input = F.pad(input, [p for side in reversed(sides) for p in side], self.padding_mode)
            padding = 0
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)
    return type(f'Conv{n}d', (base,), {'__init__': __init__, 'forward': forward, '__module__': __name__, '__doc__': base.__doc__})


Conv1d, Conv2d, Conv3d = map(_conv, (1, 2, 3))


def _conv_transpose(n):
    base, function = getattr(_nn, f'ConvTranspose{n}d'), getattr(F, f'conv_transpose{n}d')

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode='zeros', device=None, dtype=None):
        if padding_mode != 'zeros':
            raise ValueError(f"[ConvTranspose{n}d] padding_mode is 'zeros', not {padding_mode!r}")
        base.__init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation)
        _place(self, device, dtype)

    def forward(self, input, output_size=None):
        extra = self.output_padding
        if output_size is not None:
            stride, padding, dilation = (each if isinstance(each, tuple) else (each,) * n for each in (self.stride, self.padding, self.dilation))
            least = [(m - 1) * s - 2 * p + d * (k - 1) + 1
                     for m, s, p, d, k in zip(input.shape[-n:], stride, padding, dilation, self.weight.shape[2:])]
            extra = tuple(want - have for want, have in zip(tuple(output_size)[-n:], least))
        return function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)
    return type(f'ConvTranspose{n}d', (base,), {'__init__': __init__, 'forward': forward, '__module__': __name__, '__doc__': base.__doc__})


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = map(_conv_transpose, (1, 2, 3))


class Embedding(_nn.Embedding):
    """Rows of a weight (num_embeddings, embedding_dim) by an index."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__(num_embeddings, embedding_dim, None if padding_idx is None else padding_idx % num_embeddings)
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        if _weight is not None:
            self.weight = Parameter(_weight, not _freeze)
        _place(self, device, dtype)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
        """A layer with given rows, which are not trained unless freeze=False."""
        rows, width = embeddings.shape
        return cls(rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def forward(self, index):
        return F.embedding(index, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)


class EmbeddingBag(Module):
    """Sums, means or maxima over bags of rows of a weight."""

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.include_last_offset = mode, include_last_offset
        self.weight = Parameter(ops['normal']((num_embeddings, embedding_dim)) if _weight is None else _weight)
        if padding_idx is not None and _weight is None:
            with tenon.no_grad():
                self.weight[padding_idx] = 0
        _place(self, device, dtype)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, False,
                               per_sample_weights, self.include_last_offset, self.padding_idx)


class PReLU(Module):
    """leaky_relu() with learned slopes: one, or one for each channel."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(ops['full']((num_parameters,), init, dtype or tenon.float32, device))

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f'num_parameters={self.num_parameters}'


class Bilinear(Module):
    """x₁ weight x₂ + bias."""

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        bound = 1 / math.sqrt(in1_features)
        self.weight = Parameter(ops['uniform']((out_features, in1_features, in2_features), -bound, bound))
        self.bias = Parameter(ops['uniform']((out_features,), -bound, bound)) if bias else None
        _place(self, device, dtype)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)


class _InstanceNorm(Module):
    """Zero mean and unit variance over each channel of each example."""

    _rank = 0
    _buffer_names = ()
    running_mean: Any
    running_var: Any

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None):
        super().__init__()
        self.num_features, self.eps, self.momentum, self.track_running_stats = num_features, eps, momentum, track_running_stats
        self.weight = Parameter(ops['full']((num_features,), 1.0)) if affine else None
        self.bias = Parameter(ops['full']((num_features,), 0.0)) if affine else None
        self.register_buffer('running_mean', ops['full']((num_features,), 0.0) if track_running_stats else None)
        self.register_buffer('running_var', ops['full']((num_features,), 1.0) if track_running_stats else None)
        if track_running_stats:
            self.register_buffer('num_batches_tracked', ops['full']((), 0, tenon.int64))
        _place(self, device, dtype)

    def forward(self, input):
        if input.ndim not in (self._rank + 1, self._rank + 2):
            raise ValueError(f'[{type(self).__name__}] input has rank {input.ndim}, must be {self._rank + 1} or {self._rank + 2}')
        single = input.ndim == self._rank + 1
        x = ops['unsqueeze'](input, 0) if single else input
        found = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                                self.training or not self.track_running_stats, self.momentum, self.eps)
        return ops['squeeze'](found, 0) if single else found

    def extra_repr(self):
        return f'{self.num_features}, eps={self.eps}, momentum={self.momentum}'


InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = (
    type(f'InstanceNorm{n}d', (_InstanceNorm,), {'_rank': n, '__module__': __name__, '__doc__': _InstanceNorm.__doc__}) for n in (1, 2, 3))

__all__ = [name for name, value in list(globals().items())  # pyright: ignore[reportUnsupportedDunderAll]
           if isinstance(value, type) and issubclass(value, Module) and name[0] != '_' and name != 'Module']
