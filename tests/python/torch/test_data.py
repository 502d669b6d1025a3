"""torch.utils.data compared with PyTorch: the results of loaders, samplers, datasets and collating."""
import collections
import gc
import itertools
import multiprocessing
import os
import pathlib
import pickle
import random
import sys

import numpy as np
import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import children

Point = collections.namedtuple('Point', 'x y')


def data_of(package):
    return package.utils.data


def plain(value):
    """Nested values with tensors as (dtype, numbers), and the type of each container."""
    if hasattr(value, 'tolist') and hasattr(value, 'device') and not type(value).__module__.startswith('numpy'):
        return str(value.dtype).removeprefix('torch.'), value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return type(value).__name__, str(value)


def numpy():
    return pytest.importorskip('numpy')


COLLATED = {
    'tensors': lambda t: [t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])], 'integers': lambda t: [1, 2, 3], 'floats': lambda t: [0.5, 1.5],
    'bools': lambda t: [True, False], 'text': lambda t: ['a', 'b'], 'bytes': lambda t: [b'a', b'b'],
    'tuples': lambda t: [(t.tensor(1), 2, 'x'), (t.tensor(3), 4, 'y')], 'lists': lambda t: [[1, 2.5], [3, 4.5]],
    'dicts': lambda t: [{'a': 1, 'b': t.ones(2)}, {'a': 2, 'b': t.zeros(2)}],
    'ordered': lambda t: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)], 'named': lambda t: [Point(1, 2.0), Point(3, 4.0)],
    'nested': lambda t: [{'p': Point([1], ('s',))}, {'p': Point([2], ('t',))}], 'tuple of examples': lambda t: (1, 2),
    'arrays': lambda t: [numpy().array([1, 2], 'int16'), numpy().array([3, 4], 'int16')],
    'numpy numbers': lambda t: [numpy().float32(1.5), numpy().float32(2.5)], 'numpy floats': lambda t: [numpy().float64(1), numpy().float64(2)],
    'numpy bools': lambda t: [numpy().bool_(True), numpy().bool_(False)], 'ranges': lambda t: [range(2), range(2)],
}


@pytest.mark.parametrize('name', COLLATED)
def test_collate(torch, name):
    make = COLLATED[name]
    assert plain(data_of(ours).default_collate(make(ours))) == plain(data_of(torch).default_collate(make(torch)))


@pytest.mark.parametrize('make, error', [
    (lambda t: [object(), object()], TypeError), (lambda t: [None, None], TypeError), (lambda t: [[1], [1, 2]], RuntimeError),
    (lambda t: [t.ones(2), t.ones(3)], RuntimeError), (lambda t: [numpy().array(['a']), numpy().array(['b'])], TypeError)])
def test_what_cannot_be_collated(torch, make, error):
    for package in torch, ours:
        with pytest.raises(error):
            data_of(package).default_collate(make(package))


@pytest.mark.parametrize('make', [
    lambda: numpy().array([1, 2]), lambda: numpy().float32(1.5), lambda: numpy().array(['a']), lambda: Point(numpy().zeros(2), 3), lambda: (1, numpy().ones(1)),
    lambda: [numpy().zeros(1), 'x'], lambda: {'a': numpy().zeros(1), 'b': 2}, lambda: 'text', lambda: 3, lambda: None, lambda: range(3)])
def test_convert(torch, make):
    assert plain(data_of(ours).default_convert(make())) == plain(data_of(torch).default_convert(make()))


def test_collating_custom_types():
    from tenon.torch.utils.data.collate import collate, default_collate_fn_map

    class Word(str):
        pass
    table = default_collate_fn_map | {Word: lambda batch, *, collate_fn_map: ' '.join(batch)}
    assert collate([{'a': Word('x')}, {'a': Word('y')}], collate_fn_map=table) == {'a': 'x y'}


def map_dataset(package, extra=None):
    class Squares(data_of(package).Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, index):
            return {'index': index, 'square': package.tensor(float(index * index)), 'pair': (index, str(index))}
    return Squares()


