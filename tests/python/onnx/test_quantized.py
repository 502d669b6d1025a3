"""Convolutions and products of integers, as ONNX Runtime's quantizer writes them: against double precision, and ONNX Runtime."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tenon

rng = np.random.default_rng(0)


def integers(dtype, *shape):
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)


def model(path, nodes, shape, dtype, weights, results=('y',)):
    graph = helper.make_graph(nodes, 'test', [helper.make_tensor_value_info('x', helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)],
                              [onnx.ValueInfoProto(name=name) for name in results], [numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items()])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString())
    return tenon.onnx.load(path)


def convolution(x, w, stride, pads, dilation):
    """Of arrays in double precision, (N, C, H, W) and (O, C, h, w)."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:])]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))[:, :, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]
    return np.einsum('nchwij,ocij->nohw', seen, w)


def along(values):
    return np.asarray(values, 'f8').reshape(-1, 1, 1, 1)


def quantized(sums, scale, zero, dtype):
    return np.clip(np.rint(sums * scale) + zero, np.iinfo(dtype).min, np.iinfo(dtype).max)


CASES = {
    'one pixel': ((1, 3, 1, 1), (1, 3, 1, 1), {}), 'rows': ((2, 5, 9, 7), (6, 5, 3, 3), {'pads': [1, 1, 1, 1]}),
    'steps': ((1, 3, 23, 20), (17, 3, 7, 7), {'pads': [3, 2, 3, 1], 'strides': [2, 3]}), 'long': ((1, 70, 6, 6), (33, 70, 3, 3), {'dilations': [2, 1]}),
    'points': ((3, 16, 5, 5), (20, 16, 1, 1), {}), 'steps of points': ((1, 8, 8, 8), (5, 8, 1, 1), {'strides': [2, 2]})}


@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize(('of_x', 'of_w'), [('u1', 'i1'), ('i1', 'i1'), ('u1', 'u1')])
@pytest.mark.parametrize('channels', [False, True])
def test_sums_are_exact(tmp_path, case, of_x, of_w, channels):
    shape, kernel, attributes = CASES[case]
    x, w, bias = integers(of_x, *shape), integers(of_w, *kernel), rng.integers(-9999, 9999, kernel[0]).astype('i4')
    count = kernel[0] if channels else 1
    w_zero = integers(of_w, count) if of_w == 'u1' else np.zeros(count, of_w)
    w_scale, x_zero = rng.uniform(0.001, 0.01, count).astype('f4'), integers(of_x)
    y_scale, y_zero = np.float32(np.prod(kernel[1:]) ** 0.5 * 0.5), np.array(100, of_x)
    weights = {'xs': np.float32(0.03), 'xz': x_zero, 'w': w, 'ws': w_scale if channels else w_scale[0], 'wz': w_zero if channels else w_zero[0],
               'ys': y_scale, 'yz': y_zero, 'b': bias}
    net = model(tmp_path / 'm.onnx', [helper.make_node('QLinearConv', ['x', *weights], ['y'], **attributes)], shape, of_x, weights)
    sums = convolution(x.astype('f8') - float(x_zero), w - along(w_zero), attributes.get('strides', (1, 1)), attributes.get('pads', (0, 0, 0, 0)),
                       attributes.get('dilations', (1, 1))) + bias.reshape(-1, 1, 1)
    scale = np.float64(np.float32(0.03)) * w_scale.astype('f8').reshape(-1, 1, 1) / np.float64(y_scale)
    wanted = quantized(sums, scale, 100, of_x)
    given = tenon.tensor(x)
    for run in net, tenon.graph.trace(net, given):
        found = run(given).numpy()
        assert found.dtype == x.dtype
        off = np.abs(found - wanted)
        assert off.max() <= 1 and (off > 0).mean() < 0.001  # only where a half rounds


