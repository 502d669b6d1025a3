"""Tensors made from numbers, shapes and data."""
import functools
import math
from typing import Any

from .. import _core
from .._core import ops
from .._creation import asarray as _asarray
from .._creation import tensor as _tensor
from .._errors import DtypeError, InvalidArgumentError
from ._common import Tensor, cast, check, defaults, into, number_dtype, rank, shape_of, sizes_of

_full, _full_like = ops['full'], ops['full_like']


class layout(str):
    """How a tensor lies in memory, by name."""

    __slots__ = ()
    __repr__ = str.__str__


class memory_format(layout):
    """An order of dimensions in memory, by name."""

    __slots__ = ()


strided, contiguous_format, preserve_format = layout('torch.strided'), memory_format('torch.contiguous_format'), memory_format('torch.preserve_format')
sparse_coo, sparse_csr, sparse_csc = layout('torch.sparse_coo'), layout('torch.sparse_csr'), layout('torch.sparse_csc')
channels_last, channels_last_3d = memory_format('torch.channels_last'), memory_format('torch.channels_last_3d')
_CHANNELS = {channels_last: 4, channels_last_3d: 5}  # the rank of tensors in these formats


def order_of(memory_format, ndim):
    """Dimensions from the slowest to the fastest in memory; None for row-major, or for formats that change nothing."""
    if memory_format in (None, contiguous_format, preserve_format):
        return None
    if memory_format not in _CHANNELS:
        raise TypeError(f'[memory_format] {memory_format!r} is not one of torch.contiguous_format, preserve_format, channels_last, '
                        'channels_last_3d')
    if ndim != _CHANNELS[memory_format]:
        raise InvalidArgumentError(f'[memory_format] {memory_format} needs rank {_CHANNELS[memory_format]}, not {ndim}')
    return (0, *range(2, ndim), 1)


def _ordered(make, shape, order):
    """make(shape) with its dimensions in this order in memory, the slowest first; None is the order of rows."""
    if order is None:
        return make(shape)
    return ops['permute'](make(tuple(shape[d] for d in order)), tuple(order.index(d) for d in range(len(order))))


def laid_like(make, input, memory_format):
    """make(shape) in the shape of input and, unless a format is asked for, in its order of dimensions."""
    is_kept = memory_format in (None, preserve_format) and not input.is_contiguous() and 0 not in input.strides
    return _ordered(make, input.shape, input.dim_order() if is_kept else order_of(memory_format, input.ndim))


def device_of(device):
    """PyTorch's 'cpu', 'cuda:1' or a number in the form that tenon accepts; None is the default device."""
    if device is None:
        return defaults.device
    return f'cuda:{device}' if isinstance(device, int) and not isinstance(device, bool) else device


def finish(x, requires_grad, out=None):
    """Applied to the result of each function here."""
    x = into(out, x)
    return x.requires_grad_() if requires_grad else x


def _sizes(size, more=()) -> Any:
    size = shape_of((size, *more)) if not isinstance(size, (tuple, list)) or more else tuple(size)
    if size and min(size) < 0:
        raise InvalidArgumentError(f'[size] a size of {size} is negative')
    return size


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor of numbers, lists, arrays or tensors; always a copy."""
    return _tensor(data, _dtype_of(data, dtype), _device_for(data, device), requires_grad)


def _device_for(data, device):
    """The device for a tensor made from data: tensors stay where they are."""
    return None if device is None and isinstance(data, Tensor) else device_of(device)


def _dtype_of(data, dtype):
    """dtype, or that of NumPy scalars among the numbers, or for Python floats the default dtype unless it is tenon's float32."""
    if dtype is not None:
        return dtype
    scalars = _scalar_dtypes(data)
    if scalars:
        return functools.reduce(_core.promote_types, scalars)
    if defaults.dtype is not _core.float32 and isinstance(data, (float, complex, list, tuple)):
        plain = _tensor(data).dtype
        return defaults.dtype if plain is _core.float32 else defaults.complex if plain is _core.complex64 else None
    return None


