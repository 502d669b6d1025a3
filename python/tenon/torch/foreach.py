"""Functions of each tensor of a list: torch.foreach.add(tensors, 1). A name with an underscore writes to the tensors and returns the list.

A further operand is a list with an entry for each tensor, or one number or tensor of rank 0 for all of them. Programs that call the
older names, torch._foreach_add_, find them too.
"""
from typing import Any

import tenon.torch

from .._core import Tensor
from .._errors import InvalidArgumentError

# The further operands of a function, and the keyword that scales one of them.
_OPERANDS = {**dict.fromkeys('''abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
    rsqrt sigmoid sign sin sinh sqrt tan tanh trunc'''.split(), 0), **dict.fromkeys('add sub mul div maximum minimum clamp_max clamp_min pow'.split(), 1),
    'lerp': 2, 'addcmul': 2, 'addcdiv': 2}
_SCALES = {'add': 'alpha', 'sub': 'alpha', 'addcmul': 'value', 'addcdiv': 'value'}
_BOUNDS = {'maximum': 'clamp_min', 'minimum': 'clamp_max'}  # which take numbers too



def _listed(name, inputs):
    """The tensors of a list, of which there is one at least."""
    if not isinstance(inputs, (list, tuple)) or not all(isinstance(x, Tensor) for x in inputs):
        raise TypeError(f'[foreach.{name}] needs a list of Tensors, not {type(inputs).__name__}')
    if not inputs:
        raise InvalidArgumentError(f'[foreach.{name}] needs one Tensor at least')
    return inputs


def _spread(name, value, count):
    """An operand for each of `count` tensors."""
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise InvalidArgumentError(f'[foreach.{name}] {len(value)} operands for {count} tensors')
        return value
    if isinstance(value, Tensor) and value.ndim:
        raise InvalidArgumentError(f'[foreach.{name}] one tensor for all has rank 0, not {value.ndim}: give a list of tensors')
    return [value] * count


def _rows(name, operands, scale, inputs, given, scaled):
    """(operands, keywords) of the call for each tensor."""
    given = (*given, *(value for key, value in scaled.items() if key != scale))  # scalar=, weight=: names of the older functions
    scaled = {key: value for key, value in scaled.items() if key == scale}
    if scale and len(given) == operands + 1:
        *given, scaled[scale] = given
    if len(given) != operands:
        raise TypeError(f'[foreach.{name}] takes {operands + 1} operands, not {len(given) + 1}')
    if name == 'pow' and not isinstance(inputs, (list, tuple)):
        inputs = [inputs] * len(_listed(name, given[0]))
    else:
        _listed(name, inputs)
    columns = [_spread(name, value, len(inputs)) for value in given]
    factors = [factor.tolist() if isinstance(factor, Tensor) else factor for factor in scaled.values()]
    keywords = zip(*(_spread(name, factor, len(inputs)) for factor in factors)) if factors else [()] * len(inputs)
    return [(row, dict(zip(scaled, values))) for row, values in zip(zip(inputs, *columns), keywords)]


def _each(name, in_place):
    """The function of lists for the function of tensors, or for the method that writes to them."""
    operands, scale = _OPERANDS[name], _SCALES.get(name)
    short = str(_BOUNDS.get(name, name)) + '_' * in_place
    own: Any = Tensor if in_place else tenon.torch

    def call(inputs, *given, **scaled):
        function = getattr(own, short)
        found = tuple(function(*row, **keywords) for row, keywords in _rows(name, operands, scale, inputs, given, scaled))
        return inputs if in_place else found
    call.__name__ = call.__qualname__ = name + '_' * in_place
    call.__doc__ = f'{name}() of each tensor of a list' + (', written into it.' if in_place else '.')
    return call


globals().update({name + '_' * in_place: _each(name, in_place) for name in _OPERANDS for in_place in (False, True)})


def clone(inputs):
    """A copy of each tensor."""
    return tuple(x.clone() for x in _listed('clone', inputs))


def copy_(inputs, src, non_blocking=False):
    """Writes each tensor of src into the one of inputs at its place."""
    for x, y in zip(_listed('copy_', inputs), _spread('copy_', _listed('copy_', src), len(inputs))):
        x.copy_(y)
    return inputs


def max(inputs):
    """The largest element of each tensor."""
    return tuple(map(tenon.torch.max, _listed('max', inputs)))


def mm(inputs, mat2):
    """The product of each matrix with the one of mat2 at its place."""
    return tuple(tenon.torch.mm(x, y) for x, y in zip(_listed('mm', inputs), _spread('mm', _listed('mm', mat2), len(inputs))))


def norm(inputs, ord=2, dtype=None):
    """The norm of each tensor."""
    return tuple(tenon.torch.linalg.vector_norm(x, ord, dtype=dtype) for x in _listed('norm', inputs))


def zero_(inputs):
    """Zeros in each tensor."""
    for x in _listed('zero_', inputs):
        x.zero_()
    return inputs


def __getattr__(name):
    from ._absent import absent
    raise absent('foreach', name)
