#!/usr/bin/env python3
"""Whole models on the CPU beside PyTorch's eager mode: one text of each network for both, one process, steps interleaved.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported.
  python benchmarks/models.py                       a table on the screen
  python benchmarks/models.py --write               the table into benchmarks/models.md, under the processor's name
  python benchmarks/models.py --only resnet18       the rows whose name contains resnet18
  python benchmarks/models.py --only gpt --profile  and where Tenon's time goes, by op
  python benchmarks/models.py --compiled            beside torch.compile, too, which compiles a minute or more for each network
  python benchmarks/models.py --threads 1 --avx2    as on an older machine with one core
  ./dev bench models --rounds 3                     the same with what it needs installed first
"""
import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import time

import chart
import numpy as np
from device import cell
from peaks import Peaks
from python_overhead import describe
from sections import begin, command_line, rest, run_report
from sides import Compiled, Tenon, Torch, sides
from transformer import transformer

REPORT = pathlib.Path(__file__).resolve().parent / 'models.md'
INTRODUCTION = """# Whole models

Made by `benchmarks/models.py` (`./dev bench models --write`): a step of training is forward, loss, backward and SGD with momentum, an
inference runs under `no_grad` in `eval` mode. PyTorch's eager mode runs in the same process, its round by round, with as many threads. The
ratio is PyTorch's time over Tenon's, by medians. The share is that of the machine's measured peak, Tenon's and then PyTorch's, counting the
multiplications of products, convolutions and attention (PyTorch's `FlopCounterMode`, which counts too many in the backward pass of
depthwise ones). Memory is the growth of the resident set from the loaded library to its most in some steps, each library in a process of
its own; the pages of the library's code that the steps touch first are part of it.
"""
SPREAD = 0.02


