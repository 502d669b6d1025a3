"""Gradients of first and second order against differences, for complex tensors by their parts."""
import numpy as np
import pytest

import tenon
from tenon import fft
from tenon.testing import gradcheck, gradgradcheck


def parts(z):
    return (tenon.real(z), tenon.imag(z)) if z.dtype.is_complex else z


ALONG = {'n': None, 'shorter': 3, 'longer': 7, 'longer, even': 8}
CASES = {f'{name}, {what}': (name, {'n': n, 'norm': norm}) for name in ('fft', 'ifft', 'rfft', 'irfft', 'hfft', 'ihfft')
         for (what, n), norm in zip(ALONG.items(), ('backward', 'ortho', 'forward', 'ortho'))}
CASES.update({f'{name}, {number}': (name, arguments) for name in ('fftn', 'ifftn', 'rfftn', 'irfftn') for number, arguments in
              enumerate([{}, {'axes': (1, 0), 'norm': 'ortho'}, {'s': (4, 3), 'axes': (0, 1), 'norm': 'forward'}, {'s': (3, 6)}])})


@pytest.mark.parametrize('name', CASES)
def test_gradients(name):
    called, arguments = CASES[name]
    function = getattr(fft, called)
    rng = np.random.default_rng(len(name))
    inputs = tuple(tenon.tensor(rng.standard_normal((3, 5)), requires_grad=True) for _ in range(2))
    if called in ('rfft', 'rfftn', 'ihfft'):
        inputs = inputs[:1]
        assert gradcheck(lambda x: parts(function(x, **arguments)), inputs)
        assert gradgradcheck(lambda x: parts(function(x * x, **arguments)), inputs)
    else:
        assert gradcheck(lambda re, im: parts(function(tenon.complex(re, im), **arguments)), inputs)
        assert gradgradcheck(lambda re, im: parts(function(tenon.complex(re * re, im * re), **arguments)), inputs)


def test_real_numbers_treated_as_complex():
    x = tenon.tensor(np.random.default_rng(0).standard_normal(6), requires_grad=True)
    assert gradcheck(lambda x: tenon.abs(fft.fft(x)), (x,))
    tenon.real(fft.fft(x)).sum().backward()
    assert x.grad.dtype == tenon.float64 and np.allclose(np.asarray(x.grad), [6, 0, 0, 0, 0, 0])


def test_shifts():
    x = tenon.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    assert gradcheck(lambda x: fft.fftshift(x) * fft.ifftshift(x), (x,))


def test_a_filter_is_learned():
    # Circular convolution by way of the spectrum: the gradient with respect to the kernel recovers it.
    rng = np.random.default_rng(0)
    x, wanted = tenon.asarray(rng.standard_normal((8, 16))), tenon.asarray(rng.standard_normal(16))
    y = fft.irfft(fft.rfft(x) * fft.rfft(wanted), n=16)
    kernel = tenon.zeros(16, dtype=tenon.float64).requires_grad_()
    for _ in range(300):
        loss = ((fft.irfft(fft.rfft(x) * fft.rfft(kernel), n=16) - y) ** 2).mean()
        kernel.grad = None
        loss.backward()
        with tenon.no_grad():
            kernel -= 0.4 * kernel.grad
    assert np.allclose(np.asarray(kernel.detach()), np.asarray(wanted), atol=1e-2)
