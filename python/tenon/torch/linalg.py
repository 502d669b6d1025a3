"""torch.linalg: tenon.linalg with PyTorch's arguments, and compositions of it."""
import math
from typing import Any

from .. import _core
from .. import linalg as _linalg
from .._core import ops
from .._errors import InvalidArgumentError, UnsupportedDtypeError
from .._plugin_ops import plugin_op
from ._common import Tensor, cast, check, differentiated, dim_of, dims_of, full, into, largest, promoted, rank, somewhere
from ._shortcuts import numpys
from .return_types import returned
from .shape import adjoint, diagonal as _diagonal
from .matrix import matmul as matmul  # also offered here
from .shape import movedim as _movedim

_reshape, _matmul = ops['reshape'], ops['matmul']
_Slogdet, _Eigh = returned('linalg_slogdet'), returned('linalg_eigh')
_QR, _SVD = returned('linalg_qr'), returned('linalg_svd')
_CholeskyEx, _InvEx, _SolveEx = returned('linalg_cholesky_ex'), returned('linalg_inv_ex'), returned('linalg_solve_ex')
_TriangularSolve = returned('triangular_solve')
LinAlgError = InvalidArgumentError


def _square(name, A):
    _matrices(name, A)
    if A.shape[-1] != A.shape[-2]:
        raise InvalidArgumentError(f'[linalg.{name}] needs square matrices, not {A.shape}')
    return A


def _matrices(name, A):
    if check(A).ndim < 2:
        raise InvalidArgumentError(f'[linalg.{name}] needs matrices, not shape {A.shape}')
    if rank(A.dtype) < 2 or A.dtype not in (_core.float32, _core.float64, _core.complex64, _core.complex128):
        raise UnsupportedDtypeError(f'[linalg.{name}] needs float32, float64, complex64 or complex128, not {A.dtype}')
    return A


def det(A, *, out=None):
    """The determinants of square matrices."""
    return into(out, _linalg.det(_square('det', A)))


def slogdet(A, *, out=None):
    """(sign, logabsdet) of square matrices."""
    return into(out, _Slogdet(*_linalg.slogdet(_square('slogdet', A))))


def logdet(input):
    """The logarithm of determinants; NaN if they are negative."""
    sign, size = slogdet(input)
    if rank(sign.dtype) == 3:
        return ops['complex'](size, ops['atan2'](ops['imag'](sign), ops['real'](sign)))
    return size + ops['log'](sign)


def inv(A, *, out=None):
    """The inverses of square matrices."""
    return into(out, _linalg.inv(_square('inv', A)))


def inv_ex(A, *, check_errors=False, out=None):
    """(inverse, info): info is the first pivot that is 0, counted from 1, or 0; the inverse of a singular matrix is NaN."""
    if check_errors:
        return into(out, _InvEx(inv(A), full(A.shape[:-2], 0, A, _core.int32)))
    return into(out, _InvEx(*plugin_op('linalg.inv_ex')(_square('inv', A))))


def cholesky(input, *, upper=False, out=None):
    """The lower, or upper, Cholesky factor."""
    return into(out, _linalg.cholesky(_square('cholesky', input), upper=upper))


def cholesky_ex(input, *, upper=False, check_errors=False, out=None):
    """(L, info): info is the order of the first leading minor that is not positive, or 0; such a matrix has NaN for a factor."""
    if check_errors:
        return into(out, _CholeskyEx(cholesky(input, upper=upper), full(input.shape[:-2], 0, input, _core.int32)))
    return into(out, _CholeskyEx(*plugin_op('linalg.cholesky_ex')(_square('cholesky', input), upper)))


def qr(A, mode='reduced', *, out=None):
    """(Q, R); mode is 'reduced', 'complete', or 'r' for R alone."""
    if mode not in ('reduced', 'complete', 'r'):
        raise InvalidArgumentError(f"[linalg.qr] mode is 'reduced', 'complete' or 'r', not {mode!r}")
    found = _linalg.qr(_matrices('qr', A), mode='reduced' if mode == 'r' else mode)
    return into(out, _QR(full((0,), 0, A) if mode == 'r' else found.Q, found.R))


