"""Gradients that op_db.py does not compare, because PyTorch's are refuted or lose digits: against differences, or its double
precision."""
import math

import pytest

import tenon.torch as ours


def numbers(*shape, dtype=None):
    """Fixed numbers that look random."""
    count = math.prod(shape)
    return ours.reshape(ours.sin(ours.arange(count, dtype=ours.float64) * 1.7 + 0.3), shape).to(dtype or ours.float64)


def check_slope(function, x):
    """The gradient of a sum of products with fixed numbers against central differences."""
    x = x.detach().requires_grad_()

    def total(x):
        found = function(x)
        return (found * numbers(*found.shape)).sum()
    (slope,) = ours.autograd.grad(total(x), x)
    for i in range(x.detach().reshape(-1).shape[0]):
        step = ours.reshape(ours.nn.functional.one_hot(ours.tensor(i), math.prod(x.shape)) * 1e-6, x.shape)
        numeric = (total(x.detach() + step).item() - total(x.detach() - step).item()) / 2e-6
        assert ours.reshape(slope, (-1,))[i].item() == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def test_as_strided_scatter():
    src, base = numbers(2, 2), numbers(3, 3)
    check_slope(lambda x: ours.as_strided_scatter(x, src, (2, 2), (2, 1), 1), base)
    check_slope(lambda x: ours.as_strided_scatter(base, x, (2, 2), (2, 1), 1), src)


def test_window_of_istft():
    z = ours.complex(numbers(3, 5, 4), numbers(3, 5, 4))
    check_slope(lambda window: ours.istft(z, 8, window=window, center=True), ours.abs(numbers(8)) + 0.5)


@pytest.mark.parametrize(('name', 'arguments', 'narrow', 'wide'), [
    ('logsumexp', (0,), 'complex64', 'complex128'), ('logcumsumexp', (0,), 'float32', 'float64'),
    ('renorm', (math.inf, 1, 0.5), 'complex64', 'complex128')])
def test_single_precision_keeps_its_digits(torch, name, arguments, narrow, wide):
    torch.manual_seed(0)
    x = (torch.randn(5, 4, dtype=getattr(torch, narrow)) * 5).requires_grad_()
    double = x.detach().to(getattr(torch, wide)).requires_grad_()
    (wanted,) = torch.autograd.grad((getattr(torch, name)(double, *arguments).abs() ** 2).sum(), double)
    mine = ours.tensor(x.detach().numpy(), requires_grad=True)
    (slope,) = ours.autograd.grad((ours.abs(getattr(ours, name)(mine, *arguments)) ** 2).sum(), mine)
    assert torch.allclose(torch.tensor(slope.numpy()).to(wanted.dtype), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize('rank', [2, 3])
def test_fractional_pooling(torch, rank):
    torch.manual_seed(0)
    for shape, kernel, size in (((9, 11, 13), (2, 3, 3), (5, 4, 6)), ((7, 9, 8), (1, 2, 3), (1, 5, 4))):
        x, samples = torch.randn(2, 3, *shape[:rank]), torch.rand(2, 3, rank)
        name = f'fractional_max_pool{rank}d'
        wanted = getattr(torch.nn.functional, name)(x, kernel[:rank], size[:rank], return_indices=True, _random_samples=samples)
        found = getattr(ours.nn.functional, name)(ours.tensor(x.numpy()), kernel[:rank], size[:rank], return_indices=True,
                                                  _random_samples=ours.tensor(samples.numpy()))
        assert [each.tolist() for each in found] == [each.tolist() for each in wanted]
    with pytest.raises(ValueError, match='either output_size or output_ratio'):
        getattr(ours.nn.functional, name)(ours.ones(1, 1, *shape[:rank]), 2)
