"""Ops of which gradients are made, for incoming gradients that differ between entries: Jacobians by one backward pass."""
from .._core import ops
from .call import expanded, one_by_one, rule, unsqueezed
from .picking import _arange
from .windows import as_channels, folded, from_channels, unfolded


@rule('conv_backward_input')
def conv_backward_input(call):
    size, shape = call.size, tuple(call['shape'])
    if not call.is_batch('weight'):
        return unfolded(call.run(g=folded(call['g']), shape=(size * shape[0], *shape[1:])), size)
    found = call.run(g=as_channels(call.whole('g')), weight=folded(call['weight']), shape=(shape[0], size * shape[1], *shape[2:]),
                     groups=call['groups'] * size)
    return from_channels(found, size)


@rule('conv_backward_weight')
def conv_backward_weight(call):
    size, shape = call.size, tuple(call['shape'])
    found = call.run(g=as_channels(call.whole('g')), x=as_channels(call.whole('x')), shape=(size * shape[0], *shape[1:]),
                     groups=call['groups'] * size)
    return unfolded(found, size)


@rule('max_pool_backward', 'avg_pool_backward', 'adaptive_avg_pool_backward', 'interpolate_backward')
def pool_backward(call):
    size, shape = call.size, tuple(call['shape'])
    wholes = {name: folded(call.whole(name)) for name in ('g', 'indices') if call.has(name)}
    return unfolded(call.run(**wholes, shape=(size * shape[0], *shape[1:])), size)


@rule('grid_sample_backward')
def grid_sample_backward(call):
    return tuple(unfolded(y, call.size) for y in call.run(**{name: folded(call.whole(name)) for name in ('g', 'x', 'grid')}))


@rule('embedding_backward')
def embedding_backward(call):
    rows, index, g = call['rows'], call.whole('index'), call.whole('g')
    padding = call['padding_idx']
    if padding is not None:
        g = ops['where'](unsqueezed(ops['equal'](index, padding % rows), index.ndim), 0, g)
    index = index + _arange(call.size, index.device, index.ndim) * rows
    found = call.run(g=g, index=index, rows=call.size * rows, padding_idx=None)
    return ops['reshape'](found, (call.size, rows, *found.shape[1:]))


def _without_weight(call, g, shape):
    """g times the weight, which has dimensions `shape` of an entry of g."""
    weight = call['weight']
    if weight is None:
        return g
    return g * ops['reshape'](weight, (call.size if call.is_batch('weight') else 1, *shape))


@rule('layer_norm_backward', 'rms_norm_backward')
def layer_norm_backward(call):
    size = tuple(call['shape'])
    g, x, rstd = (call.whole(name) for name in ('g', 'x', 'rstd'))
    lead = x.ndim - 1 - len(size)
    statistics = {name: call.whole(name) for name in ('mean', 'rstd') if call.has(name)}
    gx = call.run(g=_without_weight(call, g, (*(1,) * lead, *size)), x=x, weight=None, **statistics)[0]
    normal = (x - statistics['mean'] if 'mean' in statistics else x) * rstd
    dims = tuple(range(1, 1 + lead))
    sums = [ops['sum'](y, dims) if dims else y for y in (g * normal, g)]
    return (gx, *sums) if 'mean' in statistics else (gx, sums[0])


@rule('add_layer_norm_backward')
def add_layer_norm_backward(call):
    """The gradient of the norm of the sum, plus what arrives at the sum itself."""
    gx, *parameters = layer_norm_backward(call.of('layer_norm_backward', {'x': 'sum'}))
    return (gx + call.whole('gsum') if call.has('gsum') else gx, *parameters)


@rule('group_norm_backward')
def group_norm_backward(call):
    g, x, mean, rstd = (call.whole(name) for name in ('g', 'x', 'mean', 'rstd'))
    channels = x.shape[2]
    weighted = _without_weight(call, g, (1, channels, *(1,) * (x.ndim - 3)))
    gx = call.run(g=folded(weighted), x=folded(x), mean=folded(mean), rstd=folded(rstd), weight=None)[0]
    groups = ops['reshape'](x, (*x.shape[:2], call['groups'], -1))
    normal = ops['reshape']((groups - unsqueezed(mean, 3)) * unsqueezed(rstd, 3), x.shape)
    dims = (1, *range(3, x.ndim))
    return unfolded(gx, call.size), ops['sum'](g * normal, dims), ops['sum'](g, dims)


@rule('batch_norm_backward')
def batch_norm_backward(call):
    """Each entry has its own channels."""
    size = call.size
    each = {name: folded(call.whole(name)) for name in ('mean', 'rstd', 'weight') if call.has(name)}
    gx, *others = call.run(g=as_channels(call.whole('g')), x=as_channels(call.whole('x')), **each)
    return (from_channels(gx, size), *(unfolded(y, size) for y in others))


@rule('nll_loss_backward')
def nll_loss_backward(call):
    """The op is linear in g."""
    if any(call.is_batch(name) for name in ('log_probs', 'target', 'weight', 'total_weight')):
        return one_by_one(call)
    g = call['g']
    unit = call.run(g=ops['full'](g.shape[1:], 1, g.dtype, g.device))
    if call['reduction'] == 'none':  # a gradient for each target: the classes come last, or after the examples
        g = unsqueezed(g, 1 if call.rank('target') == 0 else 2)
    else:
        g = unsqueezed(g, 1, unit.ndim)
    return g * expanded(unit, call.size)
