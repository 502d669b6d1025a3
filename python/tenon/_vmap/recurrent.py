"""Ops that walk along a sequence, (T, N, …): entries become part of N."""
from .._core import ops
from .call import one_by_one, rule
from .windows import as_channels, folded, from_channels, unfolded

SEQUENCES = 'x', 'gy', 'gc', 'ggates', 'c', 'gates'  # (T, N, …); states are (N, H)


@rule('lstm', 'lstm_backward')
def lstm(call):
    if call.is_batch('weight'):
        return _by_steps(call) if call.name == 'lstm' else one_by_one(call)
    given = {name: as_channels(call.whole(name)) for name in SEQUENCES if call.has(name)}
    given |= {name: folded(call.whole(name)) for name in ('h0', 'c0') if call.has(name)}
    return tuple(from_channels(y, call.size) if y.ndim == 3 else unfolded(y, call.size) for y in call.run(**given))


def _by_steps(call):
    """The layer by its definition, for entries with weights of their own."""
    x, h, c = (call.whole(name) for name in ('x', 'h0', 'c0'))
    weight, width, steps = ops['transpose'](call['weight'], 1, 2), h.shape[2], x.shape[1]
    if steps == 0:
        return tuple(ops['full']((*x.shape[:3], size), 0, x.dtype, x.device) for size in (width, width, 4 * width))
    rows = [None] * steps
    for t in reversed(range(steps)) if call['reverse'] else range(steps):
        sums = ops['select'](x, 1, t) + ops['matmul'](h, weight)
        i, f, g, o = (ops['tanh' if k == 2 else 'sigmoid'](ops['slice'](sums, 2, k * width, (k + 1) * width)) for k in range(4))
        c = f * c + i * g
        h = o * ops['tanh'](c)
        rows[t] = h, c, ops['concat']([i, f, g, o], 2)
    return tuple(ops['stack'](list(column), 1) for column in zip(*rows))


@rule('ctc_loss', 'ctc_loss_backward')
def ctc_loss(call):
    given = {name: folded(call.whole(name)) for name in ('g', 'targets', 'input_lengths', 'target_lengths') if call.has(name)}
    found = call.run(log_probs=as_channels(call.whole('log_probs')), **given)
    return unfolded(found, call.size) if found.ndim == 1 else from_channels(found, call.size)
