"""Objects of classes that torch.serialization.add_safe_globals() allows in files, across to PyTorch and back."""
import argparse
import datetime
import io
import pathlib
import pickle
from dataclasses import dataclass

import pytest

import tenon.torch as ours
from tenon.torch import serialization


@dataclass
class Config:
    width: int
    weight: object = None


class Slotted:
    __slots__ = ('a', 'b')


class Counted:
    def __getstate__(self):
        return {'n': self.n}

    def __setstate__(self, state):
        self.n = state['n'] + 1


def put():
    raise AssertionError('called')


ALLOWED = [argparse.Namespace, Config, Slotted, Counted, datetime.timedelta, type(pathlib.Path())]


def checkpoint(t):
    slotted, counted = Slotted(), Counted()
    slotted.a, slotted.b, counted.n = 1, [t.ones(2)], 3
    shared = t.arange(4.0)
    return {'args': argparse.Namespace(lr=0.1, names=['a', 'b'], nested=argparse.Namespace(depth=2)), 'config': Config(3, shared), 'shared': shared, 'slotted': slotted,
            'counted': counted, 'span': datetime.timedelta(days=2), 'path': pathlib.Path('a') / 'b'}


def seen(found):
    config = found['config']
    return (vars(found['args'])['lr'], found['args'].names, found['args'].nested, type(config) is Config, config.width, config.weight.tolist(), found['slotted'].a,
            found['slotted'].b[0].tolist(), found['counted'].n, found['span'], found['path'], found['args'].nested.depth)


@pytest.fixture(name='modules')
def allowed(torch):
    with torch.serialization.safe_globals(ALLOWED), serialization.safe_globals(ALLOWED):
        yield torch, ours


@pytest.mark.parametrize('source', [0, 1])
@pytest.mark.parametrize('target', [0, 1])
def test_objects_cross_both_ways(modules, source, target):
    file = io.BytesIO()
    modules[source].save(checkpoint(modules[source]), file)
    file.seek(0)
    found = modules[target].load(file, weights_only=True)
    assert seen(found) == (0.1, ['a', 'b'], argparse.Namespace(depth=2), True, 3, [0, 1, 2, 3], 1, [1, 1], 4, datetime.timedelta(days=2),
                           pathlib.Path('a/b'), 2)
    found['shared'].zero_()
    assert found['config'].weight.tolist() == [0, 0, 0, 0]


def test_other_classes_are_refused():
    file = io.BytesIO()
    ours.save(argparse.Namespace(lr=0.1), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r'argparse\.Namespace.*add_safe_globals'):
        ours.load(file)
    with serialization.safe_globals([(argparse.Namespace, 'argparse.Namespace')]):
        file.seek(0)
        assert ours.load(file) == argparse.Namespace(lr=0.1)
    assert serialization.get_safe_globals() == []


def archive(pickled):
    """A file of torch.save() whose pickle is another one."""
    import zipfile
    file = io.BytesIO()
    ours.save({}, file)
    changed = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, 'w') as new:
        for name in old.namelist():
            new.writestr(name, pickled if name.endswith('data.pkl') else old.read(name))
    changed.seek(0)
    return changed


NAMESPACE = b'cargparse\nNamespace\n'


@pytest.mark.parametrize('pickled', [
    b'\x80\x02' + NAMESPACE + b'.',  # the class itself
    b'\x80\x02' + NAMESPACE + b')\x81K\x01b.',  # attributes that are no dict
    b'\x80\x02' + NAMESPACE + b')\x81' + NAMESPACE + b'b.',  # a class as attributes
    b'\x80\x02' + NAMESPACE + NAMESPACE + b'\x85\x81.',  # a class as argument
    b'\x80\x02' + NAMESPACE + b'K\x01\x81.',  # arguments that are no tuple
    b'\x80\x02' + NAMESPACE + b'K\x01\x85R.',  # arguments that it does not take
    f'\x80\x02c{__name__}\nput\n)R.'.encode('latin1'),  # a function that is not allowed
    b'\x80\x02' + NAMESPACE + b')\x81}X\x01\x00\x00\x00a' + NAMESPACE + b'sb.',
])
def test_hostile_uses_of_an_allowed_class(pickled):
    with serialization.safe_globals([argparse.Namespace]), pytest.raises(pickle.UnpicklingError):
        ours.load(archive(pickled))


class Fresh:
    """An object whose state is made anew each time it is asked for."""

    def __init__(self, asked=0):
        self.asked = asked

    def __getstate__(self):
        self.asked += 1
        return {'asked': self.asked, 'made': ours.full((2,), float(self.asked))}


def test_state_is_asked_for_once():
    fresh, file = Fresh(), io.BytesIO()
    with serialization.safe_globals([Fresh]):
        ours.save([fresh, fresh], file)
        file.seek(0)
        first, second = ours.load(file)
    assert fresh.asked == 1 and first is second and first.asked == 1 and first.made.tolist() == [1.0, 1.0]
