"""Ops along one or several dimensions."""
from .._core import Tensor, ops
from .call import rule, unsqueezed


@rule('sum', 'nansum', 'prod', 'min', 'max', 'mean', 'var', 'std', 'logsumexp', 'norm', 'any', 'all', 'count_nonzero')
def reduction(call):
    rank, dims = call.rank('x'), call['dims']
    if rank == 0:  # an element is reduced along a dimension of its own
        return call.run(x=unsqueezed(call['x'], 1), dims=(1,), keepdim=False)
    return call.run(dims=tuple(call.dim(d, rank) + 1 for d in (range(rank) if dims is None else dims)))


@rule('argmin', 'argmax')
def position(call):
    x, rank, dim = call['x'], call.rank('x'), call['dim']
    if dim is not None and rank != 0:
        return call.run(dim=call.dim(dim, rank) + 1)
    found = call.run(x=ops['reshape'](x, (call.size, -1)), dim=1, keepdim=False)
    return unsqueezed(found, 1, rank) if call['keepdim'] else found


@rule('cumsum', 'cumprod', 'cumprod_backward', 'cummax', 'cummin', 'softmax', 'log_softmax', 'softmax_backward', 'log_softmax_backward',
      'sort', 'argsort', 'topk')
def along(call):
    """Ops that keep the dimension."""
    names = [name for name in ('g', 'y', 'x') if call.has(name)]
    rank, wholes = call.rank(names[0]), {name: call.whole(name) for name in names}
    if rank:
        return call.run(**wholes, dim=call.dim(call['dim'], rank) + 1)
    call.dim(call['dim'], 0)
    found = call.run(**{name: unsqueezed(x, 1) for name, x in wholes.items()}, dim=1)
    return _without(found) if isinstance(found, Tensor) else tuple(_without(y) for y in found)


def _without(y):
    return ops['squeeze'](y, (1,))


@rule('prod_backward')
def prod_backward(call):
    return call.run(g=call.whole('g'), x=call.whole('x'))


@rule('searchsorted')
def searchsorted(call):
    if not call.is_batch('sorted') and call.rank('sorted') == 1:
        return call.run()
    ordered, values = call.whole('sorted'), call.whole('values')
    if call.rank('sorted') > 1:
        return call.run(sorted=ordered, values=values)
    flat = call.run(sorted=ordered, values=ops['reshape'](values, (call.size, -1)))
    return ops['reshape'](flat, values.shape)
