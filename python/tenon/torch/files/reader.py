"""An interpreter of pickle's opcodes that cannot run anything in a file.

It has a stack of plain values and one closed table, `GLOBALS`, of what a name in the file stands for: a dtype, or a function of this
module that checks its arguments. Beside it stand the classes that the program itself allows (allowed.py), whose objects are made and
filled as pickle does, and, for weights_only=False, the program's own classes (program.py). No name in the file is looked up anywhere else,
nothing is imported, and no other attribute but OrderedDict._metadata is set. The opcodes are those of Python's pickletools, and each costs no more than the bytes it takes in the file.
Those that copy (sets, bytes) share a budget of the file's size, and keys are limited so that hashing them cannot take long. Nothing
recurses, so values may be nested to any depth.
"""
import enum
import struct
import warnings
from collections import Counter, OrderedDict, defaultdict, deque

from ... import _core
from ..._core import Tensor, ops
from ...nn.module import Parameter
from ..create import empty_strided
from ..modes import Size
from . import allowed, arrays, program
from .errors import LoadError
from .storages import DTYPES, STORAGES, Stored, strided_view


class Global:
    """What a name in the file stands for; make(reader, *arguments) runs when the file calls it."""

    def __init__(self, name, make):
        self.name, self.make = name, make


def read_pickle(data, storages, encoding='utf-8', find=None):
    """The value that a pickle describes, with its tensors backed by `storages`. find: what else names stand for, program.find."""
    reader = Reader(data, storages, encoding, find)
    try:
        return reader.run()
    except (LookupError, TypeError, ValueError, OverflowError, struct.error) as error:
        if isinstance(error, LoadError) or error is storages.failure:
            raise
        raise LoadError(f'[torch.load] data.pkl is malformed at byte {reader.at}: {type(error).__name__}: {error}') from error


class Reader:
    def __init__(self, data, storages, encoding, find):
        self.data, self.at, self.storages, self.encoding, self.find = data, 0, storages, encoding, find
        self.stack, self.marks, self.memo = [], [], {}
        self.budget = 4 * len(data) + 1024

    def run(self):
        while True:
            code = self.take(1)[0]
            if code == _STOP:
                if len(self.stack) != 1 or self.marks:
                    raise LoadError(f'[torch.load] data.pkl leaves {len(self.stack)} values and {len(self.marks)} marks')
                return _plain(self.stack[0])
            step = _OPCODES.get(code)
            if step is None:
                raise LoadError(f'[torch.load] data.pkl has the opcode {bytes([code])!r} at byte {self.at - 1}, which torch.save '
                                'does not write: load the file in PyTorch and save it again')
            step(self)

    def take(self, count):
        """The next bytes."""
        found = self.data[self.at:self.at + count]
        if len(found) != count:
            raise LoadError(f'[torch.load] data.pkl ends within byte {self.at}: the file is cut off')
        self.at += count
        return found

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self):
        end = self.data.index(b'\n', self.at)
        found = self.data[self.at:end].decode()
        self.at = end + 1
        return found

    def push(self, value):
        self.stack.append(value)

    def pop(self):
        if self.marks and len(self.stack) <= self.marks[-1]:
            raise LoadError(f'[torch.load] data.pkl takes more than it has at byte {self.at}')
        return self.stack.pop()

    def pop_many(self, count):
        return tuple(self.pop() for _ in range(count))[::-1]

    def pop_to_mark(self):
        begin = self.marks.pop()
        found = self.stack[begin:]
        del self.stack[begin:]
        return found

    def top(self, *kinds):
        """The topmost value, which must be of one of these types."""
        value = self.stack[-1]
        if type(value) not in kinds and not (self.find and isinstance(value, kinds) and program.sets(value)):
            raise LoadError(f'[torch.load] data.pkl fills a {type(value).__name__} at byte {self.at}')
        return value

    def spend(self, amount):
        """Counts what is copied, so that a file cannot ask for more than a few times its own size."""
        self.budget -= amount
        if self.budget < 0:
            raise LoadError('[torch.load] data.pkl asks for far more memory than it has bytes')


