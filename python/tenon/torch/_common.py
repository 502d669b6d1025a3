"""Parts that the functions of tenon.torch share: PyTorch's promotion of dtypes, `out=`, dimensions."""
import builtins
import functools
from typing import Any

from .. import _core
from .._core import Tensor, ops, promote_types
from .._creation import _place
from .._errors import DtypeError, InvalidArgumentError, OutOfRangeError, UnsupportedDtypeError
from ..autograd import GRAD


def absent(module, instead):
    """The __getattr__ of a module: for a name that is not offered it says what to use instead."""
    def __getattr__(name):
        if name in instead:
            raise AttributeError(f'[{module.removeprefix("tenon.")}.{name}] is not offered here: {instead[name]}')
        from . import _absent
        raise _absent.absent(module.removeprefix('tenon.torch').lstrip('.'), name)
    return __getattr__


class defaults:
    """The defaults of new tensors, set by set_default_dtype() and set_default_device(). None is the host."""
    dtype, complex, device = _core.float32, _core.complex64, None

    @classmethod
    def settle(cls, dtype, device):
        """(dtype, device) of a new tensor: those given, or the defaults."""
        return dtype or cls.dtype, cls.device if device is None else device


def somewhere(mask):
    """Whether a mask is true anywhere; inside vmap, for any entry; on meta, which has no elements, False."""
    return mask.size != 0 and mask.device.type != 'meta' and bool(ops['any'](_core._behind(mask)))


def broken(mask):
    """Whether a condition on elements fails anywhere; False in a trace, where there are no elements yet."""
    return not _core._trace_active() and somewhere(mask)


def largest(x):
    """The largest element, as a number; inside vmap, of all entries."""
    return ops['max'](_core._behind(x)).item()


def smallest(x):
    """The smallest element, as a number; inside vmap, of all entries."""
    return ops['min'](_core._behind(x)).item()


def autocasting(x):
    """Whether ops on this tensor's kind of device choose dtypes themselves; see torch.autocast."""
    return _core._autocast_active() and _core._get_autocast(x.device.type)[1]


def lowered(*tensors):
    """float32 and halves in autocast's dtype if it is on: for functions made of several ops."""
    if not autocasting(tensors[0]):
        return tensors
    dtype = _core.as_dtype(_core._get_autocast(tensors[0].device.type)[0])
    return tuple(cast(x, dtype) if x.dtype.is_floating_point and x.dtype.itemsize <= 4 else x for x in tensors)


def in_float32(function):
    """A function whose half-precision tensors become float32 while autocast is on."""
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if not _core._autocast_active():
            return function(*args, **kwargs)

        def raised(x):
            half = isinstance(x, Tensor) and x.dtype.is_floating_point and x.dtype.itemsize == 2 and autocasting(x)
            return cast(x, _core.float32) if half else x
        return function(*map(raised, args), **{key: raised(x) for key, x in kwargs.items()})
    return wrapped


_RANKS = {dtype: 3 if dtype.is_complex else 2 if dtype.is_floating_point or dtype.name.startswith('float8') else 1 if dtype is not _core.bool else 0
          for dtype in vars(_core).values() if isinstance(dtype, _core.dtype)}


def rank(dtype):
    """0 bool, 1 integer, 2 floating, 3 complex."""
    found = _RANKS.get(dtype) if isinstance(dtype, _core.dtype) else None
    if found is None:
        if not isinstance(dtype, type):  # Python's float and NumPy's types are dtypes, too
            raise TypeError(f'a dtype is needed, not {type(dtype).__name__}')
        return _RANKS[_core.as_dtype(dtype)]
    return found


def number_dtype(value):
    """The dtype of a Python number among tensors."""
    if isinstance(value, bool):
        return _core.bool
    if isinstance(value, int):
        return _core.int64
    if isinstance(value, float):
        return defaults.dtype
    if isinstance(value, complex):
        return defaults.complex
    if hasattr(value, 'item') and getattr(value, 'ndim', None) == 0:  # NumPy's
        return number_dtype(value.item())
    raise TypeError(f'an operand must be a Tensor or a number, not {type(value).__name__}')


