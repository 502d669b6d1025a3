"""Methods that give another dtype, device or kind of object."""
from ... import _core
from ..._core import Tensor
from ..._creation import _place
from .._common import check, shape_of
from ..create import new_empty, preserve_format, tensor
from ..shape import view
from .facts import laid_out

# PyTorch's names of types: torch.FloatTensor is float32 on the host.
TYPE_NAMES = {'Float': _core.float32, 'Double': _core.float64, 'Half': _core.float16, 'BFloat16': _core.bfloat16, 'Long': _core.int64,
              'Int': _core.int32, 'Short': _core.int16, 'Char': _core.int8, 'Byte': _core.uint8, 'Bool': _core.bool,
              'ComplexFloat': _core.complex64, 'ComplexDouble': _core.complex128}
_NAMES_OF_TYPES = {dtype: name for name, dtype in TYPE_NAMES.items()}


class Conversion:
    """Methods by name."""

    def type(self, dtype=None, non_blocking=False):
        """The name of its type, 'torch.FloatTensor'; or the tensor as a dtype, given as such or by the name of a type."""
        if dtype is None:
            where = '' if self.device.type == 'cpu' else self.device.type + '.'
            return f'torch.{where}{_NAMES_OF_TYPES.get(self.dtype, self.dtype.name)}Tensor'
        return dtype(self) if callable(dtype) and hasattr(dtype, 'dtype') else _place(self, *_dtype_and_device(dtype))

    def type_as(self, other):
        """With the dtype and the device of another."""
        return _place(self, check(other).dtype, other.device)

    def cuda(self, device=None, non_blocking=False, memory_format=preserve_format):
        """On a device of the plugin cuda, the first unless told."""
        from ..cuda import _device
        return laid_out(_place(self, None, _device(device)), memory_format)

    def view(self, *shape, dtype=None, size=None):
        """The same elements in another shape, or read as a dtype of the same size; never a copy."""
        return view(self, *(shape or (dtype if size is None else size,)))

    def as_subclass(self, cls):
        """The same elements and history as an object of a subclass."""
        return cls.__new__(cls, self)

    def to_dense(self, dtype=None, *, masked_grad=True):
        """Itself: tensors are dense."""
        return _place(self, dtype, None)

    def dequantize(self):
        """As float32."""
        return _place(self, _core.float32, None)

    def pin_memory(self, device=None):
        """Itself: copies to devices need no pinned memory."""
        return self

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        """A new tensor of data with the dtype and device of this one unless told; always a copy."""
        return tensor(data, dtype=dtype or self.dtype, device=self.device if device is None else device, requires_grad=requires_grad)

    def new(self, *data, device=None):
        """new(2, 3) is undefined elements in a shape, new(data) a copy of a list or tensor."""
        if len(data) == 1 and not hasattr(data[0], '__index__') or len(data) == 1 and isinstance(data[0], Tensor):
            return Conversion.new_tensor(self, data[0], device=device)
        return new_empty(self, *(shape_of(data) if data else (0,)), device=device)


def _dtype_and_device(name):
    """Of a dtype, or of the name of a type: 'torch.cuda.FloatTensor'."""
    if not isinstance(name, str) or not name.endswith('Tensor'):
        return name, None
    *where, kind = name.removeprefix('torch.').split('.')
    dtype = TYPE_NAMES.get(kind.removesuffix('Tensor'))
    if dtype is None:
        raise ValueError(f'[type] {name!r} is no type of tensors: the kinds are {", ".join(TYPE_NAMES)}')
    return dtype, where[0] if where else 'cpu'
