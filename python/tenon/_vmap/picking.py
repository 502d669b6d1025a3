"""Elements picked by index."""
from .._core import ops
from .call import moved, rule, unsqueezed


def _arange(size, device, rank):
    """0 … size − 1 along the first of `rank` dimensions."""
    return unsqueezed(ops['arange'](0, size, 1, 'int64', device), 1, rank - 1)


@rule('gather', 'scatter', 'scatter_add', 'scatter_reduce')
def gather(call):
    rank = call.rank('x')
    wholes = {name: call.whole(name) for name in ('x', 'index', 'src') if call.has(name)}
    if rank:
        return call.run(**wholes, dim=call.dim(call['dim'], rank) + 1)
    call.dim(call['dim'], 0)
    lone = call.rank('index') == 0
    wholes = {name: x if x.ndim > 1 else unsqueezed(x, 1) for name, x in wholes.items()}
    found = call.run(**wholes, dim=1)
    return ops['squeeze'](found, (1,)) if call.name != 'gather' or lone else found


def _along(index, x, dim):
    """(B, k) for gather along `dim` of x (B, …)."""
    index = unsqueezed(unsqueezed(index, 1, dim - 1), dim + 1, x.ndim - dim - 1)
    return ops['expand'](index, (*x.shape[:dim], index.shape[dim], *x.shape[dim + 1:]))


@rule('index_select')
def index_select(call):
    rank = call.rank('x')
    x, index = call['x'], call['index']
    if rank == 0:
        flat = ops['expand'](call.whole('x'), (call.size,)) if not call.is_batch('x') else x
        return ops['squeeze'](ops['gather'](unsqueezed(flat, 1), 1, ops['reshape'](call.whole('index'), (call.size, -1))), (1,))
    dim = call.dim(call['dim'], rank)
    if not call.is_batch('index'):
        return call.run(dim=dim + 1)
    index = ops['reshape'](index, (call.size, -1))
    if call.is_batch('x'):
        index = ops['where'](ops['less'](index, 0), index + x.shape[dim + 1], index)
        return ops['gather'](x, dim + 1, _along(index, x, dim + 1))
    found = call.run(index=ops['reshape'](index, (-1,)))
    shape = (*found.shape[:dim], call.size, index.shape[1], *found.shape[dim + 1:])
    return moved(ops['reshape'](found, shape), dim, 0)


@rule('index_add')
def index_add(call):
    x, src, index, rank = call.whole('x'), call.whole('src'), call['index'], call.rank('x')
    dim = call.dim(call['dim'], rank) + 1
    if rank == 0:
        return ops['squeeze'](ops['scatter_add'](unsqueezed(x, 1), 1, ops['reshape'](call.whole('index'), (call.size, -1)),
                                                 ops['reshape'](src, (call.size, -1))), (1,))
    if not call.is_batch('index'):
        return call.run(x=x, src=src, dim=dim)
    index = ops['reshape'](index, (call.size, -1))
    if src.ndim < x.ndim:
        src = unsqueezed(src, 1, x.ndim - src.ndim)
    return ops['scatter_add'](x, dim, _along(index, src, dim), src)


@rule('take')
def take(call):
    x, index = call['x'], call['index']
    if not call.is_batch('x'):
        return call.run()
    flat, places = ops['reshape'](x, (call.size, -1)), ops['reshape'](call.whole('index'), (call.size, -1))
    places = ops['where'](ops['less'](places, 0), places + flat.shape[1], places)
    return ops['reshape'](ops['gather'](flat, 1, places), (call.size, *index.shape[call.is_batch('index'):]))


@rule('embedding')
def embedding(call):
    weight, index = call['weight'], call['index']
    if not call.is_batch('weight'):
        return call.run()
    rows = weight.shape[1]
    index = call.whole('index')
    first = _arange(call.size, weight.device, index.ndim) * rows
    found = call.run(weight=ops['reshape'](weight, (-1, *weight.shape[2:])), index=index + first, padding_idx=None)
    padding = call['padding_idx']
    if padding is None:
        return found
    blank = unsqueezed(ops['equal'](index, padding % rows), index.ndim)
    return ops['where'](blank, found.detach(), found)


