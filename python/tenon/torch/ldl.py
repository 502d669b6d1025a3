"""Symmetric indefinite factors A = M D Mᴴ, with D of 1 × 1 and 2 × 2 blocks and the pivots of Bunch and Kaufman (1977), in LAPACK's
form.

Works matrix by matrix and column by column, for matrices of moderate size.
"""
import math

from .. import _core
from .. import linalg as _linalg
from .._core import ops
from .._errors import InvalidArgumentError
from ._common import check, full, into, rank, somewhere
from .linalg import _square
from .return_types import returned
from .shape import adjoint

_Factor, _FactorEx = returned('linalg_ldl_factor'), returned('linalg_ldl_factor_ex')
_slice, _matmul, _reshape = ops['slice'], ops['matmul'], ops['reshape']
_ALPHA = (1 + math.sqrt(17)) / 8


def _turned(x, hermitian):
    return adjoint(x) if hermitian else ops['transpose'](x, -2, -1)


def _block(x, i, j, m, n):
    """Rows i to m, columns j to n."""
    return _slice(_slice(x, -2, i, m), -1, j, n)


def _swapped(n, i, j, x):
    order = list(range(n))
    order[i], order[j] = order[j], order[i]
    return _core._from_data(order, _core.int64, x.device)


def _size(x):
    """The size by which pivots are chosen; for complex numbers |real| + |imag|, as in LAPACK."""
    return ops['abs'](ops['real'](x)) + ops['abs'](ops['imag'](x)) if rank(x.dtype) == 3 else ops['abs'](x)


def _pivot(rest):
    """(width of the block, entry that moves to its end) of the rest; width 0 if the column is 0."""
    n = rest.shape[-1]
    first = _size(ops['select'](rest, 1, 0)).tolist()
    most = max(first[1:], default=0.0)
    at = first.index(most, 1) if n > 1 else 0
    if max(first[0], most) == 0:
        return 0, 0
    if first[0] >= _ALPHA * most:
        return 1, 0
    row = _size(ops['select'](rest, 0, at)).tolist()
    other = max(row[:at] + row[at + 1:])
    if first[0] >= _ALPHA * most * (most / other):
        return 1, 0
    return (1, at) if row[at] >= _ALPHA * other else (2, at)


def _factor(A, hermitian):
    """(LD, pivots, info) of one matrix; reads its lower triangle."""
    n = A.shape[-1]
    rest = ops['tril'](A) + _turned(ops['tril'](A, -1), hermitian)
    found, pivots, info, k = full((n, n), 0, A), [], 0, 0
    while k < n:
        m = n - k
        wide, at = _pivot(rest)
        if not wide:
            info = info or k + 1
            pivots.append(k + 1)
            rest, k = _block(rest, 1, 1, m, m), k + 1
            continue
        order = _swapped(m, wide - 1, at, A)
        rest = ops['index_select'](ops['index_select'](rest, 0, order), 1, order)
        head, below = _block(rest, 0, 0, wide, wide), _block(rest, wide, 0, m, wide)
        factors = _turned(_linalg.solve(_turned(head, False), _turned(below, False)), False) if wide < m else below
        columns = ops['concat']([ops['tril'](head), factors], 0)
        found = found + ops['pad'](columns, (k, m - wide, k, 0))
        pivots += [k + 1 + at] if wide == 1 else [-(k + 1 + at)] * 2
        rest = _block(rest, wide, wide, m, m) - _matmul(factors, _turned(below, hermitian))
        k += wide
    return found, _core._from_data(pivots, _core.int32, A.device), full((), info, A, _core.int32)


def _each(x, rank_):
    """The matrices, or vectors, of a batch."""
    flat = _reshape(x, (math.prod(x.shape[:x.ndim - rank_]), *x.shape[x.ndim - rank_:]))
    return [ops['select'](flat, 0, i) for i in range(flat.shape[0])]


def ldl_factor_ex(A, *, hermitian=False, check_errors=False, out=None):
    """(LD, pivots, info): D on the diagonal and, for 2 × 2 blocks, below it; L below; info: the first column that is 0, counted from
    1."""
    A = _square('ldl_factor', check(A)).detach()
    lead, n = A.shape[:-2], A.shape[-1]
    found = [_factor(each, hermitian and rank(A.dtype) == 3) for each in _each(A, 2)] if A.size else []
    if not found:
        made = _FactorEx(ops['clone'](A), full((*lead, n), 0, A, _core.int32), full(lead, 0, A, _core.int32))
    else:
        shapes = A.shape, (*lead, n), lead
        made = _FactorEx(*(_reshape(ops['stack'](list(part)), shape) for part, shape in zip(zip(*found), shapes)))
    if check_errors and somewhere(made.info != 0):
        raise InvalidArgumentError('[linalg.ldl_factor] a matrix is singular')
    return into(out, made)


def ldl_factor(A, *, hermitian=False, out=None):
    """(LD, pivots)."""
    return into(out, _Factor(*ldl_factor_ex(A, hermitian=hermitian)[:2]))


def _parts(LD, pivots, hermitian):
    """(M, D) of one matrix."""
    n = LD.shape[-1]
    M, D, k = ops['eye'](n, None, 0, LD.dtype, LD.device), full((n, n), 0, LD), 0
    one = M
    pivots = pivots.tolist()
    while k < n:
        wide = 1 if pivots[k] > 0 else 2
        last = k + wide
        below = ops['pad'](_block(LD, last, k, n, last), (k, n - last, last, 0))
        M = _matmul(ops['index_select'](M, 1, _swapped(n, last - 1, abs(pivots[k]) - 1, LD)), one + below)
        head = ops['tril'](_block(LD, k, k, last, last))
        D = D + ops['pad'](head + _turned(ops['tril'](head, -1), hermitian), (k, n - last, k, n - last))
        k = last
    return M, D


def ldl_solve(LD, pivots, B, *, hermitian=False, out=None):
    """The X of A X = B, with A as returned by ldl_factor()."""
    _square('ldl_solve', check(LD))
    if LD.dtype is not check(B).dtype or check(pivots).dtype is not _core.int32:
        raise InvalidArgumentError(f'[linalg.ldl_solve] dtypes {LD.dtype}, {pivots.dtype} and {B.dtype}')
    if B.ndim < 2 or B.shape[-2] != LD.shape[-1] or pivots.shape != LD.shape[:-1]:
        raise InvalidArgumentError(f'[linalg.ldl_solve] shapes {LD.shape}, {pivots.shape} and {B.shape} do not fit')
    hermitian = hermitian and rank(LD.dtype) == 3
    if not LD.size:
        from .shape import broadcast_shapes
        return into(out, full((*broadcast_shapes(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:]), 0, B))
    parts = [_parts(*each, hermitian) for each in zip(_each(LD, 2), _each(pivots, 1))]
    M, D = (_reshape(ops['stack'](list(part)), LD.shape) for part in zip(*parts))
    return into(out, _linalg.solve(_turned(M, hermitian), _linalg.solve(D, _linalg.solve(M, B))))
