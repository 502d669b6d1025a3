#!/usr/bin/env python3
"""Training steps and inferences of the examples beside PyTorch's eager mode: the examples' own text for both, one process, interleaved.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported.
  python benchmarks/examples.py                   a table on the screen
  python benchmarks/examples.py --only vae        the rows whose name contains vae
  python benchmarks/examples.py --write           the table into benchmarks/examples.md, under the processor's name
  python benchmarks/examples.py --compiled        beside torch.compile, too: half an hour more
  ./dev bench examples --rounds 3                 the same with what it needs installed first
"""
import argparse
import math
import pathlib
import signal
import statistics
import sys
import time
import warnings

import numpy as np
from device import cell
from examples_rows import ROWS, example
from models import forget_peak, load_all, memory, resident
from python_overhead import describe
from sections import begin, command_line, rest, run_report
from sides import Tenon, Torch, sides

REPORT = pathlib.Path(__file__).resolve().parent / 'examples.md'
INTRODUCTION = """# Examples

Made by `benchmarks/examples.py` (`./dev bench examples --write`): the networks and losses of `examples/python`, the same text for Tenon and
PyTorch, at the sizes of the long runs (ResNet-18 at a batch of 16). A step of training is forward, loss, backward and Adam; an inference
runs under `no_grad` in `eval` mode. Captured is the same step as a graph, by `tenon.compile`. torch.compile compiles the loss, or the
inference; backward and Adam are PyTorch's. A dash says that it could not be captured or compiled. One process, the same number of threads, runs interleaved, medians. Memory is the growth of the resident set from the loaded library to its
most in some steps, each in a process of its own: weights, gradients, optimizer, all between, and the pages of the library's code that the
steps touch first, 3 to 16 MiB. The ratio is that of eager steps, with 1 MiB for less.
"""


class Work:
    """A step of training or an inference of an example; `compiled`: by torch.compile, the loss or the inference as a whole."""

    def __init__(self, side, row, train, compiled=False):
        name, make = row
        library, self.train = side.library, train
        self.library = library
        library.manual_seed(1)
        module = example(name.split(',')[0], library)
        if name.startswith('lora'):
            module.smollm2 = example('smollm2', library)
        net, self.loss, self.call, self.inputs = make(module, side.array, np.random.default_rng(1))
        if compiled:
            self.loss, self.call = (function and library.compile(function) for function in (self.loss, self.call))
        net.train(train)
        self.function = self.loss if train else self.call
        if train and self.loss:
            self.optimizer = library.optim.Adam([x for x in net.parameters() if x.requires_grad], lr=1e-4)
            self.function = self.step

    def step(self, *inputs):
        loss = self.loss(*inputs)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def __call__(self):
        with self.library.set_grad_enabled(self.train):
            return self.function(*self.inputs)


def captured(side, row, train):
    """The same as a graph, or None and why."""
    work = Work(side, row, train)
    work.function = side.library.compile(work.function)
    with warnings.catch_warnings():
        warnings.simplefilter('error', UserWarning)  # what cannot be traced runs as it is written
        try:
            work(), work()
        except UserWarning as warning:
            return None, str(warning)
    return work, None


def compiled(side, row, train, limit):
    """The same by torch.compile, or None and why. It needs a compiler of C++, and may take minutes for a network."""
    def late(*_):
        raise TimeoutError(f'compiling takes more than {limit} s')
    signal.signal(signal.SIGALRM, late)
    signal.alarm(limit)
    try:
        work = Work(side, row, train, True)
        work(), work()
        return work, None
    except Exception as error:  # whatever the compiler makes of it
        return None, f'{type(error).__name__}: {str(error).strip().splitlines()[0]}'
    finally:
        signal.alarm(0)


def seconds(work, count, clock):
    rest()
    work()
    start = clock()
    for _ in range(count):
        work()
    return (clock() - start) / count


def measure(row, train, options, found):
    """Seconds by column: Tenon, captured, PyTorch, torch.compile; empty where there is none. None where the example does not do it."""
    works = [Work(side, row, train) for side in found]
    if works[0].function is None:
        return None
    graph, why = captured(found[0], row, train)
    if why:
        print(f'{row[0]}: not captured: {why}', file=sys.stderr)
    every = [works[0], graph, *works[1:]]
    if options.compiled and len(found) > 1:
        peer, why = compiled(found[1], row, train, options.compiled)
        if why:
            print(f'{row[0]}: not compiled: {why}', file=sys.stderr)
        every.append(peer)
    for work in filter(None, every):
        work(), work()
    clock = time.process_time if options.cpu_time else time.perf_counter
    count = max(1, int(0.02 / max(seconds(works[0], 1, clock), 1e-7)))  # of one round: as many as fill 20 ms
    times = [[] for _ in every]
    for _ in range(options.rounds):
        for work, own in zip(every, times):
            if work:
                own.append(seconds(work, count, clock))
    return times


