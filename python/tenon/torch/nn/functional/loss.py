"""Losses; reduction is 'mean', 'sum' or 'none'; size_average and reduce are its older spelling."""
import math
import warnings

from .... import _core
from ...._errors import InvalidArgumentError, UnsupportedDtypeError
from ....nn import functional as _functional
from ...._core import ops
from ..._backward_names import named
from ..._common import Tensor, autocasting, cast, check, differentiated, floating, in_float32, promoted, rank, broken
from ...matrix import distance

_where = ops['where']


def _reduction(reduction, size_average=None, reduce=None, more=()):
    if size_average is not None or reduce is not None:
        for name, value in ('size_average', size_average), ('reduce', reduce):
            if isinstance(value, Tensor):  # such as a mask in third place
                raise InvalidArgumentError(f'[loss] {name} must be a bool, not a Tensor: pass weights by name')
        reduction = 'none' if reduce is False else 'sum' if size_average is False else 'mean'
    if reduction not in ('none', 'mean', 'sum', *more):
        raise InvalidArgumentError(f"[loss] reduction is 'none', 'mean' or 'sum', not {reduction!r}")
    return reduction


def _reduced(x, reduction):
    if reduction == 'none':
        return x
    return ops['mean'](x) if reduction == 'mean' else ops['sum'](x)


def _pair(name, input, target):
    """Both in their common shape and dtype."""
    from ...shape import broadcast_tensors
    if check(input, name).shape != check(target, name).shape:
        warnings.warn(f'[{name}] input has shape {input.shape}, target {target.shape}: they broadcast, which is seldom meant', stacklevel=4)
        input, target = broadcast_tensors(input, target)  # first: then one of rank 0 counts for the dtype like the other
    return promoted(input, target)


@in_float32
def mse_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None):
    """(x - target)²."""
    reduction = _reduction(reduction, size_average, reduce)
    x, target = _pair('mse_loss', input, target)
    if weight is None and rank(x.dtype) == 2:
        return ops['mse_loss'](x, target, reduction)
    gap = x - target
    return _weighted(gap * gap, weight, reduction)


def _weighted(x, weight, reduction):
    if weight is None:
        return _reduced(x, reduction)
    x = x * weight
    return ops['sum'](x) / ops['sum'](weight * ops['full_like'](x.detach(), 1)) if reduction == 'mean' else _reduced(x, reduction)


@in_float32
def l1_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None):
    """|x - target|."""
    reduction = _reduction(reduction, size_average, reduce)
    x, target = _pair('l1_loss', input, target)
    if weight is None and rank(x.dtype) == 2:
        return ops['l1_loss'](x, target, reduction)
    return _weighted(ops['abs'](x - target), weight, reduction)


@in_float32
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction='mean', beta=1.0):
    """Squared below beta, absolute above."""
    if beta < 0:
        raise InvalidArgumentError(f'[smooth_l1_loss] beta {beta} must not be negative')
    reduction = _reduction(reduction, size_average, reduce)
    x, target = _pair('smooth_l1_loss', input, target)
    if rank(x.dtype) == 2:
        return ops['smooth_l1_loss'](x, target, reduction, beta)
    size = ops['abs'](x - target)
    return _reduced(_where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


@in_float32
def huber_loss(input, target, reduction='mean', delta=1.0, weight=None):
    """Squared below delta, absolute above, without a step in the slope."""
    if delta <= 0:
        raise InvalidArgumentError(f'[huber_loss] delta {delta} must be positive')
    reduction = _reduction(reduction)
    x, target = _pair('huber_loss', input, target)
    if weight is None and rank(x.dtype) == 2:
        return ops['huber_loss'](x, target, reduction, delta)
    size = ops['abs'](x - target)
    return _weighted(_where(size <= delta, size * size * 0.5, delta * (size - 0.5 * delta)), weight, reduction)


def _same_shape(name, input, target):
    if check(input).shape != check(target).shape:
        raise InvalidArgumentError(f'[{name}] shapes {input.shape} and {target.shape} differ')


@in_float32
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction='mean'):
    """For probabilities; logarithms are clamped to at least -100."""
    _same_shape('binary_cross_entropy', input, target)
    if rank(input.dtype) != 2:
        raise UnsupportedDtypeError(f'[binary_cross_entropy] needs floating numbers, not {input.dtype}')
    if broken((input < 0) | (input > 1)):
        raise InvalidArgumentError('[binary_cross_entropy] needs probabilities from 0 to 1')
    found = ops['bce_loss'](input, target, weight, _reduction(reduction, size_average, reduce))
    return named(found, 'BinaryCrossEntropyBackward0', input, target)


