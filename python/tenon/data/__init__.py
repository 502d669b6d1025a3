"""Datasets, and the loader that makes batches of them."""
from .collate import default_collate
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .idx import FashionMNIST, read_idx
from .loader import DataLoader
from .sampler import BatchSampler, RandomSampler, SequentialSampler, WeightedRandomSampler
from .workers import get_worker_info

__all__ = ['BatchSampler', 'ChainDataset', 'ConcatDataset', 'DataLoader', 'Dataset', 'FashionMNIST', 'IterableDataset',
           'RandomSampler', 'SequentialSampler', 'StackDataset', 'Subset', 'TensorDataset', 'WeightedRandomSampler',
           'default_collate', 'get_worker_info', 'random_split', 'read_idx']