def memory_child(row, train, only, as_graph):
    side, = sides(only, 'cpu', (Tenon, Torch))
    side.library.optim.Adam(load_all(side)).step()
    forget_peak()
    before = resident()[0]
    if as_graph:
        work, why = captured(side, row, train)
        if why:
            print('nan')
            return
        side.device.trim_memory()  # what was recorded went through other steps
    else:
        work = Work(side, row, train)
    forget_peak()
    for _ in range(3):
        work()
    print(resident()[1] - before)


def memories_of(row, train, found):
    """MiB of Tenon's steps, of its captured ones, and of PyTorch's."""
    more = ['--train'] if train else []
    eager, *others = memory(__file__, row, found, *more)
    return [eager, *memory(__file__, row, found[:1], '--captured', *more), *others]


def mib(memory):
    return '–' if math.isnan(memory) else f'{memory:,.0f}'


def line(name, times, memories):
    """Its text, and PyTorch's time and memory over Tenon's, the faster of eager and captured."""
    mine = min(statistics.median(own) for own in times[:2] if own)
    cells = [cell(own) for own in times]
    found = None
    if len(times) > 2:
        best = min(statistics.median(own) for own in times[2:] if own)
        found = best / mine, max(memories[0], 1) / max(memories[2], 1)
        cells += [f'**{found[0]:.2f}**' if found[0] < 1.5 else f'{found[0]:.2f}', *(mib(x) for x in memories),
                  f'**{found[1]:.2f}**' if found[1] > 0.6 else f'{found[1]:.2f}']
    else:
        cells += [mib(x) for x in memories]
    return f'| {name} | {" | ".join(cells)} |', found


def report(options, rows):
    found = sides(None, 'cpu', (Tenon, Torch))
    both = len(found) > 1
    names = ['Tenon', 'captured', *(side.name for side in found[1:])]
    head = ['', 'Tenon', 'captured', *(['PyTorch'] if both else []), *(['torch.compile'] if both and options.compiled else []),
            *(['best / best'] if both else []), *(f'{name}, MiB' for name in names), *(['Tenon / PyTorch'] if both else [])]
    lines = begin(f'{describe()}, float32', f'{options.rounds} rounds: median (lowest–highest){" of the time of the processor" if options.cpu_time else ""}. In bold what is short of 1.5 × the speed or '
                  'above 0.6 × the memory.', head)
    ratios = []
    for row in rows:
        for train in (True, False):
            times = measure(row, train, options, found)
            if times is None:
                continue
            text, ratio = line(f'{row[0]}, {"training" if train else "inference"}', times, memories_of(row, train, found))
            lines.append(text)
            print(text, flush=True)
            ratios += [ratio] if ratio else []
    if len(ratios) > 1:
        speed, space = ([pair[i] for pair in ratios] for i in (0, 1))
        lines += ['', f'Geometric means: {statistics.geometric_mean(speed):.2f} × the speed, lowest {min(speed):.2f}; '
                  f'{statistics.geometric_mean(space):.2f} × the memory, highest {max(space):.2f}.']
        print('\n'.join(lines[-2:]))
    return '\n'.join(lines)


def main():
    parser = command_line(__doc__, 'examples.md', 5)
    parser.add_argument('--compiled', type=int, nargs='?', const=240, metavar='SECONDS',
                        help='torch.compile as one more column; SECONDS: the most for a network (240)')
    parser.add_argument('--cpu-time', action='store_true', help='time of the processor, for a machine that other work shares: OMP_NUM_THREADS=1')
    parser.add_argument('--memory-of', help=argparse.SUPPRESS)
    parser.add_argument('--side', help=argparse.SUPPRESS)
    parser.add_argument('--captured', action='store_true', help=argparse.SUPPRESS)
    parser.add_argument('--train', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        memory_child(next(row for row in ROWS if row[0] == options.memory_of), options.train, options.side, options.captured)
        return
    run_report(parser, options, ROWS, report, REPORT, INTRODUCTION)


if __name__ == '__main__':
    main()
