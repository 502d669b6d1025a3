"""Numbers as they will be once they are integers: what training for quantized weights computes with."""
from typing import Any

from .._core import Tensor, ops
from .._errors import InvalidArgumentError, UnsupportedDtypeError
from ._backward_names import named
from ._common import check, dim_of
from .autograd.function import Function

__all__ = ['fake_quantize_per_channel_affine', 'fake_quantize_per_tensor_affine']


class FakeQuantize(Function):
    """Rounds to integers between two bounds and back; the gradient passes where no bound cut."""

    @staticmethod
    def forward(ctx: Any, x, scale, zero_point, least, most):
        whole = ops['round'](x / scale) + zero_point
        ctx.save_for_backward((whole >= least) & (whole <= most))
        return (ops['clamp'](whole, least, most) - zero_point) * scale

    @staticmethod
    def backward(ctx: Any, *gradients):
        return ops['where'](ctx.saved_tensors[0], gradients[0], ops['full_like'](gradients[0], 0)), None, None, None, None


def _quantized(kind, input, scale, zero_point, least, most):
    if least > most:
        raise InvalidArgumentError(f'[fake_quantize] quant_min {least} is above quant_max {most}')
    if not check(input).dtype.is_floating_point:
        raise UnsupportedDtypeError(f'[fake_quantize] needs a floating dtype, not {input.dtype.name}')
    found = FakeQuantize.apply(input, scale, zero_point, least, most)
    return named(found, f'FakeQuantizePer{kind}AffineCachemaskBackward0', input)


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """input rounded to zero_point + integers · scale, within the bounds of the integers."""
    scale, zero_point = (x.detach().to(input.dtype) if isinstance(x, Tensor) else x for x in (scale, zero_point))
    return _quantized('Tensor', input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """fake_quantize_per_tensor_affine() with a scale and a zero point for each entry along a dimension."""
    axis = dim_of(axis, check(input).ndim)
    if scale.shape != (input.shape[axis],) or zero_point.shape != scale.shape:
        raise InvalidArgumentError(f'[fake_quantize_per_channel_affine] scale {tuple(scale.shape)} and zero_point {tuple(zero_point.shape)} must both have '
                                   f'shape {(input.shape[axis],)}')
    shape = tuple(-1 if d == axis else 1 for d in range(input.ndim))
    scale, zero_point = (ops['cast'](x.detach().reshape(shape), input.dtype) for x in (scale, zero_point))
    return _quantized('Channel', input, scale, zero_point, quant_min, quant_max)
