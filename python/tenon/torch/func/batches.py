"""vmap: a function of one example as a function of a batch."""
import functools

from ..._core import Tensor, default_generator, ops
from .derivatives import _check_chunk
from .trees import filled, leaves_of, spread


def _spread(where, dims, value):
    try:
        found = spread(dims, value)
    except ValueError as error:
        raise ValueError(f'[vmap] {where}: {error}') from None
    for dim in found:
        if isinstance(dim, bool):
            raise ValueError(f'[vmap] {where} is {dim}, must be an int or None')
    return found


def _mapped(args, dims):
    """(the dimension that is gone through of each leaf of the arguments, how many entries it has)."""
    sizes, places = set(), []
    for x, dim in zip(leaves_of(args), dims):
        if dim is not None and not isinstance(x, Tensor):
            raise ValueError(f'[vmap] in_dims is {dim} for a {type(x).__name__}: None leaves it whole')
        if dim is not None and not -x.ndim <= dim < x.ndim:
            raise ValueError(f'[vmap] in_dims {dim} is out of range for a tensor of rank {x.ndim}')
        places.append(None if dim is None else dim % x.ndim)
        if dim is not None:
            sizes.add(x.shape[dim])
    if not sizes:
        raise ValueError('[vmap] in_dims names no tensor to map over')
    if len(sizes) > 1:
        raise ValueError(f'[vmap] tensors of {sorted(sizes)} entries to map over')
    count = sizes.pop()
    if count == 0:
        raise ValueError('[vmap] nothing to map over: a dimension of size 0')
    return places, count


def _entries(func, args, kwargs, places, count, randomness):
    """What func gives for each entry."""
    generator = default_generator()
    begin = generator.get_state()
    found, leaves = [], leaves_of(args)
    for i in range(count):
        if randomness == 'same':
            generator.set_state(begin)
        values = (x if dim is None else ops['select'](x, dim, i) for x, dim in zip(leaves, places))
        found.append(func(*filled(args, values), **kwargs))
        if randomness == 'error' and generator.get_state() != begin:
            raise RuntimeError('[vmap] the function draws random numbers: say randomness="different" or "same"')
    return found


def _joined(results, out_dims):
    """The results of all entries, stacked leaf by leaf."""
    leaves = [leaves_of(result) for result in results]
    for y in leaves[0]:
        if not isinstance(y, Tensor):
            raise ValueError(f'[vmap] the function must return Tensors, not {type(y).__name__}')
    dims = _spread('out_dims', out_dims, results[0])
    for dim, y in zip(dims, leaves[0]):
        if dim is not None and not -y.ndim - 1 <= dim <= y.ndim:
            raise IndexError(f'[vmap] out_dims {dim} is out of range for results of rank {y.ndim + 1}')
    stacked = [column[0] if dim is None else ops['stack'](list(column), dim) for dim, column in zip(dims, zip(*leaves))]
    return filled(results[0], iter(stacked))


def vmap(func, in_dims=0, out_dims=0, randomness='error', *, chunk_size=None):
    """A function over batches: func is called for each entry along in_dims of its arguments, and its results are stacked at out_dims.

    in_dims and out_dims are numbers, or nested like the arguments and the result; None leaves a tensor whole. It is a loop: as slow
    as one, so chunk_size changes nothing, and differentiable as one. Keyword arguments stay whole. randomness: an
    'error' where func draws random numbers, 'different' ones for each entry, or the 'same' ones.

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
            raise ValueError('[vmap] no arguments to map over')
        if not isinstance(in_dims, (int, tuple, list)):
            raise ValueError(f'[vmap] in_dims must be an int or a tuple, not {type(in_dims).__name__}')
        dims = _spread('in_dims', tuple(in_dims) if isinstance(in_dims, list) else in_dims, args)
        places, count = _mapped(args, dims)
        return _joined(_entries(func, args, kwargs, places, count, randomness), out_dims)
    return wrapped
