"""Tenon and NumPy on the same memory: arrays become tensors and come back without a copy.

    python numpy_interop.py
"""
import numpy as np

import tenon


def main():
    # An array is shared, not copied; both sides see what either writes.
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = tenon.asarray(array)
    array[0, 0] = 10
    x[1, 2] = 20
    print('shared:', x[0, 0].item(), array[1, 2])

    # Views and strides are kept; tenon.tensor always copies.
    print('a column of it:', tenon.asarray(array[:, 1]).tolist(), 'strides', tenon.asarray(array.T).strides)
    print('a copy is its own:', not tenon.tensor(array).shares_memory(x))

    # The way back: np.asarray, np.from_dlpack and .numpy() share memory too.
    for back in (np.asarray(x), np.from_dlpack(x), x.numpy()):
        assert np.shares_memory(back, array)
    print('back again:', np.asarray(x).tolist())

    # NumPy's functions accept tensors; tenon's functions require tensors, so that no copy is hidden.
    print('np.median:', np.median(x), 'tenon.mean:', tenon.mean(x).item())

    # Least squares by gradient descent on data made by NumPy.
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 3))
    truth = np.array([1.0, -2.0, 0.5])
    values = points @ truth + 0.01 * rng.standard_normal(200)
    a, b = tenon.asarray(points), tenon.asarray(values)
    w = tenon.zeros(3, dtype=tenon.float64, requires_grad=True)
    for _ in range(200):
        loss = ((a @ w - b) ** 2).mean()
        w.grad = None
        loss.backward()
        with tenon.no_grad():
            w -= 0.2 * w.grad
    exact = np.linalg.lstsq(points, values, rcond=None)[0]
    print('gradient descent:', np.round(w.detach().numpy(), 4), 'numpy.linalg:', np.round(exact, 4))
    tenon.testing.assert_close(w, exact, rtol=1e-6, atol=1e-8)


if __name__ == '__main__':
    main()
