"""Products of matrices and vectors."""
import math
from typing import Any

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError, UnsupportedDtypeError
from ._backward_names import named
from ._common import Tensor, arange, autocasting, cast, check, differentiated, dims_of, into, promoted, rank
from ._shortcuts import short
from .arithmetic import add, mul

_matmul, _reshape, _unsqueeze, _addcmul = ops['matmul'], ops['reshape'], ops['unsqueeze'], ops['addcmul']


def _same(name, *tensors):
    """Operands of one dtype, because products do not promote."""
    for x in tensors:
        if check(x).dtype is not tensors[0].dtype and not autocasting(x):
            raise InvalidArgumentError(f'[{name}] dtypes {tensors[0].dtype} and {x.dtype} differ')


def _ranks(name, tensors, ranks):
    _same(name, *tensors)
    for x, want in zip(tensors, ranks):
        if x.ndim != want:
            raise InvalidArgumentError(f'[{name}] needs tensors of rank {", ".join(map(str, ranks))}, got {", ".join(str(x.ndim) for x in tensors)}')


@short
def matmul(input, other, *, out=None):
    """The product of matrices, batches of them, or vectors."""
    _same('matmul', input, other)
    return into(out, _matmul(input, other))


@short
def mm(input, mat2, *, out=None):
    """The product of two matrices."""
    _ranks('mm', (input, mat2), (2, 2))
    return into(out, _matmul(input, mat2))


def bmm(input, mat2, *, out=None):
    """The products of two batches of matrices, (b, n, m) and (b, m, p)."""
    _ranks('bmm', (input, mat2), (3, 3))
    if input.shape[0] != mat2.shape[0]:
        raise InvalidArgumentError(f'[bmm] batches of {input.shape[0]} and {mat2.shape[0]}')
    return named(into(out, _matmul(input, mat2)), 'BmmBackward0')


def mv(input, vec, *, out=None):
    """A matrix times a vector."""
    _ranks('mv', (input, vec), (2, 1))
    return into(out, _matmul(input, vec))


def dot(input, tensor, *, out=None):
    """The dot product of two vectors."""
    _ranks('dot', (input, tensor), (1, 1))
    if input.size != tensor.size:
        raise InvalidArgumentError(f'[dot] vectors of {input.size} and {tensor.size} elements')
    return into(out, _matmul(input, tensor))


def vdot(input, other, *, out=None):
    """The dot product of two vectors, the first conjugated."""
    return dot(ops['conj'](input) if rank(check(input).dtype) == 3 else input, other, out=out)


def inner(input, other, *, out=None):
    """Products summed over the last dimensions; for rank 0 the plain product."""
    if not check(input).ndim or not check(other).ndim:
        return mul(input, other, out=out)
    if input.shape[-1] != other.shape[-1]:
        raise InvalidArgumentError(f'[inner] last dimensions of {input.shape} and {other.shape} differ')
    return tensordot(input, other, ([-1], [-1]), out=out)


def outer(input, vec2, *, out=None):
    """All products of two vectors' elements."""
    if check(input).ndim != check(vec2).ndim or input.ndim != 1:
        raise InvalidArgumentError(f'[outer] needs two vectors, not rank {input.ndim} and {vec2.ndim}')
    if input.dtype is not vec2.dtype:
        input, vec2 = promoted(input, vec2)
    found = _unsqueeze(input, 1) * vec2
    return found if out is None else into(out, found)


ger = outer


def _weighted(name, input, product, beta, alpha, out):
    """beta · input + alpha · product; input is ignored if beta is 0."""
    _same(name, product, input)
    if input.dtype is not product.dtype:  # under autocast
        input = cast(input, product.dtype)
    if rank(product.dtype) < 2:
        beta, alpha = int(beta), int(alpha)
    product = product if alpha == 1 else product * alpha
    ops['expand'](input, product.shape)  # an error if it does not fit
    return into(out, cast(product + (input if beta == 1 else input * beta) if beta != 0 else product, input.dtype))


def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """beta · input + alpha · mat1 mat2."""
    return named(_weighted('addmm', input, mm(mat1, mat2), beta, alpha, out), 'AddmmBackward0', input, mat1, mat2)


