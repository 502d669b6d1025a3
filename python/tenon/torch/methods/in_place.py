"""Methods that write to their tensor: an in-place op if there is one, otherwise the function's result, written back."""
import math
from typing import Any

import tenon.torch

from ... import _core, _methods
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from .._backward_names import named_as
from .._common import cast, check, rank, source_of
from ..limits import iinfo
from .memory import became
from .told import told

_copy, _uniform, _normal = _methods.copy_, _methods.uniform_, _methods.normal_


def written(x, value, name, *operands):
    """x with value, made of x and other operands, written into it by PyTorch's rules: the shape and the kind of dtype stay."""
    if value.shape != x.shape:
        raise InvalidArgumentError(f'[{name}] the result has shape {value.shape}, the tensor {x.shape}: tensors keep their shape')
    if rank(value.dtype) > rank(x.dtype):
        raise InvalidArgumentError(f'[{name}] a result of dtype {value.dtype} cannot be written into a tensor of dtype {x.dtype}')
    operands = [each for each in operands if isinstance(each, Tensor) and each.requires_grad]
    return named_as(value, lambda: _copy(x, value), [x, *operands] if x.requires_grad else operands)


def written_back(name):
    """The method of a name with an underscore: writes the result of the method without it into the tensor."""
    plain = name[:-1]
    op = _core.op(plain, True) if plain in _methods.IN_PLACE and plain not in _OTHERWISE else None
    ranks = (2,) if plain == 'remainder' else (0, 1, 2)
    function = None

    def method(self: Any, *args, **kwargs):
        nonlocal function
        if op is not None and not kwargs and rank(self.dtype) in ranks and all(_plain(self, x) for x in args):
            return op(self, *args)
        function = function or getattr(Tensor, plain)
        source = source_of(self, *args, *kwargs.values())
        value = function(source, *(source if x is self else x for x in args), **kwargs)
        return written(self, value, name, *args, *kwargs.values())
    method.__name__ = method.__qualname__ = name
    method.__module__ = 'tenon.torch'  # where it is a function too
    method.__doc__ = f'{plain}(), written into the tensor.'
    return method


# In place their op means something different, or misses one of PyTorch's errors.
_OTHERWISE = frozenset('floor_divide masked_fill index_add index_put scatter scatter_add tril triu cumsum cumprod round clamp sign'.split())


def _plain(x, other):
    """Whether the op accepts an operand as PyTorch does: numbers, and tensors of the same dtype."""
    return other.dtype is x.dtype if isinstance(other, Tensor) else isinstance(other, (int, float)) and x.dtype is not _core.bool


def _with_alpha(name):
    op, function = _core.op(name, True), told(getattr(tenon.torch, name))

    def method(self: Any, other, *, alpha=1):
        if _plain(self, other) and (alpha is not True and alpha == 1 or rank(self.dtype) == 2):
            return op(self, other if alpha == 1 else other * alpha)
        return written(self, function(source_of(self), other, alpha=alpha), name + '_', other)
    method.__name__ = method.__qualname__ = name + '_'
    method.__module__ = 'tenon.torch'
    method.__doc__ = f'{name}(), written into the tensor.'
    return method


def _draw(x, generator):
    """Uniform numbers in [0, 1) for x: float64 if x has that precision, otherwise float32."""
    dtype = _core.float64 if x.dtype in (_core.float64, _core.int64, _core.int32) else _core.float32
    return ops['uniform'](x.shape, 0.0, 1.0, dtype, x.device, generator)


def _drawn(x, name, value):
    """x with random numbers in it."""
    if rank(x.dtype) != 2:
        raise InvalidArgumentError(f'[{name}] draws floating numbers, the tensor has dtype {x.dtype}')
    return _copy(x, value)


def _positive(name, what, value):
    if not value > 0:
        raise InvalidArgumentError(f'[{name}] {what} is {value}, must be positive')


