"""Functions of tensors as graphs: recorded once, then run without Python. See docs/guide/graphs.md.

>>> import tenon
>>> double = tenon.graph.trace(lambda x: x * 2, tenon.zeros(3))
>>> double(tenon.ones(3))
tensor([2., 2., 2.])
"""
from __future__ import annotations

import functools
import inspect
import os
import pickle
import random
import sys
import threading
from typing import NamedTuple

from . import _core, _reads, _steps, _trees
from ._core import Tensor
from ._errors import PreconditionError, present

__all__ = ['Dim', 'Program', 'compile', 'cond', 'load', 'loop', 'scan', 'trace']


class Dim(NamedTuple):
    """A dimension of inputs whose size each run chooses, from `min` to `max`, all multiples of `multiple`; equal names are one size."""

    name: str
    min: int | None = None
    max: int | None = None
    multiple: int | None = None


class Program(_core._ProgramCall):
    """A graph of ops on a device, made by `trace` or `load`. Call it to run it; any number of threads may do so.

    Results are new tensors without history. Each run draws new random numbers. Runs of a training step write to its parameters, buffers
    and optimizer state, one run after another.
    """

    def __init__(self, program, given=None, gives=None, stepped=()):
        self._program, self._given, self._gives, self._stepped = program, given, gives, stepped
        self._run = _steps.runner(program, stepped) if stepped else program.run
        # Plain tensors are passed without a look at their structure.
        self._plain = given is None or given == (tuple, (_trees.LEAF,) * len(given[1]))
        self._single = gives is _trees.LEAF
        self._differentiable = program.facts['differentiable']
        if self._plain and not stepped and (gives is None or self._single):
            self._set_program(program)

    # (tensor, version) of those whose elements the function read while it was traced.
    _read: tuple[tuple[Tensor, int], ...] = ()
    # What a guard is told of sizes that vary: places and dims.
    _sized: tuple = ()

    def _is_current(self):
        """Whether the function would read the same elements again."""
        return all(x.version == version for x, version in self._read)

    def _call(self, *args):
        if self._plain:
            found = self._run(args)
            return found[0] if self._single else self._results(found)
        tensors = []
        if _trees.shape_of(args, tensors) != self._given:
            raise ValueError('[graph] the arguments differ from those of the trace in structure, or in a value that is not a tensor')
        return self._results(self._run(tuple(tensors)))

    def _results(self, found):
        if self._single:
            return found[0]
        if self._gives is None:
            return found[0] if len(found) == 1 else tuple(found)
        return _trees.rebuilt(self._gives, iter(found))

    def save(self, path):
        """Writes the graph with its weights as one safetensors file, from which C, C++ and Python run it."""
        self._program.save(os.fspath(path))

    def quantize(self, samples=()):
        """A program whose products by weights use 8-bit integers: a quarter of the memory and, on processors that multiply such
        integers (AVX-512 VNNI), a fraction of the time.

        This applies to linear and matmul of float32 by an outside matrix of at least 4,096 entries. Each row of a weight has a scale
        (max|w|/127). Without samples, each row that a weight is multiplied with is scaled by its own range in each run. With samples, a
        list of arguments (tuples if there are several), each product keeps the one range seen in runs of the samples, which is faster
        and less exact. The weights are copies and do not see later writes to the original tensors.

        >>> import tenon
        >>> net = tenon.nn.Linear(64, 64)
        >>> small = tenon.graph.trace(net, tenon.zeros(2, 64)).quantize()
        >>> 'linear_w8a8' in str(small)
        True
        """
        lists = []
        for sample in samples:
            tensors = []
            given = _trees.shape_of(sample if isinstance(sample, tuple) else (sample,), tensors)
            if self._given is not None and given != self._given:
                raise ValueError('[graph] a sample differs from the arguments of the trace in structure, or in a value that is no tensor')
            lists.append(tensors)
        return Program(self._program.quantize(lists), self._given, self._gives)

    def explain(self):
        """Describes what the device runs: kernels in order, fused ops, places in memory, and why ops run alone."""
        facts = self._program.facts
        shared = f', {facts["unshared"]:,} without sharing' if facts['unshared'] != facts['arena'] else ''
        state = f', {facts["state"]:,} of state that runs write to' if facts['state'] else ''
        fused = f', {facts["fused"]} ops fused' if facts['fused'] else ''
        return (f'on {self.device}: {facts["nodes"]} nodes, {facts["bound"]} of them kernels that run without a call{fused}\n'
                f'{facts["weights"]:,} bytes of weights, {facts["arena"]:,} of memory to work in{shared}{state}\n\n{self._program.explain()}')

    def svg(self):
        """A picture of what `explain` describes, as an SVG document; notebooks display it."""
        return self._program.svg()

    _repr_svg_ = svg

    @property
    def numbers(self):
        """The numbers that each run of a training step may change, such as rates, as a dict; step counts advance by themselves."""
        return dict(self._program.numbers)

    def set_numbers(self, **numbers):
        """Sets numbers for later runs of a loaded program: `set_numbers(**{'optimizer0.group.0.lr': 0.1})`."""
        if self._stepped:
            raise PreconditionError('[graph] its optimizers give this program its numbers: set their options')
        known = [name for name, _ in self._program.numbers]
        for name in numbers:
            if name not in known:
                raise ValueError(f'[graph] no number is called {name!r}: {", ".join(known) or "the program has none"}')
        for name, value in numbers.items():
            self._program.set_numbers(known.index(name), [float(value)])

    @property
    def exact(self):
        """Whether results have the same bits as eager calls; may be set.

        If False, the default for programs that write to no state, a convolution on the CPU absorbs the batch norm, the sum and the
        activation after it, and stores its weights in its own layout. Results then differ by rounding, 1e-5 at most. The stored weights
        follow writes by ops, optimizers and load_state_dict, but not writes through a NumPy array that shares their memory.
        """
        return self._program.facts['exact']

    @exact.setter
    def exact(self, value):
        self._program.set_exact(bool(value))

    @property
    def device(self):
        """The device that it runs on."""
        return self._program.device

    @property
    def dims(self):
        """Each dimension whose size a run chooses. Its max is None if there is no limit, its multiple if any size will do."""
        return [Dim(name, least, most, multiple if multiple > 1 else None) for name, least, most, multiple in self._program.dims]

    @property
    def inputs(self):
        """(name, dtype, shape) of each input; a size that a run chooses is given by its name."""
        return self._program.inputs

    @property
    def results(self):
        """(name, dtype, shape) of each result; a size that depends on the inputs' is None."""
        return self._program.results

    def __str__(self):
        return self._program.text(False)

    def __repr__(self):
        return f'Program({len(self.inputs)} inputs, {len(self.results)} results, {self._program.facts["nodes"]} nodes, {self.device})'


