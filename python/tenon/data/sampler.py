"""The order of examples."""
import tenon
from .._core import Tensor, ops

_MASK = (1 << 64) - 1


def mix(*numbers):
    """One seed made of several numbers: SplitMix64 (Steele et al. 2014)."""
    z = 0
    for number in numbers:
        z = (z ^ (number & _MASK)) + 0x9e3779b97f4a7c15 & _MASK
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & _MASK
        z = (z ^ z >> 27) * 0x94d049bb133111eb & _MASK
        z ^= z >> 31
    return z


def draw_seed():
    """A seed that tenon.manual_seed() determines: each call takes the next number of the default generator."""
    return ops['randint']((), 0, 2**63 - 1, tenon.int64).item()


def epoch_generator(seed, epoch):
    """The generator of an epoch: with a seed it has its own numbers, otherwise it takes the next of the default generator."""
    return tenon.Generator(draw_seed() if seed is None else mix(seed, epoch))


class SequentialSampler:
    """0, 1, 2, …"""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __iter__(self):
        return iter(range(len(self.dataset)))


class RandomSampler:
    """Every example once, in a new order for each pass. With a seed the number of the pass determines the order; without one the
    orders follow tenon.manual_seed()."""

    def __init__(self, dataset, seed=None):
        self.dataset, self.seed, self.epoch = dataset, seed, 0

    def __len__(self):
        return len(self.dataset)

    def order(self):
        """The next epoch's order, an int64 Tensor."""
        generator = epoch_generator(self.seed, self.epoch)
        self.epoch += 1
        return ops['randperm'](len(self.dataset), generator=generator)

    def __iter__(self):
        return iter(self.order().tolist())


class WeightedRandomSampler:
    """`num_samples` examples, each drawn with a probability proportional to its weight, with replacement. Without a seed they follow
    tenon.manual_seed()."""

    def __init__(self, weights, num_samples, seed=None):
        values = weights.tolist() if isinstance(weights, Tensor) else list(weights)
        if not values or any(not w >= 0 for w in values) or sum(values) <= 0:
            raise ValueError('[WeightedRandomSampler] weights must not be negative, and one must be positive')
        self.cumulated = ops['cumsum'](tenon.tensor(values, dtype=tenon.float64), 0)
        self.num_samples, self.seed, self.epoch = num_samples, seed, 0

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        generator = epoch_generator(self.seed, self.epoch)
        self.epoch += 1
        draws = ops['uniform']((self.num_samples,), 0.0, 1.0, tenon.float64, None, generator) * self.cumulated[-1]
        found = ops['searchsorted'](self.cumulated, draws, True)
        return iter(ops['clamp'](found, None, self.cumulated.size - 1).tolist())


class BatchSampler:
    """Lists of `batch_size` indices of a sampler."""

    def __init__(self, sampler, batch_size, drop_last=False):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch
