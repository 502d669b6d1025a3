"""Joining tensors and splitting them into parts."""
from typing import Any

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError, OutOfRangeError
from ._backward_names import named
from ._common import Tensor, check, dim_of, full, into, promoted
from ._shortcuts import short
from .shape import atleast_1d, atleast_2d, atleast_3d

_reshape, _slice = ops['reshape'], ops['slice']
_MOST_PARTS = 2 ** 20


def _listed(tensors, name):
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(f'[{name}] needs a list or tuple of Tensors, not {type(tensors).__name__}')
    if not tensors:
        raise InvalidArgumentError(f'[{name}] needs at least one tensor')
    return [check(x, name) for x in tensors]


@short
def cat(tensors, dim=0, *, out=None):
    """Tensors joined along a dimension; an empty vector joins with anything."""
    tensors = _listed(tensors, 'cat')
    if any(not x.ndim for x in tensors):
        raise InvalidArgumentError('[cat] tensors of rank 0 are not joined: use stack')
    tensors = promoted(*tensors)
    kept = [x for x in tensors if x.shape != (0,)] or list(tensors[:1])
    dim = dim_of(dim, kept[0].ndim)
    if out is not None and any(out is x or out.shares_memory(x) for x in tensors):
        raise InvalidArgumentError('[cat] out shares memory with an argument')
    return into(out, ops['concat'](kept, dim))


concat = concatenate = cat


@short
def stack(tensors, dim=0, *, out=None):
    """Tensors of one shape joined along a new dimension."""
    tensors = promoted(*_listed(tensors, 'stack'))
    return into(out, ops['stack'](tensors, dim_of(dim, tensors[0].ndim + 1)))


def hstack(tensors, *, out=None):
    """Tensors joined along the second dimension, or the only one for vectors."""
    tensors = [x if x.ndim else atleast_1d(x) for x in _listed(tensors, 'hstack')]
    dim = 0 if tensors[0].ndim == 1 else 1
    return cat(tensors, dim) if out is None else cat(tensors, dim, out=out)


def vstack(tensors, *, out=None):
    """Tensors joined along the first dimension; vectors become rows of a matrix."""
    tensors = [x if x.ndim > 1 else atleast_2d(x) for x in _listed(tensors, 'vstack')]
    return cat(tensors) if out is None else cat(tensors, out=out)


row_stack = vstack


def dstack(tensors, *, out=None):
    """Tensors joined along the third dimension."""
    return cat([atleast_3d(x) for x in _listed(tensors, 'dstack')], 2, out=out)


def column_stack(tensors, *, out=None):
    """Tensors joined along the second dimension; vectors become columns."""
    return cat([_reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in _listed(tensors, 'column_stack')], 1, out=out)


def block_diag(*tensors):
    """Matrices along the diagonal of a larger one, 0 elsewhere."""
    if not tensors:
        raise InvalidArgumentError('[block_diag] needs at least one tensor')
    if any(check(x).ndim > 2 for x in tensors):
        raise InvalidArgumentError('[block_diag] needs two dimensions at most')
    given, tensors = tensors, promoted(*(_reshape(x, (1,) * (2 - x.ndim) + tuple(x.shape)) for x in tensors))
    width, before, rows = sum(x.shape[1] for x in tensors), 0, []
    for x in tensors:
        height, own = x.shape
        rows.append(ops['concat']([full((height, before), 0, x), x, full((height, width - before - own), 0, x)], 1))
        before += own
    return named(ops['concat'](rows, 0), 'BlockDiagBackward0', *given)


# Parts -----------------------------------------------------------------------------------------------------------------------------

def split(tensor, split_size_or_sections, dim=0):
    """Parts of a size along a dimension, or of the sizes in a list."""
    dim = dim_of(dim, check(tensor).ndim)
    if not tensor.ndim:
        raise InvalidArgumentError('[split] needs at least one dimension')
    total, sizes = tensor.shape[dim], split_size_or_sections
    if isinstance(sizes, (tuple, list)):
        return split_with_sizes(tensor, sizes, dim)
    if sizes < 0 or (sizes == 0 and total):
        raise InvalidArgumentError(f'[split] size {sizes} must be positive')
    return tuple(named(_slice(tensor, dim, i, min(i + sizes, total)), 'SplitBackward0') for i in range(0, total, sizes or 1)) or (tensor,)


