"""The levels of vmap and of forward mode that a thread is in, in one order: an op goes to the newest first."""
import contextlib
import threading

from ._core import ops
from .autograd import no_grad

_threads = threading.local()


def levels():
    """Those of this thread, the newest last. Each has `is_batch`."""
    if not hasattr(_threads, 'levels'):
        _threads.levels = []
    return _threads.levels


def batches():
    """Those of vmap."""
    return [level for level in levels() if level.is_batch]


def directions():
    """Those of forward mode."""
    return [level for level in levels() if not level.is_batch]


@contextlib.contextmanager
def below(level):
    """Within, the thread is in the levels that are older than this one: where its rules run."""
    every = levels()
    _threads.levels = every[:every.index(level)]
    try:
        yield
    finally:
        _threads.levels = every


def ended(x):
    """x without its history; its tangents stay."""
    if not directions():
        return x.detach()
    with no_grad():
        return ops['alias'](x)


def carry(x, y):
    """Gives y, which has the elements of x, the tangents that x has."""
    if y is not x:
        for level in directions():
            level.set(y, level.tangent(x))
    return y
