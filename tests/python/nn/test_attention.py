"""Attention against its definition in NumPy."""
import math

import numpy as np
import pytest

import tenon
from tenon.nn import functional as F
from tenon.testing import assert_close

RNG = np.random.default_rng(11)


def array(*shape):
    return RNG.standard_normal(shape)


def defined(q, k, v, mask=None, causal=False, scale=None):
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


@pytest.mark.parametrize('lead', [(), (3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize('causal', [False, True])
def test_ranks(lead, causal):
    q, k, v = array(*lead, 4, 5), array(*lead, 6, 5), array(*lead, 6, 2)
    given = [tenon.asarray(x) for x in (q, k, v)]
    assert_close(F.scaled_dot_product_attention(*given, is_causal=causal), defined(q, k, v, causal=causal))
    for mask in (array(4, 6), array(*lead, 4, 6), array(*lead, 4, 6) > 0, np.arange(4)[:, None] > np.zeros(6)):
        assert_close(F.scaled_dot_product_attention(*given, tenon.asarray(mask), 0.0, causal, 0.3),
                     defined(q, k, v, mask, causal, 0.3))


def test_groups_of_heads():
    q, k, v = array(2, 6, 3, 4), array(2, 2, 5, 4), array(2, 2, 5, 4)
    y = F.scaled_dot_product_attention(*(tenon.asarray(x) for x in (q, k, v)))
    assert_close(y, defined(q, np.repeat(k, 3, 1), np.repeat(v, 3, 1)))


def test_dropout():
    q, k, v = (tenon.asarray(array(2, 4, 3, 4)), *(tenon.asarray(array(2, 2, 5, 4)) for _ in range(2)))
    mask = tenon.asarray(np.array([[True] * 5, [False] * 5, [True, False] * 2 + [True]]))
    kept = F.scaled_dot_product_attention(q, k, v, mask, 1e-9, True)
    assert_close(kept, F.scaled_dot_product_attention(q, k, v, mask, 0.0, True))
    ones = tenon.ones((1, 1, 2000, 1))
    dropped = F.scaled_dot_product_attention(ones, ones, ones, dropout_p=0.25, generator=tenon.Generator(5))
    assert dropped.std().item() > 0.005 and abs(dropped.mean().item() - 1) < 0.001
    again = F.scaled_dot_product_attention(ones, ones, ones, dropout_p=0.25, generator=tenon.Generator(5))
    assert_close(dropped, again)


def test_gradients_where_nothing_is_allowed():
    q, k, v = (tenon.asarray(array(1, 1, 3, 2)).requires_grad_() for _ in range(3))
    mask = tenon.asarray(np.array([[True] * 3, [False] * 3, [True] * 3]))
    for dropout in (0.0, 1e-9):
        F.scaled_dot_product_attention(q, k, v, mask, dropout).sum().backward()
        assert all(bool(tenon.isfinite(x.grad).all()) for x in (q, k, v))
        assert q.grad[0, 0, 1].tolist() == [0, 0]


def test_a_learned_bias_gets_its_gradient():
    q, k, v = (tenon.asarray(array(2, 2, 3, 4)) for _ in range(3))
    bias = tenon.zeros((2, 1, 3), dtype=tenon.float64).requires_grad_()
    F.scaled_dot_product_attention(q, k, v, bias)[..., 0].sum().backward()
    step = 1e-6
    for place in np.ndindex(2, 1, 3):
        change = np.zeros((2, 1, 3))
        change[place] = step
        up, down = (F.scaled_dot_product_attention(q, k, v, tenon.asarray(sign * change))[..., 0].sum().item() for sign in (1, -1))
        assert math.isclose(bias.grad[place].item(), (up - down) / (2 * step), rel_tol=1e-5, abs_tol=1e-8)


def test_bad_input():
    x = tenon.ones((2, 3, 4, 5))
    for arguments, error, words in (((x, x[0], x), ValueError, 'key has rank 3'),
                                    ((x, x[..., :2], x), ValueError, r'are not \(B, H, L, E\)'),
                                    ((x, x[:, :2], x[:, :2]), ValueError, '3 heads of q do not divide among 2'),
                                    ((x, x, x, tenon.ones((4, 7))), ValueError, 'broadcast'),
                                    ((x, x, x, tenon.ones((4, 4), dtype=tenon.int32)), ValueError, 'bool or floating'),
                                    ((x, x, x, None, 1.5), ValueError, 'dropout_p'),
                                    ((x, x, 3), TypeError, 'must be a Tensor')):
        with pytest.raises(error, match=words):
            F.scaled_dot_product_attention(*arguments)