def addmv(input, mat, vec, *, beta=1, alpha=1, out=None):
    """beta · input + alpha · mat vec."""
    return named(_weighted('addmv', input, mv(mat, vec), beta, alpha, out), 'AddmvBackward0', input, mat, vec)


def addr(input, vec1, vec2, *, beta=1, alpha=1, out=None):
    """beta · input + alpha · vec1 vec2ᵀ."""
    dtype = check(input).dtype
    if beta and check(vec1).ndim == check(vec2).ndim == 1 and rank(dtype) == 2 and vec1.dtype is vec2.dtype is dtype:
        shape = vec1.shape + vec2.shape
        if input.shape != shape:
            ops['expand'](input, shape)  # an error unless it broadcasts
        factors = _unsqueeze(vec1, 1), vec2
        strides = input.strides
        if len(strides) == 2 and strides[0] < strides[1]:  # the first factor is constant along lines of memory
            factors = factors[::-1]
        found = _addcmul(input if beta == 1 else input * beta, *factors, alpha)
        return found if out is None else into(out, found)
    product = outer(vec1, vec2)
    if rank(product.dtype) < 2 and any(isinstance(x, (float, complex)) for x in (beta, alpha)):
        raise TypeError(f'[addr] beta {beta} and alpha {alpha} must be integers for dtype {product.dtype}')
    ops['expand'](input, product.shape)
    product = product if alpha is True or alpha == 1 else product * alpha
    return into(out, product if beta == 0 else add(product, input if beta is True or beta == 1 else input * beta))


def addbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """beta · input + alpha · Σ batch1 batch2, summed over the batch."""
    product = bmm(batch1, batch2)
    return named(_weighted('addbmm', input, ops['sum'](product, 0, False, product.dtype), beta, alpha, out), 'AddbmmBackward0', input, batch1, batch2)


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """beta · input + alpha · batch1 batch2, for each entry of a batch."""
    return named(_weighted('baddbmm', input, bmm(batch1, batch2), beta, alpha, out), 'BaddbmmBackward0', input, batch1, batch2)


def chain_matmul(*matrices, out=None):
    """The product of several matrices."""
    from .linalg import multi_dot
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices, out=out)


def tensordot(a, b, dims: Any = 2, out=None):
    """Products summed over the last dimensions of a and the first of b, or over two lists of dimensions."""
    _same('tensordot', check(a), check(b))
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.ndim else dims.item()
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise InvalidArgumentError(f'[tensordot] {dims} dims of tensors of rank {a.ndim} and {b.ndim}')
        dims = range(a.ndim - dims, a.ndim), range(dims)
    first, second = (dims_of(list(d), x.ndim) if len(d) else () for d, x in zip(dims, (a, b)))
    if len(first) != len(second) or any(a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]) for i, j in zip(first, second)):
        raise InvalidArgumentError(f'[tensordot] dims {dims} of shapes {a.shape} and {b.shape} differ in size')
    for i, j in zip(first, second):  # a dimension of size 1 meets the sum of the other
        if a.shape[i] == 1 != b.shape[j]:
            b = ops['sum'](b, j, True)
        elif b.shape[j] == 1 != a.shape[i]:
            a = ops['sum'](a, i, True)
    left, right = ([d for d in range(x.ndim) if d not in used] for x, used in ((a, first), (b, second)))
    inner_size = math.prod(a.shape[i] for i in first)
    rows, columns = ([x.shape[d] for d in kept] for x, kept in ((a, left), (b, right)))
    found = _matmul(_reshape(ops['permute'](a, (*left, *first)), (math.prod(rows), inner_size)),
                    _reshape(ops['permute'](b, (*second, *right)), (inner_size, math.prod(columns))))
    return into(out, _reshape(found, rows + columns))


def einsum(equation, *operands):
    """Sums of products given by letters; also accepts an ellipsis, capital letters and PyTorch's lists of dimensions."""
    if isinstance(equation, Tensor):
        equation, operands = _from_lists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = operands[0]
    inputs, arrow, result = equation.replace(' ', '').partition('->')
    if arrow and '...' in inputs and '...' not in result:  # the dimensions of an ellipsis are summed
        found = ops['einsum'](f'{inputs}->...{result}', list(operands))
        lead = found.ndim - len(result)
        return ops['sum'](found, tuple(range(lead)), False, found.dtype) if lead else found
    return ops['einsum'](equation, list(operands))


