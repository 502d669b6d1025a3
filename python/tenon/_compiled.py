"""Functions that trace themselves for each combination of shapes that they are called with: what tenon.compile returns."""
import contextlib
import functools
import inspect
import types
import warnings

from . import _core, _effects, _reads, _steps, _trees, graph
from ._core import Tensor
from ._creation import empty
from ._errors import PreconditionError
from .autograd import is_grad_enabled

_MOST_FRESH = 8    # programs in a row for the same shapes
_MANY_SHAPES = 8   # combinations that have programs of their own, before one for all sizes is tried without being asked for
_MOST_CHANGES = 2  # traces in which the function changed something outside
_AS_WRITTEN = object()  # in the place of results: the function itself has to run


class Compiled:
    def __init__(self, fn, limit, dynamic, exact, quantized):
        functools.update_wrapper(self, fn, updated=())
        self._numbers = _numbers_in(fn, dynamic) if isinstance(dynamic, dict) else []
        self._dynamic = {key: {0: axes} if isinstance(axes, (str, graph.Dim)) else axes for key, axes in dynamic.items()} if self._numbers else dynamic
        self._exact, self._quantized, self._sized, self._placed, self._writes = exact, quantized, {}, {}, False
        self._fn, self._limit, self._programs, self._refused = fn, limit, {}, False
        # A step first runs as written, because optimizers create their state then.
        self._is_step, self._may_trace, self._ready = _reads.names_optimizer(fn), False, None
        self._reads, self._fresh, self._changes, self._stale, self._shapes = _reads.Reads(fn), 0, 0, 0, 0

    def __call__(self, *args, **kwargs):
        if self._refused:
            return self._fn(*args, **kwargs)
        ready = self._ready
        if ready is not None and ready.given is None and not kwargs and ready.guard.fits(args):
            return self._at_once(ready, args, args, kwargs)
        given, tensors = self._apart(args, kwargs)
        if ready is not None and ready.given is not None and ready.fits(given, tensors):
            return self._at_once(ready, tensors, args, kwargs)
        return self._looked_up(given, tensors, args, kwargs)

    def _at_once(self, ready, tensors, args, kwargs):
        """What the program of the last call gives, which fits this one."""
        try:
            return ready.program(*tensors)
        except _steps.Changed:
            self._forget(ready.key)
        except PreconditionError as error:
            if not _cannot_write(error):
                raise
            return self._fn(*args, **kwargs)
        return self._looked_up(*self._apart(args, kwargs), args, kwargs)

    def _apart(self, args, kwargs):
        return _trees.taken_apart(_as_sizes(self._numbers, args, kwargs) if self._numbers else (args, kwargs))

    def _looked_up(self, given, tensors, args, kwargs):
        key = self._key_of(given, tensors)
        results = _AS_WRITTEN if key is None else self._by_program(key, given, tensors, args, kwargs)
        return self._fn(*args, **kwargs) if results is _AS_WRITTEN else results

    def _key_of(self, given, tensors):
        """What a program for this call depends on, or None if fn has to run as it is written."""
        wants_gradients = is_grad_enabled() and any(x.requires_grad for x in tensors)
        if wants_gradients or _core._inside_vmap() or _core._has_tangents() or _core._autocast_active() or _core._trace_active():
            return None
        if self._is_step and not self._may_trace:
            self._may_trace = True
            return None
        others = [value for value in _trees.leaves(given) if not _reads.is_fixed(value)]
        key = given, tuple((x.dtype, x.shape, x.device) for x in tensors), (self._reads.told(), _reads.told(others) if others else ())
        try:
            hash(key)
        except TypeError:  # an array
            return None
        return None if any(hasattr(value, '__next__') for value in others) else key  # it can be read once

    def _by_program(self, key, given, tensors, args, kwargs, tries=2):
        """What a program gives for these arguments, or _AS_WRITTEN if fn has to run."""
        program = self._program_for(key, given, tensors)
        if program is not None and not program._is_current():
            return self._by_new_program(key, given, tensors, args, kwargs)
        if program is None or (not is_grad_enabled() if self._is_step else is_grad_enabled() and program._differentiable):
            return _AS_WRITTEN
        try:
            results = program._run(tuple(tensors))
        except _steps.Changed:  # its optimizers have: it is traced anew
            self._forget(key)
            return self._by_program(key, given, tensors, args, kwargs, tries - 1) if tries > 1 else _AS_WRITTEN
        except PreconditionError as error:
            if not _cannot_write(error):
                raise
            return _AS_WRITTEN
        plain = not kwargs and all(isinstance(one, Tensor) for one in args)
        self._ready = _Ready(self._reads, key, program, None if plain else given, tensors) if plain or not key[2][1] else None
        return program._results(results)

    def _by_new_program(self, *call):
        """The same, once elements that fn read while it was traced are others."""
        self._stale = 1 if self._ready is not None and self._ready.guard.fitted() else self._stale + 1
        if self._stale > _MOST_FRESH:
            self._refuse('elements of tensors that it reads are others in each call: compute with tensors (where, graph.cond)')
            return _AS_WRITTEN
        for key in [key for key, program in tuple(self._programs.items()) if not program._is_current()]:
            self._forget(key)
        self._sized.clear()
        return self._by_program(*call)

    def _program_for(self, key, given, tensors):
        """The program for this call, if there is one or it can be made."""
        program = self._programs.pop(key, None)
        sized = None if program else self._known_size(key, given, tensors)
        program = sized.program_there if sized else program
        if program is not None and program._is_current():
            self._stale = 0
        self._fresh = 0 if program else self._fresh + any(key[1] == known[1] for known in self._programs)
        program = program or self._made(key, given, tensors)
        if program is not None:
            self._programs[key] = program
            if len(self._programs) > self._limit:
                self._programs.pop(next(iter(self._programs)), None)  # another thread may have done it
        return program

    def _forget(self, key):
        self._programs.pop(key, None)
        self._sized.clear()

    def _kind_of(self, key, given, tensors):
        """What the calls have in common that one program may serve, their shapes, and the dims and places that were declared."""
        shapes, declared, fixed = tuple([x.shape for x in tensors]), None, ()
        kinds = tuple([(x.dtype, x.ndim, x.device) for x in tensors])
        if self._dynamic is not True:
            if (given, kinds) not in self._placed:
                args, kwargs = _trees.rebuilt(given, iter(tensors))
                self._placed[given, kinds] = graph._places_of(self._fn, args, tensors, self._dynamic, kwargs)
            declared = self._placed[given, kinds]
            fixed = tuple([size for shape, places in zip(shapes, declared[1]) for size, place in zip(shape, places) if place < 0])
        return (given, kinds, key[2], fixed), shapes, declared

    def _known_size(self, key, given, tensors):
        """What is known of other sizes, if there is a program and it takes these, too."""
        if not self._sized or not tensors:
            return None
        kind, shapes, _ = self._kind_of(key, given, tensors)
        known = self._sized.get(kind)
        return known if known and known.ready(shapes) else None

    def _of_any_size(self, key, given, tensors):
        """The program for these shapes and others, or None if this combination needs one of its own."""
        if not self._dynamic or not tensors:
            return None
        kind, shapes, declared = self._kind_of(key, given, tensors)
        if kind not in self._sized:
            self._sized[kind] = _Sized(shapes, declared)
            if len(self._sized) > self._limit:
                self._sized.pop(next(iter(self._sized)), None)
            if declared is None:  # it is not yet known what differs
                return None
        known = self._sized.get(kind) or _Sized(shapes, declared)
        like = self._flat(given), _trees.flat_shape(tensors), tensors, tensors[0].device
        return known.program(shapes, lambda dims, places: self._as_wanted(self._recorded(
            lambda: graph._with_numbers(graph._trace_twice_sizes, *like, dims, places) if self._is_step else graph._trace_sizes(*like, dims, places),
            lambda: graph._with_writes(graph._trace_twice_sizes, *like, dims, places))))

    def _as_wanted(self, program):
        if self._quantized and not self._is_step:
            try:
                program = program.quantize()
            except PreconditionError:  # no product is large enough
                pass
        program.exact = program.exact or self._exact
        return program

    def _flat(self, given):
        quiet = False  # a trace calls it ten times: it is watched until one call went through

        def call(*flat):
            nonlocal quiet
            args, kwargs = _as_numbers(self._numbers, *_trees.rebuilt(given, iter(flat)))
            with contextlib.nullcontext() if quiet else _effects.stopped():
                results = self._fn(*args, **kwargs)
            quiet = True
            return results
        call.__wrapped__ = self._fn
        return call

    def _made(self, key, given, tensors):
        """A program for this call, or None if fn has to run as it is written."""
        if self._fresh >= _MOST_FRESH:
            return self._refuse('what it reads, or its arguments besides tensors, is other in each call: give numbers that vary as tensors')
        objects = _reads.ReadsOfObjects([value for value in _trees.leaves(given) if not _reads.is_fixed(value)])
        before, kept = (self._reads.told(), objects.told()), self._reads.kept() + objects.kept()
        program = self._of_any_size(key, given, tensors) or self._traced(given, tensors)
        self._shapes += 1
        if self._dynamic is None and self._shapes >= _MANY_SHAPES:
            self._dynamic = True
        if (self._reads.told(), objects.told()) == before:
            self._changes = 0 if program else self._changes
            return program
        # fn changed something, which no run would. It may only have made what later calls find there, so fn itself runs, and is traced once more.
        _reads.put_back(kept)
        self._sized.clear()
        self._changes += 1
        if self._changes > _MOST_CHANGES and not self._refused:
            self._refuse('it changes a variable, an attribute, a list or a dict from outside, or an object among its arguments, which no run would')
        return None

    def _traced(self, given, tensors):
        try:
            device, fn = tensors[0].device if tensors else None, self._flat(given)
            return self._as_wanted(self._recorded(
                lambda: graph.trace(fn, *tensors, device=device, training=self._is_step),
                lambda: graph._with_writes(graph._trace_twice, fn, _trees.flat_shape(tensors), tensors, device)))
        except _steps.IsStep:
            self._is_step = self._may_trace = True
            return None
        except _steps.NotReady:
            return None
        except Exception as error:  # fn itself either reports the error or runs
            return self._refuse(error)

    def _recorded(self, trace, trace_writes):
        """The program that `trace` makes or, if it refuses, `trace_writes`: fn may write into arguments or outside tensors."""
        refused = None
        if not self._writes:
            try:
                return trace()
            except PreconditionError as error:
                if self._is_step or isinstance(error, (_steps.IsStep, _steps.NotReady)):
                    raise
                refused = error
        try:
            program = trace_writes()
        except PreconditionError:
            if refused is None:
                raise
            raise refused from None
        self._writes = True
        return program

    def _refuse(self, why):
        self._refused = True
        fn = type(self._fn).__name__ if _reads.is_module(self._fn) else repr(self._fn)
        warnings.warn(f'[compile] {fn} runs as it is written: {why}', stacklevel=8)

    def __get__(self, owner, kind=None):
        """A method of a class: its object is an argument."""
        return self if owner is None else types.MethodType(self, owner)

    def __getattr__(self, name):
        return getattr(self._fn, name)


