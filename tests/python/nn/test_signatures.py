"""What libs/signatures.toml says about every class and function of nn and optim; tests/libs/signatures is the C++ side."""
import functools
import inspect
import pathlib
import sys
import typing

import pytest

import tenon
import tenon.torch
from tenon import nn, optim

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / 'tools'))
import signatures

ENTRIES, NAMES = signatures.read()
MODULES = {'nn': nn, 'torch': tenon.torch.nn, 'init': nn.init, 'optim': optim, 'clip': optim, 'scheduler': optim}
DTYPES = {'float32': 'f32', 'float64': 'f64', 'int64': 'i64', 'int8': 'i8', 'uint8': 'u8'}


def names_of(*sections):
    return {name for entry in ENTRIES if entry.section in sections for name in (entry.name, *entry.get('also'))}


def trained():
    """A parameter of two elements that has a gradient."""
    w = nn.Parameter(tenon.tensor([1.0, 2.0]))
    w.grad = tenon.tensor([0.5, 0.25])
    return [w]


def value(argument, given, optimizer):
    """A value of the table in Python."""
    if isinstance(given, dict):
        (what, how), = given.items()
        return tenon.ones(tuple(how)) if what == 'ones' else lambda epoch: how
    if argument.type == 'LRScheduler[]':
        return [optim.ExponentialLR(optimizer, 0.5) for _ in range(given)]
    return tuple(given) if isinstance(given, list) else given


def make(entry, given):
    """The result of the constructor or function."""
    optimizer = optim.SGD(trained())
    supplied = {'Tensor': lambda: tenon.ones(tuple(entry.get('of', (2, 2)))), 'Tensor[]': trained, 'Optimizer': lambda: optimizer}
    arguments = {a.name: supplied[a.type]() for a in entry.supplied}
    arguments.update({a.name: value(a, given[a.name], optimizer) for a in entry.arguments if a.name in given})
    return getattr(MODULES[entry.section], entry.name)(**arguments)


def signature_of(function):
    """[(name, default)]"""
    empty = inspect.Parameter.empty
    if inspect.isclass(function) and 'args' in inspect.signature(function).parameters:  # PyTorch's RNN and its kin, or no constructor
        overloads = typing.get_overloads(function.__init__)
        function = functools.partial(overloads[0], None) if overloads else lambda: None
    return [(p.name, 'required' if p.default is empty else p.default) for p in inspect.signature(function).parameters.values()]


def expected_signature(arguments):
    return [(a.name, 'required' if a.required else tuple(a.default) if isinstance(a.default, list) else a.default) for a in arguments]


def same(found, wanted):
    """Equal, with defaults of the same type."""
    assert found == wanted
    assert [type(default) for _, default in found] == [type(default) for _, default in wanted]


def ids(entry):
    return f'{entry.section}.{entry.name}'


@pytest.mark.parametrize('entry', [entry for entry in ENTRIES if entry.section != 'torch'], ids=ids)
class TestEntry:
    def test_signature(self, entry):
        same(signature_of(getattr(MODULES[entry.section], entry.name)), expected_signature(entry.arguments))
        for other in entry.get('also'):
            assert getattr(nn, other) is getattr(nn, entry.name)

    def test_state(self, entry):
        for given, state in entry.cases('state'):
            made = make(entry, given)
            if entry.section == 'scheduler':
                assert sorted(made.state_dict()) == sorted(state)
                assert all(type(number) is float for number in made.state_dict().values())
                continue
            wanted = list(state)
            if entry.section == 'optim':
                made.step()
                options = [f"group.0.{a.name} f64 ({'2' if a.type == 'float[2]' else ''})" for a in entry.free]
                wanted = options + [f'state.0.{line}' for line in state]
            found = [f"{key} {DTYPES[x.dtype.name]} ({', '.join(map(str, x.shape))})" for key, x in made.state_dict().items()]
            assert sorted(found) == sorted(wanted)

    def test_takes(self, entry):
        for given, _ in entry.cases('takes'):
            make(entry, given)

    def test_refuses(self, entry):
        for given, message in entry.cases('refuses'):
            with pytest.raises(ValueError) as caught:
                make(entry, given)
            assert str(caught.value) == entry.error(message)


@pytest.mark.parametrize('entry', [entry for entry in ENTRIES if entry.section == 'torch'], ids=ids)
class TestEntryOfTorch:
    """Classes of C++ that are tenon.torch.nn's in Python, beside PyTorch's own."""

    def test_signature(self, entry):
        self.check_signature(entry, tenon.torch.nn)

    def test_signature_of_pytorch(self, torch, entry):
        self.check_signature(entry, torch.nn)

    def test_state(self, entry):
        self.check_state(entry, tenon.torch.nn)

    def test_state_of_pytorch(self, torch, entry):
        self.check_state(entry, torch.nn)

    def test_takes(self, entry):
        plain = [] if any(changed == {} for changed, _ in entry.get('refuses')) else [{}]
        for changed in [*plain, *entry.get('takes')]:
            self.make(entry, tenon.torch, entry.given(changed))

    def check_signature(self, entry, namespace):
        more = {'inplace', 'device', 'dtype', 'size_average', 'reduce', *entry.get('without')}
        for name in (entry.name, *entry.get('also')):
            found = signature_of(getattr(namespace, name))
            found = [(name, getattr(default, '__name__', default)) for name, default in found if name not in more]  # F.relu: 'relu'
            assert [(name, listed(default)) for name, default in found] == [(name, listed(x)) for name, x in expected_signature(entry.arguments)]

    def check_state(self, entry, namespace):
        for given, state in entry.cases('state'):
            made = self.make(entry, sys.modules[namespace.__name__.rpartition('.')[0]], given)
            found = [f"{key} {DTYPES[str(x.dtype).rpartition('.')[2]]} ({', '.join(map(str, x.shape))})" for key, x in made.state_dict().items()]
            assert sorted(found) == sorted(state)

    def make(self, entry, package, given):
        given = {name: package.ones(*x['ones']) if isinstance(x, dict) else x for name, x in given.items()}
        return getattr(package.nn, entry.name)(**given)


def listed(default):
    """Tuples as lists: PyTorch's defaults of several numbers are either."""
    return list(default) if isinstance(default, tuple) else default


LOSSES = {entry.get('function'): entry for entry in ENTRIES if entry.get('function')}


@pytest.mark.parametrize('name', LOSSES)
def test_functions_of_losses_have_the_same_options(name):
    found = signature_of(getattr(nn.functional, name))
    assert found[1] == ('target', 'required')
    same(found[2:], expected_signature(LOSSES[name].arguments))


def test_every_name_is_in_the_table():
    plain = set(NAMES['both']) | set(NAMES['python']) | set(NAMES['containers'])
    assert set(nn.__all__) | set(optim.__all__) == names_of('nn', 'optim', 'scheduler', 'clip') | plain
    for module in (nn, optim):  # nothing is exported beside __all__
        public = {name for name, x in vars(module).items() if name[0] != '_' and inspect.isclass(x)}
        assert public <= set(module.__all__)
    functions = {name for name, x in vars(nn.init).items() if inspect.isfunction(x) and x.__module__ == 'tenon.nn.init'}
    assert {name for name in functions if name[0] != '_'} == names_of('init')
    public = [(name, x) for name, x in vars(nn.functional).items() if name[0] != '_' and callable(x) and not inspect.isclass(x)]
    assert {name for name, x in public if 'target' in inspect.signature(x).parameters} == set(LOSSES)
