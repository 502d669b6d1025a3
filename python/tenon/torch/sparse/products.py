"""Products of sparse matrices: gather rows of the other operand and add them where they belong."""
from ... import _core
from ..._core import Tensor, ops
from ..._errors import DtypeError, InvalidArgumentError
from .._common import full
from .coo import CooTensor, _as, _coo, add
from .tensor import computes, is_sparse


def _check(name, a, b, ranks):
    if (a.ndim, b.ndim) != ranks or a.shape[-1] != b.shape[0]:
        raise InvalidArgumentError(f'[{name}] shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit')
    if a.dtype is not b.dtype:
        raise DtypeError(f'[{name}] dtypes {a.dtype} and {b.dtype} differ')


def _rows_by(x, dense, reduce=None):
    """A sparse matrix (m, k) times a dense one (k, n)."""
    rows, columns = x._places[0], x._places[1]
    terms = ops['index_select'](dense, 0, columns) * ops['unsqueeze'](x._data, 1)
    zeros = full((x.shape[0], dense.shape[1]), 0, terms)
    if reduce in (None, 'sum'):
        return ops['index_add'](zeros, 0, rows, terms)
    from ..index import scatter_reduce
    wide = ops['expand'](ops['unsqueeze'](rows, 1), terms.shape)
    return scatter_reduce(zeros, 0, wide, terms, reduce, include_self=False)


def _sparse_by_sparse(a, b):
    """Each element of a times the row of b that it meets."""
    a, b = _coo(a).coalesce(), _coo(b).coalesce()
    edges = ops['searchsorted'](b._places[0], ops['arange'](0, b.shape[0] + 1, 1, _core.int64, a.device), False)
    begin, end = (ops['index_select'](edges, 0, a._places[1] + k) for k in (0, 1))
    counts = end - begin
    ends = ops['cumsum'](counts, 0)
    total = int(ends[-1]) if counts.size else 0
    at = ops['arange'](0, total, 1, _core.int64, a.device)
    left = ops['searchsorted'](ends, at, True) if total else at
    right = ops['index_select'](begin, 0, left) + at - ops['index_select'](ends - counts, 0, left) if total else at
    places = ops['stack']([ops['index_select'](a._places[0], 0, left), ops['index_select'](b._places[1], 0, right)])
    values = ops['index_select'](a._data, 0, left) * ops['index_select'](b._data, 0, right)
    return CooTensor(places, values, (a.shape[0], b.shape[1])).coalesce()


@computes('mm', 'spmm', 'matmul')
def mm(input, mat2, reduce=None, *, out=None):
    """The product of two matrices, or of a matrix and a vector; sparse if both are."""
    if not is_sparse(mat2):
        if mat2.ndim == 1:
            return mv(input, mat2)
        _check('mm', input, mat2, (2, 2))
        x, reduce = _coo(input), {'max': 'amax', 'min': 'amin'}.get(str(reduce), reduce)
        if reduce not in (None, 'sum', 'mean', 'amax', 'amin'):
            raise InvalidArgumentError(f'[sparse.mm] reduce is {reduce!r}, must be "sum", "mean", "amax" or "amin"')
        if x.dense_dim():
            raise NotImplementedError('[mm] of sparse tensors with dense dimensions: use to_dense()')
        return _rows_by(x, mat2, reduce)
    if is_sparse(input):
        _check('mm', input, mat2, (2, 2))
        return _as(_sparse_by_sparse(input, mat2), input)
    if input.ndim == 1:
        return mv(mat2.t(), input)
    _check('mm', input, mat2, (2, 2))
    return ops['transpose'](_rows_by(_coo(mat2.t()), ops['transpose'](input, 0, 1)), 0, 1)


@computes('mv')
def mv(input, vec, *, out=None):
    """A sparse matrix times a vector."""
    _check('mv', input, vec, (2, 1))
    return ops['squeeze'](_rows_by(_coo(input), ops['unsqueeze'](vec, 1)), (1,))


@computes('addmm')
def addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """beta · input + alpha · mat1 mat2."""
    product = mm(mat1, mat2)
    product = product * alpha if alpha != 1 else product
    if beta == 0:
        return product
    input = input * beta if beta != 1 else input
    if isinstance(product, Tensor) and is_sparse(input):
        return input.to_dense() + product
    return add(input, product) if is_sparse(product) else input + product


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """alpha · mat1 mat2 at the places that the sparse input stores, plus beta · input."""
    if not is_sparse(input):
        raise TypeError('[sparse.sampled_addmm] input must be sparse')
    x = _coo(input)
    if (mat1.shape[0], mat2.shape[1]) != x.shape or mat1.shape[1] != mat2.shape[0]:
        raise InvalidArgumentError(f'[sparse.sampled_addmm] shapes {tuple(mat1.shape)} and {tuple(mat2.shape)} for {x.shape}')
    left = ops['index_select'](mat1, 0, x._places[0])
    right = ops['index_select'](ops['transpose'](mat2, 0, 1), 0, x._places[1])
    values = ops['sum'](left * right, 1) * alpha + x._data * beta
    return input._with(values)


def spmm(input, mat2):
    """The product of a sparse matrix and another."""
    return mm(input, mat2)
