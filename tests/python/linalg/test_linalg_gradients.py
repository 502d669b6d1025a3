"""Gradients of first and second order against differences, for complex matrices by their real and imaginary parts."""
import numpy as np
import pytest

import tenon
from tenon import linalg
from tenon.testing import gradcheck, gradgradcheck


def hermitian(x):
    return (x + tenon.conj(x).mT) / 2


def positive(x):
    return x @ tenon.conj(x).mT + tenon.eye(x.shape[-1], dtype=x.dtype)


def eigh(x):
    values, vectors = linalg.eigh(hermitian(x))
    return values, tenon.abs(vectors)  # independent of the phases that LAPACK chooses


def svd(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return tenon.abs(u), s, tenon.abs(vh), u @ vh


def lu(x):
    return tenon.op('linalg.lu_factor')(x)[0]


CASES = {
    'inv': (linalg.inv, [(2, 3, 3)]),
    'inv_ex': (lambda x: tenon.op('linalg.inv_ex')(x)[0], [(2, 3, 3)]),
    'solve': (linalg.solve, [(3, 3), (2, 3, 2)]),
    'solve_ex': (lambda a, b: tenon.op('linalg.solve_ex')(a, b)[0], [(3, 3), (2, 3, 2)]),
    'solve, b broadcast': (linalg.solve, [(2, 3, 3), (3, 1)]),
    'solve, a vector': (linalg.solve, [(3, 3), (3,)]),
    'solve_triangular': (lambda a, b: linalg.solve_triangular(a + 3 * tenon.eye(3, dtype=a.dtype), b), [(3, 3), (2, 3, 2)]),
    'det': (linalg.det, [(2, 3, 3)]),
    'slogdet': (lambda x: tuple(linalg.slogdet(x)), [(2, 3, 3)]),
    'cofactor': (lambda x: tenon.op('linalg.cofactor')(x), [(3, 3)]),
    'cholesky': (lambda x: linalg.cholesky(positive(x)), [(2, 3, 3)]),
    'cholesky, upper': (lambda x: linalg.cholesky(positive(x), upper=True), [(3, 3)]),
    'cholesky, not symmetric': (lambda x: linalg.cholesky(x / 8 + 2 * tenon.eye(3, dtype=x.dtype)), [(3, 3)]),
    'cholesky_ex': (lambda x: tenon.op('linalg.cholesky_ex')(positive(x))[0], [(2, 3, 3)]),
    'lu_factor': (lu, [(2, 3, 3)]),
    'lu_factor, m > n': (lu, [(5, 3)]),
    'lu_factor, m < n': (lu, [(2, 3, 4)]),
    'qr, m > n': (lambda x: tuple(linalg.qr(x)), [(2, 4, 3)]),
    'qr, m < n': (lambda x: tuple(linalg.qr(x)), [(2, 3, 5)]),
    'qr, complete': (lambda x: tuple(linalg.qr(x, mode='complete')), [(3, 4)]),
    'qr, R': (lambda x: linalg.qr(x).R, [(3, 3)]),
    'eigvalsh': (lambda x: linalg.eigvalsh(x), [(2, 3, 3)]),
    'eigh': (eigh, [(3, 3)]),
    'svdvals': (linalg.svdvals, [(2, 4, 3)]),
    'svd, m > n': (svd, [(4, 3)]),
    'svd, m < n': (svd, [(2, 3, 4)]),
    'svd, full': (lambda x: linalg.svd(x).S, [(3, 4)]),
    'pinv, m > n': (linalg.pinv, [(4, 3)]),
    'pinv, m < n': (linalg.pinv, [(2, 3, 4)]),
    'matrix_power': (lambda x: linalg.matrix_power(x, 3), [(3, 3)]),
    'matrix_power, negative': (lambda x: linalg.matrix_power(x, -2), [(3, 3)]),
    'matrix_norm': (linalg.matrix_norm, [(2, 3, 4)]),
    'matrix_norm, nuc': (lambda x: linalg.matrix_norm(x, ord='nuc'), [(2, 3, 4)]),
    'matrix_norm, 2': (lambda x: linalg.matrix_norm(x, ord=2), [(2, 3, 4)]),
    'matrix_norm, -1': (lambda x: linalg.matrix_norm(x, ord=-1), [(3, 4)]),
    'vector_norm': (lambda x: linalg.vector_norm(x, axis=0), [(3, 4)]),
    'vector_norm, 3': (lambda x: linalg.vector_norm(x, ord=3), [(3, 4)]),
    'cross': (linalg.cross, [(2, 3), (3,)]),
    'outer': (linalg.outer, [(2,), (3,)]),
    'trace': (linalg.trace, [(2, 3, 4)]),
    'tensordot': (lambda a, b: linalg.tensordot(a, b, axes=1), [(2, 3), (3, 2)]),
    'vecdot': (linalg.vecdot, [(2, 3), (2, 3)]),
}


def by_parts(fn):
    """fn of complex tensors as a function of their parts, results in parts as well."""
    def parted(*parts):
        half = len(parts) // 2
        found = fn(*(tenon.complex(re, im) for re, im in zip(parts[:half], parts[half:])))
        results = []
        for z in found if isinstance(found, tuple) else (found,):
            results += [tenon.real(z), tenon.imag(z)] if z.dtype.is_complex else [z]
        return tuple(results)
    return parted


@pytest.mark.parametrize('name', CASES)
@pytest.mark.parametrize('kind', ['real', 'complex'])
def test_gradients(name, kind):
    fn, shapes = CASES[name]
    rng = np.random.default_rng(list(CASES).index(name))
    if kind == 'complex':
        fn, shapes = by_parts(fn), shapes * 2
    inputs = tuple(tenon.tensor(rng.standard_normal(shape), requires_grad=True) for shape in shapes)
    assert gradcheck(fn, inputs)
    assert gradgradcheck(fn, inputs, rtol=2e-3, atol=2e-4)


def test_the_determinant_of_singular_matrices():
    x = tenon.tensor([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], dtype=tenon.float64, requires_grad=True)
    assert gradcheck(linalg.det, (x,))
    zero = tenon.zeros((3, 3), dtype=tenon.float64).requires_grad_()
    linalg.det(zero).backward()
    assert zero.grad.tolist() == np.zeros((3, 3)).tolist()


def test_the_pseudo_inverse_where_values_are_equal_or_absent():
    for start in (np.eye(3), np.diag([2.0, 2.0, 0.0])):
        x = tenon.tensor(start, requires_grad=True)
        rng = np.random.default_rng(0)
        v = rng.standard_normal((3, 3))
        v = v if np.linalg.matrix_rank(start) == 3 else start @ v @ start  # a direction that keeps the rank
        linalg.pinv(x).sum().backward()
        ends = [np.linalg.pinv(start + h * v, rtol=1e-4).sum() for h in (1e-6, -1e-6)]
        assert np.sum(np.asarray(x.grad) * v) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-6)


def test_only_requested_gradients():
    a = tenon.tensor(np.eye(3) * 2, requires_grad=True)
    b = tenon.ones((3, 2), dtype=tenon.float64)
    linalg.solve(a, b).sum().backward()
    assert b.grad is None and np.allclose(np.asarray(a.grad), -np.full((3, 3), 0.5))
    assert not linalg.matrix_rank(a).requires_grad


def test_ops_without_a_gradient_say_so():
    x = tenon.tensor(np.random.default_rng(0).standard_normal((4, 3)), requires_grad=True)
    with pytest.raises(tenon.UnimplementedError, match=r'linalg.qr.*reduced'):
        linalg.qr(x, mode='complete').Q.sum().backward()
    with pytest.raises(tenon.UnimplementedError, match=r'linalg.svd.*full_matrices=False'):
        linalg.svd(x).U.sum().backward()
