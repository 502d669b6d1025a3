"""Sums of sparse tensors, and softmax over stored elements."""
import math

from ..._core import ops
from .._common import cast, dims_of, full
from .coo import CooTensor, _as, _coo, flat_indices
from .tensor import computes


@computes('sum')
def sum(input, dim=None, dtype=None, keepdim=False):
    """The sum of all elements as a dense number; over some dimensions a sparse tensor, or a dense one if no sparse dimension is
    left."""
    x = _coo(input)
    if dtype is not None:
        x = x._with(cast(x._data, dtype))
    if dim is None:
        return ops['sum'](x._data)
    if keepdim:
        raise NotImplementedError('[sparse.sum] keepdim is not offered: use unsqueeze()')
    gone, sparse = set(dims_of(dim, x.ndim)), x.sparse_dim()
    inner = tuple(d - sparse + 1 for d in sorted(gone) if d >= sparse)
    values = ops['sum'](x._data, inner) if inner else x._data
    kept = [d for d in range(sparse) if d not in gone]
    if not kept:
        return ops['sum'](values, 0)
    shape = [x.shape[d] for d in range(x.ndim) if d not in gone]
    places = ops['stack']([x._places[d] for d in kept])
    return CooTensor(places, values, shape, x._coalesced and len(kept) == sparse).coalesce()


def _grouped(x, dim):
    """(which elements differ only in dimension dim, how many such groups there may be)."""
    kept = [d for d in range(x.sparse_dim()) if d != dim]
    sizes = [x.shape[d] for d in kept]
    if not kept:
        return full((x._nnz(),), 0, x._places[0]), 1
    return flat_indices(CooTensor(ops['stack']([x._places[d] for d in kept]), x._data, sizes)), math.prod(sizes)


def _softmax(input, dim, dtype, log):
    x = _coo(input).coalesce()
    if dtype is not None:
        x = x._with(cast(x._data, dtype))
    dim %= x.ndim
    if dim >= x.sparse_dim():
        return _as(x._with(ops['log_softmax' if log else 'softmax'](x._data, dim - x.sparse_dim() + 1)), input)
    from ..index import scatter_reduce
    group, count = _grouped(x, dim)
    wide = ops['expand'](ops['reshape'](group, (-1, *(1,) * (x._data.ndim - 1))), x._data.shape)
    zeros = full((count, *x._data.shape[1:]), 0, x._data)
    most = scatter_reduce(zeros, 0, wide, x._data.detach(), 'amax', include_self=False) if x._nnz() else zeros
    shifted = x._data - ops['index_select'](most, 0, group)
    powers = ops['exp'](shifted)
    total = ops['index_select'](ops['index_add'](zeros, 0, group, powers), 0, group)
    return _as(x._with(shifted - ops['log'](total) if log else powers / total), input)


@computes('softmax')
def softmax(input, dim, *, dtype=None):
    """softmax() of the stored elements along a dimension; the others count as -inf."""
    return _softmax(input, dim, dtype, False)


@computes('log_softmax')
def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax()."""
    return _softmax(input, dim, dtype, True)
