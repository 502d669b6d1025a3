"""Functions over shapes give NumPy's values: reductions, manipulation, indexing, sorting, sets, products."""
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenon

sys.path.insert(0, str(Path(__file__).parent))
from generated import (ALL, COMPLEX, FLOATS, INTEGERS, LAYOUTS, NUMERIC, REAL, pair, pairs, same, seeds,
                       shapes)

sides = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple)
# The dtype of NumPy's sums and products if none is given, which may depend on the platform.
WIDE = {**dict.fromkeys(('int8', 'int16', 'int32', 'int64'), 'int64'),
        **dict.fromkeys(('uint8', 'uint16', 'uint32', 'uint64'), 'uint64')}
rng_of = np.random.default_rng


def axes_of(data, ndim):
    """None, one axis or a tuple of them, from either end."""
    one = st.integers(-ndim, ndim - 1) if ndim else st.nothing()
    some = st.lists(st.integers(0, max(ndim - 1, 0)), unique=True, max_size=ndim).map(tuple)
    return data.draw(st.none() | one | some if ndim else st.none() | st.just(()))


REDUCTIONS = {'sum': NUMERIC, 'prod': NUMERIC, 'max': REAL, 'min': REAL, 'mean': FLOATS + COMPLEX, 'var': FLOATS, 'std': FLOATS,
              'all': ALL, 'any': ALL, 'count_nonzero': ALL}


@pytest.mark.parametrize('name', REDUCTIONS)
def test_reduction(name):
    @given(pairs(REDUCTIONS[name]), st.data(), st.booleans())
    def check(given, data, keepdims):
        array, x = given
        axis = axes_of(data, array.ndim)
        extra = {'correction': data.draw(st.sampled_from((0.0, 1, 0.5)))} if name in ('var', 'std') else {}
        reduced = array.shape if axis is None else [array.shape[i] for i in (axis if isinstance(axis, tuple) else (axis,))]
        if name in ('max', 'min') and 0 in reduced:
            if x.size == 0 and 0 not in [n for i, n in enumerate(array.shape) if axis is not None and i not in np.ravel(axis)]:
                with pytest.raises(ValueError):
                    getattr(tenon, name)(x, axis=axis)
            return
        given = {'ddof': extra['correction']} if extra else {}
        count = np.prod(reduced, dtype=int)
        if extra and count <= extra['correction']:
            return  # the standard leaves it open
        with np.errstate(all='ignore'), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            expected = getattr(np, name)(array, axis=axis, keepdims=keepdims, **given)
        result = getattr(tenon, name)(x, axis=axis, keepdims=keepdims, **extra)
        dtype = WIDE.get(array.dtype.name) if name in ('sum', 'prod') else 'int64' if name == 'count_nonzero' else None
        if result.dtype.is_floating_point or result.dtype.is_complex:
            scale = max(1.0, float(np.abs(array).sum())) if name == 'sum' else float(np.abs(array).max(initial=1))
            got = result.numpy()
            assert got.dtype == expected.dtype and got.shape == expected.shape
            limit = 1e-5 if result.dtype.name in ('float32', 'complex64') else 1e-13
            np.testing.assert_allclose(got, expected, rtol=20 * limit, atol=limit * scale)
        else:
            same(result, expected, dtype)
    check()


@pytest.mark.parametrize('name', ['argmax', 'argmin'])
def test_arg_reduction(name):
    @given(pairs(REAL, sides.filter(all)), st.data(), st.booleans())
    def check(given, data, keepdims):
        array, x = given
        axis = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1))
        same(getattr(tenon, name)(x, axis=axis, keepdims=keepdims), getattr(np, name)(array, axis=axis, keepdims=keepdims))
    check()


@pytest.mark.parametrize('name', ['cumulative_sum', 'cumulative_prod'])
def test_cumulative(name):
    @given(pairs(NUMERIC, sides), st.data(), st.booleans())
    def check(given, data, include):
        array, x = given
        axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
        expected = getattr(np, name)(array, axis=axis, include_initial=include)
        same(getattr(tenon, name)(x, axis=axis, include_initial=include), expected, WIDE.get(array.dtype.name), times=50)
    check()


def some_axis(data, array):
    return data.draw(st.integers(-array.ndim, array.ndim - 1))


# What is drawn besides the tensor: arguments by position and by name.
SHAPING = {
    'flip': lambda d, a: ((), {'axis': axes_of(d, a.ndim)}),
    'expand_dims': lambda d, a: ((), {'axis': d.draw(st.integers(-a.ndim - 1, a.ndim))}),
    'permute_dims': lambda d, a: ((tuple(d.draw(st.permutations(range(a.ndim)))),), {}),
    'moveaxis': lambda d, a: ((some_axis(d, a), some_axis(d, a)), {}),
    'roll': lambda d, a: ((d.draw(st.integers(-9, 9)),), {'axis': d.draw(st.none() | st.integers(-a.ndim, a.ndim - 1))}),
    'repeat': lambda d, a: ((d.draw(st.integers(0, 3)),), {'axis': d.draw(st.none() | st.integers(-a.ndim, a.ndim - 1))}),
    'tile': lambda d, a: ((d.draw(st.lists(st.integers(0, 3), max_size=5).map(tuple)),), {}),
    'reshape': lambda d, a: ((-1,) if a.size else (a.shape,), {}),
    'unstack': lambda d, a: ((), {'axis': some_axis(d, a)}),
    'broadcast_to': lambda d, a: (((d.draw(st.integers(0, 3)),) + a.shape,), {}),
    'diff': lambda d, a: ((), {'axis': some_axis(d, a), 'n': d.draw(st.integers(0, 3))}),
    'nonzero': lambda d, a: ((), {}),
}


