"""Exceptions of the library. Each is a tenon.Error and also the exception that a Python program would expect."""

import builtins
import contextlib
import errno
import os


class Error(RuntimeError):
    """A failed call; the message names the op, the cause and the values."""


class InvalidArgumentError(Error, ValueError):
    """A value, shape or dtype that the function does not accept."""


class DtypeError(Error, TypeError):
    """A dtype that the function does not accept."""


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument of another kind than the function takes, such as a tensor of several elements in place of a number."""


class UnsupportedDtypeError(InvalidArgumentError, NotImplementedError):
    """A dtype that the function has no meaning for, or does not compute in."""


class OutOfRangeError(Error, IndexError, ValueError):
    """An index or a dimension outside its range."""


class IndexTypeError(OutOfRangeError, TypeError):
    """An index that is no integer, slice, None, Ellipsis, or tensor of integers or bools."""


class NotFoundError(Error, LookupError, ValueError):
    """No op, device, plugin or file of that name."""


class AlreadyExistsError(Error, ValueError):
    """The name is taken."""


class UnimplementedError(Error, NotImplementedError):
    """Nothing that is loaded can do this; the message says what to install."""


class OutOfMemoryError(Error, MemoryError):
    """The message gives size, free and held bytes."""


class PreconditionError(Error):
    """The object is not in a state that allows the call."""


class DeviceLostError(Error):
    """The device stopped working; other devices are not affected."""


class IoError(Error, OSError):
    """A file could not be read or written."""


class FileNotFoundError(builtins.FileNotFoundError, IoError):
    """A file to read does not exist; its path is `filename`."""


class DataLossError(Error, ValueError):
    """A file or buffer is malformed."""


class InternalError(Error):
    """A defect of the library or of a plugin."""


class CancelledError(Error):
    """A callback asked to stop."""


class TimeoutError(Error, builtins.TimeoutError):
    """Something took longer than allowed."""


class PeerLostError(Error, ConnectionError):
    """Another process of the job no longer answers."""


for _error in list(globals().values()):
    if isinstance(_error, type) and issubclass(_error, Error):
        _error.__module__ = 'tenon'


@contextlib.contextmanager
def memory_for(where):
    """Makes an error of memory, which may be Python's own, say what it was wanted for."""
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(f'{where}: {str(error) or "not enough memory to hold it"}') from None


def present(path):
    """The path of a file to read, after a check that it exists. Paths with a zero byte are left to the reader."""
    name = os.fspath(path)
    if not os.path.exists(name) and 0 not in os.fsencode(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return name
