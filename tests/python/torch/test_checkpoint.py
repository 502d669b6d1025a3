"""torch.utils.checkpoint: the same results and gradients as without it, compared with PyTorch, and less memory."""
import pathlib
import sys

import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same, same_error


def numbers(t, *shape):
    count = 1
    for size in shape:
        count *= size
    return t.sin(t.arange(count, dtype=t.float64)).reshape(shape)


def module(t, *sizes):
    parts = [t.nn.Linear(a, b, dtype=t.float64) for a, b in zip(sizes, sizes[1:])]
    with t.no_grad():
        for part in parts:
            part.weight.copy_(numbers(t, *part.weight.shape))
            part.bias.copy_(numbers(t, *part.bias.shape))
    return t.nn.Sequential(*[layer for part in parts for layer in (part, t.nn.Tanh())])


def checkpoint(t, *args, **kwargs):
    return t.utils.checkpoint.checkpoint(*args, use_reentrant=False, **kwargs)


def of_module(t):
    m, x = module(t, 3, 5, 2), numbers(t, 4, 3).requires_grad_()
    y = checkpoint(t, m, x)
    (y * y).sum().backward()
    return y.detach(), x.grad, [p.grad for p in m.parameters()]


def of_closure(t):
    w, x = numbers(t, 3, 3).requires_grad_(), numbers(t, 3, 3)
    inner = (w * 2).tanh()
    y = checkpoint(t, lambda x: (x @ inner.T).exp() + w[0], x)
    y.sum().backward()
    return y.detach(), w.grad


def of_nested(t):
    x, y = numbers(t, 3).requires_grad_(), numbers(t, 3, 3).requires_grad_()
    found = checkpoint(t, lambda pair, *, scale: {'a': pair[0] * scale['s'], 'n': 3, 'b': [pair[1] @ pair[0], pair[1]]}, (x, y), scale={'s': y.sum()})
    (found['a'].sum() + (found['b'][0] ** 2).sum() + found['b'][1].sum()).backward()
    return found['n'], found['a'].detach(), x.grad, y.grad


def of_inner_checkpoint(t):
    m, x = module(t, 3, 4, 4, 2), numbers(t, 2, 3).requires_grad_()
    checkpoint(t, lambda x: m[4:](checkpoint(t, m[:4], x)), x).sum().backward()
    return x.grad, [p.grad for p in m.parameters()]


def by_grad(t):
    m, x = module(t, 3, 4, 2), numbers(t, 2, 3).requires_grad_()
    loss = (checkpoint(t, m, x) ** 2).sum()
    return [g.detach() for g in t.autograd.grad(loss, [x, *m.parameters()])]


def twice(t):
    m, x = module(t, 3, 4, 2), numbers(t, 2, 3).requires_grad_()
    first, = t.autograd.grad((checkpoint(t, m, x) ** 3).sum(), x, create_graph=True)
    return [g.detach() for g in t.autograd.grad((first ** 2).sum(), [x, m[0].weight])]


def sequential(t):
    m, x = module(t, 3, 4, 4, 2), numbers(t, 2, 3).requires_grad_()
    y = t.utils.checkpoint.checkpoint_sequential(m, 3, x, use_reentrant=False)
    y.sum().backward()
    return y.detach(), x.grad, m[0].weight.grad


def without_gradients(t):
    m, x = module(t, 3, 2), numbers(t, 2, 3)
    with t.no_grad():
        y = checkpoint(t, m, x)
    return y, y.requires_grad, checkpoint(t, lambda x: x * 2, x).requires_grad


def several_results(t):
    x = numbers(t, 3).requires_grad_()
    a, b, c = checkpoint(t, lambda x: (x.exp(), x > 0, x * 3), x)
    a.sum().backward()
    return x.grad, [y.requires_grad for y in (a, b, c)]


def statistics(t):
    norm, x = t.nn.BatchNorm1d(3, dtype=t.float64), numbers(t, 4, 3).requires_grad_()
    (checkpoint(t, norm, x) ** 3).sum().backward()
    return x.grad, norm.weight.grad, norm.num_batches_tracked.item()


@pytest.mark.parametrize('scenario', [of_module, of_closure, of_nested, of_inner_checkpoint, by_grad, twice, sequential, without_gradients,
                                      several_results, statistics], ids=lambda each: each.__name__)
def test_as_in_pytorch(torch, scenario):
    same(torch, scenario)


