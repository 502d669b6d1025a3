"""Embeddings whose tables get sparse gradients."""
from .... import _core
from ...._core import ops
from ...._errors import InvalidArgumentError
from ..._common import cast, full


def has_sparse_gradient(weight):
    """Whether a table gets one: a leaf that is recorded, outside of transformations."""
    from ...sparse.grads import applies
    return applies(weight)


def sparse_embedding(index, weight, padding_idx, scale_grad_by_freq):
    """embedding() whose gradient has an entry for each index that is not padding_idx."""
    from ...sparse.grads import recorded
    flat = ops['reshape'](index, (index.size,))

    def rows(gradient):
        _check_frequency('embedding', scale_grad_by_freq)
        return _without(padding_idx, flat, ops['reshape'](gradient, (flat.size, width)))
    width = weight.shape[1]
    found = ops['embedding'](weight.detach(), index, padding_idx)
    return recorded('embedding', found, weight, [], rows, lambda gradient: [])


def _check_frequency(name, scale_grad_by_freq):
    if scale_grad_by_freq:
        raise RuntimeError(f'[{name}] scale_grad_by_freq is not for sparse gradients')


def _without(padding_idx, index, values):
    """Indices other than padding_idx, and their values."""
    if padding_idx is None:
        return index, values
    kept = ops['reshape'](ops['nonzero'](index != padding_idx), (-1,))
    return ops['index_select'](index, 0, kept), ops['index_select'](values, 0, kept)


def sparse_bag(input, weight, offsets, mode, per_sample_weights, padding_idx, scale_grad_by_freq):
    """embedding_bag() whose gradient has an entry for each index that is not padding_idx."""
    from ...sparse.grads import recorded
    if mode == 'max':
        raise InvalidArgumentError("[embedding_bag] sparse gradients are for modes 'sum' and 'mean'")
    bags, index = offsets.size, cast(input, _core.int64)
    padding = None if padding_idx is None else padding_idx % weight.shape[0]
    place = ops['arange'](0, index.size, 1, _core.int64, index.device)
    bag = ops['searchsorted'](cast(offsets, _core.int64), place, True) - 1

    def rows(gradient):
        _check_frequency('embedding_bag', scale_grad_by_freq)
        values = ops['index_select'](gradient, 0, bag)
        if per_sample_weights is not None:
            values = values * ops['unsqueeze'](per_sample_weights, -1)
        if mode == 'mean':
            used = full(bag.shape, 1, values) if padding is None else cast(index != padding, values.dtype)
            sizes = ops['index_add'](full((bags,), 0, values), 0, bag, used)
            values = values / ops['unsqueeze'](ops['index_select'](ops['clamp'](sizes, 1), 0, bag), -1)
        return _without(padding, index, values)

    def weights(gradient):
        if per_sample_weights is None:
            return []
        each = ops['sum'](ops['index_select'](gradient, 0, bag) * ops['index_select'](table, 0, index), -1)
        return [each if padding is None else each * cast(index != padding, each.dtype)]
    table, given = weight.detach(), None if per_sample_weights is None else per_sample_weights.detach()
    found = ops['embedding_bag'](table, input, offsets, mode, given, padding_idx)
    return recorded('embedding_bag', found, weight, [] if given is None else [per_sample_weights], rows, weights)