def stream(package, *lengths):
    class Stream(data_of(package).IterableDataset):
        """Worker k of n yields examples of its own length."""

        def __iter__(self):
            info = data_of(package).get_worker_info()
            number, count = (info.id, info.num_workers) if info else (0, 1)
            assert info is None or isinstance(info.dataset, data_of(package).IterableDataset)
            length = sum(lengths) if count == 1 else lengths[number]
            return iter([(100 * number + i, package.tensor(i)) for i in range(length)])
    return Stream()


def rows(package):
    return data_of(package).TensorDataset(package.arange(10), package.arange(20.0).reshape(10, 2))


LOADERS = {
    'plain': lambda t: (map_dataset(t), {}), 'batches': lambda t: (map_dataset(t), dict(batch_size=3)),
    'drop last': lambda t: (map_dataset(t), dict(batch_size=3, drop_last=True)), 'no batches': lambda t: (map_dataset(t), dict(batch_size=None)),
    'sampler': lambda t: (map_dataset(t), dict(batch_size=2, sampler=[5, 1, 9])),
    'batch sampler': lambda t: (map_dataset(t), dict(batch_sampler=[[1, 2], [3]])),
    'collate': lambda t: (map_dataset(t), dict(batch_size=4, collate_fn=lambda batch: [x['index'] for x in batch])),
    'collate one': lambda t: (map_dataset(t), dict(batch_size=None, collate_fn=lambda x: x['index'])),
    'rows': lambda t: (rows(t), dict(batch_size=4)), 'rows of a subset': lambda t: (data_of(t).Subset(rows(t), [7, 1, 3]), dict(batch_size=2)),
    'a list': lambda t: ([1.5, 2.5, 3.5], dict(batch_size=2)), 'nothing': lambda t: (rows(t), dict(sampler=[])),
    'stack': lambda t: (data_of(t).StackDataset(rows(t), range(10)), dict(batch_size=5)),
    'stack by name': lambda t: (data_of(t).StackDataset(x=range(4), y='abcd'), dict(batch_size=3)),
    'concat': lambda t: (data_of(t).ConcatDataset([range(3), range(10, 12)]), dict(batch_size=2)),
    'stream': lambda t: (stream(t, 7, 2), dict(batch_size=2)), 'stream, drop last': lambda t: (stream(t, 4, 5), dict(batch_size=2, drop_last=True)),
    'stream, no batches': lambda t: (stream(t, 1, 3), dict(batch_size=None)),
    'chain': lambda t: (stream(t, 1, 1) + stream(t, 2, 1), dict(batch_size=2)), 'empty stream': lambda t: (stream(t, 0, 0), {}),
}


@pytest.mark.parametrize('workers', [0, 2])
@pytest.mark.parametrize('name', LOADERS)
def test_loaders(torch, name, workers):
    found = []
    for package in torch, ours:
        dataset, options = LOADERS[name](package)
        if workers:
            options |= dict(num_workers=workers, multiprocessing_context='fork')
        loader = data_of(package).DataLoader(dataset, **options)
        found.append([plain(batch) for batch in loader])
        if 'stream' not in name and name != 'chain':
            assert len(loader) == len(found[-1])
        assert loader.batch_size == (None if 'batch_sampler' in options else options.get('batch_size', 1))
    assert found[0] == found[1]


@pytest.mark.filterwarnings('ignore::UserWarning')  # PyTorch counts the processors
def test_workers_that_finish_at_different_times(torch):
    found = [[plain(x) for x in data_of(package).DataLoader(stream(package, 1, 9, 4), 2, num_workers=3, prefetch_factor=1)] for package in (torch, ours)]
    assert found[0] == found[1]


@pytest.mark.parametrize('workers', [0, 2])
def test_an_endless_order(workers):
    class Forever(data_of(ours).Sampler):
        def __iter__(self):
            return itertools.cycle(range(5))
    loader = data_of(ours).DataLoader(range(5), 3, sampler=Forever(), num_workers=workers)
    assert [x.tolist() for x in itertools.islice(loader, 4)] == [[0, 1, 2], [3, 4, 0], [1, 2, 3], [4, 0, 1]]


