"""Gradients of functions. Arguments and results may be nested; anything that is no tensor passes unchanged.

jvp and jacfwd compute derivatives along with the values, in forward mode; the others run backward passes.
"""
import functools
from typing import Any

import tenon

from ... import _forward, _vmap
from ... import func as _func
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from ..._levels import ended
from .trees import filled, leaves_of, tensors_of, tree_map, with_tensors


class _Call:
    """A function with its arguments as a function of flat tensors, which remembers the form of its result and its other outputs."""

    def __init__(self, where, func, args, kwargs, has_aux=False):
        if not callable(func):
            raise TypeError(f'[{where}] wants a function, not {type(func).__name__}')
        self.where, self.func, self.form, self.has_aux = where, func, (args, kwargs), has_aux
        self.tensors = tensors_of(self.form)
        self.result = self.aux = None

    def __call__(self, *tensors) -> Any:
        args, kwargs = with_tensors(self.form, iter(tensors))
        result = self.func(*args, **kwargs)
        if self.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(f'[{self.where}] with has_aux the function must return (result, anything), a tuple of two')
            result, self.aux = result
        self.result = result
        found = leaves_of(result)
        for y in found:
            if not isinstance(y, Tensor):
                raise RuntimeError(f'[{self.where}] the function must return Tensors, not {type(y).__name__}')
        return tuple(found)

    def pack(self, values):
        """Values for the tensors of the result, in its form."""
        return filled(self.result, iter(values))

    def auxiliary(self):
        """The function's other outputs; their tensors have no history, unless something around this call may need it."""
        if _func._is_nested(self.tensors):
            return self.aux
        return tree_map(lambda x: ended(x) if isinstance(x, Tensor) else x, self.aux)


def _chosen(where, argnums, args):
    """(positions of the arguments, which of all tensors belong to them)."""
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    if not wanted or any(not isinstance(n, int) or isinstance(n, bool) for n in wanted):
        raise RuntimeError(f'[{where}] argnums is an int or a tuple of them, not {argnums!r}')
    for n in wanted:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f'[{where}] argnums {n} is out of range for {len(args)} arguments')
    places = [n % len(args) for n in wanted]
    if len(set(places)) != len(places):
        raise RuntimeError(f'[{where}] argnums {argnums} names an argument twice')
    ends = [0]
    for arg in args:
        ends.append(ends[-1] + len(tensors_of(arg)))
    for n in places:
        for leaf in leaves_of(args[n]):
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f'[{where}] argument {n} has a {type(leaf).__name__}: gradients are those of Tensors')
    return places, tuple(i for n in places for i in range(ends[n], ends[n + 1]))


def _by_argument(argnums, args, places, values):
    """Values for the chosen tensors, in the form of argnums and their arguments."""
    left = iter(values)
    found = tuple(filled(args[n], left) for n in places)
    return found if isinstance(argnums, tuple) else found[0]


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient, value) of func, whose result is one number; with has_aux (gradient, (value, anything))."""
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        call = _Call('grad', func, args, kwargs, has_aux)
        places, chosen = _chosen('grad', argnums, args)

        def number(*tensors):
            call(*tensors)
            if not isinstance(call.result, Tensor) or call.result.ndim:
                what = f'shape {tuple(call.result.shape)}' if isinstance(call.result, Tensor) else type(call.result).__name__
                raise RuntimeError(f'[grad] the function must return one number of rank 0, not {what}: use sum(), or jacrev')
            return call.result
        both: Any = _func.value_and_grad
        value, found = both(number, chosen)(*call.tensors)
        found = _by_argument(argnums, args, places, found)
        return found, (value, call.auxiliary()) if has_aux else value
    return wrapped


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func, whose result is one number, in the form of the arguments `argnums`.

    >>> import tenon.torch as torch
    >>> torch.func.grad(lambda p: (p['w'] * p['b']).sum())({'w': torch.tensor(2.0), 'b': torch.tensor(3.0)})['w'].item()
    3.0
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return wrapped


def _matching(what, given, like: Any, whose):
    """The leaves of the given values, as many as in `like` and with the same shapes."""
    found = leaves_of(given)
    if len(found) != len(like) or any(not isinstance(v, Tensor) or v.shape != x.shape for v, x in zip(found, like)):
        raise RuntimeError(f'{what} must have the form and the shapes of the {whose}')
    return found


def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function from cotangents in the form of the result to the gradients of the primals); with has_aux func's
    other output is third."""
    call = _Call('vjp', func, primals, {}, has_aux)
    _chosen('vjp', tuple(range(len(primals))), primals)
    outputs, pull = _func.vjp(call, *call.tensors)

    def pulled(*cotangents, retain_graph=True, create_graph=None):
        left = iter(pull(tuple(_matching('[vjp] cotangents', cotangents, outputs, 'result'))))
        return tuple(filled(x, left) for x in primals)
    found = call.pack(outputs), pulled
    return (*found, call.auxiliary()) if has_aux else found


