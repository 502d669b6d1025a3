"""PyTorch's old types of tensors: FloatTensor(2, 3), LongTensor([1, 2]), isinstance(x, torch.FloatTensor)."""
from .. import _core
from .._core import Tensor, ops
from .._creation import _place
from .._errors import InvalidArgumentError
from ._common import defaults, shape_of
from .create import empty, tensor
from .modes import Size

# torch.FloatTensor is float32 on the host.
DTYPES = {'Float': _core.float32, 'Double': _core.float64, 'Half': _core.float16, 'BFloat16': _core.bfloat16, 'Long': _core.int64,
          'Int': _core.int32, 'Short': _core.int16, 'Char': _core.int8, 'Byte': _core.uint8, 'Bool': _core.bool,
          'ComplexFloat': _core.complex64, 'ComplexDouble': _core.complex128}
NAMES = {dtype: f'{kind}Tensor' for kind, dtype in DTYPES.items()}


def make(dtype, data, device=None):
    """Undefined elements in a shape given by numbers, or the elements of a list, an array or a tensor."""
    if len(data) == 1 and isinstance(data[0], Tensor):
        return ops['alias'](_place(data[0], dtype, device))
    if len(data) == 1 and type(data[0]) is Size:
        return empty(*data[0], dtype=dtype, device=device)
    # Arrays of one element have __index__ too.
    if len(data) == 1 and (hasattr(data[0], '__len__') or not hasattr(data[0], '__index__')):
        return tensor(data[0], dtype=dtype, device=device)
    return empty(*(shape_of(data) if data else (0,)), dtype=dtype, device=device)


def make_default(*data, device=None):
    """Tensor(2, 3), Tensor([1, 2]) of the default dtype. Called by the extension."""
    return make(defaults.dtype, data, device)


class _Kind(type):
    """A type without instances: whether a tensor looks like one depends on its dtype and on where it is."""

    dtype: _core.dtype
    place: str

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.place

    def __call__(cls, *data, device=None):
        return make(cls.dtype, data, (None if cls.place == 'cpu' else cls.place) if device is None else device)


def kind(name, place):
    """The type of a name such as FloatTensor for tensors on a kind of device; None for other names."""
    dtype = DTYPES.get(name.removesuffix('Tensor')) if name.endswith('Tensor') else None
    if dtype is None:
        return None
    module = 'tenon.torch' if place == 'cpu' else f'tenon.torch.{place}'
    return _Kind(name, (), {'dtype': dtype, 'place': place, '__doc__': f'Tensors of {dtype.name} on {place}.', '__module__': module})


def __getattr__(name):
    made = kind(name, 'cpu')
    if made is None:
        raise AttributeError(f"module 'tenon.torch.legacy' has no attribute {name!r}")
    globals()[name] = made
    return made


def dtype_and_device(name):
    """(dtype, device) of a dtype, of an old type, or of its name: 'torch.cuda.FloatTensor'."""
    if isinstance(name, _Kind):
        return name.dtype, name.place
    if name is Tensor:
        return defaults.dtype, 'cpu'
    if not isinstance(name, str) or not name.endswith('Tensor'):
        return name, None
    *where, kind = name.removeprefix('torch.').split('.')
    dtype = DTYPES.get(kind.removesuffix('Tensor'))
    if dtype is None:
        raise InvalidArgumentError(f'[type] {name!r} is not a type of tensors: the types are {", ".join(DTYPES)}')
    return dtype, where[0] if where else 'cpu'
