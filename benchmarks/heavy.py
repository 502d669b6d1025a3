#!/usr/bin/env python3
"""Functions of tenon.torch whose time is felt in training and statistics, beside PyTorch's: one process, runs interleaved, f32 unless
a row says so, CPU.

Recurrent layers, bags of embeddings, reductions into places, grid_sample, statistics by order, ctc_loss, eigenvalues, steps of
optimizers, derivatives in forward mode. PYTHONPATH must lead to a built package (build/python).
  python benchmarks/heavy.py --only median       the rows whose name contains median
  ./dev bench heavy --write                      the table into benchmarks/heavy.md, under the processor's name
"""
import os
import pathlib
import statistics
import time

import numpy as np
from device import cell
from python_overhead import describe
from sections import begin, command_line, rest, run_report

REPORT = pathlib.Path(__file__).resolve().parent / 'heavy.md'
INTRODUCTION = """# Functions whose time is felt

Made by `benchmarks/heavy.py` (`./dev bench heavy --write`): one text for both libraries, one process, runs interleaved, medians. The ratio is
PyTorch's time over ours; below 1 it is bold.
"""
RANDOM = np.random.default_rng(0)


def normal(t, *shape, dtype='float32', grad=False):
    return t.tensor(RANDOM.standard_normal(shape).astype(dtype)).requires_grad_(grad)


def integers(t, high, *shape):
    return t.tensor(RANDOM.integers(0, high, shape))


def backward(leaves, fn):
    """A call of fn() with a backward pass."""
    def run():
        for leaf in leaves:
            leaf.grad = None
        fn().sum().backward()
    return run


def recurrent(kind, steps, batch, width, hidden, train):
    def make(t):
        layer, x = getattr(t.nn, kind)(width, hidden), normal(t, steps, batch, width)

        def forward():
            if train:
                return layer(x)[0]
            with t.no_grad():
                return layer(x)[0]
        return backward(list(layer.parameters()), forward) if train else forward
    return make


def bag(mode, train):
    def make(t):
        weight = normal(t, 10000, 64, grad=train)
        index, offsets = integers(t, 10000, 8192), t.arange(0, 8192, 16)

        def forward():
            return t.nn.functional.embedding_bag(index, weight, offsets, mode=mode)
        return backward([weight], forward) if train else forward
    return make


def scatter(reduce, train=False):
    def make(t):
        x, src, index = normal(t, 1000, 64), normal(t, 20000, 64, grad=train), integers(t, 1000, 20000, 1).expand(20000, 64)

        def forward():
            return x.scatter_reduce(0, index, src, reduce)
        return backward([src], forward) if train else forward
    return make


def grid(t):
    x, places = normal(t, 4, 16, 64, 64, grad=True), normal(t, 4, 64, 64, 2).tanh().requires_grad_(True)
    return backward([x, places], lambda: t.nn.functional.grid_sample(x, places, align_corners=False))


def of(fn, *shape):
    def make(t):
        x = normal(t, *shape)
        return lambda: fn(t, x)
    return make


def whole(fn, high, *shape):
    def make(t):
        x = integers(t, high, *shape)
        return lambda: fn(t, x)
    return make


def ctc(t):
    x, targets = normal(t, 100, 16, 40, grad=True), integers(t, 39, 16, 20) + 1
    inputs, labels = t.full((16,), 100, dtype=t.int64), t.full((16,), 20, dtype=t.int64)
    return backward([x], lambda: t.nn.functional.ctc_loss(x.log_softmax(2), targets, inputs, labels))


def network(t):
    first, second, x = normal(t, 128, 64), normal(t, 64, 128), normal(t, 64)
    return x, lambda x: second @ (first @ x).tanh()


def jvp(t):
    x, f = network(t)
    v = normal(t, 64)
    return lambda: t.func.jvp(f, (x,), (v,))


def jacfwd(t):
    x, f = network(t)
    return lambda: t.func.jacfwd(f)(x)


