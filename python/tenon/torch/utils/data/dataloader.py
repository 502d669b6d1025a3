"""The loader with PyTorch's arguments, built on the loader and workers of tenon.data."""
from collections.abc import Iterator
from typing import Any

import tenon.data as _data
from tenon._core import ops
from tenon.data import get_worker_info
from tenon.data.workers import Epoch

from .collate import default_collate, default_convert
from .dataset import Subset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ['DataLoader', 'default_collate', 'default_convert', 'get_worker_info']


class DataLoader(_data.DataLoader):
    """`for batch in loader`: every loop is an epoch.

    Batches come in order, whatever in_order says. Workers are forked for each epoch, even with persistent_workers, and see the dataset
    as it then is. pin_memory has no effect, because copies to devices never wait. batch_size=None yields single examples, with arrays
    as tensors.
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device='', in_order=True):
        if num_workers == 0 and (prefetch_factor is not None or persistent_workers):
            raise ValueError('[DataLoader] prefetch_factor and persistent_workers need num_workers > 0')
        context = multiprocessing_context
        if (context if context is None or isinstance(context, str) else context.get_start_method()) not in (None, 'fork'):
            raise ValueError("[DataLoader] multiprocessing_context must be None or 'fork': workers are forked")
        if batch_size is None and drop_last:
            raise ValueError('[DataLoader] batch_size None gives examples, not batches: leave out drop_last')
        if batch_sampler is not None and batch_size is None:
            raise ValueError('[DataLoader] a batch_sampler takes the place of batch_size: leave it out')
        super().__init__(dataset, 1 if batch_size is None else batch_size, bool(shuffle), sampler, batch_sampler, num_workers, collate_fn,
                         drop_last, timeout, worker_init_fn, 2 if prefetch_factor is None else prefetch_factor)
        self._auto_collation = batch_size is not None
        self.batch_size = None if batch_sampler is not None else batch_size
        self._choose_samplers(bool(shuffle), sampler, batch_sampler, generator)
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        # A batch from tenon's own datasets equals the collated examples; derived classes may have changed the examples.
        rows = dataset.dataset if type(dataset) is Subset else dataset
        self._by_batch = dataset.batch if collate_fn is None and self._auto_collation and type(rows) is TensorDataset else None
        self.prefetch_factor = self.prefetch_factor if num_workers else None
        self.generator, self.persistent_workers = generator, persistent_workers
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.multiprocessing_context = multiprocessing_context

    def _choose_samplers(self, shuffle, sampler, batch_sampler, generator):
        if self._streams:
            self.sampler, self.batch_sampler = None, None
            return
        self.sampler = sampler
        if sampler is None:
            self.sampler = RandomSampler(self.dataset, generator=generator) if shuffle else SequentialSampler(self.dataset)
        self.batch_sampler = batch_sampler
        if batch_sampler is None and self._auto_collation:
            self.batch_sampler = BatchSampler(self.sampler, self.batch_size, self.drop_last)

    def set_epoch(self, epoch):
        raise AttributeError('[DataLoader] the order is the sampler\'s: loader.sampler.set_epoch(epoch), of a DistributedSampler')

    def _order(self) -> Any:
        """The source of indices, or of lists of them."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self):
        if not self._streams:
            return len(self._order())
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def _make(self, indices):
        if self._by_batch is not None:
            return list(self._by_batch(indices))
        dataset = self.dataset
        if not self._auto_collation:
            return self.collate_fn(dataset[indices])
        many = getattr(dataset, '__getitems__', None)
        return self.collate_fn(many(indices) if many is not None else [dataset[i] for i in indices])

    def _stream(self) -> Iterator[Any]:
        return super()._stream() if self._auto_collation else map(self.collate_fn, self.dataset)

    def __iter__(self) -> Iterator[Any]:
        seed = int(ops['randint']((), 0, 2**63 - 1, None, None, self.generator))  # even without workers, so that orders do not depend on
                                                                                  # their number
        if self.num_workers == 0:
            return iter(self._stream()) if self._streams else _Batches(map(self._make, self._order()), self)
        batches, make = (None, self._stream) if self._streams else (self._order(), self._make)
        return Epoch(batches, make, self.num_workers, self.prefetch_factor, seed, self.worker_init_fn, self.timeout, self.dataset)


class _Batches:
    """The batches of one epoch, which tell how many the loader has."""

    def __init__(self, batches, loader):
        self._batches, self._loader = batches, loader

    def __iter__(self):
        return self._batches

    def __next__(self):
        return next(self._batches)

    def __len__(self):
        return len(self._loader)
