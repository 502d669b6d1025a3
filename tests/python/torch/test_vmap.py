"""vmap: every function beside a loop over the entries, transformations of each other beside PyTorch, and what cannot be mapped."""
import gc
import itertools
import pathlib
import sys
import threading
import warnings

import pytest

import tenon
import tenon.torch as ours
from tenon import _vmap
from tenon.torch.func.trees import filled, leaves_of

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import op_db
from beside import same

# Entries of op_db whose results need the elements of one entry: their shape depends on them, or Python counts with them.
NOT_MAPPED = set('''
    argwhere bincount histc histogram histogramdd index_put linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve linspace/tensor_overload logspace/tensor_overload masked_scatter masked_select narrow nextafter
    nn.functional.batch_norm nn.functional.embedding nn.functional.embedding_bag nn.functional.instance_norm nonzero nonzero_static
    tensor_split unique unique_consecutive'''.split())
# Ops that run entry by entry, with a warning, or write into what they are given.
WITHOUT_RULE = set('''as_strided_scatter scaled_matmul arange linspace eye full
    sgd_step adam_step adam_step_counted rmsprop_step adagrad_step multi_norm multi_scale'''.split())
SAMPLES, ENTRIES = 6, 3


def test_ops_have_rules():
    from tenon._vmap.call import RULES
    ops = {name for name in tenon._core.ops if '.' not in name}
    assert ops - RULES.keys() == WITHOUT_RULE
    assert not WITHOUT_RULE & RULES.keys()


def other(x, by):
    """x with its elements at other places: another entry that is as valid."""
    return x.flatten().roll((by,)).reshape(x.shape) if x.size else x


def batches_of(leaves, where):
    return {i: ours.stack([leaves[i], *(other(leaves[i], k) for k in range(1, ENTRIES))]) for i in where}


def calls_of(judge, entry):
    """(call, batches): a function of some of a sample's tensors, and batches of these."""
    function = judge.function_of(entry)
    for sample in itertools.islice(entry.sample_inputs('cpu', judge.torch.float32 if judge.torch.float32 in entry.dtypes else judge.torch.int64), SAMPLES):
        args, kwargs = (judge.convert(sample.input), *judge.convert(sample.args)), judge.convert(sample.kwargs)
        leaves = leaves_of(args)
        tensors = [i for i, x in enumerate(leaves) if isinstance(x, ours.Tensor)]
        for where in [tensors, *([i] for i in tensors if len(tensors) > 1)][:3]:
            batches = batches_of(leaves, where)

            def call(*given, args=args, kwargs=kwargs, leaves=leaves, where=tuple(batches)):
                mapped = dict(zip(where, given))
                found = function(*filled(args, iter([mapped.get(i, x) for i, x in enumerate(leaves)])), **kwargs)
                return tuple(y for y in leaves_of(found) if isinstance(y, ours.Tensor))
            if batches:
                yield call, list(batches.values())


def looped(call, batches):
    """The results of the loop, or None where they have several shapes, or there are none."""
    try:
        rows = [call(*(x[i].clone() for x in batches)) for i in range(ENTRIES)]  # as_strided of a view would reach the other entries
        return [ours.stack(list(column)) for column in zip(*rows)] or None
    except (RuntimeError, ValueError, TypeError, LookupError, tenon.Error, NotImplementedError):
        return None


def test_every_function_is_as_in_a_loop(torch):
    judge, compared, wrong = op_db.Judge(SAMPLES), 0, []
    for name, entry in judge.entries.items():
        if op_db.left_out(name) or entry.name in op_db.RANDOM | op_db.UNORDERED or name in NOT_MAPPED or name in ('as_strided_scatter', 'chalf'):
            continue
        try:
            calls = list(calls_of(judge, entry))
        except (op_db.Difference, AttributeError, TypeError, RuntimeError):
            continue
        for call, batches in calls:
            expected = looped(call, batches)
            if expected is None:
                continue
            compared += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter('ignore')
                    found = ours.vmap(call)(*batches)
                for mine, theirs in zip(found, expected, strict=True):
                    judge.equal(mine, torch.from_numpy(theirs.detach().contiguous().numpy().copy()) if theirs.dtype is not ours.bfloat16
                                else judge.torch.tensor(theirs.tolist()).bfloat16(), 'value', loose=10)
            except (op_db.Difference, RuntimeError, ValueError, TypeError, LookupError, tenon.Error) as error:
                wrong.append(f'{name}: {str(error)[:120]}')
    assert not wrong, '\n'.join(wrong[:30])
    assert compared > 4000