@in_float32
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None):
    """For logits, without overflow; pos_weight weights the positive examples."""
    _same_shape('binary_cross_entropy_with_logits', input, target)
    low = ops['log_sigmoid'](input)
    if pos_weight is None:
        found = (1 - target) * input - low
    else:
        found = (1 - target) * input - (1 + (pos_weight - 1) * target) * low
    found = _reduced(found if weight is None else found * weight, _reduction(reduction, size_average, reduce))
    return named(found, 'BinaryCrossEntropyWithLogitsBackward0', input, target)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'):
    """For log-probabilities (N, C, …) or (C,) and labels (N, …) or ()."""
    reduction = _reduction(reduction, size_average, reduce)
    if not check(input).ndim or check(target).ndim != max(input.ndim - 1, 0):
        raise InvalidArgumentError(f'[nll_loss] shapes {input.shape} and {target.shape} do not fit')
    if input.ndim == 1:
        found = _functional.nll_loss(ops['unsqueeze'](input, 0), ops['unsqueeze'](target, 0), weight, ignore_index, reduction)
        return ops['squeeze'](found, 0) if reduction == 'none' else found
    return _functional.nll_loss(input, target, weight, ignore_index, reduction)


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0):
    """For logits (N, C, …) or (C,) and labels (N, …) or (), or probabilities in the shape of the logits."""
    reduction = _reduction(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise InvalidArgumentError(f'[cross_entropy] label_smoothing {label_smoothing} must be 0 to 1')
    if check(input).ndim == 1:
        found = _functional.cross_entropy(ops['unsqueeze'](input, 0), ops['unsqueeze'](target, 0), weight, ignore_index, reduction, label_smoothing)
        found = ops['squeeze'](found, 0) if reduction == 'none' else found
    else:
        found = _functional.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
        if input.ndim > 2 and not target.dtype.is_floating_point and (input.ndim == 4 or reduction != 'none'):
            found = named(found, 'NllLoss2DBackward0')
    return found if autocasting(input) else found.to(input.dtype)  # halves give f32, as they do under autocast


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction='mean', ignore_index=None,
                         label_smoothing=0.0, options=None):
    """cross_entropy() of linear(input); linear_weight (C, …, in). options, which trade memory for speed, have no effect."""
    if check(input).ndim not in (1, 2) or check(linear_weight).ndim < 2 or linear_weight.shape[-1] != input.shape[-1]:
        raise InvalidArgumentError(f'[linear_cross_entropy] input {input.shape} and linear_weight {linear_weight.shape} do not fit')
    outer, width = tuple(linear_weight.shape[:-1]), linear_weight.shape[-1]
    if len(outer) > 1 and input.ndim == 1:
        raise InvalidArgumentError(f'[linear_cross_entropy] linear_weight {linear_weight.shape} needs a batch')
    if ignore_index is not None and rank(check(target).dtype) == 2:
        raise InvalidArgumentError('[linear_cross_entropy] ignore_index is for labels')
    if linear_bias is not None and linear_bias.shape != outer:
        raise InvalidArgumentError(f'[linear_cross_entropy] linear_bias has shape {linear_bias.shape}, must be {outer}')
    bias = None if linear_bias is None else ops['reshape'](linear_bias, (linear_bias.size,))
    logits = ops['linear'](input, ops['reshape'](linear_weight, (math.prod(outer), width)), bias)
    logits = ops['reshape'](logits, (*input.shape[:-1], *outer))
    return cross_entropy(logits, target, weight, None, -100 if ignore_index is None else ignore_index, None, reduction, label_smoothing)


@in_float32
def kl_div(input, target, size_average=None, reduce=None, reduction='mean', log_target=False):
    """target · (log target - x), where x are log-probabilities; 'batchmean' divides the sum by the first dimension's size."""
    reduction = _reduction(reduction, size_average, reduce, ('batchmean',))
    if rank(check(input).dtype) != 2 or rank(check(target).dtype) != 2:
        raise UnsupportedDtypeError(f'[kl_div] needs floating numbers, not {input.dtype} and {target.dtype}')
    input, target = promoted(input, target)
    if log_target:
        found = ops['exp'](target) * (target - input)
    else:
        from ...arithmetic import xlogy
        found = xlogy(target, target) - target * input
    if reduction == 'batchmean':
        return ops['sum'](found) / (input.shape[0] if input.ndim else 1)
    return _reduced(found, reduction)


