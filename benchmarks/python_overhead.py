#!/usr/bin/env python3
"""What Tenon costs from Python, beside NumPy and PyTorch: all in one process, their rounds interleaved.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported.
  python benchmarks/python_overhead.py                 a table on the screen
  python benchmarks/python_overhead.py --write         the table into benchmarks/python.md
"""
import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import timeit

HERE = pathlib.Path(__file__).resolve().parent

# What, code per library, the ratio to PyTorch's time to reach. a, b: 16 floats; p: with gradient.
ROWS = [
    ('`a + b`, 16 floats', dict.fromkeys(('tenon', 'numpy', 'torch'), 'a + b'), 8),
    ('`a + 1.0`, 16 floats', dict.fromkeys(('tenon', 'numpy', 'torch'), 'a + 1.0'), 12),
    ('`a + b` with gradient', dict.fromkeys(('tenon', 'torch'), 'p + b'), None),
    ('mul + sum + backward, 4 floats', dict.fromkeys(('tenon', 'torch'), '(q * r).sum().backward()'), 10),
    ('`-a`', dict.fromkeys(('tenon', 'numpy', 'torch'), '-a'), None),
    ('`a.sum()`', dict.fromkeys(('tenon', 'numpy', 'torch'), 'a.sum()'), None),
    ('`a.reshape(4, 4)`', dict.fromkeys(('tenon', 'numpy', 'torch'), 'a.reshape(4, 4)'), None),
    ('`a[0]`', dict.fromkeys(('tenon', 'numpy', 'torch'), 'a[0]'), None),
    ('`a[2:9:2]`', dict.fromkeys(('tenon', 'numpy', 'torch'), 'a[2:9:2]'), None),
    ('`softmax(a)`', {'tenon': 'tenon.softmax(a, 0)', 'torch': 'torch.softmax(a, 0)'}, None),
    ('4×4 `m @ m`', dict.fromkeys(('tenon', 'numpy', 'torch'), 'm @ m'), None),
    ('`a.shape`', dict.fromkeys(('tenon', 'numpy', 'torch'), 'a.shape'), None),
    ('`sum(a.tolist())`', dict.fromkeys(('tenon', 'numpy', 'torch'), 'sum(a.tolist())'), None),
]


def scopes():
    import numpy
    import tenon
    data = numpy.linspace(-1, 1, 16, dtype='float32')
    found = {'numpy': {'numpy': numpy, 'a': data, 'b': data[::-1].copy(), 'm': data.reshape(4, 4)}}
    libraries = {'tenon': tenon}
    try:
        import torch
        libraries['torch'] = torch
    except ImportError:
        print('PyTorch is not measured: it cannot be imported', file=sys.stderr)
    for name, library in libraries.items():
        make = library.tensor
        found[name] = {name: library, 'a': make(data), 'b': make(data[::-1].copy()), 'm': make(data.reshape(4, 4)),
                       'p': make(data).requires_grad_(), 'q': make(data[:4]).requires_grad_(), 'r': make(data[4:8])}
    return found


def measure(rounds, seconds):
    """Per row and library the seconds of one call, a number a round."""
    found = scopes()
    times = []
    for _, code, _ in ROWS:
        timers = {name: timeit.Timer(text, globals=found[name]) for name, text in code.items() if name in found}
        counts = {}
        for name, timer in timers.items():
            timer.timeit(1000)
            counts[name] = max(1, int(seconds / (timer.timeit(2000) / 2000)))
        row = {name: [] for name in timers}
        for _ in range(rounds):
            for name, timer in timers.items():
                row[name].append(timer.timeit(counts[name]) / counts[name])
        times.append(row)
    return times


IMPORT = """
import resource, sys, time
start = time.perf_counter()
import {name}
seconds = time.perf_counter() - start
{use}
kib = int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize() // 1024
import os
print(seconds, kib, os.path.dirname({name}.__file__))
"""


