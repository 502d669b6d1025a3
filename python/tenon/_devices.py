"""Where ops run: fallbacks, placement, explanations."""
import contextlib

from . import _core

_POLICIES = ('allow', 'warn', 'deny')


def explain(op, device='auto', dtype='float32'):
    """Describes, line by line, what would run an op (by name or as a function) on a device for a dtype, and why."""
    name = getattr(op, '__name__', op)
    if not isinstance(name, str):
        raise TypeError(f'[explain] op is a name or an op, not {type(op).__name__}')
    return _core._explain(name, device, dtype)


@contextlib.contextmanager
def fallback(policy):
    """Sets what happens in its scope to an op for which a device has no kernel: it runs on the host ('allow'), does so with one
    warning per op ('warn', the default), or is an error ('deny'). Applies to the whole process."""
    if policy not in _POLICIES:
        raise ValueError(f'[fallback] policy is one of {", ".join(_POLICIES)}, not {policy!r}')
    before = _core._fallback(_POLICIES.index(policy))
    try:
        yield
    finally:
        _core._fallback(before)


@contextlib.contextmanager
def placement():
    """Counts where ops run: ``with tenon.placement() as where: …; print(where())``."""
    _core._placement(True)
    try:
        yield lambda: _core._placement(None)
    finally:
        _core._placement(False)


def synchronize(device=None):
    """Waits for the work on a device, or on all of them."""
    for each in _core.devices() if device is None else [_core.device(device)]:
        each.synchronize()


# Pickles call these by name, because functions of the extension cannot be pickled.
def _dtype(name):
    return _core.as_dtype(name)


def _device(name):
    return _core.device(name)


def _op(name, in_place):
    found = vars(_core.Tensor).get(name + '_') if in_place else _core.ops.get(name)
    return found if isinstance(found, _core.Op) else _core.op(name, in_place)
