"""Losses; reduction is "mean", "sum" or "none". A weight is a buffer: to() moves it, and it is saved."""
from __future__ import annotations

from .._core import Tensor
from . import functional as F
from ._check import check_least, check_one_of, check_part
from .module import Module


class _Loss(Module):
    _reductions = ('mean', 'sum', 'none')

    def __init__(self, reduction='mean'):
        super().__init__()
        self.reduction = check_one_of(type(self).__name__, 'reduction', reduction, self._reductions)

    def extra_repr(self):
        return f'reduction={self.reduction!r}'


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(self, weight=None, reduction='mean'):
        super().__init__(reduction)
        self.register_buffer('weight', weight)


class CrossEntropyLoss(_WeightedLoss):
    """For logits (N, C, …) with labels (N, …) or probabilities (N, C, …); `weight` (C) weights the classes.

    >>> loss = tenon.nn.CrossEntropyLoss()(tenon.zeros((2, 4)), tenon.tensor([1, 3]))
    >>> round(loss.item(), 4)
    1.3863
    """

    def __init__(self, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0):
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = check_part('CrossEntropyLoss', 'label_smoothing', label_smoothing)

    def forward(self, logits, target):
        return F.cross_entropy(logits, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(_WeightedLoss):
    """For log-probabilities (N, C, …) with labels (N, …)."""

    def __init__(self, weight=None, ignore_index=-100, reduction='mean'):
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index

    def forward(self, log_probs, target):
        return F.nll_loss(log_probs, target, self.weight, self.ignore_index, self.reduction)


class MSELoss(_Loss):
    """The mean of squared differences."""

    def forward(self, x, target):
        return F.mse_loss(x, target, self.reduction)


class L1Loss(_Loss):
    """The mean of absolute differences."""

    def forward(self, x, target):
        return F.l1_loss(x, target, self.reduction)


class SmoothL1Loss(_Loss):
    """Squared below `beta`, absolute above."""

    def __init__(self, reduction='mean', beta=1.0):
        super().__init__(reduction)
        self.beta = check_least('SmoothL1Loss', 'beta', beta, 0)

    def forward(self, x, target):
        return F.smooth_l1_loss(x, target, self.reduction, self.beta)


class BCELoss(_WeightedLoss):
    """Binary cross-entropy of probabilities."""

    def forward(self, x, target):
        return F.binary_cross_entropy(x, target, self.weight, self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross-entropy of logits; `pos_weight` weights the positive examples."""

    pos_weight: Tensor | None

    def __init__(self, weight=None, reduction='mean', pos_weight=None):
        super().__init__(weight, reduction)
        self.register_buffer('pos_weight', pos_weight)

    def forward(self, x, target):
        return F.binary_cross_entropy_with_logits(x, target, self.weight, self.reduction, self.pos_weight)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence; x holds log-probabilities, target probabilities or, with log_target, their logarithms.

    Reduction "batchmean" divides by the first dimension's size, as the divergence is defined.
    """

    _reductions = ('mean', 'batchmean', 'sum', 'none')

    def __init__(self, reduction='mean', log_target=False):
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, x, target):
        return F.kl_div(x, target, self.reduction, self.log_target)
