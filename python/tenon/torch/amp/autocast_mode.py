"""autocast, a layer over the calls of a thread (tenon/amp/autocast.hpp); docs/ops.md says which ops compute in which precision."""
import functools
import threading
import warnings
from typing import Any

from ... import _core
from ..._errors import InvalidArgumentError
from ..func.trees import tree_map
from ..modes import device

__all__ = ['autocast', 'custom_bwd', 'custom_fwd', 'is_autocast_available']

_HALVES = _core.bfloat16, _core.float16
_threads: Any = threading.local()  # scopes: (kind of device, dtype) of those that this thread is in
# Autocast's default dtype by kind of device; float16 for the others.
_dtypes = {'cpu': _core.bfloat16}
_cache = [True]


@functools.lru_cache
def _kind(device_type):
    return device(device_type).type


def _check(device_type):
    if not isinstance(device_type, str):
        raise InvalidArgumentError(f'[autocast] device_type is a str such as "cuda", not {type(device_type).__name__}')
    return _kind(device_type)


def is_autocast_available(device_type):
    """Whether there is a device of this kind."""
    kind = _check(device_type)
    return any(device.type == kind for device in _core.devices())


def get_autocast_dtype(device_type):
    """Autocast's dtype on this kind of device: that of the scope, or the default."""
    kind = _check(device_type)
    dtype, enabled, _ = _core._get_autocast(kind)
    if enabled:
        return _core.as_dtype(dtype)
    scopes = getattr(_threads, 'scopes', None) or []
    return next((dtype for of, dtype in reversed(scopes) if of == kind), _dtypes.get(kind, _core.float16))


def set_autocast_dtype(device_type, dtype):
    """Sets autocast's dtype on this kind of device, as the default and for the current scope."""
    kind = _check(device_type)
    if dtype not in _HALVES:
        raise RuntimeError(f'[set_autocast_dtype] dtype is {dtype}, must be bfloat16 or float16')
    _dtypes[kind] = dtype
    if is_autocast_enabled(kind):
        _core._set_autocast(kind, dtype.name, True, _cache[0])


def is_autocast_enabled(device_type='cuda'):
    """Whether autocast is on for this kind of device on this thread."""
    return _core._get_autocast(_check(device_type))[1]


def set_autocast_enabled(device_type, enabled=None):
    """Switches autocast on or off on this thread, outside of scopes; a single argument refers to "cuda"."""
    if enabled is None:
        device_type, enabled = 'cuda', device_type
    kind = _check(device_type)
    _core._set_autocast(kind, get_autocast_dtype(kind).name, bool(enabled), _cache[0])


def is_autocast_cache_enabled():
    """Whether scopes keep casts of parameters by default."""
    return _cache[0]


def set_autocast_cache_enabled(enabled):
    """Sets whether scopes keep casts of parameters by default."""
    _cache[0] = bool(enabled)


def clear_autocast_cache():
    """Drops the casts of parameters that this thread keeps."""
    _core._clear_autocast_cache()


class autocast:
    """A scope, or a decorator: ops on devices of a kind compute in the precision that suits them.

    Products, convolutions and attention run in `dtype` (bfloat16 on the CPU, float16 elsewhere), losses in float32, and on GPUs also
    exponentials, norms and sums; float64 stays. Casts of parameters are kept until the outermost scope ends. Call backward() outside.

    >>> import tenon.torch as torch
    >>> with torch.autocast('cpu'):
    ...     y = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> y.dtype
    tenon.bfloat16
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device = _check(device_type)
        self.fast_dtype = dtype if dtype is not None else get_autocast_dtype(self.device)
        self._cache_enabled = _cache[0] if cache_enabled is None else bool(cache_enabled)
        self._enabled = bool(enabled)
        if self._enabled and not is_autocast_available(self.device):
            warnings.warn(f'[autocast] there is no device of kind {self.device!r}: this scope changes nothing', stacklevel=2)
            self._enabled = False
        if self._enabled and self.fast_dtype not in _HALVES:
            warnings.warn(f'[autocast] dtype is {self.fast_dtype}, must be bfloat16 or float16: this scope changes nothing', stacklevel=2)
            self._enabled = False
        self._scopes = []

    def __enter__(self):
        scope = _core._Autocast()
        dtype = self.fast_dtype if self.fast_dtype in _HALVES else _core.bfloat16
        scope.enter(self.device, dtype.name, self._enabled, self._cache_enabled)
        self._scopes.append(scope)
        _threads.scopes = [*getattr(_threads, 'scopes', ()), (self.device, self.fast_dtype)]
        return self

    def __exit__(self, *raised):
        self._scopes.pop().leave()
        _threads.scopes.pop()
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return wrapped


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """For forward() of an autograd.Function, whose backward() gets the same autocast through custom_bwd; cast_inputs: casts floating
    inputs to this dtype and switches autocast off inside."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    def cast(x):
        floating = isinstance(x, _core.Tensor) and x.dtype.is_floating_point and x.dtype is not _core.float64
        return x.to(cast_inputs) if floating and x.device.type == device_type else x

    @functools.wraps(fwd)
    def wrapped(*args, **kwargs):
        ctx = args[0]
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(*args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(*(tree_map(cast, x) for x in args), **{key: tree_map(cast, x) for key, x in kwargs.items()})
    return wrapped


def custom_bwd(bwd=None, *, device_type):
    """For backward() of an autograd.Function whose forward() has custom_fwd: runs with the autocast of forward()."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapped(*args, **kwargs):
        with autocast(device_type, args[0]._dtype, args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)
    return wrapped
