"""Convolutions, pools and norms of x (N, C, spatial…): entries become part of N, or of C if the channels' parameters differ."""
from .._core import ops
from .call import moved, rule, unsqueezed


def folded(x):
    """(B, N, …) as (B·N, …)."""
    return ops['reshape'](x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def unfolded(x, size):
    """The inverse of folded()."""
    return ops['reshape'](x, (size, x.shape[0] // size, *x.shape[1:]))


def as_channels(x):
    """(B, N, C, …) as (N, B·C, …)."""
    x = moved(x, 0, 1)
    return ops['reshape'](x, (x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:]))


def from_channels(y, size):
    """(N, B·C, …) as (B, N, C, …)."""
    return moved(ops['reshape'](y, (y.shape[0], size, y.shape[1] // size, *y.shape[2:])), 1, 0)


@rule('conv', 'conv_transpose')
def convolution(call):
    size = call.size
    if not call.is_batch('weight'):
        y = unfolded(call.run(x=folded(call['x']), bias=None if call.is_batch('bias') else call['bias']), size)
    else:  # each entry is a group of channels
        y = call.run(x=as_channels(call.whole('x')), weight=folded(call['weight']), bias=None, groups=call['groups'] * size)
        y = from_channels(y, size)
    if call['bias'] is None or not (call.is_batch('weight') or call.is_batch('bias')):
        return y
    return y + _of_channels(call.whole('bias'), y.ndim)


def _of_channels(x, rank):
    """(B, C) shaped to broadcast with results (B, N, C, …)."""
    return unsqueezed(unsqueezed(x, 1), 3, rank - 3)


@rule('max_pool', 'avg_pool', 'adaptive_avg_pool', 'adaptive_max_pool', 'interpolate')
def pool(call):
    found = call.run(x=folded(call['x']))
    return tuple(unfolded(y, call.size) for y in found) if isinstance(found, tuple) else unfolded(found, call.size)


@rule('grid_sample')
def grid_sample(call):
    return unfolded(call.run(x=folded(call.whole('x')), grid=folded(call.whole('grid'))), call.size)


def _scaled(call, y, shape):
    """y times each entry's weight, plus its bias; both have dimensions `shape` of y's."""
    for name in ('weight', 'bias'):
        if call.has(name):
            factor = ops['reshape'](call.whole(name), (call.size, *shape))
            y = y * factor if name == 'weight' else y + factor
    return y


@rule('layer_norm', 'rms_norm')
def layer_norm(call):
    each = [name for name in ('weight', 'bias') if call.has(name) and call.is_batch(name)]
    if not each:
        return call.run()
    x, size = call.whole('x'), tuple(call['shape'])
    plain = {name: None for name in ('weight', 'bias') if call.has(name)}
    y, *rest = call.run(x=x, **plain)
    return (_scaled(call, y, (*(1,) * (x.ndim - 1 - len(size)), *size)), *rest)


@rule('add_layer_norm')
def add_layer_norm(call):
    """The sum, and its norm."""
    total = call.whole('x') + call.whole('residual')
    y, mean, rstd = layer_norm(call.of('layer_norm', {}, x=total))
    return y, total, mean, rstd


@rule('group_norm')
def group_norm(call):
    x, size = call.whole('x'), call.size
    if any(call.has(name) and call.is_batch(name) for name in ('weight', 'bias')):
        plain = [unfolded(y, size) for y in call.run(x=folded(x), weight=None, bias=None)]
        shape = (1, x.shape[2], *(1,) * (x.ndim - 3))
        return (_scaled(call, plain[0], shape), *plain[1:])
    return tuple(unfolded(y, size) for y in call.run(x=folded(x)))


@rule('batch_norm')
def batch_norm(call):
    """Each entry has its own channels."""
    size = call.size
    each = {name: folded(call.whole(name)) for name in ('weight', 'bias', 'running_mean', 'running_var') if call.has(name)}
    y, *rest = call.run(x=as_channels(call.whole('x')), **each)
    return (from_channels(y, size), *(unfolded(statistic, size) for statistic in rest))
