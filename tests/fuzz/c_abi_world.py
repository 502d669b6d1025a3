"""What a good call of each function of the C ABI looks like, for c_abi.py."""

import ctypes
import mmap
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'sdk/abi'))
import lock  # noqa: E402
import model as headers  # noqa: E402, F401  for c_abi_graphs

F32, VALUE_TENSOR = 11, 7
COUNTED = ('args', 'dims', 'inputs', 'outputs', 'outs', 'results', 'samples')


@dataclass
class Function:
    name: str
    result: str
    parameters: list  # (type, name)
    slot: int = -1  # offset in the table that plugins get

    @property
    def returns_status(self):
        """Whether it worked; tn_status_make makes one for others."""
        return self.result == 'tn_status *' and not self.name.endswith(('status_make', 'make_status'))

    @property
    def of_a_plugin(self):
        """Needs a token, a call or a gradient that only the core can make."""
        return self.slot >= 0 and any(name in ('plugin', 'call') for _, name in self.parameters)


def read_drafts():
    """name -> signature of the functions of ext/draft/, which the lock leaves out."""
    found = {}
    for path in (ROOT / 'core/include/tenon/ext/draft').glob('*.h'):
        for result, name, arguments in re.findall(r'^TN_API ([^;]*?)(tn_\w+)\(([^;]*?)\);', path.read_text(), re.M):
            found[name] = ' '.join(f'{result} ({arguments})'.replace('*', ' * ').split())
    return found


def read_functions(library):
    """(exported functions and slots of tn_host, structs by name, exported names that nobody has told of)."""
    path, = (ROOT / 'sdk/abi').glob('tenon-*.lock')
    abi = lock.read(path.read_text())
    texts = {entry.name: entry.text for entry in abi.entries.values() if entry.kind == 'function'}
    del texts['tn_plugin_query']  # a plugin's
    functions = []
    for name, text in {**texts, **read_drafts()}.items():
        result, parameters, _ = lock.split_signature(text)
        functions.append(Function(name, result, [p for p in parameters if p[0] != 'void']))
    structs = {entry.name: entry for entry in abi.entries.values() if entry.kind == 'struct'}
    for each in structs['tn_host'].fields:
        if each.type.endswith(')'):
            result, parameters, _ = lock.split_signature(each.type)
            functions.append(Function(f'tn_host.{each.name}', result, parameters, each.offset))
    symbols = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1].split('@')[0] for line in symbols.splitlines() if ' T ' in line}
    return functions, structs, sorted(exported - {f.name for f in functions})


def is_pointer(kind):
    return '*' in kind or kind.endswith('_fn')


def is_count(name):
    """Of entries in memory that the caller names: more of them than there are is nobody's to notice."""
    return name in ('bytes', 'capacity', 'count', 'ndim', 'room') or (name.startswith('n') and name[1:] in COUNTED)


class Text(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('size', ctypes.c_uint64)]


class Value(ctypes.Structure):
    _fields_ = [('tag', ctypes.c_uint32), ('count', ctypes.c_uint32), ('pointer', ctypes.c_void_p)]


NUMBERS = {'uint32_t': ctypes.c_uint32, 'tn_dtype': ctypes.c_uint32, 'uint64_t': ctypes.c_uint64, 'int64_t': ctypes.c_int64,
           'double': ctypes.c_double}


def ctype_of(kind):
    if kind == 'void':
        return None
    return Text if kind == 'tn_str' else ctypes.c_void_p if is_pointer(kind) else NUMBERS[kind]


