"""LU decompositions with pivots, column by column in ops: for matrices of moderate size."""

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError, UnsupportedDtypeError
from ._common import arange, cast, check, full, into, rank, returned, somewhere
from .linalg import solve_triangular
from .shape import adjoint

_Factor, _FactorEx = returned('linalg_lu_factor', 'LU pivots'), returned('linalg_lu_factor_ex', 'LU pivots info')
_LU, _Unpacked = returned('linalg_lu', 'P L U'), returned('lu_unpack', 'P L U')


def _rows(x, index):
    """Rows of matrices (…, m, n) by an index (…, m)."""
    return ops['gather'](x, -2, ops['expand'](ops['unsqueeze'](index, -1), (*index.shape, x.shape[-1])))


def _swapped(m, j, other, x):
    """The order of m rows after row j and row `other` (…) are exchanged: (…, m)."""
    at, other = arange(m, x), ops['unsqueeze'](other, -1)
    return ops['where'](at == j, other, ops['where'](at == other, j, at + 0 * other))


def _size(x):
    """The size by which pivots are chosen; for complex numbers |real| + |imag|, as in LAPACK."""
    return ops['abs'](ops['real'](x)) + ops['abs'](ops['imag'](x)) if rank(x.dtype) == 3 else ops['abs'](x)


def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """(LU, pivots, info): L below the diagonal, U on and above it; row i was exchanged with row pivots[i], counted from 1."""
    if check(A).ndim < 2 or rank(A.dtype) < 2:
        raise UnsupportedDtypeError(f'[linalg.lu_factor] needs floating or complex matrices, not {A.dtype} of shape {A.shape}')
    lead, (m, n) = A.shape[:-2], A.shape[-2:]
    k, rest, pivots, top = min(m, n), A, [], []
    info = full(lead, 0, A, _core.int32)
    done = None  # columns of L so far, (…, m - j, j)
    for j in range(k):
        column = ops['select'](rest, -1, 0)
        best = ops['argmax'](_size(column.detach()), -1) if pivot else full(lead, 0, A, _core.int64)
        pivots.append(best + (j + 1))
        order = _swapped(m - j, 0, best, A)
        rest = _rows(rest, order)
        done = _rows(done, order) if done is not None else None
        head = ops['slice'](rest, -2, 0, 1)
        corner = ops['slice'](head, -1, 0, 1)
        zero = ops['squeeze'](corner, (-2, -1)) == 0
        info = ops['where']((info == 0) & zero, j + 1, info)
        factors = ops['slice'](rest, -2, 1, m - j)
        first = ops['slice'](factors, -1, 0, 1) / ops['where'](corner == 0, 1, corner)
        top.append(head if done is None else ops['concat']([ops['slice'](done, -2, 0, 1), head], -1))
        below = first if done is None else ops['concat']([ops['slice'](done, -2, 1, m - j), first], -1)
        rest = ops['slice'](factors, -1, 1, n - j) - ops['matmul'](first, ops['slice'](head, -1, 1, n - j))
        done = below
    parts = top + ([done] if m > k and done is not None else [])
    found = ops['concat'](parts, -2) if parts else ops['clone'](A)
    pivots = cast(ops['stack'](pivots, -1), _core.int32) if pivots else full((*lead, 0), 0, A, _core.int32)
    if check_errors and somewhere(info != 0):
        raise InvalidArgumentError('[linalg.lu_factor] a matrix is singular')
    return into(out, _FactorEx(found, pivots, cast(info, _core.int32)))


def lu_factor(A, *, pivot=True, out=None):
    """(LU, pivots)."""
    found = lu_factor_ex(A, pivot=pivot)
    return into(out, _Factor(found.LU, found.pivots))


def lu(A, *, pivot=True, out=None):
    """(P, L, U) with A = P L U."""
    found = lu_factor(A, pivot=pivot)
    parts = _Unpacked(*lu_unpack(*found))
    return into(out, _LU(parts.P if pivot else full((0,), 0, A), parts.L, parts.U))


def torch_lu(A, pivot=True, get_infos=False, out=None):
    """(LU, pivots), and with get_infos also whether a matrix is singular."""
    found = lu_factor_ex(A, pivot=pivot)
    return into(out, found if get_infos else (found.LU, found.pivots))


def _order(pivots, m):
    """For each row of P⁻¹ A the row of A: (…, m)."""
    order = arange(m, pivots) + full((*pivots.shape[:-1], m), 0, pivots, _core.int64)
    for i in range(pivots.shape[-1]):
        swap = _swapped(m, i, cast(ops['select'](pivots, -1, i), _core.int64) - 1, pivots)
        order = ops['gather'](order, -1, swap)
    return order


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, out=None):
    """(P, L, U) from the results of lu_factor()."""
    if check(LU_pivots).dtype is not _core.int32:
        raise InvalidArgumentError(f'[lu_unpack] pivots have dtype {LU_pivots.dtype}, must be int32')
    m, n = check(LU_data).shape[-2:]
    k = min(m, n)
    if LU_pivots.shape != (*LU_data.shape[:-2], k):
        raise InvalidArgumentError(f'[lu_unpack] pivots of shape {LU_pivots.shape} for {LU_data.shape}')
    none = full((0,), 0, LU_data)
    P = L = U = none
    if unpack_pivots:
        P = cast(ops['unsqueeze'](arange(m, LU_data), -1) == ops['unsqueeze'](_order(LU_pivots, m), -2), LU_data.dtype)
    if unpack_data:
        L = ops['tril'](ops['slice'](LU_data, -1, 0, k), -1) + ops['eye'](m, k, 0, LU_data.dtype, LU_data.device)
        U = ops['triu'](ops['slice'](LU_data, -2, 0, k))
    return into(out, _Unpacked(P, L, U))


def lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """The X of A X = B, or of X A = B with left=False, with A as returned by lu_factor(); adjoint: with Aᴴ."""
    if check(LU).dtype is not check(B).dtype or check(pivots).dtype is not _core.int32:
        raise InvalidArgumentError(f'[linalg.lu_solve] dtypes {LU.dtype}, {pivots.dtype} and {B.dtype}')
    if LU.ndim < 2 or LU.shape[-1] != LU.shape[-2] or B.ndim < 2:
        raise InvalidArgumentError(f'[linalg.lu_solve] shapes {LU.shape} and {B.shape} do not fit')
    if not left:
        return into(out, _adjoint(lu_solve(LU, pivots, _adjoint(B), adjoint=not adjoint)))
    P, L, U = lu_unpack(LU, pivots)
    if adjoint:
        found = solve_triangular(_adjoint(U), B, upper=False)
        return into(out, ops['matmul'](P, solve_triangular(_adjoint(L), found, upper=True, unitriangular=True)))
    found = solve_triangular(L, ops['matmul'](ops['transpose'](P, -2, -1), B), upper=False, unitriangular=True)
    return into(out, solve_triangular(U, found, upper=True))


_adjoint = adjoint


def torch_lu_solve(b, LU_data, LU_pivots, *, out=None):
    """The x of A x = b, with A as returned by lu_factor()."""
    return lu_solve(LU_data, LU_pivots, b, out=out)
