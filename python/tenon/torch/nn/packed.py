"""torch.nn.utils.rnn: sequences of different lengths, packed step by step."""
import itertools
from collections import namedtuple
from typing import Any

from ... import _core
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from .._common import check
from ..create import tensor
from ..index import index_select
from ..join import split

__all__ = ['PackedSequence', 'invert_permutation', 'pack_padded_sequence', 'pack_sequence', 'pad_packed_sequence', 'pad_sequence',
           'unpack_sequence', 'unpad_sequence']

_Fields = namedtuple('PackedSequence', 'data batch_sizes sorted_indices unsorted_indices')


def runs(sizes):
    """(steps, rows) of each run of steps that have equally many rows."""
    return [(len(list(steps)), rows) for rows, steps in itertools.groupby(sizes)]


def _conjugate(falling):
    """How many of some descending numbers are above 0, 1, 2, …: turns lengths into batch sizes and back."""
    found = []
    for i in range(len(falling), 0, -1):
        found += [i] * (falling[i - 1] - len(found))
    return found


def _indices(numbers, device: Any = 'cpu'):
    return tensor(numbers, dtype=_core.int64, device=device)


def _converter(dtype):
    def convert(self):
        return self.to(dtype=dtype)
    convert.__doc__ = f'With data as {dtype}.'
    return convert


class PackedSequence(_Fields):
    """The rows of all sequences, step by step, longest sequence first: data (rows, ...), and the number of rows in each step.

    sorted_indices puts a batch into this order, unsorted_indices restores its own; both are None if it already has this order.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not isinstance(data, (tuple, list)) or len(data) != 2:
                raise InvalidArgumentError('[PackedSequence] batch_sizes is missing: pack_sequence() and pack_padded_sequence() make it')
            data, batch_sizes = data
        if batch_sizes.device.type != 'cpu':
            raise InvalidArgumentError('[PackedSequence] batch_sizes must be on the host')
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """With data on a device or in a dtype; itself if it already is."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        sorted_indices = None if self.sorted_indices is None else self.sorted_indices.to(data.device)
        return type(self)(data, self.batch_sizes, sorted_indices)

    def cpu(self):
        """On the host."""
        return self.to('cpu')

    def cuda(self, *args, **kwargs):
        """On the first CUDA device, or the one named."""
        return self.to(*(args or ('cuda',)), **kwargs)

    byte, char, half = (_converter(each) for each in (_core.uint8, _core.int8, _core.float16))
    short, int, long = (_converter(each) for each in (_core.int16, _core.int32, _core.int64))
    float, double = _converter(_core.float32), _converter(_core.float64)

    @property
    def is_cuda(self):
        """Whether data is on a CUDA device."""
        return self.data.device.type == 'cuda'

    def pin_memory(self):
        """Returns itself: host memory needs no pinning here."""
        return self

    def is_pinned(self):
        """Always False: host memory is not pinned here."""
        return False


def invert_permutation(permutation):
    """The inverse of a permutation; None for None."""
    if permutation is None:
        return None
    return ops['scatter'](ops['full_like'](permutation, 0), 0, permutation,
                          ops['arange'](0, permutation.shape[0], 1, permutation.dtype, permutation.device))


def _whole(lengths):
    """Lengths as a list of ints."""
    return [int(each) for each in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """A PackedSequence of the sequences in input (T, B, ...), or (B, T, ...) if batch_first, with the given lengths.

    enforce_sorted=False sorts them; otherwise lengths must not increase.
    """
    if isinstance(lengths, Tensor) and (lengths.device.type != 'cpu' or lengths.ndim != 1):
        raise RuntimeError(f'[pack_padded_sequence] lengths must be one row on the host, not {lengths.shape} on {lengths.device}')
    lengths = _whole(lengths)
    x = ops['transpose'](check(input), 0, 1) if batch_first else check(input)
    if len(lengths) != x.shape[1]:
        raise RuntimeError(f'[pack_padded_sequence] {len(lengths)} lengths for a batch of {x.shape[1]}')
    if not lengths or min(lengths) <= 0:
        raise RuntimeError('[pack_padded_sequence] lengths must be above 0, and at least one is needed')
    if max(lengths) > x.shape[0]:
        raise RuntimeError(f'[pack_padded_sequence] a length of {max(lengths)} for {x.shape[0]} steps')
    sorted_indices = None
    if not enforce_sorted:
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        lengths = [lengths[i] for i in order]
        sorted_indices = _indices(order, x.device)
        x = index_select(x, 1, sorted_indices)
    elif any(a < b for a, b in itertools.pairwise(lengths)):
        raise RuntimeError('[pack_padded_sequence] lengths must not rise: give enforce_sorted=False to have them sorted')
    sizes, parts, start = _conjugate(lengths), [], 0
    for steps, rows in runs(sizes):
        part = ops['slice'](ops['slice'](x, 0, start, start + steps), 1, 0, rows)
        parts.append(ops['reshape'](part, (steps * rows, *x.shape[2:])))
        start += steps
    return PackedSequence(ops['concat'](parts, 0), _indices(sizes), sorted_indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(sequences padded to one length, their lengths): (T, B, ...), or (B, T, ...) if batch_first."""
    data, sizes = sequence.data, sequence.batch_sizes.tolist()
    missing = 0 if total_length is None else total_length - len(sizes)
    if missing < 0:
        raise InvalidArgumentError(f'[pad_packed_sequence] total_length {total_length} is below the longest sequence, {len(sizes)}')
    shapes = runs(sizes)
    parts = [ops['reshape'](part, (*shape, *data.shape[1:])) for part, shape in zip(split(data, [a * b for a, b in shapes]), shapes)]
    x = _padded(ops['concat']([_padded(part, 1, sizes[0], padding_value) for part in parts], 0), 0, len(sizes) + missing, padding_value)
    lengths = _indices(_conjugate(sizes))
    if sequence.unsorted_indices is not None:
        x = index_select(x, 1, sequence.unsorted_indices)
        lengths = index_select(lengths, 0, sequence.unsorted_indices.to('cpu'))
    return ops['transpose'](x, 0, 1) if batch_first else x, lengths


def _padded(x, dim, size, value, front=False):
    """x with a dimension padded to a size, at the end or at the start."""
    missing = size - x.shape[dim]
    if not missing:
        return x
    more = ops['full']((*x.shape[:dim], missing, *x.shape[dim + 1:]), value, x.dtype, x.device)
    return ops['concat']([more, x] if front else [x, more], dim)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side='right'):
    """Sequences (Tᵢ, ...) padded to the longest: (T, B, ...), or (B, T, ...) if batch_first."""
    if padding_side not in ('left', 'right'):
        raise RuntimeError(f"[pad_sequence] padding_side must be 'left' or 'right', not {padding_side!r}")
    if not hasattr(sequences, '__iter__'):
        raise RuntimeError(f'[pad_sequence] sequences must be tensors in a list, not {type(sequences).__name__}')
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError('[pad_sequence] needs at least one sequence')
    longest = max(x.shape[0] for x in sequences)
    return ops['stack']([_padded(x, 0, longest, padding_value, padding_side == 'left') for x in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded batch, each cut to its length."""
    dim = 0 if batch_first else 1
    return [ops['slice'](ops['select'](padded_sequences, dim, i), 0, 0, length) for i, length in enumerate(_whole(lengths))]


def pack_sequence(sequences, enforce_sorted=True):
    """A PackedSequence of sequences (Tᵢ, ...)."""
    return pack_padded_sequence(pad_sequence(sequences), [x.shape[0] for x in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
