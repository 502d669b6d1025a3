"""Each line of expressions.txt means the same with PyTorch and with tenon.torch: what users type, which no list of functions names."""
import copy
import io
import pathlib
import pickle
import sys
import warnings

import numpy as np
import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import plain, simple

LINES = [line for line in (pathlib.Path(__file__).parent / 'expressions.txt').read_text(encoding='utf-8').splitlines() if line[:1] != '#']


def names(t):
    """What the lines name: x, y, g of shape (2, 3), i integers, b bools, v a vector, c complex, sq a matrix, img, seq, n of NumPy."""
    return {'torch': t, 'F': t.nn.functional, 'np': np, 'copy': copy, 'io': io, 'pickle': pickle,
            'x': t.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), 'y': t.tensor([[2.0, 1.0, 0.5], [1.0, 3.0, 2.0]]),
            'i': t.tensor([[3, 1, 2], [0, 5, 4]]), 'b': t.tensor([[True, False, True], [False, True, True]]), 'v': t.tensor([3.0, 1.0, 2.0]),
            'c': t.tensor([1 + 2j, 3 - 1j]), 'sq': t.tensor([[4.0, 1.0], [2.0, 3.0]]), 'img': t.arange(2 * 3 * 8 * 8, dtype=t.float32).reshape(2, 3, 8, 8) / 100,
            'seq': t.arange(24, dtype=t.float32).reshape(2, 3, 4) / 10, 'n': np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=np.float32),
            'g': t.tensor([[0.5, 1.0, 2.0], [3.0, 0.1, 4.0]], requires_grad=True)}


def value(t, line):
    """The line's value, with tensors for arrays and lists for tuples; for other objects their type."""
    before, _, last = line.rpartition('; ')
    there = names(t)
    exec(before, there)
    found = eval(last, there)

    def part(each):
        if isinstance(each, (list, tuple)):
            return [part(inner) for inner in each]
        if isinstance(each, dict):
            return {key: part(inner) for key, inner in each.items()}
        if isinstance(each, (np.ndarray, np.generic)):
            return t.tensor(np.array(each))
        if isinstance(each, t.Tensor):
            return each.detach().float() if each.dtype == t.bfloat16 else each.detach()
        return each if isinstance(each, (bool, int, float, complex, str, type(None))) else str(each).removeprefix('torch.').removeprefix('tenon.')
    return part(found)


@pytest.mark.parametrize('line', LINES)
def test_an_expression_means_the_same_as_in_pytorch(torch, line):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        theirs, mine = value(torch, line), value(ours, line)
    assert simple(mine) == plain(theirs)