@in_float32
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'):
    """exp(x) - target · x, or x - target · log(x + eps); full: with Stirling's term."""
    reduction = _reduction(reduction, size_average, reduce)
    input, target = promoted(input, target)
    found = ops['exp'](input) - target * input if log_input else input - target * ops['log'](input + eps)
    if full:
        more = target * ops['log'](target) - target + 0.5 * ops['log'](2 * math.pi * target)
        found = found + _where(target <= 1, 0, more)
    return _reduced(found, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction='mean'):
    """(log var + (x - target)² / var) / 2; full: with the constant."""
    if not isinstance(var, Tensor):
        if var < 0:
            raise InvalidArgumentError('[gaussian_nll_loss] var must not be negative')
        var = ops['full'](check(input).shape, var, input.dtype, input.device)
    elif broken(var < 0):
        raise InvalidArgumentError('[gaussian_nll_loss] var must not be negative')
    if var.shape != input.shape:
        if var.shape == input.shape[:-1]:
            var = ops['unsqueeze'](var, -1)
        elif var.ndim != input.ndim or any(a not in (1, b) for a, b in zip(var.shape, input.shape)):
            raise InvalidArgumentError(f'[gaussian_nll_loss] var has shape {var.shape}, input {input.shape}')
    held = ops['clamp'](var.detach(), eps)
    var = var + (held - var).detach()
    found = 0.5 * (ops['log'](var) + (input - target) ** 2 / var)
    return _reduced(found + 0.5 * math.log(2 * math.pi) if full else found, _reduction(reduction))


@in_float32
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction='mean'):
    """x where target is 1, max(0, margin - x) where it is -1."""
    input, target = promoted(input, target)
    zero = ops['full']((), 0, input.dtype, input.device)
    near = _where(target != 1, ops['relu'](margin - input), zero)  # of slope 0 where they meet
    return _reduced(near + _where(target != -1, input, zero), _reduction(reduction, size_average, reduce))


@in_float32
def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'):
    """max(0, -target · (x₁ - x₂) + margin)."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise InvalidArgumentError(f'[margin_ranking_loss] ranks {input1.ndim}, {input2.ndim} and {target.ndim} differ')
    return _reduced(_above_0(-target * (input1 - input2) + margin), _reduction(reduction, size_average, reduce))


def _above_0(x):
    """max(0, x) with a slope of 1 at 0, as in PyTorch's clamp."""
    if not differentiated(x):
        return ops['clamp'](x, 0.0)
    return _where(x < 0, ops['full']((), 0, x.dtype, x.device), x)


@in_float32
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction='mean'):
    """log(1 + exp(-target · x))."""
    reduction = _reduction(reduction, size_average, reduce)
    input, target = promoted(input, target)
    return named(_reduced(-ops['log_sigmoid'](target * input), reduction), 'SoftMarginLossBackward0', input)


@in_float32
def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1, for vectors (N, D) or (D,)."""
    if input1.ndim != input2.ndim or target.ndim + 1 != input1.ndim or target.ndim > 1:
        raise InvalidArgumentError(f'[cosine_embedding_loss] shapes {input1.shape}, {input2.shape} and {target.shape} do not fit')
    eps = 1e-12
    input1, input2 = map(floating, promoted(input1, input2))
    products = (ops['sum'](a * b, -1) for a, b in ((input1, input2), (input1, input1), (input2, input2)))
    top, first, second = products
    cosine = top / ops['sqrt']((first + eps) * (second + eps))
    zero = ops['full']((), 0, cosine.dtype, cosine.device)
    found = _where(target == 1, 1 - cosine, zero) + _where(target == -1, _above_0(cosine - margin), zero)
    return _reduced(found, _reduction(reduction, size_average, reduce))


@in_float32
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction='mean'):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with p-norm distances."""
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise InvalidArgumentError(f'[triplet_margin_loss] ranks {anchor.ndim}, {positive.ndim} and {negative.ndim} differ')
    if margin <= 0:
        raise InvalidArgumentError(f'[triplet_margin_loss] margin {margin} must be positive')

    def apart(a, b):
        return distance((a - b if rank(a.dtype) > 1 else cast(a - b, _core.float32)) + eps, p)
    return _triplet(apart, anchor, positive, negative, margin, swap, _reduction(reduction, size_average, reduce))


