"""Tensors from numbers, lists, arrays and shapes."""
import functools
from collections import deque
from typing import Any

from . import _core
from ._core import Tensor, _from_buffer, _from_capsule, _from_data, ops
from ._errors import DtypeError, InvalidArgumentError, PreconditionError
from ._names import accept_both_names

_full, _full_like, _arange = ops['full'], ops['full_like'], ops['arange']
_uniform, _normal, _cast, _to, _clone = ops['uniform'], ops['normal'], ops['cast'], ops['to'], ops['clone']


def _place(x, dtype, device):
    """x with a dtype and on a device; x itself if it already has both."""
    if dtype is not None:
        dtype = _core.as_dtype(dtype)
        if x.dtype is not dtype:
            x = _cast(x, dtype)
    if device is not None and x.device != (device := _core.device(device)):
        x = _to(x, device)
    return x


def apart(found, x):
    """What was made of x in memory of its own: a copy if it shares memory with x, as a view does."""
    return _clone(found) if found.shares_memory(x) else found


def _of_arrays(obj):
    """Whether nested lists contain arrays, as observations of environments do."""
    for _ in range(64):  # a list may contain itself
        if not isinstance(obj, (list, tuple)) or not obj:
            break
        obj = obj[0]
    return getattr(obj, 'ndim', 0) > 0 and hasattr(obj, '__array_interface__')


