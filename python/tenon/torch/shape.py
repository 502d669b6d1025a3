"""Views and copies in other shapes; joining and splitting."""
import math

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError, OutOfRangeError
from ._backward_names import named
from ._common import Tensor, arange, cast, check, differentiated, dim_of, dims_of, full, into, rank, shape_of
from ._shortcuts import short
from .bits import read_as, shown
from .modes import Size

_reshape, _permute, _transpose, _slice, _as_strided = (
    ops[name] for name in ('reshape', 'permute', 'transpose', 'slice', 'as_strided'))
_squeeze, _alias = ops['squeeze'], ops['alias']


def reshape(input, shape):
    """The same elements in another shape; -1 stands for the size that fits."""
    return _reshape(input, shape)


def ravel(input):
    """All elements as one vector."""
    return _reshape(check(input), (input.size,))


@short
def flatten(input, start_dim=0, end_dim=-1):
    """Merges dimensions from start_dim to end_dim."""
    start, end = dim_of(start_dim, check(input).ndim), dim_of(end_dim, input.ndim)
    if start > end:
        raise InvalidArgumentError(f'[flatten] start_dim {start_dim} comes behind end_dim {end_dim}')
    if not input.ndim:
        return _reshape(input, (1,))
    if start == end:
        return input
    return _reshape(input, (*input.shape[:start], math.prod(input.shape[start:end + 1]), *input.shape[end + 1:]))


