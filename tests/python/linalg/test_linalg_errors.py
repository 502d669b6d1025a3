"""Errors name the op, the values and what to do; the process survives."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tenon
from tenon import linalg

SQUARE = ['cholesky', 'det', 'eigh', 'eigvalsh', 'inv', 'slogdet']
MATRICES = SQUARE + ['pinv', 'qr', 'svd', 'svdvals']


@pytest.mark.parametrize('name', SQUARE)
def test_not_square(name):
    with pytest.raises(tenon.InvalidArgumentError, match=rf'\[linalg.{name}\] x has shape \(2, 3\); its last two dimensions must be equal'):
        getattr(linalg, name)(tenon.ones((2, 3)))


@pytest.mark.parametrize('name', MATRICES)
def test_not_a_matrix_and_not_a_tensor(name):
    fn = getattr(linalg, name)
    with pytest.raises(ValueError, match=r'\[linalg.\w+\] x has shape \(3,\)'):
        fn(tenon.ones(3))
    with pytest.raises(ValueError, match=r'\(\)'):
        fn(tenon.asarray(1.0))
    for dtype in ('int64', 'bool', 'float16', 'bfloat16'):
        with pytest.raises(ValueError, match='cast it first'):
            fn(tenon.ones((2, 2), dtype=dtype))
    for bad in (None, 1.0, [[1.0]], 'x', np.eye(2)):
        with pytest.raises((TypeError, ValueError), match=rf'\[linalg.{name}\] argument .?x.? must be'):
            fn(bad)


def test_singular_matrices_are_named():
    x = tenon.eye(3) + tenon.zeros((2, 2, 3, 3))
    x[1, 0, 2] = 0
    with pytest.raises(tenon.InvalidArgumentError, match=r'\[linalg.inv\] matrix \(1, 0\) of the batch, 3 by 3, is singular: pivot 3'):
        linalg.inv(x)
    with pytest.raises(tenon.InvalidArgumentError, match=r'\[linalg.solve\] matrix \(1, 0\) .* singular'):
        linalg.solve(x, tenon.ones((3, 1)))
    with pytest.raises(tenon.InvalidArgumentError, match=r'\[linalg.cholesky\] matrix \(1, 0\) .* not positive definite.*order 3'):
        linalg.cholesky(x)
    with pytest.raises(tenon.InvalidArgumentError, match=r'\[linalg.solve_triangular\] matrix \(1, 0\) .*element 2 of its diagonal is 0'):
        linalg.solve_triangular(x, tenon.ones((3, 1)))
    with pytest.raises(tenon.InvalidArgumentError, match=r'\[linalg.inv\] the matrix, 2 by 2, is singular'):
        linalg.matrix_power(tenon.zeros((2, 2)), -1)
    assert linalg.det(x).tolist() == [[1, 1], [0, 1]]
    sign, logarithm = linalg.slogdet(x)
    assert sign.tolist() == [[1, 1], [0, 1]] and logarithm[1, 0].item() == -np.inf


def test_the_first_of_a_large_batch_is_named():
    x = tenon.eye(4) + tenon.zeros((5000, 4, 4))
    for i in (4999, 3210, 1234):
        x[i, 1, 1] = 0
        with pytest.raises(tenon.InvalidArgumentError, match=rf'matrix \({i}\) of the batch'):
            linalg.inv(x)


def test_not_finite():
    for bad in (float('nan'), float('inf')):
        x = tenon.full((2, 3, 3), 1.0)
        x[1, 2, 0] = bad
        for name in ('eigh', 'eigvalsh', 'svd', 'svdvals', 'pinv'):
            with pytest.raises(tenon.InvalidArgumentError, match=r'matrix \(1\) of the batch has elements that are not finite'):
                getattr(linalg, name)(x)
        assert linalg.det(x).isnan().tolist() == [False, True] and not linalg.qr(x).R[0].isnan().any()


@pytest.mark.parametrize('call, error, text', [
    (lambda x: linalg.solve(x, tenon.ones((3, 2))), ValueError, r'b must be \(\.\.\., 2, k\)'),
    (lambda x: linalg.solve(x + tenon.zeros((3, 2, 2)), tenon.ones((2, 2, 2))), ValueError, 'broadcast'),
    (lambda x: linalg.solve(x, tenon.asarray(1.0)), ValueError, 'shape'),
    (lambda x: linalg.qr(x, mode='full'), ValueError, 'mode is "reduced" or "complete", not "full"'),
    (lambda x: linalg.qr(x, mode=1), TypeError, 'mode'),
    (lambda x: linalg.svd(x, full_matrices='yes'), TypeError, 'full_matrices'),
    (lambda x: linalg.cholesky(x, upper=1.5), TypeError, 'upper'),
    (lambda x: linalg.matrix_norm(x, ord=3), ValueError, "ord is 'fro'"),
    (lambda x: linalg.matrix_norm(x[0]), ValueError, 'must be a matrix'),
    (lambda x: linalg.vector_norm(x, axis=2), IndexError, 'axis 2 out of range'),
    (lambda x: linalg.vector_norm(x, axis=(0, 0)), ValueError, 'twice'),
    (lambda x: linalg.vector_norm(x, ord='fro'), TypeError, 'ord must be a number'),
    (lambda x: linalg.vector_norm(tenon.asarray([1, 2])), ValueError, 'cast it first'),
    (lambda x: linalg.matrix_power(x, 1.5), TypeError, 'n must be an int'),
    (lambda x: linalg.matrix_power(x, True), TypeError, 'n must be an int'),
    (lambda x: linalg.matrix_power(x[:1], 2), ValueError, 'equal'),
    (lambda x: linalg.cross(x, x), ValueError, 'must have 3 entries'),
    (lambda x: linalg.cross(tenon.ones(3, dtype='bool'), tenon.ones(3, dtype='bool')), ValueError, 'bool'),
    (lambda x: linalg.cross(tenon.ones(3), tenon.ones(3), axis=1), IndexError, 'axis 1'),
    (lambda x: linalg.outer(x, x[0]), ValueError, 'one dimension'),
    (lambda x: linalg.outer([1], x[0]), TypeError, 'Tensor'),
    (lambda x: linalg.diagonal(x[0]), ValueError, 'must be a matrix'),
    (lambda x: linalg.trace(x, offset='1'), TypeError, 'offset'),
    (lambda x: linalg.pinv(x, rtol='small'), TypeError, 'rtol'),
    (lambda x: linalg.matrix_rank(x, rtol='small'), TypeError, 'rtol'),
])
def test_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(tenon.eye(2))


def test_too_many_dimensions_and_wrong_batches():
    x = tenon.expand(tenon.eye(2), (1,) * 14 + (2, 2))
    assert linalg.inv(x).shape == x.shape
    with pytest.raises(ValueError):
        linalg.pinv(tenon.ones((2, 2, 2)), rtol=tenon.ones((3,)))


def test_threads_at_once():
    x = np.random.default_rng(0).standard_normal((400, 12, 12)) + 12 * np.eye(12)
    big = np.eye(200) * 3 + 1
    pairs = [(each, np.linalg.inv(each)) for each in (x, big)]
    failures = []

    def work():
        for _ in range(5):
            for each, wanted in pairs:
                if not np.allclose(np.asarray(linalg.inv(tenon.asarray(each))), wanted):
                    failures.append(each.shape)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_forked_child_continues():
    code = ('import os, tenon\n'
            'x = tenon.eye(1030, dtype=tenon.float64) * 2 + 1; y = tenon.eye(8) + tenon.zeros((4000, 8, 8))\n'
            'tenon.linalg.inv(x); tenon.linalg.inv(y)\n'
            'pid = os.fork()\n'
            'if pid == 0:\n'
            '    good = abs((tenon.linalg.inv(x) @ x).sum().item() - 1030) < 1e-6 and tenon.linalg.det(y).sum().item() == 4000\n'
            '    os._exit(0 if good else 1)\n'
            'print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.stdout == '0\n', done.stderr


def test_too_little_memory_for_lapack_is_an_error():
    program = """
import resource
import tenon
from tenon import linalg
x = tenon.eye(40) + 1
def limited(mebibytes):
    used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (mebibytes << 20), -1))
for mebibytes in range(4, 400, 24):  # at some of these OpenBLAS would end the process
    limited(mebibytes)
    try:
        linalg.inv(x), linalg.svd(x)
    except tenon.OutOfMemoryError as error:
        assert 'linalg' in str(error), error
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
assert abs((linalg.inv(x) @ x - tenon.eye(40))).max().item() < 1e-4
print('computes')
"""
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == 'computes\n', done.stdout + done.stderr
