"""Classes and functions that the program allows files to name, torch.serialization.add_safe_globals(): their objects are written and read."""
import contextlib
import copyreg
from typing import Any

__all__ = ['add_safe_globals', 'clear_safe_globals', 'get_safe_globals', 'safe_globals']

_allowed = []


def add_safe_globals(safe_globals):
    """Allows torch.load() to make objects of these classes, and to call these functions, and torch.save() to write such objects.

    Entries may be pairs of a class and the name that it has in files. What a class does when its objects are made is up to the class.
    """
    _allowed.extend(safe_globals)


def get_safe_globals():
    """What add_safe_globals() was given."""
    return list(_allowed)


def clear_safe_globals():
    """Forgets what add_safe_globals() was given."""
    _allowed.clear()


@contextlib.contextmanager
def safe_globals(safe_globals):
    """A scope with some more of them."""
    before = list(_allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed[:] = before


def named(full):
    """What the program allowed under a name such as 'argparse.Namespace', or None."""
    for entry in _allowed:
        made, name = entry if isinstance(entry, tuple) else (entry, f'{entry.__module__}.{entry.__qualname__}')
        if name == full:
            return made
    return None


def parts_of(value) -> Any:
    """(opcode that makes it of its class and the arguments, arguments, state) of an object that may be written, or None."""
    if not any(type(value) is (entry[0] if isinstance(entry, tuple) else entry) for entry in _allowed):
        return None
    reduced: Any = (*value.__reduce_ex__(2), None, None, None)[:5]
    made, arguments, state, items, pairs = reduced
    if made is not getattr(copyreg, '__newobj__', None):
        return (b'R', arguments, state) if made is type(value) and items is pairs is None else None
    return (b'\x81', arguments[1:], state) if items is pairs is None else None
