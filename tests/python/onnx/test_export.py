"""Programs as ONNX models: checked by onnx, run by onnxruntime, and read again."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

import tenon
from tenon import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'benchmarks'))


def tenon_leaves(value):
    """The tensors of nested tuples, in order."""
    return [one for part in value for one in tenon_leaves(part)] if isinstance(value, (tuple, list)) else [value]


def check(fn, inputs, folder, tolerance=1e-4, again=True):
    """Exports fn and compares what onnxruntime and tenon make of the file with fn; returns the recorded ops."""
    path = folder / 'model.onnx'
    program = tenon.graph.trace(fn, *inputs)
    tenon.onnx.export(program, inputs, path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    given = dict(zip([one.name for one in session.get_inputs()], inputs))
    found = session.run(None, {name: x.numpy() for name, x in given.items()})
    wanted = program(*inputs)
    wanted = tenon_leaves(wanted)
    loaded = tenon.onnx.load(path)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == tuple(other.shape)
        assert one.dtype == other.numpy().dtype
        np.testing.assert_allclose(one, other.numpy(), rtol=tolerance, atol=tolerance)
    if again:
        back = loaded(*inputs)
        for one, other in zip(back if isinstance(back, tuple) else [back], wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=tolerance, atol=tolerance)
    return {line.split(' = ')[1].split('(')[0] for line in str(program).splitlines() if ' = ' in line}


def x(*shape, low=-2.0, high=2.0):
    rng = np.random.default_rng(len(shape))
    return tenon.tensor(rng.uniform(low, high, shape or (2, 3, 4)).astype('f4'))


def i(*values):
    return tenon.tensor(list(values), dtype='i64')


UNARY = '''neg abs sign floor ceil round reciprocal exp sin cos tan atan sinh cosh tanh asinh erf isnan isinf relu sigmoid selu mish hardswish
    square silu expm1 exp2 erfc log_sigmoid isfinite trunc leaky_relu hardsigmoid softplus elu logical_not clone'''.split()
POSITIVE = 'log sqrt rsqrt log1p log2 log10'.split()
def written_parts(a, b):
    y, z = a.clone(), b.t()
    y[:, 0] = 1
    y[1:, 1:3] = b[:2, 1:3]
    z = z.clone()
    z[::2, -1] = a[:3, 1]
    w = tenon.empty((3, 4))
    w[:, :2] = a[:, 2:]
    w[:, 2:] = a[:, :2]
    return y, z, w


BINARY = 'add sub mul div maximum minimum equal less less_equal greater greater_equal not_equal remainder floor_divide logical_and'.split()
CASES = {
    **{name: (getattr(tenon, name), (x(),)) for name in UNARY},
    **{name: (getattr(tenon, name), (x(low=0.1),)) for name in POSITIVE},
    **{name: (getattr(tenon, name), (x(), x())) for name in BINARY},
    'asin': (tenon.asin, (x(low=-0.9, high=0.9),)), 'acos': (tenon.acos, (x(low=-0.9, high=0.9),)),
    'atanh': (tenon.atanh, (x(low=-0.9, high=0.9),)), 'acosh': (tenon.acosh, (x(low=1.1),)),
    'pow': (tenon.pow, (x(low=0.1), x())), 'bool': (lambda a, b: tenon.logical_or(a > 0, b > 0) & tenon.logical_xor(a > 0, b > 0) | (a > 1) ^ (b > 1), (x(), x())),
    'bits': (lambda a, b: ((a & b) | a) ^ ~b, (i(5, -3), i(3, 9))), 'integers': (lambda a, b: (a % b, a // b), (i(5, -7, 7), i(3, 2, -2))),
    'broadcast': (lambda a, b: a[:, None] * b + 2.5, (x(3), x(4))), 'repeated': (lambda a: a[:1].expand(3, 4) + a[:1].expand(3, 4), (x(3, 4),)),
    'gelu': (tenon.gelu, (x(),)), 'gelu_tanh': (lambda a: tenon.gelu(a, approximate='tanh'), (x(),)),
    'where': (lambda a: tenon.where(a > 0, a, 0.0), (x(),)), 'masked_fill': (lambda a: a.masked_fill(a > 0, 3.0), (x(),)),
    'clamp': (lambda a: tenon.clamp(a, -1, 1) + tenon.clamp(a, min=0), (x(),)), 'cast': (lambda a: (a.to(tenon.float16), a.to(tenon.int64)), (x(),)),
    'reductions': (lambda a: (a.sum(1), a.mean((0, 2), keepdim=True), a.prod(0), a.max(1), tenon.max(a, 1), a.min(), tenon.logsumexp(a, 2), a.var(1), tenon.norm(a, 2.0, 1), tenon.norm(a, 1.0), tenon.norm(a, 3.0, 0)), (x(),)),
    'std': (lambda a: tenon.std(a, 1), (x(),)),
    'bce': (lambda a, b: (tenon.bce_loss(a, b), tenon.bce_loss(a.round(), b, b, 'none'), tenon.bce_loss(a, b, b, 'sum')),
            (x(low=0.1, high=0.9), x(low=0, high=1))),
    'gaps': (lambda a: (tenon.nansum(tenon.where(a > 1, float('nan'), a), 1), tenon.frac(a), tenon.sigmoid_gate(a, a * 2),
                        tenon.l1_loss(a, a * 2), tenon.l1_loss(a, a * a, 'none')), (x(),)),
    'truth': (lambda a: (tenon.any(a > 1, 1), tenon.all(a > -1, 1), tenon.count_nonzero(a > 0, 0)), (x(),)),
    'order': (lambda a: (tenon.argmax(a, 1), tenon.argmin(a), tenon.sort(a, 2)[0], tenon.argsort(a, 1), tenon.topk(a, 2, 2)[1]), (x(),)),
    'cummax': (lambda a: (*tenon.cummax(a, 1), *tenon.cummin(a, -1), *tenon.cummax(tenon.cast(a, tenon.int64), 0),
                          *tenon.cummin(tenon.where(a > 1, tenon.nan, a), 2)), (x(),)),
    'cumsum': (lambda a: tenon.cumsum(a, 1), (x(),)), 'cumprod': (lambda a: (tenon.cumprod(a, 1), tenon.cumprod(a[0, 0], -1), tenon.cumprod(a > 0, 2)), (x(),)), 'softmax': (lambda a: (tenon.softmax(a, 1), tenon.log_softmax(a, -1)), (x(),)),
    'concat': (lambda a: (tenon.concat([a, a.transpose(0, 1).transpose(0, 1)], 1), tenon.stack([a, a], 1)), (x(),)),
    'repeat': (lambda a: tenon.tile(a, (2, 1)), (x(),)),
    'gather': (lambda a, n: (a.gather(0, n), tenon.scatter(a, 0, n, a), tenon.scatter_add(a, 0, n, a)), (x(2, 3), tenon.tensor([[0, 1, 0], [1, 0, 1]]))),
    'linear_integer': (lambda a, b, w: (tenon.linear_integer(a, w), tenon.linear_integer(b, w)),
                       ((x(2, 3, 4, low=0, high=250)).to(tenon.uint8), x(3, 4, low=-120, high=120).to(tenon.int8), x(5, 4, low=-120, high=120).to(tenon.int8))),
    'scatter_reduce': (lambda a, n: tuple(tenon.scatter_reduce(a, 0, n, a * 2, how) for how in ('sum', 'prod', 'amax', 'amin')),
                       (x(2, 3), tenon.tensor([[0, 1, 0], [1, 1, 1]]))),
    'index_put': (lambda a, n, m: (tenon.index_put(a, [n], tenon.tensor(5.0)), tenon.index_put(a, [n, m], a[:2, 0]), tenon.index_put(a, [n.reshape(2, 1), m], a[0, :2], True),
                                   tenon.index_put(a, [None, n, m], a[0, 0, :2] * 2), tenon.index_put(a, [None, None, m], tenon.ones(2), True)),
                  (x(3, 4, 4), tenon.tensor([2, 0]), tenon.tensor([1, -1]))),
    'grid_sample': (lambda a, g: tuple(tenon.grid_sample(a, g, mode, pads, corners) for mode, pads, corners in
                                       [('bilinear', 'zeros', False), ('nearest', 'border', True), ('bilinear', 'reflection', False)]), (x(1, 2, 4, 5), x(1, 3, 3, 2, low=-1.3, high=1.3))),
    'indices behind the first': (lambda a, n: (a[:, n, n], a[:, :, n[:, None], n], a[:, :, :, n, n]), (x(2, 3, 4, 4, 5), i(2, 0, 1))),
    'written parts': (written_parts, (x(3, 4), x(4, 5))),
    'index_add': (lambda a, n: tenon.index_add(a, 0, n, a), (x(2, 3), tenon.tensor([1, 0]))),
    'select': (lambda a, n: (a.index_select(1, n), a[n], a[:, n], a[n, n]), (x(3, 3, 2), i(2, 0))),
    'pad': (lambda a: (tenon.pad(a, (1, 2)), tenon.pad(a, (1, 0, 2, 1), value=3.0), tenon.pad(a, (1, 1), mode='reflect'), tenon.pad(a, (1, 1), mode='replicate')), (x(1, 3, 4),)),
    'roll': (lambda a: (tenon.roll(a, 1, 1), tenon.roll(a, (-1, 2), (0, 2))), (x(),)), 'one_hot': (lambda n: tenon.one_hot(n, 4), (i(0, 3),)),
    'eye': (lambda a: (a + tenon.torch.eye(4, device=a.device), tenon._core.ops['eye'](3, 5, 1, device=a.device) * a[0, 0]), (x(4, 4),)),
    'triangles': (lambda a: (tenon.tril(a), tenon.triu(a, 1)), (x(3, 4),)),
    'made': (lambda a: (a + tenon.full((4,), 2.0), tenon.full_like(a, 3.0), a * tenon.arange(4, dtype='f32')), (x(),)),
    'full_like': (lambda a: tenon._core.ops['full_like'](a, 3.0) + a, (x(),)),
    'views': (lambda a: (a[:, 1:, ::2], a.transpose(0, 2)[1], a[1].t(), a.flip(1), a[..., 1], a.permute(2, 0, 1)[1:, :, 1:], a[0].reshape(2, 6), a[:, :1].expand(2, 5, 4)), (x(),)),
    'overlapping': (lambda a: tenon.as_strided(a, (3, 3), (2, 1)), (x(8),)), 'nothing': (lambda a: a[:, 3:], (x(),)),
    'matmul': (lambda a, b: (a @ b, a.transpose(1, 2) @ a), (x(2, 3, 4), x(4, 5))), 'linear': (nn.Linear(4, 3), (x(),)), 'gemm': (nn.Linear(4, 3), (x(2, 4),)),
    'conv1d': (nn.Conv1d(3, 4, 3, padding=1), (x(2, 3, 8),)),
    'conv2d': (nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=1, groups=2), (x(1, 4, 7, 7),)), 'conv_transpose': (nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), (x(1, 3, 5, 5),)),
    'pools': (lambda a: (nn.MaxPool2d(3, 2, 1)(a), nn.AvgPool2d(2)(a), nn.AdaptiveAvgPool2d(1)(a), nn.AdaptiveMaxPool2d(2)(a)), (x(1, 3, 8, 8),)),
    'positions': (lambda a: tenon.max_pool(a, (2, 2)), (x(2, 3, 4, 4),)),
    'resize': (lambda a: (tenon.interpolate(a, (8, 6), 'nearest'), tenon.interpolate(a, (8, 6), 'bilinear'), tenon.interpolate(a, (7, 9), 'bilinear', True)), (x(1, 2, 4, 3),)),
    'attention': (lambda q, k: (tenon.attention(q, k, k), tenon.attention(q, q, q, causal=True)[0]), (x(1, 4, 3, 8), x(1, 2, 5, 8))),
    'attention_mask': (lambda q, m: tenon.attention(q, q, q, mask=m > -1)[0], (x(1, 2, 4, 8), x(4, 4))),
    'attention_packed': (lambda q: (tenon.attention_packed(q, scale=0.3), tenon.attention_packed(q, causal=True)[0]), (x(2, 5, 3, 2, 4),)),
    'add_layer_norm': (lambda a, b: (tenon.add_layer_norm(a, b, (4,)), tenon.add_layer_norm(a, b, (4,), b[0, 0], b[0, 1])[0]), (x(), x())),
    'layer_norm': (nn.LayerNorm(4), (x(),)), 'layer_norm_all': (lambda a: tenon.layer_norm(a, (4,)), (x(),)),
    'rms_norm': (nn.RMSNorm(4), (x(),)), 'group_norm': (nn.GroupNorm(2, 4), (x(2, 4, 3, 3),)), 'batch_norm': (nn.BatchNorm2d(3).eval(), (x(1, 3, 4, 4),)),
    'embedding': (nn.Embedding(6, 3), (i(1, 5),)), 'alias': (lambda a: tenon.contiguous(a.transpose(0, 1)) + 0.0, (x(),)),
    'uneven_pools': (lambda a: (nn.AdaptiveAvgPool2d((3, 2))(a), nn.AdaptiveMaxPool2d(3)(a)), (x(1, 2, 7, 5),)),
    'lerp': (lambda a, b: (tenon.lerp(a, b, 0.3), tenon.lerp(a, b[:1], a)), (x(3, 4), x(3, 4, low=0.1))),
    'addc': (lambda a, b: (tenon.addcmul(a, b, a, 0.5), tenon.addcdiv(a, a, b, -2.0), tenon.addcmul(a, b, b)), (x(3, 4), x(3, 4, low=0.1))),
    'shrink': (lambda a: (tenon.shrink(a), tenon.shrink(a, 0.7, 0.7)), (x(),)), 'prelu': (lambda a, b: tenon.prelu(a, b), (x(), x(4))),
    'nan_to_num': (lambda a: (tenon.nan_to_num(1 / a), tenon.nan_to_num(tenon.log(a), 1.0, 2.0, -3.0)), (tenon.tensor([0.0, -0.0, 2.0, -1.0]),)),
    'pair_losses': (lambda a, b: (tenon.mse_loss(a, b), tenon.mse_loss(a, b[:1], 'sum'), tenon.smooth_l1_loss(a, b, 'sum', 0.5), tenon.huber_loss(a, b, 'mean', 0.5)), (x(3, 4), x(3, 4, low=0.1))),
    'threshold': (nn.Threshold(0.1, 2.0), (x(2, 3),)), 'fold': (nn.Fold((4, 4), 2), (x(1, 8, 9),)), 'bag': (nn.EmbeddingBag(6, 3), (tenon.tensor([[1, 2], [3, 5]]),)), 'bag_sum': (nn.EmbeddingBag(6, 3, mode='sum'), (tenon.tensor([[1, 2], [3, 5]]),)),
    'bag_max': (nn.EmbeddingBag(6, 3, mode='max'), (tenon.tensor([1, 2, 5, 4]), tenon.tensor([0, 3, 3]))),
    'pads': (lambda a: (nn.ReflectionPad2d(1)(a), nn.ReplicationPad2d(1)(a), nn.CircularPad2d(1)(a)), (x(1, 2, 4, 4),)),
    'instance_norm': (nn.InstanceNorm2d(3, affine=True), (x(1, 3, 4, 4),)),
    'lstm': (nn.LSTM(4, 5), (x(3, 2, 4),)), 'lstm_both_ways': (nn.LSTM(4, 5, 2, bidirectional=True), (x(3, 2, 4),)),
    'lstm_batch_first': (nn.LSTM(4, 5, batch_first=True), (x(2, 3, 4),)),
    'lstm_alone': (lambda a, h, w: tenon.lstm(a, h, h, w)[0], (x(3, 2, 8), x(2, 2), x(8, 2))),
    'cond': (lambda a: tenon.graph.cond(a.sum() > 0, lambda: a * 2, lambda: -a), (x(),)),
    'loop': (lambda a: tenon.graph.loop(lambda b: b.sum() < 50, lambda b: b + a * a, a), (x(),)),
    'scan': (lambda a: tenon.graph.scan(lambda total, b: (total + b, total * b), a[0], a), (x(),)),
    'sequence': (nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), (x(5, 4),)),
}
seen = set()


@pytest.mark.parametrize('name', CASES)
def test_an_op(name, tmp_path):
    fn, inputs = CASES[name]
    seen.update(check(fn, inputs, tmp_path))


def test_every_exported_op_has_a_case():
    missing = set(tenon.onnx.exported_ops()) - seen
    assert not missing, f'no case of {sorted(missing)}'


def test_resnet18(tmp_path):
    import models
    tenon.manual_seed(0)
    check(models.resnet18(nn, None).eval(), (x(1, 3, 64, 64),), tmp_path)


def test_mini_lm(tmp_path):
    from transformer import transformer
    tenon.manual_seed(0)
    net = transformer(nn, 6, 12, 384, 1000, 64, False).eval()
    check(net, (tenon.tensor(np.random.default_rng(0).integers(0, 1000, (2, 16))),), tmp_path)


def test_weights_have_their_names(tmp_path):
    tenon.onnx.export(nn.Linear(4, 3), (x(2, 4),), tmp_path / 'm.onnx', opset=21)
    model = onnx.load(tmp_path / 'm.onnx')
    assert {'weight', 'bias'} <= {one.name for one in model.graph.initializer}
    assert model.opset_import[0].version == 21


def test_weights_are_written_as_they_are_read(tmp_path):
    """Quantizers look for products by constants; a table that two layers share is written once."""
    tenon.manual_seed(0)
    table, packed = nn.Embedding(6, 4), nn.Linear(4, 8)

    def net(index):
        y = table(index)
        q, k = (tenon.linear(y, packed.weight[rows], packed.bias[rows]) for rows in (slice(0, 4), slice(4, 8)))
        return tenon.linear(tenon.relu(q) * k, table.weight)
    check(net, (tenon.tensor([[1, 5, 2]]),), tmp_path)
    graph = onnx.load(tmp_path / 'model.onnx').graph
    constants = {one.name: tuple(one.dims) for one in graph.initializer}
    products = [node for node in graph.node if node.op_type == 'MatMul']
    assert [constants.get(node.input[1]) for node in products] == [(4, 4), (4, 4), None]
    assert sum(np.prod(shape) for shape in constants.values() if len(shape) == 2) == 6 * 4 + 8 * 4


def test_given_names_are_used(tmp_path):
    tenon.onnx.export(nn.Linear(4, 3), (x(2, 4),), tmp_path / 'm.onnx', input_names=['weight'], output_names=['y'])
    graph = onnx.load(tmp_path / 'm.onnx').graph
    assert [one.name for one in graph.input] == ['weight'] and [one.name for one in graph.output] == ['y']
    onnx.checker.check_model(onnx.load(tmp_path / 'm.onnx'), full_check=True)
    tenon.onnx.export(lambda a, b: (a, b), (x(2), x(3)), tmp_path / 'm.onnx', input_names=['a'])
    assert [one.name for one in onnx.load(tmp_path / 'm.onnx').graph.input] == ['a', 'input1']
    for names in (['a', 'b'], ['result0']):
        with pytest.raises(ValueError, match=r'input_names has 2 names|names two inputs or results'):
            tenon.onnx.export(nn.Linear(4, 3), (x(2, 4),), tmp_path / 'm.onnx', input_names=names)


def test_what_cannot_be_exported_is_named(tmp_path):
    with pytest.raises(tenon.Error, match=r'\[onnx.export\] op lgamma has no counterpart'):
        tenon.onnx.export(tenon.lgamma, (x(),), tmp_path / 'm.onnx')
    with pytest.raises(tenon.Error, match='opset 17'):
        tenon.onnx.export(tenon.exp, (x(),), tmp_path / 'm.onnx', opset=17)
    assert not (tmp_path / 'm.onnx').exists()
