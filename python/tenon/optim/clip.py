"""Clipping of gradients."""
import tenon
from .._core import Tensor, ops
from ..nn._check import check_least


def _grads(where, parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for x in parameters:
        if not isinstance(x, Tensor):
            raise TypeError(f'[{where}] a parameter must be a Tensor, not {type(x).__name__}')
    return [grad for grad in (x.grad for x in parameters) if grad is not None]


def clip_grad_norm_(parameters, max_norm, norm_type=2.0):
    """Scales the gradients of all parameters down together so that their joint norm is at most `max_norm`.

    Returns the norm before, a Tensor of rank 0.

    >>> w = tenon.nn.Parameter(tenon.tensor([3.0, 4.0]))
    >>> (w * w / 2).sum().backward()
    >>> tenon.optim.clip_grad_norm_([w], 1.0).item()
    5.0
    """
    grads = _grads('clip_grad_norm_', parameters)
    if not grads:
        return tenon.tensor(0.0)
    with tenon.no_grad():
        norm = ops['multi_norm'](grads, norm_type)
        ops['multi_scale'](grads, ops['clamp'](max_norm / (norm + 1e-6), None, 1.0))
    return norm


def clip_grad_value_(parameters, clip_value):
    """Limits every element of the gradients to [-clip_value, clip_value]."""
    check_least('clip_grad_value_', 'clip_value', clip_value, 0)
    with tenon.no_grad():
        for grad in _grads('clip_grad_value_', parameters):
            grad[...] = ops['clamp'](grad, -clip_value, clip_value)
