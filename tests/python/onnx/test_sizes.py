"""Models whose sizes runs choose: written once, run by onnxruntime and read again at several sizes."""
import math

import numpy as np
import onnx
import onnxruntime
import pytest

import tenon
from tenon import nn
from tenon.graph import Dim


def made(*shape):
    rng = np.random.default_rng(sum(shape))
    return tenon.tensor(rng.uniform(-2, 2, shape).astype('f4'))


def leaves(value):
    return [one for part in value for one in leaves(part)] if isinstance(value, (tuple, list)) else [value]


def check(fn, shapes, dynamic, path, make=made):
    """Exports fn at the first shapes of its inputs, and compares runs of the file at all of them."""
    tenon.onnx.export(fn, [make(*shape) for shape in shapes[0]], path, dynamic=dynamic)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    loaded = tenon.onnx.load(path)
    for each in shapes:
        inputs = [make(*shape) for shape in each]
        with tenon.no_grad():
            wanted = leaves(fn(*inputs))
        found = session.run(None, {port.name: one.numpy() for port, one in zip(session.get_inputs(), inputs, strict=True)})
        back = leaves(loaded(*inputs))
        for one, other, again in zip(found, wanted, back, strict=True):
            assert one.shape == tuple(other.shape) and one.dtype == other.numpy().dtype
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(again.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)
    return onnx.load(path).graph


