"""torch.func.rearrange: axes by name, 'b (h w) c -> b c h w'."""
import math
import re

from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from ..join import stack

_PART = re.compile(r'\(([^()]*)\)|(\S+)')


def _side(text, pattern):
    """The axes of one side: a list of names for each dimension, or '…' for all others; '1' has none."""
    text = text.replace('...', ' … ').strip()
    if re.sub(r'\([^()]*\)|[\w…\s]', '', text):
        raise InvalidArgumentError(f'[rearrange] {pattern!r}: a side has names, numbers 1, an ellipsis and groups in parentheses')
    sides = ['…' if name == '…' else [each for each in (name or group).split() if each != '1'] for group, name in _PART.findall(text)]
    flat = [name for names in sides for name in names]
    wrong = [name for name in flat if name != '…' and not name.isidentifier()]
    if wrong or len(set(flat)) != len(flat):
        raise InvalidArgumentError(f'[rearrange] {pattern!r}: {wrong[0] if wrong else "a name occurs twice on a side"}')
    return sides


def _sizes(names, size, lengths, pattern):
    """Sets the lengths of the axes that a dimension is made of; one of them may follow from the others."""
    unknown = [name for name in names if name not in lengths]
    known = math.prod(lengths[name] for name in names if name in lengths)
    if len(unknown) > 1 or (size % known if unknown and known else size != known):
        raise InvalidArgumentError(f'[rearrange] {pattern!r}: ({" ".join(names)}) does not give the size {size}')
    for name in unknown:
        lengths[name] = size // known if known else 0


def rearrange(tensor, pattern, **axes_lengths):
    """A tensor, or a list of tensors stacked along a new first dimension, with its axes in the order of the pattern's right side.

    Groups in parentheses are one dimension, an ellipsis stands for all other dimensions.

    >>> import tenon.torch as torch
    >>> torch.func.rearrange(torch.ones(2, 6, 5), 'b (h w) c -> b c h w', h=3).shape
    torch.Size([2, 5, 3, 2])
    """
    x = tensor if isinstance(tensor, Tensor) else stack(tuple(tensor))
    left, arrow, right = pattern.partition('->')
    if not arrow:
        raise InvalidArgumentError(f'[rearrange] {pattern!r} has no ->')
    left, right = _side(left, pattern), _side(right, pattern)
    more = x.ndim - len(left) + 1 if '…' in left else 0
    if more < 0 or ('…' not in left and len(left) != x.ndim):
        raise InvalidArgumentError(f'[rearrange] {pattern!r} has {len(left)} dimensions, the tensor {x.ndim}')
    others = [f'…{i}' for i in range(more)]

    def spread(side):
        whole = []
        for names in side:
            whole += [[name] for name in others] if names == '…' else [[each for name in names for each in (others if name == '…' else (name,))]]
        return whole
    left, right = spread(left), spread(right)
    flat, target = ([name for names in side for name in names] for side in (left, right))
    if set(flat) != set(target) or not set(axes_lengths) <= set(flat):
        raise InvalidArgumentError(f'[rearrange] {pattern!r}: both sides, and the lengths, have the same names')
    lengths = dict(axes_lengths)
    for names, size in zip(left, x.shape):
        _sizes(names, size, lengths, pattern)
    x = ops['permute'](ops['reshape'](x, tuple(lengths[name] for name in flat)), tuple(map(flat.index, target)))
    return ops['reshape'](x, tuple(math.prod(lengths[name] for name in names) for names in right))