@pytest.mark.parametrize('name', SHAPING)
def test_manipulation(name):
    @given(pairs(ALL if name != 'diff' else NUMERIC, sides), st.data())
    def check(given, data):
        array, x = given
        args, named = SHAPING[name](data, array)
        expected, result = getattr(np, name)(array, *args, **named), getattr(tenon, name)(x, *args, **named)
        if isinstance(expected, tuple):
            assert isinstance(result, tuple) and len(result) == len(expected)
            for mine, theirs in zip(result, expected):
                same(mine, theirs)
        else:
            same(result, expected)
    check()


@given(seeds, shapes, st.sampled_from(ALL), st.data())
def test_joining(seed, shape, dtype, data):
    rng = rng_of(seed)
    arrays, xs = zip(*(pair(rng, shape, dtype, data.draw(st.sampled_from(LAYOUTS))) for _ in range(3)))
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    same(tenon.stack(xs, axis=axis), np.stack(arrays, axis=axis))
    same(tenon.concat(xs, axis=None), np.concat(arrays, axis=None))
    if shape:
        axis = data.draw(st.integers(-len(shape), len(shape) - 1))
        same(tenon.concat(list(xs), axis=axis), np.concat(arrays, axis=axis))
    a, x = pair(rng, (3,) + shape[:1], 'float32')
    for mine, theirs in zip(tenon.broadcast_arrays(x[..., None], tenon.ones((4,))), np.broadcast_arrays(a[..., None], np.ones(4, 'f'))):
        same(mine, theirs)


@given(pairs(ALL, sides.filter(all)), seeds, st.data())
def test_taking(given, seed, data):
    array, x = given
    rng, axis = rng_of(seed), some_axis(data, array)
    size = array.shape[axis]
    row = rng.integers(0, size, 5)
    same(tenon.take(x, tenon.asarray(row), axis=axis), np.take(array, row, axis=axis))
    index = rng.integers(0, size, array.shape)
    same(tenon.take_along_axis(x, tenon.asarray(index), axis=axis), np.take_along_axis(array, index, axis=axis))
    counts = rng.integers(0, 3, size)
    same(tenon.repeat(x, tenon.asarray(counts), axis=axis), np.repeat(array, counts, axis=axis))
    mask, held = pair(rng, array.shape, 'bool')
    same(x[held], array[mask])
    same(tenon.where(held, x, x[(0,) * x.ndim]), np.where(mask, array, array[(0,) * array.ndim]))


@pytest.mark.parametrize('size, count', [(1, 3), (3, 1), (1, 1)])
def test_repeat_gives_memory_of_its_own(size, count):
    x = tenon.ones(size)
    y = tenon.repeat(x, count)
    y[0] = 5
    assert x.tolist() == [1] * size and y.tolist() == [5] + [1] * (size * count - 1)


@given(pairs(REAL, sides), st.data(), st.booleans())
def test_sorting(given, data, descending):
    array, x = given
    axis = some_axis(data, array)
    expected = np.sort(array, axis=axis)
    same(tenon.sort(x, axis=axis, descending=descending), np.flip(expected, axis=axis) if descending else expected)
    order = tenon.argsort(x, axis=axis, descending=descending)
    same(tenon.take_along_axis(x, order, axis=axis), np.flip(expected, axis=axis) if descending else expected)
    if not descending:
        same(order, np.argsort(array, axis=axis, stable=True))
    row = np.sort(array, axis=None)
    for side in ('left', 'right'):
        same(tenon.searchsorted(tenon.asarray(row), x, side=side), np.searchsorted(row, array, side=side))


@given(pairs(ALL), st.booleans())
def test_sets(given, rounded):
    array, x = given
    if rounded and array.dtype.kind == 'c':  # equal ones among them, and -0
        array, x = np.round(array / 100) * np.float32(-0.5), tenon.round(x / 100) * -0.5
    mine, theirs = tenon.unique_all(x), np.unique_all(array)
    assert mine._fields == theirs._fields == ('values', 'indices', 'inverse_indices', 'counts')
    for got, expected in zip(mine, theirs):
        same(got, expected)
    same(tenon.unique_values(x), theirs.values)
    same(tenon.unique_counts(x).counts, theirs.counts)
    assert tenon.unique_counts(x)._fields == ('values', 'counts')
    same(tenon.unique_inverse(x).inverse_indices, theirs.inverse_indices)


@given(seeds, st.sampled_from(INTEGERS + FLOATS + COMPLEX), st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_products(seed, dtype, n):
    rng = rng_of(seed)
    (a, x), (b, y) = pair(rng, n[:3], dtype, LAYOUTS[seed % 5]), pair(rng, (n[2], n[3]), dtype, LAYOUTS[seed % 3])
    same(tenon.matmul(x, y), np.matmul(a, b), times=1e4)
    same(tenon.tensordot(x, y, axes=1), np.tensordot(a, b, axes=1), times=1e4)
    same(tenon.tensordot(x, y, axes=((2,), (0,))), np.tensordot(a, b, axes=((2,), (0,))), times=1e4)
    same(tenon.tensordot(x, y, axes=0), np.tensordot(a, b, axes=0), times=10)
    same(tenon.vecdot(x, y.T[:1]) if n[3] else tenon.vecdot(x, x), np.vecdot(a, b.T[:1]) if n[3] else np.vecdot(a, a), times=1e4)
    same(tenon.matrix_transpose(x), np.matrix_transpose(a))
