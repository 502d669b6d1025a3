#!/usr/bin/env python3
"""Ops on a device beside PyTorch's on the same one: equal dtypes, one process, interleaved rounds.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported and has the device.
  python benchmarks/device.py --device cuda:0              a table on the screen
  python benchmarks/device.py --device cuda:0 --write      the table into benchmarks/devices.md, under the device's name
  python benchmarks/device.py --device cpu --scale 0.01    smaller operands: what works, not what it costs
"""
import argparse
import pathlib
import statistics
import time

import numpy as np
from python_overhead import describe
from sections import write_section
from sides import sides

REPORT = pathlib.Path(__file__).resolve().parent / 'devices.md'
INTRODUCTION = """# Devices

Made by `benchmarks/device.py`: an op's time until the device has done it (a launch's: until it is enqueued), beside PyTorch's eager
mode on the same device in the same process, its round by round. The ratio is PyTorch's time over Tenon's, by medians.
"""


class Operands:
    """What the rows need, with the same numbers in both libraries."""

    def __init__(self, side, scale):
        self.side, self.library, self.f = side, side.library, side.library.nn.functional
        self.rng = np.random.default_rng(1)
        self.n = max(int((1 << 24) * scale), 1024)
        self.side_length = max(int(4096 * scale ** 0.5) // 64 * 64, 64)
        self.heads, self.length = 12, max(int(1024 * scale ** 0.5) // 16 * 16, 16)

    def randn(self, *shape, dtype='float32', gradient=False):
        values = self.side.array(self.rng.standard_normal(shape, np.float32)).to(getattr(self.library, dtype))
        return values.requires_grad_() if gradient else values

    def whole(self, high, *shape):
        return self.side.array(self.rng.integers(0, high, shape))


def binary(o):
    a, b = o.randn(o.n), o.randn(o.n)
    return lambda: a + b


def small(o):
    a, b = o.randn(16), o.randn(16)
    return lambda: a + b


def gelu(o):
    a = o.randn(o.n, dtype='bfloat16')
    return lambda: o.f.gelu(a)


def total(o):
    a = o.randn(o.n // 1024, 1024)
    return lambda: a.sum(1)


def softmax(o):
    a = o.randn(o.n // 1024, 1024)
    return lambda: o.f.softmax(a, -1)


def layer_norm(o):
    a, weight, bias = o.randn(o.n // 1024, 1024), o.randn(1024), o.randn(1024)
    return lambda: o.f.layer_norm(a, (1024,), weight, bias)


def embedding(o):
    index, weight = o.whole(50000, o.n // 1024), o.randn(50000, 1024)
    return lambda: o.f.embedding(index, weight)


def adamw(o):
    side = o.side_length // 4
    parameters = [o.randn(side, side, gradient=True) for _ in range(48)]
    for p in parameters:
        p.grad = o.randn(side, side)
    return o.library.optim.AdamW(parameters, lr=1e-3).step


def matmul(dtype):
    def make(o):
        a, b = (o.randn(o.side_length, o.side_length, dtype=dtype) for _ in range(2))
        return lambda: a @ b
    return make


def linear(o):
    n = o.side_length
    x, weight, bias = o.randn(n, n, dtype='bfloat16'), o.randn(n, n, dtype='bfloat16'), o.randn(n, dtype='bfloat16')
    if o.side.name == 'Tenon':
        return lambda: o.f.linear(x, weight, bias, 'relu')
    return lambda: o.f.linear(x, weight, bias).relu_()


def conv(o):
    channels = max(o.side_length // 64, 4)
    x, weight = o.randn(8, channels, 56, 56), o.randn(channels, channels, 3, 3)
    return lambda: o.f.conv2d(x, weight, None, padding=1)


def attention(dtype, backward):
    def make(o):
        q, k, v = (o.randn(4, o.heads, o.length, 64, dtype=dtype, gradient=backward) for _ in range(3))
        if not backward:
            return lambda: o.f.scaled_dot_product_attention(q, k, v, is_causal=True)

        def step():
            q.grad = k.grad = v.grad = None
            o.f.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
        return step
    return make


# What, how to make it, whether only its enqueuing counts, the ratio to reach.
ROWS = [
    ('`a + b`, 16 floats, enqueued', small, True, 2),
    ('`a + b`, 16 M floats', binary, False, 1.1),
    ('`gelu(a)`, 16 M bf16', gelu, False, 1.1),
    ('`a.sum(1)`, rows of 1,024', total, False, None),
    ('`softmax(a)`, rows of 1,024', softmax, False, 1.1),
    ('`layer_norm(a)`, rows of 1,024', layer_norm, False, 1.1),
    ('`embedding`, rows of 1,024', embedding, False, 1.1),
    ('AdamW step, 48 matrices of 1,024²', adamw, False, 1.1),
    ('`a @ b`, 4,096³, f32', matmul('float32'), False, 1),
    ('`a @ b`, 4,096³, bf16', matmul('bfloat16'), False, 1),
    ('`linear` with bias and relu, 4,096³, bf16', linear, False, 1),
    ('`conv2d` 3×3, 64 channels, 8×56×56, f32', conv, False, None),
    ('attention, causal, 4×12×1,024×64, f32', attention('float32', False), False, 0.9),
    ('attention, causal, 4×12×1,024×64, bf16', attention('bfloat16', False), False, 0.9),
    ('its gradients, too', attention('bfloat16', True), False, 0.9),
]


def seconds(side, work, count, enqueued):
    """Of one call."""
    side.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        work()
    if not enqueued:
        side.synchronize()
    elapsed = (time.perf_counter() - start) / count
    side.synchronize()
    return elapsed


def measure(found, row, scale, rounds):
    """By library, the seconds of a call, a number a round. A round lasts about 20 ms."""
    _, make, enqueued, _ = row
    work = {side.name: (side, make(Operands(side, scale))) for side in found}
    counts, times = {}, {name: [] for name in work}
    for name, (side, run) in work.items():
        seconds(side, run, 2, False)  # compiles, allocates, chooses
        once = seconds(side, run, 2, False)
        counts[name] = max(1, min(500, int(0.02 / once)))
    for _ in range(rounds):
        for name, (side, run) in work.items():
            times[name].append(seconds(side, run, counts[name], enqueued))
    return times


def digits(x):
    """Three of them, without an exponent."""
    return f'{x:.0f}' if x >= 999.5 else f'{x:.3g}'


def cell(times):
    if not times:
        return '–'
    scale, unit = (1e3, 'ms') if statistics.median(times) >= 1e-3 else (1e6, 'µs')
    middle, least, most = (digits(scale * x) for x in (statistics.median(times), min(times), max(times)))
    return f'{middle} {unit} ({least}–{most})'


def line(row, times):
    name, _, _, aim = row
    mine, theirs = times.get('Tenon'), times.get('PyTorch')
    ratio = statistics.median(theirs) / statistics.median(mine) if mine and theirs else None
    verdict = '' if aim is None or ratio is None else 'met' if ratio >= aim else '**short**'
    return (f'| {name} | {cell(mine)} | {cell(theirs)} | {f"{ratio:.2f}×" if ratio else "–"} | '
            f'{f"{aim}×" if aim else ""} | {verdict} |')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--device', default='cuda:0')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--scale', type=float, default=1, help='of the number of elements; matrices by its root')
    parser.add_argument('--only', choices=['tenon', 'torch'])
    parser.add_argument('--write', action='store_true', help="into benchmarks/devices.md, in place of the device's section")
    options = parser.parse_args()
    if options.rounds < 1 or not 0 < options.scale <= 4:
        parser.error('--rounds must be 1 or more, --scale above 0 and at most 4')
    if options.write and options.scale != 1:
        parser.error('--write records the sizes of the table: leave --scale out')
    found = sides(options.only, options.device)
    name = found[0].library.device(options.device).info['name'] if found[0].name == 'Tenon' else options.device
    lines = [f'## {name}', '', f'{describe()}; {options.rounds} rounds: median (lowest–highest)'
             + (f'; {options.scale} × the elements.' if options.scale != 1 else '.'), '',
             '| | Tenon | PyTorch | PyTorch / Tenon | aim | |', '|---|---|---|---|---|---|']
    print('\n'.join(lines))
    for row in ROWS:
        lines.append(line(row, measure(found, row, options.scale, options.rounds)))
        print(lines[-1], flush=True)
    if options.write:
        write_section(REPORT, INTRODUCTION, '\n'.join(lines))


if __name__ == '__main__':
    main()
