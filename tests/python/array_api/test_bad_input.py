"""Every public function answers unsuitable arguments with a value or an error, and the process survives."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tenon

SCRIPT = Path(__file__).resolve().parent / 'bad_calls.py'
PACKAGE = Path(tenon.__file__).absolute().parent.parent


@pytest.mark.parametrize('part', ['ops', 'functions', 'methods', 'autograd', 'modules', 'data', 'objects'])
def test_bad_input(part, tmp_path):
    marker = tmp_path / 'marker'
    marker.write_bytes(b' ' * 256)
    try:
        ran = subprocess.run([sys.executable, SCRIPT, part, marker], capture_output=True, text=True, timeout=240,
                             stdin=subprocess.DEVNULL, cwd=tmp_path, env={**os.environ, 'PYTHONPATH': str(PACKAGE)})
    except subprocess.TimeoutExpired:
        pytest.fail(f'{marker.read_bytes().decode().strip()} did not end')
    if ran.returncode not in (0, 1):
        pytest.fail(f'{marker.read_bytes().decode().strip()} ended the process with {ran.returncode}: '
                    f'bad_calls.py {part} MARKER NAME tells the arguments\n{ran.stderr[-2000:]}')
    made = int(ran.stdout.split(' ', 1)[0]) if ran.stdout else 0
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert made > {'ops': 10000, 'functions': 4000, 'methods': 10000, 'autograd': 500, 'modules': 20000, 'data': 1000,
                    'objects': 5000}[part]
