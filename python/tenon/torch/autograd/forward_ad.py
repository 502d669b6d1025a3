"""torch.autograd.forward_ad: tensors with tangents; ops compute derivatives in that direction along with the values."""
import contextlib
import threading
from collections import namedtuple

from ..._errors import InvalidArgumentError
from ..._forward import Level
from ..._forward.call import is_differentiable
from .._common import absent

__all__ = ['UnpackedDualTensor', 'dual_level', 'enter_dual_level', 'exit_dual_level', 'make_dual', 'unpack_dual']

UnpackedDualTensor = namedtuple('UnpackedDualTensor', 'primal tangent')
_threads = threading.local()


def _levels():
    if not hasattr(_threads, 'levels'):
        _threads.levels = []
    return _threads.levels


def enter_dual_level():
    """Begins a level in which tensors may have tangents and returns its number. Levels may be nested."""
    levels = _levels()
    levels.append(Level().__enter__())
    return len(levels) - 1


def exit_dual_level(*, level=None):
    """Ends the newest level: its tangents are gone."""
    levels = _levels()
    if not levels or level not in (None, len(levels) - 1):
        raise RuntimeError(f'[exit_dual_level] level {level} is not the newest one, {len(levels) - 1}')
    levels.pop().__exit__()


@contextlib.contextmanager
def dual_level():
    """A scope in which tensors may have tangents.

    >>> import tenon.torch as torch, tenon.torch.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     fwAD.unpack_dual(x * x).tangent.item()
    6.0
    """
    level = enter_dual_level()
    try:
        yield level
    finally:
        exit_dual_level(level=level)


def _level(where, number):
    levels = _levels()
    number = len(levels) - 1 if number is None else number
    if number < 0:
        raise RuntimeError(f'[{where}] needs a level: use it within torch.autograd.forward_ad.dual_level()')
    if number >= len(levels):
        raise RuntimeError(f'[{where}] level {number} does not exist: there are {len(levels)}')
    return levels[number]


def make_dual(tensor, tangent, *, level=None):
    """A tensor with the elements and history of `tensor` whose derivative is `tangent`, of the same shape, dtype and device."""
    found = _level('make_dual', level)
    for name, x in (('tensor', tensor), ('tangent', tangent)):
        if not is_differentiable(x):
            what = x.dtype if hasattr(x, 'dtype') else type(x).__name__
            raise InvalidArgumentError(f'[make_dual] expects {name} to be a floating or complex Tensor, not {what}')
    if tensor.shape != tangent.shape or tensor.dtype != tangent.dtype or tensor.device != tangent.device:
        raise RuntimeError(f'[make_dual] a tangent {tangent.dtype} {tuple(tangent.shape)} on {tangent.device} for a tensor {tensor.dtype} '
                           f'{tuple(tensor.shape)} on {tensor.device}')
    if found.tangent(tensor) is not None:
        raise RuntimeError('[make_dual] the tensor has a tangent at this level: unpack_dual() it before')
    return found.dual(tensor, tangent)


def unpack_dual(tensor, *, level=None):
    """(primal, tangent) of a tensor; the tangent is None if it is zero, and outside of all levels."""
    if not _levels():
        return UnpackedDualTensor(tensor, None)
    found = _level('unpack_dual', level)
    tangent = found.tangent(tensor)
    return UnpackedDualTensor(tensor if tangent is None else found.primal(tensor), tangent)


__getattr__ = absent(__name__, {})
