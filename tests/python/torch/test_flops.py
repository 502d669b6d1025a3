"""torch.utils.flop_counter counts what PyTorch counts, by module too; torch.utils.module_tracker tells which modules run."""
import pytest

import tenon.torch as ours
from tenon.torch.utils.flop_counter import register_flop_formula


def products(t):
    def r(*shape):
        return t.ones(*shape, requires_grad=True)
    f = t.nn.functional
    return {
        'mm': lambda: r(2, 3) @ r(3, 4), 'vector': lambda: r(2, 3) @ r(3), 'dot': lambda: r(3) @ r(3), 'row': lambda: r(3) @ r(3, 2), 'batched': lambda: r(5, 2, 3) @ r(5, 3, 4),
        'shared': lambda: r(5, 2, 3) @ r(3, 4), 'batched vector': lambda: r(5, 2, 3) @ r(3), 'vector of batch': lambda: r(2) @ r(5, 2, 3), 'broadcast': lambda: r(2, 1, 2, 3) @ r(4, 3, 4),
        'linear': lambda: f.linear(r(5, 2, 3), r(4, 3), r(4)).sum().backward(), 'bare linear': lambda: f.linear(r(5, 2, 3), r(4, 3)), 'one row': lambda: f.linear(r(3), r(4, 3), r(4)),
        'addmm': lambda: t.addmm(r(2, 2), r(2, 3), r(3, 2)), 'baddbmm': lambda: t.baddbmm(r(2, 2, 2), r(2, 2, 3), r(2, 3, 2)), 'addmv': lambda: t.addmv(r(2), r(2, 3), r(3)),
        'einsum': lambda: t.einsum('bij,bjk->bik', r(5, 2, 3), r(5, 3, 4)), 'outer': lambda: t.outer(r(2), r(3)),
        'chain': lambda: t.linalg.multi_dot([r(2, 3), r(3, 4), r(4, 5), r(5, 2)]), 'power': lambda: t.linalg.matrix_power(r(3, 3), 3),
        'attention': lambda: f.scaled_dot_product_attention(r(1, 2, 8, 4), r(1, 2, 6, 4), r(1, 2, 6, 4)).sum().backward(),
        'causal': lambda: f.scaled_dot_product_attention(r(1, 2, 8, 4), r(1, 2, 8, 4), r(1, 2, 8, 4), is_causal=True).sum().backward(),
        'second order': lambda: (lambda x: t.autograd.grad(t.autograd.grad((x @ x).sum(), x, create_graph=True)[0].sum(), x))(r(3, 3))}


def modules(t):
    nn = t.nn
    return {
        'conv': (nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=2), [(2, 4, 9, 9)]), 'transposed conv': (nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), [(2, 4, 5, 5)]),
        'conv 3d': (nn.Conv3d(2, 3, 2), [(1, 2, 4, 4, 4)]), 'no batch': (nn.Conv2d(4, 8, 3), [(4, 9, 9)]), 'gru': (nn.GRU(4, 5), [(3, 2, 4)]), 'rnn': (nn.RNN(4, 5, 2), [(3, 2, 4)]),
        'self attention': (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), [(2, 5, 8)]), 'attention': (nn.MultiheadAttention(8, 2), [(4, 1, 8)] * 3),
        'nested': (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Sequential(nn.Linear(144, 5), nn.Linear(5, 2))), [(2, 3, 8, 8)])}


def counted(t, run, **options):
    counter = t.utils.flop_counter.FlopCounterMode(display=False, **options)
    with counter:
        run()
    return counter


def totals(counter):
    return {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items() if counts}


@pytest.mark.parametrize('name', products(ours))
def test_products_count_as_in_pytorch(torch, name):
    found = [totals(counted(t, products(t)[name])) for t in (imported(torch), imported(ours))]
    assert found[0] == found[1]


@pytest.mark.parametrize('name', modules(ours))
def test_modules_count_as_in_pytorch(torch, name):
    def run(t):
        module, shapes = modules(t)[name]

        def step():
            found = module(*(t.ones(*shape, requires_grad=True) for shape in shapes))
            (found[0] if isinstance(found, tuple) else found).sum().backward()
        return totals(counted(t, step))
    found = [run(t) for t in (imported(torch), imported(ours))]
    assert found[0] == found[1] and len(found[0]) > 1


def imported(t):
    from importlib import import_module
    import_module(t.__name__ + '.utils.flop_counter')
    return t


def test_a_fused_lstm_counts_its_products():
    t = imported(ours)
    counter = counted(t, lambda: t.nn.LSTM(4, 5)(t.ones(3, 2, 4))[0].sum().backward())
    forward = 2 * 3 * 2 * 20 * 4 + 2 * 3 * 2 * 20 * 5
    assert counter.get_total_flops() == 2 * forward + 2 * 3 * 2 * 20 * 5  # of the weights alone, and of the states


def test_counts_of_tensors_without_elements_within_the_scope_and_in_a_table(capsys):
    t = imported(ours)
    with t.utils.flop_counter.FlopCounterMode(depth=1) as counter:
        t.nn.Sequential(t.nn.Linear(300, 400)).to('meta')(t.ones(20, 300, device='meta'))
        assert counter.get_total_flops() == 2 * 20 * 300 * 400
    table = capsys.readouterr().out
    assert '4.800M  100.00%' in table and 'aten.addmm' in table and 'Sequential' in table and 'Sequential.0' not in table
    assert 'Sequential.0' in counter.get_table(2)
    with counter:
        t.ones(2).exp()
    assert counter.get_total_flops() == 0 and counter.get_unsupported_ops()['exp'] == 1


def test_formulas_of_a_program(torch):
    def run(t):
        return counted(imported(t), lambda: t.ones(2, 3) @ t.ones(3, 4), custom_mapping={t.ops.aten.mm: lambda a, b, *rest, out_shape=None, **more: a[0] + b[1]}).get_total_flops()
    assert run(ours) == run(torch) == 6
    with pytest.raises(ValueError, match='torch.ops.aten'):
        register_flop_formula('mm')


def test_modules_that_run(torch):
    def run(t):
        from importlib import import_module
        tracker = import_module(t.__name__ + '.utils.module_tracker').ModuleTracker()
        seen = []

        class Seen(t.nn.Module):
            def forward(self, x):
                seen.append(set(tracker.parents))
                y = x * 2
                y.register_hook(lambda g: seen.append(set(tracker.parents)))
                return y * 1
        net = t.nn.Sequential(Seen(), t.nn.Sequential(Seen(), t.nn.ReLU()))
        with tracker:
            net(t.ones(3, requires_grad=True)).sum().backward()
            seen.append(set(tracker.parents))
        return seen
    assert run(ours) == run(torch) and len(run(ours)) == 5
