"""torch.special: special functions, as far as they are compositions of ops."""
import math

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError
from ._common import Tensor, cast, defaults, floating, in_double, into, largest, promoted, rank, somewhere, to_tensors, unary
from .arithmetic import _x_times, xlogy
from .bessel import (airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, modified_bessel_k0, modified_bessel_k1,
                     scaled_modified_bessel_k0, scaled_modified_bessel_k1)
from .gamma_integrals import gammainc, gammaincc
from .pointwise import digamma, erf, erfc, erfinv, exp2, expm1, log1p, logit, round, sinc
from .pointwise import lgamma as gammaln
from .pointwise import sigmoid as expit
from .reduce import log_softmax, logsumexp, softmax

__all__ = ['airy_ai', 'bessel_j0', 'bessel_j1', 'bessel_y0', 'bessel_y1', 'chebyshev_polynomial_t', 'chebyshev_polynomial_u',
           'chebyshev_polynomial_v', 'chebyshev_polynomial_w', 'digamma', 'entr', 'erf', 'erfc', 'erfcx', 'erfinv', 'exp2', 'expit',
           'expm1', 'gammainc', 'gammaincc', 'gammaln', 'hermite_polynomial_h', 'hermite_polynomial_he', 'i0', 'i0e', 'i1', 'i1e', 'laguerre_polynomial_l',
           'legendre_polynomial_p', 'log1p', 'log_ndtr', 'log_softmax', 'logit', 'logsumexp', 'modified_bessel_i0', 'modified_bessel_i1',
           'modified_bessel_k0', 'modified_bessel_k1', 'multigammaln', 'ndtr', 'ndtri', 'polygamma', 'psi', 'round',
           'scaled_modified_bessel_k0', 'scaled_modified_bessel_k1', 'shifted_chebyshev_polynomial_t', 'shifted_chebyshev_polynomial_u',
           'shifted_chebyshev_polynomial_v', 'shifted_chebyshev_polynomial_w', 'sinc', 'softmax', 'spherical_bessel_j0', 'xlog1py',
           'xlogy', 'zeta']

_where, _log = ops['where'], ops['log']
psi = digamma


def xlog1py(input, other, *, out=None):
    """input · log(1 + other), and 0 where input is 0."""
    return into(out, _x_times(input, other, 1))


@unary
def entr(input):
    """-x log x; 0 at 0, -∞ below."""
    x = floating(input)
    inside = x > 0
    return _where(ops['isnan'](x), x, _where(inside, -x * _log(_where(inside, x, 1)), _where(x == 0, x, -math.inf)))


@unary
def ndtr(input):
    """The distribution function of the standard normal."""
    return ops['erfc'](floating(input) * -math.sqrt(0.5)) * 0.5


def multigammaln(input, p, *, out=None):
    """The logarithm of the multivariate gamma function of dimension p."""
    x = floating(input)
    if p < 1:
        raise InvalidArgumentError(f'[mvlgamma] p {p} must be at least 1')
    places = ops['arange'](0, p, 1, x.dtype, x.device) * -0.5
    found = ops['sum'](ops['lgamma'](ops['unsqueeze'](x, -1) + places), -1) + p * (p - 1) / 4 * math.log(math.pi)
    return into(out, found)


mvlgamma = multigammaln


def _polynomial(name, start, step):
    """The polynomial of degree n, a tensor or a number, by the recurrence from the first two."""
    def call(input, n, *, out=None):
        return into(out, _recurrence(input, n, start, step))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'The {name.replace("_", " ")} of degree n.'
    return call


_DEGREES = 100_000  # a step takes microseconds


def _recurrence(x, n, start, step):
    if not isinstance(x, Tensor) and not isinstance(n, Tensor):
        raise TypeError('a Tensor is needed')
    if not isinstance(x, Tensor):
        x = ops['full']((), float(x), n.dtype if rank(n.dtype) == 2 else defaults.dtype, n.device)
    x = floating(x)
    if not isinstance(n, Tensor):
        n = ops['full']((), n, _core.int64, x.device)
    elif rank(n.dtype) == 2:
        x = promoted(x, n)[0]
    n = cast(ops['trunc'](n) if rank(n.dtype) == 2 else n, _core.int64)
    x, n = x + 0 * cast(n, x.dtype), n + cast(0 * x.detach(), _core.int64)
    most = int(largest(n)) if n.size else 0
    if most > _DEGREES:
        raise InvalidArgumentError(f'[special] a polynomial of degree {most}: the recurrence goes to {_DEGREES}')
    before, now = ops['full_like'](x, 1), start(x)
    found = _where(n == 0, before, _where(n < 0, 0 * before, now))
    for k in range(1, most):
        before, now = now, step(x, k, now, before)
        found = _where(n == k + 1, now, found)
    return found


