"""Methods of Tensor that are no ops: their results, and their errors."""
import pytest

import tenon

X = tenon.arange(24).reshape(2, 3, 4)


def shapes(parts):
    return [part.shape for part in parts]


def test_split_by_size_and_by_sizes():
    assert shapes(X.split(2, 2)) == [(2, 3, 2)] * 2 and shapes(X.split(3, -1)) == [(2, 3, 3), (2, 3, 1)]
    parts = X.split([1, 3], dim=2)
    assert shapes(parts) == [(2, 3, 1), (2, 3, 3)] and tenon.concat(parts, axis=2).tolist() == X.tolist()
    assert shapes(X.split((0, 3), 1)) == [(2, 0, 4), (2, 3, 4)]
    assert shapes(X.chunk(2, -1)) == [(2, 3, 2)] * 2
    assert shapes(X.unbind(-2)) == [(2, 4)] * 3
    assert X.narrow(-1, -3, 2).tolist() == X[:, :, 1:3].tolist()


@pytest.mark.parametrize('call, error, text', [
    (lambda x: x.split([1, 3]), ValueError, r'\[split\] sizes \(1, 3\) do not add up to 2'),
    (lambda x: x.split([-1, 3]), ValueError, r'\[split\] sizes'),
    (lambda x: x.split([1, 0.5]), ValueError, r'\[split\] split_size must be an integer'),
    (lambda x: x.split(1.5), TypeError, r'float'),
    (lambda x: x.split(0), ValueError, r'\[split\] size 0 must be positive'),
    (lambda x: x.split(1, 3), IndexError, r'dim 3 is out of range for a tensor of rank 3'),
    (lambda x: x.chunk(2, 3), IndexError, r'dim 3 is out of range for a tensor of rank 3'),
    (lambda x: x.chunk('2'), TypeError, 'str'),
    (lambda x: x.unbind(3), IndexError, r'dim 3 is out of range for a tensor of rank 3'),
    (lambda x: x.unbind(-4), IndexError, r'dim -4 is out of range for a tensor of rank 3'),
    (lambda x: x.unbind('0'), TypeError, 'dim must be an int, not str'),
    (lambda x: tenon.tensor(1.).unbind(), IndexError, r'\[unbind\] needs at least one dimension'),
    (lambda x: x.narrow(3, 0, 1), IndexError, 'dim 3 is out of range for a tensor of rank 3'),
    (lambda x: x.narrow(0, 1, 2), ValueError, r'\[narrow\] 2 entries from 1 on do not fit into 2'),
    (lambda x: x.narrow(0, 0., 1), TypeError, 'float')])
def test_mistakes_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call(X)


def test_data_reads_and_is_written_through():
    p = tenon.nn.Parameter(tenon.ones(3))
    assert p.data.shares_memory(p) and not p.data.requires_grad and p.data.tolist() == [1, 1, 1]
    p.data -= 0.5
    p.data.mul_(2)
    p.data[0] = 7
    assert p.tolist() == [7, 1, 1] and p.requires_grad


def test_data_is_replaced():
    net = tenon.nn.Linear(1, 3)
    optimizer = tenon.optim.SGD(net.parameters(), lr=1.0)
    net.bias.data = values = tenon.asarray([1.0, 2.0, 3.0])
    net(tenon.zeros((1, 1))).sum().backward()
    optimizer.step()
    assert net.bias.shares_memory(values) and values.tolist() == [0, 1, 2] and net.bias.requires_grad


@pytest.mark.parametrize('value', [1., None, [1., 2.]], ids=str)
def test_data_is_a_tensor(value):
    x = tenon.ones(3)
    with pytest.raises(TypeError, match='data'):
        x.data = value
    assert x.tolist() == [1, 1, 1]
