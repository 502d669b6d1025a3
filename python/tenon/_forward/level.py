"""The scope of one forward-mode derivative, and the rule for ops that have no rule of their own."""
from .. import _core, _vmap
from .._core import Tensor, ops
from .._levels import below, ended, levels
from .._op_facts import THROUGH
from ..autograd import enable_grad
from .call import RULES, Call, has_history, is_differentiable
from .functions import pushed_through


class UnderBatch(RuntimeError):
    """A gradient inside forward mode of tensors that stand for entries of an older vmap: forward mode cannot see its backward pass."""


def by_two_backward_passes(call):
    """The tangents of an op without a rule: the gradient of its gradient."""
    places = [(i, k) for i, mark in enumerate(call.tangents) for k in (range(len(mark)) if isinstance(mark, list) else (None,))
              if (mark[k] if k is not None else mark) is not None]
    args, leaves, given = [list(x) if isinstance(x, (list, tuple)) else x for x in call.args], [], []
    create = has_history(*_tensors(call.args), *_tensors(call.tangents))
    with enable_grad():
        for i, k in places:
            x, t = (args[i], call.tangents[i]) if k is None else (args[i][k], call.tangents[i][k])
            leaf = call.leaf(x, t)
            if k is None:
                args[i] = leaf
            else:
                args[i][k] = leaf
            leaves.append(leaf)
            given.append(t)
        found = _vmap.op_of(call.name)(*args)
        found = [found] if isinstance(found, Tensor) else list(found)
        ends = [y for y in found if y.requires_grad]
        pushed = iter(pushed_through(ends, leaves, given, create))
    call.results = tuple(y if create or not y.requires_grad else ended(y) for y in found)
    return tuple(next(pushed) if y.requires_grad else None for y in found)


def _tensors(values):
    for x in values:
        yield from x if isinstance(x, (list, tuple)) else (x,)


def tangents_of(name, args, tangents, level):
    """(results, their tangents) of an op; None for a tangent that is zero."""
    call = Call(name, args, tangents, level)
    rule = RULES.get(name, by_two_backward_passes)
    found = rule(call)
    found = found if isinstance(found, tuple) else (found,)
    found += (None,) * (len(call.results) - len(found))
    return call.results, [_fitted(call, y, t) for y, t in zip(call.results, found)]


def _fitted(call, y, t):
    """A tangent with the shape and dtype of its result. It shares memory with the arguments' tangents only where the values share
    it."""
    if t is None or not is_differentiable(y):
        return None
    if t.dtype != y.dtype:
        t = ops['real'](t) if t.dtype.is_complex and not y.dtype.is_complex else t
        t = ops['cast'](t, y.dtype)
    if t.shape != y.shape:
        t = ops['expand'](t, y.shape)
    for x, mark in zip(_tensors(call.args), _tensors(call.tangents)):
        if mark is not None and _core._share_memory(t, mark) and not _core._share_memory(y, x):
            return ops['clone'](t)
    return t


class Level:
    """A scope in which tensors may have tangents: `with level:`. Belongs to the thread that enters it."""

    is_batch = False

    def __init__(self):
        self._known = _core._Tangents(self._compute)

    def __enter__(self):
        self._known.enter()
        levels().append(self)
        return self

    def __exit__(self, *_):
        levels().remove(self)
        self._known.leave()

    def tangent(self, x):
        """The tangent of a tensor, or None, which means zero."""
        return self._known.get(x)

    def set(self, x, tangent):
        """Gives a tensor a tangent; None removes it."""
        self._known.set(x, tangent)

    def dual(self, x, tangent):
        """A tensor with the elements and history of x that has this tangent."""
        y = self.primal(x)
        self.set(y, tangent)
        return y

    def primal(self, x):
        """A tensor with the elements and history of x that has no tangent."""
        with self.off():
            return ops['alias'](x)

    def off(self):
        """A scope in which ops produce no tangents."""
        return _Off(self._known)

    def _compute(self, name, args, tangents, targets):
        """Called by the extension: the results of an op with their tangents."""
        with below(self):
            if not any(t is not None and t is not False for t in _tensors(tangents)) and targets is None:
                return None
            # Runs the op as its parts, which then have tangents of their own, because gradients within the level need them.
            if name in THROUGH and targets is None and has_history(*_tensors(args)):
                return None
            results, found = tangents_of(name, args, [None if t is False else t for t in tangents], self)
            if targets is None:
                return list(zip(results, found))
            for (target, old), y, t in zip(targets, results, found):
                ops['clone'](y, out=target)
                self._write(target, old, t)
            return True

    def _write(self, target, old, t):
        """The tangent of a tensor that was written to. Views of it, and its base, see the change if they had a tangent."""
        if old is None and t is None:
            return
        if old is None and t is not None:
            self.set(target, t if t.dtype == target.dtype else ops['cast'](t, target.dtype))
        elif t is None:
            ops['full_like'](old, 0, out=old)
        else:
            ops['clone'](t, out=old)


class _Off:
    def __init__(self, known):
        self._known = known

    def __enter__(self):
        self._before = self._known.set_on(False)

    def __exit__(self, *_):
        self._known.set_on(self._before)
