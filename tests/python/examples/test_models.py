"""Networks trained by others give the same results as an independent forward pass in double precision, and tokens of the reference
implementation."""
import json
import math
import pathlib
import shutil
import struct
import sys

import numpy as np
import pytest

import tenon
from tenon import io

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'examples' / 'python'))
import common
import semantic_search
import smollm2


@pytest.fixture(scope='module')
def encoder():
    return semantic_search.Encoder(semantic_search.model_folder(), tenon.device('cpu'))


# By PyPI tokenizers 0.23.3: tests/libs/text/recorded.hpp says of what.
TOKENS = json.loads((pathlib.Path(__file__).resolve().parents[2] / 'libs/text/tokens.json').read_text())


@pytest.mark.parametrize('row', TOKENS, ids=lambda row: ascii(row['text'][:20]))
def test_wordpieces(encoder, row):
    assert encoder.tokenizer.encode(row['text']) == row['wordpiece']


def test_a_broken_vocabulary_is_named(tmp_path):
    (tmp_path / 'vocab.txt').write_text('the\n##s\n[PAD]\n')
    with pytest.raises(ValueError, match=r'vocab\.txt: \[CLS\], \[SEP\], \[UNK\] missing'):
        semantic_search.WordPiece(tmp_path / 'vocab.txt')


def test_weights_of_another_network_are_named(tmp_path):
    shutil.copy(semantic_search.model_folder() / 'vocab.txt', tmp_path)
    io.save(tmp_path / 'model.safetensors', {'x': tenon.ones(2)})
    with pytest.raises(ValueError, match=r'model\.safetensors: .*\n\tMissing key\(s\) in state_dict: "embeddings\.word_embeddings\.weight"'):
        semantic_search.Encoder(tmp_path, 'cpu')


def test_a_file_that_is_no_llama_is_named(tmp_path):
    (tmp_path / 'empty.gguf').write_bytes(b'GGUF' + struct.pack('<IQQ', 3, 0, 0))
    with pytest.raises(ValueError, match=r"empty\.gguf lacks '\w+.*': these are not the weights of a Llama"):
        smollm2.load(tmp_path / 'empty.gguf', 'cpu')


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def bert(w, tokens):
    """One sentence through the encoder, in double precision: (384) of length 1."""
    def linear(x, name):
        return x @ w[name + '.weight'].T + w[name + '.bias']

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * w[name + '.weight'] + w[name + '.bias']
    e, n = 'embeddings.', len(tokens)
    x = norm(w[e + 'word_embeddings.weight'][tokens] + w[e + 'position_embeddings.weight'][:n] + w[e + 'token_type_embeddings.weight'][0], e + 'LayerNorm')
    for i in range(6):
        p = f'encoder.layer.{i}.'
        q, k, v = (linear(x, f'{p}attention.self.{name}').reshape(n, 12, 32).transpose(1, 0, 2) for name in ('query', 'key', 'value'))
        y = (softmax(q @ k.transpose(0, 2, 1) / math.sqrt(32)) @ v).transpose(1, 0, 2).reshape(n, 384)
        x = norm(x + linear(y, p + 'attention.output.dense'), p + 'attention.output.LayerNorm')
        y = linear(x, p + 'intermediate.dense')
        y = y * 0.5 * (1 + np.vectorize(math.erf)(y / math.sqrt(2)))
        x = norm(x + linear(y, p + 'output.dense'), p + 'output.LayerNorm')
    x = x.mean(0)
    return x / np.linalg.norm(x)


def test_sentence_vectors(encoder):
    sentences = ['A man is eating food.', 'The quick brown fox jumps over the lazy dog, and then it sleeps in the sun.', 'Yes']
    weights = {name: x.to(tenon.float64).numpy() for name, x in io.load(semantic_search.model_folder() / 'model.safetensors').items()}
    for vector, sentence in zip(encoder(sentences).numpy(), sentences):  # padded to one length, in one batch
        np.testing.assert_allclose(vector, bert(weights, encoder.tokenizer.encode(sentence)), atol=1e-5, rtol=0)


@pytest.fixture(scope='module')
def llama():
    return smollm2.load(smollm2.default_model(), tenon.device('cpu'))


