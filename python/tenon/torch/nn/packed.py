"""torch.nn.utils.rnn: sequences of several lengths, packed step by step."""
from collections import namedtuple

from ... import _core
from ..._core import Tensor, ops
from .._common import check
from ..index import index_select
from ..join import split

__all__ = ['PackedSequence', 'invert_permutation', 'pack_padded_sequence', 'pack_sequence', 'pad_packed_sequence', 'pad_sequence',
           'unpack_sequence', 'unpad_sequence']

_Fields = namedtuple('PackedSequence', 'data batch_sizes sorted_indices unsorted_indices')


class PackedSequence(_Fields):
    """The rows of all sequences, step by step, longest sequence first: data (rows, ...), and how many rows each step has.

    sorted_indices puts a batch into this order, unsorted_indices back into its own; both None where it has it already.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            raise ValueError('[PackedSequence] batch_sizes is missing: pack_sequence() and pack_padded_sequence() make it')
        if batch_sizes.device.type != 'cpu':
            raise ValueError('[PackedSequence] batch_sizes must lie on the host')
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """With data on a device or of a dtype; itself where it is already."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        sorted_indices = None if self.sorted_indices is None else self.sorted_indices.to(data.device)
        return type(self)(data, self.batch_sizes, sorted_indices)

    def cpu(self):
        """On the host."""
        return self.to('cpu')

    def cuda(self, *args, **kwargs):
        """On the first CUDA device, or the one that is named."""
        return self.to(*(args or ('cuda',)), **kwargs)

    def float(self):
        """With data as float32."""
        return self.to(_core.float32)

    def double(self):
        """With data as float64."""
        return self.to(_core.float64)

    @property
    def is_cuda(self):
        """Whether data lies on a CUDA device."""
        return self.data.device.type == 'cuda'

    def pin_memory(self):
        """Itself: host memory needs no pinning here."""
        return self


def invert_permutation(permutation):
    """Where each entry of a permutation has gone; None for None."""
    if permutation is None:
        return None
    return ops['scatter'](ops['full_like'](permutation, 0), 0, permutation,
                          ops['arange'](0, permutation.size, 1, permutation.dtype, permutation.device))


def _on_host(lengths):
    if not isinstance(lengths, Tensor):
        return [int(each) for each in lengths]
    if lengths.device.type != 'cpu' or lengths.ndim != 1 or lengths.dtype.is_floating_point:
        raise RuntimeError(f'[pack_padded_sequence] lengths must be whole numbers in one row on the host, not {lengths.dtype} of shape '
                           f'{lengths.shape} on {lengths.device}')
    return lengths.tolist()


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """A PackedSequence of the sequences in input (T, B, ...), or (B, T, ...) where batch_first, of which lengths tell how long each is.

    enforce_sorted=False sorts them; otherwise lengths must fall, or stay.
    """
    lengths = _on_host(lengths)
    x = ops['transpose'](check(input), 0, 1) if batch_first else check(input)
    if len(lengths) != x.shape[1]:
        raise RuntimeError(f'[pack_padded_sequence] {len(lengths)} lengths for a batch of {x.shape[1]}')
    if not lengths or min(lengths) <= 0:
        raise RuntimeError('[pack_padded_sequence] lengths must be above 0, and one at least')
    if max(lengths) > x.shape[0]:
        raise RuntimeError(f'[pack_padded_sequence] a length of {max(lengths)} for {x.shape[0]} steps')
    sorted_indices = None
    if enforce_sorted:
        if any(a < b for a, b in zip(lengths, lengths[1:])):
            raise RuntimeError('[pack_padded_sequence] lengths must not rise: give enforce_sorted=False to have them sorted')
    else:
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        lengths = [lengths[i] for i in order]
        sorted_indices = ops['to'](_core._from_bytes(_bytes(order), 'i64', (len(order),)), x.device)
        x = index_select(x, 1, sorted_indices)
    sizes = [sum(length > t for length in lengths) for t in range(lengths[0])]
    rows = [ops['slice'](ops['select'](x, 0, t), 0, 0, size) for t, size in enumerate(sizes)]
    return PackedSequence(ops['concat'](rows, 0), _core._from_bytes(_bytes(sizes), 'i64', (len(sizes),)), sorted_indices)


def _bytes(numbers):
    return b''.join(number.to_bytes(8, 'little', signed=True) for number in numbers)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(sequences padded to one length, their lengths): (T, B, ...), or (B, T, ...) where batch_first."""
    sizes = sequence.batch_sizes.tolist()
    longest, batch = len(sizes), sizes[0]
    if total_length is not None:
        if total_length < longest:
            raise ValueError(f'[pad_packed_sequence] total_length {total_length} is below the longest sequence, {longest}')
        longest = total_length
    data = sequence.data
    steps = [_padded(rows, batch, padding_value) for rows in split(data, sizes)]
    steps += [ops['full']((batch, *data.shape[1:]), padding_value, data.dtype, data.device)] * (longest - len(sizes))
    x = ops['stack'](steps, 1 if batch_first else 0)
    lengths = _core._from_bytes(_bytes([sum(size > i for size in sizes) for i in range(batch)]), 'i64', (batch,))
    if sequence.unsorted_indices is not None:
        x = index_select(x, 0 if batch_first else 1, sequence.unsorted_indices)
        lengths = index_select(lengths, 0, sequence.unsorted_indices.to('cpu'))
    return x, lengths


def _padded(rows, count, value, front=False):
    missing = count - rows.shape[0]
    if not missing:
        return rows
    more = ops['full']((missing, *rows.shape[1:]), value, rows.dtype, rows.device)
    return ops['concat']([more, rows] if front else [rows, more], 0)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side='right'):
    """Sequences (Tᵢ, ...) padded to the longest: (T, B, ...), or (B, T, ...) where batch_first."""
    if padding_side not in ('left', 'right'):
        raise RuntimeError(f"[pad_sequence] padding_side must be 'left' or 'right', not {padding_side!r}")
    sequences = list(ops['slice'](sequences, 0)) if isinstance(sequences, Tensor) else list(sequences)
    if not sequences:
        raise RuntimeError('[pad_sequence] needs one sequence at least')
    longest = max(x.shape[0] for x in sequences)
    return ops['stack']([_padded(x, longest, padding_value, padding_side == 'left') for x in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded batch, each as long as lengths tell."""
    dim = 0 if batch_first else 1
    return [ops['slice'](ops['select'](padded_sequences, dim, i), 0, 0, length) for i, length in enumerate(_on_host(lengths))]


def pack_sequence(sequences, enforce_sorted=True):
    """A PackedSequence of sequences (Tᵢ, ...)."""
    return pack_padded_sequence(pad_sequence(sequences), [x.shape[0] for x in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
