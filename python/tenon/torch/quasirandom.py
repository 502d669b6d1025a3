"""torch.quasirandom: points that fill a cube evenly."""
import functools
from typing import Any

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError
from ._common import cast, defaults, into
from ._joe_kuo import COUNTS, numbers
from .create import full, tensor
from .generators import Generator
from .random import randint

__all__ = ['SobolEngine']

_BITS = 30


@functools.lru_cache(maxsize=8)
def _directions(dimension):
    """The direction numbers as fractions of 2^30, a row for each dimension."""
    rows = [[1] * _BITS]
    for degree, inner, first in numbers(dimension - 1):
        found = first[:_BITS]
        for k in range(degree, _BITS):
            next = found[k - degree] ^ found[k - degree] << degree
            for i in range(1, degree):
                if inner >> (degree - 1 - i) & 1:
                    next ^= found[k - i] << i
            found.append(next)
        rows.append(found)
    return [[m << (_BITS - 1 - k) for k, m in enumerate(row)] for row in rows]


class SobolEngine:
    """Draws the points of a Sobol sequence one after the other, with the direction numbers of Joe and Kuo; scramble=True applies a random
    linear matrix and a random shift (Owen 1998), which seed repeats.

    >>> import tenon.torch as torch
    >>> torch.quasirandom.SobolEngine(2).draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])

    Without scrambling the points are PyTorch's; PyTorch also has dimensions beyond 1111.
    """

    MAXBIT = _BITS
    MAXDIM = 1 + sum(COUNTS)

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise InvalidArgumentError(f'[SobolEngine] dimension is {dimension}, must be from 1 to {self.MAXDIM}')
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate: Any = tensor(_directions(dimension), dtype=_core.int64, device='cpu')
        self.shift: Any = full((dimension,), 0, dtype=_core.int64, device='cpu')
        if scramble:
            self._scramble()
        self.num_generated = 0

    def _scramble(self):
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits = ops['arange'](0, _BITS, 1, _core.int64, _core.device('cpu'))
        shift: Any = randint(2, (self.dimension, _BITS), device='cpu', generator=generator)
        self.shift = (shift << bits).sum(1)
        lower: Any = randint(2, (self.dimension, _BITS, _BITS), device='cpu', generator=generator).tril()
        places = ops['flip'](bits, 0)  # of bits, the first ones first
        one = (self.sobolstate.unsqueeze(1) >> places.unsqueeze(1)) & 1  # dimension, bit, number
        lower = ops['where'](places.unsqueeze(1) == places, 1, lower)
        self.sobolstate = ((ops['matmul'](cast(lower, _core.float32), cast(one, _core.float32)).to(_core.int64) & 1) << places.unsqueeze(1)).sum(1)

    @property
    def quasi(self):
        """The last point that was drawn, as fractions of 2^30."""
        return self._points(max(self.num_generated - 1, 0), 1)[0]

    def _points(self, first, count):
        order: Any = ops['arange'](first, first + count, 1, _core.int64, _core.device('cpu'))
        gray = order ^ (order >> 1)
        points = ops['expand'](self.shift, (count, self.dimension))
        for bit in range((first + count - 1).bit_length()):
            points = points ^ (((gray >> bit) & 1).unsqueeze(1) * self.sobolstate.select(1, bit))
        return points

    def draw(self, n=1, out=None, dtype=None):
        """The next n points, a row each, in [0, 1)."""
        if n < 1 or self.num_generated + n > 2 ** _BITS:
            raise InvalidArgumentError(f'[SobolEngine] {n} points after {self.num_generated}, must be at least 1 and 2^{_BITS} together at most')
        points = cast(self._points(self.num_generated, n), dtype or defaults.dtype) * 2.0 ** -_BITS
        self.num_generated += n
        return into(out, points)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2^m points; the number of all points must be a power of 2."""
        total = self.num_generated + 2 ** m
        if total & (total - 1):
            raise InvalidArgumentError(f'[SobolEngine] {self.num_generated} points and 2^{m} more are {total}, which is no power of 2: use draw()')
        return self.draw(2 ** m, out, dtype)

    def reset(self):
        """Begins the sequence again."""
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves out n points."""
        self.num_generated += n
        return self

    def __repr__(self):
        seed = '' if self.seed is None else f', seed={self.seed}'
        return f'SobolEngine(dimension={self.dimension}{", scramble=True" if self.scramble else ""}{seed})'
