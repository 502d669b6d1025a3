"""Layers against NumPy by hand, and against PyTorch where there is one."""
import math

import numpy as np
import pytest

import tenon
from tenon import nn
from tenon.testing import assert_close

RNG = np.random.default_rng(7)


def array(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_linear():
    x, layer = array(2, 5, 3), nn.Linear(3, 4)
    expected = x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    assert_close(layer(tenon.asarray(x)), expected)
    assert nn.Linear(3, 4, bias=False).bias is None
    for bad, error in (((2.5, 3), TypeError), ((-1, 3), ValueError), ((True, 3), TypeError)):
        with pytest.raises(error, match=r'\[Linear\] in_features'):
            nn.Linear(*bad)
    with pytest.raises(ValueError, match='linear'):
        layer(tenon.ones((2, 7)))


@pytest.mark.parametrize('bits, step', [(8, 127), (4, 15)])
@pytest.mark.parametrize('bias', [True, False])
def test_quantized_linear(bits, step, bias):
    x, layer = array(5, 64), nn.Linear(64, 3, bias)
    packed = nn.QuantizedLinear.from_float(layer, bits, group_size=16)
    w = layer.weight.detach().numpy().astype(np.float64).reshape(3, 4, 16)
    low = w.min(-1, keepdims=True) if bits == 4 else 0
    unit = ((w.max(-1, keepdims=True) - low) if bits == 4 else abs(w).max(-1, keepdims=True)) / step
    rounded = (np.round((w - low) / unit) * unit + low).reshape(3, 64)
    expected = x @ rounded.T + (layer.bias.detach().numpy() if bias else 0)
    assert_close(packed(tenon.asarray(x)), expected.astype(np.float32), rtol=1e-4, atol=1e-4)
    other = nn.QuantizedLinear(64, 3, bias, bits, 16)
    assert not other(tenon.asarray(x)).any() and not list(other.parameters())
    other.load_state_dict(packed.state_dict())
    assert other(tenon.asarray(x)).tolist() == packed(tenon.asarray(x)).tolist()
    inputs = tenon.asarray(x).requires_grad_()
    packed(inputs).sum().backward()
    assert_close(inputs.grad, np.broadcast_to(rounded.sum(0), (5, 64)).astype(np.float32), rtol=1e-4, atol=1e-4)


def test_quantized_linear_takes_floats_only():
    packed = nn.QuantizedLinear.from_float(nn.Linear(64, 3))
    with pytest.raises(ValueError, match='quantize_int8'):
        nn.QuantizedLinear.from_float(packed)
    with pytest.raises(ValueError, match='bits is 3, must be 8 or 4'):
        nn.QuantizedLinear.from_float(nn.Linear(64, 3), bits=3)


def test_first_values():
    tenon.manual_seed(3)
    layer = nn.Linear(100, 50)
    weight = layer.weight.detach().numpy()
    assert abs(weight).max() <= 0.1 and abs(weight).max() > 0.099 and abs(weight.mean()) < 0.005
    assert abs(layer.bias.detach().numpy()).max() <= 0.1
    conv = nn.Conv2d(4, 8, 5, groups=2)
    assert conv.weight.shape == (8, 2, 5, 5) and abs(conv.weight.detach().numpy()).max() <= 1 / math.sqrt(50)
    tenon.manual_seed(3)
    assert nn.Linear(100, 50).weight.tolist() == weight.tolist()
    table = nn.Embedding(1000, 8, padding_idx=-1)
    assert table.weight[999].tolist() == [0] * 8 and abs(table.weight.detach().numpy().std() - 1) < 0.05


def test_embedding_leaves_the_padding_row():
    table = nn.Embedding(5, 2, padding_idx=1)
    index = tenon.tensor([[0, 1], [4, 0]])
    assert_close(table(index), table.weight.detach().numpy()[index.numpy()])
    table(index).sum().backward()
    assert table.weight.grad.tolist() == [[2, 2], [0, 0], [0, 0], [0, 0], [1, 1]]
    with pytest.raises(ValueError, match='outside the 5 rows'):
        nn.Embedding(5, 2, padding_idx=5)


def test_shapes():
    x = tenon.ones((2, 3, 4, 5))
    assert nn.Flatten()(x).shape == (2, 60) and nn.Flatten(0, 1)(x).shape == (6, 4, 5)
    assert nn.Unflatten(1, (3, 1))(x).shape == (2, 3, 1, 4, 5) and nn.Unflatten(-1, (5, 1))(x).shape == (2, 3, 4, 5, 1)
    assert nn.Identity()(x) is x
    with pytest.raises(IndexError, match='rank 4'):
        nn.Unflatten(4, (1,))(x)


def test_dropout():
    x, layer = tenon.ones((100, 100)), nn.Dropout(0.25)
    y = layer(x).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)} and abs((y == 0).mean() - 0.25) < 0.03
    assert layer.eval()(x) is x
    with pytest.raises(ValueError, match='must be 0 to 1'):
        nn.Dropout(1.5)


