"""Random numbers. Sequences are tenon's own: a seed repeats them on every device, but they differ from PyTorch's."""
import contextlib
import math
from typing import Any

from .. import _core
from .._core import Tensor, ops
from .._errors import InvalidArgumentError
from ._common import broken, cast, check, defaults, into, rank, shape_of, sizes_of
from .create import device_of, finish, full, laid_like
from .generators import Generator as Generator
from .generators import default_generator


def manual_seed(seed):
    """Seeds the default generator and returns it. A negative seed counts down from 2^64."""
    return default_generator.manual_seed(seed)


def seed():
    """Seeds the default generator randomly and returns the seed."""
    return default_generator.seed()


def _like(function):
    def call(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, generator=None):
        device = check(input).device if device is None else device
        x = laid_like(lambda shape: function(shape, dtype=dtype or input.dtype, device=device, generator=generator), input, memory_format)
        return x.requires_grad_() if requires_grad else x
    call.__name__ = call.__qualname__ = function.__name__ + '_like'
    call.__doc__ = f'{function.__name__}() in the shape of input.'
    return call


def _drawn(op, size, dtype, device, generator):
    """Standard numbers drawn by an op; complex dtypes draw both parts."""
    if dtype is not None and rank(dtype) < 2:
        raise InvalidArgumentError(f'[random] needs a floating or complex dtype, not {dtype}')
    if dtype is not None and rank(dtype) == 3:
        part = _core.float32 if dtype is _core.complex64 else _core.float64
        scale = math.sqrt(0.5) if op is ops['normal'] else 1
        return ops['complex'](*(op(size, 0.0, 1.0, part, device, generator) * scale for _ in range(2)))
    return op(size, 0.0, 1.0, dtype or defaults.dtype, device, generator)


def rand(*given, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Uniform in [0, 1)."""
    return finish(_drawn(ops['uniform'], shape_of(sizes_of(given, size)), dtype, device_of(device), generator), requires_grad, out)


def randn(*given, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Standard normal."""
    return finish(_drawn(ops['normal'], shape_of(sizes_of(given, size)), dtype, device_of(device), generator), requires_grad, out)


rand_like, randn_like = _like(rand), _like(randn)


def randint(low: Any = None, high: Any = None, size: Any = None, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Integers from low to high - 1: randint(high, size) or randint(low, high, size)."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    low = 0 if low is None else low
    if size is None:
        raise TypeError('[randint] argument size is missing')
    if high is None or low >= high:
        raise InvalidArgumentError(f'[randint] from {low} to {high}')
    found = ops['randint'](tuple(size), low, high, _core.int64, device_of(device), generator)
    return finish(cast(found, dtype or _core.int64), requires_grad, out)


def randint_like(input, low, high=None, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """randint() in the shape of input."""
    low, high = (0, low) if high is None else (low, high)
    low, high = (int(each) for each in (low, high))
    device = check(input).device if device is None else device
    x = laid_like(lambda shape: randint(low, high, shape, dtype=dtype or input.dtype, device=device), input, memory_format)
    return x.requires_grad_() if requires_grad else x


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """0, 1, … n - 1 in random order."""
    return finish(cast(ops['randperm'](n, _core.int64, device_of(device), generator), dtype or _core.int64), requires_grad, out)


def bernoulli(input, p=None, *, generator=None, out=None):
    """1 with the probability given by each element, else 0."""
    if p is not None:
        input = full(check(input).shape, p, dtype=input.dtype if rank(input.dtype) == 2 else defaults.dtype, device=input.device)
    if rank(check(input).dtype) != 2 or broken((input < 0) | (input > 1)):
        raise InvalidArgumentError('[bernoulli] needs probabilities from 0 to 1')
    return into(out, cast(ops['bernoulli'](input.detach(), generator), input.dtype))


def normal(mean: Any = 0.0, std: Any = 1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Normal numbers with mean and std, which are tensors or numbers; for two numbers in a given size."""
    if not isinstance(std, Tensor) and std < 0 or isinstance(std, Tensor) and broken(std < 0):
        raise InvalidArgumentError('[normal] std must not be negative')
    if size is not None:
        return finish(randn(*size, generator=generator, dtype=dtype, device=device) * std + mean, requires_grad, out)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise TypeError('[normal] of two numbers needs size=')
    scale = (mean * 0 + std).detach()
    return finish(randn(scale.shape, generator=generator, dtype=scale.dtype, device=scale.device) * scale + (mean.detach() if isinstance(mean, Tensor) else mean),
                  requires_grad, out)


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """num_samples indices drawn by weights (n,), or for each row of (m, n)."""
    if check(input).ndim not in (1, 2) or rank(input.dtype) != 2:
        raise InvalidArgumentError(f'[multinomial] needs weights (n,) or (m, n), not {input.dtype} of shape {input.shape}')
    n = input.shape[-1]
    if num_samples <= 0 or (not replacement and num_samples > n):
        raise InvalidArgumentError(f'[multinomial] {num_samples} of {n}')
    x = input.detach()
    if broken((x < 0) | ~ops['isfinite'](x)) or broken(ops['sum'](x, -1) <= 0):
        raise InvalidArgumentError('[multinomial] weights must be finite, not negative, and not all 0')
    if replacement:
        ends = ops['cumsum'](x, -1)
        draw = _uniform((*x.shape[:-1], num_samples), x, generator) * ops['slice'](ends, -1, n - 1, n)
        found = ops['searchsorted'](ends, draw, True)
        found = ops['clamp'](found, 0, n - 1)
    else:  # the smallest exponential times with these rates
        times = -ops['log'](1 - _uniform(x.shape, x, generator)) / x
        found = ops['slice'](ops['argsort'](times, -1, False, True), -1, 0, num_samples)
    return into(out, ops['contiguous'](cast(found, _core.int64)), True)


def _uniform(shape, x, generator=None):
    """Uniform numbers with the dtype and device of x."""
    return ops['uniform'](shape, 0.0, 1.0, x.dtype, x.device, generator)


def get_rng_state():
    """The state of the default generator: bytes, as a tensor of uint8 on the host."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Sets the default generator to a state from get_rng_state()."""
    default_generator.set_state(new_state)


def initial_seed():
    """The seed of the default generator."""
    return default_generator.initial_seed()


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type='cuda'):
    """Draws in this scope do not affect later ones."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


def thread_safe_generator():
    """None: workers of a DataLoader are processes, each with a default generator of its own."""
