"""Module, and hooks that every module calls."""
from ....nn._hooks import register_everywhere
from ....nn._state import IncompatibleKeys as _IncompatibleKeys  # noqa: F401 by PyTorch's name
from ....nn.module import Module

__all__ = ['Module', 'register_module_forward_hook', 'register_module_forward_pre_hook', 'register_module_full_backward_hook',
           'register_module_full_backward_pre_hook']
_EXTRA_STATE_KEY_SUFFIX = '_extra_state'


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Has every module call the hook as one of its register_forward_hook(); returns a handle that removes it."""
    return register_everywhere('_forward_hooks', hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_forward_pre_hook(hook):
    """Has every module call the hook as one of its register_forward_pre_hook()."""
    return register_everywhere('_forward_pre_hooks', hook)


def register_module_full_backward_hook(hook):
    """Has every module call the hook as one of its register_full_backward_hook()."""
    return register_everywhere('_backward_hooks', hook)


def register_module_full_backward_pre_hook(hook):
    """Has every module call the hook as one of its register_full_backward_pre_hook()."""
    return register_everywhere('_backward_pre_hooks', hook)


def _addindent(s_, numSpaces):
    """The text with its lines behind the first indented."""
    first, *rest = s_.split('\n')
    return '\n'.join([first, *(numSpaces * ' ' + line for line in rest)])
