"""grad() and backward() with all of PyTorch's arguments."""
from typing import Any, NamedTuple

from ... import _core
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from ..._retained import retain_anew
from ...autograd import _accumulate, _gradient

__all__ = ['backward', 'grad']


def as_tuple(where, tensors):
    """A tensor, or several, as a tuple."""
    found = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    for x in found:
        if not isinstance(x, Tensor):
            raise TypeError(f'[{where}] wants Tensors, not {type(x).__name__}')
    return found


def _seeds(where, outputs, given):
    """A gradient for each output; by default 1 for an output of a single element."""
    given = (None,) * len(outputs) if given is None else (given,) if isinstance(given, Tensor) else tuple(given)
    if len(given) != len(outputs):
        raise RuntimeError(f'[{where}] {len(given)} gradients for {len(outputs)} outputs')
    found = []
    for y, seed in zip(outputs, given):
        if seed is None and y.numel() != 1:
            raise RuntimeError(f'[{where}] an output of shape {tuple(y.shape)} needs a gradient: only that of one element is 1 by itself')
        if seed is not None and seed.shape != y.shape:
            raise RuntimeError(f'[{where}] a gradient of shape {tuple(seed.shape)} for an output of shape {tuple(y.shape)}')
        found.append(ones_like(y) if seed is None else seed)
    return found


def ones_like(x):
    return ops['full'](x.shape, 1, x.dtype, x.device)


def zeros_like(x):
    return ops['full'](x.shape, 0, x.dtype, x.device)


class GradientEdge(NamedTuple):
    """A place in a history that a gradient goes to: result output_nr of a step. It stands for its tensor in grad()."""
    node: Any
    output_nr: int
    ownership_token: Any = None


def _tensors(given):
    """Tensors, or what stands for them, with tensors in the place of edges."""
    if isinstance(given, GradientEdge):
        return given.ownership_token
    return given if isinstance(given, Tensor) else [x.ownership_token if isinstance(x, GradientEdge) else x for x in given]


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False) -> Any:
    """Gradients of the outputs with respect to the inputs, as a tuple, or a dict for inputs in a dict.

    allow_unused: an unused input gets None, or with materialize_grads zeros, instead of an error. is_grads_batched: grad_outputs have
    an extra first dimension, and so have the gradients, computed by one backward pass.
    """
    if not only_inputs:
        raise InvalidArgumentError('[grad] only_inputs must be True: use backward() to accumulate into leaves')
    if materialize_grads and allow_unused is False:
        raise InvalidArgumentError('[grad] materialize_grads gives zeros where allow_unused=False wants an error: leave out one')
    names = list(inputs) if isinstance(inputs, dict) else None
    outputs, inputs = as_tuple('grad', _tensors(outputs)), as_tuple('grad', _tensors(inputs.values() if isinstance(inputs, dict) else inputs))
    allow = bool(allow_unused) or materialize_grads
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        found = _batched(outputs, inputs, as_tuple('grad', grad_outputs), retain, create_graph, allow)
    else:
        found = _gradient(list(outputs), list(inputs), _seeds('grad', outputs, grad_outputs), retain, create_graph, allow)
    found = tuple(zeros_like(x) if g is None and materialize_grads else g for g, x in zip(found, inputs))
    return found if names is None else dict(zip(names, found))


def _batched(outputs, inputs, grad_outputs, retain, create_graph, allow):
    from ... import _vmap
    _seeds('grad', outputs, [ops['select'](g, 0, 0) for g in grad_outputs])  # to raise its errors
    return _vmap.gradients_of_rows(outputs, inputs, grad_outputs, retain, create_graph, allow)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulates gradients of the tensors into the leaves, or only into `inputs`."""
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError('[backward] grad_variables is the old name of grad_tensors: give one')
        grad_tensors = grad_variables
    retain_anew()
    outputs = as_tuple('backward', tensors)
    seeds, retain = _seeds('backward', outputs, grad_tensors), create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _core._backward(list(outputs), seeds, retain, create_graph)
        return
    inputs = as_tuple('backward', inputs.values() if isinstance(inputs, dict) else inputs)
    if not inputs:
        raise RuntimeError('[backward] inputs is empty: leave it out to reach all leaves')
    _accumulate(list(outputs), list(inputs), seeds, retain, create_graph)