def svd(A, full_matrices=True, *, driver=None, out=None):
    """(U, S, Vh)."""
    m, n = _matrices('svd', A).shape[-2:]
    if not (full_matrices and differentiated(A) and m != n):
        return into(out, _SVD(*_linalg.svd(A, full_matrices=full_matrices)))
    # Only the first min(m, n) vectors have a gradient; the others complete the space.
    U, S, Vh = _linalg.svd(A, full_matrices=False)
    more = _linalg.svd(A.detach(), full_matrices=True)
    k = min(m, n)
    U = ops['concat']([U, ops['slice'](more.U, -1, k, m)], -1) if m > k else U
    Vh = ops['concat']([Vh, ops['slice'](more.Vh, -2, k, n)], -2) if n > k else Vh
    return into(out, _SVD(U, S, Vh))


def svdvals(A, *, driver=None, out=None):
    """The singular values, in descending order."""
    return into(out, _linalg.svdvals(_matrices('svdvals', A)))


def eigh(A, UPLO='L', *, out=None):
    """(eigenvalues, eigenvectors) of symmetric or Hermitian matrices; reads one triangle."""
    return into(out, _Eigh(*_linalg.eigh(_symmetric('eigh', A, UPLO))))


def eigvalsh(A, UPLO='L', *, out=None):
    """The eigenvalues of symmetric or Hermitian matrices; reads one triangle."""
    return into(out, _linalg.eigvalsh(_symmetric('eigvalsh', A, UPLO)))


def _symmetric(name, A, UPLO):
    if UPLO not in ('L', 'U', 'l', 'u'):
        raise InvalidArgumentError(f"[linalg.{name}] UPLO is 'L' or 'U', not {UPLO!r}")
    lower = UPLO in ('L', 'l')
    half = ops['tril' if lower else 'triu'](_square(name, A))
    other = ops['tril' if lower else 'triu'](A, -1 if lower else 1)
    whole = half + adjoint(other)
    if differentiated(A):  # the gradient treats A as symmetric
        return whole.detach() + ((A + adjoint(A)) / 2 - ((A + adjoint(A)) / 2).detach())
    return whole


def solve(A, B, *, left=True, out=None):
    """The X of A X = B, or of X A = B with left=False; B may hold vectors, a batch of them for a batch of A."""
    a, b, finish = _system(A, B, left)
    return into(out, finish(_linalg.solve(a, b)))


def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """(result, info): info is the first pivot of A that is 0, counted from 1, or 0; the result for a singular matrix is NaN."""
    if check_errors:
        return into(out, _SolveEx(solve(A, B, left=left), full(A.shape[:-2], 0, A, _core.int32)))
    a, b, finish = _system(A, B, left)
    found, info = plugin_op('linalg.solve_ex')(a, b)
    return into(out, _SolveEx(finish(found), _of_batch(info, A.shape[:-2])))


def _system(A, B, left):
    """(a, b, finish): finish makes the result of the X of a X = b, all of them matrices."""
    _same_dtype('solve', _square('solve', A), B)
    if B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]):
        if not left:
            raise InvalidArgumentError('[linalg.solve] left=False needs matrices B')
        return A, ops['unsqueeze'](B, -1), lambda x: ops['squeeze'](x, -1)
    return (A, B, lambda x: x) if left else (_transposed(A), _transposed(B), _transposed)


def _of_batch(info, batch):
    """info of the matrices of A: it repeats along what B's batch has more."""
    if info.numel() == 0:
        return full(batch, 0, info)
    info = ops['reshape'](info, (-1, *info.shape[info.ndim - len(batch):]))[0]
    for d, size in enumerate(batch):
        info = ops['slice'](info, d, 0, size)
    return info


def _same_dtype(name, A, B):
    if A.dtype is not check(B).dtype:
        raise InvalidArgumentError(f'[linalg.{name}] dtypes {A.dtype} and {B.dtype} differ')


