"""Eigenvalues of general matrices."""

from .._plugin_ops import plugin_op
from ._common import check, into
from .return_types import returned

_Eig = returned('linalg_eig')


def _general(name, A):
    from .linalg import _square
    return _square(name, check(A))


def eig(A, *, out=None):
    """(eigenvalues, eigenvectors) of square matrices, complex and in no order; vectors are columns of norm 1 and any phase."""
    return into(out, _Eig(*plugin_op('linalg.eig')(_general('eig', A))))


def eigvals(A, *, out=None):
    """The eigenvalues of square matrices, complex and in no order."""
    return into(out, plugin_op('linalg.eigvals')(_general('eigvals', A)))
