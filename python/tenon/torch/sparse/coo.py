"""Coordinates: each stored element has its indices, one row for each sparse dimension, and its value, which may be a dense tensor."""
import math
from typing import Any

from ... import _core
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError, OutOfRangeError
from .._common import cast, check, full, largest, smallest
from ..modes import Size
from .tensor import SparseTensor, computes, is_sparse


class CooTensor(SparseTensor):
    """indices (sparse dimensions, n), values (n, …dense dimensions), shape. If not coalesced, an element may occur several times."""

    layout, is_sparse = 'torch.sparse_coo', True

    def __init__(self, indices, values, shape, is_coalesced=False):
        self._places, self._data, self.shape, self._coalesced = indices, values, Size(shape), is_coalesced

    def _with(self, values):
        return CooTensor(self._places, values, self.shape, self._coalesced)

    def _moved(self, values):
        return CooTensor(self._places.to(values.device), values, self.shape, self._coalesced)

    def _parts(self):
        return ('indices', self._places), ('values', self._data)

    def _nnz(self):
        return self._data.shape[0]

    def _indices(self):
        return self._places

    def _values(self):
        return self._data

    def indices(self):
        self._check_coalesced('indices')
        return self._places

    def values(self):
        self._check_coalesced('values')
        return self._data

    def zeroed(self):
        """The same without elements."""
        return CooTensor(self._places[:, :0], self._data[:0], self.shape, True)

    def _check_coalesced(self, name):
        if not self._coalesced:
            raise RuntimeError(f'[{name}] of a sparse tensor that is not coalesced: call coalesce() first')

    def is_coalesced(self):
        return self._coalesced

    def sparse_dim(self):
        return self._places.shape[0]

    def dense_dim(self):
        return self._data.ndim - 1

    def coalesce(self):
        """Each element once, in order; values with the same indices are summed."""
        if self._coalesced or self._nnz() < 1:
            return CooTensor(self._places, self._data, self.shape, True)
        places, inverse = flat_indices(self), None
        found = ops['unique'](places)
        places, inverse = found.values, ops['reshape'](found.inverse, (-1,))
        zeros = full((places.shape[0], *self._data.shape[1:]), 0, self._data)
        return CooTensor(rows_of(places, self.shape[:self.sparse_dim()]), ops['index_add'](zeros, 0, inverse, self._data), self.shape, True)

    def _gradient(self, values):
        """An element that occurs several times has one gradient."""
        if self._coalesced or not self._nnz():
            return self._with(values)
        found = ops['unique'](flat_indices(self))
        return CooTensor(rows_of(found.values, self.shape[:self.sparse_dim()]), ops['index_select'](values, 0, found.indices), self.shape, True)

    def to_dense(self, dtype=None, *, masked_grad=True):
        sparse = self.shape[:self.sparse_dim()]
        zeros = full((math.prod(sparse), *self._data.shape[1:]), 0, self._data)
        found = ops['reshape'](ops['index_add'](zeros, 0, flat_indices(self), self._data), self.shape)
        return found if dtype is None else cast(found, dtype)

    def to_sparse(self, *args, layout=None, **kwargs):
        if layout in (None, self.layout):
            return self
        return self.to_sparse_csr() if layout == 'torch.sparse_csr' else self.to_sparse_csc()

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim=None):
        from .compressed import compressed
        return compressed(self, 'torch.sparse_csr')

    def to_sparse_csc(self, dense_dim=None):
        from .compressed import compressed
        return compressed(self, 'torch.sparse_csc')


def flat_indices(x):
    """One index for each stored element, counted over all sparse dimensions."""
    place = None
    for size, row in zip(x.shape, x._places):
        place = row if place is None else place * size + row
    return place if place is not None else full((x._nnz(),), 0, x._places)


def rows_of(places, sizes):
    """The inverse: a row of indices for each dimension."""
    rows = []
    for size in reversed(sizes):
        rows.append(places % size)
        places = places // size
    return ops['stack'](rows[::-1]) if rows else full((0, places.shape[0]), 0, places)


