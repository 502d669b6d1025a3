"""Decompositions of low rank by random projection (Halko, Martinsson and Tropp 2011, algorithms 4.4 and 5.1)."""
from .._core import ops
from .._errors import InvalidArgumentError, UnsupportedDtypeError
from ._common import check, rank
from .linalg import qr, svd
from .shape import adjoint

_matmul = ops['matmul']


def _range(A, q, niter):
    """Orthonormal columns that span what A maps random vectors to, after `niter` rounds of A Aᴴ."""
    from .random import randn
    Q = qr(_matmul(A, randn(A.shape[-1], q, dtype=A.dtype, device=A.device))).Q
    for _ in range(niter):
        Q = qr(_matmul(adjoint(A), Q)).Q
        Q = qr(_matmul(A, Q)).Q
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V): approximately the q largest singular values of A - M and their vectors; V as columns."""
    if check(A).ndim < 2 or rank(A.dtype) < 2:
        raise UnsupportedDtypeError(f'[svd_lowrank] needs floating or complex matrices, not {A.dtype} of shape {A.shape}')
    if not 0 <= q <= min(A.shape[-2:]):
        raise InvalidArgumentError(f'[svd_lowrank] q {q} must be 0 to {min(A.shape[-2:])}')
    A = A if M is None else A - M
    turned = A.shape[-2] < A.shape[-1]  # projects the smaller side
    A = adjoint(A) if turned else A
    Q = _range(A, q, niter)
    U, S, Vh = svd(_matmul(adjoint(Q), A), False)
    U, V = _matmul(Q, U), adjoint(Vh)
    return (V, S, U) if turned else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """(U, S, V) of the rows of A minus their mean: V are the q principal directions."""
    if check(A).ndim < 2 or rank(A.dtype) < 2:
        raise UnsupportedDtypeError(f'[pca_lowrank] needs floating or complex matrices, not {A.dtype} of shape {A.shape}')
    q = min(6, *A.shape[-2:]) if q is None else q
    if niter < 0:
        raise InvalidArgumentError(f'[pca_lowrank] niter {niter} must not be negative')
    return svd_lowrank(A - ops['mean'](A, -2, True) if center else A, q, niter)
