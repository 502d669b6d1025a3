"""Tensors that take other memory or another shape, as in PyTorch: x.data = y and methods such as t_()."""
import gc
import pathlib
import sys
import weakref

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def given_data(t):
    p, q = t.nn.Parameter(t.ones(2)), t.tensor([3.0, 4.0])
    kept, p.data = p.data, q
    q.mul_(2)  # p shares the memory of q
    (p * p).sum().backward()
    p.data = p.data + 1  # the gradient stays
    return p, kept, p.grad, p.requires_grad, p.is_leaf


def swapped(t):
    """Averages of weights are swapped in for a look, then the weights return; the optimizer continues with them."""
    m = t.nn.Linear(2, 1)
    t.nn.init.ones_(m.weight)
    t.nn.init.zeros_(m.bias)
    optimizer = t.optim.SGD(m.parameters(), lr=0.1)
    kept = {name: p.data for name, p in m.named_parameters()}
    for p in m.parameters():
        p.data = p.data.clone() * 2
    averaged = m(t.ones(1, 2))
    for name, p in m.named_parameters():
        p.data = kept[name]
    again = m(t.ones(1, 2))
    again.sum().backward()
    optimizer.step()
    return averaged, again, m(t.ones(1, 2)), kept['weight']


def other_dtype(t):
    p = t.nn.Parameter(t.ones(2))
    p.data = p.data.half()
    with t.no_grad():
        p.data = t.zeros(3, 1, dtype=t.float64)
    return p, p.requires_grad


def shapes(t):
    x = t.arange(6.0).reshape(2, 3)
    y, found = x, [x.t_().clone(), x.unsqueeze_(0).clone(), x.squeeze_().clone(), x.transpose_(0, 1).clone(), x.swapaxes_(0, 1).clone(),
                   x.swapdims_(0, 1).clone(), x.as_strided_((2, 2), (1, 2)).clone(), x.squeeze_(0).clone()]
    return found, x is y, x.stride()


def recorded(t):
    w = t.ones(3, requires_grad=True)
    y = (w * t.tensor([1.0, 2.0, 3.0])).unsqueeze_(0).t_()
    with t.no_grad():
        w.unsqueeze_(1)
    (y * y).sum().backward()
    return y, w.shape, w.requires_grad


def resized(t):
    x = t.arange(6.0)
    part, shared = x.resize_(2, 2).clone(), x.view(-1)
    x.resize_(3)[0] = 9
    larger = x.clone().resize_(4, 2)
    return part, shared[0], x.resize_as_(t.zeros(1, 3)), tuple(larger.shape), larger.view(-1)[:3]


def taken(t):
    x, y = t.zeros(2), t.arange(6.0)
    x.set_(y)
    y[0] = 9
    return x, t.zeros(1).set_(y, 1, (2, 2), (2, 1)), t.zeros(3).set_(), t.zeros(3).set_(y, 2, (2,))


def without_history(t):
    y = t.ones(2, requires_grad=True) * 2
    y.detach_()
    return y, y.requires_grad, y.is_leaf


@pytest.mark.parametrize('run', [given_data, swapped, other_dtype, shapes, resized, taken, without_history])
def test_tensors_become_others(torch, run):
    same(torch, run)


def test_history_continues(torch):
    y, shape, asks = recorded(ours)
    assert y.shape == (3, 1) and shape == (3, 1) and asks
    w = ours.ones(3, requires_grad=True)
    (w * 2).unsqueeze_(0).t_().pow(2).sum().backward()
    assert w.grad.tolist() == [8, 8, 8]


@pytest.mark.parametrize('run', [
    lambda t: t.ones(2, 3, requires_grad=True).t_(), lambda t: t.ones(2, 3, requires_grad=True).resize_(2), lambda t: t.ones(2).resize_(-1, 2),
    lambda t: t.ones(2).set_(t.ones(2, dtype=t.int64)), lambda t: setattr(t.ones(2), 'data', 3),
    lambda t: setattr(t.ones(2, requires_grad=True), 'data', t.ones(2, dtype=t.int64)), lambda t: t.ones(3).t_().unsqueeze_(5)])
def test_refused_in_both(torch, run):
    for package in torch, ours:
        with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)):
            run(package)


def test_assignments_that_would_lose_history_are_refused():
    x = ours.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match='a result keeps its elements'):
        y.data = ours.zeros(2)
    x.grad = ours.ones(2)
    with pytest.raises(ValueError, match='x.grad = None'):
        x.data = ours.zeros(3)
    handle = x.register_hook(lambda gradient: None)
    with pytest.raises(ValueError, match='hooks'):
        x.data = ours.zeros(2)
    handle.remove()
    x.data = ours.zeros(2)
    assert x.tolist() == [0, 0] and x.grad.tolist() == [1, 1]
    with pytest.raises(ValueError, match='vmap'):
        ours.vmap(lambda row: setattr(x, 'data', row))(ours.ones(2, 2))


def test_replaced_memory_is_freed():
    x, y = ours.ones(1000), ours.zeros(1000)
    view = x.data
    gone = weakref.ref(view)
    x.data = y
    del view
    gc.collect()
    assert gone() is None and x.shares_memory(y)


def test_strides_count_memory(torch):
    def seen(t):
        x = t.arange(24.0).reshape(4, 6)
        return (x[1:].storage_offset(), x[1, 2:].storage_offset(), x.clone().storage_offset(), x[1:].as_strided((2, 2), (6, 1)),
                x[1:].as_strided((2, 2), (6, 1), 8), x.t().as_strided((2, 3), (1, 2), 1), x[2:].t().as_strided((2, 3), (1, 2)),
                t.as_strided_scatter(x.t(), t.zeros(2, 2), (2, 2), (1, 6), 3), t.as_strided_scatter(x[1:], t.zeros(2), (2,), (7,), 7))

    for found, wanted in zip(seen(ours), seen(torch)):
        same(found, wanted)


def test_memory_beyond_a_view_is_not_reached():
    x = ours.arange(12.0).reshape(3, 4)
    with pytest.raises(IndexError, match='outside'):
        x[:2].as_strided((9,), (1,), 0)
    with pytest.raises(ValueError, match='gaps'):
        x[:2, ::2].as_strided((8,), (1,))
    with pytest.raises(ValueError, match='gaps'):
        ours.as_strided_scatter(x[:, ::2], ours.zeros(2), (2,), (1,))
