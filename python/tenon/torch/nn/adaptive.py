"""AdaptiveLogSoftmaxWithLoss."""
from collections import namedtuple

import tenon

from ..._core import ops
from ...nn import Module
from ...nn.container import ModuleList, Sequential
from . import functional as F
from .modules import Linear

__all__ = ['AdaptiveLogSoftmaxWithLoss']

_Result = namedtuple('ASMoutput', 'output loss')


def _pick(x, column):
    """One element of each row."""
    return ops['squeeze'](ops['gather'](x, 1, ops['unsqueeze'](column, 1)), 1)


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax over many classes, sorted by frequency: rare ones in clusters of smaller width (Grave et al. 2017).

    cutoffs: where clusters begin; div_value: how much narrower each is than the one before. Gives (log-probability of each target, the mean
    loss).
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError('[AdaptiveLogSoftmaxWithLoss] cutoffs must have one entry at least')
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] >= n_classes or any(int(c) != c for c in cutoffs):
            raise ValueError(f'[AdaptiveLogSoftmaxWithLoss] cutoffs are {cutoffs}, must be whole, rising, and from 1 to {n_classes - 1}')
        self.in_features, self.n_classes, self.cutoffs, self.div_value = in_features, n_classes, [*cutoffs, n_classes], div_value
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {'device': device, 'dtype': dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, width, bias=False, **place),
                                        Linear(width, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, **place)))

    def forward(self, input_, target_):
        single = not target_.ndim
        x, target = (ops['unsqueeze'](input_, 0), ops['unsqueeze'](target_, 0)) if single else (input_, target_)
        if x.ndim != 2 or target.shape != x.shape[:1]:
            raise RuntimeError(f'[AdaptiveLogSoftmaxWithLoss] input and target of shapes {input_.shape} and {target_.shape}, must be '
                               f'(N, {self.in_features}) and (N)')
        if target.size and not 0 <= ops['min'](target).item() <= ops['max'](target).item() < self.n_classes:
            raise RuntimeError(f'[AdaptiveLogSoftmaxWithLoss] a target lies outside of 0 to {self.n_classes - 1}')
        output = self._of_targets(x, ops['cast'](target, tenon.int64))
        return _Result(ops['squeeze'](output, 0) if single else output, -ops['mean'](output))

    def _of_targets(self, x, target):
        """The log-probability of each target; a cluster computes only the rows whose targets it has."""
        place, clusters = target, []
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            inside = (target >= low) & (target < high)
            place = ops['where'](inside, self.shortlist_size + i, place)
            rows = ops['squeeze'](ops['nonzero'](inside), 1)
            if rows.size:
                own = ops['index_select'](target, 0, rows) - low
                clusters.append((rows, _pick(F.log_softmax(self.tail[i](ops['index_select'](x, 0, rows)), 1), own)))
        found = _pick(F.log_softmax(self.head(x), 1), place)
        for rows, more in clusters:
            found = ops['index_add'](found, 0, rows, more)
        return found

    def log_prob(self, input):
        """The logarithms of all probabilities, (N, n_classes)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [ops['slice'](head, 1, 0, self.shortlist_size)]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), 1) + ops['slice'](head, 1, self.shortlist_size + i, self.shortlist_size + i + 1))
        return ops['concat'](parts, 1)

    def predict(self, input):
        """The class of the highest probability, (N)."""
        return ops['argmax'](self.log_prob(input), 1)
