"""Trees of tensors apart and together again: what arguments and results of programs may be."""
import collections
import dataclasses
import enum

import numpy as np
import pytest

import tenon
from tenon import _trees

Pair = collections.namedtuple('Pair', 'first second')
Kind = enum.IntEnum('Kind', 'ONE')


class Rows(list):
    pass


@dataclasses.dataclass
class Fields:
    x: object
    y: object = 3


def trees(x):
    return [x, (x, [x, {'a': x, 2: (x,)}]), (), [], {}, Pair(x, 1), Rows([x, x]), Fields(x, [x]), collections.OrderedDict(b=x, a=1), None, True, 1, 1.5, -0.0, 2j,
            'text', b'bytes', tenon.float32, Kind.ONE, np.float32(2), {'deep': [{'er': (x, None, 'a')}]}]


def same(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and same(list(a.values()), list(b.values()))
    if isinstance(a, Fields):
        return same([a.x, a.y], [b.x, b.y])
    return a is b if isinstance(a, tenon.Tensor) else type(a) is type(b) and a == b


@pytest.mark.parametrize('at', range(len(trees(None))))
def test_there_and_back(at):
    x = tenon.ones(2)
    value = trees(x)[at]
    shape, tensors = _trees.taken_apart(value)
    assert all(one is x for one in tensors)
    assert same(_trees.rebuilt(shape, iter(tensors)), value)
    assert shape == _trees.taken_apart(trees(tenon.ones(3))[at])[0] and hash(shape) is not None


def test_what_differs_has_other_shapes():
    shapes = [_trees.taken_apart(value)[0] for value in (*trees(tenon.ones(2)), 0.0, 1.0, 2, False, 'other', [None], (None,), [()])]
    assert len(set(shapes)) == len(shapes)


def test_faults_are_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        _trees.taken_apart(endless)
    shape, tensors = _trees.taken_apart([tenon.ones(1), tenon.ones(1)])
    with pytest.raises(StopIteration):
        _trees.rebuilt(shape, iter(tensors[:1]))
    with pytest.raises(TypeError):
        _trees.rebuilt(3, iter(tensors))
    with pytest.raises(TypeError):
        _trees.rebuilt(shape, tensors)


def test_a_cache_in_a_tree_goes_on_growing():
    """The program of the last call takes each size at once."""
    def step(x, cache, *, scale):
        keys, values = tenon.concat([cache['keys'], x]), tenon.concat([cache['values'], x * scale])
        return tenon.softmax(x @ keys.mT, -1) @ values, {'keys': keys, 'values': values}

    fast, cache = tenon.compile(step, dynamic=True), dict.fromkeys(('keys', 'values'), tenon.randn(2, 4))
    for at in range(40):
        x = tenon.randn(1, 4)
        wanted, _ = step(x, cache, scale=2)
        if at == 5:
            fast._looked_up = None
        found, cache = fast(x, cache, scale=2)
        assert (found == wanted).all() and cache['keys'].shape == cache['values'].shape == (3 + at, 4)
    del fast._looked_up
    assert (fast(x, cache, scale=3)[0] == step(x, cache, scale=3)[0]).all()
    found = fast(x.to(tenon.float64), {name: one.to(tenon.float64) for name, one in cache.items()}, scale=2)[0]
    assert found.dtype == tenon.float64
    with pytest.raises(tenon.Error), pytest.warns(UserWarning, match='runs as it is written'):
        fast(x, {'keys': cache['keys'], 'values': tenon.randn(2, 5)}, scale=2)


@pytest.mark.parametrize('shape', [(), (None,), (tuple,), (tuple, 3), (list, [3]), (dict, (1,), (1, 2)), (dict, 1, 2), 3, [1]])
def test_what_is_no_shape_is_refused(shape):
    with pytest.raises(TypeError):
        _trees.rebuilt(shape, iter([]))
