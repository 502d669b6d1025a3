#!/usr/bin/env python3
"""Inference and training steps as recorded graphs (tenon.graph) beside the same eager calls, and PyTorch's: one process, runs interleaved.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported.
  python benchmarks/graphs.py                    a table on the screen
  python benchmarks/graphs.py --only minilm      the rows whose name contains minilm
  python benchmarks/graphs.py --write            the table into benchmarks/graphs.md, under the processor's name
  ./dev bench graphs --rounds 3                  the same with what it needs installed first
"""
import functools
import pathlib
import statistics
import time

import models
import numpy as np
from device import cell
from python_overhead import describe
from sections import begin, command_line, rest, run_report
from sides import sides

REPORT = pathlib.Path(__file__).resolve().parent / 'graphs.md'
INTRODUCTION = """# Graphs

Made by `benchmarks/graphs.py` (`./dev bench graphs --write`). A network in `eval` mode under `no_grad`, f32: recorded once by
`tenon.graph.trace` and run, the same network called eagerly, and PyTorch's eager mode; a step of training, forward, loss, backward and SGD
with momentum, recorded by `tenon.compile`. One process, runs interleaved, medians. Ratios are times over the graph's. The last columns are what the graph works in beside weights, inputs and results, and what that were if no two
intermediate results shared memory.

Below them is what a new combination of sizes takes: runs at sizes that a program has not met, minus the time of later ones. The first calls
the ops that were recorded where that is less work than a plan, as at all sizes here; the second makes a plan. It is processor time of one
thread, the median of 40 sizes, and the same over the ops that were recorded.
"""


def mlp(nn, _):
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def chain(nn, library):
    class Chain(nn.Module):
        def forward(self, x):
            for _ in range(100):
                x = library.tanh(x * 0.9 + 0.1)
            return x
    return Chain()


def cheap(nn, _):
    """Eight ops that cost less than the memory they move."""
    class Cheap(nn.Module):
        def forward(self, x):
            y = (x * 0.5 + 0.25) * x - 0.1
            return (abs(y) * y + 1) / 2
    return Cheap()


def norm(nn, library):
    """What no kernel is made for: each row over the root of its mean square, scaled."""
    class Norm(nn.Module):
        def forward(self, x):
            return (x / (x * x).mean(-1, keepdim=True).sqrt() * 1.5 + 0.5).tanh()
    return Norm()


def rows_of(*shape):
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


ROWS = [('mlp 64-64-10, 1', mlp, rows_of(1, 64), False), ('mlp 64-64-10, 32', mlp, rows_of(32, 64), False),
        ('300 cheap ops, 16 floats', chain, rows_of(16), False), ('300 cheap ops, 100,000 floats', chain, rows_of(100_000), False),
        ('mlp 64-64-10, 32, training', mlp, rows_of(32, 64), True),
        ('8 cheap ops, 4 Mi floats', cheap, rows_of(4 << 20), False), ('8 cheap ops, 16,384 floats', cheap, rows_of(16384), False),
        ('norm of rows, 512×1024', norm, rows_of(512, 1024), False), ('norm of rows, 64×64', norm, rows_of(64, 64), False),
        *(row for row in models.ROWS if not row[3] or row[0] in ('resnet18, training, 8×64²', 'char-gpt, training, 8×64'))]


def rms(nn, _):
    """The norm above, 50 times."""
    class Norms(nn.Module):
        def forward(self, x):
            for _ in range(50):
                x = (x / (x * x).mean(-1, keepdim=True).sqrt() * 1.5 + 0.5).tanh()
            return x
    return Norms()


def residual(nn, _):
    """43 blocks of seven ops, of which fusion takes four."""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, x):
            return x + self.down((self.up(self.norm(x)) * 1.5).tanh()) * 0.5
    return nn.Sequential(*[Block() for _ in range(43)])


def encoder(nn, _):
    return nn.Sequential(*[nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(6)])


