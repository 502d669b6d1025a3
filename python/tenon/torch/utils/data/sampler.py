"""Samplers with PyTorch's arguments; a generator, or torch.manual_seed(), determines what is drawn."""
import itertools
import types

from tenon import _core
from tenon._core import ops
from tenon.torch.create import as_tensor
from tenon.torch.random import multinomial

__all__ = ['BatchSampler', 'RandomSampler', 'Sampler', 'SequentialSampler', 'SubsetRandomSampler', 'WeightedRandomSampler']


def _check_count(where, name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f'[{where}] {name} must be a positive int, not {value!r}')
    return value


def _check_flag(where, name, value, error: type[Exception] = ValueError):
    if not isinstance(value, bool):
        raise error(f'[{where}] {name} must be True or False, not {value!r}')
    return value


class Sampler:
    """The order of examples: derive and write `__iter__`, which yields indices or lists of them."""

    __class_getitem__ = classmethod(types.GenericAlias)  # Sampler[int] in annotations

    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError(f'[{type(self).__name__}] gives no indices: define __iter__')


class SequentialSampler(Sampler):
    """0, 1, 2, …"""

    def __init__(self, data_source):
        self.data_source = data_source

    def __len__(self):
        return len(self.data_source)

    def __iter__(self):
        return iter(range(len(self.data_source)))


class RandomSampler(Sampler):
    """Every example once in random order, or num_samples of them; with replacement each draw is from all."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.generator, self._num_samples = data_source, generator, num_samples
        self.replacement = _check_flag('RandomSampler', 'replacement', replacement, TypeError)
        _check_count('RandomSampler', 'num_samples', self.num_samples)

    @property
    def num_samples(self):
        """How many indices one pass yields."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        n, left = len(self.data_source), self.num_samples
        if self.replacement:
            yield from ops['randint']((left,), 0, n, _core.int64, None, self.generator).tolist()
            return
        if left and not n:
            raise ValueError(f'[RandomSampler] num_samples is {left}, but there are no examples')
        while left > 0:
            order = ops['randperm'](n, generator=self.generator).tolist()
            yield from order[:left]
            left -= n


class SubsetRandomSampler(Sampler):
    """Some indices, each once, in random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __len__(self):
        return len(self.indices)

    def __iter__(self):
        for i in ops['randperm'](len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]


class WeightedRandomSampler(Sampler):
    """num_samples indices drawn with probabilities proportional to their weights (n,)."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        self.num_samples = _check_count('WeightedRandomSampler', 'num_samples', num_samples)
        self.replacement = _check_flag('WeightedRandomSampler', 'replacement', replacement)
        self.weights, self.generator = as_tensor(weights, dtype=_core.float64), generator
        if self.weights.ndim != 1:
            raise ValueError(f'[WeightedRandomSampler] weights must be one row, not of shape {self.weights.shape}')

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()


class BatchSampler(Sampler):
    """Lists of batch_size indices of a sampler; drop_last leaves out a shorter last one."""

    def __init__(self, sampler, batch_size, drop_last):
        self.sampler = sampler
        self.batch_size = _check_count('BatchSampler', 'batch_size', batch_size)
        self.drop_last = _check_flag('BatchSampler', 'drop_last', drop_last)

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch
