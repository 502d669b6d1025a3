"""Statistics of many elements: what would need a table of all pairs, or a sort of all, is not done so."""
import math

import numpy as np
import pytest

import tenon.torch as ours


@pytest.mark.parametrize('shape, dim', [((200_000,), 0), ((3, 50_001), 1), ((4001, 5), 0), ((1,), 0), ((2, 1), 1)])
def test_mode(torch, shape, dim):
    x = torch.randint(0, 50, shape, generator=torch.Generator().manual_seed(1)).float()
    found, expected = ours.mode(ours.tensor(x.numpy()), dim), torch.mode(x, dim)
    assert found.values.tolist() == expected.values.tolist()
    assert ours.gather(ours.tensor(x.numpy()), dim, found.indices.unsqueeze(dim)).squeeze(dim).tolist() == found.values.tolist()


@pytest.mark.parametrize('dtype', ['float32', 'float16', 'int64'])
@pytest.mark.parametrize('largest', [True, False])
def test_topk(torch, dtype, largest):
    x = torch.randn(7, 3001, generator=torch.Generator().manual_seed(2)).mul(100).to(getattr(torch, dtype))
    if dtype == 'float16':
        x[2, 5] = float('nan')
    found, expected = ours.topk(ours.tensor(x.numpy()), 40, 1, largest), torch.topk(x, 40, 1, largest)
    assert ours.allclose(found.values.double(), ours.tensor(expected.values.double().numpy()), equal_nan=True)
    assert ours.allclose(ours.gather(ours.tensor(x.numpy()), 1, found.indices).double(), found.values.double(), equal_nan=True)