class World:
    """The library in this process, and good arguments for its functions."""

    def __init__(self, library, structs, layered=False):
        self.structs = structs
        self.host = None
        self.lib = ctypes.CDLL(library)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.kept = []  # memory that calls refer to
        self.layers = []  # pushed, and not popped yet
        # On the ABIs there are, a function without parameters may be called with any.
        self.callback = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: None)
        if layered:
            self.take_host()
        self.check(self.call_of('tn_plugins_discover', 'tn_status *'))
        self.device = self.call_of('tn_device_at', 'tn_device *', ('uint32_t', 0))
        self.plugin = self.plugin_path()
        self.neg = self.call_of('tn_op_find', 'tn_op *', ('tn_str', self.text(b'neg')))

    def take_host(self):
        """The table that plugins get, as a layer sees it."""
        def see(host):
            self.host = host
            return host
        self.see = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(see)
        self.layer = (ctypes.c_uint64 * 6)(48, ctypes.cast(self.see, ctypes.c_void_p).value)
        self.check(self.call_of('tn_layer_set', 'tn_status *', ('tn_layer *', ctypes.addressof(self.layer))))

    def call_of(self, name, result, *arguments, slot=-1):
        function = self.lib[name] if slot < 0 else ctypes.CFUNCTYPE(None)(ctypes.c_void_p.from_address(self.host + slot).value)
        function.restype = ctype_of(result)
        function.argtypes = [ctype_of(kind) for kind, _ in arguments]
        return function(*(value for _, value in arguments))

    # ---- memory

    def guarded(self, data, size=None):
        """The address of `size` bytes that begin with `data` and end where nothing may be touched."""
        size = len(data) if size is None else size
        pages = -(-max(size, 1) // mmap.PAGESIZE)
        area = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
        self.kept.append(area)
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        guard = start + pages * mmap.PAGESIZE
        address = guard - size
        ctypes.memmove(address, bytes(data[:size]).ljust(size, b'\0'), size)
        if self.libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
            raise OSError(ctypes.get_errno(), 'mprotect')
        return address

    def text(self, data):
        return Text(self.guarded(data), len(data))

    def null_text(self, size):
        return Text(None, size)

    def pointers(self, *entries):
        return self.guarded(bytes((ctypes.c_void_p * len(entries))(*entries)))

    def longs(self, *entries):
        return self.guarded(bytes((ctypes.c_int64 * len(entries))(*entries)))

    # ---- what the library makes

    def tensor(self, requires_grad=False):
        """One element of f32."""
        out = (ctypes.c_void_p * 1)()
        self.check(self.call_of('tn_tensor_empty', 'tn_status *', ('tn_dtype', F32), ('uint32_t', 1), ('int64_t *', self.longs(1)),
                                ('tn_device *', None), ('tn_tensor **', ctypes.addressof(out))))
        if requires_grad:
            self.call_of('tn_tensor_set_requires_grad', 'tn_status *', ('tn_tensor *', out[0]), ('uint32_t', 1))
        return out[0]

    def released(self):
        tensor = self.tensor()
        self.check(self.call_of('tn_storage_release', 'tn_status *', ('tn_tensor *', tensor)))
        return tensor

    def negated(self, tensor):
        out = (ctypes.c_void_p * 1)()
        self.check(self.call_neg(self.guarded(bytes(Value(VALUE_TENSOR, 0, tensor))), ctypes.addressof(out)))
        return out[0]

    def call_neg(self, args, outs):
        return self.call_of('tn_op_call', 'tn_status *', ('tn_op *', self.neg), ('tn_value *', args), ('uint32_t', 1),
                            ('tn_tensor **', outs), ('uint32_t', 1))

    def values(self, tag, count):
        return self.guarded(bytes(Value(tag, count, None)))

    def exported(self):
        out = (ctypes.c_void_p * 1)()
        self.check(self.call_of('tn_tensor_to_dlpack', 'tn_status *', ('tn_tensor *', self.tensor()),
                                ('void **', ctypes.addressof(out))))
        return out[0]

    def struct(self, struct, size, without=None):
        """One of `size` bytes, filled as far as they go; `without` names a field that stays NULL."""
        full = bytearray(struct.size)
        full[:4] = size.to_bytes(4, 'little')
        for each in struct.fields:
            if each.type == 'tn_str':
                full[each.offset + 8] = 5  # bytes at NULL
        for each in struct.fields:
            if each.type.endswith(')') and each is not without:
                full[each.offset:each.offset + 8] = ctypes.cast(self.callback, ctypes.c_void_p).value.to_bytes(8, 'little')
        return self.guarded(full, -(-max(size, 4) // 8) * 8)

    # ---- calls

    def special(self, function):
        """What the type of a parameter does not tell."""
        leaf = self.tensor(True) if function in ('tn_backward', 'tn_gradient', 'tn_function_record', 'tn_tensor_step',
                                                         'tn_tensor_saved') else None
        hooked = self.tensor(True) if function.endswith('_hook') else None
        return {
            'tn_backward': lambda: {'outputs': self.pointers(self.negated(leaf)), 'grads': self.pointers(self.tensor())},
            'tn_gradient': lambda: {'outputs': self.pointers(self.negated(leaf)), 'grads': self.pointers(self.tensor()),
                                    'inputs': self.pointers(leaf)},
            'tn_function_record': lambda: {'inputs': self.pointers(leaf), 'outputs': self.pointers(self.tensor())},
            'tn_tensor_step': lambda: {'tensor': leaf},
            'tn_tensor_saved': lambda: {'tensor': leaf},
            'tn_tensor_add_hook': lambda: {'tensor': hooked},
            'tn_tensor_add_step_hook': lambda: {'tensor': self.negated(hooked)},
            'tn_tensor_remove_hook': lambda: {'tensor': hooked, 'id': self.add_hook(hooked)},
            'tn_dtype_find': lambda: {'name': self.text(b'float32')},
            'tn_device_find': lambda: {'name': self.text(b'cpu')},
            'tn_plugin_load': lambda: {'path': self.text(self.plugin)},
            'tn_plugin_quiesce': lambda: {'id': self.text(b'cpu')},
            'tn_tensor_from_dlpack': lambda: {'managed': self.exported()},
            'tn_tensor_reinterpret': lambda: {'offset': 0},
            'tn_call_layer_pop': lambda: {'layer': self.push_layer()},
            'tn_storage_restore': lambda: {'tensor': self.released()},
            **dict.fromkeys(('tn_graph_end', 'tn_graph_replay', 'tn_graph_get_stats', 'tn_graph_release'), lambda: {'graph': None}),
            'tn_layer_set': lambda: {'layer': self.guarded((4096).to_bytes(4, 'little'), 4096)},
        }.get(function, dict)()

    def add_hook(self, tensor):
        made = (ctypes.c_uint64 * 1)()
        self.check(self.call_of('tn_tensor_add_hook', 'tn_status *', ('tn_tensor *', tensor),
                                ('tn_grad_hook_fn', ctypes.cast(self.callback, ctypes.c_void_p)), ('void *', None), ('void *', None),
                                ('uint64_t *', ctypes.addressof(made))))
        return made[0]

    def push_layer(self):
        struct = self.structs['tn_call_layer']
        layer = self.struct(struct, struct.size)
        self.check(self.call_of('tn_call_layer_push', 'tn_status *', ('tn_call_layer *', layer)))
        self.layers.append(layer)
        return layer

    def plugin_path(self):
        struct = self.structs['tn_plugin_info']
        info = self.struct(struct, struct.size)
        self.check(self.call_of('tn_plugin_get_info', 'tn_status *', ('uint32_t', 0), ('tn_plugin_info *', info)))
        path, = (each.offset for each in struct.fields if each.name == 'path')
        return self.read(Text.from_address(info + path))

    def status(self):
        return self.call_of('tn_status_make', 'tn_status *', ('uint32_t', 1), ('tn_str', self.text(b'a status')))

    @staticmethod
    def read(text):
        return ctypes.string_at(text.data, text.size) if text.data else b''

    def take(self, status):
        """(code, message) of a status, which is freed."""
        code = self.call_of('tn_status_code', 'uint32_t', ('tn_status *', status))
        message = self.read(self.call_of('tn_status_message', 'tn_str', ('tn_status *', status))).decode(errors='replace')
        self.call_of('tn_status_release', 'void', ('tn_status *', status))
        return code, message

    def check(self, status):
        code, message = self.take(status)
        if code != 0:
            raise RuntimeError(message)

    def by_type(self, function, kind, name):
        """A good argument of any function, as far as type and name tell."""
        if kind == 'tn_str':
            return self.text(b'neg')
        if kind in NUMBERS:
            return {'bytes': 4, 'dtype': F32, 'a': F32, 'b': F32}.get(name, 1 if is_count(name) or kind == 'int64_t' else 0)
        struct = self.structs.get(kind.removeprefix('const ').removesuffix(' *'))
        handles = {'tn_tensor': self.tensor, 'tn_device': lambda: self.device, 'tn_op': lambda: self.neg, 'tn_status': self.status,
                   'tn_generator': lambda: self.call_of('tn_generator_make', 'tn_generator *', ('uint64_t', 7))}
        base = kind.removeprefix('const ').split(' ')[0]
        if base == 'tn_grad_call' or (name == 'plugin' and function.slot >= 0):
            return None
        if kind.endswith('_fn') or '(*)' in kind:
            return ctypes.cast(self.callback, ctypes.c_void_p).value
        if kind == 'const tn_value *':
            return self.guarded(bytes(Value(VALUE_TENSOR, 0, self.tensor())))
        if kind.endswith('*const *'):
            return self.pointers(self.tensor())
        if struct is not None and struct.extensible and kind.endswith(' *'):
            return self.struct(struct, struct.size)
        if base in handles and kind.count('*') == 1:
            return handles[base]()
        if kind.startswith('const int64_t'):
            return self.longs(1)
        return self.guarded(bytes(16))  # room for a result, host memory, a context

    def arguments(self, function, replaced):
        self.kept.clear()
        special = self.special(function.name.replace('tn_host.', 'tn_'))
        chosen = []
        for kind, name in function.parameters:
            if name in replaced:
                chosen.append(replaced[name](self))
            else:
                chosen.append(special[name] if name in special else self.by_type(function, kind, name))
        return chosen

    def call(self, function, arguments):
        """(code, message) where there is a status; (0, '') otherwise."""
        kinds = (kind for kind, _ in function.parameters)
        if function.name.endswith('call_layer_push'):
            self.layers.append(arguments[0])
        result = self.call_of(function.name, function.result, *zip(kinds, arguments), slot=function.slot)
        return self.take(result) if function.returns_status else (0, '')

    def still_computes(self):
        """What is wrong with the library after a call, or ''. Then what the call may have set is as it was."""
        self.take(self.call_of('tn_plugin_load', 'tn_status *', ('tn_str', self.text(self.plugin))))  # it may have been quiesced
        out = (ctypes.c_void_p * 1)()
        code, message = self.take(self.call_neg(self.guarded(bytes(Value(VALUE_TENSOR, 0, self.tensor()))), ctypes.addressof(out)))
        self.call_of('tn_call_hooks_set', 'void', ('tn_call_hooks *', None))
        while self.layers:
            self.take(self.call_of('tn_call_layer_pop', 'tn_status *', ('tn_call_layer *', self.layers.pop())))
        self.call_of('tn_mode_set', 'uint32_t', ('uint32_t', 1))
        self.call_of('tn_memory_set_limit', 'void', ('tn_device *', self.device), ('uint64_t', 0))
        self.call_of('tn_placement_enable', 'void', ('uint32_t', 0))
        self.call_of('tn_device_redirect', 'void', ('tn_device *', None), ('void *', None))
        return '' if code == 0 else f'leaves a library that fails: {message}'
