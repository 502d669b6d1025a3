"""Eigenvalues of general matrices: the QR algorithm with shifts, every step a QR decomposition of the whole batch.

LAPACK's own driver is no op yet. This takes about 3 n decompositions of n × n matrices in complex128: a third of a second for n = 100.
"""
from collections import namedtuple

from .. import _core
from .. import linalg as _linalg
from .._core import ops
from .._errors import PreconditionError
from ..autograd import Function, is_grad_enabled
from ._common import cast, check, differentiated, into, rank, somewhere
from .shape import adjoint

_Eig = namedtuple('eig', 'eigenvalues eigenvectors')
_matmul, _slice, _where, _concat, _abs = ops['matmul'], ops['slice'], ops['where'], ops['concat'], ops['abs']
_STEPS = 60  # for one eigenvalue; two or three are usual


def _eye(n, x):
    return ops['eye'](n, None, 0, x.dtype, x.device)


def _entry(x, i, j):
    return ops['select'](ops['select'](x, -2, i), -1, j)


def _shift(T, k, step):
    """The eigenvalue of the last 2 × 2 block nearest its corner (Wilkinson); every tenth step another, which breaks cycles."""
    a, b, c, d = (_entry(T, i, j) for i in (k - 1, k) for j in (k - 1, k))
    if step % 10 == 9:
        return d + ops['norm'](_slice(_slice(T, -2, k, k + 1), -1, 0, k), 2.0, (-2, -1)) * complex(0.75, 0.4375)
    half = (a - d) / 2
    root = ops['sqrt'](half * half + b * c)
    plus, minus = half + root, half - root
    return d + _where(_abs(plus) < _abs(minus), plus, minus)


def _schur(A, vectors):
    """(eigenvalues, Z) where Zᴴ A Z is upper triangular with these values on its diagonal; Z is None unless vectors are asked for."""
    n = A.shape[-1]
    Z = ops['expand'](_eye(n, A), A.shape) if vectors else None
    rest, rows = A, []
    for k in range(n - 1, 0, -1):  # row k of the leading block is done when all left of its diagonal is 0
        tiny = ops['norm'](rest, 2.0, (-2, -1)) * 1e-15 + 1e-300
        turn = None
        for step in range(_STEPS):
            left = _slice(_slice(rest, -2, k, k + 1), -1, 0, k)
            if not somewhere(~(ops['norm'](left, 2.0, (-2, -1)) <= tiny)):
                break
            shift = ops['reshape'](_shift(rest, k, step), (*A.shape[:-2], 1, 1)) * _eye(k + 1, A)
            Q, R = _linalg.qr(rest - shift)
            rest = _matmul(R, Q) + shift
            turn = Q if turn is None else _matmul(turn, Q)
        else:
            raise PreconditionError(f'[linalg.eig] no eigenvalue after {_STEPS} steps')
        if vectors and turn is not None:
            Z = _concat([_matmul(_slice(Z, -1, 0, k + 1), turn), _slice(Z, -1, k + 1, n)], -1)
        rows.append(_entry(rest, k, k))
        rest = _slice(_slice(rest, -2, 0, k), -1, 0, k)
    rows.append(_entry(rest, 0, 0))
    return ops['stack'](rows[::-1], -1), Z


def _vectors(values, A, Z):
    """Normalised eigenvectors: those of T = Zᴴ A Z, column by column by solving its leading blocks, turned back by Z."""
    n, T = A.shape[-1], _matmul(adjoint(Z), _matmul(A, Z))
    tiny = ops['norm'](T, 2.0, (-2, -1), True) * 2e-16 + 1e-300
    columns = []
    for j in range(n):
        value = ops['reshape'](ops['select'](values, -1, j), (*T.shape[:-2], 1, 1))
        column = _eye(n, T)[j:j + 1]
        column = ops['expand'](ops['reshape'](column, (n, 1)), (*T.shape[:-1], 1))
        if j:
            block = ops['triu'](_slice(_slice(T, -2, 0, j), -1, 0, j)) - value * _eye(j, T)
            diagonal = ops['unsqueeze'](ops['diagonal'](block, 0, -2, -1), -1)
            block = block + _where(_abs(diagonal) < tiny, tiny, 0) * _eye(j, T)
            top = -_slice(_slice(T, -2, 0, j), -1, j, j + 1)
            column = _concat([_linalg.solve_triangular(block, top), _slice(column, -2, j, n)], -2)
        columns.append(column)
    found = _matmul(Z, _concat(columns, -1))
    return found / ops['norm'](found, 2.0, -2, True)


def _solve(A, vectors):
    """Eigenvalues, and vectors where they are asked for, of one dtype."""
    dtype = _core.complex128 if A.dtype in (_core.float64, _core.complex128) else _core.complex64
    wide = cast(A, _core.complex128)
    if not A.size:
        return cast(ops['reshape'](wide, A.shape[:-1]), dtype), cast(wide, dtype)
    if somewhere(~ops['isfinite'](A)):
        raise ValueError('[linalg.eig] elements must be finite')
    values, Z = _schur(wide, vectors)
    return cast(values, dtype), cast(_vectors(values, wide, Z), dtype) if vectors else None


class _Decompose(Function):
    """The gradient of values and vectors of norm 1 (Boeddeker et al. 2019, 'On the computation of complex-valued gradients')."""

    @staticmethod
    def forward(ctx, A):
        values, vectors = _solve(A, True)
        ctx.save_for_backward(A, values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx, *gradients):
        of_values, of_vectors = gradients
        A, values, vectors = ctx.saved_tensors
        if is_grad_enabled():  # a gradient that is differentiated again depends on A
            values, vectors = _Decompose.apply(A)
        n, ended = A.shape[-1], adjoint(vectors)
        inner = 0 if of_values is None else ops['unsqueeze'](of_values, -2) * _eye(n, vectors)
        if of_vectors is not None:
            turned = _matmul(ended, of_vectors)
            along = ops['real'](ops['diagonal'](turned, 0, -2, -1))
            turned = turned - _matmul(ended, vectors) * ops['unsqueeze'](along, -2)
            gap = ops['unsqueeze'](values, -2) - ops['unsqueeze'](values, -1)
            one = _eye(n, vectors) != 0
            inner = inner + _where(one, 0, turned / ops['conj'](_where(one, 1, gap)))
        found = _linalg.solve(ended, _matmul(inner, ended))
        return ops['real'](found) if rank(A.dtype) == 2 else found


def _general(name, A):
    from .linalg import _square
    return _square(name, check(A))


def eig(A, *, out=None):
    """(eigenvalues, eigenvectors), complex, in no order, of square matrices; vectors are columns of norm 1 and any phase."""
    return into(out, _Eig(*(_Decompose.apply if differentiated(A) else lambda x: _solve(x, True))(_general('eig', A))))


def eigvals(A, *, out=None):
    """The eigenvalues, complex, in no order, of square matrices."""
    A = _general('eigvals', A)
    return into(out, _Decompose.apply(A)[0] if differentiated(A) else _solve(A, False)[0])
