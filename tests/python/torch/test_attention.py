"""Attention and Transformer modules beside PyTorch's: the same weights and inputs, all results and gradients."""
import importlib
import itertools
import math
import pathlib
import sys

import numpy as np
import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import op_db
from beside import same
from twins import check_close, compare, moved, twins

LENGTH, SOURCE, BATCH, WIDTH, HEADS = 4, 5, 3, 8, 2


def masks(torch, kind, rows, columns, batch):
    """attn_mask and key_padding_mask of a kind; no row is completely forbidden."""
    if kind == 'none':
        return None, None
    bools = torch.zeros(rows, columns, dtype=torch.bool)
    bools[0, 1] = bools[2, 3] = True
    padding = torch.zeros(batch, columns, dtype=torch.bool)
    padding[-1, columns - 1] = True
    return {'bool': (bools, None), 'padding': (None, padding), 'both': (bools, padding),
            'float': (torch.randn(rows, columns), None), 'floats': (torch.randn(rows, columns), torch.randn(batch, columns)),
            'heads': (bools.expand(batch * HEADS, rows, columns), padding)}[kind]


@pytest.mark.parametrize('kind', ['none', 'bool', 'padding', 'both', 'float', 'floats', 'heads'])
@pytest.mark.parametrize('options', [{}, {'bias': False, 'batch_first': True}, {'kdim': 6, 'vdim': 7}, {'add_bias_kv': True},
                                     {'add_zero_attn': True, 'add_bias_kv': True}])
def test_attention(torch, options, kind):
    mine, theirs = twins(torch, 'MultiheadAttention', 'float64', WIDTH, HEADS, **options)
    torch.manual_seed(2)
    shapes = [(LENGTH, BATCH, WIDTH), (SOURCE, BATCH, options.get('kdim', WIDTH)), (SOURCE, BATCH, options.get('vdim', WIDTH))]
    inputs = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    if options.get('batch_first'):
        inputs = [x.transpose(0, 1).contiguous() for x in inputs]
    mask, padding = (x if x is None or x.dtype is torch.bool else x.double() for x in masks(torch, kind, LENGTH, SOURCE, BATCH))
    for weights, average in ((True, True), (True, False), (False, True)):
        def run(module, convert):
            return lambda *xs: module(*xs, need_weights=weights, average_attn_weights=average,
                                      attn_mask=None if mask is None else convert(mask),
                                      key_padding_mask=None if padding is None else convert(padding))
        compare_calls(torch, mine, theirs, run(mine, moved), run(theirs, lambda x: x), inputs)


def compare_calls(torch, mine, theirs, my_call, their_call, inputs, tolerance=1e-11):
    class Called:
        def __init__(self, module, call):
            self.named_parameters, self.parameters, self.call = module.named_parameters, module.parameters, call

        def __call__(self, *inputs):
            return self.call(*inputs)
    for module in (mine, theirs):
        module.zero_grad()
    compare(torch, Called(mine, my_call), Called(theirs, their_call), inputs, tolerance)


def test_attention_to_itself_and_without_a_batch(torch):
    mine, theirs = twins(torch, 'MultiheadAttention', 'float64', WIDTH, HEADS)
    for shape in ((LENGTH, BATCH, WIDTH), (LENGTH, WIDTH)):
        x = torch.randn(shape, dtype=torch.float64)
        causal = torch.nn.Transformer.generate_square_subsequent_mask(LENGTH, dtype=torch.float64)
        compare_calls(torch, mine, theirs, lambda x: mine(x, x, x), lambda x: theirs(x, x, x), [x])
        compare_calls(torch, mine, theirs, lambda x: mine(x, x, x, need_weights=False, attn_mask=moved(causal), is_causal=True),
                      lambda x: theirs(x, x, x, need_weights=False, attn_mask=causal, is_causal=True), [x])


