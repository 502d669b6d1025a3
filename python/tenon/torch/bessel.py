"""Bessel functions of the second kind and of oscillating first kind, and Airy's: series near 0, an integral beyond.

The integral is e^z √z K(z) = ∫ exp(-u²/2) cosh(νt) / √(1 + u²/4z) du over u > 0 with 2 sinh(t/2) = u/√z (DLMF 10.32.9, after that
substitution). Its integrand is even and analytic around the real line, so the trapezoidal rule converges exponentially: the step below
leaves an error of about 1e-15 wherever |z| ≥ 2 (z > 0) or |z| ≥ 4 (z on the imaginary axis, which gives J and Y: DLMF 10.27.8).
"""
import math

from .._core import ops
from ._common import in_double

__all__ = ['airy_ai', 'bessel_j0', 'bessel_j1', 'bessel_y0', 'bessel_y1', 'modified_bessel_k0', 'modified_bessel_k1',
           'scaled_modified_bessel_k0', 'scaled_modified_bessel_k1']

_where, _sqrt, _exp, _log, _complex, _real, _imag = (
    ops[name] for name in ('where', 'sqrt', 'exp', 'log', 'complex', 'real', 'imag'))
_STEP, _NODES, _TERMS, _EULER = 0.45, 20, 26, 0.57721566490153286


def _integral(z, order):
    """√z e^z K(z) for an order of 0, 1 or 1/3."""
    total = 0.5
    for k in range(1, _NODES):
        square = (k * _STEP) ** 2 / z
        term = math.exp(-(k * _STEP) ** 2 / 2) / _sqrt(1 + square / 4)
        if order == 1:
            term = term * (1 + square / 2)
        elif order:
            term = term * ops['cosh'](ops['asinh'](_sqrt(square) / 2) * (2 * order))
        total = term + total
    return total * _STEP


def _series(square, order):
    """Σ qᵏ / (k! (k + n)!), and the same sum with the weights ψ(k + 1) + ψ(k + n + 1) of logarithmic solutions."""
    plain = weighted = 0 * square
    term, harmonic = 1 + 0 * square, -2 * _EULER + order
    for k in range(_TERMS):
        plain, weighted = plain + term, weighted + term * harmonic
        term = term * square / ((k + 1) * (k + 1 + order))
        harmonic += 1 / (k + 1) + 1 / (k + 1 + order)
    return plain, weighted


def _hankel(x, order):
    """(J, Y) for x ≥ 4."""
    phase = x - (math.pi / 4 + order * math.pi / 2)
    wave = _integral(_complex(0 * x, -x), order) * _complex(ops['cos'](phase), ops['sin'](phase))
    scale = 2 / math.pi / _sqrt(x)
    return _real(wave) * scale, _imag(wave) * scale


def _first(x, order):
    """J; 0 at infinity."""
    size = ops['abs'](x)
    far, endless = size > 4, ops['isinf'](size)
    near = _where(far, 1.0, x)
    low = _series(near * near * -0.25, order)[0]
    high = _where(endless, 0.0, _hankel(_where(far & ~endless, size, 4.0), order)[0])
    return _where(far, high * ops['sign'](x), low * near / 2) if order else _where(far, high, low)


def _second(x, order):
    """Y; -∞ at 0, NaN below."""
    far, endless = x > 4, ops['isinf'](x)
    near = _where(far | (x <= 0), 1.0, x)
    plain, weighted = _series(near * near * -0.25, order)
    low = (2 * _log(near / 2) * plain - weighted) / math.pi
    low = low * near / 2 - 2 / math.pi / near if order else low
    high = _where(endless, 0.0, _hankel(_where(far & ~endless, x, 4.0), order)[1])
    return _edges(x, _where(far, high, low), -math.inf)


def _modified(x, order, scaled):
    """K, or e^x K; ∞ at 0, NaN below."""
    far = x > 2
    near = _where(far | (x <= 0), 1.0, x)
    plain, weighted = _series(near * near * 0.25, order)
    low = weighted / 2 - _log(near / 2) * plain
    low = 1 / near - low * near / 2 if order else low
    large = _where(far, x, 2.0)
    high = _integral(large, order) / _sqrt(large)
    return _edges(x, _where(far, high if scaled else high * _exp(-large), low * _exp(near) if scaled else low), math.inf)


def _edges(x, found, pole):
    return _where(x > 0, found, _where(x == 0, pole, math.nan))


def _airy(x):
    """Ai, which is K of order 1/3 of ⅔x^(3/2) (DLMF 9.6.2, 9.6.8); its Maclaurin series around 0."""
    high, low = x > 2.2, x < -3.4
    near = _where(high | low, 0.0, x)
    cube, even, odd, first, second = near ** 3, 0 * near, 0 * near, 1 + 0 * near, near
    for k in range(_TERMS):
        even, odd = even + first, odd + second
        first, second = first * cube / ((3 * k + 2) * (3 * k + 3)), second * cube / ((3 * k + 3) * (3 * k + 4))
    middle = even / (3 ** (2 / 3) * math.gamma(2 / 3)) - odd / (3 ** (1 / 3) * math.gamma(1 / 3))
    right = _where(high, x, 4.0)
    root = _sqrt(right)
    zeta = right * root / 1.5
    falling = _exp(-zeta) / (math.pi * math.sqrt(2) * _sqrt(root)) * _integral(zeta, 1 / 3)
    left = _where(low & ~ops['isinf'](x), -x, 4.0)
    root = _sqrt(left)
    zeta = left * root / 1.5
    angle = zeta - math.pi / 4
    wave = _integral(_complex(0 * zeta, -zeta), 1 / 3) * _complex(ops['cos'](angle), ops['sin'](angle))
    waving = math.sqrt(2) / math.pi * _real(wave) / _sqrt(root)
    return _where(high, falling, _where(ops['isinf'](x), 0.0, _where(low, waving, middle)))


def _named(name, doc, function, *arguments):
    def call(input):
        return _where(ops['isnan'](input), input, function(input, *arguments))
    call.__name__, call.__doc__ = name, doc
    return in_double(call)


bessel_j0 = _named('bessel_j0', 'The Bessel function J₀.', _first, 0)
bessel_j1 = _named('bessel_j1', 'The Bessel function J₁.', _first, 1)
bessel_y0 = _named('bessel_y0', 'The Bessel function Y₀ of positive numbers.', _second, 0)
bessel_y1 = _named('bessel_y1', 'The Bessel function Y₁ of positive numbers.', _second, 1)
modified_bessel_k0 = _named('modified_bessel_k0', 'The modified Bessel function K₀ of positive numbers.', _modified, 0, False)
modified_bessel_k1 = _named('modified_bessel_k1', 'The modified Bessel function K₁ of positive numbers.', _modified, 1, False)
scaled_modified_bessel_k0 = _named('scaled_modified_bessel_k0', 'K₀(x) exp(x) of positive numbers.', _modified, 0, True)
scaled_modified_bessel_k1 = _named('scaled_modified_bessel_k1', 'K₁(x) exp(x) of positive numbers.', _modified, 1, True)
airy_ai = _named('airy_ai', 'The Airy function Ai.', _airy)
