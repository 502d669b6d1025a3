"""Jacobians, Hessians and their products with vectors, of functions of tensors.

With create_graph results have a history themselves. strict: raises RuntimeError instead of returning zeros if an output does not depend
on an input. vectorize: one backward pass for all elements instead of one for each, which needs more memory.
"""
from typing import Any

import tenon

from ... import _core
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from ...autograd import _gradient
from .gradients import as_tuple, zeros_like

__all__ = ['hessian', 'hvp', 'jacobian', 'jvp', 'vhp', 'vjp']


class _Values:
    """Inputs or results as a tuple of tensors, which pack() restores to their original form."""

    def __init__(self, where, values):
        if not isinstance(values, (Tensor, tuple)):
            raise TypeError(f'[{where}] wants a Tensor or a tuple of them, not {type(values).__name__}')
        self.single = isinstance(values, Tensor)
        self.tensors = as_tuple(where, values)

    def pack(self, values):
        return values[0] if self.single else tuple(values)


def _leaves(inputs, create_graph):
    """Tensors with the elements of the inputs, for asking gradients of; their history stays with create_graph."""
    return [ops['alias'](x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs]


def _run(where, func, inputs, create_graph, strict):
    """(inputs, leaves, results) of a recorded call."""
    inputs = _Values(where, inputs)
    leaves = _leaves(inputs.tensors, create_graph)
    outputs = _Values(where, func(*leaves))
    for y in outputs.tensors:
        _check_strict(strict, y, where)
    return inputs, leaves, outputs


def _check_strict(strict, y, where):
    if strict and not y.requires_grad:
        raise RuntimeError(f'[{where}] a result does not depend on the inputs, which strict=True does not allow')


def _gradients(where, outputs, inputs, seeds, create_graph, strict=False):
    """A gradient for each input; zeros, or an error if strict, where nothing depends on it."""
    pairs = [(y, seed) for y, seed in zip(outputs, seeds) if y.requires_grad]
    found: list[Any] = [None] * len(inputs)
    if pairs:
        found = _gradient([y for y, _ in pairs], list(inputs), [seed for _, seed in pairs], True, create_graph, True)
    for i, g in enumerate(found):
        if strict and g is None:
            raise RuntimeError(f'[{where}] the result does not depend on input {i}, which strict=True does not allow')
        if strict and create_graph and not g.requires_grad:
            raise RuntimeError(f'[{where}] the gradient by input {i} does not depend on the inputs, which strict=True does not allow')
    return [zeros_like(x) if g is None else g for g, x in zip(found, inputs)]


def _vectors(where, v, like, what):
    """v as a vector for each tensor; ones if it is omitted and there is one element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f'[{where}] v may be left out only where {what} is one number')
        return [ops['full'](like[0].shape, 1, like[0].dtype, like[0].device)]
    v = as_tuple(where, v)
    if [x.shape for x in v] != [x.shape for x in like]:
        raise RuntimeError(f'[{where}] v has shapes {[tuple(x.shape) for x in v]}, {what} {[tuple(x.shape) for x in like]}')
    return list(v)


def _finish(values, create_graph):
    return list(values) if create_graph else [x.detach() for x in values]


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), vᵀJ): the gradients of the results, weighted by v, in the form of the inputs."""
    with tenon.enable_grad():
        inputs, leaves, outputs = _run('vjp', func, inputs, create_graph, strict)
        v = _vectors('vjp', v, outputs.tensors, 'the result')
        found = _gradients('vjp', outputs.tensors, leaves, v, create_graph, strict)
    return outputs.pack(_finish(outputs.tensors, create_graph)), inputs.pack(_finish(found, create_graph))


def _pushed(where, outputs, leaves, v, create_graph, strict):
    """J·v: vᵀJ is linear in v, so its derivative is the other product."""
    weights = [zeros_like(y.detach()).requires_grad_() for y in outputs]
    pulled = _gradients(where, outputs, leaves, weights, True, strict)
    return _gradients(where, pulled, weights, v, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), J·v): the derivative of the results in the direction v, in the form of the results."""
    with tenon.enable_grad():
        inputs, leaves, outputs = _run('jvp', func, inputs, create_graph, strict)
        v = _vectors('jvp', v, inputs.tensors, 'the input')
        found = _pushed('jvp', outputs.tensors, leaves, v, create_graph, strict)
    return outputs.pack(_finish(outputs.tensors, create_graph)), outputs.pack(_finish(found, create_graph))


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy='reverse-mode'):
    """The derivatives of each result with respect to each input, (…of the result, …of the input); tuples if there are several."""
    if strategy not in ('reverse-mode', 'forward-mode'):
        raise InvalidArgumentError(f'[jacobian] strategy is {strategy!r}, must be "reverse-mode" or "forward-mode"')
    if strategy == 'forward-mode' and (create_graph or strict or not vectorize):
        raise NotImplementedError('[jacobian] strategy="forward-mode" needs vectorize=True, and neither create_graph nor strict')
    if strict and vectorize:
        raise RuntimeError('[jacobian] strict and vectorize exclude each other')
    with tenon.enable_grad():
        inputs, leaves, outputs = _run('jacobian', func, inputs, create_graph, strict)
        rows = [inputs.pack(_finish(_matrix(y, leaves, create_graph, strict, vectorize), create_graph)) for y in outputs.tensors]
    return outputs.pack(rows)


def _matrix(y, leaves, create_graph, strict, vectorize=False):
    """The derivatives of one result with respect to each input."""
    n = y.numel()
    if vectorize and n and y.requires_grad:
        from ... import _vmap
        found = _vmap.gradients_of_rows([y], leaves, [_vmap.unit_rows(y, 0, n)], True, create_graph, True)
        return [ops['full']((*y.shape, *x.shape), 0, x.dtype, x.device) if rows is None else ops['reshape'](rows, (*y.shape, *x.shape))
                for rows, x in zip(found, leaves)]
    found = []
    for k in range(n):
        seed = ops['reshape'](ops['cast'](ops['arange'](0, n, 1, _core.int64, y.device) == k, y.dtype), tuple(y.shape))
        found.append(_gradients('jacobian', [y], leaves, [seed], create_graph, strict))
    return [ops['reshape'](ops['stack']([row[i] for row in found]), (*y.shape, *x.shape)) if n
            else ops['full']((*y.shape, *x.shape), 0, x.dtype, x.device) for i, x in enumerate(leaves)]


def _number(where, value):
    """The result of a function that must return one number, as rank 0."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        what = f'shape {tuple(value.shape)}' if isinstance(value, Tensor) else f'a {type(value).__name__}'
        raise RuntimeError(f'[{where}] the function must give one number, not {what}')
    return ops['reshape'](value, ())


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy='reverse-mode'):
    """The second derivatives of a function that returns one number, (…of an input, …of an input); tuples of tuples for several
    inputs."""
    form = _Values('hessian', inputs)

    def first(*leaves):
        y = _number('hessian', func(*leaves))
        _check_strict(strict, y, 'hessian')
        return form.pack(_gradients('hessian', [y], leaves, [ops['full']((), 1, y.dtype, y.device)], True, strict))
    return jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _first_and_leaves(where, func, inputs, v, create_graph, strict):
    """The common first part of both products with a Hessian: the result, its gradients, and v."""
    inputs, leaves, outputs = _run(where, func, inputs, create_graph, strict)
    y = _number(where, outputs.pack(outputs.tensors))
    first = _gradients(where, [y], leaves, [ops['full']((), 1, y.dtype, y.device)], True, strict)
    return inputs, leaves, outputs, first, _vectors(where, v, inputs.tensors, 'the input')


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), vᵀH) for a function that returns one number."""
    with tenon.enable_grad():
        inputs, leaves, outputs, first, v = _first_and_leaves('vhp', func, inputs, v, create_graph, strict)
        found = _gradients('vhp', first, leaves, v, create_graph, strict)
    return outputs.pack(_finish(outputs.tensors, create_graph)), inputs.pack(_finish(found, create_graph))


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), H·v) for a function that returns one number. vhp() computes the same in one pass less."""
    with tenon.enable_grad():
        inputs, leaves, outputs, first, v = _first_and_leaves('hvp', func, inputs, v, create_graph, strict)
        found = _pushed('hvp', first, leaves, v, create_graph, strict)
    return outputs.pack(_finish(outputs.tensors, create_graph)), inputs.pack(_finish(found, create_graph))