class _Sized:
    """Arguments of one kind in many shapes, and the program for all of them, if there is one."""

    def __init__(self, shapes, declared):
        self._declared, self.program_there = declared, None
        self._first, self._refused = shapes, False

    def program(self, shapes, trace_sizes):
        if self._refused:
            return None
        if self.ready(shapes) is None:
            self.program_there = None
            self._dims, self._places = self._declared or _differing(self._first, shapes, getattr(self, '_places', None))
            if not self._dims:
                return None
            try:
                self.program_there = trace_sizes(self._dims, self._places)
                self._ranges = self.program_there._program.dims
                self.program_there._sized = self._places, self._ranges
            except Exception:  # each combination is then traced on its own, or fn reports the error
                self._refused = True
                return None
        return self.ready(shapes)

    def ready(self, shapes):
        """The program if there is one and it takes these."""
        if self.program_there is None:
            return None
        sizes = {}
        for shape, first, places in zip(shapes, self._first, self._places):
            if shape == first and max(places, default=-1) < 0:
                continue
            for size, fixed, place in zip(shape, first, places):
                if place < 0 and size != fixed:
                    return None
                if place >= 0 and sizes.setdefault(place, size) != size:
                    return None
        fits = all(least <= size and (most is None or size <= most) and size % multiple == 0
                   for size, (_, least, most, multiple) in ((size, self._ranges[i]) for i, size in sizes.items()))
        return self.program_there if fits else None


