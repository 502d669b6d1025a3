"""torch.ao.nn.quantized: layers for inference, in dynamic."""
from . import dynamic

__all__ = ['dynamic']
