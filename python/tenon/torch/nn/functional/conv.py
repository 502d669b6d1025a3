"""Linear maps: dense layers, convolutions, embeddings."""
from typing import Any

from .... import _core
from ...._core import ops
from ...._errors import DtypeError, InvalidArgumentError, UnsupportedDtypeError
from ..._backward_names import named
from ..._common import autocasting, broken, cast, check, full, largest, rank, smallest
from ..._shortcuts import short
from .sparse_rows import has_sparse_gradient, sparse_bag, sparse_embedding


@short
def linear(input, weight, bias=None):
    """x weightᵀ + bias; x (…, in), weight (out, in)."""
    for x in (weight,) if bias is None else (weight, bias):
        if check(x).dtype is not check(input).dtype and not autocasting(input):
            raise InvalidArgumentError(f'[linear] dtypes {input.dtype} and {x.dtype} differ')
    if weight.ndim == 1:
        found = ops['matmul'](check(input), weight)
        return found if bias is None else found + bias
    return ops['linear'](input, weight, bias)


def bilinear(input1, input2, weight, bias=None):
    """x₁ weight x₂ for each output; x₁ (…, in₁), x₂ (…, in₂), weight (out, in₁, in₂)."""
    if input1.shape[:-1] != input2.shape[:-1] or check(weight).ndim != 3 or weight.shape[1:] != (input1.shape[-1], input2.shape[-1]):
        raise InvalidArgumentError(f'[bilinear] shapes {input1.shape}, {input2.shape} and {weight.shape} do not fit')
    lead, (out, n, m) = input1.shape[:-1], weight.shape
    x1, x2 = (ops['reshape'](x, (-1 if x.size else 0, x.shape[-1])) for x in (input1, input2))
    left = ops['reshape'](ops['matmul'](x1, ops['reshape'](ops['permute'](weight, (1, 0, 2)), (n, out * m))), (x1.shape[0], out, m))
    found = ops['reshape'](ops['sum'](left * ops['unsqueeze'](x2, 1), -1), (*lead, out))
    return found if bias is None else found + bias


