"""torch.amp beside PyTorch: which dtype each function computes in under autocast, and the scaling of losses."""
import math
import pathlib
import sys
import threading
import warnings

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same, same_error


def numbers(t, *shape, dtype=None):
    x = t.arange(math.prod(shape), dtype=t.float32).reshape(shape) / 8 - 0.5
    return x if dtype is None else x.to(dtype)


FUNCTIONS = {
    'mm': lambda t, x, y: t.mm(x, y), 'matmul': lambda t, x, y: x @ y, 'bmm': lambda t, x, y: t.bmm(x[None], y[None]),
    'addmm': lambda t, x, y: t.addmm(x, x, y), 'baddbmm': lambda t, x, y: t.baddbmm(x[None], x[None], y[None]),
    'addbmm': lambda t, x, y: t.addbmm(x, x[None], y[None]),
    'einsum': lambda t, x, y: t.einsum('ij,jk->ik', x, y), 'linear': lambda t, x, y: t.nn.functional.linear(x, y, x[0]),
    'conv1d': lambda t, x, y: t.nn.functional.conv1d(x[None], y[:, :, None], y[0]),
    'conv2d': lambda t, x, y: t.nn.functional.conv2d(x[None, None], y[None, None, :2, :2]),
    'conv_transpose2d': lambda t, x, y: t.nn.functional.conv_transpose2d(x[None, None], y[None, None, :2, :2]),
    'attention': lambda t, x, y: t.nn.functional.scaled_dot_product_attention(x[None], y[None], y[None]),
    'prelu': lambda t, x, y: t.nn.functional.prelu(x, y[0]),
    'add': lambda t, x, y: x + y, 'mul': lambda t, x, y: x * y, 'relu': lambda t, x, y: t.relu(x), 'exp': lambda t, x, y: t.exp(x),
    'softmax': lambda t, x, y: t.softmax(x, 0), 'log_softmax': lambda t, x, y: t.log_softmax(y, 0), 'sum': lambda t, x, y: y.sum(),
    'mean': lambda t, x, y: y.mean(0), 'prod': lambda t, x, y: y.prod(0), 'cat': lambda t, x, y: t.cat([x, y]),
    'stack': lambda t, x, y: t.stack([y, y]), 'stack of both': lambda t, x, y: t.stack([x, y]), 'sigmoid': lambda t, x, y: y.sigmoid(),
    'mse_loss': lambda t, x, y: t.nn.functional.mse_loss(y, y), 'l1_loss': lambda t, x, y: t.nn.functional.l1_loss(y, y),
    'smooth_l1_loss': lambda t, x, y: t.nn.functional.smooth_l1_loss(y, y), 'huber_loss': lambda t, x, y: t.nn.functional.huber_loss(y, y),
    'cross_entropy': lambda t, x, y: t.nn.functional.cross_entropy(y, t.tensor([0, 1, 2])),
    'nll_loss': lambda t, x, y: t.nn.functional.nll_loss(y, t.tensor([0, 1, 2])),
    'bce_with_logits': lambda t, x, y: t.nn.functional.binary_cross_entropy_with_logits(y, x),
    'kl_div': lambda t, x, y: t.nn.functional.kl_div(y, y.abs() + 1, reduction='sum'), 'layer_norm': lambda t, x, y: t.nn.functional.layer_norm(y, (3,)),
    'gelu': lambda t, x, y: t.nn.functional.gelu(y), 'max_pool2d': lambda t, x, y: t.nn.functional.max_pool2d(y[None], 2),
    'embedding': lambda t, x, y: t.nn.functional.embedding(t.tensor([0]), x), 'where': lambda t, x, y: t.where(x > 0, y, y),
    'norm': lambda t, x, y: t.norm(x), 'cumsum': lambda t, x, y: y.cumsum(0), 'dropout': lambda t, x, y: t.nn.functional.dropout(x, 0.0),
    'of float64': lambda t, x, y: x.double() @ x.double(), 'of integers': lambda t, x, y: x.long() @ x.long(), 'in place': lambda t, x, y: x.clone().add_(y),
}


@pytest.mark.parametrize('name', FUNCTIONS)
@pytest.mark.parametrize('dtype', ['bfloat16', 'float16'])
def test_dtypes_are_those_of_pytorch(torch, name, dtype):
    def run(t):
        x, y = numbers(t, 3, 3), numbers(t, 3, 3, dtype=getattr(t, dtype))
        with t.autocast('cpu', dtype=getattr(t, dtype)):
            found = FUNCTIONS[name](t, x, y)
        return str(found.dtype).rpartition('.')[2], found.to(t.float64).detach()
    same(torch, run, tolerance=1e-2)


