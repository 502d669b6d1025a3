"""Creation, manipulation and indexing functions of the Array API that are more than one op."""
from .. import _core
from .._core import Tensor, ops
from .._creation import _check, _place, apart
from .._errors import InvalidArgumentError, OutOfRangeError
from .._names import accept_both_names
from .dtypes import kind_of

_reshape, _permute, _expand, _unsqueeze = ops['reshape'], ops['permute'], ops['expand'], ops['unsqueeze']
_roll, _concat, _select, _clone = ops['roll'], ops['concat'], ops['select'], ops['clone']


def dim_of(axis, ndim, name, word='axis'):
    """axis, counted from the front."""
    if isinstance(axis, bool) or not hasattr(axis, '__index__'):
        raise TypeError(f'[{name}] {word} must be an int, not {type(axis).__name__}')
    axis = axis.__index__()
    if not -ndim <= axis < ndim:
        raise OutOfRangeError(f'[{name}] {word} {axis} out of range for a tensor of rank {ndim}')
    return axis % ndim


def dims_of(axes, ndim, name):
    """axes, one or a tuple, counted from the front; none may occur twice."""
    found = [dim_of(axis, ndim, name) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))]
    if len(set(found)) != len(found):
        raise InvalidArgumentError(f'[{name}] an axis is given twice in {axes}')
    return found


def check_all(tensors, name):
    """tensors as a tuple, after a check that each is a Tensor."""
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(f'[{name}] needs a list or tuple of Tensors, not {type(tensors).__name__}')
    for x in tensors:
        _check(x, name)
    return tuple(tensors)


def common_shape(shapes, name):
    """The shape to which the shapes broadcast."""
    out = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i in range(1, len(shape) + 1):
            if shape[-i] != 1 and out[-i] != shape[-i]:
                if out[-i] != 1:
                    raise InvalidArgumentError(f'[{name}] shapes {", ".join(map(str, map(tuple, shapes)))} do not broadcast')
                out[-i] = shape[-i]
    return tuple(out)


def broadcast_arrays(*arrays):
    """Views of all tensors in their common shape."""
    shape = common_shape([x.shape for x in check_all(arrays, 'broadcast_arrays')], 'broadcast_arrays')
    return [_expand(x, shape) for x in arrays]


def broadcast_to(x, /, shape):
    """A view of x in a shape that it broadcasts to."""
    if isinstance(shape, (tuple, list)) and any(isinstance(size, int) and size < 0 for size in shape):
        raise InvalidArgumentError(f'[broadcast_to] a size of {tuple(shape)} is negative')
    return _expand(x, shape)


def expand_dims(x, /, axis=0):
    """A view of x with a new dimension of size 1."""
    return _unsqueeze(x, axis)


def permute_dims(x, /, axes):
    """A view of x with its dimensions in another order."""
    return _permute(x, axes)


def concat(arrays, /, axis=0):
    """Tensors joined along an axis; axis=None joins their elements."""
    if axis is None:
        return _concat([_reshape(x, (-1,)) if x.size else _reshape(x, (0,)) for x in check_all(arrays, 'concat')], 0)
    return _concat(arrays, axis)


def moveaxis(x, source, destination, /):
    """Dimensions moved elsewhere; the others keep their order."""
    _check(x, 'moveaxis')
    source, destination = dims_of(source, x.ndim, 'moveaxis'), dims_of(destination, x.ndim, 'moveaxis')
    if len(source) != len(destination):
        raise InvalidArgumentError(f'[moveaxis] {len(source)} axes to {len(destination)} places')
    order = [i for i in range(x.ndim) if i not in source]
    for to, at in sorted(zip(destination, source)):
        order.insert(to, at)
    return _permute(x, order)


def _repeat_each(x, repeats, axis):
    """Repeats each entry along an axis as often as its number says."""
    if repeats.ndim > 1 or kind_of(repeats.dtype) not in ('signed integer', 'unsigned integer'):
        raise InvalidArgumentError(f'[repeat] repeats must be one row of integers, not {repeats.dtype} of shape {repeats.shape}')
    repeats = _place(repeats, _core.int64, x.device)
    if repeats.size == 1:
        repeats = _expand(_reshape(repeats, (1,)), (x.shape[axis],))
    if repeats.size != x.shape[axis]:
        raise InvalidArgumentError(f'[repeat] {repeats.size} repeats for the {x.shape[axis]} entries of axis {axis}')
    if ops['any'](repeats < 0):
        raise InvalidArgumentError('[repeat] repeats must not be negative')
    ends = ops['cumsum'](repeats, 0)
    total = int(ends[-1]) if ends.size else 0
    index = ops['searchsorted'](ends, ops['arange'](0, total, 1, _core.int64, x.device), True)
    return ops['index_select'](x, axis, index)


def repeat(x, repeats, /, axis=None):
    """Each element, or entry along an axis, repeated: an int for all or a row of integers, one for each.

    The method x.repeat(...) is the op, which repeats the whole tensor, as tile does.
    """
    _check(x, 'repeat')
    if axis is None:
        x, axis = _reshape(x, (x.size,)), 0
    axis = dim_of(axis, x.ndim, 'repeat')
    if isinstance(repeats, (tuple, list)):
        repeats = _core._from_data(repeats, _core.int64, None)
    if isinstance(repeats, Tensor):
        return _repeat_each(x, repeats, axis)
    if isinstance(repeats, bool) or not hasattr(repeats, '__index__'):
        raise TypeError(f'[repeat] repeats must be an int or a Tensor of integers, not {type(repeats).__name__}')
    if repeats < 0:
        raise InvalidArgumentError(f'[repeat] repeats is {repeats}, must be at least 0')
    before, after = x.shape[:axis + 1], x.shape[axis + 1:]
    wide = _expand(_unsqueeze(x, axis + 1), (*before, repeats, *after))
    out = _reshape(wide, (*before[:-1], before[-1] * repeats, *after))
    return apart(out, x)  # of one element the reshape is a view


