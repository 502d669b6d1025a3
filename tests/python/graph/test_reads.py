"""Compiled functions that read or change what is outside of them give what eager calls give, and leave it as eager calls do."""
import collections
import copy
import dataclasses
import functools
import random
import sys
import types
import warnings

import numpy as np
import pytest

import tenon
from tenon import nn, optim

X, OTHER = tenon.arange(24.0).reshape(4, 6) / 10 - 1, tenon.ones(3, 6)
SCALE, TABLE = 2.0, tenon.ones(6)
SETTINGS = types.ModuleType('settings')
SETTINGS.__file__ = 'settings.py'


def elements(value):
    """Structure, numbers and elements, to compare."""
    if isinstance(value, tenon.Tensor):
        return tenon.Tensor, value.shape, value.dtype, value.detach().tolist()
    if isinstance(value, dict):
        return type(value), list(value), [elements(one) for one in value.values()]
    if isinstance(value, (list, tuple)):
        return type(value), [elements(one) for one in value]
    if dataclasses.is_dataclass(value):
        return type(value), [elements(one) for one in vars(value).values()]
    return type(value), value


def compare(build, calls, programs=None, refused=None):
    """Runs calls(run, of) of two equal builds, one of them compiled; `of` is what build returns besides the function. Expects so many
    programs, or the warning."""
    made = []
    for compiled in False, True:
        tenon.manual_seed(0)
        fn, of = build()
        made.append((tenon.compile(fn) if compiled else fn, of))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        for i, call in enumerate(calls):
            found = []
            for run, of in made:
                tenon.manual_seed(i)
                found.append((elements(call(run, of)), elements(seen(of))))
            assert found[0] == found[1], f'call {i}'
    assert [str(one.message) for one in said if refused is None or refused not in str(one.message)] == []
    assert made[1][0]._refused == (refused is not None)
    assert programs is None or len(made[1][0]._programs) == programs


def seen(of):
    """What a call may have changed."""
    if isinstance(of, nn.Module):
        return [*of.parameters(), *of.buffers(), [value for value in vars(of).values() if isinstance(value, (int, tenon.Tensor))]]
    return [seen(one) for one in of] if isinstance(of, (list, tuple)) else of if isinstance(of, (int, float, tenon.Tensor)) else None


def plain(run, _):
    with tenon.no_grad():
        return run(X)


def changed(change):
    """A call after a change."""
    def call(run, of):
        change(of)
        return plain(run, of)
    return call


def in_mode(kind):
    return changed(lambda of: [getattr(net, kind)() for net in of])


# ---- What is read ------------------------------------------------------------------------------------------------------


def function_of_a_module():
    net = nn.Sequential(nn.Linear(6, 32), nn.Dropout(0.5))
    return (lambda x: net(x)), [net]


def partial_of_a_module():
    net = nn.Sequential(nn.Linear(6, 32), nn.Dropout(0.5))
    return functools.partial(lambda net, x, k: net(x) * k, net, k=2.0), [net]


def function_of_a_list():
    nets = [nn.Dropout(0.5), nn.Dropout(0.25)]
    return (lambda x: nets[1](nets[0](x))), nets


@pytest.mark.parametrize('build', [function_of_a_module, partial_of_a_module, function_of_a_list])
def test_modes_of_modules(build):
    compare(build, [in_mode(kind) for kind in ('eval', 'train', 'eval', 'train')], programs=2)


def test_a_module_among_the_arguments():
    def with_net(run, of):
        with tenon.no_grad():
            return run(of[0], X)

    def switched(kind):
        def call(run, of):
            getattr(of[0], kind)()
            return with_net(run, of)
        return call
    compare(lambda: ((lambda net, x: net(x)), [nn.Sequential(nn.Linear(6, 32), nn.Dropout(0.5))]),
            [switched('eval'), switched('train'), switched('eval')], programs=2)


class Scaled:
    def __init__(self, k=2.0):
        self.k, self.more = k, types.SimpleNamespace(shift=[1.0, 2.0])

    def __call__(self, x):
        return self.inner(x) + self.more.shift[1]

    def inner(self, x):
        return x * self.k


def closure():
    box = {'k': 2.0}
    k = 2.0

    def fn(x):
        return [x * (k + i) + box['k'] for i in range(2)]

    def change(value):
        nonlocal k
        k, box['k'] = value, value * 3
    return fn, change


def of_globals():
    def fn(x):
        return helper(x) + TABLE
    return fn, None


def helper(x):
    return x * SCALE + SETTINGS.shift


