"""Models as functions: weights, files beside them, bodies, functions, graphs, and what is refused."""
import os
import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tenon
import tenon.torch


def model_of(nodes, inputs, outputs, initializers=(), functions=(), opset=21, **more):
    """A model over tensors (name, type, shape)."""
    def values(list_of):
        return [helper.make_tensor_value_info(*one) for one in list_of]
    graph = helper.make_graph(nodes, 'test', values(inputs), values(outputs), initializer=list(initializers))
    opsets = [helper.make_opsetid('', opset), *[helper.make_opsetid(f.domain, 1) for f in functions]]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), **more)


def linear(folder, **more):
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(4, 3)).astype('f4'), rng.normal(size=3).astype('f4')
    model = model_of([helper.make_node('MatMul', ['x', 'w'], ['xw']), helper.make_node('Add', ['xw', 'b'], ['y'], name='bias')],
                     [('x', TensorProto.FLOAT, ['batch', 4])], [('y', TensorProto.FLOAT, ['batch', 3])],
                     [numpy_helper.from_array(w, 'w'), numpy_helper.from_array(b, 'b')])
    path = folder / 'linear.onnx'
    onnx.save(model, path, **more)
    return path, w, b


def test_it_runs_and_describes_its_inputs(tmp_path):
    path, w, b = linear(tmp_path)
    model = tenon.onnx.load(path)
    assert model.inputs == [('x', tenon.float32, ('batch', 4))]
    assert model.results == [('y', tenon.float32, ('batch', 3))]
    assert (model.ops, model.opset) == ({'Add': 1, 'MatMul': 1}, 21)
    for rows in 1, 5:
        x = np.ones((rows, 4), 'f4')
        np.testing.assert_allclose(model(tenon.tensor(x)).numpy(), x @ w + b, rtol=1e-5)


def test_a_traced_program_needs_no_onnx(tmp_path):
    path, w, b = linear(tmp_path)
    x = tenon.randn(2, 4)
    program = tenon.graph.trace(tenon.onnx.load(path), x)
    assert 'weight %1 w: f32[12]' in str(program)
    program.save(tmp_path / 'linear.safetensors')
    y = tenon.graph.load(tmp_path / 'linear.safetensors')(x)
    np.testing.assert_allclose(y.numpy(), x.numpy() @ w + b, rtol=1e-5)


@pytest.mark.parametrize('size', [7, 8, 9, 10])
@pytest.mark.parametrize('kernel, stride, pads', [(3, 2, (1, 1)), (3, 3, (1, 1)), (2, 2, (1, 0)), (3, 1, (1, 0)), (3, 2, (0, 1))])
def test_poolings_pad_themselves_where_they_can(tmp_path, size, kernel, stride, pads):
    node = helper.make_node('MaxPool', ['x'], ['y'], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pads[0]] * 2 + [pads[1]] * 2)
    onnx.save(model_of([node], [('x', TensorProto.FLOAT, [1, 2, size, size])], [('y', TensorProto.FLOAT, None)]), tmp_path / 'pool.onnx')
    x = tenon.randn(1, 2, size, size)
    program = tenon.graph.trace(tenon.onnx.load(tmp_path / 'pool.onnx'), x)
    padded = np.pad(x.numpy(), [(0, 0), (0, 0), pads, pads], constant_values=-np.inf)
    wanted = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride].max((4, 5))
    np.testing.assert_array_equal(program(x).numpy(), wanted)
    if pads == (1, 1):
        assert 'pad(' not in str(program)
    elif stride == 1:
        assert 'pad(' in str(program)


def test_gradients_go_through_it(tmp_path):
    path, w, _ = linear(tmp_path)
    x = tenon.ones(1, 4, requires_grad=True)
    tenon.onnx.load(path)(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), w.sum(1)[None], rtol=1e-5)


