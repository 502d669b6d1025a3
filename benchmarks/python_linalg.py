#!/usr/bin/env python3
"""tenon.linalg and tenon.fft beside NumPy and PyTorch: all in one process, their rounds interleaved, each with its default threads.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported.
  python benchmarks/python_linalg.py                 a table on the screen
  python benchmarks/python_linalg.py --write         the table into benchmarks/python_linalg.md
"""
import argparse
import os
import pathlib
import platform
import statistics
import sys
import timeit

HERE = pathlib.Path(__file__).resolve().parent


def same(code):
    return {name: code.replace('L.', f'{name}.linalg.').replace('F.', f'{name}.fft.') for name in ('tenon', 'numpy', 'torch')}


# What, the operand, code per library. x: the operand, b: as many rows, p and c: the same with gradient and complex.
ROWS = [
    ('inv', (64, 64), same('L.inv(x)')),
    ('inv', (512, 512), same('L.inv(x)')),
    ('inv', (1000, 16, 16), same('L.inv(x)')),
    ('solve, one right side', (64, 64), same('L.solve(x, b)')),
    ('solve, one right side', (512, 512), same('L.solve(x, b)')),
    ('det', (64, 64), same('L.det(x)')),
    ('cholesky', (512, 512), same('L.cholesky(s)')),
    ('eigh', (64, 64), same('L.eigh(s)')),
    ('eigh', (512, 512), same('L.eigh(s)')),
    ('svd', (64, 64), same('L.svd(x)')),
    ('svd', (512, 512), same('L.svd(x)')),
    ('qr', (512, 512), same('L.qr(x)')),
    ('pinv', (64, 32), same('L.pinv(x)')),
    ('inv + backward', (64, 64), {name: f'{name}.linalg.inv(p).sum().backward()' for name in ('tenon', 'torch')}),
    ('slogdet + backward', (64, 64), {name: f'{name}.linalg.slogdet(p)[1].backward()' for name in ('tenon', 'torch')}),
    ('fft, complex', (64,), same('F.fft(c)')),
    ('fft, complex', (4096, 64), same('F.fft(c)')),
    ('fft, complex', (64, 4096), same('F.fft(c)')),
    ('fft2, complex', (512, 512), {**same('F.fftn(c)'), 'numpy': 'numpy.fft.fft2(c)'}),
    ('rfft', (4096, 64), same('F.rfft(x)')),
    ('rfft + irfft', (256, 1000), same('F.irfft(F.rfft(x))')),
    ('fft, a prime length', (64, 1009), same('F.fft(c)')),
    ('rfft + power + backward', (256, 1000), {'tenon': '(tenon.fft.rfft(p).abs() ** 2).sum().backward()',
                                           'torch': '(torch.fft.rfft(p).abs() ** 2).sum().backward()'}),
]


def libraries():
    import numpy
    import tenon
    found = {'tenon': tenon, 'numpy': numpy}
    try:
        import torch
        found['torch'] = torch
    except ImportError:
        print('PyTorch is not measured: it cannot be imported', file=sys.stderr)
    return found


def scopes(found, shape):
    """The operands in each library, the same numbers in float32."""
    import numpy
    rng = numpy.random.default_rng(0)
    x = rng.standard_normal(shape).astype('float32')
    arrays = {'x': x, 'c': (x + 1j * rng.standard_normal(shape)).astype('complex64')}
    if x.ndim > 1:
        arrays['b'] = rng.standard_normal((x.shape[-2], 1)).astype('float32')
    if x.ndim > 1 and x.shape[-1] == x.shape[-2]:
        arrays['x'] = x + 2 * numpy.sqrt(x.shape[-1], dtype='float32') * numpy.eye(x.shape[-1], dtype='float32')
        arrays['s'] = (x @ x.swapaxes(-1, -2) + numpy.eye(x.shape[-1])).astype('float32')
    made = {'numpy': {**arrays, 'numpy': found['numpy']}}
    for name in ('tenon', 'torch'):
        if name in found:
            made[name] = {key: found[name].tensor(value) for key, value in arrays.items()}
            made[name]['p'] = found[name].tensor(arrays['x']).requires_grad_()
            made[name][name] = found[name]
    return made


def measure(found, rounds, seconds):
    """Per row and library the seconds of one call, a number a round."""
    times = []
    for what, shape, code in ROWS:
        scope = scopes(found, shape)
        timers = {name: timeit.Timer(text, globals=scope[name]) for name, text in code.items() if name in scope}
        loops = {}
        for name, timer in timers.items():
            timer.timeit(2)
            loops[name] = max(1, int(seconds / min(timer.repeat(3, 1))))
        samples = {name: [] for name in timers}
        for number in range(rounds):
            order = list(timers) if number % 2 == 0 else list(timers)[::-1]
            for name in order:
                samples[name].append(timers[name].timeit(loops[name]) / loops[name])
        times.append(samples)
        print(f'{what} {shape}: ' + ', '.join(f'{name} {text_of(values)}' for name, values in samples.items()), file=sys.stderr)
    return times


def text_of(values):
    """Median with lowest and highest."""
    unit, factor = next((u, f) for u, f in (('ms', 1e3), ('µs', 1e6)) if statistics.median(values) * f >= 1 or u == 'µs')
    middle, low, high = (f * factor for f in (statistics.median(values), min(values), max(values)))
    digits = 0 if middle >= 100 else 1 if middle >= 10 else 2
    return f'{middle:.{digits}f} {unit} ({low:.{digits}f}–{high:.{digits}f})'


def ratio(samples, name):
    """The median of the rounds' ratios to tenon."""
    if name not in samples:
        return '–'
    return f'{statistics.median(a / b for a, b in zip(samples[name], samples["tenon"])):.2f}×'


def processor():
    for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
        if line.startswith('model name'):
            return line.split(':')[1].strip()
    return platform.machine()


def report(found, times, rounds, load):
    versions = ', '.join(f'{name} {library.__version__}' for name, library in found.items() if name != 'tenon')
    lines = ['# tenon.linalg and tenon.fft beside NumPy and PyTorch', '',
             f'Written by `benchmarks/python_linalg.py --write`: one process, the libraries interleaved, medians of {rounds} rounds with the '
             'lowest and the highest, ratios as medians of the rounds\' ratios: above 1 Tenon is faster. float32 and complex64; NumPy\'s '
             'transforms of complex64 stay in it since 2.0.', '',
             f'{processor()}, {os.cpu_count()} processors, load average {load:.0f} when it began; Python {platform.python_version()}, '
             f'{versions}. What uses several threads suffers from other work on the machine, the peers more than Tenon, which uses one '
             'for a matrix below 1024 rows: where the load is above the number of processors, large ratios tell that, and not speed alone.',
             '',
             '| work | shape | Tenon | NumPy | PyTorch | NumPy / Tenon | PyTorch / Tenon |', '|---|---|---|---|---|---|---|']
    for (what, shape, _), samples in zip(ROWS, times):
        cells = [text_of(samples[name]) if name in samples else '–' for name in ('tenon', 'numpy', 'torch')]
        lines.append(f'| {what} | {"×".join(map(str, shape))} | ' + ' | '.join(cells) +
                     f' | {ratio(samples, "numpy")} | {ratio(samples, "torch")} |')
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--seconds', type=float, default=0.02, help='of each round and library')
    options = parser.parse_args()
    found = libraries()
    load = os.getloadavg()[0]
    text = report(found, measure(found, options.rounds, options.seconds), options.rounds, load)
    print(text)
    if options.write:
        (HERE / 'python_linalg.md').write_text(text)


if __name__ == '__main__':
    main()
