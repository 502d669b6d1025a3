"""torch._utils: what libraries that combine gradients ask for."""
from .._core import ops


def _flatten_dense_tensors(tensors):
    """All elements as one vector."""
    return ops['concat']([ops['reshape'](x, (-1,)) for x in tensors], 0)


def _unflatten_dense_tensors(flat, tensors):
    """Parts of the vector in the shapes of the tensors: views of it."""
    found, begin = [], 0
    for x in tensors:
        found.append(ops['reshape'](ops['slice'](flat, 0, begin, begin + x.numel()), tuple(x.shape)))
        begin += x.numel()
    return tuple(found)


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one dtype, of size_limit bytes at most unless a single one is larger."""
    filled = {}
    for x in tensors:
        found, size = filled.get(x.dtype, ([], 0))
        if found and size + x.nbytes > size_limit:
            yield found
            found, size = [], 0
        filled[x.dtype] = [*found, x], size + x.nbytes
    yield from (found for found, _ in filled.values() if found)
