"""Checks by which libraries refuse wrong arguments: torch._assert and torch._check with their kinds of errors."""
from .._core import Tensor


def _assert(condition, message):
    """Raises AssertionError with the message unless the condition holds."""
    assert condition, message


def _assert_async(condition, message=None):
    """Raises RuntimeError unless the condition holds; nothing is put off."""
    if not condition:
        raise RuntimeError(message or 'Expected Tensor with single nonzero value, but got zero')


def _check_with(error_type, cond, message=None):
    """Raises error_type unless cond, a bool, is True; message: text, or a function that returns it."""
    if not isinstance(cond, bool):
        advice = ': write bool(x), or torch._check_tensor_all(x)' if isinstance(cond, Tensor) else ''
        raise TypeError(f'[torch._check] cond must be a bool, not {type(cond).__name__}{advice}')
    if not cond:
        raise error_type('[torch._check] a condition does not hold' if message is None else str(message() if callable(message) else message))


def _check(cond, message=None):
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond, message=None):
    """Raises RuntimeError unless all elements of a tensor of bools are True."""
    if not isinstance(cond, Tensor) or cond.dtype.name != 'bool':
        raise TypeError(f'[torch._check_tensor_all] cond must be a tensor of bools, not {type(cond).__name__}')
    _check_with(RuntimeError, bool(cond.all()), message)


def _check_is_size(i, message=None, *, max=None):
    """Raises RuntimeError unless i is a possible size: 0 at least, and at most max."""
    _check_with(RuntimeError, i >= 0 and (max is None or i <= max), message)
