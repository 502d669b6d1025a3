"""Rows of a table by index."""
from typing import Any

import tenon

from ...._errors import InvalidArgumentError
from ....nn.module import Module, Parameter
from ..._common import defaults
from .. import functional as F
from .. import init


class _Table(Module):
    """What Embedding and EmbeddingBag have: weight (num_embeddings, embedding_dim)."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: Any

    def _start(self, weight, freeze, device, dtype):
        name, shape = type(self).__name__, (self.num_embeddings, self.embedding_dim)
        if self.padding_idx is not None:
            if not -shape[0] <= self.padding_idx < shape[0]:
                raise InvalidArgumentError(f'[{name}] padding_idx {self.padding_idx} is outside the {shape[0]} rows')
            self.padding_idx %= max(shape[0], 1)
        if weight is not None:
            if tuple(weight.shape) != shape:
                raise InvalidArgumentError(f'[{name}] _weight has shape {weight.shape}, must be {shape}')
            self.weight = Parameter(weight, not freeze)
        else:
            dtype, device = defaults.settle(dtype, device)
            self.weight = Parameter(tenon.empty(shape, dtype=dtype, device=device), not freeze)
            self.reset_parameters()

    def reset_parameters(self):
        """Draws the rows anew; row padding_idx is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with tenon.no_grad():
                self.weight[self.padding_idx] = 0

    def _options(self, words):
        """The options that differ from the defaults."""
        usual = {'padding_idx': None, 'max_norm': None, 'norm_type': 2, 'scale_grad_by_freq': False, 'sparse': False, 'mode': ''}
        return ''.join(f', {word}={getattr(self, word)!r}' for word in words.split() if getattr(self, word) != usual[word])


def _given(cls, embeddings, freeze, **options):
    """A layer with given rows, which are not trained if `freeze`."""
    if embeddings.ndim != 2:
        raise InvalidArgumentError(f'[{cls.__name__}] embeddings have rank {embeddings.ndim}, must be 2')
    rows, width = embeddings.shape
    made = cls(rows, width, _weight=embeddings, **options)
    made.weight.requires_grad_(not freeze)
    return made


class Embedding(_Table):
    """Rows of a weight (num_embeddings, embedding_dim) by an index (…): (…, embedding_dim).

    sparse: the gradient is a sparse tensor of the rows that were read, for optim.SGD, Adagrad and SparseAdam.
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        self._start(_weight, _freeze, device, dtype)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                        sparse=False):
        """A layer with given rows, which are not trained unless freeze=False."""
        return _given(cls, embeddings, freeze, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
                      scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self):
        return f'{self.num_embeddings}, {self.embedding_dim}' + self._options('padding_idx max_norm norm_type scale_grad_by_freq sparse')


class EmbeddingBag(_Table):
    """Sums, means or maxima over bags of rows of a weight: one bag for each row of input (bags, n), or a vector cut at offsets."""

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        self.mode, self.include_last_offset = mode, include_last_offset
        self._start(_weight, False, device, dtype)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', sparse=False,
                        include_last_offset=False, padding_idx=None):
        """A layer with given rows, which are not trained unless freeze=False."""
        return _given(cls, embeddings, freeze, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq,
                      mode=mode, sparse=sparse, include_last_offset=include_last_offset, padding_idx=padding_idx)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
                               per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        return f'{self.num_embeddings}, {self.embedding_dim}' + self._options('max_norm norm_type scale_grad_by_freq mode padding_idx')
