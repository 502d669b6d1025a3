"""Ops that ONNX Runtime's optimizers and quantizer write, compared with ONNX Runtime."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import tenon
from nodes_beside import MS, check, f, i8, rng, u8

def ms(op, inputs, outputs=('y',), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), domain=MS, **attributes)


FUSED = {
    'gelu': ('Gelu', [f(3, 8)], {}), 'bias_gelu': ('BiasGelu', [f(3, 8), f(8)], {}), 'fast_gelu': ('FastGelu', [f(3, 8), f(8)], {}),
    'quick_gelu': ('QuickGelu', [f(3, 8)], {'alpha': 1.5}),
    'fused_matmul': ('FusedMatMul', [f(2, 4, 3), f(2, 5, 4)], {'alpha': 0.5, 'transA': 1, 'transB': 1}),
    'fused_matmul_batches': ('FusedMatMul', [f(3, 2, 4), f(2, 4, 5)], {'transBatchA': 1}),
    'fused_gemm': ('FusedGemm', [f(3, 4), f(4, 5), f(5)], {'activation': 'LeakyRelu', 'activation_alpha': 0.2, 'alpha': 2.0}),
    **{f'fused_gemm_{name}': ('FusedGemm', [f(3, 4), f(4, 5), f(5)], {'activation': name, **more}) for name, more in {
        'Softplus': {}, 'Softsign': {}, 'Elu': {'activation_alpha': 0.7}, 'ThresholdedRelu': {'activation_alpha': 0.3},
        'HardSigmoid': {'activation_alpha': 0.3, 'activation_beta': 0.4}}.items()},
    'fused_conv': ('FusedConv', [f(1, 3, 8, 8), f(4, 3, 3, 3), f(4)], {'activation': 'Clip', 'activation_params': [-0.5, 1.5], 'pads': [1, 1, 1, 1]}),
    'fused_conv_sum': ('FusedConv', [f(1, 3, 8, 8), f(4, 3, 3, 3), f(4), f(1, 4, 6, 6)], {'activation': 'Relu'}),
}


@pytest.mark.parametrize('case', FUSED)
def test_fused(tmp_path, case):
    op, operands, attributes = FUSED[case]
    names = [f'x{k}' for k in range(len(operands))]
    check(tmp_path, [ms(op, names, **attributes)], zip(names, operands))


@pytest.mark.parametrize('simple', [False, True])
def test_norm_of_a_sum(tmp_path, simple):
    names = ['x', 'skip', 'scale'] + ([] if simple else ['beta']) + ['bias']
    op = 'SkipSimplifiedLayerNormalization' if simple else 'SkipLayerNormalization'
    arrays = {'x': f(2, 3, 8), 'skip': f(2, 3, 8), 'scale': f(8), 'beta': f(8), 'bias': f(8)}
    check(tmp_path, [ms(op, names, ['y', '', '', 'sum'], epsilon=1e-5)], {name: arrays[name] for name in names}, results=('y', 'sum'))


def test_norms_in_old_opsets(tmp_path):
    nodes = [helper.make_node('LayerNormalization', ['x', 'scale', 'bias'], ['n'], axis=-1),
             helper.make_node('SimplifiedLayerNormalization', ['n', 'scale'], ['y'], axis=-1, epsilon=1e-5)]
    check(tmp_path, nodes, {'x': f(2, 8)}, {'scale': f(8), 'bias': f(8)}, opset=14)


def test_embeddings(tmp_path):
    names = ['ids', 'segments', 'words', 'positions', 'types', 'scale', 'bias', 'mask']
    tables = {'words': f(20, 8), 'positions': f(10, 8), 'types': f(2, 8), 'scale': f(8), 'bias': f(8)}
    given = {'ids': rng.integers(0, 20, (2, 5)).astype('i4'), 'segments': rng.integers(0, 2, (2, 5)).astype('i4'),
             'mask': np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], 'i4')}
    check(tmp_path, [ms('EmbedLayerNormalization', names, ['y', 'lengths', 'sum'])], given, tables, ('y', 'lengths', 'sum'))


@pytest.mark.parametrize('mask', ['', 'lengths', 'raw', 'rows'])
@pytest.mark.parametrize('causal', [0, 1])
def test_attention(tmp_path, mask, causal):
    masks = {'lengths': np.array([2, 4], 'i4'), 'raw': np.array([[1, 1, 1, 0], [1, 1, 1, 1]], 'i4'), 'rows': np.ones((2, 4, 4), 'i4')}
    inputs = {'x': f(2, 4, 8), **({mask: masks[mask]} if mask else {})}
    check(tmp_path, [ms('Attention', ['x', 'w', 'b', mask], num_heads=2, unidirectional=causal)], inputs, {'w': f(8, 24), 'b': f(24)})


def test_attention_with_a_past(tmp_path):
    check(tmp_path, [ms('Attention', ['x', 'w', 'b', '', 'past'], ['y', 'present'], num_heads=2, unidirectional=1)],
          {'x': f(2, 3, 8), 'past': f(2, 2, 2, 5, 4)}, {'w': f(8, 24), 'b': f(24)}, ('y', 'present'))


@pytest.mark.parametrize('bias', [True, False])
def test_multi_head_attention(tmp_path, bias):
    inputs = {'q': f(2, 3, 8), 'k': f(2, 5, 8), 'v': f(2, 5, 8), 'bias': f(24), 'mask': np.array([[1] * 5, [1, 1, 1, 0, 0]], 'i4'), 'more': f(2, 2, 3, 5)}
    names = ['q', 'k', 'v', 'bias' if bias else '', 'mask', 'more']
    check(tmp_path, [ms('MultiHeadAttention', names, num_heads=2)], {name: inputs[name] for name in names if name})


SCALES = {'xs': np.float32(0.02), 'xz': np.uint8(120), 'zs': np.float32(0.03), 'zz': np.uint8(130), 'ys': np.float32(0.05), 'yz': np.uint8(128)}


@pytest.mark.parametrize(('op', 'inputs', 'attributes'), [
    ('QLinearAdd', 'x xs xz z zs zz ys yz', {}), ('QLinearMul', 'x xs xz z zs zz ys yz', {}), ('QLinearSigmoid', 'x xs xz ss sz', {}),
    ('QLinearLeakyRelu', 'x xs xz ys yz', {'alpha': 0.1}), ('QLinearGlobalAveragePool', 'x xs xz ys yz', {}), ('QLinearSoftmax', 'x xs xz ss sz', {'axis': -1, 'opset': 13}),
    ('QLinearAveragePool', 'x xs xz ys yz', {'kernel_shape': [2, 2]}), ('QLinearConcat', 'ys yz x xs xz z zs zz', {'axis': 1})])
def test_integers(tmp_path, op, inputs, attributes):
    weights = {**{name: np.array(value) for name, value in SCALES.items()}, 'ss': np.array(1 / 256, 'f4'), 'sz': np.array(0, 'u1')}
    given = {'x': u8(1, 2, 4, 4), 'z': u8(1, 2, 4, 4)}
    names = inputs.split()
    check(tmp_path, [ms(op, names, **attributes)], {name: given[name] for name in names if name in given},
          {name: weights[name] for name in names if name in weights}, steps=1)


WINDOWS = [{'kernel_shape': [2, 2]}, {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1]}, {'kernel_shape': [2, 2], 'pads': [0, 1, 1, 0], 'strides': [2, 2]},
           {'kernel_shape': [3, 3], 'strides': [2, 2], 'ceil_mode': 1}, {'kernel_shape': [3, 3], 'strides': [2, 2], 'ceil_mode': 1, 'count_include_pad': 1},
           {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1], 'strides': [2, 2], 'ceil_mode': 1, 'count_include_pad': 1}]


@pytest.mark.parametrize('zero', [126, 127])
@pytest.mark.parametrize('windows', WINDOWS, ids=str)
def test_halves_and_last_windows_of_averages(tmp_path, windows, zero):
    """With equal scales the mean of two or four integers is often a half."""
    weights = {'xs': np.array(0.05, 'f4'), 'xz': np.array(121, 'u1'), 'ys': np.array(0.05, 'f4'), 'yz': np.array(zero, 'u1')}
    check(tmp_path, [ms('QLinearAveragePool', ['x', *weights], **windows)], {'x': u8(2, 8, 40, 36)}, weights)


@pytest.mark.parametrize('op', ['QLinearAdd', 'QLinearMul'])
@pytest.mark.parametrize('zero', [126, 127])
def test_halves_of_sums_and_products(tmp_path, op, zero):
    half, one = np.array(0.5, 'f4'), np.array(1, 'f4')
    weights = {'xs': half, 'xz': np.array(121, 'u1'), 'zs': half, 'zz': np.array(130, 'u1'), 'ys': one, 'yz': np.array(zero, 'u1')}
    x, z = (rng.integers(110, 140, (2, 8, 40, 36)).astype('u1') for _ in range(2))
    check(tmp_path, [ms(op, ['x', 'xs', 'xz', 'z', 'zs', 'zz', 'ys', 'yz'])], {'x': x, 'z': z}, weights)


@pytest.mark.parametrize('columns', [False, True])
def test_products_of_integers(tmp_path, columns):
    scales, zeros = (np.abs(f(6)) + 0.01, i8(6)) if columns else (np.array(0.02, 'f4'), np.array(3, 'i1'))
    weights = {'b': i8(700, 6), 'bs': scales, 'bz': zeros, 'as': np.array(0.02, 'f4'), 'az': np.array(120, 'u1'), 'bias': f(6)}
    check(tmp_path, [ms('MatMulIntegerToFloat', ['a', 'b', 'as', 'bs', 'az', 'bz', 'bias'])], {'a': u8(3, 700)}, weights, tolerance=1e-3)
    check(tmp_path, [ms('DynamicQuantizeMatMul', ['x', 'b', 'bs', 'bz', 'bias'])], {'x': f(3, 700)}, weights, tolerance=2e-3)
    if not columns:
        weights['c'] = rng.integers(-99, 99, 6).astype('i4')
        check(tmp_path, [ms('QGemm', ['a', 'as', 'az', 'b', 'bs', 'bz', 'c'])], {'a': u8(3, 700)}, weights, tolerance=1e-3)


def test_convolutions_of_integers_with_channels_last(tmp_path):
    weights = {'w': i8(4, 3, 3, 3), 'ws': np.abs(f(4)) / 50, 'wz': np.zeros(4, 'i1'), 'b': rng.integers(-99, 99, 4).astype('i4'),
               **{name: np.array(SCALES[name]) for name in ('xs', 'xz', 'ys', 'yz')}}
    node = ms('QLinearConv', ['x', 'xs', 'xz', 'w', 'ws', 'wz', 'ys', 'yz', 'b'], channels_last=1, pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    check(tmp_path, [node], {'x': u8(1, 6, 6, 3)}, weights, steps=1)


def test_long_sums_of_integers_are_exact(tmp_path):
    """A thousand products of the largest magnitude exceed what f32 counts exactly."""
    nodes = [helper.make_node('MatMulInteger', ['a', 'b', 'az', 'bz'], ['y'])]
    a = np.concatenate([np.full((1, 1000), 255, 'u1'), u8(1, 1000)])
    b = np.stack([np.full(1000, 255, 'u1'), u8(1000)], 1)
    check(tmp_path, nodes, {'a': a}, {'b': b, 'az': np.array(0, 'u1'), 'bz': np.array(0, 'u1')})
    conv = [helper.make_node('ConvInteger', ['x', 'w', 'xz'], ['y'])]
    check(tmp_path, conv, {'x': np.full((1, 100, 3, 3), 255, 'u1')}, {'w': np.full((2, 100, 3, 3), 255, 'u1'), 'xz': np.array(0, 'u1')})


DYNAMIC = {
    'padded': ((2, 4, 9, 8), i8(6, 4, 3, 3), {'pads': [1, 0, 2, 1]}), 'same': ((1, 4, 9, 8), i8(6, 4, 3, 3), {'auto_pad': 'SAME_UPPER', 'strides': [2, 2]}),
    'depthwise': ((2, 4, 7, 7), i8(8, 1, 3, 3), {'group': 4, 'pads': [1] * 4}), 'unsigned': ((2, 4, 5, 5), u8(3, 4, 1, 1), {}),
    'one': ((2, 4, 9), i8(6, 4, 3), {'pads': [1, 1]}), 'three': ((1, 2, 5, 4, 5), i8(3, 2, 2, 2, 2), {'dilations': [2, 1, 1]}),
}


@pytest.mark.parametrize('case', DYNAMIC)
def test_convolutions_in_the_range_of_their_input(tmp_path, case):
    shape, weight, attributes = DYNAMIC[case]
    last = np.array(7, weight.dtype)
    nodes = [helper.make_node('DynamicQuantizeLinear', ['x'], ['q', 's', 'z']), helper.make_node('ConvInteger', ['q', 'w', 'z', 'wz'], ['c'], **attributes),
             helper.make_node('Cast', ['c'], ['real'], to=TensorProto.FLOAT), helper.make_node('Mul', ['real', 's'], ['y'])]
    check(tmp_path, nodes, {'x': f(*shape)}, {'w': weight, 'wz': last}, results=('c', 'y'), tolerance=0)
    linear = [nodes[0], helper.make_node('QLinearConv', ['q', 's', 'z', 'w', 'ws', 'wz', 'ys', 'yz'], ['y'], **attributes)]
    scales = {'ws': np.array(0.01, 'f4'), 'ys': np.array(0.2, 'f4'), 'yz': np.array(120, 'u1')}
    check(tmp_path, linear, {'x': f(*shape)}, {'w': weight, 'wz': last, **scales})


@pytest.mark.parametrize('mask', ['', 'lengths'])
def test_attention_of_integers(tmp_path, mask):
    weights = {'w': i8(8, 24), 'b': f(24), 'xs': np.array(0.02, 'f4'), 'ws': np.array(0.01, 'f4'), 'xz': np.array(125, 'u1'), 'wz': np.array(2, 'i1')}
    check(tmp_path, [ms('QAttention', ['x', 'w', 'b', 'xs', 'ws', mask, 'xz', 'wz'], num_heads=2)],
          {'x': u8(2, 4, 8), **({mask: np.array([2, 4], 'i4')} if mask else {})}, weights)


@pytest.mark.parametrize(('bits', 'zeros', 'k'), [(4, False, 64), (4, True, 64), (4, True, 48), (8, True, 64), (4, False, 48)])
def test_weights_of_few_bits(tmp_path, bits, zeros, k):
    blocks = (k + 31) // 32
    weights = {'b': u8(5, blocks, 32 * bits // 8), 's': np.abs(f(5, blocks)), 'z': u8(5, (blocks * bits + 7) // 8), 'bias': f(5)}
    check(tmp_path, [ms('MatMulNBits', ['x', 'b', 's', 'z' if zeros else '', '', 'bias'], K=k, N=5, bits=bits, block_size=32)], {'x': f(2, 3, k)}, weights,
          tolerance=1e-3)


@pytest.mark.parametrize('direction', ['forward', 'reverse', 'bidirectional'])
def test_recurrent_layers(tmp_path, direction):
    d = 2 if direction == 'bidirectional' else 1
    x, h, c = f(5, 2, 3), f(d, 2, 4), f(d, 2, 4)
    names = ['x', 'w', 'r', 'b', '', 'h', 'c']
    lstm = helper.make_node('LSTM', names, ['y', 'yh', 'yc'], hidden_size=4, direction=direction)
    check(tmp_path, [lstm], {'x': x, 'h': h, 'c': c}, {'w': f(d, 16, 3), 'r': f(d, 16, 4), 'b': f(d, 32)}, ('y', 'yh', 'yc'))
    integers = ms('DynamicQuantizeLSTM', [*names, '', 'ws', 'wz', 'rs', 'rz'], ['y', 'yh', 'yc'], hidden_size=4, direction=direction)
    weights = {'w': i8(d, 3, 16), 'r': i8(d, 4, 16), 'b': f(d, 32), 'ws': np.full(d, 0.01, 'f4'), 'wz': np.zeros(d, 'i1'), 'rs': np.full(d, 0.02, 'f4'), 'rz': np.zeros(d, 'i1')}
    check(tmp_path, [integers], {'x': x[:, :1], 'h': h[:, :1], 'c': c[:, :1]}, weights, ('y', 'yh', 'yc'), tolerance=1e-3)


# ONNX Runtime takes a scale for each column of signed weights alone.
@pytest.mark.parametrize(('make', 'zero', 'each'), [(i8, 'i1', False), (i8, 'i1', True), (u8, 'u1', False)])
@pytest.mark.parametrize('direction', ['reverse', 'bidirectional'])
def test_lstm_of_integers(tmp_path, direction, make, zero, each):
    d, steps, n, hidden = 2 if direction == 'bidirectional' else 1, 6, 5, 8
    shape = (d, 4 * hidden) if each else (d,)
    weights = {'w': make(d, n, 4 * hidden), 'r': make(d, hidden, 4 * hidden), 'b': f(d, 8 * hidden), 'ws': np.abs(f(*shape)) / 100, 'rs': np.abs(f(*shape)) / 100,
               'wz': np.zeros(shape, zero) if each else rng.integers(0, 100, shape).astype(zero), 'rz': np.zeros(shape, zero) if each else rng.integers(0, 100, shape).astype(zero)}
    node = ms('DynamicQuantizeLSTM', ['x', 'w', 'r', 'b', '', 'h', 'c', '', 'ws', 'wz', 'rs', 'rz'], ['y', 'yh', 'yc'], hidden_size=hidden, direction=direction)
    inputs = {'x': f(steps, 1, n), 'h': f(d, 1, hidden), 'c': f(d, 1, hidden)}
    check(tmp_path, [node], inputs, weights, ('y', 'yh', 'yc'), tolerance=1e-6)
    program = tenon.graph.trace(tenon.onnx.load(tmp_path / 'm.onnx'), *map(tenon.tensor, inputs.values()))
    assert str(program).count('linear_integer') == 2 * d  # of the input at once, and of the state in each step