def split_with_sizes(input, split_sizes, dim=0):
    """Parts of sizes along a dimension."""
    dim = dim_of(dim, check(input).ndim)
    if any(size < 0 for size in split_sizes) or sum(split_sizes) != input.shape[dim]:
        raise InvalidArgumentError(f'[split] sizes {tuple(split_sizes)} do not add up to {input.shape[dim]}')
    parts, at = [], 0
    for size in split_sizes:
        parts.append(named(_slice(input, dim, at, at + size), 'SplitWithSizesBackward0'))
        at += size
    return tuple(parts)


def chunk(input, chunks, dim=0):
    """At most `chunks` parts along a dimension."""
    dim = dim_of(dim, check(input).ndim)
    if not 0 < chunks <= _MOST_PARTS or not input.ndim:
        raise InvalidArgumentError(f'[chunk] {chunks} chunks of rank {input.ndim}')
    total = input.shape[dim]
    size = -(-total // chunks)
    return split(input, size, dim) if size else (input,) * chunks


def tensor_split(input, indices_or_sections: Any, dim=0):
    """Parts along a dimension: a number of parts of nearly equal size, or parts cut at indices."""
    if not check(input).ndim:
        raise InvalidArgumentError('[tensor_split] needs at least one dimension')
    dim = dim_of(dim, input.ndim)
    total, cuts = input.shape[dim], indices_or_sections
    if isinstance(cuts, Tensor):
        if cuts.dtype is not _core.int64 or cuts.ndim > 1:
            raise InvalidArgumentError('[tensor_split] indices must be int64 of rank 0 or 1')
        cuts: Any = cuts.tolist() if cuts.ndim else cuts.item()
    if isinstance(cuts, int):
        if not 0 < cuts <= _MOST_PARTS:
            raise InvalidArgumentError(f'[tensor_split] {cuts} parts, must be 1 to {_MOST_PARTS}')
        small, more = divmod(total, cuts)
        return split_with_sizes(input, [small + (i < more) for i in range(cuts)], dim)
    ends = [0, *cuts, total]
    return tuple(_slice(input, dim, *_bounds(a, b, total)) for a, b in zip(ends, ends[1:]))


def _bounds(begin, end, total):
    begin, end = (min(max(at + total if at < 0 else at, 0), total) for at in (begin, end))
    return begin, max(begin, end)


def _split_along(name, rank_needed, dim_for):
    def call(input, indices_or_sections, *more):
        if more:  # indices one by one
            indices_or_sections = (indices_or_sections, *more)
        if check(input).ndim < rank_needed:
            raise InvalidArgumentError(f'[{name}] needs {rank_needed} dimensions, not {input.ndim}')
        dim = dim_for(input.ndim)
        if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or input.shape[dim] % indices_or_sections):
            raise InvalidArgumentError(f'[{name}] {input.shape[dim]} entries do not divide into {indices_or_sections} parts')
        return tensor_split(input, indices_or_sections, dim)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'tensor_split() {dict(hsplit="of columns", vsplit="of rows", dsplit="along the third dimension")[name]}.'
    return call


hsplit = _split_along('hsplit', 1, lambda ndim: 0 if ndim == 1 else 1)
vsplit, dsplit = _split_along('vsplit', 2, lambda ndim: 0), _split_along('dsplit', 3, lambda ndim: 2)
unsafe_split, unsafe_chunk, unsafe_split_with_sizes = split, chunk, split_with_sizes


def unbind(input, dim=0):
    """The entries along a dimension."""
    if not check(input).ndim:
        raise OutOfRangeError('[unbind] needs at least one dimension')
    dim = dim_of(dim, input.ndim)
    return tuple(named(ops['select'](input, dim, i), 'UnbindBackward0') for i in range(input.shape[dim]))
