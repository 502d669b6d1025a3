"""Datasets, samplers, collate functions and workers, and sequences packed and padded."""
import torch
import numpy as np
from torch.nn.utils.rnn import pad_sequence, pack_sequence, pad_packed_sequence, unpad_sequence
from torch.utils.data import (BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, SequentialSampler, StackDataset,
                              TensorDataset, ChainDataset, WeightedRandomSampler, default_collate, get_worker_info)
from typing import Iterator, List, NamedTuple


class Point(NamedTuple):
    xy: torch.Tensor
    label: int


class Sentences(Dataset):
    def __init__(self):
        rng = np.random.default_rng(3)
        self.items = [torch.from_numpy(rng.integers(1, 50, int(n))) for n in rng.integers(2, 9, 17)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return {'tokens': self.items[i], 'length': len(self.items[i]), 'name': f's{i}'}


class BucketSampler(Sampler[List[int]]):
    def __init__(self, lengths, batch_size):
        self.lengths, self.batch_size = lengths, batch_size

    def __iter__(self) -> Iterator[List[int]]:
        order = np.argsort(self.lengths, kind='stable').tolist()
        for i in range(0, len(order), self.batch_size):
            yield order[i:i + self.batch_size]

    def __len__(self):
        return (len(self.lengths) + self.batch_size - 1) // self.batch_size


def collate(batch):
    tokens = pad_sequence([b['tokens'] for b in batch], batch_first=True, padding_value=0)
    lengths = torch.LongTensor([b['length'] for b in batch])
    mask = torch.arange(tokens.size(1))[None, :] < lengths[:, None]
    return tokens, lengths, mask, [b['name'] for b in batch]


class Stream(IterableDataset):
    def __init__(self, start, end):
        super().__init__()
        self.start, self.end = start, end

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            lo, hi = self.start, self.end
        else:
            per = -(-(self.end - self.start) // info.num_workers)
            lo = self.start + info.id * per
            hi = min(lo + per, self.end)
        return iter(range(lo, hi))


ds = Sentences()
loader = DataLoader(ds, batch_sampler=BucketSampler([len(x) for x in ds.items], 4), collate_fn=collate)
print(len(loader), loader.batch_size, loader.drop_last, loader.num_workers)
for tokens, lengths, mask, names in loader:
    print(tokens.shape, lengths.tolist(), mask.sum(1).tolist(), names, tokens.dtype)
print(tokens)
print(mask)
print(list(DataLoader(Stream(3, 11), batch_size=3)))
print(sorted(int(x) for b in DataLoader(Stream(3, 11), num_workers=2) for x in b))
print(list(DataLoader(ChainDataset([Stream(0, 2), Stream(5, 7)]), batch_size=None)))
out = default_collate([Point(torch.ones(2), 1), Point(torch.zeros(2), 2)])
print(type(out).__name__, out)
print(default_collate([{'a': 1.5, 'b': 'x', 'c': [1, 2]}, {'a': 2.5, 'b': 'y', 'c': [3, 4]}]))
print(default_collate([np.array([1, 2], dtype=np.float32), np.array([3, 4], dtype=np.float32)]), default_collate([np.float64(1), np.float64(2)]))
x = torch.arange(20, dtype=torch.float32).view(10, 2)
y = torch.arange(10)
td = TensorDataset(x, y)
print(len(td), td[3], td[2:4])
for xb, yb in DataLoader(td, batch_size=4, sampler=SequentialSampler(td)):
    print(xb.mean(0), yb)
g = torch.Generator()
g.manual_seed(1)
sampler = WeightedRandomSampler([0.0, 0.0, 1.0, 1.0], num_samples=8, replacement=True, generator=g)
drawn = list(sampler)
print(len(drawn), set(drawn) <= {2, 3}, len(sampler))
print(list(BatchSampler(SequentialSampler(range(7)), batch_size=3, drop_last=False)), len(BatchSampler(SequentialSampler(range(7)), 3, True)))
print(sorted(RandomSampler(range(5))), len(RandomSampler(td, replacement=True, num_samples=4)))
sd = StackDataset(img=x, label=y)
print(len(sd), sd[1])
def worker_init(worker_id):
    np.random.seed(worker_id)
got = []
for xb, yb in DataLoader(td, batch_size=2, num_workers=2, worker_init_fn=worker_init, persistent_workers=True, prefetch_factor=2):
    got.append(yb.tolist())
print(got)
packed = pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5]), torch.tensor([6])])
print(packed)
print(packed.data, packed.batch_sizes, pad_packed_sequence(packed, batch_first=True))
print(unpad_sequence(*pad_packed_sequence(packed), batch_first=False))
it = iter(DataLoader(td, batch_size=5))
print(next(it)[1], next(it)[1], next(it, None))
try:
    DataLoader(td, batch_size=2, sampler=SequentialSampler(td), shuffle=True)
except ValueError:
    print("ValueError")
try:
    DataLoader(Stream(0, 3), shuffle=True)
except ValueError:
    print('ValueError')
try:
    TensorDataset(x, y[:3])
except Exception:
    print("refused")
try:
    default_collate([object(), object()])
except TypeError:
    print('TypeError')
try:
    default_collate([torch.ones(2), torch.ones(3)])
except RuntimeError:
    print('RuntimeError')
