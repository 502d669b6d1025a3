"""Weights in four and eight bits: their error, products of few and many rows, what is refused."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tenon


def of(bits):
    return (getattr(tenon, f'{name}_int{bits}') for name in ('quantize', 'dequantize', 'linear'))


@pytest.mark.parametrize('bits, steps', [(4, 15), (8, 254)])
@pytest.mark.parametrize('group', [8, 32, 96])
def test_error_is_half_a_step(bits, steps, group):
    quantize, dequantize, _ = of(bits)
    w = np.random.default_rng(1).normal(size=(7, 96)).astype(np.float32)
    found = dequantize(*quantize(tenon.tensor(w), group)).numpy()
    groups = w.reshape(7, -1, group).astype(np.float64)
    span = np.ptp(groups, -1) if bits == 4 else 2 * np.abs(groups).max(-1)
    assert (np.abs(found - w).reshape(groups.shape).max(-1) <= span / steps / 2 * 1.001).all()


@pytest.mark.parametrize('bits', [4, 8])
@pytest.mark.parametrize('rows', [1, 2, 3, 4, 5, 16, 17, 64])  # those of the kernel, and more
def test_products(bits, rows):
    errors(bits, rows, 13, 128, 32)


def errors(bits, rows, outputs, n, group, dtype='float32', eps=2 ** -24):
    """Asserts that a product is right up to its rounding."""
    quantize, dequantize, linear = of(bits)
    random = np.random.default_rng(rows + n)

    def draw(*shape):
        return tenon.tensor(random.normal(size=shape).astype(np.float32)).to(dtype)

    def exact(x):
        return x.to(tenon.float64).numpy()

    packed, *scales = quantize(draw(outputs, n), group)
    weight = dequantize(packed, *(each.to(tenon.float64) for each in scales)).numpy()
    x, bias = draw(rows, n), draw(outputs)
    found = exact(linear(x, packed, *scales, bias))
    wanted = exact(x) @ weight.T + exact(bias)
    most = np.abs(exact(x)) @ np.abs(weight).T + np.abs(exact(bias))
    assert (np.abs(found - wanted) <= 16 * eps * most).all(), (bits, rows, outputs, n, group, dtype)


SIZES = [(32, 32), (96, 32), (160, 32), (576, 32), (1536, 32), (64, 16), (128, 64), (192, 96), (40, 8), (64, 2)]


@pytest.mark.parametrize('simd', ['', 'avx2', 'baseline'])  # the plugin reads it when it starts; if that one is not built, the best is
                                                            # used
def test_products_of_each_instruction_set(simd):
    code = ('import test_packed_weights as t\n'
            'for n, group in t.SIZES:\n'
            '  for bits, rows, outputs in ((4, 1, 9), (8, 1, 9), (4, 2, 5), (8, 2, 5), (4, 3, 3), (4, 7, 6), (8, 7, 6)):\n'
            '    t.errors(bits, rows, outputs, n, group)\n'
            '    t.errors(bits, rows, outputs, n, group, "bfloat16", 2 ** -8)\n'
            '    t.errors(bits, rows, outputs, n, group, "float16", 2 ** -11)\n')
    path = os.pathsep.join([str(pathlib.Path(__file__).parent), *filter(None, sys.path)])
    run = subprocess.run([sys.executable, '-c', code], env={**os.environ, 'TENON_CPU_SIMD': simd, 'PYTHONPATH': path}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize('bits', [4, 8])
def test_invalid_operands_are_refused(bits):
    quantize, dequantize, linear = of(bits)
    for shape, group in [((3, 0), 8), ((0,), 8), ((), 8), ((3, 12), 8), ((3, 8), 0), ((3, 8), -8)]:
        with pytest.raises(ValueError, match=f'quantize_int{bits}'):
            quantize(tenon.zeros(shape), group)
    packed, *groups = quantize(tenon.ones(3, 64))
    with pytest.raises(ValueError, match='do not divide'):
        dequantize(packed, *(each[:2] for each in groups))
    with pytest.raises(ValueError, match='does not fit a weight'):
        linear(tenon.ones(1, 32), packed, *groups)
    assert quantize(tenon.zeros(0, 64))[0].shape[0] == 0  # no rows are fine


def test_an_odd_group_is_refused():
    with pytest.raises(ValueError, match='even'):
        tenon.quantize_int4(tenon.zeros(3, 9), 3)


def test_equal_entries():
    assert tenon.dequantize_int4(*tenon.quantize_int4(tenon.full((2, 32), 3.0))).tolist() == [[3.0] * 32] * 2
    assert tenon.dequantize_int8(*tenon.quantize_int8(tenon.zeros(2, 32))).tolist() == [[0.0] * 32] * 2
