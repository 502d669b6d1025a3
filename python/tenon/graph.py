"""Functions of tensors as graphs: recorded once, then run without Python. See docs/guide/graphs.md.

>>> import tenon
>>> double = tenon.graph.trace(lambda x: x * 2, tenon.zeros(3))
>>> double(tenon.ones(3))
tensor([2., 2., 2.])
"""
import functools
import os
import warnings
from typing import Any

from . import _core
from ._core import Tensor, dtype
from ._errors import PreconditionError
from .autograd import is_grad_enabled

__all__ = ['Program', 'compile', 'load', 'trace']


class Program:
    """A graph of ops on a device, made by `trace` or `load`. Calling it runs it; any number of threads may.

    Results are new tensors without history. Random numbers are drawn anew by each run.
    """

    def __init__(self, program, given=None, gives=None):
        self._program, self._given, self._gives = program, given, gives
        self._run = program.run
        # Tensors alone come and go without a look at their structure.
        self._plain = given is None or given == (tuple, (_LEAF,) * len(given[1]))
        self._single = gives is _LEAF
        self._differentiable = program.facts['differentiable']

    def __call__(self, *args):
        if _core._inside_vmap():
            raise PreconditionError('[graph] a program does not see batches: inside vmap call the function that was traced')
        if self._plain:
            found = self._run(args)
            if self._single:
                return found[0]
            if self._gives is None:
                return found[0] if len(found) == 1 else tuple(found)
            return _rebuilt(self._gives, iter(found))
        tensors = []
        if _shape_of(args, tensors) != self._given:
            raise ValueError('[graph] the arguments differ from those of the trace in structure, or in what is no tensor')
        return _rebuilt(self._gives, iter(self._run(tuple(tensors))))

    def save(self, path):
        """Writes the graph with its weights as one safetensors file, from which C, C++ and Python run it."""
        self._program.save(os.fspath(path))

    def explain(self):
        """What the device runs, and what it takes: kernels in order, memory."""
        facts = self._program.facts
        shared = f', {facts["unshared"]:,} without sharing' if facts['unshared'] != facts['arena'] else ''
        return (f'on {self.device}: {facts["nodes"]} nodes, {facts["bound"]} of them kernels that run without a call\n'
                f'{facts["weights"]:,} bytes of weights, {facts["arena"]:,} of memory to work in{shared}\n\n{self._program.text(True)}')

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


def trace(fn, *args, device=None):
    """The program of fn(*args), which is called once, with tensors that have shapes and dtypes but no elements.

    args are tensors, or tuples, lists and dicts of them; what is no tensor is taken as it is, in the trace and in every run.
    Tensors from outside become weights, which share their elements: a later write into them is seen by runs. `device` is where
    the program runs, the host if not given. What needs elements while it runs is refused with PreconditionError, at the line
    that asks: item(), bool(), numpy(), printing, nonzero; so are writes into arguments and into tensors from outside. What fn does
    beside computing (counting, appending to a list) happens in the trace alone.
    """
    tensors, results = [], []
    given = _shape_of(args, tensors)
    tracing = _core._Tracing()
    tracing.begin()
    try:
        for name, weight in _names_of(fn):
            tracing.name(weight, name)
        inputs = iter([tracing.input(x, f'input{i}') for i, x in enumerate(tensors)])
        gives = _shape_of(fn(*_rebuilt(given, inputs)), results)
        return Program(tracing.end(results, device), given, gives)
    finally:
        tracing.drop()


def load(path, device=None):
    """The program of a file that `Program.save` wrote. Nothing in a file runs but ops of the table.

    It takes tensors in the order of the trace, and gives one, or a tuple.
    """
    return Program(_core._load_program(os.fspath(path), device))


def compile(fn=None, *, limit=64):
    """A function, or a module, that traces fn for each new combination of shapes and runs the program from then on.

    Where gradients are wanted of it, under autocast, and where fn cannot be traced, fn itself runs; the last warns once. It keeps
    the programs of the `limit` combinations used last. Without fn it is a decorator.

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

    def __call__(self, *args, **kwargs):
        tensors = []
        given = _shape_of((args, kwargs), tensors)
        wants_gradients = is_grad_enabled() and any(x.requires_grad for x in tensors)
        if self._refused or wants_gradients or _core._inside_vmap() or _core._autocast_active():
            return self._fn(*args, **kwargs)
        key = given, tuple((x.dtype, x.shape, x.device) for x in tensors), _state_of(self._fn)
        try:
            hash(key)
        except TypeError:  # a list of numbers in an object of one's own, an array
            return self._fn(*args, **kwargs)
        program = self._programs.pop(key, None) or self._traced(given, tensors)
        if program is None:
            return self._fn(*args, **kwargs)
        self._programs[key] = program
        if len(self._programs) > self._limit:
            self._programs.pop(next(iter(self._programs)), None)  # another thread may have
        if is_grad_enabled() and program._differentiable:
            return self._fn(*args, **kwargs)
        return _rebuilt(program._gives, iter(program._run(tuple(tensors))))

    def _traced(self, given, tensors):
        def call(*flat):
            args, kwargs = _rebuilt(given, iter(flat))
            return self._fn(*args, **kwargs)
        try:
            return trace(call, *tensors, device=tensors[0].device if tensors else None)
        except Exception as error:  # fn itself says what is wrong, or runs
            self._refused = True
            warnings.warn(f'[compile] {self._fn!r} runs as it is written: {error}', stacklevel=3)
            return None

    def __getattr__(self, name):
        return getattr(self._fn, name)


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
    """(name, tensor) of a module's parameters and buffers; of other functions none."""
    if not hasattr(fn, 'named_parameters'):
        return []
    return [*fn.named_parameters(), *fn.named_buffers()]


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
                found.append(value.data_ptr())
    return tuple(found)
