"""torch.utils.dlpack: tensors to and from other libraries without a copy."""
from ... import from_dlpack as from_dlpack
from ..extra import to_dlpack as to_dlpack

__all__ = ['from_dlpack', 'to_dlpack']
