"""Functions of tensors as graphs: recorded once, then run without Python. See docs/guide/graphs.md.

>>> import tenon
>>> double = tenon.graph.trace(lambda x: x * 2, tenon.zeros(3))
>>> double(tenon.ones(3))
tensor([2., 2., 2.])
"""
import functools
import inspect
import os
import warnings
from typing import Any

from . import _core, _steps
from ._core import Tensor, dtype
from ._errors import PreconditionError
from .autograd import is_grad_enabled

__all__ = ['Program', 'compile', 'load', 'trace']


class Program:
    """A graph of ops on a device, made by `trace` or `load`. Calling it runs it; any number of threads may.

    Results are new tensors without history. Random numbers are drawn anew by each run. Runs of a training step write into its
    parameters, buffers and optimizers' memory, one run after another.
    """

    def __init__(self, program, given=None, gives=None, stepped=()):
        self._program, self._given, self._gives, self._stepped = program, given, gives, stepped
        self._run = _steps.runner(program, stepped) if stepped else program.run
        # Tensors alone come and go without a look at their structure.
        self._plain = given is None or given == (tuple, (_LEAF,) * len(given[1]))
        self._single = gives is _LEAF
        self._differentiable = program.facts['differentiable']

    def __call__(self, *args):
        if _core._inside_vmap():
            raise PreconditionError('[graph] a program does not see batches: inside vmap call the function that was traced')
        if self._plain:
            return self._results(self._run(args))
        tensors = []
        if _shape_of(args, tensors) != self._given:
            raise ValueError('[graph] the arguments differ from those of the trace in structure, or in what is no tensor')
        return self._results(self._run(tuple(tensors)))

    def _results(self, found):
        if self._single:
            return found[0]
        if self._gives is None:
            return found[0] if len(found) == 1 else tuple(found)
        return _rebuilt(self._gives, iter(found))

    def save(self, path):
        """Writes the graph with its weights as one safetensors file, from which C, C++ and Python run it."""
        self._program.save(os.fspath(path))

    def explain(self):
        """What the device runs, and what it takes: kernels in order, which ops run as one, places in memory, and why ops run alone."""
        facts = self._program.facts
        shared = f', {facts["unshared"]:,} without sharing' if facts['unshared'] != facts['arena'] else ''
        state = f', {facts["state"]:,} of state that runs write to' if facts['state'] else ''
        fused = f', {facts["fused"]} ops fused' if facts['fused'] else ''
        return (f'on {self.device}: {facts["nodes"]} nodes, {facts["bound"]} of them kernels that run without a call{fused}\n'
                f'{facts["weights"]:,} bytes of weights, {facts["arena"]:,} of memory to work in{shared}{state}\n\n{self._program.explain()}')

    @property
    def numbers(self):
        """A dict of what each run of a training step may have anew, such as rates; counts of steps grow by themselves."""
        return dict(self._program.numbers)

    def set_numbers(self, **numbers):
        """Sets some for the runs that follow, of a program that a file held: `set_numbers(**{'optimizer0.group.0.lr': 0.1})`."""
        if self._stepped:
            raise PreconditionError('[graph] its optimizers give this program its numbers: set their options')
        known = [name for name, _ in self._program.numbers]
        for name in numbers:
            if name not in known:
                raise ValueError(f'[graph] no number is called {name!r}: {", ".join(known) or "the program has none"}')
        for name, value in numbers.items():
            self._program.set_numbers(known.index(name), [float(value)])

    @property
    def device(self):
        """Where it runs."""
        return self._program.device

    @property
    def inputs(self):
        """(name, dtype, shape) of each tensor that it takes."""
        return self._program.inputs

    @property
    def results(self):
        """(name, dtype, shape) of each tensor that it gives."""
        return self._program.results

    def __str__(self):
        return self._program.text(False)

    def __repr__(self):
        return f'Program({len(self.inputs)} inputs, {len(self.results)} results, {self._program.facts["nodes"]} nodes, {self.device})'


def trace(fn, *args, device=None, training=False):
    """The program of fn(*args), which is called once, with tensors that have shapes and dtypes but no elements.

    args are tensors, or tuples, lists and dicts of them; what is no tensor is taken as it is, in the trace and in every run.
    Tensors from outside become weights, which share their elements: a later write into them is seen by runs. `device` is where
    the program runs, the host if not given. What needs elements while it runs is refused with PreconditionError, at the line
    that asks: item(), bool(), numpy(), printing, nonzero; so are writes into arguments and into tensors from outside. What fn does
    beside computing (counting, appending to a list) happens in the trace alone.

    With training=True fn is a training step: gradients are recorded, optimizers step, and the program writes into parameters,
    buffers and the optimizers' memory, which eager code sees. fn is called twice. Each run takes rates, other numbers of the
    optimizers and their counts of steps as they are then; what was computed from them outside of ops is refused. The step has to
    have run once before, as it is written: optimizers make their memory then. `compile` sees to that.
    """
    tensors = []
    given = _shape_of(args, tensors)
    if training:
        return _trace_step(fn, given, tensors, device)
    tracing = _core._Tracing()
    tracing.begin(False)
    try:
        with _steps.FunctionListener():
            gives, results = _pass(tracing, fn, given, tensors)
        return Program(tracing.end(results, device), given, gives)
    except _steps.IsStep:
        raise _steps.IsStep('[graph] an optimizer is at work: this is a training step, trace(…, training=True)') from None
    finally:
        tracing.drop()