def _scalar_dtypes(data):
    """The dtypes of nested numbers whose first row has a NumPy scalar: its float64 is also a Python float, but keeps its dtype."""
    row = data
    for _ in range(64):  # a list may contain itself
        if not isinstance(row, (list, tuple)) or not row or not isinstance(row[0], (list, tuple)):
            break
        row = row[0]
    kinds = set(map(type, row)) if isinstance(row, (list, tuple)) else {type(row)}
    if not any(kind.__module__ == 'numpy' and hasattr(kind, 'itemsize') and kind.__name__ != 'ndarray' for kind in kinds):
        return ()
    leaves = list(_leaves(data))
    if any(getattr(x, 'ndim', 0) for x in leaves):
        return ()
    return {_core.as_dtype(str(x.dtype).removeprefix('torch.')) if hasattr(x, 'dtype') else number_dtype(x) for x in leaves}


def _leaves(data):
    if isinstance(data, (list, tuple)):
        for each in data:
            yield from _leaves(each)
    else:
        yield data


def as_tensor(data, dtype=None, device=None):
    """A tensor of data that shares its memory if possible."""
    if isinstance(data, Tensor) and dtype is None and device is None:
        return data
    return _asarray(data, dtype=_dtype_of(data, dtype), device=_device_for(data, device))


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """A tensor of obj that shares its memory if possible; copy=True always copies, copy=False raises if it would have to. Gradients flow
    to a tensor unless requires_grad=False.
    """
    x = _asarray(obj, dtype=_dtype_of(obj, dtype), device=_device_for(obj, device), copy=copy)
    if requires_grad is False:
        return x.detach()
    return x.requires_grad_() if requires_grad and not x.requires_grad else x


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """`count` elements (-1: all) of an object with a buffer, from byte `offset` on; shares the memory."""
    view = memoryview(buffer).cast('B')
    rest = len(view) - offset
    if not len(view) or not 0 <= offset < len(view) or count == 0 or count < -1:
        raise InvalidArgumentError(f'[frombuffer] count {count} from offset {offset} of {len(view)} bytes')
    if count == -1 and rest % dtype.itemsize or count * dtype.itemsize > rest:
        raise InvalidArgumentError(f'[frombuffer] {rest} bytes do not hold {"whole elements" if count == -1 else f"{count} elements"} of {dtype}')
    if dtype.name not in _FORMATS:
        raise DtypeError(f"[frombuffer] Python's buffers have no {dtype}: the dtype is one of {', '.join(_FORMATS)}")
    x = _asarray(view[offset:offset + (rest if count == -1 else count * dtype.itemsize)].cast(_FORMATS[dtype.name]))
    return x.requires_grad_() if requires_grad else x


_FORMATS: dict[str, Any] = {'bool': '?', 'uint8': 'B', 'int8': 'b', 'int16': 'h', 'uint16': 'H', 'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q',
            'float32': 'f', 'float64': 'd'}


