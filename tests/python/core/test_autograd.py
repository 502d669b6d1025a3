"""Gradients from Python: backward, modes, hooks, custom functions."""
import sys
import threading

import pytest

import tenon
from tenon.autograd import Function


def test_backward_accumulates():
    x = tenon.tensor([1., 2.], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4] and x.is_leaf and x.grad_fn is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8]
    x.grad = None
    assert x.grad is None
    y = x * 3
    assert y.grad_fn == 'mul' and not y.is_leaf
    y.backward(tenon.tensor([1., 10.]), retain_graph=True)
    assert x.grad.tolist() == [3, 30]
    with pytest.raises(TypeError):
        y.backward(1)
    with pytest.raises(tenon.Error):
        y.backward()
    with pytest.raises(TypeError):
        x.grad = 3
    with pytest.raises(ValueError):
        x.grad = tenon.ones(5)


def accumulate(library):
    """What a held gradient shows after further passes, and what the leaf has then."""
    x = library.tensor([1., 2., 3.], requires_grad=True)
    (x * x).sum().backward()
    held = x.grad
    (x[:2] * x[1:]).sum().backward()
    seen = [held.tolist()]
    (x ** 3).sum().backward(create_graph=True)  # its graph needs the earlier gradient
    return [*seen, held.tolist(), x.grad.tolist(), x.grad.requires_grad]


def test_a_held_gradient_keeps_accumulating():
    assert accumulate(tenon) == [[4, 8, 8], [4, 8, 8], [7, 20, 35], True]


def test_a_held_gradient_keeps_accumulating_as_in_pytorch(torch):
    assert accumulate(tenon) == accumulate(torch)


def test_parts_of_a_tensor_give_one_gradient():
    x = tenon.arange(12.).reshape(2, 6).requires_grad_()
    with tenon.placement() as where:
        q, k, v = (x * 1).chunk(3, -1)
        (q * k + v).sum().backward()
        report = where()
    assert 'slice_scatter' not in report and 'full cpu 1\n' in report
    assert x.grad.tolist() == [[2, 3, 0, 1, 1, 1], [8, 9, 6, 7, 1, 1]]


def test_grad_of_grad():
    x = tenon.tensor(3., requires_grad=True)
    (first,) = tenon.autograd.grad(x ** 3, x, create_graph=True)
    (second,) = tenon.autograd.grad(first, x)
    assert first.item() == 27 and second.item() == 18 and x.grad is None
    y = tenon.tensor(1., requires_grad=True)
    with pytest.raises(tenon.Error):
        tenon.autograd.grad(x * 2, y)
    assert tenon.autograd.grad(x * 2, [x, y], allow_unused=True)[1] is None


