"""Objects of the program's own classes, for weights_only=False, without running what a file chooses.

A name in the file leads to a class that the program has imported. Its object is made empty by the built-in type it is based on and filled with its
attributes; nothing else is called but `__setstate__` of modules and optimizers, and containers' own ways to take items. Of functions only
Tenon's can be named, and only as values. A class that needs more, or that does something when its objects go, has to be allowed by
torch.serialization.add_safe_globals().
"""
import argparse
import collections
import enum
import functools
import os
import sys
import sysconfig
import types
from typing import Any

from ... import _devices
from ..._core import Shortcut, Tensor
from ...nn import parameter
from ...nn.module import Module
from .. import _shortcuts
from .errors import LoadError

# Where PyTorch's own functions say they are: their place here, and what their names begin with there.
_INNER = {'torch._C._nn': ('torch.nn.functional', ''), 'torch._C._special': ('torch.special', 'special_'),
          'torch._C._linalg': ('torch.linalg', 'linalg_'), 'torch._C._fft': ('torch.fft', 'fft_')}
_FUNCTIONS = types.FunctionType, types.BuiltinFunctionType, Shortcut
_PLAIN = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, dict, tuple, set, frozenset, range, slice)}
# What is made by a call, and of what: types of the arguments.
_CALLED = {dict: {dict}, collections.defaultdict: {type}, collections.deque: {list, tuple, int}, frozenset: {list}, range: {int}, slice: {int, type(None)}}
# Functions that Tenon's own objects are pickled by.
_PICKLED_BY = {_devices._op: (str, bool), parameter._buffer: (Tensor, bool)}
# What an object may be based on, apart from classes of Python.
_BASES = object, dict, list, set, collections.OrderedDict
_STANDARD = os.path.realpath(sysconfig.get_paths()['stdlib'])
_STANDARD_CLASSES = argparse.Namespace, types.SimpleNamespace, collections.OrderedDict, collections.Counter, collections.defaultdict, collections.deque


def _refuse(name, why):
    raise LoadError(f'[torch.load] the file holds an object of {name}, which {why}. If the program trusts it, torch.serialization.add_safe_globals([{name}]) '
                    'allows it')


def name_of(kind):
    return f'{kind.__module__}.{kind.__qualname__}'


def find(module, name):
    """The class, or the function of Tenon's, that a name stands for."""
    if module == 'builtins' and name in _PLAIN:
        return _PLAIN[name]
    if (module, name) == ('builtins', 'getattr'):
        return attribute
    if (module, name) == ('torch._C', '_VariableFunctionsClass'):
        return Owner
    found = _ours(module, name) if module.partition('.')[0] in ('torch', 'tenon') else _imported(module, name)
    if isinstance(found, _FUNCTIONS) and _home(found) == 'tenon':
        return found
    if not isinstance(found, type):
        _refuse(f'{module}.{name}', 'is no class')
    return found


def _home(found):
    return (getattr(found, '__module__', None) or 'tenon').partition('.')[0]


def _ours(module, name):
    """What a name of PyTorch's is here."""
    module, prefix = _INNER.get(module, (module, ''))
    place = module if module.startswith('tenon') else f'tenon.{module}'
    try:
        return _shortcuts._at(place, name.removeprefix(prefix))
    except (ImportError, AttributeError):
        raise LoadError(f'[torch.load] the file holds an object of {module}.{name}, which does not exist here') from None


def _imported(module, name):
    try:
        return functools.reduce(lambda owner, part: vars(owner)[part], name.split('.'), sys.modules[module])
    except (KeyError, TypeError):
        raise LoadError(f'[torch.load] the file holds an object of {module}.{name}, which this program does not have: import {module} before') from None


def _is_standard(kind):
    file = getattr(sys.modules.get(kind.__module__), '__file__', None)
    inside = os.path.realpath(file or _STANDARD).startswith(_STANDARD + os.sep) or file is None and kind.__module__ != '__main__'
    return inside and 'site-packages' not in (file or '') and kind not in _STANDARD_CLASSES


def as_class(value):
    """The class that a name of the reader's own table stands for as a value."""
    return collections.OrderedDict if getattr(value, 'name', None) == 'collections.OrderedDict' else value


class Owner:
    """PyTorch's class of functions: it pickles torch.tanh as an attribute of that."""


def attribute(owner, name):
    """A member of an enumeration, or the function that the file takes from PyTorch's class of functions."""
    if isinstance(owner, enum.EnumMeta) and type(name) is str and name in owner.__members__:
        return owner.__members__[name]
    if owner is not Owner or type(name) is not str:
        raise LoadError('[torch.load] the file takes an attribute of an object')
    return find('torch', name)


def make(kind: Any, arguments) -> Any:
    """An empty object of a class, or a named tuple of its values."""
    if tuple in kind.__mro__ and len(getattr(kind, '_fields', ())) == len(arguments) != 0:
        return tuple.__new__(kind, arguments)
    base: Any = next(each for each in kind.__mro__ if not each.__flags__ & 1 << 9)  # Py_TPFLAGS_HEAPTYPE: a class of Python
    if base not in _BASES or arguments:
        _refuse(name_of(kind), f'is made of a {base.__name__}')
    if _is_standard(kind) or hasattr(kind, '__del__'):
        _refuse(name_of(kind), 'is of the standard library or does something when it goes')
    return base.__new__(kind)


def call(kind: Any, arguments) -> Any:
    """What the file makes by calling a class: a member of an enumeration, or a container. Functions of Tenon's are pickled as calls, too."""
    from ..optim.state import States
    kinds = tuple(map(type, arguments))
    if kind is attribute and len(arguments) == 2:
        return attribute(*arguments)
    if kind is _shortcuts._at and kinds == (str, str):
        return find(*arguments)
    if kinds == _PICKLED_BY.get(kind):
        return kind(*arguments)
    if isinstance(kind, enum.EnumMeta) and len(arguments) == 1:
        members: Any = kind.__members__.values()
        for member in members:
            if member.value == arguments[0]:
                return member
    elif kind in _CALLED and set(kinds) <= _CALLED[kind] or kind is States and kinds == (dict,):
        return kind(*arguments)
    name = name_of(kind) if isinstance(kind, type) else getattr(kind, '__name__', str(kind))
    return _refuse(name, 'the file would call')


def sets(target):
    """Whether the file may set the attributes of a value: an object that make() made."""
    kind = type(target)
    return kind.__flags__ & 1 << 9 and not isinstance(target, (type, enum.Enum, tuple, Tensor)) and not _is_standard(kind)


def check_state(target, state):
    """Refuses a `__setstate__` that is not of a module or an optimizer, and what these cannot take."""
    from ..optim import Optimizer
    from ..optim.lr_scheduler import LRScheduler
    if not hasattr(target, '__setstate__'):
        return
    if not isinstance(target, (Module, Optimizer, LRScheduler)):
        _refuse(name_of(type(target)), 'has a __setstate__() of its own')
    if type(state) is not dict:
        raise LoadError(f'[torch.load] the attributes of a {type(target).__name__} are a {type(state).__name__}')
