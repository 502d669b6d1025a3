"""Memory read as another dtype, and as the parts of complex numbers, against PyTorch."""
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

DTYPES = 'uint8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128'.split()
READ = '''x.view(t.float64); x[:, :3].view(t.float64); x[:, ::2].view(t.float64); x.t().view(t.float64); x.t().view(t.int16); x.t().view(t.int32)
x[:, 1:3].view(t.float64); x[:, 2:].view(t.float64); x[:, 1:].view(t.int16); x[1:].view(t.complex64); x[::2].view(t.int16); x[0, 1].view(t.int32)
x[0, 1].view(t.int16); x[:, :1].view(t.float64); t.zeros(0, 4).view(t.float64); x.view(dtype=t.int64); t.zeros(2, 3).view(t.float64)
x.clone().requires_grad_().view(t.int32); x.view(t.float32); t.tensor([1, 2, 3, 4], dtype=t.uint8).view(t.int32); t.eye(2).byte().view(t.bool)
x.unsqueeze(2).view(t.float64); x.unsqueeze(0).view(t.int64); x.expand(2, 4, 4).view(t.int64)'''.replace('\n', '; ').split('; ')


@pytest.mark.parametrize('to', DTYPES)
@pytest.mark.parametrize('of', DTYPES)
def test_every_dtype_as_every_other(torch, of, to):
    def run(t):
        made = t.arange(64).reshape(4, 16).to(getattr(t, of)).view(getattr(t, to))
        return made.dtype.itemsize, tuple(made.stride()), made.isnan().sum(), made.nan_to_num(0, 0, 0)
    same(torch, run)


@pytest.mark.parametrize('text', READ)
def test_shapes_and_refusals(torch, text):
    def run(t):
        made = eval(text, {'t': t, 'x': t.arange(16.0).reshape(4, 4)})
        return made, tuple(made.stride()), made.requires_grad
    same(torch, run)


@pytest.mark.parametrize('text', ['x[:, :3].view(t.float64)', 'x.t().view(t.float64)', 'x[:, 1:3].view(t.float64)', 'x[0, 1].view(t.int16)'])
def test_refusals_read_as_pytorchs(torch, text):
    texts = []
    for t in torch, ours:
        with pytest.raises(RuntimeError) as caught:
            eval(text, {'t': t, 'x': t.arange(16.0).reshape(4, 4)})
        texts.append(str(caught.value).removeprefix('[view] '))
    assert texts[0] == texts[1]


def test_writes_reach_the_same_memory(torch):
    def run(t):
        x = t.arange(8.0)
        x.view(t.int32)[1] = 0x40000000
        z = t.zeros(3, dtype=t.complex64)
        t.view_as_real(z)[:, 1] = 2
        z.real.add_(5)
        z.imag[0] = -1
        t.imag(z)[2:].mul_(3)
        pairs = t.zeros(2, 3, 2)
        t.view_as_complex(pairs)[1] = 1 + 4j
        weight = t.nn.Parameter(t.zeros(2, 2, dtype=t.complex64))
        with t.no_grad():
            t.nn.init.ones_(t.view_as_real(weight))
        return x, z, pairs, weight
    same(torch, run)


def test_parts_have_gradients(torch):
    def run(t):
        z = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        pairs = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        (t.view_as_real(z).square().sum() + (z.real * z.imag).sum() + t.view_as_complex(pairs).abs().sum()).backward()
        return z.grad, pairs.grad
    same(torch, run)
    same(torch, lambda t: t.func.vmap(lambda z: t.view_as_real(z).sum(0))(t.tensor([[1 + 2j], [3 + 4j]])))
    same(torch, lambda t: t.func.jvp(lambda p: t.view_as_complex(p).abs(), (t.ones(2, 2),), (t.ones(2, 2),)))


def test_differences_of_bools(torch):
    b = [True, False]
    for run in (lambda t: t.tensor(b) - t.tensor(b), lambda t: t.tensor(b).sub(t.tensor(b)), lambda t: t.sub(t.tensor(b), True), lambda t: -t.tensor(b),
                lambda t: True - t.tensor(b), lambda t: t.rsub(t.tensor(b), 1), lambda t: t.tensor(b) ^ t.tensor(b)):
        error = same(torch, run)
        if isinstance(error, Exception):
            with pytest.raises(type(error)) as caught:
                run(ours)
            assert str(caught.value).split('] ', 1)[1] == str(error)
