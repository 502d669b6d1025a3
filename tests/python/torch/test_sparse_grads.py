"""Sparse gradients of embeddings, and optimizers that take them, beside PyTorch."""
import pathlib
import sys
import warnings

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

pytestmark = pytest.mark.filterwarnings('ignore:Sparse invariant')
FIRST, SECOND = [[1, 4], [1, 2]], [[0, 5, 5]]


def table(t, kind='Embedding', **options):
    made = getattr(t.nn, kind)(6, 2, sparse=True, **options)
    with t.no_grad():
        made.weight.copy_(t.arange(12.0).reshape(6, 2) / 10)
    return made


def whole(x):
    found = x.coalesce()
    return x.is_sparse, tuple(x.shape), found.indices(), found.values()


@pytest.mark.parametrize('options', [{}, {'padding_idx': 1}, {'padding_idx': -2}, {'max_norm': 0.5}], ids=str)
def test_embedding(torch, options):
    def run(t):
        layer = table(t, **options)
        out = layer(t.tensor(FIRST))
        (out * t.arange(1.0, 9).reshape(2, 2, 2)).sum().backward()
        gradient = layer.weight.grad
        once = *whole(gradient), gradient._nnz(), gradient.is_coalesced(), gradient._indices(), gradient._values()
        layer(t.tensor([0, 1])).pow(2).sum().backward()
        return out.detach(), once, whole(layer.weight.grad)
    same(torch, run)


@pytest.mark.parametrize('padding', [None, 1])
@pytest.mark.parametrize('mode', ['sum', 'mean', 'max'])
def test_embedding_bag(torch, mode, padding):
    def run(t):
        layer = table(t, 'EmbeddingBag', mode=mode, padding_idx=padding)
        out = layer(t.tensor([1, 2, 4, 5, 4]), t.tensor([0, 2, 2]))
        (out * t.arange(6.0).reshape(3, 2)).sum().backward()
        first = whole(layer.weight.grad)
        layer.zero_grad()
        layer(t.tensor([[1, 2], [4, 4]])).pow(2).sum().backward()
        return out.detach(), first, whole(layer.weight.grad)
    same(torch, run)


def test_weighted_bags(torch):
    def run(t):
        layer, weights = table(t, 'EmbeddingBag', mode='sum'), t.tensor([0.5, 2.0, 3.0], requires_grad=True)
        layer(t.tensor([1, 2, 1]), t.tensor([0, 2]), weights).pow(2).sum().backward()
        return whole(layer.weight.grad), weights.grad
    same(torch, run)


OPTIMIZERS = [('SGD', {'lr': 0.1}), ('SGD', {'lr': 0.1, 'momentum': 0.9}), ('SGD', {'lr': 0.1, 'momentum': 0.9, 'nesterov': True}),
              ('SGD', {'lr': 0.1, 'momentum': 0.9, 'dampening': 0.5}), ('SGD', {'lr': 0.1, 'maximize': True}), ('SparseAdam', {'lr': 0.1}),
              ('SparseAdam', {'lr': 0.1, 'betas': (0.5, 0.9), 'maximize': True}), ('Adagrad', {'lr': 0.1, 'lr_decay': 0.1}), ('Adam', {}), ('AdamW', {}),
              ('RMSprop', {}), ('SGD', {'weight_decay': 0.1}), ('Adagrad', {'weight_decay': 0.1})]


@pytest.mark.parametrize(('name', 'options'), OPTIMIZERS, ids=str)
def test_optimizers(torch, name, options):
    def run(t):
        layer = table(t)
        optimizer = getattr(t.optim, name)(layer.parameters(), **options)
        for step in range(4):
            optimizer.zero_grad()
            layer(t.tensor(FIRST if step % 2 else SECOND)).pow(2).sum().backward()
            optimizer.step()
        return layer.weight.detach()
    same(torch, run)


def test_micro_batches_state_and_clipping(torch):
    def run(t):
        layer, results = table(t), []
        optimizer = t.optim.SparseAdam(layer.parameters(), lr=0.1)
        for row in range(3):
            (layer(t.tensor([row, 2])).pow(2).sum() / 3).backward()
        results += [t.nn.utils.clip_grad_norm_(layer.parameters(), 0.5), whole(layer.weight.grad)]
        optimizer.step()
        again = t.optim.SparseAdam(layer.parameters(), lr=0.1)
        again.load_state_dict(optimizer.state_dict())
        again.step()
        again.zero_grad(set_to_none=False)
        return results, layer.weight.detach(), layer.weight.grad._nnz(), layer.weight.grad.is_sparse
    same(torch, run)


def test_with_dense_gradients(torch):
    def run(t):
        layer = table(t)
        (layer(t.tensor(FIRST)).sum() + t.nn.functional.linear(t.ones(2), layer.weight).sum()).backward()
        tied = layer.weight.grad
        layer.weight.grad = t.ones(6, 2)
        layer(t.tensor([3])).sum().backward()
        after = layer.weight.grad
        layer.weight.grad = t.sparse_coo_tensor([[0]], t.ones(1, 2), (6, 2))
        given = whole(layer.weight.grad)
        layer.weight.grad = None
        return tied, after, given, layer.weight.grad
    same(torch, run)


def test_other_leaves_and_no_gradient(torch):
    def run(t):
        weight = t.ones(4, 2, requires_grad=True)
        t.nn.functional.embedding(t.tensor([1, 1]), weight, sparse=True).sum().backward()
        frozen = t.nn.Sequential(table(t), t.nn.Flatten(), t.nn.Linear(4, 1))
        frozen[0].weight.requires_grad_(False)
        frozen(t.tensor(FIRST)).sum().backward()
        with t.no_grad():
            unrecorded = table(t)(t.tensor(FIRST)).requires_grad
        return whole(weight.grad), frozen[0].weight.grad, frozen[2].weight.grad.shape, unrecorded
    same(torch, run)


@pytest.mark.parametrize('call', [
    lambda t, layer: t.optim.SparseAdam(layer.parameters()).step(),
    lambda t, layer: setattr(layer.weight, 'grad', t.sparse_coo_tensor([[0]], t.ones(1, 3), (6, 3)))])
def test_what_is_refused(torch, call):
    def run(t):
        layer = table(t)
        layer.weight.grad = t.ones(6, 2)
        call(t, layer)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        assert isinstance(same(torch, run), Exception)


def test_autograd_grad_is_dense():
    import tenon.torch as ours
    layer = table(ours)
    gradient, = ours.autograd.grad(layer(ours.tensor(FIRST)).sum(), layer.weight)
    assert gradient[1].tolist() == [2, 2] and gradient[3].tolist() == [0, 0] and layer.weight.grad is None
