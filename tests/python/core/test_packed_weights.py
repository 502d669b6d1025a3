"""Weights in four and eight bits: their error, products of few and many rows, what is refused."""
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
    quantize, dequantize, linear = of(bits)
    random = np.random.default_rng(rows)
    packed = quantize(tenon.tensor(random.normal(size=(13, 128)).astype(np.float32)))
    x, bias = random.normal(size=(rows, 128)).astype(np.float32), random.normal(size=13).astype(np.float32)
    wanted = x.astype(np.float64) @ dequantize(*packed).numpy().astype(np.float64).T + bias
    found = linear(tenon.tensor(x), *packed, tenon.tensor(bias))
    np.testing.assert_allclose(found.numpy(), wanted, atol=2e-5)


@pytest.mark.parametrize('bits', [4, 8])
def test_what_is_refused(bits):
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
