"""Steps of histories: grad_fn.next_functions, leaves, gradient edges; and tensors that are overwritten in place."""
import copy
import gc
import math
import pathlib
import sys
import weakref

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def steps(fn, depth=0):
    """Lines of a walk, as tools that draw histories do it."""
    label = fn.name() + (str(tuple(fn.variable.shape)) if hasattr(fn, 'variable') else '')
    found = [f'{depth} {label} {[number for _, number in fn.next_functions]}']
    for following, _ in fn.next_functions:
        found += [f'{depth + 1} nothing'] if following is None else steps(following, depth + 1)
    return found


def elementwise(t):
    w, x = t.ones(3, requires_grad=True), t.tensor([1.0, 2.0, 3.0])
    return steps(((w * x).exp() + w.sin()).sum().grad_fn)


def network(t):
    net = t.nn.Sequential(t.nn.Tanh(), t.nn.ReLU())
    x = t.ones(2, 3, requires_grad=True)
    return steps((net(x).view(6) - x.reshape(6)).mean().grad_fn)


def several_results(t):
    x = t.arange(4.0).requires_grad_()
    values, _ = x.topk(2)
    return steps(values.grad_fn), len({values.grad_fn, values.grad_fn, (x * 2).grad_fn})


def function(t):
    class Both(t.autograd.Function):
        @staticmethod
        def forward(ctx, a, number, b):
            return a * number, b * number

        @staticmethod
        def backward(ctx, g, h):
            return g * 2, None, h * 2
    held = [t.ones(2, requires_grad=True)]
    x, y = Both.apply(held[0], 2.0, t.ones(2))
    return [number for _, number in (x + y).grad_fn.next_functions], x.grad_fn is y.grad_fn, x.grad_fn.next_functions[0][0].variable is held[0]


def leaves(t):
    layer = t.nn.Linear(1, 3)
    layer.weight.data.fill_(1)
    w = layer.weight.view_as(layer.weight).grad_fn.next_functions[0][0].variable
    end = w.expand_as(w).grad_fn.next_functions[0][0]
    seen = []
    handle = end.register_hook(lambda *unused: seen.append(w.grad.clone()))
    (w * 2).sum().backward()
    handle.remove()
    (w * 2).sum().backward()
    return end.name(), end.variable is w is layer.weight, end.next_functions, seen, w.grad


def before(t):
    x = t.ones(2, requires_grad=True)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    (y * 2).sum().backward()
    return x.grad


def edges(t):
    x = t.ones(2, requires_grad=True)
    h = x.exp()
    edge, end = t.autograd.graph.get_gradient_edge(h), t.autograd.graph.get_gradient_edge(x)
    y = (h * h).sum()
    del h
    return t.autograd.grad(y, [edge, x], retain_graph=True), t.autograd.grad(y, end), edge.output_nr, edge.node.name(), end.node.name()


STEPS = {
    'x * x.exp()': 'self other', 'x * 2.0': '', 'x.exp()': 'result', 'x.sin()': 'self', 'x.pow(x)': 'self exponent', 'x / (x + 1)': 'other',
    'F.linear(x, w, b)': 'mat1 mat2', 'F.linear(x, w)': 'mat2', 'x @ x': 'self mat2', 'x.sum(0)': '', 'x.tanh()': 'result', 'x.softmax(-1)': 'result',
    'torch.cat([x, x * 2])': '', 'x + x.T': '', 'x.view(4)': '', 'F.conv2d(x[None, None], w[None, None, :, :2], b[:1])': 'input weight',
}


def hooked(t, line, saved):
    x, w, b = (t.arange(1.0, 1 + n).reshape(shape).div(4).requires_grad_() for n, shape in ((4, (2, 2)), (6, (3, 2)), (3, (3,))))
    seen = []
    y = eval(line, {'torch': t, 'F': t.nn.functional, 'x': x, 'w': w, 'b': b})
    kept = [getattr(y.grad_fn, f'_saved_{name}') for name in saved.split()]
    handle = y.grad_fn.register_hook(lambda *gradients: seen.append([[x if x is None else x.clone() for x in each] for each in gradients]))
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    return y.grad_fn.name(), seen, [(each.detach(), each.requires_grad) for each in kept]


