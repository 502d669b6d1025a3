#!/usr/bin/env python3
"""What the Vulkan plugin costs: calls beside their own host time, kernels beside a copy of as many bytes by the same driver.

PYTHONPATH must lead to a built package (build/python). The driver is the one that the Vulkan loader finds: with VK_ICD_FILENAMES set
to lavapipe's file, the software device.
  python benchmarks/vulkan.py                 a table on the screen
  python benchmarks/vulkan.py --write         the table into benchmarks/vulkan.md, under the device's name
"""
import argparse
import math
import pathlib
import platform
import statistics
import sys
import time

import tenon
from sections import write_section

HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE / "vulkan.md"
INTRODUCTION = """# The Vulkan plugin

Made by `benchmarks/vulkan.py`. A sum reads its elements and writes next to nothing, where a copy moves each twice: over elements instead of
bytes its ratio doubles.

Lavapipe executes shaders on the CPU. It loads and stores the elements of its eight lanes one by one, which costs more than arithmetic:
`layer_norm` reads parameters beside its rows, and `randn` counts only what it writes while a block of Philox takes as long as four loads.
Products are bound by loads from shared memory: 4.6 GFLOP in a second of CPU time.

Not measured yet: any GPU, and so fp16 products beside cuBLASLt.
"""


# Elementwise and reductions that are bound by memory.
AIMED = ("`a +", "`a *", "`where", "`sum", "`max")


def seconds(work, device, count):
    """Of one call, the device's work included."""
    device.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        work()
    device.synchronize()
    return (time.perf_counter() - start) / count


def host_seconds(work, device, count):
    """Of one call until it is recorded: the device works meanwhile."""
    device.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        work()
    elapsed = (time.perf_counter() - start) / count
    device.synchronize()
    return elapsed


def rounds_of(work, rounds):
    """Medians and spread of several works, interleaved."""
    for one in work.values():
        one()
    times = {name: [] for name in work}
    for _ in range(rounds):
        for name, one in work.items():
            times[name].append(one())
    return times


def text(values, scale, unit):
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle * scale:.3g} {unit} ({low * scale:.3g}–{high * scale:.3g})"


def launches(device, rounds):
    small = tenon.full((16,), 1.0).to(device)
    matrix = tenon.full((16, 16), 1.0).to(device)
    work = {
        "`a + b`, 16 floats": lambda: small + small,
        "`exp(a)`, 16 floats": lambda: tenon.exp(small),
        "`sum(a)`, 16 floats": lambda: tenon.sum(small),
        "`m @ m`, 16 × 16": lambda: matrix @ matrix,
    }
    times = rounds_of({name: lambda one=one: host_seconds(one, device, 500) for name, one in work.items()}, rounds)
    return [f"| {name} | {text(values, 1e6, 'µs')} | {'met' if statistics.median(values) <= 2e-6 else 'missed'} |"
            for name, values in times.items()]


def kernels(device, rounds, count):
    """Bytes moved in a second, over those of a copy."""
    a, b = (tenon.rand((count,)).to(device) for _ in range(2))
    rows, mask = a.reshape(-1, 1024), (a > 0.5)
    grad, weight = b.reshape(-1, 1024), b[:1024]
    probabilities = tenon.softmax(rows, 1)
    side = math.isqrt(count)
    square = a[:side * side].reshape(side, side).T
    size = 4 * count
    work = {
        "copy": (lambda: tenon.clone(a), 2 * size),
        "`a + b`": (lambda: a + b, 3 * size),
        "`a * 2.0`": (lambda: a * 2.0, 2 * size),
        "`exp(a)`": (lambda: tenon.exp(a), 2 * size),
        "`where(mask, a, b)`": (lambda: tenon.where(mask, a, b), 3 * size + count),
        "`sum(a)`": (lambda: tenon.sum(a), size),
        "`sum(rows, axis=1)`": (lambda: tenon.sum(rows, axis=1), size),
        "`sum(rows, axis=0)`": (lambda: tenon.sum(rows, axis=0), size),
        "`max(rows, axis=0)`": (lambda: tenon.max(rows, axis=0), size),
        "`max(rows, axis=1)`": (lambda: tenon.max(rows, axis=1), size),
        "`softmax(rows, 1)`": (lambda: tenon.softmax(rows, 1), 2 * size),
        "its backward": (lambda: tenon.softmax_backward(grad, probabilities, 1), 3 * size),
        "`layer_norm(rows, …)`": (lambda: tenon.layer_norm(rows, [1024], weight, weight), 2 * size),
        "`clone(square.T)`": (lambda: tenon.clone(square), 8 * side * side),
        "`randn(…)`": (lambda: tenon.randn((count,), device=device), size),
    }
    times = rounds_of({name: lambda one=one: seconds(one, device, 3) for name, (one, _) in work.items()}, rounds)
    lines = []
    for name, (_, moved) in work.items():
        rate = [moved / t / 1e9 for t in times[name]]
        ratio = statistics.median([(moved / t) / (work["copy"][1] / c) for t, c in zip(times[name], times["copy"])])
        aim = ("met" if ratio >= 0.5 else "missed") if name.startswith(AIMED) else ""
        lines.append(f"| {name} | {text(rate, 1, 'GB/s')} | {ratio:.2f} | {aim} |")
    return lines


def report(device, rounds, count):
    info = device.info["name"]
    return "\n".join([
        f"## {info}", "",
        f"{platform.machine()}, {rounds} interleaved rounds: median (lowest–highest).", "",
        "| call | time of the host until it is recorded | aim: ≤ 2 µs |", "|---|---|---|", *launches(device, rounds), "",
        f"{count:,} floats an operand, beside `clone` on the same device:", "",
        "| kernel | memory moved | over a copy | aim: ≥ 0.5 |", "|---|---|---|---|", *kernels(device, rounds, count), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="vulkan:0")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--floats", type=int, default=1 << 22)
    parser.add_argument("--write", action="store_true", help="into benchmarks/vulkan.md, in place of the device's section")
    options = parser.parse_args()
    try:
        device = tenon.device(options.device)
    except tenon.Error as error:
        sys.exit(f"{error}\nWithout a GPU, Mesa's lavapipe executes Vulkan on the CPU (Debian: mesa-vulkan-drivers).")
    section = report(device, options.rounds, options.floats)
    print(section)
    if options.write:
        write_section(REPORT, INTRODUCTION, section)


if __name__ == "__main__":
    main()
