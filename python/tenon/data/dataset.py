"""Datasets: numbered examples, such as (image, label)."""
import bisect
import itertools

import tenon
from .._core import Tensor, ops

_index_select = ops['index_select']


class Dataset:
    """Derive and write `__len__` and `__getitem__`.

    Write `batch(indices)` too where many examples come cheaper at once: it gets a list, a range or an int64 Tensor, and returns
    the finished batch.

    >>> class Squares(tenon.data.Dataset):
    ...     def __len__(self):
    ...         return 10
    ...     def __getitem__(self, index):
    ...         return tenon.tensor(float(index)), index * index
    >>> next(iter(tenon.data.DataLoader(Squares(), batch_size=3)))[1].tolist()
    [0, 1, 4]
    """

    batch = None

    def __len__(self):
        raise NotImplementedError(f'[{type(self).__name__}] has no length: define __len__')

    def __getitem__(self, index):
        raise NotImplementedError(f'[{type(self).__name__}] has no examples: define __getitem__')


def check_index(index, size):
    """An index as one from 0 on, or an IndexError."""
    if not -size <= index < size:
        raise IndexError(f'[dataset] example {index} of {size}')
    return index + size if index < 0 else index


class TensorDataset(Dataset):
    """Rows of tensors that have the same number of them.

    >>> pairs = tenon.data.TensorDataset(tenon.arange(6).reshape((3, 2)), tenon.tensor([7, 8, 9]))
    >>> [x.tolist() for x in pairs[1]]
    [[2, 3], 8]
    """

    def __init__(self, *tensors):
        if not tensors:
            raise ValueError('[TensorDataset] no tensors')
        for x in tensors:
            if not isinstance(x, Tensor):
                raise TypeError(f'[TensorDataset] wants Tensors, not {type(x).__name__}: use tenon.asarray(...)')
            if x.ndim == 0 or x.shape[0] != tensors[0].shape[0]:
                raise ValueError('[TensorDataset] tensors with different numbers of rows: '
                                 + ', '.join(str(x.shape) for x in tensors))
        self.tensors = tuple(x.detach() for x in tensors)

    def __len__(self):
        return self.tensors[0].shape[0]

    def __getitem__(self, index):
        index = check_index(index, len(self))
        return tuple(x[index] for x in self.tensors)

    def batch(self, indices):
        """The rows of `indices` as one tensor per field."""
        if isinstance(indices, range) and indices.step == 1 and indices.start >= 0 and indices.stop <= len(self):
            return tuple(ops['clone'](x[indices.start:indices.stop]) for x in self.tensors)
        if not isinstance(indices, Tensor):
            indices = tenon.tensor([check_index(i, len(self)) for i in indices], dtype=tenon.int64)
        return tuple(_index_select(x, 0, indices) for x in self.tensors)


class Subset(Dataset):
    """Some examples of another dataset."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices.tolist() if isinstance(indices, Tensor) else list(indices)
        for index in self.indices:
            check_index(index, len(dataset))
        if getattr(dataset, 'batch', None) is not None:
            self.batch = self._batch

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, index):
        return self.dataset[self.indices[check_index(index, len(self))]]

    def _batch(self, indices):
        indices = indices.tolist() if isinstance(indices, Tensor) else indices
        return self.dataset.batch([self.indices[check_index(i, len(self))] for i in indices])


class ConcatDataset(Dataset):
    """Several datasets one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError('[ConcatDataset] no datasets')
        self._ends = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self):
        return self._ends[-1]

    def __getitem__(self, index):
        index = check_index(index, len(self))
        part = bisect.bisect_right(self._ends, index)
        return self.datasets[part][index - (self._ends[part - 1] if part else 0)]


def random_split(dataset, lengths, generator=None):
    """Subsets that share no example, drawn at random; lengths are numbers of examples, or fractions that sum to 1.

    >>> parts = tenon.data.random_split(range(10), [0.8, 0.2], tenon.Generator(1))
    >>> [len(part) for part in parts]
    [8, 2]
    """
    total, lengths = len(dataset), list(lengths)
    if any(isinstance(n, float) for n in lengths):
        if abs(sum(lengths) - 1) > 1e-6 or any(n < 0 for n in lengths):
            raise ValueError(f'[random_split] fractions {lengths} do not sum to 1')
        lengths = [int(total * n) for n in lengths]
        for i in range(total - sum(lengths)):  # what rounding left, one each
            lengths[i % len(lengths)] += 1
    if sum(lengths) != total or any(n < 0 for n in lengths):
        raise ValueError(f'[random_split] lengths {lengths} do not sum to the {total} examples')
    order = ops['randperm'](total, generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - n:end]) for end, n in zip(ends, lengths)]
