"""The loader: orders, worker processes, shared memory, errors, the end of workers."""
import os
import random
import signal
import time

import numpy as np
import pytest

import tenon
from tenon import data


class Examples(data.Dataset):
    """(the index as a matrix, the index, its name); runs `trouble` at index 7."""

    def __init__(self, n=40, trouble=None):
        self.n, self.trouble = n, trouble

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if index == 7 and self.trouble is not None:
            self.trouble()
        return tenon.full((2, 3), float(index)), index, f'#{index}'


def order(loader):
    found = []
    for x, index, names in loader:
        assert x[:, 1, 2].tolist() == index.tolist() and names == [f'#{i}' for i in index.tolist()]
        found += index.tolist()
    return found


def children():
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{name}/stat') as file:
                if int(file.read().rsplit(')', 1)[1].split()[1]) == os.getpid():
                    found.append(int(name))
        except OSError:
            pass
    return found


@pytest.mark.parametrize('num_workers', [0, 1, 3])
def test_the_seed_decides_the_order(num_workers):
    loader = data.DataLoader(Examples(), batch_size=6, shuffle=True, seed=5, num_workers=num_workers)
    reference = data.DataLoader(Examples(), batch_size=6, shuffle=True, seed=5)
    first, second = order(loader), order(loader)
    assert sorted(first) == list(range(40)) and first != second
    assert [order(reference), order(reference)] == [first, second]
    loader.set_epoch(0)
    assert order(loader) == first
    assert order(data.DataLoader(Examples(), batch_size=6, shuffle=True, seed=6, num_workers=num_workers)) != first
    assert order(data.DataLoader(Examples(), batch_size=6, num_workers=num_workers)) == list(range(40))
    assert len(loader) == 7 and not children()


@pytest.mark.parametrize('num_workers', [0, 2])
def test_batches_follow_the_options(num_workers):
    options = dict(num_workers=num_workers)
    last = data.DataLoader(Examples(10), batch_size=4, drop_last=True, **options)
    assert order(last) == list(range(8)) and len(last) == 2
    assert order(data.DataLoader(Examples(10), batch_size=4, sampler=[3, 1, 4, 1, 5], **options)) == [3, 1, 4, 1, 5]
    assert order(data.DataLoader(Examples(10), batch_sampler=[[9], [0, 1]], **options)) == [9, 0, 1]
    assert list(data.DataLoader(range(5), batch_size=2, collate_fn=sum, **options)) == [1, 5, 4]
    assert list(data.DataLoader(Examples(0), batch_size=2, **options)) == []
    rows = data.TensorDataset(tenon.arange(7), tenon.ones((7, 2)))
    assert [x.tolist() for x, _ in data.DataLoader(rows, batch_size=3, **options)] == [[0, 1, 2], [3, 4, 5], [6]]
    shuffled = [i for x, _ in data.DataLoader(rows, batch_size=3, shuffle=True, **options) for i in x.tolist()]
    assert sorted(shuffled) == list(range(7)) and shuffled != list(range(7))


def test_every_kind_of_result_crosses():
    made = {'none': None, 'text': 'ä', 'empty': tenon.zeros((0, 3)), 'scalar': tenon.tensor(2.5), 'array': np.arange(3)}
    for dtype in ('bool', 'uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'uint64', 'int64', 'float16', 'bfloat16',
                  'float32', 'float64', 'complex64', 'complex128'):
        made[dtype] = tenon.tensor([[1, 0], [0, 1], [1, 1]]).to(dtype)
    made['twice'] = [made['int32'], (made['int32'],)]
    made['view'] = tenon.arange(6).reshape((2, 3)).T
    made['grad'] = tenon.ones(2, requires_grad=True) * 2
    got, = data.DataLoader([0], num_workers=1, collate_fn=lambda examples: made)
    assert got.keys() == made.keys() and got['none'] is None and got['text'] == 'ä'
    for name, x in made.items():
        if isinstance(x, tenon.Tensor):
            assert got[name].dtype == x.dtype and got[name].shape == x.shape, name
            assert got[name].tolist() == x.tolist(), name
    assert got['array'].tolist() == [0, 1, 2] and not got['grad'].requires_grad
    assert got['twice'][0] is got['int32'] is got['twice'][1][0] and isinstance(got['twice'][1], tuple)
    kept = got['float32']
    del got
    kept[...] = 7  # separate, writable memory
    assert kept.tolist() == [[7, 7]] * 3


