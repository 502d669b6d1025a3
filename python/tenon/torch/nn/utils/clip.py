"""Gradients limited to bounds. foreach, which only concerns speed, has no effect."""
import math
import warnings

from .... import no_grad
from ...._core import Tensor, ops


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [x.grad for x in parameters if x.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The joint norm of all tensors, as a Tensor of rank 0; 0 for no tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return ops['full']((), 0.0)
    norm_type = float(norm_type)
    tensors = [x if isinstance(x, Tensor) else x.coalesce().values() for x in tensors]  # of sparse ones
    with no_grad():
        found = ops['multi_norm'](tensors, norm_type) if norm_type != 0 else _count_of_nonzero(tensors)
    if error_if_nonfinite and not math.isfinite(found.item()):
        raise RuntimeError(f'[get_total_norm] the norm of order {norm_type} is {found.item()}: error_if_nonfinite=False lets it pass')
    return found


def _count_of_nonzero(tensors):
    """The norm of order 0 of the norms of order 0: how many tensors are not all 0."""
    return ops['cast'](ops['sum'](ops['stack']([ops['any'](x != 0) for x in tensors])), tensors[0].dtype)


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients down together by the factor by which total_norm, computed before, exceeds max_norm."""
    with no_grad():
        gradients = [x if isinstance(x, Tensor) else x._values() for x in _gradients(parameters)]
        if gradients:
            ops['multi_scale'](gradients, ops['clamp'](float(max_norm) / (total_norm + 1e-6), None, 1.0))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients down together to a norm of at most max_norm; returns the norm before."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    found = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, found)
    return found


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The older name of clip_grad_norm_()."""
    warnings.warn('[clip_grad_norm] is the older name of clip_grad_norm_', FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every element of the gradients to [-clip_value, clip_value]."""
    bound = float(clip_value)
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.copy_(ops['clamp'](gradient, -bound, bound))