def measure_imports(rounds):
    uses = {'tenon': 'tenon.ones(2) + 1', 'torch': 'torch.ones(2) + 1', 'numpy': 'numpy.ones(2) + 1'}
    found = {}
    for _ in range(rounds):
        for name, use in uses.items():
            done = subprocess.run([sys.executable, '-c', IMPORT.format(name=name, use=use)], capture_output=True, text=True)
            if done.returncode == 0:
                seconds, kib, folder = done.stdout.split()
                entry = found.setdefault(name, {'seconds': [], 'kib': [], 'folder': folder})
                entry['seconds'].append(float(seconds))
                entry['kib'].append(int(kib))
    return found


def folder_size(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob('*') if path.is_file() and not path.is_symlink())


def text_of(times):
    """Median and the spread of the rounds."""
    scale, unit, digits = (1e9, 'ns', 0) if statistics.median(times) < 1e-6 else (1e6, 'µs', 2)
    middle, low, high = (f'{value * scale:.{digits}f}' for value in (statistics.median(times), min(times), max(times)))
    return f'{middle} {unit} ({low}–{high})'


def ratio(row, other):
    if other not in row:
        return '–'
    return f'{statistics.median(row[other]) / statistics.median(row["tenon"]):.1f}×'


def table(times, imports, package):
    lines = ['| work | Tenon | NumPy | PyTorch | PyTorch / Tenon | aim |', '|---|---|---|---|---|---|']
    for (what, _, aim), row in zip(ROWS, times):
        cells = [text_of(row[name]) if name in row else '–' for name in ('tenon', 'numpy', 'torch')]
        lines.append(f'| {what} | {" | ".join(cells)} | {ratio(row, "torch")} | {f"{aim}×" if aim else ""} |')
    def line(what, values, show, aim):
        cells = [show(values[name]) if name in values else '–' for name in ('tenon', 'numpy', 'torch')]
        share = f'{values["torch"] / values["tenon"]:.1f}×' if 'torch' in values else '–'
        lines.append(f'| {what} | {" | ".join(cells)} | {share} | {aim} |')
    median = {name: statistics.median(entry['seconds']) for name, entry in imports.items()}
    line('import', median, lambda s: f'{s * 1e3:.0f} ms', '20×')
    resident = {name: statistics.median(entry['kib']) for name, entry in imports.items()}
    line('resident after import and one op', resident, lambda k: f'{k / 1024:.0f} MiB', '8×')
    sizes = {name: folder_size(entry['folder']) for name, entry in imports.items()}
    if package:
        sizes['tenon'] = folder_size(package)
        line('installed size', sizes, lambda b: f'{b / 2 ** 20:.0f} MiB', '8×')
    return '\n'.join(lines)


def describe():
    facts = {}
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        key, _, value = line.partition(':')
        facts.setdefault(key.strip(), value.strip())
    model = facts.get('model name', platform.machine())
    if 'cpu family' in facts:  # virtual machines are given names that tell little
        model += f' (family {facts["cpu family"]}, model {facts["model"]})'
    versions = []
    for name in ('numpy', 'torch'):
        try:
            versions.append(f'{name} {__import__(name).__version__}')
        except ImportError:
            pass
    return f'{model}, {os.cpu_count()} processors; Python {platform.python_version()}, {", ".join(versions)}'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--seconds', type=float, default=0.02, help='of one library in one round')
    parser.add_argument('--package', help='folder of an installed package, for its size')
    parser.add_argument('--write', action='store_true', help='into benchmarks/python.md')
    options = parser.parse_args()
    imports = measure_imports(5)
    text = table(measure(options.rounds, options.seconds), imports, options.package)
    print(text)
    if options.write:
        head = ('# What Tenon costs from Python\n\nWritten by `benchmarks/python_overhead.py --write`: one process, the libraries '
                f'interleaved, medians of {options.rounds} rounds with the lowest and the highest.\n\n{describe()}.\n\n')
        (HERE / 'python.md').write_text(head + text + '\n')


if __name__ == '__main__':
    main()
