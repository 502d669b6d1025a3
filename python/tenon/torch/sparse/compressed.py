"""Matrices by compressed rows or columns: where each begins, and for each element its other index and its value."""
from ... import _core
from ..._core import ops
from ..._errors import InvalidArgumentError
from .._common import cast, full, largest, smallest
from ..modes import Size
from .coo import CooTensor, flat_indices
from .tensor import SparseTensor


class CompressedTensor(SparseTensor):
    """A matrix by rows (CSR) or columns (CSC): starts (rows + 1,), others (n,), values (n,)."""

    def __init__(self, layout, starts, others, values, shape):
        self.layout, self._starts, self._others, self._data, self.shape = layout, starts, others, values, Size(shape)

    by_rows = property(lambda self: self.layout == 'torch.sparse_csr')
    is_sparse_csr = by_rows

    def _with(self, values):
        return CompressedTensor(self.layout, self._starts, self._others, values, self.shape)

    def _moved(self, values):
        return CompressedTensor(self.layout, self._starts.to(values.device), self._others.to(values.device), values, self.shape)

    def _parts(self):
        names = ('crow_indices', 'col_indices') if self.by_rows else ('ccol_indices', 'row_indices')
        return (names[0], self._starts), (names[1], self._others), ('values', self._data)

    def _nnz(self):
        return self._data.shape[0]

    def values(self):
        return self._data

    def sparse_dim(self):
        return 2

    def dense_dim(self):
        return 0

    def _part(self, name, by_rows, part):
        if self.by_rows != by_rows:
            raise RuntimeError(f'[{name}] of a sparse tensor of layout {self.layout}')
        return part

    def crow_indices(self):
        return self._part('crow_indices', True, self._starts)

    def col_indices(self):
        return self._part('col_indices', True, self._others)

    def ccol_indices(self):
        return self._part('ccol_indices', False, self._starts)

    def row_indices(self):
        return self._part('row_indices', False, self._others)

    def to_sparse_coo(self):
        counts = self._starts[1:] - self._starts[:-1]
        at = ops['arange'](0, counts.shape[0], 1, _core.int64, counts.device)
        lines = ops['searchsorted'](self._starts[1:], ops['arange'](0, self._nnz(), 1, _core.int64, counts.device), True) if self._nnz() else at[:0]
        rows = [lines, self._others] if self.by_rows else [self._others, lines]
        # Columns are not in the order of coalesced tensors.
        return CooTensor(ops['stack'](rows), self._data, self.shape, self.by_rows)

    def to_sparse(self, *args, layout=None, **kwargs):
        if layout == self.layout:
            return self
        return self.to_sparse_coo() if layout in (None, 'torch.sparse_coo') else compressed(self.to_sparse_coo(), layout)

    def to_sparse_csr(self, dense_dim=None):
        return self.to_sparse(layout='torch.sparse_csr')

    def to_sparse_csc(self, dense_dim=None):
        return self.to_sparse(layout='torch.sparse_csc')

    def to_dense(self, dtype=None, *, masked_grad=True):
        return self.to_sparse_coo().to_dense(dtype)

    def transposed(self, dim0, dim1):
        """Rows become columns: the same numbers in the other layout."""
        if dim0 == dim1:
            return self
        other = 'torch.sparse_csc' if self.by_rows else 'torch.sparse_csr'
        return CompressedTensor(other, self._starts, self._others, self._data, self.shape[::-1])


def compressed(x, layout):
    """A matrix by coordinates in compressed rows or columns."""
    if x.ndim != 2 or x.dense_dim():
        raise InvalidArgumentError(f'[to_sparse] layout {layout} is that of matrices, not of shape {x.shape}')
    x = x.coalesce()
    line, other = (0, 1) if layout == 'torch.sparse_csr' else (1, 0)
    values, lines, others = x._data, x._places[line], x._places[other]
    if line:
        order = ops['argsort'](flat_indices(CooTensor(ops['stack']([lines, others]), values, x.shape[::-1])), 0)
        values, lines, others = (ops['index_select'](each, 0, order) for each in (values, lines, others))
    edges = ops['arange'](0, x.shape[line] + 1, 1, _core.int64, lines.device)
    starts = ops['searchsorted'](lines, edges, False) if x._nnz() else full(edges.shape, 0, edges)
    return CompressedTensor(layout, starts, others, values, x.shape)


def _make(layout, name, starts, others, values, size, dtype, device, requires_grad):
    import tenon.torch as torch
    starts, others = (cast(torch.as_tensor(x, device=device), _core.int64) for x in (starts, others))
    values = torch.as_tensor(values, dtype=dtype, device=device)
    line = 0 if layout == 'torch.sparse_csr' else 1
    if starts.ndim != 1 or others.ndim != 1 or values.ndim != 1 or others.shape != values.shape or not starts.size:
        raise InvalidArgumentError(f'[{name}] shapes {tuple(starts.shape)}, {tuple(others.shape)} and {tuple(values.shape)}: must be (lines + 1,), (n,) and (n,)')
    count = int(largest(others)) + 1 if others.size else 0
    shape = tuple(size) if size is not None else (starts.shape[0] - 1, count) if line == 0 else (count, starts.shape[0] - 1)
    if len(shape) != 2 or shape[line] != starts.shape[0] - 1:
        raise InvalidArgumentError(f'[{name}] size {shape} for {starts.shape[0] - 1} compressed lines')
    if int(starts[0]) != 0 or int(starts[-1]) != values.shape[0] or (starts.size > 1 and smallest(starts[1:] - starts[:-1]) < 0):
        raise InvalidArgumentError(f'[{name}] the starts must begin with 0, not fall, and end with {values.shape[0]}, the number of values')
    if others.size and (smallest(others) < 0 or count > shape[1 - line]):
        raise InvalidArgumentError(f'[{name}] an index is not within size {shape[1 - line]}')
    if requires_grad:
        values = values.detach().clone().requires_grad_()
    return CompressedTensor(layout, starts, others, values, shape)


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None):
    """A sparse matrix by rows: row i has elements crow_indices[i] to crow_indices[i + 1] of col_indices and values."""
    return _make('torch.sparse_csr', 'sparse_csr_tensor', crow_indices, col_indices, values, size, dtype, device, requires_grad)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None):
    """A sparse matrix by columns."""
    return _make('torch.sparse_csc', 'sparse_csc_tensor', ccol_indices, row_indices, values, size, dtype, device, requires_grad)


def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False,
                             requires_grad=False, check_invariants=None):
    """A sparse matrix in layout torch.sparse_csr or torch.sparse_csc."""
    if layout not in ('torch.sparse_csr', 'torch.sparse_csc'):
        raise NotImplementedError(f'[sparse_compressed_tensor] layout {layout} is not offered: torch.sparse_csr and sparse_csc are')
    return _make(layout, 'sparse_compressed_tensor', compressed_indices, plain_indices, values, size, dtype, device, requires_grad)