def _plain(value):
    """A value that may be part of the result, unlike a name or a storage, which only calls accept."""
    parts = value if type(value) is tuple else (value,)
    for part in parts:
        if isinstance(part, Global):
            raise LoadError(f'[torch.load] the file holds {part.name} itself: save values of plain types')
        if isinstance(part, Stored):
            raise LoadError('[torch.load] the file holds a storage: save the tensor')
    return value


_KEYS = (str, bytes, int, float, bool, type(None), _core.dtype, _core.Device, Tensor, Parameter)


def _key(value, depth=4):
    """A key that can be hashed at once: numbers of 64 bits, text, small tuples of them; tensors and members of enumerations, by their identity."""
    if type(value) in (tuple, Size) and depth and len(value) <= 64:
        for part in value:
            _key(part, depth - 1 if len(value) > 1 else 0)
    elif type(value) not in _KEYS and not isinstance(value, enum.Enum) or type(value) is int and not -1 << 63 <= value < 1 << 64:
        raise LoadError(f'[torch.load] a {type(value).__name__} is a key in the file: numbers, text and tuples of them are taken')
    return value


# Opcodes, each a function of the reader.

def _constant(make):
    return lambda reader: reader.push(make())


def _of_number(form):
    return lambda reader: reader.push(reader.number(form))


def _of_bytes(form, make):
    return lambda reader: reader.push(make(reader, reader.take(reader.number(form))))


def _skip(count):
    return lambda reader: reader.take(count)


def _text(reader, data):
    return data.decode('utf-8', 'surrogatepass')


def _long(reader, data):
    return int.from_bytes(data, 'little', signed=True)


def _bytes(reader, data):
    return data


def _python_2_text(reader, data):
    return data if reader.encoding == 'bytes' else data.decode(reader.encoding)


def _tuple_of(count):
    def step(reader):
        reader.push(tuple(reader.pop_many(count)))
    return step


def _put(form):
    def step(reader):
        reader.memo[reader.number(form)] = reader.stack[-1]
    return step


def _get(form):
    return lambda reader: reader.push(reader.memo[reader.number(form)])


def _memoize(reader):
    reader.memo[len(reader.memo)] = reader.stack[-1]


def _mark(reader):
    reader.marks.append(len(reader.stack))


def _append(reader):
    item = reader.pop()
    reader.top(list, deque).append(_plain(item))


def _appends(reader):
    items = reader.pop_to_mark()
    reader.top(list, deque).extend(map(_plain, items))


def _set_item(reader):
    key, value = reader.pop_many(2)
    reader.top(dict, OrderedDict, Counter, defaultdict)[_key(key)] = _plain(value)


def _set_items(reader):
    items = reader.pop_to_mark()
    if len(items) % 2:
        raise LoadError(f'[torch.load] data.pkl has a key without a value at byte {reader.at}')
    target = reader.top(dict, OrderedDict, Counter, defaultdict)
    for key, value in zip(items[::2], items[1::2]):
        target[_key(key)] = _plain(value)


def _add_items(reader):
    items = reader.pop_to_mark()
    reader.top(set).update(map(_key, items))


def _global(reader, module, name):
    full = f'{"builtins" if module == "__builtin__" else module}.{name}'
    found = GLOBALS.get(full)
    if found is None and (made := allowed.named(full)) is not None:
        found = _Allowed(full, made)
    if found is None and reader.find:
        found = reader.find("builtins" if module == "__builtin__" else module, name)
    if found is None:
        raise LoadError(f'[torch.load] the file holds an object of {full}, which is not read, since only tensors and plain values are. '
                        'Save a state_dict() instead of a whole object, allow the class with torch.serialization.add_safe_globals(), or pass '
                        'weights_only=False, which makes objects of the classes that the program has imported')
    reader.push(found)


