"""Transforms against NumPy in double precision, over generated shapes, sizes, axes, dtypes and layouts; and invalid arguments."""
import doctest
import inspect
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenon
from tenon import fft

settings.register_profile('tenon', derandomize=True, database=None, deadline=None, max_examples=40)
settings.load_profile('tenon')

STANDARD = [f"{name}(x, /, *, {'s=None, axes=None' if name[-1] == 'n' else 'n=None, axis=-1'}, norm='backward')" for name in (
    'fft', 'ifft', 'fftn', 'ifftn', 'rfft', 'irfft', 'rfftn', 'irfftn', 'hfft', 'ihfft')] + [
        'fftfreq(n, /, *, d=1.0, dtype=None, device=None)', 'rfftfreq(n, /, *, d=1.0, dtype=None, device=None)',
        'fftshift(x, /, *, axes=None)', 'ifftshift(x, /, *, axes=None)']
FROM_REAL, TO_REAL = ('rfft', 'rfftn', 'ihfft'), ('irfft', 'irfftn', 'hfft')
NORMS = st.sampled_from(['backward', 'ortho', 'forward'])
COMPLEX = {'float32': 'complex64', 'float64': 'complex128', 'complex64': 'complex64', 'complex128': 'complex128'}
REAL = {'complex64': 'float32', 'complex128': 'float64', 'float32': 'float32', 'float64': 'float64'}
LAYOUTS = {
    'contiguous': lambda x: x,
    'transposed': lambda x: x.T.copy().T,
    'strided': lambda x: np.repeat(x, 2, -1)[..., ::2],
    'reversed': lambda x: x[::-1].copy()[::-1],
    'broadcast': lambda x: x,
}
shapes = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)
seeds = st.integers(0, 2 ** 32 - 1)


def normal(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith('c') else x).astype(dtype)


def check(name, x, layout, arguments):
    """One call compared with NumPy's."""
    dtype = x.dtype.name
    wide = x.astype('complex128' if dtype.startswith('c') else 'float64')
    wanted = getattr(np.fft, name)(wide, **arguments)
    got = getattr(fft, name)(tenon.asarray(LAYOUTS[layout](x)), **arguments)
    assert got.dtype.name == (REAL if name in TO_REAL else COMPLEX)[dtype] and tuple(got.shape) == wanted.shape
    eps = 2.0 ** -23 if dtype in ('float32', 'complex64') else 2.0 ** -52
    if wanted.size:
        assert np.max(np.abs(np.asarray(got) - wanted)) <= 30 * eps * max(1.0, np.max(np.abs(wanted)))


@pytest.mark.parametrize('line', STANDARD, ids=lambda line: line[:line.index('(')])
def test_signature(line):
    scope = {}
    exec(f'def {line}: pass', scope)
    name = line[:line.index('(')]
    assert inspect.signature(getattr(fft, name)) == inspect.signature(scope[name])
    assert name in fft.__all__ and getattr(fft, name).__doc__


def test_examples():
    result = doctest.testmod(fft, extraglobs={'tenon': tenon})
    assert result.failed == 0 and result.attempted == len(STANDARD)


def dtypes_of(name):
    if name in FROM_REAL:
        return ['float32', 'float64']
    return ['complex64', 'complex128', 'float32', 'float64'] if name in ('fft', 'ifft', 'fftn', 'ifftn') else ['complex64', 'complex128']


