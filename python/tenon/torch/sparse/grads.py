"""Sparse gradients: those of tables of which a step reads few rows. From the import of this module on, x.grad may be sparse."""
import weakref

from ... import _core
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from .coo import CooTensor
from .tensor import is_sparse

_dense = vars(Tensor)['grad']
_kept = {}  # by id, tensors with a sparse gradient: (weak reference, gradient)


def _get(x):
    """The accumulated gradient of a leaf, or None; sparse if nothing dense was added to it."""
    found, kept = _dense.__get__(x), _kept.get(id(x))
    if kept is None or kept[0]() is not x:
        return found
    if found is None:
        return kept[1]
    del _kept[id(x)]
    found = found + kept[1].to_dense()
    _dense.__set__(x, found)
    return found


def _set(x, gradient):
    if not is_sparse(gradient):
        _dense.__set__(x, gradient)
        _kept.pop(id(x), None)
        return
    if tuple(gradient.shape) != tuple(x.shape) or gradient.dtype is not x.dtype:
        raise InvalidArgumentError(f'[grad] a gradient of shape {tuple(gradient.shape)} and dtype {gradient.dtype} for a tensor of shape '
                                   f'{tuple(x.shape)} and dtype {x.dtype}')
    key = id(x)
    _dense.__set__(x, None)
    _kept[key] = weakref.ref(x, lambda _: _kept.pop(key, None)), gradient


setattr(Tensor, 'grad', property(_get, _set, lambda x: _set(x, None), _dense.__doc__))


def accumulate(x, gradient):
    """Adds a sparse gradient to that of a leaf. Entries of sparse ones stand side by side, not coalesced."""
    before = _get(x)
    if before is None:
        _set(x, gradient)
    elif is_sparse(before):
        _set(x, CooTensor(ops['concat']([before._places, gradient._places], 1), ops['concat']([before._data, gradient._data]), x.shape))
    else:
        _dense.__set__(x, before + gradient.to_dense())


def applies(weight):
    """Whether a table gets a sparse gradient: a leaf that is recorded, outside of transformations."""
    return (weight.requires_grad and weight.is_leaf and bool(_core._get_modes() & 1) and not _core._inside_vmap() and not _core._trace_active()
            and not _core._has_tangents())


def recorded(name, result, weight, others, rows, gradients):
    """result, computed without history, as a function of a table and other tensors.

    rows(gradient) gives (indices, values) of the table's gradient, gradients(gradient) those of the others. backward() adds the
    table's to weight.grad; autograd.grad() cannot return a sparse one and gets it dense.
    """
    leaf = weakref.ref(weight)
    shape = weight.shape

    def backward(given):
        gradient = given[0]
        if gradient is None:
            return [None] * (1 + len(others))
        index, values = rows(gradient)
        made = CooTensor(ops['unsqueeze'](index, 0), values, shape)

        def add():
            x = leaf()
            if x is not None:
                accumulate(x, made)
        return [None if _core._after_backward(add) else made.to_dense(), *gradients(gradient)]
    _core._record(name, backward, [weight, *others], [result])
    return result