def _trace_step(fn, given, tensors, device, only_rates=False):
    tracing = _core._Tracing()
    tracing.begin(True)
    try:
        with _steps.StepListener(tracing, 1, only_rates):
            gives, results = _pass(tracing, fn, given, tensors)
        tracing.again(results)
        with _steps.StepListener(tracing, 2, only_rates) as second:
            again, results = _pass(tracing, fn, given, tensors)
        if again != gives:
            raise PreconditionError('[graph] traced twice, the step gave results of another structure, or other numbers')
        try:
            return Program(tracing.end(results, device), given, gives, second.stepped)
        except PreconditionError:  # some optimizers compute with options outside of ops
            if only_rates or not second.stepped:
                raise
    finally:
        tracing.drop()
    return _trace_step(fn, given, tensors, device, only_rates=True)


def _pass(tracing, fn, given, tensors):
    """The structure and the tensors of what fn gives for inputs like these."""
    results = []
    for name, weight in _names_of(fn):
        tracing.name(weight, name)
    inputs = iter([tracing.input(x, f'input{i}') for i, x in enumerate(tensors)])
    return _shape_of(fn(*_rebuilt(given, inputs)), results), results


def load(path, device=None):
    """The program of a file that `Program.save` wrote. Nothing in a file runs but ops of the table.

    It takes tensors in the order of the trace, and gives one, or a tuple.
    """
    return Program(_core._load_program(os.fspath(path), device))


def compile(fn=None, *, limit=64):
    """A function, or a module, that traces fn for each new combination of shapes and runs the program from then on.

    Where gradients are wanted of it, under autocast, and where fn cannot be traced, fn itself runs; the last warns once. It keeps
    the programs of the `limit` combinations used last. Without fn it is a decorator.

    fn may be a whole training step: zero_grad(), forward, backward(), optimizer.step(). It runs as it is written the first time and
    is traced the second time; see `trace` with training=True.

    A program is of one combination of shapes, dtypes and devices, of numbers among the arguments, and, if fn is a module, of the
    numbers and tensors that its parts hold. Anything else that fn reads, such as globals, is what it was when fn was traced.
    """
    if fn is None:
        return functools.partial(compile, limit=limit)
    if not callable(fn):
        raise TypeError(f'[compile] needs a function or a module, not {type(fn).__name__}')
    return _Compiled(fn, limit)


class _Compiled:
    def __init__(self, fn, limit):
        functools.update_wrapper(self, fn, updated=())
        self._fn, self._limit, self._programs, self._refused = fn, limit, {}, False
        # A step runs as it is written the first time: optimizers make their memory then.
        self._is_step, self._may_trace, self._ready = _names_optimizer(fn), False, None

    def __call__(self, *args, **kwargs):
        ready = self._ready
        if ready is not None and not kwargs and ready.guard.fits(args):
            try:
                return ready.program._results(ready.program._run(args))
            except _steps.Changed:
                self._programs.pop(ready.key, None)
        tensors = []
        given = _shape_of((args, kwargs), tensors)
        wants_gradients = is_grad_enabled() and any(x.requires_grad for x in tensors)
        if self._refused or wants_gradients or _core._inside_vmap() or _core._autocast_active():
            return self._fn(*args, **kwargs)
        if self._is_step and not self._may_trace:
            self._may_trace = True
            return self._fn(*args, **kwargs)
        key = given, tuple((x.dtype, x.shape, x.device) for x in tensors), tuple(map(_state_of, self._modules()))
        try:
            hash(key)
        except TypeError:  # a list of numbers in an object of one's own, an array
            return self._fn(*args, **kwargs)
        for _ in range(2):
            program = self._programs.pop(key, None) or self._traced(given, tensors)
            if program is None:
                break
            self._programs[key] = program
            if len(self._programs) > self._limit:
                self._programs.pop(next(iter(self._programs)), None)  # another thread may have
            if not (is_grad_enabled() if self._is_step else not (is_grad_enabled() and program._differentiable)):
                break
            try:
                results = program._run(tuple(tensors))
            except _steps.Changed:  # its optimizers have: it is traced anew
                self._programs.pop(key, None)
                continue
            self._ready = _Ready(self._fn, key, program, args) if not kwargs and len(tensors) == len(args) else None
            return program._results(results)
        return self._fn(*args, **kwargs)

    def _modules(self):
        return [module for _, module, _ in _modules_of(self._fn)] if self._is_step else [self._fn]

    def _traced(self, given, tensors):
        def call(*flat):
            args, kwargs = _rebuilt(given, iter(flat))
            return self._fn(*args, **kwargs)
        call.__wrapped__ = self._fn
        try:
            return trace(call, *tensors, device=tensors[0].device if tensors else None, training=self._is_step)
        except _steps.IsStep:
            self._is_step = self._may_trace = True
            return None
        except _steps.NotReady:
            return None
        except Exception as error:  # fn itself says what is wrong, or runs
            self._refused = True
            warnings.warn(f'[compile] {self._fn!r} runs as it is written: {error}', stacklevel=3)
            return None

    def __getattr__(self, name):
        return getattr(self._fn, name)


