"""torch.utils.dlpack: tensors to and from other libraries without a copy."""
from ... import _creation
from ..extra import to_dlpack as to_dlpack

__all__ = ['from_dlpack', 'to_dlpack']


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of anything with ``__dlpack__``, or of a capsule, which can be used once."""
    return _creation.from_dlpack(ext_tensor, device=device, copy=copy)