def _from_lists(arguments):
    """einsum(x, [0, 1], y, [1, 2], [0, 2]) as an equation and operands."""
    def letters(places):
        return ''.join('...' if each is Ellipsis else chr(97 + each) if each < 26 else chr(39 + each) for each in places)
    inputs, operands = [], []
    arguments = list(arguments)
    while len(arguments) >= 2:
        operands.append(arguments.pop(0))
        inputs.append(letters(arguments.pop(0)))
    equation = ','.join(inputs)
    return (f'{equation}->{letters(arguments[0])}' if arguments else equation), operands


def trace(input):
    """The sum of a matrix's diagonal."""
    if check(input).ndim != 2:
        raise InvalidArgumentError(f'[trace] needs a matrix, not rank {input.ndim}')
    return named(ops['sum'](ops['diagonal'](input), None, False, _core.int64 if rank(input.dtype) < 2 else None), 'TraceBackward0', input)


def kron(input, other, *, out=None):
    """The Kronecker product, in the common dtype also where one operand has rank 0."""
    dtype = _core.promote_types(check(input).dtype, check(other).dtype)
    input, other = cast(input, dtype), cast(other, dtype)
    n = max(input.ndim, other.ndim)
    a, b = ((1,) * (n - x.ndim) + tuple(x.shape) for x in (input, other))
    input, other = ops['contiguous'](input), ops['contiguous'](other)  # in the order in which the result is written
    wide = (_reshape(input, [s for size in a for s in (size, 1)]) * _reshape(other, [s for size in b for s in (1, size)]))
    return into(out, _reshape(wide, [i * j for i, j in zip(a, b)]))


def cross(input, other, dim=None, *, out=None):
    """The cross product along a dimension of size 3, by default the first one."""
    from .linalg import cross as along
    if dim is None:
        dim = next((d for d, n in enumerate(check(input).shape) if n == 3), None)
        if dim is None:
            raise InvalidArgumentError(f'[cross] no dimension of {input.shape} has size 3')
    if input.ndim != check(other).ndim:
        raise InvalidArgumentError(f'[cross] ranks {input.ndim} and {other.ndim} differ')
    return named(along(input, other, dim=dim, out=out), 'LinalgCrossBackward0', input, other)


