"""vmap: a function of one example as a function of a batch."""
import functools

from ... import _vmap
from ..._core import Tensor, default_generator, ops
from ..._errors import InvalidArgumentError, OutOfRangeError
from .derivatives import _check_chunk
from .trees import filled, leaves_of, spread


def _spread(where, dims, value):
    try:
        found = spread(dims, value)
    except ValueError as error:
        raise InvalidArgumentError(f'[vmap] {where}: {error}') from None
    for dim in found:
        if isinstance(dim, bool):
            raise InvalidArgumentError(f'[vmap] {where} is {dim}, must be an int or None')
    return found


def _mapped(args, dims):
    """(for each leaf of the arguments the dimension to map over, the number of entries)."""
    sizes, places = set(), []
    for x, dim in zip(leaves_of(args), dims):
        if dim is not None and not isinstance(x, Tensor):
            raise InvalidArgumentError(f'[vmap] in_dims is {dim} for a {type(x).__name__}: None leaves it whole')
        if dim is not None and not -x.ndim <= dim < x.ndim:
            raise InvalidArgumentError(f'[vmap] in_dims {dim} is out of range for a tensor of rank {x.ndim}')
        places.append(None if dim is None else dim % x.ndim)
        if dim is not None:
            sizes.add(x.shape[dim])
    if not sizes:
        raise InvalidArgumentError('[vmap] in_dims names no tensor to map over')
    if len(sizes) > 1:
        raise InvalidArgumentError(f'[vmap] tensors of {sorted(sizes)} entries to map over')
    count = sizes.pop()
    if count == 0:
        raise InvalidArgumentError('[vmap] nothing to map over: a dimension of size 0')
    return places, count


def _front(x, dim):
    return _vmap.moved(x, dim, 0)


def _joined(results, dims, form):
    """Batches with their first dimension at dims; None for a result that is the same for all entries."""
    found = []
    for (batch, single), dim in zip(results, dims):
        if dim is None:
            if batch is not None:
                raise InvalidArgumentError('[vmap] out_dims is None for a result that differs from entry to entry')
            found.append(single)
            continue
        if not -batch.ndim <= dim < batch.ndim:
            raise OutOfRangeError(f'[vmap] out_dims {dim} is out of range for results of rank {batch.ndim}')
        found.append(_vmap.moved(batch, 0, dim % batch.ndim))
    return filled(form, iter(found))


def _run(func, args, kwargs, places, size, randomness, out_dims):
    """The results of func for all entries."""
    level = _vmap.Level(size, randomness)
    with level:
        entries = (x if dim is None else level.entry(_front(x, dim)) for x, dim in zip(leaves_of(args), places))
        result = func(*filled(args, entries), **kwargs)
        leaves = leaves_of(result)
        for y in leaves:
            if not isinstance(y, Tensor):
                raise InvalidArgumentError(f'[vmap] the function must return Tensors, not {type(y).__name__}')
        dims = _spread('out_dims', out_dims, result)
        found = [(level.find(y) if dim is None else level.whole(y), y) for dim, y in zip(dims, leaves)]
    return _joined(found, dims, result)


def _in_chunks(func, args, kwargs, places, count, chunk, randomness, out_dims):
    """The same for some entries at a time."""
    leaves, generator, parts = leaves_of(args), default_generator(), []
    begin = generator.get_state()
    for first in range(0, count, chunk):
        if randomness == 'same':
            generator.set_state(begin)
        last = min(first + chunk, count)
        some = (x if dim is None else ops['slice'](x, dim, first, last) for x, dim in zip(leaves, places))
        parts.append(_run(func, filled(args, some), kwargs, places, last - first, randomness, out_dims))
    dims = _spread('out_dims', out_dims, parts[0])
    columns = zip(*map(leaves_of, parts))
    return filled(parts[0], iter([column[0] if dim is None else ops['concat'](list(column), dim) for dim, column in zip(dims, columns)]))


def vmap(func, in_dims=0, out_dims=0, randomness='error', *, chunk_size=None):
    """A function over batches: func for each entry along in_dims of its arguments, with results stacked at out_dims.

    in_dims and out_dims are numbers, or nested like the arguments and the result; None leaves a tensor whole. func runs once, or for
    chunk_size entries at a time: its tensors stand for all entries and have the shape of one, but no elements to read or branch on. An
    op without a rule for batches runs entry by entry, with a warning. Keyword arguments stay whole. randomness: 'error' if func must
    not draw random numbers, 'different' for new ones for each entry, 'same' for equal ones.

    >>> import tenon.torch as torch
    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2)).tolist()
    [2.0, 2.0, 2.0]
    """
    if randomness not in ('error', 'different', 'same'):
        raise RuntimeError(f'[vmap] randomness is {randomness!r}, must be "error", "different" or "same"')
    _check_chunk('vmap', chunk_size)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        if not args:
            raise InvalidArgumentError('[vmap] no arguments to map over')
        if not isinstance(in_dims, (int, tuple, list)):
            raise InvalidArgumentError(f'[vmap] in_dims must be an int or a tuple, not {type(in_dims).__name__}')
        dims = _spread('in_dims', tuple(in_dims) if isinstance(in_dims, list) else in_dims, args)
        places, count = _mapped(args, dims)
        if chunk_size is not None and chunk_size < count:
            return _in_chunks(func, args, kwargs, places, count, chunk_size, randomness, out_dims)
        return _run(func, args, kwargs, places, count, randomness, out_dims)
    return wrapped