class _Allowed(Global):
    """A class or function that the program allows."""

    def __init__(self, name, function):
        super().__init__(name, lambda reader, *arguments: function(*map(_plain, arguments)))
        self.function = function


def _new(reader):
    called, arguments = reader.stack[-2:]
    if isinstance(called, type) and type(arguments) is tuple:
        reader.pop_many(2)
        reader.push(program.make(called, _plain(arguments)))
        return
    if not isinstance(called, _Allowed) or not isinstance(called.function, type) or type(arguments) is not tuple:
        _call(reader)
        return
    reader.pop_many(2)
    reader.push(called.function.__new__(called.function, *map(_plain, arguments)))


def _fill(target, state, put=setattr):
    """Gives an object its attributes as pickle does. put: sets a slot."""
    if hasattr(target, '__setstate__'):
        target.__setstate__(_plain(state))
        return
    kept, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if type(kept) not in (dict, type(None)) or type(slots) not in (dict, type(None)):
        raise LoadError(f'[torch.load] the attributes of a {type(target).__name__} are a {type(state).__name__}')
    try:
        if kept:
            vars(target).update(kept)
        for name, value in (slots or {}).items():
            put(target, name, value)
    except (AttributeError, TypeError) as error:
        raise LoadError(f'[torch.load] a {type(target).__name__} does not take its attributes: {error}') from error


def _call(reader):
    called, arguments = reader.pop_many(2)
    if callable(called) and type(arguments) is tuple:
        reader.push(program.call(called, _plain(tuple(map(program.as_class, arguments)))))
        return
    if not isinstance(called, Global) or type(arguments) is not tuple:
        raise LoadError(f'[torch.load] data.pkl calls a {type(called).__name__} at byte {reader.at}')
    reader.push(called.make(reader, *arguments))


def _build(reader):
    state = reader.pop()
    if reader.stack and arrays.fills(reader.stack[-1]):
        arrays.fill(reader, reader.stack[-1], state)
        return
    if reader.stack and allowed.named(f'{type(reader.stack[-1]).__module__}.{type(reader.stack[-1]).__qualname__}'):
        _fill(reader.stack[-1], state)
        return
    if reader.find and reader.stack and program.sets(reader.stack[-1]):
        program.check_state(reader.stack[-1], state)
        _fill(reader.stack[-1], _plain(state), object.__setattr__)
        return
    target = reader.top(OrderedDict)
    if type(state) is not dict or state.keys() - {'_metadata'}:
        raise LoadError('[torch.load] the file sets attributes of an OrderedDict: only _metadata is known')
    if '_metadata' in state:
        target._metadata = state['_metadata']


def _stored(reader):
    """The storage named by an id: ('storage', type, record, location, elements)."""
    kind, storage, key, location, count = reader.pop()[:5]
    if kind not in ('storage', b'storage') or not isinstance(storage, Global) or not isinstance(storage.make, _StorageType):
        raise LoadError('[torch.load] data.pkl names something other than a storage')
    if type(key) is not str or type(location) is not str or type(count) is not int or count < 0:
        raise LoadError('[torch.load] data.pkl describes a storage in unknown ways')
    reader.push(Stored(key, storage.make.dtype, count, location))


def _stack_global(reader):
    module, name = reader.pop_many(2)
    _global(reader, module, name)


_STOP = ord('.')
_OPCODES = {ord(code): step for code, step in {
    '\x80': _skip(1), '\x95': _skip(8),
    'N': _constant(lambda: None), '\x88': _constant(lambda: True), '\x89': _constant(lambda: False),
    ')': _constant(tuple), ']': _constant(list), '}': _constant(dict), '\x8f': _constant(set),
    'J': _of_number('<i'), 'K': _of_number('<B'), 'M': _of_number('<H'), 'G': _of_number('>d'),
    '\x8a': _of_bytes('<B', _long), 'X': _of_bytes('<I', _text), '\x8c': _of_bytes('<B', _text), 'U': _of_bytes('<B', _python_2_text),
    'B': _of_bytes('<I', _bytes), 'C': _of_bytes('<B', _bytes),
    '(': _mark, 't': lambda reader: reader.push(tuple(reader.pop_to_mark())),
    '\x85': _tuple_of(1), '\x86': _tuple_of(2), '\x87': _tuple_of(3),
    'q': _put('<B'), 'r': _put('<I'), '\x94': _memoize, 'h': _get('<B'), 'j': _get('<I'),
    'a': _append, 'e': _appends, 's': _set_item, 'u': _set_items, '\x90': _add_items,
    'c': lambda reader: _global(reader, reader.line(), reader.line()), '\x93': _stack_global,
    'R': _call, '\x81': _new, 'b': _build, 'Q': _stored,
}.items()}


