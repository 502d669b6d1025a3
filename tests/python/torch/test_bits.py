"""Memory read as another dtype, and as the parts of complex numbers, against PyTorch."""
import pathlib
import sys

import pytest

import tenon
import tenon.graph
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


@pytest.mark.parametrize('device', ['cpu', 'meta', 'gpusim:0', 'vulkan:0'])
def test_every_device_reads_its_memory(there, device):
    there(device)
    x = ours.arange(8.0, device=device)
    bits, wide, bytes_ = x.view(ours.int32), x[2:].view(ours.float64), x.view(2, 4)[:, :2].view(ours.uint8)
    z = ours.zeros(2, dtype=ours.complex64, device=device)
    made = [bits, wide, bytes_, x[3:].storage(), x[3:].untyped_storage(), z.real, z.imag, ours.view_as_complex(x.view(4, 2))]
    assert {str(each.device) for each in made} == {str(x.device)}
    assert [tuple(each.size()) if hasattr(each, 'ndim') else each.size() for each in made] == [(8,), (3,), (2, 8), 8, 32, (2,), (2,), (4,)]
    if device == 'meta':
        return
    bits[1] = 0x40000000
    x[3:].storage()[0] = 7
    z.imag[1] = 5
    ours.view_as_real(z)[0, 0] = 3
    assert x.tolist() == [7, 2, 2, 3, 4, 5, 6, 7] and z.tolist() == [3, 5j]
    assert bytes_[1].tolist() == [0, 0, 128, 64, 0, 0, 160, 64] and x[3:].storage().untyped().tolist()[-1] == 64
    assert made[-1].tolist() == [7 + 2j, 2 + 3j, 4 + 5j, 6 + 7j] and (bits + 0).tolist()[1] == 0x40000000
    flags = ours.tensor([1, 0, 1], dtype=ours.uint8, device=device)
    assert flags.view(ours.bool).tolist() == [True, False, True]
    flags[0] = 2
    with pytest.raises(tenon.InvalidArgumentError, match='0 and 1'):
        flags.view(ours.bool)


def test_a_gradient_notices_writes_through_the_bits():
    x, w = ours.ones(3), ours.ones(3, requires_grad=True)
    y = (x * w).sum()
    x.view(ours.int32).fill_(0)
    with pytest.raises(tenon.Error, match='changed'):
        y.backward()


def test_programs_say_that_they_cannot_read_bits():
    def read(x):
        return (x * 2).view(ours.int32) + 1
    with pytest.raises(tenon.UnimplementedError, match='read as another dtype'):
        tenon.graph.trace(read, ours.ones(4))
    with pytest.warns(UserWarning, match='read as another dtype'):
        assert ours.compile(read)(ours.ones(4)).tolist() == [0x40000001] * 4


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
