"""Modules made without initial values, or with another memory format."""
import inspect

from ....nn.module import Module


def skip_init(module_cls, *args, **kwargs):
    """A module with undefined initial values; the class must accept device=."""
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f'[skip_init] wants a class of Module, not {module_cls!r}')
    if 'device' not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f'[skip_init] {module_cls.__name__} takes no device=')
    return module_cls(*args, **kwargs)


def convert_conv2d_weight_memory_format(module, memory_format):
    """Returns the module: kernels choose the layout that they need."""
    return module


def convert_conv3d_weight_memory_format(module, memory_format):
    """Returns the module: kernels choose the layout that they need."""
    return module
