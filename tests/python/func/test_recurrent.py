"""vmap of ops that walk along a sequence, compared with a loop: values and gradients, for every choice of what differs between
entries."""
import itertools
import warnings

import numpy as np
import pytest

import tenon
from tenon.func import vmap

ENTRIES, STEPS, BATCH, WIDTH = 3, 4, 2, 3


def drawn(rng, is_batch, *shape):
    return tenon.tensor(rng.standard_normal((ENTRIES, *shape) if is_batch else shape))


def compare(op, given, which, rtol=1e-10):
    with warnings.catch_warnings():
        warnings.filterwarnings('error', message=r'\[vmap\]')
        found = vmap(op, tuple(0 if one else None for one in which))(*given)
    rows = [op(*(x[i] if one else x for x, one in zip(given, which))) for i in range(ENTRIES)]
    for mine, theirs in zip(found, zip(*rows), strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.stack([np.asarray(each) for each in theirs]), rtol=rtol, atol=1e-12)
    return found


@pytest.mark.parametrize('reverse', [False, True])
@pytest.mark.parametrize('which', [each for each in itertools.product([False, True], repeat=4) if any(each)])
def test_lstm(which, reverse):
    rng = np.random.default_rng(0)
    given = [drawn(rng, one, *shape) for one, shape in zip(which, [(STEPS, BATCH, 4 * WIDTH), (BATCH, WIDTH), (BATCH, WIDTH), (4 * WIDTH, WIDTH)])]
    compare(lambda *xs: tuple(tenon.lstm(*xs, reverse)), given, which)


@pytest.mark.parametrize('which', [(1, 0, 0), (0, 1, 1), (1, 1, 1)])
def test_gradient_of_lstm(which):
    rng = np.random.default_rng(1)
    x, h, c, weight = (drawn(rng, False, *shape) for shape in [(STEPS, BATCH, 4 * WIDTH), (BATCH, WIDTH), (BATCH, WIDTH), (4 * WIDTH, WIDTH)])
    y, state, gates = tenon.lstm(x, h, c, weight)
    given = [drawn(rng, which[0], *y.shape), drawn(rng, which[1], *y.shape), drawn(rng, which[2], *gates.shape)]
    compare(lambda *gs: tuple(tenon.lstm_backward(*gs, c, weight, state, gates, False)), given, which)


def test_lstm_of_no_steps():
    rng = np.random.default_rng(2)
    given = [drawn(rng, True, *shape) for shape in [(0, BATCH, 4 * WIDTH), (BATCH, WIDTH), (BATCH, WIDTH), (4 * WIDTH, WIDTH)]]
    assert [y.shape for y in vmap(tenon.lstm)(*given)] == [(ENTRIES, 0, BATCH, WIDTH)] * 2 + [(ENTRIES, 0, BATCH, 4 * WIDTH)]


@pytest.mark.parametrize('which', [(1, 0, 0, 0, 0), (0, 1, 1, 1, 1), (0, 0, 0, 0, 1), (1, 1, 1, 1, 1)])
def test_ctc_loss(which):
    rng = np.random.default_rng(3)

    def whole(is_batch, low, high, *shape):
        return tenon.tensor(rng.integers(low, high, (ENTRIES, *shape) if is_batch else shape))
    x, targets = drawn(rng, which[0], 7, BATCH, 4), whole(which[1], 1, 4, BATCH, 3)
    inputs, labels = whole(which[2], 6, 8, BATCH), whole(which[3], 0, 4, BATCH)
    if any(which[:4]):
        compare(lambda *xs: (tenon.ctc_loss(*xs),), [x, targets, inputs, labels], which[:4])
    compare(lambda g, *xs: (tenon.ctc_loss_backward(g, *xs, 0, True),), [drawn(rng, which[4], BATCH), x, targets, inputs, labels],
            (which[4], *which[:4]))
