"""torch.func beside PyTorch: derivatives, batches and modules as functions, of nested arguments and results."""
import collections
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

Pair = collections.namedtuple('Pair', 'x y')


def vector(t, *numbers):
    return t.tensor([float(n) for n in numbers] or [0.5, -1.5, 2.0])


def params(t):
    return {'w': t.tensor([[1.0, 2.0], [3.0, -1.0]]), 'layers': [t.tensor(0.5), (t.tensor([1.0, 2.0]),)]}


def predict(t, p, x):
    return t.tanh(p['w'] @ x) * p['layers'][0] + p['layers'][1][0]


GRADS = {
    'number': lambda t: t.func.grad(lambda x: x ** 3)(t.tensor(2.0)), 'vector': lambda t: t.func.grad(lambda x: t.sin(x).sum())(vector(t)),
    'nested': lambda t: t.func.grad(lambda p, x: predict(t, p, x).sum())(params(t), vector(t, 1, 2)),
    'second argument': lambda t: t.func.grad(lambda x, y: (x * y).sum(), argnums=1)(vector(t), vector(t, 1, 2, 3)),
    'last argument': lambda t: t.func.grad(lambda x, y: (x * y).sum(), argnums=-1)(vector(t), vector(t, 1, 2, 3)),
    'several': lambda t: t.func.grad(lambda p, x: predict(t, p, x).sum(), argnums=(1, 0))(params(t), vector(t, 1, 2)),
    'one in a tuple': lambda t: t.func.grad(lambda x: (x * x).sum(), argnums=(0,))(vector(t)),
    'value': lambda t: t.func.grad_and_value(lambda x: (x * x).sum())(vector(t)),
    'aux': lambda t: t.func.grad(lambda x: ((x * x).sum(), {'y': x + 1}), has_aux=True)(vector(t)),
    'value and aux': lambda t: t.func.grad_and_value(lambda x: ((x * x).sum(), [x + 1]), has_aux=True)(vector(t)),
    'keywords': lambda t: t.func.grad(lambda x, *, scale: (x * scale).sum())(vector(t), scale=vector(t, 1, 2, 3)),
    'other arguments': lambda t: t.func.grad(lambda x, name, n: (x * n).sum())(vector(t), 'name', 3),
    'twice': lambda t: t.func.grad(t.func.grad(lambda x: t.sin(x)))(t.tensor(1.0)),
    'thrice': lambda t: t.func.grad(t.func.grad(t.func.grad(lambda x: x ** 4)))(t.tensor(1.5)),
    'closed over': lambda t: t.func.grad(lambda x: t.func.grad(lambda y: (x * y * y))(t.tensor(3.0)) * x)(t.tensor(2.0)),
    'within a value': lambda t: t.func.grad(lambda x: (t.func.grad(lambda y: (y ** 3).sum())(x) * x).sum())(vector(t)),
    'unused': lambda t: t.func.grad(lambda x, y: x.sum(), argnums=(0, 1))(vector(t), vector(t)), 'constant': lambda t: t.func.grad(lambda x: t.tensor(1.0))(vector(t)),
    'under no_grad': lambda t: no_grad(t, lambda: t.func.grad(lambda x: (x ** 2).sum())(vector(t))),
    'outer history': lambda t: outer(t, lambda x: t.func.grad(lambda y: (y ** 3).sum())(x)),
    'outer history of another': lambda t: outer(t, lambda x: t.func.grad(lambda y, z: (y ** 3 * z).sum())(vector(t, 1, 2, 3), x)),
    'not a number': lambda t: t.func.grad(lambda x: x * 2)(vector(t)), 'not a tensor': lambda t: t.func.grad(lambda x: 3.0)(vector(t)),
    'no such argument': lambda t: t.func.grad(lambda x: x.sum(), argnums=1)(vector(t)), 'no aux': lambda t: t.func.grad(lambda x: x.sum(), has_aux=True)(vector(t)),
    'twice one argument': lambda t: t.func.grad(lambda x: x.sum(), argnums=(0, -1))(vector(t)), 'no arguments': lambda t: t.func.grad(lambda x: x.sum(), argnums=())(vector(t)),
}


