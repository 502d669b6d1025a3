"""Creation, promotion and limits: the standard's tables, NumPy where it agrees with them."""
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenon

sys.path.insert(0, str(Path(__file__).parent))
from generated import ALL, COMPLEX, FLOATS, INTEGERS, REAL, pair, pairs, same, seeds, shapes

SIGNED, UNSIGNED = INTEGERS[:4], INTEGERS[4:]


def promoted(a, b):
    """The standard's table as a rule; None if it has no entry."""
    kinds = [next(i for i, kind in enumerate((['bool'], INTEGERS, FLOATS, COMPLEX)) if d in kind) for d in (a, b)]
    if a == b:
        return a
    if 0 in kinds or (1 in kinds and max(kinds) > 1):
        return None
    if kinds == [1, 1]:
        bits = [int(d.strip('uint')) for d in (a, b)]
        if (a in SIGNED) == (b in SIGNED):
            return a if bits[0] > bits[1] else b
        unsigned, signed = sorted((a, b), reverse=True)
        needed = max(2 * int(unsigned[4:]), int(signed[3:]))
        return f'int{needed}' if needed <= 64 else None
    wide = 'float64' in (a, b) or 'complex128' in (a, b)
    return ('complex128' if wide else 'complex64') if 3 in kinds else 'float64'


def test_promotion():
    for a, b in itertools.product(ALL, ALL):
        want = promoted(a, b)
        if want is None:
            continue
        x, y = tenon.ones(2, dtype=a), tenon.ones((1,), dtype=b)
        assert tenon.result_type(x, b).name == tenon.result_type(a, y).name == want, (a, b)
        assert tenon.can_cast(a, b) == (want == b) and tenon.can_cast(x, b) == (want == b)
        assert tenon.concat([x, y]).dtype.name == tenon.where(tenon.asarray(True), x, y).dtype.name == want
        if a != 'bool':
            assert (x + y).dtype.name == tenon.multiply(x, y).dtype.name == want
        assert tenon.equal(x, y).dtype is tenon.bool
    for a, b in itertools.product(SIGNED, ['uint64']):
        assert not tenon.can_cast(a, b)
        with pytest.raises(ValueError):
            tenon.result_type(a, b)
    with pytest.raises(ValueError):
        tenon.result_type()


@pytest.mark.parametrize('dtype', ALL)
def test_numbers_are_weak(dtype):
    x = tenon.ones(2, dtype=dtype)
    numbers = [True] * (dtype == 'bool') + [1] * (dtype != 'bool') + [1.5] * (dtype in FLOATS + COMPLEX) + [1j] * (dtype in COMPLEX)
    for number in numbers:
        assert tenon.result_type(x, number).name == tenon.result_type(number, dtype).name == dtype
        assert tenon.where(tenon.asarray([True, False]), x, number).dtype.name == dtype
        if dtype != 'bool':
            assert (x * number).dtype.name == (number + x).dtype.name == tenon.subtract(number, x).dtype.name == dtype
    if dtype in FLOATS:
        assert tenon.result_type(x, 1j).name == (x + 1j).dtype.name == COMPLEX[FLOATS.index(dtype)]


def test_isdtype():
    kinds = {'bool': ['bool'], 'signed integer': SIGNED, 'unsigned integer': UNSIGNED, 'integral': INTEGERS,
             'real floating': FLOATS, 'complex floating': COMPLEX, 'numeric': INTEGERS + FLOATS + COMPLEX}
    for dtype in ALL:
        for kind, names in kinds.items():
            assert tenon.isdtype(getattr(tenon, dtype), kind) is (dtype in names)
        assert tenon.isdtype(getattr(tenon, dtype), ('bool', getattr(tenon, dtype)))
    assert not tenon.isdtype(tenon.int8, tenon.int16) and tenon.isdtype(tenon.bfloat16, 'real floating')
    for bad, error in (('float', ValueError), (3, TypeError), (('bool', 'x'), ValueError)):
        with pytest.raises(error):
            tenon.isdtype(tenon.int8, bad)


def test_limits():
    for dtype in FLOATS + COMPLEX + ['float16']:
        mine, theirs = tenon.finfo(getattr(tenon, dtype)), np.finfo(dtype)
        assert [mine.bits, mine.eps, mine.max, mine.min, mine.smallest_normal, mine.dtype.name] == [
            theirs.bits, theirs.eps, theirs.max, theirs.min, theirs.smallest_normal, theirs.dtype.name]
        assert all(type(v) is float for v in (mine.eps, mine.max, mine.min, mine.smallest_normal))
    for dtype in INTEGERS:
        mine, theirs = tenon.iinfo(tenon.zeros(1, dtype=dtype)), np.iinfo(dtype)
        assert [mine.bits, mine.max, mine.min, mine.dtype.name] == [theirs.bits, theirs.max, theirs.min, dtype]
    assert tenon.finfo('bfloat16').eps == 2 ** -7 and float(tenon.asarray(tenon.finfo('bfloat16').max, dtype='bfloat16')) < 3.4e38
    for function, bad in ((tenon.finfo, 'int8'), (tenon.iinfo, 'float32'), (tenon.iinfo, 'bool')):
        with pytest.raises(ValueError):
            function(bad)