def _stacked(obj):
    """Nested lists of arrays of one shape as one tensor, of their common dtype."""
    made = [_stacked(each) if isinstance(each, (list, tuple)) else asarray(each) for each in obj]
    dtype = functools.reduce(_core.promote_types, [x.dtype for x in made])
    return ops['stack']([_place(x, dtype, None) for x in made], 0)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A tensor of numbers, nested lists, or anything with a buffer or DLPack.

    Arrays are shared where possible (``copy=False`` demands it, ``copy=True`` forbids it). Python floats become float32, ints int64.
    Raises TypeError if there are no numbers in it, ValueError for ragged lists.
    """
    if isinstance(obj, Tensor):
        x = _place(obj, dtype, device)
    elif isinstance(obj, (float, int, complex, list, tuple)) and not hasattr(obj, 'dtype'):
        if copy is False:
            raise InvalidArgumentError('[asarray] copy=False, but numbers and lists must be copied')
        try:
            return _from_data(obj, dtype, device)
        except TypeError:
            if not _of_arrays(obj):
                raise
            return _place(_stacked(obj), dtype, device)
    else:
        made = _from_buffer(obj, True if copy else None if copy is None else False)
        if made is None and hasattr(obj, '__dlpack__'):
            try:
                made = from_dlpack(obj, copy=copy)
            except BufferError as error:  # NumPy's, for elements that are no numbers, or have another byte order
                raise DtypeError(f'[asarray] {type(obj).__name__} of dtype {getattr(obj, "dtype", "?")}: {error}') from None
        elif made is None and (array := getattr(obj, '__array__', None)) is not None:
            return asarray(array(), dtype=dtype, device=device, copy=copy)
        if made is None:
            return _from_data(list(obj) if isinstance(obj, (range, deque)) else obj, dtype, device)
        x = _place(made, dtype, device)
        if copy is False and x is not made:
            raise InvalidArgumentError('[asarray] copy=False, but another dtype or device was asked for')
        return x
    if copy and x is obj:
        return _clone(x)
    if copy is False and x is not obj:
        raise InvalidArgumentError('[asarray] copy=False, but another dtype or device was asked for')
    return x


def tensor(data, dtype=None, device=None, requires_grad=False):
    """A new tensor of data, always a copy; a leaf without history."""
    x = asarray(data.detach() if isinstance(data, Tensor) else data, dtype=dtype, device=device, copy=True)
    return x.requires_grad_() if requires_grad else x


def _shape_of(shape, more):
    """shape, or the integers given one by one."""
    return (shape, *more) if more else shape


def full(shape, fill_value, *, dtype=None, device=None):
    """A tensor of one value everywhere; the dtype is that of the value."""
    return _full(shape, fill_value, dtype, device)


def empty(shape, *more, dtype=None, device=None):
    """A tensor with undefined elements, float32 by default."""
    return _core._empty(_shape_of(shape, more), dtype, device)


def zeros(shape, *more, dtype=None, device=None, requires_grad=False):
    """zeros((2, 3)) or zeros(2, 3), float32 by default."""
    x = _full(_shape_of(shape, more), 0, _core.float32 if dtype is None else dtype, device)
    return x.requires_grad_() if requires_grad else x


def ones(shape, *more, dtype=None, device=None, requires_grad=False):
    """ones((2, 3)) or ones(2, 3), float32 by default."""
    x = _full(_shape_of(shape, more), 1, _core.float32 if dtype is None else dtype, device)
    return x.requires_grad_() if requires_grad else x


def empty_like(x, /, *, dtype=None, device=None):
    """Undefined elements in the shape and order of dimensions of x."""
    _check(x, 'empty_like')
    if not x.is_contiguous():
        return zeros_like(x, dtype=dtype, device=device)
    return _core._empty(x.shape, x.dtype if dtype is None else dtype, x.device if device is None else device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros in the shape of x."""
    _check(x, 'zeros_like')
    return _place(_full_like(x, 0, dtype), None, device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones in the shape of x."""
    _check(x, 'ones_like')
    return _place(_full_like(x, 1, dtype), None, device)


def _check(x, name):
    if not isinstance(x, Tensor):
        raise TypeError(f'[{name}] needs a Tensor, not {type(x).__name__}: make it one with tenon.asarray(...)')


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, … below stop; arange(n) starts at 0."""
    if stop is None:
        start, stop = 0, start
    return _arange(start, stop, step, dtype, device)


def rand(shape, *more, dtype=None, device=None, generator=None, requires_grad=False):
    """Uniform in [0, 1)."""
    x = _uniform(_shape_of(shape, more), 0.0, 1.0, dtype, device, generator)
    return x.requires_grad_() if requires_grad else x


def randn(shape, *more, dtype=None, device=None, generator=None, requires_grad=False):
    """Standard normal."""
    x = _normal(_shape_of(shape, more), 0.0, 1.0, dtype, device, generator)
    return x.requires_grad_() if requires_grad else x


def _imported(x: Any, copy):
    """What x exports, a copy if that is asked for. Its work on the memory comes before ours."""
    queue = _core._dlpack_queue(*x.__dlpack_device__()) if hasattr(x, '__dlpack_device__') else None
    options = {} if queue is None else {'stream': queue}
    try:
        capsule = x.__dlpack__(max_version=(1, 1), **options, **({} if copy is None else {'copy': copy}))
    except TypeError:  # a producer older than DLPack 1.0
        made = _from_capsule(x.__dlpack__(**options), copy is not False)
        return _clone(made) if copy else made
    return _from_capsule(capsule, copy is not False)


def _taken(capsule, copy):
    """What a capsule holds. Nobody was asked for an order, so all work on the device is waited for."""
    made = _from_capsule(capsule, copy is not False)
    made.device.synchronize()
    return _clone(made) if copy else made


def from_dlpack(x, /, *, device=None, copy=None):
    """Shares the memory of anything with ``__dlpack__``, or of a capsule; copies if copy=True, or to reach another device.

    Read-only memory becomes a tensor that refuses writes. Bools whose bytes are not 0 or 1 are copied too.
    """
    if type(x).__name__ == 'PyCapsule':
        return _place(_taken(x, copy), None, device)
    if not hasattr(x, '__dlpack__'):
        raise TypeError(f'[from_dlpack] {type(x).__name__} has no __dlpack__')
    away = isinstance(x, Tensor) and (x.device.type != 'cpu' or _core._traced(x))  # its device may have no DLPack code
    if away and x.requires_grad:
        raise PreconditionError('[from_dlpack] the tensor requires a gradient; detach it first')
    made = (_clone if copy else ops['alias'])(x) if away else _imported(x, copy)
    placed = _place(made, None, device)
    if copy is False and placed is not made:
        raise InvalidArgumentError('[from_dlpack] copy=False, but another device was asked for')
    return placed


accept_both_names(globals(), ['full', 'empty_like', 'zeros_like', 'ones_like', 'arange', 'from_dlpack'])