def no_grad(t, run):
    with t.no_grad():
        return run()


def outer(t, run):
    """run(x), and the gradient of its result with respect to an x that requires one."""
    x = vector(t).requires_grad_()
    y = run(x)
    return y, t.autograd.grad(y.sum(), x)[0]


VJPS = {
    'vector': lambda t: pulled(t, lambda x: x * x, (vector(t),), vector(t, 1, 2, 3)),
    'several': lambda t: pulled(t, lambda x, y: x * y.sum(), (vector(t), vector(t, 1, 2)), vector(t, 1, 2, 3)),
    'several results': lambda t: pulled(t, lambda x: (x * x, t.sin(x)), (vector(t),), (vector(t, 1, 2, 3), vector(t, 1, 0, 0))),
    'nested': lambda t: pulled(t, lambda p: {'a': p['w'] * 2, 'b': [p['layers'][0]]}, (params(t),), {'a': t.ones(2, 2), 'b': [t.tensor(2.0)]}),
    'aux': lambda t: t.func.vjp(lambda x: (x * x, {'extra': x + 1}), vector(t), has_aux=True)[::2],
    'wrong shape': lambda t: pulled(t, lambda x: x * x, (vector(t),), vector(t, 1, 2)), 'wrong form': lambda t: pulled(t, lambda x: x * x, (vector(t),), (vector(t), vector(t))),
    'jvp': lambda t: t.func.jvp(lambda x: t.sin(x) * x, (vector(t),), (vector(t, 1, 2, 3),)),
    'jvp of several': lambda t: t.func.jvp(lambda x, y: (x * y, x.sum()), (vector(t), vector(t, 1, 2, 3)), (vector(t, 1, 0, 0), vector(t, 0, 1, 0))),
    'jvp, nested': lambda t: t.func.jvp(lambda p: {'y': (p['a'] * p['b']).sum()}, ({'a': vector(t), 'b': vector(t)},), ({'a': vector(t, 1, 2, 3), 'b': vector(t)},)),
    'jvp, aux': lambda t: t.func.jvp(lambda x: (x * x, x + 1), (vector(t),), (vector(t),), has_aux=True),
    'jvp of a jvp': lambda t: t.func.jvp(lambda x: t.func.jvp(lambda y: y ** 3, (x,), (t.ones(3),))[1], (vector(t),), (vector(t, 1, 2, 3),)),
    'grad of a jvp': lambda t: t.func.grad(lambda x: t.func.jvp(lambda y: (y ** 3).sum(), (x,), (vector(t, 1, 2, 3),))[1])(vector(t)),
    'jvp, no tuple': lambda t: t.func.jvp(lambda x: x, vector(t), vector(t)), 'jvp, wrong shape': lambda t: t.func.jvp(lambda x: x, (vector(t),), (vector(t, 1),)),
    'jvp, independent': lambda t: t.func.jvp(lambda x: t.ones(2), (vector(t),), (vector(t),)),
    'jvp, strict': lambda t: t.func.jvp(lambda x: x * x, (vector(t),), (vector(t),), strict=True),
    'jvp, strict and independent': lambda t: t.func.jvp(lambda x: t.ones(2), (vector(t),), (vector(t),), strict=True),
    'linearize': lambda t: (lambda y, push: (y, push(vector(t, 1, 2, 3)), push(vector(t, 0, 1, 0))))(*t.func.linearize(lambda x: t.exp(x) * x[0], vector(t))),
}


def pulled(t, fn, primals, cotangent):
    value, pull = t.func.vjp(fn, *primals)
    return value, pull(cotangent), pull(cotangent)