def reshape(x, /, shape, *more, copy=None):
    """x in another shape: reshape(x, (2, 3)) or reshape(x, 2, 3). copy=False: a view or an error."""
    out = _reshape(x, (shape, *more) if more else shape)
    if copy is False and x.size and not out.shares_memory(x):
        raise InvalidArgumentError('[reshape] copy=False, but the strides do not allow this shape without a copy')
    return apart(out, x) if copy else out


def roll(x, /, shift, axis=None):
    """Elements moved along axes, or in row-major order; those that leave at one end return at the other."""
    if isinstance(axis, (tuple, list)) and not isinstance(shift, (tuple, list)):
        shift = (shift,) * len(axis)
    return _roll(x, shift, axis)


def unstack(x, /, axis=0):
    """The entries along an axis, as views."""
    _check(x, 'unstack')
    axis = dim_of(axis, x.ndim, 'unstack')
    return tuple(_select(x, axis, i) for i in range(x.shape[axis]))


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value everywhere, in the shape and order of dimensions of x."""
    _check(x, 'full_like')
    return _place(ops['full_like'](x, fill_value, dtype), None, device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on a diagonal, k above the main one; zeros elsewhere."""
    if isinstance(k, int):  # far outside the matrix the distance makes no difference
        k = max(-2**62, min(k, 2**62))
    return ops['eye'](n_rows, n_cols, k, dtype, device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """num evenly spaced numbers from start to stop."""
    complex_dtype = dtype is not None and kind_of(_core.as_dtype(dtype)) == 'complex floating'
    if not (complex_dtype or isinstance(start, complex) or isinstance(stop, complex)):
        return ops['linspace'](start, stop, num, endpoint, dtype, device)
    dtype = _core.complex64 if dtype is None else _core.as_dtype(dtype)
    if kind_of(dtype) != 'complex floating':
        raise InvalidArgumentError(f'[linspace] complex bounds do not fit dtype {dtype}')
    part = _core.float32 if dtype is _core.complex64 else _core.float64
    start, stop = complex(start), complex(stop)
    return ops['complex'](ops['linspace'](start.real, stop.real, num, endpoint, part, device),
                          ops['linspace'](start.imag, stop.imag, num, endpoint, part, device))


def meshgrid(*arrays, indexing='xy'):
    """Coordinate grids made from vectors of coordinates; 'xy' exchanges the first two dimensions, 'ij' does not."""
    if indexing not in ('xy', 'ij'):
        raise InvalidArgumentError(f"[meshgrid] indexing is 'xy' or 'ij', not {indexing!r}")
    check_all(arrays, 'meshgrid')
    if any(x.dtype is not arrays[0].dtype for x in arrays):
        raise InvalidArgumentError('[meshgrid] all tensors must have one dtype')
    if any(x.ndim > 1 for x in arrays):
        raise InvalidArgumentError('[meshgrid] each tensor must have one dimension')
    n = len(arrays)
    at = list(range(n))
    if indexing == 'xy' and n > 1:
        at[0], at[1] = 1, 0
    shape, grids = [1] * n, []
    for place, x in zip(at, arrays, strict=True):
        shape[place] = x.size
    for place, x in zip(at, arrays, strict=True):
        alone = [1] * n
        alone[place] = shape[place]
        grids.append(_expand(_reshape(x, alone), shape))
    return grids


def take(x, indices, /, axis=None):
    """The entries along an axis at the indices in a vector; without an axis, elements counted in row-major order."""
    return ops['take'](x, indices) if axis is None else ops['index_select'](x, axis, indices)


def take_along_axis(x, indices, /, axis=-1):
    """Elements along an axis, each at an index of its own; the other dimensions broadcast."""
    check_all((x, indices), 'take_along_axis')
    if x.ndim != indices.ndim:
        raise InvalidArgumentError(f'[take_along_axis] indices have rank {indices.ndim}, the tensor {x.ndim}')
    axis = dim_of(axis, x.ndim, 'take_along_axis')
    sizes = [list(x.shape), list(indices.shape)]
    sizes[0][axis] = sizes[1][axis] = 1
    shape = list(common_shape(sizes, 'take_along_axis'))
    wide = [_expand(each, [*shape[:axis], each.shape[axis], *shape[axis + 1:]]) for each in (x, indices)]
    index = wide[1]
    if kind_of(index.dtype) == 'signed integer':  # as in x[…], counted from the end
        behind = index.size and (_core._trace_active() or ops['any'](_core._behind(index) < 0))
        index = ops['where'](index < 0, index + x.shape[axis], index) if behind else index
    return ops['gather'](wide[0], axis, index)


__all__ = ['broadcast_arrays', 'broadcast_to', 'concat', 'expand_dims', 'eye', 'permute_dims', 'moveaxis', 'repeat', 'reshape', 'roll', 'unstack', 'full_like',
           'linspace', 'meshgrid', 'take', 'take_along_axis']
accept_both_names(globals(), __all__)