@pytest.mark.parametrize('name', ['TransformerEncoderLayer', 'TransformerDecoderLayer'])
@pytest.mark.parametrize('options', [{}, {'norm_first': True, 'activation': 'gelu'}, {'batch_first': True, 'bias': False, 'layer_norm_eps': 1e-3}])
def test_layers(torch, name, options):
    mine, theirs = twins(torch, name, 'float64', WIDTH, HEADS, 12, 0.0, **options)
    decoder = 'Decoder' in name
    for training, kind in itertools.product([True, False], ['none', 'both', 'float']):
        mine.train(training)
        theirs.train(training)
        inputs = [torch.randn((BATCH, LENGTH, WIDTH) if options.get('batch_first') else (LENGTH, BATCH, WIDTH), dtype=torch.float64)
                  for _ in range(2 if decoder else 1)]
        mask, padding = (x if x is None or x.dtype is torch.bool else x.double() for x in masks(torch, kind, LENGTH, LENGTH, BATCH))
        names = ('tgt_mask', 'tgt_key_padding_mask') if decoder else ('src_mask', 'src_key_padding_mask')

        def run(module, convert):
            given = {key: None if x is None else convert(x) for key, x in zip(names, (mask, padding))}
            return lambda *xs: module(*xs, **given)
        compare_calls(torch, mine, theirs, run(mine, moved), run(theirs, lambda x: x), inputs)


@pytest.mark.parametrize('batch_first', [False, True])
def test_transformers(torch, batch_first):
    mine, theirs = twins(torch, 'Transformer', 'float64', WIDTH, HEADS, 2, 2, 12, 0.0, batch_first=batch_first)
    mask = ours.nn.Transformer.generate_square_subsequent_mask(LENGTH)
    check_close(mask, torch.nn.Transformer.generate_square_subsequent_mask(LENGTH).nan_to_num(neginf=-1), math.inf, 'mask')
    assert mask.tolist() == torch.nn.Transformer.generate_square_subsequent_mask(LENGTH).tolist()
    shapes = [(SOURCE, BATCH, WIDTH), (LENGTH, BATCH, WIDTH)]
    inputs = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    inputs = [x.transpose(0, 1).contiguous() for x in inputs] if batch_first else inputs
    causal = torch.nn.Transformer.generate_square_subsequent_mask(LENGTH, dtype=torch.float64)
    compare_calls(torch, mine, theirs, lambda *xs: mine(*xs, tgt_mask=moved(causal)), lambda *xs: theirs(*xs, tgt_mask=causal), inputs)


@pytest.mark.parametrize('norm_first', [False, True])
def test_custom_norms_and_norms_with_hooks_are_called(norm_first):
    """They are not merged with the sum before them."""
    nn = ours.nn
    layer, x = nn.TransformerEncoderLayer(WIDTH, HEADS, 12, 0.0, norm_first=norm_first), ours.randn(LENGTH, BATCH, WIDTH)
    expected, seen = layer(x), []
    with layer.norm2.register_forward_hook(lambda module, args, result: seen.append(args[0])):
        assert ours.allclose(layer(x), expected, atol=1e-6)
    assert len(seen) == 1 and seen[0].shape == x.shape
    layer.norm2 = nn.Identity()
    assert not ours.allclose(layer(x), expected, atol=1e-3)


def test_encoders_take_norms_and_copies():
    nn = ours.nn
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 12, 0.0)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(WIDTH))
    assert sum(1 for _ in encoder.parameters()) == 2 * sum(1 for _ in layer.parameters()) + 2
    x = ours.randn(LENGTH, BATCH, WIDTH)
    causal = nn.Transformer.generate_square_subsequent_mask(LENGTH)
    assert ours.allclose(encoder(x, mask=causal), encoder(x, mask=causal, is_causal=True), atol=1e-6)
    assert not ours.allclose(encoder(x, mask=causal), encoder(x), atol=1e-3)


def test_the_function_agrees_with_pytorchs_samples(torch):
    _, verdicts = op_db.judge_all(['nn.functional.multi_head_attention_forward'])
    assert all(not verdict['failed'] and verdict['passed'] for verdict in verdicts.values()), verdicts


