"""Batches of a dataset, prepared ahead by worker processes, in an order that the seed determines."""
import itertools
from collections.abc import Iterator
from typing import Any

from .._core import Tensor
from .collate import default_collate
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, draw_seed, mix
from .workers import Epoch


def _check_count(name, value, least, most=None):
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f'[DataLoader] {name} must be an int, not {type(value).__name__}')
    if value < least or (most is not None and value > most):
        raise ValueError(f'[DataLoader] {name} is {value}, must be at least {least}'
                         + (f' and at most {most}' if most is not None else ''))
    return value


class _Cut:
    """The batches of an order (a range, list or Tensor), cut as they are needed."""

    def __init__(self, order, size, count):
        self.order, self.size, self.count = order, size, count

    def __len__(self):
        return self.count

    def __iter__(self):
        return (self.order[k * self.size:(k + 1) * self.size] for k in range(self.count))


class DataLoader:
    """`for batch in loader`: every loop is an epoch, with its own order if shuffled.

    Orders follow tenon.manual_seed(): each shuffled epoch takes a number from the default generator. With a `seed` they are independent
    of it: the seed and the number of the epoch (`set_epoch`) determine them.

    dataset: anything with len() and indices, or with a `batch` method (tenon.data.Dataset), or an IterableDataset. sampler: indices in
    another order; batch_sampler: lists of indices. num_workers: how many processes make batches ahead, `prefetch_factor` each (0:
    batches are made on demand); workers seed the random numbers of Python, NumPy and Tenon for each batch. collate_fn: makes a batch of
    a list of examples. timeout: seconds to wait for a worker, 0 for ever. An exception in a worker is raised here, with the worker's
    traceback as its cause.

    >>> data = tenon.data.TensorDataset(tenon.arange(5))
    >>> [x.tolist() for x, in tenon.data.DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 drop_last=False, timeout=0, worker_init_fn=None, prefetch_factor=2, seed=None):
        self._streams = isinstance(dataset, IterableDataset)
        has_length = hasattr(dataset, '__len__') or sampler is not None or batch_sampler is not None
        if not self._streams and not (has_length and (hasattr(dataset, '__getitem__') or hasattr(dataset, 'batch'))):
            raise TypeError(f'[DataLoader] a dataset needs len() and indexing, which {type(dataset).__name__} lacks')
        _check_count('batch_size', batch_size, 1)
        _check_count('num_workers', num_workers, 0, 256)
        _check_count('prefetch_factor', prefetch_factor, 1)
        if seed is not None:
            _check_count('seed', seed, 0)
        if sampler is not None and shuffle:
            raise ValueError('[DataLoader] a sampler has an order of its own: leave out shuffle')
        if batch_sampler is not None and (sampler is not None or shuffle or drop_last or batch_size != 1):
            raise ValueError('[DataLoader] a batch_sampler takes the place of batch_size, shuffle, sampler and drop_last')
        if self._streams and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError('[DataLoader] an IterableDataset has an order of its own: leave out shuffle, sampler and batch_sampler')
        if not timeout >= 0:
            raise ValueError(f'[DataLoader] timeout is {timeout}, must not be negative')
        for name, fn in (('collate_fn', collate_fn), ('worker_init_fn', worker_init_fn)):
            if fn is not None and not callable(fn):
                raise TypeError(f'[DataLoader] {name} must be callable, not {type(fn).__name__}')
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler = RandomSampler(dataset, seed) if shuffle else sampler
        self.batch_sampler, self.collate_fn = batch_sampler, collate_fn
        self.num_workers, self.prefetch_factor, self.timeout = num_workers, prefetch_factor, timeout
        self.worker_init_fn, self.seed, self._epoch = worker_init_fn, seed, 0
        own = getattr(dataset, 'batch', None)
        self._by_batch = own if own is not None and collate_fn is None else None

    def __len__(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        n = len(self.sampler) if self.sampler is not None else len(self.dataset)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def set_epoch(self, epoch):
        """Sets the number of the next epoch, to resume an interrupted run with a `seed`."""
        self._epoch = _check_count('epoch', epoch, 0)

    def _batches(self):
        """All lists of indices of the next epoch."""
        if self.batch_sampler is not None:
            return list(self.batch_sampler) if hasattr(self.batch_sampler, '__len__') else self.batch_sampler  # or it may have no end
        if isinstance(self.sampler, RandomSampler):
            self.sampler.epoch = self._epoch
            order = self.sampler.order()
            if self._by_batch is None:
                order = order.tolist()
        elif self.sampler is not None:
            if not hasattr(self.sampler, '__len__'):
                return BatchSampler(self.sampler, self.batch_size, self.drop_last)
            order = list(self.sampler)
        else:
            order = range(len(self.dataset))
        n = len(order)
        return _Cut(order, self.batch_size, n // self.batch_size if self.drop_last else -(-n // self.batch_size))

    def _stream(self) -> Iterator[Any]:
        """The batches of an iterable dataset."""
        examples = iter(self.dataset)
        while batch := list(itertools.islice(examples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield (self.collate_fn or default_collate)(batch)

    def _make(self, indices):
        if self._by_batch is not None:
            return self._by_batch(indices)
        indices = indices.tolist() if isinstance(indices, Tensor) else indices
        dataset = self.dataset
        return (self.collate_fn or default_collate)([dataset[i] for i in indices])

    def __iter__(self) -> Iterator[Any]:
        if self._streams:
            self._epoch += 1
            return self._ahead(None, self._stream) if self.num_workers else self._stream()
        batches = self._batches()
        self._epoch += 1
        if self.num_workers == 0:
            return map(self._make, batches)
        return self._ahead(batches, self._make)

    def _ahead(self, batches, make):
        seed = draw_seed() if self.seed is None else mix(self.seed, self._epoch)
        return Epoch(batches, make, self.num_workers, self.prefetch_factor, seed, self.worker_init_fn, self.timeout, self.dataset)
