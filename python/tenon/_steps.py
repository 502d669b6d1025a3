"""Optimizer steps while a function is traced: the numbers besides gradients that they use, which each run of the graph supplies
anew."""
import threading

from . import _core
from ._core import Tensor
from ._errors import PreconditionError
from .autograd import no_grad

_local = threading.local()
_listeners = 0  # in all threads; optimizers look at it before they ask for this thread's
moves = 0  # how often parameters were given other tensors; whoever caches something made of these checks it


class IsStep(PreconditionError):
    """The traced function turned out to be a training step."""


class NotReady(PreconditionError):
    """An optimizer has no state yet: its first step creates it and must run as written."""


class Changed(PreconditionError):
    """A recorded step no longer matches its optimizers."""


def listener():
    """The listener for this thread's steps, or None."""
    return getattr(_local, 'listener', None) if _listeners else None


def before(optimizer):
    """An optimizer is about to step."""
    if _listeners and (found := listener()) is not None:
        found.before(optimizer)


def moved():
    """Parameters have other dtypes, devices or elements than before (Module.to)."""
    global moves
    moves += 1


def before_zero_grad():
    """An optimizer is about to drop gradients."""
    if _listeners and isinstance(found := listener(), FunctionListener):
        found.before(None)


def before_memory():
    """An optimizer is about to create its state."""
    if _listeners and listener() is not None:
        raise NotReady('[graph] an optimizer has no memory yet: let the step run once before it is traced')


def before_schedule(scheduler):
    """A schedule is about to set rates."""
    if _listeners and listener() is not None:
        raise PreconditionError(f'[graph] {type(scheduler).__name__}.step() would run in the trace alone: call it outside of what is traced')


class _Listener:
    def __enter__(self):
        global _listeners
        self._outer = listener()
        _local.listener, _listeners = self, _listeners + 1
        return self

    def __exit__(self, *_):
        global _listeners
        _local.listener, _listeners = self._outer, _listeners - 1


class FunctionListener(_Listener):
    """Listens during a trace without gradients: if an optimizer steps, the function is a training step."""

    def before(self, optimizer):
        raise IsStep


class WriteListener(FunctionListener):
    """Listens during one pass of a function that writes to what is outside of it: no gradients are recorded."""

    stepped = ()

    def __enter__(self):
        self._mode = no_grad()
        self._mode.__enter__()
        return super().__enter__()

    def __exit__(self, *exception):
        super().__exit__(*exception)
        self._mode.__exit__(*exception)


class StepListener(_Listener):
    """Listens during one pass of a step: gives each optimizer recognisable numbers, so that they can be found in the graph."""

    def __init__(self, tracing, factor, only_rates):
        self.stepped, self._tracing, self._factor, self._only_rates, self._index = [], tracing, factor, only_rates, 0

    def before(self, optimizer):
        if any(one.optimizer is optimizer for one in self.stepped):
            raise PreconditionError('[graph] an optimizer steps twice in one training step')
        optimizer._prepare()
        one = Stepped(optimizer, self._only_rates)
        self.stepped.append(one)
        prefix = f'optimizer{len(self.stepped) - 1}.'
        for name, memory in optimizer._memory():
            self._tracing.name(memory, prefix + name)
        for number in one.numbers:
            value = number.get() * (1 - self._next() / 8192)
            number.set(value)
            self._tracing.number(prefix + number.name, value, False)
        known = {}
        for i, count in enumerate(one.counts):
            if count not in known:
                known[count] = count + self._next()
                one.counted.append(i)
                self._tracing.number(f'{prefix}step{len(known) if len(known) > 1 else ""}', known[count] + 1, True)
        one.given = [known[count] for count in one.counts]
        optimizer._set_counts(one.given)
        for state in optimizer._numbers_beside():
            for key, value in state.items():
                if isinstance(value, float):
                    state[key] = value * (1 - self._next() / 8192)

    def _next(self):
        self._index += 1
        return self._factor * self._index

    def __exit__(self, *exception):
        super().__exit__(*exception)
        complete = exception[0] is None
        problems = [one.finish(complete) for one in self.stepped]
        for problem in problems if complete else ():
            if problem:
                raise PreconditionError(problem)


