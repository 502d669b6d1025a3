"""Functions of lists of tensors, and the checks by which libraries refuse arguments."""
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same, same_error

UNARY = '''abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin
    sinh sqrt tan tanh trunc clone max norm'''.split()
BINARY = 'add sub mul div maximum minimum clamp_max clamp_min pow'.split()


def lists(t):
    return [t.tensor([0.25, 0.5]), t.tensor([[0.75], [0.125]])], [t.tensor([0.5, 1.5]), t.tensor([[2.0], [3.0]])]


@pytest.mark.parametrize('name', UNARY)
def test_of_one_list(torch, name):
    def run(t):
        x, _ = lists(t)
        found = getattr(t.foreach, name)(x)
        if name in ('clone', 'max', 'norm'):
            return found, getattr(t, '_foreach_' + name)(x)
        return found, getattr(t.foreach, name + '_')(x) is x, x, type(found).__name__
    same(torch, run)


@pytest.mark.parametrize('name', BINARY)
@pytest.mark.parametrize('kind', ['lists', 'numbers', 'number'])
def test_of_two(torch, name, kind):
    def run(t):
        x, y = lists(t)
        other = {'lists': y, 'numbers': [2, 0.5], 'number': 2}[kind]
        found = getattr(t.foreach, name)(x, other)
        return found, getattr(t.foreach, name + '_')(x, other) is x, x, getattr(t, '_foreach_' + name)(x, other)
    same(torch, run)


OTHERS = {
    'alpha': lambda t, x, y: (t.foreach.add(x, y, alpha=2), t._foreach_sub(x, y, alpha=0.5), t._foreach_add_(x, y, alpha=3), x),
    'lerp': lambda t, x, y: (t.foreach.lerp(x, y, 0.3), t.foreach.lerp(x, y, [0.1, 0.2]), t.foreach.lerp(x, y, y), t._foreach_lerp_(x, y, weight=0.3), x),
    'addcmul': lambda t, x, y: (t.foreach.addcmul(x, y, y, value=2), t.foreach.addcmul(x, y, y, value=[1, 2]), t._foreach_addcmul_(x, y, y, 2.0), x),
    'addcdiv': lambda t, x, y: (t.foreach.addcdiv(x, y, y), t._foreach_addcdiv_(x, y, y, -0.5), t._foreach_addcdiv(x, y, y, t.tensor([1.0, 2.0])), x),
    'pow': lambda t, x, y: t.foreach.pow(2.0, x),
    'norm': lambda t, x, y: (t.foreach.norm(x, ord=1), t._foreach_norm(x, 2), t._foreach_norm(x, float('inf'))),
    'copy': lambda t, x, y: (t.foreach.copy_(x, y) is x, x, t.foreach.zero_(y), y),
    'mm': lambda t, x, y: t.foreach.mm([x[1].T], [y[1]]),
    'tensor': lambda t, x, y: (t.foreach.mul(x, t.tensor(2.0)), t._foreach_mul_(tuple(x), t.tensor(0.5)), x),
    'gradients': lambda t, x, y: [w.requires_grad_() for w in x] and (sum(z.sum() for z in t.foreach.mul(x, y)).backward(), [w.grad for w in x])[1],
}


@pytest.mark.parametrize('name', OTHERS)
def test_others(torch, name):
    same(torch, lambda t: OTHERS[name](t, *lists(t)))


ERRORS = {
    'none': lambda t, x: t.foreach.add([], 1), 'numbers': lambda t, x: t.foreach.add(x, [1]), 'tensors': lambda t, x: t.foreach.add(x, x[:1]),
    'rank': lambda t, x: t.foreach.mul(x, t.ones(2)), 'no list': lambda t, x: t.foreach.add(x[0], 1), 'no tensors': lambda t, x: t.foreach.sqrt([1.0]),
    'too many': lambda t, x: t.foreach.mul(x, x, x), 'too few': lambda t, x: t.foreach.add(x),
    '_assert': lambda t, x: t._assert(False, 'x'), '_check': lambda t, x: t._check(False, lambda: 'x'), '_check a tensor': lambda t, x: t._check(t.tensor(True)),
    '_check_index': lambda t, x: t._check_index(False), '_check_value': lambda t, x: t._check_value(False, 'x'),
    '_check_type': lambda t, x: t._check_type(False), '_check_not_implemented': lambda t, x: t._check_not_implemented(False),
    '_check_tensor_all': lambda t, x: t._check_tensor_all(t.tensor([True, False])), '_check_is_size': lambda t, x: t._check_is_size(-1),
}


@pytest.mark.parametrize('name', ERRORS)
@pytest.mark.filterwarnings('ignore')
def test_errors(torch, name):
    same_error(torch, lambda t: ERRORS[name](t, lists(t)[0]))


def test_checks_that_hold():
    assert ours._assert(ours.tensor([True]), 'x') is ours._check(True) is ours._check_is_size(0, max=1) is ours._check_tensor_all(ours.ones(2).bool()) is None
