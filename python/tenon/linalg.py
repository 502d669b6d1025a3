"""Linear algebra: the extension ``linalg`` of the Array API (https://data-apis.org/array-api/2024.12/).

The last two dimensions of a tensor are matrices, those before them a batch. Elements are float32, float64, complex64 or complex128.
Decompositions run on the host, by LAPACK, in the plugin ``linalg``, whose ops are called ``linalg.NAME`` (``tenon.op("linalg.inv")``,
in C++ ``tenon::Op("linalg.inv")``). All have gradients of any order.

Raises `tenon.InvalidArgumentError` (a ValueError) for shapes, dtypes and matrices that have no such decomposition; in a batch it names
the matrix. Raises `tenon.PreconditionError` if an iteration did not converge.
"""
from ._errors import InvalidArgumentError
from ._generous import others
from . import _core
from ._array_api.dtypes import kind_of, result_type
from ._array_api.shapes import dim_of, dims_of
from ._array_api.values import matrix_transpose, tensordot, vecdot
from ._core import ops
from ._creation import _check, _place
from ._names import accept_both_names
from ._plugin_ops import plugin_op
from .autograd import no_grad

__all__ = ['cholesky', 'cross', 'det', 'diagonal', 'eigh', 'eigvalsh', 'inv', 'matmul', 'matrix_norm', 'matrix_power', 'matrix_rank',
           'matrix_transpose', 'outer', 'pinv', 'qr', 'slogdet', 'solve', 'solve_triangular', 'svd', 'svdvals', 'tensordot',
           'trace', 'vecdot', 'vector_norm']

matmul = ops['matmul']
_norm, _sum, _abs, _roll, _unsqueeze = ops['norm'], ops['sum'], ops['abs'], ops['roll'], ops['unsqueeze']
_INF = float('inf')
_DOUBLE = (_core.float64, _core.complex128)


def _matrices(x, name):
    _check(x, name)
    if x.ndim < 2:
        raise InvalidArgumentError(f'[{name}] x has shape {x.shape}; it must be a matrix or a batch of them')
    return x


def _joined(x1, x2, name):
    """Both in their promoted dtype."""
    _check(x1, name)
    _check(x2, name)
    if x1.dtype is x2.dtype:
        return x1, x2
    dtype = result_type(x1, x2)
    return _place(x1, dtype, None), _place(x2, dtype, None)