def _differing(first, shapes, before):
    """Dims, and places as `_places_of` returns them, where shapes differ or did so before; equal pairs of sizes are one dim."""
    dims, places = {}, []
    for i, (one, other) in enumerate(zip(first, shapes)):
        places.append([])
        for axis, pair in enumerate(zip(one, other)):
            varies = pair[0] != pair[1]
            known = -1 if before is None else before[i][axis]
            was = known >= 0
            pair = (*pair, known) if was and not varies else pair
            places[i].append(dims.setdefault(pair, len(dims)) if varies or was else -1)
    return [graph.Dim(f'size{i}') for i in range(len(dims))], places


def _cannot_write(error):
    """Whether a program refused to write into an argument, before it did anything."""
    return 'which the graph writes to' in str(error)


def _numbers_in(fn, dynamic):
    """(position, name) of the arguments that are whole numbers which `dynamic` declares as sizes."""
    names = list(inspect.signature(getattr(inspect.unwrap(fn), 'forward', inspect.unwrap(fn))).parameters)
    for name, axes in dynamic.items():
        if isinstance(axes, (str, graph.Dim)) and name not in names:
            raise ValueError(f'[compile] dynamic names {name!r}, which is no argument of the function')
    return [(names.index(name), name) for name, axes in dynamic.items() if isinstance(axes, (str, graph.Dim))]


