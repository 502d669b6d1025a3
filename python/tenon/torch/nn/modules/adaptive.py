"""Softmax over many classes grouped by frequency, and cross-entropy of a linear layer."""
import math
from collections import namedtuple

from ...._core import ops
from ...._errors import InvalidArgumentError
from ....nn.module import Module
from ..._common import cast, full
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .loss import _WeightedLoss

_ASMoutput = namedtuple('_ASMoutput', ['output', 'loss'])


class AdaptiveLogSoftmaxWithLoss(Module):
    """An approximate softmax for many classes of which few are frequent (Grave et al. 2017).

    Classes are sorted by frequency and cut at `cutoffs`: the first are in the head, each further part is a cluster, whose layer has 1 /
    div_value of the width of the one before. Takes input (N, in_features) and labels (N,), or (in_features,) and (); returns (output,
    loss).
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        rising = cutoffs and cutoffs == sorted(set(cutoffs)) and all(int(each) == each for each in cutoffs)
        if not rising or cutoffs[0] < 1 or cutoffs[-1] >= n_classes:
            raise InvalidArgumentError(f'[{type(self).__name__}] cutoffs {cutoffs} must be rising whole numbers from 1 to {n_classes - 1}')
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        placed = {'device': device, 'dtype': dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **placed)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, width, bias=False, **placed), Linear(width, size, bias=False, **placed)))

    def reset_parameters(self):
        """Draws all weights anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input, target_):
        if target_.ndim > 1 or input.ndim != target_.ndim + 1 or input.shape[:-1] != target_.shape:
            raise RuntimeError(f'[{type(self).__name__}] input {input.shape} and target {target_.shape} must be (N, in_features) and (N,), '
                               'or (in_features,) and ()')
        single = not target_.ndim
        x, labels = (ops['unsqueeze'](each, 0) for each in (input, target_)) if single else (input, target_)
        if labels.size and not (int(ops['min'](labels)) >= 0 and int(ops['max'](labels)) < self.n_classes):
            raise RuntimeError(f'[{type(self).__name__}] labels must be 0 to {self.n_classes - 1}')
        output = self._of_labels(x, labels)
        loss = -ops['mean'](output)
        return _ASMoutput(ops['squeeze'](output, 0) if single else output, loss)

    def _of_labels(self, x, labels):
        """Log-probabilities (N,) of labels: the head's, plus for rows in a cluster those within it."""
        place, rows, parts = labels, [], []
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i:i + 2]
            inside = (labels >= low) & (labels < high)
            place = ops['where'](inside, full((), self.shortlist_size + i, labels), place)
            at = ops['select'](ops['nonzero'](inside), 1, 0)
            if at.size:
                within = F.log_softmax(cluster(ops['index_select'](x, 0, at)), 1)
                own = ops['unsqueeze'](ops['index_select'](labels, 0, at) - low, 1)
                rows.append(at)
                parts.append(ops['squeeze'](ops['gather'](within, 1, cast(own, at.dtype)), 1))
        head = F.log_softmax(self.head(x), 1)
        found = ops['squeeze'](ops['gather'](head, 1, ops['unsqueeze'](place, 1)), 1)
        for at, part in zip(rows, parts):
            found = ops['index_add'](found, 0, at, part)
        return found

    def _whole(self, x, head):
        """Log-probabilities (N, n_classes) from those of the head."""
        short = self.shortlist_size
        parts = [ops['slice'](head, 1, 0, short)]
        parts += [F.log_softmax(cluster(x), 1) + ops['slice'](head, 1, short + i, short + i + 1) for i, cluster in enumerate(self.tail)]
        return ops['concat'](parts, 1)

    def log_prob(self, input):
        """Log-probabilities (N, n_classes)."""
        return self._whole(input, F.log_softmax(self.head(input), 1))

    def predict(self, input):
        """The most probable class of each row (N,)."""
        return ops['argmax'](self.log_prob(input), 1)


class LinearCrossEntropyLoss(_WeightedLoss):
    """cross_entropy() of a linear layer that belongs to the loss. See nn.functional.linear_cross_entropy."""

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None, reduction='mean', weight=None,
                 ignore_index=None, label_smoothing=0.0, options=None):
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f'[LinearCrossEntropyLoss] weight has shape {weight.shape}, must be {(num_classes,)}')
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f'[LinearCrossEntropyLoss] label_smoothing {label_smoothing} must be 0 to 1')
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features, self.ignore_index = num_classes, out_features, ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        shape, linear = (self.num_classes, *self.out_features), self.linear
        weight = ops['reshape'](linear.weight, (*shape, linear.in_features))
        bias = None if linear.bias is None else ops['reshape'](linear.bias, shape)
        return F.linear_cross_entropy(input, weight, target, linear_bias=bias, weight=self.weight, reduction=self.reduction,
                                      ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self):
        linear = self.linear
        return (f'in_features={linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, '
                f'bias={linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, '
                f'label_smoothing={self.label_smoothing}, options={self.options}')


class LinearCrossEntropyOptions:
    """Options that trade memory for speed; they are kept but change no result here."""

    def __init__(self, allow_retain_graph=False, batch_chunk_size=None, chunking_method='auto', acc_policy='auto', acc_dtype=None):
        self.allow_retain_graph, self.batch_chunk_size, self.chunking_method = allow_retain_graph, batch_chunk_size, chunking_method
        self.acc_policy, self.acc_dtype = acc_policy, acc_dtype

    def __repr__(self):
        return f'LinearCrossEntropyOptions({", ".join(f"{name}={value!r}" for name, value in vars(self).items())})'

    def __eq__(self, other):
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self):
        return hash(tuple(vars(self).values()))
