"""Checks that layers share. As in C++, errors name the class, the argument, the value and what is accepted."""
from .._core import Tensor
from .._errors import InvalidArgumentError


def check_tensor(where, x):
    """A Tensor, or an error that says how to make one."""
    if not isinstance(x, Tensor):
        raise TypeError(f'[{where}] x must be a Tensor, not {type(x).__name__}: use tenon.asarray(...)')


def check_size(where, name, value, least=0):
    """An integer of at least `least`, or an error that names it."""
    if isinstance(value, (bool, Tensor)) or not hasattr(value, '__index__'):  # NumPy's integers have it
        raise TypeError(f'[{where}] {name} must be an int, not {type(value).__name__}')
    if value < least:
        raise InvalidArgumentError(f'[{where}] {name} is {value}, must be at least {least}')
    return value


def check_sizes(where, name, value, least=0, dims=None):
    """An integer, or a tuple of them; with `dims` always a tuple, of that length."""
    many = isinstance(value, (tuple, list))
    each = tuple(value) if many else (value,) * (dims or 1)
    if dims is not None and len(each) not in (1, dims):
        raise InvalidArgumentError(f'[{where}] {name} {each} has {len(each)} sizes for {dims} dimensions: give one, or {dims}')
    each = tuple(check_size(where, name, size, least) for size in each)
    if dims is None:
        return each if many else value
    return each * dims if len(each) == 1 else each


def check_number(where, name, value):
    """An int or a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f'[{where}] {name} must be a number, not {type(value).__name__}')
    return value


def check_least(where, name, value, least):
    """A number of at least `least`."""
    if not check_number(where, name, value) >= least:
        raise InvalidArgumentError(f'[{where}] {name} is {value}, must be at least {least}')
    return value


def check_positive(where, name, value):
    """A number above 0."""
    if not check_number(where, name, value) > 0:
        raise InvalidArgumentError(f'[{where}] {name} is {value}, must be positive')
    return value


def check_part(where, name, value):
    """A number from 0 to 1, both included."""
    if not 0 <= check_number(where, name, value) <= 1:
        raise InvalidArgumentError(f'[{where}] {name} is {value}, must be 0 to 1')
    return value


def check_between(where, name, value):
    """A number between 0 and 1, both excluded."""
    if not 0 < check_number(where, name, value) < 1:
        raise InvalidArgumentError(f'[{where}] {name} is {value}, must be between 0 and 1')
    return value


def check_groups(where, channels, groups):
    """Numbers of channels that all divide into groups."""
    if any(count % groups for count in channels):
        text = ' and '.join(map(str, channels))
        raise InvalidArgumentError(f'[{where}] {text} channels do not divide into {groups} groups')


def check_one_of(where, name, value, taken):
    """One of a few words."""
    if not isinstance(value, str):
        raise TypeError(f'[{where}] {name} must be a str, not {type(value).__name__}')
    if value not in taken:
        quoted = [f'"{word}"' for word in taken]
        raise InvalidArgumentError(f'[{where}] {name} is "{value}", must be {", ".join(quoted[:-1])} or {quoted[-1]}')
    return value
