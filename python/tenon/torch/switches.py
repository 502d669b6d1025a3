"""Settings of PyTorch that change nothing here: what was set is given back."""
from .._errors import InvalidArgumentError

_settings = {'deterministic': (False, False), 'warn_always': False, 'interop_threads': 1}

__all__ = ['are_deterministic_algorithms_enabled', 'get_deterministic_debug_mode', 'get_float32_matmul_precision',
           'get_num_interop_threads', 'is_deterministic_algorithms_warn_only_enabled', 'is_warn_always_enabled',
           'set_deterministic_debug_mode', 'set_float32_matmul_precision', 'set_flush_denormal', 'set_num_interop_threads',
           'set_warn_always', 'use_deterministic_algorithms']


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted: a seed repeats a run exactly as it is."""
    _settings['deterministic'] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled():
    """What use_deterministic_algorithms() was told."""
    return _settings['deterministic'][0]


def is_deterministic_algorithms_warn_only_enabled():
    """What use_deterministic_algorithms() was told of warnings."""
    return _settings['deterministic'][1]


_DEBUG = ('default', 'warn', 'error')


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms() as 0, 1, 2 or 'default', 'warn', 'error'."""
    if debug_mode not in (0, 1, 2, *_DEBUG):
        raise InvalidArgumentError(f'[set_deterministic_debug_mode] the mode is 0, 1, 2 or one of {_DEBUG}, not {debug_mode!r}')
    mode = _DEBUG.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2, as set_deterministic_debug_mode() takes them."""
    on, warn_only = _settings['deterministic']
    return (1 if warn_only else 2) if on else 0


def set_float32_matmul_precision(precision):
    """'highest', 'high' or 'medium': accepted, products of float32 stay exact to their rounding."""
    if precision not in ('highest', 'high', 'medium'):
        raise InvalidArgumentError(f"[set_float32_matmul_precision] 'highest', 'high' or 'medium', not {precision!r}")
    _settings['precision'] = precision


def get_float32_matmul_precision():
    """What set_float32_matmul_precision() was told."""
    return _settings.get('precision', 'highest')


def set_num_interop_threads(n):
    """Accepted: ops run one after the other, each on as many threads as set_num_threads() says."""
    if n < 1:
        raise InvalidArgumentError(f'[set_num_interop_threads] {n} threads')
    _settings['interop_threads'] = n


def get_num_interop_threads():
    """What set_num_interop_threads() was told."""
    return _settings['interop_threads']


def set_warn_always(b, /):
    """Accepted: there are no warnings that come once only."""
    _settings['warn_always'] = bool(b)


def is_warn_always_enabled():
    """What set_warn_always() was told."""
    return _settings['warn_always']


def set_flush_denormal(mode):
    """False: the processor's mode stays as it is."""
    return False
