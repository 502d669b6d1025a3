"""Order and frequency: sorting, medians, quantiles, histograms, distinct values, covariance."""
import math

from .. import _core
from .._core import ops
from .._errors import DtypeError, InvalidArgumentError, OutOfRangeError, UnsupportedDtypeError
from .._levels import levels
from ._backward_names import named
from ._common import Tensor, arange, at_least_1d, broken, cast, check, differentiated, dim_of, floating, full, into, promoted, rank, result_type, somewhere
from .create import linspace
from .return_types import returned

_where = ops['where']
_Histogram = returned('histogram')
_HistogramDD = returned('histogramdd')


def sort(input, dim=-1, descending=False, stable=False, *, out=None):
    """(values, indices) in order along a dimension."""
    dim = dim_of(dim, _real('sort', input).ndim)
    if not input.ndim:
        return into(out, returned('sort')(ops['clone'](input), full((), 0, input, _core.int64)))
    return into(out, returned('sort')(*ops['sort'](input, dim, bool(descending), True)))


def argsort(input, dim=-1, descending=False, stable=False):
    """The indices that sort along a dimension."""
    return sort(input, dim, descending).indices


def msort(input, *, out=None):
    """Values in order along the first dimension."""
    return into(out, sort(input, 0).values)


def topk(input, k, dim=-1, largest=True, sorted=True, *, out=None):
    """The k largest, or smallest, along a dimension: (values, indices)."""
    dim = dim_of(dim, _real('topk', input).ndim)
    x = at_least_1d(input)
    if not 0 <= k <= x.shape[dim]:
        raise OutOfRangeError(f'[topk] k {k} out of range for {x.shape[dim]} entries')
    found = ops['topk'](x, k, dim, bool(largest), bool(sorted))
    return into(out, returned('topk')(*([ops['reshape'](each, ()) for each in found] if not input.ndim and k else found)))


def _real(name, x):
    if rank(check(x).dtype) == 3:
        raise UnsupportedDtypeError(f'[{name}] is not defined for complex numbers')
    return x


_FEW = 32  # entries that are found without a full sort


def kthvalue(input, k, dim=-1, keepdim=False, *, out=None):
    """The k-th smallest along a dimension, counted from 1: (values, indices)."""
    dim = dim_of(dim, _real('kthvalue', input).ndim)
    x = at_least_1d(input)
    if not 1 <= k <= x.shape[dim]:
        raise OutOfRangeError(f'[kthvalue] k {k} out of range for {x.shape[dim]} entries')
    order = ops['topk'](x, k, dim, False) if k <= _FEW else ops['sort'](x, dim)
    return into(out, _pick('kthvalue', order, dim, k - 1, keepdim, input))


def _pick(name, order, dim, at, keepdim, input):
    """Entry `at` of sorted values; an int applies to all rows."""
    found = [ops['contiguous'](ops['slice'](each, dim, at, at + 1)) for each in order]
    values, indices = (each if keepdim and input.ndim else ops['squeeze'](each, dim) for each in found)
    return returned(name)(named(values, _STEPS[name], input), indices)


_STEPS = {'kthvalue': 'KthvalueBackward0', 'median': 'MedianBackward1', 'nanmedian': 'NanmedianBackward1'}


def median(input, dim=None, keepdim=False, *, out=None):
    """The lower median of all elements, or along a dimension (values, indices); NaN propagates."""
    found = _median(input, dim, keepdim, False)
    return into(out, named(found, 'MedianBackward0', input) if dim is None else found)


def nanmedian(input, dim=None, keepdim=False, *, out=None):
    """median() of the elements that are not NaN."""
    return into(out, _median(input, dim, keepdim, True))


_MANY = 1 << 16  # longer vectors are not sorted for one element


