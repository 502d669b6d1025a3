"""torch.nn.utils.rnn: sequences of different lengths, packed and padded."""
from ..packed import (PackedSequence, invert_permutation, pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence,
                      unpack_sequence, unpad_sequence)

__all__ = ['PackedSequence', 'invert_permutation', 'pack_padded_sequence', 'pack_sequence', 'pad_packed_sequence', 'pad_sequence',
           'unpack_sequence', 'unpad_sequence']
