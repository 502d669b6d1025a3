"""torch.nn.utils: clipping of gradients, parameters as one vector, parametrisations, pruning, layers merged with batch norms."""
from importlib import import_module

# Imported on first use: modules, and functions by module.
_MODULES = frozenset('clip convert_parameters fusion making norms parametrizations parametrize prune rnn stateless'.split())
_LAZY = {name: module for module, names in {
    'clip': 'clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm',
    'convert_parameters': 'parameters_to_vector vector_to_parameters',
    'fusion': 'fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights',
    'making': 'convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format skip_init',
    'norms': 'remove_spectral_norm remove_weight_norm spectral_norm weight_norm',
}.items() for name in names.split()}


def __getattr__(name):
    if name in _MODULES:
        return import_module('.' + name, __name__)
    if name not in _LAZY:
        raise AttributeError(f"module 'tenon.torch.nn.utils' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module('.' + _LAZY[name], __name__), name)
    return found


def __dir__():
    return sorted([*globals(), *_MODULES, *_LAZY])
