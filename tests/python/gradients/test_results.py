"""The gradient through each result of an op with several, one at a time, against finite differences."""
import numpy as np
import pytest

import tenon
from tenon.testing import gradcheck

ops = tenon._core.ops


def drawn(*shapes):
    rng = np.random.default_rng(5)
    return [tenon.tensor(rng.uniform(0.2, 2, shape), requires_grad=True) for shape in shapes]


def statistics(x, dims):
    """Mean and rstd as separate tensors, which the backward ops take."""
    mean = x.detach().mean(dims, keepdim=True)
    rstd = (x.detach().var(dims, 0, True) + 1e-5).rsqrt()
    return [each.requires_grad_() for each in (mean, rstd)]


def backward_of_layer_norm():
    g, x, w = drawn((3, 4), (3, 4), (4,))
    return lambda *xs: ops['layer_norm_backward'](*xs, (4,)), [g, x, *statistics(x, (1,)), w]


def backward_of_batch_norm():
    g, x, w = drawn((3, 2, 2), (3, 2, 2), (2,))
    mean, rstd = (each.detach().reshape(2).requires_grad_() for each in statistics(x, (0, 2)))
    return lambda *xs: ops['batch_norm_backward'](*xs, True), [g, x, mean, rstd, w]


CASES = {
    'layer_norm': lambda: (lambda x, w, b: ops['layer_norm'](x, (2, 3), w, b), drawn((4, 2, 3), (2, 3), (2, 3))),
    'rms_norm': lambda: (lambda x, w: ops['rms_norm'](x, (3,), w), drawn((2, 2, 3), (3,))),
    'group_norm': lambda: (lambda x, w, b: ops['group_norm'](x, 2, w, b), drawn((2, 4, 3), (4,), (4,))),
    'batch_norm': lambda: (lambda x, w, b: ops['batch_norm'](x, w, b, None, None, True), drawn((4, 3, 2), (3,), (3,))),
    'attention': lambda: (lambda q, k, v: ops['attention'](q, k, v), drawn((1, 2, 3, 2), (1, 1, 2, 2), (1, 1, 2, 2))),
    'lstm': lambda: (lambda *xs: ops['lstm'](*xs, True), drawn((3, 2, 8), (2, 2), (2, 2), (8, 2))),
    'sort': lambda: (lambda x: ops['sort'](x, 0), drawn((4, 2))),
    'topk': lambda: (lambda x: ops['topk'](x, 2), drawn((2, 4))),
    'max_pool': lambda: (lambda x: ops['max_pool'](x, (2,)), drawn((1, 2, 6))),
    'layer_norm_backward': backward_of_layer_norm,
    'batch_norm_backward': backward_of_batch_norm,
}


@pytest.mark.parametrize('name', CASES)
def test_each_result_on_its_own(name):
    function, inputs = CASES[name]()
    tried = 0
    for result, value in enumerate(function(*inputs)):
        if not value.requires_grad:
            continue
        used = [x for x, g in zip(inputs, tenon.autograd.grad(value.sum(), inputs, retain_graph=True, allow_unused=True)) if g is not None]

        def alone(*changed, result=result, used=used):
            changed = iter(changed)
            return function(*[next(changed) if any(x is u for u in used) else x for x in inputs])[result]
        assert gradcheck(alone, used), result
        tried += 1
    assert tried >= (1 if 'indices' in ops[name].results else 2)
