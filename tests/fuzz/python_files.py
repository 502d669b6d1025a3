#!/usr/bin/env python3
"""Gives changed files to every reader of the Python package: bits, lengths and numbers changed, parts cut off, repeated or nested.

A reader takes a file, and what it gives can be used, or refuses it by an error that names the file. Cases run in children of limited memory.

usage: python_files.py [--only KIND] [--count N] [--seed S] [--seconds T]
       python_files.py --again 'KIND SEED NUMBER' FILE
N files of each kind; with --seconds they go on, from one seed to the next, until the time is up. --again writes the file of a finding and
reads it in this process. The package is found by PYTHONPATH.
"""

import argparse
import functools
import io
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tenon
import tenon.torch as torch
from python_children import add_rounds, limit_memory, run_cases, run_rounds

CORPUS = pathlib.Path(__file__).resolve().parent / 'inputs/corpus'
NUMBERS = (0, 1, -1, 2, 7, 255, 2 ** 16, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 62, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1)
REFUSES = (tenon.Error, ValueError, OSError, NotImplementedError, TypeError)


# ---- Files that are right --------------------------------------------------------------------------------------------------------

def tensors():
    return {'weight': torch.arange(6.).reshape(2, 3), 'bias': torch.ones(3, dtype=torch.bfloat16), 'steps': torch.tensor(7), 'empty': torch.zeros(0, 2)}


def saved(save, suffix):
    """The bytes that save(path) writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / f'file{suffix}')
        save(path)
        return pathlib.Path(path).read_bytes()


def arrays():
    plain = {name: x.float() for name, x in tensors().items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(lambda path: tenon.io.save(path, plain), '.npz'))) as archive, zipfile.ZipFile(packed, 'w', zipfile.ZIP_DEFLATED) as into:
        for name in archive.namelist():
            into.writestr(name, archive.read(name))
    return [saved(lambda path: tenon.io.save(path, plain), '.npz'), packed.getvalue()]


def checkpoints():
    state = {'model': tensors(), 'again': [torch.nn.Parameter(torch.ones(2))] * 2, 'view': torch.ones(4, 4)[1:, ::2], 'plain': [1, 'a', b'b', None, (2.5, True), {3}]}
    return [saved(lambda path: torch.save(state, path), '.pt'), rezipped(saved(lambda path: torch.save(1, path), '.pt'), {'archive/data.pkl': b'\x80\x02' + b']' * 50_000 + b'a' * 49_999 + b'.'}),
            saved(lambda path: torch.save([torch.ones(1).expand(2, 3)], path), '.pt')]


def rezipped(data, changed=(), doubled=(), method=zipfile.ZIP_STORED):
    """A zip file with other records, whose checksums are right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, 'w', method) as into:
        for name in archive.namelist():
            for _ in range(2 if name in doubled else 1):
                into.writestr(name, dict(changed).get(name, archive.read(name)))
    return out.getvalue()


def network():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()


def corpus(kind):
    return [path.read_bytes() for path in sorted((CORPUS / kind).iterdir())]


# ---- Readers -----------------------------------------------------------------------------------------------------------------------

def used(value):
    """Looks at all elements of what was read, however deeply it lies."""
    waiting, seen = [value], set()
    while waiting:
        x = waiting.pop()
        if isinstance(x, tenon.Tensor):
            if x.nbytes < 1 << 24:
                x.tobytes()
        elif isinstance(x, (list, tuple, dict, set)) and id(x) not in seen:
            seen.add(id(x))
            waiting += [*x, *(x.values() if isinstance(x, dict) else ())]


def run_program(path):
    program = tenon.graph.load(path)
    repr(program)
    return program(torch.ones(2, 3))


def run_export(path):
    with open(path, 'rb') as file:
        return torch.export.load(file).module()(torch.ones(2, 3))


def run_model(path):
    return tenon.onnx.load(path)(torch.ones(2, 3))


def run_command(path):
    """What `tenon onnx` says; an error of it is ours."""
    done = subprocess.run([shutil.which('tenon') or 'tenon', 'onnx', path], capture_output=True, text=True, errors='replace', check=False)
    if done.returncode < 0 or done.returncode > 2:
        raise SystemError(f'tenon onnx ends with {done.returncode}: {done.stderr[-200:]}')
    if done.returncode:
        raise ValueError(done.stderr)