def _as_sizes(numbers, args, kwargs):
    """The arguments, with a tensor of that many empty rows in place of each number."""
    tensors = []
    _trees.shape_of((args, kwargs), tensors)

    def size(value):
        plain = type(value) is int and value >= 0
        return empty(value, 0, device=tensors[0].device if tensors else None) if plain else value
    args = [size(value) if any(i == at for at, _ in numbers) else value for i, value in enumerate(args)]
    return tuple(args), {key: size(value) if any(key == name for _, name in numbers) else value for key, value in kwargs.items()}


def _as_numbers(numbers, args, kwargs):
    """The arguments that _as_sizes had."""
    args, kwargs = list(args), dict(kwargs)
    for at, name in numbers:
        holder, key = (kwargs, name) if name in kwargs else (args, at)
        if name in kwargs or at < len(args):
            value = holder[key]
            holder[key] = value.shape[0] if isinstance(value, Tensor) else value
    return args, kwargs


class _Ready:
    """The program of the last call, which runs at once while nothing that it depends on has changed, at each size that it takes. `given` is
    None if the arguments are plain tensors."""

    __slots__ = ('_held', 'given', 'guard', 'key', 'program')

    def __init__(self, reads, key, program, given, tensors):
        self.key, self.program, self.given = key, program, given
        self.guard = _core._Guard(reads.holders, tensors, [x for x, _ in program._read], *program._sized)
        self._held = reads.holders, self.guard.held()

    def fits(self, given, tensors):
        try:
            return given == self.given and self.guard.fits(tensors)
        except ValueError:  # an array among them
            return False
