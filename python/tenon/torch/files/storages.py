"""The elements of tensors in files: names of dtypes, and one storage for tensors that share memory."""
import array
import sys

import tenon
from ... import _core
from ..._core import Tensor, ops
from ..._dtypes import FLOAT8
from ..modes import device as device_of
from .errors import LoadError

STORAGES = {'Double': _core.float64, 'Float': _core.float32, 'Half': _core.float16, 'BFloat16': _core.bfloat16,
            'Long': _core.int64, 'Int': _core.int32, 'Short': _core.int16, 'Char': _core.int8, 'Byte': _core.uint8,
            'Bool': _core.bool, 'ComplexDouble': _core.complex128, 'ComplexFloat': _core.complex64}
UNTYPED = (_core.uint16, _core.uint32, _core.uint64, *map(_core.as_dtype, FLOAT8))  # these are stored as bytes
DTYPES = (*STORAGES.values(), *UNTYPED)
_TRUTHS = bytes([0]) + bytes([1]) * 255  # any other byte is not a bool
_WORDS = {2: 'H', 4: 'I', 8: 'Q'}


class Stored:
    """A storage as named in the pickle: its record, dtype (None: bytes), number of elements and device."""

    def __init__(self, key, dtype, count, location):
        self.key, self.dtype, self.count, self.location = key, dtype, count, location


class Storages:
    """The storages of an archive, each read once, when a tensor first needs it."""

    def __init__(self, archive, map_location):
        self._archive, self._map = archive, map_location
        self._made = {}
        self.failure = None  # the exception that map_location raised

    def elements(self, stored, dtype):
        """All elements of a storage as a flat tensor of a dtype, the same tensor each time."""
        name, wanted = f'data/{stored.key}', stored.count * (stored.dtype.itemsize if stored.dtype else 1)
        if self._archive.size(name) != wanted:
            raise LoadError(f'[torch.load] the record {name} has {self._archive.size(name)} bytes, its tensors want {wanted}')
        if stored.key not in self._made:
            self._made[stored.key] = dtype, self.moved(self._read(name, dtype), stored.location)
        known, elements = self._made[stored.key]
        if known is not dtype:
            raise LoadError(f'[torch.load] the record {name} is of two dtypes')
        return elements

    def _read(self, name, dtype):
        data = self._archive.read(name)
        if len(data) % dtype.itemsize:
            raise LoadError(f'[torch.load] the record {name} has {len(data)} bytes: no whole number of {dtype.name}')
        if dtype is _core.bool:
            data = data.translate(_TRUTHS)
        if self._archive.is_big_endian != (sys.byteorder == 'big'):
            data = _swapped(data, dtype)
        return _core._from_bytes(data, dtype, (len(data) // dtype.itemsize,))

    def moved(self, x, location):
        """x on the device that map_location chooses."""
        found = None
        try:
            if callable(self._map):
                found = self._map(x, location)
            if found is not None and (not isinstance(found, Tensor) or found.shape != x.shape or found.dtype is not x.dtype):
                raise TypeError('[torch.load] map_location must return the storage it got, on any device, or None')
        except Exception as error:
            self.failure = error
            raise
        return x.to(self.place(location)) if found is None else found

    def place(self, location):
        """The device for a location named in the file."""
        wanted = self._map if self._map is not None and not callable(self._map) else location
        if isinstance(wanted, dict):
            wanted = wanted.get(location, location)
        try:
            return tenon.device(device_of(wanted))
        except tenon.Error as error:
            raise RuntimeError(f'[torch.load] no device {wanted} for tensors of {location}: give map_location="cpu" ({error})') from None


def _swapped(data, dtype):
    """Elements with their bytes in the other order."""
    width = dtype.itemsize // (2 if dtype.is_complex else 1)
    if width == 1:
        return data
    words = array.array(_WORDS[width], data)
    words.byteswap()
    return words.tobytes()


def strided_view(elements, offset, size, stride):
    """A tensor of any strides over a flat one; LoadError if it reaches outside."""
    if 0 in size:
        return _core._empty(size, elements.dtype, elements.device)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if last >= elements.shape[0]:
        raise LoadError(f'[torch.load] a tensor of shape {size} with strides {stride} from {offset} on '
                        f'reaches outside its {elements.shape[0]} elements')
    return ops['as_strided'](elements, size, stride, offset).detach()


def spread(x):
    """The number of elements from the first to the last of x in memory."""
    return 1 + sum((n - 1) * step for n, step in zip(x.shape, x.strides)) if 0 not in x.shape else 0


class Shared:
    """Memory that saved tensors share, from its first byte to its last."""

    def __init__(self, x):
        self.tensors, self.dtype, self.device = [], x.dtype, x.device
        self.memory, self.begin = x._place()
        self.end = self.begin
        self.number = None

    def add(self, x):
        if x.dtype is not self.dtype:
            raise RuntimeError(f'[torch.save] tensors of {self.dtype} and {x.dtype} share memory: save a clone() of one')
        self.tensors.append(x)
        self.end = max(self.end, x._place()[1] + spread(x) * x.itemsize)

    def reaches(self, x):
        """Whether the first element of x lies in this memory."""
        memory, begin = x._place()
        return x.device == self.device and memory == self.memory and begin < self.end

    @property
    def count(self):
        return (self.end - self.begin) // self.dtype.itemsize

    def offset(self, x):
        return (x._place()[1] - self.begin) // self.dtype.itemsize

    def data(self):
        """The elements as bytes; zeros where there is no tensor."""
        for x in self.tensors:
            if x.is_contiguous() and spread(x) == self.count:
                return _bytes_of(x)
        whole = ops['full']((self.count,), 0, self.dtype, self.device)
        for x in self.tensors:
            _put(whole, x, self.offset(x))
        return _bytes_of(whole)


def _bytes_of(x):
    data = ops['contiguous'](x.detach().cpu()).tobytes()
    return data if sys.byteorder == 'little' else _swapped(data, x.dtype)


def _put(whole, x, offset):
    """Writes x with its strides at an offset of a flat tensor, part by part if its elements overlap."""
    steps = sorted((step, d) for d, (n, step) in enumerate(zip(x.shape, x.strides)) if n > 1)
    reach = 0
    for step, d in steps:
        if step <= reach:
            for i in range(x.shape[d] if step else 1):
                _put(whole, ops['select'](x, d, i), offset + i * step)
            return
        reach += (x.shape[d] - 1) * step
    ops['as_strided'](whole, x.shape, x.strides, offset)[...] = x


def share(tensors):
    """The Shared of each tensor, by id; all strides must be positive or 0."""
    found, open_ = {}, None
    for x in sorted(tensors, key=lambda x: (str(x.device), x._place(), -spread(x))):
        if spread(x) and (open_ is None or not open_.reaches(x)):
            open_ = Shared(x)
        found[id(x)] = open_ if spread(x) else Shared(x)  # no elements, nothing shared
        found[id(x)].add(x)
    return found