def trace(fn, *args, device=None, training=False, dynamic=None):
    """The program of fn(*args), which is called once, with tensors that have shapes and dtypes but no elements.

    args are tensors, or tuples, lists and dicts of them; anything else is taken as it is, in the trace and in every run. Outside
    tensors become weights, which share their elements, so runs see later writes to them. `device` is where the program runs, by default
    where the first of args is. Operations that need elements (item(), bool(), numpy(), printing, nonzero) raise PreconditionError with the line that
    asked, and so do writes to arguments and outside tensors. Side effects of fn, such as counting or appending to a list, happen only
    in the trace.

    With training=True fn is a training step: gradients are recorded, optimizers step, and the program writes to parameters, buffers and
    optimizer state, which eager code sees, and to arguments if fn does. fn is called twice. Each run takes the optimizers' current rates, other numbers and step
    counts; values computed from them outside of ops are refused. The step must have run once before as written, because optimizers
    create their state then; `compile` takes care of that.

    `dynamic` names dimensions that may have any size in each run: `{'x': {0: 'batch', 1: Dim('length', max=512)}}`, by the name of fn's
    argument or the position of the tensor. fn is then called about ten times, with inputs of other sizes, and whatever differs between
    the calls must follow from the sizes; a branch on a size is refused. Equal names are one size.

    >>> import tenon
    >>> total = tenon.graph.trace(lambda x: x.sum(0), tenon.zeros(3, 2), dynamic={'x': {0: 'rows'}})
    >>> total(tenon.ones(5, 2))
    tensor([5., 5.])
    """
    tensors = []
    given = _trees.shape_of(args, tensors)
    if dynamic:
        places = _places_of(fn, args, tensors, dynamic)
        if not training:
            return _trace_sizes(fn, given, tensors, device, *places)
        return _with_numbers(_trace_twice_sizes, fn, given, tensors, device, *places)
    if training:
        return _with_numbers(_trace_twice, fn, given, tensors, device)
    tracing = _core._Tracing()
    tracing.begin(False)
    try:
        with _steps.FunctionListener():
            gives, results = _pass(tracing, fn, given, tensors)
        return _ended(tracing, results, device, given, gives)
    except _steps.IsStep:
        raise _steps.IsStep('[graph] an optimizer is at work: this is a training step, trace(…, training=True)') from None
    finally:
        tracing.drop()


