"""torch.sparse beside PyTorch: values and gradients of sparse tensors in three layouts, as dense ones, and bad input."""
import pathlib
import sys
import warnings

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def edges(t):
    """Coordinates of a graph, one of them twice."""
    return t.tensor([[0, 1, 1, 2, 0, 1], [2, 0, 2, 3, 2, 1]])


def coo(t, grad=False, dense=()):
    values = t.arange(1.0, 7.0) if not dense else t.arange(1.0, 6 * dense[0] + 1).reshape(6, *dense) / 10
    return t.sparse_coo_tensor(edges(t), values, (3, 4, *dense), requires_grad=grad)


def csr(t, grad=False):
    return t.sparse_csr_tensor(t.tensor([0, 1, 3, 4]), t.tensor([2, 0, 2, 3]), t.tensor([1.0, 2.0, 3.0, 4.0]), (3, 4), requires_grad=grad)


def csc(t):
    return t.sparse_csc_tensor(t.tensor([0, 1, 1, 2, 4]), t.tensor([1, 0, 1, 2]), t.tensor([1.0, 2.0, 3.0, 4.0]), (3, 4))


def dense(t, *shape):
    n = 1
    for size in shape:
        n *= size
    return (t.arange(float(n)) / n - 0.3).reshape(shape)


def whole(x):
    """All there is to compare of a sparse tensor."""
    if 'strided' in str(x.layout):
        return x
    if x.layout is not None and 'coo' in str(x.layout):
        found = x.coalesce()
        return {'shape': tuple(x.shape), 'indices': found.indices(), 'values': found.values(), 'dense': x.to_dense()}
    return {'shape': tuple(x.shape), 'values': x.values(), 'dense': x.to_dense(), 'layout': str(x.layout)}


def by_values(t, run, dense_dims=()):
    """The result of run(sparse) and the gradients of its values and of a dense operand."""
    values = (t.arange(1.0, 6 * (dense_dims[0] if dense_dims else 1) + 1).reshape(6, *dense_dims) / 5).requires_grad_()
    other = dense(t, 4, 2).requires_grad_()
    x = t.sparse_coo_tensor(edges(t), values, (3, 4, *dense_dims))
    y = run(t, x, other)
    y = y if 'strided' in str(y.layout) else y.to_dense()
    (y * dense(t, *y.shape)).sum().backward()
    return y.detach(), values.grad, other.grad


