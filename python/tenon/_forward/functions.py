"""Functions with custom gradients, in forward mode."""
from .. import _vmap
from .._core import Tensor
from .._levels import below, directions, ended
from ..autograd import enable_grad
from .call import has_history, zeros_like


def of_function(function, args, kwargs):
    """(a Function's results,) with tangents, for arguments that have some at the newest level that knows one; None if there are
    none."""
    for level in reversed(directions()):
        tangents = [level.tangent(x) if isinstance(x, Tensor) else None for x in args]
        if any(t is not None for t in tangents):
            break
    else:
        return None
    with below(level), level.off():
        found, pushed = (_by_own_rule if function.jvp is not None else _by_two_backward_passes)(function, args, kwargs, tangents, level)
    for y, t in zip(found if isinstance(found, (tuple, list)) else (found,), pushed):
        if t is not None and isinstance(y, Tensor):
            if t.shape != y.shape:
                raise RuntimeError(f'[{function.__name__}] jvp gave a tangent of shape {tuple(t.shape)} for a result of {tuple(y.shape)}')
            level.set(y, t)
    return (found,)


def _by_own_rule(function, args, kwargs, tangents, _):
    from .._function import Context
    ctx = Context(function._materialize)
    found = function._apply(ctx, args, kwargs)
    ctx._in_jvp = True
    try:
        pushed = function.jvp(ctx, *tangents)
    finally:
        ctx._in_jvp = False
    count = len(found) if isinstance(found, (tuple, list)) else 1
    pushed = tuple(pushed) if isinstance(pushed, (tuple, list)) else (pushed,)
    if len(pushed) != count:
        raise RuntimeError(f'[{function.__name__}] jvp gave {len(pushed)} tangents for {count} results')
    return found, pushed


def _by_two_backward_passes(function, args, kwargs, tangents, level):
    """As for ops without a rule, by way of backward()."""
    args, leaves, given = list(args), [], []
    create = has_history(*args, *tangents)
    with enable_grad():
        for i, t in enumerate(tangents):
            if t is not None:
                args[i] = leaf = _vmap.leaf(args[i])
                level.set(leaf, t)
                leaves.append(leaf)
                given.append(t)
        found = function.apply(*args, **kwargs)
        outputs = list(found) if isinstance(found, (tuple, list)) else [found]
        ends = [y for y in outputs if isinstance(y, Tensor) and y.requires_grad]
        pushed = iter(pushed_through(ends, leaves, given, create))
    marks = [next(pushed) if isinstance(y, Tensor) and y.requires_grad else None for y in outputs]
    outputs = [y if create or not isinstance(y, Tensor) else ended(y) for y in outputs]
    return (type(found)(outputs) if type(found) in (tuple, list) else tuple(outputs) if isinstance(found, (tuple, list)) else outputs[0]), marks


def pushed_through(ends, leaves, tangents, create):
    """J·v of what is recorded from leaves to ends: Jᵀw is linear in w, so its gradient in the direction v is J·v. None means zero."""
    weights = [_vmap.leaf(zeros_like(y.detach())) for y in ends]
    pulled = _vmap.gradient(ends, leaves, weights, True, True, True) if ends else []
    used = [(g, t) for g, t in zip(pulled, tangents) if g is not None and g.requires_grad]
    if not used:
        return [None] * len(ends)
    return _vmap.gradient([g for g, _ in used], weights, [t for _, t in used], True, create, True)