def _triplet(apart, anchor, positive, negative, margin, swap, reduction):
    near, far = apart(anchor, positive), apart(anchor, negative)
    if swap:
        far = ops['minimum'](far, apart(positive, negative))
    return _reduced(_above_0(near - far + margin), reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction='mean'):
    """triplet_margin_loss() with any distance."""
    from .distance import pairwise_distance
    if margin <= 0:
        raise InvalidArgumentError(f'[triplet_margin_with_distance_loss] margin {margin} must be positive')
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise InvalidArgumentError(f'[triplet_margin_with_distance_loss] ranks {anchor.ndim}, {positive.ndim} and {negative.ndim} differ')
    return _triplet(distance_function or pairwise_distance, anchor, positive, negative, margin, swap, _reduction(reduction))


def _classes(name, input, target, many):
    """x (N, C), labels (N,) or, with many, (N, C); and whether there was a batch."""
    if check(input).ndim not in (1, 2) or not input.shape[-1]:
        raise InvalidArgumentError(f'[{name}] input has shape {input.shape}, must be (N, C) or (C,)')
    single = input.ndim == 1
    want = tuple(input.shape) if many else tuple(input.shape[:-1])
    if target.shape != want and not (single and not many and target.shape == (1,)):
        raise InvalidArgumentError(f'[{name}] target has shape {target.shape}, must be {want}')
    if single:
        target = ops['reshape'](target, (1, *input.shape) if many else (1,))
        input = ops['unsqueeze'](input, 0)
    return input, target, single


@in_float32
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean'):
    """Σ max(0, margin - x[label] + x[i])^p / C over the other classes."""
    if p not in (1, 2):
        raise InvalidArgumentError(f'[multi_margin_loss] p is 1 or 2, not {p}')
    scalar = check(input).ndim == 0
    if scalar:
        input = ops['reshape'](input, (1,))
    if weight is not None and weight.shape != (input.shape[-1],):
        raise InvalidArgumentError(f'[multi_margin_loss] weight has shape {weight.shape} for {input.shape[-1]} classes')
    x, label, single = _classes('multi_margin_loss', input, target, False)
    at = ops['unsqueeze'](label, 1)
    gap = _above_0(margin - ops['gather'](x, 1, at) + x)
    gap = gap if p == 1 else ops['square'](gap)
    if weight is not None:
        gap = gap * ops['unsqueeze'](ops['take'](weight, label), 1)
    own = ops['arange'](0, x.shape[1], 1, label.dtype, x.device) == at
    found = ops['sum'](_where(own, 0, gap), 1) / x.shape[1]
    found = _reduced(ops['squeeze'](found, 0) if single else found, _reduction(reduction, size_average, reduce))
    return named(found, 'MultiMarginLossBackward0', input)


@in_float32
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction='mean'):
    """Σ max(0, 1 - x[label] + x[i]) / C over labels, which end at the first -1, and over classes that are not among them."""
    reduction = _reduction(reduction, size_average, reduce)
    scalar = check(input).ndim == 0
    if scalar:
        input, target = ops['reshape'](input, (1,)), ops['reshape'](target, (1,))
    x, labels, single = _classes('multilabel_margin_loss', input, target, True)
    valid = ops['cumsum'](cast(labels < 0, _core.int64), 1) == 0
    at = _where(valid, labels, 0)
    classes = ops['arange'](0, x.shape[1], 1, labels.dtype, x.device)
    is_label = ops['any']((ops['unsqueeze'](at, -1) == classes) & ops['unsqueeze'](valid, -1), 1)  # (N, C)
    gap = _above_0(1 - ops['unsqueeze'](ops['gather'](x, 1, at), -1) + ops['unsqueeze'](x, 1))  # (N, labels, C)
    counted = ops['unsqueeze'](valid, -1) & ~ops['unsqueeze'](is_label, 1)
    found = ops['sum'](_where(counted, gap, 0), (1, 2)) / x.shape[1]
    return _reduced(ops['squeeze'](found, 0) if single else found, reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction='mean'):
    """Binary cross-entropy of logits, the mean over classes."""
    found = -(target * ops['log_sigmoid'](input) + (1 - target) * ops['log_sigmoid'](-input))
    found = ops['mean'](found if weight is None else found * weight, -1)
    return _reduced(found, _reduction(reduction, size_average, reduce))