def _ended(tracing, results, device, *about):
    """The program of a trace that ends."""
    read = tuple((x, x.version) for x in tracing.reads())
    program = Program(tracing.end(results, device), *about)
    program._read = read
    return program


def _trace_sizes(fn, given, tensors, device, dims, places):
    names = _Names(fn, given)

    def one_size(tracing, inputs):
        return _call(tracing, fn, given, inputs(), names)
    with _steps.FunctionListener():
        return _trace_at_sizes(one_size, tensors, device, dims, places, False, given, ())


_choice = threading.local()


def at_any_size(chosen):
    """Whether a function goes the way that it chooses by a size, or always does, because it is traced for sizes of both kinds."""
    _choice.made = True
    return chosen or getattr(_choice, 'fixed', False)


def _trace_at_sizes(*args):
    """The program of one_size(tracing, inputs), which is called at several sizes."""
    _choice.made = False
    try:
        return _trace_at_these(*args)
    except PreconditionError:
        if not _choice.made or at_any_size(False):
            raise
    _choice.fixed = True
    try:
        return _trace_at_these(*args)
    finally:
        _choice.fixed = False


def _trace_at_these(one_size, tensors, device, dims, places, step, given, stepped):
    tracing = _core._Tracing()
    tracing.begin_sizes([(dim.name, dim.min or 0, dim.max or 0, dim.multiple or 0) for dim in dims], step)
    gives, more, failure = None, True, None
    try:
        while more:
            tracing.source(_place)
            try:
                found, results = one_size(
                    tracing, lambda: [tracing.input_sized(x, f'input{i}', of) for i, (x, of) in enumerate(zip(tensors, places))])
            except Exception as error:
                failure = failure or error
                try:
                    more = tracing.failed()
                except PreconditionError as refused:
                    raise _noted(error, refused) from None
                continue
            if gives is not None and found != gives:
                raise PreconditionError('[graph] what the function gives has another structure, or other numbers, at other sizes')
            gives = found
            try:
                more = tracing.next(results)
            except PreconditionError as refused:
                if failure is not None and tracing.function_failed():
                    raise _noted(failure, refused) from None
                raise
        return _ended(tracing, [], device, given, gives, stepped)
    finally:
        tracing.drop()


def _noted(error, refused):
    if hasattr(error, 'add_note'):  # Python 3.11
        error.add_note(str(refused))
    return error