@pytest.mark.parametrize('given', ['running_mean', 'running_var'])
def test_batch_norm_wants_both_statistics_or_none(given):
    with pytest.raises(ValueError, match='running_mean and running_var belong together'):
        nn.functional.batch_norm(tenon.ones(4, 2), **{given: tenon.ones(2)}, training=True)


def test_batch_norm_by_hand():
    x, layer = array(6, 3, 4), nn.BatchNorm1d(3)
    y = layer(tenon.asarray(x))
    mean, var = x.mean((0, 2)), x.var((0, 2))
    assert_close(y, (x - mean[:, None]) / np.sqrt(var[:, None] + 1e-5), rtol=1e-4, atol=1e-5)
    assert_close(layer.running_mean, 0.1 * mean, rtol=1e-4, atol=1e-6)
    assert_close(layer.running_var, 0.9 + 0.1 * var * 24 / 23, rtol=1e-4, atol=1e-6)
    layer.eval()
    running = layer.running_mean.numpy().copy(), layer.running_var.numpy().copy()
    assert_close(layer(tenon.asarray(x)), (x - running[0][:, None]) / np.sqrt(running[1][:, None] + 1e-5), rtol=1e-4, atol=1e-5)
    assert layer.running_mean.tolist() == running[0].tolist()
    assert layer.num_batches_tracked.item() == 1 and layer.num_batches_tracked.dtype == tenon.int64
    plain = nn.BatchNorm(3, affine=False, track_running_stats=False)
    assert list(plain.state_dict()) == [] and plain.eval()(tenon.asarray(x)).shape == x.shape
    with pytest.raises(ValueError, match=r'must be \(N, 3'):
        layer(tenon.ones((2, 4)))


def test_other_norms_by_hand():
    x = array(4, 6)
    centred = x - x.mean(1, keepdims=True)
    assert_close(nn.LayerNorm(6)(tenon.asarray(x)), centred / np.sqrt(x.var(1, keepdims=True) + 1e-5), rtol=1e-4, atol=1e-5)
    assert_close(nn.RMSNorm((6,), eps=1e-5)(tenon.asarray(x)), x / np.sqrt((x ** 2).mean(1, keepdims=True) + 1e-5), rtol=1e-4, atol=1e-5)
    groups = x.reshape(4, 2, 3)
    expected = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    assert_close(nn.GroupNorm(2, 6)(tenon.asarray(x)), expected.reshape(4, 6), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match='do not divide into 4 groups'):
        nn.GroupNorm(4, 6)


@pytest.mark.parametrize('dtype', [tenon.float16, tenon.float32, tenon.float64])
def test_rms_norm_takes_the_epsilon_of_its_input(dtype):
    x = np.array([0.01, 0.02]) if dtype == tenon.float16 else np.array([1e-8, 2e-8])
    expected = x / np.sqrt((x ** 2).mean() + tenon.finfo(dtype).eps)
    y = nn.RMSNorm(2).to(dtype)(tenon.tensor(x, dtype=dtype))
    assert_close(y, expected.astype(dtype.name), rtol=2e-3, atol=1e-9)