def resnet(nn, blocks, widths, bottleneck=False):
    """He et al. 2016, table 1."""
    class Block(nn.Module):
        def __init__(self, before, width, stride):
            super().__init__()
            after = 4 * width if bottleneck else width
            sizes = [(before, width, 1, 1), (width, width, 3, stride), (width, after, 1, 1)] if bottleneck else [
                (before, width, 3, stride), (width, width, 3, 1)]
            self.convs = nn.ModuleList([nn.Conv2d(a, b, k, s, k // 2, bias=False) for a, b, k, s in sizes])
            self.norms = nn.ModuleList([nn.BatchNorm2d(b) for _, b, _, _ in sizes])
            self.short = nn.Identity() if stride == 1 and before == after else nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x):
            y, last = x, len(self.convs) - 1
            for i, (conv, norm) in enumerate(zip(self.convs, self.norms)):
                y = norm(conv(y))
                y = nn.functional.relu(y) if i < last else y
            return nn.functional.relu(y + self.short(x))
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for i, (count, width) in enumerate(zip(blocks, widths)):
        for j in range(count):
            layers.append(Block(before, width, 2 if i and not j else 1))
            before = 4 * width if bottleneck else width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


def mobilenet(nn):
    """Depthwise and pointwise pairs: Howard et al. 2017, table 1."""
    def pair(a, b, stride):
        return [nn.Conv2d(a, a, 3, stride, 1, groups=a, bias=False), nn.BatchNorm2d(a), nn.ReLU(),
                nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
    layers = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    for a, b, stride in [(32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), *[(512, 512, 1)] * 5,
                         (512, 1024, 2), (1024, 1024, 1)]:
        layers += pair(a, b, stride)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


def unet(nn):
    """Down by strides, up by transposed convolutions, in the manner of Ronneberger et al. 2015."""
    def step(a, b, conv):
        return nn.Sequential(conv, nn.BatchNorm2d(b), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self, widths=(32, 64, 128, 256)):
            super().__init__()
            self.first = step(3, widths[0], nn.Conv2d(3, widths[0], 3, 1, 1))
            pairs = list(zip(widths, widths[1:]))
            self.down = nn.ModuleList([step(a, b, nn.Conv2d(a, b, 3, 2, 1)) for a, b in pairs])
            self.up = nn.ModuleList([step(b, a, nn.ConvTranspose2d(b, a, 2, 2)) for a, b in reversed(pairs)])
            self.last = nn.Conv2d(widths[0], 8, 1)

        def forward(self, x):
            kept = [self.first(x)]
            for down in self.down:
                kept.append(down(kept[-1]))
            y = kept.pop()
            for up in self.up:
                y = up(y) + kept.pop()
            return self.last(y)
    return UNet()


def generator(nn):
    """DCGAN's, Radford et al. 2016, figure 1."""
    layers = [nn.ConvTranspose2d(100, 256, 4, 1, 0, bias=False), nn.BatchNorm2d(256), nn.ReLU()]
    for a, b in [(256, 128), (128, 64), (64, 32)]:
        layers += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())


def recommender(nn, library):
    """Embeddings of some tables, their products with one another, a small network: Naumov et al. 2019."""
    class Recommender(nn.Module):
        def __init__(self, rows=20000, width=32, tables=8):
            super().__init__()
            self.tables = nn.ModuleList([nn.Embedding(rows, width) for _ in range(tables)])
            self.net = nn.Sequential(nn.Linear(tables * (width + tables), 256), nn.ReLU(), nn.Linear(256, 2))

        def forward(self, index):
            x = library.stack([table(index[:, i]) for i, table in enumerate(self.tables)], axis=1)
            products = x @ x.transpose(1, 2)
            return self.net(library.concat([x.flatten(1), products.flatten(1)], axis=1))
    return Recommender()


def tagger(nn, _):
    """A recurrent network that says something of each character: Hochreiter and Schmidhuber 1997."""
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.lstm, self.last = nn.Embedding(96, 128), nn.LSTM(128, 256, batch_first=True), nn.Linear(256, 96)

        def forward(self, index):
            return self.last(self.lstm(self.embedding(index))[0])
    return Tagger()


def images(batch, size):
    return lambda rng: rng.standard_normal((batch, 3, size, size)).astype(np.float32)


def words(batch, length, vocabulary):
    return lambda rng: rng.integers(0, vocabulary, (batch, length))


def resnet18(nn, _):
    return resnet(nn, (2, 2, 2, 2), (64, 128, 256, 512))


def resnet50(nn, _):
    return resnet(nn, (3, 4, 6, 3), (64, 128, 256, 512), bottleneck=True)


def char_gpt(nn, _):
    return transformer(nn, 4, 4, 128, 128, 256, True)


def gpt2(nn, _):
    return transformer(nn, 12, 12, 768, 50304, 1024, True)


def mini_lm(nn, _):
    return transformer(nn, 6, 12, 384, 30522, 512, False)


def noise(rng):
    return rng.standard_normal((16, 100, 1, 1)).astype(np.float32)


# What, the network, its input, whether it is trained.
ROWS = [
    ('resnet18, training, 8×64²', resnet18, images(8, 64), True),
    ('resnet18, inference, 8×64²', resnet18, images(8, 64), False),
    ('resnet18, inference, 1×224²', resnet18, images(1, 224), False),
    ('resnet50, inference, 1×224²', resnet50, images(1, 224), False),
    ('resnet50, training, 4×96²', resnet50, images(4, 96), True),
    ('mobilenet, inference, 1×224²', lambda nn, _: mobilenet(nn), images(1, 224), False),
    ('mobilenet, training, 8×64²', lambda nn, _: mobilenet(nn), images(8, 64), True),
    ('u-net, training, 2×96²', lambda nn, _: unet(nn), images(2, 96), True),
    ('dcgan generator, training, 16×64²', lambda nn, _: generator(nn), noise, True),
    ('char-gpt, training, 16×256', char_gpt, words(16, 256, 128), True),
    ('char-gpt, training, 8×64', char_gpt, words(8, 64, 128), True),
    ('char-gpt, inference, 16×256', char_gpt, words(16, 256, 128), False),
    ('gpt-2 124M, inference, 1×128', gpt2, words(1, 128, 50304), False),
    ('gpt-2 124M, training, 1×256', gpt2, words(1, 256, 50304), True),
    ('minilm, inference, 1×16', mini_lm, words(1, 16, 30522), False),
    ('minilm, inference, 1×128', mini_lm, words(1, 128, 30522), False),
    ('minilm, inference, 32×128', mini_lm, words(32, 128, 30522), False),
    ('lstm, training, 16×64', tagger, words(16, 64, 96), True),
    ('lstm, inference, 1×100', tagger, words(1, 100, 96), False),
    ('recommender, training, 512×8', recommender, words(512, 8, 20000), True),
]


class Work:
    """A network with its input; calling it does a step or an inference."""

    def __init__(self, side, row, dtype):
        _, make, sample, self.train = row
        rng = np.random.default_rng(1)
        self.library = library = side.library
        self.f = library.nn.functional
        net = make(library.nn, library)
        with library.no_grad():
            for parameter in net.parameters():
                if parameter.ndim > 1:
                    fan = int(np.prod(parameter.shape[1:]))
                    values = rng.standard_normal(tuple(parameter.shape)) * min(SPREAD, fan ** -0.5)
                    parameter[...] = library.asarray(values.astype(np.float32))
        self.net = side.ready(net.to(getattr(library, dtype)).train(self.train))
        x = sample(rng)
        self.x = side.array(x).to(getattr(library, dtype)) if x.dtype.kind == 'f' else side.array(x)
        if self.train:
            self.optimizer = library.optim.SGD(self.net.parameters(), lr=1e-3, momentum=0.9)
            with library.no_grad():
                self.shape = tuple(self.net(self.x).shape)
            self.target = side.array(rng.integers(0, self.shape[-1], self.shape[:-1])) if len(self.shape) < 4 else None

    def loss(self, y):
        if self.target is None:
            return (y * y).mean()
        return self.f.cross_entropy(y.reshape(-1, y.shape[-1]).to(self.library.float32), self.target.reshape(-1))

    def __call__(self):
        if not self.train:
            with self.library.no_grad():
                return self.net(self.x)
        loss = self.loss(self.net(self.x))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def seconds(work):
    rest()
    work()  # brings the caches back
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(row, dtype, rounds, found):
    works = [Work(side, row, dtype) for side in found]
    for work in works:
        work(), work()
    times = [[] for _ in works]
    for _ in range(rounds):
        for work, own in zip(works, times):
            own.append(seconds(work))
    return works, times


def resident():
    """MiB of this process, and the most it has had."""
    with open('/proc/self/status') as status:
        fields = dict(line.split(':', 1) for line in status if line.startswith(('VmRSS', 'VmHWM')))
    return tuple(int(fields[name].split()[0]) / 1024 for name in ('VmRSS', 'VmHWM'))


def forget_peak():
    """What NumPy's arrays left in the C library's heap goes back; the most begins anew with what is resident now."""
    ctypes.CDLL(None).malloc_trim(0)
    pathlib.Path('/proc/self/clear_refs').write_text('5')


def load_all(side):
    """Loads what is opened at first use; of NumPy too, as PyTorch opens that itself. Gives parameters with gradients."""
    nn = side.library.nn
    small = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 36, 16))
    small(side.array(np.random.default_rng(1).random((1, 1, 8, 8), np.float32))).sum().backward()
    return small.parameters()