def _each(value, rank_, name) -> Any:
    """A number, or one for each dimension."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(values) == 1:
        values *= rank_
    if len(values) != rank_:
        raise InvalidArgumentError(f'[{name}] {values} for {rank_} dimensions')
    return values


def _batched(name, x, weight, bias, rank_):
    if check(x).ndim not in (rank_ + 1, rank_ + 2):
        raise InvalidArgumentError(f'[{name}] input has rank {x.ndim}, must be {rank_ + 1} or {rank_ + 2}')
    for other in (check(weight), bias):
        if other is not None and other.dtype is not x.dtype and not autocasting(x):
            raise InvalidArgumentError(f'[{name}] dtypes {x.dtype} and {other.dtype} differ')
    return x.ndim == rank_ + 1, x if x.ndim == rank_ + 2 else ops['unsqueeze'](x, 0)


def _complex(function, x, weight, bias):
    """A bilinear map of complex numbers, computed by three real ones."""
    (a, b), (c, d) = ((ops['real'](each), ops['imag'](each)) for each in (x, weight))
    ac, bd, both = function(a, c), function(b, d), function(a + b, c + d)
    found = ops['complex'](ac - bd, both - ac - bd)
    return found if bias is None else found + ops['reshape'](bias, (bias.size,) + (1,) * (x.ndim - 2))


def _conv(rank_):
    name = f'conv{rank_}d'

    def call(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        single, x = _batched(name, input, weight, bias, rank_)
        stride, dilation = _each(stride, rank_, name), _each(dilation, rank_, name)
        if isinstance(padding, str):
            if padding not in ('same', 'valid') or (padding == 'same' and any(n != 1 for n in stride)):
                raise InvalidArgumentError(f"[{name}] padding is 'valid', 'same' with stride 1, or numbers, not {padding!r}")
            whole = [d * (k - 1) if padding == 'same' else 0 for d, k in zip(dilation, weight.shape[2:])]
            if any(n % 2 for n in whole):
                x = ops['pad'](x, [n for d in reversed(range(rank_)) for n in (0, whole[d] % 2)])
            padding = [n // 2 for n in whole]
        padding = _each(padding, rank_, name)
        if any(n < 0 for n in padding) or any(n < 1 for n in (*stride, *dilation)):
            raise InvalidArgumentError(f'[{name}] stride {stride}, padding {padding} or dilation {dilation}')
        if rank(x.dtype) == 3:
            found = _complex(lambda a, b: ops['conv'](a, b, None, stride, padding, dilation, groups), x, weight, bias)
        else:
            found = ops['conv'](x, weight, bias, stride, padding, dilation, groups)
        return ops['squeeze'](found, 0) if single else found
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Convolution over {rank_} dimension{'s' if rank_ > 1 else ''} of (N, C, …) or (C, …); padding may be 'same' or 'valid'."
    return call


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)


def _far(x, weight, bias, stride, padding, output_padding, groups, dilation):
    """A transposed convolution whose output_padding exceeds the stride: computes the whole plane, then pads and cuts it."""
    if any(more >= max(step, wide) for more, step, wide in zip(output_padding, stride, dilation)):
        raise InvalidArgumentError(f'[conv_transpose] output_padding {output_padding} must be smaller than stride {stride} or dilation {dilation}')
    zero = (0,) * len(stride)
    found = ops['conv_transpose'](x, weight, None, stride, zero, zero, dilation, groups)
    from .spatial import constant_pad_nd
    sides = [side for d in reversed(range(len(stride))) for side in (-padding[d], output_padding[d] - padding[d])]
    found = constant_pad_nd(found, sides)
    return found if bias is None else found + ops['reshape'](bias, (bias.size,) + (1,) * len(stride))


def _conv_transpose(rank_):
    name = f'conv_transpose{rank_}d'

    def call(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        single, x = _batched(name, input, weight, bias, rank_)
        stride, padding, output_padding, dilation = (_each(each, rank_, name) for each in (stride, padding, output_padding, dilation))
        if any(more >= step for more, step in zip(output_padding, stride)):
            found = _far(x, weight, bias, stride, padding, output_padding, groups, dilation)
        elif rank(x.dtype) == 3:
            found = _complex(lambda a, b: ops['conv_transpose'](a, b, None, stride, padding, output_padding, dilation, groups), x, weight, bias)
        else:
            found = ops['conv_transpose'](x, weight, bias, stride, padding, output_padding, dilation, groups)
        return ops['squeeze'](found, 0) if single else named(found, 'ConvolutionBackward0')
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Transposed convolution over {rank_} dimension{'s' if rank_ > 1 else ''} of (N, C, …) or (C, …)."
    return call


conv_transpose1d, conv_transpose2d, conv_transpose3d = _conv_transpose(1), _conv_transpose(2), _conv_transpose(3)


def _renormed(weight, index, max_norm, norm_type):
    """The rows of weight that index names, scaled down to max_norm in place."""
    from .... import no_grad
    from ...reduce import renorm
    with no_grad():
        rows = ops['unique'](index).values
        weight[rows] = renorm(weight[rows], norm_type, 0, max_norm)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of weight (rows, width) at an index (…): (…, width)."""
    if rank(check(input).dtype) != 1:
        raise UnsupportedDtypeError(f'[embedding] needs integers, not {input.dtype}')
    if check(weight).ndim != 2:
        raise InvalidArgumentError(f'[embedding] weight has rank {weight.ndim}, must be 2')
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise InvalidArgumentError(f'[embedding] padding_idx {padding_idx} out of range for {weight.shape[0]} rows')
        padding_idx %= weight.shape[0]
    if max_norm is not None and input.size:
        _renormed(weight, input, max_norm, norm_type)
    if sparse and has_sparse_gradient(weight):
        return sparse_embedding(cast(input, _core.int64), weight, padding_idx, scale_grad_by_freq)
    if scale_grad_by_freq and weight.requires_grad:
        weight = _by_frequency(weight, input)
    return ops['embedding'](weight, cast(input, _core.int64), padding_idx)


