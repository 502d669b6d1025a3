"""torch.special where results are extreme: beside mpmath, and at infinity."""
import math

import pytest

import tenon.torch as ours

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize('p', [1e-300, 1e-45, 1e-7, 0.001, 0.0999999, 0.1, 0.3, 0.7, 0.95, 0.999, 0.9999999])
def test_ndtri(torch, p):
    import mpmath
    with mpmath.workdps(40):
        exact = mpmath.mpf(p)
        share, other = (exact, 1) if p < 0.5 else (1 - exact, -1)
        y = ours.tensor(p, dtype=ours.float64, requires_grad=True)
        found = ours.special.ndtri(y)
        wanted = other * mpmath.findroot(lambda t: mpmath.log(mpmath.ncdf(t)) - mpmath.log(share), other * found.item())
        found.backward()
        assert found.item() == pytest.approx(float(wanted), rel=1e-14)
        assert y.grad.item() == pytest.approx(float(mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(wanted * wanted / 2)), rel=1e-11)


@pytest.mark.parametrize('name, points, wanted', [
    ('ndtri', [0.0, 1.0, -1e-38, 2.0, NAN], [-INF, INF, NAN, NAN, NAN]), ('i0', [INF, -INF, NAN], [INF, INF, NAN]),
    ('i1', [INF, -INF, NAN], [INF, -INF, NAN]), ('i0e', [INF, -INF, NAN], [0.0, 0.0, NAN]), ('i1e', [INF, -INF, NAN], [0.0, -0.0, NAN]),
    ('erfcx', [INF, -INF, NAN], [0.0, INF, NAN]), ('log_ndtr', [-INF, NAN], [-INF, NAN])])
def test_edges(name, points, wanted):
    assert str(getattr(ours.special, name)(ours.tensor(points)).tolist()) == str(wanted)


@pytest.mark.parametrize('dtype', [ours.float16, ours.bfloat16])
def test_logaddexp2_of_halves(dtype):
    x, y = (ours.tensor(values, dtype=dtype) for values in ([-1.0, -20.0], [-1.0, -24.0]))
    wanted = ours.logaddexp2(x.double(), y.double()).to(dtype)
    assert ours.logaddexp2(x, y).dtype is dtype and ours.logaddexp2(x, y).tolist() == wanted.tolist()