def sparse_coo_tensor(indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None, is_coalesced=None):
    """A sparse tensor of indices (dimensions, n) and values (n, …); without a size it gets the smallest that holds them.

    >>> import tenon.torch as torch
    >>> (torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)) @ torch.ones(2, 1)).tolist()
    [[2.0], [3.0]]
    """
    import tenon.torch as torch
    if values is None:  # sparse_coo_tensor(size)
        given = size if indices is None else indices
        if given is None:
            raise TypeError('[sparse_coo_tensor] needs indices and values, or a size')
        shape = tuple(given)
        made = CooTensor(full((len(shape), 0), 0, torch.empty(0, dtype=torch.int64, device=device)),
                         torch.zeros(0, dtype=dtype, device=device), shape, True)
        return made.requires_grad_(requires_grad)
    indices = cast(torch.as_tensor(indices, device=device), _core.int64)
    values = torch.as_tensor(values, dtype=dtype, device=device)
    if indices.ndim != 2:
        raise InvalidArgumentError(f'[sparse_coo_tensor] indices have rank {indices.ndim}, must be (sparse dimensions, n)')
    if not values.ndim or values.shape[0] != indices.shape[1]:
        raise InvalidArgumentError(f'[sparse_coo_tensor] values of shape {tuple(values.shape)} for {indices.shape[1]} columns of indices')
    shape = _size(indices, values) if size is None else tuple(size)
    if len(shape) != indices.shape[0] + values.ndim - 1:
        raise InvalidArgumentError(f'[sparse_coo_tensor] size {shape} for {indices.shape[0]} sparse and {values.ndim - 1} dense dimensions')
    if shape[indices.shape[0]:] != tuple(values.shape[1:]):
        raise InvalidArgumentError(f'[sparse_coo_tensor] size {shape} does not end as the values {tuple(values.shape)} do')
    if indices.size and smallest(indices) < 0:
        raise InvalidArgumentError('[sparse_coo_tensor] an index is negative')
    for dim, limit in enumerate(shape[:indices.shape[0]]):
        if indices.size and largest(indices[dim]) >= limit:
            raise InvalidArgumentError(f'[sparse_coo_tensor] an index of dimension {dim} is not within size {limit}')
    if requires_grad:
        values = values.detach().clone().requires_grad_()
    return CooTensor(indices, values, shape, bool(is_coalesced))


def _size(indices, values):
    if not indices.shape[1]:
        return (0,) * indices.shape[0] + tuple(values.shape[1:])
    return tuple(int(largest(row)) + 1 for row in indices) + tuple(values.shape[1:])


