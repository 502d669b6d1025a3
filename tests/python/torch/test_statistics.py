"""Statistics of many elements: what would need a table of all pairs, or a sort of all, is not done so."""
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
def test_all_comes_to_few_places(torch, reduce, include_self):
    """A hundred thousand elements for one place of five: no round for each."""
    generator = torch.Generator().manual_seed(3)
    src, index = 1 + torch.randn(100_000, generator=generator, dtype=torch.float64) / 1000, torch.full((100_000,), 3)
    index[:7] = torch.tensor([0, 1, 1, 0, 4, 1, 0])
    x = torch.randn(5, generator=generator, dtype=torch.float64)
    results = []
    for t in torch, ours:
        a, b, i = (each if t is torch else ours.tensor(each.numpy()) for each in (x, src, index))
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        y = t.scatter_reduce(a, 0, i, b, reduce, include_self=include_self)
        y.sum().backward()
        results.append([each.detach().tolist() for each in (y, a.grad, b.grad)])
    for mine, theirs in zip(*results):
        assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12)
