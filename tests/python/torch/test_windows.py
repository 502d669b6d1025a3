"""unfold is a view in every layout, and its gradient adds up what windows share."""
import warnings

import numpy as np
import pytest

import tenon.torch as ours

LAYOUTS = [((7,), (0,)), ((5, 9), (0, 1)), ((5, 9), (1, 0)), ((4, 6, 8), (2, 0, 1))]


def windows(values, dim, size, step):
    found = np.moveaxis(np.lib.stride_tricks.sliding_window_view(values, size, axis=dim), dim, dim)
    return found[(slice(None),) * dim + (slice(None, None, step),)]


@pytest.mark.parametrize(('shape', 'order'), LAYOUTS)
@pytest.mark.parametrize(('size', 'step'), [(1, 1), (3, 1), (4, 2), (2, 4)])
def test_unfold(shape, order, size, step):
    rng = np.random.default_rng(0)
    x = ours.from_numpy(rng.normal(size=shape)).permute(*order)
    values = np.asarray(x)
    for dim in range(x.ndim):
        expected = windows(values, dim, size, step)
        x.requires_grad_()
        x.grad = None
        found = ours.unfold(x, dim, size, step)
        assert found.shares_memory(x)
        assert np.array_equal(np.asarray(found.detach()), expected)
        weight = rng.normal(size=expected.shape)
        found.backward(ours.from_numpy(weight))
        sums = np.zeros(values.size)
        np.add.at(sums, windows(np.arange(values.size).reshape(values.shape), dim, size, step), weight)
        assert np.asarray(x.grad).reshape(-1) == pytest.approx(sums)
        x = x.detach()


def test_unfold_of_more_windows_than_are_added_one_by_one():
    x = ours.arange(300, dtype=ours.float64).requires_grad_()
    ours.unfold(x, 0, 100, 1).sum().backward()
    counts = [min(i + 1, 100, 300 - i) for i in range(300)]
    assert x.grad.tolist() == counts


def test_unfold_has_second_derivatives():
    x = ours.arange(6, dtype=ours.float64).requires_grad_()
    first, = ours.autograd.grad((ours.unfold(x, 0, 3, 1) ** 3).sum(), x, create_graph=True)
    first.sum().backward()
    assert x.grad.tolist() == [6.0 * i * n for i, n in enumerate((1, 2, 3, 3, 2, 1))]


def test_vmap_runs_unfold_once():
    x = ours.arange(60, dtype=ours.float32).reshape(3, 4, 5)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        found = ours.vmap(lambda row: ours.unfold(row, 1, 3, 2))(x)
    assert found.tolist() == ours.unfold(x, 2, 3, 2).tolist()
    with pytest.raises(IndexError, match='outside the 20 elements'):
        ours.vmap(lambda row: ours.as_strided(row, (3, 4), (8, 1), 1))(x)


@pytest.mark.parametrize('offset', [-3, -1, 0, 2])
@pytest.mark.parametrize('shape', [(4,), (2, 4), (3, 2, 3), (2, 0)])
def test_diag_embed(offset, shape):
    x = ours.from_numpy(np.random.default_rng(0).normal(size=shape))
    found = ours.diag_embed(x, offset)
    assert found.is_contiguous() and found.shape == (*shape[:-1], *2 * (shape[-1] + abs(offset),))
    assert np.array_equal(np.asarray(ours.diagonal(found, offset, -2, -1)), np.asarray(x))
    assert float(found.abs().sum()) == pytest.approx(float(x.abs().sum()))
    assert ours.equal(ours.diag_embed(x.clone().requires_grad_(), offset), found)  # which is made otherwise
