"""Modules that are a function with options: they keep the arguments after the function's inputs and call the function."""
import inspect
import operator
from typing import Any

from .... import _core
from ....nn.init import _drawn_on
from ....nn.module import Module
from ..._common import defaults

_NEVER_KEPT = frozenset(('_stacklevel', 'dtype', 'training', 'antialias'))
_OLD = frozenset(('size_average', 'reduce'))  # these only determine the reduction
_BUFFERS = frozenset(('weight', 'pos_weight'))


def reduction_of(size_average, reduce, reduction):
    """The reduction that the two older arguments stand for."""
    if size_average is None and reduce is None:
        return reduction
    return 'none' if reduce is False else 'sum' if size_average is False else 'mean'


def shown(module, words):
    """The text of options: 'name', 'name?' if it is true, '=name' the value alone, 'name!' in the form of repr()."""
    found = []
    for word in words.split():
        name = word.strip('=?!')
        value = getattr(module, name)
        if word[-1] != '?' or value:
            found.append(('' if word[0] == '=' else f'{name}=') + (repr(value) if word[-1] == '!' else str(value)))
    return ', '.join(found)


def _calling(function, inputs, kept):
    """forward() of a module that keeps these options of a function."""
    parameters = inspect.signature(function).parameters
    behind = list(parameters)[inputs:]
    given = [name for name in behind if name in (*kept, 'training')]
    read: Any = operator.attrgetter(*given) if given else lambda module: ()
    in_order = behind[:len(given)] == given and all(parameters[name].kind == inspect.Parameter.POSITIONAL_OR_KEYWORD for name in given)
    one = len(given) == 1

    def by_place(self, *args, **named):
        options = (read(self),) if one else read(self)
        return function(*args, **dict(zip(given, options)), **named) if named else function(*args, *options)

    def by_name(self, *args, **named):
        options = (read(self),) if one else read(self)
        return function(*args, **dict(zip(given, options)), **named)
    return by_place if in_order else by_name


def function_module(where, name, function, show='', inputs=1, order=None, settle=None, base=Module):
    """Makes a module of a function whose first `inputs` arguments come with the call.

    where: the file's __name__. order: the constructor's arguments if they differ from the function's order; those after * are given by
    name. settle(module) checks or completes the arguments.
    """
    options = {each.name: each for each in list(inspect.signature(function).parameters.values())[inputs:] if each.name not in _NEVER_KEPT}
    names = order.split() if order else list(options)
    if '*' in names:
        for each in names[names.index('*') + 1:]:
            options[each] = options[each].replace(kind=inspect.Parameter.KEYWORD_ONLY)
        names.remove('*')
    signature = inspect.Signature([options[each] for each in names])
    kept = [each for each in names if each not in _OLD]

    def __init__(self, *args, **kwargs):
        base.__init__(self)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f'[{name}] {error}: its arguments are {", ".join(names)}') from None
        bound.apply_defaults()
        given = bound.arguments
        if 'size_average' in given:
            given['reduction'] = reduction_of(given['size_average'], given['reduce'], given['reduction'])
        for key in kept:
            if key in _BUFFERS:
                self.register_buffer(key, given[key])
            else:
                setattr(self, key, given[key])
        if settle is not None:
            settle(self)
    return type(name, (base,), {
        '__init__': __init__, '__signature__': signature, '__module__': where,
        '__doc__': f'{function.__doc__} See nn.functional.{function.__name__}.',
        'forward': _calling(function, inputs, kept), 'extra_repr': lambda self: shown(self, show)})


def drawing(device):
    """The scope in which a new module draws its weights: those of meta take no memory of the host; others are moved by place()."""
    device = defaults.settle(None, device)[1]
    return _drawn_on(device if device is not None and _core.device(device).type == 'meta' else None)


def place(module, device, dtype):
    """Moves a new module to its device and dtype."""
    dtype, device = defaults.settle(dtype, device)
    if device is not None or dtype is not _core.float32:
        module.to(device=device, dtype=dtype)


def family(where, base, dims=(1, 2, 3), name=None, **of_dims):
    """Subclasses of _NameNd for numbers of dimensions n: Name1d, Name2d, …; of_dims: further attributes, as functions of n."""
    name = name or base.__name__.strip('_').removesuffix('Nd')
    return (type(f'{name}{n}d', (base,), {'_dims': n, '__module__': where, '__doc__': base.__doc__,
                                          **{key: value(n) for key, value in of_dims.items()}}) for n in dims)
