"""QR decompositions in LAPACK's form: reflections I - tau v vᴴ with the columns v below the diagonal."""

from .._core import ops
from .._errors import InvalidArgumentError, UnsupportedDtypeError
from ._common import check, full, into, rank
from .return_types import returned
from .shape import adjoint

_Geqrf = returned('geqrf')


def geqrf(input, *, out=None):
    """(a, tau): R in and above the diagonal of a, reflections below it."""
    if check(input).ndim < 2 or rank(input.dtype) < 2:
        raise UnsupportedDtypeError(f'[geqrf] needs floating or complex matrices, not {input.dtype} of shape {input.shape}')
    lead, (m, n) = input.shape[:-2], input.shape[-2:]
    rest, taus, rows, below = input, [], [], []
    for j in range(min(m, n)):
        column = ops['slice'](rest, -1, 0, 1)
        alpha, tail = ops['slice'](column, -2, 0, 1), ops['slice'](column, -2, 1, m - j)
        real = ops['real'](alpha) if rank(alpha.dtype) == 3 else alpha
        size = ops['sqrt'](ops['sum'](ops['abs'](column) ** 2, -2, True))
        idle = (ops['sum'](ops['abs'](tail), -2, True) == 0) & (alpha == real)  # nothing to reflect
        beta = ops['where'](real < 0, size, -size)
        safe = ops['where'](idle, 1, alpha - beta)
        v = ops['concat']([full((*lead, 1, 1), 1, input), ops['where'](idle, 0, tail / safe)], -2)
        tau = ops['where'](idle, 0, (beta - alpha) / ops['where'](beta == 0, 1, beta))
        turned = rest - (ops['conj'](tau) if rank(tau.dtype) == 3 else tau) * ops['matmul'](v, ops['matmul'](adjoint(v), rest))
        taus.append(ops['squeeze'](tau, (-2, -1)))
        rows.append(ops['slice'](turned, -2, 0, 1))
        below.append(ops['slice'](v, -2, 1, m - j))
        rest = ops['slice'](ops['slice'](turned, -2, 1, m - j), -1, 1, n - j)
    if not taus:
        return into(out, _Geqrf(ops['clone'](input), full((*lead, 0), 0, input)))
    found = full(input.shape, 0, input)
    for j, (row, v) in enumerate(zip(rows, below)):
        found = found + ops['pad'](row, (j, 0, j, m - 1 - j)) + ops['pad'](v, (j, n - 1 - j, j + 1, 0))
    return into(out, _Geqrf(found, ops['stack'](taus, -1)))


def ormqr(input, tau, other, left=True, transpose=False, *, out=None):
    """Q other, or other Q with left=False, where Q is the product of the reflections; transpose: with Qᴴ."""
    for x in (input, tau, other):
        if check(x).dtype is not input.dtype:
            raise InvalidArgumentError(f'[ormqr] dtypes {input.dtype}, {tau.dtype} and {other.dtype} differ')
    m, k = other.shape[-2 if left else -1] if other.ndim > 1 else -1, tau.shape[-1] if tau.ndim else -1
    if input.ndim < 2 or other.ndim < 2 or k < 0 or input.shape[-2] != m or k > input.shape[-1] or k > m or not (
            input.shape[:-2] == tau.shape[:-1] == other.shape[:-2]):
        raise InvalidArgumentError(f'[ormqr] shapes {input.shape}, {tau.shape} and {other.shape} do not fit')
    v = ops['tril'](ops['slice'](input, -1, 0, k), -1) + ops['eye'](m, k, 0, input.dtype, input.device)
    found = other
    for i in range(k) if left == transpose else reversed(range(k)):
        column = ops['slice'](v, -1, i, i + 1)
        factor = ops['reshape'](ops['select'](tau, -1, i), (*tau.shape[:-1], 1, 1))
        factor = ops['conj'](factor) if transpose and rank(factor.dtype) == 3 else factor
        if left:
            found = found - factor * ops['matmul'](column, ops['matmul'](adjoint(column), found))
        else:
            found = found - factor * ops['matmul'](ops['matmul'](found, column), adjoint(column))
    return into(out, found if k else ops['clone'](found))
