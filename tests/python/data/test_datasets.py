"""Datasets, samplers, collating, IDX files."""
import collections
import gzip
import struct

import numpy as np
import pytest

import tenon
from tenon import data


def pairs(n=10):
    return data.TensorDataset(tenon.arange(2 * n).reshape((n, 2)), tenon.arange(n))


def test_tensor_dataset():
    rows = pairs(4)
    assert len(rows) == 4 and [x.tolist() for x in rows[-1]] == [[6, 7], 3]
    for indices in ([2, 0], tenon.tensor([2, 0]), [-2, 0]):
        assert [x.tolist() for x in rows.batch(indices)] == [[[4, 5], [0, 1]], [2, 0]]
    x, _ = rows.batch(range(1, 3))
    assert x.tolist() == [[2, 3], [4, 5]] and not x.shares_memory(rows.tensors[0])
    for bad in (lambda: rows[4], lambda: rows.batch([4]), lambda: rows.batch([-5])):
        with pytest.raises(IndexError, match='of 4'):
            bad()
    with pytest.raises(ValueError, match='different numbers of rows'):
        data.TensorDataset(tenon.ones(2), tenon.ones(3))
    with pytest.raises(TypeError, match='asarray'):
        data.TensorDataset(np.ones(2))
    with pytest.raises(ValueError, match='at least one tensor'):
        data.TensorDataset()


def test_parts_of_datasets():
    part = data.Subset(pairs(), [3, 1, 4])
    assert len(part) == 3 and part[2][1].item() == 4
    assert [x[1].tolist() for x in data.DataLoader(part, batch_size=2)] == [[3, 1], [4]]
    with pytest.raises(IndexError):
        data.Subset(pairs(), [10])
    both = data.ConcatDataset([range(3), 'ab'])
    assert [both[i] for i in range(len(both))] == [0, 1, 2, 'a', 'b'] and both[-1] == 'b'
    with pytest.raises(IndexError):
        both[5]
    a, b = data.random_split(range(10), [7, 3], tenon.Generator(5))
    assert sorted([*a.indices, *b.indices]) == list(range(10)) and (len(a), len(b)) == (7, 3)
    assert data.random_split(range(10), [7, 3], tenon.Generator(5))[0].indices == a.indices
    assert [len(part) for part in data.random_split(range(10), [0.5, 0.25, 0.25])] == [6, 2, 2]
    for bad in ([7, 4], [0.5, 0.6], [11, -1]):
        with pytest.raises(ValueError, match='sum to'):
            data.random_split(range(10), bad)


def test_samplers():
    sampler = data.RandomSampler(range(50), seed=3)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == list(range(50)) and first != second and first != list(range(50))
    assert list(data.RandomSampler(range(50), seed=3)) == first != list(data.RandomSampler(range(50), seed=4))
    assert list(data.BatchSampler(data.SequentialSampler(range(5)), 2)) == [[0, 1], [2, 3], [4]]
    batches = data.BatchSampler(range(5), 2, drop_last=True)
    assert list(batches) == [[0, 1], [2, 3]] and len(batches) == 2
    weighted = collections.Counter(data.WeightedRandomSampler([1, 0, 3], 4000))
    assert set(weighted) == {0, 2} and abs(weighted[2] / 4000 - 0.75) < 0.03
    with pytest.raises(ValueError, match='negative'):
        data.WeightedRandomSampler([1, -1], 3)


def test_collate():
    Point = collections.namedtuple('Point', 'x y')
    batch = data.default_collate([{'a': 1, 'b': ('t', Point(1.5, np.ones(2)))}, {'a': 2, 'b': ('u', Point(2.5, np.zeros(2)))}])
    assert batch['a'].tolist() == [1, 2] and batch['b'][0] == ['t', 'u']
    assert isinstance(batch['b'][1], Point) and batch['b'][1].x.tolist() == [1.5, 2.5]
    assert batch['b'][1].y.tolist() == [[1, 1], [0, 0]] and batch['b'][1].y.dtype == tenon.float64
    for bad, message in (([tenon.ones(2), tenon.ones(3)], 'shapes'), ([(1,), (1, 2)], 'fields'), ([{'a': 1}, {'b': 1}], 'keys')):
        with pytest.raises(ValueError, match=message):
            data.default_collate(bad)
    with pytest.raises(TypeError, match='collate_fn'):
        data.default_collate([object()])