def memory_child(row, dtype, only):
    side, = sides(only, 'cpu', (Tenon, Torch, Compiled))
    load_all(side)
    forget_peak()
    before = resident()[0]
    work = Work(side, row, dtype)
    forget_peak()
    for _ in range(3):
        work()
    print(resident()[1] - before)


def memory(program, row, found, *more):
    """MiB by side, each in a process of its own: the program with --memory-of."""
    grown = []
    for side in found:
        command = [sys.executable, program, '--memory-of', row[0], '--side', type(side).__name__.lower(), *more]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f'{row[0]} in {side.name}: {done.stderr.strip()}')
        grown.append(float(done.stdout))
    return grown


def flops_of(work):
    """Of a step of PyTorch's: 2 for each multiplication with its addition."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    work.net.requires_grad_(work.train)  # the counter's hooks refuse views of parameters that no_grad made
    # oneDNN's recurrent layers are one op, which the counter does not know.
    with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def line(row, times, memories, flops, peaks):
    """Its text, and PyTorch's time over Tenon's, where that was measured."""
    middle = [statistics.median(own) for own in times]
    ratios = [other / middle[0] for other in middle[1:]]
    cells = [cell(own) for own in times] + [f'**{ratio:.2f}**' if ratio < 1 else f'{ratio:.2f}' for ratio in ratios]
    if ratios:
        cells.append(' · '.join(f'{flops / own / peaks.flops:.0%}' for own in middle[:2]))
    cells += [f'{memory:,.0f}' for memory in memories]
    if ratios:
        cells.append(f'{memories[0] / max(memories[1], 1):.2f}')
    return f'| {row[0]} | {" | ".join(cells)} |', ratios[0] if ratios else None


def head(names):
    others = names[1:]
    return ['', *names, *(f'{name} / Tenon' for name in others), *(['share of peak'] if others else []),
            *(f'{name}, MiB' for name in names), *([f'Tenon / {others[0]}'] if others else [])]


# What keeps each library, and those that it calls, to AVX2.
AVX2 = {'TENON_CPU_SIMD': 'avx2', 'ATEN_CPU_CAPABILITY': 'avx2', 'ONEDNN_MAX_CPU_ISA': 'AVX2', 'MKL_ENABLE_INSTRUCTIONS': 'AVX2',
        'OPENBLAS_CORETYPE': 'Haswell'}


def restrict(options):
    """Fewer threads and older instructions for both libraries, which are not loaded yet."""
    if options.threads:
        os.environ.update({'TENON_NUM_THREADS': str(options.threads), 'OMP_NUM_THREADS': str(options.threads)})
    if options.avx2:
        os.environ.update(AVX2)


def title(options):
    threads = options.threads and f', {options.threads} thread{"s"[:options.threads > 1]}'
    return f'{describe()}, {options.dtype}{threads or ""}{", AVX2" if options.avx2 else ""}'


def report(options, rows):
    found = sides(None, 'cpu', (Tenon, Torch, Compiled) if options.compiled else (Tenon, Torch))
    peaks = Peaks(found[0].library, options.dtype)
    lines = begin(title(options), f'{options.rounds} rounds: median (lowest–highest). {peaks}',
                  head([side.name for side in found]))
    ratios = []
    for row in rows:
        works, times = measure(row, options.dtype, options.rounds, found)
        flops = flops_of(works[1]) if len(works) > 1 else 0
        text, ratio = line(row, times, memory(__file__, row, found, '--dtype', options.dtype), flops, peaks)
        lines.append(text)
        print(text, flush=True)
        ratios += [ratio] if ratio else []
        if options.profile:
            with found[0].library.profiler() as profile:
                works[0]()
            print(f'\n{profile}\n')
    if len(ratios) > 1:
        lines += ['', f'Geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}; lowest {min(ratios):.2f}.']
        print('\n'.join(lines[-2:]))
    return '\n'.join(lines)


def main():
    parser = command_line(__doc__, 'models.md', 9)
    parser.add_argument('--dtype', choices=['float32', 'bfloat16'], default='float32', help='of weights and activations')
    parser.add_argument('--threads', type=int, help='of both libraries; default: as many as there are cores')
    parser.add_argument('--avx2', action='store_true', help='no newer instructions in both libraries')
    parser.add_argument('--profile', action='store_true', help="Tenon's time by op, row by row")
    parser.add_argument('--compiled', action='store_true', help='torch.compile as a third column')
    parser.add_argument('--memory-of', help=argparse.SUPPRESS)
    parser.add_argument('--side', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        memory_child(next(row for row in ROWS if row[0] == options.memory_of), options.dtype, options.side)
        return
    restrict(options)
    run_report(parser, options, ROWS, report, REPORT, INTRODUCTION)
    if options.write:
        chart.write()


if __name__ == '__main__':
    main()
