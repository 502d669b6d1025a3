"""Results that PyTorch gives in rows are in rows here: programs take .view() of them."""
import pytest

import tenon.torch as torch

ALONG = {
    'softmax': lambda x, dim: x.softmax(dim), 'log_softmax': lambda x, dim: x.log_softmax(dim), 'cumsum': lambda x, dim: x.cumsum(dim),
    'cumprod': lambda x, dim: x.cumprod(dim), 'logcumsumexp': lambda x, dim: x.logcumsumexp(dim), 'cummax': lambda x, dim: x.cummax(dim),
    'cummin': lambda x, dim: x.cummin(dim), 'topk': lambda x, dim: x.topk(2, dim), 'kthvalue': lambda x, dim: x.kthvalue(2, dim),
    'median': lambda x, dim: x.median(dim),
    'index_reduce': lambda x, dim: x.index_reduce(dim, torch.tensor([1, 0]), x.narrow(dim, 0, 2), 'mean'),
}


@pytest.mark.parametrize('dim', [0, 1, 2])
@pytest.mark.parametrize('name', ALONG)
def test_along_a_dimension(name, dim):
    for x in torch.rand(2, 3, 4), torch.rand(4, 3, 2).permute(2, 1, 0):
        found = ALONG[name](x, dim)
        for result in found if isinstance(found, tuple) else [found]:
            assert result.view(-1).shape == (result.numel(),)


@pytest.mark.parametrize('dim', [0, 1, 2])
def test_gradients_of_softmax_along_a_dimension(dim):
    x = torch.rand(2, 3, 4, dtype=torch.float64, requires_grad=True)
    for function in torch.softmax, torch.log_softmax:
        assert torch.autograd.gradcheck(lambda x: function(x, dim), (x,))


def test_drawn_indices_are_in_rows():
    assert torch.multinomial(torch.ones(3, 10), 4).view(-1).shape == (12,)


def test_copies_of_views_are_in_rows():
    x = torch.rand(3, 4)
    assert torch.transpose_copy(x, 0, 1).view(-1).tolist() == x.T.reshape(-1).tolist()
    assert all(part.is_contiguous() for part in torch.unbind_copy(x, 1))
