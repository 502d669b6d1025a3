"""PyTorch's old types of tensors on a device: torch.cuda.FloatTensor(2, 3)."""
from ..legacy import kind

__all__ = ['BFloat16Tensor', 'BoolTensor', 'ByteTensor', 'CharTensor', 'DoubleTensor', 'FloatTensor', 'HalfTensor', 'IntTensor', 'LongTensor',
           'ShortTensor']
(BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor,
 ShortTensor) = (kind(name, 'cuda') for name in __all__)