JACOBIANS = {
    'square': lambda t, j: j(lambda x: x * x)(vector(t)), 'matrix': lambda t, j: j(lambda x: x @ t.ones(2, 3))(t.ones(4, 2)),
    'number': lambda t, j: j(lambda x: (x ** 3).sum())(vector(t)), 'several': lambda t, j: j(lambda x, y: x * y.sum(), argnums=(0, 1))(vector(t), vector(t, 1, 2)),
    'second': lambda t, j: j(lambda x, y: x * y.sum(), argnums=1)(vector(t), vector(t, 1, 2)),
    'results': lambda t, j: j(lambda x: (x * x, {'s': x.sum()}))(vector(t)), 'nested': lambda t, j: j(lambda p, x: predict(t, p, x))(params(t), vector(t, 1, 2)),
    'aux': lambda t, j: j(lambda x: (x * x, x + 1), has_aux=True)(vector(t)), 'named': lambda t, j: j(lambda x: Pair(x * x, x.sum()))(vector(t)),
    'twice': lambda t, j: j(j(lambda x: (x ** 3).sum()))(vector(t)), 'within a gradient': lambda t, j: t.func.grad(lambda x: j(lambda y: y ** 3)(x).sum())(vector(t)),
    'independent': lambda t, j: j(lambda x: t.ones(2))(vector(t)), 'outer history': lambda t, j: outer(t, lambda x: j(lambda y: y ** 3)(x)),
}
HESSIANS = {
    'cubes': lambda t: t.func.hessian(lambda x: (x ** 3).sum())(vector(t)), 'vector': lambda t: t.func.hessian(lambda x: x ** 3)(vector(t)),
    'several': lambda t: t.func.hessian(lambda x, y: (x * x * y.sum()).sum(), argnums=(0, 1))(vector(t), vector(t, 1, 2)),
    'nested': lambda t: t.func.hessian(lambda p: (p['a'] ** 2 * p['b']).sum())({'a': vector(t), 'b': t.tensor(3.0)}),
    'forward over reverse': lambda t: t.func.jacfwd(t.func.jacrev(lambda x: (x ** 3).sum() * x[0]))(vector(t)),
    'reverse over forward': lambda t: t.func.jacrev(t.func.jacfwd(lambda x: (x ** 3).sum() * x[0]))(vector(t)),
}
VMAPS = {
    'one': lambda t: t.vmap(lambda x: x * 2)(t.arange(6.0).reshape(3, 2)), 'two': lambda t: t.vmap(t.dot)(t.arange(6.0).reshape(3, 2), t.ones(3, 2)),
    'whole': lambda t: t.vmap(lambda x, y: x * y, in_dims=(0, None))(t.arange(3.0), vector(t)),
    'other dimensions': lambda t: t.vmap(lambda x, y: x * y, in_dims=(1, -1), out_dims=1)(t.arange(6.0).reshape(2, 3), t.ones(2, 3)),
    'results': lambda t: t.vmap(lambda x: (x.sum(), {'y': x * 2}))(t.arange(6.0).reshape(3, 2)),
    'out_dims': lambda t: t.vmap(lambda x: (x, x * 2), out_dims=(0, 1))(t.arange(6.0).reshape(3, 2)), 'out_dims -1': lambda t: t.vmap(lambda x: x, out_dims=-1)(t.arange(6.0).reshape(3, 2)),
    'nested arguments': lambda t: t.vmap(lambda p, x: p['w'] * x + p['b'], in_dims=({'w': 0, 'b': None}, 0))({'w': t.ones(3, 2), 'b': t.tensor(1.0)}, t.ones(3, 2)),
    'dict of one': lambda t: t.vmap(lambda p: p['a'] + p['b'])({'a': t.ones(3), 'b': t.arange(3.0)}),
    'list': lambda t: t.vmap(lambda xs: xs[0] * xs[1], in_dims=([0, 1],))([t.ones(3, 2), t.arange(6.0).reshape(2, 3)]),
    'keywords': lambda t: t.vmap(lambda x, *, y: x * y)(t.arange(3.0), y=t.arange(3.0)), 'chunks': lambda t: t.vmap(lambda x: x * 2, chunk_size=2)(t.arange(5.0)),
    'within itself': lambda t: t.vmap(t.vmap(lambda x, y: x * y), in_dims=(0, None))(t.arange(6.0).reshape(3, 2), t.ones(2)),
    'of a gradient': lambda t: t.vmap(t.func.grad(lambda p, x: (p * x).sum() ** 2), in_dims=(None, 0))(vector(t), t.arange(6.0).reshape(2, 3)),
    'within a gradient': lambda t: t.func.grad(lambda x: t.vmap(lambda y: y ** 3)(x).sum())(vector(t)),
    'of a jacobian': lambda t: t.vmap(t.func.jacrev(lambda x: x ** 2))(t.arange(6.0).reshape(3, 2)), 'of a hessian': lambda t: t.vmap(t.func.hessian(lambda x: (x ** 3).sum()))(t.ones(2, 2)),
    'a number beside': lambda t: t.vmap(lambda x, n: x * n, in_dims=(0, None))(t.arange(3.0), 2), 'history': lambda t: outer(t, lambda x: t.vmap(lambda y: y ** 2)(x)),
    'constant result': lambda t: t.vmap(lambda x: t.ones(2))(t.arange(3.0)),
    'nothing to map': lambda t: t.vmap(lambda x: x, in_dims=(None,))(t.ones(3)), 'sizes': lambda t: t.vmap(lambda x, y: x)(t.ones(3), t.ones(2)),
    'too few in_dims': lambda t: t.vmap(lambda x, y: x, in_dims=(0,))(t.ones(3), t.ones(3)), 'bad in_dims': lambda t: t.vmap(lambda x: x, in_dims=1)(t.ones(3)),
    'in_dims of a number': lambda t: t.vmap(lambda x, n: x)(t.ones(3), 2), 'no tensor': lambda t: t.vmap(lambda x: 3)(t.ones(3)), 'no arguments': lambda t: t.vmap(lambda: 3)(),
    'bad out_dims': lambda t: t.vmap(lambda x: x, out_dims=3)(t.ones(3)), 'out_dims form': lambda t: t.vmap(lambda x: x, out_dims=(0, 0))(t.ones(3)),
    'bad chunk': lambda t: t.vmap(lambda x: x, chunk_size=0)(t.ones(3)), 'bad randomness': lambda t: t.vmap(lambda x: x, randomness='no')(t.ones(3)),
    'random': lambda t: t.vmap(lambda x: x + t.rand(2))(t.ones(3)), 'in_dims dict': lambda t: t.vmap(lambda x: x, in_dims={'a': 0})(t.ones(3)),
}