def idx(code, shape, body, pack=False):
    raw = struct.pack(f'>HBB{len(shape)}I', 0, code, len(shape), *shape) + body
    return gzip.compress(raw) if pack else raw


def test_idx_files(tmp_path):
    path = tmp_path / 'x'
    for pack in (False, True):
        path.write_bytes(idx(0x08, (2, 3), bytes(range(6)), pack))
        x = data.read_idx(path)
        assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and x.dtype == tenon.uint8
    path.write_bytes(idx(0x0c, (2,), struct.pack('>ii', -5, 70000)))
    assert data.read_idx(path).tolist() == [-5, 70000]
    path.write_bytes(idx(0x0e, (1,), struct.pack('>d', 2.5)))
    assert data.read_idx(str(path)).tolist() == [2.5]
    path.write_bytes(idx(0x08, (1,) * 16, b'a'))
    assert data.read_idx(path).shape == (1,) * 16
    packed = idx(0x08, (4,), b'', True) + gzip.compress(b'ab') + gzip.compress(b'cd')
    path.write_bytes(packed + bytes(1000))  # several members, followed by zeros
    assert bytes(data.read_idx(path).tolist()) == b'abcd'


@pytest.mark.parametrize('raw, message', [
    (b'', 'the magic number'), (b'\1\0\x08\1', 'other than 0'), (b'\0\0\x07\1', 'element type 7'), (b'\0\0\x08\0', '0 dimensions'),
    (b'\0\0\x08\2\0\0', 'the sizes'), (idx(8, (3,), b'ab'), '1 bytes early|more than'), (idx(8, (1,), b'ab'), 'bytes behind'),
    (idx(0x0e, (0xffffffff,) * 4, b''), 'the sizes overflow'), (idx(8, (2**31,), b''), 'more than the file can hold'),
    (idx(8, (2,), b'ab', True)[:-9], 'cut off'),
    (b'\x1f\x8bjunk', 'byte [0-9]+: unknown compression method'),
    (idx(8, (2,), b'ab', True) + b'more', 'behind the compressed data'), (idx(8, (1,) * 17, b'a'), '17 dimensions'), (idx(8, (4,), b'abcd', True)[:-1], 'cut off')])
def test_broken_idx_files(tmp_path, raw, message):
    path = tmp_path / 'broken'
    path.write_bytes(raw)
    with pytest.raises(tenon.DataLossError, match=message) as error:
        data.read_idx(path)
    assert str(path) in str(error.value)


def test_fashion_mnist(tmp_path):
    with pytest.raises(tenon.IoError, match='dataset-fashion-mnist'):
        data.FashionMNIST(tmp_path)
    for part, n in (('train', 3), ('t10k', 2)):
        (tmp_path / f'{part}-images-idx3-ubyte.gz').write_bytes(idx(8, (n, 28, 28), bytes([255]) * 784 * n, True))
        (tmp_path / f'{part}-labels-idx1-ubyte.gz').write_bytes(idx(8, (n,), bytes(range(n)), True))
    train = data.FashionMNIST(tmp_path)
    assert len(train) == 3 and train[1][0].shape == (1, 28, 28) and train[1][1].item() == 1
    images, labels = train.batch([0, 2])
    assert images.shape == (2, 1, 28, 28) and images.max().item() == 1 and labels.tolist() == [0, 2]
    assert len(data.FashionMNIST(tmp_path, train=False)) == 2
    (tmp_path / 't10k-labels-idx1-ubyte.gz').write_bytes(idx(8, (3,), bytes(3), True))
    with pytest.raises(tenon.DataLossError, match='do not match'):
        data.FashionMNIST(tmp_path, train=False)