def _twice(x, k, now, before):
    return 2 * x * now - before


def _shifted(x, k, now, before):
    return 2 * (2 * x - 1) * now - before


chebyshev_polynomial_t = _polynomial('chebyshev_polynomial_t', lambda x: x, _twice)
chebyshev_polynomial_u = _polynomial('chebyshev_polynomial_u', lambda x: 2 * x, _twice)
chebyshev_polynomial_v = _polynomial('chebyshev_polynomial_v', lambda x: 2 * x - 1, _twice)
chebyshev_polynomial_w = _polynomial('chebyshev_polynomial_w', lambda x: 2 * x + 1, _twice)
shifted_chebyshev_polynomial_t = _polynomial('shifted_chebyshev_polynomial_t', lambda x: 2 * x - 1, _shifted)
shifted_chebyshev_polynomial_u = _polynomial('shifted_chebyshev_polynomial_u', lambda x: 2 * (2 * x - 1), _shifted)
shifted_chebyshev_polynomial_v = _polynomial('shifted_chebyshev_polynomial_v', lambda x: 2 * (2 * x - 1) - 1, _shifted)
shifted_chebyshev_polynomial_w = _polynomial('shifted_chebyshev_polynomial_w', lambda x: 2 * (2 * x - 1) + 1, _shifted)
hermite_polynomial_h = _polynomial('hermite_polynomial_h', lambda x: 2 * x, lambda x, k, now, before: 2 * x * now - 2 * k * before)
hermite_polynomial_he = _polynomial('hermite_polynomial_he', lambda x: x, lambda x, k, now, before: x * now - k * before)
laguerre_polynomial_l = _polynomial('laguerre_polynomial_l', lambda x: 1 - x,
                                    lambda x, k, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1))
legendre_polynomial_p = _polynomial('legendre_polynomial_p', lambda x: x,
                                    lambda x, k, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1))


@unary
def spherical_bessel_j0(input):
    """sin(x) / x, and 1 at 0."""
    x = floating(input)
    zero = x == 0
    safe = _where(zero, 1, x)
    return _where(zero, 1.0, _where(ops['isinf'](x), 0.0, ops['sin'](safe) / safe))


def _scaled_erfc(x):
    """exp(x²) erfc(x), by its asymptotic series where the factors would overflow."""
    far = x > 20
    small = _where(far, 0, x)
    large = _where(far, x, 30)
    term = total = 1 + 0 / large  # large may be infinite
    for k in range(1, 8):
        term = term * (-(2 * k - 1) / 2) / (large * large)
        total = total + term
    return _where(far, total / (large * math.sqrt(math.pi)), ops['exp'](small * small) * ops['erfc'](small))


@in_double
def erfcx(input):
    """exp(x²) erfc(x), without overflow."""
    return _scaled_erfc(input)


@in_double
def log_ndtr(input):
    """The logarithm of ndtr(), even where ndtr() is 0."""
    low = input < -1
    left, right = _where(low, input, -1) * -math.sqrt(0.5), _where(low, 0, input) * math.sqrt(0.5)
    return _where(low, _log(_scaled_erfc(left) / 2) - left * left, ops['log1p'](ops['erfc'](right) * -0.5))


@in_double
def ndtri(input):
    """The inverse of ndtr(): √2 erfinv(2p - 1). Near 0 and 1, where that loses digits, Newton's method for log ndtr(y) = log p from
    equation 26.2.23 of Abramowitz and Stegun."""
    low = input < 0.5
    p = _where(low, input, 1 - input)
    tail = (p > 0) & (p < 0.1)
    aim = _log(_where(tail, p, 0.05))
    t = ops['sqrt'](-2 * aim)
    y = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(3):
        now = log_ndtr(y)
        y = y - (now - aim) * ops['exp'](now + y * y / 2) * math.sqrt(2 * math.pi)
    middle = ops['erfinv'](2 * _where(tail, 0.5, input) - 1) * math.sqrt(2)
    return _where(p < 0, math.nan, _where(tail, _where(low, y, -y), middle))


