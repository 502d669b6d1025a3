"""Programs of benchmarks/ run without their peer, and those that train do learn."""
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[3] / 'benchmarks'


def run(name, *args):
    return subprocess.run([sys.executable, BENCHMARKS / name, *args], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
def test_gpt2_learns(dtype):
    done = run('gpt2.py', '--only', 'tenon', '--steps', '4', '--batch', '2', '--dtype', dtype, '--profile')
    assert done.returncode == 0, done.stderr
    first, last = map(float, re.search(r'([\d.]+) → ([\d.]+) \|', done.stdout).groups())
    assert 5.4 < first < 5.7 and last < first - 0.2
    for op in ('attention_packed', 'attention_packed_backward', 'adam_step'):
        assert re.search(rf'^{op} ', done.stdout, re.MULTILINE), done.stdout


def test_every_row_of_a_device():
    done = run('device.py', '--device', 'cpu', '--scale', '0.0005', '--rounds', '1', '--only', 'tenon')
    assert done.returncode == 0, done.stderr
    rows = [row for row in done.stdout.splitlines() if re.search(r'\d [mµ]s \(', row)]
    assert len(rows) == 15, done.stdout


def test_whole_models():
    done = run('models.py', '--only', 'recommender', '--rounds', '1', '--profile')
    assert done.returncode == 0, done.stderr
    assert re.search(r'^\| recommender, training, 512×8 \| [\d.e+]+ ms \(', done.stdout, re.MULTILINE), done.stdout
    assert re.search(r'^embedding_backward ', done.stdout, re.MULTILINE), done.stdout


def test_the_picture_shows_the_table():
    found = runpy.run_path(str(BENCHMARKS / 'chart.py'))
    rows = found['rows_of']((BENCHMARKS / 'models.md').read_text())
    assert len(rows) > 15 and all(ours > 0.5 and compiled > 0.5 for _, ours, compiled in rows)
    assert found['PICTURE'].read_text() == found['drawn'](rows)


def test_examples():
    done = run('examples.py', '--only', 'dqn', '--rounds', '1', '--cpu-time')
    assert done.returncode == 0, done.stderr
    for kind in ('training', 'inference'):
        assert re.search(rf'^\| dqn, 128; 1, {kind}( \| [\d.]+ [mµ]s \([^|]*\))+ \| ', done.stdout, re.MULTILINE), done.stdout


def test_every_example_has_a_step():
    script = f"""import sys; sys.path.insert(0, {str(BENCHMARKS)!r})
import numpy as np
from examples_rows import ROWS, example
import tenon
names = {{name.split(',')[0] for name, _ in ROWS}}
for name, make in ROWS:
    if 'smollm2' in name or 'lora' in name or 'resnet18' in name:
        continue
    net, loss, call, inputs = make(example(name.split(',')[0], tenon), tenon.asarray, np.random.default_rng(0))
    if loss:
        loss(*inputs).backward()
    with tenon.no_grad():
        call(*inputs)
print(*sorted(names))"""
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    with_network = {path.stem for path in (BENCHMARKS.parent / 'examples/python').glob('*.py') if 'common.figure(' in path.read_text()}
    assert {*done.stdout.split()} >= with_network - {'classic_network', 'custom_module', 'digits', 'tabular', 'two_devices'}


def test_ops():
    done = run('ops.py', '--only', 'sum of rows', '--rounds', '1')
    assert done.returncode == 0, done.stderr
    assert re.search(r'^\| sum of rows( \| \**[\d.]+(e\+\d+)?\**( µs)?){6} \| \d+%( · \d+%)? \|$', done.stdout, re.MULTILINE), done.stdout


def test_every_row_runs_on_tenon():
    script = f"""import sys; sys.path.insert(0, {str(BENCHMARKS)!r})
from ops_rows import ROWS, Operands
from sides import Tenon
for transposed in (False, True):
    for name, make, _ in ROWS:
        make(Operands(Tenon('cpu'), 0, transposed, 'float32'))()
assert len({{name for name, _, _ in ROWS}}) == len(ROWS) > 140"""
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('args, words', [(('models.py', '--only', 'no such'), 'part of the name of a row'),
                                         (('models.py', '--only', 'gpt', '--write'), 'leave --only out'),
                                         (('ops.py', '--only', 'no such'), 'part of the name of an op'),
                                         (('examples.py', '--only', 'no such'), 'part of the name of a row'),
                                         (('gpt2.py', '--steps', '0'), '--steps and --batch'),
                                         (('gpt2.py', '--size', '9T'), 'invalid choice'),
                                         (('gpt2.py', '--device', 'nothing:0', '--only', 'tenon'), 'nothing:0'),
                                         (('gpt2.py', '--graph', '--only', 'tenon'), 'cpu:0 cannot capture graphs'),
                                         (('device.py', '--scale', '9'), '--scale above 0'),
                                         (('device.py', '--scale', '0.5', '--write'), 'leave --scale out')])
def test_bad_arguments(args, words):
    done = run(*args)
    assert done.returncode != 0 and words in done.stderr


def test_a_section_is_replaced_by_its_name(tmp_path):
    write_section = runpy.run_path(str(BENCHMARKS / 'sections.py'))['write_section']
    report = tmp_path / 'report.md'
    for section in ('## GPU\n\nold\n\n### more\n', '## GPU 2\n\nother', '## GPU\n\nnew'):
        write_section(report, '# Report\n\nIntroduction.\n', section)
    assert report.read_text() == '# Report\n\nIntroduction.\n\n## GPU 2\n\nother\n\n## GPU\n\nnew\n'
    report.write_text((BENCHMARKS / 'vulkan.md').read_text())
    last = '\n## ' + report.read_text().split('\n## ')[-1]
    write_section(report, '', last.lstrip())
    assert report.read_text() == (BENCHMARKS / 'vulkan.md').read_text()
