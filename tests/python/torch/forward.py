"""Judges forward mode by the samples of PyTorch's op_db: tangents beside those of torch.autograd.forward_ad.

Usage: forward.py [--sample] [--list] [ENTRY...]; prints each entry that differs, and the counts.
"""
import sys

from op_db import COARSE, PHASES, RANDOM, UNORDERED, Difference, Judge, left_out

DTYPES = 'float64', 'complex128'
# Entries that depend on signs, phases or random numbers, on digits that PyTorch loses, on which triangle is read, or on a view's strides.
LEFT = PHASES | UNORDERED | RANDOM | frozenset(COARSE) | {'logcumsumexp', 'triangular_solve'}
VARIANTS = frozenset(['as_strided/partial_views', 'linalg.pinv/hermitian'])


class Tangents(Judge):
    """Calls each sample with dual tensors in both libraries."""

    def entries_of(self, names):
        """(name, entry) of all that have tangents."""
        for name, entry in self.entries.items():
            if (not names or name in names) and entry.supports_forward_ad and not left_out(name) and entry.name not in LEFT and name not in VARIANTS:
                yield name, entry

    def judge(self, entry):
        """(calls that agree, calls, first difference)."""
        torch, agree, calls, first = self.torch, 0, 0, None
        function = self.function_of(entry)
        for dtype in DTYPES:
            kind = getattr(torch, dtype)
            if not entry.supports_dtype(kind, 'cpu'):
                continue
            samples = list(entry.sample_inputs('cpu', kind, requires_grad=True))
            for sample in samples[:self.samples]:
                self.symmetric = sample.input if self.hermitian(entry) else None
                expected = self.theirs(entry, sample)
                if expected is None:
                    continue
                calls += 1
                try:
                    self.compare(function, sample, expected)
                    agree += 1
                except Difference as difference:
                    first = first or f'{dtype} {difference}'
        return agree, calls, first

    def theirs(self, entry, sample):
        """PyTorch's (values, tangents), None where it gives none."""
        torch = self.torch
        forward = torch.autograd.forward_ad
        torch.manual_seed(3)
        try:
            with forward.dual_level():
                args, kwargs = self.dual((sample.input, *sample.args)), self.dual(sample.kwargs)
                torch.manual_seed(0)
                found = [forward.unpack_dual(y) if isinstance(y, torch.Tensor) else (y, None) for y in self.flat(entry.op(*args, **kwargs))]
                return [(y, t) for y, t in found]
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            return None

    def dual(self, value):
        """With a tangent for each tensor that requires a gradient."""
        torch = self.torch
        if isinstance(value, torch.Tensor) and value.requires_grad:
            tangent = self.tangent_of(value)
            return torch.autograd.forward_ad.make_dual(value.detach(), tangent)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.dual, value))
        return {key: self.dual(each) for key, each in value.items()} if isinstance(value, dict) else value

    def tangent_of(self, value):
        """A random tangent; symmetric for a matrix that is treated as symmetric."""
        tangent = self.torch.randn_like(value.detach())
        return tangent + tangent.mH if value is self.symmetric else tangent

    def own_dual(self, value):
        torch, forward = self.torch, self.ours.autograd.forward_ad
        if isinstance(value, torch.Tensor) and value.requires_grad:
            tangent = self.tangent_of(value)
            return forward.make_dual(self.convert(value.detach()), self.convert(tangent))
        if isinstance(value, torch.Tensor):
            return self.convert(value)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.own_dual, value))
        return {key: self.own_dual(each) for key, each in value.items()} if isinstance(value, dict) else self.convert(value)

    def compare(self, function, sample, expected):
        """Raises Difference if ours differ."""
        forward = self.ours.autograd.forward_ad
        self.torch.manual_seed(3)
        try:
            with forward.dual_level():
                args, kwargs = self.own_dual((sample.input, *sample.args)), self.own_dual(sample.kwargs)
                found = [forward.unpack_dual(y) if isinstance(y, self.ours.Tensor) else (y, None) for y in self.flat(function(*args, **kwargs))]
        except Difference:
            raise
        except Exception as error:
            raise Difference(f'raises {type(error).__name__}: {str(error)[:200]}') from error
        for (_, mine), (y, other) in zip(found, expected, strict=True):
            if not isinstance(y, self.torch.Tensor):
                continue
            mine = self.convert(self.torch.zeros_like(y)) if mine is None else mine
            self.equal(mine, self.torch.zeros_like(y) if other is None else other, 'tangent', loose=10)


def main(arguments):
    names = [a for a in arguments if not a.startswith('--')]
    judge = Tangents(2 if '--sample' in arguments else 10**6)
    whole = total = 0
    for name, entry in judge.entries_of(names):
        try:
            agree, calls, first = judge.judge(entry)
        except Difference as difference:
            agree, calls, first = 0, 1, str(difference)
        total += calls > 0
        whole += calls > 0 and agree == calls
        if first:
            print(f'{name}: {agree} of {calls}: {first}', flush=True)
    print(f'{whole} of {total} entries agree whole')
    return whole != total


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
