"""Views, and ops that move elements by dimension."""
import math

from .._core import ops
from .call import rule, unsqueezed


@rule('reshape')
def reshape(call):
    return call.run(shape=(call.size, *call['shape']))


@rule('permute')
def permute(call):
    rank = call.rank('x')
    return call.run(dims=(0, *(call.dim(d, rank) + 1 for d in call['dims'])))


@rule('transpose')
def transpose(call):
    x, rank = call['x'], call.rank('x')
    if rank == 0:
        return ops['alias'](x)
    return call.run(dim0=call.dim(call['dim0'], rank) + 1, dim1=call.dim(call['dim1'], rank) + 1)


@rule('expand')
def expand(call):
    shape = call['shape']
    return call.run(x=unsqueezed(call['x'], 1, len(shape) - call.rank('x')), shape=(call.size, *shape))


@rule('squeeze')
def squeeze(call):
    dims, shape = call['dims'], call.shape('x')
    if dims is None:
        dims = [d for d, size in enumerate(shape) if size == 1]
    return call.run(dims=tuple(call.dim(d, len(shape)) + 1 for d in dims) if shape else ())


@rule('unsqueeze')
def unsqueeze(call):
    return call.run(dim=call.dim(call['dim'], call.rank('x') + 1) + 1)


@rule('flatten')
def flatten(call):
    rank = call.rank('x')
    if rank == 0:
        return unsqueezed(call['x'], 1)
    return call.run(start=call.dim(call['start'], rank) + 1, end=call.dim(call['end'], rank) + 1)


@rule('slice', 'select')
def along_one(call):
    rank = call.rank('x')
    if rank == 0:
        raise IndexError(f'[{call.name}] of a tensor of rank 0')
    return call.run(dim=call.dim(call['dim'], rank) + 1)


@rule('slice_scatter')
def slice_scatter(call):
    return call.run(x=call.whole('x'), src=call.whole('src'), dim=call.dim(call['dim'], call.rank('x')) + 1)


@rule('diagonal')
def diagonal(call):
    rank = call.rank('x')
    return call.run(dim0=call.dim(call['dim0'], rank) + 1, dim1=call.dim(call['dim1'], rank) + 1)


@rule('as_strided')
def as_strided(call):
    shape, strides, offset = call['shape'], call['strides'], call['offset']
    entry = math.prod(call.shape('x'))
    ends = [(size - 1) * stride for size, stride in zip(shape, strides)]
    first, last = (offset + sum(most(end, 0) for end in ends) for most in (min, max))
    if math.prod(shape) and (first < 0 or last >= entry):
        raise IndexError(f'[as_strided] shape {shape} with strides {strides} and offset {offset} reaches outside the {entry} elements')
    return call.run(shape=(call.size, *shape), strides=(entry, *strides))


@rule('flip')
def flip(call):
    rank, dims = call.rank('x'), call['dims']
    return call.run(dims=tuple(call.dim(d, rank) + 1 for d in (range(rank) if dims is None else dims)) if rank else ())


@rule('roll')
def roll(call):
    rank, dims = call.rank('x'), call['dims']
    if dims is None:
        flat = call.run(x=ops['reshape'](call['x'], (call.size, -1)), dims=(1,))
        return ops['reshape'](flat, call['x'].shape)
    return call.run(dims=tuple(call.dim(d, rank) + 1 for d in dims))


@rule('pad', 'pad_backward')
def pad(call):
    return call.run()  # pads count from the last dimension


@rule('repeat', 'tile')
def repeat(call):
    repeats, rank = tuple(call['repeats']), call.rank('x')
    x = unsqueezed(call['x'], 1, max(len(repeats) - rank, 0))
    return call.run(x=x, repeats=(1, *(1,) * (rank - len(repeats)), *repeats))


@rule('concat')
def concat(call):
    xs = call.wholes('xs')
    return call.run(xs=xs, dim=call.dim(call['dim'], xs[0].ndim - 1) + 1)


@rule('stack')
def stack(call):
    xs = call.wholes('xs')
    return call.run(xs=xs, dim=call.dim(call['dim'], xs[0].ndim) + 1)
