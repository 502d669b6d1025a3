"""Ops along one or several dimensions."""
from .._core import ops
from .call import rule


@rule('max', 'min')
def extreme(call):
    """The tangent at the extreme, or the mean of the tangents if there are several."""
    x, dims, keep = call['x'], call['dims'], call['keepdim']
    here = ops['equal'](x, call.y if keep or x.ndim == 0 else call.run(keepdim=True))
    picked = ops['where'](here, call.tangent('x'), 0)
    count = ops['sum'](ops['cast'](here, picked.dtype), dims, keep)
    return ops['div'](ops['sum'](picked, dims, keep), count)


@rule('var')
def variance(call):
    """2 Σ (x - mean)·t / (n - correction)."""
    x, dims, keep = call['x'], call['dims'], call['keepdim']
    centred = ops['sub'](x, ops['mean'](x, dims, True))
    t = call.tangent('x')
    product = ops['real'](ops['mul'](ops['conj'](centred), t)) if x.dtype.is_complex else ops['mul'](centred, t)
    count = x.numel() // max(call.y.numel(), 1)
    total = ops['sum'](product, dims, keep)
    return ops['mul'](total, 2 / (count - call['correction']) if count > call['correction'] else float('nan'))


@rule('std')
def std(call):
    return ops['div'](variance(call), ops['mul'](call.y, 2))


@rule('logsumexp')
def logsumexp(call):
    """Σ softmax(x)·t."""
    dims = call['dims']
    shares = ops['exp'](ops['sub'](call['x'], call.run(keepdim=True)))
    return ops['sum'](ops['mul'](shares, call.tangent('x')), dims, call['keepdim'])


@rule('softmax')
def softmax(call):
    """y·(t - Σ y·t)."""
    y, t, dim = call.y, call.tangent('x'), call['dim']
    return ops['mul'](y, ops['sub'](t, ops['sum'](ops['mul'](y, t), (dim,), True)))


@rule('log_softmax')
def log_softmax(call):
    """t - Σ softmax(x)·t."""
    t, dim = call.tangent('x'), call['dim']
    return ops['sub'](t, ops['sum'](ops['mul'](ops['exp'](call.y), t), (dim,), True))


@rule('sort', 'topk', 'cummax', 'cummin')
def places(call):
    """The tangents at the places from which the values came."""
    t = call.tangent('x')
    return ops['gather'](t, call['dim'], call.results[1]), None


@rule('max_pool', 'adaptive_max_pool')
def max_pool(call):
    """Places are counted within the plane, the dimensions after (N, C)."""
    places = call.results[1]
    flat = ops['flatten'](call.tangent('x'), 2, -1)
    return ops['reshape'](ops['gather'](flat, 2, ops['flatten'](places, 2, -1)), places.shape), None
