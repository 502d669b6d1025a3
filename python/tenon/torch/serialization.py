"""torch.serialization: torch.save and torch.load, and the switches of PyTorch's reader that scripts set."""
import contextlib
import os
from typing import Any, BinaryIO, Union

from .files import LoadError, load, save

__all__ = ['LoadError', 'add_safe_globals', 'clear_safe_globals', 'get_safe_globals', 'load', 'safe_globals', 'save']

DEFAULT_PROTOCOL = 2
FILE_LIKE = Union[str, 'os.PathLike[str]', BinaryIO]
MAP_LOCATION = Any
_safe = []


def add_safe_globals(safe_globals):
    """Adds to what get_safe_globals() gives. load() runs nothing of a file, and refuses objects of these classes, too."""
    _safe.extend(safe_globals)


def get_safe_globals():
    """What add_safe_globals() was given."""
    return list(_safe)


def clear_safe_globals():
    """Forgets what add_safe_globals() was given."""
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals):
    """A scope with some more of them."""
    before = list(_safe)
    _safe.extend(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before