KINDS = {
    'npz': ('.npz', arrays, (tenon.io.load,)),
    'pt': ('.pt', checkpoints, (torch.load, functools.partial(torch.load, map_location='cpu'))),
    'safetensors': ('.safetensors', lambda: [saved(lambda path: tenon.io.save(path, tensors(), {'a': 'b'}), '.safetensors')], (tenon.io.load, tenon.io.load_metadata, torch.load)),
    'gguf': ('.gguf', lambda: corpus('gguf'), (tenon.io.load_gguf,)),
    'idx': ('.gz', lambda: corpus('idx'), (tenon.data.read_idx,)),
    'graph': ('.tenon', lambda: [saved(tenon.graph.trace(network(), torch.ones(2, 3)).save, '.tenon')], (tenon.graph.load, run_program)),
    'export': ('.pt2', lambda: [saved(lambda path: torch.export.save(torch.export.export(network(), (torch.ones(2, 3),)), path), '.pt2')], (run_export,)),
    'onnx': ('.onnx', lambda: [*corpus('onnx'), saved(lambda path: tenon.onnx.export(network(), [torch.ones(2, 3)], path), '.onnx')],
             (tenon.onnx.load, run_model)),
    'command': ('.onnx', lambda: [*corpus('onnx'), saved(lambda path: tenon.onnx.export(network(), [torch.ones(2, 3)], path), '.onnx')], (run_command,)),
}


@functools.cache
def originals(kind):
    return KINDS[kind][1]()


# ---- Changes -----------------------------------------------------------------------------------------------------------------------

def flip(draw, data):
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1:]


def cut(draw, data):
    return data[:draw.randrange(len(data))]


def integer(draw, data):
    size = draw.choice((1, 2, 4, 8))
    number = (draw.choice(NUMBERS) + draw.choice((0, 0, 1, -1))) % 256 ** size
    at = draw.randrange(len(data)) // draw.choice((1, size)) * 1
    return data[:at] + number.to_bytes(size, draw.choice(('little', 'big'))) + data[at + size:]


def text(draw, data):
    """Another number where there is one in digits."""
    found = list(re.finditer(rb'\d+', data))
    if not found:
        return flip(draw, data)
    one = draw.choice(found)
    other = draw.choice([str(number).encode() for number in NUMBERS] + [b'1e999', b'9' * 4000, b'0.5', b'[' * 1000, b'nan', b'null', b'""'])
    return data[:one.start()] + other + data[one.end():]


def doubled(draw, data):
    a, b = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    return data[:b] + data[a:b] + data[b:]


def without(draw, data):
    a, b = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    return data[:a] + data[b:]


def record(draw, data):
    """One record of a zip file changed, its checksum right."""
    if data[:2] != b'PK':
        return flip(draw, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = draw.choice(archive.namelist())
        content = archive.read(name) or b'\0'
    way = draw.randrange(6)
    if way == 0:
        return rezipped(data, doubled=(name,))
    if way == 1:
        return rezipped(data, {name: content + bytes(1 << 22)}, method=zipfile.ZIP_DEFLATED)
    return rezipped(data, {name: draw.choice((flip, cut, integer, text, doubled, without))(draw, content)})


def changed(kind, seed, number):
    draw = random.Random(f'{kind} {seed} {number}')
    data = draw.choice(originals(kind))
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        ways = (flip, cut, integer, integer, text, text, doubled, without)
        try:
            data = draw.choice((*ways, *(record,) * 6) if data[:2] == b'PK' else ways)(draw, data or b'\0')
        except (zipfile.BadZipFile, ValueError, EOFError, struct.error, OSError, NotImplementedError, RuntimeError, zlib.error):
            pass  # what was changed before is no zip file
    return data


def judge(read, path, error):
    """What is wrong with an error of a reader, or ''. What runs, or reads from an open file, knows no name."""
    if not isinstance(error, REFUSES) or isinstance(error, (tenon.InternalError, SystemError)):
        return 'ends in a defect'
    if read not in (run_export, run_model, run_program) and pathlib.Path(path).name not in str(error):
        return 'names no file'
    return ''


def verdict(case, path=None):
    """What is wrong with a case, or ''; it may also kill the process."""
    kind, seed, number = case.split()
    path = path or f'file{KINDS[kind][0]}'
    pathlib.Path(path).write_bytes(changed(kind, seed, number))
    for read in KINDS[kind][2]:
        try:
            used(read(path))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            if problem := judge(read, path, error):
                return f'{problem}: {type(error).__name__}: {str(error)[:160]!r} at {pathlib.Path(where.filename).name}:{where.lineno}'
    return ''


def run(options, seed):
    """(what was read, findings) of all kinds."""
    files = faults = 0
    for kind in options.kinds:
        originals(kind)
        count = max(1, options.count // (10 if kind == 'command' else 1))
        for text, problem in run_cases([f'{kind} {seed} {number}' for number in range(count)], verdict):
            print(f'FOUND {kind}: {problem}: --again {text!r} FILE', flush=True)
            faults += 1
        files += count
        if time.monotonic() > options.end:
            break
    return f'{files} files of {len(options.kinds)} kinds', faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', choices=KINDS)
    parser.add_argument('--again', nargs=2, metavar=('CASE', 'FILE'))
    add_rounds(parser, 200)
    options = parser.parse_args()
    if options.again:
        limit_memory()
        print(verdict(*options.again) or 'as it should be')
        return 0
    options.kinds = [options.only] if options.only else [kind for kind in KINDS if kind != 'command' or shutil.which('tenon')]
    return run_rounds(options, run)


if __name__ == '__main__':
    sys.exit(main())
