"""torch.utils.module_tracker: which modules run at the moment, in forward and in backward."""
import weakref

from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..autograd.graph import queue_callback, register_multi_grad_hook
from ..func.trees import tensors_of

__all__ = ['ModuleTracker']


class ModuleTracker:
    """In its scope, parents is the set of the names of the modules whose forward, or backward, runs: 'Global' and such as 'Net.layers.0'.

    The backward of a module begins with the gradients of its results and ends with those of its arguments, or with the whole pass.
    """

    def __init__(self):
        self.parents = {'Global'}
        self._names = weakref.WeakKeyDictionary()
        self._handles = []
        self._at_end = False  # whether the end of the backward pass is awaited

    def _name_of(self, module):
        name = self._names.setdefault(module, type(module).__name__)
        for child, part in module.named_children():
            self._names.setdefault(part, f'{name}.{child}')
        return name

    def _enter(self, name):
        self.parents = self.parents | {name}

    def _leave(self, name):
        self.parents = self.parents - {name}

    def _enter_backward(self, name):
        if not self._at_end:
            self._at_end = True
            queue_callback(self._end_backward)
        self._enter(name)

    def _end_backward(self):
        self._at_end, self.parents = False, {'Global'}

    def _before(self, module, arguments):
        name = self._name_of(module)
        self._enter(name)
        self._when_known(arguments, lambda _: self._leave(name))

    def _after(self, module, arguments, results):
        name = self._name_of(module)
        self._leave(name)
        self._when_known(results, lambda _: self._enter_backward(name), 'any')

    def _when_known(self, values, call, mode='all'):
        """Calls it when backward knows the gradients of tensors in a structure."""
        tensors = [x for x in tensors_of(values) if x.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, call, mode=mode))

    def __enter__(self):
        self._handles += [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *_):
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