def unflatten(input, dim, sizes):
    """Splits one dimension into several."""
    dim = dim_of(dim, check(input).ndim)
    sizes = list(sizes) if isinstance(sizes, (tuple, list)) else [sizes]
    if not sizes:
        raise InvalidArgumentError('[unflatten] sizes must not be empty')
    known = math.prod(size for size in sizes if size != -1)
    sizes = [input.shape[dim] // known if size == -1 and known else size for size in sizes]
    if math.prod(sizes) != input.shape[dim]:
        raise InvalidArgumentError(f'[unflatten] sizes {tuple(sizes)} do not multiply to {input.shape[dim]}')
    return _reshape(input, (*input.shape[:dim], *sizes, *input.shape[dim + 1:]))


@short
def squeeze(input, dim=None):
    """input without its dimensions of size 1: all of them, or those named."""
    if type(dim) is int and isinstance(input, Tensor) and -input.ndim <= dim < input.ndim:
        return _squeeze(input, (dim,)) if input.shape[dim] == 1 else _alias(input)
    dims = range(check(input).ndim) if dim is None else dims_of(dim, input.ndim) if dim != () else ()
    dims = tuple(d for d in dims if input.shape[d] == 1)
    return ops['squeeze'](input, dims) if dims else ops['alias'](input)


def unsqueeze(input, dim):
    """input with a new dimension of size 1."""
    return ops['unsqueeze'](input, dim_of(dim, check(input).ndim + 1))


def permute(input, dims):
    """input with its dimensions in another order."""
    return _permute(input, tuple(dims))


@short
def transpose(input, dim0, dim1):
    """input with two dimensions exchanged."""
    if check(input).ndim:
        return _transpose(input, dim0, dim1)
    for dim in (dim0, dim1):
        dim_of(dim, 0)
    return ops['alias'](input)


swapaxes = swapdims = transpose


def t(input):
    """A matrix transposed; vectors and rank 0 stay."""
    if check(input).ndim > 2:
        raise InvalidArgumentError(f'[t] needs two dimensions at most, not {input.ndim}')
    return named(ops['transpose'](input, 0, 1) if input.ndim == 2 else ops['alias'](input), 'TBackward0')


def adjoint(input):
    """The last two dimensions exchanged, and conjugated."""
    found = ops['transpose'](input, -2, -1)
    return ops['conj'](found) if rank(found.dtype) == 3 else found


def movedim(input, source, destination):
    """Dimensions moved elsewhere; the others keep their order."""
    many = isinstance(source, (tuple, list))
    source, destination = (tuple(each) if many else (each,) for each in (source, destination))
    if len(source) != len(destination):
        raise InvalidArgumentError(f'[movedim] {len(source)} dims to {len(destination)} places')
    if not check(input).ndim:
        for each in (*source, *destination):
            dim_of(each, 0)
        if len(source) > 1:
            raise InvalidArgumentError('[movedim] a dim is given twice')
        return ops['alias'](input)
    source, destination = dims_of(source, input.ndim) if source else (), dims_of(destination, input.ndim) if destination else ()
    order = [d for d in range(input.ndim) if d not in source]
    for to, at in sorted(zip(destination, source)):
        order.insert(to, at)
    return _permute(input, order)


moveaxis = movedim


def broadcast_shapes(*shapes):
    """The shape to which several shapes broadcast."""
    from .._array_api.shapes import common_shape
    shapes = [tuple(each) if isinstance(each, (tuple, list)) else (each,) for each in shapes]
    if any(size < 0 for shape in shapes for size in shape):
        raise InvalidArgumentError('[broadcast_shapes] a size is negative')
    return Size(common_shape(shapes, 'broadcast_shapes'))


def broadcast_tensors(*tensors):
    """Views of all tensors in their common shape, those of that shape themselves."""
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    shape = broadcast_shapes(*(x.shape for x in tensors))
    return tuple(x if x.shape == shape else ops['expand'](x, shape) for x in tensors)


def broadcast_to(input, size):
    """A view of input in a shape that it broadcasts to; -1 keeps a size."""
    size = shape_of((size,))
    if len(size) < check(input).ndim:
        raise InvalidArgumentError(f'[broadcast_to] shape {input.shape} does not fit {size}')
    lead = len(size) - input.ndim
    if any(n < 0 and (n != -1 or i < lead) for i, n in enumerate(size)):
        raise InvalidArgumentError(f'[broadcast_to] a size of {size} is negative')
    return ops['expand'](input, tuple(input.shape[i - lead] if n == -1 else n for i, n in enumerate(size)))


@short
def expand(input, *size):
    """broadcast_to(), which also takes sizes one by one."""
    return broadcast_to(input, shape_of(size))


def expand_as(input, other):
    """input in the shape of other."""
    return broadcast_to(input, other.shape)


def sum_to_size(input, *size):
    """input summed over the dimensions along which a shape would broadcast to its own."""
    size = shape_of(size)
    lead = check(input).ndim - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, input.shape[lead:])):
        raise InvalidArgumentError(f'[sum_to_size] shape {size} does not broadcast to {input.shape}')
    dims = (*range(lead), *(lead + i for i, n in enumerate(size) if n == 1 and input.shape[lead + i] != 1))
    return _reshape(ops['sum'](input, dims, True), size) if dims else input


def reshape_as(input, other):
    """input in the shape of other, copied if necessary."""
    return _reshape(input, other.shape)


def view(input, *shape):
    """The same elements in another shape, or the same memory read as another dtype, without a gradient; never a copy."""
    if len(shape) == 1 and isinstance(shape[0], _core.dtype):
        return read_as(input, shape[0])
    found = _reshape(input, shape_of(shape))
    # A trace does not say that its tensors share memory with a weight.
    if input.size and not found.shares_memory(input) and not input.is_contiguous():
        raise InvalidArgumentError('[view] the strides do not allow this shape without a copy: use reshape')
    return found


def view_as(input, other):
    """view() in the shape of other."""
    return view(input, other.shape)


