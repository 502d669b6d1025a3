"""torch.nn.utils: clipping of gradients, parameters as one vector, sequences of several lengths (rnn)."""
from ..._core import ops
from ...optim import clip_grad_norm_ as _clip_norm
from ...optim import clip_grad_value_ as _clip_value
from . import packed as rnn

__all__ = ['clip_grad_norm_', 'clip_grad_value_', 'get_total_norm', 'parameters_to_vector', 'rnn', 'vector_to_parameters']


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients down together to a norm of max_norm; returns the norm before."""
    import math
    parameters = [parameters] if hasattr(parameters, 'grad') else list(parameters)
    if error_if_nonfinite and not math.isfinite(get_total_norm([x.grad for x in parameters if x.grad is not None], norm_type).item()):
        raise RuntimeError('[clip_grad_norm_] the norm of the gradients is not finite')
    return _clip_norm(parameters, max_norm, norm_type)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every element of the gradients to [-clip_value, clip_value]."""
    _clip_value(parameters, clip_value)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together."""
    return ops['multi_norm'](list(tensors), norm_type)


def parameters_to_vector(parameters):
    """All parameters in one row."""
    return ops['concat']([ops['reshape'](x, (x.size,)) for x in parameters], 0)


def vector_to_parameters(vec, parameters):
    """Writes a row back into parameters."""
    from ... import no_grad
    at = 0
    with no_grad():
        for x in parameters:
            x[...] = ops['reshape'](vec[at:at + x.size], x.shape)
            at += x.size
