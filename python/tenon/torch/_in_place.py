"""Functions that write to their first argument, made from those that do not."""
from .._core import ops
from ._common import check


def in_place(module, name, function):
    """The function of a module whose name has an underscore: writes the result of the one without it into its first argument."""
    def call(input, *args, **kwargs):
        source = ops['clone'](input) if check(input).requires_grad else input  # its gradient may need the earlier elements
        found = function(source, *args, **kwargs)
        if found.shape != input.shape:
            raise RuntimeError(f'[{name}] the result has shape {found.shape}, the tensor {input.shape}: tensors keep their shape')
        return input.copy_(found)
    call.__name__ = call.__qualname__ = name
    call.__module__ = module
    call.__doc__ = f'{name[:-1]}(), written into its first argument.'
    return call