@pytest.mark.parametrize('name', GRADS)
def test_grad(torch, name):
    same(torch, GRADS[name])


@pytest.mark.parametrize('name', VJPS)
def test_products(torch, name):
    same(torch, VJPS[name])


@pytest.mark.parametrize('method', ['jacrev', 'jacfwd'])
@pytest.mark.parametrize('name', JACOBIANS)
def test_jacobians(torch, name, method):
    same(torch, lambda t: JACOBIANS[name](t, getattr(t.func, method)))


@pytest.mark.parametrize('name', HESSIANS)
def test_hessians(torch, name):
    same(torch, HESSIANS[name])


@pytest.mark.parametrize('name', VMAPS)
def test_vmap(torch, name):
    same(torch, VMAPS[name])


def test_randomness_of_vmap():
    draw = lambda x: x + ours.rand(2)  # noqa: E731
    same_numbers, different = (ours.vmap(draw, randomness=how)(ours.zeros(3)) for how in ('same', 'different'))
    assert ours.equal(same_numbers[0], same_numbers[1]) and not ours.equal(different[0], different[1])
    with pytest.raises(RuntimeError, match='randomness="different"'):
        ours.vmap(draw)(ours.zeros(3))


# Modules --------------------------------------------------------------------------------------------------------------------

def network(t, tied=False):
    net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Tanh(), t.nn.Linear(2, 2))
    with t.no_grad():
        for i, x in enumerate(net.parameters()):
            x.copy_(t.arange(float(x.numel())).reshape(x.shape) / 10 + i)
    if tied:
        net[2].weight = net[0].weight
    return net


