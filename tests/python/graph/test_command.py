"""`tenon graph`: what it shows, computes and measures, and how it fails."""
import json
import shutil
import subprocess

import pytest

import tenon
from tenon import nn

TENON = shutil.which('tenon')
pytestmark = pytest.mark.skipif(TENON is None, reason='built without the tenon command')


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('graph')
    tenon.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), tenon.randn(3, 4)
    tenon.graph.trace(net, x).save(folder / 'net')
    with tenon.no_grad():
        tenon.io.save(folder / 'x', {'input0': x, 'unused': x})
        tenon.io.save(folder / 'y', {'result0': net(x)})
    table, rows = tenon.arange(15, dtype='f32').reshape(5, 3), tenon.tensor([4, 0], dtype='i64')
    chosen = tenon.graph.trace(lambda i, m: (table[i], tenon.where(m, 1.0, 2.0)), rows, tenon.tensor([True, False]))
    chosen.save(folder / 'chosen')
    return folder


def call(folder, *words):
    done = subprocess.run([TENON, 'graph', *words], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_describing_inputs_and_results(folder):
    code, out, _ = call(folder, 'net')
    assert code == 0
    assert out.splitlines()[1:3] == ['input   input0   f32[3, 4]', 'result  result0  f32[3, 2]']
    found = json.loads(call(folder, 'chosen', '--json')[1])
    assert found['inputs'] == [{'name': 'input0', 'dtype': 'i64', 'shape': [2]}, {'name': 'input1', 'dtype': 'bool', 'shape': [2]}]
    assert [r['shape'] for r in found['results']] == [[2, 3], [2]]
    assert (found['device'], found['weight_bytes']) == ('cpu:0', 60)


def test_its_ops(folder):
    program = tenon.graph.load(folder / 'net')
    assert call(folder, 'net', '--print')[1] == str(program)
    assert program.explain().endswith(call(folder, 'net', '--explain')[1])


def test_it_computes_what_eager_calls_do(folder):
    code, out, err = call(folder, 'net', '--run', 'x', '--out', 'out')
    assert (code, out) == (0, 'result0  f32[3, 2]\n'), err
    assert (folder / 'out').read_bytes() == (folder / 'y').read_bytes()


@pytest.mark.parametrize('name', ['net', 'chosen'])
def test_runs_are_timed_side_by_side(folder, name):
    code, out, err = call(folder, name, '--time', '--device', 'cpu', '--device', 'cpu:0', '--rounds', '1')
    assert code == 0, err
    assert out.count('runs/s') == 2
    assert 'agree' in out


@pytest.mark.parametrize(('code', 'text', 'words'), [
    (2, 'graph needs a file, as in: tenon graph net', []),
    (3, 'No such file', ['nothing']),
    (3, 'No such file', ['nothing', '--time']),
    (1, 'holds weights, but no graph', ['x']),
    (2, 'as in: --out results', ['net', '--run', 'x']),
    (2, '--out is for --run', ['net', '--out', 'z']),
    (2, 'several devices need --time', ['net', '--device', 'cpu', '--device', 'cpu']),
    (2, '--rounds must be at least 1', ['net', '--time', '--rounds', '0']),
    (2, "did you mean '--print'?", ['net', '--prnt']),
    (3, 'no device "cqu"', ['net', '--device', 'cqu']),
    (3, 'no device "cqu"', ['net', '--device', 'cqu', '--time']),
    (1, "has no tensor 'input0', the f32[3, 4] that the graph takes (it has: result0)", ['net', '--run', 'y', '--out', 'z']),
    (1, 'input 0 (input0) is i64[2], not f32[3, 4]', ['chosen', '--run', 'mixed', '--out', 'z']),
    (3, 'cannot be made', ['net', '--run', 'x', '--out', 'no/where']),
])
def test_wrong_input(folder, code, text, words):
    x = tenon.io.load(folder / 'x')['input0']
    tenon.io.save(folder / 'mixed', {'input0': x, 'input1': x})
    got, _, err = call(folder, *words)
    assert got == code, err
    assert text in err
    assert not (folder / 'z').exists()
