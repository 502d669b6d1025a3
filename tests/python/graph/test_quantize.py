"""Programs whose products use 8-bit integers: compared with the same arithmetic in double precision, and with f32."""
import re

import numpy as np
import pytest

import tenon
from tenon import nn


def product(x, w, bias=0.0, given=None):
    scale = np.abs(w).max(-1, keepdims=True) / np.float32(127)
    weight = np.rint(w / scale).astype(np.float64)
    low, high = (np.minimum(x.min(-1, keepdims=True), 0), np.maximum(x.max(-1, keepdims=True), 0)) if given is None else np.float32(given)
    steps = np.float32(255) / (high - low)
    zero = np.rint(-low * steps)
    entries = np.clip(np.rint(x * steps) + zero, 0, 255) - zero
    return (entries.astype(np.float64) @ weight.T) * ((high - low).astype(np.float64) / 255) * scale.T.astype(np.float64) + bias


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize('rows, n, outputs', [(1, 64, 64), (3, 100, 70), (5, 577, 9), (12, 65, 17), (13, 1, 1), (37, 384, 65), (43, 1538, 49), (200, 64, 130)])
def test_linear_w8a8(rows, n, outputs):
    x, w, bias = random(rows, n), random(outputs, n, seed=1), random(outputs, seed=2)
    packed, scale = tenon.quantize_int8(tenon.tensor(w), n)
    for ends in (None, (-1.0, 2.0)):
        given = None if ends is None else tenon.tensor(ends)
        found = tenon.linear_w8a8(tenon.tensor(x), packed, scale, tenon.tensor(bias), given).numpy()
        np.testing.assert_allclose(found, product(x, w, bias, ends), rtol=1e-5, atol=1e-4)
        program = tenon.graph.trace(lambda x: tenon.linear_w8a8(x, packed, scale, tenon.tensor(bias), given), tenon.tensor(x))
        np.testing.assert_array_equal(program(tenon.tensor(x)).numpy(), found)


@pytest.mark.parametrize('dtype', ['int8', 'uint8'])
@pytest.mark.parametrize('rows, n, outputs', [(1, 1, 1), (2, 63, 3), (9, 64, 5), (12, 3, 15), (33, 1500, 66), (800, 257, 81)])
def test_linear_integer_is_exact(dtype, rows, n, outputs):
    draw = np.random.default_rng(rows)
    limits = np.iinfo(dtype)
    x = draw.integers(limits.min, limits.max + 1, (rows, n)).astype(dtype)
    w = draw.integers(-128, 128, (outputs, n)).astype(np.int8)
    x[0], w[0] = limits.min if dtype == 'int8' else limits.max, -128  # the largest sum
    wanted, weight, x = x.astype(np.int64) @ w.astype(np.int64).T, tenon.tensor(w), tenon.tensor(x)
    found = tenon.linear_integer(x, weight)
    assert found.dtype == tenon.int32
    np.testing.assert_array_equal(found.numpy(), wanted)
    program = tenon.graph.trace(lambda x: tenon.linear_integer(x, weight), x)
    np.testing.assert_array_equal(program(x).numpy(), wanted)
    weight[-1] = 1  # what was laid out once is so again
    wanted[:, -1] = x.numpy().astype(np.int64).sum(-1)
    np.testing.assert_array_equal(program(x).numpy(), wanted)


def test_programs_lay_weights_of_bytes_out_once():
    packed, scale = tenon.quantize_int8(tenon.tensor(random(24, 64)), 64)
    of_reals = tenon.graph.trace(lambda x: tenon.linear_w8a8(x, packed, scale), tenon.zeros(3, 64))
    of_bytes = tenon.graph.trace(lambda x: tenon.linear_integer(x, packed), tenon.zeros(3, 64).to('int8'))
    for program in of_reals, of_bytes:  # where the processor cannot multiply bytes, they are products of f32
        assert not re.search(r'  kernel  .* = linear_', program.explain()), program.explain()


def test_rows_of_zeros_and_empty_products():
    packed, scale = tenon.quantize_int8(tenon.ones(4, 64), 64)
    assert tenon.linear_w8a8(tenon.zeros(2, 64), packed, scale).tolist() == [[0.0] * 4] * 2
    assert tenon.linear_w8a8(tenon.ones(1, 64), packed, scale, None, tenon.tensor([0.0, 0.0])).tolist() == [[0.0] * 4]
    assert tenon.linear_w8a8(tenon.zeros(0, 64), packed, scale).shape == (0, 4)
    assert tenon.linear_integer(tenon.zeros(3, 0).to('int8'), tenon.zeros(2, 0).to('int8')).tolist() == [[0, 0]] * 3