# Beside PyTorch ---------------------------------------------------------------------------------------------------------------

def rows(t):
    return t.arange(6.0).reshape(3, 2) + 1


def seeded(t, module):
    with t.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_((t.sin(t.arange(float(p.numel())) * (i + 1)) * 0.3).reshape(p.shape))
    return module


def network(t):
    return seeded(t, t.nn.Sequential(t.nn.Conv2d(1, 2, 3), t.nn.GroupNorm(1, 2), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Flatten(),
                                     t.nn.Linear(8, 3)))


def perceptron(t):
    return seeded(t, t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh(), t.nn.LayerNorm(3), t.nn.Linear(3, 1)))


def images(t):
    return t.cos(t.arange(180.0)).reshape(5, 1, 6, 6)


def by_example(t, **options):
    net = network(t)

    def loss(p, image, label):
        return t.nn.functional.cross_entropy(t.func.functional_call(net, p, (image[None],)), label[None])
    return t.vmap(t.func.grad(loss), in_dims=(None, 0, 0), **options)(dict(net.named_parameters()), images(t), t.tensor([0, 1, 2, 1, 0]))


def jacobian_of_weights(t, transformation):
    net = network(t)
    return transformation(lambda p: t.func.functional_call(net, p, (images(t)[:2],)))(dict(net.named_parameters()))


def attention(t):
    module, x = seeded(t, t.nn.MultiheadAttention(4, 2, batch_first=True)), t.sin(t.arange(24.0)).reshape(3, 2, 4)
    by_entry = t.func.grad(lambda p, v: t.func.functional_call(module, p, (v, v, v))[0].square().sum())
    return t.vmap(lambda v: module(v, v, v)[0])(x), t.vmap(by_entry, in_dims=(None, 0))(dict(module.named_parameters()), x)


def embedding(t, **options):
    module = seeded(t, t.nn.Embedding(5, 3, **options))
    by_entry = t.func.grad(lambda p, i: t.func.functional_call(module, p, (i,)).square().sum())
    return t.vmap(by_entry, in_dims=(None, 0))(dict(module.named_parameters()), t.tensor([[0, 1], [2, 4], [1, 1]]))


def ensemble(t):
    models = [seeded(t, t.nn.Linear(3, 2)) for _ in range(3)]
    return t.vmap(lambda p, b, x: t.func.functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(
        *t.func.stack_module_state(models), t.ones(4, 3))


def tripled(t, generate=True):
    class Tripled(t.autograd.Function):
        generate_vmap_rule = generate

        @staticmethod
        def forward(x):
            return x ** 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] * g
    return Tripled.apply


called = []  # the sizes of batches for which product() ran its own rule


