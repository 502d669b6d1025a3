"""Control flow that depends on elements: plain in eager mode, with gradients; nodes with graphs of their own in a trace."""
import json

import pytest

import tenon
from tenon import io, nn
from tenon.graph import cond, loop, scan

from .test_graph import same


def roundtrip(program, tmp_path):
    program.save(tmp_path / 'program')
    loaded = tenon.graph.load(tmp_path / 'program')
    assert str(loaded) == str(program)
    return loaded


def test_cond(tmp_path):
    net, scale = nn.Linear(3, 3), tenon.tensor(3.0)

    def fn(x):
        y = x * 2
        return cond(x.sum() > 0, lambda x: net(x) + y, lambda x: (x - y) * scale, x)

    program = tenon.graph.trace(fn, tenon.ones(2, 3))
    loaded = roundtrip(program, tmp_path)
    assert 'cond(' in str(program) and 'then' in str(program) and 'cond' in program.explain()
    with tenon.no_grad():
        for sign in 1, -1, 0:
            x = tenon.rand(2, 3) * sign
            assert same(program(x), fn(x)) and same(loaded(x), fn(x))
        scale.mul_(2)  # weights of a branch are the tensors themselves
        assert same(program(-x - 1), fn(-x - 1)) and not same(loaded(-x - 1), fn(-x - 1))


def test_loop(tmp_path):
    def collatz(n):  # steps to 1
        return loop(lambda n, count: n != 1, lambda n, count: (tenon.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1), n, n * 0)[1]

    program = tenon.graph.trace(collatz, tenon.tensor(1))
    loaded = roundtrip(program, tmp_path)
    for n, steps in (1, 0), (6, 8), (27, 111):
        assert collatz(tenon.tensor(n)).item() == program(tenon.tensor(n)).item() == loaded(tenon.tensor(n)).item() == steps


def test_scan(tmp_path):
    weight = tenon.randn(4, 4)

    def fn(x, start):
        def step(carry, inputs):
            h = tenon.tanh(inputs['x'] + carry['h'] @ weight)
            return {'h': h}, (h * inputs['scale'], h.sum())
        return scan(step, {'h': start}, {'x': x, 'scale': x.sum((1, 2))})

    x, start = tenon.randn(7, 2, 4), tenon.zeros(2, 4)
    program = tenon.graph.trace(fn, x, start)
    wanted = fn(x, start)
    (carry, (ys, sums)), (found, (found_ys, found_sums)) = wanted, program(x, start)
    assert same([carry['h'], ys, sums], [found['h'], found_ys, found_sums])
    assert same(list(roundtrip(program, tmp_path)(x, start)), [carry['h'], ys, sums])
    assert 'each(' in str(program) and len(str(program).splitlines()) < 25


def test_sizes_vary_inside_too(tmp_path):
    def fn(x):
        total, seen = scan(lambda total, row: (total + row, total.max()), tenon.zeros(x.shape[1]), x)
        return cond(total.sum() > 0, lambda: (seen[:, None] + x) / x.shape[0], lambda: x - tenon.ones(x.shape[1]))

    program = tenon.graph.trace(fn, tenon.ones(4, 5), dynamic={0: {0: 'rows', 1: 'columns'}})
    loaded = roundtrip(program, tmp_path)
    for rows, columns in (1, 1), (2, 9), (33, 7), (90, 40):
        for sign in 1, -1:
            x = tenon.rand(rows, columns) * sign
            assert same(program(x), fn(x)) and same(loaded(x), fn(x)), (rows, columns)


def test_nesting_and_other_traces():
    def inner(x):
        return loop(lambda x: x.sum() < 10, lambda x: cond(x[0] > 1, lambda: x * 2, lambda: x + 0.75), x)

    program = tenon.graph.trace(inner, tenon.ones(2))
    outer = tenon.graph.trace(lambda x: program(x) + 1, tenon.ones(2))
    for start in 0.1, 1.5, 30.0:
        x = tenon.full((2,), start)
        assert same(program(x), inner(x)) and same(outer(x), inner(x) + 1)


