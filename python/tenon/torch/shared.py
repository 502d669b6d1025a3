"""Memory that processes share: Tensor.share_memory_(), and how such tensors reach a process that did not fork with it.

Forked processes see the memory as it is. For others a pickle of multiprocessing carries the descriptor of its anonymous file.
"""
import mmap
import os
import weakref
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from .. import _core, _methods
from .._core import Tensor, ops
from ..nn.parameter import Parameter

_live: Any = weakref.WeakSet()


class _Memory(mmap.mmap):
    """Memory of an anonymous file, which lives as long as a tensor shows it."""

    file = -1
    start = 0

    @classmethod
    def of(cls, file, size):
        """The memory of a file, which it will close."""
        made = cls(file, size)
        made.file = file
        made.start = _elements(made).data_ptr()
        weakref.finalize(made, os.close, file)
        _live.add(made)
        return made


def _elements(memory):
    return _core._from_buffer(memory, False)


def memory_of(x):
    """The shared memory in which the tensor x lies, or None."""
    address = x.data_ptr()
    return next((each for each in _live if address is not None and each.start <= address < each.start + len(each)), None)


def _shown(memory, dtype, shape, strides, offset):
    """The tensor that begins `offset` bytes into a memory."""
    return _core._read_as(_elements(memory), dtype, shape, strides, offset)


def share(x):
    """A copy of x in shared memory."""
    size = max(x.numel() * x.dtype.itemsize, 1)
    file = os.memfd_create('tenon-shared', os.MFD_CLOEXEC)
    os.ftruncate(file, size)
    strides = ops['contiguous'](x).strides
    made = _shown(_Memory.of(file, size), x.dtype, tuple(x.shape), tuple(strides), 0)
    made.copy_(x.detach())
    return made


def _rebuilt(kind, sent, size, dtype, shape, strides, offset, requires_grad):
    found = _shown(_Memory.of(sent.detach(), size), getattr(_core, dtype), shape, strides, offset)
    return kind(found, requires_grad) if kind is Parameter else found.requires_grad_(requires_grad)


def _reduced(x):
    """How multiprocessing sends a tensor: its memory where it is shared, otherwise its elements."""
    memory = memory_of(x) if x.device.type == 'cpu' and x.is_leaf and type(x) in (Tensor, Parameter) else None
    if memory is None:
        return _methods.__reduce__(x)
    return _rebuilt, (type(x), DupFd(memory.file), len(memory), x.dtype.name, tuple(x.shape), tuple(x.strides), x.data_ptr() - memory.start,
                      x.requires_grad)


for _kind in Tensor, Parameter:
    ForkingPickler.register(_kind, _reduced)
