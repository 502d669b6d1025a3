#!/usr/bin/env python3
"""What steps cost while other programs burn cores: the mean, the median and the worst, builds and numbers of threads interleaved.

PYTHONPATH must lead to a built package (build/python). A burner is a process that keeps one core busy, the last cores first.
  python benchmarks/busy.py                                    this build, with all threads and with one
  python benchmarks/busy.py --plugins before=OLD/plugins/cpu   the CPU plugin of another build as well
  python benchmarks/busy.py --work add --rounds 3              one of the works
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def mlp():
    import tenon
    from tenon import nn
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = tenon.optim.SGD(model.parameters(), lr=0.01)
    x, y = tenon.randn([128, 784]), tenon.zeros([128], dtype=tenon.int64)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return step


def over(*shapes, op, dtype='float32'):
    import tenon
    operands = [tenon.randn(list(shape)).to(getattr(tenon, dtype)) for shape in shapes]
    return lambda: op(tenon)(*operands)


WORKS = {
    'MLP 784-128-10, batch 128, SGD step': mlp,
    'add, 1 M floats': lambda: over((1 << 20,), (1 << 20,), op=lambda t: t.add),
    'exp, 1 M floats': lambda: over((1 << 20,), op=lambda t: t.exp),
    'softmax, 1024×1024': lambda: over((1024, 1024), op=lambda t: lambda x: t.softmax(x, 1)),
    'matmul 256³': lambda: over((256, 256), (256, 256), op=lambda t: t.matmul),
    'matmul 1024³': lambda: over((1024, 1024), (1024, 1024), op=lambda t: t.matmul),
    'matmul 1024³, bf16': lambda: over((1024, 1024), (1024, 1024), op=lambda t: t.matmul, dtype='bfloat16'),
    'conv 3×3, 64→64, 28×28, batch 8': lambda: over((8, 64, 28, 28), (64, 64, 3, 3),
                                                     op=lambda t: lambda x, w: t.conv(x, w, None)),
}


def measure(work, seconds):
    """Times of single steps, which begin anew for `seconds`."""
    step = WORKS[work]()
    for _ in range(5):
        step()
    times, end = [], time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        step()
        times.append(time.perf_counter() - begin)
    return times


def burn(core):
    """Ends with this process, however that ends."""
    code = (f'import os; os.sched_setaffinity(0, {{{core}}})\n'
            f'while os.getppid() == {os.getpid()}:\n  for _ in range(1_000_000): pass')
    return subprocess.Popen([sys.executable, '-c', code])


def run(work, variant, seconds, prefix):
    _, directory, threads = variant
    env = dict(os.environ)
    if directory:
        env['TENON_PLUGIN_PATH'] = directory
    if threads:
        env.update(TENON_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
    command = [*prefix, sys.executable, __file__, '--measure', work, '--seconds', str(seconds)]
    return json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout)


def rounds(args, work, burners, cores):
    """Of each variant its rounds' (mean, median, worst), in ms."""
    found = {variant[0]: [] for variant in args.variants}
    prefix = ['chrt', '-f', '20'] if args.real_time and burners == 0 else []
    busy = [burn(core) for core in cores[len(cores) - burners:]]
    try:
        for i in range(args.rounds):
            for variant in args.variants if i % 2 == 0 else args.variants[::-1]:
                times = [1e3 * t for t in run(work, variant, args.seconds, prefix)]
                found[variant[0]].append((statistics.fmean(times), statistics.median(times), max(times)))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return found


def row(work, burners, found):
    """Medians over the rounds; the ratio of the first variant's mean to this one's, in the same round."""
    first = next(iter(found.values()))
    for label, results in found.items():
        mean, median, worst = (statistics.median(column) for column in zip(*results))
        ratio = statistics.median(a[0] / b[0] for a, b in zip(first, results))
        yield f'| {work} | {burners} | {label} | {mean:.3g} | {median:.3g} | {worst:.3g} | {ratio:.2f}× |'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--plugins', action='append', default=[], metavar='LABEL=DIR', help='the CPU plugin of another build')
    parser.add_argument('--work', action='append', help='works whose names begin with this')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=1.0)
    parser.add_argument('--cores', type=int, default=2, help='cores to compute on, and the most to burn')
    parser.add_argument('--burners', type=int, nargs='*', help='how many cores to burn; each number from 0 by default')
    parser.add_argument('--real-time', action='store_true',
                        help='without burners, take turns at a real-time priority: stands for a quiet machine on one that is not')
    parser.add_argument('--write', action='store_true', help='the table into benchmarks/threads.md')
    parser.add_argument('--measure', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.seconds)))
        return
    cores = sorted(os.sched_getaffinity(0))[:args.cores]
    os.sched_setaffinity(0, cores)
    others = [(*text.split('=', 1), None) for text in args.plugins]
    args.variants = [*others, ('now', None, None), ('now, one thread', None, 1)]
    lines = ['| work | cores burned | build | mean ms | median | worst | mean beside the first |', '|---|---|---|---|---|---|---|']
    print('\n'.join(lines))
    for work in WORKS:
        if args.work and not any(work.startswith(name) for name in args.work):
            continue
        for burners in args.burners if args.burners is not None else range(len(cores) + 1):
            for line in row(work, burners, rounds(args, work, burners, cores)):
                lines.append(line)
                print(line, flush=True)
    if args.write:
        path = HERE / 'threads.md'
        text = path.read_text()
        begin, end = text.index('<!-- table -->\n') + len('<!-- table -->\n'), text.index('<!-- end -->')
        path.write_text(text[:begin] + '\n'.join(lines) + '\n' + text[end:])


if __name__ == '__main__':
    main()
