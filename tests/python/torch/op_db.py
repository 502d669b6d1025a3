#!/usr/bin/env python3
"""Runs the samples that PyTorch tests its own functions with (its op_db) through tenon.torch, beside PyTorch.

Values, dtypes, shapes and first gradients must agree, and what is an error there must be one here. Workers are processes
of their own: a crash or a hang fails one entry. Usage: op_db.py [--whole] [--jobs N] [--write | ENTRY...]
"""
import argparse
import collections
import json
import pathlib
import queue
import subprocess
import sys
import threading
import types

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / 'docs/torch.md'
DTYPES = 'float32', 'float64', 'int64', 'complex64'
SECONDS = 120  # for one entry

# Entries outside of PyTorch's public vocabulary for dense tensors, and why.
LEFT_OUT = (
    (('_', 'torch._', 'torch.ops.', 'native_', 'jiterator_', 'hash_tensor', 'grid_sampler_', 'max_pool2d_with_indices_backward'),
     'internal to PyTorch'),
    (('sparse.', 'to_sparse'), 'sparse tensors, which have tests of their own'),
    (('masked.',), "PyTorch's prototype of masked tensors"),
    (('bmm/triton_optimized', 'nn.functional.batch_norm/without_cudnn'), 'for GPUs only'),
    (('slice',), 'internal to PyTorch'),  # aten.slice; slice_scatter is not
)
# Values are random, or whatever memory held: only shapes and dtypes are compared.
RANDOM = frozenset('''
    bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal multinomial new_empty
    new_empty_strided nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d
    nn.functional.feature_alpha_dropout nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d
    nn.functional.multi_head_attention_forward
    nn.functional.rrelu nn.functional.scaled_dot_product_attention normal rand_like randint randint_like randn randn_like
    pca_lowrank resize_ resize_as_ svd_lowrank uniform'''.split())


def left_out(name):
    """Why an entry is left out, or None."""
    if name.startswith('__'):  # Python's operators
        return None
    return next((why for starts, why in LEFT_OUT if name.startswith(starts) and name != 'slice_scatter'), None)


# Vectors are determined up to a sign or phase; of equal elements any index will do.
PHASES = frozenset(['linalg.eig', 'linalg.eigh', 'svd', 'linalg.svd'])
TIES = frozenset(['topk', 'kthvalue', 'mode'])
# PyTorch's own values are right to a few digits only, according to mpmath, or use float32 weights for float64 numbers.
COARSE = {'special.bessel_j0': 100, 'special.bessel_j1': 100, 'special.bessel_y0': 100, 'special.bessel_y1': 100, 'cov': 1000}
# Eigenvalues come in any order.
UNORDERED = frozenset(['linalg.eig', 'linalg.eigvals'])
# Gradients of PyTorch that its own gradcheck refutes, or that lose digits which those in double precision keep.
REFUTED = {'as_strided_scatter': DTYPES, 'istft': ('complex64',), 'logsumexp': ('complex64',), 'logcumsumexp': ('float32',),
           'renorm': ('complex64',)}
# Which operand is triangular: beyond its triangle the gradient is not determined.
TRIANGULAR = {'cholesky_inverse': 0, 'cholesky_solve': 1}


class Difference(Exception):
    """Where the two disagree."""


