"""Losses: a value for each element or row, then the mean or the sum over one entry."""
from .._core import ops
from .call import one_by_one, op_of, rule
from .elementwise import aligned
from .windows import folded, unfolded


def reduced(call, y, rank, total=None):
    """y, for entries of this rank, reduced as the call asks; `total` is what a mean divides by."""
    how, dims = call['reduction'], tuple(range(1, rank + 1))
    if how == 'none':
        return y
    if how == 'mean' and total is None:
        return ops['mean'](y, dims) if rank else y
    y = ops['sum'](y, dims) if rank else y
    if how == 'sum':
        return y
    return y / total


@rule('mse_loss', 'l1_loss', 'smooth_l1_loss', 'huber_loss', 'bce_loss', 'bce_with_logits_loss', 'kl_div_loss')
def elementwise_loss(call):
    given = [x.ndim - mark for x, mark in zip(call.args, call.marks) if hasattr(x, 'ndim')]
    rank = max(given)
    args = aligned(call, rank)
    args[call.place('reduction')] = 'none'
    y = op_of(call.name)(*args)
    total = call.shape('x')[0] if call['reduction'] == 'batchmean' else None
    return reduced(call, y, rank, total)


def _weights(call, target, classes):
    """The weight of each target; 0 if it is ignored."""
    counts = ops['not_equal'](target, call['ignore_index'])
    weight = call['weight']
    if weight is None:
        return ops['cast'](counts, classes.dtype)
    safe = ops['where'](counts, target, 0)
    if call.is_batch('weight'):
        flat = ops['gather'](weight, 1, ops['reshape'](safe, (call.size, -1)))
        weight = ops['reshape'](flat, target.shape)
    else:
        weight = ops['take'](weight, safe)
    return weight * ops['cast'](counts, classes.dtype)


@rule('nll_loss')
def nll_loss(call):
    scores, target = call.whole('log_probs'), call.whole('target')
    rank = call.rank('target')
    weights = _weights(call, target, scores)
    safe = ops['where'](ops['not_equal'](target, call['ignore_index']), target, 0)
    at = 1 if rank == 0 else 2
    picked = ops['squeeze'](ops['gather'](scores, at, ops['unsqueeze'](safe, at)), (at,))
    losses = -picked * weights
    dims = tuple(range(1, rank + 1))
    total = ops['sum'](weights, dims) if rank else weights
    return reduced(call, losses, rank, total), total


@rule('cross_entropy')
def cross_entropy(call):
    """By rows, with a mean weighted by the targets' weights."""
    if call.is_batch('weight'):
        return one_by_one(call)
    if call.rank('target') == call.rank('logits'):
        return _of_probabilities(call)
    logits, target = call.whole('logits'), call.whole('target')
    rank = call.rank('target')
    if rank == 0:
        rows = call.run(logits=logits, target=target, reduction='none')
    else:
        rows = unfolded(call.run(logits=folded(logits), target=folded(target), reduction='none'), call.size)
    if call['reduction'] != 'mean':
        return reduced(call, rows, rank)
    weights = _weights(call, target, logits)
    return reduced(call, rows, rank, ops['sum'](weights, tuple(range(1, rank + 1))) if rank else weights)


@rule('softmax_cross_entropy')
def softmax_cross_entropy(call):
    """All rows at once."""
    if call.is_batch('weight'):
        return one_by_one(call)
    rows = {name: folded(call.whole(name)) for name in ('logits', 'target')}
    loss, counted, lse = (unfolded(y, call.size) for y in call.run(**rows, reduction='none'))
    return reduced(call, loss, 1, ops['sum'](counted, (1,))), counted, lse


@rule('softmax_cross_entropy_backward')
def softmax_cross_entropy_backward(call):
    """All rows at once."""
    rows = {name: call.whole(name) for name in ('g', 'logits', 'target', 'counted', 'lse')}
    if call.rank('g') == 0:
        rows['g'] = ops['expand'](ops['unsqueeze'](rows['g'], 1), rows['lse'].shape)
    return unfolded(call.run(**{name: folded(x) for name, x in rows.items()}), call.size)


def _of_probabilities(call):
    logits, target = call.whole('logits'), call.whole('target')
    rank = call.rank('logits')
    if rank == 1:
        rows = call.run(logits=logits, target=target, reduction='none')
        return reduced(call, rows, 0)
    rows = unfolded(call.run(logits=folded(logits), target=folded(target), reduction='none'), call.size)
    return reduced(call, rows, rank - 1)