NEW_SIZES = [('300 cheap ops, n×8', chain, (5, 8), {0: 'n'}), ('50 norms of rows, n×64', rms, (5, 64), {0: 'n'}),
             ('43 residual blocks, n×32', residual, (5, 32), {0: 'n'}), ('6 encoder layers, n×5×64', encoder, (2, 5, 64), {0: 'n', 1: 'length'})]


def new_size(library, build, shape, dynamic):
    """Ops that are recorded, and seconds that the first and the second run take more than the third at sizes which the program has not met."""
    net = build(library.nn, library).eval()
    with library.no_grad():
        program = library.graph.trace(lambda x: net(x), library.zeros(*shape), dynamic={'x': dynamic})
        program(library.zeros(*shape))
        extra = []
        for n in range(7, 47):
            x, times = library.zeros(n, *shape[1:]), []
            for _ in range(3):
                begin = time.process_time()
                program(x)
                times.append(time.process_time() - begin)
            extra.append([some - times[2] for some in times[:2]])
    return str(program).count(' = '), *map(statistics.median, zip(*extra))


def new_sizes(library):
    lines = ['', '| a new combination of sizes | ops | first run | an op | second run | an op |', '|---|---|---|---|---|---|']
    for name, *what in NEW_SIZES:
        count, *both = new_size(library, *what)
        cells = [text for one in both for text in (f'{one * 1e6:,.0f} µs', f'{one / count * 1e6:.2f} µs')]
        lines.append(f'| {name} | {count} | {" | ".join(cells)} |')
    print('\n'.join(lines), flush=True)
    return lines


def seconds(fn, count):
    fn()
    start = time.perf_counter()
    for _ in range(count):
        fn()
    return (time.perf_counter() - start) / count


def measure(row, rounds, found):
    works = [models.Work(side, row, 'float32') for side in found]
    ours, tenon = works[0], found[0].library
    if ours.train:
        step = tenon.compile(models.Work(found[0], row, 'float32').__call__)
        step(), step()
        program, graph = step._ready.program, step
    else:
        program = tenon.graph.trace(ours.net, ours.x)
        graph = functools.partial(program, ours.x)
    callables = [graph, *works]
    for fn in callables:
        fn()
    count = max(1, int(0.02 / seconds(ours, 3)))  # of one round: as many as fill 20 ms
    times = [[] for _ in callables]
    for _ in range(rounds):
        for fn, own in zip(callables, times):
            rest()
            own.append(seconds(fn, count))
    return times, program._program.facts


def report(options, rows):
    found = sides(None, 'cpu')
    both = len(found) == 2
    head = ['', 'graph', 'eager', *(['PyTorch'] if both else []), 'eager / graph', *(['PyTorch / graph'] if both else []), 'KiB', 'unshared']
    lines = begin(f'{describe()}, float32', f'{options.rounds} rounds: median (lowest–highest).', head)
    ratios = []
    for row in rows:
        times, facts = measure(row, options.rounds, found)
        middle = [statistics.median(own) for own in times]
        ratios.append([other / middle[0] for other in middle[1:]])
        cells = [*(cell(own) for own in times), *(f'**{r:.2f}**' if r < 1 else f'{r:.2f}' for r in ratios[-1])]
        lines.append(f'| {row[0]} | ' + ' | '.join([*cells, f'{facts["arena"] / 1024:,.0f}', f'{facts["unshared"] / 1024:,.0f}']) + ' |')
        print(lines[-1], flush=True)
    if len(rows) > 1:
        means = [f'{statistics.geometric_mean(column):.2f}' for column in zip(*ratios)]
        lines += ['', f'Geometric means of the ratios: {", ".join(means)}.']
        print('\n'.join(lines[-2:]))
        lines += new_sizes(found[0].library)
    return '\n'.join(lines)


def main():
    parser = command_line(__doc__, 'graphs.md', 9)
    options = parser.parse_args()
    run_report(parser, options, ROWS, report, REPORT, INTRODUCTION)


if __name__ == '__main__':
    main()
