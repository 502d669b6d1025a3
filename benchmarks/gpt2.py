#!/usr/bin/env python3
"""A training step of GPT-2 beside PyTorch's: one text of the network for both, the same weights and tokens, steps interleaved.

PYTHONPATH must lead to a built package (build/python). PyTorch is measured where it can be imported and has the device.
  python benchmarks/gpt2.py --size 124M --dtype bfloat16 --device cuda:0      the aim: PyTorch's eager step, and its peak of memory
  python benchmarks/gpt2.py --size 124M --dtype bfloat16 --device cuda:0 --graph --torch-compile      beside torch.compile
  python benchmarks/gpt2.py                                                   a small one on the CPU, in float32
  python benchmarks/gpt2.py --device cuda:0 --only tenon --profile            where a step's time goes
  python benchmarks/gpt2.py --device cuda:0 --graph                           Tenon's step as a graph (tenon.capture)
"""
import argparse
import dataclasses
import statistics
import sys
import time

import numpy as np
from python_overhead import describe
from sides import Tenon, sides
from transformer import transformer

RATE, DECAY, SPREAD = 3e-4, 0.1, 0.02


@dataclasses.dataclass
class Size:
    """Radford et al. 2019, table 2; the vocabulary is rounded up to a multiple of 64, as others measure it."""
    layers: int
    heads: int
    width: int
    context: int
    vocabulary: int = 50304


SIZES = {'tiny': Size(2, 2, 64, 64, 256), 'small': Size(4, 4, 256, 256, 4096),
         '124M': Size(12, 12, 768, 1024), '355M': Size(24, 16, 1024, 1024)}


def first_weights(name, shape, rng):
    """Normal with deviation 0.02; biases 0 and norms 1, as they are."""
    if name.endswith('bias'):
        return np.zeros(shape, np.float32)
    return np.ones(shape, np.float32) if 'norm' in name else (SPREAD * rng.standard_normal(shape)).astype(np.float32)


class Training:
    """A network, its optimizer and a batch on the device."""

    def __init__(self, side, size, batch, dtype, graph=False, compiled=False):
        self.side, self.with_graph, self.graph = side, graph, None
        library = side.library
        rng = np.random.default_rng(1)
        net = transformer(library.nn, size.layers, size.heads, size.width, size.vocabulary, size.context, causal=True,
                          fused=isinstance(side, Tenon))
        with library.no_grad():
            for name, parameter in net.named_parameters():
                parameter[...] = library.asarray(first_weights(name, tuple(parameter.shape), rng))
        side.begin_peak()
        self.net = net.to(side.device).to(getattr(library, dtype))
        fused = {'fused': True} if compiled else {}
        self.optimizer = library.optim.AdamW(self.net.parameters(), lr=RATE, weight_decay=DECAY, **fused)
        if compiled:
            self.net = library.compile(self.net)
        self.with_compiler = compiled
        text = rng.integers(0, size.vocabulary, (batch, size.context + 1))
        self.index, self.target = side.array(text[:, :-1].copy()), side.array(text[:, 1:].reshape(-1))
        self.places = side.array(np.arange(size.context))
        self.losses, self.times = [], []

    def whole(self):
        logits = self.net(self.index, self.places)
        # Of logits as they are: both sides compute the loss of halves in float32 inside, and Tenon gives it so.
        loss = self.side.library.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), self.target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def step(self):
        if not self.with_graph or not self.losses:  # the first step is taken as usual
            return self.whole()
        if self.graph is None:
            with self.side.library.capture(self.side.device) as self.graph:
                self.replayed = self.whole()
        self.graph.replay()
        return self.replayed

    def timed(self):
        self.side.synchronize()
        start = time.perf_counter()
        loss = self.step()
        self.side.synchronize()
        self.times.append(time.perf_counter() - start)
        self.losses.append(loss.item())

    def settled(self):
        """The first step compiles and allocates, the second may capture, or be compiled anew."""
        first = 2 if self.with_graph or self.with_compiler else 1
        return self.times[first:] or self.times

    def row(self, tokens):
        times = self.settled()
        middle, peak = statistics.median(times), self.side.peak()
        if self.graph is not None:
            peak += self.graph.memory
        how = ', by a graph' if self.with_graph else ', compiled, AdamW fused' if self.with_compiler else ''
        return (f'| {self.side.name}{how} | {1e3 * middle:,.1f} ms ({1e3 * min(times):,.1f}–{1e3 * max(times):,.1f}) | '
                f'{tokens / middle:,.0f} | {f"{peak / 2 ** 20:,.0f} MiB" if peak else "–"} | '
                f'{self.losses[0]:.4f} → {self.losses[-1]:.4f} |')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--size', choices=SIZES, default='tiny')
    parser.add_argument('--batch', type=int, default=4)
    parser.add_argument('--dtype', choices=['float32', 'bfloat16', 'float16'], default='float32', help='of weights and activations')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--steps', type=int, default=9)
    parser.add_argument('--only', choices=['tenon', 'torch'])
    parser.add_argument('--graph', action='store_true', help="Tenon's step is captured and replayed")
    parser.add_argument('--torch-compile', action='store_true', help="PyTorch's by torch.compile, with its fused AdamW")
    parser.add_argument('--profile', action='store_true', help="Tenon's step by op")
    options = parser.parse_args()
    if min(options.steps, options.batch) < 1:
        parser.error('--steps and --batch must be 1 or more')
    size = SIZES[options.size]
    trained = [Training(side, size, options.batch, options.dtype, options.graph and isinstance(side, Tenon),
                        options.torch_compile and not isinstance(side, Tenon))
               for side in sides(options.only, options.device)]
    for number in range(options.steps):
        for each in trained:
            each.timed()
        print(f'\rstep {number + 1} of {options.steps}', end='' if number + 1 < options.steps else '\n', file=sys.stderr, flush=True)
    print(f'GPT-2 {options.size}, batch {options.batch} × {size.context}, {options.dtype}, {options.device}; {describe()}\n')
    print('| | step, median (range) | tokens a second | peak memory | loss |\n|---|---|---|---|---|')
    for each in trained:
        print(each.row(options.batch * size.context))
    if len(trained) == 2:
        mine, theirs = (statistics.median(each.settled()) for each in trained)
        print(f'\nTenon is {theirs / mine:.2f}× as fast.')
    if options.profile and isinstance(trained[0].side, Tenon):
        with trained[0].side.library.profiler() as profile:
            trained[0].step()
            trained[0].side.synchronize()
        print(f'\n{profile}')


if __name__ == '__main__':
    main()