def assign(**values):
    def change(_):
        SETTINGS.shift = values['scale'] + 1
        for name, value in values.items():
            setattr(sys.modules[__name__], name.upper(), value)
    return changed(change)


def attribute(value):
    def change(of):
        of.k, of.more.shift[1] = value, value * 2
    return changed(change)


def test_attributes_of_objects():
    def build():
        of = Scaled()
        return of, of
    compare(build, [attribute(2.0), attribute(5.0), attribute(2.0)], programs=2)

    def method():
        of = Scaled()
        return of.inner, of
    compare(method, [attribute(2.0), attribute(5.0), attribute(2.0)], programs=2)


def test_variables():
    compare(closure, [changed(lambda change, value=value: change(value)) for value in (2.0, 3.0, 2.0)], programs=2)
    ones = tenon.ones(6)
    compare(of_globals, [assign(scale=2.0, table=ones), assign(scale=3.0, table=ones), assign(scale=3.0, table=ones * 2), assign(scale=2.0, table=ones)],
            programs=3)


def test_a_variable_that_differs_in_every_call():
    compare(closure, [changed(lambda change, value=value: change(value / 2)) for value in range(12)], refused='is other in each call')


def test_data_of_parameters_may_be_replaced():
    def build():
        net = tenon.torch.nn.Linear(6, 2)
        return net, net

    def replace(net):
        net.weight.data = tenon.ones(2, 6) * 5
    compare(build, [plain, plain, changed(replace), plain])


@dataclasses.dataclass
class Pair:
    a: object
    b: object
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    b: object


def test_structures_keep_their_types():
    for kind in Pair, Frozen, collections.namedtuple('Named', 'a b'):
        compare(lambda kind=kind: ((lambda pair: kind(pair.b * 2, [pair.a, pair.a + 1])), None),
                [lambda run, _, kind=kind, k=k: run(kind(X * k, OTHER)) for k in range(3)], programs=1)
    compare(lambda: ((lambda pair: pair.a * pair.scale), None), [lambda run, _, k=k: run(Pair(X, X, k)) for k in (1.0, 2.0, 1.0)], programs=2)
    ordered = collections.OrderedDict
    compare(lambda: ((lambda given: ordered(b=given['a'], a=given['b'] + 1)), None),
            [lambda run, _: run(ordered(a=X, b=X)), lambda run, _: run(ordered(b=X, a=OTHER))], programs=2)


def test_as_many_tensors_as_arguments():
    compare(lambda: ((lambda one, two=2: one[0] * two + one[-1]), None), [lambda run, _: run([X]), lambda run, _: run([X, OTHER[:1]], 3)] * 2, programs=2)


class Held:
    def __init__(self, x, k):
        self.x, self.k = x, k


def test_attributes_of_arguments():
    held = Held(X, 2.0)

    def call(x, k):
        def fn(run, _):
            held.x, held.k = x, k
            return run(held)
        return fn
    compare(lambda: ((lambda of: of.x * of.k), None), [call(X, 2.0), call(X, 3.0), call(OTHER, 3.0), call(X, 2.0)], programs=3)


# ---- What is changed ---------------------------------------------------------------------------------------------------


class Counts(nn.Module):
    """Counts its calls and keeps its last result."""

    def __init__(self):
        super().__init__()
        self.layer, self.calls, self.last = nn.Linear(6, 3), 0, None

    def forward(self, x):
        self.calls += 1
        self.last = self.layer(x) * self.calls
        return self.last