def conv_by_hand(x, weight, bias, stride, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum('nchwij,ocij->nohw', windows, weight) + bias[:, None, None]


@pytest.mark.parametrize('stride, padding', [(1, 0), (2, 1)])
def test_conv_by_hand(stride, padding):
    layer, x = nn.Conv2d(3, 4, 3, stride=stride, padding=padding), array(2, 3, 7, 6)
    expected = conv_by_hand(x, layer.weight.detach().numpy(), layer.bias.detach().numpy(), stride, padding)
    assert_close(layer(tenon.asarray(x)), expected, rtol=1e-4, atol=1e-5)


def test_conv_errors():
    with pytest.raises(ValueError, match='do not divide into 2 groups'):
        nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match='3 sizes for 2 dimensions'):
        nn.Conv2d(3, 4, (1, 2, 3))
    with pytest.raises(ValueError, match='must be .N, 3, size, size'):
        nn.Conv2d(3, 4, 3)(tenon.ones((1, 2, 5, 5)))
    with pytest.raises(TypeError, match='stride must be an int'):
        nn.Conv1d(1, 1, 1, stride='2')


def test_pools_by_hand():
    x = array(2, 3, 4, 6)
    windows = x.reshape(2, 3, 2, 2, 3, 2)
    assert_close(nn.MaxPool2d(2)(tenon.asarray(x)), windows.max((3, 5)))
    assert_close(nn.AvgPool2d((2, 2))(tenon.asarray(x)), windows.mean((3, 5)))
    assert_close(nn.AdaptiveAvgPool2d(1)(tenon.asarray(x)), x.mean((2, 3), keepdims=True))
    assert_close(nn.AdaptiveMaxPool(1)(tenon.asarray(x)), x.max((2, 3), keepdims=True))
    assert_close(nn.Upsample(scale_factor=2)(tenon.asarray(x)), x.repeat(2, 2).repeat(2, 3))
    assert nn.Upsample(size=(7, 9))(tenon.asarray(x)).shape == (2, 3, 7, 9)
    assert nn.Upsample(scale_factor=(1.5, 2), mode='linear', align_corners=True)(tenon.asarray(x)).shape == (2, 3, 6, 12)
    with pytest.raises(ValueError, match='rank 4'):
        nn.functional.max_pool1d(tenon.asarray(x), 2)
    with pytest.raises(ValueError, match='too large for a size'):
        nn.Upsample(scale_factor=float('inf'))(tenon.asarray(x))


@pytest.mark.filterwarnings('ignore:Since version')  # of PyTorch, about sizes of 1
@pytest.mark.parametrize('size', [(2, 3, 4, 1), (2, 3, 4, 5), (2, 1, 2, 3, 4)])
@pytest.mark.parametrize('align_corners', [False, True])
def test_affine_grids(torch, size, align_corners):
    theta = np.random.default_rng(1).standard_normal((2, len(size) - 2, len(size) - 1))
    wanted = torch.nn.functional.affine_grid(torch.tensor(theta), size, align_corners)
    assert_close(nn.functional.affine_grid(tenon.tensor(theta), size, align_corners), wanted.numpy())


def test_affine_grids_by_hand():
    turned = tenon.tensor([[[0., 1., 0.], [-1., 0., 0.]]])
    x = array(1, 2, 3, 3)
    read = nn.functional.grid_sample(tenon.asarray(x).to(tenon.float32), nn.functional.affine_grid(turned, x.shape))
    assert_close(read, np.rot90(x, -1, (2, 3)).astype(np.float32), 1e-5, 1e-5)
    for theta, size, error in [(turned, (1, 2, 3), 'size must be'), (turned, (1, 2, 3, 0), 'at least 1'),
                               (turned, (2, 2, 3, 3), r'of shape \(2, 2, 3\)'), (tenon.ones((1, 2, 3), dtype=tenon.int32), (1, 2, 3, 3), 'floating')]:
        with pytest.raises(ValueError, match=error):
            nn.functional.affine_grid(theta, size)


