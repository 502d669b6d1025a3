"""Layers of matrices and tables, and layers that only change a shape."""
import tenon

from .._core import ops
from .._errors import InvalidArgumentError, OutOfRangeError
from . import functional as F
from ._check import check_part, check_size, check_tensor
from .init import _layer_default
from .module import Module, Parameter

_linear, _linear_int4, _linear_int8 = ops['linear'], ops['linear_int4'], ops['linear_int8']


class Linear(Module):
    """y = x·Wᵀ + b over the last dimension: (…, in_features) to (…, out_features).

    Parameters: weight (out_features, in_features), bias (out_features).

    >>> tenon.nn.Linear(3, 2)(tenon.ones((5, 3))).shape
    (5, 2)
    """

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        check_size('Linear', 'in_features', in_features)
        check_size('Linear', 'out_features', out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(_layer_default((out_features, in_features), in_features))
        self.bias = Parameter(_layer_default((out_features,), in_features)) if bias else None

    def forward(self, input):
        return _linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f'in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}'


class QuantizedLinear(Module):
    """Linear with a weight packed into integers of 8 or 4 bits. Every `group_size` entries along in_features share a scale and, with 4
    bits, an offset; see the ops quantize_int8, linear_int8 and their 4-bit counterparts. For inference: x has gradients, the weight has
    none. The weight is zero until it is loaded or made from a float layer by from_float().

    Buffers: weight (int8 (out, in), or uint8 (out, in/2)), scale and offset (out, in/group_size), bias (out).

    >>> layer = tenon.nn.Linear(64, 2)
    >>> packed = tenon.nn.QuantizedLinear.from_float(layer, bits=4)
    >>> packed
    QuantizedLinear(in_features=64, out_features=2, bias=True, bits=4, group_size=32)
    >>> x = tenon.ones(64)
    >>> bool((packed(x) - layer(x)).abs().max() < 0.5)
    True
    """

    def __init__(self, in_features, out_features, bias=True, bits=8, group_size=32):
        super().__init__()
        check_size('QuantizedLinear', 'in_features', in_features, 1)
        check_size('QuantizedLinear', 'out_features', out_features, 1)
        _check_packing(in_features, bits, group_size)
        self._pack(tenon.zeros(out_features, in_features), tenon.zeros(out_features) if bias else None, bits, group_size)

    @classmethod
    def from_float(cls, mod, bits=8, group_size=32):
        """The same layer, packed, made of a Linear or of any module with a weight (out, in) and a bias (out) or None."""
        _check_packing(mod.weight.shape[-1], bits, group_size)
        made = cls.__new__(cls)
        super(QuantizedLinear, made).__init__()
        made._pack(mod.weight.detach(), None if mod.bias is None else mod.bias.detach(), bits, group_size)
        return made

    def _pack(self, weight, bias, bits, group_size):
        self.out_features, self.in_features = weight.shape
        self.bits, self.group_size = bits, group_size
        weight, scale, *offset = ops[f'quantize_int{bits}'](weight, group_size)
        self.register_buffer('weight', weight)
        self.register_buffer('scale', scale)
        self.register_buffer('offset', offset[0] if offset else None)
        self.register_buffer('bias', bias)

    def forward(self, input):
        if self.bits == 8:
            return _linear_int8(input, self.weight, self.scale, self.bias)
        return _linear_int4(input, self.weight, self.scale, self.offset, self.bias)

    def extra_repr(self):
        return (f'in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, '
                f'bits={self.bits}, group_size={self.group_size}')


def _check_packing(in_features, bits, group_size):
    if check_size('QuantizedLinear', 'bits', bits, -2 ** 63) not in (4, 8):
        raise InvalidArgumentError(f'[QuantizedLinear] bits is {bits}, must be 8 or 4')
    check_size('QuantizedLinear', 'group_size', group_size, 1)
    if in_features % group_size or (bits == 4 and group_size % 2):
        raise InvalidArgumentError(f'[QuantizedLinear] {in_features} in_features do not divide into groups of {group_size}'
                                   + (', which must be even' if bits == 4 else ''))


class Embedding(Module):
    """Rows of a table by index: integers (…) to (…, embedding_dim). The gradient of row `padding_idx` stays zero.

    >>> tenon.nn.Embedding(10, 3)(tenon.tensor([[1, 2, 4]])).shape
    (1, 3, 3)
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        check_size('Embedding', 'num_embeddings', num_embeddings)
        check_size('Embedding', 'embedding_dim', embedding_dim)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise InvalidArgumentError(f'[Embedding] padding_idx {padding_idx} is outside the {num_embeddings} rows')
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx % num_embeddings if padding_idx is not None else None
        table = ops['normal']((num_embeddings, embedding_dim))
        if padding_idx is not None:
            table[self.padding_idx] = 0
        self.weight = Parameter(table)

    def forward(self, index):
        return F.embedding(index, self.weight, self.padding_idx)

    def extra_repr(self):
        return f'{self.num_embeddings}, {self.embedding_dim}' + (
            f', padding_idx={self.padding_idx}' if self.padding_idx is not None else '')


class Identity(Module):
    """Returns its input."""

    def forward(self, x):
        return x


class Flatten(Module):
    """Joins dimensions start_dim to end_dim into one: (N, C, H, W) to (N, C·H·W).

    >>> tenon.nn.Flatten()(tenon.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        return ops['flatten'](x, self.start_dim, self.end_dim)

    def extra_repr(self):
        return f'start_dim={self.start_dim}, end_dim={self.end_dim}'


class Unflatten(Module):
    """Splits dimension `dim` into `unflattened_size`.

    >>> tenon.nn.Unflatten(1, (3, 4))(tenon.ones((2, 12))).shape
    (2, 3, 4)
    """

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x):
        check_tensor('Unflatten', x)
        dim = self.dim + x.ndim if self.dim < 0 else self.dim
        if not 0 <= dim < x.ndim:
            raise OutOfRangeError(f'[Unflatten] dim {self.dim} out of range for a tensor of rank {x.ndim}')
        return ops['reshape'](x, (*x.shape[:dim], *self.unflattened_size, *x.shape[dim + 1:]))

    def extra_repr(self):
        return f'dim={self.dim}, unflattened_size={self.unflattened_size}'


class Dropout(Module):
    """In training, zeroes elements at random and scales the others up by 1/(1-p).

    >>> tenon.nn.Dropout(0.5).eval()(tenon.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = check_part('Dropout', 'p', p)

    def forward(self, x):
        return F.dropout(x, self.p, self.training)

    def extra_repr(self):
        return f'p={self.p}'
