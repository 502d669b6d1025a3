"""torch.nn.utils.rnn: sequences of several lengths, packed and padded."""
from ..packed import *