def test_losses_by_hand():
    logits, labels = array(5, 3), np.array([0, 2, 1, 1, 0])
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    picked = -logs[np.arange(5), labels]
    target = tenon.asarray(labels)
    assert_close(nn.CrossEntropyLoss()(tenon.asarray(logits), target).item(), float(picked.mean()), rtol=1e-5, atol=1e-6)
    assert_close(nn.CrossEntropyLoss(reduction='none')(tenon.asarray(logits), target), picked, rtol=1e-5, atol=1e-6)
    assert_close(nn.NLLLoss(reduction='sum')(tenon.asarray(logs), target).item(), float(picked.sum()), rtol=1e-5, atol=1e-6)
    x, y = array(4, 2), array(4, 2)
    a, b = tenon.asarray(x), tenon.asarray(y)
    assert_close(nn.MSELoss()(a, b).item(), float(((x - y) ** 2).mean()), rtol=1e-5, atol=1e-6)
    assert_close(nn.L1Loss()(a, b).item(), float(abs(x - y).mean()), rtol=1e-5, atol=1e-6)
    difference = abs(x - y)
    smooth = np.where(difference < 0.5, difference ** 2, difference - 0.25)
    assert_close(nn.SmoothL1Loss(beta=0.5)(a, b).item(), float(smooth.mean()), rtol=1e-5, atol=1e-6)
    p, q = 1 / (1 + np.exp(-x)), (y > 0).astype(np.float32)
    bce = -(q * np.log(p) + (1 - q) * np.log(1 - p)).mean()
    assert_close(nn.BCELoss()(tenon.asarray(p), tenon.asarray(q)).item(), float(bce), rtol=1e-5, atol=1e-6)
    assert_close(nn.BCEWithLogitsLoss()(a, tenon.asarray(q)).item(), float(bce), rtol=1e-5, atol=1e-6)
    kl = (q * -np.log(p)).mean()
    assert_close(nn.KLDivLoss()(tenon.asarray(np.log(p)), tenon.asarray(q)).item(), float(kl), rtol=1e-5, atol=1e-6)
    batch = nn.KLDivLoss('batchmean')(tenon.asarray(np.log(p)), tenon.asarray(q)).item()
    assert_close(batch, float((q * -np.log(p)).sum() / 4), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match='reduction'):
        nn.MSELoss('average')


def test_weights_of_losses_are_buffers():
    loss = nn.BCEWithLogitsLoss(weight=tenon.tensor([1., 2.]), pos_weight=tenon.tensor([3., 4.])).to(tenon.float64)
    assert loss.weight.dtype == loss.state_dict()['pos_weight'].dtype == tenon.float64 and not list(loss.parameters())
    x = tenon.zeros((3, 2), dtype=tenon.float64)
    assert_close(loss(x, x + 1).item(), (3 + 8) * math.log(2) / 2)
    with pytest.raises(TypeError, match='"weight" must be a Tensor'):
        nn.CrossEntropyLoss(weight=[1., 2.])


ACTIVATIONS = {
    'ReLU': lambda x: np.maximum(x, 0), 'Sigmoid': lambda x: 1 / (1 + np.exp(-x)), 'Tanh': np.tanh,
    'SiLU': lambda x: x / (1 + np.exp(-x)), 'Mish': lambda x: x * np.tanh(np.log1p(np.exp(x))),
    'SELU': lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    'Hardsigmoid': lambda x: np.clip(x / 6 + 0.5, 0, 1), 'Hardswish': lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    'LogSigmoid': lambda x: -np.log1p(np.exp(-x)), 'ELU': lambda x: np.where(x > 0, x, np.expm1(x)),
    'LeakyReLU': lambda x: np.where(x > 0, x, 0.01 * x), 'Softplus': lambda x: np.log1p(np.exp(x)),
    'GELU': lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    'Softmax': lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    'LogSoftmax': lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True))}


@pytest.mark.parametrize('name', ACTIVATIONS)
def test_activations_by_hand(name):
    x = array(4, 9) * 3
    assert_close(getattr(nn, name)()(tenon.asarray(x)), ACTIVATIONS[name](x.astype(np.float64)).astype(np.float32),
                 rtol=1e-5, atol=1e-6)


