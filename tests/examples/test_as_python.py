"""The programs of examples/ in C++ say what those in Python say, and name what is wrong with a file."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import tenon
from tenon import io

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = pathlib.Path(os.environ['TENON_EXAMPLE_PROGRAMS'])
sys.path.insert(0, str(ROOT / 'examples/python'))
import common  # noqa: E402
import semantic_search  # noqa: E402
import smollm2  # noqa: E402

VECTORS = semantic_search.model_folder()
GGUF = smollm2.default_model()


def run(name, *args, code=0, device='cpu'):
    done = subprocess.run([BUILT / name, '--device', device, *map(str, args)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize('name', ['char_lstm', 'char_gpt', 'semantic_search', 'smollm2'])
def test_help(name):
    text = run(name, '--help')
    for option in ('--device', '--seed', '--short'):
        assert option in text
    assert 'Try ' + name in run(name, '--nothing', code=2)
    assert 'nowhere' in run(name, device='nowhere:0', code=1)


def test_files_fit_on_a_few_screens():
    for path in (ROOT / 'examples').glob('*/main.cpp'):
        assert len(path.read_text().splitlines()) <= 200, path


@pytest.mark.parametrize('name', ['char_lstm', 'char_gpt'])
def test_a_prompt_is_checked_before_training(name):
    assert 'byte 2 is no character of the text' in run(name, '--short', '--prompt', 'In\x07', code=1)
    assert '--prompt: at least one character' in run(name, '--short', '--prompt', '', code=1)


@pytest.mark.parametrize('name', ['char_lstm', 'char_gpt'])
def test_same_loss(name, tmp_path):
    own = run(name, '--short', '-o', tmp_path / 'net.safetensors')
    done = subprocess.run([sys.executable, ROOT / f'examples/python/{name}.py', '--short', '--device', 'cpu', '--output', tmp_path],
                          capture_output=True, text=True, check=True)
    losses = [float(re.search(r'held-out loss ([\d.]+)', text)[1]) for text in (own, done.stdout)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)
    assert {*io.load(tmp_path / 'net.safetensors')} == {*io.load(tmp_path / f'{name}.safetensors')}


def test_same_vectors(tmp_path):
    text = run('semantic_search', '--short', '--save', tmp_path / 'verses.safetensors')
    verses = [(place, text) for place, text in common.bible() if re.match(r'\d*\D+', place)[0] == 'Ge']
    kept = [text for i, (place, text) in enumerate(verses) if i % 5 == 0 or place in semantic_search.PARAPHRASES.values()]
    expected = semantic_search.Encoder(VECTORS, tenon.device('cpu'))(kept).numpy()
    found = io.load(tmp_path / 'verses.safetensors')['verses'].numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    assert 'figure: paraphrases that find their verse 0.9 ' in text


def test_same_text():
    prompt, count = 'In the beginning', 200
    net, tokenizer, _ = smollm2.load(GGUF, tenon.device('cpu'))
    tokens = list(smollm2.generate(net, tokenizer.encode(prompt), count))
    text = run('smollm2', '--complete', '--prompt', prompt, '--tokens', count)
    assert text.startswith(prompt + b''.join(map(tokenizer.bytes_of, tokens)).decode() + '\n')
    assert 'figure: loss 1.34 ' in text


@pytest.mark.parametrize('weights', ['int8', 'int4', 'bfloat16'])
def test_fewer_bits(weights):
    assert float(re.search(r'figure: loss ([\d.]+)', run('smollm2', '--short', '--weights', weights))[1]) < 1.36
    assert '--weights int3' in run('smollm2', '--weights', 'int3', code=1)


def test_broken_files_are_named(tmp_path):
    (tmp_path / 'short.gguf').write_bytes(GGUF.read_bytes()[:100000])
    assert re.search(r'short\.gguf: byte \d+: ', run('smollm2', '--model', tmp_path / 'short.gguf', code=1))
    assert 'none.gguf' in run('smollm2', '--model', tmp_path / 'none.gguf', code=1)
    model = tmp_path / 'model.safetensors'
    (tmp_path / 'vocab.txt').write_text('[PAD]\nthe\nthe\n')
    assert re.search(r'vocab\.txt: line 3: "the" is that of line 2', run('semantic_search', '--model', tmp_path, code=1))
    (tmp_path / 'vocab.txt').write_text((VECTORS / 'vocab.txt').read_text())
    model.write_bytes((VECTORS / 'model.safetensors').read_bytes()[:5000])
    assert re.search(r'model\.safetensors: byte \d+: ', run('semantic_search', '--model', tmp_path, code=1))
    io.save(model, {'embeddings.word_embeddings.weight': tenon.zeros(30522, 384)})
    assert 'no tensor is called "embeddings.' in run('semantic_search', '--model', tmp_path, code=1)
