"""The memory of a tensor read as another dtype."""
from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError


def shares_memory_now(x):
    """Whether a tensor of other elements can share the memory of x: nothing stands between x and its memory, and no gradient flows."""
    return not (_core._trace_active() or _core._inside_vmap() or _core._has_tangents() or x.requires_grad and _core._get_modes() & 1)


_REAL = {_core.complex64: _core.float32, _core.complex128: _core.float64}
_COMPLEX = {real: made for made, real in _REAL.items()}


def parts(x):
    """Complex numbers as pairs of real ones, or pairs, (…, 2), as complex numbers, in the memory of x; None where they cannot share it."""
    if not shares_memory_now(x):
        return None
    if x.dtype in _REAL:
        return shown(x, _REAL[x.dtype], (*x.shape, 2), (*(2 * step for step in x.strides), 1), 0)
    if x.dtype not in _COMPLEX or x.strides[-1] != 1 or x.storage_offset() % 2 or any(step % 2 for step in x.strides[:-1]):
        return None
    return shown(x, _COMPLEX[x.dtype], tuple(x.shape[:-1]), tuple(step // 2 for step in x.strides[:-1]), 0)


def part(x, name):
    """The 'real' or 'imag' part of complex numbers, in their memory where it can be shared."""
    if not shares_memory_now(x):
        return ops[name](x)
    dtype = _REAL[x.dtype]
    return shown(x, dtype, tuple(x.shape), tuple(2 * step for step in x.strides), dtype.itemsize if name == 'imag' else 0)


def _name(dtype):
    from .legacy import NAMES
    return str(NAMES.get(dtype, dtype.name)).removesuffix('Tensor')


def shown(x, dtype, shape, strides, offset):
    """The memory of x in another form; on meta, which has none, a new tensor."""
    return _core._empty(shape, dtype, x.device) if x.device.type == 'meta' else _core._read_as(x, dtype, shape, strides, offset)


def read_as(x, dtype):
    """The elements of x read as dtype, in the same memory. Elements of another size change the last dimension."""
    if dtype is x.dtype:
        return ops['alias'](x)
    old, new = x.dtype.itemsize, dtype.itemsize
    shape, strides = list(x.shape), list(x.strides)
    if old != new:
        _check(x, dtype, max(new // old, 1))
        shape[-1] = shape[-1] * old // new
        strides[:-1] = [step * old // new for step in strides[:-1]]
    return shown(x, dtype, tuple(shape), tuple(strides), 0)


def _check(x, dtype, times):
    """Raises an error if `times` elements of x, one if they are larger, cannot be whole elements of dtype."""
    what = f'to view {_name(x.dtype)} as {_name(dtype)} (different element sizes), but got'
    if not x.ndim:
        raise InvalidArgumentError(f'[view] self.dim() cannot be 0 {what.removesuffix(", but got")}')
    if x.strides[-1] != 1 and x.shape[-1] != 1:
        raise InvalidArgumentError(f'[view] self.stride(-1) must be 1 {what} {x.strides[-1]}')
    if x.shape[-1] % times:
        raise InvalidArgumentError(f'[view] self.size(-1) must be divisible by {times} {what} {x.shape[-1]}')
    if x.storage_offset() % times:
        raise InvalidArgumentError(f'[view] self.storage_offset() must be divisible by {times} {what} {x.storage_offset()}')
    for d, step in enumerate(x.strides[:-1]):
        if step % times:
            raise InvalidArgumentError(f'[view] self.stride({d}) must be divisible by {times} {what} {step}')
