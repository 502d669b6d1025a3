"""torch.special's Bessel functions beside mpmath, which PyTorch brings along: PyTorch's own J and Y have six digits only."""
import math

import pytest

import tenon.torch as ours

POINTS = [1e-8, 0.003, 0.7, 1.999, 2.001, 2.19, 2.21, 3.39, 3.41, 3.999, 4.001, 7.08, 12.5, 21.2, 60.3, 512.25]
SECOND = {'bessel_y0': ('bessely', 0), 'bessel_y1': ('bessely', 1), 'modified_bessel_k0': ('besselk', 0), 'modified_bessel_k1': ('besselk', 1)}
FIRST = {'bessel_j0': ('besselj', 0), 'bessel_j1': ('besselj', 1), 'airy_ai': ('airyai',)}


@pytest.mark.parametrize('name', [*FIRST, *SECOND])
def test_values(torch, name):
    import mpmath
    function, *order = (FIRST | SECOND)[name]
    points = POINTS + ([-x for x in POINTS] if name in FIRST else [])
    got = getattr(ours.special, name)(ours.tensor(points, dtype=ours.float64)).tolist()
    for x, value in zip(points, got):
        wanted = float(mpmath.re(getattr(mpmath, function)(*order, mpmath.mpf(x))))
        assert value == pytest.approx(wanted, rel=2e-13, abs=2e-13 if abs(wanted) > 1e-3 else 1e-20 + 1e-10 * abs(wanted)), x


@pytest.mark.parametrize('name', ['bessel_y0', 'bessel_y1', 'modified_bessel_k0', 'modified_bessel_k1', 'scaled_modified_bessel_k0'])
def test_edges(name):
    pole = -math.inf if 'y' in name else math.inf
    edges = ours.tensor([0.0, -1.0, math.nan, math.inf])
    assert str(getattr(ours.special, name)(edges).tolist()) == str([pole, math.nan, math.nan, 0.0])


def test_scaled_and_derivative():
    x = ours.tensor([0.5, 3.0, 700.0], dtype=ours.float64, requires_grad=True)
    scaled = ours.special.scaled_modified_bessel_k1(x)
    assert scaled.tolist()[2] == pytest.approx(math.sqrt(math.pi / 1400) * (1 + 3 / 5600 - 15 / 2 / 5600 ** 2), rel=1e-9)
    (slope,) = ours.autograd.grad(ours.special.bessel_j0(x).sum(), x)
    assert slope.tolist() == pytest.approx((-ours.special.bessel_j1(x)).tolist(), abs=1e-12)
    with pytest.raises(ValueError, match='complex'):
        ours.special.bessel_j0(ours.ones(2, dtype=ours.complex64))
