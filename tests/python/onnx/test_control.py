"""If, Loop and Scan: run by values, as nodes of programs, in files, at sizes that vary; and back to ONNX. ONNX Runtime is the judge."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tenon
from tenon import nn
from tenon.graph import cond, loop, scan

from .test_model import model_of

F, I64, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def body(nodes, inputs, outputs, **constants):
    """A graph inside a graph, with ports (name, type, shape)."""
    return helper.make_graph(nodes, 'body', [helper.make_tensor_value_info(*one) for one in inputs], [helper.make_tensor_value_info(*one) for one in outputs],
                             [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()])


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])


def close(found, wanted):
    found = found if isinstance(found, (tuple, list)) else [found]
    for one, other in zip(found, wanted, strict=True):
        assert tuple(one.shape) == other.shape
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-5)


def check(tmp_path, model, cases, dynamic=None, name=None):
    """The model, a program of it and that from a file against ONNX Runtime, for lists of inputs; gives the program."""
    path = tmp_path / 'model.onnx'
    onnx.save(model, path)
    onnx.checker.check_model(model, full_check=True)
    loaded, peer = tenon.onnx.load(path), session(path)
    cases = [[tenon.tensor(np.asarray(x)) for x in case] for case in cases]
    program = tenon.graph.trace(loaded, *cases[0], dynamic=dynamic or {})
    program.save(tmp_path / 'program')
    again = tenon.graph.load(tmp_path / 'program')
    for case in cases:
        wanted = peer.run(None, {one.name: x.numpy() for one, x in zip(peer.get_inputs(), case)})
        for run in loaded, program, again:
            close(run(*case), wanted)
    assert name is None or f'{name}(' in str(program), str(program)
    return program


def f4(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype('f4')


def test_a_branch_chosen_by_a_value(tmp_path):
    """Branches read their own weights, and weights and values of the outer graph; one returns a constant."""
    then = body([node('MatMul', 'h w', 'xw'), node('Add', 'xw own', 'a'), node('Identity', 'h', 'same')], [], [('a', F, [2, 3]), ('same', F, [2, 3])], own=f4(3))
    other = body([node('Identity', 'fixed', 'b'), node('Neg', 'h', 'minus')], [], [('b', F, [2, 3]), ('minus', F, [2, 3])], fixed=f4(2, 3, seed=1))
    model = model_of([node('Relu', 'x', 'h'), node('ReduceSum', 'x', 's', keepdims=0), node('Greater', 's zero', 'c'), node('If', 'c', 'y z', then_branch=then, else_branch=other)],
                     [('x', F, [2, 3])], [('y', F, [2, 3]), ('z', F, [2, 3])], [numpy_helper.from_array(f4(3, 3), 'w'), numpy_helper.from_array(np.float32(0), 'zero')])
    x = np.abs(f4(2, 3))
    program = check(tmp_path, model, [[x], [-x], [x * 0]], name='cond')
    assert str(program).count('cond(') == 1


def test_branches_of_other_shapes_are_refused(tmp_path):
    model = model_of([node('If', 'c', 'y', name='choice', then_branch=body([node('Relu', 'x', 'a')], [], [('a', F, None)]),
                           else_branch=body([node('ReduceSum', 'x', 'b')], [], [('b', F, None)]))], [('c', B, []), ('x', F, [2, 3])], [('y', F, None)])
    onnx.save(model, tmp_path / 'm.onnx')
    loaded = tenon.onnx.load(tmp_path / 'm.onnx')
    assert loaded(tenon.tensor(False), tenon.ones(2, 3)).shape == (1, 1)
    with pytest.raises(tenon.PreconditionError, match=r"If 'choice': \[graph.cond\] one branch gives f32\[1, 1\] where the other has f32\[2, 3\]"):
        tenon.graph.trace(loaded, tenon.tensor(True), tenon.ones(2, 3))


def test_a_branch_that_does_not_fit_fails_only_when_taken(tmp_path):
    """Models choose by a rate that goes with a length: at one length only one branch makes sense."""
    branches = [body([node('MatMul', f'x {w}', f'y{w}')], [], [(f'y{w}', F, None)]) for w in 'wv']
    model = model_of([node('If', 'c', 'y', name='rate', then_branch=branches[0], else_branch=branches[1])], [('c', B, []), ('x', F, [2, 'n'])], [('y', F, [2, 2])],
                     [numpy_helper.from_array(f4(3, 2), 'w'), numpy_helper.from_array(f4(4, 2), 'v')])
    check(tmp_path, model, [[np.bool_(True), f4(2, 3)], [np.bool_(True), f4(2, 3, seed=1)]], name='cond')
    check(tmp_path, model, [[np.bool_(False), f4(2, 4)]], name='cond')
    loaded = tenon.onnx.load(tmp_path / 'model.onnx')
    program = tenon.graph.trace(loaded, tenon.tensor(True), tenon.ones(2, 3))
    assert "else is refused: [onnx] MatMul 'yv'" in str(program)
    with pytest.raises(tenon.PreconditionError, match=r"the branch that the predicate selects cannot be computed: \[onnx\] MatMul 'yv': "):
        program(tenon.tensor(False), tenon.ones(2, 3))
    with pytest.raises(tenon.Error, match='a branch that cannot be computed'):
        tenon.onnx.export(program, (), tmp_path / 'again.onnx')
    with pytest.raises(tenon.PreconditionError, match="MatMul 'y"):
        tenon.graph.trace(loaded, tenon.tensor(True), tenon.ones(2, 5))


TURN = [('trip', I64, []), ('going', B, []), ('s', F, [3])]


def loop_model(nodes, inputs, outputs, operands='count going0 s0', results='last', ports=(('s0', F, [3]),), constants=()):
    made = {'count': np.int64(5), 'going0': np.bool_(True), 'one': np.float32(1), 'limit': np.float32(20), 'steps': f4(9, 3), **dict(constants)}
    used = set(operands.split()) | {name for each in nodes for name in each.input}
    given = {name for name, *_ in ports}
    return model_of([node('Loop', operands, results, name='turns', body=body(nodes, inputs, outputs))], list(ports),
                    [(name, F, ['n'] if name == 'last' else ['turns', 3]) for name in results.split()],
                    [numpy_helper.from_array(np.asarray(value), name) for name, value in made.items() if name in used - given])


COUNTED = [node('Gather', 'steps trip', 'step'), node('Add', 's step', 'next'), node('Mul', 'next one', 'seen'), node('Identity', 'going', 'on')]
COUNTED_OUT = [('on', B, []), ('next', F, [3]), ('seen', F, [3])]


def test_a_counted_loop_is_one_node(tmp_path):
    program = check(tmp_path, loop_model(COUNTED, TURN, COUNTED_OUT, results='last all'), [[f4(3)], [f4(3, seed=1)]], name='scan')
    assert 'Program(1 inputs, 2 results, 1 nodes' in repr(program)


def test_a_loop_that_ends_on_a_value(tmp_path):
    nodes = [node('Add', 's s', 'next'), node('ReduceMax', 'next', 'top', keepdims=0), node('Less', 'top limit', 'on')]
    for count in 'count', '':
        model = loop_model(nodes, TURN, COUNTED_OUT[:2])
        model.graph.node[0].input[0] = count
        check(tmp_path, model, [[np.full(3, start, 'f4')] for start in (0.01, 1, 7, 100)], name='loop')


def test_a_loop_with_a_trip_count_from_an_input(tmp_path):
    model = loop_model([*COUNTED[:2], node('Less', 'trip two', 'on')], TURN, COUNTED_OUT[:2], 'n begins s0', ports=[('n', I64, []), ('begins', B, []), ('s0', F, [3])],
                       constants={'two': np.int64(6)})
    check(tmp_path, model, [[np.int64(n), np.bool_(begins), f4(3)] for n, begins in ((3, True), (0, True), (9, True), (4, False))], name='loop')


def test_loops_that_grow_or_cut_are_unrolled(tmp_path):
    """The carried value has another size in each iteration; the slice begins where the iteration says."""
    grow = [node('Concat', 's s0', 'next', axis=0), node('Identity', 'going', 'on')]
    program = check(tmp_path, loop_model(grow, [*TURN[:2], ('s', F, None)], [('on', B, []), ('next', F, None)]), [[f4(3)], [f4(3, seed=2)]])
    assert 'scan(' not in str(program) and program.results[0][2] == (18,)
    cut = [node('Unsqueeze', 'trip zero', 'begin'), node('Add', 'begin zero', 'b'), node('Add', 'b three', 'end'), node('Slice', 'long b end', 'step'),
           node('Add', 's step', 'next'), node('Identity', 'going', 'on')]
    model = loop_model(cut, TURN, [('on', B, []), ('next', F, [3])], ports=[('long', F, [12]), ('s0', F, [3])], constants={'zero': np.array([0]), 'three': np.array([3])})
    check(tmp_path, model, [[f4(12), f4(3)]])


def test_a_loop_that_a_program_cannot_hold_is_refused(tmp_path):
    nodes = [node('Add', 's s', 'next'), node('ReduceMax', 'next', 'top', keepdims=0), node('Less', 'top limit', 'on'), node('Mul', 'next one', 'seen')]
    onnx.save(loop_model(nodes, TURN, [('on', B, []), *COUNTED_OUT[1:]], results='last all'), tmp_path / 'm.onnx')
    loaded = tenon.onnx.load(tmp_path / 'm.onnx')
    close(loaded(tenon.ones(3)), session(tmp_path / 'm.onnx').run(None, {'s0': np.ones(3, 'f4')}))
    with pytest.raises(tenon.Error, match=r"Loop 'turns': to stack what a loop gives in as many turns as values tell is not supported"):
        tenon.graph.trace(loaded, tenon.ones(3))


def test_loops_in_branches_in_loops(tmp_path):
    inner = body([node('Mul', 't half', 'u'), node('Identity', 'inner_on', 'on2')], [('k', I64, []), ('inner_on', B, []), ('t', F, [3])], [('on2', B, []), ('u', F, [3])],
                 half=np.float32(0.5))
    again = helper.make_node('Loop', ['twice', '', 's'], ['v'], body=inner)
    then, other = body([again], [], [('v', F, [3])], twice=np.int64(2)), body([node('Add', 's s0', 'w')], [], [('w', F, [3])])
    nodes = [node('ReduceSum', 's', 'sum', keepdims=0), node('Greater', 'sum limit', 'big'), node('If', 'big', 'next', then_branch=then, else_branch=other),
             node('Identity', 'going', 'on')]
    program = check(tmp_path, loop_model(nodes, TURN, COUNTED_OUT[:2]), [[np.full(3, start, 'f4')] for start in (1, 9, -3)])
    assert str(program).count('cond(') == 1 and str(program).count('scan(') == 2


def test_iterations_follow_a_size(tmp_path):
    """A `for` over the first dimension, as exporters write it."""
    nodes = [node('Gather', 'x trip', 'row'), node('Add', 's row', 'next'), node('Tanh', 'next', 'seen'), node('Identity', 'going', 'on')]
    model = model_of([node('Shape', 'x', 'shape'), node('Gather', 'shape zero', 'n'),
                      node('Loop', 'n yes s0', 'last all', body=body(nodes, TURN, COUNTED_OUT))],
                     [('x', F, ['n', 3]), ('s0', F, [3])], [('last', F, [3]), ('all', F, ['n', 3])],
                     [numpy_helper.from_array(np.int64(0), 'zero'), numpy_helper.from_array(np.bool_(True), 'yes')])
    check(tmp_path, model, [[f4(n, 3), f4(3, seed=n)] for n in (4, 1, 2, 3, 7, 19, 64)], dynamic={0: {0: 'n'}}, name='scan')


def test_scan_forwards_backwards_along_any_axis(tmp_path):
    step = body([node('Add', 'h a', 'ha'), node('Mul', 'ha b', 'next'), node('Sub', 'next w', 'y'), node('Identity', 'b', 'z')],
                [('h', F, [2]), ('a', F, [2]), ('b', F, [2])], [('next', F, [2]), ('y', F, [2]), ('z', F, [2])])
    model = model_of([node('Scan', 'h0 a b', 'h y z', body=step, num_scan_inputs=2, scan_input_axes=[0, 1], scan_input_directions=[0, 1],
                           scan_output_axes=[1, 0], scan_output_directions=[1, 0])],
                     [('h0', F, [2]), ('a', F, ['n', 2]), ('b', F, [2, 'n'])], [('h', F, [2]), ('y', F, [2, 'n']), ('z', F, ['n', 2])],
                     [numpy_helper.from_array(f4(2), 'w')])
    check(tmp_path, model, [[f4(2), f4(n, 2), f4(2, n)] for n in (5, 1, 2, 11)], dynamic={1: {0: 'n'}, 2: {1: 'n'}}, name='scan')


# ---- Export ----------------------------------------------------------------------------------------------------------

net = nn.Linear(3, 3)
scale = tenon.tensor(3.0)


def branch(a):
    y = a * 2
    return cond(a.sum() > 0, lambda a: (net(a) + y, y), lambda a: ((a - y) * scale, net(y)), a)


def newton(a):
    def step(x, error):
        better = (x + a / x) / 2
        return better, (better - x).abs()
    return loop(lambda x, error: error.max() > 1e-5, step, a, a)[0]


def running(a):
    def step(carry, row):
        total = tenon.tanh(net(carry['h']) + row['x'])
        return {'h': total}, (total * row['scale'], total.sum())
    return scan(step, {'h': a[0] * 0}, {'x': a, 'scale': a.sum(1)})


def nested(a):
    return loop(lambda x: x.sum() < 10, lambda x: cond(x[0, 0] > 1, lambda: x * 2, lambda: scan(lambda c, row: (c + row, c), a[0], x)[1].abs() + 0.75), a)


@pytest.mark.parametrize('fn', [branch, newton, running, nested])
def test_programs_with_control_flow_as_models(tmp_path, fn):
    tenon.manual_seed(0)
    x = tenon.rand(4, 3) + 0.1
    program = tenon.graph.trace(fn, x)
    tenon.onnx.export(program, (x,), tmp_path / 'm.onnx')
    model = onnx.load(tmp_path / 'm.onnx')
    onnx.checker.check_model(model, full_check=True)
    assert [one.name for one in model.graph.initializer].count('weight') <= 1  # both branches see one
    peer, again = session(tmp_path / 'm.onnx'), tenon.onnx.load(tmp_path / 'm.onnx')
    back = tenon.graph.trace(again, x)
    for start in x, x + 3, x * 0.01, (x * -1 if fn is branch else x * 9):
        wanted = peer.run(None, {peer.get_inputs()[0].name: start.numpy()})
        with tenon.no_grad():
            for run in fn, program, again, back:
                found = run(start)
                close(leaves(found), wanted)


def leaves(value):
    if isinstance(value, dict):
        value = tuple(value.values())
    return [one for part in value for one in leaves(part)] if isinstance(value, (tuple, list)) else [value]
