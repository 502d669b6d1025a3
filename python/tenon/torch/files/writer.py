"""Values as a pickle of protocol 2; PyTorch's torch.load(weights_only=True) reads tensors and plain values from it."""
import functools
import struct
from collections import OrderedDict

from ... import _core
from ..._core import Tensor, ops
from ...nn.module import Parameter
from ..modes import Size
from .arrays import is_array, write_array
from .objects import name_of, parts_of
from .storages import STORAGES, share

_STORAGE_OF = {dtype.name: f'{name}Storage' for name, dtype in STORAGES.items()}


def write_pickle(obj):
    """(the pickle, the bytes of its storages, by number)."""
    dense, objects = _looked_through(obj)
    writer = _Writer(dense, share(dense.values()), objects)
    try:
        writer.value(obj)
    except RecursionError:
        raise ValueError('[torch.save] the object is nested too deep, or a tuple holds itself') from None
    writer.out += b'.'
    return bytes(writer.out), (shared.data() for shared in writer.storages)


def _looked_through(obj):
    """By id, the tensors in obj, with strides that PyTorch supports, of which none is negative; and the parts of other objects,
    taken apart once, because each time may make new ones."""
    found, objects, seen, left = {}, {}, set(), [obj]
    while left:
        value = left.pop()
        if isinstance(value, Tensor) and type(value) in _WRITERS:
            if id(value) not in found:
                found[id(value)] = _without_negative_strides(value.detach())
        elif type(value) not in _WRITERS:
            if id(value) not in objects and not is_array(value):
                objects[id(value)] = parts = parts_of(value)
                left.extend(parts[2:])
        elif isinstance(value, (dict, list, tuple, set)) and id(value) not in seen:
            seen.add(id(value))
            left.extend([*value, *value.values()] if isinstance(value, dict) else value)
            left.extend([vars(value)['_metadata']] if isinstance(value, OrderedDict) and '_metadata' in vars(value) else [])
    return found, objects


def _without_negative_strides(x):
    return ops['contiguous'](x) if any(step < 0 for step in x.strides) else x


class _Writer:
    def __init__(self, dense, shared, objects):
        self.out, self.storages, self.objects = bytearray(b'\x80\x02'), [], objects
        self._dense, self._shared = dense, shared
        self._memo, self._keep = {}, []

    def value(self, value):
        """Writes one value; a value that was written before is referred to by its number."""
        write = _WRITERS.get(type(value)) or (write_array if is_array(value) else _write_object)
        key = (str, value) if type(value) is str else id(value)
        if key in self._memo:
            self._number(b'h', b'j', self._memo[key])
        else:
            write(self, value)

    def remember(self, value):
        """Numbers the value that was just written."""
        self._memo[(str, value) if type(value) is str else id(value)] = number = len(self._memo)
        self._keep.append(value)  # otherwise another object could get its id
        self._number(b'q', b'r', number)

    def _number(self, short, long, number):
        self.out += short + struct.pack('<B', number) if number < 256 else long + struct.pack('<I', number)

    def name(self, module, name):
        """A name that stands for something in PyTorch."""
        key = module, name
        if key in self._memo:
            self._number(b'h', b'j', self._memo[key])
            return
        self.out += f'c{module}\n{name}\n'.encode()
        self._memo[key] = number = len(self._memo)
        self._number(b'q', b'r', number)

    def call(self, module, name, *arguments):
        """A call of a name."""
        self.name(module, name)
        self.sequence(arguments)
        self.out += b'R'

    def no_hooks(self):
        self.call('collections', 'OrderedDict')

    def sequence(self, values):
        """A tuple; entries that are callables write themselves."""
        marked = len(values) > 3
        self.out += b'(' if marked else b''
        for value in values:
            value() if callable(value) and type(value) not in _WRITERS else self.value(value)
        self.out += b't' if marked else (b')', b'\x85', b'\x86', b'\x87')[len(values)]


def _write_bool(writer, value):
    writer.out += b'\x88' if value else b'\x89'


def _write_none(writer, value):
    writer.out += b'N'