def cholesky(x, /, *, upper=False):
    """The factor L of x = L Lᴴ, lower triangular, or with upper=True U of x = Uᴴ U.

    x: (..., n, n), positive definite; it is taken as (x + xᴴ)/2 if it is not symmetric or Hermitian. Raises InvalidArgumentError for a
    matrix that is not positive definite.

    >>> tenon.linalg.cholesky(tenon.asarray([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return plugin_op('linalg.cholesky')(x, upper)


def cross(x1, x2, /, axis=-1):
    """Cross products of vectors of 3 along an axis; the other dimensions broadcast.

    Any numbers; the dtype is promoted. Raises ValueError if the axis does not have 3 entries.

    >>> tenon.linalg.cross(tenon.asarray([1.0, 0.0, 0.0]), tenon.asarray([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    x1, x2 = _joined(x1, x2, 'linalg.cross')
    if x1.dtype is _core.bool:
        raise InvalidArgumentError('[linalg.cross] not defined for bool')
    low = min(x1.ndim, x2.ndim)
    axis = dim_of(axis, low, 'linalg.cross') - low
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise InvalidArgumentError(f'[linalg.cross] axis {axis} of shapes {x1.shape} and {x2.shape} must have 3 entries')

    def next_(x):  # entry i + 1 at i
        return _roll(x, (-1,), (axis,))
    return next_(x1 * next_(x2) - next_(x1) * x2)


def det(x, /):
    """Determinants. x: (..., n, n); the result is (...). 0 for singular matrices, which have a gradient as well.

    >>> tenon.linalg.det(tenon.asarray([[1.0, 2.0], [3.0, 5.0]]))
    tensor(-1.0)
    """
    return plugin_op('linalg.det')(x)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices, or those above (offset > 0) or below: a view. x: (..., m, n) of any dtype.

    >>> tenon.linalg.diagonal(tenon.asarray([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return ops['diagonal'](_matrices(x, 'linalg.diagonal'), offset, -2, -1)


def eigh(x, /):
    """Eigenvalues in ascending order and eigenvectors, as columns, of symmetric or Hermitian matrices.

    x: (..., n, n), taken as (x + xᴴ)/2; a named tuple of eigenvalues (..., n), real, and eigenvectors (..., n, n). The gradient of the
    vectors is finite if no two values are equal. Raises InvalidArgumentError for elements that are not finite.

    >>> tenon.linalg.eigh(tenon.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return plugin_op('linalg.eigh')(x)


def eigvalsh(x, /):
    """The eigenvalues alone: see eigh(). x: (..., n, n); the result is real, (..., n).

    >>> tenon.linalg.eigvalsh(tenon.asarray([[0.0, 1.0], [1.0, 0.0]]))
    tensor([-1.,  1.])
    """
    return plugin_op('linalg.eigvalsh')(x)


def inv(x, /):
    """Inverse matrices. x: (..., n, n). Raises InvalidArgumentError for a matrix that is singular.

    >>> tenon.linalg.inv(tenon.asarray([[1.0, 1.0], [1.0, 2.0]]))
    tensor([[ 2., -1.],
            [-1.,  1.]])
    """
    return plugin_op('linalg.inv')(x)


def matrix_norm(x, /, ord='fro', *, keepdims=False):
    """Norms of matrices: 'fro' (the root of the sum of squares), 'nuc' (the sum of the singular values), 1 and -1 (largest and
    smallest sum of a column), inf and -inf (of a row), 2 and -2 (largest and smallest singular value).

    x: (..., m, n); the result is real, (...), or (..., 1, 1) with keepdims=True. Raises ValueError for another ord.

    >>> tenon.linalg.matrix_norm(tenon.asarray([[3.0, 0.0], [4.0, 0.0]]))
    tensor(5.0)
    """
    _matrices(x, 'linalg.matrix_norm')
    if ord == 'fro':
        return _norm(x, 2.0, (-2, -1), keepdims)
    if ord in ('nuc', 2, -2):
        values = plugin_op('linalg.svdvals')(x)
        out = _sum(values, (-1,)) if ord == 'nuc' else ops['max' if ord == 2 else 'min'](values, (-1,))
    elif ord in (1, -1, _INF, -_INF):
        sums = _sum(_abs(x), (-2,) if ord in (1, -1) else (-1,))
        out = ops['max' if ord > 0 else 'min'](sums, (-1,))
    else:
        raise InvalidArgumentError(f"[linalg.matrix_norm] ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}")
    return _unsqueeze(_unsqueeze(out, -1), -1) if keepdims else out


def matrix_power(x, n, /):
    """The product of n times each matrix; of its inverse for n < 0, the identity for n = 0. x: (..., n, n).

    >>> tenon.linalg.matrix_power(tenon.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    if isinstance(n, bool) or not hasattr(n, '__index__'):
        raise TypeError(f'[linalg.matrix_power] n must be an int, not {type(n).__name__}')
    n = n.__index__()
    if _matrices(x, 'linalg.matrix_power').shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f'[linalg.matrix_power] x has shape {x.shape}; its last two dimensions must be equal')
    if n == 0:
        return ops['clone'](ops['expand'](ops['eye'](x.shape[-1], None, 0, x.dtype, x.device), x.shape))
    square, n = (x, n) if n > 0 else (inv(x), -n)
    out = None
    while True:
        if n & 1:
            out = square if out is None else matmul(out, square)
        n >>= 1
        if n == 0:
            return ops['clone'](out) if out is x else out
        square = matmul(square, square)


def _tolerance(rtol, x, name):
    """rtol as a tensor on the device of x, or None."""
    if rtol is None or isinstance(rtol, _core.Tensor):
        return rtol
    if isinstance(rtol, bool) or not isinstance(rtol, (int, float)):
        raise TypeError(f'[linalg.{name}] rtol must be a number or a Tensor, not {type(rtol).__name__}')
    _check(x, f'linalg.{name}')
    return ops['full']((), float(rtol), _core.float64 if x.dtype in _DOUBLE else _core.float32, x.device)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are greater than rtol times the largest one, as int64.

    x: (..., m, n); the result is (...). rtol: a number or a tensor that broadcasts to (...); by default max(m, n) times the dtype's
    eps.

    >>> tenon.linalg.matrix_rank(tenon.asarray([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    rtol = _tolerance(rtol, x, 'matrix_rank')
    with no_grad():
        values = plugin_op('linalg.svdvals')(x)
        if values.shape[-1] == 0:
            return ops['full'](values.shape[:-1], 0, _core.int64, x.device)
        if rtol is None:
            rtol = _tolerance(max(x.shape[-2:]) * 2.0 ** (-52 if x.dtype in _DOUBLE else -23), x, 'matrix_rank')
        cutoff = ops['max'](values, (-1,), True) * _unsqueeze(rtol, -1)
        return _sum(values > cutoff, (-1,), False, _core.int64)


def outer(x1, x2, /):
    """All products of an element of x1 with one of x2, both of one dimension: (n,) and (m,) give (n, m).

    >>> tenon.linalg.outer(tenon.asarray([1, 2]), tenon.asarray([10, 20, 30]))
    tensor([[10, 20, 30],
            [20, 40, 60]])
    """
    _check(x1, 'linalg.outer')
    _check(x2, 'linalg.outer')
    if x1.ndim != 1 or x2.ndim != 1:
        raise InvalidArgumentError(f'[linalg.outer] shapes {x1.shape} and {x2.shape}; one dimension each is needed')
    return _unsqueeze(x1, 1) * _unsqueeze(x2, 0)


def pinv(x, /, rtol=None):
    """Pseudo-inverses (Moore and Penrose); singular values up to rtol times the largest count as 0.

    x: (..., m, n); the result is (..., n, m). rtol: a number or a tensor that broadcasts to (...); by default max(m, n) times the
    dtype's eps. The gradient assumes that the rank does not change.

    >>> tenon.linalg.pinv(tenon.asarray([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5, 0. ],
            [0. , 0. ]])
    """
    return plugin_op('linalg.pinv')(x, _tolerance(rtol, x, 'pinv'))


def qr(x, /, *, mode='reduced'):
    """x = Q R, the columns of Q orthonormal and R upper triangular: a named tuple (Q, R).

    x: (..., m, n). mode 'reduced': Q (..., m, k) and R (..., k, n) with k = min(m, n); 'complete': (..., m, m) and (..., m, n), which
    has no gradient where m > n.

    >>> tenon.linalg.qr(tenon.asarray([[3.0], [4.0]])).R.abs()
    tensor([[5.]])
    """
    return plugin_op('linalg.qr')(x, mode)


def slogdet(x, /):
    """Signs of determinants and logarithms of their absolute values: a named tuple (sign, logabsdet).

    x: (..., n, n); both are (...). For complex matrices the sign is complex, with absolute value 1. Singular matrices give 0 and -inf.

    >>> tenon.linalg.slogdet(tenon.asarray([[0.0, 1.0], [1.0, 0.0]])).sign
    tensor(-1.0)
    """
    return plugin_op('linalg.slogdet')(x)


def solve(x1, x2, /):
    """The x of x1 x = x2. x1: (..., n, n); x2: (..., n, k), or (n,) for one vector; batches broadcast, dtypes are promoted.

    Raises InvalidArgumentError for a matrix that is singular.

    >>> tenon.linalg.solve(tenon.asarray([[2.0, 0.0], [0.0, 4.0]]), tenon.asarray([2.0, 2.0]))
    tensor([1. , 0.5])
    """
    x1, x2 = _joined(x1, x2, 'linalg.solve')
    if x2.ndim != 1:
        return plugin_op('linalg.solve')(x1, x2)
    return ops['squeeze'](plugin_op('linalg.solve')(x1, _unsqueeze(x2, -1)), -1)


def solve_triangular(x1, x2, /, *, upper=True):
    """The x of x1 x = x2, reading only the upper or the lower triangle of x1. Beyond the standard.

    x1: (..., n, n); x2: (..., n, k); batches broadcast. Raises InvalidArgumentError for a 0 on the diagonal.

    >>> tenon.linalg.solve_triangular(tenon.asarray([[2.0, 1.0], [0.0, 4.0]]), tenon.asarray([[3.0], [4.0]]))
    tensor([[1.],
            [1.]])
    """
    x1, x2 = _joined(x1, x2, 'linalg.solve_triangular')
    return plugin_op('linalg.solve_triangular')(x1, x2, upper)


def svd(x, /, *, full_matrices=True):
    """x = U diag(S) Vh with orthonormal columns of U and rows of Vh, S in descending order: a named tuple (U, S, Vh).

    x: (..., m, n); U (..., m, m), S real (..., k) and Vh (..., n, n) with k = min(m, n), or with full_matrices=False U (..., m, k) and
    Vh (..., k, n). The gradients of U and Vh are those of full_matrices=False, and finite if no two values are equal. Raises
    InvalidArgumentError for elements that are not finite.

    >>> tenon.linalg.svd(tenon.asarray([[0.0, 2.0], [3.0, 0.0]])).S
    tensor([3., 2.])
    """
    return plugin_op('linalg.svd')(x, full_matrices)


def svdvals(x, /):
    """The singular values alone, in descending order: see svd(). x: (..., m, n); the result is real, (..., min(m, n)).

    >>> tenon.linalg.svdvals(tenon.asarray([[0.0, 2.0], [3.0, 0.0]]))
    tensor([3., 2.])
    """
    return plugin_op('linalg.svdvals')(x)


def trace(x, /, *, offset=0, dtype=None):
    """Sums of diagonals. x: (..., m, n) of any numbers; the result is (...), in the dtype of sum() unless one is given.

    >>> tenon.linalg.trace(tenon.asarray([[1, 2], [3, 4]]))
    tensor(5)
    """
    return _sum(diagonal(x, offset=offset), (-1,), False, dtype)


def vector_norm(x, /, ord=2, axis=None, keepdims=False):
    """(Σ |x|ᵖ)^(1/p) for p = ord, over an axis, several, or all elements; inf and -inf: largest and smallest |x|, 0: how many are
    not 0.

    x: any shape; the result is real. Raises OutOfRangeError for an axis that does not exist.

    >>> tenon.linalg.vector_norm(tenon.asarray([[3.0, 4.0], [5.0, 12.0]]), axis=1)
    tensor([ 5., 13.])
    """
    _check(x, 'linalg.vector_norm')
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise TypeError(f'[linalg.vector_norm] ord must be a number, not {type(ord).__name__}')
    if axis is not None:
        axis = dims_of(axis, x.ndim, 'linalg.vector_norm')
    if kind_of(x.dtype) not in ('real floating', 'complex floating'):
        raise InvalidArgumentError(f'[linalg.vector_norm] x has dtype {x.dtype}; a floating or complex one is needed: cast it first')
    return _norm(x, float(ord), axis, keepdims)


accept_both_names(globals(), __all__)

__getattr__ = others(__name__)  # PyTorch's other names
