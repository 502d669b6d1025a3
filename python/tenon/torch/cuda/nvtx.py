"""torch.cuda.nvtx: ranges for NVIDIA's profiler; torch.profiler shows those of range()."""
from ..profiler import record_function

__all__ = ['mark', 'range', 'range_pop', 'range_push']
_open = []


def range_push(msg):
    """Opens a range and returns how many were open before."""
    scope = record_function(msg)
    scope.__enter__()
    _open.append(scope)
    return len(_open) - 1


def range_pop():
    """Closes the last range and returns how many stay open; -2 if none was."""
    if not _open:
        return -2
    _open.pop().__exit__(None, None, None)
    return len(_open)


def mark(msg):
    """A range that closes at once."""
    with record_function(msg):
        pass


def range(msg, *args, **kwargs):
    """A scope that torch.profiler shows as msg.format(*args, **kwargs)."""
    return record_function(msg.format(*args, **kwargs))
