"""Tensors, shapes, dtypes and devices as PyTorch prints them."""
import math
import pathlib
import random
import re
import subprocess
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

SHAPES = [(), (1,), (3,), (0,), (2, 0), (2, 3), (3, 1, 2), (2, 2, 2, 2), (30,), (1200,), (40, 40), (3, 400), (7, 7, 30), (100, 1, 20), (5, 5, 5, 9)]
DTYPES = 'float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128 float32 float32'.split()
OPTIONS = [{}] * 6 + [{'precision': 2}, {'precision': 8}, {'sci_mode': True}, {'sci_mode': False}, {'linewidth': 120}, {'linewidth': 40}, {'threshold': 5},
                      {'edgeitems': 1, 'threshold': 10}, {'profile': 'short'}, {'profile': 'full'}, {'edgeitems': 5}]


def number(rng, kind, scale):
    if kind == 'whole':
        return float(rng.randint(-50, 50))
    if kind == 'special' and rng.random() < 0.1:
        return rng.choice([math.inf, -math.inf, math.nan, 0.0, -0.0])
    return 0.0 if kind == 'zeros' else (rng.random() * 2 - 1) * scale


def drawn(module, seed):
    """Options, and a tensor as a seed draws it: dtype, shape, range of its numbers, history."""
    rng = random.Random(seed)
    shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
    kind, scale = rng.choice(['any', 'whole', 'special', 'any', 'zeros']), rng.choice([1, 1, 1e-5, 1e3, 1e9, 1e-3, 100])
    count = math.prod(shape)
    if dtype == 'bool':
        data = [rng.random() < 0.5 for _ in range(count)]
    elif 'int' in dtype:
        data = [rng.randint(0 if dtype == 'uint8' else -100, rng.choice([9, 100])) for _ in range(count)]
    elif dtype.startswith('complex'):
        data = [complex(number(rng, kind, scale), number(rng, kind, scale)) for _ in range(count)]
    else:
        data = [number(rng, kind, scale) for _ in range(count)]
    x = module.tensor(data, dtype=getattr(module, dtype)).reshape(shape)
    if dtype.startswith(('float', 'bfloat', 'complex')) and rng.random() < 0.3:
        x.requires_grad_()
        x = x * 1 if rng.random() < 0.4 else x
    return rng.choice(OPTIONS), x


def printed(module, seed):
    options, x = drawn(module, seed)
    module.set_printoptions(**{'profile': 'default', **options})
    try:
        return str(x), repr(x), f'{x}' if x.ndim else f'{x:}'
    finally:
        module.set_printoptions(profile='default')


@pytest.mark.parametrize('seed', range(0, 300, 25))
def test_tensors(torch, seed):
    for each in range(seed, seed + 25):
        assert printed(ours, each) == printed(torch, each), each


OTHERS = {
    'shape': lambda t: [t.ones(2, 3).shape, t.ones(2, 3).size(), t.Size([1]), t.ones(()).shape],
    'dtype': lambda t: [t.float32, t.ones(1).dtype, {t.bool: t.complex64}],
    'device': lambda t: [t.device('cpu'), t.ones(1).device, t.device('cuda:1'), t.device('meta')],
    'parameter': lambda t: t.nn.Parameter(t.ones(2, 3)),
    'frozen': lambda t: t.nn.Parameter(t.ones(2), requires_grad=False),
    'in a list': lambda t: [t.ones(2), {'a': t.zeros(1, dtype=t.float64)}],
    'max': lambda t: t.tensor([[3., 1.], [2., 5.]]).max(1),
    'sort': lambda t: t.tensor([[3., 1.], [2., 5.]]).sort(),
    'topk': lambda t: t.tensor([3., 1., 4.]).topk(2),
    'aminmax': lambda t: t.tensor([3., 1.]).aminmax(),
    'slogdet': lambda t: t.linalg.slogdet(t.eye(2)),
    'eigh': lambda t: t.linalg.eigh(t.diag(t.tensor([1., 2.]))),
    'coo': lambda t: t.sparse_coo_tensor(t.tensor([[0, 1, 1], [2, 0, 2]]), t.tensor([3., 4., 5.], dtype=t.float64), (2, 4)),
    'csr': lambda t: t.tensor([[1., 0.], [0., 2.]]).to_sparse_csr(),
    'no elements': lambda t: t.zeros(2, 3).to_sparse(),
    'module': lambda t: t.nn.Sequential(t.nn.Conv2d(1, 2, 3), t.nn.ReLU()),
    'mixture': lambda t: t.distributions.MixtureSameFamily(t.distributions.Categorical(logits=t.ones(3)), t.distributions.Normal(t.zeros(3), t.ones(3))),
    'history': lambda t: [op(t.ones(2, 2, requires_grad=True)) for op in (
        lambda x: x + 1, lambda x: x.sum(), lambda x: x.mean(1), lambda x: x @ x, lambda x: x[0], lambda x: x.view(-1), lambda x: t.cat([x, x]),
        lambda x: x.max(), lambda x: t.nn.functional.linear(x, x, x[0]), lambda x: x.log_softmax(1), lambda x: x.double())],
}


