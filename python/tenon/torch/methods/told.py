"""The errors of methods for arguments that they cannot take."""
import functools

from ..._names import both_names
from .._kinds import judged


def told(function):
    """The function, which also accepts axis= and keepdims=, and raises TypeError for an argument that is no Tensor but must be one."""
    any_number = function.__code__.co_flags & 0x0C  # *args or **kwargs; it knows their names itself
    named = function if any_number else both_names(function)

    @functools.wraps(function)
    def method(self, *args, **kwargs):
        try:
            return named(self, *args, **kwargs) if kwargs else function(self, *args)
        except TypeError:
            raise
        except Exception as error:
            better = judged(function, error, (self, *args, *kwargs.values()), tuple(kwargs))
            if better is None:
                raise
            raise better from error
    return method