def _weaker(strong, weak):
    """dtype, where weak (rank 0, or a number) may raise the kind of strong, but never its width."""
    if strong is None or weak is None:
        return strong or weak
    if rank(weak) <= rank(strong) and rank(strong):
        return strong
    if rank(weak) == 3 and rank(strong) == 2:
        return _core.complex128 if strong is _core.float64 else _core.complex64
    return promote_types(strong, weak)


def result_type(*operands):
    """The dtype in which PyTorch computes: tensors with dimensions take precedence over those of rank 0, and those over numbers."""
    wide = zero = number = None
    for x in operands:
        if isinstance(x, Tensor):
            if x.ndim:
                wide = x.dtype if wide is None else promote_types(wide, x.dtype)
            else:
                zero = x.dtype if zero is None else promote_types(zero, x.dtype)
        else:
            number = number_dtype(x) if number is None else promote_types(number, number_dtype(x))
    return _weaker(_weaker(wide, zero), number)


def _alike(operands):
    """Whether all are tensors of one dtype."""
    dtype = getattr(operands[0], 'dtype', None)
    return builtins.all(isinstance(x, Tensor) and x.dtype is dtype for x in operands)


def promoted(*operands):
    """Operands of one dtype; a Python number that does not decide the dtype stays a number."""
    if _alike(operands):
        return operands
    if not builtins.any(isinstance(x, Tensor) for x in operands):
        raise TypeError('one operand at least must be a Tensor')
    dtype = result_type(*operands)
    return tuple(_place(x, dtype, None) if isinstance(x, Tensor) else x for x in operands)


def to_tensors(*operands):
    """Operands as tensors of one dtype and device."""
    if _alike(operands):
        return operands
    operands, dtype = promoted(*operands), result_type(*operands)
    device = next(x.device for x in operands if isinstance(x, Tensor))
    return tuple(x if isinstance(x, Tensor) else ops['full']((), x, dtype, device) for x in operands)


def floating(x):
    """x, with integers in the default dtype."""
    check(x)
    return x if rank(x.dtype) >= 2 else _place(x, defaults.dtype, None)


def check(x, name='tenon.torch'):
    if not isinstance(x, Tensor):
        raise TypeError(f'[{name}] needs a Tensor, not {type(x).__name__}')
    return x


def into(out, value, exact=False) -> Any:
    """value, or `out` with value written into it; exact: `out` must have its dtype."""
    if out is None:
        return value
    if isinstance(value, tuple):
        if len(out) != len(value):
            raise InvalidArgumentError(f'[out] {len(out)} tensors for {len(value)} results')
        made = [into(to, each, exact) for to, each in zip(out, value)]
        return type(value)(*made) if hasattr(value, '_fields') else tuple(made)
    check(out, 'out')
    if rank(value.dtype) > rank(out.dtype) or (exact and value.dtype is not out.dtype):
        raise DtypeError(f'[out] of dtype {out.dtype} cannot hold a result of dtype {value.dtype}')
    if (out.requires_grad or value.requires_grad) and _core._get_modes() & GRAD:
        raise InvalidArgumentError('[out] requires a gradient, or an operand does: functions with out= are not differentiated')
    if out.shape != value.shape:
        from .methods.memory import resize_output
        resize_output(out, value.shape)
    out.detach()[...] = value.detach()
    return out


def unary(function):
    """The function of one tensor with `out=`."""
    def call(input, *, out=None):
        return into(out, function(input))
    call.__name__ = call.__qualname__ = function.__name__
    call.__module__, call.__doc__ = function.__module__, function.__doc__
    return call


