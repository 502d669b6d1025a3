"""torch.autograd.graph: steps of histories, and where tensors are kept that ops save for their gradients. Python cannot change anything
else of the tape."""
import contextlib
import functools
import threading

from ... import _core
from ..._core import ops
from ..._methods import HookHandle
from .._backward_names import Node, step_of
from .._common import absent
from .gradients import GradientEdge

__all__ = ['GradientEdge', 'Node', 'disable_saved_tensors_hooks', 'get_gradient_edge', 'queue_callback', 'register_multi_grad_hook', 'save_on_cpu',
           'saved_tensors_hooks']

_threads = threading.local()  # disabled: the text of the error


class saved_tensors_hooks:
    """In this scope pack_hook(tensor) returns what is kept in place of each tensor that ops of this thread save for their gradients,
    and unpack_hook() restores the tensor when the gradient is computed.

    Both run without recording. In nested scopes the innermost applies. A tensor that pack_hook writes to is the program's own.
    Gradients of gradients work through what ops saved, but raise an error through what save_for_backward() of a Function packed.

    >>> import tenon.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda x: x.numpy(), torch.from_numpy):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        disabled = getattr(_threads, 'disabled', None)
        if disabled is not None:
            raise RuntimeError(disabled)
        _core._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_):
        _core._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """In this scope ops keep what they save for their gradients in host memory; it returns to its device when the gradient is computed.

    pin_memory and device_type are accepted without effect.
    """

    def __init__(self, pin_memory=False, device_type='cuda'):
        super().__init__(self._pack, self._unpack)

    @staticmethod
    def _pack(x):
        host = _core.device('cpu')
        return x.device, ops['clone'](x) if x.device == host else ops['to'](x, host)

    @staticmethod
    def _unpack(packed):
        device, x = packed
        return x if x.device == device else ops['to'](x, device)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """In this scope saved_tensors_hooks() raises a RuntimeError with this message; so does this function if hooks are already set."""
    if _core._saved_hooks() is not None:
        raise RuntimeError(error_message)
    before = getattr(_threads, 'disabled', None)
    _threads.disabled = error_message
    try:
        yield
    finally:
        _threads.disabled = before


class _Handles(HookHandle):
    """Removes several hooks."""

    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        for handle in self._handles:
            handle.remove()


class _Gradients:
    """What one backward pass after the other finds for several tensors."""

    def __init__(self, count, function):
        self.count, self.function = count, function
        self.found = {}

    def add(self, place, gradient):
        if not self.found:  # tensors that this backward pass does not reach must not hold the call back
            _core._after_backward(self.tell)
        self.found[place] = gradient
        if len(self.found) == self.count:
            self.tell()

    def tell(self):
        found, self.found = self.found, {}
        if found:
            self.function([found.get(place) for place in range(self.count)])


def register_multi_grad_hook(tensors, fn, *, mode='all'):
    """Calls fn with the gradients of several tensors once per backward pass, when all have theirs, None for what it does not reach;
    with mode 'any' with the first of them alone.
    """
    tensors = tuple(tensors)
    if mode not in ('all', 'any'):
        raise ValueError(f"[register_multi_grad_hook] mode is {mode!r}, must be 'all' or 'any'")
    if mode == 'all':
        gradients = _Gradients(len(tensors), fn)
        return _Handles([x.register_hook(functools.partial(gradients.add, place)) for place, x in enumerate(tensors)])
    seen = []

    def first(gradient):
        if not seen:
            seen.append(True)
            _core._after_backward(seen.clear)
            fn(gradient)
    return _Handles([x.register_hook(first) for x in tensors])


def queue_callback(callback):
    """Calls it when the backward pass that runs has ended; hooks of gradients ask for this."""
    if not _core._after_backward(callback):
        raise RuntimeError('[queue_callback] no backward pass runs: call it in a hook')


def get_gradient_edge(tensor):
    """Where the gradient of a tensor goes; autograd.grad() takes it in place of the tensor, which may be gone by then."""
    if not tensor.requires_grad:
        raise RuntimeError('[get_gradient_edge] the tensor requires no gradient')
    return GradientEdge(step_of(tensor), tensor._step()[1], tensor._places()[0])


_INSTEAD = {
    'allow_mutation_on_saved_tensors': 'clone() a tensor before it is changed',
    'node_creation_hook': 'register_hook() of a tensor',
    'increment_version': 'write to the tensor',
    'region_activation_memory_budget': 'save less with torch.utils.checkpoint',
    'set_warn_on_accumulate_grad_stream_mismatch': 'a device has one stream',
    'set_override_stale_capture_stream': 'a device has one stream',
}

__getattr__ = absent(__name__, _INSTEAD)
