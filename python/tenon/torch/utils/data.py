"""torch.utils.data: tenon.data with PyTorch's arguments of a loader."""
import tenon.data as _data
from tenon._core import ops
from tenon.data import (BatchSampler, ConcatDataset, Dataset, RandomSampler, SequentialSampler, Subset, TensorDataset,
                        WeightedRandomSampler, default_collate, get_worker_info, random_split)

__all__ = ['BatchSampler', 'ConcatDataset', 'DataLoader', 'Dataset', 'RandomSampler', 'SequentialSampler', 'Subset', 'TensorDataset',
           'WeightedRandomSampler', 'default_collate', 'get_worker_info', 'random_split']


class DataLoader(_data.DataLoader):
    """tenon.data.DataLoader with the order of PyTorch's arguments; pin_memory and persistent_workers change nothing."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device='', in_order=True):
        if multiprocessing_context is not None:
            raise ValueError('[DataLoader] multiprocessing_context must be None: workers are forked')
        seed = None if generator is None else int(ops['randint']((), 0, 2**31, None, None, generator))
        super().__init__(dataset, batch_size, bool(shuffle), sampler, batch_sampler, num_workers, collate_fn, drop_last, timeout,
                         worker_init_fn, 2 if prefetch_factor is None else prefetch_factor, seed)
