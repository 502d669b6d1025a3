"""Models of a few nodes, run by Tenon and by ONNX Runtime."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import tenon

MS = 'com.microsoft'
ML = 'ai.onnx.ml'
rng = np.random.default_rng(0)


def f(*shape):
    return rng.normal(size=shape).astype('f4')


def u8(*shape):
    return rng.integers(0, 256, shape).astype('u1')


def i8(*shape):
    return rng.integers(-128, 128, shape).astype('i1')


def check(folder, nodes, inputs, weights=(), results=('y',), tolerance=1e-4, opset=17, steps=0, traces=True):
    """Runs a model of nodes both ways: inputs and weights are arrays by name. Integers may differ by `steps`.

    `traces`: whether it becomes a program."""
    inputs, weights = dict(inputs), dict(weights)
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}
    graph = helper.make_graph(nodes, 'test', [helper.make_tensor_value_info(name, kinds[name], None) for name in inputs],
                              [onnx.ValueInfoProto(name=name) for name in results], [numpy_helper.from_array(w, name) for name, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset), helper.make_opsetid(MS, 1), helper.make_opsetid(ML, 5 if opset > 20 else 3)],
                              ir_version=8)
    path = folder / 'm.onnx'
    path.write_bytes(model.SerializeToString())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider']).run(None, inputs)
    ours = tenon.onnx.load(path)
    given = [tenon.tensor(x) for x in inputs.values()]
    for run in ours, tenon.graph.trace(ours, *given) if traces else ours:
        found = run(*given)
        for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
            assert tuple(one.shape) == other.shape
            assert one.numpy().dtype == other.dtype
            close = {'rtol': 0, 'atol': steps} if other.dtype.kind in 'iu' else {'rtol': tolerance, 'atol': tolerance}
            np.testing.assert_allclose(one.numpy().astype('f8'), other.astype('f8'), **close)
