"""Checks that layers share."""
from .._core import Tensor


def check_tensor(where, x):
    """A Tensor, or an error that says how to make one."""
    if not isinstance(x, Tensor):
        raise TypeError(f'[{where}] x must be a Tensor, not {type(x).__name__}: use tenon.asarray(...)')