@pytest.mark.parametrize('reduce', ['prod', 'amax', 'amin', 'mean'])
@pytest.mark.parametrize('include_self', [True, False])
def test_many_elements_reduce_into_few_places(torch, reduce, include_self):
    """A hundred thousand elements for one place of five: no round for each."""
    generator = torch.Generator().manual_seed(3)
    src, index = 1 + torch.randn(100_000, generator=generator, dtype=torch.float64) / 1000, torch.full((100_000,), 3)
    index[:7] = torch.tensor([0, 1, 1, 0, 4, 1, 0])
    x = torch.randn(5, generator=generator, dtype=torch.float64)
    results = []
    for t in ours, torch:
        a, b, i = (each if t is torch else ours.tensor(each.numpy()) for each in (x, src, index))
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        y = t.scatter_reduce(a, 0, i, b, reduce, include_self=include_self)
        y.sum().backward()
        results.append([each.detach().tolist() for each in (y, a.grad, b.grad)])
    for mine, theirs in zip(*results):
        assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def drawn(torch, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


MANY = {
    'logcumsumexp': (lambda t, x: t.logcumsumexp(x, 0), 200_000), 'logcumsumexp far apart': (lambda t, x: t.logcumsumexp(x * 1000, 0), 50_000),
    'isin': (lambda t, x: t.isin((x * 1000).long(), t.arange(0, 5000, 3)), 200_000), 'isin of floats': (lambda t, x: t.isin(x, x[::7]), 100_000),
    'cdist': (lambda t, x: t.cdist(x[:6000].reshape(1500, 4), x[6000:].reshape(1500, 4)), 12_000),
    'segment_reduce': (lambda t, x: t.segment_reduce(x, 'max', lengths=t.full((2000,), 50)), 100_000),
    'embedding_bag': (lambda t, x: t.nn.functional.embedding_bag(t.arange(90_000) % 1000, x.reshape(1000, 30), t.arange(0, 90_000, 9), mode='max'), 30_000),
    'index_reduce': (lambda t, x: t.zeros(7, 10, dtype=t.float64).index_reduce(0, t.arange(10_000) % 7, x.reshape(10_000, 10), 'amin', include_self=False), 100_000),
}


@pytest.mark.parametrize('name', MANY)
def test_many_elements(torch, name):
    function, n = MANY[name]
    x = drawn(torch, n)
    results = []
    for t in ours, torch:
        leaf = (x.clone() if t is torch else ours.tensor(x.numpy())).requires_grad_()
        y = function(t, leaf)
        if y.dtype is t.float64:
            (y * y).sum().backward()
        results.append((y.detach().reshape(-1).tolist(), [] if leaf.grad is None else leaf.grad.tolist()))
    for mine, theirs in zip(*results):
        assert mine == pytest.approx(theirs, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize('p', [0.0, 1.0, 3.0, float('inf')])
@pytest.mark.parametrize('shape', [(600, 8), (2, 301, 5), (3, 1, 700)])
def test_distances_in_blocks(torch, p, shape):
    """More differences than the cache holds, with no gradient asked for."""
    x, y = drawn(torch, *shape), drawn(torch, *shape[:-2], 500, shape[-1]) / 2
    found, expected = ours.cdist(ours.tensor(x.numpy()), ours.tensor(y.numpy()), p), torch.cdist(x, y, p)
    assert found.numpy() == pytest.approx(expected.numpy(), rel=1e-10)


def test_multinomial_of_many(torch):
    weights = ours.tensor([[0.0, 1, 3], [2, 2, 0]])
    found = ours.multinomial(weights, 200_000, replacement=True)
    shares = [[(row == k).double().mean().item() for k in range(3)] for row in found]
    assert shares[0] == pytest.approx([0, 0.25, 0.75], abs=0.01) and shares[1] == pytest.approx([0.5, 0.5, 0], abs=0.01)
    assert ours.multinomial(ours.ones(100_000), 100_000, replacement=True).unique().size() > (60_000,)


@pytest.mark.parametrize('dtype', ['float32', 'float64', 'float16', 'int32', 'int64'])
@pytest.mark.parametrize('shape, dim', [((3000, 40), 0), ((50, 200), 0), ((4, 300, 7), 1), ((6, 500), 1)])
def test_index_of_whole_rows(dtype, shape, dim):
    """An index that was expanded gives the bits of its copy, which goes element by element."""
    rng = np.random.default_rng(6)
    x = ours.tensor(rng.integers(-4, 5, tuple(9 if d == dim else n for d, n in enumerate(shape)))).to(getattr(ours, dtype))
    src = ours.tensor(rng.integers(-4, 5, shape)).to(getattr(ours, dtype))
    rows = tuple(n if d <= dim else 1 for d, n in enumerate(shape))
    index = ours.tensor(rng.integers(0, 8, rows)).expand(*shape)
    assert shape[dim + 1:] == () or 0 in index.stride()
    for include_self in True, False:
        for reduce in 'sum', 'mean', 'amax', 'amin':
            found, expected = (x.scatter_reduce(dim, i, src, reduce, include_self=include_self) for i in (index, index.contiguous()))
            assert found.equal(expected)
    assert x.scatter_add(dim, index, src).equal(x.scatter_add(dim, index.contiguous(), src))


@pytest.mark.parametrize('n', [65_536, 100_001, 300_000])
@pytest.mark.parametrize('kind', ['normal', 'ties', 'nan', 'integers', 'wide integers', 'one value', 'in order'])
def test_many_in_order(n, kind):
    """The median and the distinct values of rows that several threads sort, or nobody sorts."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal(n).astype('float32')
    x = {'normal': x, 'ties': np.round(x), 'nan': np.where(np.arange(n) == 5, np.nan, x), 'integers': rng.integers(-300, 300, n),
         'wide integers': rng.integers(-2**62, 2**62, n), 'one value': np.ones(n), 'in order': np.sort(x)}[kind]
    median = ours.median(ours.tensor(x)).item()
    assert median == np.sort(x)[(n - 1) // 2] if kind != 'nan' else median != median
    found = ours.unique(ours.tensor(x), return_inverse=True, return_counts=True)
    for mine, theirs in zip(found, np.unique(x, return_inverse=True, return_counts=True, equal_nan=False)):
        np.testing.assert_array_equal(mine.numpy(), theirs)
    order = ours.sort(ours.tensor(x), descending=True)
    np.testing.assert_array_equal(order.values.numpy(), np.sort(x)[::-1])
    np.testing.assert_array_equal(order.indices.numpy(), np.argsort(-x if kind != 'nan' else np.where(np.isnan(x), -np.inf, -x), kind='stable'))


def test_offsets_of_bags_are_checked():
    weight, index = ours.ones(3, 2), ours.tensor([0, 1, 2])
    for offsets in [1, 2], [0, 4], [0, 2, 1], [0, -1]:
        with pytest.raises(ValueError, match=r'\[embedding_bag\]'):
            ours.nn.functional.embedding_bag(index, weight, ours.tensor(offsets))
    with pytest.raises(IndexError, match=r'\[embedding_bag\] index 3'):
        ours.nn.functional.embedding_bag(index + 1, weight, ours.tensor([0]))


@pytest.mark.parametrize('dtype', ['float32', 'float64', 'int64', 'int8'])
@pytest.mark.parametrize('right', [False, True])
def test_searchsorted_in_one_row_and_row_by_row(dtype, right):
    rng, side = np.random.default_rng(0), 'right' if right else 'left'
    for n in (0, 1, 2, 3, 7, 33, 100):
        rows, values = np.sort(rng.integers(-20, 20, (5, n)), 1).astype(dtype), rng.integers(-25, 25, (5, 17)).astype(dtype)
        found = ours.searchsorted(ours.from_numpy(rows), ours.from_numpy(values), right=right)
        assert found.tolist() == [np.searchsorted(row, each, side).tolist() for row, each in zip(rows, values)]
        found = ours.searchsorted(ours.from_numpy(rows[0]), ours.from_numpy(values), right=right)
        assert found.tolist() == np.searchsorted(rows[0], values, side).tolist()


def test_searchsorted_puts_nan_last():
    row, values = ours.tensor([-1.0, 0.0, 0.0, 2.0, math.nan, math.nan]), ours.tensor([math.nan, -0.0, 3.0, -5.0])
    assert ours.searchsorted(row, values).tolist() == [4, 1, 4, 0]
    assert ours.searchsorted(row, values, right=True).tolist() == [6, 3, 4, 0]


@pytest.mark.parametrize(('shape', 'dim'), [((3,), 0), ((5, 3), 1), ((3, 5), 0), ((4, 3, 6), 1), ((2, 3, 3), -1)])
def test_cross_of_every_layout(shape, dim):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=shape), rng.normal(size=shape)
    for order in {tuple(range(len(shape))), tuple(reversed(range(len(shape))))}:
        back = tuple(np.argsort(order))
        x, y = (ours.from_numpy(np.ascontiguousarray(each.transpose(order))).permute(*back) for each in (a, b))
        assert np.asarray(ours.cross(x, y, dim)) == pytest.approx(np.cross(a, b, axis=dim))


@pytest.mark.parametrize('name', ['quantile', 'nanquantile'])
def test_a_quantile_beside_infinity(torch, name):
    rows = [[-math.inf, 1.0, 2.0, math.inf], [-math.inf, -math.inf, 1.0, 2.0], [1.0, 2.0, math.inf, math.inf]]
    for q in 0.1, 0.2, 0.3, 0.5, 0.8:
        found, wanted = (getattr(each, name)(each.tensor(rows), q, 1).tolist() for each in (ours, torch))
        assert str(found) == str(wanted), q
