"""The networks of the examples as benchmarks call them: examples/python, the same text for Tenon and for PyTorch.

A row makes (network, loss, call, inputs) of an example's module, a function that makes arrays of NumPy's the library's, and a generator of
numbers: `loss(*inputs)` is what a step of training minimises, `call(*inputs)` an inference; either may be None.
"""
import contextlib
import importlib
import pathlib
import random
import sys
import types
from unittest import mock

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[1] / 'examples' / 'python'


def as_tenon(torch):
    """PyTorch under Tenon's name, with the few functions that it calls otherwise."""
    from torch.utils import checkpoint
    f = torch.nn.functional

    def attention(q, k, v, mask=None, causal=False):
        return (f.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]),)

    def randint(shape, low, high, **options):
        return torch.randint(low, high, shape, **options)

    class Library(types.ModuleType):
        def __getattr__(self, name):
            return getattr(torch, name)
    found = Library('tenon')
    found.__dict__.update(nn=torch.nn, optim=torch.optim, io=None, data=None, pad=f.pad, attention=attention, randint=randint)
    return {'tenon': found, 'tenon.torch.utils.checkpoint': checkpoint}


@contextlib.contextmanager
def modules(library):
    """While it lasts, `import tenon` gives this library, and what the rows do not run, files and worlds to act in, is not there."""
    fresh = {path.stem for path in FOLDER.glob('*.py')}
    put = {name: mock.MagicMock(Env=object) for name in ('common', 'pictures', 'gymnasium')} | ({} if library.__name__ == 'tenon' else as_tenon(library))
    saved = {name: sys.modules.pop(name, None) for name in fresh | put.keys()}
    sys.modules.update(put)
    sys.path.insert(0, str(FOLDER))
    try:
        yield
    finally:
        sys.path.remove(str(FOLDER))
        for name, module in saved.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def example(name, library):
    """The module of an example over a library."""
    with modules(library):
        return importlib.import_module(name)


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def char_lstm(e, array, rng):
    net = e.CharLSTM(75, 256, 2)
    return net, lambda x, y: e.loss_of(net, x, y, None)[0], lambda x, y: net(x[:1])[0], [array(rng.integers(0, 75, (32, 128))) for _ in range(2)]


def char_gpt(e, array, rng):
    net = e.CharGPT(75, 128, 4, 4, 128, 0.0)
    return net, lambda x: e.loss_of(net, x), lambda x: net(x[:1, :-1]), [array(rng.integers(0, 75, (32, 129)))]


def semantic_search(e, array, rng):
    net = e.MiniLM()
    return net, None, net, [array(rng.integers(0, 30522, (32, 32))), array(np.arange(32) < rng.integers(8, 33, (32, 1)))]


def llama(e, array, rng):
    """SmolLM2 135M with weights of chance."""
    width, inner, blocks, groups = 576, 1536, 30, 192
    sizes = {'token_embd.weight': (49152, width), 'output_norm.weight': (width,)}
    for i in range(blocks):
        sizes |= {f'blk.{i}.{name}.weight': size for name, size in {
            'attn_norm': (width,), 'ffn_norm': (width,), 'attn_q': (width, width), 'attn_k': (groups, width), 'attn_v': (groups, width),
            'attn_output': (width, width), 'ffn_gate': (inner, width), 'ffn_up': (inner, width), 'ffn_down': (width, inner)}.items()}
    meta = {'llama.attention.head_count': 9, 'llama.attention.head_count_kv': 3, 'llama.attention.layer_norm_rms_epsilon': 1e-5,
            'llama.block_count': blocks, 'llama.rope.dimension_count': 64, 'llama.rope.freq_base': 100000.0}
    return e.Llama({name: array(0.02 * floats(rng, *size)) for name, size in sizes.items()}, meta, context=256)


def smollm2_prompt(e, array, rng):
    net = llama(e, array, rng)
    return net, None, lambda x: net(x, None, 0, True), [array(rng.integers(0, 49152, (1, 128)))]


def smollm2_token(e, array, rng):
    net = llama(e, array, rng)
    cache = net.new_cache()
    return net, None, lambda x: net(x, cache, 64, True), [array(rng.integers(0, 49152, (1, 1)))]


def lora(e, array, rng):
    net = llama(e.smollm2, array, rng)
    e.add_lora(net, 8, 2.0, True)
    return net, lambda x: e.f.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].reshape(-1)), None, [array(rng.integers(0, 49152, (2, 129)))]


def classifier(net, f, x, y, **options):
    """What names one of ten kinds."""
    return net, lambda x, y: f.cross_entropy(net(x), y, **options), lambda x, y: net(x), [x, y]


def fashion_mnist(e, array, rng):
    return classifier(e.Net(), e.nn.functional, array(floats(rng, 128, 1, 28, 28)), array(rng.integers(0, 10, 128)))


def resnet18(e, array, rng):
    return classifier(e.ResNet18(), e.nn.functional, array(floats(rng, 16, 1, 28, 28)), array(rng.integers(0, 10, 16)), label_smoothing=0.05)


def keyword_spotting(e, array, rng):
    return classifier(e.network(16, 10), e.nn.functional, array(floats(rng, 64, 1, 40, 63)), array(rng.integers(0, 10, 64)))


