"""Whether ops are recorded."""
from ...autograd import enable_grad, no_grad
from .._common import absent
from ..modes import inference_mode, set_grad_enabled

__all__ = ['enable_grad', 'inference_mode', 'no_grad', 'set_grad_enabled', 'set_multithreading_enabled']


__getattr__ = absent(__name__, {'enforce_grad_layout_policy': 'gradients have the strides that their ops give them'})


class set_multithreading_enabled:
    """Accepted without effect: a backward pass runs on the thread that asks for it."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass
