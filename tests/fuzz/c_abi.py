#!/usr/bin/env python3
"""Calls every function that libtenon exports, or gives to plugins, as nobody should: with NULL for each pointer in turn, with enums and counts that mean
nothing, and with structs that end early, each before a page that may not be touched. Functions, parameters and structs are
those of the lock (sdk/abi), so what is added there is called here. With --graphs, those of tenon/graph.h and tenon/onnx.h instead.

Each function runs in a child. It must survive, and one that returns a status must refuse what it needs with TN_INVALID_ARGUMENT and
accept what may be left out (MAY_BE_NULL).

usage: c_abi.py LIBTENON [--graphs LIBTENON_GRAPH LIBTENON_ONNX] [--only NAME] [--rounds N] [--seed S] [--seconds T]
N calls of each function have several faults at once; with --seconds they go on, from one seed to the next, until the time is up.
"""

import argparse
import ctypes
import mmap
import os
import pathlib
import random
import resource
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import c_abi_graphs
from c_abi_world import World, is_count, is_pointer, read_functions

INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED, FAILED_PRECONDITION = 1, 3, 5, 7
GARBAGE = (1, 17, 255, 2 ** 31 - 1, 2 ** 32 - 1)
LIMITED, LIMIT = ('ndim', 'nargs', 'nouts'), 16  # counts that are known to be wrong before what they count is looked at
# What a function that returns a status does without. "ctx" belongs to the caller.
MAY_BE_NULL = {
    'tn_backward': {'grads'}, 'tn_backward_on_end': {'destroy'}, 'tn_gradient': {'grads'}, 'tn_tensor_add_hook': {'destroy', 'id'},
    'tn_tensor_add_step_hook': {'destroy', 'id'}, 'tn_tensor_empty': {'device'},
    'tn_tensor_from_host': {'device'}, 'tn_storage_restore': {'fill'}, 'tn_tensor_set_grad': {'grad'}, 'tn_tensor_wrap_host': {'strides', 'release'}, 'tn_tensor_reinterpret': {'strides'},
}
# What a good call of these gives here, where devices exist, no backward pass runs, the only plugin offers no interface, and no device
# records graphs, so that there is none to pass.
MAY_FAIL = {'tn_layer_set': FAILED_PRECONDITION, 'tn_backward_on_end': FAILED_PRECONDITION, 'tn_plugin_interface': NOT_FOUND,
            'tn_graph_begin': UNIMPLEMENTED, 'tn_graph_end': INVALID_ARGUMENT, 'tn_graph_replay': INVALID_ARGUMENT,
            'tn_graph_get_stats': INVALID_ARGUMENT}


class Case:
    """One call: which arguments of a good one are replaced, and what has to come of it ("good", "refused" or "alive")."""

    def __init__(self, label, wants, replaced):
        self.label, self.wants, self.replaced = label, wants, replaced


def host_name(function):
    """A slot of the host's table does what the function of its name does."""
    return function.name.replace('tn_host.', 'tn_')


def null_cases(function):
    for kind, name in function.parameters:
        if not is_pointer(kind) and kind != 'tn_str':
            continue
        optional = name == 'ctx' or name in MAY_BE_NULL.get(host_name(function), ())
        wants = 'alive' if not function.returns_status or function.of_a_plugin else 'good' if optional else 'refused'
        yield Case(f'{name} NULL', wants, {name: lambda world: world.null_text(0)} if kind == 'tn_str' else {name: lambda world: None})
        if kind == 'tn_str':
            yield Case(f'{name} NULL of 5 bytes', wants, {name: lambda world: world.null_text(5)})
            yield Case(f'{name} garbage', 'alive', {name: lambda world: world.text(b'\xff\0\x80' * 40)})
    pointers = {name: lambda world: None for kind, name in function.parameters if is_pointer(kind)}
    yield Case('every pointer NULL', 'alive', pointers)


def number_cases(function):
    for kind, name in function.parameters:
        if kind in ('uint32_t', 'tn_dtype', 'uint64_t', 'int64_t'):
            for value in (*GARBAGE, -2 ** 63) if kind == 'int64_t' else GARBAGE:
                if not is_count(name) or (name in LIMITED and value > LIMIT):
                    yield Case(f'{name} {value}', 'alive', {name: lambda world, value=value: value})
        elif kind == 'const int64_t *':
            for value in (-1, -2 ** 63, 2 ** 63 - 1, 2 ** 40):
                yield Case(f'{name} of {value}', 'alive', {name: lambda world, value=value: world.longs(value)})


def struct_cases(function, structs):
    for kind, name in function.parameters:
        struct = structs.get(kind.removeprefix('const ').removesuffix(' *'))
        if struct is None or not struct.extensible or not kind.endswith(' *'):
            continue
        ends = {each.offset + each.size for each in struct.fields}
        for size in sorted({0, 4, struct.size + 64} | ends):
            yield Case(f'{name} of {size} bytes', 'alive', {name: lambda world, s=struct, size=size: world.struct(s, size)})
        for each in struct.fields:
            if '*' in each.type:
                yield Case(f'{name}.{each.name} NULL', 'alive', {name: lambda world, s=struct, each=each: world.struct(s, s.size, each)})


