"""torch.testing: compares tensors, and makes them for tests."""
import warnings

from .. import _core
from .._core import Tensor, ops
from .._errors import InvalidArgumentError
from ..testing import assert_close as _assert_close
from ._common import rank, shape_of
from .create import device_of, tensor

__all__ = ['assert_allclose', 'assert_close', 'make_tensor']


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True,
                 check_layout=True, check_stride=False, msg=None):
    """Raises AssertionError if two tensors, numbers, or lists and dicts of them are not close.

    Close means |actual - expected| ≤ atol + rtol · |expected|, by default with the dtype's tolerances; msg: a text, or a function of
    the text.
    """
    if check_stride and isinstance(actual, Tensor) and isinstance(expected, Tensor) and actual.strides != expected.strides:
        raise AssertionError(f'strides {actual.strides} and {expected.strides} differ')
    try:
        _assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype,
                      msg=None if callable(msg) else msg)
    except AssertionError as error:
        if callable(msg):
            raise AssertionError(msg(str(error))) from None
        raise


_TOLERANCES = {_core.float16: (1e-3, 1e-3), _core.float32: (1e-4, 1e-5), _core.float64: (1e-5, 1e-8)}


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=''):
    """Deprecated: assert_close() of values alone, with wider tolerances."""
    warnings.warn('[assert_allclose] is deprecated: use assert_close', FutureWarning, stacklevel=2)
    actual = actual if isinstance(actual, Tensor) else tensor(actual)
    expected = expected if isinstance(expected, Tensor) else tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = (max(each) for each in zip(*(_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (actual, expected))))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False,
                memory_format=None):
    """Random elements from low to high, by default -9 and 9 (unsigned: 0 and 9, bool: 0 and 1)."""
    size = shape_of(shape)
    kind = rank(dtype)
    least, most = (0, 2) if kind == 0 else (-9, 10) if kind == 1 and dtype.is_signed else (0, 10) if kind == 1 else (-9, 9)
    low, high = least if low is None else low, most if high is None else high
    if low >= high:
        raise InvalidArgumentError(f'[make_tensor] low {low} must be below high {high}')
    if requires_grad and kind < 2:
        raise InvalidArgumentError(f'[make_tensor] {dtype} has no gradient')
    wide = (*size[:-1], 2 * size[-1]) if noncontiguous and size else size
    x = _drawn(wide, low, high, dtype, device_of(device))
    if exclude_zero:
        x = ops['where'](x == 0, ops['full_like'](x, 1 if kind < 2 else 2.0 ** -10), x)
    x = ops['slice'](x, -1, 0, None, 2) if wide != size else x
    return x.requires_grad_() if requires_grad else x


def _drawn(shape, low, high, dtype, device):
    if rank(dtype) < 2:
        return ops['cast'](ops['randint'](shape, int(low), int(high), _core.int64, device), dtype)
    if rank(dtype) == 2:
        return ops['cast'](ops['uniform'](shape, float(low), float(high), None if dtype is not _core.float64 else dtype, device), dtype)
    part = _core.float64 if dtype is _core.complex128 else _core.float32
    return ops['complex'](*(ops['uniform'](shape, float(low), float(high), part, device) for _ in range(2)))


def __getattr__(name):
    from ._absent import absent
    raise absent('testing', name)