@given(pairs(ALL), st.sampled_from(ALL))
def test_astype(given, dtype):
    array, x = given
    if array.dtype.kind == 'c' and dtype not in COMPLEX or array.dtype.kind in 'ifc' and np.dtype(dtype).kind == 'u':
        return  # dropped imaginary parts and negative numbers, which the standard leaves open
    if array.dtype.kind == 'f' and np.dtype(dtype).kind == 'i' and np.abs(array).max(initial=0) > 127:
        return
    same(tenon.astype(x, getattr(tenon, dtype)), array.astype(dtype))
    assert tenon.astype(x, x.dtype, copy=False) is x and not tenon.astype(x, x.dtype).shares_memory(x)


@given(st.integers(-20, 20), st.integers(-20, 20), st.sampled_from([-3, -1, 1, 2, 7]), st.sampled_from(REAL))
def test_ranges(start, stop, step, dtype):
    same(tenon.arange(start, stop, step), np.arange(start, stop, step))
    same(tenon.arange(start / 4, stop / 4, step / 2, dtype='float64'), np.arange(start / 4, stop / 4, step / 2))
    same(tenon.arange(abs(start), dtype=dtype), np.arange(abs(start), dtype=dtype))
    for kind, endpoint in itertools.product(FLOATS, (True, False)):
        got = tenon.linspace(start, stop, abs(step), dtype=kind, endpoint=endpoint)
        np.testing.assert_allclose(got.numpy(), np.linspace(start, stop, abs(step), dtype=kind, endpoint=endpoint), atol=1e-5)
    got = tenon.linspace(1j * start, stop, 5, dtype='complex128')
    np.testing.assert_allclose(got.numpy(), np.linspace(1j * start, stop, 5), atol=1e-12)


@given(shapes, st.sampled_from(ALL), st.integers(-4, 4), seeds)
def test_filling(shape, dtype, k, seed):
    kind = getattr(tenon, dtype)
    x = tenon.empty(shape, dtype=kind)
    for name in ('zeros', 'ones'):
        same(getattr(tenon, name)(shape, dtype=kind), getattr(np, name)(shape, dtype=dtype))
        same(getattr(tenon, name + '_like')(x), getattr(np, name)(shape, dtype=dtype))
    same(tenon.full_like(x, True), np.full(shape, True, dtype))
    same(tenon.full(shape, 1.5), np.full(shape, 1.5, 'float32'))
    assert tenon.empty_like(x).shape == shape and tenon.empty_like(x, dtype='int8').dtype is tenon.int8
    rows, columns = (*shape, 3, 2)[:2]
    same(tenon.eye(rows, columns, k=k, dtype=kind), np.eye(rows, columns, k=k, dtype=dtype))
    a, m = pair(np.random.default_rng(seed), (*shape[:2], 3, 4), dtype)
    same(tenon.tril(m, k=k), np.tril(a, k=k))
    same(tenon.triu(m, k=k), np.triu(a, k=k))


def test_meshgrid():
    arrays = [np.arange(3.), np.arange(2.), np.arange(4.)]
    for count, indexing in itertools.product(range(4), ('xy', 'ij')):
        mine = tenon.meshgrid(*map(tenon.asarray, arrays[:count]), indexing=indexing)
        theirs = np.meshgrid(*arrays[:count], indexing=indexing)
        assert len(mine) == len(theirs)
        for got, expected in zip(mine, theirs):
            same(got, expected)


def test_asarray_copies_as_asked():
    a = np.arange(6.)
    x = tenon.asarray(a, copy=False)
    a[0] = 7
    assert x[0] == 7 and tenon.asarray(x) is x and tenon.asarray(x, copy=False) is x
    y, z = tenon.asarray(x, copy=True), tenon.asarray(a, copy=True)
    a[0] = 8
    assert y[0] == 7 and z[0] == 7 and tenon.asarray(a, dtype='float32').dtype is tenon.float32
    for call in (lambda: tenon.asarray([1], copy=False), lambda: tenon.asarray(a, dtype='int8', copy=False)):
        with pytest.raises(ValueError, match='copy=False'):
            call()
    assert tenon.reshape(x, (2, 3), copy=False).shares_memory(x)
    assert not tenon.reshape(x, (2, 3), copy=True).shares_memory(x)
    with pytest.raises(ValueError, match='copy=False'):
        tenon.reshape(tenon.reshape(x, (2, 3)).T, (6,), copy=False)


@given(seeds, shapes, st.sampled_from(REAL), st.booleans())
def test_clip(seed, shape, dtype, tensors):
    rng = np.random.default_rng(seed)
    a, x = pair(rng, shape, dtype)
    low, high = pair(rng, shape[-1:], dtype), pair(rng, shape, dtype)
    if tensors:
        same(tenon.clip(x, low[1], high[1]), np.clip(a, low[0], high[0]))
        same(tenon.clip(x, max=low[1]), np.clip(a, None, low[0]))
    same(tenon.clip(x, 1, 5), np.clip(a, 1, 5))
    same(tenon.clip(x, min=2), np.clip(a, 2, None))
    same(tenon.clip(x), a)
