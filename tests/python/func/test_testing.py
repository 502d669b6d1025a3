"""assert_close and gradcheck: what they accept, and what they report."""
import math

import numpy as np
import pytest

import tenon
from tenon.autograd import Function
from tenon.testing import assert_close, gradcheck, gradgradcheck


def refused(actual, expected, **options):
    with pytest.raises(AssertionError) as error:
        assert_close(actual, expected, **options)
    return str(error.value)


def test_assert_close_passes():
    x = tenon.tensor([[1.0, -2.0], [math.inf, 0.0]])
    assert_close(x, x)
    assert_close(x, x + 1e-7)
    assert_close(x, x.numpy())
    assert_close(x.to(tenon.bfloat16), (x * 1.01).to(tenon.bfloat16))
    assert_close(x, x + 0.5, rtol=0, atol=0.6)
    assert_close(1.0, 1.0 + 1e-9)
    assert_close({'a': [x, 2]}, {'a': [x, 2]})
    assert_close(tenon.tensor(math.nan), tenon.tensor(math.nan), equal_nan=True)
    assert_close(tenon.tensor([1 + 2j]), tenon.tensor([1 + 2j]))
    assert_close(tenon.zeros((0, 2)), tenon.zeros((0, 2)))
    assert_close(tenon.tensor([1, 2]), [1, 2])
    assert_close(tenon.tensor([2**62 + 1]), tenon.tensor([2**62 + 1]))


def test_assert_close_names_the_worst_element():
    a, b = tenon.zeros((2, 3, 4)), tenon.zeros((2, 3, 4))
    b[0, 1, 1] = 0.5
    b[1, 2, 3] = -2.0
    assert refused(a, b, msg='here') == ('here\n2 of 24 elements differ; the worst at index (1, 2, 3): 0.0, expected -2.0 '
                                         '(difference 2, allowed 1.26e-05)')
    assert 'index (1): nan' in refused(tenon.tensor([0.0, math.nan]), tenon.zeros(2))
    assert 'the only element: inf' in refused(tenon.tensor(math.inf), tenon.tensor(-math.inf))
    assert '1 of 2 elements differ; the worst at index (0): 3, expected 4' in refused(tenon.tensor([3, 1]), tenon.tensor([4, 1]))
    assert 'differ' in refused(tenon.tensor([2**62 + 1]), tenon.tensor([2**62]))
    assert 'differ' in refused(tenon.tensor([True]), tenon.tensor([False]))
    assert 'differ' in refused(tenon.tensor([1 + 2j]), tenon.tensor([1 + 2.1j]))
    assert 'differ' in refused(tenon.tensor(math.nan), tenon.tensor(math.nan))


def test_assert_close_names_what_is_not_comparable():
    assert refused(tenon.zeros(2), tenon.zeros((2, 1))) == 'shape (2,) is not (2, 1)'
    assert 'dtype float32 is not float64' in refused(tenon.zeros(2), np.zeros(2))
    assert_close(tenon.zeros(2), np.zeros(2), check_dtype=False)
    assert '2 entries expected' in refused([tenon.zeros(1)], [tenon.zeros(1)] * 2)
    assert 'keys' in refused({'a': 1}, {'b': 1})
    assert "at 'a': at entry 1" in refused({'a': [tenon.ones(1), tenon.ones(1)]}, {'a': [tenon.ones(1), tenon.zeros(1)]})
    with pytest.raises(ValueError, match='or neither'):
        assert_close(1.0, 1.0, rtol=0.1)


def leaf(*values):
    return tenon.tensor(values, dtype=tenon.float64, requires_grad=True)


class WrongSquare(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * x * 2.01


def test_gradcheck():
    assert gradcheck(lambda x, y: (x @ y.reshape((2, 1)), x.sum()), (leaf(0.5, -1.0).reshape((1, 2)).detach().requires_grad_(),
                                                                     leaf(2.0, 3.0)))
    assert gradcheck(lambda x: tenon.tensor([1.0, 2.0], dtype=tenon.float64) * x, (leaf(3.0),))
    assert gradcheck(lambda x, k: x * k, (leaf(3.0, 4.0), 2))
    assert gradcheck(WrongSquare.apply, (leaf(1.0, 3.0),), raise_exception=False) is False
    with pytest.raises(AssertionError, match=r'output 0, index \(0\), by input 0, index \(0\): the gradient is 6.03, '
                                             'differences give 6$'):
        gradcheck(WrongSquare.apply, (leaf(3.0),), rtol=1e-3)
    with pytest.raises(AssertionError, match='no output depends'):
        gradcheck(lambda x: x.detach(), (leaf(1.0),))
    with pytest.raises(ValueError, match='needs float64'):
        gradcheck(tenon.exp, (tenon.ones(1, requires_grad=True),))
    with pytest.raises(ValueError, match='requires_grad=True'):
        gradcheck(tenon.exp, (tenon.ones(1),))


class WrongSecond(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * 3 * (x * x.detach())


def test_gradgradcheck():
    assert gradgradcheck(lambda x, y: (x * y).exp(), (leaf(0.5, -1.0), leaf(0.2, 0.3)))
    assert gradgradcheck(lambda x: x * 3, (leaf(1.0),))
    assert gradcheck(WrongSecond.apply, (leaf(0.7),))
    assert gradgradcheck(WrongSecond.apply, (leaf(0.7),), raise_exception=False) is False