@pytest.mark.parametrize('call, error, text', [
    (lambda nn: nn.MultiheadAttention(7, 2), ValueError, 'multiple of num_heads'),
    (lambda nn: nn.MultiheadAttention(8, 2)(*[ours.zeros(3, 1, 6)] * 3), ValueError, 'last dimension of query is 6'),
    (lambda nn: nn.MultiheadAttention(8, 2)(ours.zeros(3, 8), ours.zeros(3, 1, 8), ours.zeros(3, 1, 8)), ValueError, 'ranks 2, 3 and 3'),
    (lambda nn: nn.MultiheadAttention(8, 2)(*[ours.zeros(3, 1, 8)] * 3, is_causal=True), RuntimeError, 'give attn_mask, too'),
    (lambda nn: nn.MultiheadAttention(8, 2)(*[ours.zeros(3, 1, 8)] * 3, attn_mask=ours.zeros(3)), ValueError, 'attn_mask has rank 1'),
    (lambda nn: nn.TransformerEncoderLayer(8, 2, activation='tanh'), RuntimeError, "'relu', 'gelu' or a function"),
    (lambda nn: nn.Transformer(8, 2, 1, 1, 4)(ours.zeros(3, 1, 8), ours.zeros(3, 2, 8)), RuntimeError, 'batches of 1 and 2'),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(ours.nn)


def drawn(t, *shape, seed):
    return t.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32).tolist())


@pytest.fixture(name='kept')
def pytorch_keeps_its_checks(torch):
    """PyTorch's flex_attention() turns the checks of all its distributions off."""
    before = torch.distributions.Distribution._validate_args
    yield
    torch.distributions.Distribution._validate_args = before


# (score_mod, mask_mod) with tables: bias (heads, 6, 6), doc (2, 6); and what both mean for all scores at once.
FLEX = {
    'plain': lambda t, bias, doc: (None, None, lambda s, b, h, i, j: s),
    'distance': lambda t, bias, doc: (lambda s, b, h, i, j: s + (i - j), None, lambda s, b, h, i, j: s + (i - j)),
    'causal': lambda t, bias, doc: (None, lambda b, h, i, j: i >= j, lambda s, b, h, i, j: t.where(i >= j, s, -math.inf)),
    'table': lambda t, bias, doc: (lambda s, b, h, i, j: s + bias[h][i, j], None, lambda s, b, h, i, j: s + bias[h, i, j]),
    'documents': lambda t, bias, doc: (lambda s, b, h, i, j: 2 * t.tanh(s / 2), lambda b, h, i, j: doc[b][i] == doc[b, j],
                                       lambda s, b, h, i, j: t.where(doc[b, i] == doc[b, j], 2 * t.tanh(s / 2), -math.inf)),
    'some see nothing': lambda t, bias, doc: (None, lambda b, h, i, j: (i < 2) & (h > 0), lambda s, b, h, i, j: t.where((i < 2) & (h > 0), s, -math.inf)),
}