def mlp(t):
    layers = t.nn.Sequential(t.nn.Linear(3, 8), t.nn.ReLU(), t.nn.LayerNorm(8), t.nn.Linear(8, 2))
    with t.no_grad():
        for i, p in enumerate(layers.parameters()):
            p.copy_(t.cos(t.arange(p.numel(), dtype=t.float32) + i).reshape(p.shape) / 2)
    return layers


def training(t):
    model, optimizer, losses = mlp(t), None, []
    optimizer = t.optim.SGD(model.parameters(), lr=0.1)
    scaler = t.amp.GradScaler('cpu', init_scale=256.0, growth_interval=3)
    for _ in range(6):
        optimizer.zero_grad()
        with t.autocast('cpu'):
            loss = t.nn.functional.cross_entropy(model(numbers(t, 4, 3)), t.tensor([0, 1, 1, 0]))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, scaler.get_scale(), scaler.state_dict(), str(model[0].weight.grad.dtype).rpartition('.')[2]


def test_training_matches_pytorch(torch):
    same(torch, training, tolerance=2e-2)


def modules_of(t):
    """The results of modules whose forward pass mixes dtypes."""
    found = {}
    x = numbers(t, 2, 3, 4)
    with t.autocast('cpu'):
        for name, module in {'lstm': t.nn.LSTM(4, 5), 'gru': t.nn.GRU(4, 5), 'attention': t.nn.MultiheadAttention(4, 2),
                             'encoder': t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), 'norm': t.nn.BatchNorm1d(3), 'conv': t.nn.Conv1d(3, 2, 2)}.items():
            y = module(x, x, x) if name == 'attention' else module(x)
            y = y[0] if isinstance(y, tuple) else y
            found[name] = tuple(y.shape)
            t.nn.functional.mse_loss(y, t.zeros_like(y)).backward()
            assert all(p.grad is None or p.grad.dtype == t.float32 for p in module.parameters()), name
    return found


def test_modules_compute_and_their_gradients_are_of_their_dtype(torch):
    # PyTorch's oneDNN computes no LSTM in bf16 on a processor without AVX-512.
    with torch.backends.mkldnn.flags(enabled=False):
        same(torch, modules_of)


def test_scopes_nest_and_switch_off():
    x = ours.ones(2, 2)
    with ours.autocast('cpu') as scope:
        assert (x @ x).dtype == ours.bfloat16 and ours.is_autocast_enabled('cpu') and not ours.is_autocast_enabled('cuda')
        with ours.autocast('cpu', dtype=ours.float16):
            assert (x @ x).dtype == ours.float16 == ours.get_autocast_dtype('cpu')
            with ours.autocast('cpu', enabled=False):
                assert (x @ x).dtype == ours.float32
        with scope:
            assert (x @ x).dtype == ours.bfloat16
        assert (x @ x).dtype == ours.bfloat16
    assert (x @ x).dtype == ours.float32


def test_an_error_ends_the_scope():
    with pytest.raises(KeyError), ours.autocast('cpu'):
        raise KeyError
    assert not ours.is_autocast_enabled('cpu')


def test_it_decorates_and_belongs_to_its_thread():
    x, found = ours.ones(2, 2), []

    @ours.autocast('cpu')
    def product():
        thread = threading.Thread(target=lambda: found.append((x @ x).dtype))
        thread.start()
        thread.join()
        return x @ x
    assert product().dtype == ours.bfloat16 and found == [ours.float32]


def test_casts_of_parameters_are_kept_and_follow_writes(torch):
    def run(t):
        w = t.nn.Parameter(numbers(t, 3, 3))
        with t.autocast('cpu'):
            y = w @ w
            with t.no_grad():
                z = numbers(t, 3, 3) @ w
        y.float().sum().backward()
        return w.grad, z.float()
    same(torch, run, tolerance=1e-2)
    w = ours.nn.Parameter(ours.ones(2, 2))
    with ours.autocast('cpu'):
        first = w @ w
        with ours.no_grad():
            w.mul_(2.0)
        assert ((w @ w) == 4 * first).all()


