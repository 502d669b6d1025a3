"""Reading and writing with indices and masks."""
import math
from typing import Any

from .. import _core
from .._core import ops
from .._errors import DtypeError, InvalidArgumentError, OutOfRangeError
from ._backward_names import named
from ._common import Tensor, at_least_1d, broken, cast, check, dim_of, full, into, rank
from ._shortcuts import short

_where, _reshape, _slice, _transpose = ops['where'], ops['reshape'], ops['slice'], ops['transpose']


def _index(name, index, dtypes=(_core.int64,)):
    if check(index).dtype not in dtypes:
        raise InvalidArgumentError(f'[{name}] index has dtype {index.dtype}, must be {" or ".join(map(str, dtypes))}')
    return index


_INTS = _core.int64, _core.int32


def _along(name, x, dim, index, src=None) -> Any:
    """Operands of gather and scatter, rank 0 as vectors; index may have fewer entries than x in the other dimensions.

    An index without elements may have any dtype and shape."""
    dim = dim_of(dim, check(x).ndim)
    if not check(index).size:
        return x, dim, index, src
    x1, index1 = at_least_1d(x), at_least_1d(_index(name, index, _INTS))
    if x1.ndim != index1.ndim:
        raise InvalidArgumentError(f'[{name}] index has rank {index.ndim}, the tensor {x.ndim}')
    if isinstance(src, Tensor):
        src = at_least_1d(src)
        if src.ndim != index1.ndim or any(n < m for n, m in zip(src.shape, index1.shape)):
            raise InvalidArgumentError(f'[{name}] index of shape {index.shape} does not fit src of shape {src.shape}')
        for d, n in enumerate(index1.shape):
            src = ops['slice'](src, d, 0, n) if src.shape[d] != n else src
    if any(n > m for d, (n, m) in enumerate(zip(index1.shape, x1.shape)) if d != dim):
        raise InvalidArgumentError(f'[{name}] index of shape {index.shape} does not fit {x.shape}')
    return x1, dim, cast(index1, _core.int64), src


@short
def gather(input, dim, index, *, sparse_grad=False, out=None):
    """Elements along a dimension, each at an index; the result has the shape of index."""
    x, dim, at, _ = _along('gather', input, dim, cast(index, _core.int64) if check(index).dtype is _core.uint8 else index)
    if not index.size:
        return into(out, full(index.shape, 0, input), True)
    for d, n in enumerate(at.shape):
        if d != dim and x.shape[d] != n:
            x = ops['slice'](x, d, 0, n)
    return into(out, _shaped(ops['gather'](x, dim, at), index.shape), True)


def scatter(input, dim, index, src=None, *, value=None, reduce=None, out=None):
    """input with src, a tensor or a number, written along a dimension, each element at an index; reduce is 'add' or 'multiply'."""
    src = value if src is None else src
    if isinstance(src, Tensor) and src.dtype is not check(input).dtype:
        raise InvalidArgumentError(f'[scatter] dtypes {input.dtype} and {src.dtype} differ')
    if reduce not in (None, 'add', 'multiply'):
        raise InvalidArgumentError(f"[scatter] reduce is 'add' or 'multiply', not {reduce!r}")
    x, dim, at, src = _along('scatter', input, dim, index, src)
    if not index.size:
        return into(out, ops['clone'](input))
    if not isinstance(src, Tensor):
        src = full(at.shape, src, input)
    if reduce is not None:
        return into(out, scatter_reduce(input, dim, index, _reshape(src, index.shape), 'sum' if reduce == 'add' else 'prod'))
    return into(out, _shaped(ops['scatter'](x, dim, at, src), input.shape))


def _check_range(name, index, size):
    if broken((index < 0) | (index >= size)):
        raise OutOfRangeError(f'[{name}] an index is out of range for {size} entries')


def _shaped(x, shape):
    return x if x.shape == shape else _reshape(x, shape)


def _scattered(name, input, dim, index, src, out, *more):
    """The op `name` of input, index and src."""
    if check(src).dtype is not check(input).dtype:
        raise InvalidArgumentError(f'[{name}] dtypes {input.dtype} and {src.dtype} differ')
    x, dim, at, src = _along(name, input, dim, index, src)
    if not index.size:
        return into(out, ops['clone'](input))
    return into(out, _shaped(ops[name](x, dim, at, src, *more), input.shape))


