"""tenon.func against formulas by hand, and against PyTorch where there is one."""
import numpy as np
import pytest

import tenon
from tenon import func
from tenon.testing import assert_close

A = np.array([[1.0, 2.0], [3.0, -1.0]])
X = np.array([0.3, -0.7])


def f(x):
    return (x.sin() * x).sum()


def t(values, **options):
    return tenon.tensor(values, dtype=tenon.float64, **options)


def test_grad():
    expected = np.cos(X) * X + np.sin(X)
    assert_close(func.grad(f)(t(X)), expected)
    value, found = func.value_and_grad(f)(t(X))
    assert value.item() == pytest.approx((np.sin(X) * X).sum()) and not value.requires_grad and not found.requires_grad
    assert_close(found, expected)
    both = func.grad(lambda x, y, k=1: (k * x * y).sum(), argnums=(1, 0))(t(X), t(X * 2), k=3)
    assert_close(both, (3 * X, 6 * X))
    assert func.grad(lambda x, y: (x * 2).sum(), argnums=-1)(t(X), t(X)).tolist() == [0, 0]
    found, extra = func.grad(lambda x: (f(x), 'more'), has_aux=True)(t(X))
    assert extra == 'more'
    assert_close(found, expected)
    x = t(X)
    func.grad(f)(x)
    assert not x.requires_grad and x.grad is None


def test_grad_of_grad():
    third = func.grad(func.grad(func.grad(lambda x: x ** 4)))
    assert third(t(2.0)).item() == 48
    x, y = t([1.0, 2.0]), t([3.0, 4.0])
    # The inner function closes over the outer one's argument.
    outer = func.grad(lambda x: func.grad(lambda y: (x * x * y).sum())(y).sum())
    assert outer(x).tolist() == [2, 4]
    w = t([1.0, 2.0], requires_grad=True)
    func.grad(lambda x: (x ** 3).sum())(w).sum().backward()
    assert w.grad.tolist() == [6, 12]
    with tenon.no_grad():
        assert_close(func.grad(f)(t(X)), np.cos(X) * X + np.sin(X))


def test_vjp_and_jvp():
    a = t(A)
    y, pull = func.vjp(lambda x: a @ x, t(X))
    assert_close(y, A @ X)
    assert_close(pull(t([1.0, 10.0])), (A.T @ [1.0, 10.0],))
    assert_close(pull(t([1.0, 0.0])), (A[0],))
    y, pull = func.vjp(lambda x, z: (x * z, x.sum()), t(X), t(X + 1))
    assert_close(pull(t([1.0, 2.0]), t(3.0)), ([1.0, 2.0] * (X + 1) + 3, [1.0, 2.0] * X))
    y, slope = func.jvp(lambda x: a @ x.exp(), (t(X),), (t([1.0, 2.0]),))
    assert_close((y, slope), (A @ np.exp(X), A @ (np.exp(X) * [1.0, 2.0])))
    y, slope = func.jvp(lambda x, z: (x * z, x), (t(X), t(X + 1)), (t([1.0, 0.0]), t([0.0, 1.0])))
    assert_close(slope, ([1.0, 0.0] * (X + 1) + [0.0, 1.0] * X, np.array([1.0, 0.0])))
    curve = func.grad(lambda x: func.jvp(lambda y: (y ** 3).sum(), (x,), (t([1.0, 1.0]),))[1])
    assert_close(curve(t(X)), 6 * X)


def test_jacobian_and_hessian():
    a = t(A)
    assert_close(func.jacobian(lambda x: a @ x)(t(X)), A)
    assert func.jacobian(lambda x: x.reshape((2, 1)) * a)(t(X)).shape == (2, 2, 2)
    rows = func.jacrev(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(t(X), t(X + 1))
    assert_close(rows[0][0], np.diag(X + 1))
    assert_close(rows[0][1], np.diag(X))
    assert_close(rows[1], (np.ones(2), np.zeros(2)))
    symmetric = A + A.T
    assert_close(func.hessian(lambda x: x @ (t(symmetric) @ x) / 2)(t(X)), symmetric)
    assert func.jacobian(lambda x: x)(tenon.zeros((0,))).shape == (0, 0)


def test_vmap():
    a = t(A)
    assert_close(func.vmap(lambda x: a @ x)(t(A)), A @ A.T)
    got = func.vmap(lambda x, y: (x * y, x.sum()), in_dims=(1, None), out_dims=(1, 0))(t(A), t(X))
    assert_close(got, (A * X[:, None], A.sum(0)))
    assert_close(func.vmap(func.grad(f))(t(A)), np.cos(A) * A + np.sin(A))
    w = t(A, requires_grad=True)
    func.vmap(lambda x: x ** 2)(w).sum().backward()
    assert_close(w.grad, 2 * A)


@pytest.mark.parametrize('call, error, message', [
    (lambda: func.grad(3), TypeError, 'wants a function'),
    (lambda: func.grad(f)([1.0]), TypeError, 'must be a Tensor'),
    (lambda: func.grad(f)(tenon.tensor([1])), TypeError, 'floating-point'),
    (lambda: func.grad(lambda x: x)(t(X)), ValueError, 'one number'),
    (lambda: func.grad(f, argnums=1)(t(X)), IndexError, 'out of range for 1'),
    (lambda: func.grad(f, argnums='x')(t(X)), TypeError, 'int'),
    (lambda: func.vjp(f, t(X))[1](t(X)), ValueError, 'cotangent of shape'),
    (lambda: func.vjp(lambda x: 3, t(X)), TypeError, 'return a Tensor'),
    (lambda: func.jvp(f, (t(X),), (t(1.0),)), ValueError, 'tangent of shape'),
    (lambda: func.jvp(f, t(X), t(X)), TypeError, 'tuples'),
    (lambda: func.jvp(f, (t(X),), ()), ValueError, '0 tangents for 1'),
    (lambda: func.vmap(f)(3), TypeError, 'None in in_dims'),
    (lambda: func.vmap(f)(t(1.0)), IndexError, 'rank 0'),
    (lambda: func.vmap(f)(tenon.zeros((0, 2))), ValueError, 'size 0'),
    (lambda: func.vmap(f, in_dims=(0, 0))(t(X)), ValueError, '2 entries for 1'),
    (lambda: func.vmap(f, None)(t(X)), ValueError, 'names no'),
    (lambda: func.vmap(lambda x, y: x + y)(t(X), t(A)[0:1]), ValueError, 'different sizes')])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_against_pytorch(torch):

    def net(m, x, w):
        return m.tanh(x @ w).sum(1) ** 2
    x, w = np.linspace(-1, 1, 6).reshape(3, 2), np.linspace(0, 1, 8).reshape(2, 4)
    ours = func.jacobian(lambda x, w: net(tenon, x, w), argnums=(0, 1))(t(x), t(w))
    theirs = torch.func.jacrev(lambda x, w: net(torch, x, w), argnums=(0, 1))(torch.tensor(x), torch.tensor(w))
    assert_close(ours, tuple(y.numpy() for y in theirs))
    ours = func.hessian(lambda w: net(tenon, t(x), w).sum())(t(w))
    theirs = torch.func.hessian(lambda w: net(torch, torch.tensor(x), w).sum())(torch.tensor(w))
    assert_close(ours, theirs.numpy(), rtol=1e-6, atol=1e-9)
