"""torch.overrides: functions that types and modes of a program's own take over; see __torch_function__ in PyTorch's documentation."""
import inspect
from importlib import import_module

from .. import _core
from .._overriding import BaseTorchFunctionMode, DisableTorchFunction, DisableTorchFunctionSubclass, TorchFunctionMode, dispatch, show_functions
from .._core import Tensor, ops
from ._common import absent

__all__ = ['BaseTorchFunctionMode', 'DisableTorchFunction', 'DisableTorchFunctionSubclass', 'TorchFunctionMode', 'get_ignored_functions',
           'get_overridable_functions', 'get_testing_overrides', 'handle_torch_function', 'has_torch_function', 'is_tensor_like',
           'is_tensor_method_or_property', 'resolve_name']


def has_torch_function(relevant_args):
    """Whether a type among the arguments, or a mode, takes over functions."""
    return _core._overriding_modes() or bool(_core._overriding_objects(relevant_args))


def has_torch_function_unary(arg):
    """has_torch_function() of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args):
    """has_torch_function() of these arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Gives a call of public_api(*args, **kwargs) to the modes, or the types among relevant_args, that take over functions."""
    return dispatch(public_api, _core._overriding_objects(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher):
    """A decorator: types among dispatcher(*args, **kwargs) take over the function."""
    def decorate(function):
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)
        wrapped.__name__ = wrapped.__qualname__ = function.__name__
        wrapped.__doc__ = function.__doc__
        return wrapped
    return decorate


def is_tensor_like(inp):
    """Whether it is a Tensor, or of a type that takes over functions."""
    return isinstance(inp, Tensor) or hasattr(type(inp), '__torch_function__')


def is_tensor_method_or_property(func):
    """Whether a function is a method of Tensor, or the getter of a property."""
    name = getattr(func, '__name__', '')
    return name == '__get__' or vars(Tensor).get(name) is func


def resolve_name(f):
    """The name of a function with that of its module, such as torch.add."""
    if is_tensor_method_or_property(f):
        return f'torch.Tensor.{f.__name__}'
    return f'torch.{f.__name__}' if hasattr(f, '__name__') else None


_SHOWN = _core.Shortcut, type(ops['add'])
_SPACES = 'torch', 'torch.nn.functional', 'torch.linalg', 'torch.fft', 'torch.special'


def _functions(space):
    """(name, function) of the public functions of a namespace; those that work in place are methods that others take over."""
    for name in dir(space):
        found = None if name[0] == '_' or name[-1] == '_' else getattr(space, name, None)
        if callable(found) and not isinstance(found, type):
            yield name, found


def _spaces():
    show_functions()
    return [import_module('tenon.' + name) for name in _SPACES]


def get_overridable_functions():
    """{namespace, or Tensor: the functions of it that types and modes can take over}."""
    found = {space: [each for _, each in _functions(space) if isinstance(each, _SHOWN)] for space in _spaces()}
    return {**found, Tensor: [each for _, each in _functions(Tensor)]}


def get_ignored_functions():
    """The public functions that neither types nor modes see."""
    return {each for space in _spaces() for _, each in _functions(space) if not isinstance(each, _SHOWN)}


def _stand_in(signature):
    def found(*args, **kwargs):
        signature.bind(*args, **kwargs)
        return -1
    found.__signature__ = signature
    return found


def get_testing_overrides():
    """{function that types can take over: a function with its arguments that returns -1}, for tests of types that take over all."""
    return {each: _stand_in(inspect.signature(each)) for space in _spaces() for _, each in _functions(space) if isinstance(each, _SHOWN)}


__getattr__ = absent(__name__, {'enable_reentrant_dispatch': 'dispatch is no stage of its own'})
