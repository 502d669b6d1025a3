#!/usr/bin/env python3
"""Runs the samples that PyTorch tests its own modules with (its module_db) through tenon.torch.nn, beside PyTorch.

For each ModuleInput, in float32 and float64, training and evaluating: the state goes strictly both ways with equal names, order,
shapes and dtypes, the same inputs give the same outputs and the same gradients of inputs and parameters, the buffers agree
afterwards, and both print alike. Usage: modules.py [ENTRY...]
"""
import argparse
import collections
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import op_db

DTYPES = 'float32', 'float64'
# Their results are drawn at random: shapes and dtypes are compared.
RANDOM = frozenset(('FractionalMaxPool2d', 'FractionalMaxPool3d'))


class ModuleJudge(op_db.Judge):
    """Compares one module after the other."""

    def __init__(self):
        import torch
        from torch.testing._internal.common_modules import module_db

        import tenon.torch
        torch.set_num_threads(1)
        self.torch, self.ours, self.processing = torch, tenon.torch, False
        self.entries = {entry.name.removeprefix('nn.'): entry for entry in module_db}
        self.handle, self.made = self._make_handle(), {}

    def convert(self, value, leaves=None):
        """As for functions; a tensor that occurs twice stays one."""
        if isinstance(value, self.torch.nn.TransformerEncoderLayer):
            return self.encoder_layer(value)
        if not isinstance(value, self.torch.Tensor) or leaves is None:
            return super().convert(value, leaves)
        if id(value) not in self.made:
            self.made[id(value)] = super().convert(value, leaves)
        return self.made[id(value)]

    def encoder_layer(self, theirs):
        """Ours with the options of PyTorch's; the weights go with the whole module's state."""
        attention, F = theirs.self_attn, self.ours.nn.functional
        return self.ours.nn.TransformerEncoderLayer(
            attention.embed_dim, attention.num_heads, theirs.linear1.out_features, theirs.dropout.p, getattr(F, theirs.activation.__name__),
            theirs.norm1.eps, attention.batch_first, theirs.norm_first, theirs.linear1.bias is not None)

    def state(self, ours, theirs):
        """The state loads strictly in both directions."""
        torch = self.torch
        expected = theirs.state_dict()
        ours.load_state_dict({name: self.convert(x) for name, x in expected.items()})
        found = ours.state_dict()
        if list(found) != list(expected):
            raise op_db.Difference(f'state: {list(found)} is not {list(expected)}')
        for name, x in expected.items():
            self.equal(found[name], x, f'state {name}')
        theirs.load_state_dict({name: torch.from_numpy(x.numpy().copy()) for name, x in found.items()})
        for kind in ('named_parameters', 'named_buffers', 'named_modules'):
            names = [[name for name, _ in getattr(module, kind)()] for module in (ours, theirs)]
            if names[0] != names[1]:
                raise op_db.Difference(f'{kind}: {names[0]} is not {names[1]}')

    def make(self, name, sample, dtype, training):
        """Ours and PyTorch's, in the same state."""
        given = sample.constructor_input
        theirs = getattr(self.torch.nn, name)(*given.args, **given.kwargs)
        try:
            ours = getattr(self.ours.nn, name)(*self.convert(given.args), **self.convert(given.kwargs))
        except Exception as error:
            raise op_db.Difference(f'constructor raises {type(error).__name__}: {str(error)[:160]}') from error
        if repr(ours) != repr(theirs):
            raise op_db.Difference(f'prints {ours!r}, not {theirs!r}')
        theirs = theirs.to(dtype).train(training)
        return ours.to(getattr(self.ours, str(dtype)[6:])).train(training), theirs

    def judge(self, name, sample, dtype, training):
        """One module, its call, its gradients, its buffers."""
        torch, given = self.torch, sample.forward_input
        ours, theirs = self.make(name, sample, dtype, training)
        if name.startswith('Lazy'):  # shapes come with the first call
            with torch.no_grad(), self.ours.no_grad():
                theirs(*given.args, **given.kwargs)
                ours(*self.convert(given.args), **self.convert(given.kwargs))
        self.state(ours, theirs)
        leaves, self.made = [], {}
        args, kwargs = self.convert(given.args, leaves), self.convert(given.kwargs, leaves)
        expected = theirs(*given.args, **given.kwargs)
        try:
            found = ours(*args, **kwargs)
        except Exception as error:
            raise op_db.Difference(f'raises {type(error).__name__}: {str(error)[:160]}') from error
        values = name not in RANDOM
        self.equal(found, expected, 'value', values)
        self.compare_gradients(ours, theirs, found, expected, leaves, given, values)
        for (key, x), (_, other) in zip(ours.named_buffers(), theirs.named_buffers()):
            self.equal(x, other, f'buffer {key}', values)

    def compare_gradients(self, ours, theirs, found, expected, leaves, given, values):
        """Gradients of inputs and parameters; one that is not used counts as 0."""
        torch = self.torch
        others = list({id(x): x for x in self.tensors((given.args, given.kwargs)) if x.requires_grad}.values())
        names = [f'input {i}' for i in range(len(others))] + [key for key, _ in theirs.named_parameters()]
        others, leaves = others + list(theirs.parameters()), leaves + list(ours.parameters())
        pairs = [(mine, other) for mine, other in zip(self.flat(found), self.flat(expected))
                 if isinstance(other, torch.Tensor) and other.requires_grad]
        if not pairs or not others:
            return
        torch.manual_seed(1)
        seeds = [torch.randn_like(other) for _, other in pairs]
        expected = torch.autograd.grad([other for _, other in pairs], others, seeds, allow_unused=True)
        try:
            got = self.ours.autograd.grad([mine for mine, _ in pairs], leaves, [self.convert(seed) for seed in seeds], allow_unused=True)
        except Exception as error:
            raise op_db.Difference(f'gradient raises {type(error).__name__}: {str(error)[:160]}') from error
        for key, mine, other, leaf in zip(names, got, expected, others):
            other = torch.zeros_like(leaf) if other is None else other
            mine = self.convert(torch.zeros_like(leaf).detach()) if mine is None else mine
            self.equal(mine, other, f'gradient of {key}', values, loose=10)

    def tensors(self, value):
        """All tensors of PyTorch within, in order."""
        if isinstance(value, self.torch.Tensor):
            return [value]
        if isinstance(value, dict):
            value = list(value.values())
        return [x for each in value for x in self.tensors(each)] if isinstance(value, (list, tuple)) else []

    def run(self, name):
        """{'passed': calls, 'failed': {reason: calls}} of an entry."""
        torch, entry = self.torch, self.entries[name]
        passed, failed = 0, collections.Counter()
        if not hasattr(self.ours.nn, name):
            return {'passed': 0, 'failed': {'absent': 1}}
        for dtype in (getattr(torch, each) for each in DTYPES):
            for training in (True, False):
                torch.manual_seed(0)
                samples = entry.module_inputs_func(entry, device='cpu', dtype=dtype, requires_grad=True, training=training)
                for sample in samples:
                    if sample.forward_input is None:
                        continue
                    try:
                        self.judge(name, sample, dtype, training)
                        passed += 1
                    except op_db.Difference as difference:
                        mode = 'training' if training else 'evaluating'
                        failed[f'{str(dtype)[6:]} {mode} {sample.desc or ""}: {difference}'] += 1
        return {'passed': passed, 'failed': dict(failed)}


def judge_all(names=None):
    """(all names, verdicts by name)."""
    judge = ModuleJudge()
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return list(judge.entries), {name: judge.run(name) for name in names or judge.entries}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('names', nargs='*', metavar='ENTRY')
    _, verdicts = judge_all(parser.parse_args().names)
    good = calls = 0
    for name, verdict in verdicts.items():
        good += not verdict['failed'] and verdict['passed'] > 0
        calls += verdict['passed']
        for reason, count in list(verdict['failed'].items())[:3]:
            print(f'{name}: {reason}' + (f' ({count}×)' if count > 1 else ''))
        if not verdict['failed'] and not verdict['passed']:
            print(f'{name}: no sample')
    print(f'{good} of {len(verdicts)} modules pass, {calls} calls agree')
    return int(good < len(verdicts))


if __name__ == '__main__':
    sys.exit(main())
