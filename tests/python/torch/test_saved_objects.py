"""torch.save of modules and other objects, and torch.load(weights_only=False), which makes them again without running what a file chooses."""
import argparse
import collections
import enum
import functools
import io
import pickle
import tempfile
import threading
import warnings

import numpy
import pytest

import tenon.torch as ours
from tenon.torch.files import program


class Net(ours.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = ours.nn.Sequential(ours.nn.Linear(3, 4), ours.nn.BatchNorm1d(4), ours.nn.ReLU())
        self.head = ours.nn.Linear(4, 4, bias=False)
        self.head.weight = ours.nn.Parameter(ours.eye(4))
        self.again, self.act, self.size = self.head, ours.nn.functional.gelu, (1, [2])
        self.register_buffer('mask', ours.arange(4.0), persistent=False)

    def forward(self, x):
        return self.act(self.again(self.body(x))) * self.mask


class Colour(enum.Enum):
    RED = 1


class Row(dict):
    pass


class Items(list):
    pass


class Slotted:
    __slots__ = 'x',


def filled(value):
    value.x = 2
    return value


class Outer:
    class Inner:
        pass


Point = collections.namedtuple('Point', 'x y')


def doubled(x, by=2):
    return x * by


def written(package, obj):
    file = io.BytesIO()
    package.save(obj, file)
    file.seek(0)
    return file


def through(obj):
    return ours.load(written(ours, obj), weights_only=False)


def test_a_module_comes_back_whole():
    net, x = Net(), ours.randn(5, 3)
    net.body[0].weight.requires_grad_(False)
    net(x)
    net.eval()
    again = through({'net': net, 'again': net, 'weight': net.head.weight})
    found = again['net']
    assert type(found) is Net and found is again['again'] and found.again is found.head and found.head.weight is again['weight']
    assert ours.equal(found(x), net(x)) and not found.training and found.act is ours.nn.functional.gelu and found.size == (1, [2])
    assert list(found.state_dict()) == list(net.state_dict()) and not found.body[0].weight.requires_grad and found.head.weight.requires_grad


def test_an_optimizer_comes_back_with_its_parameters():
    def step(net, optimizer):
        optimizer.zero_grad()
        net(ours.ones(3, 2)).sum().backward()
        optimizer.step()
        return net.weight.tolist()
    net = ours.nn.Linear(2, 1)
    optimizer = ours.optim.Adam(net.parameters(), lr=0.1)
    step(net, optimizer)
    again, found = through((net, optimizer))
    assert found.param_groups[0]['params'][0] is again.weight and step(again, found) == step(net, optimizer)


def test_objects_of_many_kinds():
    default, row, items, held = collections.defaultdict(list, a=[1]), Row(a=1), Items([1, 2]), Slotted()
    row.note, items.note, held.x = 'x', ours.ones(2), ours.ones(1)
    found = through([Colour.RED, default, row, items, Point(1, 2), collections.deque([1, 2], 3), range(3), slice(1, 2), {Colour.RED: 1},
                     frozenset([1]), Net, ours.nn.Buffer(ours.ones(2)), held, argparse.Namespace(lr=0.1), Outer.Inner()])
    assert found[0] is Colour.RED and found[1] == default and found[1]['new'] == [] and type(found[2]) is Row and (found[2], found[2].note) == ({'a': 1}, 'x')
    assert type(found[3]) is Items and found[3] == [1, 2] and found[3].note.tolist() == [1, 1] and type(found[4]) is Point and found[4].y == 2
    assert found[5] == collections.deque([1, 2]) and found[5].maxlen == 3 and found[6:9] == [range(3), slice(1, 2), {Colour.RED: 1}] and found[9] == {1}
    assert found[10] is Net and isinstance(found[11], ours.nn.Buffer) and found[12].x.tolist() == [1] and found[13].lr == 0.1 and type(found[14]) is Outer.Inner


class Goes:
    def __del__(self):
        print('gone')


class Sets:
    x = 1

    def __setstate__(self, state):
        print('set')


class Calls:
    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize('make, why', [
    (lambda: Calls(print, 'called'), 'print.*no class'), (lambda: Calls(eval, '1'), 'eval.*no class'), (lambda: functools.partial(ours.linalg.inv, by=3), 'partial'),
    (lambda: Calls(Goes), 'would call'), (Goes, 'when it goes'), (lambda: filled(Sets()), '__setstate__'), (lambda: doubled, 'no class'), (lambda: len, 'no class'),
    (lambda: numpy.random.RandomState(3), 'numpy.random'), (lambda: Calls(getattr, Net, 'mro'), 'attribute'), (lambda: Calls(ours.load, 'x.pt'), 'would call'),
    (lambda: tempfile._TemporaryFileCloser(None, 'x'), 'standard library'), (lambda: Calls(Net), 'would call'), (lambda: {(1, Point(1, 2)): 2}, 'is a key')])
def test_nothing_is_called(make, why, capfd):
    file = written(ours, [make()])
    capfd.readouterr()
    with pytest.raises(pickle.UnpicklingError, match=why):
        ours.load(file, weights_only=False)
    assert capfd.readouterr().out == ''


def test_only_objects_that_were_made_are_filled():
    for value in (ours.nn.Parameter(ours.ones(1)), Point(1, 2), Colour.RED, Net, [], argparse.ArgumentParser()):
        assert not program.sets(value)


def test_classes_that_the_program_lacks_are_not_imported():
    with pytest.raises(pickle.UnpicklingError, match='import {} before'.format('nowhere.at_all')):
        program.find('nowhere.at_all', 'Row')


def test_views_within_objects_share_memory():
    x = ours.arange(6.0)
    found = through({'rows': Items([x[:3]]), 'x': x})
    found['x'].zero_()
    assert found['rows'][0].tolist() == [0, 0, 0]


def test_by_default_nothing_is_made():
    file = written(ours, Net())
    for arguments in ({}, {'weights_only': True}, {'weights_only': None}):
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError, match=r'Net.*add_safe_globals\(\).*weights_only=False'):
            ours.load(file, **arguments)


