"""The names and signatures of the standard, and the claims of the docstrings."""
import doctest
import inspect
import subprocess
import sys

import pytest

import tenon

STANDARD = '''
cholesky(x, /, *, upper=False)
cross(x1, x2, /, *, axis=-1)
det(x, /)
diagonal(x, /, *, offset=0)
eigh(x, /)
eigvalsh(x, /)
inv(x, /)
matrix_norm(x, /, *, keepdims=False, ord='fro')
matrix_power(x, n, /)
matrix_rank(x, /, *, rtol=None)
matrix_transpose(x, /)
outer(x1, x2, /)
pinv(x, /, *, rtol=None)
qr(x, /, *, mode='reduced')
slogdet(x, /)
solve(x1, x2, /)
svd(x, /, *, full_matrices=True)
svdvals(x, /)
tensordot(x1, x2, /, *, axes=2)
trace(x, /, *, offset=0, dtype=None)
vecdot(x1, x2, /, *, axis=-1)
vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
'''.split('\n')[1:-1]


@pytest.mark.parametrize('line', STANDARD, ids=lambda line: line[:line.index('(')])
def test_signature(line):
    scope = {}
    exec(f'def {line}: pass', scope)
    name = line[:line.index('(')]
    ours, standard = (inspect.signature(function).parameters for function in (getattr(tenon.linalg, name), scope[name]))
    assert {each: x.default for each, x in ours.items()} == {each: x.default for each, x in standard.items()}
    for each, x in standard.items():  # arguments that the standard takes by name only may also be positional
        assert ours[each].kind == x.kind or (ours[each].kind, x.kind) == (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)
    assert name in tenon.linalg.__all__ and getattr(tenon.linalg, name).__doc__


def test_shared_with_the_namespace():
    for name in ('matmul', 'matrix_transpose', 'tensordot', 'vecdot'):
        assert getattr(tenon.linalg, name) is getattr(tenon, name)


def test_fields_of_results():
    x = tenon.eye(2)
    assert tenon.linalg.eigh(x)._fields == ('eigenvalues', 'eigenvectors')
    assert tenon.linalg.qr(x)._fields == ('Q', 'R')
    assert tenon.linalg.slogdet(x)._fields == ('sign', 'logabsdet')
    assert tenon.linalg.svd(x)._fields == ('U', 'S', 'Vh')


def test_examples():
    result = doctest.testmod(tenon.linalg, extraglobs={'tenon': tenon})
    assert result.failed == 0 and result.attempted >= len(STANDARD) - 4


def test_imported_and_opened_on_first_use():
    # Neither import tenon nor an op of another kind may cost what LAPACK does.
    code = ('import sys, tenon\n'
            'def is_open(): return "openblas" in open("/proc/self/maps").read()\n'
            'tenon.ones(3) + 1\n'
            'print("tenon.linalg" in sys.modules, is_open())\n'
            'tenon.linalg.outer(tenon.ones(2), tenon.ones(2))\n'
            'print(is_open())\n'
            'tenon.linalg.inv(tenon.eye(2))\n'
            'print(is_open())\n')
    out = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True).stdout
    assert out.split() == ['False', 'False', 'False', 'True']