class _Number:
    """An option of a group, or an entry of one."""

    __slots__ = ('group', 'index', 'key', 'name', 'value')

    def __init__(self, name, group, key, index=None):
        self.name, self.group, self.key, self.index = name, group, key, index
        self.value = group[key]  # the whole option, as it was

    def get(self):
        value = self.group.get(self.key)
        return value if self.index is None else value[self.index]

    def set(self, value):
        if self.index is None:
            self.group[self.key] = value
        else:
            whole = list(self.group[self.key])
            whole[self.index] = value
            self.group[self.key] = type(self.value)(whole)


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Stepped:
    """An optimizer as it was when a step was recorded, and the numbers that each run reads anew: rates and, where allowed, other
    options.

    If any other option changes, the step must be recorded again.
    """

    def __init__(self, optimizer, only_rates):
        self.optimizer, self.numbers, self.fixed, self.counted = optimizer, [], [], []
        self.given = []  # counts at which the recorded step began
        self.guard = self.left = None
        self.sizes = [len(group['params']) for group in optimizer.param_groups]
        for g, group in enumerate(optimizer.param_groups):
            for key, value in group.items():
                if isinstance(value, Tensor):
                    raise PreconditionError(f'[graph] option {key} of {type(optimizer).__name__} is a Tensor, which a step would read: give a number')
                if key != 'params':
                    self._add(f'group.{g}.{key}', group, key, value, key == 'lr' or not only_rates)
        self.counts = optimizer._counts()
        self.memory, self.moves = optimizer._memory_identity(), moves
        self._states = [(state, dict(state)) for state in optimizer._numbers_beside()]

    # What is 0 stays 0: whether there is momentum or decay determines what a step does.
    def _add(self, name, group, key, value, may_vary):
        entries = [(name, None, value)]
        if isinstance(value, (tuple, list)) and value and all(map(_is_number, value)):
            entries = [(f'{name}.{i}', i, entry) for i, entry in enumerate(value)]
        for entry, index, own in entries:
            number = _Number(entry, group, key, index)
            if may_vary and _is_number(own) and own != 0:
                self.numbers.append(number)
            else:
                self.fixed.append((number, own))

    def finish(self, complete):
        """After a pass: restores the optimizer. Returns what is wrong with its step, if anything."""
        after = self.optimizer._counts()
        for number in self.numbers:
            number.group[number.key] = number.value
        if len(after) == len(self.counts):
            self.taken = [now - then for now, then in zip(after, self.given)] if complete else []
            self.optimizer._set_counts(self.counts)
        fresh = [key for state, then in self._states for key, value in state.items()
                 if isinstance(value, Tensor) and value is not then.get(key)]
        for state, then in self._states:
            state.clear()
            state.update(then)
        return fresh and (f'[graph] {type(self.optimizer).__name__} keeps a new tensor as {fresh[0]} in each step, where a program '
                          'can only write into those that are there')

    def read(self, values):
        """Appends this run's numbers. Raises Changed if the step no longer matches the optimizer."""
        optimizer = self.optimizer
        counts = optimizer._counts()
        good = self.moves == moves and optimizer._memory_identity() == self.memory and len(counts) == len(self.counts)
        good = good and [len(group['params']) for group in optimizer.param_groups] == self.sizes
        good = good and all(number.get() == own for number, own in self.fixed)
        if not good or len({now - then for now, then in zip(counts, self.counts)}) > 1:
            raise Changed(f'[graph] {type(optimizer).__name__} has other parameters, memory or choices than when its step was traced')
        for number in self.numbers:
            value = number.get()
            if not _is_number(value) or value == 0:
                raise Changed(f'[graph] {number.name} of {type(optimizer).__name__} is {value!r}: the step was traced with a number')
            values.append(float(value))
        values.extend(counts[i] + 1 for i in self.counted)
        self._watch()

    # While all options are the same objects and counts are where runs left them, the program's numbers are current.
    def _watch(self):
        groups = self.optimizer.param_groups
        holders = [groups, *groups, *(group['params'] for group in groups), *self.optimizer._memory_holders()]
        self.guard = _core._Guard(holders, ())
        self._held = holders, self.guard.held()

    def unchanged(self):
        """Whether the program already has this run's numbers."""
        return self.guard is not None and self.moves == moves and self.guard.fits(()) and self.optimizer._counts() == self.left

    def advance(self):
        """After a run: counts the steps that it took."""
        self.left = [count + more for count, more in zip(self.optimizer._counts(), self.taken)]
        self.optimizer._set_counts(self.left)


def runner(program, stepped):
    """Runs a step's program with the numbers of its optimizers."""
    def give_numbers():
        values = []
        for one in stepped:
            one.read(values)
        program.set_numbers(0, values)

    def run(tensors):
        if not all(one.unchanged() for one in stepped):
            give_numbers()
        results = program.run(tensors)
        for one in stepped:
            one.advance()
        return results
    give_numbers()
    return run