@pytest.mark.parametrize('name', FLEX)
def test_flex_attention(torch, kept, name):
    """Values are PyTorch's; gradients, which PyTorch has on GPUs alone, are those of the same formula written out."""
    def run(t):
        q, k, v = (drawn(t, 2, 4, 6, 8, seed=i) for i in range(3))
        bias, doc = drawn(t, 4, 6, 6, seed=3), t.tensor([[0, 0, 1, 1, 1, 2], [0, 1, 1, 1, 2, 2]])
        score, mask, _ = FLEX[name](t, bias, doc)
        flex = importlib.import_module(f'{t.__name__}.nn.attention.flex_attention')
        blocks = flex.create_block_mask(mask, 2, 4, 6, 6, device='cpu', BLOCK_SIZE=2) if mask else None
        tables = [] if mask is None else [blocks.to_dense(), blocks.kv_num_blocks, blocks.kv_indices, blocks.full_kv_num_blocks,
                                          blocks.full_kv_indices, blocks.q_num_blocks, blocks.q_indices, blocks.full_q_num_blocks,
                                          blocks.full_q_indices, blocks.sparsity(), blocks.shape, blocks.numel(), str(blocks).partition('...')[0].rstrip()]
        return flex.flex_attention(q, k, v, score, blocks, scale=0.3, return_lse=True), tables
    same(torch, run)

    found = []
    for written_out in (False, True):
        q, k, v = (drawn(ours, 2, 4, 6, 8, seed=i).requires_grad_() for i in range(3))
        bias, doc = drawn(ours, 4, 6, 6, seed=3).requires_grad_(), ours.tensor([[0, 0, 1, 1, 1, 2], [0, 1, 1, 1, 2, 2]])
        score, mask, formula = FLEX[name](ours, bias, doc)
        flex = importlib.import_module('tenon.torch.nn.attention.flex_attention')
        if written_out:
            b, h, i, j = (ours.arange(n).reshape([-1 if d == at else 1 for d in range(4)]) for at, n in enumerate((2, 4, 6, 6)))
            out = ours.softmax(formula(q @ k.mT * 8 ** -0.5, b, h, i, j), -1).nan_to_num() @ v
        else:
            out = flex.flex_attention(q, k, v, score, flex.create_block_mask(mask, 2, 4, 6, 6) if mask else None)
        seed = drawn(ours, 2, 4, 6, 8, seed=9)
        if name == 'some see nothing':  # the formula has no gradient there
            seed[:, 0] = 0
            seed[:, :, 2:] = 0
            out = ours.where(seed != 0, out, 0)
        (out * seed).sum().backward()
        found.append([x.grad for x in (q, k, v, bias)])
    if name == 'some see nothing':
        assert all(ours.isfinite(x).all() for x in found[0][:3])
    else:
        for mine, other in zip(*found):
            assert (mine is None) == (other is None) and (mine is None or ours.allclose(mine, other, atol=1e-5))


def test_masks_of_flex_attention(torch, kept):
    def run(t):
        flex = importlib.import_module(f'{t.__name__}.nn.attention.flex_attention')
        bias = importlib.import_module(f'{t.__name__}.nn.attention.bias')

        def causal(b, h, i, j):
            return i >= j
        both = flex.and_masks(flex.or_masks(lambda b, h, i, j: j < 2, causal), lambda b, h, i, j: i - j < 9)
        uneven = flex.create_block_mask(both, None, None, 20, 30, device='cpu', BLOCK_SIZE=4)
        again = flex.BlockMask.from_kv_blocks(uneven.kv_num_blocks, uneven.kv_indices, BLOCK_SIZE=4)
        x = drawn(t, 1, 2, 20, 4, seed=0)
        key = drawn(t, 1, 2, 30, 4, seed=1)
        q, k = drawn(t, 1, 1, 6, 4, seed=2), drawn(t, 1, 1, 4, 4, seed=3)
        return (flex.create_mask(causal, 2, None, 3, 4, device='cpu'), str(uneven), uneven.sparsity(), again.to_dense(), again.shape, again.q_indices,
                flex.flex_attention(x, key, key, block_mask=uneven), flex.flex_attention(t.cat([x, x], 1), x, x, enable_gqa=True),
                flex.flex_attention(x.double(), x.double(), x.double(), block_mask=flex.create_block_mask(flex.noop_mask, 1, 1, 20, 20, device='cpu')),
                t.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=bias.causal_upper_left(6, 4)),
                t.nn.functional.scaled_dot_product_attention(k, q, q, attn_mask=bias.causal_lower_right(4, 6)))
    same(torch, run)


@pytest.mark.parametrize('wrong', [lambda f, x: f.flex_attention(x[0], x[0], x[0]), lambda f, x: f.flex_attention(x, x[:, :1], x[:, :1]),
                                   lambda f, x: f.flex_attention(x, x[..., :2], x), lambda f, x: f.flex_attention(x, x.double(), x),
                                   lambda f, x: f.flex_attention(x, x, x, block_mask=f.create_block_mask(f.noop_mask, 1, 1, 2, 2, device='cpu'))])
def test_what_flex_attention_refuses(wrong):
    with pytest.raises(ValueError, match='flex_attention'):
        wrong(importlib.import_module('tenon.torch.nn.attention.flex_attention'), ours.ones(2, 2, 3, 4))
