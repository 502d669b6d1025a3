"""`tenon onnx`: what it shows, computes, writes and times, and how it fails."""
import json
import shutil
import subprocess

import numpy as np
import pytest

import tenon
from tenon import nn

TENON = shutil.which('tenon')
pytestmark = pytest.mark.skipif(TENON is None, reason='built without the tenon command')


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('onnx')
    tenon.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), tenon.randn(3, 4)
    tenon.onnx.export(net, [x], folder / 'net.onnx')
    with tenon.no_grad():
        tenon.io.save(folder / 'x', {'input0': x})
        tenon.io.save(folder / 'y', {'result0': net(x)})
    return folder


def call(folder, *words):
    done = subprocess.run([TENON, 'onnx', *words], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_describing_a_model(folder):
    code, out, err = call(folder, 'net.onnx')
    assert code == 0, err
    assert out.splitlines()[1:3] == ['input   input0   f32[3, 4]', 'result  result0  f32[3, 2]']
    found = json.loads(call(folder, 'net.onnx', '--json')[1])
    assert (found['ops'], found['opset'], found['weight_bytes']) == ({'Gemm': 2, 'Identity': 1, 'Relu': 1}, 18, 232)


def test_it_computes_and_converts(folder):
    code, out, err = call(folder, 'net.onnx', '--run', 'x', '--out', 'out')
    assert (code, out) == (0, 'result0  f32[3, 2]\n'), err
    wanted = tenon.io.load(folder / 'y')['result0'].numpy()
    np.testing.assert_allclose(tenon.io.load(folder / 'out')['result0'].numpy(), wanted, rtol=1e-5)
    assert call(folder, 'net.onnx', '--to', 'net.safetensors')[0] == 0
    program = tenon.graph.load(folder / 'net.safetensors')
    np.testing.assert_allclose(program(tenon.io.load(folder / 'x')['input0']).numpy(), wanted, rtol=1e-5)


def test_sizes_stay_open(folder):
    tenon.manual_seed(1)
    net, x = nn.Sequential(nn.Linear(4, 8), nn.Softmax(-1)), tenon.randn(3, 5, 4)
    tenon.onnx.export(net, [x], folder / 'open.onnx', dynamic={0: {0: 'batch', 1: 'length'}})
    for words, dims in (((), [('batch', 1, None), ('length', 1, None)]), (('--size', 'batch=3'), [('length', 1, None)]),
                        (('--size', 'batch=3', '--size', 'length=2..9'), [('length', 2, 9)]), (('--size', 'batch=3', '--size', 'length=5'), [])):
        code, _, err = call(folder, 'open.onnx', '--to', 'open.safetensors', *words)
        assert code == 0, err
        program = tenon.graph.load(folder / 'open.safetensors')
        assert [dim[:3] for dim in program.dims] == dims
        for shape in [(3, 5, 4)] + [(3, 7, 4)] * (len(dims) > 0) + [(8, 1, 4)] * (len(dims) > 1):
            given = tenon.randn(shape)
            with tenon.no_grad():
                np.testing.assert_allclose(program(given).numpy(), net(given).numpy(), rtol=1e-5)
    for words in ('batch=3..', 'batch=5..3', 'batch', 'batch=x'):
        assert call(folder, 'open.onnx', '--to', 'other', '--size', words)[0] == 2
    code, _, err = call(folder, 'open.onnx', '--time', '--size', 'batch=1..3')
    assert code == 2
    assert 'is for --to' in err


def test_runs_are_timed_side_by_side(folder):
    words = ('net.onnx', '--time', '--device', 'cpu', '--device', 'cpu:0', '--rounds', '1')
    code, out, err = call(folder, *words)
    assert code == 0, err
    assert 'net.onnx' in out
    code, out, err = call(folder, *words, '--json')
    assert code == 0, err
    works = json.loads(out)['works']
    assert [work['device'] for work in works] == ['cpu:0'] * 2
    assert all(work['median_s'] > 0 and work['agrees'] for work in works)


def test_wrong_command_lines_are_reported(folder):
    assert call(folder)[0] == 2
    assert call(folder, 'net.onnx', '--run', 'x')[0] == 2
    assert call(folder, 'net.onnx', '--size', 'batch')[0] == 2
    code, _, err = call(folder, 'net.onnx', '--size', 'batsh=3')
    assert code == 2
    assert "no size 'batsh'" in err
    assert call(folder, 'missing.onnx')[0] == 3
    (folder / 'broken.onnx').write_bytes(b'\x0f')
    code, _, err = call(folder, 'broken.onnx')
    assert code != 0
    assert 'broken.onnx: byte' in err
