"""Ops that compute each element on its own, from arguments that broadcast."""
from .._core import Tensor
from .._op_facts import ELEMENTWISE
from .call import op_of, rule, unsqueezed

def aligned(call, rank):
    """The arguments, where batches of entries of a smaller rank get dimensions of size 1, so that they broadcast as the entries do."""
    return [unsqueezed(x, 1, rank - (x.ndim - 1)) if mark and isinstance(x, Tensor) else x for x, mark in zip(call.args, call.marks)]


@rule(*ELEMENTWISE, 'tril', 'triu')  # these find each matrix in its last two dimensions
def elementwise(call):
    ranks = [x.ndim - mark for x, mark in zip(call.args, call.marks) if isinstance(x, Tensor)]
    return op_of(call.name)(*aligned(call, max(ranks)))