def product(t):
    class Product(t.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y * 3, g * x

        @staticmethod
        def vmap(info, in_dims, x, y):
            wide = [each.expand(info.batch_size, *each.shape) if dim is None else each.movedim(dim, 0)
                    for each, dim in zip((x, y), in_dims)]
            called.append(info.batch_size)
            return Product.apply(*wide), 0
    return Product.apply


def leaf_gradient(t, function):
    x = rows(t).requires_grad_()
    t.vmap(function)(x).sum().backward()
    return x.grad


def written(t):
    def put(v):
        z = v.clone()
        z[0] = v[1] * 2
        return (z.add_(1) * v).mul_(v)
    return t.vmap(put)(rows(t))


def many_seeds(t):
    x = rows(t).requires_grad_()
    return t.autograd.grad(x ** 3, x, t.eye(6).reshape(6, 3, 2), is_grads_batched=True)


def of_perceptron(run):
    """run(t, network): the network is made before, since that draws random numbers."""
    return lambda t: run(t, perceptron(t))


SCENARIOS = {
    'gradients by example': by_example, 'in chunks': lambda t: by_example(t, chunk_size=2),
    'jacrev of weights': lambda t: jacobian_of_weights(t, t.func.jacrev), 'jacfwd of weights': lambda t: jacobian_of_weights(t, t.func.jacfwd),
    'jacrev in chunks': of_perceptron(lambda t, net: t.func.jacrev(net, chunk_size=1)(rows(t))),
    'hessian': of_perceptron(lambda t, net: t.func.hessian(lambda v: net(v).sum())(rows(t)[0])),
    'hessians': of_perceptron(lambda t, net: t.vmap(t.func.hessian(lambda v: net(v).squeeze()))(rows(t))),
    'jvp of each': of_perceptron(lambda t, net: t.vmap(lambda v: t.func.jvp(net, (v,), (t.ones(2),)))(rows(t))),
    'gradients in each direction': lambda t: t.vmap(lambda v: t.func.jvp(t.func.grad(lambda x: (x ** 3).sum() + x.prod()), (rows(t)[0],), (v,)))(t.eye(2)),
    'vjp of each': of_perceptron(lambda t, net: t.vmap(lambda v: t.func.vjp(net, v)[1](t.ones(1))[0])(rows(t))),
    'attention': attention, 'embedding': embedding, 'embedding with padding': lambda t: embedding(t, padding_idx=1), 'ensemble': ensemble,
    'function': lambda t: t.vmap(tripled(t))(rows(t)), 'its gradient': lambda t: t.vmap(t.func.grad(lambda v: tripled(t)(v).sum()))(rows(t)),
    'its jacobian': lambda t: t.func.jacrev(tripled(t))(rows(t)), 'its jacobians': lambda t: t.vmap(t.func.jacrev(tripled(t)))(rows(t)),
    'its second gradient': lambda t: t.func.jacrev(t.func.jacrev(lambda v: (tripled(t)(v) * v).sum()))(rows(t)[0]),
    'gradients of its leaf': lambda t: leaf_gradient(t, tripled(t)),
    'own rule': lambda t: t.vmap(product(t), in_dims=(0, None))(rows(t), t.tensor([2.0, 3.0])),
    'gradient of an own rule': lambda t: t.vmap(t.func.grad(lambda v, u: product(t)(v, u).sum()), in_dims=(0, None))(rows(t), t.tensor([2.0, 3.0])),
    'writes': written, 'where': lambda t: t.vmap(lambda v: t.where(v > 2, v, -v).sum())(rows(t)),
    'one index each': lambda t: t.vmap(lambda v, i: t.index_select(v, 0, i[None]))(rows(t), t.tensor([0, 1, 0])), 'many seeds': many_seeds,
    'jacobian, vectorized': of_perceptron(lambda t, net: t.autograd.functional.jacobian(lambda v: net(v) ** 2, rows(t)[0], vectorize=True)),
    'hessian, vectorized': of_perceptron(lambda t, net: t.autograd.functional.hessian(lambda v: net(v).sum(), rows(t)[0], vectorize=True)),
    'three deep': lambda t: t.vmap(t.vmap(t.vmap(lambda x, y: x * y + x, (0, None)), (None, 0)))(rows(t), rows(t)),
    'gradient around and within': lambda t: t.func.grad(lambda x: t.vmap(t.func.grad(lambda v: (v ** 3).sum()))(x).sin().sum())(rows(t)),
    'dropout of none': lambda t: t.vmap(lambda v: t.nn.functional.dropout(v, 0.0), randomness='same')(rows(t)),
}


@pytest.mark.parametrize('name', SCENARIOS)
def test_beside_pytorch(torch, name):
    with warnings.catch_warnings():
        warnings.filterwarnings('error', message=r'\[vmap\]')
        SCENARIOS[name](torch)  # it raises nothing there
        same(torch, SCENARIOS[name])


def test_a_custom_rule_is_called():
    called.clear()
    SCENARIOS['own rule'](ours)
    assert called == [3]


# What cannot be mapped --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('function, message', [
    (lambda v: v if v.sum() > 0 else -v, r'\[bool\] inside vmap .* where\(\)'), (lambda v: v.sum().item(), r'\[item\] inside vmap'),
    (lambda v: v.tolist(), r'\[tolist\] inside vmap'), (lambda v: v.numpy(), 'inside vmap'), (lambda v: int(v[0]), 'inside vmap'),
    (lambda v: ours.nonzero(v), 'depends on elements'), (lambda v: v[v > 1], 'depends on elements|how many'),
    (lambda v: ours.ones(2).add_(v), 'in place would write'), (lambda v: ours.rand(2) + v, 'randomness=')])
def test_refusals(function, message):
    with pytest.raises(RuntimeError, match=message):
        ours.vmap(function)(rows(ours))
    assert not _vmap.is_active()
    assert ours.vmap(lambda v: v * 2)(rows(ours)).tolist() == (rows(ours) * 2).tolist()


def test_an_entry_prints_as_entries_of_a_batch():
    seen = []
    ours.vmap(lambda v: seen.append((repr(v), str(v))) or v)(rows(ours))
    assert all(text.startswith('entries of a batch(tensor([[1.') for text in seen[0])