class InPlace:
    """Methods by name."""

    add_, sub_ = _with_alpha('add'), _with_alpha('sub')
    subtract_ = sub_

    def fill_diagonal_(self: Any, fill_value, wrap=False):
        """Writes one value on the diagonal; wrap: repeatedly, down a matrix that has more rows than columns."""
        if self.ndim < 2 or self.ndim > 2 and len(set(self.shape)) > 1:
            raise InvalidArgumentError(f'[fill_diagonal_] needs a matrix, or more dimensions of one size, not shape {self.shape}')
        at = [ops['reshape'](ops['arange'](0, n, 1, _core.int64, self.device), (n,) + (1,) * (self.ndim - 1 - d)) for d, n in enumerate(self.shape)]
        if self.ndim == 2:
            row, column = at
            mask = (ops['remainder'](row, self.shape[1] + 1) if wrap and self.shape[1] else row) == column
        else:
            mask = at[0] == at[1]
            for each in at[2:]:
                mask = mask & (at[0] == each)
        return self.masked_fill_(mask, fill_value)

    def addbmm_(self: Any, batch1, batch2, *, beta=1, alpha=1):
        """Writes addbmm() into the tensor, which gets the shape of the result."""
        value = tenon.torch.addbmm(source_of(self, batch1, batch2), batch1, batch2, beta=beta, alpha=alpha)
        if value.shape != self.shape and value.requires_grad:
            return became(self, value, 'addbmm_')
        if value.shape != self.shape:
            self.resize_(value.shape)
        return written(self, value, 'addbmm_', batch1, batch2)

    def polygamma_(self: Any, n):
        """Writes polygamma() into the tensor."""
        return written(self, source_of(self).polygamma(n), 'polygamma_')

    def masked_fill_(self: Any, mask, value):
        """Writes one value where mask is true."""
        return written(self, tenon.torch.masked_fill(source_of(self), mask, value), 'masked_fill_', value)

    # Random numbers: formulas of uniform ones that invert the distribution.

    def uniform_(self: Any, *bounds, generator=None, **named):
        """Uniform numbers from 0 to 1: uniform_(from, to)."""
        low, high = _bounds('uniform_', bounds, named, (0.0, 1.0))
        if low > high:
            raise InvalidArgumentError(f'[uniform_] from {low} to {high}')
        if self.dtype in _DRAWN:
            return _uniform(self, low, high, generator)
        if rank(self.dtype) == 3:  # both parts
            return _copy(self, ops['complex'](*(_draw(self, generator) * (high - low) + low for _ in range(2))))
        return _drawn(self, 'uniform_', _draw(self, generator) * (high - low) + low)

    def normal_(self: Any, mean=0.0, std=1.0, *, generator=None):
        """Normally distributed numbers."""
        if std < 0:
            raise InvalidArgumentError(f'[normal_] std is {std}, must not be negative')
        if self.dtype in _DRAWN:
            return _normal(self, mean, std, generator)
        return _copy(self, tenon.torch.randn(self.shape, dtype=self.dtype, device=self.device, generator=generator) * std + mean)

    def exponential_(self: Any, lambd=1, *, generator=None):
        """Numbers with density λ exp(-λx)."""
        _positive('exponential_', 'lambd', lambd)
        return _drawn(self, 'exponential_', ops['log1p'](-_draw(self, generator)) / -lambd)

    def cauchy_(self: Any, median=0, sigma=1, *, generator=None):
        """Numbers with density σ / (π ((x - median)² + σ²))."""
        _positive('cauchy_', 'sigma', sigma)
        return _drawn(self, 'cauchy_', ops['tan']((_draw(self, generator) - 0.5) * math.pi) * sigma + median)

    def log_normal_(self: Any, mean=1, std=2, *, generator=None):
        """Numbers whose logarithms are normally distributed."""
        _positive('log_normal_', 'std', std)
        draw = tenon.torch.randn(self.shape, dtype=_core.float64 if self.dtype is _core.float64 else _core.float32, device=self.device, generator=generator)
        return _drawn(self, 'log_normal_', ops['exp'](draw * std + mean))

    def geometric_(self: Any, p, *, generator=None):
        """The number of trials, each a success with probability p, up to and including the first success."""
        if not 0 < p < 1:
            raise InvalidArgumentError(f'[geometric_] p is {p}, must be between 0 and 1')
        return _copy(self, ops['clamp'](ops['ceil'](ops['log1p'](-_draw(self, generator)) / math.log1p(-p)), 1, None))

    def bernoulli_(self: Any, p=0.5, *, generator=None):
        """1 with probability p, a number or a tensor, else 0."""
        if isinstance(p, Tensor):
            p = ops['expand'](cast(p.detach(), _core.float64 if p.dtype is _core.float64 else _core.float32), self.shape)
            return _copy(self, tenon.torch.bernoulli(p, generator=generator))
        if not 0 <= p <= 1:
            raise InvalidArgumentError(f'[bernoulli_] p is {p}, must be 0 to 1')
        return _copy(self, _draw(self, generator) < p)

    def random_(self: Any, *bounds, generator=None, **named):
        """Integers: random_(to) from 0 to to - 1, random_(from, to) from from to to - 1; by default all that the dtype represents
        exactly."""
        if len(bounds) == 1 and not named:
            bounds = 0, bounds[0]
        low, high = _bounds('random_', bounds, named, (0, None))
        high = _most(self.dtype) + 1 if high is None else high
        if low >= high:
            raise InvalidArgumentError(f'[random_] from {low} to {high}: there is no number between them')
        return _copy(self, ops['randint'](self.shape, int(low), min(int(high), 2**63 - 1), _core.int64, self.device, generator))

    # Python functions applied element by element, on the host.

    def apply_(self: Any, callable):
        """Replaces each element by callable(element); slow, on the host."""
        return _each('apply_', self, callable)

    def map_(self: Any, tensor, callable):
        """Replaces each element by callable(element, other element); slow, on the host."""
        return _each('map_', self, callable, tensor)

    def map2_(self: Any, tensor1, tensor2, callable):
        """Replaces each element by callable(element, two other elements); slow, on the host."""
        return _each('map2_', self, callable, tensor1, tensor2)


_DRAWN = frozenset((_core.float32, _core.float64))  # dtypes that the random ops write directly


def _bounds(name, bounds, named, standard):
    """(from, to), given by position or by these names; from is a keyword of Python."""
    if set(named) - {'from', 'to'} or len(bounds) > 2:
        raise TypeError(f'[{name}] takes from, to and generator')
    given = dict(zip(('from', 'to'), bounds)) | named
    return given.get('from', standard[0]), given.get('to', standard[1])


_DIGITS = {'float16': 11, 'bfloat16': 8, 'float32': 24, 'float64': 53}


def _most(dtype):
    """The largest n such that a dtype represents every integer up to n."""
    if dtype.name in _DIGITS:
        return 2 ** _DIGITS[dtype.name]
    if dtype is _core.bool:
        return 1
    return iinfo(dtype).max


def _each(name, x, function, *others):
    if x.requires_grad:
        raise InvalidArgumentError(f'[{name}] is not differentiated: use ops of tensors, or detach()')
    if x.device.type != 'cpu':
        raise TypeError(f'[{name}] works on the host: move the tensor with cpu()')
    others = [ops['expand'](check(other), x.shape) for other in others]
    flat = [each.reshape(-1).tolist() for each in (x, *others)]
    found = [function(*elements) for elements in zip(*flat)]
    return _copy(x, _core._from_data(found, x.dtype, None).reshape(x.shape)) if found else x
