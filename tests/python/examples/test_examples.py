"""The programs of examples/python run with small settings and do what they say."""
import gzip
import importlib.util
import os
import pathlib
import re
import struct
import subprocess
import sys

import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / 'examples' / 'python'


def run(name, *args, code=0, **env):
    result = subprocess.run([sys.executable, EXAMPLES / name, *map(str, args)], capture_output=True, text=True, timeout=120,
                            env={**os.environ, **env})
    assert result.returncode == code, result.stderr
    return result.stdout + result.stderr


@pytest.fixture(scope='module')
def clothes(tmp_path_factory):
    """Images of ten kinds, each bright in a different place."""
    folder, rng = tmp_path_factory.mktemp('clothes'), np.random.default_rng(0)
    for part, n in (('train', 320), ('t10k', 100)):
        labels = (np.arange(n) % 10).astype(np.uint8)
        images = rng.integers(0, 60, (n, 28, 28), dtype=np.uint8)
        for image, label in zip(images, labels):
            image[2 * label:2 * label + 8] += 150
        for kind, code, x in (('images-idx3', 3, images), ('labels-idx1', 1, labels)):
            head = struct.pack(f'>HBB{x.ndim}I', 0, 8, code, *x.shape)
            (folder / f'{part}-{kind}-ubyte.gz').write_bytes(gzip.compress(head + x.tobytes()))
    return folder


def percent(text):
    return float(re.findall(r'test accuracy ([\d.]+) %', text)[-1])


def test_classic_network(clothes, tmp_path):
    text = run('classic_network.py', '--data', clothes, '--epochs', 2, '--batch-size', 16, '--device', 'cpu', '--output', tmp_path)
    assert '256 images to learn from' in text and 'Linear' in text and percent(text) > 90


def test_fashion_mnist(clothes, tmp_path):
    text = run('fashion_mnist.py', '--data', clothes, '--epochs', 2, '--batch-size', 16, '--output', tmp_path, '--device', 'cpu')
    assert percent(text) > 90 and (tmp_path / 'fashion_mnist.safetensors').exists() and len(re.findall(r'^  image \d: ', text, re.M)) == 10
    assert 'install Debian' in run('fashion_mnist.py', '--data', tmp_path, '--output', tmp_path, code=1)


def test_custom_module(tmp_path):
    text = run('custom_module.py', '--short', '--output', tmp_path)
    assert ': reached)' in text and 'gradient of Swish is right: True' in text and 'the hook saw [(5, 32)]' in text


def test_numpy_interop():
    text = run('numpy_interop.py')
    assert 'shared: 10.0 20.0' in text and 'gradient descent' in text


def test_digits(tmp_path):
    if importlib.util.find_spec('sklearn') is None:
        assert 'pip install scikit-learn' in run('digits.py', '--output', tmp_path, code=1)
    else:
        assert ': reached)' in run('digits.py', '--short', '--output', tmp_path)