def test_lists_of_many_indices_reach_the_workers():
    order = list(range(100_000))
    loader = data_of(ours).DataLoader(order, 50_000, num_workers=2, prefetch_factor=4, sampler=order * 8, collate_fn=lambda batch: sum(batch))
    assert list(loader) == [sum(order[:50_000]), sum(order[50_000:])] * 8


def test_worker_init_fn_shares_the_work_of_a_stream(torch):
    def numbers(package):
        class Range(data_of(package).IterableDataset):
            begin, end = 0, 10

            def __iter__(self):
                return iter(range(self.begin, self.end))

            def __len__(self):
                return self.end - self.begin

        def init(number):
            info = data_of(package).get_worker_info()
            assert info.id == number and info.num_workers == 2
            info.dataset.begin, info.dataset.end = 5 * number, 5 * number + 5
        loader = data_of(package).DataLoader(Range(), 2, num_workers=2, worker_init_fn=init, persistent_workers=True)
        assert len(loader) == 5
        return [[x.tolist() for x in loader] for _ in range(2)]
    assert numbers(ours) == numbers(torch)


def test_errors_of_workers_keep_their_type():
    class Bad(data_of(ours).IterableDataset):
        def __iter__(self):
            yield 1
            raise KeyError('no more')
    loader = data_of(ours).DataLoader(Bad(), num_workers=1)
    with pytest.raises(KeyError, match='no more'):
        list(loader)
    with pytest.raises(KeyError):
        list(data_of(ours).DataLoader(Bad()))


@pytest.mark.parametrize('options', [
    dict(num_workers=-1), dict(prefetch_factor=2), dict(persistent_workers=True), dict(timeout=-1), dict(sampler=[1], shuffle=True),
    dict(batch_sampler=[[1]], batch_size=2), dict(batch_sampler=[[1]], drop_last=True), dict(batch_size=None, drop_last=True), dict(batch_size=0)])
def test_options_that_contradict(torch, options):
    for package in torch, ours:
        with pytest.raises(ValueError):
            data_of(package).DataLoader(map_dataset(package), **options)


@pytest.mark.parametrize('options', [dict(shuffle=True), dict(sampler=[1]), dict(batch_sampler=[[1]])])
def test_streams_have_their_own_order(torch, options):
    for package in torch, ours:
        with pytest.raises(ValueError):
            data_of(package).DataLoader(stream(package, 1), **options)


@pytest.mark.parametrize('method', ['fork', 'spawn', 'forkserver', multiprocessing.get_context('spawn')], ids=str)
def test_processes_of_every_kind(method):
    loader = data_of(ours).DataLoader(children.Squares(5), 2, num_workers=2, multiprocessing_context=method)
    assert [x[0].tolist() for x in loader] == [[0, 1], [4, 9], [16]]
    assert loader.multiprocessing_context.get_start_method() in str(method) or not isinstance(method, str)
    streams = data_of(ours).DataLoader(children.Stream(), None, num_workers=2, multiprocessing_context=method)
    assert list(streams) == [[0, 2, 0], [1, 2, 0], [0, 2, 1], [1, 2, 1]]


@pytest.mark.parametrize('context', ['bogus', 3, []])
def test_contexts_that_are_refused(torch, context):
    for workers in (0, 1):
        texts = []
        for package in torch, ours:
            with pytest.raises((ValueError, TypeError)) as caught:
                data_of(package).DataLoader(range(3), num_workers=workers, multiprocessing_context=context)
            texts.append((type(caught.value), str(caught.value).removeprefix('[DataLoader] ')))
        assert texts[0] == texts[1]


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_what_does_not_pickle_reaches_forked_workers_only(method):
    loader = data_of(ours).DataLoader(range(3), num_workers=2, collate_fn=lambda batch: batch, multiprocessing_context=method)
    if method == 'fork':
        assert list(loader) == [[0], [1], [2]]
        return
    with pytest.raises((AttributeError, pickle.PicklingError), match='pickle'):
        list(loader)


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_workers_that_stay(method):
    """Their datasets remember, and worker_init_fn runs once."""
    def epochs(**options):
        loader = data_of(ours).DataLoader(children.Squares(4), 2, num_workers=2, multiprocessing_context=method, **options)
        return [[x[1].tolist() for x in loader] for _ in range(3)]
    assert epochs() == [[[1, 2], [1, 2]]] * 3
    assert epochs(persistent_workers=True) == [[[1, 2], [1, 2]], [[3, 4], [3, 4]], [[5, 6], [5, 6]]]
    loader = data_of(ours).DataLoader(range(2), num_workers=1, persistent_workers=True, multiprocessing_context=method, worker_init_fn=children.note,
                                      collate_fn=children.starts)
    assert [list(loader) for _ in range(2)] == [[[0], [0]]] * 2


