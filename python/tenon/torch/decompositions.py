"""The decompositions of torch itself, whose arguments differ from those in torch.linalg."""

from . import linalg
from ._common import into
from .lu_factors import torch_lu as lu
from .lu_factors import torch_lu_solve as lu_solve
from .return_types import returned
from .shape import adjoint

_SVD, _QR, _Slogdet = returned('svd'), returned('qr'), returned('slogdet')


def cholesky(input, upper=False, *, out=None):
    """The lower, or upper, Cholesky factor."""
    return linalg.cholesky(input, upper=upper, out=out)


def svd(input, some=True, compute_uv=True, *, out=None):
    """(U, S, V), where V is not transposed; some=False for square U and V."""
    U, S, Vh = linalg.svd(input, not some)
    return into(out, _SVD(U, S, adjoint(Vh)))


def qr(input, some=True, *, out=None):
    """(Q, R); some=False for a square Q."""
    return into(out, _QR(*linalg.qr(input, 'reduced' if some else 'complete')))


def slogdet(input, *, out=None):
    """(sign, logabsdet) of square matrices."""
    return into(out, _Slogdet(*linalg.slogdet(input)))


det, inverse = linalg.det, linalg.inv

__all__ = ['cholesky', 'det', 'inverse', 'lu', 'lu_solve', 'qr', 'slogdet', 'svd']
