"""Values that the standard prescribes and NumPy gives differently, and findings of the public suite."""
import math

import numpy as np
import pytest

import tenon

INF, NAN = math.inf, math.nan


def is_same(got, wanted):
    """Equal, or both NaN; zeros by sign, unless an int is expected."""
    if math.isnan(wanted) or math.isnan(got):
        return math.isnan(got) and math.isnan(wanted)
    return got == wanted and (isinstance(wanted, int) or math.copysign(1, got) == math.copysign(1, wanted))


@pytest.mark.parametrize('dtype', ['float32', 'float64'])
@pytest.mark.parametrize('x, y, wanted', [(INF, 2., INF), (INF, -2., -INF), (-INF, 2., -INF), (-INF, -2., INF),
                                          (2., -INF, -0.), (-2., INF, -0.), (2., INF, 0.), (-2., -INF, 0.),
                                          (INF, INF, NAN), (0., INF, 0.), (NAN, INF, NAN)])
def test_floor_divide_of_infinities(x, y, wanted, dtype):
    x, y = tenon.asarray(x, dtype=dtype), tenon.asarray(y, dtype=dtype)
    assert is_same(float(tenon.floor_divide(x, y)), wanted) and is_same(float(x // y), wanted)
    x //= y
    assert is_same(float(x), wanted)


@pytest.mark.parametrize('dtype', ['float16', 'bfloat16', 'float32', 'float64'])
def test_sign_of_zero_is_zero(dtype):
    got = tenon.sign(tenon.asarray([-0., 0., -3., 3., NAN], dtype=dtype)).to(tenon.float64).tolist()
    assert [is_same(a, b) for a, b in zip(got, [0., 0., -1., 1., NAN])] == [True] * 5


@pytest.mark.parametrize('dtype', ['complex64', 'complex128'])
@pytest.mark.parametrize('name, z, wanted', [
    ('expm1', complex(INF, 0.), (INF, 0.)), ('expm1', complex(-INF, INF), (-1., 0)), ('expm1', complex(INF, INF), (INF, NAN)),
    ('expm1', complex(-INF, NAN), (-1., 0)), ('expm1', complex(INF, NAN), (INF, NAN)), ('expm1', complex(NAN, 0.), (NAN, 0.)),
    ('expm1', complex(1., INF), (NAN, NAN)), ('expm1', complex(1., NAN), (NAN, NAN)), ('expm1', complex(NAN, 1.), (NAN, NAN)),
    ('expm1', complex(900., 0.), (INF, 0.)), ('expm1', complex(-0., -0.), (-0., -0.)), ('expm1', complex(-INF, 1.), (-1., 0.)),
    ('expm1', complex(-0., 0.), (0., 0.)), ('expm1', complex(0., 0.), (0., 0.)),
    ('tanh', complex(INF, 3.), (1., 0.)), ('tanh', complex(INF, 2.), (1., 0.)), ('tanh', complex(-INF, -3.), (-1., -0.)),
    ('tanh', complex(INF, INF), (1., 0)), ('tanh', complex(INF, NAN), (1., 0)), ('tanh', complex(NAN, 0.), (NAN, 0.)),
    ('tan', complex(3., INF), (0., 1.)), ('tan', complex(-3., -INF), (-0., -1.)), ('tan', complex(1., NAN), (NAN, NAN))])
def test_complex(name, z, wanted, dtype):
    got = complex(getattr(tenon, name)(tenon.asarray(z, dtype=dtype)))
    assert is_same(got.real, wanted[0]) and is_same(got.imag, wanted[1]), got


@pytest.mark.parametrize('dtype', ['float32', 'float64'])
@pytest.mark.parametrize('num', [0, 1, 2, 3, 7, 100])
def test_linspace_without_endpoint_drops_the_last_of_one_more(num, dtype):
    whole = tenon.linspace(0.1, 1, num + 1, dtype=dtype)
    assert tenon.linspace(0.1, 1, num, dtype=dtype, endpoint=False).tolist() == whole[:-1].tolist()
    assert whole.dtype == getattr(tenon, dtype) and float(whole[0]) == np.dtype(dtype).type(0.1)


def test_a_diagonal_far_outside_the_matrix():
    for k in (10 ** 30, -10 ** 30, 7):
        assert tenon.eye(2, 3, k=k).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert tenon.eye(2, 3, k=1, dtype=tenon.int8).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert tenon.eye(2).dtype == tenon.float32


def test_expand_dims_defaults_to_the_front():
    x = tenon.zeros((2, 3))
    assert tenon.expand_dims(x).shape == (1, 2, 3) and tenon.expand_dims(x, axis=-1).shape == (2, 3, 1)
    with pytest.raises(IndexError):
        tenon.expand_dims(x, axis=3)


def test_a_mask_that_does_not_fit_is_an_index_out_of_range():
    x = tenon.reshape(tenon.arange(6), (2, 3))
    for mask in ([True], [True, False, True], [[True, False], [False, True]]):
        with pytest.raises(IndexError, match='mask of size'):
            x[tenon.asarray(mask)]
        with pytest.raises(IndexError, match='mask of size'):
            x[tenon.asarray(mask)] = 1
    with pytest.raises(IndexError, match='mask of size 2 in dim 1 does not fit size 3'):
        x[..., tenon.asarray([True, False])]
    assert x[..., tenon.asarray([True, False, True])].tolist() == [[0, 2], [3, 5]]


def test_an_all_false_mask_picks_nothing():
    x = tenon.reshape(tenon.arange(6), (2, 3))
    nothing = tenon.zeros((0,), dtype=tenon.bool)
    assert x[nothing].shape == (0, 3) and x[:, nothing].shape == (2, 0)
    assert x[tenon.zeros((2, 0), dtype=tenon.bool)].shape == (0,)
    x[nothing] = 9
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_version_of_the_standard():
    assert tenon.__array_api_version__ == '2024.12'