def test_an_epoch_of_workers_that_stay_may_end_early(torch):
    def found(package):
        loader = data_of(package).DataLoader(children.Squares(20), 2, num_workers=2, persistent_workers=True)
        firsts = []
        for _ in range(3):
            for x, _ in loader:
                firsts.append(x.tolist())
                break
        return firsts, [x.tolist() for x, _ in loader]
    assert found(ours) == found(torch)


def test_workers_that_stay_end_with_an_error_and_with_their_loader():
    gc.collect()
    before = len(os.listdir('/proc/self/fd'))
    loader = data_of(ours).DataLoader(children.Squares(4, 2), num_workers=2, persistent_workers=True)
    for _ in range(2):
        with pytest.raises(KeyError):
            list(loader)
    loader = data_of(ours).DataLoader(children.Squares(4), num_workers=2, persistent_workers=True)
    assert len(list(loader)) == 4 and len(list(loader)) == 4
    pids = [worker.pid for worker in loader._epochs._workers]
    del loader
    gc.collect()
    assert len(os.listdir('/proc/self/fd')) == before
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_errors_of_workers_tell_the_same_story(torch, method):
    stories = []
    for package in torch, ours:
        loader = data_of(package).DataLoader(children.Squares(4, 2), 2, num_workers=2, multiprocessing_context=method)
        with pytest.raises(KeyError) as caught:
            list(loader)
        lines = str(caught.value).split('\n')
        stories.append((lines[:2], lines[-4:-3] and [line for line in lines if 'children' in line or 'raise KeyError' in line], lines[-2:]))
    assert stories[0] == stories[1]


def test_errors_of_workers_that_take_other_arguments():
    def fail(batch):
        raise UnicodeDecodeError('utf8', b'', 0, 1, 'no text')
    with pytest.raises(RuntimeError, match='(?s)Caught UnicodeDecodeError in DataLoader worker process 0.*Original Traceback.*no text'):
        list(data_of(ours).DataLoader(range(2), num_workers=1, collate_fn=fail))


@pytest.mark.parametrize('name', ['batch_size', 'sampler', 'batch_sampler', 'drop_last', 'dataset', 'persistent_workers'])
def test_loaders_keep_what_decides_their_order(torch, name):
    for package in torch, ours:
        loader = data_of(package).DataLoader(range(3))
        loader.num_workers, loader.note = 0, 'its own'
        with pytest.raises(ValueError, match=f'{name} attribute should not be set after DataLoader is initialized'):
            setattr(loader, name, 2)


def test_workers_know_their_seed_before_they_begin():
    seeds = []

    def tell(batch):
        return seeds[0], data_of(ours).get_worker_info().seed
    loader = data_of(ours).DataLoader(range(2), num_workers=2, worker_init_fn=lambda _: seeds.append(ours.initial_seed()), collate_fn=tell)
    (first, one), (second, two) = list(loader)
    assert (first, second) == (one, two) and first != second


