"""torch.utils.data: datasets, samplers and the loader, built on tenon.data."""
from ..._common import absent
from .dataloader import DataLoader, default_collate, default_convert, get_worker_info
from .dataset import (ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split)
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = ['BatchSampler', 'ChainDataset', 'ConcatDataset', 'DataLoader', 'Dataset', 'DistributedSampler', 'IterableDataset',
           'RandomSampler', 'Sampler', 'SequentialSampler', 'StackDataset', 'Subset', 'SubsetRandomSampler', 'TensorDataset',
           'WeightedRandomSampler', 'default_collate', 'default_convert', 'get_worker_info', 'random_split']

# Names that are not offered, and what to use instead.
_PIPES = 'write an IterableDataset, or a generator'
_INSTEAD = dict.fromkeys('''DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation datapipes functional_datapipe graph
    graph_settings guaranteed_datapipes_determinism non_deterministic runtime_validation runtime_validation_disabled'''.split(), _PIPES)

__getattr__ = absent(__name__, _INSTEAD)
