"""The old name of a Tensor."""
from ..._core import Tensor

__all__ = ['Variable']


class _Tensors(type):
    def __instancecheck__(cls, value):
        return isinstance(value, Tensor)


class _Engine:
    """What runs backward passes."""

    @staticmethod
    def queue_callback(callback):
        """torch.autograd.graph.queue_callback()."""
        from .graph import queue_callback as queue
        queue(callback)


class Variable(metaclass=_Tensors):
    """Variable(x, requires_grad) is x as a tensor without history; every Tensor is a Variable."""

    _execution_engine = _Engine()

    def __new__(cls, data, requires_grad=False) -> Tensor:
        if not isinstance(data, Tensor):
            raise TypeError(f'[Variable] data must be a Tensor, not {type(data).__name__}')
        return data.detach().requires_grad_(requires_grad)
