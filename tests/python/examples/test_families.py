"""The short versions of the examples learn, draw what they claim to draw, and compute the same on the simulator as on the CPU."""
import csv
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import tenon

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / 'examples' / 'python'
PICTURES = {
    'char_gpt': ['loss.png'], 'char_lstm': ['loss.png'], 'classic_network': ['loss.png'], 'custom_module': ['loss.png'], 'dcgan': ['loss.png', 'drawn.png'], 'detection': ['loss.png', 'scenes.png'],
    'diffusion': ['loss.png', 'drawn.png'], 'dqn': ['loss.png'], 'fashion_mnist': ['loss.png', 'named.png'], 'forecasting': ['loss.png', 'days.png'], 'graph_networks': ['loss.png'],
    'keyword_spotting': ['loss.png', 'spectrograms.png'], 'lora': ['loss.png', 'lora.safetensors'], 'ppo': ['loss.png'],
    'recommendation': ['loss.png'], 'resnet18': ['loss.png', 'resnet18.safetensors'], 'semantic_search': [], 'smollm2': [],
    'stereo': ['loss.png', 'depth.png'], 'tree_lstm': ['loss.png'], 'two_devices': ['loss.png'], 'vae': ['loss.png', 'reconstructions.png', 'drawn.png']}
ON_THE_SIMULATOR = 'dqn', 'forecasting', 'recommendation', 'two_devices'  # those that take seconds there; ./dev examples --device gpusim:0 --steps 2 runs any


def run(name, folder, *args, code=0):
    done = subprocess.run([sys.executable, EXAMPLES / f'{name}.py', '--short', '--output', folder, *map(str, args)], capture_output=True,
                          text=True, timeout=600, env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def losses(folder):
    with open(folder / 'loss.csv') as file:
        rows = list(csv.reader(file))
    return [list(map(float, row[1:])) for row in rows[1:]]


@pytest.mark.parametrize('name', PICTURES)
def test_learns(name, tmp_path):
    text = run(name, tmp_path, '--device', 'cpu')
    figures = re.findall(r'^figure: .*$', text, re.M)
    assert figures and all(line.endswith(': reached)') for line in figures), text
    assert all((tmp_path / file).stat().st_size > 500 for file in PICTURES[name])


def test_every_example_is_tested_and_fits_on_a_few_screens():
    with_figure = {path.stem for path in EXAMPLES.glob('*.py') if 'common.figure(' in path.read_text()}
    assert with_figure == {*PICTURES, 'digits', 'tabular'}
    for path in EXAMPLES.glob('*.py'):
        text = path.read_text()
        assert len(text.splitlines()) <= 200, path.name
        assert path.stem not in with_figure or 'To reach: ' in text or 'To reach:\n' in text, path.name


def test_the_table_of_figures():
    build = pathlib.Path(tenon.__file__).parents[2]
    command = [sys.executable, EXAMPLES.parents[1] / 'tools/dev/examples.py', '--build', build]
    done = subprocess.run([*command, '--steps', '2', 'two_devices'], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and re.search(r'^\| `two_devices` \| largest .* \| at most 0\.0001 \| \d+ \|$', done.stdout, re.M), done
    done = subprocess.run([*command, 'nothing'], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "no example 'nothing'" in done.stderr


@pytest.mark.parametrize('name, option', [('char_gpt', '--batch-size'), ('classic_network', '--epochs'), ('dcgan', '--steps'), ('semantic_search', '--every')])
def test_an_invalid_number_is_named(name, option, tmp_path):
    assert f'argument {option}: must be 1 or more, not 0' in run(name, tmp_path, option, 0, code=2)


@pytest.mark.parametrize('name', ['char_gpt', 'char_lstm'])
@pytest.mark.parametrize('prompt, words', [('Adam and Ω', "the text that is learned has no 'Ω'"), ('', 'at least one character')])
def test_a_prompt_is_checked_before_training(name, prompt, words, tmp_path):
    text = run(name, tmp_path, '--prompt', prompt, code=1)
    assert words in text and 'step' not in text and 'Traceback' not in text


def test_an_unknown_device_is_named(tmp_path):
    text = run('vae', tmp_path, '--device', 'nowhere:3', code=2)
    assert 'argument --device: no device "nowhere:3"' in text and 'Traceback' not in text


def test_help_shows_defaults(tmp_path):
    text = run('resnet18', tmp_path, '--help')
    assert 'channels of the first blocks (default: 8)' in text and re.search(r'--lr LR +default: 0\.05\n', text) and 'None' not in text


def test_tabular(tmp_path):
    if importlib.util.find_spec('sklearn') is None:
        assert 'pip install scikit-learn' in run('tabular', tmp_path, code=1)
    else:
        assert 'not reached' not in run('tabular', tmp_path)


@pytest.mark.skipif('TENON_SIMULATOR' not in os.environ, reason='the simulator is not built')
@pytest.mark.parametrize('name', ON_THE_SIMULATOR)
def test_the_simulator_computes_the_same(name, tmp_path, monkeypatch):
    monkeypatch.setenv('TENON_PLUGIN_PATH', os.environ['TENON_SIMULATOR'], prepend=':')
    found = []
    for device in ('cpu:0', 'gpusim:0'):
        (tmp_path / device).mkdir()
        run(name, tmp_path / device, '--device', device, '--steps', 2)
        found.append(losses(tmp_path / device))
    assert found[0] and len(found[0]) == len(found[1])
    for one, other in zip(*found):
        assert other == pytest.approx(one, rel=1e-3, abs=1e-3)