LAYOUTS = {'coo': coo, 'csr': csr, 'csc': csc}
CASES = {
    'dense': lambda t, x: x.to_dense(), 'coordinates': lambda t, x: x if 'coo' in str(x.layout) else x.to_sparse_coo(),
    'rows': lambda t, x: x.to_sparse_csr() if 'coo' in str(x.layout) else x, 'columns': lambda t, x: x.to_sparse_csc() if 'coo' in str(x.layout) else x,
    'mm': lambda t, x: t.mm(x, dense(t, 4, 2)), 'sparse.mm': lambda t, x: t.sparse.mm(x, dense(t, 4, 2)), '@': lambda t, x: x @ dense(t, 4, 2),
    'matmul': lambda t, x: t.matmul(x, dense(t, 4, 2)), 'vector': lambda t, x: x @ dense(t, 4), 'mv': lambda t, x: t.mv(x, dense(t, 4)),
    'addmm': lambda t, x: t.addmm(dense(t, 3, 2), x, dense(t, 4, 2), beta=2, alpha=3), 'times a number': lambda t, x: x * 2.5,
    'by a number': lambda t, x: x / 2, 'number times': lambda t, x: 2 * x, 'negative': lambda t, x: -x,
    'sqrt': lambda t, x: t.sqrt(x), 'sin': lambda t, x: x.sin(), 'abs': lambda t, x: abs(x), 'relu': lambda t, x: t.relu(x),
    'sum of all': lambda t, x: t.sum(x), 'clone': lambda t, x: x.clone(), 'detach': lambda t, x: x.detach(), 'double': lambda t, x: x.to(t.float64),
    'plus itself': lambda t, x: x + x,
}
COO = {
    'coalesced': lambda t: coo(t).coalesce(), 'with dense dimensions': lambda t: coo(t, dense=(2,)).coalesce(), 'smallest': lambda t: t.sparse_coo_tensor(edges(t), t.ones(6)),
    'empty': lambda t: t.sparse_coo_tensor((2, 3)), 'transposed': lambda t: coo(t).t(), 'T': lambda t: coo(t).transpose(0, 1), 'sparse sum 0': lambda t: t.sparse.sum(coo(t), 0),
    'sparse sum 1': lambda t: t.sparse.sum(coo(t), [1]), 'sum with dense': lambda t: t.sparse.sum(coo(t, dense=(2,)), [0, 2]),
    'sum of the dense': lambda t: t.sparse.sum(coo(t, dense=(2,)), 2), 'sum to dense': lambda t: t.sparse.sum(coo(t, dense=(2,)), [0, 1]),
    'softmax': lambda t: t.sparse.softmax(coo(t), 1), 'softmax 0': lambda t: t.sparse.softmax(coo(t), 0), 'log_softmax': lambda t: t.sparse.log_softmax(coo(t), 1),
    'softmax dense': lambda t: t.sparse.softmax(coo(t, dense=(2,)), 2), 'softmax sparse': lambda t: t.sparse.softmax(coo(t, dense=(2,)), 1),
    'by sparse': lambda t: t.sparse.mm(coo(t), coo(t).t()), 'times sparse': lambda t: coo(t) * coo(t).coalesce(),
    'times dense': lambda t: coo(t).coalesce() * dense(t, 3, 4), 'minus': lambda t: coo(t) - coo(t) * 0.5, 'add alpha': lambda t: t.add(coo(t), coo(t), alpha=3),
    'dense plus': lambda t: dense(t, 3, 4) + coo(t), 'dense plus by add': lambda t: t.add(dense(t, 3, 4), coo(t), alpha=2), 'cat': lambda t: t.cat([coo(t), coo(t)], 0), 'cat 1': lambda t: t.cat([coo(t), coo(t)], 1),
    'unsqueeze': lambda t: t.unsqueeze(coo(t), 1), 'index_select': lambda t: coo(t).index_select(0, t.tensor([1, 0, 1])),
    'power': lambda t: coo(t) ** 2, 'of a dense one': lambda t: dense(t, 3, 4).relu().to_sparse(), 'of its rows': lambda t: dense(t, 3, 4).relu().to_sparse(1),
    'to rows': lambda t: dense(t, 3, 4).to_sparse_csr(), 'to columns': lambda t: dense(t, 3, 4).to_sparse(layout=t.sparse_csc),
    'masked': lambda t: dense(t, 3, 4).sparse_mask(coo(t).coalesce()), 'diagonals': lambda t: t.sparse.spdiags(dense(t, 2, 4), t.tensor([0, 1]), (3, 4)),
    'sampled': lambda t: t.sparse.sampled_addmm(csr(t), dense(t, 3, 2), dense(t, 2, 4), beta=0.5, alpha=2), 'csr by csr': lambda t: (csr(t) @ csr(t).t().to_sparse_csr()).to_dense(),
    'mean of rows': lambda t: t.sparse.mm(csr(t), dense(t, 4, 2), 'mean'), 'most of rows': lambda t: t.sparse.mm(csr(t), dense(t, 4, 2), 'amax'), 'dense by sparse': lambda t: dense(t, 2, 3) @ coo(t),
    'facts': lambda t: {'n': coo(t)._nnz(), 'sparse': coo(t).sparse_dim(), 'dense': coo(t, dense=(2,)).dense_dim(), 'is': (coo(t).is_sparse, csr(t).is_sparse, csr(t).is_sparse_csr, coo(t).is_coalesced()),
                        'tensor': t.is_tensor(coo(t)), 'size': tuple(coo(t).size()), 'numel': coo(t).numel()},
}
GRADIENTS = {
    'mm': lambda t, x, y: t.sparse.mm(x, y), '@': lambda t, x, y: x @ y, 'dense': lambda t, x, y: x.to_dense(), 'coalesce': lambda t, x, y: x.coalesce() * 2,
    'transposed': lambda t, x, y: x.t(), 'sum': lambda t, x, y: t.sparse.sum(x, 0), 'softmax': lambda t, x, y: t.sparse.softmax(x, 1),
    'log_softmax': lambda t, x, y: t.sparse.log_softmax(x, 1), 'addmm': lambda t, x, y: t.sparse.addmm(dense(t, 3, 2), x, y),
    'number': lambda t, x, y: x * 3 @ y,
}
ERRORS = {
    'indices of rank 1': lambda t: t.sparse_coo_tensor(t.tensor([0, 1]), t.ones(2), (2,)), 'too few values': lambda t: t.sparse_coo_tensor(edges(t), t.ones(5), (3, 4)),
    'an index beyond': lambda t: t.sparse_coo_tensor(edges(t), t.ones(6), (3, 3), check_invariants=True), 'negative': lambda t: t.sparse_coo_tensor(t.tensor([[-1]]), t.ones(1), (2,), check_invariants=True),
    'another rank': lambda t: t.sparse_coo_tensor(edges(t), t.ones(6), (3,)), 'not coalesced': lambda t: coo(t).indices(), 'values of those': lambda t: coo(t).values(),
    'shapes of mm': lambda t: t.sparse.mm(coo(t), dense(t, 3, 2)), 'shapes of add': lambda t: coo(t) + coo(t).t(),
    'truth': lambda t: bool(coo(t)), 'starts that fall': lambda t: t.sparse_csr_tensor(t.tensor([0, 3, 2]), t.tensor([0, 1]), t.ones(2), (2, 2), check_invariants=True),
    'spdiags twice': lambda t: t.sparse.spdiags(dense(t, 2, 4), t.tensor([1, 1]), (3, 4)),
}


