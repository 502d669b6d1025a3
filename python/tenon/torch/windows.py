"""Windows: hann_window and the others of torch, and those of torch.signal.windows."""
import functools
import math

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError
from ._common import cast, defaults
from .create import check_strided, device_of, finish


def _dense(window):
    """A window whose layout argument is checked."""
    @functools.wraps(window)
    def call(*args, layout=None, **kwargs):
        check_strided(window.__name__, layout)
        return window(*args, **kwargs)
    return call


def _window(size, sym, dtype, device, requires_grad, formula):
    """The formula at 0, 1, … size - 1 and the last place, in float64; periodic windows lack their last entry."""
    dtype = dtype or defaults.dtype
    if size < 0 or dtype not in (_core.float32, _core.float64):
        raise InvalidArgumentError(f'[window] of {size} entries and dtype {dtype}')
    at = ops['arange'](0, size, 1, _core.float64, device_of(device))
    last = size - 1 if sym else size
    found = formula(at, last) if size > 1 else at * 0 + 1
    return finish(cast(found, dtype), requires_grad)


def _cosines(at, last, parts):
    found = at * 0 + parts[0]
    for k, part in enumerate(parts[1:], 1):
        found = found + (-1) ** k * part * ops['cos'](at * (2 * math.pi * k / last))
    return found


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A sum of cosines with weights a and alternating signs."""
    if not a:
        raise InvalidArgumentError('[general_cosine] a must not be empty')
    return _window(M, sym, dtype, device, requires_grad, lambda at, last: _cosines(at, last, list(a)))


def _cosine_window(name, *parts):
    def call(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
        return general_cosine(M, a=parts, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'The {name} window of M entries.'
    return call


hann, hamming, blackman = _cosine_window('hann', 0.5, 0.5), _cosine_window('hamming', 0.54, 0.46), _cosine_window('blackman', 0.42, 0.5, 0.08)
nuttall = _cosine_window('nuttall', 0.3635819, 0.4891775, 0.1365995, 0.0106411)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos."""
    return general_cosine(M, a=(alpha, 1 - alpha), sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A triangle."""
    return _window(M, sym, dtype, device, requires_grad, lambda at, last: 1 - ops['abs'](at * 2 / last - 1))


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Half a wave of the sine."""
    return _window(M, sym, dtype, device, requires_grad, lambda at, last: ops['sin']((at + 0.5) * (math.pi / (last + 1))))


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """exp(-|n - center| / tau)."""
    if tau <= 0 or (sym and center is not None):
        raise InvalidArgumentError('[exponential] tau must be positive, and center is for sym=False')
    return _window(M, sym, dtype, device, requires_grad,
                   lambda at, last: ops['exp'](ops['abs'](at - (last / 2 if center is None else center)) * (-1 / tau)))


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A bell curve with standard deviation std."""
    if std <= 0:
        raise InvalidArgumentError(f'[gaussian] std {std} must be positive')
    return _window(M, sym, dtype, device, requires_grad, lambda at, last: ops['exp'](((at - last / 2) / std) ** 2 * -0.5))


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Kaiser window."""
    if beta < 0:
        raise InvalidArgumentError(f'[kaiser] beta {beta} must not be negative')
    return _window(M, sym, dtype, device, requires_grad,
                   lambda at, last: _bessel(beta * ops['sqrt'](ops['clamp'](1 - (at * 2 / last - 1) ** 2, 0))) / _bessel(at * 0 + beta))


def _bessel(x):
    """I₀ by its series, which is exact to float64 for the betas of windows."""
    term = total = x * 0 + 1
    quarter = x * x / 4
    for k in range(1, 60):
        term = term * quarter / (k * k)
        total = total + term
    return total


def _of_torch(name, window, *first):
    """The form of torch itself: periodic by default, with numbers by position."""
    def call(window_length, periodic=True, *more, dtype=None, layout=None, device=None, requires_grad=False, **named):
        given = dict(zip(first, more)) | named
        return window(window_length, sym=not periodic, dtype=dtype, device=device, requires_grad=requires_grad, **given)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'The {window.__name__} window, periodic unless told.'
    return call


hann_window, blackman_window = _of_torch('hann_window', hann), _of_torch('blackman_window', blackman)
bartlett_window = _of_torch('bartlett_window', bartlett)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, requires_grad=False):
    """alpha - beta cos, periodic by default."""
    return general_cosine(window_length, a=(alpha, beta), sym=not periodic, dtype=dtype, device=device, requires_grad=requires_grad)


kaiser_window = _of_torch('kaiser_window', kaiser, 'beta')

globals().update({name: _dense(found) for name, found in globals().items() if name[0] != '_' and getattr(found, '__module__', '') == __name__})
