"""What other processes run in tests: a module that a spawned process can import."""
import tenon.torch as torch


def count(x, module):
    with torch.no_grad():
        x.add_(1)
        module.weight.mul_(2)


class Squares:
    """A dataset that says how often this process has read it; one entry may be missing."""

    def __init__(self, count, missing=None):
        self.count, self.missing, self.reads = count, missing, 0

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i == self.missing:
            raise KeyError(f'no entry {i}')
        self.reads += 1
        return i * i, self.reads


class Stream(torch.utils.data.IterableDataset):
    """What a worker of tenon.torch makes of a stream."""

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        return iter([(info.id, info.num_workers, i) for i in range(2)])


started = []


def note(number):
    """A worker_init_fn."""
    started.append(number)


def starts(examples):
    """A collate_fn that tells whose worker_init_fn has run here."""
    return list(started)
