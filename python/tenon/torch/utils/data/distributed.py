"""The share of one process among several."""
from tenon import _core
from tenon._core import ops

from .sampler import Sampler

__all__ = ['DistributedSampler']


class DistributedSampler(Sampler):
    """Every num_replicas-th index from rank on; seed and set_epoch() determine the order, the same in every process.

    Each process gets equally many: the first indices are repeated, or with drop_last the last ones are left out. num_replicas and rank
    must be given, because processes are not connected here.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise RuntimeError('[DistributedSampler] give num_replicas and rank: one process trains here, and knows of no others')
        if not 0 <= rank < num_replicas:
            raise ValueError(f'[DistributedSampler] rank {rank} of {num_replicas}')
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        self.num_samples = len(dataset) // num_replicas if drop_last else -(-len(dataset) // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        n = len(self.dataset)
        order = range(n)
        if self.shuffle:
            order = ops['randperm'](n, generator=_core.Generator(self.seed + self.epoch)).tolist()
        return iter([order[i % n] for i in range(self.rank, self.total_size, self.num_replicas)])

    def set_epoch(self, epoch):
        """Another order for another epoch."""
        self.epoch = epoch