def test_gradients_in_eager_mode():
    x = tenon.tensor([0.5, 2.0, 3.0], requires_grad=True)
    carry, ys = scan(lambda c, x: (c * x, c + x), tenon.tensor(1.0), x)
    cond(carry > 1, lambda: carry * 2 + ys.sum(), lambda: carry).backward()
    # 2 d(abc) + d(1 + a + a + b + ab + c)
    assert same(x.grad, tenon.tensor([2 * 6 + 2 + 2, 2 * 1.5 + 1 + 0.5, 2 * 1.0 + 1]))


def test_a_training_step_says_what_it_does_not_record():
    net = nn.Linear(2, 1)
    sgd = tenon.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        sgd.zero_grad()
        loss = cond(x.sum() > 0, lambda: net(x).sum(), lambda: -net(x).sum())
        loss.backward()
        sgd.step()
        return loss

    step(tenon.ones(3, 2))
    with pytest.raises(Exception, match='not recorded in a training step'):
        tenon.graph.trace(step, tenon.ones(3, 2), training=True)


@pytest.mark.parametrize(('fn', 'message'), [
    (lambda x: cond(x.sum() > 0, lambda: x, lambda: x[0]), r'one branch gives f32\[2\] where the other has f32\[3, 2\]'),
    (lambda x: cond(x.sum() > 0, lambda: (x, x), lambda: x), 'another structure'),
    (lambda x: cond(x > 0, lambda: x, lambda: -x), r'the predicate is bool\[3, 2\], not one element'),
    (lambda x: loop(lambda y: y.sum() < 9, lambda y: y[:1] + y, x[:1]) + loop(lambda y: y.sum() < 9, lambda y: y[:, :1], x), 'the body gives'),
    (lambda x: loop(lambda y: True, lambda y: y + 1, x), 'which no run could change'),
    (lambda x: scan(lambda c, row: (c.to(tenon.float64), row), x.sum(), x), 'f64'),
    (lambda x: cond(x.sum() > 0, lambda: (x + 1).add_(1), lambda: x.exp_()), 'from outside the body'),
])
def test_refusals(fn, message):
    with pytest.raises((tenon.PreconditionError, ValueError), match=message):
        tenon.graph.trace(fn, tenon.ones(3, 2))


def test_the_contents_of_a_file_are_checked(tmp_path):
    program = tenon.graph.trace(lambda x: cond(x.sum() > 0, lambda: x * 2, lambda: -x), tenon.ones(3))
    program.save(tmp_path / 'program')
    tensors = io.load(tmp_path / 'program')
    text = json.loads(bytes(tensors['tenon.graph'].numpy()))
    assert text['version'] == 2
    at = next(i for i, node in enumerate(text['nodes']) if 'control' in node)
    for change, message in [
        (lambda node: node.update(bodies=node['bodies'][:1]), 'do not fit'), (lambda node: node.update(control='goto'), 'goto'),
        (lambda node: node.update(carried=1 << 31), 'do not fit'), (lambda node: node['args'].pop(), 'do not fit'),
        (lambda node: node['bodies'][0]['results'].clear(), 'do not fit'), (lambda node: node.update(refused=['why']), 'do not fit'),
        (lambda node: node['bodies'][0]['nodes'][0]['results'][0].update(offset=7), 'reaches beyond'),
    ]:
        changed = json.loads(json.dumps(text))
        change(changed['nodes'][at])
        tensors['tenon.graph'] = tenon.tensor(list(json.dumps(changed).encode()), dtype=tenon.uint8)
        io.save(tmp_path / 'changed', tensors)
        with pytest.raises(tenon.Error, match=message):
            tenon.graph.load(tmp_path / 'changed')