@pytest.mark.parametrize('name', OTHERS)
def test_others(torch, name):
    assert repr(OTHERS[name](ours)) == repr(OTHERS[name](torch))
    assert str(OTHERS[name](ours)) == str(OTHERS[name](torch))


def test_default_dtype(torch):
    for module in (ours, torch):
        module.set_default_dtype(module.float64)
    try:
        assert repr(ours.ones(2)) == repr(torch.ones(2)) == 'tensor([1., 1.])'
        assert repr(ours.fft.fftfreq(3)) == repr(torch.fft.fftfreq(3)) and ours.fft.rfftfreq(4, dtype=ours.float32).dtype is ours.float32
        assert repr(ours.ones(2, dtype=ours.float32)) == repr(torch.ones(2, dtype=torch.float32))
    finally:
        for module in (ours, torch):
            module.set_default_dtype(module.float32)


def test_one_number_is_formatted_as_such():
    x = ours.tensor([1.5, 2.25])
    assert f'{x[0]:.3f} {x.sum()} {x}' == '1.500 3.75 tensor([1.5000, 2.2500])'


def test_options():
    from tenon.torch.printing import get_printoptions, printoptions
    with printoptions(precision=2, linewidth=20):
        assert repr(ours.tensor([1.234, 2.347, 3.456])) == 'tensor([1.23, 2.35,\n        3.46])'
    assert get_printoptions() == {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    with pytest.raises(ValueError, match='profile'):
        ours.set_printoptions(profile='long')


PROGRAMS = {
    'asked for': ('import tenon.torch as torch; x = torch.ones(2, 1) / 3; print(x.dtype, x.shape, x[0])', 'torch.float32 torch.Size([2, 1]) tensor([0.3333])'),
    'not': ('import tenon; x = tenon.ones((2, 1)) / 3; x.max(1); print(x.dtype, x.shape, x[0])', 'float32 (2, 1) [0.33333334]'),
    'later': ('import tenon; tenon.ones(2).max(0); from tenon import torch; torch.set_printoptions(); print(tenon.ones(2))', 'tensor([1., 1.])'),
}


@pytest.mark.parametrize('name', PROGRAMS)
def test_the_importing_program_decides_how_tensors_print(name):
    program, wanted = PROGRAMS[name]
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == wanted


def histories(t):
    x = t.ones(3, requires_grad=True)

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    found = [y.grad_fn for y in (x + 1, x * x, x.exp(), x.sum(), x[0], x.view(1, 3), t.cat([x, x]), t.relu(x), Twice.apply(x),
                                 t.nn.functional.prelu(x, t.ones(1)), t.nn.functional.threshold(x, 0, 1), t.linalg.svdvals(t.outer(x, x)))]
    assert all(re.fullmatch(rf'<[a-z.]*{node.name()} object at 0x[0-9a-f]+>', text) for node in found for text in (repr(node), str(node), f'{node}'))
    return [(type(node).__name__, node.name()) for node in found], repr(Twice.apply(x)), x.grad_fn


def test_the_last_step_of_a_history(torch):
    same(torch, histories)
    node = (ours.ones(2, requires_grad=True) + 1).grad_fn
    assert isinstance(node, ours.autograd.graph.Node) and node == 'add'
    assert not hasattr(node, 'no_such_name')