def test_invalid_operands_are_refused():
    packed, scale = tenon.quantize_int8(tenon.ones(4, 64), 32)
    with pytest.raises(ValueError, match='a scale for each row'):
        tenon.linear_w8a8(tenon.ones(1, 64), packed, scale)
    with pytest.raises(ValueError, match='does not fit'):
        tenon.linear_integer(tenon.ones(1, 32).to('int8'), packed)
    with pytest.raises(tenon.PreconditionError, match='nothing to quantize'):
        tenon.graph.trace(nn.Linear(8, 8), tenon.zeros(1, 8)).quantize()
    with pytest.raises(ValueError, match='int4'):
        tenon.compile(nn.Linear(8, 8), quantize='int4')
    two = tenon.graph.trace(lambda x, y: nn.functional.linear(x + y, tenon.ones(64, 64)), tenon.zeros(64), tenon.zeros(64))
    with pytest.raises(ValueError, match='structure'):
        two.quantize([tenon.zeros(64)])


class Block(nn.Module):
    """linear, a product by a shared matrix, one of two traced tensors, one too small, and an activation."""

    def __init__(self):
        super().__init__()
        self.first, self.small, self.last = nn.Linear(96, 128), nn.Linear(128, 8), nn.Linear(128, 96, bias=False)
        self.matrix = tenon.tensor(random(128, 128, seed=3) / 11)

    def forward(self, x):
        y = nn.functional.gelu(self.first(x))
        y = (y @ self.matrix + y) @ self.matrix
        return self.last(y), self.small(y), y @ y.transpose(-1, -2)


def similarity(a, b):
    a, b = (x.detach().numpy().astype(np.float64).ravel() for x in (a, b))
    return a @ b / np.sqrt((a @ a) * (b @ b))


@pytest.mark.parametrize('static', [False, True])
def test_a_program(static, tmp_path):
    tenon.manual_seed(0)
    net, x = Block().eval(), tenon.tensor(random(3, 5, 96))
    program = tenon.graph.trace(net, x)
    small = program.quantize([x, x * 0.5] if static else ())
    assert str(small).count('linear_w8a8') == 4 and str(small).count('= linear(') == 1 and str(small).count('= matmul(') == 1
    assert 'linear_w8a8' in small.explain()
    for found, wanted in zip(small(x), program(x)):
        assert similarity(found, wanted) > 0.999
    small.save(tmp_path / 'small.safetensors')
    program.save(tmp_path / 'large.safetensors')
    size = [(tmp_path / f'{name}.safetensors').stat().st_size for name in ('small', 'large')]
    assert size[0] < 0.45 * size[1]
    again = tenon.graph.load(tmp_path / 'small.safetensors')
    assert all((a == b).all().item() for a, b in zip(again(x), small(x)))
    ranges = [value.tolist() for name, value in tenon.io.load(tmp_path / 'small.safetensors').items() if name.endswith('.range')]
    assert len(ranges) == (4 if static else 0)
    assert not static or [x.min().item(), x.max().item()] in ranges


@pytest.mark.parametrize('static', [False, True])
def test_sizes_that_vary(static):
    tenon.manual_seed(0)
    net = Block().eval()
    fixed = tenon.tensor(random(2, 7, 96))
    program = tenon.graph.trace(net, fixed, dynamic={'x': {0: 'batch', 1: 'length'}})
    samples = [fixed] if static else ()
    small = program.quantize(samples)
    assert small.inputs == program.inputs and small.results == program.results
    for shape in [(1, 1, 96), (4, 9, 96), (2, 7, 96)]:
        x = tenon.tensor(random(*shape, seed=shape[1])) * 0.5
        wanted = tenon.graph.trace(net, x).quantize(samples) if not static else None
        found = small(x)
        for mine, of_fixed, exact in zip(found, wanted(x) if wanted else found, net(x)):
            assert (mine == of_fixed).all().item()
            assert similarity(mine, exact) > 0.998


def test_numbers_computed_from_sizes_stay():
    weight = tenon.tensor(random(64, 96))
    program = tenon.graph.trace(lambda x: (x @ weight.mT) * (x.shape[0] * 0.3 - 0.5), tenon.ones(4, 96), dynamic={'x': {0: 'batch'}})
    small = program.quantize()
    for rows in (1, 3, 8):
        x = tenon.tensor(random(rows, 96, seed=rows))
        assert similarity(small(x), program(x)) > 0.999
        assert 0.98 < (small(x).norm() / program(x).norm()).item() < 1.02


def test_compile():
    tenon.manual_seed(0)
    net, x = Block().eval(), tenon.tensor(random(4, 96))
    fast = tenon.compile(net, quantize='int8')
    with tenon.no_grad():
        found, wanted = fast(x), net(x)
        assert all(similarity(a, b) > 0.999 and (a != b).any().item() for a, b in zip(found, wanted))
        tiny = tenon.compile(lambda y: y * 2, quantize='int8')
        assert tiny(tenon.ones(2)).tolist() == [2.0, 2.0]
