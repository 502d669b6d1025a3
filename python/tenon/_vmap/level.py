"""The scope of one vmap, and gradients inside it."""
import functools

from .. import _core
from .._core import Tensor, ops
from .._levels import batches, below, carry, levels as every_level
from .call import RULES, Call, Same, expanded, moved, one_by_one
from .draws import DRAWS


def is_active():
    """Whether this thread is inside a vmap."""
    return bool(batches())


def _marked(mark):
    return any(mark) if isinstance(mark, list) else mark


def _compute(size, randomness, name, args, marks, targets):
    """Called by the extension: the results of an op, computed from the whole batches of its entries."""
    call = Call(name, args, marks, size, randomness)
    if not any(map(_marked, marks)) and name not in DRAWS:
        found = Same((call.run(),))  # only the tensor that is written to is a batch
    else:
        found = RULES.get(name, one_by_one)(call)
    results = [found] if isinstance(found, Tensor) else list(found)
    if targets is None:
        return [(y, not isinstance(found, Same)) for y in results]
    for (target, is_batch), y in zip(targets, results):
        if isinstance(found, Same) and is_batch:
            y = expanded(y, size)
        elif not isinstance(found, Same) and not is_batch:
            raise RuntimeError(f'[vmap] {name} in place would write what differs from entry to entry into a tensor that is the same for '
                               'all: make the tensor of an argument that is mapped over, or use the op that gives a new one')
        ops['clone'](y, out=target)
    return True


class Level:
    """A scope in which entry(batch) stands for the entries of a batch: `with level:`. Belongs to the thread that enters it."""

    is_batch = True

    def __init__(self, size, randomness='error', of_seeds=False):
        """of_seeds: the level's function computes the same for all entries, and only seeds or tangents differ."""
        self.size, self.randomness, self.of_seeds = size, randomness, of_seeds
        self._batch = _core._Batch(functools.partial(_compute, size, randomness), DRAWS)

    def __enter__(self):
        self._batch.enter()
        every_level().append(self)
        return self

    def __exit__(self, *_):
        every_level().remove(self)
        self._batch.leave()

    def entry(self, batch):
        """A tensor that stands for the entries along the first dimension of a batch."""
        return self._batch.entry(batch)

    def find(self, x):
        """The batch that an entry stands for, or None."""
        return self._batch.whole(x)

    def whole(self, x):
        """The batch of an entry; a tensor that is the same for all entries is repeated for each."""
        found = self.find(x)
        return expanded(x, self.size) if found is None else found


def _down(x, levels):
    for level in reversed(levels):
        x = level.whole(x)
    return x


def _up(x, levels):
    for level in levels:
        x = level.entry(x)
    return x


def _of_values():
    return [level for level in batches() if not level.of_seeds]


def _leaf(x):
    return carry(x, ops['alias'](x) if x.requires_grad else x.detach().requires_grad_())


def leaf(x):
    """A tensor with the elements of x whose gradient can be asked for; keeps the history of x for outer gradients.

    Inside vmap each entry has its own, even if x is the same for all.
    """
    known = _of_values()
    if not known:
        return _leaf(x)
    _refuse_forward(known)
    level = known[-1]
    with below(level):
        inner = leaf(level.whole(x))
    return carry(x, level.entry(inner))


def gradient(outputs, inputs, seeds, retain, create, unused):
    """Like _core._gradient, for tensors that may stand for entries of batches."""
    levels = _of_values()
    # A level that knows only the seeds goes through the backward pass with many of them at once.
    while levels and not any(levels[-1].find(x) is not None for x in [*outputs, *inputs]):
        levels.pop()
    if not levels:
        return _core._gradient(outputs, inputs, seeds, retain, create, unused)
    _refuse_forward(levels)
    through = levels_above(levels)
    bottom = [_down(x, levels) for x in outputs], [_down(x, levels) for x in inputs]
    given = None
    if seeds is not None:
        given = [None if s is None else seed_of(s, levels, through) for s in seeds]
    else:
        given = [ops['full'](y.shape, 1, y.dtype, y.device) for y in bottom[0]]
    found = _core._gradient(*bottom, given, retain, create, unused)
    return [None if g is None else entry_of(g, levels, through) for g in found]


def _refuse_forward(levels):
    """The backward pass is that of whole batches, which a newer level of forward mode does not know."""
    every = every_level()
    if any(not level.is_batch for level in every[every.index(levels[0]):]):
        from .._forward import UnderBatch
        raise UnderBatch('[jvp] a gradient inside forward mode of what an older vmap maps over: use torch.func.jvp or jacfwd, which then take '
                         'two backward passes, or take the vmap inside')


def levels_above(levels):
    """The active levels that are newer than all of these."""
    every = batches()
    return every[1 + max((every.index(level) for level in levels), default=-1):]


def seed_of(seed, levels, through):
    """A seed for the tensor behind entries; the levels above, if only they know the seed, keep it."""
    known = [level for level in through if level.find(seed) is not None]
    for level in reversed(known):
        seed = level.find(seed)
    for level in reversed(levels):
        found = level.find(seed)
        seed = expanded(seed, level.size) if found is None else found
    # (levels…, known…, shape) as (known…, levels…, shape)
    for i in range(len(known)):
        seed = moved(seed, len(levels) + i, i)
    for level in known:
        seed = level.entry(seed)
    return seed


def entry_of(gradient, levels, through):
    """The inverse of seed_of()."""
    known = []
    for level in reversed(through):
        found = level.find(gradient)
        if found is not None:
            known.insert(0, level)
            gradient = found
    for i in reversed(range(len(known))):
        gradient = moved(gradient, i, len(levels) + i)
    return _up(gradient, [*levels, *known])


def unit_rows(y, first, last):
    """Rows first … last − 1 of the unit matrix, each in the shape of y, as seeds for a Jacobian."""
    n = y.numel()
    rows = ops['reshape'](ops['arange'](first, last, 1, _core.int64, y.device), (-1, 1))
    unit = ops['equal'](rows, ops['arange'](0, n, 1, _core.int64, y.device))
    return ops['reshape'](ops['cast'](unit, y.dtype), (last - first, *y.shape))


def gradients_of_rows(outputs, inputs, seeds, retain, create, unused):
    """Gradients for many seeds in one backward pass: seeds and gradients have an extra first dimension; None for unused inputs."""
    level = Level(next(seed.shape[0] for seed in seeds if seed is not None), 'different')
    with level:
        entries = [None if seed is None else level.entry(seed) for seed in seeds]
        found = gradient(list(outputs), list(inputs), entries, retain, create, unused)
        return [None if g is None else level.whole(g) for g in found]