def scatter_add(input, dim, index, src, *, out=None):
    """input with src added along a dimension, each element at an index."""
    return _scattered('scatter_add', input, dim, index, src, out)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    """input combined by 'sum', 'prod', 'mean', 'amax' or 'amin' with the elements of src for each place; without include_self, only
    those."""
    return _scattered('scatter_reduce', input, dim, index, src, out, reduce, include_self)


def reduced_rows(x, at, src, reduce, include_self):
    """Rows x combined with rows src at places at (n,); rows may be single elements."""
    return ops['scatter_reduce'](x, 0, _wide(at, 0, src), src, reduce, include_self)


def _wide(index, dim, x):
    """A vector of indices along dim as one index for each element of x."""
    return ops['expand'](_reshape(index, tuple(index.size if d == dim else 1 for d in range(x.ndim))), x.shape)


@short
def index_select(input, dim, index, *, out=None):
    """Entries along a dimension at the indices in a vector."""
    dim = dim_of(dim, check(input).ndim)
    index = _index('index_select', index, _INTS)
    if index.ndim > 1:
        raise OutOfRangeError('[index_select] index must be a row')
    if not input.ndim and index.size != 1:
        raise OutOfRangeError('[index_select] of rank 0 takes one index')
    found = ops['index_select'](at_least_1d(input), dim, cast(at_least_1d(index), _core.int64))
    return into(out, _reshape(found, ()) if not input.ndim else found)


def _rows_at(name, x, dim, index, source):
    """x of rank 1 or more, dim, a vector of indices, and source in the shape of the entries that they name."""
    dim = dim_of(dim, check(x).ndim)
    if index.ndim > 1:
        raise OutOfRangeError(f'[{name}] index must be a row')
    index = cast(at_least_1d(_index(name, index, _INTS)), _core.int64)
    x1 = at_least_1d(x)
    if isinstance(source, Tensor):
        if source.dtype is not x.dtype:
            raise InvalidArgumentError(f'[{name}] dtypes {x.dtype} and {source.dtype} differ')
        want = (*x1.shape[:dim], index.size, *x1.shape[dim + 1:])
        if source.ndim and source.shape != want or source.size != math.prod(want):
            raise InvalidArgumentError(f'[{name}] source of shape {source.shape}, must be {want}')
        source = _reshape(source, want)
    index = _where(index < 0, index + x1.shape[dim], index) if name in ('index_fill', 'index_copy') and index.size else index
    _check_range(name, index, x1.shape[dim])
    return x1, dim, index, source


def index_add(input, dim, index, source, *, alpha=1, out=None):
    """input with alpha · source added to entries along a dimension."""
    x, dim, index, source = _rows_at('index_add', input, dim, index, source)
    if alpha != 1:
        if isinstance(alpha, float) and rank(x.dtype) < 2:
            raise DtypeError(f'[index_add] alpha {alpha} for dtype {x.dtype}')
        source = source * alpha
    return into(out, _shaped(ops['index_add'](x, dim, index, source), input.shape))


def index_copy(input, dim, index, source, *, out=None):
    """input with source written into entries along a dimension."""
    x, dim, index, source = _rows_at('index_copy', input, dim, index, source)
    found = ops['scatter'](x, dim, _wide(index, dim, source), source) if source.size else ops['clone'](x)
    return named(into(out, _shaped(found, input.shape)), 'IndexCopyBackward0', input, source)


def index_fill(input, dim, index, value):
    """input with one value in entries along a dimension."""
    if isinstance(value, Tensor) and value.ndim:
        raise InvalidArgumentError('[index_fill] value must be a number or of rank 0')
    x, dim, index, _ = _rows_at('index_fill', input, dim, index, None)
    mask = full((x.shape[dim],), False, x, _core.bool)
    mask = ops['scatter'](mask, 0, index, full(index.shape, True, x, _core.bool)) if index.size else mask
    mask = _reshape(mask, tuple(n if d == dim else 1 for d, n in enumerate(x.shape)))
    value = cast(value, x.dtype) if isinstance(value, Tensor) else full((), value, x)
    return named(_shaped(_where(mask, value, x), input.shape), 'IndexFillBackward0', input)


