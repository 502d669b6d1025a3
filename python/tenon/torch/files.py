"""save and load: tensors by name, in safetensors files."""
from .. import io
from .._core import Tensor


def save(obj, f):
    """Writes a flat dict of tensors, such as net.state_dict(), to a path."""
    if not hasattr(obj, 'items') or not all(isinstance(x, Tensor) for x in obj.values()):
        raise TypeError('[torch.save] writes a dict of tensors by name: save a whole object as its state_dict(), and numbers as tensors')
    io.save(f, {name: x.detach() for name, x in obj.items()})


def load(f, map_location=None, *, weights_only=True, mmap=None):
    """The tensors by name that save() wrote. Loading runs nothing of the file."""
    return io.load(f, device=map_location)