@pytest.mark.parametrize('name', ['fft', 'ifft', 'rfft', 'irfft', 'hfft', 'ihfft'])
@given(seed=seeds, shape=shapes, norm=NORMS, layout=st.sampled_from(sorted(LAYOUTS)), data=st.data())
def test_along_an_axis(name, seed, shape, norm, layout, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = data.draw(st.none() | st.integers(1, 14))
    if name in TO_REAL and n is None and shape[axis] == 1:
        n = 1
    x = normal(seed, shape, data.draw(st.sampled_from(dtypes_of(name))))
    check(name, x, layout, {'n': n, 'axis': axis, 'norm': norm})


@pytest.mark.parametrize('name', ['fftn', 'ifftn', 'rfftn', 'irfftn'])
@given(seed=seeds, shape=shapes, norm=NORMS, layout=st.sampled_from(sorted(LAYOUTS)), data=st.data())
def test_along_several_axes(name, seed, shape, norm, layout, data):
    axes = data.draw(st.permutations(range(len(shape))))[:data.draw(st.integers(1, len(shape)))]
    s = [data.draw(st.integers(1, 12)) for _ in axes]
    kind = data.draw(st.sampled_from(['neither', 's and axes', 'axes']))
    if name == 'irfftn' and kind != 's and axes':
        last = -1 if kind == 'neither' else axes[-1]
        if shape[last] == 1:
            kind = 's and axes'
    x = normal(seed, shape, data.draw(st.sampled_from(dtypes_of(name))))
    arguments = {'neither': {}, 's and axes': {'s': s, 'axes': axes}, 'axes': {'axes': axes}}[kind]
    check(name, x, layout, {**arguments, 'norm': norm})


@pytest.mark.parametrize('n', [1, 2, 3, 7, 11, 13, 64, 97, 210, 1009, 4096])  # prime factors of all kinds, Bluestein's among them
def test_lengths(n):
    for dtype in ('complex64', 'complex128'):
        check('fft', normal(n, (3, n), dtype), 'contiguous', {})
        check('ifft', normal(n, (n, 17), dtype), 'contiguous', {'axis': 0})
    for dtype in ('float32', 'float64'):
        check('rfft', normal(n, (19, n), dtype), 'contiguous', {})
        check('irfft', normal(n, (19, n // 2 + 1), COMPLEX[dtype]), 'contiguous', {'n': n})


def test_large_ones_with_all_threads():
    for shape, axes in (((512, 300), (0, 1)), ((4, 128, 200), (1,)), ((70000,), (0,)), ((3, 40000), (1,))):
        check('fftn', normal(1, shape, 'complex64'), 'contiguous', {'axes': axes})
        check('rfftn', normal(1, shape, 'float64'), 'transposed', {'axes': axes})
        check('irfftn', normal(1, shape, 'complex128'), 'contiguous', {'axes': axes})


def test_broadcast_and_negative_strides():
    x = normal(0, (6,), 'complex128')
    wide = tenon.expand(tenon.asarray(x), (4, 6))
    assert np.allclose(np.asarray(fft.fftn(wide)), np.fft.fftn(np.broadcast_to(x, (4, 6))))
    assert np.allclose(np.asarray(fft.irfft(wide, n=9)), np.fft.irfft(np.broadcast_to(x, (4, 6)), n=9))
    assert np.allclose(np.asarray(fft.fft(tenon.asarray(x)[::-2])), np.fft.fft(x[::-2]))


def test_empty_batches():
    assert fft.fft(tenon.zeros((0, 4))).shape == (0, 4) and fft.rfft(tenon.zeros((0, 4))).shape == (0, 3)
    assert fft.irfftn(tenon.zeros((0, 3, 5), dtype=tenon.complex64), axes=(1, 2)).shape == (0, 3, 8)
    assert fft.fft(tenon.zeros((2, 0)), n=3).tolist() == np.zeros((2, 3), complex).tolist()


@pytest.mark.parametrize('n', range(1, 12))
def test_frequencies_and_shifts(n):
    for d in (1.0, 0.25, 3):
        for dtype in (None, tenon.float64):
            for name in ('fftfreq', 'rfftfreq'):
                got, wanted = getattr(fft, name)(n, d=d, dtype=dtype), getattr(np.fft, name)(n, d=d)
                assert got.dtype == (dtype or tenon.float32) and np.allclose(np.asarray(got), wanted, rtol=1e-6)
    x = np.arange(n * 3).reshape(n, 3)
    for axes in (None, 0, (0,), (1, 0), -1):
        for name in ('fftshift', 'ifftshift'):
            got, wanted = getattr(fft, name)(tenon.asarray(x), axes=axes), getattr(np.fft, name)(x, axes=axes)
            assert got.dtype == tenon.int64 and got.tolist() == wanted.tolist()
    assert fft.fftshift(tenon.asarray(3)).item() == 3


@pytest.mark.parametrize('call, error, text', [
    (lambda x: fft.fft(np.ones(3)), TypeError, r'\[fft.fft\]'),
    (lambda x: fft.fft(tenon.asarray([1, 2])), ValueError, r'\[fft.fft\] x has dtype int64.*cast it first'),
    (lambda x: fft.fft(tenon.ones(3, dtype='float16')), ValueError, 'float16'),
    (lambda x: fft.rfft(x), ValueError, r'\[fft.rfft\] x has dtype complex64; float32, float64 are possible'),
    (lambda x: fft.fft(x, n=0), ValueError, 'at least 1'),
    (lambda x: fft.fft(x, n=-2), ValueError, 'at least 1'),
    (lambda x: fft.fft(x, n=1.5), TypeError, 'size must be an int'),
    (lambda x: fft.fft(x, axis=2), IndexError, r'\[fft.fft\] axis 2 out of range'),
    (lambda x: fft.fft(x, axis=None), TypeError, 'axis must be an int'),
    (lambda x: fft.fft(x, axis=(0,)), TypeError, 'axis must be an int'),
    (lambda x: fft.fft(x, norm='unitary'), ValueError, "norm is 'backward', 'ortho' or 'forward', not 'unitary'"),
    (lambda x: fft.fft(x, norm=None), ValueError, 'norm is'),
    (lambda x: fft.fft(tenon.zeros((2, 0))), ValueError, 'nothing to transform'),
    (lambda x: fft.fft(tenon.asarray(1.0)), IndexError, 'rank 0'),
    (lambda x: fft.fftn(tenon.asarray(1.0)), ValueError, 'no axis'),
    (lambda x: fft.fftn(x, axes=(0, 0)), ValueError, 'twice'),
    (lambda x: fft.fftn(x, axes=(0, -2)), ValueError, 'twice'),
    (lambda x: fft.fftn(x, s=(2,), axes=(0, 1)), ValueError, '1 sizes for 2 axes'),
    (lambda x: fft.fftn(x, s=(2, 2, 2)), ValueError, '3 sizes for a tensor of rank 2'),
    (lambda x: fft.fftn(x, s=4), TypeError, 's must be a sequence'),
    (lambda x: fft.fftn(x, axes='01'), TypeError, 'axes must be a sequence'),
    (lambda x: fft.irfft(x[:, :1]), ValueError, 'at least 1'),
    (lambda x: fft.irfftn(x, s=(2, 0), axes=(0, 1)), ValueError, 'at least 1'),
    (lambda x: fft.fftfreq(0), ValueError, 'at least 1'),
    (lambda x: fft.fftfreq(2.5), TypeError, 'int'),
    (lambda x: fft.fftfreq(4, d=0), ValueError, 'd is the distance'),
    (lambda x: fft.fftfreq(4, d='1'), TypeError, 'd must be a number'),
    (lambda x: fft.rfftfreq(4, dtype=tenon.int32), ValueError, 'real floating'),
    (lambda x: fft.fftshift(x, axes=2), IndexError, 'axis 2'),
    (lambda x: fft.fftshift([1]), TypeError, 'fftshift'),
    (lambda x: tenon.op('fft.c2c')(x, (0, 0)), ValueError, r'\[fft.c2c\] dim 0 is given twice'),
    (lambda x: tenon.op('fft.c2c')(x, ()), ValueError, 'names no dimension'),
    (lambda x: tenon.op('fft.c2c')(x, (5,)), IndexError, r'\[fft.c2c\] dim 5 out of range'),
    (lambda x: tenon.op('fft.c2r')(x, (1,), 9), ValueError, r'for 9 real numbers dim 1 must be 5 long'),
    (lambda x: tenon.op('fft.c2r')(x, (1,), -1), ValueError, 'fft.c2r'),
    (lambda x: tenon.op('fft.r2c')(x, (1,)), ValueError, r'\[fft.r2c\] x has dtype c64'),
])
def test_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(tenon.ones((2, 3), dtype=tenon.complex64))


def test_imported_on_first_use():
    code = 'import sys, tenon; print("tenon.fft" in sys.modules); tenon.fft.fft(tenon.ones(4)); print("tenon.fft" in sys.modules)'
    out = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True).stdout
    assert out.split() == ['False', 'True']
