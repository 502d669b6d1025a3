"""torch.signal: windows."""
from . import windows

__all__ = ['windows']
__path__ = []  # `import torch.signal.windows`: _places.py
