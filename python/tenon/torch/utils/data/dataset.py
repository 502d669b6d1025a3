"""Datasets: those of tenon.data."""
from tenon.data import (ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset,
                        random_split)

__all__ = ['ChainDataset', 'ConcatDataset', 'Dataset', 'IterableDataset', 'StackDataset', 'Subset', 'TensorDataset', 'random_split']