def flip(input, dims):
    """Elements in reversed order along dimensions."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    dims = dims_of(dims, check(input).ndim) if dims else ()
    return _flipped(input, dims)


def _flipped(x, dims):
    """A copy, where the op gives a view: what is written to it must not reach x."""
    return named(ops['clone'](ops['flip'](x, dims) if dims else x), 'FlipBackward0', x)


def fliplr(input):
    """flip() of the second dimension."""
    if check(input).ndim < 2:
        raise InvalidArgumentError('[fliplr] needs two dimensions')
    return _flipped(input, (1,))


def flipud(input):
    """flip() of the first dimension."""
    if not check(input).ndim:
        raise InvalidArgumentError('[flipud] needs one dimension')
    return _flipped(input, (0,))


def roll(input, shifts, dims=None):
    """Elements moved along dimensions, or in row-major order; those that leave at one end return at the other."""
    shifts = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    dims = () if dims is None else tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not shifts:
        raise InvalidArgumentError('[roll] needs shifts')
    if not dims and len(shifts) == 1:
        return named(_reshape(ops['roll'](ravel(input), shifts, (0,)), input.shape), 'RollBackward0') if check(input).size else ops['clone'](input)
    if len(dims) != len(shifts):
        raise InvalidArgumentError(f'[roll] {len(shifts)} shifts for {len(dims)} dims')
    for shift, dim in zip(shifts, dims):
        if not check(input).ndim:
            raise OutOfRangeError('[roll] of rank 0 has no dims')
        dim = dim_of(dim, input.ndim)
        input = ops['roll'](input, (shift,), (dim,)) if input.size else ops['clone'](input)
    return input


def rot90(input, k=1, dims=(0, 1)):
    """input turned k times by 90° in the plane of two dimensions, from the first towards the second."""
    if len(dims) != 2:
        raise InvalidArgumentError(f'[rot90] needs two dims, not {len(dims)}')
    a, b = dims_of(tuple(dims), check(input).ndim)
    if input.ndim < 2:
        raise InvalidArgumentError('[rot90] needs two dimensions')
    k %= 4
    if k == 0:
        return ops['clone'](input)
    if k == 2:
        found = _flipped(input, (a, b))
    else:
        found = _flipped(ops['transpose'](input, a, b), (a,)) if k == 1 else ops['transpose'](_flipped(input, (a,)), a, b)
    return named(found, 'Rot90Backward0', input)


def atleast_1d(*tensors):
    """Tensors of rank 0 as vectors."""
    return _at_least(tensors, lambda x: _reshape(x, (1,)) if not x.ndim else x)


def atleast_2d(*tensors):
    """Tensors with leading dimensions of size 1 up to rank two."""
    return _at_least(tensors, lambda x: _reshape(x, (1,) * (2 - x.ndim) + tuple(x.shape)) if x.ndim < 2 else x)


def atleast_3d(*tensors):
    """Tensors with dimensions of size 1 up to rank three: vectors become (1, n, 1), matrices (m, n, 1)."""
    return _at_least(tensors, lambda x: x if x.ndim > 2 else _reshape(x, ((1, 1, 1), (1, *x.shape, 1), (*x.shape, 1))[x.ndim]))


def _at_least(tensors, change):
    one = len(tensors) == 1
    if one and isinstance(tensors[0], (tuple, list)):
        tensors, one = tensors[0], False
    made = tuple(change(check(x)) for x in tensors)
    return made[0] if one else made


# Repeating -------------------------------------------------------------------------------------------------------------------------

def tile(input, dims):
    """The whole tensor repeated along each dimension, with the last number for the last dimension."""
    return repeat(input, *((1,) * (check(input).ndim - len(shape_of((dims,)))) + shape_of((dims,))))


def repeat(input, *repeats):
    """The whole tensor repeated along each dimension; extra numbers make new leading dimensions."""
    return named(ops['repeat'](check(input), shape_of(repeats)), 'RepeatBackward0', input)


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element, or entry along dim, repeated; of repeats alone, the index of each."""
    from .._array_api.shapes import repeat as repeat_each
    if repeats is None:
        return repeat_each(arange(check(input).size, input), input, axis=0)
    if dim is None:
        input, dim = ravel(input), 0
    dim = dim_of(dim, check(input).ndim)
    if not input.ndim:
        input = _reshape(input, (1,))
    if isinstance(repeats, Tensor) and repeats.dtype not in (_core.int32, _core.int64):
        raise InvalidArgumentError(f'[repeat_interleave] repeats has dtype {repeats.dtype}')
    if isinstance(repeats, Tensor) and not repeats.ndim:
        repeats = int(repeats)
    return repeat_each(input, repeats, axis=dim)


