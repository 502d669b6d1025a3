"""Generated arrays: shapes, dtypes, layouts and values, the same for NumPy and for tenon."""
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import tenon

# The same cases each time, so that a failure can be repeated.
settings.register_profile('tenon', derandomize=True, database=None, deadline=None, max_examples=12)
settings.load_profile('tenon')

INTEGERS = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64']
FLOATS = ['float32', 'float64']
COMPLEX = ['complex64', 'complex128']
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX
ALL = ['bool'] + NUMERIC

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
seeds = st.integers(0, 2 ** 32 - 1)


def _floats(rng, shape, dtype, special):
    x = (rng.standard_normal(shape) * rng.choice([0.5, 3, 100], shape)).astype(dtype)
    if special:
        limits = np.finfo(dtype)
        extreme = np.array([np.nan, np.inf, -np.inf, 0., -0., 1, -1, 0.5, -2, 3, limits.max, limits.min, limits.tiny,
                            limits.smallest_subnormal, np.pi / 2, -1.5, 2.5], dtype=dtype)
        x = np.where(rng.random(shape) < 0.6, rng.choice(extreme, shape), x)
    return x.astype(dtype)


def values(rng, shape, dtype, special=False):
    """An array of numbers; special: with extremes, NaN and infinities."""
    kind = np.dtype(dtype).kind
    if kind == 'b':
        return rng.random(shape) < 0.5
    if kind == 'f':
        return _floats(rng, shape, dtype, special)
    if kind == 'c':
        part = np.finfo(dtype).dtype
        x = np.empty(shape, dtype)
        x.real, x.imag = _floats(rng, shape, part, special), _floats(rng, shape, part, special)
        return x
    limits = np.iinfo(dtype)
    x = rng.integers(max(limits.min, -20), 20, shape, dtype=np.int64).astype(dtype)
    if special:
        extreme = np.array([limits.min, limits.max, limits.max - 1, 0, 1], dtype=dtype)
        x = np.where(rng.random(shape) < 0.3, rng.choice(extreme, shape), x)
    return x.astype(dtype)


def _transposed(x):
    return x.T


def _reversed(x):
    return x[tuple(slice(None, None, -1) for _ in x.shape)]


def _strided(x):
    return x[tuple(slice(None, None, 2) for _ in x.shape)]


def _shifted(x):
    return x[tuple(slice(1, None) for _ in x.shape)]


def _same(x):
    return x


LAYOUTS = [_same, _transposed, _reversed, _strided, _shifted]


def pair(rng, shape, dtype, layout=_same, special=False):
    """(NumPy array, tensor) of a shape with equal elements, the tensor in a generated layout."""
    base = {_strided: [2 * n for n in shape], _shifted: [n + 1 for n in shape], _transposed: shape[::-1]}.get(layout, shape)
    array = values(rng, tuple(base), dtype, special)
    made = tenon.asarray(array, copy=True)
    array, x = (layout(array), layout(made)) if array.ndim else (array, made)
    assert x.shape == array.shape == tuple(shape)
    return array, x


@st.composite
def pairs(draw, dtypes, shapes=shapes, special=False):
    """Pairs of one dtype out of some."""
    rng = np.random.default_rng(draw(seeds))
    return pair(rng, draw(shapes), draw(st.sampled_from(dtypes)), draw(st.sampled_from(LAYOUTS)), special)


# A few units in the last place; sums of several numbers and functions of functions get more.
TOLERANCE = {'float32': 2e-6, 'complex64': 4e-6, 'float64': 1e-14, 'complex128': 3e-14}


def same(result, expected, dtype=None, times=1, zeros=False):
    """result has the elements, shape and dtype of expected (or another given dtype); zeros: and the signs of its zeros."""
    expected = np.asarray(expected)
    dtype = expected.dtype.name if dtype is None else np.dtype(dtype).name
    assert isinstance(result, tenon.Tensor)
    assert result.dtype.name == dtype, f'dtype {result.dtype}, not {dtype}'
    assert result.shape == expected.shape, f'shape {result.shape}, not {expected.shape}'
    got = result.numpy()
    if got.dtype.kind not in 'fc':
        np.testing.assert_array_equal(got, expected)
        return
    tolerance = TOLERANCE[dtype] * times
    limits = np.finfo(dtype)
    with np.errstate(all='ignore'):
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=float(limits.tiny) * 4)
    if zeros:
        for part in ('real', 'imag'):
            mine, theirs = getattr(got, part), getattr(expected, part)
            zero = (mine == 0) & (theirs == 0)
            np.testing.assert_array_equal(np.signbit(mine[zero]), np.signbit(theirs[zero]), err_msg=f'signs of zeros, {part}')