def step(kind, dtype, **options):
    """An optimizer's step over three parameters of a transformer's shapes, 2.4 million elements."""
    def make(t):
        parameters = [normal(t, *shape).to(getattr(t, dtype)).requires_grad_() for shape in ((768, 768), (3072, 768 - 192), (768,))]
        for parameter in parameters:
            parameter.grad = normal(t, *parameter.shape).to(getattr(t, dtype))
        return getattr(t.optim, kind)(parameters, lr=1e-4, **options).step
    return make


ROWS = [
    ('GRU 64×16×128→256, forward', recurrent('GRU', 64, 16, 128, 256, False)), ('GRU 64×16×128→256, training', recurrent('GRU', 64, 16, 128, 256, True)),
    ('LSTM 64×16×128→256, forward', recurrent('LSTM', 64, 16, 128, 256, False)), ('LSTM 64×16×128→256, training', recurrent('LSTM', 64, 16, 128, 256, True)),
    ('LSTM 100×1×64→128, training', recurrent('LSTM', 100, 1, 64, 128, True)),
    ('embedding_bag, sum of 16', bag('sum', False)), ('embedding_bag, sum of 16, training', bag('sum', True)), ('embedding_bag, max of 16', bag('max', False)),
    ('scatter_reduce sum, 20,000 rows of 64', scatter('sum')), ('scatter_reduce mean', scatter('mean')), ('scatter_reduce amax', scatter('amax')),
    ('scatter_reduce sum, training', scatter('sum', True)), ('grid_sample 4×16×64×64, training', grid),
    ('median of rows of 1000', of(lambda t, x: t.median(x, 1), 1000, 1000)), ('median of a million', of(lambda t, x: t.median(x), 1000000)),
    ('quantile of rows of 1000', of(lambda t, x: t.quantile(x, 0.3, 1), 1000, 1000)),
    ('mode of rows of 1000', whole(lambda t, x: t.mode(x, 1), 50, 200, 1000)), ('unique of a million', whole(lambda t, x: t.unique(x), 1000, 1000000)),
    ('ctc_loss 100×16×40, training', ctc), ('linalg.eig 100×100', of(lambda t, x: t.linalg.eig(x), 100, 100)),
    *((f'{kind}{words} step, {dtype}', step(kind, dtype, **options)) for kind, words, options in (('AdamW', '', {}), ('SGD', ' with momentum', {'momentum': 0.9}))
      for dtype in ('float32', 'float16', 'bfloat16')),
    ('func.jvp of a perceptron', jvp), ('func.jacfwd of a perceptron', jacfwd),
]


def seconds(fn, count):
    start = time.perf_counter()
    for _ in range(count):
        fn()
    return (time.perf_counter() - start) / count


def measure(make, rounds, libraries):
    global RANDOM
    calls = []
    for library in libraries:
        RANDOM = np.random.default_rng(0)  # the same numbers for both
        calls.append(make(library))
    for fn in calls:
        fn()
    count = max(1, int(0.02 / seconds(calls[0], 1)))  # of one round: as many as fill 20 ms
    times = [[], []]
    for _ in range(rounds):
        for fn, own in zip(calls, times):
            rest()
            own.append(seconds(fn, count))
    return times


def report(options, rows):
    import torch

    import tenon.torch
    remark = f'{options.rounds} rounds: median (lowest–highest). Processes that ran or waited beside it, on average of a minute: {os.getloadavg()[0]:.0f}.'
    lines = begin(f'{describe()}, float32', remark, ['', 'Tenon', 'PyTorch', 'PyTorch / Tenon'])
    for name, make in rows:
        times = measure(make, options.rounds, (tenon.torch, torch))
        ratio = statistics.median(times[1]) / statistics.median(times[0])
        lines.append(f'| {name} | {cell(times[0])} | {cell(times[1])} | ' + (f'**{ratio:.2f}**' if ratio < 1 else f'{ratio:.2f}') + ' |')
        print(lines[-1], flush=True)
    return '\n'.join(lines)


def main():
    parser = command_line(__doc__, 'heavy.md', 9)
    options = parser.parse_args()
    run_report(parser, options, ROWS, report, REPORT, INTRODUCTION)


if __name__ == '__main__':
    main()
