"""The call that a rule computes, and the table of rules."""
import warnings

from .. import _core
from .._core import Tensor, ops


def rule_table():
    """An empty table of rules by the name of the op, and a decorator that makes a function the rule of the ops it names."""
    table = {}

    def rule(*names):
        def add(function):
            for name in names:
                table[name] = function
            return function
        return add
    return table, rule


# A rule computes an op for whole batches: rule(call) -> a tensor or a tuple of them, with the batch as first dimension.
RULES, rule = rule_table()


class Same(tuple):
    """Results of a rule that are the same for all entries."""


_of_plugins = {}
_parameters = {}


def op_of(name):
    """The op of that name, ops of plugins included."""
    found = ops.get(name) or _of_plugins.get(name)
    if found is None:
        _of_plugins[name] = found = _core.op(name)
    return found


def places_of(name):
    """The position of each argument of an op, by its name."""
    if name not in _parameters:
        _parameters[name] = {parameter: i for i, (parameter, _, _) in enumerate(op_of(name).parameters)}
    return _parameters[name]


def unsqueezed(x, dim, count=1):
    """x with `count` dimensions of size 1 from `dim` on."""
    for _ in range(count):
        x = ops['unsqueeze'](x, dim)
    return x


def moved(x, source, destination):
    """x with a dimension moved to another position; both count from the front."""
    if source == destination:
        return x
    order = [d for d in range(x.ndim) if d != source]
    order.insert(destination, source)
    return ops['permute'](x, order)


def expanded(x, size):
    """x once for each entry, without a copy."""
    return ops['expand'](unsqueezed(x, 0), (size, *x.shape))


class NamedCall:
    """A call of an op whose arguments are found by name."""

    def __init__(self, name, args):
        self.name, self.args = name, args
        self._at = places_of(name)

    def __getitem__(self, name):
        return self.args[self._at[name]]

    def place(self, name):
        """The position of an argument."""
        return self._at[name]

    def has(self, name):
        """Whether the argument was given."""
        return name in self._at and self[name] is not None

    def run(self, **changed):
        """Runs the op with other values for some arguments."""
        args = list(self.args)
        for name, value in changed.items():
            args[self._at[name]] = value
        return op_of(self.name)(*args)


class Call(NamedCall):
    """A call of an op with tensors that differ between entries. Arguments are found by name; those tensors have the batch as first
    dimension."""

    def __init__(self, name, args, marks, size, randomness):
        super().__init__(name, args)
        self.marks, self.size, self.randomness = marks, size, randomness

    def is_batch(self, name):
        """Whether a tensor, or one of a list of them, differs between entries."""
        mark = self.marks[self._at[name]]
        return any(mark) if isinstance(mark, list) else mark

    def rank(self, name):
        """The rank of one entry of a tensor; 0 for a number."""
        x = self[name]
        return x.ndim - self.is_batch(name) if isinstance(x, Tensor) else 0

    def shape(self, name):
        """The shape of one entry of a tensor."""
        return tuple(self[name].shape)[self.is_batch(name):]

    def whole(self, name):
        """The tensor as a batch, whether or not it is one."""
        x = self[name]
        return x if x is None or self.is_batch(name) else expanded(x, self.size)

    def wholes(self, name):
        """Each of a list of tensors as a batch."""
        at = self._at[name]
        return [x if x is None or mark else expanded(x, self.size) for x, mark in zip(self.args[at], self.marks[at])]

    def of(self, name, renamed, **batches):
        """The call of another op with this call's arguments, some of them renamed, and batches in place of some."""
        sources = [renamed.get(parameter, parameter) for parameter in places_of(name)]
        args = [batches.get(source, self.args[self._at[source]]) for source in sources]
        marks = [source in batches or self.marks[self._at[source]] for source in sources]
        return Call(name, args, marks, self.size, self.randomness)

    def dim(self, dim, rank):
        """A dimension of an entry, counted from the front."""
        if not -max(rank, 1) <= dim < max(rank, 1):
            raise IndexError(f'[{self.name}] dim {dim} is out of range for rank {rank}')
        return dim % max(rank, 1)


_warned = set()


def one_by_one(call):
    """The op for each entry, stacked."""
    if call.name not in _warned:
        _warned.add(call.name)
        warnings.warn(f'[vmap] {call.name} has no rule for batches: it runs once for each entry, as slow as a loop', stacklevel=2)

    def entry(x, mark, i):
        if isinstance(mark, list):
            return [entry(one, each, i) for one, each in zip(x, mark)]
        return ops['select'](x, 0, i) if mark else x
    rows = [op_of(call.name)(*(entry(x, mark, i) for x, mark in zip(call.args, call.marks))) for i in range(call.size)]
    if isinstance(rows[0], Tensor):
        return ops['stack'](rows)
    if rows[0] is None:
        raise RuntimeError(f'[vmap] {call.name} writes into its arguments and has no rule for batches')
    return tuple(ops['stack'](list(column)) for column in zip(*rows))


@rule('nonzero', 'masked_select', 'unique')
def refused(call):
    """An error for results whose shape depends on elements."""
    raise RuntimeError(f'[vmap] the shape that {call.name} gives depends on elements, which differ from entry to entry: '
                       'use where() with a mask')
