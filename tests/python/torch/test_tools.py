"""Names that tools and older programs ask for, beside PyTorch."""
import importlib
import pathlib
import sys
import warnings

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

LINES = '''t.empty(2, 3, 4).dim_order(); t.empty(2, 3, 5, 7).dim_order(ambiguity_check=True); t.empty(1, 2, 3, 4).dim_order(ambiguity_check=True)
t.empty(1, 2, 3, 4).dim_order(ambiguity_check=[t.contiguous_format, t.channels_last]); t.empty(2, 3, 4, 5).transpose(1, 2).dim_order(ambiguity_check=True)
t.empty(1, 1, 1, 1).dim_order(ambiguity_check=[t.contiguous_format, t.channels_last]); t.empty(2).dim_order(ambiguity_check='no')'''


@pytest.mark.parametrize('text', LINES.replace('\n', '; ').split('; '))
def test_order_of_dimensions(torch, text):
    same(torch, lambda t: eval(text, {'t': t}))


@pytest.mark.parametrize('text', ['t.ones(3), t.ones(3) + 1e-5', 't.ones(3), t.ones(3) + 1e-3', 't.ones(3), t.ones(3, dtype=t.float64)', 't.ones(3), [1, 1, 1]',
                                  '1.0, t.ones(())', 't.ones(3), t.ones(2)', 't.full((2,), t.nan), t.full((2,), t.nan)', 't.ones(2), t.zeros(2), 0, 2'])
def test_allclose(torch, text):
    def run(t):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            try:
                return t.testing.assert_allclose(*eval(text, {'t': t}))
            except AssertionError:
                return 'differ'
    same(torch, run)


def test_parts_of_checkpoints(torch):
    def run(t):
        tools = importlib.import_module(f'{t.__name__}.utils.checkpoint')
        x, y = t.ones(2, requires_grad=True), t.ones(2)
        found = tools.detach_variable((x * 2, y, 3))
        told = []
        for inputs in ((x, 1), (y, 1)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter('always')
                tools.check_backward_validity(inputs)
            told.append(len(caught))
        return [each if each == 3 else (each.requires_grad, each.is_leaf, each.detach()) for each in found], told
    same(torch, run)
    with pytest.raises(RuntimeError, match='tuple'):
        ours.utils.checkpoint.detach_variable([ours.ones(1)])


def test_backward_of_nested_tensors(torch):
    def run(t):
        a, b = t.arange(3.0, requires_grad=True), t.arange(5.0, requires_grad=True)
        nested = t.nested.as_nested_tensor([a * a, b])
        nested.backward(t.nested.nested_tensor([t.ones(3), t.full((5,), 2.0)]))
        return a.grad, b.grad
    same(torch, run)
    with pytest.raises(RuntimeError, match='needs a gradient'):
        ours.nested.as_nested_tensor([ours.ones(2, requires_grad=True)]).backward()