def value_cases(function):
    if ('const tn_value *', 'args') not in function.parameters:
        return
    for tag in (*range(18), 2 ** 32 - 1):
        for count in (0, 1, 2 ** 32 - 1):
            yield Case(f'args of tag {tag}, {count} entries at NULL', 'alive',
                       {'args': lambda world, tag=tag, count=count: world.values(tag, count)})


def random_cases(function, cases, rounds, seed):
    """Several of the faults at once."""
    engine = random.Random(f'{seed} {function.name}')
    for i in range(rounds if cases else 0):
        replaced = {}
        for case in engine.sample(cases, min(len(cases), engine.randint(2, 4))):
            replaced.update(case.replaced)
        yield Case(f'round {i}: {", ".join(replaced)}', 'alive', replaced)


def cases_of(function, structs, rounds, seed):
    faults = [*null_cases(function), *number_cases(function), *struct_cases(function, structs), *value_cases(function)]
    good = function.returns_status and not function.of_a_plugin
    return [Case('a good call', 'good' if good else 'alive', {}), *faults,
            *random_cases(function, faults, rounds, seed)]


# ---- Children -------------------------------------------------------------------------------------------------------------------

def judge(function, case, code, message):
    if case.wants == 'good' and code != MAY_FAIL.get(host_name(function), 0):
        return f'fails with status {code}: {message}'
    if case.wants == 'refused' and code not in (INVALID_ARGUMENT, c_abi_graphs.MAY_FAIL.get(function.name)):
        return 'is accepted' if code == 0 else f'gives status {code} ({message}), not TN_INVALID_ARGUMENT'
    return ''


def run_child(make_world, function, cases, progress, report):
    """The cases from progress[0] on; what is wrong goes to the pipe."""
    world = make_world(function.slot >= 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # tn_host.log and others may speak
    while progress[0] < len(cases):
        case = cases[progress[0]]
        arguments = world.arguments(function, case.replaced)
        code, message = world.call(function, arguments)
        if problem := judge(function, case, code, message) or world.still_computes():
            os.write(report, f'{case.label}: {problem}\n'.encode())
        progress[0] += 1
    os._exit(0)


def run_function(make_world, function, cases):
    """(calls, faults) of one function; a child that dies is followed by one that goes on behind the case that killed it."""
    progress = (ctypes.c_uint32 * 1).from_buffer(mmap.mmap(-1, mmap.PAGESIZE))
    faults = []
    while progress[0] < len(cases):
        source, sink = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(source)
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))  # of computing, so that a busy machine finds nothing
            try:
                run_child(make_world, function, cases, progress, sink)
            except BaseException as error:  # the parent must hear of it
                os.write(sink, f'{cases[progress[0]].label}: {type(error).__name__}: {error}\n'.encode())
            os._exit(1)
        os.close(sink)
        with os.fdopen(source) as lines:
            faults += lines.read().splitlines()
        _, status = os.waitpid(child, 0)
        if status == 0:
            break
        label = cases[progress[0]].label
        if os.WIFSIGNALED(status):
            faults.append(f'{label}: dies of {signal.Signals(os.WTERMSIG(status)).name}')
        elif not faults:
            faults.append(f'{label}: ends the process with {os.WEXITSTATUS(status)}')
        progress[0] += 1
    return len(cases), faults


def run(options, functions, structs, seed, folder):
    """(calls, faults) of all functions."""
    def make_world(layered):
        if options.graphs:
            return c_abi_graphs.Graphs(options.library, structs, layered, options.graphs, folder)
        return World(options.library, structs, layered)

    calls = faults = 0
    for function in functions:
        count, found = run_function(make_world, function, cases_of(function, structs, options.rounds, seed))
        for fault in found:
            print(f'FOUND {function.name}: {fault} (--only {function.name} --rounds {options.rounds} --seed {seed})', flush=True)
        calls, faults = calls + count, faults + len(found)
    return calls, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('library')
    parser.add_argument('--graphs', nargs=2, metavar=('LIBTENON_GRAPH', 'LIBTENON_ONNX'))
    parser.add_argument('--only', default='')
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--seconds', type=float, default=0)
    parser.add_argument('--jobs', help='taken and ignored, as ./dev fuzz gives it to all')
    options = parser.parse_args()
    functions, structs, missing = read_functions(options.library)
    if options.graphs:
        (functions, more), missing = c_abi_graphs.read_functions(), []
        structs.update(more)
        MAY_BE_NULL.update(c_abi_graphs.MAY_BE_NULL)
        MAY_FAIL.update(c_abi_graphs.MAY_FAIL)
    functions = [each for each in functions if options.only in each.name]
    for name in missing:
        print(f'FOUND {name}: exported, but neither in the lock nor in the header of a draft')
    with tempfile.TemporaryDirectory(prefix='tenon-c-abi-') as folder:
        return run_until_end(options, functions, structs, len(missing), folder)


def run_until_end(options, functions, structs, faults, folder):
    """The exit status."""
    end, seed = time.monotonic() + options.seconds, options.seed
    while True:
        calls, found = run(options, functions, structs, seed, folder)
        print(f'{calls} calls of {len(functions)} functions, {found} faults', file=sys.stderr, flush=True)
        seed, faults = seed + 1, faults + found
        if time.monotonic() >= end:
            return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
