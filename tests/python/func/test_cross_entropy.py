"""softmax_cross_entropy and its backward by batches and in forward mode."""
import numpy as np
import pytest
import tenon
from tenon.torch.func import jvp, vmap

rng = np.random.default_rng(3)
LOGITS, CHANGE = rng.normal(size=(2, 4, 5)), rng.normal(size=(2, 4, 5))
TARGET = np.array([[0, 4, 2, 1], [3, 3, 0, 2]])
WEIGHT = tenon.asarray(rng.uniform(0.5, 2, 5))


REDUCTIONS = 'none', 'sum', 'mean'


def of_rows(x, target, reduction):
    return tenon.softmax_cross_entropy(x, target, WEIGHT, reduction, 2)


@pytest.mark.parametrize('reduction', REDUCTIONS)
def test_batches_are_loops(reduction):
    def rows(x, target):
        return of_rows(x, target, reduction)

    x, target = tenon.asarray(LOGITS), tenon.asarray(TARGET)
    found = vmap(rows)(x, target)
    g = tenon.asarray(CHANGE[:, :, 0].copy() if reduction == 'none' else CHANGE[:, 0, 0].copy())
    back = vmap(tenon.softmax_cross_entropy_backward)(g, x, target, found[1], found[2])
    for i in range(2):
        each = rows(x[i], target[i])
        for a, b in zip(found, each, strict=True):
            np.testing.assert_allclose(np.asarray(a[i]), np.asarray(b), rtol=1e-14)
        np.testing.assert_allclose(np.asarray(back[i]), np.asarray(tenon.softmax_cross_entropy_backward(g[i], x[i], target[i], each[1], each[2])),
                                   rtol=1e-14)


@pytest.mark.parametrize('reduction', REDUCTIONS)
@pytest.mark.parametrize('which', [0, 2])
def test_tangents_match_differences(which, reduction):
    target = tenon.asarray(TARGET[0])

    def of(x):
        return of_rows(x, target, reduction)[which]

    x, change, h = tenon.asarray(LOGITS[0]), tenon.asarray(CHANGE[0]), 1e-5
    _, tangent = jvp(of, (x,), (change,))
    np.testing.assert_allclose(np.asarray(tangent), np.asarray((of(x + h * change) - of(x - h * change)) / (2 * h)), atol=1e-9)
