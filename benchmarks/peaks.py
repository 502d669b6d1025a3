"""What a machine reaches at its best, to judge other figures by."""
import time


class Peaks:
    """In Tenon's own largest copies and products: bytes and multiplications with additions a second. `dtype`: of the products."""

    def __init__(self, library, dtype='float32'):
        x, y = (library.ones((4 << 20,)) for _ in range(2))
        a = library.ones((1024, 1024), dtype=getattr(library, dtype))
        self.dtype = dtype
        self.bytes = 12 * (4 << 20) / best(lambda: library.add(x, y))
        self.flops = 2 * 1024 ** 3 / best(lambda: a @ a)

    def __str__(self):
        return f'Peaks: {self.bytes / 1e9:.0f} GB/s of memory, {self.flops / 1e9:.0f} GFLOP/s in products of {self.dtype}.'


def best(work, rounds=7, count=4):
    """Seconds of a call, in the best round."""
    rounds = [round_of(work, count) for _ in range(rounds + 1)]
    return min(rounds[1:])


def round_of(work, count):
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count