def _transposed(x):
    return ops['transpose'](x, -2, -1)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """The X of A X = B with triangular A, or of X A = B with left=False; unitriangular: A has ones on its diagonal."""
    _same_dtype('solve_triangular', _square('solve_triangular', A), B)
    if B.ndim < 2:
        raise InvalidArgumentError('[linalg.solve_triangular] B must be matrices')
    if not left:
        return into(out, _transposed(solve_triangular(_transposed(A), _transposed(B), upper=not upper, unitriangular=unitriangular)))
    if unitriangular:
        A = (ops['triu'](A, 1) if upper else ops['tril'](A, -1)) + ops['eye'](A.shape[-1], None, 0, A.dtype, A.device)
    return into(out, _linalg.solve_triangular(A, B, upper=upper))


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """(solution, A) of A X = b with triangular A."""
    if transpose:
        A_used, upper = _transposed(A), not upper
    else:
        A_used = A
    found = solve_triangular(A_used, b, upper=upper, unitriangular=unitriangular)
    return into(out, _TriangularSolve(found, ops['clone'](ops['expand'](A, (*found.shape[:-2], *A.shape[-2:])))))


def matrix_power(A, n, *, out=None):
    """The n-th power of square matrices."""
    return into(out, _linalg.matrix_power(_square('matrix_power', A), n))


def _cutoff(A, atol, rtol, tol=None):
    """The bound that a singular value must exceed, combined from atol and rtol as in PyTorch; (…,)."""
    from .._array_api.dtypes import finfo
    if rtol is None:
        given = isinstance(atol, Tensor) or (atol is not None and atol > 0)
        rtol = 0.0 if given and not isinstance(atol, Tensor) else finfo(A.dtype).eps * max(A.shape[-2:])
        if isinstance(atol, Tensor):
            rtol = ops['where'](atol > 0, 0.0, rtol)
    return (0.0 if atol is None else atol), rtol


def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """How many singular values exceed max(atol, rtol · the largest)."""
    _matrices('matrix_rank', A)
    atol, rtol = (tol, 0.0) if tol is not None else _cutoff(A, atol, rtol)
    size = ops['abs'](eigvalsh(A)) if hermitian else svdvals(A)
    if not size.shape[-1]:
        return into(out, full(A.shape[:-2], 0, A, _core.int64))
    bound = _larger(atol, ops['max'](size, -1) * rtol)
    return into(out, ops['count_nonzero'](size > ops['unsqueeze'](bound, -1), -1))


def _larger(a, b):
    if isinstance(a, Tensor) and a.dtype is not b.dtype:
        a = cast(a, b.dtype)
    return ops['maximum'](b, a)


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """The pseudo-inverse; singular values up to max(atol, rtol · the largest) count as 0."""
    _matrices('pinv', A)
    if hermitian:
        _square('pinv', A)
    if not A.size:
        return into(out, full((*A.shape[:-2], A.shape[-1], A.shape[-2]), 0, A))
    atol, rtol = _cutoff(A, atol, rcond if rtol is None else rtol)
    if hermitian:
        A = _symmetric('pinv', A, 'L')
    if isinstance(atol, Tensor) or atol:  # the op needs both relative to the largest value
        most = ops['max'](svdvals(A.detach()), -1)
        rtol = _larger(atol, most * rtol) / ops['where'](most == 0, 1, most)
    return into(out, _linalg.pinv(A, rtol=rtol))


def pinverse(input, rcond=1e-15):
    """pinv()."""
    return pinv(input, rcond)


def vector_norm(x, ord: Any = 2, dim=None, keepdim=False, *, dtype=None, out=None):
    """(Σ |x|^ord)^(1/ord) over dimensions, by default over all elements; ±∞ and 0 as limits."""
    x = cast(check(x), dtype)
    if rank(x.dtype) < 2:
        raise UnsupportedDtypeError(f'[linalg.vector_norm] needs floating or complex numbers, not {x.dtype}')
    if isinstance(ord, (bool, str, complex)):
        raise TypeError(f'[linalg.vector_norm] ord must be a real number, not {ord!r}')
    dims = dims_of(dim, x.ndim)
    if not x.size and (ord < 0 or ord == math.inf) and any(x.shape[d] == 0 for d in dims):
        raise InvalidArgumentError(f'[linalg.vector_norm] of no elements for ord {ord}')
    if not x.ndim:
        x = _reshape(x, (1,))
        return into(out, _reshape(_vector_norm(x, float(ord), (0,), False), ()))
    return into(out, _vector_norm(x, float(ord), dims, keepdim) if dims else ops['abs'](x))


