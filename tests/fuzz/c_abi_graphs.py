"""What a good call of each function of tenon/graph.h and tenon/onnx.h looks like, for c_abi.py."""

import ctypes

from c_abi_world import ROOT, Function, World, headers, lock

# As in c_abi.py. A name may be empty; an array, where nothing is counted.
MAY_BE_NULL = {
    'tn_program_describe_at': {'sizes'}, 'tn_program_load': {'device'}, 'tn_onnx_export': {'options'}, 'tn_trace_begin_sizes': {'dims'},
    'tn_trace_begin_step_sizes': {'dims'}, 'tn_trace_body_begin': {'like', 'inputs'}, 'tn_trace_end': {'results', 'device'},
    'tn_trace_input': {'name'}, 'tn_trace_name': {'name'}, 'tn_trace_number': {'name'},
}
FAILED_PRECONDITION, NOT_FOUND, OUT_OF_RANGE = 7, 3, 2
# The trace has no dims and no body, its program no numbers, no weights and nothing to quantize; some functions say so before they look at
# their arguments.
MAY_FAIL = {
    **dict.fromkeys(('tn_trace_input_sized', 'tn_trace_next', 'tn_trace_failed', 'tn_trace_body_end', 'tn_trace_body_refuse',
                     'tn_trace_body_drop', 'tn_trace_control', 'tn_trace_again', 'tn_program_quantize'), FAILED_PRECONDITION),
    'tn_program_weight': NOT_FOUND, 'tn_program_get_dim': OUT_OF_RANGE, 'tn_program_get_number': OUT_OF_RANGE,
    'tn_program_set_numbers': OUT_OF_RANGE, 'tn_onnx_weight': OUT_OF_RANGE,
}
ENDS_A_TRACE = ('tn_trace_end', 'tn_trace_drop')


def read_functions():
    """(functions, structs by name) of both headers."""
    paths = [ROOT / 'libs/graph/include/tenon/graph.h', ROOT / 'libs/onnx/include/tenon/onnx.h']
    known = headers.read_texts()
    abi = headers.read({**known, **{str(headers.INCLUDE / 'tenon' / path.name): path.read_text() for path in paths}})
    old = headers.read(known).entries
    functions = []
    for entry in abi.entries.values():
        if entry.kind == 'function' and entry.name not in old:
            result, parameters, _ = lock.split_signature(entry.text)
            functions.append(Function(entry.name, result, [p for p in parameters if p[0] != 'void']))
    return functions, {entry.name: entry for entry in abi.entries.values() if entry.kind == 'struct'}


class Graphs(World):
    def __init__(self, library, structs, layered, libraries, folder):
        self.others = [ctypes.CDLL(str(each)) for each in libraries]
        self.open = []  # traces that the last call was given
        super().__init__(library, structs, layered)
        self.net, self.model_file, self.out = (self.text(f'{folder}/{name}'.encode()) for name in ('net', 'net.onnx', 'out'))
        self.forever, self.kept = self.kept, []
        self.make_files()

    def call_of(self, name, result, *arguments, slot=-1):
        home = self.lib
        self.lib = next((each for each in (home, *self.others) if hasattr(each, name)), home)
        try:
            return super().call_of(name, result, *arguments, slot=slot)
        finally:
            self.lib = home

    def make(self, name, *arguments, result='void **'):
        out = (ctypes.c_void_p * 1)()
        self.check(self.call_of(name, 'tn_status *', *arguments, (result, ctypes.addressof(out))))
        return out[0]

    def make_files(self):
        """A saved program of one input, and the same as a model."""
        trace = self.make('tn_trace_begin')
        x = self.make('tn_trace_input', ('tn_trace *', trace), ('tn_tensor *', self.tensor()), ('tn_str', self.text(b'x')))
        program = self.make('tn_trace_end', ('tn_trace *', trace), ('tn_tensor **', self.pointers(self.negated(x))), ('uint32_t', 1),
                            ('tn_device *', None))
        self.check(self.call_of('tn_program_save', 'tn_status *', ('tn_program *', program), ('tn_str', self.net)))
        self.check(self.call_of('tn_onnx_export', 'tn_status *', ('tn_program *', program), ('tn_str', self.model_file), ('void *', None)))

    def trace(self):
        self.open.append(self.make('tn_trace_begin'))
        return self.open[-1]

    def special(self, function):
        if function.startswith('tn_trace_body') or function == 'tn_trace_control':
            self.trace()
        room = 4 * [None]
        return {
            'tn_program_run': lambda: {'results': self.pointers(*room)},
            'tn_trace_control': lambda: {'results': self.pointers(*room)},
            'tn_trace_begin_sizes': lambda: {'ndims': 0},
            'tn_trace_begin_step_sizes': lambda: {'ndims': 0},
            'tn_program_describe_at': lambda: {'ndims': 0},
            'tn_trace_end': lambda: {'nresults': 0},
            'tn_trace_body_begin': lambda: {'count': 0},
            'tn_program_quantize': lambda: {'nsamples': 0},
            'tn_onnx_run': lambda: {'inputs': self.guarded(bytes(self.tensor_value())), 'results': self.guarded(bytes(24))},
            'tn_onnx_release_values': lambda: {'values': self.guarded(bytes(24))},
        }.get(function, dict)()

    def tensor_value(self):
        """A tn_onnx_value."""
        return (ctypes.c_uint64 * 3)(1, self.tensor(), 0)

    def by_type(self, function, kind, name):
        if kind == 'double':
            return 1.0
        if kind == 'tn_str' and name == 'path':
            reads = {'tn_program_load': self.net, 'tn_onnx_load': self.model_file}
            return reads.get(function.name, self.out)
        makers = {'tn_trace': self.trace, 'tn_program': lambda: self.make('tn_program_load', ('tn_str', self.net), ('tn_device *', None)),
                  'tn_onnx_model': lambda: self.make('tn_onnx_load', ('tn_str', self.model_file)),
                  'tn_onnx_export_options': lambda: None}
        base = kind.removeprefix('const ').split(' ')[0]
        if base in makers and kind.count('*') == 1:
            return makers[base]()
        if kind.endswith('int32_t *'):
            return self.guarded(bytes(4))
        return super().by_type(function, kind, name)

    def call(self, function, arguments):
        said = super().call(function, arguments)
        if function.name in ENDS_A_TRACE and arguments[0] in self.open:
            self.open.remove(arguments[0])
        if function.name.startswith('tn_trace_begin') and said[0] == 0:
            self.open.append(ctypes.c_void_p.from_address(arguments[-1]).value)
        return said

    def still_computes(self):
        while self.open:
            self.call_of('tn_trace_drop', 'void', ('tn_trace *', self.open.pop()))
        if problem := super().still_computes():
            return problem
        x, room = self.pointers(self.tensor()), self.pointers(None)
        program = self.make('tn_program_load', ('tn_str', self.net), ('tn_device *', None))
        code, message = self.take(self.call_of('tn_program_run', 'tn_status *', ('tn_program *', program), ('tn_tensor **', x),
                                               ('uint32_t', 1), ('tn_tensor **', room), ('uint32_t', 1)))
        return '' if code == 0 else f'leaves a program that fails: {message}'
