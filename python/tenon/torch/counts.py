"""torch.poisson and torch.binomial: counts by inversion and rejection, as compositions of uniform draws."""
import math

from .. import _core, no_grad
from .._core import ops
from .._errors import InvalidArgumentError
from ._common import cast, check, rank, somewhere

_where, _log = ops['where'], ops['log']
_FEW = 10.0  # inversion up to this rate, rejection above it


def _uniform(x, generator):
    return ops['uniform'](x.shape, 1e-300, 1.0, _core.float64, x.device, generator)


def _by_inversion(term, factor, generator):
    """How many terms of a distribution a uniform number covers: the first, and each times factor(k) gives the next. Its mean is some 10."""
    u = _uniform(term, generator)
    covered, count = term, ops['full_like'](term, 0.0)
    for k in range(1, 150):  # what remains is less than 1e-16
        more = u > covered
        if not somewhere(more):
            break
        count = count + cast(more, _core.float64)
        term = term * factor(k)
        covered = covered + term
    return count


def _by_rejection(rate, generator):
    """Transformed rejection, PTRS (Hörmann 1993, section 3), repeated until all are accepted."""
    b = ops['sqrt'](rate) * 2.53 + 0.931
    a = b * 0.02483 - 0.059
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    edge = 0.9277 - 3.6224 / (b - 2)
    found, waiting = ops['full_like'](rate, 0.0), rate > 0
    while somewhere(waiting):
        u, v = _uniform(rate, generator) - 0.5, _uniform(rate, generator)
        size = 0.5 - ops['abs'](u)
        k = ops['floor']((2 * a / size + b) * u + rate + 0.43)
        possible = (k >= 0) & ~((size < 0.013) & (v > size))
        kept = ops['maximum'](k, 0.0)
        likely = _log(v * inverse_alpha / (a / (size * size) + b)) <= kept * _log(rate) - rate - ops['lgamma'](kept + 1)
        accepted = ((size >= 0.07) & (v <= edge)) | (possible & likely)
        found = _where(waiting & accepted, k, found)
        waiting = waiting & ~accepted
    return found


@no_grad()
def poisson(input, generator=None):
    """A Poisson variable of each rate, with the dtype of the rates."""
    if rank(check(input).dtype) != 2:
        raise InvalidArgumentError(f'[poisson] rates must be floating numbers, not {input.dtype}')
    rate = cast(input.detach(), _core.float64)
    if not ops['all'](rate >= 0).item():
        raise RuntimeError('[poisson] rates must be at least 0')
    few = rate < _FEW
    small = _where(few, rate, 0.0)
    found = _where(few, _by_inversion(ops['exp'](-small), lambda k: small / k, generator), _by_rejection(_where(few, _FEW, rate), generator))
    return cast(found, input.dtype)


@no_grad()
def binomial(count, prob, generator=None):
    """How many of `count` draws succeed with probability prob; both have one floating dtype."""
    if rank(check(count).dtype) != 2 or check(prob).dtype is not count.dtype:
        raise InvalidArgumentError(f'[binomial] count and prob must be of one floating dtype, not {count.dtype} and {prob.dtype}')
    shape, dtype = (count + prob).shape, count.dtype
    n, p = (cast(ops['expand'](x.detach(), shape), _core.float64) for x in (count, prob))
    valid = (p >= 0) & (p <= 1) & (n >= 0) & (n < math.inf)
    n, p = ops['floor'](_where(valid, n, 0.0)), _where(valid, p, 0.0)
    rare = _where(p > 0.5, 1 - p, p)  # of successes or of failures
    few = n * rare < _FEW
    odds = _where(few, rare / (1 - rare), 0.0)
    found = _by_inversion(ops['exp'](_where(few, n, 0.0) * ops['log1p'](-rare)),
                          lambda k: ops['clamp']((n - k + 1) / k, 0.0, None) * odds, generator)
    if somewhere(~few):
        found = _where(few, found, _many_trials(_where(few, 4 * _FEW, n), _where(few, 0.5, rare), generator))
    found = _where(p > 0.5, n - found, found)
    return cast(_where(valid, found, math.nan), dtype)


def _many_trials(n, p, generator):
    """Transformed rejection, BTRS (Hörmann, The generation of binomial random variates, 1993), for p up to 0.5 and n p from 10 on."""
    spread = ops['sqrt'](n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha, edge, odds = (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b, p / (1 - p)
    most = ops['floor']((n + 1) * p)  # the likeliest number
    height = (most + 0.5) * _log((most + 1) / (odds * (n - most + 1))) + _remainder(most) + _remainder(n - most)
    found, waiting = ops['full_like'](n, 0.0), n > 0
    while somewhere(waiting):
        u, v = _uniform(n, generator) - 0.5, _uniform(n, generator)
        size = 0.5 - ops['abs'](u)
        k = ops['floor']((2 * a / size + b) * u + n * p + 0.5)
        possible = (k >= 0) & (k <= n)
        kept = ops['minimum'](ops['maximum'](k, 0.0), n)
        rest = n - kept
        bound = (height + (n + 1) * _log((n - most + 1) / (rest + 1)) + (kept + 0.5) * _log(odds * (rest + 1) / (kept + 1))
                 - _remainder(kept) - _remainder(rest))
        accepted = possible & (((size >= 0.07) & (v <= edge)) | (_log(v * alpha / (a / (size * size) + b)) <= bound))
        found = _where(waiting & accepted, k, found)
        waiting = waiting & ~accepted
    return found


def _remainder(k):
    """What Stirling's formula leaves of log k!: log k! - (k + ½) log(k + 1) + (k + 1) - ½ log 2π."""
    x = k + 1
    series = (1 / 12 - (1 / 360 - 1 / (1260 * x * x)) / (x * x)) / x
    return _where(k < 10, ops['lgamma'](x) - (x - 0.5) * _log(x) + x - 0.5 * math.log(2 * math.pi), series)
