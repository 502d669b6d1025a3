"""Plain calls that go to an op at once mean the same as the functions behind them."""
import copy
import functools
import importlib
import inspect
import pathlib
import pickle
import sys

import pytest

import tenon.torch as ours
from tenon._core import Shortcut
from tenon.torch import _shortcuts

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

SHORT = sorted(set(_shortcuts.SHORT) - {'permute'})  # a method that takes dimensions one by one


def function(name):
    found = getattr(ours, name, None)
    return found if isinstance(found, Shortcut) else getattr(ours.nn.functional, name)


@pytest.mark.parametrize('name', SHORT)
def test_every_name_has_its_function(name):
    short = function(name)
    plain = short.__wrapped__
    assert isinstance(short, Shortcut) and inspect.isfunction(plain)
    assert (short.__name__, short.__doc__, short.__module__) == (plain.__name__, plain.__doc__, plain.__module__)
    assert inspect.signature(short) == inspect.signature(plain) and repr(short) == repr(plain)


# Objects of the extension itself, names of pickle's own, and registries, which PyTorch copies too.
_UNNAMED = frozenset('get_num_threads set_num_threads promote_types biject_to transform_to identity_transform'.split())


@pytest.mark.parametrize('module', ['', 'nn.functional', 'linalg', 'fft', 'special', 'nn.init', 'nn', 'optim', 'func', 'autograd', 'distributions'])
def test_functions_are_pickled_by_name(module):
    found = importlib.import_module('.'.join(filter(None, ('tenon.torch', module))))
    names = [name for name in dir(found) if name[0] != '_' and name not in _UNNAMED and callable(getattr(found, name))]
    for name in names:
        each = getattr(found, name)
        assert pickle.loads(pickle.dumps(each)) is each and copy.deepcopy(each) is each, name
    assert len(names) > 3


def test_modules_with_functions_are_pickled_and_copied():
    layer = ours.nn.TransformerEncoderLayer(8, 2, 16, 0.0, activation=ours.nn.functional.relu, batch_first=True)
    layer.extra, layer.method = functools.partial(ours.softmax, dim=-1), ours.Tensor.add
    x = ours.randn(2, 3, 8)
    for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        assert other.activation is ours.nn.functional.relu and other.method is ours.Tensor.add and ours.equal(other(x), layer(x))
        assert ours.equal(other.extra(x), x.softmax(-1))


def operands():
    yield from (ours.tensor(values, dtype=dtype) for values in ([[1, 2, 3], [4, 5, 6]], [[1], [0]], [2, 0, 1], [], 3, [[[1, 2]]])
                for dtype in (ours.float32, ours.float64, ours.int64, ours.bool, ours.complex64))
    yield from (0, 1, -1, 2, True, 1.5, 7, [ours.ones(2), ours.zeros(2)], [ours.ones(2), ours.tensor([])], [ours.ones(2), ours.zeros(2).double()], [])


def own(x):
    return x.clone() if isinstance(x, ours.Tensor) else x


def outcome(call, args, kwargs):
    try:
        found = call(*map(own, args), **kwargs)  # inplace=True writes
    except Exception:
        return 'error', []  # test_wrong_calls.py compares the kinds
    parts = found if isinstance(found, tuple) else (found,)
    return type(found).__name__, [(x.dtype, x.shape, str(x.tolist())) for x in parts]


@pytest.mark.parametrize('name', SHORT)
def test_the_shortcut_equals_the_function(name):
    """All pairs of operands, a third where two are not enough."""
    short, every, compared = function(name), list(operands()), 0
    calls = [((x,), {}) for x in every] + [((x, y), {}) for x in every for y in every] + [((x,), {'dim': d}) for x in every for d in (0, -1, 1, 9, True)]
    calls += [((x, y, z), {}) for x in every[:30:4] for y in every[::3] for z in every[::3]]
    square, at = ours.tensor([[1.0, 2.0], [3.0, 4.0]]), ours.tensor([[0, 1], [1, 1]])
    calls += [((square, square), {}), ((square, square + 1), {}), ((square, square.T, square), {})]
    calls += [((square, dim, index), {}) for dim in (0, 1, -1, -3, 2) for index in (at, at[:1], at[:, :1], at[0], at[0].int(), at[0, 0], at[:, :0])]
    for args, kwargs in calls:
        mine, plain = outcome(short, args, kwargs), outcome(short.__wrapped__, args, kwargs)
        assert mine == plain, (args, kwargs)
        compared += mine[0] != 'error'
    assert compared > 1


def test_permute_takes_dimensions_one_by_one():
    x = ours.ones(1, 2, 3)
    assert x.permute(2, 0, 1).shape == x.permute((2, 0, 1)).shape == x.permute(dims=(2, 0, 1)).shape == (3, 1, 2)
    with pytest.raises((ValueError, IndexError)):
        x.permute(0, 1)


@pytest.mark.parametrize('call', [
    lambda t, x: t.cumprod(x, axis=0), lambda t, x: t.sum(x, axis=1, keepdims=True), lambda t, x: t.softmax(x, axis=0), lambda t, x: t.cat([x, x], axis=1),
    lambda t, x: t.max(x, axis=1).values, lambda t, x: t.std(x, axis=0), lambda t, x: t.squeeze(x[None], axis=0), lambda t, x: t.argmax(x, axis=1),
    lambda t, x: t.median(x, axis=1, keepdims=True).values, lambda t, x: t.logsumexp(x, axis=1), lambda t, x: t.add(x, x2=x), lambda t, x: t.mean(a=x, axis=0),
    lambda t, x: t.quantile(x, 0.5, axis=1), lambda t, x: t.sum(x, axes=1), lambda t, x: t.cumsum(x, 0, axis=0)])
def test_names_of_numpy_are_known(torch, call):
    def run(t):
        return call(t, t.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 6.0]]))
    same(torch, run)
