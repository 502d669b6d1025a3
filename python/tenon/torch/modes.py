"""Dtypes, devices, shapes and modes in PyTorch's spelling."""
import math
from typing import Any

import tenon

from .. import _core
from .._core import Tensor, dtype
from .._errors import DtypeError, NotFoundError
from ._common import check, defaults, rank


class _AnyTuple(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, tuple)


class Size(tuple, metaclass=_AnyTuple):
    """A shape. Those of tensors are plain tuples until a program imports tenon.torch; these count as Size too."""

    def numel(self):
        """The product of all sizes."""
        return math.prod(self)

    def __getitem__(self, index):
        found = tuple.__getitem__(self, index)
        return type(self)(found) if isinstance(index, slice) else found

    def __add__(self, other):
        if not isinstance(other, tuple):
            raise TypeError(f'can only concatenate tuple (not {type(other).__name__}) to torch.Size')
        return Size((*self, *other))

    def __radd__(self, other):
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times):
        return type(self)(tuple(self) * times)

    __rmul__ = __mul__

    def __repr__(self):
        return f'torch.Size({list(self)})'


# The kinds of devices that PyTorch knows.
_KINDS = frozenset('cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone'.split())


class _AnyDevice(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, (_core.Device, _Elsewhere))

    def __eq__(cls, other):  # `type(x) == torch.device`, and as a key
        return other is cls or other in (_core.Device, _Elsewhere)

    def __hash__(cls):
        return hash(_core.Device)


class device(metaclass=_AnyDevice):
    """A device by name, 'cpu' or 'cuda:1', or by type and index. A missing device is a value too; its first use raises an error."""

    def __new__(cls, type, index=None) -> Any:
        if isinstance(type, cls):
            return type
        if isinstance(type, int):
            type, index = 'cuda', type
        name = type if index is None else f'{type}:{index}'
        try:
            return _core.device(name)
        except NotFoundError:
            if name.partition(':')[0] not in _KINDS:
                raise
            return _Elsewhere(name)


class _Elsewhere(str):
    """The name of a missing device: functions that get it find the device, or say what is missing."""

    type: Any = property(lambda self: str(self).partition(':')[0], doc='The kind of device.')
    index: Any = property(lambda self: int(str(self).partition(':')[2]) if ':' in self else None, doc='Which of its kind; None: not told.')

    def __repr__(self):
        return f"device(type='{self.type}'" + ('' if self.index is None else f', index={self.index}') + ')'

    def __str__(self):
        return str.__str__(self)

    def __reduce__(self):
        return device, (str(self),)


def get_default_dtype():
    """The dtype of floats in new tensors: float32 unless set_default_dtype() changed it."""
    return defaults.dtype


def set_default_dtype(d):
    """Sets the dtype of floats in new tensors; what tenon's ops make of integers, and modules without dtype=, stay float32."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise DtypeError(f'[set_default_dtype] {d} is not a floating dtype')
    defaults.dtype, defaults.complex = d, _core.complex128 if d is _core.float64 else _core.complex64


def set_default_tensor_type(t):
    """set_default_dtype() and set_default_device() by a type of tensors or its name: torch.DoubleTensor, 'torch.cuda.FloatTensor'."""
    from .legacy import dtype_and_device
    dtype, place = dtype_and_device(t)
    if place is None:
        raise TypeError(f'[set_default_tensor_type] {t!r} is no type of tensors: use set_default_dtype() and set_default_device()')
    set_default_dtype(dtype)
    set_default_device(None if place == 'cpu' else place)


def get_default_device():
    """The default device of new tensors."""
    return _core.device('cpu') if defaults.device is None else defaults.device


def set_default_device(device):
    """Sets the default device of new tensors; None means the host."""
    defaults.device = None if device is None else globals()['device'](device)


_devices_before = []


def _enter(self):
    _devices_before.append(defaults.device)
    defaults.device = self
    return self


def _leave(self, *_):
    defaults.device = _devices_before.pop()


# `with torch.device('cuda'):` makes new tensors there.
for _kind in (_core.Device, _Elsewhere):
    setattr(_kind, '__enter__', _enter)
    setattr(_kind, '__exit__', _leave)


def get_device_module(device=None):
    """The module for a kind of device: torch.cpu, torch.cuda, …."""
    from importlib import import_module
    kind = globals()['device'](device).type if device is not None else get_default_device().type
    return import_module(f'.{kind}', __package__)


def can_cast(from_, to):
    """Whether a dtype may become another: it must not be of a lower kind."""
    if rank(from_) > rank(to):
        return False
    return rank(to) > 0 or rank(from_) == 0


def typename(obj, /):
    """The name of an object's type, with its module; tensors are 'torch.FloatTensor' and the like."""
    if isinstance(obj, Tensor):
        return f'torch.{_TENSORS.get(obj.dtype.name, obj.dtype.name.capitalize())}Tensor'
    kind = obj if hasattr(obj, '__qualname__') else type(obj)
    module = getattr(kind, '__module__', None)
    if module in (None, 'builtins'):
        return kind.__qualname__
    inside = module.removeprefix('tenon.').removeprefix('torch.')  # modules are called as PyTorch calls them
    return f'{module if inside == module else "torch." + inside}.{kind.__qualname__}'


_TENSORS = {'float32': 'Float', 'float64': 'Double', 'float16': 'Half', 'bfloat16': 'BFloat16', 'int64': 'Long', 'int32': 'Int',
            'int16': 'Short', 'int8': 'Char', 'uint8': 'Byte', 'bool': 'Bool', 'complex64': 'ComplexFloat', 'complex128': 'ComplexDouble'}


def is_storage(obj, /):
    """Whether obj is the memory of a tensor: Tensor.storage()."""
    return type(obj).__module__ == 'tenon.torch.storage'


def is_same_size(input, other):
    """Whether two tensors have the same shape."""
    return check(input).shape == check(other).shape


def is_signed(input):
    """Whether the dtype has negative numbers."""
    return bool(check(input).dtype.is_signed or rank(input.dtype) >= 2)


def _never(name, why):
    def call(input):
        check(input)
        return False
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'False: {why}.'
    return call


is_conj, is_neg = _never('is_conj', 'conjugates are computed at once'), _never('is_neg', 'signs are computed at once')
is_distributed = _never('is_distributed', 'one process trains here')


def is_inference_mode_enabled():
    """Whether inference_mode() is on."""
    return bool(_core._get_modes() & tenon.autograd.INFERENCE)


def is_inference(input):
    """Whether a tensor was made in inference mode."""
    tensor: Any = check(input)
    return tensor.is_inference()


class _Switch:
    """A mode that is set at once and, in a `with`, reset at its end; also a decorator."""

    _before = 0

    def __init__(self, mode):
        self._mode = mode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _core._restore_modes(self._before)

    def __call__(self, function):
        import functools
        _core._restore_modes(self._before)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._mode():
                return function(*args, **kwargs)
        return wrapped


class set_grad_enabled(_Switch):
    """Switches recording of ops on or off, from now on or in a scope."""

    def __init__(self, mode):
        super().__init__(tenon.enable_grad if mode else tenon.no_grad)
        flag = tenon.autograd.GRAD
        self._before = _core._set_modes(flag if mode else 0, 0 if mode else flag)


def inference_mode(mode=True):
    """Results in this scope can never join a graph; also a plain decorator."""
    if callable(mode):
        return tenon.inference_mode()(mode)
    return tenon.inference_mode() if mode else tenon.enable_grad()