def _vector_norm(x, ord, dims, keepdim):
    if ord == 0:
        return ops['sum'](cast(x != 0, ops['abs'](x).dtype), dims, keepdim)
    if abs(ord) == math.inf:
        return ops['max' if ord > 0 else 'min'](ops['abs'](x), dims, keepdim)
    return ops['norm'](x, ord, dims, keepdim)


def matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """Norms of matrices: 'fro', 'nuc', ±1, ±2, ±∞."""
    A = cast(check(A), dtype)
    if len(dim) != 2 or A.ndim < 2:
        raise InvalidArgumentError(f'[linalg.matrix_norm] needs two dims, not {tuple(dim)}, of a tensor of rank {A.ndim}')
    if rank(A.dtype) < 2:
        raise UnsupportedDtypeError(f'[linalg.matrix_norm] needs floating or complex numbers, not {A.dtype}')
    dims = dims_of(tuple(dim), A.ndim)
    if ord == 'fro':
        return vector_norm(A, 2, dims, keepdim, out=out)
    if ord not in ('nuc', 1, -1, 2, -2, math.inf, -math.inf):
        raise InvalidArgumentError(f"[linalg.matrix_norm] ord is 'fro', 'nuc', ±1, ±2 or ±inf, not {ord!r}")
    A = _movedim(A, dims, (-2, -1))
    if ord in ('nuc', 2, -2):
        values = svdvals(A)
        found = ops['sum'](values, -1) if ord == 'nuc' else ops['max' if ord > 0 else 'min'](values, -1)
    else:
        sums = ops['sum'](ops['abs'](A), -2 if abs(ord) == 1 else -1)
        found = ops['max' if ord > 0 else 'min'](sums, -1)
    if keepdim:
        for d in sorted(dims):
            found = ops['unsqueeze'](found, d)
    return into(out, found)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    """vector_norm() over one dimension or all, matrix_norm() over two or for a matrix with ord."""
    many = isinstance(dim, (tuple, list))
    if dim is not None and many and len(dim) > 2 and ord is not None:
        raise InvalidArgumentError(f'[linalg.norm] dim must be one or two, not {tuple(dim)}')
    if ord is not None and ((many and len(dim) == 2) or (dim is None and check(A).ndim == 2)):
        return matrix_norm(A, ord, dim if many else (-2, -1), keepdim, dtype=dtype, out=out)
    if ord is not None and dim is None and A.ndim not in (1, 2):
        raise InvalidArgumentError(f'[linalg.norm] of rank {A.ndim} needs dim=')
    if isinstance(ord, str):
        raise InvalidArgumentError(f'[linalg.norm] ord {ord!r} is for matrices: dim= of two')
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


def cond(A, p=None, *, out=None):
    """The condition numbers of matrices: ‖A‖ ‖A⁻¹‖."""
    _matrices('cond', A)
    if p in (None, 2, -2):
        values = svdvals(A)
        n = values.shape[-1]
        if not n:
            return into(out, full(values.shape[:-1], 0, values))
        first, last = ops['select'](values, -1, 0), ops['select'](values, -1, n - 1)
        return into(out, last / first if p == -2 else first / last)
    return into(out, matrix_norm(A, p) * matrix_norm(inv(_square('cond', A)), p))


