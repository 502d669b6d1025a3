"""torch.utils.dlpack: tensors to and from other libraries without a copy."""
from ... import _creation
from ..extra import to_dlpack as to_dlpack

__all__ = ['from_dlpack', 'to_dlpack']


class _Held:
    """Wraps a capsule for functions that expect the protocol."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **settings):
        return self._capsule


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of anything with ``__dlpack__``, or of a capsule, which can be used once."""
    held = _Held(ext_tensor) if type(ext_tensor).__name__ == 'PyCapsule' else ext_tensor
    return _creation.from_dlpack(held, device=device, copy=copy)