def _selected(x, k):
    """The k-th smallest of a vector, from the elements between two of a sample that enclose it (Floyd and Rivest 1975); None if that
    fails,
    or if an element is NaN.
    """
    n = x.size
    step = max(n // 4096, 1)
    sample = ops['sort'](ops['slice'](x, 0, 0, n, step)).values
    middle, margin = k // step, 2 * math.isqrt(sample.size)
    low, high = (ops['select'](sample, 0, min(max(at, 0), sample.size - 1)) for at in (middle - margin, middle + margin))
    below = int(ops['count_nonzero'](x < low))
    inside = ops['masked_select'](x, (x >= low) & (x <= high))
    if not below <= k < below + inside.size or inside.size > n // 4 or below + inside.size + int(ops['count_nonzero'](x > high)) != n:
        return None
    return ops['select'](ops['sort'](inside).values, 0, k - below)


def _median(x, dim, keepdim, skip):
    _real('median', x)
    if dim is None:
        if not x.size:
            return full((), math.nan if rank(x.dtype) == 2 else 0, x)
        flat = ops['reshape'](x, (-1,))
        plain = x.device.type == 'cpu' and not _core._trace_active() and not levels() and not differentiated(x)  # its elements may be read
        found = _selected(flat, (flat.size - 1) // 2) if plain and not skip and flat.size >= _MANY else None
        return _median(flat, 0, False, skip).values if found is None else found
    name, dim, input = 'nanmedian' if skip else 'median', dim_of(dim, x.ndim), x
    x = at_least_1d(x)
    n = x.shape[dim]
    if not n:
        raise OutOfRangeError(f'[median] dim {dim} has no entries')
    order = ops['sort'](x, dim)  # NaN last
    if rank(x.dtype) < 2:
        return _pick(name, order, dim, (n - 1) // 2, keepdim, input)
    nan = ops['count_nonzero'](ops['isnan'](x), dim, True)
    if skip:
        left = n - nan
        at = _where(left > 0, ops['floor_divide'](left - 1, 2), 0)
    else:
        at = _where(nan > 0, n - nan, (n - 1) // 2)
    values, indices = (each if keepdim and input.ndim else ops['squeeze'](each, dim) for each in (ops['gather'](each, dim, at) for each in order))
    return returned(name)(named(values, _STEPS[name], input), indices)


def mode(input, dim=-1, keepdim=False, *, out=None):
    """The most frequent value along a dimension, the smallest if there are several, and its last position: (values, indices)."""
    dim = dim_of(dim, _real('mode', input).ndim)
    x = at_least_1d(input)
    n = x.shape[dim]
    if not n:
        raise OutOfRangeError(f'[mode] dim {dim} has no entries')
    order = ops['sort'](x, dim)
    at = _longest_run(ops['transpose'](order.values.detach(), dim, -1))
    at = ops['transpose'](at, dim, -1)
    index = ops['gather'](order.indices, dim, at)  # equal elements keep their order
    found = ops['gather'](x, dim, index), index
    values, indices = (each if keepdim and input.ndim else ops['squeeze'](each, dim) for each in found)
    return into(out, returned('mode')(named(values, 'ModeBackward0', input), indices))


def _longest_run(rows):
    """Where the longest run of equal elements of each sorted row ends; the first if there are several."""
    n = rows.shape[-1]
    places = arange(n, rows)
    if n == 1:
        return full((*rows.shape[:-1], 1), 0, places)
    begins = ops['slice'](rows, -1, 1, n) != ops['slice'](rows, -1, 0, n - 1)
    later = ops['slice'](places, 0, 1, n)
    since = later - ops['cummax'](begins * later, -1).values  # since the run's first
    return ops['argmax'](ops['concat']([full((*rows.shape[:-1], 1), 0, places), since], -1), -1, True)


_INTERPOLATIONS = 'linear', 'lower', 'higher', 'midpoint', 'nearest'


def quantile(input, q, dim=None, keepdim=False, *, interpolation='linear', out=None):
    """Values below which a share q, from 0 to 1, of the elements lies; q of rank 1 adds a first dimension. NaN propagates."""
    return into(out, _quantile(input, q, dim, keepdim, interpolation, False))


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation='linear', out=None):
    """quantile() of the elements that are not NaN."""
    return into(out, _quantile(input, q, dim, keepdim, interpolation, True))


def _quantile(x, q, dim, keepdim, interpolation, skip):
    if not check(x).size:
        raise InvalidArgumentError('[quantile] needs elements')
    if x.dtype not in (_core.float32, _core.float64):
        raise DtypeError(f'[quantile] needs float32 or float64, not {x.dtype}')
    if interpolation not in _INTERPOLATIONS:
        raise InvalidArgumentError(f'[quantile] interpolation is one of {", ".join(_INTERPOLATIONS)}, not {interpolation!r}')
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise InvalidArgumentError(f'[quantile] q is {q}, must be 0 to 1')
        q = full((), q, x)
    elif q.ndim > 1 or q.dtype is not x.dtype:
        raise InvalidArgumentError(f'[quantile] q must be a number or a row of dtype {x.dtype}')
    elif broken((q < 0) | (q > 1)):
        raise InvalidArgumentError('[quantile] q must be 0 to 1')
    ndim = x.ndim
    if dim is None:
        kept = (1,) * ndim
        x = ops['reshape'](x, (-1,))
    else:
        dim = dim_of(dim, ndim)
        kept = tuple(1 if d == dim else n for d, n in enumerate(x.shape))
        x = ops['transpose'](at_least_1d(x), dim, -1)
    ordered = ops['sort'](x, -1).values
    n = x.shape[-1]
    nan = ops['count_nonzero'](ops['isnan'](x), -1, True)
    left = cast(n - nan if skip else nan * 0 + n, x.dtype)
    where = ops['reshape'](q, (-1,)) * _where(left > 0, left - 1, 0.0)  # (..., q)
    if not skip:
        where = _where(nan > 0, n - 1.0, where)
    if interpolation == 'lower':
        where = ops['floor'](where)
    elif interpolation == 'higher':
        where = ops['ceil'](where)
    elif interpolation == 'nearest':
        where = ops['round'](where)
    low = ops['floor'](where)
    below = ops['gather'](ordered, -1, cast(low, _core.int64))
    if interpolation in ('linear', 'midpoint'):
        weight = where - low if interpolation == 'linear' else ops['full_like'](where, 0.5)
        above = ops['gather'](ordered, -1, cast(ops['ceil'](where), _core.int64))
        gap = above - below  # from the nearer end, which may be infinite
        below = _where(weight < 0.5, below + gap * weight, above - gap * (1 - weight))
    found = ops['permute'](below, (below.ndim - 1, *range(below.ndim - 1)))  # q first
    if dim is not None:
        found = ops['transpose'](ops['unsqueeze'](found, -1), dim + 1, -1)
    found = ops['reshape'](found, (found.shape[0], *kept)) if keepdim or dim is None else ops['squeeze'](found, dim + 1)
    if dim is None and not keepdim:
        found = ops['reshape'](found, (found.shape[0],))
    return ops['select'](found, 0, 0) if not q.ndim else found


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, or slices along dim, in order; on request with the index of each in them, and how often each occurs."""
    from .._array_api.values import _unique
    if dim is None:
        values, _, inverse, counts = _unique(check(input).detach())
        found = (values, inverse, counts)
    else:
        found = _unique_slices(check(input).detach(), dim_of(dim, input.ndim))
    return _asked(found, return_inverse, return_counts)


def _asked(found, inverse, counts):
    made = [each for each, wanted in zip(found, (True, inverse, counts)) if wanted]
    return tuple(made) if len(made) > 1 else made[0]


def _rows(x, dim):
    """Slices along dim as rows (n, elements)."""
    x = ops['permute'](x, (dim, *(d for d in range(x.ndim) if d != dim)))
    return ops['reshape'](x, (x.shape[0], math.prod(x.shape[1:])))


def _unique_slices(x, dim):
    n = x.shape[dim]
    if not x.size:
        if n and math.prod(s for d, s in enumerate(x.shape) if d != dim) == 0:
            raise InvalidArgumentError('[unique] slices without elements cannot be told apart')
        return x, arange(0, x), arange(0, x)
    rows, order = _rows(x, dim), arange(n, x)
    for column in range(rows.shape[1] - 1, -1, -1):  # stable sorts, the last column first
        keys = ops['index_select'](ops['select'](rows, 1, column), 0, order)
        order = ops['index_select'](order, 0, ops['argsort'](keys, 0, False, True))
    ordered = ops['index_select'](rows, 0, order)
    new = ops['any'](ordered[1:] != ordered[:-1], 1)
    new = ops['concat']([full((1,), True, x, _core.bool), new])
    starts = ops['select'](ops['nonzero'](new), 1, 0)
    group = ops['cumsum'](cast(new, _core.int64), 0) - 1
    inverse = ops['scatter'](order, 0, order, group)
    counts = ops['concat']([starts[1:], full((1,), n, x, _core.int64)]) - starts
    return ops['index_select'](x, dim, ops['index_select'](order, 0, starts)), inverse, counts


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Elements, or slices along dim, without those that equal the one before."""
    x = check(input).detach()
    if dim is None:
        shape, x, dim = x.shape, ops['reshape'](x, (x.size,)), 0
    else:
        dim = dim_of(dim, x.ndim)
        shape = (x.shape[dim],)
    n = x.shape[dim]
    if not x.size:
        return _asked((x, ops['reshape'](arange(0, x), shape if math.prod(shape) == 0 else (0,)), arange(0, x)), return_inverse, return_counts)
    rows = _rows(x, dim)
    new = ops['concat']([full((1,), True, x, _core.bool), ops['any'](rows[1:] != rows[:-1], 1)])
    starts = ops['select'](ops['nonzero'](new), 1, 0)
    inverse = ops['reshape'](ops['cumsum'](cast(new, _core.int64), 0) - 1, shape)
    counts = ops['concat']([starts[1:], full((1,), n, x, _core.int64)]) - starts
    return _asked((ops['index_select'](x, dim, starts), inverse, counts), return_inverse, return_counts)


def bincount(input, weights=None, minlength=0):
    """How often 0, 1, … occur in a vector of integers, or the sums of their weights."""
    if check(input).ndim != 1 or rank(input.dtype) != 1:
        raise UnsupportedDtypeError(f'[bincount] needs a row of integers, not {input.dtype} of shape {input.shape}')
    if minlength < 0:
        raise InvalidArgumentError(f'[bincount] minlength {minlength} must not be negative')
    if somewhere(input < 0):
        raise InvalidArgumentError('[bincount] elements must not be negative')
    if weights is not None and weights.shape != input.shape:
        raise InvalidArgumentError(f'[bincount] weights of shape {weights.shape} for {input.shape}')
    n = max(int(ops['max'](input)) + 1 if input.size else 0, minlength)
    if weights is None:
        weights = full(input.shape, 1, input, _core.int64)
    elif weights.dtype is not _core.float32:
        weights = cast(weights, _core.float64)
    return ops['scatter_add'](full((n,), 0, input, weights.dtype), 0, cast(input, _core.int64), weights)


def histc(input, bins=100, min=0, max=0, *, out=None):
    """How many elements fall into each of equal bins from min to max, by default the range of the elements."""
    x = ops['reshape'](_real('histc', input).detach(), (-1,)) if input.size else input.detach()
    if bins <= 0:
        raise InvalidArgumentError(f'[histc] {bins} bins')
    low, high = float(min), float(max)
    if low == high and input.size:
        low, high = float(ops['min'](x)), float(ops['max'](x))
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidArgumentError(f'[histc] the range from {low} to {high} is not finite')
    if low > high:
        raise InvalidArgumentError('[histc] max must be larger than min')
    if not input.size:
        return into(out, full((bins,), 0, input))
    inside = (x >= low) & (x <= high)
    at = ops['floor']((x - low) * bins / (high - low))  # in the dtype of x, as PyTorch counts
    at = cast(ops['clamp'](_where(inside, at, 0.0), 0, bins - 1), _core.int64)
    return into(out, ops['scatter_add'](full((bins,), 0, input), 0, at, cast(inside, input.dtype)))


def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """(hist, bin_edges): how many elements, or what weight, each bin holds; bins is their number or their edges."""
    x = ops['reshape'](check(input).detach(), (input.size,))
    hist, edges = _histogram([x], [bins], None if range is None else [range], weight, density)
    return into(out, _Histogram(hist, edges[0]))


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """(hist, bin_edges) for points (…, D), with bins and edges for each of the D coordinates."""
    d = check(input).shape[-1]
    x = ops['reshape'](input.detach(), (math.prod(input.shape[:-1]), d))
    bins = [bins] * d if isinstance(bins, int) else list(bins)
    if len(bins) != d:
        raise InvalidArgumentError(f'[histogramdd] {len(bins)} bins for {d} coordinates')
    ranges = None if range is None else [range[2 * i:2 * i + 2] for i in builtin_range(d)]
    hist, edges = _histogram([ops['select'](x, 1, i) for i in builtin_range(d)], bins, ranges, weight, density)
    return _HistogramDD(hist, tuple(edges))


def _histogram(columns, bins, ranges, weight, density):
    edges, index, inside = [], None, None
    for i, (x, bin) in enumerate(zip(columns, bins)):
        if isinstance(bin, Tensor):
            edge = bin
        else:
            low, high = ranges[i] if ranges else (float(ops['min'](x)), float(ops['max'](x))) if x.size else (0.0, 1.0)
            if low == high:
                low, high = low - 0.5, high + 0.5
            edge = linspace(low, high, bin + 1, dtype=x.dtype, device=x.device)
        edges.append(edge)
        n = edge.size - 1
        at = ops['searchsorted'](edge, x, True) - 1
        at = _where(x == edge[n], n - 1, at)  # the last bin includes its right edge
        here = (x >= edge[0]) & (x <= edge[n])
        index = at if index is None else index * n + at
        inside = here if inside is None else inside & here
    shape = tuple(edge.size - 1 for edge in edges)
    x = columns[0]
    weights = full(x.shape, 1, x) if weight is None else ops['reshape'](weight, x.shape)
    hist = ops['scatter_add'](full((math.prod(shape),), 0, x), 0, _where(inside, index, 0), weights * cast(inside, x.dtype))
    hist = ops['reshape'](hist, shape)
    if density:
        hist = hist / ops['sum'](hist)
        for i, edge in enumerate(edges):
            width = edge[1:] - edge[:-1]
            hist = hist / ops['reshape'](width, tuple(width.size if d == i else 1 for d in builtin_range(len(edges))))
    return hist, edges


builtin_range = range


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, out=None, sorter=None):
    """Where in sorted rows (…, n) the values (…, m) belong: before equal ones, or after them (right=True, side='right')."""
    if side not in (None, 'left', 'right'):
        raise InvalidArgumentError(f"[searchsorted] side is 'left' or 'right', not {side!r}")
    if side == 'left' and right:
        raise InvalidArgumentError('[searchsorted] side and right contradict each other')
    right = right or side == 'right'
    rows = check(sorted_sequence)
    number = not isinstance(input, Tensor)
    values = full((), input, rows) if number else input
    if sorter is not None:
        if sorter.shape != rows.shape or sorter.dtype is not _core.int64:
            raise InvalidArgumentError('[searchsorted] sorter must be int64 of the shape of sorted_sequence')
        rows = ops['gather'](rows, -1, sorter)
    if not isinstance(input, Tensor) and rows.ndim > 1:
        raise InvalidArgumentError('[searchsorted] a number is searched in one row only')
    if rows.dtype is not values.dtype and not number:
        dtype = result_type(rows, at_least_1d(values))
        rows, values = cast(rows, dtype), cast(values, dtype)
    if rows.ndim != 1 and rows.shape[:-1] != values.shape[:-1]:
        raise InvalidArgumentError(f'[searchsorted] rows of shape {rows.shape} and values of shape {values.shape}')
    found = ops['searchsorted'](rows, values, right)
    return into(out, cast(found, _core.int32 if out_int32 else _core.int64))


def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The bucket between the boundaries in which each element lies."""
    if check(boundaries).ndim != 1:
        raise InvalidArgumentError('[bucketize] boundaries must be one row')
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def isin(elements, test_elements, *, assume_unique=False, invert=False, out=None):
    """Which elements occur among others."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError('[isin] needs a Tensor')
    x = elements if isinstance(elements, Tensor) else full((), elements, test_elements)
    tests = ops['reshape'](test_elements, (test_elements.size,)) if isinstance(test_elements, Tensor) else full((1,), test_elements, x)
    found = _among(*promoted(x, tests)) if tests.size else full(x.shape, False, x, _core.bool)
    return into(out, ~found if invert else found)


_FEW_PAIRS = 1024  # are compared faster than sorted


def _among(x, tests):
    """Where x has an element of a vector."""
    if rank(x.dtype) == 3 or x.size * tests.size <= _FEW_PAIRS:  # complex numbers have no order
        return ops['any'](ops['unsqueeze'](x, -1) == tests, -1)
    if x.dtype is _core.bool:
        x, tests = cast(x, _core.uint8), cast(tests, _core.uint8)
    ordered = ops['sort'](tests.detach(), 0).values
    at = ops['minimum'](ops['searchsorted'](ordered, x.detach()), tests.size - 1)
    return ops['equal'](ops['take'](ordered, at), x)


def cov(input, *, correction=1, fweights=None, aweights=None):
    """Covariances of variables, the rows of (variables, observations)."""
    x = check(input)
    if x.ndim > 2:
        raise InvalidArgumentError(f'[cov] needs at most two dimensions, not {x.ndim}')
    if x.dtype is _core.bool:
        raise InvalidArgumentError('[cov] is not defined for bool')
    one = x.ndim < 2
    x = floating(ops['reshape'](x, (1, x.size)) if one else x)
    n = x.shape[1]
    aweights = aweights if aweights is None or rank(check(aweights).dtype) != 2 else cast(aweights, _core.float64)
    weights = _observations(fweights, aweights, n)
    if weights is None:
        norm = max(n - correction, 0)
        average = ops['mean'](x, 1, True) if n else ops['sum'](x, 1, True) / 0.0
        gap = x - average
        wide = gap
    else:
        weights = cast(weights, _core.float64 if rank(weights.dtype) < 2 else None)
        total = ops['sum'](weights)
        if not float(total):
            raise ZeroDivisionError('[cov] the weights add up to 0')
        spread = total if aweights is None or not correction else None
        if spread is None:
            norm = total - ops['sum'](weights * aweights) / total * correction
        else:
            norm = total - correction
        weights = cast(weights, ops['abs'](x).dtype)
        average = ops['sum'](x * weights, 1, True) / cast(total, weights.dtype)
        gap = x - average
        wide = gap * weights
    other = ops['conj'](gap) if rank(gap.dtype) == 3 else gap
    found = ops['matmul'](wide, ops['transpose'](other, 0, 1)) / (ops['clamp'](cast(norm, ops['abs'](x).dtype), 0) if isinstance(norm, Tensor) else float(norm))
    return ops['squeeze'](found, (0, 1)) if one or found.size == 1 and x.shape[0] == 1 else found


def _observations(fweights, aweights, n):
    for name, weights in (('fweights', fweights), ('aweights', aweights)):
        if weights is None:
            continue
        if weights.ndim > 1 or weights.size != n:
            raise InvalidArgumentError(f'[cov] {name} of shape {weights.shape} for {n} observations')
        if (rank(weights.dtype) != 1) if name == 'fweights' else (rank(weights.dtype) != 2):
            raise DtypeError(f'[cov] {name} has dtype {weights.dtype}')
        if broken(weights < 0):
            raise InvalidArgumentError(f'[cov] {name} must not be negative')
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


def corrcoef(input):
    """Correlations of variables, the rows of (variables, observations)."""
    found = cov(input)
    if not found.ndim:
        return found / found
    scale = ops['sqrt'](ops['diagonal'](found))
    scale = ops['real'](scale) if rank(scale.dtype) == 3 else scale
    found = found / ops['unsqueeze'](scale, 1) / ops['unsqueeze'](scale, 0)
    if rank(found.dtype) == 3:
        return ops['complex'](ops['clamp'](ops['real'](found), -1, 1), ops['clamp'](ops['imag'](found), -1, 1))
    return ops['clamp'](found, -1, 1)
