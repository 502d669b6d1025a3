"""Classes and functions that the program allows files to name, torch.serialization.add_safe_globals(): their objects are written and read."""
import contextlib

__all__ = ['add_safe_globals', 'clear_safe_globals', 'get_safe_globals', 'safe_globals']

_allowed = []


def add_safe_globals(safe_globals):
    """Allows torch.load() to make objects of these classes, and to call these functions.

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