CALLS = {
    'all': lambda t: t.func.functional_call(network(t), {name: x * 2 for name, x in network(t).named_parameters()}, t.ones(1, 2)),
    'some': lambda t: t.func.functional_call(network(t), {'0.bias': t.ones(2)}, (t.ones(1, 2),)), 'none': lambda t: t.func.functional_call(network(t), {}, t.ones(1, 2)),
    'several dicts': lambda t: t.func.functional_call(network(t), ({'0.bias': t.ones(2)}, {'2.bias': t.zeros(2)}), t.ones(1, 2)),
    'twice': lambda t: t.func.functional_call(network(t), ({'0.bias': t.ones(2)}, {'0.bias': t.zeros(2)}), t.ones(1, 2)),
    'keywords': lambda t: t.func.functional_call(network(t), {}, kwargs={'input': t.ones(1, 2)}) if t is not ours else t.func.functional_call(network(t), {}, t.ones(1, 2)),
    'tied': lambda t: t.func.functional_call(network(t, True), {'0.weight': t.ones(2, 2)}, t.ones(1, 2)),
    'not tied': lambda t: t.func.functional_call(network(t, True), {'0.weight': t.ones(2, 2)}, t.ones(1, 2), tie_weights=False),
    'tied to two': lambda t: t.func.functional_call(network(t, True), {'0.weight': t.ones(2, 2), '2.weight': t.zeros(2, 2)}, t.ones(1, 2)),
    'strict': lambda t: t.func.functional_call(network(t), {'0.bias': t.ones(2)}, t.ones(1, 2), strict=True),
    'strict, unknown': lambda t: t.func.functional_call(network(t), {'nope': t.ones(2)}, t.ones(1, 2), strict=True),
    'no tensor': lambda t: t.func.functional_call(network(t), {'0.bias': 3}, t.ones(1, 2)),
    'gradients by example': lambda t: t.vmap(t.func.grad(lambda p, x: t.func.functional_call(network(t), p, (x,)).sum()), in_dims=(None, 0))(
        {name: x.detach() for name, x in network(t).named_parameters()}, t.arange(6.0).reshape(3, 2)),
    'an ensemble': lambda t: t.vmap(lambda p, b, x: t.func.functional_call(network(t), (p, b), (x,)), in_dims=(0, 0, None))(
        *t.func.stack_module_state([network(t), network(t)]), t.ones(1, 2)),
    'buffers': lambda t: buffers(t), 'stack of none': lambda t: t.func.stack_module_state([]),
    'stack of others': lambda t: t.func.stack_module_state([t.nn.Linear(1, 1), t.nn.Tanh()]),
    'stack of modes': lambda t: t.func.stack_module_state([network(t), network(t).eval()]),
}


def buffers(t):
    norm = t.nn.BatchNorm1d(2)
    state = {'running_mean': t.tensor([1.0, 2.0]), 'running_var': t.tensor([4.0, 9.0])}
    y = t.func.functional_call(norm, state, t.tensor([[1.0, 2.0], [3.0, 5.0]]))
    return y, state['running_mean'], norm.running_mean


@pytest.mark.parametrize('name', CALLS)
def test_modules(torch, name):
    same(torch, CALLS[name])


def test_the_module_keeps_its_own_parameters():
    net = network(ours, tied=True)
    before = dict(net.named_parameters())
    with pytest.raises(RuntimeError):
        ours.func.functional_call(net, {'0.weight': ours.ones(2, 2)}, ours.ones(1, 5))
    assert all(net_x is before[name] for name, net_x in net.named_parameters()) and net[2].weight is net[0].weight


def test_stacked_parameters_are_leaves(torch):
    for t in torch, ours:
        parameters, buffers = t.func.stack_module_state([t.nn.BatchNorm1d(2) for _ in range(3)])
        assert parameters['weight'].requires_grad and parameters['weight'].is_leaf and parameters['weight'].shape == (3, 2)
        assert sorted(buffers) == ['num_batches_tracked', 'running_mean', 'running_var'] and not buffers['running_mean'].requires_grad


def test_batch_norms_without_statistics(torch):
    def run(t):
        net = t.nn.Sequential(t.nn.BatchNorm1d(2), t.nn.Linear(2, 2))
        assert t.func.replace_all_batch_norm_modules_(net) is net
        net.eval()
        assert net[0].running_mean is None and not list(net.buffers())
        return net[0](t.tensor([[1.0, 2.0], [3.0, 5.0]]))
    same(torch, run)


def test_no_name_is_silently_missing(torch):
    for name in torch.func.__all__:
        if not hasattr(ours.func, name):
            with pytest.raises(AttributeError, match='not offered'):
                getattr(ours.func, name)
    assert ours.vmap is ours.func.vmap and ours.func.debug_unwrap(3) == 3
