"""torch.nn.utils: clipping of gradients, parameters as one vector, parametrisations, pruning, layers joined with batch norms."""
from .. import packed as rnn
from . import fusion, parametrizations, parametrize
from .clip import (clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm)
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .making import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format, skip_init
from .norms import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

__all__ = ['clip_grad_norm', 'clip_grad_norm_', 'clip_grad_value_', 'clip_grads_with_norm_', 'convert_conv2d_weight_memory_format',
           'convert_conv3d_weight_memory_format', 'fuse_conv_bn_eval', 'fuse_conv_bn_weights', 'fuse_linear_bn_eval',
           'fuse_linear_bn_weights', 'fusion', 'get_total_norm', 'parameters_to_vector', 'parametrizations', 'parametrize',
           'remove_spectral_norm', 'remove_weight_norm', 'rnn', 'skip_init', 'spectral_norm', 'vector_to_parameters', 'weight_norm']


def __getattr__(name):
    if name == 'prune':
        from importlib import import_module
        return import_module('.prune', __name__)
    raise AttributeError(f"module 'tenon.torch.nn.utils' has no attribute {name!r}")
