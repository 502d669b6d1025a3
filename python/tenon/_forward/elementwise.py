"""Ops that compute each element on its own."""
from .. import _vmap
from .._core import Tensor, ops
from .._levels import ended
from .._op_facts import ELEMENTWISE
from ..autograd import enable_grad
from .call import RULES, has_history, rule


def _seeded(y, leaf, t, create):
    """The tangent by way of one leaf. J is diagonal and so its own transpose: the gradient of y weighted by t is J·t."""
    holomorphic = y.dtype.is_complex
    found = _vmap.gradient([y], [leaf], [ops['conj'](t) if holomorphic else t], True, create, True)[0]
    return ops['conj'](found) if holomorphic and found is not None else found


def diagonal(call):
    """One backward pass over the op for each operand that has a tangent; complex ones are holomorphic."""
    places = [i for i, t in enumerate(call.tangents) if t is not None]
    create = has_history(*call.args, *(call.tangents[i] for i in places))
    shape = _broadcast([x.shape for x in call.args if isinstance(x, Tensor)])
    args, leaves, seeds = list(call.args), [], []
    with enable_grad():
        for i in places:
            x, t = args[i], call.tangents[i]
            if x.shape != shape:
                x, t = ops['expand'](x, shape), ops['expand'](t, shape)
            args[i] = leaf = call.leaf(x, t)
            leaves.append(leaf)
            seeds.append(t)
        y = _vmap.op_of(call.name)(*args)
        if not y.requires_grad:
            call.results = (y,)
            return None
        parts = [_seeded(y, leaf, _as(t, y), create) for leaf, t in zip(leaves, seeds)]
        total = None
        for part in parts:
            if part is not None:
                total = part if total is None else ops['add'](total, part)
    call.results = (y if create else ended(y),)
    return total


def _as(t, y):
    return t if t.dtype == y.dtype else ops['cast'](t, y.dtype)


def _broadcast(shapes):
    rank = max(map(len, shapes))
    sizes = [[s for s in column if s != 1] for column in zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes))]
    return tuple(column[0] if column else 1 for column in sizes)


for _name in ELEMENTWISE:
    RULES.setdefault(_name, diagonal)


def _unary(name):
    """Makes the rule t·f'(x, y) of an op of one real or complex argument."""
    def add(derivative):
        @rule(name)
        def tangents(call):
            return ops['mul'](call.tangent('x'), derivative(call['x'], call.y))
        return tangents
    return add


_unary('exp')(lambda x, y: y)
_unary('square')(lambda x, y: 2 * x)
_unary('sin')(lambda x, y: ops['cos'](x))
_unary('cos')(lambda x, y: -ops['sin'](x))
_unary('log')(lambda x, y: ops['reciprocal'](x))
_unary('tanh')(lambda x, y: 1 - y * y)
_unary('sigmoid')(lambda x, y: y * (1 - y))


@rule('relu')
def relu(call):
    return ops['where'](ops['greater'](call['x'], 0), call.tangent('x'), 0)


@rule('div')
def div(call):
    """(tx - y·td) / d for y = x / d."""
    tx, td, d = call.tangent('x'), call.tangent('y'), call['y']
    if td is None:
        return ops['div'](tx, d)
    moved = ops['mul'](call.y, td)
    return ops['div'](ops['neg'](moved) if tx is None else ops['sub'](tx, moved), d)


@rule('abs')
def absolute(call):
    """The component of the tangent along x."""
    x, t = call['x'], call.tangent('x')
    if not x.dtype.is_complex:
        return ops['mul'](t, ops['sign'](x))
    return ops['real'](ops['mul'](ops['conj'](ops['sign'](x)), t))


def _chosen(by):
    """Makes the rule of maximum and minimum: the tangent of the operand that is taken, or the mean of both if they are equal."""
    def tangents(call):
        x, y = call['x'], call['y']
        tx, ty = call.tangent_or_zeros('x'), call.tangent_or_zeros('y')
        even = ops['mul'](ops['add'](tx, ty), 0.5)
        return ops['where'](ops['equal'](x, y), even, ops['where'](by(x, y), tx, ty))
    return tangents


rule('maximum')(_chosen(lambda x, y: ops['greater'](x, y)))
rule('minimum')(_chosen(lambda x, y: ops['less'](x, y)))
