"""Elementwise functions give NumPy's values, special ones included, for all shapes, dtypes and layouts."""
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenon

sys.path.insert(0, str(Path(__file__).parent))
from generated import (ALL, COMPLEX, FLOATS, INTEGERS, LAYOUTS, NUMERIC, REAL, pair, pairs, same, seeds,
                       shapes)



def np_errors():
    return np.errstate(all='ignore')


FLOATING = FLOATS + COMPLEX
UNARY = {
    **dict.fromkeys('acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan '
                    'tanh'.split(), FLOATING),
    **dict.fromkeys('abs negative positive sign square'.split(), NUMERIC),
    **dict.fromkeys('ceil floor trunc'.split(), REAL), 'round': NUMERIC, 'signbit': FLOATS, 'logical_not': ['bool'],
    'conj': COMPLEX, 'imag': COMPLEX, 'real': NUMERIC, 'bitwise_invert': ['bool'] + INTEGERS,
    **dict.fromkeys('isfinite isinf isnan'.split(), NUMERIC)}
BINARY = {
    **dict.fromkeys('add subtract multiply'.split(), NUMERIC), 'divide': FLOATING,
    **dict.fromkeys('atan2 copysign hypot logaddexp nextafter'.split(), FLOATS),
    **dict.fromkeys('bitwise_and bitwise_or bitwise_xor'.split(), ['bool'] + INTEGERS),
    **dict.fromkeys('equal not_equal'.split(), ALL),
    **dict.fromkeys('greater greater_equal less less_equal maximum minimum'.split(), REAL),
    **dict.fromkeys('floor_divide remainder'.split(), REAL), 'pow': FLOATING,
    **dict.fromkeys('logical_and logical_or logical_xor'.split(), ['bool'])}
# Complex infinities and zeros that the standard leaves open, and NumPy's log1p, which is less accurate there.
UNSPECIFIED = ('reciprocal', 'sign', 'square', 'log1p')
# Where NumPy differs from the standard; test_special_values.py has these.
ZEROS_DIFFER = {('sign', dtype) for dtype in FLOATS} | {(name, dtype) for name in ('tan', 'tanh', 'expm1') for dtype in COMPLEX}
NUMPY = {name: getattr(np, name) for name in 'acos acosh asin asinh atan atanh pow atan2'.split()}


def reference(name):
    return NUMPY.get(name) or getattr(np, name)


@pytest.mark.parametrize('name', UNARY)
def test_unary(name):
    @given(pairs(UNARY[name]))
    def check(given):
        array, x = given
        with np_errors():
            expected = reference(name)(array)
        same(getattr(tenon, name)(x), expected, times=4)
    check()


@pytest.mark.parametrize('name', BINARY)
def test_binary(name):
    @given(seeds, shapes, st.sampled_from(BINARY[name]), st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS),
           st.integers(0, 3), st.integers(0, 3))
    def check(seed, shape, dtype, layout1, layout2, ones, cut):
        rng = np.random.default_rng(seed)
        a, x = pair(rng, shape, dtype, layout1)
        # The other broadcasts: sizes of 1, fewer dimensions.
        other = tuple(1 if i == ones else n for i, n in enumerate(shape))[min(cut, len(shape)):]
        b, y = pair(rng, other, dtype, layout2)
        if b.dtype.kind in 'iu' and name in ('floor_divide', 'remainder'):
            b = np.where(b == 0, 1, b).astype(dtype)
            y = tenon.where(y == 0, 1, y)
        with np_errors():
            expected = reference(name)(a, b)
        same(getattr(tenon, name)(x, y), expected, times=40 if name == 'pow' else 8)
        if b.dtype.kind in 'fc' or name not in ('floor_divide', 'remainder'):
            with np_errors():
                expected = reference(name)(b, a)
            same(getattr(tenon, name)(y, x), expected, times=40 if name == 'pow' else 8)
    check()


@pytest.mark.parametrize('name, dtype', [(name, dtype) for name, dtypes in UNARY.items() for dtype in dtypes
                                         if dtype in FLOATING + ['int8', 'uint64']])
def test_unary_special_values(name, dtype):
    a, x = pair(np.random.default_rng(1), (400,), dtype, special=True)
    with np_errors():
        expected = reference(name)(a)
    result = getattr(tenon, name)(x)
    if name in UNSPECIFIED and dtype in COMPLEX:
        finite = np.isfinite(a) & np.isfinite(expected) & (np.abs(a) > 1e-3) & (np.abs(a) < 1e6)
        assert finite.any()
        result, expected = result[tenon.asarray(finite)], expected[finite]
    if name == 'expm1' and dtype in COMPLEX:
        finite = np.isfinite(a) & np.isfinite(expected)
        result, expected = result[tenon.asarray(finite)], expected[finite]
    same(result, expected, times=8, zeros=name not in UNSPECIFIED and (name, dtype) not in ZEROS_DIFFER)


@pytest.mark.parametrize('name, dtype', [(name, dtype) for name, dtypes in BINARY.items() for dtype in dtypes
                                         if dtype in FLOATS + ['int8', 'uint64']])
def test_binary_special_values(name, dtype):
    rng = np.random.default_rng(2)
    (a, x), (b, y) = pair(rng, (1500,), dtype, special=True), pair(rng, (1500,), dtype, special=True)
    with np_errors():
        expected = reference(name)(a, b)
        if name == 'floor_divide' and dtype in FLOATS:
            expected = np.where(np.isinf(a) | np.isinf(b), np.floor(a / b), expected)
    same(getattr(tenon, name)(x, y), expected, times=40 if name == 'pow' else 8, zeros=True)