def compared(torch, run):
    def told(t):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            found = run(t)
        return whole(found) if hasattr(found, 'layout') else found
    told(torch)  # it raises nothing there
    same(torch, told)


# PyTorch computes few things of columns, and does not divide compressed tensors.
OF_COLUMNS = 'dense', 'coordinates', 'mm', '@', 'clone', 'detach', 'times a number'
PAIRS = [(layout, name) for layout in LAYOUTS for name in CASES
         if (layout, name) != ('csr', 'by a number') and (layout != 'csc' or name in OF_COLUMNS)]


@pytest.mark.parametrize('layout, name', PAIRS)
def test_layouts(torch, name, layout):
    compared(torch, lambda t: CASES[name](t, LAYOUTS[layout](t)))


@pytest.mark.parametrize('name', COO)
def test_coordinates(torch, name):
    compared(torch, COO[name])


@pytest.mark.parametrize('name', GRADIENTS)
def test_gradients(torch, name):
    same(torch, lambda t: by_values(t, GRADIENTS[name]))


@pytest.mark.parametrize('name', ERRORS)
def test_errors(torch, name):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)):
            ERRORS[name](torch)
    with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)):
        ERRORS[name](ours)


def test_functions_of_compressed_tensors_that_pytorch_lacks():
    for make in csr, csc:
        x, values = make(ours), [1, 2, 3, 4]
        assert (x / 2).values().tolist() == [v / 2 for v in values] and (-x).values().tolist() == [-v for v in values]
        assert ours.allclose((x + x).to_dense(), 2 * x.to_dense()) and ours.allclose(x @ dense(ours, 4), x.to_dense() @ dense(ours, 4))
        assert ours.allclose(ours.sqrt(x).to_dense(), x.to_dense().sqrt()) and ours.sum(x).item() == 10


def test_a_sparse_leaf(torch):
    def run(t):
        x = coo(t, grad=True)
        (t.sparse.mm(x, dense(t, 4, 2)) ** 2).sum().backward()
        return x.grad.to_dense()
    same(torch, run)


def test_functions_without_sparse_support():
    with pytest.raises(TypeError, match=r'\[cumsum\] does not support sparse tensors: use to_dense\(\)'):
        ours.cumsum(coo(ours), 0)
    with pytest.raises(AttributeError, match='a sparse tensor has no'):
        coo(ours).cumsum
    assert 'size=(3, 4), nnz=6, layout=torch.sparse_coo' in repr(coo(ours))


def test_a_graph_network_learns(torch):
    """Two layers of graph convolution by a normalized adjacency matrix: the same losses."""
    def run(t):
        adjacency = t.sparse_coo_tensor(t.tensor([[0, 1, 1, 2, 2, 3, 0], [1, 0, 2, 1, 3, 2, 0]]), t.full((7,), 0.5), (4, 4)).coalesce()
        x, labels = dense(t, 4, 3), t.tensor([0, 1, 1, 0])
        w = [(dense(t, 3, 5)).requires_grad_(), (dense(t, 5, 2)).requires_grad_()]
        losses = []
        for _ in range(10):
            y = t.sparse.mm(adjacency, t.relu(t.sparse.mm(adjacency, x @ w[0])) @ w[1])
            loss = t.nn.functional.cross_entropy(y, labels)
            for parameter, g in zip(w, t.autograd.grad(loss, w)):
                with t.no_grad():
                    parameter -= 0.5 * g
            losses.append(loss.detach())
        return t.stack(losses)
    same(torch, run)


def test_custom_types_override_functions(torch):
    """PyTorch's protocol for types of one's own."""
    def run(t):
        class Scaled:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                plain = [x.x if isinstance(x, Scaled) else x for x in args]
                return func(*plain, **(kwargs or {})) * 10

            def __init__(self, x):
                self.x = x
        return t.add(Scaled(t.ones(2)), 1), t.sum(Scaled(t.ones(2, 3)), dim=0), t.exp(Scaled(t.zeros(2)))
    same(torch, run)


def old_names(t):
    found = [getattr(t.sparse, name)(t.tensor([[0, 1], [1, 0]]), t.tensor([2, 3]).to(dtype), t.Size([2, 2])) for name, dtype in
             (('FloatTensor', t.float32), ('DoubleTensor', t.float64), ('LongTensor', t.int64))]
    return [(x.to_dense(), str(x.shape), str(x.size()), x.size().numel()) for x in (*found, found[0].to_sparse_csr())]


def test_shapes_and_the_old_names(torch):
    same(torch, old_names)
