"""Parameters as one vector, and back."""
from .... import no_grad
from ...._core import Tensor, ops


def _check(where, parameters):
    parameters = list(parameters)
    if len({str(x.device) for x in parameters}) > 1:
        raise TypeError(f'[{where}] the parameters are on several devices')
    return parameters


def parameters_to_vector(parameters):
    """All parameters as one vector; recorded, so that gradients flow back."""
    return ops['concat']([ops['reshape'](x, (x.size,)) for x in _check('parameters_to_vector', parameters)], 0)


def vector_to_parameters(vec, parameters):
    """Writes a vector back into parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f'[vector_to_parameters] vec must be a Tensor, not {type(vec).__name__}')
    at = 0
    with no_grad():
        for x in _check('vector_to_parameters', parameters):
            x[...] = ops['reshape'](ops['slice'](vec, 0, at, at + x.size), x.shape)
            at += x.size
