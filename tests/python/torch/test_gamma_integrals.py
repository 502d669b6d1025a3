"""torch.igamma and igammac beside mpmath, which PyTorch brings along: PyTorch's own have ten digits where a is large."""
import math

import pytest

import tenon.torch as ours

PLACES = [(a, a * ratio) for a in (0.01, 0.5, 1.0, 2.5, 9.9, 10.1, 40.0, 333.0, 5e3) for ratio in (1e-3, 0.5, 0.95, 1.0, 1.05, 2.0)]


@pytest.mark.parametrize('upper', [False, True])
def test_values(torch, upper):
    import mpmath
    function = ours.igammac if upper else ours.igamma
    found = function(*(ours.tensor(each, dtype=ours.float64) for each in zip(*PLACES))).tolist()
    for (a, x), value in zip(PLACES, found):
        exact = float(mpmath.gammainc(a, x if upper else 0, mpmath.inf if upper else x, regularized=True))
        assert value == pytest.approx(exact, rel=2e-13 if exact > 1e-3 else 1e-10, abs=1e-300), (a, x)


def test_ends():
    def both(a, x):
        return [function(ours.tensor(a), ours.tensor(x)).item() for function in (ours.igamma, ours.igammac)]
    inf = math.inf
    assert both(2.0, 0.0) == [0, 1] and both(0.0, 2.0) == [1, 0] and both(2.0, inf) == [1, 0] and both(inf, 2.0) == [0, 1]
    assert all(math.isnan(each) for a, x in ((0.0, 0.0), (-1.0, 2.0), (1.0, -2.0), (inf, inf)) for each in both(a, x))


def test_gradients():
    x = ours.tensor([0.3, 2.0, 12.0], dtype=ours.float64, requires_grad=True)
    a = ours.tensor([0.5, 2.0, 11.0], dtype=ours.float64)
    assert ours.autograd.gradcheck(lambda x: ours.igamma(a, x), (x,)) and ours.autograd.gradcheck(lambda x: ours.igammac(a, x), (x,))
    assert ours.autograd.gradgradcheck(lambda x: ours.igamma(a, x), (x,))
    with pytest.raises(NotImplementedError, match='first argument'):
        ours.igamma(x, a).sum().backward()
