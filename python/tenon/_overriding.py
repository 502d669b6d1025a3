"""PyTorch's protocol __torch_function__: types and modes of a program's own that take over functions."""
import sys
import threading
from types import FunctionType

from . import _core
from ._core import Shortcut, Tensor

# What src/overriding.cpp counts.
_TYPES, _MODES, _WITHOUT_TYPES, _WITHOUT_MODES = range(4)

disabled = _core._disabled_torch_function
_threads = threading.local()


def modes():
    """The modes of this thread, the innermost last."""
    found = getattr(_threads, 'modes', None)
    if found is None:
        found = _threads.modes = []
    return found


class _Scope:
    """In this scope something that takes over functions does not count."""

    _without: tuple = ()

    def __enter__(self):
        for what in self._without:
            _core._overriding(what, 1)

    def __exit__(self, *_):
        for what in self._without:
            _core._overriding(what, -1)


class DisableTorchFunctionSubclass(_Scope):
    """In this scope functions treat subclasses of Tensor as Tensors."""

    _without = _WITHOUT_TYPES,


class DisableTorchFunction(_Scope):
    """In this scope neither types nor modes take over functions."""

    _without = _WITHOUT_TYPES, _WITHOUT_MODES


class TorchFunctionMode:
    """In a scope of it each function of tensors calls __torch_function__(func, types, args, kwargs) instead, in which the mode is off.

    A function made of several ops may show them instead of itself.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f'[{type(self).__name__}] a mode defines __torch_function__(func, types, args=(), kwargs=None)')

    def __enter__(self):
        show_functions()
        modes().append(self)
        _core._overriding(_MODES, 1)
        return self

    def __exit__(self, *_):
        _core._overriding(_MODES, -1)
        modes().pop()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def dispatch(function, objects, args, kwargs):
    """What the innermost mode, or the types of `objects`, return for a call."""
    types = tuple(map(type, objects))
    if _core._overriding_modes():
        mode = modes().pop()
        _core._overriding(_MODES, -1)
        try:
            found = mode.__torch_function__(function, types, args, kwargs)
        finally:
            _core._overriding(_MODES, 1)
            modes().append(mode)
        if found is not NotImplemented:
            return found
    for each in objects:
        found = each.__torch_function__(function, types, args, kwargs)
        if found is not NotImplemented:
            return found
    name = getattr(function, '__name__', function)
    raise TypeError(f'[{name}] no implementation for types that have __torch_function__: {[kind.__name__ for kind in types]}')


def converted(value, cls):
    """Tensors, also within tuples and lists, as objects of cls."""
    if cls is Tensor:
        return value
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else Tensor.__new__(cls, value)
    if type(value) in (tuple, list):
        return type(value)(converted(each, cls) for each in value)
    if isinstance(value, tuple) and hasattr(value, '_fields'):
        return type(value)(*(converted(each, cls) for each in value))
    return value


def of_tensor(cls, func, types, args=(), kwargs=None):
    """How a subclass of Tensor computes functions unless it says otherwise: as Tensors, and the results are of the subclass."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        found = func(*args, **(kwargs or {}))
    return converted(found, cls)


def _count_type(cls, **kwargs):
    """Called for each new subclass of Tensor: from then on calls look for the types of their arguments."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    if cls.__torch_function__ is not disabled:
        look_for_types()


def look_for_types():
    """From now on calls look for the types of their arguments."""
    show_functions()
    _core._overriding(_TYPES, 1)


_shown = False
_MODULES = 'tenon.torch', 'tenon.torch.nn.functional'


def seen(function, renames=()):
    """The function, so that types and modes see calls of it itself, and not only the ops within."""
    known = _shown and isinstance(function, FunctionType) and function.__name__ != 'as_subclass'
    return Shortcut(function, None, '', dict(renames)) if known else function


def show_functions():
    """From the first type or mode on, functions written in Python show their calls; before it they cost nothing more."""
    global _shown
    if _shown:
        return
    _shown = True
    for name, function in list(vars(Tensor).items()):
        if name[:1] != '_' and name != 'as_subclass':
            setattr(Tensor, name, seen(function))
    for module in _MODULES:
        if module in sys.modules:
            show_module(module)


def show_module(module):
    """Has the functions of tensors in a module show their calls, if functions written in Python do."""
    if _shown:
        for name, function in list(vars(sys.modules[module]).items()):
            first = next(iter(function.__code__.co_varnames), '') if isinstance(function, FunctionType) else ''
            if first in ('input', 'tensors', 'query'):
                # Shortcuts with another name of an argument ask types that are no Tensors, too.
                setattr(sys.modules[module], name, seen(function, {'x': first}))


def make_subclass(cls, data, require_grad=False):
    """The elements of data, without its history, as an object of a subclass."""
    if not isinstance(data, Tensor) or not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f'[_make_subclass] needs a subclass of Tensor and a Tensor, not {cls!r} and {type(data).__name__}')
    return Tensor.__new__(cls, data.detach()).requires_grad_(require_grad)


def __rdiv__(self, other):
    """other / self"""
    return other / self


setattr(Tensor, '__torch_function__', classmethod(of_tensor))
setattr(Tensor, '__init_subclass__', classmethod(_count_type))
setattr(Tensor, '_make_subclass', staticmethod(make_subclass))
setattr(Tensor, '__rdiv__', __rdiv__)