def test_modes_nest_and_belong_to_the_thread():
    x = tenon.tensor(1., requires_grad=True)
    seen = []
    with tenon.no_grad():
        assert not tenon.is_grad_enabled() and not (x * 2).requires_grad
        with tenon.enable_grad():
            assert (x * 2).requires_grad
        thread = threading.Thread(target=lambda: seen.append(tenon.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True] and tenon.is_grad_enabled()

    @tenon.no_grad()
    def frozen():
        return x * 2
    assert not frozen().requires_grad
    with tenon.inference_mode():
        y = x * 2
    assert not y.requires_grad
    with pytest.raises(ZeroDivisionError), tenon.no_grad():
        1 / 0
    assert tenon.is_grad_enabled()


def test_modes_of_a_generator_hold_in_its_body_alone():
    seen, closed = [], []

    @tenon.no_grad()
    def steps():
        try:
            for i in range(3):
                seen.append(tenon.is_grad_enabled())
                try:
                    seen.append((yield i))
                except KeyError:
                    seen.append(tenon.is_grad_enabled())
            return 'end'
        finally:
            closed.append(tenon.is_grad_enabled())

    def outside():
        seen.append((yield from steps()))
    outer = outside()
    assert next(outer) == 0 and tenon.is_grad_enabled()
    assert outer.send('sent') == 1 and outer.throw(KeyError()) == 2
    assert list(outer) == [] and tenon.is_grad_enabled()
    assert seen == [False, 'sent', False, False, False, None, 'end'] and closed == [False]
    begun = steps()
    next(begun)
    begun.close()
    assert closed == [False, False] and tenon.is_grad_enabled()


def test_anomaly_mode_names_the_op():
    x = tenon.tensor([-1.], requires_grad=True)
    with tenon.anomaly_mode(), pytest.raises(tenon.Error, match='sqrt'):
        tenon.sqrt(x).sum().backward()


def test_anomaly_mode_names_the_line():
    x = tenon.tensor([-1., 4.], requires_grad=True)
    with tenon.anomaly_mode():
        good = (x * 2).exp()
        bad = tenon.sqrt(x); line = sys._getframe().f_lineno  # noqa: E702
        total = good.sum() + bad.sum()
        with pytest.raises(tenon.Error, match=rf'test_autograd.py:{line}, in test_anomaly'):
            total.backward()
    with pytest.raises(ValueError) as caught:
        x + tenon.ones(5)
    assert 'called at' not in str(caught.value)


def test_hooks():
    x = tenon.tensor([1., 2.], requires_grad=True)
    seen = []
    handle = x.register_hook(lambda gradient: seen.append(gradient.tolist()))
    doubled = x.register_hook(lambda gradient: gradient * 2)
    (x * 3).sum().backward()
    assert seen == [[3, 3]] and x.grad.tolist() == [6, 6]
    handle.remove()
    doubled.remove()
    doubled.remove()
    (x * 3).sum().backward()
    assert len(seen) == 1 and x.grad.tolist() == [9, 9]
    with pytest.raises(TypeError):
        x.register_hook(3)
    with pytest.raises(tenon.Error):
        tenon.ones(1).register_hook(print)


def test_an_exception_in_a_hook_propagates_unchanged():
    x = tenon.tensor(1., requires_grad=True)
    error = KeyError('mine')

    def hook(_):
        raise error
    with x.register_hook(hook), pytest.raises(KeyError) as caught:
        (x * 1).backward()
    assert caught.value is error
    with x.register_hook(lambda _: 'a'), pytest.raises(TypeError, match='must return a Tensor or None'):
        (x * 1).backward()


class Cube(Function):
    @staticmethod
    def forward(ctx, x, scale=1.0):
        y = x * x * x * scale
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, _ = ctx.saved_tensors
        return gradient * 3 * x * x * ctx.scale, None


def test_function():
    x = tenon.tensor([1., 2.], requires_grad=True)
    y = Cube.apply(x, 2.0)
    assert y.grad_fn == 'Cube' and y.tolist() == [2, 16]
    (first,) = tenon.autograd.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [6, 24]
    assert tenon.autograd.grad(first.sum(), x)[0].tolist() == [12, 24]
    assert not Cube.apply(x.detach(), 1.0).requires_grad
    with tenon.no_grad():
        assert not Cube.apply(x, 1.0).requires_grad


def test_function_of_several_results_and_unused_ones():
    class Split(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2, y * 3

        @staticmethod
        def backward(ctx, first, second):
            return (None if first is None else first * 2), (None if second is None else second * 3)

    x, y = tenon.tensor(1., requires_grad=True), tenon.tensor(1., requires_grad=True)
    a, b = Split.apply(x, y)
    (a + b).backward()
    assert x.grad.item() == 2 and y.grad.item() == 3


def test_a_function_may_return_its_input():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 10

    x = tenon.tensor(1., requires_grad=True)
    Same.apply(x).backward()
    assert x.grad.item() == 10


@pytest.mark.parametrize('backward, error', [
    (lambda ctx, g: 'a', TypeError), (lambda ctx, g: (g, g, g, g), ValueError), (lambda ctx, g: 1 / 0, ZeroDivisionError)])
def test_a_bad_backward_is_an_error(backward, error):
    bad = type('Bad', (Function,), {'forward': staticmethod(lambda ctx, x: x * 2), 'backward': staticmethod(backward)})
    x = tenon.tensor(1., requires_grad=True)
    with pytest.raises(error):
        bad.apply(x).backward()
    (x * 2).backward()
    assert x.grad.item() == 2


@pytest.mark.parametrize('requires_grad', [True, False])
def test_a_forward_that_returns_nothing_is_named(requires_grad):
    class Forgets(Function):
        @staticmethod
        def forward(ctx, x):
            x * 2

    with pytest.raises(TypeError, match=r'\[Forgets\] forward returned None: return a Tensor'):
        Forgets.apply(tenon.ones(2, requires_grad=requires_grad))


def test_a_backward_that_returns_nothing_is_named():
    class Forgets(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, gradient):
            gradient * 2

    x = tenon.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match=r'\[Forgets\] backward returned None: return a gradient, or None, for each of the 2'):
        Forgets.apply(x, x * 2).sum().backward()
