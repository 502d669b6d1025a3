"""torch.overrides: functions that types and modes of a program's own take over; see __torch_function__ in PyTorch's documentation."""
from .. import _core
from .._overriding import BaseTorchFunctionMode, DisableTorchFunction, DisableTorchFunctionSubclass, TorchFunctionMode, dispatch
from .._core import Tensor
from ._common import absent

__all__ = ['BaseTorchFunctionMode', 'DisableTorchFunction', 'DisableTorchFunctionSubclass', 'TorchFunctionMode', 'handle_torch_function',
           'has_torch_function', 'is_tensor_like', 'is_tensor_method_or_property', 'resolve_name']


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


_OWN = 'every function of tensors looks for __torch_function__'
__getattr__ = absent(__name__, {'get_overridable_functions': _OWN, 'get_testing_overrides': _OWN, 'get_ignored_functions': _OWN,
                                'enable_reentrant_dispatch': 'dispatch is no stage of its own'})
