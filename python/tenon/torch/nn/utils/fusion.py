"""Layers merged with the batch norm after them, for evaluation: one layer with other weights."""
import copy

from .... import no_grad
from ...._core import ops
from ...._errors import InvalidArgumentError
from ....nn.module import Parameter

__all__ = ['fuse_conv_bn_eval', 'fuse_conv_bn_weights', 'fuse_linear_bn_eval', 'fuse_linear_bn_weights']


def _fused(weight, bias, mean, variance, eps, scale, shift, dim):
    """scale · (layer - mean) / √(variance + eps) + shift as a layer; dim: the dimension of the outputs in weight."""
    with no_grad():
        factor = ops['rsqrt'](variance + eps)
        factor = factor if scale is None else factor * scale
        moved = ((0 if bias is None else bias) - mean) * factor
        moved = moved if shift is None else moved + shift
        wide = tuple(-1 if d == dim else 1 for d in range(weight.ndim))
        dtypes = weight.dtype, (weight if bias is None else bias).dtype
        made = [ops['cast'](x.detach(), dtype) for x, dtype in zip((weight * ops['reshape'](factor, wide), moved), dtypes)]
    return Parameter(made[0], weight.requires_grad), Parameter(made[1], bias is not None and bias.requires_grad)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of a convolution, or a transposed one, followed by a batch norm."""
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a linear layer followed by a batch norm."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _join(where, layer, bn, dim):
    if layer.training or bn.training:
        raise InvalidArgumentError(f'[{where}] both layers must evaluate: call eval() first')
    if bn.running_mean is None or bn.running_var is None:
        raise InvalidArgumentError(f'[{where}] the batch norm keeps no running statistics')
    made = copy.deepcopy(layer)
    made.weight, made.bias = _fused(layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, dim)
    return made


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that computes bn(conv(x)), both in evaluation."""
    return _join('fuse_conv_bn_eval', conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that computes bn(linear(x)), both in evaluation."""
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise InvalidArgumentError(f'[fuse_linear_bn_eval] out_features {linear.out_features} and num_features {bn.num_features} differ')
    return _join('fuse_linear_bn_eval', linear, bn, 0)