def _write_int(writer, value):
    if 0 <= value < 1 << 8:
        writer.out += b'K' + struct.pack('<B', value)
    elif -1 << 31 <= value < 1 << 31:
        writer.out += b'J' + struct.pack('<i', value)
    else:
        data = value.to_bytes(value.bit_length() // 8 + 1, 'little', signed=True)
        if len(data) > 255:
            raise ValueError('[torch.save] an integer of more than 255 bytes')
        writer.out += b'\x8a' + bytes([len(data)]) + data


def _write_float(writer, value):
    writer.out += b'G' + struct.pack('>d', value)


def _write_complex(writer, value):
    writer.call('__builtin__', 'complex', value.real, value.imag)


def _write_text(writer, value):
    data = value.encode('utf-8', 'surrogatepass')
    writer.out += b'X' + struct.pack('<I', len(data)) + data
    writer.remember(value)


def _write_bytes(writer, value):
    writer.call('_codecs', 'encode', value.decode('latin1'), 'latin1')
    writer.remember(value)


def _write_byte_array(writer, value):
    writer.call('__builtin__', 'bytearray', bytes(value))
    writer.remember(value)


def _write_tuple(writer, value):
    writer.sequence([functools.partial(writer.value, each) for each in value])
    if value:
        writer.remember(value)


def _write_list(writer, value):
    writer.out += b']'
    writer.remember(value)
    _write_list_items(writer, value)


def _write_list_items(writer, items):
    writer.out += b'('
    for item in items:
        writer.value(item)
    writer.out += b'e'


def _write_set(writer, value):
    writer.call('__builtin__', 'set', sorted(value, key=repr))  # a set's order differs from run to run
    writer.remember(value)


def _write_dict(writer, value):
    writer.out += b'}'
    writer.remember(value)
    _write_items(writer, value.items())


def _write_ordered_dict(writer, value):
    writer.call('collections', 'OrderedDict')
    writer.remember(value)
    _write_items(writer, value.items())
    if '_metadata' in vars(value):
        writer.value({'_metadata': vars(value)['_metadata']})
        writer.out += b'b'


def _write_items(writer, pairs):
    writer.out += b'('
    for key, value in pairs:
        writer.value(key)
        writer.value(value)
    writer.out += b'u'


def _write_size(writer, value):
    writer.call('torch', 'Size', tuple(value))


def _write_dtype(writer, value):
    writer.name('torch', value.name)


def _location(device):
    return 'cpu' if device.type == 'cpu' else f'{device.type}:{device.index}'


def _write_device(writer, value):
    writer.call('torch', 'device', *((value.type,) if value.type == 'cpu' else (value.type, value.index)))


def _write_tensor(writer, value, requires_grad=None):
    """A call that recreates the tensor in PyTorch."""
    x = writer._dense[id(value)]
    grad = value.requires_grad if requires_grad is None else requires_grad
    if x.device.type == 'meta':
        writer.call('torch._utils', '_rebuild_meta_tensor_no_storage', x.dtype, tuple(x.shape), tuple(x.strides), grad)
    else:
        _write_view(writer, x, grad)
    if requires_grad is None:
        writer.remember(value)


def _write_view(writer, x, requires_grad):
    shared = writer._shared[id(x)]
    if shared.number is None:
        shared.number = len(writer.storages)
        writer.storages.append(shared)
    typed = _STORAGE_OF.get(x.dtype.name)

    def storage():
        count = shared.count if typed else shared.count * x.itemsize
        kind = ('torch', typed) if typed else ('torch.storage', 'UntypedStorage')
        writer.sequence(('storage', lambda: writer.name(*kind), str(shared.number), _location(x.device), count))
        writer.out += b'Q'
    described = storage, shared.offset(x), tuple(x.shape), tuple(x.strides), requires_grad
    if typed:
        writer.call('torch._utils', '_rebuild_tensor_v2', *described, writer.no_hooks)
    else:
        writer.call('torch._utils', '_rebuild_tensor_v3', *described, writer.no_hooks, x.dtype)


def _write_parameter(writer, value):
    writer.call('torch._utils', '_rebuild_parameter', lambda: _write_tensor(writer, value, False), value.requires_grad,
                writer.no_hooks)
    writer.remember(value)


def _write_object(writer, value):
    """A class, a function, or an object of a class that has no form of its own in files."""
    parts = writer.objects[id(value)]
    writer.name(*name_of(parts.made))
    if not parts.opcode:
        return
    writer.value(tuple(parts.arguments))
    writer.out += parts.opcode
    writer.remember(value)
    if parts.items:
        _write_list_items(writer, parts.items)
    if parts.pairs:
        _write_items(writer, parts.pairs)
    if parts.state is not None:
        writer.value(parts.state)
        writer.out += b'b'


_WRITERS = {Size: _write_size} | {  # written as a tuple while Size is tuple itself
    bool: _write_bool, type(None): _write_none, int: _write_int, float: _write_float, complex: _write_complex, str: _write_text,
    bytes: _write_bytes, bytearray: _write_byte_array, tuple: _write_tuple, list: _write_list, set: _write_set, dict: _write_dict,
    OrderedDict: _write_ordered_dict, _core.dtype: _write_dtype, _core.Device: _write_device, Tensor: _write_tensor,
    Parameter: _write_parameter,
}