def test_shapes_computed_by_the_model_fold(tmp_path):
    nodes = [helper.make_node('Shape', ['x'], ['s']), helper.make_node('Gather', ['s', 'zero'], ['n']),
             helper.make_node('Concat', ['n', 'minus'], ['to']), helper.make_node('Reshape', ['x', 'to'], ['y'])]
    model = model_of(nodes, [('x', TensorProto.FLOAT, ['n', 2, 3])], [('y', TensorProto.FLOAT, ['n', 6])],
                     [numpy_helper.from_array(np.array([0]), 'zero'), numpy_helper.from_array(np.array([-1]), 'minus')])
    onnx.save(model, tmp_path / 'm.onnx')
    program = tenon.graph.trace(tenon.onnx.load(tmp_path / 'm.onnx'), tenon.zeros(5, 2, 3))
    assert program.results[0][2] == (5, 6)
    assert not any(word in str(program) for word in ('gather', 'concat', 'index'))


@pytest.mark.parametrize(('image', 'grid'), [('f2', 'f4'), ('f4', 'f2')])
def test_an_image_and_its_grid_may_have_two_dtypes(tmp_path, image, grid):
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(1, 2, 5, 6)).astype(image), rng.uniform(-1, 1, (1, 3, 4, 2)).astype(grid)
    kinds = [(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape) for name, one in (('x', x), ('at', at))]
    model = model_of([helper.make_node('GridSample', ['x', 'at'], ['y'])], kinds, [('y', kinds[0][1], None)])
    onnx.save(model, tmp_path / 'sampled.onnx')
    found = tenon.onnx.load(tmp_path / 'sampled.onnx')(tenon.tensor(x), tenon.tensor(at))
    wanted = tenon.torch.nn.functional.grid_sample(tenon.tensor(x.astype('f4')), tenon.tensor(at.astype('f4')), align_corners=False)
    assert found.dtype == tenon.tensor(x).dtype
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=2e-3, atol=2e-3)


def test_weights_in_a_file_beside_it(tmp_path):
    path, w, b = linear(tmp_path, save_as_external_data=True, location='weights.bin', size_threshold=0)
    assert (tmp_path / 'weights.bin').exists()
    x = np.ones((1, 4), 'f4')
    np.testing.assert_allclose(tenon.onnx.load(path)(tenon.tensor(x)).numpy(), x @ w + b, rtol=1e-5)
    (tmp_path / 'weights.bin').write_bytes(b'123')
    with pytest.raises(tenon.Error, match="tensor 'w': its data"):
        tenon.onnx.load(path)


def file_pages():
    """Bytes of mapped files in memory."""
    return int(pathlib.Path('/proc/self/statm').read_text().split()[2]) * os.sysconf('SC_PAGESIZE')


@pytest.mark.parametrize('offset', [0, 1])
def test_weights_are_held_once(tmp_path, offset):
    """Those whose place in the file is no multiple of their size are copied; their pages of the file leave memory."""
    count = 1 << 22
    w = np.arange(count, dtype='f4')
    (tmp_path / 'w.bin').write_bytes(bytes(offset) + w.tobytes())
    tensor = TensorProto(name='w', data_type=TensorProto.FLOAT, dims=[count], data_location=TensorProto.EXTERNAL)
    for key, value in ('location', 'w.bin'), ('offset', str(offset)):
        tensor.external_data.add(key=key, value=value)
    onnx.save(model_of([helper.make_node('Add', ['x', 'w'], ['y'])], [('x', TensorProto.FLOAT, [1])],
                       [('y', TensorProto.FLOAT, [count])], [tensor]), tmp_path / 'm.onnx')
    before = file_pages()
    model = tenon.onnx.load(tmp_path / 'm.onnx')
    assert file_pages() - before < w.nbytes / 2
    np.testing.assert_array_equal(model(tenon.ones(1)).numpy(), w + 1)


