"""LU decompositions with pivots."""

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError, UnimplementedError, UnsupportedDtypeError
from .._plugin_ops import plugin_op
from ._common import arange, cast, check, full, into, rank, somewhere
from .linalg import solve_triangular
from .return_types import returned
from .shape import adjoint

_Factor, _FactorEx = returned('linalg_lu_factor'), returned('linalg_lu_factor_ex')
_LU, _Unpacked = returned('linalg_lu'), returned('lu_unpack')


def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """(LU, pivots, info): L below the diagonal, U on and above it; row i was exchanged with row pivots[i], counted from 1; info is the
    first pivot that is 0, counted from 1, or 0."""
    if check(A).ndim < 2 or rank(A.dtype) < 2:
        raise UnsupportedDtypeError(f'[linalg.lu_factor] needs floating or complex matrices, not {A.dtype} of shape {A.shape}')
    if not pivot:
        raise UnimplementedError('[linalg.lu_factor] pivot=False is not offered, as on the CPU in PyTorch: rows are always exchanged')
    found = _FactorEx(*plugin_op('linalg.lu_factor')(A))
    if check_errors and somewhere(found.info != 0):
        raise InvalidArgumentError('[linalg.lu_factor] a matrix is singular')
    return into(out, found)


def lu_factor(A, *, pivot=True, out=None):
    """(LU, pivots)."""
    found = lu_factor_ex(A, pivot=pivot)
    return into(out, _Factor(found.LU, found.pivots))


def lu(A, *, pivot=True, out=None):
    """(P, L, U) with A = P L U."""
    found = lu_factor(A, pivot=pivot)
    parts = _Unpacked(*lu_unpack(*found))
    return into(out, _LU(parts.P, parts.L, parts.U))


def torch_lu(A, pivot=True, get_infos=False, out=None):
    """(LU, pivots), and with get_infos also whether a matrix is singular."""
    found = lu_factor_ex(A, pivot=pivot)
    return into(out, found if get_infos else (found.LU, found.pivots))


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
        P = cast(ops['unsqueeze'](arange(m, LU_data), -1) == ops['unsqueeze'](plugin_op('linalg.row_order')(LU_pivots, m), -2), LU_data.dtype)
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