class Buffered(nn.Module):
    """Counts its calls in a buffer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer('calls', tenon.zeros(1))

    def forward(self, x):
        self.calls += 1
        return self.layer(x)


class Lazy(nn.Module):
    """Makes a table when it needs a longer one."""

    def __init__(self):
        super().__init__()
        self.table, self.length = None, 0

    def forward(self, x):
        if x.shape[0] > self.length:
            self.length = x.shape[0]
            self.table = tenon.arange(float(self.length))[:, None]
        return x + self.table[:x.shape[0]]


def whole(kind):
    def build():
        net = kind()
        return net, net
    return build


def test_modules_that_change_themselves():
    compare(whole(Counts), [plain] * 5, refused='it changes a variable, an attribute')
    compare(whole(Buffered), [plain] * 4, programs=1)
    compare(whole(lambda: nn.BatchNorm1d(6)), [plain] * 3, programs=1)


def test_tables_made_when_needed():
    def rows(count):
        def call(run, _):
            with tenon.no_grad():
                return run(tenon.ones(count, 6))
        return call
    compare(whole(Lazy), [rows(count) for count in (4, 3, 9, 4, 4, 9, 3)], programs=4)


class Trainer:
    def __init__(self):
        self.net, self.count, self.history, self.scale = nn.Linear(6, 2), 0, [], 1.0
        self.average = copy.deepcopy(self.net)
        self.optimizer = optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)

    def loss(self, x):
        return self.net(x).square().mean() * self.scale

    def plain(self, x):
        self.optimizer.zero_grad()
        loss = self.loss(x)
        loss.backward()
        self.optimizer.step()
        return loss

    def counting(self, x):
        self.count += 1
        self.scale = 1 / self.count
        return self.plain(x)

    def appending(self, x):
        loss = self.plain(x)
        self.history.append(loss.detach())
        return loss

    def averaging(self, x):
        loss = self.plain(x)
        with tenon.no_grad():
            for mine, new in zip(self.average.parameters(), self.net.parameters()):
                mine.mul_(0.9).add_(new * 0.1)
        return loss

    def rebinding(self, x):
        loss = self.plain(x)
        with tenon.no_grad():
            self.average = [new * 0.1 for new in self.net.parameters()]
        return loss

    def clipping(self, x):
        self.optimizer.zero_grad()
        loss = self.loss(x) * 100
        loss.backward()
        norm = optim.clip_grad_norm_(self.net.parameters(), 0.5)
        self.optimizer.step()
        return loss, norm

    def accumulating(self, x, parts=2):
        self.optimizer.zero_grad()
        total = 0.0
        for part in x.chunk(parts):
            loss = self.loss(part) / parts
            loss.backward()
            total = total + loss.detach()
        self.optimizer.step()
        return total


@pytest.mark.parametrize(('step', 'refused'), [
    ('plain', None), ('averaging', None), ('clipping', None), ('accumulating', None), ('counting', 'varies from run to run'),
    ('appending', 'it changes a variable'), ('rebinding', 'it changes a variable')])
def test_methods_that_train(step, refused):
    def build():
        trainer = Trainer()
        return getattr(trainer, step), [trainer.net, trainer.average, trainer]

    def call(run, of):
        loss = run(X)
        trainer = of[2]
        average = trainer.average if isinstance(trainer.average, list) else []
        return loss, trainer.count, list(trainer.history), average
    compare(build, [call] * 5, refused=refused)


def test_a_number_of_the_trainer_may_change():
    def build():
        trainer = Trainer()
        return trainer.plain, [trainer.net, trainer]

    def scaled(value):
        def call(run, of):
            of[1].scale = value
            return run(X)
        return call
    compare(build, [scaled(value) for value in (1.0, 1.0, 1.0, 3.0, 3.0, 1.0)], programs=2)


def test_compiled_functions_inside_others():
    def build():
        inner = tenon.compile(lambda x: x.sin() * 2)
        return (lambda x: inner(x) + inner(x * 2)), None
    compare(build, [plain] * 3, programs=1)


# ---- What no run can do ------------------------------------------------------------------------------------------------


def seeds(x):
    tenon.manual_seed(3)
    return x + tenon.randn(4, 6)


def yields(x):
    for i in range(3):
        yield x * i


def test_what_no_run_can_do():
    def call(run, _):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        found = run(X)
        return list(found) if isinstance(found, types.GeneratorType) else found
    for fn in seeds, lambda x: x * random.random(), lambda x: x * np.random.rand():  # noqa: NPY002
        compare(lambda fn=fn: (fn, None), [call] * 3, refused='seeds a generator, or draws')
    compare(lambda: (yields, None), [call] * 3, refused='the function gives a generator')
    outside = tenon.ones(2)
    for made in Slotted, lambda x: Held(outside, x.shape[0]):
        with pytest.raises(tenon.PreconditionError, match='gives a (Slotted|Held), which no run can make'):
            tenon.graph.trace(made, X)


class Slotted:
    __slots__ = ('x',)

    def __init__(self, x):
        self.x = x


def test_objects_among_the_results():
    """What the function makes is made anew in each run; what was given to it is given back."""
    given = Held(tenon.ones(3), 7)

    def made(x, kept):
        inner = Held(x * 2, [x + 1])
        return Held(inner, {'last': inner.k[0]}), kept
    program = tenon.graph.trace(made, X, given)
    (first, kept), (second, _) = program(X, given), program(X + 1, given)
    assert kept is given and type(first) is type(first.x) is Held and first is not second
    assert (first.x.x == X * 2).all() and (second.x.x == X * 2 + 2).all() and (second.k['last'] == X + 2).all()
    assert first.x.k is not second.x.k


def test_objects_that_hold_themselves_are_refused():
    def made(x):
        held = Held(x * 2, 1)
        held.k = held
        return held
    with pytest.raises(tenon.PreconditionError, match='gives a Held, which no run can make'):
        tenon.graph.trace(made, X)


class Cache:
    """As of language models: what was seen, which grows with each call."""

    def __init__(self):
        self.rows = []

    def add(self, x):
        self.rows = [*self.rows, x]
        return tenon.concat(self.rows)


def test_arguments_that_the_function_changes():
    """The trace leaves nothing behind in them, and the function runs as it is written from then on."""
    compiled = tenon.compile(lambda x, cache: cache.add(x).sum(0) * 2)
    with pytest.warns(UserWarning, match='or an object among its arguments'):
        for _ in range(3):
            cache, beside = Cache(), Cache()
            for i in range(4):
                assert (compiled(X + i, cache) == beside.add(X + i).sum(0) * 2).all()
            assert [x.device.type for x in cache.rows] == ['cpu'] * 4


def test_iterators_among_the_arguments_are_read_once():
    compare(lambda: ((lambda parts: sum(parts)), None), [lambda run, _: run(X * i for i in range(3))] * 2, programs=0)


@pytest.mark.parametrize('norm', ['weight_norm', 'spectral_norm'])
def test_weights_that_a_hook_writes(norm):
    """In a trace the module has the recorded weight only as long as its forward runs."""
    def made():
        tenon.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            layers = [getattr(tenon.torch.nn.utils, norm)(nn.Conv1d(2, 2, 3, padding=1)) for _ in range(2)]
        return nn.Sequential(layers[0], nn.ReLU(), layers[1])

    def trained(net, wrap):
        optimizer = tenon.optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()
        step, losses = wrap(step), []
        for seed in range(4):
            tenon.manual_seed(seed)
            losses.append(step(tenon.randn(2, 2, 8)).item())
        return losses
    net, x = made().eval(), tenon.randn(2, 2, 8)
    with warnings.catch_warnings(), tenon.no_grad():
        warnings.simplefilter('error')
        fast = tenon.compile(net, exact=True)
        for _ in range(3):
            assert (fast(x) == net(x)).all()
        assert net[0].weight.device.type == 'cpu'
        net[0].bias.fill_(3)
        assert (fast(x) == net(x)).all()
    if norm == 'weight_norm':
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            assert trained(made(), tenon.compile) == trained(made(), lambda step: step)
        plain = tenon.torch.nn.utils.remove_weight_norm(net[0])
        assert not plain._forward_hooks and not plain._forward_pre_hooks


class Numbers(nn.Module):
    """Branches on elements of what it holds, and computes with them as numbers."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(tenon.tensor(2.0))
        for name, value in ('flag', tenon.tensor(0)), ('count', tenon.zeros(())), ('table', tenon.ones(4)):
            self.register_buffer(name, value)

    def forward(self, x):
        if self.flag.item() == 0:
            x = x + 1
        if self.count > 3:
            x = x * 10
        x = x * self.scale.item() + float((self.table * 2).sum()) + self.table.tolist()[1]
        return x * int(self.table.detach().numpy()[2]) if bool((self.table > 5).any()) else x


@pytest.mark.parametrize('dynamic', [False, True])
def test_elements_that_it_reads(dynamic):
    net = Numbers()
    fast, changes = tenon.compile(net, dynamic=dynamic), [
        lambda: net.scale.add_(1), lambda: net.flag.fill_(1), lambda: net.count.add_(2), lambda: net.count.add_(2), lambda: net.table[1].mul_(3),
        lambda: net.load_state_dict({name: value * 2 for name, value in net.state_dict().items()}), lambda: net.table.fill_(6.0)]
    with tenon.no_grad(), warnings.catch_warnings():
        warnings.simplefilter('error')
        for change in [lambda: None, *changes]:
            change()
            for rows in (3, 4, 5, 3):
                x = tenon.ones(rows, 2)
                assert elements(fast(x)) == elements(net(x))
    assert fast._programs and not fast._refused


def test_elements_that_are_others_in_each_call():
    net = Numbers()
    fast = tenon.compile(net)
    with tenon.no_grad(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        for _ in range(20):
            net.scale.add_(1)
            assert elements(fast(X)) == elements(net(X))
    assert ['elements of tensors that it reads' in str(one.message) for one in said] == [True]