def test_recomputation_draws_the_same_random_numbers():
    x = ours.ones(1000, requires_grad=True)
    ours.manual_seed(3)
    y = checkpoint(ours, lambda x: ours.nn.functional.dropout(x, 0.5), x)
    after = ours.rand(1)
    y.sum().backward()
    assert (x.grad == y.detach()).all() and 0 < (x.grad == 0).sum() < 1000
    ours.manual_seed(3)
    ours.nn.functional.dropout(x, 0.5)
    assert (after == ours.rand(1)).all()


def test_recomputation_uses_the_same_autocast():
    x, kinds = ours.ones(2, 2, requires_grad=True), []

    def product(x):
        kinds.append((x @ x).dtype)
        return x @ x
    with ours.autocast('cpu'):
        y = checkpoint(ours, product, x)
    y.float().sum().backward()
    assert kinds == [ours.bfloat16] * 2 and x.grad.dtype == ours.float32


def test_scopes_of_both_passes():
    seen = []

    class Scope:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(self.name)

        def __exit__(self, *raised):
            pass
    x = ours.ones(2, requires_grad=True)
    y = checkpoint(ours, ours.exp, x, context_fn=lambda: (Scope('first'), Scope('second')))
    assert seen == ['first']
    y.sum().backward()
    assert seen == ['first', 'second']


def test_memory_is_that_of_the_parts():
    def held(run):
        x = ours.ones(1000, 100, requires_grad=True)
        before = tenon.device('cpu').memory()['used']
        y = run(x)
        return tenon.device('cpu').memory()['used'] - before, y

    def deep(x):
        for _ in range(10):
            x = ours.tanh(x)
        return x
    kept, _ = held(deep)
    again, y = held(lambda x: checkpoint(ours, deep, x))
    assert again * 8 < kept
    y.sum().backward()


def test_a_different_result_on_recomputation_is_an_error():
    x, sizes = ours.ones(4, requires_grad=True), [4, 3]
    y = checkpoint(ours, lambda x: x[:sizes.pop(0)] * 2, x)
    with pytest.raises(ours.utils.checkpoint.CheckpointError, match=r'shape torch.Size\(\[4\]\), and torch.Size\(\[3\]\)'):
        y.sum().backward()


def wrong(t, what):
    if what == 'segments':
        t.utils.checkpoint.checkpoint_sequential(module(t, 3, 2), 0, numbers(t, 2, 3), use_reentrant=False)
    checkpoint(t, lambda x: x.no_such_attribute, numbers(t, 2).requires_grad_())


def test_errors_in_the_function_propagate(torch):
    same_error(torch, wrong, 'function')
    with pytest.raises(ValueError, match='0 segments of 2 functions'):
        wrong(ours, 'segments')
    assert (ours.ones(2) + 1).sum().item() == 4  # no witness is left behind


class Blocks(tenon.nn.Module):
    """Blocks that backward computes again, or not; they are wide inside."""

    def __init__(self, checkpointing, inner=tenon.nn.GELU):
        super().__init__()
        tenon.manual_seed(1)
        self.blocks = tenon.nn.ModuleList([tenon.nn.Sequential(tenon.nn.Linear(16, 512), inner(), tenon.nn.Linear(512, 16)) for _ in range(6)])
        self.checkpointing = checkpointing

    def forward(self, x):
        for block in self.blocks:
            x = x + (checkpoint(ours, block, x) if self.checkpointing else block(x))
        return x


def trained(net, compiled, steps=4):
    """Losses and weights of some steps, and the memory in use after them; for a graph, everything that its runs need."""
    optimizer, device = tenon.optim.Adam(net.parameters(), lr=1e-3), tenon.device('cpu')

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss
    run, x, before = tenon.compile(step) if compiled else step, tenon.randn(512, 16), device.memory()['used']
    losses = [run(x).item() for _ in range(steps)]
    return losses, [p.detach().numpy().tobytes() for p in net.parameters()], device.memory()['used'] - before


@pytest.mark.filterwarnings('error')
def test_captured_steps_equal_eager_steps():
    assert trained(Blocks(True), True)[:2] == trained(Blocks(True), False)[:2]


def test_a_captured_step_saves_as_much_memory():
    assert trained(Blocks(True), True)[2] * 2 < trained(Blocks(False), True)[2]


def test_a_graph_cannot_draw_again():
    with pytest.warns(UserWarning, match='draws random numbers, which a graph cannot draw again'):
        found = trained(Blocks(True, tenon.nn.Dropout), True)
    assert found[:2] == trained(Blocks(True, tenon.nn.Dropout), False)[:2]
