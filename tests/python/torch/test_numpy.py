"""Tensors among NumPy's arrays, scalars and functions, beside PyTorch."""
import pathlib
import sys

import numpy as np
import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

CALLS = ['x + a', 'x + a32', 'x * a2', 'x - a', 'x / a', 'x ** a', 'x // a', 'x % a', 'i * a32', 'x == a', 'a == x', 'm @ m2', 'np.add(x, 1)',
         'np.add(x, a)', 'np.add(a, x)', 'np.sin(x)', 'np.sqrt(t.tensor(4.))', 'np.maximum(x, 3)', 'np.log(x) + 1', 'np.exp(x)[0]', 'np.matmul(m, m)',
         'np.multiply.reduce(x)', 'np.add(x, 1, out=a.copy())', 'np.transpose(m)', 'np.reshape(m, (4, 1))', 'np.concatenate([x, a])', 'np.stack([x, x])',
         'np.array(x, dtype=np.int64)', 'np.allclose(x, a)', 'np.float64(2) * x', 'np.float32(2) * x.double()', 'x * np.float64(2)', 'i * np.float32(2)',
         'np.int64(3) * i', 'np.float64(2) < x', 't.tensor([t.tensor(1.), t.tensor(2.)])', 't.tensor([[t.tensor(1), 2], [3, 4.]])', 't.tensor([a, a])',
         't.tensor([t.tensor(1), t.tensor(2.5)])', 't.tensor([t.ones(1), t.ones(1)])', 't.as_tensor([t.tensor(1.), 2])', 't.full((2,), np.float32(2))',
         'x == [1, 1]', 'a + x', 'a * x', 'm @ a3', 'x + [1., 2.]', 't.add(x, a)', 't.mul(a, x)', 't.cat([x, a])', 't.tensor([x, x])',
         'x.requires_grad_() * a', 'np.sin(x.requires_grad_())', 'x > a', 'a > x']


@pytest.mark.parametrize('call', CALLS)
def test_arrays_and_tensors_mix(torch, call):
    def run(t):
        names = {'t': t, 'np': np, 'x': t.tensor([1.0, 2.0]), 'i': t.tensor([1, 2]), 'm': t.tensor([[1.0, 2.0], [3.0, 4.0]]), 'a': np.array([3.0, 4.0]),
                 'a32': np.array([3, 4], np.float32), 'a2': np.array([[1, 2], [3, 4]]), 'm2': np.array([[1.0, 2.0], [3.0, 5.0]], np.float32),
                 'a3': np.ones(3)}
        found = eval(call, names)
        return found.tolist() if isinstance(found, np.ndarray) else found
    same(torch, run)


def test_an_array_left_of_a_tensor_says_what_to_write():
    with pytest.raises(TypeError, match='tenon.asarray'):
        np.ones(2) * ours.ones(2)


def test_in_place_with_an_array_makes_a_new_tensor():
    x = y = ours.ones(2)
    x += np.ones(2)
    assert x.tolist() == [2, 2] and x.dtype is ours.float64 and y.tolist() == [1, 1]


def test_masks_of_numpy_select():
    assert (ours.ones(2) != np.array([1.0, 2.0])).tolist() == [False, True]
    x = ours.tensor([1.0, float('nan'), 3.0])
    assert x[~np.isnan(x)].tolist() == [1.0, 3.0]