def from_file(filename, shared=False, size=0, *, dtype=None, layout=None, device=None, pin_memory=False):
    """The first `size` elements of a file, mapped into memory; with shared=True writes reach the file."""
    import mmap
    dtype = dtype or defaults.dtype
    with open(filename, 'r+b' if shared else 'rb') as file:
        memory = mmap.mmap(file.fileno(), size * dtype.itemsize, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    return frombuffer(memory, dtype=dtype)


def from_numpy(ndarray):
    """A tensor that shares the memory of a NumPy array."""
    if not hasattr(ndarray, '__array_interface__'):
        raise TypeError(f'[from_numpy] needs an array of NumPy, not {type(ndarray).__name__}: use torch.tensor')
    return _asarray(ndarray, copy=False)


def scalar_tensor(s, *, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False):
    """A number as a tensor of rank 0, by default of the default dtype."""
    return finish(ops['full']((), s, dtype or defaults.dtype, device_of(device)), requires_grad)


def check_strided(name, layout):
    """Refuses the layouts of sparse tensors."""
    if layout not in (None, strided):
        raise InvalidArgumentError(f'[{name}] makes dense tensors, not those of layout {layout}: see torch.sparse_coo_tensor and to_sparse()')


def _filling(name, value):
    def call(*given, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, names=None):
        size = given if size is None else sizes_of(given, size)
        size = _sizes(size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)
        if out is layout is device is None:
            x = _full(size, value, dtype or defaults.dtype, defaults.device)
            return x.requires_grad_() if requires_grad else x
        if layout == sparse_coo and value == 0:
            from .sparse import sparse_coo_tensor
            return sparse_coo_tensor(size, dtype=dtype, device=device, requires_grad=requires_grad)
        check_strided(name, layout)
        dtype = dtype or (defaults.dtype if out is None else out.dtype)
        return finish(ops['full'](size, value, dtype, device_of(device)), requires_grad, out)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'{name}(2, 3) or {name}((2, 3)), the default dtype unless told.'
    return call


zeros, ones = _filling('zeros', 0), _filling('ones', 1)


def empty(*given, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None):
    """A tensor of undefined elements, by default of the default dtype."""
    check_strided('empty', layout)
    if out is None:
        size = _sizes(shape_of(sizes_of(given, size)))
        out = _ordered(lambda shape: _core._empty(shape, dtype or defaults.dtype, device_of(device)), size, order_of(memory_format, len(size)))
    return out.requires_grad_() if requires_grad else out


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Undefined elements in a shape with strides."""
    if len(size) != len(stride) or any(n < 0 for n in (*size, *stride)):
        raise InvalidArgumentError(f'[empty_strided] size {tuple(size)} and stride {tuple(stride)} do not fit')
    count = 1 + sum((n - 1) * step for n, step in zip(size, stride)) if all(size) else 0
    x = ops['as_strided'](empty(count, dtype=dtype, device=device), tuple(size), tuple(stride))
    return x.requires_grad_() if requires_grad else x


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Undefined elements with dimensions in another order in memory."""
    if sorted(physical_layout) != list(range(len(size))):
        raise InvalidArgumentError(f'[empty_permuted] {tuple(physical_layout)} is not an order of {len(size)} dimensions')
    stride, step = [0] * len(size), 1
    for d in reversed(physical_layout):
        stride[d], step = step, step * max(size[d], 1)
    return empty_strided(size, stride, dtype=dtype, device=device, requires_grad=requires_grad)


def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """One value in a shape; dtype defaults to that of the value."""
    check_strided('full', layout)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    dtype = dtype or (out.dtype if out is not None else number_dtype(fill_value))
    return finish(ops['full'](_sizes(size), fill_value, dtype, device_of(device)), requires_grad, out)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """One value in the shape of input."""
    device = check(input).device if device is None else device
    x = laid_like(lambda shape: full(shape, fill_value, dtype=dtype or input.dtype, device=device), input, memory_format)
    return x.requires_grad_() if requires_grad else x


def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Zeros in the shape of input."""
    if dtype is layout is device is memory_format is None and isinstance(input, Tensor):
        x = _full_like(input, 0)
        return x.requires_grad_() if requires_grad else x
    return full_like(input, 0, dtype=dtype, device=device, requires_grad=requires_grad, memory_format=memory_format)


def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Ones in the shape of input."""
    return full_like(input, 1, dtype=dtype, device=device, requires_grad=requires_grad, memory_format=memory_format)


def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Undefined elements in the shape of input."""
    device = check(input).device if device is None else device
    x = laid_like(lambda shape: empty(shape, dtype=dtype or input.dtype, device=device), input, memory_format)
    return x.requires_grad_() if requires_grad else x


def new_zeros(input, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Zeros with the dtype and device of input."""
    return new_full(input, shape_of(size), 0, dtype=dtype, device=device, requires_grad=requires_grad)


def new_ones(input, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Ones with the dtype and device of input."""
    return new_full(input, shape_of(size), 1, dtype=dtype, device=device, requires_grad=requires_grad)


def new_full(input, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """One value with the dtype and device of input."""
    return full(size, fill_value, dtype=dtype or input.dtype, device=input.device if device is None else device, requires_grad=requires_grad)


def new_empty(input, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Undefined elements with the dtype and device of input."""
    return empty(*size, dtype=dtype or input.dtype, device=input.device if device is None else device, requires_grad=requires_grad)


def new_empty_strided(input, size, stride, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Undefined elements with strides, and the dtype and device of input."""
    return empty_strided(size, stride, dtype=dtype or input.dtype, device=input.device if device is None else device, requires_grad=requires_grad)


def arange(start: Any = None, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """start, start + step, … below end; arange(n) starts at 0."""
    if end is None:
        if type(start) is int and start >= 0 and step == 1 and out is dtype is device is None and not requires_grad:
            return ops['arange'](0, start, 1, _core.int64, defaults.device)
        start, end = 0, start
    if end is None:
        raise TypeError('[arange] argument end is missing')
    start = 0 if start is None else start
    if step == 0 or not all(math.isfinite(each) for each in (start, end, step)) or (end - start) * step < 0:
        raise InvalidArgumentError(f'[arange] from {start} to {end} by {step}')
    dtype = dtype or (out.dtype if out is not None else None)
    if dtype is None:
        floating = any(isinstance(each, float) or isinstance(each, Tensor) and rank(each.dtype) == 2 for each in (start, end, step))
        dtype = defaults.dtype if floating else _core.int64
    count = math.ceil((end - start) / step)
    if rank(dtype) < 2:
        start, step = int(start), int(step)
    found = ops['arange'](0, count, 1, _core.int64 if rank(dtype) < 2 else _core.float64, device_of(device)) * step + start
    return finish(cast(found, dtype), requires_grad, out)


def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """steps evenly spaced numbers from start to end."""
    start, end = _ends(start, end, steps)
    if dtype is None:
        dtype = out.dtype if out is not None else defaults.complex if any(isinstance(each, complex) for each in (start, end)) else defaults.dtype
    from .._array_api.shapes import linspace as spaced
    if rank(dtype) == 3:
        found = spaced(complex(start), complex(end), steps, dtype=dtype, device=device_of(device))
    else:
        if isinstance(start, complex) or isinstance(end, complex):
            raise DtypeError(f'[linspace] complex bounds do not fit dtype {dtype}')
        if rank(dtype) < 2:
            start, end = int(start), int(end)
        found = _steps(start, end, steps, device)
        found = cast(ops['trunc'](found) if rank(dtype) < 2 else found, dtype)
    return finish(found, requires_grad, out)


def _steps(start, end, steps, device):
    """Evenly spaced numbers in float64, counted from the nearer end so that both ends are exact."""
    at = ops['arange'](0, steps, 1, _core.float64, device_of(device))
    if _core._trace_active():  # whatever the ends are of a size, the step follows from them there
        start, end, gaps = (ops['full']((), float(each), _core.float64, device_of(device)) for each in (start, end, max(steps - 1, 1)))
        step = (end - start) / gaps
    else:
        step = (end - start) / (steps - 1) if steps > 1 else 0
    return ops['where'](at < max(steps // 2, 1), start + at * step, end - (steps - 1 - at) * step)


def _ends(start, end, steps) -> Any:
    for each in (start, end):
        if isinstance(each, Tensor) and each.ndim:
            raise InvalidArgumentError('[linspace] bounds must be numbers or of rank 0')
    if isinstance(steps, bool) or not hasattr(steps, '__index__'):
        raise TypeError(f'[linspace] steps must be an int, not {type(steps).__name__}')
    if steps < 0:
        raise InvalidArgumentError(f'[linspace] {steps} steps')
    return (each.item() if isinstance(each, Tensor) else each for each in (start, end))


def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """base raised to evenly spaced powers from start to end."""
    start, end = _ends(start, end, steps)
    is_complex = any(isinstance(each, complex) for each in (start, end, base))
    dtype = dtype or (out.dtype if out is not None else defaults.complex if is_complex else defaults.dtype)
    wide = _core.complex128 if rank(dtype) == 3 else _core.float64
    if rank(dtype) < 2:
        start, end = int(start), int(end)
    powers = linspace(start, end, steps, dtype=wide, device=device)
    found = ops['pow'](ops['full']((), base, wide, device_of(device)), powers)
    return finish(cast(ops['trunc'](found) if rank(dtype) < 2 else found, dtype), requires_grad, out)


def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Ones on the diagonal, zeros elsewhere."""
    m = n if m is None else m
    if n < 0 or m < 0:
        raise InvalidArgumentError(f'[eye] {n} rows and {m} columns')
    return finish(ops['eye'](n, m, 0, dtype or (out.dtype if out is not None else defaults.dtype), device_of(device)), requires_grad, out)
