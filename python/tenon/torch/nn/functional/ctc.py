"""Connectionist temporal classification; Graves et al. 2006."""
from .... import _core
from ...._core import ops
from ..._common import Tensor, arange, cast, check, full, in_float32, largest, rank, somewhere
from .loss import _reduction

# Stands for log 0: finite, so that gradients of sums of nothing are 0.
_NEVER = -1e30


def _lengths(name, lengths, batch, x):
    """Lengths as a row of int64."""
    made = lengths if isinstance(lengths, Tensor) else _core._from_data(list(lengths) if hasattr(lengths, '__len__') else [lengths], _core.int64, x.device)
    made = ops['reshape'](cast(made, _core.int64), (made.size,))
    if made.size != batch:
        raise ValueError(f'[ctc_loss] {made.size} {name} for a batch of {batch}')
    return made


def _padded(targets, lengths, most):
    """Labels (N, S), of rows joined into one, too."""
    if targets.ndim == 2:
        return ops['slice'](targets, 1, 0, most)
    starts = ops['cumsum'](lengths, 0) - lengths
    at = ops['unsqueeze'](starts, 1) + arange(most, targets)
    return ops['take'](targets, ops['clamp'](at, 0, max(targets.size - 1, 0)))


def _shifted(x, by):
    """x (N, S) moved right, log 0 coming in."""
    n = x.shape[1]
    return ops['concat']([full((x.shape[0], min(by, n)), _NEVER, x), ops['slice'](x, 1, 0, max(n - by, 0))], 1)


@in_float32
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False):
    """-log of the probability of labels (N, S) over all their alignments with log-probabilities (T, N, C), the results of log_softmax.

    The gradient is that of logits before the log_softmax, as in PyTorch.
    """
    reduction = _reduction(reduction)
    if check(log_probs).ndim not in (2, 3) or rank(log_probs.dtype) != 2 or rank(check(targets).dtype) != 1:
        raise ValueError(f'[ctc_loss] log_probs {log_probs.dtype} {log_probs.shape} and targets {targets.dtype}: (T, N, C) and integers are needed')
    single = log_probs.ndim == 2
    x = ops['unsqueeze'](log_probs, 1) if single else log_probs
    steps, batch, classes = x.shape
    if not 0 <= blank < classes:
        raise ValueError(f'[ctc_loss] blank {blank} of {classes} classes')
    inputs, labels = _lengths('input_lengths', input_lengths, batch, x), _lengths('target_lengths', target_lengths, batch, x)
    most = int(largest(labels)) if batch else 0
    if somewhere(inputs > steps) or somewhere(inputs < 0) or somewhere(labels < 0):
        raise ValueError(f'[ctc_loss] input_lengths must be 0 to {steps}, target_lengths not negative')
    targets = cast(ops['unsqueeze'](targets, 0) if single and targets.ndim == 1 else targets, _core.int64)
    if targets.ndim == 2 and targets.shape[0] != batch or targets.shape[-1] < most:
        raise ValueError(f'[ctc_loss] targets of shape {targets.shape} for a batch of {batch} and {most} labels')
    target = _padded(targets, labels, most)
    # Blanks before, between and behind the labels: (N, 2 S + 1).
    path = ops['reshape'](ops['stack']([full((batch, most), blank, target), target], 2), (batch, 2 * most))
    path = ops['concat']([path, full((batch, 1), blank, target)], 1)
    two_back = ops['concat']([full((batch, min(2, 2 * most + 1)), blank, path), ops['slice'](path, 1, 0, max(2 * most - 1, 0))], 1)
    jumps = (path != blank) & (path != two_back)
    places = arange(2 * most + 1, x)
    alpha = ops['where'](places < 1, 0.0, full((batch, 2 * most + 1), _NEVER, x))  # before the first step: at the first blank
    never = full((), _NEVER, x)
    for t in range(steps):
        emitted = ops['gather'](ops['select'](x, 0, t), 1, path)
        if t == 0:
            new = ops['where'](places < 2, emitted, never)
        else:
            ways = ops['stack']([alpha, _shifted(alpha, 1), ops['where'](jumps, _shifted(alpha, 2), never)], 0)
            new = emitted + ops['logsumexp'](ways, 0)
            new = ops['where'](new < _NEVER, never, new)
        alpha = ops['where'](ops['unsqueeze'](inputs > t, 1), new, alpha)
    end = ops['unsqueeze'](2 * labels, 1)
    last = ops['squeeze'](ops['gather'](alpha, 1, end), 1)
    before = ops['where'](labels > 0, ops['squeeze'](ops['gather'](alpha, 1, ops['clamp'](end - 1, 0)), 1), never)
    loss = -ops['logaddexp'](last, before)
    if x.requires_grad:  # what log_softmax adds to the gradient of its results, whose value is 0
        used = ops['unsqueeze'](arange(steps, x), 1) < inputs
        part = ops['sum'](ops['where'](used, ops['sum'](ops['exp'](x), 2), 0.0), 0)
        loss = loss + (part - part.detach())
    impossible = loss > -_NEVER / 10
    loss = ops['where'](impossible, 0.0 if zero_infinity else float('inf'), loss)
    if reduction == 'none':
        return ops['squeeze'](loss, 0) if single else loss
    return ops['sum'](loss) if reduction == 'sum' else ops['mean'](loss / cast(ops['clamp'](labels, 1), loss.dtype))
