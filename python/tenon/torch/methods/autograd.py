"""Methods of gradients and history."""
from typing import Any

from ..._errors import InvalidArgumentError


class Autograd:
    """Methods by name."""

    def detach_(self: Any):
        """Of a leaf: asks for no gradients any longer. The history of another tensor cannot be taken from it."""
        if not self.is_leaf:
            raise InvalidArgumentError('[detach_] a result keeps its history: write x = x.detach()')
        return self.requires_grad_(False)

    def retain_grad(self: Any):
        """Nothing to do for a leaf; the result of an op keeps no gradient."""
        if not self.requires_grad:
            raise InvalidArgumentError('[retain_grad] the tensor does not require a gradient')
        if not self.is_leaf:
            raise InvalidArgumentError('[retain_grad] only leaves keep their gradients: take this one with x.register_hook(kept.append), or '
                               'with torch.autograd.grad(loss, x)')

    def reinforce(self: Any, reward):
        """Removed from PyTorch."""
        raise InvalidArgumentError('[reinforce] was removed from PyTorch: multiply the log-probability by the reward and call backward()')

    def record_stream(self: Any, stream):
        """Nothing to do: the library orders work and memory itself."""

    retains_grad = property(lambda self: False, doc='False: only leaves keep their gradients.')