@pytest.mark.parametrize('make, why', [
    (lambda: lambda: 1, '<lambda>.*top of a module'), (lambda: type('Row', (dict,), {})(), 'Row.*state_dict'), (lambda: (n for n in ()), 'generator'),
    (lambda: threading.Lock(), 'lock')])
def test_what_has_no_name_is_refused(make, why):
    with pytest.raises(TypeError, match=why):
        written(ours, [make()])


MODULES = {
    'mlp': lambda nn: nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.GELU('tanh'), nn.Dropout(0.1), nn.Linear(6, 2, bias=False)),
    'conv': lambda nn: nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 3, padding='same'), nn.GroupNorm(3, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
    'list': lambda nn: nn.ModuleList([nn.Linear(4, 4), nn.ModuleDict({'a': nn.PReLU()}), nn.ParameterList([nn.Parameter(nn.Linear(1, 1).weight)])]),
    'lstm': lambda nn: nn.LSTM(4, 3, num_layers=2, batch_first=True, bidirectional=True), 'gru': lambda nn: nn.GRU(4, 3),
    'encoder': lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2),
    'cell': lambda nn: nn.RNNCell(4, 3, nonlinearity='relu'), 'attention': lambda nn: nn.MultiheadAttention(4, 2), 'embedding': lambda nn: nn.Embedding(5, 4, padding_idx=1),
}


@pytest.mark.parametrize('kind', MODULES)
def test_modules_of_pytorch_are_read(torch, kind):
    theirs = MODULES[kind](torch.nn).eval()
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        found = ours.load(written(torch, theirs), weights_only=False)
    assert repr(found) == repr(theirs) and list(found.state_dict()) == list(theirs.state_dict()) and not found.training
    assert [tuple(x.shape) for x in found.parameters()] == [tuple(x.shape) for x in theirs.parameters()]
    if kind == 'list':
        return
    x = numpy.arange(20) % 4 if kind == 'embedding' else numpy.random.RandomState(0).randn(5, 4).astype('float32')
    outs = [net(*(package.from_numpy(x),) * (3 if kind == 'attention' else 1)) for package, net in ((torch, theirs), (ours, found))]
    first, second = (out[0] if isinstance(out, tuple) else out for out in outs)
    numpy.testing.assert_allclose(second.detach().numpy(), first.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_functions_of_pytorch_are_found(torch):
    names = ('tanh', 'add', 'nn.functional.gelu', 'nn.functional.relu', 'special.expit', 'fft.rfft', 'linalg.inv', 'float16')
    found = ours.load(written(torch, [functools.reduce(getattr, name.split('.'), torch) for name in names]), weights_only=False)
    assert found == [functools.reduce(getattr, name.split('.'), ours) for name in names]


def test_hooks_of_pytorch_are_left_out_aloud(torch):
    theirs = torch.nn.Linear(1, 1)
    theirs.register_forward_hook(torch.nn.functional.relu)
    with pytest.warns(UserWarning, match='_forward_hooks'):
        assert ours.load(written(torch, theirs), weights_only=False)(ours.ones(1)).shape == (1,)
