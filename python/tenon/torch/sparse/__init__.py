"""torch.sparse: tensors by coordinates (COO) and compressed rows or columns (CSR, CSC), over dense ones, with gradients as for any
function."""
from ... import _core
from .._common import absent
from . import grads, reductions
from .compressed import CompressedTensor, sparse_compressed_tensor, sparse_csc_tensor, sparse_csr_tensor
from .coo import CooTensor, sparse_coo_tensor, to_sparse
from .products import addmm, mm, sampled_addmm
from .reductions import log_softmax, softmax, sum
from .spdiags import spdiags
from .tensor import SparseTensor, is_sparse

__all__ = ['CompressedTensor', 'CooTensor', 'DoubleTensor', 'FloatTensor', 'IntTensor', 'LongTensor', 'SparseTensor', 'addmm', 'check_sparse_tensor_invariants', 'is_sparse', 'log_softmax', 'mm',
           'reductions', 'sampled_addmm', 'softmax', 'sparse_compressed_tensor', 'sparse_coo_tensor', 'sparse_csc_tensor', 'sparse_csr_tensor',
           'spdiags', 'sum', 'to_sparse']


def _of_dtype(name, dtype):
    def make(indices, values, size=None):
        return sparse_coo_tensor(indices, values, size, dtype=dtype)
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f'A sparse tensor of {dtype.name} by coordinates, in the old way of PyTorch: see torch.sparse_coo_tensor.'
    return make


FloatTensor, DoubleTensor = _of_dtype('FloatTensor', _core.float32), _of_dtype('DoubleTensor', _core.float64)
LongTensor, IntTensor = _of_dtype('LongTensor', _core.int64), _of_dtype('IntTensor', _core.int32)


class check_sparse_tensor_invariants:
    """Has no effect: indices are always checked."""

    def __init__(self, enable=True):
        self.enabled = enable

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    @staticmethod
    def is_enabled():
        return True

    @staticmethod
    def enable():
        """Does nothing."""

    @staticmethod
    def disable():
        """Has no effect."""


_BLOCKS = 'blocks are not offered: torch.sparse_csr is'
__getattr__ = absent(__name__, {'semi_structured': _BLOCKS, 'SparseSemiStructuredTensor': _BLOCKS, 'to_sparse_semi_structured': _BLOCKS,
                                'SparseSemiStructuredTensorCUSPARSELT': _BLOCKS, 'SparseSemiStructuredTensorCUTLASS': _BLOCKS,
                                'as_sparse_gradcheck': 'gradients of values are those of torch.autograd.gradcheck'})