def _places_of(fn, args, tensors, dynamic, kwargs=None):
    """The dims, and for each dimension of each tensor the index of its dim, or -1."""
    dims, places = [], [[-1] * x.ndim for x in tensors]
    if not isinstance(dynamic, dict) or not all(isinstance(axes, dict) for axes in dynamic.values()):
        raise TypeError(f"[graph] dynamic is like {{'x': {{0: 'batch'}}}}: names of dimensions by argument and dimension; it is {dynamic!r:.60}")
    for key, axes in dynamic.items():
        at = key if isinstance(key, int) else _position_of(fn, args, tensors, key, kwargs or {})
        if not 0 <= at < len(tensors):
            raise ValueError(f'[graph] dynamic names tensor {at}; there are {len(tensors)}')
        for axis, dim in axes.items():
            dim = dim if isinstance(dim, Dim) else Dim(dim)
            if not -tensors[at].ndim <= axis < tensors[at].ndim:
                raise ValueError(f'[graph] dynamic names dimension {axis} of a tensor of {tensors[at].ndim}')
            known = next((i for i, one in enumerate(dims) if one.name == dim.name), None)
            if known is None:
                known = len(dims)
                dims.append(dim)
            elif dims[known] != dim and dim != Dim(dim.name):
                raise ValueError(f'[graph] dynamic gives {dim.name!r} two ranges')
            places[at][axis] = known
    return dims, places


def _position_of(fn, args, tensors, name, kwargs):
    """The position of an argument among the tensors."""
    fn = inspect.unwrap(fn)
    try:
        names = list(inspect.signature(getattr(fn, 'forward', fn)).bind(*args, **kwargs).arguments.items())
    except (TypeError, ValueError):
        names = []
    value = dict(names).get(name)
    if not isinstance(value, Tensor):
        raise ValueError(f'[graph] dynamic names {name!r}, which is not a tensor argument of the function')
    return next(i for i, x in enumerate(tensors) if x is value)


_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@functools.lru_cache(maxsize=4096)
def _file_of(path):
    """The name of a file of code, or nothing if it belongs to this package."""
    return '' if os.path.abspath(path).startswith(_HERE) else os.path.basename(path)


def _place():
    """The place outside of this package from which the call comes: 'model.py:12'."""
    frame = sys._getframe(1)
    while frame is not None:
        file = _file_of(frame.f_code.co_filename)
        if file:
            return f'{file}:{frame.f_lineno}'
        frame = frame.f_back
    return ''


def _with_numbers(trace, *args):
    """What `trace` records of a step: with all numbers of its optimizers or, if some compute with options outside of ops, only with their
    rates."""
    stepped = []
    try:
        return trace(*args, lambda tracing, turn: _steps.StepListener(tracing, turn, False), stepped)
    except PreconditionError as error:
        if not stepped or isinstance(error, (_steps.IsStep, _steps.NotReady)):
            raise
    return trace(*args, lambda tracing, turn: _steps.StepListener(tracing, turn, True), stepped)


def _with_writes(trace, *args):
    """What `trace` records of a function that writes into arguments or outside tensors, as runs then do."""
    return trace(*args, lambda tracing, turn: _steps.WriteListener(), [])


def _trace_twice(fn, given, tensors, device, listener, stepped):
    tracing = _core._Tracing()
    tracing.begin(True)
    try:
        gives, results = _twice(tracing, fn, given, _Names(fn, given), lambda: [tracing.input(x, f'input{i}') for i, x in enumerate(tensors)], listener, stepped)
        return _ended(tracing, results, device, given, gives, stepped)
    finally:
        tracing.drop()


def _trace_twice_sizes(fn, given, tensors, device, dims, places, listener, stepped):
    names = _Names(fn, given)

    def one_size(tracing, inputs):
        return _twice(tracing, fn, given, names, inputs, listener, stepped)
    return _trace_at_sizes(one_size, tensors, device, dims, places, True, given, stepped)


