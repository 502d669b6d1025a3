"""x[…] and x[…] = …, against PyTorch."""
import pathlib
import sys
import warnings

import numpy as np
import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

# Over x (4, 6) and y (2, 3, 4), with t the package.
INDICES = '''
    x[mask(1, 0, 1, 0)]; x[mask(1, 0)]; x[mask(1, 0, 2, 0), 0]; x[:, mask(1, 0, 0, 0, 0, 1)]; x[mask(1, 0, 1, 0), mask(1, 0, 1, 0, 0, 0)]
    x[t.ones(4, 6, dtype=t.uint8)]; x[t.ones(4, 5, dtype=t.uint8)]; x[t.tensor(1, dtype=t.uint8)]; x[t.tensor(0, dtype=t.uint8)]
    x[np.array([1, 0, 1, 0], dtype=np.uint8)]; x[[mask(1, 0, 1, 0)]]; x[[mask(1, 0, 1, 0).bool()]]
    x[[[0, 1], [2, 3]]]; x[[0, 1], [1, 2]]; x[[[0, 1], [2, 3]],]; x[[[0, 1]]]; x[[(0, 1), (2, 3)]]; x[((0, 1), (2, 3))]; x[(0, 1),]; x[(0, 1), 0]
    x[[True, False, True, False]]; x[[[True] * 6] * 4]; x[[slice(0, 2)]]; x[[slice(0, 2), [0, 1]]]; x[[0, slice(0, 2)]]; x[[0, None]]; x[[..., 0]]
    x[[t.tensor([0, 1]), t.tensor([1, 2])]]; x[[t.tensor([0, 1])]]; x[[t.tensor(0), t.tensor(1)]]; x[[t.tensor(0), 1]]; x[[[0, 1], 1]]; x[[1, [0, 1]]]
    x[[]]; x[[[]]]; x[[np.array([0, 1]), np.array([1, 2])]]; x[[[0, 0]] * 33]; y[[[0, 1], [1, 2], [2, 3]]]; y[[[0, 1], [1, 2], [2, 3], [0, 0]]]
    y[0, :, [0, 1]]; y[[0, 1], :, 0]; y[:, [0, 1], ..., [0, 1]]; y[[0, 1], ..., [0, 1]]; y[:, 0, [0, 1]]; y[0, None, [0, 1]]; y[..., 0, [0, 1]]
    y[t.tensor(0), :, [0, 1]]; y[:, t.tensor(-1), [0, 1]]; y[:, t.tensor(1)]; x[t.tensor(4)]; x[t.tensor(1, dtype=t.int32)]; x[True, 0]; x[0, True]
    x[[0, 1, 2], :, None]; y[0, :, [[0, 1], [1, 2]]]; y[1, :, t.tensor([True, False, True, True])]; y[1, t.tensor([True, False, True]), :]
'''


def cases():
    return [each.strip() for line in INDICES.split('\n') for each in line.split('; ') if each.strip()]


def tensors(t):
    return {'t': t, 'np': np, 'x': t.arange(24).reshape(4, 6), 'y': t.arange(24).reshape(2, 3, 4), 'mask': lambda *n: t.tensor(n, dtype=t.uint8)}


@pytest.mark.parametrize('text', cases())
def test_reads(torch, text):
    same(torch, lambda t: eval(text, tensors(t)))


@pytest.mark.parametrize('text', [each for each in cases() if 'uint8' not in each and 'mask' not in each])
def test_writes(torch, text):
    """PyTorch refuses masks of uint8 here."""
    def written(t):
        names = tensors(t)
        shape = tuple(eval(text, names).shape)
        exec(f'{text} = -t.arange({int(np.prod(shape))}).reshape({shape})', names)
        return names['x'], names['y']
    same(torch, written)


@pytest.mark.parametrize('text, says', [('x[t.tensor([1, 0, 1, 0], dtype=t.uint8)]', 'indexing with dtype torch.uint8 is now deprecated'),
                                        ('x[[[0, 1], [2, 3]]]', 'non-tuple sequence for multidimensional indexing is deprecated'),
                                        ('x[[slice(2)]]', 'non-tuple sequence'), ('x[[0, 1]]', None), ('x[((0, 1), (2, 3))]', None)])
def test_warnings(torch, text, says):
    for t in torch, ours:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            eval(text, tensors(t))
        assert [says in str(each.message) and each.category is UserWarning for each in caught] == ([True] if says else []), t.__name__


def test_a_mask_of_uint8_is_written_through():
    x = ours.arange(4)
    with pytest.warns(UserWarning, match='uint8'):
        x[ours.tensor([1, 0, 0, 2], dtype=ours.uint8)] = -1
    assert x.tolist() == [-1, 1, 2, -1]
    put = ours.arange(4).index_put((ours.tensor([1, 0, 0, 2], dtype=ours.uint8),), ours.tensor(7))
    assert put.tolist() == [7, 1, 2, 7]


def test_a_tensor_of_one_integer_gives_a_view(torch):
    def run(t):
        x = t.zeros(4, 3, requires_grad=True)
        y = x * 1
        for i in t.tensor([3, 0, 1]):
            y[i].add_(1)
        y[t.tensor(0), t.tensor(2)].mul_(5)
        (y * t.arange(12.0).reshape(4, 3)).sum().backward()
        return y, x.grad, y[t.tensor(1)].data_ptr() == y[1].data_ptr()
    same(torch, run)


def test_a_tensor_of_one_integer_under_vmap_and_in_graphs(torch):
    same(torch, lambda t: t.func.vmap(lambda row, i: row[i] * 2)(t.arange(12.0).reshape(4, 3), t.tensor([0, 2, 1, 0])))
    import tenon
    table = ours.arange(12.0).reshape(4, 3)
    program = tenon.graph.trace(lambda x, i: x[i] + 1, table, ours.tensor(1))
    assert program(table, ours.tensor(3)).tolist() == [10.0, 11.0, 12.0]
