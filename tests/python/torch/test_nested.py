"""Nested tensors beside PyTorch's."""
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

SIZES = (2, 4, 1)


def parts(t, width=3):
    return [t.arange(n * width, dtype=t.float32).reshape(n, width).div(7).add(0.1 * n) for n in SIZES]


def nested(t, jagged=True, **options):
    return t.nested.nested_tensor(parts(t), layout=t.jagged if jagged else t.strided, **options)


def shown(x):
    return [part.detach() for part in x.unbind()]


def facts(t):
    n, found = nested(t), []
    found += [n.is_nested, n.dim(), n.ndim, n.size(0), n.size(2), n.size(-1), n.numel(), str(n.dtype), str(n.layout), n.requires_grad, n.values(), n.offsets(), len(n)]
    found += [nested(t, False).values(), str(nested(t, False).layout), [x.shape for x in n], n[1], n.is_contiguous(), nested(t, dtype=t.float64).dtype == t.float64]
    return found


def padded(t):
    n = nested(t)
    return n.to_padded_tensor(0.0), t.nested.to_padded_tensor(nested(t, False), -1.0), nested(t, False).to_padded_tensor(2.0, (3, 5, 4))


FUNCTIONS = {
    'arithmetic': lambda t, n: [n * 2, n + n, n - 1, 1 - n, n / 2, -n, n * t.tensor([1.0, 2.0, 3.0]), t.ones(1, 1, 3) * n, n ** 2, n > 1],
    'elementwise': lambda t, n: [n.relu(), n.cos(), t.nn.functional.gelu(n), t.sigmoid(n), n.abs().sqrt(), t.exp(n), n.clone(), n.detach(), n.double(), n.to(t.float64)],
    'last dimension': lambda t, n: [n.softmax(-1), t.nn.functional.linear(n, t.ones(4, 3), t.ones(4)), t.nn.functional.layer_norm(n, (3,)), n.sum(-1), n.mean(-1), n.amax(-1)],
    'reductions': lambda t, n: [n.sum(), n.mean(), n.sum(1)],
    'products': lambda t, n: [n @ t.ones(3, 2), n.unflatten(-1, [3, 1]), n.transpose(1, 2).transpose(1, 2), *n.chunk(3, dim=-1), t.cat([n, n], -1), n.unsqueeze(-1)],
}


@pytest.mark.parametrize('name', FUNCTIONS)
def test_functions(torch, name):
    def run(t):
        return [shown(x) if getattr(x, 'is_nested', False) else x for x in FUNCTIONS[name](t, nested(t))]
    same(torch, run)


@pytest.mark.parametrize('run', [facts, padded])
def test_nested_tensors(torch, run):
    same(torch, run)


def test_making(torch):
    def run(t):
        values = t.arange(12.0).reshape(6, 2)
        rows = t.arange(18.0).reshape(2, 3, 3)
        made = [t.nested.nested_tensor_from_jagged(values, t.tensor([0, 2, 6])), t.nested.nested_tensor_from_jagged(values, lengths=t.tensor([1, 5])),
                t.nested.narrow(rows, 1, t.tensor([0, 1]), t.tensor([2, 1]), layout=t.jagged), t.nested.nested_tensor([[1.0, 2.0], [3.0]])]
        return [shown(x) for x in made], shown(t.nested.masked_select(rows[0], rows[0] > 2)), shown(t.nested.as_nested_tensor(parts(t), layout=t.jagged))
    same(torch, run)


def test_gradients_flow_through_the_parts(torch):
    def run(t):
        leaves = [x.requires_grad_() for x in parts(t)]
        n = t.nested.as_nested_tensor(leaves, layout=t.jagged)
        layer = t.nn.Linear(3, 3)
        with t.no_grad():
            layer.weight.copy_(t.arange(9.0).reshape(3, 3) / 10)
            layer.bias.zero_()
        out = t.nn.functional.layer_norm(t.nn.functional.gelu(layer(n)) + n, (3,)).softmax(-1) * n
        out.to_padded_tensor(0.0).pow(2).sum().backward()
        own = nested(t, False, requires_grad=True)
        t.nested.to_padded_tensor(own * own, 0.0).sum().backward()
        return n.requires_grad, [x.grad for x in leaves], layer.weight.grad, shown(own.grad), own.is_leaf
    same(torch, run)


def test_attention_within_each_part(torch):
    """PyTorch computes it on nested tensors of the other layout."""
    def run(t):
        n = nested(t, False)
        heads = n.transpose(1, 2).transpose(1, 2) if t is ours else n
        return shown(t.nn.functional.scaled_dot_product_attention(heads, n, n))
    same(torch, run)


def fails(function):
    with pytest.raises((RuntimeError, TypeError, IndexError, AttributeError)) as caught:
        function(ours)
    return str(caught.value)


def test_what_nested_tensors_refuse():
    n = nested(ours)
    strided = ours.nested.nested_tensor(parts(ours), layout=ours.strided)
    assert 'irregular' in fails(lambda t: strided.size(1)) and 'size(dim)' in fails(lambda t: strided.shape)
    assert 'differs between the parts' in fails(lambda t: ours.ones(2)[:n.size(1)])
    assert 'first dimension' in fails(lambda t: n.softmax(0)) and 'to_padded_tensor' in fails(lambda t: t.stack([n, n]))
    assert 'do not match' in fails(lambda t: n + t.nested.nested_tensor(parts(t)[:2], layout=t.jagged))
    assert 'number of dimensions' in fails(lambda t: t.nested.nested_tensor([t.ones(2), t.ones(2, 2)]))
    assert 'first size alone' in fails(lambda t: t.nested.nested_tensor([t.ones(2, 1), t.ones(2, 2)], layout=t.jagged))
    assert 'at least' in fails(lambda t: n.to_padded_tensor(0.0, (3, 2, 3))) and 'neither' in fails(lambda t: t.nested.nested_tensor([], layout=t.sparse_coo))
    assert 'no parts' in fails(lambda t: t.nested.nested_tensor([]).dtype) and 'nested tensor has no' in fails(lambda t: n.cholesky())
    assert 'must be a nested tensor' in fails(lambda t: t.nested.to_padded_tensor(t.ones(2), 0.0)) and 'must be given' in fails(
        lambda t: t.nested.nested_tensor_from_jagged(t.ones(2)))
    assert repr(n).startswith('NestedTensor(size=(3, *, 3)') and repr(nested(ours, False)).startswith('nested_tensor([\n  tensor([[')


def shapes(t):
    n = t.nested.nested_tensor([t.ones(2, 3), t.ones(4, 3)], layout=t.jagged)
    count, ragged, width = n.shape
    return (count, width, len(n.shape), n.shape[-1], n.size()[0], ragged == n.size(1), isinstance(n.shape, t.Size), n.shape == n.shape,
            isinstance(ragged, t.SymInt), str(n.shape)[:15], hash(ragged) == hash(n.size(1)), ragged == 4)


def test_the_shape_of_a_jagged_tensor(torch):
    same(torch, shapes)