def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """input with entries along a dimension combined with source by 'prod', 'mean', 'amax' or 'amin'."""
    if reduce not in ('prod', 'mean', 'amax', 'amin'):
        raise InvalidArgumentError(f'[index_reduce] reduce is prod, mean, amax or amin, not {reduce!r}')
    x, dim, index, source = _rows_at('index_reduce', input, dim, index, source)
    if not source.size:
        return into(out, ops['clone'](input))
    _check_range('index_reduce', index, x.shape[dim])
    found = reduced_rows(_transpose(x, 0, dim), index, _transpose(source, 0, dim), reduce, include_self)
    return into(out, ops['contiguous'](_reshape(_transpose(found, 0, dim), input.shape)))


def index_put(input, indices, values, accumulate=False):
    """input with values written at indices, one tensor for each of the first dimensions."""
    if values.dtype is not check(input).dtype:
        raise InvalidArgumentError(f'[index_put] dtypes {input.dtype} and {values.dtype} differ')
    return ops['index_put'](input, [ops['not_equal'](i, 0) if i is not None and i.dtype is _core.uint8 else i for i in indices], values, accumulate)


def take(input, index, *, out=None):
    """Elements counted in row-major order, in the shape of index."""
    index = _index('take', index)
    if not check(input).size and index.size:
        raise OutOfRangeError('[take] of a tensor without elements')
    return named(into(out, ops['take'](input, index) if index.size else full(index.shape, 0, input)), 'TakeBackward0', input)


def put(input, index, source, accumulate=False):
    """input with source written, or added, at places counted in row-major order."""
    index = _index('put', index)
    if check(source).dtype is not check(input).dtype or source.size != index.size:
        raise InvalidArgumentError(f'[put] source {source.dtype} {source.shape} for index {index.shape} and input {input.dtype}')
    if not index.size:
        return ops['clone'](input)
    flat, at, source = (_reshape(x, (x.size,)) for x in (input, index, source))
    at = _where(at < 0, at + input.size, at)
    _check_range('put', at, input.size)
    return _reshape(ops['scatter_add' if accumulate else 'scatter'](flat, 0, at, source), input.shape)


def take_along_dim(input, indices, dim=None, *, out=None):
    """Elements along a dimension, each at an index; other dimensions broadcast. Without dim, input is flattened."""
    indices = _index('take_along_dim', indices)
    if dim is None:
        return into(out, ops['gather'](_reshape(check(input), (input.size,)), 0, _reshape(indices, (indices.size,))))
    if check(input).ndim != indices.ndim:
        raise InvalidArgumentError(f'[take_along_dim] indices have rank {indices.ndim}, the tensor {input.ndim}')
    from .._array_api.shapes import take_along_axis
    return into(out, take_along_axis(input, indices, axis=dim_of(dim, input.ndim)))


def nonzero(input, *, out=None, as_tuple=False) -> Any:
    """Indices of the elements that are not 0: (number, rank), or a vector for each dimension."""
    if as_tuple:
        x = at_least_1d(check(input))
        found = ops['nonzero'](x)
        return tuple(ops['select'](found, 1, d) for d in range(x.ndim))
    if not check(input).ndim:
        return into(out, full((int(input != 0), 0), 0, input, _core.int64))
    return into(out, ops['nonzero'](input))


def nonzero_static(input, *, size, fill_value=-1, out=None):
    """nonzero() truncated or padded to `size` rows."""
    if size < 0:
        raise InvalidArgumentError(f'[nonzero_static] size {size} must not be negative')
    found = nonzero(input)[:size]
    more = full((size - found.shape[0], input.ndim), fill_value, input, _core.int64)
    return into(out, ops['concat']([found, more]))


def argwhere(input):
    """nonzero()."""
    return nonzero(input)


