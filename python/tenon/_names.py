"""Lets Python functions take arguments by the names of the op table and by those of the Array API, as ops do."""
import functools

from ._core import synonyms


def _parameters(function):
    """(the names of all parameters, how many of them are positional-only)."""
    code = function.__code__
    return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount], code.co_posonlyargcount


def _other_names(names):
    """The other names of each parameter."""
    found = {}
    for group in synonyms:
        real = next((name for name in group if name in names), None)
        if real is not None:
            found.update((other, real) for other in group if other not in names and other not in found)
    return found


def known_names(function):
    """The names that its arguments may have."""
    names, _ = _parameters(function)
    return {*names, *_other_names(names)}


def _pytorchs(function, keywords):
    """PyTorch's function of that name, if it has these arguments."""
    from ._generous import pytorchs
    if 'out' in keywords or function.__module__.startswith('tenon.torch'):
        return None
    space = function.__module__.rpartition('.')[2]
    return pytorchs(f'{space}.{function.__name__}' if space in ('linalg', 'fft') else function.__name__, keywords)


def both_names(function):
    """The function, but accepting its parameters by their other names as well, and positional-only ones by name."""
    names, positional = _parameters(function)
    others, direct = _other_names(names), frozenset(names[positional:])
    if not others and not positional:
        return function

    def arranged(args, kwargs):
        """args and kwargs as the function itself expects them."""
        given = {}
        for name, value in kwargs.items():
            real = name if name in names else others.get(name)
            if real is None:
                raise TypeError(f'[{function.__name__}] has no argument {name!r}; its arguments are {", ".join(names)}')
            if real in given or (real in names[:len(args)]):
                raise TypeError(f'[{function.__name__}] got argument {real} twice')
            given[real] = value
        args = [*args]
        while len(args) < positional and names[len(args)] in given:
            args.append(given.pop(names[len(args)]))
        for name in names[len(args):positional]:
            if name in given:
                raise TypeError(f'[{function.__name__}] argument {names[len(args)]} is missing')
        return args, given

    @functools.wraps(function)
    def call(*args, **kwargs):
        if kwargs and not direct.issuperset(kwargs):
            if len(kwargs) == 1:  # the usual call, in fewer steps
                (name, value), = kwargs.items()
                real = others.get(name)
                if real is not None and real in direct and real not in names[:len(args)]:
                    return function(*args, **{real: value})
            other = None if all(name in names or name in others for name in kwargs) else _pytorchs(function, kwargs)
            if other is not None:
                return other(*args, **kwargs)
            args, kwargs = arranged(args, kwargs)
        return function(*args, **kwargs)
    return call


def accept_both_names(namespace, names):
    """Applies both_names() to the functions of these names in a module."""
    for name in names:
        function = namespace[name]
        if hasattr(function, '__code__') and not function.__code__.co_flags & 0x04:  # not those with any number of operands
            namespace[name] = both_names(function)
