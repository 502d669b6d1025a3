"""torch.masked beside PyTorch's."""
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

REDUCTIONS = 'sum mean prod amax amin var std logsumexp norm argmax argmin median'.split()
ALONG = 'softmax log_softmax softmin cumsum cumprod'.split()


def elements(t, grad=False):
    x = t.tensor([[1.0, -2.0, 3.0, 0.5], [4.0, 5.0, -6.0, 2.0], [0.1, 0.2, 0.3, 7.0]], requires_grad=grad)
    return x, t.tensor([[True, False, True, True], [False, True, True, False], [False, False, False, True]])


@pytest.mark.parametrize('name', REDUCTIONS)
def test_reductions(torch, name):
    def run(t):
        x, mask = elements(t)
        function, found = getattr(t.masked, name), []
        for dim in (0, 1, -1):
            found += [function(x, dim=dim, mask=mask), function(x, dim=dim, keepdim=True, mask=mask), function(x, dim=dim), function(x, dim=dim, mask=mask[0])]
        found += [function(x, dim=1, mask=mask, dtype=t.float64).double()]
        if name not in ('median', 'argmax', 'argmin'):
            found += [function(x, mask=mask), function(x, dim=(0, 1), mask=mask, keepdim=True), function(x)]
        return [each.double() for each in found]  # PyTorch's positions are numbers of the dtype of x
    same(torch, run)


@pytest.mark.parametrize('name', ALONG)
def test_functions_along_a_dimension(torch, name):
    def run(t):
        x, mask = elements(t)
        return [getattr(t.masked, name)(x, dim, mask=mask) for dim in (0, 1, -1)], getattr(t.masked, name)(x, 1), getattr(t.masked, name)(x, 1, dtype=t.float64)
    same(torch, run)


def test_others(torch):
    def run(t):
        x, mask = elements(t)
        m = t.masked
        return (m.logaddexp(x, x * 2, input_mask=mask, other_mask=~mask), m.normalize(x, 2.0, 1, mask=mask), m.normalize(x, 1.0, 0), m.norm(x, 1.0, 1, mask=mask),
                m.norm(x, float('inf'), 1, mask=mask), m.norm(x, float('-inf'), 1, mask=mask), m.var(x, 1, False, mask=mask), m.std(x, 1, correction=2, mask=mask),
                m.sum(x.long(), 1, mask=mask), m.amax(x.long(), 1, mask=~mask), m.amin(x.int(), 0, mask=mask))
    same(torch, run)


def test_nothing_to_reduce(torch):
    def run(t):
        x, mask = t.ones(2, 3), t.zeros(2, 3, dtype=t.bool)
        return [getattr(t.masked, name)(x, dim=1, mask=mask) for name in 'sum mean prod amax amin logsumexp norm'.split()]
    same(torch, run)


@pytest.mark.parametrize('name', ['sum', 'mean', 'amax', 'var', 'softmax', 'log_softmax', 'logsumexp', 'cumsum'])
def test_gradients(torch, name):
    def run(t):
        x, mask = elements(t, grad=True)
        mask = mask | t.tensor([False, False, True, True])  # several in each row, so that no result is nan
        found = getattr(t.masked, name)(x, dim=1, mask=mask)
        t.where(found.isinf(), 0.0, found).sin().sum().backward()
        return x.grad
    same(torch, run)


def test_what_is_refused():
    x = ours.ones(2)
    with pytest.raises(TypeError, match='bools'):
        ours.masked.sum(x, mask=ours.ones(2))
    with pytest.raises(IndexError, match='2 dimensions for 1'):
        ours.masked.sum(x, mask=ours.ones(1, 2, dtype=ours.bool))
    with pytest.raises(RuntimeError, match='not both'):
        ours.masked.var(x, unbiased=True, correction=1)
    with pytest.raises(AttributeError, match=r'torch\.where'):
        ours.masked.masked_tensor(x, x > 0)