@rule('embedding_bag')
def embedding_bag(call):
    weight, padding = call['weight'], call['padding_idx']
    bags = call['offsets'].shape[-1]
    if not any(call.is_batch(name) for name in ('index', 'offsets', 'per_sample_weights')):
        rows, width = weight.shape[1:]
        found = call.run(weight=ops['reshape'](ops['permute'](weight, (1, 0, 2)), (rows, call.size * width)))
        return ops['permute'](ops['reshape'](found, (bags, call.size, width)), (1, 0, 2))
    index, offsets = call.whole('index'), call.whole('offsets')
    entries, count = _arange(call.size, weight.device, 2), index.shape[1]
    if call.is_batch('weight'):
        rows = weight.shape[1]
        moved_index = index + entries * rows
        # The padding index is that of the first entry.
        index = moved_index if padding is None else ops['where'](ops['equal'](index, padding % rows), padding % rows, moved_index)
        weight = ops['reshape'](weight, (-1, weight.shape[2]))
    more = {'per_sample_weights': ops['reshape'](call.whole('per_sample_weights'), (-1,))} if call['per_sample_weights'] is not None else {}
    padding = None if padding is None else padding % (weight.shape[0] // (call.size if call.is_batch('weight') else 1))
    found = call.run(weight=weight, index=ops['reshape'](index, (-1,)), offsets=ops['reshape'](offsets + entries * count, (-1,)),
                     padding_idx=padding, **more)
    return ops['reshape'](found, (call.size, bags, weight.shape[1]))


def _picks(call):
    """(dimensions of x to pick from, an index for each of them, whether x is a batch); masks become positions."""
    found, dim = [], 0
    for index, mark in zip(call['indices'], call.marks[call.place('indices')]):
        if index is None:
            dim += 1
        elif str(index.dtype) == 'bool':
            if mark:
                raise RuntimeError(f'[vmap] {call.name}: how many elements a mask picks differs from entry to entry: use where()')
            places = ops['nonzero'](index)
            for d in range(index.ndim):
                found.append((dim + d, ops['select'](places, 1, d), False))
            dim += index.ndim
        else:
            found.append((dim, index, mark))
            dim += 1
    return found


class _Picked:
    """The parts of an indexing, with the picked dimensions moved behind the batch: x (B, picked…, others…)."""

    def __init__(self, call):
        picks = _picks(call)
        x = call.whole('x')
        where = [d for d, _, _ in picks]
        others = [d for d in range(call.rank('x')) if d not in where]
        self.order = [0, *(d + 1 for d in where), *(d + 1 for d in others)]
        self.x = ops['permute'](x, self.order)
        self.rank = max(index.ndim - mark for _, index, mark in picks)
        rows = _arange(call.size, x.device, self.rank + 1)
        self.indices = [rows, *(unsqueezed(index, 1, self.rank - (index.ndim - 1)) if mark else index for _, index, mark in picks)]
        # Adjacent picks leave their dimensions in place, others put them first.
        adjacent = where == list(range(where[0], where[0] + len(where)))
        self.before = where[0] if adjacent else 0

    def arranged(self, y):
        """A result (B, index…, others…) in the order that entries have."""
        order = list(range(y.ndim))
        index, others = order[1:1 + self.rank], order[1 + self.rank:]
        return ops['permute'](y, [0, *others[:self.before], *index, *others[self.before:]])

    def back(self, y):
        """A tensor of the shape of self.x, in the order of the call's x."""
        return ops['permute'](y, sorted(range(len(self.order)), key=lambda d: self.order[d]))


@rule('index')
def index(call):
    if not any(call.marks[call.place('indices')]) and call['indices'][0] is None:
        return call.run(indices=[None, *call['indices']])
    picked = _Picked(call)
    return picked.arranged(ops['index'](picked.x, picked.indices))


@rule('index_put')
def index_put(call):
    picked, values = _Picked(call), call.whole('values')
    shape = picked.arranged(ops['index'](picked.x.detach(), picked.indices)).shape
    values = ops['expand'](unsqueezed(values, 1, len(shape) - values.ndim), shape)
    order = list(range(len(shape)))
    begin = 1 + picked.before
    order = [0, *order[begin:begin + picked.rank], *order[1:begin], *order[begin + picked.rank:]]
    return picked.back(ops['index_put'](picked.x, picked.indices, ops['permute'](values, order), call['accumulate']))
