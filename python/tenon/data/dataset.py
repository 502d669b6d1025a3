"""Datasets of numbered examples, such as (image, label)."""
import bisect
import itertools
import types

import tenon
from .._core import Tensor, ops

_index_select = ops['index_select']


class Dataset:
    """Derive and write `__len__` and `__getitem__`.

    Also write `batch(indices)` if many examples are cheaper to fetch at once: it gets a list, a range or an int64 Tensor, and returns
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
    __class_getitem__ = classmethod(types.GenericAlias)  # Dataset[Tensor] in annotations

    def __getitem__(self, index):
        raise NotImplementedError(f'[{type(self).__name__}] has no examples: define __getitem__')

    def __add__(self, other) -> 'Dataset':
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Examples that come one after another: derive and write `__iter__`.

    Each worker of a loader iterates over its own copy: let `__iter__` divide the work by get_worker_info(), otherwise every example
    comes once from each worker.

    >>> class Countdown(tenon.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> [batch.tolist() for batch in tenon.data.DataLoader(Countdown(), batch_size=2)]
    [[3, 2], [1]]
    """

    def __iter__(self):
        raise NotImplementedError(f'[{type(self).__name__}] has no examples: define __iter__')

    def __getitem__(self, index):
        raise TypeError(f'[{type(self).__name__}] examples come in order: iterate over it')

    def __add__(self, other) -> 'Dataset':
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """Several iterable datasets one after another."""

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(f'[ChainDataset] wants IterableDatasets, not {type(dataset).__name__}: see ConcatDataset')
            yield from dataset

    def __len__(self):
        return sum(map(len, self.datasets))


def check_index(index, size):
    """An index counted from 0, or an IndexError."""
    if not -size <= index < size:
        raise IndexError(f'[dataset] example {index} of {size}')
    return index + size if index < 0 else index


class _UnequalRows(ValueError, AssertionError):
    """Tensors of one dataset with different numbers of rows; PyTorch asserts that they are equal."""


class TensorDataset(Dataset):
    """The rows of tensors that all have the same number of rows.

    >>> pairs = tenon.data.TensorDataset(tenon.arange(6).reshape((3, 2)), tenon.tensor([7, 8, 9]))
    >>> [x.tolist() for x in pairs[1]]
    [[2, 3], 8]
    """

    def __init__(self, *tensors):
        if not tensors:
            raise ValueError('[TensorDataset] needs at least one tensor')
        for x in tensors:
            if not isinstance(x, Tensor):
                raise TypeError(f'[TensorDataset] wants Tensors, not {type(x).__name__}: use tenon.asarray(...)')
            if x.ndim == 0 or x.shape[0] != tensors[0].shape[0]:
                raise _UnequalRows('[TensorDataset] tensors with different numbers of rows: '
                                   + ', '.join(str(x.shape) for x in tensors))
        self.tensors = tuple(x.detach() for x in tensors)

    def __len__(self):
        return self.tensors[0].shape[0]

    def __getitem__(self, index):
        if isinstance(index, int):
            index = check_index(index, len(self))
        return tuple(x[index] for x in self.tensors)  # a slice or a mask selects rows

    def batch(self, indices):
        """The rows of `indices` as one tensor per field."""
        if isinstance(indices, range) and indices.step == 1 and indices.start >= 0 and indices.stop <= len(self):
            return tuple(ops['clone'](x[indices.start:indices.stop]) for x in self.tensors)
        if not isinstance(indices, Tensor):
            indices = tenon.tensor([check_index(i, len(self)) for i in indices], dtype=tenon.int64)
        return tuple(_index_select(x, 0, indices.to(x.device)) for x in self.tensors)


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
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise TypeError(f'[ConcatDataset] {type(dataset).__name__} has no indices: see ChainDataset')
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        index = check_index(index, len(self))
        part = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[part][index - (self.cumulative_sizes[part - 1] if part else 0)]


class StackDataset(Dataset):
    """Datasets of one length side by side: an example is a tuple of theirs, or a dict if the datasets are given by name.

    >>> tenon.data.StackDataset(x=range(3), y='abc')[1]
    {'x': 1, 'y': 'b'}
    """

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError('[StackDataset] wants datasets, either all by position or all by name')
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in self._parts()]
        if len(set(lengths)) > 1:
            raise ValueError(f'[StackDataset] datasets of {lengths} examples')

    def _parts(self):
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def __len__(self):
        return len(next(iter(self._parts())))

    def __getitem__(self, index):
        found = [dataset[index] for dataset in self._parts()]
        return dict(zip(self.datasets, found)) if isinstance(self.datasets, dict) else tuple(found)


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
        for i in range(total - sum(lengths)):  # the rest from rounding, one each
            lengths[i % len(lengths)] += 1
    if sum(lengths) != total or any(n < 0 for n in lengths):
        raise ValueError(f'[random_split] lengths {lengths} do not sum to the {total} examples')
    order = ops['randperm'](total, generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - n:end]) for end, n in zip(ends, lengths)]