def _directions(where, primals, tangents):
    """The tangents as flat tensors."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError(f'[{where}] primals and tangents are tuples: {where}(f, (x,), (v,))')
    return _matching(f'[{where}] tangents', tangents, leaves_of(primals), 'primals')


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its derivative in the direction of the tangents); with has_aux func's other output is third.

    strict: raises RuntimeError instead of returning zeros if a result does not depend on the primals.
    """
    given = _directions('jvp', primals, tangents)
    call = _Call('jvp', func, primals, {}, has_aux)
    _chosen('jvp', tuple(range(len(primals))), primals)
    outputs, pushed, _ = _func._pushed(call, tuple(call.tensors), tuple(given))
    if strict and any(t is None for t in pushed):
        raise RuntimeError('[jvp] a result does not depend on the primals, which strict=True does not allow')
    found = call.pack(outputs), call.pack([tenon.zeros_like(y) if t is None else t for y, t in zip(outputs, pushed)])
    return (*found, call.auxiliary()) if has_aux else found


def _check_chunk(where, chunk_size):
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise InvalidArgumentError(f'[{where}] chunk_size is {chunk_size!r}, must be a positive int or None')


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of func: for each tensor of the result, one of shape (…of it, …of the argument) for each
    tensor of the arguments. One backward pass starts from all elements of the result at once, or from chunk_size of them."""
    _check_chunk('jacrev', chunk_size)
    return _jacobian('jacrev', func, argnums, has_aux, functools.partial(_func.jacrev, chunk_size=chunk_size))


def jacfwd(func, argnums=0, has_aux=False, *, randomness='error'):
    """The same as jacrev() in forward mode, which is less work if the result has more elements than the argument.

    func is called once, with a tangent for each element of the arguments. randomness has no effect, because all values come from one
    call.
    """
    return _jacobian('jacfwd', func, argnums, has_aux, _by_columns)


def _jacobian(where, func, argnums, has_aux, method):
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        call = _Call(where, func, args, kwargs, has_aux)
        places, chosen = _chosen(where, argnums, args)
        rows = method(call, chosen)(*call.tensors)
        found = call.pack([_by_argument(argnums, args, places, row) for row in rows])
        return (found, call.auxiliary()) if has_aux else found
    return wrapped


def _by_columns(fn, argnums):
    """As tenon.func.jacrev for a function of flat tensors, but column by column."""
    def wrapped(*args):
        create = _func._is_nested(args)
        for n in argnums:
            _func._check_differentiable('jacfwd', args[n], n)
        return _func._forward_or(lambda: _columns(fn, args, argnums, create), lambda: _columns_by_two_passes(fn, args, argnums, create))
    return wrapped


def _columns(fn, args, argnums, create):
    """One call whose tangents stand for all directions."""
    args, ends = list(args), [0]
    for n in argnums:
        ends.append(ends[-1] + args[n].numel())
    count = ends[-1]
    if not count:
        return _columns_by_two_passes(fn, args, argnums, create)
    shapes = [args[n].shape for n in argnums]
    seeds = _vmap.Level(count, 'same', of_seeds=True)
    with seeds, _forward.Level() as level:
        for n, first, last in zip(argnums, ends, ends[1:]):
            args[n] = level.dual(args[n], seeds.entry(_basis(args[n], first, last, count)))
        outputs = fn(*args)
        found = [level.tangent(y) for y in outputs]
        found = [None if t is None else seeds.whole(t) for t in found]
    rows = []
    for y, t in zip(outputs, found):
        if t is None:
            t = ops['expand'](ops['full']((), 0, y.dtype, y.device), (count, *y.shape))
        t = t if create else ended(t)
        parts = (ops['slice'](t, 0, first, last) for first, last in zip(ends, ends[1:]))
        rows.append(tuple(ops['reshape'](_vmap.moved(part, 0, y.ndim), (*y.shape, *shape)) for part, shape in zip(parts, shapes)))
    return tuple(rows)


def _basis(x, first, last, count):
    """Directions, one in each row: rows `first` … `last` - 1 are those of the elements of x, all others 0."""
    unit = ops['reshape'](_vmap.unit_rows(x, 0, last - first), (last - first, -1))
    whole = ops['pad'](unit, (0, 0, first, count - last)) if last - first < count else unit
    return ops['reshape'](whole, (count, *x.shape))


def _columns_by_two_passes(fn, args, argnums, create):
    args = list(args)
    with _func._recording():
        for n in argnums:
            args[n] = _func._leaf('jacfwd', args[n], n)
        leaves = [args[n] for n in argnums]
        outputs = fn(*args)
        weights, pulled = _pulled(outputs, leaves)
        columns = [_columns_by(outputs, leaves, i, weights, pulled, create) for i in range(len(leaves))]
    return tuple(tuple(column[k] for column in columns) for k in range(len(outputs)))


def _linearized(outputs, leaves):
    """The function from directions of the leaves to the derivatives of the outputs."""
    weights, pulled = _pulled(outputs, leaves)

    def push(directions, create) -> Any:
        return _func._gradients(pulled, weights, directions, create)
    return push


def _pulled(outputs, leaves):
    """(weights w, Jᵀw), which is linear in w: its derivative with respect to w in the direction v is J·v."""
    weights = [_vmap.leaf(tenon.zeros_like(y.detach())) for y in outputs]
    return weights, _func._gradients(outputs, leaves, weights, True)


def _columns_by(outputs, leaves, i, weights, pulled, create):
    """The Jacobians of all outputs with respect to leaf i."""
    x, n = leaves[i], leaves[i].numel()
    found = [None] * len(outputs)
    if n and pulled[i].requires_grad:
        found = _vmap.gradients_of_rows([pulled[i]], weights, [_vmap.unit_rows(x, 0, n)], True, create, True)
    joined = []
    for rows, y in zip(found, outputs):
        shape = (*y.shape, *x.shape)
        if rows is None:
            joined.append(tenon.zeros(shape, dtype=y.dtype, device=y.device))
            continue
        whole = ops['reshape'](_vmap.moved(rows, 0, y.ndim), shape)
        joined.append(whole if create else ended(whole))
    return joined


def hessian(func, argnums=0):
    """A function that returns the second derivatives of func: the Jacobian of its Jacobian."""
    return jacrev(jacrev(func, argnums), argnums)


def linearize(func, *primals):
    """(func(*primals), a function from tangents to the derivative in their direction that does not call func again)."""
    call = _Call('linearize', func, primals, {})
    _chosen('linearize', tuple(range(len(primals))), primals)
    create = _func._is_nested(call.tensors)
    with _func._recording():
        leaves = [_func._leaf('linearize', x, n) for n, x in enumerate(call.tensors)]
        outputs = call(*leaves)
        push = _linearized(outputs, leaves)

    def pushed(*tangents):
        given = _directions('linearize', primals, tangents)
        nested = create or _func._is_nested(given)
        with tenon.enable_grad():
            found = push(given, nested)
        return call.pack(found if nested else [ended(g) for g in found])
    return call.pack(outputs if create else [ended(y) for y in outputs]), pushed