@pytest.mark.parametrize('location', ['../out.bin', '/etc/passwd', 'link/out.bin', ''])
def test_weights_outside_its_folder_are_refused(tmp_path, location):
    (tmp_path / 'out.bin').write_bytes(bytes(16))
    (tmp_path / 'models').mkdir()
    (tmp_path / 'models/link').symlink_to(tmp_path)
    tensor = TensorProto(name='w', data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key='location', value=location)
    model = model_of([helper.make_node('Identity', ['w'], ['y'])], [], [('y', TensorProto.FLOAT, [4])], [tensor])
    (tmp_path / 'models/m.onnx').write_bytes(model.SerializeToString())
    with pytest.raises(tenon.Error, match='folder'):
        tenon.onnx.load(tmp_path / 'models/m.onnx')


def test_functions_of_the_model(tmp_path):
    body = [helper.make_node('Elu', ['a'], ['e']), helper.make_node('Mul', ['e', 'a'], ['c'])]
    body[0].attribute.add(name='alpha', type=onnx.AttributeProto.FLOAT, ref_attr_name='alpha')
    function = helper.make_function('own', 'Twice', ['a'], ['c'], body, [helper.make_opsetid('', 21)], attributes=['alpha'])
    model = model_of([helper.make_node('Twice', ['x'], ['y'], domain='own', alpha=2.0)], [('x', TensorProto.FLOAT, [2])],
                     [('y', TensorProto.FLOAT, [2])], functions=[function])
    onnx.save(model, tmp_path / 'm.onnx')
    y = tenon.onnx.load(tmp_path / 'm.onnx')(tenon.tensor([-1.0, 2.0])).numpy()
    np.testing.assert_allclose(y, [2 * (np.exp(-1) - 1) * -1, 4], rtol=1e-6)


@pytest.mark.parametrize(('count', 'calls', 'wrong'), [(1, 0, 'calls itself'), (200, 1, 'functions within functions')])
def test_endless_chains_of_functions(tmp_path, count, calls, wrong):
    functions = [helper.make_function('own', f'F{n}', ['a'], ['c'], [helper.make_node(f'F{n + calls}', ['a'], ['c'], domain='own')],
                                      [helper.make_opsetid('own', 1)]) for n in range(count)]
    model = model_of([helper.make_node('F0', ['x'], ['y'], domain='own')], [('x', TensorProto.FLOAT, [2])], [('y', TensorProto.FLOAT, [2])],
                     functions=functions)
    model.opset_import.add(domain='own', version=1)
    (tmp_path / 'm.onnx').write_bytes(model.SerializeToString())
    with pytest.raises(tenon.Error, match=wrong):
        tenon.onnx.load(tmp_path / 'm.onnx')


def test_everything_missing_is_reported_at_once(tmp_path):
    nodes = [helper.make_node('Nonsense', ['x'], ['a'], name='first'), helper.make_node('Nonsense', ['a'], ['b']),
             helper.make_node('FusedGelu', ['b'], ['y'], domain='com.microsoft')]
    onnx.save(model_of(nodes, [('x', TensorProto.FLOAT, [2])], [('y', TensorProto.FLOAT, [2])]), tmp_path / 'm.onnx')
    with pytest.raises(tenon.Error) as raised:
        tenon.onnx.load(tmp_path / 'm.onnx')
    assert "Nonsense (opset 21), 2 times, first 'first'" in str(raised.value)
    assert 'com.microsoft::FusedGelu' in str(raised.value)


def test_errors_name_the_place(tmp_path):
    path, _, _ = linear(tmp_path)
    model = tenon.onnx.load(path)
    with pytest.raises(tenon.Error, match=r"input 'x' has shape \[batch, 4\] in the model, not \[2, 5\]"):
        model(tenon.zeros(2, 5))
    with pytest.raises(tenon.Error, match='takes FLOAT, not INT64'):
        model(tenon.zeros(2, 4, dtype='i64'))
    with pytest.raises(tenon.Error, match='takes 1 inputs, not 2'):
        model(tenon.zeros(2, 4), tenon.zeros(1))
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with pytest.raises(tenon.Error, match=r'linear.onnx: byte \d+: '):
        tenon.onnx.load(path)


