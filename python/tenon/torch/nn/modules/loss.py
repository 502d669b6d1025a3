"""Losses."""
from functools import partial

from ...._errors import InvalidArgumentError
from ....nn.module import Module
from .. import functional as F
from ._make import function_module, reduction_of
from .distance import PairwiseDistance


class _Loss(Module):
    """A loss; reduction is 'mean', 'sum' or 'none'."""

    def __init__(self, size_average=None, reduce=None, reduction='mean'):
        super().__init__()
        self.reduction = reduction_of(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class, which moves with the module."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction='mean'):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer('weight', weight)


def _positive(name):
    def settle(module):
        if getattr(module, name) <= 0:
            raise InvalidArgumentError(f'[{type(module).__name__}] {name} is {getattr(module, name)}, must be above 0')
    return settle


def _distance(module):
    _positive('margin')(module)
    if module.distance_function is None:
        module.distance_function = PairwiseDistance()


def _p_of_margin(module):
    if module.p not in (1, 2):
        raise InvalidArgumentError(f'[MultiMarginLoss] p is {module.p}, must be 1 or 2')
    if module.weight is not None and module.weight.ndim != 1:
        raise InvalidArgumentError(f'[MultiMarginLoss] weight has rank {module.weight.ndim}, must be 1')


_module = partial(function_module, __name__, inputs=2, base=_Loss)
_weighted = partial(function_module, __name__, inputs=2, base=_WeightedLoss)
_of_three = partial(function_module, __name__, inputs=3, base=_Loss)
_PLAIN = 'size_average reduce reduction'

L1Loss = _module('L1Loss', F.l1_loss, order=_PLAIN)
MSELoss = _module('MSELoss', F.mse_loss, order=_PLAIN)
SmoothL1Loss = _module('SmoothL1Loss', F.smooth_l1_loss)
HuberLoss = _module('HuberLoss', F.huber_loss, order='reduction delta')
SoftMarginLoss = _module('SoftMarginLoss', F.soft_margin_loss)
KLDivLoss = _module('KLDivLoss', F.kl_div)
PoissonNLLLoss = _module('PoissonNLLLoss', F.poisson_nll_loss)
HingeEmbeddingLoss = _module('HingeEmbeddingLoss', F.hinge_embedding_loss)
MultiLabelMarginLoss = _module('MultiLabelMarginLoss', F.multilabel_margin_loss)

NLLLoss = _weighted('NLLLoss', F.nll_loss)
BCELoss = _weighted('BCELoss', F.binary_cross_entropy)
BCEWithLogitsLoss = _weighted('BCEWithLogitsLoss', F.binary_cross_entropy_with_logits)
CrossEntropyLoss = _weighted('CrossEntropyLoss', F.cross_entropy)
MultiLabelSoftMarginLoss = _weighted('MultiLabelSoftMarginLoss', F.multilabel_soft_margin_loss)
MultiMarginLoss = _weighted('MultiMarginLoss', F.multi_margin_loss, settle=_p_of_margin)

GaussianNLLLoss = _of_three('GaussianNLLLoss', F.gaussian_nll_loss, order='* full eps reduction')
MarginRankingLoss = _of_three('MarginRankingLoss', F.margin_ranking_loss)
CosineEmbeddingLoss = _of_three('CosineEmbeddingLoss', F.cosine_embedding_loss)
TripletMarginLoss = _of_three('TripletMarginLoss', F.triplet_margin_loss, settle=_positive('margin'))
TripletMarginWithDistanceLoss = _of_three('TripletMarginWithDistanceLoss', F.triplet_margin_with_distance_loss,
                                          settle=_distance)
CTCLoss = function_module(__name__, 'CTCLoss', F.ctc_loss, inputs=4, base=_Loss)


class NLLLoss2d(NLLLoss):
    """The older name of NLLLoss for (N, C, H, W)."""
