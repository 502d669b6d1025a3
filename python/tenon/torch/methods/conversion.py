"""Methods that convert to another dtype, device or kind of object."""
from typing import Any

from ... import _core
from ..._core import Tensor
from ..._creation import _place
from .._common import check
from ..create import preserve_format, tensor
from ..legacy import NAMES, dtype_and_device, make
from ..shape import view
from .facts import laid_out

class Conversion:
    """Methods by name."""

    def type(self: Any, dtype=None, non_blocking=False):
        """The name of the tensor's type, 'torch.FloatTensor'; or the tensor in another dtype, given directly or by the name of a
        type."""
        if dtype is None:
            where = '' if self.device.type == 'cpu' else self.device.type + '.'
            return f'torch.{where}{NAMES.get(self.dtype, self.dtype.name)}'
        return _place(self, *dtype_and_device(dtype))

    def type_as(self: Any, other):
        """This tensor with the dtype and device of another."""
        return _place(self, check(other).dtype, other.device)

    def cuda(self: Any, device=None, non_blocking=False, memory_format=preserve_format):
        """This tensor on a device of the plugin cuda, by default the first."""
        from ..cuda import _device
        return laid_out(_place(self, None, _device(device)), memory_format)

    def view(self: Any, *shape, dtype=None, size=None):
        """The same elements in another shape, or read as a dtype of the same size; never a copy."""
        return view(self, *(shape or (dtype if size is None else size,)))

    def as_subclass(self: Any, cls):
        """The same elements and history as an object of a subclass."""
        return Tensor.__new__(cls, self)

    def to_dense(self: Any, dtype=None, *, masked_grad=True):
        """Returns itself: tensors are dense."""
        return _place(self, dtype, None)

    def to_sparse(self: Any, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """The nonzero elements by coordinates, or in another layout."""
        from ..sparse import to_sparse
        return to_sparse(self, sparse_dim, layout=layout)

    def to_sparse_coo(self: Any):
        """The nonzero elements by coordinates."""
        from ..sparse import to_sparse
        return to_sparse(self)

    def to_sparse_csr(self: Any, dense_dim=None):
        """The nonzero elements of a matrix by rows."""
        from ..sparse import to_sparse
        return to_sparse(self, layout='torch.sparse_csr')

    def to_sparse_csc(self: Any, dense_dim=None):
        """The nonzero elements of a matrix by columns."""
        from ..sparse import to_sparse
        return to_sparse(self, layout='torch.sparse_csc')

    def sparse_mask(self: Any, mask):
        """The elements at the places that a sparse tensor stores."""
        from ..sparse.coo import masked
        return masked(self, mask)

    def dequantize(self: Any):
        """This tensor as float32."""
        return _place(self, _core.float32, None)

    def pin_memory(self: Any, device=None):
        """Returns itself: copies to devices need no pinned memory."""
        return self

    def new_tensor(self: Any, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        """A new tensor of data, by default with the dtype and device of this one; always a copy."""
        return tensor(data, dtype=dtype or self.dtype, device=self.device if device is None else device, requires_grad=requires_grad)

    def new(self: Any, *data, device=None):
        """new(2, 3) returns undefined elements in a shape, new(data) a copy of a list or tensor."""
        return make(self.dtype, data, self.device if device is None else device)
