#!/usr/bin/env python3
"""Every op that both libraries name, on the CPU beside PyTorch's: three sizes, two layouts, one process, rounds interleaved.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported.
  python benchmarks/ops.py                       a table on the screen, some 20 minutes
  python benchmarks/ops.py --only sort           the ops whose name contains sort
  python benchmarks/ops.py --dtype bfloat16      where both have the op in it
  python benchmarks/ops.py --write               the table into benchmarks/ops.md, under the processor's name
  ./dev bench ops --rounds 3                     the same with what it needs installed first
"""
import pathlib
import statistics
import time

from ops_rows import ROWS, Operands, size_of
from peaks import Peaks
from python_overhead import describe
from sections import begin, command_line, rest, run_report
from sides import sides

REPORT = pathlib.Path(__file__).resolve().parent / 'ops.md'
INTRODUCTION = """# Ops on the CPU

Made by `benchmarks/ops.py` (`./dev bench ops --write`): PyTorch's time over Tenon's, by medians of the same rounds in one process, with as
many threads. **Bold**: Tenon is slower. ≈: the rounds of the two overlap, so the ratio says little. Sizes are those of the
operand: 64×64, 512×512, 4096×1024 numbers (matrix products: square ones of 64, 256, 1024; convolutions: 8 images of 16 channels of 8×8,
32 of 28×28, 64 of 56×56), as they lie or transposed. The share is that of the measured peak at the largest size, as it lies: of the
memory's speed, counting operands and results once, or of the multiplications of f32, Tenon's and PyTorch's; –: neither is the limit.
"""
SIZES = ('64×64', '512×512', '4096×1024')
LAYOUTS = ('', 'ᵀ')
ROUND = 0.01  # seconds


def seconds(work, count):
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count


def measure(works, rounds):
    """Seconds of a call by library, a number a round."""
    counts = []
    for work in works:
        work()
        counts.append(max(1, min(2000, int(ROUND / max(seconds(work, 2), 1e-7)))))
    times = [[] for _ in works]
    for _ in range(rounds):
        for work, count, own in zip(works, counts, times):
            rest()
            work()  # brings caches and threads back
            own.append(seconds(work, count))
    return times


class Cell:
    def __init__(self, times, works, operands, flops):
        self.times = times
        self.ratio = statistics.median(times[1]) / statistics.median(times[0]) if len(times) == 2 else None
        self.unclear = len(times) == 2 and min(times[1]) < max(times[0]) and min(times[0]) < max(times[1])
        self.bytes = 0 if flops else size_of([operands.made, works[0]()])
        self.flops = flops(operands) if flops else 0

    def text(self):
        if self.ratio is None:
            return f'{1e6 * statistics.median(self.times[0]):.3g} µs'
        shown = f'{self.ratio:.2f}' if self.ratio < 10 else f'{self.ratio:.0f}'
        return ('≈' if self.unclear else '') + (f'**{shown}**' if self.ratio < 0.995 else shown)

    def shares(self, peaks):
        """Of the peak that limits the op, by library."""
        amount, peak = (self.flops, peaks.flops) if self.flops else (self.bytes, peaks.bytes)
        return [amount / statistics.median(own) / peak for own in self.times] if amount else []


def cell_of(row, found, size, transposed, options):
    """None where a library has not got the op in this dtype."""
    _, make, flops = row
    works, operands = [], []
    try:
        for side in found:
            operands.append(Operands(side, size, transposed, options.dtype))
            works.append(make(operands[-1]))
            works[-1]()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        if options.dtype == 'float32':
            raise SystemExit(f'ops: {row[0]} of {SIZES[size]} in {operands[-1].side.name}: {error}') from error
        return None
    return Cell(measure(works, options.rounds), works, operands[0], flops)


def measure_row(row, found, options):
    return {(size, layout): cell_of(row, found, size, layout == 1, options)
            for size in range(len(SIZES)) for layout in range(len(LAYOUTS))}


def line(row, cells, peaks):
    texts = [cell.text() if cell else '–' for cell in cells.values()]
    largest = cells[len(SIZES) - 1, 0]
    shares = largest.shares(peaks) if largest else []
    return f'| {row[0]} | {" | ".join(texts)} | {" · ".join(f"{share:.0%}" for share in shares) or "–"} |'


def summary(ratios):
    """ratios: by size, layout and name."""
    low = sorted((cell.ratio, f'{name} {SIZES[size]}{LAYOUTS[layout]}') for (size, layout, name), cell in ratios.items()
                 if cell.ratio < 0.995 and not cell.unclear)
    means = ', '.join(f'{title} {statistics.geometric_mean(cell.ratio for key, cell in ratios.items() if key[0] == size):.2f}'
                      for size, title in enumerate(SIZES))
    every = [cell.ratio for cell in ratios.values()]
    return [f'Geometric mean of {len(every)} ratios: {statistics.geometric_mean(every):.2f} ({means}).',
            f'Clearly below 1: {len(low)}' + (': ' if low else '.') + ', '.join(f'{name} {ratio:.2f}' for ratio, name in low)]


def report(options, rows):
    found = sides(None, 'cpu')
    peaks = Peaks(found[0].library)
    head = ['', *(f'{size}{layout}' for size in SIZES for layout in LAYOUTS), 'share of peak']
    lines = begin(f'{describe()}, {options.dtype}',
                  f'{options.rounds} rounds. {peaks}', head)
    ratios = {}
    for row in rows:
        cells = measure_row(row, found, options)
        lines.append(line(row, cells, peaks))
        print(lines[-1], flush=True)
        ratios.update({(*key, row[0]): cell for key, cell in cells.items() if cell and cell.ratio})
    if ratios:
        lines += ['', *summary(ratios)]
        print('\n'.join(lines[-3:]))
    return '\n'.join(lines)


def main():
    parser = command_line(__doc__, 'ops.md', 7, 'ops')
    parser.add_argument('--dtype', choices=['float32', 'float64', 'bfloat16', 'float16'], default='float32')
    options = parser.parse_args()
    run_report(parser, options, ROWS, report, REPORT, INTRODUCTION, 'an op', ', ')


if __name__ == '__main__':
    main()
