"""Packages written for PyTorch run on Tenon as they are: their models give PyTorch's results and gradients."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from packages import MODELS

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope='module')
def folders(torch, tmp_path_factory):
    """Where PyTorch and Tenon have written, each in a process of its own."""
    path = os.pathsep.join(each for each in sys.path if os.path.isdir(os.path.join(each, 'tenon')))
    found = []
    for start in ([], ['-m', 'tenon.torch']):
        folder = tmp_path_factory.mktemp('tenon' if start else 'torch')
        done = subprocess.run([sys.executable, *start, str(HERE / 'packages.py'), str(folder)], capture_output=True, text=True,
                              env={**os.environ, 'PYTHONPATH': path, 'HF_HUB_OFFLINE': '1'})
        assert done.returncode == 0, done.stderr[-3000:]
        found.append(folder)
    return found


@pytest.mark.parametrize('name', MODELS)
def test_models(folders, name):
    wanted, found = (np.load(folder / f'{name.replace(" ", "_")}.npz') for folder in folders)
    assert set(found) == set(wanted)
    largest = max(np.abs(wanted[key]).max() for key in wanted if key.startswith('gradient'))
    for key in wanted:
        scale = np.abs(wanted[key]).max() + (1e-3 * largest if key.startswith('gradient') else 0)
        assert wanted[key].shape == found[key].shape, key
        assert np.abs(wanted[key] - found[key]).max() <= 1e-3 * scale, key