def vae(e, array, rng):
    net = e.VAE()
    return net, lambda x: e.bound(net, x), lambda x: net(x)[0], [array(rng.random((128, 1, 28, 28), np.float32))]


def dcgan(e, array, rng):
    make, tell = e.begin(e.generator(64, 32)), e.begin(e.critic(32))

    def loss(x, code):
        made = make(code)
        return e.judge(tell(x), True) + e.judge(tell(made.detach()), False) + e.judge(tell(made), True)
    return e.nn.ModuleList([make, tell]), loss, lambda x, code: make(code), [array(floats(rng, 64, 1, 28, 28)), array(floats(rng, 64, 64, 1, 1))]


def diffusion(e, array, rng):
    net, x, kind, t = e.UNet(), array(floats(rng, 64, 1, 28, 28)), array(rng.integers(0, 10, 64)), array(rng.random(64, np.float32))
    return net, lambda x, kind, t: e.loss_of(net, x, kind), lambda x, kind, t: net(x, t, kind), [x, kind, t]


def detection(e, array, rng):
    net, (images, classes, objects) = e.Net(), e.scenes(32)
    return net, lambda *x: e.loss_of(net, *x), lambda x, *_: net(x)[2], [images, classes, *e.targets(objects)]


def stereo(e, array, rng):
    net = e.Stereo(24)
    return net, lambda a, b, truth: e.f.smooth_l1_loss(net(a, b), truth), lambda a, b, truth: net(a, b), [*e.pairs(16)]


def ppo(e, array, rng):
    net, x, action = e.Player((4,), 2), array(floats(rng, 256, 4)), array(rng.integers(0, 2, 256))
    return net, lambda *x: e.loss_of(net, *x, 0.2), lambda x, *_: net(x[:8])[0], [x, action, *(array(floats(rng, 256)) for _ in range(3))]


def dqn(e, array, rng):
    net, slow = e.network(4, 2), e.network(4, 2)
    move = [array(floats(rng, 128, 4)), array(rng.integers(0, 2, 128)), array(floats(rng, 128)), array(floats(rng, 128, 4)),
            array(np.zeros(128, np.float32))]
    return net, lambda *move: e.loss_of(net, slow, 0.99, *move), lambda seen, *_: net(seen[:1]), move


def graph_network(kind):
    def make(e, array, rng):
        n, count = 4000, 20000
        edges = array(rng.integers(0, n, count)), array(rng.integers(0, n, count))
        net = e.GCN(1000, 6, 64, edges, n) if kind == 'GCN' else e.GAT(1000, 6, 64, edges)
        known = array(np.arange(120))
        return (net, lambda x, y: e.f.cross_entropy(net(x)[known], y[known]), lambda x, y: net(x),
                [array(floats(rng, n, 1000)), array(rng.integers(0, 6, n))])
    return make


def dlrm(e, array, rng):
    sizes = 1000, 500, 24
    net, x = e.DLRM(sizes), array(np.stack([rng.integers(0, size, 512) for size in sizes], 1))
    y = array(rng.integers(0, 2, 512).astype(np.float32))
    return net, lambda x, y: e.f.binary_cross_entropy_with_logits(net(x), y), lambda x, y: net(x), [x, y]


def towers(e, array, rng):
    return classifier(e.Towers(1000, 500), e.f, array(rng.integers(0, 500, (512, 2))), array(np.arange(512)))


def tree_lstm(e, array, rng):
    dice = random.Random(1)
    net, whole = e.TreeLSTM(96), e.Levels([e.expression(dice, 5) for _ in range(128)], 'cpu')
    parts = [part for level in whole.levels for part in level if part is not None]

    def call(roots, *parts):
        inner = iter(parts[1:])
        return net(types.SimpleNamespace(levels=[(parts[0], None), *zip(inner, inner)], roots=roots))
    return net, lambda y, *batch: e.f.cross_entropy(call(*batch), y), lambda y, *batch: call(*batch), [array(rng.integers(0, 10, 128)), whole.roots, *parts]


def forecasting(e, array, rng):
    net = e.Forecast(64)
    return (net, lambda x: e.nn.functional.smooth_l1_loss(net(x[:, :168]), x[:, 168:]), lambda x: net(x[:, :168]),
            [array(floats(rng, 128, 192))])


# The example, what of it, and what makes it.
ROWS = [('fashion_mnist, 128', fashion_mnist), ('resnet18, 16', resnet18), ('char_lstm, 32×128; 1×128', char_lstm), ('char_gpt, 32×128; 1×128', char_gpt),
        ('semantic_search, 32×32', semantic_search), ('smollm2, prompt of 128', smollm2_prompt), ('smollm2, a token', smollm2_token),
        ('lora, 2×128', lora), ('vae, 128', vae), ('dcgan, 64', dcgan), ('diffusion, 64', diffusion), ('detection, 32', detection),
        ('stereo, 16', stereo), ('keyword_spotting, 64', keyword_spotting), ('ppo, 256; 8', ppo), ('dqn, 128; 1', dqn),
        ('graph_networks, GCN', graph_network('GCN')), ('graph_networks, GAT', graph_network('GAT')), ('recommendation, DLRM, 512', dlrm),
        ('recommendation, towers, 512', towers), ('tree_lstm, 128', tree_lstm), ('forecasting, 128', forecasting)]
