"""torch.utils.swap_tensors."""
from ..._core import Tensor


def swap_tensors(t1, t2):
    """Swaps two tensors: each object is what the other was, with its type, attributes, gradient and history."""
    for x in (t1, t2):
        if not isinstance(x, Tensor):
            raise TypeError(f'[swap_tensors] needs two Tensors, not {type(x).__name__}')
    if t1 is t2:
        return
    if type(t1) is not type(t2):
        t1.__class__, t2.__class__ = type(t2), type(t1)
    first, second = dict(t1.__dict__), dict(t2.__dict__)
    for x, own in ((t1, second), (t2, first)):
        x.__dict__.clear()
        x.__dict__.update(own)
    t1._become(t2)