def _best_splits(sizes):
    """For each run of matrices, first to last, of which matrix i has sizes[i] rows: behind which one its cheapest product is split."""
    count = len(sizes) - 1
    costs, splits = {(i, i): 0 for i in range(count)}, {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs[i, j], splits[i, j] = min((costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
    return splits


def _chained(tensors, splits, first, last):
    """The product of the matrices first to last."""
    if first == last:
        return tensors[first]
    split = splits[first, last]
    return _matmul(_chained(tensors, splits, first, split), _chained(tensors, splits, split + 1, last))


def multi_dot(tensors, *, out=None):
    """The product of several matrices, in the cheapest order; the first and the last may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise InvalidArgumentError('[linalg.multi_dot] needs at least two tensors')
    last = len(tensors) - 1
    for i, x in enumerate(tensors):
        if check(x).ndim != 2 and not (x.ndim == 1 and i in (0, last)):
            raise InvalidArgumentError(f'[linalg.multi_dot] tensor {i} has rank {x.ndim}')
        if x.dtype is not tensors[0].dtype:
            raise InvalidArgumentError('[linalg.multi_dot] dtypes differ')
    row, column = tensors[0].ndim == 1, tensors[last].ndim == 1
    tensors[0] = ops['unsqueeze'](tensors[0], 0) if row else tensors[0]
    tensors[last] = ops['unsqueeze'](tensors[last], 1) if column else tensors[last]
    found = _chained(tensors, _best_splits([x.shape[0] for x in tensors] + [tensors[-1].shape[1]]), 0, last)
    return into(out, _reshape(found, (found.shape[0],) * (not row) + (found.shape[1],) * (not column)))


def cross(input, other, *, dim=-1, out=None):
    """The cross product along a dimension of size 3; other dimensions broadcast."""
    if check(input).ndim != check(other).ndim:
        raise InvalidArgumentError(f'[linalg.cross] ranks {input.ndim} and {other.ndim} differ')
    dim_of(dim, input.ndim)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise InvalidArgumentError(f'[linalg.cross] dim {dim} of {input.shape} and {other.shape} must have size 3')
    input, other = promoted(input, other)
    apart = input.ndim > 1 and input.strides[dim] == max(input.strides)  # entries 0, 1 and 2 form three contiguous stretches
    a, b = (ops['transpose'](x, 0, dim) if apart else x for x in (input, other))

    def following(x):  # entry i + 1 at i
        return ops['roll'](x, (-1,), (0 if apart else dim,))
    found = following(a * following(b) - following(a) * b)
    return into(out, ops['transpose'](found, 0, dim) if apart else found)


def vecdot(x, y, *, dim=-1, out=None):
    """Products summed along a dimension; x is conjugated."""
    _same_dtype('vecdot', check(x), y)
    dim_of(dim, max(x.ndim, y.ndim))
    x = ops['conj'](x) if rank(x.dtype) == 3 else x
    return into(out, ops['sum'](x * y, dim, False, x.dtype if rank(x.dtype) < 2 else None))


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """A view of diagonals as last dimension."""
    return _diagonal(A, offset, dim1, dim2)


def tensorinv(A, ind=2, *, out=None):
    """The inverse of tensordot(A, ·, ind)."""
    if ind <= 0:
        raise InvalidArgumentError(f'[linalg.tensorinv] ind {ind} must be positive')
    rows, columns = check(A).shape[:ind], A.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise InvalidArgumentError(f'[linalg.tensorinv] shape {A.shape} is not square at {ind}')
    return into(out, _reshape(inv(_reshape(A, (math.prod(rows), math.prod(columns)))), (*columns, *rows)))


def tensorsolve(A, B, dims=None, *, out=None):
    """The X of tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        A = _movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[check(B).ndim:]
    if math.prod(A.shape[:B.ndim]) != math.prod(shape):
        raise InvalidArgumentError(f'[linalg.tensorsolve] shape {A.shape} is not square for B of rank {B.ndim}')
    found = solve(_reshape(A, (B.size, math.prod(shape))), _reshape(B, (B.size,)))
    return into(out, _reshape(found, shape))


def vander(x, *, N=None):
    """The powers 0, 1, … N - 1 of each element, along a new last dimension: (…, n, N)."""
    if not check(x).ndim:
        x = _reshape(x, (1,))
    n = x.shape[-1] if N is None else N
    if n <= 1 and N is not None:
        raise InvalidArgumentError(f'[linalg.vander] N {n} must be greater than 1')
    x = cast(x, _core.int64) if rank(x.dtype) < 2 else x
    wide = ops['expand'](ops['unsqueeze'](x, -1), (*x.shape, max(n - 1, 0)))
    ones = full((*x.shape, 1), 1, x)
    return ops['slice'](ops['concat']([ones, ops['cumprod'](wide, -1) if n > 1 else wide], -1), -1, 0, n)


def matrix_exp(A):
    """The exponential of square matrices, by scaling and squaring a Taylor polynomial."""
    _square('matrix_exp', A)
    if not A.size:
        return ops['clone'](A)
    most = largest(ops['sum'](ops['abs'](A.detach()), -2))
    times = max(0, math.ceil(math.log2(most)) + 3) if most > 0 else 0
    step = A * 2.0 ** -times
    one = ops['eye'](A.shape[-1], None, 0, A.dtype, A.device)
    found = one + step / 18
    for k in range(17, 0, -1):
        found = one + _matmul(step, found) / k
    for _ in range(times):
        found = _matmul(found, found)
    return found


def householder_product(A, tau, *, out=None):
    """The first columns of the product of Householder reflections (I - tau v vᴴ), where v are the columns of A below its diagonal."""
    _matrices('householder_product', A)
    _same_dtype('householder_product', A, tau)
    m, n = A.shape[-2:]
    k = tau.shape[-1] if tau.ndim else -1
    if m < n or k > n or k < 0 or tau.shape[:-1] != A.shape[:-2]:
        raise InvalidArgumentError(f'[linalg.householder_product] A {A.shape} and tau {tau.shape} do not fit')
    one = ops['eye'](m, n, 0, A.dtype, A.device)
    found = ops['expand'](one, A.shape)
    v = ops['tril'](A, -1) + one
    for i in range(k - 1, -1, -1):
        column = ops['slice'](v, -1, i, i + 1)
        factor = _reshape(ops['select'](tau, -1, i), (*tau.shape[:-1], 1, 1))
        found = found - factor * _matmul(column, _matmul(adjoint(column), found))
    return into(out, found)


def polar(A, *, out=None):
    """(U, H) with A = U H, U with orthonormal columns and H positive semidefinite; A (…, m, n) with m ≥ n."""
    if _matrices('polar', A).shape[-2] < A.shape[-1]:
        raise InvalidArgumentError(f'[linalg.polar] {A.shape} has fewer rows than columns')
    U, S, Vh = svd(A, False)
    return into(out, returned('linalg_polar')(_matmul(U, Vh), _matmul(adjoint(Vh) * ops['unsqueeze'](S, -2), Vh)))


def matrix_sqrth(A):
    """The positive definite X with X X = A for positive definite A."""
    values, vectors = eigh(A)
    return _matmul(vectors * ops['unsqueeze'](ops['sqrt'](values), -2), adjoint(vectors))


def lstsq(A, B, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values) of min ‖A X - B‖."""
    _matrices('lstsq', A)
    _same_dtype('lstsq', A, B)
    vector = B.ndim == A.ndim - 1
    if vector:
        B = ops['unsqueeze'](B, -1)
    if B.ndim < 2 or B.shape[-2] != A.shape[-2]:
        raise InvalidArgumentError(f'[linalg.lstsq] A {A.shape} and B {B.shape} do not fit')
    m, n = A.shape[-2:]
    full_rank = not somewhere(matrix_rank(A.detach(), rtol=rcond) != min(m, n))
    if full_rank and m >= n > 0:
        Q, R = _linalg.qr(A)
        found = _linalg.solve_triangular(R, _matmul(adjoint(Q), B), upper=True)
    elif full_rank and n > m > 0:
        Q, R = _linalg.qr(adjoint(A))
        found = _matmul(Q, _linalg.solve_triangular(adjoint(R), B, upper=False))
    else:
        found = _matmul(pinv(A, rcond), B)
    kind = returned('linalg_lstsq')
    real = svdvals(A.detach())
    left = m > n and full_rank and driver not in (None, 'gelsy')
    rest = ops['sum'](ops['abs'](B - _matmul(A, found)) ** 2, -2) if left else full((0,), 0, real)
    empty = full((0,), 0, A, _core.int64) if driver == 'gels' else matrix_rank(A, rtol=rcond)
    return kind(ops['squeeze'](found, -1) if vector else found, rest, empty, real if driver in ('gelsd', 'gelss') else full((0,), 0, real))


# The modules of rarer functions.
_ELSEWHERE = {'lu': 'lu_factors', 'lu_factor': 'lu_factors', 'lu_factor_ex': 'lu_factors', 'lu_solve': 'lu_factors',
              'eig': 'eigen', 'eigvals': 'eigen', 'ldl_factor': 'ldl', 'ldl_factor_ex': 'ldl', 'ldl_solve': 'ldl'}


def __getattr__(name):
    from importlib import import_module
    if name not in _ELSEWHERE:
        raise import_module('.._absent', __name__).absent('linalg', name)
    return getattr(import_module('..' + _ELSEWHERE[name], __name__), name)


globals().update({name: numpys(found) for name, found in globals().items() if name[0] != '_'})
