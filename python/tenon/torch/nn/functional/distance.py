"""Distances between vectors."""
from ...._core import ops
from ...._errors import InvalidArgumentError, UnsupportedDtypeError
from ..._common import check, dim_of, promoted, rank
from ...matrix import distance
from ...shape import combinations


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """x₁ · x₂ / (|x₁| |x₂|) along a dimension; each length is at least eps."""
    x1, x2 = promoted(check(x1), check(x2))
    if rank(x1.dtype) < 2:
        raise UnsupportedDtypeError(f'[cosine_similarity] needs floating numbers, not {x1.dtype}')
    from ...shape import broadcast_tensors
    x1, x2 = broadcast_tensors(x1, x2)
    dim = dim_of(dim, x1.ndim)
    x1, x2 = (x / ops['clamp'](ops['norm'](x, 2.0, (dim,) if x.ndim else None, True), eps) for x in (x1, x2))
    return ops['sum'](x1 * x2, (dim,) if x1.ndim else None)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x₁ - x₂ + eps along the last dimension."""
    from ...linalg import vector_norm
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def pdist(input, p=2.0):
    """p-norm distances of all pairs of rows of (n, d): n (n - 1) / 2 of them."""
    if check(input).ndim != 2 or rank(input.dtype) != 2:
        raise InvalidArgumentError(f'[pdist] needs a floating matrix, not {input.dtype} of rank {input.ndim}')
    if p < 0:
        raise InvalidArgumentError(f'[pdist] p {p} must not be negative')
    pairs = combinations(ops['arange'](0, input.shape[0], 1, None, input.device), 2)
    first, second = (ops['index_select'](input, 0, ops['select'](pairs, 1, i)) for i in (0, 1))
    return distance(first - second, p)
