"""The levels of vmap and forward mode that are active in a thread, in one order: the newest sees an op first."""
import contextlib
import threading

from ._core import ops
from .autograd import no_grad

_threads = threading.local()


def levels():
    """The levels of this thread, newest last. Each has `is_batch`."""
    if not hasattr(_threads, 'levels'):
        _threads.levels = []
    return _threads.levels


def batches():
    """The levels of vmap."""
    return [level for level in levels() if level.is_batch]


def directions():
    """The levels of forward mode."""
    return [level for level in levels() if not level.is_batch]


@contextlib.contextmanager
def below(level):
    """A scope in which only levels older than this one are active; the rules of this level run in it."""
    every = levels()
    _threads.levels = every[:every.index(level)]
    try:
        yield
    finally:
        _threads.levels = every


def ended(x):
    """x without its history; tangents stay."""
    if not directions():
        return x.detach()
    with no_grad():
        return ops['alias'](x)


def carry(x, y):
    """Gives y, which has the elements of x, the tangents of x."""
    if y is not x:
        for level in directions():
            level.set(y, level.tangent(x))
    return y