@pytest.mark.parametrize('line', STEPS)
def test_hooks_of_steps_and_what_they_keep(torch, line):
    same(torch, lambda t: hooked(t, line, STEPS[line]))


def replaced(t):
    x, w = t.tensor([[1.0, 2.0]], requires_grad=True), t.ones(3, 2, requires_grad=True)
    y = (x * 3).exp()
    y.grad_fn.register_hook(lambda passed, arrived: (passed[0] * passed[0],))
    first, = t.autograd.grad(y.sum(), x, create_graph=True)
    first.sum().backward()
    z = t.nn.functional.linear(x, w)
    z.grad_fn.register_hook(lambda passed, arrived: (None, passed[1] + t.tensor([[1.0], [10.0]])))
    z.sum().backward()
    return first.detach(), x.grad, w.grad


def kept(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y, z = x.exp(), (x * 1).sin()
    result, names = y.grad_fn._saved_result, [name for name in dir(z.grad_fn) if name.startswith('_saved')]
    told = names, result.grad_fn is y.grad_fn, result is y, t.autograd.grad(result.sum(), x, retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match='freed'):
        y.grad_fn._saved_result
    changed = x * 1
    z = changed.sin()
    changed.add_(1)
    with pytest.raises(RuntimeError, match='(modified|changed)'):
        z.grad_fn._saved_self
    return told, dir(z.grad_fn) is None


def test_a_wrong_hook_of_a_step_is_an_error():
    x = ours.ones(2, requires_grad=True)
    for hook, message in ((lambda *_: (None, None, None), '3 gradients for 1 inputs'), (lambda *_: (5,), 'Tensor or None, not int')):
        y = x.exp()
        y.grad_fn.register_hook(hook)
        with pytest.raises((RuntimeError, TypeError), match=message):
            y.sum().backward()
    with pytest.raises(AttributeError, match='_saved_other.*keeps _saved_result'):
        x.exp().grad_fn._saved_other
    with pytest.raises(RuntimeError, match='several steps'):
        ours.nn.functional.glu(x * 1).grad_fn.register_hook(print)


@pytest.mark.parametrize('run', [elementwise, network, several_results, function, leaves, before, edges, replaced, kept])
def test_walks(torch, run):
    same(torch, run)


LINES = '''x + y|x - 1|x * 2|x / 2|torch.rsub(x, 1)|x ** y|x % y|x @ y|torch.addmm(x, x, y)|torch.baddbmm(b, b, b)|torch.cat([x, y], 1)
    torch.where(m, x, y)|torch.where(m, x, 0.)|x[0]|x[1:]|x[m]|x[idx]|x[idx, idx]|x.gather(0, g)
    x.index_select(0, idx)|x.scatter(0, g, y)|x.scatter_add(0, g, y)|x.masked_select(m)|x.take(idx)|x.std()|x.max(0)[0]|x.min(1)[0]|x.median()|x.kthvalue(1)[0]
    x.flip(0)|x.diag()|x.trace()|torch.diag_embed(v)|x.repeat(2, 1)|x.unfold(0, 2, 1)|x.rot90()|x.clamp(0, 1)|x.clamp_min(0.)|F.selu(x)|F.mish(x)
    F.logsigmoid(x)|F.glu(e)|F.softsign(x)|F.threshold(x, .1, .2)|F.conv2d(i, k)|F.conv2d(i, k, w)|F.batch_norm(i, None, None, training=True)|F.layer_norm(x, (3,))
    F.group_norm(i, 1)|F.embedding(idx, x)|F.cross_entropy(x, t)|F.nll_loss(x, t)|F.binary_cross_entropy(x / 2, y.detach() / 2)
    F.binary_cross_entropy_with_logits(x, y.detach())|F.multi_margin_loss(x, t)|F.soft_margin_loss(x, y.detach())|F.pixel_shuffle(p, 2)|F.unfold(i, 2)
    F.embedding_bag(t, x, torch.tensor([0]))|F.linear(x, y, v)|torch.cdist(x, y)|torch.cross(x, y, 0)|torch.dist(x, y)|torch.sinc(x)|torch.xlogy(x, y)|torch.fmax(x, y)
    x.fmod(2)|x.logcumsumexp(0)|torch.logit(x / 2)|torch.block_diag(x, y)|torch.var_mean(x)[0]|torch.view_as_real(torch.complex(x, y))|(x * 1).add_(y)
    (x * 1).clamp_(0, 1)|(x * 1).scatter_(0, g, y)|(x * 1).exp_()|(x * 1).sigmoid_().mul_(y)'''.replace('\n', '|').split('|')


@pytest.mark.parametrize('line', [line.strip() for line in LINES])
def test_names_of_steps(torch, line):
    """Of the last step, and of those that it leads to."""
    def run(t):
        def waves(*shape):
            return (t.arange(1.0, 1 + math.prod(shape)) / 10).reshape(shape).requires_grad_()
        values = dict(torch=t, F=t.nn.functional, x=waves(3, 3), y=waves(3, 3), v=waves(3), b=waves(1, 3, 3), e=waves(2, 4), i=waves(1, 1, 4, 4), k=waves(1, 1, 2, 2),
                      w=waves(1), p=waves(1, 4, 2, 2), m=t.tensor([[True, False, True]] * 3), idx=t.tensor([0, 1]), t=t.tensor([0, 1, 2]),
                      g=t.zeros(3, 3, dtype=t.int64))
        return steps(eval(line, values).grad_fn)
    same(torch, run)


def test_a_name_ends_with_a_write():
    x = ours.ones(3, requires_grad=True)
    y = ours.nn.functional.glu(ours.cat([x, x]))
    assert y.grad_fn.name() == 'GluBackward0' and y.grad_fn.next_functions[0][0].name() == 'CatBackward0'
    y.mul_(2)
    assert y.grad_fn.name() == 'MulBackward0' and len(y.grad_fn.next_functions) == 2


WRITES = {
    'zero_': lambda t, y, v: y.zero_(), 'fill_': lambda t, y, v: y.fill_(3.0), 'fill_ by a tensor': lambda t, y, v: y.fill_(t.tensor(2.0)),
    'copy_': lambda t, y, v: y.copy_(t.ones(3)), 'copy_ with a history': lambda t, y, v: y.copy_(v),
    'an item': lambda t, y, v: y.__setitem__(..., 5.0), 'a slice': lambda t, y, v: y.__setitem__(slice(2), 5.0),
    'a view': lambda t, y, v: y[1:].zero_(), 'all of a view': lambda t, y, v: y.view(3).zero_(), 'twice': lambda t, y, v: y.zero_().add_(v).zero_(),
    'ones': lambda t, y, v: y.zero_().add_(1).mul_(v), 'uniform_': lambda t, y, v: y.uniform_().mul_(0).add_(1),
}


@pytest.mark.parametrize('name', WRITES)
def test_what_is_overwritten_stays_in_its_graph(torch, name):
    def run(t):
        x, v = t.tensor([1.0, 2.0, 3.0], requires_grad=True), t.tensor([3.0, 4.0, 5.0], requires_grad=True)
        y = x * 2
        WRITES[name](t, y, v)
        told = y.detach().clone(), y.requires_grad, y.is_leaf
        (y * v).sum().backward()
        return told, None if name == 'copy_ with a history' else x.grad, v.grad
    same(torch, run)


def test_a_step_has_one_object_as_long_as_it_is_known():
    x = ours.ones(2, requires_grad=True)
    y = x * 2
    first = y.grad_fn
    assert y.grad_fn is first and first == 'mul' and first != (x * 2).grad_fn and hash(first) != hash((x * 2).grad_fn)
    y.add_(1)
    assert y.grad_fn is not first and y.grad_fn.next_functions == ((first, 0), (None, 0))
    del y
    assert first.next_functions[0][0].variable._same_elements(x)
    lost = weakref.ref(first)
    del first
    gc.collect()
    assert lost() is None


def test_leaves_that_are_gone_or_elsewhere():
    end = (ours.ones(2, requires_grad=True) * 2).grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match='its leaf is gone'):
        end.variable
    layer = ours.nn.Linear(2, 1, bias=False)
    w = layer.weight
    end = (w * 2).grad_fn.next_functions[0][0]
    assert end.variable is w
    layer.double()
    w = layer.weight
    assert (w * 2).grad_fn.next_functions[0][0].variable is w
    assert copy.copy(end.metadata) == {}
    with pytest.raises(AttributeError, match='_saved_self.*keeps nothing'):
        end._saved_self
