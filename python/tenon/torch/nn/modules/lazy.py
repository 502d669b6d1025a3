"""Modules that learn the size of their input from the first one they get."""
import itertools
from typing import Any

import tenon

from ....nn.module import Module
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = ['LazyModuleMixin']


class LazyModuleMixin(Module):
    """For modules with UninitializedParameter or UninitializedBuffer: subclass it along with the module, and define
    initialize_parameters(self, *input), which calls materialize() on each.

    The first call runs it, and then the module gets the class `cls_to_become`, if that is set.
    """

    cls_to_become: Any = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._initialize_hook = self.register_forward_pre_hook(_infer, with_kwargs=True)

    def initialize_parameters(self, *args, **kwargs):
        """Materialises the parameters for an input; every subclass writes its own."""
        raise NotImplementedError(f'[{type(self).__name__}] define initialize_parameters(self, *input) in the class')

    def has_uninitialized_params(self):
        """Whether a parameter or buffer of this module still waits for its shape."""
        return any(is_lazy(x) for x in itertools.chain(self.parameters(recurse=False), self.buffers(recurse=False)))

    def _materialize(self, shapes):
        """Gives each of these tensors that waits for a shape that shape, and initial values unless a state provided both."""
        waits = self.has_uninitialized_params()
        for name, shape in shapes.items():
            if is_lazy(getattr(self, name)):
                getattr(self, name).materialize(shape)
        if waits:
            self.reset_parameters()

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination.update((prefix + name, x) for name, x, _ in self._own() if is_lazy(x))

    def _become(self):
        self._initialize_hook.remove()
        delattr(self, '_initialize_hook')
        self._note_hooks()
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become

    def _take(self, name, x, key, value, local_metadata, error_msgs):
        """A state with shapes materialises what waits for them; a state without leaves it waiting."""
        if is_lazy(value) and is_lazy(x):
            return
        if is_lazy(x):
            x = x._made(tenon.empty(value.shape, dtype=x.dtype, device=x.device))
            self._set(name, x)
        super()._take(name, x, key, value, local_metadata, error_msgs)


def _infer(module, args, kwargs):
    """The hook that runs before the first forward."""
    waiting = [(name, x) for name, x, _ in module._own() if is_lazy(x)]
    for name, x in waiting:
        x._owner = module, name
    try:
        module.initialize_parameters(*args, **kwargs)
    finally:
        for _, x in waiting:
            x.__dict__.pop('_owner', None)
    if module.has_uninitialized_params():
        raise RuntimeError(f'[{type(module).__name__}] initialize_parameters() left parameters without a shape')
    module._become()


def waiting(there, device=None, dtype=None):
    """An UninitializedParameter, or None."""
    return UninitializedParameter(device=device, dtype=dtype) if there else None


def waiting_buffer(device=None, dtype=None):
    """An UninitializedBuffer."""
    return UninitializedBuffer(device=device, dtype=dtype)