class _Ready:
    """The program of the last call, which runs at once while nothing is another that it depends on."""

    __slots__ = ('_held', 'guard', 'key', 'program')

    def __init__(self, fn, key, program, tensors):
        holders = []
        for _, module, place in _modules_of(fn):
            if place is not None:
                holders.append(place)
            for part in module.modules():
                own = part.__dict__
                holders += own, *(value for value in own.values() if isinstance(value, (dict, list)))
        self.key, self.program = key, program
        self.guard = _core._Guard(holders, tensors)
        self._held = holders, self.guard.held()


# ---- Trees of tensors ------------------------------------------------------------------------------------------------

_LEAF = object()  # where a tensor stands


def _shape_of(value, tensors):
    """What value is apart from its tensors, which are appended to `tensors`; comparable and, if its leaves are, hashable."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _LEAF
    if isinstance(value, (tuple, list)):
        return type(value), tuple([_shape_of(one, tensors) for one in value])
    if isinstance(value, dict):
        return dict, tuple(value), tuple([_shape_of(one, tensors) for one in value.values()])
    # 1, 1.0 and True are equal, and so are 0.0 and -0.0, but compute other things.
    return None, value, type(value), repr(value) if isinstance(value, (float, complex)) else None


def _rebuilt(shape, tensors) -> Any:
    """The value of a shape with the next of `tensors` at its leaves."""
    if shape is _LEAF:
        return next(tensors)
    kind, *rest = shape
    if kind is None:
        return rest[0]
    if kind is dict:
        return dict(zip(rest[0], [_rebuilt(one, tensors) for one in rest[1]]))
    made = [_rebuilt(one, tensors) for one in rest[0]]
    return kind(*made) if hasattr(kind, '_fields') else kind(made)


def _names_of(fn):
    """(name, tensor) of the parameters and buffers of a module, or of the modules that a function uses."""
    fn = inspect.unwrap(fn)
    if hasattr(fn, 'named_parameters'):
        return [*fn.named_parameters(), *fn.named_buffers()]
    return [(f'{prefix}.{name}', x) for prefix, module, _ in _modules_of(fn)
            for name, x in (*module.named_parameters(), *module.named_buffers())]


def _modules_of(fn):
    """(name, module, place) of those that a function, or its object, holds; the place is a cell, or a dict and a key."""
    if hasattr(fn, 'named_parameters'):
        return [('', fn, None)]
    return [one for one in _held_by(fn) if hasattr(one[1], 'named_parameters') and hasattr(one[1], 'modules')]


def _names_optimizer(fn):
    """Whether a function names an optimizer that it could step."""
    names = getattr(getattr(fn, '__func__', fn), '__code__', None)
    used = (*names.co_names, *names.co_freevars) if names is not None else ()
    return any(name in used and hasattr(value, 'param_groups') and hasattr(value, 'step') for name, value, _ in _held_by(fn))


def _held_by(fn):
    function, owner = getattr(fn, '__func__', fn), getattr(fn, '__self__', None)
    code, known = getattr(function, '__code__', None), getattr(function, '__globals__', {})
    found = [(name, value, (vars(owner), name)) for name, value in getattr(owner, '__dict__', {}).items()]
    if code is not None:
        found += [(name, known[name], (known, name)) for name in code.co_names if name in known]
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                found.append((name, cell.cell_contents, cell))
            except ValueError:  # not bound yet
                pass
    return found


_PLAIN = {bool, int, str, type(None), dtype}


def _state_of(fn):
    """What a module's program depends on beside its arguments: the numbers, names and tensors that its parts hold."""
    if not hasattr(fn, 'named_parameters'):
        return None
    found = []
    for module in fn.modules():
        for value in module.__dict__.values():
            kind = type(value)
            if kind in _PLAIN:
                found += kind, value
            elif kind is float or kind is complex:
                found += kind, repr(value)
            elif isinstance(value, Tensor):
                found += value.data_ptr(), value.requires_grad
    return tuple(found)