def test_an_op_without_a_rule_runs_entry_by_entry_and_warns():
    _vmap.call._warned.clear()
    with pytest.warns(UserWarning, match='as_strided_scatter has no rule for batches'):
        found = ours.vmap(lambda v: ours.as_strided_scatter(v, ours.zeros(1), (1,), (1,)))(rows(ours))
    assert found.tolist() == [[0.0, *row[1:]] for row in rows(ours).tolist()]


def test_draws():
    ours.manual_seed(0)
    x = ours.ones(3, 4)
    for draw in (lambda v: v + ours.rand(4), lambda v: ours.randn(4), lambda v: ours.randperm(50), lambda v: ours.randint(0, 1000, (9,)),
                 lambda v: ours.bernoulli(v * 0.5), lambda v: ours.nn.functional.dropout(v.repeat(20))):
        different, equal = (ours.vmap(draw, randomness=how)(x) for how in ('different', 'same'))
        assert equal.shape[0] == 3 and ours.equal(equal[0], equal[2])
        assert not ours.equal(different[0], different[1]) or not ours.equal(different[1], different[2])
    ours.vmap(lambda v: ours.nn.functional.dropout(v, 0.5, False))(x)  # nothing is drawn


def test_nothing_remains_after_the_vmap():
    def count():
        gc.collect()
        return sum(type(x) is _vmap.Level for x in gc.get_objects())
    before = count()
    x = rows(ours).requires_grad_()
    y = ours.vmap(lambda v: (v * 2).exp().sum())(x)
    assert count() == before
    y.sum().backward()
    assert ours.allclose(x.grad, (2 * (2 * rows(ours)).exp()))


def test_threads_have_their_own_levels():
    inside, go = threading.Event(), threading.Event()
    found = []

    def wait(v):
        inside.set()
        go.wait(60)
        return v * 2
    thread = threading.Thread(target=lambda: found.append(ours.vmap(wait)(rows(ours))))
    thread.start()
    inside.wait(60)
    assert not _vmap.is_active() and ours.ones(()).item() == 1
    go.set()
    thread.join()
    assert found[0].tolist() == (rows(ours) * 2).tolist()


def test_the_function_of_tenon():
    assert tenon.func.vmap(lambda x: (x * tenon.rand(1)).sum())(tenon.ones((3, 1))).unique().size == 3
    with pytest.raises(IndexError, match='out_dims 3 out of range'):
        tenon.func.vmap(lambda x: x, out_dims=3)(tenon.ones((3, 1)))
    with pytest.raises(ValueError, match='2 entries for 1 results'):
        tenon.func.vmap(lambda x: x, out_dims=(0, 1))(tenon.ones((3, 1)))


@pytest.mark.parametrize('bits', [4, 8])
@pytest.mark.parametrize('batched', [(1, 0, 0, 0), (0, 1, 1, 0), (1, 1, 0, 1), (0, 0, 0, 1), (1, 1, 1, 1)])
@pytest.mark.parametrize('shape', [(8,), (3, 8), (2, 3, 8)])
def test_packed_weights(shape, batched, bits):
    quantize, dequantize, linear = (tenon._core.ops[f'{name}_int{bits}'] for name in ('quantize', 'dequantize', 'linear'))

    def many(make, is_batch):
        return ours.stack([make() for _ in range(ENTRIES)]) if is_batch else make()
    packed, *groups = quantize(ours.randn(ENTRIES, 5, 8), 4)
    of_x, of_packed, of_groups, of_bias = batched
    given = [many(lambda: ours.randn(*shape), of_x), packed if of_packed else packed[0], *(x if of_groups else x[0] for x in groups),
             many(lambda: ours.randn(5), of_bias)]
    which = [of_x, of_packed, *[of_groups] * len(groups), of_bias]
    found = ours.func.vmap(linear, tuple(0 if one else None for one in which))(*given)
    entries = [linear(*(x[i] if one else x for x, one in zip(given, which))) for i in range(ENTRIES)]
    assert ours.allclose(found, ours.stack(entries), atol=1e-5)
    weights = ours.func.vmap(dequantize)(packed, *groups)
    if of_packed == of_groups:
        dense = [given[0], weights if of_packed else weights[0], given[-1]]
        places = tuple(0 if one else None for one in (of_x, of_packed, of_bias))
        assert ours.allclose(ours.func.vmap(ours.nn.functional.linear, places)(*dense), ours.stack(entries), atol=1e-5)
    assert ours.allclose(weights, ours.stack([dequantize(*one) for one in zip(packed, *groups)]), rtol=1e-6)
    again = ours.func.vmap(lambda w: quantize(w, 4))(weights)
    assert ours.equal(again[0], packed)