def test_a_norm_joins_the_convolution_before_it(tmp_path):
    rng = np.random.default_rng(0)
    weights = {'w': rng.normal(size=(4, 3, 3, 3)), 'b': rng.normal(size=4), 'scale': rng.normal(size=4), 'bias': rng.normal(size=4), 'mean': rng.normal(size=4),
               'var': rng.uniform(0.5, 2, 4)}
    nodes = [helper.make_node('Conv', ['x', 'w', 'b'], ['c']), helper.make_node('BatchNormalization', ['c', 'scale', 'bias', 'mean', 'var'], ['n'], epsilon=1e-3),
             helper.make_node('Conv', ['x', 'w'], ['kept']), helper.make_node('BatchNormalization', ['kept', 'scale', 'bias', 'mean', 'var'], ['m']),
             helper.make_node('Relu', ['kept'], ['r'])]
    model = model_of(nodes, [('x', TensorProto.FLOAT, [2, 3, 6, 6])], [(name, TensorProto.FLOAT, [2, 4, 4, 4]) for name in 'nmr'],
                     [numpy_helper.from_array(w.astype('f4'), name) for name, w in weights.items()])
    onnx.save(model, tmp_path / 'm.onnx')
    loaded, x = tenon.onnx.load(tmp_path / 'm.onnx'), tenon.randn(2, 3, 6, 6)
    program = tenon.graph.trace(loaded, x)
    assert str(program).count('batch_norm(') == 1  # of the convolution that is read twice
    w = {name: tenon.tensor(value.astype('f4')) for name, value in weights.items()}

    def norm(y, eps):
        return tenon.batch_norm(y, w['scale'], w['bias'], w['mean'], w['var'], False, eps)[0].numpy()
    wanted = [norm(tenon.conv(x, w['w'], w['b']), 1e-3), norm(tenon.conv(x, w['w']), 1e-5), tenon.relu(tenon.conv(x, w['w'])).numpy()]
    for run in loaded, program, loaded:
        for one, other in zip(run(x), wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('sizes', [[], [0], [2, 3]])
def test_a_constant_of_any_shape(tmp_path, sizes):
    """An empty list of sizes makes a scalar, as in exported models that pad or offset by one number."""
    two = numpy_helper.from_array(np.array([2], 'i8'))
    nodes = [helper.make_node('ConstantOfShape', ['sizes'], ['zeros']), helper.make_node('ConstantOfShape', ['sizes'], ['y'], value=two)]
    model = model_of(nodes, [], [('zeros', TensorProto.FLOAT, sizes), ('y', TensorProto.INT64, sizes)], [numpy_helper.from_array(np.array(sizes, 'i8'), 'sizes')])
    onnx.save(model, tmp_path / 'm.onnx')
    zeros, twos = tenon.onnx.load(tmp_path / 'm.onnx')()
    assert tuple(zeros.shape) == tuple(twos.shape) == tuple(sizes)
    assert twos.dtype == tenon.int64
    assert (zeros == 0).all()
    assert (twos == 2).all()


def test_what_depends_on_weights_alone_is_computed_once(tmp_path):
    nodes = [helper.make_node('DequantizeLinear', ['q', 'scale'], ['w']), helper.make_node('Transpose', ['w'], ['t']),
             helper.make_node('ConstantOfShape', ['shape'], ['zeros']), helper.make_node('Add', ['t', 'zeros'], ['wide']),
             helper.make_node('MatMul', ['x', 'wide'], ['y']), helper.make_node('RandomUniform', [], ['drawn'], shape=[3])]
    arrays = {'q': np.arange(8, dtype='i1').reshape(2, 4), 'scale': np.float32(0.5), 'shape': np.array([4, 2])}
    model = model_of(nodes, [('x', TensorProto.FLOAT, ['n', 4])], [('y', TensorProto.FLOAT, ['n', 2]), ('drawn', TensorProto.FLOAT, [3])],
                     [numpy_helper.from_array(np.asarray(value), name) for name, value in arrays.items()])
    onnx.save(model, tmp_path / 'm.onnx')
    loaded, x = tenon.onnx.load(tmp_path / 'm.onnx'), tenon.ones(3, 4)
    tenon.graph.trace(lambda x: loaded(x)[0], x)  # what a trace fills is no constant of later runs
    drawn = loaded(x)[1]
    with tenon.profiler() as profile:
        y, again = loaded(x)
    np.testing.assert_allclose(y.numpy(), np.tile(arrays['q'].sum(1) * 0.5, (3, 1)))
    assert [event.op for event in profile.events if event.op != 'uniform'] == ['matmul']
    assert (drawn.numpy() != again.numpy()).any()


@pytest.mark.parametrize(('nodes', 'wrong'), [
    ([('Add', ['x', 'b'], 'a'), ('Relu', ['a'], 'b'), ('Relu', ['b'], 'y')], r"node 'a' \(Add\): nothing before it makes its input 'b'"),
    ([('Relu', ['nowhere'], 'y')], r"node 'y' \(Relu\): nothing before it makes its input 'nowhere'"),
    ([('Relu', ['x'], 'y'), ('Neg', ['x'], 'y')], r"node 'y' \(Neg\): its result 'y' is there already"),
    ([('Relu', ['x'], 'z')], "nothing makes the result 'y'")])
def test_graphs_that_cannot_run_are_refused_at_load(tmp_path, nodes, wrong):
    made = [helper.make_node(op, inputs, [output], name=output) for op, inputs, output in nodes]
    model = model_of(made, [('x', TensorProto.FLOAT, [2])], [('y', TensorProto.FLOAT, [2])])
    (tmp_path / 'm.onnx').write_bytes(model.SerializeToString())
    with pytest.raises(tenon.Error, match=wrong):
        tenon.onnx.load(tmp_path / 'm.onnx')


def test_what_a_later_opset_means_is_not_guessed(tmp_path):
    model = model_of([helper.make_node('Relu', ['x'], ['y'])], [('x', TensorProto.FLOAT, [2])], [('y', TensorProto.FLOAT, [2])], opset=99)
    (tmp_path / 'm.onnx').write_bytes(model.SerializeToString())
    with pytest.raises(tenon.Error, match=r'opset 99 \(the newest known is 28\)'):
        tenon.onnx.load(tmp_path / 'm.onnx')


def test_attributes_of_another_type_are_refused(tmp_path):
    model = model_of([helper.make_node('Transpose', ['x'], ['y'], name='t', perm='hello')], [('x', TensorProto.FLOAT, [2])], [('y', TensorProto.FLOAT, [2])])
    (tmp_path / 'm.onnx').write_bytes(model.SerializeToString())
    with pytest.raises(tenon.Error, match="Transpose 't': attribute perm has the type 3, not 7"):
        tenon.onnx.load(tmp_path / 'm.onnx')(tenon.zeros(2))


def test_magika_agrees_with_onnxruntime():
    """A published model, from the package magika."""
    import importlib.util
    import pathlib

    import onnxruntime
    folder = pathlib.Path(importlib.util.find_spec('magika').submodule_search_locations[0])
    path = next(folder.glob('models/*/model.onnx'))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    model = tenon.onnx.load(path)
    x = np.random.default_rng(0).integers(0, 256, (2, 2048)).astype('i4')
    wanted = session.run(None, {session.get_inputs()[0].name: x})[0]
    np.testing.assert_allclose(model(tenon.tensor(x)).numpy(), wanted, atol=1e-5)
    np.testing.assert_allclose(tenon.graph.trace(model, tenon.tensor(x))(tenon.tensor(x)).numpy(), wanted, atol=1e-5)