def to_sparse(x, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The nonzero elements of a dense tensor, by coordinates in the first `sparse_dim` dimensions, or in another layout."""
    if layout in ('torch.sparse_csr', 'torch.sparse_csc'):
        from .compressed import compressed
        return compressed(to_sparse(x), layout)
    if layout not in (None, 'torch.sparse_coo'):
        raise NotImplementedError(f'[to_sparse] layout {layout} is not offered: torch.sparse_coo, sparse_csr and sparse_csc are')
    count = check(x).ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= x.ndim or (count == 0 and x.ndim):
        raise InvalidArgumentError(f'[to_sparse] {sparse_dim} sparse dimensions of a tensor of rank {x.ndim}')
    there = ops['not_equal'](x.detach(), 0)
    if count < x.ndim:
        there = ops['any'](there, tuple(range(count, x.ndim)))
    if not x.ndim:
        return CooTensor(full((0, int(bool(there))), 0, ops['cast'](there, _core.int64)), ops['reshape'](x, (1,))[:int(bool(there))], (), True)
    places = ops['transpose'](ops['nonzero'](there), 0, 1)
    return CooTensor(places, ops['index'](x, [places[d] for d in range(count)]), x.shape, True)


def _same_shape(name, a, b):
    if a.shape != b.shape:
        raise InvalidArgumentError(f'[{name}] sparse tensors of shapes {a.shape} and {b.shape}')


def _coo(x: Any) -> Any:
    return x if x.is_sparse else x.to_sparse_coo()


def _as(x, like):
    """A tensor by coordinates, in the layout of another."""
    return x if like.is_sparse else x.to_sparse(layout=like.layout)


@computes('add')
def add(input, other, *, alpha=1, out=None):
    """Two sparse tensors give a sparse one; a dense and a sparse one give a dense one."""
    if isinstance(input, Tensor):
        return input + other.to_dense() * alpha if alpha != 1 else input + other.to_dense()
    if not is_sparse(other):
        if isinstance(other, Tensor):
            return add(other, input * alpha if alpha != 1 else input) if alpha == 1 else input.to_dense() + other * alpha
        raise TypeError('[add] a number to a sparse tensor makes it dense: use to_dense()')
    _same_shape('add', input, other)
    a, b = _coo(input), _coo(other)
    values = cast(b._data, a.dtype) if a.dtype is not b.dtype else b._data
    if a.sparse_dim() != b.sparse_dim():
        raise InvalidArgumentError(f'[add] {a.sparse_dim()} and {b.sparse_dim()} sparse dimensions')
    joined = CooTensor(ops['concat']([a._places, b._places], 1), ops['concat']([a._data, values * alpha if alpha != 1 else values]), a.shape)
    return _as(joined.coalesce(), input)


@computes('sub')
def sub(input, other, *, alpha=1, out=None):
    return add(input, other, alpha=-alpha)


def _stored(name, x, dense, compute):
    """compute(values, the elements of a dense tensor at the places that x stores)."""
    if tuple(dense.shape) != tuple(x.shape):
        dense = ops['expand'](dense, x.shape)
    coo = _coo(x)
    picked = ops['index'](dense, [coo._places[d] for d in range(coo.sparse_dim())])
    made = CooTensor(coo._places, compute(coo._data, picked), coo.shape, coo._coalesced)
    return _as(made, x)


def masked(dense, mask):
    """The elements of a dense tensor at the places that a sparse one stores."""
    if not is_sparse(mask):
        raise TypeError('[sparse_mask] the mask must be a sparse tensor')
    if tuple(dense.shape) != mask.shape:
        raise InvalidArgumentError(f'[sparse_mask] a mask of shape {mask.shape} for a tensor of shape {tuple(dense.shape)}')
    return _stored('sparse_mask', mask, dense, lambda values, picked: picked)


@computes('mul')
def mul(input: Any, other: Any, *, out=None):
    """Multiplies by a number, or element by element; what is 0 in one operand is 0 in the result."""
    if not is_sparse(input):
        input, other = other, input
    if isinstance(other, Tensor) and other.ndim:
        return _stored('mul', input, other, lambda values, picked: values * picked)
    if not is_sparse(other):
        return input._with(input._data * other)
    _same_shape('mul', input, other)
    a, b = _coo(input).coalesce(), _coo(other).coalesce()
    if a.dense_dim() or b.dense_dim():
        raise NotImplementedError('[mul] of sparse tensors with dense dimensions: use to_dense()')
    mine, theirs = flat_indices(a), flat_indices(b)
    if not b._nnz():
        return _as(b, input)
    at = ops['clamp'](ops['searchsorted'](theirs, mine), 0, b._nnz() - 1)
    both = ops['nonzero'](ops['equal'](ops['index_select'](theirs, 0, at), mine))[:, 0]
    values = ops['index_select'](a._data, 0, both) * ops['index_select'](b._data, 0, ops['index_select'](at, 0, both))
    return _as(CooTensor(ops['index_select'](a._places, 1, both), values, a.shape, True), input)


@computes('div')
def div(input, other, *, rounding_mode=None, out=None):
    if is_sparse(other) or not is_sparse(input):
        raise TypeError('[div] by a sparse tensor divides by 0: use to_dense()')
    if rounding_mode is not None:
        raise NotImplementedError('[div] of a sparse tensor has no rounding_mode: use to_dense()')
    if isinstance(other, Tensor) and other.ndim:
        return _stored('div', input, other, lambda values, picked: values / picked)
    return input._with(input._data / other)


@computes('transpose')
def transpose(input, dim0, dim1):
    """Two sparse dimensions swapped."""
    rank = input.ndim
    dims = dim0 % rank, dim1 % rank
    if not input.is_sparse:
        return input.transposed(*dims)
    if max(dims) >= input.sparse_dim():
        raise NotImplementedError('[transpose] of dense dimensions of a sparse tensor: use to_dense()')
    order, shape = list(range(input.sparse_dim())), list(input.shape)
    order[dims[0]], order[dims[1]] = dims[1], dims[0]
    shape[dims[0]], shape[dims[1]] = shape[dims[1]], shape[dims[0]]
    indices = ops['stack']([input._places[d] for d in order])
    return CooTensor(indices, input._data, shape, input._coalesced and dims[0] == dims[1])


@computes('t')
def t(input):
    if input.ndim > 2:
        raise InvalidArgumentError(f'[t] of a sparse tensor of rank {input.ndim}')
    return transpose(input, 0, 1) if input.ndim == 2 else input


@computes('unsqueeze')
def unsqueeze(input, dim):
    rank = input.ndim + 1
    if not -rank <= dim < rank:
        raise OutOfRangeError(f'[unsqueeze] dim {dim} is out of range for rank {input.ndim}')
    dim %= rank
    if not input.is_sparse or dim > input.sparse_dim():
        raise NotImplementedError('[unsqueeze] among dense dimensions, or of a compressed tensor: use to_dense()')
    rows = [input._places[d] for d in range(input.sparse_dim())]
    rows.insert(dim, full((input._nnz(),), 0, input._places))
    shape = list(input.shape)
    shape.insert(dim, 1)
    return CooTensor(ops['stack'](rows), input._data, shape, input._coalesced)


@computes('index_select')
def index_select(input: Any, dim, index):
    """Rows of one sparse dimension, in the order of index."""
    x = _coo(input).coalesce()
    dim %= x.ndim
    if dim >= x.sparse_dim():
        return CooTensor(x._places, ops['index_select'](x._data, dim - x.sparse_dim() + 1, index),
                         (*x.shape[:dim], index.shape[0], *x.shape[dim + 1:]), True)
    pairs = ops['nonzero'](ops['equal'](ops['unsqueeze'](index, 1), ops['unsqueeze'](x._places[dim], 0)))
    new, old = pairs[:, 0], pairs[:, 1]
    rows = [new if d == dim else ops['index_select'](x._places[d], 0, old) for d in range(x.sparse_dim())]
    return CooTensor(ops['stack'](rows), ops['index_select'](x._data, 0, old), (*x.shape[:dim], index.shape[0], *x.shape[dim + 1:])).coalesce()


@computes('cat', 'concat')
def cat(tensors, dim=0, *, out=None):
    """Along a sparse dimension."""
    if not all(is_sparse(x) and x.is_sparse for x in tensors):
        raise TypeError('[cat] of sparse and dense tensors: use to_dense()')
    dim %= tensors[0].ndim
    if dim >= tensors[0].sparse_dim():
        raise NotImplementedError('[cat] along a dense dimension of sparse tensors: use to_dense()')
    indices, at = [], 0
    for x in tensors:
        if x.shape[:dim] + x.shape[dim + 1:] != tensors[0].shape[:dim] + tensors[0].shape[dim + 1:]:
            raise InvalidArgumentError(f'[cat] shapes {x.shape} and {tensors[0].shape} differ beside dimension {dim}')
        indices.append(ops['stack']([x._places[d] + at if d == dim else x._places[d] for d in range(x.sparse_dim())]))
        at += x.shape[dim]
    shape = (*tensors[0].shape[:dim], at, *tensors[0].shape[dim + 1:])
    return CooTensor(ops['concat'](indices, 1), ops['concat']([x._data for x in tensors]), shape)