def unravel_index(indices, shape):
    """Row-major positions as one tensor for each dimension."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if rank(check(indices).dtype) != 1:
        raise DtypeError(f'[unravel_index] needs integers, not {indices.dtype}')
    if any(n < 0 for n in shape):
        raise InvalidArgumentError(f'[unravel_index] a size of {shape} is negative')
    found, left = [], indices
    for n in reversed(shape):
        found.append(ops['remainder'](left, n))
        left = ops['floor_divide'](left, n)
    return tuple(reversed(found))


@short
def masked_fill(input, mask, value):
    """input with one value where mask is true."""
    if check(mask).dtype is not _core.bool:
        raise DtypeError(f'[masked_fill] mask has dtype {mask.dtype}, must be bool')
    if isinstance(value, Tensor):
        if value.ndim:
            raise InvalidArgumentError('[masked_fill] value must be a number or of rank 0')
        if rank(value.dtype) == 3 and rank(check(input).dtype) < 3:
            raise DtypeError(f'[masked_fill] value of dtype {value.dtype} for dtype {input.dtype}')
        value = cast(value, check(input).dtype)
    elif isinstance(value, complex):
        if rank(check(input).dtype) < 3:
            raise DtypeError(f'[masked_fill] value {value} for dtype {input.dtype}')
        value = full((), value, input)
    else:
        value = full((), int(value) if rank(check(input).dtype) == 1 else value, input)
    return _where(mask, value, input)


def masked_select(input, mask, *, out=None):
    """The elements where mask is true, as a vector."""
    if check(mask).dtype is not _core.bool:
        raise DtypeError(f'[masked_select] mask has dtype {mask.dtype}, must be bool')
    from .shape import broadcast_tensors
    input, mask = broadcast_tensors(check(input), mask)
    if out is not None and (out.shares_memory(input) or out.shares_memory(mask)):
        raise InvalidArgumentError('[masked_select] out shares memory with an argument')
    return into(out, ops['masked_select'](at_least_1d(input), at_least_1d(mask)))


def masked_scatter(input, mask, source):
    """input with the first elements of source, in order, where mask is true."""
    if check(mask).dtype is not _core.bool or check(source).dtype is not check(input).dtype:
        raise DtypeError(f'[masked_scatter] mask {mask.dtype} must be bool, source {source.dtype} of dtype {input.dtype}')
    from .shape import broadcast_tensors
    input, mask = broadcast_tensors(input, mask)
    flat = _reshape(mask, (mask.size,)) if mask.size else mask
    if not mask.size:
        return ops['clone'](input)
    number = ops['cumsum'](cast(flat, _core.int64), 0)
    need = int(number[-1])
    if need > source.size:
        raise InvalidArgumentError(f'[masked_scatter] {source.size} elements for {need} places')
    if not need:
        return ops['clone'](input)
    values = ops['index_select'](_reshape(source, (source.size,)), 0, _where(flat, number - 1, 0))
    return _where(mask, _reshape(values, input.shape), input)


def select_scatter(input, src, dim, index):
    """input with src as entry `index` along a dimension."""
    dim = dim_of(dim, check(input).ndim)
    index = index + input.shape[dim] if index < 0 else index
    if not 0 <= index < input.shape[dim]:
        raise OutOfRangeError(f'[select_scatter] index {index} out of range for {input.shape[dim]} entries')
    return ops['slice_scatter'](input, ops['unsqueeze'](cast(src, input.dtype), dim), dim, index, index + 1)


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """input with src in a slice along a dimension."""
    return ops['slice_scatter'](input, src, dim, start, end, step)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """input with src on a diagonal."""
    from .shape import diag_embed, movedim
    here = ops['diagonal'](check(input), offset, dim1, dim2)
    if src.shape != here.shape:
        raise InvalidArgumentError(f'[diagonal_scatter] src has shape {src.shape}, the diagonal {here.shape}')
    dims = dim_of(dim1, input.ndim), dim_of(dim2, input.ndim)
    rows, columns = (input.shape[d] for d in dims)

    def placed(x):
        wide = movedim(diag_embed(x, offset), (-2, -1), dims)
        for d, n in zip(dims, (rows, columns)):
            have = wide.shape[d]
            if have < n:
                wide = ops['concat']([wide, full((*wide.shape[:d], n - have, *wide.shape[d + 1:]), 0, x)], d)
            wide = ops['slice'](wide, d, 0, n)
        return wide
    mask = placed(full(src.shape, 1, src, _core.int32))
    return _where(mask != 0, placed(src), input)


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """input with src in a view of it by strides."""
    from .shape import in_memory
    if _core._inside_vmap():
        return ops['as_strided_scatter'](input, src, tuple(size), tuple(stride), storage_offset or 0)
    base, order, offset = in_memory(input, storage_offset, 'as_strided_scatter')
    made = ops['as_strided_scatter'](base, src, tuple(size), tuple(stride), offset)
    return named(ops['permute'](made, tuple(sorted(range(made.ndim), key=order.__getitem__))), 'AsStridedScatterBackward0', input, src)


def fill(input, value):
    """One value everywhere in the shape of input."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise InvalidArgumentError('[fill] value must be a number or of rank 0')
        value = cast(value, check(input).dtype)
    else:
        value = full((), value, check(input))
    return _where(full(input.shape, True, input, _core.bool), value, input)