def op_of_one(name, module):
    """The function of one tensor that is an op, with PyTorch's `out=`: by itself an op writes only what has its result's shape and dtype."""
    op = ops['conj' if name == 'conj_physical' else name]

    def call(input, *, out=None):
        if isinstance(out, Tensor) and name not in _TELL and isinstance(input, Tensor) and _is_like(out, input):
            return op(input, out=out)
        return into(out, op(input))
    call.__name__ = call.__qualname__ = name
    call.__module__, call.__doc__ = module, f'tenon.{name}() with out= of any shape and each dtype that holds the result.'
    return call


_TELL = frozenset(('signbit', 'logical_not'))  # their results are bools


def _is_like(x, input):
    return x.dtype is input.dtype and rank(x.dtype) == 2 and x.shape == input.shape and not x.requires_grad and not input.requires_grad


def in_double(function):
    """A function that computes in float64 and returns the dtype of its operand."""
    def call(input, *, out=None):
        x = floating(input)
        if rank(x.dtype) == 3:
            raise UnsupportedDtypeError(f'[{call.__name__}] is not defined for complex numbers')
        return into(out, cast(function(cast(x, _core.float64)), x.dtype))
    call.__name__ = call.__qualname__ = function.__name__.strip('_')
    call.__module__, call.__doc__ = function.__module__, function.__doc__
    return call


def dim_of(dim, ndim):
    """dim counted from the front; rank 0 accepts 0 and -1 too."""
    if type(dim) is int and -ndim <= dim < ndim:
        return dim % ndim
    if isinstance(dim, builtins.bool) or not hasattr(dim, '__index__'):
        raise TypeError(f'dim must be an int, not {type(dim).__name__}')
    dim, most = dim.__index__(), builtins.max(ndim, 1)
    if not -most <= dim < most:
        raise OutOfRangeError(f'dim {dim} is out of range for a tensor of rank {ndim}')
    return dim % most


def dims_of(dim, ndim):
    """A tuple of dimensions counted from the front; None and () mean all."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found = tuple(dim_of(each, ndim) for each in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if len(set(found)) != len(found):
        raise InvalidArgumentError(f'a dimension occurs twice in dim={dim}')
    return tuple(d for d in found if d < ndim)


def at_least_1d(x):
    """Rank 0 as a vector of one element, for functions that work along a dimension."""
    return x if x.ndim else ops['reshape'](x, (1,))


def shape_of(size) -> Any:
    """The sizes given by f(2, 3) or f((2, 3))."""
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def sizes_of(given, size):
    """The sizes given by f(2, 3) or f((2, 3)), or by f(size=(2, 3))."""
    if size is None:
        return given
    if given:
        raise TypeError('[size] sizes are given by position and as size=, too')
    return (size,)


def arange(n, x, dtype=None):
    """0, 1, … n - 1 on the device of x."""
    return ops['arange'](0, n, 1, dtype or _core.int64, x.device)


def full(shape, value, x, dtype=None):
    """One value in a shape, with dtype and device of x."""
    return ops['full'](shape, value, dtype or x.dtype, x.device)


def cast(x, dtype):
    """x in a dtype; x itself if dtype is None or its own."""
    return x if dtype is None else _place(x, dtype, None)


def differentiated(*tensors):
    """Whether derivatives of one of the tensors may be requested, by backward or in forward mode."""
    for x in tensors:  # not any(), because a generator costs as much as a small op
        if isinstance(x, Tensor) and x.requires_grad:
            return True
    if not _core._has_tangents():
        return False
    from .._levels import directions
    behind = [y for x in tensors if isinstance(x, Tensor) for y in (x, _core._behind(x))]
    return any(level.tangent(x) is not None for level in directions() for x in behind)


def source_of(x, *others):
    """What a function reads if its result is written into x: a copy if a gradient may need the earlier elements."""
    recorded = any(isinstance(each, Tensor) and each.requires_grad for each in (x, *others))
    return ops['clone'](x) if recorded and _core._get_modes() & GRAD else x
