"""`out=` in every function beside PyTorch: of another shape it is resized, with a warning if it has elements; wider dtypes are filled."""
import pathlib
import sys
import warnings

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

ONE = '''abs acos angle asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac i0 lgamma log log10 log1p log2
    logical_not logit neg rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc'''.split()
TWO = '''add sub mul div floor_divide remainder fmod pow atan2 hypot maximum minimum fmax fmin eq ne lt le gt ge logical_and copysign logaddexp xlogy
    heaviside matmul mm dist kron inner float_power isin cross'''.split()
OVER = 'sum mean prod amax amin argmax logsumexp cumsum cumprod softmax log_softmax nansum max min sort median cummax mode'.split()
MATRIX = 'inv det cholesky eigvalsh svdvals pinv slogdet vector_norm matrix_norm inv_ex lu_factor'.split()
WIDER = {'float32': 'float64', 'int64': 'float32', 'bool': 'int32', 'int32': 'int64'}


def call(t, name, out):
    a = t.tensor([[0.8, 0.2, 0.1], [0.2, 0.6, 0.04], [0.1, 0.04, 0.4]])
    b = t.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.95]])
    if name in ONE:
        return getattr(t, name)(a, out=out)
    if name in TWO:
        return getattr(t, name)(a, b, out=out)
    return getattr(t, name)(a, 1, out=out) if name in OVER else getattr(t.linalg, name)(a, out=out)


def filled(t, name, make):
    """What a call writes into tensors made after its results, and whether it warned."""
    plain = call(t, name, None)
    many = isinstance(plain, tuple)
    out = tuple(map(make, plain)) if many else make(plain)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter('always')
        found = call(t, name, out)
    assert all(map(lambda x, y: x is y, found, out)) if many else found is out
    return out, any('resized' in str(each.message) for each in told)


@pytest.mark.parametrize('name', ONE + TWO + OVER + MATRIX)
def test_shapes(torch, name):
    same(torch, lambda t: filled(t, name, lambda x: t.empty(x.shape, dtype=x.dtype)))
    same(torch, lambda t: filled(t, name, lambda x: t.empty(0, dtype=x.dtype)))
    same(torch, lambda t: filled(t, name, lambda x: t.ones(50, dtype=x.dtype)))
    same(torch, lambda t: filled(t, name, lambda x: t.empty(x.shape[::-1], dtype=x.dtype).permute(*reversed(range(x.ndim)))))


# PyTorch wants their own dtype for these; they are filled here.
EXACT = '''abs angle neg signbit heaviside frac round sgn sign isin dist mm matmul kron inner cross argmax max min sort median cummax mode softmax log_softmax amax
    amin trunc ceil floor nansum'''.split()


@pytest.mark.parametrize('name', [name for name in ONE + TWO + OVER if name not in EXACT])
def test_wider_dtypes(torch, name):
    for shape in (lambda x: x.shape), (lambda x: (0,)):
        same(torch, lambda t: filled(t, name, lambda x: t.empty(shape(x), dtype=getattr(t, WIDER[str(x.dtype).split('.')[1]]))))


def test_narrower_dtypes(torch):
    def run(t):
        x = t.tensor([1.0, 2.5, -3.0])
        return (t.exp(x, out=t.empty(3, dtype=t.float16)), t.add(x, 1, out=t.empty(3, dtype=t.bfloat16)), t.sum(x, 0, out=t.empty((), dtype=t.int64)),
                t.cumsum(x, 0, out=t.empty(3, dtype=t.int32)), t.prod(x, 0, out=t.empty(0, dtype=t.int64)), t.logical_not(x, out=t.empty(3, dtype=t.int16)),
                t.range(0, 3, out=t.empty(0, dtype=t.int64)), t.take(x, t.tensor([2, 0]), out=t.empty(0)))
    same(torch, run)


def test_new_tensors(torch):
    def run(t):
        out, again = t.empty(0), t.empty(2, 3)
        kept = again[0]
        t.linspace(0, 1, 5, out=out), t.full((2, 3), 1.5, out=again)
        return out, again, kept, t.arange(4, out=t.empty(0, dtype=t.int64)), t.eye(2, out=t.empty(0)), t.cat([again, again], out=t.empty(0)).sum()
    same(torch, run)


@pytest.mark.parametrize('line', ['t.exp(x, out=t.empty(3, dtype=t.int64))', 't.eq(x, x, out=5)', 't.exp(x, out=t.empty(3, requires_grad=True))', 't.sin(w, out=t.empty(3))',
                                  't.add(w, 1, out=t.empty(3))', 't.max(x, 0, out=t.empty(()))', 't.mul(x, 1j, out=t.empty(3))', 't.cat((e, x), out=e)', 't.cat((x, x), out=x)'])
def test_wrong(torch, line):
    assert isinstance(same(torch, lambda t: eval(line, {'t': t, 'x': t.ones(3), 'e': t.empty(0), 'w': t.ones(3, requires_grad=True)})), Exception)


def test_without_gradients(torch):
    def run(t):
        w, out = t.ones(3, requires_grad=True), t.zeros(3, requires_grad=True)
        with t.no_grad():
            return t.exp(w, out=t.empty(0)), t.add(w, 1, out=out), out.requires_grad
    same(torch, run)


def test_resized_memory():
    x = ours.arange(6.0)
    view = x[:2]
    with pytest.warns(UserWarning, match='resized'):
        ours.neg(ours.ones(2), out=x)
    assert x.tolist() == [-1, -1] == view.tolist()  # the same memory, which sufficed
    with pytest.warns(UserWarning, match='resized'):
        ours.neg(ours.ones(12), out=x)
    assert x.shape == (12,) and view.tolist() == [-1, -1]
