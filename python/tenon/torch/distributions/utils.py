"""Parts of distributions for those that programs define."""
import math

from ... import torch
from .distribution import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ['broadcast_all', 'clamp_probs', 'euler_constant', 'lazy_property', 'logits_to_probs', 'probs_to_logits', 'tril_matrix_to_vec',
           'vec_to_tril_matrix']

euler_constant = 0.57721566490153286060


def clamp_probs(probs):
    """Probabilities away from 0 and 1 by the precision of their dtype."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def vec_to_tril_matrix(vec, diag=0):
    """Lower triangular matrices of rows of their elements, whose diagonal `diag` is the last that is kept."""
    n = (-(1 + 2 * diag) + math.sqrt((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1))) / 2
    if not round(n) - torch.finfo(vec.dtype).eps <= n <= round(n) + torch.finfo(vec.dtype).eps:
        raise ValueError(f'[vec_to_tril_matrix] {vec.shape[-1]} elements are not those of a lower triangular matrix')
    n = round(n)
    kept = torch.ones(n, n, dtype=torch.bool, device=vec.device).tril(diag)
    places = torch.clamp(kept.reshape(-1).long().cumsum(0) - 1, min=0)
    return torch.where(kept, vec[..., places].reshape(*vec.shape[:-1], n, n), torch.zeros((), dtype=vec.dtype, device=vec.device))


def tril_matrix_to_vec(mat, diag=0):
    """The elements of lower triangular matrices, up to the diagonal `diag`, as rows."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f'[tril_matrix_to_vec] diag {diag} is out of range for matrices of {n} rows')
    kept = torch.ones(n, n, dtype=torch.bool, device=mat.device).tril(diag)
    return mat.reshape(*mat.shape[:-2], n * n)[..., torch.nonzero(kept.reshape(-1)).squeeze(1)]


def _standard_normal(shape, dtype, device):
    return torch.randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value, dim):
    """value summed over its last `dim` dimensions."""
    return value if dim == 0 else value.reshape(*value.shape[:-dim], -1).sum(-1)
