"""Images made smaller without aliases: each new entry is a mean of all old ones that it covers, as in Pillow."""
from .... import _core
from ...._core import ops
from ..._common import cast
from .resampling import cubic_far, cubic_near, scale_of

_HALF_WIDTH = {'bilinear': 1.0, 'bicubic': 2.0}  # of the filters, in entries of the larger image


def antialiased(x, dim, size, factor, mode, align_corners):
    """One of the last two dimensions resampled to another size; factor: its scale, or None for the ratio of sizes."""
    n = x.shape[dim]
    weights = ops['to'](cast(_weights(n, size, scale_of(n, size, factor, align_corners), mode), x.dtype), x.device)
    return ops['matmul'](weights, x) if dim == x.ndim - 2 else ops['matmul'](x, ops['transpose'](weights, 0, 1))


def _weights(n, to, scale, mode):
    """What each of n entries contributes to each of `to`: a matrix whose rows sum to 1."""
    wide = max(scale, 1.0)  # of the filter; enlarged images need no wider one
    centre = (ops['arange'](0, to, 1, _core.float64, 'cpu') + 0.5) * scale
    distance = ops['abs'](ops['arange'](0, n, 1, _core.float64, 'cpu') + 0.5 - ops['unsqueeze'](centre, 1)) / wide
    values = _triangle(distance) if mode == 'bilinear' else _cubic(distance)
    inside = ops['where'](distance < _HALF_WIDTH[mode], values, 0.0)
    return inside / ops['sum'](inside, (1,), True)


def _triangle(d):
    return 1 - d


def _cubic(d, a=-0.5):
    return ops['where'](d < 1, cubic_near(d, a), cubic_far(d, a))
