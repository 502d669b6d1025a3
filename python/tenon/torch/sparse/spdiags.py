"""Sparse matrices of diagonals."""
from ..._core import ops
from ..._errors import InvalidArgumentError
from .coo import sparse_coo_tensor


def spdiags(diagonals, offsets, shape, layout=None):
    """A matrix with the rows of `diagonals` on the diagonals `offsets`; element j of a row goes to column j."""
    import tenon.torch as torch
    diagonals = ops['unsqueeze'](diagonals, 0) if diagonals.ndim == 1 else diagonals
    offsets = ops['reshape'](torch.as_tensor(offsets), (-1,))
    if offsets.shape[0] != diagonals.shape[0]:
        raise InvalidArgumentError(f'[sparse.spdiags] {offsets.shape[0]} offsets for {diagonals.shape[0]} diagonals')
    if len(set(offsets.tolist())) != offsets.shape[0]:
        raise InvalidArgumentError('[sparse.spdiags] an offset is given twice')
    rows, columns, values = [], [], []
    for k, offset in enumerate(offsets.tolist()):
        first, last = max(0, offset), min(shape[1], shape[0] + offset, diagonals.shape[1])
        if first < last:
            at = torch.arange(first, last)
            rows.append(at - offset)
            columns.append(at)
            values.append(diagonals[k, first:last])
    if not rows:
        return sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.int64), diagonals[0, :0], shape)
    made = sparse_coo_tensor(torch.stack([torch.cat(rows), torch.cat(columns)]), torch.cat(values), shape)
    return made if layout in (None, 'torch.sparse_coo') else made.to_sparse(layout=layout)