def load():
    """PyTorch, tenon.torch and op_db by name."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    import tenon.torch
    torch.set_num_threads(1)
    return torch, tenon.torch, {entry.name + ('/' + entry.variant_test_name if entry.variant_test_name else ''): entry for entry in op_db}


class Judge:
    """Compares one entry after the other."""

    def __init__(self, samples):
        self.torch, self.ours, self.entries = load()
        self.samples = samples
        self.handle = self._make_handle()

    # From PyTorch to here -----------------------------------------------------------------------------------------------------

    def _make_handle(self):
        """A tensor of PyTorch that stands for one of ours within the entries that are lambdas."""
        torch, judge = self.torch, self
        plain = {getattr(torch.Tensor, name).__get__ for name in ('shape', 'dtype', 'ndim', 'device', 'layout', 'requires_grad')}

        class Handle(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if func in plain:
                    with torch._C.DisableTorchFunctionSubclass():
                        return func(*args, **(kwargs or {}))
                return judge.wrap(judge.find(func)(*judge.convert(args), **judge.convert(kwargs or {})))
        return Handle

    def wrap(self, value):
        """Ours as what PyTorch's lambdas can handle."""
        if isinstance(value, self.ours.Tensor):
            shape, dtype = tuple(value.shape), getattr(self.torch, value.dtype.name)
            handle = self.torch.empty(shape, dtype=dtype, device='meta').as_subclass(self.handle)
            handle.ours = value
            return handle
        if isinstance(value, (list, tuple)):
            return tuple(map(self.wrap, value)) if isinstance(value, tuple) else list(map(self.wrap, value))
        return value

    def convert(self, value, leaves=None):
        """PyTorch's arguments as ours. Tensors that require a gradient are put into leaves, in order."""
        torch, ours = self.torch, self.ours
        if isinstance(value, self.handle):
            return value.ours
        if isinstance(value, torch.Tensor):
            x = value.detach().resolve_conj().resolve_neg()
            if x.dtype is torch.bfloat16:
                made = ours.tensor(x.float().numpy()).to(ours.bfloat16)
            elif x.numel() and x.numel() * x.element_size() != x.untyped_storage().nbytes():  # a view, for what reads strides
                whole = torch.as_strided(x, (x.untyped_storage().nbytes() // x.element_size(),), (1,), 0)
                made = ours.as_strided(ours.tensor(whole.numpy()), x.shape, x.stride(), x.storage_offset())
            else:
                made = ours.tensor(x.numpy())
            if value.requires_grad:
                made.requires_grad_()
                if leaves is not None:
                    leaves.append(made)
            return made
        if isinstance(value, torch.dtype):
            return getattr(ours, str(value)[6:])
        if isinstance(value, torch.device):
            return str(value)
        if isinstance(value, (torch.layout, torch.memory_format)):
            return getattr(ours, str(value)[6:])
        if isinstance(value, (list, tuple)):
            made = [self.convert(each, leaves) for each in value]
            return made if isinstance(value, list) else tuple(made)
        if isinstance(value, dict):
            return {key: self.convert(each, leaves) for key, each in value.items()}
        if isinstance(value, torch.nn.Module) or isinstance(value, types.FunctionType) and not self.name_of(value):
            return lambda *args: self.unwrap(value(*map(self.wrap, args)))
        if callable(value) and (name := self.name_of(value)):
            return self.find(value, name)
        return value

    def name_of(self, func):
        name = self.torch.overrides.resolve_name(func)
        return None if name is None or name.startswith('aten.') else name.removeprefix('torch.').removeprefix('functional.')

    def find(self, func, name=None):
        """Our function for one of PyTorch's."""
        name = name or self.name_of(func)
        if name is None:
            raise Difference(f'absent: {getattr(func, "__name__", func)}')
        if name.startswith('Tensor.'):
            return self.method(name[7:])
        found = self.ours
        try:
            for part in name.split('.'):
                found = getattr(found, part)
        except (AttributeError, ImportError):
            raise Difference(f'absent: {name}') from None
        return found

    def method(self, name):
        """The method of that name, or a function that reads the property."""
        if name.endswith('.__get__'):
            return lambda x: getattr(x, name.removesuffix('.__get__'))
        try:
            return getattr(self.ours.Tensor, name)
        except AttributeError as error:
            raise Difference(f'absent: Tensor.{name}' + (f': {error}' if 'not offered' in str(error) else '')) from None

    def variants(self, entry):
        """(what, PyTorch's, ours) of an entry: the function, the method, and the method in place, on a copy of the first operand."""
        yield '', entry, self.function_of(entry)
        for what, variant in (('method', entry.method_variant), ('in place', entry.inplace_variant)):
            name = getattr(variant, '__name__', '')
            if not name or name.startswith('__') or getattr(self.torch.Tensor, name, None) is None:
                continue

            def theirs(x, *args, call=variant, copied=what == 'in place', **kwargs):
                return call(x.clone() if copied else x, *args, **kwargs)
            try:
                own = self.method(name)
            except Difference as difference:
                raise Difference(f'{what}: {difference}') from None

            def ours(x, *args, call=own, copied=what == 'in place', **kwargs):
                return call(x.clone() if copied else x, *args, **kwargs)
            yield what + ': ', theirs, ours

    def function_of(self, entry):
        """Our function of an entry, as a callable."""
        path, found = entry.name, self.torch
        for part in path.split('.'):
            found = getattr(found, part, None)
        name = path if found is entry.op else self.name_of(entry.op)
        if name is not None:
            return self.find(entry.op, name)

        class Mode(self.torch.overrides.TorchFunctionMode):  # functions that are given no tensor come here, too
            def __torch_function__(mode, func, types, args=(), kwargs=None):
                return self.handle.__torch_function__(func, types, args, kwargs)

        def call(*args, **kwargs):
            args, kwargs = self.wrap_all(args), self.wrap_all(kwargs)
            with Mode():
                return self.unwrap(entry.op(*args, **kwargs))
        return call

    def wrap_all(self, value):
        if isinstance(value, dict):
            return {key: self.wrap_all(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.wrap_all, value))
        if isinstance(value, type(self.ours.float32)):
            return getattr(self.torch, value.name)
        if isinstance(value, str) and value.startswith('torch.'):
            return getattr(self.torch, value[6:])
        return self.wrap(value)

    def unwrap(self, value):
        if isinstance(value, self.handle):
            return value.ours
        return [self.unwrap(each) for each in value] if isinstance(value, (list, tuple)) else value

    # Comparing ----------------------------------------------------------------------------------------------------------------

    def equal(self, ours, theirs, what, values=True, loose=1.0):
        """Raises Difference where the two differ."""
        torch = self.torch
        if isinstance(theirs, (list, tuple)):
            if not isinstance(ours, (list, tuple)) or len(ours) != len(theirs):
                raise Difference(f'{what}: {type(ours).__name__} for {type(theirs).__name__} of {len(theirs)}')
            for name in getattr(theirs, '__match_args__', ()) or ():
                if not hasattr(ours, name):
                    raise Difference(f'{what}: no field {name}')
            for mine, other in zip(ours, theirs):
                self.equal(mine, other, what, values, loose)
            return
        if not isinstance(theirs, torch.Tensor):
            if isinstance(theirs, (torch.dtype, torch.Size)):
                ours, theirs = (str(each).removeprefix('torch.').removeprefix('Size') for each in (ours, theirs))
                ours, theirs = (each.strip('()[],') for each in (ours, theirs))
            if values and ours != theirs and not (ours != ours and theirs != theirs):
                raise Difference(f'{what}: {ours} is not {theirs}')
            return
        if not isinstance(ours, self.ours.Tensor):
            raise Difference(f'{what}: {type(ours).__name__}, not a Tensor')
        if tuple(ours.shape) != tuple(theirs.shape):
            raise Difference(f'{what}: shape {tuple(ours.shape)}, not {tuple(theirs.shape)}')
        if ours.dtype.name != str(theirs.dtype)[6:]:
            raise Difference(f'{what}: dtype {ours.dtype}, not {str(theirs.dtype)[6:]}')
        if not values or not theirs.numel():
            return
        if theirs.dtype is torch.bfloat16:
            ours, theirs = ours.to(self.ours.float32), theirs.float()
        mine, theirs = torch.from_numpy(ours.detach().contiguous().numpy().copy()), theirs.detach().resolve_conj().resolve_neg()
        exact = not theirs.dtype.is_floating_point and not theirs.dtype.is_complex
        fine = theirs.dtype in (torch.float64, torch.complex128)
        rtol, atol = (0, 0) if exact else (1e-7, 1e-8) if fine else (2e-4, 2e-5)
        close = torch.isclose(mine, theirs, rtol * loose, atol * loose, equal_nan=True)
        if not close.all():
            at = tuple((~close).nonzero()[0].tolist())
            raise Difference(f'{what}: {mine[at].item()} is not {theirs[at].item()} at {at} of {tuple(theirs.shape)}')

    def sample(self, entry, variants, sample, values, failed):
        """One call of each variant, and its gradient. How many agree, and how many PyTorch takes, too."""
        torch = self.torch
        if self.hermitian(entry):  # such a matrix is taken as symmetric: made so, its gradient is determined
            sample.input = (sample.input + sample.input.mH).detach().requires_grad_(sample.input.requires_grad)
        leaves, theirs_leaves = [], []
        args = self.convert((sample.input, *sample.args), leaves)
        kwargs = self.convert(sample.kwargs, leaves)

        def note(value):
            if isinstance(value, torch.Tensor):
                if value.requires_grad:
                    theirs_leaves.append(value)
            elif isinstance(value, (list, tuple)):
                for each in value:
                    note(each)
            elif isinstance(value, dict):
                note(list(value.values()))
        note((sample.input, *sample.args))
        note(sample.kwargs)
        passed = taken = 0
        for what, theirs, ours in variants:
            try:
                torch.manual_seed(0)
                expected = theirs(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                continue
            taken += 1
            try:
                self.call(entry, ours, expected, args, kwargs, leaves, theirs_leaves, sample, values)
                passed += 1
            except Difference as difference:
                failed.append(f'{what}{difference}')
        return passed, taken

    def call(self, entry, function, theirs, args, kwargs, leaves, theirs_leaves, sample, values):
        """Raises Difference where a call, or its gradient, is not PyTorch's."""
        try:
            ours = function(*args, **kwargs)
        except Difference:
            raise
        except Exception as error:
            raise Difference(f'raises {type(error).__name__}: {str(error)[:160]}') from error
        if entry.name in UNORDERED:
            ours = self.ordered(ours, theirs)
        loose = COARSE.get(entry.name, 1)
        mine, other = ours, theirs
        if entry.name in PHASES:
            mine, other = self.processed(ours, sample), sample.output_process_fn_grad(theirs)
        elif entry.name in TIES and sample.input.ndim:
            place = 0 if entry.name == 'mode' else 1
            dim = sample.kwargs.get('dim', sample.args[place] if len(sample.args) > place else -1)
            mine, other = self.without_ties(ours, theirs, sample.input.detach(), dim)
        self.equal(mine, other, 'value', values, loose)
        if leaves and values and sample.output_process_fn_grad is not None:
            self.gradients(entry, ours, theirs, leaves, theirs_leaves, sample)

    def processed(self, ours, sample):
        """Ours as the sample makes PyTorch's results independent of signs and phases."""
        return self.unwrap(sample.output_process_fn_grad(self.wrap(ours)))

    def ordered(self, ours, theirs):
        """Our eigenvalues, and vectors, in PyTorch's order."""
        torch, values = self.torch, self.flat(ours)[0]
        mine, other = (x.detach() for x in (torch.from_numpy(values.detach().numpy().copy()), self.flat(theirs)[0]))
        order = (other.unsqueeze(-1) - mine.unsqueeze(-2)).abs().argmin(-1) if mine.numel() else torch.zeros(mine.shape, dtype=torch.int64)
        found = self.ours.gather(values, -1, self.convert(order))
        if not isinstance(ours, tuple):
            return found
        wide = self.convert(order.unsqueeze(-2).expand(ours[1].shape).contiguous())
        return type(ours)(found, self.ours.gather(ours[1], -1, wide))

    def without_ties(self, ours, theirs, input, dim):
        """Of equal elements any index is right: indices are compared by what they name."""
        torch = self.torch

        def named(index):
            wide = index if index.ndim == input.ndim else index.unsqueeze(dim)
            return input.gather(dim, wide)
        return [ours[0], self.convert(named(torch.from_numpy(ours[1].numpy())))], [theirs[0], named(theirs[1])]

    def gradients(self, entry, ours, theirs, leaves, theirs_leaves, sample):
        """First gradients; a result without one counts as one of 0. In float64 second ones are counted, too."""
        torch = self.torch
        if str(theirs_leaves[0].dtype)[6:] in REFUTED.get(entry.name, ()):
            return
        if isinstance(theirs, torch.Tensor) or type(theirs) in (list, tuple) or hasattr(theirs, '__match_args__'):
            theirs = sample.output_process_fn_grad(theirs)
            ours = self.processed(ours, sample)
        pairs = [(mine, other) for mine, other in zip(self.flat(ours), self.flat(theirs)) if isinstance(other, torch.Tensor) and other.requires_grad]
        if not pairs:
            return
        torch.manual_seed(1)
        seeds = [torch.randn_like(other) for _, other in pairs]
        again = entry.supports_gradgrad and theirs_leaves[0].dtype is torch.float64
        try:
            expected = torch.autograd.grad([other for _, other in pairs], theirs_leaves, seeds, allow_unused=True, create_graph=again)
        except Exception:
            return
        recorded = [(mine, self.convert(seed)) for (mine, _), seed in zip(pairs, seeds) if mine.requires_grad]
        try:
            got = [None] * len(leaves) if not recorded else self.ours.autograd.grad(
                [mine for mine, _ in recorded], leaves, [seed for _, seed in recorded], allow_unused=True, create_graph=again)
        except Exception as error:
            raise Difference(f'gradient raises {type(error).__name__}: {str(error)[:160]}') from error
        for i, (mine, other, leaf) in enumerate(zip(got, expected, theirs_leaves)):
            other = torch.zeros_like(leaf) if other is None else other
            mine = self.convert(torch.zeros_like(leaf).detach()) if mine is None else mine
            if i == 0 and self.hermitian(entry):
                mine, other = mine + self.ours.adjoint(mine), other + other.mH
            if TRIANGULAR.get(entry.name) == i:
                part = 'triu' if sample.kwargs.get('upper') else 'tril'
                mine, other = getattr(self.ours, part)(mine), getattr(other, part)()
            self.equal(mine, other, 'gradient', loose=10 * COARSE.get(entry.name, 1))
        if again:
            try:
                self.second_gradients(entry, got, expected, leaves, theirs_leaves)
            except Difference as difference:
                self.second_failed[str(difference)] += 1

    def second_gradients(self, entry, first, theirs_first, leaves, theirs_leaves):
        """The gradients of Σ vᵢ·gᵢ over the first gradients g, v being random; they are counted by themselves."""
        torch = self.torch
        if self.hermitian(entry) or entry.name in TRIANGULAR or entry.name in COARSE:  # the first ones are compared in part
            return
        torch.manual_seed(2)
        pairs = [(mine, other, torch.randn_like(other)) for mine, other in zip(first, theirs_first) if other is not None]
        kept = [(other, seed) for _, other, seed in pairs if other.requires_grad]
        if not kept:
            return
        try:
            expected = torch.autograd.grad([other for other, _ in kept], theirs_leaves, [seed for _, seed in kept], allow_unused=True)
        except Exception:
            return
        recorded = [(mine, self.convert(seed)) for mine, _, seed in pairs if mine is not None and mine.requires_grad]
        try:
            got = [None] * len(leaves) if not recorded else self.ours.autograd.grad(
                [mine for mine, _ in recorded], leaves, [seed for _, seed in recorded], allow_unused=True)
        except Exception as error:
            raise Difference(f'raises {type(error).__name__}: {str(error)[:160]}') from error
        for mine, other, leaf in zip(got, expected, theirs_leaves):
            other = torch.zeros_like(leaf) if other is None else other
            mine = self.convert(torch.zeros_like(leaf).detach()) if mine is None else mine
            self.equal(mine, other, 'second gradient', loose=100)
        self.second_passed += 1

    @staticmethod
    def hermitian(entry):
        return getattr(entry.gradcheck_wrapper, '__name__', '') == 'gradcheck_wrapper_hermitian_input'

    def flat(self, value):
        if isinstance(value, (list, tuple)):
            return [each for part in value for each in self.flat(part)]
        return [value]

    def shared(self, values):
        """Whether tensors share memory, among them or within."""
        tensors = [x for x in self.flat(values) if isinstance(x, self.torch.Tensor)]
        places = [x.untyped_storage().data_ptr() if x.numel() else id(x) for x in tensors]
        return len(set(places)) < len(places) or any(0 in x.stride() and x.numel() > 1 for x in tensors)

    def errors(self, entry, function):
        """If PyTorch refuses a call, any error will do."""
        for error in entry.error_inputs('cpu'):
            sample = error.sample_input
            if self.shared([sample.input, *sample.args, *sample.kwargs.values()]):
                continue  # here arguments have memory of their own
            try:
                args, kwargs = self.convert((sample.input, *sample.args)), self.convert(sample.kwargs)
            except Exception:
                continue
            if self.takes(entry, sample) or not self.takes(function, None, args, kwargs):
                continue
            raise Difference(f'no error: {str(error.error_regex)[:100]}')

    @staticmethod
    def takes(function, sample, args=None, kwargs=None):
        """Whether a call returns."""
        try:
            function(*(args or (sample.input, *sample.args)), **(kwargs if args else sample.kwargs))
        except Exception:
            return False
        return True

    def run(self, name):
        """{'passed': calls, 'failed': {reason: calls}} of an entry, and 'second': the same of gradients of gradients."""
        torch, entry = self.torch, self.entries[name]
        self.second_passed, self.second_failed = 0, collections.Counter()
        passed, failed = 0, collections.Counter()
        try:
            variants = list(self.variants(entry))
        except Difference as difference:
            return {'passed': 0, 'failed': {str(difference): 1}}
        for dtype in (getattr(torch, each) for each in DTYPES):
            if dtype not in entry.dtypes:
                continue
            grad = entry.supports_autograd and dtype in entry.backward_dtypes and (dtype.is_floating_point or dtype.is_complex)
            torch.manual_seed(0)
            try:
                samples = entry.sample_inputs('cpu', dtype, requires_grad=grad)
                done = 0
                for sample in samples:
                    differences = []
                    agree, taken = self.sample(entry, variants, sample, entry.name not in RANDOM, differences)
                    passed += agree
                    failed.update(f'{str(dtype)[6:]} {difference}' for difference in differences)
                    done += taken > 0
                    if self.samples and done >= self.samples:
                        break
            except Exception as error:
                failed[f'sample: {type(error).__name__} {str(error)[:100]}'] += 1
        if entry.error_inputs_func is not None:
            try:
                self.errors(entry, variants[0][2])
            except Difference as difference:
                failed[str(difference)] += 1
        return {'passed': passed, 'failed': dict(failed), 'second': {'passed': self.second_passed, 'failed': dict(self.second_failed)}}


def work(samples):
    """A worker: reads names line by line, writes verdicts."""
    import warnings
    warnings.simplefilter('ignore')
    out, sys.stdout = sys.stdout, sys.stderr
    judge = Judge(samples)
    print(json.dumps(list(judge.entries)), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(judge.run(line.strip())), file=out, flush=True)


class Worker:
    """A process that judges; a new one after a crash."""

    def __init__(self, samples):
        self.process = subprocess.Popen([sys.executable, __file__, '--worker', '--samples', str(samples)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.names = self.answer(300)

    def answer(self, seconds):
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        return json.loads(line) if line else None

    def judge(self, name):
        self.process.stdin.write(name + '\n')
        self.process.stdin.flush()
        return self.answer(SECONDS)

    def stop(self):
        self.process.stdin.close()
        self.process.kill()
        return self.process.wait()


def judge_all(names=None, samples=0, jobs=2):
    """Verdicts by name; names=None: all that are not left out."""
    first = Worker(samples)
    if first.names is None:
        sys.exit('the worker did not start: is PyTorch here, with expecttest?')
    every = first.names
    todo, verdicts = queue.Queue(), {}
    for name in every if names is None else names:
        if name not in every:
            verdicts[name] = {'passed': 0, 'failed': {'not in op_db': 1}}
        elif names is not None or left_out(name) is None:
            todo.put(name)

    def loop(worker):
        while True:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                break
            worker = worker or Worker(samples)
            verdict = worker.judge(name)
            if verdict is None:
                verdict = {'passed': 0, 'failed': {f'ends the process, or takes {SECONDS} s ({worker.stop()})': 1}}
                worker = None
            verdicts[name] = verdict
        if worker is not None:
            worker.stop()
    threads = [threading.Thread(target=loop, args=(first if i == 0 else None,)) for i in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return every, {name: verdicts[name] for name in every if name in verdicts} | {name: v for name, v in verdicts.items() if name not in every}


def page(every, verdicts):
    """The text of docs/torch.md."""
    out = {name: left_out(name) for name in every if left_out(name)}
    passed = [name for name, verdict in verdicts.items() if not verdict['failed'] and verdict['passed']]
    failed = {name: verdict for name, verdict in verdicts.items() if name not in passed}
    twice = {name: each['second'] for name, each in verdicts.items() if any(each.get('second', {}).values())}
    wrong = {name: each for name, each in twice.items() if each['failed']}
    lines = ['# tenon.torch, judged by PyTorch\'s own samples', '',
             "`tests/python/torch/op_db.py --whole --write` wrote this page. It takes each entry of `op_db`, PyTorch's own test samples, and",
             'calls it here and in PyTorch: as a function, as a method and as a method in place. Values, dtypes, shapes and first gradients in',
             'float32, float64, int64 and complex64 must agree in every sample, and what is an error there must be one here. Random results',
             'are compared in shape and dtype, eigenvectors up to sign and phase; among equal elements any index is right. The tests fail if',
             'an entry that passes here stops passing.', '',
             '| entries | |', '|---|---|', f'| pass | {len(passed)} |', f'| differ or are missing | {len(failed)} |', f'| left out | {len(out)} |',
             f'| together | {len(every)} |', f'| gradients of gradients, where PyTorch has them: agree | {len(twice) - len(wrong)} of {len(twice)} |',
             '', '## Pass', '']
    lines += wrapped([f'`{name}`' for name in passed])
    lines += ['', '## Differ or are missing', '', *differences(failed), '', '## Gradients of gradients that differ', '',
              'Of samples in float64 whose first gradients agree.', '', *differences(wrong)]
    lines += ['', '## Compared less strictly', '']
    for what, names in (("Values up to PyTorch's own error, which is larger than ours:", COARSE), ('Only shapes and dtypes, because values are random:', RANDOM),
                        ("Values, but not first gradients, because gradcheck or double precision refutes PyTorch's in some dtypes:", REFUTED)):
        lines += [*wrapped([what, *(f'`{name}`' for name in sorted(names) if name in every)]), '']
    lines += ['## Left out', '']
    for why in dict.fromkeys(out.values()):
        lines += wrapped([f'{why[0].upper()}{why[1:]}:', *(f'`{name}`' for name, reason in out.items() if reason == why)]) + ['']
    return '\n'.join(lines).rstrip() + '\n'


def differences(verdicts):
    """The lines of a table of what fails."""
    lines = ['| entry | calls that agree | first difference |', '|---|---|---|']
    for name, verdict in verdicts.items():
        count = sum(verdict['failed'].values())
        reason = next(iter(verdict['failed']), 'no sample that both take').replace('|', '\\|').replace('\n', ' ')
        lines.append(f'| `{name}` | {verdict["passed"]} of {verdict["passed"] + count} | {reason} |')
    return lines


def wrapped(words):
    import textwrap
    return textwrap.wrap(' '.join(words), 140, break_long_words=False, break_on_hyphens=False)


def passing():
    """The entries that the page says pass."""
    text = PAGE.read_text(encoding='utf-8').split('## Pass', 1)[1].split('##', 1)[0]
    return [word.strip('`') for word in text.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('names', nargs='*', metavar='ENTRY')
    parser.add_argument('--whole', action='store_true', help='all samples, not one of each dtype')
    parser.add_argument('--write', action='store_true', help='write docs/torch.md')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--samples', type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument('--worker', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    samples = 0 if options.whole else options.samples
    if options.worker:
        return work(options.samples)
    every, verdicts = judge_all(options.names or None, samples, options.jobs)
    if options.write:
        PAGE.write_text(page(every, verdicts), encoding='utf-8')
    good = 0
    for name, verdict in verdicts.items():
        good += not verdict['failed'] and verdict['passed'] > 0
        for reason, count in list(verdict['failed'].items())[:3]:
            print(f'{name}: {reason}' + (f' ({count}×)' if count > 1 else ''))
        if not verdict['failed'] and not verdict['passed']:
            print(f'{name}: no sample that both take')
    twice = [verdict['second'] for verdict in verdicts.values() if any(verdict.get('second', {}).values())]
    for name, verdict in verdicts.items():
        for reason, count in list(verdict.get('second', {}).get('failed', {}).items())[:1]:
            print(f'{name}: twice: {reason} ({count}×)')
    print(f'gradients of gradients agree in {sum(not each["failed"] for each in twice)} of {len(twice)} entries')
    print(f'{good} of {len(verdicts)} entries pass')
    return int(good < len(verdicts))


if __name__ == '__main__':
    sys.exit(main())
