"""x[…] and x[…] = … as NumPy has them: slices, None, Ellipsis, masks, integer arrays, for all layouts. Integers beside arrays pick first."""
import sys
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices

import tenon

sys.path.insert(0, str(Path(__file__).parent))
from generated import ALL, LAYOUTS, pair, same, seeds

sides = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def check(seed, shape, dtype, layout, key, tensor_key):
    """The same elements are read, and written from numbers, tensors of the shape, and those that broadcast."""
    rng = np.random.default_rng(seed)
    array, x = pair(rng, shape, dtype, layout)
    expected = array[key]
    same(x[tensor_key], expected)
    sources = [pair(rng, expected.shape, dtype, layout), pair(rng, expected.shape[-1:], dtype)]
    for source, y in sources:
        array, x = array.copy(), x.copy()
        array[key], x[tensor_key] = source, y
        same(x, array)
    array[key] = x[tensor_key] = 1
    same(x, array)


@settings(max_examples=60)
@given(seeds, sides, st.sampled_from(ALL), st.sampled_from(LAYOUTS), st.data())
def test_basic(seed, shape, dtype, layout, data):
    key = data.draw(basic_indices(shape, allow_newaxis=True, max_dims=8))
    check(seed, shape, dtype, layout, key, key)


@settings(max_examples=60)
@given(seeds, sides, st.sampled_from(ALL), st.sampled_from(LAYOUTS), st.data())
def test_integer_arrays(seed, shape, dtype, layout, data):
    rng = np.random.default_rng(seed)
    picked, key = data.draw(st.sampled_from([(), (3,), (2, 3), (0,)])), []
    for n in shape:
        what = data.draw(st.sampled_from(['array', 'row', 'slice', 'int', 'all']))
        if what in ('array', 'row'):
            key.append(rng.integers(-n, n, picked[-1:] if what == 'row' else picked))
        else:
            key.append({'slice': slice(None, None, -1), 'int': int(rng.integers(-n, n)), 'all': slice(None)}[what])
    key = tuple(key)
    mine = tuple(tenon.asarray(each) if isinstance(each, np.ndarray) else each for each in key)
    array, x = pair(rng, shape, dtype, layout)
    view = array[(*(each if isinstance(each, int) else slice(None) for each in key), ...)]
    rest = tuple(each for each in key if not isinstance(each, int))
    same(x[mine], view[rest])
    view[rest] = x[mine] = 1
    same(x, array)


@settings(max_examples=40)
@given(seeds, sides, st.sampled_from(ALL), st.sampled_from(LAYOUTS), st.data())
def test_masks(seed, shape, dtype, layout, data):
    rng = np.random.default_rng(seed)
    over = data.draw(st.integers(1, len(shape)))
    mask = rng.random(shape[:over]) < data.draw(st.sampled_from([0., 0.5, 1.]))
    rest = data.draw(st.sampled_from([(), (Ellipsis,)]))
    check(seed, shape, dtype, layout, (mask, *rest), (tenon.asarray(mask), *rest))
