"""PyTorch's old types of tensors on a device: torch.cuda.FloatTensor(2, 3)."""
from ..legacy import DTYPES, kind

__all__ = [f'{name}Tensor' for name in DTYPES if not name.startswith('Complex')]
globals().update({name: kind(name, 'cuda') for name in __all__})
