"""PyTorch's methods of Tensor, found by name when they are first asked for: tenon/_method_names.py lists them."""
import functools
from typing import Any

import tenon.torch

from ..._names import both_names
from .autograd import Autograd
from .conversion import Conversion
from .facts import Facts
from .fast import FAST
from .in_place import InPlace, written_back
from .shapes import Shapes

_WRITTEN = {name: method for topic in (Autograd, Conversion, Facts, InPlace, Shapes) for name, method in vars(topic).items()
            if name[:1] != '_'}


def find(name) -> Any:
    """What the class Tensor keeps under a name: a method written here, or the function of tenon.torch."""
    method = FAST[name](name) if name in FAST else _WRITTEN.get(name)
    if method is None:
        method = written_back(name) if name[-1] == '_' else getattr(tenon.torch, name)
    return _told(method) if hasattr(method, '__code__') else method


def _told(function):
    """The function, which is also called with axis= and keepdims=, and says TypeError of an argument that is no Tensor where it must be."""
    any_number = function.__code__.co_flags & 0x0C  # *args or **kwargs, whose names it knows itself
    named = function if any_number else both_names(function)

    @functools.wraps(function)
    def method(self, *args, **kwargs):
        try:
            return named(self, *args, **kwargs) if kwargs else function(self, *args)
        except (AttributeError, KeyError, OverflowError, ZeroDivisionError) as error:
            given = ', '.join(type(x).__name__ for x in (*args, *kwargs.values()))
            raise TypeError(f'[{function.__name__}] does not take ({given}): {error}') from error
    return method
