"""What a function reads besides its arguments: the modules, objects, tensors and numbers that it, or what it calls, names.

A program keeps what was there when it was recorded, so `graph.compile` records anew when any of it is another.
"""
import enum
import functools
import os
import types
from typing import Any

from . import _core, _steps
from ._core import Tensor, dtype

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_PLAIN = {bool, int, str, bytes, type(None), dtype}
_MOST_ENTRIES = 256  # of a container that is looked into
_MOST_DEPTH = 4      # of objects in objects


def is_module(value):
    return hasattr(value, 'named_parameters') and hasattr(value, 'modules')


def is_fixed(value):
    """Whether it is a number, a text or the like, which its repr tells in full."""
    return type(value) in _PLAIN or isinstance(value, (float, complex, enum.Enum, range, slice, type, _core.Device)) or (
        type(value).__module__ == 'numpy' and getattr(value, 'shape', None) == () and not hasattr(value, '__setitem__'))


def names_of(fn, others=()):
    """(name, tensor) of all that a function or module reads, and of what other values hold: first the parameters and buffers of its
    modules."""
    plain, look = _unwrapped(fn), _Look()
    modules = [('', plain)] if is_module(plain) else [(f'{name}.', value) for name, value in _held_by(plain) if is_module(value)]
    look.callable(fn, 0)
    for value in others:
        look.value(value, 0)
    return [*((prefix + name, x) for prefix, module in modules for name, x in (*module.named_parameters(), *module.named_buffers())), *look.tensors]


def names_optimizer(fn):
    """Whether a function refers to an optimizer that it could step."""
    return any(_is_optimizer(value) for _, value in _held_by(_unwrapped(fn)))


def _unwrapped(fn):
    while hasattr(fn, '__wrapped__'):
        fn = fn.__wrapped__
    return fn


def _is_optimizer(value):
    return hasattr(value, 'param_groups') and hasattr(value, 'step')


def _held_by(fn):
    """(name, value) of what a function, or its object, holds."""
    if isinstance(fn, functools.partial):
        return [*((f'arg{i}', value) for i, value in enumerate(fn.args)), *fn.keywords.items(), *_held_by(fn.func)]
    return [(name, value) for name, value, _ in _named_by(*_parts_of(fn))]


def _parts_of(fn):
    """The plain function behind a callable, or None, and the object that it is a method of, or None."""
    if isinstance(fn, types.MethodType):
        return fn.__func__, fn.__self__
    if isinstance(fn, types.FunctionType) or hasattr(fn, 'named_parameters'):
        return fn, None
    calls = [vars(kind)['__call__'] for kind in type(fn).__mro__ if '__call__' in vars(kind)]
    return (calls[0], fn) if calls and isinstance(calls[0], types.FunctionType) else (fn, None)


