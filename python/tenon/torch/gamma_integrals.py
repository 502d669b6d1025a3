"""The regularised incomplete gamma functions P and Q, as torch.igamma and torch.igammac (DLMF 8.2.4, in float64 inside)."""
import math

from .. import _core, no_grad
from .._core import ops
from .._errors import UnsupportedDtypeError
from ..autograd import Function
from ._common import cast, into, rank, somewhere, to_tensors

__all__ = ['gammainc', 'gammaincc', 'igamma', 'igammac']

_where, _log = ops['where'], ops['log']
_MOST = 10_000  # terms; far from the peak of the integrand a few dozen suffice


def _power_series(a, x):
    """P(a, x) x^-a e^x Γ(a): Σ xⁿ / (a (a + 1) … (a + n)), for x < a + 1 (DLMF 8.7.1)."""
    term = total = 1 / a
    for n in range(1, _MOST):
        term = term * x / (a + n)
        total = total + term
        if not somewhere(~(term <= total * 1e-17)):
            break
    return total


def _continued_fraction(a, x):
    """Q(a, x) x^-a e^x Γ(a), for x ≥ a + 1 (DLMF 8.9.2), by Lentz's method (Press et al. 2007, section 5.2)."""
    b = x + 1 - a
    c, d = ops['full_like'](x, 1e300), 1 / b
    found = d
    for n in range(1, _MOST):
        factor = (a - n) * n
        b = b + 2
        d, c = 1 / (factor * d + b), b + factor / c
        found = found * (c * d)
        if not somewhere(~(ops['abs'](c * d - 1) < 5e-16)):
            break
    return found


# B₂ₖ / (2k (2k - 1)): the terms of log Γ(a) beyond Stirling's formula, in odd powers of 1/a (DLMF 5.11.1)
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]


def _density(a, x):
    """x^a e^-x / Γ(a); from 10 on computed without a difference of large logarithms."""
    large = _where(a > 10, a, 10.0)
    off = _where(a > 10, (x - large) / large, 0.0)
    square = 1 / (large * large)
    rest = _STIRLING[-1]
    for coefficient in reversed(_STIRLING[:-1]):
        rest = rest * square + coefficient
    far = ops['sqrt'](large * (0.5 / math.pi)) * ops['exp'](-large * (off - ops['log1p'](off)) - rest / large)
    small = _where(a > 10, 1.0, a)
    return _where(a > 10, far, ops['exp'](small * _log(x) - x - ops['lgamma'](small)))


def _both(a, x):
    """(P, Q) of float64 tensors of one shape."""
    usual = (a > 0) & (x > 0) & ops['isfinite'](a) & ops['isfinite'](x)
    s, t = _where(usual, a, 1.0), _where(usual, x, 1.0)
    below = t < s + 1
    size = _density(s, t)
    lower = size * _power_series(s, _where(below, t, 0.0))
    upper = size * _continued_fraction(s, _where(below, s + 1, t))
    p, q = _where(below, lower, 1 - upper), _where(below, 1 - lower, upper)
    # P is 0 or 1 if a or x is 0 or infinite. It is undefined if either is negative, or if both are 0 or infinite.
    whole = ((a == 0) | (x == float('inf'))) & ~usual
    undefined = ~((a >= 0) & (x >= 0)) | ((a == 0) & (x == 0)) | (ops['isinf'](a) & ops['isinf'](x))
    p, q = (_where(usual, value, _where(whole, end, 1.0 - end)) for value, end in ((p, 1.0), (q, 0.0)))
    return [_where(undefined, float('nan'), value) for value in (p, q)]


class _Integral(Function):
    """P or Q with the gradient for x; the gradient for a is not an elementary function and is refused, as in PyTorch."""

    @staticmethod
    def forward(ctx, a, x, upper):
        ctx.save_for_backward(a, x)
        ctx.sign, ctx.of_a = -1.0 if upper else 1.0, a.requires_grad
        with no_grad():
            return _both(a, x)[upper]

    @staticmethod
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        a, x = ctx.saved_tensors
        if ctx.of_a:
            raise NotImplementedError('[igamma] has no gradient for its first argument: detach() it')
        return None, gradient * (ctx.sign * _density(a, x) / x), None


def _function(name, upper, doc):
    def call(input, other, *, out=None):
        a, x = to_tensors(input, other)
        dtype = a.dtype
        if rank(dtype) != 2:
            raise UnsupportedDtypeError(f'[{name}] needs floating numbers, not {dtype}')
        shape = (a + x).shape
        a, x = (ops['expand'](cast(each, _core.float64), shape) for each in (a, x))
        return into(out, cast(_Integral.apply(a, x, upper), dtype))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


igamma = _function('igamma', False, 'P(a, x): the integral of t^(a - 1) e^-t from 0 to x, divided by Γ(a).')
igammac = _function('igammac', True, 'Q(a, x) = 1 - P(a, x): the same integral from x on.')
gammainc, gammaincc = igamma, igammac
