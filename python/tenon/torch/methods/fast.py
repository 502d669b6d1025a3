"""The methods of every training step: the op itself where PyTorch means just that, its function for all other calls."""
import functools

import tenon.torch

from ..._core import Tensor, ops
from .._common import rank
from .told import told


def _of_two(name: str):
    op, function = ops[_OPS.get(name, name)], told(getattr(tenon.torch, name))
    lowest = 1 if name == 'sub' else 0  # no difference of bools

    @functools.wraps(function)
    def method(self, other, **more):
        if type(other) is Tensor and other.dtype is self.dtype and not more and rank(other.dtype) >= lowest:
            return op(self, other)
        return function(self, other, **more)
    return method


def _of_dim(name):
    op, function = ops[name], told(getattr(tenon.torch, name))

    @functools.wraps(function)
    def method(self, dim=None, keepdim=False, **more):
        if not more and rank(self.dtype) > 1 and (dim is None or type(dim) is int and self.ndim):
            return op(self, dim, keepdim)
        return function(self, **more) if dim is None and keepdim is False else function(self, dim, keepdim, **more)
    return method


_OPS = {'eq': 'equal', 'ne': 'not_equal', 'lt': 'less', 'le': 'less_equal', 'gt': 'greater', 'ge': 'greater_equal'}
FAST = {name: make for make, names in (
    (_of_two, '''add sub mul div pow remainder maximum minimum atan2 hypot copysign eq ne lt le gt ge logical_and logical_or logical_xor
        bitwise_and bitwise_or bitwise_xor matmul'''),
    (_of_dim, 'sum mean prod')) for name in names.split()}
