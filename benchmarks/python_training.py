#!/usr/bin/env python3
"""Training steps and loaders from Python, beside PyTorch: all in one process, their rounds interleaved.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported.
  python benchmarks/python_training.py                 a table on the screen
  python benchmarks/python_training.py --write         the table into benchmarks/python_training.md
"""
import argparse
import os
import pathlib
import statistics
import sys
import time

from python_overhead import describe

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = 20000


class Library:
    """The same work in the words of one library."""

    def __init__(self, name, module, nn, optim, data, integers):
        self.name, self.module, self.nn, self.optim, self.data, self.integers = name, module, nn, optim, data, integers

    def step(self, sizes, batch, kind='SGD', flatten=False):
        """A function that trains a perceptron for one step."""
        nn = self.nn
        parts = [nn.Flatten()] if flatten else []
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            parts += [nn.ReLU(), nn.Linear(a, b)] if i else [nn.Linear(a, b)]
        net = nn.Sequential(*parts)
        optimizer = getattr(self.optim, kind)(net.parameters(), lr=1e-3)
        side = int(sizes[0] ** 0.5)
        x = self.module.randn(*((batch, 1, side, side) if flatten else (batch, sizes[0])))
        y, loss_of = self.integers(sizes[-1], batch), nn.functional.cross_entropy

        def run():
            loss = loss_of(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return run

    def epoch(self, own, workers):
        """A function that goes through a shuffled dataset once; `own`: one with a __getitem__ in Python."""
        images, labels = self.module.randn(SAMPLES, 784), self.integers(10, SAMPLES)

        class Images(self.data.Dataset):
            def __len__(self):
                return SAMPLES

            def __getitem__(self, index):
                return images[index], int(labels[index])
        dataset = Images() if own else self.data.TensorDataset(images, labels)
        loader = self.data.DataLoader(dataset, batch_size=128, shuffle=True, num_workers=workers)

        def run():
            assert sum(x.shape[0] for x, _ in loader) == SAMPLES
        return run


def libraries():
    import tenon
    found = [Library('tenon', tenon, tenon.nn, tenon.optim, tenon.data, lambda high, n: tenon.randint((n,), 0, high))]
    try:
        import torch
        import torch.utils.data
        found.append(Library('torch', torch, torch.nn, torch.optim, torch.utils.data, lambda high, n: torch.randint(high, (n,))))
    except ImportError:
        print('PyTorch is not measured: it cannot be imported', file=sys.stderr)
    return found


# What, how to make it, calls a round, samples a call for rates, the ratio to PyTorch to reach.
CLASSIC = (1024, 256, 256, 8)
ROWS = [
    ('MLP 64-64-10, batch 32, SGD step', lambda lib: lib.step((64, 64, 10), 32), 10, None, 4),
    ('the same, AdamW', lambda lib: lib.step((64, 64, 10), 32, 'AdamW'), 10, None, None),
    ('classic network, batch 8, SGD step', lambda lib: lib.step(CLASSIC, 8, flatten=True), 2, None, 4),
    ('classic network, batch 64, SGD step', lambda lib: lib.step(CLASSIC, 64, flatten=True), 2, None, None),
    ('loader, TensorDataset, no workers', lambda lib: lib.epoch(False, 0), 1, SAMPLES, 1.5),
    ('loader, TensorDataset, 2 workers', lambda lib: lib.epoch(False, 2), 1, SAMPLES, 1.5),
    ('loader, own dataset, no workers', lambda lib: lib.epoch(True, 0), 1, SAMPLES, 1.5),
    ('loader, own dataset, 2 workers', lambda lib: lib.epoch(True, 2), 1, SAMPLES, 1.5),
]


def measure(found, row, rounds):
    """Seconds of one call by library, a number a round."""
    _, make, calls, _, _ = row
    rounds *= 8 if calls > 1 else 1  # short pieces, so that other work on the machine spares most of them
    work, times = {lib.name: make(lib) for lib in found}, {lib.name: [] for lib in found}
    for number in range(rounds + 1):
        for name, run in work.items():
            start = time.perf_counter()
            for _ in range(calls):
                run()
            if number:  # the first round warms up
                times[name].append((time.perf_counter() - start) / calls)
    return times


def text_of(times, samples):
    """Median and the spread of the rounds."""
    middle, low, high = statistics.median(times), min(times), max(times)
    if samples:
        return f'{samples / middle:,.0f} /s ({samples / high:,.0f}–{samples / low:,.0f})'
    return f'{middle * 1e6:,.1f} µs ({low * 1e6:,.1f}–{high * 1e6:,.1f})'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--write', action='store_true', help='into benchmarks/python_training.md')
    options = parser.parse_args()
    found = libraries()
    lines = ['| work | Tenon | PyTorch | faster by, medians | by the best rounds | aim |', '|---|---|---|---|---|---|']
    for row in ROWS:
        times = measure(found, row, options.rounds)
        cells = [text_of(times[name], row[3]) if name in times else '–' for name in ('tenon', 'torch')]
        ratios = [f'{take(times["torch"]) / take(times["tenon"]):.1f}×' if 'torch' in times else '–'
                  for take in (statistics.median, min)]
        lines.append(f'| {row[0]} | {" | ".join(cells + ratios)} | {f"{row[4]}×" if row[4] else ""} |')
        print(lines[-1], flush=True)
    if options.write:
        head = ('# Training from Python\n\nWritten by `benchmarks/python_training.py --write`: one process, the libraries '
                f'interleaved, medians of {options.rounds} rounds (steps: {8 * options.rounds}) with the lowest and the highest; '
                'loaders in samples a second of 784 floats and a label. On a machine that is busy with other work the best rounds '
                f'say more than the medians.\n\n{describe()}; load average {os.getloadavg()[0]:.1f} at the end.\n\n')
        (HERE / 'python_training.md').write_text(head + '\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
