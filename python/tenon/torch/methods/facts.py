"""Methods and properties that describe a tensor."""
from typing import Any

from ... import _core
from ..._core import ops
from ..._errors import PreconditionError
from ...autograd import GRAD, INFERENCE
from .._common import check, dim_of
from ..create import contiguous_format, order_of, preserve_format, strided

_contiguous, _permute = ops['contiguous'], ops['permute']


def arranged(x, memory_format):
    """x with its dimensions in this order in memory, the slowest first."""
    order = order_of(memory_format, x.ndim)
    return x if order is None else _permute(x, order)


def laid_out(x, memory_format):
    """x in a memory format; x itself if it already has it."""
    if memory_format == preserve_format:
        return x
    asked = arranged(x, memory_format)
    rows = asked.contiguous()
    if rows is asked:
        return x
    return rows if memory_format == contiguous_format else _permute(rows, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def never(doc):
    """A property that is always False here."""
    return property(lambda self: False, doc=doc)


def not_so(name, doc):
    """A method that always returns False here."""
    def method(self: Any):
        return False
    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    return method


def _no_gradient(*gradients):
    return (None,)


class Facts:
    """Methods by name."""

    def stride(self: Any, dim=None):
        """The strides in elements, or that of one dimension."""
        return self.strides if dim is None else self.strides[dim_of(dim, self.ndim)]

    def dim_order(self: Any, *, ambiguity_check=False):
        """Dimensions from the slowest to the fastest in memory. ambiguity_check: an error if other orders are as good; a list of memory
        formats allows those that the tensor has exactly one of.
        """
        if not isinstance(ambiguity_check, (bool, list)):
            raise TypeError('[dim_order] ambiguity_check must be a bool or a list of memory formats')
        if ambiguity_check and (1 in self.shape or any(one == other for one, other in zip(self.strides, self.strides[1:]))):
            formats = ambiguity_check if isinstance(ambiguity_check, list) else []
            if sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
                raise RuntimeError('[dim_order] the tensor has no unique order of dimensions, and not exactly one of the memory formats')
        return tuple(sorted(range(self.ndim), key=lambda d: -self.strides[d]))

    def element_size(self: Any):
        """The size of an element in bytes."""
        return self.itemsize

    def nelement(self: Any):
        """Number of elements."""
        return self.numel()

    def ndimension(self: Any):
        """Number of dimensions."""
        return self.ndim

    def get_device(self: Any):
        """The index of the device, -1 for the host."""
        return -1 if self.device.type in ('cpu', 'meta') else self.device.index

    def const_data_ptr(self: Any):
        """data_ptr()."""
        return self.data_ptr

    def is_signed(self: Any):
        """Whether the dtype has negative numbers."""
        return self.dtype.is_signed

    def is_floating_point(self: Any):
        """Whether the dtype is a floating one."""
        return self.dtype.is_floating_point

    def is_complex(self: Any):
        """Whether the dtype is a complex one."""
        return self.dtype.is_complex

    def is_same_size(self: Any, other):
        """Whether both have the same shape."""
        return self.shape == check(other).shape

    def is_set_to(self: Any, tensor):
        """Whether both show the same elements in memory."""
        return self._same_elements(tensor)

    layout = property(lambda self: strided, doc='torch.strided.')
    is_cpu = property(lambda self: self.device.type == 'cpu', doc='Whether it lies on the host.')
    is_cuda = property(lambda self: self.device.type == 'cuda', doc='Whether it lies on a device of the plugin cuda.')
    is_meta = property(lambda self: self.device.type == 'meta', doc='Whether it has a shape and no elements.')
    is_vulkan = property(lambda self: self.device.type == 'vulkan', doc='Whether it lies on a device of the plugin vulkan.')
    name = property(lambda self: None, doc='None: tensors have no names.')
    output_nr = property(lambda self: 0, doc='0: history is no object of its own.')
    is_ipu, is_maia, is_mkldnn, is_mps, is_mtia, is_xla, is_xpu = (never('False: there are no such devices.') for _ in range(7))
    is_nested, is_quantized, is_sparse, is_sparse_csr = (never('False: tensors are dense.') for _ in range(4))
    is_coalesced = not_so('is_coalesced', 'False: tensors are dense.')
    is_conj, is_neg = (not_so(name, 'False: conjugates and signs are computed at once.') for name in ('is_conj', 'is_neg'))
    is_distributed = not_so('is_distributed', 'False: tensors belong to one process.')

    def is_inference(self: Any):
        """Whether it was made in inference mode, as far as it is no view: such a tensor can never join a graph."""
        if self.requires_grad or _core._inside_vmap() or _core._trace_active():
            return False
        before = _core._set_modes(GRAD, INFERENCE)
        try:
            # Only the core knows: it refuses to record a result that is such a tensor.
            _core._record('is_inference', _no_gradient, [ops['full']((), 0.0, _core.float32).requires_grad_()], [self.detach()])
        except PreconditionError:
            return True
        finally:
            _core._restore_modes(before)
        return False

    def is_shared(self: Any):
        """Whether other processes can see the memory: after share_memory_(), and on devices."""
        if self.device.type != 'cpu':
            return self.device.type == 'cuda'
        from ..shared import memory_of
        return memory_of(self) is not None

    def storage(self: Any):
        """The memory from its beginning to the last element that this tensor shows, as elements."""
        from ..storage import typed
        return typed(self)

    def untyped_storage(self: Any):
        """The memory from its beginning to the last element that this tensor shows, as bytes."""
        from ..storage import untyped
        return untyped(self)

    def is_pinned(self: Any, device=None):
        """False: copies to devices need no pinned memory."""
        return False