def test_workers_are_seeded_batch_by_batch():
    def draw(examples):
        return random.random(), float(np.random.rand()), tenon.rand(1).item()  # noqa: NPY002, what libraries draw from is seeded, too
    runs = [list(data.DataLoader(range(6), seed=1, num_workers=n, collate_fn=draw)) for n in (1, 1, 3)]
    assert runs[0] == runs[1] == runs[2] and len({x for batch in runs[0] for x in batch}) == 18
    assert list(data.DataLoader(range(6), seed=2, num_workers=2, collate_fn=draw)) != runs[0]


def test_worker_info_and_init():
    seen = []

    def name(examples):
        return data.get_worker_info().id, data.get_worker_info().num_workers, list(seen)
    loader = data.DataLoader(range(4), num_workers=2, collate_fn=name, worker_init_fn=seen.append)
    assert list(loader) == [(0, 2, [0]), (1, 2, [1]), (0, 2, [0]), (1, 2, [1])]
    assert data.get_worker_info() is None and seen == []


def fail():
    raise KeyError('no such image')


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def fail_oddly():
    raise Odd(1, 2)


@pytest.mark.parametrize('num_workers', [0, 2])
def test_errors_in_workers_are_raised_here(num_workers):
    with pytest.raises(KeyError, match='no such image') as error:
        order(data.DataLoader(Examples(40, fail), batch_size=2, num_workers=num_workers))
    if num_workers:
        assert "raise KeyError('no such image')" in str(error.value.__cause__)
        with pytest.raises(RuntimeError, match='Odd: 1'):
            order(data.DataLoader(Examples(40, fail_oddly), num_workers=num_workers))
        with pytest.raises(KeyError):
            list(data.DataLoader(range(4), num_workers=1, worker_init_fn=lambda number: fail()))
    assert not children()


