"""torch.nested: batches of tensors whose sizes differ, as one object."""
from typing import Any

from ..._core import Tensor
from ..._errors import InvalidArgumentError
from .._common import check
from ..create import layout as _layout, strided, tensor
from .of_parts import NestedTensor, jagged

__all__ = ['as_nested_tensor', 'masked_select', 'narrow', 'nested_tensor', 'nested_tensor_from_jagged', 'to_padded_tensor']


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A leaf of its own with copies of these tensors, lists or arrays."""
    parts = [(x.detach().clone() if isinstance(x, Tensor) else tensor(x)).to(device=device, dtype=dtype) for x in tensor_list]
    found = NestedTensor(parts, _known(layout))
    return found.requires_grad_() if requires_grad else found


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """These tensors, or the parts of one tensor, as one; gradients flow to them."""
    if isinstance(ts, NestedTensor):
        return ts.to(device=device, dtype=dtype)
    parts = list(ts.unbind()) if isinstance(ts, Tensor) else [x if isinstance(x, Tensor) else tensor(x) for x in ts]
    return NestedTensor([x.to(device=device, dtype=dtype) for x in parts], _known(layout))


def to_padded_tensor(input, padding, output_size=None, out=None):
    """A dense tensor with `padding` behind each part."""
    if not isinstance(input, NestedTensor):
        raise TypeError(f'[to_padded_tensor] input must be a nested tensor, not {type(input).__name__}')
    return input.to_padded_tensor(padding, output_size)


def nested_tensor_from_jagged(values, offsets: Any = None, lengths: Any = None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """The parts of `values` that lie one behind the other: part i begins at offsets[i]. Without `offsets`, they have these lengths."""
    values = check(values)
    if offsets is None and lengths is None:
        raise RuntimeError('[nested_tensor_from_jagged] at least one of offsets or lengths must be given')
    if jagged_dim not in (None, 1):
        raise InvalidArgumentError(f'[nested_tensor_from_jagged] jagged_dim {jagged_dim}: parts lie along dimension 1')
    if offsets is None:
        ends = lengths.cumsum(0).tolist()
        starts = [0, *ends[:-1]]
    else:
        starts = offsets.tolist()
        ends = starts[1:] if lengths is None else [start + n for start, n in zip(starts, lengths.tolist())]
    return NestedTensor([values[start:end] for start, end in zip(starts, ends)], jagged)


def narrow(tensor, dim, start, length, layout=strided):
    """Part i has length[i] entries of tensor[i] from start[i] on, along dim 1."""
    if dim != 1:
        raise RuntimeError(f'[narrow] dim {dim}: only 1 is supported')
    rows = list(check(tensor).unbind())
    starts, lengths = ([int(each) for each in n] if hasattr(n, '__len__') and getattr(n, 'ndim', 1) else [int(n)] * len(rows) for n in (start, length))
    return NestedTensor([row[at:at + n] for row, at, n in zip(rows, starts, lengths)], _known(layout))


def masked_select(tensor, mask):
    """Part i has the entries of tensor[i] where mask[i] is True."""
    tensor, mask = check(tensor), check(mask)
    return NestedTensor([row[chosen] for row, chosen in zip(tensor, mask.expand(*tensor.shape))], jagged)


def _known(layout):
    if layout not in (None, strided, jagged):
        raise RuntimeError(f'[nested] layout {layout} is neither torch.strided nor torch.jagged')
    return strided if layout is None else layout