def chain(bias_scale=None, group=1, axis=0):
    """DequantizeLinear, Conv, QuantizeLinear, and the weights."""
    w_scale = rng.uniform(0.001, 0.01, 12).astype('f4')
    weights = {'xs': np.float32(0.03), 'xz': np.uint8(110), 'w': integers('i1', 12, 8 // group, 3, 3), 'ws': w_scale, 'wz': np.zeros(12, 'i1'),
               'b': rng.integers(-999, 999, 12).astype('i4'), 'bs': w_scale * np.float32(0.03) if bias_scale is None else np.full(12, bias_scale, 'f4'),
               'bz': np.zeros(12, 'i4'), 'ys': np.float32(0.1), 'yz': np.uint8(128)}
    nodes = [helper.make_node('DequantizeLinear', ['x', 'xs', 'xz'], ['xf']), helper.make_node('DequantizeLinear', ['w', 'ws', 'wz'], ['wf'], axis=axis),
             helper.make_node('DequantizeLinear', ['b', 'bs', 'bz'], ['bf'], axis=0),
             helper.make_node('Conv', ['xf', 'wf', 'bf'], ['c'], pads=[1, 1, 1, 1], strides=[2, 2], group=group),
             helper.make_node('QuantizeLinear', ['c', 'ys', 'yz'], ['y'])]
    return nodes, weights


@pytest.mark.parametrize(('case', 'of_integers'), [('plain', True), ('another reader', False), ('another bias', False), ('groups', False), ('no bias', True)])
def test_convolutions_between_quantizers(tmp_path, case, of_integers):
    nodes, weights = chain(bias_scale=0.01 if case == 'another bias' else None, group=2 if case == 'groups' else 1)
    results = ('y', 'c') if case == 'another reader' else ('y',)
    if case == 'no bias':
        nodes[3].input.pop()
        del nodes[2], weights['b'], weights['bs'], weights['bz']
    net, x = model(tmp_path / 'm.onnx', nodes, (2, 8, 11, 9), 'u1', weights, results), integers('u1', 2, 8, 11, 9)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = onnxruntime.InferenceSession(tmp_path / 'm.onnx', options, providers=['CPUExecutionProvider']).run(None, {'x': x})
    program = tenon.graph.trace(net, tenon.tensor(x))
    assert ('linear_integer' in str(program)) == of_integers and ('conv(' in str(program)) != of_integers
    for run in net, program:
        found = run(tenon.tensor(x))
        for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            np.testing.assert_allclose(one.numpy().astype('f8'), other.astype('f8'), rtol=0, atol=1 if other.dtype == np.uint8 else 1e-4)
    assert len(np.unique(wanted[0])) > 100


@pytest.mark.parametrize(('case', 'of_integers'), [('plain', True), ('another scale', False), ('another zero', False), ('another reader', False)])
def test_poolings_between_quantizers(tmp_path, case, of_integers):
    nodes = [helper.make_node('DequantizeLinear', ['x', 'xs', 'xz'], ['xf']),
             helper.make_node('MaxPool', ['xf'], ['p'], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node('QuantizeLinear', ['p', 'ys', 'yz'], ['y'])]
    weights = {'xs': np.float32(0.0317), 'xz': np.int8(-7), 'ys': np.float32(0.03 if case == 'another scale' else 0.0317),
               'yz': np.int8(3 if case == 'another zero' else -7)}
    results = ('y', 'p') if case == 'another reader' else ('y',)
    net, x = model(tmp_path / 'm.onnx', nodes, (2, 3, 11, 8), 'i1', weights, results), integers('i1', 2, 3, 11, 8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = onnxruntime.InferenceSession(tmp_path / 'm.onnx', options, providers=['CPUExecutionProvider']).run(None, {'x': x})
    program = tenon.graph.trace(net, tenon.tensor(x))
    assert ('round(' in str(program)) != of_integers
    for run in net, program:
        found = run(tenon.tensor(x))
        np.testing.assert_array_equal((found[0] if isinstance(found, tuple) else found).numpy(), wanted[0])


@pytest.mark.parametrize('columns', [False, True])
@pytest.mark.parametrize('axis', [0, 1])
def test_products_between_quantizers(tmp_path, columns, axis):
    scale = rng.uniform(0.001, 0.01, 9 if columns else ()).astype('f4')
    weights = {'xs': np.float32(0.02), 'xz': np.uint8(99), 'w': integers('i1', 9, 9) if axis == 0 else integers('i1', 600, 9), 'ws': scale,
               'wz': np.zeros(scale.shape, 'i1'), 'ys': np.float32(0.05 if axis == 0 else 0.4), 'yz': np.uint8(120)}
    nodes = [helper.make_node('DequantizeLinear', ['x', 'xs', 'xz'], ['xf']), helper.make_node('DequantizeLinear', ['w', 'ws', 'wz'], ['wf'], axis=axis),
             helper.make_node('MatMul', ['xf', 'wf'], ['c']), helper.make_node('QuantizeLinear', ['c', 'ys', 'yz'], ['y'])]
    x = integers('u1', 2, 7, len(weights['w']))
    net = model(tmp_path / 'm.onnx', nodes, x.shape, 'u1', weights)
    rows = scale.astype('f8').reshape(-1, 1) if axis == 0 and columns else scale.astype('f8')
    wanted = quantized((x - 99.0) @ (weights['w'] * rows), np.float64(np.float32(0.02)) / np.float64(weights['ys']), 120, 'u1')
    program = tenon.graph.trace(net, tenon.tensor(x))
    assert ('linear_integer' in str(program)) == (axis == 1 or not columns)  # scales of its rows belong to no result
    for run in net, program:
        off = np.abs(run(tenon.tensor(x)).numpy() - wanted)
        assert off.max() <= 1 and (off > 0).mean() < 0.02
    assert len(np.unique(wanted)) > 50


def test_a_varying_scale_keeps_a_convolution_in_floats(tmp_path):
    """A scale that is not the same in each run keeps the convolution in reals."""
    nodes, weights = chain()
    nodes.insert(0, helper.make_node('ReduceMax', ['x32'], ['top'], keepdims=0))
    nodes.insert(0, helper.make_node('Cast', ['x'], ['x32'], to=TensorProto.FLOAT))
    nodes.insert(2, helper.make_node('Mul', ['top', 'xs'], ['scale']))
    nodes[3].input[1] = 'scale'
    net, x = model(tmp_path / 'm.onnx', nodes, (1, 8, 5, 5), 'u1', weights), integers('u1', 1, 8, 5, 5)
    wanted = onnxruntime.InferenceSession(tmp_path / 'm.onnx', providers=['CPUExecutionProvider']).run(None, {'x': x})[0]
    np.testing.assert_allclose(net(tenon.tensor(x)).numpy().astype('i4'), wanted.astype('i4'), atol=1)
