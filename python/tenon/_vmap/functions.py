"""Functions with custom gradients, inside vmap."""
import contextlib
import types

from .. import _core
from .._core import Tensor
from .._levels import batches
from .call import moved
from .level import _down, _up, entry_of, levels_above, seed_of


def _knowing(tensors):
    """The levels that know one of the tensors."""
    return [level for level in batches() if any(level.find(x) is not None for x in tensors)]


def record(name, backward, inputs, outputs):
    """Outputs with a history that leads to the inputs through backward, which sees entries even after the vmap has ended."""
    levels = _knowing([*inputs, *outputs])
    ends = [_down(y, levels) for y in outputs]

    def run(gradients):
        with contextlib.ExitStack() as stack:
            for level in levels:
                if level not in batches():
                    stack.enter_context(level)
            above = levels_above(levels)
            found = backward([None if g is None else entry_of(g, levels, above) for g in gradients])
            return [None if g is None else seed_of(g, levels, above) for g in found]
    _core._record(name, run, [_down(x, levels) for x in inputs], ends)
    return [_up(y, levels) for y in ends]


def by_own_rule(rule, args, kwargs):
    """(results of a Function's own vmap(),) for arguments with entries of the newest level that knows one; None if there are none."""
    levels = _knowing([x for x in args if isinstance(x, Tensor)])
    if not levels:
        return None
    level = levels[-1]
    wholes = [level.find(x) if isinstance(x, Tensor) else None for x in args]
    info = types.SimpleNamespace(batch_size=level.size, randomness=level.randomness)
    in_dims = tuple(None if whole is None else 0 for whole in wholes)
    found = rule(info, in_dims, *(x if whole is None else whole for x, whole in zip(args, wholes)), **kwargs)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError('[vmap] the static vmap() of a Function must return (results, out_dims)')
    results, dims = found
    if isinstance(results, Tensor):
        return (_placed(level, results, dims),)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,) * len(results)
    return (tuple(_placed(level, y, dim) for y, dim in zip(results, dims)),)


def _placed(level, y, dim):
    return y if dim is None or not isinstance(y, Tensor) else level.entry(moved(y, dim % y.ndim, 0))
