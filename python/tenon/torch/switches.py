"""Settings of PyTorch that have no effect here; what was set is returned."""
from .._errors import InvalidArgumentError

_settings = {'deterministic': (False, False), 'warn_always': False, 'interop_threads': 1}

__all__ = ['are_deterministic_algorithms_enabled', 'get_deterministic_debug_mode', 'get_float32_matmul_precision',
           'get_num_interop_threads', 'is_deterministic_algorithms_warn_only_enabled', 'is_warn_always_enabled',
           'set_deterministic_debug_mode', 'set_float32_matmul_precision', 'set_flush_denormal', 'set_num_interop_threads',
           'set_warn_always', 'use_deterministic_algorithms']


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted without effect: a seed repeats a run exactly anyway."""
    _settings['deterministic'] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled():
    """The value given to use_deterministic_algorithms()."""
    return _settings['deterministic'][0]


def is_deterministic_algorithms_warn_only_enabled():
    """The value for warnings given to use_deterministic_algorithms()."""
    return _settings['deterministic'][1]


_DEBUG = ('default', 'warn', 'error')


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms() by 0, 1, 2 or 'default', 'warn', 'error'."""
    if debug_mode not in (0, 1, 2, *_DEBUG):
        raise InvalidArgumentError(f'[set_deterministic_debug_mode] the mode is 0, 1, 2 or one of {_DEBUG}, not {debug_mode!r}')
    mode = _DEBUG.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2, as for set_deterministic_debug_mode()."""
    on, warn_only = _settings['deterministic']
    return (1 if warn_only else 2) if on else 0


def set_float32_matmul_precision(precision):
    """Accepts 'highest', 'high' or 'medium'; products of float32 always keep their full precision."""
    if precision not in ('highest', 'high', 'medium'):
        raise InvalidArgumentError(f"[set_float32_matmul_precision] 'highest', 'high' or 'medium', not {precision!r}")
    _settings['precision'] = precision


def get_float32_matmul_precision():
    """The value given to set_float32_matmul_precision()."""
    return _settings.get('precision', 'highest')


def set_num_interop_threads(n):
    """Accepted without effect: ops run one after the other, each on the threads set by set_num_threads()."""
    if n < 1:
        raise InvalidArgumentError(f'[set_num_interop_threads] {n} threads')
    _settings['interop_threads'] = n


def get_num_interop_threads():
    """The value given to set_num_interop_threads()."""
    return _settings['interop_threads']


def set_warn_always(b, /):
    """Accepted without effect: no warning here appears only once."""
    _settings['warn_always'] = bool(b)


def is_warn_always_enabled():
    """The value given to set_warn_always()."""
    return _settings['warn_always']


def set_flush_denormal(mode):
    """Returns False: the processor's mode stays as it is."""
    return False