def _twice(tracing, fn, given, names, inputs, listener, stepped):
    """The structure and the tensors of fn in the second of its two passes; its optimizers are put into `stepped`."""
    tracing.source(_place)
    with listener(tracing, 1):
        gives, results = _call(tracing, fn, given, inputs(), names)
    tracing.again(results)
    with listener(tracing, 2) as second:
        again, results = _call(tracing, fn, given, inputs(), names)
    stepped[:] = second.stepped
    if again != gives:
        raise PreconditionError('[graph] traced twice, the function gave results of another structure, or other numbers')
    return gives, results


def _pass(tracing, fn, given, tensors):
    """The structure and the tensors that fn returns for inputs like these."""
    tracing.source(_place)
    return _call(tracing, fn, given, [tracing.input(x, f'input{i}') for i, x in enumerate(tensors)], _Names(fn, given))


class _Names:
    """(name, tensor) of all that a function reads, looked for again only after something has changed."""

    def __init__(self, fn, given):
        self._fn, self._others = fn, [value for value in _trees.leaves(given) if not _reads.is_fixed(value)]
        self._reads, self._told, self._known = None, None, ()

    def __call__(self):
        if self._reads is None:  # needed from the second pass on
            self._reads = _reads.Reads(self._fn)
        elif not self._others and self._told is not None and self._reads.told() is self._told:
            return self._known
        else:
            self._told = self._reads.told()
        self._known = _reads.names_of(self._fn, self._others)
        return self._known


def _call(tracing, fn, given, inputs, names):
    results, known = [], names()
    for name, weight in known:
        tracing.name(weight, name)
    try:
        with _Undrawn():
            gives = _trees.shape_of(fn(*_trees.rebuilt(given, iter(inputs))), results)
        _check_result(gives, given)
        if isinstance(_steps.listener(), _steps.WriteListener) and any(
                x.requires_grad and x.grad is not None and _core._traced(x.grad) for _, x in known):
            raise PreconditionError('[graph] the function leaves gradients behind, which runs would not: let an optimizer step in it')
        return gives, results
    except PreconditionError as error:
        place = _place_in(error.__traceback__)
        if type(error) is PreconditionError and place and place not in str(error):
            raise PreconditionError(f'{error} ({place})').with_traceback(error.__traceback__) from error.__cause__
        raise


class _Undrawn:
    """Refuses a function that seeds the default generator or draws from one of Python or NumPy, which runs would not repeat."""

    def __enter__(self):
        own = _core.default_generator()
        self._own = own.get_state()
        own.set_state((self._own[0] ^ 1, self._own[1]))  # draws keep the seed
        self._others = self._states()

    def __exit__(self, kind, *_):
        own, (python, numpy) = _core.default_generator(), self._others
        seeded = own.get_state()[0] != self._own[0] ^ 1
        own.set_state(self._own)
        if self._states() != self._others:
            random.setstate(python)
            if numpy is not None:
                sys.modules['numpy.random'].set_state(pickle.loads(numpy))
            seeded = True
        if seeded and kind is None:
            raise PreconditionError('[graph] the function seeds a generator, or draws from one of Python or NumPy, and runs would not: do it outside, '
                                    'and give what was drawn as a tensor')

    @staticmethod
    def _states():
        numpy = sys.modules.get('numpy.random')
        return random.getstate(), numpy and pickle.dumps(numpy.get_state(legacy=False))


def _check_result(gives, given):
    """Refuses what a run could not give: an object that may hold tensors and is no argument, or an iterator."""
    for value in _trees.leaves(gives):
        if not _reads.is_fixed(value) and not any(value is one for one in _trees.leaves(given)):
            raise PreconditionError(f'[graph] the function gives a {type(value).__name__}, which no run can make: give tensors, or tuples, lists, '
                                    'dicts and dataclasses of them, or plain objects that hold tensors that it computed')


def _place_in(traceback):
    """The innermost place in a traceback outside of this package."""
    found = ''
    while traceback is not None:
        file = _file_of(traceback.tb_frame.f_code.co_filename)
        if file:
            found = f'{file}:{traceback.tb_lineno}'
        traceback = traceback.tb_next
    return found