class Attention(nn.Module):
    """A block of a GPT with learnt positions and a mask that is sliced."""

    def __init__(self, causal):
        super().__init__()
        self.positions, self.qkv, self.out = nn.Embedding(32, 8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.causal, self.seen = causal, tenon.tril(tenon.ones((32, 32)))

    def forward(self, x):
        batch, length, width = x.shape
        x = x + self.positions(tenon.arange(length))
        q, k, v = (each.reshape((batch, length, 2, 4)).transpose(1, 2) for each in tenon.split(self.qkv(x), 8, -1))
        if self.causal:
            y = tenon.attention(q, k, v, causal=True)[0]
        else:
            scores = (q @ k.mT / 2).masked_fill(self.seen[:length, :length] == 0, -1e9)
            y = tenon.softmax(scores, -1) @ v
        return self.out(y.transpose(1, 2).reshape((batch, length, width)))


def masked(mask):
    """As a BERT hides tokens: the first is always seen."""
    mask = mask.clone()
    mask[:, 0] = 1
    mask[mask < -1] = 0
    return (1 - mask[:, None, None, :]) * -1e9


def shifted(x, y):
    """As relative positions of Transformer-XL: columns shift by one in each row."""
    batch, length = x.shape
    both = tenon.concat([x, y], 1)
    scores = (both[:, None, :] * x[:, :, None])
    scores = tenon.concat([tenon.zeros((batch, length, 1)), scores], 2)
    return scores.reshape((batch, both.shape[1] + 1, length))[:, 1:].reshape((batch, length, both.shape[1]))


class Positions(nn.Module):
    """A table of 20 positions for the rows of a convolution that halves."""

    def __init__(self):
        super().__init__()
        self.conv, self.table = nn.Conv1d(3, 4, 3, 2, 1), nn.Parameter(tenon.randn(20, 4))

    def forward(self, x):
        y = self.conv(x).transpose(1, 2)
        return y + self.table[:y.shape[1]]


B, BL = {0: {0: 'b'}}, {0: {0: 'b', 1: 'l'}}
LONG = {0: {0: 'b', 1: Dim('l', max=32)}}
CASES = {
    'halves of products': (lambda x, y: (x[:, None] * y).reshape(-1, 4)[:x.shape[0] * y.shape[0] // 2 + 1],
                           [[(3, 4), (2, 4)], [(1, 4), (5, 4)], [(7, 4), (3, 4)], [(4, 4), (1, 4)]], {0: {0: 'r'}, 1: {0: 'm'}}),
    'linear': (nn.Linear(4, 3), [[(2, 4)], [(5, 4)], [(1, 4)]], B),
    'linear of three dimensions': (nn.Linear(4, 3), [[(2, 3, 4)], [(5, 7, 4)], [(1, 1, 4)]], BL),
    'reshape': (lambda a: a.reshape((a.shape[0], -1)), [[(2, 3, 4)], [(5, 7, 4)]], BL),
    'flat': (lambda a: (a.reshape((-1, 4)), a.reshape((-1,))), [[(2, 3, 4)], [(5, 7, 4)]], BL),
    'turned': (lambda a: (a.transpose(0, 1), a.permute(2, 0, 1) * 2), [[(2, 3, 4)], [(5, 7, 4)]], BL),
    'cut': (lambda a: (a[1:, :-1], a[:, ::2], a[-1], a[..., 1:3], a.flip(1), a.flip((0, 2))), [[(3, 4, 4)], [(5, 8, 4)]], BL),
    'half': (lambda a: a[:, :a.shape[1] // 2], [[(2, 4)], [(3, 9)]], BL),
    'joined': (lambda a, b: tenon.concat([a, b], 1), [[(2, 3), (2, 4)], [(5, 1), (5, 7)]], {0: {0: 'b', 1: 'l'}, 1: {0: 'b', 1: 'm'}}),
    'filled': (lambda a: (a + tenon.ones((a.shape[0], 1)), tenon.zeros((a.shape[1], 2))), [[(2, 3)], [(5, 7)]], BL),
    'counted': (lambda a: a * tenon.arange(a.shape[1], dtype='f32') + tenon.arange(1, 2 * a.shape[0], 2)[:, None], [[(2, 3)], [(5, 7)]], BL),
    'number': (lambda a: (a / a.shape[1], a * a.shape[0] ** 0.5, a.sum(1) / (a.shape[0] * a.shape[1]), a + a.shape[1]), [[(2, 3)], [(5, 7)]], BL),
    'statistics': (lambda a: (a.mean(1), a.var(1), a.sum(), a.max(1), tenon.softmax(a, 1), tenon.norm(a, 2.0, 0)), [[(2, 3)], [(5, 7)]], BL),
    'order': (lambda a: (tenon.sort(a, 1)[0], tenon.argmax(a), tenon.topk(a, 2, 1)[0], tenon.cumsum(a, 1)), [[(2, 3)], [(5, 7)]], BL),
    'spread': (lambda a: (a[:, None].expand(a.shape[0], 3, a.shape[1]) + 0, tenon.tile(a, (2, 1))), [[(2, 3)], [(5, 7)]], BL),
    'shifted': (lambda a: (tenon.roll(a, 1, 1), tenon.pad(a, (1, 2)), tenon.tril(a)), [[(2, 3)], [(5, 7)]], BL),
    'convolution': (nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)).eval(),
                    [[(2, 3, 16, 16)], [(1, 3, 20, 24)], [(3, 3, 33, 17)]], {0: {0: 'b', 2: 'h', 3: 'w'}}),
    'resize': (lambda a: (nn.Upsample(scale_factor=2.0)(a), tenon.interpolate(a, (8, 6), 'bilinear')), [[(1, 2, 4, 3)], [(3, 2, 5, 7)]], {0: {0: 'b', 2: 'h', 3: 'w'}}),
    'norms': (lambda a: (nn.GroupNorm(2, 4)(a), nn.InstanceNorm2d(4)(a), tenon.layer_norm(a.permute(0, 2, 3, 1), (4,))), [[(2, 4, 3, 5)], [(3, 4, 6, 7)]], {0: {0: 'b', 2: 'h', 3: 'w'}}),
    'attention': (Attention(True), [[(2, 5, 8)], [(1, 1, 8)], [(3, 32, 8)]], LONG),
    'attention by a mask': (Attention(False), [[(2, 5, 8)], [(1, 1, 8)], [(3, 32, 8)]], LONG),
    'masked': (masked, [[(2, 3)], [(5, 7)]], BL),
    'shifted columns': (shifted, [[(2, 3), (2, 4)], [(5, 7), (5, 2)]], {0: {0: 'b', 1: 'l'}, 1: {0: 'b', 1: 'm'}}),
    'a table that ends': (Positions(), [[(2, 3, 9)], [(1, 3, 40)], [(4, 3, 3)]], {0: {0: 'b', 2: 'l'}}),
    'running extremes': (lambda a: (*tenon.cummax(a, 1), *tenon.cummin(a, 0)), [[(2, 3)], [(5, 7)], [(1, 40)]], BL),
    'products': (lambda a: (tenon.cumprod(a, 1), tenon.eye(a.shape[1])), [[(2, 3)], [(5, 7)]], BL),
    'two indices': (lambda a: a[:, tenon.tensor([0, 1]), tenon.tensor([2, 0])], [[(2, 3, 4)], [(5, 7, 4)]], BL),
    'lstm': (nn.LSTM(4, 5, batch_first=True), [[(2, 3, 4)], [(5, 7, 4)]], BL),
    'loop': (lambda a: tenon.graph.loop(lambda b: b.sum() < 50, lambda b: b + a * a, a), [[(2, 3)], [(5, 7)]], BL),
    'scan': (lambda a: tenon.graph.scan(lambda total, b: (total + b, total * b), a[0], a), [[(2, 3)], [(5, 7)]], BL),
}


@pytest.mark.parametrize('name', CASES)
def test_sizes_vary(name, tmp_path):
    tenon.manual_seed(0)
    fn, shapes, dynamic = CASES[name]
    check(fn, shapes, dynamic, tmp_path / 'm.onnx')


def test_tokens(tmp_path):
    tenon.manual_seed(0)
    net = nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 50))
    check(net, [[(2, 3)], [(4, 9)]], BL, tmp_path / 'm.onnx', lambda *shape: tenon.tensor(np.random.default_rng(0).integers(0, 50, shape)))


