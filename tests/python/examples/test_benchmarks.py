"""benchmarks/gpt2.py runs without its peer, and what it trains learns."""
import pathlib
import re
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / 'benchmarks' / 'gpt2.py'


def run(*args):
    return subprocess.run([sys.executable, SCRIPT, *args], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
def test_gpt2_learns(dtype):
    done = run('--only', 'tenon', '--steps', '4', '--batch', '2', '--dtype', dtype, '--profile')
    assert done.returncode == 0, done.stderr
    first, last = map(float, re.search(r'([\d.]+) → ([\d.]+) \|', done.stdout).groups())
    assert 5.4 < first < 5.7 and last < first - 0.2
    for op in ('attention', 'attention_backward', 'adam_step'):
        assert re.search(rf'^{op} ', done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize('args, words', [(['--steps', '0'], '--steps and --batch'), (['--size', '9T'], 'invalid choice'),
                                         (['--device', 'nothing:0', '--only', 'tenon'], "nothing:0")])
def test_bad_arguments(args, words):
    done = run(*args)
    assert done.returncode != 0 and words in done.stderr
