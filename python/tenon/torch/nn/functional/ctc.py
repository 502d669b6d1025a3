"""Connectionist temporal classification; Graves et al. 2006."""
from .... import _core
from ...._core import ops
from ...._errors import InvalidArgumentError
from ..._common import Tensor, arange, broken, cast, check, in_float32, largest, rank
from .loss import _reduction


def _lengths(name, lengths, batch, x):
    """Lengths, which may be on the host, as a vector of int64 beside x."""
    made = lengths if isinstance(lengths, Tensor) else _core._from_data(list(lengths) if hasattr(lengths, '__len__') else [lengths], _core.int64, x.device)
    made = ops['reshape'](cast(made, _core.int64), (made.size,)).to(x.device)
    if made.size != batch:
        raise InvalidArgumentError(f'[ctc_loss] {made.size} {name} for a batch of {batch}')
    return made


def _padded(targets, lengths, most):
    """Labels (N, S), even if given as rows joined into one vector."""
    if targets.ndim == 2:
        return targets
    starts = ops['cumsum'](lengths, 0) - lengths
    at = ops['unsqueeze'](starts, 1) + arange(most, targets)
    return ops['take'](targets, ops['clamp'](at, 0, max(targets.size - 1, 0)))


@in_float32
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False):
    """-log of the probability of labels (N, S), over all their alignments with log-probabilities (T, N, C) from log_softmax.

    The gradient is that of the logits before log_softmax, as in PyTorch.
    """
    reduction = _reduction(reduction)
    if check(log_probs).ndim not in (2, 3) or rank(log_probs.dtype) != 2 or rank(check(targets).dtype) != 1:
        raise InvalidArgumentError(f'[ctc_loss] log_probs {log_probs.dtype} {log_probs.shape} and targets {targets.dtype}: (T, N, C) and integers are needed')
    single = log_probs.ndim == 2
    x = ops['unsqueeze'](log_probs, 1) if single else log_probs
    steps, batch, classes = x.shape
    if not 0 <= blank < classes:
        raise InvalidArgumentError(f'[ctc_loss] blank {blank} of {classes} classes')
    inputs, labels = _lengths('input_lengths', input_lengths, batch, x), _lengths('target_lengths', target_lengths, batch, x)
    padded = targets.ndim == 2 and _core._trace_active()  # without elements, as many labels as there is room for
    most = int(largest(labels)) if batch and not padded else 0
    if broken((inputs > steps) | (inputs < 0)) or broken(labels < 0):
        raise InvalidArgumentError(f'[ctc_loss] input_lengths must be 0 to {steps}, target_lengths not negative')
    targets = cast(ops['unsqueeze'](targets, 0) if single and targets.ndim == 1 else targets, _core.int64)
    if targets.ndim == 2 and targets.shape[0] != batch or targets.shape[-1] < most:
        raise InvalidArgumentError(f'[ctc_loss] targets of shape {targets.shape} for a batch of {batch} and {most} labels')
    loss = ops['ctc_loss'](x, _padded(targets, labels, most), inputs, labels, blank, True)
    if zero_infinity:
        loss = ops['where'](ops['equal'](loss, float('inf')), 0.0, loss)
    if reduction == 'none':
        return ops['squeeze'](loss, 0) if single else loss
    return ops['sum'](loss) if reduction == 'sum' else ops['mean'](loss / cast(ops['clamp'](labels, 1), loss.dtype))