@pytest.mark.parametrize('row', TOKENS, ids=lambda row: ascii(row['text'][:20]))
def test_byte_pairs(llama, row):
    _, tokenizer, _ = llama
    found = tokenizer.encode(row['text'])
    assert found == row['byte_pair']
    assert tokenizer.unknown in found or b''.join(map(tokenizer.bytes_of, found)).decode() == row['text']


def test_control_tokens(llama):
    _, tokenizer, _ = llama
    assert tokenizer.encode('<|im_start|>user\nWhy?<|im_end|>\n') == [1, 4093, 198, 4898, 47, 2, 198]


def llama_logits(w, meta, tokens):
    """All tokens at once, nothing cached, in double precision: (N, vocabulary)."""
    heads, groups, size, n = meta['llama.attention.head_count'], meta['llama.attention.head_count_kv'], meta['llama.rope.dimension_count'], len(tokens)

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + meta['llama.attention.layer_norm_rms_epsilon']) * w[name]
    turn = np.exp(1j * np.arange(n)[:, None] * meta['llama.rope.freq_base'] ** (-np.arange(0, size, 2) / size))

    def rotate(x):
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
        return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)
    x, hidden = w['token_embd.weight'][tokens], np.triu(np.full((n, n), -np.inf), 1)
    for i in range(meta['llama.block_count']):
        p = f'blk.{i}.'
        y = norm(x, p + 'attn_norm.weight')
        q, k, v = ((y @ w[f'{p}attn_{name}.weight'].T).reshape(n, -1, size).transpose(1, 0, 2) for name in 'qkv')
        q, k, v = rotate(q), rotate(k).repeat(heads // groups, 0), v.repeat(heads // groups, 0)
        y = softmax(q @ k.transpose(0, 2, 1) / math.sqrt(size) + hidden) @ v
        x = x + y.transpose(1, 0, 2).reshape(n, -1) @ w[p + 'attn_output.weight'].T
        y = norm(x, p + 'ffn_norm.weight')
        gate = y @ w[p + 'ffn_gate.weight'].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w[p + 'ffn_up.weight'].T)) @ w[p + 'ffn_down.weight'].T
    return norm(x, 'output_norm.weight') @ w['token_embd.weight'].T


def test_greedy_text_matches_the_reference(llama):
    net, tokenizer, meta = llama
    prompt, count = tokenizer.encode('The capital of France is'), 24
    found = list(smollm2.generate(net, prompt, count))
    weights = {name: x.numpy().astype(np.float64) for name, x in io.load_gguf(smollm2.default_model()).tensors.items()}
    logits = llama_logits(weights, meta, prompt + found[:-1])[len(prompt) - 1:]
    assert found == logits.argmax(-1).tolist() and b'Paris' in b''.join(map(tokenizer.bytes_of, found))
    with tenon.no_grad():
        own = net(tenon.tensor([prompt + found[:-1]]))[0, len(prompt) - 1:].numpy()
    np.testing.assert_allclose(own, logits, atol=2e-3, rtol=0)  # logits are some ten; float32 over 30 layers


@pytest.mark.parametrize('weights, lost', [('int8', 0.01), ('int4', 0.02)])  # nats per token; the file itself has four bits too
def test_packed_weights_lose_little(llama, weights, lost):
    net, tokenizer, _ = llama
    packed, _, _ = smollm2.load(smollm2.default_model(), tenon.device('cpu'), weights)
    text = '\n'.join(verse for _, verse in common.bible()[:8])
    assert smollm2.nats(packed, tokenizer, text) < smollm2.nats(net, tokenizer, text) + lost
    found = list(smollm2.generate(packed, tokenizer.encode('The capital of France is'), 8))  # word by word
    assert b'Paris' in b''.join(map(tokenizer.bytes_of, found))


def test_drawn_text_follows_the_seed(llama):
    net, tokenizer, _ = llama
    def draw(seed):
        tenon.manual_seed(seed)
        return list(smollm2.generate(net, tokenizer.encode('Once'), 6, temperature=1.0, top_k=20))
    assert draw(1) == draw(1) and len({tuple(draw(seed)) for seed in range(3)}) > 1