# Functions that a file may call.

class _StorageType:
    """Names the dtype of a storage; None for bytes."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, reader, *arguments):
        raise LoadError('[torch.load] the file makes a storage of its own: save the tensor')


def _ordered_dict(reader, items=()):
    reader.spend(len(items))
    return OrderedDict((_key(key), _plain(value)) for key, value in items)


def _counter(reader, counts=None):
    if counts is not None and type(counts) is not dict:
        raise LoadError(f'[torch.load] a Counter of a {type(counts).__name__}')
    reader.spend(len(counts or ()))
    return Counter(counts or {})


def _set(reader, items=()):
    reader.spend(len(items))
    return set(map(_key, items))


def _encode(reader, text, encoding='latin1'):
    if type(text) is not str or encoding not in ('latin1', 'latin-1', 'utf-8', 'utf8', 'ascii'):
        raise LoadError(f'[torch.load] bytes in the encoding {encoding!r:.40}')
    reader.spend(len(text))
    return text.encode(encoding)


def _byte_array(reader, data=b'', encoding=None):
    data = data if encoding is None else _encode(reader, data, encoding)
    if type(data) is not bytes:
        raise LoadError(f'[torch.load] a bytearray of a {type(data).__name__}')
    reader.spend(len(data))
    return bytearray(data)


def _no_bytes(reader):
    return b''


def _complex(reader, real, imag=0.0):
    if type(real) not in (int, float) or type(imag) not in (int, float):
        raise LoadError('[torch.load] a complex number of something else than two numbers')
    return complex(real, imag)


def _sizes(what, values):
    """A tuple of integers that are not negative."""
    if type(values) not in (tuple, list, Size) or any(type(n) is not int or not 0 <= n < 1 << 63 for n in values):
        raise LoadError(f'[torch.load] {what} of a tensor must be integers from 0 on')
    return tuple(values)


def _size(reader, values=()):
    reader.spend(len(values))
    return Size(_sizes('the sizes', values))


def _device(reader, kind, index=None):
    if type(kind) is not str or type(index) not in (int, type(None)):
        raise LoadError('[torch.load] a device is a name and a number')
    return reader.storages.place(kind if index is None else f'{kind}:{index}')


def _tensor(reader, stored, offset, size, stride, requires_grad=False, hooks=None, metadata=None, dtype=None):
    """A view of a storage. metadata: whether PyTorch meant its conjugate or its negative."""
    if not isinstance(stored, Stored):
        raise LoadError(f'[torch.load] a tensor over a {type(stored).__name__} instead of a storage')
    if hooks:
        raise LoadError('[torch.load] a tensor with backward hooks: save its detach()')
    dtype = dtype or stored.dtype
    if type(dtype) is not _core.dtype or stored.dtype not in (None, dtype):
        raise LoadError('[torch.load] a tensor whose dtype its storage lacks')
    size, stride = _sizes('the sizes', size), _sizes('the strides', stride)
    if len(size) != len(stride):
        raise LoadError(f'[torch.load] a tensor of shape {size} with {len(stride)} strides')
    offset, = _sizes('the offset', (offset,))
    elements = reader.storages.elements(stored, dtype)
    x = strided_view(elements, offset, size, stride)
    metadata = metadata or {}
    if type(metadata) is not dict or metadata.keys() - {'conj', 'neg'}:
        raise LoadError(f'[torch.load] a tensor with {metadata!r:.60}: conj and neg are known')
    for flag, op in (('conj', 'conj'), ('neg', 'neg')):
        if metadata.get(flag):
            reader.spend(max(0, x.nbytes - elements.nbytes))  # strides of 0 show more elements than there are
            x = ops[op](x)
    return x.requires_grad_() if requires_grad else x


def _tensor_v3(reader, stored, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    return _tensor(reader, stored, offset, size, stride, requires_grad, hooks, metadata, dtype)


def _meta_tensor(reader, dtype, size, stride, requires_grad=False):
    """A tensor without elements. It has no storage, so map_location does not apply."""
    if type(dtype) is not _core.dtype:
        raise LoadError('[torch.load] a tensor without elements needs a dtype')
    size, stride = _sizes('the sizes', size), _sizes('the strides', stride)
    return empty_strided(size, stride, dtype=dtype, device='meta', requires_grad=requires_grad)


def _parameter(reader, data, requires_grad=True, hooks=None, state=None):
    if not isinstance(data, Tensor):
        raise LoadError(f'[torch.load] a Parameter of a {type(data).__name__}')
    if hooks:
        raise LoadError('[torch.load] a Parameter with backward hooks: save its detach()')
    _leave_out(state)
    return Parameter(data, bool(requires_grad))


def _typed(reader, make, kind, arguments, state):
    """A tensor of a subclass or with attributes: a Parameter, or a plain Tensor for a buffer."""
    if not isinstance(make, Global) or make.make not in (_tensor, _tensor_v3, _parameter):
        raise LoadError('[torch.load] a tensor made in an unknown way')
    if not isinstance(kind, Global) or kind.name not in ('torch.Tensor', 'torch.nn.parameter.Parameter') or type(arguments) is not tuple:
        raise LoadError('[torch.load] a tensor of an unknown type')
    _leave_out(state)
    x = make.make(reader, *arguments)
    return x if kind.name == 'torch.Tensor' else _parameter(reader, x, x.requires_grad)


def _leave_out(state):
    """Attributes of tensors: those of a buffer have no meaning here, and a Tensor cannot have others."""
    if state is not None and type(state) is not dict:
        raise LoadError('[torch.load] the attributes of a tensor are not a dict')
    others = sorted(str(key) for key in (state or {}).keys() - {'persistent', '_is_buffer'})
    if others:
        warnings.warn(f'[torch.load] attributes of a tensor are left out: {", ".join(others):.200}', stacklevel=2)


def _no_tensor(reader, *arguments):
    raise LoadError('[torch.load] a tensor of PyTorch before 1.6: load the file in PyTorch and save it again')


GLOBALS = {name: Global(name, make) for name, make in {
    **arrays.GLOBALS,
    'collections.OrderedDict': _ordered_dict, 'collections.Counter': _counter, 'builtins.set': _set, 'builtins.complex': _complex,
    'builtins.bytearray': _byte_array, '_codecs.encode': _encode, 'builtins.bytes': _no_bytes, 'torch.Size': _size, 'torch.device': _device, 'torch.Tensor': _no_tensor,
    'torch._utils._rebuild_tensor': _tensor, 'torch._utils._rebuild_tensor_v2': _tensor, 'torch._utils._rebuild_tensor_v3': _tensor_v3,
    'torch._utils._rebuild_meta_tensor_no_storage': _meta_tensor,
    'torch._utils._rebuild_parameter': _parameter, 'torch._utils._rebuild_parameter_with_state': _parameter,
    'torch._tensor._rebuild_from_type_v2': _typed, 'torch.nn.parameter.Parameter': _parameter,
    'torch.storage.UntypedStorage': _StorageType(None), 'torch.UntypedStorage': _StorageType(None),
    **{f'torch.{name}Storage': _StorageType(dtype) for name, dtype in STORAGES.items()},
}.items()} | {f'torch.{dtype.name}': dtype for dtype in DTYPES}