def load(path, device=None):
    """Loads a program that `Program.save` wrote. A file can run nothing but ops.

    The program takes tensors in the order of the trace and returns a tensor or a tuple. It reads large weights of convolutions from the
    file when it needs them: the file may be replaced or removed meanwhile, but not changed in place.
    """
    return Program(_core._load_program(present(path), device))


def compile(fn=None, *, limit=64, dynamic=None, exact=False, quantize=None):
    """A function that traces fn, a function or module, for each new combination of shapes and then runs the program.

    With dynamic=True the second combination makes one program for all sizes of the dimensions that differ from the first, if fn calls
    the same ops for all of them; a dict declares these dimensions beforehand, as for `trace`, and whole numbers among the arguments that
    differ likewise, such as a place in a cache: `{'at': Dim('at', max=2047)}`. By default that begins after eight combinations, with
    dynamic=False never.

    Where no gradients are needed, fn may write into arguments and outside tensors, in place: runs write there, too. An argument that
    lies with gaps, or shares memory with another, is written by fn itself.

    fn itself runs if gradients are needed, under autocast, and if it cannot be traced, which warns once. The programs of the `limit`
    combinations used last are kept. Without fn this is a decorator. `exact` sets `Program.exact`; training steps always are exact.
    quantize='int8' runs products by weights in 8-bit integers, as `Program.quantize` does without samples, if there are such products;
    later writes to the weights are then not seen.

    fn may be a whole training step: zero_grad(), forward, backward(), optimizer.step(). It runs as written the first time and is traced
    the second time; see `trace` with training=True.

    A program belongs to one combination of shapes, dtypes and devices, of whatever else is among the arguments, and of what fn reads
    beside them: variables, attributes, modules, lists and dicts that it names, or that functions it calls name. If any of these becomes
    another, fn is traced anew; if that happens in every call, it runs as it is written. So does a function that changes such a thing
    itself, as a counter or a list that grows, prints, logs, or draws random numbers of Python or NumPy. If fn reads elements of such
    tensors (item(), bool(), tolist(), numpy()), a write to one of them counts as a change. Elements of NumPy arrays and results of other
    libraries keep the values of the trace.
    """
    if fn is None:
        return functools.partial(compile, limit=limit, dynamic=dynamic, exact=exact, quantize=quantize)
    if quantize not in (None, 'int8'):
        raise ValueError(f"[compile] quantize is None or 'int8', not {quantize!r}")
    if not callable(fn):
        raise TypeError(f'[compile] needs a function or a module, not {type(fn).__name__}')
    from ._compiled import Compiled  # which needs this module
    return Compiled(fn, limit, dynamic, exact, quantize is not None)


# ---- Control flow ----------------------------------------------------------------------------------------------------

_COND, _LOOP, _SCAN = range(3)


def cond(pred, then_fn, else_fn, *args):
    """then_fn(*args) if pred, a tensor of one element, is true, else else_fn(*args).

    In eager mode just that, and gradients go through it. In a trace both functions are called, and the graph decides in each run: they
    must return the same structure, shapes and dtypes, and not write to anything outside. Other outside values keep those of the trace.

    >>> import tenon
    >>> tenon.graph.cond(tenon.tensor(2.) > 1, lambda x: x * 2, lambda x: -x, tenon.ones(2))
    tensor([2., 2.])
    """
    if not _core._trace_active() or not isinstance(pred, Tensor):
        return (then_fn if pred else else_fn)(*args)
    (then_gives, _), (else_gives, results) = (_body([], lambda _, fn=fn: _trees.taken_apart(fn(*args))) for fn in (then_fn, else_fn))
    if then_gives != else_gives:
        raise PreconditionError('[graph.cond] the branches give another structure, or other numbers')
    return _trees.rebuilt(then_gives, iter(_core._control(_COND, [pred], 0, len(results))))