def _by_frequency(weight, index):
    """A weight whose rows' gradients are divided by how often index uses them."""
    flat = ops['reshape'](cast(index, _core.int64), (index.size,))
    count = ops['index_add'](full((weight.shape[0],), 0, weight), 0, flat, full(flat.shape, 1, weight))
    part = weight / ops['unsqueeze'](ops['clamp'](count, 1), -1)
    return weight.detach() + (part - part.detach())


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type: Any = 2, scale_grad_by_freq=False, mode='mean', sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Sums, means or maxima over bags of rows of weight: one bag for each row of input (bags, n), or a vector cut at offsets."""
    if mode not in ('sum', 'mean', 'max'):
        raise InvalidArgumentError(f"[embedding_bag] mode is 'sum', 'mean' or 'max', not {mode!r}")
    if per_sample_weights is not None and (mode != 'sum' or per_sample_weights.shape != input.shape):
        raise InvalidArgumentError("[embedding_bag] per_sample_weights are for mode 'sum', in the shape of input")
    if check(input).ndim == 2:
        if offsets is not None:
            raise InvalidArgumentError('[embedding_bag] offsets are for one row of input')
        bags, n = input.shape
        offsets = ops['arange'](0, bags * n, n, _core.int64, input.device) if n else full((bags,), 0, input, _core.int64)
        input = ops['reshape'](input, (bags * n,))
        if per_sample_weights is not None:
            per_sample_weights = ops['reshape'](per_sample_weights, (bags * n,))
    elif input.ndim != 1 or offsets is None or offsets.ndim != 1:
        raise InvalidArgumentError(f'[embedding_bag] input of rank {input.ndim} with offsets {None if offsets is None else offsets.shape}')
    elif include_last_offset:
        offsets = ops['slice'](offsets, 0, 0, offsets.size - 1)
    if offsets.device.type == 'cpu' and offsets.size and broken(offsets[0] != 0):
        raise InvalidArgumentError(f'[embedding_bag] offsets begin with {offsets[0].item()}, must begin with 0')
    if max_norm is not None and input.size:
        _renormed(weight, input, max_norm, norm_type)
    if sparse and has_sparse_gradient(weight):
        return sparse_bag(input, weight, offsets, mode, per_sample_weights, padding_idx, scale_grad_by_freq)
    if scale_grad_by_freq and weight.requires_grad:
        weight = _by_frequency(weight, input)
    return named(ops['embedding_bag'](weight, input, offsets, mode, per_sample_weights, padding_idx), 'EmbeddingBagBackward0', weight, per_sample_weights)


def _classes_of(labels, num_classes):
    """The number of classes that the labels need, or num_classes if it is large enough."""
    if smallest(labels) < 0:
        raise InvalidArgumentError('[one_hot] labels must not be negative')
    most = int(largest(labels)) + 1
    if num_classes == -1:
        return most
    if most > num_classes:
        raise InvalidArgumentError(f'[one_hot] label {most - 1} for {num_classes} classes')
    return num_classes


def one_hot(tensor, num_classes=-1):
    """1 at the place of each label, 0 elsewhere: (…, classes) of int64; by default as many classes as the labels need."""
    if check(tensor).dtype is not _core.int64:
        raise DtypeError(f'[one_hot] needs int64, not {tensor.dtype}')
    if not tensor.size:
        if num_classes <= 0:
            raise InvalidArgumentError('[one_hot] without labels num_classes must be given')
        return full((*tensor.shape, num_classes), 0, tensor)
    if num_classes <= 0 or not _core._trace_active():  # a trace does not have the labels yet
        num_classes = _classes_of(tensor, num_classes)
    return ops['one_hot'](tensor, num_classes)


def conv_tbc(input, weight, bias, pad=0):
    """A convolution of (time, batch, channels) with weights (kernel, channels, filters)."""
    found = ops['conv'](ops['permute'](input, (1, 2, 0)), ops['permute'](weight, (2, 1, 0)), bias, [1], [pad])
    return ops['permute'](found, (2, 0, 1))
