"""The loader with PyTorch's arguments, built on the loader and workers of tenon.data."""
import copy
import multiprocessing
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


_FIXED = frozenset('batch_size batch_sampler sampler drop_last dataset persistent_workers'.split())


def _checked(context, num_workers):
    """The context of multiprocessing that starts the workers; None where they are forked."""
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError('[DataLoader] multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0')
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(f'[DataLoader] multiprocessing_context option should specify a valid start method in {methods}, but got '
                             f'multiprocessing_context={context!r}')
        context = multiprocessing.get_context(context)
    if not hasattr(context, 'get_start_method'):
        raise TypeError('[DataLoader] multiprocessing_context option should be a valid context object or a string specifying the start method, but got '
                        f'multiprocessing_context={context}')
    return context


def _raise(error, text, number):
    """Raises an exception of the kind that a worker raised, with the worker's traceback as its text."""
    kind, message = type(error), f'Caught {type(error).__name__} in DataLoader worker process {number}.\nOriginal {text}'
    try:
        made = kind(_Text(message) if kind is KeyError else message)
    except Exception:  # of a kind that takes other arguments
        made = RuntimeError(message)
    raise made from None


class _Text(str):
    """The text of a KeyError, which shows the representation of its argument."""

    def __repr__(self):
        return str(self)


class DataLoader(_data.DataLoader):
    """`for batch in loader`: every loop is an epoch.

    Batches come in order, whatever in_order says. Workers are forked for each epoch and see the dataset as it then is; those of
    persistent_workers stay for all epochs, and those of another multiprocessing_context get a copy of the dataset. pin_memory has no
    effect, because copies to devices never wait. batch_size=None yields single examples, with arrays as tensors.
    """

    _epochs: Any = None  # that of persistent workers

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device='', in_order=True):
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError('[DataLoader] prefetch_factor option could only be specified in multiprocessing: set num_workers > 0, or prefetch_factor '
                             'to None')
        if num_workers == 0 and persistent_workers:
            raise ValueError('[DataLoader] persistent_workers option needs num_workers > 0')
        context = _checked(multiprocessing_context, num_workers)
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
        self.multiprocessing_context = context
        self._is_made = True

    def __setattr__(self, name, value):
        if name in _FIXED and self.__dict__.get('_is_made'):
            raise ValueError(f'{name} attribute should not be set after {type(self).__name__} is initialized')
        super().__setattr__(name, value)

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
        batches = None if self._streams else self._order()
        if self._epochs is not None and self._epochs.again(batches, seed):
            return self._epochs
        epoch = Epoch(batches, self._maker(), self.num_workers, self.prefetch_factor, seed, self.worker_init_fn, self.timeout, self.dataset,
                      self._starter(), self.persistent_workers, _raise, reseeds=False)
        if self.persistent_workers:
            self._epochs = epoch
        return epoch

    def _starter(self):
        context = self.multiprocessing_context
        return None if context is None or context.get_start_method() == 'fork' else context

    def _maker(self):
        """The function that makes batches in workers. One that is pickled leaves out what only this process needs."""
        lean = self
        if self._starter() is not None:
            lean = copy.copy(self)
            lean.__dict__.update(dict.fromkeys(('sampler', 'batch_sampler', 'generator', 'multiprocessing_context', 'worker_init_fn', '_epochs')))
        return lean._stream if self._streams else lean._make


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


# The names of PyTorch's iterators, of which packages ask what a loop runs over.
_BaseDataLoaderIter, _SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter = (_Batches, Epoch), _Batches, Epoch