def test_batches_before_an_error_are_delivered():
    loader = iter(data.DataLoader(Examples(40, fail), batch_size=2, num_workers=2))
    assert [next(loader)[1].tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(KeyError):
        next(loader)
    assert list(loader) == [] and not children()


def test_a_worker_that_dies_is_reported():
    with pytest.raises(RuntimeError, match='worker 1 was killed by SIGKILL before it gave batch 7'):
        order(data.DataLoader(Examples(40, lambda: os.kill(os.getpid(), signal.SIGKILL)), num_workers=2))
    with pytest.raises(RuntimeError, match='worker 0 exited with code 3 before it gave batch 1|worker 1 exited with code 3'):
        order(data.DataLoader(Examples(40, lambda: os._exit(3)), batch_size=4, num_workers=2))
    assert not children()


def test_a_worker_that_hangs_times_out():
    loader = data.DataLoader(Examples(40, lambda: time.sleep(600)), num_workers=1, timeout=0.2)
    with pytest.raises(TimeoutError, match='no batch within 0.2 s'):
        order(loader)
    assert not children()


def test_leaving_early_ends_the_workers():
    before = set(os.listdir('/proc/self/fd'))
    for _ in range(3):
        for _ in data.DataLoader(Examples(), num_workers=2):
            break
    loader = iter(data.DataLoader(Examples(), num_workers=2))
    next(loader)
    assert len(children()) == 2
    loader.close()
    loader.close()
    assert not children() and set(os.listdir('/proc/self/fd')) == before


def test_loaders_within_loaders():
    outer = data.DataLoader(Examples(6), batch_size=3, num_workers=2)
    for _ in outer:
        assert order(data.DataLoader(Examples(4), num_workers=2)) == [0, 1, 2, 3]
    inner = data.DataLoader(range(2), num_workers=1, collate_fn=lambda _: order(data.DataLoader(Examples(4), num_workers=2)))
    assert list(inner) == [[0, 1, 2, 3]] * 2 and not children()


def test_large_ops_work_in_a_forked_process():
    x = tenon.ones((600, 600))
    assert (x @ x).sum().item() == 600 ** 3  # wakes the threads of the CPU backend
    got, = data.DataLoader([0], num_workers=1, timeout=60,
                           collate_fn=lambda _: ((x @ x).sum().item(), tenon.ones(4_000_000).exp().sum().item()))
    assert got[0] == 600 ** 3 and got[1] == pytest.approx(4_000_000 * np.e, rel=1e-5)


@pytest.mark.parametrize('options, error, message', [
    (dict(batch_size=0), ValueError, 'batch_size is 0'), (dict(batch_size=2.0), TypeError, 'batch_size must be an int'),
    (dict(num_workers=-1), ValueError, 'num_workers'), (dict(num_workers=1000), ValueError, 'at most 256'),
    (dict(prefetch_factor=0), ValueError, 'prefetch_factor'), (dict(shuffle=True, sampler=[0]), ValueError, 'leave out shuffle'),
    (dict(batch_sampler=[[0]], batch_size=2), ValueError, 'takes the place'), (dict(timeout=-1), ValueError, 'timeout'),
    (dict(collate_fn=3), TypeError, 'callable'), (dict(seed=-1), ValueError, 'seed')])
def test_options_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        data.DataLoader(range(3), **options)
    with pytest.raises(TypeError, match='needs len'):
        data.DataLoader(3)


@pytest.mark.parametrize('examples', [[tenon.ones(2), None], [{'x': 1}, 2], [(1, 2), 3]])
def test_examples_of_different_kinds_cannot_be_batched(examples):
    with pytest.raises(TypeError, match='in one batch'):
        data.default_collate(examples)


@pytest.mark.parametrize('num_workers', [0, 2])
def test_without_a_seed_the_order_follows_manual_seed(num_workers):
    def orders(seed, count=2):
        tenon.manual_seed(seed)
        loader = data.DataLoader(Examples(), batch_size=6, shuffle=True, num_workers=num_workers)
        return [order(loader) for _ in range(count)]
    first = orders(1)
    assert first == orders(1) != orders(2) and first[0] != first[1]
    tenon.manual_seed(1)
    sampler = data.RandomSampler(range(40))
    assert [list(sampler), list(sampler)] != [list(sampler), list(sampler)]
    weighted = [(tenon.manual_seed(n), list(data.WeightedRandomSampler([1.] * 9, 30)))[1] for n in (3, 3, 4)]
    assert weighted[0] == weighted[1] != weighted[2]


def test_a_seed_leaves_the_default_generator_unchanged():
    before = tenon.default_generator().get_state()
    list(data.DataLoader(Examples(), shuffle=True, seed=4))
    list(data.DataLoader(Examples()))
    assert tenon.default_generator().get_state() == before


class Numbers(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        number, count = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(number, 7, count))


@pytest.mark.parametrize('workers, batches', [(0, [[0, 1], [2, 3], [4, 5], [6]]), (2, [[0, 2], [1, 3], [4, 6], [5]]),
                                              (3, [[0, 3], [1, 4], [2, 5], [6]])])
def test_workers_take_turns_at_a_stream(workers, batches):
    assert [x.tolist() for x in data.DataLoader(Numbers(), 2, num_workers=workers)] == batches
    whole = [x.tolist() for x in data.DataLoader(Numbers() + Numbers(), 2, num_workers=workers, drop_last=True)]
    assert all(len(batch) == 2 for batch in whole) and not children()


def test_a_stream_has_its_own_order():
    for options in dict(shuffle=True), dict(sampler=[1]), dict(batch_sampler=[[1]]):
        with pytest.raises(ValueError, match='order of its own'):
            data.DataLoader(Numbers(), **options)
    with pytest.raises(TypeError, match='ChainDataset'):
        data.ConcatDataset([Numbers()])
    with pytest.raises(TypeError, match='iterate over it'):
        Numbers()[0]


@pytest.mark.parametrize('workers', [0, 2])
def test_endless_orders(workers):
    def forever():
        while True:
            yield from range(3)
    for options in dict(batch_size=2, sampler=forever()), dict(batch_sampler=([i, i + 1] for i in iter(int, 1))):
        loader = iter(data.DataLoader(range(5), num_workers=workers, **options))
        assert [len(next(loader)) for _ in range(20)] == [2] * 20
        del loader