def _codes_of(code):
    """A function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_of(constant)


def _named_by(function, owner):
    """(name, value, place) of what a function can reach by its names; the place is a cell, or a dict and a key."""
    code, known = getattr(function, '__code__', None), getattr(function, '__globals__', {})
    if code is None:
        return [(name, value, (vars(owner), name)) for name, value in getattr(owner, '__dict__', {}).items()]
    names = dict.fromkeys(name for one in _codes_of(code) for name in one.co_names)
    own = getattr(owner, '__dict__', {})
    found: list[tuple[str, Any, Any]] = [(name, own[name], (own, name)) for name in names if name in own]
    found += [(name, known[name], (known, name)) for name in names if name in known]
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            found.append((name, cell.cell_contents, cell))
        except ValueError:  # not bound yet
            pass
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        found.append(('default', default, None))
    for _, value, _ in tuple(found):  # numbers of a module such as `settings`
        if isinstance(value, types.ModuleType) and not _is_installed(getattr(value, '__file__', __file__)):
            held = vars(value)
            found += [(name, held[name], (held, name)) for name in names if name in held and not isinstance(held[name], types.ModuleType)]
    return found


def _is_installed(path):
    """Whether code belongs to this package, or to one that is installed, whose variables do not change."""
    return path is None or os.path.abspath(path).startswith((_HERE, _STANDARD)) or 'site-packages' in path or 'dist-packages' in path


class _Same:
    """An object that equals only itself."""

    __slots__ = ('value',)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self):
        return id(self.value)


class _Told:
    """A tuple whose hash is taken once."""

    __slots__ = ('_all', '_hash')

    def __init__(self, look):
        self._all = tuple(look.told)
        self._hash = hash(self._all)

    def __eq__(self, other):
        return self is other or isinstance(other, _Told) and other._hash == self._hash and other._all == self._all

    def __hash__(self):
        return self._hash


class _Look:
    """Goes through all that a function reads: `told` says what is there now, `holders` are the dicts, lists, cells and pairs (dict, key)
    that would say if any of it were another object, `tensors` are the pairs (name, tensor) among it."""

    def __init__(self):
        self.told, self.holders, self.tensors, self._seen, self._name = [], [], [], set(), 'tensor'

    def function(self, fn, depth=0):
        if isinstance(fn, functools.partial):
            for value in (*fn.args, *fn.keywords.values()):
                self.value(value, depth + 1)
            return self.callable(fn.func, depth)
        function, owner = _parts_of(fn)
        code = getattr(function, '__code__', None)
        if code is None or _is_installed(code.co_filename):
            return None if owner is None else self.value(owner, depth + 1)
        if (id(function), id(owner)) in self._seen:
            return None
        self._seen.add((id(function), id(owner)))
        if is_module(owner):
            self.value(owner, depth + 1)
        for name, value, place in _named_by(function, None if is_module(owner) else owner):
            if isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType)):
                continue
            if place is not None:
                self.holders.append(place)
            self.told.append(name)
            self._name = name
            self.value(value, depth + 1)
        for name in code.co_names if owner is not None else ():  # what else it calls of its object
            method = getattr(type(owner), name, None)
            if isinstance(method, types.FunctionType):
                self.function(types.MethodType(method, owner), depth + 1)
        return None

    def callable(self, fn, depth):
        if is_module(fn):
            self.module(fn, depth)
        else:
            self.function(_unwrapped(fn), depth)

    def module(self, module, depth):
        """All that a module holds, and what its own forward names."""
        if id(module) in self._seen:
            return
        self._seen.add(id(module))
        own = getattr(module, '__dict__', {})
        self.holders.append(own)
        self.told.append(tuple(own))
        for self._name, value in own.items():
            kind = type(value)
            if kind in _PLAIN:
                self.told += kind, value
            else:
                self.value(value, depth)  # parts do not count as depth
        forward = getattr(type(module), 'forward', None)
        if isinstance(forward, types.FunctionType) and not _is_installed(forward.__code__.co_filename):
            self.function(types.MethodType(forward, module), depth)

    def value(self, value, depth):
        kind = type(value)
        if kind in _PLAIN:
            self.told += kind, value
        elif is_fixed(value) and kind is not type:
            self.told += kind, repr(value)  # 1, 1.0 and True compare equal, and so do 0.0 and -0.0
        elif isinstance(value, Tensor):
            self.told += value.data_ptr, value.requires_grad, value.shape, value.dtype
            self.tensors.append((self._name, value))
        elif isinstance(value, (list, tuple, dict)):
            self.container(value, depth)
        elif is_module(value) and not isinstance(value, type):
            self.module(value, depth)
        elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) or hasattr(value, '__wrapped__'):
            self.told.append(_Same(getattr(value, '__func__', value)))
            self.callable(value, depth)
        else:
            self.told.append(_Same(value))
            self.object(value, depth)

    def container(self, value, depth):
        self.told += type(value), len(value)
        if id(value) in self._seen or len(value) > _MOST_ENTRIES or depth > _MOST_DEPTH:
            return
        self._seen.add(id(value))
        if isinstance(value, dict):
            self.told += [key if type(key) in _PLAIN else _Same(key) for key in value]
        if not isinstance(value, tuple):
            self.holders.append(value)
        for one in value.values() if isinstance(value, dict) else value:
            self.value(one, depth + 1)

    def object(self, value, depth):
        """The attributes of somebody's object, such as settings. Optimizers and schedules are read in each run."""
        own = getattr(value, '__dict__', None)
        if (not isinstance(own, dict) or id(value) in self._seen or depth > _MOST_DEPTH or isinstance(value, (type, types.ModuleType)) or is_fixed(value)
                or _is_optimizer(value) or hasattr(value, 'optimizer') or hasattr(value, '__next__') or len(own) > _MOST_ENTRIES):
            return
        self._seen.add(id(value))
        self.holders.append(own)
        self.told.append(tuple(own))
        for self._name, one in own.items():
            self.value(one, depth + 1)


def told(values):
    """What can be read of values, comparable and hashable."""
    look = _Look()
    for value in values:
        look.value(value, 0)
    return _Told(look)


class Reads:
    """What one function reads, looked at again only after something has changed."""

    def __init__(self, fn):
        self._fn, self._guard, self._told = fn, None, None

    def _look(self, look):
        look.callable(self._fn, 0)

    def told(self):
        """What is there now, comparable and hashable."""
        if self._guard is None or not self._guard.fits(()):
            look = _Look()
            self._look(look)
            found = _Told(look)
            self._told = self._told if found == self._told else found
            self.holders = [*look.holders, (vars(_steps), 'moves')]
            self._guard = _core._Guard(self.holders, ())
            self._held = self._guard.held()
        return self._told

    def kept(self):
        """What is there now, to be put back."""
        self.told()
        return [(holder, _content(holder)) for holder in self.holders[:-1]]


class ReadsOfObjects(Reads):
    """What is read of objects, such as those among arguments."""

    def _look(self, look):
        for value in self._fn:
            look.value(value, 0)


def put_back(kept):
    """Puts back what has changed since `kept` told it."""
    for holder, content in kept:
        now = _content(holder)
        if len(now) == len(content) and all(one is other for one, other in zip(now, content)):
            continue
        if isinstance(holder, types.CellType):
            holder.cell_contents = content[0]
        elif isinstance(holder, tuple):
            holder[0][holder[1]] = content[0]
        elif isinstance(holder, list):
            holder[:] = content
        else:
            before = dict(zip(content[::2], content[1::2]))
            for key in [key for key in holder if key not in before]:
                del holder[key]
            holder.update(before)


def _content(holder):
    """What a holder holds, in a list."""
    if isinstance(holder, types.CellType):
        return [holder.cell_contents]
    if isinstance(holder, tuple):
        return [holder[0].get(holder[1])]
    return list(holder) if isinstance(holder, list) else [one for item in holder.items() for one in item]
