"""torch.masked: reductions and normalisations of the elements where a mask is True."""
import tenon.torch as torch

from .. import _core
from .._core import Tensor, ops
from ._common import absent, check
from .limits import iinfo

__all__ = ['amax', 'amin', 'argmax', 'argmin', 'cumprod', 'cumsum', 'log_softmax', 'logaddexp', 'logsumexp', 'mean', 'median', 'norm', 'normalize',
           'prod', 'softmax', 'softmin', 'std', 'sum', 'var']


def _chosen(input, mask, value, dtype):
    """input with `value` where the mask is False."""
    input = check(input) if dtype is None else check(input).to(dtype)
    if mask is None:
        return input
    if not isinstance(mask, Tensor) or mask.dtype is not _core.bool:
        raise TypeError('[masked] mask must be a Tensor of bools')
    if mask.ndim > input.ndim:
        raise IndexError(f'[masked] a mask of {mask.ndim} dimensions for {input.ndim}')
    return torch.where(mask, input, torch.full((), value, dtype=input.dtype, device=input.device))


def _reduced(function, input, dim, keepdim):
    dim = tuple(range(check(input).ndim)) if dim is None or dim == () else dim
    return function(input, dim, keepdim=keepdim) if input.ndim else function(input)


def _least(input, dtype):
    """The value that is below all others, and the one above."""
    kind = check(input).dtype if dtype is None else dtype
    if kind.is_floating_point:
        return -torch.inf, torch.inf
    found = iinfo(kind)
    return found.min, found.max


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum; 0 of nothing."""
    return _reduced(torch.sum, _chosen(input, mask, 0, dtype), dim, keepdim)


def _count(input, dim, keepdim, mask):
    ones = ops['full_like'](check(input).detach(), 1)
    return sum(ones, dim, keepdim=keepdim, mask=mask)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean; nan of nothing."""
    input = check(input) if dtype is None else check(input).to(dtype)
    return sum(input, dim, keepdim=keepdim, mask=mask) / _count(input, dim, keepdim, mask)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product; 1 of nothing."""
    found = _chosen(input, mask, 1, dtype)
    for d in sorted((range(found.ndim) if dim is None else {d % found.ndim for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}), reverse=True):
        found = torch.prod(found, d, keepdim=keepdim)
    return found


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest element; the least number of nothing."""
    return _reduced(torch.amax, _chosen(input, mask, _least(input, dtype)[0], dtype), dim, keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest element; the largest number of nothing."""
    return _reduced(torch.amin, _chosen(input, mask, _least(input, dtype)[1], dtype), dim, keepdim)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest element is."""
    return torch.argmax(_chosen(input, mask, _least(input, dtype)[0], dtype), dim, keepdim=keepdim)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest element is."""
    return torch.argmin(_chosen(input, mask, _least(input, dtype)[1], dtype), dim, keepdim=keepdim)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median, the lower of two; nan of nothing."""
    return torch.nanmedian(_chosen(input, mask, torch.nan, dtype), dim, keepdim=keepdim).values


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance, divided by the number of elements less the correction: 1 unless told otherwise."""
    if unbiased is not None and correction is not None:
        raise RuntimeError('[var] give unbiased or correction, not both')
    less = correction if correction is not None else int(unbiased is not False)
    input = check(input) if dtype is None else check(input).to(dtype)
    apart = input - mean(input, dim, keepdim=True, mask=mask)
    return sum(apart * apart, dim, keepdim=keepdim, mask=mask) / torch.clamp(_count(input, dim, keepdim, mask) - less, min=0)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The root of var()."""
    return torch.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of a vector; 0 of nothing."""
    missing = torch.inf if ord == -torch.inf else 0
    return torch.linalg.vector_norm(_chosen(input, mask, missing, dtype), ord, dim, keepdim=keepdim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """Divided by norm(), which is at least eps."""
    length = torch.clamp(norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask), min=eps)
    return _chosen(input, mask, 0, dtype) / length


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax() of the elements that count; the others get 0."""
    return torch.softmax(_chosen(input, mask, -torch.inf, dtype), dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax() of the elements that count; the others get -inf."""
    return torch.log_softmax(_chosen(input, mask, -torch.inf, dtype), dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmin() of the elements that count; the others get 0."""
    return torch.nn.functional.softmin(_chosen(input, mask, torch.inf, dtype), dim)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(x))); -inf of nothing."""
    return _reduced(torch.logsumexp, _chosen(input, mask, -torch.inf, dtype), dim, keepdim)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(x) + exp(y)), where what does not count adds nothing."""
    return torch.logaddexp(_chosen(input, input_mask, -torch.inf, dtype), _chosen(other, other_mask, -torch.inf, dtype))


def cumsum(input, dim, *, dtype=None, mask=None):
    """Sums of the elements up to each place."""
    return torch.cumsum(_chosen(input, mask, 0, dtype), dim)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Products of the elements up to each place."""
    return torch.cumprod(_chosen(input, mask, 1, dtype), dim)


__getattr__ = absent(__name__, dict.fromkeys('MaskedTensor as_masked_tensor masked_tensor is_masked_tensor'.split(),
                                             'give the functions of torch.masked a mask, or use torch.where'))