@pytest.mark.parametrize('stays', [False, True])
def test_what_worker_init_fn_seeds_lasts(torch, stays):
    """The draws of two epochs are those of the seeds that it gave, and go on where workers stay."""
    def init(number):
        np.random.seed(number)  # noqa: NPY002, what programs draw from
        random.seed(number)

    def draw(batch):
        return batch[0], int(np.random.randint(1000)), random.random()  # noqa: NPY002
    found = []
    for package in torch, ours:
        loader = data_of(package).DataLoader(range(6), num_workers=2, worker_init_fn=init, collate_fn=draw, persistent_workers=stays)
        found.append([list(loader), list(loader)])
    assert found[0] == found[1] and (found[0][0] != found[0][1]) == stays


def test_a_generator_decides_the_order():
    def order(generator, **options):
        return [x.item() for x in data_of(ours).DataLoader(range(50), shuffle=True, generator=generator, **options)]
    first = order(ours.Generator().manual_seed(3))
    assert first == order(ours.Generator().manual_seed(3)) == order(ours.Generator().manual_seed(3), num_workers=2)
    generator = ours.Generator().manual_seed(3)
    assert order(generator) == first and order(generator) != first and sorted(first) == list(range(50))
    ours.manual_seed(1)
    one = order(None)
    ours.manual_seed(1)
    assert one == order(None)


def test_the_order_of_an_epoch_is_the_samplers():
    with pytest.raises(AttributeError, match='loader.sampler.set_epoch'):
        data_of(ours).DataLoader(range(3)).set_epoch(1)


def test_a_derived_subset_and_a_dataset_without_a_length(torch):
    def run(t):
        class Doubled(data_of(t).Subset):
            def __getitem__(self, index):
                return super().__getitem__(index)[0] * 2

            __getitems__ = None

        class Endless(data_of(t).Dataset):
            def __getitem__(self, index):
                return index * 3
        doubled = Doubled(rows(t), [1, 2, 3])
        return ([x.tolist() for x in data_of(t).DataLoader(doubled, 2)], [x.tolist() for x in data_of(t).DataLoader(Endless(), 2, sampler=[5, 6, 7])])
    assert run(ours) == run(torch)


def test_getitems_is_called_once_a_batch(torch):
    def calls(package):
        class Many(data_of(package).Dataset):
            asked = []

            def __len__(self):
                return 5

            def __getitems__(self, indices):
                self.asked.append(list(indices))
                return [i * 10 for i in indices]
        dataset = Many()
        return [x.tolist() for x in data_of(package).DataLoader(dataset, 2)], dataset.asked
    assert calls(ours) == calls(torch)


SAMPLERS = {
    'sequential': lambda d: d.SequentialSampler(range(4)), 'batch': lambda d: d.BatchSampler(d.SequentialSampler(range(5)), 2, False),
    'batch, drop last': lambda d: d.BatchSampler([4, 3, 2, 1, 0], 2, True),
    **{f'distributed {n} {replicas} {rank} {drop}': lambda d, n=n, replicas=replicas, rank=rank, drop=drop: d.DistributedSampler(
        range(n), replicas, rank, shuffle=False, drop_last=drop) for n, replicas, rank, drop in itertools.product((1, 7, 8), (1, 3), (0, 2), (True, False))
       if rank < replicas},
}


@pytest.mark.parametrize('name', SAMPLERS)
def test_samplers_of_a_fixed_order(torch, name):
    theirs, mine = SAMPLERS[name](data_of(torch)), SAMPLERS[name](data_of(ours))
    assert list(mine) == list(theirs) and len(mine) == len(theirs)


@pytest.mark.parametrize('make, check', [
    (lambda d: d.RandomSampler(range(7)), lambda x: sorted(x) == list(range(7))),
    (lambda d: d.RandomSampler(range(3), num_samples=7), lambda x: len(x) == 7 and sorted(x[:3]) == sorted(x[3:6]) == [0, 1, 2]),
    (lambda d: d.RandomSampler(range(5), replacement=True, num_samples=200), lambda x: len(x) == 200 and set(x) == set(range(5))),
    (lambda d: d.SubsetRandomSampler([3, 9, 4]), lambda x: sorted(x) == [3, 4, 9]),
    (lambda d: d.WeightedRandomSampler([0.0, 1.0, 3.0], 400), lambda x: set(x) == {1, 2} and 40 < x.count(1) < 160),
    (lambda d: d.WeightedRandomSampler([0.5, 1.0, 3.0], 3, replacement=False), lambda x: sorted(x) == [0, 1, 2])])
