"""Gives names and keywords that only PyTorch has the meaning that they have in PyTorch.

A keyword that a function of tenon lacks selects PyTorch's function of that name: tenon.std(x, unbiased=False). A name that a module of
tenon lacks comes from tenon.torch: tenon.allclose, tenon.nn.LSTM. Everything else means what the Array API standard says.
"""
from importlib import import_module
from types import ModuleType

from ._names import both_names, known_names


def pytorchs(name, keywords):
    """The function of tenon.torch with a name such as "std" or "linalg.norm" if it has all these arguments, else None."""
    from . import torch
    *space, last = name.split('.')
    spaces = [getattr(torch, space[0], None)] if space else [torch, torch.nn.functional]
    for each in spaces:
        function = getattr(each, last, None)
        if hasattr(function, '__code__') and known_names(function).issuperset(keywords):
            return both_names(function)
    return None


def named(module, name):
    """The member of tenon.torch for a name that this module of tenon lacks; an AttributeError if there is none."""
    if name[:1] == '_':
        raise AttributeError(f'module {module!r} has no attribute {name!r}')
    theirs = import_module(module.replace('tenon', 'tenon.torch', 1))
    try:
        found = getattr(theirs, name)
    except AttributeError as error:
        if 'is not offered here' in str(error):
            raise
        found = None
    if found is None or isinstance(found, ModuleType):
        raise AttributeError(f'module {module!r} has no attribute {name!r}')
    return found


def others(module):
    """A __getattr__ that adds PyTorch's other names to a module of tenon."""
    found = {}

    def __getattr__(name):
        if name not in found:
            found[name] = named(module, name)
        return found[name]
    return __getattr__
