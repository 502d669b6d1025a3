"""torch.poisson and torch.binomial: counts by inversion and rejection, as compositions of uniform draws."""
import math

from .. import _core, no_grad
from .._core import ops
from .._errors import InvalidArgumentError
from ._common import cast, check, rank

_where, _log = ops['where'], ops['log']
_FEW = 10.0  # inversion up to this rate, rejection above it


def _uniform(x, generator):
    return ops['uniform'](x.shape, 1e-300, 1.0, _core.float64, x.device, generator)


def _by_inversion(rate, generator):
    """How many terms of the distribution a uniform number covers."""
    u = _uniform(rate, generator)
    term = ops['exp'](-rate)
    covered, count = term, ops['full_like'](rate, 0.0)
    for k in range(1, 150):  # what remains is less than 1e-16 for a rate of 10
        more = u > covered
        if not ops['any'](more).item():
            break
        count = count + cast(more, _core.float64)
        term = term * rate / k
        covered = covered + term
    return count


def _by_rejection(rate, generator):
    """Transformed rejection, PTRS (Hörmann 1993, section 3), repeated until all are accepted."""
    b = ops['sqrt'](rate) * 2.53 + 0.931
    a = b * 0.02483 - 0.059
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    edge = 0.9277 - 3.6224 / (b - 2)
    found, waiting = ops['full_like'](rate, 0.0), rate > 0
    while ops['any'](waiting).item():
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
    found = _where(few, _by_inversion(_where(few, rate, 0.0), generator), _by_rejection(_where(few, _FEW, rate), generator))
    return cast(found, input.dtype)


@no_grad()
def binomial(count, prob, generator=None):
    """How many of `count` draws succeed with probability prob; both have one floating dtype."""
    if rank(check(count).dtype) != 2 or check(prob).dtype is not count.dtype:
        raise InvalidArgumentError(f'[binomial] count and prob must be of one floating dtype, not {count.dtype} and {prob.dtype}')
    shape, dtype = (count + prob).shape, count.dtype
    count, prob = (cast(ops['expand'](x.detach(), shape), _core.float64) for x in (count, prob))
    most = int(ops['max'](count).item()) if count.size else 0
    found = ops['full'](shape, 0.0, _core.float64, count.device)
    for begin in range(0, most, 256):  # a row for each draw
        draws = ops['uniform']((min(256, most - begin), *shape), 0.0, 1.0, _core.float64, count.device, generator)
        number = ops['reshape'](ops['arange'](begin, begin + draws.shape[0], 1, _core.float64, count.device), (-1, *[1] * len(shape)))
        found = found + ops['sum'](cast((draws < prob) & (number < count), _core.float64), 0)
    found = _where((prob >= 0) & (prob <= 1) & (count >= 0), found, math.nan)
    return cast(found, dtype)
