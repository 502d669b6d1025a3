"""Randomly zeroed elements or channels."""
import math

from ...._core import ops
from ...._errors import InvalidArgumentError
from ..._common import cast, check, rank
from .activation import _written

# The limit of SELU far below 0.
_FLOOR = -1.7580993408473766


def _probability(p):
    if not 0 <= p <= 1:
        raise InvalidArgumentError(f'[dropout] p is {p}, must be 0 to 1')
    return p


def dropout(input, p=0.5, training=True, inplace=False):
    """Zeroes elements with probability p and scales the others by 1 / (1 - p)."""
    _probability(p)
    if not training or p == 0:
        return check(input)
    if rank(check(input).dtype) == 3:
        return _written(input, input * _kept(input.shape, p, input) / (1 - p) if p < 1 else input * 0, inplace)
    return _written(input, ops['dropout'](input, p, True), inplace)


def native_dropout(input, p, train):
    """(dropout(), a mask of the elements that stayed)."""
    _probability(p)
    mask = ops['uniform'](check(input).shape, 0.0, 1.0, None, input.device) >= (p if train else 0.0)
    scale = 1 / (1 - p) if train and p < 1 else 1.0 if not train else 0.0
    return input * cast(mask, input.dtype) * scale, mask


def _kept(shape, p, x):
    """1 with probability 1 - p, otherwise 0, in a given shape."""
    return cast(ops['uniform'](shape, 0.0, 1.0, None, x.device) >= p, x.dtype)


def feature_dropout(input, p, train):
    """dropout() of whole channels (N, C, …)."""
    _probability(p)
    if check(input).ndim < 2:
        raise InvalidArgumentError('[feature_dropout] needs at least two dimensions')
    if not train or p == 0:
        return input
    keep = _kept((*input.shape[:2], *(1,) * (input.ndim - 2)), p, input)
    return input * keep / (1 - p) if p < 1 else input * 0


def _of_channels(rank_):
    def call(input, p=0.5, training=True, inplace=False):
        single = check(input).ndim == rank_ + 1
        x = ops['unsqueeze'](input, 0) if single else input
        found = feature_dropout(x, p, training)
        return _written(input, ops['squeeze'](found, 0) if single else found, inplace)
    call.__name__ = call.__qualname__ = f'dropout{rank_}d'
    call.__doc__ = f'dropout() of whole channels of (N, C, {rank_} more) or (C, {rank_} more).'
    return call


dropout1d, dropout2d, dropout3d = _of_channels(1), _of_channels(2), _of_channels(3)


def _alpha(x, p, training, shape):
    _probability(p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    keep = _kept(shape, p, x)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _FLOOR * _FLOOR))
    return (x * keep + _FLOOR * (1 - keep)) * scale - scale * p * _FLOOR


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """dropout() that keeps the mean and variance of SELU's results."""
    return _written(input, _alpha(check(input), p, training, input.shape), inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout() of whole channels (N, C, …)."""
    shape = (*check(input).shape[:2], *(1,) * (input.ndim - 2)) if input.ndim > 1 else input.shape
    return _written(input, _alpha(input, p, training, shape), inplace)