# Diagonals and strides -------------------------------------------------------------------------------------------------------------

def diagonal(input, offset=0, dim1=0, dim2=1):
    """A view of a diagonal of two dimensions, as last dimension."""
    return ops['diagonal'](input, offset, dim1, dim2)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dimension placed on a diagonal of two new ones, 0 elsewhere."""
    ndim = check(input).ndim + 1
    dim1, dim2 = dim_of(dim1, ndim), dim_of(dim2, ndim)
    if dim1 == dim2 or not input.ndim:
        raise InvalidArgumentError('[diag_embed] needs one dimension, and two places for it')
    if dim1 > dim2:
        dim1, dim2, offset = dim2, dim1, -offset
    *batch, n = input.shape
    size = n + abs(offset)
    if input.device.type == 'cpu' and not _core._trace_active() and not _core._inside_vmap() and not differentiated(input):
        found = ops['full']((*batch, size, size), 0, input.dtype)
        ops['diagonal'](found, offset, -2, -1).copy_(input)
    else:  # row by row, each element is followed by `size` zeros
        flat = _reshape(ops['pad'](ops['unsqueeze'](input, -1), (0, size)), (*batch, n * (size + 1)))
        before = offset if offset > 0 else -offset * size
        flat = _slice(flat, -1, 0, size * size - before)
        if offset:
            flat = ops['pad'](flat, (before, size * size - before - flat.shape[-1]))
        found = _reshape(ops['contiguous'](flat), (*batch, size, size))
    return named(found if (dim1, dim2) == (ndim - 2, ndim - 1) else movedim(found, (-2, -1), (dim1, dim2)), 'DiagEmbedBackward0', input)


def diag(input, diagonal=0, *, out=None):
    """The diagonal of a matrix, or a matrix with a vector on its diagonal."""
    if check(input).ndim not in (1, 2):
        raise InvalidArgumentError(f'[diag] needs one or two dimensions, not {input.ndim}')
    return into(out, named(ops['clone'](ops['diagonal'](input, diagonal)), 'DiagonalBackward0_copy', input) if input.ndim == 2 else diag_embed(input, diagonal))


def diagflat(input, offset=0):
    """All elements placed on a diagonal."""
    return diag_embed(ravel(input), offset)


def _as_it_lies(x):
    """x with its dimensions in the order of its memory, and that order."""
    strides = x.strides
    order = sorted(range(len(strides)), key=strides.__getitem__, reverse=True)
    return (x if order == list(range(len(order))) else _permute(x, order)), order


def in_memory(input, storage_offset, name):
    """input with its dimensions in the order of its memory, that order, and storage_offset from its first element on: strides of PyTorch
    count what lies in memory, those of our ops what input shows."""
    offset = 0 if storage_offset is None else storage_offset - check(input).storage_offset()
    order = range(input.ndim)
    if not input.is_contiguous():
        input, order = _as_it_lies(input)
        if not input.is_contiguous():
            raise InvalidArgumentError(f'[{name}] input has gaps in its memory, which cannot be reached: apply it to the tensor that input is a '
                                       'view of, or to input.contiguous() with strides that fit')
    return input, order, offset


def as_strided(input, size, stride, storage_offset=None):
    """A view of the memory by strides, within the part that input shows."""
    if _core._inside_vmap():  # strides count a row's elements
        return ops['as_strided'](input, tuple(size), tuple(stride), storage_offset or 0)
    if not _core._trace_active():
        beyond = _beyond(input, tuple(size), tuple(stride), storage_offset)
        if beyond is not None:
            return beyond
    input, _, offset = in_memory(input, storage_offset, 'as_strided')
    return ops['as_strided'](input, tuple(size), tuple(stride), offset)


def _beyond(x, size, stride, storage_offset):
    """A view by strides of memory that x does not show: gaps between its elements, or what lies before them; otherwise None. With a gradient
    it is a copy."""
    first = check(x).storage_offset()
    start = first if storage_offset is None else storage_offset
    if len(size) != len(stride) or not x.size or 0 in size or min((start, *stride)) < 0:
        return None
    if start >= first and (x.is_contiguous() or _as_it_lies(x)[0].is_contiguous()):
        return None
    last = start + sum((n - 1) * step for n, step in zip(size, stride))
    end = first + sum((n - 1) * step for n, step in zip(x.shape, x.strides))
    if last > end:
        return None
    if not differentiated(x):
        return shown(x, x.dtype, size, stride, (start - first) * x.itemsize)
    from .index import as_strided_scatter
    memory = ops['clone'](shown(x, x.dtype, (end + 1,), (1,), -first * x.itemsize))
    return ops['as_strided'](as_strided_scatter(memory, x, x.shape, x.strides, first), size, stride, start)


def narrow(input, dim, start, length):
    """`length` entries from `start` along a dimension; a view."""
    dim = dim_of(dim, check(input).ndim)
    if not input.ndim:
        raise InvalidArgumentError('[narrow] needs at least one dimension')
    if isinstance(start, Tensor):
        if start.ndim or rank(start.dtype) != 1:
            raise InvalidArgumentError('[narrow] start must be one integer')
        start = int(start)
    size = input.shape[dim]
    if not -size <= start <= size:
        raise OutOfRangeError(f'[narrow] start {start} out of range for {size} entries')
    start = start + size if start < 0 else start
    if length < 0 or start + length > size:
        raise InvalidArgumentError(f'[narrow] {length} entries from {start} on do not fit into {size}')
    return _slice(input, dim, start, start + length)


def select(input, dim, index):
    """Entry `index` along a dimension."""
    if not check(input).ndim:
        raise OutOfRangeError('[select] needs at least one dimension')
    return ops['select'](input, dim_of(dim, input.ndim), index)


def unfold(input, dimension, size, step):
    """Windows of `size` entries at a distance of `step` along a dimension; their entries form the last dimension."""
    ndim = check(input).ndim
    dim = dim_of(dimension, ndim)
    x = input if ndim else _reshape(input, (1,))
    sizes = list(x.shape)
    n = sizes[dim]
    if size < 0 or size > n or step <= 0:
        raise InvalidArgumentError(f'[unfold] windows of {size}, {step} apart, in {n} entries')
    # A view of the elements in memory order, as far as that is an order of dimensions.
    lying, order = (x, ()) if x.is_contiguous() else _as_it_lies(x)
    gaps = not lying.is_contiguous()
    shares = gaps and not (differentiated(x) or _core._inside_vmap() or _core._trace_active())
    if not gaps or shares:
        steps = list(x.strides)
    else:
        steps, apart = [0] * len(sizes), 1
        for d in reversed(order):
            steps[d] = apart
            apart *= sizes[d]
    sizes[dim] = (n - size) // step + 1
    steps.append(steps[dim])
    sizes.append(size)
    steps[dim] *= step
    found = shown(x, x.dtype, tuple(sizes), tuple(steps), 0) if shares else _as_strided(lying, sizes, steps)
    return named(found if ndim else _reshape(found, (size,)), 'UnfoldBackward0', input)


def meshgrid(*tensors, indexing='ij'):
    """Coordinate grids made from vectors of coordinates; 'xy' exchanges the first two dimensions."""
    from .._array_api.shapes import meshgrid as grid
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if not tensors:
        raise InvalidArgumentError('[meshgrid] needs at least one tensor')
    return tuple(grid(*(_reshape(x, (1,)) if not x.ndim else x for x in tensors), indexing=indexing or 'ij'))


def cartesian_prod(*tensors):
    """All combinations of one element from each vector: (number, vectors)."""
    if any(check(x).ndim != 1 for x in tensors):
        raise InvalidArgumentError('[cartesian_prod] needs rows')
    if len(tensors) == 1:
        return tensors[0]
    return ops['stack']([_reshape(x, (x.size,)) for x in meshgrid(*tensors)], 1)


def combinations(input, r=2, with_replacement=False):
    """All choices of r elements of a vector, in order."""
    import itertools
    if check(input).ndim != 1:
        raise InvalidArgumentError(f'[combinations] needs a row, not rank {input.ndim}')
    if r < 0:
        raise InvalidArgumentError(f'[combinations] r {r} must not be negative')
    if r == 0:
        return full((0,), 0, input)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    count = math.comb(max(input.size + r - 1, 0), r) if with_replacement else math.comb(input.size, r)
    _core._empty((min(count, 2**60), r), _core.int64, None)  # raises here if there is not enough memory
    found = list(choose(range(input.size), r))
    index = _core._from_data(found, _core.int64, input.device) if found else full((0, r), 0, input, _core.int64)
    return _reshape(ops['index_select'](input, 0, _reshape(index, (len(found) * r,))), (len(found), r))


def triu_indices(row, col, offset=0, *, dtype=_core.int64, device=None, layout=None):
    """The positions of a matrix's upper triangle: (2, number)."""
    return _triangle(ops['triu'], row, col, offset, dtype, device)