def cdist(x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary'):
    """p-norm distances of all rows of x1 (…, n, d) to all rows of x2 (…, m, d): (…, n, m).

    Those of more than 25 rows come from products of rows, and so do all of a graph for fewer and more rows."""
    if min(check(x1).ndim, check(x2).ndim) < 2 or x1.shape[-1] != x2.shape[-1]:
        raise InvalidArgumentError(f'[cdist] shapes {x1.shape} and {x2.shape}: (…, n, d) and (…, m, d) are needed')
    if rank(x1.dtype) != 2 or rank(x2.dtype) != 2:
        raise UnsupportedDtypeError(f'[cdist] needs floating numbers, not {x1.dtype} and {x2.dtype}')
    if p < 0:
        raise InvalidArgumentError(f'[cdist] p {p} must not be negative')
    given, (x1, x2) = (x1, x2), promoted(x1, x2)
    many = max(x1.shape[-2], x2.shape[-2]) > 25  # as PyTorch chooses
    if _core._trace_active():
        from ..graph import at_any_size
        many = at_any_size(many)
    if p == 2 and x1.shape[-1] and (compute_mode == 'use_mm_for_euclid_dist' or many and compute_mode == 'use_mm_for_euclid_dist_if_necessary'):
        return named(_distances_by_products(x1, x2), 'EuclideanDistBackward0', *given)
    # Differences of the shape (…, d, n, m): sums over d run along whole rows.
    first, second = (ops['contiguous'](ops['transpose'](x, -1, -2)) for x in (x1, x2))
    first, second = ops['unsqueeze'](first, -1), ops['unsqueeze'](second, -2)
    terms = x1.size * x2.shape[-2]
    if terms <= _BLOCK or x1.device.type != 'cpu' or _core._trace_active() or differentiated(x1, x2):
        return named(_distances(first, second, p), 'CdistBackward0', *given)
    rows = max(1, x1.shape[-2] * _BLOCK // terms)
    return ops['concat']([_distances(ops['slice'](first, -2, at, at + rows), second, p) for at in range(0, x1.shape[-2], rows)], -2)


_BLOCK = 1 << 20  # differences: enough for some threads to share, while the cache holds them


def _distances(first, second, p):
    return ops['sum'](ops['l1_loss'](first, second, 'none'), -3) if p == 1 else distance(first - second, p, dim=-3)


def _distances_by_products(x1, x2):
    """√(|a|² − 2 ab + |b|²), with a gradient of 0 at 0."""
    if not differentiated(x1, x2) and not _core._autocast_active():  # which would round |a|²
        return _distances_by_product(x1, x2)
    squares = [ops['sum'](x * x, -1, True) for x in (x1, x2)]
    powers = squares[0] - 2 * _matmul(x1, ops['transpose'](x2, -1, -2)) + ops['transpose'](squares[1], -1, -2)
    zero = powers <= 0
    return ops['where'](zero, 0, ops['sqrt'](ops['where'](zero, 1, powers)))


def _distances_by_product(x1, x2):
    """The same as one product, whose rows end in |a|², 1 and 1, |b|²."""
    squares = [ops['sum'](x * x, -1, True) for x in (x1, x2)]
    ones = [ops['full_like'](x, 1) for x in squares]
    rows = ops['concat']([x1 * -2, squares[0], ones[0]], -1)
    columns = ops['transpose'](ops['concat']([x2, ones[1], squares[1]], -1), -1, -2)
    return _matmul(rows, columns).clamp_(0).sqrt_()


def distance(gap, p, keepdim=False, dim=-1):
    """The p-norm over a dimension, with a gradient of 0 at 0."""
    if p == 0:
        return cast(ops['sum'](cast(gap != 0, gap.dtype), dim, keepdim), gap.dtype)
    size = ops['abs'](gap)
    if not gap.shape[dim] or p == 1:
        return ops['sum'](size, dim, keepdim)
    if p == math.inf:
        return ops['max'](size, dim, keepdim)
    powers = ops['sum'](size * size if p == 2 else _safe_power(size, p), dim, keepdim)
    zero = powers == 0
    safe = ops['where'](zero, 1, powers)
    return ops['where'](zero, 0, ops['sqrt'](safe) if p == 2 else safe ** (1 / p))


def _safe_power(x, p):
    """x^p for x ≥ 0, with gradient 0 at 0."""
    zero = x == 0
    return ops['where'](zero, 0, ops['where'](zero, 1, x) ** p)


def vander(x, N=None, increasing=False):
    """Powers of a vector as columns, in descending order unless increasing."""
    if check(x).ndim != 1:
        raise InvalidArgumentError(f'[vander] needs a row, not rank {x.ndim}')
    n = x.size if N is None else N
    if n < 0:
        raise InvalidArgumentError(f'[vander] N {n} must not be negative')
    powers = arange(n, x)
    x = cast(x, _core.int64) if rank(x.dtype) < 2 else x
    found = ops['unsqueeze'](x, 1) ** ops['unsqueeze'](cast(powers, x.dtype), 0)
    return found if increasing else ops['flip'](found, (1,))


def cholesky_solve(input, L, upper=False, *, out=None):
    """The x of A x = input, where L is the Cholesky factor of A."""
    from .linalg import solve_triangular
    from .shape import adjoint
    if upper:
        L = adjoint(L)
    return into(out, solve_triangular(adjoint(L), solve_triangular(L, input, upper=False), upper=True))


def cholesky_inverse(L, upper=False, *, out=None):
    """The inverse of A, where L is its Cholesky factor."""
    from .create import eye
    if check(L).ndim < 2 or L.shape[-1] != L.shape[-2]:
        raise InvalidArgumentError(f'[cholesky_inverse] needs square matrices, not {L.shape}')
    one = ops['expand'](eye(L.shape[-1], dtype=L.dtype, device=L.device), L.shape)
    return cholesky_solve(one, L, upper, out=out)