def loop(cond_fn, body_fn, *state):
    """While cond_fn(*state), of one element, is true: state = body_fn(*state). Returns the last state, one value or a tuple.

    In eager mode just that, and gradients go through it. In a trace both functions are called once, and the graph repeats them in each
    run: the state must keep its shapes and dtypes.

    >>> import tenon
    >>> tenon.graph.loop(lambda x: x.sum() < 100, lambda x: x * 2, tenon.ones(3))
    tensor([64., 64., 64.])
    """
    single = len(state) == 1
    if not _core._trace_active():
        while cond_fn(*state):
            state = body_fn(*state)
            state = (state,) if single else tuple(state)
        return state[0] if single else state
    tensors = []
    given = _trees.shape_of(state, tensors)

    def condition(inputs):
        flag = cond_fn(*_trees.rebuilt(given, iter(inputs)))
        if not isinstance(flag, Tensor):
            raise PreconditionError(f'[graph.loop] the condition gives {flag!r}, which no run could change: it must be a tensor')
        return None, [flag]

    def turn(inputs):
        found = body_fn(*_trees.rebuilt(given, iter(inputs)))
        gives, results = _trees.taken_apart((found,) if single else tuple(found))
        if gives != given:
            raise PreconditionError('[graph.loop] the body gives another structure, or other numbers, than the state has')
        return gives, results

    _body(tensors, condition)
    _body(tensors, turn)
    state = _trees.rebuilt(given, iter(_core._control(_LOOP, tensors, 0, len(tensors))))
    return state[0] if single else state


def scan(fn, carry, xs):
    """carry, y = fn(carry, x) for each slice x of xs along its first dimension; returns the last carry and the stacked ys.

    carry, xs and y are tensors, or tuples, lists and dicts of them. In eager mode gradients go through it. In a trace fn is called
    once, and the graph repeats it in each run: the carry must keep its shapes and dtypes.

    >>> import tenon
    >>> tenon.graph.scan(lambda total, x: (total + x, total * x), tenon.tensor(0.), tenon.tensor([1., 2., 3.]))
    (tensor(6.0), tensor([0., 2., 9.]))
    """
    carried, scanned = [], []
    carry_shape, xs_shape = _trees.shape_of(carry, carried), _trees.shape_of(xs, scanned)
    if not scanned or any(x.ndim == 0 or x.shape[0] != scanned[0].shape[0] for x in scanned) or scanned[0].shape[0] == 0:
        raise ValueError('[graph.scan] xs must be tensors with equal numbers of slices, at least one')

    def step(carried, slices):
        results, ys = [], []
        carry, y = fn(_trees.rebuilt(carry_shape, iter(carried)), _trees.rebuilt(xs_shape, iter(slices)))
        if _trees.shape_of(carry, results) != carry_shape:
            raise PreconditionError('[graph.scan] the function gives a carry of another structure, or other numbers')
        return results, _trees.shape_of(y, ys), ys

    if _core._trace_active():
        def turn(inputs):
            results, y_shape, ys = step(inputs[:len(carried)], inputs[len(carried):])
            return y_shape, [*results, *ys]

        y_shape, results = _body([*carried, *(x[0] for x in scanned)], turn)
        found = _core._control(_SCAN, [*carried, *scanned], len(carried), len(results))
        return _trees.rebuilt(carry_shape, iter(found[:len(carried)])), _trees.rebuilt(y_shape, iter(found[len(carried):]))
    y_shape, parts = None, []
    for i in range(scanned[0].shape[0]):
        carried, y_shape, ys = step(carried, [x[i] for x in scanned])
        parts.append(ys)
    return _trees.rebuilt(carry_shape, iter(carried)), _trees.rebuilt(y_shape, iter([_core.ops['stack'](one) for one in zip(*parts)]))


def _body(like, call):
    """The result of call, tensors second, recorded as a body over tensors like these; a body that raises is dropped."""
    inputs = _core._body_begin(like)
    try:
        shape, results = call(inputs)
    except BaseException:
        _core._body_drop()
        raise
    _core._body_end(results)
    return shape, results