def test_switches_without_a_scope(torch):
    def run(t):
        states = [t.is_autocast_enabled('cpu'), str(t.get_autocast_dtype('cpu')).rpartition('.')[2], str(t.get_autocast_dtype('cuda')).rpartition('.')[2]]
        t.set_autocast_enabled('cpu', True)
        try:
            states += [t.is_autocast_enabled('cpu'), t.is_autocast_enabled(), str((t.ones(2, 2) @ t.ones(2, 2)).dtype).rpartition('.')[2]]
        finally:
            t.set_autocast_enabled('cpu', False)
            t.clear_autocast_cache()
        return [*states, t.is_autocast_enabled('cpu'), t.is_autocast_cache_enabled()]
    same(torch, run)


def test_other_dtypes_and_absent_devices_warn():
    x = ours.ones(2, 2)
    with pytest.warns(UserWarning, match='bfloat16 or float16'), ours.autocast('cpu', dtype=ours.float32):
        assert (x @ x).dtype == ours.float32
    with pytest.warns(UserWarning, match="no device of kind 'cuda'"), ours.cuda.amp.autocast():
        assert not ours.is_autocast_enabled('cuda')
    with pytest.warns(UserWarning, match="no device of kind 'cuda'"):
        assert not ours.cuda.amp.GradScaler().is_enabled()
    with ours.cpu.amp.autocast():
        assert (x @ x).dtype == ours.bfloat16
    with pytest.raises(ValueError, match='device_type is a str'):
        ours.autocast(ours.bfloat16)


def skipped(t, value):
    p = t.nn.Parameter(t.ones(2))
    optimizer, scaler = t.optim.SGD([p], lr=1.0), t.amp.GradScaler('cpu', init_scale=8.0)
    scaler.scale((p * value).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return p.detach(), scaler.get_scale()


@pytest.mark.parametrize('value', [0.25, math.inf, math.nan])
def test_steps_without_finite_gradients_are_left_out(torch, value):
    same(torch, skipped, value)


def wrong(t, what):
    p = t.nn.Parameter(t.ones(2))
    optimizer, scaler = t.optim.SGD([p], lr=1.0), t.amp.GradScaler('cpu')
    scaler.scale(p.sum()).backward()
    if what == 'twice':
        scaler.unscale_(optimizer)
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    if what == 'two steps':
        scaler.step(optimizer)
    if what == 'empty state':
        scaler.load_state_dict({})
    if what == 'half':
        q = t.nn.Parameter(t.ones(2, dtype=t.float16))
        q.grad = t.ones(2, dtype=t.float16)
        scaler.unscale_(t.optim.SGD([q], lr=1.0))


@pytest.mark.parametrize('what', ['twice', 'two steps', 'empty state', 'half'])
def test_invalid_uses_of_the_scaler(torch, what):
    same_error(torch, wrong, what)


def test_a_scaler_continues_from_its_state(torch):
    theirs, mine = torch.amp.GradScaler('cpu', growth_interval=7), ours.amp.GradScaler('cpu')
    mine.load_state_dict(theirs.state_dict())
    assert mine.state_dict() == theirs.state_dict()
    theirs.load_state_dict(mine.state_dict())


def test_custom_functions_use_the_autocast_of_their_forward_pass():
    class Product(ours.autograd.Function):
        @staticmethod
        @ours.amp.custom_fwd(device_type='cpu')
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x @ y

        @staticmethod
        @ours.amp.custom_bwd(device_type='cpu')
        def backward(ctx, gradient):
            x, y = ctx.saved_tensors
            kinds.append((gradient @ y.T).dtype)
            return (gradient @ y.T).float(), (x.T @ gradient).float()
    kinds = []
    x = ours.ones(2, 2, requires_grad=True)
    with ours.autocast('cpu'):
        y = Product.apply(x, x)
    y.sum().backward()
    assert y.dtype == ours.bfloat16 and kinds == [ours.bfloat16] and x.grad.dtype == ours.float32

    @ours.amp.custom_fwd(device_type='cpu', cast_inputs=ours.float32)
    def plain(ctx, x):
        return x @ x

    class Context:
        pass
    with ours.autocast('cpu'):
        assert plain(Context(), x.bfloat16()).dtype == ours.float32


def test_backward_inside_the_scope_is_as_exact_as_forward():
    x = (ours.arange(9.0).reshape(3, 3) / 7).requires_grad_()
    loss = (x @ x).sum()
    loss.backward(retain_graph=True)
    wanted, x.grad = x.grad, None
    with warnings.catch_warnings(), ours.autocast('cpu'):
        loss.backward()
    assert (x.grad == wanted).all()