def test_sizes_have_their_names(tmp_path):
    graph = check(lambda a, b: (a + b, a.sum(1), tenon.concat([a, b], 0)), [[(2, 3), (2, 3)], [(5, 7), (5, 7)]],
                  {0: {0: 'batch', 1: 'length'}, 1: {0: 'batch', 1: 'length'}}, tmp_path / 'm.onnx')
    shapes = [[d.dim_param or d.dim_value or None for d in port.type.tensor_type.shape.dim] for port in (*graph.input, *graph.output)]
    assert shapes == [['batch', 'length'], ['batch', 'length'], ['batch', 'length'], ['batch'], [None, 'length']]


def of_nodes(nodes, inputs, results, path, opset=18, **constants):
    """A model of these nodes."""
    ports = [[onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in each.items()] for each in (inputs, results)]
    held = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, 'g', *ports, held), opset_imports=[onnx.helper.make_opsetid('', opset)], ir_version=9 if opset > 18 else 8), path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])


def n(op, inputs, outputs, **attributes):
    return onnx.helper.make_node(op, inputs.split(' '), outputs.split(' '), **attributes)


HALF = np.array([1, 1, 2, 2], 'f4')
PADS = np.array([0, 0, 1, 2, 0, 0, 2, 1])
RNG = np.random.default_rng(0)
RECURRENT = {'w': RNG.normal(size=(2, 12, 4)).astype('f4'), 'r': RNG.normal(size=(2, 12, 4)).astype('f4') / 4, 'b': RNG.normal(size=(2, 24)).astype('f4')}
SHAPE = [n('Shape', 'x', 's'), n('Cast', 's', 'f', to=1)]
# Nodes over x (2, 4, h, w), and their constants. What they compute from sizes, a program computes in each run.
OF_ANY_SIZE = {
    'pool that rounds up': ([n('MaxPool', 'x', 'p', kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
                             n('AveragePool', 'x', 'q', kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1]),
                             n('ReduceSum', 'q', 'u', keepdims=1), n('Add', 'p u', 'y')], {}),
    **{f'resize {mode} {how}': ([n('Resize', 'x  scales', 'y', mode=mode, coordinate_transformation_mode=how, **more)], {'scales': HALF})
       for mode, how, more in [('nearest', 'asymmetric', {'nearest_mode': 'floor'}), ('linear', 'half_pixel', {}), ('linear', 'pytorch_half_pixel', {}),
                               ('linear', 'align_corners', {}), ('cubic', 'half_pixel', {}), ('cubic', 'align_corners', {})]},
    'reflected': ([n('Pad', 'x pads', 'y', mode='reflect')], {'pads': PADS}),
    'repeated edge': ([n('Pad', 'x pads', 'y', mode='edge')], {'pads': PADS}),
    'sizes as numbers': ([*SHAPE, n('Mul', 'x f', 'y')], {}),
    'gather by batch': ([n('TopK', 'x two', 'v i', axis=3), n('GatherND', 'x i', 'g', batch_dims=3), n('Squeeze', 'v last', 'q'), n('Mul', 'g q', 'y')],
                        {'two': np.array([1]), 'last': np.array([3])}),
}