def test_init():
    x = tenon.zeros((200, 100))
    for fn, deviation in ((nn.init.xavier_uniform_, math.sqrt(2 / 300)), (nn.init.xavier_normal_, math.sqrt(2 / 300)),
                          (nn.init.kaiming_uniform_, math.sqrt(2 / 100)), (nn.init.kaiming_normal_, math.sqrt(2 / 100)),
                          (nn.init.normal_, 1.0), (nn.init.uniform_, math.sqrt(1 / 12))):
        assert fn(x) is x and abs(x.numpy().std() / deviation - 1) < 0.05
    generator = tenon.Generator(4)
    first = nn.init.normal_(tenon.zeros(5), generator=generator).tolist()
    assert first == nn.init.normal_(tenon.zeros(5), generator=tenon.Generator(4)).tolist()
    layer = nn.Linear(2, 2)
    assert nn.init.ones_(layer.weight) is layer.weight and layer.weight.requires_grad and layer.weight.is_leaf
    assert nn.init.fans(tenon.zeros((4, 3, 5))) == (15, 20)
    assert nn.init.calculate_gain('relu') == math.sqrt(2)
    with pytest.raises(ValueError, match='rank 1'):
        nn.init.xavier_normal_(tenon.zeros(3))
    with pytest.raises(ValueError, match='unknown nonlinearity'):
        nn.init.calculate_gain('unknown')
    with pytest.raises(ValueError, match='must be "fan_in" or "fan_out"'):
        nn.init.kaiming_normal_(x, mode='both')
    with pytest.raises(TypeError, match='wants a Tensor'):
        nn.init.zeros_(np.zeros(3))


# name, arguments by keyword, shape of the input
PEERS = [
    ('Linear', dict(in_features=3, out_features=5), (4, 3)),
    ('Conv1d', dict(in_channels=2, out_channels=4, kernel_size=3, stride=2, padding=1), (2, 2, 9)),
    ('Conv2d', dict(in_channels=4, out_channels=6, kernel_size=(3, 2), padding=(1, 0), dilation=2, groups=2), (2, 4, 8, 7)),
    ('Conv3d', dict(in_channels=1, out_channels=2, kernel_size=2, bias=False), (1, 1, 4, 5, 3)),
    ('ConvTranspose1d', dict(in_channels=2, out_channels=4, kernel_size=3, stride=2, output_padding=1), (2, 2, 5)),
    ('ConvTranspose2d', dict(in_channels=4, out_channels=2, kernel_size=3, stride=2, padding=1, groups=2), (2, 4, 5, 4)),
    ('BatchNorm2d', dict(num_features=3, momentum=0.3), (4, 3, 2, 5)),
    ('LayerNorm', dict(normalized_shape=(4, 5)), (2, 4, 5)),
    ('GroupNorm', dict(num_groups=2, num_channels=4), (3, 4, 5)),
    ('MaxPool2d', dict(kernel_size=3, stride=2, padding=1), (2, 3, 7, 8)),
    ('AvgPool1d', dict(kernel_size=3, padding=1, count_include_pad=False), (2, 3, 7)),
    ('AdaptiveAvgPool2d', dict(output_size=(2, 3)), (2, 3, 7, 8)),
    ('GELU', dict(approximate='tanh'), (3, 4)),
    ('Softplus', dict(beta=2.0), (3, 4)),
    ('ELU', dict(alpha=0.5), (3, 4)),
]


@pytest.mark.parametrize('name, options, shape', PEERS, ids=[peer[0] for peer in PEERS])
def test_against_pytorch(torch, name, options, shape):
    theirs, ours = getattr(torch.nn, name)(**options), getattr(nn, name)(**options)
    ours.load_state_dict({key: x.detach().numpy() for key, x in theirs.state_dict().items()})
    data = array(*shape)
    a, b = tenon.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    y, z = ours(a), theirs(b)
    assert_close(y, z.detach().numpy(), rtol=1e-4, atol=1e-5)
    seed = array(*y.shape)
    y.backward(tenon.asarray(seed))
    z.backward(torch.tensor(seed))
    assert_close(a.grad, b.grad.numpy(), rtol=1e-3, atol=1e-4)
    for (key, x), (_, w) in zip(ours.named_parameters(), theirs.named_parameters()):
        assert_close(x.grad, w.grad.numpy(), rtol=1e-3, atol=1e-4, msg=key)
    for key, x in ours.named_buffers():
        assert_close(x, dict(theirs.named_buffers())[key].numpy(), rtol=1e-4, atol=1e-5, msg=key)
    if name in ('Linear', 'LayerNorm', 'GELU'):
        assert [key for key, _ in ours.named_parameters()] == [key for key, _ in theirs.named_parameters()]