def test_random_samplers(torch, make, check):
    ours.manual_seed(0)
    torch.manual_seed(0)
    for package in torch, ours:
        sampler = make(data_of(package))
        found = list(sampler)
        assert check(found) and len(sampler) == len(found) and all(type(i) is int for i in found)


@pytest.mark.parametrize('make, error', [
    (lambda d: d.RandomSampler([]), ValueError), (lambda d: list(d.RandomSampler([], num_samples=2)), (ValueError, ZeroDivisionError)), (lambda d: d.RandomSampler([1], num_samples=0), ValueError), (lambda d: d.RandomSampler([1], 1), TypeError),
    (lambda d: d.BatchSampler([1], 0, False), ValueError), (lambda d: d.BatchSampler([1], 1, 0), ValueError), (lambda d: d.BatchSampler([1], True, False), ValueError),
    (lambda d: d.WeightedRandomSampler([1.0], 0), ValueError), (lambda d: d.WeightedRandomSampler([[1.0]], 1), ValueError),
    (lambda d: d.WeightedRandomSampler([1.0], 1, replacement=1), ValueError), (lambda d: d.DistributedSampler([1], 2, 2), ValueError),
    (lambda d: d.StackDataset(), ValueError), (lambda d: d.StackDataset([1], [1, 2]), ValueError), (lambda d: d.StackDataset([1], x=[1]), ValueError),
    (lambda d: d.random_split(range(3), [1, 1]), ValueError)])
def test_arguments_that_are_refused(torch, make, error):
    for package in torch, ours:
        with pytest.raises(error):
            make(data_of(package))


@pytest.mark.parametrize('lengths', [[3, 7], [0.5, 0.5], [0.3, 0.3, 0.4], [0.25, 0.25, 0.5], [10], [1.0]])
def test_random_split(torch, lengths):
    parts = [[sorted(part) for part in data_of(package).random_split(range(10), lengths, generator=package.Generator().manual_seed(1))]
             for package in (torch, ours)]
    assert [len(part) for part in parts[0]] == [len(part) for part in parts[1]] and sorted(sum(parts[1], [])) == list(range(10))


def test_a_shuffled_epoch_of_several_processes():
    def shares(epoch):
        samplers = [data_of(ours).DistributedSampler(range(10), 3, rank, seed=5) for rank in range(3)]
        for sampler in samplers:
            sampler.set_epoch(epoch)
        return [list(sampler) for sampler in samplers]
    assert set(sum(shares(0), [])) == set(range(10)) and shares(0) == shares(0) != shares(1)
    with pytest.raises(RuntimeError, match='give num_replicas and rank'):
        data_of(ours).DistributedSampler(range(3))


def test_datasets_add_up_and_can_be_annotated():
    data = data_of(ours)
    assert list(data.DataLoader(rows(ours) + rows(ours), 20))[0][0].shape == (20,)
    assert isinstance(stream(ours, 1), data.Dataset) and data.Dataset[tenon.Tensor] and data.Sampler[int]
    with pytest.raises(TypeError, match='ChainDataset'):
        data.ConcatDataset([stream(ours, 1)])
    with pytest.raises(TypeError, match='ConcatDataset'):
        list(data.ChainDataset([range(3)]))


def test_no_name_is_silently_missing(torch):
    mine = data_of(ours)
    for name in data_of(torch).__all__:
        if not name.startswith('_') and not hasattr(mine, name):
            with pytest.raises(AttributeError, match='not offered'):
                getattr(mine, name)
    for module, names in {'dataloader': 'DataLoader default_collate', 'dataset': 'Dataset random_split', 'sampler': 'Sampler', 'distributed': 'DistributedSampler'}.items():
        found = __import__(f'tenon.torch.utils.data.{module}', fromlist=names.split())
        assert all(hasattr(found, name) for name in names.split())