def tril_indices(row, col, offset=0, *, dtype=_core.int64, device=None, layout=None):
    """The positions of a matrix's lower triangle: (2, number)."""
    return _triangle(ops['tril'], row, col, offset, dtype, device)


def _triangle(op, row, col, offset, dtype, device):
    if row < 0 or col < 0:
        raise InvalidArgumentError(f'[triangle] {row} rows and {col} columns')
    if dtype not in (_core.int32, _core.int64):
        raise InvalidArgumentError(f'[triangle] dtype must be int32 or int64, not {dtype}')
    lower = op is ops['tril']
    if _core._trace_active() and row == col > abs(offset) and (offset <= 0 if lower else offset >= 0):
        return cast(_corner(row, abs(offset), lower, device), dtype)
    if _core._trace_active():
        return cast(_staircase(row, col, offset, lower, device), dtype)
    found = ops['nonzero'](op(ops['full']((row, col), True, _core.bool, device), offset))
    return cast(ops['contiguous'](ops['transpose'](found, 0, 1)), dtype)


def _corner(size, offset, lower, device):
    """The positions of a triangle in a corner of a square matrix, computed without elements, which a graph does not have."""
    side = size - offset
    count = side * (side + 1) // 2
    at = ops['arange'](*((0, count, 1) if lower else (count - 1, -1, -1)), _core.int64, device)
    # The i-th row begins after i (i + 1) / 2 others, and 8 of these and 1 are a square.
    row = cast(ops['floor']((ops['sqrt'](cast(at, _core.float64) * 8 + 1) - 1) / 2), _core.int64)
    column = at - ops['floor_divide'](row * (row + 1), 2)
    return ops['stack']([row + offset, column] if lower else [side - 1 - row, size - 1 - column], 0)


def _staircase(row, col, offset, lower, device):
    """The positions of a triangle of any matrix, computed without elements."""
    edge = offset + 1 if lower else offset  # the column in row 0 at which the triangle ends or, the upper one, begins
    below = sum(min(max(edge + i, 0), col) for i in range(row))
    edges = ops['clamp'](ops['arange'](edge, edge + row, 1, _core.int64, device), 0, col)
    ends = ops['cumsum'](edges if lower else col - edges, 0)
    at = ops['arange'](0, below if lower else row * col - below, 1, _core.int64, device)
    of = ops['searchsorted'](ends, at, True)
    # A lower row begins at the end of the one before, in column 0; an upper one ends in the last column.
    column = at - ops['index_select'](ends, 0, of) + (ops['index_select'](edges, 0, of) if lower else col)
    return ops['stack']([of, column], 0)


def tril(input, diagonal=0, *, out=None):
    """The lower triangle of matrices, 0 elsewhere."""
    return into(out, ops['tril'](input, diagonal))


def triu(input, diagonal=0, *, out=None):
    """The upper triangle of matrices, 0 elsewhere."""
    return into(out, ops['triu'](input, diagonal))
