"""Binomial and Poisson variables follow their distributions, for many trials as for few. The seeds are fixed."""
import math

import numpy as np
import pytest

import tenon.torch as torch


def excess(drawn, probabilities):
    """Pearson's χ² beyond its mean, in standard deviations, over outcomes that are expected five times."""
    expected = np.asarray(probabilities) * drawn.size
    seen = np.bincount(drawn.astype(int), minlength=expected.size)
    often = expected >= 5
    expected, seen = (np.append(each[often], each[~often].sum()) for each in (expected, seen))
    kept = expected > 0.5
    freedom = max(kept.sum() - 1, 1)
    return (((seen - expected)[kept] ** 2 / expected[kept]).sum() - freedom) / math.sqrt(2 * freedom)


def binomial(n, p):
    def log(k):
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
    return [math.exp(log(k)) for k in range(n + 1)]


@pytest.mark.parametrize(('n', 'p'), [(1, 0.3), (5, 0.5), (7, 0.9), (30, 0.4), (100, 0.02), (1000, 0.5), (1000, 0.99), (200, 0.0501), (50, 0.999)])
def test_binomial(n, p):
    torch.manual_seed(1)
    drawn = np.asarray(torch.binomial(torch.full((20000,), float(n), dtype=torch.float64), torch.full((20000,), p, dtype=torch.float64)))
    assert drawn.min() >= 0 and drawn.max() <= n
    assert excess(drawn, binomial(n, p)) < 4


@pytest.mark.parametrize('rate', [0.5, 3.0, 9.5, 12.0, 200.0])
def test_poisson(rate):
    torch.manual_seed(1)
    drawn = np.asarray(torch.poisson(torch.full((20000,), rate, dtype=torch.float64)))
    assert excess(drawn, [math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)) for k in range(400)]) < 4


def test_any_number_of_trials_takes_no_longer():
    torch.manual_seed(1)
    drawn = torch.binomial(torch.full((1000,), 1e15, dtype=torch.float64), torch.full((1000,), 0.25, dtype=torch.float64)) / 1e15
    assert drawn.mean().item() == pytest.approx(0.25, abs=1e-8) and 0 < drawn.std().item() < 1e-7


def test_binomial_at_its_edges():
    n, p = torch.tensor([5.0, 5, 5, -1, math.inf, 5, 2.5, 0]), torch.tensor([0.0, 1, 2, 0.5, 0.5, math.nan, 1, 0.5])
    found = torch.binomial(n, p).tolist()
    assert found[:2] == [0, 5] and found[6:] == [2, 0] and all(map(math.isnan, found[2:6]))
    assert torch.binomial(torch.ones(0), torch.ones(0)).shape == (0,)
