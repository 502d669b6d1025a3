"""Images made smaller without aliases, and images of bytes. expressions.txt compares values and gradients with PyTorch."""
import numpy as np
import pytest

import tenon.torch as ours

F = ours.nn.functional


def test_every_pixel_counts_as_much_as_it_covers():
    x = np.random.default_rng(0).normal(size=(2, 3, 12, 8))
    found = F.interpolate(ours.from_numpy(x), size=(3, 2), mode='bilinear', antialias=True)
    weights = np.clip(1 - np.abs(np.arange(12) + 0.5 - (np.arange(3)[:, None] + 0.5) * 4) / 4, 0, None)
    rows = weights / weights.sum(1, keepdims=True)
    weights = np.clip(1 - np.abs(np.arange(8) + 0.5 - (np.arange(2)[:, None] + 0.5) * 4) / 4, 0, None)
    columns = weights / weights.sum(1, keepdims=True)
    assert np.asarray(found) == pytest.approx(np.einsum('oh,nchw,pw->ncop', rows, x, columns), abs=1e-14)


@pytest.mark.parametrize('mode', ['bilinear', 'bicubic'])
@pytest.mark.parametrize('size', [(1, 1), (2, 5), (7, 3), (20, 9)])
def test_a_constant_stays(mode, size):
    found = F.interpolate(ours.full((1, 2, 9, 6), 3.0), size=size, mode=mode, antialias=True)
    assert found.shape == (1, 2, *size) and np.asarray(found) == pytest.approx(3.0, rel=1e-6)


def test_other_modes_refuse():
    with pytest.raises(ValueError, match='antialias'):
        F.interpolate(ours.ones(1, 1, 4, 4), size=(2, 2), antialias=True)
    with pytest.raises(ValueError, match='antialias'):
        F.interpolate(ours.ones(1, 1, 4), size=2, mode='linear', antialias=True)


@pytest.mark.pytorch
@pytest.mark.parametrize('antialias', [False, True])
@pytest.mark.parametrize('mode', ['bilinear', 'bicubic'])
@pytest.mark.parametrize('size', [(4, 5), (16, 11)])
def test_bytes(torch, mode, size, antialias):
    values = np.random.default_rng(0).integers(0, 256, (2, 3, 9, 8), dtype=np.uint8)
    theirs, found = (t.nn.functional.interpolate(t.from_numpy(values), size=size, mode=mode, antialias=antialias) for t in (torch, ours))
    assert str(found.dtype) == str(theirs.dtype) and found.shape == theirs.shape
    # PyTorch's weights are integers of 16 bits.
    assert np.abs(np.asarray(found).astype(int) - theirs.numpy().astype(int)).max() <= 2