def _modified_bessel(x, order):
    """(Iₙ exp(-|x|), |x|) for n = 0 or 1: the power series up to 30, beyond it the asymptotic one."""
    size = ops['abs'](x)
    far = size > 30
    near = _where(far, 0, x)
    quarter = near * near / 4
    term = total = 1 + 0 * near
    for k in range(1, 70):
        term = term * quarter / (k * (k + order))
        total = total + term
    total = total * ops['exp'](-ops['abs'](near))
    total = total * near / 2 if order else total
    large = _where(far, size, 40)
    term = series = 1 + 0 / large
    for k in range(1, 20):
        term = term * ((2 * k - 1) ** 2 - 4 * order) / (8 * k) / large
        series = series + term
    series = series / ops['sqrt'](large * (2 * math.pi))
    return _where(far, series * ops['sign'](x) if order else series, total), size


def _i(name, order, doc, scaled=False):
    def call(input):
        found, size = _modified_bessel(input, order)
        return found if scaled else _where(ops['isinf'](size), input if order else size, found * ops['exp'](size))
    call.__name__, call.__doc__ = name, doc
    return in_double(call)


i0, i1 = _i('i0', 0, 'The modified Bessel function I₀.'), _i('i1', 1, 'The modified Bessel function I₁.')
i0e, i1e = _i('i0e', 0, 'I₀(x) exp(-|x|).', scaled=True), _i('i1e', 1, 'I₁(x) exp(-|x|).', scaled=True)
modified_bessel_i0, modified_bessel_i1 = i0, i1

# B₂ⱼ / (2j)!
_BERNOULLI = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
              -3617 / 10670622842880000]


def zeta(input, other, *, out=None):
    """The zeta function of Hurwitz: Σ (other + k)^-input over k = 0, 1, …"""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError('[zeta] needs a Tensor')
    s, q = to_tensors(input, other)
    dtype = s.dtype if rank(s.dtype) == 2 else defaults.dtype
    s, q = cast(s, _core.float64), cast(q, _core.float64)
    pole = (q <= 0) & (q == ops['floor'](q))
    good = (s > 1) & ~pole & ((q > 0) | (s == ops['floor'](s)))
    found = _hurwitz(_where(good, s, 2.0), _where(good, q, 1.0))
    nan = (s < 1) | ((q <= 0) & ~pole & (s != ops['floor'](s)))
    found = _where(good, found, _where(nan & ~pole | (s < 1), math.nan, math.inf))
    return into(out, cast(found, dtype))


def _hurwitz(s, q):
    """Of any q that is no pole. The terms at negative numbers, for whole s, are the difference of two sums at positive ones."""
    if not _core._trace_active() and not somewhere(q < 0):
        return _tail(s, q)
    below = _where(q < 0, q, -0.5)
    negative = _tail(s, ops['ceil'](below) - below) - _tail(s, 1 - below)
    found = _tail(s, _where(q < 0, below - ops['floor'](below), q))
    return found + _where(q < 0, negative * (1 - 2 * ops['remainder'](s, 2)), 0)


def _tail(s, q):
    """Sums terms until q is large, and the rest by the Euler-Maclaurin formula; q is positive."""
    steps = 12
    total = 0 * s * q
    for k in range(steps):
        total = total + (q + k) ** -s
    last = q + steps
    power = last ** -s
    total = total + last * power / (s - 1) + power / 2
    factor = s * power / last
    for j, weight in enumerate(_BERNOULLI):
        total = total + weight * factor
        factor = factor * (s + 2 * j + 1) * (s + 2 * j + 2) / (last * last)
    return total


def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma()."""
    if not 0 <= n <= 170:
        raise InvalidArgumentError(f'[polygamma] n is {n}, must be 0 to 170: n! has to fit into a float64')
    x = floating(input)
    if n == 0:
        return into(out, ops['digamma'](x))
    double = cast(x, _core.float64)
    found = zeta(ops['full']((), float(n + 1), _core.float64, x.device), double) * ((-1) ** (n + 1) * float(math.factorial(n)))
    return into(out, cast(found, x.dtype))


def __getattr__(name):
    from ._absent import absent
    raise absent('special', name)
