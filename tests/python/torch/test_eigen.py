"""torch.linalg.eig: A V = V Λ for matrices that are hard for the QR algorithm, beside NumPy's eigenvalues."""
import numpy as np
import pytest

import tenon.torch as ours

RANDOM = np.random.default_rng(0)
MATRICES = {
    'batch': RANDOM.normal(size=(3, 6, 6)), 'complex': RANDOM.normal(size=(2, 20, 20)) + 1j * RANDOM.normal(size=(2, 20, 20)),
    'cycle': np.roll(np.eye(7), 1, 0), 'antidiagonal': -np.eye(3)[::-1], 'jordan': np.eye(5) * 2 + np.eye(5, k=1), 'zero': np.zeros((4, 4)),
    'identity': np.eye(4), 'turns': np.kron(np.eye(2), [[0.0, 1.0], [-1.0, 0.0]]), 'large': RANDOM.normal(size=(8, 8)) * 1e150,
    'small': RANDOM.normal(size=(8, 8)) * 1e-150, 'graded': np.diag(10.0 ** np.arange(-8, 8)) @ RANDOM.normal(size=(16, 16)),
    'one': np.array([[3.0]]), 'none': np.zeros((2, 0, 0)), 'no batch': np.zeros((0, 3, 3)),
}


@pytest.mark.parametrize('name', MATRICES)
def test_decomposition(name):
    A = MATRICES[name]
    values, vectors = (x.numpy() for x in ours.linalg.eig(ours.tensor(A)))
    scale = abs(A).max() if A.size else 1.0
    assert values.shape == A.shape[:-1] and vectors.shape == A.shape and values.dtype == vectors.dtype == np.complex128
    assert np.all(abs(A @ vectors - vectors * values[..., None, :]) <= 1e-13 * scale)
    assert np.allclose(np.linalg.norm(vectors, axis=-2), 1)
    gaps = abs(np.linalg.eigvals(A)[..., :, None] - ours.linalg.eigvals(ours.tensor(A)).numpy()[..., None, :])
    assert np.all(gaps.min(-1, initial=np.inf) <= 1e-13 * scale) and np.all(gaps.min(-2, initial=np.inf) <= 1e-13 * scale)


def test_second_gradients():
    A = RANDOM.normal(size=(4, 4))

    def slope(A):
        x = ours.tensor(A, requires_grad=True)
        values, vectors = ours.linalg.eig(x)
        size = (ours.abs(values) ** 2).sum() + (ours.abs(vectors) ** 4).sum()
        (first,) = ours.autograd.grad(size, x, create_graph=True)
        return x, first
    x, first = slope(A)
    turn = RANDOM.normal(size=(4, 4))
    (second,) = ours.autograd.grad((first * ours.tensor(turn)).sum(), x)
    step = 1e-5 * turn
    numeric = (slope(A + step)[1].detach().numpy() - slope(A - step)[1].detach().numpy()) / 2e-5
    assert np.allclose(second.numpy(), numeric, rtol=1e-6, atol=1e-6)


def test_errors():
    for bad in (ours.ones(2, 3), ours.ones(2), ours.ones(2, 2, dtype=ours.int64), ours.full((2, 2), float('nan'))):
        with pytest.raises(ValueError, match='linalg.eig'):
            ours.linalg.eig(bad)