@pytest.mark.parametrize('mode', ['linear', 'cubic'])
def test_corners_are_aligned_where_scales_give_no_whole_size(mode, tmp_path):
    nodes = [n('Resize', 'x  scales', 'y', mode=mode, coordinate_transformation_mode='align_corners')]
    peer = of_nodes(nodes, {'x': [2, 4, 5, 9]}, {'y': None}, tmp_path / 'm.onnx', scales=np.array([1, 1, 1.7, 0.6], 'f4'))
    x = made(2, 4, 5, 9)
    np.testing.assert_allclose(tenon.onnx.load(tmp_path / 'm.onnx')(x).numpy(), peer.run(None, {'x': x.numpy()})[0], rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize('name', OF_ANY_SIZE)
def test_nodes_of_any_size(name, tmp_path):
    nodes, constants = OF_ANY_SIZE[name]
    peer = of_nodes(nodes, {'x': [2, 4, 'h', 4 if name == 'sizes as numbers' else 'w']}, {'y': None}, tmp_path / 'm.onnx', **constants)
    model = tenon.onnx.load(tmp_path / 'm.onnx')
    dims = {0: {axis: size for axis, size in enumerate(model.inputs[0][2]) if isinstance(size, str)}}
    program = tenon.graph.trace(model, made(2, 4, 6, 4), dynamic=dims)
    for sizes in (6, 4), (5, 9), (17, 30):
        x = made(2, 4, sizes[0], 4 if len(dims[0]) == 1 else sizes[1])
        wanted, = peer.run(None, {'x': x.numpy()})
        for run in model, program:
            np.testing.assert_allclose(run(x).numpy(), wanted, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize('corners', [0, 1])
def test_affine_grids_of_any_size(corners, tmp_path):
    theta = RNG.normal(size=(2, 2, 3)).astype('f4')
    peer = of_nodes([n('Shape', 'x', 's'), n('AffineGrid', 'theta s', 'y', align_corners=corners)], {'x': [2, 4, 'h', 'w']}, {'y': None}, tmp_path / 'm.onnx', 20, theta=theta)
    model = tenon.onnx.load(tmp_path / 'm.onnx')
    program = tenon.graph.trace(model, made(2, 4, 6, 4), dynamic={0: {2: 'h', 3: 'w'}})
    for h, w in (6, 4), (5, 9), (30, 17):
        x = made(2, 4, h, w)
        wanted, = peer.run(None, {'x': x.numpy()})
        for run in model, program:
            np.testing.assert_allclose(run(x).numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize('gates', [1, 3])
@pytest.mark.parametrize('lengths', [False, True])
def test_recurrent_layers_of_any_length(gates, lengths, tmp_path):
    op, weights = 'GRU' if gates == 3 else 'RNN', {'w': RECURRENT['w'][:, :4 * gates], 'r': RECURRENT['r'][:, :4 * gates], 'b': RECURRENT['b'][:, :8 * gates]}
    nodes = [n('Cast', 'l', 'steps', to=6), n(op, 'x w r b steps' if lengths else 'x w r b', 'y h', hidden_size=4, direction='bidirectional')]
    peer = of_nodes(nodes, {'x': ['t', 2, 4], 'l': [2]}, {'y': None, 'h': None}, tmp_path / 'm.onnx', **weights)
    model = tenon.onnx.load(tmp_path / 'm.onnx')
    program = tenon.graph.trace(model, made(5, 2, 4), tenon.tensor([5.0, 2.0]), dynamic={0: {0: 't'}})
    assert str(program).count('scan(') == 2
    for steps in 1, 3, 40:
        x, each = made(steps, 2, 4), tenon.tensor([float(steps), 1.0])
        wanted = peer.run(None, {'x': x.numpy(), 'l': each.numpy()})
        for run in model, program:
            for one, other in zip(run(x, each), wanted, strict=True):
                np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-5)


def test_what_runs_backwards(tmp_path):
    check(lambda x: (tenon.stack([x * 2, x.flip(0)], 1), x.flip((0, 2)).transpose(0, 1) + 1), [[(3, 2, 4)], [(6, 5, 4)]],
          {0: {0: 'length', 1: 'batch'}}, tmp_path / 'm.onnx')


def test_multiples_of_a_size(tmp_path):
    tenon.manual_seed(0)
    net = nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(4, 4, 3, padding=1), nn.PixelShuffle(2))
    check(net.eval(), [[(1, 1, 4, 6)], [(2, 1, 10, 2)]], {0: {0: 'batch', 2: 'h', 3: 'w'}}, tmp_path / 'm.onnx')


REFUSED = {
    'adaptive_avg_pool': lambda a: nn.AdaptiveAvgPool2d(2)(a),
    'pad': lambda a: nn.CircularPad2d(1)(a),
}


@pytest.mark.parametrize('op', REFUSED)
def test_ops_whose_nodes_would_differ_are_named(op, tmp_path):
    with pytest.raises(tenon.Error, match=f'op {op}: its nodes would follow a size that varies'):
        tenon.onnx.export(REFUSED[op], [made(1, 2, 8, 8)], tmp_path / 'm.onnx', dynamic={0: {2: 'h', 3: 'w'}})
    assert not (tmp_path / 'm.onnx').exists()


def halves(x):
    length = x.shape[1]
    row, total = tenon.arange(length), tenon.zeros(length)
    row[:length // 2] = row[length - length // 2:] * 2
    total[1::2] += tenon.arange(length)[1::2]
    total[::2] = total[::2] - 3
    mask = tenon.zeros((length, length))
    mask[0::2, 1::3] = 1.
    mask[length // 2:, :] = 2.
    return x + (row + total)[:, None], x @ x.mT + mask


def test_parts_that_are_rounded_up_and_down(tmp_path):
    """Halves of even and of odd sizes: other slices, and other nodes for the same views."""
    shapes = [[(batch, length, 6)] for batch, length in ((2, 9), (1, 2), (3, 3), (1, 8), (2, 50), (1, 77), (2, 128))]
    check(halves, shapes, {0: {0: 'batch', 1: 'length'}}, tmp_path / 'm.onnx')


def numbers(x):
    length = x.shape[1]
    scaled = x * (2.0 / length) + 1.5 * length + length / 3 + math.log(length + 1) / math.log(512) + (length - 0.5) + math.sqrt(length) * 1.25
    window = 0.5 - 0.5 * tenon.cos(tenon.arange(length, dtype=tenon.float64) * (2 * math.pi / (length + 1)))
    return scaled, tenon.where(tenon.eye(length, dtype=tenon.bool), 0.0, x @ x.mT), x * tenon.cast(window, tenon.float32)[:, None]


def test_numbers_computed_from_sizes(tmp_path):
    check(numbers, [[(2, n, 6)] for n in (9, 2, 3, 8, 50, 77, 128)], {0: {1: 'length'}}, tmp_path / 'm.onnx')
