"""The memory behind a tensor as an object: bytes, or elements of the tensor's dtype. It reaches to the last element that the tensor shows."""
import os
from typing import Any

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError
from .bits import shown
from .create import from_file, tensor, zeros
from .legacy import DTYPES

__all__ = ['TypedStorage', 'UntypedStorage']


class _Storage:
    """A flat tensor that shares the memory."""

    def __init__(self, elements):
        self._elements = elements

    dtype = property(lambda self: self._elements.dtype, doc='The dtype of the elements.')
    device = property(lambda self: self._elements.device, doc='Where the memory is.')
    is_cuda = property(lambda self: self._elements.is_cuda, doc='Whether the memory is of the plugin cuda.')
    filename = property(lambda self: None, doc='None: the memory is of no file.')

    def __dlpack__(self, **options):
        return self._elements.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._elements.__dlpack_device__()

    def data_ptr(self):
        """The address of the first byte; 0 without elements."""
        return int(self._elements.data_ptr() or 0) if self.size() else 0

    def size(self):
        """Number of elements."""
        return self._elements.numel()

    __len__ = size

    def nbytes(self):
        """Number of bytes."""
        return self.size() * self.element_size()

    def element_size(self):
        """Bytes of an element."""
        return self._elements.itemsize

    def tolist(self):
        """The elements as a list of numbers."""
        return self._elements.tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        return type(self)(self._elements[index]) if isinstance(index, slice) else self._elements[index].item()

    def __setitem__(self, index, value):
        self._elements[index] = value

    def fill_(self, value):
        """Writes a number into all elements."""
        self._elements.fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Writes the elements of another storage."""
        self._elements.copy_(source._elements)
        return self

    def clone(self):
        """A storage of its own with the same elements."""
        return type(self)(self._elements.clone())

    def cpu(self):
        """The storage itself on the host, or a copy there."""
        return self if self.device.type == 'cpu' else type(self)(self._elements.cpu())

    def is_shared(self):
        """Whether other processes can see the memory."""
        return self._elements.is_shared()

    def share_memory_(self):
        """Only of tensors."""
        raise InvalidArgumentError('[share_memory_] tensors keep their memory here: call share_memory_() of the tensor')

    def resize_(self, size):
        """Only to the same size."""
        if size != self.size():
            raise InvalidArgumentError(f'[resize_] a storage of size {self.size()} cannot become one of {size}: tensors keep their memory; see '
                                       'Tensor.resize_()')
        return self

    def __repr__(self):
        kind = f'dtype={self.dtype}, ' if isinstance(self, TypedStorage) else ''
        return ''.join(f' {each}\n' for each in self) + f'[torch.storage.{type(self).__name__}({kind}device={self.device}) of size {self.size()}]'


class UntypedStorage(_Storage):
    """The bytes: UntypedStorage(size) of new memory, Tensor.untyped_storage() of a tensor's."""

    def __init__(self, size: Any = 0, *, device=None):
        super().__init__(size if hasattr(size, 'dtype') else ops['full']((size,), 0, _core.uint8, _core.device(device or 'cpu')))

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The first nbytes of a file, or all of it, mapped into memory; with shared=True writes reach the file."""
        return cls(from_file(filename, shared, nbytes or os.path.getsize(filename), dtype=_core.uint8))

    def untyped(self):
        """The storage itself."""
        return self


class TypedStorage(_Storage):
    """TypedStorage(size, dtype=...) of new memory; Tensor.storage(), the elements of a tensor's."""

    def __init__(self, size: Any = 0, *, dtype=None, device=None):
        super().__init__(size if hasattr(size, 'dtype') else zeros((size,), dtype=dtype, device=device))

    def untyped(self):
        """The bytes of the same memory."""
        return UntypedStorage(_flat(self._elements, _core.uint8))


class _Kind(type):
    """A type without instances: whether a storage looks like one depends on its dtype."""

    dtype: _core.dtype

    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, data=0):
        if hasattr(data, '__index__'):
            return TypedStorage(ops['full']((data.__index__(),), 0, cls.dtype))
        return TypedStorage(tensor(data, dtype=cls.dtype).flatten())


KINDS = {f'{name}Storage': _Kind(f'{name}Storage', (), {'dtype': dtype, '__doc__': f'Storages of {dtype.name}: of this size, or with these elements.',
                                                        '__module__': 'tenon.torch'}) for name, dtype in DTYPES.items()}
globals().update(KINDS)


def _flat(x, dtype):
    """The memory of x from its first byte to the last that x shows, as a flat tensor."""
    count = x.storage_offset() + (0 if 0 in x.shape else 1 + sum((n - 1) * step for n, step in zip(x.shape, x.strides)))
    return shown(x, dtype, (count * x.itemsize // dtype.itemsize,), (1,), -x.storage_offset() * x.itemsize)


def elements(storage, dtype):
    """The memory of a storage as a vector of a dtype."""
    return _flat(storage._elements, dtype)


def typed(x) -> Any:
    """Tensor.storage()."""
    return TypedStorage(_flat(x, x.dtype))


def untyped(x) -> Any:
    """Tensor.untyped_storage()."""
    return UntypedStorage(_flat(x, _core.uint8))
