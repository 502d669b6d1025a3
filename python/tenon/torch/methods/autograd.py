"""Methods for gradients and history."""
import functools
import weakref
from typing import Any

from ... import _core
from ..._errors import InvalidArgumentError
from ..._retained import RETAINING
from ...autograd import enable_grad, is_grad_enabled, no_grad

class Autograd:
    """Methods by name."""

    def retain_grad(self: Any):
        """Makes an op's result keep its gradient in x.grad; leaves do so anyway."""
        if not self.requires_grad:
            raise InvalidArgumentError('[retain_grad] the tensor does not require a gradient')
        if self.is_leaf or id(self) in RETAINING:
            return
        key = id(self)
        kept_by = weakref.ref(self, lambda _: RETAINING.pop(key, None))

        def keep(gradient):
            x = kept_by()  # a strong reference in the hook would keep the tensor alive
            if x is not None:
                x.grad = gradient.clone() if x.grad is None else x.grad + gradient
        RETAINING[key] = [kept_by, self._add_hook(keep), keep, self._version]

    def register_post_accumulate_grad_hook(self: Any, hook):
        """Calls hook(leaf) at the end of each backward() that reached the leaf, once x.grad has the gradient."""
        if not self.requires_grad or not self.is_leaf:
            raise InvalidArgumentError('[register_post_accumulate_grad_hook] only of leaves that require a gradient: use register_hook')
        leaf = weakref.ref(self)

        def call(recording):
            x = leaf()
            if x is not None:
                with enable_grad() if recording else no_grad():  # as in hooks of gradients
                    hook(x)

        def put_off(_):
            _core._after_backward(functools.partial(call, is_grad_enabled()))
        return self.register_hook(put_off)

    def reinforce(self: Any, reward):
        """Removed from PyTorch."""
        raise InvalidArgumentError('[reinforce] was removed from PyTorch: multiply the log-probability by the reward and call backward()')

    def record_stream(self: Any, stream):
        """Does nothing: the library itself orders work and memory."""

    retains_grad = property(lambda self: id(self) in RETAINING, doc='Whether retain_grad() was called for the result of an op.')
