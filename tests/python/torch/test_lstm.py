"""Layers whose steps are one op, against PyTorch's modules."""
import numpy as np
import pytest

import tenon
from tenon.torch.nn.sequences import Weights, direction

# steps, batch, features, hidden units
SIZES = [(1, 1, 1, 1), (5, 1, 3, 4), (4, 3, 2, 7), (7, 16, 9, 33), (3, 40, 8, 64), (2, 2, 5, 160)]
NAMES = ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']


def drawn(torch, sizes, dtype):
    """x, h0, c0 and PyTorch's layer of both directions."""
    steps, batch, features, hidden = sizes
    torch.manual_seed(3)
    lstm = torch.nn.LSTM(features, hidden, bidirectional=True, dtype=dtype)
    return torch.randn(steps, batch, features, dtype=dtype), torch.randn(2, batch, hidden, dtype=dtype), \
        torch.randn(2, batch, hidden, dtype=dtype), lstm


def mine(x):
    return tenon.tensor(x.detach().numpy(), requires_grad=True)


def layer(x, h0, c0, weights, reverse=False):
    """y, h_n and c_n of one direction over x (T, B, I)."""
    steps, batch, features = x.shape
    y, state = direction('LSTM', tenon.reshape(x, (steps * batch, features)), [batch] * steps, [h0, c0], Weights(*weights), reverse)
    return tenon.reshape(y, (steps, batch, h0.shape[1])), *state


def close(got, wanted, tolerance):
    np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize('reverse', [False, True])
@pytest.mark.parametrize('sizes', SIZES, ids=str)
@pytest.mark.parametrize('dtype, tolerance', [('float32', 2e-5), ('float64', 1e-11)])
def test_one_direction_matches_that_of_a_layer(torch, sizes, reverse, dtype, tolerance):
    *given, lstm = drawn(torch, sizes, getattr(torch, dtype))
    given = [each.requires_grad_() for each in given]
    y, (h_n, c_n) = lstm(given[0], tuple(given[1:]))
    which, hidden = int(reverse), sizes[3]
    theirs = y[..., which * hidden:(which + 1) * hidden], h_n[which], c_n[which]
    weights = [getattr(lstm, name + '_reverse' * reverse) for name in NAMES]
    inputs = [mine(given[0]), *(mine(each[which]) for each in given[1:]), *map(mine, weights)]
    results = layer(*inputs[:3], inputs[3:], reverse)
    for got, wanted in zip(results, theirs, strict=True):
        close(got, wanted, tolerance)

    factors = [torch.randn_like(each) for each in theirs]
    sum((each * factor).sum() for each, factor in zip(theirs, factors)).backward()
    sum((each * tenon.tensor(factor.numpy())).sum() for each, factor in zip(results, factors)).backward()
    close(inputs[0].grad, given[0].grad, 20 * tolerance)
    for got, wanted in zip(inputs[1:3], given[1:], strict=True):
        close(got.grad, wanted.grad[which], 20 * tolerance)
    for got, wanted in zip(inputs[3:], weights, strict=True):
        close(got.grad, wanted.grad, 20 * tolerance)


def test_without_biases(torch):
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(3, 5, bias=False)
    x = torch.randn(4, 2, 3)
    state = tenon.zeros((2, 5))
    y, h_n, c_n = layer(mine(x), state, state, [mine(lstm.weight_ih_l0), mine(lstm.weight_hh_l0)])
    theirs, (theirs_h, theirs_c) = lstm(x)
    for got, wanted in ((y, theirs), (h_n, theirs_h[0]), (c_n, theirs_c[0])):
        close(got, wanted, 1e-5)


def test_no_steps():
    results = tenon.lstm(tenon.zeros((0, 2, 12)), tenon.ones((2, 3)), tenon.zeros((2, 3)), tenon.ones((12, 3)))
    assert [each.shape for each in results] == [(0, 2, 3), (0, 2, 3), (0, 2, 12)]


def test_threads_do_not_change_a_result():
    rng = np.random.default_rng(0)
    x, h0, c0, weight = (tenon.tensor(rng.normal(0, 0.3, shape).astype('f'), requires_grad=True)
                         for shape in ((6, 48, 512), (48, 128), (48, 128), (512, 128)))

    def run():
        results = tenon.lstm(x, h0, c0, weight)
        return [each.numpy() for each in [*(r.detach() for r in results), *tenon.autograd.grad(results[0].sum(), [x, h0, c0])]]
    before = tenon.num_threads()
    try:
        tenon.set_num_threads(1)
        alone = run()
        tenon.set_num_threads(2)
        for got, wanted in zip(run(), alone, strict=True):
            np.testing.assert_array_equal(got, wanted)
    finally:
        tenon.set_num_threads(before)
