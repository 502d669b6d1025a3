"""The zeta function below 0, where its terms are added up by a reflection: as many as there are, in the same time."""
import math

import pytest

import tenon
import tenon.torch as torch


@pytest.mark.parametrize('s', [2, 3, 7])
@pytest.mark.parametrize('q', [-0.3, -1e-10, -1 + 1e-10, -2.5, -7.75])
def test_is_the_sum_of_its_terms(s, q):
    above = math.ceil(-q)
    wanted = sum((q + k) ** -s for k in range(above)) + torch.special.zeta(torch.tensor(float(s), dtype=torch.float64), q + above).item()
    assert torch.special.zeta(s, torch.tensor(q, dtype=torch.float64)).item() == pytest.approx(wanted, rel=1e-12)


def test_far_below():
    q = torch.tensor([-1e9 + 0.5, -1e15 + 0.5, 0.5, -2.0], dtype=torch.float64)
    assert torch.special.zeta(2.0, q).tolist()[:3] == pytest.approx([math.pi ** 2, math.pi ** 2, math.pi ** 2 / 2], rel=1e-8)
    assert torch.special.zeta(2.0, q).tolist()[3] == math.inf


def test_gradient_is_that_of_the_terms():
    q = torch.tensor([-3.3, -0.2, 1.7], dtype=torch.float64, requires_grad=True)
    torch.special.zeta(3.0, q).sum().backward()
    wanted = -3 * torch.special.zeta(4.0, q.detach())
    assert q.grad.tolist() == pytest.approx(wanted.tolist(), rel=1e-9)


def test_polygamma_far_below():
    x = torch.tensor(-1e8 + 0.25, dtype=torch.float64)
    assert torch.polygamma(1, x).item() == pytest.approx((math.pi / math.sin(math.pi * 0.25)) ** 2, rel=1e-7)


def test_vmap():
    q = torch.tensor([-1.5, 2.5], dtype=torch.float64)
    assert tenon.func.vmap(lambda each: torch.special.zeta(3.0, each))(q).tolist() == pytest.approx(torch.special.zeta(3.0, q).tolist(), rel=1e-12)
