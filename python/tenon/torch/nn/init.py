"""torch.nn.init: initial values of parameters, written in place."""
import functools
import warnings

from ...nn.init import (_fan, calculate_gain, constant_, dirac_, eye_, fans, kaiming_normal_, kaiming_uniform_, normal_, ones_, orthogonal_, sparse_,
                        trunc_normal_, uniform_, xavier_normal_, xavier_uniform_, zeros_)

__all__ = ['calculate_gain', 'constant_', 'dirac_', 'eye_', 'kaiming_normal_', 'kaiming_uniform_', 'normal_', 'ones_', 'orthogonal_',
           'sparse_', 'trunc_normal_', 'uniform_', 'xavier_normal_', 'xavier_uniform_', 'zeros_']


def _calculate_correct_fan(tensor, mode):
    """The fan of mode 'fan_in' or 'fan_out', by which programs scale values of their own."""
    return _fan('init', tensor, mode.lower())


_calculate_fan_in_and_fan_out = fans


def _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=None):
    """trunc_normal_(), as programs that copied it from PyTorch call it."""
    return trunc_normal_(tensor, mean, std, a, b, generator=generator)


def _older(function):
    """The name without the underscore, whose use points to the newer one."""
    name = function.__name__.removesuffix('_')

    @functools.wraps(function)
    def call(*args, **kwargs):
        warnings.warn(f'[nn.init.{name}] is the older name of {function.__name__}', FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    call.__name__ = call.__qualname__ = name
    call.__module__ = __name__
    return call


uniform, normal, constant, eye, dirac, sparse, orthogonal = map(_older, (uniform_, normal_, constant_, eye_, dirac_, sparse_, orthogonal_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = map(_older, (
    xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_))


def __getattr__(name):
    from .._absent import absent
    raise absent('nn.init', name)
